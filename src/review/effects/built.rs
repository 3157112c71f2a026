//! The objects that kustomize builds of a service's files, reduced to the parts that reviews compare.
//!
//! Generated kustomizations use few features of kustomize, which are applied here: resources,
//! inline patches, labels in selectors, and generators of ConfigMaps. Everything else, from
//! templates of the repo's own, is compared as it is.
//!
//! `kustomize::evaluate` builds the kinds that sipgen reads. Those of services have lists that
//! kustomize merges by a key, which it does not know.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::{Mapping, Value};

use super::hosts::ReviewFacts;
use super::service_files::{Files, files};
use super::{ChangedFiles, at, below, documents, is_true};
use crate::base::grouping::grouped;
use crate::base::layout;
use crate::base::text::yaml;

/// Kinds of objects whose pods are replaced when their template changes.
pub(super) const CONTROLLERS: [&str; 3] = ["Deployment", "DaemonSet", "StatefulSet"];

/// Lists of a kustomization that are applied here.
const APPLIED: [&str; 4] = ["resources", "configMapGenerator", "patches", "labels"];

/// Fields that existing objects of some kinds cannot change. The API server rejects the update, so an agent
/// applies neither the object nor what waits for it.
const IMMUTABLE: [(&str, &[&str]); 10] = [
    ("spec.accessModes", &["PersistentVolumeClaim"]),
    ("spec.selector", &["Deployment", "DaemonSet", "StatefulSet", "Job", "PersistentVolumeClaim"]),
    ("spec.serviceName", &["StatefulSet"]),
    ("spec.volumeClaimTemplates", &["StatefulSet"]),
    ("spec.podManagementPolicy", &["StatefulSet"]),
    ("spec.template", &["Job"]),
    ("spec.storageClassName", &["PersistentVolumeClaim"]),
    ("spec.volumeMode", &["PersistentVolumeClaim"]),
    ("spec.volumeName", &["PersistentVolumeClaim"]),
    ("roleRef", &["RoleBinding", "ClusterRoleBinding"]),
];

/// The build of a service.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ServiceBuild<'a> {
    /// Objects by kind and name, except for generated ConfigMaps. References to these have no hash.
    pub(super) objects: BTreeMap<(String, String), Value>,
    /// Texts of generated ConfigMaps by name and key.
    pub(super) generated: BTreeMap<(String, String), ConfigMapEntry<'a>>,
    /// Other fields and patches of the kustomizations.
    pub(super) others: Vec<Value>,
    /// The service's own files that the build reads.
    pub(super) read: BTreeSet<&'a Utf8Path>,
    /// Set if the service has files.
    pub(super) exists: bool,
}

/// An entry of a generated ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConfigMapEntry<'a> {
    /// The text; `None` if the file does not exist.
    pub(super) text: Option<&'a str>,
    /// Set if the name of the ConfigMap ends in a hash, so that another text replaces pods.
    pub(super) hashed: bool,
}

/// The parts of a service whose change replaces its pods.
#[derive(Debug, PartialEq)]
pub(super) struct Pods<'b> {
    templates: Vec<Option<&'b Value>>,
    mounted: Vec<(&'b (String, String), Option<&'b str>)>,
    others: &'b [Value],
}

/// A change of an existing object that the API server rejects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ImmutableField {
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Path of the field, such as `spec.selector`.
    pub field: String,
}

impl<'a> ServiceBuild<'a> {
    /// Builds the service in `directory` before and after the changes, with the shared files that its
    /// kustomization refers to.
    pub(super) fn before_and_after(
        directory: &Utf8Path,
        changed: &ChangedFiles<'a>,
        facts: &ReviewFacts<'a>,
    ) -> [Self; 2] {
        let file = directory.join(layout::KUSTOMIZATION);
        [0, 1].map(|side| {
            let own = files(directory, changed, facts.later, side);
            let kustomization = own.get(Utf8Path::new(layout::KUSTOMIZATION));
            let references = kustomization.map(|text| layout::shared_directories(&file, text));
            let shared = references
                .iter()
                .flatten()
                .flat_map(|shared| files(shared, &below(&facts.shared, shared), facts.later, side));
            Self::new(&shared.collect(), &own)
        })
    }

    /// Builds a service from shared files and its own.
    fn new(shared: &Files<'a>, own: &Files<'a>) -> Self {
        let mut built = ServiceBuild { exists: !own.is_empty(), ..ServiceBuild::default() };
        built.add(shared);
        // The names of shared files mean nothing in the service's own directory.
        built.read.clear();
        built.add(own);
        built
    }

    /// Returns what replaces pods if it changes.
    pub(super) fn pods(&self) -> Pods<'_> {
        let controllers = self.objects.iter().filter(|((kind, _), _)| is_controller(kind));
        let hashed = self.generated.iter().filter(|(_, entry)| entry.hashed);
        Pods {
            templates: controllers.map(|(_, object)| at(object, "spec.template")).collect(),
            mounted: hashed.map(|(name, entry)| (name, entry.text)).collect(),
            others: &self.others,
        }
    }

    /// Returns the generated ConfigMaps by name, with their entries.
    pub(super) fn config_maps(&self) -> BTreeMap<&str, Vec<(&str, ConfigMapEntry<'a>)>> {
        let entries = self.generated.iter();
        grouped(entries.map(|((name, key), entry)| (name.as_str(), (key.as_str(), *entry))))
    }

    /// Lists the immutable fields of objects that differ from those before.
    pub(super) fn changed_immutable_fields(&self, before: &Self) -> Vec<ImmutableField> {
        let both = self.objects.iter().filter_map(|it| Some((it, before.objects.get(it.0)?)));
        let changed = both.flat_map(|(((kind, name), after), before)| {
            let fields = IMMUTABLE.iter().filter(move |(_, kinds)| kinds.contains(&kind.as_str()));
            let changed = fields.filter(|(field, _)| at(before, field) != at(after, field));
            changed.map(|(field, _)| ImmutableField {
                kind: kind.clone(),
                name: name.clone(),
                field: (*field).to_owned(),
            })
        });
        changed.collect()
    }

    /// Adds the files of a directory, and applies its kustomization to all objects.
    fn add(&mut self, files: &Files<'a>) {
        let Some((file, text)) = files.get_key_value(Utf8Path::new(layout::KUSTOMIZATION)) else {
            return;
        };
        self.read.insert(file);
        let Ok(Value::Mapping(mut kustomization)) = yaml::from_str(text) else { return };
        let [resources, generators, patches, labels] =
            APPLIED.map(|field| match kustomization.remove(field) {
                Some(Value::Sequence(items)) => items,
                _ => Vec::new(),
            });
        let file = |name: &str| files.get_key_value(Utf8Path::new(name));
        for (path, text) in resources.iter().filter_map(|name| file(name.as_str()?)) {
            self.read.insert(path);
            self.objects.extend(objects(text));
        }
        generators.iter().for_each(|generator| self.generate(generator, files));
        patches.into_iter().for_each(|patch| self.patch(patch));
        labels.iter().for_each(|labels| self.label(labels));
        if let Some(namespace) = kustomization.remove("namespace") {
            self.set_namespace(&namespace);
        }
        for field in ["apiVersion", "kind"] {
            kustomization.remove(field);
        }
        if !kustomization.is_empty() {
            self.others.push(Value::Mapping(kustomization));
        }
    }

    /// Adds a generated ConfigMap.
    fn generate(&mut self, generator: &Value, files: &Files<'a>) {
        let name = generator.get("name").and_then(Value::as_str).unwrap_or_default();
        let hashed = !is_true(generator, "options.disableNameSuffixHash");
        let entries = generator.get("files").and_then(Value::as_sequence);
        for entry in entries.into_iter().flatten().filter_map(Value::as_str) {
            let (key, file) = entry.split_once('=').unwrap_or((entry, entry));
            let found = files.get_key_value(Utf8Path::new(file));
            self.read.extend(found.map(|(path, _)| *path));
            let text = found.map(|(_, text)| *text);
            self.generated
                .insert((name.to_owned(), key.to_owned()), ConfigMapEntry { text, hashed });
        }
    }

    /// Applies a patch: a partial object, or a new name for the objects of a name.
    fn patch(&mut self, patch: Value) {
        let body = patch.get("patch").and_then(Value::as_str);
        let body: Option<Value> = body.and_then(|body| yaml::from_str(body).ok());
        let applied = match (&body, patch.get("target")) {
            (Some(body @ Value::Mapping(_)), None) => self.merge(body),
            (Some(Value::Sequence(operations)), Some(target)) => self.rename(operations, target),
            _ => None,
        };
        if applied.is_none() {
            self.others.push(patch);
        }
    }

    fn merge(&mut self, patch: &Value) -> Option<()> {
        let object = self.objects.get_mut(&identity(patch)?)?;
        merge(object, patch, None);
        Some(())
    }

    fn rename(&mut self, operations: &[Value], target: &Value) -> Option<()> {
        let [operation] = operations else { return None };
        if operation.get("path")?.as_str()? != "/metadata/name" {
            return None;
        }
        let (from, to) = (target.get("name")?.as_str()?, operation.get("value")?.as_str()?);
        let renamed: Vec<_> = self.objects.extract_if(.., |(_, name), _| name == from).collect();
        for ((kind, _), mut object) in renamed {
            object["metadata"]["name"] = to.into();
            self.objects.insert((kind, to.to_owned()), object);
        }
        let renamed: Vec<_> = self.generated.extract_if(.., |(name, _), _| name == from).collect();
        for ((_, key), entry) in renamed {
            self.generated.insert((to.to_owned(), key), entry);
        }
        Some(())
    }

    /// Adds labels to objects, and with `includeSelectors` to their selectors and pods.
    fn label(&mut self, labels: &Value) {
        let selects = is_true(labels, "includeSelectors");
        let Some(pairs) = labels.get("pairs").and_then(Value::as_mapping) else { return };
        for ((kind, _), object) in &mut self.objects {
            add(object, "metadata", "labels", pairs);
            if !selects {
                continue;
            }
            match kind.as_str() {
                "Service" => add(object, "spec", "selector", pairs),
                "NetworkPolicy" => add(object, "spec.podSelector", "matchLabels", pairs),
                "PodDisruptionBudget" => add(object, "spec.selector", "matchLabels", pairs),
                kind if is_controller(kind) => {
                    add(object, "spec.selector", "matchLabels", pairs);
                    add(object, "spec.template.metadata", "labels", pairs);
                }
                _ => {}
            }
            let spread = at_mut(object, "spec.template.spec.topologySpreadConstraints");
            for constraint in spread.and_then(Value::as_sequence_mut).into_iter().flatten() {
                add(constraint, "labelSelector", "matchLabels", pairs);
            }
        }
    }

    /// Sets the namespace of the subjects of RoleBindings; that of the objects follows from their
    /// directory.
    fn set_namespace(&mut self, namespace: &Value) {
        let bindings = self.objects.iter_mut().filter(|((kind, _), _)| kind == "RoleBinding");
        let subjects =
            bindings.filter_map(|(_, object)| object.get_mut("subjects")?.as_sequence_mut());
        for subject in subjects.flatten().filter_map(Value::as_mapping_mut) {
            subject.insert("namespace".into(), namespace.clone());
        }
    }
}

/// Adds entries to the mapping of a name in the `parent` of that path, if the object has the parent.
fn add(object: &mut Value, parent: &str, name: &str, entries: &Mapping) {
    let Some(Value::Mapping(parent)) = at_mut(object, parent) else { return };
    let mapping = parent.entry(name.into()).or_insert_with(|| Mapping::new().into());
    if let Value::Mapping(mapping) = mapping {
        mapping.extend(entries.clone());
    }
}

/// Returns the value at the path of a field.
fn at_mut<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    field.split('.').try_fold(object, |value, key| value.get_mut(key))
}

pub(super) fn is_controller(kind: &str) -> bool {
    CONTROLLERS.contains(&kind)
}

/// Reads the objects of a file, by kind and name.
fn objects(text: &str) -> impl Iterator<Item = ((String, String), Value)> {
    documents(text).filter_map(|object| Some((identity(&object)?, object)))
}

fn identity(object: &Value) -> Option<(String, String)> {
    let [kind, name] = ["kind", "metadata.name"].map(|field| at(object, field)?.as_str());
    Some((kind?.to_owned(), name?.to_owned()))
}

/// Applies a strategic merge patch; `list` is the key of the value.
fn merge(value: &mut Value, patch: &Value, list: Option<&str>) {
    match (value, patch) {
        (Value::Mapping(value), Value::Mapping(patch)) => merge_mapping(value, patch),
        (Value::Sequence(items), Value::Sequence(patches)) => {
            let Some(key) = list.and_then(merge_key) else { return items.clone_from(patches) };
            // As kustomize orders them: first the items of the patch.
            let mut rest = std::mem::take(items);
            for patch in patches {
                let same = rest.iter().position(|item| item.get(key) == patch.get(key));
                let mut item = same.map_or_else(Value::default, |index| rest.remove(index));
                merge(&mut item, patch, None);
                items.push(item);
            }
            items.append(&mut rest);
        }
        (value, patch) => value.clone_from(patch),
    }
}

/// Returns the key by which kustomize merges the items of a list.
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "containers" | "env" | "initContainers" | "volumes" => Some("name"),
        "ports" => Some("containerPort"),
        "volumeMounts" => Some("mountPath"),
        _ => None,
    }
}

fn merge_mapping(value: &mut Mapping, patch: &Mapping) {
    for (key, patch) in patch {
        match value.get_mut(key) {
            _ if patch.is_null() => {
                value.remove(key);
            }
            Some(value) => merge(value, patch, key.as_str()),
            None => {
                value.insert(key.clone(), patch.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: [(&str, &str); 3] = [
        (
            "kustomization.yaml",
            "resources: [deployment.yaml]\nconfigMapGenerator: [{name: jumphost, files: [start]}]\n",
        ),
        (
            "deployment.yaml",
            "kind: Deployment\nmetadata: {name: jumphost}\nspec: {selector: {matchLabels: {app: a}}, template: {metadata: \
             {labels: {app: a}}, spec: {containers: [{name: jumphost, command: [a]}], volumes: [{name: config, configMap: \
             {mode: 1}}]}}}\n",
        ),
        ("start", "a"),
    ];
    const OWN: [(&str, &str); 3] = [
        (
            "kustomization.yaml",
            "resources: [../shared, service.yaml]
labels: [{pairs: {instance: edge}, includeSelectors: true}]
configMapGenerator:
- {name: jumphost, behavior: merge, files: [key=keys]}
- {name: hosts, files: [hosts], options: {disableNameSuffixHash: true}}
patches:
- patch: |
    kind: Deployment
    metadata: {name: jumphost}
    spec: {replicas: 1, template: {spec: {containers: [{name: jumphost, image: a}], volumes: [{name: config, configMap: {name: m}}]}}}
- target: {name: jumphost}
  patch: '[{op: replace, path: /metadata/name, value: jumphost-edge}]'
",
        ),
        ("keys", "a"),
        ("hosts", "a"),
    ];

    fn texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Files<'a> {
        let named = texts.into_iter().map(|(name, text)| (Utf8Path::new(name), text));
        named.collect()
    }

    #[test]
    fn shared_files_and_those_of_the_service_are_one_build() {
        let built = ServiceBuild::new(&texts(SHARED), &texts(OWN));
        let expected = "kind: Deployment\nmetadata: {name: jumphost-edge, labels: {instance: edge}}\nspec: {selector: {matchLabels: {app: a, instance: edge}}, \
                        template: {metadata: {labels: {app: a, instance: edge}}, spec: {containers: [{name: jumphost, command: \
                        [a], image: a}], volumes: [{name: config, configMap: {mode: 1, name: m}}]}}, replicas: 1}\n";
        let expected: Value = yaml_serde::from_str(expected).unwrap();
        let key = ("Deployment".to_owned(), "jumphost-edge".to_owned());
        assert_eq!(built.objects, BTreeMap::from([(key, expected)]));
        let generated: Vec<_> = built
            .generated
            .iter()
            .map(|((name, key), entry)| (name.as_str(), key.as_str(), entry.hashed))
            .collect();
        assert_eq!(
            generated,
            [
                ("hosts", "hosts", false),
                ("jumphost-edge", "key", true),
                ("jumphost-edge", "start", true)
            ]
        );
        assert_eq!(built.read.len(), 3);
    }

    /// Reports whether the replacement of a text in a file, the service's own or a shared one,
    /// replaces pods.
    fn replaced(file: &str, from: &str, to: &str) -> bool {
        let (path, is_own) = match file.strip_prefix("shared/") {
            Some(path) => (path, false),
            None => (file, true),
        };
        let (_, text) =
            if is_own { OWN } else { SHARED }.into_iter().find(|(name, _)| *name == path).unwrap();
        let after = text.replace(from, to);
        assert_ne!(after, text);
        let side = |change: bool| {
            let with = |unchanged: [(&'static str, &'static str); 3], changes: bool| {
                let mut files = texts(unchanged);
                if changes {
                    files.insert(Utf8Path::new(path), &after);
                }
                files
            };
            ServiceBuild::new(&with(SHARED, change && !is_own), &with(OWN, change && is_own))
        };
        side(false).pods() != side(true).pods()
    }

    #[test]
    fn pods_are_replaced_by_another_template_and_another_text_of_what_they_mount() {
        for (file, from, to) in [
            ("shared/deployment.yaml", "[a]", "[b]"),
            ("shared/deployment.yaml", "labels: {app: a}", "labels: {app: b}"),
            ("shared/start", "a", "b"),
            ("keys", "a", "b"),
            ("kustomization.yaml", "image: a", "image: b"),
            ("kustomization.yaml", "key=keys", "other=keys"),
            ("kustomization.yaml", "instance: edge", "instance: other"),
            ("kustomization.yaml", "labels:", "images: [{name: a, newTag: b}]\nlabels:"),
        ] {
            assert!(replaced(file, from, to), "{file}: {to}");
        }
    }

    #[test]
    fn pods_stay_where_only_other_things_change() {
        for (file, from, to) in [
            ("shared/deployment.yaml", "kind:", "# A comment.\nkind:"),
            ("hosts", "a", "b"),
            ("kustomization.yaml", "service.yaml", "other.yaml"),
            ("kustomization.yaml", "replicas: 1", "replicas: 2"),
        ] {
            assert!(!replaced(file, from, to), "{file}: {to}");
        }
    }

    /// Returns the changed immutable fields of the objects in a text.
    fn immutable(before: &str, after: &str) -> Vec<String> {
        let side = |text| {
            let own = [("kustomization.yaml", "resources: [a.yaml]\n"), ("a.yaml", text)];
            ServiceBuild::new(&Files::new(), &texts(own))
        };
        side(after)
            .changed_immutable_fields(&side(before))
            .into_iter()
            .map(|change| format!("{} {} {}", change.kind, change.name, change.field))
            .collect()
    }

    #[test]
    fn a_changed_selector_is_an_immutable_field() {
        let deployment = |label: &str| {
            format!(
                "kind: Deployment\nmetadata: {{name: a}}\nspec: {{replicas: 1, selector: {{matchLabels: {{app: {label}}}}}}}\n"
            )
        };
        assert_eq!(immutable(&deployment("a"), &deployment("b")), ["Deployment a spec.selector"]);
        let more = deployment("a").replace("replicas: 1", "replicas: 2");
        assert!(immutable(&deployment("a"), &more).is_empty());
        let other = deployment("b").replace("name: a", "name: b");
        assert!(immutable(&deployment("a"), &other).is_empty());
    }

    #[test]
    fn objects_are_found_in_any_document_of_a_file() {
        let claim = |class: &str| {
            format!(
                "kind: Service\nmetadata: {{name: a}}\n---\nkind: PersistentVolumeClaim\nmetadata: {{name: a}}\nspec: {{storageClassName: {class}}}\n"
            )
        };
        assert_eq!(
            immutable(&claim("fast"), &claim("slow")),
            ["PersistentVolumeClaim a spec.storageClassName"]
        );
    }
}
