//! Variables of kustomizations (`vars`), which kustomize replaces at the end of a build.

use yaml_serde::Value;

use super::field_path::{lookup, split};
use super::object::{BuildObject, Id};
use super::replacement::NAME;
use super::{BuildEvaluation, BuildObjects, BuildResult, FailureAt, defer, refuse};
use crate::base::finding::Place;
use crate::input::kustomize::BuildNode;

/// A variable, with the field that has its value.
#[derive(Debug, Clone)]
pub(super) struct Var {
    name: String,
    field: String,
    place: Place,
}

impl BuildEvaluation<'_> {
    /// Adds the variables of a kustomization.
    pub(super) fn collect_vars(&self, node: &BuildNode, objects: &mut BuildObjects) -> BuildResult {
        for (place, entry) in node.listed_in("vars", &node.kustomization.vars) {
            let steps = objects.list.len() + objects.vars.len();
            self.budget.step(steps).at(&place)?;
            let text = |value: Option<&Value>| {
                value.and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let target = |field: &str| text(entry.get("objref").and_then(|of| of.get(field)));
            let version = match (target("apiVersion"), target("group"), target("version")) {
                (version, ..) if !version.is_empty() => version,
                (_, group, version) if group.is_empty() => version,
                (_, group, version) => format!("{group}/{version}"),
            };
            let wanted = Id::new(&version, ["kind", "name", "namespace"].map(target));
            // Without a namespace, a variable means an object of any namespace.
            let is_any = wanted.namespace.is_empty() && !wanted.is_cluster_scoped;
            let is_meant = |id: &Id| {
                [&id.group, &id.version, &id.kind, &id.name]
                    == [&wanted.group, &wanted.version, &wanted.kind, &wanted.name]
                    && (is_any || id.effective_namespace() == wanted.effective_namespace())
            };
            let name = text(entry.get("name"));
            let mut found =
                objects.list.iter_mut().filter(|object| object.ids().iter().any(is_meant));
            if let Some(first) = found.next() {
                if found.next().is_some() {
                    return refuse(format!("the variable `{name}` matches several objects"))
                        .at(&place);
                }
                first.vars.push(name.clone());
            }
            let field = text(entry.get("fieldref").and_then(|of| of.get("fieldPath")));
            let field = if field.is_empty() { NAME.to_owned() } else { field };
            objects.add_var(Var { name, field, place })?;
        }
        Ok(())
    }

    /// Refuses variables without a value, and leaves those that a host or request uses to kustomize.
    pub(super) fn resolve_vars(&self, objects: &BuildObjects) -> BuildResult {
        for var in &objects.vars {
            let Var { name, field, place } = var;
            self.budget.step(objects.list.len()).at(place)?;
            let source = objects.list.iter().find(|object| object.vars.contains(name));
            let has_value = source.is_some_and(|object| {
                let is_plain = !field.contains(['[', '\\']);
                !is_plain || lookup(&object.value, &split(field)).is_some()
            });
            if !has_value && !objects.are_partial {
                let why = match source {
                    Some(object) => {
                        let object = object.id().shown();
                        format!("the {object} has no `{field}` for the variable `{name}`")
                    }
                    None => format!("the variable `{name}` matches no object"),
                };
                return refuse(why).at(place);
            }
            let reference = format!("$({name})");
            let uses = |object: &&BuildObject| {
                self.is_vital(object) && object.value.values().any(|value| has(value, &reference))
            };
            if let Some(object) = objects.list.iter().find(uses) {
                let shown = object.id().shown();
                let why = format!("the {shown} uses the variable `{name}` of `vars`");
                return defer(why).at(place);
            }
        }
        Ok(())
    }
}

impl BuildObjects {
    /// Adds a variable, whose name must be new.
    pub(super) fn add_var(&mut self, var: Var) -> BuildResult {
        if self.vars.iter().any(|other| other.name == var.name) {
            return refuse(format!("duplicate variable `{}`", var.name)).at(&var.place);
        }
        self.vars.push(var);
        Ok(())
    }
}

/// Returns whether a text in a value contains another one.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Sequence(items) => items.iter().any(|item| has(item, text)),
        Value::Mapping(mapping) => mapping.values().any(|value| has(value, text)),
        _ => false,
    }
}
