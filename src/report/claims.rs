//! Resources that two open changes claim, as text and Markdown.

use std::fmt::{Display, Write};

use super::phrases::Name;
use super::plan::plain;
use super::{ERROR, ReportText, styled};
use crate::ask::difference::claims::{
    ClaimKind, MergeConflict, MergeOutcome, OpenChange, SharedClaim,
};
use crate::base::api::names::HostKey;

/// Number of claims that a text lists per branch.
const SHOWN: usize = 20;

/// Formats the conflicts with other open changes.
pub fn open_changes(changes: &[OpenChange]) -> ReportText {
    let mut text = String::new();
    for change in changes {
        if change.is_independent() {
            let _ = writeln!(text, "{}", independent(change, &plain));
        }
        let lines = dangers(change, &plain).chain(outcomes(change, &plain));
        let direct = dangers(change, &plain).count();
        for (index, line) in lines.enumerate() {
            // An outcome without a direct conflict is a danger by itself.
            let _ = if index < direct || direct == 0 {
                writeln!(text, "{} {line}", styled(ERROR, "danger:"))
            } else {
                writeln!(text, "    {line}")
            };
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.into()
}

/// Formats the conflicts with another open change as Markdown, one block.
pub(super) fn as_markdown(change: &OpenChange, name: Name<'_>) -> String {
    if change.is_independent() {
        return format!("{}\n\n", independent(change, name));
    }
    let mut text = "> [!CAUTION]\n".to_owned();
    for line in dangers(change, name).chain(outcomes(change, name)) {
        let _ = writeln!(text, "> - {line}");
    }
    text.push('\n');
    text
}

fn independent(change: &OpenChange, name: Name<'_>) -> String {
    format!("branch {} and this change are independent", name(&change.branch))
}

fn dangers<'a>(change: &'a OpenChange, name: Name<'a>) -> impl Iterator<Item = String> + 'a {
    let branch = name(&change.branch);
    let claims = change.claims.iter().take(SHOWN).map({
        let branch = branch.clone();
        move |claim| shared_claim(claim, &branch, name)
    });
    let more = change.claims.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("branch {branch} also claims {more} more resources"));
    let conflicts = change
        .conflicts
        .iter()
        .take(SHOWN)
        .map(move |conflict| file_conflict(conflict, &branch, name));
    claims.chain(more).chain(conflicts)
}

fn shared_claim(claim: &SharedClaim, branch: &str, name: Name<'_>) -> String {
    let kind = match claim.kind {
        ClaimKind::Host => "host",
        ClaimKind::Cluster => "the cluster name",
        ClaimKind::NodePort => "NodePort",
        ClaimKind::Service => "the service name",
    };
    let resource = name(&claim.name);
    if claim.kind == ClaimKind::Cluster {
        return format!("branch {branch} also claims {kind} {resource}");
    }
    format!(
        "branch {branch} also claims {kind} {resource}: for {} here, for {} there",
        name(&claim.here),
        name(&claim.there)
    )
}

fn file_conflict(conflict: &MergeConflict, branch: &str, name: Name<'_>) -> String {
    let path = name(&conflict.path);
    let generated = if conflict.generated { ", a generated file" } else { "" };
    format!("branch {branch} conflicts with this change in {path}{generated}")
}

/// Formats the outcomes, that of this change first.
fn outcomes(change: &OpenChange, name: Name<'_>) -> Vec<String> {
    let branch = name(&change.branch);
    let firsts = [
        (format!("if {branch} is merged first"), &change.if_merged_first),
        ("if this change is merged first".to_owned(), &change.if_merged_second),
    ];
    let mut lines = Vec::new();
    for (first, outcome) in firsts {
        match outcome {
            Some(outcome) if *outcome == MergeOutcome::default() => {}
            Some(outcome) => lines.push(format!("{first}: {}", effects(outcome, name))),
            None => {
                lines.push(
                    "the effect of either merge is unknown until the conflicts in inputs are resolved"
                        .to_owned(),
                );
                break;
            }
        }
    }
    lines
}

fn effects(outcome: &MergeOutcome, name: Name<'_>) -> String {
    let list = |hosts: &[HostKey]| {
        let names = hosts.iter().map(|host| name(host as &dyn Display));
        names.collect::<Vec<_>>().join(", ")
    };
    let clusters = outcome.clusters.iter().map(|of| {
        let (cluster, without) = (name(&of.cluster), list(&of.without));
        if of.instead.is_empty() {
            format!("{cluster} does not get {without}")
        } else {
            format!("{cluster} gets {} instead of {without}", list(&of.instead))
        }
    });
    let errors = outcome.errors.iter().map(|error| name(error));
    clusters.chain(errors).collect::<Vec<_>>().join("; ")
}
