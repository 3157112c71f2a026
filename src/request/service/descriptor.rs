//! Properties of kinds of services.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::names::Role;

/// Properties of a kind of service.
#[derive(Debug)]
pub struct ServiceDescriptor {
    /// Label value and first part of the names of its objects and directory. Part of the interface.
    pub component: &'static str,
    /// Key under `spec.services`.
    pub field: &'static str,
    /// Roles of the hosts whose addresses it uses.
    pub roles: &'static [Role],
    /// Role of its backends, if it is a load balancer.
    pub balances: Option<Role>,
    /// Endpoint that clients of the cluster know.
    pub endpoint: Option<Endpoint>,
    /// Directory below `crds` with the CustomResourceDefinitions that it requires.
    pub definitions: Option<&'static str>,
}

/// Entry of a service in the ConfigMap of endpoints: `PREFIX[NUMBER]SUFFIX`.
#[derive(Debug)]
pub struct Endpoint {
    /// Meaning of the entry.
    pub kind: EndpointKind,
    /// First part of its key.
    pub prefix: &'static str,
    /// Last part of its key.
    pub suffix: &'static str,
}

/// Kind of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EndpointKind {
    /// Address and port of the tenant's API.
    ControlPlane,
    /// URL of the issuer for the tenant's API servers and users.
    Issuer,
    /// Address and port of the jump host.
    JumpHost,
    /// Ports of a service on every node of the base cluster, such as `30080-30082`.
    NodePorts,
}
