//! What a repo holds: its files, and what git says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use walkdir::{DirEntry, WalkDir};

use crate::faults::traced::prepare;
use crate::support::{documents, text};

/// Where copies of repos are: in memory, if the machine has such a place.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A copy of a repo, git's part of it included.
pub(crate) fn copy_of(repo: &Path) -> TempDir {
    let copy = scratch();
    crate::support::copy(repo, copy.path());
    copy
}

/// The files of a repo, and what git says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub directories: BTreeSet<PathBuf>,
    pub status: String,
}

impl State {
    pub(crate) fn of(repo: &Path) -> Self {
        let mut state = Self {
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            status: git(repo, &["status", "--porcelain", "--untracked-files=all"]).unwrap(),
        };
        let is_not_gits = |entry: &DirEntry| entry.file_name() != ".git";
        for entry in WalkDir::new(repo).min_depth(1).into_iter().filter_entry(is_not_gits) {
            let entry = entry.unwrap();
            let path = entry.path().strip_prefix(repo).unwrap().to_owned();
            if entry.file_type().is_dir() {
                state.directories.insert(path);
            } else {
                state.files.insert(path, fs::read(entry.path()).unwrap());
            }
        }
        state
    }

    /// What is another way in another state, for people.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let paths: BTreeSet<_> = self.files.keys().chain(other.files.keys()).collect();
        let files: Vec<_> = paths
            .into_iter()
            .filter(|path| self.files.get(*path) != other.files.get(*path))
            .collect();
        let directories: Vec<_> =
            self.directories.symmetric_difference(&other.directories).collect();
        format!(
            "files {files:?}\ndirectories {directories:?}\nstatus {:?} {:?}",
            self.status, other.status
        )
    }

    /// The generated files that are in place.
    fn generated(&self) -> impl Iterator<Item = (&PathBuf, &Vec<u8>)> {
        let is_staged =
            |path: &Path| path.iter().any(|name| name.to_string_lossy().starts_with(".sipgen-"));
        self.files.iter().filter(move |(path, _)| path.starts_with("overlays") && !is_staged(path))
    }

    /// The files that name each host.
    pub(crate) fn hosts(&self) -> BTreeMap<String, Vec<String>> {
        let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let is_of_hosts = |path: &Path| {
            path.starts_with("overlays/hosts") && !path.ends_with("kustomization.yaml")
        };
        for (path, content) in self.generated().filter(|(path, _)| is_of_hosts(path)) {
            for host in documents(&text(content)) {
                let name =
                    |key: &str| host["metadata"][key].as_str().unwrap_or_default().to_owned();
                let host = format!("{}/{}", name("namespace"), name("name"));
                hosts.entry(host).or_default().push(path.to_str().unwrap().to_owned());
            }
        }
        hosts
    }

    /// Why no run may leave such files, if there is a reason: one is neither as it was nor as it is to be, or one host is
    /// in two.
    pub(crate) fn torn(&self, before: &Self, after: &Self) -> Option<String> {
        for (path, content) in self.generated() {
            if before.files.get(path) != Some(content) && after.files.get(path) != Some(content) {
                return Some(format!("{} is not whole", path.display()));
            }
        }
        let (host, files) = self.hosts().into_iter().find(|(_, files)| files.len() > 1)?;
        Some(format!("{host} is in {files:?}"))
    }
}

/// What git prints; what it says when it fails.
pub(crate) fn git(repo: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.args([
        "--no-optional-locks",
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.com",
    ]);
    let output = prepare(command.args(arguments).current_dir(repo)).output().unwrap();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
