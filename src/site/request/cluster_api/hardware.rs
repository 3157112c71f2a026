//! Hardware requirements, as annotations of control planes and MachineDeployments.

use serde::de::Error;

use super::ClusterApiValidation;
use super::scaled::ScaledMachines;
use crate::base::api::cluster_api::{ClusterSpec, HARDWARE};
use crate::base::api::hardware_requirements::HardwareRequest;
use crate::base::api::without_nulls;
use crate::site::inventory::requirements::HardwareRequirements;
use crate::site::request::cluster_parts::{ClusterParts, PartSpec};
use crate::site::request::hardware;

/// Returns whether a node set of a Cluster may have the annotation.
pub(super) fn may_be_annotated(spec: &ClusterSpec, parts: &ClusterParts) -> bool {
    let topology = spec.topology.iter().flat_map(|topology| {
        let workers = topology.workers.machine_deployments.iter();
        workers.map(|workers| &workers.metadata).chain([&topology.control_plane.metadata])
    });
    let classes = parts.all().flat_map(|(_, _, part)| match &part.spec {
        Ok(PartSpec::Class(class)) => class.metadata(),
        _ => Vec::new(),
    });
    let mut all = topology.chain(parts.all().map(|(_, _, part)| &part.metadata)).chain(classes);
    all.any(|metadata| metadata.annotation(HARDWARE).is_some())
}

impl ClusterApiValidation<'_> {
    /// Returns the requirements on the hardware of each host.
    pub(super) fn hardware(&mut self, set: &ScaledMachines<'_>) -> HardwareRequirements {
        const EXAMPLE: &str = r#"{"cpu": {"count": 32}, "memory": "128Gi"}"#;
        let annotation = (HARDWARE, "mapping of requirements", EXAMPLE);
        let check = |text: &str| parse(text).map(|request| hardware::check(&request));
        self.json_annotation(set, annotation, check).unwrap_or_default()
    }
}

/// Parses requirements.
///
/// # Errors
///
/// Returns an error for anything but mappings with known fields.
fn parse(text: &str) -> serde_json::Result<HardwareRequest> {
    let request: HardwareRequest = serde_json::from_str(text)?;
    // serde reads a list as the fields of a mapping.
    let (read, written) = (serde_json::to_value(&request)?, serde_json::from_str(text)?);
    if without_nulls(read) == without_nulls(written) {
        Ok(request)
    } else {
        Err(serde_json::Error::custom("a list is in the place of a mapping"))
    }
}
