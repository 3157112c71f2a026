//! Reads YAML, fast if it has the block style that kubectl, kustomize, sipgen and most people
//! write.
//!
//! The reader of this module knows only block mappings and sequences, scalars on one line, literal
//! block scalars (`|`), empty flow collections, and comments. At anything else it gives up, and
//! `yaml_serde` reads the document: at anchors, aliases, tags, flow style, tabs, CRLF, directives,
//! scalars on several lines, unusual escapes, and at all that is invalid or does not fit the type.
//! So it reports no errors, and its values are those of `yaml_serde`. The fuzz target `documents`
//! and `properties/block_style.rs` compare the two.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// The maximum nesting of collections; the complete parser allows 128.
const DEEPEST: usize = 100;

/// The maximum length of a key in bytes; the complete parser allows 1024 characters.
const LONGEST_KEY: usize = 1000;

/// Reads a document. The caller must [check its limits](super::bounded::check).
///
/// # Errors
///
/// If it is not YAML, or does not fit the type.
pub(crate) fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, yaml_serde::Error> {
    in_block_style(text).map_or_else(|| yaml_serde::from_str(text), Ok)
}

/// Reads a document in block style; returns `None` if it takes the complete parser.
fn in_block_style<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    if !has_usual_characters(text) {
        return None;
    }
    let mut reader = Reader {
        text,
        at: 0,
        end: 0,
        column: 0,
        is_done: false,
        depth: 0,
    };
    let root = reader.root().ok()?;
    let value = T::deserialize(Node {
        reader: &mut reader,
        content: root,
    })
    .ok()?;
    reader.is_done.then_some(value)
}

/// Returns whether a text has only characters that YAML allows anywhere, and no line breaks except
/// LF.
fn has_usual_characters(text: &str) -> bool {
    // In chunks without a branch, which compiles to vector instructions.
    let is_usual = |byte: &u8| (b' '..=b'~').contains(byte) || *byte == b'\n';
    let are_usual = |chunk: &[u8]| chunk.iter().fold(true, |all, byte| all & is_usual(byte));
    text.as_bytes().chunks(256).all(are_usual)
        || text.chars().all(|char| {
            matches!(char, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
                && !matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}')
        })
}

/// The reason to give up. It says nothing, because the complete parser reports errors.
#[derive(Debug)]
struct Unusual;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this takes the complete parser")
    }
}

impl std::error::Error for Unusual {}

impl serde::de::Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Unusual
    }
}

type Result<T, E = Unusual> = std::result::Result<T, E>;

/// A position in a text: at a node on the current line, after the indentation or a dash.
struct Reader<'de> {
    text: &'de str,
    /// The offset of the node.
    at: usize,
    /// The offset of the line's end.
    end: usize,
    /// The column of the node.
    column: usize,
    /// Set if no line is left.
    is_done: bool,
    /// The number of collections around the node.
    depth: usize,
}

/// A node as far as it is read: a scalar completely, a collection up to its start.
#[derive(Clone, Copy)]
enum Content<'de> {
    Scalar(Scalar<'de>),
    /// A block mapping whose keys have this column.
    Mapping(usize),
    /// A block sequence whose dashes have this column.
    Sequence(usize),
    /// `{}`
    EmptyMapping,
    /// `[]`
    EmptySequence,
}

#[derive(Clone, Copy)]
enum Scalar<'de> {
    /// Unquoted, or absent and therefore empty.
    Plain(&'de str),
    /// Quoted, without escapes.
    Verbatim(&'de str),
    /// In single quotes, with quotes inside.
    SingleQuoted(&'de str),
    /// In double quotes, with escapes.
    DoubleQuoted(&'de str),
    Literal(Literal<'de>),
}

/// A literal block scalar.
#[derive(Clone, Copy)]
struct Literal<'de> {
    lines: &'de str,
    indent: usize,
    chomping: Chomping,
}

/// The treatment of line breaks at the end of a block scalar.
#[derive(Clone, Copy)]
enum Chomping {
    Strip,
    /// All but one are removed.
    Clip,
    Keep,
}

impl<'de> Reader<'de> {
    /// Reads the start of the document.
    fn root(&mut self) -> Result<Content<'de>> {
        let first = self.text.lines().next().unwrap_or_default();
        match first.strip_prefix("---") {
            Some(rest) if is_blank_or_comment(rest) => {
                self.end = first.len();
                self.next_line()?;
            }
            // The line that precedes the first one is empty.
            _ => self.read_line_at(0)?,
        }
        if self.is_done {
            return Err(Unusual);
        }
        self.collection()
    }

    /// Moves to the next line with content.
    fn next_line(&mut self) -> Result<()> {
        // The line break.
        self.read_line_at(self.end + 1)
    }

    /// Moves to the first line with content at an offset or after it.
    fn read_line_at(&mut self, mut start: usize) -> Result<()> {
        let bytes = self.text.as_bytes();
        loop {
            if start >= bytes.len() {
                self.is_done = true;
                return Ok(());
            }
            let mut at = start;
            while bytes.get(at) == Some(&b' ') {
                at += 1;
            }
            let end = at + memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
            if at == end || bytes[at] == b'#' {
                start = end + 1;
                continue;
            }
            (self.at, self.end, self.column) = (at, end, at - start);
            let is_marker = |marker| self.text[at..end].starts_with(marker);
            if self.column == 0 && (is_marker("---") || is_marker("...")) {
                return Err(Unusual);
            }
            return Ok(());
        }
    }

    /// Returns the rest of the line.
    fn rest(&self) -> &'de str {
        &self.text[self.at..self.end]
    }

    /// Moves within the line, past a number of bytes and the spaces after them.
    fn skip(&mut self, bytes: usize) {
        let rest = &self.rest()[bytes..];
        let moved = bytes + rest.len() - rest.trim_start_matches(' ').len();
        self.at += moved;
        self.column += moved;
    }

    /// Returns whether only a comment is left in the line.
    fn is_at_end_of_line(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with('#')
    }

    fn is_at_dash(&self) -> bool {
        !self.is_done && matches!(self.rest().as_bytes(), [b'-'] | [b'-', b' ', ..])
    }

    /// Reads the start of a block collection.
    fn collection(&self) -> Result<Content<'de>> {
        if self.is_at_dash() {
            Ok(Content::Sequence(self.column))
        } else if key(self.rest())?.is_some() {
            Ok(Content::Mapping(self.column))
        } else {
            Err(Unusual)
        }
    }

    /// Reads the value of a key, after the colon and spaces.
    fn value(&mut self, key_column: usize) -> Result<Content<'de>> {
        if !self.is_at_end_of_line() {
            return self.scalar(key_column);
        }
        self.next_line()?;
        if !self.is_done && self.column > key_column
            || self.is_at_dash() && self.column == key_column
        {
            self.collection()
        } else {
            Ok(Content::Scalar(Scalar::Plain("")))
        }
    }

    /// Reads the item of a sequence, from its dash on.
    fn item(&mut self, dash_column: usize) -> Result<Content<'de>> {
        self.skip("-".len());
        let rest = self.rest();
        if self.is_at_end_of_line() {
            self.next_line()?;
            return if !self.is_done && self.column > dash_column {
                self.collection()
            } else {
                Ok(Content::Scalar(Scalar::Plain("")))
            };
        }
        if self.is_at_dash() || key(rest)?.is_some() {
            self.collection()
        } else {
            self.scalar(dash_column)
        }
    }

    /// Reads a scalar or an empty collection, and moves to the next line. `parent` is the column of
    /// the collection around it.
    fn scalar(&mut self, parent: usize) -> Result<Content<'de>> {
        let rest = self.rest();
        let (content, behind) = match rest.as_bytes() {
            [b'|', ..] => return self.literal(parent),
            [b'{', b'}', ..] => (Content::EmptyMapping, &rest[2..]),
            [b'[', b']', ..] => (Content::EmptySequence, &rest[2..]),
            [quote @ (b'"' | b'\''), ..] => {
                let (scalar, behind) = quoted(rest, *quote)?;
                (Content::Scalar(scalar), behind)
            }
            _ => (Content::Scalar(Scalar::Plain(plain(rest)?)), ""),
        };
        if !is_blank_or_comment(behind) {
            return Err(Unusual);
        }
        self.next_line()?;
        // A line further right would continue the scalar.
        if !self.is_done && self.column > parent {
            return Err(Unusual);
        }
        Ok(content)
    }

    /// Reads a literal block scalar, and moves to the next line.
    fn literal(&mut self, parent: usize) -> Result<Content<'de>> {
        let header = &self.rest()["|".len()..];
        let (chomping, behind) = match header.as_bytes() {
            [b'-', ..] => (Chomping::Strip, &header[1..]),
            [b'+', ..] => (Chomping::Keep, &header[1..]),
            _ => (Chomping::Clip, header),
        };
        if !is_blank_or_comment(behind) {
            return Err(Unusual);
        }
        let bytes = self.text.as_bytes();
        let start = (self.end + 1).min(bytes.len());
        let (mut at, mut indent) = (start, None);
        while at < bytes.len() {
            let line = &bytes[at..];
            let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
            let spaces = line.iter().take_while(|byte| **byte == b' ').count();
            let is_blank = spaces == line.len();
            if !is_blank && spaces <= parent {
                break;
            }
            match indent {
                // The parser derives the indentation from long blank lines too.
                None if is_blank && spaces > 0 => return Err(Unusual),
                None if is_blank => {}
                None => indent = Some(spaces),
                Some(indent) if !is_blank && spaces < indent => return Err(Unusual),
                Some(_) => {}
            }
            at += line.len() + 1;
        }
        let literal = Literal {
            lines: &self.text[start..at.min(bytes.len())],
            indent: indent.ok_or(Unusual)?,
            chomping,
        };
        self.read_line_at(at)?;
        Ok(Content::Scalar(Scalar::Literal(literal)))
    }

    /// Reads the key of the next entry, and moves behind its colon. Returns `None` at the end of
    /// the mapping.
    fn next_key(&mut self, column: usize) -> Result<Option<Scalar<'de>>> {
        if self.is_done || self.column < column {
            return Ok(None);
        }
        let (scalar, length) = key(self.rest())?
            .filter(|_| self.column == column)
            .ok_or(Unusual)?;
        self.skip(length);
        Ok(Some(scalar))
    }

    /// Moves to the next item. Returns false at the end of the sequence.
    fn has_next_item(&self, column: usize) -> Result<bool> {
        if self.is_done || self.column < column {
            return Ok(false);
        }
        if self.column > column {
            return Err(Unusual);
        }
        // A sequence may have the column of the mapping around it, whose next key ends it.
        Ok(self.is_at_dash())
    }

    /// Skips a node.
    fn skip_over(&mut self, content: Content<'de>) -> Result<()> {
        match content {
            Content::Mapping(column) => self.nested(|reader| {
                while reader.next_key(column)?.is_some() {
                    let value = reader.value(column)?;
                    reader.skip_over(value)?;
                }
                Ok(())
            }),
            Content::Sequence(column) => self.nested(|reader| {
                while reader.has_next_item(column)? {
                    let item = reader.item(column)?;
                    reader.skip_over(item)?;
                }
                Ok(())
            }),
            Content::Scalar(_) | Content::EmptyMapping | Content::EmptySequence => Ok(()),
        }
    }

    /// Reads what a collection contains.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(Unusual);
        }
        self.depth += 1;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }
}

/// Returns the key at the start of a text, and its length with the colon; `None` if no key starts
/// there.
fn key(text: &str) -> Result<Option<(Scalar<'_>, usize)>> {
    let (scalar, length) = match text.as_bytes() {
        [quote @ (b'"' | b'\''), ..] => {
            let (scalar, behind) = quoted(text, *quote)?;
            let behind = behind.trim_start_matches(' ');
            (scalar, text.len() - behind.len())
        }
        bytes => match colon_or_comment(bytes) {
            Some(at) if bytes[at] == b':' => {
                let key = text[..at].trim_end_matches(' ');
                if !may_start_plain(key) {
                    return Err(Unusual);
                }
                (Scalar::Plain(key), at)
            }
            _ => return Ok(None),
        },
    };
    match &text.as_bytes()[length..] {
        [b':'] | [b':', b' ', ..] if length <= LONGEST_KEY => Ok(Some((scalar, length + 1))),
        [b':', ..] => Err(Unusual),
        _ => Ok(None),
    }
}

/// Reads an unquoted scalar up to the end of its line.
fn plain(text: &str) -> Result<&str> {
    if !may_start_plain(text) {
        return Err(Unusual);
    }
    match colon_or_comment(text.as_bytes()) {
        None => Ok(text.trim_end_matches(' ')),
        Some(at) if text.as_bytes()[at] == b'#' => Ok(text[..at].trim_end_matches(' ')),
        // A mapping cannot start after a key.
        Some(_) => Err(Unusual),
    }
}

/// Returns whether an unquoted scalar can start as a text does.
fn may_start_plain(text: &str) -> bool {
    match text.as_bytes() {
        [] | [b'-'] | [b'-', b' ', ..] => false,
        [first, ..] => !b",[]{}#&*!|>'\"%@`?:".contains(first),
    }
}

/// Returns the position of the first colon that ends a key, or `#` that starts a comment.
fn colon_or_comment(line: &[u8]) -> Option<usize> {
    memchr::memchr2_iter(b':', b'#', line).find(|at| match line[*at] {
        b':' => matches!(line.get(at + 1), None | Some(b' ')),
        _ => *at > 0 && line[at - 1] == b' ',
    })
}

/// Reads a quoted scalar that ends on its line. Returns the text after it, too.
fn quoted(text: &str, quote: u8) -> Result<(Scalar<'_>, &str)> {
    let bytes = text.as_bytes();
    let (mut at, mut has_escapes) = (1, false);
    loop {
        at += memchr::memchr2(quote, b'\\', &bytes[at..]).ok_or(Unusual)?;
        match (quote, bytes[at], bytes.get(at + 1)) {
            (b'\'', b'\\', _) => at += 1,
            (b'\'', _, Some(b'\'')) | (b'"', b'\\', Some(b'"' | b'\\' | b'n' | b't')) => {
                has_escapes = true;
                at += 2;
            }
            (_, b'\\', _) => return Err(Unusual),
            _ => break,
        }
    }
    let inside = &text[1..at];
    let scalar = match quote {
        _ if !has_escapes => Scalar::Verbatim(inside),
        b'\'' => Scalar::SingleQuoted(inside),
        _ => Scalar::DoubleQuoted(inside),
    };
    Ok((scalar, &text[at + 1..]))
}

/// Returns whether nothing but a comment follows a token.
fn is_blank_or_comment(rest: &str) -> bool {
    let body = rest.trim_start_matches(' ');
    body.is_empty() || body.starts_with('#') && body.len() < rest.len()
}

impl<'de> Scalar<'de> {
    fn text(self) -> Cow<'de, str> {
        match self {
            Scalar::Plain(text) | Scalar::Verbatim(text) => Cow::Borrowed(text),
            Scalar::SingleQuoted(text) => Cow::Owned(text.replace("''", "'")),
            Scalar::DoubleQuoted(text) => {
                let mut unescaped = String::with_capacity(text.len());
                let mut chars = text.chars();
                while let Some(char) = chars.next() {
                    unescaped.push(match char {
                        '\\' => match chars.next() {
                            Some('n') => '\n',
                            Some('t') => '\t',
                            other => other.unwrap_or('\\'),
                        },
                        char => char,
                    });
                }
                Cow::Owned(unescaped)
            }
            Scalar::Literal(literal) => Cow::Owned(literal.text()),
        }
    }

    /// Returns whether it is absent, empty or a word for null.
    fn is_null(self) -> bool {
        matches!(self, Scalar::Plain("" | "~" | "null" | "Null" | "NULL"))
    }

    fn visit_text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.text() {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Visits the scalar as the type that its text has.
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let text = match self {
            _ if self.is_null() => return visitor.visit_unit(),
            Scalar::Plain("true" | "True" | "TRUE") => return visitor.visit_bool(true),
            Scalar::Plain("false" | "False" | "FALSE") => return visitor.visit_bool(false),
            Scalar::Plain(text)
                if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) =>
            {
                text
            }
            _ => return self.visit_text(visitor),
        };
        let is_decimal = text.len() < 20 && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_decimal && (text == "0" || !text.starts_with('0')) {
            return visitor.visit_u64(text.parse().map_err(|_| Unusual)?);
        }
        // The complete parser knows all notations of numbers.
        match yaml_serde::from_str(text) {
            Ok(yaml_serde::Value::Number(number)) => {
                number.deserialize_any(visitor).map_err(Unusual::custom)
            }
            Ok(yaml_serde::Value::String(_)) => self.visit_text(visitor),
            _ => Err(Unusual),
        }
    }
}

impl Literal<'_> {
    fn text(self) -> String {
        let mut text = String::with_capacity(self.lines.len());
        for line in self.lines.split_inclusive('\n') {
            let content = line.trim_end_matches('\n');
            // A blank line may be shorter than the indentation.
            text.push_str(content.get(self.indent..).unwrap_or_default());
            text.push_str(&line[content.len()..]);
        }
        let body = text.trim_end_matches('\n').len();
        match self.chomping {
            Chomping::Strip => text.truncate(body),
            Chomping::Clip => text.truncate(text.len().min(body + 1)),
            Chomping::Keep => {}
        }
        text
    }
}

/// The node at the position of a reader.
struct Node<'r, 'de> {
    reader: &'r mut Reader<'de>,
    content: Content<'de>,
}

impl<'de> Node<'_, 'de> {
    fn scalar(&self) -> Result<Scalar<'de>> {
        match self.content {
            Content::Scalar(scalar) => Ok(scalar),
            _ => Err(Unusual),
        }
    }

    fn visit_map<V: Visitor<'de>>(self, column: Option<usize>, visitor: V) -> Result<V::Value> {
        let reader = self.reader;
        let visited = reader.nested(|reader| visitor.visit_map(Entries { reader, column }))?;
        // The complete parser refuses entries that the visitor does not take.
        match (Entries { reader, column }).next_key()? {
            None => Ok(visited),
            Some(_) => Err(Unusual),
        }
    }

    fn visit_seq<V: Visitor<'de>>(self, column: Option<usize>, visitor: V) -> Result<V::Value> {
        let reader = self.reader;
        let visited = reader.nested(|reader| visitor.visit_seq(Items { reader, column }))?;
        if (Items { reader, column }).has_next()? {
            return Err(Unusual);
        }
        Ok(visited)
    }
}

/// The entries of a mapping.
struct Entries<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// The column of the keys; `None` for an empty mapping.
    column: Option<usize>,
}

/// The items of a sequence.
struct Items<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// The column of the dashes; `None` for an empty sequence.
    column: Option<usize>,
}

impl<'de> Entries<'_, 'de> {
    fn next_key(&mut self) -> Result<Option<Scalar<'de>>> {
        self.column
            .map_or(Ok(None), |column| self.reader.next_key(column))
    }
}

impl Items<'_, '_> {
    fn has_next(&self) -> Result<bool> {
        self.column
            .map_or(Ok(false), |column| self.reader.has_next_item(column))
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Unusual;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(key) = self.next_key()? else {
            return Ok(None);
        };
        let key = Node {
            reader: self.reader,
            content: Content::Scalar(key),
        };
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let content = self.reader.value(self.column.ok_or(Unusual)?)?;
        seed.deserialize(Node {
            reader: self.reader,
            content,
        })
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Unusual;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.has_next()? {
            return Ok(None);
        }
        let content = self.reader.item(self.column.ok_or(Unusual)?)?;
        let item = Node {
            reader: self.reader,
            content,
        };
        seed.deserialize(item).map(Some)
    }
}

impl<'de> Deserializer<'de> for Node<'_, 'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            Content::Scalar(scalar) => scalar.visit(visitor),
            Content::Mapping(column) => self.visit_map(Some(column), visitor),
            Content::EmptyMapping => self.visit_map(None, visitor),
            Content::Sequence(column) => self.visit_seq(Some(column), visitor),
            Content::EmptySequence => self.visit_seq(None, visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.scalar()?.visit_text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(Unusual)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(Unusual)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            Content::Scalar(scalar) if scalar.is_null() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.scalar()?.is_null() {
            visitor.visit_unit()
        } else {
            Err(Unusual)
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            Content::Sequence(column) => self.visit_seq(Some(column), visitor),
            // An absent value is an empty collection of either kind.
            Content::EmptySequence | Content::Scalar(Scalar::Plain("")) => {
                self.visit_seq(None, visitor)
            }
            _ => Err(Unusual),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            Content::Mapping(column) => self.visit_map(Some(column), visitor),
            Content::EmptyMapping | Content::Scalar(Scalar::Plain("")) => {
                self.visit_map(None, visitor)
            }
            _ => Err(Unusual),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        // Without tags, only a variant without content can be written.
        match self.scalar()?.text() {
            Cow::Borrowed(variant) => {
                visitor.visit_enum(BorrowedStrDeserializer::<Unusual>::new(variant))
            }
            Cow::Owned(variant) => visitor.visit_enum(variant.into_deserializer()),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.reader.skip_over(self.content)?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yaml_serde::Value;

    use super::*;
    use crate::api::host::BareMetalHost;

    /// Reads a text, and checks that the complete parser reads the same.
    fn read(text: &str) -> Option<Value> {
        let read = in_block_style::<Value>(text);
        if let Some(read) = &read {
            let parsed = yaml_serde::from_str::<Value>(text);
            assert_eq!(Some(read), parsed.as_ref().ok(), "{text:?}: {parsed:?}");
        }
        // A type that skips most fields, and texts that are numbers in the other type.
        if let Some(host) = in_block_style::<BareMetalHost>(text) {
            let parsed = yaml_serde::from_str::<BareMetalHost>(text);
            assert_eq!(
                format!("{host:?}"),
                parsed.map_or_else(|error| error.to_string(), |host| format!("{host:?}")),
                "{text:?}"
            );
        }
        read
    }

    #[test]
    fn block_style_is_read() {
        for text in [
            "a: b\n",
            "---\na: b",
            "--- # comment\n\n# comment\n  a: b\n  c:\n",
            "- a\n- b: c\n  d: e\n-\n- - f\n  - g\n",
            "a:\n- b\n- c: d\ne:\n  - f\ng: {} # none\nh: []\ni: # nothing\nj:\n  k: l\n",
            "a: 1\nb: -1\nc: 0x1F\nd: 007\ne: 1.5\nf: .inf\ng: 1e3\nh: +1\ni: 1_000\nj: 18446744073709551615\n",
            "a: null\nb: ~\nc: True\nd: yes\ne: '1'\nf: \"true\"\ng: 2024-01-01T00:00:00Z\nh: 52:54:00:12:34:56\n",
            "a: 'it''s'\nb: \"x\\\"y\\\\z\\n\"\nc: ''\nd: a#b\ne: a:b\n'f g' : h\n\"i\": j\nk l: m\n",
            "a: |\n  x\n\n   y\n  # z\nb: |-\n    x\n\n\n# comment\nc: |+\n  x\n\nd: e\n",
            "- |\n  x",
            "f:metadata:\n  .: {}\n  f:labels: {}\n  k:{\"uid\":\"x\"}: {}\n",
            "ä: 'ö'\n",
            "metadata:\n  name: 007\n  labels:\n    a: 1\n    b: true\n  annotations:\nspec:\n  bmc:\n",
        ] {
            assert!(read(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn the_rest_takes_the_complete_parser() {
        for text in [
            "",
            "\n",
            "# comment\n",
            "a",
            "'a'",
            "|\n a\n",
            "a: b\n---\n",
            "a: b\n...\n",
            "%YAML 1.2\n---\na: b\n",
            "a: &b c\n",
            "a: *b\n",
            "a: !!str b\n",
            "a: [b]\n",
            "a: {b: c}\n",
            "{a: b}\n",
            "? a\n: b\n",
            "a: b\r\n",
            "a:\tb\n",
            "a: b\n\tc: d\n",
            "a: b\n  c\n",
            "a:\n  b\n",
            "a: 'b\n  c'\n",
            "a: \"\\x41\"\n",
            "a: >\n  b\n",
            "a: |2\n   b\n",
            "a: b: c\n",
            "a: b:\n",
            "a:\n    b: c\n  d: e\n",
            "a: - b\n",
            "a: @b\n",
            "a: `b\n",
            "a: b\n- c\n",
            "- a\nb: c\n",
            "a: 'b'c\n",
            "a: b\na: c\n",
            "\u{feff}a: b\n",
            "a: \u{85}\n",
            "a: \u{7}\n",
            "a: \"b\" #c\n d",
            ": a\n",
            "a: 'b' c: d\n",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth: usize| format!("{}a: b\n", "- ".repeat(depth));
        assert!(read(&nested(DEEPEST - 1)).is_some());
        assert!(in_block_style::<Value>(&nested(100_000)).is_none());
        assert!(in_block_style::<serde::de::IgnoredAny>(&nested(100_000)).is_none());
    }

    #[test]
    fn long_keys_take_the_complete_parser() {
        for key in [
            "a".repeat(LONGEST_KEY + 1),
            format!("'{}'", "a".repeat(LONGEST_KEY)),
        ] {
            assert_eq!(read(&format!("{key}: b\n")), None);
        }
    }

    /// Lines of YAML, mostly of the usual style.
    fn texts() -> impl Strategy<Value = String> {
        let indent = (0..4_usize).prop_map(|depth| " ".repeat(depth));
        let tokens = prop::sample::select(vec![
            "a", "b", "kind", "metadata", "labels", "name", "spec", ":", ": ", ": ", ": ", "- ",
            "- ", "-", " ", "#", " #", "'", "\"", "\\", "''", "|", "|-", "|+", ">", "{}", "[]",
            "{", "}", "[", "]", ",", "&a", "*a", "!t", "1", "0", "-1", ".", "~", "null", "true",
            "?", "%", "@", "---", "...", "<<", "ä", "\u{2028}", "\t", "\r",
        ]);
        let usual = prop::sample::select(vec![
            "a: b",
            "b:",
            "c: 1",
            "- a",
            "- b: c",
            "-",
            "- - d",
            "e: |",
            "f: 'x'",
            "g: \"y\"",
            "# c",
            "",
            "h: {}",
            "x",
            "labels:",
            "metadata:",
            "name: z",
            "---",
        ]);
        let line = prop_oneof![
            3 => usual.prop_map(str::to_owned),
            1 => prop::collection::vec(tokens, 0..6).prop_map(|tokens| tokens.concat()),
        ];
        let lines = prop::collection::vec((indent, line), 0..10);
        let end = prop::sample::select(vec!["\n", ""]);
        (lines, end).prop_map(|(lines, end)| {
            let lines: Vec<String> = lines
                .into_iter()
                .map(|(indent, line)| format!("{indent}{line}"))
                .collect();
            lines.join("\n") + end
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000_000))]

        #[test]
        fn the_complete_parser_agrees(text in texts()) {
            read(&text);
        }
    }
}
