//! Converts places in documents to lines, columns and excerpts for messages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use camino::Utf8Path;

use super::files::Files;
use super::nodes::{DocumentNodes, EntryRange};
use super::quoting;
use crate::base::finding::position::{Origin, Place, Position, RouteStep};
use crate::base::text::static_regex;

/// The texts of files. Each file is read once.
pub struct Texts<'a> {
    files: &'a Files,
    texts: HashMap<Arc<Utf8Path>, Option<FileText>>,
}

/// A line of a file, without parts that must not be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line number, from 1.
    pub line: usize,
    /// The text before the marked part.
    pub before: String,
    /// The marked part.
    pub marked: String,
    /// The text after the marked part.
    pub after: String,
}

/// A file's text, and the number of line breaks before each [`BLOCK`].
struct FileText {
    text: String,
    lines: Vec<usize>,
    /// Nodes of recently used documents. One finding may refer to several documents.
    parsed: HashMap<Range<usize>, Option<DocumentNodes>>,
}

/// The number of bytes per entry of the line index. An index of all lines would use many times the
/// memory of a text with short lines.
const BLOCK: usize = 4096;

/// The maximum number of nodes in the cache of a file.
const KEPT: usize = 1_000_000;

impl<'a> Texts<'a> {
    /// Returns an empty cache for some files.
    pub fn new(files: &'a Files) -> Self {
        Self { files, texts: HashMap::new() }
    }

    /// Converts a place to a position. If it cannot be found, the position is as exact as known.
    pub fn position(&mut self, place: &Place) -> Position {
        let file = place.file().clone();
        let (line, column) = match place {
            Place::Spot(_, line, column) => (*line, *column),
            // The output of a build has no text in the repo.
            Place::Node(origin, _) | Place::Key(origin, _) if origin.made_for().is_none() => {
                (origin.first_line, None)
            }
            _ => return Position { file, line: None, column: None, end_column: None },
        };
        let found = self.get(&file).and_then(|text| {
            let (marked, _) = text.spot_of(place)?;
            Some(text.position(marked))
        });
        match found {
            Some((line, start, end)) if column.is_some() || !matches!(place, Place::Spot(..)) => {
                Position { file, line: Some(line), column: Some(start), end_column: Some(end) }
            }
            _ => Position { file, line: Some(line), column, end_column: None },
        }
    }

    /// Returns an excerpt of a place's line without secrets; `None` if nothing of the line may be
    /// shown. Without `values`, values are hidden in any case.
    pub fn excerpt(&mut self, place: &Place, values: bool) -> Option<Excerpt> {
        // A key may contain a secret by mistake.
        let is_shown = |excerpt: &Excerpt| {
            quoting::is_shown(&format!("{}{}{}", excerpt.before, excerpt.marked, excerpt.after))
        };
        self.get(place.file())?.excerpt(place, values).filter(is_shown)
    }

    fn get(&mut self, file: &Arc<Utf8Path>) -> Option<&mut FileText> {
        let read = || self.files.text(file).map(FileText::new);
        self.texts.entry(file.clone()).or_insert_with(read).as_mut()
    }
}

impl FileText {
    fn new(text: String) -> Self {
        let blocks = text.as_bytes().chunks(BLOCK).scan(0, |before, block| {
            *before += memchr::memchr_iter(b'\n', block).count();
            Some(*before)
        });
        let lines = std::iter::once(0).chain(blocks).collect();
        Self { text, lines, parsed: HashMap::new() }
    }

    /// Returns the part of a line to mark for a place, and the entry at its route, if it has one.
    fn spot_of(&mut self, place: &Place) -> Option<(Range<usize>, Option<EntryRange>)> {
        match place {
            Place::Spot(_, line, column) => Some((self.word_at(*line, *column)?, None)),
            Place::Node(origin, route) | Place::Key(origin, route)
                if origin.made_for().is_none() =>
            {
                self.node(origin, route, matches!(place, Place::Key(..)))
            }
            _ => None,
        }
    }

    /// Returns the part to mark for a node: a scalar itself, a collection's key, or for a missing
    /// node the node that should contain it.
    fn node(
        &mut self,
        origin: &Origin,
        route: &[RouteStep],
        by_key: bool,
    ) -> Option<(Range<usize>, Option<EntryRange>)> {
        let Some(found) = self.find(origin, route).or_else(|| self.name(origin)) else {
            return Some((self.first_line(origin)?, None));
        };
        // Depth 0 is the document itself, which its object's name represents.
        let is_there = found.depth == 0 || found.depth == route.len();
        let value = found.value.clone().filter(|value| is_plain(&self.text[value.clone()]));
        let marked = match (&found.key, value) {
            (Some(key), None) => key.clone(),
            (Some(key), Some(_)) if by_key || !is_there => key.clone(),
            (_, Some(value)) => value,
            (None, None) => found.value.clone()?,
        };
        Some((self.on_one_line(marked), Some(found)))
    }

    /// Returns the name of a document's object, which is marked for the document as a whole.
    fn name(&mut self, origin: &Origin) -> Option<EntryRange> {
        let found = self
            .find(origin, &["metadata".into(), "name".into()])
            .filter(|found| found.depth == 2)?;
        Some(EntryRange { depth: 0, ..found })
    }

    fn find(&mut self, origin: &Origin, route: &[RouteStep]) -> Option<EntryRange> {
        let range = origin.range.clone();
        let document = self.text.get(range.clone())?;
        if !self.parsed.contains_key(&range) {
            if self.parsed.values().flatten().map(DocumentNodes::count).sum::<usize>() > KEPT {
                // Simpler than evicting single documents, and rare.
                self.parsed.clear();
            }
            self.parsed.insert(range.clone(), DocumentNodes::parse(document));
        }
        let nodes = self.parsed.get(&range)?.as_ref()?;
        let found = nodes.find(document, origin.shape, route)?;
        let moved = |part: Range<usize>| range.start + part.start..range.start + part.end;
        Some(EntryRange { key: found.key.map(moved), value: found.value.map(moved), ..found })
    }

    /// Returns the first line of a document with content.
    fn first_line(&self, origin: &Origin) -> Option<Range<usize>> {
        let document = self.text.get(origin.range.clone())?;
        let says = |line: &&str| {
            let line = line.strip_prefix("---").unwrap_or(line).trim_start();
            !line.is_empty() && !line.starts_with(['#', '%'])
        };
        let start = document.lines().find(says).map_or(0, |line| {
            let skipped = line.len() - line.trim_start_matches([' ', '-']).len();
            line.as_ptr() as usize - document.as_ptr() as usize + skipped
        });
        Some(self.rest_of_line(origin.range.start + start))
    }

    /// Returns the word at a column of a line; without a column, the whole line.
    fn word_at(&self, line: usize, column: Option<usize>) -> Option<Range<usize>> {
        let range = self.line(line)?;
        let text = &self.text[range.clone()];
        let Some(column) = column else {
            let start = text.len() - text.trim_start().len();
            return Some(range.start + start..range.start + text.trim_end().len().max(start));
        };
        let start =
            text.char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
        let is_space = text[start..].starts_with(char::is_whitespace);
        let word = text[start..].find(|c: char| c.is_whitespace() != is_space);
        let word = word.unwrap_or(text.len() - start);
        Some(range.start + start..range.start + start + word)
    }

    /// Returns the range of a line, counted from 1, without its line break.
    fn line(&self, line: usize) -> Option<Range<usize>> {
        let before = line.checked_sub(1)?;
        let start = if before == 0 { 0 } else { self.end_of_line(before)? + 1 };
        let rest = &self.text.as_bytes()[start..];
        let end = memchr::memchr(b'\n', rest).map_or(self.text.len(), |length| start + length);
        Some(start..start + self.text[start..end].trim_end_matches('\r').len())
    }

    /// Returns the offset of a line's line feed. Lines count from 1.
    fn end_of_line(&self, line: usize) -> Option<usize> {
        let block = self.lines.partition_point(|before| *before < line).checked_sub(1)?;
        let start = block * BLOCK;
        let mut feeds = memchr::memchr_iter(b'\n', self.text.as_bytes().get(start..)?);
        Some(start + feeds.nth(line - self.lines[block] - 1)?)
    }

    fn line_number(&self, offset: usize) -> usize {
        let block = (offset / BLOCK).min(self.lines.len() - 1);
        let start = (block * BLOCK).min(offset);
        self.lines[block]
            + memchr::memchr_iter(b'\n', &self.text.as_bytes()[start..offset]).count()
            + 1
    }

    fn rest_of_line(&self, offset: usize) -> Range<usize> {
        let end = self.line(self.line_number(offset)).map_or(offset, |line| line.end);
        offset..offset + self.text[offset..end.max(offset)].trim_end().len()
    }

    /// Returns the part of a range on its first line, without a comment.
    fn on_one_line(&self, range: Range<usize>) -> Range<usize> {
        let line = self.rest_of_line(range.start);
        if range.end <= line.end {
            return range;
        }
        let comment = static_regex!(r"(?:^|\s)#").find(&self.text[line.clone()]);
        let end = comment.map_or(line.end, |found| line.start + found.end() - 1);
        line.start..line.start + self.text[line.start..end].trim_end().len()
    }

    /// Returns the line, the column and the column after the end. All count from 1, columns in
    /// characters.
    fn position(&self, range: Range<usize>) -> (usize, usize, usize) {
        let line = self.line_number(range.start);
        let start = self.text[..range.start].rfind('\n').map_or(0, |feed| feed + 1);
        let column = self.text[start..range.start].chars().count() + 1;
        (line, column, column + self.text[range].chars().count())
    }

    fn excerpt(&mut self, place: &Place, values: bool) -> Option<Excerpt> {
        let (marked, found) = self.spot_of(place)?;
        let line = self.line(self.line_number(marked.start))?;
        let (Some(found), Place::Node(origin, route) | Place::Key(origin, route)) = (found, place)
        else {
            return self.key_excerpt(marked);
        };
        // The value may be on a line below its key, so only the part on this line counts.
        // The value of an alias may precede the key.
        let is_here = |key: &Range<usize>| line.contains(&key.start) && key.start <= marked.start;
        let key = found.key.filter(is_here);
        let whole = found.value.clone();
        let value = whole.clone().map(|value| self.on_one_line(value));
        let value = value.filter(|value| line.contains(&value.start));
        let is_own = value.as_ref() == Some(&marked) && route.len() == found.depth;
        let route = &route[..found.depth];
        // A mapping in a list is shown by its first entry.
        if key.is_none() && value != whole {
            let first = self.text[marked.clone()].split_once(':');
            let first = first.map(|(first, _)| first.trim_matches(['"', '\'']).into());
            let route: Vec<RouteStep> = route.iter().cloned().chain(first).collect();
            let entry = self.find(origin, &route).filter(|entry| entry.depth > found.depth);
            if entry.is_some() {
                return self.excerpt(&Place::Key(origin.clone(), route), values);
            }
        }
        let start = key.as_ref().or(whole.as_ref())?.start;
        let (is_secret, is_guarded) = (self.is_secret(origin), quoting::is_guarded(route));
        // A Secret shows only its name and namespace. If any value may be secret, only that of the
        // finding itself is shown.
        let is_hidden = is_secret && found.depth > 0 && !quoting::is_name(route)
            || quoting::is_secret_route(route)
            || is_guarded && !(is_own && is_plain(&self.text[marked.clone()]));
        // A value is judged as a whole: what is wrapped to other lines is not shown.
        let is_harmless = value == whole
            && value.clone().is_none_or(|value| quoting::is_harmless(&self.text[value]));
        let shows_value = value.is_none() || values && !is_hidden && is_harmless;
        let end = match (&value, &key) {
            (Some(value), _) if shows_value => value.end,
            (None, Some(key)) if self.text[key.end..].starts_with(':') => key.end + 1,
            (_, Some(key)) => key.end,
            _ => start,
        };
        if shows_value {
            // In flow style, with what is around it.
            let is_alone = is_secret || is_guarded || is_hidden || !values;
            let around =
                (1..found.depth).find_map(|depth| self.whole_node(origin, &route[..depth], &line));
            let shown = around.filter(|_| !is_alone).unwrap_or(start..end);
            return self.cut(marked, shown);
        }
        if key.is_some_and(|key| marked.start == key.start) {
            let mut excerpt = self.cut(marked, start..end)?;
            excerpt.after.push_str(": …");
            return Some(excerpt);
        }
        // Marks the value's position and hides the value.
        let excerpt = self.cut(marked.start..marked.start, start..marked.start)?;
        Some(Excerpt { marked: "…".to_owned(), ..excerpt })
    }

    /// Returns the key around a place in a text whose meaning is unknown, so that no value is shown.
    fn key_excerpt(&self, marked: Range<usize>) -> Option<Excerpt> {
        let line = self.line(self.line_number(marked.start))?;
        let body = line.end - self.text[line.clone()].trim_start_matches([' ', '-', '\t']).len();
        let key = quoting::entry_key(&self.text, line.clone(), marked.start)
            .or_else(|| quoting::entry_key(&self.text, line, body))?;
        if marked.start <= key.start {
            let mut excerpt = self.cut(key.clone(), key)?;
            excerpt.after.push_str(": …");
            return Some(excerpt);
        }
        let mut excerpt = self.cut(key.end..key.end, key)?;
        excerpt.before.push_str(": ");
        Some(Excerpt { marked: "…".to_owned(), ..excerpt })
    }

    /// Returns a node with its key, if it is on a line as a whole and may be shown.
    fn whole_node(
        &mut self,
        origin: &Origin,
        route: &[RouteStep],
        line: &Range<usize>,
    ) -> Option<Range<usize>> {
        let found = self.find(origin, route).filter(|found| found.depth == route.len())?;
        let value = found.value?;
        let node = found.key.unwrap_or(value.clone()).start..value.end;
        let is_here = line.start <= node.start && node.end <= line.end;
        (is_here && quoting::is_harmless(&self.text[node.clone()])).then_some(node)
    }

    /// Returns the shown part of a line, and the part of the mark that is within. Text before it is
    /// replaced by `…`, except indentation and dashes.
    fn cut(&self, marked: Range<usize>, shown: Range<usize>) -> Option<Excerpt> {
        let number = self.line_number(marked.start);
        let line = self.line(number)?;
        let within = |part: Range<usize>, around: &Range<usize>| {
            let start = part.start.clamp(around.start, around.end);
            start..part.end.clamp(start, around.end)
        };
        let shown = within(shown, &line);
        let marked = within(marked, &shown);
        let before = &self.text[line.start..shown.start];
        let says_nothing = before.chars().all(|c| matches!(c, ' ' | '-' | '\t'));
        let before = if says_nothing { before } else { "… " };
        Some(Excerpt {
            line: number,
            before: format!("{before}{}", &self.text[shown.start..marked.start]),
            marked: self.text[marked.clone()].to_owned(),
            after: self.text[marked.end..shown.end].to_owned(),
        })
    }

    /// Returns whether the object is a Secret of some kind or may be one: a kind may be an alias or
    /// contain escapes.
    fn is_secret(&mut self, origin: &Origin) -> bool {
        let kind = self.find(origin, &["kind".into()]).and_then(|found| found.value);
        // An alias, an escape or a tag may stand for `Secret`.
        let is_word =
            |kind: &str| kind.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '"' | '\''));
        kind.is_some_and(|kind| {
            self.text[kind.clone()].contains("Secret") || !is_word(self.text[kind].trim())
        })
    }
}

/// Returns whether a node's text is a scalar on one line. Mappings, sequences and block scalars are
/// marked by their keys.
fn is_plain(text: &str) -> bool {
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

/// Returns line and column of the second occurrence of the key that a parser's message names, in
/// the mapping around the parser's line and column.
pub(super) fn duplicate_key(
    text: &str,
    message: &str,
    (line, column): (usize, usize),
) -> Option<(usize, usize)> {
    let text = FileText::new(text.to_owned());
    let at = text.word_at(line, Some(column))?.start;
    let is_named = |key: &str| message.ends_with(&format!("duplicate key `{key}`"));
    let key = DocumentNodes::parse(&text.text)?.duplicate_key(at, is_named)?;
    let (line, column, _) = text.position(key..key);
    Some((line, column))
}

#[cfg(test)]
mod tests {
    use super::*;

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
