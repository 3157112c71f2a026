//! Hosts and services of the output in builds that change what they include.
//!
//! A kustomization that lists the output runs after it, and so does the object of an agent that
//! applies it. Labels and guards of hosts must survive them, and services must stay with their
//! Secrets.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use yaml_serde::Value;

use super::bound_objects;
use crate::base::api::host::Metadata;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::counted;
use crate::base::tree::Tree;
use crate::input::kustomize::{AgentBuild, BuildObject, Builds, DeliveredBuild};
use crate::input::load::Files;
use crate::output::render::{HostsByDirectory, PlannedHost};
use crate::review::lint::label_user;
use crate::site::Site;
use crate::site::assembly::ComponentListing;
use crate::site::delivery::{ObjectOption, apply_options};
use crate::site::inventory::apply_options::{ARGOCD, ApplyOption, in_metadata};
use crate::site::inventory::{Evidence, Host};

/// Returns whether a build of the repo may change generated hosts or services.
pub(super) fn may_be_changed(site: &Site) -> bool {
    let (builds, output) = (&site.builds, &site.settings.output);
    let listing = builds.roots_listing(output);
    let may_change = |root: &usize| builds.may_change_listed(&site.root(*root).directory, output);
    !site.agent_builds.is_empty()
        || !site.component_listings.is_empty()
        || !builds.listing_as_resource(output).is_empty()
        || listing.iter().any(may_change)
}

/// The builds of the repo with all generated files.
pub(super) struct CompleteRepo<'a> {
    site: &'a Site,
    planned: &'a HostsByDirectory<'a>,
    repo: Files,
    builds: Builds,
    /// Directories of kustomizations that list resources of the output.
    listing: BTreeSet<&'a Utf8Path>,
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
        let files: Vec<(Utf8PathBuf, &str)> =
            generated.iter().map(|(path, text)| (output.join(path), text.as_str())).collect();
        let builds =
            site.builds.with_files(files.iter().map(|(path, text)| (path.as_path(), *text)));
        let generated = generated.iter().map(|(path, text)| (path, text.clone()));
        let repo = repo.clone().with_directory(output, generated);
        let listing = site.builds.listing_as_resource(output);
        CompleteRepo { site, planned, repo, builds, listing }
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

    /// Returns the hosts in a directory's build that get no patch there.
    fn unpatched(
        &self,
        directory: &Utf8Path,
        patched: &[&PlannedHost<'_>],
    ) -> Vec<PlannedHost<'a>> {
        let (site, files) = (self.site, self.builds.below(directory));
        // Another root may name the objects of the same files otherwise.
        let parts = self.builds.made_of(directory);
        let below = site.builds.roots().enumerate();
        let below = below.filter(|(_, root)| parts.contains(root.directory.as_path()));
        let roots: BTreeSet<usize> =
            below.map(|(index, _)| index).chain(site.builds.roots_of(directory)).collect();
        let patched: HashSet<&HostKey> = patched.iter().map(|planned| &planned.host.key).collect();
        let is_unpatched = |host: &&Host| {
            matches!(host.evidence, Evidence::Applied { root } if roots.contains(&root))
                && host.file.as_deref().is_some_and(|file| files.contains_key(file))
                && !patched.contains(&host.key)
        };
        let hosts = site.inventory.hosts.iter().filter(is_unpatched);
        hosts.map(|host| PlannedHost::unpatched(site, host)).collect()
    }

    /// Reports the first changed field of each host in a directory's build, and services that lose
    /// their Secrets.
    fn changes(&self, directory: &Utf8PathBuf) -> Vec<Finding> {
        let (site, builds, mut hosts) = (self.site, &self.builds, self.hosts(directory));
        let top = &site.settings.output;
        let services = top.join(layout::CLUSTERS);
        let agent = AgentBuild::for_directory(&site.agent_builds, builds, directory);
        let parts = builds.made_of(directory);
        let lists_output = parts.iter().any(|part| self.listing.contains(part));
        // An agent's object may rename any host, and its patches of an overlay must apply.
        let counts_all = agent.is_some_and(|agent| {
            agent.applies(builds, directory) && (agent.sets_names() || directory.starts_with(top))
        });
        let is_changed = || agent.is_some() || site.builds.may_change_listed(directory, top);
        let compares_all = counts_all || lists_output && is_changed();
        let unpatched = if compares_all { self.unpatched(directory, &hosts) } else { Vec::new() };
        let counted = if counts_all { usize::MAX } else { hosts.len() };
        hosts.extend(&unpatched);
        let agents = top.join(layout::AGENTS);
        let is_other = |part: &Utf8Path| part.starts_with(&services) || part.starts_with(&agents);
        let has_others = || parts.iter().copied().any(is_other);
        let listings = site.component_listings.iter().flat_map(|(cluster, listings)| {
            let here = listings.iter().filter(|it| parts.contains(it.directory.as_path()));
            here.map(move |listing| (cluster, listing))
        });
        let listings: Vec<(&ClusterKey, &ComponentListing)> = listings.collect();
        let is_changed = (!hosts.is_empty() || has_others()) && is_changed();
        let compares_hosts = is_changed || lists_output;
        if !compares_hosts && listings.is_empty() {
            return Vec::new();
        }
        let files: BTreeSet<&Utf8Path> =
            hosts.iter().filter_map(|planned| planned.host.file.as_deref()).collect();
        let is_vital =
            |file: &Utf8Path| is_changed && (files.contains(file) || file.starts_with(top));
        let delivered = builds.delivered_by(&self.repo, directory, agent, is_vital);
        let is_unknown = |it: &Finding| hosts.is_empty() && it.code == Code::DirectoryUnread;
        let delivered = match delivered {
            // Without hosts, the part that is known suffices.
            Err(Some(finding)) if compares_hosts && is_unknown(&finding) => {
                builds.delivered_by(&self.repo, directory, agent, |_| false)
            }
            delivered => delivered,
        };
        let delivered = match delivered {
            Ok(delivered) => delivered,
            Err(finding) => {
                let is_left =
                    |it: &Finding| compares_hosts && !is_unknown(it) && !self.is_known(it);
                return finding.into_iter().filter(is_left).collect();
            }
        };
        let by = match agent {
            Some(agent) => agent.by.clone(),
            None => format!("`kustomize build {}`", layout::directory_argument(directory)),
        };
        let file = builds.kustomization_file(directory).map(Place::File);
        let place = agent.map(AgentBuild::place_of_object).or(file);
        let compared = ComparedBuild { site, by: &by, place, delivered: &delivered };
        let mut findings = compared.hosts(&hosts, counted);
        findings.extend(compared.moved_services(directory));
        findings.extend(compared.changed_appliers());
        findings.extend(bound_objects::findings(site, builds, &delivered, &listings, &by));
        findings
    }

    /// Returns whether a build fails at an entry that other findings are about: one of the output
    /// that is not there yet.
    fn is_known(&self, failure: &Finding) -> bool {
        let (repo, top) = (&self.repo, &self.site.settings.output);
        let is_missing = |path: &Utf8Path| path.starts_with(top) && repo.kind(path).is_none();
        let missing = self.builds.entries_naming(is_missing, |_| true);
        missing.iter().any(|entry| failure.places.iter().any(|(place, _)| *place == entry.place))
    }
}

/// A build with generated hosts.
struct ComparedBuild<'a> {
    site: &'a Site,
    /// The command or object that makes it, with the place.
    by: &'a str,
    place: Option<Place>,
    delivered: &'a DeliveredBuild,
}

impl ComparedBuild<'_> {
    fn place_of(&self, host: Option<&BuildObject>, route: &[&str]) -> Option<Place> {
        let written = host.and_then(|host| host.changed_at(route, &self.site.settings.output));
        written.or_else(|| self.place.clone())
    }

    /// Reports the first changed field of each host. Only labels of hosts after the first `counted`
    /// matter.
    fn hosts(&self, hosts: &[&PlannedHost<'_>], counted: usize) -> Vec<Finding> {
        let (site, delivered, output) = (self.site, self.delivered, &self.site.settings.output);
        let mut changed: BTreeMap<Vec<&str>, Vec<(&PlannedHost<'_>, Option<&BuildObject>)>> =
            BTreeMap::new();
        let mut added: BTreeMap<String, (ObjectOption, Vec<&HostKey>)> = BTreeMap::new();
        let mut choosers: BTreeMap<&str, Option<(String, Place)>> = BTreeMap::new();
        for (index, planned) in hosts.iter().copied().enumerate() {
            let HostKey { namespace, name } = &planned.host.key;
            // Flux replaces variables in names after the build, and agents replace a prefix.
            let host = delivered
                .host(planned.name, planned.namespace)
                .or_else(|| delivered.host(name.as_str(), Some(namespace.as_str())))
                .or_else(|| delivered.host_in_document(&planned.host.origin));
            let field = match host {
                _ if index >= counted => None,
                Some(host) => planned.changed_field(&host.value),
                None => Some(Vec::new()),
            };
            let route = field.or_else(|| {
                let host = host?;
                let labels = host.value.get("metadata").and_then(|it| it.get("labels"));
                let label = planned.unplanned_labels(&host.value).find(|key| {
                    // Files of frozen clusters add labels that are not planned.
                    let is_removed = labels.is_none_or(|labels| labels.get(key).is_none());
                    let is_foreign =
                        || host.changed_at(&["metadata", "labels", key], output).is_some();
                    (is_removed || is_foreign())
                        && choosers.entry(key).or_insert_with(|| label_user(site, key)).is_some()
                });
                Some(vec!["metadata", "labels", label?])
            });
            if let Some(route) = route {
                changed.entry(route).or_default().push((planned, host));
            }
            // Those of declared hosts are known since they were read.
            let Some(host) = host.filter(|_| matches!(planned.host.evidence, Evidence::Live))
            else {
                continue;
            };
            let metadata = host.value.get("metadata").cloned().unwrap_or_default();
            let metadata: Metadata = yaml_serde::from_value(metadata).unwrap_or_default();
            let options = in_metadata(&metadata, false, |route| {
                self.place_of(Some(host), &route).unwrap_or_else(|| planned.host.origin.name())
            });
            let counts = |option: &ApplyOption| {
                site.settings.gitops.is_none_or(|agent| agent == option.agent)
            };
            for option in options.into_iter().filter(counts) {
                let (_, hosts) = added
                    .entry(option.text.clone())
                    .or_insert_with(|| (ObjectOption::new(option), Vec::new()));
                hosts.push(&planned.host.key);
            }
        }
        let added = added.values().flat_map(|(option, hosts)| {
            apply_options::findings(self.by, std::slice::from_ref(option), hosts)
        });
        let findings = changed.iter().filter_map(|(route, hosts)| {
            let (first, host) = hosts.iter().min_by_key(|(planned, _)| &planned.host.key)?;
            let user = match route[..] {
                [_, "labels", key] => choosers.get(key).and_then(Option::as_ref),
                _ => None,
            };
            let chooser = user.map(|(name, _)| name.as_str());
            let finding = finding(self.by, route, &first.host.key, *host, hosts.len(), chooser)
                .at(self.place_of(*host, route)?);
            Some(finding.see_each(user.map(|(_, place)| (place.clone(), "it is used here"))))
        });
        findings.chain(added).collect()
    }

    /// Returns the finding about sipgen's own objects for agents of which a build changes how they apply
    /// hosts: an object that is forced, replaced or pruned loses its machine.
    fn changed_appliers(&self) -> Option<Finding> {
        let (by, output) = (self.by, &self.site.settings.output);
        let (hosts, agents) = (output.join(layout::HOSTS), output.join(layout::AGENTS));
        let is_harmful = |value: &Value| match value {
            Value::Bool(is_set) => *is_set,
            Value::Mapping(policy) => {
                let prunes = policy.get("automated").and_then(|automated| automated.get("prune"));
                let options = policy.get("syncOptions").and_then(Value::as_sequence);
                let mut options = options.into_iter().flatten().filter_map(Value::as_str);
                prunes == Some(&Value::Bool(true))
                    || options.any(|option| ARGOCD.iter().any(|(known, _)| *known == option))
            }
            _ => false,
        };
        let objects = self.delivered.objects.iter();
        let mut own = objects.filter(|object| object.origin.file.starts_with(&agents));
        let changed = own.find_map(|object| {
            let spec = object.value.get("spec")?;
            let path = spec.get("path").or_else(|| spec.get("source")?.get("path"))?.as_str()?;
            let field = ["force", "prune", "syncPolicy"].into_iter().find(|field| {
                path.contains(hosts.as_str()) && spec.get(*field).is_some_and(is_harmful)
            })?;
            let place = object.changed_at(&["spec", field], output)?;
            let name = object.value.get("metadata")?.get("name")?.as_str()?;
            Some((name, field, place))
        });
        let (name, field, place) = changed?;
        let message = format!(
            "{by} changes `spec.{field}` of sipgen's object {name}: the agent may delete hosts, and their machines lose power"
        );
        let help = "exempt the object, for example by the `target` of a patch: it applies hosts, which are never pruned, \
                    forced or replaced";
        Some(Finding::new(Code::OutputPatched, message).at(place).help(help))
    }

    /// Returns the finding about services that a build moves away from the Secrets that they use.
    fn moved_services(&self, directory: &Utf8Path) -> Option<Finding> {
        let (by, output) = (self.by, &self.site.settings.output);
        let objects = &self.delivered.objects;
        // An agent replaces the namespace that a directory of services sets itself.
        let own = directory.strip_prefix(output).ok();
        let own = own.and_then(|path| layout::cluster_of(&path.join(layout::KUSTOMIZATION)));
        let own = own.map(|cluster| cluster.namespace.to_string());
        let made = objects.iter().filter_map(|BuildObject { value: object, .. }| {
            let is_secret = object.get("kind")?.as_str()?.ends_with("Secret");
            object.get("metadata")?.get("name")?.as_str().filter(|_| is_secret)
        });
        let made: HashSet<&str> = made.collect();
        let moved = objects.iter().filter_map(|object| {
            let place = object.changed_at(&["metadata", "namespace"], output)?;
            let former = own.clone().or_else(|| object.former_namespace())?;
            let text = |field: &str| object.value.get("metadata")?.get(field)?.as_str();
            let (name, namespace) = (text("name")?, text("namespace")?);
            if former == namespace || !object.origin.file.starts_with(output) {
                return None;
            }
            let kind = object.value.get("kind")?.as_str()?;
            let mut names = Vec::new();
            object.value.values().for_each(|field| add_secrets(field, &mut names));
            let secret = names.into_iter().find(|name| !made.contains(name))?;
            Some((format!("{kind} {former}/{name}"), namespace, secret, place))
        });
        let moved: Vec<_> = moved.collect();
        let (first, namespace, secret, place) = moved.iter().min_by_key(|(first, ..)| first)?;
        let count = counted(moved.len(), "object");
        let message = format!(
            "{by} changes the namespace of {count} of services, such as {first} to `{namespace}`: the Secret `{secret}` that it \
             uses stays behind"
        );
        let help = "remove the change: services use Secrets in the namespace of their cluster";
        Some(Finding::new(Code::OutputPatched, message).at(place.clone()).help(help))
    }
}

/// Adds the names of Secrets that a value names.
fn add_secrets<'v>(value: &'v Value, names: &mut Vec<&'v str>) {
    match value {
        Value::Mapping(fields) => {
            for (key, field) in fields {
                let name = match key.as_str() {
                    Some("secretName") => Some(field),
                    Some("secretRef" | "secretKeyRef" | "secret") => field.get("name"),
                    _ => None,
                };
                names.extend(name.and_then(Value::as_str));
                add_secrets(field, names);
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| add_secrets(item, names)),
        _ => {}
    }
}

/// Returns the finding about hosts of which a build changes the same field. The first is `built`. A
/// label may be one by which `chooser` chooses hosts.
fn finding(
    by: &str,
    route: &[&str],
    first: &HostKey,
    built: Option<&BuildObject>,
    count: usize,
    chooser: Option<&str>,
) -> Finding {
    let metadata = built.and_then(|built| built.value.get("metadata"));
    let text = |field: &str| metadata?.get(field)?.as_str();
    let chosen_by = chooser.map(|chooser| format!("{chooser} chooses hosts by it"));
    let (change, value, harm) = match route {
        [_, "labels", key] => {
            let harm = chosen_by.as_deref().unwrap_or("it assigns hosts");
            (format!("changes the label `{key}` of"), None, harm)
        }
        [_, "annotations", key] => {
            let harm = "it keeps agents from deleting hosts, or emptying their specs";
            (format!("changes the annotation `{key}` of"), None, harm)
        }
        ["spec"] => {
            ("adds a spec to".to_owned(), None, "it replaces what Metal3 and Cluster API set")
        }
        [_, field] => {
            let harm = "as other objects, they have no machines and no credentials";
            (format!("changes the {field} of"), text(field), harm)
        }
        _ => ("deletes".to_owned(), None, "agents may power off their machines"),
    };
    let help = match route {
        ["metadata", "name" | "namespace"] => {
            "remove the change; what hosts are to be called belongs in their own kustomization"
        }
        _ => "exempt these hosts, for example by the `target` of a patch",
    };
    let is_any = route.len() == 2 || chooser.is_some();
    let hosts = counted(count, if is_any { "host" } else { "generated host" });
    let value = value.map_or_else(String::new, |value| format!(" to `{value}`"));
    let message = format!("{by} {change} {hosts}, such as {first}{value}: {harm}");
    Finding::new(Code::OutputPatched, message).help(help)
}
