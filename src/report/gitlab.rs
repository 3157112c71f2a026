//! GitLab code quality report, shown in merge requests.

use serde_json::{Value, json};

use super::ReportDocument;
use super::results::{CiResults, LocatedFinding};
use crate::base::finding::{Code, Severity};

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

fn issue(result: &LocatedFinding) -> Value {
    json!({
        "description": description(result),
        "check_name": result.code.id(),
        "fingerprint": result.fingerprint,
        "severity": severity(result),
        "location": {"path": result.place.file, "lines": {"begin": result.place.line.unwrap_or(1)}},
    })
}

fn description(result: &LocatedFinding) -> String {
    let help: Vec<&str> = result.help.iter().map(|line| line.trim()).collect();
    let colon = if help.is_empty() { "" } else { ": " };
    let description = format!("{}{colon}{}", result.message, help.join(" "));
    if description.chars().count() <= DESCRIPTION_SHOWN {
        return description;
    }
    description.chars().take(DESCRIPTION_SHOWN - 1).chain(['…']).collect()
}

fn severity(result: &LocatedFinding) -> &'static str {
    match (result.severity, result.code) {
        (Severity::Error, Code::Stale) => "major",
        (Severity::Error, _) => "critical",
        (Severity::Warning, _) => "minor",
    }
}
