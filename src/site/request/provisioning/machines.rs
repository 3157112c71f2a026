//! The machines of a Provisioning.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Selector, SelectorExt};

use super::{ProvisioningValidation, Route};
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
use crate::site::inventory::hosts_by_mac::HostsByMac;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::inventory::requirements::{HardwareRequirements, TextPattern};
use crate::site::request::cluster::{Installation, NodeSet, StandbyHosts};

/// Maximum number of similar MAC addresses that a finding names.
const MOST_NEAR: usize = 3;

/// Returns the help for a MAC address that no host has.
fn help_for(macs: &HostsByMac<'_>, mac: MacAddress) -> String {
    let near = macs.near(mac, MOST_NEAR);
    let bare = macs.all().iter().filter(|host| host.machine.nics.is_empty()).count();
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
    route: Route,
    /// MAC address with its route.
    mac: Option<(MacAddress, Route)>,
    hardware: HardwareRequirements,
    selector: Selector,
    /// Set if it has any requirement.
    is_asked: bool,
}

impl ProvisioningValidation<'_> {
    /// Returns the requested machines, and an installation with their names.
    pub(crate) fn machines(
        &mut self,
        spec: &ProvisioningSpec,
        macs: &HostsByMac<'_>,
    ) -> (BTreeMap<Part, Box<NodeSet>>, Installation) {
        if spec.masters.iter().flatten().next().is_none() {
            // The list is required: if empty were valid, a typo would release every host of the
            // cluster.
            self.found.report(
                Code::InvalidMachine,
                ["spec", "masters"],
                "the Provisioning has no control-plane machine",
                "list at least one machine under `spec.masters`",
            );
        }
        let masters = self.requested(spec.masters.as_deref(), "masters", Role::ControlPlane);
        let workers = self.requested(spec.workers.as_deref(), "workers", Role::Worker);
        let names = |list: &[RequestedMachine]| list.iter().map(|it| it.name.clone()).collect();
        let installation = Installation {
            masters: names(&masters),
            workers: names(&workers),
            ..Installation::default()
        };
        let mut node_sets = BTreeMap::new();
        let mut requested = masters;
        for worker in workers {
            match requested.iter_mut().find(|known| known.name == worker.name) {
                None => requested.push(worker),
                Some(master) => self.join(master, worker),
            }
        }
        self.refuse_shared_macs(&requested, macs);
        for RequestedMachine { name, role, route, mac, hardware, selector, is_asked } in requested {
            if !is_asked {
                let message =
                    format!("machine `{name}` has neither a MAC address nor requirements");
                let help = "write its `mac-address`, or its requirements: `cpu`, `memory`, `sriov`, `qat`, `cpuModel`, `cpuFlags`, `cpuArch`, `labelSelector`";
                let finding = Finding::new(Code::InvalidMachine, message);
                self.found.all.push(finding.at(self.found.origin.key(route.clone())).help(help));
            }
            let named = mac.and_then(|(mac, mac_route)| {
                let host = self.host_with(&name, mac, &mac_route, macs)?;
                Some((mac, host))
            });
            if let Some((mac, host)) = named {
                self.judge(&name, &route, mac, &hardware, &selector, macs.host(host));
            }
            let at = DocumentField::new(self.found.origin, route);
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
            let part = Part { role, node: Some(name), node_set: None };
            node_sets.insert(part, Box::new(node_set));
        }
        (node_sets, installation)
    }

    /// Returns the machines of a list with valid names, each name once.
    fn requested(
        &mut self,
        list: Option<&[BTreeMap<String, Option<MachineRequest>>]>,
        field: &str,
        role: Role,
    ) -> Vec<RequestedMachine> {
        let mut machines: Vec<RequestedMachine> = Vec::new();
        let listed = list.into_iter().flatten().enumerate();
        // Decoding rejected entries with no key or several keys.
        for (index, (name, asked)) in
            listed.filter_map(|(index, entry)| Some((index, entry.iter().next()?)))
        {
            let route: Route =
                vec!["spec".into(), field.into(), index.into(), name.as_str().into()];
            let place = self.found.origin.key(route.clone());
            let name: NodeName = match name.parse() {
                Ok(name) => name,
                Err(error) => {
                    let message = format!("the machine's name `{name}` {error}");
                    let help = "choose another name: its host has it as a label";
                    let finding = Finding::new(Code::InvalidMachine, message).at(place);
                    self.found.all.push(finding.help(help));
                    continue;
                }
            };
            if let Some(other) = machines.iter().find(|other| other.name == name) {
                let message = format!("`{field}` has two machines named `{name}`");
                let other = self.found.origin.key(other.route.clone());
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let help = "rename one of them, or remove it";
                self.found.all.push(finding.see(other, "the other one").help(help));
                continue;
            }
            let nothing = MachineRequest::default();
            machines.push(self.machine(name, role, asked.as_ref().unwrap_or(&nothing), route));
        }
        machines
    }

    /// Parses the requirements of a machine.
    fn machine(
        &mut self,
        name: NodeName,
        role: Role,
        asked: &MachineRequest,
        route: Route,
    ) -> RequestedMachine {
        let at = |field: &str| below(&route, [field]);
        let invalid = Code::InvalidMachine;
        let mistakes = self.found.all.len();
        let mac = asked.mac_address.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let mac = mac.and_then(|text| {
            let is_placeholder = text.starts_with('<') || text.contains("{{") || text.contains('$');
            let help = if is_placeholder {
                "replace the placeholder by the machine's MAC address, such as 52:54:00:ab:cd:ef"
            } else {
                "write six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef"
            };
            let message = format!("the mac-address of `{name}` is not a MAC address");
            let mac = text.parse().map_err(|_| message);
            Some((self.found.accept(mac, invalid, at("mac-address"), help)?, at("mac-address")))
        });
        let cpu = u64::try_from(asked.cpu.unwrap_or_default())
            .map_err(|_| format!("`{name}` asks for a negative number of CPUs"));
        let cpu = self.found.accept(cpu, invalid, at("cpu"), "write the minimum number");
        let memory =
            asked.memory.as_ref().map(|text| text.0.trim()).filter(|text| !text.is_empty());
        let memory_mib = memory
            .map_or(Some(0), quantity::mebibytes)
            .ok_or_else(|| format!("the memory of `{name}` is not a Kubernetes quantity"));
        let help = "write a number of bytes with its unit, such as `16Gi`";
        let memory_mib = self.found.accept(memory_mib, invalid, at("memory"), help);
        let flags = asked.cpu_flags.iter().flatten().enumerate().filter_map(|(index, flag)| {
            let word = is_cpu_flag(flag).then(|| flag.to_ascii_lowercase());
            let word = word.ok_or_else(|| {
                format!("`{name}` requires a CPU feature that is not a single word")
            });
            let help = "write one feature per entry, as in /proc/cpuinfo, such as `avx512f`";
            self.found.accept(word, invalid, below(&at("cpuFlags"), [index]), help)
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
        let selector = selector.and_then(|it| self.found.accept_checked(it, &at("labelSelector")));
        // An invalid requirement counts, so that it is not reported as missing as well.
        let is_asked = mac.is_some()
            || asked.label_selector.is_some()
            || !hardware.is_empty()
            || self.found.all.len() > mistakes;
        let selector = selector.unwrap_or_default();
        RequestedMachine { name, role, route, mac, hardware, selector, is_asked }
    }

    /// Merges a machine's entries from both lists. It must meet the requirements of both.
    fn join(&mut self, known: &mut RequestedMachine, also: RequestedMachine) {
        match (&known.mac, also.mac) {
            (Some((one, at)), Some((other, other_at))) if *one != other => {
                let message =
                    format!("{} is a master and a worker, with two MAC addresses", also.name);
                let (place, at) =
                    (self.found.origin.at(other_at), self.found.origin.at(at.clone()));
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let help =
                    "rename the worker; or, if both are the same machine, remove its mac-address";
                self.found.all.push(finding.see(at, "the master's").help(help));
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
    fn refuse_shared_macs(&mut self, machines: &[RequestedMachine], macs: &HostsByMac<'_>) {
        let host = |mac: MacAddress| match macs.hosts_with(mac) {
            [one] => Some(macs.host(*one)),
            _ => None,
        };
        let mut known: Vec<(&NodeName, MacAddress, &Route)> = Vec::new();
        for RequestedMachine { name, mac, .. } in machines {
            let Some((mac, route)) = mac else { continue };
            let key = host(*mac).map(|host| &host.key);
            let is_same = |(_, other, _): &&(_, MacAddress, _)| {
                other == mac || key.is_some() && host(*other).map(|host| &host.key) == key
            };
            if let Some((other, other_mac, at)) = known.iter().find(is_same) {
                let message = match key {
                    Some(key) if other_mac != mac => {
                        format!(
                            "`{other}` and `{name}` are the same host: {key} has both MAC addresses"
                        )
                    }
                    _ => format!("`{other}` and `{name}` have the same MAC address"),
                };
                let origin = self.found.origin;
                let finding =
                    Finding::new(Code::InvalidMachine, message).at(origin.at(route.clone()));
                let help = "fix one of them; a machine that is master and worker has the same name in both lists";
                let finding = finding.see(origin.at((*at).clone()), other.to_string());
                self.found.all.push(finding.help(help));
            }
            known.push((name, *mac, route));
        }
    }

    /// Returns the index of the only host with a MAC address.
    fn host_with(
        &mut self,
        name: &NodeName,
        mac: MacAddress,
        route: &Route,
        macs: &HostsByMac<'_>,
    ) -> Option<usize> {
        match macs.hosts_with(mac) {
            [host] => Some(*host),
            [] => {
                let message = format!("no host has the MAC address `{mac}` of `{name}`");
                self.found.report(Code::UnknownMac, route.clone(), message, help_for(macs, mac));
                None
            }
            several => {
                let hosts = several.iter().map(|index| macs.host(*index));
                let hosts = hosts.map(|host| (place_of(host, mac), host.key.to_string()));
                let count = counted(several.len(), "host");
                let message = format!("{count} have the MAC address `{mac}` of `{name}`");
                let finding = Finding::new(Code::UnknownMac, message)
                    .at(self.found.origin.at(route.clone()))
                    .see_each(hosts);
                let help = "one of them is a copy or a typo: fix it, or take a new snapshot";
                self.found.all.push(finding.help(help));
                None
            }
        }
    }

    /// Reports unmet requirements of a host that is named by MAC address.
    fn judge(
        &mut self,
        name: &NodeName,
        route: &Route,
        mac: MacAddress,
        asked: &HardwareRequirements,
        selector: &Selector,
        host: &Host,
    ) {
        if host.machine.address(Some(mac)).is_none() {
            let others =
                host.machine.nics.iter().find(|nic| !nic.addresses.is_empty()).map(|nic| nic.mac);
            let help = match others {
                Some(other) => {
                    format!("name the card that has one, {other}; or inspect the host again")
                }
                None => "inspect the host and take a new snapshot, or write its static address into its network data, on a \
                         link with this ethernet_mac_address"
                    .to_owned(),
            };
            let message = format!(
                "`{name}` would have no address: the network card {mac} of host {} has none",
                host.key
            );
            let place = self.found.origin.at(route.iter().cloned().chain(["mac-address".into()]));
            let finding = Finding::new(Code::InvalidMachine, message).at(place);
            self.found.all.push(finding.see(place_of(host, mac), host.key.to_string()).help(help));
        }
        let unmatched = !selector.matches(&host.labels);
        let unmatched = unmatched.then(|| "does not match the labelSelector".to_owned());
        let lacks: Vec<String> =
            host.machine.lacks(asked).map(|lack| lack.to_string()).chain(unmatched).collect();
        if !lacks.is_empty() {
            let message = format!(
                "`{name}` is host {} by its MAC address, which {}",
                host.key,
                lacks.join("; it ")
            );
            let finding =
                Finding::new(Code::Unmet, message).at(self.found.origin.key(route.clone()));
            let finding = finding.see(host.origin.name(), host.key.to_string());
            let help = "the MAC address decides: fix it or the requirements; without a mac-address, sipgen finds a host that meets the requirements";
            self.found.all.push(finding.help(help));
        }
    }
}

/// Returns the place of a host's MAC address.
fn place_of(host: &Host, mac: MacAddress) -> Place {
    if host.machine.boot_mac == Some(mac) {
        return host.origin.at(["spec", "bootMACAddress"].map(RouteStep::from));
    }
    host.live_place(["metadata", "name"])
}
