//! Typed objects of a repo, with the names that builds give them.

use std::collections::HashMap;
use std::mem;

use camino::Utf8PathBuf;

use super::concern::Concern;
use super::host_origin::{self, HostDocuments};
use super::inputs::{InputSelection, build_sources, read_rendered};
use super::interpret::interpret_rendered;
use super::left_out::LeftOutHost;
use super::names::NamingContext;
use super::read_object::{
    HostContent, NamedContent, ObjectsByKind, ReadContent, ReadObject, RequestContent,
    SoftwareContent, UnreadableKind,
};
use super::scan::{self, ScannedFiles};
use super::{
    Site, agent_builds, delivered, duplicates, misplaced, operators_templates, plaintext_secrets,
};
use crate::base::api::hardware;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::live_field;
use crate::base::api::ipam::AddressObject;
use crate::base::api::kustomization::is_kustomization;
use crate::base::api::names::{ClusterKey, HostKey, SecretKey};
use crate::base::api::provisioning;
use crate::base::finding::{Code, DocumentField, Finding, Origin};
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity;
use crate::input::load::{Files, ReadError};
use crate::input::settings::Settings;
use crate::site::delivery::{Agents, RepoListing};
use crate::site::inventory::addresses::{ClaimedAddresses, NamedObject};
use crate::site::inventory::network_index::Networks;
use crate::site::inventory::networks::{LocatedNetworkData, NetworkDataHolder, NetworkDataObject};
use crate::site::request::cluster_parts::{ClusterParts, PartDocument, PartKey};
use crate::site::request::{ClusterDocument, SoftwareDocument, Spec};

/// Objects of a repo that are still to be checked and joined.
pub(super) struct NamedObjects {
    pub(super) requests: NamedRequests,
    pub(super) software: Vec<SoftwareDocument>,
    /// The objects that Clusters of Cluster API consist of.
    pub(super) cluster_parts: ClusterParts,
    pub(super) hosts: HostDocuments,
    pub(super) networks: Networks,
    /// Identities of machines in HardwareData, by host.
    pub(super) hardware: HashMap<HostKey, HardwareIdentity>,
    pub(super) agents: Agents,
    /// Directories that cannot be read, with the reason.
    pub(super) closed: Vec<(Utf8PathBuf, String)>,
}

/// Requests with the names that builds give them.
pub(super) struct NamedRequests {
    /// Requests, and after them the Clusters of Cluster API, requests or not.
    pub(super) clusters: Vec<(ClusterDocument, Spec)>,
    /// Requests in files of the repo that are not inputs.
    pub(super) in_repo: HashMap<ClusterKey, Origin>,
    /// Requests and Softwares that are probably templates of another tool.
    pub(super) templates: Vec<SuspectedTemplate>,
}

/// Names the typed objects of a repo's files as builds do, and reads those of rendered inputs. The
/// site has what is not to be joined with others.
///
/// # Errors
///
/// Returns an error if a file or directory cannot be read.
pub(super) fn named(
    scanned: ScannedFiles,
    repo: &Files,
    settings: &Settings,
) -> Result<(Site, NamedObjects, Vec<Finding>), ReadError> {
    let ScannedFiles { mut objects, files, closed, builds, refused, build_findings, unread } =
        scanned;
    let (inputs, input_findings) = InputSelection::new(repo, settings, &files, &builds);
    let naming = NamingContext { repo, files: &files, builds: &builds, inputs: &inputs, settings };
    let requests = objects.iter().filter_map(|object| match &object.content {
        ReadContent::Request(content) => Some((&object.origin, &**content)),
        _ => None,
    });
    let listing = RepoListing::default().with_clusters(naming.requested_clusters(requests));
    let agent_builds = agent_builds::collect(naming, &listing, &mut objects)?;
    let (objects, overlay_bases, build_errors) =
        delivered::by_builds(naming, &agent_builds, objects);
    let (rendered, mut findings) = build_sources(repo, settings, &builds);
    let (rendered_objects, empty) =
        read_rendered(repo, &rendered, |document| interpret_rendered(&document));
    findings.extend(empty);
    findings.extend(build_errors);
    let mut all = ObjectsByKind::new(objects.into_iter().chain(rendered_objects));
    findings.extend(unread);
    findings.extend(misplaced::findings(repo, settings, &all.generated_hosts));
    findings.extend(input_findings);

    // Builds may have renamed requests.
    let requests = all.requests.iter().map(|request| (&request.origin, &*request.content));
    let listing = listing.with_clusters(naming.requested_clusters(requests));
    let agents = Agents::new(repo, settings, &builds, mem::take(&mut all.agents), &listing);
    refuse_closed(naming, &agents, &closed)?;
    let concern = Concern::new(naming, &agents, &all);
    let build_findings = build_findings.into_iter();
    findings.extend(build_findings.map(|finding| concern.kustomization_finding(finding)));
    findings.extend(concern.refused(refused));
    let unreadable_inputs = all.unreadable.iter().filter(|object| inputs.contains(&object.origin));
    let unreadable_inputs = unreadable_inputs.map(|object| object.origin.file.clone()).collect();
    findings.extend(concern.refused_appliers(&agent_builds, unreadable_inputs));
    let has_cluster_api = all.has_cluster_api_request(settings);
    findings.extend(unreadable(&concern, all.unreadable, has_cluster_api));
    findings.extend(plaintext_secrets::findings(&concern, all.plain_secrets));
    let file_templates = operators_templates::file_templates(repo, &builds);
    all.operators_templates.extend(file_templates);

    let requests = name_requests(all.requests, all.templates, &concern, &mut findings);
    let software = name_software(all.software, naming, &mut findings);
    let cluster_parts = name_cluster_parts(all.cluster_parts, naming);
    let (cluster_parts, found) = duplicates::joined_parts(cluster_parts, &concern);
    findings.extend(found.into_iter().filter(|_| has_cluster_api));
    findings.extend(concern.omitted_requests(&requests.clusters, &cluster_parts, has_cluster_api));
    let mut networks = Networks::default();
    let mut hosts = rayon::in_place_scope(|scope| {
        scope.spawn(|_| networks.extend(located_network_data(naming, &all.network_data)));
        name_hosts(all.hosts, &concern, &mut findings)
    });
    findings.extend(host_origin::complete(&mut hosts, naming));
    let namespace = |origin: &Origin| inputs.namespace(origin).map(str::to_owned);
    networks.add_generated(repo, &builds, &hosts.inputs, &namespace);
    networks.join_hosts(repo, &files, &hosts.inputs);
    findings.extend(concern.omitted_network_data(&networks, &hosts.inputs));
    let address_objects = name_address_objects(all.addresses, naming);
    let address_objects =
        duplicates::without_duplicate_pools(address_objects, &concern, &mut findings);
    networks.claimed = ClaimedAddresses::new(address_objects, &mut findings);
    let hardware = name_objects(all.hardware, naming);
    let site = Site {
        left_out: mem::take(&mut hosts.others).into_iter().map(LeftOutHost::new).collect(),
        // Services count even if they are not inputs, because their NodePorts are taken all the same.
        services: all.services.into_iter().filter_map(|service| naming.service(service)).collect(),
        firmware: name_objects(all.firmware, naming),
        operators_templates: all.operators_templates,
        definitions: all.definitions,
        overlay_bases,
        agent_builds,
        rendered,
        builds,
        files,
        ..Site::default()
    };
    let objects = NamedObjects {
        requests,
        software,
        cluster_parts,
        hosts,
        networks,
        hardware,
        agents,
        closed,
    };
    Ok((site, objects, findings))
}

/// Refuses an unreadable directory that an agent applies.
fn refuse_closed(
    naming: NamingContext<'_>,
    agents: &Agents,
    closed: &[(Utf8PathBuf, String)],
) -> Result<(), ReadError> {
    let NamingContext { repo, settings, .. } = naming;
    let is_applied = |(directory, _): &&(Utf8PathBuf, String)| {
        let mut applied = agents.applied.iter();
        settings.may_read(directory) && applied.any(|it| it.directory.starts_with(directory))
    };
    match closed.iter().find(is_applied) {
        Some((directory, reason)) => Err(scan::needed(repo, settings, directory, reason)),
        None => Ok(()),
    }
}

/// Returns the findings about unreadable documents that are inputs.
fn unreadable(
    concern: &Concern<'_>,
    unreadable: Vec<ReadObject<UnreadableKind>>,
    has_cluster_api: bool,
) -> Vec<Finding> {
    let NamingContext { builds, inputs, .. } = concern.naming;
    let mut findings = Vec::new();
    for ReadObject { origin, content: kind, findings: found } in unreadable {
        let is_kustomization = kind == UnreadableKind::Other && is_kustomization(&origin.file);
        // A patch may omit its apiVersion. It is not an object.
        let is_object =
            |finding: &Finding| finding.code != Code::NearMiss || !builds.is_patch(&origin.file);
        let counts = |finding: &Finding| match kind {
            _ if is_kustomization => true,
            UnreadableKind::ClusterPart => has_cluster_api && inputs.contains(&origin),
            UnreadableKind::Host | UnreadableKind::Other => {
                is_object(finding) && inputs.contains(&origin)
            }
        };
        findings.extend(found.into_iter().filter(counts).map(|finding| match kind {
            UnreadableKind::Host => concern.host_finding(finding, &origin),
            _ if is_kustomization => concern.kustomization_finding(finding),
            _ => finding,
        }));
    }
    findings
}

/// Names requests, and separates inputs from other requests of the repo. `templates` are probable
/// ones of another tool.
fn name_requests(
    requests: Vec<ReadObject<Box<RequestContent>>>,
    templates: Vec<SuspectedTemplate>,
    concern: &Concern<'_>,
    findings: &mut Vec<Finding>,
) -> NamedRequests {
    let NamingContext { inputs, settings, .. } = concern.naming;
    let mut named = NamedRequests { clusters: Vec::new(), in_repo: HashMap::new(), templates };
    for ReadObject { origin, content, findings: found } in requests {
        let (is_input, is_asked) = (inputs.contains(&origin), content.is_asked(settings));
        let RequestContent { kind, metadata, spec } = *content;
        if concern.is_template(&origin, &metadata) {
            let counts = is_input && is_asked;
            findings.extend(counts.then(|| concern.template(&origin, kind.as_str())));
            named.templates.push(SuspectedTemplate { origin, asked: None });
            continue;
        }
        match concern.naming.cluster(kind.descriptor().object, &origin, &metadata) {
            Ok((key, name)) if is_input => {
                let found = found.into_iter().filter(|_| is_asked);
                findings.extend(found.map(|finding| finding.for_cluster(&key)));
                named.clusters.push((ClusterDocument { kind, key, name, origin, metadata }, spec));
            }
            Ok((key, _)) if is_asked => _ = named.in_repo.entry(key).or_insert(origin),
            Err(mistakes) if is_input && is_asked => findings.extend(mistakes),
            Ok(_) | Err(_) => {}
        }
    }
    // Generated files must name the same source whether the input is a stream or the repo's files.
    for (document, _) in &mut named.clusters {
        if let Some(origin) = named.in_repo.get(&document.key) {
            document.origin.note_made_from(&origin.file);
        }
    }
    named.clusters.sort_by_key(|(document, _)| document.kind.descriptor().makes_machines);
    findings.extend(duplicates::without_duplicate_requests(&mut named.clusters, concern));
    named.templates.retain(|template| inputs.contains(&template.origin));
    named
}

fn name_cluster_parts(
    parts: Vec<ReadObject<Box<PartDocument>>>,
    naming: NamingContext<'_>,
) -> Vec<(PartKey, PartDocument)> {
    let named = parts.into_iter().flat_map(|ReadObject { origin, content, .. }| {
        let namespaces = naming.input_namespaces(&origin, &content.metadata).into_iter();
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
    naming: NamingContext<'_>,
) -> Vec<NamedObject> {
    let named = objects.iter().flat_map(|ReadObject { origin, content, .. }| {
        let NamedContent { metadata, object } = &**content;
        let name = metadata.name.as_deref().unwrap_or_default();
        let is_live = live_field(metadata).is_some() && naming.builds.reach_of(origin).is_empty();
        naming.input_namespaces(origin, metadata).into_iter().map(move |namespace| NamedObject {
            namespace,
            name: name.to_owned(),
            origin: origin.clone(),
            object: object.clone(),
            is_live,
        })
    });
    named.collect()
}

/// Names objects of hosts. Of two of one name, the first counts.
fn name_objects<T>(
    objects: Vec<ReadObject<Box<NamedContent<T>>>>,
    naming: NamingContext<'_>,
) -> HashMap<HostKey, T> {
    let mut by_name = HashMap::with_capacity(objects.len());
    for ReadObject { origin, content, .. } in objects {
        if naming.inputs.contains(&origin)
            && let Ok(name) = naming.host_key(hardware::KIND, &origin, &content.metadata)
        {
            by_name.entry(name).or_insert(content.object);
        }
    }
    by_name
}

fn name_software(
    software: Vec<ReadObject<Box<SoftwareContent>>>,
    naming: NamingContext<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<SoftwareDocument> {
    let mut documents = Vec::new();
    let inputs = software.into_iter().filter(|object| naming.inputs.contains(&object.origin));
    for ReadObject { origin, content, findings: found } in inputs {
        let NamedContent { metadata, object: spec } = *content;
        match naming.cluster(&provisioning::SOFTWARE, &origin, &metadata) {
            Ok((key, name)) => {
                findings.extend(found.into_iter().map(|finding| finding.for_cluster(&key)));
                documents.push(SoftwareDocument { key, name, origin, spec });
            }
            Err(mistakes) => findings.extend(mistakes),
        }
    }
    documents
}

/// Returns the network data of inputs under the names that builds give it. Mistakes in these are
/// not reported.
fn located_network_data(
    naming: NamingContext<'_>,
    objects: &[ReadObject<Box<NetworkDataObject>>],
) -> impl Iterator<Item = LocatedNetworkData> {
    let objects = objects.iter().filter(move |object| naming.inputs.contains(&object.origin));
    objects.flat_map(move |ReadObject { origin, content, .. }| {
        let namespaces = naming.namespaces(origin, content.namespace.as_deref());
        namespaces.into_iter().filter_map(move |(given, _)| {
            let key = SecretKey { namespace: given.parse().ok()?, name: content.name.clone()? };
            Some(LocatedNetworkData {
                holder: NetworkDataHolder { is_generated: false, key },
                field: DocumentField::new(origin, content.route),
                is_declared: !naming.builds.reach_of(origin).is_empty(),
                is_live: content.is_live,
                overrides: false,
                data: content.data.clone(),
            })
        })
    })
}

fn name_hosts(
    hosts: Vec<ReadObject<Box<HostContent>>>,
    concern: &Concern<'_>,
    findings: &mut Vec<Finding>,
) -> HostDocuments {
    let mut named = HostDocuments::default();
    let mut all_ambiguities = Vec::new();
    for ReadObject { origin, content, findings: found } in hosts {
        let HostContent { host, ambiguities } = *content;
        let is_input = concern.naming.inputs.contains(&origin);
        let is_meant = concern.has_host(&origin, Some(&host));
        let document = match concern.naming.host(origin.clone(), host, is_meant) {
            Ok(document) => document,
            Err(mistakes) => {
                let mistakes = mistakes.into_iter().filter(|_| is_input);
                findings.extend(mistakes.map(|finding| match is_meant {
                    true => finding,
                    false => concern.unused(finding, &origin),
                }));
                continue;
            }
        };
        if !origin.is_rendered() {
            named.in_files.push((document.key.clone(), origin.clone()));
        }
        if is_input {
            findings.extend(found);
            all_ambiguities.push((document.key.clone(), origin, ambiguities));
            named.inputs.push(document);
        } else {
            named.others.push(document);
        }
    }
    findings.extend(yaml_ambiguity::findings(all_ambiguities));
    named
}
