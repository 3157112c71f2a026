//! Comparison as a pull request comment.
//!
//! A comment holds about 65,000 characters. Errors and dangers come first, long lists are folded,
//! and omitted parts are counted. Names are untrusted: they are formatted as code, so that they
//! form no tables, HTML or mentions.

use std::fmt::{Display, Write};

use super::json::{DiffReport, Problem, ProblemPlace};
use super::phrases::{self, DiffLine};
use super::plan::wrapped;
use super::{ReportText, one_line};
use crate::base::finding::Severity;
use crate::base::text::counted;
use crate::review::effects::{ClusterReview, Danger, FileState, Review};

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
    let mut comment = Comment { text: head.to_owned(), shares, omitted: Vec::new() };
    let problems = |severity: Severity| {
        let problems = comparison.findings.iter().filter(|it| it.severity == severity);
        problems.map(|problem| fenced("text", &described(problem))).collect::<Vec<String>>()
    };
    let notes = comparison.notes.iter().map(|note| format!("{}\n\n", one_line(note)));
    comment.add(notes.collect(), ["", ""], ERRORS_UNTIL, ["", "note"]);
    comment.add(problems(Severity::Error), ["", ""], ERRORS_UNTIL, ["", "error"]);
    if let Some(review) = &comparison.review {
        comment.add_dangers(&review.dangers);
        comment.add_changes(review);
    }
    if let Some(brought) = &comparison.brought {
        let head = format!("### {}\n\n", phrases::BROUGHT);
        comment.add(vec![head], ["", ""], DETAILS_UNTIL, ["", "heading"]);
        comment.add_changes(brought);
    }
    let warnings = problems(Severity::Warning);
    let start = fold_start(&counted(warnings.len(), "warning"));
    comment.add(warnings, [&start, FOLD_END], WARNINGS_UNTIL, ["", "warning"]);
    let files: Vec<String> =
        comparison.lines.iter().flatten().map(|file| fenced("diff", &file.diff)).collect();
    let start = fold_start(&format!("Line by line: {}", counted(files.len(), "file")));
    comment.add(files, [&start, FOLD_END], LINES_UNTIL, ["the lines of ", "file"]);
    comment.finished()
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
    let rank = |cluster: &&ClusterReview| {
        let is_first = |danger: &Danger| danger.cluster.as_ref() == Some(&cluster.cluster);
        review.dangers.iter().position(is_first).unwrap_or(usize::MAX)
    };
    let mut clusters: Vec<&ClusterReview> = review.clusters.iter().collect();
    clusters.sort_by_cached_key(rank);
    clusters
}

/// Begins a part that is folded below a summary.
fn fold_start(summary: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n")
}

const FOLD_END: &str = "</details>\n\n";

/// A comment that is being written.
struct Comment {
    text: String,
    /// Number of comments that share the length limit.
    shares: usize,
    /// Numbers of omitted items.
    omitted: Vec<String>,
}

impl Comment {
    /// Adds the items that fit before `until` between a head and a foot. The number of others is
    /// noted between the words of `omitted`.
    fn add(
        &mut self,
        items: Vec<String>,
        [head, foot]: [&str; 2],
        until: usize,
        [before, noun]: [&str; 2],
    ) {
        let used = self.text.len() + head.len() + foot.len();
        let mut room = (until / self.shares).saturating_sub(used);
        let (fitting, others): (Vec<String>, Vec<String>) = items.into_iter().partition(|item| {
            let fits = item.len() <= room;
            room -= if fits { item.len() } else { 0 };
            fits
        });
        if !fitting.is_empty() {
            self.text.extend([head, &fitting.concat(), foot]);
        }
        if !others.is_empty() {
            self.omitted.push(format!("{before}{}", counted(others.len(), noun)));
        }
    }

    fn add_dangers(&mut self, dangers: &[Danger]) {
        let (open, folded) = dangers.split_at(dangers.len().min(DANGERS_OPEN));
        let item = |danger: &Danger| format!("- {}\n", danger.message_with(|name| code(name)));
        let open = open.iter().map(|danger| format!("> {}", item(danger))).collect();
        self.add(open, ["> [!CAUTION]\n", "\n"], DANGERS_UNTIL, ["", "danger"]);
        let start = fold_start(&counted(folded.len(), "more danger"));
        let folded = folded.iter().map(item).collect();
        self.add(folded, [&start, &format!("\n{FOLD_END}")], DANGERS_UNTIL, ["", "danger"]);
    }

    /// Adds the totals, a table of clusters, their details, and the changes outside of them.
    fn add_changes(&mut self, review: &Review) {
        let totals = phrases::totals(&review.totals).iter().map(|it| format!("{it}  \n")).collect();
        self.add(totals, ["", "\n"], TABLE_UNTIL, ["", "total"]);
        let clusters = worst_first(review);
        if clusters.len() > 1 {
            let rows = clusters.iter().map(|cluster| row(cluster)).collect();
            let (mut head, mut foot) = (TABLE_HEAD.to_owned(), "\n".to_owned());
            if clusters.len() > ROWS_OPEN {
                head = fold_start(&counted(clusters.len(), "cluster")) + &head;
                foot += FOLD_END;
            }
            self.add(rows, [&head, &foot], TABLE_UNTIL, ["", "table row"]);
        }
        let open = if clusters.len() <= CLUSTERS_OPEN { " open" } else { "" };
        let details = clusters.iter().map(|cluster| {
            let kind = phrases::kind(cluster.kind);
            let summary = format!("<code>{}</code>{kind} {}", cluster.cluster, cluster.state);
            let block = block(&phrases::lines(cluster, &name));
            format!("<details{open}><summary>{summary}</summary>\n\n{block}{FOLD_END}")
        });
        let omitted = ["the details of ", "cluster"];
        self.add(details.collect(), ["", ""], DETAILS_UNTIL, omitted);
        let shared = phrases::shared(&review.shared, &name);
        let shared = if shared.is_empty() { Vec::new() } else { vec![block(&shared)] };
        let start = fold_start("Outside of clusters");
        self.add(shared, [&start, FOLD_END], DETAILS_UNTIL, ["", "list of other changes"]);
    }

    /// Returns the text, and counts what did not fit.
    fn finished(mut self) -> String {
        if !self.omitted.is_empty() {
            self.text += &format!(
                "Omitted to keep the comment short: {}. `sipgen diff` shows everything.",
                self.omitted.join(", ")
            );
        }
        self.text.truncate(self.text.trim_end().len());
        self.text + "\n"
    }
}

const TABLE_HEAD: &str = "| cluster | | changes |\n| --- | --- | --- |\n";

/// Formats a table row.
fn row(cluster: &ClusterReview) -> String {
    let state = match cluster.state {
        FileState::Deleted => "**deleted**".to_owned(),
        other => other.to_string(),
    };
    let deeds = phrases::deeds(cluster).join(", ");
    format!("| {} | {state} | {deeds} |\n", code(&cluster.cluster))
}

/// Formats lines as a diff block, which GitHub and GitLab colour.
fn block(lines: &[DiffLine]) -> String {
    let wrapped = lines.iter().flat_map(|DiffLine { state, text }| {
        let sign = match state {
            FileState::Created => '+',
            FileState::Changed => '!',
            FileState::Deleted => '-',
        };
        let indents = [""].into_iter().chain(std::iter::repeat("    "));
        let lines = indents.zip(wrapped(text, ", ", WIDTH));
        lines.map(move |(indent, line)| format!("{sign} {indent}{line}\n"))
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
    let is_at_end = |c: char| name.starts_with(c) || name.ends_with(c);
    let pad = if name.is_empty() || is_at_end('`') || is_at_end(' ') { " " } else { "" };
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
