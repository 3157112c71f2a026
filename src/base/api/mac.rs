//! MAC addresses in every common notation.

use std::fmt;
use std::str::FromStr;

use derive_more::Display;
use serde::Serialize;

use super::names::Invalid;

/// A MAC address of 48 bits. It is written in lower case with colons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", _0[0], _0[1], _0[2], _0[3], _0[4], _0[5])]
pub struct MacAddress([u8; 6]);

impl FromStr for MacAddress {
    type Err = Invalid;

    /// Parses 12 hexadecimal digits in any case: pairs separated by `:` or `-`, groups of four
    /// separated by `.`, or no separator.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bytes = text.as_bytes();
        // The length of a part, and the separator.
        let (part, separator) = match (bytes.len(), bytes.get(2), bytes.get(4)) {
            (17, Some(separator @ (b':' | b'-')), _) => (2, *separator),
            (14, _, Some(b'.')) => (4, b'.'),
            (12, ..) => (12, 0),
            _ => return Err(NO_ADDRESS.into()),
        };
        let mut number: u64 = 0;
        for (index, byte) in bytes.iter().enumerate() {
            if index % (part + 1) == part {
                if *byte != separator {
                    return Err(NO_ADDRESS.into());
                }
                continue;
            }
            let digit = char::from(*byte).to_digit(16).ok_or(NO_ADDRESS)?;
            number = number << 4 | u64::from(digit);
        }
        // The digits fill the low 6 of the 8 bytes.
        let [_, _, bytes @ ..] = number.to_be_bytes();
        Ok(Self(bytes))
    }
}

const NO_ADDRESS: &str =
    "is not a MAC address: write six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef";

impl MacAddress {
    /// Returns whether it may be the address of one network card.
    pub fn is_unicast(self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }

    /// Returns whether its maker guarantees that no other network card has it.
    pub fn is_universal(self) -> bool {
        self.0[0] & 2 == 0
    }

    /// Returns the 180 addresses that differ from this one in a single digit: candidates for a
    /// typo.
    pub fn near(self) -> impl Iterator<Item = MacAddress> {
        (0..12).flat_map(move |digit: usize| {
            (1..16_u8).map(move |change| {
                let mut near = self;
                // XOR with 1 to 15 yields each of the other 15 digits once.
                near.0[digit / 2] ^= if digit.is_multiple_of(2) { change << 4 } else { change };
                near
            })
        })
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
        for text in ["00:C6:14:04:61:B2", "00-c6-14-04-61-b2", "00c6.1404.61b2", "00C6140461B2"] {
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
