//! Inputs with another text in one position, in any spelling of YAML.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::input::load::Files;
use walkdir::WalkDir;
use yaml_serde::Value;

use crate::support::{documents, fixtures};

/// The files of a repo, in memory.
pub type Tree = BTreeMap<Utf8PathBuf, Vec<u8>>;

/// A position in a file of a repo.
#[derive(Debug, Clone)]
pub struct Position {
    pub file: Utf8PathBuf,
    document: usize,
    route: Vec<Step>,
    /// Whether it is the key at the end of the route, and not its value.
    is_key: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The files of a fixture.
pub fn tree(fixture: &str) -> Tree {
    let top = fixtures().join(fixture);
    let files = WalkDir::new(&top)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file());
    let read = |entry: walkdir::DirEntry| {
        let path =
            Utf8Path::from_path(entry.path().strip_prefix(&top).unwrap()).unwrap().to_owned();
        (path, std::fs::read(entry.path()).unwrap())
    };
    files.map(read).collect()
}

pub fn files(tree: &Tree) -> Files {
    Files::in_memory(tree.clone())
}

fn parsed(tree: &Tree, file: &Utf8Path) -> Vec<Value> {
    documents(std::str::from_utf8(&tree[file]).unwrap())
}

/// The positions of all texts of some files, and those of all keys; of each file the first `most` documents.
pub fn positions(tree: &Tree, files: &[&str], most: usize) -> Vec<Position> {
    let mut all = Vec::new();
    for file in files {
        let file = Utf8PathBuf::from(*file);
        for (document, value) in parsed(tree, &file).iter().enumerate().take(most) {
            collect(value, &mut Vec::new(), &mut |route, is_key| {
                all.push(Position { file: file.clone(), document, route: route.to_vec(), is_key });
            });
        }
    }
    all
}

fn collect(value: &Value, route: &mut Vec<Step>, take: &mut impl FnMut(&[Step], bool)) {
    match value {
        Value::Mapping(map) => {
            for (key, value) in map {
                route.push(Step::Key(key.as_str().unwrap().to_owned()));
                take(route, true);
                collect(value, route, take);
                route.pop();
            }
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                route.push(Step::Index(index));
                collect(item, route, take);
                route.pop();
            }
        }
        _ => take(route, false),
    }
}

impl Position {
    pub fn is_key(&self) -> bool {
        self.is_key
    }

    /// Whether the last key on the way has this name.
    pub fn is_under(&self, name: &str) -> bool {
        self.route.iter().any(|step| *step == Step::Key(name.to_owned()))
    }

    /// The repo with another scalar here: what is written behind the key's colon, lines that go on indented by as many
    /// blanks as it is given; all else in blocks, with quotes.
    pub fn with(&self, tree: &Tree, scalar: &dyn Fn(usize) -> String) -> Tree {
        let mut text = String::new();
        for (index, value) in parsed(tree, &self.file).iter().enumerate() {
            text.push_str("---\n");
            let target = (index == self.document).then_some(self);
            Emitter { target, scalar, text: &mut text }.value(value, &mut Vec::new(), 0);
        }
        let mut tree = tree.clone();
        tree.insert(self.file.clone(), text.into_bytes());
        tree
    }

    /// The same document as JSON, with a text here.
    pub fn with_json(&self, tree: &Tree, new: &str) -> Tree {
        let mut text = String::new();
        for (index, value) in parsed(tree, &self.file).into_iter().enumerate() {
            let value = if index == self.document { self.replaced(value, new, 0) } else { value };
            text.push_str(&format!("---\n{}\n", serde_json::to_string(&value).unwrap()));
        }
        let mut tree = tree.clone();
        tree.insert(self.file.clone(), text.into_bytes());
        tree
    }

    fn replaced(&self, value: Value, new: &str, depth: usize) -> Value {
        let is_last = depth + 1 == self.route.len();
        match (value, self.route.get(depth)) {
            (Value::Mapping(map), Some(Step::Key(key))) => {
                let entry = |(name, value): (Value, Value)| {
                    if name.as_str() != Some(key) {
                        return (name, value);
                    }
                    if is_last && self.is_key {
                        return (new.into(), value);
                    }
                    (name, self.replaced(value, new, depth + 1))
                };
                Value::Mapping(map.into_iter().map(entry).collect())
            }
            (Value::Sequence(items), Some(Step::Index(at))) => {
                let item = |(index, value)| {
                    if index == *at { self.replaced(value, new, depth + 1) } else { value }
                };
                Value::Sequence(items.into_iter().enumerate().map(item).collect())
            }
            _ => new.into(),
        }
    }
}

struct Emitter<'a> {
    target: Option<&'a Position>,
    scalar: &'a dyn Fn(usize) -> String,
    text: &'a mut String,
}

impl Emitter<'_> {
    fn is_target(&self, route: &[Step], is_key: bool) -> bool {
        self.target.is_some_and(|target| target.route == route && target.is_key == is_key)
    }

    /// Writes a value; a collection's first line begins where the last one has ended.
    fn value(&mut self, value: &Value, route: &mut Vec<Step>, indent: usize) {
        let blanks = " ".repeat(indent);
        match value {
            Value::Mapping(map) if !map.is_empty() => {
                if indent > 0 {
                    self.text.push('\n');
                }
                for (key, value) in map {
                    route.push(Step::Key(key.as_str().unwrap().to_owned()));
                    let key = match self.is_target(route, true) {
                        true => (self.scalar)(indent + 2),
                        false => json(key),
                    };
                    self.text.push_str(&format!("{blanks}{}:", key.trim_start()));
                    self.value(value, route, indent + 2);
                    route.pop();
                }
            }
            Value::Sequence(items) if !items.is_empty() => {
                self.text.push('\n');
                for (index, item) in items.iter().enumerate() {
                    route.push(Step::Index(index));
                    self.text.push_str(&format!("{blanks}-"));
                    self.value(item, route, indent + 2);
                    route.pop();
                }
            }
            _ => {
                let scalar = match self.is_target(route, false) {
                    true => (self.scalar)(indent + 2),
                    false => json(value),
                };
                self.text.push_str(&format!(" {}\n", scalar.trim_start()));
            }
        }
    }
}

/// A value as one line; a word as it is, as other programs make something else of a quoted one.
fn json(value: &Value) -> String {
    let plain = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-'))
            && !matches!(text, "true" | "false" | "null")
    };
    match value.as_str() {
        Some(text) if plain(text) => text.to_owned(),
        _ => serde_json::to_string(value).unwrap(),
    }
}

/// A text in double quotes, with an escape in the place of everything but letters and digits.
pub fn escaped(text: &str) -> String {
    let escape = |c: char| match u32::from(c) {
        _ if c.is_ascii_alphanumeric() || " :/[]#=.;,".contains(c) => c.to_string(),
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
