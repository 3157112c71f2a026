//! Values of variables that Flux replaces in builds (`spec.postBuild`), if the repo has them.
//!
//! As in Flux, later entries of `substituteFrom` override earlier ones, and `substitute` overrides
//! all. For a Secret only the keys are used, which are known even if its values are encrypted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::Value;

use super::inputs::InputSelection;
use super::names::namespaces;
use crate::base::api::gitops::PostBuild;
use crate::base::api::host::Metadata;
use crate::base::finding::Origin;
use crate::base::layout::VARIABLE;
use crate::input::kustomize::{
    AgentBuild, Builds, EvaluatedFiles, EvaluationResult, SubstitutionVariables,
};
use crate::input::load::{Document, Files, ReadError, mentions, sops};
use crate::input::settings::Settings;
use crate::site::delivery::{BuildChanges, RepoListing};

/// Variables by kind, namespace and name of the ConfigMap or Secret that holds them; `None` if the
/// result of its build is unknown.
type VariablesByObject = HashMap<(&'static str, String, String), Option<SubstitutionVariables>>;

/// A ConfigMap or Secret with variables.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VariablesObject {
    #[serde(default)]
    metadata: Metadata,
    data: Option<BTreeMap<String, Value>>,
    string_data: Option<BTreeMap<String, IgnoredAny>>,
}

/// Inputs that decide the namespace of an object.
#[derive(Clone, Copy)]
pub(super) struct NamespaceInputs<'a> {
    pub(super) repo: &'a Files,
    pub(super) files: &'a [Utf8PathBuf],
    pub(super) builds: &'a Builds,
    pub(super) inputs: &'a InputSelection<'a>,
    pub(super) settings: &'a Settings,
    pub(super) listing: &'a RepoListing,
}

/// ConfigMaps and Secrets with variables.
pub(super) struct VariableSources(VariablesByObject);

impl VariableSources {
    /// Reads the objects that agents' objects name, as builds deliver them.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read.
    pub(super) fn read<'c>(
        naming: NamespaceInputs<'_>,
        changes: impl Iterator<Item = &'c BuildChanges>,
    ) -> Result<Self, ReadError> {
        let post_builds = changes.filter_map(|changes| changes.post_build.as_ref());
        let names: BTreeSet<&str> = post_builds
            .flat_map(|post_build| post_build.substitute_from.iter().flatten())
            .map(|reference| reference.name.as_str())
            .collect();
        Ok(Self(if names.is_empty() { VariablesByObject::new() } else { naming.held(&names)? }))
    }

    /// Merges the variables of one Kustomization. Without any, Flux substitutes nothing, not even
    /// defaults.
    pub(super) fn merged_variables(
        &self,
        origin: &Origin,
        post_build: &PostBuild,
        namespaces: &BTreeSet<String>,
    ) -> Option<SubstitutionVariables> {
        let mut variables = SubstitutionVariables::default();
        for reference in post_build.substitute_from.iter().flatten() {
            let kind = if reference.kind == "Secret" { "Secret" } else { "ConfigMap" };
            let mut found = namespaces.iter().filter_map(|namespace| {
                self.0.get(&(kind, namespace.clone(), reference.name.clone()))
            });
            match found.next().and_then(Option::as_ref) {
                Some(held) => variables.values.extend(held.values.clone()),
                // The unknown object may override any earlier value.
                None => {
                    variables.values.values_mut().for_each(|value| *value = None);
                    variables.are_partial = true;
                }
            }
        }
        for (name, value) in post_build.substitute.iter().flatten() {
            let place = origin.at(["spec", "postBuild", "substitute", name]);
            variables.values.insert(name.clone(), text(value).map(|text| (text, place)));
        }
        let is_used = !variables.values.is_empty()
            || variables.are_partial
            || post_build.substitute_strategy.as_deref() == Some("Always");
        is_used.then_some(variables)
    }
}

/// Returns the text of a value as the API server reads it, without line breaks, which Flux removes;
/// `None` if only Flux knows it, because it is encrypted or has a variable.
fn text(value: &Value) -> Option<String> {
    // No API server takes other types.
    let text = value.as_str()?.replace('\n', "");
    (!text.contains(VARIABLE) && !sops::is_encrypted(&text)).then_some(text)
}

impl NamespaceInputs<'_> {
    /// Evaluates the builds of files, of which none is vital: a failed build only makes its objects
    /// unknown.
    pub(super) fn evaluated(
        &self,
        files: HashSet<Arc<Utf8Path>>,
        agents: &BTreeMap<Utf8PathBuf, AgentBuild>,
    ) -> EvaluationResult {
        let wanted = EvaluatedFiles {
            files,
            output: Some(&self.settings.output),
            agents: AgentBuild::without_names(agents, |_| false),
            ..EvaluatedFiles::default()
        };
        self.builds.evaluate(self.repo, &wanted)
    }

    /// Reads ConfigMaps and Secrets by name, as builds deliver them.
    fn held(&self, names: &BTreeSet<&str>) -> Result<VariablesByObject, ReadError> {
        let words: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        let is_named = mentions(&words);
        let read = self.repo.scan(
            self.files,
            |_: &Utf8Path, text: &[u8]| is_named(text),
            |document| {
                VariablesObject::read(&document)
                    .map(|(kind, holder)| (document.origin.clone(), kind, holder))
            },
        )?;
        let files = read.iter().map(|(origin, ..)| origin.file.clone()).collect();
        let evaluated = self.evaluated(files, &BTreeMap::new());
        let mut held = VariablesByObject::new();
        for (origin, kind, holder) in
            read.iter().filter(|(origin, ..)| !evaluated.read.contains_key(origin))
        {
            let is_unknown = self
                .builds
                .reach(&origin.file)
                .iter()
                .any(|reach| evaluated.unknown.contains(&reach.root));
            self.hold(&mut held, origin, kind, holder, !is_unknown);
        }
        for document in evaluated.delivered.values().flatten() {
            let document = document.document();
            if let Some((kind, holder)) = VariablesObject::read(&document) {
                self.hold(&mut held, &document.origin, kind, &holder, true);
            }
        }
        Ok(held)
    }

    /// Adds a ConfigMap or Secret under each of its namespaces. If several share a key, only equal
    /// values are kept.
    fn hold(
        &self,
        held: &mut VariablesByObject,
        origin: &Origin,
        kind: &'static str,
        holder: &VariablesObject,
        is_known: bool,
    ) {
        let Some(name) = holder.metadata.name.clone() else {
            return;
        };
        let values = is_known.then(|| holder.values(kind, origin));
        for namespace in self.namespaces(origin, holder.metadata.namespace.as_deref()) {
            let key = (kind, namespace, name.clone());
            let joined = match held.remove(&key) {
                Some(others) => {
                    others.zip(values.clone()).map(|(others, values)| others.agreed(values))
                }
                None => values.clone(),
            };
            held.insert(key, joined);
        }
    }

    pub(super) fn namespaces(&self, origin: &Origin, own: Option<&str>) -> BTreeSet<String> {
        let all = namespaces(self.builds, self.inputs, origin, own);
        all.into_iter().map(|(namespace, _)| namespace).collect()
    }
}

impl VariablesObject {
    fn read(document: &Document<'_>) -> Option<(&'static str, Self)> {
        let kind =
            ["ConfigMap", "Secret"].into_iter().find(|kind| document.kind() == Some(kind))?;
        Some((kind, document.parse().ok()?))
    }

    fn values(&self, kind: &str, origin: &Origin) -> SubstitutionVariables {
        let data = self.data.iter().flatten().map(|(key, value)| {
            let known = text(value).filter(|_| kind == "ConfigMap");
            (key.clone(), known.map(|text| (text, origin.at(["data", key]))))
        });
        let more = self.string_data.iter().flatten().map(|(key, _)| (key.clone(), None));
        SubstitutionVariables { values: data.chain(more).collect(), ..Default::default() }
    }
}
