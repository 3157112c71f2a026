//! Messages of dangers.

use std::fmt::Display;

use super::ReaddressedMachine;
use super::built::is_controller;
use super::dangers::Harm;
use super::hosts::ConsumedHost;
use crate::base::api::names::HostKey;
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
        let all_named = |hosts: &[HostKey]| {
            let hosts: Vec<String> = hosts.iter().map(|host| name(host)).collect();
            abbreviated(&hosts, HOSTS_NAMED)
        };
        match self {
            Harm::ClusterDeleted { cluster, hosts } => {
                let hosts = match hosts.len() {
                    0 => String::new(),
                    count => format!(", with its {}", counted(count, "host")),
                };
                format!("cluster {} is deleted{hosts}", name(cluster))
            }
            Harm::ConsumedHostGivenBack { cluster, hosts } => {
                format!("{} releases {}: {}", name(cluster), in_use(hosts), consumers(hosts, &name))
            }
            Harm::AssignedHostVanished { cluster, hosts } => {
                let is = if hosts.len() == 1 { "is" } else { "are" };
                let (cluster, lost) = (name(cluster), counted(hosts.len(), "host"));
                format!(
                    "{cluster} loses {lost} that {is} no longer in the inventory and may be in use: {}",
                    all_named(hosts)
                )
            }
            Harm::ConsumedHostMoves { cluster, other, hosts } => {
                let (cluster, other) = (name(cluster), name(other));
                let moving = moves(&in_use(hosts), hosts.len());
                format!("{moving} from {cluster} to {other}: {}", consumers(hosts, &name))
            }
            Harm::ConsumedHostChangesRole { cluster, hosts } => {
                let has_machines = hosts.iter().any(|host| host.node.is_some());
                let part = if has_machines { "role or name" } else { "role" };
                let (cluster, in_use) = (name(cluster), in_use(hosts));
                format!("{cluster} changes the {part} of {in_use}: {}", consumers(hosts, &name))
            }
            Harm::FirmwareChanges { output, hosts } => format!(
                "the output {} changes the firmware of {}, at their next preparation or reboot: {}",
                name(output),
                in_use(hosts),
                consumers(hosts, &name)
            ),
            Harm::InstallerRuns { scales, cluster, machines, before, after, because } => {
                let (again, because, goes) = match before {
                    None => ("", String::new(), String::new()),
                    Some(job) => {
                        let files: Vec<String> = because.iter().map(|file| name(file)).collect();
                        let because = format!(", because of {}", abbreviated(&files, HOSTS_NAMED));
                        let goes = format!("; Job {} is deleted, even while it runs", name(job));
                        (" again", because, goes)
                    }
                };
                let cluster = name(cluster);
                let machines = machines.map(|count| counted(count, "machine"));
                let machines = machines.unwrap_or_else(|| "machines".to_owned());
                let runs = if *scales {
                    format!("adds workers to {cluster}")
                } else {
                    format!("runs{again} on all {machines} of {cluster}")
                };
                let after = name(after);
                format!("the installer {runs} once this is applied{because}: Job {after}{goes}")
            }
            Harm::MachineAddressChanges { cluster, machines } => {
                let changes = machines.iter().map(|ReaddressedMachine { node, before, after }| {
                    format!("{} from {} to {}", name(node), name(before), name(after))
                });
                let changes = abbreviated(&changes.collect::<Vec<_>>(), HOSTS_NAMED);
                let moved = format!("{} of {}", counted(machines.len(), "machine"), name(cluster));
                format!("{} to another address: {changes}", moves(&moved, machines.len()))
            }
            Harm::HostMoves { cluster, other, hosts } => {
                let (cluster, other) = (name(cluster), name(other));
                let moving = moves(&counted(hosts.len(), "host"), hosts.len());
                format!("{moving} from {cluster} to {other}: {}", all_named(hosts))
            }
            Harm::ControlPlaneEndpointChanges { cluster, before, after } => {
                let cluster = name(cluster);
                format!("the control-plane endpoint of {cluster} {}", becomes(before, after))
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
                // A successor with a selector that matches the pods adopts them.
                let remedy = if is_controller(&change.kind) {
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
            Harm::RootChangesForm { directory, form } => {
                let form = match form {
                    HostsForm::Component => {
                        "a component: stop applying it, and include it in a kustomization"
                    }
                    HostsForm::Overlay => {
                        "an overlay: remove it from kustomizations, and let an agent apply it"
                    }
                };
                format!("{} becomes {form}", name(directory))
            }
            Harm::AgentObjectsDeleted { directory, objects } => {
                let (are, them) = if *objects == 1 { ("is", "it") } else { ("are", "them") };
                format!(
                    "{} {are} removed from {}, which deletes the services applied by {them}: detach {them} first",
                    counted(*objects, "object"),
                    name(directory)
                )
            }
            Harm::OutputMoves { before, after } => {
                let (before, after) = (name(before), name(after));
                format!("the output moves from {before} to {after}: update the paths of agents")
            }
        }
    }
}

fn in_use(hosts: &[ConsumedHost]) -> String {
    format!("{} in use", counted(hosts.len(), "host"))
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
