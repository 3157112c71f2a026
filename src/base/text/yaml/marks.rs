//! The ends of spaces, lines and unquoted scalars in a text, found for 64 bytes at once.

use crate::base::text::bytes;

/// The ends in 64 bytes of a text. Bit `n` of a set is the byte `start + n`; behind the end of the
/// text all bits are set.
pub(super) struct Marks<'a> {
    text: &'a [u8],
    start: usize,
    line_breaks: u64,
    /// All bytes except spaces.
    others: u64,
    /// Line breaks, colons before a blank, and number signs after a space.
    ends_of_plain: u64,
}

impl<'a> Marks<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let (start, line_breaks, others, ends_of_plain) = (0, 0, 0, 0);
        let mut marks = Self { text, start, line_breaks, others, ends_of_plain };
        marks.read(0);
        marks
    }

    /// Returns the offset of the next byte that is no space.
    #[inline]
    pub(super) fn behind_spaces(&mut self, from: usize) -> usize {
        self.next(from, |marks| marks.others)
    }

    /// Returns the offset of the next line break, or of the end.
    #[inline]
    pub(super) fn line_break(&mut self, from: usize) -> usize {
        self.next(from, |marks| marks.line_breaks)
    }

    /// Returns the offset of the colon, number sign or line break that ends an unquoted scalar.
    #[inline]
    pub(super) fn end_of_plain(&mut self, from: usize) -> usize {
        self.next(from, |marks| marks.ends_of_plain)
    }

    #[inline]
    fn next(&mut self, mut from: usize, set: impl Fn(&Self) -> u64) -> usize {
        loop {
            let passed = from.wrapping_sub(self.start);
            if passed < 64 {
                let found = set(self) >> passed;
                if found != 0 {
                    return from + found.trailing_zeros() as usize;
                }
                from = self.start + 64;
            }
            self.read(from);
        }
    }

    /// Finds the ends in the bytes from `start` on.
    fn read(&mut self, start: usize) {
        let rest = self.text.get(start..).unwrap_or_default();
        let block = bytes::block(rest);
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let absent = u64::MAX.checked_shl(length).unwrap_or_default();
        let line_breaks = bytes::equal(&block, b'\n') | absent;
        let spaces = bytes::equal(&block, b' ');
        let is_before_blank = matches!(rest.get(64), None | Some(b' ' | b'\n'));
        let is_behind_space = start > 0 && self.text.get(start - 1) == Some(&b' ');
        let before_blanks = (line_breaks | spaces) >> 1 | u64::from(is_before_blank) << 63;
        let behind_spaces = spaces << 1 | u64::from(is_behind_space);
        let colons = bytes::equal(&block, b':') & before_blanks;
        let comments = bytes::equal(&block, b'#') & behind_spaces;
        self.start = start;
        self.line_breaks = line_breaks;
        self.others = !spaces;
        self.ends_of_plain = line_breaks | colons | comments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_at_the_borders_of_64_bytes() {
        for end in [": ", ":\n", ":", " #", "\n", "", "#", ":x", " \u{e4}"] {
            for length in 0..140 {
                let text = format!("{}{end}", "a".repeat(length));
                let bytes = text.as_bytes();
                let is_end = |at: &usize| match bytes[*at] {
                    b':' => matches!(bytes.get(at + 1), None | Some(b' ' | b'\n')),
                    b'#' => *at > 0 && bytes[at - 1] == b' ',
                    byte => byte == b'\n',
                };
                let expected = (0..bytes.len()).find(is_end).unwrap_or(bytes.len());
                let mut marks = Marks::new(bytes);
                assert_eq!(marks.end_of_plain(0), expected, "{text:?}");
                assert_eq!(marks.end_of_plain(expected), expected, "{text:?}");
                let line_break = text.find('\n').unwrap_or(bytes.len());
                assert_eq!(marks.line_break(0), line_break, "{text:?}");
                let spaces = format!("{}{end}", " ".repeat(length));
                let behind = spaces.len() - spaces.trim_start_matches(' ').len();
                assert_eq!(Marks::new(spaces.as_bytes()).behind_spaces(0), behind);
                assert_eq!(marks.behind_spaces(bytes.len() + 1), bytes.len() + 1);
            }
        }
    }
}
