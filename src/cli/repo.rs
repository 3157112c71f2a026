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

fn around_working_directory() -> Result<Files, Failure> {
    let none = || Failure("there is no git repo around the working directory; name a directory by --repo".to_owned());
    Ok(Files::on_disk(git::worktree_around(Utf8Path::new("."))?.ok_or_else(none)?))
}
