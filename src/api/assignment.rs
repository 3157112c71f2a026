//! The labels and annotations on a BareMetalHost that say whose it is.

use std::collections::BTreeMap;
use std::fmt;

use super::names::{ClusterKey, Role};

/// Label: the namespace of the SIPCluster that has the host.
pub const CLUSTER_NAMESPACE: &str = "sip.airshipit.org/cluster-namespace";
/// Label: the name of the SIPCluster that has the host.
pub const CLUSTER_NAME: &str = "sip.airshipit.org/cluster-name";
/// Label: the host's [`Role`] in that cluster.
pub const NODE_TYPE: &str = "sip.airshipit.org/node-type";

/// The three labels of an assignment; Cluster API's Metal3 provider selects hosts by exactly these.
pub const LABELS: [&str; 3] = [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE];

/// Labels by which the SIP operator's releases of 2020 and early 2021 said that a host is taken.
const OLDER_LABELS: [&str; 3] =
    ["sip.airshipit.org/sip-scheduled", "sip.airshipit.org/workload-cluster", "sip.airshipit.org/cluster"];

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
        write!(f, "{}-{}", if self.labels_seen { LABELS_SEEN } else { PENDING }, self.round)
    }
}

impl GivenBack {
    /// Reads the annotation's value; an unknown one counts as pending, the careful side.
    pub fn from_value(text: &str) -> Self {
        let (progress, round) = text.split_once('-').unwrap_or((text, ""));
        Self { labels_seen: progress == LABELS_SEEN, round: round.parse().unwrap_or_default() }
    }
}

/// Annotation on a SIPCluster: a whole number, 0 by default; clusters with a higher one choose their hosts first.
pub const PRIORITY: &str = "sip.airshipit.org/priority";

/// What a set of labels says about whose the host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The three labels of a cluster and a role.
    Cluster(ClusterKey, Role),
    /// Some assignment label is there, but not three valid ones: somebody has the host, we cannot say who.
    Unclear(String),
}

/// Reads the assignment from a host's labels; `None` when no label claims the host.
///
/// An empty value is no claim: ViNO copies a label that its node lacks as `""`.
pub fn claim(labels: &BTreeMap<String, String>) -> Option<Claim> {
    let value = |key: &str| labels.get(key).map(String::as_str).filter(|v| !v.is_empty());
    let claimed: Vec<String> =
        LABELS.iter().chain(&OLDER_LABELS).filter_map(|key| value(key).map(|value| format!("{key}={value}"))).collect();
    if claimed.is_empty() {
        return None;
    }
    let assignment = (|| {
        let cluster =
            ClusterKey { namespace: value(CLUSTER_NAMESPACE)?.parse().ok()?, name: value(CLUSTER_NAME)?.parse().ok()? };
        Some(Claim::Cluster(cluster, value(NODE_TYPE)?.parse().ok()?))
    })();
    Some(assignment.unwrap_or_else(|| Claim::Unclear(claimed.join(", "))))
}
