//! Dangers: changes that can cause an outage or a loss.

use std::fmt::Display;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::hosts::{ConsumedHost, ReleaseReason, in_order};
use super::{
    ClusterReview, EndpointChange, EndpointKind, FileState, ImmutableField, ReaddressedMachine,
    ReleasedObservedHost, SharedChanges, outlived,
};
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::grouping::grouped;
use crate::input::settings::gitops::HostsForm;
use crate::site::Site;

/// A change that can cause an outage or a loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Danger {
    /// The cluster that it concerns, if any.
    #[serde(skip)]
    pub cluster: Option<ClusterKey>,
    /// Kind of the danger, with its details.
    #[serde(flatten)]
    pub harm: Harm,
    /// True if the change had not been generated in the base.
    #[serde(rename = "fromBase")]
    pub from_base: bool,
    /// Description.
    pub message: String,
}

/// Kinds of dangers, worst first. The codes in JSON are stable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Harm {
    /// Agent objects are removed or replaced whose deletion also deletes the services that they
    /// applied.
    AgentObjectsDeleted {
        /// Path relative to the repo's root.
        #[schemars(with = "String")]
        directory: Utf8PathBuf,
        /// Number of objects.
        objects: usize,
    },
    /// A cluster is deleted with all of its services.
    ClusterDeleted {
        /// The cluster.
        cluster: ClusterKey,
        /// Its hosts.
        hosts: Vec<HostKey>,
    },
    /// Kubernetes is installed on the machines of a Provisioning, for the first time or again.
    InstallerRuns {
        /// True if it only adds workers.
        scales: bool,
        /// The cluster.
        cluster: ClusterKey,
        /// Number of its machines; null if unknown.
        machines: Option<usize>,
        /// Job that an agent deletes, even while it runs; null if there was none.
        before: Option<String>,
        /// Job that runs.
        after: String,
        /// Changed files, for which it is another Job.
        because: Vec<String>,
    },
    /// A cluster releases hosts that are in use.
    ConsumedHostGivenBack {
        /// The cluster.
        cluster: ClusterKey,
        /// Hosts with their consumers.
        hosts: Vec<ConsumedHost>,
    },
    /// A cluster loses hosts that are missing from the inventory and may be in use.
    AssignedHostVanished {
        /// The cluster.
        cluster: ClusterKey,
        /// The hosts.
        hosts: Vec<HostKey>,
    },
    /// Hosts in use move from one cluster to another.
    ConsumedHostMoves {
        /// Previous cluster.
        cluster: ClusterKey,
        /// New cluster.
        other: ClusterKey,
        /// Hosts with their consumers.
        hosts: Vec<ConsumedHost>,
    },
    /// The role of hosts in use changes, or their machine name.
    ConsumedHostChangesRole {
        /// The cluster.
        cluster: ClusterKey,
        /// Hosts with their consumers.
        hosts: Vec<ConsumedHost>,
    },
    /// Hosts move from one cluster to another.
    HostMoves {
        /// Previous cluster.
        cluster: ClusterKey,
        /// New cluster.
        other: ClusterKey,
        /// The hosts.
        hosts: Vec<HostKey>,
    },
    /// The firmware settings of hosts in use change.
    FirmwareChanges {
        /// Name of the output.
        output: String,
        /// Hosts with their consumers.
        hosts: Vec<ConsumedHost>,
    },
    /// The address of a cluster's API changes.
    ControlPlaneEndpointChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// Address before.
        before: String,
        /// Address after.
        after: Option<String>,
    },
    /// Addresses of a Provisioning's machines change.
    MachineAddressChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// Machines with their addresses.
        machines: Vec<ReaddressedMachine>,
    },
    /// Tokens of the old issuer are no longer accepted.
    IssuerChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// Issuer's URL before.
        before: String,
        /// Issuer's URL after.
        after: Option<String>,
    },
    /// A service closes NodePorts, which are open on every node of the base cluster.
    NodePortChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// Name of the service's directory.
        service: String,
        /// Ports before.
        before: String,
        /// Ports after.
        after: Option<String>,
    },
    /// An object changes in a field that the API server lets nobody change.
    ImmutableFieldChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// The object and its field.
        #[serde(flatten)]
        change: ImmutableField,
    },
    /// A directory of declared hosts is deleted that an agent applies or a kustomization includes.
    RootDeleted {
        /// Path relative to the repo's root.
        #[schemars(with = "String")]
        directory: Utf8PathBuf,
    },
    /// A directory of declared hosts turns from an overlay into a component, or back.
    RootChangesForm {
        /// Path relative to the repo's root.
        #[schemars(with = "String")]
        directory: Utf8PathBuf,
        /// New form.
        form: HostsForm,
    },
    /// The output directory moves, and with it every directory that agents apply.
    OutputMoves {
        /// Path before, relative to the repo's root.
        #[schemars(with = "String")]
        before: Utf8PathBuf,
        /// Path after.
        #[schemars(with = "String")]
        after: Utf8PathBuf,
    },
}

/// Lists the dangers of a review, worst first.
///
/// `site` is the source of the later state. `moved_from` is the previous output directory, if it
/// was another one.
pub(super) fn dangers(
    clusters: &[ClusterReview],
    shared: &SharedChanges,
    site: &Site,
    moved_from: Option<&Utf8Path>,
) -> Vec<Danger> {
    let output = &site.settings.output;
    let mut harms: Vec<Harm> = Vec::new();
    let outputs = clusters.iter().flat_map(|cluster| &cluster.outputs).chain(&shared.outputs);
    let firmware = outputs.filter(|output| !output.firmware.is_empty());
    harms.extend(firmware.map(|output| Harm::FirmwareChanges {
        output: output.output.clone(),
        hosts: output.firmware.clone(),
    }));
    let gone = shared.roots.iter().filter(|root| root.state == FileState::Deleted);
    harms.extend(gone.map(|root| Harm::RootDeleted { directory: output.join(&root.directory) }));
    harms.extend(shared.roots.iter().filter_map(|root| {
        let directory = output.join(&root.directory);
        root.becomes.map(|form| Harm::RootChangesForm { directory, form })
    }));
    let agents = shared.agents.iter().filter(|agent| agent.deleting > 0);
    harms.extend(agents.map(|agent| Harm::AgentObjectsDeleted {
        directory: output.join(&agent.directory),
        objects: agent.deleting,
    }));
    let moves = moved_from.map(|before| (before.to_owned(), output.to_owned()));
    harms.extend(moves.map(|(before, after)| Harm::OutputMoves { before, after }));
    let mut dangers: Vec<Danger> = harms.into_iter().map(|harm| Danger::new(harm, None)).collect();
    let outlived = grouped(outlived(clusters, shared).filter_map(|released| {
        let ReleasedObservedHost { host, by, consumer } = released;
        by.clone().zip(ConsumedHost::new(host, consumer, &None))
    }));
    dangers.extend(outlived.into_iter().map(|(cluster, hosts)| {
        let harm = Harm::ConsumedHostGivenBack { cluster: cluster.clone(), hosts };
        Danger::new(harm, Some(cluster))
    }));
    for review in clusters {
        let harms = cluster_harms(review).into_iter().chain(installer_harm(review, site));
        dangers.extend(harms.map(|harm| Danger::new(harm, Some(review.cluster.clone()))));
    }
    dangers.sort_by(|a, b| a.harm.cmp(&b.harm));
    dangers
}

impl Danger {
    fn new(harm: Harm, cluster: Option<ClusterKey>) -> Self {
        let mut danger = Self { cluster, harm, from_base: false, message: String::new() };
        danger.message = danger.message_with(|name| name.to_string());
        danger
    }

    /// Marks the danger as one of a change that the base had not generated.
    pub(super) fn moved_to_base(mut self) -> Self {
        self.from_base = true;
        self.message = self.message_with(|name| name.to_string());
        self
    }

    /// Formats the danger. `name` formats names, which are untrusted input.
    pub fn message_with(&self, name: impl Fn(&dyn Display) -> String) -> String {
        let whence = if self.from_base { "from the base, whose overlays are stale: " } else { "" };
        let cluster = self.cluster.as_ref().map(|cluster| name(cluster)).unwrap_or_default();
        format!("{whence}{}", self.harm.message(&cluster, name))
    }
}

fn cluster_harms(review: &ClusterReview) -> Vec<Harm> {
    let ClusterReview { cluster, state, hosts, services, outputs, .. } = review;
    let cluster = || cluster.clone();
    let mut harms = Vec::new();
    if *state == FileState::Deleted {
        let mut all: Vec<HostKey> = hosts.leaving().cloned().collect();
        all.sort_by(in_order);
        harms.push(Harm::ClusterDeleted { cluster: cluster(), hosts: all });
    }
    let in_use =
        hosts.going().filter_map(|it| ConsumedHost::new(&it.host, &it.consumer, &it.part.node));
    let in_use = non_empty(in_use);
    harms.extend(in_use.map(|hosts| Harm::ConsumedHostGivenBack { cluster: cluster(), hosts }));
    let gone = hosts.going().filter(|it| it.reason == Some(ReleaseReason::Gone) && !it.use_known);
    let gone = non_empty(gone.map(|host| host.host.clone()));
    harms.extend(gone.map(|hosts| Harm::AssignedHostVanished { cluster: cluster(), hosts }));
    let changed = hosts.with_another_role.iter();
    let changed =
        changed.filter_map(|it| ConsumedHost::new(&it.host, &it.consumer, &it.node_before));
    let changed = non_empty(changed);
    harms.extend(changed.map(|hosts| Harm::ConsumedHostChangesRole { cluster: cluster(), hosts }));
    // From the side of the cluster that loses them.
    let moved = hosts.to_others.iter().filter(|moved| !moved.follows_machine);
    let in_use = grouped(moved.clone().filter_map(|it| {
        Some((&it.other, ConsumedHost::new(&it.host, &it.consumer, &it.part.node)?))
    }));
    harms.extend(in_use.into_iter().map(|(other, hosts)| {
        let other = other.clone();
        Harm::ConsumedHostMoves { cluster: cluster(), other, hosts }
    }));
    let free = moved.filter(|moved| moved.consumer.is_none());
    let free = grouped(free.map(|moved| (&moved.other, moved.host.clone()))).into_iter();
    harms.extend(free.map(|(other, hosts)| {
        let other = other.clone();
        Harm::HostMoves { cluster: cluster(), other, hosts }
    }));
    let immutable = services.iter().flat_map(|service| &service.immutable);
    let immutable = immutable.chain(outputs.iter().flat_map(|output| &output.immutable));
    harms.extend(immutable.map(|change| {
        let change = change.clone();
        Harm::ImmutableFieldChanges { cluster: cluster(), change }
    }));
    let machines = review.installer.iter().flat_map(|installer| &installer.readdressed);
    let machines = non_empty(machines.cloned());
    harms.extend(
        machines.map(|machines| Harm::MachineAddressChanges { cluster: cluster(), machines }),
    );
    if *state == FileState::Changed {
        harms.extend(review.endpoints.iter().filter_map(|change| endpoint_harm(review, change)));
    }
    harms
}

fn non_empty<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let items: Vec<T> = items.collect();
    (!items.is_empty()).then_some(items)
}

/// Every run of an installer is dangerous: it may end workloads on machines in use.
fn installer_harm(review: &ClusterReview, site: &Site) -> Option<Harm> {
    let installer = review.installer.as_ref().filter(|installer| installer.runs)?;
    let asked = site.valid_cluster(&review.cluster);
    Some(Harm::InstallerRuns {
        scales: installer.scales,
        cluster: review.cluster.clone(),
        machines: asked.map(|cluster| cluster.node_sets.len()),
        before: installer.job_before.clone(),
        after: installer.job_after.clone()?,
        because: installer.files.clone(),
    })
}

fn endpoint_harm(review: &ClusterReview, change: &EndpointChange) -> Option<Harm> {
    let EndpointChange { kind, service, after, .. } = change;
    let (cluster, after) = (review.cluster.clone(), after.clone());
    let before = change.before.clone()?;
    // These endpoints include the port, so one danger is enough.
    let mut told = review.endpoints.iter().filter(|other| {
        matches!(other.kind, EndpointKind::ControlPlane | EndpointKind::Issuer)
            && other.before.is_some()
    });
    Some(match kind {
        EndpointKind::ControlPlane => Harm::ControlPlaneEndpointChanges { cluster, before, after },
        EndpointKind::Issuer => Harm::IssuerChanges { cluster, before, after },
        EndpointKind::NodePorts
            if change.closes_ports() && told.all(|other| other.service != *service) =>
        {
            Harm::NodePortChanges { cluster, service: service.clone(), before, after }
        }
        EndpointKind::NodePorts | EndpointKind::JumpHost | EndpointKind::Service => return None,
    })
}
