//! Rule: an auth service offers no way to log in.

use crate::base::finding::{Code, Finding};
use crate::site::request::{Cluster, ClusterService};

/// Finds auth services without a connector. Dex then accepts only users for whom somebody creates
/// a `Password` object by hand.
pub(super) fn impossible(clusters: &[&Cluster]) -> Vec<Finding> {
    let cluster_findings = |cluster: &&Cluster| {
        let key = cluster.key.clone();
        let origin = cluster.origin.clone();
        let services: Vec<Finding> = cluster
            .services
            .iter()
            .filter(|service| ClusterService::lacks_connectors(service))
            .map(|service| {
                Finding::new(
                    Code::NoLogin,
                    format!(
                        "nobody can log in to `{key}`: Dex has no connector to an identity provider"
                    ),
                )
                .at(origin.at(service.route()))
                .help(
                    "add `connectors`, for instance of type `ldap` or `oidc`: docs/how-to/auth.md",
                )
                .for_cluster(&key)
            })
            .collect();
        services
    };
    clusters.iter().flat_map(cluster_findings).collect()
}
