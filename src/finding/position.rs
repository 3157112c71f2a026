//! Positions are symbolic until somebody reads them.
//!
//! Parsing carries no spans, which keeps it fast. A finding names a document and a route of keys in it; only
//! when it is printed, that one document is read again and the route is looked up.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

/// Where things stand in a document that is not written in the form in which it is read: routes in the form in which
/// it is read, each with the route of what was written instead. What lies below a route moves with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Moved(Vec<(Vec<Step>, Vec<Step>)>);

impl Moved {
    /// Says that what is read at one route is written at another. What is said last of a route, counts.
    pub fn add(&mut self, read: Vec<Step>, written: Vec<Step>) {
        self.0.push((read, written));
    }

    /// The route at which is read what is written at a route.
    pub(crate) fn read(&self, written: &[Step]) -> Vec<Step> {
        let known = self.0.iter().filter(|(_, at)| written.starts_with(at));
        // A service that was alone is read as a list of one, too: the list is what stands there.
        match known.max_by_key(|(read, at)| (at.len(), Reverse(read.len()))) {
            Some((read, at)) => read.iter().chain(&written[at.len()..]).cloned().collect(),
            None => written.to_vec(),
        }
    }

    /// The route of what was written for what is read at a route.
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

/// Where a document stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// The document's first line in the file, from 1.
    pub first_line: usize,
    pub(crate) range: Range<usize>,
    pub(crate) shape: Shape,
    /// Nothing of a document that stands in a file of the repo and is read as it is written, as most are.
    pub(crate) apart: Option<Arc<Apart>>,
}

/// How a document differs from one that stands in a file of the repo and is read as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Apart {
    way: Way,
    /// What stands elsewhere than where it is read.
    moved: Moved,
    /// What builds have made of it, where that is known.
    delivered: Option<Arc<Delivered>>,
    /// The place that would count if this one did not.
    instead_of: Option<Box<Place>>,
}

/// What builds make of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Delivered {
    /// The outermost kustomizations whose builds these are, by index.
    pub(crate) roots: Vec<usize>,
    /// Whether the document is read as they make it, and not as it stands in its file.
    pub(crate) is_evaluated: bool,
    /// The values that stand elsewhere.
    pub(crate) given: Vec<Given>,
    /// The names and namespaces that it has on the way.
    pub(crate) levels: Vec<Level>,
}

/// A value of a document that something else gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Given {
    /// The route at which it is read.
    pub(crate) route: Vec<Step>,
    /// Where it stands.
    pub(crate) place: Place,
    /// Whether the routes below go on there.
    pub(crate) goes_on: bool,
    /// Whether the document has another value, which does not count.
    pub(crate) replaces: bool,
}

/// The name and namespace of an object where the components of a kustomization run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Level {
    /// The directory of the kustomization.
    pub(crate) directory: Utf8PathBuf,
    /// The name there.
    pub(crate) name: String,
    /// The namespace there; none where the object has none yet.
    pub(crate) namespace: Option<String>,
}

/// How a document has come to us.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// It stands in a file of the repo.
    #[default]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// It is all of it.
    Document,
    /// It is the only item of a block sequence.
    ListItem,
    /// It is the item with this index of the list that the range holds.
    Nested(u32),
}

impl Shape {
    /// The steps from what stands in the range to the document.
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The node at the end of a route in a document: the whole document at the end of an empty one.
    Node(Origin, Vec<Step>),
    /// The key at the end of a route, and not what stands under it.
    Key(Origin, Vec<Step>),
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
    /// The column behind the last character of what stands there, on the same line.
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
    /// A document of a file of the repo, read as it is written.
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

    /// The only document of a file with this text.
    pub fn of_file(file: Arc<Utf8Path>, text: &str) -> Self {
        Self::in_file(file, 1, 0..text.len(), Shape::Document)
    }

    /// The same document, if it has come by this way.
    pub(crate) fn by(self, way: Way) -> Self {
        self.with(|apart| apart.way = way)
    }

    fn with(mut self, change: impl FnOnce(&mut Apart)) -> Self {
        change(Arc::make_mut(self.apart.get_or_insert_default()));
        self
    }

    /// The same document as builds make it.
    pub(crate) fn delivered_as(self, delivered: Delivered) -> Self {
        self.with(|apart| apart.delivered = Some(Arc::new(delivered)))
    }

    /// What builds make of the document, if that is not for its file to say.
    pub(crate) fn delivered(&self) -> Option<&Delivered> {
        self.apart.as_ref()?.delivered.as_deref()
    }

    /// Name and namespace of the object where a kustomization's components run, if builds have been asked.
    pub(crate) fn level(&self, directory: &Utf8Path) -> Option<&Level> {
        self.delivered()?
            .levels
            .iter()
            .find(|level| level.directory == directory)
    }

    pub(crate) fn way(&self) -> &Way {
        self.apart.as_ref().map_or(&Way::File, |apart| &apart.way)
    }

    /// Whether the document is what a build has made, so that no build of the repo makes any more of it.
    pub fn is_rendered(&self) -> bool {
        *self.way() != Way::File
    }

    /// The source that a program has made the document for, if one has.
    pub(crate) fn made_for(&self) -> Option<usize> {
        match *self.way() {
            Way::Made(source) => Some(source),
            Way::File | Way::Stream(_) => None,
        }
    }

    /// The input that the headers of generated files name.
    pub fn made_from(&self) -> &Utf8Path {
        match self.way() {
            Way::Stream(None) => Utf8Path::new(STREAM),
            Way::Stream(Some(file)) => file,
            Way::File | Way::Made(_) => &self.file,
        }
    }

    /// Notes the input of the repo that a rendered document was made from.
    pub(crate) fn note_made_from(&mut self, input: &Utf8Path) {
        if let Some(apart) = &mut self.apart
            && let Way::Stream(made_from) = &mut Arc::make_mut(apart).way
        {
            *made_from = Some(Arc::new(input.to_owned()));
        }
    }

    /// A spot that a parser names in the document.
    pub fn spot(&self, line: usize, column: Option<usize>) -> Place {
        match self.way() {
            Way::Made(_) => Place::File(self.file.clone()),
            Way::File | Way::Stream(_) => Place::Spot(self.file.clone(), line, column),
        }
    }

    /// File and line, as far as there are any.
    pub fn shown(&self) -> String {
        match self.way() {
            Way::Made(_) => self.file.to_string(),
            Way::File | Way::Stream(_) => format!("{}:{}", self.file, self.first_line),
        }
    }

    /// The place of the document's node at a route of keys and indices.
    pub fn at<S: Into<Step>>(&self, route: impl IntoIterator<Item = S>) -> Place {
        let route: Vec<Step> = route.into_iter().map(Into::into).collect();
        let given = self.given(&route);
        given.unwrap_or_else(|| Place::Node(self.clone(), self.written(route)))
    }

    /// The place of a value that a kustomization gives.
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

    /// The same document, which is read in another form than that in which it is written.
    pub fn read_as(self, moved: Moved) -> Self {
        self.with(|apart| apart.moved = moved)
    }

    /// The same document, whose routes are those of what is written.
    pub fn as_written(&self) -> Self {
        self.clone().read_as(Moved::default())
    }

    /// The bytes of its file's text, without a byte order mark, in which the document stands, alone or with others.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The steps from what stands in [`Self::range`] to the document.
    pub fn steps_into(&self) -> Vec<Step> {
        self.shape.steps_into()
    }

    /// The place of the key at the end of a route, for a key that should not be there.
    pub fn key(&self, route: Vec<Step>) -> Place {
        Place::Key(self.clone(), self.written(route))
    }

    /// The route of what was written for what is read at a route.
    fn written(&self, route: Vec<Step>) -> Vec<Step> {
        match &self.apart {
            Some(apart) => apart.moved.written(route),
            None => route,
        }
    }

    /// The place of the object's name.
    pub fn name(&self) -> Place {
        self.at(["metadata", "name"])
    }

    /// The place of the document itself.
    pub fn start(&self) -> Place {
        Place::Node(self.clone(), Vec::new())
    }
}

impl Place {
    /// The place that would count if this one did not.
    pub(crate) fn instead_of(&self) -> Option<&Place> {
        let (Place::Node(origin, _) | Place::Key(origin, _)) = self else {
            return None;
        };
        origin.apart.as_ref()?.instead_of.as_deref()
    }

    /// The file that the place is in.
    pub fn file(&self) -> &Arc<Utf8Path> {
        match self {
            Place::Node(Origin { file, .. }, _)
            | Place::Key(Origin { file, .. }, _)
            | Place::Spot(file, ..)
            | Place::File(file) => file,
        }
    }
}
