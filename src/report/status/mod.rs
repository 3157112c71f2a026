//! The site at a glance, as text for a terminal.
//!
//! * `clusters`: what each cluster wants and has, and the spare hosts.
//! * `rack_map`: a row a rack, a cell a host.
//! * `listing`: the hosts of one rack or cluster, one by one.

mod clusters;
mod listing;
mod rack_map;

use std::collections::BTreeMap;
use std::fmt;

use crate::api::names::{ClusterKey, Part};
use crate::picture::{HostPicture, Picture};
use crate::plan::host_state::HostState;
use crate::plan::machines::by_role_and_name;
use crate::text::counted;

use super::{STRONG, Text, one_line, styled};
use rack_map::Letters;

/// How a site is shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What of it.
    pub focus: Focus<'a>,
    /// Whether to leave nothing out, however much it is.
    pub all: bool,
    /// How many characters a line has.
    pub width: usize,
}

/// What of a site is shown.
#[derive(Debug, Clone, Copy)]
pub enum Focus<'a> {
    /// All of it.
    Site,
    /// One rack and its hosts; without a name, the hosts that have no rack.
    Rack(Option<&'a str>),
    /// One cluster and its hosts.
    Cluster(&'a ClusterKey),
}

/// The site at a glance: its clusters, its spare hosts and its racks.
pub fn status(picture: &Picture, view: &View<'_>) -> Text {
    let mut out = Text::default();
    // Writing to a text cannot fail.
    let _ = write_status(&mut out, picture, view);
    out
}

fn write_status(out: &mut Text, picture: &Picture, view: &View<'_>) -> fmt::Result {
    let letters = Letters::new(picture, view.focus);
    match view.focus {
        Focus::Site => {
            write_headline(out, picture)?;
            clusters::write_all(out, picture, &letters, view.all)?;
            clusters::write_spare(out, picture, view.all)?;
            rack_map::write(out, picture, &letters, view)
        }
        Focus::Rack(name) => {
            let hosts: Vec<&HostPicture> = picture
                .hosts
                .iter()
                .filter(|host| host.rack.as_deref() == name)
                .collect();
            let name = name.map_or("hosts without a rack".to_owned(), |name| {
                format!("rack {}", one_line(name))
            });
            writeln!(
                out,
                "{}: {}",
                styled(STRONG, name),
                tally(hosts.iter().copied())
            )?;
            rack_map::write(out, picture, &letters, view)?;
            listing::write(out, &hosts, &letters, view.all)
        }
        Focus::Cluster(key) => {
            clusters::write_one(out, picture, key)?;
            rack_map::write(out, picture, &letters, view)?;
            let mut hosts: Vec<&HostPicture> = picture
                .hosts
                .iter()
                .filter(|host| concerns(host, key))
                .collect();
            // Of machines people know the names, and of other hosts where they stand.
            hosts.sort_by(|a, b| match (machine(a), machine(b)) {
                (Some(a), Some(b)) => by_role_and_name(a, b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            });
            listing::write(out, &hosts, &letters, view.all)
        }
    }
}

/// Which machine of a Provisioning a host is.
fn machine(host: &HostPicture) -> Option<&Part> {
    host.assigned
        .as_ref()
        .map(|assigned| &assigned.part)
        .filter(|part| part.node.is_some())
}

/// Whether a cluster has a host, or gives it back.
fn concerns(host: &HostPicture, cluster: &ClusterKey) -> bool {
    host.cluster() == Some(cluster) || host.given_back_by.as_ref() == Some(cluster)
}

fn write_headline(out: &mut Text, picture: &Picture) -> fmt::Result {
    let named = picture
        .racks
        .iter()
        .filter(|rack| rack.name.is_some())
        .count();
    let racks = match &picture.rack_by {
        Some(label) => format!(" in {}, by {}", counted(named, "rack"), one_line(label)),
        None => String::new(),
    };
    let sites = format!("{}{racks}", counted(picture.hosts.len(), "host"));
    writeln!(
        out,
        "{}, {}",
        styled(STRONG, sites),
        counted(picture.clusters.len(), "cluster")
    )?;
    if !picture.hosts.is_empty() {
        writeln!(out, "{}", tally(&picture.hosts))?;
    }
    Ok(())
}

/// How many hosts stand how: `14 assigned (2 added), 5 free, 1 failed`.
fn tally<'a>(hosts: impl IntoIterator<Item = &'a HostPicture>) -> String {
    let mut count: BTreeMap<HostState, usize> = BTreeMap::new();
    let mut added = 0;
    for host in hosts {
        *count.entry(host.state).or_default() += 1;
        added += usize::from(host.is_new());
    }
    let words = |state: &HostState| {
        let count = count.get(state)?;
        let more = if *state == HostState::Assigned && added > 0 {
            format!(" ({added} added)")
        } else {
            String::new()
        };
        Some(format!("{count} {}{more}", state.words()))
    };
    HostState::ALL
        .iter()
        .filter_map(words)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A heading with a blank line above it.
fn write_heading(out: &mut Text, heading: impl fmt::Display) -> fmt::Result {
    writeln!(out)?;
    writeln!(out, "{}", styled(STRONG, heading))
}
