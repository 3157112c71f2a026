//! Every field of a kustomization and its type, from `api/types` of kustomize 5.8.
//!
//! kustomize matches field names case-insensitively and rejects unknown fields.

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Type {
    Text,
    Bool,
    Number,
    /// A mapping of texts.
    Texts,
    /// A mapping whose keys become keys of labels or annotations.
    Labels,
    /// A mapping of any values.
    Mapping,
    List(&'static Type),
    /// The fields of each type.
    Object(&'static [(Type, &'static [&'static str])]),
}

use Type::{Bool, Labels, List, Mapping, Number, Object, Text, Texts};

impl Type {
    /// Returns the field that a key matches, under kustomize's own name. An exact match wins.
    pub(crate) fn field(self, key: &str) -> Option<(&'static str, Self)> {
        let Object(types) = self else { return None };
        let fields = || types.iter().flat_map(|(of, names)| names.iter().map(|name| (*name, *of)));
        let exact = fields().find(|(name, _)| *name == key);
        exact.or_else(|| fields().find(|(name, _)| name.eq_ignore_ascii_case(key)))
    }
}

/// A whole kustomization.
pub(crate) const KUSTOMIZATION: Type = Object(&[
    (Text, &["kind", "apiVersion", "namespace", "namePrefix", "nameSuffix"]),
    (METADATA, &["metadata"]),
    (LIST, &["resources", "components", "crds", "configurations", "buildMetadata"]),
    (LIST, &["generators", "transformers", "validators"]),
    // Deprecated in favor of `resources` and `patches`.
    (LIST, &["bases", "patchesStrategicMerge"]),
    // `commonLabels` is deprecated in favor of `labels`.
    (Labels, &["commonLabels", "commonAnnotations"]),
    (List(&LABELS), &["labels"]),
    // `patchesJson6902` is deprecated in favor of `patches`.
    (List(&PATCH), &["patches", "patchesJson6902"]),
    // `imageTags` is the former name of `images`.
    (List(&IMAGE), &["images", "imageTags"]),
    (List(&REPLACEMENT), &["replacements"]),
    (List(&Object(&[(Text, &["name"]), (Number, &["count"])])), &["replicas"]),
    // Deprecated in favor of `replacements`.
    (List(&VARIABLE), &["vars"]),
    (Texts, &["openapi"]),
    (SORT_OPTIONS, &["sortOptions"]),
    (List(&CONFIG_MAP), &["configMapGenerator"]),
    (List(&SECRET), &["secretGenerator"]),
    (GENERATOR_OPTIONS, &["generatorOptions"]),
    (Object(&[(Text, &["chartHome", "configHome"])]), &["helmGlobals"]),
    (List(&HELM_CHART), &["helmCharts"]),
    // Deprecated in favor of `helmCharts`.
    (List(&OLD_HELM_CHART), &["helmChartInflationGenerator"]),
]);

const LIST: Type = List(&Text);

const METADATA: Type =
    Object(&[(Text, &["name", "namespace"]), (Texts, &["labels", "annotations"])]);

const LABELS: Type = Object(&[
    (Labels, &["pairs"]),
    (Bool, &["includeSelectors", "includeTemplates", "includeVolumeClaimTemplates"]),
    (List(&FIELD), &["fields"]),
]);

const FIELD: Type = Object(&[(Text, &["group", "version", "kind", "path"]), (Bool, &["create"])]);

const PATCH: Type = Object(&[
    (Text, &["path", "patch"]),
    (SELECTOR, &["target"]),
    (Object(&[(Bool, &["allowNameChange", "allowKindChange"])]), &["options"]),
]);

const SELECTOR: Type = Object(&[
    (Text, &["group", "version", "kind", "name", "namespace"]),
    (Text, &["annotationSelector", "labelSelector"]),
]);

const IMAGE: Type = Object(&[(Text, &["name", "newName", "tagSuffix", "newTag", "digest"])]);

const REPLACEMENT: Type = Object(&[
    (Text, &["path", "sourceValue"]),
    (SOURCE, &["source"]),
    (List(&TARGET), &["targets"]),
]);

const SOURCE: Type = Object(&[
    (Text, &["group", "version", "kind", "name", "namespace", "fieldPath"]),
    (FIELD_OPTIONS, &["options"]),
]);

const TARGET: Type = Object(&[
    (SELECTOR, &["select"]),
    (List(&SELECTOR), &["reject"]),
    (LIST, &["fieldPaths"]),
    (FIELD_OPTIONS, &["options"]),
]);

const FIELD_OPTIONS: Type =
    Object(&[(Text, &["delimiter", "encoding"]), (Number, &["index"]), (Bool, &["create"])]);

const VARIABLE: Type = Object(&[
    (Text, &["name"]),
    (OBJECT, &["objref"]),
    (Object(&[(Text, &["fieldPath"])]), &["fieldref"]),
]);

const OBJECT: Type =
    Object(&[(Text, &["apiVersion", "group", "version", "kind", "name", "namespace"])]);

const SORT_OPTIONS: Type = Object(&[
    (Text, &["order"]),
    (Object(&[(LIST, &["orderFirst", "orderLast"])]), &["legacySortOptions"]),
]);

const GENERATOR_OPTIONS: Type =
    Object(&[(Texts, &["labels", "annotations"]), (Bool, &["disableNameSuffixHash", "immutable"])]);

const CONFIG_MAP: Type = Object(&[
    (Text, &["namespace", "name", "behavior", "env"]),
    (LIST, &["literals", "files", "envs"]),
    (GENERATOR_OPTIONS, &["options"]),
]);

const SECRET: Type = Object(&[
    (Text, &["namespace", "name", "behavior", "env", "type"]),
    (LIST, &["literals", "files", "envs"]),
    (GENERATOR_OPTIONS, &["options"]),
]);

const HELM_CHART: Type = Object(&[
    (Text, &["name", "version", "repo", "releaseName", "namespace", "nameTemplate"]),
    (Text, &["kubeVersion", "valuesFile", "valuesMerge"]),
    (LIST, &["additionalValuesFiles", "apiVersions"]),
    (Mapping, &["valuesInline"]),
    (Bool, &["includeCRDs", "skipHooks", "skipTests", "debug", "devel"]),
]);

const OLD_HELM_CHART: Type = Object(&[
    (Text, &["chartName", "chartVersion", "chartRepoUrl", "chartHome", "chartRepoName"]),
    (Text, &["helmBin", "helmHome", "values", "valuesMerge", "releaseName", "releaseNamespace"]),
    (Mapping, &["valuesLocal"]),
    (LIST, &["extraArgs"]),
]);
