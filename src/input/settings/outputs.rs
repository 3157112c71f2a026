//! Settings under `outputs`: manifests that templates of the repo's own render, and metadata of hosts.

use std::collections::BTreeMap;

use kube::core::SelectorExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assignment::AssignmentSettings;
use super::check::InvalidField;
use crate::base::api::names::{Namespace, is_label_key};
use crate::base::api::sipcluster::LabelSelector;
use crate::base::api::unique;
use crate::input::decode::label_selector;

/// Domains of labels and annotations by which programs act on hosts.
const RESERVED: [&str; 7] = [
    "airshipit.org",
    "argoproj.io",
    "fluxcd.io",
    "k8s.io",
    "kubernetes.io",
    "metal3.io",
    "x-k8s.io",
];
/// A domain of labels for people and schedulers, below a reserved one.
const TOPOLOGY: &str = "topology.kubernetes.io";

/// A directory of manifests that templates of the repo's own render from the plan, and metadata of
/// hosts.
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
    /// Labels that each host gets, in the scope `host`: keys with templates of the values.
    #[serde(default, deserialize_with = "unique::map")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the same form.
    #[serde(default, deserialize_with = "unique::map")]
    pub annotations: BTreeMap<String, String>,
}

/// A map of a host's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MetadataField {
    /// Labels.
    Labels,
    /// Annotations.
    Annotations,
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

    /// Returns the metadata that hosts get: its field and key, with the template of its value.
    pub fn host_metadata(&self) -> impl Iterator<Item = (MetadataField, &str, &str)> {
        let labels = self.labels.iter().map(|entry| (MetadataField::Labels, entry));
        let annotations = self.annotations.iter().map(|entry| (MetadataField::Annotations, entry));
        let entries = labels.chain(annotations);
        entries.map(|(field, (key, text))| (field, key.as_str(), text.as_str()))
    }

    /// Returns whether hosts get metadata.
    pub fn adds_metadata(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }

    /// Returns whether hosts get metadata of this key.
    fn sets(&self, field: MetadataField, key: &str) -> bool {
        self.host_metadata().any(|(own_field, own, _)| own_field == field && own == key)
    }

    /// Returns the invalid field.
    pub(super) fn mistake(
        &self,
        others: &[OutputSettings],
        assignment: &AssignmentSettings,
    ) -> Option<InvalidField> {
        const EXAMPLE: &str =
            "write `{name: dns, scope: cluster, clusterSelector: {matchLabels: {tier: edge}}}`";
        const EXAMPLE_OF_LABELS: &str =
            "write `{name: nodes, scope: host, labels: {example.com/place: \"{{ host.rack }}\"}}`";
        let Self { name, cluster_selector, .. } = self;
        if name.parse::<Namespace>().is_err() {
            let problem =
                format!("`{name}` is not a DNS label: at most 63 of `a-z`, `0-9` and `-`");
            return Some(InvalidField::new("name", problem, EXAMPLE));
        }
        if others.iter().any(|other| other.name == *name) {
            let problem = format!("`{name}` is also that of an earlier output");
            return Some(InvalidField::new("name", problem, EXAMPLE));
        }
        for (field, key, _) in self.host_metadata() {
            // `reboot.metal3.io` is a key as well.
            let domain = key.split_once('/').map_or(key, |(domain, _)| domain);
            let is_reserved = |reserved: &&str| {
                domain.strip_suffix(reserved).is_some_and(|it| it.is_empty() || it.ends_with('.'))
            };
            let problem = if self.scope != OutputScope::Host {
                "requires `scope: host`".to_owned()
            } else if !is_label_key(key) {
                format!("has the key `{key}`, which Kubernetes does not allow")
            } else if domain != TOPOLOGY && RESERVED.iter().any(is_reserved) {
                format!("has the key `{key}`: programs act on hosts by keys of `{domain}`")
            } else if field == MetadataField::Labels && assignment.has_key(key) {
                format!("has the key `{key}`, which assigns hosts")
            } else if let Some(other) = others.iter().find(|other| other.sets(field, key)) {
                format!("has the key `{key}`, like output `{}`", other.name)
            } else {
                continue;
            };
            return Some(InvalidField::new(field.name(), problem, EXAMPLE_OF_LABELS));
        }
        let mistakes = label_selector::check(cluster_selector.as_ref()?).err()?;
        let mistake = mistakes.into_iter().next()?;
        let problem = format!("is invalid: {}; {}", mistake.message, mistake.help);
        Some(InvalidField::new("clusterSelector", problem, EXAMPLE))
    }
}

impl MetadataField {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }
}
