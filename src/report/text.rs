//! Text for people, the only form in which messages reach stdout and stderr.
//!
//! One call writes one line, whatever names it contains. A [`ReportText`] has no control characters
//! except line feeds, no credentials, and no CI runner commands. So no output channel has to
//! filter.

use std::fmt::{self, Display, Write};

use anstyle::{Reset, Style};
use unicode_width::UnicodeWidthChar;

use super::STYLES;
use crate::base::text::credentials::{masked, masked_line};
use crate::base::text::visible::{escaped, is_hidden, push_without_commands};

/// Noncharacters, which Unicode reserves for internal use, mark styles until the text is printed.
/// So an escape sequence of an input is never a style. The first marks are those of [`STYLES`].
const FIRST: char = '\u{fdd0}';
const RESET: char = '\u{fdef}';

/// Sanitized text for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, derive_more::Display)]
#[display("{}", self.with(|_, _| {}))]
pub struct ReportText(String);

impl ReportText {
    /// Wraps sipgen's own text, such as its manual, which contains no input.
    pub(crate) fn trusted(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Appends a part of a line, or a line with its line feed; called by `write!` and `writeln!`. A
    /// line feed anywhere else comes from an input and is escaped.
    pub(crate) fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) {
        let part = arguments.to_string();
        let (line, end) = part.strip_suffix('\n').map_or((part.as_str(), ""), |line| (line, "\n"));
        let is_escaped = |c| is_hidden(c) && !is_style(c);
        self.0.push_str(&escaped(&masked(line), is_escaped, char::escape_default));
        self.0.push_str(end);
    }

    /// Appends a text.
    pub fn push(&mut self, text: &ReportText) {
        self.0.push_str(&text.0);
    }

    /// Appends a line of a diffed file behind a sign. Tabs and the carriage return of a line end
    /// are kept, so that `git apply` accepts the diff. A line with other hidden characters cannot
    /// be applied.
    pub(super) fn push_line_of_file(&mut self, style: Style, sign: Option<char>, line: &str) {
        let (line, end) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
        let line = masked_line(line);
        let visible = escaped(&line, |c| is_hidden(c) && c != '\t', char::escape_default);
        self.0.push_str(&styled(style, String::from_iter(sign) + &visible + end));
        self.0.push('\n');
    }

    /// Breaks lines of more than `width` columns at spaces. A continuation starts where the last
    /// column of a table starts, or is indented. Excerpts of files stay as they are.
    #[must_use]
    pub fn fitted(&self, width: usize) -> Self {
        let mut out = Self::default();
        for line in self.0.split_inclusive('\n') {
            if columns(line) <= width || is_excerpt(line) {
                out.0.push_str(line);
            } else {
                out.push_fitted(line, width);
            }
        }
        out
    }

    fn push_fitted(&mut self, line: &str, width: usize) {
        let indent = continuation_column(line, width);
        let mut column = 0;
        // A selector may be longer than a line.
        let is_long = |word: &&str| indent + columns(word.trim_end()) > width;
        let words = line.split_inclusive(' ');
        let parts = words.flat_map(|it| it.split_inclusive(if is_long(&it) { ',' } else { ' ' }));
        for word in parts {
            if column > indent && column + columns(word.trim_end()) > width {
                let end = self.0.trim_end_matches(' ').len();
                self.0.truncate(end);
                self.0.push('\n');
                self.0.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            self.0.push_str(word);
            column += columns(word);
        }
    }

    /// Reports whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text with ANSI escape sequences for its styles.
    pub fn styled(&self) -> String {
        self.with(|mark, out| {
            let style = STYLES.get((u32::from(mark) - u32::from(FIRST)) as usize);
            // Writing to a String cannot fail.
            let _ = match style {
                Some(style) => write!(out, "{style}"),
                None => write!(out, "{}", Reset),
            };
        })
    }

    /// Joins the lines, calling `mark` for each style.
    fn with(&self, mark: impl Fn(char, &mut String)) -> String {
        let mut out = String::with_capacity(self.0.len());
        for line in self.0.split_inclusive('\n') {
            let mut safe = String::with_capacity(line.len());
            push_without_commands(&mut safe, line, is_style);
            let mut is_open = false;
            for c in safe.chars() {
                // A style ends with its line, even one that an input has started.
                if c == '\n' && is_open {
                    mark(RESET, &mut out);
                }
                if is_style(c) {
                    is_open = c != RESET;
                    mark(c, &mut out);
                } else {
                    out.push(c);
                }
            }
        }
        out
    }
}

impl From<&str> for ReportText {
    /// Treats each line as one of sipgen's own.
    fn from(text: &str) -> Self {
        let mut out = Self::default();
        text.split_inclusive('\n').for_each(|line| write!(out, "{line}"));
        out
    }
}

impl From<String> for ReportText {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// Marks a text with one of the [`STYLES`], to be rendered by [`ReportText`].
pub(super) fn styled(style: Style, text: impl Display) -> String {
    let number = (0..).zip(STYLES).find(|(_, known)| *known == style).map(|(number, _)| number);
    match number.and_then(|number: u32| char::from_u32(u32::from(FIRST) + number)) {
        Some(mark) => format!("{mark}{text}{RESET}"),
        None => text.to_string(),
    }
}

/// Returns the width of a text on a terminal.
fn columns(text: &str) -> usize {
    text.chars().filter(|c| !is_style(*c)).filter_map(|c| c.width()).sum()
}

/// Reports whether a line quotes a file: `12 | name: edge`.
fn is_excerpt(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit() || is_style(c));
    number.starts_with('|')
}

/// Returns the column of a continuation: that of the last column of a table that starts in the left
/// half, else a further indentation.
fn continuation_column(line: &str, width: usize) -> usize {
    const FURTHER: usize = 4;
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let starts = text.match_indices("  ").map(|(gap, _)| indent + columns(&text[..gap + 2]));
    let last = starts.filter(|start| *start <= width / 2).last();
    last.unwrap_or_else(|| (indent + FURTHER).min(width / 2))
}

fn is_style(c: char) -> bool {
    matches!(c, FIRST..=RESET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{ERROR, FAINT};

    #[test]
    fn a_call_writes_one_line() {
        let mut text = ReportText::default();
        let (name, other) = ("a\n::error::b\u{1b}[2J\r", "c");
        writeln!(text, "name {name}");
        write!(text, "{other}");
        writeln!(text);

        assert_eq!(text.to_string(), "name a\\n::error::b\\u{1b}[2J\\r\nc\n");
    }

    #[test]
    fn long_lines_break_between_words_and_excerpts_do_not() {
        let fitted = |text: &str| ReportText::from(text).fitted(30).to_string();

        assert_eq!(fitted("short\n"), "short\n");
        let table = "    0  edge  asks for more hosts than there are\n";
        let in_column =
            "    0  edge  asks for more\n             hosts than there\n             are\n";
        assert_eq!(fitted(table), in_column);
        let gap_on_the_right = "  3  1  size in (a30,l40s),rack=r1  (metal/one of the clusters)\n";
        let in_column = "  3  1  size in\n        (a30,l40s),rack=r1\n        (metal/one of the\n        clusters)\n";
        assert_eq!(fitted(gap_on_the_right), in_column);
        let selector = format!("  3  1  {},{}\n", "a".repeat(18), "b".repeat(18));
        let cut = format!("  3  1  {},\n        {}\n", "a".repeat(18), "b".repeat(18));
        assert_eq!(fitted(&selector), cut);
        let help = "  help: write the name of the field in quotes\n";
        assert_eq!(fitted(help), "  help: write the name of the\n      field in quotes\n");
        let word = format!("  {}\n", "long".repeat(10));
        assert_eq!(fitted(&word), word);
        let excerpt = format!("12 | {}\n", "a b c d ".repeat(10));
        assert_eq!(fitted(&excerpt), excerpt);
    }

    #[test]
    fn styles_are_seen_only_where_they_are_asked_for() {
        let mut text = ReportText::default();
        writeln!(text, "{} b", styled(ERROR, "a"));
        writeln!(text, "{}", styled(FAINT, "c"));

        assert_eq!(text.to_string(), "a b\nc\n");
        assert_eq!(text.styled(), "\u{1b}[1m\u{1b}[31ma\u{1b}[0m b\n\u{1b}[36mc\u{1b}[0m\n");
    }

    #[test]
    fn a_style_of_an_input_ends_with_its_line() {
        let mut text = ReportText::default();
        writeln!(text, "a\u{fdd2}b");

        assert_eq!(text.to_string(), "ab\n");
        assert_eq!(text.styled(), "a\u{1b}[1mb\u{1b}[0m\n");
    }

    #[test]
    fn no_line_is_a_command_and_no_credential_is_shown() {
        let text =
            ReportText::from("::error::x\n  ::warning::y\n##[group]z\nsee https://a:b@c/d?e=f\n");

        assert_eq!(
            text.to_string(),
            "\\u{3a}:error::x\n  \\u{3a}:warning::y\n#\\u{23}[group]z\nsee https://…@c/d?…\n"
        );
        let mut text = ReportText::default();
        writeln!(text, "{}", styled(ERROR, "::error::"));
        assert_eq!(text.to_string(), "\\u{3a}:error::\n");
    }
}
