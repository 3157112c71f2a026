//! The hardware of a host as inspection found it, and which document says so.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::api::hardware::{self, DETAILS, Hardware};
use crate::api::host::STATUS;
use crate::api::names::HostKey;
use crate::finding::Origin;

/// The hardware of hosts, by the host's name and namespace.
pub type HardwareByHost = BTreeMap<HostKey, HostHardware>;

/// What is known of a host's hardware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostHardware {
    /// The MAC address from which the host boots (`spec.bootMACAddress`).
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    pub boot_mac_address: Option<String>,
    /// What inspection found, with where that stands.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

/// What inspection found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Where it stands.
    #[serde(rename = "hardwareFrom")]
    pub source: Source,
    /// The hardware.
    pub hardware: Hardware,
    /// The document that says it.
    #[serde(skip)]
    pub origin: Origin,
}

/// Where a host's hardware stands, the best place first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Source {
    /// In the HardwareData of the host's name.
    HardwareData,
    /// In the host's own `status.hardware`.
    #[serde(rename = "status")]
    Status,
    /// In an annotation with a copy of its status.
    #[serde(rename = "baremetalhost.metal3.io/status")]
    StatusAnnotation,
    /// In an annotation with the hardware alone.
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
