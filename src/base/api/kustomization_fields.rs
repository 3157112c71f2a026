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
    Object(&'static [(&'static str, Type)]),
}

use Type::{Bool, Labels, List, Mapping, Number, Object, Text, Texts};

impl Type {
    /// Returns the field that a key matches, under kustomize's own name. An exact match wins.
    pub(crate) fn field(self, key: &str) -> Option<&'static (&'static str, Self)> {
        let Object(fields) = self else { return None };
        let exact = fields.iter().find(|(name, _)| *name == key);
        exact.or_else(|| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)))
    }
}

/// A whole kustomization.
pub(crate) const KUSTOMIZATION: Type = Object(&[
    ("kind", Text),
    ("apiVersion", Text),
    ("metadata", METADATA),
    ("openapi", Texts),
    ("namePrefix", Text),
    ("nameSuffix", Text),
    ("namespace", Text),
    // Deprecated in favor of `labels`.
    ("commonLabels", Labels),
    ("labels", List(&LABELS)),
    ("commonAnnotations", Labels),
    // Both deprecated in favor of `patches`.
    ("patchesStrategicMerge", LIST),
    ("patchesJson6902", List(&PATCH)),
    ("patches", List(&PATCH)),
    ("images", List(&IMAGE)),
    // The former name of `images`.
    ("imageTags", List(&IMAGE)),
    ("replacements", List(&REPLACEMENT)),
    ("replicas", List(&Object(&[("name", Text), ("count", Number)]))),
    // Deprecated in favor of `replacements`.
    ("vars", List(&VARIABLE)),
    ("sortOptions", SORT_OPTIONS),
    ("resources", LIST),
    ("components", LIST),
    ("crds", LIST),
    // Deprecated in favor of `resources`.
    ("bases", LIST),
    ("configMapGenerator", List(&CONFIG_MAP)),
    ("secretGenerator", List(&SECRET)),
    ("helmGlobals", Object(&[("chartHome", Text), ("configHome", Text)])),
    ("helmCharts", List(&HELM_CHART)),
    // Deprecated in favor of `helmCharts`.
    ("helmChartInflationGenerator", List(&OLD_HELM_CHART)),
    ("generatorOptions", GENERATOR_OPTIONS),
    ("configurations", LIST),
    ("generators", LIST),
    ("transformers", LIST),
    ("validators", LIST),
    ("buildMetadata", LIST),
]);

const LIST: Type = List(&Text);

const METADATA: Type =
    Object(&[("name", Text), ("namespace", Text), ("labels", Texts), ("annotations", Texts)]);

const LABELS: Type = Object(&[
    ("pairs", Labels),
    ("includeSelectors", Bool),
    ("includeTemplates", Bool),
    ("includeVolumeClaimTemplates", Bool),
    ("fields", List(&FIELD)),
]);

const FIELD: Type =
    Object(&[("group", Text), ("version", Text), ("kind", Text), ("path", Text), ("create", Bool)]);

const PATCH: Type = Object(&[
    ("path", Text),
    ("patch", Text),
    ("target", SELECTOR),
    ("options", Object(&[("allowNameChange", Bool), ("allowKindChange", Bool)])),
]);

const SELECTOR: Type = Object(&[
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("name", Text),
    ("namespace", Text),
    ("annotationSelector", Text),
    ("labelSelector", Text),
]);

const IMAGE: Type = Object(&[
    ("name", Text),
    ("newName", Text),
    ("tagSuffix", Text),
    ("newTag", Text),
    ("digest", Text),
]);

const REPLACEMENT: Type = Object(&[
    ("path", Text),
    ("source", SOURCE),
    ("targets", List(&TARGET)),
    ("sourceValue", Text),
]);

const SOURCE: Type = Object(&[
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("name", Text),
    ("namespace", Text),
    ("fieldPath", Text),
    ("options", FIELD_OPTIONS),
]);

const TARGET: Type = Object(&[
    ("select", SELECTOR),
    ("reject", List(&SELECTOR)),
    ("fieldPaths", LIST),
    ("options", FIELD_OPTIONS),
]);

const FIELD_OPTIONS: Type =
    Object(&[("delimiter", Text), ("index", Number), ("encoding", Text), ("create", Bool)]);

const VARIABLE: Type = Object(&[
    ("name", Text),
    (
        "objref",
        Object(&[
            ("apiVersion", Text),
            ("group", Text),
            ("version", Text),
            ("kind", Text),
            ("name", Text),
            ("namespace", Text),
        ]),
    ),
    ("fieldref", Object(&[("fieldPath", Text)])),
]);

const SORT_OPTIONS: Type = Object(&[
    ("order", Text),
    ("legacySortOptions", Object(&[("orderFirst", LIST), ("orderLast", LIST)])),
]);

const GENERATOR_OPTIONS: Type = Object(&[
    ("labels", Texts),
    ("annotations", Texts),
    ("disableNameSuffixHash", Bool),
    ("immutable", Bool),
]);

const CONFIG_MAP: Type = Object(&[
    ("namespace", Text),
    ("name", Text),
    ("behavior", Text),
    ("literals", LIST),
    ("files", LIST),
    ("envs", LIST),
    ("env", Text),
    ("options", GENERATOR_OPTIONS),
]);

const SECRET: Type = Object(&[
    ("namespace", Text),
    ("name", Text),
    ("behavior", Text),
    ("literals", LIST),
    ("files", LIST),
    ("envs", LIST),
    ("env", Text),
    ("options", GENERATOR_OPTIONS),
    ("type", Text),
]);

const HELM_CHART: Type = Object(&[
    ("name", Text),
    ("version", Text),
    ("repo", Text),
    ("releaseName", Text),
    ("namespace", Text),
    ("additionalValuesFiles", LIST),
    ("valuesFile", Text),
    ("valuesInline", Mapping),
    ("valuesMerge", Text),
    ("includeCRDs", Bool),
    ("skipHooks", Bool),
    ("apiVersions", LIST),
    ("kubeVersion", Text),
    ("nameTemplate", Text),
    ("skipTests", Bool),
    ("debug", Bool),
    ("devel", Bool),
]);

const OLD_HELM_CHART: Type = Object(&[
    ("chartName", Text),
    ("chartVersion", Text),
    ("chartRepoUrl", Text),
    ("chartHome", Text),
    ("chartRepoName", Text),
    ("helmBin", Text),
    ("helmHome", Text),
    ("values", Text),
    ("valuesLocal", Mapping),
    ("valuesMerge", Text),
    ("releaseName", Text),
    ("releaseNamespace", Text),
    ("extraArgs", LIST),
]);
