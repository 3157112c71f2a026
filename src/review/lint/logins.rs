//! Rule: an auth service offers no way to log in.

use crate::base::finding::{Code, Finding};
use crate::site::request::{Cluster, ClusterService};

/// Finds an auth service without a connector. Dex then accepts only users for whom somebody creates
/// a `Password` object by hand.
pub(super) fn impossible(cluster: &Cluster, service: &ClusterService) -> Option<Finding> {
    let key = &cluster.key;
    let message =
        format!("nobody can log in to `{key}`: Dex has no connector to an identity provider");
    let finding = Finding::new(Code::NoLogin, message)
        .at(cluster.origin.at(service.route()))
        .help("add `connectors`, for instance of type `ldap` or `oidc`: docs/how-to/auth.md");
    service.lacks_connectors().then_some(finding)
}
