//! A placement is found exactly when there is one: held against an oracle that tries every way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use camino::Utf8Path;
use proptest::prelude::*;
use sipgen::input::load::Files;
use sipgen::{Options, generate};
use tempfile::TempDir;

use super::oracle_hardware::{Hardware, hardware};

pub const FLAVOR: &str = "example.com/flavor";
pub const RACK: &str = "example.com/rack";
pub const FEED: &str = "example.com/feed";
pub const ROLES: [&str; 2] = ["ControlPlane", "Worker"];

#[derive(Debug, Clone)]
pub struct Host {
    pub flavor: u8,
    pub rack: Option<u8>,
    pub feed: Option<u8>,
    /// The clusters that it is reserved for, as bits.
    pub reserved: Option<u64>,
    /// A maintenance mark keeps it from every cluster.
    pub marked: bool,
    /// None if nobody inspected it.
    pub hardware: Option<Hardware>,
}

impl Host {
    pub fn is_for(&self, cluster: usize) -> bool {
        !self.marked && self.is_reserved_for(cluster)
    }

    fn is_reserved_for(&self, cluster: usize) -> bool {
        self.reserved.is_none_or(|clusters| clusters & (1 << cluster) != 0)
    }
}

#[derive(Debug, Clone)]
pub struct NodeSet {
    /// None takes any.
    pub flavor: Option<u8>,
    pub by_rack: bool,
    pub by_feed: bool,
    /// The most hosts in a rack and in a feed, if these keep hosts apart.
    pub most: usize,
    /// The largest skew over racks; none if they need not be even.
    pub skew: Option<usize>,
    /// All hosts in one rack.
    pub in_one_rack: bool,
    pub hardware: Option<Hardware>,
    pub wanted: usize,
}

impl NodeSet {
    pub fn matches(&self, host: &Host) -> bool {
        self.flavor.is_none_or(|flavor| flavor == host.flavor)
            && (self.skew.is_none() && !self.in_one_rack || host.rack.is_some())
            && self.hardware.is_none_or(|hardware| hardware.suffices(host.hardware))
    }

    /// Whether no rack that gets a host has too many hosts more than the emptiest rack with a matching
    /// host, and one rack has all if that is wanted. Hosts that stay may exceed the skew.
    fn is_even(&self, all: &[&Host], kept: &[&Host], added: &[&Host]) -> bool {
        let racks: BTreeSet<Option<u8>> =
            all.iter().filter(|host| self.matches(host)).map(|host| host.rack).collect();
        let own = || kept.iter().chain(added);
        let count = |rack| own().filter(|host| host.rack == rack).count();
        if self.in_one_rack && racks.iter().filter(|rack| count(**rack) > 0).count() > 1 {
            return false;
        }
        let least = racks.iter().map(|rack| count(*rack)).min().unwrap_or(0);
        let mut grown = added.iter().map(|host| host.rack);
        self.skew.is_none_or(|skew| grown.all(|rack| count(rack) <= least + skew))
    }
}

#[derive(Debug, Clone)]
pub struct Cluster {
    /// One of [`NAMESPACES`].
    pub namespace: usize,
    pub priority: i8,
    /// By role.
    pub node_sets: [Option<NodeSet>; 2],
}

pub const NAMESPACES: [&str; 2] = ["t", "u"];

/// A quota of a namespace, over hosts of a flavor and in a rack if these are set.
#[derive(Debug, Clone)]
pub struct Quota {
    pub namespace: usize,
    pub flavor: Option<u8>,
    pub rack: Option<u8>,
    pub hosts: usize,
}

impl Quota {
    fn counts(&self, host: &Host) -> bool {
        self.flavor.is_none_or(|flavor| flavor == host.flavor)
            && self.rack.is_none_or(|rack| Some(rack) == host.rack)
    }
}

pub fn quotas() -> impl Strategy<Value = Vec<Quota>> {
    let quota = (0..2_usize, prop::option::of(0..2_u8), prop::option::of(0..3_u8), 0..4_usize);
    let quota =
        quota.prop_map(|(namespace, flavor, rack, hosts)| Quota { namespace, flavor, rack, hosts });
    prop::collection::vec(quota, 0..=3)
}

fn key(cluster: usize, clusters: &[Cluster]) -> String {
    format!("{}/c{cluster}", NAMESPACES[clusters[cluster].namespace])
}

pub fn hosts() -> impl Strategy<Value = Vec<Host>> {
    let label = |values: u8| prop::option::weighted(0.9, 0..values);
    let reserved = prop::option::weighted(0.3, 1..8_u64);
    let marked = prop::bool::weighted(0.1);
    let hardware = prop::option::weighted(0.9, hardware());
    let host = (0..2_u8, label(3), label(3), reserved, marked, hardware);
    let host = host.prop_map(|(flavor, rack, feed, reserved, marked, hardware)| Host {
        flavor,
        rack,
        feed,
        reserved,
        marked,
        hardware,
    });
    prop::collection::vec(host, 1..=7)
}

pub fn clusters() -> impl Strategy<Value = Vec<Cluster>> {
    let apart = (any::<bool>(), any::<bool>(), prop::sample::select(vec![1, 1, 2]));
    let skew = prop::option::weighted(0.3, 1..3_usize);
    let spread = (skew, prop::bool::weighted(0.3));
    let hardware = prop::option::weighted(0.4, hardware());
    let node_set = (prop::option::of(0..2_u8), apart, spread, hardware, 0..4_usize).prop_map(
        |(flavor, (by_rack, by_feed, most), (skew, in_one_rack), hardware, wanted)| NodeSet {
            flavor,
            by_rack: by_rack && !in_one_rack,
            by_feed,
            most,
            skew: skew.filter(|_| !in_one_rack),
            in_one_rack,
            hardware,
            wanted,
        },
    );
    let node_set = || prop::option::weighted(0.7, node_set.clone());
    let cluster = (0..2_usize, -1..2_i8, node_set(), node_set()).prop_map(
        |(namespace, priority, control_plane, worker)| Cluster {
            namespace,
            priority,
            node_sets: [control_plane, worker],
        },
    );
    prop::collection::vec(cluster, 1..=3)
}

/// Whether hosts can be found for all units, each of which is one host of a cluster's node set.
pub fn place(
    hosts: &[Host],
    clusters: &[Cluster],
    quotas: &[Quota],
    units: &[(usize, usize)],
    taken: &mut BTreeMap<usize, (usize, usize)>,
) -> bool {
    let kept = taken.keys().copied().collect();
    place_beside(hosts, clusters, quotas, units, taken, &kept)
}

fn place_beside(
    hosts: &[Host],
    clusters: &[Cluster],
    quotas: &[Quota],
    units: &[(usize, usize)],
    taken: &mut BTreeMap<usize, (usize, usize)>,
    kept: &BTreeSet<usize>,
) -> bool {
    let Some((unit, rest)) = units.split_first() else {
        let is_lost = |host: &usize| {
            taken.get(host).is_some_and(|(cluster, _)| clusters[*cluster].namespace == usize::MAX)
        };
        let left: Vec<&Host> =
            (0..hosts.len()).filter(|host| !is_lost(host)).map(|host| &hosts[host]).collect();
        let parts: BTreeSet<(usize, usize)> = taken.values().copied().collect();
        return parts.iter().all(|part| {
            let own = taken.iter().filter(|(_, by)| *by == part).map(|(host, _)| *host);
            let (kept, added): (Vec<usize>, Vec<usize>) = own.partition(|host| kept.contains(host));
            let of = |own: &[usize]| own.iter().map(|host| &hosts[*host]).collect::<Vec<_>>();
            let node_set = clusters[part.0].node_sets[part.1].as_ref();
            node_set.is_none_or(|node_set| node_set.is_even(&left, &of(&kept), &of(&added)))
        });
    };
    let node_set = clusters[unit.0].node_sets[unit.1].as_ref().unwrap();
    for (index, host) in hosts.iter().enumerate() {
        let matches = node_set.matches(host);
        let beside = |of: fn(&Host) -> Option<u8>| {
            let same = |(other, by): &(&usize, &(usize, usize))| {
                *by == unit && of(&hosts[**other]) == of(host)
            };
            of(host).is_some() && taken.iter().filter(same).count() >= node_set.most
        };
        let crowded = node_set.by_rack && beside(|host| host.rack)
            || node_set.by_feed && beside(|host| host.feed);
        let namespace = clusters[unit.0].namespace;
        let is_counted = |other: &usize, by: usize, quota: &Quota| {
            clusters[by].namespace == namespace && quota.counts(&hosts[*other])
        };
        let exceeded = quotas.iter().any(|quota| {
            let counted = taken.iter().filter(|(other, by)| is_counted(other, by.0, quota));
            quota.namespace == namespace && quota.counts(host) && counted.count() >= quota.hosts
        });
        if !matches || !host.is_for(unit.0) || crowded || exceeded || taken.contains_key(&index) {
            continue;
        }
        taken.insert(index, *unit);
        if place_beside(hosts, clusters, quotas, rest, taken, kept) {
            return true;
        }
        taken.remove(&index);
    }
    false
}

/// The clusters, and one of a namespace of its own: a host that it has serves nobody.
pub fn with_nobody(clusters: &[Cluster]) -> (Vec<Cluster>, usize) {
    let mut clusters = clusters.to_vec();
    clusters.push(Cluster { namespace: usize::MAX, priority: 0, node_sets: [None, None] });
    let nobody = clusters.len() - 1;
    (clusters, nobody)
}

/// The clusters that can be served: each exactly when it can be together with all that were accepted before it.
pub fn served(hosts: &[Host], clusters: &[Cluster], quotas: &[Quota]) -> BTreeSet<usize> {
    served_or(hosts, clusters, quotas, |_, _| {})
}

/// Asks for every other cluster if it is served with less, beside those that were accepted before it.
fn served_or(
    hosts: &[Host],
    clusters: &[Cluster],
    quotas: &[Quota],
    mut unserved: impl FnMut(usize, &dyn Fn([usize; 2]) -> bool),
) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    order.sort_by_key(|cluster| {
        (-clusters[*cluster].priority, clusters[*cluster].namespace, *cluster)
    });
    let mut accepted: Vec<(usize, usize)> = Vec::new();
    let mut served = BTreeSet::new();
    for cluster in order {
        let together = |counts: [usize; 2]| -> Vec<(usize, usize)> {
            let units = counts.into_iter().enumerate();
            let units = units.flat_map(|(role, count)| std::iter::repeat_n((cluster, role), count));
            accepted.iter().copied().chain(units).collect()
        };
        let fits = |counts| place(hosts, clusters, quotas, &together(counts), &mut BTreeMap::new());
        let all = wanted(&clusters[cluster]);
        if fits(all) {
            accepted = together(all);
            served.insert(cluster);
        } else {
            unserved(cluster, &fits);
        }
    }
    served
}

fn wanted(cluster: &Cluster) -> [usize; 2] {
    cluster.node_sets.each_ref().map(|set| set.as_ref().map_or(0, |set| set.wanted))
}

pub fn write_repo(directory: &Utf8Path, hosts: &[Host], clusters: &[Cluster], quotas: &[Quota]) {
    let mut settings = String::from("quotas:\n");
    for Quota { namespace, flavor, rack, hosts } in quotas {
        let labels = [(FLAVOR, flavor), (RACK, rack)];
        let labels =
            labels.iter().filter_map(|(key, value)| Some(format!("{key}: v{}", (**value)?)));
        let labels = labels.collect::<Vec<_>>().join(", ");
        let namespace = NAMESPACES[*namespace];
        let _ = writeln!(
            settings,
            "- {{namespace: {namespace}, labels: {{{labels}}}, hosts: {hosts}}}"
        );
    }
    if quotas.is_empty() {
        settings.clear();
    }
    fs::write(directory.join("sipgen.yaml"), settings).unwrap();
    let mut text = String::new();
    for (index, host) in hosts.iter().enumerate() {
        let Host { flavor, rack, feed, .. } = host;
        let label = |key: &str, value: Option<u8>| {
            value.map_or(String::new(), |value| format!(", {key}: v{value}"))
        };
        let labels = format!("{FLAVOR}: v{flavor}{}{}", label(RACK, *rack), label(FEED, *feed));
        let tenants = (0..3).filter(|cluster| host.is_reserved_for(*cluster));
        let names = |cluster: usize| NAMESPACES.map(|namespace| format!("{namespace}/c{cluster}"));
        let tenants: Vec<String> = tenants.flat_map(names).collect();
        let mut annotations = String::new();
        if host.reserved.is_some() {
            let _ =
                write!(annotations, "sip.airshipit.org/reserved-for: \"{}\", ", tenants.join(", "));
        }
        if host.marked {
            annotations.push_str("sip.airshipit.org/maintenance: firmware");
        }
        let annotations = format!(", annotations: {{{annotations}}}");
        let hardware = host.hardware.map_or(String::new(), Hardware::status);
        let _ = write!(
            text,
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{index}, namespace: metal, \
             labels: {{{labels}}}{annotations}}}\nspec: {{}}\nstatus: {{provisioning: {{state: available}}{hardware}}}\n"
        );
    }
    for (index, Cluster { namespace, priority, node_sets }) in clusters.iter().enumerate() {
        let _ = write!(
            text,
            "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: c{index}, namespace: {}, \
             annotations: {{sip.airshipit.org/priority: \"{priority}\"}}}}\nspec:\n  nodes:\n    {{}}\n",
            NAMESPACES[*namespace]
        );
        let mut nodes = String::new();
        for (role, node_set) in ROLES.iter().zip(node_sets) {
            let Some(node_set) = node_set else { continue };
            let NodeSet { flavor, by_rack, by_feed, most, skew, in_one_rack, hardware, wanted } =
                node_set;
            let hardware = hardware.map_or(String::new(), Hardware::request);
            let selector = flavor.map_or("{}".to_owned(), |flavor| {
                format!("{{matchLabels: {{{FLAVOR}: v{flavor}}}}}")
            });
            // sipgen refuses a key that no matching host has.
            let matching = || hosts.iter().filter(|host| node_set.matches(host));
            let has_rack = matching().any(|host| host.rack.is_some());
            let has_feed = matching().any(|host| host.feed.is_some());
            let keys = [(*by_rack && has_rack, RACK), (*by_feed && has_feed, FEED)];
            let keys: Vec<&str> =
                keys.iter().filter(|(is_written, _)| *is_written).map(|(_, key)| *key).collect();
            let most = match keys.as_slice() {
                [] => String::new(),
                _ => format!("topologyKeys: [{}], maxPerDomain: {most}, ", keys.join(", ")),
            };
            let skew = skew.map_or(String::new(), |skew| {
                format!("topologySpreadConstraints: [{{topologyKey: {RACK}, maxSkew: {skew}}}], ")
            });
            let same = match in_one_rack {
                true => format!("sameDomain: {{topologyKey: {RACK}}}, "),
                false => String::new(),
            };
            let _ = writeln!(
                nodes,
                "    {role}: {{labelSelector: {selector}, {most}{skew}{same}{hardware}count: {{active: {wanted}, standby: 0}}}}",
            );
        }
        if !nodes.is_empty() {
            text.truncate(text.len() - "    {}\n".len());
            text.push_str(&nodes);
        }
    }
    fs::write(directory.join("site.yaml"), text).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_cluster_is_served_exactly_when_it_can_be(
        hosts in hosts(), clusters in clusters(), quotas in quotas(),
    ) {
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &clusters, &quotas);

        let options = Options { keep_going: true, ..Options::default() };
        let generated = generate(&Files::on_disk(root), &options, &|_| {}).unwrap();
        if clusters.iter().flat_map(|cluster| cluster.node_sets.iter().flatten()).any(|set| set.skew.is_some()) {
            let again = generate(&Files::on_disk(root), &options, &|_| {}).unwrap();
            prop_assert_eq!(&again.plan, &generated.plan);
        }

        let unserved: BTreeSet<String> =
            generated.findings.iter().filter(|finding| finding.is_error()).flat_map(|finding| &finding.clusters).map(ToString::to_string).collect();
        let all: BTreeSet<usize> = (0..clusters.len()).collect();
        let expected: BTreeSet<String> =
            all.difference(&served(&hosts, &clusters, &quotas)).map(|cluster| key(*cluster, &clusters)).collect();
        prop_assert_eq!(unserved, expected);
        let lacks = |cluster: usize, role: usize| {
            generated.plan.shortages.iter().find_map(|((key, part), shortage)| {
                let is_own = key.name.as_str() == format!("c{cluster}");
                (is_own && part.role.as_str() == ROLES[role]).then_some(shortage)
            })
        };
        let mut answers = Vec::new();
        served_or(&hosts, &clusters, &quotas, |cluster, fits| {
            let all = wanted(&clusters[cluster]);
            let short = [0, 1].map(|role| lacks(cluster, role));
            let found = |more: [usize; 2], others: [usize; 2]| {
                [0, 1].map(|role| match short[role] {
                    Some(shortage) => (all[role] + more[role]).saturating_sub(shortage.short_of()),
                    None => others[role],
                })
            };
            let is_exact = short.iter().flatten().all(|shortage| !shortage.may_lack_more);
            let is_reached = !is_exact || fits(found([0, 0], [0, 0]));
            let may_have_more = [[1, 0], [0, 1]].into_iter().any(|more| {
                found(more, all) != found([0, 0], all) && fits(found(more, all))
            });
            answers.push((is_reached, !may_have_more, short));
        });
        for (is_reached, is_most, short) in &answers {
            prop_assert!(*is_reached && *is_most, "{is_reached} {is_most} {short:?}");
        }

        // Whoever is served has what it wants, and each host one role in one cluster.
        let mut taken = BTreeMap::new();
        for (key, placement) in &generated.plan.clusters {
            let index: usize = key.name.as_str()[1..].parse().unwrap();
            for (role, assigned) in placement {
                let role = ROLES.iter().position(|name| *name == role.role.as_str()).unwrap();
                let node_set = clusters[index].node_sets[role].as_ref().unwrap();
                prop_assert_eq!(assigned.len(), node_set.wanted);
                let mine: Vec<&Host> = assigned.iter().map(|assigned| {
                    let name = generated.site.inventory.hosts[assigned.host].key.name.to_string();
                    &hosts[name[1..].parse::<usize>().unwrap()]
                }).collect();
                prop_assert!(node_set.is_even(&hosts.iter().collect::<Vec<_>>(), &[], &mine));
                for host in &mine {
                    prop_assert!(host.is_for(index));
                    prop_assert!(node_set.matches(host));
                    let in_rack = mine.iter().filter(|other| other.rack == host.rack).count();
                    let in_feed = mine.iter().filter(|other| other.feed == host.feed).count();
                    prop_assert!(!node_set.by_rack || host.rack.is_none() || in_rack <= node_set.most);
                    prop_assert!(!node_set.by_feed || host.feed.is_none() || in_feed <= node_set.most);
                }
                for assigned in assigned {
                    prop_assert!(taken.insert(assigned.host, index).is_none());
                }
            }
        }
        for quota in &quotas {
            let counts = |(assigned, cluster): &(&usize, &usize)| {
                let name = generated.site.inventory.hosts[**assigned].key.name.to_string();
                clusters[**cluster].namespace == quota.namespace
                    && quota.counts(&hosts[name[1..].parse::<usize>().unwrap()])
            };
            prop_assert!(taken.iter().filter(counts).count() <= quota.hosts);
        }
    }
}

/// The hosts of every cluster that is served, after a run that is written.
fn placed(root: &Utf8Path) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let files = Files::on_disk(root);
    let options = Options { keep_going: true, ..Options::default() };
    let generated = generate(&files, &options, &|_| {}).unwrap();
    sipgen::write(files.root(), generated.changes.as_ref().unwrap()).unwrap();
    let host = |index: usize| generated.site.inventory.hosts[index].key.to_string();
    let hosts = |placement: &sipgen::plan::Placement| {
        let of_role = |(role, assigned): (
            &sipgen::base::api::names::Part,
            &Vec<sipgen::plan::PlacedHost>,
        )| {
            let role = role.to_string();
            assigned.iter().map(|assigned| (role.clone(), host(assigned.host))).collect::<Vec<_>>()
        };
        placement.iter().flat_map(of_role).collect()
    };
    generated
        .plan
        .clusters
        .iter()
        .map(|(key, placement)| (key.to_string(), hosts(placement)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn more_hosts_and_more_clusters_move_nobody(
        mut hosts in hosts(), mut clusters in clusters(), more_hosts in hosts(), more_clusters in clusters(),
    ) {
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &clusters, &[]);
        let before = placed(root);

        hosts.extend(more_hosts);
        clusters.extend(more_clusters);
        write_repo(root, &hosts, &clusters, &[]);
        let after = placed(root);

        for (cluster, hosts) in &before {
            prop_assert_eq!(after.get(cluster), Some(hosts));
        }
    }

    #[test]
    fn a_cluster_that_shrinks_and_grows_back_is_served_and_moves_nobody_else(
        hosts in hosts(), mut clusters in clusters(), which in 0..3_usize, role in 0..2_usize,
    ) {
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &clusters, &[]);
        let before = placed(root);
        let which = which % clusters.len();
        let name = key(which, &clusters);
        let wanted = clusters[which].node_sets[role].as_ref().map_or(0, |node_set| node_set.wanted);
        prop_assume!(before.contains_key(&name) && wanted > 0);

        for count in [wanted - 1, wanted] {
            clusters[which].node_sets[role].as_mut().unwrap().wanted = count;
            write_repo(root, &hosts, &clusters, &[]);
            let after = placed(root);

            prop_assert_eq!(after[&name].iter().filter(|(of, _)| of == ROLES[role]).count(), count);
            for (cluster, hosts) in before.iter().filter(|(cluster, _)| **cluster != name) {
                prop_assert_eq!(after.get(cluster), Some(hosts));
            }
        }
    }
}
