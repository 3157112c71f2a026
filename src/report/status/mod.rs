//! Site status for a terminal and as JSON.
//!
//! * `clusters`: requested and assigned hosts of each cluster, and the spare hosts.

mod clusters;

use serde::Serialize;

use crate::ask::capacity::{Capacity, LackingNodeSet, Loss};
use crate::ask::overview::{HardwareKind, HostOverview, Overview, Rack};
use crate::base::api::hardware::UNKNOWN_KIND;
use crate::base::api::names::{ClusterKey, Part};
use crate::base::grouping::occurrences;
use crate::base::text::{counted, joined};
use crate::plan::AssignmentMethod;
use crate::plan::host_state::HostState;
use crate::plan::machines::by_role_and_name;

use super::capacity::{write_lacking, write_loss_heading, write_worst_loss};
use super::{ReportText, STRONG, first_by, one_line, styled, width, write_heading, write_more};

/// Maximum numbers of racks and of quotas without `--all`.
const RACKS_SHOWN: usize = 8;
const QUOTAS_SHOWN: usize = 6;
/// Maximum numbers of kinds of hardware, and of hosts of a rack or cluster, without `--all`.
const KINDS_SHOWN: usize = 8;
const HOSTS_SHOWN: usize = 100;

/// Part of a site to show.
#[derive(Debug, Clone, Copy)]
pub enum StatusFocus<'a> {
    /// The whole site.
    Site,
    /// One rack and its hosts. Without a name: the hosts without a rack.
    Rack(Option<&'a str>),
    /// One cluster and its hosts.
    Cluster(&'a ClusterKey),
}

/// Output of `sipgen status --format json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport<'a> {
    /// The planned site.
    #[serde(flatten)]
    pub overview: &'a Overview,
    /// Node sets that lack hosts.
    pub short: &'a [LackingNodeSet],
    /// The loss of a topology domain that does most harm, if any does.
    pub worst_loss: Option<&'a Loss>,
}

impl<'a> StatusReport<'a> {
    /// Creates the output from a site and the summary of its capacity.
    pub fn new(overview: &'a Overview, capacity: &'a Capacity) -> Self {
        Self { overview, short: &capacity.lacking, worst_loss: capacity.worst_loss() }
    }
}

/// Renders the status of a site: clusters, short node sets, spare hosts, the worst loss and racks.
/// Shows `all` entries, however long the lists are.
pub fn status(
    overview: &Overview,
    capacity: &Capacity,
    focus: StatusFocus<'_>,
    all: bool,
) -> ReportText {
    let mut out = ReportText::default();
    match focus {
        StatusFocus::Site => {
            write_headline(&mut out, overview);
            clusters::write_all(&mut out, overview, all);
            // The table of clusters names machines without a host.
            let mut short = capacity.lacking.clone();
            short.retain(|lacks| lacks.part.node.is_none());
            if !short.is_empty() {
                write_heading(&mut out, "short");
                write_lacking(&mut out, &short, all);
            }
            clusters::write_spare(&mut out, overview, all);
            write_hardware(&mut out, overview, all);
            write_quotas(&mut out, overview, all);
            if let Some(label) = &capacity.by {
                write_loss_heading(&mut out, label);
                write_worst_loss(&mut out, capacity);
            }
            if all || overview.racks.len() <= RACKS_SHOWN {
                write_racks(&mut out, overview);
            } else {
                let more = "--all shows the racks, --rack the hosts of one, `sipgen capacity` what else fits";
                writeln!(out);
                writeln!(out, "{more}")
            }
        }
        StatusFocus::Rack(name) => {
            let hosts: Vec<&HostOverview> =
                overview.hosts.iter().filter(|host| host.rack.as_deref() == name).collect();
            let name = match name {
                Some(name) => format!("rack {}", one_line(name)),
                None => "hosts without a rack".to_owned(),
            };
            writeln!(out, "{}: {}", styled(STRONG, name), tally(hosts.iter().copied()));
            write_hosts(&mut out, &hosts, all)
        }
        StatusFocus::Cluster(key) => {
            clusters::write_one(&mut out, overview, key);
            let mut hosts: Vec<&HostOverview> =
                overview.hosts.iter().filter(|host| concerns(host, key)).collect();
            // Machines are sorted by role and name, other hosts stay in inventory order.
            hosts.sort_by(|a, b| match (machine(a), machine(b)) {
                (Some(a), Some(b)) => by_role_and_name(a, b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            });
            write_hosts(&mut out, &hosts, all)
        }
    }
    out
}

/// Returns the machine of a Provisioning that a host runs as.
fn machine(host: &HostOverview) -> Option<&Part> {
    host.assigned.as_ref().map(|assigned| &assigned.part).filter(|part| part.node.is_some())
}

/// Reports whether the cluster has the host, or releases it.
fn concerns(host: &HostOverview, cluster: &ClusterKey) -> bool {
    host.cluster() == Some(cluster) || host.given_back_by.as_ref() == Some(cluster)
}

/// Writes the quotas with their users. If there are too many, the fullest have priority.
fn write_quotas(out: &mut ReportText, overview: &Overview, all: bool) {
    if overview.quotas.is_empty() {
        return;
    }
    write_heading(out, "quotas");
    let (shown, left_out) = first_by(&overview.quotas, all, QUOTAS_SHOWN, |quota| quota.left());
    for quota in &shown {
        writeln!(out, "  {} of {}", quota.used(), one_line(&quota.to_string()));
    }
    write_more(out, 2, left_out, "quota", " with more hosts left; --all shows all")
}

/// Writes the kinds of hardware, the most common first.
fn write_hardware(out: &mut ReportText, overview: &Overview, all: bool) {
    if overview.hardware.is_empty() {
        return;
    }
    write_heading(out, "hardware");
    writeln!(out, "  hosts  free  kind");
    let (shown, left_out) = first_by(&overview.hardware, all, KINDS_SHOWN, |_| ());
    for HardwareKind { kind, hosts, free } in shown {
        writeln!(out, "  {hosts:>5}  {free:>4}  {}", one_line(kind));
    }
    write_more(out, 2, left_out, "kind", "; --all shows all")
}

/// Writes the racks with their hosts by state.
fn write_racks(out: &mut ReportText, overview: &Overview) {
    let Some(label) = &overview.by else {
        let why = "no racks: no node set has a topologyKey; choose a label with --by";
        return write_heading(out, why);
    };
    write_heading(out, "racks");
    let name = |rack: &Rack| match &rack.name {
        Some(name) => one_line(name),
        None => format!("without {}", one_line(label)),
    };
    let width = width(overview.racks.iter().map(name));
    for rack in &overview.racks {
        let hosts = rack.hosts.iter().map(|host| &overview.hosts[*host]);
        writeln!(out, "  {:width$}  {}", name(rack), tally(hosts));
    }
}

fn write_headline(out: &mut ReportText, overview: &Overview) {
    let named = overview.racks.iter().filter(|rack| rack.name.is_some()).count();
    let racks = match &overview.by {
        Some(label) => format!(" in {}, by {}", counted(named, "rack"), one_line(label)),
        None => String::new(),
    };
    let sites = format!("{}{racks}", counted(overview.hosts.len(), "host"));
    writeln!(out, "{}, {}", styled(STRONG, sites), counted(overview.clusters.len(), "cluster"));
    if !overview.hosts.is_empty() {
        writeln!(out, "{}", tally(&overview.hosts));
    }
}

/// Counts hosts by state: `14 assigned (2 added), 5 free, 1 failed`.
fn tally<'a>(hosts: impl IntoIterator<Item = &'a HostOverview>) -> String {
    let hosts: Vec<&HostOverview> = hosts.into_iter().collect();
    let count = occurrences(hosts.iter().map(|host| host.state));
    let added = hosts.iter().filter(|host| host.is_new()).count();
    let words = |state: &HostState| {
        let words = format!("{} {}", count.get(state)?, state.words());
        let has_added = *state == HostState::Assigned && added > 0;
        Some(if has_added { format!("{words} ({added} added)") } else { words })
    };
    joined(HostState::ALL.iter().filter_map(words), ", ")
}

/// Lists hosts with their owner, or the reason why they are unassigned.
fn write_hosts(out: &mut ReportText, hosts: &[&HostOverview], all: bool) {
    if hosts.is_empty() {
        return;
    }
    write_heading(out, "hosts");
    let shown = if all { hosts } else { &hosts[..hosts.len().min(HOSTS_SHOWN)] };
    let key_width = width(shown.iter().map(|host| host.key.to_string()));
    // They are omitted unless some are known.
    let mut kinds = shown.iter().filter_map(|host| host.hardware.as_deref());
    let has_kinds = kinds.any(|kind| kind != UNKNOWN_KIND);
    let kind = |host: &HostOverview| match host.hardware.as_deref() {
        Some(kind) if has_kinds => format!("{}  ", one_line(kind)),
        _ => String::new(),
    };
    let kind_width = width(shown.iter().map(|host| kind(host)));
    for host in shown {
        let (key, kind) = (host.key.to_string(), kind(host));
        writeln!(out, "  {key:key_width$}  {kind:kind_width$}{}", one_line(&words(host)));
    }
    write_more(out, 2, hosts.len() - shown.len(), "host", "; --all lists all");
    writeln!(out);
    writeln!(out, "  run `sipgen explain NS/NAME` for the reasons")
}

/// Describes the state of a host.
fn words(host: &HostOverview) -> String {
    let Some(assigned) = &host.assigned else {
        return match (&host.why_not_free, &host.given_back_by) {
            (Some(why), _) => why.clone(),
            (None, Some(cluster)) => format!("{} by {cluster}", host.state.words()),
            (None, None) => host.state.words().to_owned(),
        };
    };
    let mut words = vec![format!("{} of {}", assigned.part, assigned.cluster)];
    match assigned.how {
        Some(AssignmentMethod::Added) => words.push("added".to_owned()),
        Some(AssignmentMethod::Adopted) => words.push("adopted".to_owned()),
        Some(AssignmentMethod::Stays) | None => {}
    }
    words.extend(host.given_back_by.as_ref().map(|cluster| format!("released by {cluster}")));
    words.extend(host.failed.then(|| "has failed".to_owned()));
    words.extend(host.deleting.then(|| "is being deleted".to_owned()));
    words.join(", ")
}
