//! Names in a Provisioning or Software that other YAML parsers read as another value, because they
//! are not quoted.

use yaml_serde::{Mapping, Value};

use super::documents::machine_entries;
use crate::base::api::host::Metadata;
use crate::base::api::provisioning::CLUSTER;
use crate::base::finding::{Code, Finding, RouteStep};
use crate::input::load::{Document, OtherReading, PlainScalars, read_by_others};

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
    let what = in_words(reading);
    let finding = Finding::new(
        Code::UnquotedName,
        format!(
            "the label `cluster: {label}` of the {kind} has no quotes: kubectl or kustomize reads {what}"
        ),
    );
    let help =
        format!("quote it, `cluster: \"{label}\"`: the API server accepts only text as a label");
    Some(finding.at(document.origin.at(["metadata", "labels", CLUSTER])).help(help))
}

/// Checks the names of machines.
pub(crate) fn unquoted_machines(document: &Document<'_>, spec: &Value) -> Vec<Finding> {
    let plain = PlainScalars::new(document);
    let finding = |(list, index, entry): (&'static str, usize, &Mapping)| {
        let name = entry.keys().next()?.as_str()?;
        let reading = read_by_others(name)?;
        let route: Vec<RouteStep> = vec!["spec".into(), list.into(), index.into(), name.into()];
        if !plain.has_key(&route) {
            return None;
        }
        let what = in_words(reading);
        let message =
            format!("the machine's name `{name}` has no quotes: kubectl or kustomize reads {what}");
        let help = format!("quote it, `\"{name}\"`: the API server would store another name");
        Some(Finding::new(Code::UnquotedName, message).at(document.origin.key(route)).help(help))
    };
    machine_entries(spec).filter_map(finding).collect()
}

/// Describes the value that other parsers read.
fn in_words(reading: OtherReading) -> &'static str {
    match reading {
        OtherReading::Switch | OtherReading::Boolean => "a boolean",
        OtherReading::Number => "a number",
        OtherReading::Null => "null",
        OtherReading::Date => "a date",
    }
}
