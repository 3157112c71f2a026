//! Formats of network data other than OpenStack's, recognized by their top-level keys.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::base::text::bounded;

/// The format of OpenShift's assisted installer and of SUSE's network configurator, which is also the
/// key of the former's Secrets.
pub const NMSTATE: &str = "nmstate";

/// The top-level keys of other formats. Each describes a network in its own way.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct OtherFormat {
    interfaces: Option<IgnoredAny>,
    routes: Option<IgnoredAny>,
    dns_resolver: Option<IgnoredAny>,
    network: Option<IgnoredAny>,
    ethernets: Option<IgnoredAny>,
    bonds: Option<IgnoredAny>,
    config: Option<IgnoredAny>,
    #[serde(rename = "network_config")]
    network_config: Option<IgnoredAny>,
    networks: Option<IgnoredAny>,
    links: Option<IgnoredAny>,
}

impl OtherFormat {
    fn name(&self) -> Option<&'static str> {
        if self.networks.is_some() || self.links.is_some() {
            return None;
        }
        if self.interfaces.is_some() || self.routes.is_some() || self.dns_resolver.is_some() {
            return Some(NMSTATE);
        }
        if self.network.is_some() || self.ethernets.is_some() || self.bonds.is_some() {
            return Some("netplan");
        }
        if self.network_config.is_some() {
            return Some("os-net-config");
        }
        self.config.is_some().then_some("cloud-init")
    }
}

/// Returns the name of the format of a text, unless it may be OpenStack's.
pub(super) fn other(text: &str) -> Option<&'static str> {
    let json: Option<OtherFormat> = serde_json::from_str(text).ok();
    json.or_else(|| bounded::parse(text))?.name()
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
