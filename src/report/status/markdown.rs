//! Status of a site as Markdown, with the numbers of the JSON.

use std::fmt::{self, Write};

use super::{short_node_sets, tally};
use crate::ask::capacity::Capacity;
use crate::ask::overview::{ClusterOverview, HardwareKind, Overview};
use crate::base::api::names::Namespace;
use crate::base::text::counted;
use crate::report::ReportText;
use crate::report::capacity::{
    write_lacking_as_markdown, write_left_out, write_worst_loss_as_markdown,
};
use crate::report::markdown::cell;
use crate::report::spare_words;

/// Maximum number of rows of a table, unless all are wanted.
const ROWS_SHOWN: usize = 50;

/// Renders the status of a site as Markdown: clusters, short node sets, spare hosts and the worst loss.
pub fn status_as_markdown(overview: &Overview, capacity: &Capacity, all: bool) -> ReportText {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_overview(&mut out, overview, capacity, all);
    out.into()
}

fn write_overview(
    out: &mut String,
    overview: &Overview,
    capacity: &Capacity,
    all: bool,
) -> fmt::Result {
    let hosts = counted(overview.hosts.len(), "host");
    let clusters = counted(overview.clusters.len(), "cluster");
    writeln!(out, "{hosts}, {clusters}: {}", tally(&overview.hosts))?;

    let rows = overview.clusters.iter().flat_map(|cluster| {
        let node_sets = cluster.node_sets.iter();
        node_sets.map(move |set| (cluster, set))
    });
    let quiet = |(cluster, _): &(&ClusterOverview, _)| cluster.is_quiet();
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(quiet);
    if !rows.is_empty() {
        writeln!(out, "\n### Clusters\n")?;
        writeln!(out, "| cluster | node set | active | standby | has | missing |")?;
        writeln!(out, "| --- | --- | ---: | ---: | ---: | ---: |")?;
    }
    let shown = if all { rows.len() } else { ROWS_SHOWN };
    for (cluster, set) in rows.iter().take(shown) {
        let count = |number: Option<usize>| number.map_or("?".to_owned(), |it| it.to_string());
        let active = count(set.wanted.map(|wanted| wanted.active));
        let standby = count(set.wanted.map(|wanted| wanted.standby));
        let (key, part) = (cell(&cluster.key), cell(&set.part));
        let (have, missing) = (set.have, set.missing());
        writeln!(out, "| {key} | {part} | {active} | {standby} | {have} | {missing} |")?;
    }
    write_left_out(out, rows.len().saturating_sub(shown))?;

    let short = short_node_sets(capacity);
    if !short.is_empty() {
        writeln!(out, "\n### Short\n")?;
        write_lacking_as_markdown(out, &short, all)?;
    }

    let spare = overview.spare.iter().filter(|spare| spare.asked.is_none());
    let mut spare: Vec<_> = spare.collect();
    spare.sort_by_key(|spare| spare.free);
    if !spare.is_empty() {
        writeln!(out, "\n### Spare hosts by selector\n")?;
        writeln!(out, "| matching | assigned | free | selector |")?;
        writeln!(out, "| ---: | ---: | ---: | --- |")?;
    }
    let shown = if all { spare.len() } else { ROWS_SHOWN };
    for spare in spare.iter().take(shown) {
        let namespace = spare.namespace.as_ref().map(Namespace::as_str);
        let selector =
            spare_words((&spare.selector, &spare.hardware), namespace, &spare.interfaces);
        let (matching, assigned, free) = (spare.matching, spare.assigned, spare.free);
        let selector = cell(&selector);
        writeln!(out, "| {matching} | {assigned} | {free} | {selector} |")?;
    }
    write_left_out(out, spare.len().saturating_sub(shown))?;
    if !overview.hardware.is_empty() {
        writeln!(out, "\n### Hardware\n")?;
        writeln!(out, "| hosts | free | kind |")?;
        writeln!(out, "| ---: | ---: | --- |")?;
    }
    let shown = if all { overview.hardware.len() } else { ROWS_SHOWN };
    for HardwareKind { kind, hosts, free } in overview.hardware.iter().take(shown) {
        writeln!(out, "| {hosts} | {free} | {} |", cell(kind))?;
    }
    write_left_out(out, overview.hardware.len().saturating_sub(shown))?;
    write_worst_loss_as_markdown(out, capacity)
}
