//! From documents to typed objects, with the names that their builds give them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use super::concern::{self, Concern};
use super::delivered;
use super::inputs::{self, Inputs};
use super::left_out::HostLeftOut;
use super::plaintext_secrets::{self, PlainSecret};
use super::substitution::{self, Naming};
use crate::api::assignment::{FORMER_NAME, PRIORITY};
use crate::api::gitops::{
    APP_PROJECT, APPLICATION, APPLICATION_SET, ARGOCD_GROUP, BUCKET, FLUX_GROUP, FLUX_KIND,
    FLUX_SOURCE_GROUP, GIT_REPOSITORY, OCI_REPOSITORY, SECRET_TYPE,
};
use crate::api::group;
use crate::api::host::{self, BareMetalHost, Metadata};
use crate::api::kustomization::{self, Kustomization};
use crate::api::last_wins::Decoded;
use crate::api::names::{ClusterKey, HostKey, Namespace, NodePort, ObjectName, SecretKey};
use crate::api::network_data::{NetworkDataSecret, SECRET_KEYS};
use crate::api::object_kind::ObjectKind;
use crate::api::provisioning::{self, SoftwareSpec};
use crate::api::service::{self, Service};
use crate::decode::misspelled_kinds::{self, near_miss};
use crate::decode::suspected_templates::Template;
use crate::decode::yaml_ambiguity::{self, Doubt};
use crate::decode::{unreadable, unreadable_annotation};
use crate::delivery::{AgentObject, followed};
use crate::finding::{Code, Finding, Origin, Place};
use crate::inventory::host::HostDocument;
use crate::inventory::host_origin::{self, Renamed};
use crate::inventory::network_files;
use crate::inventory::networks::{self, Held, Networks, Referring};
use crate::kustomize::{self, Builds, Refusal};
use crate::layout;
use crate::load::{
    Document, Files, FirstLook, Kind, ParseError, ReadError, may_hold_resources, mentions,
};
use crate::request::provisioning::{cluster_of, decode_software, of_label};
use crate::request::registry::OBJECTS;
use crate::request::{ClusterDocument, ClusterKind, SoftwareDocument, Spec};
use crate::settings::{self, Settings, sources};
use crate::text::in_shell;

/// What concerns us in a repo.
pub(super) struct Objects {
    pub(super) clusters: Vec<ClusterDocument>,
    /// The requests in files of the repo that are no inputs.
    pub(super) in_repo: HashMap<ClusterKey, Origin>,
    pub(super) software: Vec<SoftwareDocument>,
    pub(super) hosts: Vec<HostDocument>,
    /// The hosts that kustomizations of the repo render, and that are not among the inputs.
    pub(super) left_out: HashMap<HostKey, HostLeftOut>,
    /// Every document of the repo's files that describes a host, whether it is an input or not.
    pub(super) documents: Vec<(HostKey, Origin)>,
    pub(super) networks: Networks,
    pub(super) builds: Builds,
    /// Requests and Softwares that are some other tool's templates, as far as one can see.
    pub(super) templates: Vec<Template>,
    /// What tells agents what to apply.
    pub(super) agent_objects: Vec<AgentObject>,
    /// The Services that ask for NodePorts.
    pub(super) services: Vec<ServiceWithPorts>,
    /// The names of the definitions of requests that the repo has.
    pub(super) definitions: BTreeSet<&'static str>,
    /// The files that were read, sorted.
    pub(super) files: Vec<Utf8PathBuf>,
    /// The directories that cannot be read, with the reason.
    pub(super) closed: Vec<(Utf8PathBuf, String)>,
}

/// A Service of the repo that asks for NodePorts.
#[derive(Debug, Clone)]
pub struct ServiceWithPorts {
    /// Where it stands.
    pub origin: Origin,
    /// Its name.
    pub name: String,
    /// The namespaces that builds give it.
    pub namespaces: Vec<String>,
    /// The NodePorts, each with its place among the Service's ports.
    pub node_ports: Vec<(usize, NodePort)>,
}

/// One document that concerns us, before the builds that name it are known.
pub(super) enum Object {
    Cluster(Origin, ClusterKind, Metadata, Spec, Vec<Finding>),
    Software(Origin, Metadata, Option<Box<SoftwareSpec>>, Vec<Finding>),
    Host(Origin, Box<BareMetalHost>, Vec<Doubt>, Option<Finding>),
    /// A Secret or ConfigMap that may hold network data.
    Secret(Origin, networks::Kind, NetworkDataSecret),
    /// A Secret with values in plain text, and its network data.
    PlainSecret(PlainSecret, Option<(Origin, NetworkDataSecret)>),
    /// A kustomization, and why kustomize refuses to read it, if it does.
    Kustomization(Origin, Box<Kustomization>, Option<Refusal>),
    Template(Template),
    Agent(AgentObject),
    /// A Secret by which Argo CD knows a cluster, and its values in plain text.
    ClusterSecret(AgentObject, Option<Box<PlainSecret>>),
    Service(Origin, Box<Service>),
    /// The definition of a kind of request, by its name.
    Definition(&'static str),
    /// A file of sipgen's own.
    GeneratedHosts(Utf8PathBuf),
    Unreadable(Origin, Finding),
    /// A host that cannot be read.
    UnreadableHost(Origin, Finding),
}

/// What stands at the head of every object.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    metadata: Metadata,
}

/// Finds by kind what concerns us in the files of a repo, except below its output directory, and in what is rendered.
pub(super) fn read(
    repo: &Files,
    settings: &Settings,
) -> Result<(Objects, Vec<Finding>), ReadError> {
    let output = &settings.output;
    let (files, closed) = repo.files_and_closed(output)?;
    let (mut files, too_large) = not_too_large(repo, files);
    for (directory, reason) in &closed {
        if settings.may_have_inputs_in(directory) {
            let out = sources::leave_out(settings, &[directory]);
            return Err(repo.closed(directory, format!("{reason}; {out}")));
        }
    }
    let ours = [
        host::KIND,
        "Secret",
        "ConfigMap",
        service::NODE_PORT,
        FLUX_GROUP,
        FLUX_SOURCE_GROUP,
        ARGOCD_GROUP,
    ];
    let ours = mentions(
        &[
            &ClusterKind::ALL.map(ClusterKind::as_str),
            &ours[..],
            &misspelled_kinds::WORDS,
        ]
        .concat(),
    );
    let hosts = mentions(&[host::KIND]);
    let requests = mentions(&ClusterKind::marks());
    let look = |file: &Utf8Path, content: &[u8]| {
        if !layout::is_ours(content) {
            return FirstLook::from(is_kustomization(file) || ours(content));
        }
        // A comment that was copied from a generated file makes no request sipgen's own.
        let says = hosts(content).then(|| Object::GeneratedHosts(file.to_owned()));
        FirstLook {
            says,
            read: requests(content),
        }
    };
    let interpret_file = |document: Document<'_>| {
        let is_for_agents = repo.is_for_agents(&document.origin.file);
        interpret(document).filter(|object| {
            !is_for_agents || matches!(object, Object::Agent(_) | Object::ClusterSecret(..))
        })
    };
    let mut read = repo.scan(&files, look, interpret_file)?;
    // kustomize reads the first document of its file alone.
    let mut known = BTreeSet::new();
    read.retain(|object| match object {
        Object::Kustomization(origin, ..) | Object::Unreadable(origin, _)
            if is_kustomization(&origin.file) =>
        {
            known.insert(origin.file.clone())
        }
        _ => true,
    });
    let (kustomizations, mut read): (Vec<_>, Vec<_>) = read
        .into_iter()
        .partition(|object| matches!(object, Object::Kustomization(..)));
    let mut refused: BTreeMap<Utf8PathBuf, Refusal> = BTreeMap::new();
    let kustomizations = kustomizations
        .into_iter()
        .filter_map(|object| match object {
            Object::Kustomization(origin, kustomization, refusal) => {
                let directory = origin.file.parent().unwrap_or(Utf8Path::new(""));
                refused.extend(refusal.map(|refusal| (directory.to_owned(), refusal)));
                Some((origin, *kustomization))
            }
            _ => None,
        });
    let (builds, of_builds) = Builds::new(kustomizations.collect());
    let is_in = |path: &&Utf8PathBuf| {
        closed
            .iter()
            .any(|(directory, _)| path.starts_with(directory))
    };
    if let Some(path) = builds.listed().filter(is_in).min() {
        let reason = closed
            .iter()
            .find(|(directory, _)| path.starts_with(directory));
        let (_, by) = builds.place_of_listed(path);
        let reason = reason.map_or("", |(_, reason)| reason);
        return Err(repo.closed(path, format!("{by} lists it, and {reason}")));
    }
    let (listed, unread) = listed_elsewhere(repo, &builds, &files, output, &ours);
    let (listed, listed_too_large) = not_too_large(repo, listed);
    read.extend(repo.scan(&listed, look, interpret)?);
    files.extend(listed);
    files.sort();
    let (inputs, of_inputs) = Inputs::new(repo, settings, &files, &builds);
    let naming = Naming {
        repo,
        files: &files,
        builds: &builds,
        inputs: &inputs,
        settings,
    };
    let variables = substitution::by_directory(naming, &read)?;
    let (mut read, of_evaluation) =
        delivered::by_builds(repo, &builds, settings, &inputs, &variables, read);
    let (rendered, mut findings) =
        inputs::rendered(repo, settings, |document| interpret_rendered(&document));
    read.extend(rendered);
    findings.extend(of_evaluation);

    let (mut clusters, mut hosts, mut secrets) = (Vec::new(), Vec::new(), Vec::new());
    let mut software = Vec::new();
    let (mut templates, mut agent_objects, mut services) = (Vec::new(), Vec::new(), Vec::new());
    let (mut generated_hosts, mut unreadable_documents, mut unreadable_hosts) =
        (Vec::new(), Vec::new(), Vec::new());
    let mut plain_secrets = plaintext_secrets::of_generators(&builds);
    let mut definitions = BTreeSet::new();
    let concerns = |finding: &Finding| {
        let mut files = finding.places.iter().map(|(place, _)| place.file());
        files.any(|file| settings.may_read(file) || !builds.reach(file).is_empty())
    };
    findings.extend(
        too_large
            .into_iter()
            .filter(concerns)
            .chain(listed_too_large)
            .chain(unread),
    );
    for object in read {
        match object {
            Object::Cluster(origin, kind, metadata, spec, found) => {
                clusters.push((origin, kind, metadata, spec, found))
            }
            Object::Software(origin, metadata, spec, found) => {
                software.push((origin, metadata, spec, found))
            }
            Object::Host(origin, host, doubts, found) => hosts.push((origin, host, doubts, found)),
            Object::Secret(origin, kind, secret) => secrets.push((origin, kind, secret)),
            Object::PlainSecret(plain, network_data) => {
                plain_secrets.push(plain);
                secrets.extend(
                    network_data.map(|(origin, secret)| (origin, networks::Kind::Secret, secret)),
                );
            }
            // What is rendered has none, and those of the repo are read already.
            Object::Kustomization(..) => {}
            Object::Template(template) => templates.push(template),
            Object::Agent(object) => agent_objects.push(object),
            Object::ClusterSecret(object, plain) => {
                agent_objects.push(object);
                plain_secrets.extend(plain.map(|plain| *plain));
            }
            Object::Service(origin, service) => services.push((origin, service)),
            Object::Definition(name) => {
                definitions.insert(name);
            }
            Object::GeneratedHosts(file) => generated_hosts.push(file),
            Object::Unreadable(origin, finding) => unreadable_documents.push((origin, finding)),
            Object::UnreadableHost(origin, finding) => unreadable_hosts.push((origin, finding)),
        }
    }
    generated_hosts.retain(|file| !concern::is_excluded(settings, file));
    findings.extend(misplaced(repo, settings, &generated_hosts));
    findings.extend(of_inputs);
    let of_hosts = hosts.iter().map(|(origin, host, ..)| (origin, &**host));
    let of_requests = clusters
        .iter()
        .map(|(origin, ..)| origin)
        .chain(software.iter().map(|(origin, ..)| origin));
    let applied = followed(repo, settings, agent_objects.clone(), &files);
    let concern = Concern::new(
        repo,
        settings,
        &builds,
        &inputs,
        applied,
        of_hosts,
        of_requests,
    );
    findings.extend(
        of_builds
            .into_iter()
            .map(|finding| concern.of_kustomization(finding)),
    );
    findings.extend(concern.refused(refused));
    // A patch may leave out its apiVersion, and is no object.
    let is_patch = |origin: &Origin, finding: &Finding| {
        finding.code == Code::NearMiss && builds.is_patch(&origin.file)
    };
    for (origin, finding) in unreadable_documents {
        if is_kustomization(&origin.file) {
            findings.push(concern.of_kustomization(finding));
        } else if inputs.takes(&origin) && !is_patch(&origin, &finding) {
            findings.push(finding);
        }
    }
    for (origin, finding) in unreadable_hosts {
        if inputs.takes(&origin) && !is_patch(&origin, &finding) {
            findings.push(concern.of_host(finding, &origin));
        }
    }
    templates.retain(|template: &Template| inputs.takes(&template.origin));
    findings.extend(plaintext_secrets::findings(
        plain_secrets,
        settings,
        &concern,
        |origin| inputs.takes(origin),
    ));

    let mut names = Names {
        builds: &builds,
        inputs: &inputs,
        findings,
        renamed: BTreeSet::new(),
    };
    // Of what is no input, mistakes are nobody's business here.
    let mut quiet = Names {
        builds: &builds,
        inputs: &inputs,
        findings: Vec::new(),
        renamed: BTreeSet::new(),
    };
    let mut in_repo: HashMap<ClusterKey, Origin> = HashMap::new();
    let mut cluster_documents = Vec::new();
    for (origin, kind, metadata, spec, found) in clusters {
        let is_input = inputs.takes(&origin);
        let names = if is_input { &mut names } else { &mut quiet };
        if concern.is_template(&origin, &metadata) {
            names
                .findings
                .push(concern.template(&origin, kind.as_str()));
            continue;
        }
        let Some((key, name)) = names.cluster(kind.descriptor().object, &origin, &metadata) else {
            continue;
        };
        if !is_input {
            in_repo.entry(key).or_insert(origin);
            continue;
        }
        names
            .findings
            .extend(found.into_iter().map(|finding| finding.of(&key)));
        let annotations = metadata.annotations.unwrap_or_default();
        let annotation = |name: &str| annotations.get(name).cloned();
        let (priority, former_name) = (annotation(PRIORITY), annotation(FORMER_NAME));
        let cluster_type = metadata
            .labels
            .and_then(|mut labels| labels.remove(provisioning::CLUSTER_TYPE));
        cluster_documents.push(ClusterDocument {
            kind,
            key,
            name,
            origin,
            cluster_type,
            priority,
            former_name,
            spec,
        });
    }
    let mut software_documents = Vec::new();
    for (origin, metadata, spec, found) in software {
        if inputs.takes(&origin)
            && let Some((key, name)) = names.cluster(&provisioning::SOFTWARE, &origin, &metadata)
        {
            names
                .findings
                .extend(found.into_iter().map(|finding| finding.of(&key)));
            software_documents.push(SoftwareDocument {
                key,
                name,
                origin,
                spec,
            });
        }
    }
    // What is made of a stream names the same inputs as what is made of the repo's files.
    for document in &mut cluster_documents {
        if let Some(origin) = in_repo.get(&document.key) {
            document.origin.note_made_from(&origin.file);
        }
    }

    let (mut host_documents, mut others, mut documents) = (Vec::new(), Vec::new(), Vec::new());
    let mut doubts = Vec::new();
    for (origin, host, doubted, found) in hosts {
        let is_input = inputs.takes(&origin);
        let is_rendered = origin.is_rendered();
        let names = if is_input { &mut names } else { &mut quiet };
        let is_meant = concern.has_host(&origin, Some(&host));
        let known = names.findings.len();
        let document = names.host(origin.clone(), *host);
        if !is_meant {
            let found: Vec<Finding> = names.findings.drain(known..).collect();
            names.findings.extend(
                found
                    .into_iter()
                    .map(|finding| concern.unused(finding, &origin)),
            );
        }
        let Some(mut document) = document else {
            continue;
        };
        document.is_meant = is_meant;
        names.findings.extend(found);
        if is_input {
            let doubt = |doubt| (document.key.clone(), document.origin.clone(), doubt);
            doubts.extend(doubted.into_iter().map(doubt));
        }
        if !is_rendered {
            documents.push((document.key.clone(), document.origin.clone()));
        }
        if is_input {
            host_documents.push(document)
        } else {
            others.push(document)
        }
    }
    names.findings.extend(yaml_ambiguity::findings(doubts));
    let renamed = || {
        let files = documents
            .iter()
            .map(|(_, origin): &(HostKey, Origin)| &*origin.file)
            .collect();
        let built = settings
            .sources
            .iter()
            .filter_map(|source| source.kustomization.as_deref());
        let (file, place, field) = builds.that_may_rename(repo, &files, built)?;
        Some(Renamed {
            file: file.clone(),
            field,
            place,
        })
    };
    let (hosts, left_out, found) =
        host_origin::complete(host_documents, others, &inputs, settings, renamed);
    names.findings.extend(found);
    secrets.retain(|(origin, ..)| inputs.takes(origin));
    let mut held: Vec<Held> = secrets
        .into_iter()
        .flat_map(|(origin, kind, secret)| names.network_data(&origin, kind, &secret))
        .collect();
    // Whatever is an input: what has a NodePort in the base cluster stands in the repo.
    let services = services
        .into_iter()
        .filter_map(|(origin, service)| names.service(origin, &service))
        .collect();
    let left_out = left_out
        .into_iter()
        .filter_map(|document| HostLeftOut::new(document, &builds))
        .collect();
    let mut findings = names.findings;
    let referring: Vec<Referring<'_>> = hosts.iter().map(HostDocument::referring).collect();
    let namespace = |origin: &Origin| inputs.namespace(origin).map(str::to_owned);
    held.extend(network_files::generated(
        repo, &builds, &referring, &namespace,
    ));
    let clusters = cluster_documents;
    let reach_hosts = |cluster: &ClusterDocument| match &cluster.spec {
        Spec::Current(spec) => spec.services.reach_hosts(),
        Spec::Older(..) | Spec::Provisioning(_) => true,
        Spec::Unreadable => false,
    };
    let decrypt = settings.sops.decrypt && clusters.iter().any(reach_hosts);
    let networks = Networks::new(repo, &files, held, &referring, decrypt, &mut findings);
    let software = software_documents;
    Ok((
        Objects {
            clusters,
            in_repo,
            software,
            hosts,
            left_out,
            documents,
            networks,
            builds,
            templates,
            agent_objects,
            services,
            definitions,
            files,
            closed,
        },
        findings,
    ))
}

/// The files of a repo that may concern us, except below `output`; those that are too large are findings.
pub(super) fn files(
    repo: &Files,
    output: &Utf8Path,
) -> Result<(Vec<Utf8PathBuf>, Vec<Finding>), ReadError> {
    Ok(not_too_large(repo, repo.files_and_closed(output)?.0))
}

/// Splits files into those that are read and findings for those that are too large.
fn not_too_large(repo: &Files, mut files: Vec<Utf8PathBuf>) -> (Vec<Utf8PathBuf>, Vec<Finding>) {
    let mut findings = Vec::new();
    files.retain(|file| {
        let reason = repo.refused_for_size(file, &[&ClusterKind::marks()[..], &[host::KIND]].concat());
        findings.extend(reason.as_ref().map(|reason| {
            Finding::new(
                Code::Unreadable,
                format!("{file} may have hosts or requests for some and is not read: {reason}"),
            )
            .at(Place::File(Arc::from(file.as_path())))
            .help("split it, into one file a rack for instance; name it in .gitignore if it is no input")
        }));
        reason.is_none()
    });
    (files, findings)
}

/// The files that kustomizations list and that are not found by their names, and as findings what they list and nothing
/// can read: kustomize applies whatever it is told to, under any name, and follows links.
fn listed_elsewhere(
    repo: &Files,
    builds: &Builds,
    files: &[Utf8PathBuf],
    output: &Utf8Path,
    ours: &impl Fn(&[u8]) -> bool,
) -> (Vec<Utf8PathBuf>, Vec<Finding>) {
    let (mut listed, mut findings) = (Vec::new(), Vec::new());
    for path in builds.listed() {
        if path.starts_with(output) || files.binary_search(path).is_ok() {
            continue;
        }
        let is_harmless = || {
            let target = repo
                .resolve(path)
                .filter(|target| repo.kind(target) == Some(Kind::File));
            target
                .and_then(|target| repo.text(&target))
                .is_some_and(|text| !ours(text.as_bytes()))
        };
        let why = match repo.kind(path) {
            Some(Kind::File | Kind::Link) if repo.has_link(path) && !is_harmless() => {
                "it is behind a symbolic link"
            }
            Some(Kind::File) if !may_hold_resources(path) && !repo.has_link(path) => {
                listed.push(path.clone());
                continue;
            }
            Some(Kind::Other) => "it is a pipe, a device or a socket",
            _ => continue,
        };
        let (place, by) = builds.place_of_listed(path);
        let finding = Finding::new(
            Code::ListedUnread,
            format!("{by} lists {path}, which is not read: {why}"),
        );
        findings.push(
            finding
                .at(place)
                .help("list the file itself, or put a plain file in its place"),
        );
    }
    listed.sort();
    (listed, findings)
}

/// The key that its build gives to a host, or to an object that is named like one; nothing, where reading the site has
/// found its name to be wrong.
pub(super) fn key(
    builds: &Builds,
    inputs: &Inputs<'_>,
    kind: &str,
    origin: &Origin,
    metadata: &Metadata,
) -> Option<HostKey> {
    let mut names = Names {
        builds,
        inputs,
        findings: Vec::new(),
        renamed: BTreeSet::new(),
    };
    let (namespace, name) = names.of(kind, origin, metadata)?;
    Some(HostKey { namespace, name })
}

/// Generated hosts outside the output directory are no inventory, and may be the memory of who has which host: of this
/// repo's clusters, or of those of another one that lies here.
fn misplaced(repo: &Files, settings: &Settings, generated_hosts: &[Utf8PathBuf]) -> Vec<Finding> {
    let output = &settings.output;
    let mut by_owner: BTreeMap<Option<&Utf8Path>, Vec<&Utf8PathBuf>> = BTreeMap::new();
    for file in generated_hosts {
        by_owner
            .entry(settled_directory(repo, file))
            .or_default()
            .push(file);
    }
    let finding = |(owner, files): (Option<&Utf8Path>, Vec<&Utf8PathBuf>)| {
        let verb = if files.len() == 1 { "lies" } else { "lie" };
        let place = match owner {
            Some(owner) => format!("in {owner}, which has a {} of its own", settings::FILE),
            None => format!("outside the output directory {output}"),
        };
        let finding = Finding::new(
            Code::MisplacedOutput,
            format!("{} of sipgen's own files with hosts {verb} {place}", files.len()),
        )
        .help(match owner {
            Some(owner) => elsewhere(owner),
            None => {
                let files: Vec<&Utf8Path> = files.iter().map(|file| file.as_path()).collect();
                format!(
                    "they say who has which host: if the output directory has got another name, move it with `git mv`; \
                     if they are copies, leave them alone: {}",
                    sources::leave_out(settings, &files)
                )
            }
        });
        files.first().into_iter().fold(finding, |finding, file| {
            finding.at(Place::File(Arc::from(file.as_path())))
        })
    };
    by_owner.into_iter().map(finding).collect()
}

/// The innermost directory around a file, other than the repo's root, that has settings of its own.
fn settled_directory<'a>(repo: &Files, file: &'a Utf8Path) -> Option<&'a Utf8Path> {
    let is_other = |directory: &&Utf8Path| {
        !directory.as_str().is_empty() && *directory != repo.site_directory()
    };
    let above = file.ancestors().skip(1).filter(is_other);
    above
        .into_iter()
        .find(|directory| repo.kind(&directory.join(settings::FILE)) == Some(Kind::File))
}

/// What to do about another site in this one.
fn elsewhere(owner: &Utf8Path) -> String {
    let directory = in_shell(owner.as_str());
    format!(
        "leave them alone: they are the memory of another site, which `sipgen generate --repo {directory}` generates. \
         Generate this one by --repo, too, from a directory beside it; a submodule is left out by `update = none` in \
         .gitmodules and `git submodule deinit {directory}`"
    )
}

fn is_kustomization(file: &Utf8Path) -> bool {
    file.file_name()
        .is_some_and(|name| kustomization::FILE_NAMES.contains(&name))
}

/// Reads a document if it concerns us. Templates of other tools look like our kinds and are none.
fn interpret(document: Document<'_>) -> Option<Object> {
    let origin = document.origin.clone();
    if is_kustomization(&origin.file) {
        return match document.parse_leniently::<Decoded>() {
            Ok(Decoded(kustomization, written)) => {
                let refusal = kustomize::refusal(&document, &written)
                    .filter(|_| !document.looks_like_template());
                Some(Object::Kustomization(
                    origin,
                    Box::new(kustomization),
                    refusal,
                ))
            }
            Err(_) if document.looks_like_template() => None,
            Err(error) => {
                // Fields have positions only where they are decoded one by one.
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

/// Reads a rendered document if it concerns us. What agents are told is read where they are told it, in the repo.
fn interpret_rendered(document: &Document<'_>) -> Option<Object> {
    let object = interpret_resource(document)
        .filter(|object| !matches!(object, Object::Agent(_) | Object::ClusterSecret(..)));
    object.or_else(|| not_rendered(document))
}

/// Whatever kind it was to be: a program that renders does not write what cannot be parsed, unless it fails half-way.
/// Where one passes on its templates, those are left alone, as in files.
fn not_rendered(document: &Document<'_>) -> Option<Object> {
    let error = document
        .broken()
        .filter(|_| !document.looks_like_template())?;
    let finding = unreadable(&document.origin, error, "document")
        .help("see what the program that renders it says: it may have failed half-way, or printed an error here");
    Some(Object::Unreadable(document.origin.clone(), finding))
}

pub(super) fn interpret_resource(document: &Document<'_>) -> Option<Object> {
    let origin = document.origin.clone();
    if let Some(error) = document.broken() {
        // The kind proves little where other groups have one of that name.
        let is_request = OBJECTS.into_iter().any(|object| {
            document.mentions_kind(&[object.kind])
                && (!object.has_common_name() || document.mentions(&[object.group]))
        });
        return if !document.looks_like_template() {
            let is_ours = is_request || document.mentions_kind(&[host::KIND]);
            let read = if is_request {
                unreadable_object
            } else {
                unreadable_host
            };
            is_ours.then(|| read(origin, error, "resource"))
        } else {
            is_request.then(|| Object::Template(Template::new(document)))
        };
    }
    let kind = document.kind()?;
    if let Some(object) = OBJECTS.into_iter().find(|object| object.kind == kind) {
        return request(document, object);
    }
    match kind {
        // What inspection found is most of a live host, and nothing of it matters here.
        host::KIND => match document.parse_without::<BareMetalHost>("status", "hardware") {
            Ok(mut host) if group(&host.api_version) == host::GROUP => {
                let doubts = yaml_ambiguity::doubts(document, &mut host);
                let found = status_of_annotation(&origin, &mut host);
                Some(Object::Host(origin, Box::new(host), doubts, found))
            }
            Ok(host) => nearly_ours(document, Some(host.api_version)),
            Err(_) if document.looks_like_template() => None,
            Err(error) => Some(unreadable_host(origin, &error, host::KIND)),
        },
        service::KIND if document.mentions(&[service::NODE_PORT]) => {
            match document.parse::<Service>() {
                Ok(service) if service.api_version == "v1" => {
                    Some(Object::Service(origin, Box::new(service)))
                }
                _ => None,
            }
        }
        "CustomResourceDefinition" => {
            let defined = ClusterKind::ALL.map(|kind| kind.descriptor().definition);
            defined
                .into_iter()
                .find(|name| document.mentions(&[name]))
                .map(Object::Definition)
        }
        FLUX_KIND | APPLICATION | APPLICATION_SET | APP_PROJECT | GIT_REPOSITORY
        | OCI_REPOSITORY | BUCKET => AgentObject::read(document).map(Object::Agent),
        "Secret" if document.mentions(&[SECRET_TYPE]) => {
            let plain = plaintext_secrets::of_document(document);
            match AgentObject::read(document) {
                Some(object) => Some(Object::ClusterSecret(object, plain.map(Box::new))),
                None => plain.map(|plain| Object::PlainSecret(plain, None)),
            }
        }
        "Secret" => {
            let network_data = network_data(document);
            match plaintext_secrets::of_document(document) {
                Some(plain) => Some(Object::PlainSecret(
                    plain,
                    network_data.map(|object| (origin, object)),
                )),
                None => network_data
                    .map(|object| Object::Secret(origin, networks::Kind::Secret, object)),
            }
        }
        "ConfigMap" => network_data(document)
            .map(|object| Object::Secret(origin, networks::Kind::ConfigMap, object)),
        _ => nearly_ours(document, None),
    }
}

/// Reads a Secret or ConfigMap that may hold network data. One that cannot be read as such may still be somebody's: a
/// host that needs it says that it misses it.
fn network_data(document: &Document<'_>) -> Option<NetworkDataSecret> {
    // Most Secrets are credentials.
    let object = document
        .mentions(&SECRET_KEYS)
        .then(|| document.parse::<NetworkDataSecret>().ok())
        .flatten();
    object.filter(|object| object.api_version == "v1")
}

/// An object that was surely meant to be one of ours. One that may be another tool's template is none, but may hide a
/// cluster. Its apiVersion is read where nobody has read it yet.
fn nearly_ours(document: &Document<'_>, api_version: Option<String>) -> Option<Object> {
    let (kind, finding) = near_miss(document, api_version)?;
    let origin = document.origin.clone();
    if !document.looks_like_template() {
        let unreadable = if kind == host::KIND {
            Object::UnreadableHost
        } else {
            Object::Unreadable
        };
        return Some(unreadable(origin, finding));
    }
    (kind != host::KIND).then(|| Object::Template(Template::new(document)))
}

/// Gives a host that has no status the one that Metal3 would take from its annotation.
fn status_of_annotation(origin: &Origin, host: &mut BareMetalHost) -> Option<Finding> {
    let text = host
        .metadata
        .annotations
        .as_ref()?
        .get(host::STATUS)
        .filter(|_| host.status.is_none())?;
    match serde_json::from_str(text) {
        Ok(status) => {
            host.status = status;
            None
        }
        Err(error) => Some(unreadable_annotation(
            origin,
            host::KIND,
            host::STATUS,
            &error,
        )),
    }
}

/// A SIPCluster, a Provisioning or a Software, if it is one by its group.
fn request(document: &Document<'_>, object: &'static ObjectKind) -> Option<Object> {
    let (kind, api_version) = (object.kind, object.api_version);
    let origin = document.origin.clone();
    let mut envelope = match document.parse::<Envelope>() {
        Ok(envelope) => envelope,
        // Others have such kinds, too, and may write what they like there.
        Err(_) if object.has_common_name() && !document.mentions(&[object.group]) => {
            return None;
        }
        Err(_) if document.looks_like_template() => {
            return Some(Object::Template(Template::new(document)));
        }
        Err(error) => return Some(unreadable_object(origin, &error, kind)),
    };
    if group(&envelope.api_version) != object.group {
        return nearly_ours(document, Some(envelope.api_version));
    }
    if envelope.api_version != api_version {
        return Some(Object::Unreadable(
            origin.clone(),
            Finding::new(
                Code::UnknownVersion,
                format!(
                    "the {kind} has the unknown apiVersion {}",
                    envelope.api_version
                ),
            )
            .at(origin.at(["apiVersion"]))
            .help(format!("write `apiVersion: {api_version}`")),
        ));
    }
    let unquoted = if object.cluster_label.is_some() {
        of_label(document, kind, &mut envelope.metadata)
    } else {
        None
    };
    let Some(request) = ClusterKind::named(kind) else {
        let (spec, mut found) = decode_software(document);
        found.extend(unquoted);
        if spec.is_none() && document.looks_like_template() {
            return Some(Object::Template(Template::new(document)));
        }
        return Some(Object::Software(origin, envelope.metadata, spec, found));
    };
    let (spec, mut found) = (request.descriptor().decode)(document);
    found.extend(unquoted);
    if matches!(spec, Spec::Unreadable) && document.looks_like_template() {
        return Some(Object::Template(Template::new(document)));
    }
    Some(Object::Cluster(
        origin,
        request,
        envelope.metadata,
        spec,
        found,
    ))
}

fn unreadable_object(origin: Origin, error: &ParseError, what: &str) -> Object {
    let finding = unreadable(&origin, error, what);
    Object::Unreadable(origin, finding)
}

fn unreadable_host(origin: Origin, error: &ParseError, what: &str) -> Object {
    let finding = unreadable(&origin, error, what);
    Object::UnreadableHost(origin, finding)
}

/// Returns each namespace that a build gives to an object, with the kustomization that says so; the object's own
/// without one.
pub(super) fn namespaces(
    builds: &Builds,
    inputs: &Inputs<'_>,
    origin: &Origin,
    own: Option<&str>,
) -> Vec<(String, Option<Arc<Utf8Path>>)> {
    let own = own.filter(|namespace| !namespace.is_empty());
    let given = || {
        inputs
            .namespace(origin)
            .map_or_else(|| Namespace::default_namespace().to_string(), str::to_owned)
    };
    let own = || (own.map_or_else(given, str::to_owned), None);
    let mut namespaces: Vec<(String, Option<Arc<Utf8Path>>)> = Vec::new();
    for reach in builds.reach_of(origin).iter() {
        let namespace = reach
            .effect
            .namespace
            .clone()
            .map_or_else(own, |(namespace, file)| (namespace, Some(file)));
        if !namespaces.iter().any(|(other, _)| *other == namespace.0) {
            namespaces.push(namespace);
        }
    }
    if namespaces.is_empty() {
        namespaces.push(own());
    }
    namespaces
}

/// Gives objects the names that `kustomize build` would give them.
struct Names<'a> {
    builds: &'a Builds,
    inputs: &'a Inputs<'a>,
    findings: Vec<Finding>,
    /// Kustomizations that were already reported for renaming what must keep its name.
    renamed: BTreeSet<Arc<Utf8Path>>,
}

impl Names<'_> {
    /// Namespace and name of a host or a request; nothing, and a finding, when it has none.
    fn of(
        &mut self,
        kind: &str,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Option<(Namespace, ObjectName)> {
        if !origin.is_rendered() && self.builds.is_patch(&origin.file) {
            return None;
        }
        let name = metadata.name.as_deref().unwrap_or_default();
        if name.is_empty() {
            self.findings.push(
                Finding::new(Code::NoName, format!("the {kind} has no name"))
                    .at(origin.at(["metadata"]))
                    .help("write metadata.name"),
            );
            return None;
        }
        let name: Option<ObjectName> = self.valid(name, origin.at(["metadata", "name"]), "name");
        let namespaces = self.namespaces(origin, metadata);
        if let [(one, _), (two, _), ..] = namespaces.as_slice() {
            let mut finding = Finding::new(
                Code::TwoNamespaces,
                format!(
                    "the {kind} {} gets the namespace {one} from one kustomization and {two} from another",
                    metadata.name.as_deref().unwrap_or_default(),
                ),
            )
            .at(origin.at(["metadata", "name"]))
            .help(
                "let one build alone reach the file; a tenant that wants the same under another name needs a file of \
                 its own",
            );
            for (namespace, file) in &namespaces[..2] {
                if let Some(file) = file {
                    finding = finding.see(
                        self.builds.place_of_namespace(file),
                        format!("gives it {namespace}"),
                    );
                }
            }
            self.findings.push(finding);
            return None;
        }
        self.refuse_renaming(kind, origin);
        let (namespace, given_by) = namespaces.into_iter().next()?;
        let place = given_by.map_or_else(
            || origin.at(["metadata", "namespace"]),
            |file| self.builds.place_of_namespace(&file),
        );
        let namespace: Option<Namespace> = self.valid(&namespace, place, "namespace");
        Some((namespace?, name?))
    }

    /// The cluster that a document is about, and the document's own name; nothing, and a finding, where it has none.
    fn cluster(
        &mut self,
        object: &ObjectKind,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Option<(ClusterKey, ObjectName)> {
        let (namespace, own_name) = self.of(object.kind, origin, metadata)?;
        if object.cluster_label.is_none() {
            return Some((
                ClusterKey {
                    namespace,
                    name: own_name.clone(),
                },
                own_name,
            ));
        }
        let name = cluster_of(object.kind, origin, metadata)
            .map_err(|finding| self.findings.push(finding))
            .ok()?;
        Some((ClusterKey { namespace, name }, own_name))
    }

    /// A host with its key, and what builds do with its document.
    fn host(&mut self, origin: Origin, host: BareMetalHost) -> Option<HostDocument> {
        let (namespace, name) = self.of(host::KIND, &origin, &host.metadata)?;
        let own_namespace = host
            .metadata
            .namespace
            .clone()
            .filter(|namespace| !namespace.is_empty());
        let reach = self.builds.reach_of(&origin);
        let mut roots: Vec<usize> = Vec::new();
        for reach in reach.iter() {
            if !roots.contains(&reach.root) {
                roots.push(reach.root);
            }
        }
        let is_given =
            own_namespace.is_some() || reach.iter().any(|reach| reach.effect.namespace.is_some());
        Some(HostDocument {
            key: HostKey { namespace, name },
            roots,
            file: (!origin.is_rendered()).then(|| origin.file.clone()),
            namespace_by_settings: !is_given && self.inputs.namespace(&origin).is_some(),
            own_namespace,
            is_meant: true,
            origin,
            host,
        })
    }

    fn valid<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        text: &str,
        place: Place,
        field: &str,
    ) -> Option<T> {
        let parsed = text.parse();
        let report = |error: &T::Err| {
            self.findings.push(
                Finding::new(Code::InvalidName, format!("the {field} `{text}` {error}"))
                    .at(place)
                    .help(format!(
                        "correct the {field}; Kubernetes takes none like this"
                    )),
            );
        };
        parsed.inspect_err(report).ok()
    }

    fn namespaces(
        &self,
        origin: &Origin,
        metadata: &Metadata,
    ) -> Vec<(String, Option<Arc<Utf8Path>>)> {
        namespaces(
            self.builds,
            self.inputs,
            origin,
            metadata.namespace.as_deref(),
        )
    }

    /// A prefix or suffix would rename hosts away from what refers to them, their BMC's credentials first.
    fn refuse_renaming(&mut self, kind: &str, origin: &Origin) {
        let renamed_by = self
            .builds
            .reach_of(origin)
            .iter()
            .find_map(|reach| reach.effect.renamed_by.clone());
        if let Some(file) = renamed_by.filter(|file| self.renamed.insert(file.clone())) {
            self.findings.push(
                Finding::new(
                    Code::Renamed,
                    format!(
                        "{file} gives a prefix or suffix to the names of what it builds, a {kind} among it; references \
                     such as bmc.credentialsName do not follow"
                    ),
                )
                .at(self.builds.place_of_renaming(&file))
                .see(origin.at(["metadata", "name"]), format!("the {kind}"))
                .help(format!("take namePrefix and nameSuffix out of {file}, and write the names in full")),
            );
        }
    }

    /// A Service with its NodePorts, if it asks for some; what else may be wrong with it is not ours to judge.
    fn service(&self, origin: Origin, service: &Service) -> Option<ServiceWithPorts> {
        if self.builds.is_patch(&origin.file) {
            return None;
        }
        let ports = service
            .spec
            .iter()
            .flat_map(|spec| spec.ports.iter().flatten())
            .enumerate();
        let node_ports: Vec<(usize, NodePort)> = ports
            .filter_map(|(index, port)| Some((index, NodePort::try_from(port.node_port?).ok()?)))
            .collect();
        let namespaces = self
            .namespaces(&origin, &service.metadata)
            .into_iter()
            .map(|(namespace, _)| namespace);
        let namespaces = namespaces.collect();
        let name = service.metadata.name.clone()?;
        (!node_ports.is_empty()).then_some(ServiceWithPorts {
            origin,
            name,
            namespaces,
            node_ports,
        })
    }

    /// The network data of a Secret or ConfigMap, under each namespace that a build gives it; mistakes in its name are
    /// not ours to judge.
    fn network_data(
        &self,
        origin: &Origin,
        kind: networks::Kind,
        object: &NetworkDataSecret,
    ) -> Vec<Held> {
        let Some(Ok(name)) = object
            .metadata
            .name
            .as_deref()
            .map(str::parse::<ObjectName>)
        else {
            return Vec::new();
        };
        let keys = self
            .namespaces(origin, &object.metadata)
            .into_iter()
            .filter_map(|(namespace, _)| {
                Some(SecretKey {
                    namespace: namespace.parse().ok()?,
                    name: name.clone(),
                })
            });
        keys.filter_map(|key| Held::of_object(kind, key, origin, object, self.builds))
            .collect()
    }
}
