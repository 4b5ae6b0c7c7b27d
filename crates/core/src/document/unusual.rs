//! The characters of a text that are neither printable ASCII nor ordinary white space.
//!
//! Every file is checked for them when it is read, and most of a skill has none: so eight bytes are looked at together.
//! Not here: which of these characters are a finding.

const BLOCK_BYTES: usize = size_of::<u64>();

/// These characters, each with the byte at which it starts.
pub(super) fn unusual_characters(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK_BYTES>();
    let rest = rest.iter().zip(blocks.len() * BLOCK_BYTES..);
    let blocks = blocks.iter().enumerate().filter(|(_, block)| may_hold_unusual(**block));
    let bytes = blocks.flat_map(|(nth, block)| block.iter().zip(nth * BLOCK_BYTES..)).chain(rest);
    let unusual = bytes.filter(|(byte, _)| is_unusual(**byte));
    // At a byte within a character, no text starts.
    unusual.filter_map(|(_, at)| Some((at, text.get(at..)?.chars().next()?)))
}

fn is_unusual(byte: u8) -> bool {
    !matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

/// False only if no byte is unusual. It sees the high bits of the bytes after arithmetic on all eight: what one of them
/// carries over to the next can only make the answer true.
fn may_hold_unusual(block: [u8; BLOCK_BYTES]) -> bool {
    const ONE_PER_BYTE: u64 = u64::from_ne_bytes([1; BLOCK_BYTES]);
    const HIGH_BITS: u64 = ONE_PER_BYTE << 7;
    const LOW_BITS: u64 = !HIGH_BITS;
    let block = u64::from_ne_bytes(block);
    // Set for a byte that is not ASCII, for DEL, and for one below the space.
    let unusual = block
        | block.wrapping_add(ONE_PER_BYTE)
        | block.wrapping_sub(ONE_PER_BYTE * u64::from(b' '));
    // Set for a line feed and for nothing else: every line has one.
    let difference = block ^ (ONE_PER_BYTE * u64::from(b'\n'));
    let line_feed = !(((difference & LOW_BITS) + LOW_BITS) | difference);
    unusual & !line_feed & HIGH_BITS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unusual_character_is_found_where_it_starts() {
        let unusual = ['\0', '\u{7f}', '\u{85}', 'é', '＝', '\u{200b}', '🦀'];
        for padding in 0..2 * BLOCK_BYTES {
            let text =
                format!("{}{}", "a \n\t\r~".repeat(padding), unusual.map(String::from).concat());
            let expected = text.char_indices().filter(|(_, c)| unusual.contains(c));
            assert!(unusual_characters(&text).eq(expected), "{padding}");
        }
        assert_eq!(unusual_characters("").next(), None);
    }

    #[test]
    fn no_unusual_byte_is_passed_over_beside_any_other() {
        for byte in (0..=u8::MAX).filter(|byte| is_unusual(*byte)) {
            for beside in 0..=u8::MAX {
                for at in 0..BLOCK_BYTES {
                    let mut block = [beside; BLOCK_BYTES];
                    block[at] = byte;
                    assert!(may_hold_unusual(block), "{block:?}");
                }
            }
        }
        assert!((b' '..=b'~').all(|byte| !may_hold_unusual([byte; BLOCK_BYTES])));
    }
}
