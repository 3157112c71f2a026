//! The tokens and the structure of a document.

use super::marks::Marks;
use super::scalar::{Chomping, Literal, Scalar};
use super::{Result, UnsupportedYaml};

/// The maximum nesting of collections; the complete parser allows 128.
pub(super) const DEEPEST: usize = 100;

/// The maximum length of a key in bytes; the complete parser allows 1024 characters.
pub(super) const LONGEST_KEY: usize = 1000;

/// A position in a text: at a node, or at the end.
pub(super) struct YamlReader<'de> {
    text: &'de str,
    marks: Marks<'de>,
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
enum YamlToken<'de> {
    Key(Key<'de>),
    /// A scalar or empty collection, and the offset of its line's end.
    Value(NodeContent<'de>, usize),
}

#[derive(Clone, Copy)]
struct Key<'de> {
    text: Scalar<'de>,
    /// The offset after the colon.
    end: usize,
}

/// A node as far as it is read: a scalar completely, a collection up to its start.
#[derive(Clone, Copy)]
pub(super) enum NodeContent<'de> {
    Scalar(Scalar<'de>),
    /// A block mapping whose keys have this column, or `{}`.
    Mapping(Option<usize>),
    /// A block sequence whose dashes have this column, or `[]`.
    Sequence(Option<usize>),
}

impl<'de> YamlReader<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, marks: Marks::new(text.as_bytes()), at: 0, column: 0, key: None, depth: 0 }
    }

    /// Reads the start of the document.
    pub(super) fn root(&mut self) -> Result<NodeContent<'de>> {
        let behind = match self.text.strip_prefix("---") {
            Some(_) => self.end_of_line("---".len()).ok_or(UnsupportedYaml)?,
            None => 0,
        };
        self.move_to_line(behind)?;
        if self.is_done() {
            return Err(UnsupportedYaml);
        }
        self.collection()
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Moves to the first line with content that starts at an offset or after it.
    fn move_to_line(&mut self, mut start: usize) -> Result<()> {
        loop {
            let at = self.marks.behind_spaces(start);
            match self.byte(at) {
                Some(b'\n') => start = at + 1,
                Some(b'#') => start = self.marks.line_break(at) + 1,
                Some(b'-' | b'.') if at == start && self.is_at_marker(at) => {
                    return Err(UnsupportedYaml);
                }
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

    /// Returns the offset of the line's end if only a comment precedes it.
    fn end_of_line(&mut self, from: usize) -> Option<usize> {
        let at = self.marks.behind_spaces(from);
        match self.byte(at) {
            None | Some(b'\n') => Some(at),
            Some(b'#') if at > from => Some(self.marks.line_break(at)),
            Some(_) => None,
        }
    }

    fn is_at_dash(&self) -> bool {
        self.byte(self.at) == Some(b'-')
            && matches!(self.byte(self.at + 1), None | Some(b' ' | b'\n'))
    }

    /// Reads the start of a block collection.
    fn collection(&mut self) -> Result<NodeContent<'de>> {
        if self.is_at_dash() {
            return Ok(NodeContent::Sequence(Some(self.column)));
        }
        match self.token(None)? {
            YamlToken::Key(key) => Ok(self.mapping(key)),
            YamlToken::Value(..) => Err(UnsupportedYaml),
        }
    }

    /// Returns the mapping that starts with a key at the position.
    fn mapping(&mut self, key: Key<'de>) -> NodeContent<'de> {
        self.key = Some(key);
        NodeContent::Mapping(Some(self.column))
    }

    /// Reads the value of a key, after the colon.
    pub(super) fn value(&mut self, key_column: usize) -> Result<NodeContent<'de>> {
        if let Some(end) = self.end_of_line(self.at) {
            self.move_to_line(end)?;
            let is_below = !self.is_done() && self.column > key_column
                || self.is_at_dash() && self.column == key_column;
            return if is_below {
                self.collection()
            } else {
                Ok(NodeContent::Scalar(Scalar::Plain("")))
            };
        }
        self.at = self.marks.behind_spaces(self.at);
        match self.token(Some(key_column))? {
            YamlToken::Value(content, end) => self.end_value(end, key_column).map(|()| content),
            // A mapping cannot start after a key.
            YamlToken::Key(_) => Err(UnsupportedYaml),
        }
    }

    /// Reads the item of a sequence, from its dash on.
    pub(super) fn item(&mut self, dash_column: usize) -> Result<NodeContent<'de>> {
        let behind = self.at + "-".len();
        if let Some(end) = self.end_of_line(behind) {
            self.move_to_line(end)?;
            return if !self.is_done() && self.column > dash_column {
                self.collection()
            } else {
                Ok(NodeContent::Scalar(Scalar::Plain("")))
            };
        }
        let at = self.marks.behind_spaces(behind);
        self.column += at - self.at;
        self.at = at;
        if self.is_at_dash() {
            return Ok(NodeContent::Sequence(Some(self.column)));
        }
        match self.token(Some(dash_column))? {
            YamlToken::Key(key) => Ok(self.mapping(key)),
            YamlToken::Value(content, end) => self.end_value(end, dash_column).map(|()| content),
        }
    }

    /// Moves to the line after a scalar or empty collection. `parent` is the column of the
    /// collection around it.
    fn end_value(&mut self, end: usize, parent: usize) -> Result<()> {
        self.move_to_line(end)?;
        // A line further right would continue the scalar.
        if !self.is_done() && self.column > parent {
            return Err(UnsupportedYaml);
        }
        Ok(())
    }

    /// Reads the token at the position. Without a `parent`, a literal block scalar is unusual.
    fn token(&mut self, parent: Option<usize>) -> Result<YamlToken<'de>> {
        let text = self.text;
        match &text.as_bytes()[self.at..] {
            [b'|', ..] => self.literal(parent.ok_or(UnsupportedYaml)?),
            [b'{', b'}', ..] => self.value_before(NodeContent::Mapping(None), self.at + 2),
            [b'[', b']', ..] => self.value_before(NodeContent::Sequence(None), self.at + 2),
            [quote @ (b'"' | b'\''), ..] => {
                let (scalar, behind) = self.quoted(*quote)?;
                let at = self.marks.behind_spaces(behind);
                if self.byte(at) == Some(b':') {
                    self.key(scalar, at)
                } else {
                    self.value_before(NodeContent::Scalar(scalar), behind)
                }
            }
            [b'-', b' ' | b'\n', ..] | [b'-'] | [] => Err(UnsupportedYaml),
            [
                b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'>' | b'%' | b'@'
                | b'`' | b'?' | b':',
                ..,
            ] => Err(UnsupportedYaml),
            _ => self.plain(),
        }
    }

    /// Returns a value, provided that only a comment follows it in its line.
    fn value_before(&mut self, content: NodeContent<'de>, behind: usize) -> Result<YamlToken<'de>> {
        let end = self.end_of_line(behind).ok_or(UnsupportedYaml)?;
        Ok(YamlToken::Value(content, end))
    }

    /// Returns a key with its colon at an offset.
    fn key(&self, text: Scalar<'de>, colon: usize) -> Result<YamlToken<'de>> {
        let end = colon + 1;
        let is_followed = matches!(self.byte(end), None | Some(b' ' | b'\n'));
        if !is_followed || end - self.at > LONGEST_KEY {
            return Err(UnsupportedYaml);
        }
        Ok(YamlToken::Key(Key { text, end }))
    }

    /// Reads an unquoted key or scalar.
    #[inline]
    fn plain(&mut self) -> Result<YamlToken<'de>> {
        let at = self.marks.end_of_plain(self.at);
        let text = Scalar::Plain(trim_end(&self.text[self.at..at]));
        match self.byte(at) {
            Some(b':') => self.key(text, at),
            Some(b'#') => {
                Ok(YamlToken::Value(NodeContent::Scalar(text), self.marks.line_break(at)))
            }
            _ => Ok(YamlToken::Value(NodeContent::Scalar(text), at)),
        }
    }

    /// Reads a quoted scalar that ends on its line. Returns the offset after it, too.
    fn quoted(&mut self, quote: u8) -> Result<(Scalar<'de>, usize)> {
        let all = self.text.as_bytes();
        let start = self.at + 1;
        let (mut at, mut has_escapes) = (start, false);
        loop {
            let end = memchr::memchr3(quote, b'\\', b'\n', &all[at..]);
            at = end.map_or(all.len(), |end| at + end);
            match (quote, all.get(at), all.get(at + 1)) {
                (_, None | Some(b'\n'), _) => return Err(UnsupportedYaml),
                (b'\'', Some(b'\\'), _) => at += 1,
                (b'\'', _, Some(b'\'')) | (b'"', Some(b'\\'), Some(b'"' | b'\\' | b'n' | b't')) => {
                    has_escapes = true;
                    at += 2;
                }
                (_, Some(b'\\'), _) => return Err(UnsupportedYaml),
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
    fn literal(&mut self, parent: usize) -> Result<YamlToken<'de>> {
        let header = self.at + "|".len();
        let (chomping, behind) = match self.byte(header) {
            Some(b'-') => (Chomping::Strip, header + 1),
            Some(b'+') => (Chomping::Keep, header + 1),
            _ => (Chomping::Clip, header),
        };
        let end = self.end_of_line(behind).ok_or(UnsupportedYaml)?;
        let start = (end + 1).min(self.text.len());
        let (mut at, mut indent) = (start, None);
        while at < self.text.len() {
            let behind = self.marks.behind_spaces(at);
            let spaces = behind - at;
            let is_blank = matches!(self.byte(behind), None | Some(b'\n'));
            if !is_blank && spaces <= parent {
                break;
            }
            match indent {
                // The parser derives the indentation from long blank lines too.
                None if is_blank && spaces > 0 => return Err(UnsupportedYaml),
                None if is_blank => {}
                None => indent = Some(spaces),
                Some(indent) if !is_blank && spaces < indent => return Err(UnsupportedYaml),
                Some(_) => {}
            }
            at = (self.marks.line_break(behind) + 1).min(self.text.len());
        }
        let literal = Literal {
            lines: &self.text[start..at],
            indent: indent.and_then(|indent| u32::try_from(indent).ok()).ok_or(UnsupportedYaml)?,
            chomping,
        };
        Ok(YamlToken::Value(NodeContent::Scalar(Scalar::Literal(literal)), at))
    }

    /// Reads the key of the next entry, and moves behind its colon. Returns `None` at the end of
    /// the mapping.
    pub(super) fn next_key(&mut self, column: usize) -> Result<Option<Scalar<'de>>> {
        if self.is_done() || self.column < column {
            return Ok(None);
        }
        if self.column > column {
            return Err(UnsupportedYaml);
        }
        let key = match self.key.take() {
            Some(key) => key,
            None => match self.token(None)? {
                YamlToken::Key(key) => key,
                YamlToken::Value(..) => return Err(UnsupportedYaml),
            },
        };
        self.at = key.end;
        Ok(Some(key.text))
    }

    /// Returns whether the sequence has another item, at the position.
    pub(super) fn has_next_item(&self, column: usize) -> Result<bool> {
        if self.is_done() || self.column < column {
            return Ok(false);
        }
        if self.column > column {
            return Err(UnsupportedYaml);
        }
        // A sequence may have the column of the mapping around it, whose next key ends it.
        Ok(self.is_at_dash())
    }

    /// Skips a node.
    pub(super) fn skip_over(&mut self, content: NodeContent<'de>) -> Result<()> {
        match content {
            NodeContent::Mapping(Some(column)) => self.nested(|reader| {
                while reader.next_key(column)?.is_some() {
                    if !reader.skip_plain(reader.at, column)? {
                        let value = reader.value(column)?;
                        reader.skip_over(value)?;
                    }
                }
                Ok(())
            }),
            NodeContent::Sequence(Some(column)) => self.nested(|reader| {
                while reader.has_next_item(column)? {
                    if !reader.skip_plain(reader.at + "-".len(), column)? {
                        let item = reader.item(column)?;
                        reader.skip_over(item)?;
                    }
                }
                Ok(())
            }),
            NodeContent::Scalar(_) | NodeContent::Mapping(None) | NodeContent::Sequence(None) => {
                Ok(())
            }
        }
    }

    /// Skips the rest of a line after a key or dash if it is a usual unquoted scalar. Returns whether
    /// it was: most lines that are skipped end like this.
    #[inline]
    fn skip_plain(&mut self, from: usize, parent: usize) -> Result<bool> {
        let start = self.marks.behind_spaces(from);
        let end = self.marks.end_of_plain(start);
        let is_usual = self.byte(start).is_some_and(|byte| byte.is_ascii_alphanumeric())
            && matches!(self.byte(end), None | Some(b'\n'));
        if is_usual {
            self.end_value(end, parent)?;
        }
        Ok(is_usual)
    }

    /// Reads what a collection contains.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(UnsupportedYaml);
        }
        self.depth += 1;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }
}

/// Removes spaces from the end.
fn trim_end(text: &str) -> &str {
    let mut end = text.len();
    while end > 0 && text.as_bytes()[end - 1] == b' ' {
        end -= 1;
    }
    &text[..end]
}
