//! Settings under `assignment`: the labels of assigned hosts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::api::assignment::{self, Claim, LABELS, LEGACY_LABELS, Scheme};
use crate::base::api::cluster_api::FAILURE_DOMAIN;
use crate::base::api::names::{ClusterKey, Part, has_all};

/// The labels of assigned hosts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Assignment")]
pub struct AssignmentSettings {
    /// The labels of an assigned host, as keys with values. Both may have the variables
    /// `{{ cluster.name }}`, `{{ cluster.namespace }}`, `{{ role }}` (`control-plane` or `worker`),
    /// `{{ node_type }}` (`ControlPlane` or `Worker`) and `{{ node_set }}` (the name of the
    /// MachineDeployment, or else the role). By default SIP's labels
    /// `sip.airshipit.org/cluster-namespace`, `cluster-name` and `node-type`.
    pub labels: Scheme,
    /// The labels that `labels` had before. Hosts have both until this setting is removed, so that
    /// a selector finds them by either.
    pub former: Option<Scheme>,
}

/// The assignments in the labels of a host.
#[derive(Debug, Default)]
pub(crate) struct LabelAssignments {
    /// Assignments, each once.
    pub(crate) claims: Vec<Claim>,
    /// Keys of the labels that take part in them, of any generation.
    pub(crate) keys: Vec<String>,
}

impl AssignmentSettings {
    /// Returns the labels of a host in a part of a cluster.
    pub(crate) fn labels_of(&self, cluster: &ClusterKey, part: &Part) -> BTreeMap<String, String> {
        let schemes = self.former.iter().chain([&self.labels]);
        schemes.flat_map(|scheme| scheme.labels(cluster, part)).collect()
    }

    /// Returns whether a host would lose generated labels before it has all new ones. `is_live` selects
    /// those that it has by now.
    pub(crate) fn would_replace(
        &self,
        labels: &BTreeMap<String, String>,
        (cluster, part): (&ClusterKey, &Part),
        is_live: impl Fn(&String, &String) -> bool,
    ) -> bool {
        // The failure domain follows from the host.
        let mut before = labels.clone();
        before.remove(FAILURE_DOMAIN);
        let all = self.labels_of(cluster, part);
        if has_all(&all, &before) {
            return false;
        }
        let new = self.labels.labels(cluster, part);
        let loses = |before: &BTreeMap<_, _>| !has_all(&all, before) && !has_all(before, &new);
        loses(&before) || {
            before.retain(|key, value| is_live(key, value));
            loses(&before)
        }
    }

    /// Returns a key that two labels of a host would have.
    pub(crate) fn collision(&self, cluster: &ClusterKey, part: &Part) -> Option<String> {
        self.own().find_map(|scheme| scheme.collision(cluster, part))
    }

    /// Returns whether hosts get SIP's labels alone.
    pub(crate) fn is_default(&self) -> bool {
        self.own().next().is_none()
    }

    /// Reads the assignments in the labels of a host. SIP's labels count with any settings.
    pub(crate) fn read(&self, labels: &BTreeMap<String, String>) -> LabelAssignments {
        let keys = LABELS.into_iter().chain(LEGACY_LABELS).filter(|key| labels.contains_key(*key));
        let mut assigned = LabelAssignments {
            claims: assignment::claim(labels).into_iter().collect(),
            keys: keys.map(str::to_owned).collect(),
        };
        for found in self.own().filter_map(|scheme| scheme.find(labels)) {
            if !assigned.claims.contains(&found.claim) {
                assigned.claims.push(found.claim);
            }
            assigned.keys.extend(found.keys);
        }
        assigned.keys.dedup();
        assigned
    }

    /// Returns whether a label with this key may take part in an assignment.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        LABELS.contains(&key)
            || LEGACY_LABELS.contains(&key)
            || self.own().any(|scheme| scheme.has_key(key))
    }

    /// Returns the schemes other than SIP's.
    fn own(&self) -> impl Iterator<Item = &Scheme> {
        let schemes = [Some(&self.labels), self.former.as_ref()];
        schemes.into_iter().flatten().filter(|scheme| !scheme.is_default())
    }
}
