//! SARIF 2.1.0 output, for GitHub code scanning and editors.

use serde_json::{Value, json};

use super::ReportDocument;
use super::json::ProblemPlace;
use super::results::{CiResult, CiResults};
use crate::base::finding::Code;
use crate::base::text::{in_url, joined};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Formats results as a SARIF log with one run, errors first.
///
/// # Errors
///
/// The log cannot be represented as JSON, which has no known cause.
pub fn sarif(CiResults(results): &CiResults) -> serde_json::Result<ReportDocument> {
    let rules = Code::ALL.iter().map(|code| {
        json!({
            "id": code.id(),
            "shortDescription": {"text": code.title()},
            "help": {"text": code.explanation(), "markdown": code.explanation()},
            "defaultConfiguration": {"level": code.severity().word()},
        })
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "sipgen", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": Value::from_iter(rules)}},
            "columnKind": "unicodeCodePoints",
            "results": Value::from_iter(results.iter().map(result)),
        }],
    });
    ReportDocument::json(&log)
}

fn result(CiResult { problem, place, fingerprint, .. }: &CiResult) -> Value {
    let text = joined([&problem.message].into_iter().chain(&problem.help), "\n");
    let related = problem.places.iter().map(|place| {
        let mut location = location(place);
        if let Some(what) = &place.what {
            location["message"] = json!({"text": without_links(what)});
        }
        location
    });
    json!({
        "ruleId": problem.code,
        "level": problem.severity.word(),
        "message": {"text": without_links(&text)},
        "locations": [location(place)],
        "relatedLocations": Value::from_iter(related),
        "partialFingerprints": {"sipgen/v1": fingerprint},
    })
}

fn location(place: &ProblemPlace) -> Value {
    // Code scanning tracks a result across commits by its line, so a line is always given.
    let mut region = json!({"startLine": place.line.unwrap_or(1)});
    if let Some(column) = place.column {
        region["startColumn"] = column.into();
    }
    if let (Some(line), Some(end)) = (place.end_line, place.end_column) {
        region["endLine"] = line.into();
        region["endColumn"] = end.into();
    }
    json!({"physicalLocation": {"artifactLocation": {"uri": in_url(&place.file, b"")}, "region": region}})
}

/// Breaks links, because viewers render `[words](address)`.
fn without_links(text: &str) -> String {
    text.replace("](", "] (")
}
