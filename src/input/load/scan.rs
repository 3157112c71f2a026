//! Reads the documents of files in parallel.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use super::document::Document;
use super::encoding::{in_utf8, lossy};
use super::file_objects;
use super::files::{Files, ReadError, Stream};
use crate::base::finding::position::DocumentReading;

/// The result of a first look at a file's path and content.
pub struct ScanResult<T> {
    /// A result for the file as a whole.
    pub says: Option<T>,
    /// Set if the file's documents are to be read.
    pub read: bool,
}

impl<T> From<bool> for ScanResult<T> {
    /// Creates a result without one for the file as a whole.
    fn from(read: bool) -> Self {
        Self { says: None, read }
    }
}

impl Files {
    /// Looks at each of `files`, splits those to be read into documents, and calls `interpret` for
    /// each document, on all cores. Results are in the order of files and documents. A file's own
    /// result precedes those of its documents.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn scan<T: Send, L: Into<ScanResult<T>>>(
        &self,
        files: &[Utf8PathBuf],
        look: impl Fn(&Utf8Path, &[u8]) -> L + Sync,
        interpret: impl Fn(Document<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let read = |file: &Utf8PathBuf| -> Result<Vec<T>, ReadError> {
            let bytes = in_utf8(self.read(file)?);
            let ScanResult { says, read } = look(file, &bytes).into();
            if !read {
                return Ok(says.into_iter().collect());
            }
            let text = lossy(bytes);
            let file: Arc<Utf8Path> = Arc::from(file.as_path());
            let mut found: Vec<T> = says.into_iter().collect();
            file_objects::in_batches(&file, &text, |batch| {
                found.par_extend(batch.into_par_iter().filter_map(&interpret));
            });
            Ok(found)
        };
        let found = files.par_iter().map(read).collect::<Result<Vec<Vec<T>>, _>>()?;
        // Files are dropped as their results move, so these are never in memory twice.
        let mut all = Vec::with_capacity(found.iter().map(Vec::len).sum());
        found.into_iter().for_each(|file_results| all.extend(file_results));
        Ok(all)
    }
}

/// Splits a rendered stream into documents, and calls `interpret` for each. The number is the count
/// of objects. The last document is parsed to its end, because a truncated stream ends within it.
pub(crate) fn scan_stream<T: Send>(
    stream: &Stream,
    interpret: impl Fn(Document<'_>) -> Option<T> + Sync,
) -> (usize, Vec<T>) {
    let text = lossy(stream.content.clone());
    let mut documents = file_objects::objects(&stream.name, &text);
    // The API server answers with a Status if it refuses.
    let is_object =
        |document: &&Document<'_>| document.is_object() && document.kind() != Some("Status");
    let count = documents.iter().filter(is_object).count();
    if let Some(last) = documents
        .last_mut()
        // A template may fail to parse although it is complete.
        .filter(|last| !last.looks_like_template())
    {
        last.read_to_its_end();
    }
    let read = |mut document: Document<'_>| {
        document.origin = document.origin.by(DocumentReading::Stream(None));
        interpret(document)
    };
    (count, documents.into_par_iter().filter_map(read).collect())
}

/// Splits the output of a build into documents, and calls `interpret` for each. `source` is the
/// index of the source. `file` returns a document's file from kustomize's annotation.
pub(crate) fn scan_made<T: Send>(
    text: &str,
    source: usize,
    file: impl Fn(Option<&str>) -> Arc<Utf8Path> + Sync,
    interpret: impl Fn(Document<'_>) -> Option<T> + Sync,
) -> Vec<T> {
    let read = |mut document: Document<'_>| {
        document.origin.file = file(document.annotated_origin());
        document.origin = document.origin.by(DocumentReading::Made(source));
        interpret(document)
    };
    let mut found = Vec::new();
    file_objects::in_batches(&Arc::from(Utf8Path::new("")), text, |batch| {
        found.par_extend(batch.into_par_iter().filter_map(&read));
    });
    found
}
