//! Rule: an auth service offers no way to log in.

use super::services;
use crate::base::finding::{Code, Finding};
use crate::site::request::{Cluster, ClusterService};

/// Finds auth services without a connector. Dex then accepts only users for whom somebody creates
/// a `Password` object by hand.
pub(super) fn impossible(clusters: &[&Cluster]) -> Vec<Finding> {
    let describe = |(cluster, service): (&Cluster, &ClusterService)| {
        let key = &cluster.key;
        let message =
            format!("nobody can log in to `{key}`: Dex has no connector to an identity provider");
        Finding::new(Code::NoLogin, message)
            .at(cluster.origin.at(service.route()))
            .help("add `connectors`, for instance of type `ldap` or `oidc`: docs/how-to/auth.md")
            .for_cluster(key)
    };
    let impossible = services(clusters).filter(|(_, service)| service.lacks_connectors());
    impossible.map(describe).collect()
}
