//! Hosts of a hypothesis.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use camino::Utf8Path;
use kube::core::{Expression, Selector, SelectorExt};
use serde_json::json;

use super::{UnknownSubject, similar_host, with_suggestion};
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host;
use crate::base::api::label_query;
use crate::base::api::names::{HostKey, LabelMap, Namespace, is_label_key, is_label_value};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::grouping::occurrences;
use crate::base::text::counted;
use crate::input::load::Stream;
use crate::site::Site;
use crate::site::inventory::addresses::{AddressSource, KnownAddress};
use crate::site::inventory::host::{AssignmentLabels, HostNetwork, LiveState};
use crate::site::inventory::identity::may_run;
use crate::site::inventory::machine::{MachineProperties, RequiredMachine};
use crate::site::inventory::networks::NoNetworkData;
use crate::site::inventory::{Evidence, Host};

/// The name of the stream with bought hosts, in findings.
const BOUGHT: &str = "<bought hosts>";

/// Hosts of a site.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum HostChoice {
    /// One host.
    #[display("host {_0}")]
    Named(HostKey),
    /// All hosts with certain labels. A key may lack its prefix.
    #[display("hosts with {_0}")]
    Selected(Selector),
}

/// Hosts that are not in the inputs: available, with an address on each interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoughtHosts {
    /// Number of hosts.
    pub count: usize,
    /// Their labels.
    pub labels: LabelMap,
    /// Labels with different values.
    pub spread: Vec<AlternatingLabel>,
    /// Their namespace; `None` for that of most hosts.
    pub namespace: Option<Namespace>,
}

/// A label whose values alternate between hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlternatingLabel {
    /// The label.
    pub key: String,
    /// Its values in order; empty for a value of its own for each host.
    pub values: Vec<String>,
}

impl fmt::Display for BoughtHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.labels.iter().map(|(key, value)| format!("{key}={value}"));
        let spread = self.spread.iter().map(|AlternatingLabel { key, values }| {
            if values.is_empty() {
                format!("{key} of its own")
            } else {
                format!("{key} in ({})", values.join(","))
            }
        });
        let with: Vec<String> = labels.chain(spread).collect();
        write!(f, "{} more", counted(self.count, "host"))?;
        if with.is_empty() { Ok(()) } else { write!(f, " with {}", with.join(", ")) }
    }
}

impl FromStr for HostChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(key) = text.parse() {
            return Ok(HostChoice::Named(key));
        }
        match label_query::parse(text)? {
            selector if selector.selects_all() => Err("it selects every host".to_owned()),
            selector => Ok(HostChoice::Selected(selector)),
        }
    }
}

impl FromStr for AlternatingLabel {
    type Err = String;

    /// Reads `key` or `key=value,value`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text.split_once('=').unwrap_or((text, ""));
        let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
        let values: Vec<String> = values.map(str::to_owned).collect();
        if let Some(value) = values.iter().find(|value| !is_label_value(value)) {
            return Err(format!("`{value}` is no value of a label"));
        }
        if !is_label_key(key) {
            return Err(format!("`{key}` is no key of a label"));
        }
        Ok(AlternatingLabel { key: key.to_owned(), values })
    }
}

impl HostChoice {
    fn hosts(&self, site: &Site) -> Result<BTreeSet<HostKey>, UnknownSubject> {
        let hosts = &site.inventory.hosts;
        match self {
            HostChoice::Named(key) if site.inventory.host(key).is_some() => {
                Ok(BTreeSet::from([key.clone()]))
            }
            HostChoice::Named(key) => {
                let meant = similar_host(key.name.as_str(), site);
                Err(UnknownSubject::Host(with_suggestion(key, meant)))
            }
            HostChoice::Selected(selector) => {
                let whole = with_prefixes(selector, site).map_err(|unknown| {
                    // A host without its namespace reads as the key of a label.
                    let meant = similar_host(&selector.to_string(), site);
                    let host = |meant| UnknownSubject::Host(with_suggestion(selector, Some(meant)));
                    meant.map_or(unknown, host)
                })?;
                let found = hosts.iter().filter(|host| whole.matches(&host.labels));
                let found: BTreeSet<HostKey> = found.map(|host| host.key.clone()).collect();
                if found.is_empty() {
                    return Err(UnknownSubject::Selector(selector.to_string()));
                }
                Ok(found)
            }
        }
    }
}

impl BoughtHosts {
    /// Returns their manifests. Names are new to the site.
    pub(crate) fn manifests(&self, site: &Site) -> Stream {
        let namespace =
            self.namespace.clone().unwrap_or_else(|| usual_namespace(&site.inventory.hosts));
        let is_known = |name: &str| {
            let mut hosts = site.inventory.hosts.iter();
            hosts.any(|host| host.key.name.as_str() == name)
        };
        let names = (1..).map(|number| format!("bought-{number}")).filter(|name| !is_known(name));
        let mut content = String::new();
        for (index, name) in names.take(self.count).enumerate() {
            let mut labels = self.labels.clone();
            for AlternatingLabel { key, values } in &self.spread {
                let value = values.get(index % values.len().max(1)).unwrap_or(&name);
                labels.insert(key.clone(), value.clone());
            }
            let host = json!({
                "apiVersion": host::API_VERSION,
                "kind": host::KIND,
                "metadata": {"name": name, "namespace": namespace.as_str(), "labels": labels},
                "spec": {"online": true},
                "status": {"provisioning": {"state": "available"}},
            });
            content += &format!("---\n{host}\n");
        }
        Stream { name: Arc::from(Utf8Path::new(BOUGHT)), content: content.into_bytes() }
    }
}

/// Returns the namespace of most hosts.
pub(crate) fn usual_namespace(hosts: &[Host]) -> Namespace {
    let counts = occurrences(hosts.iter().map(|host| &host.key.namespace));
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or_else(Namespace::default_namespace, |(namespace, _)| namespace.clone())
}

/// Returns an available host that is in no input. It has an address on each of the interfaces.
pub(crate) fn available_host<'a>(
    key: HostKey,
    labels: LabelMap,
    interfaces: impl Iterator<Item = &'a str>,
) -> Host {
    let (address, source) = (IpAddr::V6(Ipv6Addr::UNSPECIFIED), AddressSource::Annotation);
    let known = KnownAddress { address, source };
    Host {
        key,
        own_namespace: None,
        namespace_by_settings: false,
        file: None,
        evidence: Evidence::Live,
        origin: Origin::for_file(Utf8Path::new(BOUGHT).into(), ""),
        labels,
        undecided: None,
        sync_options: None,
        apply_options: Vec::new(),
        applied_in_full_by: None,
        spec: None,
        reserved_by: None,
        reservations: Vec::new(),
        maintenance: None,
        disable_power_off: false,
        live: LiveState { provisioning: Some("available".to_owned()), ..LiveState::default() },
        assignment: AssignmentLabels::default(),
        network: HostNetwork {
            data: Err(NoNetworkData::Absent),
            addresses: interfaces.map(|name| (name.to_owned(), known)).collect(),
            boot_mac: None,
        },
        hardware: HardwareIdentity::default(),
        refused_change: None,
        is_refused: false,
        same_machine: None,
        machine: MachineProperties::unknown(),
    }
}

/// Returns all hosts of some choices.
///
/// # Errors
///
/// Returns what the site does not have.
pub fn chosen(choices: &[HostChoice], site: &Site) -> Result<BTreeSet<HostKey>, UnknownSubject> {
    let mut hosts = BTreeSet::new();
    for choice in choices {
        hosts.extend(choice.hosts(site)?);
    }
    Ok(hosts)
}

/// Returns the selectors of some choices, with whole label keys.
///
/// # Errors
///
/// Returns the label that the site does not have.
pub fn selectors(choices: &[HostChoice], site: &Site) -> Result<Vec<Selector>, UnknownSubject> {
    let selectors = choices.iter().filter_map(|choice| match choice {
        HostChoice::Named(_) => None,
        HostChoice::Selected(selector) => Some(with_prefixes(selector, site)),
    });
    selectors.collect()
}

/// Takes hosts from their clusters. Cluster API deprovisions a host that a Machine gives up; the machine
/// of a Provisioning keeps its operating system.
pub(super) fn free(hosts: &BTreeSet<HostKey>, site: &mut Site) {
    for host in &mut site.inventory.hosts {
        if !hosts.contains(&host.key) {
            continue;
        }
        host.assignment.claims.clear();
        host.assignment.legacy_key = None;
        let mut held = site.state.held.remove(&host.key).into_iter().flatten();
        if held.any(|held| held.part.node.is_some()) {
            continue;
        }
        host.live.usage = None;
        if may_run(host.live.provisioning.as_deref()) {
            host.live.provisioning = Some("available".to_owned());
        }
    }
}

/// Removes hosts. A request that names one by its MAC address cannot be served, and its other hosts stay.
pub(super) fn remove(gone: &BTreeSet<HostKey>, site: &mut Site) -> Vec<Finding> {
    if gone.is_empty() {
        return Vec::new();
    }
    let before: Vec<HostKey> = site.inventory.hosts.iter().map(|host| host.key.clone()).collect();
    site.inventory.remove(gone);
    let after = |host: usize| site.inventory.index(&before[host]);
    let mut findings = Vec::new();
    for (key, request) in &mut site.clusters {
        request.named = request.named.iter().filter_map(|host| after(*host)).collect();
        let node_sets = request.cluster.iter_mut().flat_map(|cluster| &mut cluster.node_sets);
        let mut lost = None;
        for (part, node_set) in node_sets {
            let Some((mac, host)) = node_set.machine.as_ref().and_then(|machine| machine.named)
            else {
                continue;
            };
            node_set.machine = Some(RequiredMachine { named: after(host).map(|host| (mac, host)) });
            if after(host).is_none() {
                let gone = &before[host];
                let message =
                    format!("{part} of {key} is host {gone} by its MAC address, which is gone");
                lost = Some(Finding::new(Code::NamedHostRefused, message).at(node_set.at.place()));
            }
        }
        if let Some(lost) = lost {
            request.cluster = None;
            findings.push(lost.help("name the host that replaces it").for_cluster(key));
        }
    }
    findings
}

/// Gives bought hosts an address on each interface that services use.
pub(super) fn address_bought(site: &mut Site) {
    let services = site.valid_clusters().flat_map(|cluster| &cluster.services);
    let interfaces: BTreeSet<String> =
        services.filter_map(|service| service.interface.clone()).collect();
    for (index, host) in site.inventory.hosts.iter_mut().enumerate() {
        if host.origin.file.as_str() != BOUGHT {
            continue;
        }
        for (number, interface) in interfaces.iter().enumerate() {
            // Addresses for documentation: no host of a site has one.
            let bits = (0x2001_0db8_u128 << 96) + ((number as u128) << 64) + index as u128;
            let (address, source) = (Ipv6Addr::from_bits(bits).into(), AddressSource::Annotation);
            let known = KnownAddress { address, source };
            host.network.addresses.insert(interface.clone(), known);
        }
    }
}

/// Returns the keys of the labels that hosts have.
pub(crate) fn label_keys(site: &Site) -> Vec<&str> {
    let labels = site.inventory.hosts.iter().flat_map(|host| host.labels.keys());
    labels.map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Adds the prefix to keys that lack it.
fn with_prefixes(selector: &Selector, site: &Site) -> Result<Selector, UnknownSubject> {
    let known = label_keys(site);
    let whole = |key: String| -> Result<String, UnknownSubject> {
        if known.contains(&key.as_str()) {
            return Ok(key);
        }
        let name = format!("/{key}");
        let is_meant = |label: &&str| label.ends_with(&name);
        let meant: Vec<&str> = known.iter().copied().filter(is_meant).collect();
        match meant.as_slice() {
            [label] => Ok((*label).to_owned()),
            [] => Err(UnknownSubject::label(&key, &known)),
            labels => Err(UnknownSubject::label(&key, labels)),
        }
    };
    let expressions = selector.clone().into_iter().map(|expression| {
        Ok(match expression {
            Expression::In(key, values) => Expression::In(whole(key)?, values),
            Expression::NotIn(key, values) => Expression::NotIn(whole(key)?, values),
            Expression::Equal(key, value) => Expression::Equal(whole(key)?, value),
            Expression::NotEqual(key, value) => Expression::NotEqual(whole(key)?, value),
            Expression::Exists(key) => Expression::Exists(whole(key)?),
            Expression::DoesNotExist(key) => Expression::DoesNotExist(whole(key)?),
        })
    });
    expressions.collect()
}
