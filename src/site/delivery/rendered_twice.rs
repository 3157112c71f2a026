//! Reports the repo's own agent objects that apply a directory with hosts.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::applied::{AppliedDirectory, Exclusion};
use super::delivered::DeliveredDirectory;
use super::exclusion;
use super::reached::ReachedContent;
use super::repo::{DeliveryRepo, shown};
use super::{Component, DeliveryWiring, apply_options, delivered};
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::kustomization::{Kustomization, listed};
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::layout;
use crate::base::text::{counted, yaml};
use crate::input::kustomize::BuildRoot;
use crate::input::load::kustomize::{named, relative};
use crate::input::settings::gitops::HostsForm;
use crate::site::inventory::Host;

/// Reports mistakes in what objects of the repo apply. Records in `wiring` what the chosen agent
/// applies already.
pub(super) fn check(
    repo: &DeliveryRepo<'_>,
    wiring: &mut DeliveryWiring,
    all_reached: &[ReachedContent<'_>],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut renderers: BTreeMap<&HostKey, &AppliedDirectory> = BTreeMap::new();
    let mut by_name: BTreeMap<&str, &AppliedDirectory> = BTreeMap::new();
    for reached in all_reached {
        let applied = reached.applied;
        let is_known = |root: &&usize| repo.inventory.roots.contains_key(*root);
        let overlays = reached.overlays.iter().filter(is_known);
        let hosts_by_root = reached.declared(repo);
        let builds = |directory: &Utf8Path| reached.kustomizations.contains(directory);
        let mut delivered = delivered::delivered_directories(repo, applied, builds);
        let agent_objects = layout::agent_directory(applied.agent);
        let applies_agent_objects = delivered.iter().any(|it| it.contains(&agent_objects));
        delivered.retain(DeliveredDirectory::applies_more_than_declared_hosts);
        // Objects for other repos or clusters are only reported, and only if they seem to reach
        // hosts.
        if applied.exclusion.as_ref().is_some_and(|it| *it != Exclusion::Suspended) {
            // Not all roots of such hosts are known.
            let mut files = repo.inventory.hosts.iter().filter_map(|host| host.file.as_deref());
            let reaches_any =
                !(delivered.is_empty() && reached.overlays.is_empty() && reached.plain.is_empty())
                    || files.any(|file| reached.built.contains(file));
            findings.extend(reaches_any.then(|| exclusion::excluded(applied)).flatten());
            continue;
        }
        if let Some(finding) = reached.output(repo) {
            findings.push(finding);
            continue;
        }
        findings.extend(reached.plain_hosts());
        findings.extend(reached.renamespaced(repo));
        if applied.exclusion.is_none() {
            let hosts = reached.hosts(repo);
            let keys: Vec<&HostKey> = hosts.iter().map(|host| &host.key).collect();
            findings.extend(apply_options::findings(&applied.by, &applied.options, &keys));
            let is_chosen = repo.settings.gitops == Some(applied.agent);
            wiring.delivered.add(applied, is_chosen, delivered);
            if let Some(other) = keys.iter().find_map(|host| renderers.get(host)) {
                let (one, other) = ((&applied.by, &applied.place), (&other.by, &other.place));
                findings.push(delivered::two_appliers(one, other, &applied.directory));
                continue;
            }
            // An Application may have several sources.
            let is_single = applied.agent == GitopsAgent::Flux && !applied.is_one_of_several;
            if is_single && !keys.is_empty() {
                let other = by_name.insert(&applied.by, applied);
                let other = other.filter(|other| other.directory != applied.directory);
                findings.extend(other.map(|other| named_twice(applied, other)));
            }
            renderers.extend(keys.into_iter().map(|host| (host, applied)));
            if is_chosen {
                wiring.applied.extend(hosts_by_root.keys().chain(overlays));
                if applies_agent_objects {
                    wiring.agent_objects_by.get_or_insert_with(|| applied.by.clone());
                }
            }
        }
        for (root, hosts) in &hosts_by_root {
            let component = wiring.components.get(root);
            findings.extend(reached.without_labels(repo, *root, component, hosts));
        }
    }
    findings
}

/// Reports two objects of one name that apply different hosts.
fn named_twice(one: &AppliedDirectory, other: &AppliedDirectory) -> Finding {
    let AppliedDirectory { by, place, directory, .. } = one;
    let message = format!(
        "{by} is there twice, for {directory} and {}: no base cluster can have both, but clusters get hosts of both",
        other.directory
    );
    Finding::new(Code::SetAside, message)
        .at(place.clone())
        .see(other.place.clone(), "the other one")
        .help("write the directories of each base cluster in `sites`, as in docs/how-to/sites.md; or rename one object")
}

/// Returns whether a kustomization of the user in the output builds more than generated files.
fn reads_other_files(repo: &DeliveryRepo<'_>, directory: &Utf8Path, text: &str) -> bool {
    let own: Kustomization = match layout::is_ours(text.as_bytes()) {
        false => yaml::from_str(text).unwrap_or_default(),
        true => return false,
    };
    let is_generated = |path: &Utf8PathBuf| {
        path.starts_with(&repo.settings.output)
            && repo.files.text(path).is_none_or(|text| layout::is_ours(text.as_bytes()))
    };
    !named(directory, &own).iter().all(is_generated)
}

impl ReachedContent<'_> {
    /// Returns the declared hosts that are rendered without patches of an overlay, by root.
    fn declared<'b>(&self, repo: &DeliveryRepo<'b>) -> BTreeMap<usize, Vec<&'b Host>> {
        let is_built =
            |host: &&Host| host.file.as_deref().is_some_and(|file| self.built.contains(file));
        let built = repo.inventory.hosts.iter().filter(is_built);
        grouped(built.filter_map(|host| Some((host.applied_root()?, host))))
    }

    /// Reports an object that applies the whole output, or a component, which cannot be applied by
    /// itself.
    fn output(&self, repo: &DeliveryRepo<'_>) -> Option<Finding> {
        let AppliedDirectory { by, place, directory, above, .. } = self.applied;
        let output = &repo.settings.output;
        let misapplied = |message: String, place: &Place, help: &str| {
            Some(Finding::new(Code::OutputMisapplied, message).at(place.clone()).help(help))
        };
        let root_of = |root: &&BuildRoot| repo.patches_of(&root.directory) == *directory;
        if repo.settings.hosts.form == HostsForm::Component
            && let Some(root) = repo.inventory.roots.values().find(root_of)
        {
            let message = format!(
                "{by} applies {directory}, which is a component now and has no hosts of its own: its build fails, or is \
                 empty once no cluster has any, for which an agent that prunes deletes every host"
            );
            let root = shown(&root.directory);
            let help = format!(
                "let it apply the kustomization that includes the component, such as {root}"
            );
            return misapplied(message, place, &help);
        }
        let own_text = || repo.files.text(&directory.join(layout::KUSTOMIZATION));
        if directory != output
            && directory.starts_with(output)
            && own_text().is_some_and(|text| reads_other_files(repo, directory, &text))
        {
            let message = format!(
                "{by} applies {directory}, which sipgen did not write: its hosts are unknown, because files in \
                 `{output}` are no inputs"
            );
            let help = "set another `output` in sipgen.yaml, such as `output: sipgen`, and move the generated files there";
            return misapplied(message, place, help);
        }
        if let Some(explicit) =
            self.applied.explicit.as_ref().filter(|_| directory.starts_with(output))
        {
            let message = format!(
                "{by} reads `{directory}` as plain files, because of its `directory`: patches in it would be applied as \
                 hosts, and erase their specs"
            );
            let help = "remove `directory` from the source: Argo CD builds the kustomization then";
            return misapplied(message, explicit, help);
        }
        let file = output.join(layout::HOSTS).join(layout::KUSTOMIZATION);
        if !output.starts_with(directory) || !self.applied.applies_plainly(repo.builds, &file) {
            return None;
        }
        let agents = repo.settings.gitops.map(|agent| output.join(layout::agent_directory(agent)));
        let words = |rest: &str| {
            format!("{by} applies all that is in {}, {output} included{rest}", shown(directory))
                + ": components, which no agent can build, and hosts twice"
        };
        // A kustomization above the repo, if any, is not visible here.
        let unless = ", unless a kustomization.yaml above the repo says otherwise";
        let finding = match above.as_str() {
            "" => Finding::new(Code::OutputMisapplied, words("")),
            _ => Finding::new(Code::OutputMayBeAppliedWhole, words(unless)),
        };
        let listed = "those in it that docs/reference/output.md lists";
        let inside = agents.as_ref().map_or(listed, |agents| agents.as_str());
        let help = format!("let it apply directories beside {output}, and {inside}");
        Some(finding.at(place.clone()).help(help))
    }

    /// Reports hosts in files that are applied without a kustomization. They are declared, but the
    /// repo's kustomizations do not show it.
    fn plain_hosts(&self) -> Option<Finding> {
        let (first, _) = self.plain.first()?;
        let AppliedDirectory { by, place, directory, agent, .. } = self.applied;
        let here = shown(directory);
        let in_files = "in files that no kustomization lists";
        let (how, remedy) = match (agent, &self.applied.explicit) {
            (GitopsAgent::Argocd, Some(_)) => (
                "as plain files, because of its `directory`",
                "remove `directory` from its source, and write a kustomization.yaml for them",
            ),
            (GitopsAgent::Argocd, None) => (in_files, "write a kustomization.yaml for them"),
            (GitopsAgent::Flux, _) => (
                in_files,
                "Flux takes every YAML file of a directory without kustomization.yaml: write one",
            ),
        };
        // In the root, kustomize would list the output as well.
        let listing = if directory.as_str().is_empty() {
            "that lists their files".to_owned()
        } else {
            format!("with `cd {directory} && kustomize create --autodetect --recursive`")
        };
        let finding = Finding::new(Code::UnlistedHostsApplied, format!(
            "{by} applies {} {how}, such as {first}: labels applied to them as objects of their own would erase their \
             specs",
            counted(self.plain.len(), "BareMetalHost")
        ))
        .at(place.clone())
        .help(format!(
            "{remedy}, {listing}; if the files are a snapshot, move them out of {here}"
        ));
        let hosts = self.plain.iter();
        Some(finding.see_each(hosts.map(|(host, origin)| (origin.name(), host.to_string()))))
    }

    /// Reports hosts without a namespace, to which the agent gives another one than theirs.
    fn renamespaced(&self, repo: &DeliveryRepo<'_>) -> Option<Finding> {
        let (namespace, place) = self.applied.default_namespace.as_ref()?;
        let moved =
            |host: &&Host| host.key.namespace.as_str() != namespace && !repo.has_namespace(host);
        let hosts: Vec<&Host> = self.hosts(repo).into_iter().filter(moved).collect();
        let first = hosts.first()?;
        let (by, count) = (&self.applied.by, counted(hosts.len(), "host"));
        let message = format!(
            "{by} gives the namespace {namespace} to {count}, such as {}: its hosts are other objects than those that sipgen assigns",
            first.key
        );
        let finding = Finding::new(Code::OutputPatched, message).at(place.clone());
        let finding = finding.see(first.origin.name(), first.key.to_string());
        let help = format!("write `namespace: {namespace}` in the kustomization of the hosts");
        Some(finding.help(help))
    }

    /// Returns the hosts that it renders, with or without labels.
    fn hosts<'b>(&self, repo: &DeliveryRepo<'b>) -> Vec<&'b Host> {
        let is_reached = |host: &&Host| {
            let by_overlay = host.applied_root().is_some_and(|root| self.overlays.contains(&root));
            by_overlay || host.file.as_deref().is_some_and(|file| self.built.contains(file))
        };
        repo.inventory.hosts.iter().filter(is_reached).collect()
    }

    /// Reports a directory that renders hosts without labels. In component form, it is below the
    /// kustomization that includes the component.
    fn without_labels(
        &self,
        repo: &DeliveryRepo<'_>,
        index: usize,
        component: Option<&Component>,
        hosts: &[&Host],
    ) -> Option<Finding> {
        let root = &repo.inventory.roots[&index];
        if let Some(Component { directory, included, .. }) = component {
            let is_wrong = *included && !self.kustomizations.contains(&**directory);
            let help = format!("let it apply {}, which includes the component", shown(directory));
            let unlabelled = self.unlabelled(hosts, &root.directory);
            return is_wrong.then(|| unlabelled.help(help + &self.moved_components(directory)));
        }
        let overlay = repo.patches_of(&root.directory);
        let AppliedDirectory { by, place, directory, agent, .. } = self.applied;
        if self.overlays.contains(&index) {
            let message = format!("{by} applies {overlay} and its base: it renders hosts twice");
            let finding = Finding::new(Code::RenderedByTwo, message).at(place.clone());
            let finding = finding.see(repo.builds.resources_of(root), "what it is based on");
            let help = format!("let it apply only one of them, preferably {overlay}");
            return Some(finding.help(help));
        }
        let prefix = match agent {
            GitopsAgent::Flux => &repo.settings.flux.path,
            GitopsAgent::Argocd => &repo.settings.argocd.path,
        };
        let path = prefix.join(&overlay);
        let path = if *agent == GitopsAgent::Flux { format!("./{path}") } else { path.to_string() };
        // Each path that a template makes would become the same one.
        let is_of_template = self.applied.is_one_of_several;
        let help = if root.directory == *directory && !is_of_template {
            let moved = self.moved_components(&overlay);
            format!("write `path: {path}` there: it is the same with the labels{moved}")
        } else if root.directory.starts_with(directory) {
            let why = if is_of_template {
                "a template makes the path"
            } else {
                "it applies more than these hosts"
            };
            format!(
                "{why}: set `hosts: {{form: component}}` in sipgen.yaml and include the \
                 component in {}; or take {} out of it and let an agent apply {path}",
                root.file,
                shown(&root.directory)
            )
        } else {
            format!(
                "the overlay is one over all of {}: let one object apply {path} in place of all that apply parts of it{}; \
                 or remove {}, if no agent applies it, so that each part gets an overlay of its own",
                shown(&root.directory),
                self.moved_components(&overlay),
                root.file
            )
        };
        Some(self.unlabelled(hosts, &root.directory).help(help))
    }

    /// Returns the help that keeps the object's components, whose paths are relative to its own.
    fn moved_components(&self, directory: &Utf8Path) -> String {
        let components = self.applied.components.iter();
        let paths: Vec<String> =
            components.map(|(path, _)| listed(relative(directory, path).as_str())).collect();
        if paths.is_empty() {
            return String::new();
        }
        format!("; its components are relative to that: write `components: [{}]`", paths.join(", "))
    }

    fn unlabelled(&self, hosts: &[&Host], root: &Utf8Path) -> Finding {
        let AppliedDirectory { by, place, directory, .. } = self.applied;
        let are = if hosts.len() == 1 { "is" } else { "are" };
        let of = if root == directory { String::new() } else { format!(" of {}", shown(root)) };
        let message = format!(
            "{by} applies {}, where {}{of} {are} rendered without labels",
            shown(directory),
            counted(hosts.len(), "declared host"),
        );
        Finding::new(Code::RenderedUnlabelled, message).at(place.clone())
    }
}
