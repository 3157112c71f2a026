//! The consequences of a hypothesis, as text and JSON.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::json::Problem;
use super::plan::plan;
use super::{ERROR, ReportText, STRONG, WARNING, one_line, spare_words, styled, write_heading};
use crate::ask::what_if::{ClusterImpact, Consequences, NodeSetImpact, Quorum, SpareChange};
use crate::base::text::{abbreviated, counted, lower_bound};
use crate::input::load::Files;
use crate::review::effects::Review;
use crate::site::hypothesis::Hypothesis;

/// Maximum number of clusters in the verdict.
const CLUSTERS_SHOWN: usize = 3;

/// Version of the JSON format of [`WhatIf`].
const VERSION: u32 = 1;

/// Output of `sipgen what-if --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// The hypothesis, in sentences.
    pub hypothesis: Vec<String>,
    /// Whether every cluster can be served. Otherwise the exit code is 1.
    pub is_served: bool,
    /// Clusters that lose hosts or cannot be served.
    pub clusters: Vec<ClusterImpact>,
    /// Spare hosts by selector.
    pub spare: Vec<SpareChange>,
    /// What `sipgen generate` would change; null if errors prevent it.
    pub review: Option<Review>,
    /// Errors and warnings under the hypothesis.
    pub findings: Vec<Problem>,
    /// Remarks on how the answer was found, in sentences.
    pub notes: Vec<String>,
}

impl WhatIf {
    /// Converts consequences. `files` are those of the site.
    pub fn new(hypothesis: &Hypothesis, consequences: &Consequences, files: &Files) -> Self {
        let difference = &consequences.difference;
        Self {
            version: VERSION,
            hypothesis: hypothesis.sentences(),
            is_served: consequences.is_served,
            clusters: consequences.clusters.clone(),
            spare: consequences.spare.clone(),
            review: difference.known.as_ref().map(|(_, review)| review.clone()),
            findings: Problem::all(&difference.findings, files, usize::MAX),
            notes: difference.notes.clone(),
        }
    }
}

/// Formats the consequences: the verdict, what `sipgen diff` would show, and the details.
pub fn consequences(consequences: &Consequences) -> ReportText {
    let mut out = ReportText::default();
    writeln!(out, "{}", verdict(consequences));
    // Files alone are no consequence: they change with the lost hosts.
    let reviews = consequences.difference.known.iter().map(|(_, review)| review);
    if reviews.into_iter().any(|review| !(review.clusters.is_empty() && review.dangers.is_empty()))
    {
        out.push(&plan(&consequences.difference));
    }
    write_text(&mut out, consequences);
    out
}

fn verdict(consequences: &Consequences) -> String {
    if consequences.is_served {
        return styled(STRONG, "every cluster is served");
    }
    let short: BTreeSet<String> =
        shortages(consequences).map(|(impact, _)| impact.cluster.to_string()).collect();
    if short.is_empty() {
        return styled(ERROR, "not planned: the inputs have errors");
    }
    styled(ERROR, format!("not served: {}", one_line(&abbreviated(&short, CLUSTERS_SHOWN))))
}

fn write_text(out: &mut ReportText, consequences: &Consequences) {
    let clusters = consequences.clusters.iter();
    let quorums = clusters.filter_map(|impact| Some((impact, impact.control_plane.as_ref()?)));
    for (index, (impact, quorum)) in quorums.enumerate() {
        if index == 0 {
            write_heading(out, "control planes, before lost hosts are replaced");
        }
        let name = one_line(&impact.cluster.to_string());
        writeln!(out, "  {name}  {}", words(quorum));
    }
    for (index, (impact, set)) in shortages(consequences).enumerate() {
        if index == 0 {
            write_heading(out, "cannot be served");
        }
        let name = one_line(&format!("{} {}", impact.cluster, set.part));
        writeln!(out, "  {name}: {}", lacks(set));
    }
    if !consequences.spare.is_empty() {
        write_heading(out, "spare hosts by selector");
        writeln!(out, "  now  then  selector");
        for spare in &consequences.spare {
            let then = format!("{:>4}", spare.after);
            let then = if spare.after == 0 { styled(WARNING, then) } else { then };
            let SpareChange { before, selector, hardware, namespace, interfaces, .. } = spare;
            let hosts = spare_words((selector, hardware), namespace.as_deref(), interfaces);
            writeln!(out, "  {before:>3}  {then}  {}", one_line(&hosts));
        }
    }
}

fn shortages(found: &Consequences) -> impl Iterator<Item = (&ClusterImpact, &NodeSetImpact)> {
    let clusters = found.clusters.iter();
    let sets = clusters.flat_map(|impact| impact.node_sets.iter().map(move |set| (impact, set)));
    sets.filter(|(_, set)| set.then < set.wanted)
}

/// Describes the hosts that a node set lacks.
fn lacks(set: &NodeSetImpact) -> String {
    match set.lacks {
        0 => "waits for the other hosts of its cluster".to_owned(),
        lacks => {
            let lacks = lower_bound(lacks, set.may_lack_more);
            format!("lacks {lacks} of {}", counted(set.wanted, "host"))
        }
    }
}

fn words(quorum: &Quorum) -> String {
    let Quorum { members, left, needed } = quorum;
    let left_of = format!("{left} of {members} left, {needed} needed");
    match (quorum.is_kept(), quorum.tolerates()) {
        (false, _) => styled(ERROR, format_args!("{left_of}: quorum lost")),
        (true, 0) => {
            styled(WARNING, format_args!("{left_of}: quorum kept, no further loss tolerated"))
        }
        (true, more) => {
            format!("{left_of}: quorum kept, tolerates to lose {}", counted(more, "more member"))
        }
    }
}
