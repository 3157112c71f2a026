//! Annotations of control planes and MachineDeployments.

use serde::de::Error;

use super::scaled::ScaledMachines;
use crate::base::api::cluster_api::{
    ClusterSpec, HARDWARE, MAX_PER_DOMAIN, SAME_DOMAIN, SPREAD_CONSTRAINTS, TOPOLOGY_KEY,
};
use crate::base::api::hardware_requirements::HardwareRequest;
use crate::base::api::names::is_label_key;
use crate::base::api::topology_spread::{
    self, MOST_HOSTS, TopologySpread, TopologySpreadConstraint, valid_count,
};
use crate::base::api::without_nulls;
use crate::base::finding::{Code, DocumentField, shown_route};
use crate::input::decode::label_selector::Mistake;
use crate::input::decode::spread_constraints;
use crate::site::inventory::requirements::HardwareRequirements;
use crate::site::request::cluster_parts::{ClusterParts, PartSpec};
use crate::site::request::documents::RequestValidation;
use crate::site::request::hardware;

/// Returns whether a node set of a Cluster may have the annotation with hardware requirements.
pub(super) fn may_require_hardware(spec: &ClusterSpec, parts: &ClusterParts) -> bool {
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

impl RequestValidation<'_, '_> {
    fn invalid_annotation(
        &mut self,
        set: &ScaledMachines<'_>,
        key: &str,
        message: String,
        help: impl Into<String>,
    ) {
        let field = set.annotation_at(key);
        self.report_field(Code::InvalidRequestAnnotation, &field, message, help);
    }

    /// Returns the number of hosts in an annotation, if there is one.
    pub(super) fn annotated_count(&mut self, set: &ScaledMachines<'_>, key: &str) -> Option<usize> {
        let text = set.annotation(key)?;
        let number = text.trim().parse().ok().filter(|number| *number <= MOST_HOSTS);
        if number.is_none() {
            let message = format!("`{text}` is not a number of hosts");
            let help = format!("write 0 to {MOST_HOSTS}, in quotes");
            self.invalid_annotation(set, key, message, help);
        }
        Some(number.unwrap_or_default())
    }

    /// Returns the topology key and its place: that of the annotation, or else of the settings for
    /// control planes.
    pub(super) fn topology_key(
        &mut self,
        set: &ScaledMachines<'_>,
    ) -> Option<(String, DocumentField)> {
        let Some(key) = set.annotation(TOPOLOGY_KEY) else {
            let key = &self.context.settings.requests.cluster_api.control_plane_topology_key;
            return Some((key.clone().filter(|_| set.name.is_none())?, set.at.clone()));
        };
        if !is_label_key(key) {
            let message = format!("`{key}` is not a valid label key");
            let help = "name the label whose value is the host's rack or room, such as `topology.example.com/rack`";
            self.invalid_annotation(set, TOPOLOGY_KEY, message, help);
        }
        Some((key.to_owned(), set.annotation_at(TOPOLOGY_KEY)))
    }

    /// Returns the most hosts in a domain of the topology key.
    pub(super) fn annotated_max_per_domain(
        &mut self,
        set: &ScaledMachines<'_>,
        has_key: bool,
    ) -> usize {
        let Some(text) = set.annotation(MAX_PER_DOMAIN) else { return 1 };
        let (message, help) = match text.trim().parse().ok().and_then(valid_count) {
            Some(most) if has_key => return most,
            Some(_) => (
                format!("`{MAX_PER_DOMAIN}` has no effect without a topology key"),
                "annotate it with `sip.airshipit.org/topology-key: KEY`".to_owned(),
            ),
            None => (
                format!("`{text}` is not a valid number of hosts"),
                format!("write 1 to {MOST_HOSTS}, in quotes"),
            ),
        };
        self.invalid_annotation(set, MAX_PER_DOMAIN, message, help);
        1
    }

    /// Returns the constraints on topology domains, or else those of the site.
    pub(super) fn annotated_spread(
        &mut self,
        set: &ScaledMachines<'_>,
        topology_keys: &[String],
    ) -> Vec<TopologySpread> {
        const EXAMPLE: &str = r#"[{"topologyKey": "topology.example.com/rack", "maxSkew": 1}]"#;
        let same = set.annotation(SAME_DOMAIN);
        if same.is_none() && set.annotation(SPREAD_CONSTRAINTS).is_none() {
            return self.context.settings.topology.default_spread();
        }
        let annotation = (SPREAD_CONSTRAINTS, "list of constraints", EXAMPLE);
        let spread = self.json_annotation(set, annotation, |text| {
            let constraints: Vec<TopologySpreadConstraint> = serde_json::from_str(text)?;
            Ok(spread_constraints::validate(&constraints))
        });
        let mut spread = spread.unwrap_or_default();
        match same.map(|key| topology_spread::same_domain(key, topology_keys, &spread)) {
            None => {}
            Some(Ok(same)) => spread.push(same),
            Some(Err((message, help))) => self.invalid_annotation(set, SAME_DOMAIN, message, help),
        }
        spread
    }

    /// Returns the requirements on the hardware of each host.
    pub(super) fn annotated_hardware(&mut self, set: &ScaledMachines<'_>) -> HardwareRequirements {
        const EXAMPLE: &str = r#"{"cpu": {"count": 32}, "memory": "128Gi"}"#;
        let annotation = (HARDWARE, "mapping of requirements", EXAMPLE);
        let check = |text: &str| parse(text).map(|request| hardware::check(&request));
        self.json_annotation(set, annotation, check).unwrap_or_default()
    }

    /// Returns what the annotation of a node set asks for in JSON, and reports mistakes in it. `kind`
    /// completes "`…` is not a …".
    fn json_annotation<T>(
        &mut self,
        set: &ScaledMachines<'_>,
        (key, kind, example): (&str, &str, &str),
        parse: impl FnOnce(&str) -> serde_json::Result<Result<T, Vec<Mistake>>>,
    ) -> Option<T> {
        match parse(set.annotation(key)?) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(mistakes)) => {
                for Mistake { route, message, help, .. } in mistakes {
                    let message = format!("{}: {message}", shown_route(&route));
                    self.invalid_annotation(set, key, message, help);
                }
            }
            Err(error) => {
                let message = format!("`{key}` is not a {kind} in JSON: {error}");
                self.invalid_annotation(set, key, message, format!("write it as in `{example}`"));
            }
        }
        None
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
