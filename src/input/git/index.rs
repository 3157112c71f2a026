//! Updates git's index like git does, so that the next run can identify leftovers of a killed run.
//!
//! The new index is written to a directory of sipgen's, and hard-linked as git's lock. From then
//! on, git's own commands wait. If the run is killed, its lock and the file in its directory are
//! the same inode.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use camino::Utf8PathBuf;
use git2::{Index, Oid};

use super::GitError;
use super::open::OpenedRepo;
use super::program::Program;

/// The name prefix of sipgen's directories in the repo's own directory.
pub(crate) const OURS: &str = "sipgen-";
/// The new index, in such a directory.
const NEXT: &str = "next-index";
/// The number of tries while another git holds the lock, and the pause between them: 2 s in total.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Mode and id of files, by path from the worktree's top; `None` for files that do not exist.
pub(crate) type Entries = BTreeMap<Utf8PathBuf, Option<(u32, Oid)>>;

/// Returns the index entries of some paths.
pub(crate) fn entries<'a>(
    opened: &OpenedRepo,
    paths: impl Iterator<Item = &'a Utf8PathBuf>,
) -> Result<Entries, GitError> {
    let index = current(opened)?;
    let entry = |path: &Utf8PathBuf| {
        index.get_path(path.as_std_path(), 0).map(|entry| (entry.mode, entry.id))
    };
    Ok(paths.map(|path| (path.clone(), entry(path))).collect())
}

/// Returns the index on the disk. An open repo caches the first one that it has read.
pub(crate) fn current(opened: &OpenedRepo) -> Result<Index, GitError> {
    let mut index = opened.index()?;
    index.read(true)?;
    Ok(index)
}

/// Updates entries in the index, and leaves all others unchanged. `directory` is one of sipgen's.
pub(crate) fn put(
    opened: &OpenedRepo,
    program: &Program,
    directory: &Path,
    entries: &Entries,
) -> Result<(), GitError> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut lines = String::new();
    for (path, entry) in entries {
        // Writing to a String cannot fail.
        let _ = match entry {
            Some((mode, id)) => write!(lines, "{mode:o} {id}\t{path}\0"),
            None => write!(lines, "0 {}\t{path}\0", Oid::ZERO_SHA1),
        };
    }
    let cannot = |error: io::Error| GitError::new(format!("cannot write git's index: {error}"));
    let (index, next) = (place(opened), directory.join(NEXT));
    for _ in 0..TRIES {
        let before = read(&index).map_err(cannot)?;
        copy(&index, &next, before.as_deref()).map_err(cannot)?;
        program.output_of(&next, &["update-index", "-z", "--index-info"], &lines)?;
        // `--refresh` fails if other files have changed, which does not matter here.
        let _ = program.output_of(&next, &["update-index", "-q", "--refresh"], "");
        // Creating a link fails if the lock exists, as `open` with `O_EXCL` does.
        match fs::hard_link(&next, lock(opened)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                thread::sleep(PAUSE);
                continue;
            }
            // The file system has no hard links.
            Err(_) => {
                return program.output(&["update-index", "-z", "--index-info"], &lines).map(|_| ());
            }
        }
        // If another git has changed the index since it was copied, the update starts again.
        if read(&index).map_err(cannot)? == before {
            return fs::rename(lock(opened), &index).map_err(cannot);
        }
        fs::remove_file(lock(opened)).map_err(cannot)?;
    }
    Err(busy(opened))
}

/// Removes leftovers of killed runs. The caller must hold the lock on the repo's root directory.
pub(crate) fn clean_up(opened: &OpenedRepo) -> Result<(), GitError> {
    let cannot = |error: io::Error| GitError::new(format!("cannot tidy the repo: {error}"));
    let inode =
        |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    for entry in fs::read_dir(opened.repo.path()).map_err(cannot)? {
        let directory = entry.map_err(cannot)?.path();
        let is_ours =
            directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OURS));
        if !is_ours || !directory.is_dir() {
            continue;
        }
        // The lock is ours if it is the same file as the index in our directory.
        if inode(&lock(opened)).is_some_and(|lock| inode(&directory.join(NEXT)) == Some(lock)) {
            fs::remove_file(lock(opened)).map_err(cannot)?;
        }
        fs::remove_dir_all(&directory).map_err(cannot)?;
    }
    Ok(())
}

/// Checks that no other git process is writing the index.
pub(crate) fn expect_unlocked(opened: &OpenedRepo) -> Result<(), GitError> {
    if lock(opened).exists() { Err(busy(opened)) } else { Ok(()) }
}

fn busy(opened: &OpenedRepo) -> GitError {
    GitError::new(format!(
        "another git is at work here; if it has died, delete {}",
        lock(opened).display()
    ))
}

fn place(opened: &OpenedRepo) -> PathBuf {
    opened.repo.path().join("index")
}

fn lock(opened: &OpenedRepo) -> PathBuf {
    opened.repo.path().join("index.lock")
}

/// Returns the content of a file; `None` if it does not exist.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    }
}

/// Copies an index with its modification time. git rehashes entries whose files are not older than
/// the index, so a newer copy would hide changes.
fn copy(index: &Path, next: &Path, content: Option<&[u8]>) -> io::Result<()> {
    match fs::remove_file(next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let Some(content) = content else {
        return Ok(());
    };
    let found = fs::metadata(index)?;
    fs::write(next, content)?;
    fs::set_permissions(next, found.permissions())?;
    File::options().write(true).open(next)?.set_modified(found.modified()?)
}
