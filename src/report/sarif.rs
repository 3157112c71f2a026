//! SARIF 2.1.0 output, for GitHub code scanning and editors.

use serde_json::{Value, json};

use super::ReportDocument;
use super::results::{CiResults, LocatedFinding};
use crate::base::finding::{Code, Position};

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

fn result(result: &LocatedFinding) -> Value {
    let lines = [&result.message].into_iter().chain(&result.help);
    let text: Vec<String> = lines.map(|line| without_links(line)).collect();
    let story = result.story.iter().map(|(spot, what)| {
        let mut location = location(spot);
        if let Some(what) = what {
            location["message"] = json!({"text": without_links(what)});
        }
        location
    });
    json!({
        "ruleId": result.code.id(),
        "level": result.severity.word(),
        "message": {"text": text.join("\n")},
        "locations": [location(&result.place)],
        "relatedLocations": Value::from_iter(story),
        "partialFingerprints": {"sipgen/v1": result.fingerprint},
    })
}

fn location(spot: &Position) -> Value {
    // Code scanning tracks a result across commits by its line, so a line is always given.
    let mut region = json!({"startLine": spot.line.unwrap_or(1)});
    if let Some(column) = spot.column {
        region["startColumn"] = column.into();
    }
    if let (Some(line), Some(end)) = (spot.line, spot.end_column) {
        region["endLine"] = line.into();
        region["endColumn"] = end.into();
    }
    json!({"physicalLocation": {"artifactLocation": {"uri": uri(spot.file.as_str())}, "region": region}})
}

/// Encodes a path as a URI reference relative to the repo's root (RFC 3986).
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Breaks links, because viewers render `[words](address)`.
fn without_links(text: &str) -> String {
    text.replace("](", "] (")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference_that_leads_back_to_it() {
        assert_eq!(uri("sites/größe 1/a%b:c.yaml"), "sites/gr%C3%B6%C3%9Fe%201/a%25b%3Ac.yaml");
    }
}
