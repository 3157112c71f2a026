//! The identities of machines, by which hosts of one machine are found.
//!
//! | identity | two hosts that share it |
//! | --- | --- |
//! | MAC address, of the boot interface or of a network card | are one machine: Ironic registers one host for it |
//! | serial number | are one machine, unless their MAC addresses differ: blades may report that of the chassis |
//! | BMC | may be one machine: the SIP operator's own sample has one address for five hosts |
//!
//! At most one of the hosts of a machine is assigned. Of hosts that may be one machine, the others are
//! chosen last. So a mistake in an address never blocks a site whose hosts differ.

use std::collections::BTreeMap;

use super::host::{Host, SameMachine};
use super::registration::bmc_address;
use crate::base::api::host::without_user;
use crate::base::api::mac::MacAddress;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::text::credentials::masked_value;
use crate::base::text::{counted, joined};

/// A value that identifies a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub(crate) enum Identity {
    /// MAC address that each of the hosts boots from.
    #[display("the boot MAC address `{_0}`")]
    BootMac(MacAddress),
    /// MAC address of a network card.
    #[display("the MAC address `{_0}`")]
    Mac(MacAddress),
    /// Serial number.
    #[display("the serial number `{}`", masked_value(_0))]
    Serial(Box<str>),
    /// BMC address as the first host has it, without credentials.
    #[display("the BMC address `{}`", masked_value(_0))]
    Bmc(String),
}

impl Identity {
    /// Returns the place of the identity in a host.
    pub(crate) fn place(&self, host: &Host) -> Place {
        match self {
            Self::Mac(mac) if host.network.boot_mac != Some(*mac) => {
                host.live_place(["status", "hardware", "nics"])
            }
            Self::BootMac(_) | Self::Mac(_) => host.origin.at(["spec", "bootMACAddress"]),
            Self::Serial(_) => {
                host.live_place(["status", "hardware", "systemVendor", "serialNumber"])
            }
            Self::Bmc(_) => host.origin.at(["spec", "bmc", "address"]),
        }
    }
}

/// Hosts that share an identity, each with the number that the caller gave it.
pub(crate) struct SharedIdentity<'a> {
    pub(crate) identity: Identity,
    pub(crate) hosts: Vec<(usize, &'a Host)>,
}

/// Returns the identities that several hosts share, in the order of hosts. The numbers may be those
/// of sites, so several hosts may have one.
pub(crate) fn shared<'a>(
    hosts: impl Iterator<Item = (usize, &'a Host)>,
) -> Vec<SharedIdentity<'a>> {
    let hosts: Vec<(usize, &Host)> = hosts.collect();
    let indexed = || hosts.iter().enumerate().map(|(index, (_, host))| (index, *host));
    let macs = indexed().flat_map(|(index, host)| known_macs(host).map(move |mac| (mac, index)));
    let serials =
        indexed().filter_map(|(index, host)| Some((host.hardware.serial.as_deref()?, index)));
    let endpoints = indexed().filter_map(|(index, host)| {
        let bmc = bmc_address(host)?.ok()?.identity();
        Some((bmc.endpoint, (bmc.system, index)))
    });
    let mut shared: Vec<(Vec<usize>, Identity)> = Vec::new();
    for (mac, mut sharing) in grouped(macs) {
        sharing.dedup();
        let boots = |index: &&usize| hosts[**index].1.network.boot_mac == Some(mac);
        let booting = sharing.iter().filter(boots).count();
        // The USB interfaces of BMCs have one local address in every machine.
        if booting > 0 || mac.is_universal() {
            let is_boot = booting == sharing.len();
            let identity = if is_boot { Identity::BootMac } else { Identity::Mac };
            shared.push((sharing, identity(mac)));
        }
    }
    for (serial, sharing) in grouped(serials) {
        shared.push((sharing, Identity::Serial(serial.into())));
    }
    for sharing in grouped(endpoints).into_values().flat_map(by_system) {
        let address = hosts[sharing[0]].1.bmc().map(|bmc| without_user(&bmc.address));
        shared.push((sharing, Identity::Bmc(address.unwrap_or_default())));
    }
    shared.retain(|(sharing, _)| sharing.len() > 1);
    shared.sort_unstable();
    let with_hosts = shared.into_iter().map(|(sharing, identity)| SharedIdentity {
        identity,
        hosts: sharing.into_iter().map(|index| hosts[index]).collect(),
    });
    with_hosts.collect()
}

/// Groups the hosts behind one BMC by system. An address without a system may mean any.
fn by_system(hosts: Vec<(Option<String>, usize)>) -> Vec<Vec<usize>> {
    let mut by_system = grouped(hosts);
    let systemless = by_system.remove(&None).unwrap_or_default();
    if by_system.is_empty() {
        return vec![systemless];
    }
    let with_any = |mut hosts: Vec<usize>| {
        hosts.extend(&systemless);
        hosts.sort_unstable();
        hosts
    };
    by_system.into_values().map(with_any).collect()
}

/// Returns the MAC addresses that a host is known to have.
fn known_macs(host: &Host) -> impl Iterator<Item = MacAddress> {
    let all = host.network.boot_mac.into_iter().chain(host.hardware.macs.iter().copied());
    all.filter(|mac| mac.is_unicast())
}

/// Hosts by the MAC addresses of their network cards.
pub(crate) struct HostsByMac<'a> {
    /// All hosts of the inventory.
    pub(crate) hosts: &'a [Host],
    by_mac: BTreeMap<MacAddress, Vec<usize>>,
}

impl<'a> HostsByMac<'a> {
    /// Indexes the hosts of an inventory.
    pub(crate) fn new(hosts: &'a [Host]) -> Self {
        let macs = hosts
            .iter()
            .enumerate()
            .flat_map(|(index, host)| host.machine.macs().map(move |mac| (mac, index)));
        Self { hosts, by_mac: grouped(macs) }
    }

    /// Returns the indices of the hosts that have a MAC address.
    pub(crate) fn hosts_with(&self, mac: MacAddress) -> &[usize] {
        self.by_mac.get(&mac).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns at most `most` MAC addresses that differ in one digit, each with a host that has it.
    pub(crate) fn near(&self, mac: MacAddress, most: usize) -> Vec<(MacAddress, &'a Host)> {
        let known = mac.near().filter_map(|near| Some((near, *self.hosts_with(near).first()?)));
        let near: BTreeMap<MacAddress, usize> = known.collect();
        near.into_iter().map(|(mac, host)| (mac, &self.hosts[host])).take(most).collect()
    }
}

/// Returns whether an operating system may be on a machine in a provisioning state.
pub(crate) fn may_run(provisioning: Option<&str>) -> bool {
    /// Provisioning states of Metal3.
    const RUNNING: [&str; 4] =
        ["provisioned", "externally provisioned", "provisioning", "deprovisioning"];
    provisioning.is_some_and(|state| RUNNING.contains(&state))
}

/// Marks the hosts for whose machine another host stands, and reports them. The host that stands
/// for a machine is one that is assigned, in use or ready, or else the first.
pub(crate) fn mark_same_machines(
    hosts: &mut [Host],
    is_assigned: impl Fn(&HostKey) -> bool,
) -> Vec<Finding> {
    let rank = |(index, host): (usize, &Host)| {
        let live = &host.live;
        (
            !is_assigned(&host.key),
            live.usage.is_none() && !may_run(live.provisioning.as_deref()),
            !host.evidence.is_proof(),
            live.deleting || live.error.is_some(),
            live.provisioning.is_none(),
            index,
        )
    };
    let mut marks: BTreeMap<usize, SameMachine> = BTreeMap::new();
    let all = shared(hosts.iter().enumerate());
    for shared in &all {
        let best = shared.hosts.iter().copied().min_by_key(|host| rank(*host));
        let Some((standing, first)) = best else { continue };
        for (index, host) in shared.hosts.iter().filter(|(index, _)| *index != standing) {
            let is_certain = match shared.identity {
                Identity::BootMac(_) | Identity::Mac(_) => true,
                Identity::Serial(_) => !differ(host, first),
                Identity::Bmc(_) => false,
            };
            let mark = || SameMachine {
                host: first.key.clone(),
                identity: shared.identity.to_string(),
                is_certain,
            };
            let known = marks.entry(*index).or_insert_with(mark);
            if is_certain && !known.is_certain {
                *known = mark();
            }
        }
    }
    // Identities of the same hosts follow one another.
    let same_hosts = |one: &SharedIdentity<'_>, other: &SharedIdentity<'_>| {
        one.hosts.iter().map(|(index, _)| index).eq(other.hosts.iter().map(|(index, _)| index))
    };
    let findings = all.chunk_by(same_hosts).filter_map(finding).collect();
    for (index, mark) in marks {
        hosts[index].same_machine = Some(Box::new(mark));
    }
    findings
}

/// Returns whether two hosts are known to have different MAC addresses.
fn differ(one: &Host, other: &Host) -> bool {
    let mut one_macs = known_macs(one).peekable();
    let is_known = one_macs.peek().is_some() && known_macs(other).next().is_some();
    is_known && !one_macs.any(|mac| known_macs(other).any(|other| other == mac))
}

fn finding(identities: &[SharedIdentity<'_>]) -> Option<Finding> {
    let first = identities.first()?;
    let words = joined(identities.iter().take(SHOWN).map(|shared| &shared.identity), " and ");
    let message = format!("{} share {words}", counted(first.hosts.len(), "host"));
    let help = match first.identity {
        Identity::BootMac(_) | Identity::Mac(_) => {
            "fix the addresses, or keep one of the hosts: Metal3 registers only one of them, and sipgen assigns only one"
        }
        Identity::Serial(_) => "keep one of the hosts if they are one machine",
        Identity::Bmc(_) => {
            "fix the addresses: power commands for these hosts reach the same machine"
        }
    };
    let hosts = first.hosts.iter();
    let places = hosts.map(|(_, host)| (first.identity.place(host), host.key.to_string()));
    Some(Finding::new(Code::SameMachine, message).help(help).see_each(places))
}

/// Maximum number of identities that a message names.
const SHOWN: usize = 2;
