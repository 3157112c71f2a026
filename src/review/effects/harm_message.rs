//! Messages of dangers.

use std::fmt::Display;

use super::ReaddressedMachine;
use super::dangers::Harm;
use super::hosts::ConsumedHost;
use crate::base::text::{abbreviated, counted};
use crate::input::settings::gitops::HostsForm;

/// Maximum number of hosts that a message names.
const HOSTS_NAMED: usize = 5;

impl Harm {
    /// Describes the harm. `name` formats names, which are untrusted input.
    pub(super) fn message(&self, name: impl Fn(&dyn Display) -> String) -> String {
        let becomes = |before: &str, after: &Option<String>| match after {
            Some(after) => format!("changes from {} to {}", name(&before), name(after)),
            None => format!("is removed: {}", name(&before)),
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
                format!("{} releases {}: {}", name(cluster), in_use(hosts), consumers(hosts, &name))
            }
            Harm::AssignedHostVanished { cluster, hosts } => {
                let named = abbreviated(
                    &hosts.iter().map(|host| name(host)).collect::<Vec<_>>(),
                    HOSTS_NAMED,
                );
                let is = if hosts.len() == 1 { "is" } else { "are" };
                let lost = counted(hosts.len(), "host");
                format!(
                    "{} loses {lost} that {is} no longer in the inventory and may be in use: {named}",
                    name(cluster)
                )
            }
            Harm::ConsumedHostMoves { cluster, other, hosts } => {
                let (cluster, other) = (name(cluster), name(other));
                format!(
                    "{} from {cluster} to {other}: {}",
                    moves(&in_use(hosts), hosts.len()),
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
                    "{} changes the {part} of {}: {}",
                    name(cluster),
                    in_use(hosts),
                    consumers(hosts, &name)
                )
            }
            Harm::FirmwareChanges { output, hosts } => format!(
                "the output {} changes the firmware of {}, at their next preparation or reboot: {}",
                name(output),
                in_use(hosts),
                consumers(hosts, &name)
            ),
            Harm::InstallerRuns { scales: true, cluster, before, after, .. } => {
                let goes = before
                    .as_ref()
                    .map(|before| format!("; Job {} is deleted, even while it runs", name(before)));
                format!(
                    "the installer adds workers to {} once this is applied: Job {}{}",
                    name(cluster),
                    name(after),
                    goes.unwrap_or_default()
                )
            }
            Harm::InstallerRuns { scales: false, cluster, machines, before, after, because } => {
                let machines = machines.map_or_else(|| "all machines".to_owned(), all_machines);
                let (again, why, goes) = match before {
                    None => ("", String::new(), String::new()),
                    Some(before) => {
                        let files: Vec<String> = because.iter().map(|file| name(file)).collect();
                        let goes = format!("; Job {} is deleted, even while it runs", name(before));
                        (
                            " again",
                            format!(", because of {}", abbreviated(&files, HOSTS_NAMED)),
                            goes,
                        )
                    }
                };
                format!(
                    "the installer runs{again} on {machines} of {} once this is applied{why}: Job {}{goes}",
                    name(cluster),
                    name(after)
                )
            }
            Harm::MachineAddressChanges { cluster, machines } => {
                let changes = machines.iter().map(|ReaddressedMachine { node, before, after }| {
                    format!("{} from {} to {}", name(node), name(before), name(after))
                });
                let changes = abbreviated(&changes.collect::<Vec<_>>(), HOSTS_NAMED);
                let move_to = if machines.len() == 1 {
                    "moves to another address"
                } else {
                    "move to other addresses"
                };
                let of = name(cluster);
                format!("{} of {of} {move_to}: {changes}", counted(machines.len(), "machine"))
            }
            Harm::HostMoves { cluster, other, hosts } => {
                let (cluster, other) = (name(cluster), name(other));
                let named: Vec<String> = hosts.iter().map(|host| name(host)).collect();
                let hosts = moves(&counted(hosts.len(), "host"), hosts.len());
                format!("{hosts} from {cluster} to {other}: {}", abbreviated(&named, HOSTS_NAMED))
            }
            Harm::ControlPlaneEndpointChanges { cluster, before, after } => {
                format!(
                    "the control-plane endpoint of {} {}",
                    name(cluster),
                    becomes(before, after)
                )
            }
            Harm::IssuerChanges { cluster, before, after } => {
                format!("the issuer of {} {}", name(cluster), becomes(before, after))
            }
            Harm::NodePortChanges { cluster, service, before, after } => {
                let port = format!("the NodePort of {} in {}", name(service), name(cluster));
                format!("{port} {}", becomes(before, after))
            }
            Harm::ImmutableFieldChanges { cluster, change } => {
                let object = format!("{} {}", change.kind, name(&change.name));
                let remedy = if change.can_orphan_pods() {
                    "delete the object first with `kubectl delete --cascade=orphan`, which keeps its pods running"
                } else {
                    "revert the change, or delete the object first"
                };
                format!(
                    "{} of {object} in {} changes, which the API server rejects: {remedy}",
                    change.field,
                    name(cluster)
                )
            }
            Harm::RootDeleted { directory } => {
                format!("{} is deleted: remove all references to it first", name(directory))
            }
            Harm::RootChangesForm { directory, form: HostsForm::Component } => {
                format!(
                    "{} becomes a component: stop applying it, and include it in a kustomization",
                    name(directory)
                )
            }
            Harm::RootChangesForm { directory, form: HostsForm::Overlay } => {
                format!(
                    "{} becomes an overlay: remove it from kustomizations, and let an agent apply it",
                    name(directory)
                )
            }
            Harm::AgentObjectsDeleted { directory, objects } => {
                let (objects, them) =
                    (removed(*objects), if *objects == 1 { "it" } else { "them" });
                format!(
                    "{objects} from {}, which deletes the services applied by {them}: detach {them} first",
                    name(directory)
                )
            }
            Harm::OutputMoves { before, after } => {
                format!(
                    "the output moves from {} to {}: update the paths of agents",
                    name(before),
                    name(after)
                )
            }
        }
    }
}

fn all_machines(count: usize) -> String {
    if count == 1 { "the one machine".to_owned() } else { format!("all {count} machines") }
}

fn in_use(hosts: &[ConsumedHost]) -> String {
    let noun = if hosts.len() == 1 { "host" } else { "hosts" };
    format!("{} {noun} in use", hosts.len())
}

fn removed(objects: usize) -> String {
    let verb = if objects == 1 { "is" } else { "are" };
    format!("{} {verb} removed", counted(objects, "object"))
}

fn moves(hosts: &str, count: usize) -> String {
    format!("{hosts} {}", if count == 1 { "moves" } else { "move" })
}

fn consumers(hosts: &[ConsumedHost], name: impl Fn(&dyn Display) -> String) -> String {
    let named = hosts.iter().map(|ConsumedHost { host, consumer, node }| {
        let node = node.as_ref().map(|node| format!(" ({})", name(node))).unwrap_or_default();
        format!("{}{node} by {}", name(host), name(consumer))
    });
    abbreviated(&named.collect::<Vec<_>>(), HOSTS_NAMED)
}
