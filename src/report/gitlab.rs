//! Results as GitLab's code quality report, which it shows in merge requests.

use serde_json::{Value, json};

use super::Document;
use super::results::{Located, Results};
use crate::finding::{Code, Severity};

/// How long a description may be, in characters: it is one cell of a table.
const DESCRIPTION_SHOWN: usize = 1000;

/// Results as a code quality report: a JSON array, the worst first.
///
/// # Errors
///
/// When the report cannot be JSON, which has no usual cause.
pub fn gitlab(Results(results): &Results) -> serde_json::Result<Document> {
    Document::json(&Value::from_iter(results.iter().map(issue)))
}

fn issue(result: &Located) -> Value {
    json!({
        "description": description(result),
        "check_name": result.code.id(),
        "fingerprint": result.fingerprint,
        "severity": severity(result),
        "location": {"path": result.place.path, "lines": {"begin": result.place.line.unwrap_or(1)}},
    })
}

fn description(result: &Located) -> String {
    let help = result.help.iter().map(|line| line.trim());
    let words: Vec<&str> = [result.message.as_str()].into_iter().chain(help).collect();
    let description = match words.as_slice() {
        [message, help @ ..] if !help.is_empty() => format!("{message}: {}", help.join(" ")),
        _ => words.concat(),
    };
    if description.chars().count() <= DESCRIPTION_SHOWN {
        return description;
    }
    description
        .chars()
        .take(DESCRIPTION_SHOWN - 1)
        .chain(['…'])
        .collect()
}

fn severity(result: &Located) -> &'static str {
    match (result.severity, result.code) {
        (Severity::Error, Code::Stale) => "major",
        (Severity::Error, _) => "critical",
        (Severity::Warning, _) => "minor",
    }
}
