//! Typed objects from documents, each by itself.

use std::mem;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::LocalObjectReference;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use yaml_serde::Value;

use super::operators_templates;
use super::plaintext_secrets::{self, SecretManifest};
use super::read_object::{
    HostContent, KustomizationContent, NamedContent, ReadContent, ReadObject, RequestContent,
    SecretContent, UnreadableKind,
};
use crate::base::api::cluster_api;
use crate::base::api::firmware::{self, FirmwareObject};
use crate::base::api::group;
use crate::base::api::hardware;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{self, BareMetalHost, Metadata, ObjectEnvelope};
use crate::base::api::ipam::{self, AddressObject, AddressSpec, ClaimSpec, PoolSpec, SpecObject};
use crate::base::api::kustomization::is_kustomization;
use crate::base::api::last_wins::DecodedKustomization;
use crate::base::api::object_kind::ObjectKind;
use crate::base::api::service::{self, Service};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::input::decode::misspelled_kinds::misspelled_kind;
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity;
use crate::input::decode::{unreadable, unreadable_annotation};
use crate::input::kustomize;
use crate::input::load::{Document, ParseError, in_plain_words};
use crate::site::delivery::AgentObject;
use crate::site::request::ClusterKind;
use crate::site::request::cluster_parts;
use crate::site::request::provisioning::{decode_software, unquoted_label};
use crate::site::request::registry::OBJECTS;

/// Reads a document of a relevant kind. Templates of other tools may look like one but are not.
pub(super) fn interpret(document: Document<'_>) -> Option<ReadObject> {
    match is_kustomization(&document.origin.file) {
        true => kustomization(&document),
        false => interpret_resource(&document),
    }
}

fn kustomization(document: &Document<'_>) -> Option<ReadObject> {
    let is_template = document.looks_like_template();
    let DecodedKustomization(decoded, written) = match document.parse_leniently() {
        Ok(decoded) => decoded,
        Err(_) if is_template => return None,
        Err(error) => {
            let kind = UnreadableKind::Other;
            return Some(unreadable_object(document, kind, &error, "kustomization"));
        }
    };
    let refusal =
        kustomize::refusal(document, &written, decoded.as_ref().ok()).filter(|_| !is_template);
    let (why, place) = match (decoded, refusal) {
        (Ok(kustomization), refusal) => {
            let content = KustomizationContent { kustomization, refusal };
            return Some(ReadObject::new(document, ReadContent::Kustomization(Box::new(content))));
        }
        (Err(_), _) if is_template => return None,
        (Err(_), Some(refusal)) => (refusal.why, refusal.place),
        (Err(reason), None) => match empty_entry(&written) {
            Some(list) => (format!("`{list}` has an empty entry"), document.origin.at([list])),
            None => (in_plain_words(&reason), document.origin.start()),
        },
    };
    let message = format!("the kustomization cannot be read: {why}");
    let finding = Finding::new(Code::Unreadable, message).at(place);
    let finding = finding.help("write a value of that type, or remove the entry");
    Some(ReadObject::unreadable(document, UnreadableKind::Other, finding))
}

/// Reads a rendered document of a relevant kind. Objects that configure agents are skipped, because
/// they are read from the repo's files.
pub(super) fn interpret_rendered(document: &Document<'_>) -> Option<ReadObject> {
    let object = interpret_resource(document).filter(|object| !object.is_for_agents());
    object.or_else(|| not_rendered(document))
}

/// Reports a rendered document that cannot be parsed, whatever its kind: the rendering program
/// probably failed half-way. Unrendered templates are ignored, as in files.
fn not_rendered(document: &Document<'_>) -> Option<ReadObject> {
    let error = document.broken().filter(|_| !document.looks_like_template())?;
    let finding = unreadable(&document.origin, error, "document")
        .help("check the program that renders it: it may have failed, or printed an error here");
    Some(ReadObject::unreadable(document, UnreadableKind::Other, finding))
}

pub(super) fn interpret_resource(document: &Document<'_>) -> Option<ReadObject> {
    if let Some(error) = document.broken() {
        // The kind alone proves little if other API groups have a kind of that name.
        let is_request = OBJECTS.into_iter().any(|object| {
            document.mentions_kind(&[object.kind])
                && (!object.has_common_name() || document.mentions(&[object.group]))
        });
        let is_pool = document.mentions_kind(&[ipam::POOL]) && document.mentions(&[ipam::GROUP]);
        let is_ours = is_request || is_pool || document.mentions_kind(&[host::KIND]);
        let object = if document.looks_like_template() {
            is_request.then(|| template(document))
        } else if !is_ours && cluster_parts::may_be_part(document) {
            Some(broken_cluster_part(document, error))
        } else {
            let kind =
                if is_request || is_pool { UnreadableKind::Other } else { UnreadableKind::Host };
            is_ours.then(|| unreadable_object(document, kind, error, "resource"))
        };
        return object.or_else(|| agent_object(document));
    }
    let kind = document.kind()?;
    if let Some(object) = OBJECTS.into_iter().find(|object| object.kind == kind) {
        return request(document, object);
    }
    match kind {
        host::KIND => bare_metal_host(document),
        hardware::KIND => hardware_identity(document),
        firmware::SETTINGS | firmware::SCHEMA => {
            let mut object = document.parse::<FirmwareObject>().ok()?;
            let metadata = mem::take(&mut object.metadata);
            // Metal3 makes an empty schema before it knows the settings.
            let is_known = object.status.schema.is_some() || !object.spec.schema.is_empty();
            let is_known = is_known && group(&object.api_version) == host::GROUP;
            is_known.then(|| named(document, metadata, object, ReadContent::Firmware))
        }
        ipam::POOL => address_object(document, kind, |spec: Option<PoolSpec>| {
            AddressObject::Pool(spec.unwrap_or_default())
        }),
        ipam::ADDRESS => address_object(document, kind, AddressObject::Address),
        ipam::DATA => address_object(document, kind, AddressObject::Data),
        ipam::CLAIM | ipam::CLUSTER_API_CLAIM => requested_address(document, kind),
        service::KIND if document.mentions(&[service::NODE_PORT]) => {
            let service = document.parse::<Service>().ok();
            let service = service.filter(|service| service.api_version == "v1")?;
            Some(ReadObject::new(document, ReadContent::Service(Box::new(service))))
        }
        "CustomResourceDefinition" => {
            let mut defined = ClusterKind::ALL.map(|kind| kind.descriptor().definition).into_iter();
            let name = defined.find(|name| document.mentions(&[name]))?;
            Some(ReadObject::new(document, ReadContent::Definition(name)))
        }
        // A file of `generators` has literals.
        "Secret" | "SecretGenerator" => secret(document),
        "ConfigMap" => {
            let templates = operators_templates::config_map_templates(document);
            (!templates.is_empty())
                .then(|| ReadObject::new(document, ReadContent::OperatorsTemplates(templates)))
                .or_else(|| agent_object(document))
        }
        _ => agent_object(document)
            .or_else(|| cluster_api_object(document, kind))
            .or_else(|| misspelled_object(document, None)),
    }
}

/// Returns the first list of a kustomization with an empty entry.
fn empty_entry(kustomization: &Value) -> Option<&str> {
    let has_empty = |list: &Value| list.as_sequence().is_some_and(|it| it.contains(&Value::Null));
    kustomization.as_mapping()?.iter().find(|(_, list)| has_empty(list))?.0.as_str()
}

/// Reads a host of Metal3.
fn bare_metal_host(document: &Document<'_>) -> Option<ReadObject> {
    match document.parse::<BareMetalHost>() {
        Ok(mut host) if host.api_version == host::API_VERSION => {
            let ambiguities = yaml_ambiguity::ambiguities(document, &mut host);
            let found = status_of_annotation(&document.origin, &mut host);
            let content = HostContent { host: Box::new(host), ambiguities };
            let object = ReadObject::new(document, ReadContent::Host(Box::new(content)));
            Some(object.with(found.into_iter().collect()))
        }
        Ok(host) => misspelled_object(document, Some(host.api_version)),
        Err(_) if document.looks_like_template() => None,
        Err(error) => {
            let finding = unreadable(&document.origin, &error, host::KIND)
                .see_each(changed_to_no_text(document));
            Some(ReadObject::unreadable(document, UnreadableKind::Host, finding))
        }
    }
}

/// Returns where builds set a label or annotation that is no text, such as in a patch.
fn changed_to_no_text(document: &Document<'_>) -> Option<(Place, String)> {
    document.origin.delivered()?;
    let object: Value = document.parse().ok()?;
    ["labels", "annotations"].into_iter().find_map(|field| {
        let entries = object.get("metadata")?.get(field)?.as_mapping()?;
        let (key, _) = entries.iter().find(|(_, value)| !value.is_string())?;
        let key = key.as_str()?;
        Some((document.origin.at(["metadata", field, key]), format!("sets `{key}`")))
    })
}

fn agent_object(document: &Document<'_>) -> Option<ReadObject> {
    let object = AgentObject::read(document)?;
    Some(ReadObject::new(document, ReadContent::Agent(Box::new(object))))
}

fn named<T>(
    document: &Document<'_>,
    metadata: Metadata,
    object: T,
    content: fn(Box<NamedContent<T>>) -> ReadContent,
) -> ReadObject {
    ReadObject::new(document, content(Box::new(NamedContent { metadata, object })))
}

fn template(document: &Document<'_>) -> ReadObject {
    let template = SuspectedTemplate::new(document);
    ReadObject::new(document, ReadContent::Template(Box::new(template)))
}

/// Reads a Secret: one that registers a cluster in Argo CD, or one that may hold network data.
fn secret(document: &Document<'_>) -> Option<ReadObject> {
    let secret = document.parse::<SecretManifest>().ok();
    let is_for_agents = secret.as_ref().is_none_or(SecretManifest::is_of_argocd);
    let agent = is_for_agents.then(|| AgentObject::read(document)).flatten();
    let plain = secret.as_ref().and_then(|it| plaintext_secrets::document_secret(document, it));
    let network_data = secret.filter(|_| agent.is_none()).and_then(|it| it.network_data());
    let matters = agent.is_some() || plain.is_some() || network_data.is_some();
    let content = SecretContent {
        agent: agent.map(Box::new),
        plain: plain.map(Box::new),
        network_data: network_data.map(Box::new),
    };
    matters.then(|| ReadObject::new(document, ReadContent::Secret(content)))
}

/// Reports an object whose kind is probably misspelled.
///
/// A possible template of another tool is not reported, but recorded as it may hide a cluster.
/// `api_version` is read from the document if it is `None`.
fn misspelled_object(document: &Document<'_>, api_version: Option<String>) -> Option<ReadObject> {
    let (kind, finding) = misspelled_kind(document, api_version)?;
    let is_host = kind == host::KIND;
    if !document.looks_like_template() {
        let kind = if is_host { UnreadableKind::Host } else { UnreadableKind::Other };
        return Some(ReadObject::unreadable(document, kind, finding));
    }
    (!is_host).then(|| template(document))
}

/// Gives a host without a status the one in its annotation, as Metal3 does.
fn status_of_annotation(origin: &Origin, host: &mut BareMetalHost) -> Option<Finding> {
    let text = host.metadata.annotation(host::STATUS).filter(|_| host.status.is_none())?;
    match serde_json::from_str(text) {
        Ok(status) => {
            host.status = status;
            None
        }
        Err(error) => Some(unreadable_annotation(origin, host::KIND, host::STATUS, &error)),
    }
}

/// Reads a Cluster of Cluster API, or one of its parts, in any version.
fn cluster_api_object(document: &Document<'_>, kind: &str) -> Option<ReadObject> {
    if !document.mentions(&[cluster_api::GROUP, cluster_api::OPENSHIFT_GROUP]) {
        return None;
    }
    if kind != cluster_api::KIND {
        if let Some(finding) = misspelled_part(document, kind) {
            return Some(ReadObject::unreadable(document, UnreadableKind::ClusterPart, finding));
        }
        return Some(match cluster_parts::read(document)? {
            Ok(part) => ReadObject::new(document, ReadContent::ClusterPart(Box::new(part))),
            Err(_) if document.looks_like_template() => return None,
            Err(error) => broken_cluster_part(document, &error),
        });
    }
    let envelope = match document.parse::<ObjectEnvelope>() {
        Ok(envelope) => envelope,
        Err(_) if document.looks_like_template() => {
            return Some(template(document));
        }
        Err(error) => return Some(broken_cluster_part(document, &error)),
    };
    if group(&envelope.api_version) != cluster_api::GROUP {
        return None;
    }
    let kind = ClusterKind::named(kind)?;
    let (spec, found) = kind.descriptor().decode(document);
    let content = RequestContent { kind, metadata: envelope.metadata, spec };
    Some(ReadObject::new(document, ReadContent::Request(Box::new(content))).with(found))
}

/// Reports an object whose kind was probably meant to be one of Cluster API's.
fn misspelled_part(document: &Document<'_>, kind: &str) -> Option<Finding> {
    let (meant, own_group) = cluster_parts::intended_kind(kind)?;
    let envelope = document.parse::<ObjectEnvelope>().ok()?;
    if group(&envelope.api_version) != own_group || document.looks_like_template() {
        return None;
    }
    let message =
        format!("unknown kind `{kind}` of {}: the object is not a {meant}", envelope.api_version);
    Some(
        Finding::new(Code::NearMiss, message)
            .at(document.origin.at(["kind"]))
            .help(format!("write `kind: {meant}`; otherwise its Cluster loses hosts")),
    )
}

fn broken_cluster_part(document: &Document<'_>, error: &ParseError) -> ReadObject {
    // A Cluster that is a request is missed by nothing else.
    let kind = match document.mentions(&[cluster_api::ASSIGN]) {
        true => UnreadableKind::Other,
        false => UnreadableKind::ClusterPart,
    };
    unreadable_object(document, kind, error, "resource")
}

/// Reads a SIPCluster, Provisioning or Software, if its API group matches.
fn request(document: &Document<'_>, object: &'static ObjectKind) -> Option<ReadObject> {
    let kind = object.kind;
    let mut envelope = match document.parse::<ObjectEnvelope>() {
        Ok(envelope) => envelope,
        // Other API groups have kinds of this name, with other fields.
        Err(_) if object.has_common_name() && !document.mentions(&[object.group]) => {
            return None;
        }
        Err(_) if document.looks_like_template() => {
            return Some(template(document));
        }
        Err(error) => {
            return Some(unreadable_object(document, UnreadableKind::Other, &error, kind));
        }
    };
    if envelope.api_version != object.api_version {
        return misspelled_object(document, Some(envelope.api_version));
    }
    let unquoted = if object.cluster_label.is_some() {
        unquoted_label(document, kind, &mut envelope.metadata)
    } else {
        None
    };
    let metadata = envelope.metadata;
    let (content, is_decoded, found) = match ClusterKind::named(kind) {
        Some(kind) => {
            let (spec, found) = kind.descriptor().decode(document);
            let is_decoded = spec.is_some();
            let content = ReadContent::Request(Box::new(RequestContent { kind, metadata, spec }));
            (content, is_decoded, found)
        }
        None => {
            let (spec, found) = decode_software(document);
            let is_decoded = spec.is_some();
            let content = ReadContent::Software(Box::new(NamedContent { metadata, object: spec }));
            (content, is_decoded, found)
        }
    };
    if !is_decoded && document.looks_like_template() {
        return Some(template(document));
    }
    Some(ReadObject::new(document, content).with(found).with(unquoted.into_iter().collect()))
}

fn unreadable_object(
    document: &Document<'_>,
    kind: UnreadableKind,
    error: &ParseError,
    what: &str,
) -> ReadObject {
    ReadObject::unreadable(document, kind, unreadable(&document.origin, error, what))
}

/// Reads the identity in a HardwareData, and nothing else: most of a snapshot is hardware. Mistakes
/// are reported where it is read as a whole.
fn hardware_identity(document: &Document<'_>) -> Option<ReadObject> {
    #[derive(Deserialize)]
    struct HardwareDataSpec {
        #[serde(default)]
        hardware: HardwareIdentity,
    }
    let object = document.parse::<SpecObject<HardwareDataSpec>>().ok()?;
    (group(&object.api_version) == host::GROUP)
        .then(|| named(document, object.metadata, object.spec.hardware, ReadContent::Hardware))
}

/// Returns the address that a claim requests. Metal3's IPAM gives it no other one.
fn requested_address(document: &Document<'_>, kind: &str) -> Option<ReadObject> {
    let object = document.parse::<SpecObject<ClaimSpec>>().ok()?;
    let SpecObject { api_version, metadata, spec: ClaimSpec { pool } } = object;
    let address = metadata.annotations.as_ref()?.get(ipam::REQUESTED)?.clone();
    let claim = LocalObjectReference { name: metadata.name.clone()? };
    let is_known = address.parse::<IpAddr>().is_ok();
    (is_known && ipam::is_address_object(kind, &api_version)).then(|| {
        let object = AddressSpec { address, gateway: None, prefix: None, pool, claim };
        named(document, metadata, AddressObject::Address(object), ReadContent::Address)
    })
}

fn address_object<T: DeserializeOwned>(
    document: &Document<'_>,
    kind: &str,
    object: fn(T) -> AddressObject,
) -> Option<ReadObject> {
    match document.parse_object::<SpecObject<T>>() {
        Ok(SpecObject { api_version, metadata, spec }) => {
            ipam::is_address_object(kind, &api_version)
                .then(|| named(document, metadata, object(spec), ReadContent::Address))
        }
        // Users write pools only. Other API groups have pools with other fields.
        Err(error) => (kind == ipam::POOL
            && document.mentions(&[ipam::GROUP])
            && !document.looks_like_template())
        .then(|| unreadable_object(document, UnreadableKind::Other, &error, kind)),
    }
}
