//! BMCs as the jump host's tool reaches them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::bmc::BmcAddress;
use crate::base::text::in_url;

/// Access to a host's BMC for the jump host's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct BmcValues {
    /// Scheme, host and port. One address may have a BMC per port.
    url: String,
    /// Path of the host's system; empty if the address has none.
    system: String,
    /// True if its certificate is not verified.
    insecure: bool,
    /// True if it is accessed by Redfish.
    redfish: bool,
}

impl BmcValues {
    /// Converts an address. Returns `None` for an invalid one, which the inventory reports.
    pub(super) fn parse(address: &str, insecure: bool) -> Option<Self> {
        let parsed = BmcAddress::parse(address).ok()?;
        let redfish = parsed.is_redfish();
        let scheme = if redfish { parsed.transport() } else { parsed.driver().ok()? };
        let BmcAddress { host, port, .. } = &parsed;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let port = if port.is_empty() { String::new() } else { format!(":{port}") };
        let url = format!("{scheme}://{host}{port}");
        let system = parsed.system().filter(|_| redfish);
        let system = system.map(|path| format!("/{}", in_url(path, b":"))).unwrap_or_default();
        Some(Self { url, system, insecure, redfish })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_port_and_names_its_system() {
        let parsed = |address: &str| {
            let bmc = BmcValues::parse(address, false)?;
            Some(format!(
                "{} {} {}",
                bmc.url,
                if bmc.system.is_empty() { "-" } else { &bmc.system },
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
            ("redfish-virtualmedia://[fd00::1]:8443", "https://[fd00::1]:8443 - true"),
            ("idrac-virtualmedia+https://bmc.example.com/x", "https://bmc.example.com /x true"),
            ("redfish://admin:hunter2@192.0.2.1/x", "https://192.0.2.1 /x true"),
            (
                "Redfish+HTTP://192.0.2.1/redfish/v1/Systems/1/",
                "http://192.0.2.1 /redfish/v1/Systems/1 true",
            ),
            ("redfish://192.0.2.1/", "https://192.0.2.1 - true"),
            ("redfish://192.0.2.1/redfish/v1/", "https://192.0.2.1 - true"),
            ("redfish://192.0.2.1/a%20b\"c", "https://192.0.2.1 /a%20b%22c true"),
            ("ipmi://192.168.111.1:6230", "ipmi://192.168.111.1:6230 - false"),
            ("192.168.111.1", "ipmi://192.168.111.1 - false"),
        ] {
            assert_eq!(parsed(address).as_deref(), Some(expected), "{address}");
        }
        for bad in
            ["", "redfish://", "redfish+ftp://a", "ilo5://192.0.2.1", "redfish://a b", "://a"]
        {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }
}
