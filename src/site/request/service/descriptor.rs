//! Properties of service kinds.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::names::Role;

/// Properties of a service kind.
#[derive(Debug)]
pub struct ServiceDescriptor {
    /// Label value, and prefix of the names of its objects and directory. Users depend on it.
    pub component: &'static str,
    /// Key under `spec.services`.
    pub field: &'static str,
    /// Roles of hosts whose addresses it uses.
    pub roles: &'static [Role],
    /// Role of its backends; `None` unless it is a load balancer.
    pub balances: Option<Role>,
    /// The endpoint for clients of the cluster.
    pub endpoint: Option<EndpointDescriptor>,
    /// Directory below `crds/` with the CustomResourceDefinitions that it requires.
    pub definitions: Option<&'static str>,
    /// Set if instances in one namespace would share their storage.
    pub shares_storage: bool,
    /// True if its pods run on the base cluster's control-plane nodes by default.
    pub on_control_plane: bool,
    /// Advice on its container image.
    pub image: ImageAdvice,
}

/// Advice on the container image of a service kind.
#[derive(Debug)]
pub struct ImageAdvice {
    /// A current image, as an example.
    pub example: &'static str,
    /// Name of the image in registries, without its path; `None` if users build their own.
    pub name: Option<&'static str>,
    /// Oldest major and minor version that supports the rendered configuration.
    pub oldest: (u32, u32),
}

/// Entry of a service in the endpoints ConfigMap: `PREFIX[NUMBER]SUFFIX`.
#[derive(Debug)]
pub struct EndpointDescriptor {
    /// Meaning of the entry.
    pub kind: EndpointKind,
    /// Prefix of the key.
    pub prefix: &'static str,
    /// Suffix of the key.
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
