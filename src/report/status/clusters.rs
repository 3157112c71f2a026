//! What each cluster wants and has, and the spare hosts by selector.

use std::fmt::{self, Write};

use super::rack_map::Letters;
use super::write_heading;
use crate::api::names::ClusterKey;
use crate::finding::counted;
use crate::picture::{ClusterPicture, NodeSetPicture, Picture, Spare};
use crate::report::{ERROR, STRONG, WARNING, one_line, styled};

/// How many clusters, selectors and node sets of a selector are named, if not all are asked for.
const CLUSTERS_SHOWN: usize = 20;
const SELECTORS_SHOWN: usize = 12;
const NODE_SETS_SHOWN: usize = 3;

/// All clusters as a table; where they are many, those first that change or lack something.
pub(super) fn write_all(out: &mut String, picture: &Picture, letters: &Letters<'_>, all: bool) -> fmt::Result {
    write_heading(out, "clusters")?;
    if picture.clusters.is_empty() {
        return writeln!(out, "  none");
    }
    let limit = if all { picture.clusters.len() } else { CLUSTERS_SHOWN };
    let mut shown: Vec<usize> = (0..picture.clusters.len()).collect();
    shown.sort_by_key(|at| picture.clusters[*at].is_quiet());
    shown.truncate(limit);
    shown.sort_unstable();
    let shown: Vec<&ClusterPicture> = shown.into_iter().map(|at| &picture.clusters[at]).collect();

    let width =
        shown.iter().map(|cluster| cluster.key.to_string().len()).max().unwrap_or_default().max("cluster".len());
    let gutter = if matches!(letters, Letters::ByRole) { "" } else { "   " };
    writeln!(out, "  {gutter}{:width$}  role          active  standby  have", "cluster")?;
    for cluster in &shown {
        let letter = letters.of(&cluster.key);
        let letter = if letter.is_empty() { letter } else { format!("{letter}  ") };
        let key = cluster.key.to_string();
        if cluster.node_sets.is_empty() {
            let notes = notes(cluster).join(", ");
            writeln!(out, "  {letter}{key:width$}  {}", if notes.is_empty() { "no hosts wanted" } else { &notes })?;
        }
        for (number, set) in cluster.node_sets.iter().enumerate() {
            let first = number == 0;
            let mut notes = if first { notes(cluster) } else { Vec::new() };
            notes.extend(notes_of(set));
            let (letter, key) = if first { (letter.as_str(), key.as_str()) } else { (gutter, "") };
            let line = format!("  {letter}{key:width$}  {}  {}", counts(set), notes.join(", "));
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    let left_out = picture.clusters.len() - shown.len();
    if left_out > 0 {
        let (quiet, more) = (picture.clusters.iter().filter(|cluster| cluster.is_quiet()).count(), left_out);
        let nature = if quiet >= more { ", which have what they want" } else { "" };
        writeln!(out, "  … and {}{nature}; --all shows them all", counted(more, "more cluster"))?;
    }
    Ok(())
}

/// The numbers of a node set.
fn counts(set: &NodeSetPicture) -> String {
    let (active, standby) = match set.wanted {
        Some(wanted) => (wanted.active.to_string(), wanted.standby.to_string()),
        None => ("?".to_owned(), "?".to_owned()),
    };
    format!("{:12}  {active:>6}  {standby:>7}  {:>4}", set.part.to_string(), set.have)
}

/// What is worth saying of a cluster.
fn notes(cluster: &ClusterPicture) -> Vec<String> {
    let mut notes = Vec::new();
    if cluster.gone {
        notes.push(styled(WARNING, "gone"));
    }
    if !cluster.errors.is_empty() {
        notes.push(styled(ERROR, counted(cluster.errors.len(), "error")));
    }
    if !cluster.gives_back.is_empty() {
        notes.push(styled(WARNING, format_args!("gives {} back", counted(cluster.gives_back.len(), "host"))));
    }
    notes
}

/// What is worth saying of a node set.
fn notes_of(set: &NodeSetPicture) -> Vec<String> {
    let mut notes = Vec::new();
    match (set.short_of, set.missing()) {
        (0, 0) => {}
        (0, waiting) => notes.push(styled(WARNING, format_args!("{waiting} not placed"))),
        (short_of, _) => notes.push(styled(ERROR, format_args!("{short_of} missing"))),
    }
    if set.added > 0 {
        notes.push(format!("{} added", set.added));
    }
    notes
}

/// One cluster, with where it is reached and why it lacks what it lacks.
pub(super) fn write_one(out: &mut String, picture: &Picture, key: &ClusterKey) -> fmt::Result {
    let Some(cluster) = picture.clusters.iter().find(|cluster| cluster.key == *key) else { return Ok(()) };
    let notes = notes(cluster).join(", ");
    let notes = if notes.is_empty() { notes } else { format!(": {notes}") };
    writeln!(out, "{}{notes}", styled(STRONG, format_args!("cluster {key}")))?;
    for error in &cluster.errors {
        writeln!(out, "  {}: {}", styled(ERROR, "error"), one_line(error))?;
    }
    if !cluster.node_sets.is_empty() {
        writeln!(out, "  role          active  standby  have")?;
    }
    for set in &cluster.node_sets {
        let line = format!("  {}  {}", counts(set), notes_of(set).join(", "));
        writeln!(out, "{}", line.trim_end())?;
        for line in &set.shortage {
            writeln!(out, "    {}", one_line(line))?;
        }
    }
    if !cluster.endpoints.is_empty() {
        write_heading(out, "services")?;
    }
    let width = cluster.endpoints.iter().map(|endpoint| endpoint.service.len()).max().unwrap_or_default();
    for endpoint in &cluster.endpoints {
        let ports = endpoint.ports.join(", ");
        let reached = match &endpoint.address {
            Some(address) => format!("{address}:{ports}"),
            None => format!("NodePort {ports}"),
        };
        writeln!(out, "  {:width$}  {reached}", endpoint.service)?;
    }
    Ok(())
}

/// How many hosts there are for each selector; where they are many, those first that have the fewest free.
pub(super) fn write_spare(out: &mut String, picture: &Picture, all: bool) -> fmt::Result {
    if picture.spare.is_empty() {
        return Ok(());
    }
    write_heading(out, "spare hosts by selector")?;
    let mut shown: Vec<usize> = (0..picture.spare.len()).collect();
    if !all {
        shown.sort_by_key(|at| picture.spare[*at].free);
        shown.truncate(SELECTORS_SHOWN);
        shown.sort_unstable();
    }
    writeln!(out, "  matching  assigned  free  selector")?;
    for spare in shown.iter().map(|at| &picture.spare[*at]) {
        let Spare { matching, assigned, free, .. } = spare;
        let free = format!("{free:>4}");
        let free = if spare.free == 0 { styled(WARNING, free) } else { free };
        writeln!(out, "  {matching:>8}  {assigned:>8}  {free}  {}  ({})", selector(spare), node_sets(spare))?;
    }
    let left_out = picture.spare.len() - shown.len();
    if left_out > 0 {
        writeln!(out, "  … and {} with more free hosts; --all shows them all", counted(left_out, "more selector"))?;
    }
    Ok(())
}

fn selector(spare: &Spare) -> String {
    if spare.selector.is_empty() { "every host".to_owned() } else { one_line(&spare.selector) }
}

fn node_sets(spare: &Spare) -> String {
    let named = spare.node_sets.iter().take(NODE_SETS_SHOWN).map(|(cluster, part)| format!("{cluster} {part}"));
    let more = spare.node_sets.len().saturating_sub(NODE_SETS_SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}
