//! Search in bytes.

/// The number of bytes to search before `memchr` is faster.
const SHORT: usize = 64;

/// Returns the position of the first byte that is one of three, or else the length.
///
/// Keys, values and lines are so short that a call of `memchr` alone would take twice as long.
#[inline]
pub(crate) fn first_of(wanted: [u8; 3], bytes: &[u8]) -> usize {
    let [a, b, c] = wanted;
    let (words, _) = bytes[..bytes.len().min(SHORT)].as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = equal(word, a) | equal(word, b) | equal(word, c);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let searched = words.len() * 8;
    let found = memchr::memchr3(a, b, c, &bytes[searched..]);
    found.map_or(bytes.len(), |at| searched + at)
}

/// Returns the position of the first line break, or else the length.
#[inline]
pub(crate) fn line_break(bytes: &[u8]) -> usize {
    let (words, _) = bytes[..bytes.len().min(SHORT)].as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = equal(u64::from_le_bytes(*word), b'\n');
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let searched = words.len() * 8;
    let found = memchr::memchr(b'\n', &bytes[searched..]);
    found.map_or(bytes.len(), |at| searched + at)
}

/// Sets the highest bit of each byte of a word that equals `byte`. Bytes after the first such byte
/// may have it too.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let difference = word ^ (LOW * u64::from(byte));
    difference.wrapping_sub(LOW) & !difference & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_found_wherever_it_is() {
        for length in 0..100 {
            for at in 0..length {
                let mut bytes = vec![b'\t'; length];
                bytes[at..].fill(0x0b);
                bytes[at] = b'\n';
                assert_eq!(line_break(&bytes), at);
                assert_eq!(first_of([b'x', b'\n', b'y'], &bytes), at);
                assert_eq!(first_of(*b"xyz", &bytes), length);
            }
            assert_eq!(line_break(&vec![0x8a; length]), length);
        }
    }
}
