//! Comparison as a pull request comment.
//!
//! A comment holds about 65,000 characters. Errors and dangers come first, long lists are folded,
//! and omitted parts are counted. Names are untrusted: they are formatted as code, so that they
//! form no tables, HTML or mentions.

use std::fmt::{Display, Write};

use super::comparison::DiffReport;
use super::phrases::{self, DiffLine};
use super::plan::wrapped;
use super::problem::{Problem, ProblemPlace};
use super::totals;
use super::{ReportText, one_line};
use crate::base::api::names::ClusterKey;
use crate::base::finding::Severity;
use crate::base::text::counted;
use crate::review::effects::{ClusterReview, Danger, FileState, Harm, Review};

/// First line of the comment, by which a workflow finds and updates it.
pub const MARKER: &str = "<!-- sipgen -->";

/// Maximum length of a comment, in bytes. GitHub counts characters, of which there are no more.
const MOST: usize = 65_000;
/// End of each part, in bytes, so that room is left for the parts after it.
const ERRORS_UNTIL: usize = 20_000;
const DANGERS_UNTIL: usize = 30_000;
const TABLE_UNTIL: usize = 45_000;
const DETAILS_UNTIL: usize = 58_000;
const WARNINGS_UNTIL: usize = 61_000;
/// The rest is left for the line that counts the omitted parts.
const LINES_UNTIL: usize = MOST - 1_000;

/// Numbers of dangers, clusters and table rows that are shown unfolded.
const DANGERS_OPEN: usize = 10;
const CLUSTERS_OPEN: usize = 3;
const ROWS_OPEN: usize = 20;
/// Maximum length of a cluster's details, a problem and a name, in bytes.
const DETAIL: usize = 6_000;
const PROBLEM: usize = 2_000;
const NAME: usize = 200;
/// Maximum length of a line in a code block, in characters.
const WIDTH: usize = 110;

/// Renders a comparison as a pull request comment of at most 65,000 characters.
pub fn markdown(comparison: &DiffReport) -> ReportText {
    written(&format!("{MARKER}\n## sipgen: {}\n\n", heading(comparison)), comparison, 1).into()
}

/// Renders comparisons of several sites, which share the length limit.
pub fn markdown_of_sites(sites: &[(&str, &DiffReport)]) -> ReportText {
    let mut text = format!("{MARKER}\n");
    for (name, comparison) in sites {
        let head = format!("## sipgen: {}: {}\n\n", code(name), heading(comparison));
        let part = written(&head, comparison, sites.len());
        if text.len() + part.len() <= MOST {
            text.push_str(&part);
            text.push('\n');
        }
    }
    text.into()
}

/// Renders a comparison with `1 / shares` of the length limit.
fn written(head: &str, comparison: &DiffReport, shares: usize) -> String {
    let notes = comparison.notes.iter().map(|note| format!("{}\n\n", one_line(note)));
    let problems = |severity: Severity| {
        let problems = comparison.findings.iter().filter(|it| it.severity == severity);
        problems.map(|problem| fenced("text", &described(problem))).collect::<Vec<String>>()
    };
    let mut parts = vec![
        CommentPart::new(notes.collect(), ERRORS_UNTIL, ["", "note"]),
        CommentPart::new(problems(Severity::Error), ERRORS_UNTIL, ["", "error"]),
    ];
    if let Some(review) = &comparison.review {
        parts.extend(danger_parts(&review.dangers));
        parts.extend(review_parts(review));
    }
    if let Some(brought) = &comparison.brought {
        let head = format!("### {}\n\n", phrases::BROUGHT);
        parts.push(CommentPart::new(vec![head], DETAILS_UNTIL, ["", "heading"]));
        parts.extend(review_parts(brought));
    }
    let warnings = problems(Severity::Warning);
    let summary = counted(warnings.len(), "warning");
    parts.push(CommentPart::new(warnings, WARNINGS_UNTIL, ["", "warning"]).folded(&summary));
    let files = comparison.lines.as_deref().unwrap_or_default().iter();
    let files: Vec<String> = files.map(|file| fenced("diff", &file.diff)).collect();
    let summary = format!("Line by line: {}", counted(files.len(), "file"));
    parts.push(CommentPart::new(files, LINES_UNTIL, ["the lines of ", "file"]).folded(&summary));
    joined(head, parts, shares)
}

/// Joins the parts behind a head, and counts what does not fit.
fn joined(head: &str, parts: Vec<CommentPart>, shares: usize) -> String {
    let mut text = head.to_owned();
    let mut omitted = Vec::new();
    for CommentPart { head, items, foot, until, omitted: [before, noun] } in parts {
        let mut room = (until / shares).saturating_sub(text.len() + head.len() + foot.len());
        let count = items.len();
        let fits = |item: &String| {
            let fits = item.len() <= room;
            room -= if fits { item.len() } else { 0 };
            fits
        };
        let fitting: Vec<String> = items.into_iter().filter(fits).collect();
        if !fitting.is_empty() {
            text.extend([head, fitting.concat(), foot]);
        }
        if fitting.len() < count {
            omitted.push(format!("{before}{}", counted(count - fitting.len(), noun)));
        }
    }
    if !omitted.is_empty() {
        let omitted = omitted.join(", ");
        text += &format!(
            "Omitted to keep the comment short: {omitted}. `sipgen diff` shows everything."
        );
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn heading(comparison: &DiffReport) -> String {
    let some = |count: usize, noun: &str| (count > 0).then(|| counted(count, noun));
    let errors = comparison.findings.iter().filter(|it| it.severity == Severity::Error).count();
    let review = comparison.review.as_ref();
    let changes = review.and_then(|review| match review.totals.clusters.all() {
        0 => some(review.totals.files.all(), "file").map(|files| files + " shared by clusters"),
        1 => Some("1 cluster changes".to_owned()),
        clusters => Some(format!("{clusters} clusters change")),
    });
    let parts = [
        some(errors, "error"),
        review.and_then(|review| some(review.dangers.len(), "danger")),
        changes,
        comparison.brought.as_ref().map(|_| "changes not generated in the base".to_owned()),
        comparison.stale.map(|stale| counted(stale.files, "stale file")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no changes".to_owned() } else { parts.join(", ") }
}

/// Sorts clusters: those with dangers come first.
fn worst_first(review: &Review) -> Vec<&ClusterReview> {
    let dangers: Vec<&ClusterKey> =
        review.dangers.iter().filter_map(|danger| endangered(&danger.harm)).collect();
    let rank = |cluster: &&ClusterReview| {
        dangers.iter().position(|endangered| **endangered == cluster.cluster).unwrap_or(usize::MAX)
    };
    let mut clusters: Vec<&ClusterReview> = review.clusters.iter().collect();
    clusters.sort_by_cached_key(rank);
    clusters
}

fn endangered(harm: &Harm) -> Option<&ClusterKey> {
    match harm {
        Harm::ClusterDeleted { cluster, .. }
        | Harm::InstallerRuns { cluster, .. }
        | Harm::ConsumedHostGivenBack { cluster, .. }
        | Harm::AssignedHostVanished { cluster, .. }
        | Harm::ConsumedHostMoves { cluster, .. }
        | Harm::ConsumedHostChangesRole { cluster, .. }
        | Harm::HostMoves { cluster, .. }
        | Harm::ControlPlaneEndpointChanges { cluster, .. }
        | Harm::MachineAddressChanges { cluster, .. }
        | Harm::IssuerChanges { cluster, .. }
        | Harm::ImmutableFieldChanges { cluster, .. }
        | Harm::NodePortChanges { cluster, .. } => Some(cluster),
        Harm::AgentObjectsDeleted { .. }
        | Harm::FirmwareChanges { .. }
        | Harm::RootDeleted { .. }
        | Harm::RootChangesForm { .. }
        | Harm::OutputMoves { .. } => None,
    }
}

/// A part of a comment. Items that do not fit are omitted.
struct CommentPart {
    head: String,
    items: Vec<String>,
    foot: String,
    /// Where it ends at the latest.
    until: usize,
    /// The words around the number of omitted items.
    omitted: [&'static str; 2],
}

impl CommentPart {
    fn new(items: Vec<String>, until: usize, omitted: [&'static str; 2]) -> Self {
        Self { head: String::new(), items, foot: String::new(), until, omitted }
    }

    fn between(self, head: &str, foot: &str) -> Self {
        Self { head: head.to_owned(), foot: foot.to_owned(), ..self }
    }

    /// Folds the part below a summary.
    fn folded(self, summary: &str) -> Self {
        let head = format!("<details><summary>{summary}</summary>\n\n{}", self.head);
        Self { head, foot: self.foot + "</details>\n\n", ..self }
    }
}

fn danger_parts(dangers: &[Danger]) -> [CommentPart; 2] {
    let (open, folded) = dangers.split_at(dangers.len().min(DANGERS_OPEN));
    let item = |danger: &Danger| format!("- {}\n", danger.message_with(|name| code(name)));
    let part = |items: Vec<String>| CommentPart::new(items, DANGERS_UNTIL, ["", "danger"]);
    let open = part(open.iter().map(|danger| format!("> {}", item(danger))).collect());
    let summary = counted(folded.len(), "more danger");
    let folded = part(folded.iter().map(item).collect()).between("", "\n");
    [open.between("> [!CAUTION]\n", "\n"), folded.folded(&summary)]
}

/// Returns the totals, a table of clusters, their details, and the changes outside of them.
fn review_parts(review: &Review) -> Vec<CommentPart> {
    let clusters = worst_first(review);
    let totals = totals::totals(&review.totals).into_iter().filter(|total| !total.is_empty());
    let totals = totals.map(|total| format!("{total}  \n")).collect();
    let mut parts = vec![CommentPart::new(totals, TABLE_UNTIL, ["", "total"]).between("", "\n")];
    if clusters.len() > 1 {
        let rows = clusters.iter().map(|cluster| row(cluster)).collect();
        let head = "| cluster | | changes |\n| --- | --- | --- |\n";
        let table = CommentPart::new(rows, TABLE_UNTIL, ["", "table row"]).between(head, "\n");
        let summary = counted(clusters.len(), "cluster");
        parts.push(if clusters.len() > ROWS_OPEN { table.folded(&summary) } else { table });
    }
    let open = if clusters.len() <= CLUSTERS_OPEN { " open" } else { "" };
    let details = clusters.iter().map(|cluster| {
        let kind = phrases::kind(cluster.kind);
        let summary = format!("<code>{}</code>{kind} {}", cluster.cluster, cluster.state);
        let block = block(&phrases::lines(cluster, &name));
        format!("<details{open}><summary>{summary}</summary>\n\n{block}</details>\n\n")
    });
    let details = details.collect();
    parts.push(CommentPart::new(details, DETAILS_UNTIL, ["the details of ", "cluster"]));
    let shared = phrases::shared(&review.shared, &name);
    let shared = if shared.is_empty() { Vec::new() } else { vec![block(&shared)] };
    let shared = CommentPart::new(shared, DETAILS_UNTIL, ["", "list of other changes"]);
    parts.push(shared.folded("Outside of clusters"));
    parts
}

/// Formats a table row.
fn row(cluster: &ClusterReview) -> String {
    let state = match cluster.state {
        FileState::Deleted => "**deleted**".to_owned(),
        other => other.to_string(),
    };
    let deeds = totals::deeds(cluster).join(", ");
    format!("| {} | {state} | {deeds} |\n", code(&cluster.cluster))
}

/// Formats lines as a diff block, which GitHub and GitLab colour.
fn block(lines: &[DiffLine]) -> String {
    let wrapped = lines.iter().flat_map(|DiffLine { sign, text }| {
        let sign = if *sign == '~' { '!' } else { *sign };
        let wrapped = wrapped(text, ", ", WIDTH).into_iter().enumerate();
        wrapped.map(move |(index, line)| {
            format!("{sign} {}{line}\n", if index == 0 { "" } else { "    " })
        })
    });
    let wrapped: Vec<String> = wrapped.collect();
    let mut room = DETAIL;
    let fitting = wrapped.iter().take_while(|line| {
        room = room.saturating_sub(line.len());
        room > 0
    });
    let fitting: Vec<&str> = fitting.map(String::as_str).collect();
    let cut_off = match wrapped.len() - fitting.len() {
        0 => String::new(),
        count => format!("  … and {} more\n", counted(count, "line")),
    };
    fenced("diff", &(fitting.concat() + &cut_off))
}

/// Formats a problem as text.
fn described(problem: &Problem) -> String {
    let Problem { code, severity, message, help, places, .. } = problem;
    let severity = severity.word();
    let mut text = format!("{severity}[{code}]: {}\n", one_line(message));
    for ProblemPlace { file, line, column, what, .. } in places.iter().take(5) {
        let numbers: String =
            [line, column].into_iter().flatten().map(|number| format!(":{number}")).collect();
        let what = what.as_ref().map(|what| format!("  ({})", one_line(what))).unwrap_or_default();
        let _ = writeln!(text, "  --> {}{numbers}{what}", one_line(file));
    }
    for line in help.iter().flat_map(|help| help.lines()) {
        let _ = writeln!(text, "  help: {}", one_line(line));
    }
    if text.len() > PROBLEM {
        text.truncate(text.floor_char_boundary(PROBLEM));
        text.push_str("…\n");
    }
    text
}

/// Wraps a text in a code block with a fence longer than any run of backticks in it.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n\n")
}

/// Formats a name as inline code.
pub(super) fn code(name: &dyn Display) -> String {
    let name = self::name(name);
    let fence = "`".repeat(longest_run(&name) + 1);
    let pad = if name.starts_with(['`', ' ']) || name.ends_with(['`', ' ']) || name.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{name}{pad}{fence}")
}

/// Formats a name inside a code block.
fn name(name: &dyn Display) -> String {
    let name = one_line(&name.to_string());
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}
