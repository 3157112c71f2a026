//! Decodes a Provisioning or Software: its cluster, and its spec after the lists of machines.
//!
//! Names that are not quoted may be another value for other YAML parsers.

use yaml_serde::{Mapping, Value};

use crate::base::api::host::Metadata;
use crate::base::api::names::ObjectName;
use crate::base::api::provisioning::{
    CLUSTER, KIND, LONGEST_NAME, ProvisioningSpec, SOFTWARE_KIND, SoftwareSpec,
};
use crate::base::finding::{Code, Finding, Origin, Place, RouteStep};
use crate::base::text::counted;
use crate::input::decode::unknown_fields::{OF_PROVISIONING, OF_SOFTWARE};
use crate::input::load::{Document, OtherReading, PlainScalars, read_by_others};
use crate::site::request::decode_spec::{permitted_value, read_spec};
use crate::site::request::documents::{RequestSpec, Spec};

/// Fields of a machine. A field with too little indentation looks like the name of a machine.
const FIELDS: [&str; 6] = ["mac-address", "cpu", "memory", "sriov", "qat", "labelSelector"];

/// Decodes the spec of a Provisioning.
pub(super) fn decode_spec(document: &Document<'_>, value: Value) -> (Spec, Vec<Finding>) {
    let misshapen = misshapen(&value["spec"], &document.origin);
    if !misshapen.is_empty() {
        return (None, misshapen);
    }
    let (spec, mut found) = read_spec::<ProvisioningSpec>(document, &value, &OF_PROVISIONING, KIND);
    found.extend(unquoted_machines(document, &value["spec"]));
    (spec.map(|spec| spec as Box<dyn RequestSpec>), found)
}

/// Decodes the spec of a Software.
pub(crate) fn decode_software(
    document: &Document<'_>,
) -> (Option<Box<SoftwareSpec>>, Vec<Finding>) {
    match permitted_value(document, SOFTWARE_KIND) {
        Ok(value) => read_spec(document, &value, &OF_SOFTWARE, SOFTWARE_KIND),
        Err(found) => (None, found),
    }
}

/// Returns the cluster's name from the label `cluster`.
pub(crate) fn cluster_of(
    kind: &str,
    origin: &Origin,
    metadata: &Metadata,
) -> Result<ObjectName, Finding> {
    let invalid = |message: String, place, help: &str| {
        Err(Finding::new(Code::InvalidClusterLabel, message).at(place).help(help))
    };
    let place = origin.at(["metadata", "labels", CLUSTER]);
    let Some(label) = metadata.label(CLUSTER).filter(|label| !label.is_empty()) else {
        let what = if kind == KIND { "makes" } else { "is for" };
        let message =
            format!("the {kind} has no label `cluster`: the cluster that it {what} is unknown");
        let help = "write the cluster's name: `metadata: {labels: {cluster: NAME}}`, in the file or in a kustomization that \
                    builds it";
        return invalid(message, origin.name(), help);
    };
    match label.parse::<ObjectName>() {
        Ok(name) if label.len() <= LONGEST_NAME => Ok(name),
        Ok(_) => {
            let message =
                format!("the cluster's name `{label}` has more than {LONGEST_NAME} characters");
            let help = "choose a shorter name: the Job is named `k8s-NAME-HASH`, which has at most 63 characters";
            invalid(message, place, help)
        }
        Err(error) => {
            let message = format!("the cluster's name `{label}` {error}");
            let help = "fix the label `cluster`: it names the cluster's Job and ConfigMap";
            invalid(message, place, help)
        }
    }
}

/// Reports list entries that are not a machine with a name.
///
/// Decoding would report wrong indentation as a wrong type.
fn misshapen(spec: &Value, origin: &Origin) -> Vec<Finding> {
    let finding = |(list, index, entry): (&'static str, usize, _)| {
        let (message, help) = wrong(list, entry)?;
        let route: [RouteStep; 3] = ["spec".into(), list.into(), index.into()];
        Some(Finding::new(Code::InvalidMachine, message).at(origin.at(route)).help(help))
    };
    machine_entries(spec).filter_map(finding).collect()
}

/// Returns the mappings in both lists of machines, each with the name of its list and its index.
fn machine_entries(spec: &Value) -> impl Iterator<Item = (&'static str, usize, &Mapping)> {
    ["masters", "workers"].into_iter().flat_map(move |list| {
        let entries = spec.get(list).and_then(Value::as_sequence).into_iter().flatten().enumerate();
        entries.filter_map(move |(index, entry)| Some((list, index, entry.as_mapping()?)))
    })
}

/// Returns message and help for an invalid list entry.
fn wrong(list: &str, entry: &Mapping) -> Option<(String, String)> {
    let keys: Vec<&str> = entry.keys().filter_map(Value::as_str).collect();
    // Other programs read such a name as a number or boolean, and kubectl rejects it as a key.
    if keys.len() < entry.len() {
        let message =
            format!("an entry of `{list}` has a name that other programs do not read as text");
        let help = "quote the name of the machine, such as `\"12\"`";
        return Some((message, help.to_owned()));
    }
    match keys.as_slice() {
        [one] if FIELDS.contains(one) && !entry.values().any(Value::is_mapping) => Some((
            format!("an entry of `{list}` has no machine name"),
            format!("write the name before it: `- NAME: {{{one}: …}}`"),
        )),
        [_] => None,
        several => {
            let count = counted(several.len(), "key");
            let message = format!("an entry of `{list}` has {count} instead of one");
            let name = several.iter().find(|key| !FIELDS.contains(*key));
            let help = match (name, several.iter().find(|key| FIELDS.contains(*key))) {
                (Some(name), Some(field)) => {
                    format!("indent `{field}` further than `{name}`, the machine's name")
                }
                _ => "write a dash before each machine's name, and indent its fields below it"
                    .to_owned(),
            };
            Some((message, help))
        }
    }
}

/// Checks the label with the cluster's name. Null becomes an empty text, as in the API server.
pub(crate) fn unquoted_label(
    document: &Document<'_>,
    kind: &str,
    metadata: &mut Metadata,
) -> Option<Finding> {
    let label = metadata.labels.as_mut()?.get_mut(CLUSTER)?;
    let is_plain = || PlainScalars::new(document).has(&["metadata", "labels", CLUSTER], label);
    let reading = read_by_others(label).filter(|_| is_plain())?;
    if reading == OtherReading::Null {
        label.clear();
        return None;
    }
    let subject = format!("the label `cluster: {label}` of the {kind}");
    let place = document.origin.at(["metadata", "labels", CLUSTER]);
    let help =
        format!("quote it, `cluster: \"{label}\"`: the API server accepts only text as a label");
    Some(unquoted(&subject, reading, place, help))
}

fn unquoted(subject: &str, reading: OtherReading, place: Place, help: String) -> Finding {
    let message = format!("{subject} has no quotes: kubectl or kustomize reads {reading}");
    Finding::new(Code::UnquotedName, message).at(place).help(help)
}

/// Checks the names of machines.
fn unquoted_machines(document: &Document<'_>, spec: &Value) -> Vec<Finding> {
    let plain = PlainScalars::new(document);
    let finding = |(list, index, entry): (&'static str, usize, &Mapping)| {
        let name = entry.keys().next()?.as_str()?;
        let reading = read_by_others(name)?;
        let route: Vec<RouteStep> = vec!["spec".into(), list.into(), index.into(), name.into()];
        let help = format!("quote it, `\"{name}\"`: the API server would store another name");
        plain.has_key(&route).then(|| {
            let place = document.origin.key(route);
            unquoted(&format!("the machine's name `{name}`"), reading, place, help)
        })
    };
    machine_entries(spec).filter_map(finding).collect()
}
