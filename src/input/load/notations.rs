//! Values that YAML can write in several notations.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use yaml_serde::Value;

use crate::base::text::yaml::scalar_text;

/// Removes the tags of keys, as kustomize does, and returns whether there was one: `! kind` is
/// `kind`.
///
/// # Errors
///
/// The reason why the keys are invalid without tags.
pub(super) fn untag_keys(value: &mut Value) -> Result<bool, &'static str> {
    let mut found = false;
    match value {
        Value::Mapping(mapping) => {
            for value in mapping.values_mut() {
                found |= untag_keys(value)?;
            }
            if mapping.keys().any(|key| matches!(key, Value::Tagged(_))) {
                found = true;
                for (key, value) in std::mem::take(mapping) {
                    let key = match key {
                        Value::Tagged(tagged) => tagged.value,
                        key => key,
                    };
                    if mapping.insert(key, value).is_some() {
                        return Err("duplicate key");
                    }
                }
            }
        }
        Value::Sequence(items) => {
            for item in items {
                found |= untag_keys(item)?;
            }
        }
        Value::Tagged(tagged) => found = untag_keys(&mut tagged.value)?,
        _ => {}
    }
    Ok(found)
}

/// Returns an object's kind in any notation.
pub(super) fn kind_of(object: &Value, text: &str) -> Option<String> {
    let kind = object.get("kind")?.as_str()?;
    // The parser does not decode values with the tag `!!binary`.
    let may_be_binary = memchr::memmem::find(text.as_bytes(), b"binary").is_some();
    let decoded = || String::from_utf8(BASE64_STANDARD.decode(kind).ok()?).ok();
    // Only a word can be a kind. Other text was not base64.
    let is_word = |text: &String| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(may_be_binary.then(decoded).flatten().filter(is_word).unwrap_or_else(|| kind.to_owned()))
}

/// Converts labels and annotations to texts: unquoted values such as `8` or `true` have already
/// become numbers and booleans here. Parsing from text keeps them as texts.
pub(super) fn labels_as_texts(value: &mut Value) {
    for field in ["labels", "annotations"] {
        let Some(Value::Mapping(map)) =
            value.get_mut("metadata").and_then(|metadata| metadata.get_mut(field))
        else {
            continue;
        };
        for value in map.values_mut() {
            if !value.is_string()
                && let Some(text) = scalar_text(value)
            {
                *value = Value::String(text);
            }
        }
    }
}
