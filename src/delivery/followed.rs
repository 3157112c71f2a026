//! Directories that agents apply, found before the files of a site are known, because they belong
//! to the site.

use camino::{Utf8Path, Utf8PathBuf};

use super::agent_objects::{AgentObject, Context};
use super::applied::{Exclusion, Plain};
use super::directories::directories;
use super::paths::takes;
use super::repo::Repo;
use crate::inventory::Inventory;
use crate::kustomize::Builds;
use crate::load::Files;
use crate::settings::Settings;

/// A directory that an object makes an agent apply.
pub(crate) struct Followed {
    /// Directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// Set if the object applies this repo's files to the site's base cluster, even if it is
    /// suspended now.
    pub(crate) is_of_site: bool,
    plain: Option<Plain>,
}

impl Followed {
    /// Returns whether the agent applies a file of the directory if that is not a kustomization.
    /// The path is relative to the directory.
    pub(crate) fn takes(&self, file: &Utf8Path) -> bool {
        match &self.plain {
            Some(Plain::Autodetect) => true,
            Some(Plain::Files(source)) => takes(source, file),
            None => false,
        }
    }
}

/// Returns the directories that objects make agents apply, by the settings of a site. `paths` are
/// files whose directories generators may match.
pub(crate) fn followed(
    files: &Files,
    settings: &Settings,
    objects: Vec<AgentObject>,
    paths: &[Utf8PathBuf],
) -> Vec<Followed> {
    let (inventory, builds) = (Inventory::default(), Builds::default());
    let Context {
        sources, clusters, ..
    } = Context::of(&objects, &builds);
    let (inventory, builds) = (&inventory, &builds);
    let added = Vec::new();
    let repo = Repo {
        files,
        settings,
        inventory,
        builds,
        documents: &[],
        paths,
        sources,
        clusters,
        added,
    };
    let applied = directories(&repo, objects).into_iter();
    let followed = applied.map(|applied| Followed {
        directory: applied.directory,
        is_of_site: matches!(applied.exclusion, None | Some(Exclusion::Suspended)),
        plain: applied.plain,
    });
    followed.collect()
}
