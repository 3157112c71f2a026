//! Symbolic positions, resolved when they are printed.
//!
//! Parsing carries no spans, which keeps it fast. A finding names a document and a route of keys in
//! it. Printing it reads that document again and looks up the route.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

/// Mapping from routes of a converted document to routes of the written text. Routes below follow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RouteMapping(Vec<(Vec<RouteStep>, Vec<RouteStep>)>);

impl RouteMapping {
    /// Records that the value read at one route is written at another. The last record of a route
    /// counts.
    pub fn add(&mut self, read: Vec<RouteStep>, written: Vec<RouteStep>) {
        self.0.push((read, written));
    }

    /// Converts a read route to the route where it is written.
    pub(crate) fn written(&self, route: Vec<RouteStep>) -> Vec<RouteStep> {
        let known = self.0.iter().filter(|(read, _)| route.starts_with(read));
        match known.max_by_key(|(read, _)| read.len()) {
            Some((read, written)) => written.iter().chain(&route[read.len()..]).cloned().collect(),
            None => route,
        }
    }
}

/// Position of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// File, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// First line of the document in the file, from 1.
    pub first_line: usize,
    /// Byte range in the file's text, without a byte order mark, that contains the document, possibly
    /// with others.
    pub(crate) range: Range<usize>,
    pub(crate) shape: DocumentShape,
    /// `None` for a document that is read as it is written in a file of the repo. Most are.
    pub(crate) apart: Option<Arc<OriginDifferences>>,
}

/// Differences from a document that is read as it is written in a file of the repo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct OriginDifferences {
    way: DocumentReading,
    /// Routes that differ from the written text.
    moved: RouteMapping,
    /// Result of builds, if known.
    delivered: Option<Arc<DocumentBuilds>>,
    /// The overridden place.
    instead_of: Option<Box<Place>>,
}

/// The result of builds for a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct DocumentBuilds {
    /// Outermost kustomizations of these builds, by index.
    pub(crate) roots: Vec<usize>,
    /// Set if the document is read from the build's result instead of its file.
    pub(crate) is_evaluated: bool,
    /// Values that come from elsewhere.
    pub(crate) given: Vec<ForeignValue>,
    /// Names and namespaces at intermediate kustomizations.
    pub(crate) levels: Vec<ComponentLevel>,
    /// Texts before variables in them were substituted.
    pub(crate) unsubstituted: Vec<(Vec<RouteStep>, String)>,
}

/// A value of a document that comes from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ForeignValue {
    /// Route where it is read.
    pub(crate) route: Vec<RouteStep>,
    /// Place where it is written.
    pub(crate) place: Place,
    /// Set if routes below it continue at that place.
    pub(crate) goes_on: bool,
    /// Set if the document itself has another value, which is overridden.
    pub(crate) replaces: bool,
}

/// Name and namespace of an object at the point where a kustomization's components run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ComponentLevel {
    /// Directory of the kustomization.
    pub(crate) directory: Utf8PathBuf,
    /// Name at that point.
    pub(crate) name: String,
    /// Namespace at that point, if any.
    pub(crate) namespace: Option<String>,
}

/// The way in which a document was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) enum DocumentReading {
    /// From a file of the repo.
    #[default]
    File,
    /// From a rendered stream, with the input of the repo that it was made from, if known.
    Stream(Option<Arc<Utf8PathBuf>>),
    /// Made from files of the repo by a program that sipgen ran, for the source with this index.
    /// The text and its lines are gone.
    Made(usize),
}

/// Name of any stream in the headers of generated files, whatever it is called on this machine.
const STREAM: &str = "a rendered stream";

/// Position of a document within its range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DocumentShape {
    /// All of the range.
    Document,
    /// The only item of a block sequence.
    ListItem,
    /// The item with this index of the list in the range.
    Nested(u32),
}

impl DocumentShape {
    /// Returns the steps from the content of the range to the document.
    pub(crate) fn steps_into(self) -> Vec<RouteStep> {
        match self {
            DocumentShape::Document => vec![],
            DocumentShape::ListItem => vec![0.into()],
            DocumentShape::Nested(index) => vec!["items".into(), (index as usize).into()],
        }
    }
}

/// A step of a route into a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::From)]
pub enum RouteStep {
    /// The value of a key in a mapping.
    #[from(&str, String)]
    Key(String),
    /// An item of a sequence.
    #[from]
    Index(usize),
}

impl RouteStep {
    /// Returns the key of a mapping, if it is one.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            RouteStep::Key(key) => Some(key),
            RouteStep::Index(_) => None,
        }
    }
}

/// Appends steps to a route.
pub(crate) fn below<S: Into<RouteStep>>(
    route: &[RouteStep],
    steps: impl IntoIterator<Item = S>,
) -> Vec<RouteStep> {
    route.iter().cloned().chain(steps.into_iter().map(Into::into)).collect()
}

/// Formats a route for messages: `labels[0].pairs`.
pub(crate) fn shown_route(route: &[RouteStep]) -> String {
    let steps = route.iter().map(|step| match step {
        RouteStep::Key(key) => format!(".{key}"),
        RouteStep::Index(index) => format!("[{index}]"),
    });
    let shown = steps.collect::<String>();
    shown.strip_prefix('.').unwrap_or(&shown).to_owned()
}

/// A place for a finding: a node of a document, a position from a parser, or a whole file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The node at the end of a route; an empty route is the whole document.
    Node(Origin, Vec<RouteStep>),
    /// The key at the end of a route, without its value.
    Key(Origin, Vec<RouteStep>),
    /// A line of a file with its column, if known.
    Spot(Arc<Utf8Path>, usize, Option<usize>),
    /// A file or directory.
    File(Arc<Utf8Path>),
}

/// A field of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentField {
    /// The document.
    pub origin: Origin,
    /// The route to the field.
    pub route: Vec<RouteStep>,
}

/// A position to print: `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// File, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1, in characters.
    pub column: Option<usize>,
    /// Column after the last character of the node, on the same line.
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

impl DocumentField {
    /// Returns a field of a document.
    pub fn new<S: Into<RouteStep>>(origin: &Origin, route: impl IntoIterator<Item = S>) -> Self {
        Self { origin: origin.clone(), route: route.into_iter().map(Into::into).collect() }
    }

    /// Returns a field inside this one.
    pub fn below(&self, steps: impl IntoIterator<Item = RouteStep>) -> Self {
        Self { origin: self.origin.clone(), route: below(&self.route, steps) }
    }

    /// Returns its position.
    pub fn place(&self) -> Place {
        self.origin.at(self.route.clone())
    }

    /// Returns the place of its key.
    pub fn key(&self) -> Place {
        self.origin.key(self.route.clone())
    }
}

impl Origin {
    /// Returns the origin of the only document in a file with this text.
    pub fn for_file(file: Arc<Utf8Path>, text: &str) -> Self {
        let shape = DocumentShape::Document;
        Self { file, first_line: 1, range: 0..text.len(), shape, apart: None }
    }

    /// Sets the way in which the document was read.
    pub(crate) fn by(self, way: DocumentReading) -> Self {
        self.with(|apart| apart.way = way)
    }

    fn with(mut self, change: impl FnOnce(&mut OriginDifferences)) -> Self {
        change(Arc::make_mut(self.apart.get_or_insert_default()));
        self
    }

    /// Sets the result of builds.
    pub(crate) fn delivered_as(self, delivered: DocumentBuilds) -> Self {
        self.with(|apart| apart.delivered = Some(Arc::new(delivered)))
    }

    /// Returns the position of what no build of the repo's own kustomizations delivers.
    pub(crate) fn without_roots(self) -> Self {
        match self.delivered().cloned() {
            Some(delivered) => self.delivered_as(DocumentBuilds { roots: Vec::new(), ..delivered }),
            None => self,
        }
    }

    /// Returns the result of builds, if it differs from the file.
    pub(crate) fn delivered(&self) -> Option<&DocumentBuilds> {
        self.apart.as_ref()?.delivered.as_deref()
    }

    /// Returns name and namespace at the point where a kustomization's components run, if builds
    /// were evaluated.
    pub(crate) fn level(&self, directory: &Utf8Path) -> Option<&ComponentLevel> {
        self.delivered()?.levels.iter().find(|level| level.directory == directory)
    }

    /// Returns the text at a route before variables in it were substituted, if it had any.
    pub(crate) fn unsubstituted(&self, route: &[&str]) -> Option<&str> {
        let mut texts = self.delivered()?.unsubstituted.iter();
        let keys = || route.iter().map(|key| Some(*key));
        let (_, text) = texts.find(|(at, _)| at.iter().map(RouteStep::key).eq(keys()))?;
        Some(text)
    }

    pub(crate) fn way(&self) -> &DocumentReading {
        self.apart.as_ref().map_or(&DocumentReading::File, |apart| &apart.way)
    }

    /// Returns whether the document is the result of a build, so that no build of the repo changes
    /// it.
    pub fn is_rendered(&self) -> bool {
        *self.way() != DocumentReading::File
    }

    /// Returns the index of the source that the document was built for, if any.
    pub(crate) fn made_for(&self) -> Option<usize> {
        match *self.way() {
            DocumentReading::Made(source) => Some(source),
            DocumentReading::File | DocumentReading::Stream(_) => None,
        }
    }

    /// Returns the input to name in headers of generated files.
    pub fn made_from(&self) -> &Utf8Path {
        match self.way() {
            DocumentReading::Stream(None) => Utf8Path::new(STREAM),
            DocumentReading::Stream(Some(file)) => file,
            DocumentReading::File | DocumentReading::Made(_) => &self.file,
        }
    }

    /// Records the input of the repo that a rendered document was made from.
    pub(crate) fn note_made_from(&mut self, input: &Utf8Path) {
        if let DocumentReading::Stream(_) = self.way() {
            let way = DocumentReading::Stream(Some(Arc::new(input.to_owned())));
            if let Some(apart) = &mut self.apart {
                Arc::make_mut(apart).way = way;
            }
        }
    }

    /// Returns the place of a position that a parser reports in the document.
    pub fn spot(&self, line: usize, column: Option<usize>) -> Place {
        match self.made_for() {
            Some(_) => Place::File(self.file.clone()),
            None => Place::Spot(self.file.clone(), line, column),
        }
    }

    /// Returns file and line, if known.
    pub fn shown(&self) -> String {
        match self.made_for() {
            Some(_) => self.file.to_string(),
            None => format!("{}:{}", self.file, self.first_line),
        }
    }

    /// Returns the place of the node at a route of keys and indices.
    pub fn at<S: Into<RouteStep>>(&self, route: impl IntoIterator<Item = S>) -> Place {
        let route: Vec<RouteStep> = route.into_iter().map(Into::into).collect();
        let given = self.given(&route);
        given.unwrap_or_else(|| Place::Node(self.clone(), self.written(route)))
    }

    /// Returns the place of a value that a kustomization sets.
    fn given(&self, route: &[RouteStep]) -> Option<Place> {
        let given = self.delivered()?.given.iter().filter(|given| route.starts_with(&given.route));
        let given = given.max_by_key(|given| given.route.len())?;
        let Place::Node(origin, base) = &given.place else { return Some(given.place.clone()) };
        let mut written = base.clone();
        if given.goes_on {
            written.extend_from_slice(&route[given.route.len()..]);
        }
        let own = || Box::new(Place::Node(self.clone(), self.written(route.to_vec())));
        let own = given.replaces.then(own);
        Some(Place::Node(origin.clone().with(|apart| apart.instead_of = own), written))
    }

    /// Sets the mapping to the written text, for a document that is read in a converted form.
    pub fn read_as(self, moved: RouteMapping) -> Self {
        self.with(|apart| apart.moved = moved)
    }

    /// Returns the document without that mapping, so that routes refer to the written text.
    pub fn as_written(&self) -> Self {
        self.clone().read_as(RouteMapping::default())
    }

    /// Returns the place of the key at the end of a route, for a key that should not exist.
    pub fn key(&self, route: Vec<RouteStep>) -> Place {
        Place::Key(self.clone(), self.written(route))
    }

    /// Converts a route to the route in the written text.
    fn written(&self, route: Vec<RouteStep>) -> Vec<RouteStep> {
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
    /// Returns the place that this one overrides.
    pub(crate) fn instead_of(&self) -> Option<&Place> {
        let (Place::Node(origin, _) | Place::Key(origin, _)) = self else { return None };
        origin.apart.as_ref()?.instead_of.as_deref()
    }

    /// Returns the file of the place.
    pub fn file(&self) -> &Arc<Utf8Path> {
        match self {
            Place::Node(Origin { file, .. }, _)
            | Place::Key(Origin { file, .. }, _)
            | Place::Spot(file, ..)
            | Place::File(file) => file,
        }
    }
}
