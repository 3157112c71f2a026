//! Settings under `reservations`: hosts that are kept for some tenants.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::api::names::is_label;
use crate::base::api::reservation::{Tenant, Tenants};
use crate::base::api::unique;

/// Hosts that only some tenants may have. Assigned hosts stay.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reservation {
    /// Labels of the hosts; a host has all of them.
    #[serde(deserialize_with = "unique::map")]
    pub labels: BTreeMap<String, String>,
    /// Namespaces, or single clusters as `NAMESPACE/CLUSTER`.
    #[serde(rename = "for")]
    #[schemars(length(min = 1))]
    pub tenants: Vec<Tenant>,
}

impl Reservation {
    /// Returns whether a host with these labels is reserved.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// Returns the tenants that may have the hosts.
    pub fn tenants(&self) -> Tenants {
        self.tenants.iter().cloned().collect()
    }

    /// Returns the invalid field with the problem.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        if self.labels.is_empty() {
            return Some(("labels", "would reserve every host: name a label".to_owned()));
        }
        let mut labels = self.labels.iter();
        let bad = labels.find(|(key, value)| !is_label(key, value));
        if let Some((key, value)) = bad {
            return Some((
                "labels",
                format!("`{key}: {value}` is not a label that a host can have"),
            ));
        }
        self.tenants
            .is_empty()
            .then(|| ("for", "names no tenant, so no cluster could have the hosts".to_owned()))
    }
}
