//! How sites and their histories are made up.

use std::collections::BTreeMap;
use std::ops::Range;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::documents::{Format, Layout};
use super::{
    CONTROL_PLANE, Claim, Cluster, Condition, Expression, FLAVOR, GPU, History, Host, Key, Live,
    NAMESPACE_OF_SECOND_ROOT, Network, NodeSet, RACK, ROLES, Selector, Site, Step, WORKER,
};

/// All clusters that a site may ask for: few, so that one is often deleted and asked for again.
pub const CLUSTERS: [(&str, &str); 5] = [
    ("tenant-a", "edge"),
    ("tenant-a", "core"),
    ("tenant-b", "edge"),
    ("tenant-b", "lab.one"),
    ("metal", "1e3"),
];

const NETWORKS: [&str; 2] = ["oam-ipv4", "management"];
const FLAVORS: [&str; 3] = ["control-plane", "worker", "large"];

pub fn site(hosts: Range<usize>) -> impl Strategy<Value = Site> {
    vec(host(), hosts).prop_map(|hosts| {
        let mut site = Site::default();
        hosts.into_iter().for_each(|host| site.add(host));
        site
    })
}

pub fn layout() -> impl Strategy<Value = Layout> {
    let formats = select(vec![Format::Documents, Format::Flow, Format::List, Format::JsonList]);
    (0..4_usize, vec(any::<u16>(), 1..40), vec(formats, 1..6))
        .prop_map(|(more_files, shuffle, formats)| Layout { more_files, shuffle, formats })
}

/// A site that asks for clusters, one after the other, and then lives on.
pub fn history() -> impl Strategy<Value = History> {
    let ask = cluster().prop_map(Step::Ask);
    (site(5..25_usize), vec(ask, 1..5), vec(step(), 0..15), any::<bool>()).prop_map(
        |(site, asks, steps, keep_going)| History {
            site,
            steps: asks.into_iter().chain(steps).collect(),
            keep_going,
        },
    )
}

/// A site with a few observed hosts, for which clusters compete that would take any host.
pub fn scarce_history() -> impl Strategy<Value = History> {
    plain_history(2..6, None, observed)
}

/// A site whose clusters grow and shrink, and want every host in another rack.
pub fn racked_history() -> impl Strategy<Value = History> {
    plain_history(6..12, Some(RACK), observed)
}

/// A site whose manifests already give hosts to clusters.
pub fn adopting_history() -> impl Strategy<Value = History> {
    plain_history(2..6, None, declared)
}

fn observed(host: Host) -> Host {
    Host { root: None, manifest_claim: None, snapshot: Some(host.live.clone()), ..host }
}

fn declared(host: Host) -> Host {
    let root = Some(usize::from(host.key.namespace == NAMESPACE_OF_SECOND_ROOT));
    let (namespace, name) = CLUSTERS[host.labels.len() % CLUSTERS.len()];
    let claim = Claim::Cluster(Key::new(namespace, name), WORKER);
    Host { root, manifest_claim: Some(claim), snapshot: None, ..host }
}

/// Hosts that can all be taken, and clusters of workers that differ in their number only.
fn plain_history(
    hosts: Range<usize>,
    topology_key: Option<&'static str>,
    standing: fn(Host) -> Host,
) -> impl Strategy<Value = History> {
    let plain = move |mut host: Host| {
        host.network = Network::Known(NETWORKS.map(|network| (network, true)).into());
        host.live.condition = Condition::State("available");
        standing(host)
    };
    let modest = (cluster(), 0..3_usize).prop_map(move |(mut cluster, active)| {
        let workers = NodeSet { selector: None, topology_key, active, standby: None };
        cluster.node_sets = [(WORKER, workers)].into();
        cluster
    });
    let step = prop_oneof![
        3 => modest.prop_map(Step::Ask),
        2 => any::<Index>().prop_map(Step::Withdraw),
        4 => (any::<Index>(), 0..4_usize)
            .prop_map(|(cluster, active)| Step::Scale { cluster, role: WORKER, active, standby: None }),
        1 => any::<Index>().prop_map(Step::TakeLabelsOff),
        3 => Just(Step::Apply),
        3 => Just(Step::Refresh),
        1 => Just(Step::Settle),
    ];
    (vec(host().prop_map(plain), hosts), vec(step, 4..25), any::<bool>()).prop_map(
        |(hosts, steps, keep_going)| {
            let mut site = Site::default();
            hosts.into_iter().for_each(|host| site.add(host));
            History { site, steps, keep_going }
        },
    )
}

pub fn step() -> impl Strategy<Value = Step> {
    let at = any::<Index>;
    prop_oneof![
        2 => cluster().prop_map(Step::Ask),
        2 => at().prop_map(Step::Withdraw),
        4 => (at(), role(), 0..4_usize, option::of(0..2_usize))
            .prop_map(|(cluster, role, active, standby)| Step::Scale { cluster, role, active, standby }),
        2 => host().prop_map(|host| Step::AddHost(Box::new(host))),
        1 => at().prop_map(Step::RemoveHost),
        2 => (at(), condition()).prop_map(|(host, condition)| Step::Become(host, condition)),
        1 => at().prop_map(Step::TakeLabelsOff),
        1 => at().prop_map(Step::Declare),
        1 => at().prop_map(Step::Undeclare),
        2 => Just(Step::Apply),
        2 => Just(Step::Refresh),
        4 => Just(Step::Settle),
    ]
}

fn role() -> impl Strategy<Value = &'static str> {
    select(ROLES.to_vec())
}

pub fn cluster_key() -> impl Strategy<Value = Key> {
    select(CLUSTERS.to_vec()).prop_map(|(namespace, name)| Key::new(namespace, name))
}

pub fn cluster() -> impl Strategy<Value = Cluster> {
    let network = || option::weighted(0.4, select(NETWORKS.to_vec()));
    (cluster_key(), option::weighted(0.9, node_set()), option::weighted(0.9, node_set()))
        .prop_flat_map(move |sets| {
            (Just(sets), network(), network(), network(), prop::bool::weighted(0.2))
        })
        .prop_map(|((key, control_plane, worker), balancer, worker_balancer, jump_host, auth)| {
            Cluster {
                key,
                node_sets: [(CONTROL_PLANE, control_plane), (WORKER, worker)]
                    .into_iter()
                    .filter_map(|(role, node_set)| Some((role, node_set?)))
                    .collect(),
                control_plane_load_balancer: balancer,
                worker_load_balancer: worker_balancer,
                jump_host,
                auth,
            }
        })
}

pub fn node_set() -> impl Strategy<Value = NodeSet> {
    let topology_key = prop_oneof![3 => Just(None), 3 => Just(Some(RACK)), 1 => Just(Some(""))];
    (option::weighted(0.6, selector()), topology_key, 0..3_usize, option::of(0..2_usize)).prop_map(
        |(selector, topology_key, active, standby)| NodeSet {
            selector,
            topology_key,
            active,
            standby,
        },
    )
}

fn selector() -> impl Strategy<Value = Selector> {
    let labels = btree_map(Just(FLAVOR), select(FLAVORS.to_vec()), 0..2_usize);
    prop_oneof![
        (labels, vec(expression(), 0..2_usize))
            .prop_map(|(labels, expressions)| Selector { labels, expressions }),
        vec(expression(), 1..3_usize)
            .prop_map(|expressions| Selector { expressions, ..Selector::default() }),
    ]
}

fn expression() -> impl Strategy<Value = Expression> {
    let flavors = || subsequence(FLAVORS.to_vec(), 1..=3);
    let expression = |key, operator, values| Expression { key, operator, values };
    prop_oneof![
        flavors().prop_map(move |values| expression(FLAVOR, "In", values)),
        flavors().prop_map(move |values| expression(FLAVOR, "NotIn", values)),
        Just(expression(GPU, "Exists", Vec::new())),
        Just(expression(GPU, "DoesNotExist", Vec::new())),
    ]
}

pub fn host() -> impl Strategy<Value = Host> {
    let namespace = select(vec!["metal", "tenant-a", NAMESPACE_OF_SECOND_ROOT]);
    let claim = option::weighted(0.2, claim());
    (namespace, 0..20_u8, labels(), network(), standing(), condition(), claim, any::<bool>())
        .prop_map(
            |(
                namespace,
                number,
                labels,
                network,
                (declared, observed),
                condition,
                claim,
                in_manifest,
            )| {
                let root = declared.then_some(usize::from(namespace == NAMESPACE_OF_SECOND_ROOT));
                let in_manifest = declared && (in_manifest || !observed);
                let live = Live {
                    condition,
                    claim: claim.clone().filter(|_| !in_manifest),
                    claimed_by_others: claim.is_some() && !in_manifest,
                    given_back: BTreeMap::new(),
                };
                Host {
                    key: Key::new(namespace, &format!("node-{number}")),
                    labels,
                    network,
                    root,
                    manifest_claim: claim.filter(|_| in_manifest),
                    snapshot: observed.then(|| live.clone()),
                    live,
                    release: None,
                }
            },
        )
}

/// Whether a host is declared, and whether a snapshot has it.
fn standing() -> impl Strategy<Value = (bool, bool)> {
    prop_oneof![1 => Just((true, false)), 1 => Just((true, true)), 2 => Just((false, true))]
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    let rack = prop_oneof![
        8 => select(vec!["r1", "r2", "r3", "r4", "r5", "1e3"]).prop_map(Some),
        1 => Just(Some("")),
        1 => Just(None),
    ];
    let flavor = option::weighted(0.9, select(FLAVORS.to_vec()));
    (rack, flavor, option::weighted(0.3, Just("full"))).prop_map(|(rack, flavor, gpu)| {
        let labels = [(RACK, rack), (FLAVOR, flavor), (GPU, gpu)];
        labels
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
            .collect()
    })
}

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        1 => Just(Network::Absent),
        1 => Just(Network::Missing),
        20 => Just(Network::Known(NETWORKS.map(|network| (network, true)).into())),
        4 => btree_map(select(NETWORKS.to_vec()), any::<bool>(), 0..=2_usize).prop_map(Network::Known),
    ]
}

pub fn condition() -> impl Strategy<Value = Condition> {
    let busy = vec!["provisioned", "inspecting", "registering", "error"];
    let annotations = vec![
        "baremetalhost.metal3.io/paused",
        "baremetalhost.metal3.io/detached",
        "capm3.metal3.io/unhealthy",
        "capi.metal3.io/unhealthy",
    ];
    prop_oneof![
        24 => select(vec!["available", "ready"]).prop_map(Condition::State),
        1 => Just(Condition::Unregistered),
        1 => select(busy).prop_map(Condition::State),
        1 => Just(Condition::InUse),
        1 => Just(Condition::Deleting),
        1 => Just(Condition::Failed),
        1 => Just(Condition::InError),
        1 => select(annotations).prop_map(Condition::Annotated),
    ]
}

fn claim() -> impl Strategy<Value = Claim> {
    let name = || select(vec!["edge".to_owned(), "elsewhere".to_owned()]);
    prop_oneof![
        8 => (cluster_key(), role()).prop_map(|(cluster, role)| Claim::Cluster(cluster, role)),
        1 => role().prop_map(|role| Claim::Cluster(Key::new("tenant-c", "elsewhere"), role)),
        1 => name().prop_map(Claim::Scheduled),
        1 => name().prop_map(Claim::Older),
        1 => name().prop_map(Claim::Incomplete),
        1 => Just(Claim::Empty),
    ]
}
