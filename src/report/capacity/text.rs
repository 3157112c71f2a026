//! The capacity of a site as text.

use super::{CapacityTable, LossRow, ROWS_SHOWN, lacking_words, loss_rows, shown_lacking, tables};
use crate::ask::capacity::{Capacity, LackingNodeSet, Loss};
use crate::plan::purchase::Purchase;
use crate::report::{
    ERROR, ReportText, STRONG, WARNING, first_by, one_line, styled, width, write_more,
};

/// Formats the capacity of a site. Unless `all` is set, long tables have their scarcest rows only.
pub fn capacity(capacity: &Capacity, all: bool) -> ReportText {
    let mut out = ReportText::default();
    for table in tables(capacity, all) {
        begin(&mut out, table.title);
        write_table(&mut out, &table);
    }
    if !capacity.lacking.is_empty() {
        begin(&mut out, "cannot be served");
        write_lacking(&mut out, &capacity.lacking, all);
    }
    if let Some(purchase) = &capacity.purchase {
        begin(&mut out, "to buy");
        write_purchase(&mut out, purchase);
    }
    if let Some(label) = &capacity.by {
        begin(&mut out, &format!("if all hosts of one {} are lost", one_line(label)));
        write_losses(&mut out, &capacity.losses, all);
    }
    out
}

/// Writes the title of a table, behind an empty line unless it is the first.
fn begin(out: &mut ReportText, title: &str) {
    if !out.is_empty() {
        writeln!(out);
    }
    writeln!(out, "{}", styled(STRONG, title))
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

pub(in crate::report) fn write_lacking(
    out: &mut ReportText,
    lacking: &[LackingNodeSet],
    all: bool,
) {
    let (shown, left_out) = shown_lacking(lacking, all);
    for lacks in shown {
        writeln!(out, "  {}", one_line(&lacking_words(lacks)));
    }
    write_more(out, 2, left_out, "line", "; --all shows all")
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
        writeln!(out, "  the worst is {}: {}", one_line(row.name()), result(&row));
    }
    let harmful = capacity.losses.iter().filter(|loss| loss.is_harmful()).count();
    if harmful > 1 {
        let (harmful, others) = (harmful - 1, capacity.losses.len() - 1);
        writeln!(out, "  {harmful} of {others} others do harm as well: `sipgen capacity`");
    }
}

fn write_losses(out: &mut ReportText, losses: &[Loss], all: bool) {
    let order = |row: &LossRow| (row.lacking.is_empty(), row.quorums.is_empty());
    let (rows, left_out) = first_by(loss_rows(losses, all), all, ROWS_SHOWN, order);
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
