//! Changes that turn the output directory into the rendered tree.
//!
//! `worktree` maps changes of git's index to the disk.

pub(crate) mod missing_entries;
mod worktree;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::{counted, has_conflicts};
use crate::base::tree::{Tree, TreePath, above};
use crate::input::load::{EntryKind, Files, ReadError};
use crate::site::Site;

pub use worktree::in_worktree;

/// Maximum number of foreign files in a warning.
const FOREIGN_SHOWN: usize = 5;

/// Changes by path relative to the repo's root, without unchanged files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputChanges {
    /// Changed files.
    pub files: BTreeMap<Utf8PathBuf, Change>,
    /// Temporary files of a killed run, to be deleted silently.
    pub leftovers: Vec<Utf8PathBuf>,
}

/// The texts of a file before and after; `None` where it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Text on the disk.
    pub before: Option<String>,
    /// Its new text.
    pub after: Option<String>,
}

impl Change {
    /// Returns the change of a file from one text to another; `None` if there is none.
    pub fn between(before: Option<String>, after: Option<String>) -> Option<Self> {
        (before != after).then_some(Self { before, after })
    }

    /// Returns the text before and after.
    pub fn texts(&self) -> (Option<&str>, Option<&str>) {
        (self.before.as_deref(), self.after.as_deref())
    }

    /// Returns whether only the comment that names the input changes.
    pub fn is_in_mark_only(&self) -> bool {
        let both = self.before.as_ref().zip(self.after.as_ref());
        both.is_some_and(|(before, after)| layout::differ_in_mark_only(before, after))
    }
}

impl OutputChanges {
    /// Returns the changes that turn one tree of an output directory into another.
    pub fn between(before: &Tree, after: &Tree, output: &Utf8Path) -> Self {
        let paths: BTreeSet<&TreePath> = before.keys().chain(after.keys()).collect();
        let differs = |path: &&TreePath| before.get(*path) != after.get(*path);
        let changes = paths.into_iter().filter(differs).filter_map(|path| {
            let change = Change::between(before.get(path).cloned(), after.get(path).cloned())?;
            Some((output.join(path), change))
        });
        OutputChanges { files: changes.collect(), leftovers: Vec::new() }
    }

    /// Returns the generated files of an output directory after the changes, by path relative to it.
    /// The files of the rendered `tree` are not read.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn applied(&self, repo: &Files, output: &Utf8Path, tree: &Tree) -> Result<Tree, ReadError> {
        let unchanged = |path: &Utf8PathBuf| {
            let file = path.strip_prefix(output).ok()?;
            let is_stale = self.files.get(path).is_some_and(|change| change.after.is_none());
            if is_stale || tree.contains_key(file.as_str()) || layout::is_leftover(file) {
                return None;
            }
            let text = |content: Vec<u8>| {
                layout::is_ours(&content).then(|| (TreePath::from(file), layout::text_of(&content)))
            };
            repo.read(path).map(text).transpose()
        };
        let files = repo.files_below(output)?;
        let unchanged = files.par_iter().filter_map(unchanged);
        let mut all = unchanged.collect::<Result<Vec<_>, ReadError>>()?;
        all.extend(tree.iter().map(|(path, text)| (path.clone(), text.clone())));
        // To sort all is faster than to insert one by one.
        Ok(all.into_iter().collect())
    }
}

/// The result of comparing a path below the output directory.
enum PathComparison {
    Unchanged,
    Changed(Change),
    /// Not generated, and not at a path of a generated file.
    Foreign,
    /// Not generated, at the path of a generated file.
    InTheWay(&'static str),
    Leftover,
}

impl PathComparison {
    /// Compares the content of a file with its rendered text, if there is one.
    fn new(content: &[u8], rendered: Option<&str>) -> Self {
        let ours = layout::is_ours(content);
        let before = || layout::text_of(content);
        match rendered {
            // A checkout with `core.autocrlf` does not make files stale.
            Some(after) if layout::differ_in_line_ends_only(after.as_bytes(), content) => {
                Self::Unchanged
            }
            // A machine crash may leave generated files empty.
            Some(_) if !ours && has_conflicts(&before()) => {
                Self::InTheWay("a file with conflict markers of git")
            }
            Some(_) if !ours && !content.is_empty() => {
                Self::InTheWay("a file without sipgen's first line")
            }
            None if !ours => Self::Foreign,
            after => {
                Self::Changed(Change { before: Some(before()), after: after.map(str::to_owned) })
            }
        }
    }
}

/// Compares the rendered tree with the output directory, from which the site's state has been read.
///
/// Files in `kept` stay unchanged. Of the tree, only `new_files` are compared with the disk: all
/// others are known to be up to date.
///
/// # Errors
///
/// Fails if a file or directory cannot be read.
pub fn compare(
    repo: &Files,
    site: &Site,
    tree: &Tree,
    new_files: &BTreeSet<TreePath>,
    kept: &BTreeSet<&str>,
) -> Result<(OutputChanges, Vec<Finding>), ReadError> {
    let (output, state) = (&site.settings.output, &site.state);
    // A link above the output directory could lead out of the repo.
    if let Some((path, what)) = obstacle_above(repo, output) {
        return Ok((OutputChanges::default(), vec![in_the_way(&path, what)]));
    }
    let kept_files = kept.iter().map(|path| Utf8Path::new(*path));
    let files: Vec<&Utf8Path> = tree.keys().map(|path| &**path).chain(kept_files).collect();
    let directories: HashSet<&str> =
        above(files.iter().copied()).into_iter().map(Utf8Path::as_str).collect();
    let clashing = files.iter().filter(|path| directories.contains(path.as_str()));
    let clashes: Vec<Finding> = clashing.map(|path| both(&output.join(path))).collect();
    if !clashes.is_empty() {
        return Ok((OutputChanges::default(), clashes));
    }
    // Flux applies every YAML file of a directory without a kustomization, so those of kept files
    // stay.
    let with_kept: HashSet<&str> =
        kept.iter().filter_map(|path| Some(path.rsplit_once('/')?.0)).collect();
    let is_beside_kept = |path: &Utf8Path| {
        let directory = path.parent().unwrap_or(Utf8Path::new(""));
        // kustomize refuses a directory with two kustomizations.
        let mut names = [layout::KUSTOMIZATION, layout::HOST_COMPONENT].into_iter();
        layout::is_kustomization(path)
            && with_kept.contains(directory.as_str())
            && !names.any(|name| tree.contains_key(directory.join(name).as_str()))
    };
    // A directory matters only in the way of a file.
    let matters = |(path, kind): &&(Utf8PathBuf, EntryKind)| match kind {
        EntryKind::Directory => tree.contains_key(path.as_str()),
        _ => !kept.contains(path.as_str()) && !is_beside_kept(path),
    };
    let entries: Vec<&(Utf8PathBuf, EntryKind)> = state.entries.iter().filter(matters).collect();
    let judge = |(path, kind): &&(Utf8PathBuf, EntryKind)| {
        let rendered = tree.get(path.as_str());
        let is_directory = directories.contains(path.as_str());
        Ok(match kind {
            EntryKind::File if is_directory => {
                PathComparison::InTheWay("a file where a directory is required")
            }
            EntryKind::File if layout::is_leftover(path) => PathComparison::Leftover,
            EntryKind::File if rendered.is_some() && !new_files.contains(path.as_str()) => {
                PathComparison::Unchanged
            }
            EntryKind::File => {
                PathComparison::new(&repo.read(&output.join(path))?, rendered.map(String::as_str))
            }
            _ if rendered.is_none() && !is_directory => PathComparison::Foreign,
            EntryKind::Directory => PathComparison::InTheWay("a directory"),
            EntryKind::Link => PathComparison::InTheWay("a symbolic link"),
            EntryKind::Other => PathComparison::InTheWay("not a regular file"),
        })
    };
    let found: Vec<PathComparison> =
        entries.par_iter().map(judge).collect::<Result<_, ReadError>>()?;

    let there = state.entries.iter().map(|(path, _)| path.as_str());
    let there: HashSet<&str> = there.filter(|path| new_files.contains(*path)).collect();
    let created =
        new_files.iter().filter(|path| !there.contains(path.as_str())).filter_map(|path| {
            let after = tree.get(path.as_str())?.clone();
            Some((output.join(path), Change { before: None, after: Some(after) }))
        });
    // Collecting compares paths far less often than insertion one by one.
    let mut changes = OutputChanges { files: created.collect(), leftovers: Vec::new() };
    let (mut findings, mut foreign) = (Vec::new(), Vec::new());
    for ((path, _), found) in entries.into_iter().zip(found) {
        let path = output.join(path);
        match found {
            PathComparison::Unchanged => {}
            PathComparison::Changed(change) => drop(changes.files.insert(path, change)),
            PathComparison::Foreign => foreign.push(path),
            PathComparison::InTheWay(what) => findings.push(in_the_way(&path, what)),
            PathComparison::Leftover => changes.leftovers.push(path),
        }
    }
    findings.extend((!foreign.is_empty()).then(|| left_alone(output, &foreign)));
    Ok((changes, findings))
}

/// Returns an existing part of the path to the output directory that is not a directory.
fn obstacle_above(repo: &Files, output: &Utf8Path) -> Option<(Utf8PathBuf, &'static str)> {
    let mut above = output.ancestors().filter(|path| !path.as_str().is_empty());
    above.find_map(|path| {
        let what = match repo.kind(path)? {
            EntryKind::Directory => return None,
            EntryKind::Link => "a symbolic link",
            EntryKind::File | EntryKind::Other => "not a directory",
        };
        Some((path.to_owned(), what))
    })
}

fn in_the_way(path: &Utf8Path, what: &str) -> Finding {
    let message = format!("`{path}` is {what}: sipgen did not write it and does not replace it");
    Finding::new(Code::ForeignFile, message)
        .at(Place::File(Arc::from(path)))
        .help("move it away or delete it, or set `output` in sipgen.yaml to another directory")
}

/// Reports a generated file at a path where another one requires a directory.
fn both(path: &Utf8Path) -> Finding {
    let message = format!("generated files need `{path}` both as a file and as a directory");
    Finding::new(Code::PathTwice, message)
        .at(Place::File(Arc::from(path)))
        .help("rename the host directory that has the same name as a cluster's patches")
}

fn left_alone(output: &Utf8Path, foreign: &[Utf8PathBuf]) -> Finding {
    let shown = foreign.iter().take(FOREIGN_SHOWN);
    let message = format!("sipgen did not write {} in `{output}`", counted(foreign.len(), "file"));
    Finding::new(Code::ForeignFiles, message)
        .help("move your own files elsewhere; sipgen leaves them unchanged")
        .at_each(shown.map(|path| Place::File(Arc::from(path.as_path()))))
}
