//! Types of directory entries, on the disk and in git.

use std::fs::FileType;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket.
    Other,
}

impl Kind {
    pub(super) fn of(kind: FileType) -> Self {
        match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
            (true, ..) => Kind::File,
            (_, true, _) => Kind::Directory,
            (_, _, true) => Kind::Link,
            _ => Kind::Other,
        }
    }
}
