//! The hardware values that identify a machine, read from any status.
//!
//! A site has thousands of hosts with hundreds of values each, so this reading keeps nothing else. A
//! value of an unexpected type counts as absent: the other fields of the host still count.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};
use yaml_serde::Value;

use super::hardware::Hardware;
use super::mac::MacAddress;
use crate::base::text::yaml::ValueReader;

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
        let reader = ValueReader { keys: Some(&FIELDS), ..ValueReader::default() };
        let hardware = reader.deserialize(deserializer)?;
        let nics = hardware.get("nics").and_then(Value::as_sequence).into_iter().flatten();
        let macs = nics.filter_map(|nic| nic.get("mac")?.as_str());
        let vendor = hardware.get("systemVendor");
        let serial = vendor.and_then(|vendor| vendor.get("serialNumber")?.as_str());
        Ok(Self::new(macs, serial))
    }
}

/// The keys of the fields above.
const FIELDS: [&str; 4] = ["nics", "mac", "systemVendor", "serialNumber"];

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
