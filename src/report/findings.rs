//! Findings as text, with the places that they are about.

use std::fmt::{self, Write};

use super::{ERROR, FAINT, STRONG, WARNING, one_line, styled};
use crate::finding::{Finding, Severity};
use crate::source::{Files, Texts};

/// How many findings of one severity are shown, and how many places of each.
const FINDINGS_SHOWN: usize = 100;
const PLACES_SHOWN: usize = 10;

/// Findings, the warnings first, so that the errors stand where a reader's eyes are in the end.
pub fn findings(findings: &[Finding], files: &Files) -> String {
    let mut by_severity: Vec<&Finding> = findings.iter().collect();
    by_severity.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut texts = Texts::new(files);
    let mut out = String::new();
    for of_severity in by_severity.chunk_by(|a, b| a.severity == b.severity) {
        for finding in of_severity.iter().take(FINDINGS_SHOWN) {
            // Writing to a String cannot fail.
            let _ = write_finding(&mut out, finding, &mut texts);
        }
        if of_severity.len() > FINDINGS_SHOWN {
            let _ = writeln!(out, "… and {} more of these\n", of_severity.len() - FINDINGS_SHOWN);
        }
    }
    out
}

fn write_finding(out: &mut String, finding: &Finding, texts: &mut Texts<'_>) -> fmt::Result {
    let word = match finding.severity {
        Severity::Error => styled(ERROR, format!("error[{}]", finding.code)),
        Severity::Warning => styled(WARNING, format!("warning[{}]", finding.code)),
    };
    writeln!(out, "{word}: {}", styled(STRONG, one_line(&finding.message)))?;
    for (place, what) in finding.places.iter().take(PLACES_SHOWN) {
        let position = texts.position(place).to_string();
        let what = what.as_ref().map_or(String::new(), |what| format!("  ({})", one_line(what)));
        writeln!(out, "  {} {}{what}", styled(FAINT, "-->"), one_line(&position))?;
    }
    if finding.places.len() > PLACES_SHOWN {
        writeln!(out, "  {} and {} more places", styled(FAINT, "-->"), finding.places.len() - PLACES_SHOWN)?;
    }
    for (index, line) in finding.help.iter().flat_map(|help| help.lines()).enumerate() {
        let word = if index == 0 { "help:" } else { "     " };
        writeln!(out, "  {} {}", styled(FAINT, word), one_line(line))?;
    }
    writeln!(out)
}
