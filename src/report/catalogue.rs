//! Catalogue of findings: one code in detail, and lists of all codes.

use std::fmt::Write;

use serde_json::{Value, json};

use super::plan::wrapped;
use super::{FAINT, ReportText, STRONG, severity_style, styled, write_heading};
use crate::base::finding::{Code, Severity};
use crate::base::text::joined;

/// Maximum line width of an explanation on a terminal, in characters.
const WIDTH: usize = 80;

/// Formats a code's explanation for a terminal: examples are indented, the rest is plain text.
pub fn explain_code(code: Code) -> ReportText {
    let severity = code.severity();
    let name = styled(severity_style(severity), format_args!("{}[{code}]", severity.word()));
    let title = styled(STRONG, code.title());
    ReportText::trusted(&format!("{name}: {title}\n\n{}", plain(code.explanation())))
}

/// Lists all codes, grouped by area.
pub fn codes() -> ReportText {
    let mut out = ReportText::default();
    for area_codes in Code::ALL.chunk_by(|a, b| a.area() == b.area()) {
        write_heading(&mut out, area_codes[0].area());
        for code in area_codes {
            let severity = code.severity();
            let severity = styled(severity_style(severity), format_args!("{:7}", severity.word()));
            writeln!(out, "  {}  {severity}  {}", styled(FAINT, code), code.title());
        }
    }
    out
}

/// Returns an entry of the catalogue, as printed by `sipgen explain --format json`.
pub fn code_as_json(code: &Code) -> Value {
    json!({
        "code": code.id(),
        "severity": code.severity(),
        "area": code.area(),
        "title": code.title(),
        "explanation": code.explanation(),
    })
}

/// Formats all codes as the lists between the marks of `docs/reference/findings.md`, one per area.
pub fn codes_as_markdown() -> String {
    let mut out = String::new();
    for area_codes in Code::ALL.chunk_by(|a, b| a.area() == b.area()) {
        let _ = write!(out, "\n## {}\n\n", capitalized(area_codes[0].area()));
        for code in area_codes {
            let mark = if code.severity() == Severity::Warning { " (warning)" } else { "" };
            let _ = writeln!(out, "- [`{code}`](findings/{code}.md){mark}: {}", code.title());
        }
    }
    out
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Converts Markdown with a line per paragraph to plain text: examples are indented, paragraphs are
/// filled, emphasis is dropped.
fn plain(markdown: &str) -> String {
    let mut out = String::new();
    let mut is_example = false;
    for line in markdown.trim().lines() {
        if line.trim_start().starts_with("```") {
            is_example = !is_example;
        } else if is_example {
            out.push_str(format!("    {line}").trim_end());
            out.push('\n');
        } else if line.trim().is_empty() {
            out.push('\n');
        } else {
            out.push_str(&filled(line));
        }
    }
    out
}

/// Removes `**`, except in code such as the glob `**`.
fn without_emphasis(paragraph: &str) -> String {
    let plain = paragraph.split('`').enumerate().map(|(index, part)| {
        let is_code = index % 2 == 1;
        if is_code { part.to_owned() } else { part.replace("**", "") }
    });
    joined(plain, "`")
}

/// Fills a paragraph to at most [`WIDTH`] characters. List items have a hanging indent.
fn filled(paragraph: &str) -> String {
    let paragraph = without_emphasis(paragraph);
    let body = paragraph.trim_start();
    let indent = paragraph.len() - body.len();
    let is_item = body.starts_with(|c: char| c == '-' || c == '*' || c.is_ascii_digit());
    let mark = body.find(' ').filter(|_| is_item).map_or(0, |at| at + 1);
    let indents = [indent].into_iter().chain(std::iter::repeat(indent + mark));
    let lines = indents.zip(wrapped(body, " ", WIDTH.saturating_sub(indent + mark)));
    lines.map(|(indent, line)| format!("{:indent$}{line}\n", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_plain_on_a_terminal() {
        let text = "One `a` two.\n\n```yaml\nspec:\n\n  a: 1\n```\n\n1. x y\n- z\n";

        assert_eq!(plain(text), "One `a` two.\n\n    spec:\n\n      a: 1\n\n1. x y\n- z\n");
    }

    #[test]
    fn a_long_paragraph_is_filled_and_an_item_hangs() {
        let text = plain(&format!("- {}", "word ".repeat(40)));

        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")), "{text}");
    }
}
