//! Reports output that an Argo CD project does not allow.
//!
//! The rules are those of `AppProject` in Argo CD 3: `IsSourcePermitted`, `isDestinationMatched`
//! and `IsGroupKindNamePermitted`.

use std::collections::BTreeSet;

use camino::Utf8Path;
use globset::GlobBuilder;
use serde::Deserialize;

use super::Tree;
use crate::api::gitops::{Agent, AppProject, AppProjectSpec, GroupKind, ProjectDestination};
use crate::api::host;
use crate::finding::{Code, Finding, Origin};
use crate::layout;
use crate::settings::gitops::Destination;
use crate::site::Site;
use crate::text::is_glob;

/// Cluster-scoped kinds that templates may render.
const OF_CLUSTER: [&str; 7] = [
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "Namespace",
    "PersistentVolume",
    "PriorityClass",
    "StorageClass",
];

/// A kind of object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    kind: String,
    group: String,
}

impl Kind {
    fn has_namespace(&self) -> bool {
        !OF_CLUSTER.contains(&self.kind.as_str())
    }

    /// Returns the objects in a file of the output, including those that a kustomization generates.
    fn of_text(text: &str) -> Vec<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Object {
            #[serde(default)]
            api_version: String,
            #[serde(default)]
            kind: String,
            #[serde(default)]
            config_map_generator: Option<serde::de::IgnoredAny>,
            #[serde(default)]
            secret_generator: Option<serde::de::IgnoredAny>,
        }
        // The parser yields errors endlessly after the first one.
        let documents = yaml_serde::Deserializer::from_str(text);
        let objects = documents.map_while(|document| Object::deserialize(document).ok());
        let kinds = objects.flat_map(|object| {
            let group = object
                .api_version
                .split_once('/')
                .map_or("", |(group, _)| group)
                .to_owned();
            let is_ours = !object.kind.is_empty() && group != "kustomize.config.k8s.io";
            let core = |kind: &str| Kind {
                kind: kind.to_owned(),
                group: String::new(),
            };
            let config_map = object.config_map_generator.map(|_| core("ConfigMap"));
            let secret = object.secret_generator.map(|_| core("Secret"));
            let own = is_ours.then_some(Kind {
                kind: object.kind,
                group,
            });
            own.into_iter()
                .chain(config_map)
                .chain(secret)
                .collect::<Vec<_>>()
        });
        kinds.collect()
    }
}

fn is_asked(site: &Site) -> bool {
    site.settings.gitops == Some(Agent::Argocd) && !site.wiring.projects.is_empty()
}

/// Returns the kinds of the objects in services' files; none if no project restricts them.
pub(super) fn kinds(site: &Site, tree: &Tree) -> BTreeSet<Kind> {
    if !is_asked(site) {
        return BTreeSet::new();
    }
    let applied = [layout::CLUSTERS, layout::CRDS, layout::SHARED];
    let is_manifest = |path: &Utf8Path| {
        path.extension() == Some("yaml") && applied.iter().any(|of| path.starts_with(of))
    };
    let of_services = tree.iter().filter(|(path, _)| is_manifest(path));
    of_services
        .flat_map(|(_, text)| Kind::of_text(text))
        .collect()
}

/// Reports projects of generated Applications that do not allow the Applications' content: hosts
/// and objects of `kinds`.
pub(super) fn check(site: &Site, mut kinds: BTreeSet<Kind>) -> Vec<Finding> {
    if !is_asked(site) {
        return Vec::new();
    }
    if !site.inventory.hosts.is_empty() {
        kinds.insert(Kind {
            kind: host::KIND.to_owned(),
            group: host::GROUP.to_owned(),
        });
    }
    let projects = site.wiring.projects.iter();
    projects
        .filter_map(|(origin, project)| not_allowed(site, origin, project, &kinds))
        .collect()
}

fn not_allowed(
    site: &Site,
    origin: &Origin,
    AppProject { metadata, spec }: &AppProject,
    kinds: &BTreeSet<Kind>,
) -> Option<Finding> {
    let (mut what, mut lines) = (Vec::new(), Vec::new());
    let url = site
        .settings
        .argocd
        .repo_url
        .as_ref()
        .map(|url| url.as_str());
    if let Some(url) = url.filter(|url| !allows_source(spec, url)) {
        what.push("this repo".to_owned());
        let is_denied = spec.source_repos.iter().any(|repo| repo.starts_with('!'));
        let is_listed = is_denied
            && spec
                .source_repos
                .iter()
                .any(|repo| allows_url(repo, url) && !repo.starts_with('!'));
        lines.push(if is_listed {
            "# take what begins with `!` and matches this repo out of sourceRepos".to_owned()
        } else {
            format!("sourceRepos:\n- {}", serde_json::Value::from(url))
        });
    }
    let closed_kinds: Vec<&Kind> = kinds
        .iter()
        .filter(|kind| !allows_kind(spec, kind))
        .collect();
    if !closed_kinds.is_empty() {
        let names: Vec<&str> = closed_kinds.iter().map(|kind| kind.kind.as_str()).collect();
        what.push(format!(
            "the kind{} {}",
            if names.len() == 1 { "" } else { "s" },
            names.join(", ")
        ));
        lines.extend(lines_for(spec, &closed_kinds));
    }
    let of_hosts = site.inventory.hosts.iter().map(|host| &host.key.namespace);
    let namespaces: BTreeSet<_> = of_hosts
        .chain(site.clusters.keys().map(|cluster| &cluster.namespace))
        .collect();
    let destination = &site.settings.argocd.destination;
    let is_closed = |namespace: &&&crate::api::names::Namespace| {
        allows(spec, destination, namespace.as_str()) == Some(false)
    };
    let closed: Vec<_> = namespaces.iter().filter(is_closed).collect();
    if !closed.is_empty() {
        let names: Vec<String> = closed
            .iter()
            .map(|namespace| format!("`{namespace}`"))
            .collect();
        what.push(format!(
            "the namespace{} {}",
            if names.len() == 1 { "" } else { "s" },
            names.join(", ")
        ));
        let cluster = serde_json::to_value(destination).unwrap_or_default();
        let cluster = cluster.as_object().and_then(|fields| fields.iter().next());
        let (key, value) = cluster.map_or(("server", String::new()), |(key, value)| {
            (key.as_str(), value.to_string())
        });
        let entries = closed
            .iter()
            .map(|namespace| format!("\n- {{{key}: {value}, namespace: {namespace}}}"));
        lines.push(format!("destinations:{}", entries.collect::<String>()));
    }
    if what.is_empty() {
        return None;
    }
    let message = format!(
        "the AppProject `{}` does not allow {}: Argo CD refuses to sync the output",
        metadata.name,
        what.join(" and ")
    );
    Some(
        Finding::new(Code::AgentCannotApply, message)
            .at(origin.at(["spec"]))
            .help(format!(
                "add to its `spec`, or name another project by `argocd.project`:\n{}",
                lines.join("\n")
            )),
    )
}

/// Returns the entries to add to lists of kinds, and those to remove.
fn lines_for(spec: &AppProjectSpec, kinds: &[&Kind]) -> Vec<String> {
    let lists = [
        (
            "namespaceResourceWhitelist",
            "namespaceResourceBlacklist",
            &spec.namespace_resource_blacklist,
            true,
        ),
        (
            "clusterResourceWhitelist",
            "clusterResourceBlacklist",
            &spec.cluster_resource_blacklist,
            false,
        ),
    ];
    let mut lines = Vec::new();
    for (allowing, refusing, list, has_namespace) in lists {
        let of_list = kinds
            .iter()
            .filter(|kind| kind.has_namespace() == has_namespace);
        let (refused, missing): (Vec<&Kind>, Vec<&Kind>) =
            of_list.partition(|kind| list.iter().flatten().any(|entry| is_kind(entry, kind)));
        let names: Vec<&str> = refused.iter().map(|kind| kind.kind.as_str()).collect();
        lines.extend(
            (!names.is_empty()).then(|| format!("# take {} out of {refusing}", names.join(", "))),
        );
        let entry = |kind: &&Kind| {
            format!(
                "\n- {{group: {}, kind: {}}}",
                quoted_group(&kind.group),
                kind.kind
            )
        };
        let entries: String = missing.iter().map(entry).collect();
        lines.extend((!missing.is_empty()).then(|| format!("{allowing}:{entries}")));
    }
    lines
}

fn quoted_group(group: &str) -> &str {
    if group.is_empty() { "\"\"" } else { group }
}

/// Returns whether a project allows a kind. Without a list, all namespaced kinds are allowed, and
/// no cluster-scoped ones.
fn allows_kind(spec: &AppProjectSpec, kind: &Kind) -> bool {
    let has = |list: &Vec<GroupKind>| list.iter().any(|entry| is_kind(entry, kind));
    if kind.has_namespace() {
        spec.namespace_resource_whitelist.as_ref().is_none_or(has)
            && !spec.namespace_resource_blacklist.as_ref().is_some_and(has)
    } else {
        // An entry with names may include those of the output.
        let may_have = |list: &Vec<GroupKind>| list.iter().any(|entry| is_group_kind(entry, kind));
        spec.cluster_resource_whitelist
            .as_ref()
            .is_some_and(may_have)
            && !spec.cluster_resource_blacklist.as_ref().is_some_and(has)
    }
}

fn is_kind(entry: &GroupKind, kind: &Kind) -> bool {
    ["", "*"].contains(&entry.name.as_str()) && is_group_kind(entry, kind)
}

fn is_group_kind(entry: &GroupKind, kind: &Kind) -> bool {
    matches(&entry.group, &kind.group) && matches(&entry.kind, &kind.kind)
}

/// Returns whether a project allows a repo: an entry matches, and no entry with `!` does.
fn allows_source(spec: &AppProjectSpec, url: &str) -> bool {
    let (denied, allowed): (Vec<&String>, Vec<&String>) = spec
        .source_repos
        .iter()
        .partition(|repo| repo.starts_with('!'));
    let is_denied = denied.iter().any(|repo| allows_url(&repo[1..], url));
    // A pattern with `!` matches every other repo.
    !is_denied && (!denied.is_empty() || allowed.iter().any(|repo| allows_url(repo, url)))
}

/// Returns whether a glob of `sourceRepos` matches: `*` matches no slash, but alone matches
/// everything.
fn allows_url(glob: &str, url: &str) -> bool {
    let (glob, url) = (normalized(glob), normalized(url));
    let built = GlobBuilder::new(&glob).literal_separator(true).build();
    glob == "*" || glob == url || built.is_ok_and(|glob| glob.compile_matcher().is_match(&url))
}

/// Normalizes a URL like Argo CD's `NormalizeGitURL`.
fn normalized(url: &str) -> String {
    let url = url.trim().to_lowercase();
    let url = url.strip_suffix(".git").unwrap_or(&url);
    match url.split_once(':') {
        Some((host, path)) if !url.contains("://") && host.contains('@') => {
            format!("ssh://{host}/{path}")
        }
        _ => url.to_owned(),
    }
}

/// Returns whether a project allows a namespace of a cluster.
///
/// `None` if that is unknown: a cluster has a name and a URL, and the settings have only one of
/// them.
fn allows(spec: &AppProjectSpec, destination: &Destination, namespace: &str) -> Option<bool> {
    let (server, name) = destination.server_and_name();
    let is_matched = |ProjectDestination {
                          server: servers,
                          name: names,
                          namespace: namespaces,
                      }: &ProjectDestination| {
        if [servers, names, namespaces]
            .iter()
            .any(|glob| glob.starts_with('!'))
        {
            return None;
        }
        if !matches(namespaces, namespace) {
            return Some(false);
        }
        let by = |glob: &String, value: Option<&str>| match value {
            _ if glob.is_empty() => Some(false),
            Some(value) => Some(matches(glob, value)),
            None => (glob == "*").then_some(true),
        };
        match (by(servers, server), by(names, name)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }
    };
    let answers: Vec<Option<bool>> = spec.destinations.iter().map(is_matched).collect();
    if answers.contains(&Some(true)) {
        return Some(true);
    }
    if answers.contains(&None) {
        None
    } else {
        Some(false)
    }
}

/// Returns whether one of Argo CD's globs matches: `*` matches slashes.
fn matches(glob: &str, value: &str) -> bool {
    // A project may list hundreds of namespaces, and to compile each for each cluster takes seconds.
    let built = || GlobBuilder::new(glob).build();
    glob == value
        || is_glob(glob) && built().is_ok_and(|glob| glob.compile_matcher().is_match(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_allows_as_argo_cd_does() {
        let spec = |text: &str| yaml_serde::from_str::<AppProjectSpec>(text).unwrap();
        let here = || {
            yaml_serde::from_str::<Destination>("server: https://kubernetes.default.svc").unwrap()
        };
        let there =
            || yaml_serde::from_str::<Destination>("server: https://base.example.com").unwrap();
        for (text, destination, allowed) in [
            (
                "destinations: [{server: '*', namespace: '*'}]",
                here(),
                Some(true),
            ),
            (
                "destinations: [{server: https://kubernetes.default.svc, namespace: metal}]",
                here(),
                Some(true),
            ),
            (
                "destinations: [{name: in-cluster, namespace: 'me*'}]",
                here(),
                Some(true),
            ),
            (
                "destinations: [{name: other, namespace: '*'}]",
                here(),
                Some(false),
            ),
            (
                "destinations: [{name: other, namespace: '*'}]",
                there(),
                None,
            ),
            (
                "destinations: [{server: '*', namespace: apps}]",
                here(),
                Some(false),
            ),
            (
                "destinations: [{server: '*', namespace: '!apps'}]",
                here(),
                None,
            ),
            ("{}", here(), Some(false)),
        ] {
            assert_eq!(
                allows(&spec(text), &destination, "metal"),
                allowed,
                "{text}"
            );
        }
        let kind = |kind: &str, group: &str| Kind {
            kind: kind.to_owned(),
            group: group.to_owned(),
        };
        let (host, deployment) = (kind(host::KIND, host::GROUP), kind("Deployment", "apps"));
        let definition = kind("CustomResourceDefinition", "apiextensions.k8s.io");
        for (text, allowed) in [
            ("{}", true),
            ("namespaceResourceWhitelist: []", false),
            (
                "namespaceResourceWhitelist: [{group: '*', kind: '*'}]",
                true,
            ),
            (
                "namespaceResourceWhitelist: [{group: apps, kind: Deployment}]",
                false,
            ),
            (
                "namespaceResourceBlacklist: [{group: metal3.io, kind: '*'}]",
                false,
            ),
        ] {
            assert_eq!(allows_kind(&spec(text), &host), allowed, "{text}");
        }
        for (text, kind, allowed) in [
            (
                "namespaceResourceWhitelist: [{group: apps, kind: Deployment}]",
                &deployment,
                true,
            ),
            (
                "namespaceResourceWhitelist: [{group: '*', kind: Dep*}]",
                &deployment,
                true,
            ),
            (
                "namespaceResourceBlacklist: [{group: apps, kind: '*'}]",
                &deployment,
                false,
            ),
            ("{}", &definition, false),
            (
                "clusterResourceWhitelist: [{group: '*', kind: '*'}]",
                &definition,
                true,
            ),
            (
                "clusterResourceWhitelist: [{group: '', kind: Namespace}]",
                &definition,
                false,
            ),
            (
                "clusterResourceWhitelist: [{group: '*', kind: '*', name: x}]",
                &definition,
                true,
            ),
            (
                "{clusterResourceWhitelist: [{group: '*', kind: '*'}], clusterResourceBlacklist: [{group: '*', kind: Custom*}]}",
                &definition,
                false,
            ),
        ] {
            assert_eq!(allows_kind(&spec(text), kind), allowed, "{text} {kind:?}");
        }
    }

    #[test]
    fn a_project_allows_repos_as_argo_cd_does() {
        let url = "https://git.example.com/platform/fleet.git";
        for (repos, allowed) in [
            ("['*']", true),
            ("[https://git.example.com/platform/fleet]", true),
            ("[https://Git.example.com/Platform/Fleet.git]", true),
            ("['https://git.example.com/platform/*']", true),
            ("['https://git.example.com/*']", false),
            ("['https://git.example.com/**']", true),
            ("['!https://git.example.com/platform/*', '*']", false),
            ("['!https://git.example.com/other/*']", true),
            ("[]", false),
        ] {
            let spec =
                yaml_serde::from_str::<AppProjectSpec>(&format!("sourceRepos: {repos}")).unwrap();
            assert_eq!(allows_source(&spec, url), allowed, "{repos}");
        }
        assert!(allows_url(
            "git@git.example.com:a/b.git",
            "ssh://git@git.example.com/a/b"
        ));
    }

    #[test]
    fn kinds_of_a_file_are_those_of_its_objects_and_generators() {
        let text =
            "---\napiVersion: apps/v1\nkind: Deployment\n---\napiVersion: v1\nkind: Service\n";
        let kinds: Vec<String> = Kind::of_text(text)
            .into_iter()
            .map(|kind| kind.kind)
            .collect();
        assert_eq!(kinds, ["Deployment", "Service"]);
        assert_eq!(
            Kind::of_text("kind: A\n---\n{[\n"),
            [Kind {
                kind: "A".to_owned(),
                group: String::new()
            }]
        );
        let text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nconfigMapGenerator: [{name: a}]\n";
        let kinds: Vec<String> = Kind::of_text(text)
            .into_iter()
            .map(|kind| kind.kind)
            .collect();
        assert_eq!(kinds, ["ConfigMap"]);
    }
}
