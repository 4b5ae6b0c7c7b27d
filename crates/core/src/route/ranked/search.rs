//! A request against the index → a [`Ranking`].

use super::{
    asked::Asked,
    entry::{Clause, Entry},
    index::{Fresh, Ranked},
    masses::Masses,
    request::Request,
    sums::Mark,
};

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
    /// The clause that matched best: `Text::clause` has its words.
    pub clause: Option<usize>,
}

/// A skill in the closer look: the three terms before they are set against each other.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    entry: usize,
    bm25: f64,
    name: f64,
    clauses: f64,
    /// Which clause matched best.
    best: Option<usize>,
    /// Which terms it has.
    marks: Mark,
}

impl Ranked {
    /// The skills that a request most likely means, at most `limit` of them.
    pub fn search(&self, query: &str, limit: usize) -> Ranking {
        let request = Request::new(query);
        let asked = Asked::new(&request, self);
        let sums = asked.sums();
        let (total, best) = sums.best(CANDIDATES);
        let (masses, mut own) = (asked.masses(), Vec::new());
        let candidate = |(entry, bm25)| {
            let found = Candidate { entry, bm25, marks: sums.marks(entry), ..Candidate::default() };
            self.compare(found, &masses, &mut own)
        };
        let mut candidates: Vec<Candidate> = best.into_iter().map(candidate).collect();
        weigh(&mut candidates);
        candidates
            .sort_by(|a, b| b.score().total_cmp(&a.score()).then_with(|| a.entry.cmp(&b.entry)));
        let confident = is_clear(&candidates);
        candidates.truncate(limit);
        let marks: Vec<_> = candidates.iter().map(|found| (found.entry, found.marks)).collect();
        let occurrences = asked.occurrences(&marks);
        let hit = |(place, found): (usize, &Candidate)| {
            found.hit(request.words(|term| occurrences.has(place, term)))
        };
        Ranking { total, confident, hits: candidates.iter().enumerate().map(hit).collect() }
    }

    /// Takes the closer look. The masses of its terms go to `own`, which is only lent.
    fn compare(&self, mut found: Candidate, masses: &Masses, own: &mut Vec<f64>) -> Candidate {
        own.clear();
        if let Some(fresh) = self.changes.get(&found.entry) {
            if let Some(Fresh { entry, totals, .. }) = fresh.as_deref() {
                own.extend(entry.offered().map(|term| masses.of(term)));
                found.compare(own, entry.clauses().zip(totals.iter().copied()));
            }
        } else if let Some(outline) = self.base.outlines.get(found.entry) {
            own.extend(outline.offered().map(|term| masses.of_number(term)));
            found.compare(own, outline.clauses());
        }
        found
    }
}

impl Candidate {
    fn score(&self) -> f64 {
        self.bm25 + self.name + self.clauses
    }

    /// Sets clauses and what each is worth against the masses of the terms offered.
    fn compare<'a>(&mut self, own: &[f64], clauses: impl Iterator<Item = (Clause<'a>, f64)>) {
        let (mut squares, mut most) = (0.0, 0.0);
        for (number, (clause, total)) in clauses.enumerate() {
            let mass = clause.sum(own);
            if mass <= 0.0 {
                continue;
            }
            if number == Entry::NAME {
                self.name = mass / total;
                continue;
            }
            // What matched, times the share of the clause that it is: a short phrase wholly there is worth more
            // than words scattered over a long one. As squares, several add up and a long list does not win.
            let gain = mass * mass / total;
            squares += gain * gain;
            if gain > most {
                most = gain;
                self.best = Some(number);
            }
        }
        self.clauses = squares.sqrt();
    }

    fn hit(&self, matched_terms: Vec<String>) -> Hit {
        Hit {
            entry: self.entry,
            score: self.score(),
            bm25: self.bm25,
            name: self.name,
            clauses: self.clauses,
            matched_terms,
            clause: self.best,
        }
    }
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
