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

use super::names::NamingContext;
use crate::base::api::host::Metadata;
use crate::base::finding::Origin;
use crate::base::layout::VARIABLE;
use crate::input::kustomize::{
    AgentBuild, EvaluatedFiles, EvaluationResult, SubstitutionVariables,
};
use crate::input::load::{Document, ReadError, mentions, sops};
use crate::site::delivery::BuildChanges;

/// Variables by kind, namespace and name of the ConfigMap or Secret that holds them; `None` if the
/// result of its build is unknown.
pub(super) type VariablesByObject =
    HashMap<(&'static str, String, String), Option<SubstitutionVariables>>;

/// A ConfigMap or Secret with variables.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VariablesObject {
    #[serde(default)]
    metadata: Metadata,
    data: Option<BTreeMap<String, Value>>,
    string_data: Option<BTreeMap<String, IgnoredAny>>,
}

/// Returns the text of a value as the API server reads it, without line breaks, which Flux removes;
/// `None` if only Flux knows it, because it is encrypted or has a variable.
fn text(value: &Value) -> Option<String> {
    // No API server takes other types.
    let text = value.as_str()?.replace('\n', "");
    (!text.contains(VARIABLE) && !sops::is_encrypted(&text)).then_some(text)
}

impl NamingContext<'_> {
    /// Evaluates the builds of files, also those that only set namespaces. None is vital: a failed build
    /// only makes its objects unknown.
    pub(super) fn evaluated(
        &self,
        files: HashSet<Arc<Utf8Path>>,
        agents: &BTreeMap<Utf8PathBuf, AgentBuild>,
    ) -> EvaluationResult {
        let has_namespace = |file: &&Arc<Utf8Path>| {
            self.builds.reach(file).iter().any(|reach| reach.namespace.is_some())
        };
        let wanted = EvaluatedFiles {
            remade: files.iter().filter(has_namespace).cloned().collect(),
            files,
            output: Some(&self.settings.output),
            agents: AgentBuild::without_names(agents, |_| false),
            ..EvaluatedFiles::default()
        };
        self.builds.evaluate(self.repo, &wanted)
    }

    /// Reads the ConfigMaps and Secrets that agents' objects name, as builds deliver them.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read.
    pub(super) fn variables<'c>(
        &self,
        changes: impl Iterator<Item = &'c BuildChanges>,
    ) -> Result<VariablesByObject, ReadError> {
        let post_builds = changes.filter_map(|changes| changes.post_build.as_ref());
        let names: BTreeSet<&str> = post_builds
            .flat_map(|post_build| post_build.substitute_from.iter().flatten())
            .map(|reference| reference.name.as_str())
            .collect();
        let mut held = VariablesByObject::new();
        if names.is_empty() {
            return Ok(held);
        }
        let words: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
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

    /// Merges the variables of one Kustomization. Without any, Flux substitutes nothing, not even
    /// defaults.
    pub(super) fn merged_variables(
        &self,
        held: &VariablesByObject,
        origin: &Origin,
        changes: &BuildChanges,
    ) -> Option<SubstitutionVariables> {
        let post_build = changes.post_build.as_ref()?;
        let namespaces = self.namespaces(origin, changes.namespace.as_deref()).into_iter();
        let namespaces: BTreeSet<String> = namespaces.map(|(namespace, _)| namespace).collect();
        let mut variables = SubstitutionVariables::default();
        for reference in post_build.substitute_from.iter().flatten() {
            let kind = if reference.kind == "Secret" { "Secret" } else { "ConfigMap" };
            let mut found = namespaces.iter().filter_map(|namespace| {
                held.get(&(kind, namespace.clone(), reference.name.clone()))
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
        let Some(name) = holder.metadata.name.clone() else { return };
        let values = is_known.then(|| holder.values(kind, origin));
        for (namespace, _) in self.namespaces(origin, holder.metadata.namespace.as_deref()) {
            held.entry((kind, namespace, name.clone()))
                .and_modify(|others| {
                    let both = others.take().zip(values.clone());
                    *others = both.map(|(others, values)| others.agreed(values));
                })
                .or_insert_with(|| values.clone());
        }
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
