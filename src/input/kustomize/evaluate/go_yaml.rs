//! YAML as Go's parser reads and writes it: unquoted scalars have the types of YAML 1.1.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use granit_parser::{Event, Parser, ScalarStyle};
use yaml_serde::{Mapping, Value};

use crate::base::text::yaml::bounded;
use crate::input::load::{OtherReading, read_by_others};

/// The reason why a text has no objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("no YAML object")]
    Invalid,
    /// Valid, but with syntax that only substituted text has.
    #[error("YAML with anchors, tags or duplicate keys")]
    Unusual,
    /// A text that cannot be written.
    #[error("YAML with all characters of the private use area")]
    Unwritable,
}

/// Parses the first document of a text, which must be a mapping.
pub(super) fn parse_object(text: &str) -> Result<Mapping, Error> {
    match parse(text)? {
        Value::Mapping(object) => Ok(object),
        _ => Err(Error::Invalid),
    }
}

/// Parses the first document of a text, which must be a mapping or a list.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    bounded::check(text).map_err(|_| Error::Unusual)?;
    // The collections around the current event, each with the key that has no value yet.
    let mut open: Vec<(Value, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|_| Error::Invalid)?;
        if let Event::MappingStart(_, anchor, ref tag)
        | Event::SequenceStart(_, anchor, ref tag)
        | Event::Scalar(_, _, anchor, ref tag) = event
            && (anchor != 0 || tag.is_some())
        {
            return Err(Error::Unusual);
        }
        let value = match event {
            Event::MappingStart(..) => {
                open.push((Value::Mapping(Mapping::new()), None));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push((Value::Sequence(Vec::new()), None));
                continue;
            }
            Event::Scalar(text, style, ..) => {
                let is_key = matches!(open.last(), Some((Value::Mapping(_), None)));
                if style == ScalarStyle::Plain {
                    let error = if is_key { Error::Unusual } else { Error::Invalid };
                    plain(&text).ok_or(error)?
                } else if is_key && text == "<<" {
                    return Err(Error::Unusual);
                } else {
                    Value::String(text.into_owned())
                }
            }
            Event::MappingEnd | Event::SequenceEnd => open.pop().ok_or(Error::Invalid)?.0,
            Event::Alias(_) | Event::UnresolvedAlias(_) => return Err(Error::Unusual),
            Event::DocumentEnd => return Err(Error::Invalid),
            _ => continue,
        };
        match open.last_mut() {
            Some((Value::Sequence(items), _)) => items.push(value),
            Some((Value::Mapping(mapping), key)) => match (key.take(), value) {
                (None, Value::String(text)) => *key = Some(text),
                (None, _) => return Err(Error::Unusual),
                (Some(key), value) => {
                    if mapping.insert(Value::from(key), value).is_some() {
                        return Err(Error::Unusual);
                    }
                }
            },
            _ if value.is_mapping() || value.is_sequence() => {
                let mut merged = value;
                return merged.apply_merge().map(|()| merged).map_err(|_| Error::Unusual);
            }
            _ => return Err(Error::Invalid),
        }
    }
    Err(Error::Invalid)
}

/// Returns an object as Go writes it: like YAML 1.2, but texts that YAML 1.1 reads as other types have
/// quotes.
pub(super) fn to_text(object: &Mapping) -> Result<String, Error> {
    let write = |object: &Mapping| yaml_serde::to_string(object).map_err(|_| Error::Unwritable);
    let text = write(object)?;
    let used: HashSet<char> = text.chars().filter(|char| PRIVATE_USE.contains(char)).collect();
    let mut quote = PRIVATE_USE.filter(|char| !used.contains(char));
    let quote = quote.next().ok_or(Error::Unwritable)?;
    let marked = marked_mapping(object, quote);
    if marked == *object { Ok(text) } else { Ok(write(&marked)?.replace(quote, "\"")) }
}

const PRIVATE_USE: RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

/// Puts a character around each text that YAML 1.1 reads as another type.
fn marked(value: &Value, quote: char) -> Value {
    match value {
        Value::String(text) => marked_text(text, quote).unwrap_or_else(|| value.clone()),
        Value::Sequence(items) => items.iter().map(|item| marked(item, quote)).collect(),
        Value::Mapping(mapping) => marked_mapping(mapping, quote).into(),
        _ => value.clone(),
    }
}

fn marked_mapping(mapping: &Mapping, quote: char) -> Mapping {
    let entries = mapping.iter().map(|(key, value)| {
        let new = key.as_str().and_then(|text| marked_text(text, quote));
        (new.unwrap_or_else(|| key.clone()), marked(value, quote))
    });
    entries.collect()
}

fn marked_text(text: &str, quote: char) -> Option<Value> {
    let is_other = !text.is_empty() && plain(text).is_none_or(|value| !value.is_string());
    is_other.then(|| Value::from(format!("{quote}{text}{quote}")))
}

/// Returns the value of an unquoted scalar. JSON, in which Go keeps objects, has no infinity.
fn plain(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    Some(match read_by_others(text) {
        _ if text.is_empty() => Value::Null,
        Some(OtherReading::Null) => Value::Null,
        Some(OtherReading::Switch | OtherReading::Boolean) => {
            Value::Bool(text.starts_with(['y', 'Y', 't', 'T']) || text.eq_ignore_ascii_case("on"))
        }
        Some(OtherReading::Number) => number(&text.replace('_', "")),
        Some(OtherReading::Date) | None => Value::from(text),
    })
}

fn number(text: &str) -> Value {
    let unsigned = text.trim_start_matches(['+', '-']);
    let prefixes = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8), ("0", 8)];
    let based = prefixes.iter().find_map(|(prefix, base)| {
        let digits = unsigned.strip_prefix(prefix)?;
        i64::from_str_radix(digits, *base).ok()
    });
    let integer = based
        .map(|number| if text.starts_with('-') { -number } else { number })
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
