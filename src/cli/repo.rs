//! Which directory a command works in.

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::git::{self, Around};
use sipgen::source::Files;

use super::Failure;

/// The directory that was named, or the git repo around the working directory.
pub(super) fn find(directory: Option<&Utf8Path>) -> Result<Files, Failure> {
    match directory {
        Some(directory) => {
            let around = git::around(existing(directory)?)?;
            // The hooks of a bare repo run with its name in their environment, also for files that lie elsewhere.
            let holds = |around: &&Around| {
                directory.canonicalize_utf8().is_ok_and(|directory| directory.starts_with(&around.directory))
            };
            around.as_ref().filter(holds).map(worktree).transpose()?;
            Ok(Files::on_disk(directory))
        }
        None => {
            let around = git::around(Utf8Path::new("."))?.ok_or_else(|| {
                let message = "there is no git repo around the working directory; name a directory by --repo";
                Failure(message.to_owned())
            })?;
            Ok(Files::on_disk(worktree(&around)?))
        }
    }
}

/// The top of a repo's worktree.
fn worktree(around: &Around) -> Result<&Utf8Path, Failure> {
    around.top.as_deref().ok_or_else(|| {
        Failure(format!(
            "{} is a bare repo, which has no files on the disk: clone it, or compare what it has by `sipgen diff --base \
             REVISION --head REVISION`",
            around.directory
        ))
    })
}

/// The files that a revision has in the directory that was named, or in the git repo around the working directory;
/// the repo may be bare.
pub(super) fn at_revision(directory: Option<&Utf8Path>, revision: &str) -> Result<Files, Failure> {
    let directory = directory.map(existing).transpose()?;
    let Around { top, directory: own, .. } = expect(directory.unwrap_or(Utf8Path::new(".")))?;
    let root = directory.map(Utf8Path::to_owned).or(top).unwrap_or(own);
    Ok(Files::at_revision(root, revision)?)
}

/// Whether the directory that was named, or the working directory, is in a bare repo, which has no files on the disk.
pub(super) fn is_bare(directory: Option<&Utf8Path>) -> Result<bool, Failure> {
    let around = git::around(directory.unwrap_or(Utf8Path::new(".")))?;
    Ok(around.is_some_and(|around| around.top.is_none()))
}

/// The git repo that `directory` is the root of, or else the one around the working directory.
pub(super) fn git_root(directory: Option<&Utf8Path>) -> Result<(Files, Around), Failure> {
    let files = find(directory)?;
    let around = git::around(files.root())?.ok_or_else(|| {
        let message = format!("{} is not in a git repo; `git init` makes it one", files.root());
        Failure(message)
    })?;
    if !around.place.as_str().is_empty() {
        let top = worktree(&around)?.as_str().trim_end_matches('/');
        return Err(Failure(format!(
            "{} is not the root of its git repo, and hooks and CI jobs are read only there: name the root by --repo {top}",
            files.root()
        )));
    }
    Ok((files, around))
}

/// Where a directory lies in its git repo, which is what forges count paths from; empty at the root and where there is
/// no git repo.
pub(super) fn place_in_git(directory: &Utf8Path) -> Result<Utf8PathBuf, Failure> {
    Ok(git::around(directory)?.map(|around| around.place).unwrap_or_default())
}

fn existing(directory: &Utf8Path) -> Result<&Utf8Path, Failure> {
    if directory.is_dir() { Ok(directory) } else { Err(Failure(format!("--repo {directory} is no directory"))) }
}

fn expect(directory: &Utf8Path) -> Result<Around, Failure> {
    git::around(directory)?.ok_or_else(|| {
        Failure(format!("there is no git repo around {directory}, so there are no revisions to compare"))
    })
}
