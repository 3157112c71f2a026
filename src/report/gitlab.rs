//! GitLab code quality report, shown in merge requests.

use serde_json::{Value, json};

use super::ReportDocument;
use super::json::Problem;
use super::results::{CiResult, CiResults};
use crate::base::finding::{Code, Severity};
use crate::base::text::joined;

/// Maximum length of a description in characters, because GitLab shows it in a table cell.
const DESCRIPTION_SHOWN: usize = 1000;

/// Formats results as a code quality report: a JSON array, errors first.
///
/// # Errors
///
/// The report cannot be represented as JSON, which has no known cause.
pub fn gitlab(CiResults(results): &CiResults) -> serde_json::Result<ReportDocument> {
    ReportDocument::json(&Value::from_iter(results.iter().map(issue)))
}

fn issue(CiResult { problem, place, fingerprint, .. }: &CiResult) -> Value {
    let severity = match problem.severity {
        Severity::Error if problem.code == Code::Stale.id() => "major",
        Severity::Error => "critical",
        Severity::Warning => "minor",
    };
    json!({
        "description": description(problem),
        "check_name": problem.code,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": place.file, "lines": {"begin": place.line.unwrap_or(1)}},
    })
}

fn description(problem: &Problem) -> String {
    let help = joined(problem.help.iter().flat_map(|help| help.lines()).map(str::trim), " ");
    let colon = if help.is_empty() { "" } else { ": " };
    let description = format!("{}{colon}{help}", problem.message);
    if description.chars().count() <= DESCRIPTION_SHOWN {
        return description;
    }
    description.chars().take(DESCRIPTION_SHOWN - 1).chain(['…']).collect()
}
