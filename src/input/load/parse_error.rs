//! Errors of parsers, in words and positions for messages.

use serde::de::DeserializeOwned;

use super::texts;
use crate::base::text::yaml::bounded::{self, TextLimitExceeded};
use crate::base::text::{static_regex, yaml};

/// The reason why a document is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The error message.
    pub message: String,
    /// The line in the file, from 1, if the parser reports one.
    pub line: Option<usize>,
    /// The column in the line, from 1.
    pub column: Option<usize>,
}

impl ParseError {
    /// Describes the error that a parser reports at a line and column of a text.
    pub(crate) fn new(text: &str, message: &str, location: Option<(usize, usize)>) -> Self {
        let mut message = in_plain_words(message);
        let mut location = location;
        if message.contains("duplicate") {
            // Parsers report the mapping, or the end of the key.
            location = location.map(|at| texts::duplicate_key(text, &message, at).unwrap_or(at));
        } else if let Some(line) =
            location.and_then(|(line, _)| text.lines().nth(line.checked_sub(1)?))
            && line.trim_start_matches(' ').starts_with('\t')
            && message.contains("cannot start any token")
        {
            "a tab indents the line".clone_into(&mut message);
        }
        ParseError {
            message,
            line: location.map(|(line, _)| line),
            column: location.map(|(_, column)| column),
        }
    }

    /// Describes an error of `yaml_serde`.
    pub(crate) fn in_yaml(text: &str, error: &yaml_serde::Error) -> Self {
        let location = error.location().map(|location| (location.line(), location.column()));
        Self::new(text, &error.to_string(), location)
    }

    /// Returns what to do about it.
    pub(crate) fn help(&self) -> &'static str {
        if self.message.contains("duplicate key") {
            "remove one of the two entries"
        } else if self.message.contains("a tab indents") {
            "indent with spaces: YAML allows no tabs there"
        } else {
            "fix the YAML syntax, or the type of the field"
        }
    }
}

pub(super) fn parse_yaml<T: DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    yaml::from_str(text).map_err(|error| match bounded::check(text) {
        Err(limit) => too_much(limit),
        Ok(()) => ParseError::in_yaml(text, &error),
    })
}

pub(super) fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    // serde_json limits nesting itself.
    bounded::not_too_large(text).and_then(|()| bounded::not_too_many(text)).map_err(too_much)?;
    serde_json::from_str(text).map_err(|error| {
        ParseError::new(text, &error.to_string(), Some((error.line(), error.column())))
    })
}

fn too_much(error: TextLimitExceeded) -> ParseError {
    ParseError { message: error.to_string(), line: None, column: None }
}

/// Removes positions and quoted values from a parser's message. The positions refer to a part of
/// the file, and the values may be secret.
pub(crate) fn in_plain_words(message: &str) -> String {
    // yaml_serde asks for the tag of an enum, which nobody writes.
    let words = message.replace("a YAML tag starting with '!'", "a text");
    let position = static_regex!(" at line [0-9]*(?: column [0-9]*)?");
    let words = position.replace_all(&words, "");
    // The value that serde quotes: `invalid type: string "x", expected a map`.
    let quoted_value =
        static_regex!(r#"(?s)(invalid (?:type|value): [^"`']*?)\s*["`'].*(, expected )"#);
    let mut words = quoted_value.replace(&words, "$1$2").into_owned();
    for introduction in ["duplicate entry with key \"", "duplicate key \"", "duplicate field `"] {
        if let Some((before, key)) = words.split_once(introduction) {
            // An item of a list is parsed as a list of one.
            let route = before.strip_prefix(".[0].").unwrap_or(before);
            words = format!("{route}duplicate key `{}`", key.trim_end_matches(['"', '`']));
        }
    }
    words
}
