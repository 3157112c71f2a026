//! Differences between two snapshots, described as events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::{Snapshot, network_data_secrets, text_at};
use crate::base::api::names::HostKey;

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
                let (before_hardware, hardware) =
                    (before.hardware.get(key), after.hardware.get(key));
                said.extend(part_event("HardwareData", before_hardware, hardware));
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
    said.extend(field_events(old, new));
    for (part, pointer) in
        [("field managers", "/metadata/managedFields"), ("hardware details", "/status/hardware")]
    {
        said.extend(part_event(part, old.pointer(pointer), new.pointer(pointer)));
    }
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

/// Compares labels, annotations, and fields of the spec.
fn field_events(old: &Value, new: &Value) -> Vec<String> {
    let (old, new) = (fields(old), fields(new));
    let names: BTreeSet<&(&str, String)> = old.keys().chain(new.keys()).collect();
    let say = |name: &(&str, String)| {
        let (noun, field) = name;
        match (old.get(name), new.get(name)) {
            (None, Some(value)) => Some(format!("has the new {noun} `{field}: {value}`")),
            (Some(value), None) => Some(format!("has lost the {noun} `{field}: {value}`")),
            (Some(old), Some(new)) if old != new => {
                Some(format!("has the {noun} `{field}: {new}`, no longer `{old}`"))
            }
            _ => None,
        }
    };
    names.into_iter().filter_map(say).collect()
}

/// Returns labels, annotations, and fields of the spec except `consumerRef`, by noun and name.
fn fields(host: &Value) -> BTreeMap<(&'static str, String), String> {
    let mut open = vec![
        ("label", String::new(), host.pointer("/metadata/labels")),
        ("annotation", String::new(), host.pointer("/metadata/annotations")),
        ("field", "spec".to_owned(), host.pointer("/spec")),
    ];
    let mut fields = BTreeMap::new();
    while let Some((noun, name, value)) = open.pop() {
        match value {
            Some(Value::Object(inner)) => open.extend(inner.iter().map(|(key, value)| {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                (noun, name, Some(value).filter(|_| key != "consumerRef"))
            })),
            Some(Value::String(text)) => drop(fields.insert((noun, name), text.clone())),
            Some(other) => drop(fields.insert((noun, name), other.to_string())),
            None => {}
        }
    }
    fields
}

/// Compares what is too large for a line, such as hardware details.
fn part_event<T: PartialEq>(part: &str, old: Option<T>, new: Option<T>) -> Option<String> {
    match (old, new) {
        (None, Some(_)) => Some(format!("now has {part}")),
        (Some(_), None) => Some(format!("no longer has {part}")),
        (old, new) => (old != new).then(|| format!("has changed {part}")),
    }
}

fn secret_events(key: &HostKey, old: (&Value, &Snapshot), new: (&Value, &Snapshot)) -> Vec<String> {
    let (old_names, names) = (network_data_secrets(key, old.0), network_data_secrets(key, new.0));
    let same = names.into_iter().filter(|secret| old_names.contains(secret));
    same.filter_map(|secret| {
        let part = format!("network data in the Secret `{secret}`");
        part_event(&part, old.1.secrets.get(&secret), new.1.secrets.get(&secret))
    })
    .collect()
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
                "host `a/y` has the new field `spec.online: true`",
                "host `a/y` has the new label `new: `",
                "host `a/y` has the label `rack: r8`, no longer `r7`",
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
