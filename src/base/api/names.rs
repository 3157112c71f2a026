//! Names and numbers that are valid by construction: parsing checks them once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use derive_more::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::base::text::static_regex;

/// The pattern of [`Namespace`] for schemas. The length has its own schema keyword.
pub const NAMESPACE_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// The pattern of [`ObjectName`] for schemas, without the total length.
pub const OBJECT_NAME_PATTERN: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// The pattern of [`is_label_value`] for schemas, without the total length.
pub const LABEL_VALUE_PATTERN: &str = "^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$";
/// The pattern of [`is_label_key`] for schemas, without the length of the prefix.
pub const LABEL_KEY_PATTERN: &str = concat!(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
    "[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
);

/// The pattern of [`StorageSize`] for schemas.
pub const STORAGE_SIZE_PATTERN: &str = "^[1-9][0-9]{0,5}(Mi|Gi|Ti)$";

/// The reason why a name or number is invalid. Its display completes the sentence "`x` …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, derive_more::From)]
#[error("{0}")]
#[from(&'static str, String)]
pub struct Invalid(String);

/// A namespace: a DNS label (RFC 1123) of at most 63 characters. It has no dots or slashes, so it
/// is safe as a directory name.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Display,
)]
#[serde(try_from = "String")]
#[schemars(extend("maxLength" = 63, "pattern" = NAMESPACE_PATTERN))]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// Returns the namespace of an object that does not set one.
    pub fn default_namespace() -> Self {
        Self("default".into())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > 63 {
            return Err("has more than 63 characters".into());
        }
        // Dots are valid in names of objects, so the message is specific.
        if text.contains('.') {
            return Err("has a dot, which a namespace must not have".into());
        }
        check_dns(text)?;
        Ok(Self(text.into()))
    }
}

/// The name of an object: a DNS subdomain (RFC 1123) of at most 253 characters, which may have
/// dots.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Display,
)]
#[serde(try_from = "String")]
#[schemars(extend("maxLength" = 253, "pattern" = OBJECT_NAME_PATTERN))]
pub struct ObjectName(Arc<str>);

impl ObjectName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ObjectName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > 253 {
            return Err("has more than 253 characters".into());
        }
        check_dns(text)?;
        Ok(Self(text.into()))
    }
}

/// The size of a volume: an integer with the unit `Mi`, `Gi` or `Ti`, such as `10Gi`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = STORAGE_SIZE_PATTERN))]
pub struct StorageSize(String);

impl FromStr for StorageSize {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let size =
            static_regex!(STORAGE_SIZE_PATTERN).is_match(text).then(|| Self(text.to_owned()));
        Ok(size.ok_or("is not the size of a volume, such as `500Mi` or `10Gi`")?)
    }
}

/// Checks a DNS subdomain as Kubernetes does: labels of `a-z`, `0-9` and `-`, separated by dots, each
/// starting and ending with a letter or digit, and none limited to the 63 characters of RFC 1123.
fn check_dns(text: &str) -> Result<(), Invalid> {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &[u8]| {
        label.iter().all(|byte| is_edge(byte) || *byte == b'-')
            && label.first().is_some_and(is_edge)
            && label.last().is_some_and(is_edge)
    };
    if text.as_bytes().split(|byte| *byte == b'.').all(is_label) {
        Ok(())
    } else {
        Err("is not a DNS name: lower-case letters, digits and `-`, beginning and ending with a letter or digit".into())
    }
}

macro_rules! object_key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Display)]
        #[display("{namespace}/{name}")]
        pub struct $name {
            /// The object's namespace after `kustomize build`.
            pub namespace: Namespace,
            /// The object's name.
            pub name: ObjectName,
        }

        impl FromStr for $name {
            type Err = Invalid;

            /// Parses `NAMESPACE/NAME`.
            fn from_str(text: &str) -> Result<Self, Invalid> {
                let (namespace, name) = text.split_once('/').ok_or("is not NAMESPACE/NAME")?;
                Ok(Self { namespace: namespace.parse()?, name: name.parse()? })
            }
        }
    };
}

object_key! {
    /// The identity of a BareMetalHost. The namespace is required, because a snapshot has hosts of
    /// many namespaces.
    HostKey
}

object_key! {
    /// The identity of a cluster: the namespace of its request, and its name.
    ClusterKey
}

object_key! {
    /// The identity of a Secret.
    SecretKey
}

/// The role of a host in its cluster.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
)]
pub enum Role {
    /// Runs the tenant's control plane.
    ControlPlane,
    /// Runs the tenant's workloads.
    Worker,
}

impl Role {
    /// Both roles, in the order of assignment.
    pub const ALL: [Role; 2] = [Role::ControlPlane, Role::Worker];

    /// Returns the role as written in `spec.nodes` and in the node-type label.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::ControlPlane => "ControlPlane",
            Role::Worker => "Worker",
        }
    }

    /// Returns the role in the form of names of objects: `control-plane` or `worker`.
    pub fn in_lower_case(self) -> &'static str {
        match self {
            Role::ControlPlane => "control-plane",
            Role::Worker => "worker",
        }
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let role = Role::ALL.into_iter().find(|role| role.as_str() == text);
        Ok(role.ok_or("is not a role: the roles are ControlPlane and Worker")?)
    }
}

/// The name of a machine in a Provisioning, and of its node in the inventory: a valid label value
/// that is not empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Display)]
#[schemars(extend("minLength" = 1, "maxLength" = 63, "pattern" = LABEL_VALUE_PATTERN))]
pub struct NodeName(String);

impl NodeName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err("is empty".into());
        }
        if !is_label_value(text) {
            let reason = "is not fit for a label: at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a \
                          letter or digit";
            return Err(reason.into());
        }
        Ok(Self(text.to_owned()))
    }
}

/// The place of a host in its cluster: any host of a role or of a node set, or the machine with a
/// certain name in a Provisioning. Hosts of one role in a SIPCluster are interchangeable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Part {
    /// The role. A machine with both roles has `ControlPlane`.
    pub role: Role,
    /// The machine's name in its Provisioning; absent for a SIPCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// The name of the MachineDeployment in a request by Cluster API's objects; absent for a control
    /// plane and for other requests.
    #[serde(rename = "nodeSet", skip_serializing_if = "Option::is_none")]
    pub node_set: Option<NodeName>,
}

impl From<Role> for Part {
    fn from(role: Role) -> Self {
        Self { role, node: None, node_set: None }
    }
}

impl fmt::Display for Part {
    /// Writes the role, or the name with the role: `Worker`, `worker-1 (Worker)`, `md-0 (Worker)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node.as_ref().or(self.node_set.as_ref()) {
            None => self.role.fmt(f),
            Some(node) => write!(f, "{node} ({})", self.role),
        }
    }
}

/// A port that every node of the base cluster opens for a Service. The settings have the range of
/// valid ones.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Display,
)]
pub struct NodePort(u16);

impl NodePort {
    /// Returns the port number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// Formats ports in ascending order as ranges: `30022`, `30080-30082`.
    pub(crate) fn ranges(ports: impl IntoIterator<Item = NodePort>) -> Vec<String> {
        let mut ranges: Vec<NodePortRange> = Vec::new();
        for NodePort(port) in ports {
            match ranges.last_mut() {
                Some(range) if range.last + 1 == port => range.last = port,
                _ => ranges.push(NodePortRange { first: port, last: port }),
            }
        }
        let text = |range: NodePortRange| match range.first == range.last {
            true => range.first.to_string(),
            false => range.to_string(),
        };
        ranges.into_iter().map(text).collect()
    }

    /// Returns the editor's rule for a NodePort, whatever the range of the base cluster is.
    pub(super) fn range() -> serde_json::Value {
        json!({"minimum": 1, "maximum": u16::MAX})
    }

    /// Returns the API server's rule for a NodePort. It accepts 0, for which Services of the SIP
    /// operator get any port.
    pub(super) fn rule() -> serde_json::Value {
        let last = u16::MAX;
        json!({
            "rule": format!("self >= 0 && self <= {last}"),
            "message": format!("choose a port of 1 to {last}")
        })
    }
}

impl TryFrom<i64> for NodePort {
    type Error = Invalid;

    fn try_from(number: i64) -> Result<Self, Invalid> {
        let port = u16::try_from(number).ok().filter(|port| *port > 0);
        Ok(Self(port.ok_or("is not a port")?))
    }
}

/// The base cluster's range of NodePorts, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, Display)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend(
    "pattern" = r"^[0-9]{1,5}([-+][0-9]{1,5})?$",
    "examples" = ["30000-32767"]
))]
#[display("{first}-{last}")]
pub struct NodePortRange {
    first: u16,
    last: u16,
}

impl NodePortRange {
    /// Returns the lowest port.
    pub fn first(self) -> u16 {
        self.first
    }

    /// Returns the highest port.
    pub fn last(self) -> u16 {
        self.last
    }

    /// Returns a NodePort of the range.
    ///
    /// # Errors
    ///
    /// Fails if the number is outside of the range.
    pub fn port(self, number: i64) -> Result<NodePort, Invalid> {
        let port = NodePort::try_from(number).ok();
        port.filter(|port| (self.first..=self.last).contains(&port.number()))
            .ok_or_else(|| format!("is outside the NodePorts {self}").into())
    }
}

impl Default for NodePortRange {
    /// Returns the default range of Kubernetes.
    fn default() -> Self {
        Self { first: 30000, last: 32767 }
    }
}

impl TryFrom<String> for NodePortRange {
    type Error = Invalid;

    /// Parses a range as `--service-node-port-range` of the API server does: `30000-32767`,
    /// `30000+2767` or a single port.
    fn try_from(text: String) -> Result<Self, Invalid> {
        let port = |text: &str| text.parse::<u16>().ok();
        let range = match text.split_once(['-', '+']) {
            None => port(&text).map(|port| (port, port)),
            Some((first, last)) => port(first).zip(port(last)).and_then(|(first, last)| {
                let last = if text.contains('+') { first.checked_add(last)? } else { last };
                Some((first, last))
            }),
        };
        range
            .filter(|(first, last)| 0 < *first && first <= last)
            .map(|(first, last)| Self { first, last })
            .ok_or_else(|| {
                let text: String = text.chars().take(40).collect();
                Invalid(format!("invalid range of NodePorts `{text}`: write the first and the last port, such as \"30000-32767\""))
            })
    }
}

/// Returns whether a text is a valid label value: at most 63 letters, digits, `-`, `_` and `.`,
/// starting and ending with a letter or digit; or empty.
pub fn is_label_value(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && edge(text.chars().next())
        && edge(text.chars().last())
}

/// Returns whether a text is a valid label key: a name of the same form as a label value, but not
/// empty, optionally after a DNS subdomain and a slash.
pub fn is_label_key(text: &str) -> bool {
    // A second slash is part of the name, where it is invalid.
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    !name.is_empty()
        && is_label_value(name)
        && prefix.is_none_or(|prefix| prefix.len() <= 253 && check_dns(prefix).is_ok())
}

/// Labels of an object by key.
pub type LabelMap = BTreeMap<String, String>;

/// Returns whether labels include all of `wanted`.
pub fn has_all(labels: &LabelMap, wanted: &LabelMap) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Returns whether an object can have a label.
pub fn is_label(key: &str, value: &str) -> bool {
    is_label_key(key) && is_label_value(value)
}

macro_rules! try_from_string {
    ($($name:ty),*) => {$(
        /// Serde's errors do not contain the value, so this one does.
        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                text.parse().map_err(|error| format!("`{text}` {error}").into())
            }
        }
    )*};
}
pub(super) use try_from_string;

try_from_string!(Namespace, ObjectName, StorageSize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_a_dns_label_so_it_can_never_leave_its_directory() {
        for bad in ["", ".", "..", "a/b", "A", "a.b", "-a", "a-", "a b", &"a".repeat(64)] {
            assert!(bad.parse::<Namespace>().is_err(), "{bad:?} must be refused");
        }
        assert!("tenant-a".parse::<Namespace>().is_ok());
    }

    #[test]
    fn an_object_name_may_have_dots_but_no_empty_part() {
        for good in ["edge.lab-1", &"a".repeat(64), &"a".repeat(253)] {
            assert!(good.parse::<ObjectName>().is_ok(), "{good:?} must be accepted");
        }
        for bad in ["..", "a..b", ".a", "a.", "a_b", &"a".repeat(254)] {
            assert!(bad.parse::<ObjectName>().is_err(), "{bad:?} must be refused");
        }
    }

    #[test]
    fn node_ports_end_where_their_range_ends() {
        let range = NodePortRange::default();
        assert!(range.port(30000).is_ok() && range.port(32767).is_ok());
        for bad in [29999, 32768, 0, -1, 95536] {
            assert!(range.port(bad).is_err(), "{bad} must be refused");
        }
    }

    #[test]
    fn ports_in_a_row_are_a_range() {
        let ports = [30022, 30080, 30081, 30082].map(NodePort);
        assert_eq!(NodePort::ranges(ports), ["30022", "30080-30082"]);
    }

    #[test]
    fn a_range_of_node_ports_is_read_as_the_api_server_does() {
        for (text, ends) in [
            ("20000-22767", (20000, 22767)),
            ("80+9", (80, 89)),
            ("7", (7, 7)),
            ("1-65535", (1, 65535)),
        ] {
            let range = NodePortRange::try_from(text.to_owned()).unwrap();
            assert_eq!((range.first(), range.last()), ends, "{text}");
        }
        for bad in ["", "-", "0-5", "5-4", "1-65536", "65535+1", "a-b", "1-2-3", "1 - 2", "-1"] {
            assert!(NodePortRange::try_from(bad.to_owned()).is_err(), "{bad} must be refused");
        }
    }

    #[test]
    fn label_keys_may_have_a_prefix() {
        assert!(is_label_key("vino.airshipit.org/rack"));
        assert!(is_label_key("rack"));
        for bad in ["", "/", "a/", "/a", "a/b/c", "a b"] {
            assert!(!is_label_key(bad), "{bad:?} must be refused");
        }
    }
}
