//! Typed objects from documents, each by itself.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::operators_templates;
use super::plaintext_secrets::{self, PlainSecret, SecretManifest};
use crate::base::api::cluster_api;
use crate::base::api::group;
use crate::base::api::hardware;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{self, BareMetalHost, Metadata};
use crate::base::api::ipam::{self, AddressObject, SpecObject};
use crate::base::api::kustomization::{self, Kustomization};
use crate::base::api::last_wins::DecodedKustomization;
use crate::base::api::network_data::{NetworkDataSecret, SECRET_KEYS};
use crate::base::api::object_kind::ObjectKind;
use crate::base::api::provisioning::SoftwareSpec;
use crate::base::api::service::{self, Service};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::input::decode::misspelled_kinds::misspelled_kind;
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity::{self, Ambiguity};
use crate::input::decode::{unreadable, unreadable_annotation};
use crate::input::kustomize::{self, KustomizationRefusal};
use crate::input::load::{Document, ParseError};
use crate::site::delivery::AgentObject;
use crate::site::inventory::networks::{HolderKind, NetworkDataObject};
use crate::site::request::cluster_parts::{self, PartDocument};
use crate::site::request::provisioning::{decode_software, unquoted_label};
use crate::site::request::registry::OBJECTS;
use crate::site::request::{ClusterKind, Spec};

/// An object, before the builds that name it are known. A site has thousands, so large parts are
/// boxed.
pub(super) enum InterpretedObject {
    Cluster(Origin, ClusterKind, Box<Metadata>, Spec, Vec<Finding>),
    Software(Origin, Box<Metadata>, Option<Box<SoftwareSpec>>, Vec<Finding>),
    /// An object that a Cluster of Cluster API consists of.
    ClusterPart(Box<PartDocument>),
    /// A document of Cluster API that cannot be parsed.
    BrokenClusterPart(Origin, Box<Finding>),
    Host(Origin, Box<BareMetalHost>, Vec<Ambiguity>, Option<Box<Finding>>),
    /// A pool with addresses for hosts.
    Address(Origin, Box<(Metadata, AddressObject)>),
    /// The identity of a host's machine in its HardwareData.
    Hardware(Origin, Box<(Metadata, HardwareIdentity)>),
    /// A Secret or ConfigMap that may hold network data.
    Secret(Origin, Box<NetworkDataObject>),
    /// A Secret with values in plain text, and its network data.
    PlainSecret(Box<PlainSecret>, Option<(Origin, Box<NetworkDataObject>)>),
    /// A kustomization, with the reason if kustomize refuses to read it.
    Kustomization(Origin, Box<Kustomization>, Option<Box<KustomizationRefusal>>),
    Template(Box<SuspectedTemplate>),
    Agent(Box<AgentObject>),
    /// A Secret that registers a cluster in Argo CD, with its values in plain text.
    ClusterSecret(Box<AgentObject>, Option<Box<PlainSecret>>),
    Service(Origin, Box<Service>),
    /// HAProxy templates of the SIP operator.
    OperatorsTemplates(Vec<Place>),
    /// The definition of a request kind, by its name.
    Definition(&'static str),
    /// A generated file with hosts.
    GeneratedHosts(Utf8PathBuf),
    Unreadable(Origin, Box<Finding>),
    /// A host that cannot be parsed.
    UnreadableHost(Origin, Box<Finding>),
}

// In tests only: another compiler may lay it out otherwise, and must still build sipgen.
#[cfg(test)]
const _: () = assert!(size_of::<InterpretedObject>() <= 112);

/// Fields common to all objects.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct ObjectEnvelope {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    metadata: Metadata,
}

pub(super) fn is_kustomization(file: &Utf8Path) -> bool {
    file.file_name().is_some_and(|name| kustomization::FILE_NAMES.contains(&name))
}

/// Reads a document of a relevant kind. Templates of other tools may look like one but are not.
pub(super) fn interpret(document: Document<'_>) -> Option<InterpretedObject> {
    let origin = document.origin.clone();
    if is_kustomization(&origin.file) {
        return match document.parse_leniently::<DecodedKustomization>() {
            Ok(DecodedKustomization(kustomization, written)) => {
                let refusal = kustomize::refusal(&document, &written)
                    .filter(|_| !document.looks_like_template());
                Some(InterpretedObject::Kustomization(
                    origin,
                    Box::new(kustomization),
                    refusal.map(Box::new),
                ))
            }
            Err(_) if document.looks_like_template() => None,
            Err(error) => {
                // Only field-by-field decoding reports positions.
                let error = document
                    .parse::<Kustomization>()
                    .err()
                    .filter(|error| error.line.is_some())
                    .unwrap_or(error);
                Some(unreadable_object(origin, &error, "kustomization"))
            }
        };
    }
    interpret_resource(&document)
}

/// Reads a rendered document of a relevant kind. Objects that configure agents are skipped, because
/// they are read from the repo's files.
pub(super) fn interpret_rendered(document: &Document<'_>) -> Option<InterpretedObject> {
    let object = interpret_resource(document).filter(|object| {
        !matches!(object, InterpretedObject::Agent(_) | InterpretedObject::ClusterSecret(..))
    });
    object.or_else(|| not_rendered(document))
}

/// Reports a rendered document that cannot be parsed, whatever its kind: the rendering program
/// probably failed half-way. Unrendered templates are ignored, as in files.
fn not_rendered(document: &Document<'_>) -> Option<InterpretedObject> {
    let error = document.broken().filter(|_| !document.looks_like_template())?;
    let finding = unreadable(&document.origin, error, "document")
        .help("check the program that renders it: it may have failed, or printed an error here");
    Some(InterpretedObject::Unreadable(document.origin.clone(), Box::new(finding)))
}

pub(super) fn interpret_resource(document: &Document<'_>) -> Option<InterpretedObject> {
    let origin = document.origin.clone();
    if let Some(error) = document.broken() {
        // The kind alone proves little if other API groups have a kind of that name.
        let is_request = OBJECTS.into_iter().any(|object| {
            document.mentions_kind(&[object.kind])
                && (!object.has_common_name() || document.mentions(&[object.group]))
        });
        let is_ours = is_request || document.mentions_kind(&[host::KIND]);
        let object = if document.looks_like_template() {
            is_request.then(|| template(document))
        } else if !is_ours && cluster_parts::may_be_part(document) {
            Some(broken_cluster_part(document, error))
        } else {
            let read = if is_request { unreadable_object } else { unreadable_host };
            is_ours.then(|| read(origin, error, "resource"))
        };
        return object.or_else(|| agent_object(document).map(InterpretedObject::Agent));
    }
    let kind = document.kind()?;
    if let Some(object) = OBJECTS.into_iter().find(|object| object.kind == kind) {
        return request(document, object);
    }
    match kind {
        host::KIND => match document.parse::<BareMetalHost>() {
            Ok(mut host) if group(&host.api_version) == host::GROUP => {
                let doubts = yaml_ambiguity::ambiguities(document, &mut host);
                let found = status_of_annotation(&origin, &mut host).map(Box::new);
                Some(InterpretedObject::Host(origin, Box::new(host), doubts, found))
            }
            Ok(host) => misspelled_object(document, Some(host.api_version)),
            Err(_) if document.looks_like_template() => None,
            Err(error) => Some(unreadable_host(origin, &error, host::KIND)),
        },
        hardware::KIND => hardware_identity(document),
        ipam::POOL => address_object(document, kind, AddressObject::Pool),
        ipam::ADDRESS => address_object(document, kind, AddressObject::Address),
        ipam::DATA => address_object(document, kind, AddressObject::Data),
        service::KIND if document.mentions(&[service::NODE_PORT]) => {
            match document.parse::<Service>() {
                Ok(service) if service.api_version == "v1" => {
                    Some(InterpretedObject::Service(origin, Box::new(service)))
                }
                _ => None,
            }
        }
        "CustomResourceDefinition" => {
            let defined = ClusterKind::ALL.map(|kind| kind.descriptor().definition);
            defined
                .into_iter()
                .find(|name| document.mentions(&[name]))
                .map(InterpretedObject::Definition)
        }
        "Secret" => secret(document),
        "ConfigMap" => match operators_templates::config_map_templates(document) {
            templates if !templates.is_empty() => {
                Some(InterpretedObject::OperatorsTemplates(templates))
            }
            _ => network_data(document).map(|object| InterpretedObject::Secret(origin, object)),
        },
        _ => (agent_object(document).map(InterpretedObject::Agent))
            .or_else(|| cluster_api_object(document, kind))
            .or_else(|| misspelled_object(document, None)),
    }
}

fn agent_object(document: &Document<'_>) -> Option<Box<AgentObject>> {
    AgentObject::read(document).map(Box::new)
}

fn template(document: &Document<'_>) -> InterpretedObject {
    InterpretedObject::Template(Box::new(SuspectedTemplate::new(document)))
}

/// Reads a Secret: one that registers a cluster in Argo CD, or one that may hold network data.
fn secret(document: &Document<'_>) -> Option<InterpretedObject> {
    let Ok(secret) = document.parse::<SecretManifest>() else {
        return agent_object(document).map(|object| InterpretedObject::ClusterSecret(object, None));
    };
    let origin = &document.origin;
    let plain = plaintext_secrets::document_secret(document, &secret).map(Box::new);
    if secret.is_of_argocd()
        && let Some(object) = agent_object(document)
    {
        return Some(InterpretedObject::ClusterSecret(object, plain));
    }
    let network_data = secret.into_network_data().map(|secret| {
        let object = NetworkDataObject::new(HolderKind::Secret, origin, secret);
        (origin.clone(), Box::new(object))
    });
    match plain {
        Some(plain) => Some(InterpretedObject::PlainSecret(plain, network_data)),
        None => network_data.map(|(origin, object)| InterpretedObject::Secret(origin, object)),
    }
}

/// Reads a ConfigMap that may hold network data. An unreadable one is skipped: a host that needs it
/// reports that it is missing.
fn network_data(document: &Document<'_>) -> Option<Box<NetworkDataObject>> {
    // Most ConfigMaps hold other texts, which this skips unparsed.
    let object = document
        .mentions(&SECRET_KEYS)
        .then(|| document.parse::<NetworkDataSecret>().ok())
        .flatten();
    let object = object.filter(|object| object.api_version == "v1")?;
    let read = NetworkDataObject::new(HolderKind::ConfigMap, &document.origin, object);
    Some(Box::new(read))
}

/// Reports an object whose kind is probably misspelled.
///
/// A possible template of another tool is not reported, but recorded as it may hide a cluster.
/// `api_version` is read from the document if it is `None`.
fn misspelled_object(
    document: &Document<'_>,
    api_version: Option<String>,
) -> Option<InterpretedObject> {
    let (kind, finding) = misspelled_kind(document, api_version)?;
    let origin = document.origin.clone();
    if !document.looks_like_template() {
        let unreadable = if kind == host::KIND {
            InterpretedObject::UnreadableHost
        } else {
            InterpretedObject::Unreadable
        };
        return Some(unreadable(origin, Box::new(finding)));
    }
    (kind != host::KIND).then(|| template(document))
}

/// Gives a host without a status the one in its annotation, as Metal3 does.
fn status_of_annotation(origin: &Origin, host: &mut BareMetalHost) -> Option<Finding> {
    let text =
        host.metadata.annotations.as_ref()?.get(host::STATUS).filter(|_| host.status.is_none())?;
    match serde_json::from_str(text) {
        Ok(status) => {
            host.status = status;
            None
        }
        Err(error) => Some(unreadable_annotation(origin, host::KIND, host::STATUS, &error)),
    }
}

/// Reads a Cluster of Cluster API, or one of its parts, in any version.
fn cluster_api_object(document: &Document<'_>, kind: &str) -> Option<InterpretedObject> {
    if !document.mentions(&[cluster_api::GROUP]) {
        return None;
    }
    if kind != cluster_api::KIND {
        if let Some(finding) = misspelled_part(document, kind) {
            let origin = document.origin.clone();
            return Some(InterpretedObject::BrokenClusterPart(origin, Box::new(finding)));
        }
        return Some(match cluster_parts::read(document)? {
            Ok(part) => InterpretedObject::ClusterPart(Box::new(part)),
            Err(_) if document.looks_like_template() => return None,
            Err(error) => broken_cluster_part(document, &error),
        });
    }
    let origin = document.origin.clone();
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
    let (spec, found) = (ClusterKind::ClusterApi.descriptor().decode)(document);
    Some(InterpretedObject::Cluster(
        origin,
        ClusterKind::ClusterApi,
        Box::new(envelope.metadata),
        spec,
        found,
    ))
}

/// Reports an object whose kind was probably meant to be one of Cluster API's.
fn misspelled_part(document: &Document<'_>, kind: &str) -> Option<Finding> {
    let (meant, own_group) = cluster_parts::intended_kind(kind)?;
    let envelope = document.parse::<ObjectEnvelope>().ok()?;
    if group(&envelope.api_version) != own_group {
        return None;
    }
    if document.looks_like_template() {
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

fn broken_cluster_part(document: &Document<'_>, error: &ParseError) -> InterpretedObject {
    let origin = document.origin.clone();
    let finding = unreadable(&origin, error, "resource");
    InterpretedObject::BrokenClusterPart(origin, Box::new(finding))
}

/// Reads a SIPCluster, Provisioning or Software, if its API group matches.
fn request(document: &Document<'_>, object: &'static ObjectKind) -> Option<InterpretedObject> {
    let (kind, api_version) = (object.kind, object.api_version);
    let origin = document.origin.clone();
    let mut envelope = match document.parse::<ObjectEnvelope>() {
        Ok(envelope) => envelope,
        // Other API groups have kinds of this name, with other fields.
        Err(_) if object.has_common_name() && !document.mentions(&[object.group]) => {
            return None;
        }
        Err(_) if document.looks_like_template() => {
            return Some(template(document));
        }
        Err(error) => return Some(unreadable_object(origin, &error, kind)),
    };
    if group(&envelope.api_version) != object.group {
        return misspelled_object(document, Some(envelope.api_version));
    }
    if envelope.api_version != api_version {
        let message = format!("the {kind} has the unknown apiVersion {}", envelope.api_version);
        let finding = Finding::new(Code::UnknownVersion, message)
            .at(origin.at(["apiVersion"]))
            .help(format!("write `apiVersion: {api_version}`"));
        return Some(InterpretedObject::Unreadable(origin, Box::new(finding)));
    }
    let unquoted = if object.cluster_label.is_some() {
        unquoted_label(document, kind, &mut envelope.metadata)
    } else {
        None
    };
    let Some(request) = ClusterKind::named(kind) else {
        let (spec, mut found) = decode_software(document);
        found.extend(unquoted);
        if spec.is_none() && document.looks_like_template() {
            return Some(template(document));
        }
        let metadata = Box::new(envelope.metadata);
        return Some(InterpretedObject::Software(origin, metadata, spec, found));
    };
    let (spec, mut found) = (request.descriptor().decode)(document);
    found.extend(unquoted);
    if spec.is_none() && document.looks_like_template() {
        return Some(template(document));
    }
    Some(InterpretedObject::Cluster(origin, request, Box::new(envelope.metadata), spec, found))
}

fn unreadable_object(origin: Origin, error: &ParseError, what: &str) -> InterpretedObject {
    let finding = unreadable(&origin, error, what);
    InterpretedObject::Unreadable(origin, Box::new(finding))
}

/// Reads the identity in a HardwareData, and nothing else: most of a snapshot is hardware. Mistakes
/// are reported where it is read as a whole.
fn hardware_identity(document: &Document<'_>) -> Option<InterpretedObject> {
    #[derive(Deserialize)]
    struct HardwareDataSpec {
        #[serde(default)]
        hardware: HardwareIdentity,
    }
    let object = document.parse::<SpecObject<HardwareDataSpec>>().ok()?;
    (group(&object.api_version) == host::GROUP).then(|| {
        let identity = object.spec.hardware;
        InterpretedObject::Hardware(document.origin.clone(), Box::new((object.metadata, identity)))
    })
}

fn address_object<T: DeserializeOwned>(
    document: &Document<'_>,
    kind: &str,
    object: fn(T) -> AddressObject,
) -> Option<InterpretedObject> {
    let SpecObject { api_version, metadata, spec } = document.parse::<SpecObject<T>>().ok()?;
    ipam::is_address_object(kind, &api_version).then(|| {
        InterpretedObject::Address(document.origin.clone(), Box::new((metadata, object(spec))))
    })
}

fn unreadable_host(origin: Origin, error: &ParseError, what: &str) -> InterpretedObject {
    let finding = unreadable(&origin, error, what);
    InterpretedObject::UnreadableHost(origin, Box::new(finding))
}
