//! Directories that agents apply.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;

use super::build_changes::BuildChanges;
use super::paths::{SourcePatterns, source_contains};
use crate::base::api::gitops::{DirectorySource, GitopsAgent};
use crate::base::api::names::HostKey;
use crate::base::finding::Place;
use crate::input::kustomize::Builds;
use crate::site::inventory::apply_options::ApplyOption;

/// A directory that an agent applies.
pub(crate) struct AppliedDirectory {
    pub(super) agent: GitopsAgent,
    /// Object that applies it: `Flux Kustomization flux-system/infra`.
    pub(crate) by: String,
    /// Place that names it.
    pub(super) place: Place,
    /// Reason why it does not apply this repo's files to the base cluster.
    pub(super) exclusion: Option<Exclusion>,
    /// Namespace that it sets for objects without one, with the place.
    pub(super) default_namespace: Option<(String, Place)>,
    /// Directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// Objects that it waits for, as `by` names them.
    pub(super) depends_on: Vec<String>,
    /// Set if the object exists only while the directory does.
    pub(super) is_generated: bool,
    /// Set if the same template makes other directories.
    pub(super) is_one_of_several: bool,
    /// Path to the repo from the directory that it names, if that is above the repo.
    pub(super) above: Utf8PathBuf,
    /// Way of reading the directory if it is not a kustomization.
    pub(super) plain: PlainDirectory,
    /// Place of `directory`, which makes Argo CD read plain files even beside a kustomization.
    pub(super) explicit: Option<Place>,
    /// Directories of components that it adds to the kustomization, with their places.
    pub(super) components: Vec<(Utf8PathBuf, Place)>,
    /// Options by which labels do not arrive, or hosts are replaced.
    pub(super) options: Vec<ObjectOption>,
    /// Changes to the build.
    pub(crate) changes: Option<Box<BuildChanges>>,
    /// Flux's decryption settings.
    pub(super) decryption: Option<yaml_serde::Value>,
}

impl AppliedDirectory {
    /// Returns whether it applies files of the site to its base cluster, even if it is suspended
    /// now.
    pub(crate) fn is_of_site(&self) -> bool {
        matches!(self.exclusion, None | Some(Exclusion::Suspended))
    }

    /// Returns whether it applies files of the site to another cluster.
    pub(super) fn is_elsewhere(&self) -> bool {
        matches!(self.exclusion, Some(Exclusion::OtherCluster(_) | Exclusion::InOtherCluster(_)))
    }

    /// Returns the file of the object.
    pub(crate) fn file(&self) -> &Arc<Utf8Path> {
        self.place.file()
    }

    /// Returns whether its directory is built as a kustomization, so that other files below it are
    /// ignored.
    pub(super) fn is_build(&self, builds: &Builds) -> bool {
        let is_here = match self.plain {
            PlainDirectory::Autodetect(_) => true,
            PlainDirectory::Files(_) => self.explicit.is_none() && self.above.as_str().is_empty(),
            PlainDirectory::Rendered(_) => false,
        };
        is_here && builds.has_kustomization(&self.directory)
    }

    /// Returns whether the agent, or the program that it runs, reads a file if the directory is not a
    /// kustomization.
    pub(crate) fn takes(&self, file: &Utf8Path) -> bool {
        file.strip_prefix(&self.directory).is_ok_and(|path| match &self.plain {
            PlainDirectory::Autodetect(_) | PlainDirectory::Rendered(_) => true,
            PlainDirectory::Files(source) => source_contains(source, &self.above.join(path)),
        })
    }

    /// Returns whether the agent applies the objects of a file although its directory is not built: as
    /// they are, or by a kustomization below.
    pub(super) fn applies_unbuilt(&self, builds: &Builds, file: &Utf8Path) -> bool {
        let is_detected = |root: usize| {
            matches!(self.plain, PlainDirectory::Autodetect(_))
                && builds.root(root).directory.starts_with(&self.directory)
        };
        self.applies_plainly(builds, file)
            || builds.reach(file).iter().any(|reach| is_detected(reach.root))
    }

    /// Returns whether the agent applies a file as it is, without a build.
    pub(super) fn applies_plainly(&self, builds: &Builds, file: &Utf8Path) -> bool {
        let mut above = file.ancestors().skip(1).take_while(|it| it.starts_with(&self.directory));
        self.takes(file)
            && match &self.plain {
                PlainDirectory::Autodetect(ignored) => {
                    file.extension() != Some("json")
                        && !above.any(|directory| builds.has_kustomization(directory))
                        && ignored.excludes(file) != Some(true)
                }
                PlainDirectory::Files(_) => !self.is_build(builds),
                PlainDirectory::Rendered(_) => false,
            }
    }
}

/// An option of an agent's object, with the hosts that it is for.
#[derive(Debug, Clone)]
pub(crate) struct ObjectOption {
    pub(super) option: ApplyOption,
    /// Patterns of their namespace and name; `None` for any.
    pub(super) patterns: [Option<Regex>; 2],
    /// Set if it is for all other hosts.
    pub(super) is_inverted: bool,
}

impl ObjectOption {
    /// Returns an option for all hosts.
    pub(crate) fn new(option: ApplyOption) -> Self {
        let patterns = [None, None];
        Self { option, patterns, is_inverted: false }
    }

    pub(super) fn is_for(&self, host: &HostKey) -> bool {
        let names = [host.namespace.as_str(), host.name.as_str()];
        let mut pairs = self.patterns.iter().zip(names);
        let matches =
            pairs.all(|(pattern, name)| pattern.as_ref().is_none_or(|it| it.is_match(name)));
        matches != self.is_inverted
    }
}

/// Settings for reading a directory that is not a kustomization.
pub(super) enum PlainDirectory {
    /// Flux: every kustomization below it, and every YAML file that none of them covers and these
    /// patterns do not exclude.
    Autodetect(Arc<SourcePatterns>),
    /// Argo CD: matching files in it, or in the tree below it.
    Files(DirectorySource),
    /// A program that sipgen does not run, such as Helm, makes objects of the directory.
    Rendered(&'static str),
}

/// Reasons why an object does not apply this repo's files to the base cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exclusion {
    /// This kustomization does not list its file, although it lists agents' objects beside it.
    Omitted(Arc<Utf8Path>),
    /// Its source differs from the one in this setting.
    OtherSource(&'static str),
    /// It applies to another cluster, according to this field or setting.
    OtherCluster(&'static str),
    /// The object with this name applies this one to another cluster, where it applies its directory.
    InOtherCluster(String),
    /// Its path is inside a copy of another repo.
    Included,
    /// Its path has a parameter without a value in the repo.
    Undecided,
    /// It is suspended. It does not apply them now but may do so later.
    Suspended,
}
