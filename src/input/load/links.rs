//! Symbolic links: their targets, and the check that none leads out of the repo.

use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

/// The maximum number of links to follow, as in Linux.
const MOST: usize = 40;

/// Checks that a path on the disk is in the worktree around `root`, or below `root` outside a
/// worktree.
///
/// # Errors
///
/// If a symbolic link leads out of it.
pub(super) fn stay_inside(root: &Utf8Path, path: &Utf8Path) -> io::Result<()> {
    let (root, found) = (root.canonicalize_utf8()?, path.canonicalize_utf8()?);
    let top = root.ancestors().find(|around| around.join(".git").exists()).unwrap_or(&root);
    if found.starts_with(top) {
        return Ok(());
    }
    Err(io::Error::other("a symbolic link leads out of the repo"))
}

/// Resolves symbolic links in a path. `target` returns the text of the link at a path, if there is
/// one. Returns `None` if a link leads out of the repo, or links form a cycle.
pub(super) fn resolve(
    path: &Utf8Path,
    target: impl Fn(&Utf8Path) -> Option<Utf8PathBuf>,
) -> Option<Utf8PathBuf> {
    let mut resolved = Utf8PathBuf::new();
    let mut rest: Vec<String> = parts(path);
    let mut followed = 0;
    while let Some(part) = rest.pop() {
        match part.as_str() {
            ".." => resolved.pop().then_some(())?,
            _ => resolved.push(&part),
        }
        if let Some(target) = target(&resolved) {
            followed += 1;
            // An absolute target depends on the machine, so it is outside of the repo.
            if target.is_absolute() || followed > MOST {
                return None;
            }
            // A relative target starts in the link's own directory.
            resolved.pop();
            rest.extend(parts(&target));
        }
    }
    Some(resolved)
}

/// Returns the components of a path in reverse order.
fn parts(path: &Utf8Path) -> Vec<String> {
    let parts = path.components().rev().filter(|part| *part != Utf8Component::CurDir);
    parts.map(|part| part.as_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_as_far_as_they_stay_inside() {
        let target = |path: &Utf8Path| {
            let links = [
                ("a", "b/c"),
                ("b/c", "./d"),
                ("up", "../x"),
                ("dir/link", "../b/d"),
                ("loop", "loop"),
                ("abs", "/x"),
            ];
            links
                .iter()
                .find(|(link, _)| path == *link)
                .map(|(_, target)| Utf8PathBuf::from(target))
        };
        for (path, expected) in [
            ("b/d", Some("b/d")),
            ("a", Some("b/d")),
            ("a/e", Some("b/d/e")),
            ("dir/link", Some("b/d")),
            ("up", None),
            ("loop", None),
            ("abs/y", None),
        ] {
            assert_eq!(
                resolve(path.into(), target).as_deref(),
                expected.map(Utf8Path::new),
                "{path}"
            );
        }
    }
}
