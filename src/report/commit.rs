//! Commit messages of generated files.

use std::fmt;

use super::ReportText;
use super::plan::{self, plain};
use super::totals::{self, ReportedAction};
use crate::base::text::counted;
use crate::review::effects::{ClusterReview, FileState, Review};

/// Maximum length of a subject in characters; forges cut longer ones. Other lines are broken there.
const SUBJECT: usize = 72;
/// Width at which lists of names are broken, in characters.
const WIDTH: usize = 68;
/// Maximum number of lines of a site in a message.
const MAX_LINES: usize = 500;

/// Formats the commit message: a subject of at most 72 characters, a blank line, and the plan as
/// the body.
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

/// Writes the plan, as `sipgen diff` prints it.
fn write_body(out: &mut ReportText, review: &Review) -> fmt::Result {
    let mut body = ReportText::default();
    plan::write_review(&mut body, review, WIDTH)?;
    let body = body.fitted(SUBJECT).to_string();
    let mut lines = body.lines();
    lines.by_ref().take(MAX_LINES).try_for_each(|line| writeln!(out, "{line}"))?;
    match lines.count() {
        0 => Ok(()),
        more => writeln!(out, "... and {}", counted(more, "more line")),
    }
}
