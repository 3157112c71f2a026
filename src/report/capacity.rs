//! The capacity of a site, as text and for pages.

use serde::Serialize;

use super::{
    ERROR, ReportText, WARNING, first_by, one_line, styled, width, write_heading, write_more,
};
use crate::ask::capacity::{Capacity, LackingNodeSet, Loss, ScarceNodeSet};
use crate::base::api::names::{ClusterKey, Part};
use crate::base::text::{abbreviated, counted, joined, lower_bound};
use crate::plan::purchase::{BoughtKind, Purchase};

/// Maximum number of rows of a table, unless all are wanted.
const ROWS_SHOWN: usize = 20;
/// Maximum number of clusters or node sets in the result of a loss, unless all are wanted.
const NAMES_SHOWN: usize = 4;

/// A table of what fits.
#[derive(Debug, Serialize)]
struct CapacityTable {
    title: &'static str,
    /// Heading of the column of names.
    column: &'static str,
    rows: Vec<CapacityRow>,
    /// Number of rows that are left out.
    more: usize,
}

/// A row about what fits.
#[derive(Debug, Serialize)]
struct CapacityRow {
    fit: usize,
    name: String,
    lacks: String,
}

/// The capacity in words, for pages.
#[derive(Debug, Serialize)]
pub(super) struct CapacityWords {
    tables: Vec<CapacityTable>,
    lacking: Vec<String>,
    /// The size of the purchase.
    purchase: Option<String>,
    /// Its hosts by kind.
    kinds: Vec<String>,
    by: Option<String>,
    losses: Vec<LossRow>,
}

/// A row about a loss.
#[derive(Debug, Serialize)]
struct LossRow {
    /// The topology domain; `None` for the hosts without one.
    rack: Option<String>,
    hosts: usize,
    assigned: usize,
    /// The control planes without a quorum.
    quorums: String,
    /// The node sets that cannot be completed.
    lacking: String,
}

impl CapacityWords {
    pub(super) fn new(capacity: &Capacity) -> Self {
        let (lacking, _) = shown_lacking(&capacity.lacking, false);
        let kinds = capacity.purchase.iter().flat_map(|it| &it.kinds);
        Self {
            tables: tables(capacity, false),
            lacking: lacking.into_iter().map(lacking_words).collect(),
            purchase: capacity.purchase.as_ref().map(size),
            kinds: kinds.map(bought).collect(),
            by: capacity.by.clone(),
            losses: capacity.losses.iter().map(|loss| loss_row(loss, false)).collect(),
        }
    }
}

/// Formats the capacity of a site. Unless `all` is set, long tables have their scarcest rows only.
pub fn capacity(capacity: &Capacity, all: bool) -> ReportText {
    let mut out = ReportText::default();
    for table in tables(capacity, all) {
        write_heading(&mut out, table.title);
        write_table(&mut out, &table);
    }
    if !capacity.lacking.is_empty() {
        write_heading(&mut out, "cannot be served");
        write_lacking(&mut out, &capacity.lacking, all);
    }
    if let Some(purchase) = &capacity.purchase {
        write_heading(&mut out, "to buy");
        write_purchase(&mut out, purchase);
    }
    if let Some(label) = &capacity.by {
        write_loss_heading(&mut out, label);
        write_losses(&mut out, &capacity.losses, all);
    }
    if out.is_empty() {
        return "nothing can grow: no cluster is requested, or MAC addresses name all machines\n"
            .into();
    }
    out
}

pub(super) fn write_loss_heading(out: &mut ReportText, label: &str) {
    write_heading(out, format_args!("if all hosts of one {} are lost", one_line(label)));
}

fn write_table(out: &mut ReportText, CapacityTable { column, rows, more, .. }: &CapacityTable) {
    let names: Vec<String> = rows.iter().map(|row| one_line(&row.name)).collect();
    let width = width(&names).max(column.len());
    writeln!(out, "   fit  {column:width$}  one more lacks");
    for (row, name) in rows.iter().zip(names) {
        let fit = format!("{:>4}", row.fit);
        let fit = if row.fit == 0 { styled(WARNING, fit) } else { fit };
        writeln!(out, "  {fit}  {name:width$}  {}", row.lacks);
    }
    write_more(out, 2, *more, "line", "; --all shows all")
}

pub(super) fn write_lacking(out: &mut ReportText, lacking: &[LackingNodeSet], all: bool) {
    let (shown, left_out) = shown_lacking(lacking, all);
    let words = shown.into_iter().map(lacking_words);
    words.for_each(|lacks| writeln!(out, "  {}", one_line(&lacks)));
    write_more(out, 2, left_out, "line", "; --all shows all")
}

/// Writes a purchase without its title.
pub(super) fn write_purchase(out: &mut ReportText, purchase: &Purchase) {
    writeln!(out, "  {}", size(purchase));
    purchase.kinds.iter().for_each(|kind| writeln!(out, "    {}", bought(kind)))
}

/// Writes the loss that does most harm, and counts the others that do harm.
pub(super) fn write_worst_loss(out: &mut ReportText, capacity: &Capacity) {
    let Some(worst) = capacity.worst_loss() else {
        return writeln!(out, "  every lost host can be replaced");
    };
    let row = loss_row(worst, false);
    writeln!(out, "  the worst is {}: {}", one_line(row.name()), result(&row));
    let harmful = capacity.losses.iter().filter(|loss| loss.is_harmful()).count();
    if harmful > 1 {
        let (harmful, others) = (harmful - 1, capacity.losses.len() - 1);
        writeln!(out, "  {harmful} of {others} others do harm as well: `sipgen capacity`");
    }
}

fn write_losses(out: &mut ReportText, losses: &[Loss], all: bool) {
    let order = |row: &LossRow| (row.lacking.is_empty(), row.quorums.is_empty());
    let rows = losses.iter().map(|loss| loss_row(loss, all));
    let (rows, left_out) = first_by(rows, all, ROWS_SHOWN, order);
    let names: Vec<String> = rows.iter().map(|row| one_line(row.name())).collect();
    let width = width(&names).max("lost".len());
    writeln!(out, "  {:width$}  hosts  assigned  result", "lost");
    for (row, name) in rows.iter().zip(names) {
        let LossRow { hosts, assigned, .. } = row;
        writeln!(out, "  {name:width$}  {hosts:>5}  {assigned:>8}  {}", result(row));
    }
    write_more(out, 2, left_out, "line", "; --all shows all")
}

impl LossRow {
    fn name(&self) -> &str {
        self.rack.as_deref().unwrap_or("no label")
    }
}

fn result(row: &LossRow) -> String {
    let replaced = match row.lacking.as_str() {
        "" => "every lost host can be replaced".to_owned(),
        lacking => styled(WARNING, lacking),
    };
    match row.quorums.as_str() {
        "" => replaced,
        quorums => {
            format!("{}; {replaced}", styled(ERROR, format_args!("quorum lost: {quorums}")))
        }
    }
}

/// Returns the tables of what fits, without empty ones.
fn tables(capacity: &Capacity, all: bool) -> Vec<CapacityTable> {
    let row = |fit: usize, is_proven: bool, name: String, lacks: String| {
        let proof = if is_proven { "" } else { "not proven: more may fit; " };
        CapacityRow { fit, name, lacks: format!("{proof}{lacks}") }
    };
    let clusters = capacity.clusters.iter().map(|it| {
        let lacks = lacks(&it.scarce, Some(&it.cluster), None);
        row(it.fit, it.is_proven, it.cluster.to_string(), lacks)
    });
    let sets = capacity.mix.iter().map(|mix| {
        let shares = mix.shares.iter().map(|it| format!("{} × {}", it.copies, it.cluster));
        row(mix.fit, mix.is_proven, joined(shares, " + "), lacks(&mix.scarce, None, None))
    });
    let node_sets = capacity.node_sets.iter().map(|it| {
        let lacks = lacks(&it.scarce, Some(&it.cluster), Some(&it.part));
        row(it.fit, it.is_proven, format!("{} {}", it.cluster, it.part), lacks)
    });
    let tables = [
        ("more clusters like", "cluster", clusters.collect::<Vec<_>>()),
        ("more sets of", "set", sets.collect()),
        ("more hosts for", "node set", node_sets.collect()),
    ];
    let tables = tables.into_iter().filter(|(.., rows)| !rows.is_empty());
    let shown = tables.map(|(title, column, rows)| {
        let (rows, more) = first_by(rows, all, ROWS_SHOWN, |row| row.fit);
        CapacityTable { title, column, rows, more }
    });
    shown.collect()
}

fn loss_row(loss: &Loss, all: bool) -> LossRow {
    let some = |names: Vec<String>| {
        let is_long = !all && names.len() > NAMES_SHOWN + 1;
        one_line(&abbreviated(&names, if is_long { NAMES_SHOWN } else { names.len() }))
    };
    let lost = loss.control_planes.iter().filter(|lost| !lost.quorum.is_kept());
    let lacking = loss.lacking.iter().map(|lacks| {
        let noun = if lacks.today > 0 { "more host" } else { "host" };
        let hosts = lower_bound(counted(lacks.more(), noun), lacks.may_lack_more);
        format!("{} {} lacks {hosts}", lacks.cluster, lacks.part)
    });
    LossRow {
        rack: loss.domain.clone(),
        hosts: loss.hosts,
        assigned: loss.assigned,
        quorums: some(lost.map(|lost| lost.cluster.to_string()).collect()),
        lacking: some(lacking.collect()),
    }
}

/// Returns the node sets to show. Copies of a cluster have its name.
fn shown_lacking(lacking: &[LackingNodeSet], all: bool) -> (Vec<&LackingNodeSet>, usize) {
    let mut lacking: Vec<&LackingNodeSet> = lacking.iter().collect();
    lacking.dedup();
    first_by(lacking, all, ROWS_SHOWN, |_| ())
}

/// Describes a node set that lacks hosts.
pub(super) fn lacking_words(lacks: &LackingNodeSet) -> String {
    let hosts = lower_bound(counted(lacks.hosts, "host"), lacks.may_lack_more);
    format!("{} {} lacks {hosts}: {}", lacks.cluster, lacks.part, lacks.why)
}

/// Describes the size of a purchase.
fn size(purchase: &Purchase) -> String {
    let Some(hosts) = purchase.hosts else {
        return "no purchase was found that changes this".to_owned();
    };
    let proof = match (purchase.is_minimal, purchase.kinds.len()) {
        (false, _) => "that fewer do not suffice is not proven",
        (true, 0 | 1) => "one less does not suffice",
        (true, _) => "one less of any kind does not suffice",
    };
    format!("{}; {proof}", counted(hosts, "host"))
}

/// Describes hosts to buy: `2 hosts in metal3: flavor=worker; rack: r3, a new one`.
fn bought(kind: &BoughtKind) -> String {
    let hosts = format!("{} in {}", counted(kind.hosts, "host"), kind.namespace);
    let labels = joined(kind.labels.iter().map(|(key, value)| format!("{key}={value}")), ",");
    let domains = kind.domains.iter().map(|(key, values)| {
        let new = match values.iter().filter(|known| known.is_none()).count() {
            0 => None,
            1 => Some("a new one".to_owned()),
            count => Some(format!("{count} new ones")),
        };
        format!("{key}: {}", joined(values.iter().flatten().chain(&new), ", "))
    });
    let details = [labels, kind.hardware.clone()].into_iter().chain(domains);
    let details: Vec<String> = details.filter(|words| !words.is_empty()).collect();
    let details = if details.is_empty() { "any labels".to_owned() } else { details.join("; ") };
    one_line(&format!("{hosts}: {details}"))
}

/// Describes what is scarce. The cluster and the part are named unless they are those of the row.
fn lacks(scarce: &[ScarceNodeSet], cluster: Option<&ClusterKey>, part: Option<&Part>) -> String {
    let reasons = scarce.iter().map(|scarce| {
        let is_of_row = cluster == Some(&scarce.cluster);
        match (is_of_row, part == Some(&scarce.part)) {
            (true, true) => scarce.why.clone(),
            (true, false) => format!("{}: {}", scarce.part, scarce.why),
            (false, _) => format!("{} {}: {}", scarce.cluster, scarce.part, scarce.why),
        }
    });
    one_line(&joined(reasons, "; "))
}
