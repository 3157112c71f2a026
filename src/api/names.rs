//! Names and numbers of the domain, checked once at the border and trusted ever after.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What [`Namespace`] takes, for schemas. It says nothing of the length, which is a keyword of its own there.
pub const NAMESPACE_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// What [`ObjectName`] takes, for schemas, but for the length of the whole.
pub const OBJECT_NAME_PATTERN: &str =
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
/// What [`is_label_value`] takes, for schemas, but for the length of the whole.
pub const LABEL_VALUE_PATTERN: &str = "^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$";
/// What [`is_label_key`] takes, for schemas, but for the length of what stands before the slash.
pub const LABEL_KEY_PATTERN: &str = concat!(
    r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*/)?",
    "[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
);

/// What [`StorageSize`] takes, for schemas.
pub const STORAGE_SIZE_PATTERN: &str = "^[1-9][0-9]{0,5}(Mi|Gi|Ti)$";

/// Why a text is not the name or number that it should be. Its display completes the sentence "`x` …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    pub(super) fn because(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// A namespace: a DNS label (RFC 1123) of at most 63 characters, so without dots and fit for a path.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(extend("maxLength" = 63, "pattern" = NAMESPACE_PATTERN))]
pub struct Namespace(String);

impl Namespace {
    /// The namespace of an object that names none.
    pub fn default_namespace() -> Self {
        Self("default".to_owned())
    }

    /// The namespace's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > 63 {
            return Err(Invalid("has more than 63 characters".to_owned()));
        }
        if text.contains('.') {
            return Err(Invalid(
                "has a dot, which a namespace must not have".to_owned(),
            ));
        }
        check_dns(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// An object's name: a DNS subdomain (RFC 1123) of at most 253 characters; it may have dots.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(extend("maxLength" = 253, "pattern" = OBJECT_NAME_PATTERN))]
pub struct ObjectName(String);

impl ObjectName {
    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ObjectName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > 253 {
            return Err(Invalid("has more than 253 characters".to_owned()));
        }
        check_dns(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// The size of a volume: a whole number of mebibytes, gibibytes or tebibytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = STORAGE_SIZE_PATTERN))]
pub struct StorageSize(String);

impl FromStr for StorageSize {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = ["Mi", "Gi", "Ti"]
            .iter()
            .find_map(|unit| text.strip_suffix(unit))
            .unwrap_or_default();
        let is_size = matches!(number.len(), 1..=6)
            && number.bytes().all(|c| c.is_ascii_digit())
            && !number.starts_with('0');
        is_size.then(|| Self(text.to_owned())).ok_or_else(|| {
            Invalid("is not the size of a volume, such as `500Mi` or `10Gi`".to_owned())
        })
    }
}

/// RFC 1123: parts of `a-z`, `0-9` and `-` between dots, each beginning and ending with a letter or digit.
fn check_dns(text: &str) -> Result<(), Invalid> {
    let part_ok = |part: &str| {
        let edge =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        part.len() <= 63
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && edge(part.chars().next())
            && edge(part.chars().last())
    };
    if text.split('.').all(part_ok) {
        Ok(())
    } else {
        Err(Invalid(
            "is not a DNS name: lower-case letters, digits and `-`, beginning and ending with a letter or digit"
                .to_owned(),
        ))
    }
}

macro_rules! object_key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        pub struct $name {
            /// The object's namespace, as `kustomize build` gives it.
            pub namespace: Namespace,
            /// The object's name.
            pub name: ObjectName,
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.namespace, self.name)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            /// Reads `NAMESPACE/NAME`.
            fn from_str(text: &str) -> Result<Self, Invalid> {
                let (namespace, name) = text
                    .split_once('/')
                    .ok_or_else(|| Invalid("is not NAMESPACE/NAME".to_owned()))?;
                Ok(Self { namespace: namespace.parse()?, name: name.parse()? })
            }
        }
    };
}

object_key! {
    /// What identifies a BareMetalHost. A snapshot has hosts of many namespaces, so the name alone does not.
    HostKey
}

object_key! {
    /// What identifies a SIPCluster.
    ClusterKey
}

object_key! {
    /// What identifies a Secret.
    SecretKey
}

/// What a host is for in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum Role {
    /// Runs the tenant's control plane.
    ControlPlane,
    /// Runs the tenant's workloads.
    Worker,
}

impl Role {
    /// Both roles, in the order in which they are filled.
    pub const ALL: [Role; 2] = [Role::ControlPlane, Role::Worker];

    /// The role's name as it stands in `spec.nodes` and in the node-type label.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::ControlPlane => "ControlPlane",
            Role::Worker => "Worker",
        }
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Role::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| {
                Invalid("is not a role: the roles are ControlPlane and Worker".to_owned())
            })
    }
}

/// The name that a Provisioning gives to one of its machines: what a label's value may be, and not empty. It becomes the
/// node's name in the inventory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(extend("minLength" = 1, "maxLength" = 63, "pattern" = LABEL_VALUE_PATTERN))]
pub struct NodeName(String);

impl NodeName {
    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for NodeName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err(Invalid("is empty".to_owned()));
        }
        if !is_label_value(text) {
            return Err(Invalid(
                "is not fit for a label: at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a \
                 letter or digit"
                    .to_owned(),
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

/// What a host is for in its cluster: one of the hosts of a role, which are alike to a SIPCluster, or the one machine
/// that a Provisioning calls by a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Part {
    /// The role; that of the control plane for a machine that has both.
    pub role: Role,
    /// The machine's name in its Provisioning; nothing in SIPClusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
}

impl From<Role> for Part {
    fn from(role: Role) -> Self {
        Self { role, node: None }
    }
}

impl fmt::Display for Part {
    /// The role, or the name with the role: `Worker`, `worker-1 (Worker)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            None => self.role.fmt(f),
            Some(node) => write!(f, "{node} ({})", self.role),
        }
    }
}

/// A port that every node of the base cluster opens for a Service; the default range of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct NodePort(u16);

impl NodePort {
    /// The lowest NodePort.
    pub const FIRST: u16 = 30000;
    /// The highest NodePort.
    pub const LAST: u16 = 32767;

    /// The port's number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// What an editor says of one.
    pub(super) fn range() -> serde_json::Value {
        json!({"minimum": Self::FIRST, "maximum": Self::LAST})
    }

    /// What an API server says of one. It takes 0, too: the SIP operator's Services then got any port.
    pub(super) fn rule() -> serde_json::Value {
        let (first, last) = (Self::FIRST, Self::LAST);
        json!({
            "rule": format!("self == 0 || (self >= {first} && self <= {last})"),
            "message": format!("choose a port of {first} to {last}")
        })
    }
}

impl TryFrom<i64> for NodePort {
    type Error = Invalid;

    fn try_from(number: i64) -> Result<Self, Invalid> {
        u16::try_from(number)
            .ok()
            .filter(|port| (Self::FIRST..=Self::LAST).contains(port))
            .map(Self)
            .ok_or_else(|| {
                Invalid(format!(
                    "is outside the NodePorts {}-{}",
                    Self::FIRST,
                    Self::LAST
                ))
            })
    }
}

/// Whether a text can be a label's value: at most 63 characters of letters, digits, `-`, `_` and `.`,
/// beginning and ending with a letter or digit; or empty.
pub fn is_label_value(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && edge(text.chars().next())
        && edge(text.chars().last())
}

/// Whether a text can be a label's key: a name like a label's value, not empty, and before it, if wanted, a
/// DNS name and a slash.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    !name.is_empty()
        && is_label_value(name)
        && prefix.is_none_or(|prefix| prefix.len() <= 253 && check_dns(prefix).is_ok())
}

macro_rules! display_as_str {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
display_as_str!(Namespace, ObjectName, Role);

macro_rules! try_from_string {
    ($($name:ty),*) => {$(
        /// For serde, whose errors do not name the text that they are about.
        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                text.parse().map_err(|Invalid(reason)| Invalid(format!("`{text}` {reason}")))
            }
        }
    )*};
}
try_from_string!(Namespace, ObjectName, StorageSize);

impl fmt::Display for NodePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_a_dns_label_so_it_can_never_leave_its_directory() {
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "A",
            "a.b",
            "-a",
            "a-",
            "a b",
            &"a".repeat(64),
        ] {
            assert!(bad.parse::<Namespace>().is_err(), "{bad:?} must be refused");
        }
        assert!("tenant-a".parse::<Namespace>().is_ok());
    }

    #[test]
    fn an_object_name_may_have_dots_but_no_empty_part() {
        assert!("edge.lab-1".parse::<ObjectName>().is_ok());
        for bad in ["..", "a..b", ".a", "a.", "a_b", &"a".repeat(254)] {
            assert!(
                bad.parse::<ObjectName>().is_err(),
                "{bad:?} must be refused"
            );
        }
    }

    #[test]
    fn node_ports_end_where_those_of_kubernetes_end() {
        assert!(NodePort::try_from(30000).is_ok());
        assert!(NodePort::try_from(32767).is_ok());
        for bad in [29999, 32768, 0, -1, 95536] {
            assert!(NodePort::try_from(bad).is_err(), "{bad} must be refused");
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
