//! The objects in a file that a kustomization lists.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use granit_parser::{Event, Parser, ScalarStyle};
use yaml_serde::{Mapping, Value};

use super::budget::size;
use super::object::{BuildObject, set_at, text_at, value_at};
use crate::base::api::host::{self, BareMetalHost};
use crate::base::finding::Place;
use crate::base::text::yaml::bounded;
use crate::input::load::foreign_format::{WHOLLY_ENCRYPTED, foreign_format};
use crate::input::load::{Files, objects};

/// A file with its objects.
pub(super) struct ResourceFile {
    pub(super) text: Arc<str>,
    pub(super) objects: Vec<BuildObject>,
    /// The memory of the objects in bytes.
    pub(super) bytes: usize,
    /// The reason why kustomize refuses the file, and its place.
    pub(super) refused: Option<(String, Place)>,
    /// Set if it is a host or request that is refused, which has a finding of its own.
    pub(super) is_reported: bool,
    /// Set if the file has content that could not be parsed into objects.
    pub(super) is_partial: bool,
}

impl ResourceFile {
    /// Reads a file, and returns it under its path; `None` if it has no text. If the objects are not
    /// changed, only their ids are kept.
    pub(super) fn read(
        repo: &Files,
        path: &Utf8Path,
        vital_kinds: &[&str],
        is_changed: bool,
    ) -> Option<(Utf8PathBuf, Self)> {
        let decoded = repo.text(path);
        let is_binary = decoded.is_none() && repo.read(path).is_ok();
        let text: Arc<str> = Arc::from(decoded.or(is_binary.then(String::new))?);
        let file: Arc<Utf8Path> = Arc::from(path);
        let mut read = ResourceFile {
            text: text.clone(),
            objects: Vec::new(),
            bytes: 0,
            refused: unlike_go(&text).map(|(why, at)| {
                let line = text[..at].matches('\n').count() + 1;
                (why.to_owned(), Place::Spot(file.clone(), line, None))
            }),
            is_reported: false,
            is_partial: false,
        };
        if is_binary {
            read.refuse("it is not UTF-8".to_owned(), Place::File(file.clone()));
        }
        for document in objects(&file, &text) {
            match document.parse::<Value>() {
                Ok(Value::Mapping(object)) if object.is_empty() => {}
                Ok(Value::Mapping(object)) => {
                    let incomplete = no_resource(&object);
                    let is_complete = incomplete.is_none();
                    if let Some(why) = incomplete.or_else(|| not_json(&object)) {
                        let is_vital =
                            document.kind().is_some_and(|kind| vital_kinds.contains(&kind));
                        // Fields of a host that sipgen does not read have no finding of their own.
                        let is_unread = is_complete
                            && document.kind() == Some(host::KIND)
                            && document.parse::<BareMetalHost>().is_ok();
                        read.is_reported |= is_vital && !is_unread && read.refused.is_none();
                        read.refuse(why, document.origin.start());
                    }
                    let kept = Value::Mapping(if is_changed { object } else { id_fields(&object) });
                    read.bytes += size(&kept, 0).unwrap_or_default();
                    if let Value::Mapping(object) = kept {
                        read.objects.push(BuildObject::new(document.origin.clone(), object));
                    }
                }
                // kustomize skips an empty document, and an empty list.
                Ok(Value::Null) => {}
                Ok(Value::Sequence(items)) if items.is_empty() => {}
                Ok(_) => read.refuse(NO_KIND.to_owned(), document.origin.start()),
                Err(error) => {
                    read.is_partial = true;
                    // kustomize has other limits, and Go reads integers of more than 64 bits.
                    let may_be_read = bounded::check(document.text()).is_err()
                        || error.message.contains("invalid type");
                    if !may_be_read {
                        // The parser's message may quote a secret.
                        let is_duplicate = error.message.contains("duplicate");
                        let why = if is_duplicate { "a key is duplicated" } else { "invalid YAML" };
                        let line = error.line.unwrap_or(document.origin.first_line);
                        read.refuse(why.to_owned(), Place::Spot(file.clone(), line, error.column));
                    }
                }
            }
        }
        if read.refused.is_some()
            && let Some((format, _)) = repo.read(&file).ok().as_deref().and_then(foreign_format)
        {
            read.refused = Some((format.to_owned(), Place::File(file)));
        }
        Some((path.to_owned(), read))
    }

    fn refuse(&mut self, why: String, place: Place) {
        self.refused.get_or_insert((why, place));
    }
}

const NO_KIND: &str = "an object has no `kind`";

/// Returns why kustomize does not accept an object.
pub(super) fn no_resource(object: &Mapping) -> Option<String> {
    let kind = text_at(object, &["kind"]).filter(|kind| !kind.is_empty());
    let Some(kind) = kind else {
        let is_encrypted = object.contains_key("sops");
        return Some((if is_encrypted { WHOLLY_ENCRYPTED } else { NO_KIND }).to_owned());
    };
    let is_list = kind.ends_with("List");
    let items = object.get("items").filter(|items| is_list && !items.is_null());
    let is_ignored = |items: &Value| match items {
        Value::Sequence(_) => true,
        Value::Mapping(items) => items.is_empty() && kind == "List",
        _ => kind == "List",
    };
    if items.is_some_and(|items| !is_ignored(items)) {
        return Some(format!("`items` of a {kind} must be a list"));
    }
    let has_name = text_at(object, &["metadata", "name"]).is_some_and(|name| !name.is_empty());
    (!has_name && !is_list).then(|| format!("a {kind} has no `metadata.name`"))
}

/// Returns why kustomize cannot print an object. It prints through JSON.
fn not_json(object: &Mapping) -> Option<String> {
    object.iter().find_map(|(key, value)| match key {
        Value::String(_) => not_json_value(value),
        _ => Some("a key is not a string".to_owned()),
    })
}

fn not_json_value(value: &Value) -> Option<String> {
    match value {
        Value::Mapping(inner) => not_json(inner),
        Value::Sequence(items) => items.iter().find_map(not_json_value),
        Value::Number(it) if !it.is_finite() => Some(format!("`{it}` has no form in JSON")),
        _ => None,
    }
}

/// Returns the fields that decide an object's id.
fn id_fields(object: &Mapping) -> Mapping {
    let mut kept = Mapping::new();
    let routes: [&[&str]; 4] =
        [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    for route in routes {
        if let Some(value) = value_at(object, route) {
            set_at(&mut kept, route, value.clone());
        }
    }
    kept
}

/// Returns where Go's YAML parser fails although others do not, and the reason. kustomize splits a
/// text at `---` before it parses.
fn unlike_go(text: &str) -> Option<(&'static str, usize)> {
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    for (index, part) in text.split("\n---").enumerate() {
        let separated = (index > 0).then(|| part.split_once('\n').unwrap_or((part, "")));
        let (rest, body) = separated.unwrap_or(("", part));
        if !rest.trim().is_empty() && !rest.trim().starts_with('#') {
            return Some(("a line `---` has more than a comment", offset(rest)));
        }
        let is_content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
        match body.split_inclusive('\n').find(is_content) {
            Some(line) if line.starts_with('%') => {
                return Some(("kustomize reads no directives such as `%YAML`", offset(line)));
            }
            Some(line) if line.starts_with("...") => {
                return Some(("a line `...` ends no document", offset(line)));
            }
            _ => {}
        }
    }
    unknown_escape(text).map(|at| ("an escape is valid in JSON only", at))
}

/// Returns the offset of a text with `\/`, or with a surrogate such as `\ud83d`.
fn unknown_escape(text: &str) -> Option<usize> {
    let is_unknown = |escape: &str| {
        let mut code = escape.bytes().map(|byte| byte.to_ascii_lowercase());
        match code.next() {
            Some(b'u') => code.next() == Some(b'd') && code.next() >= Some(b'8'),
            first => first == Some(b'/'),
        }
    };
    text.split('\\').skip(1).any(is_unknown).then_some(())?;
    Parser::new_from_str(text).map_while(Result::ok).find_map(|(event, span)| {
        let (Event::Scalar(_, ScalarStyle::DoubleQuoted, ..), range) = (event, span.byte_range()?)
        else {
            return None;
        };
        // An escaped backslash begins no escape.
        let scalar = text.get(range.clone())?.replace("\\\\", "");
        scalar.split('\\').skip(1).any(is_unknown).then_some(range.start)
    })
}
