//! Where in a text a node of a document stands.

use std::ops::Range;

use yamlpath::{Document, Route};

use super::position::{Shape, Step};

/// A node as it stands in a document's text; all ranges are of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The key that it stands under; none for an item of a sequence, and for a document.
    pub(super) key: Option<Range<usize>>,
    /// What stands there; none where nothing is written behind the key.
    pub(super) value: Option<Range<usize>>,
    /// How many steps of the route lead there: fewer than it has where something is missing.
    pub(super) depth: usize,
}

/// How many bytes a document may have in which a node is looked up; the tree takes a hundred times that.
const LARGEST: usize = 4 << 20;

/// A document's text as a tree; nothing of one that is too large, or no YAML.
pub(super) fn tree(text: &str) -> Option<Document> {
    if text.len() > LARGEST { None } else { Document::new(text).ok() }
}

/// The text of the node at the end of a route in the text of a document, if it is there.
pub(super) fn node<'a>(text: &'a str, shape: Shape, route: &[Step]) -> Option<&'a str> {
    text.get(exactly(&tree(text)?, shape, route)?.value?)
}

/// The text of the key at the end of a route, with its quotes, if it is there.
pub(super) fn key<'a>(text: &'a str, shape: Shape, route: &[Step]) -> Option<&'a str> {
    text.get(exactly(&tree(text)?, shape, route)?.key?)
}

/// Looks a route up, or the longest part of it that exists: a missing field is reported at its parent. `None` when not
/// even the first step exists.
pub(super) fn find(document: &Document, shape: Shape, route: &[Step]) -> Option<Found> {
    (1..=route.len()).rev().find_map(|depth| exactly(document, shape, &route[..depth]))
}

fn exactly(document: &Document, shape: Shape, route: &[Step]) -> Option<Found> {
    let into = shape.steps_into();
    let query = Route::default().with_keys(into.iter().chain(route).map(Step::component));
    let value = document.query_exact(&query).ok()?.map(|feature| feature.location.byte_span);
    let key = match route.last() {
        Some(Step::Key(_)) => document.query_key_only(&query).ok().map(|feature| feature.location.byte_span),
        _ => None,
    };
    let range = |(start, end)| start..end;
    Some(Found { key: key.map(range), value: value.map(range), depth: route.len() })
}

/// Whether a node's text is a scalar on one line; a mapping, a sequence and a block of text are pointed at by their
/// keys.
pub(super) fn is_plain(text: &str) -> bool {
    match text.chars().next() {
        None | Some('{' | '[' | '|' | '>' | '&' | '*' | '!') => false,
        Some('"' | '\'') => !text.contains('\n'),
        Some(_) => !text.contains('\n') && !text.contains(": ") && !text.ends_with(':') && !text.starts_with("- "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, route: &[Step]) -> Option<(String, String, usize)> {
        let document = Document::new(text).unwrap();
        let cut = |range: Option<Range<usize>>| range.map(|range| text[range].to_owned()).unwrap_or_default();
        find(&document, Shape::Document, route).map(|found| (cut(found.key), cut(found.value), found.depth))
    }

    #[test]
    fn a_node_has_its_key_and_its_value() {
        let text = "spec:\n  count: {active: 3}\n  list:\n  - a: 1\n  - b\n  empty:\n";
        let at = |route: Vec<Step>| found(text, &route).unwrap();

        assert_eq!(at(vec!["spec".into(), "count".into(), "active".into()]), ("active".into(), "3".into(), 3));
        assert_eq!(at(vec!["spec".into(), "list".into(), 1.into()]), (String::new(), "b".into(), 3));
        assert_eq!(at(vec!["spec".into(), "empty".into()]), ("empty".into(), String::new(), 2));
    }

    #[test]
    fn what_is_missing_is_found_at_its_parent() {
        let at = |route: Vec<Step>| found("spec:\n  count: 3\n", &route);

        assert_eq!(at(vec!["spec".into(), "nodes".into(), "x".into()]).unwrap().2, 1);
        assert_eq!(at(vec!["metadata".into()]), None);
    }

    #[test]
    fn scalars_on_a_line_are_plain() {
        for text in ["3", "\"a: b\"", "http://x", "-1", "a b"] {
            assert!(is_plain(text), "{text}");
        }
        for text in ["", "a: 1", "a:\n  b", "- 1", "{}", "[1]", "|\n  x", "*a", "a\n  b"] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
