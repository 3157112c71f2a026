//! Pod templates of a service, to detect whether its pods are replaced.
//!
//! Kubernetes replaces the pods of a Deployment when its pod template changes. kustomize may change
//! the template indirectly, because the name of a generated ConfigMap ends in a hash of its
//! content.

use std::collections::BTreeSet;

use serde::Deserialize;
use yaml_serde::{Mapping, Value};

use crate::layout;

/// Kinds of objects whose pods are replaced when their template changes.
const CONTROLLERS: [&str; 3] = ["Deployment", "DaemonSet", "StatefulSet"];

/// Kustomization fields that do not affect pod templates: lists of objects, and generators, which
/// are compared by content.
const WITHOUT_EFFECT: [&str; 2] = ["resources", "configMapGenerator"];

/// Inputs of a directory's pod templates.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Pods<'a> {
    /// Pod template of each controller.
    templates: Vec<Value>,
    /// Generators of ConfigMaps with a hash in their name, and the files that each reads.
    generated: Vec<(Value, Vec<Option<&'a str>>)>,
    /// Other fields of the kustomization.
    kustomization: Mapping,
}

/// Reads the inputs of a directory's pod templates. `text` returns the text of a file.
pub(super) fn of<'a>(files: &BTreeSet<&str>, text: impl Fn(&str) -> Option<&'a str>) -> Pods<'a> {
    let mut pods = Pods::default();
    for file in files
        .iter()
        .filter(|file| file.ends_with(".yaml") && **file != layout::KUSTOMIZATION)
    {
        let documents = yaml_serde::Deserializer::from_str(text(file).unwrap_or_default());
        let objects = documents.map_while(|document| Value::deserialize(document).ok());
        let controllers = objects.filter(is_controller);
        pods.templates
            .extend(controllers.filter_map(|object| object.get("spec")?.get("template").cloned()));
    }
    let kustomization =
        text(layout::KUSTOMIZATION).and_then(|text| yaml_serde::from_str(text).ok());
    let mut kustomization: Mapping = kustomization.unwrap_or_default();
    let generators = kustomization
        .get("configMapGenerator")
        .and_then(Value::as_sequence)
        .into_iter()
        .flatten();
    for generator in generators.filter(|generator| !keeps_its_name(generator)) {
        let files = generator
            .get("files")
            .and_then(Value::as_sequence)
            .into_iter()
            .flatten();
        let contents = files
            .filter_map(Value::as_str)
            .map(|file| text(file.split_once('=').map_or(file, |(_, f)| f)));
        pods.generated.push((generator.clone(), contents.collect()));
    }
    for field in WITHOUT_EFFECT {
        kustomization.remove(field);
    }
    pods.kustomization = kustomization;
    pods
}

fn is_controller(object: &Value) -> bool {
    object
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| CONTROLLERS.contains(&kind))
}

fn keeps_its_name(generator: &Value) -> bool {
    let option = generator
        .get("options")
        .and_then(|options| options.get("disableNameSuffixHash"));
    option.and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const KUSTOMIZATION: &str = "resources: [deployment.yaml]\nconfigMapGenerator:\n- {name: a, files: [fixed]}\n\
                                 - {name: b, files: [key=read-again], options: {disableNameSuffixHash: true}}\n";
    const DEPLOYMENT: &str =
        "kind: Deployment\nspec: {replicas: 1, template: {spec: {containers: [{image: a}]}}}\n";

    /// Reports whether a change of a file replaces pods.
    fn replaced(file: &str, after: &str) -> bool {
        let before = BTreeMap::from([
            (layout::KUSTOMIZATION, KUSTOMIZATION),
            ("deployment.yaml", DEPLOYMENT),
            ("fixed", "a"),
            ("read-again", "a"),
        ]);
        let names = before.keys().copied().collect();
        let text_after = |name: &str| {
            if name == file {
                Some(after)
            } else {
                before.get(name).copied()
            }
        };
        of(&names, |name| before.get(name).copied()) != of(&names, text_after)
    }

    #[test]
    fn pods_are_replaced_by_another_template_and_another_name_of_what_they_mount() {
        assert!(replaced(
            "deployment.yaml",
            &DEPLOYMENT.replace("image: a", "image: b")
        ));
        assert!(replaced("fixed", "b"));
        assert!(replaced(
            layout::KUSTOMIZATION,
            &KUSTOMIZATION.replace("name: a", "name: c")
        ));
        assert!(replaced(
            layout::KUSTOMIZATION,
            &format!("{KUSTOMIZATION}images: [{{name: a, newTag: b}}]\n")
        ));
    }

    #[test]
    fn pods_stay_where_only_other_things_change() {
        assert!(!replaced(
            "deployment.yaml",
            &DEPLOYMENT.replace("replicas: 1", "replicas: 2")
        ));
        assert!(!replaced(
            "deployment.yaml",
            &format!("# A comment.\n{DEPLOYMENT}")
        ));
        assert!(!replaced("read-again", "b"));
        assert!(!replaced(
            layout::KUSTOMIZATION,
            &KUSTOMIZATION.replace("[deployment.yaml]", "[deployment.yaml, b.yaml]")
        ));
        assert!(!replaced("unlisted", "b"));
    }
}
