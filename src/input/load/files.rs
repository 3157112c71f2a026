//! The files of a repo: on the disk, in the index, in a revision, or in memory.

use std::fs;
use std::io::{self, Read};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use git2::Oid;

use super::encoding::{decode, lossy};
use super::kind::EntryKind;
use super::links;
use super::mentions::mentions;
use super::part::SitePart;
use super::stored::StoredFiles;
use super::submodules::{NAMES, Submodules};
use super::worktree::Worktree;
use crate::input::git::GitError;

/// The files of a repo, or of a directory in it, at one point in time.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub(super) root: Utf8PathBuf,
    /// The files, unless they are on the disk.
    pub(super) kept: Option<Arc<StoredFiles>>,
    pub(super) streams: Vec<Stream>,
    pub(super) additions: Vec<Stream>,
    pub(super) cover: Option<Arc<CoveringFiles>>,
    /// git's view of the files on the disk, if it was asked for.
    pub(super) worktree: Option<Arc<Worktree>>,
    /// The part that one site reads; `None` if the repo is one site.
    pub(super) part: Option<SitePart>,
}

/// Rendered objects that replace the inputs in files, or that are added to the inputs.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The name in findings.
    pub name: Arc<Utf8Path>,
    /// The content.
    pub content: Vec<u8>,
}

/// Files in memory that hide those below a directory.
#[derive(Debug)]
pub(super) struct CoveringFiles {
    pub(super) directory: Utf8PathBuf,
    pub(super) files: StoredFiles,
}

/// The reason why files could not be read.
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

/// The size limit of a file: 256 MiB, an inventory of about 30,000 hosts.
const LARGEST: u64 = 256 << 20;

/// Returns the error for a file above [`LARGEST`].
fn too_large(bytes: u64) -> io::Error {
    let (size, most) = (bytes >> 20, LARGEST >> 20);
    let message = format!("it has {size} MiB, and a file that is read has at most {most}");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

impl Files {
    /// Returns the files in a directory on the disk, usually a git worktree.
    pub fn on_disk(root: impl Into<Utf8PathBuf>) -> Self {
        Self { root: root.into(), ..Self::default() }
    }

    /// Returns the staged files below a directory of a git worktree, regardless of the disk.
    ///
    /// # Errors
    ///
    /// If git's index cannot be read or has conflicts.
    pub fn staged(root: impl Into<Utf8PathBuf>) -> Result<Self, GitError> {
        let root = root.into();
        let files = StoredFiles::staged(&root)?;
        Ok(Self::on_disk(root).with_stored(files))
    }

    /// Returns the files of a revision below a directory of a git repo, which may be bare.
    ///
    /// # Errors
    ///
    /// If the revision does not exist or cannot be read.
    pub fn at_revision(root: impl Into<Utf8PathBuf>, revision: &str) -> Result<Self, GitError> {
        let root = root.into();
        let files = StoredFiles::at_revision(&root, revision)?;
        Ok(Self::on_disk(root).with_stored(files))
    }

    /// Replaces the SIPClusters, hosts and Secrets in files by those in streams.
    pub fn with_streams(self, streams: Vec<Stream>) -> Self {
        Self { streams, ..self }
    }

    /// Returns the streams that replace the inputs in files.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Adds objects to the inputs.
    pub fn with_additions(self, additions: Vec<Stream>) -> Self {
        Self { additions, ..self }
    }

    /// Returns the objects that are added to the inputs.
    pub fn additions(&self) -> &[Stream] {
        &self.additions
    }

    /// Replaces all files below a directory. Their paths are relative to it.
    pub fn with_directory(
        self,
        directory: &Utf8Path,
        files: impl IntoIterator<Item = (impl AsRef<Utf8Path>, String)>,
    ) -> Self {
        let files = files.into_iter().map(|(path, text)| (directory.join(path), text.into_bytes()));
        let (directory, files) = (directory.to_owned(), StoredFiles::in_memory(files));
        Self { cover: Some(Arc::new(CoveringFiles { directory, files })), ..self }
    }

    /// Returns the files that decide about a path; `None` if those on the disk do.
    pub(super) fn stored(&self, path: &Utf8Path) -> Option<&StoredFiles> {
        match &self.cover {
            Some(cover) if path.starts_with(&cover.directory) => Some(&cover.files),
            _ => self.kept.as_deref(),
        }
    }

    /// Queries git about files on the disk now, instead of at each listing. The result is for a run
    /// during which git's index does not change.
    ///
    /// # Errors
    ///
    /// If git's index cannot be read.
    pub(crate) fn with_worktree(self) -> Result<Self, ReadError> {
        let worktree = self.are_on_disk().then(|| self.worktree()).transpose()?;
        Ok(Self { worktree, ..self })
    }

    /// Returns git's view of the files on the disk.
    pub(super) fn worktree(&self) -> Result<Arc<Worktree>, ReadError> {
        match &self.worktree {
            Some(worktree) => Ok(worktree.clone()),
            None => Worktree::around(&self.root).map(Arc::new).map_err(|error| self.refused(error)),
        }
    }

    pub(super) fn refused(&self, error: GitError) -> ReadError {
        ReadError::new(&self.root, io::Error::other(error))
    }

    /// Returns the commit that the files are from; `None` for files that may not be committed.
    pub(super) fn commit(&self) -> Option<Oid> {
        self.kept.as_ref()?.commit
    }

    /// Returns whether the files are on the disk.
    pub fn are_on_disk(&self) -> bool {
        self.kept.is_none()
    }

    /// Returns files in memory, by their paths from the root. They form a whole repo, for example
    /// for a program that uses sipgen as a library.
    ///
    /// ```
    /// use sipgen::input::load::Files;
    /// use sipgen::{Options, generate};
    ///
    /// let host = "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: a, namespace: metal}, \
    ///             spec: {online: true}}";
    /// let repo = Files::in_memory([("hosts.yaml".into(), host.into())]);
    /// assert_eq!(generate(&repo, &Options::default(), &|_| {})?.site.inventory.hosts.len(), 1);
    /// # Ok::<(), sipgen::Error>(())
    /// ```
    pub fn in_memory(files: impl IntoIterator<Item = (Utf8PathBuf, Vec<u8>)>) -> Self {
        Self::on_disk(".").with_stored(StoredFiles::in_memory(files))
    }

    fn with_stored(self, files: StoredFiles) -> Self {
        Self { kept: Some(Arc::new(files)), ..self }
    }

    /// Returns the directory to which all paths are relative.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the text of a stream or file, if it exists and is text.
    pub fn text(&self, file: &Utf8Path) -> Option<String> {
        let mut streams = self.streams.iter().chain(&self.additions);
        match streams.find(|stream| *stream.name == *file) {
            // Decoded as in `scan_stream`, so that positions match.
            Some(stream) => Some(lossy(stream.content.clone())),
            None => self.plain_text(file).ok().flatten(),
        }
    }

    /// Returns the directories of submodules; none if `.gitmodules` cannot be read.
    pub(crate) fn submodules(&self) -> Vec<Utf8PathBuf> {
        let names = self.text(Utf8Path::new(NAMES)).unwrap_or_default();
        Submodules::read(names.as_bytes()).unwrap_or_default().paths()
    }

    /// Returns the text of a file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If it is not a regular file, is not text or cannot be read.
    pub fn plain_text(&self, file: &Utf8Path) -> io::Result<Option<String>> {
        let path = self.root.join(file);
        let kind = match self.stored(file) {
            Some(files) => files.kind(file),
            // Metadata follows links.
            None => match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                found => {
                    // Otherwise a link in a repo could make sipgen read any file of the machine.
                    links::stay_inside(&self.root, &path)?;
                    Some(EntryKind::new(found?.file_type()))
                }
            },
        };
        match kind {
            None => Ok(None),
            Some(EntryKind::File) => decode(self.content(file)?)
                .map(Some)
                .map_err(|_| io::Error::other("it is not text in UTF-8")),
            // Reading a pipe might never end.
            Some(_) => Err(io::Error::other("it is no plain file")),
        }
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(&self, file: &Utf8Path) -> Result<Vec<u8>, ReadError> {
        self.content(file).map_err(|source| ReadError::new(&self.root.join(file), source))
    }

    /// Returns the first bytes of a file, which tell its encoding.
    pub(crate) fn beginning(&self, file: &Utf8Path) -> Option<[u8; 4]> {
        if self.stored(file).is_none() {
            let mut bytes = [0; 4];
            fs::File::open(self.root.join(file)).ok()?.read_exact(&mut bytes).ok()?;
            return Some(bytes);
        }
        self.content(file).ok()?.first_chunk().copied()
    }

    fn content(&self, file: &Utf8Path) -> io::Result<Vec<u8>> {
        match self.stored(file) {
            Some(files) => files.content(file),
            None => read_bounded(&self.root.join(file)),
        }
    }

    /// Returns the error for a file above the size limit, if it is one. A large file on the disk
    /// without any of `words` is ignored, because it cannot concern sipgen.
    pub(crate) fn refused_for_size(&self, file: &Utf8Path, words: &[&str]) -> Option<io::Error> {
        let size = match &self.kept {
            Some(files) => files.size(file).unwrap_or_default(),
            None => fs::metadata(self.root.join(file)).map_or(0, |found| found.len()),
        };
        if size <= LARGEST {
            return None;
        }
        // A blob in git would have to be loaded for a search, so a large one is an error in any
        // case. The same applies to a file that cannot be read.
        let concerns = !self.are_on_disk() || has_any(&self.root.join(file), words).unwrap_or(true);
        concerns.then(|| too_large(size))
    }

    /// Resolves symbolic links in a path, and returns the target relative to the root. Returns
    /// `None` if there is nothing at the target, or it is outside the root.
    pub(crate) fn resolve(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        match &self.kept {
            Some(files) => links::resolve(path, |path| files.target(path))
                .filter(|path| files.kind(path).is_some()),
            None => {
                let found = self.root.join(path).canonicalize_utf8().ok()?;
                Some(found.strip_prefix(self.root.canonicalize_utf8().ok()?).ok()?.to_owned())
            }
        }
    }

    /// Checks that no symbolic link leads from a path out of the repo.
    ///
    /// # Errors
    ///
    /// If one does.
    pub(crate) fn stay_inside(&self, path: &Utf8Path) -> Result<(), ReadError> {
        let full = self.root.join(path);
        if !self.are_on_disk() || !full.exists() {
            return Ok(());
        }
        links::stay_inside(&self.root, &full).map_err(|error| ReadError::new(&full, error))
    }

    /// Returns whether a path, or a directory above it, is a symbolic link.
    pub(crate) fn has_link(&self, path: &Utf8Path) -> bool {
        let mut around = path.ancestors().filter(|around| !around.as_str().is_empty());
        around.any(|around| self.kind(around) == Some(EntryKind::Link))
    }

    /// Returns the type of the entry at a path. Links are not followed.
    pub fn kind(&self, path: &Utf8Path) -> Option<EntryKind> {
        match self.stored(path) {
            Some(files) => files.kind(path),
            None => fs::symlink_metadata(self.root.join(path))
                .ok()
                .map(|found| EntryKind::new(found.file_type())),
        }
    }
}

/// Reads a file up to the size limit, even if it grows during the read.
fn read_bounded(path: &Utf8Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(too_large(size));
    }
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    // One byte more proves that the file has grown beyond the limit.
    file.take(LARGEST + 1).read_to_end(&mut content)?;
    let read = content.len() as u64;
    if read > LARGEST { Err(too_large(read)) } else { Ok(content) }
}

/// Returns whether a file contains one of some words, or is UTF-16 and may contain one. Reads 1 MiB
/// at a time.
fn has_any(path: &Utf8Path, words: &[&str]) -> io::Result<bool> {
    let mentions = mentions(words);
    let overlap = words.iter().map(|word| word.len()).max().unwrap_or_default();
    let mut file = fs::File::open(path)?;
    let mut window = Vec::new();
    let mut is_first = true;
    loop {
        if file.by_ref().take(1 << 20).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if mentions(&window)
            // A byte order mark or a zero byte suggests UTF-16 or UTF-32, where words have other
            // bytes.
            || is_first
                && matches!(
                    window.as_slice(),
                    [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..]
                )
        {
            return Ok(true);
        }
        // A word may span two windows.
        is_first = false;
        window.drain(..window.len().saturating_sub(overlap));
    }
}

impl Files {
    /// Limits the files to the part that one site reads.
    #[must_use]
    pub fn limited_to(&self, part: SitePart) -> Self {
        Self { part: Some(part), ..self.clone() }
    }

    /// Returns the files of all sites.
    #[must_use]
    pub(crate) fn whole_repo(&self) -> Self {
        Self { part: None, ..self.clone() }
    }

    /// Returns the site's directory; the repo's root if the repo is one site.
    pub fn site_directory(&self) -> &Utf8Path {
        self.part.as_ref().map_or(Utf8Path::new(""), |part| &part.directory)
    }

    /// Returns whether a file is read only for the agents' objects in it.
    pub(crate) fn is_for_agents(&self, file: &Utf8Path) -> bool {
        self.part.as_ref().is_some_and(|part| part.for_agents.contains(file))
    }

    /// Returns whether the site reads a file for more than agents' objects.
    pub fn reads(&self, file: &Utf8Path) -> bool {
        self.part
            .as_ref()
            .is_none_or(|part| part.files.contains(file) && !part.for_agents.contains(file))
    }

    /// Returns whether a file is outside the site's directory, and no build of the site reaches it.
    pub(crate) fn is_out_of_reach(&self, file: &Utf8Path) -> bool {
        self.part.as_ref().is_some_and(|part| !part.owns(file) && !part.files.contains(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_anywhere_in_a_large_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = Utf8Path::from_path(file.path()).unwrap();
        for at in [0, (1 << 20) - 5, (2 << 20) + 7] {
            let mut content = vec![b'x'; 3 << 20];
            content[at..at + 10].copy_from_slice(b"SIPCluster");
            fs::write(path, &content).unwrap();
            assert!(has_any(path, &["BareMetalHost", "SIPCluster"]).unwrap(), "{at}");
            assert!(!has_any(path, &["BareMetalHost"]).unwrap(), "{at}");
        }
    }

    #[test]
    fn a_large_file_in_utf_16_may_have_any_word() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = Utf8Path::from_path(file.path()).unwrap();
        fs::write(path, b"\xff\xfeS\0").unwrap();
        assert!(has_any(path, &["SIPCluster"]).unwrap());
    }
}
