//! Hosts with the labels and annotations that a plan gives them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::{Mapping, Value};

use super::patched_names::{written_name, written_namespace};
use crate::base::api::assignment::{self, Claim};
use crate::base::api::cluster_api::FAILURE_DOMAIN;
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::host;
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::Origin;
use crate::base::layout;
use crate::plan::{Placement, Plan, topology};
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::request::Cluster;

/// Labels or annotations that an object gets. Those without a value are removed.
pub(super) type PatchedPairs<'a> = BTreeMap<Cow<'a, str>, Option<String>>;

/// The metadata that outputs add to hosts.
pub(crate) type HostMetadata = BTreeMap<HostKey, AddedMetadata>;

/// An IPPool with addresses to keep.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct PinnedPool {
    /// Its name, as a regular expression that matches nothing else.
    pub(super) name: String,
    /// Addresses by the claims of hosts.
    pub(super) addresses: BTreeMap<String, IpAddr>,
}

/// The metadata that outputs add to a host, by key.
#[derive(Debug, Default)]
pub(crate) struct AddedMetadata {
    pub(super) labels: PatchedPairs<'static>,
    pub(super) annotations: PatchedPairs<'static>,
}

/// Options that keep Argo CD from deleting an object that leaves its build, or with its Application.
pub(super) const GUARDS: [&str; 2] = ["Prune=false", "Delete=false"];
/// Options that make Argo CD merge a partial object: server-side, without validation of missing
/// fields, and without its own migration of fields that `kubectl apply` set, which it reads only in
/// Applications. kubectl's code, which Argo CD uses, has another migration: see
/// [`host::LAST_APPLIED`].
pub(super) const MERGE: [&str; 3] =
    ["ServerSideApply=true", "Validate=false", "ClientSideApplyMigration=false"];

/// A host with what its patch or partial object has.
pub(crate) struct PlannedHost<'a> {
    pub(crate) host: &'a Host,
    pub(super) labels: PatchedPairs<'a>,
    /// Its guards, and those that outputs add.
    pub(super) annotations: PatchedPairs<'a>,
    /// Its name in the build that the patch is part of.
    pub(crate) name: &'a str,
    /// Its namespace there. It has none if only the settings give it one.
    pub(crate) namespace: Option<&'a str>,
    /// The name of the file with its patch.
    pub(super) file: String,
    /// The comment that records its assignment, if its labels do not.
    pub(super) record: Option<String>,
}

/// Hosts of the output, by directory relative to it.
pub(crate) type HostsByDirectory<'a> = BTreeMap<Utf8PathBuf, Vec<PlannedHost<'a>>>;

/// Returns the hosts that are rendered, by the directory of their patches or partial objects.
pub(crate) fn planned_hosts<'a>(
    site: &'a Site,
    plan: &'a Plan,
    added: &'a HostMetadata,
) -> HostsByDirectory<'a> {
    let mut by_directory = HostsByDirectory::new();
    let mut add = |observed: Utf8PathBuf, planned: PlannedHost<'a>| {
        let directory = match planned.host.evidence {
            Evidence::Applied { root } => layout::declared_directory(&site.root(root).directory),
            Evidence::Live | Evidence::Reached { .. } | Evidence::Loose => observed,
        };
        by_directory.entry(directory).or_default().push(planned);
    };
    for (key, placement) in &plan.clusters {
        if let Some(cluster) = site.valid_cluster(key) {
            let hosts = assigned_hosts(site, cluster, placement, added);
            hosts.for_each(|planned| add(layout::observed_directory(key), planned));
        }
    }
    let others = unassigned_hosts(site, plan).into_iter();
    others.for_each(|planned| add(layout::released_directory(), planned));
    by_directory
}

/// Returns the hosts of a cluster, by part.
pub(super) fn placed_hosts<'a>(
    site: &'a Site,
    placement: &'a Placement,
) -> impl Iterator<Item = (&'a Part, &'a Host)> {
    placement.iter().flat_map(move |(part, placed)| {
        placed.iter().map(move |placed| (part, &site.inventory.hosts[placed.host]))
    })
}

/// Returns the hosts of a cluster whose labels are written, by part.
pub(super) fn assigned_hosts<'a>(
    site: &'a Site,
    cluster: &'a Cluster,
    placement: &'a Placement,
    added: &'a HostMetadata,
) -> impl Iterator<Item = PlannedHost<'a>> {
    let is_recorded = site.settings.assignment.labels.is_default();
    placement.iter().flat_map(move |(part, assigned)| {
        let labels = site.settings.assignment.labels_of(&cluster.key, part).into_iter();
        let common: PatchedPairs<'a> =
            labels.map(|(key, value)| (key.into(), Some(value))).collect();
        assigned.iter().filter_map(move |assigned| {
            let host = &site.inventory.hosts[assigned.host];
            let mut labels = common.clone();
            if let Some(domain) = topology::failure_domain(cluster, part, host) {
                labels.insert(FAILURE_DOMAIN.into(), Some(domain.to_owned()));
            }
            match host.evidence {
                // A patch can remove labels that say otherwise. A partial object cannot.
                Evidence::Applied { .. } => contradicting(host, &cluster.key, part)
                    .for_each(|key| _ = labels.entry(key.into()).or_insert(None)),
                Evidence::Live => {}
                Evidence::Reached { .. } | Evidence::Loose => return None,
            }
            let file = layout::patch_file(&cluster.key);
            let record = (!is_recorded).then(|| layout::assigned_host(&cluster.key, part));
            let mut planned = PlannedHost { file, record, ..PlannedHost::new(site, host, labels) };
            if let Some(AddedMetadata { labels, annotations }) = added.get(&host.key) {
                planned.labels.extend(labels.clone());
                planned.annotations.extend(annotations.clone());
            }
            Some(planned)
        })
    })
}

/// Returns declared hosts without a cluster whose manifests have labels, which are all removed, and
/// released observed hosts, whose partial objects have no labels.
pub(super) fn unassigned_hosts<'a>(site: &'a Site, plan: &'a Plan) -> Vec<PlannedHost<'a>> {
    let unlabelled =
        plan.unlabelled.iter().filter_map(|key| site.inventory.host(key)).map(|host| {
            let labels = host.assignment.in_manifest.iter().map(|label| (label.into(), None));
            let file = layout::UNLABELLED.to_owned();
            PlannedHost { file, ..PlannedHost::new(site, host, labels.collect()) }
        });
    let released = plan.released.iter().filter_map(|(key, release)| {
        let mut planned = PlannedHost::new(site, site.inventory.host(key)?, PatchedPairs::new());
        let by = release.by.as_ref().map(|by| (assignment::GIVEN_BACK_BY, by.to_string()));
        let values = [(assignment::GIVEN_BACK, release.given_back.to_string())].into_iter();
        let values = values.chain(by).map(|(key, value)| (key.into(), Some(value)));
        planned.annotations.extend(values);
        Some(planned)
    });
    unlabelled.chain(released).collect()
}

/// Returns the keys of the labels in a host's manifest that are of an older generation, or that
/// assign it otherwise.
fn contradicting<'a>(
    host: &'a Host,
    cluster: &ClusterKey,
    part: &Part,
) -> impl Iterator<Item = &'a String> {
    let is_same = |(claim, origin): &(Claim, Origin)| {
        *origin != host.origin
            || matches!(claim, Claim::Cluster(other, as_part) if other == cluster && as_part == part)
    };
    let are_same = host.assignment.claims.iter().all(is_same);
    let keys = host.assignment.in_manifest.iter();
    keys.filter(move |key| !are_same || assignment::LEGACY_LABELS.contains(&key.as_str()))
}

impl<'a> PlannedHost<'a> {
    fn new(site: &'a Site, host: &'a Host, labels: PatchedPairs<'a>) -> Self {
        PlannedHost {
            host,
            labels,
            annotations: match host.evidence {
                Evidence::Live => observed_annotations(site),
                _ => guards(site, host.sync_options.as_deref()),
            },
            name: written_name(site, host),
            namespace: written_namespace(site, host),
            file: String::new(),
            record: None,
        }
    }

    /// Returns a host without a patch.
    pub(crate) fn unpatched(site: &'a Site, host: &'a Host) -> Self {
        let annotations = PatchedPairs::new();
        PlannedHost { annotations, ..PlannedHost::new(site, host, PatchedPairs::new()) }
    }

    /// Returns the fields of its id in the build.
    pub(super) fn id(&self) -> Mapping {
        let text = |text: &str| Value::from(text);
        let mut metadata = Mapping::from_iter([(text("name"), text(self.name))]);
        if let Some(namespace) = self.namespace {
            metadata.insert(text("namespace"), text(namespace));
        }
        Mapping::from_iter([
            (text("apiVersion"), text(host::API_VERSION)),
            (text("kind"), text(host::KIND)),
            (text("metadata"), Value::Mapping(metadata)),
        ])
    }

    /// Returns its patch.
    pub(super) fn patch(&self) -> Mapping {
        let value = |value: &Option<String>| value.as_deref().map_or(Value::Null, Value::from);
        let mut patch = self.id();
        if let Some(Value::Mapping(metadata)) = patch.get_mut("metadata") {
            for (field, pairs) in [("labels", &self.labels), ("annotations", &self.annotations)] {
                let pairs = pairs.iter().map(|(key, it)| (Value::from(&**key), value(it)));
                metadata.insert(Value::from(field), Value::Mapping(pairs.collect()));
            }
        }
        patch
    }

    /// Returns the keys of the labels that its patch removes.
    pub(super) fn removed_labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| &**key)
    }
}

/// Returns whether hosts have an agent's annotations: the agent is that of the settings, or they
/// name none.
fn guards_for(site: &Site, agent: GitopsAgent) -> bool {
    site.settings.gitops.is_none_or(|chosen| chosen == agent)
}

/// Returns the annotations that keep agents from deleting an object, merged with its options for
/// Argo CD.
pub(super) fn guards(site: &Site, sync_options: Option<&str>) -> PatchedPairs<'static> {
    let mut annotations = PatchedPairs::new();
    if guards_for(site, GitopsAgent::Argocd) {
        let own = sync_options.iter().flat_map(|options| options.split(',')).map(str::trim);
        let kept = own.filter(|option| {
            !option.is_empty() && !GUARDS.iter().any(|guard| same_option(guard, option))
        });
        let options: Vec<&str> = kept.chain(GUARDS).collect();
        annotations.insert(host::SYNC_OPTIONS.into(), Some(options.join(",")));
    }
    if guards_for(site, GitopsAgent::Flux) {
        annotations.insert(host::PRUNE.into(), Some("disabled".to_owned()));
    }
    annotations
}

fn same_option(a: &str, b: &str) -> bool {
    a.split('=').next() == b.split('=').next()
}

fn observed_annotations(site: &Site) -> PatchedPairs<'static> {
    let mut annotations = guards(site, Some(&MERGE.join(",")));
    if guards_for(site, GitopsAgent::Argocd) {
        // kubectl's code assumes that the owner of this annotation used `kubectl apply`. It
        // transfers all fields of that owner to the agent, which then removes those missing in the
        // partial object, above all the spec. So the agent must own the annotation.
        annotations.insert(host::LAST_APPLIED.into(), Some(String::new()));
    }
    if guards_for(site, GitopsAgent::Flux) {
        annotations.insert(host::SSA.into(), Some("Merge".to_owned()));
    }
    annotations
}
