//! Settings under `services`, for the services of all clusters.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::names::ObjectName;

/// Settings for services.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Services {
    /// Whether services have NetworkPolicies, which admit traffic to their ports only.
    pub network_policies: bool,
    /// The PriorityClass of load balancers for tenants' APIs. Without it, other pods can evict them
    /// when nodes run out of memory.
    pub priority_class_name: Option<ObjectName>,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            network_policies: true,
            priority_class_name: None,
        }
    }
}
