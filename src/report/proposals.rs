//! Result and next steps of `sipgen init`.

use std::fmt;

use anstyle::{AnsiColor, Style};

use super::{FAINT, STRONG, Text, WARNING, one_line, styled};
use crate::init::{Action, Proposal};

/// CI variable that only the repo's owners can set.
const INSTALLED_FROM: &str = "SIPGEN_SOURCE";
const DONE: Style = AnsiColor::Green.on_default();

/// Formats the proposed files, followed by the lines that people have to add. `written` tells
/// whether the files are on disk.
pub fn proposals(proposals: &[Proposal], written: bool) -> Text {
    let mut out = Text::default();
    // Writing to a `Text` cannot fail.
    let _ = write_proposals(&mut out, proposals, written);
    out
}

fn write_proposals(out: &mut Text, proposals: &[Proposal], written: bool) -> fmt::Result {
    let width = proposals
        .iter()
        .map(|proposal| proposal.path.as_str().len())
        .max()
        .unwrap_or_default();
    for Proposal { path, note, action } in proposals {
        let (style, verb) = match action {
            Action::Create(_) if written => (DONE, "created"),
            Action::Create(_) => (DONE, "to create"),
            Action::Add { .. } => (WARNING, "unchanged"),
            Action::Keep => (FAINT, "up to date"),
            Action::Blocked(_) => (WARNING, "skipped"),
        };
        let verb = styled(style, format_args!("{verb:<13}"));
        let note = match action {
            Action::Add { .. } => "exists, but lacks the lines below".to_owned(),
            Action::Keep => "complete".to_owned(),
            Action::Blocked(what) => {
                format!("`{what}` is not a regular text file or a directory")
            }
            Action::Create(_) => note.clone(),
        };
        writeln!(
            out,
            "{verb}  {:<width$}  {}",
            path.as_str(),
            one_line(&note)
        )?;
    }
    for Proposal { path, action, .. } in proposals {
        if let Action::Add { lines, place } = action {
            writeln!(out)?;
            writeln!(
                out,
                "{}",
                styled(STRONG, format_args!("Add to {path}, {place}:"))
            )?;
            writeln!(out)?;
            lines
                .trim_end()
                .lines()
                .try_for_each(|line| writeln!(out, "{line}"))?;
        }
    }
    let is_complete = proposals
        .iter()
        .all(|proposal| proposal.action == Action::Keep);
    if written && !is_complete {
        write_next_steps(out, proposals)
    } else {
        Ok(())
    }
}

/// Lists the manual steps.
fn write_next_steps(out: &mut Text, proposals: &[Proposal]) -> fmt::Result {
    let jobs = proposals.iter().find(|proposal| match &proposal.action {
        Action::Create(text) => text.contains(INSTALLED_FROM),
        _ => false,
    });
    let mut steps = Vec::new();
    if proposals
        .iter()
        .any(|proposal| matches!(proposal.action, Action::Add { .. }))
    {
        steps.push("Add the lines above.".to_owned());
    }
    steps.extend(jobs.map(|jobs| {
        format!(
            "Set {INSTALLED_FROM} in {}, the source from which CI installs sipgen.",
            jobs.path
        )
    }));
    steps.push("Run `pre-commit install` to enable the hook.".to_owned());
    steps.push("Run `sipgen generate`, and review its messages and files.".to_owned());
    steps.push(
        "Run `git add`, and commit everything. SIPGEN.md lists the directories for an agent to apply.".to_owned(),
    );
    writeln!(out)?;
    writeln!(out, "{}", styled(STRONG, "Next:"))?;
    for (index, step) in steps.iter().enumerate() {
        writeln!(out, "  {}. {step}", index + 1)?;
    }
    Ok(())
}
