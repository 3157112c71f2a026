//! Validates the topology of node sets: keys, limits and spread constraints.

use super::{RequestValidation, Route, below};
use crate::base::api::names::is_label_key;
use crate::base::api::sipcluster::NodeSetFields;
use crate::base::api::topology_spread::{
    self, MOST_HOSTS, SameDomain, TopologySpread, valid_count,
};
use crate::base::finding::{Code, DocumentField};
use crate::input::decode::spread_constraints;

impl RequestValidation<'_, '_> {
    pub(super) fn max_per_domain(&mut self, node_set: &NodeSetFields, route: &Route) -> usize {
        let Some(most) = node_set.max_per_domain else { return 1 };
        let route = below(route, ["maxPerDomain"]);
        if node_set.topology_key.is_none() && node_set.topology_keys.is_none() {
            let message = "`maxPerDomain` has no effect without a topologyKey";
            let help = "write `topologyKey: KEY`, the label whose value is a host's domain";
            self.report(Code::InvalidField, route.clone(), message, help);
        }
        let valid = valid_count(most)
            .ok_or_else(|| format!("`maxPerDomain: {most}` is not a valid number of hosts"));
        let help = format!("write 1 to {MOST_HOSTS}");
        self.accept(valid, Code::InvalidField, route, help).unwrap_or(1)
    }

    /// Returns the constraints on topology domains, or else those of the site.
    pub(super) fn spread(
        &mut self,
        node_set: &NodeSetFields,
        topology_keys: &[String],
        route: &Route,
    ) -> Vec<TopologySpread> {
        let mut spread = match &node_set.topology_spread_constraints {
            Some(constraints) => {
                let route = below(route, ["topologySpreadConstraints"]);
                let spread = spread_constraints::validate(constraints);
                self.accept_checked(spread, &route).unwrap_or_default()
            }
            None if node_set.same_domain.is_some() => Vec::new(),
            None => self.context.settings.topology.default_spread(),
        };
        if let Some(SameDomain { topology_key }) = &node_set.same_domain {
            let route = below(route, ["sameDomain", "topologyKey"]);
            match topology_spread::same_domain(topology_key, topology_keys, &spread) {
                Ok(same) => spread.push(same),
                Err((message, help)) => self.report(Code::InvalidField, route, message, help),
            }
        }
        spread
    }

    /// Returns the topology keys without duplicates, and the place of each.
    pub(super) fn topology_keys(
        &mut self,
        node_set: &NodeSetFields,
        at: &DocumentField,
    ) -> (Vec<String>, Vec<DocumentField>) {
        let first = node_set.topology_key.iter().map(|key| (vec!["topologyKey".into()], key));
        let more = node_set.topology_keys.iter().flatten().enumerate();
        let more = more.map(|(index, key)| (vec!["topologyKeys".into(), index.into()], key));
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        for (steps, key) in first.chain(more).filter(|(_, key)| !key.is_empty()) {
            let field = at.below(steps);
            if !is_label_key(key) {
                let message = format!("`{key}` is not a valid label key");
                let help = "name the label whose value is the host's rack or room, such as `topology.example.com/rack`";
                self.report(Code::InvalidField, field.route, message, help);
            } else if !keys.contains(key) {
                keys.push(key.clone());
                places.push(field);
            }
        }
        (keys, places)
    }
}
