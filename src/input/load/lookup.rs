//! Finds the position of a node in a document's text.

use super::nodes::{DocumentNodes, EntryRange};
use crate::base::finding::position::{DocumentShape, RouteStep};

/// Finds a route, or the longest existing part of it: a missing field is reported at its parent.
/// Returns `None` if not even the first step exists.
pub(super) fn find(
    nodes: &DocumentNodes,
    text: &str,
    shape: DocumentShape,
    route: &[RouteStep],
) -> Option<EntryRange> {
    (1..=route.len()).rev().find_map(|depth| nodes.find(text, shape, &route[..depth]))
}

/// Returns line and column of the second occurrence of the key that a parser's message names, in
/// the mapping around the parser's line and column.
pub(super) fn duplicate_key(
    text: &str,
    message: &str,
    (line, column): (usize, usize),
) -> Option<(usize, usize)> {
    let start = |line: usize| {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        std::iter::once(0).chain(breaks).nth(line.checked_sub(1)?)
    };
    let before = start(line)?;
    let at = text[before..].char_indices().nth(column.saturating_sub(1));
    let at = at.map_or(text.len(), |(at, _)| before + at);
    let is_named = |key: &str| message.ends_with(&format!("duplicate key `{key}`"));
    let key = DocumentNodes::parse(text)?.duplicate_key(text, at, is_named)?;
    let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..key]).count() + 1;
    Some((line, text[start(line)?..key].chars().count() + 1))
}

/// Returns whether a node's text is a scalar on one line. Mappings, sequences and block scalars are
/// marked by their keys.
pub(super) fn is_plain(text: &str) -> bool {
    match text.chars().next() {
        None | Some('{' | '[' | '|' | '>' | '&' | '*' | '!') => false,
        Some('"' | '\'') => !text.contains('\n'),
        Some(_) => {
            !text.contains('\n')
                && !text.contains(": ")
                && !text.ends_with(':')
                && !text.starts_with("- ")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn found(text: &str, route: &[RouteStep]) -> Option<(String, String, usize)> {
        let nodes = DocumentNodes::parse(text).unwrap();
        let cut = |range: Option<Range<usize>>| {
            range.map(|range| text[range].to_owned()).unwrap_or_default()
        };
        find(&nodes, text, DocumentShape::Document, route)
            .map(|found| (cut(found.key), cut(found.value), found.depth))
    }

    #[test]
    fn a_node_has_its_key_and_its_value() {
        let text = "spec:\n  count: {active: 3}\n  list:\n  - a: 1\n  - b\n  empty:\n";
        let at = |route: Vec<RouteStep>| found(text, &route).unwrap();

        assert_eq!(
            at(vec!["spec".into(), "count".into(), "active".into()]),
            ("active".into(), "3".into(), 3)
        );
        assert_eq!(
            at(vec!["spec".into(), "list".into(), 1.into()]),
            (String::new(), "b".into(), 3)
        );
        assert_eq!(at(vec!["spec".into(), "empty".into()]), ("empty".into(), String::new(), 2));
    }

    #[test]
    fn what_is_missing_is_found_at_its_parent() {
        let at = |route: Vec<RouteStep>| found("spec:\n  count: 3\n", &route);

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
