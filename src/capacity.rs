//! Capacity of a site: `sipgen capacity`.
//!
//! - How many more hosts each node set can have, and how many copies of each cluster, or of a mix
//!   of clusters, fit.
//! - What the loss of each topology domain does: which clusters the other hosts cannot serve.
//!
//! Every number is a maximum by proof: the planner serves it, and refuses one more.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::str::FromStr;

use rayon::prelude::*;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use crate::api::names::{ClusterKey, Part};
use crate::finding::Finding;
use crate::generate::Generated;
use crate::load::{Files, ReadError};
use crate::overview::{ClusterOverview, HostOverview, NoSuchLabel, Overview};
use crate::plan::probe::{Lacking, Probe, Question, largest};
use crate::request::{Cluster, NodeSet};
use crate::site::Site;
use crate::what_if::{Quorum, quorum};

/// Version of the JSON format. It is incremented when a field is removed or changes its meaning.
const VERSION: u32 = 1;

/// The capacity of a site.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Copies of each cluster, in the order of clusters.
    pub clusters: Vec<Copies>,
    /// The mix that was asked for.
    pub mix: Option<Mix>,
    /// More hosts of each node set, in the order of clusters.
    pub node_sets: Vec<Growth>,
    /// The label of topology domains; null if there is none, or nobody asked for losses.
    pub lost_by: Option<String>,
    /// The loss of each topology domain, in natural order.
    pub losses: Vec<Loss>,
}

/// How many copies of a cluster fit besides all that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Copies {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Number of hosts of one copy.
    pub hosts: usize,
    /// Number of copies that fit together.
    pub fit: usize,
    /// What one more copy lacks.
    pub scarce: Vec<Scarce>,
}

/// How many sets of copies of clusters fit besides all that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mix {
    /// The copies of one set.
    pub shares: Vec<Share>,
    /// Number of hosts of one set.
    pub hosts: usize,
    /// Number of sets that fit together.
    pub fit: usize,
    /// What one more set lacks.
    pub scarce: Vec<Scarce>,
}

/// Copies of one cluster in a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Number of its copies.
    pub copies: usize,
}

/// How many more hosts a node set can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Growth {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// Number of hosts that it requests now.
    pub wanted: usize,
    /// Number of hosts that it can have in addition.
    pub fit: usize,
    /// What one more host lacks.
    pub scarce: Vec<Scarce>,
}

/// A node set without enough hosts, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scarce {
    /// The cluster, or that of the copy.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// The reason as a clause.
    pub why: String,
}

/// The effect of losing all hosts of a topology domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loss {
    /// The value of the label; null for the hosts without it.
    pub domain: Option<String>,
    /// Number of its hosts.
    pub hosts: usize,
    /// Number of those that clusters have.
    pub assigned: usize,
    /// Control planes that lose members, before these are replaced.
    pub control_planes: Vec<LostMembers>,
    /// Node sets that other hosts cannot complete; empty if the loss is absorbed.
    pub lacking: Vec<Lacks>,
}

/// A control plane that loses members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostMembers {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Its members.
    #[serde(flatten)]
    pub quorum: Quorum,
}

/// A node set that lacks hosts after a loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lacks {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// Number of hosts that cannot be found.
    pub hosts: usize,
    /// The reason as a clause.
    pub why: String,
}

impl Scarce {
    /// Returns the same for another cluster.
    fn of(&self, cluster: &ClusterKey) -> Self {
        Self {
            cluster: cluster.clone(),
            ..self.clone()
        }
    }
}

impl Capacity {
    /// Returns the JSON Schema.
    pub fn schema() -> Schema {
        schema_for!(Capacity)
    }
}

impl FromStr for Share {
    type Err = String;

    /// Reads `namespace/cluster=copies`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (cluster, copies) = text.rsplit_once('=').unwrap_or((text, "1"));
        let number: Option<u16> = copies.parse().ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| format!("`{copies}` is no number from 1 to 65535"))?;
        Ok(Share {
            cluster: cluster.parse().map_err(|why| format!("{why}"))?,
            copies: number.into(),
        })
    }
}

impl Loss {
    /// Returns whether the other hosts serve every cluster.
    pub fn is_absorbed(&self) -> bool {
        self.lacking.is_empty()
    }
}

/// What to compute. By default, everything about all clusters.
#[derive(Debug, Clone, Default)]
pub struct Scope<'q> {
    /// Clusters of the site to answer for. If there are any, or one of the following, only what they
    /// ask for is answered.
    pub clusters: BTreeSet<ClusterKey>,
    /// Clusters that the site does not have.
    pub others: Vec<Cluster>,
    /// A mix of clusters of the site and of others.
    pub mix: Vec<Share>,
    /// The label of topology domains; by default, the most used topology key.
    pub lost_by: Option<&'q str>,
}

/// A question about something that a site does not have.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswerable {
    /// The cluster is unknown, or its request has errors.
    #[error("the site has no cluster {0} without errors")]
    Cluster(ClusterKey),
    /// A copy of the cluster cannot exist.
    #[error("{0} has no copies: it requests no host, or hosts by their MAC address")]
    NotCopyable(ClusterKey),
    /// No host has the label of topology domains.
    #[error(transparent)]
    Label(#[from] NoSuchLabel),
}

/// Reads the clusters that the additions to a site's files request, with the errors that they cause.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub fn requested(
    files: &Files,
    generated: &Generated,
) -> Result<(Vec<Cluster>, Vec<Finding>), ReadError> {
    let (site, findings) = Site::read(files, generated.site.settings.clone())?;
    let requests = site.clusters.into_values();
    let clusters = requests
        .filter_map(|request| request.cluster)
        .filter(|cluster| !generated.site.clusters.contains_key(&cluster.key));
    let errors = findings
        .into_iter()
        .filter(|finding| finding.is_error() && !generated.findings.contains(finding));
    Ok((clusters.collect(), errors.collect()))
}

/// Computes the capacity of a planned site.
///
/// # Errors
///
/// Fails if the question is about something that the site does not have.
pub fn capacity(generated: &Generated, scope: &Scope<'_>) -> Result<Capacity, Unanswerable> {
    let site = &generated.site;
    let probe = Probe::new(site, &generated.plan);
    let all: BTreeMap<&ClusterKey, &Cluster> = site
        .clusters
        .values()
        .filter_map(|request| request.cluster.as_ref())
        .filter(|cluster| !generated.plan.frozen.contains(&cluster.key))
        .map(|cluster| (&cluster.key, cluster))
        .collect();
    let find = |key: &ClusterKey| {
        let other = scope.others.iter().find(|other| other.key == *key);
        let found = other.or_else(|| all.get(key).copied());
        found.ok_or_else(|| Unanswerable::Cluster(key.clone()))
    };
    let asks_for_all = scope.clusters.is_empty() && scope.others.is_empty() && scope.mix.is_empty();
    let of_site: Vec<&Cluster> = if asks_for_all {
        all.values().copied().collect()
    } else {
        let chosen = scope.clusters.iter();
        chosen.map(&find).collect::<Result<_, _>>()?
    };
    let mix: Vec<(&Cluster, usize)> = scope
        .mix
        .iter()
        .map(|share| Ok((find(&share.cluster)?, share.copies)))
        .collect::<Result<_, Unanswerable>>()?;
    if let Some((cluster, _)) = mix.iter().find(|(cluster, _)| !is_copyable(cluster)) {
        return Err(Unanswerable::NotCopyable(cluster.key.clone()));
    }
    let growths: Vec<(&Cluster, &Part, &NodeSet)> = of_site
        .iter()
        .flat_map(|cluster| {
            let node_sets = cluster.node_sets.iter();
            node_sets.map(move |(part, node_set)| (*cluster, part, node_set))
        })
        // A machine is one host.
        .filter(|(.., node_set)| node_set.machine.is_none())
        .collect();
    let copyable: Vec<&Cluster> = of_site
        .iter()
        .copied()
        .chain(&scope.others)
        .filter(|cluster| is_copyable(cluster))
        .collect();
    let overview = (asks_for_all || scope.lost_by.is_some())
        .then(|| Overview::new(generated, scope.lost_by))
        .transpose()?;
    Ok(Capacity {
        version: VERSION,
        clusters: copies(site, &probe, &copyable),
        mix: (!mix.is_empty()).then(|| {
            let (fit, scarce) = sets(site, &probe, &mix);
            Mix {
                shares: scope.mix.clone(),
                hosts: hosts_of(&mix),
                fit,
                scarce,
            }
        }),
        node_sets: growths
            .par_iter()
            .map(|(cluster, part, node_set)| growth(site, &probe, cluster, part, node_set))
            .collect(),
        losses: overview
            .as_ref()
            .map_or_else(Vec::new, |overview| losses(generated, &probe, overview)),
        lost_by: overview.and_then(|overview| overview.rack_by),
    })
}

/// Returns whether a copy of a cluster can exist.
fn is_copyable(cluster: &Cluster) -> bool {
    let names_hosts = |node_set: &NodeSet| {
        let machine = node_set.machine.as_ref();
        machine.is_some_and(|machine| machine.named.is_some())
    };
    hosts_of(&[(cluster, 1)]) > 0 && !cluster.node_sets.values().any(names_hosts)
}

/// Returns the number of hosts of one set.
fn hosts_of(mix: &[(&Cluster, usize)]) -> usize {
    let of = |cluster: &Cluster| {
        cluster
            .node_sets
            .values()
            .map(NodeSet::wanted)
            .sum::<usize>()
    };
    let hosts = mix.iter().map(|(cluster, copies)| copies * of(cluster));
    hosts.sum()
}

/// Returns how many copies of each cluster fit. Equal requests have equal answers.
fn copies(site: &Site, probe: &Probe<'_>, clusters: &[&Cluster]) -> Vec<Copies> {
    let mut alike: HashMap<_, Vec<&Cluster>> = HashMap::new();
    for cluster in clusters {
        let request = probe.request(cluster);
        alike.entry(request).or_default().push(cluster);
    }
    let alike: Vec<Vec<&Cluster>> = alike.into_values().collect();
    let answers = alike.par_iter().flat_map_iter(|alike| {
        let one: Vec<(&Cluster, usize)> = alike.iter().take(1).map(|it| (*it, 1)).collect();
        let (fit, scarce) = sets(site, probe, &one);
        let hosts = hosts_of(&one);
        alike.iter().map(move |cluster| {
            let key = &cluster.key;
            Copies {
                cluster: key.clone(),
                hosts,
                fit,
                scarce: scarce.iter().map(|scarce| scarce.of(key)).collect(),
            }
        })
    });
    let mut copies: Vec<Copies> = answers.collect();
    copies.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    copies
}

/// Returns how many sets of copies fit, and what one more lacks.
fn sets(site: &Site, probe: &Probe<'_>, mix: &[(&Cluster, usize)]) -> (usize, Vec<Scarce>) {
    let per_set: usize = mix.iter().map(|(_, copies)| copies).sum();
    let copies = |count: usize| copied(site, mix).take(count * per_set);
    let first = copies(1).map(|(copy, _)| copy);
    let most = first.flat_map(|copy| {
        let node_sets = copy.node_sets.iter();
        let fit = node_sets.filter_map(|(part, node_set)| {
            let hosts = probe.bound(&copy, part, node_set).hosts;
            hosts.checked_div(node_set.wanted())
        });
        fit.min()
    });
    let most = most.min().unwrap_or_default();
    let (copies, originals): (Vec<Cluster>, Vec<&ClusterKey>) = copies(most + 1).unzip();
    let question = |count: usize| Question {
        more: &copies[..count * per_set],
        ..Question::default()
    };
    let fit = largest(most, |count| probe.is_served(&question(count)));
    let original = |key: &ClusterKey| {
        let at = copies.iter().position(|copy| copy.key == *key)?;
        Some(originals[at])
    };
    let lacking = probe.lacking(&question(fit + 1));
    (fit, scarce(site, lacking, original))
}

/// Returns copies of clusters with their originals, set by set without end.
fn copied<'c>(
    site: &Site,
    mix: &[(&'c Cluster, usize)],
) -> impl Iterator<Item = (Cluster, &'c ClusterKey)> {
    let set = mix.iter();
    let set = set.flat_map(|(cluster, copies)| std::iter::repeat_n(*cluster, *copies));
    let names = (1..).filter_map(|number| format!("copy-{number}").parse().ok());
    let names = names.filter(|name| !site.clusters.keys().any(|key| key.name == *name));
    set.cycle().zip(names).map(|(original, name)| {
        let namespace = original.key.namespace.clone();
        let copy = Cluster {
            key: ClusterKey { namespace, name },
            ..original.clone()
        };
        (copy, &original.key)
    })
}

fn growth(
    site: &Site,
    probe: &Probe<'_>,
    cluster: &Cluster,
    part: &Part,
    node_set: &NodeSet,
) -> Growth {
    let grown = |more: usize| NodeSet {
        active: node_set.active + more,
        ..node_set.clone()
    };
    fn question<'q>(cluster: &'q Cluster, part: &'q Part, grown: &'q NodeSet) -> Question<'q> {
        Question {
            replaced: Some((&cluster.key, part, grown)),
            ..Question::default()
        }
    }
    let most = probe.bound(cluster, part, node_set).apart;
    let fit = largest(most, |more| {
        probe.is_served(&question(cluster, part, &grown(more)))
    });
    let lacking = probe.lacking(&question(cluster, part, &grown(fit + 1)));
    Growth {
        cluster: cluster.key.clone(),
        part: part.clone(),
        wanted: node_set.wanted(),
        fit,
        scarce: scarce(site, lacking, |_| None),
    }
}

/// Describes node sets that lack hosts, those of a copy as those of its original.
fn scarce<'a>(
    site: &Site,
    lacking: Vec<Lacking>,
    original: impl Fn(&ClusterKey) -> Option<&'a ClusterKey>,
) -> Vec<Scarce> {
    let mut scarce: Vec<Scarce> = Vec::new();
    for (cluster, part, shortage) in lacking {
        let cluster = original(&cluster).unwrap_or(&cluster).clone();
        let is_same = |other: &Scarce| other.cluster == cluster && other.part == part;
        if !scarce.iter().any(is_same) {
            let why = shortage.constraint(site.inventory.hosts.len());
            scarce.push(Scarce { cluster, part, why });
        }
    }
    scarce
}

fn losses(generated: &Generated, probe: &Probe<'_>, overview: &Overview) -> Vec<Loss> {
    let clusters: BTreeMap<&ClusterKey, &ClusterOverview> = overview
        .clusters
        .iter()
        .map(|cluster| (&cluster.key, cluster))
        .collect();
    let loss = |rack: &crate::overview::Rack| {
        let gone: BTreeSet<usize> = rack.hosts.iter().copied().collect();
        let mut lost: BTreeMap<&ClusterKey, Vec<&HostOverview>> = BTreeMap::new();
        for host in rack.hosts.iter().map(|index| &overview.hosts[*index]) {
            if let Some(cluster) = host.cluster() {
                lost.entry(cluster).or_default().push(host);
            }
        }
        let control_planes = lost.iter().filter_map(|(key, hosts)| {
            Some(LostMembers {
                cluster: (*key).clone(),
                quorum: quorum(clusters.get(key)?, hosts, generated)?,
            })
        });
        let question = Question {
            gone,
            ..Question::default()
        };
        let lacking = probe.lacking(&question).into_iter();
        let lacking = lacking.map(|(cluster, part, shortage)| Lacks {
            cluster,
            part,
            hosts: shortage.short_of(),
            why: shortage.constraint(overview.hosts.len() - rack.hosts.len()),
        });
        Loss {
            domain: rack.name.clone(),
            hosts: rack.hosts.len(),
            assigned: lost.values().map(Vec::len).sum(),
            control_planes: control_planes.collect(),
            lacking: lacking.collect(),
        }
    };
    if overview.rack_by.is_none() {
        return Vec::new();
    }
    overview.racks.par_iter().map(loss).collect()
}
