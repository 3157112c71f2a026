//! Fields of agents' objects that change what they build.

use camino::Utf8PathBuf;
use yaml_serde::{Mapping, Value};

use crate::base::api::gitops::{FluxKustomization, KustomizeSource, PostBuild};
use crate::base::api::kustomization::Kustomization;
use crate::base::finding::{Origin, Place, RouteMapping, RouteStep};

/// Changes of an agent's object to what it builds.
pub(crate) struct BuildChanges {
    /// Directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// Its position. Routes are those of the kustomization.
    pub(crate) origin: Origin,
    /// Fields that are those of a kustomization, or the reason why they are unknown.
    pub(crate) kustomization: Result<Kustomization, String>,
    /// Place of the fields.
    pub(crate) place: Place,
    /// Flux: labels and annotations for built objects.
    pub(crate) common_metadata: Option<Value>,
    /// Flux: variables for built objects.
    pub(crate) post_build: Option<PostBuild>,
    /// Namespace of the object, if set.
    pub(crate) namespace: Option<String>,
    /// Set if a directory without a kustomization is built.
    pub(crate) is_autodetected: bool,
}

impl BuildChanges {
    pub(super) fn from_flux(
        directory: &Utf8PathBuf,
        origin: &Origin,
        object: &FluxKustomization,
    ) -> Self {
        let spec = &object.spec;
        let mut fields = Mapping::new();
        insert(&mut fields, "patches", spec.patches.as_ref());
        insert_list(&mut fields, "components", spec.components.as_deref());
        // A kustomization has texts where these lists have objects.
        let (mut merged, mut operations) =
            (spec.patches_strategic_merge.clone(), spec.patches_json6902.clone());
        items(&mut merged).for_each(write_text);
        items(&mut operations).filter_map(|entry| entry.get_mut("patch")).for_each(write_text);
        insert(&mut fields, "patchesStrategicMerge", merged.as_ref());
        insert(&mut fields, "patchesJson6902", operations.as_ref());
        BuildChanges {
            directory: directory.clone(),
            origin: moved(origin, &["spec".into()], "targetNamespace"),
            kustomization: kustomization(
                fields,
                [&spec.target_namespace, &spec.name_prefix, &spec.name_suffix],
                spec.ignore_missing_components,
            ),
            place: origin.at(["spec"]),
            common_metadata: spec.common_metadata.clone(),
            post_build: spec.post_build.clone(),
            namespace: object.metadata.namespace.clone(),
            is_autodetected: true,
        }
    }

    /// `route` leads to the options for kustomize.
    pub(super) fn from_argocd(
        directory: &Utf8PathBuf,
        origin: &Origin,
        route: &[RouteStep],
        options: &KustomizeSource,
    ) -> Self {
        let mut fields = Mapping::new();
        insert(&mut fields, "patches", options.patches.as_ref());
        // Their counts concern no kind that sipgen reads.
        let mut replicas = options.replicas.clone();
        items(&mut replicas).filter_map(Value::as_mapping_mut).for_each(|entry| {
            entry.remove("count");
        });
        insert(&mut fields, "replicas", replicas.as_ref());
        insert_list(&mut fields, "components", options.components.as_deref());
        insert(&mut fields, "commonAnnotations", options.common_annotations.as_ref());
        // Whether selectors change as well matters for no kind that sipgen reads.
        insert(&mut fields, "commonLabels", options.common_labels.as_ref());
        let kustomization = kustomization(
            fields,
            [&options.namespace, &options.name_prefix, &options.name_suffix],
            options.ignore_missing_components,
        );
        let unforced = [
            ("commonLabels", !options.force_common_labels && !options.label_without_selector),
            ("commonAnnotations", !options.force_common_annotations),
        ];
        let unforced = unforced.into_iter().filter_map(|(field, is)| is.then_some(field)).collect();
        BuildChanges {
            directory: directory.clone(),
            origin: moved(origin, route, "namespace"),
            kustomization: kustomization.map(|read| Kustomization { unforced, ..read }),
            place: origin.at(route.to_vec()),
            common_metadata: None,
            post_build: None,
            namespace: None,
            is_autodetected: false,
        }
    }
}

fn insert(fields: &mut Mapping, field: &str, value: Option<&Value>) {
    if let Some(value) = value.filter(|value| !value.is_null()) {
        fields.insert(Value::from(field), value.clone());
    }
}

fn items(list: &mut Option<Value>) -> impl Iterator<Item = &mut Value> {
    list.iter_mut().filter_map(Value::as_sequence_mut).flatten()
}

fn write_text(value: &mut Value) {
    *value = yaml_serde::to_string(value).unwrap_or_default().into();
}

fn insert_list(fields: &mut Mapping, field: &str, list: Option<&[String]>) {
    let list = list.map(|list| list.iter().map(|entry| Value::from(entry.as_str())).collect());
    insert(fields, field, list.map(Value::Sequence).as_ref());
}

/// Reads the fields as those of a kustomization: `names` are the namespace, the prefix and the
/// suffix. Argo CD replaces variables in labels and annotations, and placeholders everywhere.
fn kustomization(
    fields: Mapping,
    names: [&Option<String>; 3],
    ignores_missing_components: bool,
) -> Result<Kustomization, String> {
    let has = |value: Option<&Value>, mark: &str| {
        value
            .is_some_and(|value| yaml_serde::to_string(value).is_ok_and(|text| text.contains(mark)))
    };
    if ["commonLabels", "commonAnnotations"].into_iter().any(|field| has(fields.get(field), "$")) {
        return Err("its labels or annotations have variables of Argo CD".to_owned());
    }
    let fields = Value::Mapping(fields);
    let is_open = |name: &String| name.contains("{{");
    if has(Some(&fields), "{{") || names.into_iter().flatten().any(is_open) {
        return Err("it has placeholders without values in the repo".to_owned());
    }
    let read: Kustomization = yaml_serde::from_value(fields).map_err(|error| error.to_string())?;
    let [namespace, name_prefix, name_suffix] = names.map(Clone::clone);
    Ok(Kustomization { ignores_missing_components, namespace, name_prefix, name_suffix, ..read })
}

/// Returns the position of an object whose routes continue at `route`, and whose field for the
/// namespace is `namespace`.
fn moved(origin: &Origin, route: &[RouteStep], namespace: &str) -> Origin {
    let mut moved = RouteMapping::default();
    moved.add(Vec::new(), route.to_vec());
    moved.add(vec!["namespace".into()], [route, &[namespace.into()]].concat());
    origin.clone().read_as(moved)
}
