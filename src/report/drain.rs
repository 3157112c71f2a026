//! Plans of moves that empty hosts.

use serde::Serialize;

use super::capacity::{lacking_words, write_purchase};
use super::{ERROR, ReportText, STRONG, WARNING, one_line, plain, styled, write_heading};
use crate::ask::drain::{Drain, DrainMove, DrainVerdict, Occupant};
use crate::base::text::{abbreviated, counted};

/// Maximum number of unused hosts that a text names.
const HOSTS_SHOWN: usize = 20;

/// A plan of moves in words, for pages.
#[derive(Debug, Serialize)]
pub(super) struct DrainWords<'d> {
    verdict: String,
    steps: Vec<Vec<MoveWords<'d>>>,
}

#[derive(Debug, Serialize)]
struct MoveWords<'d> {
    #[serde(flatten)]
    made: &'d DrainMove,
    details: Vec<String>,
}

impl<'d> DrainWords<'d> {
    pub(super) fn new(drain: &'d Drain) -> Self {
        let words = |made: &'d DrainMove| MoveWords { made, details: details(made) };
        let steps = drain.steps.iter().map(|step| step.moves.iter().map(words).collect());
        Self { verdict: verdict(drain), steps: steps.collect() }
    }
}

/// Formats a plan of moves.
pub fn drain(drain: &Drain) -> ReportText {
    let mut out = ReportText::default();
    let style = match drain.verdict {
        DrainVerdict::Planned => STRONG,
        DrainVerdict::Undecided => WARNING,
        DrainVerdict::Impossible | DrainVerdict::NoOrder => ERROR,
    };
    writeln!(out, "{}", styled(style, verdict(drain)));
    let bound = drain.bound.iter();
    let bound = bound.map(|it| format!("{} of {} cannot move: {}", it.host, it.cluster, it.why));
    for line in bound.chain(drain.lacking.iter().map(lacking_words)) {
        writeln!(out, "  {}", one_line(&line));
    }
    if let Some(purchase) = &drain.purchase {
        write_heading(&mut out, "to buy, if no other host moves");
        write_purchase(&mut out, purchase);
    }
    if !drain.waiting.is_empty() {
        write_heading(&mut out, "replaced, and waiting for a snapshot that shows them unused");
        for occupant in &drain.waiting {
            writeln!(out, "  {}: {}", set(occupant), plain(&occupant.host));
            first(occupant).iter().for_each(|line| writeln!(out, "    {}", one_line(line)));
        }
    }
    for (number, step) in (1..).zip(&drain.steps) {
        write_heading(&mut out, format_args!("step {number}"));
        if step.moves.is_empty() {
            writeln!(out, "  no move: wait until the hosts above are released");
        }
        for made in &step.moves {
            let (from, to) = (plain(&made.from.host), plain(&made.to));
            writeln!(out, "  {}: {from} -> {to}", set(&made.from));
            details(made).iter().for_each(|more| writeln!(out, "    {}", one_line(more)));
        }
    }
    if !drain.unused.is_empty() {
        let hosts = abbreviated(&drain.unused, HOSTS_SHOWN);
        write_heading(&mut out, "unused, and no target of a move");
        writeln!(out, "  {}", one_line(&hosts));
    }
    if drain.moves > 0 {
        let at_once = counted(drain.at_once, "host");
        writeln!(out);
        writeln!(
            out,
            "Per cluster, at most {at_once} per step, and one member of a control plane: it leaves after its \
             replacement has joined, so the quorum is kept. Start the next step when a snapshot shows \
             the released hosts unused."
        );
    }
    out
}

fn verdict(drain: &Drain) -> String {
    match drain.verdict {
        DrainVerdict::Planned if drain.moves == 0 => {
            let has_waiting = !drain.waiting.is_empty();
            let why = if has_waiting { "other hosts have replaced" } else { "no cluster has" };
            format!("no move needed: {why} these hosts")
        }
        DrainVerdict::Planned => {
            let proof = match (drain.has_fewest_moves, drain.has_fewest_steps) {
                (true, true) => "fewer are impossible",
                (true, false) => "fewer moves are impossible, fewer steps may be possible",
                (false, _) => "fewer may be possible",
            };
            let (moves, steps) = (counted(drain.moves, "move"), counted(drain.steps.len(), "step"));
            format!("{moves} in {steps}; {proof}")
        }
        DrainVerdict::Impossible if drain.steps.is_empty() => {
            "the hosts cannot be emptied: the other hosts do not suffice".to_owned()
        }
        DrainVerdict::Impossible => {
            format!("{} cannot be emptied; the others can", counted(drain.bound.len(), "host"))
        }
        DrainVerdict::NoOrder => {
            "the hosts cannot be emptied: no order of moves keeps every constraint".to_owned()
        }
        DrainVerdict::Undecided => {
            "undecided: the search for moves of other hosts ended at its limit".to_owned()
        }
    }
}

fn set(occupant: &Occupant) -> String {
    one_line(&format!("{} {}", occupant.cluster, occupant.part))
}

/// Returns why a host moves that is not drained, and what releases it.
fn details(made: &DrainMove) -> Vec<String> {
    made.reason.iter().map(|reason| format!("because {reason}")).chain(first(&made.from)).collect()
}

/// Returns what to do so that the host is released.
fn first(occupant: &Occupant) -> Option<String> {
    let command = occupant.machine.as_ref().map(|machine| machine.command.clone());
    command.or_else(|| {
        let why = occupant.in_use.as_ref()?;
        Some(format!("{why}: move its workload, and release the host from its user first"))
    })
}
