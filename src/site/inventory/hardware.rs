//! The hardware of a host as inspection found it, and its source.

use std::collections::BTreeMap;

use serde::ser::Error;
use serde::{Serialize, Serializer};

use crate::base::api::hardware::{self, DETAILS, Hardware};
use crate::base::api::host::STATUS;
use crate::base::api::names::HostKey;
use crate::base::api::without_nulls;
use crate::base::finding::Origin;

/// Hardware of hosts by namespace and name.
pub type HardwareByHost = BTreeMap<HostKey, InspectedHardware>;

/// Inspected hardware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InspectedHardware {
    /// The kind of its source.
    #[serde(rename = "hardwareFrom")]
    pub source: HardwareSource,
    /// The hardware.
    #[serde(serialize_with = "known")]
    pub hardware: Hardware,
    /// The document that contains it.
    #[serde(skip)]
    pub origin: Origin,
}

/// Writes the known values of hardware.
fn known<S: Serializer>(hardware: &Hardware, serializer: S) -> Result<S::Ok, S::Error> {
    let hardware = serde_json::to_value(hardware).map_err(Error::custom)?;
    without_nulls(hardware).serialize(serializer)
}

/// Sources of a host's hardware, by precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, derive_more::Display)]
pub enum HardwareSource {
    /// The HardwareData of the host's name.
    #[display("its {}", hardware::KIND)]
    HardwareData,
    /// The host's own `status.hardware`.
    #[serde(rename = "status")]
    #[display("its status")]
    Status,
    /// An annotation with a copy of the status.
    #[serde(rename = "baremetalhost.metal3.io/status")]
    #[display("its annotation {STATUS}")]
    StatusAnnotation,
    /// An annotation with the hardware only.
    #[serde(rename = "inspect.metal3.io/hardwaredetails")]
    #[display("its annotation {DETAILS}")]
    DetailsAnnotation,
}
