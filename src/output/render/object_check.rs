//! Checks of the objects that outputs render.

use std::collections::HashMap;
use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use super::Templates;
use crate::base::api::group;
use crate::base::api::host;
use crate::base::api::kustomization::Kustomization;
use crate::base::api::names::{Namespace, ObjectName};
use crate::base::finding::{Code, Finding};
use crate::base::layout;
use crate::base::text::yaml;
use crate::input::kustomize::is_cluster_scoped;
use crate::input::load;
use crate::input::settings::outputs::OutputScope;
use crate::site::Site;

/// An object that an output renders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RenderedObject {
    identity: ObjectIdentity,
    /// Set if kustomize replaces it by its items.
    is_list: bool,
    /// Its file, relative to the output directory.
    file: Utf8PathBuf,
    bytes: usize,
}

/// Maximum size of an object: that of a request to etcd is 1.5 MiB, and managed fields need room.
const MOST_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ObjectIdentity {
    group: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

/// Kinds whose deletion deletes more than the object, by group.
const TOO_LARGE: [(&str, &str, &str); 3] = [
    (host::GROUP, host::KIND, "deleting a host powers its machine off"),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "deleting it deletes all objects of its kind",
    ),
    ("", "Namespace", "deleting it deletes all objects in it"),
];

/// Groups whose objects may have names that are no DNS names.
const WITH_FREE_NAMES: [&str; 1] = ["rbac.authorization.k8s.io"];

/// Custom kinds without a namespace. kustomize does not know these.
const CLUSTER_WIDE: [&str; 2] = ["ClusterIssuer", "ClusterSecretStore"];

impl fmt::Display for ObjectIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, .. } = self;
        match namespace {
            Some(namespace) => write!(f, "{kind} `{namespace}/{name}`"),
            None => write!(f, "{kind} `{name}`"),
        }
    }
}

/// Returns the objects in a rendered file.
pub(super) fn objects(file: &Utf8Path, text: &str) -> Vec<RenderedObject> {
    let documents = load::texts_of_documents(text);
    let read = documents.filter_map(|text| Some((text.len(), yaml::from_str::<Value>(text).ok()?)));
    let object = |(bytes, object): (usize, Value)| {
        let text = |field: &str| object.get(field)?.as_str().map(str::to_owned);
        let metadata =
            |field: &str| object.get("metadata")?.get(field)?.as_str().map(str::to_owned);
        let kind = text("kind").unwrap_or_default();
        RenderedObject {
            bytes,
            is_list: kind.ends_with("List")
                && object.get("items").is_some_and(|items| !items.is_null()),
            identity: ObjectIdentity {
                group: group(&text("apiVersion").unwrap_or_default()).to_owned(),
                kind,
                namespace: metadata("namespace"),
                name: metadata("name").unwrap_or_default(),
            },
            file: file.to_owned(),
        }
    };
    read.filter(|(_, object)| object.is_mapping()).map(object).collect()
}

impl RenderedObject {
    /// Returns why an output must not render the object, with help.
    pub(super) fn mistake(
        &self,
        must_name_namespace: bool,
        scope: OutputScope,
    ) -> Option<(String, String)> {
        let ObjectIdentity { group, kind, namespace, name } = &self.identity;
        let is_same = |(other, large, _): &&(&str, &str, &str)| group == other && kind == large;
        if let Some((.., reason)) = TOO_LARGE.iter().find(is_same) {
            let help =
                format!("create it elsewhere: agents delete what leaves an output, and {reason}");
            return Some((format!("an object of kind {kind}"), help));
        }
        if self.is_list {
            let help = "render one document per object".to_owned();
            return Some((format!("a list of kind {kind}"), help));
        }
        if !WITH_FREE_NAMES.contains(&group.as_str())
            && let Err(reason) = name.parse::<ObjectName>()
        {
            let help =
                "use at most 253 of `a-z`, `0-9`, `-` and `.`, a letter or digit at both ends";
            return Some((format!("the {kind} `{name}`, whose name {reason}"), help.to_owned()));
        }
        if self.bytes > MOST_BYTES {
            let problem =
                format!("the {kind} `{name}` with {} bytes; the limit is {MOST_BYTES}", self.bytes);
            return Some((problem, "split it into several objects".to_owned()));
        }
        match namespace {
            Some(namespace) => {
                let reason = namespace.parse::<Namespace>().err()?;
                let problem =
                    format!("the {kind} `{name}`, whose namespace `{namespace}` {reason}");
                Some((problem, "use at most 63 of `a-z`, `0-9` and `-`".to_owned()))
            }
            None if must_name_namespace
                && !is_cluster_scoped(group, kind)
                && !CLUSTER_WIDE.contains(&kind.as_str()) =>
            {
                let namespace = match scope {
                    OutputScope::Cluster | OutputScope::Host => "{{ cluster.namespace }}",
                    OutputScope::Site => "NAMESPACE",
                };
                let help = format!(
                    "write `namespace: {namespace}` below `metadata`; if the kind has no namespace, add a template \
                     `kustomization.yaml` with `resources: {{{{ files }}}}`"
                );
                Some((format!("the {kind} `{name}` without a namespace"), help))
            }
            None => None,
        }
    }
}

/// Gives objects the namespace of the kustomization of an output. Those that only further
/// kustomizations of its own may give are unknown, and their objects are left out.
pub(super) fn resolve_namespaces(
    objects: &mut Vec<RenderedObject>,
    kustomization: Option<&String>,
) {
    // Most directories have no such objects, and reading takes long.
    let kustomization = kustomization.filter(|_| !objects.is_empty());
    let read = kustomization.and_then(|text| yaml::from_str::<Kustomization>(text).ok());
    if let Some(namespace) = read.and_then(|read| read.namespace) {
        for object in &mut *objects {
            object.identity.namespace = Some(namespace.clone());
        }
    }
    objects.retain(|object| object.identity.namespace.is_some());
}

/// Reports objects that two files render: their agents would overwrite and delete each other's.
pub(super) fn duplicates(
    site: &Site,
    templates: &Templates,
    objects: &[RenderedObject],
) -> Vec<Finding> {
    let mut first: HashMap<&ObjectIdentity, &Utf8Path> = HashMap::with_capacity(objects.len());
    let mut findings = Vec::new();
    for RenderedObject { identity, file, .. } in objects {
        let Some(other) = first.insert(identity, file) else { continue };
        let [one, two] = [other, file].map(|file| site.settings.output.join(file));
        let message = format!("{one} and {two} would both have {identity}");
        let finding = Finding::new(Code::InvalidManifest, message).help(
            "give each object the name of its cluster or host: `{{ cluster.name ~ \"-dns\" }}`",
        );
        let finding = templates.at_own(finding, file);
        let clusters = [other, file.as_path()].into_iter().filter_map(layout::cluster_of);
        findings.push(clusters.fold(finding, |finding, cluster| finding.for_cluster(&cluster)));
    }
    findings
}
