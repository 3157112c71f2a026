//! Topology spread constraints and limits, as annotations of control planes and MachineDeployments.

use super::ClusterApiValidation;
use super::scaled::ScaledMachines;
use crate::base::api::cluster_api::{MAX_PER_DOMAIN, SAME_DOMAIN, SPREAD_CONSTRAINTS};
use crate::base::api::topology_spread::{
    self, MOST_HOSTS, TopologySpread, TopologySpreadConstraint, valid_count,
};
use crate::base::finding::Code;
use crate::input::decode::spread_constraints;

impl ClusterApiValidation<'_> {
    /// Returns the most hosts in a domain of the topology key.
    pub(super) fn max_per_domain(&mut self, set: &ScaledMachines<'_>, has_key: bool) -> usize {
        let Some(text) = set.annotation(MAX_PER_DOMAIN) else {
            return 1;
        };
        let most = text.trim().parse().ok().and_then(valid_count);
        let (message, help) = match most {
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
        let field = set.annotation_at(MAX_PER_DOMAIN);
        self.report(Code::InvalidRequestAnnotation, field, message, help);
        1
    }

    /// Returns the constraints on topology domains, or else those of the site.
    pub(super) fn spread(
        &mut self,
        set: &ScaledMachines<'_>,
        topology_keys: &[String],
    ) -> Vec<TopologySpread> {
        let same = set.annotation(SAME_DOMAIN);
        let mut spread = self.constraints(set, same.is_none());
        match same.map(|key| topology_spread::same_domain(key, topology_keys, &spread)) {
            None => {}
            Some(Ok(same)) => spread.push(same),
            Some(Err((message, help))) => {
                let field = set.annotation_at(SAME_DOMAIN);
                self.report(Code::InvalidRequestAnnotation, field, message, help);
            }
        }
        spread
    }

    fn constraints(&mut self, set: &ScaledMachines<'_>, or_default: bool) -> Vec<TopologySpread> {
        const EXAMPLE: &str = r#"[{"topologyKey": "topology.example.com/rack", "maxSkew": 1}]"#;
        if or_default && set.annotation(SPREAD_CONSTRAINTS).is_none() {
            return self.default_spread.clone();
        }
        let annotation = (SPREAD_CONSTRAINTS, "list of constraints", EXAMPLE);
        let check = |text: &str| {
            let constraints: Vec<TopologySpreadConstraint> = serde_json::from_str(text)?;
            Ok(spread_constraints::validate(&constraints))
        };
        self.json_annotation(set, annotation, check).unwrap_or_default()
    }
}
