//! Findings, changes and plans in words, for people. Nothing is printed here: text goes in, text comes out.
//!
//! * `findings`: what is wrong, with its places.
//! * `lines`: changes as a unified diff.
//! * `summary`: what a run came to.
//! * `explanation`: why hosts are where they are.
//! * `status`: the site at a glance, for a terminal.
//! * `page`: the same as a page for a browser.

mod explanation;
mod findings;
mod lines;
mod page;
pub mod status;
mod summary;

use std::fmt;

use anstyle::{AnsiColor, Style};

use crate::render::values::Given;

pub use explanation::{explain_cluster, explain_host};
pub use findings::findings;
pub use lines::diff;
pub use page::{is_page, page};
pub use status::status;
pub use summary::summary;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const STRONG: Style = Style::new().bold();
const FAINT: Style = AnsiColor::Cyan.on_default();

/// How many clusters a text names.
const CLUSTERS_SHOWN: usize = 20;

/// A text in a style.
fn styled(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A text that stays on its line whatever names are in it: a line break could make a name look like an error, and
/// other control characters could move the terminal's cursor.
fn one_line(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// What a template is given, as a table.
pub fn given(values: &[Given]) -> String {
    let width = |of: fn(&Given) -> &str| values.iter().map(|value| of(value).chars().count()).max().unwrap_or_default();
    let (name, kind) = (width(|value| &value.name), width(|value| &value.kind));
    let row = |value: &Given| format!("{:name$}  {:kind$}  {}\n", value.name, value.kind, value.meaning);
    values.iter().map(row).collect()
}
