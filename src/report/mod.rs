//! Findings, changes and plans as text, for people and programs. Nothing is printed here: text goes in, text comes out.
//!
//! * `text`: what people read, without what acts on a terminal, a log or a CI runner.
//! * `document`: what programs read, in forms that escape what they hold.
//! * `findings`: what is wrong, with its places; `excerpt` shows the lines there.
//! * `lines`: changes as a unified diff.
//! * `words`: what becomes of clusters, in the words that the following share.
//! * `plan`: a review as text; `commit` as the message of a commit.
//! * `comparison`: two states of a repo compared, for programs; `markdown` for a pull request.
//! * `events`: what has happened to hosts between two snapshots.
//! * `summary`: what a run came to.
//! * `explanation`: why hosts are where they are; `hardware`: what is in them.
//! * `proposals`: what `sipgen init` did, and what is left to do.
//! * `stale`: generated files that are not what the input makes of them.
//! * `problem`: findings as JSON; `catalogue`: the codes of findings, explained.
//! * `results`: findings and stale files for programs, as `github`, `gitlab` or `sarif` writes them.
//! * `status`: the site at a glance, for a terminal.
//! * `page`: the same as a page for a browser.

mod catalogue;
mod commit;
mod comparison;
mod document;
mod events;
mod excerpt;
mod explanation;
mod findings;
mod github;
mod gitlab;
mod hardware;
mod lines;
mod markdown;
mod page;
mod plan;
mod problem;
mod proposals;
mod results;
mod sarif;
mod stale;
pub mod status;
mod summary;
mod text;
mod words;

use std::fmt;

use anstyle::{AnsiColor, Style};

use crate::render::values::Given;
use crate::text::visible::visible;

pub use catalogue::{codes, codes_as_markdown, explain_code};
pub use commit::{commit_message, commit_message_of_sites};
pub use comparison::Comparison;
pub use document::Document;
pub use events::{events, snapshot_message};
pub use explanation::{explain_cluster, explain_host};
pub use findings::{findings, tally};
pub use github::github;
pub use gitlab::gitlab;
pub use hardware::explain_hardware;
pub use lines::{FileLines, diff};
pub use markdown::{MARKER, markdown, markdown_of_sites};
pub use page::{is_page, page};
pub use plan::{notes, plan};
pub use problem::{ExplainedCode, Problem, ProblemPlace, ProblemSeverity, Validation};
pub use proposals::proposals;
pub use results::Results;
pub use sarif::sarif;
pub use stale::{how_to_mend, renamed_inputs, stale, stale_files};
pub use status::status;
pub use summary::{failure, summary, summary_of_sites};
pub use text::Text;

/// The head of what is said of one site of several.
pub fn site(name: &str) -> Text {
    format!(
        "{}\n",
        styled(STRONG, format_args!("site {}", one_line(name)))
    )
    .into()
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const STRONG: Style = Style::new().bold();
const FAINT: Style = AnsiColor::Cyan.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// How many clusters a text names.
const CLUSTERS_SHOWN: usize = 20;

/// A text in a style.
fn styled(style: Style, text: impl fmt::Display) -> String {
    text::in_style(style, text)
}

/// A text that stays on its line whatever names are in it: a line break could make a name look like an error, and
/// other control characters could move the terminal's cursor, or turn the text around.
fn one_line(text: &str) -> String {
    visible(text).into_owned()
}

/// What a template is given, as a table.
pub fn given(values: &[Given]) -> Text {
    let width = |of: fn(&Given) -> &str| {
        values
            .iter()
            .map(|value| of(value).chars().count())
            .max()
            .unwrap_or_default()
    };
    let (name, kind) = (width(|value| &value.name), width(|value| &value.kind));
    let row = |value: &Given| {
        format!(
            "{:name$}  {:kind$}  {}\n",
            value.name, value.kind, value.meaning
        )
    };
    values.iter().map(row).collect::<String>().into()
}
