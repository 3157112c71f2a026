//! Decodes the specs of a Provisioning and of a Software.

use super::documents::misshapen;
use super::unquoted_names::unquoted_machines;
use crate::base::api::provisioning::{KIND, ProvisioningSpec, SOFTWARE_KIND, SoftwareSpec};
use crate::base::finding::Finding;
use crate::input::decode::unknown_fields::{OF_PROVISIONING, OF_SOFTWARE};
use crate::input::load::Document;
use crate::site::request::decode_spec::{read_spec, value};
use crate::site::request::documents::{RequestSpec, Spec};

/// Decodes the spec of a Provisioning.
pub(super) fn decode(document: &Document<'_>) -> (Spec, Vec<Finding>) {
    let value = match value(document, KIND) {
        Ok(value) => value,
        Err(found) => return (None, found),
    };
    let misshapen = misshapen(&value["spec"], &document.origin);
    if !misshapen.is_empty() {
        return (None, misshapen);
    }
    let (spec, mut found) = read_spec::<ProvisioningSpec>(document, &value, &OF_PROVISIONING, KIND);
    found.extend(unquoted_machines(document, &value["spec"]));
    (spec.map(|spec| spec as Box<dyn RequestSpec>), found)
}

/// Decodes the spec of a Software.
pub(crate) fn decode_software(
    document: &Document<'_>,
) -> (Option<Box<SoftwareSpec>>, Vec<Finding>) {
    match value(document, SOFTWARE_KIND) {
        Ok(value) => read_spec(document, &value, &OF_SOFTWARE, SOFTWARE_KIND),
        Err(found) => (None, found),
    }
}
