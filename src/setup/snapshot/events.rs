//! Differences between two snapshots, described as events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::{Snapshot, SnapshotSecret, network_data_secrets, text_at};
use crate::base::api::names::{HostKey, SecretKey};

/// A change of a host between two snapshots. It is displayed on one line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// The host.
    pub host: HostKey,
    /// Predicate of a sentence whose subject is the host.
    pub what: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host `{}` {}", self.host, self.what)
    }
}

/// Returns the events between two snapshots, sorted by host.
pub fn events(before: &Snapshot, after: &Snapshot) -> Vec<Event> {
    let hosts: BTreeSet<&HostKey> = before.hosts.keys().chain(after.hosts.keys()).collect();
    let mut events = Vec::new();
    for key in hosts {
        let said = match (before.hosts.get(key), after.hosts.get(key)) {
            (None, Some(host)) => vec![format!("is new, {}", in_state(host))],
            (Some(host), None) => vec![format!("is gone, was {}", in_state(host))],
            (Some(old), Some(new)) => {
                let mut said = host_events(old, new);
                said.extend(hardware_event(before.hardware.get(key), after.hardware.get(key)));
                said.extend(secret_events(key, (old, before), (new, after)));
                said
            }
            (None, None) => Vec::new(),
        };
        events.extend(said.into_iter().map(|what| Event { host: key.clone(), what }));
    }
    events
}

/// The provisioning state and error of a host.
#[derive(PartialEq)]
struct Condition<'a> {
    state: &'a str,
    error: Option<&'a str>,
}

impl<'a> Condition<'a> {
    fn from_host(host: &'a Value) -> Self {
        let error = text_at(host, "/status/errorType")
            .or_else(|| text_at(host, "/status/operationalStatus"));
        Self { state: text_at(host, "/status/provisioning/state").unwrap_or("unknown"), error }
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
    Condition::from_host(host).to_string()
}

fn host_events(old: &Value, new: &Value) -> Vec<String> {
    let mut said = Vec::new();
    if let (Some(before), Some(after)) =
        (text_at(old, "/metadata/uid"), text_at(new, "/metadata/uid"))
        && before != after
    {
        said.push("was deleted and recreated".to_owned());
    }
    let is_deleted = |host: &Value| host.pointer("/metadata/deletionTimestamp").is_some();
    match (is_deleted(old), is_deleted(new)) {
        (false, true) => said.push("is being deleted".to_owned()),
        (true, false) => said.push("is no longer being deleted".to_owned()),
        _ => {}
    }
    let (before, after) = (Condition::from_host(old), Condition::from_host(new));
    if before != after {
        said.push(format!("went from {before} to {after}"));
    }
    match (consumer(old), consumer(new)) {
        (None, Some(new)) => said.push(format!("is now consumed by `{new}`")),
        (Some(old), None) => said.push(format!("is no longer consumed by `{old}`")),
        (Some(old), Some(new)) if old != new => {
            said.push(format!("is now consumed by `{new}`, no longer by `{old}`"))
        }
        _ => {}
    }
    said.extend(text_event(
        "label",
        old.pointer("/metadata/labels"),
        new.pointer("/metadata/labels"),
    ));
    said.extend(text_event(
        "annotation",
        old.pointer("/metadata/annotations"),
        new.pointer("/metadata/annotations"),
    ));
    said.extend(manager_events(old, new));
    said.extend(hardware_event(old.pointer("/status/hardware"), new.pointer("/status/hardware")));
    said.extend(field_events(old, new));
    said
}

fn consumer(host: &Value) -> Option<String> {
    let part = |field: &str| text_at(host, &format!("/spec/consumerRef/{field}"));
    let namespace = part("namespace").map(|namespace| format!("{namespace}/")).unwrap_or_default();
    host.pointer("/spec/consumerRef")?;
    let kind = part("kind").unwrap_or("object");
    Some(part("name").map_or_else(
        || format!("{kind} without a name"),
        |name| format!("{kind} {namespace}{name}"),
    ))
}

/// Compares labels or annotations.
fn text_event(noun: &str, old: Option<&Value>, new: Option<&Value>) -> Vec<String> {
    let texts = |object: Option<&Value>| -> BTreeMap<String, String> {
        let entries = object.and_then(Value::as_object).into_iter().flatten();
        entries
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect()
    };
    let (old, new) = (texts(old), texts(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let say = |key: &&String| match (old.get(*key), new.get(*key)) {
        (None, Some(value)) => Some(format!("has the new {noun} `{key}: {value}`")),
        (Some(value), None) => Some(format!("has lost the {noun} `{key}: {value}`")),
        (Some(old), Some(new)) if old != new => {
            Some(format!("has the {noun} `{key}: {new}`, no longer `{old}`"))
        }
        _ => None,
    };
    keys.iter().filter_map(say).collect()
}

fn manager_events(old: &Value, new: &Value) -> Vec<String> {
    let managers = |host: &Value| -> BTreeMap<String, Value> {
        let entries =
            host.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
        let entry = |entry: &Value| {
            let text = |field: &str| entry.get(field).and_then(Value::as_str);
            Some((
                format!("{} ({})", text("manager")?, text("operation")?),
                entry.get("fieldsV1")?.clone(),
            ))
        };
        entries.filter_map(entry).collect()
    };
    let (old, new) = (managers(old), managers(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let say = |name: &&String| match (old.get(*name), new.get(*name)) {
        (None, Some(_)) => Some(format!("has the new field manager `{name}`")),
        (Some(_), None) => Some(format!("has lost the field manager `{name}`")),
        (before, after) if before != after => {
            Some(format!("has changed fields of the field manager `{name}`"))
        }
        _ => None,
    };
    names.iter().filter_map(say).collect()
}

/// Fields of the spec without a specific event.
const FIELDS: [&str; 12] = [
    "bmc/address",
    "bmc/credentialsName",
    "bmc/disableCertificateVerification",
    "bootMACAddress",
    "customDeploy/method",
    "disablePowerOff",
    "externallyProvisioned",
    "image/url",
    "networkData/name",
    "networkData/namespace",
    "online",
    "preprovisioningNetworkDataName",
];

fn field_events(old: &Value, new: &Value) -> Vec<String> {
    let value = |host: &Value, field: &str| match host.pointer(&format!("/spec/{field}")) {
        None => "unset".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(other) => format!("`{other}`"),
    };
    let say = |field: &&str| {
        let (old, new) = (value(old, field), value(new, field));
        (old != new)
            .then(|| format!("has changed spec.{}: {new}, was {old}", field.replace('/', ".")))
    };
    FIELDS.iter().filter_map(say).collect()
}

fn hardware_event(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    match (old, new) {
        (None, Some(_)) => Some("now has hardware details".to_owned()),
        (Some(_), None) => Some("no longer has hardware details".to_owned()),
        (Some(old), Some(new)) if old != new => Some("has changed hardware".to_owned()),
        _ => None,
    }
}

fn secret_events(key: &HostKey, old: (&Value, &Snapshot), new: (&Value, &Snapshot)) -> Vec<String> {
    let named =
        |(host, snapshot): (&Value, &Snapshot)| -> BTreeMap<SecretKey, Option<SnapshotSecret>> {
            let all = network_data_secrets(key, host).into_iter();
            all.map(|secret| (secret.clone(), snapshot.secrets.get(&secret).cloned())).collect()
        };
    let (old, new) = (named(old), named(new));
    let say = |(secret, before): (&SecretKey, &Option<SnapshotSecret>)| match (
        before,
        new.get(secret)?,
    ) {
        (None, Some(_)) => Some(format!("now has its Secret `{secret}`")),
        (Some(_), None) => Some(format!("has lost its Secret `{secret}`")),
        (Some(before), Some(after)) if before != after => {
            Some(format!("has changed network data in the Secret `{secret}`"))
        }
        _ => None,
    };
    old.iter().filter_map(say).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn snapshot(hosts: &[(&str, Value)]) -> Snapshot {
        let host = |(key, host): &(&str, Value)| (key.parse().unwrap(), host.clone());
        Snapshot { hosts: hosts.iter().map(host).collect(), ..Snapshot::default() }
    }

    fn said(before: &Snapshot, after: &Snapshot) -> Vec<String> {
        events(before, after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_life_of_a_host_is_told() {
        let available = json!({"metadata": {"labels": {"rack": "r7"}}, "status": {"provisioning": {"state": "available"}}});
        let mut failed = available.clone();
        failed["status"]["errorType"] = "registration error".into();
        failed["metadata"]["labels"] = json!({"rack": "r8", "new": ""});
        failed["spec"] = json!({"consumerRef": {"kind": "Metal3Machine", "namespace": "a", "name": "m"}, "online": true});
        let (old, new) = (
            snapshot(&[("a/x", available.clone()), ("a/y", available.clone())]),
            snapshot(&[("a/y", failed.clone()), ("a/z", available)]),
        );
        assert_eq!(
            said(&old, &new),
            [
                "host `a/x` is gone, was `available`",
                "host `a/y` went from `available` to `error` (registration error, in state `available`)",
                "host `a/y` is now consumed by `Metal3Machine a/m`",
                "host `a/y` has the new label `new: `",
                "host `a/y` has the label `rack: r8`, no longer `r7`",
                "host `a/y` has changed spec.online: `true`, was unset",
                "host `a/z` is new, `available`",
            ]
        );
        assert_eq!(said(&new, &new), [] as [&str; 0]);
        assert!(
            said(&new, &old)
                .contains(&"host `a/y` is no longer consumed by `Metal3Machine a/m`".to_owned())
        );
        failed["metadata"]["deletionTimestamp"] = "x".into();
        let deleting = snapshot(&[("a/y", failed.clone()), ("a/z", failed)]);
        assert!(said(&new, &deleting).contains(&"host `a/y` is being deleted".to_owned()));
    }

    #[test]
    fn every_difference_is_an_event() {
        let full = json!({
            "metadata": {"uid": "u", "labels": {"l": "v"}, "annotations": {"a": "v"}, "deletionTimestamp": "d",
                "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"online": true, "bootMACAddress": "m", "preprovisioningNetworkDataName": "p",
                "customDeploy": {"method": "m"}, "disablePowerOff": true, "externallyProvisioned": true, "image": {"url": "u"},
                "bmc": {"address": "a", "credentialsName": "c", "disableCertificateVerification": true},
                "networkData": {"name": "n", "namespace": "ns"}, "consumerRef": {"kind": "k", "name": "n", "namespace": "ns"}},
            "status": {"errorType": "e", "operationalStatus": "error", "provisioning": {"state": "s"},
                "hardware": {"ramMebibytes": 1}}
        });
        let mut leaves = Vec::new();
        leaves_of(&full, String::new(), &mut leaves);
        for leaf in leaves {
            let mut changed = full.clone();
            *changed.pointer_mut(&leaf).unwrap() = match full.pointer(&leaf).unwrap() {
                Value::Bool(value) => (!value).into(),
                Value::Number(_) => 2.into(),
                Value::Object(_) => json!({"f:x": {}}),
                _ => "other".into(),
            };
            let is_marked_only =
                leaf == "/metadata/deletionTimestamp" || leaf == "/status/operationalStatus";
            let said = said(&snapshot(&[("a/x", full.clone())]), &snapshot(&[("a/x", changed)]));
            assert_eq!(said.is_empty(), is_marked_only, "{leaf}: {said:?}");
        }
    }

    fn leaves_of(value: &Value, route: String, leaves: &mut Vec<String>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields
                    .iter()
                    .for_each(|(name, value)| leaves_of(value, format!("{route}/{name}"), leaves));
            }
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| leaves_of(item, format!("{route}/{index}"), leaves));
            }
            _ => leaves.push(route),
        }
    }
}
