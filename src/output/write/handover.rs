//! Order of changes to files of hosts in which no host is ever in two files.
//!
//! kustomize would apply a host in the files of two clusters to both. So a file that loses a host
//! is changed before the file that gains it. A file that also gains hosts of others is removed
//! first and written last.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::api::names::HostKey;
use crate::base::layout;
use crate::output::compare::Change;
use crate::site::previous::hosts_in_generated;

/// A change on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStep<'a> {
    /// Write a file's new text.
    Put(&'a Utf8Path),
    /// Remove a file.
    Remove(&'a Utf8Path),
}

/// A file whose hosts change.
struct HostFile<'a> {
    path: &'a Utf8Path,
    /// Set if it exists afterwards.
    stays: bool,
    gains: BTreeSet<HostKey>,
    loses: BTreeSet<HostKey>,
}

/// Returns the steps for changes below `output`: files of hosts, then other files to write, then
/// other files to remove.
pub(super) fn steps<'a>(
    changes: &'a BTreeMap<Utf8PathBuf, Change>,
    output: &Utf8Path,
) -> Vec<WriteStep<'a>> {
    let hosts = output.join(layout::HOSTS);
    let has_hosts = |path: &Utf8Path| path.starts_with(&hosts) && !layout::is_kustomization(path);
    let (host_files, others): (Vec<_>, Vec<_>) =
        changes.iter().partition(|(path, _)| has_hosts(path));
    let is_new = |(_, change): &(_, &Change)| change.before.is_none();
    let mut steps: Vec<WriteStep<'_>> = if host_files.iter().all(is_new) {
        // A file that did not exist has no hosts to lose, so the order does not matter.
        host_files.into_iter().map(|(path, _)| WriteStep::Put(path)).collect()
    } else {
        let files = host_files.into_iter();
        in_order(&files.map(|(path, change)| host_file(path, change)).collect::<Vec<_>>())
    };
    steps.extend(puts_and_removals(others));
    steps
}

/// Returns the steps for changes whose order does not matter: files to write, then files to remove.
pub(super) fn puts_and_removals<'a>(
    changes: impl IntoIterator<Item = (&'a Utf8PathBuf, &'a Change)>,
) -> Vec<WriteStep<'a>> {
    let (written, removed): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|(_, change)| change.texts().1.is_some());
    let written = written.into_iter().map(|(path, _)| WriteStep::Put(path));
    written.chain(removed.into_iter().map(|(path, _)| WriteStep::Remove(path))).collect()
}

fn host_file<'a>(path: &'a Utf8Path, change: &Change) -> HostFile<'a> {
    let file: Arc<Utf8Path> = Arc::from(path);
    let hosts = |text: &String| hosts_in_generated(&file, text);
    let had = change.before.as_ref().map(hosts).unwrap_or_default();
    let has = change.after.as_ref().map(hosts).unwrap_or_default();
    HostFile { path, stays: change.after.is_some(), gains: &has - &had, loses: &had - &has }
}

/// Sorts the files so that all hosts that move are lost before any is gained.
fn in_order<'a>(files: &[HostFile<'a>]) -> Vec<WriteStep<'a>> {
    let gained: HashSet<&HostKey> = files.iter().flat_map(|file| &file.gains).collect();
    let lost: HashSet<&HostKey> = files.iter().flat_map(|file| &file.loses).collect();
    let gives = |file: &HostFile<'_>| file.loses.iter().any(|host| gained.contains(host));
    let takes = |file: &HostFile<'_>| file.gains.iter().any(|host| lost.contains(host));
    let step = |HostFile { path, stays, .. }: &HostFile<'a>| {
        if *stays { WriteStep::Put(path) } else { WriteStep::Remove(path) }
    };
    let first = files.iter().filter(|file| gives(file)).map(|file| match takes(file) {
        true => WriteStep::Remove(file.path),
        false => step(file),
    });
    let last = files.iter().filter(|file| takes(file) || !gives(file)).map(step);
    first.chain(last).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a file with numbered hosts.
    fn text(hosts: &BTreeSet<usize>) -> String {
        let host = |number: &usize| {
            format!(
                "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: host-{number}\n  \
                 namespace: metal\n  labels:\n    sip.airshipit.org/cluster-namespace: a\n    \
                 sip.airshipit.org/cluster-name: a\n    sip.airshipit.org/node-type: Worker\n"
            )
        };
        layout::header("test") + &hosts.iter().map(host).collect::<String>()
    }

    /// Distributes eight hosts over four files; numbers from four on mean no file.
    fn files(of: &[usize]) -> BTreeMap<Utf8PathBuf, BTreeSet<usize>> {
        let mut files: BTreeMap<Utf8PathBuf, BTreeSet<usize>> = BTreeMap::new();
        for (host, file) in of.iter().enumerate().filter(|(_, file)| **file < 4) {
            files
                .entry(format!("overlays/hosts/declared/r/a.{file}.yaml").into())
                .or_default()
                .insert(host);
        }
        files
    }

    proptest! {
        #[test]
        fn no_host_is_ever_in_two_files_and_all_files_are_right_in_the_end(
            before in prop::collection::vec(0_usize..6, 8),
            after in prop::collection::vec(0_usize..6, 8),
        ) {
            let (before, after) = (files(&before), files(&after));
            let paths: BTreeSet<&Utf8PathBuf> = before.keys().chain(after.keys()).collect();
            let changes: BTreeMap<Utf8PathBuf, Change> = paths.into_iter().filter_map(|path| {
                let [before, after] = [&before, &after].map(|files| files.get(path).map(text));
                let change = Change::between(before, after)?;
                Some((path.clone(), change))
            }).collect();

            let mut disk = before.clone();
            for step in steps(&changes, Utf8Path::new("overlays")) {
                match step {
                    WriteStep::Put(path) => disk.insert(path.to_owned(), after[path].clone()),
                    WriteStep::Remove(path) => disk.remove(path),
                };
                let hosts: Vec<usize> = disk.values().flatten().copied().collect();
                let distinct: BTreeSet<usize> = hosts.iter().copied().collect();
                prop_assert_eq!(hosts.len(), distinct.len(), "{:?}", disk);
            }
            prop_assert_eq!(disk, after);
        }
    }
}
