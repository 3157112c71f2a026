//! Labels and annotations of a BareMetalHost that record its assignment.
//!
//! * `scheme`: the labels that the settings choose; by default SIP's, the constants here.
//! * `template`: the texts with variables that a scheme consists of.

mod scheme;
mod template;

use super::names::{ClusterKey, LabelMap, ObjectName, Part, Role};
pub use scheme::Scheme;

/// Label: the namespace of the host's cluster.
pub const CLUSTER_NAMESPACE: &str = "sip.airshipit.org/cluster-namespace";
/// Label: the name of the host's cluster.
pub const CLUSTER_NAME: &str = "sip.airshipit.org/cluster-name";
/// Label: the host's [`Role`] in the cluster.
pub const NODE_TYPE: &str = "sip.airshipit.org/node-type";

/// Label: the [`NodeName`](super::names::NodeName) of the host's machine in a Provisioning. The
/// other three labels are the same as for a SIPCluster.
pub const NODE: &str = "bpa.akraino.org/node";

/// Label: the name of the host's MachineDeployment, if Cluster API's objects request the hosts. The
/// other three labels are the same as for a SIPCluster.
pub const NODE_SET: &str = "sip.airshipit.org/node-set";

/// All labels of an assignment.
pub const LABELS: [&str; 5] = [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE, NODE, NODE_SET];

/// Labels of the SIP operator's releases of 2020 and early 2021, apart from [`NODE_TYPE`].
/// `note-type` was a misspelling in some of them.
pub const LEGACY_LABELS: [&str; 5] =
    [SIP_SCHEDULED, SCHEDULED, WORKLOAD_CLUSTER, CLUSTER, NOTE_TYPE];
const SIP_SCHEDULED: &str = "sip.airshipit.org/sip-scheduled";
const SCHEDULED: &str = "sip.airshipit.org/scheduled";
const WORKLOAD_CLUSTER: &str = "sip.airshipit.org/workload-cluster";
const CLUSTER: &str = "sip.airshipit.org/cluster";
const NOTE_TYPE: &str = "sip.airshipit.org/note-type";

/// Annotation on a SIPCluster: its name in the labels of hosts from 2020 and early 2021.
/// SIPClusters had a field for that name then.
pub const FORMER_NAME: &str = "sip.airshipit.org/former-name";

/// Annotation on an observed host that is being released: a [`ReleaseProgress`]. The agent sets it with
/// the change that removes the labels, so a later snapshot that has it proves that the labels are
/// gone.
pub const GIVEN_BACK: &str = "sip.airshipit.org/given-back";
/// Annotation on an observed host that is being released: its former cluster, as `namespace/name`.
pub const GIVEN_BACK_BY: &str = "sip.airshipit.org/given-back-by";

/// The progress of releasing an observed host; the value of [`GIVEN_BACK`], such as `pending-1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[display("{}-{round}", if *labels_seen { LABELS_SEEN } else { PENDING })]
pub struct ReleaseProgress {
    /// Set if a snapshot has shown the host with its labels. Before that, a snapshot without them
    /// proves nothing, because it may be older than the labels.
    pub labels_seen: bool,
    /// The number of this release, starting at 1 and derived from the snapshot. It distinguishes
    /// this release from an earlier one, whose annotation may still be on the host.
    pub round: u32,
}

const LABELS_SEEN: &str = "labelled";
const PENDING: &str = "pending";

impl ReleaseProgress {
    /// Parses the annotation's value. An unknown value counts as pending, which is the safe state:
    /// the host is not free yet.
    pub fn from_value(text: &str) -> Self {
        let (progress, round) = text.split_once('-').unwrap_or((text, ""));
        Self {
            labels_seen: progress == LABELS_SEEN,
            // Rounds start at 1, so an invalid number matches none.
            round: round.parse().unwrap_or_default(),
        }
    }
}

/// Annotation on a SIPCluster: its priority, an integer with default 0. Clusters with a higher
/// priority choose hosts first.
pub const PRIORITY: &str = "sip.airshipit.org/priority";

/// The cluster that a set of labels assigns the host to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The labels of a cluster, with the host's part in it.
    Cluster(ClusterKey, Part),
    /// Labels that the settings chose, without the cluster's namespace.
    Named(NamedClaim),
    /// Labels of an older generation: a cluster name without namespace, and a role.
    Older(LegacyClaim),
    /// At least one assignment label, but not all three in valid form: the host is assigned to an
    /// unknown cluster.
    Unclear(String),
}

impl Claim {
    /// Returns the labels, as text, unless they name a cluster.
    pub fn unclear(&self) -> Option<&str> {
        match self {
            Claim::Cluster(..) => None,
            Claim::Named(NamedClaim { labels, .. })
            | Claim::Older(LegacyClaim { labels, .. })
            | Claim::Unclear(labels) => Some(labels),
        }
    }
}

/// An assignment in labels that name no namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedClaim {
    /// The cluster's name.
    pub name: ObjectName,
    /// The host's part in it.
    pub part: Part,
    /// The labels, as text.
    pub labels: String,
}

/// An assignment in labels of an older generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyClaim {
    /// The label with the cluster's name.
    pub label: &'static str,
    /// The cluster's namespace. Labels had it for some weeks of March 2021 (`namespace_name`).
    pub namespace: Option<String>,
    /// The cluster's name.
    pub name: String,
    /// The role; `None` if no label has a known word for it.
    pub role: Option<Role>,
    /// Two contradicting labels, as text, if any.
    pub contradiction: Option<String>,
    /// All assignment labels, as text.
    pub labels: String,
}

/// Parses a host's assignment from its labels; returns `None` if no label claims the host.
///
/// An empty value claims nothing: ViNO copies a label that its node lacks as `""`.
pub fn claim(labels: &LabelMap) -> Option<Claim> {
    let value = |key: &str| labels.get(key).map(String::as_str).filter(|v| !v.is_empty());
    // The operator of 2020 sets `sip-scheduled: "false"` on free hosts.
    let says_free =
        |key: &str, value: &str| matches!(key, SIP_SCHEDULED | SCHEDULED) && value == "false";
    let claims = |key: &str| value(key).is_some_and(|value| !says_free(key, value));
    let claiming = || {
        let all = LABELS.iter().chain(&LEGACY_LABELS);
        all.filter(|key| claims(key))
    };
    claiming().next()?;
    let in_words = |key: &str| format!("{key}={}", value(key).unwrap_or_default());
    let claimed = || claiming().map(|key| in_words(key)).collect::<Vec<_>>().join(", ");
    let has_current_labels = [CLUSTER_NAMESPACE, CLUSTER_NAME].into_iter().any(claims);
    let free =
        [SIP_SCHEDULED, SCHEDULED].into_iter().find(|key| value(key).is_some() && !claims(key));
    // That operator named the cluster in `workload-cluster` and recorded in a second label whether
    // the assignment still applies.
    let taken = [CLUSTER, SIP_SCHEDULED, SCHEDULED].into_iter().find(|key| claims(key));
    if free.is_some() && taken.is_none() && !has_current_labels {
        return None;
    }
    // A closure, so that `?` ends this attempt only.
    let assignment = (|| {
        let cluster = ClusterKey {
            namespace: value(CLUSTER_NAMESPACE)?.parse().ok()?,
            name: value(CLUSTER_NAME)?.parse().ok()?,
        };
        let role = value(NODE_TYPE)?.parse().ok()?;
        let name = |key: &str| value(key).map(str::parse).transpose().ok();
        let (node, node_set) = (name(NODE)?, name(NODE_SET)?);
        Some(Claim::Cluster(cluster, Part { role, node, node_set }))
    })();
    let older = || {
        if has_current_labels {
            return None;
        }
        // The newer label first, because it may contain the namespace.
        let label = [CLUSTER, WORKLOAD_CLUSTER].into_iter().find(|label| value(label).is_some())?;
        let text = value(label)?;
        let (namespace, name) = match text.split_once('_') {
            // Only this label could have the form `namespace_name`. Names of objects contain no
            // `_`.
            Some((namespace, name)) if label == CLUSTER => (Some(namespace.to_owned()), name),
            _ => (None, text),
        };
        let role = value(NODE_TYPE).or(value(NOTE_TYPE)).and_then(legacy_role);
        let two_clusters = value(WORKLOAD_CLUSTER).is_some_and(|other| other != name);
        let roles = value(NODE_TYPE).zip(value(NOTE_TYPE));
        let two_roles = roles.is_some_and(|(a, b)| legacy_role(a) != legacy_role(b));
        let contradicting = two_clusters
            .then_some((label, WORKLOAD_CLUSTER))
            .or(two_roles.then_some((NODE_TYPE, NOTE_TYPE)))
            .or(taken.zip(free));
        let contradiction =
            contradicting.map(|(one, other)| format!("{} and {}", in_words(one), in_words(other)));
        let (name, labels) = (name.to_owned(), claimed());
        Some(Claim::Older(LegacyClaim { label, namespace, name, role, contradiction, labels }))
    };
    Some(assignment.or_else(older).unwrap_or_else(|| Claim::Unclear(claimed())))
}

/// Returns the role for a node type of any generation.
fn legacy_role(text: &str) -> Option<Role> {
    match text {
        "master" | "control-plane" => Some(Role::ControlPlane),
        "worker" => Some(Role::Worker),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(labels: &[(&str, &str)]) -> Option<Claim> {
        let label =
            |(key, value): &(&str, &str)| (format!("sip.airshipit.org/{key}"), (*value).to_owned());
        claim(&labels.iter().map(label).collect())
    }

    #[test]
    fn labels_of_every_generation_say_whose_a_host_is() {
        for (labels, namespace, role) in [
            (
                &[("sip-scheduled", "true"), ("workload-cluster", "edge"), ("node-type", "master")]
                    [..],
                None,
                Role::ControlPlane,
            ),
            (
                &[("sip-scheduled", "true"), ("workload-cluster", "edge"), ("note-type", "worker")],
                None,
                Role::Worker,
            ),
            (
                &[
                    ("scheduled", "true"),
                    ("workload-cluster", "edge"),
                    ("node-type", "ControlPlane"),
                ],
                None,
                Role::ControlPlane,
            ),
            (&[("cluster", "edge"), ("node-type", "Worker")], None, Role::Worker),
            (
                &[("cluster", "tenant-a_edge"), ("node-type", "Worker")],
                Some("tenant-a"),
                Role::Worker,
            ),
        ] {
            let Some(Claim::Older(claim)) = claimed(labels) else {
                panic!("{labels:?}: {:?}", claimed(labels))
            };
            assert_eq!(
                (claim.name.as_str(), claim.namespace.as_deref(), claim.role),
                ("edge", namespace, Some(role))
            );
        }
    }

    #[test]
    fn a_host_that_was_given_back_in_2020_is_nobodys() {
        assert_eq!(claimed(&[("sip-scheduled", "false")]), None);
        assert!(claimed(&[("sip-scheduled", "true"), ("node-type", "")]).is_some());
        for free in ["sip-scheduled", "scheduled"] {
            assert_eq!(
                claimed(&[(free, "false"), ("workload-cluster", "c1"), ("node-type", "worker")]),
                None,
                "{free}"
            );
        }
    }

    #[test]
    fn labels_that_contradict_each_other_are_told() {
        for (labels, contradict) in [
            (&[("cluster", "c2"), ("workload-cluster", "c1"), ("node-type", "Worker")][..], true),
            (&[("cluster", "a_c1"), ("workload-cluster", "c1"), ("node-type", "Worker")], false),
            (&[("workload-cluster", "c1"), ("node-type", "worker"), ("note-type", "master")], true),
            (
                &[("workload-cluster", "c1"), ("node-type", "worker"), ("note-type", "worker")],
                false,
            ),
            (&[("cluster", "c1"), ("sip-scheduled", "false"), ("node-type", "Worker")], true),
            (
                &[("workload-cluster", "c1"), ("sip-scheduled", "false"), ("scheduled", "true")],
                true,
            ),
        ] {
            let Some(Claim::Older(claim)) = claimed(labels) else {
                panic!("{labels:?}: {:?}", claimed(labels))
            };
            assert_eq!(claim.contradiction.is_some(), contradict, "{labels:?}: {claim:?}");
        }
        let half = [("cluster-name", "b"), ("sip-scheduled", "false")];
        assert!(matches!(claimed(&half), Some(Claim::Unclear(_))), "half of today's labels");
    }

    #[test]
    fn todays_labels_count_before_older_ones() {
        let today = [("cluster-namespace", "a"), ("cluster-name", "b"), ("node-type", "Worker")];
        let both: Vec<_> =
            today.into_iter().chain([("cluster", "c"), ("sip-scheduled", "true")]).collect();
        assert!(
            matches!(claimed(&both), Some(Claim::Cluster(cluster, _)) if cluster.to_string() == "a/b")
        );
        assert!(matches!(claimed(&both[1..]), Some(Claim::Unclear(_))), "half of today's labels");
    }
}
