//! The labels and annotations on a BareMetalHost that say whose it is.

use std::collections::BTreeMap;
use std::fmt;

use super::names::{ClusterKey, Part, Role};

/// Label: the namespace of the SIPCluster that has the host.
pub const CLUSTER_NAMESPACE: &str = "sip.airshipit.org/cluster-namespace";
/// Label: the name of the SIPCluster that has the host.
pub const CLUSTER_NAME: &str = "sip.airshipit.org/cluster-name";
/// Label: the host's [`Role`] in that cluster.
pub const NODE_TYPE: &str = "sip.airshipit.org/node-type";

/// Label: the [`NodeName`](super::names::NodeName) of a host in the Provisioning that has it. The other three labels
/// name the cluster and the role, as for a SIPCluster.
pub const NODE: &str = "bpa.akraino.org/node";

/// The three labels of every assignment; Cluster API's Metal3 provider selects hosts by exactly these.
pub const OF_EVERY_CLUSTER: [&str; 3] = [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE];

/// All labels of an assignment.
pub const LABELS: [&str; 4] = [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE, NODE];

/// Labels by which the SIP operator's releases of 2020 and early 2021 said whose a host is, [`NODE_TYPE`] aside. One of
/// them was misspelt for a while.
pub const OLDER_LABELS: [&str; 5] = [
    SIP_SCHEDULED,
    SCHEDULED,
    WORKLOAD_CLUSTER,
    CLUSTER,
    NOTE_TYPE,
];
const SIP_SCHEDULED: &str = "sip.airshipit.org/sip-scheduled";
const SCHEDULED: &str = "sip.airshipit.org/scheduled";
const WORKLOAD_CLUSTER: &str = "sip.airshipit.org/workload-cluster";
const CLUSTER: &str = "sip.airshipit.org/cluster";
const NOTE_TYPE: &str = "sip.airshipit.org/note-type";

/// Annotation on a SIPCluster: the name by which hosts of 2020 and early 2021 know it. It was a field of its own then.
pub const FORMER_NAME: &str = "sip.airshipit.org/former-name";

/// Annotation on an observed host that is being given back: a [`GivenBack`]. The live host shows it once the
/// host's labels are gone, which a later snapshot then proves.
pub const GIVEN_BACK: &str = "sip.airshipit.org/given-back";
/// Annotation beside it: which cluster had the host, as `namespace/name`.
pub const GIVEN_BACK_BY: &str = "sip.airshipit.org/given-back-by";

/// How far giving back an observed host has come; the value of [`GIVEN_BACK`], such as `pending-1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenBack {
    /// Whether a snapshot has shown the host with its labels. Before that, one without them proves nothing: it
    /// may be older than the labels.
    pub labels_seen: bool,
    /// Which time it is that the host is given back, as far as the snapshot knows, from 1. So the annotation
    /// that an earlier time has left on the host is not taken for the one of this time.
    pub round: u32,
}

const LABELS_SEEN: &str = "labelled";
const PENDING: &str = "pending";

impl fmt::Display for GivenBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}-{}",
            if self.labels_seen {
                LABELS_SEEN
            } else {
                PENDING
            },
            self.round
        )
    }
}

impl GivenBack {
    /// Reads the annotation's value; an unknown one counts as pending, the careful side.
    pub fn from_value(text: &str) -> Self {
        let (progress, round) = text.split_once('-').unwrap_or((text, ""));
        Self {
            labels_seen: progress == LABELS_SEEN,
            round: round.parse().unwrap_or_default(),
        }
    }
}

/// Annotation on a SIPCluster: a whole number, 0 by default; clusters with a higher one choose their hosts first.
pub const PRIORITY: &str = "sip.airshipit.org/priority";

/// What a set of labels says about whose the host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The labels of a cluster and a part of it.
    Cluster(ClusterKey, Part),
    /// Labels of an older generation: a name without namespace, and a role.
    Older(OlderClaim),
    /// Some assignment label is there, but not three valid ones: somebody has the host, we cannot say who.
    Unclear(String),
}

/// What labels of an older generation say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlderClaim {
    /// The label that names the cluster.
    pub label: &'static str,
    /// The cluster's namespace, which labels had for some weeks of March 2021 (`namespace_name`).
    pub namespace: Option<String>,
    /// The cluster's name.
    pub name: String,
    /// What for; nothing when the labels do not say it in a word that we know.
    pub role: Option<Role>,
    /// Two labels of which at most one can hold, where there are such, in words.
    pub contradiction: Option<String>,
    /// All the labels, in words.
    pub labels: String,
}

/// Reads the assignment from a host's labels; `None` when no label claims the host.
///
/// An empty value is no claim: ViNO copies a label that its node lacks as `""`.
pub fn claim(labels: &BTreeMap<String, String>) -> Option<Claim> {
    let value = |key: &str| {
        labels
            .get(key)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    };
    // The operator of 2020 left `sip-scheduled: "false"` on the hosts that nobody has.
    let is_claim =
        |key: &str, value: &str| !(matches!(key, SIP_SCHEDULED | SCHEDULED) && value == "false");
    let claimed: Vec<String> = LABELS
        .iter()
        .chain(&OLDER_LABELS)
        .filter_map(|key| {
            value(key)
                .filter(|value| is_claim(key, value))
                .map(|value| format!("{key}={value}"))
        })
        .collect();
    if claimed.is_empty() {
        return None;
    }
    let claims = |key: &str| value(key).is_some_and(|value| is_claim(key, value));
    let of_today = [CLUSTER_NAMESPACE, CLUSTER_NAME].into_iter().any(claims);
    let free = [SIP_SCHEDULED, SCHEDULED]
        .into_iter()
        .find(|key| value(key).is_some() && !claims(key));
    // That operator knew hosts by `workload-cluster`, and said by this label whether it still holds.
    let taken = [CLUSTER, SIP_SCHEDULED, SCHEDULED]
        .into_iter()
        .find(|key| claims(key));
    if free.is_some() && taken.is_none() && !of_today {
        return None;
    }
    let assignment = (|| {
        let cluster = ClusterKey {
            namespace: value(CLUSTER_NAMESPACE)?.parse().ok()?,
            name: value(CLUSTER_NAME)?.parse().ok()?,
        };
        let node = match value(NODE) {
            Some(node) => Some(node.parse().ok()?),
            None => None,
        };
        Some(Claim::Cluster(
            cluster,
            Part {
                role: value(NODE_TYPE)?.parse().ok()?,
                node,
            },
        ))
    })();
    let older = || {
        if of_today {
            return None;
        }
        // The younger label first: it may say the namespace, too.
        let label = [CLUSTER, WORKLOAD_CLUSTER]
            .into_iter()
            .find(|label| value(label).is_some())?;
        let text = value(label)?;
        let (namespace, name) = match text.split_once('_') {
            Some((namespace, name)) if label == CLUSTER => (Some(namespace.to_owned()), name),
            _ => (None, text),
        };
        let role = value(NODE_TYPE).or(value(NOTE_TYPE)).and_then(older_role);
        let two_clusters = value(WORKLOAD_CLUSTER).is_some_and(|other| other != name);
        let two_roles = value(NODE_TYPE)
            .zip(value(NOTE_TYPE))
            .is_some_and(|(a, b)| older_role(a) != older_role(b));
        let contradicting = two_clusters
            .then_some((label, WORKLOAD_CLUSTER))
            .or(two_roles.then_some((NODE_TYPE, NOTE_TYPE)))
            .or(taken.zip(free));
        let in_words = |key: &str| format!("{key}={}", value(key).unwrap_or_default());
        let contradiction =
            contradicting.map(|(one, other)| format!("{} and {}", in_words(one), in_words(other)));
        let (name, labels) = (name.to_owned(), claimed.join(", "));
        Some(Claim::Older(OlderClaim {
            label,
            namespace,
            name,
            role,
            contradiction,
            labels,
        }))
    };
    Some(
        assignment
            .or_else(older)
            .unwrap_or_else(|| Claim::Unclear(claimed.join(", "))),
    )
}

/// The role that a node type of any generation means.
fn older_role(text: &str) -> Option<Role> {
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
                &[
                    ("sip-scheduled", "true"),
                    ("workload-cluster", "edge"),
                    ("node-type", "master"),
                ][..],
                None,
                Role::ControlPlane,
            ),
            (
                &[
                    ("sip-scheduled", "true"),
                    ("workload-cluster", "edge"),
                    ("note-type", "worker"),
                ],
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
            (
                &[("cluster", "edge"), ("node-type", "Worker")],
                None,
                Role::Worker,
            ),
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
                claimed(&[
                    (free, "false"),
                    ("workload-cluster", "c1"),
                    ("node-type", "worker")
                ]),
                None,
                "{free}"
            );
        }
    }

    #[test]
    fn labels_that_contradict_each_other_are_told() {
        for (labels, contradict) in [
            (
                &[
                    ("cluster", "c2"),
                    ("workload-cluster", "c1"),
                    ("node-type", "Worker"),
                ][..],
                true,
            ),
            (
                &[
                    ("cluster", "a_c1"),
                    ("workload-cluster", "c1"),
                    ("node-type", "Worker"),
                ],
                false,
            ),
            (
                &[
                    ("workload-cluster", "c1"),
                    ("node-type", "worker"),
                    ("note-type", "master"),
                ],
                true,
            ),
            (
                &[
                    ("workload-cluster", "c1"),
                    ("node-type", "worker"),
                    ("note-type", "worker"),
                ],
                false,
            ),
            (
                &[
                    ("cluster", "c1"),
                    ("sip-scheduled", "false"),
                    ("node-type", "Worker"),
                ],
                true,
            ),
            (
                &[
                    ("workload-cluster", "c1"),
                    ("sip-scheduled", "false"),
                    ("scheduled", "true"),
                ],
                true,
            ),
        ] {
            let Some(Claim::Older(claim)) = claimed(labels) else {
                panic!("{labels:?}: {:?}", claimed(labels))
            };
            assert_eq!(
                claim.contradiction.is_some(),
                contradict,
                "{labels:?}: {claim:?}"
            );
        }
        let half = [("cluster-name", "b"), ("sip-scheduled", "false")];
        assert!(
            matches!(claimed(&half), Some(Claim::Unclear(_))),
            "half of today's labels"
        );
    }

    #[test]
    fn todays_labels_count_before_older_ones() {
        let today = [
            ("cluster-namespace", "a"),
            ("cluster-name", "b"),
            ("node-type", "Worker"),
        ];
        let both: Vec<_> = today
            .into_iter()
            .chain([("cluster", "c"), ("sip-scheduled", "true")])
            .collect();
        assert!(
            matches!(claimed(&both), Some(Claim::Cluster(cluster, _)) if cluster.to_string() == "a/b")
        );
        assert!(
            matches!(claimed(&both[1..]), Some(Claim::Unclear(_))),
            "half of today's labels"
        );
    }
}
