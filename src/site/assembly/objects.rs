//! Typed objects of a repo, with the names that builds give them.

use std::collections::{BTreeSet, HashMap};
use std::mem;

use camino::Utf8PathBuf;

use super::agent_builds::AgentBuilds;
use super::concern::Concern;
use super::host_origin::{self, HostDocuments};
use super::inputs::{self, BuiltSources, InputSelection};
use super::interpret::interpret_rendered;
use super::left_out::LeftOutHost;
use super::names::{BuildNames, ServiceWithPorts, namespaces};
use super::operators_templates;
use super::plaintext_secrets;
use super::read_object::{
    HostContent, NamedContent, ObjectsByKind, ReadContent, ReadObject, RequestContent,
    SoftwareContent, UnreadableKind,
};
use super::scan::{self, ScannedFiles};
use super::substitution::NamespaceInputs;
use super::{agent_builds, delivered, duplicates, misplaced};
use crate::base::api::firmware::FirmwareObject;
use crate::base::api::hardware;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::live_field;
use crate::base::api::ipam::AddressObject;
use crate::base::api::kustomization::is_kustomization;
use crate::base::api::names::{ClusterKey, HostKey, SecretKey};
use crate::base::api::provisioning;
use crate::base::finding::{Code, DocumentField, Finding, Origin, Place};
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity;
use crate::input::kustomize::{Builds, OverlayBases};
use crate::input::load::{Files, ReadError};
use crate::input::settings::Settings;
use crate::site::delivery::{Agents, RepoListing};
use crate::site::inventory::addresses::{ClaimedAddresses, NamedObject};
use crate::site::inventory::host_document::HostDocument;
use crate::site::inventory::network_files;
use crate::site::inventory::network_index::Networks;
use crate::site::inventory::networks::{LocatedNetworkData, NetworkDataHolder, NetworkDataObject};
use crate::site::request::cluster_parts::{ClusterParts, PartDocument, PartKey};
use crate::site::request::{ClusterDocument, SoftwareDocument, Spec};

/// Objects of a repo that decide about clusters and hosts.
pub(super) struct SiteObjects {
    pub(super) clusters: Vec<(ClusterDocument, Spec)>,
    /// Requests in files of the repo that are not inputs.
    pub(super) in_repo: HashMap<ClusterKey, Origin>,
    pub(super) software: Vec<SoftwareDocument>,
    /// Clusters of Cluster API, requests or not.
    pub(super) cluster_api_clusters: Vec<(ClusterDocument, Spec)>,
    /// The objects that these consist of.
    pub(super) cluster_parts: ClusterParts,
    pub(super) hosts: Vec<HostDocument>,
    /// Hosts that kustomizations of the repo render but that are not inputs.
    pub(super) left_out: HashMap<HostKey, LeftOutHost>,
    /// Every document in the repo's files that describes a host, input or not.
    pub(super) documents: Vec<(HostKey, Origin)>,
    pub(super) networks: Networks,
    /// Identities of machines in HardwareData, by host.
    pub(super) hardware: HashMap<HostKey, HardwareIdentity>,
    /// Firmware settings by host, and their schemas by name.
    pub(super) firmware: HashMap<HostKey, FirmwareObject>,
    pub(super) builds: Builds,
    pub(super) rendered: BuiltSources,
    /// Requests and Softwares that are probably templates of another tool.
    pub(super) templates: Vec<SuspectedTemplate>,
    pub(super) agents: Agents,
    /// Services with NodePorts.
    pub(super) services: Vec<ServiceWithPorts>,
    /// HAProxy templates of the SIP operator.
    pub(super) operators_templates: Vec<Place>,
    /// Names of request definitions in the repo.
    pub(super) definitions: BTreeSet<&'static str>,
    /// Objects that overlays of the output patch.
    pub(super) overlay_bases: OverlayBases,
    pub(super) agent_builds: AgentBuilds,
    /// Files that were read, sorted.
    pub(super) files: Vec<Utf8PathBuf>,
    /// Directories that cannot be read, with the reason.
    pub(super) closed: Vec<(Utf8PathBuf, String)>,
}

/// Names the typed objects of a repo's files as builds do, and reads those of rendered inputs.
///
/// # Errors
///
/// Returns an error if a file or directory cannot be read.
pub(super) fn named(
    scanned: ScannedFiles,
    repo: &Files,
    settings: &Settings,
) -> Result<(SiteObjects, Vec<Finding>), ReadError> {
    let ScannedFiles { mut objects, files, closed, builds, refused, build_findings, unread } =
        scanned;
    let (inputs, input_findings) = InputSelection::new(repo, settings, &files, &builds);
    let requests = objects.iter().filter_map(|object| match &object.content {
        ReadContent::Request(content) => Some((&object.origin, &**content)),
        _ => None,
    });
    let mut names = BuildNames::new(&builds, &inputs);
    let listing =
        RepoListing::default().with_clusters(names.requested_clusters(requests, settings));
    let naming = NamespaceInputs {
        repo,
        files: &files,
        builds: &builds,
        inputs: &inputs,
        settings,
        listing: &listing,
    };
    let agent_builds = agent_builds::collect(naming, &mut objects)?;
    let (objects, overlay_bases, build_errors) =
        delivered::by_builds(naming, &agent_builds, objects);
    let (rendered, mut findings) = BuiltSources::build(repo, settings, &builds);
    let (empty, rendered_objects) = rendered.read(repo, |document| interpret_rendered(&document));
    findings.extend(inputs::empty(&empty));
    findings.extend(build_errors);
    let mut all = ObjectsByKind::new(objects.into_iter().chain(rendered_objects));
    findings.extend(unread);
    findings.extend(misplaced::findings(repo, settings, &all.generated_hosts));
    findings.extend(input_findings);

    // Builds may have renamed requests.
    let requests = all.requests.iter().map(|request| (&request.origin, &*request.content));
    let listing = listing.with_clusters(names.requested_clusters(requests, settings));
    let agents = Agents::new(repo, settings, &builds, mem::take(&mut all.agents), &listing);
    refuse_closed(naming, &agents, &closed)?;
    let concern = Concern::new(naming, &agents, &all);
    let build_findings = build_findings.into_iter();
    findings.extend(build_findings.map(|finding| concern.kustomization_finding(finding)));
    findings.extend(concern.refused(refused));
    findings.extend(unreadable(naming, &concern, &mut all));
    let plain_secrets = mem::take(&mut all.plain_secrets);
    findings.extend(plaintext_secrets::findings(naming, &concern, plain_secrets));
    let file_templates = operators_templates::file_templates(repo, &builds);
    all.operators_templates.extend(file_templates);

    let has_cluster_api = all.has_cluster_api_request(settings);
    names.findings = findings;
    let NamedRequests { requests: clusters, cluster_api: cluster_api_clusters, in_repo, templates } =
        name_requests(all.requests, &mut names, &concern, settings);
    all.templates.extend(templates);
    all.templates.retain(|template| inputs.contains(&template.origin));
    let software = name_software(all.software, &mut names);
    let cluster_parts = name_cluster_parts(all.cluster_parts, &names);
    let (cluster_parts, findings) = duplicates::joined_parts(cluster_parts, &concern);
    if has_cluster_api {
        names.findings.extend(findings);
    }
    let machine_requests = cluster_api_clusters.iter().filter(|_| has_cluster_api);
    let parts = Some(&cluster_parts).filter(|_| has_cluster_api);
    names.findings.extend(concern.omitted_requests(clusters.iter().chain(machine_requests), parts));
    let mut networks = Networks::default();
    let mut hosts = rayon::in_place_scope(|scope| {
        scope.spawn(|_| networks.extend(located_network_data(naming, &all.network_data)));
        name_hosts(all.hosts, &mut names, &concern)
    });
    let renamed = |documents: &[_]| renaming_kustomization(naming, documents);
    names.findings.extend(host_origin::complete(&mut hosts, &inputs, settings, renamed));
    // Services count even if they are not inputs, because their NodePorts are taken all the same.
    let services = all.services.into_iter().filter_map(|service| names.service(service)).collect();
    let address_objects = name_address_objects(all.addresses, &names, &builds);
    let hardware = name_objects(all.hardware, &mut names.quiet());
    let firmware = name_objects(all.firmware, &mut names.quiet());
    let mut findings = names.findings;
    let left_out = hosts.others.into_iter();
    let left_out = left_out.filter_map(LeftOutHost::new).collect();
    let (documents, hosts) = (hosts.in_files, hosts.inputs);
    let namespace = |origin: &Origin| inputs.namespace(origin).map(str::to_owned);
    networks.extend(network_files::generated(repo, &builds, &hosts, &namespace));
    networks.join_hosts(repo, &files, &hosts);
    findings.extend(concern.omitted_network_data(&networks, &hosts));
    let address_objects =
        duplicates::without_duplicate_pools(address_objects, &concern, &mut findings);
    networks.claimed = ClaimedAddresses::new(address_objects, &mut findings);
    let objects = SiteObjects {
        clusters,
        in_repo,
        software,
        cluster_api_clusters,
        cluster_parts,
        hosts,
        left_out,
        documents,
        networks,
        hardware,
        firmware,
        builds,
        rendered,
        templates: all.templates,
        agents,
        services,
        operators_templates: all.operators_templates,
        definitions: all.definitions,
        overlay_bases,
        agent_builds,
        files,
        closed,
    };
    Ok((objects, findings))
}

/// Refuses an unreadable directory that an agent applies.
fn refuse_closed(
    naming: NamespaceInputs<'_>,
    agents: &Agents,
    closed: &[(Utf8PathBuf, String)],
) -> Result<(), ReadError> {
    let NamespaceInputs { repo, settings, .. } = naming;
    let is_applied = |(directory, _): &&(Utf8PathBuf, String)| {
        let mut applied = agents.applied.iter();
        settings.may_read(directory) && applied.any(|it| it.directory.starts_with(directory))
    };
    match closed.iter().find(is_applied) {
        Some((directory, reason)) => Err(scan::needed(repo, settings, directory, reason)),
        None => Ok(()),
    }
}

/// Takes the findings about unreadable documents that are inputs.
fn unreadable(
    naming: NamespaceInputs<'_>,
    concern: &Concern<'_>,
    all: &mut ObjectsByKind,
) -> Vec<Finding> {
    let NamespaceInputs { builds, inputs, settings, .. } = naming;
    let has_cluster_api = all.has_cluster_api_request(settings);
    let mut findings = Vec::new();
    for ReadObject { origin, content: kind, findings: found } in all.unreadable.drain(..) {
        if kind == UnreadableKind::Other && is_kustomization(&origin.file) {
            let found = found.into_iter();
            findings.extend(found.map(|finding| concern.kustomization_finding(finding)));
            continue;
        }
        // A patch may omit its apiVersion. It is not an object.
        let is_object =
            |finding: &Finding| finding.code != Code::NearMiss || !builds.is_patch(&origin.file);
        let found = found.into_iter().filter(|_| inputs.contains(&origin));
        let known = |finding: Finding| match kind {
            UnreadableKind::Other => Some(finding).filter(is_object),
            UnreadableKind::Host => Some(finding)
                .filter(is_object)
                .map(|finding| concern.host_finding(finding, &origin)),
            UnreadableKind::ClusterPart => Some(finding).filter(|_| has_cluster_api),
        };
        findings.extend(found.filter_map(known));
    }
    findings
}

/// Requests with the names that builds give them.
#[derive(Default)]
struct NamedRequests {
    requests: Vec<(ClusterDocument, Spec)>,
    /// Clusters of Cluster API, requests or not.
    cluster_api: Vec<(ClusterDocument, Spec)>,
    /// Requests of the repo that are not inputs.
    in_repo: HashMap<ClusterKey, Origin>,
    /// Requests whose names are placeholders.
    templates: Vec<SuspectedTemplate>,
}

/// Names requests, and separates inputs from other requests of the repo.
fn name_requests(
    requests: Vec<ReadObject<Box<RequestContent>>>,
    names: &mut BuildNames<'_>,
    concern: &Concern<'_>,
    settings: &Settings,
) -> NamedRequests {
    let mut named = NamedRequests::default();
    let mut quiet = names.quiet();
    for ReadObject { origin, content, findings } in requests {
        let RequestContent { kind, metadata, spec } = *content;
        let is_input = names.inputs.contains(&origin);
        let is_asked = (kind.descriptor().is_request)(&metadata, settings);
        let names = if is_input && is_asked { &mut *names } else { &mut quiet };
        if concern.is_template(&origin, &metadata) {
            names.findings.push(concern.template(&origin, kind.as_str()));
            named.templates.push(SuspectedTemplate { origin, asked: None });
            continue;
        }
        let Some((key, name)) = names.cluster(kind.descriptor().object, &origin, &metadata) else {
            continue;
        };
        if !is_input {
            if is_asked {
                named.in_repo.entry(key).or_insert(origin);
            }
            continue;
        }
        let findings = findings.into_iter().map(|finding| finding.for_cluster(&key));
        names.findings.extend(findings);
        let list = if kind.descriptor().makes_machines {
            &mut named.cluster_api
        } else {
            &mut named.requests
        };
        list.push((ClusterDocument { kind, key, name, origin, metadata }, spec));
    }
    // Generated files must name the same source whether the input is a stream or the repo's files.
    for (document, _) in named.requests.iter_mut().chain(&mut named.cluster_api) {
        if let Some(origin) = named.in_repo.get(&document.key) {
            document.origin.note_made_from(&origin.file);
        }
    }
    for requests in [&mut named.requests, &mut named.cluster_api] {
        names.findings.extend(duplicates::without_duplicate_requests(requests, concern));
    }
    named
}

fn name_cluster_parts(
    parts: Vec<ReadObject<Box<PartDocument>>>,
    names: &BuildNames<'_>,
) -> Vec<(PartKey, PartDocument)> {
    let named = parts.into_iter().flat_map(|ReadObject { origin, content, .. }| {
        let namespaces = names.input_namespaces(&origin, &content.metadata).into_iter();
        let part = PartDocument { origin, ..*content };
        namespaces.map(move |namespace| {
            let name = part.metadata.name.clone().unwrap_or_default();
            (PartKey { kind: part.kind.clone(), namespace, name }, part.clone())
        })
    });
    named.collect()
}

fn name_address_objects(
    objects: Vec<ReadObject<Box<NamedContent<AddressObject>>>>,
    names: &BuildNames<'_>,
    builds: &Builds,
) -> Vec<NamedObject> {
    let named = objects.iter().flat_map(|ReadObject { origin, content, .. }| {
        let NamedContent { metadata, object } = &**content;
        let name = metadata.name.as_deref().unwrap_or_default();
        let is_live = live_field(metadata).is_some() && builds.reach_of(origin).is_empty();
        names.input_namespaces(origin, metadata).into_iter().map(move |namespace| NamedObject {
            namespace,
            name: name.to_owned(),
            origin: origin.clone(),
            object: object.clone(),
            is_live,
        })
    });
    named.collect()
}

/// Names objects. Of two of one name, the first counts.
fn name_objects<T>(
    objects: Vec<ReadObject<Box<NamedContent<T>>>>,
    names: &mut BuildNames<'_>,
) -> HashMap<HostKey, T> {
    let mut by_name = HashMap::with_capacity(objects.len());
    for ReadObject { origin, content, .. } in objects {
        if names.inputs.contains(&origin)
            && let Some(name) = names.host_key(hardware::KIND, &origin, &content.metadata)
        {
            by_name.entry(name).or_insert(content.object);
        }
    }
    by_name
}

fn name_software(
    software: Vec<ReadObject<Box<SoftwareContent>>>,
    names: &mut BuildNames<'_>,
) -> Vec<SoftwareDocument> {
    let mut documents = Vec::new();
    for ReadObject { origin, content, findings } in software {
        let NamedContent { metadata, object: spec } = *content;
        if names.inputs.contains(&origin)
            && let Some((key, name)) = names.cluster(&provisioning::SOFTWARE, &origin, &metadata)
        {
            let findings = findings.into_iter().map(|finding| finding.for_cluster(&key));
            names.findings.extend(findings);
            documents.push(SoftwareDocument { key, name, origin, spec });
        }
    }
    documents
}

/// Returns the network data of inputs under the names that builds give it. Mistakes in these are
/// not reported.
fn located_network_data(
    naming: NamespaceInputs<'_>,
    objects: &[ReadObject<Box<NetworkDataObject>>],
) -> impl Iterator<Item = LocatedNetworkData> {
    let NamespaceInputs { builds, inputs, .. } = naming;
    let objects = objects.iter().filter(|object| inputs.contains(&object.origin));
    objects.flat_map(move |ReadObject { origin, content, .. }| {
        let own = content.namespace.as_deref();
        namespaces(builds, inputs, origin, own).into_iter().filter_map(move |(given, _)| {
            let key = SecretKey { namespace: given.parse().ok()?, name: content.name.clone()? };
            Some(LocatedNetworkData {
                holder: NetworkDataHolder { is_generated: false, key },
                field: DocumentField::new(origin, content.route),
                is_declared: !builds.reach_of(origin).is_empty(),
                is_live: content.is_live,
                overrides: false,
                data: content.data.clone(),
            })
        })
    })
}

/// Returns the field and place in a kustomization that may rename hosts.
fn renaming_kustomization(
    naming: NamespaceInputs<'_>,
    documents: &[(HostKey, Origin)],
) -> Option<(&'static str, Place)> {
    let files = documents.iter().map(|(_, origin)| &*origin.file).collect();
    let sources = naming.settings.sources.iter();
    let built = sources.filter_map(|source| source.kustomization.as_deref());
    naming.builds.that_may_rename(naming.repo, &files, built)
}

fn name_hosts(
    hosts: Vec<ReadObject<Box<HostContent>>>,
    names: &mut BuildNames<'_>,
    concern: &Concern<'_>,
) -> HostDocuments {
    let mut named = HostDocuments::default();
    let mut all_ambiguities = Vec::new();
    let mut quiet = names.quiet();
    for ReadObject { origin, content, findings } in hosts {
        let HostContent { host, ambiguities } = *content;
        let is_input = names.inputs.contains(&origin);
        let names = if is_input { &mut *names } else { &mut quiet };
        let is_meant = concern.has_host(&origin, Some(&host));
        let known = names.findings.len();
        let document = names.host(origin.clone(), host);
        if !is_meant {
            let found: Vec<Finding> = names.findings.drain(known..).collect();
            let found = found.into_iter().map(|finding| concern.unused(finding, &origin));
            names.findings.extend(found);
        }
        let Some(document) = document else {
            continue;
        };
        let document = HostDocument { is_meant, ..document };
        names.findings.extend(findings);
        if !origin.is_rendered() {
            named.in_files.push((document.key.clone(), document.origin.clone()));
        }
        if is_input {
            all_ambiguities.push((document.key.clone(), document.origin.clone(), ambiguities));
            named.inputs.push(document);
        } else {
            named.others.push(document);
        }
    }
    names.findings.extend(yaml_ambiguity::findings(all_ambiguities));
    named
}
