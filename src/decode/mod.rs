//! From documents to typed objects, or findings about what no agent would understand.
//!
//! * `unknown_fields`: fields of a request that its kind does not have, or that have the wrong type.
//! * `misspelled_kinds`: objects whose kind or group is nearly one of ours.
//! * `suspected_templates`: documents that pass for templates of other tools.
//! * `yaml_ambiguity`: values that other programs read otherwise.
//! * `forbidden_text`: texts that must not reach a file.

pub(crate) mod forbidden_text;
pub(crate) mod misspelled_kinds;
pub(crate) mod suspected_templates;
pub(crate) mod unknown_fields;
pub(crate) mod yaml_ambiguity;

use crate::finding::{Code, Finding, Origin};
use crate::load::ParseError;

/// Reports a document that its parser refuses.
pub(crate) fn unreadable(origin: &Origin, error: &ParseError, what: &str) -> Finding {
    let place = match error.line {
        Some(line) => origin.spot(line, error.column),
        None => origin.start(),
    };
    Finding::new(
        Code::Unreadable,
        format!("the {what} cannot be read: {}", error.message),
    )
    .at(place)
    .help("correct it; nothing else could read it either")
}

/// What is wrong with an annotation that should be JSON. Its text is not shown.
pub(crate) fn unreadable_annotation(
    origin: &Origin,
    kind: &str,
    name: &str,
    error: &serde_json::Error,
) -> Finding {
    let reason = match error.classify() {
        serde_json::error::Category::Data => "is JSON of another shape",
        _ => "is not JSON",
    };
    Finding::new(
        Code::HardwareUnreadable,
        format!("the annotation {name} of the {kind} {reason}, and is ignored"),
    )
    .at(origin.at(["metadata", "annotations", name]))
    .help("correct it, or remove it; Metal3 does not read it either")
}
