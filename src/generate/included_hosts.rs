//! Hosts of the output in builds that change what they include.
//!
//! A kustomization that lists the output runs after it, and so does the object of an agent that
//! applies it. Labels and guards of hosts must survive them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::counted;
use crate::base::tree::Tree;
use crate::input::kustomize::{AgentBuild, Builds, BuiltDirectory, DeliveredHost};
use crate::input::load::Files;
use crate::output::render::{PlannedHost, changed_name};
use crate::site::Site;
use crate::site::inventory::Host;

/// The hosts of the output, by directory relative to it.
pub(super) type HostsByDirectory<'a> = BTreeMap<Utf8PathBuf, Vec<PlannedHost<'a>>>;

/// Returns whether a build of the repo may change generated hosts.
pub(super) fn may_be_changed(site: &Site) -> bool {
    let hosts = site.settings.output.join(layout::HOSTS);
    let listing = site.builds.roots_listing(&hosts);
    let may_change =
        |root: &usize| site.builds.may_change_listed(&site.root(*root).directory, &hosts);
    !site.agent_builds.is_empty() || listing.iter().any(may_change)
}

/// The builds of the repo with all generated files.
pub(super) struct CompleteRepo<'a> {
    site: &'a Site,
    planned: &'a HostsByDirectory<'a>,
    repo: Files,
    builds: Builds,
}

impl<'a> CompleteRepo<'a> {
    /// Adds the generated files to a repo. Their paths are relative to the output directory.
    pub(super) fn new(
        repo: &Files,
        site: &'a Site,
        planned: &'a HostsByDirectory<'a>,
        generated: &Tree,
    ) -> Self {
        let output = &site.settings.output;
        let files = generated.iter().map(|(path, text)| (output.join(path), text.as_str()));
        let files: Vec<(Utf8PathBuf, &str)> = files.collect();
        let builds =
            site.builds.with_files(files.iter().map(|(path, text)| (path.as_path(), *text)));
        let generated = generated.iter().map(|(path, text)| (path, text.clone()));
        CompleteRepo { site, planned, builds, repo: repo.clone().with_directory(output, generated) }
    }

    /// Compares builds that include generated hosts, and may change them, with the plan.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let roots = self.builds.roots().map(|root| &root.directory);
        let directories: BTreeSet<&Utf8PathBuf> =
            roots.chain(self.site.agent_builds.keys()).collect();
        let all: Vec<&Utf8PathBuf> = directories.into_iter().collect();
        all.into_par_iter().flat_map_iter(|directory| self.changes(directory)).collect()
    }

    /// Returns the generated hosts in a directory's build.
    pub(super) fn hosts(&self, directory: &Utf8Path) -> Vec<&'a PlannedHost<'a>> {
        let parts = self.builds.made_of(directory);
        let is_part = |hosts: &Utf8PathBuf| parts.contains(&*self.site.settings.output.join(hosts));
        let hosts = self.planned.iter().filter(|(directory, _)| is_part(directory));
        hosts.flat_map(|(_, hosts)| hosts).collect()
    }

    /// Returns the other hosts in a directory's build, if an agent's object names what it builds, or
    /// applies an overlay. They get no patches, but must keep their names, and the build must
    /// succeed.
    fn others(&self, directory: &Utf8Path, planned: &[&PlannedHost<'_>]) -> Vec<&'a Host> {
        let site = self.site;
        let files = self.builds.below(directory);
        let planned: HashSet<&HostKey> = planned.iter().map(|planned| &planned.host.key).collect();
        let is_other = |host: &&Host| {
            host.file.as_deref().is_some_and(|file| files.contains_key(file))
                && !planned.contains(&host.key)
        };
        site.inventory.hosts.iter().filter(is_other).collect()
    }

    /// Reports the first changed field of each host in a directory's build.
    fn changes(&self, directory: &Utf8PathBuf) -> Vec<Finding> {
        let (site, builds, planned) = (self.site, &self.builds, self.hosts(directory));
        let top = site.settings.output.join(layout::HOSTS);
        let agent = AgentBuild::for_directory(&site.agent_builds, builds, directory);
        let has_others = agent.is_some_and(|agent| {
            agent.applies(builds, directory) && (agent.sets_names() || directory.starts_with(&top))
        });
        let others = if has_others { self.others(directory, &planned) } else { Vec::new() };
        let is_changed = || agent.is_some() || site.builds.may_change_listed(directory, &top);
        if planned.is_empty() && others.is_empty() || !is_changed() {
            return Vec::new();
        }
        let all = planned.iter().map(|planned| planned.host).chain(others.iter().copied());
        let files: BTreeSet<&Utf8Path> = all.filter_map(|host| host.file.as_deref()).collect();
        let is_vital = |file: &Utf8Path| files.contains(file) || file.starts_with(&top);
        let built = BuiltDirectory { directory, agent, is_restricted: false, is_vital: &is_vital };
        let delivered = match builds.delivered_by(&self.repo, &built) {
            Ok(delivered) => delivered,
            Err(finding) => return finding.into_iter().collect(),
        };
        let mut changed: BTreeMap<Vec<&str>, Vec<ChangedHost<'_>>> = BTreeMap::new();
        for planned in planned {
            let HostKey { namespace, name } = &planned.host.key;
            // Flux replaces variables in names after the build.
            let object = delivered
                .host(planned.name, planned.namespace)
                .or_else(|| delivered.host(name.as_str(), Some(namespace.as_str())));
            let route = match object {
                Some(object) => planned.changed_field(object.object()),
                None => Some(Vec::new()),
            };
            if let Some(route) = route {
                let host = ChangedHost { host: planned.host, object, is_generated: true };
                changed.entry(route).or_default().push(host);
            }
        }
        for host in others {
            let HostKey { namespace, name } = &host.key;
            let object = delivered
                .host(name.as_str(), Some(namespace.as_str()))
                .or_else(|| delivered.host_in_document(&host.origin));
            if let Some(object) = object
                && let Some(route) = changed_name(host, object.object())
            {
                let host = ChangedHost { host, object: Some(object), is_generated: false };
                changed.entry(route).or_default().push(host);
            }
        }
        let by = match agent {
            Some(agent) => agent.by.clone(),
            None => format!("`kustomize build {}`", layout::directory_argument(directory)),
        };
        let findings = changed.iter().filter_map(|(route, hosts)| {
            let first = hosts.iter().min_by_key(|changed| &changed.host.key)?;
            let written = first.object.and_then(|object| object.place_of(route, &top));
            let place = written.or_else(|| {
                let file = builds.kustomization_file(directory).map(Place::File);
                agent.and_then(AgentBuild::place).or(file)
            })?;
            Some(finding(&by, route, first, hosts, place))
        });
        findings.collect()
    }
}

/// A host that differs from the plan in a build.
struct ChangedHost<'a> {
    host: &'a Host,
    /// Its object in the build, if there is one.
    object: Option<DeliveredHost<'a>>,
    /// Set if the output has it.
    is_generated: bool,
}

/// Returns the finding about hosts of which a build changes the same field.
fn finding(
    by: &str,
    route: &[&str],
    first: &ChangedHost<'_>,
    hosts: &[ChangedHost<'_>],
    place: Place,
) -> Finding {
    const EXEMPT: &str = "exempt these hosts, for example by the `target` of a patch";
    let metadata = first.object.and_then(|object| object.object().get("metadata"));
    let text = |field: &str| metadata?.get(field)?.as_str();
    let mut key = first.host.key.to_string();
    let (change, harm, help) = match route {
        [_, "labels", key] => {
            (format!("changes the label `{key}` of"), "it assigns hosts", EXEMPT.to_owned())
        }
        [_, "annotations", key] => (
            format!("changes the annotation `{key}` of"),
            "it keeps agents from deleting hosts, or emptying their specs",
            EXEMPT.to_owned(),
        ),
        [_, field] => {
            let value = text(field).unwrap_or_default();
            key = format!("{key} to `{value}`");
            let help = match *field {
                "namespace" if !value.is_empty() => format!(
                    "remove the change, or write `namespace: {value}` in the kustomization of the hosts"
                ),
                _ => "remove the change; what hosts are to be called belongs in their own kustomization"
                    .to_owned(),
            };
            let harm = "as other objects, they have no machines and no credentials";
            (format!("changes the {field} of"), harm, help)
        }
        _ => ("deletes".to_owned(), "agents may power off their machines", EXEMPT.to_owned()),
    };
    let are_generated = hosts.iter().all(|changed| changed.is_generated);
    let hosts = counted(hosts.len(), if are_generated { "generated host" } else { "host" });
    let message = format!("{by} {change} {hosts}, such as {key}: {harm}");
    let document = (first.host.origin.name(), first.host.key.to_string());
    let finding = Finding::new(Code::OutputPatched, message).at(place).help(help);
    finding.see_each(matches!(route, [_, _]).then_some(document))
}
