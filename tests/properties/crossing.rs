//! Topology keys that cross each other, such as rack and power feed: every placement that exists is found, and where
//! there is none, the node sets and domains that a finding names are a minimal reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use camino::Utf8Path;
use proptest::prelude::*;
use proptest::sample::Index;
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;
use sipgen::plan::{NodeSetConflict, Plan, PlanChanges, ShortageReason, plan};
use sipgen::site::Site;
use sipgen::{Options, generate};
use tempfile::TempDir;

const FLAVOR: &str = "example.com/flavor";
const KEYS: [&str; 3] = ["example.com/rack", "example.com/feed", "example.com/switch"];

/// A host with its domain of each key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Host {
    flavor: usize,
    domains: Vec<Option<usize>>,
    /// Metal3 reports an error for it.
    fails: bool,
}

#[derive(Debug, Clone)]
struct Cluster {
    /// None takes any.
    flavor: Option<usize>,
    keys: Vec<usize>,
    wanted: usize,
    /// The domains, each with its key, in which it has hosts already.
    used: BTreeSet<(usize, usize)>,
}

impl Host {
    /// The domains of a host that some keys limit.
    fn domains_of(&self, keys: &[usize]) -> BTreeSet<(usize, usize)> {
        keys.iter().filter_map(|key| Some((*key, self.domains[*key]?))).collect()
    }
}

#[derive(Debug, Clone)]
struct Case {
    hosts: Vec<Host>,
    /// In the order in which they are served.
    clusters: Vec<Cluster>,
}

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// A site with a placement: every cluster's hosts are drawn first, each in other domains of all keys, and then hosts
/// are added at random until there are enough.
fn planted(
    seed: u64,
    hosts: usize,
    clusters: usize,
    wanted: usize,
    domains: &[usize],
    flavors: usize,
) -> Case {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut case = Case { hosts: Vec::new(), clusters: Vec::new() };
    for _ in 0..clusters {
        let flavor = (numbers.below(2) == 0).then(|| numbers.below(flavors));
        let orders: Vec<Vec<usize>> = domains
            .iter()
            .map(|count| {
                let mut order: Vec<usize> = (0..*count).collect();
                numbers.shuffle(&mut order);
                order
            })
            .collect();
        for at in 0..wanted {
            let flavor = flavor.unwrap_or_else(|| numbers.below(flavors));
            let domains = orders.iter().map(|order| Some(order[at])).collect();
            case.hosts.push(Host { flavor, domains, fails: false });
        }
        case.clusters.push(Cluster {
            flavor,
            keys: (0..domains.len()).collect(),
            wanted,
            used: BTreeSet::new(),
        });
    }
    while case.hosts.len() < hosts {
        let flavor = numbers.below(flavors);
        let domains = domains.iter().map(|count| Some(numbers.below(*count))).collect();
        case.hosts.push(Host { flavor, domains, fails: false });
    }
    numbers.shuffle(&mut case.hosts);
    case
}

fn host_text(text: &mut String, index: usize, host: &Host) {
    let mut labels = format!("{FLAVOR}: f{}", host.flavor);
    for (key, domain) in KEYS.iter().zip(&host.domains) {
        let _ = domain.map(|domain| write!(labels, ", {key}: d{domain}"));
    }
    let _ = write!(
        text,
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{index}, namespace: metal, \
         labels: {{{labels}}}}}\nspec: {{}}\n"
    );
    let error = if host.fails { "errorMessage: no power, " } else { "" };
    let _ = writeln!(text, "status: {{{error}provisioning: {{state: available}}}}");
}

fn text_of(case: &Case) -> String {
    let mut text = String::new();
    case.hosts.iter().enumerate().for_each(|(index, host)| host_text(&mut text, index, host));
    for (index, Cluster { flavor, keys, wanted, .. }) in case.clusters.iter().enumerate() {
        let selector = flavor
            .map_or("{}".to_owned(), |flavor| format!("{{matchLabels: {{{FLAVOR}: f{flavor}}}}}"));
        let keys: Vec<&str> = keys.iter().map(|key| KEYS[*key]).collect();
        let _ = write!(
            text,
            "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: c{index:03}, namespace: t}}\n\
             spec:\n  nodes:\n    Worker: {{labelSelector: {selector}, topologyKeys: [{}], count: {{active: {wanted}, \
             standby: 0}}}}\n",
            keys.join(", ")
        );
    }
    text
}

fn planned(case: &Case) -> (Site, Plan, Vec<sipgen::base::finding::Finding>) {
    let directory = TempDir::new().unwrap();
    let root = Utf8Path::from_path(directory.path()).unwrap();
    fs::write(root.join("site.yaml"), text_of(case)).unwrap();
    let (site, _) = Site::read(&Files::on_disk(root), Settings::default()).unwrap();
    let (plan, findings) = plan(&site, &BTreeSet::new(), &BTreeSet::new(), PlanChanges::default());
    (site, plan, findings)
}

/// Checks every host that was chosen, and returns the clusters that were served.
fn served(case: &Case, site: &Site, plan: &Plan) -> BTreeSet<usize> {
    let mut taken = BTreeSet::new();
    let mut served = BTreeSet::new();
    for (key, placement) in &plan.clusters {
        let number: usize = key.name.as_str()[1..].parse().unwrap();
        let Cluster { flavor, keys, wanted, .. } = &case.clusters[number];
        let mut used = BTreeSet::new();
        let mut count = 0;
        for assigned in placement.values().flatten() {
            let index: usize =
                site.inventory.hosts[assigned.host].key.name.as_str()[1..].parse().unwrap();
            let host = &case.hosts[index];
            assert!(taken.insert(index), "h{index} is taken twice");
            assert!(flavor.is_none_or(|flavor| flavor == host.flavor));
            for key in keys {
                let domain = host.domains[*key];
                assert!(
                    domain.is_none() || used.insert((*key, domain)),
                    "c{number} has two hosts in a domain"
                );
            }
            count += 1;
        }
        if count == *wanted {
            served.insert(number);
        } else {
            assert_eq!(count, 0);
        }
    }
    served.extend((0..case.clusters.len()).filter(|number| case.clusters[*number].wanted == 0));
    served
}

fn assert_solved(case: &Case, what: &str) {
    let (site, plan, findings) = planned(case);
    let all: BTreeSet<usize> = (0..case.clusters.len()).collect();
    let said: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(served(case, &site, &plan), all, "{what}: {said:?}");
}

#[test]
fn planted_sites_with_two_keys_are_solved() {
    let shapes: [(usize, usize, usize, &[usize], usize); 9] = [
        (28, 3, 7, &[8, 8], 1),
        (28, 3, 7, &[10, 9], 2),
        (40, 4, 9, &[12, 10], 3),
        (70, 3, 10, &[10, 10], 1),
        (70, 3, 10, &[12, 12], 2),
        (100, 1, 20, &[24, 24], 1),
        (100, 5, 12, &[16, 14], 2),
        (100, 8, 10, &[12, 12], 2),
        (60, 6, 10, &[12, 12], 1),
    ];
    for (hosts, clusters, wanted, domains, flavors) in shapes {
        for seed in 0..25 {
            let case = planted(seed, hosts, clusters, wanted, domains, flavors);
            assert_solved(
                &case,
                &format!("seed {seed}, {clusters} clusters of {wanted} on {hosts} hosts"),
            );
        }
    }
}

#[test]
fn planted_sites_with_three_keys_are_solved() {
    for (hosts, clusters, wanted, domains) in
        [(40, 2, 8, [9, 9, 9]), (100, 3, 10, [13, 13, 13]), (90, 1, 14, [16, 16, 16])]
    {
        for seed in 0..12 {
            let case = planted(seed, hosts, clusters, wanted, &domains, 2);
            assert_solved(
                &case,
                &format!("seed {seed}, {clusters} clusters of {wanted} on {hosts} hosts"),
            );
        }
    }
}

/// Whether all of some clusters can be served, with these domains kept apart only.
fn can_be_served(case: &Case, clusters: &[usize], limits: &dyn Fn(usize, usize) -> bool) -> bool {
    // Which hosts are left decides, and in which domains the cluster at work has hosts. Hosts that are alike are one.
    type State = (usize, usize, Vec<usize>, BTreeSet<(usize, usize)>);
    fn place(
        case: &Case,
        clusters: &[usize],
        kinds: &[(Host, usize)],
        limits: &dyn Fn(usize, usize) -> bool,
        (at, from, left, used): State,
        missing: usize,
        failed: &mut BTreeSet<(State, usize)>,
    ) -> bool {
        let Some(cluster) = clusters.get(at) else {
            return true;
        };
        let Cluster { flavor, keys, .. } = &case.clusters[*cluster];
        if missing == 0 {
            let next = clusters.get(at + 1).map(|next| &case.clusters[*next]);
            let (missing, used) =
                next.map_or((0, BTreeSet::new()), |next| (next.wanted, next.used.clone()));
            return place(case, clusters, kinds, limits, (at + 1, 0, left, used), missing, failed);
        }
        let state = ((at, from, left, used), missing);
        if failed.contains(&state) {
            return false;
        }
        let ((.., left, used), _) = &state;
        for kind in from..kinds.len() {
            let host = &kinds[kind].0;
            let domains: Vec<(usize, usize)> = keys
                .iter()
                .filter_map(|key| Some((*key, host.domains[*key]?)))
                .filter(|(key, domain)| limits(*key, *domain))
                .collect();
            let matches = flavor.is_none_or(|flavor| flavor == host.flavor);
            if left[kind] == 0 || !matches || domains.iter().any(|domain| used.contains(domain)) {
                continue;
            }
            let mut left = left.clone();
            left[kind] -= 1;
            let used = used.iter().copied().chain(domains).collect();
            if place(case, clusters, kinds, limits, (at, kind, left, used), missing - 1, failed) {
                return true;
            }
        }
        failed.insert(state);
        false
    }
    let mut kinds: Vec<(Host, usize)> = Vec::new();
    for host in &case.hosts {
        match kinds.iter_mut().find(|(other, _)| other == host) {
            Some((_, count)) => *count += 1,
            None => kinds.push((host.clone(), 1)),
        }
    }
    let left = kinds.iter().map(|(_, count)| *count).collect();
    let first = clusters.first().map(|cluster| &case.clusters[*cluster]);
    let (missing, used) =
        first.map_or((0, BTreeSet::new()), |first| (first.wanted, first.used.clone()));
    place(case, clusters, &kinds, limits, (0, 0, left, used), missing, &mut BTreeSet::new())
}

#[test]
fn clusters_that_are_alike_are_refused_alike_and_each_in_its_own_name() {
    // All hosts are in three racks or three feeds: six at most, apart by both.
    let host = |at: usize| {
        let domains =
            if at.is_multiple_of(2) { [at % 3, 3 + at % 7] } else { [3 + at % 8, at % 3] };
        Host { flavor: 0, domains: domains.map(Some).to_vec(), fails: false }
    };
    let of_both =
        |wanted| Cluster { flavor: None, keys: vec![0, 1], wanted, used: BTreeSet::new() };
    let too_many = Cluster { flavor: Some(0), ..of_both(41) };
    let clusters = vec![of_both(7), of_both(7), of_both(3), of_both(7), too_many.clone(), too_many];
    let case = Case { hosts: (0..40).map(host).collect(), clusters };

    let (site, plan, _) = planned(&case);

    assert_eq!(served(&case, &site, &plan), BTreeSet::from([2]));
    assert_eq!(plan.shortages.len(), 5);
    for ((cluster, _), shortage) in &plan.shortages {
        let named = match &shortage.reason {
            ShortageReason::Crossing(NodeSetConflict { node_sets, .. }) => node_sets,
            ShortageReason::Counted { rivals, .. } => rivals,
            ShortageReason::Constrained { .. } | ShortageReason::Undecided => {
                panic!("{cluster}: {:?}", shortage.reason)
            }
        };
        assert!(named.iter().any(|rival| rival.cluster == *cluster), "{cluster}: {named:?}");
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let label = |values: usize| prop::option::weighted(0.93, 0..values);
    let host =
        (0..2_usize, label(4), label(4), label(3)).prop_map(|(flavor, rack, feed, switch)| Host {
            flavor,
            domains: vec![rack, feed, switch],
            fails: false,
        });
    let keys = prop::sample::select(vec![
        vec![0, 1],
        vec![0, 1],
        vec![1, 0],
        vec![0, 2],
        vec![0, 1, 2],
        vec![0],
        vec![],
    ]);
    let cluster = (prop::option::weighted(0.4, 0..2_usize), keys, 1..5_usize)
        .prop_map(|(flavor, keys, wanted)| Cluster { flavor, keys, wanted, used: BTreeSet::new() });
    (prop::collection::vec(host, 4..=11), prop::collection::vec(cluster, 1..=4))
        .prop_map(|(hosts, clusters)| Case { hosts, clusters })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn clusters_are_served_exactly_when_they_can_be_and_conflicts_are_minimal(case in cases()) {
        let (site, plan, findings) = planned(&case);
        let served = served(&case, &site, &plan);

        let mut accepted: Vec<usize> = Vec::new();
        for cluster in 0..case.clusters.len() {
            let together: Vec<usize> = accepted.iter().copied().chain([cluster]).collect();
            let expected = can_be_served(&case, &together, &|_, _| true);
            prop_assert_eq!(served.contains(&cluster), expected, "c{}: {:?}", cluster, findings);
            if expected {
                accepted = together;
            }
        }
        for shortage in plan.shortages.values() {
            prop_assert!(!matches!(shortage.reason, ShortageReason::Undecided));
            if let ShortageReason::Crossing(conflict) = &shortage.reason {
                prop_assert!(conflict.is_minimal);
                assert_minimal(&case, &conflict.node_sets, &conflict.domains);
            }
        }
    }
}

/// Changes between two runs.
#[derive(Debug, Clone)]
struct Drift {
    failing: Vec<Index>,
    /// Hosts that get another domain of a key.
    moved: Vec<(Index, usize, Option<usize>)>,
    grown: Vec<(Index, usize)>,
    rebalance: bool,
}

fn drifts() -> impl Strategy<Value = Drift> {
    let moved = (any::<Index>(), 0..3_usize, prop::option::weighted(0.9, 0..4_usize));
    let failing = prop::collection::vec(any::<Index>(), 0..4);
    let grown = prop::collection::vec((any::<Index>(), 1..3_usize), 0..3);
    (failing, prop::collection::vec(moved, 0..4), grown, any::<bool>())
        .prop_map(|(failing, moved, grown, rebalance)| Drift { failing, moved, grown, rebalance })
}

impl Drift {
    fn apply(&self, case: &mut Case) {
        for host in &self.failing {
            host.get_mut(&mut case.hosts).fails = true;
        }
        for (host, key, domain) in &self.moved {
            host.get_mut(&mut case.hosts).domains[*key] = *domain;
        }
        for (cluster, more) in &self.grown {
            cluster.get_mut(&mut case.clusters).wanted += more;
        }
    }
}

/// The hosts of each cluster, by number.
fn assignments(site: &Site, plan: &Plan) -> BTreeMap<usize, BTreeSet<usize>> {
    let number = |name: &str| name[1..].parse().unwrap();
    let hosts = |placement: &sipgen::plan::Placement| -> BTreeSet<usize> {
        let assigned = placement.values().flatten();
        assigned
            .map(|assigned| number(site.inventory.hosts[assigned.host].key.name.as_str()))
            .collect()
    };
    plan.clusters
        .iter()
        .map(|(key, placement)| (number(key.name.as_str()), hosts(placement)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hosts_stay_and_missing_ones_are_found_around_them(mut case in cases(), drift in drifts()) {
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        let files = Files::on_disk(root);
        fs::write(root.join("site.yaml"), text_of(&case)).unwrap();
        let options = Options { keep_going: true, ..Options::default() };
        let generated = generate(&files, &options, &|_| {}).unwrap();
        sipgen::write(files.root(), &generated.changes.unwrap()).unwrap();
        let (site, _) = Site::read(&files, Settings::default()).unwrap();
        let before = assignments(&site, &generated.plan);

        drift.apply(&mut case);
        fs::write(root.join("site.yaml"), text_of(&case)).unwrap();
        let (site, _) = Site::read(&files, Settings::default()).unwrap();
        let (plan, findings) = plan(&site, &BTreeSet::new(), &BTreeSet::new(), PlanChanges { rebalance: drift.rebalance, moves: &[] });
        let after = assignments(&site, &plan);

        // Missing hosts are placed exactly when they can be, around the hosts that stay.
        let none = BTreeSet::new();
        let taken: BTreeSet<usize> = before.values().flatten().copied().collect();
        let mut rest = case.clone();
        rest.hosts = (0..case.hosts.len())
            .filter(|host| !taken.contains(host) && !case.hosts[*host].fails)
            .map(|host| case.hosts[host].clone())
            .collect();
        for (number, cluster) in rest.clusters.iter_mut().enumerate() {
            let kept = before.get(&number).unwrap_or(&none);
            cluster.wanted = cluster.wanted.saturating_sub(kept.len());
            cluster.used = kept.iter().flat_map(|host| case.hosts[*host].domains_of(&cluster.keys)).collect();
        }
        let short: BTreeSet<usize> =
            plan.shortages.keys().map(|(key, _)| key.name.as_str()[1..].parse().unwrap()).collect();
        let mut accepted: Vec<usize> = Vec::new();
        for cluster in 0..case.clusters.len() {
            let together: Vec<usize> = accepted.iter().copied().chain([cluster]).collect();
            let expected = can_be_served(&rest, &together, &|_, _| true);
            prop_assert_eq!(!short.contains(&cluster), expected, "c{}: {:?}", cluster, findings);
            if expected {
                accepted = together;
            }
        }

        let assigned: Vec<usize> = after.values().flatten().copied().collect();
        prop_assert_eq!(assigned.len(), BTreeSet::from_iter(&assigned).len(), "a host is assigned twice");
        for (number, Cluster { flavor, keys, wanted, .. }) in case.clusters.iter().enumerate() {
            let had = before.get(&number).unwrap_or(&none);
            let has = after.get(&number).unwrap_or(&none);
            let shares = |host: usize| {
                let mut others = had.iter().filter(|other| **other != host);
                let own = case.hosts[host].domains_of(keys);
                others.any(|other| !case.hosts[*other].domains_of(keys).is_disjoint(&own))
            };
            for host in had.difference(has) {
                prop_assert!(case.hosts[*host].fails || drift.rebalance && shares(*host), "h{} of c{} moved", host, number);
                prop_assert!(!short.contains(&number), "h{} of c{} is released and not replaced", host, number);
            }
            for host in has.difference(had) {
                let own = case.hosts[*host].domains_of(keys);
                prop_assert!(!case.hosts[*host].fails && flavor.is_none_or(|flavor| flavor == case.hosts[*host].flavor));
                for other in has.iter().filter(|other| *other != host) {
                    prop_assert!(case.hosts[*other].domains_of(keys).is_disjoint(&own), "h{} beside h{}", host, other);
                }
            }
            if !short.contains(&number) {
                prop_assert_eq!(has.len(), *wanted.max(&had.len()));
                // A failing host stays only where no spare host can take its place.
                for failing in has.iter().filter(|host| case.hosts[**host].fails) {
                    let used: BTreeSet<(usize, usize)> = has
                        .iter()
                        .filter(|host| *host != failing)
                        .flat_map(|host| case.hosts[*host].domains_of(keys))
                        .collect();
                    let replacement = (0..case.hosts.len()).find(|host| {
                        let Host { flavor: own, fails, .. } = &case.hosts[*host];
                        let is_spare = !fails && !taken.contains(host) && !assigned.contains(host);
                        let matches = flavor.is_none_or(|flavor| flavor == *own);
                        is_spare && matches && case.hosts[*host].domains_of(keys).is_disjoint(&used)
                    });
                    prop_assert_eq!(replacement, None, "h{} of c{} fails and stays", failing, number);
                }
            }
        }
    }
}

/// Tries every node set and every domain of a conflict: without it, there is a placement.
fn assert_minimal(
    case: &Case,
    node_sets: &[sipgen::plan::CompetingNodeSet],
    domains: &BTreeMap<String, BTreeSet<String>>,
) {
    let clusters: Vec<usize> = node_sets
        .iter()
        .map(|node_set| node_set.cluster.name.as_str()[1..].parse().unwrap())
        .collect();
    let domains: BTreeSet<(usize, usize)> = domains
        .iter()
        .flat_map(|(key, values)| {
            let key = KEYS.iter().position(|other| other == key).unwrap();
            values.iter().map(move |value| (key, value[1..].parse().unwrap()))
        })
        .collect();
    let limits = |key: usize, domain: usize| domains.contains(&(key, domain));
    assert!(!can_be_served(case, &clusters, &limits), "there is a placement: {case:?}");
    for left_out in &clusters {
        let rest: Vec<usize> =
            clusters.iter().copied().filter(|cluster| cluster != left_out).collect();
        assert!(can_be_served(case, &rest, &limits), "c{left_out} does not matter: {case:?}");
    }
    for left_out in &domains {
        let limits = |key: usize, domain: usize| (key, domain) != *left_out && limits(key, domain);
        assert!(
            can_be_served(case, &clusters, &limits),
            "domain {left_out:?} does not matter: {case:?}"
        );
    }
}
