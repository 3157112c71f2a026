//! Capacity of a site: `sipgen capacity`.
//!
//! - How many more hosts each node set can have, and how many copies of each cluster, or of a mix
//!   of clusters, fit.
//! - What the loss of each topology domain does: which clusters the other hosts cannot serve.
//! - What cannot be served, and a purchase with which it can.
//!
//! The planner serves each number and refuses one more, or the answer says that it is not proven.
//!
//! * `copies`: further clusters like those of the site.
//! * `growths`: larger node sets.
//! * `losses`: topology domains that are lost.

mod copies;
mod growths;
mod losses;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::overview::Overview;
use crate::ask::overview::spare::PlacedNodeSet;
use crate::ask::what_if::{Quorum, check_names};
use crate::base::api::names::{ClusterKey, Part};
use crate::base::finding::Finding;
use crate::generate::{Error, GeneratedSite};
use crate::input::load::Files;
use crate::plan::ask::{NodeSetLack, PlanHypothesis, PlannedSite};
use crate::plan::purchase::{Purchase, purchase};
use crate::site::Site;
use crate::site::hypothesis::{UnknownSubject, check_requests, similar_cluster, with_suggestion};
use crate::site::request::Cluster;

use copies::{copies, is_copyable, sets, wanted};
use growths::growths;
use losses::losses;

/// Version of the JSON format. It is incremented when a field is removed or changes its meaning.
const VERSION: u32 = 3;

/// The capacity of a site.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Copies of each cluster, in the order of clusters.
    pub clusters: Vec<ClusterCopies>,
    /// The mix that was asked for.
    pub mix: Option<CopyMix>,
    /// More hosts of each node set, in the order of clusters.
    pub node_sets: Vec<Growth>,
    /// Node sets that cannot be completed, if the other clusters and the first set of the mix are
    /// served as well.
    pub lacking: Vec<LackingNodeSet>,
    /// A purchase that completes them; null if nothing is lacking.
    pub purchase: Option<Purchase>,
    /// The label of topology domains; null if there is none, or nobody asked for losses.
    pub by: Option<String>,
    /// The loss of each topology domain, in natural order.
    pub losses: Vec<Loss>,
}

/// How many copies of a cluster fit besides all that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Copies")]
pub struct ClusterCopies {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Number of hosts of one copy.
    pub hosts: usize,
    /// Number of copies that fit together.
    pub fit: usize,
    /// True if one more is proven not to fit.
    pub is_proven: bool,
    /// Node sets that one more copy cannot complete.
    pub scarce: Vec<ScarceNodeSet>,
}

/// How many sets of copies of clusters fit besides all that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Mix")]
pub struct CopyMix {
    /// The copies of one set.
    pub shares: Vec<CopyShare>,
    /// Number of hosts of one set.
    pub hosts: usize,
    /// Number of sets that fit together.
    pub fit: usize,
    /// True if one more is proven not to fit.
    pub is_proven: bool,
    /// Node sets that one more set cannot complete.
    pub scarce: Vec<ScarceNodeSet>,
}

/// Copies of one cluster in a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Share")]
pub struct CopyShare {
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
    /// Number of hosts that it can have in addition; 0 if its cluster cannot be served today.
    pub fit: usize,
    /// True if one more is proven not to fit.
    pub is_proven: bool,
    /// True if its cluster cannot be served today.
    pub is_short: bool,
    /// Node sets that cannot be completed with one more host.
    pub scarce: Vec<ScarceNodeSet>,
}

/// A node set without enough hosts, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Scarce")]
pub struct ScarceNodeSet {
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
    /// Node sets that lack more hosts than today; empty if the loss is absorbed.
    pub lacking: Vec<LackingNodeSet>,
}

/// A control plane that loses members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostMembers {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Its members.
    #[serde(flatten)]
    pub quorum: Quorum,
}

/// A node set that lacks hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Lacks")]
pub struct LackingNodeSet {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// Number of hosts that cannot be found.
    pub hosts: usize,
    /// True if it is not proven that it lacks no more than these.
    pub may_lack_more: bool,
    /// Number of those that cannot be found today either.
    pub today: usize,
    /// The reason as a clause.
    pub why: String,
}

impl LackingNodeSet {
    /// Describes a node set that lacks hosts. The site has this number of hosts.
    pub(crate) fn new(lacking: NodeSetLack, hosts: usize) -> Self {
        Self {
            hosts: lacking.shortage.short_of(),
            may_lack_more: lacking.shortage.may_lack_more,
            today: lacking.today,
            why: lacking.shortage.constraint(hosts),
            cluster: lacking.cluster,
            part: lacking.part,
        }
    }

    /// Returns the number of hosts that it lacks besides those of today.
    pub fn more(&self) -> usize {
        self.hosts.saturating_sub(self.today)
    }
}

impl Capacity {
    /// Returns the loss that does most harm, if any does; of equal ones, the first.
    pub fn worst_loss(&self) -> Option<&Loss> {
        let harmful = self.losses.iter().filter(|loss| loss.is_harmful());
        harmful.rev().max_by_key(|loss| loss.harm())
    }
}

impl FromStr for CopyShare {
    type Err = String;

    /// Reads `namespace/cluster=copies`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (cluster, copies) = text.rsplit_once('=').unwrap_or((text, "1"));
        let number: Option<u16> = copies.parse().ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| format!("`{copies}` is no number from 1 to 65535"))?;
        Ok(CopyShare {
            cluster: cluster.parse().map_err(|why| format!("{why}"))?,
            copies: number.into(),
        })
    }
}

impl Loss {
    /// Returns the numbers of lost quorums, of lacking hosts and of assigned ones.
    pub fn harm(&self) -> (usize, usize, usize) {
        let quorums = self.control_planes.iter().filter(|lost| !lost.quorum.is_kept()).count();
        let lacking = self.lacking.iter().map(LackingNodeSet::more).sum();
        (quorums, lacking, self.assigned)
    }

    /// Returns whether a control plane loses its quorum, or a cluster cannot be served.
    pub fn is_harmful(&self) -> bool {
        let (quorums, ..) = self.harm();
        quorums > 0 || !self.lacking.is_empty()
    }
}

/// Questions to answer. By default, everything about all clusters.
#[derive(Debug, Clone, Default)]
pub struct CapacityScope<'q> {
    /// Clusters of the site to answer for. If there are any, others, or a mix, only what they ask for
    /// is answered.
    pub clusters: BTreeSet<ClusterKey>,
    /// Clusters that the site does not have.
    pub others: Vec<Cluster>,
    /// A mix of clusters of the site and of others.
    pub mix: Vec<CopyShare>,
    /// Answers only what is short, and what each loss does.
    pub summary_only: bool,
    /// The racks whose losses are shown.
    pub racks: Option<&'q Overview>,
}

/// Reads the clusters that the additions to a site's files request, with the errors that they cause.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub fn requested(
    files: &Files,
    generated: &GeneratedSite,
) -> Result<(Vec<Cluster>, Vec<Finding>), Error> {
    check_names(files, &generated.site)?;
    let (site, findings) = Site::read(files, generated.site.settings.clone())?;
    let errors: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| finding.is_error() && !generated.findings.contains(finding))
        .collect();
    if errors.is_empty() {
        check_requests(files, &site)?;
    }
    let requests = site.clusters.into_values();
    let clusters = requests
        .filter_map(|request| request.cluster)
        .filter(|cluster| !generated.site.clusters.contains_key(&cluster.key));
    Ok((clusters.collect(), errors))
}

/// Computes the capacity of a planned site.
///
/// # Errors
///
/// Fails if the question is about something that the site does not have.
pub fn capacity(
    generated: &GeneratedSite,
    scope: &CapacityScope<'_>,
) -> Result<Capacity, UnknownSubject> {
    let site = &generated.site;
    let all: BTreeMap<&ClusterKey, &Cluster> = site
        .valid_clusters()
        .filter(|cluster| !generated.plan.frozen.contains(&cluster.key))
        .map(|cluster| (&cluster.key, cluster))
        .collect();
    let find = |key: &ClusterKey| {
        let other = scope.others.iter().find(|other| other.key == *key);
        let found = other.or_else(|| all.get(key).copied());
        found.ok_or_else(|| {
            let meant = similar_cluster(key.name.as_str(), &generated.site);
            // The cluster itself is there if it has errors.
            let meant = meant.filter(|meant| *meant != key.to_string());
            UnknownSubject::ValidCluster(with_suggestion(key, meant))
        })
    };
    let asks_for_some =
        !(scope.clusters.is_empty() && scope.others.is_empty() && scope.mix.is_empty());
    let asks_for_all = !asks_for_some && !scope.summary_only;
    let site_clusters: Vec<&Cluster> = if asks_for_all {
        all.values().copied().collect()
    } else {
        let chosen = scope.clusters.iter();
        chosen.map(&find).collect::<Result<_, _>>()?
    };
    let mix: Vec<(&Cluster, usize)> = scope
        .mix
        .iter()
        .map(|share| Ok((find(&share.cluster)?, share.copies)))
        .collect::<Result<_, UnknownSubject>>()?;
    if let Some((cluster, _)) = mix.iter().find(|(cluster, _)| !is_copyable(cluster)) {
        return Err(UnknownSubject::Copies(cluster.key.clone()));
    }
    // A machine is one host.
    let growing = site_clusters.iter().flat_map(|cluster| cluster.parts());
    let growing: Vec<PlacedNodeSet<'_>> =
        growing.filter(|(.., node_set)| node_set.machine.is_none()).collect();
    let copyable: Vec<&Cluster> = site_clusters
        .iter()
        .copied()
        .chain(&scope.others)
        .filter(|cluster| is_copyable(cluster))
        .collect();
    let wanted = wanted(site, &scope.others, &mix);
    let (more, originals): (Vec<Cluster>, Vec<&ClusterKey>) = wanted.into_iter().unzip();
    let all_more: Vec<Cluster> = scope.others.iter().chain(&more).cloned().collect();
    let planned = PlannedSite::new(site, &generated.plan, &all_more);
    let wanted = PlanHypothesis { more: &more, ..PlanHypothesis::default() };
    let mut lacking = planned.lacking(&wanted);
    name_originals(lacking.iter_mut().map(|it| &mut it.cluster), &more, &originals);
    let mut purchase =
        if scope.summary_only { None } else { purchase(&planned, &wanted, |_| false) };
    for kind in purchase.iter_mut().flat_map(|it| &mut it.kinds) {
        name_originals(kind.node_sets.iter_mut().map(|it| &mut it.cluster), &more, &originals);
        kind.node_sets.dedup();
    }
    let hosts = site.inventory.hosts.len();
    Ok(Capacity {
        version: VERSION,
        lacking: lacking.into_iter().map(|it| LackingNodeSet::new(it, hosts)).collect(),
        purchase,
        clusters: copies(&planned, &copyable),
        mix: (!mix.is_empty()).then(|| sets(&planned, &mix)),
        node_sets: growths(&planned, &growing),
        losses: scope.racks.map_or_else(Vec::new, |racks| losses(generated, &planned, racks)),
        by: scope.racks.and_then(|racks| racks.by.clone()),
    })
}

/// Replaces the names of copies by those of their originals.
fn name_originals<'k>(
    names: impl Iterator<Item = &'k mut ClusterKey>,
    copies: &[Cluster],
    originals: &[&ClusterKey],
) {
    for name in names {
        if let Some(at) = copies.iter().position(|copy| copy.key == *name) {
            name.clone_from(originals[at]);
        }
    }
}

/// Describes the different node sets that lack hosts. The site has this number of hosts.
fn scarce(lacking: Vec<NodeSetLack>, hosts: usize) -> Vec<ScarceNodeSet> {
    let mut scarce: Vec<ScarceNodeSet> = Vec::new();
    for NodeSetLack { cluster, part, shortage, .. } in lacking {
        let is_same = |other: &ScarceNodeSet| other.cluster == cluster && other.part == part;
        if !scarce.iter().any(is_same) {
            let why = shortage.constraint(hosts);
            scarce.push(ScarceNodeSet { cluster, part, why });
        }
    }
    scarce
}
