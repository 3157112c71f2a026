//! Answers of `sipgen capacity`, held against an oracle that tries every way.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use proptest::prelude::*;
use sipgen::ask::capacity::{Capacity, CapacityScope, CopyShare, capacity};
use sipgen::ask::overview::Overview;
use sipgen::generate;
use sipgen::input::load::Files;
use sipgen::plan::purchase::BoughtKind;
use sipgen::{GeneratedSite, Options};
use tempfile::TempDir;

use super::oracle::{
    Cluster, FEED, FLAVOR, Host, NodeSet, Quota, RACK, ROLES, clusters, hosts, place, quotas,
    served, with_nobody, write_repo,
};
use super::oracle_hardware::Hardware;

/// A host's cluster and role.
pub type Taken = BTreeMap<usize, (usize, usize)>;

#[derive(Clone)]
struct Oracle<'a> {
    hosts: &'a [Host],
    clusters: &'a [Cluster],
    quotas: &'a [Quota],
    served: BTreeSet<usize>,
    /// Hosts that stay.
    kept: Taken,
}

impl Oracle<'_> {
    /// Returns whether the clusters that are served can have their hosts, on hosts other than `gone`.
    fn fits(
        &self,
        clusters: &[Cluster],
        served: &BTreeSet<usize>,
        hosts: &[Host],
        gone: &BTreeSet<usize>,
    ) -> bool {
        let mut taken = self.kept.clone();
        taken.retain(|host, _| !gone.contains(host));
        let mut units = Vec::new();
        for cluster in served {
            for (role, node_set) in clusters[*cluster].node_sets.iter().enumerate() {
                let wanted = node_set.as_ref().map_or(0, |node_set| node_set.wanted);
                let kept = taken.values().filter(|by| **by == (*cluster, role)).count();
                units.extend(std::iter::repeat_n((*cluster, role), wanted - kept));
            }
        }
        // A lost host serves nobody.
        let lost = (usize::MAX, 0);
        let mut with_lost = taken.clone();
        with_lost.extend(gone.iter().map(|host| (*host, lost)));
        place_beside(hosts, clusters, self.quotas, &units, with_lost, lost)
    }

    /// The largest number of sets of copies, given for each cluster, that fit.
    fn sets(&self, shares: &BTreeMap<usize, usize>) -> usize {
        (1..).find(|count| !self.fits_sets(shares, *count)).unwrap() - 1
    }

    fn fits_sets(&self, shares: &BTreeMap<usize, usize>, count: usize) -> bool {
        let (mut hosts, mut clusters) = (self.hosts.to_vec(), self.clusters.to_vec());
        let mut served = self.served.clone();
        let copies = shares.iter();
        let copies = copies.flat_map(|(of, copies)| std::iter::repeat_n(*of, copies * count));
        for of in copies {
            let copy = clusters.len();
            // Reservations name the original.
            for host in &mut hosts {
                host.reserved = host.reserved.map(|bits| bits & !(1 << copy));
            }
            clusters.push(self.clusters[of].clone());
            served.insert(copy);
        }
        self.fits(&clusters, &served, &hosts, &BTreeSet::new())
    }

    /// Returns whether all clusters can have their hosts if these are bought.
    fn fits_with(&self, bought: &[Host]) -> bool {
        let hosts = [self.hosts, bought].concat();
        let all = (0..self.clusters.len()).collect();
        self.fits(self.clusters, &all, &hosts, &BTreeSet::new())
    }

    /// The smallest number of bought hosts with which all clusters can have their hosts.
    fn smallest_purchase(&self, most: usize) -> Option<usize> {
        (0..=most).find(|count| {
            // By flavor; one of no flavor serves node sets that take any.
            let splits = (0..=*count).flat_map(|a| (0..=count - a).map(move |b| (a, b)));
            splits.into_iter().any(|(a, b)| {
                let flavors = (0..*count).map(|at| u8::from(at >= a) + u8::from(at >= a + b));
                let bought = flavors.enumerate().map(|(at, flavor)| bought_host(flavor, at));
                self.fits_with(&bought.collect::<Vec<_>>())
            })
        })
    }

    fn missing(&self) -> usize {
        let node_sets = self.clusters.iter().flat_map(|cluster| &cluster.node_sets);
        let wanted: usize = node_sets.flatten().map(|node_set| node_set.wanted).sum();
        wanted - self.kept.len()
    }

    /// The largest number of hosts by which a node set can grow.
    fn growth(&self, cluster: usize, role: usize) -> usize {
        let fits = |more: usize| {
            let mut clusters = self.clusters.to_vec();
            if let Some(node_set) = &mut clusters[cluster].node_sets[role] {
                node_set.wanted += more;
            }
            self.fits(&clusters, &self.served, self.hosts, &BTreeSet::new())
        };
        (1..).find(|more| !fits(*more)).unwrap() - 1
    }
}

/// A host in a rack and feed of its own.
fn bought_host(flavor: u8, at: usize) -> Host {
    let own = u8::try_from(100 + at).unwrap();
    Host { flavor, rack: Some(own), feed: Some(own), reserved: None, marked: false, hardware: None }
}

/// The hosts of a purchase, as the oracle has them.
pub fn bought_hosts(kinds: &[BoughtKind]) -> Vec<Host> {
    let mut hosts = Vec::new();
    for kind in kinds {
        for at in 0..kind.hosts {
            let number = |key: &str| {
                let domains = kind.domains.get(key);
                let domain = domains.and_then(|domains| domains[at].as_deref());
                let value = domain.or(kind.labels.get(key).map(String::as_str))?;
                Some(value[1..].parse::<u8>().unwrap())
            };
            let own = bought_host(number(FLAVOR).unwrap_or(2), hosts.len());
            hosts.push(Host {
                rack: number(RACK).or(own.rack),
                feed: number(FEED).or(own.feed),
                hardware: Hardware::described(&kind.hardware),
                ..own
            });
        }
    }
    hosts
}

/// Places units beside hosts that are taken already. Lost hosts count for no quota and no domain.
fn place_beside(
    hosts: &[Host],
    clusters: &[Cluster],
    quotas: &[Quota],
    units: &[(usize, usize)],
    taken: Taken,
    lost: (usize, usize),
) -> bool {
    let (clusters, nobody) = with_nobody(clusters);
    let mut taken: Taken = taken
        .into_iter()
        .map(|(host, by)| (host, if by == lost { (nobody, 0) } else { by }))
        .collect();
    place(hosts, &clusters, quotas, units, &mut taken)
}

/// The hosts that a plan assigns.
pub fn taken(generated: &GeneratedSite) -> Taken {
    let hosts = generated.plan.clusters.iter().flat_map(|(key, placement)| {
        let cluster: usize = key.name.as_str()[1..].parse().unwrap();
        placement.iter().flat_map(move |(part, assigned)| {
            let role = ROLES.iter().position(|name| *name == part.role.as_str());
            assigned.iter().map(move |it| (it.host, (cluster, role.unwrap())))
        })
    });
    hosts.map(|(host, by)| (index(generated, host), by)).collect()
}

pub fn index(generated: &GeneratedSite, host: usize) -> usize {
    let name = generated.site.inventory.hosts[host].key.name.to_string();
    name[1..].parse().unwrap()
}

fn check(answer: &Capacity, oracle: &Oracle<'_>) -> Result<(), TestCaseError> {
    let number = |name: &str| -> usize { name[1..].parse().unwrap() };
    for copies in &answer.clusters {
        let cluster = number(copies.cluster.name.as_str());
        prop_assert_eq!(
            copies.fit,
            oracle.sets(&BTreeMap::from([(cluster, 1)])),
            "copies of {}",
            copies.cluster
        );
        prop_assert!(copies.is_proven && !copies.scarce.is_empty());
    }
    if let Some(mix) = &answer.mix {
        let shares = mix.shares.iter();
        let shares = shares.map(|share| (number(share.cluster.name.as_str()), share.copies));
        prop_assert_eq!(mix.fit, oracle.sets(&shares.collect()), "{:?}", mix.shares);
    }
    for growth in &answer.node_sets {
        let cluster = number(growth.cluster.name.as_str());
        let role = ROLES.iter().position(|name| *name == growth.part.role.as_str()).unwrap();
        prop_assert_eq!(
            growth.fit,
            oracle.growth(cluster, role),
            "{} {}",
            growth.cluster,
            growth.part
        );
        prop_assert!(growth.is_proven && !growth.scarce.is_empty());
    }
    let is_by_rack = answer.by.as_deref() == Some(RACK);
    for loss in answer.losses.iter().filter(|_| is_by_rack) {
        let of_domain = |host: &Host| host.rack.map(|rack| format!("v{rack}")) == loss.domain;
        let hosts = oracle.hosts.iter().enumerate();
        let gone: BTreeSet<usize> =
            hosts.filter(|(_, host)| of_domain(host)).map(|(index, _)| index).collect();
        prop_assert_eq!(loss.hosts, gone.len());
        let fits = oracle.fits(oracle.clusters, &oracle.served, oracle.hosts, &gone);
        prop_assert_eq!(loss.lacking.is_empty(), fits, "loss of {:?}", loss.domain);
    }
    Ok(())
}

fn check_purchase(answer: &Capacity, oracle: &Oracle<'_>) -> Result<(), TestCaseError> {
    let missing = oracle.missing();
    let mut node_sets =
        oracle.clusters.iter().flat_map(|cluster| cluster.node_sets.iter().flatten());
    if missing > 6 || node_sets.any(|node_set| node_set.skew.is_some()) {
        // Trying every way takes too long, and no purchase is proven minimal beside a required skew.
        return Ok(());
    }
    // The oracle buys each host in a rack of its own, without known hardware.
    let mut node_sets =
        oracle.clusters.iter().flat_map(|cluster| cluster.node_sets.iter().flatten());
    let is_special = |node_set: &NodeSet| node_set.in_one_rack || node_set.hardware.is_some();
    let smallest =
        if node_sets.any(is_special) { None } else { Some(oracle.smallest_purchase(missing)) };
    let Some(purchase) = &answer.purchase else {
        prop_assert!(oracle.fits_with(&[]));
        return Ok(());
    };
    if let Some(smallest) = smallest {
        prop_assert_eq!(purchase.hosts.is_none(), smallest.is_none(), "{:?}", purchase);
        prop_assert!(purchase.hosts >= smallest, "{:?}", purchase);
    }
    if purchase.hosts.is_none() {
        return Ok(());
    }
    prop_assert!(purchase.is_minimal);
    let hosts = bought_hosts(&purchase.kinds);
    prop_assert_eq!(Some(hosts.len()), purchase.hosts);
    prop_assert!(oracle.fits_with(&hosts), "{:?}", purchase);
    for without in 0..hosts.len() {
        let mut fewer = hosts.clone();
        fewer.remove(without);
        prop_assert!(!oracle.fits_with(&fewer), "{:?} without {}", purchase, without);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn capacity_is_what_the_oracle_finds(
        hosts in hosts(), clusters in clusters(), quotas in quotas(), is_written in any::<bool>(),
        shares in prop::collection::vec(1..3_usize, 3),
    ) {
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &clusters, &quotas);
        let options = Options { keep_going: true, ..Options::default() };
        let files = Files::on_disk(root);
        let mut generated = generate(&files, &options, &|_| {}).unwrap();
        if is_written {
            sipgen::write(root, generated.changes.as_ref().unwrap()).unwrap();
            generated = generate(&files, &options, &|_| {}).unwrap();
        }
        let oracle = Oracle {
            hosts: &hosts,
            clusters: &clusters,
            quotas: &quotas,
            served: served(&hosts, &clusters, &quotas),
            kept: taken(&generated),
        };
        // Clusters that lack hosts are frozen above.
        let with_shortages = generate(&files, &Options::default(), &|_| {}).unwrap();
        let answer = capacity(&with_shortages, &CapacityScope::default()).unwrap();
        check_purchase(&answer, &Oracle { kept: taken(&with_shortages), ..oracle.clone() })?;
        let by = hosts.iter().any(|host| host.rack.is_some()).then_some(RACK);
        let racks = Overview::new(&generated, by).unwrap();
        let answer = capacity(&generated, &CapacityScope { racks: Some(&racks), ..CapacityScope::default() }).unwrap();
        check(&answer, &oracle)?;
        let copyable = answer.clusters.iter().map(|copies| &copies.cluster);
        let mix = copyable.zip(shares).map(|(cluster, copies)| CopyShare { cluster: cluster.clone(), copies });
        let mix: Vec<CopyShare> = mix.collect();
        if !mix.is_empty() {
            check(&capacity(&generated, &CapacityScope { mix, ..CapacityScope::default() }).unwrap(), &oracle)?;
        }
    }
}
