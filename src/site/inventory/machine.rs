//! Hardware properties that decide whether a host can be a node of a Provisioning.
//!
//! They come from inspection. A network card without an inspected address has the static addresses
//! of the host's network data: a host that is declared in git may have no status. Inspected
//! addresses win, because the machine was reached under them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use super::hardware::HostHardware;
use super::networks::ReadNetworkData;
use crate::base::api::address::is_reachable;
use crate::base::api::hardware;
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
        let value = labels.get(label).filter(|value| truth(value).is_none())?;
        let finding = Finding::new(
            Code::InvalidDeviceLabel,
            format!(
                "the label {label} of host {host} is `{value}`: neither `true` nor `false`, and ignored"
            ),
        );
        Some(finding.at(origin.at(["metadata", "labels", label])).help(format!(
            "write {label}: \"{}\"; without the label, what inspection found counts",
            probable_value(value)
        )))
    };
    [SRIOV, QAT].into_iter().filter_map(finding).collect()
}

/// Parses the value of a device label as a boolean.
fn truth(value: &str) -> Option<bool> {
    match value {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Requirements of a Provisioning on one machine, except labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequiredMachine {
    /// MAC address of the machine, and the index of the host that has it in the inventory.
    pub named: Option<(MacAddress, usize)>,
    /// Minimum number of CPUs.
    pub cpu: u64,
    /// Minimum memory in MiB.
    pub memory_mib: u64,
    /// Set if its network cards must support SR-IOV.
    pub sriov: bool,
    /// Set if it must have QuickAssist.
    pub qat: bool,
    /// Properties that its CPUs must have.
    pub cpus: RequiredCpus,
}

/// Requirements on the kind of CPUs. A machine in both lists must meet those of both.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequiredCpus {
    /// Texts that the model name contains, where `*` stands for any text.
    pub models: BTreeSet<String>,
    /// Features, in lower case.
    pub flags: BTreeSet<String>,
    /// Architectures.
    pub architectures: BTreeSet<String>,
}

impl RequiredCpus {
    /// Returns whether any CPUs meet the requirements.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() && self.flags.is_empty() && self.architectures.is_empty()
    }
}

/// Properties of a host for Provisionings. Nothing is known if the repo has no Provisioning.
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
        let flags = found.flags.iter().map(|flag| flag.trim());
        let mut text = String::new();
        for flag in flags.filter(|flag| !flag.is_empty()) {
            text.push(' ');
            text.push_str(&flag.to_ascii_lowercase());
        }
        if !text.is_empty() {
            text.push(' ');
        }
        Self {
            model: found.model.clone().filter(|model| !model.trim().is_empty()),
            architecture: found.arch.clone().filter(|arch| !arch.trim().is_empty()),
            flags: text.into(),
        }
    }

    /// Returns the unmet requirements on the kind of CPUs.
    pub fn lack<'a>(
        &'a self,
        asked: &'a RequiredCpus,
    ) -> impl Iterator<Item = UnmetRequirement> + 'a {
        let architectures = asked.architectures.iter().filter(|asked| {
            !self.architecture.as_ref().is_some_and(|has| has.eq_ignore_ascii_case(asked))
        });
        let architectures = architectures
            .map(|asked| UnmetRequirement::CpuArch(self.architecture.clone(), asked.clone()));
        let models = asked
            .models
            .iter()
            .filter(|asked| !self.model.as_ref().is_some_and(|has| contains(has, asked)))
            .map(|asked| UnmetRequirement::CpuModel(self.model.clone(), asked.clone()));
        let is_unknown = self.flags.is_empty() && !asked.flags.is_empty();
        let flags = asked
            .flags
            .iter()
            .filter(move |asked| !is_unknown && !self.flags.contains(&format!(" {asked} ")))
            .map(|asked| UnmetRequirement::CpuFlag(asked.clone()));
        architectures
            .chain(models)
            .chain(is_unknown.then_some(UnmetRequirement::CpuFlagsUnknown))
            .chain(flags)
    }
}

/// Returns whether a text contains a pattern in any case; `*` stands for any text.
fn contains(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.to_lowercase(), pattern.to_lowercase());
    let mut rest = text.as_str();
    pattern.split('*').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// A network card, listed once even if it has several addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCard {
    /// MAC address.
    pub mac: MacAddress,
    /// Its routable addresses, IPv4 before IPv6.
    pub addresses: Vec<IpAddr>,
}

/// A requirement of a Provisioning that a host does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnmetRequirement {
    /// No inspection results, or the snapshot lacks them.
    Unknown,
    /// Too few CPUs: available, required.
    Cpu(u64, u64),
    /// Too little memory, in MiB: available, required.
    Memory(u64, u64),
    /// No SR-IOV.
    Sriov,
    /// No QuickAssist.
    Qat,
    /// Another architecture: found, required.
    CpuArch(Option<String>, String),
    /// Another CPU model: found, required.
    CpuModel(Option<String>, String),
    /// No CPU features are known.
    CpuFlagsUnknown,
    /// A missing CPU feature.
    CpuFlag(String),
    /// No address.
    Address,
}

impl fmt::Display for UnmetRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnmetRequirement::Unknown => {
                f.write_str("has no hardware details that say what it has")
            }
            UnmetRequirement::Cpu(has, asked) => {
                write!(f, "has {has} CPUs, and {asked} are asked for")
            }
            UnmetRequirement::Memory(has, asked) => {
                write!(f, "has {has} MiB of memory, and {asked} MiB are asked for")
            }
            UnmetRequirement::Sriov => f.write_str("has no network card with SR-IOV"),
            UnmetRequirement::Qat => f.write_str("has no QuickAssist"),
            UnmetRequirement::CpuArch(Some(has), asked) => {
                write!(f, "has the CPU architecture `{has}`, and `{asked}` is asked for")
            }
            UnmetRequirement::CpuArch(None, _) => f.write_str("has no known CPU architecture"),
            UnmetRequirement::CpuModel(Some(has), asked) => {
                write!(f, "has the CPU model `{has}`, and `{asked}` is asked for")
            }
            UnmetRequirement::CpuModel(None, _) => f.write_str("has no known CPU model"),
            UnmetRequirement::CpuFlagsUnknown => f.write_str("has no known CPU features"),
            UnmetRequirement::CpuFlag(flag) => write!(f, "has no {flag}"),
            UnmetRequirement::Address => {
                f.write_str("has no address by which the installer could reach it")
            }
        }
    }
}

impl MachineProperties {
    /// Returns a machine of which nothing is known.
    pub(crate) fn unknown() -> Arc<Self> {
        static UNKNOWN: LazyLock<Arc<MachineProperties>> = LazyLock::new(Arc::default);
        UNKNOWN.clone()
    }

    /// Derives the properties from hardware, network data and labels.
    pub(super) fn new(
        hardware: &HostHardware,
        network: &ReadNetworkData,
        labels: &BTreeMap<String, String>,
        devices: &Devices,
    ) -> Self {
        let found = hardware.found.as_ref().map(|found| &found.hardware);
        let cards = || found.into_iter().flat_map(|found| &found.nics);
        let mut nics: Vec<NetworkCard> = Vec::new();
        for (card, mac) in
            cards().filter_map(|card| Some((card, card.mac.as_deref()?.parse().ok()?)))
        {
            add(&mut nics, mac, card.ip.as_deref().and_then(|text| text.trim().parse().ok()));
        }
        if let ReadNetworkData::Known(data) = network {
            let addressed: Vec<MacAddress> =
                nics.iter().filter(|nic| !nic.addresses.is_empty()).map(|nic| nic.mac).collect();
            for (mac, address) in data.card_addresses().filter(|(mac, _)| !addressed.contains(mac))
            {
                add(&mut nics, mac, Some(address));
            }
        }
        // The sort is stable, so the order within a family stays.
        nics.iter_mut().for_each(|nic| nic.addresses.sort_by_key(IpAddr::is_ipv6));
        let models: Vec<Model> =
            cards().filter_map(|card| card.model.as_deref()?.parse().ok()).collect();
        let said = |label: &str| labels.get(label).and_then(|value| truth(value));
        Self {
            boot_mac: hardware.boot_mac_address.as_deref().and_then(|text| text.parse().ok()),
            nics,
            cpu: found.and_then(|found| found.cpu.count),
            memory_mib: found.and_then(|found| found.ram_mebibytes),
            sriov: said(SRIOV)
                .unwrap_or_else(|| models.iter().any(|model| devices.have_sriov(*model))),
            cpus: found.map(|found| Cpus::new(&found.cpu)).unwrap_or_default(),
            qat: said(QAT).unwrap_or_else(|| models.iter().any(|model| devices.have_qat(*model))),
        }
    }

    /// Returns the unmet requirements, except MAC address and address.
    pub fn lacks<'a>(
        &'a self,
        asked: &'a RequiredMachine,
    ) -> impl Iterator<Item = UnmetRequirement> + 'a {
        let less = |has: Option<u64>,
                    asked: u64,
                    insufficient: fn(u64, u64) -> UnmetRequirement| match has {
            // Without a requirement, unknown hardware does not matter.
            _ if asked == 0 => None,
            Some(has) => (has < asked).then(|| insufficient(has, asked)),
            None => Some(UnmetRequirement::Unknown),
        };
        let cpu = less(self.cpu, asked.cpu, UnmetRequirement::Cpu);
        let memory = less(self.memory_mib, asked.memory_mib, UnmetRequirement::Memory);
        // Report `Unknown` only once.
        let memory = memory.filter(|_| cpu != Some(UnmetRequirement::Unknown));
        let sriov = (asked.sriov && !self.sriov).then_some(UnmetRequirement::Sriov);
        let qat = (asked.qat && !self.qat).then_some(UnmetRequirement::Qat);
        let is_unknown =
            cpu == Some(UnmetRequirement::Unknown) || memory == Some(UnmetRequirement::Unknown);
        let kind = (!is_unknown).then(|| self.cpus.lack(&asked.cpus));
        [cpu, memory, sriov, qat].into_iter().flatten().chain(kind.into_iter().flatten())
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
        match mac {
            Some(mac) => of(mac),
            None => {
                let booting = self.boot_mac.and_then(of);
                booting.or_else(|| self.nics.iter().find_map(|nic| nic.addresses.first().copied()))
            }
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
    use crate::base::api::hardware::Hardware;
    use crate::base::api::network_data::NetworkData;
    use crate::base::finding::Origin;
    use crate::site::inventory::hardware::{HardwareSource, InspectedHardware};

    #[test]
    fn cpus_are_compared_by_model_features_and_architecture() {
        let cpus = Cpus::new(&hardware::Cpu {
            model: Some("Intel(R) Xeon(R) Gold 6252N CPU @ 2.30GHz".to_owned()),
            arch: Some("x86_64".to_owned()),
            flags: vec!["fpu".to_owned(), "AVX512F".to_owned(), "avx512cd".to_owned()],
            ..hardware::Cpu::default()
        });
        let lack = |model: &str, flag: &str, arch: &str| -> Vec<String> {
            let one = |text: &str| {
                Some(text.to_owned()).filter(|text| !text.is_empty()).into_iter().collect()
            };
            let asked =
                RequiredCpus { models: one(model), flags: one(flag), architectures: one(arch) };
            cpus.lack(&asked).map(|lack| lack.to_string()).collect()
        };

        assert!(lack("xeon*gold 62", "avx512f", "X86_64").is_empty());
        assert!(lack("", "", "").is_empty());
        assert_eq!(lack("", "avx512", ""), ["has no avx512"]);
        assert_eq!(lack("gold*xeon", "", "").len(), 1, "parts have an order");
        assert_eq!(
            lack("", "", "aarch64"),
            ["has the CPU architecture `x86_64`, and `aarch64` is asked for"]
        );
        let asked = RequiredCpus { flags: ["vmx".to_owned()].into(), ..RequiredCpus::default() };
        let unknown = Cpus::default();
        let lack: Vec<String> = unknown.lack(&asked).map(|lack| lack.to_string()).collect();
        assert_eq!(lack, ["has no known CPU features"]);
    }

    /// Returns a machine with inspected hardware, network data and labels.
    fn machine(hardware: &str, network_data: &str, labels: &[(&str, &str)]) -> MachineProperties {
        let found = (!hardware.is_empty()).then(|| InspectedHardware {
            source: HardwareSource::Status,
            hardware: yaml_serde::from_str::<Hardware>(hardware).unwrap(),
            origin: Origin::for_file(Arc::from(camino::Utf8Path::new("hosts.yaml")), ""),
        });
        let hardware =
            HostHardware { boot_mac_address: Some("00-00-5E-00-53-01".to_owned()), found };
        let network = ReadNetworkData::Known(Arc::new(NetworkData::parse(network_data).unwrap()));
        let labels =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        MachineProperties::new(&hardware, &network, &labels, &Devices::default())
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
    fn what_is_not_known_of_a_machine_it_lacks() {
        let asked =
            RequiredMachine { cpu: 8, memory_mib: 1024, sriov: true, ..RequiredMachine::default() };
        let known = MachineProperties {
            cpu: Some(8),
            memory_mib: Some(512),
            sriov: true,
            ..MachineProperties::default()
        };
        let lacks = |machine: &MachineProperties, asked| machine.lacks(asked).collect::<Vec<_>>();
        assert_eq!(lacks(&known, &asked), [UnmetRequirement::Memory(512, 1024)]);
        assert_eq!(
            lacks(&MachineProperties::default(), &asked),
            [UnmetRequirement::Unknown, UnmetRequirement::Sriov]
        );
        assert_eq!(lacks(&MachineProperties::default(), &RequiredMachine::default()), []);
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
