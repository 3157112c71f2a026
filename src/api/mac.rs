//! MAC addresses in every common notation.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::names::Invalid;

/// A MAC address of 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

impl FromStr for MacAddress {
    type Err = Invalid;

    /// Parses 12 hexadecimal digits in any case: pairs separated by `:` or `-`, groups of four
    /// separated by `.`, or no separator.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parts: Vec<&str> = text.split([':', '-', '.']).collect();
        let separators: Vec<char> = text
            .chars()
            .filter(|c| matches!(c, ':' | '-' | '.'))
            .collect();
        let is_uniform = separators.windows(2).all(|pair| pair[0] == pair[1]);
        let length = match (parts.len(), separators.first()) {
            (6, Some(':' | '-')) => 2,
            (3, Some('.')) => 4,
            (1, None) => 12,
            _ => 0,
        };
        // `from_str_radix` accepts a sign, so each character is checked first.
        let is_part =
            |part: &&str| part.len() == length && part.chars().all(|c| c.is_ascii_hexdigit());
        if length == 0 || !is_uniform || !parts.iter().all(is_part) {
            return Err(Invalid::because(
                "is not a MAC address: write six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef",
            ));
        }
        // The digits fill the low 6 of the 8 bytes.
        let number = u64::from_str_radix(&parts.concat(), 16)
            .unwrap_or_default()
            .to_be_bytes();
        Ok(Self([
            number[2], number[3], number[4], number[5], number[6], number[7],
        ]))
    }
}

impl MacAddress {
    /// Returns the 180 addresses that differ from this one in a single digit: candidates for a
    /// typo.
    pub fn near(self) -> impl Iterator<Item = MacAddress> {
        (0..12).flat_map(move |digit: usize| {
            (1..16_u8).map(move |change| {
                let mut near = self;
                // XOR with 1 to 15 yields each of the other 15 digits once.
                near.0[digit / 2] ^= if digit.is_multiple_of(2) {
                    change << 4
                } else {
                    change
                };
                near
            })
        })
    }
}

impl fmt::Display for MacAddress {
    /// Writes lower case with colons.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for MacAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        let address: MacAddress = "00:c6:14:04:61:b2".parse().unwrap();
        for text in [
            "00:C6:14:04:61:B2",
            "00-c6-14-04-61-b2",
            "00c6.1404.61b2",
            "00C6140461B2",
        ] {
            assert_eq!(text.parse::<MacAddress>().unwrap(), address, "{text}");
        }
        assert_eq!(address.to_string(), "00:c6:14:04:61:b2");
    }

    #[test]
    fn near_is_what_differs_in_one_digit() {
        let address: MacAddress = "00:c6:14:04:61:b2".parse().unwrap();
        let near: std::collections::BTreeSet<MacAddress> = address.near().collect();
        assert_eq!(near.len(), 12 * 15);
        for (text, is_near) in [
            ("00:c6:14:04:61:b3", true),
            ("f0:c6:14:04:61:b2", true),
            ("00:c6:14:04:61:b2", false),
            ("00:c6:14:04:61:a3", false),
        ] {
            assert_eq!(near.contains(&text.parse().unwrap()), is_near, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "<pn4-IF2-mac>",
            "00:c6:14:04:61",
            "00:c6:14:04:61:b2:00",
            "00:c6:14:04:61-b2",
            "0:0c6:14:04:61:b2",
            "00:c6:14:04:61:g2",
            "00c6:1404:61b2",
            "00.c6.14.04.61.b2",
            "+0c6140461b2",
            "é0c6140461b",
        ] {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }
}
