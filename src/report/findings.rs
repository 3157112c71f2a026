//! Findings as text, with their positions.

use std::collections::BTreeMap;

use anstyle::Style;
use rayon::prelude::*;

use super::{
    ERROR, FAINT, ReportText, STRONG, WARNING, excerpt, one_line, severity_style, styled,
    write_more,
};
use crate::base::finding::{Code, Finding};
use crate::base::text::{counted, joined};
use crate::input::load::{Excerpt, Files, Texts};

/// Maximum numbers of findings of one severity, and of positions of a finding.
const FINDINGS_SHOWN: usize = 100;
const PLACES_SHOWN: usize = 10;

/// Maximum number of findings of one code in a truncated list, so that a repeated mistake hides no
/// other.
const MAX_SIMILAR: usize = 30;

/// Maximum number of positions that are all quoted. Of more, only the first one is.
const STORY_QUOTED: usize = 3;

/// Minimum width of the line number column, in characters.
const GUTTER: usize = 2;

/// Formats findings, warnings first, so that errors are last on the terminal.
pub fn findings(findings: &[Finding], files: &Files) -> ReportText {
    let mut by_severity: Vec<&Finding> = findings.iter().collect();
    by_severity.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut out = ReportText::default();
    for same_severity in by_severity.chunk_by(|a, b| a.severity == b.severity) {
        let shown = shown(same_severity);
        let texts = shown.par_iter().map_init(|| Texts::new(files), |texts, it| text(it, texts));
        texts.collect::<Vec<ReportText>>().iter().for_each(|text| out.push(text));
        if same_severity.len() > shown.len() {
            write_more(&mut out, 0, same_severity.len() - shown.len(), "finding", "");
            writeln!(out);
        }
    }
    out
}

/// Selects the findings of one severity to show.
fn shown<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    if findings.len() <= FINDINGS_SHOWN {
        return findings.to_vec();
    }
    let mut alike: BTreeMap<Code, usize> = BTreeMap::new();
    let is_shown = |finding: &&&Finding| {
        let count = alike.entry(finding.code).or_default();
        *count += 1;
        *count <= MAX_SIMILAR
    };
    findings.iter().filter(is_shown).take(FINDINGS_SHOWN).copied().collect()
}

/// Formats the number of findings on one line. `muted` counts the warnings that the settings mute.
pub fn tally(findings: &[Finding], muted: usize) -> ReportText {
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    let warnings = findings.len() - errors;
    let words = counts(&[(errors, "error", ERROR), (warnings, "warning", WARNING)])
        .unwrap_or_else(|| "no findings".to_owned());
    let muted =
        if muted > 0 { format!(" ({} muted)", counted(muted, "warning")) } else { String::new() };
    let more = match findings.iter().min_by_key(|finding| finding.severity) {
        Some(worst) => format!("; run `sipgen explain {}` for details", worst.code),
        None => String::new(),
    };
    format!("{words}{muted}{more}\n").into()
}

/// Lists the numbers above 0; `None` if there is none.
pub(super) fn counts(of: &[(usize, &str, Style)]) -> Option<String> {
    let counts = of.iter().filter(|(count, ..)| *count > 0);
    let counts = counts.map(|(count, noun, style)| styled(*style, counted(*count, noun)));
    Some(joined(counts, ", ")).filter(|counts| !counts.is_empty())
}

fn text(finding: &Finding, texts: &mut Texts<'_>) -> ReportText {
    let mut out = ReportText::default();
    let style = severity_style(finding.severity);
    let code = styled(style, format!("{}[{}]", finding.severity.word(), finding.code));
    writeln!(out, "{code}: {}", styled(STRONG, one_line(&finding.message)));
    let quoted = if finding.places.len() <= STORY_QUOTED { STORY_QUOTED } else { 1 };
    let values = !finding.code.hides_value();
    let excerpts =
        finding.places.iter().take(quoted).map(|(place, _)| texts.excerpt(place, values));
    let excerpts: Vec<Option<Excerpt>> = excerpts.collect();
    let widest = excerpts.iter().flatten().map(|excerpt| excerpt.line).max().unwrap_or_default();
    let gutter = widest.to_string().len().max(GUTTER);
    let arrow = styled(FAINT, "-->");
    for (index, (place, what)) in finding.places.iter().take(PLACES_SHOWN).enumerate() {
        let position = texts.position(place).to_string();
        let what = what.as_ref().map_or(String::new(), |what| format!("  ({})", one_line(what)));
        writeln!(out, "{:gutter$}{arrow} {}{what}", "", one_line(&position));
        let (mark, style) = if index == 0 { ('^', style) } else { ('-', FAINT) };
        if let Some(Some(excerpt)) = excerpts.get(index) {
            out.push(&excerpt::quoted(excerpt, gutter, mark, style));
        }
    }
    if let Some(more @ 1..) = finding.places.len().checked_sub(PLACES_SHOWN) {
        writeln!(out, "{:gutter$}{arrow} and {more} more places", "");
    }
    let words = ["help:"].into_iter().chain(std::iter::repeat("     "));
    for (word, line) in words.zip(finding.help.iter().flat_map(|help| help.lines())) {
        writeln!(out, "{:GUTTER$}{} {}", "", styled(FAINT, word), one_line(line));
    }
    writeln!(out);
    out
}
