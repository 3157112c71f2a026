//! Typed objects of a repo, with the names that builds give them. [`scan`] reads the files, and
//! [`named`] has the other steps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;

use camino::{Utf8Path, Utf8PathBuf};

use super::by_kind::{ByKind, ReadCluster, ReadHost, ReadSoftware};
use super::concern::{self, Concern};
use super::host_origin::{self, RenamingKustomization};
use super::inputs::{self, BuiltSources, InputSelection};
use super::interpret::{InterpretedObject, interpret, interpret_rendered, is_kustomization};
use super::left_out::LeftOutHost;
use super::listing::{listed_elsewhere, not_too_large};
use super::names::{BuildNames, ServiceWithPorts, network_data};
use super::operators_templates;
use super::plaintext_secrets;
use super::substitution::NamespaceInputs;
use super::{agent_builds, delivered, misplaced};
use crate::base::api::cluster_api::GROUP;
use crate::base::api::hardware;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{self, Metadata};
use crate::base::api::ipam::{self, AddressObject};
use crate::base::api::kustomization::Kustomization;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::api::provisioning;
use crate::base::api::service;
use crate::base::finding::{Finding, Origin, Place};
use crate::base::layout;
use crate::input::decode::misspelled_kinds;
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::decode::yaml_ambiguity;
use crate::input::kustomize::{Builds, KustomizationRefusal, OverlayBases};
use crate::input::load::{Document, Files, ReadError, ScanResult, mentions};
use crate::input::settings::{Settings, sources};
use crate::site::delivery::{Agents, GROUPS};
use crate::site::inventory::addresses::NamedObject;
use crate::site::inventory::host_document::HostDocument;
use crate::site::inventory::network_files;
use crate::site::inventory::network_index::{BySecret, Networks};
use crate::site::inventory::networks::ReferringHost;
use crate::site::request::cluster_api;
use crate::site::request::cluster_parts::{ClusterParts, PartDocument};
use crate::site::request::registry::OBJECTS;
use crate::site::request::{ClusterDocument, ClusterKind, SoftwareDocument, Spec};

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
    /// Files that were read, sorted.
    pub(super) files: Vec<Utf8PathBuf>,
    /// Directories that cannot be read, with the reason.
    pub(super) closed: Vec<(Utf8PathBuf, String)>,
}

/// A file with such an object contains one of these words.
const WORDS: [&str; 9] = [
    ipam::GROUP,
    ipam::CLUSTER_API_GROUP,
    ipam::DATA,
    host::KIND,
    hardware::KIND,
    GROUP,
    "Secret",
    "ConfigMap",
    service::NODE_PORT,
];

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
    let ScannedFiles { objects, files, closed, builds, refused, build_findings, too_large, unread } =
        scanned;
    let (inputs, input_findings) = InputSelection::new(repo, settings, &files, &builds);
    let naming =
        NamespaceInputs { repo, files: &files, builds: &builds, inputs: &inputs, settings };
    let mut objects = objects;
    let agents = agent_builds::collect(naming, &mut objects)?;
    let (objects, overlay_bases, evaluation_findings) =
        delivered::by_builds(repo, &builds, settings, &inputs, &agents, objects);
    let (rendered, mut findings) = BuiltSources::build(repo, settings);
    let (count, rendered_objects) = rendered.read(repo, |document| interpret_rendered(&document));
    if count == 0 && !repo.streams().is_empty() {
        findings.push(inputs::empty(repo));
    }
    let mut all = ByKind::from_objects(objects.into_iter().chain(rendered_objects));
    findings.extend(evaluation_findings);
    let concerns = |finding: &Finding| {
        let mut files = finding.places.iter().map(|(place, _)| place.file());
        files.any(|file| settings.may_read(file) || !builds.reach(file).is_empty())
    };
    findings.extend(too_large.into_iter().filter(concerns).chain(unread));
    all.generated_hosts.retain(|file| !concern::is_excluded(settings, file));
    findings.extend(misplaced::findings(repo, settings, &all.generated_hosts));
    findings.extend(input_findings);

    let agents = Agents::new(repo, settings, &builds, mem::take(&mut all.agent_objects), &files);
    let is_applied = |directory: &Utf8Path| {
        let mut applied = agents.applied.iter();
        applied.any(|applied| applied.directory.starts_with(directory))
    };
    let mut possible = closed.iter().filter(|(directory, _)| settings.may_read(directory));
    if let Some((directory, reason)) = possible.find(|(directory, _)| is_applied(directory)) {
        return Err(needed(repo, settings, directory, reason));
    }
    let (host_documents, request_origins) = (all.host_documents(), all.request_origins());
    let concern = Concern::new(
        repo,
        settings,
        &builds,
        &inputs,
        &agents.applied,
        host_documents,
        request_origins,
    );
    let build_findings = build_findings.into_iter();
    findings.extend(build_findings.map(|finding| concern.kustomization_finding(finding)));
    findings.extend(concern.refused(refused));
    findings.extend(all.unreadable(&builds, &inputs, &concern));
    if all.has_cluster_api_request(settings) {
        let broken = all.broken_cluster_parts.drain(..);
        let input_findings = broken.filter(|(origin, _)| inputs.contains(origin));
        findings.extend(input_findings.map(|(_, finding)| finding));
    }
    all.templates.retain(|template| inputs.contains(&template.origin));
    let plain_secrets = plaintext_secrets::generator_secrets(&builds).into_iter();
    findings.extend(plaintext_secrets::findings(
        plain_secrets.chain(all.plain_secrets).collect(),
        settings,
        &concern,
        |origin| inputs.contains(origin),
    ));

    let file_templates = operators_templates::file_templates(repo, &builds);
    all.operators_templates.extend(file_templates);
    let mut names = BuildNames::new(&builds, &inputs, findings);
    let (mut clusters, in_repo) = name_clusters(all.clusters, &mut names, &concern, settings);
    let software = name_software(all.software, &mut names);
    let cluster_parts = name_cluster_parts(all.cluster_parts, &names);
    // Generated files must name the same source whether the input is a stream or the repo's files.
    for (document, _) in &mut clusters {
        if let Some(origin) = in_repo.get(&document.key) {
            document.origin.note_made_from(&origin.file);
        }
    }
    let (cluster_api_clusters, clusters): (Vec<_>, Vec<_>) =
        clusters.into_iter().partition(|(document, _)| document.kind == ClusterKind::ClusterApi);
    let secrets = all.secrets.into_iter();
    let secrets = secrets.filter(|(origin, _)| inputs.contains(origin));
    let held =
        secrets.flat_map(|(origin, object)| network_data(&builds, &inputs, &origin, &object));
    let mut by_secret = BySecret::default();
    let named_hosts = rayon::in_place_scope(|scope| {
        scope.spawn(|_| by_secret.extend(held));
        name_hosts(all.hosts, &mut names, &concern)
    });
    let HostDocuments { inputs: hosts, others, documents } = named_hosts;
    let renamed = || {
        let files = documents.iter().map(|(_, origin)| &*origin.file);
        let sources = settings.sources.iter();
        let built = sources.filter_map(|source| source.kustomization.as_deref());
        let (file, place, field) = builds.that_may_rename(repo, &files.collect(), built)?;
        Some(RenamingKustomization { file: file.clone(), field, place })
    };
    let (hosts, left_out, found) = host_origin::complete(hosts, others, &inputs, settings, renamed);
    names.findings.extend(found);
    // Services count even if they are not inputs, because their NodePorts are taken all the same.
    let services = all
        .services
        .into_iter()
        .filter_map(|(origin, service)| names.service(origin, &service))
        .collect();
    let address_objects = name_address_objects(all.address_objects, &names);
    let hardware = name_hardware(all.hardware, &mut names.quiet());
    let mut findings = names.findings;
    let left_out =
        left_out.into_iter().filter_map(|document| LeftOutHost::new(document, &builds)).collect();
    let referring: Vec<ReferringHost<'_>> = hosts.iter().map(HostDocument::referring).collect();
    let namespace = |origin: &Origin| inputs.namespace(origin).map(str::to_owned);
    by_secret.extend(network_files::generated(repo, &builds, &referring, &namespace));
    let decrypt = settings.sops.decrypt && uses_addresses(&clusters);
    let networks = Networks::new(repo, &files, by_secret, &referring, decrypt, &mut findings)
        .with_claimed(address_objects, &mut findings);
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
        builds,
        rendered,
        templates: all.templates,
        agents,
        services,
        operators_templates: all.operators_templates,
        definitions: all.definitions,
        overlay_bases,
        files,
        closed,
    };
    Ok((objects, findings))
}

/// Objects of a repo's files, and the kustomizations that reach the files.
pub(super) struct ScannedFiles {
    /// Every object except kustomizations.
    objects: Vec<InterpretedObject>,
    /// Files that were read, sorted.
    files: Vec<Utf8PathBuf>,
    /// Directories that cannot be read, with the reason.
    closed: Vec<(Utf8PathBuf, String)>,
    builds: Builds,
    /// Reason why kustomize refuses the kustomization of a directory.
    refused: BTreeMap<Utf8PathBuf, KustomizationRefusal>,
    build_findings: Vec<Finding>,
    too_large: Vec<Finding>,
    /// Findings about listed files that cannot be read.
    unread: Vec<Finding>,
}

/// Reads the typed objects of a repo's files, except below its output directory.
///
/// # Errors
///
/// Returns an error if a file or directory cannot be read.
pub(super) fn scan(repo: &Files, settings: &Settings) -> Result<ScannedFiles, ReadError> {
    let output = &settings.output;
    let (files, closed) = repo.files_and_closed(output)?;
    let (mut files, too_large) = not_too_large(repo, files);
    for (directory, reason) in &closed {
        let snapshot = &settings.snapshot.directory;
        let has_snapshot = snapshot.starts_with(directory) || directory.starts_with(snapshot);
        if has_snapshot || settings.leads_into(directory) {
            return Err(needed(repo, settings, directory, reason));
        }
    }
    let requests = OBJECTS.map(|object| object.kind);
    // Hosts first: they are most of the bytes, and the first word that is found ends the search.
    let ours = mentions(
        &[&[host::KIND][..], &requests, &WORDS[..], &GROUPS[..], &misspelled_kinds::WORDS].concat(),
    );
    let hosts = mentions(&[host::KIND]);
    let requests = mentions(&ClusterKind::marks());
    let look = |file: &Utf8Path, content: &[u8]| {
        if !layout::is_ours(content) {
            return ScanResult::from(is_kustomization(file) || ours(content));
        }
        // A request may have sipgen's marker because a user copied the comment from a generated
        // file.
        let says = hosts(content).then(|| InterpretedObject::GeneratedHosts(file.to_owned()));
        ScanResult { says, read: requests(content) }
    };
    let interpret_file = |document: Document<'_>| {
        let is_for_agents = repo.is_for_agents(&document.origin.file);
        interpret(document).filter(|object| {
            !is_for_agents
                || matches!(
                    object,
                    InterpretedObject::Agent(_) | InterpretedObject::ClusterSecret(..)
                )
        })
    };
    let mut objects = repo.scan(&files, look, interpret_file)?;
    only_first_kustomizations(&mut objects);
    let (kustomizations, refused) = take_kustomizations(&mut objects);
    let (builds, build_findings) = Builds::new(kustomizations);
    let reason = |path: &Utf8Path| {
        let mut closed = closed.iter();
        closed.find_map(|(directory, reason)| path.starts_with(directory).then_some(reason))
    };
    let listed = builds.listed().filter_map(|path| Some((path, reason(path)?)));
    if let Some((path, reason)) = listed.min() {
        let (_, by) = builds.place_of_listed(path);
        return Err(repo.closed(path, format!("{by} lists it, and {reason}")));
    }
    // kustomize reads files of any name that it lists, so these are found only now.
    let (listed, unread) = listed_elsewhere(repo, &builds, &files, output, &ours);
    let (listed, mut unread_for_size) = not_too_large(repo, listed);
    objects.extend(repo.scan(&listed, look, interpret)?);
    files.extend(listed);
    files.sort();
    unread_for_size.extend(unread);
    Ok(ScannedFiles {
        objects,
        files,
        closed,
        builds,
        refused,
        build_findings,
        too_large,
        unread: unread_for_size,
    })
}

/// Returns the error for a directory that cannot be read and has inputs.
fn needed(repo: &Files, settings: &Settings, directory: &Utf8Path, reason: &str) -> ReadError {
    let out = sources::leave_out(settings, &[directory]);
    repo.closed(directory, format!("{reason}; {out}"))
}

/// Removes all but the first document of each kustomization file, because kustomize reads no
/// others.
fn only_first_kustomizations(objects: &mut Vec<InterpretedObject>) {
    let mut known = BTreeSet::new();
    objects.retain(|object| match object {
        InterpretedObject::Kustomization(origin, ..) | InterpretedObject::Unreadable(origin, _)
            if is_kustomization(&origin.file) =>
        {
            known.insert(origin.file.clone())
        }
        _ => true,
    });
}

type Kustomizations = Vec<(Origin, Kustomization)>;

/// Separates kustomizations from the other objects, with the directories whose kustomization is
/// refused.
fn take_kustomizations(
    objects: &mut Vec<InterpretedObject>,
) -> (Kustomizations, BTreeMap<Utf8PathBuf, KustomizationRefusal>) {
    let (mut kustomizations, mut refused) = (Vec::new(), BTreeMap::new());
    let is_kustomization =
        |object: &mut InterpretedObject| matches!(object, InterpretedObject::Kustomization(..));
    for object in objects.extract_if(.., is_kustomization) {
        let InterpretedObject::Kustomization(origin, kustomization, refusal) = object else {
            continue;
        };
        let directory = origin.file.parent().unwrap_or(Utf8Path::new(""));
        refused.extend(refusal.map(|refusal| (directory.to_owned(), *refusal)));
        kustomizations.push((origin, *kustomization));
    }
    (kustomizations, refused)
}

/// Names requests, and separates inputs from other requests of the repo.
fn name_clusters(
    clusters: Vec<ReadCluster>,
    names: &mut BuildNames<'_>,
    concern: &Concern<'_>,
    settings: &Settings,
) -> (Vec<(ClusterDocument, Spec)>, HashMap<ClusterKey, Origin>) {
    let (mut documents, mut in_repo) = (Vec::new(), HashMap::new());
    let mut quiet = names.quiet();
    for (origin, kind, metadata, spec, found) in clusters {
        let is_input = names.inputs.contains(&origin);
        let is_asked =
            kind != ClusterKind::ClusterApi || cluster_api::is_asked(&metadata, settings);
        let names = if is_input && is_asked { &mut *names } else { &mut quiet };
        if concern.is_template(&origin, &metadata) {
            names.findings.push(concern.template(&origin, kind.as_str()));
            continue;
        }
        let Some((key, name)) = names.cluster(kind.descriptor().object, &origin, &metadata) else {
            continue;
        };
        if !is_input {
            if is_asked {
                in_repo.entry(key).or_insert(origin);
            }
            continue;
        }
        let found = found.into_iter().map(|finding| finding.for_cluster(&key));
        names.findings.extend(found);
        let document = ClusterDocument { kind, key, name, origin, metadata: *metadata };
        documents.push((document, spec));
    }
    (documents, in_repo)
}

fn name_cluster_parts(parts: Vec<PartDocument>, names: &BuildNames<'_>) -> ClusterParts {
    let mut objects = ClusterParts::default();
    for part in parts {
        if names.inputs.contains(&part.origin) {
            let name = part.metadata.name.clone().unwrap_or_default();
            for namespace in names.namespaces_of(&part.origin, &part.metadata) {
                objects.add(namespace, name.clone(), part.clone());
            }
        }
    }
    objects
}

fn name_address_objects(
    objects: Vec<(Origin, Metadata, AddressObject)>,
    names: &BuildNames<'_>,
) -> Vec<NamedObject> {
    let mut named = Vec::new();
    for (origin, metadata, object) in
        objects.into_iter().filter(|(origin, ..)| names.inputs.contains(origin))
    {
        let name = metadata.name.clone().unwrap_or_default();
        for namespace in names.namespaces_of(&origin, &metadata) {
            named.push(NamedObject {
                namespace,
                name: name.clone(),
                origin: origin.clone(),
                object: object.clone(),
            });
        }
    }
    named
}

/// Names HardwareData. Of two for one host, the first counts.
fn name_hardware(
    objects: Vec<(Origin, Metadata, HardwareIdentity)>,
    names: &mut BuildNames<'_>,
) -> HashMap<HostKey, HardwareIdentity> {
    let mut by_host = HashMap::with_capacity(objects.len());
    for (origin, metadata, identity) in objects {
        if names.inputs.contains(&origin)
            && let Some(host) = names.host_key(hardware::KIND, &origin, &metadata)
        {
            by_host.entry(host).or_insert(identity);
        }
    }
    by_host
}

fn name_software(software: Vec<ReadSoftware>, names: &mut BuildNames<'_>) -> Vec<SoftwareDocument> {
    let mut documents = Vec::new();
    for (origin, metadata, spec, found) in software {
        if names.inputs.contains(&origin)
            && let Some((key, name)) = names.cluster(&provisioning::SOFTWARE, &origin, &metadata)
        {
            let found = found.into_iter().map(|finding| finding.for_cluster(&key));
            names.findings.extend(found);
            documents.push(SoftwareDocument { key, name, origin, spec });
        }
    }
    documents
}

/// Documents of hosts, with the keys that builds give them.
#[derive(Default)]
struct HostDocuments {
    inputs: Vec<HostDocument>,
    /// Documents of the repo that are not inputs.
    others: Vec<HostDocument>,
    /// All documents in the repo's files.
    documents: Vec<(HostKey, Origin)>,
}

fn name_hosts(
    hosts: Vec<ReadHost>,
    names: &mut BuildNames<'_>,
    concern: &Concern<'_>,
) -> HostDocuments {
    let mut named = HostDocuments::default();
    let mut doubts = Vec::new();
    let mut quiet = names.quiet();
    for (origin, host, doubted, found) in hosts {
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
        let Some(mut document) = document else {
            continue;
        };
        document.is_meant = is_meant;
        names.findings.extend(found.map(|finding| *finding));
        if !origin.is_rendered() {
            named.documents.push((document.key.clone(), document.origin.clone()));
        }
        if is_input {
            let doubt = |doubt| (document.key.clone(), document.origin.clone(), doubt);
            doubts.extend(doubted.into_iter().map(doubt));
            named.inputs.push(document);
        } else {
            named.others.push(document);
        }
    }
    names.findings.extend(yaml_ambiguity::findings(doubts));
    named
}

/// Returns whether a valid request depends on addresses of hosts.
fn uses_addresses(clusters: &[(ClusterDocument, Spec)]) -> bool {
    let mut specs = clusters.iter().filter_map(|(_, spec)| spec.as_ref());
    specs.any(|spec| spec.uses_addresses())
}
