//! Formats values as block YAML, one key per line, so that a diff shows exactly what changed.

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use crate::base::text::visible::json_as_yaml;

/// Formats the value of a key: the filter `block`.
///
/// Entries of mappings and lists are on separate indented lines. Scalars are JSON, as in all
/// generated YAML.
pub(super) fn block(value: &Value, indentation: usize) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, "there is no such value"));
    }
    let mut text = String::new();
    write(&mut text, value, indentation)?;
    Ok(Value::from_safe_string(text))
}

/// Formats a value from generated data, starting at the beginning of a line.
pub(super) fn block_of(value: serde_json::Value) -> String {
    let mut text = String::new();
    // Formatting fails only for values that JSON cannot hold.
    let _ = write(&mut text, &Value::from(Serde(value)), 0);
    text
}

/// Formats an object as a YAML document.
pub(crate) fn document_of(object: &serde_json::Value) -> String {
    format!("---{}\n", block_of(object.clone()))
}

fn write(text: &mut String, value: &Value, indentation: usize) -> Result<(), Error> {
    let is_empty = value.len() == Some(0);
    match value.kind() {
        ValueKind::Map if !is_empty => {
            for key in value.try_iter()? {
                new_line(text, indentation);
                text.push_str(&as_key(&key)?);
                text.push(':');
                write(text, &value.get_item(&key)?, indentation + 2)?;
            }
        }
        ValueKind::Seq | ValueKind::Iterable if !is_empty => {
            for item in value.try_iter()? {
                new_line(text, indentation);
                let mut entry = String::new();
                write(&mut entry, &item, indentation + 2)?;
                text.push_str("- ");
                text.push_str(entry.trim_start());
            }
        }
        _ => {
            text.push(' ');
            text.push_str(&json(value)?);
        }
    }
    Ok(())
}

fn new_line(text: &mut String, indentation: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indentation));
}

/// Formats a key, without quotes if every YAML parser reads it as text.
fn as_key(key: &Value) -> Result<String, Error> {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let is_plain = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !WORDS.contains(&text.to_ascii_lowercase().as_str())
    };
    match key.as_str() {
        Some(text) if is_plain(text) => Ok(text.to_owned()),
        _ => json(key),
    }
}

fn json(value: &Value) -> Result<String, Error> {
    let json = serde_json::to_string(value).map_err(|error| {
        Error::new(ErrorKind::BadSerialization, "a value cannot be written as YAML")
            .with_source(error)
    })?;
    Ok(json_as_yaml(&json).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_block(json: &str) -> String {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        block(&Value::from(Serde(value)), 2).unwrap().to_string()
    }

    #[test]
    fn every_key_has_a_line_of_its_own() {
        let text = as_block(
            r#"{"b": {"x": [{"p": 1, "q": [true]}, "s"]}, "a": "(&(x=y)'\"$)", "e": {}, "f": []}"#,
        );

        assert_eq!(
            text,
            "\n  a: \"(&(x=y)'\\\"$)\"\n  b:\n    x:\n      - p: 1\n        q:\n          - true\n      - \"s\"\n  e: {}\n  f: []"
        );
    }

    #[test]
    fn what_is_written_is_read_as_what_it_was() {
        let json = r#"{"on": "yes", "null": null, "1": "1", "a b": [[1, 2], [], {"k": {"l": "m: n # o"}}], "~": "\n\t"}"#;
        let expected: serde_json::Value = serde_json::from_str(json).unwrap();

        let read: serde_json::Value = yaml_serde::from_str(&as_block(json)).unwrap();

        assert_eq!(read, expected);
    }
}
