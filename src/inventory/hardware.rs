//! The hardware of a host as inspection found it, and the document that has it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::api::hardware::{self, DETAILS, Hardware};
use crate::api::host::STATUS;
use crate::api::names::HostKey;
use crate::finding::Origin;

/// Hardware by host.
pub type HardwareByHost = BTreeMap<HostKey, HostHardware>;

/// The known hardware of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostHardware {
    /// MAC address of the boot interface (`spec.bootMACAddress`).
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    pub boot_mac_address: Option<String>,
    /// The result of inspection and its source.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

/// The result of inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The kind of document or field that has it.
    #[serde(rename = "hardwareFrom")]
    pub source: Source,
    /// The hardware.
    pub hardware: Hardware,
    /// The document that has it.
    #[serde(skip)]
    pub origin: Origin,
}

/// The source of a host's hardware, best source first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Source {
    /// The HardwareData with the host's name.
    HardwareData,
    /// The host's own `status.hardware`.
    #[serde(rename = "status")]
    Status,
    /// The annotation with a copy of the host's status.
    #[serde(rename = "baremetalhost.metal3.io/status")]
    StatusAnnotation,
    /// The annotation with hardware details only.
    #[serde(rename = "inspect.metal3.io/hardwaredetails")]
    DetailsAnnotation,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::HardwareData => write!(f, "its {}", hardware::KIND),
            Source::Status => f.write_str("its status"),
            Source::StatusAnnotation => write!(f, "its annotation {STATUS}"),
            Source::DetailsAnnotation => write!(f, "its annotation {DETAILS}"),
        }
    }
}
