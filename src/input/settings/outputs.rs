//! Settings under `outputs`: directories of manifests that templates of the repo's own render.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::api::names::{Namespace, is_label};
use crate::base::api::unique;

/// A directory of manifests that templates of the repo's own render from the plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Output")]
pub struct OutputSettings {
    /// Its name: that of its templates' directory below `outputs/` in the directory of `templates`,
    /// and of its directories in the output.
    #[schemars(with = "Namespace")]
    pub name: String,
    /// The scope: one rendering for each cluster, for each host of a cluster, or for the site.
    pub scope: OutputScope,
    /// Labels of the requests of the clusters that it covers; by default it covers all clusters.
    #[serde(default, deserialize_with = "unique::map")]
    pub cluster_labels: BTreeMap<String, String>,
}

/// Scopes of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutputScope {
    /// Every cluster: `clusters/NAMESPACE/CLUSTER/NAME/`.
    Cluster,
    /// Every host of every cluster, in the directory of its cluster.
    Host,
    /// The site: `site/NAME/`.
    Site,
}

impl OutputSettings {
    /// Returns whether the output covers a cluster, by the labels of its request.
    pub fn covers(&self, labels: &BTreeMap<String, String>) -> bool {
        self.cluster_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// Returns the invalid field with the problem.
    pub(super) fn mistake(&self, others: &[OutputSettings]) -> Option<(&'static str, String)> {
        let Self { name, cluster_labels, .. } = self;
        if name.parse::<Namespace>().is_err() {
            let problem = "is not a DNS label: at most 63 of `a-z`, `0-9` and `-`";
            return Some(("name", format!("`{name}` {problem}")));
        }
        if others.iter().any(|other| other.name == *name) {
            return Some(("name", format!("`{name}` is also that of an earlier output")));
        }
        let bad = cluster_labels.iter().find(|(key, value)| !is_label(key, value));
        bad.map(|(key, value)| ("clusterLabels", format!("`{key}: {value}` is not a label")))
    }
}
