//! Small numbers in few bytes: seven bits a byte, the lowest first, the top bit says that more follow.
//!
//! Most numbers of the index (steps between skills, counts of words) are below 128. Kept this way the index of
//! ten thousand skills takes a third of the memory.

/// Appends a number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// Reads what [`put`] wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Numbers<'_> {
    /// The numbers in the next `length` bytes, which are then behind us.
    pub(super) fn within(&mut self, length: u32) -> Option<Self> {
        let (own, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Self(own))
    }

    /// The next `N` numbers, 0 for each that is missing. Quick where all are small.
    #[inline]
    pub(super) fn several<const N: usize>(&mut self) -> [u32; N] {
        if let Some((first, rest)) = self.0.split_first_chunk::<N>()
            && first.iter().fold(0, |all, byte| all | byte) <= 0x7f
        {
            self.0 = rest;
            return first.map(u32::from);
        }
        [(); N].map(|()| self.next().unwrap_or_default())
    }

    /// The number that starts with `first` and goes on.
    fn longer(&mut self, first: u8) -> Option<u32> {
        let mut number = u32::from(first & 0x7f);
        for shift in [7, 14, 21, 28] {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte <= 0x7f {
                break;
            }
        }
        Some(number)
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        if byte <= 0x7f { Some(u32::from(byte)) } else { self.longer(byte) }
    }
}

/// A count as the index keeps it. Texts are bounded, so this cuts nothing that exists.
pub(super) fn narrow(count: usize) -> u32 {
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
            put(&mut bytes, number);
        }
        assert_eq!(Numbers(&bytes).collect::<Vec<_>>(), numbers);
        assert_eq!(bytes.len(), 1 + 1 + 1 + 2 + 2 + 2 + 3 + 5);
    }

    #[test]
    fn several_are_read_alike_whether_small_or_not() {
        let mut bytes = Vec::new();
        for number in [1, 2, 300, 3, 4] {
            put(&mut bytes, number);
        }
        let mut numbers = Numbers(&bytes);
        assert_eq!(numbers.several(), [1, 2]);
        assert_eq!(numbers.several(), [300, 3]);
        assert_eq!(numbers.several(), [4, 0]);
    }

    #[test]
    fn a_part_can_be_read_by_itself() {
        let mut numbers = Numbers(&[7, 8, 9]);
        assert!(numbers.within(2).unwrap().eq([7, 8]));
        assert!(numbers.clone().within(2).is_none());
        assert!(numbers.eq([9]));
    }
}
