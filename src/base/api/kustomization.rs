//! `kustomization.yaml`, limited to the fields that decide which files a build reaches, and how the
//! objects in them are named.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::Value;

use super::unique;
use crate::base::text::non_empty;
use crate::base::text::visible::yaml_text;

/// The file names of a kustomization.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The annotation of objects that kustomize leaves out of builds, unless it is `false`.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// Returns whether a file has the name of a kustomization.
pub fn is_kustomization(file: &Utf8Path) -> bool {
    file.file_name().is_some_and(|name| FILE_NAMES.contains(&name))
}

/// Formats a path as a list item. Plain characters need no quotes, because the slash or the file
/// extension makes the scalar a text.
pub fn listed(path: &str) -> String {
    let is_plain =
        path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    if is_plain { path.to_owned() } else { yaml_text(path) }
}

/// A Kustomization or Component.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kustomization {
    /// `Component` for a component, which only works inside another build; usually absent.
    pub kind: Option<String>,
    /// The namespace that overrides the namespace of every namespaced object.
    pub namespace: Option<String>,
    /// The prefix of every object's name.
    pub name_prefix: Option<String>,
    /// The suffix of every object's name.
    pub name_suffix: Option<String>,
    /// Labels for every object of the build.
    pub labels: Option<Vec<Labels>>,
    /// The legacy form of labels, which also changes selectors.
    #[serde(deserialize_with = "unique::optional")]
    pub common_labels: Option<BTreeMap<String, Value>>,
    /// Annotations for every object of the build.
    #[serde(deserialize_with = "unique::optional")]
    pub common_annotations: Option<BTreeMap<String, Value>>,
    /// Files, directories and remote bases.
    pub resources: Option<Vec<String>>,
    /// Directories; legacy, now part of `resources`.
    pub bases: Option<Vec<String>>,
    /// Directories of components.
    pub components: Option<Vec<String>>,
    /// Set if an agent leaves out those of its components that do not exist.
    #[serde(skip)]
    pub ignores_missing_components: bool,
    /// Fields with keys that an agent does not add if the kustomization has them.
    #[serde(skip)]
    pub unforced: Vec<&'static str>,
    /// Patches. Their files matter, because a patch looks like a manifest of a host.
    pub patches: Option<Vec<Patch>>,
    /// The legacy form of strategic merge patches: paths or inline text.
    pub patches_strategic_merge: Option<Vec<String>>,
    /// The legacy form of JSON patches.
    #[serde(rename = "patchesJson6902")]
    pub patches_json6902: Option<Vec<Patch>>,
    /// Plugins and configurations that change objects in any way: paths or inline text.
    pub transformers: Option<Vec<String>>,
    /// Plugins that check objects: paths or inline text.
    pub validators: Option<Vec<String>>,
    /// Files with OpenAPI definitions of custom resources.
    pub crds: Option<Vec<String>>,
    /// Order of the objects of a build.
    pub sort_options: Option<BTreeMap<String, Value>>,
    /// Replica counts of objects.
    pub replicas: Option<Vec<Value>>,
    /// Variables; the legacy form of replacements.
    pub vars: Option<Vec<Value>>,
    /// Replacements, which copy values between objects.
    pub replacements: Option<Vec<Value>>,
    /// Files that declare which fields hold names, labels and references.
    pub configurations: Option<Vec<String>>,
    /// The OpenAPI schema by which patches are merged.
    pub openapi: Option<BTreeMap<String, Value>>,
    /// Plugins and configurations that generate objects of any kind: paths or inline text.
    pub generators: Option<Vec<String>>,
    /// Helm charts.
    pub helm_charts: Option<Vec<IgnoredAny>>,
    /// The legacy form of Helm charts.
    pub helm_chart_inflation_generator: Option<Vec<IgnoredAny>>,
    /// Generators of Secrets.
    pub secret_generator: Option<Vec<KustomizeGenerator>>,
    /// Generators of ConfigMaps.
    pub config_map_generator: Option<Vec<KustomizeGenerator>>,
    /// Default options of all generators.
    pub generator_options: Option<GeneratorOptions>,
}

/// Returns whether a list has an entry.
pub(crate) fn has<T>(list: &Option<Vec<T>>) -> bool {
    list.as_ref().is_some_and(|list| !list.is_empty())
}

/// Returns whether an entry of `generators`, `transformers` or `validators` is no path.
pub(crate) fn is_inline(entry: &str) -> bool {
    entry.contains('\n') || entry.trim_start().starts_with('{')
}

impl Kustomization {
    /// Returns all generators, each with its list and its index there.
    pub fn all_generators(
        &self,
    ) -> impl Iterator<Item = (&'static str, usize, &KustomizeGenerator)> {
        let lists = [
            ("configMapGenerator", &self.config_map_generator),
            ("secretGenerator", &self.secret_generator),
        ];
        lists.into_iter().flat_map(|(list, generators)| {
            let generators = generators.iter().flatten().enumerate();
            generators.map(move |(index, generator)| (list, index, generator))
        })
    }

    /// Returns the fields whose objects other programs make.
    pub(crate) fn made_elsewhere(&self) -> impl Iterator<Item = &'static str> {
        let fields = [
            ("generators", has(&self.generators)),
            ("helmCharts", has(&self.helm_charts)),
            ("helmChartInflationGenerator", has(&self.helm_chart_inflation_generator)),
        ];
        fields.into_iter().filter_map(|(name, is_present)| is_present.then_some(name))
    }

    /// Returns whether it sets names or namespaces of all objects.
    pub(crate) fn sets_names(&self) -> bool {
        let fields = [&self.namespace, &self.name_prefix, &self.name_suffix];
        fields.into_iter().any(|field| non_empty(field).is_some())
    }

    /// Returns a field that may change names or namespaces beyond prefixes, suffixes and
    /// `namespace`, if there is one. `text` returns the content of a patch's file by its path.
    pub fn field_that_may_rename(
        &self,
        text: impl Fn(&str) -> Option<String>,
    ) -> Option<&'static str> {
        let may_rename = |patches: &Option<Vec<Patch>>| {
            patches.iter().flatten().any(|patch| patch.may_rename(&text))
        };
        let fields = [
            ("transformers", has(&self.transformers)),
            ("replacements", has(&self.replacements)),
            ("patches", may_rename(&self.patches)),
            ("patchesJson6902", may_rename(&self.patches_json6902)),
        ];
        let mut own = fields.into_iter().filter_map(|(name, is_set)| is_set.then_some(name));
        self.made_elsewhere().next().or_else(|| own.next())
    }
}

/// Labels for every object of a build.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Labels {
    /// The labels.
    #[serde(default, deserialize_with = "unique::optional")]
    pub pairs: Option<BTreeMap<String, Value>>,
    /// Additional fields to set the labels in.
    pub fields: Option<Vec<IgnoredAny>>,
}

/// A generator of a Secret or ConfigMap from files and literals. `envs` hold single lines, so they
/// cannot hold realistic network data.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct KustomizeGenerator {
    /// The object's name without the hash suffix.
    pub name: Option<String>,
    /// The object's namespace, unless a kustomization overrides it.
    pub namespace: Option<String>,
    /// `create`, `merge` or `replace`.
    pub behavior: Option<String>,
    /// Files, as `key=path`, or as a path whose file name is the key.
    pub files: Option<Vec<String>>,
    /// Texts, as `key=text`.
    pub literals: Option<Vec<String>>,
    /// Files with lines `key=text`.
    pub envs: Option<Vec<String>>,
    /// The legacy form of `envs`, with a single file.
    pub env: Option<String>,
    /// The type of the Secret.
    #[serde(rename = "type")]
    pub secret_type: Option<String>,
    /// Options of this generator.
    pub options: Option<GeneratorOptions>,
}

/// Options of a generator.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// Labels of the object.
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the object.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Set if the name gets no hash suffix.
    pub disable_name_suffix_hash: Option<bool>,
    /// Set if the object is immutable.
    pub immutable: Option<bool>,
}

/// The source of a generator's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratorValue<'a> {
    /// A file, relative to the kustomization.
    File(&'a str),
    /// The text itself.
    Literal(&'a str),
}

impl KustomizeGenerator {
    /// Returns whether it changes an existing object instead of creating one.
    pub fn overrides(&self) -> bool {
        matches!(self.behavior.as_deref(), Some("merge" | "replace"))
    }

    /// Returns the paths of its files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.env_files().chain(self.keyed_files().map(|(_, path)| path))
    }

    /// Returns the paths of files with lines `key=text`.
    pub fn env_files(&self) -> impl Iterator<Item = &str> {
        self.envs.iter().flatten().chain(&self.env).map(String::as_str)
    }

    /// Returns the keys and paths of files with one value.
    pub fn keyed_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().flatten().map(|file| {
            let named = || (Utf8Path::new(file).file_name().unwrap_or_default(), file.as_str());
            file.split_once('=').unwrap_or_else(named)
        })
    }

    /// Returns the value of the first of `keys` that exists, with its field and its index in that
    /// field's list.
    pub fn value(&self, keys: &[&str]) -> Option<(&'static str, usize, GeneratorValue<'_>)> {
        let files = self.keyed_files().enumerate();
        let files =
            files.map(|(index, (key, path))| (key, ("files", index, GeneratorValue::File(path))));
        let literals = self.literals.iter().flatten().enumerate().filter_map(|(index, literal)| {
            let (key, text) = literal.split_once('=')?;
            Some((key, ("literals", index, GeneratorValue::Literal(unquoted(text)))))
        });
        let all: Vec<_> = files.chain(literals).collect();
        let found = keys.iter().find_map(|key| all.iter().find(|(name, _)| name == key));
        found.map(|(_, value)| *value)
    }
}

/// Removes a pair of quotes, as kustomize does for literals.
pub(crate) fn unquoted(text: &str) -> &str {
    let without = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    without('"').or_else(|| without('\'')).unwrap_or(text)
}

/// An entry of `patches`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Patch {
    /// The legacy form: a path or inline text.
    Old(String),
    /// The current form.
    Entry {
        /// The patch's file, unless it is inline.
        path: Option<String>,
        /// The inline patch.
        patch: Option<String>,
        /// The objects to patch, unless the patch itself names its object.
        target: Option<PatchTarget>,
        /// Additional rights of the patch.
        options: Option<PatchOptions>,
    },
}

/// The objects to patch, by regular expressions, which are plain names in most repos.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchTarget {
    /// The kind.
    pub kind: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The API group.
    pub group: Option<String>,
    /// The API version.
    pub version: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// A label selector.
    pub label_selector: Option<String>,
    /// A label selector that is applied to annotations.
    pub annotation_selector: Option<String>,
}

/// Rights of a patch that it does not have by default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchOptions {
    /// Set if the patch may change the object's name.
    pub allow_name_change: Option<bool>,
    /// Set if the patch may change the object's kind.
    pub allow_kind_change: Option<bool>,
}

/// The common start of the JSON patch paths of `metadata.name` and `metadata.namespace`.
const ROUTE_OF_NAMES: &str = "/metadata/name";

impl Patch {
    /// Returns the patch's file. Inline text in the legacy form is returned as well, but is no
    /// existing path.
    pub fn path(&self) -> Option<&String> {
        match self {
            Patch::Old(path) => Some(path),
            Patch::Entry { path, .. } => path.as_ref(),
        }
    }

    /// Returns the patch's text. A path in the legacy form is returned as well, but is no patch.
    pub fn inline(&self) -> Option<&str> {
        match self {
            Patch::Old(inline) => Some(inline),
            Patch::Entry { patch, .. } => patch.as_deref(),
        }
    }

    /// Returns whether the patch may change its object's name or namespace. A merge patch needs
    /// `allowNameChange` for it.
    fn may_rename(&self, text: impl Fn(&str) -> Option<String>) -> bool {
        if let Patch::Entry { options: Some(options), .. } = self
            && options.allow_name_change == Some(true)
        {
            return true;
        }
        let file = self.path().and_then(|path| text(path));
        let texts = self.inline().into_iter().chain(file.as_deref());
        texts.into_iter().any(|text| text.contains(ROUTE_OF_NAMES))
    }
}
