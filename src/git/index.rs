//! Puts entries into git's index as git does, and leaves nothing behind that the next run could not tell for its own.
//!
//! The new index is made beside the old one, in a directory of ours, and becomes git's lock by a hard link: git's own
//! commands stay away from then on, and a lock that a killed run leaves is the same file as the one in our directory.

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
use super::open::Opened;
use super::program::Program;

/// How directories of ours begin in a repo's own.
pub(crate) const OURS: &str = "sipgen-";
/// The index to be, in such a directory.
const NEXT: &str = "next-index";
/// How often an index is tried that another git has locked, and how long a try waits: 2 s in all.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Mode and id of files by path from the worktree's top; none for those that are not there.
pub(crate) type Entries = BTreeMap<Utf8PathBuf, Option<(u32, Oid)>>;

/// What the index has of these paths now.
pub(crate) fn entries<'a>(
    opened: &Opened,
    paths: impl Iterator<Item = &'a Utf8PathBuf>,
) -> Result<Entries, GitError> {
    let index = current(opened)?;
    let entry = |path: &Utf8PathBuf| {
        index
            .get_path(path.as_std_path(), 0)
            .map(|entry| (entry.mode, entry.id))
    };
    Ok(paths.map(|path| (path.clone(), entry(path))).collect())
}

/// The index as it is on the disk now: a repo that is open remembers the one that it has read first.
pub(crate) fn current(opened: &Opened) -> Result<Index, GitError> {
    let mut index = opened.index()?;
    index.read(true)?;
    Ok(index)
}

/// Puts entries into the index, and leaves all others as they are. `directory` is one of ours.
pub(crate) fn put(
    opened: &Opened,
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
        // Fails when other files have changed, which is no failure here.
        let _ = program.output_of(&next, &["update-index", "-q", "--refresh"], "");
        match fs::hard_link(&next, lock(opened)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                thread::sleep(PAUSE);
                continue;
            }
            // A file system without hard links.
            Err(_) => {
                return program
                    .output(&["update-index", "-z", "--index-info"], &lines)
                    .map(|_| ());
            }
        }
        if read(&index).map_err(cannot)? == before {
            return fs::rename(lock(opened), &index).map_err(cannot);
        }
        fs::remove_file(lock(opened)).map_err(cannot)?;
    }
    Err(busy(opened))
}

/// Removes what runs that were killed have left in the repo. Only for who has locked the repo's own directory.
pub(crate) fn clean_up(opened: &Opened) -> Result<(), GitError> {
    let cannot = |error: io::Error| GitError::new(format!("cannot tidy the repo: {error}"));
    let inode = |path: &Path| {
        fs::symlink_metadata(path)
            .ok()
            .map(|found| (found.dev(), found.ino()))
    };
    for entry in fs::read_dir(opened.repo.path()).map_err(cannot)? {
        let directory = entry.map_err(cannot)?.path();
        let is_ours = directory
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(OURS));
        if !is_ours || !directory.is_dir() {
            continue;
        }
        if inode(&lock(opened)).is_some_and(|lock| inode(&directory.join(NEXT)) == Some(lock)) {
            fs::remove_file(lock(opened)).map_err(cannot)?;
        }
        fs::remove_dir_all(&directory).map_err(cannot)?;
    }
    Ok(())
}

/// Returns whether another git is about to write the index.
pub(crate) fn expect_unlocked(opened: &Opened) -> Result<(), GitError> {
    if lock(opened).exists() {
        Err(busy(opened))
    } else {
        Ok(())
    }
}

fn busy(opened: &Opened) -> GitError {
    GitError::new(format!(
        "another git is at work here; if it has died, delete {}",
        lock(opened).display()
    ))
}

fn place(opened: &Opened) -> PathBuf {
    opened.repo.path().join("index")
}

fn lock(opened: &Opened) -> PathBuf {
    opened.repo.path().join("index.lock")
}

/// The content of a file; none when it is not there.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    }
}

/// Makes a copy of an index that git trusts no more than the index itself: an entry is looked at again when its file
/// was changed after the index was.
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
    File::options()
        .write(true)
        .open(next)?
        .set_modified(found.modified()?)
}
