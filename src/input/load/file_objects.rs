//! The objects in the text of a file, or of a stream.

use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;
use serde_json::value::RawValue;
use yaml_serde::Value;

use super::document::{Document, DocumentContent};
use super::notations::{kind_of, labels_as_texts, untag_keys};
use super::parse_error::{ParseError, parse_yaml};
use super::split::{self, SequenceItem};
use crate::base::finding::position::{DocumentShape, Origin};
use crate::base::text::yaml::bounded;

/// The maximum number of objects in memory that wait to be interpreted.
const BATCH: usize = 4096;

/// Splits a file's text into objects. Items of lists are objects of their own.
///
/// Documents in the plain form of [`split::outline`] are split by lines alone. All others are
/// parsed first.
pub(crate) fn objects<'a>(file: &Arc<Utf8Path>, text: &'a str) -> Vec<Document<'a>> {
    let mut all = Vec::new();
    in_batches(file, text, |batch| all.extend(batch));
    all
}

/// Splits a file's text into objects, and passes them on in batches: an object may use 100 times
/// the memory of its text.
pub(super) fn in_batches<'a>(
    file: &Arc<Utf8Path>,
    text: &'a str,
    mut take: impl FnMut(Vec<Document<'a>>),
) {
    let mut found = Vec::new();
    // One pass over the lines of the whole file. Counting from the start for each document would be
    // quadratic.
    let mut lines = LineCounter { text, at: 0, line: 1 };
    let has_lines = !split::has_other_line_breaks(text);
    let whole = Origin::for_file(file.clone(), text);
    for range in split::documents(text) {
        if found.len() >= BATCH {
            take(std::mem::take(&mut found));
        }
        let document = &text[range.clone()];
        let origin = Origin { first_line: lines.line_at(range.start), range, ..whole.clone() };
        let body = document.strip_prefix("---").unwrap_or(document).trim_start();
        // YAML's flow style may look like JSON. `json_objects` then adds nothing.
        if body.starts_with('{') && json_objects(&origin, document, 0, &mut found) {
            continue;
        }
        let is_plain = has_lines && !split::has_ties(document);
        let outline = split::outline(document)
            .filter(|_| is_plain && !split::may_have_tags(document))
            .unwrap_or_default();
        match (outline.kind, outline.items()) {
            (Some(kind), Some(items)) if is_list(kind) => {
                for SequenceItem { range, kind } in items {
                    if found.len() >= BATCH {
                        take(std::mem::take(&mut found));
                    }
                    let text = &document[range.clone()];
                    let range = origin.range.start + range.start..origin.range.start + range.end;
                    let first_line = lines.line_at(range.start);
                    let shape = DocumentShape::ListItem;
                    let item = Origin { first_line, range, shape, ..origin.clone() };
                    yaml_objects(item, kind, text, false, &mut found);
                }
            }
            (kind, _) => yaml_objects(origin, kind, document, !is_plain, &mut found),
        }
    }
    take(found);
}

/// Returns whether a kind is one of lists: by Kubernetes' convention, each ends in `List`.
fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}

/// Adds a document with the kind that its lines prove, or else parses it. `is_tied` is set if its
/// parts may depend on each other by aliases or merge keys.
fn yaml_objects<'a>(
    origin: Origin,
    kind: Option<&str>,
    text: &'a str,
    is_tied: bool,
    found: &mut Vec<Document<'a>>,
) {
    if let Some(kind) = kind.filter(|kind| !is_list(kind)) {
        let (kind, content) = (Some(kind.to_owned()), DocumentContent::Yaml);
        return found.push(Document { origin, kind, text, content });
    }
    let parsed = parse_yaml::<Value>(text).and_then(|mut value| {
        let invalid = |message: String| ParseError { message, line: Some(1), column: None };
        value.apply_merge().map_err(|error| invalid(error.to_string()))?;
        let has_tagged_keys =
            untag_keys(&mut value).map_err(|message| invalid(message.to_owned()))?;
        Ok((value, has_tagged_keys))
    });
    let (mut value, has_tagged_keys) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return broken(origin, error, text, found),
    };
    // The text of an item includes its dash, so it parses as a list of one.
    if let (DocumentShape::ListItem, Value::Sequence(items)) = (origin.shape, &mut value)
        && items.len() == 1
    {
        value = items.remove(0);
    }
    let kind = kind_of(&value, text);
    let is_one = kind.as_ref().is_some_and(|kind| !is_list(kind));
    // Keeping the text instead of the value preserves positions and the spelling of scalars.
    if is_one && !is_tied && !has_tagged_keys && value.is_mapping() {
        found.push(Document { origin, kind, text, content: DocumentContent::Yaml });
    } else {
        nested(origin, value, text, found);
    }
}

fn broken<'a>(origin: Origin, error: ParseError, text: &'a str, found: &mut Vec<Document<'a>>) {
    let line = error.line.map(|line| line + origin.first_line - 1);
    let content = DocumentContent::Broken(ParseError { line, ..error });
    found.push(Document { origin, kind: None, text, content });
}

fn nested<'a>(origin: Origin, mut value: Value, text: &'a str, found: &mut Vec<Document<'a>>) {
    let kind = kind_of(&value, text);
    if kind.as_deref().is_some_and(is_list)
        && let Some(Value::Sequence(items)) = value.get_mut("items")
    {
        for (index, item) in (0..).zip(std::mem::take(items)) {
            // An item of a nested list gets the position of the outer item. Nobody writes nested
            // lists by hand.
            let shape = if origin.shape == DocumentShape::Document {
                DocumentShape::Nested(index)
            } else {
                origin.shape
            };
            nested(Origin { shape, ..origin.clone() }, item, text, found);
        }
    // kubectl prints `kind: List` after the items, so a truncated file lacks it.
    } else if kind.is_none() && value.get("items").is_some_and(Value::is_sequence) {
        let message =
            "it has `items`, but no `kind: List`: was the end of the file cut off?".to_owned();
        broken(origin, ParseError { message, line: Some(1), column: None }, text, found);
    } else {
        labels_as_texts(&mut value);
        let content = DocumentContent::Value(Box::new(value));
        found.push(Document { origin, kind, text, content });
    }
}

/// The maximum nesting of lists that are split as JSON: an item is scanned once for each list
/// around it.
const LISTS: usize = 4;

/// Splits a JSON document at a nesting level of `lists`. Returns false if it is YAML flow style
/// instead of JSON.
fn json_objects<'a>(
    origin: &Origin,
    document: &'a str,
    lists: usize,
    found: &mut Vec<Document<'a>>,
) -> bool {
    if lists > LISTS || bounded::not_too_deep(document).is_err() {
        return false;
    }
    #[derive(Deserialize)]
    struct ListEnvelope<'a> {
        kind: Option<String>,
        #[serde(borrow)]
        items: Option<Vec<&'a RawValue>>,
    }
    let text = document.strip_prefix("---").unwrap_or(document);
    let Ok(envelope) = serde_json::from_str::<ListEnvelope<'a>>(text) else { return false };
    match (envelope.kind, envelope.items) {
        (Some(kind), Some(items)) if is_list(&kind) => {
            let mut lines = LineCounter { text: document, at: 0, line: origin.first_line };
            for item in items {
                let item = item.get();
                // `RawValue` borrows from the document, so its address gives its position.
                let start = item.as_ptr() as usize - document.as_ptr() as usize;
                let range = origin.range.start + start..origin.range.start + start + item.len();
                let first_line = lines.line_at(start);
                let origin = Origin { first_line, range, ..origin.clone() };
                if !json_objects(&origin, item, lists + 1, found) {
                    yaml_objects(origin, None, item, true, found);
                }
            }
        }
        // It may be a truncated list, which `nested` reports.
        (None, Some(_)) => return false,
        (kind, _) => {
            let content = DocumentContent::Json;
            found.push(Document { origin: origin.clone(), kind, text, content });
        }
    }
    true
}

/// Converts ascending byte offsets to line numbers.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_at(&mut self, offset: usize) -> usize {
        self.line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.at..offset]).count();
        self.at = offset;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::load::in_plain_words;

    fn read(text: &str) -> Vec<(Option<String>, usize, yaml_serde::Value)> {
        objects(&Arc::from(Utf8Path::new("f.yaml")), text)
            .iter()
            .map(|document| {
                (
                    document.kind.clone(),
                    document.origin.first_line,
                    document.parse().unwrap_or_default(),
                )
            })
            .collect()
    }

    fn names(text: &str) -> Vec<String> {
        read(text)
            .iter()
            .map(|(_, _, value)| value["metadata"]["name"].as_str().unwrap_or("?").to_owned())
            .collect()
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
    fn a_parsers_message_keeps_positions_and_values_to_itself() {
        for (message, expected) in [
            (
                "spec: invalid type: string \"hunter2\", expected struct Spec at line 3 column 9",
                "spec: invalid type: string, expected struct Spec",
            ),
            (
                "invalid value: integer `7`, expected a name",
                "invalid value: integer, expected a name",
            ),
            (
                "did not find ',' at line 17 column 15, while parsing at line 2 column 1",
                "did not find ',', while parsing",
            ),
            ("missing field `name`", "missing field `name`"),
        ] {
            assert_eq!(in_plain_words(message), expected);
        }
    }

    #[test]
    fn text_that_is_no_yaml_is_one_broken_document() {
        let documents =
            objects(&Arc::from(Utf8Path::new("f.yaml")), "a: {{ .Values.x }}: b\n  - c");
        assert_eq!(documents.len(), 1);
        assert!(documents[0].broken().is_some());
    }
}
