//! Clusters that Secrets of the repo register in Argo CD.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::base::api::gitops::{
    ApplicationDestination, CLUSTER_SECRET, ClusterSecret, SECRET_TYPE,
};
use crate::base::layout::VARIABLE;
use crate::base::text::from_base64;
use crate::input::load::sops;
use crate::input::settings::gitops::IN_CLUSTER;

/// Parameters for an ApplicationSet's template, with values.
pub(super) type Parameters = BTreeMap<String, String>;

/// A cluster of Argo CD. Its name and address are unknown if the Secret is encrypted.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArgocdCluster {
    pub(super) name: Option<String>,
    pub(super) server: Option<String>,
    project: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl ArgocdCluster {
    /// Returns the cluster that a Secret registers, if it is such a Secret.
    pub(super) fn from_secret(secret: ClusterSecret) -> Option<Self> {
        let ClusterSecret { metadata, data, string_data } = secret;
        let labels = metadata.labels.unwrap_or_default();
        if labels.get(SECRET_TYPE).is_none_or(|of| of != CLUSTER_SECRET) {
            return None;
        }
        let text = |values: &Option<BTreeMap<String, Value>>, key: &str| {
            let text = values.as_ref()?.get(key)?.as_str();
            text.filter(|text| !sops::is_encrypted(text)).map(str::to_owned)
        };
        // `data` is base64, `stringData` is not.
        let value = |key: &str| {
            let encoded = || text(&data, key).and_then(|text| from_base64(&text));
            let value = text(&string_data, key).or_else(encoded);
            value.filter(|value| !value.contains(VARIABLE))
        };
        let (name, server, project) = (value("name"), value("server"), value("project"));
        Some(Self {
            name,
            server,
            project,
            labels,
            annotations: metadata.annotations.unwrap_or_default(),
        })
    }

    /// Returns the cluster that Argo CD runs in.
    pub(super) fn own() -> Self {
        let [server, name] = [IN_CLUSTER.0, IN_CLUSTER.1].map(|text| Some(text.to_owned()));
        Self { name, server, ..Self::default() }
    }

    /// Returns its parameters for a template.
    pub(super) fn parameters(&self) -> Parameters {
        let mut found = Parameters::new();
        let normalized = self.name.as_deref().map(normalized);
        let values =
            [("name", &self.name), ("nameNormalized", &normalized), ("server", &self.server)];
        for (key, value) in values.into_iter().chain([("project", &self.project)]) {
            found.extend(value.clone().map(|value| (key.to_owned(), value)));
        }
        for (kind, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            let entries = entries.iter();
            found.extend(entries.map(|(key, it)| (format!("metadata.{kind}.{key}"), it.clone())));
        }
        found
    }

    /// Returns the other form of a destination that names this cluster: its name for its URL, and
    /// vice versa.
    pub(super) fn renamed(
        &self,
        destination: &ApplicationDestination,
    ) -> Option<ApplicationDestination> {
        let plain = |text: &Option<String>| {
            text.as_deref().map(|text| text.trim_end_matches('/').to_owned())
        };
        let (name, server) = (plain(&self.name)?, plain(&self.server)?);
        if plain(&destination.server).as_ref() == Some(&server) {
            Some(ApplicationDestination { name: Some(name), ..Default::default() })
        } else if destination.server.is_none() && plain(&destination.name).as_ref() == Some(&name) {
            Some(ApplicationDestination { server: Some(server), ..Default::default() })
        } else {
            None
        }
    }
}

/// Normalizes a name like Argo CD's `SanitizeName`.
pub(super) fn normalized(name: &str) -> String {
    let usual = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.') { c } else { '-' }
    };
    let name: String = name.to_lowercase().chars().map(usual).take(253).collect();
    name.trim_matches(['-', '.']).to_owned()
}
