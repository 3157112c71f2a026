//! Messages of dangers.

use std::fmt::Display;

use super::built::is_controller;
use super::dangers::Harm;
use super::hosts::ConsumedHost;
use super::{ImmutableField, ReaddressedMachine};
use crate::base::api::names::HostKey;
use crate::base::text::{abbreviated, counted};
use crate::input::settings::gitops::HostsForm;

/// Maximum number of hosts that a message names.
const HOSTS_NAMED: usize = 5;

impl Harm {
    /// Describes the harm to a cluster, if it is one. `name` formats names, which are untrusted
    /// input.
    pub(super) fn message(&self, cluster: &str, name: impl Fn(&dyn Display) -> String) -> String {
        let becomes = |before: &str, after: &Option<String>| match after {
            Some(after) => format!("changes from {} to {}", name(&before), name(after)),
            None => format!("is removed: {}", name(&before)),
        };
        let all_named =
            |hosts: &[HostKey]| abbreviated(hosts.iter().map(|host| name(host)), HOSTS_NAMED);
        match self {
            Harm::ClusterDeleted { hosts, .. } if hosts.is_empty() => {
                format!("cluster {cluster} is deleted")
            }
            Harm::ClusterDeleted { hosts, .. } => {
                format!("cluster {cluster} is deleted, with its {}", counted(hosts.len(), "host"))
            }
            Harm::ConsumedHostGivenBack { hosts, .. } => {
                format!("{cluster} releases {}: {}", in_use(hosts), consumers(hosts, &name))
            }
            Harm::AssignedHostVanished { hosts, .. } => {
                let is = if hosts.len() == 1 { "is" } else { "are" };
                let (lost, named) = (counted(hosts.len(), "host"), all_named(hosts));
                format!(
                    "{cluster} loses {lost} that {is} no longer in the inventory and may be in use: {named}"
                )
            }
            Harm::ConsumedHostMoves { other, hosts, .. } => {
                let (moving, other) = (moves(&in_use(hosts), hosts.len()), name(other));
                format!("{moving} from {cluster} to {other}: {}", consumers(hosts, &name))
            }
            Harm::ConsumedHostChangesRole { hosts, .. } => {
                let has_machines = hosts.iter().any(|host| host.node.is_some());
                let part = if has_machines { "role or name" } else { "role" };
                let (in_use, consumers) = (in_use(hosts), consumers(hosts, &name));
                format!("{cluster} changes the {part} of {in_use}: {consumers}")
            }
            Harm::FirmwareChanges { output, hosts } => {
                let firmware = format!("the output {} changes the firmware of", name(output));
                let (in_use, consumers) = (in_use(hosts), consumers(hosts, &name));
                format!("{firmware} {in_use}, at their next preparation or reboot: {consumers}")
            }
            Harm::InstallerRuns { scales, machines, before, after, because, .. } => {
                let files = abbreviated(because.iter().map(|file| name(file)), HOSTS_NAMED);
                let (again, because, goes) = match before.as_ref().map(|job| name(job)) {
                    None => ("", String::new(), String::new()),
                    Some(job) => {
                        let goes = format!("; Job {job} is deleted, even while it runs");
                        (" again", format!(", because of {files}"), goes)
                    }
                };
                let machines = machines.map(|count| counted(count, "machine"));
                let machines = machines.unwrap_or_else(|| "machines".to_owned());
                let runs = match scales {
                    true => format!("adds workers to {cluster}"),
                    false => format!("runs{again} on all {machines} of {cluster}"),
                };
                let after = name(after);
                format!("the installer {runs} once this is applied{because}: Job {after}{goes}")
            }
            Harm::MachineAddressChanges { machines, .. } => {
                let changes = machines.iter().map(|ReaddressedMachine { node, before, after }| {
                    format!("{} from {} to {}", name(node), name(before), name(after))
                });
                let changes = abbreviated(changes, HOSTS_NAMED);
                let moved = format!("{} of {cluster}", counted(machines.len(), "machine"));
                format!("{} to another address: {changes}", moves(&moved, machines.len()))
            }
            Harm::HostMoves { other, hosts, .. } => {
                let moving = moves(&counted(hosts.len(), "host"), hosts.len());
                format!("{moving} from {cluster} to {}: {}", name(other), all_named(hosts))
            }
            Harm::ControlPlaneEndpointChanges { before, after, .. } => {
                format!("the control-plane endpoint of {cluster} {}", becomes(before, after))
            }
            Harm::IssuerChanges { before, after, .. } => {
                format!("the issuer of {cluster} {}", becomes(before, after))
            }
            Harm::NodePortChanges { service, before, after, .. } => {
                let (service, becomes) = (name(service), becomes(before, after));
                format!("the NodePort of {service} in {cluster} {becomes}")
            }
            Harm::ImmutableFieldChanges { change, .. } => {
                let ImmutableField { kind, name: object, field } = change;
                let object = name(object);
                // A successor with a selector that matches the pods adopts them.
                let remedy = if is_controller(kind) {
                    "delete the object first with `kubectl delete --cascade=orphan`, which keeps its pods running"
                } else {
                    "revert the change, or delete the object first"
                };
                format!(
                    "{field} of {kind} {object} in {cluster} changes, which the API server rejects: {remedy}"
                )
            }
            Harm::RootDeleted { directory } => {
                format!("{} is deleted: remove all references to it first", name(directory))
            }
            Harm::RootChangesForm { directory, form: HostsForm::Component } => {
                let directory = name(directory);
                format!(
                    "{directory} becomes a component: stop applying it, and include it in a kustomization"
                )
            }
            Harm::RootChangesForm { directory, form: HostsForm::Overlay } => {
                let directory = name(directory);
                format!(
                    "{directory} becomes an overlay: remove it from kustomizations, and let an agent apply it"
                )
            }
            Harm::AgentObjectsDeleted { directory, objects } => {
                let (are, them) = if *objects == 1 { ("is", "it") } else { ("are", "them") };
                let (objects, directory) = (counted(*objects, "object"), name(directory));
                format!(
                    "{objects} {are} removed from {directory}, which deletes the services applied by {them}: detach {them} first"
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
    abbreviated(named, HOSTS_NAMED)
}
