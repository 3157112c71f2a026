//! A review as text: the dangers, then the changes cluster by cluster.

use super::phrases::{self, DiffLine};
use super::{
    ADDED, CHANGED, ERROR, REMOVED, ReportText, STRONG, one_line, plain, styled, write_heading,
};
use crate::ask::difference::Difference;
use crate::base::text::{abbreviated, joined};
use crate::review::effects::{ClusterReview, Danger, FileState, Review};

/// Line width in characters. Longer lists of names are wrapped.
const WIDTH: usize = 100;

/// Formats the changes, dangers first. The text is empty if the changes are unknown.
pub fn plan(difference: &Difference) -> ReportText {
    let mut out = ReportText::default();
    if let Some((_, review)) = &difference.known {
        write_dangers(&mut out, review.dangers.iter());
        if !out.is_empty() {
            writeln!(out);
        }
        write_changes(&mut out, review);
        if let Some(brought) = &difference.brought {
            write_heading(&mut out, phrases::BROUGHT);
            write_changes(&mut out, brought);
        }
    }
    out
}

fn write_changes(out: &mut ReportText, review: &Review) {
    for cluster in &review.clusters {
        let gone_or_new = match cluster.state {
            FileState::Changed => String::new(),
            state => format!(" {state}"),
        };
        let (name, kind) = (styled(STRONG, &cluster.cluster), phrases::kind(cluster.kind));
        write!(out, "{} {name}{kind}{gone_or_new}", sign(cluster.state));
        let lines = phrases::lines(cluster, &plain);
        if phrases::is_configuration_only(cluster, &lines) {
            lines.iter().for_each(|line| writeln!(out, ": {}", line.text));
        } else {
            writeln!(out);
            write_lines(out, &lines);
        }
    }
    let shared = phrases::shared(&review.shared, &plain);
    if !shared.is_empty() {
        writeln!(out, "{}", styled(STRONG, "outside of clusters"));
        write_lines(out, &shared);
    }
    if review.totals.files.all() == 0 {
        return writeln!(out, "no changes");
    }
    let totals = phrases::totals(&review.totals).into_iter();
    totals.for_each(|total| writeln!(out, "{}", styled(STRONG, total)))
}

/// Formats remarks on how a difference was made, one per line.
pub fn notes(difference: &Difference) -> ReportText {
    let mut out = ReportText::default();
    difference.notes.iter().for_each(|note| writeln!(out, "note: {}", one_line(note)));
    out
}

/// Writes the dangers of a review.
pub(super) fn write_dangers<'d>(out: &mut ReportText, dangers: impl Iterator<Item = &'d Danger>) {
    for danger in dangers {
        writeln!(out, "{} {}", styled(ERROR, "danger:"), one_line(&danger.message));
    }
}

fn write_lines(out: &mut ReportText, lines: &[DiffLine]) {
    for DiffLine { state, text } in lines {
        let mut wrapped = wrapped(text, ", ", WIDTH).into_iter();
        writeln!(out, "    {} {}", sign(*state), wrapped.next().unwrap_or_default());
        wrapped.for_each(|line| writeln!(out, "        {line}"));
    }
}

fn sign(state: FileState) -> String {
    match state {
        FileState::Created => styled(ADDED, '+'),
        FileState::Changed => styled(CHANGED, '~'),
        FileState::Deleted => styled(REMOVED, '-'),
    }
}

/// Wraps a text behind separators, such as the commas of a list.
pub(super) fn wrapped(text: &str, separator: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive(separator) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() <= width + 1 => {
                line.push_str(part)
            }
            _ => lines.push(part.to_owned()),
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Summarizes a cluster's changes in one sentence with at most `most` host names per change, or
/// returns `None` if nothing is worth it.
pub(super) fn sentence(cluster: &ClusterReview, most: usize) -> Option<String> {
    let deleted = (cluster.state == FileState::Deleted).then(|| "is deleted".to_owned());
    let hosts = phrases::host_deeds(&cluster.hosts);
    let hosts = hosts.iter().filter(|(_, hosts)| !hosts.is_empty());
    let deeds = hosts.map(|(verb, hosts)| format!("{verb} {}", abbreviated(hosts, most)));
    let parts = joined(deleted.into_iter().chain(deeds), "; ");
    (!parts.is_empty()).then(|| format!("{} {parts}", styled(STRONG, &cluster.cluster)))
}
