//! Parameters of ApplicationSets that the repo's files determine.
//!
//! The rules are those of Argo CD's generators. Parameters from a cluster, a forge or a plugin stay
//! unresolved.

use std::collections::HashMap;

use camino::{Utf8Path, Utf8PathBuf};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};
use yaml_serde::Value;

use super::clusters::{ArgocdCluster, Parameters, normalized};
use super::paths::{matching_directories, path_matcher, plain_path};
use super::repo::DeliveryRepo;
use crate::base::api::gitops::{ApplicationSetGenerator, ClusterGenerator, GitGenerator};
use crate::base::text::{expanded, yaml};
use crate::input::settings::gitops::IN_CLUSTER;

/// Maximum number of Applications of an ApplicationSet. Further ones are ignored.
const APPLICATIONS: usize = 10_000;
/// Maximum number of parameters that its generators make, intermediate ones included. Matrices
/// multiply them.
const PARAMETERS: usize = 1_000_000;
/// Maximum number of globs of a generator.
const GLOBS: usize = 1_000;
/// Start of a parameter in a text.
const PARAMETER: &str = "{{";
/// Maximum nesting depth of generators.
const DEPTH: usize = 8;

/// Returns the parameters of each generated Application. Missing parameters are unknown; beyond a
/// limit, all are.
pub(super) fn parameters(
    repo: &DeliveryRepo<'_>,
    generators: &[ApplicationSetGenerator],
) -> Vec<Parameters> {
    let mut generation = ParameterGeneration { repo, left: PARAMETERS, depth: 0 };
    let each: Option<Vec<_>> = generators.iter().map(|it| generation.parameters(it)).collect();
    let all = each.unwrap_or_else(|| vec![vec![Parameters::new()]]);
    all.into_iter().flatten().take(APPLICATIONS).collect()
}

/// A generation of parameters. Its functions return `None` beyond a limit.
struct ParameterGeneration<'r, 'a> {
    repo: &'r DeliveryRepo<'a>,
    /// Number of parameters that it may still make.
    left: usize,
    /// Number of generators around the current one.
    depth: usize,
}

impl ParameterGeneration<'_, '_> {
    /// Returns the parameters of a generator that its selector leaves.
    fn parameters(&mut self, generator: &ApplicationSetGenerator) -> Option<Vec<Parameters>> {
        let mut all = self.unselected(generator)?;
        let selector = generator.selector.clone().and_then(|by| Selector::try_from(by).ok());
        // Other generators may have parameters that are unknown.
        if let Some(selector) =
            selector.filter(|_| generator.git.is_some() || generator.list.is_some())
        {
            all.retain(|parameters| parameters.is_empty() || selector.matches(parameters));
        }
        Some(all)
    }

    fn unselected(&mut self, generator: &ApplicationSetGenerator) -> Option<Vec<Parameters>> {
        if let Some(git) = &generator.git {
            if git.directories.len() + git.files.len() > GLOBS {
                return None;
            }
            let own = self.repo.settings.argocd.repo_url.as_ref();
            if own.is_some_and(|own| !own.is_same_repo(&git.repo_url)) {
                return Some(vec![Parameters::new()]);
            }
            let found = self.git_parameters(git);
            return self.counted(found);
        }
        if let Some(list) = &generator.list {
            let text = list.elements_yaml.as_deref().unwrap_or_default();
            if text.contains(PARAMETER) {
                return Some(vec![Parameters::new()]);
            }
            let more: Vec<Value> = yaml::parse(text).unwrap_or_default();
            let elements = list.elements.iter().flatten().chain(&more);
            return self.counted(elements.map(|element| flat(element, "")));
        }
        if let Some(clusters) = &generator.clusters {
            return self.counted(cluster_parameters(self.repo, clusters));
        }
        if let Some(matrix) = &generator.matrix {
            let mut found = vec![Parameters::new()];
            for inner in &matrix.generators {
                found = self.combined(found, inner)?;
            }
            return Some(found);
        }
        if let Some(merge) = &generator.merge {
            let Some((first, others)) = merge.generators.split_first() else {
                return Some(Vec::new());
            };
            let mut found = self.nested(first, None)?;
            for inner in others {
                let more = self.nested(inner, None)?;
                found = self.counted(merged(found, &more, &merge.merge_keys))?;
            }
            return Some(found);
        }
        Some(vec![Parameters::new()])
    }

    /// Combines parameters with those of the next generator of a matrix, which may contain them.
    fn combined(&mut self, found: Vec<Parameters>, inner: &Value) -> Option<Vec<Parameters>> {
        let fixed = if has_parameters(inner) { None } else { Some(self.nested(inner, None)?) };
        let mut all = Vec::new();
        for one in found {
            let more = match &fixed {
                Some(fixed) => fixed,
                None => &self.nested(inner, Some(&one))?,
            };
            let joined = more
                .iter()
                .take(APPLICATIONS - all.len())
                .map(|other| one.clone().into_iter().chain(other.clone()).collect());
            all.extend(self.counted(joined)?);
        }
        Some(all)
    }

    /// Returns the parameters of a nested generator in which known ones are filled in.
    fn nested(&mut self, generator: &Value, known: Option<&Parameters>) -> Option<Vec<Parameters>> {
        let mut generator = generator.clone();
        if let Some(known) = known {
            // Each combination searches the files anew.
            let files = self.repo.generator_files().count();
            self.left = self.left.checked_sub(1 + value_count(&generator) + files)?;
            fill_value(&mut generator, known);
        }
        let generator = yaml_serde::from_value(generator).ok()?;
        self.depth += 1;
        let all = if self.depth > DEPTH { None } else { self.parameters(&generator) };
        self.depth -= 1;
        all
    }

    /// Returns the parameters of a git generator, one set for each directory or entry of a file.
    fn git_parameters(&self, git: &GitGenerator) -> Vec<Parameters> {
        let repo = self.repo;
        let prefix = |name: &str| {
            git.path_param_prefix
                .as_ref()
                .map_or(name.to_owned(), |prefix| format!("{prefix}.{name}"))
        };
        let path_parameters = |directory: &Utf8Path| {
            let basename = directory.file_name().unwrap_or_default();
            let mut found = Parameters::new();
            for name in ["path", "path.path"] {
                found.insert(prefix(name), directory.to_string());
            }
            found.insert(prefix("path.basename"), basename.to_owned());
            found.insert(prefix("path.basenameNormalized"), normalized(basename));
            for (index, part) in directory.iter().enumerate() {
                found.insert(prefix(&format!("path[{index}]")), part.to_owned());
            }
            found
        };
        if !git.directories.is_empty() {
            return matching_directories(repo.source_directories(), &git.directories)
                .into_iter()
                .map(|directory| with_values(path_parameters(directory), git.values.as_ref()))
                .collect();
        }
        let is_matching = path_matcher(&git.files, true, plain_path);
        let prefix_of_repo = &repo.settings.argocd.path;
        let in_source = |file: &Utf8PathBuf| prefix_of_repo.join(file);
        let matching = repo.generator_files().filter(|file| is_matching(&in_source(file)));
        let file_parameters = |file: &Utf8PathBuf| {
            // Only paths are known of the output.
            let content: Value = if file.starts_with(&repo.settings.output) {
                Value::Null
            } else {
                yaml::parse(&repo.files.text(file)?)?
            };
            let one_or_more = content.as_sequence().cloned().unwrap_or_else(|| vec![content]);
            let path = path_parameters(in_source(file).parent()?);
            let each = one_or_more
                .iter()
                .map(|content| flat(content, "").into_iter().chain(path.clone()).collect())
                .map(|parameters| with_values(parameters, git.values.as_ref()));
            Some(each.collect::<Vec<Parameters>>())
        };
        matching.filter_map(file_parameters).flatten().collect()
    }

    /// Collects and counts parameters.
    fn counted(&mut self, all: impl IntoIterator<Item = Parameters>) -> Option<Vec<Parameters>> {
        let count = |parameters: Parameters| {
            self.left = self.left.checked_sub(1 + parameters.len())?;
            Some(parameters)
        };
        all.into_iter().map(count).collect()
    }
}

/// Merges parameters with equal keys. The first generator decides the Applications. Later ones only
/// override parameters.
fn merged<'m>(
    found: Vec<Parameters>,
    more: &'m [Parameters],
    keys: &'m [String],
) -> impl Iterator<Item = Parameters> {
    let values = |parameters: &Parameters| -> Option<Vec<String>> {
        keys.iter().map(|key| parameters.get(key).cloned()).collect()
    };
    let mut by_values: HashMap<Vec<String>, &Parameters> = HashMap::new();
    for parameters in more {
        if let Some(values) = values(parameters) {
            by_values.entry(values).or_insert(parameters);
        }
    }
    found.into_iter().map(move |mut parameters| {
        let other = values(&parameters).and_then(|values| by_values.get(&values).copied());
        parameters.extend(other.cloned().unwrap_or_default());
        parameters
    })
}

/// Returns the parameters of a cluster generator, from Secrets of the repo. If none is selected,
/// the cluster may be registered elsewhere, so only `values` are known.
fn cluster_parameters(
    repo: &DeliveryRepo<'_>,
    generator: &ClusterGenerator,
) -> impl Iterator<Item = Parameters> {
    let is_selector =
        |by: &&LabelSelector| by.match_labels.is_some() || by.match_expressions.is_some();
    let selector =
        generator.selector.as_ref().filter(is_selector).map(|by| Selector::try_from(by.clone()));
    let is_selected = |cluster: &&ArgocdCluster| match &selector {
        None => true,
        Some(by) => by.as_ref().is_ok_and(|by| by.matches(&cluster.labels)),
    };
    let selected = repo.context.clusters.iter().filter(is_selected);
    let mut clusters: Vec<ArgocdCluster> = selected.cloned().collect();
    // Argo CD's own cluster has no labels, and exists even without a Secret.
    let is_own = |cluster: &ArgocdCluster| {
        cluster.server.as_deref().map(|url| url.trim_end_matches('/')) == Some(IN_CLUSTER.0)
    };
    if selector.is_none() && !clusters.iter().any(is_own) {
        clusters.push(ArgocdCluster::own());
    }
    if clusters.is_empty() || generator.flat_list {
        clusters = vec![ArgocdCluster::default()];
    }
    let values = generator.values.clone();
    clusters.into_iter().map(move |cluster| with_values(cluster.parameters(), values.as_ref()))
}

/// Adds the `values` of a generator, which may contain its other parameters.
fn with_values(known: Parameters, values: Option<&Value>) -> Parameters {
    let values = values.map(|values| flat(values, "values")).unwrap_or_default();
    let filled: Vec<(String, String)> =
        values.into_iter().map(|(key, value)| (key, fill(&value, &known))).collect();
    known.into_iter().chain(filled).collect()
}

/// Returns the scalars of a value by their dotted paths.
fn flat(value: &Value, route: &str) -> Parameters {
    let mut found = Parameters::new();
    let mut pending = vec![(route.to_owned(), value)];
    while let Some((route, value)) = pending.pop() {
        match value {
            Value::Mapping(fields) => {
                for (key, value) in fields {
                    let Some(key) = key.as_str() else { continue };
                    pending.push((
                        if route.is_empty() { key.to_owned() } else { format!("{route}.{key}") },
                        value,
                    ));
                }
            }
            Value::String(text) => drop(found.insert(route, text.clone())),
            Value::Number(number) => drop(found.insert(route, number.to_string())),
            Value::Bool(bool) => drop(found.insert(route, bool.to_string())),
            _ => {}
        }
    }
    found
}

/// Returns whether a value contains parameters.
fn has_parameters(value: &Value) -> bool {
    yaml_serde::to_string(value).is_ok_and(|text| text.contains(PARAMETER))
}

/// Returns the number of values in a value.
fn value_count(value: &Value) -> usize {
    1 + match value {
        Value::Sequence(items) => items.iter().map(value_count).sum(),
        Value::Mapping(fields) => fields.values().map(value_count).sum::<usize>(),
        _ => 0,
    }
}

/// Fills in known parameters. Unknown ones stay.
pub(super) fn fill_value(value: &mut Value, parameters: &Parameters) {
    match value {
        Value::String(text) => *text = fill(text, parameters),
        Value::Sequence(items) => items.iter_mut().for_each(|item| fill_value(item, parameters)),
        Value::Mapping(mapping) => {
            mapping.values_mut().for_each(|value| fill_value(value, parameters))
        }
        _ => {}
    }
}

/// Replaces `{{ name }}` and, as in Go templates, `{{ .name }}`.
fn fill(text: &str, parameters: &Parameters) -> String {
    let value = |name: &str| {
        let index = name.trim().strip_prefix("index .path.segments ");
        let indexed = index.map(|index| format!("path[{}]", index.trim()));
        let key = indexed.as_deref().unwrap_or_else(|| name.trim().trim_start_matches('.'));
        // An unknown parameter stays, and marks the path as undecided.
        Some(parameters.get(key).cloned().unwrap_or_else(|| format!("{{{{{name}}}}}")))
    };
    expanded(text, "{{", "}}", value).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_filled_in_as_far_as_they_are_known() {
        let parameters =
            flat(&yaml_serde::from_str("{a: x, b: {c: 5}, 'path[1]': lab}").unwrap(), "");
        for (text, filled) in [
            ("sites/{{a}}/{{ .b.c }}", "sites/x/5"),
            ("{{index .path.segments 1}}", "lab"),
            ("{{path[1]}}/{{ unknown }}", "lab/{{ unknown }}"),
            ("{{a", "{{a"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill(text, &parameters), filled);
        }
    }

    // `SanitizeName` of Argo CD.
    #[test]
    fn a_normalized_name_may_have_dots() {
        for (name, expected) in [("lab.east", "lab.east"), ("Lab_1+2", "lab-1-2"), (".lab-", "lab")]
        {
            assert_eq!(normalized(name), expected);
        }
    }
}
