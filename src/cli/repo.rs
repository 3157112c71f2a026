//! Which directory a command works in.

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::git;
use sipgen::source::Files;

use super::Failure;

/// The directory that was named, or the git repo around the working directory.
pub(super) fn find(directory: Option<&Utf8Path>) -> Result<Files, Failure> {
    match directory {
        Some(directory) if directory.is_dir() => Ok(Files::on_disk(directory)),
        Some(directory) => Err(Failure(format!("--repo {directory} is no directory"))),
        None => around_working_directory(),
    }
}

/// The files that a revision has in the directory that was named, or in the git repo around the working directory;
/// the repo may be bare.
pub(super) fn at_revision(directory: Option<&Utf8Path>, revision: &str) -> Result<Files, Failure> {
    let root = match directory {
        Some(directory) if directory.is_dir() => directory.to_owned(),
        Some(directory) => return Err(Failure(format!("--repo {directory} is no directory"))),
        None => {
            let repo = discover(Utf8Path::new("."))?;
            let root = repo.workdir().unwrap_or(repo.path());
            Utf8Path::from_path(root).ok_or_else(|| Failure("the repo's path is not UTF-8".to_owned()))?.to_owned()
        }
    };
    discover(&root)?;
    Ok(Files::at_revision(root, revision)?)
}

/// Whether the directory that was named, or the working directory, is in a bare repo, which has no files on the disk.
pub(super) fn is_bare(directory: Option<&Utf8Path>) -> bool {
    let directory = directory.unwrap_or(Utf8Path::new("."));
    // One that is not there at all is another one's complaint.
    git2::Repository::discover(directory).is_ok_and(|repo| repo.is_bare())
}

fn discover(directory: &Utf8Path) -> Result<git2::Repository, Failure> {
    git2::Repository::discover(directory).map_err(|error| match error.code() {
        git2::ErrorCode::NotFound => {
            Failure(format!("there is no git repo around {directory}, so there are no revisions to compare"))
        }
        _ => Failure(format!("cannot open the git repo around {directory}: {}", error.message())),
    })
}

fn around_working_directory() -> Result<Files, Failure> {
    let none = || Failure("there is no git repo around the working directory; name a directory by --repo".to_owned());
    Ok(Files::on_disk(git::worktree_around(Utf8Path::new("."))?.ok_or_else(none)?))
}

/// The git repo that `directory` is the root of, or else the one around the working directory.
pub(super) fn git_root(directory: Option<&Utf8Path>) -> Result<(Files, git2::Repository), Failure> {
    let files = find(directory)?;
    let no_repo = || {
        let message = format!("{} is not in a git repo; `git init` makes it one", files.root());
        Failure(message)
    };
    let repo = git2::Repository::discover(files.root()).map_err(|error| match error.code() {
        git2::ErrorCode::NotFound => no_repo(),
        _ => Failure(format!("cannot open the git repo of {}: {}", files.root(), error.message())),
    })?;
    let Some(root) = repo.workdir().and_then(Utf8Path::from_path) else {
        return Err(Failure(format!("the git repo of {} is bare: it has no files to add to", files.root())));
    };
    if root.canonicalize_utf8()? != files.root().canonicalize_utf8()? {
        let root = root.as_str().trim_end_matches('/');
        return Err(Failure(format!(
            "{} is not the root of its git repo, and hooks and CI jobs are read only there: name the root by --repo {root}",
            files.root()
        )));
    }
    Ok((files, repo))
}

/// The URL that a git repo is fetched from.
pub(super) fn remote(repo: &git2::Repository) -> Option<String> {
    let origin = repo.find_remote("origin").or_else(|_| {
        let remotes = repo.remotes()?;
        let only = remotes.iter().flatten().flatten().next().unwrap_or_default();
        repo.find_remote(only)
    });
    Some(origin.ok()?.url().ok()?.to_owned())
}

/// Where a directory lies in its git repo, which is what forges count paths from; empty at the root and where there is
/// no git repo.
pub(super) fn place_in_git(directory: &Utf8Path) -> Utf8PathBuf {
    let place = || {
        let repo = git2::Repository::discover(directory).ok()?;
        let root = Utf8Path::from_path(repo.workdir()?)?.canonicalize_utf8().ok()?;
        Some(directory.canonicalize_utf8().ok()?.strip_prefix(root).ok()?.to_owned())
    };
    place().unwrap_or_default()
}
