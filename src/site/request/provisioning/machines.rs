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
use crate::base::finding::{Code, DocumentField, Finding, Place, RouteStep};
use crate::base::text::counted;
use crate::input::decode::label_selector;
use crate::site::inventory::host::Host;
use crate::site::inventory::hosts_by_mac::HostsByMac;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::inventory::requirements::{HardwareRequirements, TextPattern};
use crate::site::request::cluster::{Installation, NodeSet, StandbyHosts};
use crate::site::request::documents::mistake_findings;

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
            self.report(
                Code::InvalidMachine,
                self.origin.at(["spec", "masters"]),
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
                self.report(
                    Code::InvalidMachine,
                    self.origin.key(route.clone()),
                    format!("machine `{name}` has neither a MAC address nor requirements"),
                    "write its `mac-address`, or its requirements: `cpu`, `memory`, `sriov`, `qat`, `cpuModel`, `cpuFlags`, `cpuArch`, `labelSelector`",
                );
            }
            let named = mac.and_then(|(mac, mac_route)| {
                let host = self.host_with(&name, mac, &mac_route, macs)?;
                Some((mac, host))
            });
            if let Some((mac, host)) = named {
                self.judge(&name, &route, mac, &hardware, &selector, macs.host(host));
            }
            let at = DocumentField::new(self.origin, route);
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
            let place = self.origin.key(route.clone());
            let name: NodeName = match name.parse() {
                Ok(name) => name,
                Err(error) => {
                    let message = format!("the machine's name `{name}` {error}");
                    let help = "choose another name: its host has it as a label";
                    self.report(Code::InvalidMachine, place, message, help);
                    continue;
                }
            };
            if let Some(other) = machines.iter().find(|other| other.name == name) {
                let message = format!("`{field}` has two machines named `{name}`");
                let other = self.origin.key(other.route.clone());
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let help = "rename one of them, or remove it";
                self.findings.push(finding.see(other, "the other one").help(help));
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
        let below =
            |field: &str| -> Route { route.iter().cloned().chain([field.into()]).collect() };
        // An invalid requirement counts, so that it is not reported as missing as well.
        let mut is_asked = asked.label_selector.is_some();
        let mut mac = None;
        if let Some(text) =
            asked.mac_address.as_deref().map(str::trim).filter(|text| !text.is_empty())
        {
            is_asked = true;
            match text.parse() {
                Ok(address) => mac = Some((address, below("mac-address"))),
                Err(_) => {
                    let is_placeholder =
                        text.starts_with('<') || text.contains("{{") || text.contains('$');
                    let help = if is_placeholder {
                        "replace the placeholder by the machine's MAC address, such as 52:54:00:ab:cd:ef"
                    } else {
                        "write six pairs of hexadecimal digits, such as 52:54:00:ab:cd:ef"
                    };
                    let message = format!("the mac-address of `{name}` is not a MAC address");
                    self.report(
                        Code::InvalidMachine,
                        self.origin.at(below("mac-address")),
                        message,
                        help,
                    );
                }
            }
        }
        let cpu = u64::try_from(asked.cpu.unwrap_or_default()).unwrap_or_else(|_| {
            let message = format!("`{name}` asks for a negative number of CPUs");
            let (place, help) = (self.origin.at(below("cpu")), "write the minimum number");
            self.report(Code::InvalidMachine, place, message, help);
            is_asked = true;
            0
        });
        let memory =
            asked.memory.as_ref().map(|text| text.0.trim()).filter(|text| !text.is_empty());
        let memory_mib = memory.map_or(Some(0), quantity::mebibytes).unwrap_or_else(|| {
            let message = format!("the memory of `{name}` is not a Kubernetes quantity");
            let help = "write a number of bytes with its unit, such as `16Gi`";
            self.report(Code::InvalidMachine, self.origin.at(below("memory")), message, help);
            is_asked = true;
            0
        });
        let (sriov, qat) = (asked.sriov.unwrap_or_default(), asked.qat.unwrap_or_default());
        let hardware = HardwareRequirements {
            cpu,
            memory_mib,
            sriov,
            qat,
            ..self.asked_cpus(&name, asked, &below)
        };
        is_asked |= !hardware.is_empty();
        is_asked |= asked.cpu_flags.as_ref().is_some_and(|flags| !flags.is_empty());
        let selector = asked.label_selector.as_ref().map(label_selector::check).transpose();
        let selector = selector.unwrap_or_else(|mistakes| {
            let route = below("labelSelector");
            self.findings.extend(mistake_findings(mistakes, self.origin, &route));
            None
        });
        let selector = selector.unwrap_or_default();
        RequestedMachine { name, role, route, mac, hardware, selector, is_asked }
    }

    /// Parses the requirements on the kind of CPUs.
    fn asked_cpus(
        &mut self,
        name: &NodeName,
        asked: &MachineRequest,
        below: &dyn Fn(&str) -> Route,
    ) -> HardwareRequirements {
        let text = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim).unwrap_or_default();
            (!text.trim_matches('*').is_empty()).then(|| text.to_owned())
        };
        let mut cpus = HardwareRequirements {
            models: text(&asked.cpu_model).iter().map(|model| TextPattern::part(model)).collect(),
            architectures: text(&asked.cpu_arch).into_iter().collect(),
            ..HardwareRequirements::default()
        };
        for (index, flag) in asked.cpu_flags.iter().flatten().enumerate() {
            if is_cpu_flag(flag) {
                cpus.flags.insert(flag.to_ascii_lowercase());
                continue;
            }
            let route = below("cpuFlags").into_iter().chain([index.into()]);
            self.report(
                Code::InvalidMachine,
                self.origin.at(route.collect::<Route>()),
                format!("`{name}` requires a CPU feature that is not a single word"),
                "write one feature per entry, as in /proc/cpuinfo, such as `avx512f`",
            );
        }
        cpus
    }

    /// Merges a machine's entries from both lists. It must meet the requirements of both.
    fn join(&mut self, known: &mut RequestedMachine, also: RequestedMachine) {
        match (&known.mac, also.mac) {
            (Some((one, at)), Some((other, other_at))) if *one != other => {
                let message =
                    format!("{} is a master and a worker, with two MAC addresses", also.name);
                let (place, at) = (self.origin.at(other_at), self.origin.at(at.clone()));
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let help =
                    "rename the worker; or, if both are the same machine, remove its mac-address";
                self.findings.push(finding.see(at, "the master's").help(help));
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
        for (index, RequestedMachine { name, mac, .. }) in machines.iter().enumerate() {
            let Some((mac, route)) = mac else { continue };
            let host = |mac: MacAddress| match macs.hosts_with(mac) {
                [one] => Some(*one),
                _ => None,
            };
            let is_same = |other: MacAddress| {
                other == *mac || host(*mac).is_some_and(|one| host(other) == Some(one))
            };
            let mut before =
                machines[..index].iter().filter_map(|it| Some((&it.name, it.mac.as_ref()?)));
            if let Some((other, (other_mac, at))) = before.find(|(_, (other, _))| is_same(*other)) {
                let message = match host(*mac) {
                    Some(host) if other_mac != mac => {
                        format!(
                            "`{other}` and `{name}` are the same host: {} has both MAC addresses",
                            macs.host(host).key
                        )
                    }
                    _ => format!("`{other}` and `{name}` have the same MAC address"),
                };
                let (place, at) = (self.origin.at(route.clone()), self.origin.at(at.clone()));
                let finding = Finding::new(Code::InvalidMachine, message).at(place);
                let help = "fix one of them; a machine that is master and worker has the same name in both lists";
                self.findings.push(finding.see(at, other.to_string()).help(help));
            }
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
        let place = self.origin.at(route.clone());
        match macs.hosts_with(mac) {
            [host] => Some(*host),
            [] => {
                let message = format!("no host has the MAC address `{mac}` of `{name}`");
                self.report(Code::UnknownMac, place, message, help_for(macs, mac));
                None
            }
            several => {
                let hosts = several.iter().map(|index| macs.host(*index));
                let hosts = hosts.map(|host| (place_of(host, mac), host.key.to_string()));
                let count = counted(several.len(), "host");
                let message = format!("{count} have the MAC address `{mac}` of `{name}`");
                let finding = Finding::new(Code::UnknownMac, message).at(place).see_each(hosts);
                let help = "one of them is a copy or a typo: fix it, or take a new snapshot";
                self.findings.push(finding.help(help));
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
            let place = self.origin.at(route.iter().cloned().chain(["mac-address".into()]));
            let finding = Finding::new(Code::InvalidMachine, message).at(place);
            self.findings.push(finding.see(place_of(host, mac), host.key.to_string()).help(help));
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
            let finding = Finding::new(Code::Unmet, message).at(self.origin.key(route.clone()));
            let finding = finding.see(host.origin.name(), host.key.to_string());
            let help = "the MAC address decides: fix it or the requirements; without a mac-address, sipgen finds a host that meets the requirements";
            self.findings.push(finding.help(help));
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
