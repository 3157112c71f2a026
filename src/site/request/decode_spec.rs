//! Decodes the specs of requests and Softwares: completely, or not at all, with findings about
//! fields.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use yaml_serde::Value;

use crate::base::finding::Finding;
use crate::input::decode::forbidden_text::forbidden_texts;
use crate::input::decode::unknown_fields::{self, FieldErrors, SpecFields};
use crate::input::decode::unreadable;
use crate::input::load::Document;

#[derive(Deserialize)]
struct SpecEnvelope<T> {
    spec: Option<Box<T>>,
}

/// Parses a document and refuses text in its spec that must not reach a file.
pub(super) fn value(document: &Document<'_>, kind: &str) -> Result<Value, Vec<Finding>> {
    let origin = &document.origin;
    // For example a duplicate key in a free-form mapping, where one of the two would be ignored.
    let value = document.parse::<Value>().map_err(|error| {
        let finding = unknown_fields::too_large_number(&error, origin);
        vec![finding.unwrap_or_else(|| unreadable(origin, &error, kind))]
    })?;
    // Forbidden text is reported first and alone, because other findings might quote it.
    let forbidden = forbidden_texts(&value["spec"], kind, origin);
    if forbidden.is_empty() { Ok(value) } else { Err(forbidden) }
}

/// Decodes the spec of a document; `None`, with findings, if a field is invalid.
pub(super) fn read_spec<T: DeserializeOwned + Default>(
    document: &Document<'_>,
    value: &Value,
    fields: &SpecFields,
    kind: &str,
) -> (Option<Box<T>>, Vec<Finding>) {
    fitting(fields.misfit_of_object(value, &document.origin), || {
        let parsed = document.parse::<SpecEnvelope<T>>().map(|with| with.spec.unwrap_or_default());
        parsed.map_err(|error| {
            let finding = unknown_fields::too_large_number(&error, &document.origin);
            finding.unwrap_or_else(|| unreadable(&document.origin, &error, kind))
        })
    })
}

/// Parses a spec whose fields are valid; otherwise returns findings for the invalid ones.
pub(super) fn fitting<T>(
    misfit: FieldErrors,
    parse: impl FnOnce() -> Result<Box<T>, Finding>,
) -> (Option<Box<T>>, Vec<Finding>) {
    let FieldErrors { mut unknown, wrong, unquoted } = misfit;
    if !wrong.is_empty() {
        unknown.extend(wrong);
        return (None, unknown);
    }
    match parse() {
        Ok(spec) => (Some(spec), unknown),
        Err(error) => {
            // The parser's error lacks the place of unquoted values, so their own findings replace
            // it.
            unknown.extend(if unquoted.is_empty() { vec![error] } else { unquoted });
            (None, unknown)
        }
    }
}

/// Decodes the spec of an object that another program checks: unknown fields are not reported.
pub(super) fn spec<T: DeserializeOwned + Default>(
    document: &Document<'_>,
    kind: &str,
) -> Result<Box<T>, Vec<Finding>> {
    value(document, kind)?;
    let parsed = document.parse_object::<SpecEnvelope<T>>();
    parsed
        .map(|with| with.spec.unwrap_or_default())
        .map_err(|error| vec![unreadable(&document.origin, &error, kind)])
}
