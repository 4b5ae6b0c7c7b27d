//! What each term of a request adds to a name or a clause: [`Masses`].

use std::{collections::HashMap, hash::BuildHasherDefault};

use super::term::{Hashed, Term, TermMap};

/// By term, and by the number that the dictionary has for it.
#[derive(Debug)]
pub(super) struct Masses {
    terms: TermMap<f64>,
    numbers: HashMap<usize, f64, BuildHasherDefault<Hashed>>,
    /// The last bits of the numbers, one bit for each value of them. Nearly all numbers that are asked for are not
    /// there, and most are known not to be from this alone.
    rough: [u64; Self::WORDS],
}

impl Masses {
    const WORDS: usize = 64;

    /// From terms, the dictionary's numbers of those that it has, and masses.
    pub(super) fn new(all: impl Iterator<Item = (Term, Option<usize>, f64)>) -> Self {
        let mut masses = Self {
            terms: TermMap::default(),
            numbers: HashMap::default(),
            rough: [0; Self::WORDS],
        };
        for (term, number, mass) in all {
            masses.terms.insert(term, mass);
            let Some(number) = number else { continue };
            masses.numbers.insert(number, mass);
            if let Some(word) = masses.rough.get_mut(number / 64 % Self::WORDS) {
                *word |= 1 << (number % 64);
            }
        }
        masses
    }

    /// By term; 0 if the request does not have it.
    pub(super) fn of(&self, term: Term) -> f64 {
        self.terms.get(&term).copied().unwrap_or_default()
    }

    /// By the dictionary's number; 0 if the request does not have it.
    #[inline]
    pub(super) fn of_number(&self, number: usize) -> f64 {
        let word = self.rough.get(number / 64 % Self::WORDS).copied().unwrap_or_default();
        if word >> (number % 64) & 1 == 0 {
            return 0.0;
        }
        self.numbers.get(&number).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_come_by_term_and_by_number() {
        let (tea, milk) = (Term::new("tea"), Term::new("milk"));
        let masses = Masses::new([(tea, Some(70), 1.5), (milk, None, 2.5)].into_iter());
        let by_term = [tea, milk, Term::new("x")].map(|term| masses.of(term));
        assert_eq!(
            by_term.map(|mass| mass * 2.0).map(f64::to_bits),
            [3.0, 5.0, 0.0].map(f64::to_bits)
        );
        for (number, expected) in [(70, 1.5), (71, 0.0), (6, 0.0), (70 + 64 * 64, 0.0)] {
            assert_eq!(masses.of_number(number).to_bits(), f64::to_bits(expected), "{number}");
        }
    }
}
