//! Decodes the spec of a SIPCluster.

use yaml_serde::Value;

use super::legacy;
use crate::api::sipcluster::KIND;
use crate::decode::unknown_fields::OF_SIPCLUSTER;
use crate::decode::unreadable;
use crate::finding::{Finding, Origin};
use crate::load::{Document, ParseError, in_plain_words};
use crate::request::decode_spec::{fitting, read_spec, value};
use crate::request::spec::Spec;

/// Decodes the spec of a SIPCluster. Returns the spec of an older generation unconverted.
pub(super) fn decode(document: &Document<'_>) -> (Spec, Vec<Finding>) {
    let value = match value(document, KIND) {
        Ok(value) => value,
        Err(found) => return (Spec::Unreadable, found),
    };
    if legacy::is_older(&value["spec"]) {
        return (
            Spec::Older(Box::new(value), document.looks_like_template()),
            Vec::new(),
        );
    }
    let (spec, found) = read_spec(document, &value, &OF_SIPCLUSTER, KIND);
    (spec.map_or(Spec::Unreadable, Spec::Current), found)
}

/// Decodes the converted spec of an older SIPCluster.
pub(crate) fn converted(spec: Value, origin: &Origin) -> (Spec, Vec<Finding>) {
    let (spec, found) = fitting(OF_SIPCLUSTER.misfit(&spec, origin), || {
        yaml_serde::from_value(spec).map_err(|error| {
            let error = ParseError {
                message: in_plain_words(&error.to_string()),
                line: None,
                column: None,
            };
            unreadable(&origin.as_written(), &error, KIND)
        })
    });
    (spec.map_or(Spec::Unreadable, Spec::Current), found)
}
