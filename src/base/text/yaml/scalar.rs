//! Scalars and their values.

use std::borrow::Cow;

use serde::de::{Deserializer, Error, Visitor};

use super::{Result, UnsupportedYaml};

#[derive(Clone, Copy)]
pub(super) enum Scalar<'de> {
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
pub(super) struct Literal<'de> {
    pub(super) lines: &'de str,
    pub(super) indent: u32,
    pub(super) chomping: Chomping,
}

/// The treatment of line breaks at the end of a block scalar.
#[derive(Clone, Copy)]
pub(super) enum Chomping {
    Strip,
    /// All but one are removed.
    Clip,
    Keep,
}

impl<'de> Scalar<'de> {
    pub(super) fn text(self) -> Cow<'de, str> {
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
    pub(super) fn is_null(self) -> bool {
        matches!(self, Scalar::Plain("" | "~" | "null" | "Null" | "NULL"))
    }

    pub(super) fn visit_text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.text() {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Visits the scalar as the type that its text has.
    pub(super) fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
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
            return visitor.visit_u64(text.parse().map_err(|_| UnsupportedYaml)?);
        }
        if let Ok(number) = text.parse::<yaml_serde::Number>() {
            return number.deserialize_any(visitor).map_err(UnsupportedYaml::custom);
        }
        // Integers of more than 64 bits have a type of their own.
        let is_digit = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'o');
        if text.len() > "0xffffffffffffffff".len() && text.bytes().skip(1).all(is_digit) {
            return Err(UnsupportedYaml);
        }
        self.visit_text(visitor)
    }
}

impl Literal<'_> {
    fn text(self) -> String {
        let mut text = String::with_capacity(self.lines.len());
        let indent = self.indent as usize;
        for line in self.lines.split_inclusive('\n') {
            let content = line.trim_end_matches('\n');
            // A blank line may be shorter than the indentation.
            text.push_str(content.get(indent..).unwrap_or_default());
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
