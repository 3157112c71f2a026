//! Finds the files of a repo and reads their documents in parallel.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::string::FromUtf8Error;
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

/// What is made of a file at first sight, by its path and content.
pub struct FirstLook<T> {
    /// What the file says as a whole.
    pub says: Option<T>,
    /// Whether its documents are to be read.
    pub read: bool,
}

impl<T> From<bool> for FirstLook<T> {
    /// A file that says nothing as a whole.
    fn from(read: bool) -> Self {
        Self { says: None, read }
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
        self.plain_text(file).ok().flatten()
    }

    /// The text of a file of the worktree; none when there is no such file.
    ///
    /// # Errors
    ///
    /// When it is not a plain file, is not text or cannot be read.
    pub fn plain_text(&self, file: &Utf8Path) -> io::Result<Option<String>> {
        let path = self.root.join(file);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            // A pipe would never end.
            Ok(found) if !found.is_file() => return Err(io::Error::other("it is no plain file")),
            Ok(_) => {}
        }
        decode(fs::read(&path)?).map(Some).map_err(|_| io::Error::other("it is not text in UTF-8"))
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
        let mut files: BTreeSet<Utf8PathBuf> =
            self.tracked()?.into_iter().filter(|file| !file.starts_with(skip)).collect();
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

    /// The candidates that git tracks and that are there as plain files; none where there is no git repo.
    fn tracked(&self) -> Result<Vec<Utf8PathBuf>, ReadError> {
        let repo = match git2::Repository::discover(&self.root) {
            Ok(repo) => repo,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.git_error(&error)),
        };
        let index = repo.index().map_err(|error| self.git_error(&error))?;
        let canonical = |path: &Utf8Path| path.canonicalize_utf8().map_err(|error| ReadError::new(path, error));
        let Some(workdir) = repo.workdir().and_then(Utf8Path::from_path) else { return Ok(Vec::new()) };
        let (workdir, root) = (canonical(workdir)?, canonical(&self.root)?);
        let Ok(prefix) = root.strip_prefix(&workdir) else { return Ok(Vec::new()) };
        let paths = index.iter().filter_map(|entry| String::from_utf8(entry.path).ok()).map(Utf8PathBuf::from);
        let below = paths.filter_map(|path| Some(path.strip_prefix(prefix).ok()?.to_owned()));
        let is_plain =
            |file: &Utf8PathBuf| fs::symlink_metadata(self.root.join(file)).is_ok_and(|found| found.is_file());
        Ok(below.filter(|path| is_candidate(path)).filter(is_plain).collect())
    }

    /// Without git, nobody knows which files are tracked although they are ignored.
    fn git_error(&self, error: &git2::Error) -> ReadError {
        ReadError::new(&self.root, io::Error::other(format!("git says: {}", error.message())))
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

    /// Takes a look at each of `files`, cuts those that are to be read into documents, and hands each to
    /// `interpret`, on all cores. The results keep the order of the files and documents; what a file says as a
    /// whole comes before its documents.
    pub fn scan<T: Send, L: Into<FirstLook<T>>>(
        &self,
        files: &[Utf8PathBuf],
        look: impl Fn(&Utf8Path, &[u8]) -> L + Sync,
        interpret: impl Fn(Document<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let read = |file: &Utf8PathBuf| -> Result<Vec<T>, ReadError> {
            let bytes = in_utf8(self.read(file)?);
            let FirstLook { says, read } = look(file, &bytes).into();
            if !read {
                return Ok(says.into_iter().collect());
            }
            // Not text: what is left of it meets the parser, which says where it fails.
            let text = decode(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let file: Arc<Utf8Path> = Arc::from(file.as_path());
            let documents = document::objects(&file, &text).into_par_iter().filter_map(&interpret);
            Ok(says.into_par_iter().chain(documents).collect())
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

/// The text of a file, without a byte order mark; the bytes when they are not UTF-8.
fn decode(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    let text = String::from_utf8(in_utf8(bytes)).map_err(FromUtf8Error::into_bytes)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// A shell of Windows writes what it redirects as UTF-16, with a byte order mark.
fn in_utf8(bytes: Vec<u8>) -> Vec<u8> {
    let unit: fn([u8; 2]) -> u16 = match bytes.as_slice() {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return bytes,
    };
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into_bytes()
}
