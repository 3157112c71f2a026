//! YAML as Go's parser reads it: unquoted scalars have the types of YAML 1.1.

use granit_parser::{Event, Parser, ScalarStyle};
use yaml_serde::{Mapping, Value};

use crate::load::{OtherReading, read_by_others};
use crate::text::bounded;

/// The reason why a text has no objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("no YAML object")]
    Invalid,
    /// Valid, but with syntax that only substituted text has.
    #[error("YAML with anchors, tags or duplicate keys")]
    Unusual,
}

enum OpenCollection {
    Mapping(Mapping, Option<String>),
    Sequence(Vec<Value>),
}

/// Parses the first document of a text, which must be a mapping.
pub(super) fn parse(text: &str) -> Result<Mapping, Error> {
    bounded::check(text).map_err(|_| Error::Unusual)?;
    let mut open: Vec<OpenCollection> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|_| Error::Invalid)?;
        let value = match event {
            Event::MappingStart(_, anchor, tag) => {
                is_usual(anchor, tag.is_some())?;
                open.push(OpenCollection::Mapping(Mapping::new(), None));
                continue;
            }
            Event::SequenceStart(_, anchor, tag) => {
                is_usual(anchor, tag.is_some())?;
                open.push(OpenCollection::Sequence(Vec::new()));
                continue;
            }
            Event::Scalar(text, style, anchor, tag) => {
                is_usual(anchor, tag.is_some())?;
                if style == ScalarStyle::Plain {
                    plain(&text)
                } else {
                    Value::String(text.into_owned())
                }
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(OpenCollection::Mapping(mapping, _)) if open.is_empty() => return Ok(mapping),
                Some(OpenCollection::Mapping(mapping, _)) => Value::Mapping(mapping),
                Some(OpenCollection::Sequence(items)) => Value::Sequence(items),
                None => return Err(Error::Invalid),
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => return Err(Error::Unusual),
            Event::DocumentEnd => return Err(Error::Invalid),
            _ => continue,
        };
        match open.last_mut() {
            Some(OpenCollection::Sequence(items)) => items.push(value),
            Some(OpenCollection::Mapping(mapping, key)) => match (key.take(), value) {
                (None, Value::String(text)) if text != "<<" => *key = Some(text),
                (None, _) => return Err(Error::Unusual),
                (Some(key), value) => {
                    if mapping.insert(Value::from(key), value).is_some() {
                        return Err(Error::Unusual);
                    }
                }
            },
            None => return Err(Error::Invalid),
        }
    }
    Err(Error::Invalid)
}

fn is_usual(anchor: usize, has_tag: bool) -> Result<(), Error> {
    if anchor == 0 && !has_tag {
        Ok(())
    } else {
        Err(Error::Unusual)
    }
}

/// Returns the value of an unquoted scalar.
fn plain(text: &str) -> Value {
    match read_by_others(text) {
        _ if text.is_empty() => Value::Null,
        Some(OtherReading::Null) => Value::Null,
        Some(OtherReading::Switch | OtherReading::Boolean) => {
            Value::Bool(text.starts_with(['y', 'Y', 't', 'T']) || text.eq_ignore_ascii_case("on"))
        }
        Some(OtherReading::Number) => number(&text.replace('_', "")),
        Some(OtherReading::Date) | None => Value::from(text),
    }
}

fn number(text: &str) -> Value {
    let unsigned = text.trim_start_matches(['+', '-']);
    let prefixes = [
        ("0x", 16),
        ("0X", 16),
        ("0b", 2),
        ("0B", 2),
        ("0o", 8),
        ("0O", 8),
        ("0", 8),
    ];
    let based = prefixes.iter().find_map(|(prefix, base)| {
        let digits = unsigned.strip_prefix(prefix)?;
        i64::from_str_radix(digits, *base).ok()
    });
    let integer = based
        .map(|number| {
            if text.starts_with('-') {
                -number
            } else {
                number
            }
        })
        .or_else(|| text.parse().ok());
    if let Some(integer) = integer {
        return Value::from(integer);
    }
    if let Ok(large) = text.parse::<u64>() {
        return Value::from(large);
    }
    match text.parse::<f64>() {
        // JSON, in which Go keeps the object, has no other spelling for it.
        Ok(float) if float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
        Ok(float) => Value::from(float),
        Err(_) => Value::from(text),
    }
}
