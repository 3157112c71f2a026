//! Pod templates of a service, to detect whether its pods are replaced.
//!
//! Kubernetes replaces the pods of a Deployment when its pod template changes. kustomize may change
//! the template indirectly, because the name of a generated ConfigMap ends in a hash of its
//! content.

use camino::Utf8Path;
use yaml_serde::{Mapping, Value};

use super::service_files::{Files, Side, objects, patches};
use crate::layout;

/// Kinds of objects whose pods are replaced when their template changes.
const CONTROLLERS: [&str; 3] = ["Deployment", "DaemonSet", "StatefulSet"];

/// Kustomization fields that do not affect pod templates: lists of objects, and what is compared by
/// content.
const WITHOUT_EFFECT: [&str; 3] = ["resources", "configMapGenerator", "patches"];

/// Inputs of a service's pod templates.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Pods<'a> {
    /// Pod template of each controller, and of each patch of one.
    templates: Vec<Value>,
    /// Generators of ConfigMaps with a hash in their name, and the files that each reads.
    generated: Vec<(Value, Vec<Option<&'a str>>)>,
    /// Patches by operations, which may be for any object.
    patches: Vec<Value>,
    /// Other fields of the kustomizations.
    kustomizations: Vec<Mapping>,
}

/// Reads the inputs of a service's pod templates.
pub(super) fn of<'a>(side: &Side<'a>) -> Pods<'a> {
    let mut pods = Pods::default();
    pods.add(&side.own);
    pods.add(&side.shared);
    pods
}

impl<'a> Pods<'a> {
    /// Adds the inputs in a directory.
    fn add(&mut self, files: &Files<'a>) {
        for (file, text) in files {
            if file.extension() == Some("yaml") && file.as_str() != layout::KUSTOMIZATION {
                let controllers = objects(text).filter(is_controller);
                self.templates
                    .extend(controllers.filter_map(|object| template(&object)));
            }
        }
        let text = |file: &str| files.get(Utf8Path::new(file)).copied();
        let kustomization =
            text(layout::KUSTOMIZATION).and_then(|text| yaml_serde::from_str(text).ok());
        let kustomization: Value = kustomization.unwrap_or_default();
        for (whole, body) in patches(&kustomization) {
            if is_controller(&body) {
                self.templates.extend(template(&body));
            } else if body.is_sequence() {
                self.patches.push(whole.clone());
            }
        }
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
            self.generated.push((generator.clone(), contents.collect()));
        }
        if let Value::Mapping(mut others) = kustomization {
            for field in WITHOUT_EFFECT {
                others.remove(field);
            }
            self.kustomizations.push(others);
        }
    }
}

/// Returns the pod template of a controller.
fn template(object: &Value) -> Option<Value> {
    object.get("spec")?.get("template").cloned()
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
    use super::*;

    const KUSTOMIZATION: &str = "resources: [deployment.yaml]\nconfigMapGenerator:\n- {name: a, files: [fixed]}\n\
                                 - {name: b, files: [key=read-again], options: {disableNameSuffixHash: true}}\n\
                                 patches:\n- patch: |\n    kind: Deployment\n    spec: {replicas: 1, template: {spec: {a: b}}}\n";
    const DEPLOYMENT: &str =
        "kind: Deployment\nspec: {replicas: 1, template: {spec: {containers: [{image: a}]}}}\n";

    const BEFORE: [(&str, &str); 4] = [
        (layout::KUSTOMIZATION, KUSTOMIZATION),
        ("deployment.yaml", DEPLOYMENT),
        ("fixed", "a"),
        ("read-again", "a"),
    ];

    /// Reports whether a change of a file replaces pods, in a service's own directory and in a
    /// shared one.
    fn replaced(file: &str, after: &str) -> bool {
        let files = |changed: bool| -> Files<'_> {
            let unchanged = BEFORE
                .iter()
                .map(|(name, text)| (Utf8Path::new(name), *text));
            unchanged
                .chain(changed.then_some((Utf8Path::new(file), after)))
                .collect()
        };
        let [own, shared] = [true, false].map(|is_own| {
            let side = |changed: bool| Side {
                own: files(changed && is_own),
                shared: files(changed && !is_own),
            };
            of(&side(false)) != of(&side(true))
        });
        assert_eq!(own, shared, "{file} {after}");
        own
    }

    #[test]
    fn pods_are_replaced_by_another_template_and_another_name_of_what_they_mount() {
        assert!(replaced(
            "deployment.yaml",
            &DEPLOYMENT.replace("image: a", "image: b")
        ));
        assert!(replaced("fixed", "b"));
        for (from, to) in [
            ("name: a", "name: c"),
            ("a: b", "a: c"),
            ("kind: Deployment", "kind: Role"),
        ] {
            assert!(replaced(
                layout::KUSTOMIZATION,
                &KUSTOMIZATION.replace(from, to)
            ));
        }
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
        for (from, to) in [
            ("[deployment.yaml]", "[deployment.yaml, b.yaml]"),
            ("replicas: 1", "replicas: 2"),
        ] {
            assert!(!replaced(
                layout::KUSTOMIZATION,
                &KUSTOMIZATION.replace(from, to)
            ));
        }
        assert!(!replaced("unlisted", "b"));
    }
}
