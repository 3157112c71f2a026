//! `.gitattributes`: how reviews show what is generated.

use camino::Utf8Path;

use super::{Action, Proposal};
use crate::layout;
use crate::source::Files;

const FILE: &str = ".gitattributes";

pub(super) fn propose(repo: &Files, output: &Utf8Path) -> Proposal {
    let wanted = attributes(output);
    let lacks = |there: &str| {
        let is_missing = |line: &&str| !there.lines().any(|other| other.trim() == *line);
        let missing: String = wanted.lines().filter(is_missing).map(|line| format!("{line}\n")).collect();
        let is_complete = missing.lines().all(|line| line.starts_with('#'));
        if is_complete { Action::Keep } else { Action::Add { lines: missing, place: "at its end".to_owned() } }
    };
    let note = "reviews fold the generated services, and never the hosts' labels";
    Proposal::new(repo, FILE, note, || wanted.clone(), lacks)
}

/// The attributes of what is generated: the bulk of it collapses in reviews, the labels of hosts never do. Line ends
/// are those that sipgen writes, whatever a checkout is told to make of text.
fn attributes(output: &Utf8Path) -> String {
    let folded = [layout::CLUSTERS, layout::CRDS, layout::TENANTS];
    let line = |below: &str, attributes: &str| format!("{} {attributes}\n", pattern(&output.join(below)));
    let folded = folded.map(|directory| line(&format!("{directory}/**"), "linguist-generated gitlab-generated"));
    line("**", "text eol=lf") + &folded.concat()
}

/// A path as a pattern of git: quoted where it has blanks or quotes.
fn pattern(path: &Utf8Path) -> String {
    if path.as_str().contains([' ', '"', '\\']) {
        format!("\"{}\"", path.as_str().replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        path.to_string()
    }
}
