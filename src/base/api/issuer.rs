//! The URL of an OpenID Connect issuer.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use derive_more::Display;
use serde::{Serialize, Serializer};

use super::address::bracketed;
use super::names::{Invalid, NodePort, ObjectName};

/// The URL that identifies an OpenID Connect issuer: `https://HOST[:PORT][/PATH]`.
///
/// Clients compare the URL in a token byte by byte, so only one spelling is valid: no upper case in
/// the host, no default port, no trailing slash, no percent-encoding.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[display("https://{host}{}{path}", port.map(|port| format!(":{port}")).unwrap_or_default())]
pub struct IssuerUrl {
    host: IssuerHost,
    port: Option<u16>,
    /// Empty, or starts with a slash.
    path: String,
}

/// The host of an issuer's URL. The issuer's certificate must name it.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
pub enum IssuerHost {
    /// A DNS name.
    Name(String),
    /// An IPv4 or IPv6 address.
    #[display("{}", bracketed(*_0))]
    Address(IpAddr),
}

impl IssuerUrl {
    /// Returns the URL of an issuer that is reached by a NodePort at the base cluster's address.
    pub fn at_node_port(address: IpAddr, port: NodePort) -> Self {
        let (host, port) = (IssuerHost::Address(address), Some(port.number()));
        Self { host, port, path: "/dex".to_owned() }
    }

    /// Returns the host.
    pub fn host(&self) -> &IssuerHost {
        &self.host
    }
}

impl FromStr for IssuerUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rest = text.strip_prefix("https://").ok_or("does not begin with https://")?;
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if authority.contains('@') {
            return Err("names a user".into());
        }
        // A colon before `]` belongs to an IPv6 address.
        let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']'))
        {
            None => (authority, None),
            Some((_, "443")) => return Err("names port 443, which https has anyway".into()),
            // `u16` would parse a leading zero or a sign, which are other spellings of a port.
            Some((host, port)) => match port.parse::<u16>() {
                Ok(number) if !port.starts_with(['0', '+']) => (host, Some(number)),
                _ => return Err("has no valid port".into()),
            },
        };
        // The unreserved characters of RFC 3986, which are never percent-encoded.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let is_segment = |part: &str| {
            !part.is_empty() && part.chars().all(is_plain) && !matches!(part, "." | "..")
        };
        if path.ends_with('/') {
            return Err("ends with a slash".into());
        }
        if !path.is_empty() && !path.split('/').skip(1).all(is_segment) {
            let reason =
                "has a path with more than letters, digits, `-`, `.`, `_`, `~` between slashes";
            return Err(reason.into());
        }
        Ok(Self { host: host.parse()?, port, path: path.to_owned() })
    }
}

impl FromStr for IssuerHost {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const INVALID: &str = "has no valid host: a DNS name in lower case, or an IP address";
        if let Some(address) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            let parsed: Ipv6Addr = address.parse().map_err(|_| INVALID)?;
            // Rust formats addresses as in RFC 5952.
            return if parsed.to_string() == address {
                Ok(Self::Address(parsed.into()))
            } else {
                Err("has an IPv6 address that is not in its shortest form".into())
            };
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        // The URL standard parses a host that ends in a number as an IPv4 address, and this one is
        // not valid.
        let ends_with_number =
            text.rsplit('.').next().is_some_and(|part| part.chars().all(|c| c.is_ascii_digit()));
        if ends_with_number {
            return Err(INVALID.into());
        }
        let name: ObjectName = text.parse().map_err(|_| INVALID)?;
        Ok(Self::Name(name.as_str().to_owned()))
    }
}

impl Serialize for IssuerUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_url_is_kept_byte_by_byte() {
        for text in [
            "https://dex.example.com",
            "https://dex.example.com/dex",
            "https://dex.example.com:8443/a/b-c",
            "https://192.0.2.10:30556/dex",
            "https://[2001:db8::10]:30556/dex",
            "https://[2001:db8::10]",
        ] {
            assert_eq!(text.parse::<IssuerUrl>().map(|url| url.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn another_spelling_of_a_url_is_refused() {
        for (text, reason) in [
            ("http://dex.example.com", "https://"),
            ("dex.example.com", "https://"),
            ("https://", "host"),
            ("https://dex.example.com/", "slash"),
            ("https://dex.example.com/dex/", "slash"),
            ("https://dex.example.com//dex", "path"),
            ("https://dex.example.com/../dex", "path"),
            ("https://dex.example.com/dex?x=1", "path"),
            ("https://dex.example.com/dex#x", "path"),
            ("https://dex.example.com?x=1", "host"),
            ("https://user@dex.example.com", "user"),
            ("https://user:word@dex.example.com", "user"),
            ("https://DEX.example.com", "host"),
            ("https://dex.example.com:443/dex", "443"),
            ("https://dex.example.com:0/dex", "port"),
            ("https://dex.example.com:66000/dex", "port"),
            ("https://dex.example.com:/dex", "port"),
            ("https://192.0.2.300/dex", "host"),
            ("https://2001:db8::10/dex", "host"),
            ("https://[2001:DB8::10]/dex", "shortest"),
            ("https://[2001:db8::10/dex", "host"),
            ("https://${HOST}/dex", "host"),
            ("https://dex.example.com/${PATH}", "path"),
            ("https://dex.example.com/dex\n", "path"),
        ] {
            let error = text
                .parse::<IssuerUrl>()
                .map(|url| url.to_string())
                .map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|error| error.contains(reason)), "{text}: {error:?}");
        }
    }
}
