//! A request against the index → a [`Ranking`].

use super::{
    dictionary::List, entry::Entry, index::Ranked, request::Request, sums::Sums, term::TermMap,
};

/// So many occurrences of a term, fields weighed, count half of what endless ones would.
const SATURATION: f64 = 3.0;
/// How many of the best by words alone are looked at more closely.
const CANDIDATES: usize = 100;
/// What the best covered name adds to a score.
const NAME: f64 = 0.2;
/// What the best matched clauses add to a score.
const CLAUSES: f64 = 0.4;
/// The first stands out if it is ahead of the second by this share.
const CLEAR: f64 = 0.1;

/// What a request comes to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranking {
    /// How many skills have any word of the request.
    pub total: usize,
    /// The first is ahead of the second by a tenth or more. It says which to look at, not that it fits.
    pub confident: bool,
    /// The best, best first; ties go to the smaller number. Never more than a hundred.
    pub hits: Vec<Hit>,
}

/// A skill that has some word of the request.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its number in the index.
    pub entry: usize,
    /// The sum of the three terms; decides the order.
    pub score: f64,
    /// Words anywhere in the skill: 1 for the best.
    pub bm25: f64,
    /// How much of the name is in the request: 0.2 for the best.
    pub name: f64,
    /// How completely clauses are in the request: 0.4 for the best.
    pub clauses: f64,
    /// The request's words, lower-cased, that occur in the skill, in order.
    pub matched_terms: Vec<String>,
    /// The clause that matched best, as its author wrote it, shortened.
    pub clause: Option<String>,
}

/// A term of the request that some skill has.
#[derive(Debug)]
struct Wanted<'a> {
    list: List<'a>,
    /// The term's weight in the request times its worth.
    weight: f64,
}

/// A skill in the closer look: the three terms before they are set against each other.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    entry: usize,
    bm25: f64,
    name: f64,
    clauses: f64,
    /// Which clause matched best.
    best: Option<usize>,
}

impl Ranked {
    /// The skills that a request most likely means, at most `limit` of them.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        let request = Request::new(query);
        let mut wanted = Vec::new();
        let mut masses = TermMap::default();
        for (term, count) in &request.terms {
            let list = self.list(*term);
            if list.len() > 0 {
                let (weight, worth) = (count.sqrt(), self.worth(list.len()));
                masses.insert(*term, worth * weight.min(1.0));
                wanted.push(Wanted { list, weight: weight * worth });
            }
        }
        let mut sums = self.sums(wanted);
        let total = sums.len();
        let mut candidates: Vec<Candidate> = best(&mut sums)
            .iter()
            .map(|(entry, bm25)| self.candidate(*entry, *bm25, &masses))
            .collect();
        weigh(&mut candidates);
        candidates
            .sort_by(|a, b| b.score().total_cmp(&a.score()).then_with(|| a.entry.cmp(&b.entry)));
        let hits = candidates.iter().take(limit).map(|found| self.hit(found, &request)).collect();
        Ranking { total, confident: is_clear(&candidates), hits }
    }

    /// Every skill that has a wanted term, with its sum; the terms add up in the request's order.
    fn sums(&self, wanted: Vec<Wanted<'_>>) -> Vec<(usize, f64)> {
        let mut sums = Sums::new(self.len());
        for Wanted { list, weight } in wanted {
            list.each(self.scales(), |entry, frequency| {
                sums.add(entry, weight * frequency / (SATURATION + frequency));
            });
        }
        sums.found().collect()
    }

    /// Takes the closer look.
    fn candidate(&self, entry: usize, bm25: f64, masses: &TermMap<f64>) -> Candidate {
        let mut found = Candidate { entry, bm25, name: 0.0, clauses: 0.0, best: None };
        let Some(skill) = self.entry(entry) else { return found };
        let own: Vec<f64> =
            skill.offered().map(|term| masses.get(&term).copied().unwrap_or_default()).collect();
        let (mut squares, mut most) = (0.0, 0.0);
        for (number, (clause, total)) in skill.clauses().zip(self.totals(entry)).enumerate() {
            let mass: f64 = clause.places().filter_map(|place| own.get(place)).sum();
            if mass <= 0.0 {
                continue;
            }
            if number == Entry::NAME {
                found.name = mass / total;
                continue;
            }
            // What matched, times the share of the clause that it is: a short phrase wholly there is worth more
            // than words scattered over a long one. As squares, several add up and a long list does not win.
            let gain = mass * mass / total;
            squares += gain * gain;
            if gain > most {
                most = gain;
                found.best = Some(number);
            }
        }
        found.clauses = squares.sqrt();
        found
    }

    fn hit(&self, found: &Candidate, request: &Request) -> Hit {
        let entry = self.entry(found.entry);
        let clause = |entry: &Entry| {
            let clause = entry.clauses().nth(found.best?)?;
            Some(entry.text(clause).to_owned())
        };
        Hit {
            entry: found.entry,
            score: found.score(),
            bm25: found.bm25,
            name: found.name,
            clauses: found.clauses,
            matched_terms: entry.map(|entry| request.words_in(entry)).unwrap_or_default(),
            clause: entry.and_then(clause),
        }
    }
}

impl Candidate {
    fn score(&self) -> f64 {
        self.bm25 + self.name + self.clauses
    }
}

/// The candidates, in any order.
fn best(sums: &mut [(usize, f64)]) -> &[(usize, f64)] {
    if sums.len() > CANDIDATES {
        sums.select_nth_unstable_by(CANDIDATES, |a, b| {
            b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0))
        });
    }
    sums.get(..CANDIDATES).unwrap_or(sums)
}

/// Sets each term against its best among the candidates.
fn weigh(candidates: &mut [Candidate]) {
    let most = |term: fn(&Candidate) -> f64| candidates.iter().map(term).fold(0.0, f64::max);
    let (bm25, name, clauses) =
        (most(|found| found.bm25), most(|found| found.name), most(|found| found.clauses));
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    for found in candidates {
        found.bm25 = share(found.bm25, bm25);
        found.name = NAME * share(found.name, name);
        found.clauses = CLAUSES * share(found.clauses, clauses);
    }
}

fn is_clear(candidates: &[Candidate]) -> bool {
    match candidates {
        [] => false,
        [_] => true,
        [first, second, ..] => first.score() - second.score() >= CLEAR * first.score(),
    }
}
