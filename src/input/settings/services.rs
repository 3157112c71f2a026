//! Settings under `services`, for the services of all clusters.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::api::names::{NodePortRange, ObjectName};
use crate::base::api::network::IpNetwork;

/// Settings for services.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Services")]
pub struct ServiceSettings {
    /// Whether services have NetworkPolicies, which admit traffic to their ports only.
    pub network_policies: bool,
    /// Networks that jump hosts may connect to, besides DNS and the addresses of their hosts, of
    /// their hosts' BMCs and of their cluster's services. By default, they may connect to anything.
    pub jump_host_egress: Option<Vec<IpNetwork>>,
    /// Whether the base cluster's nodes have IPv6. If their kernel has it disabled, HAProxy cannot
    /// listen on IPv6 addresses.
    pub ipv6: bool,
    /// The PriorityClass of load balancers for tenants' APIs. Without it, other pods can evict them
    /// when nodes run out of memory.
    pub priority_class_name: Option<ObjectName>,
    /// The base cluster's range of NodePorts, as `--service-node-port-range` of its API server.
    pub node_port_range: NodePortRange,
    /// The oldest Kubernetes version of the tenants' control planes, such as `"1.34"`. By default,
    /// that of the Cluster of Cluster API with the name and namespace of the SIPCluster. It decides
    /// the version of the `AuthenticationConfiguration`: `v1` from 1.34, otherwise `v1beta1`, which
    /// 1.30 and later accept.
    pub kubernetes_version: Option<KubernetesVersion>,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            network_policies: true,
            jump_host_egress: None,
            ipv6: true,
            priority_class_name: None,
            node_port_range: NodePortRange::default(),
            kubernetes_version: None,
        }
    }
}

/// Minor version of Kubernetes 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend(
    "pattern" = r"^v?1\.[0-9]{1,3}(\.[0-9]{1,3})?$",
    "examples" = ["1.34", "v1.34.2"]
))]
pub struct KubernetesVersion(u16);

impl KubernetesVersion {
    /// The first version with `AuthenticationConfiguration` in `apiserver.config.k8s.io/v1`.
    const WITH_AUTHENTICATION_V1: Self = Self(34);

    /// Returns whether API servers accept `AuthenticationConfiguration` in
    /// `apiserver.config.k8s.io/v1`.
    pub fn has_authentication_v1(self) -> bool {
        self >= Self::WITH_AUTHENTICATION_V1
    }
}

impl TryFrom<String> for KubernetesVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let invalid = || {
            let text = text.chars().take(40).collect::<String>();
            format!(
                "invalid Kubernetes version `{text}`: write major and minor version in quotes, such as \"1.34\""
            )
        };
        let numbers: Result<Vec<u16>, _> =
            text.strip_prefix('v').unwrap_or(&text).split('.').map(str::parse).collect();
        match numbers.map_err(|_| invalid())?.as_slice() {
            [1, minor] | [1, minor, _] => Ok(Self(*minor)),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_kubernetes_writes_it() {
        for (text, has_v1) in
            [("1.30", false), ("v1.33.9", false), ("1.34", true), ("v1.36.0", true)]
        {
            let version = KubernetesVersion::try_from(text.to_owned()).unwrap();
            assert_eq!(version.has_authentication_v1(), has_v1, "{text}");
        }
        for text in ["", "1", "2.0", "1.x", "1.34.1.2", "latest"] {
            assert!(KubernetesVersion::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
