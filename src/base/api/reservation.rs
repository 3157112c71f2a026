//! Reservations: the tenants for which a host is kept.

use std::collections::BTreeSet;
use std::str::FromStr;

use derive_more::Display;
use schemars::JsonSchema;
use serde::Deserialize;

use super::names::{ClusterKey, Invalid, Namespace};
use crate::base::text::abbreviated;

/// Annotation on a host: its [`Tenants`], separated by commas.
pub const RESERVED_FOR: &str = "sip.airshipit.org/reserved-for";

/// A namespace with all its clusters, or one cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema, Display)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["tenant-a", "tenant-a/edge"]))]
pub enum Tenant {
    /// All clusters of a namespace.
    Namespace(Namespace),
    /// One cluster.
    Cluster(ClusterKey),
}

/// The tenants that may have a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{}", abbreviated(_0.iter().collect::<Vec<_>>(), usize::MAX))]
pub struct Tenants(BTreeSet<Tenant>);

impl Tenants {
    /// Returns whether a cluster is one of the tenants.
    pub fn include(&self, cluster: &ClusterKey) -> bool {
        self.0.iter().any(|tenant| match tenant {
            Tenant::Namespace(namespace) => *namespace == cluster.namespace,
            Tenant::Cluster(key) => key == cluster,
        })
    }
}

impl FromIterator<Tenant> for Tenants {
    fn from_iter<T: IntoIterator<Item = Tenant>>(tenants: T) -> Self {
        Self(tenants.into_iter().collect())
    }
}

impl FromStr for Tenants {
    type Err = Invalid;

    /// Parses tenants that are separated by commas; at least one.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.split(',').map(|tenant| tenant.trim().parse()).collect()
    }
}

impl FromStr for Tenant {
    type Err = Invalid;

    /// Parses `NAMESPACE` or `NAMESPACE/CLUSTER`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.contains('/') {
            text.parse().map(Tenant::Cluster)
        } else {
            text.parse().map(Tenant::Namespace)
        }
    }
}

impl TryFrom<String> for Tenant {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|error: Invalid| {
            format!("`{text}` {error}; write NAMESPACE or NAMESPACE/CLUSTER")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_includes_its_clusters_and_a_cluster_only_itself() {
        let tenants: Tenants = "tenant-a, tenant-b/edge".parse().unwrap();
        let includes = |key: &str| tenants.include(&key.parse().unwrap());

        assert!(includes("tenant-a/lab") && includes("tenant-b/edge"));
        assert!(!includes("tenant-b/lab") && !includes("tenant-aa/lab"));
        assert_eq!(tenants.to_string(), "tenant-a, tenant-b/edge");
        for bad in ["", ",", "tenant-a,", "Tenant", "a/b/c", "a b"] {
            assert!(bad.parse::<Tenants>().is_err(), "{bad:?}");
        }
    }
}
