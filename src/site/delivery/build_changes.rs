//! Fields of agents' objects that change what they build.

use camino::Utf8PathBuf;
use yaml_serde::{Mapping, Value};

use super::overrides::OverriddenSource;
use crate::base::api::gitops::{FluxKustomization, KustomizeSource, PostBuild};
use crate::base::api::kustomization::Kustomization;
use crate::base::finding::{Origin, Place, RouteMapping, RouteStep};
use crate::input::kustomize::AgentBuild;

/// Changes of an agent's object to what it builds.
pub(crate) struct BuildChanges {
    /// Changes that the object itself has.
    pub(crate) build: AgentBuild,
    /// Flux: variables for built objects.
    pub(crate) post_build: Option<PostBuild>,
    /// Namespace of the object, if set.
    pub(crate) namespace: Option<String>,
    /// Set if a directory without a kustomization is built.
    pub(crate) is_autodetected: bool,
}

impl BuildChanges {
    pub(super) fn from_flux(
        by: String,
        directory: Utf8PathBuf,
        origin: &Origin,
        object: &FluxKustomization,
    ) -> Self {
        let spec = &object.spec;
        // A kustomization has texts where these lists have objects.
        let (mut merged, mut operations) =
            (spec.patches_strategic_merge.clone(), spec.patches_json6902.clone());
        items(merged.as_mut()).for_each(write_text);
        items(operations.as_mut()).filter_map(|entry| entry.get_mut("patch")).for_each(write_text);
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let components = spec.components.clone().map(Value::from);
        let fields = [
            ("namespace", text(&spec.target_namespace)),
            ("namePrefix", text(&spec.name_prefix)),
            ("nameSuffix", text(&spec.name_suffix)),
            ("patches", spec.patches.clone()),
            ("components", components),
            ("patchesStrategicMerge", merged),
            ("patchesJson6902", operations),
        ];
        let fields = fields.into_iter().filter_map(|(field, value)| Some((field.into(), value?)));
        let moved = moved(origin, &["spec".into()], "targetNamespace");
        let kustomization = kustomization(fields.collect(), spec.ignore_missing_components);
        let place = origin.at(["spec"]);
        let mut build = AgentBuild::new(by, moved, directory, kustomization, place);
        spec.common_metadata.iter().for_each(|metadata| build.set_common_metadata(metadata));
        BuildChanges {
            build,
            post_build: spec.post_build.clone(),
            namespace: object.metadata.namespace.clone(),
            is_autodetected: true,
        }
    }

    /// `route` leads to the options for kustomize, which may be those of an overriding file.
    pub(super) fn from_argocd(
        by: String,
        directory: Utf8PathBuf,
        origin: &Origin,
        route: &[RouteStep],
        overridden: Option<&OverriddenSource>,
        options: &KustomizeSource,
    ) -> Self {
        // Changes of selectors matter for no kind that sipgen reads.
        let fields = yaml_serde::to_value(options).unwrap_or_default();
        let mut fields: Mapping = yaml_serde::from_value(fields).unwrap_or_default();
        // Their counts concern no kind that sipgen reads.
        items(fields.get_mut("replicas")).filter_map(Value::as_mapping_mut).for_each(|entry| {
            entry.remove("count");
        });
        let kustomization = kustomization(fields, options.ignore_missing_components);
        let unforced = [
            ("commonLabels", !options.force_common_labels && !options.label_without_selector),
            ("commonAnnotations", !options.force_common_annotations),
        ];
        let unforced = unforced.into_iter().filter_map(|(field, is)| is.then_some(field)).collect();
        let kustomization = kustomization.map(|read| Kustomization { unforced, ..read });
        let place = match overridden {
            Some(OverriddenSource { file, .. }) => Place::File(file.as_path().into()),
            None => origin.at(route.to_vec()),
        };
        let moved = moved(origin, route, "namespace");
        let build = AgentBuild::new(by, moved, directory, kustomization, place);
        BuildChanges { build, post_build: None, namespace: None, is_autodetected: false }
    }
}

fn items(list: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    list.and_then(Value::as_sequence_mut).into_iter().flatten()
}

fn write_text(value: &mut Value) {
    *value = yaml_serde::to_string(value).unwrap_or_default().into();
}

/// Reads the fields as those of a kustomization. Argo CD replaces variables in labels and
/// annotations, and placeholders everywhere.
fn kustomization(
    mut fields: Mapping,
    ignores_missing_components: bool,
) -> Result<Kustomization, String> {
    fields.retain(|_, value| !value.is_null());
    let has = |value: &Value, mark: &str| {
        yaml_serde::to_string(value).is_ok_and(|text| text.contains(mark))
    };
    let mut with_variables = ["commonLabels", "commonAnnotations"].into_iter();
    if with_variables.any(|field| fields.get(field).is_some_and(|value| has(value, "$"))) {
        return Err("its labels or annotations have variables of Argo CD".to_owned());
    }
    let fields = Value::Mapping(fields);
    if has(&fields, "{{") {
        return Err("it has placeholders without values in the repo".to_owned());
    }
    let read: Kustomization = yaml_serde::from_value(fields).map_err(|error| error.to_string())?;
    Ok(Kustomization { ignores_missing_components, ..read })
}

/// Returns the position of an object whose routes continue at `route`, and whose field for the
/// namespace is `namespace`.
fn moved(origin: &Origin, route: &[RouteStep], namespace: &str) -> Origin {
    let mut moved = RouteMapping::default();
    moved.add(Vec::new(), route.to_vec());
    moved.add(vec!["namespace".into()], [route, &[namespace.into()]].concat());
    origin.clone().read_as(moved)
}
