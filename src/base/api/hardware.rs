//! The result of Metal3's inspection of a host.
//!
//! It is `spec.hardware` of the HardwareData (`metal3.io/v1alpha1`) with the host's name. Older
//! releases of Metal3 keep it in `status.hardware` of the host.

use crate::base::grouping::occurrences;

use serde::{Deserialize, Deserializer, Serialize};

/// The kind that holds a host's hardware. It has the group and version of BareMetalHost.
pub const KIND: &str = "HardwareData";

/// The word for hardware that nobody inspected.
pub const UNKNOWN_KIND: &str = "unknown";

/// Annotation of a host that is not inspected: its hardware as JSON.
pub const DETAILS: &str = "inspect.metal3.io/hardwaredetails";

/// The hardware of a host, limited to the fields that sipgen uses. A value that inspection did not
/// find is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hardware {
    /// Processors.
    #[serde(deserialize_with = "or_default")]
    pub cpu: Cpu,
    /// Memory in MiB.
    pub ram_mebibytes: Option<u64>,
    /// The hostname during inspection.
    pub hostname: Option<String>,
    /// Network interfaces. One with an IPv4 and an IPv6 address is listed twice.
    #[serde(deserialize_with = "or_default")]
    pub nics: Vec<Nic>,
    /// Disks.
    #[serde(deserialize_with = "or_default")]
    pub storage: Vec<Storage>,
    /// Manufacturer and model.
    #[serde(deserialize_with = "or_default")]
    pub system_vendor: SystemVendor,
    /// Firmware.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Firmware::is_unknown")]
    pub firmware: Firmware,
}

/// The firmware of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    /// The BIOS or UEFI firmware.
    #[serde(default, deserialize_with = "or_default")]
    pub bios: Bios,
}

impl Firmware {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// The BIOS or UEFI firmware of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bios {
    /// The vendor.
    pub vendor: Option<String>,
    /// The version.
    pub version: Option<String>,
}

/// A text of a host's hardware that requests may require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub enum HardwareText {
    /// `systemVendor.manufacturer`
    #[display("manufacturer")]
    Manufacturer,
    /// `systemVendor.productName`
    #[display("product name")]
    ProductName,
    /// `firmware.bios.vendor`
    #[display("BIOS vendor")]
    BiosVendor,
    /// `firmware.bios.version`
    #[display("BIOS version")]
    BiosVersion,
}

impl HardwareText {
    /// All texts.
    pub const ALL: [Self; 4] =
        [Self::Manufacturer, Self::ProductName, Self::BiosVendor, Self::BiosVersion];
}

impl Hardware {
    /// Returns a word for the kind of hardware, such as `32c-128g-x86_64-2nvme`: CPUs, memory in GiB,
    /// architecture, and disks by type. Unknown parts are left out.
    pub fn kind_word(&self) -> String {
        let disks = occurrences(self.storage.iter().map(Storage::disk_kind));
        let disks = disks.into_iter().map(|(kind, count)| {
            let kind = kind.map_or("disk".to_owned(), |kind| kind.to_string().to_lowercase());
            format!("{count}{kind}")
        });
        let positive = |number: Option<u64>| number.filter(|number| *number > 0);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let arch = self.cpu.arch.as_deref().unwrap_or_default().trim().to_lowercase();
        let arch: String = arch.chars().filter(|c| is_plain(*c)).take(16).collect();
        let sizes = [
            positive(self.cpu.count).map(|count| format!("{count}c")),
            // Equal machines differ by less than 1 GiB.
            positive(self.ram_mebibytes).map(|memory| format!("{}g", memory.div_ceil(1024))),
            Some(arch).filter(|arch| !arch.is_empty()),
        ];
        let parts: Vec<String> = sizes.into_iter().flatten().chain(disks).collect();
        if parts.is_empty() { UNKNOWN_KIND.to_owned() } else { parts.join("-") }
    }

    /// Returns a text, unless it is blank.
    pub fn text(&self, what: HardwareText) -> Option<&str> {
        let text = match what {
            HardwareText::Manufacturer => &self.system_vendor.manufacturer,
            HardwareText::ProductName => &self.system_vendor.product_name,
            HardwareText::BiosVendor => &self.firmware.bios.vendor,
            HardwareText::BiosVersion => &self.firmware.bios.version,
        };
        text.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }
}

/// The processors of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// The number of CPUs, hyper-threads included.
    pub count: Option<u64>,
    /// The architecture: `x86_64`, `aarch64`.
    pub arch: Option<String>,
    /// The model name.
    pub model: Option<String>,
    /// The features of the processors, as in `/proc/cpuinfo`: `avx512f`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// The name: `eno1`.
    pub name: Option<String>,
    /// The MAC address.
    pub mac: Option<String>,
    /// The IPv4 or IPv6 address during inspection.
    pub ip: Option<String>,
    /// Vendor and product: `0x8086 0x1572`.
    pub model: Option<String>,
    /// The vendor. Metal3's own objects have it in `model` only.
    pub vendor: Option<String>,
    /// The speed in Gbit/s.
    pub speed_gbps: Option<u64>,
    /// Set if the host boots from this interface.
    #[serde(default, deserialize_with = "or_default")]
    pub pxe: bool,
}

/// A disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// The device name: `/dev/sda`.
    pub name: Option<String>,
    /// `HDD`, `SSD` or `NVME`. Older releases of Metal3 have only `rotational`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Set if it has rotating disks.
    pub rotational: Option<bool>,
    /// The size in bytes.
    pub size_bytes: Option<u64>,
    /// The model name.
    pub model: Option<String>,
    /// The vendor.
    pub vendor: Option<String>,
}

impl Storage {
    /// Returns the type, if it is known.
    pub fn disk_kind(&self) -> Option<DiskKind> {
        let is_nvme = || self.name.as_ref().is_some_and(|name| name.starts_with("/dev/nvme"));
        let name = self.kind.as_deref().unwrap_or_default().trim();
        let named =
            DiskKind::ALL.into_iter().find(|kind| kind.to_string().eq_ignore_ascii_case(name));
        named.or_else(|| match self.rotational? {
            true => Some(DiskKind::Hdd),
            false if is_nvme() => Some(DiskKind::Nvme),
            false => Some(DiskKind::Ssd),
        })
    }
}

/// The type of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display(rename_all = "UPPERCASE")]
pub enum DiskKind {
    /// Rotating disks.
    Hdd,
    /// Flash memory behind SATA or SAS.
    Ssd,
    /// Flash memory behind PCI Express.
    Nvme,
}

impl DiskKind {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Hdd, Self::Ssd, Self::Nvme];
}

/// The manufacturer and model of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// The manufacturer.
    pub manufacturer: Option<String>,
    /// The product name.
    pub product_name: Option<String>,
    /// The serial number.
    pub serial_number: Option<String>,
}

/// Deserializes a value, or its default from `null`: Go encodes an unset list or map as `null`.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Formats an amount of memory: in GiB if it is a multiple of 1 GiB, otherwise in MiB.
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
        let expected = Hardware { ram_mebibytes: Some(1024), ..Hardware::default() };
        assert_eq!(serde_json::from_str::<Hardware>(text).unwrap(), expected);
    }

    #[test]
    fn a_kind_of_hardware_is_one_word() {
        for (text, word) in [
            ("{}", "unknown"),
            (r#"{"cpu": {"count": 0, "arch": " "}, "ramMebibytes": 0}"#, "unknown"),
            (
                r#"{"cpu": {"count": 32, "arch": "x86_64"}, "ramMebibytes": 131072}"#,
                "32c-128g-x86_64",
            ),
            (
                r#"{"ramMebibytes": 130800, "storage": [{"type": "NVME"}, {"rotational": true}, {"type": "nvme"}, {}]}"#,
                "128g-1disk-1hdd-2nvme",
            ),
            (r#"{"cpu": {"arch": "a b/\u001b-c"}}"#, "abc"),
        ] {
            assert_eq!(serde_json::from_str::<Hardware>(text).unwrap().kind_word(), word, "{text}");
        }
    }

    #[test]
    fn memory_is_in_gib_where_that_is_whole() {
        assert_eq!(memory(131_072), "128 GiB");
        assert_eq!(memory(1_000), "1000 MiB");
        assert_eq!(memory(0), "0 MiB");
    }
}
