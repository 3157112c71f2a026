//! Settings under `outputs`: directories of manifests that templates of the repo's own render.

use std::collections::BTreeMap;

use kube::core::SelectorExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::api::names::Namespace;
use crate::base::api::sipcluster::LabelSelector;
use crate::input::decode::label_selector;

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
    /// Selects the clusters that it covers by the labels of their requests; by default all clusters.
    pub cluster_selector: Option<LabelSelector>,
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
        let covers = |selector| label_selector::check(selector).is_ok_and(|it| it.matches(labels));
        self.cluster_selector.as_ref().is_none_or(covers)
    }

    /// Returns the invalid field with the problem.
    pub(super) fn mistake(&self, others: &[OutputSettings]) -> Option<(&'static str, String)> {
        let Self { name, cluster_selector, .. } = self;
        if name.parse::<Namespace>().is_err() {
            let problem = "is not a DNS label: at most 63 of `a-z`, `0-9` and `-`";
            return Some(("name", format!("`{name}` {problem}")));
        }
        if others.iter().any(|other| other.name == *name) {
            let problem = format!("`{name}` is also that of an earlier output");
            return Some(("name", problem));
        }
        let mistakes = label_selector::check(cluster_selector.as_ref()?).err()?;
        let mistake = mistakes.into_iter().next()?;
        Some(("clusterSelector", format!("is invalid: {}; {}", mistake.message, mistake.help)))
    }
}
