//! [`ClauseWeights`]: what each term of a query adds to a name or a clause that has it.

use std::{collections::HashMap, hash::BuildHasherDefault};

use super::term::{TermHash, TermHashMap, TermHasher};

/// By term, and by the number that the dictionary has for it.
#[derive(Debug)]
pub(super) struct ClauseWeights {
    terms: TermHashMap<f64>,
    numbers: HashMap<usize, f64, BuildHasherDefault<TermHasher>>,
    /// A bit for each value of the numbers' last bits. Nearly all lookups miss, and this answers most of them.
    filter: [u64; Self::FILTER_WORDS],
}

impl ClauseWeights {
    const FILTER_WORDS: usize = 64;

    /// From terms, the dictionary's numbers of those that it has, and weights.
    pub(super) fn new(all: impl Iterator<Item = (TermHash, Option<usize>, f64)>) -> Self {
        let mut clause_weights = Self {
            terms: TermHashMap::default(),
            numbers: HashMap::default(),
            filter: [0; Self::FILTER_WORDS],
        };
        for (term, number, clause_weight) in all {
            clause_weights.terms.insert(term, clause_weight);
            let Some(number) = number else { continue };
            clause_weights.numbers.insert(number, clause_weight);
            if let Some(word) = clause_weights.filter.get_mut(number / 64 % Self::FILTER_WORDS) {
                *word |= 1 << (number % 64);
            }
        }
        clause_weights
    }

    /// By term; 0 if the query does not have it.
    pub(super) fn of_term(&self, term: TermHash) -> f64 {
        self.terms.get(&term).copied().unwrap_or_default()
    }

    /// By the dictionary's number; 0 if the query does not have it.
    #[inline]
    pub(super) fn of_number(&self, number: usize) -> f64 {
        let word = self.filter.get(number / 64 % Self::FILTER_WORDS).copied().unwrap_or_default();
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
    fn weights_come_by_term_and_by_number() {
        let (tea, milk) = (TermHash::new("tea"), TermHash::new("milk"));
        let clause_weights =
            ClauseWeights::new([(tea, Some(70), 1.5), (milk, None, 2.5)].into_iter());
        let by_term = [tea, milk, TermHash::new("x")].map(|term| clause_weights.of_term(term));
        assert_eq!(
            by_term.map(|clause_weight| clause_weight * 2.0).map(f64::to_bits),
            [3.0, 5.0, 0.0].map(f64::to_bits)
        );
        for (number, expected) in [(70, 1.5), (71, 0.0), (6, 0.0), (70 + 64 * 64, 0.0)] {
            assert_eq!(
                clause_weights.of_number(number).to_bits(),
                f64::to_bits(expected),
                "{number}"
            );
        }
    }
}
