//! Search in bytes, by vector instructions.
//!
//! Keys, values and lines are so short that a call of `memchr` alone takes longer than their
//! search, so 64 bytes are searched at once.

use wide::u8x16;

/// Returns the positions of lines that start with at most `column` spaces.
pub(crate) fn shallow_lines(bytes: &[u8], column: usize) -> impl Iterator<Item = usize> {
    let furthest = u32::try_from(column).unwrap_or(u32::MAX).min(u64::BITS);
    // A block whose lines are found, its lines that are not returned yet, and whether the next one
    // follows a line break. Bit `n` of such a set is the byte `n` of the block.
    let (mut block, mut next, mut lines, mut follows_break) = (0, 0, 0_u64, 1);
    std::iter::from_fn(move || {
        loop {
            while lines != 0 {
                let at = block + lines.trailing_zeros() as usize;
                lines &= lines - 1;
                // The spaces of the block's last line may end behind the block.
                let line = bytes.get(at..).unwrap_or_default();
                let spaces = line.iter().take_while(|byte| **byte == b' ').count();
                if !line.is_empty() && spaces <= column {
                    return Some(at);
                }
            }
            block = next;
            let rest = bytes.get(block..).filter(|rest| !rest.is_empty())?;
            let chunk = self::block(rest);
            let (breaks, spaces) = (equal(&chunk, b'\n'), equal(&chunk, b' '));
            let ahead = |by| spaces.checked_shr(by).unwrap_or_default();
            let is_deep = (1..=furthest).fold(spaces, |deep, by| deep & ahead(by));
            lines = (breaks << 1 | follows_break) & !is_deep;
            (follows_break, next) = (breaks >> 63, block + chunk.len());
        }
    })
}

/// Returns the first 64 bytes, with zeros behind the end.
#[inline]
pub(crate) fn block(bytes: &[u8]) -> [u8; 64] {
    bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; 64];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded
    })
}

/// Returns the set of bytes that equal `wanted`. Bit `n` is the byte `n`.
#[inline]
pub(crate) fn equal(block: &[u8; 64], wanted: u8) -> u64 {
    let (chunks, _) = block.as_chunks::<16>();
    let wanted = u8x16::splat(wanted);
    let equal =
        |at: usize| u64::from(u8x16::new(chunks[at]).simd_eq(wanted).to_bitmask()) << (16 * at);
    equal(0) | equal(1) | equal(2) | equal(3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_shallow_lines_are_those_with_few_spaces(
            text in "( {0,5}\n| {60,70}[a\n]|[a-c ]{0,40}\n?|a{120,130}){0,20}",
            column in 0_usize..70,
        ) {
            let mut start = 0;
            let mut expected = Vec::new();
            for line in text.split_inclusive('\n') {
                if line.len() - line.trim_start_matches(' ').len() <= column {
                    expected.push(start);
                }
                start += line.len();
            }
            prop_assert_eq!(shallow_lines(text.as_bytes(), column).collect::<Vec<_>>(), expected);
        }
    }
}
