//! What `sipgen init` did, and what is left to do.

use std::fmt;

use anstyle::{AnsiColor, Style};

use super::{FAINT, STRONG, Text, WARNING, one_line, styled};
use crate::init::{Action, Proposal};

/// The variable of CI jobs that nobody but the repo's owners can set.
const INSTALLED_FROM: &str = "SIPGEN_SOURCE";
const DONE: Style = AnsiColor::Green.on_default();

/// What was proposed, file by file; then the lines that people have to add. `written` says whether the files are on
/// the disk by now.
pub fn proposals(proposals: &[Proposal], written: bool) -> Text {
    let mut out = Text::default();
    // Writing to a text cannot fail.
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
            Action::Add { .. } => (WARNING, "left as it is"),
            Action::Keep => (FAINT, "is there"),
            Action::Blocked(_) => (WARNING, "left out"),
        };
        let verb = styled(style, format_args!("{verb:<13}"));
        let note = match action {
            Action::Add { .. } => "is there, and lacks the lines below".to_owned(),
            Action::Keep => "has all it needs".to_owned(),
            Action::Blocked(what) => {
                format!("{what} is in the way: not a plain file of text, or no directory")
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

/// What people have to do themselves.
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
            "Set {INSTALLED_FROM} in {}: where CI installs sipgen from.",
            jobs.path
        )
    }));
    steps.push("`pre-commit install`, so that git runs the hook.".to_owned());
    steps.push("`sipgen generate`, and look at what it says and writes.".to_owned());
    steps.push(
        "`git add` and commit all of it. SIPGEN.md says what an agent has to apply.".to_owned(),
    );
    writeln!(out)?;
    writeln!(out, "{}", styled(STRONG, "Next:"))?;
    for (index, step) in steps.iter().enumerate() {
        writeln!(out, "  {}. {step}", index + 1)?;
    }
    Ok(())
}
