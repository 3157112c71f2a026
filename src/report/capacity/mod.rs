//! The capacity of a site, as text and for pages. This module has the words and the choice of rows
//! of both.

mod text;

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;

use super::one_line;
use crate::ask::capacity::{Capacity, LackingNodeSet, Loss, ScarceNodeSet};
use crate::base::api::names::{ClusterKey, Part};
use crate::base::text::{abbreviated, counted, lower_bound};
use crate::plan::purchase::{BoughtKind, Purchase};

pub use text::capacity;
pub(super) use text::{write_lacking, write_purchase, write_worst_loss};

/// Maximum number of rows of a table, unless all are wanted.
const ROWS_SHOWN: usize = 20;
/// Maximum number of clusters or node sets in the result of a loss, unless all are wanted.
const NAMES_SHOWN: usize = 4;

/// A table of what fits.
struct CapacityTable {
    title: &'static str,
    /// Heading of the column of names.
    column: &'static str,
    rows: Vec<CapacityRow>,
}

/// A row about what fits.
#[derive(Debug, Clone, Serialize)]
struct CapacityRow {
    fit: usize,
    name: String,
    lacks: String,
}

/// The capacity in words, for pages.
#[derive(Debug, Serialize)]
pub(super) struct CapacityWords {
    tables: Vec<PageTable>,
    lacking: Vec<String>,
    /// The size of the purchase.
    purchase: Option<String>,
    /// Its hosts by kind.
    kinds: Vec<String>,
    by: Option<String>,
    losses: Vec<PageLoss>,
}

#[derive(Debug, Serialize)]
struct PageTable {
    title: &'static str,
    column: &'static str,
    rows: Vec<PageRow>,
    /// Number of rows that are left out.
    more: usize,
}

#[derive(Debug, Serialize)]
struct PageRow {
    #[serde(flatten)]
    row: CapacityRow,
    /// Number of equal rows.
    others: usize,
}

#[derive(Debug, Serialize)]
struct PageLoss {
    rack: Option<String>,
    hosts: usize,
    assigned: usize,
    quorums: String,
    lacking: String,
}

impl CapacityWords {
    pub(super) fn new(capacity: &Capacity) -> Self {
        let tables = tables(capacity).into_iter().map(|table| {
            let (rows, more) = shown_rows(&table.rows, false);
            let rows = rows.into_iter().map(|(row, others)| PageRow { row: row.clone(), others });
            PageTable { title: table.title, column: table.column, rows: rows.collect(), more }
        });
        let (lacking, _) = shown_lacking(&capacity.lacking, false);
        let lacking = lacking.into_iter().map(|lacks| {
            let hosts = lower_bound(counted(lacks.hosts, "host"), lacks.may_lack_more);
            let (cluster, part, why) = (&lacks.cluster, &lacks.part, &lacks.why);
            format!("{cluster} {part} lacks {hosts}: {why}")
        });
        let kinds = capacity.purchase.iter().flat_map(|it| &it.kinds);
        let losses = loss_rows(&capacity.losses, false).into_iter().map(|row| PageLoss {
            rack: row.loss.domain.clone(),
            hosts: row.loss.hosts,
            assigned: row.loss.assigned,
            quorums: row.quorums,
            lacking: row.lacking,
        });
        Self {
            tables: tables.collect(),
            lacking: lacking.collect(),
            purchase: capacity.purchase.as_ref().map(size),
            kinds: kinds.map(bought).collect(),
            by: capacity.by.clone(),
            losses: losses.collect(),
        }
    }
}

/// A row about a loss.
struct LossRow<'l> {
    loss: &'l Loss,
    name: String,
    /// The control planes without a quorum.
    quorums: String,
    /// The node sets that cannot be completed.
    lacking: String,
}

/// Rows of a table, each with the number of equal ones, and the number of rows that are left out.
type ShownRows<'r, T> = (Vec<(&'r T, usize)>, usize);

/// Returns the tables of what fits, without empty ones.
fn tables(capacity: &Capacity) -> Vec<CapacityTable> {
    let clusters = capacity.clusters.iter().map(|row| CapacityRow {
        fit: row.fit,
        name: row.cluster.to_string(),
        lacks: with_proof(row.is_proven, lacks(&row.scarce, Some(&row.cluster), None)),
    });
    let sets = capacity.mix.iter().map(|mix| {
        let shares = mix.shares.iter();
        let shares = shares.map(|share| format!("{} × {}", share.copies, share.cluster));
        CapacityRow {
            fit: mix.fit,
            name: shares.collect::<Vec<_>>().join(" + "),
            lacks: with_proof(mix.is_proven, lacks(&mix.scarce, None, None)),
        }
    });
    let node_sets = capacity.node_sets.iter().map(|row| CapacityRow {
        fit: row.fit,
        name: format!("{} {}", row.cluster, row.part),
        lacks: with_proof(row.is_proven, lacks(&row.scarce, Some(&row.cluster), Some(&row.part))),
    });
    let tables = [
        ("more clusters like", "cluster", clusters.collect()),
        ("more sets of", "set", sets.collect()),
        ("more hosts for", "node set", node_sets.collect()),
    ]
    .map(|(title, column, rows): (_, _, Vec<CapacityRow>)| CapacityTable { title, column, rows })
    .into_iter();
    tables.filter(|table| !table.rows.is_empty()).collect()
}

/// Says that more may fit, unless it is proven that they do not.
fn with_proof(is_proven: bool, lacks: String) -> String {
    if is_proven { lacks } else { format!("not proven: more may fit; {lacks}") }
}

/// Returns the rows of a table to show: the scarcest.
fn shown_rows(rows: &[CapacityRow], all: bool) -> ShownRows<'_, CapacityRow> {
    let all = all || rows.len() <= ROWS_SHOWN;
    let rows = grouped(rows, all, |row| (row.fit, &row.lacks));
    scarcest(rows, all, |(row, _)| row.fit)
}

fn loss_rows(losses: &[Loss], all: bool) -> Vec<LossRow<'_>> {
    let row = |loss: &'_ Loss| {
        let lost = loss.control_planes.iter();
        let lost = lost.filter(|lost| !lost.quorum.is_kept());
        let lost: Vec<String> = lost.map(|lost| lost.cluster.to_string()).collect();
        let lacking = loss.lacking.iter().map(|lacks| {
            let noun = if lacks.today > 0 { "more host" } else { "host" };
            let hosts = lower_bound(counted(lacks.more(), noun), lacks.may_lack_more);
            format!("{} {} lacks {hosts}", lacks.cluster, lacks.part)
        });
        (some(&lost, all), some(&lacking.collect::<Vec<_>>(), all))
    };
    let row = |loss| {
        let (quorums, lacking) = row(loss);
        let name = loss.domain.clone();
        LossRow { loss, name: name.unwrap_or_else(|| "no label".to_owned()), quorums, lacking }
    };
    losses.iter().map(row).collect()
}

/// Counts the losses that do harm besides the worst one, if any do.
fn harmful_others(capacity: &Capacity) -> Option<String> {
    let losses = &capacity.losses;
    let harmful = losses.iter().filter(|loss| loss.is_harmful()).count();
    (harmful > 1).then(|| {
        let (harmful, others) = (harmful - 1, losses.len() - 1);
        format!("{harmful} of {others} others do harm as well: `sipgen capacity`")
    })
}

/// Returns the losses to show: the worst.
fn shown_losses<'r>(rows: &'r [LossRow<'r>], all: bool) -> ShownRows<'r, LossRow<'r>> {
    let all = all || rows.len() <= ROWS_SHOWN;
    let alike = |row: &'r LossRow<'r>| {
        let loss = row.loss;
        (loss.hosts, loss.assigned, &row.quorums, &row.lacking)
    };
    let rows = grouped(rows, all, alike);
    scarcest(rows, all, |(row, _)| (row.loss.is_absorbed(), row.quorums.is_empty()))
}

/// Returns the node sets to show. Copies of a cluster have its name.
fn shown_lacking(lacking: &[LackingNodeSet], all: bool) -> (Vec<&LackingNodeSet>, usize) {
    let mut lacking: Vec<&LackingNodeSet> = lacking.iter().collect();
    lacking.dedup();
    let shown = if all { lacking.len() } else { ROWS_SHOWN };
    let left_out = lacking.len().saturating_sub(shown);
    lacking.truncate(shown);
    (lacking, left_out)
}

/// Describes the size of a purchase.
fn size(purchase: &Purchase) -> String {
    let less = if purchase.kinds.len() > 1 {
        "one less of any kind does not suffice"
    } else {
        "one less does not suffice"
    };
    match (purchase.hosts, purchase.is_minimal) {
        (None, _) => "no purchase was found that changes this".to_owned(),
        (Some(hosts), true) => format!("{}; {less}", counted(hosts, "host")),
        (Some(hosts), false) => {
            format!("{}; the search for fewer ended at its limit of steps", counted(hosts, "host"))
        }
    }
}

/// Describes hosts to buy: `2 hosts in metal3: flavor=worker; rack: r3, a new one`.
fn bought(kind: &BoughtKind) -> String {
    let hosts = format!("{} in {}", counted(kind.hosts, "host"), kind.namespace);
    let labels: Vec<String> =
        kind.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels = Some(labels.join(",")).filter(|labels| !labels.is_empty());
    let domains = kind.domains.iter().map(|(key, values)| {
        let known: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
        let new = match values.len() - known.len() {
            0 => None,
            1 => Some("a new one".to_owned()),
            count => Some(format!("{count} new ones")),
        };
        let all: Vec<&str> = known.into_iter().chain(new.as_deref()).collect();
        format!("{key}: {}", all.join(", "))
    });
    let hardware = Some(kind.hardware.clone()).filter(|words| !words.is_empty());
    let details: Vec<String> = labels.into_iter().chain(hardware).chain(domains).collect();
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
    one_line(&reasons.collect::<Vec<_>>().join("; "))
}

/// Returns the first of equal rows, each with the number of the others. With `all`, no row stands
/// for others.
fn grouped<'r, T, K: Eq + Hash>(
    rows: &'r [T],
    all: bool,
    value: impl Fn(&'r T) -> K,
) -> Vec<(&'r T, usize)> {
    let mut groups: Vec<(&T, usize)> = Vec::new();
    let mut known: HashMap<K, usize> = HashMap::new();
    for row in rows {
        let next = groups.len();
        let at = if all { next } else { *known.entry(value(row)).or_insert(next) };
        match groups.get_mut(at) {
            Some((_, others)) => *others += 1,
            None => groups.push((row, 0)),
        }
    }
    groups
}

/// Returns the rows with the lowest values, in their order, and the number of others.
fn scarcest<T, K: Ord>(rows: Vec<T>, all: bool, value: impl Fn(&T) -> K) -> (Vec<T>, usize) {
    if all || rows.len() <= ROWS_SHOWN {
        return (rows, 0);
    }
    let left_out = rows.len() - ROWS_SHOWN;
    let mut shown: Vec<(usize, T)> = rows.into_iter().enumerate().collect();
    shown.sort_by_key(|(_, row)| value(row));
    shown.truncate(ROWS_SHOWN);
    shown.sort_by_key(|(at, _)| *at);
    (shown.into_iter().map(|(_, row)| row).collect(), left_out)
}

fn some(names: &[String], all: bool) -> String {
    let shown = if all || names.len() <= NAMES_SHOWN + 1 { names.len() } else { NAMES_SHOWN };
    one_line(&abbreviated(names, shown))
}
