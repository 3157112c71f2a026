//! The capacity of a site as text.

use super::{
    CapacityRow, LossRow, harmful_others, loss_rows, shown_lacking, shown_losses, shown_rows,
    tables,
};
use crate::ask::capacity::{Capacity, LackingNodeSet, Loss};
use crate::base::text::{counted, lower_bound};
use crate::plan::purchase::Purchase;
use crate::report::{ERROR, ReportText, STRONG, WARNING, one_line, styled};

/// Formats the capacity of a site. Unless `all` is set, equal rows are one, and long tables have
/// their scarcest rows only.
pub fn capacity(capacity: &Capacity, all: bool) -> ReportText {
    let mut out = ReportText::default();
    let mut is_first = true;
    for table in tables(capacity) {
        begin(&mut out, &mut is_first, table.title);
        write_rows(&mut out, table.column, &table.rows, all);
    }
    if !capacity.lacking.is_empty() {
        begin(&mut out, &mut is_first, "cannot be served");
        write_lacking(&mut out, &capacity.lacking, all);
    }
    if let Some(purchase) = &capacity.purchase {
        begin(&mut out, &mut is_first, "to buy");
        write_purchase(&mut out, purchase);
    }
    if let Some(label) = &capacity.by {
        let title = format!("if all hosts of one {} are lost", one_line(label));
        begin(&mut out, &mut is_first, &title);
        write_losses(&mut out, &capacity.losses, all);
    }
    out
}

/// Writes the title of a table, behind an empty line unless it is the first.
fn begin(out: &mut ReportText, is_first: &mut bool, title: &str) {
    if !std::mem::take(is_first) {
        writeln!(out);
    }
    writeln!(out, "{}", styled(STRONG, title))
}

fn write_rows(out: &mut ReportText, column: &str, rows: &[CapacityRow], all: bool) {
    let (rows, left_out) = shown_rows(rows, all);
    let name = |(row, others): &(&CapacityRow, usize)| with_others(one_line(&row.name), *others);
    let width = width(column, rows.iter().map(name));
    writeln!(out, "   fit  {column:width$}  one more lacks");
    for row in &rows {
        let fit = format!("{:>4}", row.0.fit);
        let fit = if row.0.fit == 0 { styled(WARNING, fit) } else { fit };
        writeln!(out, "  {fit}  {:width$}  {}", name(row), row.0.lacks);
    }
    write_left_out(out, left_out)
}

pub(in crate::report) fn write_lacking(
    out: &mut ReportText,
    lacking: &[LackingNodeSet],
    all: bool,
) {
    let (shown, left_out) = shown_lacking(lacking, all);
    for lacks in shown {
        let hosts = lower_bound(counted(lacks.hosts, "host"), lacks.may_lack_more);
        let name = one_line(&format!("{} {}", lacks.cluster, lacks.part));
        let hosts = styled(WARNING, format_args!("lacks {hosts}"));
        writeln!(out, "  {name} {hosts}: {}", one_line(&lacks.why));
    }
    write_left_out(out, left_out)
}

/// Writes a purchase without its title.
pub(in crate::report) fn write_purchase(out: &mut ReportText, purchase: &Purchase) {
    writeln!(out, "  {}", super::size(purchase));
    purchase.kinds.iter().for_each(|kind| writeln!(out, "    {}", super::bought(kind)))
}

/// Writes the loss that does most harm, and counts the others that do harm.
pub(in crate::report) fn write_worst_loss(out: &mut ReportText, capacity: &Capacity) {
    let Some(worst) = capacity.worst_loss() else {
        return writeln!(out, "  every lost host can be replaced");
    };
    for row in loss_rows(std::slice::from_ref(worst), false) {
        let (name, result) = (one_line(&row.name), result(&row));
        writeln!(out, "  the worst is {name}: {result}");
    }
    if let Some(others) = harmful_others(capacity) {
        writeln!(out, "  {others}");
    }
}

fn write_losses(out: &mut ReportText, losses: &[Loss], all: bool) {
    let rows = loss_rows(losses, all);
    let (rows, left_out) = shown_losses(&rows, all);
    let name = |(row, others): &(&LossRow<'_>, usize)| with_others(one_line(&row.name), *others);
    let width = width("lost", rows.iter().map(name));
    writeln!(out, "  {:width$}  hosts  assigned  result", "lost");
    for row in &rows {
        let Loss { hosts, assigned, .. } = row.0.loss;
        let (name, result) = (name(row), result(row.0));
        writeln!(out, "  {name:width$}  {hosts:>5}  {assigned:>8}  {result}");
    }
    write_left_out(out, left_out)
}

fn result(row: &LossRow<'_>) -> String {
    let mut parts = Vec::new();
    if !row.quorums.is_empty() {
        parts.push(styled(ERROR, format_args!("quorum lost: {}", row.quorums)));
    }
    if row.lacking.is_empty() {
        parts.push("every lost host can be replaced".to_owned());
    } else {
        parts.push(styled(WARNING, &row.lacking));
    }
    parts.join("; ")
}

fn width(column: &str, names: impl Iterator<Item = String>) -> usize {
    let widths = names.map(|name| name.chars().count());
    widths.max().unwrap_or_default().max(column.len())
}

fn with_others(name: String, others: usize) -> String {
    if others == 0 { name } else { format!("{name} and {others} more") }
}

fn write_left_out(out: &mut ReportText, rows: usize) {
    if rows == 0 {
        return;
    }
    let rows = counted(rows, "more line");
    writeln!(out, "  … and {rows}; --all shows all")
}
