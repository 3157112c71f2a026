//! One document of a file, and how it is parsed.

use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::position::{Origin, Shape, line_column};
use super::split;

/// One object as it stands in a file, not yet parsed.
pub struct Document<'a> {
    /// Where it stands.
    pub origin: Origin,
    kind: Option<String>,
    content: Content<'a>,
}

enum Content<'a> {
    /// Block YAML, a whole document.
    Yaml(&'a str),
    /// Block YAML: a sequence of one item.
    Item(&'a str),
    Json(&'a str),
    /// Part of a document that had to be parsed as a whole.
    Value(Box<yaml_serde::Value>),
    /// Text that is neither YAML nor JSON.
    Broken(ParseError, &'a str),
}

/// Why a document is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Line in the file, from 1; where the parser says.
    pub line: Option<usize>,
    /// Column in the line, from 1.
    pub column: Option<usize>,
}

impl Document<'_> {
    /// The object's kind, if it has one.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The error that made this document unreadable as YAML or JSON of any kind.
    pub fn broken(&self) -> Option<&ParseError> {
        match &self.content {
            Content::Broken(error, _) => Some(error),
            _ => None,
        }
    }

    /// Whether the text has double braces: a template of some other tool that does not parse, or parses to
    /// nonsense, is not ours to judge.
    pub fn looks_like_template(&self) -> bool {
        self.text().is_some_and(|text| memchr::memmem::find(text.as_bytes(), b"{{").is_some())
    }

    /// Whether a line of the text names one of the kinds; for text that cannot be parsed.
    pub fn mentions_kind(&self, kinds: &[&str]) -> bool {
        let value =
            |line: &str| Some(line.trim_start_matches([' ', '-', '{']).strip_prefix("kind:")?.trim().to_owned());
        self.text().into_iter().flat_map(str::lines).filter_map(value).any(|kind| kinds.contains(&kind.as_str()))
    }

    fn text(&self) -> Option<&str> {
        match self.content {
            Content::Yaml(text) | Content::Item(text) | Content::Json(text) | Content::Broken(_, text) => Some(text),
            Content::Value(_) => None,
        }
    }

    /// Parses the object as a type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ParseError> {
        match &self.content {
            Content::Yaml(text) => yaml(text, 0).map_err(|error| self.in_file(error)),
            Content::Item(text) => yaml::<[T; 1]>(text, 0).map(|[item]| item).map_err(|error| self.in_file(error)),
            Content::Json(text) => serde_json::from_str(text).map_err(|error| {
                let (line, column) = (Some(error.line()), Some(error.column()));
                self.in_file(ParseError { message: without_position(&error.to_string()), line, column })
            }),
            Content::Value(value) => yaml_serde::from_value((**value).clone()).map_err(|error| ParseError {
                message: error.to_string(),
                line: None,
                column: None,
            }),
            Content::Broken(error, _) => Err(error.clone()),
        }
    }

    fn in_file(&self, error: ParseError) -> ParseError {
        ParseError { line: error.line.map(|line| line + self.origin.first_line - 1), ..error }
    }
}

/// Cuts a file's text into its objects; the items of lists count as objects of their own.
pub(super) fn objects<'a>(file: &Arc<Utf8Path>, text: &'a str) -> Vec<Document<'a>> {
    let mut found = Vec::new();
    // Lines are counted once for the whole file, forwards, or a file of many documents would be quadratic.
    let mut lines = LineCounter { text, at: 0, line: 1 };
    for range in split::documents(text) {
        let first_line = lines.line_at(range.start);
        let origin = Origin { file: file.clone(), first_line, range: range.clone(), shape: Shape::Document };
        let document = &text[range];
        let body = document.strip_prefix("---").unwrap_or(document).trim_start();
        if body.starts_with('{') && json_objects(&origin, document, &mut found) {
            continue;
        }
        let outline = split::outline(document, 0, 0);
        let is_list = outline.kind.is_some_and(|kind| kind.ends_with("List"));
        if needs_whole_parse(document) || outline.kind.is_none() {
            whole(origin, document, &mut found);
        } else if !is_list {
            found.push(Document { origin, kind: outline.kind.map(str::to_owned), content: Content::Yaml(document) });
        } else if let Some(items) = outline.items(document) {
            for item in items {
                let text = &document[item.range.clone()];
                let range = origin.range.start + item.range.start..origin.range.start + item.range.end;
                let item_origin = Origin {
                    file: file.clone(),
                    first_line: lines.line_at(range.start),
                    range,
                    shape: Shape::ListItem,
                };
                match split::outline(text, item.column, item.column).kind {
                    Some(kind) => found.push(Document {
                        origin: item_origin,
                        kind: Some(kind.to_owned()),
                        content: Content::Item(text),
                    }),
                    None => whole(item_origin, text, &mut found),
                }
            }
        } else {
            whole(origin, document, &mut found);
        }
    }
    found
}

/// Aliases and merge keys tie the parts of a document together.
fn needs_whole_parse(text: &str) -> bool {
    let find = |needle: &str| memchr::memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
    find(": *") || find("- *") || find("<<:")
}

/// Parses a document as a whole; for what cannot be told from its lines.
fn whole<'a>(origin: Origin, text: &'a str, found: &mut Vec<Document<'a>>) {
    let parsed = yaml::<yaml_serde::Value>(text, 0).and_then(|mut value| {
        value.apply_merge().map_err(|error| ParseError { message: error.to_string(), line: None, column: None })?;
        Ok(value)
    });
    match parsed {
        Ok(value) => {
            let value = match (origin.shape, value) {
                (Shape::ListItem, yaml_serde::Value::Sequence(mut items)) if items.len() == 1 => items.remove(0),
                (_, value) => value,
            };
            nested(origin, value, found);
        }
        Err(error) => {
            let line = error.line.map(|line| line + origin.first_line - 1);
            let content = Content::Broken(ParseError { line, ..error }, text);
            found.push(Document { origin, kind: None, content });
        }
    }
}

fn nested(origin: Origin, mut value: yaml_serde::Value, found: &mut Vec<Document<'_>>) {
    let kind = value.get("kind").and_then(|kind| kind.as_str()).map(str::to_owned);
    let is_list = kind.as_ref().is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(yaml_serde::Value::Sequence(items)) = value.get_mut("items").map(std::mem::take) {
        for (index, item) in items.into_iter().enumerate() {
            // A list in a list keeps the outer item's position: exact positions are for what people write.
            let shape = if origin.shape == Shape::Document { Shape::Nested(index) } else { origin.shape };
            nested(Origin { shape, ..origin.clone() }, item, found);
        }
    } else if value.is_mapping() {
        found.push(Document { origin, kind, content: Content::Value(Box::new(value)) });
    }
}

/// Cuts a JSON document; false when it is not JSON after all but YAML's flow style.
fn json_objects<'a>(origin: &Origin, document: &'a str, found: &mut Vec<Document<'a>>) -> bool {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(default)]
        kind: Option<String>,
        #[serde(borrow, default)]
        items: Option<Vec<&'a RawValue>>,
    }
    let text = document.strip_prefix("---").unwrap_or(document);
    let Ok(envelope) = serde_json::from_str::<Envelope<'a>>(text) else { return false };
    match (envelope.kind, envelope.items) {
        (Some(kind), Some(items)) if kind.ends_with("List") => {
            let mut lines = LineCounter { text: document, at: 0, line: origin.first_line };
            for item in items {
                let item = item.get();
                let start = item.as_ptr() as usize - document.as_ptr() as usize;
                let origin = Origin {
                    file: origin.file.clone(),
                    first_line: lines.line_at(start),
                    range: origin.range.start + start..origin.range.start + start + item.len(),
                    shape: Shape::Document,
                };
                if !json_objects(&origin, item, found) {
                    whole(origin, item, found);
                }
            }
        }
        (kind, _) => {
            found.push(Document { origin: origin.clone(), kind, content: Content::Json(text) });
        }
    }
    true
}

fn yaml<T: DeserializeOwned>(text: &str, line_offset: usize) -> Result<T, ParseError> {
    yaml_serde::from_str(text).map_err(|error| {
        let location = error.location();
        ParseError {
            message: without_position(&error.to_string()),
            line: location.as_ref().map(|location| location.line() + line_offset),
            column: location.as_ref().map(|location| location.column()),
        }
    })
}

/// The parsers end their messages with the position in the text that they saw; ours is that in the file.
fn without_position(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

/// Turns ascending byte offsets into line numbers.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_at(&mut self, offset: usize) -> usize {
        if offset < self.at {
            return line_column(self.text, offset).0;
        }
        self.line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.at..offset]).count();
        self.at = offset;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Option<String>, usize, yaml_serde::Value)> {
        objects(&Arc::from(Utf8Path::new("f.yaml")), text)
            .iter()
            .map(|document| (document.kind.clone(), document.origin.first_line, document.parse().unwrap_or_default()))
            .collect()
    }

    fn names(text: &str) -> Vec<String> {
        read(text).iter().map(|(_, _, value)| value["metadata"]["name"].as_str().unwrap_or("?").to_owned()).collect()
    }

    #[test]
    fn every_way_to_write_a_list_gives_the_same_objects() {
        for text in [
            "kind: List\nitems:\n- kind: A\n  metadata:\n    name: a\n- kind: B\n  metadata:\n    name: b\n",
            "items:\n  - kind: A\n    metadata: {name: a}\n  - metadata: {name: b}\n    kind: B\nkind: FooList\n",
            "{kind: List, items: [{kind: A, metadata: {name: a}}, {kind: B, metadata: {name: b}}]}",
            r#"{"kind":"List","items":[{"kind":"A","metadata":{"name":"a"}},{"kind":"B","metadata":{"name":"b"}}]}"#,
            "kind: List\nitems:\n- &x\n  kind: A\n  metadata: {name: a}\n- <<: *x\n  kind: B\n  metadata: {name: b}\n",
            "kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata: {name: b}\n",
        ] {
            let kinds: Vec<_> = read(text).into_iter().map(|(kind, ..)| kind.unwrap()).collect();
            assert_eq!(kinds, ["A", "B"], "{text}");
            assert_eq!(names(text), ["a", "b"], "{text}");
        }
    }

    #[test]
    fn an_item_knows_its_line_in_the_file() {
        let text = "# top\n---\nkind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n---\nkind: C\n";
        let lines: Vec<_> = read(text).into_iter().map(|(_, line, _)| line).collect();
        assert_eq!(lines, [5, 7, 8]);
    }

    #[test]
    fn an_error_names_the_line_in_the_file() {
        let text = "kind: A\n---\nkind: List\nitems:\n- kind: B\n- kind: C\n  x: [\n";
        let documents = objects(&Arc::from(Utf8Path::new("f.yaml")), text);
        let error = documents[2].parse::<yaml_serde::Value>().unwrap_err();
        assert!(error.line.unwrap() >= 7, "{error:?}");
        assert!(!error.message.contains("at line"), "{error:?}");
    }

    #[test]
    fn text_that_is_no_yaml_is_one_broken_document() {
        let documents = objects(&Arc::from(Utf8Path::new("f.yaml")), "a: {{ .Values.x }}: b\n  - c");
        assert_eq!(documents.len(), 1);
        assert!(documents[0].broken().is_some());
    }
}
