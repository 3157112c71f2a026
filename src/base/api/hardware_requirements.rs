//! Requirements on the inspected hardware of hosts, as node sets have them.
//!
//! The names are those of `status.hardware` of a BareMetalHost.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::quantity::{QUANTITY_PATTERN, WrittenText};

/// The largest number of CPUs, disks, network cards or Gbit/s that a requirement may have.
pub const MOST_UNITS: i64 = 1_000_000;
/// The largest number of entries for disks, and for network cards.
pub const MOST_ENTRIES: usize = 8;

/// A CPU feature: a single word.
pub(super) const FLAG_PATTERN: &str = "^[A-Za-z0-9_.-]+$";

/// Returns whether a text is a CPU feature: a single word.
pub fn is_cpu_flag(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    !text.is_empty() && text.chars().all(is_part)
}

/// Requirements on inspected hardware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Hardware", transform = known_fields)]
pub struct HardwareRequest {
    /// The processors.
    pub cpu: Option<CpuRequest>,
    /// The minimum amount of memory as a Kubernetes quantity, such as `128Gi`.
    #[schemars(extend("x-editor" = quantity()), example = &"128Gi")]
    pub memory: Option<WrittenText>,
    /// The disks. Each disk counts for one entry only.
    #[schemars(length(max = MOST_ENTRIES))]
    pub storage: Option<Vec<DiskRequest>>,
    /// The network cards. Each card counts for one entry only.
    #[schemars(length(max = MOST_ENTRIES))]
    pub nics: Option<Vec<NicRequest>>,
    /// The manufacturer and product.
    pub system_vendor: Option<SystemVendorRequest>,
    /// The firmware.
    pub firmware: Option<FirmwareRequest>,
}

/// Requirements on processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "CPU", transform = known_fields)]
pub struct CpuRequest {
    /// The minimum number of CPUs, counting threads.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: Option<i64>,
    /// The architecture: `x86_64` or `amd64`, `aarch64` or `arm64`, …
    #[schemars(example = &"x86_64")]
    pub arch: Option<String>,
    /// The model name.
    #[schemars(example = &"*Xeon*Gold 62*")]
    pub model: Option<String>,
    /// The features, as in `/proc/cpuinfo`.
    #[schemars(example = ["avx512f", "vmx"], extend("x-editor" = {"items": {"pattern": FLAG_PATTERN}}))]
    pub flags: Option<Vec<String>>,
}

/// Requirements on disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Disks", transform = known_fields)]
pub struct DiskRequest {
    /// The minimum number of these disks. Default: 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: Option<i64>,
    /// The minimum size of each as a Kubernetes quantity, such as `900Gi`.
    #[schemars(extend("x-editor" = quantity()), example = &"900Gi")]
    pub min_size: Option<WrittenText>,
    /// The type: `HDD`, `SSD` or `NVME`. Default: any.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["HDD", "SSD", "NVME"]))]
    pub kind: Option<String>,
}

/// Requirements on network cards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "NICs", transform = known_fields)]
pub struct NicRequest {
    /// The minimum number of these cards. Default: 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: Option<i64>,
    /// The minimum speed of each in Gbit/s.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_speed_gbps: Option<i64>,
    /// `true` if each must have SR-IOV, by its model; see the setting `provisioning.devices`.
    pub sriov: Option<bool>,
}

/// Requirements on the manufacturer and product.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SystemVendorRequirements", transform = known_fields)]
pub struct SystemVendorRequest {
    /// The manufacturer.
    #[schemars(example = &"Dell*")]
    pub manufacturer: Option<String>,
    /// The product name.
    #[schemars(example = &"PowerEdge R6*")]
    pub product_name: Option<String>,
}

/// Requirements on firmware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Firmware", transform = known_fields)]
pub struct FirmwareRequest {
    /// The BIOS or UEFI firmware.
    pub bios: Option<BiosRequest>,
}

/// Requirements on the BIOS or UEFI firmware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "BIOS", transform = known_fields)]
pub struct BiosRequest {
    /// The vendor.
    #[schemars(example = &"Dell*")]
    pub vendor: Option<String>,
    /// The version.
    #[schemars(example = &"2.19.*")]
    pub version: Option<String>,
}

fn quantity() -> serde_json::Value {
    json!({
        "type": ["string", "number", "null"],
        "pattern": QUANTITY_PATTERN
    })
}

/// Marks a schema whose unknown fields are errors. A CustomResourceDefinition must not say so itself.
pub(super) fn known_fields(schema: &mut Schema) {
    schema.remove("additionalProperties");
    schema.insert("x-editor".to_owned(), json!({"additionalProperties": false}));
}
