//! Findings, changes and plans as text for people and programs. Nothing is printed here.
//!
//! * `text`: text for people; nothing in it acts on a terminal, a log or a CI runner.
//! * `document`: output for programs, in formats that escape their values.
//! * `findings`: findings with their positions; `excerpt` quotes the lines.
//! * `lines`: unified diffs.
//! * `phrases`: phrases for changes of clusters, shared by the following.
//! * `plan`: a review as text.
//! * `json`: findings, and comparisons of two states of a repo, as JSON.
//! * `markdown`: a comparison as a pull request comment.
//! * `summary`: summary of a run.
//! * `explanation`: reasons for assignments, and inspected hardware.
//! * `proposals`: result and next steps of `sipgen init`.
//! * `stale`: generated files that differ from what the input generates.
//! * `catalogue`: finding codes with explanations.
//! * `results`: findings and stale files for `github`, `gitlab` and `sarif`.
//! * `capacity`: what else fits.
//! * `doctor`: checks of a repo's environment.
//! * `drain`: plans of moves that empty hosts.
//! * `what_if`: the consequences of a hypothesis.
//! * `status`: summary of the site for a terminal.
//! * `page`: the site as an HTML page.

mod capacity;
mod catalogue;
mod doctor;
mod document;
mod drain;
mod excerpt;
mod explanation;
mod findings;
mod github;
mod gitlab;
mod json;
mod lines;
mod markdown;
mod page;
mod phrases;
mod plan;
mod proposals;
mod results;
mod sarif;
mod stale;
pub mod status;
mod summary;
mod text;
mod what_if;

use std::fmt;

use anstyle::{AnsiColor, Style};

use crate::base::api::names::NodeName;
use crate::base::finding::Severity;
use crate::base::grouping::grouped_in_order;
use crate::base::text::visible::visible;
use crate::base::text::{abbreviated, counted};
use crate::generate::GeneratedSite;
use crate::output::render::values::TemplateValue;
use crate::setup::migrate::{MigratedDocument, Migration};
use crate::site::sites::Location;

pub use capacity::capacity;
pub use catalogue::{code_as_json, codes, codes_as_markdown, explain_code};
pub use doctor::{checks, tally_of_checks};
pub use document::ReportDocument;
pub use drain::drain;
pub use explanation::{explain_cluster, explain_hardware, explain_host};
pub use findings::{findings, tally};
pub use github::github;
pub use gitlab::gitlab;
pub use json::{DiffReport, Problem, ProblemPlace, Validation};
pub use lines::{FileLines, diff};
pub use markdown::{MARKER, markdown, markdown_of_sites};
pub use page::{PageAnswers, is_page, page};
pub use plan::{notes, plan};
pub use proposals::proposals;
pub use results::CiResults;
pub use sarif::sarif;
pub use stale::{
    builds_not_checked, checked_builds, edited_files, renamed_inputs, stale, stale_files,
    stale_help, unknown_base,
};
pub use status::{StatusReport, status};
pub use summary::{failure, summary, summary_of_sites};
pub use text::ReportText;
use text::styled;
pub use what_if::{WhatIf, consequences};

/// The runs of a repo's sites.
type SiteRuns<'r> = [(&'r Location, GeneratedSite)];

/// Formats the heading of one of several sites.
pub fn site(name: &str) -> ReportText {
    format!("{}\n", styled(STRONG, format_args!("site {}", one_line(name)))).into()
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const STRONG: Style = Style::new().bold();
const FAINT: Style = AnsiColor::Cyan.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const CHANGED: Style = AnsiColor::Yellow.on_default();

/// All styles.
const STYLES: [Style; 7] = [ERROR, WARNING, STRONG, FAINT, ADDED, REMOVED, CHANGED];

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
    }
}

/// Maximum number of clusters that a text names.
const CLUSTERS_SHOWN: usize = 20;

/// Writes a heading, behind a blank line unless it is the first line.
fn write_heading(out: &mut ReportText, heading: impl fmt::Display) {
    if !out.is_empty() {
        writeln!(out);
    }
    writeln!(out, "{}", styled(STRONG, heading))
}

/// Counts the entries that a list leaves out, if it does: `… and 3 more hosts; --all shows all`.
fn write_more(out: &mut ReportText, indent: usize, count: usize, noun: &str, remark: &str) {
    if count > 0 {
        let more = counted(count, &format!("more {noun}"));
        writeln!(out, "{:indent$}… and {more}{remark}", "");
    }
}

/// Returns the width of a column in characters.
fn width(cells: impl IntoIterator<Item = impl AsRef<str>>) -> usize {
    cells.into_iter().map(|cell| cell.as_ref().chars().count()).max().unwrap_or_default()
}

/// Returns the entries to show, in their order of the list, and the number of others. Unless `all`
/// are wanted, they are at most so many, those that come first by `order`.
fn first_by<T, O: Ord>(
    entries: impl IntoIterator<Item = T>,
    all: bool,
    most: usize,
    order: impl Fn(&T) -> O,
) -> (Vec<T>, usize) {
    let mut shown: Vec<(usize, T)> = entries.into_iter().enumerate().collect();
    let left_out = if all { 0 } else { shown.len().saturating_sub(most) };
    shown.sort_by_key(|(_, entry)| order(entry));
    shown.truncate(shown.len() - left_out);
    shown.sort_by_key(|(at, _)| *at);
    (shown.into_iter().map(|(_, entry)| entry).collect(), left_out)
}

/// Writes why machines lack hosts. Machines with equal reasons share them; `most` of these are named.
fn write_unserved_machines<'m>(
    out: &mut ReportText,
    indent: usize,
    most: usize,
    machines: impl Iterator<Item = (&'m NodeName, Vec<String>)>,
) {
    for (reasons, nodes) in grouped_in_order(machines.map(|(node, reasons)| (reasons, node))) {
        writeln!(out, "{:indent$}no host for {}, because", "", abbreviated(&nodes, most));
        reasons.iter().for_each(|line| writeln!(out, "{:indent$}  {}", "", one_line(line)));
    }
}

/// Describes the requirements on spare hosts: `flavor=worker, 32 CPUs in metal3 with an address in
/// oam`.
fn spare_words(
    (selector, hardware): (&str, &str),
    namespace: Option<&str>,
    interfaces: &[String],
) -> String {
    let selector = if selector.is_empty() { "every host" } else { selector };
    let hardware = if hardware.is_empty() { "" } else { &format!(", {hardware}") };
    let namespace = namespace.map(|namespace| format!(" in {namespace}"));
    let addressed = match interfaces {
        [] => String::new(),
        interfaces => format!(" with an address in {}", interfaces.join(", ")),
    };
    format!("{selector}{hardware}{}{addressed}", namespace.unwrap_or_default())
}

/// Keeps a text on one line, whatever names it contains. A line break could make a name look like
/// an error, and control characters could move the cursor or reverse the text.
fn one_line(text: &str) -> String {
    visible(text).into_owned()
}

/// Formats a name on one line, without markup.
fn plain(name: &dyn fmt::Display) -> String {
    one_line(&name.to_string())
}

/// Formats legacy SIPClusters in today's form as YAML documents.
pub fn migration(migration: &Migration) -> ReportText {
    let mut text = ReportText::default();
    for MigratedDocument { file, text: document, .. } in &migration.documents {
        for line in format!("---\n# {}\n{document}", one_line(file.as_str())).lines() {
            text.push_line_of_file(Style::new(), None, line);
        }
    }
    text
}

/// Formats the values that a template receives as a table.
pub fn given(values: &[TemplateValue]) -> ReportText {
    let name = width(values.iter().map(|value| &value.name));
    let kind = width(values.iter().map(|value| &value.kind));
    let row = |value: &TemplateValue| {
        format!("{:name$}  {:kind$}  {}\n", value.name, value.kind, value.meaning)
    };
    values.iter().map(row).collect::<String>().into()
}
