//! Summary of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::phrases;
use super::plan::{sentence, write_dangers};
use super::{CLUSTERS_SHOWN, ERROR, ReportText, STRONG, SiteRuns, one_line, styled, write_more};
use crate::base::api::names::ClusterKey;
use crate::base::finding::Finding;
use crate::base::grouping::occurrences;
use crate::base::text::{counted, joined};
use crate::generate::GeneratedSite;
use crate::plan::{AssignmentMethod, Plan};
use crate::review::effects::{ChangeCounts, FileState, Review, outlived};

/// Maximum numbers of hosts of a cluster, and of dangers, in a summary.
const HOSTS_SHOWN: usize = 6;
const DANGERS_SHOWN: usize = 20;

/// Formats the reason why a command could not run. Further lines follow below the first.
pub fn failure(message: &str) -> ReportText {
    format!("{}: {}\n", styled(ERROR, "error"), message.trim_end()).into()
}

/// Summarizes a run. `written` tells whether the changes are on disk.
pub fn summary(generated: &GeneratedSite, written: bool) -> ReportText {
    let GeneratedSite { site, plan, tree, changes, findings, .. } = generated;
    let mut out = ReportText::default();
    if let Some(changes) = changes {
        let review = Review::new(changes, tree, site);
        write_review(&mut out, &review);
        write_plan(&mut out, plan, &review);
        write_changes(&mut out, review.totals.files, written);
    }
    write_failures(&mut out, findings, changes.is_some());
    out
}

/// Summarizes a run over several sites.
pub fn summary_of_sites(found: &[Finding], runs: &SiteRuns<'_>, written: bool) -> ReportText {
    let mut out = ReportText::default();
    let all = || runs.iter().map(|(_, run)| run);
    let placements = all().flat_map(|run| run.plan.clusters.values());
    let sites = counted(runs.len(), "site");
    let clusters = counted(placements.clone().count(), "cluster");
    let hosts = counted(placements.flat_map(BTreeMap::values).flatten().count(), "host");
    writeln!(out, "{}", styled(STRONG, format_args!("{sites}: {clusters}, {hosts} assigned")));
    if all().all(|run| run.changes.is_none()) {
        writeln!(out, "no files written in any site");
    } else {
        let files = all().flat_map(|run| &run.changes).flat_map(|changes| changes.files.values());
        write_changes(&mut out, files.map(FileState::from).collect(), written);
    }
    let failed = runs.iter().filter(|(_, run)| run.findings.iter().any(Finding::is_error));
    let failed = joined(failed.map(|(site, _)| &site.name), ", ");
    if !failed.is_empty() {
        writeln!(out, "{}: {}", styled(ERROR, "errors in"), one_line(&failed));
    }
    let about_sites = found.iter().filter(|finding| finding.is_error()).count();
    if about_sites > 0 {
        writeln!(out, "{} across sites", styled(ERROR, counted(about_sites, "error")));
    }
    out
}

fn write_review(out: &mut ReportText, review: &Review) {
    write_dangers(out, review.dangers.iter().take(DANGERS_SHOWN));
    write_more(out, 0, review.dangers.len().saturating_sub(DANGERS_SHOWN), "danger", "");
    let cluster_lines = review.clusters.iter().filter_map(|cluster| sentence(cluster, HOSTS_SHOWN));
    let outlived = outlived(&review.clusters, &review.shared).map(|released| {
        let by = released.by.as_ref().map_or("a cluster".to_owned(), ToString::to_string);
        format!("{} releases {}, which still has its labels", styled(STRONG, by), released.host)
    });
    let lines: Vec<String> = cluster_lines.chain(outlived).collect();
    lines.iter().take(CLUSTERS_SHOWN).for_each(|line| writeln!(out, "{line}"));
    write_more(out, 0, lines.len().saturating_sub(CLUSTERS_SHOWN), "cluster", "")
}

fn write_plan(out: &mut ReportText, plan: &Plan, review: &Review) {
    let assigned = plan.clusters.values().flat_map(BTreeMap::values).flatten();
    let count = occurrences(assigned.map(|assigned| assigned.how));
    let of = |how| count.get(&how).copied().unwrap_or_default();
    let given_back: usize = plan.given_back.values().map(Vec::len).sum();
    let clusters = counted(plan.clusters.len(), "cluster");
    let (hosts, added) = (counted(count.values().sum(), "host"), of(AssignmentMethod::Added));
    let mut total = format!("{clusters}: {hosts} assigned, {added} added, {given_back} released");
    if of(AssignmentMethod::Adopted) > 0 {
        total += &format!(", {} adopted", of(AssignmentMethod::Adopted));
    }
    writeln!(out, "{}", styled(STRONG, total));
    let note = phrases::added_of_unknown_use(&review.totals);
    note.into_iter().for_each(|line| writeln!(out, "{line}"))
}

fn write_changes(out: &mut ReportText, counts: ChangeCounts, written: bool) {
    if counts.all() == 0 {
        return writeln!(out, "no file changes");
    }
    let ChangeCounts { created, changed, deleted } = counts;
    let files = counted(counts.all(), "file");
    let written = if written { "written" } else { "would be written" };
    writeln!(out, "{files} {written}: {created} created, {changed} changed, {deleted} deleted")
}

fn write_failures(out: &mut ReportText, findings: &[Finding], others_written: bool) {
    let errors = findings.iter().filter(|finding| finding.is_error());
    let failed: BTreeSet<&ClusterKey> =
        errors.clone().flat_map(|finding| &finding.clusters).collect();
    let count = errors.count();
    if count == 0 {
        return;
    }
    let failed = joined(failed.iter().take(CLUSTERS_SHOWN), ", ");
    let of = if failed.is_empty() { failed } else { format!(" in {failed}") };
    let left = if others_written { "affected clusters left unchanged" } else { "no files written" };
    writeln!(out, "{}: {}", styled(ERROR, format_args!("{}{of}", counted(count, "error"))), left)
}
