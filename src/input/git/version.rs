//! The version of a repo's files.

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{ErrorCode, Repository, StatusOptions};
use serde::Serialize;

use super::GitError;
use super::open::{Checkout, remote};

/// The version of the files of a repo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepoVersion {
    /// The repo's name, without the place of its remote.
    pub repo: String,
    /// The abbreviated id of the commit; `None` without commits.
    pub commit: Option<String>,
    /// Set if files differ from the commit.
    pub is_changed: bool,
}

/// Returns the version of the files in a directory, or of a revision; `None` outside of git repos.
/// Changes of the `ignored` files do not count.
///
/// # Errors
///
/// If the repo cannot be read, or has no such revision.
pub fn version(
    directory: &Utf8Path,
    revision: Option<&str>,
    ignored: &[Utf8PathBuf],
) -> Result<Option<RepoVersion>, GitError> {
    let Some(Checkout { repo, .. }) = Checkout::around(directory)? else { return Ok(None) };
    let commit = match repo.revparse_single(revision.unwrap_or("HEAD")) {
        Ok(object) => {
            let commit = object.peel_to_commit()?;
            let id = commit.as_object().short_id()?;
            Some(String::from_utf8_lossy(&id).into_owned())
        }
        // A new repo has no commit yet.
        Err(error) if revision.is_none() && error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Some(RepoVersion {
        repo: name(&repo, directory),
        commit,
        is_changed: revision.is_none() && is_changed(&repo, ignored)?,
    }))
}

fn name(repo: &Repository, directory: &Utf8Path) -> String {
    let remote = remote(repo);
    let remote_names = remote.iter().filter_map(|url| {
        let (path, _) = url.split_once(['?', '#']).unwrap_or((url, ""));
        let name = path.trim_end_matches('/').rsplit(['/', ':']).next()?;
        // Without a path, this is the host, maybe with a password.
        let name = Some(name).filter(|name| !name.contains('@'))?;
        Some(name.strip_suffix(".git").unwrap_or(name).to_owned())
    });
    let directory_name =
        repo.workdir().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let mut names = remote_names.chain(directory_name);
    let name = names.find(|name| !name.is_empty());
    name.unwrap_or_else(|| directory.to_string())
}

fn is_changed(repo: &Repository, ignored: &[Utf8PathBuf]) -> Result<bool, git2::Error> {
    let Some(top) = repo.workdir() else { return Ok(false) };
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    let statuses = repo.statuses(Some(&mut options))?;
    let is_ignored = |path: &[u8]| {
        let path = top.join(String::from_utf8_lossy(path).as_ref());
        ignored.iter().any(|other| other.as_std_path() == path)
    };
    Ok(statuses.iter().any(|entry| !is_ignored(entry.path_bytes())))
}
