//! Where in a text a node of a document stands.

use std::ops::Range;

use super::nodes::{Entry, Nodes};
use crate::finding::position::{Shape, Step};

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

/// How many bytes a document may have in which a node is looked up; its nodes take ten times that, or more.
const LARGEST: usize = 4 << 20;

/// A document's nodes; nothing of one that is too large, nested too deep, or no YAML.
pub(super) fn nodes(text: &str) -> Option<Nodes> {
    if text.len() > LARGEST {
        None
    } else {
        Nodes::of(text)
    }
}

/// Looks a route up, or the longest part of it that exists: a missing field is reported at its parent. `None` when not
/// even the first step exists.
pub(super) fn find(nodes: &Nodes, text: &str, shape: Shape, route: &[Step]) -> Option<Found> {
    (1..=route.len())
        .rev()
        .find_map(|depth| exactly(nodes, text, shape, &route[..depth]))
}

/// Looks a route up in the nodes of the document that has this text.
pub(super) fn exactly(nodes: &Nodes, text: &str, shape: Shape, route: &[Step]) -> Option<Found> {
    let Entry { key, value } = nodes.find(text, shape.steps_into().iter().chain(route))?;
    Some(Found {
        key,
        value,
        depth: route.len(),
    })
}

/// Whether a node's text is a scalar on one line; a mapping, a sequence and a block of text are pointed at by their
/// keys.
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
    use super::*;

    fn found(text: &str, route: &[Step]) -> Option<(String, String, usize)> {
        let nodes = Nodes::of(text).unwrap();
        let cut = |range: Option<Range<usize>>| {
            range
                .map(|range| text[range].to_owned())
                .unwrap_or_default()
        };
        find(&nodes, text, Shape::Document, route)
            .map(|found| (cut(found.key), cut(found.value), found.depth))
    }

    #[test]
    fn a_node_has_its_key_and_its_value() {
        let text = "spec:\n  count: {active: 3}\n  list:\n  - a: 1\n  - b\n  empty:\n";
        let at = |route: Vec<Step>| found(text, &route).unwrap();

        assert_eq!(
            at(vec!["spec".into(), "count".into(), "active".into()]),
            ("active".into(), "3".into(), 3)
        );
        assert_eq!(
            at(vec!["spec".into(), "list".into(), 1.into()]),
            (String::new(), "b".into(), 3)
        );
        assert_eq!(
            at(vec!["spec".into(), "empty".into()]),
            ("empty".into(), String::new(), 2)
        );
    }

    #[test]
    fn what_is_missing_is_found_at_its_parent() {
        let at = |route: Vec<Step>| found("spec:\n  count: 3\n", &route);

        assert_eq!(
            at(vec!["spec".into(), "nodes".into(), "x".into()])
                .unwrap()
                .2,
            1
        );
        assert_eq!(at(vec!["metadata".into()]), None);
    }

    #[test]
    fn scalars_on_a_line_are_plain() {
        for text in ["3", "\"a: b\"", "http://x", "-1", "a b"] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "", "a: 1", "a:\n  b", "- 1", "{}", "[1]", "|\n  x", "*a", "a\n  b",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
