//! Decodes the specs of requests and Softwares: completely, or not at all, with findings about
//! fields.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use yaml_serde::Value;

use crate::base::api::provisioning::SOFTWARE_KIND;
use crate::base::finding::Finding;
use crate::input::decode::forbidden_text::forbidden_texts;
use crate::input::decode::unknown_fields::{self, FieldErrors, SpecFields};
use crate::input::decode::unreadable;
use crate::input::load::{Document, ParseError};

#[derive(Deserialize)]
pub(super) struct SpecEnvelope<T> {
    pub(super) spec: Option<Box<T>>,
}

/// Parses a document and refuses text in its spec that must not reach a file.
pub(super) fn permitted_value(document: &Document<'_>, kind: &str) -> Result<Value, Vec<Finding>> {
    // For example a duplicate key in a free-form mapping, where one of the two would be ignored.
    let value =
        document.parse::<Value>().map_err(|error| vec![undecodable(document, &error, kind)])?;
    // Forbidden text is reported first and alone, because other findings might quote it.
    let forbidden = forbidden_texts(&value["spec"], kind, &document.origin);
    if forbidden.is_empty() { Ok(value) } else { Err(forbidden) }
}

fn undecodable(document: &Document<'_>, error: &ParseError, kind: &str) -> Finding {
    let finding = unknown_fields::too_large_number(error, &document.origin);
    finding.unwrap_or_else(|| unreadable(&document.origin, error, kind))
}

/// Decodes the spec of a document; `None`, with findings, if a field is invalid.
pub(super) fn read_spec<T: DeserializeOwned + Default>(
    document: &Document<'_>,
    value: &Value,
    fields: &SpecFields,
    kind: &str,
) -> (Option<Box<T>>, Vec<Finding>) {
    // To a build, 1.10 is 1.1: the same quantity, but another version of a package.
    let with_quantities = (kind != SOFTWARE_KIND).then_some(&value["spec"]);
    fitting(with_quantities, fields.misfit_of_object(value, &document.origin), || {
        let parsed = document.parse::<SpecEnvelope<T>>().map(|with| with.spec.unwrap_or_default());
        parsed.map_err(|error| undecodable(document, &error, kind))
    })
}

/// Parses a spec whose fields are valid; otherwise returns findings for the invalid ones. In
/// `with_quantities`, a number may be a text: in YAML it is both, but not in the result of a build.
pub(super) fn fitting<T: DeserializeOwned>(
    with_quantities: Option<&Value>,
    misfit: FieldErrors,
    parse: impl FnOnce() -> Result<Box<T>, Finding>,
) -> (Option<Box<T>>, Vec<Finding>) {
    let FieldErrors { mut unknown, wrong, unquoted } = misfit;
    if !wrong.is_empty() {
        unknown.extend(wrong);
        return (None, unknown);
    }
    let spec = with_quantities.filter(|_| unquoted.is_empty());
    let from_text = || yaml_serde::from_str(&yaml_serde::to_string(spec?).ok()?).ok();
    match parse().or_else(|error| from_text().ok_or(error)) {
        Ok(spec) => (Some(spec), unknown),
        Err(error) => {
            // The parser's error lacks the place of unquoted values, so their own findings replace
            // it.
            unknown.extend(if unquoted.is_empty() { vec![error] } else { unquoted });
            (None, unknown)
        }
    }
}
