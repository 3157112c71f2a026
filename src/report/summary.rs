//! What a run came to, in a few lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::{CLUSTERS_SHOWN, ERROR, STRONG, styled};
use crate::Generated;
use crate::api::names::ClusterKey;
use crate::compare::{Change, Changes};
use crate::finding::{Finding, counted};
use crate::plan::{How, Plan};
use crate::site::Site;

/// How many hosts of a cluster a summary names.
const HOSTS_SHOWN: usize = 6;

/// What a run came to, at a glance. `written` says whether the changes are on the disk by now.
pub fn summary(generated: &Generated, written: bool) -> String {
    let Generated { site, plan, changes, findings, .. } = generated;
    let mut out = String::new();
    let _ = match changes {
        Some(changes) => write_plan(&mut out, site, plan).and_then(|()| write_changes(&mut out, changes, written)),
        None => Ok(()),
    };
    let _ = write_failures(&mut out, findings, changes.is_some());
    out
}

fn write_plan(out: &mut String, site: &Site, plan: &Plan) -> fmt::Result {
    let mut lines: Vec<String> = Vec::new();
    for (cluster, placement) in &plan.clusters {
        let of = |how: How| {
            let hosts = placement.values().flatten().filter(move |assigned| assigned.how == how);
            hosts.map(|assigned| site.inventory.hosts[assigned.host].key.to_string()).collect::<Vec<_>>()
        };
        let given_back = plan.given_back.get(cluster).into_iter().flatten().map(ToString::to_string).collect();
        let parts = [("adds", of(How::Added)), ("adopts", of(How::Adopted)), ("gives back", given_back)];
        lines.extend(line(cluster, &parts));
    }
    let deleted = plan.given_back.iter().filter(|(cluster, _)| !site.clusters.contains_key(cluster));
    for (cluster, hosts) in deleted {
        let hosts = hosts.iter().map(ToString::to_string).collect();
        lines.extend(line(cluster, &[("is gone, and gives back", hosts)]));
    }
    for line in lines.iter().take(CLUSTERS_SHOWN) {
        writeln!(out, "{line}")?;
    }
    if lines.len() > CLUSTERS_SHOWN {
        writeln!(out, "… and {} more clusters", lines.len() - CLUSTERS_SHOWN)?;
    }

    let mut count: BTreeMap<How, usize> = BTreeMap::new();
    for assigned in plan.clusters.values().flat_map(BTreeMap::values).flatten() {
        *count.entry(assigned.how).or_default() += 1;
    }
    let of = |how| count.get(&how).copied().unwrap_or_default();
    let given_back: usize = plan.given_back.values().map(Vec::len).sum();
    let mut total = format!(
        "{}: {} assigned, {} added, {given_back} given back",
        counted(plan.clusters.len(), "cluster"),
        counted(count.values().sum(), "host"),
        of(How::Added)
    );
    if of(How::Adopted) > 0 {
        write!(total, ", {} adopted by their labels", of(How::Adopted))?;
    }
    writeln!(out, "{}", styled(STRONG, total))
}

/// `tenant-a/edge adds lab-a1, lab-b1; gives back lab-c1`, or nothing when the cluster stays as it is.
fn line(cluster: &ClusterKey, parts: &[(&str, Vec<String>)]) -> Option<String> {
    let described: Vec<String> = parts
        .iter()
        .filter(|(_, hosts)| !hosts.is_empty())
        .map(|(verb, hosts)| {
            let more = hosts.len().saturating_sub(HOSTS_SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{verb} {}{more}", hosts[..hosts.len().min(HOSTS_SHOWN)].join(", "))
        })
        .collect();
    (!described.is_empty()).then(|| format!("{} {}", styled(STRONG, cluster), described.join("; ")))
}

fn write_changes(out: &mut String, changes: &Changes, written: bool) -> fmt::Result {
    let count = |is: fn(&Change) -> bool| changes.files.values().filter(|change| is(change)).count();
    if changes.files.is_empty() {
        return writeln!(out, "no file changes");
    }
    writeln!(
        out,
        "{} {}: {} created, {} changed, {} deleted",
        counted(changes.files.len(), "file"),
        if written { "written" } else { "would be written" },
        count(|change| matches!(change, Change::Create { .. })),
        count(|change| matches!(change, Change::Update { .. })),
        count(|change| matches!(change, Change::Delete { .. })),
    )
}

fn write_failures(out: &mut String, findings: &[Finding], others_written: bool) -> fmt::Result {
    let errors = findings.iter().filter(|finding| finding.is_error());
    let failed: BTreeSet<&ClusterKey> = errors.clone().flat_map(|finding| &finding.clusters).collect();
    let count = errors.count();
    if count == 0 {
        return Ok(());
    }
    let failed: Vec<String> = failed.iter().take(CLUSTERS_SHOWN).map(ToString::to_string).collect();
    let of = if failed.is_empty() { String::new() } else { format!(" in {}", failed.join(", ")) };
    let left = if others_written { "left as it was" } else { "no file was changed" };
    writeln!(out, "{}: {}", styled(ERROR, format_args!("{}{of}", counted(count, "error"))), left)
}
