//! Labels of the racks and servers of hosts.

use std::collections::BTreeSet;

use super::host::Host;
use crate::input::settings::{FILE, TopologySettings};

/// Topology domain of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopologyDomain {
    /// Rack.
    Rack,
    /// Server that a virtual machine runs on.
    Host,
}

impl TopologyDomain {
    /// Returns its labels in 2020, in 2021 and in treasuremap.
    fn known(self) -> [&'static str; 3] {
        match self {
            TopologyDomain::Rack => {
                ["sip.airshipit.org/rack", "vino.airshipit.org/rack", "airshipit.org/rack"]
            }
            TopologyDomain::Host => {
                ["sip.airshipit.org/server", "vino.airshipit.org/host", "airshipit.org/server"]
            }
        }
    }
}

/// Topology labels of the site's hosts.
#[derive(Debug)]
pub(crate) struct TopologyLabels<'a> {
    settings: &'a TopologySettings,
    /// Known labels that hosts have.
    present: BTreeSet<&'static str>,
}

impl<'a> TopologyLabels<'a> {
    /// Takes the labels from the settings, or else from the hosts.
    pub(crate) fn new(settings: &'a TopologySettings, hosts: &[Host]) -> Self {
        let known = [TopologyDomain::Rack, TopologyDomain::Host].map(TopologyDomain::known);
        let is_present = |label: &&str| hosts.iter().any(|host| host.domain(label).is_some());
        Self { settings, present: known.into_iter().flatten().filter(is_present).collect() }
    }

    /// Returns the label of a domain; otherwise message and help of a finding.
    pub(crate) fn value(&self, domain: TopologyDomain) -> Result<String, (String, String)> {
        let (noun, chosen) = match domain {
            TopologyDomain::Rack => ("rack", &self.settings.rack),
            TopologyDomain::Host => ("host", &self.settings.host),
        };
        if let Some(label) = chosen {
            return Ok(label.clone());
        }
        let known: Vec<&str> =
            domain.known().into_iter().filter(|label| self.present.contains(label)).collect();
        let help = format!("name the label in {FILE}: `topology: {{{noun}: KEY}}`");
        let problem = match known.as_slice() {
            [label] => return Ok((*label).to_owned()),
            [] => format!("unknown: no host has any of {}", domain.known().join(", ")),
            several => format!("ambiguous: hosts have {}", several.join(" and ")),
        };
        Err((format!("the label of a host's {noun} is {problem}"), help))
    }
}
