//! The rules of auth.

use super::{Check, Route};
use crate::api::sipcluster;
use crate::site::cluster::Auth;

impl Check<'_> {
    pub(super) fn auth(&mut self, entry: &sipcluster::Auth, route: &Route) -> Option<Auth> {
        let node_port = self.node_port(entry.node_port, route);
        let ca_secret = match entry.ca_secret.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => self.secret_name(name, "caSecret", route),
            None => {
                self.error(
                    route.clone(),
                    "the auth service has no caSecret, so nobody issues its certificate",
                    "name the Secret with the certificate authority's `tls.crt` and `tls.key`",
                );
                None
            }
        };
        let text = entry.service.cluster_ip.as_deref().unwrap_or_default();
        if text.is_empty() {
            self.error(
                route.clone(),
                "the auth service has no clusterIP, so its issuer has no address",
                "write the base cluster's address under which its NodePorts are reached",
            );
        }
        Some(Auth { node_port: node_port?, ca_secret: ca_secret?, address: text.parse().ok()? })
    }
}
