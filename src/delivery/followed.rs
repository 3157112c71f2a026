//! The directories that agents apply, before it is known what a site reads: what lies there is of the site.

use camino::{Utf8Path, Utf8PathBuf};

use super::agent_objects::{AgentObject, Context};
use super::applied::{Aside, Plain};
use super::directories::directories;
use super::paths::takes;
use super::repo::Repo;
use crate::inventory::Inventory;
use crate::kustomize::Builds;
use crate::load::Files;
use crate::settings::Settings;

/// A directory that an object tells an agent to apply.
pub(crate) struct Followed {
    /// The directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// Set where the object applies this repo's files to the site's base cluster, now or once it is no longer suspended.
    pub(crate) is_of_site: bool,
    plain: Option<Plain>,
}

impl Followed {
    /// Returns whether the agent applies a file of the directory, by its path in it, when that is no kustomization.
    pub(crate) fn takes(&self, file: &Utf8Path) -> bool {
        match &self.plain {
            Some(Plain::Autodetect) => true,
            Some(Plain::Files(source)) => takes(source, file),
            None => false,
        }
    }
}

/// The directories that objects tell agents to apply, as the settings of a site judge them. `paths` are the files whose
/// directories generators may name.
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
        is_of_site: matches!(applied.aside, None | Some(Aside::Suspended)),
        plain: applied.plain,
    });
    followed.collect()
}
