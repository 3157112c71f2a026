//! What Metal3's inspection found in a host: `spec.hardware` of HardwareData (`metal3.io/v1alpha1`), which is named like
//! its host, or `status.hardware` of the host itself, where older releases kept it.

use serde::{Deserialize, Deserializer, Serialize};

/// The kind of the objects that hold it. Their group and version are those of hosts.
pub const KIND: &str = "HardwareData";

/// Annotation of a host: the hardware as JSON, for hosts that are not inspected.
pub const DETAILS: &str = "inspect.metal3.io/hardwaredetails";

/// The hardware of a host, as far as anybody here has use for it. Whatever inspection did not find is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hardware {
    /// Its processors.
    #[serde(default, deserialize_with = "or_default")]
    pub cpu: Cpu,
    /// Its memory in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_mebibytes: Option<u64>,
    /// What the host called itself when it was inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Its network interfaces. One with an IPv4 and an IPv6 address is there twice.
    #[serde(default, deserialize_with = "or_default")]
    pub nics: Vec<Nic>,
    /// Its disks.
    #[serde(default, deserialize_with = "or_default")]
    pub storage: Vec<Storage>,
    /// Who made it.
    #[serde(default, deserialize_with = "or_default")]
    pub system_vendor: SystemVendor,
}

/// The processors of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// How many there are, threads counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Their architecture: `x86_64`, `aarch64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Their model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Its name: `eno1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// The IPv4 or IPv6 address that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Vendor and product: `0x8086 0x1572`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who made it. Metal3's own objects have that in `model` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Gbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_gbps: Option<u64>,
    /// Whether the host boots from it.
    #[serde(default, deserialize_with = "or_default")]
    pub pxe: bool,
}

/// A disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Its name: `/dev/sda`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `HDD`, `SSD` or `NVME`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
}

/// Who made a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// The maker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// The product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_name: Option<String>,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
}

/// Programs in Go write `null` for a list or a mapping that they have not filled.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// An amount of memory in words: in GiB where it is a whole number of those, and else in MiB.
pub fn memory(mebibytes: u64) -> String {
    if mebibytes > 0 && mebibytes.is_multiple_of(1024) {
        format!("{} GiB", mebibytes / 1024)
    } else {
        format!("{mebibytes} MiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_found_is_absent() {
        let text = r#"{"cpu": null, "nics": null, "ramMebibytes": 1024, "firmware": {"bios": {}}}"#;
        let expected = Hardware {
            ram_mebibytes: Some(1024),
            ..Hardware::default()
        };
        assert_eq!(serde_json::from_str::<Hardware>(text).unwrap(), expected);
    }

    #[test]
    fn memory_is_in_gib_where_that_is_whole() {
        assert_eq!(memory(131_072), "128 GiB");
        assert_eq!(memory(1_000), "1000 MiB");
        assert_eq!(memory(0), "0 MiB");
    }
}
