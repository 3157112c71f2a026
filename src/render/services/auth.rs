//! What the templates of Dex are given.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::names::{NodePort, ObjectName};
use crate::site::cluster::Auth;

#[derive(Serialize, JsonSchema)]
pub(super) struct Values<'a> {
    node_port: NodePort,
    ca_secret: &'a ObjectName,
    issuer: String,
    address: IpAddr,
}

pub(super) fn values(auth: &Auth) -> Values<'_> {
    let Auth { node_port, ca_secret, address } = auth;
    Values { node_port: *node_port, ca_secret, issuer: auth.issuer(), address: *address }
}
