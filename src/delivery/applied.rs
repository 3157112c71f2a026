//! Directories that agents apply.

use camino::Utf8PathBuf;

use crate::api::gitops::{Agent, DirectorySource};
use crate::finding::Place;

/// A directory that an agent applies.
pub(crate) struct Applied {
    pub(crate) agent: Agent,
    /// The object that says so: `Flux Kustomization flux-system/infra`.
    pub(crate) by: String,
    /// Where it says so.
    pub(crate) place: Place,
    /// Why it is not taken to apply this repo's files to the base cluster.
    pub(crate) aside: Option<Aside>,
    /// Where it gives a namespace to all that it applies, and which.
    pub(crate) namespace: Option<(String, Place)>,
    /// Where it changes the names of all that it applies, and the field that does.
    pub(crate) renamed: Option<(&'static str, Place)>,
    /// The directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// The way to the repo from the directory that it names, when this is above the repo.
    pub(crate) above: Utf8PathBuf,
    /// How the directory is read when it is no kustomization; none when it is not read then.
    pub(crate) plain: Option<Plain>,
    /// Where it says `directory`, for which Argo CD reads plain files even where there is a kustomization.
    pub(crate) explicit: Option<Place>,
    /// The namespace of the object itself, where it says one.
    pub(crate) own_namespace: Option<String>,
    /// The directories of components that it adds to the kustomization, with the places that say so.
    pub(crate) components: Vec<(Utf8PathBuf, Place)>,
    /// Flux's decryption settings for it.
    pub(crate) decryption: Option<yaml_serde::Value>,
}

/// Settings for reading a directory that is not a kustomization.
#[derive(Debug, Clone)]
pub(crate) enum Plain {
    /// Flux: every kustomization below it, and every YAML file beside those.
    Autodetect,
    /// Argo CD: the files in it, or all below it, that match.
    Files(DirectorySource),
}

/// Why an object is not taken to apply this repo's files to the base cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// Its source is another than the one that the setting names.
    OtherSource(&'static str),
    /// It applies to another cluster than the field or setting says ours is.
    OtherCluster(&'static str),
    /// Its path is in the copy of another repo.
    Included,
    /// Its path has a parameter that no file of the repo decides.
    Undecided,
    /// It is suspended: it may apply them again, but does not now.
    Suspended,
}
