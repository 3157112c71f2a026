//! Consequences of a hypothesis for a site: `sipgen what-if`.
//!
//! The site is generated twice, as it is and under the hypothesis, by the same planner as for
//! `sipgen generate`. Nothing is estimated.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::difference::{self, Difference};
use crate::ask::overview::spare::by_requirements;
use crate::ask::overview::{ClusterOverview, HostOverview, Overview};
use crate::base::api::names::{ClusterKey, HostKey, Part, Role};
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::generate::{Error, GeneratedSite, Options, Stage, generate};
use crate::input::load::Files;
use crate::site::Site;
use crate::site::hypothesis::{Hypothesis, UnknownSubject, check_requests, chosen};

/// The consequences of a hypothesis.
#[derive(Debug)]
pub struct Consequences {
    /// What `sipgen generate` would change.
    pub difference: Difference,
    /// Clusters that lose hosts or cannot be served.
    pub clusters: Vec<ClusterImpact>,
    /// Spare hosts by selector. Selectors whose numbers stay the same are included.
    pub spare: Vec<SpareChange>,
    /// Whether every cluster can be served.
    pub is_served: bool,
}

/// The effect on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Impact")]
pub struct ClusterImpact {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Its hosts that are gone.
    pub lost: Vec<HostKey>,
    /// Its control plane, if that loses hosts.
    pub control_plane: Option<Quorum>,
    /// Its node sets that lose hosts or lack some afterwards.
    pub node_sets: Vec<NodeSetImpact>,
    /// Errors that prevent its generation.
    pub errors: Vec<String>,
}

/// A control plane before its lost hosts are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Quorum {
    /// Number of its members.
    pub members: usize,
    /// Number of members that are left. Every lost host counts against the quorum, except a standby
    /// host that a snapshot shows unused.
    pub left: usize,
    /// Number of members that must be left.
    pub needed: usize,
}

/// A node set after its lost hosts are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetImpact {
    /// Its part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// Number of requested hosts.
    pub wanted: usize,
    /// Number of its hosts that are gone.
    pub lost: usize,
    /// Number of hosts that it then has. If the cluster cannot be served, those that it keeps.
    pub then: usize,
    /// Number of hosts that cannot be found for it.
    pub lacks: usize,
    /// True if it is not proven that it lacks no more than these.
    pub may_lack_more: bool,
}

/// Numbers of spare hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct SpareChange {
    /// The selector; empty if it matches every host.
    pub selector: String,
    /// The requirements on the hardware, in words; empty if there are none.
    pub hardware: String,
    /// The namespace of the hosts, if Cluster API must find them there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Interfaces on which the hosts have an address.
    pub interfaces: Vec<String>,
    /// Number of spare hosts now.
    pub before: usize,
    /// Number of spare hosts under the hypothesis.
    pub after: usize,
}

impl Quorum {
    /// Returns whether enough members are left.
    pub fn is_kept(&self) -> bool {
        self.left >= self.needed
    }

    /// Returns the number of further members that may fail.
    pub fn tolerates(&self) -> usize {
        self.left.saturating_sub(self.needed)
    }
}

/// Computes the consequences of a hypothesis.
///
/// `after` are the files that the hypothesis is about, with its requests; `before` those to compare with.
///
/// # Errors
///
/// See [`generate`].
pub fn what_if(
    before: &Files,
    after: Files,
    hypothesis: &Hypothesis,
    progress: &dyn Fn(Stage),
) -> Result<Consequences, Error> {
    let options = Options { keep_going: true, allow_empty: true, ..Options::default() };
    let earlier = generate(before, &options, progress)?;
    let gone = chosen(&hypothesis.gone, &earlier.site)?;
    check_names(&after, &earlier.site)?;
    let requests = after.clone();
    let mut additions = after.additions().to_vec();
    let bought = hypothesis.bought.as_ref();
    additions.extend(bought.map(|bought| bought.manifests(&earlier.site)));
    // The hypothesis is about what `sipgen generate` would write, even if that is not written yet.
    let written = earlier.output(before)?;
    let after = after
        .with_additions(additions)
        .with_directory(&earlier.site.settings.output, written.clone());
    let options = Options { hypothesis: hypothesis.clone(), ..options };
    let later = generate(&after, &options, progress)?;

    if later.findings.iter().all(|it| !it.is_error() || earlier.findings.contains(it)) {
        check_requests(&requests, &later.site)?;
    }

    let [now, then] =
        [&earlier, &later].map(|run| Overview::from_generated(run, run.site.rack_label.clone()));
    let clusters = impacts(&now, &then, &earlier, &gone);
    let is_served = !later.findings.iter().any(Finding::is_error)
        && clusters.iter().flat_map(|impact| &impact.node_sets).all(|set| set.then >= set.wanted);
    let spare = spare([(&earlier, &now), (&later, &then)]);
    let known = earlier.findings.clone();
    let mut difference = difference::supposed(written, earlier, &after, later)?;
    // Warnings about lost hosts only repeat the hypothesis.
    difference.findings.retain(|finding| {
        let is_repeated = finding.code == Code::HostGone;
        finding.is_error() || !is_repeated && !known.contains(finding)
    });
    Ok(Consequences { clusters, spare, is_served, difference })
}

/// Requires that additional files request no cluster of the site.
///
/// # Errors
///
/// Returns such a cluster. Fails if a file cannot be read.
pub(crate) fn check_names(files: &Files, site: &Site) -> Result<(), Error> {
    if files.additions().is_empty() {
        return Ok(());
    }
    let alone = files.clone().with_streams(files.additions().to_vec()).with_additions(Vec::new());
    let (alone, _) = Site::read(&alone, site.settings.clone())?;
    let mut known = alone.clusters.into_keys().filter(|key| site.clusters.contains_key(key));
    Ok(known.next().map_or(Ok(()), |key| Err(UnknownSubject::Requested(key)))?)
}

fn impacts(
    now: &Overview,
    then: &Overview,
    earlier: &GeneratedSite,
    gone: &BTreeSet<HostKey>,
) -> Vec<ClusterImpact> {
    let lost = by_cluster(now.hosts.iter().filter(|host| gone.contains(&host.key)));
    let before: BTreeMap<&ClusterKey, &ClusterOverview> =
        now.clusters.iter().map(|cluster| (&cluster.key, cluster)).collect();
    let impact = |cluster: &ClusterOverview| {
        let lost = lost.get(&cluster.key).map_or(&[][..], Vec::as_slice);
        let part_hosts = |part: &Part| {
            let parts = lost.iter().filter_map(|host| host.assigned.as_ref());
            parts.filter(|assigned| assigned.part == *part).count()
        };
        let node_sets = cluster.node_sets.iter().filter_map(|set| {
            let lost = part_hosts(&set.part);
            (lost > 0 || set.missing() > 0 && !cluster.gone).then(|| NodeSetImpact {
                part: set.part.clone(),
                wanted: set.have + set.missing(),
                lost,
                then: set.have,
                lacks: set.short_of,
                may_lack_more: set.may_lack_more,
            })
        });
        let control_plane =
            before.get(&cluster.key).and_then(|before| quorum(before, lost, earlier));
        ClusterImpact {
            cluster: cluster.key.clone(),
            lost: lost.iter().map(|host| host.key.clone()).collect(),
            control_plane,
            node_sets: node_sets.collect(),
            errors: cluster.errors.clone(),
        }
    };
    let clusters = then.clusters.iter().map(impact);
    clusters
        .filter(|impact| {
            !(impact.lost.is_empty() && impact.node_sets.is_empty() && impact.errors.is_empty())
        })
        .collect()
}

/// Groups hosts by the clusters that have them.
pub(crate) fn by_cluster<'o>(
    hosts: impl Iterator<Item = &'o HostOverview>,
) -> BTreeMap<&'o ClusterKey, Vec<&'o HostOverview>> {
    grouped(hosts.filter_map(|host| Some((host.cluster()?, host))))
}

/// Returns the control plane of a cluster without its lost hosts; `None` if it loses none.
pub(crate) fn quorum(
    cluster: &ClusterOverview,
    lost: &[&HostOverview],
    earlier: &GeneratedSite,
) -> Option<Quorum> {
    let control_plane = cluster.node_sets.iter().filter(|set| set.part.role == Role::ControlPlane);
    let (mut members, mut standby) = (0, 0);
    for set in control_plane {
        let active = set.wanted.map_or(set.have, |wanted| wanted.active.min(set.have));
        members += active;
        standby += set.have - active;
    }
    let lost = lost.iter().filter(|host| {
        let assigned = host.assigned.as_ref();
        assigned.is_some_and(|assigned| assigned.part.role == Role::ControlPlane)
    });
    // Any host may stand by, but one that is in use does not.
    let is_unused = |host: &&&HostOverview| {
        let known = earlier.site.inventory.host(&host.key);
        known.is_some_and(|host| host.is_use_known() && host.live.usage.is_none())
    };
    let unused = lost.clone().filter(is_unused).count();
    let lost = (lost.count() - unused.min(standby)).min(members);
    (lost > 0).then_some(Quorum { members, left: members - lost, needed: members / 2 + 1 })
}

/// Counts spare hosts for the requests before and after.
fn spare(runs: [(&GeneratedSite, &Overview); 2]) -> Vec<SpareChange> {
    let clusters = || runs.into_iter().flat_map(|(run, _)| run.site.valid_clusters());
    let [before, after] =
        runs.map(|(run, overview)| by_requirements(clusters(), &run.site, &overview.hosts));
    let pairs = before.into_iter().zip(after).filter(|(before, _)| before.asked.is_none());
    let changes = pairs.map(|(before, after)| SpareChange {
        selector: before.selector,
        hardware: before.hardware,
        namespace: before.namespace.as_ref().map(ToString::to_string),
        interfaces: before.interfaces,
        before: before.free,
        after: after.free,
    });
    changes.collect::<BTreeSet<_>>().into_iter().collect()
}
