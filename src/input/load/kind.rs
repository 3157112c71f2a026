//! Types of directory entries, on the disk and in git.

use std::fs::FileType;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket.
    Other,
}

impl EntryKind {
    pub(super) fn new(kind: FileType) -> Self {
        match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
            (true, ..) => EntryKind::File,
            (_, true, _) => EntryKind::Directory,
            (_, _, true) => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }
}
