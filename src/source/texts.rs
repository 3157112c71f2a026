//! From a symbolic place to line and column.

use std::collections::HashMap;
use std::sync::Arc;

use camino::Utf8Path;

use super::files::Files;
use super::position::{self, Origin, Place, Position, Way};

/// The texts of files, each read once however many places in it are looked up.
pub struct Texts<'a> {
    files: &'a Files,
    texts: HashMap<Arc<Utf8Path>, Option<Text>>,
}

/// A file's text, and where its lines begin.
struct Text {
    text: String,
    lines: Vec<usize>,
}

impl<'a> Texts<'a> {
    /// The texts of some files, none of them read yet.
    pub fn new(files: &'a Files) -> Self {
        Self { files, texts: HashMap::new() }
    }

    /// Looks a place up; what cannot be found is named as well as it is known.
    pub fn position(&mut self, place: &Place) -> Position {
        let (line, column) = match place {
            Place::File(_) => (None, None),
            Place::Spot(_, line, column) => (Some(*line), *column),
            Place::Node(Origin { way: Way::Made(_), .. }, _) => (None, None),
            Place::Node(origin, route) => {
                let found = self.get(&origin.file).and_then(|text| {
                    let offset = position::offset(&text.text, origin, route)?;
                    Some(text.line_column(offset))
                });
                found.map_or((Some(origin.first_line), None), |(line, column)| (Some(line), Some(column)))
            }
        };
        Position { file: place.file().clone(), line, column }
    }

    fn get(&mut self, file: &Arc<Utf8Path>) -> Option<&Text> {
        let read = || self.files.text(file).map(Text::new);
        self.texts.entry(file.clone()).or_insert_with(read).as_ref()
    }
}

impl Text {
    fn new(text: String) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
        Self { lines: std::iter::once(0).chain(ends).collect(), text }
    }

    /// Line and column, from 1, of a byte offset; columns count characters.
    fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line - 1).copied().unwrap_or_default();
        (line, self.text[start..offset].chars().count() + 1)
    }
}
