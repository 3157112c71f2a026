//! The capacity of a site as text.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use super::{ERROR, STRONG, Text, WARNING, one_line, styled};
use crate::api::names::{ClusterKey, Part};
use crate::capacity::{Capacity, Lacks, Loss, Scarce};
use crate::plan::purchase::{BoughtKind, Purchase};
use crate::text::counted;

/// Maximum number of lines of a table, unless all are wanted.
const ROWS_SHOWN: usize = 20;
/// Maximum number of clusters or node sets in the result of a loss, unless all are wanted.
const NAMES_SHOWN: usize = 4;

/// A line about what fits.
struct Row {
    fit: usize,
    name: String,
    lacks: String,
}

/// Formats the capacity of a site. Unless `all` is set, equal rows are one, and long tables have
/// their scarcest rows only.
pub fn capacity(capacity: &Capacity, all: bool) -> Text {
    let mut out = Text::default();
    // Writing to a `Text` cannot fail.
    let _ = write_capacity(&mut out, capacity, all);
    out
}

fn write_capacity(out: &mut Text, capacity: &Capacity, all: bool) -> fmt::Result {
    let clusters = capacity.clusters.iter().map(|row| Row {
        fit: row.fit,
        name: row.cluster.to_string(),
        lacks: lacks(&row.scarce, Some(&row.cluster), None),
    });
    let sets = capacity.mix.iter().map(|mix| {
        let shares = mix.shares.iter();
        let shares = shares.map(|share| format!("{} × {}", share.copies, share.cluster));
        Row {
            fit: mix.fit,
            name: shares.collect::<Vec<_>>().join(" + "),
            lacks: lacks(&mix.scarce, None, None),
        }
    });
    let node_sets = capacity.node_sets.iter().map(|row| Row {
        fit: row.fit,
        name: format!("{} {}", row.cluster, row.part),
        lacks: lacks(&row.scarce, Some(&row.cluster), Some(&row.part)),
    });
    let mut is_first = true;
    for (title, column, rows) in [
        ("more clusters like", "cluster", clusters.collect()),
        ("more sets of", "set", sets.collect()),
        (
            "more hosts for",
            "node set",
            node_sets.collect::<Vec<Row>>(),
        ),
    ] {
        if !rows.is_empty() {
            begin(out, &mut is_first, title)?;
            write_rows(out, column, &rows, all)?;
        }
    }
    if !capacity.lacking.is_empty() {
        begin(out, &mut is_first, "cannot be served")?;
        write_lacking(out, &capacity.lacking, all)?;
    }
    if let Some(purchase) = &capacity.purchase {
        begin(out, &mut is_first, "to buy")?;
        write_purchase(out, purchase)?;
    }
    if let Some(label) = &capacity.lost_by {
        let title = format!("if all hosts of one {} are lost", one_line(label));
        begin(out, &mut is_first, &title)?;
        write_losses(out, &capacity.losses, all)?;
    }
    Ok(())
}

/// Writes the title of a table, behind an empty line unless it is the first.
fn begin(out: &mut Text, is_first: &mut bool, title: &str) -> fmt::Result {
    if !std::mem::take(is_first) {
        writeln!(out)?;
    }
    writeln!(out, "{}", styled(STRONG, title))
}

fn write_rows(out: &mut Text, column: &str, rows: &[Row], all: bool) -> fmt::Result {
    let all = all || rows.len() <= ROWS_SHOWN;
    let rows = grouped(rows, all, |row| (row.fit, &row.lacks));
    let (rows, left_out) = scarcest(rows, all, |(row, _)| row.fit);
    let name = |(row, others): &(&Row, usize)| with_others(one_line(&row.name), *others);
    let width = width(column, rows.iter().map(name));
    writeln!(out, "   fit  {column:width$}  one more lacks")?;
    for row in &rows {
        let fit = format!("{:>4}", row.0.fit);
        let fit = if row.0.fit == 0 {
            styled(WARNING, fit)
        } else {
            fit
        };
        writeln!(out, "  {fit}  {:width$}  {}", name(row), row.0.lacks)?;
    }
    write_left_out(out, left_out)
}

fn write_lacking(out: &mut Text, lacking: &[Lacks], all: bool) -> fmt::Result {
    // Copies of a cluster have its name.
    let mut lacking: Vec<&Lacks> = lacking.iter().collect();
    lacking.dedup();
    let shown = if all { lacking.len() } else { ROWS_SHOWN };
    for lacks in lacking.iter().take(shown) {
        let hosts = counted(lacks.hosts, "host");
        let name = one_line(&format!("{} {}", lacks.cluster, lacks.part));
        let hosts = styled(WARNING, format_args!("lacks {hosts}"));
        writeln!(out, "  {name} {hosts}: {}", one_line(&lacks.why))?;
    }
    write_left_out(out, lacking.len().saturating_sub(shown))
}

fn write_purchase(out: &mut Text, purchase: &Purchase) -> fmt::Result {
    let Some(hosts) = purchase.hosts else {
        return writeln!(out, "  no host that can be bought changes this");
    };
    let hosts = counted(hosts, "host");
    if purchase.is_smallest {
        writeln!(out, "  {hosts}; fewer do not suffice")?;
    } else {
        writeln!(
            out,
            "  {hosts}; the search for fewer ended at its limit of steps"
        )?;
    }
    for (number, choice) in purchase.choices.iter().enumerate() {
        if number > 0 {
            writeln!(out, "  or")?;
        }
        for kind in choice {
            writeln!(out, "    {}", bought(kind))?;
        }
    }
    Ok(())
}

/// Formats hosts to buy: `2 hosts in metal3: flavor=worker; rack: r3, a new one`.
fn bought(kind: &BoughtKind) -> String {
    let hosts = format!("{} in {}", counted(kind.hosts, "host"), kind.namespace);
    let labels = kind.labels.iter();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let is_any = labels.is_empty() && kind.domains.is_empty();
    let any = is_any.then(|| "any labels".to_owned());
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
    let details: Vec<String> = any.into_iter().chain(labels).chain(domains).collect();
    one_line(&format!("{hosts}: {}", details.join("; ")))
}

fn write_losses(out: &mut Text, losses: &[Loss], all: bool) -> fmt::Result {
    let keeps_quorums = |loss: &Loss| loss.control_planes.iter().all(|it| it.quorum.is_kept());
    let results: Vec<(&Loss, String)> = losses
        .iter()
        .map(|loss| (loss, result(loss, all)))
        .collect();
    let all = all || losses.len() <= ROWS_SHOWN;
    let rows = grouped(&results, all, |(loss, result)| {
        (loss.hosts, loss.assigned, result)
    });
    let (rows, left_out) = scarcest(rows, all, |((loss, _), _)| {
        (loss.is_absorbed(), keeps_quorums(loss))
    });
    let name = |((loss, _), others): &(&(&Loss, String), usize)| {
        let domain = loss.domain.as_deref();
        let domain = domain.map_or_else(|| "no label".to_owned(), one_line);
        with_others(domain, *others)
    };
    let width = width("lost", rows.iter().map(name));
    writeln!(out, "  {:width$}  hosts  assigned  result", "lost")?;
    for row in &rows {
        let (
            (
                Loss {
                    hosts, assigned, ..
                },
                result,
            ),
            _,
        ) = row;
        writeln!(
            out,
            "  {:width$}  {hosts:>5}  {assigned:>8}  {result}",
            name(row)
        )?;
    }
    write_left_out(out, left_out)
}

fn width(column: &str, names: impl Iterator<Item = String>) -> usize {
    let widths = names.map(|name| name.chars().count());
    widths.max().unwrap_or_default().max(column.len())
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
        let at = if all {
            next
        } else {
            *known.entry(value(row)).or_insert(next)
        };
        match groups.get_mut(at) {
            Some((_, others)) => *others += 1,
            None => groups.push((row, 0)),
        }
    }
    groups
}

fn with_others(name: String, others: usize) -> String {
    if others == 0 {
        name
    } else {
        format!("{name} and {others} more")
    }
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

fn write_left_out(out: &mut Text, rows: usize) -> fmt::Result {
    if rows == 0 {
        return Ok(());
    }
    let rows = counted(rows, "more line");
    writeln!(out, "  … and {rows}; --all shows all")
}

/// Formats what is scarce. The cluster and the part are named unless they are those of the row.
fn lacks(scarce: &[Scarce], cluster: Option<&ClusterKey>, part: Option<&Part>) -> String {
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

fn result(loss: &Loss, all: bool) -> String {
    let mut parts = Vec::new();
    let lost = loss.control_planes.iter();
    let lost: Vec<String> = lost
        .filter(|lost| !lost.quorum.is_kept())
        .map(|lost| one_line(&lost.cluster.to_string()))
        .collect();
    if !lost.is_empty() {
        let text = format!("quorum lost: {}", some(lost, all));
        parts.push(styled(ERROR, text));
    }
    let lacking = loss.lacking.iter().map(|lacks| {
        let hosts = counted(lacks.hosts, "host");
        one_line(&format!("{} {} lacks {hosts}", lacks.cluster, lacks.part))
    });
    let lacking: Vec<String> = lacking.collect();
    if lacking.is_empty() {
        parts.push("every lost host can be replaced".to_owned());
    } else {
        parts.push(styled(WARNING, some(lacking, all)));
    }
    parts.join("; ")
}

fn some(mut names: Vec<String>, all: bool) -> String {
    let more = names.len().saturating_sub(NAMES_SHOWN);
    if !all && more > 1 {
        names.truncate(NAMES_SHOWN);
        return format!("{} and {more} more", names.join(", "));
    }
    names.join(", ")
}
