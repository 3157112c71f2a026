//! The hardware values that identify a machine, read from any status.
//!
//! A site has thousands of hosts with hundreds of values each, so this reading keeps nothing else. A
//! value of an unexpected type counts as absent: the other fields of the host still count.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

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
        let HardwareFields { nics, system_vendor } =
            LenientValue::deserialize(deserializer)?.known();
        let macs = nics.known().into_iter().map(|nic| nic.known().mac.known());
        let macs: Vec<String> = macs.collect();
        let serial = system_vendor.known().serial_number.known();
        Ok(Self::new(macs.iter().map(String::as_str), Some(&serial)))
    }
}

/// A value that is absent if it has another type.
#[derive(Deserialize)]
#[serde(untagged)]
enum LenientValue<T> {
    Known(T),
    Other(IgnoredAny),
}

impl<T> Default for LenientValue<T> {
    fn default() -> Self {
        Self::Other(IgnoredAny)
    }
}

impl<T: Default> LenientValue<T> {
    fn known(self) -> T {
        match self {
            Self::Known(value) => value,
            Self::Other(_) => T::default(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HardwareFields {
    nics: LenientValue<Vec<LenientValue<PartIdentity>>>,
    system_vendor: LenientValue<PartIdentity>,
}

/// The identifying values of a network card or of the machine as a whole.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartIdentity {
    mac: LenientValue<String>,
    serial_number: LenientValue<String>,
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
