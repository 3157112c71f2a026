//! Settings under `quotas`: how many hosts the clusters of a namespace may have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::api::names::{Namespace, has_all};
use crate::base::api::unique;

/// The most hosts that the clusters of a namespace may have together. Assigned hosts stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quota {
    /// The namespace of the clusters.
    pub namespace: Namespace,
    /// Labels of the hosts that count; a host has all of them. By default, all hosts count.
    #[serde(default, deserialize_with = "unique::map")]
    pub labels: BTreeMap<String, String>,
    /// The number of hosts.
    pub hosts: usize,
}

impl Quota {
    /// Returns whether a host with these labels counts.
    pub fn counts(&self, labels: &BTreeMap<String, String>) -> bool {
        has_all(labels, &self.labels)
    }
}
