//! Search in bytes, by vector instructions.
//!
//! Keys, values and lines are so short that a call of `memchr` alone takes longer than their
//! search.

use wide::u8x16;

/// Returns the positions of bytes that are one of three.
#[inline]
pub(crate) fn positions_of(wanted: [u8; 3], bytes: &[u8]) -> impl Iterator<Item = usize> {
    let [a, b, c] = wanted;
    let (a, b, c) = (u8x16::splat(a), u8x16::splat(b), u8x16::splat(c));
    positions(bytes, move |chunk| chunk.simd_eq(a) | chunk.simd_eq(b) | chunk.simd_eq(c))
}

/// Returns the position of the first line break, or else the length.
#[inline]
pub(crate) fn line_break(bytes: &[u8]) -> usize {
    let line_break = u8x16::splat(b'\n');
    let mut all = positions(bytes, move |chunk| chunk.simd_eq(line_break));
    all.next().unwrap_or(bytes.len())
}

/// Returns the number of spaces at the start.
#[inline]
pub(crate) fn spaces(bytes: &[u8]) -> usize {
    let space = u8x16::splat(b' ');
    let mut others = positions(bytes, move |chunk| !chunk.simd_eq(space));
    others.next().unwrap_or(bytes.len())
}

/// Returns the positions of bytes that match.
#[inline]
fn positions(bytes: &[u8], matches: impl Fn(u8x16) -> u8x16) -> impl Iterator<Item = usize> {
    // A chunk, and the set of its bytes that are found and not returned yet.
    let (mut chunk, mut next, mut found) = (0, 0, 0_u32);
    std::iter::from_fn(move || {
        while found == 0 {
            chunk = next;
            let rest = bytes.get(chunk..).filter(|rest| !rest.is_empty())?;
            found = match rest.first_chunk() {
                Some(chunk) => matches(u8x16::new(*chunk)).to_bitmask(),
                None => {
                    let found = matches(u8x16::new(padded(rest))).to_bitmask();
                    found & !(u32::MAX << rest.len())
                }
            };
            next += 16;
        }
        let at = chunk + found.trailing_zeros() as usize;
        found &= found - 1;
        Some(at)
    })
}

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
                if at < bytes.len() && spaces(&bytes[at..]) <= column {
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
    let block = bytes.first_chunk().copied();
    block.unwrap_or_else(|| padded(bytes))
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

/// Returns bytes with zeros behind them.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_byte_is_found_wherever_it_is() {
        for length in 0..100 {
            for at in 0..length {
                let mut bytes = vec![b' '; length];
                bytes[at..].fill(0x0b);
                bytes[at] = b'\n';
                assert_eq!(line_break(&bytes), at);
                let all = |wanted| positions_of(wanted, &bytes).collect::<Vec<_>>();
                assert_eq!(all(*b"x\ny"), [at]);
                assert_eq!(all([b'x', 0x0b, b'y']), (at + 1..length).collect::<Vec<_>>());
                assert_eq!(all(*b"xyz"), [0; 0]);
                assert_eq!(spaces(&bytes), at);
            }
            assert_eq!(line_break(&vec![0x8a; length]), length);
            assert_eq!(positions_of([0; 3], &vec![2; length]).next(), None);
            assert_eq!(spaces(&vec![b' '; length]), length);
        }
    }

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
