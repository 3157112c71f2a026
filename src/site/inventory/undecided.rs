//! Variables in values of hosts. Flux replaces them when it applies, so their values are unknown
//! here.

use super::host_document::HostDocument;
use crate::base::api::host::{BareMetalHost, SUBSTITUTE};
use crate::base::layout::{VARIABLE, variables};

/// A value of a host that depends on a variable. The display is a clause about the host.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{}", match is_left {
    true => format!("has `${{{variable}}}` in `{field}`, which Flux leaves there"),
    false => format!("has a variable in `{field}`: `{variable}` decides, and its value is not known"),
})]
pub struct VariableValue {
    /// The field or label that has it.
    pub field: String,
    /// Name of the variable.
    pub variable: String,
    /// Set if Flux leaves its text, which no label or address may have.
    pub is_left: bool,
}

impl VariableValue {
    /// Finds the first value that assignment depends on and that has a variable.
    pub(crate) fn in_document(document: &HostDocument) -> Option<Self> {
        let BareMetalHost { metadata, spec, .. } = &*document.host;
        let is_off = || {
            let switches = [metadata.label(SUBSTITUTE), metadata.annotation(SUBSTITUTE)];
            switches.contains(&Some("disabled"))
        };
        let texts =
            metadata.labels.iter().flatten().flat_map(|(key, value)| [(key, key), (key, value)]);
        let labels = texts
            .filter(|(_, text)| text.contains(VARIABLE))
            .map(|(key, text)| (vec!["metadata", "labels", key], text.as_str()));
        let bmc = spec.iter().filter_map(|spec| spec.bmc.as_ref());
        let address = bmc.map(|bmc| (vec!["spec", "bmc", "address"], &*bmc.address));
        let mac = spec.iter().filter_map(|spec| spec.boot_mac_address.as_deref());
        let mac = mac.map(|mac| (vec!["spec", "bootMACAddress"], mac));
        let found = labels.chain(address).chain(mac).filter_map(|(route, value)| {
            let variable = variables(value).next().filter(|name| !name.is_empty())?.to_owned();
            let written = document.origin.unsubstituted(&route).unwrap_or(value);
            // Flux makes `$` of `$$`.
            let is_left = is_off() || !written.replace("$$", "").contains(VARIABLE);
            let field = route[if route[0] == "spec" { 1 } else { 2 }..].join(".");
            Some(VariableValue { field, variable, is_left })
        });
        found.min_by_key(|it| it.is_left)
    }
}
