//! Topology spread constraints and limits, as annotations of control planes and MachineDeployments.

use super::ClusterApiValidation;
use super::scaled::ScaledMachines;
use crate::base::api::cluster_api::{MAX_PER_DOMAIN, SAME_DOMAIN, SPREAD_CONSTRAINTS};
use crate::base::api::topology_spread::{
    self, InvalidConstraint, MOST_HOSTS, TopologySpread, TopologySpreadConstraint, valid_count,
};
use crate::base::finding::Code;

impl ClusterApiValidation<'_> {
    /// Returns the most hosts in a domain of the topology key.
    pub(super) fn max_per_domain(&mut self, set: &ScaledMachines<'_>, has_key: bool) -> usize {
        let Some(text) = set.metadata.annotation(MAX_PER_DOMAIN) else {
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
        let field = set.annotation(MAX_PER_DOMAIN);
        self.report(Code::InvalidRequestAnnotation, field, message, help);
        1
    }

    /// Returns the constraints on topology domains, or else those of the site.
    pub(super) fn spread(
        &mut self,
        set: &ScaledMachines<'_>,
        topology_keys: &[String],
    ) -> Vec<TopologySpread> {
        let same = set.metadata.annotation(SAME_DOMAIN);
        let mut spread = self.constraints(set, same.is_none());
        match same.map(|key| topology_spread::same_domain(key, topology_keys, &spread)) {
            None => {}
            Some(Ok(same)) => spread.push(same),
            Some(Err((message, help))) => {
                let field = set.annotation(SAME_DOMAIN);
                self.report(Code::InvalidRequestAnnotation, field, message, help);
            }
        }
        spread
    }

    fn constraints(&mut self, set: &ScaledMachines<'_>, or_default: bool) -> Vec<TopologySpread> {
        let Some(text) = set.metadata.annotation(SPREAD_CONSTRAINTS) else {
            return if or_default { self.default_spread.clone() } else { Vec::new() };
        };
        let invalid = match serde_json::from_str::<Vec<TopologySpreadConstraint>>(text) {
            Ok(constraints) => match topology_spread::validate(&constraints) {
                Ok(spread) => return spread,
                Err(invalid) => invalid.into_iter().map(described).collect(),
            },
            Err(error) => vec![(
                format!("`{SPREAD_CONSTRAINTS}` is not a list of constraints in JSON: {error}"),
                "write it as in `[{\"topologyKey\": \"topology.example.com/rack\", \"maxSkew\": 1}]`"
                    .to_owned(),
            )],
        };
        for (message, help) in invalid {
            let field = set.annotation(SPREAD_CONSTRAINTS);
            self.report(Code::InvalidRequestAnnotation, field, message, help);
        }
        Vec::new()
    }
}

fn described(invalid: InvalidConstraint) -> (String, String) {
    (format!("constraint {}: {}", invalid.index + 1, invalid.message), invalid.help)
}
