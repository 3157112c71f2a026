//! Addresses by which machines reach each other.

use std::net::IpAddr;

use super::network::IpNetwork;
use crate::base::text::counted;

/// The mistake in an address that is not reachable.
const UNREACHABLE: &str = "is an address by which no other machine reaches the host";

/// Returns whether machines on other networks can reach a machine by this address. An address that
/// they cannot reach serves nobody, whatever its source.
pub fn is_reachable(address: IpAddr) -> bool {
    // An IPv4-mapped IPv6 address counts as its IPv4 address.
    let address = address.to_canonical();
    let is_reserved =
        matches!(address, IpAddr::V4(address) if matches!(address.octets()[0], 0 | 240..));
    !address.is_unspecified()
        && !is_reserved
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local(address)
}

/// Returns why no host can have an address in its network, as the end of a sentence.
pub fn unusable(
    address: IpAddr,
    prefix: Option<u32>,
    mut gateways: impl Iterator<Item = IpAddr>,
) -> Option<&'static str> {
    let is_at_an_end = || {
        let (IpAddr::V4(address), Some(prefix @ ..31)) = (address.to_canonical(), prefix) else {
            return false;
        };
        let hosts = u32::MAX >> prefix;
        [0, hosts].contains(&(address.to_bits() & hosts))
    };
    if !is_reachable(address) {
        Some(UNREACHABLE)
    } else if gateways.any(|gateway| gateway == address) {
        Some("is the address of a gateway")
    } else {
        is_at_an_end().then_some("is the first or last address of its network")
    }
}

/// Returns whether an address is valid on one link only: 169.254.0.0/16 or fe80::/10.
pub fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Formats an address for use before a port: IPv6 in brackets.
pub fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Parses an `ip_address`, and its prefix length if it has one. Real data has a prefix
/// (`10.0.0.5/24`), which Nova's schema lacks, and `<no value>` or an empty text if a template found
/// no address.
pub(super) fn parse_address(text: &str) -> Result<Option<(IpAddr, Option<u32>)>, String> {
    let text = text.trim();
    if text.is_empty() || text == "<no value>" {
        return Ok(None);
    }
    let parsed = match IpNetwork::parse(text) {
        Some(network) => Some((network.address(), Some(network.prefix()))),
        None => text.parse().ok().map(|address| (address, None)),
    };
    parsed.map(Some).ok_or_else(|| in_words(text))
}

/// Describes an invalid `ip_address`. The value may be a password in the wrong place, so it is
/// quoted only if it looks like an address.
fn in_words(text: &str) -> String {
    let is_of_addresses = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '/');
    let looks_like_one =
        text.len() <= LONGEST && text.contains(['.', ':']) && text.chars().all(is_of_addresses);
    if looks_like_one {
        format!("the ip_address `{text}`")
    } else {
        format!("an ip_address of {}", counted(text.chars().count(), "character"))
    }
}

/// The maximum length in bytes of a value that looks like an address. The longest IPv6 address has
/// 45 bytes.
const LONGEST: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_counts_if_machines_on_other_networks_reach_it() {
        for (text, expected) in [
            ("192.0.2.10", true),
            ("10.0.0.255", true),
            ("2001:db8::1", true),
            ("fd00::1", true),
            ("::ffff:192.0.2.10", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("127.0.0.1", false),
            ("127.8.0.1", false),
            ("169.254.3.7", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("fe80::1", false),
            ("febf::1", false),
            ("ff02::1", false),
            ("::ffff:169.254.0.1", false),
            ("::ffff:127.0.0.1", false),
        ] {
            assert_eq!(is_reachable(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn no_host_has_the_address_of_a_gateway_or_at_an_end_of_its_network() {
        for (text, prefix, is_usable) in [
            ("10.0.0.5", Some(24), true),
            ("10.0.0.0", Some(24), false),
            ("10.0.0.255", Some(24), false),
            ("10.0.0.255", Some(23), true),
            ("10.0.1.255", Some(23), false),
            ("10.0.0.0", Some(31), true),
            ("10.0.0.0", Some(32), true),
            ("10.0.0.0", None, true),
            ("10.255.255.255", Some(0), true),
            ("2001:db8::", Some(64), true),
            ("10.0.0.1", Some(24), false),
            ("240.0.0.9", None, false),
        ] {
            let gateways = ["10.0.0.1".parse().unwrap()].into_iter();
            let why = unusable(text.parse().unwrap(), prefix, gateways);
            assert_eq!(why.is_none(), is_usable, "{text} {prefix:?} {why:?}");
        }
    }
}
