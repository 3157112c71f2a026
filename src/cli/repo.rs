//! Which directory a command works in.

use camino::Utf8Path;
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
