//! The files to read: those named like resources, and those that kustomizations list under any
//! name.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use crate::base::api::host;
use crate::base::api::kustomization::FILE_NAMES;
use crate::base::finding::{Code, Finding, Place};
use crate::input::kustomize::Builds;
use crate::input::load::{EntryKind, Files, may_hold_resources, mentions};
use crate::site::request::ClusterKind;

/// Separates files from findings for those that are too large.
pub(super) fn not_too_large(
    repo: &Files,
    mut files: Vec<Utf8PathBuf>,
) -> (Vec<Utf8PathBuf>, Vec<Finding>) {
    let words = [&ClusterKind::marks()[..], &[host::KIND]].concat();
    let judge = |file: &Utf8PathBuf| {
        let reason = repo.refused_for_size(file, &words)?;
        let message = format!("{file} may have hosts or requests, but is not read: {reason}");
        let finding = Finding::new(Code::Unreadable, message)
            .at(Place::File(Arc::from(file.as_path())))
            .help("split it, such as into one file per rack; list it in .gitignore if it is not an input");
        Some(finding)
    };
    let refused: Vec<Option<Finding>> = files.par_iter().map(judge).collect();
    let mut each = refused.iter();
    files.retain(|_| each.next().is_none_or(Option::is_none));
    (files, refused.into_iter().flatten().collect())
}

/// Returns the files that kustomizations list under unusual names, and findings for listed paths
/// that cannot be read. kustomize applies a listed file under any name, and follows links.
pub(super) fn listed_elsewhere(
    repo: &Files,
    builds: &Builds,
    files: &[Utf8PathBuf],
    output: &Utf8Path,
    ours: &impl Fn(&[u8]) -> bool,
) -> (Vec<Utf8PathBuf>, Vec<Finding>) {
    let (mut listed, mut findings) = (Vec::new(), Vec::new());
    for path in builds.listed() {
        if path.starts_with(output) || files.binary_search(path).is_ok() {
            continue;
        }
        let why = match repo.kind(path) {
            _ if repo.has_link(path) => {
                if is_harmless_link(repo, builds, path, ours) {
                    continue;
                }
                "it is behind a symbolic link"
            }
            Some(EntryKind::File) if !may_hold_resources(path) => {
                listed.push(path.clone());
                continue;
            }
            Some(EntryKind::Other) => "it is a pipe, a device or a socket",
            _ => continue,
        };
        let place = builds.place_of_listed(path);
        let message = format!("{} lists {path}, which is not read: {why}", place.file());
        let finding = Finding::new(Code::ListedUnread, message);
        let what = repo.resolve(path).map_or("the file".to_owned(), |target| format!("`{target}`"));
        let help = format!("list {what} itself, or put a plain file in its place");
        findings.push(finding.at(place).help(help));
    }
    findings.extend(linked_kustomizations(repo, builds, files, output, ours));
    listed.sort();
    (listed, findings)
}

/// Returns findings for kustomizations that are symbolic links, beside hosts or requests or in their
/// builds.
fn linked_kustomizations(
    repo: &Files,
    builds: &Builds,
    files: &[Utf8PathBuf],
    output: &Utf8Path,
    ours: &impl Fn(&[u8]) -> bool,
) -> Vec<Finding> {
    let has = |file: &Utf8PathBuf, is_ours: &dyn Fn(&[u8]) -> bool| {
        repo.text(file).is_some_and(|text| is_ours(text.as_bytes()))
    };
    let decides = decides();
    let is_beside = |directory: &Utf8Path| {
        files.iter().any(|file| file.starts_with(directory) && has(file, ours))
            || builds.listed_by(directory).flat_map(|by| builds.roots_of(by)).any(|root| {
                let mut below = builds.below(&builds.root(root).directory).into_keys();
                below.any(|file| has(&file, &decides))
            })
    };
    let parents = files.iter().filter_map(|file| file.parent());
    let directories: BTreeSet<&Utf8Path> =
        parents.chain(builds.listed().map(Utf8PathBuf::as_path)).collect();
    let directories = directories
        .into_iter()
        .filter(|directory| !directory.starts_with(output) && !repo.has_link(directory));
    let links = directories.filter_map(|directory| {
        let mut names = FILE_NAMES.iter().map(|name| directory.join(name));
        Some((directory, names.find(|file| repo.kind(file) == Some(EntryKind::Link))?))
    });
    let finding = |(_, link): (&Utf8Path, Utf8PathBuf)| {
        Finding::new(Code::ListedUnread, format!("{link} is not read: it is a symbolic link"))
            .at(Place::File(Arc::from(link)))
            .help("put a plain file in its place")
    };
    links.filter(|(directory, _)| is_beside(directory)).map(finding).collect()
}

/// Returns the check that a text may have hosts or requests.
fn decides() -> impl Fn(&[u8]) -> bool {
    mentions(&[&ClusterKind::marks()[..], &[host::KIND]].concat())
}

/// Returns whether nothing that sipgen reads is behind a link. A directory must not change hosts or
/// requests of the builds that list the link either.
fn is_harmless_link(
    repo: &Files,
    builds: &Builds,
    path: &Utf8Path,
    ours: &impl Fn(&[u8]) -> bool,
) -> bool {
    let Some(target) = repo.resolve(path) else { return false };
    let has_none = |directory: &Utf8Path, is_ours: &dyn Fn(&[u8]) -> bool| {
        let mut files = builds.below(directory).into_keys();
        files.all(|file| {
            file == *path || repo.text(&file).is_some_and(|text| !is_ours(text.as_bytes()))
        })
    };
    let decides = decides();
    let mut roots = builds.listed_by(path).flat_map(|directory| builds.roots_of(directory));
    match repo.kind(&target) {
        Some(EntryKind::File) => repo.text(&target).is_some_and(|text| !ours(text.as_bytes())),
        Some(EntryKind::Directory) => {
            builds.has_kustomization(&target)
                && has_none(&target, ours)
                && roots.all(|root| has_none(&builds.root(root).directory, &decides))
        }
        _ => false,
    }
}
