//! The capacity of a site, as text and for pages. This module has the words and the choice of rows
//! of both.

mod text;

use std::hash::Hash;

use serde::Serialize;

use super::{first_by, one_line};
use crate::ask::capacity::{Capacity, LackingNodeSet, Loss, ScarceNodeSet};
use crate::base::api::names::{ClusterKey, Part};
use crate::base::grouping::grouped_in_order;
use crate::base::text::{abbreviated, counted, lower_bound};
use crate::plan::purchase::{BoughtKind, Purchase};

pub use text::capacity;
pub(super) use text::{write_lacking, write_purchase, write_worst_loss};

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
    rows: Vec<ShownRow<CapacityRow>>,
    /// Number of rows that are left out.
    more: usize,
}

/// A row of a table, which stands for equal ones.
#[derive(Debug, Serialize)]
struct ShownRow<T> {
    #[serde(flatten)]
    row: T,
    /// Number of equal rows.
    others: usize,
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
            losses: loss_rows(&capacity.losses, false),
        }
    }
}

/// Returns the tables of what fits, without empty ones.
fn tables(capacity: &Capacity, all: bool) -> Vec<CapacityTable> {
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
    .into_iter();
    let tables = tables.filter(|(.., rows): &(_, _, Vec<CapacityRow>)| !rows.is_empty());
    let shown = tables.map(|(title, column, rows)| {
        let key = |row: &CapacityRow| (row.fit, row.lacks.clone());
        let (rows, more) = shown_rows(rows, all, key, |row| row.fit);
        CapacityTable { title, column, rows, more }
    });
    shown.collect()
}

/// Says that more may fit, unless it is proven that they do not.
fn with_proof(is_proven: bool, lacks: String) -> String {
    if is_proven { lacks } else { format!("not proven: more may fit; {lacks}") }
}

fn loss_rows(losses: &[Loss], all: bool) -> Vec<LossRow> {
    let row = |loss: &Loss| {
        let lost = loss.control_planes.iter();
        let lost = lost.filter(|lost| !lost.quorum.is_kept());
        let lost: Vec<String> = lost.map(|lost| lost.cluster.to_string()).collect();
        let lacking = loss.lacking.iter().map(|lacks| {
            let noun = if lacks.today > 0 { "more host" } else { "host" };
            let hosts = lower_bound(counted(lacks.more(), noun), lacks.may_lack_more);
            format!("{} {} lacks {hosts}", lacks.cluster, lacks.part)
        });
        LossRow {
            rack: loss.domain.clone(),
            hosts: loss.hosts,
            assigned: loss.assigned,
            quorums: some(&lost, all),
            lacking: some(&lacking.collect::<Vec<_>>(), all),
        }
    };
    losses.iter().map(row).collect()
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
    let less = if purchase.kinds.len() > 1 {
        "one less of any kind does not suffice"
    } else {
        "one less does not suffice"
    };
    match (purchase.hosts, purchase.is_minimal) {
        (None, _) => "no purchase was found that changes this".to_owned(),
        (Some(hosts), true) => format!("{}; {less}", counted(hosts, "host")),
        (Some(hosts), false) => {
            format!("{}; that fewer do not suffice is not proven", counted(hosts, "host"))
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

/// Returns the rows to show, and the number of others. Unless `all` are wanted, a long table has one
/// of equal rows, and those that come first by `order`.
fn shown_rows<T, K: Eq + Hash + Clone, O: Ord>(
    rows: Vec<T>,
    all: bool,
    key: impl Fn(&T) -> K,
    order: impl Fn(&T) -> O,
) -> (Vec<ShownRow<T>>, usize) {
    if all || rows.len() <= ROWS_SHOWN {
        let rows = rows.into_iter().map(|row| ShownRow { row, others: 0 });
        return (rows.collect(), 0);
    }
    let equal = grouped_in_order(rows.into_iter().map(|row| (key(&row), row))).into_iter();
    let groups = equal.filter_map(|(_, rows)| {
        let others = rows.len() - 1;
        Some(ShownRow { row: rows.into_iter().next()?, others })
    });
    first_by(groups, false, ROWS_SHOWN, |group| order(&group.row))
}

fn some(names: &[String], all: bool) -> String {
    let shown = if all || names.len() <= NAMES_SHOWN + 1 { names.len() } else { NAMES_SHOWN };
    one_line(&abbreviated(names, shown))
}
