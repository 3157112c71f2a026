//! IP networks in CIDR notation.

use std::net::IpAddr;

use derive_more::Display;
use schemars::JsonSchema;
use serde::Deserialize;

use super::names::Invalid;

/// An address and the length of its network's prefix, such as `192.0.2.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Display)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["192.0.2.0/24", "2001:db8::/64"]))]
#[display("{address}/{prefix}")]
pub struct IpNetwork {
    address: IpAddr,
    prefix: u32,
}

impl IpNetwork {
    /// Parses an address with a prefix length. The address may be any of the network.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|prefix| digits && *prefix <= longest)?;
        Some(Self { address, prefix })
    }

    /// Returns the network itself, by its first address.
    #[must_use]
    pub fn canonical(self) -> Self {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                IpAddr::V4((u32::from(v4) & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                IpAddr::V6((u128::from(v6) & mask).into())
            }
        };
        Self { address, ..self }
    }

    /// Returns the address in its text, which may be any of the network.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// Returns the length of the prefix, in bits.
    pub fn prefix(self) -> u32 {
        self.prefix
    }

    /// Returns whether it is a network of IPv4.
    pub fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    /// Returns whether an address belongs to both.
    pub fn overlaps(self, other: Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }

    /// Returns whether an address belongs to it.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.is_ipv4()
            && Self { address, ..self }.canonical() == self.canonical()
    }
}

/// The network of one address.
impl From<IpAddr> for IpNetwork {
    fn from(address: IpAddr) -> Self {
        Self { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl TryFrom<String> for IpNetwork {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        let network = Self::parse(&text).filter(|network| network.canonical() == *network);
        network.ok_or_else(|| {
            let text: String = text.chars().take(40).collect();
            Invalid::from(format!("`{text}` is not a network: write its first address and a prefix length, such as `192.0.2.0/24`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_written_by_its_first_address() {
        for text in ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32", "2001:db8::/64", "::/0", "::1/128"]
        {
            assert_eq!(IpNetwork::try_from(text.to_owned()).unwrap().to_string(), text);
        }
        for text in ["", "10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/+8", "a/8", "::/129"] {
            assert!(IpNetwork::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_network_contains_addresses_of_its_family() {
        let network = IpNetwork::parse("10.0.0.77/30").unwrap();
        assert_eq!(network.canonical().to_string(), "10.0.0.76/30");
        for (address, expected) in
            [("10.0.0.79", true), ("10.0.0.80", false), ("::10.0.0.77", false)]
        {
            assert_eq!(network.contains(address.parse().unwrap()), expected, "{address}");
        }
    }
}
