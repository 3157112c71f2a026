//! Hosts of the output in builds that change what they include.
//!
//! A kustomization that lists the output runs after it, and so does the object of an agent that
//! applies it. Labels and guards of hosts must survive them.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::counted;
use crate::base::tree::Tree;
use crate::input::kustomize::{AgentBuild, Builds, BuiltDirectory, DeliveredHost};
use crate::input::load::Files;
use crate::output::render::PlannedHost;
use crate::site::Site;

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

    /// Reports the first changed field of each host in a directory's build.
    fn changes(&self, directory: &Utf8PathBuf) -> Vec<Finding> {
        let (site, builds, hosts) = (self.site, &self.builds, self.hosts(directory));
        let top = site.settings.output.join(layout::HOSTS);
        let agent = AgentBuild::for_directory(&site.agent_builds, builds, directory);
        let is_changed = || agent.is_some() || site.builds.may_change_listed(directory, &top);
        if hosts.is_empty() || !is_changed() {
            return Vec::new();
        }
        let files: BTreeSet<&Utf8Path> =
            hosts.iter().filter_map(|planned| planned.host.file.as_deref()).collect();
        let is_vital = |file: &Utf8Path| files.contains(file) || file.starts_with(&top);
        let built = BuiltDirectory { directory, agent, is_restricted: false, is_vital: &is_vital };
        let delivered = match builds.delivered_by(&self.repo, &built) {
            Ok(delivered) => delivered,
            Err(finding) => return finding.into_iter().collect(),
        };
        let mut changed: BTreeMap<Vec<&str>, Vec<(&PlannedHost<'_>, Option<DeliveredHost<'_>>)>> =
            BTreeMap::new();
        for planned in hosts {
            let HostKey { namespace, name } = &planned.host.key;
            // Flux replaces variables in names after the build.
            let host = delivered
                .host(planned.name, planned.namespace)
                .or_else(|| delivered.host(name.as_str(), Some(namespace.as_str())));
            let route = match host {
                Some(host) => planned.changed_field(host.object()),
                None => Some(Vec::new()),
            };
            if let Some(route) = route {
                changed.entry(route).or_default().push((planned, host));
            }
        }
        let by = match agent {
            Some(agent) => agent.by.clone(),
            None => format!("`kustomize build {}`", layout::directory_argument(directory)),
        };
        let findings = changed.iter().filter_map(|(route, hosts)| {
            let (first, host) = hosts.first()?;
            let written = host.and_then(|host| host.place_of(route, &top));
            let place = written.or_else(|| {
                let file = builds.kustomization_file(directory).map(Place::File);
                agent.and_then(AgentBuild::place).or(file)
            })?;
            Some(finding(&by, route, &first.host.key, hosts.len()).at(place))
        });
        findings.collect()
    }
}

/// Returns the finding about hosts of which a build changes the same field.
fn finding(by: &str, route: &[&str], first: &HostKey, count: usize) -> Finding {
    const EXEMPT: &str = "exempt these hosts, for example by the `target` of a patch";
    let (change, harm, help) = match route {
        [_, "labels", key] => (format!("changes the label `{key}` of"), "it assigns hosts", EXEMPT),
        [_, "annotations", key] => (
            format!("changes the annotation `{key}` of"),
            "it keeps agents from deleting hosts, or emptying their specs",
            EXEMPT,
        ),
        [_, field] => (
            format!("changes the {field} of"),
            "as other objects, they have no machines and no credentials",
            "remove the change; what hosts are to be called belongs in their own kustomization",
        ),
        _ => ("deletes".to_owned(), "agents may power off their machines", EXEMPT),
    };
    let hosts = counted(count, "generated host");
    Finding::new(Code::OutputPatched, format!("{by} {change} {hosts}, such as {first}: {harm}"))
        .help(help)
}
