//! Replacements: values that kustomizations copy from object to object.

use serde::Deserialize;
use yaml_serde::Value;

use super::budget::BuildBudget;
use super::field_path::{FieldPathWalk, is_scalar, lookup, plain, split};
use super::json_patch::is_written_by_output;
use super::object::{BuildObject, Id, scalar_text};
use super::references::is_selected;
use super::selector::{Selector, text};
use super::{EvaluationError, StepResult, defer, refuse};
use crate::base::api::kustomization::PatchTarget;
use crate::base::finding::{Place, RouteStep};

/// An entry of `replacements`, or of a file that an entry names.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    source: Option<ReplacementSource>,
    source_value: Option<String>,
    targets: Option<Vec<ReplacementTarget>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplacementSource {
    #[serde(flatten)]
    of: PatchTarget,
    #[serde(default)]
    field_path: String,
    #[serde(default)]
    options: FieldOptions,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReplacementTarget {
    select: Option<PatchTarget>,
    reject: Vec<PatchTarget>,
    field_paths: Vec<String>,
    options: FieldOptions,
}

/// Options that restrict a replacement to a part of a text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct FieldOptions {
    delimiter: String,
    index: i64,
    create: bool,
}

/// A source value. Without a delimiter, also the position of the source object and the value's path
/// there.
type SourceValue = (Value, Option<(usize, Vec<String>)>);

/// Limit on the parts of a path. Each replacement could nest a value deeper.
const MAX_PARTS: usize = 128;

/// Default of `fieldPath`.
pub(super) const NAME: &str = "metadata.name";

impl Replacement {
    /// Copies the source value to all targets.
    pub(super) fn apply(
        &self,
        objects: &mut [BuildObject],
        place: &Place,
        budget: &BuildBudget,
    ) -> StepResult {
        let Some(targets) = &self.targets else { return refuse("a replacement has no targets") };
        budget.step(objects.len())?;
        let (first, from) = self.source_value(objects)?;
        budget.copy(&first)?;
        for to in targets {
            budget.step(1 + objects.len())?;
            let default = [NAME.to_owned()];
            let paths = if to.field_paths.is_empty() { &default } else { &*to.field_paths };
            for index in to.selected(objects)? {
                for path in paths {
                    // kustomize reads the value again for each target, because the source may
                    // itself be a target.
                    let from = from.as_ref();
                    let now = from.and_then(|(at, path)| lookup(&objects[*at].value, path));
                    let value = now.unwrap_or(&first);
                    budget.copy(value)?;
                    let value = value.clone();
                    to.set(&mut objects[index], path, &value, place, budget)?;
                }
            }
        }
        Ok(())
    }

    fn source_value(&self, objects: &[BuildObject]) -> StepResult<SourceValue> {
        let source = match (&self.source, &self.source_value) {
            (Some(source), None) => source,
            (None, Some(value)) => return Ok((Value::from(value.as_str()), None)),
            _ => return refuse("a replacement must have either `source` or `sourceValue`"),
        };
        let is_meant =
            |(_, object): &(usize, &BuildObject)| object.ids().iter().any(|id| source.is(id));
        let mut found = objects.iter().enumerate().filter(is_meant);
        let (Some((index, object)), None) = (found.next(), found.next()) else {
            return refuse("the source of a replacement must match one object");
        };
        let path = if source.field_path.is_empty() { NAME } else { &source.field_path };
        let parts = split(path);
        let Some(value) = lookup(&object.value, &parts).filter(|value| !is_empty(value)) else {
            return refuse(format!("the source of a replacement has no `{path}`"));
        };
        let is_whole = source.options.delimiter.is_empty();
        Ok((source.options.select(value)?, is_whole.then_some((index, parts))))
    }

    /// Returns whether a field that overlays and components of the output write decides if it
    /// applies.
    pub(super) fn needs_output(&self) -> bool {
        let source = self.source.iter().map(|source| &source.field_path);
        let targets = self.targets.iter().flatten().flat_map(|to| &to.field_paths);
        let mut paths = source.chain(targets).map(|path| format!("/{}", split(path).join("/")));
        paths.any(|path| is_written_by_output(&path))
    }

    /// Returns whether an object may be a target. An unreadable selector counts as a match.
    pub(super) fn may_be_for(&self, object: &BuildObject) -> bool {
        let selects = |to: &ReplacementTarget| {
            let selector = to.select.as_ref().map(Selector::new).transpose();
            selector.map_or(true, |selector| {
                selector.is_some_and(|select| object.ids().iter().any(|id| select.selects_id(id)))
            })
        };
        self.targets.iter().flatten().any(selects)
    }
}

impl ReplacementSource {
    fn is(&self, id: &Id) -> bool {
        let of = &self.of;
        let [group, version, kind, name, namespace] =
            [&of.group, &of.version, &of.kind, &of.name, &of.namespace].map(text);
        let wanted = Id::new("", [kind, name, namespace].map(str::to_owned));
        is_selected(id, [group, version, kind])
            && (name.is_empty() || name == id.name)
            && (namespace.is_empty() || wanted.effective_namespace() == id.effective_namespace())
    }
}

impl FieldOptions {
    /// Returns the part of a value that the options select.
    fn select(&self, value: &Value) -> StepResult<Value> {
        if self.delimiter.is_empty() {
            return Ok(value.clone());
        }
        let text = scalar_text(value).ok_or_else(no_parts)?;
        let index = usize::try_from(self.index).ok();
        match index.and_then(|index| text.split(&self.delimiter).nth(index)) {
            Some(part) => retyped(value, part),
            None => refuse(format!("`{text}` has no part {}", self.index)),
        }
    }

    /// Returns `old` with the selected part replaced by `new`.
    fn with(&self, old: &Value, new: &Value) -> StepResult<Value> {
        if self.delimiter.is_empty() {
            return if is_scalar(old) {
                retyped(old, &scalar_text(new).unwrap_or_default())
            } else {
                Ok(new.clone())
            };
        }
        let text = if old.is_null() { Some(String::new()) } else { scalar_text(old) }
            .ok_or_else(no_parts)?;
        let new = scalar_text(new).unwrap_or_default();
        let mut parts: Vec<&str> = text.split(&self.delimiter).collect();
        match usize::try_from(self.index) {
            // A negative index prepends, as in kustomize.
            Err(_) => parts.insert(0, &new),
            Ok(index) => match parts.get_mut(index) {
                Some(part) => *part = &new,
                None => parts.push(&new),
            },
        }
        retyped(old, &parts.join(&self.delimiter))
    }
}

impl ReplacementTarget {
    /// Returns the positions of the objects that it selects.
    fn selected(&self, objects: &[BuildObject]) -> StepResult<Vec<usize>> {
        let Some(select) = &self.select else {
            return refuse("a target of a replacement has no `select`");
        };
        let select = Selector::new(select)?;
        let reject = self.reject.iter().map(Selector::new).collect::<Result<Vec<_>, _>>()?;
        let is_selected = |index: &usize| {
            let object = &objects[*index];
            let ids = object.ids();
            select.selects_by_labels(object)
                && !reject.iter().any(|reject| reject.rejects(object, &ids))
                && ids.iter().any(|id| select.selects_id(id))
        };
        Ok((0..objects.len()).filter(is_selected).collect())
    }

    fn set(
        &self,
        object: &mut BuildObject,
        path: &str,
        value: &Value,
        place: &Place,
        budget: &BuildBudget,
    ) -> StepResult {
        let parts = split(path);
        if parts.len() > MAX_PARTS {
            return defer(format!("a path of a replacement has more than {MAX_PARTS} parts"));
        }
        let mut found: Vec<(Vec<RouteStep>, bool)> = Vec::new();
        let mut count = 0;
        let set = |old: &mut Value, route: &[RouteStep], is_new: bool| {
            count += 1;
            budget.step(1)?;
            budget.copy(value)?;
            if !self.options.delimiter.is_empty() {
                budget.copy(old)?;
            }
            // A created field gets the type that its text has in YAML.
            let new = match (is_new, scalar_text(value)) {
                (true, Some(_)) => {
                    let text = self.options.with(&Value::from(""), value)?;
                    plain(&scalar_text(&text).unwrap_or_default())
                }
                (true, None) if self.options.delimiter.is_empty() => value.clone(),
                (true, None) => return Err(no_parts()),
                (false, _) => self.options.with(old, value)?,
            };
            if *old != new {
                found.push((route.to_vec(), !is_new));
            }
            *old = new;
            Ok(())
        };
        let mut walk = FieldPathWalk { create: self.options.create, route: Vec::new(), set };
        object.change(|whole| walk.at(whole, &parts, false))?;
        if count == 0 {
            return refuse(format!("a target of a replacement has no `{path}`"));
        }
        if is_scalar(value) {
            let new = found.iter().filter(|(_, replaces)| !replaces);
            object.untyped.extend(new.map(|(route, _)| route.clone()));
        }
        object.note_all(found, place, false, budget)
    }
}

fn no_parts() -> EvaluationError {
    EvaluationError::Refused("`delimiter` requires a scalar".to_owned())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Mapping(mapping) => mapping.is_empty(),
        Value::Sequence(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns a text with the type of another value.
fn retyped(like: &Value, text: &str) -> StepResult<Value> {
    let value = if like.is_string() { Value::from(text) } else { plain(text) };
    match (like, &value) {
        (Value::String(_), _)
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_)) => Ok(value),
        (Value::Null, _) => defer("the target field of a replacement is null"),
        // kustomize notices this only when it reads the value, which may be never.
        _ => defer(format!("`{text}` has another type than the value that it replaces")),
    }
}
