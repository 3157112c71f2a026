//! Requested and assigned hosts of each cluster, and spare hosts by selector.

use crate::ask::overview::{
    ClusterOverview, NodeSetOverview, Overview, RequestedHosts, SpareHosts,
};
use crate::base::api::names::{ClusterKey, Namespace, NodeName, Part, Role};
use crate::base::grouping::grouped_in_order;
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
        let (mut key, mut notes) = (cluster.key.to_string(), notes(cluster));
        for row in rows(cluster) {
            notes.extend(row.notes);
            let mut cells = vec![row.counts, notes.join(", ")];
            cells.retain(|cell| !cell.is_empty());
            writeln!(out, "  {key:width$}  {}", cells.join("  "));
            (key, notes) = (String::new(), Vec::new());
        }
    }
    let quiet = overview.clusters.iter().filter(|cluster| cluster.is_quiet()).count();
    let nature = if quiet >= left_out { " without changes or shortages" } else { "" };
    write_more(out, 2, left_out, "cluster", &format!("{nature}; --all shows all"))
}

/// Column headings of a row.
const COLUMNS: &str = "role          active  standby  have";

/// A row of the cluster table: a node set, or all machines of a role.
struct ClusterRow<'a> {
    /// Role, and numbers of requested and assigned hosts.
    counts: String,
    notes: Vec<String>,
    /// Reasons of a shortage. Those of machines are written separately.
    shortage: &'a [String],
}

fn rows(cluster: &ClusterOverview) -> Vec<ClusterRow<'_>> {
    if cluster.node_sets.is_empty() {
        // With errors, it is unknown what the cluster requests.
        let counts = if notes(cluster).is_empty() { "no hosts requested" } else { "" }.to_owned();
        return vec![ClusterRow { counts, notes: Vec::new(), shortage: &[] }];
    }
    let alike = grouped_in_order(cluster.node_sets.iter().map(|set| {
        let Part { role, node_set, node } = &set.part;
        ((*role, node_set, node.is_some()), set)
    }));
    let row = |((role, name, are_machines), sets): ((Role, &Option<NodeName>, _), Vec<_>)| {
        let first: &NodeSetOverview = sets[0];
        let sum = |of: fn(&NodeSetOverview) -> usize| sets.iter().map(|set| of(set)).sum::<usize>();
        let wanted = |of: fn(RequestedHosts) -> usize| {
            let sum = sets.iter().filter_map(|set| set.wanted.map(of)).reduce(|a, b| a + b);
            sum.map_or("?".to_owned(), |sum| sum.to_string())
        };
        let active = wanted(|wanted| wanted.active);
        let standby = if are_machines { "-".to_owned() } else { wanted(|wanted| wanted.standby) };
        let have = sum(|set| set.have);
        ClusterRow {
            counts: format!("{:12}  {active:>6}  {standby:>7}  {have:>4}", role.as_str()),
            notes: name.iter().map(|name| one_line(name.as_str())).chain(notes_of(&sets)).collect(),
            shortage: if are_machines { &[] } else { &first.shortage },
        }
    };
    alike.into_iter().map(row).collect()
}

/// Returns the remarks about a node set, or all machines of a role.
fn notes_of(sets: &[&NodeSetOverview]) -> Vec<String> {
    let sum = |of: fn(&NodeSetOverview) -> usize| sets.iter().map(|set| of(set)).sum::<usize>();
    let mut short = sets.iter().filter(|set| set.short_of > 0);
    let machines = abbreviated(short.clone().flat_map(|set| &set.part.node), MACHINES_SHOWN);
    let lacking = short.next_back().map(|set| match machines.as_str() {
        "" => format!("{} missing", lower_bound(set.short_of, set.may_lack_more)),
        machines => format!("no host for {machines}"),
    });
    let waiting = sum(|set| if set.short_of == 0 { set.missing() } else { 0 });
    let (both, added) = (sum(|set| usize::from(set.worker_too)), sum(|set| set.added));
    let some = if both == sets.len() { String::new() } else { format!("{both} ") };
    let notes = [
        lacking.map(|lacking| styled(ERROR, lacking)),
        (waiting > 0).then(|| styled(WARNING, format_args!("{waiting} not placed"))),
        (both > 0).then(|| format!("{some}also Worker")),
        (added > 0).then(|| format!("{added} added")),
    ];
    notes.into_iter().flatten().collect()
}

/// Returns the remarks about a cluster.
fn notes(cluster: &ClusterOverview) -> Vec<String> {
    let is_named = cluster.kind.descriptor().is_named_in_lists;
    let (errors, released) = (cluster.errors.len(), cluster.gives_back.len());
    let notes = [
        is_named.then(|| cluster.kind.to_string()),
        cluster.gone.then(|| styled(WARNING, "gone")),
        (errors > 0).then(|| styled(ERROR, counted(errors, "error"))),
        (released > 0).then(|| styled(WARNING, format!("releases {}", counted(released, "host")))),
    ];
    notes.into_iter().flatten().collect()
}

/// Writes one cluster with its endpoints and the reasons of shortages.
pub(super) fn write_one(out: &mut ReportText, overview: &Overview, key: &ClusterKey) {
    let Some(cluster) = overview.clusters.iter().find(|it| it.key == *key) else { return };
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
    let short = cluster.node_sets.iter().filter(|set| !set.shortage.is_empty());
    let machines = short.filter_map(|set| Some((set.part.node.as_ref()?, set.shortage.clone())));
    write_unserved_machines(out, 2, MACHINES_SHOWN, machines);
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
        let counts = abbreviated(counts, DOMAINS_SHOWN);
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
        let (selector, askers) = (selector(spare), askers(spare));
        writeln!(out, "  {matching:>8}  {assigned:>8}  {free}  {selector}  ({askers})");
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
    let node_sets = spare.node_sets.iter();
    let mut names: Vec<String> =
        node_sets.map(|(cluster, role)| format!("{cluster} {role}")).collect();
    names.dedup();
    let machines = spare.machines.chunk_by(|(a, ..), (b, ..)| a == b);
    names.extend(machines.map(|machines| match machines {
        [(cluster, role, node)] => format!("{cluster} {node} ({role})"),
        several => format!("{} of {}", counted(several.len(), "machine"), several[0].0),
    }));
    abbreviated(&names, NODE_SETS_SHOWN)
}
