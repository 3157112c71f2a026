//! `.gitattributes`: display of generated files in reviews.

use camino::Utf8PathBuf;

use super::{FileAction, Proposal};
use crate::input::load::Files;
use crate::output::commit::attributes;

const FILE: &str = ".gitattributes";

pub(super) fn propose(repo: &Files, outputs: &[Utf8PathBuf]) -> Proposal {
    let wanted: String = outputs.iter().map(|output| attributes(output)).collect();
    let lacks = |there: &str| {
        let is_missing = |line: &&str| !there.lines().any(|other| other.trim() == *line);
        let missing: String =
            wanted.lines().filter(is_missing).map(|line| format!("{line}\n")).collect();
        let is_complete = missing.lines().all(|line| line.starts_with('#'));
        if is_complete {
            FileAction::Keep
        } else {
            FileAction::Add { lines: missing, place: "at the end".to_owned() }
        }
    };
    let note = "folds generated services in reviews, but not the labels of hosts";
    Proposal::new(repo, FILE, note, || wanted.clone(), lacks)
}
