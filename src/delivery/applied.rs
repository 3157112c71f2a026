//! Directories that agents apply.

use camino::Utf8PathBuf;

use super::build_changes::BuildChanges;
use crate::api::gitops::{DirectorySource, GitopsAgent};
use crate::finding::Place;
use crate::inventory::apply_options::ApplyOption;

/// A directory that an agent applies.
pub(crate) struct AppliedDirectory {
    pub(crate) agent: GitopsAgent,
    /// Object that applies it: `Flux Kustomization flux-system/infra`.
    pub(crate) by: String,
    /// Place that names it.
    pub(crate) place: Place,
    /// Reason why it does not apply this repo's files to the base cluster.
    pub(crate) exclusion: Option<Exclusion>,
    /// Namespace that it sets for everything it applies, with the place.
    pub(crate) namespace: Option<(String, Place)>,
    /// Field that renames everything it applies, with the place.
    pub(crate) renamed: Option<(&'static str, Place)>,
    /// Directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// Path to the repo from the directory that it names, if that is above the repo.
    pub(crate) above: Utf8PathBuf,
    /// Way of reading the directory if it is not a kustomization.
    pub(crate) plain: PlainDirectory,
    /// Place of `directory`, which makes Argo CD read plain files even beside a kustomization.
    pub(crate) explicit: Option<Place>,
    /// Namespace of the object itself, if set.
    pub(crate) own_namespace: Option<String>,
    /// Directories of components that it adds to the kustomization, with their places.
    pub(crate) components: Vec<(Utf8PathBuf, Place)>,
    /// Options by which labels do not arrive, or hosts are replaced.
    pub(crate) options: Vec<ApplyOption>,
    /// Changes to the build.
    pub(crate) changes: Option<Box<BuildChanges>>,
    /// Flux's decryption settings.
    pub(crate) decryption: Option<yaml_serde::Value>,
}

impl AppliedDirectory {
    /// Returns whether it applies files of the site to its base cluster, even if it is suspended
    /// now.
    pub(super) fn is_of_site(&self) -> bool {
        matches!(self.exclusion, None | Some(Exclusion::Suspended))
    }
}

/// Settings for reading a directory that is not a kustomization.
#[derive(Debug, Clone)]
pub(crate) enum PlainDirectory {
    /// Flux: every kustomization below it, and every YAML file that none of them covers.
    Autodetect,
    /// Argo CD: matching files in it, or in the tree below it.
    Files(DirectorySource),
    /// A program that sipgen does not run, such as Helm, makes objects of the directory.
    Rendered(&'static str),
}

/// Reasons why an object does not apply this repo's files to the base cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exclusion {
    /// Its source differs from the one in this setting.
    OtherSource(&'static str),
    /// It applies to another cluster, according to this field or setting.
    OtherCluster(&'static str),
    /// Its path is inside a copy of another repo.
    Included,
    /// Its path has a parameter without a value in the repo.
    Undecided,
    /// It is suspended. It does not apply them now but may do so later.
    Suspended,
}
