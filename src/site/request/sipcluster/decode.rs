//! Decodes the spec of a SIPCluster.

use super::legacy;
use super::legacy_spec::LegacySpec;
use crate::base::api::sipcluster::{KIND, SIPClusterSpec};
use crate::base::finding::Finding;
use crate::input::decode::unknown_fields::OF_SIPCLUSTER;
use crate::input::load::Document;
use crate::site::request::decode_spec::{read_spec, value};
use crate::site::request::documents::{RequestSpec, Spec};

/// Decodes the spec of a SIPCluster. Validation converts older generations.
pub(super) fn decode(document: &Document<'_>) -> (Spec, Vec<Finding>) {
    let value = match value(document, KIND) {
        Ok(value) => value,
        Err(found) => return (None, found),
    };
    if legacy::is_legacy(&value["spec"]) {
        let spec = LegacySpec { document: value, may_be_template: document.looks_like_template() };
        return (Some(Box::new(spec)), Vec::new());
    }
    let (spec, found) = read_spec::<SIPClusterSpec>(document, &value, &OF_SIPCLUSTER, KIND);
    (spec.map(|spec| spec as Box<dyn RequestSpec>), found)
}
