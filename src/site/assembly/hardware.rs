//! The hardware of hosts, read on demand.
//!
//! Inspected hardware is most of a snapshot's bytes and irrelevant for most requests, so reading a
//! site skips it. The relevant files are read again for requests that require hardware, and for
//! commands that show it.
//!
//! The first of these sources counts: the HardwareData of the host's name, where Metal3 keeps it
//! today; `status.hardware`; the annotation with a copy of the status, for hosts in git; the
//! annotation by which users supply the result of an inspection.

use std::collections::{BTreeMap, HashSet};

use camino::Utf8Path;
use serde::Deserialize;

use super::Site;
use super::inputs::{InputSelection, read_rendered};
use super::names::NamingContext;
use super::objects::NamedRequests;
use crate::base::api::group;
use crate::base::api::hardware::{self, DETAILS, Hardware};
use crate::base::api::host::{self, Metadata, ObjectEnvelope, STATUS};
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::layout;
use crate::input::decode::unreadable_annotation;
use crate::input::load::{Document, Files, ParseError, ReadError, mentions};
use crate::site::inventory::hardware::{HardwareByHost, HardwareSource, InspectedHardware};
use crate::site::inventory::host_document::HostDocument;
use crate::site::request::cluster_parts::ClusterParts;

/// Returns the hardware of a site that was read from `repo`, of all hosts or only one, with findings.
///
/// # Errors
///
/// Returns an error if a file cannot be read.
pub fn known_hardware(
    repo: &Files,
    site: &Site,
    only: Option<&HostKey>,
) -> Result<(HardwareByHost, Vec<Finding>), ReadError> {
    read(repo, site, &|host| site.inventory.host(host).is_some(), only)
}

/// Returns the hardware of hosts while their site is being read, if requests require some, or the
/// addresses of inspection count.
///
/// Otherwise hardware is not read, because that takes as long as reading everything else.
pub(super) fn if_it_decides(
    repo: &Files,
    site: &Site,
    requests: &NamedRequests,
    cluster_parts: &ClusterParts,
    hosts: &[HostDocument],
) -> Result<(Option<HardwareByHost>, Vec<Finding>), ReadError> {
    let mut specs = requests.clusters.iter().filter_map(|(_, spec)| spec.as_ref());
    let inspected_addresses = site.settings.inventory.inspected_addresses;
    let is_needed = specs.any(|spec| spec.uses_hardware(cluster_parts, inspected_addresses));
    if !is_needed && (!inspected_addresses || site.settings.outputs.is_empty()) {
        return Ok((None, Vec::new()));
    }
    let hosts: HashSet<&HostKey> = hosts.iter().map(|host| &host.key).collect();
    let (hardware, findings) = read(repo, site, &|host| hosts.contains(host), None)?;
    Ok((Some(hardware), findings))
}

/// The content of one document about a host's hardware.
struct HardwareDocument {
    origin: Origin,
    metadata: Metadata,
    kind: &'static str,
    hardware: Vec<(HardwareSource, Hardware)>,
    findings: Vec<Finding>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HardwareObject {
    api_version: String,
    metadata: Metadata,
    spec: Option<HardwareField>,
    status: Option<HardwareField>,
}

#[derive(Deserialize)]
struct HardwareField {
    hardware: Option<Hardware>,
}

fn read(
    repo: &Files,
    site: &Site,
    is_host: &dyn Fn(&HostKey) -> bool,
    only: Option<&HostKey>,
) -> Result<(HardwareByHost, Vec<Finding>), ReadError> {
    let name = only.map(|host| host.name.as_str());
    let (kinds, named) =
        (mentions(&[hardware::KIND, host::KIND]), mentions(&[name.unwrap_or_default()]));
    let Site { settings, files, builds, .. } = site;
    let (inputs, _) = InputSelection::new(repo, settings, files, builds);
    let naming = NamingContext { repo, files, builds, inputs: &inputs, settings };
    let interpret = |document: Document<'_>| {
        name.is_none_or(|name| document.mentions(&[name]))
            .then(|| hardware_document(&document))
            .flatten()
    };
    let look = |_: &Utf8Path, content: &[u8]| {
        kinds(content) && named(content) && !layout::is_ours(content)
    };
    let mut said = repo.scan(files, look, interpret)?;
    said.retain(|said| inputs.contains(&said.origin));
    said.extend(read_rendered(repo, &site.rendered, interpret).0);

    let mut findings = Vec::new();
    let mut by_host: HardwareByHost = BTreeMap::new();
    for HardwareDocument { origin, metadata, kind, hardware, findings: found } in said {
        // Reading the site reported mistakes in names.
        let Ok(key) = naming.host_key(kind, &origin, &metadata) else { continue };
        if only.is_some_and(|only| *only != key) {
            continue;
        }
        findings.extend(found);
        if !is_host(&key) {
            if kind == hardware::KIND {
                findings.push(without_host(&key, &origin));
            }
            continue;
        }
        for (source, hardware) in hardware {
            match by_host.get(&key) {
                Some(other) if other.source == source && source == HardwareSource::HardwareData => {
                    if other.hardware != hardware {
                        findings.push(twice(&key, &origin, &other.origin));
                    }
                }
                // A better or an equal source is known.
                Some(other) if other.source <= source => {}
                _ => {
                    let found = InspectedHardware { source, hardware, origin: origin.clone() };
                    by_host.insert(key.clone(), found);
                }
            }
        }
    }
    Ok((by_host, findings))
}

/// Reads the hardware in a document. A host that is not readable at all was reported when the site
/// was read.
fn hardware_document(document: &Document<'_>) -> Option<HardwareDocument> {
    let kind = [hardware::KIND, host::KIND].into_iter().find(|it| document.kind() == Some(*it))?;
    let origin = document.origin.clone();
    let mut findings = Vec::new();
    let object = match document.parse::<HardwareObject>() {
        Ok(object) => object,
        Err(_) if document.looks_like_template() => return None,
        Err(error) => {
            let field = if kind == host::KIND { "status" } else { "spec" };
            findings.push(unreadable(kind, &error, &origin, origin.at([field])));
            let ObjectEnvelope { api_version, metadata } = document.parse().ok()?;
            HardwareObject { api_version, metadata, ..HardwareObject::default() }
        }
    };
    if group(&object.api_version) != host::GROUP {
        return None;
    }
    let mut hardware = Vec::new();
    if kind == hardware::KIND {
        let found = object.spec.and_then(|spec| spec.hardware);
        hardware.extend(found.map(|found| (HardwareSource::HardwareData, found)));
    } else if findings.is_empty() {
        let status = object.status.and_then(|status| status.hardware);
        hardware.extend(status.map(|found| (HardwareSource::Status, found)));
        let annotated = |name: &str| object.metadata.annotation(name);
        let status = annotated(STATUS).map(serde_json::from_str::<HardwareField>);
        let status = status.map(|status| status.map(|status| status.hardware));
        let details = annotated(DETAILS).map(|text| serde_json::from_str(text).map(Some));
        for (source, name, found) in [
            (HardwareSource::StatusAnnotation, STATUS, status),
            (HardwareSource::DetailsAnnotation, DETAILS, details),
        ] {
            match found.transpose() {
                Ok(found) => hardware.extend(found.flatten().map(|found| (source, found))),
                Err(error) => {
                    findings.push(unreadable_annotation(&origin, host::KIND, name, &error))
                }
            }
        }
    }
    Some(HardwareDocument { origin, metadata: object.metadata, kind, hardware, findings })
}

fn unreadable(kind: &str, error: &ParseError, origin: &Origin, place: Place) -> Finding {
    let place = error.line.map_or(place, |line| origin.spot(line, error.column));
    Finding::new(
        Code::UnusedHostData,
        format!("the hardware details in the {kind} cannot be read: {}", error.message),
    )
    .at(place)
    .help("fix it, or take a new snapshot: Metal3 does not write such details")
}

fn without_host(key: &HostKey, origin: &Origin) -> Finding {
    Finding::new(Code::UnusedHostData, format!("HardwareData `{key}` has no host"))
        .at(origin.at(["metadata", "name"]))
        .help("fix its name and namespace, which are those of its BareMetalHost, or remove it")
}

fn twice(key: &HostKey, origin: &Origin, other: &Origin) -> Finding {
    Finding::new(
        Code::DuplicateHost,
        format!("two HardwareData objects of {key} differ: the first one is used"),
    )
    .at(origin.start())
    .see(other.start(), "the other one")
    .help("remove the older one")
}
