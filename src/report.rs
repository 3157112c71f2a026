//! Findings, changes and plans in words, for people. Nothing is printed here: text goes in, text comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use camino::Utf8Path;
use similar::{ChangeTag, TextDiff};

use crate::Generated;
use crate::api::names::ClusterKey;
use crate::compare::{Change, Changes};
use crate::finding::{Finding, Severity, counted};
use crate::plan::explain::{
    AssignedHost, Assignment, ClusterExplanation, HostExplanation, NodeSetExplanation, RefusedBy,
};
use crate::plan::{How, Plan, Shortage};
use crate::render::values::Given;
use crate::site::Site;
use crate::source::{Texts, Worktree};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const STRONG: Style = Style::new().bold();
const FAINT: Style = AnsiColor::Cyan.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// How many clusters and how many hosts of each a summary names.
const CLUSTERS_SHOWN: usize = 20;
const HOSTS_SHOWN: usize = 6;
/// How many findings of one severity are shown, and how many places of each.
const FINDINGS_SHOWN: usize = 100;
const PLACES_SHOWN: usize = 10;
/// How many unchanged lines a diff shows around a change.
const CONTEXT: usize = 3;

/// A text in a style.
fn styled(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Findings, the warnings first, so that the errors stand where a reader's eyes are in the end.
pub fn findings(findings: &[Finding], worktree: &Worktree) -> String {
    let mut by_severity: Vec<&Finding> = findings.iter().collect();
    by_severity.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut texts = Texts::new(worktree);
    let mut out = String::new();
    for of_severity in by_severity.chunk_by(|a, b| a.severity == b.severity) {
        for finding in of_severity.iter().take(FINDINGS_SHOWN) {
            // Writing to a String cannot fail.
            let _ = write_finding(&mut out, finding, &mut texts);
        }
        if of_severity.len() > FINDINGS_SHOWN {
            let _ = writeln!(out, "… and {} more of these\n", of_severity.len() - FINDINGS_SHOWN);
        }
    }
    out
}

fn write_finding(out: &mut String, finding: &Finding, texts: &mut Texts<'_>) -> fmt::Result {
    let word = match finding.severity {
        Severity::Error => styled(ERROR, "error"),
        Severity::Warning => styled(WARNING, "warning"),
    };
    writeln!(out, "{word}: {}", styled(STRONG, one_line(&finding.message)))?;
    for (place, what) in finding.places.iter().take(PLACES_SHOWN) {
        let position = texts.position(place).to_string();
        let what = what.as_ref().map_or(String::new(), |what| format!("  ({})", one_line(what)));
        writeln!(out, "  {} {}{what}", styled(FAINT, "-->"), one_line(&position))?;
    }
    if finding.places.len() > PLACES_SHOWN {
        writeln!(out, "  {} and {} more places", styled(FAINT, "-->"), finding.places.len() - PLACES_SHOWN)?;
    }
    for (index, line) in finding.help.iter().flat_map(|help| help.lines()).enumerate() {
        let word = if index == 0 { "help:" } else { "     " };
        writeln!(out, "  {} {}", styled(FAINT, word), one_line(line))?;
    }
    writeln!(out)
}

/// A text that stays on its line whatever names are in it: a line break could make a name look like an error, and
/// other control characters could move the terminal's cursor.
fn one_line(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// What a template is given, as a table.
pub fn given(values: &[Given]) -> String {
    let width = |of: fn(&Given) -> &str| values.iter().map(|value| of(value).chars().count()).max().unwrap_or_default();
    let (name, kind) = (width(|value| &value.name), width(|value| &value.kind));
    let row = |value: &Given| format!("{:name$}  {:kind$}  {}\n", value.name, value.kind, value.meaning);
    values.iter().map(row).collect()
}

/// Changes as a unified diff, as `git apply` takes it.
pub fn diff(changes: &Changes) -> String {
    let mut out = String::new();
    for (path, change) in &changes.files {
        let (before, after) = match change {
            Change::Create { after } => (None, Some(after.as_str())),
            Change::Update { before, after } => (Some(before.as_str()), Some(after.as_str())),
            Change::Delete { before } => (Some(before.as_str()), None),
        };
        let _ = write_diff(&mut out, path, before, after);
    }
    out
}

fn write_diff<'a>(out: &mut String, path: &Utf8Path, before: Option<&'a str>, after: Option<&'a str>) -> fmt::Result {
    writeln!(out, "{}", styled(STRONG, format_args!("diff --git a/{path} b/{path}")))?;
    match (before, after) {
        (None, _) => writeln!(out, "{}", styled(STRONG, "new file mode 100644"))?,
        (_, None) => writeln!(out, "{}", styled(STRONG, "deleted file mode 100644"))?,
        _ => {}
    }
    let name = |side: &str, text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| format!("{side}/{path}"));
    writeln!(out, "{}", styled(STRONG, format_args!("--- {}", name("a", before))))?;
    writeln!(out, "{}", styled(STRONG, format_args!("+++ {}", name("b", after))))?;
    // As git cuts lines: a carriage return alone ends none.
    let lines = |text: Option<&'a str>| text.unwrap_or_default().split_inclusive('\n').collect::<Vec<&str>>();
    let (before, after) = (lines(before), lines(after));
    let diff = TextDiff::from_slices(&before, &after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        writeln!(out, "{}", styled(FAINT, hunk.header()))?;
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Delete => ('-', REMOVED),
            };
            let line = change.value();
            writeln!(out, "{}", styled(style, format_args!("{sign}{}", line.strip_suffix('\n').unwrap_or(line))))?;
            if !line.ends_with('\n') {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}

/// What a run came to, at a glance. `written` says whether the changes are on the disk by now.
pub fn summary(generated: &Generated, written: bool) -> String {
    let Generated { site, plan, changes, findings } = generated;
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

/// Why a cluster has the hosts that it has.
pub fn explain_cluster(cluster: &ClusterExplanation) -> String {
    let mut out = String::new();
    let _ = write_cluster(&mut out, cluster);
    out
}

fn write_cluster(out: &mut String, explanation: &ClusterExplanation) -> fmt::Result {
    let ClusterExplanation { cluster, priority, left_as_it_is, node_sets, gives_back } = explanation;
    let priority = if *priority == 0 { String::new() } else { format!(", priority {priority}") };
    let left = if *left_as_it_is { ": has errors, and is left as it is" } else { "" };
    writeln!(out, "{}{priority}{left}", styled(STRONG, format_args!("cluster {cluster}")))?;
    for NodeSetExplanation { role, wanted, hosts, shortage } in node_sets {
        let style = if hosts.len() < *wanted { ERROR } else { STRONG };
        writeln!(out, "  {}", styled(style, format_args!("{role}: has {} of {wanted}", counted(hosts.len(), "host"))))?;
        let width = hosts.iter().map(|host| host.host.to_string().len()).max().unwrap_or_default();
        for AssignedHost { host, how, domains } in hosts {
            let domains: String = domains.iter().map(|(key, value)| format!("  {key}={value}")).collect();
            let line = format!("    {:width$}  {:<7}{domains}", host.to_string(), how_in_words(*how));
            writeln!(out, "{}", line.trim_end())?;
        }
        for line in shortage.iter().flat_map(Shortage::proof) {
            writeln!(out, "    {line}")?;
        }
    }
    for host in gives_back {
        writeln!(out, "  gives back {host}")?;
    }
    Ok(())
}

/// Whose a host is, or why it is nobody's.
pub fn explain_host(host: &HostExplanation) -> String {
    let mut out = String::new();
    let _ = write_host(&mut out, host);
    out
}

fn write_host(out: &mut String, explanation: &HostExplanation) -> fmt::Result {
    let HostExplanation { host, assigned, facts, refused, .. } = explanation;
    let whose = match assigned {
        Some(Assignment { cluster, role, how }) => {
            let how = how.map_or("stays, as the cluster has errors", how_in_words);
            format!("{role} of {cluster} ({how})")
        }
        None => "nobody's".to_owned(),
    };
    writeln!(out, "{}: {}", styled(STRONG, format_args!("host {host}")), one_line(&whose))?;
    for fact in facts {
        writeln!(out, "  {}", one_line(fact))?;
    }
    let names: Vec<String> = refused.iter().map(|refused| format!("{} {}", refused.cluster, refused.role)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    if !refused.is_empty() {
        writeln!(out, "  {}", styled(STRONG, "why others do not have it"))?;
    }
    for (name, RefusedBy { why, .. }) in names.iter().zip(refused) {
        let why = why.as_deref().unwrap_or("would do, and is not needed");
        writeln!(out, "    {name:width$}  {}", one_line(why))?;
    }
    Ok(())
}

fn how_in_words(how: How) -> &'static str {
    match how {
        How::Stays => "stays",
        How::Adopted => "adopted",
        How::Added => "picked",
    }
}
