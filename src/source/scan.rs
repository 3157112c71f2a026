//! Finds the files of a repo and reads their documents in parallel.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use ignore::WalkBuilder;
use memchr::memmem;
use rayon::prelude::*;
use walkdir::WalkDir;

use super::document::{self, Document};

/// A directory of files, usually a git worktree.
#[derive(Debug, Clone)]
pub struct Worktree {
    root: Utf8PathBuf,
}

/// Why the files could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {source}")]
pub struct ReadError {
    path: Utf8PathBuf,
    source: io::Error,
}

impl ReadError {
    pub(crate) fn new(path: &Utf8Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }
}

/// The endings of files that can hold resources.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

impl Worktree {
    /// A worktree at a directory.
    pub fn new(root: impl Into<Utf8PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its root.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// The content of a file of the worktree, if it is there and is text.
    pub fn text(&self, file: &Utf8Path) -> Option<String> {
        fs::read_to_string(self.root.join(file)).ok().map(without_bom)
    }

    /// The content of a file of the worktree.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read(&self, file: &Utf8Path) -> Result<Vec<u8>, ReadError> {
        let path = self.root.join(file);
        fs::read(&path).map_err(|source| ReadError { path, source })
    }

    /// All files that can hold resources, relative to the root and sorted: neither those in `.git` or below
    /// `skip`, nor those that git ignores. Symbolic links are not followed.
    ///
    /// A file that git ignores is not in anybody else's clone, so reading it would give everybody else a
    /// different output. A tracked file is read even where a `.gitignore` names it, as git does.
    pub fn files(&self, skip: &Utf8Path) -> Result<Vec<Utf8PathBuf>, ReadError> {
        let mut files: BTreeSet<Utf8PathBuf> = self.tracked().filter(|file| !file.starts_with(skip)).collect();
        let skipped = self.root.join(skip);
        let walk = WalkBuilder::new(&self.root)
            .hidden(false)
            .ignore(false)
            .filter_entry(move |entry| entry.file_name() != ".git" && entry.path() != skipped.as_std_path())
            .build();
        for entry in walk {
            let entry =
                entry.map_err(|error| ReadError { path: self.root.clone(), source: io::Error::other(error) })?;
            // A path that is not UTF-8 cannot be named in a manifest, so nothing can refer to it.
            if entry.file_type().is_some_and(|kind| kind.is_file())
                && let Some(path) = Utf8Path::from_path(entry.path())
                && is_candidate(path)
                && let Ok(relative) = path.strip_prefix(&self.root)
            {
                files.insert(relative.to_owned());
            }
        }
        Ok(files.into_iter().collect())
    }

    /// The candidates that git tracks and that are there as plain files.
    fn tracked(&self) -> impl Iterator<Item = Utf8PathBuf> + '_ {
        let below_root = || -> Option<Vec<Utf8PathBuf>> {
            let repo = git2::Repository::discover(&self.root).ok()?;
            let workdir = Utf8Path::from_path(repo.workdir()?)?.canonicalize_utf8().ok()?;
            let root = self.root.canonicalize_utf8().ok()?;
            let prefix = root.strip_prefix(workdir).ok()?;
            let index = repo.index().ok()?;
            let paths = index
                .iter()
                .filter_map(|entry| Utf8PathBuf::from_path_buf(String::from_utf8(entry.path).ok()?.into()).ok())
                .filter(|path| is_candidate(path))
                .filter_map(|path| Some(path.strip_prefix(prefix).ok()?.to_owned()));
            Some(paths.collect())
        };
        below_root()
            .unwrap_or_default()
            .into_iter()
            .filter(|file| fs::symlink_metadata(self.root.join(file)).is_ok_and(|found| found.is_file()))
    }

    /// All plain files below a directory of the worktree, relative to the root and sorted; none when there is no
    /// such directory. Unlike [`Worktree::files`], whatever they are called and whether git knows them.
    pub fn files_below(&self, directory: &Utf8Path) -> Result<Vec<Utf8PathBuf>, ReadError> {
        let top = self.root.join(directory);
        if !top.exists() {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        for entry in WalkDir::new(&top).sort_by_file_name() {
            let entry = entry.map_err(|error| ReadError { path: top.clone(), source: error.into() })?;
            // A path that is not UTF-8 is none that we ever wrote.
            if entry.file_type().is_file()
                && let Some(path) = Utf8Path::from_path(entry.path())
                && let Ok(relative) = path.strip_prefix(&self.root)
            {
                files.push(relative.to_owned());
            }
        }
        Ok(files)
    }

    /// Reads those of `files` whose path and content are `wanted`, cuts them into documents, and hands each to
    /// `interpret`, on all cores. The results keep the order of the files and documents.
    pub fn scan<T: Send>(
        &self,
        files: &[Utf8PathBuf],
        wanted: impl Fn(&Utf8Path, &[u8]) -> bool + Sync,
        interpret: impl Fn(Document<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let read = |file: &Utf8PathBuf| -> Result<Vec<T>, ReadError> {
            let bytes = self.read(file)?;
            if !wanted(file, &bytes) {
                return Ok(Vec::new());
            }
            let text = match String::from_utf8(bytes) {
                Ok(text) => without_bom(text),
                // Not text: what is left of it meets the parser, which says where it fails.
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            };
            let file: Arc<Utf8Path> = Arc::from(file.as_path());
            Ok(document::objects(&file, &text).into_par_iter().filter_map(&interpret).collect())
        };
        let found = files.par_iter().map(read).collect::<Result<Vec<Vec<T>>, _>>()?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// Whether a file's content mentions one of some words, such as kinds.
pub fn mentions(words: &[&str]) -> impl Fn(&[u8]) -> bool + Sync + use<> {
    let finders: Vec<_> = words.iter().map(|word| memmem::Finder::new(word).into_owned()).collect();
    move |content| finders.iter().any(|finder| finder.find(content).is_some())
}

fn is_candidate(path: &Utf8Path) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.contains(&extension))
        || path.file_name() == Some("Kustomization")
}

fn without_bom(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}
