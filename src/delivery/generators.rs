//! Parameters of ApplicationSets that the repo's files determine.
//!
//! The rules are those of Argo CD's generators. Parameters from a cluster, a forge or a plugin stay
//! unresolved.

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;
use yaml_serde::Value;

use super::clusters::{Cluster, Parameters};
use super::paths::matching_directories;
use super::repo::Repo;
use crate::api::gitops::{ApplicationSpec, ClusterGenerator, Generator, GitGenerator};
use crate::settings::gitops::IN_CLUSTER;
use crate::text::bounded;

/// Limits against exponential input: Applications, and nesting depth of generators.
const MOST: (usize, usize) = (10_000, 8);

/// Returns the parameters of each generated Application. Missing parameters are unknown.
pub(super) fn parameters(
    repo: &Repo<'_>,
    generators: &[Generator],
    depth: usize,
) -> Vec<Parameters> {
    // Beyond the limit, all parameters are unknown.
    if depth > MOST.1 {
        return vec![Parameters::new()];
    }
    let mut all: Vec<Parameters> = generators
        .iter()
        .flat_map(|generator| of_one(repo, generator, depth))
        .collect();
    all.truncate(MOST.0);
    all
}

fn of_one(repo: &Repo<'_>, generator: &Generator, depth: usize) -> Vec<Parameters> {
    if let Some(git) = &generator.git {
        return of_git(repo, git);
    }
    if let Some(list) = &generator.list {
        let elements = list.elements.iter().flatten();
        return elements.map(|element| flat(element, "")).collect();
    }
    if let Some(clusters) = &generator.clusters {
        return of_clusters(repo, clusters);
    }
    if let Some(matrix) = &generator.matrix {
        let each = matrix
            .generators
            .iter()
            .map(|inner| parameters(repo, std::slice::from_ref(inner), depth + 1));
        return each.fold(vec![Parameters::new()], |found, more| {
            let pairs = found
                .iter()
                .flat_map(|one| more.iter().map(move |other| (one, other)));
            let joined =
                pairs.map(|(one, other)| one.clone().into_iter().chain(other.clone()).collect());
            joined.take(MOST.0).collect()
        });
    }
    if let Some(merge) = &generator.merge {
        let mut each = merge
            .generators
            .iter()
            .map(|inner| parameters(repo, std::slice::from_ref(inner), depth + 1));
        let mut found = each.next().unwrap_or_default();
        for more in each {
            for parameters in &mut found {
                let has_keys = |other: &&Parameters| {
                    merge.merge_keys.iter().all(|key| {
                        parameters.contains_key(key) && parameters.get(key) == other.get(key)
                    })
                };
                // The first generator decides the Applications. Later ones only override
                // parameters.
                let other = more.iter().find(has_keys).cloned();
                parameters.extend(other.unwrap_or_default());
            }
        }
        return found;
    }
    vec![Parameters::new()]
}

/// Returns the parameters of a cluster generator, from Secrets of the repo. If none is selected,
/// the cluster may be registered elsewhere, so only `values` are known.
fn of_clusters(repo: &Repo<'_>, generator: &ClusterGenerator) -> Vec<Parameters> {
    let has =
        |selector: &&Value, key: &str| selector.get(key).is_some_and(|value| *value != Value::Null);
    let is_selector =
        |selector: &&Value| has(selector, "matchLabels") || has(selector, "matchExpressions");
    let selector = generator.selector.as_ref().filter(is_selector);
    let selected = repo
        .clusters
        .iter()
        .filter(|cluster| selector.is_none_or(|by| cluster.is_selected(by)));
    let mut clusters: Vec<Cluster> = selected.cloned().collect();
    // Argo CD's own cluster has no labels, and exists even without a Secret.
    let is_own = |cluster: &Cluster| {
        cluster
            .server
            .as_deref()
            .map(|url| url.trim_end_matches('/'))
            == Some(IN_CLUSTER.0)
    };
    if selector.is_none() && !clusters.iter().any(is_own) {
        clusters.push(Cluster::own());
    }
    if clusters.is_empty() || generator.flat_list {
        clusters = vec![Cluster::default()];
    }
    let values = generator
        .values
        .as_ref()
        .map(|values| flat(values, "values"))
        .unwrap_or_default();
    let of_cluster = |cluster: Cluster| {
        let known = cluster.parameters();
        let values: Parameters = values
            .iter()
            .map(|(key, value)| (key.clone(), fill(value, &known)))
            .collect();
        known.into_iter().chain(values).collect()
    };
    clusters.into_iter().map(of_cluster).collect()
}

fn of_git(repo: &Repo<'_>, git: &GitGenerator) -> Vec<Parameters> {
    let prefix = |name: &str| {
        git.path_param_prefix
            .as_ref()
            .map_or(name.to_owned(), |prefix| format!("{prefix}.{name}"))
    };
    let of_path = |directory: &Utf8Path| {
        let basename = directory.file_name().unwrap_or_default();
        let mut found = Parameters::new();
        for name in ["path", "path.path"] {
            found.insert(prefix(name), directory.to_string());
        }
        found.insert(prefix("path.basename"), basename.to_owned());
        found.insert(
            prefix("path.basenameNormalized"),
            basename.to_ascii_lowercase().replace(['_', '.'], "-"),
        );
        for (index, part) in directory.iter().enumerate() {
            found.insert(prefix(&format!("path[{index}]")), part.to_owned());
        }
        found
    };
    if !git.directories.is_empty() {
        return matching_directories(repo, &git.directories)
            .iter()
            .map(|directory| of_path(directory))
            .collect();
    }
    let globs: Vec<_> = git
        .files
        .iter()
        .filter_map(|file| {
            GlobBuilder::new(&file.path)
                .literal_separator(true)
                .build()
                .ok()
        })
        .collect();
    let Ok((files, _)) = repo.files.files_and_closed(&repo.settings.output) else {
        return vec![Parameters::new()];
    };
    let prefix_of_repo = &repo.settings.argocd.path;
    let in_source = |file: &Utf8PathBuf| prefix_of_repo.join(file);
    let matching = files.iter().filter(|file| {
        globs
            .iter()
            .any(|glob| glob.compile_matcher().is_match(in_source(file)))
    });
    let of_file = |file: &Utf8PathBuf| {
        let content: Value = bounded::parse(&repo.files.text(file)?)?;
        let one_or_more = content
            .as_sequence()
            .cloned()
            .unwrap_or_else(|| vec![content]);
        let path = of_path(in_source(file).parent()?);
        let each = one_or_more
            .iter()
            .map(|content| flat(content, "").into_iter().chain(path.clone()).collect());
        Some(each.collect::<Vec<Parameters>>())
    };
    matching.filter_map(of_file).flatten().collect()
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
                        if route.is_empty() {
                            key.to_owned()
                        } else {
                            format!("{route}.{key}")
                        },
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

/// Returns a template with known parameters filled in. Unknown ones stay.
pub(super) fn filled(template: &ApplicationSpec, parameters: &Parameters) -> ApplicationSpec {
    let mut spec = template.clone();
    let fill = |text: &mut String| *text = fill(text, parameters);
    for source in spec
        .source
        .iter_mut()
        .chain(spec.sources.iter_mut().flatten())
    {
        fill(&mut source.repo_url);
        source.path.iter_mut().for_each(fill);
        let kustomize = source.kustomize.as_mut();
        for field in kustomize
            .map(|kustomize| [&mut kustomize.namespace, &mut kustomize.name_prefix])
            .into_iter()
            .flatten()
        {
            field.iter_mut().for_each(fill);
        }
    }
    spec.destination
        .server
        .iter_mut()
        .chain(&mut spec.destination.name)
        .for_each(fill);
    spec
}

/// Replaces `{{ name }}` and, as in Go templates, `{{ .name }}`.
fn fill(text: &str, parameters: &Parameters) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else {
            break;
        };
        let name_of = name.trim();
        let indexed = name_of
            .strip_prefix("index .path.segments ")
            .map(|index| format!("path[{}]", index.trim()));
        let key = indexed
            .as_deref()
            .unwrap_or_else(|| name_of.trim_start_matches('.'));
        filled.push_str(before);
        match parameters.get(key) {
            Some(value) => filled.push_str(value),
            // An unknown parameter stays, and marks the path as undecided.
            None => filled.push_str(&format!("{{{{{name}}}}}")),
        }
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_filled_in_as_far_as_they_are_known() {
        let parameters = flat(
            &yaml_serde::from_str("{a: x, b: {c: 5}, 'path[1]': lab}").unwrap(),
            "",
        );
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
}
