//! `kustomization.yaml`: the fields that decide which file a build reaches, and under which namespace.

use serde::Deserialize;

/// The file names under which kustomize finds a kustomization.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A path as an item of a list. One of plain characters needs no quotes: its slash or ending makes it a text.
pub fn listed(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    if is_plain { path.to_owned() } else { serde_json::Value::from(path).to_string() }
}

/// A Kustomization or Component.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kustomization {
    /// `Component` for one that only works inside another build; absent in most.
    #[serde(default)]
    pub kind: Option<String>,
    /// The namespace that every namespaced object of the build gets.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What every object's name gets in front.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What every object's name gets behind.
    #[serde(default)]
    pub name_suffix: Option<String>,
    /// Files, directories and remote bases.
    #[serde(default)]
    pub resources: Option<Vec<String>>,
    /// The old name of directories among the resources.
    #[serde(default)]
    pub bases: Option<Vec<String>>,
    /// Directories with components.
    #[serde(default)]
    pub components: Option<Vec<String>>,
    /// Patches, of which the files matter: a patch looks like a host but is none.
    #[serde(default)]
    pub patches: Option<Vec<Patch>>,
    /// The old form of merge patches: paths or inline text.
    #[serde(default)]
    pub patches_strategic_merge: Option<Vec<String>>,
}

/// An entry of `patches:`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Patch {
    /// The old form: a path, or inline text.
    Old(String),
    /// The form of today.
    Entry {
        /// The patch's file, where it is not inline.
        #[serde(default)]
        path: Option<String>,
    },
}

impl Patch {
    /// The patch's file; the old form's inline text is no path that exists.
    pub fn path(&self) -> Option<&String> {
        match self {
            Patch::Old(path) => Some(path),
            Patch::Entry { path } => path.as_ref(),
        }
    }
}
