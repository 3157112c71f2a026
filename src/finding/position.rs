//! Symbolic positions.
//!
//! Parsing records no spans, which keeps it fast. A finding names a document and a route of keys.
//! Line and column are looked up only when the finding is printed.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

/// Maps routes in a converted document to routes in its original text.
///
/// A route below a mapped one moves with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Moved(Vec<(Vec<Step>, Vec<Step>)>);

impl Moved {
    /// Maps a converted route to an original one. The last mapping of a route wins.
    pub fn add(&mut self, read: Vec<Step>, written: Vec<Step>) {
        self.0.push((read, written));
    }

    /// Returns the converted route of an original one.
    pub(crate) fn read(&self, written: &[Step]) -> Vec<Step> {
        let known = self.0.iter().filter(|(_, at)| written.starts_with(at));
        // A single service is converted to a list with one item. The shorter route, the list, is
        // the one meant.
        match known.max_by_key(|(read, at)| (at.len(), Reverse(read.len()))) {
            Some((read, at)) => read.iter().chain(&written[at.len()..]).cloned().collect(),
            None => written.to_vec(),
        }
    }

    /// Returns the original route of a converted one.
    fn written(&self, route: Vec<Step>) -> Vec<Step> {
        let known = self.0.iter().filter(|(read, _)| route.starts_with(read));
        match known.max_by_key(|(read, _)| read.len()) {
            Some((read, written)) => written
                .iter()
                .chain(&route[read.len()..])
                .cloned()
                .collect(),
            None => route,
        }
    }
}

/// The position of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// First line of the document in the file, from 1.
    pub first_line: usize,
    pub(crate) range: Range<usize>,
    pub(crate) shape: Shape,
    /// `None` for the usual case: a document in a file of the repo, read as it is written.
    pub(crate) apart: Option<Arc<Apart>>,
}

/// Differences from a document that is in a file of the repo and read as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Apart {
    way: Way,
    /// Mapping of routes if the document was converted.
    moved: Moved,
    /// The result of builds, if it was computed.
    delivered: Option<Arc<Delivered>>,
    /// The overridden place, if a finding points to the overriding one.
    instead_of: Option<Box<Place>>,
}

/// A document as builds deliver it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Delivered {
    /// Indices of the outermost kustomizations.
    pub(crate) roots: Vec<usize>,
    /// Set if the result of the build was read instead of the file.
    pub(crate) is_evaluated: bool,
    /// Values that another file sets.
    pub(crate) given: Vec<Given>,
    /// Names and namespaces at each level of the build.
    pub(crate) levels: Vec<Level>,
}

/// A value of a document that another file sets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Given {
    /// Route in the document.
    pub(crate) route: Vec<Step>,
    /// Place of the value.
    pub(crate) place: Place,
    /// Set if routes below continue there.
    pub(crate) goes_on: bool,
    /// Set if it overrides a value in the document.
    pub(crate) replaces: bool,
}

/// Name and namespace of an object at the point where a kustomization runs its components.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Level {
    /// Directory of the kustomization.
    pub(crate) directory: Utf8PathBuf,
    /// Name.
    pub(crate) name: String,
    /// Namespace; `None` if it is not set yet.
    pub(crate) namespace: Option<String>,
}

/// The way in which a document was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// From a file of the repo.
    #[default]
    File,
    /// From a stream that another program rendered, with the input in the repo that it was made
    /// from, if known.
    Stream(Option<Arc<Utf8PathBuf>>),
    /// From a program that sipgen ran for the source with this index. The lines of its output are
    /// gone.
    Made(usize),
}

/// The name of any stream in headers of generated files; its real name differs between machines.
const STREAM: &str = "a rendered stream";

/// The position of a document in its byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// The document is the whole range.
    Document,
    /// The document is the only item of a block sequence.
    ListItem,
    /// The document is the item with this index in the range's list.
    Nested(u32),
}

impl Shape {
    /// Returns the steps from the root of the range to the document.
    pub(crate) fn steps_into(self) -> Vec<Step> {
        match self {
            Shape::Document => vec![],
            Shape::ListItem => vec![0.into()],
            Shape::Nested(index) => vec!["items".into(), (index as usize).into()],
        }
    }
}

/// One step of a route into a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The value of a key in a mapping.
    Key(String),
    /// The item at an index of a sequence.
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

/// A place in the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The node at a route in a document; the whole document for an empty route.
    Node(Origin, Vec<Step>),
    /// The key at the end of a route, without its value.
    Key(Origin, Vec<Step>),
    /// A line of a file with its column, if known.
    Spot(Arc<Utf8Path>, usize, Option<usize>),
    /// A file or directory.
    File(Arc<Utf8Path>),
}

/// A resolved place, displayed as `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The file, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1, in characters.
    pub column: Option<usize>,
    /// The column after the last character, on the same line.
    pub end_column: Option<usize>,
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
    /// Creates the origin of a document in a file of the repo.
    pub(crate) fn in_file(
        file: Arc<Utf8Path>,
        first_line: usize,
        range: Range<usize>,
        shape: Shape,
    ) -> Self {
        Self {
            file,
            first_line,
            range,
            shape,
            apart: None,
        }
    }

    /// Creates the origin of the only document in a file with this text.
    pub fn of_file(file: Arc<Utf8Path>, text: &str) -> Self {
        Self::in_file(file, 1, 0..text.len(), Shape::Document)
    }

    /// Returns the origin with the way in which the document was read.
    pub(crate) fn by(self, way: Way) -> Self {
        self.with(|apart| apart.way = way)
    }

    fn with(mut self, change: impl FnOnce(&mut Apart)) -> Self {
        change(Arc::make_mut(self.apart.get_or_insert_default()));
        self
    }

    /// Returns the origin with the result of builds.
    pub(crate) fn delivered_as(self, delivered: Delivered) -> Self {
        self.with(|apart| apart.delivered = Some(Arc::new(delivered)))
    }

    /// Returns the result of builds, if it was computed.
    pub(crate) fn delivered(&self) -> Option<&Delivered> {
        self.apart.as_ref()?.delivered.as_deref()
    }

    /// Returns the name and namespace at the point where a kustomization runs its components, if
    /// computed.
    pub(crate) fn level(&self, directory: &Utf8Path) -> Option<&Level> {
        self.delivered()?
            .levels
            .iter()
            .find(|level| level.directory == directory)
    }

    pub(crate) fn way(&self) -> &Way {
        self.apart.as_ref().map_or(&Way::File, |apart| &apart.way)
    }

    /// Returns whether the document was rendered, so no build in the repo changes it any more.
    pub fn is_rendered(&self) -> bool {
        *self.way() != Way::File
    }

    /// Returns the index of the source whose build made the document.
    pub(crate) fn made_for(&self) -> Option<usize> {
        match *self.way() {
            Way::Made(source) => Some(source),
            Way::File | Way::Stream(_) => None,
        }
    }

    /// Returns the input that headers of generated files name.
    pub fn made_from(&self) -> &Utf8Path {
        match self.way() {
            Way::Stream(None) => Utf8Path::new(STREAM),
            Way::Stream(Some(file)) => file,
            Way::File | Way::Made(_) => &self.file,
        }
    }

    /// Records the input in the repo that a rendered document was made from.
    pub(crate) fn note_made_from(&mut self, input: &Utf8Path) {
        if let Some(apart) = &mut self.apart
            && let Way::Stream(made_from) = &mut Arc::make_mut(apart).way
        {
            *made_from = Some(Arc::new(input.to_owned()));
        }
    }

    /// Returns the place of a line and column that a parser reported.
    pub fn spot(&self, line: usize, column: Option<usize>) -> Place {
        match self.way() {
            Way::Made(_) => Place::File(self.file.clone()),
            Way::File | Way::Stream(_) => Place::Spot(self.file.clone(), line, column),
        }
    }

    /// Returns `file:line`, or the file alone if lines are unknown.
    pub fn shown(&self) -> String {
        match self.way() {
            Way::Made(_) => self.file.to_string(),
            Way::File | Way::Stream(_) => format!("{}:{}", self.file, self.first_line),
        }
    }

    /// Returns the place of a node.
    pub fn at<S: Into<Step>>(&self, route: impl IntoIterator<Item = S>) -> Place {
        let route: Vec<Step> = route.into_iter().map(Into::into).collect();
        let given = self.given(&route);
        given.unwrap_or_else(|| Place::Node(self.clone(), self.written(route)))
    }

    /// Returns the place of a value that another file sets.
    fn given(&self, route: &[Step]) -> Option<Place> {
        let given = self
            .delivered()?
            .given
            .iter()
            .filter(|given| route.starts_with(&given.route));
        let given = given.max_by_key(|given| given.route.len())?;
        let Place::Node(origin, base) = &given.place else {
            return Some(given.place.clone());
        };
        let mut written = base.clone();
        if given.goes_on {
            written.extend_from_slice(&route[given.route.len()..]);
        }
        let own = given
            .replaces
            .then(|| Box::new(Place::Node(self.clone(), self.written(route.to_vec()))));
        Some(Place::Node(
            origin.clone().with(|apart| apart.instead_of = own),
            written,
        ))
    }

    /// Returns the origin with the mapping of a converted document.
    pub fn read_as(self, moved: Moved) -> Self {
        self.with(|apart| apart.moved = moved)
    }

    /// Returns the origin without such a mapping, for routes in the original text.
    pub fn as_written(&self) -> Self {
        self.clone().read_as(Moved::default())
    }

    /// Returns the byte range of the document in its file, without byte order mark. Several
    /// documents may share one.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the steps from the root of [`Self::range`] to the document.
    pub fn steps_into(&self) -> Vec<Step> {
        self.shape.steps_into()
    }

    /// Returns the place of the key at the end of a route, for a key that should not exist.
    pub fn key(&self, route: Vec<Step>) -> Place {
        Place::Key(self.clone(), self.written(route))
    }

    /// Returns the original route of a route that was read.
    fn written(&self, route: Vec<Step>) -> Vec<Step> {
        match &self.apart {
            Some(apart) => apart.moved.written(route),
            None => route,
        }
    }

    /// Returns the place of the object's name.
    pub fn name(&self) -> Place {
        self.at(["metadata", "name"])
    }

    /// Returns the place of the whole document.
    pub fn start(&self) -> Place {
        Place::Node(self.clone(), Vec::new())
    }
}

impl Place {
    /// Returns the overridden place.
    pub(crate) fn instead_of(&self) -> Option<&Place> {
        let (Place::Node(origin, _) | Place::Key(origin, _)) = self else {
            return None;
        };
        origin.apart.as_ref()?.instead_of.as_deref()
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<Utf8Path> {
        match self {
            Place::Node(Origin { file, .. }, _)
            | Place::Key(Origin { file, .. }, _)
            | Place::Spot(file, ..)
            | Place::File(file) => file,
        }
    }
}
