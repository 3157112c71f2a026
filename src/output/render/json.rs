//! The filter `tojson`. Jump hosts apply it to several texts of each host, and most need no escape.

use minijinja::value::Kwargs;
use minijinja::{Error, Value, filters};

/// Formats a value as JSON, as minijinja's filter of this name.
pub(super) fn tojson(value: &Value, indent: Option<Value>, named: Kwargs) -> Result<Value, Error> {
    match plain(value) {
        Some(json) => Ok(Value::from_safe_string(json)),
        None => filters::tojson(value, indent, named),
    }
}

/// Returns a text without escapes as JSON.
pub(super) fn plain(value: &Value) -> Option<String> {
    let is_plain = |byte: u8| {
        matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | b'\'')
    };
    let text = value.as_str().filter(|text| text.bytes().all(is_plain))?;
    Some(["\"", text, "\""].concat())
}
