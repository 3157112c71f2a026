//! Positions are symbolic until somebody reads them.
//!
//! Parsing carries no spans, which keeps it fast. A finding names a document and a route of keys in it; only
//! when it is printed, that one document is read again and the route is looked up.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use yamlpath::{Component, Route};

/// Where a document stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// The document's first line in the file, from 1.
    pub first_line: usize,
    pub(super) range: Range<usize>,
    pub(super) shape: Shape,
    pub(super) way: Way,
}

/// How a document has come to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// It stands in a file of the repo.
    File,
    /// It stands in a stream that somebody else has rendered. The input of the repo that it was made from, where that
    /// is known.
    Stream(Option<Arc<Utf8PathBuf>>),
    /// A program that we ran has made it of files of the repo, for the source of this index: the text with its lines
    /// is gone.
    Made(usize),
}

/// What the headers of files name that were made from a stream, whatever its name is on this machine.
const STREAM: &str = "a rendered stream";

/// How a document lies in its range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// It is all of it.
    Document,
    /// It is the only item of a block sequence.
    ListItem,
    /// It is the item with this index of the list that the range holds.
    Nested(usize),
}

/// One step of a route into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value under a key of a mapping.
    Key(String),
    /// The item of a sequence.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Step::Key(key)
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// A place that a finding is about: a node of a document, a spot that a parser named, or a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The node at the end of a route in a document.
    Node(Origin, Vec<Step>),
    /// A line and, if known, a column of a file.
    Spot(Arc<Utf8Path>, usize, Option<usize>),
    /// A file or directory.
    File(Arc<Utf8Path>),
}

/// A place as people read it: `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The file, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1, in characters.
    pub column: Option<usize>,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

impl Origin {
    /// Where a file of a single document has it.
    pub(crate) fn of_file(file: Arc<Utf8Path>, length: usize) -> Self {
        Self { file, first_line: 1, range: 0..length, shape: Shape::Document, way: Way::File }
    }

    /// Whether the document is what a build has made, so that no build of the repo makes any more of it.
    pub fn is_rendered(&self) -> bool {
        self.way != Way::File
    }

    /// The source that a program has made the document for, if one has.
    pub(crate) fn made_for(&self) -> Option<usize> {
        match self.way {
            Way::Made(source) => Some(source),
            Way::File | Way::Stream(_) => None,
        }
    }

    /// The input that the headers of generated files name.
    pub fn made_from(&self) -> &Utf8Path {
        match &self.way {
            Way::Stream(None) => Utf8Path::new(STREAM),
            Way::Stream(Some(file)) => file,
            Way::File | Way::Made(_) => &self.file,
        }
    }

    /// Notes the input of the repo that a rendered document was made from.
    pub(crate) fn note_made_from(&mut self, input: &Utf8Path) {
        if let Way::Stream(made_from) = &mut self.way {
            *made_from = Some(Arc::new(input.to_owned()));
        }
    }

    /// A spot that a parser names in the document.
    pub fn spot(&self, line: usize, column: Option<usize>) -> Place {
        match self.way {
            Way::Made(_) => Place::File(self.file.clone()),
            Way::File | Way::Stream(_) => Place::Spot(self.file.clone(), line, column),
        }
    }

    /// File and line, as far as there are any.
    pub fn shown(&self) -> String {
        match self.way {
            Way::Made(_) => self.file.to_string(),
            Way::File | Way::Stream(_) => format!("{}:{}", self.file, self.first_line),
        }
    }

    /// The place of the document's node at a route of keys and indices.
    pub fn at<S: Into<Step>>(&self, route: impl IntoIterator<Item = S>) -> Place {
        Place::Node(self.clone(), route.into_iter().map(Into::into).collect())
    }

    /// The place of the document itself.
    pub fn start(&self) -> Place {
        Place::Node(self.clone(), Vec::new())
    }
}

impl Place {
    /// The file that the place is in.
    pub fn file(&self) -> &Arc<Utf8Path> {
        match self {
            Place::Node(Origin { file, .. }, _) | Place::Spot(file, ..) | Place::File(file) => file,
        }
    }
}

/// Looks a route up, or the longest part of it that exists: a missing field is reported at its parent.
pub(super) fn offset(text: &str, origin: &Origin, route: &[Step]) -> Option<usize> {
    let document = text.get(origin.range.clone())?;
    let start = document.len() - document.trim_start_matches(['\n', '\r']).len();
    let prefix: Vec<Component<'_>> = match origin.shape {
        Shape::Document => vec![],
        Shape::ListItem => vec![0.into()],
        Shape::Nested(index) => vec!["items".into(), index.into()],
    };
    let parsed = yamlpath::Document::new(document).ok()?;
    for length in (0..=route.len()).rev() {
        let steps = prefix.iter().cloned().chain(route[..length].iter().map(|step| match step {
            Step::Key(key) => Component::from(key.as_str()),
            Step::Index(index) => Component::from(*index),
        }));
        let query = Route::default().with_keys(steps);
        if let Ok(feature) = parsed.query_pretty(&query)
            && !query.is_empty()
        {
            return Some(origin.range.start + feature.location.byte_span.0);
        }
    }
    Some(origin.range.start + start)
}
