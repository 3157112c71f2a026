//! Generated files in memory.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, Deref};

use camino::{Utf8Path, Utf8PathBuf};

/// Texts of generated files, or of snapshot files, by path relative to their directory.
pub type Tree = BTreeMap<TreePath, String>;

/// The path of a file in a tree.
///
/// Paths are compared as texts, because comparing paths by components takes ten times as long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct TreePath(String);

impl Deref for TreePath {
    type Target = Utf8Path;

    fn deref(&self) -> &Utf8Path {
        Utf8Path::new(&self.0)
    }
}

impl AsRef<Utf8Path> for TreePath {
    fn as_ref(&self) -> &Utf8Path {
        self
    }
}

impl Borrow<str> for TreePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<Utf8PathBuf> for TreePath {
    fn from(path: Utf8PathBuf) -> Self {
        Self(path.into_string())
    }
}

impl From<&Utf8Path> for TreePath {
    fn from(path: &Utf8Path) -> Self {
        Self(path.as_str().to_owned())
    }
}

/// Returns the directories above some paths, without the root, each once.
pub(crate) fn above<'a>(paths: impl IntoIterator<Item = &'a Utf8Path>) -> Vec<&'a Utf8Path> {
    let mut known = HashSet::from([""]);
    let mut above = Vec::new();
    for path in paths {
        let directories = path.ancestors().skip(1);
        // Directories above a known one are known, too.
        above.extend(directories.take_while(|directory| known.insert(directory.as_str())));
    }
    above
}

/// Returns the files in a directory and in those below it, in order.
pub(crate) fn files_below<'a>(
    tree: &'a Tree,
    directory: &Utf8Path,
) -> impl Iterator<Item = (&'a TreePath, &'a String)> + Clone {
    let start = format!("{directory}/");
    let from = (Bound::Included(start.as_str()), Bound::Unbounded);
    tree.range::<str, _>(from).take_while(move |(file, _)| file.0.starts_with(&start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_directory_are_not_those_of_one_with_a_longer_name() {
        let paths = ["a-b/c", "a.yaml", "a/b/c", "a/d", "ab/c"].map(Utf8Path::new);
        let tree: Tree = paths.map(|path| (path.into(), String::new())).into();
        let below = |directory: &str| {
            let below = files_below(&tree, directory.into());
            below.map(|(path, _)| path.to_string()).collect::<Vec<_>>()
        };

        assert_eq!(below("a"), ["a/b/c", "a/d"]);
        assert_eq!(below("a/b"), ["a/b/c"]);
        assert!(below("a/d").is_empty());
    }
}
