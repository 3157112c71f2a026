//! Formats values as YAML text, for parts that did not exist in the document.

use std::net::Ipv4Addr;

use yaml_serde::Value;

/// Style of a collection: inline or JSON.
#[derive(Debug, Clone, Copy)]
pub(super) enum CollectionStyle {
    /// `{a: b, c: [d]}`
    Yaml,
    /// JSON on one line.
    JsonLine,
    /// JSON on several lines, with the indentation of the first line and of each level.
    JsonLines(usize, usize),
}

/// Formats a string, quoted if it would otherwise be another value.
pub(super) fn text(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    // YAML 1.1, and so kubectl's parser, reads these as booleans.
    let is_flag =
        ["y", "n", "yes", "no", "on", "off"].iter().any(|flag| text.eq_ignore_ascii_case(flag));
    let stays =
        || yaml_serde::from_str::<Value>(text).is_ok_and(|value| value.as_str() == Some(text));
    // YAML 1.1 may read plain digits as a base 60 number or a date.
    let is_plain =
        text.chars().any(|c| c.is_ascii_alphabetic()) || text.parse::<Ipv4Addr>().is_ok();
    if is_word && !is_flag && is_plain && stays() { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Formats a key of a mapping.
fn key(value: &Value, flow: CollectionStyle) -> String {
    match (value, flow) {
        (Value::String(key), CollectionStyle::Yaml) => text(key),
        (Value::String(key), _) => quoted(key),
        (other, _) => quoted(&scalar(other)),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(value) => text(value),
        other => quoted(&format!("{other:?}")),
    }
}

/// Formats a value in flow style.
pub(super) fn flow(value: &Value, style: CollectionStyle) -> String {
    let (line, space, inner) = match style {
        CollectionStyle::JsonLines(indent, step) => {
            let line = |indent: usize| format!("\n{}", " ".repeat(indent));
            (
                (line(indent + step), line(indent)),
                "",
                CollectionStyle::JsonLines(indent + step, step),
            )
        }
        one_line => ((String::new(), String::new()), " ", one_line),
    };
    let wrapped = |open: char, items: Vec<String>, close: char| {
        if items.is_empty() {
            return format!("{open}{close}");
        }
        let ((first, last), between) =
            (&line, if space.is_empty() { format!(",{}", line.0) } else { ", ".to_owned() });
        format!("{open}{first}{}{last}{close}", items.join(&between))
    };
    match (value, style) {
        (Value::Mapping(map), _) => {
            let entry = |(name, value): (&Value, &Value)| {
                format!("{}: {}", key(name, style), flow(value, inner))
            };
            wrapped('{', map.iter().map(entry).collect(), '}')
        }
        (Value::Sequence(items), _) => {
            wrapped('[', items.iter().map(|item| flow(item, inner)).collect(), ']')
        }
        (Value::String(text), CollectionStyle::JsonLine | CollectionStyle::JsonLines(..)) => {
            quoted(text)
        }
        (other, _) => scalar(other),
    }
}

/// Formats an entry as a block that starts at column `column`, without the indentation of its first
/// line.
pub(super) fn block(name: &str, value: &Value, column: usize) -> String {
    let indent = " ".repeat(column + 2);
    let name = text(name);
    let lines: Vec<String> = match value {
        Value::Mapping(map) if !map.is_empty() => {
            let entry = |(name, value): (&Value, &Value)| match name {
                Value::String(name) => format!("{indent}{}", block(name, value, column + 2)),
                other => format!(
                    "{indent}{}: {}",
                    key(other, CollectionStyle::Yaml),
                    flow(value, CollectionStyle::Yaml)
                ),
            };
            map.iter().map(entry).collect()
        }
        Value::Sequence(items) if !items.is_empty() => items
            .iter()
            .map(|item| format!("{indent}- {}", flow(item, CollectionStyle::Yaml)))
            .collect(),
        other => return format!("{name}: {}", flow(other, CollectionStyle::Yaml)),
    };
    format!("{name}:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_what_it_was() {
        let texts = [
            "worker", "8", "on", "NO", "1e3", "0x1f", "12:30:45", "a: b", "#x", "", " x", "a/b.c",
            "null", "é",
        ];
        let list: Value = texts.iter().copied().map(Value::from).collect::<Vec<_>>().into();
        let map = Value::Mapping(
            texts.iter().map(|text| (Value::from(*text), Value::from(*text))).collect(),
        );
        let whole = Value::Mapping(
            [("list".into(), list), ("map".into(), map), ("n".into(), 3.into())]
                .into_iter()
                .collect(),
        );
        for style in
            [CollectionStyle::Yaml, CollectionStyle::JsonLine, CollectionStyle::JsonLines(0, 2)]
        {
            let text = flow(&whole, style);
            assert_eq!(yaml_serde::from_str::<Value>(&text).unwrap(), whole, "{text}");
        }
        serde_json::from_str::<serde_json::Value>(&flow(&whole, CollectionStyle::JsonLines(4, 4)))
            .unwrap();
        let text = format!("   {}", block("whole", &whole, 3));
        assert_eq!(yaml_serde::from_str::<Value>(&text).unwrap()["whole"], whole, "{text}");
    }

    #[test]
    fn what_only_old_readers_take_for_something_else_is_quoted() {
        for word in ["yes", "off", "N", "8", "010", "12:30:45", "2021-01-05"] {
            assert!(text(word).starts_with('"'), "{word}");
        }
    }
}
