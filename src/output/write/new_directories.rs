//! New directories, which are built aside and renamed into their places.
//!
//! A file in an existing directory takes two entries, a temporary and its own. A first generation
//! has thousands of files, so its directories are built with all their files first, and take one
//! rename each.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use super::{WriteError, remove};

/// Name of the directory in the output directory where they are built. It matches the pattern of
/// temporary files, so no other code treats its files as generated.
const NAME: &str = ".sipgen-new.tmp";

/// A text and the file that gets it.
type Text<'a> = (&'a Utf8Path, &'a str);

/// Complete new directories, not yet in their places.
pub(super) struct NewDirectories<'a> {
    root: &'a Utf8Path,
    /// The directory where they are built, below numbers.
    aside: Utf8PathBuf,
    directories: Vec<NewDirectory<'a>>,
    /// The index of each file's directory.
    directory_indices: HashMap<&'a str, usize>,
}

/// An outermost directory that did not exist.
struct NewDirectory<'a> {
    path: &'a Utf8Path,
    /// Number of its files whose turn has not yet come.
    waiting: usize,
}

impl<'a> NewDirectories<'a> {
    /// Finds the directories below `output` that do not exist, and builds them of their files.
    /// Returns the files in other directories, too. The files are in the order of their paths.
    pub(super) fn build(
        root: &'a Utf8Path,
        output: &'a Utf8Path,
        files: Vec<Text<'a>>,
    ) -> Result<(Self, Vec<Text<'a>>), WriteError> {
        let mut new = Self {
            root,
            aside: place(root, output),
            directories: Vec::new(),
            directory_indices: HashMap::new(),
        };
        let mut existing = HashSet::from([output.as_str()]);
        let (mut contents, mut others) = (Vec::new(), Vec::new());
        for (path, text) in files {
            let last = new.directories.last_mut();
            match last.filter(|last| is_below(path, last.path)) {
                Some(last) => last.waiting += 1,
                None => match outermost_missing(root, path, &mut existing) {
                    Some(path) => new.directories.push(NewDirectory { path, waiting: 1 }),
                    None => {
                        others.push((path, text));
                        continue;
                    }
                },
            }
            let index = new.directories.len() - 1;
            new.directory_indices.insert(path.as_str(), index);
            contents.push((new.aside_of(index, path), text));
        }
        for directory in &new.directories {
            may_create(&root.join(directory.path))?;
        }
        if !contents.is_empty() {
            // One thread fills a directory, because the kernel locks it for each new entry.
            let by_directory: Vec<_> = contents
                .chunk_by(|(a, _), (b, _)| {
                    a.parent().map(Utf8Path::as_str) == b.parent().map(Utf8Path::as_str)
                })
                .collect();
            by_directory.into_par_iter().try_for_each(fill)?;
        }
        Ok((new, others))
    }

    /// Returns the temporary path of a file in the directory with this index.
    fn aside_of(&self, index: usize, file: &Utf8Path) -> Utf8PathBuf {
        let top = self.directories[index].path.as_str();
        Utf8PathBuf::from(format!("{}/{index}{}", self.aside, &file.as_str()[top.len()..]))
    }

    /// Renames the directory of a file when the turn of its last file has come. Nothing waits for a
    /// new file, so it may come later than its turn.
    pub(super) fn put(&mut self, file: &Utf8Path) -> Result<(), WriteError> {
        let Some(index) = self.directory_indices.get(file.as_str()).copied() else {
            return Ok(());
        };
        let directory = &mut self.directories[index];
        directory.waiting -= 1;
        if directory.waiting > 0 {
            return Ok(());
        }
        let path = self.root.join(directory.path);
        fs::rename(self.aside.join(index.to_string()), &path)
            .map_err(WriteError::refused("write", path))
    }
}

impl Drop for NewDirectories<'_> {
    fn drop(&mut self) {
        // What remains after a failure is removed by the next run.
        let _ = fs::remove_dir_all(&self.aside);
    }
}

/// Returns whether a file is in the new directories of a run, by path relative to the repo's root.
pub(super) fn contains(output: &Utf8Path, file: &Utf8Path) -> bool {
    file.starts_with(output.join(NAME))
}

/// Removes the new directories of a run that was killed.
pub(super) fn remove_leftovers(root: &Utf8Path, output: &Utf8Path) -> Result<(), WriteError> {
    let path = place(root, output);
    match fs::remove_dir_all(&path) {
        // Only a commit can have a file of this name.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => remove(&path),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WriteError::refused("delete", path)(error))
        }
        _ => Ok(()),
    }
}

/// Returns whether a file is below a directory. Texts are compared faster than components.
fn is_below(file: &Utf8Path, directory: &Utf8Path) -> bool {
    let below = file.as_str().strip_prefix(directory.as_str());
    below.is_some_and(|below| below.starts_with('/'))
}

fn place(root: &Utf8Path, output: &Utf8Path) -> Utf8PathBuf {
    root.join(output).join(NAME)
}

/// Returns the outermost directory above a file that does not exist.
fn outermost_missing<'a>(
    root: &Utf8Path,
    file: &'a Utf8Path,
    existing: &mut HashSet<&'a str>,
) -> Option<&'a Utf8Path> {
    let mut missing = None;
    for directory in file.ancestors().skip(1) {
        if existing.contains(directory.as_str()) {
            break;
        }
        if fs::symlink_metadata(root.join(directory)).is_ok() {
            existing.insert(directory.as_str());
            break;
        }
        missing = Some(directory);
    }
    missing
}

/// Checks that a directory can be created, before anything is changed.
fn may_create(directory: &Utf8Path) -> Result<(), WriteError> {
    fs::create_dir(directory)
        .and_then(|()| fs::remove_dir(directory))
        .map_err(WriteError::refused("create the directory", directory.to_owned()))
}

/// Creates the directory of some files, and writes them.
fn fill(files: &[(Utf8PathBuf, &str)]) -> Result<(), WriteError> {
    if let Some(directory) = files.first().and_then(|(path, _)| path.parent()) {
        fs::create_dir_all(directory)
            .map_err(WriteError::refused("create the directory", directory.to_owned()))?;
    }
    for (path, text) in files {
        File::create_new(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(WriteError::refused("write", path.clone()))?;
    }
    Ok(())
}
