//! Reads YAML, fast if it has the block style that kubectl, kustomize, sipgen and most people
//! write.
//!
//! The reader of this module knows only block mappings and sequences, scalars on one line, literal
//! block scalars (`|`), empty flow collections, and comments. At anything else it gives up, and
//! `yaml_serde` reads the document: at anchors, aliases, tags, flow style, tabs, CRLF, directives,
//! scalars on several lines, unusual escapes, and at all that is invalid or does not fit the type.
//! So it reports no errors, and its values are those of `yaml_serde`. The tests below and the fuzz
//! target `documents` compare the two.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::bytes;

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
        column: 0,
        key: None,
        depth: 0,
    };
    let content = reader.root().ok()?;
    let root = Node {
        reader: &mut reader,
        content,
    };
    let value = T::deserialize(root).ok()?;
    reader.is_done().then_some(value)
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

/// A position in a text: at a node, or at the end.
struct Reader<'de> {
    text: &'de str,
    /// The offset of the node.
    at: usize,
    /// The column of the node, from its line's start or a dash on.
    column: usize,
    /// The key at the position, if it is known.
    key: Option<Key<'de>>,
    /// The number of collections around the node.
    depth: usize,
}

/// The first token of a node.
enum Token<'de> {
    Key(Key<'de>),
    /// A scalar or empty collection, and the offset of its line's end.
    Value(Content<'de>, usize),
}

#[derive(Clone, Copy)]
struct Key<'de> {
    text: Scalar<'de>,
    /// The offset after the colon.
    end: usize,
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
        let behind = match self.text.strip_prefix("---") {
            Some(_) => self.end_of_line("---".len()).ok_or(Unusual)?,
            None => 0,
        };
        self.move_to_line(behind)?;
        if self.is_done() {
            return Err(Unusual);
        }
        self.collection()
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Moves to the first line with content that starts at an offset or after it.
    fn move_to_line(&mut self, mut start: usize) -> Result<()> {
        loop {
            let at = self.behind_spaces(start);
            match self.byte(at) {
                Some(b'\n') => start = at + 1,
                Some(b'#') => start = self.line_break(at) + 1,
                Some(b'-' | b'.') if at == start && self.is_at_marker(at) => return Err(Unusual),
                _ => {
                    (self.at, self.column) = (at, at - start);
                    return Ok(());
                }
            }
        }
    }

    fn is_at_marker(&self, at: usize) -> bool {
        let rest = &self.text[at..];
        rest.starts_with("---") || rest.starts_with("...")
    }

    fn behind_spaces(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b' ') {
            at += 1;
        }
        at
    }

    /// Returns the offset of the line break after an offset, or of the end.
    fn line_break(&self, at: usize) -> usize {
        at + bytes::line_break(&self.text.as_bytes()[at..])
    }

    /// Returns the offset of the line's end if only a comment precedes it.
    fn end_of_line(&self, from: usize) -> Option<usize> {
        let at = self.behind_spaces(from);
        match self.byte(at) {
            None | Some(b'\n') => Some(at),
            Some(b'#') if at > from => Some(self.line_break(at)),
            Some(_) => None,
        }
    }

    fn is_at_dash(&self) -> bool {
        self.byte(self.at) == Some(b'-')
            && matches!(self.byte(self.at + 1), None | Some(b' ' | b'\n'))
    }

    /// Reads the start of a block collection.
    fn collection(&mut self) -> Result<Content<'de>> {
        if self.is_at_dash() {
            return Ok(Content::Sequence(self.column));
        }
        match self.token(None)? {
            Token::Key(key) => Ok(self.mapping(key)),
            Token::Value(..) => Err(Unusual),
        }
    }

    /// Returns the mapping that starts with a key at the position.
    fn mapping(&mut self, key: Key<'de>) -> Content<'de> {
        self.key = Some(key);
        Content::Mapping(self.column)
    }

    /// Reads the value of a key, after the colon.
    fn value(&mut self, key_column: usize) -> Result<Content<'de>> {
        if let Some(end) = self.end_of_line(self.at) {
            self.move_to_line(end)?;
            let is_below = !self.is_done() && self.column > key_column
                || self.is_at_dash() && self.column == key_column;
            return if is_below {
                self.collection()
            } else {
                Ok(Content::Scalar(Scalar::Plain("")))
            };
        }
        self.at = self.behind_spaces(self.at);
        match self.token(Some(key_column))? {
            Token::Value(content, end) => self.ended(content, end, key_column),
            // A mapping cannot start after a key.
            Token::Key(_) => Err(Unusual),
        }
    }

    /// Reads the item of a sequence, from its dash on.
    fn item(&mut self, dash_column: usize) -> Result<Content<'de>> {
        let behind = self.at + "-".len();
        if let Some(end) = self.end_of_line(behind) {
            self.move_to_line(end)?;
            return if !self.is_done() && self.column > dash_column {
                self.collection()
            } else {
                Ok(Content::Scalar(Scalar::Plain("")))
            };
        }
        let at = self.behind_spaces(behind);
        self.column += at - self.at;
        self.at = at;
        if self.is_at_dash() {
            return Ok(Content::Sequence(self.column));
        }
        match self.token(Some(dash_column))? {
            Token::Key(key) => Ok(self.mapping(key)),
            Token::Value(content, end) => self.ended(content, end, dash_column),
        }
    }

    /// Moves to the line after a scalar or empty collection. `parent` is the column of the
    /// collection around it.
    fn ended(&mut self, content: Content<'de>, end: usize, parent: usize) -> Result<Content<'de>> {
        self.move_to_line(end)?;
        // A line further right would continue the scalar.
        if !self.is_done() && self.column > parent {
            return Err(Unusual);
        }
        Ok(content)
    }

    /// Reads the token at the position. Without a `parent`, a literal block scalar is unusual.
    fn token(&self, parent: Option<usize>) -> Result<Token<'de>> {
        let text = self.text;
        match &text.as_bytes()[self.at..] {
            [b'|', ..] => self.literal(parent.ok_or(Unusual)?),
            [b'{', b'}', ..] => self.value_before(Content::EmptyMapping, self.at + 2),
            [b'[', b']', ..] => self.value_before(Content::EmptySequence, self.at + 2),
            [quote @ (b'"' | b'\''), ..] => {
                let (scalar, behind) = self.quoted(*quote)?;
                let at = self.behind_spaces(behind);
                if self.byte(at) == Some(b':') {
                    self.key(scalar, at)
                } else {
                    self.value_before(Content::Scalar(scalar), behind)
                }
            }
            [b'-', b' ' | b'\n', ..] | [b'-'] | [] => Err(Unusual),
            [
                b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'>' | b'%' | b'@'
                | b'`' | b'?' | b':',
                ..,
            ] => Err(Unusual),
            _ => self.plain(),
        }
    }

    /// Returns a value, provided that only a comment follows it in its line.
    fn value_before(&self, content: Content<'de>, behind: usize) -> Result<Token<'de>> {
        let end = self.end_of_line(behind).ok_or(Unusual)?;
        Ok(Token::Value(content, end))
    }

    /// Returns a key with its colon at an offset.
    fn key(&self, text: Scalar<'de>, colon: usize) -> Result<Token<'de>> {
        let end = colon + 1;
        let is_followed = matches!(self.byte(end), None | Some(b' ' | b'\n'));
        if !is_followed || end - self.at > LONGEST_KEY {
            return Err(Unusual);
        }
        Ok(Token::Key(Key { text, end }))
    }

    /// Reads an unquoted key or scalar.
    fn plain(&self) -> Result<Token<'de>> {
        let all = self.text.as_bytes();
        let mut at = self.at;
        loop {
            at += bytes::first_of([b':', b'#', b'\n'], &all[at..]);
            let is_end = match all.get(at) {
                Some(b':') => matches!(all.get(at + 1), None | Some(b' ' | b'\n')),
                Some(b'#') => all[at - 1] == b' ',
                _ => true,
            };
            if is_end {
                break;
            }
            at += 1;
        }
        let text = trim_end(&self.text[self.at..at]);
        match all.get(at) {
            Some(b':') => self.key(Scalar::Plain(text), at),
            Some(b'#') => Ok(Token::Value(
                Content::Scalar(Scalar::Plain(text)),
                self.line_break(at),
            )),
            _ => Ok(Token::Value(Content::Scalar(Scalar::Plain(text)), at)),
        }
    }

    /// Reads a quoted scalar that ends on its line. Returns the offset after it, too.
    fn quoted(&self, quote: u8) -> Result<(Scalar<'de>, usize)> {
        let all = self.text.as_bytes();
        let start = self.at + 1;
        let (mut at, mut has_escapes) = (start, false);
        loop {
            at += bytes::first_of([quote, b'\\', b'\n'], &all[at..]);
            match (quote, all.get(at), all.get(at + 1)) {
                (_, None | Some(b'\n'), _) => return Err(Unusual),
                (b'\'', Some(b'\\'), _) => at += 1,
                (b'\'', _, Some(b'\'')) | (b'"', Some(b'\\'), Some(b'"' | b'\\' | b'n' | b't')) => {
                    has_escapes = true;
                    at += 2;
                }
                (_, Some(b'\\'), _) => return Err(Unusual),
                _ => break,
            }
        }
        let inside = &self.text[start..at];
        let scalar = match quote {
            _ if !has_escapes => Scalar::Verbatim(inside),
            b'\'' => Scalar::SingleQuoted(inside),
            _ => Scalar::DoubleQuoted(inside),
        };
        Ok((scalar, at + 1))
    }

    /// Reads a literal block scalar.
    fn literal(&self, parent: usize) -> Result<Token<'de>> {
        let header = self.at + "|".len();
        let (chomping, behind) = match self.byte(header) {
            Some(b'-') => (Chomping::Strip, header + 1),
            Some(b'+') => (Chomping::Keep, header + 1),
            _ => (Chomping::Clip, header),
        };
        let end = self.end_of_line(behind).ok_or(Unusual)?;
        let start = (end + 1).min(self.text.len());
        let (mut at, mut indent) = (start, None);
        while at < self.text.len() {
            let behind = self.behind_spaces(at);
            let spaces = behind - at;
            let is_blank = matches!(self.byte(behind), None | Some(b'\n'));
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
            at = (self.line_break(behind) + 1).min(self.text.len());
        }
        let literal = Literal {
            lines: &self.text[start..at],
            indent: indent.ok_or(Unusual)?,
            chomping,
        };
        Ok(Token::Value(Content::Scalar(Scalar::Literal(literal)), at))
    }

    /// Reads the key of the next entry, and moves behind its colon. Returns `None` at the end of
    /// the mapping.
    fn next_key(&mut self, column: usize) -> Result<Option<Scalar<'de>>> {
        if self.is_done() || self.column < column {
            return Ok(None);
        }
        if self.column > column {
            return Err(Unusual);
        }
        let key = match self.key.take() {
            Some(key) => key,
            None => match self.token(None)? {
                Token::Key(key) => key,
                Token::Value(..) => return Err(Unusual),
            },
        };
        self.at = key.end;
        Ok(Some(key.text))
    }

    /// Returns whether the sequence has another item, at the position.
    fn has_next_item(&self, column: usize) -> Result<bool> {
        if self.is_done() || self.column < column {
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

/// Removes spaces from the end.
fn trim_end(mut text: &str) -> &str {
    while let Some(shorter) = text.strip_suffix(' ') {
        text = shorter;
    }
    text
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
        if let Ok(number) = text.parse::<yaml_serde::Number>() {
            return number.deserialize_any(visitor).map_err(Unusual::custom);
        }
        // Integers of more than 64 bits have a type of their own.
        let is_digit = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'o');
        if text.len() > "0xffffffffffffffff".len() && text.bytes().skip(1).all(is_digit) {
            return Err(Unusual);
        }
        self.visit_text(visitor)
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
            "a",
            "b",
            "kind",
            "metadata",
            "labels",
            "name",
            "spec",
            ":",
            ": ",
            ": ",
            ": ",
            "- ",
            "- ",
            "-",
            " ",
            "#",
            " #",
            "'",
            "\"",
            "\\",
            "''",
            "|",
            "|-",
            "|+",
            ">",
            "{}",
            "[]",
            "{",
            "}",
            "[",
            "]",
            ",",
            "&a",
            "*a",
            "!t",
            "1",
            "0",
            "-1",
            ".",
            "18446744073709551616",
            "~",
            "null",
            "true",
            "?",
            "%",
            "@",
            "---",
            "...",
            "<<",
            "ä",
            "\u{2028}",
            "\t",
            "\r",
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
        #![proptest_config(ProptestConfig {
            cases: 20_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_complete_parser_agrees(text in texts()) {
            read(&text);
        }
    }
}
