//! What `sipgen capacity` answers, held against an oracle that tries every way.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use proptest::prelude::*;
use sipgen::capacity::{Capacity, Scope, Share, capacity};
use sipgen::generate;
use sipgen::load::Files;
use sipgen::{Generated, Options};
use tempfile::TempDir;

use super::oracle::{
    Cluster, Host, Quota, RACK, ROLES, clusters, hosts, place, quotas, served, write_repo,
};

/// A host's cluster and role.
type Taken = BTreeMap<usize, (usize, usize)>;

struct Oracle<'a> {
    hosts: &'a [Host],
    clusters: &'a [Cluster],
    quotas: &'a [Quota],
    served: BTreeSet<usize>,
    /// Hosts that stay.
    kept: Taken,
}

impl Oracle<'_> {
    /// Whether the clusters that are served can have their hosts, on hosts other than `gone`.
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
            for host in &mut hosts {
                host.reserved = host
                    .reserved
                    .map(|bits| bits & !(1 << copy) | ((bits >> of) & 1) << copy);
            }
            clusters.push(self.clusters[of].clone());
            served.insert(copy);
        }
        self.fits(&clusters, &served, &hosts, &BTreeSet::new())
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

/// Places units beside hosts that are taken already. Lost hosts count for no quota and no domain.
fn place_beside(
    hosts: &[Host],
    clusters: &[Cluster],
    quotas: &[Quota],
    units: &[(usize, usize)],
    taken: Taken,
    lost: (usize, usize),
) -> bool {
    // A cluster of its own namespace has the lost hosts.
    let mut clusters = clusters.to_vec();
    let nobody = clusters.len();
    clusters.push(Cluster {
        namespace: usize::MAX,
        priority: 0,
        node_sets: [None, None],
    });
    let mut taken: Taken = taken
        .into_iter()
        .map(|(host, by)| (host, if by == lost { (nobody, 0) } else { by }))
        .collect();
    place(hosts, &clusters, quotas, units, &mut taken)
}

/// The hosts that a plan assigns.
fn taken(generated: &Generated) -> Taken {
    let hosts = generated.plan.clusters.iter().flat_map(|(key, placement)| {
        let cluster: usize = key.name.as_str()[1..].parse().unwrap();
        placement.iter().flat_map(move |(part, assigned)| {
            let role = ROLES.iter().position(|name| *name == part.role.as_str());
            assigned
                .iter()
                .map(move |it| (it.host, (cluster, role.unwrap())))
        })
    });
    hosts
        .map(|(host, by)| (index(generated, host), by))
        .collect()
}

fn index(generated: &Generated, host: usize) -> usize {
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
        prop_assert!(!copies.scarce.is_empty());
    }
    if let Some(mix) = &answer.mix {
        let shares = mix.shares.iter();
        let shares = shares.map(|share| (number(share.cluster.name.as_str()), share.copies));
        prop_assert_eq!(mix.fit, oracle.sets(&shares.collect()), "{:?}", mix.shares);
    }
    for growth in &answer.node_sets {
        let cluster = number(growth.cluster.name.as_str());
        let role = ROLES
            .iter()
            .position(|name| *name == growth.part.role.as_str())
            .unwrap();
        prop_assert_eq!(
            growth.fit,
            oracle.growth(cluster, role),
            "{} {}",
            growth.cluster,
            growth.part
        );
        prop_assert!(!growth.scarce.is_empty());
    }
    let by_rack = answer.lost_by.as_deref() == Some(RACK);
    for loss in answer.losses.iter().filter(|_| by_rack) {
        let of_domain = |host: &Host| host.rack.map(|rack| format!("v{rack}")) == loss.domain;
        let hosts = oracle.hosts.iter().enumerate();
        let gone: BTreeSet<usize> = hosts
            .filter(|(_, host)| of_domain(host))
            .map(|(index, _)| index)
            .collect();
        prop_assert_eq!(loss.hosts, gone.len());
        let fits = oracle.fits(oracle.clusters, &oracle.served, oracle.hosts, &gone);
        prop_assert_eq!(loss.is_absorbed(), fits, "loss of {:?}", loss.domain);
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
        let options = Options::default().keep_going(true);
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
        let lost_by = hosts.iter().any(|host| host.rack.is_some()).then_some(RACK);
        let answer = capacity(&generated, &Scope { lost_by, ..Scope::default() }).unwrap();
        check(&answer, &oracle)?;
        let copyable = answer.clusters.iter().map(|copies| &copies.cluster);
        let mix = copyable.zip(shares).map(|(cluster, copies)| Share { cluster: cluster.clone(), copies });
        let mix: Vec<Share> = mix.collect();
        if !mix.is_empty() {
            check(&capacity(&generated, &Scope { mix, ..Scope::default() }).unwrap(), &oracle)?;
        }
    }
}
