//! The capacity of a site as Markdown.

use std::fmt::{self, Write};

use super::{harmful_others, loss_rows, shown_lacking, shown_losses, shown_rows, tables};
use crate::ask::capacity::{Capacity, LackingNodeSet};
use crate::base::text::{counted, lower_bound};
use crate::plan::purchase::Purchase;
use crate::report::ReportText;
use crate::report::markdown::{cell, code};

/// Formats the capacity of a site as [`capacity`](super::capacity) does, as Markdown.
pub fn capacity_as_markdown(capacity: &Capacity, all: bool) -> ReportText {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_markdown(&mut out, capacity, all);
    out.trim_start().to_owned().into()
}

/// Writes sections with tables, each behind an empty line.
fn write_markdown(out: &mut String, capacity: &Capacity, all: bool) -> fmt::Result {
    for table in tables(capacity) {
        let (rows, left_out) = shown_rows(&table.rows, all);
        writeln!(out, "\n### {}\n", capitalized(table.title))?;
        writeln!(out, "| fit | {} | one more lacks |", table.column)?;
        writeln!(out, "| ---: | --- | --- |")?;
        for (row, others) in rows {
            let name = with_others(&row.name, others);
            writeln!(out, "| {} | {name} | {} |", row.fit, cell(&row.lacks))?;
        }
        write_left_out(out, left_out)?;
    }
    if !capacity.lacking.is_empty() {
        writeln!(out, "\n### Cannot be served\n")?;
        write_lacking_as_markdown(out, &capacity.lacking, all)?;
    }
    if let Some(purchase) = &capacity.purchase {
        writeln!(out, "\n### To buy\n")?;
        write_purchase_as_markdown(out, purchase)?;
    }
    let Some(label) = &capacity.by else {
        return Ok(());
    };
    writeln!(out, "\n### If all hosts of one {} are lost\n", code(label))?;
    writeln!(out, "| lost | hosts | assigned | quorum lost | cannot be replaced |")?;
    writeln!(out, "| --- | ---: | ---: | --- | --- |")?;
    let rows = loss_rows(&capacity.losses, all);
    let (rows, left_out) = shown_losses(&rows, all);
    for (row, others) in rows {
        let (hosts, assigned) = (row.loss.hosts, row.loss.assigned);
        let (quorums, lacking) = (cell(&row.quorums), cell(&row.lacking));
        let name = with_others(&row.name, others);
        writeln!(out, "| {name} | {hosts} | {assigned} | {quorums} | {lacking} |")?;
    }
    write_left_out(out, left_out)
}

/// Writes node sets that lack hosts, without a title.
pub(in crate::report) fn write_lacking_as_markdown(
    out: &mut String,
    lacking: &[LackingNodeSet],
    all: bool,
) -> fmt::Result {
    let (shown, left_out) = shown_lacking(lacking, all);
    for lacks in shown {
        let (cluster, part) = (code(&lacks.cluster), code(&lacks.part));
        let (hosts, why) =
            (lower_bound(counted(lacks.hosts, "host"), lacks.may_lack_more), code(&lacks.why));
        writeln!(out, "- {cluster} {part} lacks {hosts}: {why}")?;
    }
    write_left_out(out, left_out)
}

/// Writes the loss that does most harm with its title, and counts the others that do harm.
pub(in crate::report) fn write_worst_loss_as_markdown(
    out: &mut String,
    capacity: &Capacity,
) -> fmt::Result {
    let Some(label) = &capacity.by else {
        return Ok(());
    };
    writeln!(out, "\n### If all hosts of one {} are lost\n", code(label))?;
    let Some(worst) = capacity.worst_loss() else {
        return writeln!(out, "Every lost host can be replaced.");
    };
    for row in loss_rows(std::slice::from_ref(worst), false) {
        writeln!(out, "The worst is {}:\n", code(&row.name))?;
        if !row.quorums.is_empty() {
            writeln!(out, "- quorum lost: {}", code(&row.quorums))?;
        }
        if !row.lacking.is_empty() {
            writeln!(out, "- {}", code(&row.lacking))?;
        }
    }
    match harmful_others(capacity) {
        Some(others) => writeln!(out, "\n{others}"),
        None => Ok(()),
    }
}

/// Writes a purchase without its title.
pub(in crate::report) fn write_purchase_as_markdown(
    out: &mut String,
    purchase: &Purchase,
) -> fmt::Result {
    writeln!(out, "{}", super::size(purchase))?;
    if !purchase.kinds.is_empty() {
        writeln!(out)?;
    }
    let mut kinds = purchase.kinds.iter();
    kinds.try_for_each(|kind| writeln!(out, "- {}", code(&super::bought(kind))))
}

fn with_others(name: &str, others: usize) -> String {
    match others {
        0 => cell(&name),
        others => format!("{} and {others} more", cell(&name)),
    }
}

/// Returns a title with a capital letter.
pub(in crate::report) fn capitalized(title: &str) -> String {
    let mut chars = title.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Counts the rows that a table leaves out.
pub(in crate::report) fn write_left_out(out: &mut String, rows: usize) -> fmt::Result {
    if rows == 0 {
        return Ok(());
    }
    writeln!(out, "\n… and {}; `--all` shows all", counted(rows, "more row"))
}
