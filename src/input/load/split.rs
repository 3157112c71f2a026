//! Splits a text into documents, and lists into items, without parsing.
//!
//! A snapshot is one `kind: List` with thousands of hosts. Split into items it is parsed on all
//! cores, and is never in memory as one tree of events. YAML crates split only while they parse.
//!
//! The split relies on YAML's indentation: within a block sequence, no line of an item starts as
//! far left as the dashes. Only a flow collection or quoted scalar in invalid YAML can break this
//! rule. Its item then fails to parse, which is reported, so nothing is misread.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::base::text::bytes;

/// The maximum number of items to split. A longer list is parsed as one document, to which the size
/// limit of documents applies.
const ITEMS: usize = 1_000_000;

/// Returns the byte ranges of the values in a stream of several JSON values, as `jq` writes it; `None`
/// for any other text.
pub(crate) fn json_values(text: &str) -> Option<Vec<Range<usize>>> {
    if !text.starts_with('{') || !text.contains("\n{") {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut ranges = Vec::new();
    let mut start = 0;
    while let Some(value) = values.next() {
        value.ok()?;
        ranges.push(start..values.byte_offset());
        start = values.byte_offset();
    }
    (ranges.len() > 1).then_some(ranges)
}

/// Returns the byte ranges of the documents in a YAML stream, each with its `---` line, if any.
pub(super) fn documents(text: &str) -> impl Iterator<Item = Range<usize>> {
    let values = json_values(text);
    let others = values.is_none().then(|| yaml_documents(text));
    values.into_iter().flatten().chain(others.into_iter().flatten())
}

fn yaml_documents(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut markers = markers(text);
    let mut start = Some(0);
    let ranges = std::iter::from_fn(move || {
        let first = start?;
        let end = markers.next().map(|line| {
            let is_end = text[line.clone()].starts_with("...");
            // `...` belongs to neither document, `---` to the one that it starts.
            (line.start, if is_end { line.end } else { line.start })
        });
        start = end.map(|(_, next)| next);
        Some(first..end.map_or(text.len(), |(end, _)| end))
    });
    ranges.filter(|range| has_content(&text[range.clone()]))
}

/// Returns the texts of the documents in a YAML stream.
pub(crate) fn texts_of_documents(text: &str) -> impl Iterator<Item = &str> {
    documents(text).map(|range| &text[range])
}

/// Returns the lines with document markers.
fn markers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    // Without the line break, which is so frequent that it would make the search slow.
    let found =
        ["---", "..."].map(|marker| memchr::memmem::find_iter(bytes, marker)).into_iter().flatten();
    let behind_breaks = found.filter(|&at| at > 0 && bytes[at - 1] == b'\n');
    let mut starts: Vec<usize> = [0].into_iter().chain(behind_breaks).collect();
    starts.sort_unstable();
    let lines = starts.into_iter().map(move |start| line_at(bytes, start));
    lines.filter(|line| {
        let line = text[line.clone()].trim_end_matches(['\n', '\r']);
        is_marker(line, "---") || is_marker(line, "...")
    })
}

/// The keys of a block mapping that its lines alone prove.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    text: &'a str,
    /// The column of the keys.
    column: usize,
    /// The value of `kind`.
    pub(super) kind: Option<&'a str>,
    /// The lines of the block sequence in `items`, if any.
    items: Option<Range<usize>>,
    /// The first line in `items`, while that key is the last one.
    items_start: Option<usize>,
    /// Set if the value of the last key starts on a later line.
    is_open: bool,
    /// Set if lines further right may follow: not before the first key, nor behind `kind`, whose value
    /// they would continue.
    may_be_deep: bool,
    /// The end of the last line that was taken.
    read: usize,
}

/// Reads the outline of the mapping whose keys have no indentation. Returns `None` if the lines
/// alone do not prove the result of a parser.
///
/// The proof: every line in that column is a plain key of the mapping or an item of the sequence
/// below a key, and no line is further left. Then no quoted text, flow collection, tag, anchor or
/// merge key can contain another `kind`. A text that looks like a key `kind` makes two of them, and
/// `None`.
///
/// The caller must rule out [other line breaks](has_other_line_breaks).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let outline = Outline { text, ..Outline::default() };
    let mut lines = shallow_lines(text, 0..text.len(), 0);
    lines.try_fold(outline, |outline, line| outline.take(line, 0))?.finish(text.len())
}

impl<'a> Outline<'a> {
    /// Takes the next line that is not further right than the keys. Its first bytes are skipped,
    /// such as the dash of a list item.
    fn take(mut self, line: Range<usize>, skipped: usize) -> Option<Self> {
        self.pass_deep_lines(line.start)?;
        self.read = line.end;
        let content = self.text[line.clone()].trim_end_matches(['\n', '\r']);
        let body = content.get(skipped..)?.trim_start_matches(' ');
        let indent = content.len() - body.len();
        if is_filler(body) || line.start == 0 && is_bare_marker(content) {
            return Some(self);
        }
        // A line further left proves nothing.
        if indent != self.column {
            return None;
        }
        if body == "-" || body.starts_with("- ") {
            return self.is_open.then_some(self);
        }
        let (key, value) = plain_key(body)?;
        if let Some(start) = self.items_start.take() {
            self.items = Some(start..line.start);
        }
        self.is_open = is_blank_or_comment(value);
        self.may_be_deep = key != "kind";
        if key == "kind" {
            // A second `kind` proves nothing.
            self.kind = Some(plain_word(value).filter(|_| self.kind.is_none())?);
        } else if key == "items" && self.is_open {
            self.items_start = Some(line.end).filter(|_| self.items.is_none());
        }
        Some(self)
    }

    fn finish(mut self, end: usize) -> Option<Self> {
        self.pass_deep_lines(end)?;
        if let Some(start) = self.items_start {
            self.items = Some(start..end);
        }
        Some(self)
    }

    /// Checks the lines up to an offset, which are further right. They are below a key without a
    /// value, or continue a value.
    fn pass_deep_lines(&self, end: usize) -> Option<()> {
        (self.may_be_deep || !has_content_line(&self.text[self.read..end])).then_some(())
    }
}

/// All line breaks of YAML 1.1.
const LINE_BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Returns whether a text has a line break of YAML 1.1 other than LF and CRLF.
pub(super) fn has_other_line_breaks(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
        || !text.is_ascii()
            && LINE_BREAKS[2..]
                .iter()
                .any(|char| memchr::memmem::find(bytes, char.to_string().as_bytes()).is_some())
}

/// Returns whether a text may have a tag. A tag may precede a key.
pub(super) fn may_have_tags(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'!', bytes).any(|at| begins_node(bytes, at))
}

/// Returns whether a node may begin at an offset.
fn begins_node(bytes: &[u8], at: usize) -> bool {
    at == 0 || bytes[at - 1].is_ascii_whitespace() || b"[{,".contains(&bytes[at - 1])
}

/// Returns whether a text may have an alias or a merge key, so that its parts depend on each other.
pub(super) fn has_ties(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_name = |at: usize| {
        bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
    };
    let has = |sign: u8| {
        memchr::memchr_iter(sign, bytes).any(|at| begins_node(bytes, at) && is_name(at + 1))
    };
    let merges = || {
        let mut after = memchr::memchr_iter(b'<', bytes).filter_map(|at| {
            let after = text[at..].strip_prefix("<<")?;
            Some(after.trim_start_matches([' ', '\t']))
        });
        after.any(|after| after.starts_with(':'))
    };
    // An alias requires an anchor, so either sign alone is ordinary text.
    has(b'*') && has(b'&') || merges()
}

impl<'a> Outline<'a> {
    /// Returns the items of a list's block sequence; `None` if lines alone do not prove them.
    pub(super) fn items(&self) -> Option<Vec<SequenceItem<'a>>> {
        let (text, range) = (self.text, self.items.clone()?);
        let first = lines(text, range.clone()).find(|line| !is_filler(text[line.clone()].trim()));
        let Some(first) = first else { return Some(Vec::new()) };
        // The first dash sets the column for all items, and what follows it, that of their keys.
        let (dash, column) = dash_and_content(&text[first.clone()])?;
        let mut items = Vec::new();
        let mut open: Option<(usize, Option<Outline<'_>>)> = None;
        let close = |(start, outline): (usize, Option<Outline<'a>>), end| SequenceItem {
            range: start..end,
            kind: outline.and_then(|outline| outline.finish(end)?.kind),
        };
        for line in shallow_lines(text, first.start..range.end, column) {
            let content = &text[line.clone()];
            let depth = content.len() - content.trim_start_matches(' ').len();
            if depth > dash || is_filler(content.trim_start_matches(' ')) {
                // A line of the item.
                if let Some((_, outline)) = &mut open {
                    *outline = outline.take().and_then(|outline| outline.take(line, 0));
                }
                continue;
            }
            let (own_dash, own_column) = dash_and_content(content)?;
            if own_dash != dash || items.len() == ITEMS {
                return None;
            }
            items.extend(open.take().map(|open| close(open, line.start)));
            let start = line.start;
            let outline = Outline { text, column: own_column, read: start, ..Outline::default() };
            // Deeper keys than those of the first item are not among the lines.
            let outline = Some(outline).filter(|_| own_column <= column);
            open = Some((start, outline.and_then(|outline| outline.take(line, own_column))));
        }
        items.extend(open.map(|open| close(open, range.end)));
        Some(items)
    }
}

/// Returns the columns of the dash at the start of a line, and of what follows it.
fn dash_and_content(line: &str) -> Option<(usize, usize)> {
    let line = line.trim_end_matches(['\n', '\r']);
    let body = line.trim_start_matches(' ');
    if body != "-" && !body.starts_with("- ") {
        return None;
    }
    let content = body[1..].trim_start_matches(' ');
    Some((line.len() - body.len(), line.len() - content.len()))
}

/// An item of a block sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SequenceItem<'a> {
    /// Its lines, with the dash.
    pub(super) range: Range<usize>,
    /// The value of its `kind`, if its lines alone prove it.
    pub(super) kind: Option<&'a str>,
}

/// Returns the range of the line at an offset, line break included.
fn line_at(bytes: &[u8], start: usize) -> Range<usize> {
    let length = memchr::memchr(b'\n', &bytes[start..]).map(|line_break| line_break + 1);
    start..length.map_or(bytes.len(), |length| start + length)
}

/// Returns the ranges of lines in a part of a text, line breaks included.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    shallow_lines(text, range, usize::MAX)
}

/// Returns the lines in a part of a text that start with at most `column` spaces, line breaks
/// included.
fn shallow_lines(
    text: &str,
    range: Range<usize>,
    column: usize,
) -> impl Iterator<Item = Range<usize>> {
    let bytes = &text.as_bytes()[range.clone()];
    bytes::shallow_lines(bytes, column).map(move |start| {
        let line = line_at(bytes, start);
        range.start + line.start..range.start + line.end
    })
}

/// Returns whether a text has a line other than comments and empty lines.
fn has_content_line(text: &str) -> bool {
    lines(text, 0..text.len()).any(|line| !is_filler(text[line].trim_start_matches(' ')))
}

/// Returns whether a line is empty or a comment. It has no indentation.
fn is_filler(line: &str) -> bool {
    line.starts_with('#') || line.trim_ascii_start().is_empty()
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Returns whether a text has content other than comments, directives and a bare marker.
fn has_content(text: &str) -> bool {
    text.split(LINE_BREAKS).any(|line| {
        let line = line.strip_prefix("---").unwrap_or(line).trim();
        !line.is_empty() && !line.starts_with(['#', '%'])
    })
}

/// Returns whether a line is a document marker, possibly with a comment.
fn is_bare_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(is_blank_or_comment)
}

/// Returns whether no value follows a key on its line.
fn is_blank_or_comment(value: &str) -> bool {
    value.trim_ascii_start().is_empty()
        || value.starts_with([' ', '\t']) && value.trim_ascii_start().starts_with('#')
}

/// Returns the plain key at the start of a line, and the text after its colon.
fn plain_key(line: &str) -> Option<(&str, &str)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let (key, value) = line.split_at(line.find(|c| !is_plain(c))?);
    let value = value
        .strip_prefix(':')
        .filter(|value| value.is_empty() || value.starts_with([' ', '\t']))?;
    key.starts_with(|c: char| c.is_ascii_alphanumeric()).then_some((key, value))
}

/// Returns a value that is a single word, quoted or not, possibly before a comment.
fn plain_word(value: &str) -> Option<&str> {
    let value = value.trim_ascii();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let value = value.strip_prefix(|c| Some(c) == quote).unwrap_or(value);
    let word = &value[..value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len())];
    let rest = value[word.len()..].strip_prefix(|c| Some(c) == quote);
    let rest = if quote.is_some() { rest? } else { &value[word.len()..] };
    (!word.is_empty() && is_blank_or_comment(rest)).then_some(word)
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
        assert_eq!(
            texts(text, &documents(text).collect::<Vec<_>>()),
            ["---\na: 1\n", "--- # b\nb: 2\r\n"]
        );
    }

    #[test]
    fn a_marker_inside_a_block_scalar_is_indented_and_no_marker() {
        let text = "data: |\n  ---\n  kind: Secret\nkind: ConfigMap\n";
        assert_eq!(documents(text).count(), 1);
        assert_eq!(outline(text).unwrap().kind, Some("ConfigMap"));
    }

    #[test]
    fn a_kubectl_list_is_cut_into_its_items() {
        let text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Secret\n  data:\n    - x\n- kind: Pod\nkind: List\n";
        let outline = outline(text).unwrap();
        assert_eq!(outline.kind, Some("List"));
        let items = outline.items().unwrap();
        assert_eq!(
            items.iter().map(|item| &text[item.range.clone()]).collect::<Vec<_>>(),
            ["- apiVersion: v1\n  kind: Secret\n  data:\n    - x\n", "- kind: Pod\n"]
        );
        assert_eq!(items[0].kind, Some("Secret"));
    }

    #[test]
    fn an_indented_list_with_wide_dashes_is_cut_too() {
        let text = "kind: List\nitems:\n\n  # first\n  -   kind: A\n      x: 1\n  -   kind: B\n";
        let outline = outline(text).unwrap();
        let items = outline.items().unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0].kind, Some("A"));
    }

    #[test]
    fn the_kind_of_an_item_is_known_only_from_keys_in_one_column() {
        let kinds = |items: &str| -> Vec<Option<String>> {
            let text = format!("kind: List\nitems:\n{items}");
            let items = outline(&text).unwrap().items().unwrap();
            let kinds = items.into_iter().map(|item| item.kind.map(str::to_owned));
            kinds.collect()
        };
        let some = |kind: &str| Some(kind.to_owned());
        assert_eq!(kinds("- kind: A\n  a:\n    kind: B\n"), [some("A")]);
        assert_eq!(kinds("- kind: A\n  kind: B\n- kind: C\n"), [None, some("C")]);
        assert_eq!(kinds("-\n  kind: A\n- kind: B\n"), [None, None]);
        assert_eq!(kinds("- kind: A\n-   kind: B\n    a: b\n"), [some("A"), None]);
        assert_eq!(kinds("-   kind: A\n- kind: B\n   a\n"), [some("A"), None]);
        assert_eq!(kinds("- kind: A\n    b\n- x: |\n   kind: B\n  kind: C\n"), [None, some("C")]);
        assert_eq!(kinds("- - kind: A\n"), [None]);
    }

    #[test]
    fn a_flow_sequence_is_not_cut() {
        let text = "kind: List\nitems: [{kind: A}]\n";
        assert!(outline(text).unwrap().items().is_none());
    }

    #[test]
    fn the_lines_prove_a_kind_in_plain_form() {
        for text in [
            "kind: \"Secret\" # x\n",
            "kind: 'Secret'\r\n",
            "kind: Secret\t# x\n",
            "kind:\tSecret\n",
            "--- # a\n# b\nkind: Secret\n",
            "apiVersion: v1\ndata:\n  x: |\n    kind: Pod\nlist:\n- kind: Pod\nkind: Secret\n\n# end",
        ] {
            assert_eq!(outline(text).unwrap().kind, Some("Secret"), "{text:?}");
        }
    }

    #[test]
    fn the_lines_prove_nothing_otherwise() {
        for text in [
            "kind: &k Secret\n",
            "kind: !!str Secret\n",
            "kind: >-\n  Secret\n",
            "kind:\n  Secret\n",
            "kind: Secret\n  and more\n",
            "kind: \"Se\\x63ret\"\n",
            "kind: Secret#\n",
            "kind: Secret\nkind: Pod\n",
            "kind: Secret\n\"kind\": Pod\n",
            "kind: Secret\n? kind\n: Pod\n",
            "kind: Secret\n<<: {kind: Pod}\n",
            "--- !!map\nkind: Secret\n",
            "x: \"\nkind: Secret\n\"\n\"kind\": Pod\n",
            "  kind: Pod\n  x: \"\nkind: Secret\n\"\n",
            "x: 1\n- kind\nkind: Secret\n",
            "kind : Secret\n",
        ] {
            assert!(outline(text).is_none_or(|outline| outline.kind.is_none()), "{text:?}");
        }
    }

    #[test]
    fn aliases_and_merge_keys_are_told_from_what_scripts_have() {
        for text in [
            "a: &x 1\nb: *x\n",
            "a: [&x 1,*x]\n",
            "- &x 1\n-\t*x\n",
            "<<: {a: 1}\n",
            "<<\t: {a: 1}\n",
        ] {
            assert!(has_ties(text), "{text:?}");
        }
        for text in [
            "run: a && b & c; echo * ** &\n",
            "cron: 0 * * * *\n",
            "cat <<EOF\n",
            "a: &x 1\n",
            "x: \"*a\"\n",
        ] {
            assert!(!has_ties(text), "{text:?}");
        }
    }
}
