//! Maps spreading words of older generations to labels.

use std::collections::BTreeSet;

use crate::settings::{FILE, Topology};

/// Topology domain over which an older SIPCluster spreads its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Domain {
    /// `per-rack`, `PerRack`
    Rack,
    /// `per-node`, `PerHost`: the server that runs a virtual machine.
    Host,
}

impl Domain {
    /// Returns the domain of a word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "per-rack" | "PerRack" => Some(Domain::Rack),
            "per-node" | "PerHost" => Some(Domain::Host),
            _ => None,
        }
    }

    /// Returns the labels used in 2020, in 2021 and in treasuremap.
    fn known(self) -> [&'static str; 3] {
        match self {
            Domain::Rack => [
                "sip.airshipit.org/rack",
                "vino.airshipit.org/rack",
                "airshipit.org/rack",
            ],
            Domain::Host => [
                "sip.airshipit.org/server",
                "vino.airshipit.org/host",
                "airshipit.org/server",
            ],
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Domain::Rack => "rack",
            Domain::Host => "host",
        }
    }
}

/// Labels for racks and hosts in a site.
#[derive(Debug)]
pub(crate) struct TopologyLabels<'a> {
    settings: &'a Topology,
    /// Known labels that hosts have.
    borne: BTreeSet<&'static str>,
}

impl<'a> TopologyLabels<'a> {
    /// Collects the known labels that hosts have; the settings take precedence.
    pub(crate) fn new<'h>(
        settings: &'a Topology,
        hosts: impl Iterator<Item = &'h std::collections::BTreeMap<String, String>>,
    ) -> Self {
        let mut missing: Vec<&'static str> = Domain::Rack
            .known()
            .into_iter()
            .chain(Domain::Host.known())
            .collect();
        let mut borne = BTreeSet::new();
        for labels in hosts {
            missing.retain(|label| {
                let found = labels.get(*label).is_some_and(|value| !value.is_empty());
                if found {
                    borne.insert(*label);
                }
                !found
            });
        }
        Self { settings, borne }
    }

    /// Returns the label of a domain, or message and help.
    pub(crate) fn of(&self, domain: Domain) -> Result<String, (String, String)> {
        let chosen = match domain {
            Domain::Rack => &self.settings.rack,
            Domain::Host => &self.settings.host,
        };
        if let Some(label) = chosen {
            return Ok(label.clone());
        }
        let noun = domain.noun();
        let known: Vec<&str> = domain
            .known()
            .into_iter()
            .filter(|label| self.borne.contains(label))
            .collect();
        let help = format!("name the label in {FILE}: `topology: {{{noun}: KEY}}`");
        match known.as_slice() {
            [label] => Ok((*label).to_owned()),
            [] => {
                let message = format!(
                    "the label of a host's {noun} is unknown: no host has any of {}",
                    domain.known().join(", ")
                );
                Err((message, help))
            }
            several => {
                let message = format!(
                    "the label of a host's {noun} is ambiguous: hosts have {}",
                    several.join(" and ")
                );
                Err((message, help))
            }
        }
    }
}
