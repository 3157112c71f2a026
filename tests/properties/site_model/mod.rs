//! Sites made up for the properties: what a repo holds, what the hosts in the base cluster really bear, and how
//! both change from day to day.
//!
//! The rules are told here once more, in the plainest way, so that they do not depend on those of sipgen.

// Every test program compiles this, and none uses all of it.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

mod documents;
mod history;
pub mod strategies;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use documents::Layout;
pub use history::{History, Release, Step, for_every_run};
pub use tree::{Entry, Place, Tree};

pub const CONTROL_PLANE: &str = "ControlPlane";
pub const WORKER: &str = "Worker";
pub const ROLES: [&str; 2] = [CONTROL_PLANE, WORKER];

pub const RACK: &str = "topology.example.com/rack";
pub const FLAVOR: &str = "hardware.example.com/flavor";
pub const GPU: &str = "hardware.example.com/gpu";

/// The two builds that render hosts. The second gives its hosts their namespace.
pub const ROOTS: [&str; 2] = ["inventory", "sites/lab"];
pub const NAMESPACE_OF_SECOND_ROOT: &str = "lab";

/// A host or a cluster by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Site {
    pub hosts: Vec<Host>,
    pub clusters: Vec<Cluster>,
}

#[derive(Debug, Clone)]
pub struct Host {
    pub key: Key,
    /// Labels by which it is selected; the same in manifest and snapshot.
    pub labels: BTreeMap<String, String>,
    pub network: Network,
    /// The build that renders its manifest; none for a host that somebody else makes.
    pub root: Option<usize>,
    /// The assignment labels in its manifest.
    pub manifest_claim: Option<Claim>,
    /// What it bears in the base cluster.
    pub live: Live,
    /// What the repo knows of that; an observed host always has it.
    pub snapshot: Option<Live>,
    /// How far its being given back has come, as nobody but the model can know it.
    pub release: Option<Release>,
}

/// What only a live host has.
#[derive(Debug, Clone)]
pub struct Live {
    pub condition: Condition,
    pub claim: Option<Claim>,
    /// Whether another tool set the labels, so that the agent cannot take them away.
    pub claimed_by_others: bool,
    /// The annotations by which sipgen marks a host that is given back.
    pub given_back: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Without a status.
    Unregistered,
    State(&'static str),
    InUse,
    Deleting,
    /// With an error that needs intervention.
    Failed,
    /// With an error that Metal3 retries: its cluster keeps the host.
    InError,
    Annotated(&'static str),
}

/// What labels say about whose a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    Cluster(Key, &'static str),
    /// Labels of the SIP operator of 2020.
    Scheduled(String),
    /// The label of early 2021.
    Older(String),
    /// One of the three labels of today.
    Incomplete(String),
    /// A label without value, as ViNO copies it from a node that lacks it.
    Empty,
}

impl Live {
    /// Whether no label says whose the host is; one without value says nothing.
    pub fn is_unclaimed(&self) -> bool {
        self.claim.as_ref().is_none_or(|claim| *claim == Claim::Empty)
    }
}

impl Claim {
    pub fn labels(&self) -> BTreeMap<String, String> {
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        match self {
            Claim::Cluster(cluster, role) => labels(&[
                ("sip.airshipit.org/cluster-namespace", &cluster.namespace),
                ("sip.airshipit.org/cluster-name", &cluster.name),
                ("sip.airshipit.org/node-type", role),
            ]),
            Claim::Scheduled(name) => labels(&[
                ("sip.airshipit.org/sip-scheduled", "true"),
                ("sip.airshipit.org/workload-cluster", name),
                ("sip.airshipit.org/node-type", "worker"),
            ]),
            Claim::Older(name) => labels(&[("sip.airshipit.org/cluster", name)]),
            Claim::Incomplete(name) => labels(&[("sip.airshipit.org/cluster-name", name)]),
            Claim::Empty => labels(&[("sip.airshipit.org/cluster-name", "")]),
        }
    }
}

/// What a host's network data says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// The host refers to none.
    Absent,
    /// The Secret that it refers to is not in the repo.
    Missing,
    /// Networks, each with an address or, as with DHCP, without.
    Known(BTreeMap<&'static str, bool>),
}

#[derive(Debug, Clone)]
pub struct Cluster {
    pub key: Key,
    pub node_sets: BTreeMap<&'static str, NodeSet>,
    /// The network that each kind of service uses, for the services that there are.
    pub control_plane_load_balancer: Option<&'static str>,
    pub worker_load_balancer: Option<&'static str>,
    pub jump_host: Option<&'static str>,
    pub auth: bool,
}

#[derive(Debug, Clone)]
pub struct NodeSet {
    pub selector: Option<Selector>,
    pub topology_key: Option<&'static str>,
    pub active: usize,
    pub standby: Option<usize>,
}

#[derive(Debug, Clone, Default)]
pub struct Selector {
    pub labels: BTreeMap<&'static str, &'static str>,
    pub expressions: Vec<Expression>,
}

#[derive(Debug, Clone)]
pub struct Expression {
    pub key: &'static str,
    pub operator: &'static str,
    pub values: Vec<&'static str>,
}

impl NodeSet {
    pub fn wanted(&self) -> usize {
        self.active + self.standby.unwrap_or_default()
    }
}

impl Selector {
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let holds = |expression: &Expression| {
            let value = labels.get(expression.key).map(String::as_str);
            let listed = value.is_some_and(|value| expression.values.contains(&value));
            match expression.operator {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                other => panic!("{other}"),
            }
        };
        self.labels.iter().all(|(key, value)| labels.get(*key).is_some_and(|found| found == value))
            && self.expressions.iter().all(holds)
    }
}

impl Cluster {
    /// The networks in which a host needs an address to serve in a role.
    fn networks(&self, role: &str) -> BTreeSet<&'static str> {
        let balancer = if role == CONTROL_PLANE {
            self.control_plane_load_balancer
        } else {
            self.worker_load_balancer
        };
        balancer.into_iter().chain(self.jump_host).collect()
    }

    pub fn wanted(&self, role: &str) -> usize {
        self.node_sets.get(role).map_or(0, NodeSet::wanted)
    }
}

impl Host {
    pub fn is_declared(&self) -> bool {
        self.root.is_some()
    }

    /// The topology domain; an empty value is none.
    pub fn domain(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The clusters and roles that labels in the repo name.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        let claims = [self.manifest_claim(), self.snapshot_claim()];
        claims.into_iter().flatten()
    }

    fn manifest_claim(&self) -> Option<&Claim> {
        let claim = self.manifest_claim.as_ref().filter(|_| self.is_declared());
        claim.filter(|claim| **claim != Claim::Empty)
    }

    fn snapshot_claim(&self) -> Option<&Claim> {
        let claim = self.snapshot.as_ref()?.claim.as_ref();
        claim.filter(|claim| **claim != Claim::Empty)
    }

    /// Whether the snapshot shows that it is going, or has failed while nobody uses it.
    pub fn is_lost(&self) -> bool {
        let condition = self.snapshot.as_ref().map(|snapshot| &snapshot.condition);
        matches!(condition, Some(Condition::Deleting | Condition::Failed))
    }

    /// Why the host may not be added to a cluster of a site with this earlier output, as far as the
    /// host itself goes.
    pub fn refusal(
        &self,
        site: &Site,
        before: &Tree,
        cluster: &Cluster,
        role: &str,
    ) -> Option<&'static str> {
        let node_set = &cluster.node_sets[role];
        let labels = self.all_labels();
        if node_set.selector.as_ref().is_some_and(|selector| !selector.matches(&labels)) {
            return Some("is not selected");
        }
        match self.snapshot.as_ref().map(|snapshot| &snapshot.condition) {
            None | Some(Condition::State("available" | "ready")) => {}
            Some(Condition::Unregistered) => return Some("is not registered yet"),
            Some(Condition::State(_)) => return Some("is in a state that is not free"),
            Some(Condition::InUse) => return Some("has a consumer"),
            Some(Condition::Deleting) => return Some("is being deleted"),
            Some(Condition::Failed | Condition::InError) => return Some("is in an error"),
            Some(Condition::Annotated(_)) => {
                return Some("bears an annotation that keeps it from being taken");
            }
        }
        for network in cluster.networks(role) {
            match &self.network {
                Network::Known(networks) if networks.get(network) == Some(&true) => {}
                _ => return Some("has no address"),
            }
        }
        let own = |claim: &Claim| match claim {
            Claim::Cluster(key, _) => *key == cluster.key,
            Claim::Scheduled(name) => site.meant(name, &self.key) == Some(&cluster.key),
            _ => false,
        };
        // What the patch for another cluster of the repo wrote, the next patch overwrites.
        let overwritten = |claim: &Claim| match claim {
            Claim::Cluster(key, _) => {
                let holder = before.holder(&self.key).map(|(holder, _)| holder);
                self.is_declared() && site.cluster(key).is_some() && holder.as_ref() == Some(key)
            }
            _ => false,
        };
        let of_manifest = self.manifest_claim().filter(|claim| !own(claim));
        let of_snapshot = self.snapshot_claim();
        let of_snapshot = of_snapshot.filter(|claim| !own(claim) && !overwritten(claim));
        if of_manifest.or(of_snapshot).is_some() {
            return Some("bears labels of somebody else");
        }
        None
    }

    /// All labels by which it is selected: those of the manifest, or else those of the snapshot.
    fn all_labels(&self) -> BTreeMap<String, String> {
        let claim = match (&self.root, &self.snapshot) {
            (Some(_), _) => self.manifest_claim.as_ref(),
            (None, snapshot) => snapshot.as_ref().and_then(|snapshot| snapshot.claim.as_ref()),
        };
        self.labels
            .clone()
            .into_iter()
            .chain(claim.map(Claim::labels).unwrap_or_default())
            .collect()
    }
}

impl Site {
    pub fn host(&self, key: &Key) -> Option<&Host> {
        self.hosts.iter().find(|host| host.key == *key)
    }

    pub fn cluster(&self, key: &Key) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.key == *key)
    }

    /// The cluster that older labels of a host mean, which name no namespace: the one beside the host, or else the only
    /// one of the name.
    fn meant(&self, name: &str, host: &Key) -> Option<&Key> {
        let named: Vec<&Key> = self
            .clusters
            .iter()
            .map(|cluster| &cluster.key)
            .filter(|key| key.name == name)
            .collect();
        match named.as_slice() {
            [only] => Some(only),
            several => several.iter().find(|key| key.namespace == host.namespace).copied(),
        }
    }

    /// The hosts that labels, and not yet the output, give to a role of a cluster.
    pub fn adoptable<'a>(
        &'a self,
        cluster: &'a Key,
        role: &'a str,
        tree: &'a Tree,
    ) -> impl Iterator<Item = &'a Host> {
        self.hosts.iter().filter(move |host| {
            let named = |claim: &Claim| match claim {
                Claim::Cluster(key, of) => key == cluster && *of == role,
                Claim::Scheduled(name) => {
                    role == WORKER && self.meant(name, &host.key) == Some(cluster)
                }
                _ => false,
            };
            host.claims().any(named) && tree.holder(&host.key).is_none()
        })
    }
}
