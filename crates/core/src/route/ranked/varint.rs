//! Small numbers in few bytes: seven bits a byte, the lowest first, the top bit says that more follow.
//!
//! Most numbers of the index (steps between skills, counts of words) are below 128. Kept this way the index of
//! ten thousand skills takes a third of the memory.

/// Appends a number.
pub(super) fn push_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// Reads what [`push_varint`] wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct VarInts<'a>(pub(super) &'a [u8]);

impl VarInts<'_> {
    /// Takes the next `length` bytes and reads them by themselves.
    pub(super) fn within(&mut self, length: u32) -> Option<Self> {
        let (own, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Self(own))
    }

    /// The next `N` numbers, 0 for each that is missing. Fast where all are small.
    #[inline]
    pub(super) fn several<const N: usize>(&mut self) -> [u32; N] {
        if let Some((first, rest)) = self.0.split_first_chunk::<N>()
            && first.iter().fold(0, |all, byte| all | byte) <= 0x7f
        {
            self.0 = rest;
            return first.map(u32::from);
        }
        let (numbers, rest) = several_longer(self.0);
        self.0 = rest;
        numbers
    }

    /// The next eight bytes as a little-endian `f64`.
    pub(super) fn float(&mut self) -> Option<f64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(f64::from_le_bytes(*bytes))
    }
}

impl Iterator for VarInts<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (&byte, rest) = self.0.split_first()?;
        if byte <= 0x7f {
            self.0 = rest;
            return Some(u32::from(byte));
        }
        let (number, rest) = longer(self.0)?;
        self.0 = rest;
        Some(number)
    }
}

// The slow paths are functions of their own that take and return slices: the fast paths stay short, and a loop over
// numbers keeps its position in a register. This saves a tenth of a search's time.

/// A number, and the bytes behind it.
#[inline(never)]
fn longer(mut bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte <= 0x7f {
            break;
        }
    }
    Some((number, bytes))
}

/// `N` numbers, 0 for each that is missing, and the bytes behind them.
#[inline(never)]
fn several_longer<const N: usize>(bytes: &[u8]) -> ([u32; N], &[u8]) {
    let mut numbers = VarInts(bytes);
    ([(); N].map(|()| numbers.next().unwrap_or_default()), numbers.0)
}

/// A count as the index keeps it; texts are bounded, so no real count saturates.
pub(super) fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            push_varint(&mut bytes, number);
        }
        assert_eq!(VarInts(&bytes).collect::<Vec<_>>(), numbers);
        assert_eq!(bytes.len(), 1 + 1 + 1 + 2 + 2 + 2 + 3 + 5);
    }

    #[test]
    fn several_are_read_alike_whether_small_or_not() {
        let mut bytes = Vec::new();
        for number in [1, 2, 300, 3, 4] {
            push_varint(&mut bytes, number);
        }
        let mut numbers = VarInts(&bytes);
        assert_eq!(numbers.several(), [1, 2]);
        assert_eq!(numbers.several(), [300, 3]);
        assert_eq!(numbers.several(), [4, 0]);
    }

    #[test]
    fn a_part_can_be_read_by_itself() {
        let mut numbers = VarInts(&[7, 8, 9]);
        assert!(numbers.within(2).unwrap().eq([7, 8]));
        assert!(numbers.clone().within(2).is_none());
        assert!(numbers.eq([9]));
    }
}
