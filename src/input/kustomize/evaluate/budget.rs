//! Bounds of evaluations. Each patch, replacement and component can double what is there already.

use std::cell::Cell;

use yaml_serde::Value;

use super::{EvaluationError, StepResult};

/// The number of objects, fields and files that evaluations may pass over.
const MAX_STEPS: usize = 10_000_000;
/// The size of all values that evaluations may create, in bytes.
const MAX_BYTES: usize = 1 << 30;
/// The number of builds that may exceed these before they bound all others together.
pub(super) const MAX_TOO_LARGE: usize = 4;
/// The memory that a value takes in a mapping, without its text, in bytes.
pub(super) const VALUE_BYTES: usize = 128;
/// The nesting of a value that is copied. Parsed values are less nested.
const MAX_NESTING: usize = 256;

/// The steps and bytes that are used.
#[derive(Debug, Default)]
pub(super) struct BuildBudget {
    steps: Cell<usize>,
    bytes: Cell<usize>,
}

impl BuildBudget {
    /// Counts steps.
    pub(super) fn step(&self, count: usize) -> StepResult {
        let used = self.steps.get().saturating_add(count);
        self.steps.set(used);
        if used <= MAX_STEPS {
            return Ok(());
        }
        let millions = MAX_STEPS / 1_000_000;
        Err(EvaluationError::TooLarge(format!("it takes more than {millions} million steps")))
    }

    /// Counts bytes of new values.
    pub(super) fn allocate(&self, bytes: usize) -> StepResult {
        let used = self.bytes.get().saturating_add(bytes);
        self.bytes.set(used);
        if used <= MAX_BYTES {
            return Ok(());
        }
        let mebibytes = MAX_BYTES >> 20;
        Err(EvaluationError::TooLarge(format!("its objects take more than {mebibytes} MiB")))
    }

    /// Counts a value that is about to be copied.
    pub(super) fn copy(&self, value: &Value) -> StepResult {
        let too_deep = || format!("it nests values more than {MAX_NESTING} deep");
        self.allocate(size(value, 0).ok_or_else(|| EvaluationError::TooLarge(too_deep()))?)
    }
}

/// Returns the approximate memory of a value in bytes; `None` if it is nested too deeply.
pub(super) fn size(value: &Value, depth: usize) -> Option<usize> {
    if depth > MAX_NESTING {
        return None;
    }
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Sequence(items) => {
            items.iter().try_fold(0, |sum, item| Some(sum + size(item, depth + 1)?))?
        }
        Value::Mapping(mapping) => mapping.iter().try_fold(0, |sum, (key, value)| {
            Some(sum + size(key, depth + 1)? + size(value, depth + 1)?)
        })?,
        Value::Tagged(tagged) => size(&tagged.value, depth + 1)?,
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    Some(VALUE_BYTES + inner)
}
