//! The submodules of a repo.

use std::fs;
use std::io::Write;
use std::path::{Component, Path};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Config, Repository};

use crate::base::text::in_shell;
use crate::input::git::GitError;

/// The git mode of a submodule's commit.
pub(super) const GITLINK: u32 = 0o160_000;
/// The file that declares submodules.
pub(super) const NAMES: &str = ".gitmodules";

/// The content of `.gitmodules`.
#[derive(Default)]
pub(super) struct Submodules(Vec<Submodule>);

struct Submodule {
    name: String,
    path: Utf8PathBuf,
    /// The method of `git submodule update`.
    update: Option<String>,
}

impl Submodules {
    /// Parses a `.gitmodules`.
    pub(super) fn read(content: &[u8]) -> Result<Self, GitError> {
        let unreadable =
            |error: &dyn std::fmt::Display| GitError::new(format!("cannot read {NAMES}: {error}"));
        // libgit2 parses configuration from files only.
        let mut file = tempfile::NamedTempFile::new().map_err(|error| unreadable(&error))?;
        file.write_all(content).map_err(|error| unreadable(&error))?;
        let config = Config::open(file.path()).map_err(|error| unreadable(&error.message()))?;
        let mut submodules = Vec::new();
        let entries = config.entries(Some(r"^submodule\..*\.path$"));
        let read = entries.and_then(|entries| {
            entries.for_each(|entry| {
                if let (Ok(key), Ok(path)) = (entry.name(), entry.value())
                    && let Some(key) = key.strip_prefix("submodule.")
                    && let Some(name) = key.strip_suffix(".path")
                {
                    let update = config.get_string(&update_of(name)).ok();
                    submodules.push(Submodule { name: name.to_owned(), path: path.into(), update });
                }
            })
        });
        read.map_err(|error| unreadable(&error.message()))?;
        Ok(Self(submodules))
    }

    /// Returns the directories of all.
    pub(super) fn paths(self) -> Vec<Utf8PathBuf> {
        self.0.into_iter().map(|submodule| submodule.path).collect()
    }

    /// Returns whether a submodule is expected to be checked out. `update = none`, in `.gitmodules`
    /// or the repo's configuration, means that it is not needed.
    pub(super) fn wants(&self, repo: &Repository, path: &Utf8Path) -> bool {
        let Some(submodule) = self.0.iter().find(|submodule| submodule.path == path) else {
            return true;
        };
        let configured =
            repo.config().and_then(|config| config.get_string(&update_of(&submodule.name)));
        configured.ok().or(submodule.update.clone()).as_deref() != Some("none")
    }

    /// Opens the repo of a submodule. git keeps it in `modules` of its own directory; old
    /// submodules have it in the worktree.
    pub(super) fn open(&self, repo: &Repository, path: &Utf8Path) -> Option<Repository> {
        let same_path = self.0.iter().filter(|submodule| submodule.path == path);
        // git rejects a name that leads elsewhere as well.
        let is_safe =
            |name: &Path| name.components().all(|part| matches!(part, Component::Normal(_)));
        let names =
            same_path.map(|submodule| Path::new(&submodule.name)).filter(|name| is_safe(name));
        let kept = names.flat_map(|name| {
            // A linked worktree has a directory of its own beside the common one.
            [repo.path(), repo.commondir()].map(|top| top.join("modules").join(name))
        });
        let checked_out =
            repo.workdir().filter(|_| is_safe(path.as_std_path())).map(|top| top.join(path));
        kept.chain(checked_out).find_map(|place| Repository::open(place).ok())
    }
}

fn update_of(name: &str) -> String {
    format!("submodule.{name}.update")
}

/// Returns whether the directory of a submodule has any files.
pub(super) fn is_checked_out(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

/// Returns the error for a submodule that is not checked out.
pub(super) fn missing(path: &Utf8Path) -> GitError {
    GitError::new(format!(
        "the submodule {path} is not checked out, so its hosts and requests are unknown: run \
         `git submodule update --init {}`, or set `update = none` in {NAMES} if it is not needed",
        in_shell(path.as_str())
    ))
}
