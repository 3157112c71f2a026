//! Cuts text into documents, and lists into their items, without parsing them.
//!
//! A snapshot is one `kind: List` of thousands of hosts. Cut into items it is parsed on all cores, and never
//! stands in memory as one tree of events. The cut follows from YAML's indentation: within a block sequence
//! no line of an item starts as far left as the sequence's dashes. Only a flow collection or quoted scalar
//! could break that rule, against YAML's letter; a cut inside one leaves an item that cannot be parsed, and
//! that is reported, never misread.

use std::ops::Range;

/// How many items a list is cut into. One of more is a document like any other, which has at most so many bytes.
const ITEMS: usize = 1_000_000;

/// The byte ranges of a YAML stream's documents; each begins with its `---` line if it has one.
pub(super) fn documents(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut lines = lines(text, 0..text.len());
    let mut start = Some(0);
    let ranges = std::iter::from_fn(move || {
        let first = start?;
        let end = lines.find_map(|line| {
            let marker = text[line.clone()].trim_end_matches(['\n', '\r']);
            let is_end = is_marker(marker, "...");
            (is_end || is_marker(marker, "---")).then_some((line.start, if is_end { line.end } else { line.start }))
        });
        start = end.map(|(_, next)| next);
        Some(first..end.map_or(text.len(), |(end, _)| end))
    });
    ranges.filter(|range| has_content(&text[range.clone()]))
}

/// What can be said of a block mapping from its lines alone.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    /// The value of the top-level `kind`, if it stands on a line of its own.
    pub(super) kind: Option<&'a str>,
    /// Where the lines of the items are, when there is a top-level `items:` with a block sequence.
    items: Option<Range<usize>>,
}

/// Reads the outline of the mapping whose keys stand `column` characters in.
///
/// `first_line_offset` is how many bytes of the first line to skip: the dash of a list's item.
pub(super) fn outline(text: &str, column: usize, first_line_offset: usize) -> Outline<'_> {
    let mut outline = Outline::default();
    let mut items_start = None;
    for line in lines(text, 0..text.len()) {
        let indent = if line.start == 0 { first_line_offset } else { column };
        let bytes = &text.as_bytes()[line.clone()];
        if bytes.len() <= indent
            || (line.start > 0 && bytes[..indent].iter().any(|b| *b != b' '))
            || !bytes[indent].is_ascii_alphabetic()
        {
            continue;
        }
        if let Some(start) = items_start.take() {
            outline.items = Some(start..line.start);
        }
        let content = &text[line.start + indent..line.end];
        match content.split_once(':') {
            Some(("kind", value)) if outline.kind.is_none() => outline.kind = Some(plain_scalar(value)),
            Some(("items", value)) if plain_scalar(value).is_empty() => items_start = Some(line.end),
            _ => {}
        }
        // Only a list's items matter, and most objects say early what they are.
        if outline.kind.is_some_and(|kind| !kind.ends_with("List")) {
            break;
        }
    }
    if let Some(start) = items_start {
        outline.items = Some(start..text.len());
    }
    outline
}

impl Outline<'_> {
    /// The byte ranges of the items of a list's block sequence, and the columns of their keys; `None` when the
    /// text is not cut so easily.
    pub(super) fn items(&self, text: &str) -> Option<Vec<Item>> {
        let range = self.items.clone()?;
        let mut items: Vec<Item> = Vec::new();
        let mut dash = None;
        for line in lines(text, range) {
            let content = text[line.clone()].trim_end_matches(['\n', '\r']);
            let indent = content.len() - content.trim_start_matches(' ').len();
            let body = &content[indent..];
            let starts_item = body == "-" || body.starts_with("- ");
            if dash.is_none() {
                if body.is_empty() || body.starts_with('#') {
                    continue;
                }
                if !starts_item {
                    return None;
                }
                dash = Some(indent);
            }
            if starts_item && Some(indent) == dash {
                let rest = body[1..].trim_start_matches(' ');
                if items.len() == ITEMS {
                    return None;
                }
                items.push(Item { range: line, column: content.len() - rest.len() });
            } else if let Some(last) = items.last_mut() {
                last.range.end = line.end;
            }
        }
        Some(items)
    }
}

/// The lines of the block below `outer: inner:` in the mapping whose keys stand `column` characters in: what lies
/// deeper than `inner`. `None` when it is not written as a block.
pub(super) fn block(text: &str, column: usize, outer: &str, inner: &str) -> Option<Range<usize>> {
    let opens = |content: &str, key: &str| {
        content.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')).is_some_and(|rest| rest.trim().is_empty())
    };
    let mut inner_indent = None;
    let mut in_outer = false;
    let mut start = None;
    for line in lines(text, 0..text.len()) {
        let content = &text[line.clone()];
        let body = content.trim_start_matches(' ');
        let indent = content.len() - body.len();
        // Comments and empty lines stand wherever they like.
        if body.trim().is_empty() || body.starts_with('#') {
            continue;
        }
        if let Some(start) = start {
            let key_indent: usize = inner_indent?;
            if indent < key_indent || (indent == key_indent && !body.starts_with("- ")) {
                return Some(start..line.start);
            }
        } else if !in_outer {
            in_outer = indent == column && opens(body, outer);
        } else if indent <= column {
            return None;
        } else if indent == *inner_indent.get_or_insert(indent) && opens(body, inner) {
            start = Some(line.end);
        }
    }
    start.map(|start| start..text.len())
}

/// One item of a block sequence: its lines, dash included, and the column at which its content begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) range: Range<usize>,
    pub(super) column: usize,
}

/// The ranges of the lines of a part of a text, line ends included.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = range.start;
    std::iter::from_fn(move || {
        if start >= range.end {
            return None;
        }
        let end = memchr::memchr(b'\n', &bytes[start..range.end]).map_or(range.end, |at| start + at + 1);
        let line = start..end;
        start = end;
        Some(line)
    })
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Whether anything but comments, directives and a bare marker is there.
fn has_content(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix("---").unwrap_or(line).trim();
        !line.is_empty() && !line.starts_with(['#', '%'])
    })
}

/// A plain or quoted one-line scalar without quotes, comment and white space.
fn plain_scalar(value: &str) -> &str {
    let value = value.trim();
    if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return value[1..].split(quote).next().unwrap_or_default();
    }
    if value.starts_with('#') {
        return "";
    }
    value.split(" #").next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(text: &'a str, ranges: &[Range<usize>]) -> Vec<&'a str> {
        ranges.iter().map(|range| &text[range.clone()]).collect()
    }

    #[test]
    fn documents_end_at_markers_and_empty_ones_are_dropped() {
        let text = "%YAML 1.2\n---\na: 1\n---\n# only a comment\n--- # b\nb: 2\r\n...\n---\n";
        assert_eq!(texts(text, &documents(text).collect::<Vec<_>>()), ["---\na: 1\n", "--- # b\nb: 2\r\n"]);
    }

    #[test]
    fn a_marker_inside_a_block_scalar_is_indented_and_no_marker() {
        let text = "data: |\n  ---\n  kind: Secret\nkind: ConfigMap\n";
        assert_eq!(documents(text).count(), 1);
        assert_eq!(outline(text, 0, 0).kind, Some("ConfigMap"));
    }

    #[test]
    fn a_kubectl_list_is_cut_into_its_items() {
        let text =
            "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Secret\n  data:\n    - x\n- kind: Pod\nkind: List\n";
        let outline = outline(text, 0, 0);
        assert_eq!(outline.kind, Some("List"));
        let items = outline.items(text).unwrap();
        assert_eq!(
            items.iter().map(|item| &text[item.range.clone()]).collect::<Vec<_>>(),
            ["- apiVersion: v1\n  kind: Secret\n  data:\n    - x\n", "- kind: Pod\n"]
        );
        assert_eq!(items[0].column, 2);
    }

    #[test]
    fn an_indented_list_with_wide_dashes_is_cut_too() {
        let text = "kind: List\nitems:\n\n  # first\n  -   kind: A\n      x: 1\n  -   kind: B\n";
        let outline = outline(text, 0, 0);
        let items = outline.items(text).unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0].column, 6);
        let item = &text[items[0].range.clone()];
        assert_eq!(super::outline(item, items[0].column, items[0].column).kind, Some("A"));
    }

    #[test]
    fn a_flow_sequence_is_not_cut() {
        let text = "kind: List\nitems: [{kind: A}]\n";
        assert!(outline(text, 0, 0).items(text).is_none());
    }

    #[test]
    fn a_block_ends_where_something_stands_as_far_left_as_its_key() {
        for (text, expected) in [
            ("  s:\n    x: 1\n    h:\n      n: 1\n# c\n\n      m: 2\n    z: 3\n", "      n: 1\n# c\n\n      m: 2\n"),
            ("  s:\n    h:\n    - 1\n    - 2\n  t: 1\n", "    - 1\n    - 2\n"),
            ("- t: 1\n  s:\n    h:\n      n: 1\n", "      n: 1\n"),
        ] {
            assert_eq!(block(text, 2, "s", "h").map(|range| &text[range]), Some(expected), "{text}");
        }
        for text in ["  s: {h: {n: 1}}\n", "  s:\n    x:\n      h:\n        n: 1\n", "  t:\n    h:\n      n: 1\n"] {
            assert_eq!(block(text, 2, "s", "h"), None, "{text}");
        }
    }

    #[test]
    fn kind_may_be_quoted_or_commented() {
        for text in ["kind: \"Secret\" # x\n", "kind: 'Secret'\r\n", "kind: Secret # x\n"] {
            assert_eq!(outline(text, 0, 0).kind, Some("Secret"), "{text:?}");
        }
    }
}
