//! Formats of network data other than OpenStack's, recognized by their top-level keys.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use crate::base::text::yaml;

/// The format of OpenShift's assisted installer and of SUSE's network configurator, which is also the
/// key of the former's Secrets.
pub const NMSTATE: &str = "nmstate";

/// The top-level keys of formats, by format. The first format with one of its keys wins; OpenStack's has
/// no name here.
const FORMATS: [(Option<&str>, &[&str]); 5] = [
    (None, &["networks", "links"]),
    (Some(NMSTATE), &["interfaces", "routes", "dns-resolver"]),
    (Some("netplan"), &["network", "ethernets", "bonds"]),
    (Some("os-net-config"), &["network_config"]),
    (Some("cloud-init"), &["config"]),
];

/// Returns the name of the format of a text, unless it may be OpenStack's.
pub(super) fn other(text: &str) -> Option<&'static str> {
    let json: Option<BTreeMap<String, Option<IgnoredAny>>> = serde_json::from_str(text).ok();
    let fields = json.or_else(|| yaml::parse(text))?;
    let has = |key: &&str| matches!(fields.get(*key), Some(Some(_)));
    FORMATS.into_iter().find(|(_, keys)| keys.iter().any(has))?.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_another_format_is_called_that() {
        for (text, format) in [
            ("interfaces: [{name: oam, ipv4: {address: [{ip: 192.0.2.7}]}}]", "nmstate"),
            (r#"{"dns-resolver": {}, "interfaces": []}"#, "nmstate"),
            ("network: {version: 2, ethernets: {}}", "netplan"),
            ("version: 2\nethernets: {eno1: {addresses: [192.0.2.7/24]}}", "netplan"),
            ("version: 1\nconfig: [{type: physical}]", "cloud-init"),
            ("network_config: [{type: interface}]", "os-net-config"),
        ] {
            assert_eq!(other(text), Some(format), "{text}");
        }
        for text in ["networks: []", "links: []\ninterfaces: []", "{}", "x: 1"] {
            assert_eq!(other(text), None, "{text}");
        }
    }
}
