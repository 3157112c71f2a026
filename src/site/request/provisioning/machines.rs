//! The machines of a Provisioning.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Selector, SelectorExt};

use crate::base::api::hardware_requirements::is_cpu_flag;
use crate::base::api::mac::MacAddress;
use crate::base::api::machine_names::MachineNames;
use crate::base::api::names::{NodeName, Part, Role};
use crate::base::api::provisioning::{MachineRequest, ProvisioningSpec};
use crate::base::api::quantity;
use crate::base::finding::{Code, DocumentField, Finding, Place, RouteStep, below};
use crate::base::text::counted;
use crate::input::decode::label_selector;
use crate::site::inventory::host::Host;
use crate::site::inventory::identity::HostsByMac;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::inventory::requirements::{HardwareRequirements, TextPattern};
use crate::site::request::cluster::{Installation, NodeSet, PartNodeSets, StandbyHosts};
use crate::site::request::documents::RequestValidation;

/// Maximum number of similar MAC addresses that a finding names.
const MOST_NEAR: usize = 3;

/// Returns the help for a MAC address that no host has.
fn help_for(macs: &HostsByMac<'_>, mac: MacAddress) -> String {
    let near = macs.near(mac, MOST_NEAR);
    let bare = macs.hosts.iter().filter(|host| host.machine.nics.is_empty()).count();
    if let [(first, host), rest @ ..] = near.as_slice() {
        let rest = rest.iter().map(|(mac, host)| format!(", {mac} is one of {}", host.key));
        format!("correct it: {first} is one of {}{}", host.key, rest.collect::<String>())
    } else if bare == 0 {
        "fix it, or add the host: a BareMetalHost with this bootMACAddress, or with this MAC address in its hardware details"
            .to_owned()
    } else {
        format!(
            "correct it; or inspect the hosts and take a new snapshot: no network card is known of {}",
            counted(bare, "host")
        )
    }
}

/// A machine by name, from one or both lists.
struct RequestedMachine {
    name: NodeName,
    role: Role,
    at: DocumentField,
    /// MAC address with its place.
    mac: Option<(MacAddress, Place)>,
    hardware: HardwareRequirements,
    selector: Selector,
    /// Set if it has any requirement.
    is_asked: bool,
}

impl RequestValidation<'_, '_> {
    /// Returns the requested machines, and an installation with their names.
    pub(super) fn machines(&mut self, spec: &ProvisioningSpec) -> (PartNodeSets, Installation) {
        if spec.masters.iter().flatten().next().is_none() {
            // The list is required: if empty were valid, a typo would release every host of the
            // cluster.
            let message = "the Provisioning has no control-plane machine";
            let help = "list at least one machine under `spec.masters`";
            self.report(Code::InvalidMachine, ["spec", "masters"], message, help);
        }
        let masters = self.requested(spec.masters.as_deref(), "masters", Role::ControlPlane);
        let workers = self.requested(spec.workers.as_deref(), "workers", Role::Worker);
        let names = |list: &[RequestedMachine]| list.iter().map(|it| it.name.clone()).collect();
        let installation = Installation {
            masters: names(&masters),
            workers: names(&workers),
            ..Installation::default()
        };
        let mut requested = masters;
        for worker in workers {
            match requested.iter_mut().find(|known| known.name == worker.name) {
                None => requested.push(worker),
                Some(master) => self.join(master, worker),
            }
        }
        self.refuse_shared_macs(&requested);
        let node_sets = requested.into_iter().map(|machine| {
            let named = self.named_host(&machine);
            let RequestedMachine { name, role, at, hardware, selector, .. } = machine;
            let node_set = NodeSet {
                selector,
                namespace: None,
                reservations: BTreeSet::new(),
                topology_keys: Vec::new(),
                topology_at: Vec::new(),
                max_per_domain: 1,
                spread: Vec::new(),
                active: 1,
                standby: StandbyHosts::Number(0),
                hardware,
                machine: Some(RequiredMachine { named }),
                machine_names: MachineNames::default(),
                selector_at: at.below(["labelSelector".into()]),
                count_at: at.clone(),
                active_at: at.clone(),
                spare_at: None,
                at,
            };
            (Part { role, node: Some(name), node_set: None }, Box::new(node_set))
        });
        (node_sets.collect(), installation)
    }

    /// Returns the machines of a list with valid names, each name once.
    fn requested(
        &mut self,
        list: Option<&[BTreeMap<String, Option<MachineRequest>>]>,
        field: &str,
        role: Role,
    ) -> Vec<RequestedMachine> {
        let mut machines: Vec<RequestedMachine> = Vec::new();
        let nothing = MachineRequest::default();
        for (index, entry) in list.into_iter().flatten().enumerate() {
            // Decoding rejected entries with no key or several keys.
            let Some((name, asked)) = entry.iter().next() else { continue };
            let route = ["spec".into(), field.into(), index.into(), RouteStep::from(&**name)];
            let at = DocumentField::new(&self.document.origin, route);
            let place = at.key();
            let name: NodeName = match name.parse() {
                Ok(name) => name,
                Err(error) => {
                    let message = format!("the machine's name `{name}` {error}");
                    let help = "choose another name: its host has it as a label";
                    let finding = Finding::new(Code::InvalidMachine, message).at(place);
                    self.findings.push(finding.help(help));
                    continue;
                }
            };
            if let Some(other) = machines.iter().find(|other| other.name == name) {
                let message = format!("`{field}` has two machines named `{name}`");
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let finding = finding.see(other.at.key(), "the other one");
                self.findings.push(finding.help("rename one of them, or remove it"));
                continue;
            }
            machines.push(self.machine(name, role, asked.as_ref().unwrap_or(&nothing), at));
        }
        machines
    }

    /// Parses the requirements of a machine.
    fn machine(
        &mut self,
        name: NodeName,
        role: Role,
        asked: &MachineRequest,
        at: DocumentField,
    ) -> RequestedMachine {
        let route = |field: &str| below(&at.route, [field]);
        let invalid = Code::InvalidMachine;
        let mistakes = self.findings.len();
        let mac = asked.mac_address.as_deref().map(str::trim).filter(|text| !text.is_empty()).and_then(|text| {
            let is_placeholder = text.starts_with('<') || text.contains("{{") || text.contains('$');
            let help = if is_placeholder {
                "replace the placeholder by the machine's MAC address, such as 52:54:00:ab:cd:ef"
            } else {
                "write six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef"
            };
            let message = format!("the mac-address of `{name}` is not a MAC address");
            let mac = text.parse().map_err(|_| message);
            let mac = self.accept(mac, invalid, route("mac-address"), help)?;
            Some((mac, at.origin.at(route("mac-address"))))
        });
        let cpu = u64::try_from(asked.cpu.unwrap_or_default())
            .map_err(|_| format!("`{name}` asks for a negative number of CPUs"));
        let cpu = self.accept(cpu, invalid, route("cpu"), "write the minimum number");
        let memory =
            asked.memory.as_ref().map(|text| text.0.trim()).filter(|text| !text.is_empty());
        let memory_mib = memory
            .map_or(Some(0), quantity::mebibytes)
            .ok_or_else(|| format!("the memory of `{name}` is not a Kubernetes quantity"));
        let help = "write a number of bytes with its unit, such as `16Gi`";
        let memory_mib = self.accept(memory_mib, invalid, route("memory"), help);
        let flags = asked.cpu_flags.iter().flatten().enumerate().filter_map(|(index, flag)| {
            let word = is_cpu_flag(flag).then(|| flag.to_ascii_lowercase());
            let word = word.ok_or_else(|| {
                format!("`{name}` requires a CPU feature that is not a single word")
            });
            let help = "write one feature per entry, as in /proc/cpuinfo, such as `avx512f`";
            self.accept(word, invalid, below(&route("cpuFlags"), [index]), help)
        });
        let flags = flags.collect();
        let text = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim).unwrap_or_default();
            (!text.trim_matches('*').is_empty()).then(|| text.to_owned())
        };
        let hardware = HardwareRequirements {
            cpu: cpu.unwrap_or_default(),
            memory_mib: memory_mib.unwrap_or_default(),
            sriov: asked.sriov.unwrap_or_default(),
            qat: asked.qat.unwrap_or_default(),
            models: text(&asked.cpu_model).iter().map(|model| TextPattern::part(model)).collect(),
            flags,
            architectures: text(&asked.cpu_arch).into_iter().collect(),
            ..HardwareRequirements::default()
        };
        let selector = asked.label_selector.as_ref().map(label_selector::check);
        let selector = selector.and_then(|it| self.accept_checked(it, &route("labelSelector")));
        // An invalid requirement counts, so that it is not reported as missing as well.
        let is_asked = mac.is_some()
            || asked.label_selector.is_some()
            || !hardware.is_empty()
            || self.findings.len() > mistakes;
        let selector = selector.unwrap_or_default();
        RequestedMachine { name, role, at, mac, hardware, selector, is_asked }
    }

    /// Merges a machine's entries from both lists. It must meet the requirements of both.
    fn join(&mut self, known: &mut RequestedMachine, also: RequestedMachine) {
        match (&known.mac, also.mac) {
            (Some((one, at)), Some((other, place))) if *one != other => {
                let message =
                    format!("{} is a master and a worker, with two MAC addresses", also.name);
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let help =
                    "rename the worker; or, if both are the same machine, remove its mac-address";
                self.findings.push(finding.see(at.clone(), "the master's").help(help));
            }
            (Some(_), _) => {}
            (None, mac) => known.mac = mac,
        }
        let (hardware, more) = (&mut known.hardware, also.hardware);
        hardware.cpu = hardware.cpu.max(more.cpu);
        hardware.memory_mib = hardware.memory_mib.max(more.memory_mib);
        hardware.sriov |= more.sriov;
        hardware.qat |= more.qat;
        hardware.models.extend(more.models);
        hardware.flags.extend(more.flags);
        hardware.architectures.extend(more.architectures);
        known.selector.extend(also.selector);
        known.is_asked |= also.is_asked;
    }

    /// Reports two machines that are one: by equal MAC addresses, or by two of the same host.
    fn refuse_shared_macs(&mut self, machines: &[RequestedMachine]) {
        let macs = self.context.hosts_by_mac();
        let host = |mac: MacAddress| match macs.hosts_with(mac) {
            [one] => Some(&macs.hosts[*one].key),
            _ => None,
        };
        let with_mac: Vec<_> =
            machines.iter().filter_map(|it| Some((&it.name, it.mac.as_ref()?))).collect();
        for (index, (name, (mac, place))) in with_mac.iter().enumerate() {
            let key = host(*mac);
            let is_same = |(_, (other, _)): &&(_, &(MacAddress, _))| {
                other == mac || key.is_some() && host(*other) == key
            };
            let Some((other, (other_mac, at))) = with_mac[..index].iter().find(is_same) else {
                continue;
            };
            let message = match key {
                Some(key) if other_mac != mac => format!(
                    "`{other}` and `{name}` are the same host: {key} has both MAC addresses"
                ),
                _ => format!("`{other}` and `{name}` have the same MAC address"),
            };
            let finding = Finding::new(Code::InvalidMachine, message).at(place.clone());
            let help = "fix one of them; a machine that is master and worker has the same name in both lists";
            self.findings.push(finding.see(at.clone(), other.to_string()).help(help));
        }
    }

    /// Returns the MAC address of a machine and the index of the only host that has it. Reports a
    /// machine without requirements, and a host that does not meet them.
    fn named_host(&mut self, machine: &RequestedMachine) -> Option<(MacAddress, usize)> {
        let RequestedMachine { name, mac, .. } = machine;
        if !machine.is_asked {
            let message = format!("machine `{name}` has neither a MAC address nor requirements");
            let help = "write its `mac-address`, or its requirements: `cpu`, `memory`, `sriov`, `qat`, `cpuModel`, `cpuFlags`, `cpuArch`, `labelSelector`";
            let finding = Finding::new(Code::InvalidMachine, message).at(machine.at.key());
            self.findings.push(finding.help(help));
        }
        let ((mac, place), macs) = (mac.as_ref()?, self.context.hosts_by_mac());
        let finding = match macs.hosts_with(*mac) {
            [host] => {
                self.judge(machine, *mac, &macs.hosts[*host]);
                return Some((*mac, *host));
            }
            [] => {
                let message = format!("no host has the MAC address `{mac}` of `{name}`");
                let finding = Finding::new(Code::UnknownMac, message).at(place.clone());
                finding.help(help_for(macs, *mac))
            }
            several => {
                let hosts = several.iter().map(|index| &macs.hosts[*index]);
                let hosts = hosts.map(|host| (place_of(host, *mac), host.key.to_string()));
                let count = counted(several.len(), "host");
                let message = format!("{count} have the MAC address `{mac}` of `{name}`");
                let help = "one of them is a copy or a typo: fix it, or take a new snapshot";
                let finding = Finding::new(Code::UnknownMac, message).at(place.clone());
                finding.see_each(hosts).help(help)
            }
        };
        self.findings.push(finding);
        None
    }

    /// Reports unmet requirements of a host that is named by MAC address.
    fn judge(&mut self, machine: &RequestedMachine, mac: MacAddress, host: &Host) {
        let RequestedMachine { name, at, hardware, selector, .. } = machine;
        let key = &host.key;
        if host.machine.address(Some(mac)).is_none() {
            let addressed = host.machine.nics.iter().find(|nic| !nic.addresses.is_empty());
            let help = match addressed.map(|nic| nic.mac) {
                Some(other) => {
                    format!("name the card that has one, {other}; or inspect the host again")
                }
                None => "inspect the host and take a new snapshot, or write its static address into its network data, on a \
                         link with this ethernet_mac_address"
                    .to_owned(),
            };
            let message = format!(
                "`{name}` would have no address: the network card {mac} of host {key} has none"
            );
            let place = at.below(["mac-address".into()]).place();
            let finding = Finding::new(Code::InvalidMachine, message).at(place);
            self.findings.push(finding.see(place_of(host, mac), key.to_string()).help(help));
        }
        let unmatched = !selector.matches(&host.labels);
        let unmatched = unmatched.then(|| "does not match the labelSelector".to_owned());
        let lacks: Vec<String> =
            host.machine.lacks(hardware).map(|lack| lack.to_string()).chain(unmatched).collect();
        if !lacks.is_empty() {
            let lacks = lacks.join("; it ");
            let message = format!("`{name}` is host {key} by its MAC address, which {lacks}");
            let finding = Finding::new(Code::Unmet, message).at(machine.at.key());
            let help = "the MAC address decides: fix it or the requirements; without a mac-address, sipgen finds a host that meets the requirements";
            self.findings.push(finding.see(host.origin.name(), key.to_string()).help(help));
        }
    }
}

/// Returns the place of a host's MAC address.
fn place_of(host: &Host, mac: MacAddress) -> Place {
    if host.machine.boot_mac == Some(mac) {
        return host.origin.at(["spec", "bootMACAddress"]);
    }
    host.live_place(["metadata", "name"])
}
