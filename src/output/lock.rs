//! An advisory lock on a directory, for one writer at a time.
//!
//! The lock is on the directory itself (`flock`): it leaves no file, and the kernel drops it when
//! the process ends in any way. Writing runs take it exclusively, reading runs share it. File
//! systems without such locks are used without one, because runs compare files before they replace
//! them.

use std::fs::{File, TryLockError};
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
    #[error("`{0}` is in use by another process; wait for it, or stop it")]
    Held(String),
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
            Ok(()) => return Ok(Lock { _directory: Some(file) }),
            // The file system does not support locks.
            Err(TryLockError::Error(_)) => return Ok(Lock { _directory: None }),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
    Err(LockError::Held(name()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
