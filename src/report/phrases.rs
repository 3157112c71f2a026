//! Phrases for changes of clusters, shared by all reports.

use std::fmt::Display;

use crate::base::api::names::{HostKey, NodeName, Part, Role};
use crate::base::grouping::grouped;
use crate::base::text::{abbreviated, counted};
use crate::input::settings::gitops::HostsForm;
use crate::input::settings::outputs::MetadataField;
use crate::review::effects::hosts::{MetadataChange, ReleaseReason, ReleasedHost, ReplacedHost};
use crate::review::effects::{
    Aspect, ChangedRoot, ClusterReview, EndpointChange, EndpointKind, FileState, InstallerChange,
    OutputChange, ReleasedObservedHost, ServiceChange, SharedChanges,
};
use crate::site::request::ClusterKind;

use super::totals::counts;

/// Heading of the changes that the base had not generated.
pub(super) const BROUGHT: &str =
    "Also included: changes that the base had not generated, because its overlays are stale";

/// A line of a diff: something created, deleted or changed.
pub(super) struct DiffLine {
    /// `+`, `-` or `~`.
    pub(super) sign: char,
    pub(super) text: String,
}

impl DiffLine {
    fn new(state: FileState, text: String) -> Self {
        Self { sign: sign(state), text }
    }
}

/// Formats a name, which is untrusted input.
pub(super) type Name<'a> = &'a dyn Fn(&dyn Display) -> String;

pub(super) fn sign(state: FileState) -> char {
    match state {
        FileState::Created => '+',
        FileState::Changed => '~',
        FileState::Deleted => '-',
    }
}

/// Returns the suffix that names a cluster's kind; the usual kind has none.
pub(super) fn kind(kind: ClusterKind) -> String {
    if kind.descriptor().is_named_in_lists { format!(" ({kind})") } else { String::new() }
}

/// Lists a cluster's changes: hosts, services, endpoints.
pub(super) fn lines(cluster: &ClusterReview, name: Name<'_>) -> Vec<DiffLine> {
    let mut lines = hosts(cluster, name);
    for service in &cluster.services {
        let effect = match service.state {
            FileState::Changed => effect(service),
            FileState::Created | FileState::Deleted => String::new(),
        };
        let text = format!("service {}{effect}", name(&service.service));
        lines.push(DiffLine::new(service.state, text));
    }
    lines.extend(cluster.outputs.iter().map(|change| output(change, name)));
    lines.extend(cluster.installer.iter().map(|change| installer(change, name)));
    let endpoints =
        cluster.endpoints.iter().filter(|change| !is_redundant(change, &cluster.endpoints));
    lines.extend(endpoints.map(|change| endpoint(change, name)));
    if lines.is_empty() {
        let files = counted(cluster.files.all(), "file");
        let text = format!("{files}; no host, service or endpoint changes");
        lines.push(DiffLine::new(FileState::Changed, text));
    }
    lines
}

/// Describes the change of an output, with the objects that an agent creates, changes and deletes.
pub(super) fn output(change: &OutputChange, name: Name<'_>) -> DiffLine {
    let effect = counts("object", &change.objects);
    let effect = effect.unwrap_or_else(|| "no object changes".to_owned());
    DiffLine::new(change.state, format!("output {}: {effect}", name(&change.output)))
}

/// Returns whether only the configuration of one service changes.
pub(super) fn is_configuration_only(cluster: &ClusterReview, lines: &[DiffLine]) -> bool {
    let is_configuration = |service: &ServiceChange| {
        service.state == FileState::Changed
            && service.aspects.iter().all(|aspect| *aspect == Aspect::Configuration)
    };
    lines.len() == 1 && cluster.services.iter().any(is_configuration)
}

/// Describes the changed aspects of a service, and whether its pods restart.
fn effect(service: &ServiceChange) -> String {
    let aspects: Vec<String> = service.aspects.iter().map(Aspect::to_string).collect();
    let aspects = if aspects.is_empty() { "only comments".to_owned() } else { aspects.join(", ") };
    let restart = if service.restarts { "its pods restart" } else { "no restart" };
    format!(": {aspects}; {restart}")
}

fn hosts(cluster: &ClusterReview, name: Name<'_>) -> Vec<DiffLine> {
    let hosts = &cluster.hosts;
    let mut lines = Vec::new();
    for (adopted, how) in [(false, ""), (true, ", by existing labels")] {
        let added = hosts.added.iter().filter(|added| added.adopted == adopted);
        let listed = listed(added.map(|added| (&added.part, &added.host)), how, name).into_iter();
        lines.extend(listed.map(|text| DiffLine::new(FileState::Created, text)));
    }
    for ReplacedHost { given_back, by, .. } in &hosts.replaced {
        let host = host_of(&given_back.part, &given_back.host, name);
        let text = format!("{host} is replaced by {}{}", name(by), remarks(given_back, name));
        lines.push(DiffLine::new(FileState::Changed, text));
    }
    for changed in &hosts.with_another_role {
        let [before, after] = changed.parts();
        let after_words = match (&after.node, &after.node_set) {
            (Some(node), _) if changed.is_renamed() => name(node),
            (Some(node), _) => format!("{} machine {}", after.role, name(node)),
            (None, Some(set)) => format!("{} of {}", after.role, name(set)),
            (None, None) if before.node.is_some() => format!("{} host", after.role),
            (None, None) => after.role.to_string(),
        };
        let text = format!("{} becomes {after_words}", host_of(&before, &changed.host, name));
        lines.push(DiffLine::new(FileState::Changed, text));
    }
    // Hosts without remarks share one line.
    let (plain, remarkable): (Vec<&ReleasedHost>, Vec<&ReleasedHost>) =
        hosts.given_back.iter().partition(|host| host.reason.is_none() && host.consumer.is_none());
    let remarkable = remarkable.into_iter().map(|given_back| {
        let host = host_of(&given_back.part, &given_back.host, name);
        format!("{host}{}", remarks(given_back, name))
    });
    let plain = listed(plain.into_iter().map(|host| (&host.part, &host.host)), "", name);
    let released = remarkable.chain(plain);
    lines.extend(released.map(|text| DiffLine::new(FileState::Deleted, text)));
    let moves = [
        (FileState::Created, "from", &hosts.from_others),
        (FileState::Deleted, "to", &hosts.to_others),
    ];
    for (state, direction, moves) in moves {
        lines.extend(moves.iter().map(|moved| {
            let host = host_of(&moved.part, &moved.host, name);
            DiffLine::new(state, format!("{host} moves {direction} {}", name(&moved.other)))
        }));
    }
    lines.extend(hosts.metadata.iter().map(|change| metadata(change, name)));
    lines
}

/// Describes a label or an annotation that changes on hosts.
fn metadata(change: &MetadataChange, name: Name<'_>) -> DiffLine {
    let field = match change.field {
        MetadataField::Labels => "label",
        MetadataField::Annotations => "annotation",
    };
    let hosts: Vec<String> = change.hosts.iter().map(|host| name(host)).collect();
    let count = counted(hosts.len(), "host");
    let text = format!("{field} {} of {count}: {}", name(&change.key), hosts.join(", "));
    DiffLine::new(change.state, text)
}

/// Lists hosts by role and node set: `2 Worker hosts: a/b, a/c`, or as machines: `2 Worker machines:
/// worker-1 on a/b, worker-2 on a/c`. Hosts of a Provisioning come after those of a SIPCluster,
/// because one may have replaced the other under the same name.
fn listed<'h>(
    hosts: impl Iterator<Item = (&'h Part, &'h HostKey)>,
    how: &str,
    name: Name<'_>,
) -> Vec<String> {
    let groups = grouped(hosts.map(|(part, host)| {
        let named = match &part.node {
            None => name(host),
            Some(node) => format!("{} on {}", name(node), name(host)),
        };
        ((part.role, &part.node_set, part.node.is_some()), named)
    }));
    let line = |((role, set, are_machines), hosts): ((Role, &Option<NodeName>, bool), Vec<_>)| {
        let noun = if are_machines { "machine" } else { "host" };
        let count = counted(hosts.len(), &format!("{role} {noun}"));
        let of = set.as_ref().map_or(String::new(), |set| format!(" of {}", name(set)));
        format!("{count}{of}{how}: {}", hosts.join(", "))
    };
    groups.into_iter().map(line).collect()
}

/// Formats a host with its role: `Worker host a/b`, `Worker machine worker-1 on a/b`.
fn host_of(part: &Part, host: &HostKey, name: Name<'_>) -> String {
    match &part.node {
        None => match &part.node_set {
            None => format!("{} host {}", part.role, name(host)),
            Some(set) => format!("{} host of {} {}", part.role, name(set), name(host)),
        },
        Some(node) => format!("{} machine {} on {}", part.role, name(node), name(host)),
    }
}

/// Describes a change of the installer and its Job.
fn installer(change: &InstallerChange, name: Name<'_>) -> DiffLine {
    let job = |job: &Option<String>| job.as_ref().map(|job| name(job)).unwrap_or_default();
    let (before, after) = (job(&change.job_before), job(&change.job_after));
    let named = |names: &[String]| names.iter().map(|it| name(it)).collect::<Vec<String>>();
    let text = match change.state {
        FileState::Created => format!("Job {after} runs on all machines"),
        FileState::Deleted => format!("Job {before}"),
        FileState::Changed => {
            let files = named(&change.files).join(", ");
            let mut parts = vec![if files.is_empty() { "only comments".to_owned() } else { files }];
            let workloads =
                [("now run", &change.begin_workloads), ("no longer run", &change.end_workloads)];
            for (run, nodes) in workloads.into_iter().filter(|(_, nodes)| !nodes.is_empty()) {
                parts.push(format!("workloads {run} on {}", abbreviated(&named(nodes), 1)));
            }
            if change.runs {
                let what = if change.scales { "adds workers" } else { "runs on all machines" };
                parts.push(format!("Job {before} -> {after}, which {what}"));
            }
            parts.join("; ")
        }
    };
    let text = format!("installer: {text}");
    DiffLine::new(change.state, text)
}

/// Formats the reason for a release, and the host's consumer.
fn remarks(host: &ReleasedHost, name: Name<'_>) -> String {
    let reason = host.reason.map(|reason| match reason {
        ReleaseReason::BeingDeleted => "it is being deleted".to_owned(),
        ReleaseReason::Failed => "it has failed".to_owned(),
        ReleaseReason::Gone => "it is no longer in the inventory".to_owned(),
    });
    let consumer = host.consumer.as_ref().map(|consumer| format!("{} uses it", name(consumer)));
    let remarks: Vec<String> = reason.into_iter().chain(consumer).collect();
    if remarks.is_empty() { String::new() } else { format!(": {}", remarks.join("; ")) }
}

/// Returns whether another endpoint of the service already shows these NodePorts.
fn is_redundant(change: &EndpointChange, all: &[EndpointChange]) -> bool {
    let tells = |text: &Option<String>, ports: &Option<String>| match (text, ports) {
        (Some(text), Some(ports)) => text.contains(&format!(":{ports}")),
        (_, ports) => ports.is_none(),
    };
    change.kind == EndpointKind::NodePorts
        && all.iter().any(|other| {
            other.kind != EndpointKind::NodePorts
                && other.service == change.service
                && tells(&other.before, &change.before)
                && tells(&other.after, &change.after)
        })
}

fn endpoint(change: &EndpointChange, name: Name<'_>) -> DiffLine {
    let EndpointChange { kind, service, before, after } = change;
    let (before, after) = (before.as_ref(), after.as_ref());
    let what = match kind {
        EndpointKind::ControlPlane => "control-plane endpoint".to_owned(),
        EndpointKind::Issuer => "issuer".to_owned(),
        EndpointKind::JumpHost => format!("jump-host endpoint of {}", name(service)),
        EndpointKind::Service => format!("endpoint of {}", name(service)),
        EndpointKind::NodePorts => format!("NodePort of {}", name(service)),
    };
    let sides: Vec<String> = before.into_iter().chain(after).map(|text| name(text)).collect();
    DiffLine::new(FileState::from_sides((before, after)), format!("{what}: {}", sides.join(" -> ")))
}

/// Lists changes outside of clusters. A kustomization of declared hosts that only lists other
/// patches is omitted.
pub(super) fn shared(shared: &SharedChanges, name: Name<'_>) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let is_told = |root: &&ChangedRoot| root.state != FileState::Changed || root.becomes.is_some();
    lines.extend(shared.roots.iter().filter(is_told).map(|root| {
        let becomes = match root.becomes {
            Some(HostsForm::Component) => ": now a component",
            Some(HostsForm::Overlay) => ": now an overlay",
            None => "",
        };
        let text = format!("declared hosts through {}{becomes}", name(&root.directory));
        DiffLine::new(root.state, text)
    }));
    lines.extend(shared.outputs.iter().map(|change| output(change, name)));
    let mut add = |state, text| lines.push(DiffLine::new(state, text));
    for definitions in &shared.definitions {
        add(definitions.state, format!("definitions in {}", name(&definitions.directory)));
    }
    for agent in &shared.agents {
        add(agent.state, format!("agent objects in {}", name(&agent.directory)));
    }
    for ReleasedObservedHost { host, by, .. } in &shared.released {
        let by = by.as_ref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
        add(FileState::Created, format!("host {} is released{by}", name(host)));
    }
    let hosts = [
        (FileState::Deleted, &shared.no_longer_released, "is no longer released"),
        (FileState::Created, &shared.unlabelled, "loses the labels of its manifest"),
        (FileState::Deleted, &shared.no_longer_unlabelled, "keeps the labels of its manifest"),
    ];
    for (state, hosts, what) in hosts {
        hosts.iter().for_each(|host| add(state, format!("host {} {what}", name(host))));
    }
    lines
}
