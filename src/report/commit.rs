//! Commit messages of generated files.

use std::fmt;

use super::phrases::{self, DiffLine};
use super::plan::{plain, wrapped};
use super::totals::{self, ReportedAction};
use super::{ReportText, one_line};
use crate::base::text::counted;
use crate::review::effects::{ClusterReview, FileState, Review};

/// Maximum length of a subject in characters; forges cut longer ones.
const SUBJECT: usize = 72;
/// Line width of the body, in characters.
const WIDTH: usize = 68;
/// Maximum numbers of dangers, clusters, and lines of a cluster in a message.
const MAX_DANGERS: usize = 20;
const MAX_CLUSTERS: usize = 50;
const MAX_LINES: usize = 40;

/// Formats the commit message: a subject of at most 72 characters, a blank line, and the plan as
/// the body.
///
/// No line of the body looks like a trailer.
pub fn commit_message(review: &Review) -> String {
    let mut out = ReportText::default();
    // Writing to a `ReportText` cannot fail.
    let _ = writeln!(out, "{}", subject(review));
    let _ = writeln!(out);
    let _ = write_body(&mut out, review);
    out.to_string()
}

/// Formats the commit message for several sites, with a part for each changed site.
pub fn commit_message_of_sites(reviews: &[(&str, Review)]) -> String {
    let changed: Vec<&(&str, Review)> =
        reviews.iter().filter(|(_, review)| review.totals.files.all() > 0).collect();
    let names = changed.iter().map(|(name, _)| plain(name)).collect::<Vec<_>>().join(", ");
    let site_subject =
        |(name, review): &&(&str, Review)| format!("{}: {}", plain(name), subject(review));
    let subjects = [
        changed.first().filter(|_| changed.len() == 1).map(site_subject),
        Some(format!("update {names}")),
    ];
    let fitting = subjects.into_iter().flatten().find(|subject| subject.len() <= SUBJECT);
    let mut out = ReportText::default();
    // Writing to a `ReportText` cannot fail.
    let _ = writeln!(
        out,
        "{}",
        fitting.unwrap_or_else(|| format!("update {}", counted(changed.len(), "site")))
    );
    for (name, review) in changed {
        let _ = writeln!(out);
        let _ = writeln!(out, "site {}", plain(name));
        let _ = writeln!(out);
        let _ = write_body(&mut out, review);
    }
    out.to_string()
}

fn subject(review: &Review) -> String {
    let (who, clusters): (String, Vec<&ClusterReview>) = match review.clusters.as_slice() {
        [] => return "update shared files".to_owned(),
        [only] => (only.cluster.to_string(), vec![only]),
        several => (format!("{} clusters", several.len()), several.iter().collect()),
    };
    let gone = clusters.iter().filter(|cluster| cluster.state == FileState::Deleted).count();
    let mut deeds: Vec<String> = Vec::new();
    if gone > 0 {
        deeds.push(if clusters.len() == 1 {
            "delete".to_owned()
        } else {
            format!("delete {gone}")
        });
    }
    // Services are deleted with their cluster.
    let told = totals::deeds(&clusters)
        .into_iter()
        .filter(|deed| clusters.len() > gone || !deed.what.contains("service"));
    deeds
        .extend(told.map(|ReportedAction { imperative, what, .. }| format!("{imperative} {what}")));
    if deeds.is_empty() {
        deeds.push(format!("update {}", counted(review.totals.files.all(), "file")));
    }
    // A name may be longer than a subject.
    let who = if who.len() > SUBJECT / 2 + 4 { counted(clusters.len(), "cluster") } else { who };
    let whole = |deeds: &[String]| format!("{who}: {}", deeds.join(", "));
    let fitting = (1..=deeds.len())
        .rev()
        .map(|count| whole(&deeds[..count]))
        .find(|text| text.len() <= SUBJECT);
    fitting.unwrap_or_else(|| format!("update {}", counted(clusters.len(), "cluster")))
}

fn write_body(out: &mut ReportText, review: &Review) -> fmt::Result {
    if !review.dangers.is_empty() {
        writeln!(out, "{}:", counted(review.dangers.len(), "danger"))?;
        for danger in review.dangers.iter().take(MAX_DANGERS) {
            write_item(out, '!', &one_line(&danger.message))?;
        }
        write_more(out, review.dangers.len(), MAX_DANGERS, "dangers")?;
        writeln!(out)?;
    }
    for cluster in review.clusters.iter().take(MAX_CLUSTERS) {
        writeln!(
            out,
            "{}{} is {}",
            cluster.cluster,
            phrases::kind(cluster.kind),
            phrases::state(cluster.state)
        )?;
        write_lines(out, &phrases::lines(cluster, &plain))?;
        writeln!(out)?;
    }
    if review.clusters.len() > MAX_CLUSTERS {
        write_more(out, review.clusters.len(), MAX_CLUSTERS, "clusters")?;
        writeln!(out)?;
    }
    let shared = phrases::shared(&review.shared, &plain);
    if !shared.is_empty() {
        writeln!(out, "outside of clusters")?;
        write_lines(out, &shared)?;
        writeln!(out)?;
    }
    for total in totals::totals(&review.totals).iter().filter(|total| !total.is_empty()) {
        for line in total.split("; ") {
            writeln!(out, "- {line}")?;
        }
    }
    Ok(())
}

fn write_lines(out: &mut ReportText, lines: &[DiffLine]) -> fmt::Result {
    for DiffLine { sign, text } in lines.iter().take(MAX_LINES) {
        write_item(out, *sign, text)?;
    }
    write_more(out, lines.len(), MAX_LINES, "lines")
}

fn write_item(out: &mut ReportText, sign: char, text: &str) -> fmt::Result {
    for (index, line) in wrapped(text, WIDTH).into_iter().enumerate() {
        let lead = if index == 0 { sign } else { ' ' };
        writeln!(out, "  {lead} {line}")?;
    }
    Ok(())
}

fn write_more(out: &mut ReportText, all: usize, told: usize, what: &str) -> fmt::Result {
    if all > told { writeln!(out, "  ... and {} more {what}", all - told) } else { Ok(()) }
}
