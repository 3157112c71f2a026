//! Directories that agents apply.

use camino::Utf8PathBuf;

use crate::api::gitops::{Agent, DirectorySource};
use crate::finding::Place;

/// A directory that an agent applies.
pub(crate) struct Applied {
    pub(crate) agent: Agent,
    /// The object that applies it, such as `Flux Kustomization flux-system/infra`.
    pub(crate) by: String,
    /// The place of its path.
    pub(crate) place: Place,
    /// The reason why it does not apply this repo's files to the base cluster.
    pub(crate) aside: Option<Aside>,
    /// The namespace that it sets on all objects, with the place of the field.
    pub(crate) namespace: Option<(String, Place)>,
    /// The field that renames all objects, with its place.
    pub(crate) renamed: Option<(&'static str, Place)>,
    /// The directory, relative to the repo's root; for a directory above the repo, the root itself.
    pub(crate) directory: Utf8PathBuf,
    /// For a directory above the repo, the path from there to the repo.
    pub(crate) above: Utf8PathBuf,
    /// How the directory is read if it is not a kustomization; `None` if it is not read then.
    pub(crate) plain: Option<Plain>,
    /// The place of `directory`, which makes Argo CD read plain files even if there is a
    /// kustomization.
    pub(crate) explicit: Option<Place>,
    /// Namespace of the object itself, if set.
    pub(crate) own_namespace: Option<String>,
    /// Directories of components that it adds to the kustomization, with their places.
    pub(crate) components: Vec<(Utf8PathBuf, Place)>,
    /// Flux's decryption settings.
    pub(crate) decryption: Option<yaml_serde::Value>,
}

/// Settings for reading a directory that is not a kustomization.
#[derive(Debug, Clone)]
pub(crate) enum Plain {
    /// Flux: every kustomization in the directory tree, and every YAML file outside of those.
    Autodetect,
    /// Argo CD: matching files in the directory, or in its tree.
    Files(DirectorySource),
}

/// The reason why an object does not apply this repo's files to the base cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// Its source is not the one in this setting.
    OtherSource(&'static str),
    /// It applies to another cluster, because of this field or setting.
    OtherCluster(&'static str),
    /// Its path is in a copy of another repo.
    Included,
    /// Its path has a parameter that no file in the repo sets.
    Undecided,
    /// It is suspended and may resume later.
    Suspended,
}
