//! A request's terms as an index knows them: [`Asked`]. Which skills have them, what that adds up to, and which
//! skill has which.

use super::{
    base::Base,
    counts::Counts,
    index::{Fresh, Ranked},
    lists::List,
    masses::Masses,
    request::Request,
    scale::{Scales, worth},
    sums::{Mark, Sums},
    term::Term,
};

/// So many occurrences of a term, fields weighed, count half of what endless ones would.
const SATURATION: f64 = 3.0;

/// The terms of a request that some skill has.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    index: &'a Ranked,
    /// In the request's order.
    wanted: Vec<Wanted<'a>>,
    /// The fresh skills that have any.
    fresh: Vec<Look<'a>>,
}

/// One term.
#[derive(Debug)]
struct Wanted<'a> {
    term: Term,
    /// Its number among the request's terms.
    number: usize,
    /// Its number in the dictionary, if it is there.
    known: Option<usize>,
    /// The skills of the base that have it.
    list: List<'a>,
    /// Its weight in the request times its worth.
    weight: f64,
    /// What it adds to a name or a clause.
    mass: f64,
    /// How it is told from others in a sum; nothing if there are too many.
    mark: Mark,
}

/// A fresh skill.
#[derive(Debug)]
struct Look<'a> {
    number: usize,
    skill: &'a Fresh,
    /// The request's numbers of the terms that it has.
    found: Vec<(usize, Counts)>,
}

impl<'a> Asked<'a> {
    /// How many skills have a term is told by the base, where those that are gone count still, and by the fresh
    /// ones.
    pub(super) fn new(request: &Request, index: &'a Ranked) -> Self {
        let mut with = vec![0; request.terms.len()];
        let fresh: Vec<_> = index.fresh().filter_map(|fresh| look(request, fresh)).collect();
        for (term, _) in fresh.iter().flat_map(|look| &look.found) {
            if let Some(with) = with.get_mut(*term) {
                *with += 1;
            }
        }
        let all = index.base.means.entries() + index.fresh().count();
        let mut wanted = Vec::with_capacity(request.terms.len());
        for (number, ((term, count), fresh)) in request.terms.iter().zip(with).enumerate() {
            wanted.extend(Wanted::new(number, *term, *count, &index.base, [all, fresh]));
        }
        mark(&mut wanted);
        Self { index, wanted, fresh }
    }

    pub(super) fn masses(&self) -> Masses {
        Masses::new(self.wanted.iter().map(|wanted| (wanted.term, wanted.known, wanted.mass)))
    }

    /// Every skill that has a term, with its sum; the terms add up in the request's order.
    pub(super) fn sums(&self) -> Sums {
        let mut sums = Sums::new(self.index.end());
        for wanted in &self.wanted {
            wanted.add(&self.index.base.scales, &mut sums);
        }
        for number in self.index.changes.keys() {
            sums.clear(*number);
        }
        for Look { number, skill, found } in &self.fresh {
            for (term, counts) in found {
                let at = self.wanted.partition_point(|wanted| wanted.number < *term);
                if let Some(wanted) = self.wanted.get(at) {
                    sums.add(*number, wanted.mark, wanted.impact(skill.scale.of(*counts)));
                }
            }
        }
        sums
    }

    /// Which terms these skills have, of which the marks are known. Terms without a mark have short lists; they are
    /// gone through once more.
    pub(super) fn occurrences(&self, skills: &[(usize, Mark)]) -> Occurrences {
        let terms = self.wanted.last().map_or(0, |last| last.number + 1);
        let mut occurrences = Occurrences { terms, has: vec![false; terms * skills.len()] };
        for (place, (_, marks)) in skills.iter().enumerate() {
            for wanted in self.wanted.iter().filter(|wanted| marks.has(wanted.mark)) {
                occurrences.add(place, wanted.number);
            }
        }
        let unmarked = || self.wanted.iter().filter(|wanted| wanted.mark == Mark::default());
        if unmarked().next().is_none() {
            return occurrences;
        }
        let mut places = vec![None; self.index.base.end()];
        for (place, (skill, _)) in skills.iter().enumerate() {
            if let Some(look) = self.fresh.iter().find(|look| look.number == *skill) {
                look.found.iter().for_each(|(term, _)| occurrences.add(place, *term));
            } else if let Some(own) = places.get_mut(*skill) {
                *own = Some(place);
            }
        }
        for Wanted { number, list, .. } in unmarked() {
            list.clone().numbers(|skill| {
                if let Some(Some(place)) = places.get(skill) {
                    occurrences.add(*place, *number);
                }
            });
        }
        occurrences
    }
}

/// What a fresh skill has of the request; nothing if it has none of it.
fn look<'a>(request: &Request, (number, skill): (usize, &'a Fresh)) -> Option<Look<'a>> {
    let mut found = Vec::new();
    skill.entry.find(&request.ascending, |term, counts| {
        if counts != Counts::NONE {
            found.push((term, counts));
        }
    });
    (!found.is_empty()).then_some(Look { number, skill, found })
}

/// Gives marks, to the longest lists where there are not enough.
fn mark(wanted: &mut [Wanted<'_>]) {
    let mut longest: Vec<&mut Wanted<'_>> = wanted.iter_mut().collect();
    if longest.len() > Mark::MOST {
        longest.sort_by_key(|wanted| std::cmp::Reverse(wanted.list.len()));
    }
    for (number, wanted) in longest.into_iter().enumerate() {
        wanted.mark = Mark::of(number);
    }
}

impl<'a> Wanted<'a> {
    /// A term that counts so much in the request, of all skills and the fresh ones that have it; nothing if no
    /// skill has it.
    fn new(
        number: usize,
        term: Term,
        count: f64,
        base: &'a Base,
        [all, fresh]: [usize; 2],
    ) -> Option<Self> {
        let known = base.dictionary.find(term);
        let list = known.map(|known| base.dictionary.list(known)).unwrap_or_default();
        let with = list.len() as usize + fresh;
        let (weight, worth) = (count.sqrt(), worth(all, with));
        let (mass, weight) = (worth * weight.min(1.0), weight * worth);
        let mark = Mark::default();
        (with > 0).then_some(Self { term, number, known, list, weight, mass, mark })
    }

    /// What so much of the term comes to.
    #[inline]
    fn impact(&self, frequency: f64) -> f64 {
        self.weight * frequency / (SATURATION + frequency)
    }

    /// Adds it for every skill of the base that has it. By itself, so that it is as quick as it can be: half of the
    /// time of a search is spent here.
    #[inline(never)]
    fn add(&self, scales: &Scales, sums: &mut Sums) {
        self.list.clone().each(scales, |skill, frequency| {
            sums.add(skill, self.mark, self.impact(frequency));
        });
    }
}

/// Which terms each of some skills has.
#[derive(Debug)]
pub(super) struct Occurrences {
    terms: usize,
    /// For each skill, for each term.
    has: Vec<bool>,
}

impl Occurrences {
    fn add(&mut self, place: usize, term: usize) {
        if let Some(has) = self.has.get_mut(place * self.terms + term) {
            *has = true;
        }
    }

    pub(super) fn has(&self, place: usize, term: usize) -> bool {
        term < self.terms && self.has.get(place * self.terms + term) == Some(&true)
    }
}
