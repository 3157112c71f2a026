//! Quotes a line of a file and marks the error below it, as compilers do.
//!
//! `annotate-snippets` computes the column from the quoted source, and would be wrong for a line
//! that was shortened or of which a secret was left out.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{FAINT, ReportText, one_line, styled};
use crate::input::load::Excerpt;

/// Maximum numbers of columns of a line, before the mark, and under the mark.
const LINE_SHOWN: usize = 120;
const BEFORE_SHOWN: usize = 50;
const MARKED_SHOWN: usize = 60;

/// Maximum number of characters to read of each part, because a line may have millions.
const CHARACTERS_READ: usize = 1000;

/// Formats an excerpt. `gutter` is the width of the line number column.
pub(super) fn quoted(excerpt: &Excerpt, gutter: usize, mark: char, style: Style) -> ReportText {
    let before = shown(last_characters(&excerpt.before));
    let before: String = fitting(before.chars().rev(), BEFORE_SHOWN).chars().rev().collect();
    let marked = fitting(shown(first_characters(&excerpt.marked)).chars(), MARKED_SHOWN);
    let rest = LINE_SHOWN - before.width() - marked.width();
    let after = fitting(shown(first_characters(&excerpt.after)).trim_end().chars(), rest);
    let bar = styled(FAINT, "|");
    let number = styled(FAINT, format!("{:>gutter$}", excerpt.line));
    let marks = styled(style, mark.to_string().repeat(marked.width().max(1)));
    let mut out = ReportText::default();
    writeln!(out, "{:gutter$} {bar}", "");
    writeln!(out, "{number} {bar} {before}{marked}{after}");
    writeln!(out, "{:gutter$} {bar} {}{marks}", "", " ".repeat(before.width()));
    out
}

/// Prepares a text for a terminal. Tabs are expanded, because their width depends on the column.
fn shown(text: &str) -> String {
    one_line(&text.replace('\t', "    "))
}

fn first_characters(text: &str) -> &str {
    text.char_indices().nth(CHARACTERS_READ).map_or(text, |(end, _)| &text[..end])
}

fn last_characters(text: &str) -> &str {
    text.char_indices().rev().nth(CHARACTERS_READ).map_or(text, |(before, _)| &text[before..])
}

/// Returns the characters that fit, with a mark in the last column if some do not.
fn fitting(text: impl Iterator<Item = char> + Clone, columns: usize) -> String {
    let width = |c: char| c.width().unwrap_or_default();
    if text.clone().map(width).sum::<usize>() <= columns {
        return text.collect();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += width(*c);
        used < columns
    };
    text.take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(before: &str, marked: &str, after: &str) -> String {
        let excerpt =
            Excerpt { line: 7, before: before.into(), marked: marked.into(), after: after.into() };
        quoted(&excerpt, 2, '^', Style::new()).to_string()
    }

    #[test]
    fn what_is_wrong_is_marked_below_its_line() {
        assert_eq!(
            excerpt("\tport: ", "0", " # no"),
            "   |\n 7 |     port: 0 # no\n   |           ^\n"
        );
    }

    #[test]
    fn wide_characters_are_marked_as_wide_as_they_are() {
        assert_eq!(excerpt("名: ", "机架", ""), "   |\n 7 | 名: 机架\n   |     ^^^^\n");
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(
            excerpt("a: ", "\u{1b}[2J\u{202e}", "\r"),
            "   |\n 7 | a: \\u{1b}[2J\\u{202e}\\r\n   |    ^^^^^^^^^^^^^^^^^\n"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_what_is_marked() {
        let shown = excerpt(&"b".repeat(9999), &"m".repeat(9999), &"a".repeat(9999));

        let line = shown.lines().nth(1).unwrap();
        assert_eq!(line.width(), " 7 | ".len() + LINE_SHOWN);
        assert!(line.contains("…bbb") && line.contains("m…a") && line.ends_with("a…"), "{line}");
    }

    #[test]
    fn an_empty_place_has_a_mark() {
        assert_eq!(excerpt("a:", "", ""), "   |\n 7 | a:\n   |   ^\n");
    }
}
