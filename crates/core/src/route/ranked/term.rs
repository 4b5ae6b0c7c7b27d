//! [`TermHash`]: a stemmed word as the index knows it.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// Forty bits of a hash of a stem. Among 200,000 different terms the chance of a collision is one in fifty; two that
/// collide count for each other, which hardly changes a ranking. In exchange no term's text is kept, and entries
/// made independently agree on every term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TermHash(u64);

/// A term in five bytes, the highest first, so that packed terms sort like terms.
pub(super) type PackedTerm = [u8; 5];

impl TermHash {
    const HASH_BITS: u32 = 40;

    pub(super) fn new(stem: &str) -> Self {
        let hash = hash(stem);
        // Folded, as the authors of FNV advise for fewer bits.
        Self((hash ^ (hash >> Self::HASH_BITS)) & ((1 << Self::HASH_BITS) - 1))
    }

    pub(super) fn pack(self) -> PackedTerm {
        let [_, _, _, packed @ ..] = self.0.to_be_bytes();
        packed
    }

    /// The term with a small number behind it: sorts by term, then by number.
    pub(super) fn tag(self, number: u8) -> u64 {
        self.0 << 8 | u64::from(number)
    }

    /// The term and the number of a [`Self::tag`].
    pub(super) fn untag(tagged: u64) -> (Self, u8) {
        let [number, ..] = tagged.to_le_bytes();
        (Self(tagged >> 8), number)
    }

    pub(super) fn unpack(packed: PackedTerm) -> Self {
        let mut bytes = [0; 8];
        let [_, _, _, low @ ..] = &mut bytes;
        *low = packed;
        Self(u64::from_be_bytes(bytes))
    }
}

/// FNV-1a: small, good for short words, and the same everywhere.
pub(super) fn hash(word: &str) -> u64 {
    word.bytes().fold(NO_HASH, hashed)
}

/// The hash of nothing.
pub(super) const NO_HASH: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash with a further byte.
#[inline]
pub(super) fn hashed(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// A map by term.
pub(super) type TermHashMap<V> = HashMap<TermHash, V, BuildHasherDefault<TermHasher>>;

/// A cheap hasher for keys that are hashes or numbers: it only spreads their bits.
#[derive(Debug, Default)]
pub(super) struct TermHasher(u64);

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_terms_come_back_and_sort_alike() {
        let mut terms: Vec<TermHash> =
            ["", "react", "auth", "c#", "認証"].map(TermHash::new).to_vec();
        terms.sort_unstable();
        let packed: Vec<PackedTerm> = terms.iter().map(|term| term.pack()).collect();
        assert!(packed.is_sorted());
        assert!(packed.into_iter().map(TermHash::unpack).eq(terms.iter().copied()));
        let tagged: Vec<u64> = terms.iter().flat_map(|term| [term.tag(0), term.tag(255)]).collect();
        assert!(tagged.is_sorted());
        let back = tagged.into_iter().map(TermHash::untag);
        assert!(back.eq(terms.iter().flat_map(|term| [(*term, 0), (*term, 255)])));
    }
}
