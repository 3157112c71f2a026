//! Hardware properties that decide whether a host can be a node.
//!
//! They come from inspection. A network card without an inspected address has the static addresses
//! of the host's network data: a host that is declared in git may have no status. Inspected
//! addresses win, because the machine was reached under them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use super::networks::HostNetworkData;
use crate::base::api::address::is_reachable;
use crate::base::api::hardware::{self, DiskKind, Hardware, HardwareText, Nic};
use crate::base::api::mac::MacAddress;
use crate::base::api::names::HostKey;
use crate::base::api::provisioning::{QAT, SRIOV, probable_value};
use crate::base::finding::{Code, Finding, Origin};
use crate::input::settings::provisioning::{Devices, Model};

/// Reports device labels whose value is neither true nor false.
pub(crate) fn unclear_labels(
    host: &HostKey,
    labels: &BTreeMap<String, String>,
    origin: &Origin,
) -> Vec<Finding> {
    let finding = |label: &'static str| {
        let value = labels.get(label).filter(|value| value.parse::<bool>().is_err())?;
        let message = format!(
            "the label {label} of host {host} is `{value}`: neither `true` nor `false`, and ignored"
        );
        let probable = probable_value(value);
        let help = format!(
            "write {label}: \"{probable}\"; without the label, what inspection found counts"
        );
        let place = origin.at(["metadata", "labels", label]);
        Some(Finding::new(Code::InvalidDeviceLabel, message).at(place).help(help))
    };
    [SRIOV, QAT].into_iter().filter_map(finding).collect()
}

/// The host that a machine of a Provisioning requires.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequiredMachine {
    /// MAC address of the machine, and the index of the host that has it in the inventory.
    pub named: Option<(MacAddress, usize)>,
}

/// The inspected properties of a host by which requests select it. Nothing is known if no request
/// does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineProperties {
    /// MAC address that it boots from (`spec.bootMACAddress`).
    pub boot_mac: Option<MacAddress>,
    /// Network cards with their addresses, in the order of inspection.
    pub nics: Vec<NetworkCard>,
    /// Number of CPUs, counting threads.
    pub cpu: Option<u64>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// Set if its network cards support SR-IOV.
    pub sriov: bool,
    /// Set if it has QuickAssist.
    pub qat: bool,
    /// Kind of its CPUs.
    pub cpus: Cpus,
    /// Set if inspection results are known.
    pub is_inspected: bool,
    /// Inspected disks.
    pub disks: Box<[InspectedDisk]>,
    /// Inspected network cards, each once.
    pub cards: Box<[InspectedCard]>,
    /// Other texts.
    pub texts: BTreeMap<HardwareText, String>,
}

/// A disk of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InspectedDisk {
    /// Its type.
    pub kind: Option<DiskKind>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A network card of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InspectedCard {
    /// Its speed in Gbit/s.
    pub speed_gbps: Option<u64>,
    /// Set if it supports SR-IOV.
    pub sriov: bool,
}

/// The kind of a host's CPUs, as far as inspection found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpus {
    /// Model name.
    pub model: Option<String>,
    /// Architecture.
    pub architecture: Option<String>,
    /// Features in lower case, each between two blanks; empty if unknown. A site may have thousands of
    /// hosts with a hundred features each, so they are one text.
    flags: Box<str>,
}

impl Cpus {
    fn new(found: &hardware::Cpu) -> Self {
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let flags = found.flags.iter().map(String::as_str);
        Self::with_flags(text(&found.model), text(&found.arch), flags)
    }

    pub(super) fn with_flags<'f>(
        model: Option<String>,
        architecture: Option<String>,
        flags: impl Iterator<Item = &'f str>,
    ) -> Self {
        let flags = flags.map(str::trim).filter(|flag| !flag.is_empty());
        let mut text: String = flags.flat_map(|flag| [" ", flag]).collect();
        if !text.is_empty() {
            text.push(' ');
        }
        text.make_ascii_lowercase();
        Self { model, architecture, flags: text.into() }
    }

    /// Returns whether no features are known.
    pub(super) fn lacks_flags(&self) -> bool {
        self.flags.is_empty()
    }

    /// Returns whether the CPUs have a feature, given in lower case.
    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.flags.contains(&format!(" {flag} "))
    }
}

/// A network card, listed once even if it has several addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCard {
    /// MAC address.
    pub mac: MacAddress,
    /// Its routable addresses, IPv4 before IPv6.
    pub addresses: Vec<IpAddr>,
}

impl MachineProperties {
    /// Returns a machine of which nothing is known.
    pub(crate) fn unknown() -> Arc<Self> {
        static UNKNOWN: LazyLock<Arc<MachineProperties>> = LazyLock::new(Arc::default);
        UNKNOWN.clone()
    }

    /// Derives the properties from hardware, network data and labels.
    pub(crate) fn new(
        found: Option<&Hardware>,
        network: &HostNetworkData,
        boot_mac: Option<MacAddress>,
        labels: &BTreeMap<String, String>,
        devices: &Devices,
    ) -> Self {
        let cards = || found.into_iter().flat_map(|found| &found.nics);
        let mut nics: Vec<NetworkCard> = Vec::new();
        for (card, mac) in
            cards().filter_map(|card| Some((card, card.mac.as_deref()?.parse().ok()?)))
        {
            add(&mut nics, mac, card.ip.as_deref().and_then(|text| text.trim().parse().ok()));
        }
        if let Ok(data) = network {
            let addressed: Vec<MacAddress> =
                nics.iter().filter(|nic| !nic.addresses.is_empty()).map(|nic| nic.mac).collect();
            for (mac, address) in data.card_addresses().filter(|(mac, _)| !addressed.contains(mac))
            {
                add(&mut nics, mac, Some(address));
            }
        }
        // The sort is stable, so the order within a family stays.
        nics.iter_mut().for_each(|nic| nic.addresses.sort_by_key(IpAddr::is_ipv6));
        let model = |card: &Nic| Model::try_from(card.model.clone()?).ok();
        let models: Vec<Model> = cards().filter_map(model).collect();
        let said = |label: &str| labels.get(label).and_then(|value| value.parse::<bool>().ok());
        let has_sriov = |card: &Nic| {
            said(SRIOV).unwrap_or(model(card).is_some_and(|model| devices.have_sriov(model)))
        };
        // One with an IPv4 and an IPv6 address is listed twice.
        let mut inspected: BTreeMap<&str, InspectedCard> = BTreeMap::new();
        for card in cards() {
            let identity = card.mac.as_deref().or(card.name.as_deref()).unwrap_or_default();
            let speed_gbps = card.speed_gbps.filter(|speed| *speed > 0);
            inspected.insert(identity, InspectedCard { speed_gbps, sriov: has_sriov(card) });
        }
        let disks = found.into_iter().flat_map(|found| &found.storage).map(|disk| InspectedDisk {
            kind: disk.disk_kind(),
            bytes: disk.size_bytes.unwrap_or_default(),
        });
        let text = |what: HardwareText| Some((what, found?.text(what)?.to_owned()));
        Self {
            boot_mac,
            nics,
            cpu: found.and_then(|found| found.cpu.count),
            memory_mib: found.and_then(|found| found.ram_mebibytes),
            sriov: said(SRIOV)
                .unwrap_or_else(|| models.iter().any(|model| devices.have_sriov(*model))),
            cpus: found.map(|found| Cpus::new(&found.cpu)).unwrap_or_default(),
            qat: said(QAT).unwrap_or_else(|| models.iter().any(|model| devices.have_qat(*model))),
            is_inspected: found.is_some(),
            disks: disks.collect(),
            cards: inspected.into_values().collect(),
            texts: HardwareText::ALL.into_iter().filter_map(text).collect(),
        }
    }

    /// Returns each of its MAC addresses once.
    pub fn macs(&self) -> impl Iterator<Item = MacAddress> {
        let booting = self.boot_mac.filter(|mac| !self.nics.iter().any(|nic| nic.mac == *mac));
        self.nics.iter().map(|nic| nic.mac).chain(booting)
    }

    /// Returns the address of the network card with a MAC address. Without a MAC address, returns
    /// that of the card that it boots from, or else the first address of any card.
    pub fn address(&self, mac: Option<MacAddress>) -> Option<IpAddr> {
        let of = |mac: MacAddress| {
            self.nics.iter().find(|nic| nic.mac == mac)?.addresses.first().copied()
        };
        let any = || self.nics.iter().find_map(|nic| nic.addresses.first().copied());
        match mac {
            Some(mac) => of(mac),
            None => self.boot_mac.and_then(of).or_else(any),
        }
    }
}

/// Adds an address to the network card with a MAC address, unless other networks cannot reach it.
fn add(nics: &mut Vec<NetworkCard>, mac: MacAddress, address: Option<IpAddr>) {
    // IPv4 addresses may be mapped into IPv6 (`::ffff:192.0.2.1`).
    let address = address.map(|address| address.to_canonical());
    let address = address.filter(|address| is_reachable(*address));
    match nics.iter_mut().find(|nic| nic.mac == mac) {
        None => nics.push(NetworkCard { mac, addresses: address.into_iter().collect() }),
        Some(nic) => {
            nic.addresses.extend(address.filter(|address| !nic.addresses.contains(address)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::api::network_data::NetworkData;

    /// Returns a machine with inspected hardware, network data and labels.
    fn machine(hardware: &str, network_data: &str, labels: &[(&str, &str)]) -> MachineProperties {
        let found: Option<Hardware> =
            (!hardware.is_empty()).then(|| yaml_serde::from_str(hardware).unwrap());
        let network = Ok(Arc::new(NetworkData::parse(network_data).unwrap()));
        let boot_mac = "00-00-5E-00-53-01".parse().ok();
        let labels =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        MachineProperties::new(found.as_ref(), &network, boot_mac, &labels, &Devices::default())
    }

    fn addresses(machine: &MachineProperties) -> Vec<String> {
        machine.nics.iter().map(|nic| format!("{} {:?}", nic.mac, nic.addresses)).collect()
    }

    #[test]
    fn a_card_is_one_however_often_it_is_listed_and_its_useful_ipv4_address_comes_first() {
        let nics = "nics:\n- {mac: '00:00:5E:00:53:01', ip: 'fe80::1%eth0'}\n- {mac: 00:00:5e:00:53:01, ip: fe80::1}\n\
            - {mac: 00:00:5e:00:53:01, ip: '2001:db8::1'}\n- {mac: 00:00:5e:00:53:01, ip: 192.0.2.1}\n\
            - {mac: 00:00:5e:00:53:02, ip: 169.254.1.1}\n- {mac: 00:00:5e:00:53:02, ip: ''}\n\
            - {mac: lo, ip: 127.0.0.1}\n- {mac: 00:00:5e:00:53:03, ip: 127.0.0.1}\n- {ip: 192.0.2.9}\n";
        let found = machine(nics, "", &[]);
        let expected = [
            "00:00:5e:00:53:01 [192.0.2.1, 2001:db8::1]",
            "00:00:5e:00:53:02 []",
            "00:00:5e:00:53:03 []",
        ];
        assert_eq!(addresses(&found), expected);
    }

    #[test]
    fn network_data_has_the_addresses_that_inspection_lacks() {
        let data = "links:\n- {id: e1, ethernet_mac_address: 00:00:5e:00:53:01}\n\
            - {id: e2, ethernet_mac_address: 00:00:5e:00:53:02}\n- {id: e3, ethernet_mac_address: 00:00:5e:00:53:03}\n\
            networks:\n- {id: a, link: e1, ip_address: 198.51.100.1}\n- {id: b, link: e2, ip_address: 198.51.100.2}\n\
            - {id: c, link: e2, ip_address: 198.51.100.22}\n- {id: d, link: e3, ip_address: 198.51.100.3}\n";
        let nics = "nics:\n- {mac: 00:00:5e:00:53:01, ip: 192.0.2.1}\n- {mac: 00:00:5e:00:53:02}\n";
        let expected = [
            "00:00:5e:00:53:01 [192.0.2.1]",
            "00:00:5e:00:53:02 [198.51.100.2, 198.51.100.22]",
            "00:00:5e:00:53:03 [198.51.100.3]",
        ];
        assert_eq!(addresses(&machine(nics, data, &[])), expected);

        let uninspected = machine("", data, &[]);
        assert_eq!(uninspected.address(None), Some("198.51.100.1".parse().unwrap()));
        assert_eq!((uninspected.cpu, uninspected.memory_mib), (None, None));
    }

    #[test]
    fn devices_are_known_by_their_models_unless_a_label_says_otherwise() {
        let (x710, plain) = ("nics: [{model: '0x8086 0x1572'}]", "nics: [{model: 0x1af4 0x0001}]");
        let quick = "nics: [{model: 0x8086 0x37C8}]";
        let has = |hardware: &str, labels: &[(&str, &str)]| {
            let machine = machine(hardware, "", labels);
            (machine.sriov, machine.qat)
        };
        assert_eq!(has(x710, &[]), (true, false));
        assert_eq!(has(plain, &[]), (false, false));
        assert_eq!(has(quick, &[]), (false, true));
        assert_eq!(has(x710, &[(SRIOV, "false"), (QAT, "true")]), (false, true));
        assert_eq!(has(x710, &[(SRIOV, "maybe")]), (true, false));
    }

    #[test]
    fn a_machine_is_reached_where_it_boots_unless_a_card_is_named() {
        let mac = |text: &str| text.parse::<MacAddress>().unwrap();
        let nic = |text: &str, address: Option<&str>| NetworkCard {
            mac: mac(text),
            addresses: address.iter().map(|address| address.parse().unwrap()).collect(),
        };
        let (bare, booting, other) =
            ("52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03");
        let machine = MachineProperties {
            boot_mac: Some(mac(booting)),
            nics: vec![
                nic(bare, None),
                nic(other, Some("10.0.0.3")),
                nic(booting, Some("10.0.0.2")),
            ],
            ..MachineProperties::default()
        };

        let address =
            |mac: Option<MacAddress>| machine.address(mac).map(|address| address.to_string());
        assert_eq!(address(None).as_deref(), Some("10.0.0.2"));
        assert_eq!(address(Some(mac(other))).as_deref(), Some("10.0.0.3"));
        assert_eq!(address(Some(mac(bare))), None);
    }
}
