//! Addresses of BMCs, as Metal3 reads them.
//!
//! The source is `pkg/hardwareutils/bmc` of baremetal-operator and Go's `net/url`, which it calls.
//! Unlike Metal3, sipgen refuses an address without a host: no driver reaches anything by it.

use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::text::static_regex;

/// Drivers of Metal3 that use Redfish. Each may end in `+http` or `+https`.
const REDFISH: [&str; 7] = [
    "redfish",
    "redfish-virtualmedia",
    "redfish-uefihttp",
    "idrac-redfish",
    "idrac-virtualmedia",
    "ilo5-redfish",
    "ilo5-virtualmedia",
];

/// Drivers of Metal3 that use IPMI.
const IPMI: [&str; 2] = ["ipmi", "libvirt"];

/// The default port of IPMI.
const IPMI_PORT: &str = "623";

/// The reason why Metal3 refuses a BMC address. The display shows no part of the address but its
/// scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBmcAddress {
    /// It is no URL, nor a host with or without a port.
    #[error("it is neither a URL nor a host with a port")]
    Malformed,
    /// It has no host.
    #[error("it names no host")]
    NoHost,
    /// The host is neither an IP address nor a DNS name.
    #[error("its host is neither an IP address nor a DNS name")]
    Host,
    /// Metal3 has no such driver.
    #[error("Metal3 has no driver `{0}`")]
    Driver(String),
}

/// A BMC address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BmcAddress {
    /// The scheme in lower case, such as `redfish+http`.
    pub scheme: String,
    /// The host, IPv6 without brackets.
    pub host: String,
    /// The port; empty if it is the default.
    pub port: String,
    /// The path, with its escapes decoded.
    pub path: String,
}

/// The system behind a BMC that an address names. Spellings of one system are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BmcSystem {
    /// Host and port of the BMC. The port is empty if it is the default of the protocol.
    pub endpoint: (String, String),
    /// The path of the system; `None` if the BMC has only one.
    pub system: Option<String>,
}

impl BmcAddress {
    /// Parses an address, which Metal3 accepts if [`BmcAddress::driver`] does.
    ///
    /// # Errors
    ///
    /// If Metal3 cannot parse it.
    pub fn parse(address: &str) -> Result<Self, InvalidBmcAddress> {
        let parsed = parse_lenient(address).ok_or(InvalidBmcAddress::Malformed)?;
        if parsed.host.is_empty() {
            return Err(InvalidBmcAddress::NoHost);
        }
        if parsed.host.parse::<IpAddr>().is_err() && !is_dns_name(&parsed.host) {
            return Err(InvalidBmcAddress::Host);
        }
        Ok(parsed)
    }

    /// Returns an address whose authority has no user.
    fn new(scheme: &str, authority: &str, path: String) -> Self {
        let (host, port) = split_port(authority);
        Self { scheme: scheme.to_owned(), host: host.to_owned(), port: port.to_owned(), path }
    }

    /// Returns the driver without its transport.
    ///
    /// # Errors
    ///
    /// If Metal3 has no such driver.
    pub fn driver(&self) -> Result<&str, InvalidBmcAddress> {
        let (driver, transport) = self.scheme.split_once('+').unwrap_or((&self.scheme, ""));
        let is_known = match transport {
            "" if !self.scheme.contains('+') => REDFISH.contains(&driver) || IPMI.contains(&driver),
            "http" | "https" => REDFISH.contains(&driver),
            _ => false,
        };
        let unknown = || InvalidBmcAddress::Driver(self.scheme.clone());
        is_known.then_some(driver).ok_or_else(unknown)
    }

    /// Returns whether the driver uses Redfish.
    pub fn is_redfish(&self) -> bool {
        self.driver().is_ok_and(|driver| REDFISH.contains(&driver))
    }

    /// Returns the transport of Redfish.
    pub fn transport(&self) -> &str {
        self.scheme.split_once('+').map_or("https", |(_, of)| of)
    }

    /// Returns the path of the system; `None` for the service root, which is no system.
    pub fn system(&self) -> Option<&str> {
        let path = self.path.trim_matches('/');
        (!matches!(path, "" | "redfish" | "redfish/v1")).then_some(path)
    }

    /// Returns the system that the address names.
    pub fn identity(&self) -> BmcSystem {
        let is_ipmi = IPMI.contains(&self.scheme.as_str());
        let default = match self.transport() {
            _ if is_ipmi => IPMI_PORT,
            "http" => "80",
            _ => "443",
        };
        let port = self.port.trim_start_matches('0');
        let host = self.host.parse().map_or_else(
            |_| self.host.to_ascii_lowercase(),
            |address: IpAddr| address.to_canonical().to_string(),
        );
        BmcSystem {
            endpoint: (host, if port == default { "" } else { port }.to_owned()),
            system: self.system().filter(|_| !is_ipmi).map(str::to_owned),
        }
    }
}

/// Parses a URL as Go does, or else a bare host.
fn parse_lenient(address: &str) -> Option<BmcAddress> {
    match parse_like_go(address) {
        None => is_host_with_port(address).then(|| BmcAddress::new("ipmi", address, String::new())),
        Some(None) => parse_like_go(&address.replacen(':', "://", 1))?,
        Some(Some(url)) if url.scheme.is_empty() && url.host.is_empty() && url.port.is_empty() => {
            parse_like_go(&format!("ipmi://{address}"))?
        }
        Some(url) => url,
    }
}

/// Parses a text as `url.Parse` of Go does; the URL is `None` if its scheme has a text that is no
/// path.
fn parse_like_go(text: &str) -> Option<Option<BmcAddress>> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return None;
    }
    // Scheme, authority with path, and fragment.
    let url = static_regex!(r"^(?:([A-Za-z][-+.A-Za-z0-9]*):)?([^?#]*)(?:\?[^#]*)?(?:#(.*))?$");
    let found = url.captures(text)?;
    let [scheme, rest, fragment] =
        [1, 2, 3].map(|group| found.get(group).map_or("", |part| part.as_str()));
    let scheme = scheme.to_ascii_lowercase();
    decoded(fragment)?;
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Some(None);
        }
        let first = rest.split('/').next().unwrap_or_default();
        if first.contains(':') {
            return None;
        }
    }
    let has_authority = rest.starts_with("//") && !(scheme.is_empty() && rest.starts_with("///"));
    let (authority, path) = match rest.strip_prefix("//").filter(|_| has_authority) {
        Some(rest) => rest.find('/').map_or((rest, ""), |at| rest.split_at(at)),
        None => ("", rest),
    };
    Some(Some(BmcAddress::new(&scheme, host_and_port(authority)?, decoded(path)?)))
}

/// Returns the host and port of an authority without its user; `None` if Go refuses it.
fn host_and_port(authority: &str) -> Option<&str> {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let may_be_in_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(may_be_in_user) {
        return None;
    }
    decoded(user)?;
    let port = match host.rfind('[') {
        Some(start) => {
            let end = host.rfind(']')?;
            // Since Go 1.26, only an IPv6 address may be in brackets.
            let address = host.get(start + 1..end)?.split('%').next()?;
            address.parse::<Ipv6Addr>().ok()?;
            &host[end + 1..]
        }
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    let may_be_in_host = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c)
    };
    (is_port(port) && host.chars().all(may_be_in_host)).then_some(host)
}

/// Returns whether a text is empty, or a colon with any number of digits.
fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':');
    text.is_empty() || digits.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Splits host and port as `URL.Hostname` of Go does, and removes the brackets of IPv6.
fn split_port(authority: &str) -> (&str, &str) {
    let colon = authority.rfind(':').filter(|at| is_port(&authority[*at..]));
    let (host, port) = colon.map_or((authority, ""), |at| (&authority[..at], &authority[at + 1..]));
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    (inner.unwrap_or(host), port)
}

/// Returns whether `net.SplitHostPort` of Go splits a text.
fn is_host_with_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        // Without a colon, Metal3 takes any text as a host.
        return true;
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_plain = |text: &str| !text.contains(['[', ']']);
    is_plain(inner.unwrap_or(host)) && is_plain(port) && (inner.is_some() || !host.contains(':'))
}

/// Decodes escapes such as `%20`; `None` if one is incomplete.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether a text is labels of letters, digits and inner hyphens, joined by dots.
fn is_dns_name(text: &str) -> bool {
    text.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> Result<BmcAddress, InvalidBmcAddress> {
        let parsed = BmcAddress::parse(address)?;
        parsed.driver()?;
        Ok(parsed)
    }

    /// The cases of baremetal-operator's `TestParse` and `TestStaticDriverInfo`, and others that
    /// follow from its grammar.
    #[test]
    fn an_address_is_read_as_metal3_reads_it() {
        for (address, expected) in [
            ("libvirt://192.168.122.1:6233/?abc=def", "libvirt 192.168.122.1 6233 /"),
            ("192.168.122.1", "ipmi 192.168.122.1  "),
            ("my.favoritebmc.com", "ipmi my.favoritebmc.com  "),
            ("192.168.122.1:6233", "ipmi 192.168.122.1 6233 "),
            ("[fe80::fc33:62ff:fe83:8a76]:6233", "ipmi fe80::fc33:62ff:fe83:8a76 6233 "),
            ("ipmi://192.168.122.1:6233", "ipmi 192.168.122.1 6233 "),
            ("ipmi:192.168.122.1", "ipmi 192.168.122.1  "),
            ("ipmi:192.168.122.1:6233", "ipmi 192.168.122.1 6233 "),
            ("ipmi://192.168.122.1?privilegelevel=OPERATOR", "ipmi 192.168.122.1  "),
            ("redfish://192.168.122.1", "redfish 192.168.122.1  "),
            ("redfish://192.168.122.1:6233/foo", "redfish 192.168.122.1 6233 /foo"),
            ("redfish://[fe80::fc33:62ff:fe83:8a76]", "redfish fe80::fc33:62ff:fe83:8a76  "),
            (
                "redfish://[fe80::fc33:62ff:fe83:8a76]:6233/foo",
                "redfish fe80::fc33:62ff:fe83:8a76 6233 /foo",
            ),
            ("redfish:192.168.122.1", "redfish 192.168.122.1  "),
            (
                "redfish-virtualmedia+http://192.168.122.1",
                "redfish-virtualmedia+http 192.168.122.1  ",
            ),
            ("redfish-uefihttp+https://192.168.122.1", "redfish-uefihttp+https 192.168.122.1  "),
            ("idrac-redfish://192.168.122.1", "idrac-redfish 192.168.122.1  "),
            ("ilo5-virtualmedia+https://192.168.122.1", "ilo5-virtualmedia+https 192.168.122.1  "),
            ("Redfish+HTTP://bmc.Example.com/a%20b#x", "redfish+http bmc.Example.com  /a b"),
            ("redfish://u:p%40ss@192.0.2.1/x", "redfish 192.0.2.1  /x"),
            ("redfish://192.0.2.1:/x", "redfish 192.0.2.1  /x"),
        ] {
            let url = parsed(address).unwrap_or_else(|error| panic!("{address} {error}"));
            let BmcAddress { scheme, host, port, path } = url;
            assert_eq!(format!("{scheme} {host} {port} {path}"), expected, "{address}");
        }
    }

    #[test]
    fn an_address_that_metal3_refuses_is_refused() {
        let driver = |name: &str| InvalidBmcAddress::Driver(name.to_owned());
        for (address, expected) in [
            ("my-.examplehost.com", InvalidBmcAddress::Host),
            ("[fe80::fc33:62ff:fe33:8xff]:6223", InvalidBmcAddress::Host),
            ("[fe80::fc33:62ff:fe83:8a76]", InvalidBmcAddress::Malformed),
            ("foo://192.168.122.1", driver("foo")),
            ("https://203.0.113.5/redfish/v1/Systems/1", driver("https")),
            ("ilo5://192.0.2.1", driver("ilo5")),
            ("ipmi+https://192.0.2.1", driver("ipmi+https")),
            ("redfish+://192.0.2.1", driver("redfish+")),
            ("redfish+ftp://192.0.2.1", driver("redfish+ftp")),
            // A name with a port reads as a scheme.
            ("bmc.example.com:623", driver("bmc.example.com")),
            ("//192.0.2.1/x", driver("")),
            ("redfish://bmc_4.example.com/redfish/v1", InvalidBmcAddress::Host),
            ("redfish://bmc.example.com./x", InvalidBmcAddress::Host),
            ("redfish://[fe80::1%25eth0]/x", InvalidBmcAddress::Host),
            ("192.168.1.1:abc", InvalidBmcAddress::Host),
            ("redfish://a:port/x", InvalidBmcAddress::Malformed),
            ("redfish://a b/x", InvalidBmcAddress::Malformed),
            ("redfish://[::1/x", InvalidBmcAddress::Malformed),
            ("redfish://[192.0.2.1]/x", InvalidBmcAddress::Malformed),
            ("redfish+https://[bmc]/x", InvalidBmcAddress::Malformed),
            ("ipmi:[192.0.2.1]:623", InvalidBmcAddress::Malformed),
            ("redfish://192.0.2.1/%zz", InvalidBmcAddress::Malformed),
            ("redfish://192.0.2.1/%2", InvalidBmcAddress::Malformed),
            ("redfish://u^:p@192.0.2.1", InvalidBmcAddress::Malformed),
            ("redfish://192.0.2.1/\n", InvalidBmcAddress::Malformed),
            ("://192.0.2.1", InvalidBmcAddress::Malformed),
            ("redfish://", InvalidBmcAddress::NoHost),
            ("redfish:/192.0.2.1/x", InvalidBmcAddress::NoHost),
        ] {
            let refused = parsed(address).unwrap_err();
            // Metal3 takes what is no URL for a host with a port.
            let is_host =
                expected == InvalidBmcAddress::Malformed && refused == InvalidBmcAddress::Host;
            assert!(refused == expected || is_host, "{address}: {refused:?}");
        }
    }

    #[test]
    fn spellings_of_one_system_are_equal() {
        let identity = |address: &str| parsed(address).unwrap().identity();
        for (one, other) in [
            ("ipmi://203.0.113.9?privilegelevel=OPERATOR", "203.0.113.9:623"),
            ("ipmi:203.0.113.9", "ipmi://203.0.113.9:0623"),
            (
                "redfish://h.example/redfish/v1/Systems/1",
                "idrac-redfish+https://H.example:443/redfish/v1/Systems/1/",
            ),
            ("redfish://[FD00::1]/x", "redfish+http://[fd00:0::1]:80/x"),
            ("redfish://192.0.2.1", "redfish://192.0.2.1/redfish/v1/"),
            ("redfish://u:p@192.0.2.1/a%20b", "redfish://192.0.2.1/a b"),
        ] {
            assert_eq!(identity(one), identity(other), "{one} {other}");
        }
        for (one, other) in [
            ("redfish://192.0.2.1/1", "redfish://192.0.2.1/2"),
            ("redfish://192.0.2.1:8000/1", "redfish://192.0.2.1:8001/1"),
            ("ipmi://192.0.2.1:6230", "ipmi://192.0.2.1:6231"),
            ("redfish://192.0.2.1/a", "redfish://192.0.2.1/A"),
        ] {
            assert_ne!(identity(one), identity(other), "{one} {other}");
        }
    }
}
