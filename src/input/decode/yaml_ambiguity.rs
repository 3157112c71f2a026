//! Unquoted values of hosts that other programs read differently.
//!
//! sipgen reads the text as written. The other readings were observed with kustomize 5.8 and
//! kubectl's library. Labels must be strings: the API server refuses numbers and booleans. Both
//! programs preserve an unquoted MAC address, but tools in Python and Ruby, such as Ansible, read a
//! number.

use std::collections::BTreeMap;

use crate::base::api::host::{BareMetalHost, Metadata};
use crate::base::api::names::HostKey;
use crate::base::api::provisioning;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::text::counted;
use crate::input::load::{Document, OtherReading, PlainScalars, is_of_base_60, read_by_others};

/// An unquoted value of a host that other programs read differently.
#[derive(Debug)]
pub(crate) struct Ambiguity {
    route: Vec<String>,
    /// Its text; `None` for an annotation, which may be confidential.
    value: Option<String>,
    /// The other reading; `None` for a number of base 60.
    reading: Option<OtherReading>,
}

/// Finds such values in a host. A null label becomes the empty string, as the API server stores it.
pub(crate) fn ambiguities(document: &Document<'_>, host: &mut BareMetalHost) -> Vec<Ambiguity> {
    let mut ambiguities = Vec::new();
    let plain = PlainScalars::new(document);
    let reading = |route: &[&str], value: &str| {
        read_by_others(value).filter(|_| plain.has(route, value)).map(Some)
    };
    let mut add = |route: &[&str], value: Option<&String>, reading| {
        let route = route.iter().map(|step| (*step).to_owned()).collect();
        ambiguities.push(Ambiguity { route, value: value.cloned(), reading });
    };
    let Metadata { name, namespace, labels, annotations, .. } = &mut host.metadata;
    for (key, value) in labels.iter_mut().flatten() {
        let route = ["metadata", "labels", key.as_str()];
        if let Some(reading) = reading(&route, value) {
            add(&route, Some(&*value), reading);
            if reading == Some(OtherReading::Null) {
                value.clear();
            }
        }
    }
    for (key, value) in annotations.iter().flatten() {
        let route = ["metadata", "annotations", key.as_str()];
        // Both read a date as it is written there.
        if let Some(reading) = reading(&route, value).filter(|it| *it != Some(OtherReading::Date)) {
            add(&route, None, reading);
        }
    }
    for (field, value) in [("name", name), ("namespace", namespace)] {
        if let Some(value) = value
            && let Some(reading) = reading(&["metadata", field], value)
        {
            add(&["metadata", field], Some(&*value), reading);
        }
    }
    let route = ["spec", "bootMACAddress"];
    let mac = host.spec.as_ref().and_then(|spec| spec.boot_mac_address.as_ref());
    if let Some(mac) = mac.filter(|mac| is_of_base_60(mac) && plain.has(&route, mac)) {
        add(&route, Some(mac), None);
    }
    ambiguities
}

/// Reports the ambiguous values of a site, with one finding for equal ones, however many hosts have
/// them.
pub(crate) fn findings(hosts: Vec<(HostKey, Origin, Vec<Ambiguity>)>) -> Vec<Finding> {
    let mut alike: BTreeMap<(Vec<String>, Option<OtherReading>), Vec<Occurrence>> = BTreeMap::new();
    for (host, origin, ambiguities) in hosts {
        // A build may make another name of it, which is a text.
        let is_kept = |it: &String| *it == host.name.as_str() || *it == host.namespace.as_str();
        for Ambiguity { route, value, reading } in ambiguities {
            if is_name(&route, reading) && !value.as_ref().is_some_and(is_kept) {
                continue;
            }
            let place = origin.at(route.clone());
            let occurrence = Occurrence { host: host.clone(), place, value };
            alike.entry((route, reading)).or_default().push(occurrence);
        }
    }
    alike.into_iter().map(|((route, reading), hosts)| finding(&route, reading, hosts)).collect()
}

/// Returns whether a value is the name or namespace of a host.
fn is_name(route: &[String], reading: Option<OtherReading>) -> bool {
    route.len() == 2 && reading.is_some()
}

/// One of several equal ambiguities.
struct Occurrence {
    host: HostKey,
    place: Place,
    value: Option<String>,
}

fn finding(route: &[String], reading: Option<OtherReading>, hosts: Vec<Occurrence>) -> Finding {
    let first = hosts.first();
    let name = match first {
        Some(first) if hosts.len() == 1 => format!("host {}", first.host),
        _ => counted(hosts.len(), "host"),
    };
    let value = first.and_then(|first| first.value.as_deref());
    // The same mistake may have different values, for instance hosts of two racks.
    let are_same = hosts.iter().all(|other| other.value.as_deref() == value);
    let such_as = if are_same { "" } else { "such as " };
    let shown = value.map_or("a value".to_owned(), |value| format!("{such_as}`{value}`"));
    let key = route.last().map(String::as_str).unwrap_or_default();
    let is_annotation = route.get(1).is_some_and(|field| field == "annotations");
    let what = match route.get(1).map(String::as_str) {
        Some("labels") => "label ",
        _ if is_annotation => "annotation ",
        _ => "",
    };
    // kustomize patches the host, and leaves a number or boolean in the place of a name.
    let code = match reading {
        Some(OtherReading::Boolean | OtherReading::Number) if is_name(route, reading) => {
            Code::InvalidName
        }
        _ => Code::UnquotedText,
    };
    let message = match reading {
        Some(reading) => {
            format!(
                "the {what}{key} of {name} is {shown} without quotes: {}",
                in_words(reading, is_annotation)
            )
        }
        None => format!(
            "the bootMACAddress of {name} is {shown} without quotes: YAML 1.1 tools, such as Ansible, read a number of \
             base 60"
        ),
    };
    let help = match value {
        // Device labels are booleans: the meaning of `yes` is written out.
        Some(value) if provisioning::is_for_device(key) => {
            format!("write {key}: \"{}\"", provisioning::probable_value(value))
        }
        Some(value) => format!("quote the value: {key}: \"{value}\""),
        None => "quote the value".to_owned(),
    };
    let finding = Finding::new(code, message).help(help);
    let is_one = hosts.len() == 1;
    hosts.into_iter().fold(finding, |finding, Occurrence { host, place, .. }| {
        if is_one { finding.at(place) } else { finding.see(place, host.to_string()) }
    })
}

/// Describes the other readings and their effect. kustomize makes texts of annotations.
fn in_words(reading: OtherReading, is_annotation: bool) -> String {
    let read = match reading {
        OtherReading::Switch | OtherReading::Boolean => "a boolean, which the API server refuses",
        OtherReading::Number => "a number, which the API server refuses",
        OtherReading::Null => "null, which the API server stores as an empty string",
        OtherReading::Date => {
            return "kustomize rewrites it as a date with a time; kubectl reads the text"
                .to_owned();
        }
    };
    if is_annotation || reading == OtherReading::Switch {
        format!("kubectl reads {read}; kustomize reads the text")
    } else {
        format!("kubectl and kustomize read {read}")
    }
}
