//! Parses Metal3's BMC addresses.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::host::without_user;

/// Access to a host's BMC for the jump host's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Bmc {
    /// Scheme, host and port. One address may have a BMC per port.
    url: String,
    /// Path of the host's system; empty if the address has none.
    system: String,
    /// True if its certificate is not verified.
    insecure: bool,
    /// True if it is accessed by Redfish.
    redfish: bool,
}

/// Metal3 drivers that use Redfish.
const REDFISH: [&str; 7] = [
    "redfish",
    "redfish-virtualmedia",
    "redfish-uefihttp",
    "idrac-redfish",
    "idrac-virtualmedia",
    "ilo5-redfish",
    "ilo5-virtualmedia",
];

impl Bmc {
    /// Parses `driver[+http|+https]://host[:port][/path]`, or a bare `host[:port]`, which means
    /// IPMI.
    ///
    /// User names and passwords in the address are dropped. Returns `None` for an invalid address.
    pub(super) fn parse(address: &str, insecure: bool) -> Option<Self> {
        let address = without_user(address);
        let (scheme, rest) = address.split_once("://").unwrap_or(("ipmi", &address));
        let (host, path) = match rest.find(['/', '?', '#']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let scheme = scheme.to_ascii_lowercase();
        // Without a transport, Redfish uses https.
        let (driver, transport) = scheme.split_once('+').unwrap_or((&scheme, "https"));
        let is_plain = |text: &str, also: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || also.contains(c))
        };
        let path_is_plain = path.is_empty() || is_plain(path, "/.-_~%:@!$&'()*+,;=");
        if !is_plain(driver, "-")
            || !matches!(transport, "http" | "https")
            || !is_host(host)
            || !path_is_plain
        {
            return None;
        }
        let redfish = REDFISH.contains(&driver);
        let scheme = if redfish { transport } else { driver };
        // The service root is not a system.
        let system = path.trim_end_matches('/');
        let system = if matches!(system, "/redfish" | "/redfish/v1") {
            ""
        } else {
            system
        };
        Some(Self {
            url: format!("{scheme}://{host}"),
            system: system.to_owned(),
            insecure,
            redfish,
        })
    }
}

/// Returns whether a text is a host name or an address, IPv6 in brackets, with an optional port.
fn is_host(text: &str) -> bool {
    let (host, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((host, rest)) => (host, rest),
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    let port_is_valid = rest.is_empty()
        || rest
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok());
    let address = text.starts_with('[') && host.parse::<std::net::Ipv6Addr>().is_ok();
    let name = !text.starts_with('[')
        && !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    port_is_valid && (address || name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_port_and_names_its_system() {
        let parsed = |address: &str| {
            let bmc = Bmc::parse(address, false)?;
            Some(format!(
                "{} {} {}",
                bmc.url,
                if bmc.system.is_empty() {
                    "-"
                } else {
                    &bmc.system
                },
                bmc.redfish
            ))
        };
        for (address, expected) in [
            (
                "redfish+https://32.68.51.13/redfish/v1/Systems/System.Embedded.1",
                "https://32.68.51.13 /redfish/v1/Systems/System.Embedded.1 true",
            ),
            (
                "redfish+http://10.0.0.1:8000/redfish/v1/Systems/w-0",
                "http://10.0.0.1:8000 /redfish/v1/Systems/w-0 true",
            ),
            (
                "redfish://[fd00::1]/redfish/v1/Systems/1",
                "https://[fd00::1] /redfish/v1/Systems/1 true",
            ),
            (
                "redfish-virtualmedia://[fd00::1]:8443",
                "https://[fd00::1]:8443 - true",
            ),
            (
                "idrac-virtualmedia+https://bmc.example.com/x",
                "https://bmc.example.com /x true",
            ),
            (
                "redfish://admin:hunter2@192.0.2.1/x",
                "https://192.0.2.1 /x true",
            ),
            (
                "Redfish+HTTP://192.0.2.1/redfish/v1/Systems/1/",
                "http://192.0.2.1 /redfish/v1/Systems/1 true",
            ),
            ("redfish://192.0.2.1/", "https://192.0.2.1 - true"),
            (
                "redfish://192.0.2.1/redfish/v1/",
                "https://192.0.2.1 - true",
            ),
            ("ilo5://192.0.2.1", "ilo5://192.0.2.1 - false"),
            (
                "ipmi://192.168.111.1:6230",
                "ipmi://192.168.111.1:6230 - false",
            ),
            ("192.168.111.1", "ipmi://192.168.111.1 - false"),
        ] {
            assert_eq!(parsed(address).as_deref(), Some(expected), "{address}");
        }
        for bad in [
            "",
            "redfish://",
            "redfish+ftp://a",
            "redfish://a:99999",
            "redfish://a b",
            "://a",
            "redfish://[x]/",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }
}
