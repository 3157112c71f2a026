//! `.gitattributes`: display of generated files in reviews.

use camino::{Utf8Path, Utf8PathBuf};

use super::{FileAction, Proposal};
use crate::base::layout;
use crate::input::load::Files;

const FILE: &str = ".gitattributes";

pub(super) fn propose(repo: &Files, outputs: &[Utf8PathBuf]) -> Proposal {
    let wanted: String = outputs.iter().map(|output| attributes(output)).collect();
    let lacks = |there: &str| {
        let is_missing = |line: &&str| !there.lines().any(|other| other.trim() == *line);
        let missing: String =
            wanted.lines().filter(is_missing).map(|line| format!("{line}\n")).collect();
        let is_complete = missing.lines().all(|line| line.starts_with('#'));
        if is_complete { FileAction::Keep } else { FileAction::add_at_end(missing) }
    };
    let note = "folds generated services in reviews, but not the labels of hosts";
    Proposal::new(repo, FILE, note, wanted.clone(), lacks)
}

/// Returns the lines for a `.gitattributes` beside `sipgen.yaml`.
///
/// GitHub and GitLab fold services in reviews, because they are many and derived from the requests.
/// Labels of hosts are never folded, because they need review. Line ends are fixed, so that a
/// checkout with `core.autocrlf` changes no file.
pub fn attributes(output: &Utf8Path) -> String {
    let line =
        |directory: &Utf8Path, attributes: &str| format!("{} {attributes}\n", pattern(directory));
    let folded = [layout::CLUSTERS, layout::CRDS, layout::SHARED, layout::TENANTS]
        .map(|directory| line(&output.join(directory), "linguist-generated gitlab-generated"));
    format!(
        "# What sipgen writes. Reviews fold the services, never the labels of hosts.\n{}{}{}",
        line(output, "text eol=lf"),
        folded.concat(),
        line(&output.join(layout::HOSTS), "-linguist-generated -gitlab-generated")
    )
}

/// Returns a pattern that matches the files below a directory, quoted if it has whitespace.
fn pattern(directory: &Utf8Path) -> String {
    let escaped = |text: &str, special: &[char]| -> String {
        let escape = |c: char| special.contains(&c).then_some('\\').into_iter().chain([c]);
        text.chars().flat_map(escape).collect()
    };
    let pattern = format!("/{}/**", escaped(directory.as_str(), &['*', '?', '[', '\\']));
    if !pattern.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
        return pattern;
    }
    let quoted = escaped(&pattern, &['"', '\\']);
    let character = |c: char| match c {
        c if c.is_ascii_control() => format!("\\{:03o}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", quoted.chars().map(character).collect::<String>())
}
