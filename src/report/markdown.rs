//! Comparison as a pull request comment.
//!
//! A comment holds about 65,000 characters. Errors and dangers come first, long lists are folded,
//! and omitted parts are counted. Names are untrusted: they are formatted as code, so that they
//! form no tables, HTML or mentions.

use std::fmt::{Display, Write};

use super::comparison::DiffReport;
use super::lines::FileLines;
use super::phrases::{self, DiffLine};
use super::plan::wrapped;
use super::problem::{Problem, ProblemPlace};
use super::totals;
use super::{ReportText, one_line};
use crate::base::api::names::ClusterKey;
use crate::base::finding::Severity;
use crate::base::text::counted;
use crate::review::effects::{ClusterReview, Danger, FileState, Harm, Review, Totals};

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
    let mut page = MarkdownComment { text: head.to_owned(), left_out: Vec::new(), shares };
    let (errors, warnings): (Vec<&Problem>, Vec<&Problem>) =
        comparison.findings.iter().partition(|problem| problem.severity == Severity::Error);
    for note in &comparison.notes {
        page.push(&format!("{}\n\n", one_line(note)), ERRORS_UNTIL);
    }
    page.errors(&errors);
    if let Some(review) = &comparison.review {
        page.dangers(&review.dangers);
        page.totals(&review.totals);
        let clusters = worst_first(review);
        page.table(&clusters);
        page.clusters(&clusters);
        page.shared(review);
    }
    if let Some(brought) = &comparison.brought {
        page.brought(brought);
    }
    page.warnings(&warnings);
    page.lines(comparison.lines.as_deref().unwrap_or_default());
    page.finished()
}

fn heading(comparison: &DiffReport) -> String {
    let errors =
        comparison.findings.iter().filter(|problem| problem.severity == Severity::Error).count();
    let mut parts = Vec::new();
    if errors > 0 {
        parts.push(counted(errors, "error"));
    }
    if let Some(review) = &comparison.review {
        if !review.dangers.is_empty() {
            parts.push(counted(review.dangers.len(), "danger"));
        }
        let clusters = review.totals.clusters.all();
        if clusters > 0 {
            parts.push(format!(
                "{} {}",
                counted(clusters, "cluster"),
                if clusters == 1 { "changes" } else { "change" }
            ));
        } else if review.totals.files.all() > 0 {
            parts
                .push(format!("{} shared by clusters", counted(review.totals.files.all(), "file")));
        }
    }
    if comparison.brought.is_some() {
        parts.push("changes not generated in the base".to_owned());
    }
    if let Some(stale) = comparison.stale {
        parts.push(counted(stale.files, "stale file"));
    }
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

/// Comment being written.
struct MarkdownComment {
    text: String,
    /// Parts that did not fit.
    left_out: Vec<String>,
    /// Number of comparisons that share the length limit.
    shares: usize,
}

impl MarkdownComment {
    /// Appends a part if it ends before `until`.
    fn push(&mut self, part: &str, until: usize) -> bool {
        let fits = self.text.len() + part.len() <= until / self.shares;
        if fits {
            self.text.push_str(part);
        }
        fits
    }

    /// Appends the parts that end before `until`, between a head and a foot, and records the number
    /// of omitted ones.
    fn push_all(
        &mut self,
        head: &str,
        parts: &[String],
        foot: &str,
        until: usize,
        left_out: fn(usize) -> String,
    ) {
        let mut room =
            (until / self.shares).saturating_sub(self.text.len() + head.len() + foot.len());
        let mut fitting = String::new();
        let mut count = 0;
        for part in parts {
            if part.len() <= room {
                room -= part.len();
                fitting.push_str(part);
            } else {
                count += 1;
            }
        }
        if !fitting.is_empty() {
            self.text.extend([head, &fitting, foot]);
        }
        if count > 0 {
            self.left_out.push(left_out(count));
        }
    }

    fn errors(&mut self, errors: &[&Problem]) {
        let parts: Vec<String> =
            errors.iter().map(|error| fenced("text", &described(error))).collect();
        self.push_all("", &parts, "", ERRORS_UNTIL, |count| counted(count, "error"));
    }

    fn dangers(&mut self, dangers: &[Danger]) {
        let item = |danger: &Danger| format!("- {}\n", danger.message_with(|name| code(name)));
        let (open, folded) = dangers.split_at(dangers.len().min(DANGERS_OPEN));
        let open: Vec<String> = open.iter().map(|danger| format!("> {}", item(danger))).collect();
        self.push_all("> [!CAUTION]\n", &open, "\n", DANGERS_UNTIL, |count| {
            counted(count, "danger")
        });
        let folded: Vec<String> = folded.iter().map(item).collect();
        let head = fold(&counted(folded.len(), "more danger"));
        self.push_all(&head, &folded, "\n</details>\n\n", DANGERS_UNTIL, |count| {
            counted(count, "danger")
        });
    }

    fn totals(&mut self, totals: &Totals) {
        for total in totals::totals(totals)
            .iter()
            .filter(|_| totals.files.all() > 0)
            .filter(|total| !total.is_empty())
        {
            self.push(&format!("{total}  \n"), TABLE_UNTIL);
        }
        self.push("\n", TABLE_UNTIL);
    }

    fn table(&mut self, clusters: &[&ClusterReview]) {
        if clusters.len() < 2 {
            return;
        }
        let rows: Vec<String> = clusters.iter().map(|cluster| row(cluster)).collect();
        let (before, behind) = if rows.len() > ROWS_OPEN {
            let summary = counted(rows.len(), "cluster");
            (fold(&summary), "\n</details>\n\n")
        } else {
            (String::new(), "\n")
        };
        let head = format!("{before}| cluster | | changes |\n| --- | --- | --- |\n");
        self.push_all(&head, &rows, behind, TABLE_UNTIL, |count| {
            format!("{} of the table", counted(count, "row"))
        });
    }

    fn clusters(&mut self, clusters: &[&ClusterReview]) {
        let open = if clusters.len() <= CLUSTERS_OPEN { " open" } else { "" };
        let details = clusters.iter().map(|cluster| {
            let kind = phrases::kind(cluster.kind);
            let summary = format!("<code>{}</code>{kind} {}", cluster.cluster, cluster.state);
            let block = block(&phrases::lines(cluster, &name));
            format!("<details{open}><summary>{summary}</summary>\n\n{block}</details>\n\n")
        });
        let details: Vec<String> = details.collect();
        self.push_all("", &details, "", DETAILS_UNTIL, |count| {
            format!("the details of {}", counted(count, "cluster"))
        });
    }

    fn shared(&mut self, review: &Review) {
        let lines = phrases::shared(&review.shared, &name);
        if !lines.is_empty() {
            let part = format!("{}{}</details>\n\n", fold("Outside of clusters"), block(&lines));
            self.push_all("", &[part], "", DETAILS_UNTIL, |_| {
                "changes outside of clusters".to_owned()
            });
        }
    }

    /// Adds the changes that the base had not generated, with a heading of their own.
    fn brought(&mut self, brought: &Review) {
        let head = format!("### {}\n\n", phrases::BROUGHT);
        if !self.push(&head, DETAILS_UNTIL) {
            self.left_out.push("changes not generated in the base".to_owned());
            return;
        }
        let clusters = worst_first(brought);
        self.totals(&brought.totals);
        self.table(&clusters);
        self.clusters(&clusters);
        self.shared(brought);
    }

    fn warnings(&mut self, warnings: &[&Problem]) {
        let parts: Vec<String> =
            warnings.iter().map(|warning| fenced("text", &described(warning))).collect();
        let head = fold(&counted(parts.len(), "warning"));
        self.push_all(&head, &parts, "</details>\n\n", WARNINGS_UNTIL, |count| {
            counted(count, "warning")
        });
    }

    fn lines(&mut self, files: &[FileLines]) {
        let parts: Vec<String> = files.iter().map(|file| fenced("diff", &file.diff)).collect();
        let head = fold(&format!("Line by line: {}", counted(parts.len(), "file")));
        self.push_all(&head, &parts, "</details>\n\n", LINES_UNTIL, |count| {
            format!("the lines of {}", counted(count, "file"))
        });
    }

    fn finished(mut self) -> String {
        if !self.left_out.is_empty() {
            let left_out = self.left_out.join(", ");
            let _ = writeln!(
                self.text,
                "Omitted to keep the comment short: {left_out}. `sipgen diff` shows everything."
            );
        }
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.text.push('\n');
        self.text
    }
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

/// Returns the head of a folded part.
fn fold(summary: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n")
}

/// Formats lines as a diff block, which GitHub and GitLab colour.
fn block(lines: &[DiffLine]) -> String {
    let wrapped = lines.iter().flat_map(|DiffLine { sign, text }| {
        let sign = if *sign == '~' { '!' } else { *sign };
        let wrapped = wrapped(text, WIDTH).into_iter().enumerate();
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
