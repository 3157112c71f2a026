//! Site status for a terminal and as JSON.
//!
//! * `clusters`: requested and assigned hosts of each cluster, and the spare hosts.
//! * `listing`: the hosts of one rack or cluster.

mod clusters;
mod listing;

use serde::Serialize;

use crate::ask::capacity::{Capacity, LackingNodeSet, Loss};
use crate::ask::overview::{HardwareKind, HostOverview, Overview, Rack};
use crate::base::api::names::{ClusterKey, Part};
use crate::base::grouping::occurrences;
use crate::base::text::counted;
use crate::plan::host_state::HostState;
use crate::plan::machines::by_role_and_name;

use super::capacity::{write_lacking, write_worst_loss};
use super::{ReportText, STRONG, first_by, one_line, styled, width, write_heading, write_more};

/// Maximum numbers of racks and of quotas without `--all`.
const RACKS_SHOWN: usize = 8;
const QUOTAS_SHOWN: usize = 6;
/// Maximum number of kinds of hardware without `--all`.
const KINDS_SHOWN: usize = 8;

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
            let lacking = capacity.lacking.iter();
            let short = lacking.filter(|lacks| lacks.part.node.is_none()).cloned();
            let short: Vec<LackingNodeSet> = short.collect();
            if !short.is_empty() {
                write_heading(&mut out, "short");
                write_lacking(&mut out, &short, all);
            }
            clusters::write_spare(&mut out, overview, all);
            write_hardware(&mut out, overview, all);
            write_quotas(&mut out, overview, all);
            if let Some(label) = &capacity.by {
                let lost = format!("if all hosts of one {} are lost", one_line(label));
                write_heading(&mut out, lost);
                write_worst_loss(&mut out, capacity);
            }
            if all || overview.racks.len() <= RACKS_SHOWN {
                write_racks(&mut out, overview);
            } else {
                writeln!(out);
                writeln!(
                    out,
                    "--all shows the racks, --rack the hosts of one, `sipgen capacity` what else fits"
                )
            }
        }
        StatusFocus::Rack(name) => {
            let hosts: Vec<&HostOverview> =
                overview.hosts.iter().filter(|host| host.rack.as_deref() == name).collect();
            let name = name.map_or("hosts without a rack".to_owned(), |name| {
                format!("rack {}", one_line(name))
            });
            writeln!(out, "{}: {}", styled(STRONG, name), tally(hosts.iter().copied()));
            listing::write(&mut out, &hosts, all)
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
            listing::write(&mut out, &hosts, all)
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
        return write_heading(
            out,
            "no racks: no node set has a topologyKey; choose a label with --by",
        );
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
        let count = count.get(state)?;
        let more = if *state == HostState::Assigned && added > 0 {
            format!(" ({added} added)")
        } else {
            String::new()
        };
        Some(format!("{count} {}{more}", state.words()))
    };
    HostState::ALL.iter().filter_map(words).collect::<Vec<_>>().join(", ")
}
