//! Checks a Provisioning or Software before its spec is decoded: the label `cluster`, and the lists
//! of machines.

use yaml_serde::{Mapping, Value};

use crate::base::api::host::Metadata;
use crate::base::api::names::ObjectName;
use crate::base::api::provisioning::{CLUSTER, KIND, LONGEST_NAME};
use crate::base::finding::{Code, Finding, Origin, RouteStep};
use crate::base::text::counted;

/// Fields of a machine. A field with too little indentation looks like the name of a machine.
const FIELDS: [&str; 6] = ["mac-address", "cpu", "memory", "sriov", "qat", "labelSelector"];

/// Returns the cluster's name from the label `cluster`.
pub(crate) fn cluster_of(
    kind: &str,
    origin: &Origin,
    metadata: &Metadata,
) -> Result<ObjectName, Finding> {
    let invalid = |message, place| Finding::new(Code::InvalidClusterLabel, message).at(place);
    let Some(label) = metadata.label(CLUSTER).filter(|label| !label.is_empty()) else {
        let what = if kind == KIND { "makes" } else { "is for" };
        let message =
            format!("the {kind} has no label `cluster`: the cluster that it {what} is unknown");
        return Err(invalid(message, origin.name()).help(
            "write the cluster's name: `metadata: {labels: {cluster: NAME}}`, in the file or in a kustomization that \
             builds it",
        ));
    };
    let place = origin.at(["metadata", "labels", CLUSTER]);
    let name: ObjectName = label.parse().map_err(|error| {
        let message = format!("the cluster's name `{label}` {error}");
        let help = "fix the label `cluster`: it names the cluster's Job and ConfigMap";
        invalid(message, place.clone()).help(help)
    })?;
    if label.len() > LONGEST_NAME {
        let message =
            format!("the cluster's name `{label}` has more than {LONGEST_NAME} characters");
        let help = "choose a shorter name: the Job is named `k8s-NAME-HASH`, which has at most 63 characters";
        return Err(invalid(message, place).help(help));
    }
    Ok(name)
}

/// Reports list entries that are not a machine with a name.
///
/// Decoding would report wrong indentation as a wrong type.
pub(crate) fn misshapen(spec: &Value, origin: &Origin) -> Vec<Finding> {
    let finding = |(list, index, entry): (&'static str, usize, _)| {
        let (message, help) = wrong(list, entry)?;
        let route: [RouteStep; 3] = ["spec".into(), list.into(), index.into()];
        Some(Finding::new(Code::InvalidMachine, message).at(origin.at(route)).help(help))
    };
    machine_entries(spec).filter_map(finding).collect()
}

/// Returns the mappings in both lists of machines, each with the name of its list and its index.
pub(super) fn machine_entries(
    spec: &Value,
) -> impl Iterator<Item = (&'static str, usize, &Mapping)> {
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
        return Some((
            format!("an entry of `{list}` has a name that other programs do not read as text"),
            "quote the name of the machine, such as `\"12\"`".to_owned(),
        ));
    }
    match keys.as_slice() {
        [one] if FIELDS.contains(one) && !entry.values().any(Value::is_mapping) => Some((
            format!("an entry of `{list}` has no machine name"),
            format!("write the name before it: `- NAME: {{{one}: …}}`"),
        )),
        [_] => None,
        several => {
            let message = format!(
                "an entry of `{list}` has {} instead of one",
                counted(several.len(), "key")
            );
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
