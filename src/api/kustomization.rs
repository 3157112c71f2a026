//! `kustomization.yaml`: the fields that decide which file a build reaches, and under which namespace.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::Value;

use super::unique;
use crate::text::visible::yaml_text;

/// The file names under which kustomize finds a kustomization.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A path as an item of a list. One of plain characters needs no quotes: its slash or ending makes it a text.
pub fn listed(path: &str) -> String {
    let is_plain = path
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    if is_plain {
        path.to_owned()
    } else {
        yaml_text(path)
    }
}

/// A Kustomization or Component.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kustomization {
    /// `Component` for one that only works inside another build; absent in most.
    #[serde(default)]
    pub kind: Option<String>,
    /// The namespace that every namespaced object of the build gets.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What every object's name gets in front.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What every object's name gets behind.
    #[serde(default)]
    pub name_suffix: Option<String>,
    /// Labels that every object of the build gets.
    #[serde(default)]
    pub labels: Option<Vec<Labels>>,
    /// The old form of labels, which are selectors, too.
    #[serde(default, deserialize_with = "unique::optional")]
    pub common_labels: Option<BTreeMap<String, Value>>,
    /// Annotations that every object of the build gets.
    #[serde(default, deserialize_with = "unique::optional")]
    pub common_annotations: Option<BTreeMap<String, Value>>,
    /// Files, directories and remote bases.
    #[serde(default)]
    pub resources: Option<Vec<String>>,
    /// The old name of directories among the resources.
    #[serde(default)]
    pub bases: Option<Vec<String>>,
    /// Directories with components.
    #[serde(default)]
    pub components: Option<Vec<String>>,
    /// Patches, of which the files matter: a patch looks like a host but is none.
    #[serde(default)]
    pub patches: Option<Vec<Patch>>,
    /// The old form of merge patches: paths or inline text.
    #[serde(default)]
    pub patches_strategic_merge: Option<Vec<String>>,
    /// The old form of JSON patches.
    #[serde(default, rename = "patchesJson6902")]
    pub patches_json6902: Option<Vec<Patch>>,
    /// Programs and settings that change what is built, in any way.
    #[serde(default)]
    pub transformers: Option<Vec<IgnoredAny>>,
    /// What copies values from object to object.
    #[serde(default)]
    pub replacements: Option<Vec<Value>>,
    /// Files that say which fields are names, labels and the like.
    #[serde(default)]
    pub configurations: Option<Vec<String>>,
    /// A schema by which patches are merged.
    #[serde(default)]
    pub openapi: Option<BTreeMap<String, IgnoredAny>>,
    /// Programs and settings that make objects, of any kind.
    #[serde(default)]
    pub generators: Option<Vec<IgnoredAny>>,
    /// Helm charts.
    #[serde(default)]
    pub helm_charts: Option<Vec<IgnoredAny>>,
    /// The old form of Helm charts.
    #[serde(default)]
    pub helm_chart_inflation_generator: Option<Vec<IgnoredAny>>,
    /// What makes Secrets.
    #[serde(default)]
    pub secret_generator: Option<Vec<Generator>>,
    /// What makes ConfigMaps.
    #[serde(default)]
    pub config_map_generator: Option<Vec<Generator>>,
    /// What all generators do, where they say nothing else.
    #[serde(default)]
    pub generator_options: Option<GeneratorOptions>,
}

/// Returns whether a list is there and has an entry.
pub(crate) fn has<T>(list: &Option<Vec<T>>) -> bool {
    list.as_ref().is_some_and(|list| !list.is_empty())
}

impl Kustomization {
    /// A field by which objects of its build may have other names and namespaces than the other fields here give them.
    /// The text of a patch's file, by its path, may be asked for.
    pub fn field_that_may_rename(
        &self,
        text: impl Fn(&str) -> Option<String>,
    ) -> Option<&'static str> {
        let may_rename = |patches: &Option<Vec<Patch>>| {
            patches
                .iter()
                .flatten()
                .any(|patch| patch.may_rename(&text))
        };
        let fields = [
            ("transformers", has(&self.transformers)),
            ("replacements", has(&self.replacements)),
            ("generators", has(&self.generators)),
            ("helmCharts", has(&self.helm_charts)),
            (
                "helmChartInflationGenerator",
                has(&self.helm_chart_inflation_generator),
            ),
            ("patches", may_rename(&self.patches)),
            ("patchesJson6902", may_rename(&self.patches_json6902)),
        ];
        fields
            .into_iter()
            .find_map(|(name, may_rename)| may_rename.then_some(name))
    }
}

/// Labels that every object of a build gets.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Labels {
    /// The labels.
    #[serde(default, deserialize_with = "unique::optional")]
    pub pairs: Option<BTreeMap<String, Value>>,
    /// More fields that get them.
    #[serde(default)]
    pub fields: Option<Vec<IgnoredAny>>,
}

/// What makes a Secret or ConfigMap of files and texts. Variables (`envs`) are one line each, so they hold no network
/// data that anybody would write.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generator {
    /// The object's name, without the hash that kustomize puts behind it.
    #[serde(default)]
    pub name: Option<String>,
    /// Its namespace, where no kustomization gives another one.
    #[serde(default)]
    pub namespace: Option<String>,
    /// `create`, `merge` or `replace`.
    #[serde(default)]
    pub behavior: Option<String>,
    /// Files, as `key=path`, or paths whose last part is the key.
    #[serde(default)]
    pub files: Option<Vec<String>>,
    /// Texts, as `key=text`.
    #[serde(default)]
    pub literals: Option<Vec<String>>,
    /// Files of lines `key=text`.
    #[serde(default)]
    pub envs: Option<Vec<String>>,
    /// The old form of those.
    #[serde(default)]
    pub env: Option<String>,
    /// The type of the Secret, if it is one.
    #[serde(default, rename = "type")]
    pub secret_type: Option<String>,
    /// What else it does.
    #[serde(default)]
    pub options: Option<GeneratorOptions>,
}

/// What generators do beyond making an object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// Labels of the object.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the object.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Whether its name stays as it is, without a hash.
    #[serde(default)]
    pub disable_name_suffix_hash: Option<bool>,
    /// Whether nobody may change it any more.
    #[serde(default)]
    pub immutable: Option<bool>,
}

/// Where a generator has a value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratorValue<'a> {
    /// A file, relative to the kustomization.
    File(&'a str),
    /// The text itself.
    Literal(&'a str),
}

impl Generator {
    /// Whether it changes an object that is there already.
    pub fn overrides(&self) -> bool {
        matches!(self.behavior.as_deref(), Some("merge" | "replace"))
    }

    /// The value of the first of some keys that it has, with the list that it stands in and its index there.
    pub fn value(&self, keys: &[&str]) -> Option<(&'static str, usize, GeneratorValue<'_>)> {
        let files = self
            .files
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, file)| {
                let (key, path) = file
                    .split_once('=')
                    .or_else(|| Some((Utf8Path::new(file).file_name()?, file.as_str())))?;
                Some((key, ("files", index, GeneratorValue::File(path))))
            });
        let literals = self
            .literals
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, literal)| {
                let (key, text) = literal.split_once('=')?;
                Some((
                    key,
                    ("literals", index, GeneratorValue::Literal(unquoted(text))),
                ))
            });
        let all: Vec<_> = files.chain(literals).collect();
        keys.iter()
            .find_map(|key| all.iter().find(|(name, _)| name == key))
            .map(|(_, value)| *value)
    }
}

/// kustomize takes a pair of quotes off a literal.
pub(crate) fn unquoted(text: &str) -> &str {
    let without = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    without('"').or_else(|| without('\'')).unwrap_or(text)
}

/// An entry of `patches:`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Patch {
    /// The old form: a path, or inline text.
    Old(String),
    /// The form of today.
    Entry {
        /// The patch's file, where it is not inline.
        #[serde(default)]
        path: Option<String>,
        /// The patch, where it is inline.
        #[serde(default)]
        patch: Option<String>,
        /// Which objects it is for, where it does not say so itself.
        #[serde(default)]
        target: Option<PatchTarget>,
        /// What it may do beyond the usual.
        #[serde(default)]
        options: Option<PatchOptions>,
    },
}

/// Which objects a patch is for: by regular expressions, which mostly are plain names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchTarget {
    /// Their kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// Their name.
    #[serde(default)]
    pub name: Option<String>,
    /// The group of their kind.
    #[serde(default)]
    pub group: Option<String>,
    /// The version of their kind.
    #[serde(default)]
    pub version: Option<String>,
    /// Their namespace.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Their labels, as a label selector.
    #[serde(default)]
    pub label_selector: Option<String>,
    /// Their annotations, as a label selector.
    #[serde(default)]
    pub annotation_selector: Option<String>,
}

/// What a patch may do beyond the usual.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchOptions {
    /// Whether it may give its object another name.
    #[serde(default)]
    pub allow_name_change: Option<bool>,
    /// Whether it may make it another kind.
    #[serde(default)]
    pub allow_kind_change: Option<bool>,
}

/// How the routes of names and namespaces begin in JSON patches.
const ROUTE_OF_NAMES: &str = "/metadata/name";

impl Patch {
    /// The patch's file; the old form's inline text is no path that exists.
    pub fn path(&self) -> Option<&String> {
        match self {
            Patch::Old(path) => Some(path),
            Patch::Entry { path, .. } => path.as_ref(),
        }
    }

    /// Whether it may give its object another name or namespace. Without being allowed to, a merge patch cannot.
    fn may_rename(&self, text: impl Fn(&str) -> Option<String>) -> bool {
        let inline = match self {
            Patch::Old(inline) => Some(inline),
            Patch::Entry { patch, options, .. } => {
                if options
                    .as_ref()
                    .is_some_and(|options| options.allow_name_change == Some(true))
                {
                    return true;
                }
                patch.as_ref()
            }
        };
        let file = self.path().and_then(|path| text(path));
        inline
            .into_iter()
            .chain(&file)
            .any(|text| text.contains(ROUTE_OF_NAMES))
    }
}
