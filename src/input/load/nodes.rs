//! The nodes of a document with their positions in its text.
//!
//! Nodes are in flat lists instead of a tree: neither building nor dropping them recurses, however
//! deep a text is nested.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle};

use crate::base::finding::position::{DocumentShape, RouteStep};
use crate::base::text::static_regex;

/// The maximum size in bytes of a document to look up nodes in. Its nodes use at least 10 times the
/// memory, and store offsets as `u32`.
const LARGEST: usize = 4 << 20;

/// The nesting limit for collections. It bounds the time to parse a document, and no legitimate
/// document is as deep.
const DEEPEST: usize = 1000;

/// The nodes of one document.
#[derive(Default)]
pub(crate) struct DocumentNodes {
    /// All nodes in the order of the text. The first is the root.
    nodes: Vec<DocumentNode>,
    /// The key and value of each entry of a mapping, and the items of sequences, by the hash of the
    /// collection and their step. The steps themselves would use much more memory.
    children: HashMap<u64, (Option<u32>, u32)>,
    hasher: RandomState,
    /// Keys that the same mapping has before.
    duplicates: Vec<DuplicateKey>,
}

struct DuplicateKey {
    mapping: u32,
    key: u32,
    name: String,
}

struct DocumentNode {
    kind: NodeKind,
    /// The start, with the anchor.
    whole: u32,
    /// The start, with the tag.
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    /// An empty node.
    Absent,
    Scalar,
    /// The node that it refers to, if any.
    Alias(Option<u32>),
    Mapping,
    Sequence,
}

/// The position of a mapping's entry or a sequence's item, as byte ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryRange {
    /// The key with its quotes; `None` for an item and for the root.
    pub(crate) key: Option<Range<usize>>,
    /// The value without its anchor; for an alias, the value of the anchor's node; `None` for an
    /// empty node.
    pub(crate) value: Option<Range<usize>>,
    /// The number of steps of the route that exist.
    pub(crate) depth: usize,
}

impl DocumentNodes {
    /// Parses the first document of a text; returns `None` if it is too large, invalid or nested too
    /// deep.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > LARGEST {
            return None;
        }
        let mut options = Options::default();
        // These limits bound memory, which the size of the text does already.
        options.simple_key_max_lookahead = usize::MAX;
        options.max_buffered_comment_events = usize::MAX;
        options.flow_nesting_limit = DEEPEST;
        options.block_nesting_limit = DEEPEST;
        // An unknown alias must not end the parse.
        options.emit_unresolved_aliases = true;
        options.emit_anchor_events = true;
        let nodes = DocumentNodes::default();
        let mut builder =
            Builder { text, nodes, open: Vec::new(), anchors: HashMap::new(), read: 0 };
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.ok()?;
            if matches!(event, Event::DocumentEnd) {
                break;
            }
            builder.take(event, span)?;
        }
        Some(builder.nodes).filter(|nodes| !nodes.nodes.is_empty())
    }

    /// Returns the number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the entry at the end of a route in a document, or of the longest part of the route
    /// that exists: a missing field is reported at its parent. Returns `None` if not even the first
    /// step exists. `text` is the document's text.
    pub(crate) fn find(
        &self,
        text: &str,
        shape: DocumentShape,
        route: &[RouteStep],
    ) -> Option<EntryRange> {
        let child = |node: u32, step: &RouteStep| {
            let collection = self.target(node)?;
            let step = match step {
                RouteStep::Key(name) => self.hasher.hash_one((collection, name.as_str())),
                RouteStep::Index(index) => self.hasher.hash_one((collection, *index)),
            };
            self.children.get(&step).copied()
        };
        let (mut key, mut node) = (None, 0);
        for step in shape.steps_into() {
            (key, node) = child(node, &step)?;
        }
        let mut depth = 0;
        while let Some(found) = route.get(depth).and_then(|step| child(node, step)) {
            (key, node) = found;
            depth += 1;
        }
        // Callers cut the text there, so a wrong position of the parser's counts as none.
        let is_part = |range: &Range<usize>| text.get(range.clone()).is_some();
        let key = key.map(|key| self.whole(key)).filter(is_part);
        let value = self
            .target(node)
            .filter(|node| self.kind(*node) != NodeKind::Absent)
            .map(|node| self.range(node))
            .filter(is_part);
        (depth > 0).then_some(EntryRange { key, value, depth })
    }

    /// Returns the offset of a key's second occurrence in the innermost mapping around another
    /// offset.
    pub(crate) fn duplicate_key(&self, at: usize, is_key: impl Fn(&str) -> bool) -> Option<usize> {
        let around = |mapping: u32| {
            let range = self.whole(mapping);
            (range.start <= at && at <= range.end).then_some(range.start)
        };
        let known = self.duplicates.iter().filter(|duplicate| is_key(&duplicate.name));
        known
            .filter_map(|duplicate| Some((around(duplicate.mapping)?, Reverse(duplicate.key))))
            .max()
            .map(|(_, Reverse(key))| self.whole(key).start)
    }

    fn kind(&self, node: u32) -> NodeKind {
        self.nodes.get(node as usize).map_or(NodeKind::Absent, |node| node.kind)
    }

    fn range(&self, node: u32) -> Range<usize> {
        self.nodes.get(node as usize).map_or(0..0, |node| node.start as usize..node.end as usize)
    }

    fn whole(&self, node: u32) -> Range<usize> {
        self.nodes.get(node as usize).map_or(0..0, |node| node.whole as usize..node.end as usize)
    }

    /// Returns the node that an alias refers to; any other node itself.
    fn target(&self, node: u32) -> Option<u32> {
        match self.kind(node) {
            NodeKind::Alias(target) => target,
            _ => Some(node),
        }
    }
}

/// Builds nodes from a parser's events.
struct Builder<'a> {
    text: &'a str,
    nodes: DocumentNodes,
    open: Vec<OpenNode>,
    /// Nodes with anchors.
    anchors: HashMap<usize, u32>,
    /// The end of the text that previous events cover.
    read: usize,
}

/// A collection that is being read.
struct OpenNode {
    node: u32,
    /// The number of its children so far. Keys and values of a mapping alternate.
    count: usize,
    last: Option<u32>,
    /// The step to the value of the key that was read last, if that is a scalar.
    step: Option<u64>,
}

impl Builder<'_> {
    /// Processes an event. Returns `None` if the parser contradicts itself.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let mut range = span.byte_range()?;
        let tag = span.tag_span().and_then(|tag| tag.byte_range());
        match event {
            Event::Scalar(value, style, anchor, _) => {
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    range = self.with_header(range);
                }
                let kind = if range.is_empty() && tag.is_none() {
                    NodeKind::Absent
                } else {
                    NodeKind::Scalar
                };
                let is_key = self.is_at_key();
                if kind == NodeKind::Absent && !is_key {
                    range = self.behind_colon(range);
                }
                // A node may consist of a tag alone.
                let (start, end) = match tag {
                    Some(tag) if range.is_empty() => (tag.start, tag.end),
                    Some(tag) => (tag.start.min(range.start), range.end),
                    None => (range.start, range.end),
                };
                let key = self.add(kind, start..end, anchor)?;
                if is_key && kind == NodeKind::Scalar {
                    self.name(key, &value)?;
                }
            }
            Event::Alias(id) => {
                let target = self.anchors.get(&id).copied();
                self.add(NodeKind::Alias(target), range.clone(), 0)?;
            }
            Event::UnresolvedAlias(_) => {
                self.add(NodeKind::Alias(None), range.clone(), 0)?;
            }
            Event::SequenceStart(style, anchor, _) => {
                if style == StructureStyle::Block {
                    range = self.at_dash(range);
                }
                self.begin(NodeKind::Sequence, tag, range.clone(), anchor)?;
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(NodeKind::Mapping, tag, range.clone(), anchor)?
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&range)?,
            Event::Anchor(id, _) => {
                // The parser reports an anchor after the start of its node.
                let node = *self.anchors.get(&id)?;
                let node = self.nodes.nodes.get_mut(node as usize)?;
                // The anchor precedes the value, and possibly the tag.
                node.whole = node.whole.min(small(range.start));
                // A node may consist of an anchor alone.
                if node.kind == NodeKind::Absent {
                    (node.kind, node.start, node.end) =
                        (NodeKind::Scalar, small(range.start), small(range.end));
                }
            }
            Event::Comment(..) => {}
            _ => return Some(()),
        }
        self.read = self.read.max(range.end);
        Some(())
    }

    fn add(&mut self, kind: NodeKind, range: Range<usize>, anchor: usize) -> Option<u32> {
        let number = u32::try_from(self.nodes.nodes.len()).ok()?;
        let (start, end) = (small(range.start), small(range.end));
        self.nodes.nodes.push(DocumentNode { kind, whole: start, start, end });
        if anchor != 0 {
            self.anchors.insert(anchor, number);
        }
        let is_mapping = self.mapping().is_some();
        if let Some(around) = self.open.last_mut() {
            let (step, key) = match is_mapping {
                true => (around.step.take(), around.last),
                false => (Some(self.nodes.hasher.hash_one((around.node, around.count))), None),
            };
            if let Some(step) = step {
                // Of several equal keys, the first counts.
                self.nodes.children.entry(step).or_insert((key, number));
            }
            around.count += 1;
            around.last = Some(number);
        }
        Some(number)
    }

    /// Names the key that was added last.
    fn name(&mut self, key: u32, name: &str) -> Option<()> {
        let mapping = self.open.last_mut()?;
        let step = self.nodes.hasher.hash_one((mapping.node, name));
        mapping.step = Some(step);
        if self.nodes.children.contains_key(&step) {
            let (mapping, name) = (mapping.node, name.to_owned());
            self.nodes.duplicates.push(DuplicateKey { mapping, key, name });
        }
        Some(())
    }

    fn begin(
        &mut self,
        kind: NodeKind,
        tag: Option<Range<usize>>,
        range: Range<usize>,
        anchor: usize,
    ) -> Option<()> {
        let start = tag.map_or(range.start, |tag| tag.start.min(range.start));
        let node = self.add(kind, start..range.end, anchor)?;
        self.open.push(OpenNode { node, count: 0, last: None, step: None });
        Some(())
    }

    /// Closes a collection. In flow style it ends with its bracket, otherwise with its last child.
    fn end(&mut self, bracket: &Range<usize>) -> Option<()> {
        let OpenNode { node, last, .. } = self.open.pop()?;
        let last = last.map_or(0, |last| self.nodes.whole(last).end);
        let end = if bracket.is_empty() { last } else { last.max(bracket.end) };
        let node = self.nodes.nodes.get_mut(node as usize)?;
        node.end = node.end.max(small(end));
        Some(())
    }

    /// Returns the innermost open collection if it is a mapping.
    fn mapping(&self) -> Option<&OpenNode> {
        self.open.last().filter(|around| self.nodes.kind(around.node) == NodeKind::Mapping)
    }

    /// Returns whether the next node is a key of a mapping.
    fn is_at_key(&self) -> bool {
        self.mapping().is_some_and(|mapping| mapping.count.is_multiple_of(2))
    }

    /// Extends the range of a block scalar to its `|` or `>`. Before that header, only comments, an
    /// anchor and a tag can follow the previous event.
    fn with_header(&self, range: Range<usize>) -> Range<usize> {
        let before = self.text.get(self.read..range.start).unwrap_or_default();
        // Comments, anchors and tags, which start only after whitespace; and the header's sign.
        let mut parts = static_regex!(r"(?:^|\s)(?:#[^\n]*|[&!]\S*)|[|>]").find_iter(before);
        let header = parts.find(|part| matches!(part.as_str(), "|" | ">"));
        let start = self.read + header.map_or(0, |header| header.start());
        let text = self.text.get(start..range.end).unwrap_or_default().trim_end();
        start..start + text.len()
    }

    /// Moves the range of an empty value to the position after its key's colon.
    fn behind_colon(&self, range: Range<usize>) -> Range<usize> {
        let Some(key) = self.mapping().and_then(|mapping| mapping.last) else { return range };
        let end = self.nodes.range(key).end;
        let rest = self.text.get(end..).unwrap_or_default();
        let body = rest.trim_start_matches([' ', '\t']);
        let at = end + rest.len() - body.len() + usize::from(body.starts_with(':'));
        if body.starts_with(':') { at..at } else { end..end }
    }

    /// Extends the range of a block sequence to its first dash. The parser's range starts at the
    /// first item if the sequence has the indentation of its key.
    fn at_dash(&self, range: Range<usize>) -> Range<usize> {
        let line = memchr::memrchr(b'\n', &self.text.as_bytes()[..range.start])
            .map_or(0, |newline| newline + 1);
        let before = self.text.get(line..range.start).unwrap_or_default();
        let dash = line + before.len() - before.trim_start_matches(' ').len();
        if self.mapping().is_some()
            && self.text.get(dash..).is_some_and(|rest| rest.starts_with('-'))
        {
            return dash..range.end.max(dash);
        }
        range
    }
}

/// Converts an offset in a text whose length is known to fit into `u32`.
fn small(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, route: &[RouteStep]) -> Option<(String, String, usize)> {
        let nodes = DocumentNodes::parse(text).unwrap();
        let cut = |range: Option<Range<usize>>| {
            range.map(|range| text[range].to_owned()).unwrap_or_default()
        };
        nodes
            .find(text, DocumentShape::Document, route)
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
}
