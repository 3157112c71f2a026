//! Results for programs, in forms that escape what they hold.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::snapshot::{Access, rbac};
use crate::text::credentials::{masked, masked_lines};
use crate::text::visible::visible_json;

/// A document for a program, to be printed as it is: its form escapes all that acts on a terminal or a CI runner, and no
/// credential is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(String);

impl Document {
    /// Returns JSON, pretty, with a line feed at its end.
    ///
    /// # Errors
    ///
    /// When a value cannot be JSON.
    pub fn json(value: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self(
            visible_json(&serde_json::to_string_pretty(&without_credentials(value)?)?) + "\n",
        ))
    }

    /// Takes what sipgen says of itself, such as a script for shells: nothing of an input is in it.
    pub fn of_sipgen(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Writes the RBAC objects that allow to take a snapshot. Their form escapes the names in them.
    pub fn of_rbac(access: &Access<'_>) -> Self {
        Self(rbac(access))
    }

    /// Takes a document whose form has escaped all that is in it.
    pub(super) fn escaped(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns JSON on one line, for a document that holds it.
pub(super) fn json_inside(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(visible_json(&serde_json::to_string(&without_credentials(
        value,
    )?)?))
}

fn without_credentials(value: &impl Serialize) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    mask(&mut value);
    Ok(value)
}

/// Masks the credentials in the texts of a value.
fn mask(value: &mut Value) {
    match value {
        // The lines of a diff, which a program applies: they are masked already, and a query may be what is written.
        Value::String(text) if text.contains('\n') => *text = masked_lines(text),
        Value::String(text) => *text = masked(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => {
            fields.values_mut().for_each(mask);
            if fields.keys().any(|name| masked(name) != *name) {
                *fields = fields
                    .iter()
                    .map(|(name, value)| (masked(name).into_owned(), value.clone()))
                    .collect();
            }
        }
        _ => {}
    }
}
