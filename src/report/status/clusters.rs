//! Requested and assigned hosts of each cluster, and spare hosts by selector.

use crate::ask::overview::{ClusterOverview, NodeSetOverview, Overview, SpareHosts};
use crate::base::api::names::{ClusterKey, Namespace, Role};
use crate::base::text::{abbreviated, counted, lower_bound};
use crate::report::{
    ERROR, ReportText, STRONG, WARNING, first_by, one_line, spare_words, styled, width,
    write_heading, write_more, write_unserved_machines,
};
use crate::site::inventory::natural;

/// Maximum numbers of clusters, selectors, and node sets of a selector without `--all`.
const CLUSTERS_SHOWN: usize = 10;
const SELECTORS_SHOWN: usize = 6;
const NODE_SETS_SHOWN: usize = 3;
/// Maximum number of machines without a host to name.
const MACHINES_SHOWN: usize = 4;
/// Maximum number of topology domains of a node set.
const DOMAINS_SHOWN: usize = 12;

/// Writes the table of clusters. If there are too many, clusters with changes or shortages have
/// priority.
pub(super) fn write_all(out: &mut ReportText, overview: &Overview, all: bool) {
    write_heading(out, "clusters");
    if overview.clusters.is_empty() {
        return writeln!(out, "  none");
    }
    let (shown, left_out) =
        first_by(&overview.clusters, all, CLUSTERS_SHOWN, |cluster| cluster.is_quiet());
    let width = width(shown.iter().map(|cluster| cluster.key.to_string())).max("cluster".len());
    writeln!(out, "  {:width$}  {COLUMNS}", "cluster");
    for cluster in &shown {
        let key = cluster.key.to_string();
        if cluster.node_sets.is_empty() {
            let notes = notes(cluster).join(", ");
            writeln!(
                out,
                "  {key:width$}  {}",
                if notes.is_empty() { "no hosts requested" } else { &notes }
            );
        }
        for (number, ClusterRow { counts, notes: row_notes, .. }) in
            rows(cluster).into_iter().enumerate()
        {
            let first = number == 0;
            let mut notes = if first { notes(cluster) } else { Vec::new() };
            notes.extend(row_notes);
            let key = if first { key.as_str() } else { "" };
            let line = format!("  {key:width$}  {counts}  {}", notes.join(", "));
            writeln!(out, "{}", line.trim_end());
        }
    }
    let quiet = overview.clusters.iter().filter(|cluster| cluster.is_quiet()).count();
    let nature = if quiet >= left_out { " without changes or shortages" } else { "" };
    write_more(out, 2, left_out, "cluster", &format!("{nature}; --all shows all"))
}

/// Column headings of a row.
const COLUMNS: &str = "role          active  standby  have";

/// A row of the cluster table.
struct ClusterRow<'a> {
    /// Role, and numbers of requested and assigned hosts.
    counts: String,
    notes: Vec<String>,
    /// Reasons of a shortage. Those of machines are written separately.
    shortage: &'a [String],
}

/// Returns a cluster's rows: one per node set, and one for all machines of a role.
fn rows(cluster: &ClusterOverview) -> Vec<ClusterRow<'_>> {
    let (machines, node_sets): (Vec<_>, Vec<_>) =
        cluster.node_sets.iter().partition(|set| set.part.node.is_some());
    let node_set_rows = node_sets.into_iter().map(|set| ClusterRow {
        counts: counts(set),
        notes: notes_of(set),
        shortage: &set.shortage,
    });
    let machine_rows = Role::ALL.into_iter().filter_map(|role| {
        let role_machines: Vec<&NodeSetOverview> =
            machines.iter().copied().filter(|set| set.part.role == role).collect();
        (!role_machines.is_empty()).then(|| row_of_machines(role, &role_machines))
    });
    node_set_rows.chain(machine_rows).collect()
}

/// Summarizes the machines of one role, naming those without a host.
fn row_of_machines(role: Role, machines: &[&NodeSetOverview]) -> ClusterRow<'static> {
    let sum =
        |of: &dyn Fn(&NodeSetOverview) -> usize| machines.iter().map(|set| of(set)).sum::<usize>();
    let wanted = sum(&|set| set.wanted.map_or(0, |wanted| wanted.active));
    let known = machines.iter().any(|set| set.wanted.is_some());
    let wanted = if known { wanted.to_string() } else { "?".to_owned() };
    let mut notes = Vec::new();
    let short: Vec<&NodeSetOverview> =
        machines.iter().copied().filter(|set| set.short_of > 0).collect();
    if !short.is_empty() {
        notes.push(styled(ERROR, format_args!("no host for {}", named(&short))));
    }
    let waiting = sum(&|set| if set.short_of == 0 { set.missing() } else { 0 });
    notes.extend((waiting > 0).then(|| styled(WARNING, format_args!("{waiting} not placed"))));
    let both = sum(&|set| usize::from(set.worker_too));
    let all = if both == machines.len() { String::new() } else { format!("{both} ") };
    notes.extend((both > 0).then(|| format!("{all}also Worker")));
    let added = sum(&|set| set.added);
    notes.extend((added > 0).then(|| format!("{added} added")));
    let counts =
        format!("{:12}  {wanted:>6}  {:>7}  {:>4}", role.as_str(), "-", sum(&|set| set.have));
    ClusterRow { counts, notes, shortage: &[] }
}

/// Lists the names of the first machines.
fn named(machines: &[&NodeSetOverview]) -> String {
    let names = machines.iter().flat_map(|set| &set.part.node);
    abbreviated(&names.collect::<Vec<_>>(), MACHINES_SHOWN)
}

fn counts(set: &NodeSetOverview) -> String {
    let (active, standby) = match set.wanted {
        Some(wanted) => (wanted.active.to_string(), wanted.standby.to_string()),
        None => ("?".to_owned(), "?".to_owned()),
    };
    format!("{:12}  {active:>6}  {standby:>7}  {:>4}", set.part.role.as_str(), set.have)
}

/// Returns the remarks about a cluster.
fn notes(cluster: &ClusterOverview) -> Vec<String> {
    let mut notes = Vec::new();
    if cluster.kind.descriptor().is_named_in_lists {
        notes.push(cluster.kind.to_string());
    }
    if cluster.gone {
        notes.push(styled(WARNING, "gone"));
    }
    if !cluster.errors.is_empty() {
        notes.push(styled(ERROR, counted(cluster.errors.len(), "error")));
    }
    if !cluster.gives_back.is_empty() {
        notes.push(styled(
            WARNING,
            format_args!("releases {}", counted(cluster.gives_back.len(), "host")),
        ));
    }
    notes
}

/// Returns the remarks about a node set.
fn notes_of(set: &NodeSetOverview) -> Vec<String> {
    let mut notes: Vec<String> =
        set.part.node_set.iter().map(|name| one_line(name.as_str())).collect();
    match (set.short_of, set.missing()) {
        (0, 0) => {}
        (0, waiting) => notes.push(styled(WARNING, format_args!("{waiting} not placed"))),
        (short_of, _) => {
            let short_of = lower_bound(short_of, set.may_lack_more);
            notes.push(styled(ERROR, format_args!("{short_of} missing")));
        }
    }
    if set.added > 0 {
        notes.push(format!("{} added", set.added));
    }
    notes
}

/// Writes one cluster with its endpoints and the reasons of shortages.
pub(super) fn write_one(out: &mut ReportText, overview: &Overview, key: &ClusterKey) {
    let Some(cluster) = overview.clusters.iter().find(|cluster| cluster.key == *key) else {
        return;
    };
    let notes = notes(cluster).join(", ");
    let notes = if notes.is_empty() { notes } else { format!(": {notes}") };
    writeln!(out, "{}{notes}", styled(STRONG, format_args!("cluster {key}")));
    for error in &cluster.errors {
        writeln!(out, "  {}: {}", styled(ERROR, "error"), one_line(error));
    }
    if let Some(name) = &cluster.provisioning {
        writeln!(out, "  Provisioning {}", one_line(name));
    }
    if !cluster.node_sets.is_empty() {
        writeln!(out, "  {COLUMNS}");
    }
    for ClusterRow { counts, notes, shortage } in rows(cluster) {
        writeln!(out, "{}", format!("  {counts}  {}", notes.join(", ")).trim_end());
        shortage.iter().for_each(|line| writeln!(out, "    {}", one_line(line)));
    }
    write_domains(out, cluster);
    let machines = cluster.node_sets.iter().filter(|set| !set.shortage.is_empty());
    write_unserved_machines(
        out,
        2,
        MACHINES_SHOWN,
        machines.filter_map(|set| Some((set.part.node.as_ref()?, set.shortage.clone()))),
    );
    if !cluster.endpoints.is_empty() {
        write_heading(out, "services");
    }
    let width = width(cluster.endpoints.iter().map(|endpoint| &endpoint.service));
    for endpoint in &cluster.endpoints {
        let ports = endpoint.ports.join(", ");
        let reached = match &endpoint.address {
            Some(address) => format!("{address}:{ports}"),
            None => format!("NodePort {ports}"),
        };
        writeln!(out, "  {:width$}  {reached}", endpoint.service);
    }
}

/// Writes the numbers of hosts in the topology domains of each node set.
fn write_domains(out: &mut ReportText, cluster: &ClusterOverview) {
    let node_sets = cluster.node_sets.iter().filter(|set| set.part.node.is_none());
    for (set, domains) in node_sets.filter_map(|set| Some((set, set.domains.as_ref()?))) {
        let mut names: Vec<&String> = domains.hosts.keys().collect();
        names.sort_by(|a, b| natural(a, b));
        let counts = names.iter().map(|name| format!("{name} {}", domains.hosts[*name]));
        let counts = abbreviated(&counts.collect::<Vec<_>>(), DOMAINS_SHOWN);
        let line = format!("{} over {}: {counts}", set.part, domains.topology_key);
        writeln!(out, "  {}", one_line(&line));
    }
}

/// Writes the hosts of each selector. If there are too many, selectors with the fewest free hosts
/// have priority.
pub(super) fn write_spare(out: &mut ReportText, overview: &Overview, all: bool) {
    if overview.spare.is_empty() {
        return;
    }
    let has_machines = overview.spare.iter().any(|spare| spare.asked.is_some());
    let what = if has_machines { "request" } else { "selector" };
    write_heading(out, format_args!("spare hosts by {what}"));
    let (shown, left_out) = first_by(&overview.spare, all, SELECTORS_SHOWN, |spare| spare.free);
    writeln!(out, "  matching  assigned  free  {what}");
    for spare in &shown {
        let SpareHosts { matching, assigned, free, .. } = spare;
        let free = format!("{free:>4}");
        let free = if spare.free == 0 { styled(WARNING, free) } else { free };
        writeln!(
            out,
            "  {matching:>8}  {assigned:>8}  {free}  {}  ({})",
            selector(spare),
            askers(spare)
        );
    }
    write_more(out, 2, left_out, what, " with more free hosts; --all shows all")
}

fn selector(spare: &SpareHosts) -> String {
    match &spare.asked {
        Some(asked) => one_line(&asked.to_string()),
        None => {
            let namespace = spare.namespace.as_ref().map(Namespace::as_str);
            one_line(&spare_words((&spare.selector, &spare.hardware), namespace, &spare.interfaces))
        }
    }
}

/// Lists the node sets that use a selector; a cluster's machines are counted together.
fn askers(spare: &SpareHosts) -> String {
    let mut names: Vec<String> =
        spare.node_sets.iter().map(|(cluster, role)| format!("{cluster} {role}")).collect();
    names.dedup();
    for machines in spare.machines.chunk_by(|(a, ..), (b, ..)| a == b) {
        names.extend(match machines {
            [(cluster, role, node)] => Some(format!("{cluster} {node} ({role})")),
            [(cluster, ..), ..] => {
                Some(format!("{} of {cluster}", counted(machines.len(), "machine")))
            }
            [] => None,
        });
    }
    abbreviated(&names, NODE_SETS_SHOWN)
}
