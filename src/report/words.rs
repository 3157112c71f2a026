//! What becomes of clusters, in the words that every report uses.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::api::names::{HostKey, NodeName, Part, Role};
use crate::inventory::natural;
use crate::request::ClusterKind;
use crate::review::hosts::{GivenBack, Reason, Replaced};
use crate::review::{
    Aspect, ClusterReview, Counts, EndpointChange, EndpointKind, InstallerChange, Shared, State,
    Totals,
};
use crate::settings::gitops::Form;
use crate::text::counted;

/// The head of what the base had not generated.
pub(super) const BROUGHT: &str =
    "Also brought: the overlays of the base are stale, and this comes with the change";

/// A line about something that comes, goes or changes.
pub(super) struct Line {
    /// `+`, `-` or `~`.
    pub(super) sign: char,
    pub(super) text: String,
}

impl Line {
    fn new(state: State, text: impl Into<String>) -> Self {
        Self {
            sign: sign(state),
            text: text.into(),
        }
    }
}

/// How names are written: they may be anything that the input has.
pub(super) type Name<'a> = &'a dyn Fn(&dyn Display) -> String;

pub(super) fn sign(state: State) -> char {
    match state {
        State::Created => '+',
        State::Changed => '~',
        State::Deleted => '-',
    }
}

/// What is said of a cluster's kind behind its name: that of most needs no word.
pub(super) fn kind(kind: ClusterKind) -> String {
    if kind.descriptor().is_named_in_lists {
        format!(" ({kind})")
    } else {
        String::new()
    }
}

/// What becomes of something, in one word.
pub(super) fn state(state: State) -> &'static str {
    match state {
        State::Created => "created",
        State::Changed => "changed",
        State::Deleted => "deleted",
    }
}

/// What changes of a cluster, line by line: hosts, services, endpoints.
pub(super) fn lines(cluster: &ClusterReview, name: Name<'_>) -> Vec<Line> {
    let mut lines = hosts(cluster, name);
    for service in &cluster.services {
        let aspects: Vec<&str> = service
            .aspects
            .iter()
            .map(|aspect| self::aspect(*aspect))
            .collect();
        let aspects = if aspects.is_empty() {
            "only comments".to_owned()
        } else {
            aspects.join(", ")
        };
        let aspects = match service.state {
            State::Changed if service.restarts => format!(": {aspects}; its pods restart"),
            State::Changed => format!(": {aspects}; no restart"),
            State::Created | State::Deleted => String::new(),
        };
        lines.push(Line::new(
            service.state,
            format!("service {}{aspects}", name(&service.service)),
        ));
    }
    lines.extend(
        cluster
            .installer
            .iter()
            .map(|change| installer(change, name)),
    );
    let endpoints = cluster
        .endpoints
        .iter()
        .filter(|change| !told_by_another(change, &cluster.endpoints));
    lines.extend(endpoints.map(|change| endpoint(change, name)));
    if lines.is_empty() {
        let files = counted(cluster.files.all(), "file");
        lines.push(Line::new(
            State::Changed,
            format!("{files}, but no host, service or endpoint"),
        ));
    }
    lines
}

fn hosts(cluster: &ClusterReview, name: Name<'_>) -> Vec<Line> {
    let hosts = &cluster.hosts;
    let mut lines = Vec::new();
    let ways = [(false, ""), (true, ", by the labels that it has")];
    for (of, (adopted, what)) in Role::ALL
        .into_iter()
        .flat_map(|role| ways.map(|way| (role, way)))
    {
        let added = hosts
            .added
            .iter()
            .filter(|added| added.part.role == of && added.adopted == adopted);
        for (role, added) in by_role(added.map(|added| (&added.part, &added.host))) {
            let what = if added.len() == 1 {
                what
            } else {
                &what.replace("it has", "they have")
            };
            lines.push(Line::new(State::Created, listed(role, &added, what, name)));
        }
    }
    for moved in &hosts.from_others {
        let text = format!(
            "{} comes from {}",
            host_of(&moved.part, &moved.host, name),
            name(&moved.other)
        );
        lines.push(Line::new(State::Created, text));
    }
    for Replaced { given_back, by, .. } in &hosts.replaced {
        let host = host_of(&given_back.part, &given_back.host, name);
        let text = format!(
            "{host} is replaced by {}{}",
            name(by),
            remarks(given_back, name)
        );
        lines.push(Line::new(State::Changed, text));
    }
    for changed in &hosts.with_another_role {
        let before = Part {
            role: changed.before,
            node: changed.node_before.clone(),
        };
        let after = match &changed.node_after {
            Some(node) if changed.is_renamed() => name(node),
            Some(node) => format!("{} machine {}", changed.after, name(node)),
            None if before.node.is_some() => format!("{} host", changed.after),
            None => changed.after.to_string(),
        };
        let text = format!("{} becomes {after}", host_of(&before, &changed.host, name));
        lines.push(Line::new(State::Changed, text));
    }
    // Those that nothing is to be said of are told together.
    let (plain, remarkable): (Vec<&GivenBack>, Vec<&GivenBack>) = hosts
        .given_back
        .iter()
        .partition(|host| host.reason.is_none() && host.consumer.is_none());
    for role in Role::ALL {
        for given_back in remarkable.iter().filter(|host| host.part.role == role) {
            let host = host_of(&given_back.part, &given_back.host, name);
            lines.push(Line::new(
                State::Deleted,
                format!("{host}{}", remarks(given_back, name)),
            ));
        }
        let plain = plain
            .iter()
            .filter(|host| host.part.role == role)
            .map(|host| (&host.part, &host.host));
        let plain = by_role(plain).into_iter();
        lines.extend(
            plain.map(|(role, hosts)| Line::new(State::Deleted, listed(role, &hosts, "", name))),
        );
    }
    for moved in &hosts.to_others {
        let text = format!(
            "{} goes to {}",
            host_of(&moved.part, &moved.host, name),
            name(&moved.other)
        );
        lines.push(Line::new(State::Deleted, text));
    }
    lines
}

/// A host, or a machine with its name, and which host it is.
type Named<'a> = (Option<&'a NodeName>, &'a HostKey);

/// Hosts by their role, and those of a Provisioning behind those of a SIPCluster: one of a name may have become the
/// other. Machines are in natural order of their names.
fn by_role<'a>(
    hosts: impl Iterator<Item = (&'a Part, &'a HostKey)>,
) -> Vec<(Role, Vec<Named<'a>>)> {
    let mut by_role: BTreeMap<(Role, bool), Vec<Named<'a>>> = BTreeMap::new();
    for (part, host) in hosts {
        by_role
            .entry((part.role, part.node.is_some()))
            .or_default()
            .push((part.node.as_ref(), host));
    }
    let text = |node: &Option<&'a NodeName>| node.map_or("", NodeName::as_str);
    by_role
        .values_mut()
        .for_each(|hosts| hosts.sort_by(|(a, _), (b, _)| natural(text(a), text(b))));
    by_role
        .into_iter()
        .map(|((role, _), hosts)| (role, hosts))
        .collect()
}

/// Hosts of a role in words: `2 Worker hosts: a/b, a/c`; machines with their names: `2 Worker machines: worker-1 on a/b,
/// worker-2 on a/c`.
fn listed(role: Role, hosts: &[Named<'_>], what: &str, name: Name<'_>) -> String {
    let noun = if hosts.iter().any(|(node, _)| node.is_some()) {
        "machine"
    } else {
        "host"
    };
    let named = hosts.iter().map(|(node, host)| match node {
        None => name(host),
        Some(node) => format!("{} on {}", name(node), name(host)),
    });
    let named: Vec<String> = named.collect();
    format!(
        "{}{what}: {}",
        counted(hosts.len(), &format!("{role} {noun}")),
        named.join(", ")
    )
}

/// A host, by what it is for: `Worker host a/b`, `Worker machine worker-1 on a/b`.
fn host_of(part: &Part, host: &HostKey, name: Name<'_>) -> String {
    match &part.node {
        None => format!("{} host {}", part.role, name(host)),
        Some(node) => format!("{} machine {} on {}", part.role, name(node), name(host)),
    }
}

/// What becomes of what installs Kubernetes on machines.
fn installer(change: &InstallerChange, name: Name<'_>) -> Line {
    let InstallerChange {
        state,
        runs,
        job_before,
        job_after,
        aspects,
        begin_workloads,
        end_workloads,
        ..
    } = change;
    let workloads = |run: &str, nodes: &[String]| match nodes {
        [] => String::new(),
        [one] => format!("; workloads {run} on {}", name(one)),
        [first, others @ ..] => {
            format!(
                "; workloads {run} on {} and {}",
                name(first),
                counted(others.len(), "more master")
            )
        }
    };
    let job = |job: &Option<String>| job.as_ref().map(|job| name(job)).unwrap_or_default();
    let text = match state {
        State::Created => format!("installer: Job {} runs on all machines", job(job_after)),
        State::Deleted => format!("installer: Job {}", job(job_before)),
        State::Changed => {
            let aspects: Vec<&str> = aspects.iter().map(|aspect| aspect.word()).collect();
            let aspects = if aspects.is_empty() {
                "only comments".to_owned()
            } else {
                aspects.join(", ")
            };
            let jobs = format!(
                "; Job {} -> {}, which runs on all machines",
                job(job_before),
                job(job_after)
            );
            let begin = workloads("now run", begin_workloads);
            let end = workloads("no longer run", end_workloads);
            format!(
                "installer: {aspects}{begin}{end}{}",
                if *runs { &jobs } else { "" }
            )
        }
    };
    Line::new(*state, text)
}

/// What is the matter with a host that is given back.
fn remarks(host: &GivenBack, name: Name<'_>) -> String {
    let reason = host.reason.map(|reason| match reason {
        Reason::BeingDeleted => "it is being deleted".to_owned(),
        Reason::Failed => "it has failed".to_owned(),
        Reason::Gone => "it is no longer in the inventory".to_owned(),
    });
    let consumer = host
        .consumer
        .as_ref()
        .map(|consumer| format!("{} uses it", name(consumer)));
    let remarks: Vec<String> = reason.into_iter().chain(consumer).collect();
    if remarks.is_empty() {
        String::new()
    } else {
        format!(": {}", remarks.join("; "))
    }
}

fn aspect(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Hosts => "hosts",
        Aspect::Ports => "ports",
        Aspect::Image => "image",
        Aspect::Replicas => "replicas",
        Aspect::AuthorizedKeys => "authorized keys",
        Aspect::Configuration => "configuration",
    }
}

/// Whether another endpoint of the service names its ports.
fn told_by_another(change: &EndpointChange, all: &[EndpointChange]) -> bool {
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

fn endpoint(change: &EndpointChange, name: Name<'_>) -> Line {
    let EndpointChange {
        kind,
        service,
        before,
        after,
    } = change;
    let what = match kind {
        EndpointKind::ControlPlane => "control-plane endpoint".to_owned(),
        EndpointKind::Issuer => "issuer".to_owned(),
        EndpointKind::JumpHost => format!("jump-host endpoint of {}", name(service)),
        EndpointKind::NodePorts => format!("NodePort of {}", name(service)),
    };
    match (before, after) {
        (Some(before), Some(after)) => Line::new(
            State::Changed,
            format!("{what}: {} -> {}", name(before), name(after)),
        ),
        (Some(before), None) => Line::new(State::Deleted, format!("{what}: {}", name(before))),
        (None, after) => {
            let after = after.as_ref().map(|after| name(after)).unwrap_or_default();
            Line::new(State::Created, format!("{what}: {after}"))
        }
    }
}

/// What changes outside of clusters, line by line. A kustomization of declared hosts that merely lists other patches
/// is not worth one.
pub(super) fn shared(shared: &Shared, name: Name<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for root in shared
        .roots
        .iter()
        .filter(|root| root.state != State::Changed || root.becomes.is_some())
    {
        let becomes = match root.becomes {
            Some(Form::Component) => ": now a component",
            Some(Form::Overlay) => ": now an overlay",
            None => "",
        };
        lines.push(Line::new(
            root.state,
            format!("declared hosts through {}{becomes}", name(&root.directory)),
        ));
    }
    for definitions in &shared.definitions {
        lines.push(Line::new(
            definitions.state,
            format!("definitions in {}", name(&definitions.directory)),
        ));
    }
    for agent in &shared.agents {
        lines.push(Line::new(
            agent.state,
            format!("the agent's objects in {}", name(&agent.directory)),
        ));
    }
    for released in &shared.released {
        let by = released
            .by
            .as_ref()
            .map(|by| format!(" by {}", name(by)))
            .unwrap_or_default();
        lines.push(Line::new(
            State::Created,
            format!("host {} is released{by}", name(&released.host)),
        ));
    }
    for host in &shared.no_longer_released {
        lines.push(Line::new(
            State::Deleted,
            format!("host {} is no longer released", name(host)),
        ));
    }
    for host in &shared.unlabelled {
        lines.push(Line::new(
            State::Created,
            format!("host {} loses the labels of its manifest", name(host)),
        ));
    }
    for host in &shared.no_longer_unlabelled {
        lines.push(Line::new(
            State::Deleted,
            format!("host {} keeps the labels of its manifest", name(host)),
        ));
    }
    lines
}

/// Something that is done, for sentences about clusters and about commits.
pub(super) struct Deed {
    /// As in "the cluster …".
    pub(super) does: &'static str,
    /// As a command.
    pub(super) imperative: &'static str,
    pub(super) what: String,
}

fn deed(does: &'static str, imperative: &'static str, count: usize, noun: &str) -> Option<Deed> {
    (count > 0).then(|| Deed {
        does,
        imperative,
        what: counted(count, noun),
    })
}

/// What is done to one cluster or to several, as few words as possible.
pub(super) fn deeds(clusters: &[&ClusterReview]) -> Vec<Deed> {
    let sum = |of: &dyn Fn(&ClusterReview) -> usize| {
        clusters.iter().map(|cluster| of(cluster)).sum::<usize>()
    };
    let adopted = sum(&|cluster| {
        cluster
            .hosts
            .added
            .iter()
            .filter(|added| added.adopted)
            .count()
    });
    let services = |state: State| {
        sum(&|cluster| {
            cluster
                .services
                .iter()
                .filter(|of| of.state == state)
                .count()
        })
    };
    let endpoints = |cluster: &ClusterReview| match cluster.state {
        // All of them come, or go, with the cluster.
        State::Created | State::Deleted => 0,
        State::Changed => cluster.endpoints.len(),
    };
    let deeds = [
        deed(
            "runs",
            "run",
            sum(&|cluster| usize::from(runs_installer(cluster))),
            "installer",
        ),
        deed(
            "adds",
            "add",
            sum(&|cluster| cluster.hosts.added.len()) - adopted,
            "host",
        ),
        deed("adopts", "adopt", adopted, "host"),
        deed(
            "replaces",
            "replace",
            sum(&|cluster| cluster.hosts.replaced.len()),
            "host",
        ),
        deed(
            "gives back",
            "give back",
            sum(&|cluster| cluster.hosts.given_back.len()),
            "host",
        ),
        deed(
            "takes over",
            "take over",
            sum(&|cluster| cluster.hosts.from_others.len()),
            "host",
        ),
        deed(
            "hands over",
            "hand over",
            sum(&|cluster| cluster.hosts.to_others.len()),
            "host",
        ),
        deed(
            "gives another role to",
            "give another role to",
            sum(&|cluster| cluster.hosts.with_another_role().count()),
            "host",
        ),
        deed(
            "renames",
            "rename",
            sum(&|cluster| cluster.hosts.with_another_name().count()),
            "machine",
        ),
        deed("creates", "create", services(State::Created), "service"),
        deed("changes", "change", services(State::Changed), "service"),
        deed("deletes", "delete", services(State::Deleted), "service"),
        deed("changes", "change", sum(&endpoints), "endpoint"),
    ];
    deeds.into_iter().flatten().collect()
}

fn runs_installer(cluster: &ClusterReview) -> bool {
    cluster
        .installer
        .as_ref()
        .is_some_and(|installer| installer.runs)
}

/// All of it, counted: a line for clusters, hosts and services, one for files, and three for what to know of hosts.
/// Lines without anything to say are empty.
pub(super) fn totals(totals: &Totals) -> [String; 5] {
    let hosts = [
        (totals.hosts_added, "added"),
        (totals.hosts_given_back, "given back"),
        (totals.hosts_moved, "moved"),
        (totals.hosts_with_another_role, "with another role"),
    ];
    let parts = [
        counts("cluster", &totals.clusters),
        told("host", &hosts),
        told("machine", &[(totals.machines_with_another_name, "renamed")]),
        counts("service", &totals.services),
        told(
            "installer",
            &[(
                totals.installers_run,
                if totals.installers_run == 1 {
                    "runs"
                } else {
                    "run"
                },
            )],
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let unknown = match totals.hosts_of_unknown_use {
        0 => String::new(),
        count => {
            let them = if count == 1 { "it" } else { "them" };
            format!(
                "{} given back may be in use: the repo has no snapshot of {them}",
                counted(count, "host")
            )
        }
    };
    let added = added_of_unknown_use(totals).unwrap_or_default();
    let elsewhere = added_elsewhere(totals).unwrap_or_default();
    [
        parts.join("; "),
        counts("file", &totals.files).unwrap_or_default(),
        added,
        elsewhere,
        unknown,
    ]
}

/// Returns how many of the added hosts Cluster API could not claim.
pub(super) fn added_elsewhere(totals: &Totals) -> Option<String> {
    let count = totals.hosts_added_elsewhere;
    let them = if count == 1 { "it" } else { "them" };
    (count > 0).then(|| {
        format!(
            "{} added from another namespace than the cluster's: Cluster API claims {them} only for Machines there",
            counted(count, "host")
        )
    })
}

/// Returns how many of the added hosts are known by their manifests alone.
pub(super) fn added_of_unknown_use(totals: &Totals) -> Option<String> {
    let count = totals.hosts_added_of_unknown_use;
    let them = if count == 1 { "it" } else { "them" };
    (count > 0).then(|| {
        format!(
            "{} added: state unknown, no snapshot shows {them}",
            counted(count, "host")
        )
    })
}

fn counts(noun: &str, counts: &Counts) -> Option<String> {
    told(
        noun,
        &[
            (counts.created, "created"),
            (counts.changed, "changed"),
            (counts.deleted, "deleted"),
        ],
    )
}

/// What becomes of things: `2 files created`, or where it is not the same with all, `3 files: 1 created, 2 changed`.
fn told(noun: &str, counts: &[(usize, &str)]) -> Option<String> {
    let counts: Vec<&(usize, &str)> = counts.iter().filter(|(count, _)| *count > 0).collect();
    match counts.as_slice() {
        [] => None,
        [(count, what)] => Some(format!("{} {what}", counted(*count, noun))),
        several => {
            let all = several.iter().map(|(count, _)| count).sum();
            let parts: Vec<String> = several
                .iter()
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
            Some(format!("{}: {}", counted(all, noun), parts.join(", ")))
        }
    }
}
