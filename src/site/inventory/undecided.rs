//! Variables in values of hosts. Flux replaces them when it applies, so their values are unknown
//! here.

use super::host_document::HostDocument;
use crate::base::layout::VARIABLE;

/// A value of a host that depends on a variable.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("has a variable in `{field}`: `{variable}` decides, and its value is not known")]
pub struct VariableValue {
    /// The field or label that has it.
    pub field: String,
    /// Name of the variable.
    pub variable: String,
}

impl VariableValue {
    /// Finds the first value that assignment depends on and that has a variable.
    pub(crate) fn in_document(document: &HostDocument) -> Option<Self> {
        let labels = document.host.metadata.labels.iter().flatten().flat_map(|(key, value)| {
            [key.as_str(), value.as_str()].map(|text| (key.as_str(), text))
        });
        let spec = document.host.spec.as_ref();
        let address =
            spec.and_then(|spec| spec.bmc.as_ref()).map(|bmc| ("bmc.address", &*bmc.address));
        let mac = spec.and_then(|spec| spec.boot_mac_address.as_deref());
        let mac = mac.map(|mac| ("bootMACAddress", mac));
        labels.chain(address).chain(mac).find_map(|(field, value)| {
            let variable = variable(value)?;
            let field = field.to_owned();
            Some(VariableValue { field, variable })
        })
    }
}

/// Returns the name of the first variable in a text.
fn variable(text: &str) -> Option<String> {
    let (_, behind) = text.split_once(VARIABLE)?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = behind.chars().take_while(|c| is_of_name(*c)).collect();
    (!name.is_empty()).then_some(name)
}
