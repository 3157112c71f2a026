//! Renders the objects by which Flux or Argo CD applies the directories of the output in order.
//!
//! They are derived from the future content of the output directory, so a frozen cluster keeps its
//! objects.
//!
//! A wrong object can power machines off, hence these rules for both agents:
//!
//! * Only services, outputs and installers are ever deleted with the object that applied them; hosts
//!   and definitions never.
//! * A directory that one of the repo's own objects applies gets no generated object: two would
//!   revert each other.

mod argocd;
mod flux;
mod names;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::Tree;
use super::hosts::kustomization_listing;
use super::planned_hosts::{GUARDS, HostsByDirectory, MERGE};
use super::services::required_definitions;
use super::yaml_block::block_of;
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::names::{ClusterKey, HostKey, Namespace};
use crate::base::finding::Finding;
use crate::base::layout::outputs::SITE;
use crate::base::layout::{self, header};
use crate::base::tree::files_below;
use crate::input::settings::gitops::HostsForm;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;

use names::AgentObjectNames;

/// A directory of the output that an agent applies.
struct Delivery {
    /// Name of its object.
    name: String,
    /// Path relative to the output directory.
    directory: Utf8PathBuf,
    holds: DirectoryContent,
    /// Names of the objects that it depends on.
    after: Vec<String>,
    /// File of its object, beside the agent's kustomization.
    file: String,
}

/// Content of a directory, which decides what an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DirectoryContent {
    /// CustomResourceDefinitions. Deleting one deletes every object of its kind.
    Definitions,
    /// A cluster's services and outputs.
    Services,
    /// An output for the whole site.
    SiteOutput,
    /// Only a marker object. Objects that depend on it follow all services.
    AfterServices,
    /// Hosts that the repo declares, with their labels.
    Declared,
    /// Labels of observed hosts.
    Observed,
    /// Installer of a cluster. It runs for a long time, and nothing waits for it.
    Installer,
    /// Released hosts, without labels.
    Released,
}

/// What agents do with a directory.
struct ApplyPolicy {
    /// Place in the order of Argo CD.
    wave: u8,
    /// Set if an agent deletes objects that leave the build, and all of them with its own object.
    ///
    /// For hosts that would power off machines, and for definitions delete every object of their
    /// kinds.
    is_deleted: bool,
    /// Options of Argo CD.
    sync_options: &'static [&'static [&'static str]],
}

impl ApplyPolicy {
    fn new(holds: DirectoryContent) -> Self {
        /// A pod of the old ReplicaSet may start once more and requires the old ConfigMap.
        const LAST: &[&str] = &["PruneLast=true"];
        let (wave, is_deleted, sync_options): (_, _, &[&[&str]]) = match holds {
            DirectoryContent::Definitions => (0, false, &[&GUARDS]),
            DirectoryContent::Services | DirectoryContent::SiteOutput => (1, true, &[LAST]),
            DirectoryContent::AfterServices => (1, false, &[LAST]),
            DirectoryContent::Declared => {
                (2, false, &[&["RespectIgnoreDifferences=true"], &GUARDS])
            }
            DirectoryContent::Observed => (2, false, &[&MERGE, &GUARDS]),
            DirectoryContent::Released => (3, false, &[&MERGE, &GUARDS]),
            // The old Job must be gone before the new one starts: two installers must not work on
            // the same hosts.
            DirectoryContent::Installer => (3, true, &[]),
        };
        Self { wave, is_deleted, sync_options }
    }
}

/// File of the permanent object.
const ANCHOR: &str = "about.yaml";

/// File of the Kustomization that follows all services, and the directory that it applies.
const AFTER_SERVICES: (&str, &str) = ("services.yaml", "services");

/// Renders the files for the agent of the settings. `tree` has the files rendered so far, and `kept`
/// those that stay as they are on the disk.
pub(super) fn render(site: &Site, plan: &Plan, tree: &Tree, kept: &BTreeSet<&str>) -> Tree {
    let mut files = Tree::new();
    let Some(agent) = site.settings.gitops else { return files };
    let directory = layout::agent_directory(agent);
    let (flux, argocd) = (&site.settings.flux, &site.settings.argocd);
    let (name, namespace) = match agent {
        GitopsAgent::Flux => (&flux.name, &flux.namespace),
        GitopsAgent::Argocd => (&argocd.name, &argocd.namespace),
    };
    let names = AgentObjectNames(name.as_str());
    let made_from = site.settings.file().to_string();
    let present = tree.keys().map(|file| file.as_str()).chain(kept.iter().copied()).collect();
    let clusters = plan.clusters.keys().chain(&plan.frozen).collect();
    let output = Output { site, names, present, clusters };
    for delivery in deliveries(&output, agent) {
        let object = match agent {
            GitopsAgent::Flux => flux::kustomization(&delivery, &site.settings),
            GitopsAgent::Argocd => argocd::application(&delivery, &output),
        };
        let file = files
            .entry(directory.join(&delivery.file).into())
            .or_insert_with(|| header(&made_from));
        file.push_str(&object);
    }
    let about =
        "What sipgen tells this agent to apply. This object is here even when that is nothing.";
    insert_kustomization(&mut files, &made_from, &directory, &anchor(names.0, namespace, about));
    if agent == GitopsAgent::Flux {
        let about = "What depends on the Kustomization of this name comes after the services of all clusters.";
        let object = anchor(&flux.after_services(), namespace, about);
        insert_kustomization(&mut files, &made_from, &directory.join(AFTER_SERVICES.1), &object);
    }
    files
}

/// Reports the repo's own objects that apply directories of the output.
pub(super) fn applied_by_others(
    site: &Site,
    hosts: &HostsByDirectory<'_>,
    tree: &Tree,
    kept: &BTreeSet<&str>,
) -> Vec<Finding> {
    if site.wiring.delivered.is_empty() {
        return Vec::new();
    }
    let keys_in = |directory: &Utf8Path| -> Vec<&HostKey> {
        hosts.get(directory).into_iter().flatten().map(|planned| &planned.host.key).collect()
    };
    let files = tree.keys().map(|file| file.as_str()).chain(kept.iter().copied());
    let kustomizations =
        files.map(Utf8Path::new).filter(|file| file.file_name() == Some(layout::KUSTOMIZATION));
    let written = kustomizations.filter_map(Utf8Path::parent);
    let written = written.map(|directory| (directory, keys_in(directory))).collect();
    site.wiring.delivered.findings(&site.settings.output, written)
}

/// Adds the permanent object of a directory, and a kustomization of all its files.
fn insert_kustomization(files: &mut Tree, made_from: &str, directory: &Utf8Path, anchor: &str) {
    let head = header(made_from);
    files.insert(directory.join(ANCHOR).into(), head.clone() + anchor);
    let beside = files_below(files, directory).filter(|(file, _)| file.parent() == Some(directory));
    let listed = beside.filter_map(|(file, _)| file.file_name());
    let text = kustomization_listing(&head, listed);
    files.insert(directory.join(layout::KUSTOMIZATION).into(), text);
}

/// Returns the permanent object of a directory.
///
/// Without it, the directory would vanish with the last cluster. The agent would then find nothing
/// to compare with, and leave that cluster's services running.
fn anchor(name: &str, namespace: &Namespace, about: &str) -> String {
    let metadata = json!({ "name": name, "namespace": namespace });
    document("v1", "ConfigMap", json!({ "data": { "about": about }, "metadata": metadata }))
}

/// Formats an object as a document.
fn document(api_version: &str, kind: &str, body: Value) -> String {
    format!("---\napiVersion: {api_version}\nkind: {kind}{}\n", block_of(body))
}

/// Returns the path of an output directory in an agent's source, where the repo is at `prefix`.
fn in_source(prefix: &Utf8Path, output: &Utf8Path, delivery: &Delivery) -> Utf8PathBuf {
    prefix.join(output).join(&delivery.directory)
}

/// Returns all directories to apply, in order.
fn deliveries(output: &Output<'_>, agent: GitopsAgent) -> Vec<Delivery> {
    let definitions: Vec<Delivery> =
        output.below(layout::CRDS, DirectoryContent::Definitions, "crds.yaml").collect();
    let clusters = output.clusters.iter();
    let mut all: Vec<Delivery> =
        clusters.flat_map(|cluster| output.cluster(cluster, &definitions)).collect();
    all.extend(output.below(SITE, DirectoryContent::SiteOutput, "site.yaml"));
    all.extend(output.declared());
    if agent == GitopsAgent::Flux {
        all.push(output.after_services(&all));
    }
    all.extend(definitions);
    // It does not depend on the clusters' hosts: one that cannot be applied would block the release
    // of all others.
    let (name, directory) = (output.names.name("released", "", true), layout::released_directory());
    all.extend(output.delivery(name, directory, DirectoryContent::Released, "released.yaml"));
    all.sort_by(|a, b| (a.holds, &a.name).cmp(&(b.holds, &b.name)));
    all
}

/// Future content of the output directory.
struct Output<'a> {
    site: &'a Site,
    names: AgentObjectNames<'a>,
    /// Its files.
    present: BTreeSet<&'a str>,
    clusters: BTreeSet<&'a ClusterKey>,
}

impl<'a> Output<'a> {
    fn is_built(&self, directory: &Utf8Path) -> bool {
        self.present.contains(directory.join(layout::KUSTOMIZATION).as_str())
    }

    /// Returns the object that applies a directory, if a generated one does: it is built, and none of
    /// the repo's own objects applies it.
    fn delivery(
        &self,
        name: String,
        directory: Utf8PathBuf,
        holds: DirectoryContent,
        file: &str,
    ) -> Option<Delivery> {
        let is_ours = self.is_built(&directory) && !self.site.wiring.delivered.has(&directory);
        let file = file.to_owned();
        is_ours.then(|| Delivery { name, directory, holds, after: Vec::new(), file })
    }

    /// Returns the directories just below one that generated objects apply.
    fn below(
        &self,
        parent: &'static str,
        holds: DirectoryContent,
        object_file: &str,
    ) -> impl Iterator<Item = Delivery> {
        let from = self.present.range(parent..).map(|file| Utf8Path::new(*file));
        let directories =
            from.take_while(move |file| file.as_str().starts_with(parent)).filter(|file| {
                file.iter().count() == 3 && file.file_name() == Some(layout::KUSTOMIZATION)
            });
        let directories = directories.filter_map(Utf8Path::parent);
        directories.filter_map(move |directory| {
            let name = self.names.name(parent, directory.file_name().unwrap_or_default(), true);
            self.delivery(name, directory.to_owned(), holds, object_file)
        })
    }

    /// Returns the objects for a cluster: that of its services, which depend on their definitions,
    /// and that of its observed hosts, which follow them; or that of its installer, which follows all
    /// its hosts, because they are labeled before anything is installed on them.
    fn cluster(&self, cluster: &ClusterKey, crds: &[Delivery]) -> impl Iterator<Item = Delivery> {
        let (directory, file) = (layout::cluster_directory(cluster), layout::patch_file(cluster));
        let delivery = |part, directory, holds| {
            self.delivery(self.names.cluster_object(part, cluster), directory, holds, &file)
        };
        let hosts_directory = layout::observed_directory(cluster);
        let observed = delivery("observed", hosts_directory, DirectoryContent::Observed);
        let name = |delivery: &Delivery| delivery.name.clone();
        let (holds, after) = if self.is_built(&layout::installer_directory(cluster)) {
            let has_hosts = |root: &&Utf8Path| {
                let patch = layout::declared_directory(root).join(&file);
                self.present.contains(patch.as_str())
            };
            let declared = self.declared_roots().filter(has_hosts);
            let declared = declared.map(|root| self.names.declared(root));
            let hosts = observed.iter().map(name).chain(declared);
            (DirectoryContent::Installer, hosts.collect())
        } else {
            let above = format!("{directory}/");
            let files =
                self.present.range(above.as_str()..).take_while(|file| file.starts_with(&above));
            let required: BTreeSet<&str> =
                files.filter_map(|file| required_definitions(Utf8Path::new(*file))).collect();
            let required = crds.iter().filter(|it| required.contains(it.directory.as_str()));
            (DirectoryContent::Services, required.map(name).collect())
        };
        let applied = delivery("services", directory, holds).map(|it| Delivery { after, ..it });
        let services = applied.iter().filter(|it| it.holds == DirectoryContent::Services);
        let after = services.map(name).collect();
        let observed = observed.map(|it| Delivery { after, ..it });
        applied.into_iter().chain(observed)
    }

    /// Returns the directories of roots whose declared hosts are applied by generated objects.
    fn declared_roots(&self) -> impl Iterator<Item = &'a Utf8Path> {
        let site = self.site;
        let roots = site.inventory.roots.iter();
        roots
            .filter(|(index, _)| {
                site.settings.hosts.form == HostsForm::Overlay
                    && !site.wiring.applied.contains(index)
            })
            .map(|(_, root)| root.directory.as_path())
    }

    fn declared(&self) -> impl Iterator<Item = Delivery> {
        self.declared_roots().map(|root| Delivery {
            name: self.names.declared(root),
            directory: layout::declared_directory(root),
            holds: DirectoryContent::Declared,
            // It depends on no services: this build may move hosts between any tenants, and one
            // failing service would block all of them.
            after: Vec::new(),
            file: layout::DECLARED_OBJECTS.to_owned(),
        })
    }

    /// Returns the namespace of the declared hosts in a directory that have none in their build, if
    /// it is the same for all.
    fn default_namespace(&self, directory: &Utf8Path) -> Option<&'a Namespace> {
        let mut roots = self.site.inventory.roots.iter();
        let (index, _) =
            roots.find(|(_, root)| layout::declared_directory(&root.directory) == directory)?;
        let default = Namespace::default_namespace();
        let lacks_one = |host: &&Host| {
            host.evidence.root() == Some(*index)
                && host.own_namespace.is_none()
                && (host.namespace_by_settings || host.key.namespace == default)
        };
        let hosts = self.site.inventory.hosts.iter().filter(lacks_one);
        let namespaces: BTreeSet<&Namespace> = hosts.map(|host| &host.key.namespace).collect();
        namespaces.first().copied().filter(|_| namespaces.len() == 1)
    }

    fn after_services(&self, all: &[Delivery]) -> Delivery {
        let services = all.iter().filter(|delivery| delivery.holds == DirectoryContent::Services);
        Delivery {
            name: self.site.settings.flux.after_services(),
            after: services.map(|delivery| delivery.name.clone()).collect(),
            directory: layout::agent_directory(GitopsAgent::Flux).join(AFTER_SERVICES.1),
            holds: DirectoryContent::AfterServices,
            file: AFTER_SERVICES.0.to_owned(),
        }
    }
}
