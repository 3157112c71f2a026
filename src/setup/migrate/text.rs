//! Edits of a document's text that leave everything around them untouched.
//!
//! Each edit locates its node in the current text. Comments inside replaced text move to lines of
//! their own above it.

use std::ops::Range;

use yaml_serde::{Mapping, Value};

use super::emit::{self, CollectionStyle};
use crate::base::finding::RouteStep;
use crate::input::load::{DocumentNodes, EntryRange};

/// Reason why a text cannot be edited; completes the sentence "the SIPCluster cannot be rewritten:
/// …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RewriteError(pub(super) String);

type EditResult = Result<(), RewriteError>;

fn refused(why: &str) -> RewriteError {
    RewriteError(why.to_owned())
}

const ALIASES: &str = "an anchor ties it to another part of the file";
const LAYOUT: &str = "unsupported layout";

/// Text that contains a document, with line feeds only.
pub(super) struct EditedText {
    text: String,
    /// Steps from the top of the text to the document.
    into: Vec<RouteStep>,
    /// True if the text is JSON.
    is_json: bool,
}

impl EditedText {
    /// Wraps a text that contains the document behind some steps.
    pub(super) fn new(text: String, into: Vec<RouteStep>) -> Self {
        let body = text.trim_start().trim_start_matches("---").trim_start();
        let is_json =
            body.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
        Self { text, into, is_json }
    }

    /// Returns the changed text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn parsed(&self) -> Result<DocumentNodes, RewriteError> {
        DocumentNodes::parse(&self.text).ok_or_else(|| refused(LAYOUT))
    }

    fn find(&self, route: &[RouteStep]) -> Result<EntryRange, RewriteError> {
        self.parsed()?
            .find(&self.text, self.into.iter().chain(route))
            .ok_or_else(|| refused(ALIASES))
    }

    fn key(&self, route: &[RouteStep]) -> Result<Range<usize>, RewriteError> {
        self.find(route)?.key.ok_or_else(|| refused(ALIASES))
    }

    /// Position of the value; `None` if the key has none.
    fn value(&self, route: &[RouteStep]) -> Result<Option<Range<usize>>, RewriteError> {
        Ok(self.find(route)?.value)
    }

    /// Finds the key and the value of an entry. The value may be missing.
    fn entry(
        &self,
        route: &[RouteStep],
    ) -> Result<(Range<usize>, Option<Range<usize>>), RewriteError> {
        let key = self.key(route)?;
        let value = self.value(route)?;
        match &value {
            // An alias resolves to the position of its anchor.
            Some(value) if value.start <= key.end => Err(refused(ALIASES)),
            Some(value) if self.text[key.end..value.start].contains(['&', '*', '!']) => {
                Err(refused(ALIASES))
            }
            _ => Ok((key, value)),
        }
    }

    /// Reports whether the value at a route is in flow style.
    pub(super) fn is_flow(&self, route: &[RouteStep]) -> Result<bool, RewriteError> {
        Ok(self.value(route)?.is_some_and(|value| self.text[value].starts_with(['{', '['])))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Returns the start of the next line.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// Lists the comments that start in a range, in order.
    fn comments(&self, range: &Range<usize>) -> Result<Vec<String>, RewriteError> {
        let document = self.parsed()?;
        let mut comments = Vec::new();
        let mut at = range.start;
        while let Some(hash) = self.text[at..range.end].find('#').map(|hash| at + hash) {
            at = hash + 1;
            if document.is_in_comment(hash) {
                at = self.line_end(hash).min(range.end);
                comments.push(self.text[hash..at].trim_end().to_owned());
            }
        }
        Ok(comments)
    }

    /// Inserts comments as lines of their own above a position.
    fn comment_above(&mut self, at: usize, comments: &[String]) {
        let start = self.line_start(at);
        let indent: String = self.text[start..].chars().take_while(|c| *c == ' ').collect();
        let lines: String = comments.iter().map(|comment| format!("{indent}{comment}\n")).collect();
        self.text.insert_str(start, &lines);
    }

    /// Renames the key of an entry.
    pub(super) fn rename(&mut self, route: &[RouteStep], name: &str) -> EditResult {
        let key = self.key(route)?;
        let name = match self.text[key.clone()].chars().next() {
            Some(quote @ ('"' | '\'')) => format!("{quote}{name}{quote}"),
            Some('&' | '*' | '!' | '?') | None => return Err(refused(ALIASES)),
            Some(_) => name.to_owned(),
        };
        self.text.replace_range(key, &name);
        Ok(())
    }

    /// Replaces the value of an entry or item, in flow style.
    pub(super) fn set_flow(&mut self, route: &[RouteStep], value: &Value) -> EditResult {
        let Some(range) = self.value(route)? else {
            return Err(refused(LAYOUT));
        };
        if !self.comments(&range)?.is_empty() {
            return Err(refused("comments inside flow collections"));
        }
        let style = match (self.is_json, self.text[range.clone()].find('\n')) {
            (false, _) => CollectionStyle::Yaml,
            (true, None) => CollectionStyle::JsonLine,
            (true, Some(newline)) => {
                let indent_of =
                    |at: usize| self.text[at..].chars().take_while(|c| *c == ' ').count();
                let indent = indent_of(self.line_start(range.start));
                CollectionStyle::JsonLines(
                    indent,
                    indent_of(range.start + newline + 1).saturating_sub(indent),
                )
            }
        };
        self.text.replace_range(range, &emit::flow(value, style));
        Ok(())
    }

    /// Replaces an entry by another one.
    pub(super) fn replace(&mut self, route: &[RouteStep], name: &str, value: &Value) -> EditResult {
        self.put(route, |column| emit::block(name, value, column))
    }

    fn put(&mut self, route: &[RouteStep], make: impl FnOnce(usize) -> String) -> EditResult {
        let (key, value) = self.entry(route)?;
        let range = key.start..value.map_or_else(|| self.colon(key.end), |value| value.end);
        let comments = self.comments(&range)?;
        let made = make(self.column(key.start));
        self.text.replace_range(range, &made);
        self.comment_above(key.start, &comments);
        Ok(())
    }

    /// Returns the position after a key's colon.
    fn colon(&self, key_end: usize) -> usize {
        self.text[key_end..].find(':').map_or(key_end, |colon| key_end + colon + 1)
    }

    /// Turns a string into a list, keeping its spelling.
    pub(super) fn make_list(
        &mut self,
        route: &[RouteStep],
        name: &str,
        list: &Value,
    ) -> EditResult {
        let (key, Some(value)) = self.entry(route)? else {
            return Err(refused(LAYOUT));
        };
        let text = &self.text[value.clone()];
        if text.contains('\n') || text.starts_with(['|', '>']) {
            return self.replace(route, name, list);
        }
        let indent = " ".repeat(self.column(key.start) + 2);
        let made = format!("{name}:\n{indent}- {text}");
        self.text.replace_range(key.start..value.end, &made);
        Ok(())
    }

    /// Removes an entry with its lines. Comments beside and inside it are kept.
    pub(super) fn remove(&mut self, route: &[RouteStep]) -> EditResult {
        let (key, value) = self.entry(route)?;
        let end = self.line_end(value.map_or(key.end, |value| value.end));
        let start = self.line_start(key.start);
        let comments = self.comments(&(key.start..end))?;
        if self.text[start..key.start].trim_start_matches(' ').is_empty() {
            let indent = self.text[start..key.start].to_owned();
            let lines: String =
                comments.iter().map(|comment| format!("{indent}{comment}\n")).collect();
            self.text.replace_range(start..end, &lines);
            return Ok(());
        }
        // If it is the first entry of a list item, the next entry moves behind the dash.
        let mut next = end;
        while next < self.text.len() {
            let line = &self.text[next..self.line_end(next)];
            let body = line.trim_start_matches(' ');
            if !body.trim().is_empty() && !body.starts_with('#') {
                break;
            }
            next += line.len();
        }
        let indent = self.text[next..].chars().take_while(|c| *c == ' ').count();
        if indent != self.column(key.start) {
            return Err(refused(LAYOUT));
        }
        let comments = self.comments(&(key.start..next))?;
        self.text.replace_range(key.start..next + indent, "");
        self.comment_above(key.start, &comments);
        Ok(())
    }

    /// Replaces a mapping by its entries. In flow style they are formatted anew.
    pub(super) fn lift(&mut self, route: &[RouteStep], entries: &Mapping) -> EditResult {
        if entries.is_empty() {
            return self.remove(route);
        }
        let (key, Some(value)) = self.entry(route)? else {
            return Err(refused(LAYOUT));
        };
        if self.is_flow(route)? {
            let named =
                |(name, value): (&Value, &Value)| Some((name.as_str()?.to_owned(), value.clone()));
            let entries: Vec<(String, Value)> = entries.iter().filter_map(named).collect();
            return self.put(route, |column| {
                let lines = entries.iter().map(|(name, value)| emit::block(name, value, column));
                lines.collect::<Vec<_>>().join(&format!("\n{}", " ".repeat(column)))
            });
        }
        let less = self
            .column(value.start)
            .checked_sub(self.column(key.start))
            .ok_or_else(|| refused(LAYOUT))?;
        let comments = self.comments(&(key.start..value.start))?;
        let mut lifted = String::new();
        for (number, line) in self.text[value.clone()].split_inclusive('\n').enumerate() {
            let indent = line.chars().take_while(|c| *c == ' ').count();
            let cut = if number == 0 { 0 } else { less.min(indent) };
            if number > 0
                && indent < less
                && !line.trim().is_empty()
                && !line.trim_start().starts_with('#')
            {
                return Err(refused(LAYOUT));
            }
            lifted.push_str(&line[cut..]);
        }
        self.text.replace_range(key.start..value.end, &lifted);
        self.comment_above(key.start, &comments);
        Ok(())
    }

    /// Turns a mapping into a list, under another key.
    pub(super) fn wrap(&mut self, route: &[RouteStep], name: &str) -> EditResult {
        let (_, Some(value)) = self.entry(route)? else {
            return Err(refused(LAYOUT));
        };
        let start = self.line_start(value.start);
        if !self.text[start..value.start].trim_start_matches(' ').is_empty() {
            return Err(refused(LAYOUT));
        }
        let column = value.start - start;
        let mut wrapped = shifted(&self.text[start..value.end], 2);
        wrapped.replace_range(column..column + 1, "-");
        self.text.replace_range(start..value.end, &wrapped);
        self.rename(route, name)
    }

    /// Moves the items of a list into lists of their own below the list's entry, which is renamed.
    pub(super) fn group(
        &mut self,
        route: &[RouteStep],
        name: &str,
        groups: &[(&str, Vec<usize>)],
    ) -> EditResult {
        let (key, _) = self.entry(route)?;
        let count = groups.iter().map(|(_, indices)| indices.len()).sum();
        let mut items: Vec<Range<usize>> = Vec::with_capacity(count);
        let mut dash_column = None;
        let mut from = self.line_end(key.end);
        let region_start = from;
        for index in 0..count {
            let item = [route, &[RouteStep::Index(index)]].concat();
            let Some(value) = self.value(&item)? else {
                return Err(refused(LAYOUT));
            };
            let before = self.text[..value.start].trim_end_matches([' ', '\n']);
            let dash = before
                .len()
                .checked_sub(1)
                .filter(|_| before.ends_with('-') && before.len() > from)
                .ok_or_else(|| refused(LAYOUT))?;
            if !self.text[self.line_start(dash)..dash].trim_start_matches(' ').is_empty()
                || *dash_column.get_or_insert(self.column(dash)) != self.column(dash)
            {
                return Err(refused(LAYOUT));
            }
            // Lines above an item, such as comments, move with it.
            let end = self.line_end(value.end);
            items.push(from..end);
            from = end;
        }
        let column = self.column(key.start);
        let dash = dash_column.unwrap_or(column);
        let step = if dash > column { dash - column } else { 2 };
        let more = (column + 2 * step).saturating_sub(dash);
        let mut grouped = String::new();
        for (kind, indices) in groups {
            for (nth, index) in indices.iter().enumerate() {
                let mut item = shifted(&self.text[items[*index].clone()], more);
                if nth == 0 {
                    // Empty lines between items are kept.
                    let empty = item
                        .split_inclusive('\n')
                        .take_while(|line| line.trim().is_empty())
                        .map(str::len)
                        .sum();
                    item.insert_str(empty, &format!("{}{kind}:\n", " ".repeat(column + step)));
                }
                grouped.push_str(&item);
                if !item.ends_with('\n') {
                    grouped.push('\n');
                }
            }
        }
        if !self.text[region_start..from].ends_with('\n') {
            grouped.truncate(grouped.trim_end_matches('\n').len());
        }
        self.text.replace_range(region_start..from, &grouped);
        self.rename(route, name)
    }

    /// Adds an annotation to the document.
    pub(super) fn annotate(&mut self, name: &str, value: &str) -> EditResult {
        let route =
            |steps: &[&str]| steps.iter().map(|step| RouteStep::from(*step)).collect::<Vec<_>>();
        let there = route(&["metadata", "annotations"]);
        let line = emit::block(name, &value.into(), 0);
        let in_json = |text: &str| serde_json::Value::from(text).to_string();
        let entry = format!("{}: {}", in_json(name), in_json(value));
        let has_annotations = self.find(&there).is_ok();
        if has_annotations {
            let (_, Some(range)) = self.entry(&there)? else {
                return Err(refused("empty annotations"));
            };
            return self.insert(&range, &entry, &format!("{line}\n"));
        }
        let (metadata, Some(range)) = self.entry(&route(&["metadata"]))? else {
            return Err(refused(LAYOUT));
        };
        let indent = " ".repeat(self.column(range.start).max(metadata.len().min(2)));
        let lines = format!("annotations:\n{indent}  {line}\n");
        self.insert(&range, &format!("\"annotations\": {{{entry}}}"), &lines)
    }

    /// Inserts an entry as the first one of a mapping.
    fn insert(&mut self, mapping: &Range<usize>, in_flow: &str, as_lines: &str) -> EditResult {
        if self.text[mapping.clone()].starts_with('{') {
            let is_empty = self.text[mapping.start + 1..mapping.end].trim_start().starts_with('}');
            let comma = if is_empty { "" } else { ", " };
            self.text.insert_str(mapping.start + 1, &format!("{in_flow}{comma}"));
        } else {
            let indent = " ".repeat(self.column(mapping.start));
            self.text.insert_str(mapping.start, &format!("{as_lines}{indent}"));
        }
        Ok(())
    }
}

/// Indents lines, except empty ones.
fn shifted(text: &str, more: usize) -> String {
    let indent = " ".repeat(more);
    let shift = |line: &str| {
        if line.trim().is_empty() { line.to_owned() } else { format!("{indent}{line}") }
    };
    text.split_inclusive('\n').map(shift).collect()
}
