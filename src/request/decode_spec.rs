//! Decodes specs of requests and Softwares completely, or refuses them with findings about their
//! fields.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use yaml_serde::Value;

use crate::decode::forbidden_text::forbidden_texts;
use crate::decode::unknown_fields::{self, Fields, Misfit};
use crate::decode::unreadable;
use crate::finding::Finding;
use crate::load::Document;

#[derive(Deserialize)]
struct WithSpec<T> {
    #[serde(default)]
    spec: Option<Box<T>>,
}

/// Parses a document and refuses text in its spec that must not reach a file.
pub(super) fn value(document: &Document<'_>, kind: &str) -> Result<Value, Vec<Finding>> {
    let origin = &document.origin;
    // An example is a duplicate key where any key is allowed: one value would be ignored.
    let value = document.parse::<Value>().map_err(|error| {
        let finding = unknown_fields::too_large_number(&error, origin);
        vec![finding.unwrap_or_else(|| unreadable(origin, &error, kind))]
    })?;
    // First, and without other findings, which might quote the forbidden text.
    let forbidden = forbidden_texts(&value["spec"], kind, origin);
    if forbidden.is_empty() {
        Ok(value)
    } else {
        Err(forbidden)
    }
}

/// Decodes the spec of a document. Reports invalid fields and returns `None` for them.
pub(super) fn read_spec<T: DeserializeOwned + Default>(
    document: &Document<'_>,
    value: &Value,
    fields: &Fields,
    kind: &str,
) -> (Option<Box<T>>, Vec<Finding>) {
    fitting(fields.misfit_of_object(value, &document.origin), || {
        let parsed = document
            .parse::<WithSpec<T>>()
            .map(|with| with.spec.unwrap_or_default());
        parsed.map_err(|error| {
            let finding = unknown_fields::too_large_number(&error, &document.origin);
            finding.unwrap_or_else(|| unreadable(&document.origin, &error, kind))
        })
    })
}

/// Parses a spec if its fields are valid, or else reports those that are not.
pub(super) fn fitting<T>(
    misfit: Misfit,
    parse: impl FnOnce() -> Result<Box<T>, Finding>,
) -> (Option<Box<T>>, Vec<Finding>) {
    let Misfit {
        mut unknown,
        wrong,
        unquoted,
    } = misfit;
    if !wrong.is_empty() {
        unknown.extend(wrong);
        return (None, unknown);
    }
    match parse() {
        Ok(spec) => (Some(spec), unknown),
        Err(error) => {
            // The parser would report the same values without their places.
            unknown.extend(if unquoted.is_empty() {
                vec![error]
            } else {
                unquoted
            });
            (None, unknown)
        }
    }
}
