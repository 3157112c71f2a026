//! A document of a file, and its parsing.

use regex::Regex;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use yaml_serde::Value;

use super::parse_error::{ParseError, parse_json, parse_yaml};
use crate::base::finding::position::{DocumentShape, Origin};
use crate::base::text::static_regex;

/// An object in a file, not yet parsed.
pub struct Document<'a> {
    /// The object's position.
    pub origin: Origin,
    pub(super) kind: Option<String>,
    pub(super) text: &'a str,
    pub(super) content: DocumentContent,
}

pub(super) enum DocumentContent {
    /// The text is a whole YAML document, or a sequence of one item.
    Yaml,
    Json,
    /// A part of a document that had to be parsed as a whole, and that has the text.
    Value(Box<yaml_serde::Value>),
    /// The text is neither YAML nor JSON.
    Broken(ParseError),
}

impl<'a> Document<'a> {
    /// Returns the document that a build made of a document with this text.
    pub(crate) fn from_value(origin: Origin, value: Value, text: &'a str) -> Self {
        let kind = value.get("kind").and_then(Value::as_str).map(str::to_owned);
        Document { origin, kind, text, content: DocumentContent::Value(Box::new(value)) }
    }
}

impl Document<'_> {
    /// Returns the object's kind, if any.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// Returns whether it is an object: it has a `kind` or an `apiVersion`.
    pub(super) fn is_object(&self) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct VersionProbe {
            api_version: Option<IgnoredAny>,
        }
        self.kind.is_some()
            || self.broken().is_none()
                && self.parse::<VersionProbe>().is_ok_and(|head| head.api_version.is_some())
    }

    /// Parses the whole document, and marks it as broken if that fails. A document above a size
    /// limit stays as it is.
    pub(super) fn read_to_its_end(&mut self) {
        if matches!(self.content, DocumentContent::Yaml)
            && let Err(error) = self.parse::<IgnoredAny>()
            // Errors about limits have no line.
            && error.line.is_some()
        {
            self.content = DocumentContent::Broken(error);
        }
    }

    /// Returns the syntax error of this document, if it is neither valid YAML nor JSON.
    pub fn broken(&self) -> Option<&ParseError> {
        match &self.content {
            DocumentContent::Broken(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the text contains `{{` or `{%`. It is then probably a template, which may
    /// fail to parse or parse to nonsense.
    pub fn looks_like_template(&self) -> bool {
        let text = self.text().as_bytes();
        memchr::memchr_iter(b'{', text).any(|at| matches!(text.get(at + 1), Some(b'{' | b'%')))
    }

    /// Returns whether the text contains one of the kinds as a value of `kind`, in YAML or JSON.
    /// For text that does not parse.
    pub fn mentions_kind(&self, kinds: &[&str]) -> bool {
        let is_named = |value: &str| kinds.iter().any(|kind| value.starts_with(kind));
        let key = static_regex!(r#"kind["'\s]*:["'\s]*"#);
        key.find_iter(self.text()).any(|key| is_named(&self.text()[key.end()..]))
    }

    /// Returns the unquoted value after a key on the same line, anywhere in the text. For text that
    /// does not parse.
    pub fn scalar_of(&self, key: &str) -> Option<&str> {
        let key = regex::escape(key);
        // The match must not be the end of a longer key.
        let entry = format!(r#"(?:^|[^A-Za-z0-9_./-]){key}["']*\s*:\s*["']*([^\s"',}}]+)"#);
        let entry = Regex::new(&entry).ok()?;
        let mut lines = self.text().lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.find_map(|line| Some(entry.captures(line)?.get(1)?.as_str()))
    }

    /// Returns whether the text contains one of some words, or a build has changed it and may have
    /// added one.
    pub fn mentions(&self, words: &[&str]) -> bool {
        let is_changed =
            self.origin.delivered().is_some_and(|delivered| !delivered.given.is_empty());
        is_changed
            || words
                .iter()
                .any(|word| memchr::memmem::find(self.text().as_bytes(), word.as_bytes()).is_some())
    }

    /// Returns the comment lines that start in the first column.
    pub fn comments(&self) -> impl Iterator<Item = &str> {
        let text = self.text();
        let marks = memchr::memchr_iter(b'#', text.as_bytes());
        let starts = marks.filter(|&at| at == 0 || text.as_bytes()[at - 1] == b'\n');
        starts.filter_map(|at| text[at..].lines().next())
    }

    /// Returns the source file that kustomize names in the annotation
    /// `config.kubernetes.io/origin`.
    pub(super) fn annotated_origin(&self) -> Option<&str> {
        let (_, behind) = self.text().split_once("config.kubernetes.io/origin: |")?;
        let mut lines = behind.lines().skip(1).map(str::trim);
        // An object from a remote base has a line `repo:`, and no file in this repo.
        let line = lines.next()?;
        let named = line.strip_prefix("path: ").or_else(|| line.strip_prefix("configuredIn: "))?;
        (!lines.next().is_some_and(|line| line.starts_with("repo: "))).then_some(named)
    }

    /// Returns the document's text; for a list item, the item's text.
    pub fn text(&self) -> &str {
        self.text
    }

    /// Parses the object as a type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ParseError> {
        let text = self.text;
        let parsed = match &self.content {
            DocumentContent::Yaml if self.origin.shape == DocumentShape::ListItem => {
                parse_yaml::<[T; 1]>(text).map(|[item]| item)
            }
            DocumentContent::Yaml => parse_yaml(text),
            DocumentContent::Json => parse_json(text),
            DocumentContent::Value(value) => yaml_serde::from_value((**value).clone())
                .map_err(|error| ParseError::new("", &error.to_string(), None)),
            DocumentContent::Broken(error) => return Err(error.clone()),
        };
        parsed.map_err(|error| self.in_file(error))
    }

    /// Parses an object of Kubernetes, where a field that is null is absent.
    pub(crate) fn parse_object<T: DeserializeOwned>(&self) -> Result<T, ParseError> {
        self.parse().or_else(|error| match self.parse::<Value>() {
            Ok(mut value) => {
                remove_nulls(&mut value);
                yaml_serde::from_value(value).map_err(|_| error)
            }
            Err(_) => Err(error),
        })
    }

    /// Parses the text as a type that accepts more than usual, such as duplicate keys.
    pub(crate) fn parse_leniently<T: DeserializeOwned>(&self) -> Result<T, ParseError> {
        match &self.content {
            DocumentContent::Broken(_) => {
                parse_yaml(self.text).map_err(|error| self.in_file(error))
            }
            _ => self.parse(),
        }
    }

    fn in_file(&self, error: ParseError) -> ParseError {
        ParseError { line: error.line.map(|line| line + self.origin.first_line - 1), ..error }
    }
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Mapping(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Sequence(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
