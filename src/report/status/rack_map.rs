//! The racks as a map: a row a rack, a cell a host.
//!
//! A cell is a symbol, and behind it a mark or a blank. Both are told apart without colour.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anstyle::{AnsiColor, Style};

use super::{Focus, View, concerns, tally, write_heading};
use crate::api::names::{ClusterKey, Role};
use crate::picture::{HostPicture, Picture, Rack};
use crate::plan::host_state::HostState;
use crate::report::{ERROR, FAINT, STRONG, Text, WARNING, one_line, styled};
use crate::text::counted;

/// How many racks a map has, and how many hosts a rack, if not all are asked for.
const RACKS_SHOWN: usize = 40;
const CELLS_SHOWN: usize = 200;
/// A longer name of a rack has a line of its own.
const LONGEST_NAME: usize = 24;
const INDENT: &str = "  ";
/// The fewest cells on a line, however narrow the terminal is.
const FEWEST_CELLS: usize = 4;

/// The colours of clusters, one after the other; those that say more, red and yellow, are not among them.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::BrightCyan,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightBlue,
];

/// The symbol of a host of a cluster that is not in view.
const OF_ANOTHER: char = '-';

/// What is marked on a host besides whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Added,
    Failed,
    Deleting,
}

impl Mark {
    /// In the order of the legend.
    const ALL: [Mark; 3] = [Mark::Added, Mark::Failed, Mark::Deleting];

    /// The mark that matters most; none where the symbol itself says it.
    fn of(host: &HostPicture) -> Option<Self> {
        let is_assigned = host.state == HostState::Assigned;
        if is_assigned && host.deleting {
            Some(Mark::Deleting)
        } else if host.failed && host.state != HostState::Failed {
            Some(Mark::Failed)
        } else {
            host.is_new().then_some(Mark::Added)
        }
    }

    fn symbol(self) -> char {
        match self {
            Mark::Added => '+',
            Mark::Failed => '!',
            Mark::Deleting => '%',
        }
    }

    fn style(self) -> Style {
        match self {
            Mark::Added => STRONG,
            Mark::Failed => ERROR,
            Mark::Deleting => WARNING,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Mark::Added => "added",
            Mark::Failed => "has failed",
            Mark::Deleting => "is being deleted",
        }
    }
}

/// How clusters' hosts are told apart: upper case for control planes, lower case for workers.
pub(super) enum Letters<'a> {
    /// A letter a cluster; hosts of other clusters have none.
    ByCluster(BTreeMap<&'a ClusterKey, char>),
    /// There are more clusters than letters: `C` and `w`, whose hosts they may be.
    ByRole,
}

impl<'a> Letters<'a> {
    pub(super) fn new(picture: &'a Picture, focus: Focus<'a>) -> Self {
        if let Focus::Cluster(cluster) = focus {
            return Letters::ByCluster(BTreeMap::from([(cluster, 'A')]));
        }
        let in_rack: Option<BTreeSet<&ClusterKey>> = match focus {
            Focus::Rack(name) => {
                let hosts = picture
                    .hosts
                    .iter()
                    .filter(|host| host.rack.as_deref() == name);
                Some(hosts.filter_map(HostPicture::cluster).collect())
            }
            _ => None,
        };
        let has_hosts: BTreeSet<&ClusterKey> = picture
            .hosts
            .iter()
            .filter_map(HostPicture::cluster)
            .collect();
        let clusters = picture
            .clusters
            .iter()
            .map(|cluster| &cluster.key)
            .filter(|key| has_hosts.contains(key));
        let clusters: Vec<&ClusterKey> = clusters
            .filter(|key| in_rack.as_ref().is_none_or(|in_rack| in_rack.contains(key)))
            .collect();
        if clusters.len() > ('A'..='Z').count() {
            return Letters::ByRole;
        }
        Letters::ByCluster(clusters.into_iter().zip('A'..='Z').collect())
    }

    /// The letter of a cluster, in its colour; a blank if it has none.
    pub(super) fn of(&self, cluster: &ClusterKey) -> String {
        match self {
            Letters::ByCluster(letters) => match letters.get(cluster) {
                Some(letter) => styled(colour(*letter), letter),
                None => " ".to_owned(),
            },
            Letters::ByRole => String::new(),
        }
    }

    /// A host as a symbol and a mark.
    pub(super) fn cell(&self, host: &HostPicture) -> String {
        let (symbol, style) = match &host.assigned {
            Some(assigned) => self.assigned(&assigned.cluster, assigned.part.role),
            None => unassigned(host.state),
        };
        let mark = match Mark::of(host).filter(|_| symbol != OF_ANOTHER) {
            Some(mark) => styled(mark.style(), mark.symbol()),
            None => " ".to_owned(),
        };
        format!("{}{mark}", styled(style, symbol))
    }

    fn assigned(&self, cluster: &ClusterKey, role: Role) -> (char, Style) {
        let (letter, style) = match self {
            Letters::ByCluster(letters) => match letters.get(cluster) {
                Some(letter) => (*letter, colour(*letter)),
                None => return (OF_ANOTHER, Style::new()),
            },
            Letters::ByRole if role == Role::ControlPlane => ('C', colour('A')),
            Letters::ByRole => ('W', colour('B')),
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
        HostState::Failed => ('!', ERROR),
        HostState::GivenBack => ('<', WARNING),
        HostState::InUse | HostState::Assigned => ('#', Style::new()),
        HostState::NotReady => ('~', FAINT),
        HostState::Reserved => ('=', FAINT),
        HostState::Deleting => ('%', WARNING),
    }
}

/// The map of what is in view.
pub(super) fn write(
    out: &mut Text,
    picture: &Picture,
    letters: &Letters<'_>,
    view: &View<'_>,
) -> fmt::Result {
    let racks: Vec<&Rack> = match view.focus {
        Focus::Site => picture.racks.iter().collect(),
        Focus::Rack(name) => picture
            .racks
            .iter()
            .filter(|rack| rack.name.as_deref() == name)
            .collect(),
        Focus::Cluster(key) => {
            let has = |rack: &&Rack| {
                rack.hosts
                    .iter()
                    .any(|host| concerns(&picture.hosts[*host], key))
            };
            picture.racks.iter().filter(has).collect()
        }
    };
    if racks.is_empty() {
        return Ok(());
    }
    match &picture.rack_by {
        Some(_) => write_heading(out, "racks")?,
        None => write_heading(
            out,
            "hosts, in no racks: no node set names a topologyKey; --rack-by LABEL does",
        )?,
    }
    let (shown, left_out) = if view.all {
        (racks, Vec::new())
    } else {
        most_telling(picture, racks)
    };
    let name_width = shown
        .iter()
        .map(|rack| name(picture, rack).chars().count())
        .max()
        .unwrap_or_default();
    let name_width = name_width.min(LONGEST_NAME);
    for rack in &shown {
        write_rack(out, picture, rack, letters, name_width, view)?;
    }
    if !left_out.is_empty() {
        let hosts = left_out
            .iter()
            .flat_map(|rack| &rack.hosts)
            .map(|host| &picture.hosts[*host]);
        writeln!(
            out,
            "{INDENT}… and {}: {}; --rack NAME shows one, --all shows them all",
            counted(left_out.len(), "more rack"),
            tally(hosts)
        )?;
    }
    write_legend(out, picture, letters, &shown, view.width)
}

/// The racks to show: those where something changes or is wrong first, and then the first by name. Both parts are in
/// the order of names.
fn most_telling<'a>(picture: &Picture, racks: Vec<&'a Rack>) -> (Vec<&'a Rack>, Vec<&'a Rack>) {
    let tells = |rack: &Rack| {
        let tells =
            |host: &HostPicture| host.changes || host.failed || host.state == HostState::GivenBack;
        rack.hosts.iter().any(|host| tells(&picture.hosts[*host]))
    };
    let mut order: Vec<usize> = (0..racks.len()).collect();
    order.sort_by_key(|at| !tells(racks[*at]));
    let shown: BTreeSet<usize> = order.into_iter().take(RACKS_SHOWN).collect();
    let (shown, left_out): (Vec<_>, Vec<_>) = racks
        .into_iter()
        .enumerate()
        .partition(|(at, _)| shown.contains(at));
    let racks = |racks: Vec<(usize, &'a Rack)>| racks.into_iter().map(|(_, rack)| rack).collect();
    (racks(shown), racks(left_out))
}

/// A rack's name as people read it.
fn name(picture: &Picture, rack: &Rack) -> String {
    match (&rack.name, &picture.rack_by) {
        (Some(name), _) => one_line(name),
        (None, Some(label)) => format!("without {}", one_line(label)),
        (None, None) => String::new(),
    }
}

fn write_rack(
    out: &mut Text,
    picture: &Picture,
    rack: &Rack,
    letters: &Letters<'_>,
    name_width: usize,
    view: &View<'_>,
) -> fmt::Result {
    let name = name(picture, rack);
    let gap = if name_width == 0 {
        0
    } else {
        name_width + INDENT.len()
    };
    let on_a_line = (view.width.saturating_sub(INDENT.len() + gap) / 2).max(FEWEST_CELLS);
    let in_full = view.all || matches!(view.focus, Focus::Rack(_));
    let cells = if in_full {
        rack.hosts.len()
    } else {
        rack.hosts.len().min(CELLS_SHOWN)
    };
    if name.chars().count() > name_width {
        writeln!(out, "{INDENT}{name}")?;
    }
    for (number, line) in rack.hosts[..cells].chunks(on_a_line).enumerate() {
        let label = if number == 0 && name.chars().count() <= name_width {
            name.as_str()
        } else {
            ""
        };
        let cells: String = line
            .iter()
            .map(|host| letters.cell(&picture.hosts[*host]))
            .collect();
        writeln!(out, "{INDENT}{label:gap$}{}", cells.trim_end())?;
    }
    if cells < rack.hosts.len() {
        let hosts = rack.hosts[cells..].iter().map(|host| &picture.hosts[*host]);
        let more = rack.hosts.len() - cells;
        writeln!(
            out,
            "{INDENT}{:gap$}… and {}: {}",
            "",
            counted(more, "more host"),
            tally(hosts)
        )?;
    }
    Ok(())
}

/// What the symbols mean that the map has.
fn write_legend(
    out: &mut Text,
    picture: &Picture,
    letters: &Letters<'_>,
    racks: &[&Rack],
    width: usize,
) -> fmt::Result {
    let hosts: Vec<&HostPicture> = racks
        .iter()
        .flat_map(|rack| &rack.hosts)
        .map(|host| &picture.hosts[*host])
        .collect();
    let any = |is: &dyn Fn(&HostPicture) -> bool| hosts.iter().any(|host| is(host));
    let mut entries: Vec<(String, Style, String)> = Vec::new();
    let mut add = |symbol: &str, style: Style, words: &str| {
        entries.push((symbol.to_owned(), style, words.to_owned()))
    };
    match letters {
        _ if !any(&|host| host.assigned.is_some()) => {}
        Letters::ByCluster(known) => {
            add("A", STRONG, "control plane of cluster A");
            add("a", Style::new(), "worker of cluster A");
            if any(&|host| {
                host.cluster()
                    .is_some_and(|cluster| !known.contains_key(cluster))
            }) {
                add(&OF_ANOTHER.to_string(), Style::new(), "of another cluster");
            }
        }
        Letters::ByRole => {
            add("C", STRONG, "control plane");
            add(
                "w",
                Style::new(),
                "worker (the clusters are more than letters: see --cluster NS/NAME)",
            );
        }
    }
    for state in HostState::ALL
        .into_iter()
        .filter(|state| *state != HostState::Assigned)
    {
        if any(&|host| host.state == state) {
            let (symbol, style) = unassigned(state);
            add(&symbol.to_string(), style, state.words());
        }
    }
    for mark in Mark::ALL
        .into_iter()
        .filter(|mark| any(&|host| Mark::of(host) == Some(*mark)))
    {
        let letter = if matches!(letters, Letters::ByRole) {
            'C'
        } else {
            'A'
        };
        add(
            &format!("{letter}{}", mark.symbol()),
            mark.style(),
            mark.words(),
        );
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
