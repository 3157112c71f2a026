//! What of a set of changes can hurt somebody.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::hosts::{Moved, Reason, in_order};
use super::{
    ClusterReview, EndpointChange, EndpointKind, InstallerAspect, Readdressed, Released, Shared,
    State,
};
use crate::api::names::{ClusterKey, HostKey, NodeName};
use crate::settings::gitops::Form;
use crate::site::Site;
use crate::text::counted;

/// A change that can hurt somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Danger {
    /// What it is about.
    #[serde(flatten)]
    pub harm: Harm,
    /// Whether it comes along from a base whose overlays were stale.
    #[serde(rename = "fromBase")]
    pub from_base: bool,
    /// The same in words.
    pub message: String,
}

/// What can hurt somebody, the worst first. The codes in JSON stay what they are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(
    tag = "code",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Harm {
    /// Objects go, or are others from now on, that delete the services that they applied.
    AgentObjectsDeleted {
        /// Relative to the repo's root.
        #[schemars(with = "String")]
        directory: Utf8PathBuf,
        /// How many.
        objects: usize,
    },
    /// A cluster goes, with all that it has.
    ClusterDeleted {
        /// The cluster.
        cluster: ClusterKey,
        /// The hosts that it had.
        hosts: Vec<HostKey>,
    },
    /// Kubernetes is installed on the machines of a Provisioning, for the first time or again.
    InstallerRuns {
        /// The cluster.
        cluster: ClusterKey,
        /// How many machines it has; nothing where that is not known.
        machines: Option<usize>,
        /// The Job that an agent deletes, even while it runs; nothing where there was none.
        before: Option<String>,
        /// The Job that runs.
        after: String,
        /// What is other than in the Job before.
        because: BTreeSet<InstallerAspect>,
    },
    /// A cluster gives hosts back that are in use.
    ConsumedHostGivenBack {
        /// The cluster.
        cluster: ClusterKey,
        /// The hosts, and who uses them.
        hosts: Vec<Consumed>,
    },
    /// A cluster loses hosts that the inventory no longer has, and nobody knows whether they are in use.
    AssignedHostVanished {
        /// The cluster.
        cluster: ClusterKey,
        /// The hosts.
        hosts: Vec<HostKey>,
    },
    /// Hosts that are in use go from one cluster to another.
    ConsumedHostMoves {
        /// The cluster that had them.
        cluster: ClusterKey,
        /// The cluster that gets them.
        other: ClusterKey,
        /// The hosts, and who uses them.
        hosts: Vec<Consumed>,
    },
    /// Hosts that are in use get another role, or as machines another name.
    ConsumedHostChangesRole {
        /// The cluster.
        cluster: ClusterKey,
        /// The hosts, and who uses them.
        hosts: Vec<Consumed>,
    },
    /// Hosts go from one cluster to another.
    HostMoves {
        /// The cluster that had them.
        cluster: ClusterKey,
        /// The cluster that gets them.
        other: ClusterKey,
        /// The hosts.
        hosts: Vec<HostKey>,
    },
    /// A cluster's API is no longer reached where it was.
    ControlPlaneEndpointChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// Where it was reached.
        before: String,
        /// Where it will be reached.
        after: Option<String>,
    },
    /// Machines of a Provisioning are no longer reached where they were.
    MachineAddressChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// The machines, with their addresses.
        machines: Vec<Readdressed>,
    },
    /// Tokens of the old issuer are no longer accepted.
    IssuerChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// The issuer's URL.
        before: String,
        /// Its new URL.
        after: Option<String>,
    },
    /// A service closes ports that are open on every node of the base cluster.
    NodePortChanges {
        /// The cluster.
        cluster: ClusterKey,
        /// The name of the service's directory.
        service: String,
        /// Its ports.
        before: String,
        /// Its new ports.
        after: Option<String>,
    },
    /// A directory of declared hosts goes, which an agent applies or a kustomization includes.
    RootDeleted {
        /// Relative to the repo's root.
        #[schemars(with = "String")]
        directory: Utf8PathBuf,
    },
    /// A directory of declared hosts is applied in another way.
    RootChangesForm {
        /// Relative to the repo's root.
        #[schemars(with = "String")]
        directory: Utf8PathBuf,
        /// What it is from now on.
        form: Form,
    },
    /// All directories that agents apply go to another place.
    OutputMoves {
        /// Where they were, relative to the repo's root.
        #[schemars(with = "String")]
        before: Utf8PathBuf,
        /// Where they will be.
        #[schemars(with = "String")]
        after: Utf8PathBuf,
    },
}

/// A host that is in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Consumed {
    /// The host.
    pub host: HostKey,
    /// Who uses it, as `Kind namespace/name`.
    pub consumer: String,
    /// Which machine of its Provisioning it is, or was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
}

/// How many hosts the words of a danger name.
const HOSTS_NAMED: usize = 5;

/// The dangers of a review, the worst first. `site` is what the later state was generated from, and `moved_from` where
/// the output directory was before if that was elsewhere; `outlived` are the hosts that are released although no file gave them to a cluster.
pub(super) fn of<'a>(
    clusters: &[ClusterReview],
    shared: &Shared,
    outlived: impl Iterator<Item = &'a Released>,
    site: &Site,
    moved_from: Option<&Utf8Path>,
) -> Vec<Danger> {
    let output = &site.settings.output;
    let mut harms: Vec<Harm> = clusters.iter().flat_map(of_cluster).collect();
    harms.extend(
        clusters
            .iter()
            .filter_map(|cluster| of_installer(cluster, site)),
    );
    harms.extend(of_outlived(outlived));
    let gone = shared
        .roots
        .iter()
        .filter(|root| root.state == State::Deleted);
    harms.extend(gone.map(|root| Harm::RootDeleted {
        directory: output.join(&root.directory),
    }));
    harms.extend(shared.roots.iter().filter_map(|root| {
        let directory = output.join(&root.directory);
        root.becomes
            .map(|form| Harm::RootChangesForm { directory, form })
    }));
    harms.extend(
        shared
            .agents
            .iter()
            .filter(|agent| agent.deleting > 0)
            .map(|agent| Harm::AgentObjectsDeleted {
                directory: output.join(&agent.directory),
                objects: agent.deleting,
            }),
    );
    harms.extend(moved_from.map(|before| Harm::OutputMoves {
        before: before.to_owned(),
        after: output.to_owned(),
    }));
    harms.sort();
    harms
        .into_iter()
        .map(|harm| Danger::new(harm, false))
        .collect()
}

impl Danger {
    fn new(harm: Harm, from_base: bool) -> Self {
        let mut danger = Self {
            harm,
            from_base,
            message: String::new(),
        };
        danger.message = danger.words(|name| name.to_string());
        danger
    }

    /// The danger of what the base had not generated.
    pub(super) fn of_stale_base(harm: Harm) -> Self {
        Self::new(harm, true)
    }

    /// The danger in words; `name` says how names are written, which may be anything that the input has.
    pub fn words(&self, name: impl Fn(&dyn Display) -> String) -> String {
        let whence = if self.from_base {
            "brought from the base, whose overlays are stale: "
        } else {
            ""
        };
        format!("{whence}{}", self.harm.words(name))
    }
}

/// Hosts in use that lose a cluster's labels, which are from a time that was reverted.
fn of_outlived<'a>(outlived: impl Iterator<Item = &'a Released>) -> Vec<Harm> {
    let mut by_cluster: BTreeMap<&ClusterKey, Vec<Consumed>> = BTreeMap::new();
    for Released { host, by, consumer } in outlived {
        if let (Some(cluster), Some(consumer)) = (by, consumer) {
            let consumed = Consumed {
                host: host.clone(),
                consumer: consumer.clone(),
                node: None,
            };
            by_cluster.entry(cluster).or_default().push(consumed);
        }
    }
    let harm = |(cluster, hosts): (&ClusterKey, _)| Harm::ConsumedHostGivenBack {
        cluster: cluster.clone(),
        hosts,
    };
    by_cluster.into_iter().map(harm).collect()
}

fn of_cluster(review: &ClusterReview) -> Vec<Harm> {
    let ClusterReview {
        cluster,
        state,
        hosts,
        ..
    } = review;
    let mut harms = Vec::new();
    if *state == State::Deleted {
        let all = hosts
            .going()
            .map(|host| &host.host)
            .chain(hosts.to_others.iter().map(|moved| &moved.host));
        let mut all: Vec<HostKey> = all.cloned().collect();
        all.sort_by(in_order);
        harms.push(Harm::ClusterDeleted {
            cluster: cluster.clone(),
            hosts: all,
        });
    }
    let consumed = |host: &HostKey, consumer: &Option<String>, node: &Option<NodeName>| {
        let consumer = consumer.clone()?;
        Some(Consumed {
            host: host.clone(),
            consumer,
            node: node.clone(),
        })
    };
    let in_use = hosts
        .going()
        .filter_map(|host| consumed(&host.host, &host.consumer, &host.part.node));
    let in_use: Vec<Consumed> = in_use.collect();
    if !in_use.is_empty() {
        harms.push(Harm::ConsumedHostGivenBack {
            cluster: cluster.clone(),
            hosts: in_use,
        });
    }
    let vanished = hosts
        .going()
        .filter(|host| host.reason == Some(Reason::Gone) && !host.use_known);
    let vanished: Vec<HostKey> = vanished.map(|host| host.host.clone()).collect();
    if !vanished.is_empty() {
        harms.push(Harm::AssignedHostVanished {
            cluster: cluster.clone(),
            hosts: vanished,
        });
    }
    let other_role = hosts.with_another_role.iter();
    let other_role =
        other_role.filter_map(|host| consumed(&host.host, &host.consumer, &host.node_before));
    let other_role: Vec<Consumed> = other_role.collect();
    if !other_role.is_empty() {
        harms.push(Harm::ConsumedHostChangesRole {
            cluster: cluster.clone(),
            hosts: other_role,
        });
    }
    harms.extend(of_moves(cluster, &hosts.to_others));
    let machines = review
        .installer
        .iter()
        .flat_map(|installer| installer.readdressed.clone());
    let machines: Vec<Readdressed> = machines.collect();
    if !machines.is_empty() {
        harms.push(Harm::MachineAddressChanges {
            cluster: cluster.clone(),
            machines,
        });
    }
    if *state == State::Changed {
        harms.extend(
            review
                .endpoints
                .iter()
                .filter_map(|change| of_endpoint(review, change)),
        );
    }
    harms
}

/// An installer that runs, whatever for: on machines that are in use it may end what they do.
fn of_installer(review: &ClusterReview, site: &Site) -> Option<Harm> {
    let installer = review
        .installer
        .as_ref()
        .filter(|installer| installer.runs)?;
    let asked = site
        .clusters
        .get(&review.cluster)
        .and_then(|request| request.cluster.as_ref());
    Some(Harm::InstallerRuns {
        cluster: review.cluster.clone(),
        machines: asked.map(|cluster| cluster.node_sets.len()),
        before: installer.job_before.clone(),
        after: installer.job_after.clone()?,
        because: installer.aspects.clone(),
    })
}

/// Hosts that leave a cluster for others, told where they leave.
fn of_moves(cluster: &ClusterKey, moved: &[Moved]) -> Vec<Harm> {
    let mut others: Vec<&ClusterKey> = moved.iter().map(|moved| &moved.other).collect();
    others.sort();
    others.dedup();
    let mut harms = Vec::new();
    for other in others {
        let (mut in_use, mut free) = (Vec::new(), Vec::new());
        for Moved {
            host,
            part,
            consumer,
            ..
        } in moved.iter().filter(|moved| moved.other == *other)
        {
            match consumer.clone() {
                Some(consumer) => in_use.push(Consumed {
                    host: host.clone(),
                    consumer,
                    node: part.node.clone(),
                }),
                None => free.push(host.clone()),
            }
        }
        let (cluster, other) = (cluster.clone(), other.clone());
        if !in_use.is_empty() {
            let (cluster, other) = (cluster.clone(), other.clone());
            harms.push(Harm::ConsumedHostMoves {
                cluster,
                other,
                hosts: in_use,
            });
        }
        if !free.is_empty() {
            harms.push(Harm::HostMoves {
                cluster,
                other,
                hosts: free,
            });
        }
    }
    harms
}

fn of_endpoint(review: &ClusterReview, change: &EndpointChange) -> Option<Harm> {
    let EndpointChange {
        kind,
        service,
        after,
        ..
    } = change;
    let (cluster, after) = (review.cluster.clone(), after.clone());
    let before = change.before.clone()?;
    match kind {
        EndpointKind::ControlPlane => Some(Harm::ControlPlaneEndpointChanges {
            cluster,
            before,
            after,
        }),
        EndpointKind::Issuer => Some(Harm::IssuerChanges {
            cluster,
            before,
            after,
        }),
        EndpointKind::NodePorts => {
            // The port is part of these endpoints, and one danger is enough.
            let told = review.endpoints.iter().any(|other| {
                matches!(
                    other.kind,
                    EndpointKind::ControlPlane | EndpointKind::Issuer
                ) && other.service == *service
                    && other.before.is_some()
            });
            let service = service.clone();
            (change.closes_ports() && !told).then_some(Harm::NodePortChanges {
                cluster,
                service,
                before,
                after,
            })
        }
        EndpointKind::JumpHost => None,
    }
}

impl Harm {
    fn words(&self, name: impl Fn(&dyn Display) -> String) -> String {
        let becomes = |before: &str, after: &Option<String>| match after {
            Some(after) => format!("changes from {} to {}", name(&before), name(after)),
            None => format!("goes: {}", name(&before)),
        };
        match self {
            Harm::ClusterDeleted { cluster, hosts } if hosts.is_empty() => {
                format!("cluster {} is deleted", name(cluster))
            }
            Harm::ClusterDeleted { cluster, hosts } => {
                format!(
                    "cluster {} is deleted, with its {}",
                    name(cluster),
                    counted(hosts.len(), "host")
                )
            }
            Harm::ConsumedHostGivenBack { cluster, hosts } => {
                format!(
                    "{} gives back {}: {}",
                    name(cluster),
                    in_use(hosts),
                    consumers(hosts, &name)
                )
            }
            Harm::AssignedHostVanished { cluster, hosts } => {
                let named = first_few(hosts.iter().map(|host| name(host)).collect(), HOSTS_NAMED);
                let is = if hosts.len() == 1 { "is" } else { "are" };
                let lost = counted(hosts.len(), "host");
                format!(
                    "{} loses {lost} that {is} no longer in the inventory, in use or not: {named}",
                    name(cluster)
                )
            }
            Harm::ConsumedHostMoves {
                cluster,
                other,
                hosts,
            } => {
                let (cluster, other) = (name(cluster), name(other));
                format!(
                    "{} from {cluster} to {other}: {}",
                    goes(&in_use(hosts), hosts.len()),
                    consumers(hosts, &name)
                )
            }
            Harm::ConsumedHostChangesRole { cluster, hosts } => {
                let part = if hosts.iter().any(|host| host.node.is_some()) {
                    "role or name"
                } else {
                    "role"
                };
                format!(
                    "{} gives {} another {part}: {}",
                    name(cluster),
                    in_use(hosts),
                    consumers(hosts, &name)
                )
            }
            Harm::InstallerRuns {
                cluster,
                machines,
                before,
                after,
                because,
            } => {
                let machines = machines.map_or_else(|| "all machines".to_owned(), all_machines);
                let (again, why, goes) = match before {
                    None => ("", String::new(), String::new()),
                    Some(before) => {
                        let because: Vec<&str> =
                            because.iter().map(|aspect| aspect.cause()).collect();
                        let why = match because.as_slice() {
                            [] => "other work".to_owned(),
                            [one] => (*one).to_owned(),
                            [first @ .., last] => format!("{} and {last}", first.join(", ")),
                        };
                        let goes = format!("; Job {} is deleted, even while it runs", name(before));
                        (" again", format!(", because of {why}"), goes)
                    }
                };
                format!(
                    "the installer runs{again} on {machines} of {} once this is applied{why}: Job {}{goes}",
                    name(cluster),
                    name(after)
                )
            }
            Harm::MachineAddressChanges { cluster, machines } => {
                let changes = machines.iter().map(
                    |Readdressed {
                         node,
                         before,
                         after,
                     }| {
                        format!("{} from {} to {}", name(node), name(before), name(after))
                    },
                );
                let changes = first_few(changes.collect(), HOSTS_NAMED);
                let is = if machines.len() == 1 { "is" } else { "are" };
                let of = name(cluster);
                format!(
                    "{} of {of} {is} reached elsewhere: {changes}",
                    counted(machines.len(), "machine")
                )
            }
            Harm::HostMoves {
                cluster,
                other,
                hosts,
            } => {
                let (cluster, other) = (name(cluster), name(other));
                let named = hosts.iter().map(|host| name(host)).collect();
                let hosts = goes(&counted(hosts.len(), "host"), hosts.len());
                format!(
                    "{hosts} from {cluster} to {other}: {}",
                    first_few(named, HOSTS_NAMED)
                )
            }
            Harm::ControlPlaneEndpointChanges {
                cluster,
                before,
                after,
            } => {
                format!(
                    "the control-plane endpoint of {} {}",
                    name(cluster),
                    becomes(before, after)
                )
            }
            Harm::IssuerChanges {
                cluster,
                before,
                after,
            } => {
                format!("the issuer of {} {}", name(cluster), becomes(before, after))
            }
            Harm::NodePortChanges {
                cluster,
                service,
                before,
                after,
            } => {
                let port = format!("the NodePort of {} in {}", name(service), name(cluster));
                format!("{port} {}", becomes(before, after))
            }
            Harm::RootDeleted { directory } => {
                format!(
                    "{} goes: whatever applies or includes it has to stop first",
                    name(directory)
                )
            }
            Harm::RootChangesForm {
                directory,
                form: Form::Component,
            } => {
                format!(
                    "{} becomes a component: whatever applies it has to stop, and a kustomization has to include it",
                    name(directory)
                )
            }
            Harm::RootChangesForm {
                directory,
                form: Form::Overlay,
            } => {
                format!(
                    "{} becomes an overlay: whatever includes it has to stop, and an agent has to apply it",
                    name(directory)
                )
            }
            Harm::AgentObjectsDeleted { directory, objects } => {
                let (objects, them) = (
                    goes(&counted(*objects, "object"), *objects),
                    if *objects == 1 { "it" } else { "them" },
                );
                format!(
                    "{objects} from {}, which deletes the services that are applied by {them}: let go of {them} first",
                    name(directory)
                )
            }
            Harm::OutputMoves { before, after } => {
                format!(
                    "everything goes from {} to {}: agents have to follow",
                    name(before),
                    name(after)
                )
            }
        }
    }
}

fn all_machines(count: usize) -> String {
    if count == 1 {
        "the one machine".to_owned()
    } else {
        format!("all {count} machines")
    }
}

fn in_use(hosts: &[Consumed]) -> String {
    let noun = if hosts.len() == 1 {
        "host that is"
    } else {
        "hosts that are"
    };
    format!("{} {noun} in use", hosts.len())
}

fn goes(hosts: &str, count: usize) -> String {
    format!("{hosts} {}", if count == 1 { "goes" } else { "go" })
}

fn consumers(hosts: &[Consumed], name: impl Fn(&dyn Display) -> String) -> String {
    let named = hosts.iter().map(
        |Consumed {
             host,
             consumer,
             node,
         }| {
            let node = node
                .as_ref()
                .map(|node| format!(" ({})", name(node)))
                .unwrap_or_default();
            format!("{}{node} by {}", name(host), name(consumer))
        },
    );
    first_few(named.collect(), HOSTS_NAMED)
}

/// A list in words, that says how many it leaves out.
fn first_few(named: Vec<String>, most: usize) -> String {
    let more = named.len().saturating_sub(most);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", named[..named.len().min(most)].join(", "))
}
