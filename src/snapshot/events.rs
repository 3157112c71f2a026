//! What differs between two snapshots, as events in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::{Secret, Snapshot, secrets_of};
use crate::api::names::{HostKey, SecretKey};

/// One thing that happened to a host between two snapshots. The display is one line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// The host.
    pub host: HostKey,
    /// What happened, as the rest of a sentence that begins with the host.
    pub what: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host `{}` {}", self.host, self.what)
    }
}

/// Names what happened between two snapshots, by host.
pub fn events(before: &Snapshot, after: &Snapshot) -> Vec<Event> {
    let hosts: BTreeSet<&HostKey> = before.hosts.keys().chain(after.hosts.keys()).collect();
    let mut events = Vec::new();
    for key in hosts {
        let said = match (before.hosts.get(key), after.hosts.get(key)) {
            (None, Some(host)) => vec![format!("is new, {}", in_state(host))],
            (Some(host), None) => vec![format!("is gone, was {}", in_state(host))],
            (Some(old), Some(new)) => {
                let mut said = of_host(old, new);
                said.extend(of_hardware(before.hardware.get(key), after.hardware.get(key)));
                said.extend(of_secrets(key, (old, before), (new, after)));
                said
            }
            (None, None) => Vec::new(),
        };
        events.extend(said.into_iter().map(|what| Event { host: key.clone(), what }));
    }
    events
}

/// How a host is: its error, or its provisioning state.
#[derive(PartialEq)]
struct Condition<'a> {
    state: &'a str,
    error: Option<&'a str>,
}

impl<'a> Condition<'a> {
    fn of(host: &'a Value) -> Self {
        let error = text(host, "/status/errorType").or_else(|| text(host, "/status/operationalStatus"));
        Self { state: text(host, "/status/provisioning/state").unwrap_or("unknown"), error }
    }
}

impl fmt::Display for Condition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            Some(error) => write!(f, "`error` ({error}, in state `{}`)", self.state),
            None => write!(f, "`{}`", self.state),
        }
    }
}

fn in_state(host: &Value) -> String {
    Condition::of(host).to_string()
}

fn text<'a>(object: &'a Value, route: &str) -> Option<&'a str> {
    object.pointer(route).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn of_host(old: &Value, new: &Value) -> Vec<String> {
    let mut said = Vec::new();
    if let (Some(before), Some(after)) = (text(old, "/metadata/uid"), text(new, "/metadata/uid"))
        && before != after
    {
        said.push("was deleted and made anew".to_owned());
    }
    let is_deleted = |host: &Value| host.pointer("/metadata/deletionTimestamp").is_some();
    match (is_deleted(old), is_deleted(new)) {
        (false, true) => said.push("is being deleted".to_owned()),
        (true, false) => said.push("is no longer being deleted".to_owned()),
        _ => {}
    }
    let (before, after) = (Condition::of(old), Condition::of(new));
    if before != after {
        said.push(format!("went from {before} to {after}"));
    }
    match (consumer(old), consumer(new)) {
        (None, Some(new)) => said.push(format!("is now consumed by `{new}`")),
        (Some(old), None) => said.push(format!("is no longer consumed by `{old}`")),
        (Some(old), Some(new)) if old != new => said.push(format!("is now consumed by `{new}`, no longer by `{old}`")),
        _ => {}
    }
    said.extend(of_texts("label", old.pointer("/metadata/labels"), new.pointer("/metadata/labels")));
    said.extend(of_texts("annotation", old.pointer("/metadata/annotations"), new.pointer("/metadata/annotations")));
    if old.pointer("/metadata/managedFields") != new.pointer("/metadata/managedFields") {
        said.push("has other field managers".to_owned());
    }
    said.extend(of_hardware(old.pointer("/status/hardware"), new.pointer("/status/hardware")));
    said.extend(of_fields(old, new));
    said
}

fn consumer(host: &Value) -> Option<String> {
    let part = |field: &str| text(host, &format!("/spec/consumerRef/{field}"));
    let namespace = part("namespace").map(|namespace| format!("{namespace}/")).unwrap_or_default();
    Some(format!("{} {namespace}{}", part("kind").unwrap_or("object"), part("name")?))
}

/// Compares labels or annotations.
fn of_texts(noun: &str, old: Option<&Value>, new: Option<&Value>) -> Vec<String> {
    let texts = |object: Option<&Value>| -> BTreeMap<String, String> {
        let entries = object.and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    };
    let (old, new) = (texts(old), texts(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let say = |key: &&String| match (old.get(*key), new.get(*key)) {
        (None, Some(value)) => Some(format!("has the new {noun} `{key}: {value}`")),
        (Some(value), None) => Some(format!("has lost the {noun} `{key}: {value}`")),
        (Some(old), Some(new)) if old != new => Some(format!("has the {noun} `{key}: {new}`, no longer `{old}`")),
        _ => None,
    };
    keys.iter().filter_map(say).collect()
}

/// The fields of the spec that have no words of their own.
const FIELDS: [&str; 8] = [
    "bmc/address",
    "bmc/credentialsName",
    "bmc/disableCertificateVerification",
    "bootMACAddress",
    "networkData/name",
    "networkData/namespace",
    "online",
    "preprovisioningNetworkDataName",
];

fn of_fields(old: &Value, new: &Value) -> Vec<String> {
    let value = |host: &Value, field: &str| match host.pointer(&format!("/spec/{field}")) {
        None => "unset".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(other) => format!("`{other}`"),
    };
    let say = |field: &&str| {
        let (old, new) = (value(old, field), value(new, field));
        (old != new).then(|| format!("has another spec.{}: {new}, was {old}", field.replace('/', ".")))
    };
    FIELDS.iter().filter_map(say).collect()
}

fn of_hardware(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    match (old, new) {
        (None, Some(_)) => Some("has hardware details now".to_owned()),
        (Some(_), None) => Some("has no hardware details any more".to_owned()),
        (Some(old), Some(new)) if old != new => Some("has other hardware".to_owned()),
        _ => None,
    }
}

fn of_secrets(key: &HostKey, old: (&Value, &Snapshot), new: (&Value, &Snapshot)) -> Vec<String> {
    let named = |(host, snapshot): (&Value, &Snapshot)| -> BTreeMap<SecretKey, Option<Secret>> {
        let named = secrets_of(key, host);
        let all = named.network_data.into_iter().chain(named.credentials);
        all.map(|secret| (secret.clone(), snapshot.secrets.get(&secret).cloned())).collect()
    };
    let (old, new) = (named(old), named(new));
    let say = |(secret, before): (&SecretKey, &Option<Secret>)| match (before, new.get(secret)?) {
        (None, Some(_)) => Some(format!("has its Secret `{secret}` now")),
        (Some(_), None) => Some(format!("has lost its Secret `{secret}`")),
        (Some(before), Some(after)) if before != after => {
            Some(format!("has other network data in the Secret `{secret}`"))
        }
        _ => None,
    };
    old.iter().filter_map(say).collect()
}
