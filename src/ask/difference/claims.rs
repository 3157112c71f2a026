//! Resources that two open changes claim: `sipgen diff --with`.
//!
//! Two branches may each assign the same free host without a conflict in git. The one that is
//! merged second is planned again on top of the other, so its outcome is exact.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::overview::Overview;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::Finding;
use crate::base::layout;
use crate::base::tree::Tree;
use crate::generate::{Error, GeneratedSite, Options, Stage, generate};
use crate::input::load::{Files, MergeResult};

/// Another open change, compared with this one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenChange {
    /// Its branch, as given on the command line.
    pub branch: String,
    /// Resources that both changes claim.
    pub claims: Vec<SharedClaim>,
    /// Files that git cannot merge.
    pub conflicts: Vec<MergeConflict>,
    /// Effect on this change if the other one is merged first; null if inputs conflict.
    pub if_merged_first: Option<MergeOutcome>,
    /// Effect on the other change if this one is merged first; null if inputs conflict.
    pub if_merged_second: Option<MergeOutcome>,
}

/// A resource that both changes claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedClaim {
    /// Kind of the resource.
    pub kind: ClaimKind,
    /// Its name: a port number, or a namespace and a name.
    pub name: String,
    /// The cluster that claims it in this change.
    pub here: ClusterKey,
    /// The cluster that claims it in the other change.
    pub there: ClusterKey,
}

/// Kind of a resource that only one cluster can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ClaimKind {
    /// A BareMetalHost.
    Host,
    /// The name of a cluster.
    Cluster,
    /// A NodePort of the base cluster, which all its nodes open.
    NodePort,
    /// The name of a service's objects.
    Service,
}

/// A file that git cannot merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Conflict")]
pub struct MergeConflict {
    /// Its path.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// Whether sipgen generates it.
    pub generated: bool,
}

/// The effect on a change that is merged second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Outcome")]
pub struct MergeOutcome {
    /// Clusters that get other hosts.
    pub clusters: Vec<OtherHosts>,
    /// Errors that neither change has alone, such as shortages.
    pub errors: Vec<String>,
}

/// Hosts that a cluster gets instead of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherHosts {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Hosts that it gets only if its change is merged first.
    pub without: Vec<HostKey>,
    /// Hosts that it gets instead.
    pub instead: Vec<HostKey>,
}

impl OpenChange {
    /// Returns whether both changes can be merged without an effect on each other.
    pub fn is_independent(&self) -> bool {
        let is_none = |outcome: &Option<MergeOutcome>| {
            outcome.as_ref().is_some_and(|outcome| *outcome == MergeOutcome::default())
        };
        self.claims.is_empty()
            && self.conflicts.is_empty()
            && is_none(&self.if_merged_first)
            && is_none(&self.if_merged_second)
    }
}

/// A generated change, and its claims.
struct MergeSide {
    generated: GeneratedSite,
    output: Tree,
    claims: Claims,
}

type Claims = BTreeMap<(ClaimKind, String), ClusterKey>;

impl MergeSide {
    fn read(files: &Files, progress: &dyn Fn(Stage)) -> Result<Self, Error> {
        let generated = generate(files, &lenient(), progress)?;
        Ok(Self { output: generated.output(files)?, claims: claims(&generated), generated })
    }

    fn files_of<'a>(&'a self, cluster: &'a ClusterKey) -> impl Iterator<Item = (&'a str, &'a str)> {
        let cluster_files = self
            .output
            .iter()
            .filter(move |(path, _)| layout::cluster_of(path).as_ref() == Some(cluster));
        cluster_files.map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// Errors of single clusters must not hide the claims of the others.
fn lenient() -> Options {
    Options::default().keep_going(true).allow_empty(true)
}

/// Compares the change `head` with another open change, the branch `other`.
///
/// `merged` are the inputs of both.
///
/// # Errors
///
/// See [`generate`].
pub fn open_change(
    branch: &str,
    base: &Files,
    head: &Files,
    other: &Files,
    merged: MergeResult<Files>,
    progress: &dyn Fn(Stage),
) -> Result<OpenChange, Error> {
    let [base, here, there] = [
        MergeSide::read(base, progress)?,
        MergeSide::read(head, progress)?,
        MergeSide::read(other, progress)?,
    ];
    let outputs = [&here, &there].map(|side| &side.generated.site.settings.output);
    let conflict = |path: Utf8PathBuf| MergeConflict {
        generated: outputs.iter().any(|output| path.starts_with(output)),
        path,
    };
    let MergeResult { files, conflicts } = merged;
    let conflicts: Vec<MergeConflict> = conflicts.into_iter().map(conflict).collect();
    let can_merge = conflicts.iter().all(|conflict| conflict.generated);
    let outcome = |first: &MergeSide, second: &MergeSide| {
        can_merge.then(|| outcome(&files, &base, first, second, progress)).transpose()
    };
    Ok(OpenChange {
        branch: branch.to_owned(),
        claims: shared_claims(&base, &here, &there),
        if_merged_first: outcome(&there, &here)?,
        if_merged_second: outcome(&here, &there)?,
        conflicts,
    })
}

/// Returns the resources of a plan, each with the cluster that has it.
fn claims(generated: &GeneratedSite) -> Claims {
    let mut claims = Claims::new();
    for (host, cluster) in hosts(generated) {
        claims.insert((ClaimKind::Host, host.to_string()), cluster);
    }
    for (key, request) in &generated.site.clusters {
        claims.insert((ClaimKind::Cluster, key.to_string()), key.clone());
        for service in request.cluster.iter().flat_map(|cluster| &cluster.services) {
            let name = format!("{}/{}", key.namespace, service.object_name(key));
            claims.insert((ClaimKind::Service, name), key.clone());
            for port in &service.node_ports {
                let port = port.number().to_string();
                claims.insert((ClaimKind::NodePort, port), key.clone());
            }
        }
    }
    claims
}

fn hosts(generated: &GeneratedSite) -> Vec<(HostKey, ClusterKey)> {
    let hosts = Overview::from_generated(generated).hosts.into_iter();
    let assigned = hosts.filter_map(|host| Some((host.key, host.assigned?.cluster)));
    assigned.collect()
}

/// Returns what both sides claim and the base does not have.
fn shared_claims(base: &MergeSide, here: &MergeSide, there: &MergeSide) -> Vec<SharedClaim> {
    let is_new =
        |key: &(ClaimKind, String), cluster: &ClusterKey| base.claims.get(key) != Some(cluster);
    let both = here.claims.iter().filter_map(|(key, one)| {
        let other = there.claims.get(key)?;
        // A commit may be in both branches.
        let is_shared = match key.0 {
            ClaimKind::Cluster => here.files_of(one).ne(there.files_of(one)),
            _ => one != other,
        };
        (is_shared && is_new(key, one) && is_new(key, other)).then(|| SharedClaim {
            kind: key.0,
            name: key.1.clone(),
            here: one.clone(),
            there: other.clone(),
        })
    });
    both.collect()
}

/// Plans the change `second` on top of the output of `first`.
fn outcome(
    merged: &Files,
    base: &MergeSide,
    first: &MergeSide,
    second: &MergeSide,
    progress: &dyn Fn(Stage),
) -> Result<MergeOutcome, Error> {
    let output = &first.generated.site.settings.output;
    let files = merged.clone().with_directory(output, first.output.clone());
    let both = generate(&files, &lenient(), progress)?;
    let alone = [first, second];
    let is_known = |error: &Finding| {
        let mut known = alone.iter().flat_map(|side| &side.generated.findings);
        // The numbers in the message of a shortage depend on the other change.
        known.any(|known| known.code == error.code && known.clusters == error.clusters)
    };
    let errors = both
        .findings
        .iter()
        .filter(|finding| finding.is_error() && !is_known(finding))
        .map(|finding| finding.message.clone());
    let by_cluster = |generated: &GeneratedSite| {
        let mut all: BTreeMap<ClusterKey, BTreeSet<HostKey>> = BTreeMap::new();
        for (host, cluster) in hosts(generated) {
            all.entry(cluster).or_default().insert(host);
        }
        all
    };
    let (before, alone, then) =
        (by_cluster(&base.generated), by_cluster(&second.generated), by_cluster(&both));
    let none = BTreeSet::new();
    let changed = alone.iter().filter(|(cluster, hosts)| before.get(*cluster) != Some(hosts));
    let other_hosts = changed.filter_map(|(cluster, hosts)| {
        let then = then.get(cluster).unwrap_or(&none);
        (!hosts.is_subset(then)).then(|| OtherHosts {
            cluster: cluster.clone(),
            without: hosts.difference(then).cloned().collect(),
            instead: then.difference(hosts).cloned().collect(),
        })
    });
    Ok(MergeOutcome { clusters: other_hosts.collect(), errors: errors.collect() })
}
