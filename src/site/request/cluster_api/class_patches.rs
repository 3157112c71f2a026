//! Patches of a ClusterClass, as far as they change the host selectors of its machine templates or the
//! rollout of its control plane.
//!
//! The rules are those of `json_patch_generator.go` in Cluster API.

use serde::Deserialize;
use serde_json::{Value, json};

use super::host_selector::is_assigned;
use super::scaled::{MachineClass, ScaledMachines};
use crate::base::api::cluster_api::{HostSelector, Strategy};
use crate::base::api::names::{ClusterKey, LabelMap, Role};
use crate::base::finding::{RouteStep, below};
use crate::base::text::{expanded, pointer_key, yaml};
use crate::input::decode::label_selector::Mistake;

/// JSON pointer to the host selector of a template.
const SELECTOR: &str = "/spec/template/spec/hostSelector";

/// Returns the host selector of a node set after the patches of its class, and the changes whose effect
/// on it is unknown, or which do not apply. A label that sipgen adds, which are those of `assigned`, is
/// left out if its value is unknown.
pub(super) fn patched_selector(
    set: &ScaledMachines<'_>,
    class: &MachineClass<'_>,
    cluster: &ClusterKey,
    assigned: &LabelMap,
) -> (HostSelector, Vec<Mistake>) {
    let template = &set.template.spec.template.spec.host_selector;
    let mut object = json!({"spec": {"template": {"spec": {"hostSelector": template}}}});
    let mut mistakes = Vec::new();
    let mut report = |route: Vec<RouteStep>, message: &str, help: &str| {
        mistakes.push(Mistake::new(route, message, help));
    };
    for PatchChange { route, op, path, value } in changes(SELECTOR, set, class, cluster) {
        let label = path.strip_prefix(SELECTOR).and_then(|it| it.strip_prefix("/matchLabels/"));
        let is_own = |label| is_assigned(&pointer_key(label), assigned);
        let applied = match value {
            Some(value) => apply(&mut object, op, path, value),
            None if label.is_some_and(is_own) => {
                apply(&mut object, "remove", path, Value::Null).or(Some(()))
            }
            None => {
                let message = "which hosts the patch selects is unknown: sipgen evaluates constants, built-in variables and those of the Cluster";
                report(route, message, "write the requirement in the Metal3MachineTemplate");
                continue;
            }
        };
        if applied.is_none() {
            let message = "the patch does not apply to the Metal3MachineTemplate, so Cluster API makes no Machines";
            let help = "add only to a mapping that exists: give the template's `hostSelector.matchLabels` a label";
            report(route, message, help);
        }
    }
    let patched = object.pointer(SELECTOR).map(HostSelector::deserialize);
    let selector = patched.transpose().unwrap_or_else(|_| {
        let message = "the patches make a `hostSelector` that the API server refuses";
        report(vec!["patches".into()], message, "the values of labels are strings");
        None
    });
    (selector.unwrap_or_default(), mistakes)
}

/// Returns the rollout strategy of a control plane after the patches of its class that are known.
pub(super) fn patched_strategy(
    set: &ScaledMachines<'_>,
    class: &MachineClass<'_>,
    cluster: &ClusterKey,
) -> Option<Strategy> {
    let control_plane = &class.spec.control_plane;
    let template = control_plane.reference.as_ref().or(control_plane.template_ref.as_ref())?;
    let class = MachineClass { template, ..*class };
    let strategy = set.strategy.as_ref().map(|(strategy, _)| *strategy);
    // The fields of both contracts. A patch is for those of its own.
    let mut object = json!({"spec": {"template": {"spec": {
        "rolloutStrategy": strategy, "rollout": {"strategy": strategy}
    }}}});
    let fields = ["/spec/template/spec/rolloutStrategy", "/spec/template/spec/rollout/strategy"];
    let patched = fields.map(|field| {
        for PatchChange { op, path, value, .. } in changes(field, set, &class, cluster) {
            value.and_then(|value| apply(&mut object, op, path, value));
        }
        object.pointer(field).map(Value::to_string)
    });
    let before = json!(strategy).to_string();
    let patched = patched.into_iter().flatten().find(|text| *text != before)?;
    serde_json::from_str(&patched).ok()
}

/// A change of a patch.
struct PatchChange<'a> {
    /// Where it is in the spec of the class.
    route: Vec<RouteStep>,
    op: &'a str,
    path: &'a str,
    /// The value; `None` if it is unknown.
    value: Option<Value>,
}

/// Returns the changes of patches to a field of the class's template, with their values.
fn changes<'a>(
    field: &str,
    set: &ScaledMachines<'_>,
    class: &MachineClass<'a>,
    cluster: &ClusterKey,
) -> Vec<PatchChange<'a>> {
    let variable = |name: &str| variable(name, set, class, cluster);
    let mut changes = Vec::new();
    for (index, patch) in class.spec.patches.iter().enumerate() {
        let is_enabled = match patch.get("enabledIf").and_then(Value::as_str) {
            Some(template) => rendered(template, variable).map(|value| value == true),
            None => Some(true),
        };
        if is_enabled == Some(false) {
            continue;
        }
        for (definition_index, definition) in list(patch, "/definitions").enumerate() {
            if !selects(definition, set, class) {
                continue;
            }
            let at =
                ["patches".into(), index.into(), "definitions".into(), definition_index.into()];
            for (change_index, change) in list(definition, "/jsonPatches").enumerate() {
                let (op, path) = (text(change, "/op"), text(change, "/path"));
                if !is_below(path, field) && !is_below(field, path) {
                    continue;
                }
                let value = match (change.get("value"), text(change, "/valueFrom/variable")) {
                    _ if is_enabled.is_none() => None,
                    _ if op == "remove" => Some(Value::Null),
                    (Some(value), _) => Some(value.clone()),
                    (None, "") => rendered(text(change, "/valueFrom/template"), variable),
                    (None, name) => variable(name),
                };
                let route = below(&at, ["jsonPatches".into(), RouteStep::from(change_index)]);
                changes.push(PatchChange { route, op, path, value });
            }
        }
    }
    changes
}

/// Returns whether a JSON pointer is another one, or below it.
fn is_below(one: &str, other: &str) -> bool {
    one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the value of a variable; `None` if it is unknown.
fn variable(
    name: &str,
    set: &ScaledMachines<'_>,
    class: &MachineClass<'_>,
    cluster: &ClusterKey,
) -> Option<Value> {
    let builtin = match name.strip_prefix("builtin.") {
        Some("cluster.name") => Some(cluster.name.as_str()),
        Some("cluster.namespace") => Some(cluster.namespace.as_str()),
        Some("machineDeployment.topologyName") => set.name,
        Some("machineDeployment.class") => set.name.map(|_| class.deployment_class),
        Some(_) => None,
        None => {
            let (name, fields) = name.split_once('.').unwrap_or((name, ""));
            let is_it = |variable: &&Value| text(variable, "/name") == name;
            let given = class.variables.iter().find_map(|it| it.iter().find(is_it)?.get("value"));
            let default = || {
                class.spec.variables.iter().find(is_it)?.pointer("/schema/openAPIV3Schema/default")
            };
            let fields = fields.split('.').filter(|field| !field.is_empty());
            return fields.fold(given.or_else(default), |value, field| value?.get(field)).cloned();
        }
    };
    builtin.map(Value::from)
}

/// Fills in a Go template that has variables only.
fn rendered(template: &str, variable: impl Fn(&str) -> Option<Value>) -> Option<Value> {
    let field = |expression: &str| match variable(expression.trim().strip_prefix('.')?)? {
        Value::String(text) => Some(text),
        value @ (Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
        _ => None,
    };
    yaml::from_str(&expanded(template, "{{", "}}", field)?).ok()
}

fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a definition of a patch is for the class's template of a node set.
fn selects(definition: &Value, set: &ScaledMachines<'_>, class: &MachineClass<'_>) -> bool {
    let resources = |path: &str| definition.pointer(&format!("/selector/matchResources/{path}"));
    text(definition, "/selector/apiVersion") == class.template.api_version
        && text(definition, "/selector/kind") == class.template.kind
        && match set.role() {
            Role::ControlPlane => resources("controlPlane") == Some(&Value::Bool(true)),
            Role::Worker => {
                let names = resources("machineDeploymentClass/names");
                let mut names = names.and_then(Value::as_array).into_iter().flatten();
                names.any(|name| matches(name.as_str().unwrap_or_default(), class.deployment_class))
            }
        }
}

/// Returns whether a name with `*` at its start or end matches a class.
fn matches(name: &str, class: &str) -> bool {
    name == class
        || name.strip_prefix('*').is_some_and(|end| class.ends_with(end))
        || name.strip_suffix('*').is_some_and(|start| class.starts_with(start))
}

/// Applies a JSON patch (RFC 6902); `None` if it does not apply.
fn apply(object: &mut Value, op: &str, path: &str, value: Value) -> Option<()> {
    let (above, key) = path.rsplit_once('/')?;
    match (object.pointer_mut(above)?, op) {
        (Value::Object(fields), "add") => drop(fields.insert(pointer_key(key), value)),
        (Value::Object(fields), "replace") => *fields.get_mut(&pointer_key(key))? = value,
        (Value::Object(fields), "remove") => drop(fields.remove(&pointer_key(key))?),
        (Value::Array(items), "add") if key == "-" => items.push(value),
        (Value::Array(items), op) => {
            let index = key.parse().ok().filter(|index| *index < items.len())?;
            match op {
                "add" => items.insert(index, value),
                "replace" => items[index] = value,
                "remove" => drop(items.remove(index)),
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}
