//! Settings under `reservations`: hosts that are kept for some tenants.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{InvalidField, unusable};
use crate::base::api::names::has_all;
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
        has_all(labels, &self.labels)
    }

    /// Returns the tenants that may have the hosts.
    pub fn tenants(&self) -> Tenants {
        self.tenants.iter().cloned().collect()
    }

    /// Returns the invalid field.
    pub(super) fn mistake(&self) -> Option<InvalidField> {
        if self.labels.is_empty() {
            let problem = "would reserve every host: name a label";
            return Some(InvalidField::new("labels", problem, "write the labels of the hosts"));
        }
        if self.tenants.is_empty() {
            let problem = "names no tenant, so no cluster could have the hosts";
            let help = "write namespaces or NAMESPACE/CLUSTER";
            return Some(InvalidField::new("for", problem, help));
        }
        unusable(&self.labels)
    }
}
