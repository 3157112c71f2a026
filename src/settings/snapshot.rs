//! The settings `snapshot:` and `secrets:`: the scope of `sipgen snapshot`, and the rules for Secrets in git.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directory;
use crate::api::names::Namespace;

/// Where `sipgen snapshot` writes, and which hosts it takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotSettings {
    /// The directory of the snapshot's files, relative to the repo's root.
    #[serde(default = "default_directory")]
    #[schemars(with = "String", extend("x-editor" = directory()))]
    pub directory: Utf8PathBuf,
    /// The context of the kubeconfig that has the base cluster; without it, the current one. With one in each site,
    /// `sipgen snapshot` takes them all.
    #[serde(default)]
    pub context: Option<String>,
    /// The namespaces whose hosts are taken; all where none is named.
    #[serde(default)]
    pub namespaces: Vec<Namespace>,
    /// A label selector of the hosts that are taken, as kubectl takes it.
    #[serde(default)]
    pub selector: Option<String>,
    /// The label of hosts that names their file, such as that of the rack; without it a file has the hosts of a
    /// namespace.
    #[serde(default)]
    pub split_by: Option<String>,
}

fn default_directory() -> Utf8PathBuf {
    "snapshot".into()
}

impl Default for SnapshotSettings {
    fn default() -> Self {
        Self {
            directory: default_directory(),
            context: None,
            namespaces: Vec::new(),
            selector: None,
            split_by: None,
        }
    }
}

/// The rules for Secrets in the repo's inputs.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Secrets {
    /// The severity of a Secret's value that is neither encrypted nor network data.
    #[serde(default)]
    pub plaintext: Plaintext,
}

/// The severity of a secret value in plain text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Plaintext {
    /// It is an error, and nothing is generated.
    #[default]
    Error,
    /// It is a warning.
    Warning,
}
