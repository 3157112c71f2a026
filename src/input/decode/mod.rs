//! Decoding of documents into typed objects, or findings about input that no program would read as
//! intended.
//!
//! - `unknown_fields`: unknown fields of requests, and values of the wrong type
//! - `misspelled_kinds`: objects whose kind or group is misspelled
//! - `suspected_templates`: documents that seem to be templates of other tools
//! - `yaml_ambiguity`: unquoted values that other programs read differently
//! - `forbidden_text`: texts that must not reach a file
//! - `label_selector`: label selectors; `spread_constraints`: topology spread constraints

pub(crate) mod forbidden_text;
pub(crate) mod label_selector;
pub(crate) mod misspelled_kinds;
pub(crate) mod spread_constraints;
pub(crate) mod suspected_templates;
pub(crate) mod unknown_fields;
pub(crate) mod yaml_ambiguity;

use crate::base::finding::{Code, Finding, Origin};
use crate::input::load::ParseError;

/// Reports a document that its parser refuses.
pub(crate) fn unreadable(origin: &Origin, error: &ParseError, what: &str) -> Finding {
    let place = error.line.map_or_else(|| origin.start(), |line| origin.spot(line, error.column));
    Finding::new(Code::Unreadable, format!("the {what} cannot be read: {}", error.message))
        .at(place)
        .help(error.help())
}

/// Reports an annotation that must be JSON. Its text is not shown.
pub(crate) fn unreadable_annotation(
    origin: &Origin,
    kind: &str,
    name: &str,
    error: &serde_json::Error,
) -> Finding {
    let reason = match error.classify() {
        serde_json::error::Category::Data => "is JSON of an unexpected shape",
        _ => "is not JSON",
    };
    let message = format!("the annotation {name} of the {kind} {reason}, and is ignored");
    Finding::new(Code::UnusedHostData, message)
        .at(origin.at(["metadata", "annotations", name]))
        .help("fix or remove it; Metal3 cannot read it either")
}
