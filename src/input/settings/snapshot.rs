//! Settings under `snapshot` and `secrets`: the scope of `sipgen snapshot`, and the rules for
//! Secrets in git.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directory;
use crate::base::api::names::Namespace;

/// Scope and directory of `sipgen snapshot`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SnapshotSettings {
    /// The directory of snapshot files, relative to the repo's root.
    #[schemars(with = "String", extend("x-editor" = directory()))]
    pub directory: Utf8PathBuf,
    /// The kubeconfig context of the base cluster; by default the current one. If every site has a
    /// context, `sipgen snapshot` takes snapshots of all sites.
    pub context: Option<String>,
    /// The namespaces whose hosts are included; by default all.
    pub namespaces: Vec<Namespace>,
    /// A label selector for the hosts to include, in kubectl's syntax.
    pub selector: Option<String>,
    /// The host label that names the snapshot file, such as the rack; by default there is a file
    /// per namespace.
    pub split_by: Option<String>,
    /// Include the addresses that Machines claimed from pools: IPAddresses and Metal3Data.
    pub addresses: bool,
}

impl Default for SnapshotSettings {
    fn default() -> Self {
        Self {
            directory: "snapshot".into(),
            context: None,
            namespaces: Vec::new(),
            selector: None,
            split_by: None,
            addresses: false,
        }
    }
}

/// Rules for Secrets in the inputs.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Secrets {
    /// Severity of a Secret's value that is neither encrypted nor network data.
    pub plaintext: Plaintext,
}

/// Severity of a secret value in plain text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Plaintext {
    /// An error: nothing is generated.
    #[default]
    Error,
    /// A warning.
    Warning,
}
