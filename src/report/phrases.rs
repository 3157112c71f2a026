//! Phrases for changes of clusters, shared by all reports: lines for each change, and brief phrases for
//! many: the actions in clusters, and the totals.

use std::fmt::Display;

use crate::base::api::names::{HostKey, NodeName, Part, Role};
use crate::base::grouping::grouped;
use crate::base::text::{abbreviated, counted, joined};
use crate::input::settings::gitops::HostsForm;
use crate::input::settings::outputs::MetadataField;
use crate::review::effects::hosts::{
    AddedHost, HostChanges, MetadataChange, ReleaseReason, ReleasedHost, ReplacedHost,
};
use crate::review::effects::{
    Aspect, ChangeCounts, ChangedRoot, ClusterReview, EndpointChange, EndpointKind, FileState,
    InstallerChange, OutputChange, ReleasedObservedHost, ServiceChange, SharedChanges, Totals,
};
use crate::site::request::ClusterKind;

use super::plain;

/// Heading of the changes that the base had not generated.
pub(super) const BROUGHT: &str =
    "Also included: changes that the base had not generated, because its overlays are stale";

/// A line of a diff: something created, deleted or changed.
pub(super) struct DiffLine {
    pub(super) state: FileState,
    pub(super) text: String,
}

impl DiffLine {
    fn new(state: FileState, text: String) -> Self {
        Self { state, text }
    }
}

/// Formats a name, which is untrusted input.
pub(super) type Name<'a> = &'a dyn Fn(&dyn Display) -> String;

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
    let effect =
        counts("object", &change.objects).unwrap_or_else(|| "no object changes".to_owned());
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

/// Replaces an empty description of changed files.
fn or_comments(changes: String) -> String {
    if changes.is_empty() { "only comments".to_owned() } else { changes }
}

/// Describes the changed aspects of a service, and whether its pods restart.
fn effect(service: &ServiceChange) -> String {
    let restart = if service.restarts { "its pods restart" } else { "no restart" };
    format!(": {}; {restart}", or_comments(joined(&service.aspects, ", ")))
}

fn hosts(cluster: &ClusterReview, name: Name<'_>) -> Vec<DiffLine> {
    let hosts = &cluster.hosts;
    let mut lines = Vec::new();
    let mut add = |state, text| lines.push(DiffLine::new(state, text));
    for (adopted, how) in [(false, ""), (true, ", by existing labels")] {
        let added = hosts.added.iter().filter(|added| added.adopted == adopted);
        let listed = listed(added.map(|added| (&added.part, &added.host)), how, name);
        listed.into_iter().for_each(|text| add(FileState::Created, text));
    }
    for ReplacedHost { given_back, by, .. } in &hosts.replaced {
        let host = host_of(&given_back.part, &given_back.host, name);
        let text = format!("{host} is replaced by {}{}", name(by), remarks(given_back, name));
        add(FileState::Changed, text);
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
        let host = host_of(&before, &changed.host, name);
        add(FileState::Changed, format!("{host} becomes {after_words}"));
    }
    // Hosts without remarks share one line.
    let (plain, remarkable): (Vec<&ReleasedHost>, Vec<&ReleasedHost>) =
        hosts.given_back.iter().partition(|host| host.reason.is_none() && host.consumer.is_none());
    for released in remarkable {
        let host = host_of(&released.part, &released.host, name);
        add(FileState::Deleted, format!("{host}{}", remarks(released, name)));
    }
    let plain = listed(plain.into_iter().map(|host| (&host.part, &host.host)), "", name);
    plain.into_iter().for_each(|text| add(FileState::Deleted, text));
    let arrivals = hosts.from_others.iter().map(|moved| (FileState::Created, "from", moved));
    let departures = hosts.to_others.iter().map(|moved| (FileState::Deleted, "to", moved));
    for (state, direction, moved) in arrivals.chain(departures) {
        let (host, other) = (host_of(&moved.part, &moved.host, name), name(&moved.other));
        add(state, format!("{host} moves {direction} {other}"));
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
    let hosts = joined(change.hosts.iter().map(|host| name(host)), ", ");
    let count = counted(change.hosts.len(), "host");
    DiffLine::new(change.state, format!("{field} {} of {count}: {hosts}", name(&change.key)))
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
            let mut parts = vec![or_comments(named(&change.files).join(", "))];
            let workloads =
                [("now run", &change.begin_workloads), ("no longer run", &change.end_workloads)];
            for (run, nodes) in workloads.into_iter().filter(|(_, nodes)| !nodes.is_empty()) {
                parts.push(format!("workloads {run} on {}", abbreviated(named(nodes), 1)));
            }
            if change.runs {
                let what = if change.scales { "adds workers" } else { "runs on all machines" };
                parts.push(format!("Job {before} -> {after}, which {what}"));
            }
            parts.join("; ")
        }
    };
    DiffLine::new(change.state, format!("installer: {text}"))
}

/// Formats the reason for a release, and the host's consumer.
fn remarks(host: &ReleasedHost, name: Name<'_>) -> String {
    let reason = host.reason.map(|reason| match reason {
        ReleaseReason::BeingDeleted => "it is being deleted".to_owned(),
        ReleaseReason::Failed => "it has failed".to_owned(),
        ReleaseReason::Gone => "it is no longer in the inventory".to_owned(),
    });
    let consumer = host.consumer.as_ref().map(|consumer| format!("{} uses it", name(consumer)));
    let remarks = joined(reason.into_iter().chain(consumer), "; ");
    if remarks.is_empty() { remarks } else { format!(": {remarks}") }
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
    let sides = [before.as_ref(), after.as_ref()];
    let what = match kind {
        EndpointKind::ControlPlane => "control-plane endpoint".to_owned(),
        EndpointKind::Issuer => "issuer".to_owned(),
        EndpointKind::JumpHost => format!("jump-host endpoint of {}", name(service)),
        EndpointKind::Service => format!("endpoint of {}", name(service)),
        EndpointKind::NodePorts => format!("NodePort of {}", name(service)),
    };
    let values = joined(sides.into_iter().flatten().map(|text| name(text)), " -> ");
    DiffLine::new(FileState::from_sides(sides), format!("{what}: {values}"))
}

/// Lists changes outside of clusters. A kustomization of declared hosts that only lists other
/// patches is omitted.
pub(super) fn shared(shared: &SharedChanges, name: Name<'_>) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    for ChangedRoot { directory, state, becomes } in &shared.roots {
        let becomes = match becomes {
            Some(HostsForm::Component) => ": now a component",
            Some(HostsForm::Overlay) => ": now an overlay",
            None if *state == FileState::Changed => continue,
            None => "",
        };
        let text = format!("declared hosts through {}{becomes}", name(directory));
        lines.push(DiffLine::new(*state, text));
    }
    lines.extend(shared.outputs.iter().map(|change| output(change, name)));
    let mut add = |state, text| lines.push(DiffLine::new(state, text));
    let definitions = shared.definitions.iter().map(|it| (it.state, "definitions", &it.directory));
    let agents = shared.agents.iter().map(|it| (it.state, "agent objects", &it.directory));
    for (state, what, directory) in definitions.chain(agents) {
        add(state, format!("{what} in {}", name(directory)));
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

/// Lists what a cluster changes, as briefly as possible, such as `adds 4 hosts`.
pub(super) fn deeds(cluster: &ClusterReview) -> Vec<String> {
    let runs_installer = cluster.installer.as_ref().is_some_and(|installer| installer.runs);
    let hosts = host_deeds(&cluster.hosts).map(|(verb, hosts)| (verb, hosts.len(), "host"));
    let by_state = |counts: ChangeCounts, noun: &'static str| {
        let ChangeCounts { created, changed, deleted } = counts;
        [("creates", created, noun), ("changes", changed, noun), ("deletes", deleted, noun)]
    };
    let services = by_state(cluster.services.iter().map(|it| it.state).collect(), "service");
    let outputs = by_state(cluster.outputs.iter().map(|it| it.state).collect(), "output");
    let endpoints = match cluster.state {
        // A cluster's endpoints are created and deleted with it.
        FileState::Created | FileState::Deleted => 0,
        FileState::Changed => cluster.endpoints.len(),
    };
    let installers = [("runs", usize::from(runs_installer), "installer")];
    let endpoints = [("changes", endpoints, "endpoint")];
    let deeds = installers.into_iter().chain(hosts).chain(services).chain(outputs).chain(endpoints);
    let made = deeds.filter(|(_, count, _)| *count > 0);
    made.map(|(verb, count, noun)| format!("{verb} {}", counted(count, noun))).collect()
}

/// Lists what a cluster does with hosts: a verb, and the hosts as a sentence names them.
pub(super) fn host_deeds(hosts: &HostChanges) -> [(&'static str, Vec<String>); 9] {
    let added = |adopted| {
        let added = hosts.added.iter().filter(move |added| added.adopted == adopted);
        let name = |added: &AddedHost| match &added.part.node {
            None => plain(&added.host),
            Some(node) => format!("{} as {}", plain(&added.host), plain(node)),
        };
        added.map(name).collect()
    };
    let replaced =
        |it: &ReplacedHost| format!("{} by {}", plain(&it.given_back.host), plain(&it.by));
    let metadata = hosts.with_other_metadata();
    [
        ("adds", added(false)),
        ("adopts", added(true)),
        ("replaces", hosts.replaced.iter().map(replaced).collect()),
        ("releases", hosts.given_back.iter().map(|it| plain(&it.host)).collect()),
        ("takes over", hosts.from_others.iter().map(|it| plain(&it.host)).collect()),
        ("hands over", hosts.to_others.iter().map(|it| plain(&it.host)).collect()),
        ("changes the role of", hosts.with_another_role().map(|it| plain(&it.host)).collect()),
        ("changes the metadata of", metadata.into_iter().map(|host| plain(host)).collect()),
        ("renames the machine on", hosts.with_another_name().map(|it| plain(&it.host)).collect()),
    ]
}

/// Formats the totals: clusters, hosts and services; files; and two remarks about hosts. Lines without
/// content are left out.
pub(super) fn totals(totals: &Totals) -> Vec<String> {
    let hosts = [
        (totals.hosts_added, "added"),
        (totals.hosts_given_back, "released"),
        (totals.hosts_moved, "moved"),
        (totals.hosts_with_another_role, "with a new role"),
        (totals.hosts_with_other_metadata, "with other labels or annotations"),
    ];
    let run = if totals.installers_run == 1 { "runs" } else { "run" };
    let parts = [
        counts("cluster", &totals.clusters),
        with_counts("host", &hosts),
        with_counts("machine", &[(totals.machines_with_another_name, "renamed")]),
        counts("service", &totals.services),
        counts("output", &totals.outputs),
        with_counts("installer", &[(totals.installers_run, run)]),
    ];
    let released = "released may be in use: the repo has no snapshot of";
    let lines = [
        Some(joined(parts.into_iter().flatten(), "; ")).filter(|line| !line.is_empty()),
        counts("file", &totals.files),
        added_of_unknown_use(totals),
        unknown_use(totals.hosts_of_unknown_use, released),
    ];
    lines.into_iter().flatten().collect()
}

/// Counts added hosts that are known only by their manifests.
pub(super) fn added_of_unknown_use(totals: &Totals) -> Option<String> {
    let remark = "added: state unknown, no snapshot shows";
    unknown_use(totals.hosts_added_of_unknown_use, remark)
}

/// Counts hosts whose use is unknown, with a remark that ends in `it` or `them`.
fn unknown_use(count: usize, remark: &str) -> Option<String> {
    let them = if count == 1 { "it" } else { "them" };
    (count > 0).then(|| format!("{} {remark} {them}", counted(count, "host")))
}

pub(super) fn counts(noun: &str, counts: &ChangeCounts) -> Option<String> {
    let ChangeCounts { created, changed, deleted } = *counts;
    with_counts(noun, &[(created, "created"), (changed, "changed"), (deleted, "deleted")])
}

/// Formats counts: `2 files created`, or if states differ, `3 files: 1 created, 2 changed`.
fn with_counts(noun: &str, counts: &[(usize, &str)]) -> Option<String> {
    let counts: Vec<&(usize, &str)> = counts.iter().filter(|(count, _)| *count > 0).collect();
    match counts.as_slice() {
        [] => None,
        [(count, what)] => Some(format!("{} {what}", counted(*count, noun))),
        several => {
            let all = several.iter().map(|(count, _)| count).sum();
            let parts = joined(several.iter().map(|(count, what)| format!("{count} {what}")), ", ");
            Some(format!("{}: {parts}", counted(all, noun)))
        }
    }
}
