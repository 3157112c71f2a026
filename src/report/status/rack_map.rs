//! Rack map: one row per rack, one cell per host.
//!
//! A cell is a symbol followed by a mark or a blank. Both are distinct without colour.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anstyle::{AnsiColor, Style};

use super::{StatusFocus, StatusView, concerns, tally, write_heading};
use crate::ask::overview::{HostOverview, Overview, Rack};
use crate::base::api::names::{ClusterKey, Role};
use crate::base::text::counted;
use crate::plan::host_state::HostState;
use crate::report::{ERROR, FAINT, ReportText, STRONG, WARNING, one_line, styled};

/// Maximum numbers of racks, and of hosts in a rack, without `--all`.
const RACKS_SHOWN: usize = 40;
const CELLS_SHOWN: usize = 200;
/// Longer rack names get a line of their own, in characters.
const LONGEST_NAME: usize = 24;
const INDENT: &str = "  ";
/// Minimum number of cells on a line, however narrow the terminal is.
const FEWEST_CELLS: usize = 4;

/// Colours of clusters, used in rotation. Red and yellow are reserved for errors and warnings.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::BrightCyan,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightBlue,
];

/// Symbol for a host of a cluster outside the view.
const OF_ANOTHER: char = '-';

/// Remark on a host besides its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostRemark {
    Added,
    Failed,
    Deleting,
}

impl HostRemark {
    /// In the order of the legend.
    const ALL: [HostRemark; 3] = [HostRemark::Added, HostRemark::Failed, HostRemark::Deleting];

    /// Returns the most important mark, or none if the symbol already shows it.
    fn for_host(host: &HostOverview) -> Option<Self> {
        let is_assigned = host.state == HostState::Assigned;
        if is_assigned && host.deleting {
            Some(HostRemark::Deleting)
        } else if host.failed && host.state != HostState::Failed {
            Some(HostRemark::Failed)
        } else {
            host.is_new().then_some(HostRemark::Added)
        }
    }

    fn symbol(self) -> char {
        match self {
            HostRemark::Added => '+',
            HostRemark::Failed => '!',
            HostRemark::Deleting => '%',
        }
    }

    fn style(self) -> Style {
        match self {
            HostRemark::Added => STRONG,
            HostRemark::Failed => ERROR,
            HostRemark::Deleting => WARNING,
        }
    }

    fn words(self) -> &'static str {
        match self {
            HostRemark::Added => "added",
            HostRemark::Failed => "has failed",
            HostRemark::Deleting => "is being deleted",
        }
    }
}

/// Letters that identify clusters: upper case for control planes, lower case for workers.
pub(super) enum ClusterLetters<'a> {
    /// One letter per cluster in view; other clusters have none.
    ByCluster(BTreeMap<&'a ClusterKey, char>),
    /// More clusters than letters: `C` and `w` for any cluster.
    ByRole,
}

impl<'a> ClusterLetters<'a> {
    pub(super) fn new(overview: &'a Overview, focus: StatusFocus<'a>) -> Self {
        if let StatusFocus::Cluster(cluster) = focus {
            return ClusterLetters::ByCluster(BTreeMap::from([(cluster, 'A')]));
        }
        let in_rack: Option<BTreeSet<&ClusterKey>> = match focus {
            StatusFocus::Rack(name) => {
                let hosts = overview.hosts.iter().filter(|host| host.rack.as_deref() == name);
                Some(hosts.filter_map(HostOverview::cluster).collect())
            }
            _ => None,
        };
        let has_hosts: BTreeSet<&ClusterKey> =
            overview.hosts.iter().filter_map(HostOverview::cluster).collect();
        let clusters: Vec<&ClusterKey> = overview
            .clusters
            .iter()
            .map(|cluster| &cluster.key)
            .filter(|key| has_hosts.contains(key))
            .filter(|key| in_rack.as_ref().is_none_or(|in_rack| in_rack.contains(key)))
            .collect();
        if clusters.len() > ('A'..='Z').count() {
            return ClusterLetters::ByRole;
        }
        ClusterLetters::ByCluster(clusters.into_iter().zip('A'..='Z').collect())
    }

    /// Returns the coloured letter of a cluster, or a blank.
    pub(super) fn letter(&self, cluster: &ClusterKey) -> String {
        match self {
            ClusterLetters::ByCluster(letters) => match letters.get(cluster) {
                Some(letter) => styled(colour(*letter), letter),
                None => " ".to_owned(),
            },
            ClusterLetters::ByRole => String::new(),
        }
    }

    /// Formats a host as a symbol and a mark.
    pub(super) fn cell(&self, host: &HostOverview) -> String {
        let (symbol, style) = match &host.assigned {
            Some(assigned) => self.assigned(&assigned.cluster, assigned.part.role),
            None => unassigned(host.state),
        };
        let mark = match HostRemark::for_host(host).filter(|_| symbol != OF_ANOTHER) {
            Some(mark) => styled(mark.style(), mark.symbol()),
            None => " ".to_owned(),
        };
        format!("{}{mark}", styled(style, symbol))
    }

    fn assigned(&self, cluster: &ClusterKey, role: Role) -> (char, Style) {
        let (letter, style) = match self {
            ClusterLetters::ByCluster(letters) => match letters.get(cluster) {
                Some(letter) => (*letter, colour(*letter)),
                None => return (OF_ANOTHER, Style::new()),
            },
            ClusterLetters::ByRole if role == Role::ControlPlane => ('C', colour('A')),
            ClusterLetters::ByRole => ('W', colour('B')),
        };
        match role {
            Role::ControlPlane => (letter, style.bold()),
            Role::Worker => (letter.to_ascii_lowercase(), style),
        }
    }
}

fn colour(letter: char) -> Style {
    let number = usize::try_from(u32::from(letter) - u32::from('A')).unwrap_or_default();
    COLOURS[number % COLOURS.len()].on_default()
}

fn unassigned(state: HostState) -> (char, Style) {
    match state {
        HostState::Free => ('.', AnsiColor::Green.on_default()),
        HostState::Installed => ('o', AnsiColor::Green.on_default()),
        HostState::Failed => ('!', ERROR),
        HostState::GivenBack => ('<', WARNING),
        HostState::InUse | HostState::Assigned => ('#', Style::new()),
        HostState::NotReady => ('~', FAINT),
        HostState::InMaintenance => ('@', FAINT),
        HostState::Reserved => ('=', FAINT),
        HostState::Deleting => ('%', WARNING),
    }
}

/// Writes the racks in view.
pub(super) fn write(
    out: &mut ReportText,
    overview: &Overview,
    letters: &ClusterLetters<'_>,
    view: &StatusView<'_>,
) -> fmt::Result {
    let racks: Vec<&Rack> = match view.focus {
        StatusFocus::Site => overview.racks.iter().collect(),
        StatusFocus::Rack(name) => {
            overview.racks.iter().filter(|rack| rack.name.as_deref() == name).collect()
        }
        StatusFocus::Cluster(key) => {
            let has =
                |rack: &&Rack| rack.hosts.iter().any(|host| concerns(&overview.hosts[*host], key));
            overview.racks.iter().filter(has).collect()
        }
    };
    if racks.is_empty() {
        return Ok(());
    }
    match &overview.by {
        Some(_) => write_heading(out, "racks")?,
        None => write_heading(
            out,
            "hosts without racks: no node set has a topologyKey; choose a label with --by",
        )?,
    }
    let (shown, left_out) =
        if view.all { (racks, Vec::new()) } else { most_relevant(overview, racks) };
    let name_width = shown
        .iter()
        .map(|rack| name(overview, rack).chars().count())
        .max()
        .unwrap_or_default()
        .min(LONGEST_NAME);
    for rack in &shown {
        write_rack(out, overview, rack, letters, name_width, view)?;
    }
    if !left_out.is_empty() {
        let hosts = left_out.iter().flat_map(|rack| &rack.hosts).map(|host| &overview.hosts[*host]);
        writeln!(
            out,
            "{INDENT}… and {}: {}; --rack NAME shows one, --all shows all",
            counted(left_out.len(), "more rack"),
            tally(hosts)
        )?;
    }
    write_legend(out, overview, letters, &shown, view.width)
}

/// Splits off the racks to show. Racks with changes or failures have priority; both parts keep the
/// order of names.
fn most_relevant<'a>(overview: &Overview, racks: Vec<&'a Rack>) -> (Vec<&'a Rack>, Vec<&'a Rack>) {
    let tells = |rack: &Rack| {
        let tells =
            |host: &HostOverview| host.changes || host.failed || host.state == HostState::GivenBack;
        rack.hosts.iter().any(|host| tells(&overview.hosts[*host]))
    };
    let mut order: Vec<usize> = (0..racks.len()).collect();
    order.sort_by_key(|at| !tells(racks[*at]));
    let shown: BTreeSet<usize> = order.into_iter().take(RACKS_SHOWN).collect();
    let (shown, left_out): (Vec<_>, Vec<_>) =
        racks.into_iter().enumerate().partition(|(at, _)| shown.contains(at));
    let racks = |racks: Vec<(usize, &'a Rack)>| racks.into_iter().map(|(_, rack)| rack).collect();
    (racks(shown), racks(left_out))
}

/// Returns the displayed name of a rack.
fn name(overview: &Overview, rack: &Rack) -> String {
    match (&rack.name, &overview.by) {
        (Some(name), _) => one_line(name),
        (None, Some(label)) => format!("without {}", one_line(label)),
        (None, None) => String::new(),
    }
}

fn write_rack(
    out: &mut ReportText,
    overview: &Overview,
    rack: &Rack,
    letters: &ClusterLetters<'_>,
    name_width: usize,
    view: &StatusView<'_>,
) -> fmt::Result {
    let name = name(overview, rack);
    let gap = if name_width == 0 { 0 } else { name_width + INDENT.len() };
    let on_a_line = (view.width.saturating_sub(INDENT.len() + gap) / 2).max(FEWEST_CELLS);
    let in_full = view.all || matches!(view.focus, StatusFocus::Rack(_));
    let cells = if in_full { rack.hosts.len() } else { rack.hosts.len().min(CELLS_SHOWN) };
    if name.chars().count() > name_width {
        writeln!(out, "{INDENT}{name}")?;
    }
    for (number, line) in rack.hosts[..cells].chunks(on_a_line).enumerate() {
        let label =
            if number == 0 && name.chars().count() <= name_width { name.as_str() } else { "" };
        let cells: String = line.iter().map(|host| letters.cell(&overview.hosts[*host])).collect();
        writeln!(out, "{INDENT}{label:gap$}{}", cells.trim_end())?;
    }
    if cells < rack.hosts.len() {
        let hosts = rack.hosts[cells..].iter().map(|host| &overview.hosts[*host]);
        let more = rack.hosts.len() - cells;
        writeln!(out, "{INDENT}{:gap$}… and {}: {}", "", counted(more, "more host"), tally(hosts))?;
    }
    Ok(())
}

/// Explains the symbols that occur in the map.
fn write_legend(
    out: &mut ReportText,
    overview: &Overview,
    letters: &ClusterLetters<'_>,
    racks: &[&Rack],
    width: usize,
) -> fmt::Result {
    let hosts: Vec<&HostOverview> =
        racks.iter().flat_map(|rack| &rack.hosts).map(|host| &overview.hosts[*host]).collect();
    let any = |is: &dyn Fn(&HostOverview) -> bool| hosts.iter().any(|host| is(host));
    let mut entries: Vec<(String, Style, String)> = Vec::new();
    let mut add = |symbol: &str, style: Style, words: &str| {
        entries.push((symbol.to_owned(), style, words.to_owned()))
    };
    match letters {
        _ if !any(&|host| host.assigned.is_some()) => {}
        ClusterLetters::ByCluster(known) => {
            add("A", STRONG, "control plane of cluster A");
            add("a", Style::new(), "worker of cluster A");
            if any(&|host| host.cluster().is_some_and(|cluster| !known.contains_key(cluster))) {
                add(&OF_ANOTHER.to_string(), Style::new(), "another cluster");
            }
        }
        ClusterLetters::ByRole => {
            add("C", STRONG, "control plane");
            add("w", Style::new(), "worker (more clusters than letters: use --cluster NS/NAME)");
        }
    }
    for state in HostState::ALL.into_iter().filter(|state| *state != HostState::Assigned) {
        if any(&|host| host.state == state) {
            let (symbol, style) = unassigned(state);
            add(&symbol.to_string(), style, state.words());
        }
    }
    for mark in HostRemark::ALL
        .into_iter()
        .filter(|mark| any(&|host| HostRemark::for_host(host) == Some(*mark)))
    {
        let letter = if matches!(letters, ClusterLetters::ByRole) { 'C' } else { 'A' };
        add(&format!("{letter}{}", mark.symbol()), mark.style(), mark.words());
    }

    const GAP: &str = "   ";
    let mut at = 0;
    writeln!(out)?;
    for (symbol, style, words) in &entries {
        let length = symbol.len() + 1 + words.len();
        if at == 0 || at + GAP.len() + length > width {
            if at > 0 {
                writeln!(out)?;
            }
            write!(out, "{INDENT}")?;
            at = INDENT.len() + length;
        } else {
            write!(out, "{GAP}")?;
            at += GAP.len() + length;
        }
        write!(out, "{} {words}", styled(*style, symbol))?;
    }
    writeln!(out)
}
