//! An advisory lock on a directory, for one writer at a time.
//!
//! The lock is on the directory itself (`flock`): it leaves no file, and the kernel drops it when
//! the process ends in any way. Writing runs take it exclusively, reading runs share it. File
//! systems without such locks are used without one, because runs compare files before they replace
//! them.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use camino::Utf8Path;

/// Number of attempts and pause between them: 10 s in total.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// A lock on a directory, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    /// `None` on a file system without locks.
    _directory: Option<File>,
}

/// The reason why a directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error("`{directory}` is in use by {holder}; wait for it, or stop it")]
    Held {
        /// The directory.
        directory: String,
        /// The process that holds the lock.
        holder: String,
    },
    /// The directory cannot be opened.
    #[error("cannot lock `{directory}`: {source}")]
    Unreadable {
        /// The directory.
        directory: String,
        /// The system error.
        source: std::io::Error,
    },
}

impl Lock {
    /// Locks a directory against other readers and writers. Waits up to 10 s.
    ///
    /// # Errors
    ///
    /// Fails if another process holds a lock for longer, or if the directory cannot be read.
    pub fn exclusive(directory: &Utf8Path) -> Result<Self, LockError> {
        acquire(directory, File::try_lock)
    }

    /// Locks a directory against writers. Waits up to 10 s.
    ///
    /// # Errors
    ///
    /// Fails if a writer holds the lock for longer, or if the directory cannot be read.
    pub fn shared(directory: &Utf8Path) -> Result<Self, LockError> {
        acquire(directory, File::try_lock_shared)
    }
}

fn acquire(
    directory: &Utf8Path,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Lock, LockError> {
    let name = || directory.as_str().to_owned();
    let file = File::open(directory)
        .map_err(|source| LockError::Unreadable { directory: name(), source })?;
    for _ in 0..TRIES {
        match lock(&file) {
            Ok(()) => {
                return Ok(Lock { _directory: Some(file) });
            }
            // The file system does not support locks.
            Err(TryLockError::Error(_)) => return Ok(Lock { _directory: None }),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
    Err(LockError::Held { directory: name(), holder: holder(&file) })
}

/// Returns the process that holds a lock on a file, according to `/proc/locks`.
fn holder(file: &File) -> String {
    let inode = file.metadata().map_or(0, |found| found.ino());
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    let Some(process) = holder_in(&table, inode) else {
        return "another process".to_owned();
    };
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    if name.is_empty() {
        format!("process {process}")
    } else {
        format!("process {process} ({name})")
    }
}

/// Returns the first process with an `flock` on an inode. Lines with an arrow are processes that
/// wait.
fn holder_in(table: &str, inode: u64) -> Option<u32> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, place, ..] = fields.as_slice() else {
            return None;
        };
        let is_it = place.rsplit(':').next().is_some_and(|number| number.parse() == Ok(inode));
        process.parse().ok().filter(|_| is_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_in_the_kernels_table() {
        let table = "1: POSIX  ADVISORY  WRITE 7 08:01:42 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 8 08:01:42 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 9 08:01:43 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 4711 08:01:42 0 EOF\n";
        assert_eq!(holder_in(table, 42), Some(4711));
        assert_eq!(holder_in(table, 44), None);
    }

    #[test]
    fn readers_share_a_directory_and_a_writer_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(directory.path()).unwrap();
        let other = File::open(path).unwrap();
        let lock = Lock::shared(path).unwrap();
        other.try_lock_shared().unwrap();
        other.unlock().unwrap();
        assert!(other.try_lock().is_err());
        drop(lock);
        let _lock = Lock::exclusive(path).unwrap();
        assert!(other.try_lock_shared().is_err());
    }
}
