//! Objects that keep an agent from applying what sipgen writes: projects, missing decryption, sources without it.
//!
//! The rules are those of Argo CD's `AppProject` and of Flux's source-controller and kustomize-controller.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;
use ignore::gitignore::GitignoreBuilder;

use super::applied::{Applied, Conditions};
use super::{Repo, Wiring, shown};
use crate::api::gitops::{Agent, AppProject, AppProjectSpec, GitRepository, GroupKind, ProjectDestination};
use crate::api::host;
use crate::api::names::Namespace;
use crate::finding::{Code, Finding, Origin, Place};
use crate::layout;
use crate::load::sops;
use crate::settings;
use crate::settings::gitops::{Destination, Form, SourceKind};

/// The file by which a repo tells Flux's sources what to leave out.
const IGNORE_FILE: &str = ".sourceignore";

/// Reports what keeps the agent of the settings from applying the output.
pub(super) fn check(
    repo: &Repo<'_>,
    wiring: &Wiring,
    applied: &[Applied],
    conditions: &Conditions,
    requested: &BTreeSet<&Namespace>,
) -> Vec<Finding> {
    match repo.settings.gitops {
        Some(Agent::Flux) => {
            left_out(repo, &conditions.sources).into_iter().chain(not_decrypted(repo, wiring, applied)).collect()
        }
        Some(Agent::Argocd) => {
            let project = &repo.settings.argocd.project;
            let own = conditions.projects.iter().filter(|(_, object)| object.metadata.name == project.as_str());
            own.filter_map(|(origin, project)| not_allowed(repo, origin, project, requested)).collect()
        }
        None => Vec::new(),
    }
}

/// Reports a project that does not allow hosts or their namespaces.
fn not_allowed(
    repo: &Repo<'_>,
    origin: &Origin,
    AppProject { metadata, spec }: &AppProject,
    requested: &BTreeSet<&Namespace>,
) -> Option<Finding> {
    let of_hosts = repo.inventory.hosts.iter().map(|host| &host.key.namespace);
    let namespaces: BTreeSet<&Namespace> = of_hosts.chain(requested.iter().copied()).collect();
    let destination = &repo.settings.argocd.destination;
    let closed: Vec<&&Namespace> =
        namespaces.iter().filter(|namespace| allows(spec, destination, namespace.as_str()) == Some(false)).collect();
    let has_hosts = !repo.inventory.hosts.is_empty();
    let refuses_hosts = has_hosts && !allows_kind(spec, host::GROUP, host::KIND);
    let (mut what, mut lines) = (Vec::new(), Vec::new());
    if refuses_hosts {
        let is_listed =
            |list: &Option<Vec<GroupKind>>| list.iter().flatten().any(|entry| is_kind(entry, host::GROUP, host::KIND));
        what.push("the kind BareMetalHost".to_owned());
        lines.push(if is_listed(&spec.namespace_resource_blacklist) {
            "# take BareMetalHost out of namespaceResourceBlacklist".to_owned()
        } else {
            format!("namespaceResourceWhitelist:\n- {{group: {}, kind: {}}}", host::GROUP, host::KIND)
        });
    }
    if !closed.is_empty() {
        let names: Vec<String> = closed.iter().map(|namespace| format!("`{namespace}`")).collect();
        what.push(format!("the namespace{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", ")));
        let cluster = serde_json::to_value(destination).unwrap_or_default();
        let cluster = cluster.as_object().and_then(|fields| fields.iter().next());
        let (key, value) = cluster.map_or(("server", String::new()), |(key, value)| (key.as_str(), value.to_string()));
        let entries = closed.iter().map(|namespace| format!("\n- {{{key}: {value}, namespace: {namespace}}}"));
        lines.push(format!("destinations:{}", entries.collect::<String>()));
    }
    if what.is_empty() {
        return None;
    }
    let message = format!(
        "the AppProject `{}` does not allow {}: Argo CD refuses to sync what sipgen writes",
        metadata.name,
        what.join(" and ")
    );
    Some(
        Finding::new(Code::AgentCannotApply, message)
            .at(origin.at(["spec"]))
            .help(format!("add to its `spec`, or name another project by `argocd.project`:\n{}", lines.join("\n"))),
    )
}

/// Returns whether a project allows a kind that has namespaces.
fn allows_kind(spec: &AppProjectSpec, group: &str, kind: &str) -> bool {
    let has = |list: &Vec<GroupKind>| list.iter().any(|entry| is_kind(entry, group, kind));
    spec.namespace_resource_whitelist.as_ref().is_none_or(has)
        && !spec.namespace_resource_blacklist.as_ref().is_some_and(has)
}

fn is_kind(entry: &GroupKind, group: &str, kind: &str) -> bool {
    matches(&entry.group, group) && matches(&entry.kind, kind)
}

/// Returns whether a project allows a namespace of a cluster; nothing where that is not known here: a cluster has a
/// name and an address, and the settings have one of them.
fn allows(spec: &AppProjectSpec, destination: &Destination, namespace: &str) -> Option<bool> {
    let (server, name) = destination.server_and_name();
    let is_matched =
        |ProjectDestination { server: servers, name: names, namespace: namespaces }: &ProjectDestination| {
            if [servers, names, namespaces].iter().any(|glob| glob.starts_with('!')) {
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
    if answers.contains(&None) { None } else { Some(false) }
}

/// Returns whether a glob of Argo CD matches: `*` takes slashes, too.
fn matches(glob: &str, value: &str) -> bool {
    glob == value || GlobBuilder::new(glob).build().is_ok_and(|glob| glob.compile_matcher().is_match(value))
}

/// Reports builds of hosts with Secrets that Flux would have to decrypt for the Kustomization that sipgen writes.
fn not_decrypted(repo: &Repo<'_>, wiring: &Wiring, applied: &[Applied]) -> Vec<Finding> {
    let decrypting: Vec<&Applied> = applied.iter().filter(|applied| applied.decryption.is_some()).collect();
    if repo.settings.flux.decryption.is_some() || repo.settings.hosts.form == Form::Component || decrypting.is_empty() {
        return Vec::new();
    }
    let roots = repo.inventory.roots.iter().filter(|(index, _)| !wiring.applied.contains(index));
    let report = |(_, root): (&usize, &crate::kustomize::Root)| {
        let mut files: Vec<Utf8PathBuf> = repo.builds.below(&root.directory).into_keys().collect();
        files.sort();
        let is_encrypted = |file: &&Utf8PathBuf| {
            let text = repo.files.text(file).filter(|text| text.contains("sops"));
            text.is_some_and(|text| sops::form(&text).is_some())
        };
        let file = files.iter().find(is_encrypted)?;
        let message = format!(
            "{} has objects that SOPS has encrypted, and `flux.decryption` is not set: Flux refuses the Kustomization \
             that sipgen writes for its hosts",
            shown(&root.directory)
        );
        let nearest = decrypting.iter().find(|applied| root.directory.starts_with(&applied.directory));
        let applied = nearest.or(decrypting.first())?;
        let decryption = serde_json::to_string(applied.decryption.as_ref()?).ok()?;
        Some(
            Finding::new(Code::AgentCannotApply, message)
                .at(Place::File(Arc::from(file.as_path())))
                .see(applied.place.clone(), format!("{} decrypts", applied.by))
                .help(format!("write in {}, below `flux`:\ndecryption: {decryption}", settings::FILE)),
        )
    };
    roots.filter_map(report).collect()
}

/// Reports a source of Flux that leaves out directories of the output.
fn left_out(repo: &Repo<'_>, sources: &[(Origin, GitRepository)]) -> Option<Finding> {
    let flux = &repo.settings.flux;
    let is_own = |(_, source): &&(Origin, GitRepository)| {
        let namespace = flux.source_ref.namespace.as_ref().unwrap_or(&flux.namespace).as_str();
        flux.source_ref.kind == SourceKind::GitRepository
            && source.metadata.name == flux.source_ref.name.as_str()
            && source.metadata.namespace.as_deref().is_none_or(|own| own == namespace)
    };
    let source = sources.iter().find(is_own);
    let output = flux.path.join(&repo.settings.output);
    let file = output.join(layout::agent_directory(Agent::Flux)).join(layout::KUSTOMIZATION);
    let sparse = source.and_then(|(origin, source)| {
        let directories = source.spec.sparse_checkout.as_ref()?;
        let has = |directory: &String| file.starts_with(directory.trim_start_matches("./").trim_end_matches('/'));
        (!directories.iter().any(has)).then(|| origin.at(["spec", "sparseCheckout"]))
    });
    if let Some(place) = sparse {
        return Some(
            not_in_source(&output)
                .at(place)
                .help(format!("add `{output}` to `sparseCheckout`, or name another source in `flux.sourceRef`")),
        );
    }
    // The last pattern that matches decides: those of the object come last, and those of inner directories later.
    let own = source.and_then(|(origin, source)| {
        let patterns = source.spec.ignore.as_ref()?;
        Some((patterns.clone(), Utf8PathBuf::new(), origin.at(["spec", "ignore"])))
    });
    let inner = repo.settings.output.ancestors().map(|directory| directory.join(IGNORE_FILE));
    let inner = inner.filter_map(|ignore| {
        let domain = flux.path.join(ignore.parent()?);
        Some((repo.files.text(&ignore)?, domain, Place::File(Arc::from(ignore.as_path()))))
    });
    for (patterns, domain, place) in own.into_iter().chain(inner) {
        match verdict(&patterns, &domain, &file) {
            Some(true) => {
                return Some(not_in_source(&output).at(place).help(format!(
                    "end it with these lines:\n{}",
                    kept(output.strip_prefix(&domain).unwrap_or(&output))
                )));
            }
            Some(false) => return None,
            None => {}
        }
    }
    None
}

fn not_in_source(output: &Utf8Path) -> Finding {
    let message = format!("the source of Flux leaves `{output}` out: Flux does not find what sipgen writes");
    Finding::new(Code::OutputNotInSource, message)
}

/// Returns whether patterns leave a file out, or keep it; nothing where none matches.
fn verdict(patterns: &str, domain: &Utf8Path, file: &Utf8Path) -> Option<bool> {
    let file = file.strip_prefix(domain).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in patterns.lines() {
        // A line that nobody can read leaves out nothing.
        let _ = builder.add_line(None, line);
    }
    let found = builder.build().ok()?;
    let found = found.matched_path_or_any_parents(file, false);
    (!found.is_none()).then(|| found.is_ignore())
}

/// Returns the patterns that keep a directory, whatever comes before.
fn kept(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() {
        return "!*".to_owned();
    }
    let mut above: Vec<&Utf8Path> = directory.ancestors().filter(|above| !above.as_str().is_empty()).collect();
    above.reverse();
    let lines: Vec<String> = above.iter().map(|directory| format!("!/{directory}")).collect();
    let between: Vec<String> = above.iter().map(|directory| format!("/{directory}/*")).collect();
    let lines = lines.iter().zip(between.iter().map(Some)).enumerate().flat_map(|(index, (keep, rest))| {
        let rest = rest.filter(|_| index + 1 < above.len());
        std::iter::once(keep.clone()).chain(rest.cloned())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_keep_a_directory_keep_it_alone() {
        for output in ["overlays", "site/generated", "a/b/c"] {
            let lines = format!("/*\n{}", kept(output.into()));
            let has = |file: &str| verdict(&lines, "".into(), file.into());
            assert_eq!(has(&format!("{output}/agents/flux/kustomization.yaml")), Some(false), "{lines}");
            assert_eq!(has("other/a.yaml"), Some(true), "{lines}");
        }
        let lines = format!("/*\n{}", kept("site/generated".into()));
        assert_eq!(verdict(&lines, "".into(), "site/other/a.yaml".into()), Some(true));
    }

    #[test]
    fn a_project_allows_as_argo_cd_does() {
        let spec = |text: &str| yaml_serde::from_str::<AppProjectSpec>(text).unwrap();
        let here = || yaml_serde::from_str::<Destination>("server: https://kubernetes.default.svc").unwrap();
        let there = || yaml_serde::from_str::<Destination>("server: https://base.example.com").unwrap();
        for (text, destination, allowed) in [
            ("destinations: [{server: '*', namespace: '*'}]", here(), Some(true)),
            ("destinations: [{server: https://kubernetes.default.svc, namespace: metal}]", here(), Some(true)),
            ("destinations: [{name: in-cluster, namespace: 'me*'}]", here(), Some(true)),
            ("destinations: [{name: other, namespace: '*'}]", here(), Some(false)),
            ("destinations: [{name: other, namespace: '*'}]", there(), None),
            ("destinations: [{server: '*', namespace: apps}]", here(), Some(false)),
            ("destinations: [{server: '*', namespace: '!apps'}]", here(), None),
            ("{}", here(), Some(false)),
        ] {
            assert_eq!(allows(&spec(text), &destination, "metal"), allowed, "{text}");
        }
        for (text, allowed) in [
            ("{}", true),
            ("namespaceResourceWhitelist: []", false),
            ("namespaceResourceWhitelist: [{group: '*', kind: '*'}]", true),
            ("namespaceResourceWhitelist: [{group: apps, kind: Deployment}]", false),
            ("namespaceResourceBlacklist: [{group: metal3.io, kind: '*'}]", false),
        ] {
            assert_eq!(allows_kind(&spec(text), host::GROUP, host::KIND), allowed, "{text}");
        }
    }
}
