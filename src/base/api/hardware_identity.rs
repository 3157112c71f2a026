//! The hardware values that identify a machine, read from any status.
//!
//! A site has thousands of hosts with hundreds of values each, so this reading keeps nothing else. A
//! value of an unexpected type counts as absent: the other fields of the host still count.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::hardware::Hardware;
use super::mac::MacAddress;

/// The hardware values that identify a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HardwareIdentity {
    /// MAC addresses of its network cards.
    pub macs: Box<[MacAddress]>,
    /// Its serial number, unless that is a placeholder.
    pub serial: Option<Box<str>>,
}

/// Serial numbers that firmware reports if nobody has set one, in lower case.
const PLACEHOLDERS: [&str; 14] = [
    "0123456789",
    "123456789",
    "1234567890",
    "chassis serial number",
    "default string",
    "n/a",
    "na",
    "none",
    "not applicable",
    "not specified",
    "system serial number",
    "to be filled by o.e.m.",
    "unknown",
    "xxxxxxxxxx",
];

impl HardwareIdentity {
    fn new<'t>(macs: impl Iterator<Item = &'t str>, serial: Option<&str>) -> Self {
        let mut macs: Vec<MacAddress> = macs.filter_map(|mac| mac.trim().parse().ok()).collect();
        macs.sort_unstable();
        macs.dedup();
        let serial = serial.map(str::trim).filter(|serial| is_serial(serial));
        Self { macs: macs.into(), serial: serial.map(Into::into) }
    }
}

impl From<&Hardware> for HardwareIdentity {
    fn from(hardware: &Hardware) -> Self {
        let macs = hardware.nics.iter().filter_map(|nic| nic.mac.as_deref());
        Self::new(macs, hardware.system_vendor.serial_number.as_deref())
    }
}

fn is_serial(text: &str) -> bool {
    let first = text.chars().next();
    !text.chars().all(|c| Some(c) == first || c == '-' || c == '.')
        && !PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str())
}

impl<'de> Deserialize<'de> for HardwareIdentity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields: HardwareFields = deserializer.deserialize_any(LenientVisitor(PhantomData))?;
        let macs = fields.nics.iter().filter_map(|nic| nic.mac.as_deref());
        Ok(Self::new(macs, fields.vendor.serial.as_deref()))
    }
}

/// A value that is read from a mapping, a list or a text, and has a default for any other.
trait LenientValue<'de>: Default {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_text(_: &str) -> Self {
        Self::default()
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: LenientValue<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }
}

/// Implements deserialization of a [`LenientValue`].
macro_rules! deserialize {
    ($($part:ty)*) => {
        $(impl<'de> Deserialize<'de> for $part {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(LenientVisitor(PhantomData))
            }
        })*
    };
}

deserialize!(Nics PartIdentity LenientText);

#[derive(Default)]
struct HardwareFields {
    nics: Vec<PartIdentity>,
    vendor: PartIdentity,
}

impl<'de> LenientValue<'de> for HardwareFields {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut fields = Self::default();
        while let Some(key) = map.next_key::<LenientText>()? {
            match key.0.as_deref() {
                Some("nics") => fields.nics = map.next_value::<Nics>()?.0,
                Some("systemVendor") => fields.vendor = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

#[derive(Default)]
struct Nics(Vec<PartIdentity>);

impl<'de> LenientValue<'de> for Nics {
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut nics = Vec::new();
        while let Some(nic) = list.next_element()? {
            nics.push(nic);
        }
        Ok(Self(nics))
    }
}

/// The identifying values of a network card or of the machine as a whole.
#[derive(Default)]
struct PartIdentity {
    mac: Option<String>,
    serial: Option<String>,
}

impl<'de> LenientValue<'de> for PartIdentity {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut part = Self::default();
        while let Some(key) = map.next_key::<LenientText>()? {
            match key.0.as_deref() {
                Some("mac") => part.mac = map.next_value::<LenientText>()?.0,
                Some("serialNumber") => part.serial = map.next_value::<LenientText>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(part)
    }
}

#[derive(Default)]
struct LenientText(Option<String>);

impl<'de> LenientValue<'de> for LenientText {
    fn from_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(text: &str) -> String {
        let identity: HardwareIdentity = yaml_serde::from_str(text).unwrap();
        format!("{:?} {:?}", identity.macs, identity.serial)
    }

    #[test]
    fn macs_and_serial_number_are_read_from_any_status() {
        let text = "cpu: {flags: [a, b], count: 2}\n\
            nics: [{mac: 00:00:5E:00:53:02, name: b}, {mac: 00-00-5e-00-53-01}, {mac: 00:00:5e:00:53:01}, {mac: 7}, x]\n\
            systemVendor: {serialNumber: ' S1 ', manufacturer: [x]}\n";
        assert_eq!(identity(text), "[00:00:5e:00:53:01, 00:00:5e:00:53:02] Some(\"S1\")");
    }

    #[test]
    fn values_of_another_type_and_placeholders_are_absent() {
        for text in [
            "null",
            "text",
            "7",
            "[1]",
            "storage: [{wwn: 123456789012345678901234567890}]",
            "nics: {mac: 00:00:5e:00:53:01}",
            "{nics: null, systemVendor: [x]}",
            "systemVendor: {serialNumber: 0000000}",
            "systemVendor: {serialNumber: '0000-0000'}",
            "systemVendor: {serialNumber: ''}",
            "systemVendor: {serialNumber: Not Specified}",
            "systemVendor: {serialNumber: [x]}",
        ] {
            assert_eq!(identity(text), "[] None", "{text}");
        }
    }
}
