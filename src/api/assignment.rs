//! The labels and annotations on a BareMetalHost that say whose it is.

use std::collections::BTreeMap;

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
const OLDER_LABELS: [&str; 3] = [
    "sip.airshipit.org/sip-scheduled",
    "sip.airshipit.org/workload-cluster",
    "sip.airshipit.org/cluster",
];

/// Annotation on an observed host that is being given back. The live host shows it once the host's labels
/// are gone, which a later snapshot then proves; its value is a [`GivenBack`].
pub const GIVEN_BACK: &str = "sip.airshipit.org/given-back";

/// How far giving back an observed host has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBack {
    /// No snapshot has shown the host with its labels yet, so one without them proves nothing.
    Pending,
    /// A snapshot has shown the labels; the first one that lacks them proves that they are gone.
    Labelled,
}

impl GivenBack {
    /// The annotation's value.
    pub fn as_str(self) -> &'static str {
        match self {
            GivenBack::Pending => "pending",
            GivenBack::Labelled => "labelled",
        }
    }

    /// Reads the annotation's value; an unknown one counts as pending, the careful side.
    pub fn from_value(text: &str) -> Self {
        if text == GivenBack::Labelled.as_str() { GivenBack::Labelled } else { GivenBack::Pending }
    }
}

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
    let claimed: Vec<String> = LABELS
        .iter()
        .chain(&OLDER_LABELS)
        .filter_map(|key| value(key).map(|value| format!("{key}={value}")))
        .collect();
    if claimed.is_empty() {
        return None;
    }
    let assignment = (|| {
        let cluster = ClusterKey {
            namespace: value(CLUSTER_NAMESPACE)?.parse().ok()?,
            name: value(CLUSTER_NAME)?.parse().ok()?,
        };
        Some(Claim::Cluster(cluster, value(NODE_TYPE)?.parse().ok()?))
    })();
    Some(assignment.unwrap_or_else(|| Claim::Unclear(claimed.join(", "))))
}
