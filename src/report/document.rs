//! Output for programs, in formats that escape their values.

use serde::Serialize;
use serde_json::Value;

use crate::base::text::credentials::{masked, masked_lines};
use crate::base::text::visible::visible_json;
use crate::setup::snapshot::client::SnapshotScope;
use crate::setup::snapshot::{Snapshot, rbac};

/// Output for a program. Its format escapes everything that acts on a terminal or CI runner, and it
/// contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub struct ReportDocument(String);

impl ReportDocument {
    /// Formats pretty-printed JSON with a final line feed.
    ///
    /// # Errors
    ///
    /// The value cannot be represented as JSON.
    pub fn json(value: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self(visible_json(&serde_json::to_string_pretty(&without_credentials(value)?)?) + "\n"))
    }

    /// Wraps sipgen's own text, such as a completion script, which contains no input.
    pub fn trusted(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Formats the RBAC objects that allow to take a snapshot. Names are escaped.
    pub fn rbac(scope: &SnapshotScope, known: Option<&Snapshot>) -> Self {
        Self(rbac(scope, known))
    }

    /// Wraps a document whose values are already escaped.
    pub(super) fn escaped(text: String) -> Self {
        Self(text)
    }
}

/// Formats JSON on one line, for embedding.
pub(super) fn json_inside(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(visible_json(&serde_json::to_string(&without_credentials(value)?)?))
}

fn without_credentials(value: &impl Serialize) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    mask(&mut value);
    Ok(value)
}

/// Masks credentials in the strings of a value.
fn mask(value: &mut Value) {
    match value {
        // A diff, which a program may apply. Its lines are already masked, and a URL query may be
        // the change.
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
