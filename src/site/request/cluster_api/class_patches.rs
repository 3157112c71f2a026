//! Patches of a ClusterClass, as far as they change the host selectors of its machine templates.
//!
//! The rules are those of `json_patch_generator.go` in Cluster API. A patch whose effect depends on
//! variables of the class counts as if it might apply or not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::scaled::{MachineClass, ScaledMachines};
use crate::base::api::names::{ClusterKey, Role};
use crate::base::text::expanded;

/// Returns the labels that the host selector of a node set requires after the patches of its class.
pub(super) fn match_labels(
    set: &ScaledMachines<'_>,
    class: &MachineClass<'_>,
    cluster: &ClusterKey,
) -> BTreeMap<String, String> {
    let variable = |name: &str| match name.strip_prefix("builtin.")? {
        "cluster.name" => Some(cluster.name.to_string()),
        "cluster.namespace" => Some(cluster.namespace.to_string()),
        "machineDeployment.topologyName" => set.name.map(str::to_owned),
        "machineDeployment.class" => set.name.map(|_| class.deployment_class.to_owned()),
        _ => None,
    };
    let rendered = |template: &str| {
        let field = |expression: &str| variable(expression.trim().strip_prefix('.')?);
        yaml_serde::from_str::<Value>(&expanded(template, "{{", "}}", field)?).ok()
    };
    let labels = |object: &Value| {
        let labels = object.pointer("/spec/template/spec/hostSelector/matchLabels");
        let labels = labels.and_then(Value::as_object).into_iter().flatten();
        let text =
            |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        labels.filter_map(text).collect::<BTreeMap<_, _>>()
    };
    let selector = &set.template.spec.template.spec.host_selector;
    let selector = json!({ "matchLabels": selector.match_labels });
    let mut object = json!({"spec": {"template": {"spec": {"hostSelector": selector}}}});
    for patch in &class.spec.patches {
        let mut patched = object.clone();
        let definitions = list(patch, "/definitions").filter(|it| selects(it, set, class));
        for change in definitions.flat_map(|definition| list(definition, "/jsonPatches")) {
            // An unknown value is no label.
            let value = match text(change, "/op") {
                "remove" => None,
                _ => Some(match (change.get("value"), text(change, "/valueFrom/variable")) {
                    (Some(value), _) => value.clone(),
                    (None, "") => rendered(text(change, "/valueFrom/template")).unwrap_or_default(),
                    (None, name) => variable(name).map(Value::from).unwrap_or_default(),
                }),
            };
            set_field(&mut patched, text(change, "/path"), value);
        }
        match patch.get("enabledIf").and_then(Value::as_str).map(rendered) {
            None | Some(Some(Value::Bool(true))) => object = patched,
            Some(Some(_)) => {}
            Some(None) => {
                let mut certain = labels(&object);
                let patched = labels(&patched);
                certain.retain(|key, value| patched.get(key) == Some(value));
                let path = "/spec/template/spec/hostSelector";
                set_field(&mut object, path, Some(json!({ "matchLabels": certain })));
            }
        }
    }
    labels(&object)
}

fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a definition of a patch is for the machine template of a node set.
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

/// Sets or removes the field at the path of a JSON patch, if the object around it exists.
fn set_field(object: &mut Value, path: &str, value: Option<Value>) {
    let Some((above, key)) = path.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(above)) = object.pointer_mut(above) {
        let key = key.replace("~1", "/").replace("~0", "~");
        match value {
            Some(value) => above.insert(key, value),
            None => above.remove(&key),
        };
    }
}
