//! A host's network data: OpenStack's `network_data.json`, in JSON or YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::JsonObject;
use super::address::{is_link_local, is_reachable, parse_address, unusable};
use super::mac::MacAddress;
use super::names::is_label_value;
use super::network_format::{self, NMSTATE};
use crate::base::text::yaml;

/// The keys of a Secret that may hold network data. The first existing key wins.
pub const SECRET_KEYS: [&str; 2] = ["networkData", "value"];

/// The networks of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkData {
    networks: Vec<NetworkEntry>,
}

/// A network of a host. A `nodeInterfaceId` refers to its id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NetworkEntry {
    id: String,
    address: Option<IpAddr>,
    /// The MAC addresses of the network cards that it uses; several for a bond.
    cards: Vec<MacAddress>,
}

/// The reason why an interface of a host has no address. The display completes "host …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// No network has this id.
    #[error("has no network `{0}` in its network data")]
    NoSuchNetwork(String),
    /// The network has no static address, for example with DHCP.
    #[error("has no address in its network `{0}`")]
    NoStaticAddress(String),
    /// Machines beyond its link cannot reach its addresses.
    #[error("has only a link-local address in its network `{0}`, which no other network reaches")]
    LinkLocal(String),
}

/// The reason why a text is not network data. The display is one clause without the text itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedNetworkData {
    /// Neither JSON nor YAML of the expected structure.
    #[error("is not network data in JSON or YAML")]
    Shape,
    /// Another format, by its name.
    #[error("is in the format of {0}, not of OpenStack's network_data.json")]
    OtherFormat(&'static str),
    /// An `ip_address` is not an IP address.
    #[error("has {address} in network `{network}`, which is not an IP address")]
    Address {
        /// The network's id.
        network: String,
        /// A description of the value. It quotes the value only if it looks like an address.
        address: String,
    },
    /// An `ip_address` whose value Flux fills in.
    #[error("has a variable of Flux in network `{0}`, whose value is unknown")]
    Variable(String),
    /// An `ip_address` that no host can have.
    #[error("has the ip_address `{address}` in network `{network}`, which {why}")]
    Unusable {
        /// The network's id.
        network: String,
        /// The address.
        address: IpAddr,
        /// The reason.
        why: &'static str,
    },
}

/// The fields that matter.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RawNetworkData {
    networks: Vec<RawNetwork>,
    links: Vec<RawLink>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawNetwork {
    id: Option<String>,
    ip_address: Option<String>,
    // A value of an unexpected type in the others fails nothing.
    netmask: Value,
    gateway: Value,
    routes: Value,
    /// The id of a link.
    link: Value,
}

impl RawNetwork {
    /// Returns why no host can have an address in the network. `prefix` is its length, if known.
    fn unusable(&self, address: IpAddr, prefix: Option<u32>) -> Option<&'static str> {
        // cloud-init reads a prefix length there, too.
        let mask = || match &self.netmask {
            Value::String(text) => {
                let mask = text.parse().map(|mask: Ipv4Addr| mask.to_bits().leading_ones());
                mask.ok().or_else(|| text.parse().ok())
            }
            length => u32::try_from(length.as_u64()?).ok(),
        };
        let prefix = prefix.or_else(mask);
        let routes = self.routes.as_array().into_iter().flatten();
        let gateways = routes.map(|route| &route["gateway"]).chain([&self.gateway]);
        unusable(address, prefix, gateways.filter_map(|gateway| gateway.as_str()?.parse().ok()))
    }
}

#[derive(Deserialize)]
struct RawLink {
    id: String,
    ethernet_mac_address: Option<String>,
    /// The links of a bond.
    bond_links: Option<Vec<String>>,
    /// The link that a VLAN uses.
    vlan_link: Option<String>,
}

impl RawNetworkData {
    fn parse(text: &str) -> Option<Self> {
        parse_as(text).or_else(|| {
            // Links of another shape fail nothing, because services do not use them.
            let mut data: JsonObject = parse_as(text)?;
            let links = data.remove("links")?;
            let links = links.as_array().into_iter().flatten();
            let links = links.filter_map(|link| RawLink::deserialize(link).ok()).collect();
            Some(Self { links, ..serde_json::from_value(data.into()).ok()? })
        })
    }
}

/// Parses JSON or YAML. JSON comes first, because it is usual in real Secrets and fast to parse.
fn parse_as<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok().or_else(|| yaml::parse(text))
}

/// The maximum number of links that a network uses. A VLAN on a bond of eight cards uses ten.
const MOST_LINKS: usize = 32;

/// Returns the MAC addresses of the network cards below a link, its own first. A VLAN has the MAC
/// address of the link that it uses.
fn cards(link: &str, links: &[RawLink]) -> Vec<MacAddress> {
    let mut found: Vec<MacAddress> = Vec::new();
    let mut used: Vec<&str> = Vec::new();
    let mut open = vec![link];
    while let Some(id) = open.pop().filter(|_| used.len() < MOST_LINKS) {
        // Links may use each other.
        if used.contains(&id) {
            continue;
        }
        used.push(id);
        let Some(link) = links.iter().find(|known| known.id == id) else { continue };
        let own = link.ethernet_mac_address.as_deref().and_then(|mac| mac.parse().ok());
        found.extend(own.filter(|mac| !found.contains(mac)));
        open.extend(link.vlan_link.as_deref());
        let bonded = link.bond_links.as_deref().unwrap_or_default().iter();
        open.extend(bonded.take(MOST_LINKS).rev().map(String::as_str));
    }
    found
}

/// The top-level keys that distinguish plain network data from a manifest.
#[derive(Deserialize)]
struct TopLevelKeys {
    kind: Option<IgnoredAny>,
    networks: Option<Vec<IgnoredAny>>,
}

impl NetworkData {
    /// Returns whether a text is plain network data, in any format that has no secrets.
    pub fn is_plain(text: &str) -> bool {
        // Skips parsing in the common case: most files with such names are Secrets.
        let is_manifest = text.lines().any(|line| line.starts_with("kind:"));
        let is_plain = |keys: TopLevelKeys| keys.kind.is_none() && keys.networks.is_some();
        !is_manifest && parse_as(text).is_some_and(is_plain)
            || matches!(network_format::other(text), Some(NMSTATE | "netplan"))
                && !["#cloud-config", "passw"].iter().any(|word| text.contains(word))
    }

    /// Parses network data from JSON or YAML. An empty text has no networks.
    pub fn parse(text: &str) -> Result<Self, MalformedNetworkData> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let parsed = RawNetworkData::parse(text);
        if parsed.as_ref().is_none_or(|raw| raw.networks.is_empty())
            && let Some(other) = network_format::other(text)
        {
            return Err(MalformedNetworkData::OtherFormat(other));
        }
        let RawNetworkData { networks, links } = parsed.ok_or(MalformedNetworkData::Shape)?;
        let mut networks: Vec<NetworkEntry> = networks
            .into_iter()
            .filter_map(|mut network| Some((network.id.take()?, network)))
            .map(|(id, network)| match network.ip_address.as_deref().map(parse_address) {
                None | Some(Ok(None)) => Ok(NetworkEntry { id, address: None, cards: Vec::new() }),
                Some(Ok(Some((address, prefix)))) => {
                    // A machine may have a link-local address beside others, as for BGP.
                    let why = network.unusable(address, prefix);
                    if let Some(why) = why.filter(|_| !is_link_local(address)) {
                        return Err(MalformedNetworkData::Unusable { network: id, address, why });
                    }
                    let cards =
                        network.link.as_str().map(|link| cards(link, &links)).unwrap_or_default();
                    Ok(NetworkEntry { id, address: Some(address), cards })
                }
                Some(Err(_)) if network.ip_address.is_some_and(|text| text.contains("${")) => {
                    Err(MalformedNetworkData::Variable(id))
                }
                Some(Err(address)) => Err(MalformedNetworkData::Address { network: id, address }),
            })
            .collect::<Result<_, _>>()?;
        // They are collected in the memory of the raw ones, which are larger.
        networks.shrink_to_fit();
        Ok(Self { networks })
    }

    /// Serializes networks, addresses and cards, and nothing else. Parsing the result gives equal
    /// data.
    pub fn essentials(&self) -> Value {
        let mut links: BTreeMap<String, Value> = BTreeMap::new();
        let networks = self.networks.iter().map(|network| {
            let macs: Vec<String> = network.cards.iter().map(MacAddress::to_string).collect();
            for mac in &macs {
                links.insert(mac.clone(), json!({"id": mac, "ethernet_mac_address": mac}));
            }
            let mut written = json!({"id": network.id});
            if let Some(address) = network.address {
                written["ip_address"] = address.to_string().into();
            }
            match macs.as_slice() {
                [] => {}
                [mac] => written["link"] = mac.as_str().into(),
                // Only a bond has several cards, so one is made up.
                [first, below @ ..] => {
                    let id = format!("bond of {}", macs.join(", "));
                    let bond =
                        json!({"id": id, "ethernet_mac_address": first, "bond_links": below});
                    written["link"] = id.as_str().into();
                    links.insert(id, bond);
                }
            }
            written
        });
        let networks: Vec<Value> = networks.collect();
        let links: Vec<Value> = links.into_values().collect();
        if links.is_empty() {
            json!({"networks": networks})
        } else {
            json!({"links": links, "networks": networks})
        }
    }

    /// Returns the ids of all networks, in order. Messages show [`shown_ids`](Self::shown_ids) only.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.networks.iter().map(|network| network.id.as_str())
    }

    /// Returns the ids that may be shown, in order: those that are names.
    pub fn shown_ids(&self) -> impl Iterator<Item = &str> {
        self.ids().filter(|id| is_label_value(id))
    }

    fn reachable(&self) -> impl Iterator<Item = (&NetworkEntry, IpAddr)> {
        self.networks.iter().filter_map(|network| Some((network, network.reachable()?)))
    }

    /// Returns all addresses by which others reach the machine, in the order of the networks.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.reachable().map(|(_, address)| address)
    }

    /// Returns the static addresses with their network cards, in the order of the networks.
    pub fn card_addresses(&self) -> impl Iterator<Item = (MacAddress, IpAddr)> {
        self.reachable()
            .flat_map(|(network, address)| network.cards.iter().map(move |card| (*card, address)))
    }

    /// Returns the ids that have two different addresses of one family. One address of each family
    /// is dual-stack.
    pub fn ambiguous(&self) -> BTreeSet<&str> {
        let mut first: BTreeMap<(&str, bool), IpAddr> = BTreeMap::new();
        let repeated = self.reachable().filter(|(network, address)| {
            let family = (network.id.as_str(), address.is_ipv4());
            *first.entry(family).or_insert(*address) != *address
        });
        repeated.map(|(network, _)| network.id.as_str()).collect()
    }

    /// Returns the address in the network with this id.
    pub fn address(&self, interface: &str) -> Result<IpAddr, NoAddress> {
        // Several networks may share an id. The first address that counts wins.
        let same_id = || self.networks.iter().filter(|network| network.id == interface);
        let reason = match same_id().find_map(NetworkEntry::reachable) {
            Some(address) => return Ok(address),
            None if same_id().next().is_none() => NoAddress::NoSuchNetwork,
            None if same_id().all(|it| it.address.is_none()) => NoAddress::NoStaticAddress,
            None => NoAddress::LinkLocal,
        };
        Err(reason(interface.to_owned()))
    }
}

impl NetworkEntry {
    fn reachable(&self) -> Option<IpAddr> {
        self.address.filter(|address| is_reachable(*address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(body: &str) -> Result<NetworkData, MalformedNetworkData> {
        NetworkData::parse(&format!("networks:\n{body}"))
    }

    #[test]
    fn json_and_yaml_say_the_same() {
        let json = NetworkData::parse(
            r#"{"networks": [{"id": "oam", "type": "ipv4", "ip_address": "192.0.2.7"}]}"#,
        );
        let yaml = networks("- id: oam\n  type: ipv4\n  ip_address: 192.0.2.7\n");
        assert_eq!(json, yaml);
        assert_eq!(json.unwrap().address("oam"), Ok("192.0.2.7".parse().unwrap()));
    }

    #[test]
    fn an_address_may_carry_a_prefix_and_may_be_ipv6() {
        let data = networks(
            "- {id: a, ip_address: 192.0.2.7/24}\n- {id: b, ip_address: '2001:db8::7/64'}\n",
        )
        .unwrap();
        assert_eq!(data.address("a"), Ok("192.0.2.7".parse().unwrap()));
        assert_eq!(data.address("b"), Ok("2001:db8::7".parse().unwrap()));
    }

    #[test]
    fn an_address_belongs_to_the_cards_of_its_link() {
        let text = "links:\n- {id: e1, type: phy, ethernet_mac_address: '00:00:5E:00:53:01'}\n\
            - {id: e2, ethernet_mac_address: 00:00:5e:00:53:02}\n\
            - {id: bond, type: bond, bond_links: [e1, e2]}\n- {id: vlan, type: vlan, vlan_link: bond}\n\
            - {id: loop, vlan_link: loop}\n- {id: [odd]}\n- odd\n\
            networks:\n- {id: a, link: e2, ip_address: 192.0.2.2}\n- {id: b, link: vlan, ip_address: 192.0.2.3}\n\
            - {id: c, link: loop, ip_address: 192.0.2.4}\n- {id: d, link: e1, type: ipv4_dhcp}\n";
        let data = NetworkData::parse(text).unwrap();
        let cards: Vec<String> =
            data.card_addresses().map(|(mac, address)| format!("{mac} {address}")).collect();
        let expected = [
            "00:00:5e:00:53:02 192.0.2.2",
            "00:00:5e:00:53:01 192.0.2.3",
            "00:00:5e:00:53:02 192.0.2.3",
        ];
        assert_eq!(cards, expected);
    }

    #[test]
    fn bonds_of_bonds_are_followed_once() {
        let ids: Vec<String> = (0..200).map(|id| id.to_string()).collect();
        let link = |id: &String| json!({"id": id, "ethernet_mac_address": "00:00:5e:00:53:01", "bond_links": ids});
        let text = json!({
            "links": ids.iter().map(link).collect::<Vec<_>>(),
            "networks": [{"id": "a", "link": "7", "ip_address": "192.0.2.7"}],
        });
        let data = NetworkData::parse(&text.to_string()).unwrap();
        assert_eq!(data.card_addresses().count(), 1);
    }

    #[test]
    fn links_of_another_shape_are_nobody_elses_business() {
        for links in ["null", "text", "{}", "[null, 1, {id: 1}]"] {
            let text =
                format!("links: {links}\nnetworks: [{{id: a, link: 1, ip_address: 192.0.2.2}}]\n");
            let data = NetworkData::parse(&text).unwrap();
            assert_eq!(
                (data.card_addresses().count(), data.addresses().count()),
                (0, 1),
                "{links}"
            );
        }
    }

    #[test]
    fn a_network_without_a_static_address_is_told_from_a_missing_one() {
        let data =
            networks("- {id: dhcp, type: ipv4_dhcp}\n- {id: none, ip_address: <no value>}\n")
                .unwrap();
        assert_eq!(data.address("dhcp"), Err(NoAddress::NoStaticAddress("dhcp".to_owned())));
        assert_eq!(data.address("none"), Err(NoAddress::NoStaticAddress("none".to_owned())));
        assert_eq!(data.address("oam"), Err(NoAddress::NoSuchNetwork("oam".to_owned())));
    }

    #[test]
    fn an_empty_text_has_no_networks_and_one_of_another_shape_is_malformed() {
        assert_eq!(NetworkData::parse(" \n"), Ok(NetworkData::default()));
        for bad in ["text", "networks: text", "networks: [", "networks: [{id: [a]}]"] {
            assert_eq!(NetworkData::parse(bad), Err(MalformedNetworkData::Shape), "{bad}");
        }
    }

    #[test]
    fn a_second_address_of_one_family_makes_an_id_ambiguous() {
        let ambiguous = |text: &str| {
            networks(text).unwrap().ambiguous().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let first = "- {id: oam, ip_address: 192.0.2.7}\n";

        assert_eq!(ambiguous(&format!("{first}- {{id: oam, ip_address: 192.0.2.8}}\n")), ["oam"]);
        for other in [
            "{id: oam, ip_address: '2001:db8::7'}",
            "{id: oam, ip_address: 192.0.2.7/24}",
            "{id: oam}",
            "{id: b}",
        ] {
            assert!(ambiguous(&format!("{first}- {other}\n")).is_empty(), "{other}");
        }
    }

    #[test]
    fn an_address_that_no_other_machine_reaches_is_none() {
        for bad in [
            "0.0.0.0/24",
            "127.0.0.1",
            "224.0.0.5",
            "255.255.255.255",
            "'::'",
            "'::1/128'",
            "'ff02::1'",
            "'::ffff:0.0.0.0'",
            "192.0.2.0/24",
            "192.0.2.255/24",
            "192.0.2.0, netmask: 255.255.255.0",
            "192.0.2.255, netmask: '24'",
            "192.0.2.255, netmask: 24",
            "192.0.2.1, gateway: 192.0.2.1",
            "192.0.2.1, routes: [{network: 0.0.0.0, gateway: 192.0.2.1}]",
            "192.0.2.1, routes: [1, {gateway: 192.0.2.1}]",
        ] {
            let error = networks(&format!("- {{id: oam, ip_address: {bad}}}\n")).unwrap_err();
            assert!(matches!(error, MalformedNetworkData::Unusable { .. }), "{bad}: {error}");
        }
        for good in ["169.254.0.7/16", "fe80::7/64", "192.0.2.255/32", "10.0.0.0/31"] {
            assert!(networks(&format!("- {{id: oam, ip_address: '{good}'}}\n")).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_malformed_address_is_named() {
        for bad in ["192.0.2.300", "192.0.2.7/33", "2001:db8::1::2"] {
            let error = networks(&format!("- {{id: oam, ip_address: '{bad}'}}\n")).unwrap_err();
            assert!(error.to_string().contains(bad), "{error}");
        }
    }

    #[test]
    fn what_does_not_look_like_an_address_is_not_shown() {
        for bad in ["2001:db8::g", "192.0.2.7/x", "Hunter2", "deadbeefdeadbeef"] {
            let error = networks(&format!("- {{id: oam, ip_address: '{bad}'}}\n")).unwrap_err();
            let said = format!("has an ip_address of {} characters in network `oam`, ", bad.len());
            assert!(error.to_string().starts_with(&said), "{error}");
            assert!(!format!("{error:?}").contains(bad), "{error:?}");
        }
    }
}
