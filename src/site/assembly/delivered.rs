//! Objects as builds deliver them, for builds that change more than the namespace.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::Utf8Path;
use rayon::prelude::*;

use super::agent_builds::{AgentBuilds, plain_builds};
use super::interpret::interpret_resource;
use super::names::NamingContext;
use super::read_object::{ReadContent, ReadObject, UnreadableKind};
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::kustomization::LOCAL_CONFIG;
use crate::base::api::{host, provisioning, sipcluster};
use crate::base::finding::{Code, DocumentBuilds, Finding, Place};
use crate::input::kustomize::{
    AgentBuild, Builds, DeliveredDocument, EvaluatedFiles, OverlayBases, Renaming,
};
use crate::input::settings::Settings;

/// Kinds of hosts and requests. Two objects of one name have a finding of their own.
const VITAL_KINDS: [&str; 4] =
    [host::KIND, sipcluster::OBJECT.kind, provisioning::OBJECT.kind, provisioning::SOFTWARE.kind];

/// Replaces objects by what builds make of their documents, those that Flux makes included. Also
/// returns the objects that overlays of the output patch, and findings.
///
/// Documents that kustomize would refuse, or that only kustomize can build, stay as in their file
/// and are reported.
pub(super) fn by_builds(
    naming: NamingContext<'_>,
    agents: &AgentBuilds,
    read: Vec<ReadObject>,
) -> (Vec<ReadObject>, OverlayBases, Vec<Finding>) {
    let has_cluster_api = read.iter().any(|object| object.is_cluster_api_request(naming.settings));
    if agents.is_empty() {
        return by_repo_builds(naming, agents, read, has_cluster_api);
    }
    // Hosts need a kustomization of the repo.
    let is_detectable =
        |object: &ReadObject| object.is_built() && !matches!(object.content, ReadContent::Host(_));
    let files = read.iter().filter(|object| is_detectable(object));
    let files = files.map(|object| object.origin.file.clone()).collect();
    let Some(detected) = plain_builds(naming.builds, &files, agents) else {
        return by_repo_builds(naming, agents, read, has_cluster_api);
    };
    let is_detected = |object: &ReadObject| {
        let reaches = |builds: &Builds| !builds.reach(&object.origin.file).is_empty();
        is_detectable(object) && reaches(&detected) && !reaches(naming.builds)
    };
    let (made, read) = read.into_iter().partition(is_detected);
    let naming_there = NamingContext { builds: &detected, ..naming };
    let (mut made, _, found) = by_repo_builds(naming_there, agents, made, has_cluster_api);
    for object in &mut made {
        object.origin = object.origin.clone().without_roots();
    }
    let (mut objects, overlay_bases, mut findings) =
        by_repo_builds(naming, agents, read, has_cluster_api);
    objects.append(&mut made);
    findings.extend(found);
    (objects, overlay_bases, findings)
}

/// Replaces objects by what the builds of kustomizations make of their documents.
fn by_repo_builds(
    naming: NamingContext<'_>,
    agents: &AgentBuilds,
    read: Vec<ReadObject>,
    has_cluster_api: bool,
) -> (Vec<ReadObject>, OverlayBases, Vec<Finding>) {
    let NamingContext { repo, builds, inputs, settings, .. } = naming;
    let files_with = |is_wanted: &dyn Fn(&ReadObject) -> bool| -> HashSet<Arc<Utf8Path>> {
        let wanted = read.iter().filter(|object| object.is_built() && is_wanted(object));
        let origins = wanted.map(|object| &object.origin);
        origins.filter(|origin| inputs.contains(origin)).map(|origin| origin.file.clone()).collect()
    };
    let is_vital = |object: &ReadObject| object.is_vital(settings, has_cluster_api);
    let is_request =
        |object: &ReadObject| is_vital(object) && !matches!(object.content, ReadContent::Host(_));
    let has_namespaces = |object: &ReadObject| {
        let reaches = builds.reach(&object.origin.file).iter();
        let namespaces = reaches.map(|reach| reach.namespace.as_ref().map(|(given, _)| given));
        namespaces.collect::<BTreeSet<_>>().len() > 1
    };
    let is_unreadable = |object: &ReadObject| matches!(object.content, ReadContent::Unreadable(_));
    let is_by_flux = |object: &ReadObject| matches!(&object.content, ReadContent::Agent(agent) if agent.is_by_flux());
    // Few agents' objects set names.
    let host_files =
        LazyCell::new(|| files_with(&|object| matches!(object.content, ReadContent::Host(_))));
    let has_no_hosts = |directory: &Utf8Path| {
        !builds.below(directory).keys().any(|file| host_files.contains(file.as_path()))
    };
    let wanted = EvaluatedFiles {
        files: files_with(&|_| true),
        vital: files_with(&is_vital),
        vital_kinds: &VITAL_KINDS,
        unreadable: files_with(&is_unreadable),
        is_restricted: settings.gitops != Some(GitopsAgent::Flux) && !read.iter().any(is_by_flux),
        remade: files_with(&|object| {
            object.is_local_host() || is_request(object) && has_namespaces(object)
        }),
        output: Some(&settings.output),
        agents: AgentBuild::without_names(agents, has_no_hosts),
    };
    let evaluated = builds.evaluate(repo, &wanted);
    let (overlay_bases, mut findings) = (evaluated.overlay_bases, evaluated.findings);
    // The usual case: builds change nothing but namespaces.
    if evaluated.read.is_empty() && evaluated.unknown.is_empty() {
        findings.extend(lost_references(builds, &read, &evaluated.renamed));
        return (read, overlay_bases, findings);
    }
    let interpret = |(file, documents): (Arc<Utf8Path>, Vec<DeliveredDocument>)| {
        let objects =
            documents.iter().filter_map(|document| interpret_resource(&document.document()));
        (file, objects.filter_map(ReadObject::without_plain_text).collect())
    };
    let mut delivered: BTreeMap<Arc<Utf8Path>, Vec<ReadObject>> =
        evaluated.delivered.into_par_iter().map(interpret).collect();
    let mut objects = Vec::with_capacity(read.len());
    for object in read {
        let roots: BTreeSet<usize> =
            builds.reach(&object.origin.file).iter().map(|reach| reach.root).collect();
        let evaluated_roots =
            evaluated.read.get(&object.origin).filter(|_| object.is_built()).map(Vec::as_slice);
        let is_left = |root: &usize| !evaluated_roots.is_some_and(|known| known.contains(root));
        let left: Vec<usize> = roots.into_iter().filter(is_left).collect();
        let is_unknown = left.iter().any(|root| evaluated.unknown.contains(root));
        let file = object.origin.file.clone();
        let object = if is_unknown { object.before_unknown_build() } else { Some(object) };
        let Some(object) = object else { continue };
        if evaluated_roots.is_none() {
            objects.push(object);
            continue;
        }
        objects.extend(delivered.remove(&file).into_iter().flatten());
        // Roots that deliver the document as it is written keep the original.
        objects.extend(object.with_roots(left));
    }
    objects.extend(delivered.into_values().flatten());
    findings.extend(lost_references(builds, &objects, &evaluated.renamed));
    (objects, overlay_bases, findings)
}

/// Reports hosts that refer to an object that a build renames. kustomize does not know these
/// references.
fn lost_references(builds: &Builds, objects: &[ReadObject], renamed: &[Renaming]) -> Vec<Finding> {
    if renamed.is_empty() {
        return Vec::new();
    }
    let by_name: HashMap<(usize, &str), &Renaming> = renamed
        .iter()
        .map(|renaming| ((renaming.root, renaming.from.as_str()), renaming))
        .collect();
    let mut findings: Vec<Finding> = Vec::new();
    let mut told: HashSet<&Place> = HashSet::new();
    for object in objects {
        let ReadObject { origin, content: ReadContent::Host(content), .. } = object else {
            continue;
        };
        let Some(spec) = &content.host.spec else { continue };
        let roots: Vec<usize> = builds.reach_of(origin).iter().map(|reach| reach.root).collect();
        for (field, name) in spec.references() {
            // What a generator makes, another program may apply under its plain name.
            let is_lost = |it: &&Renaming| origin.delivered().is_some() || !it.is_generated;
            let lost = |root: &usize| by_name.get(&(*root, name)).copied().filter(is_lost);
            let Some(lost) = roots.iter().find_map(lost).filter(|lost| told.insert(&lost.place))
            else {
                continue;
            };
            let Renaming { from, to, place, .. } = lost;
            findings.push(
                Finding::new(
                    Code::Renamed,
                    format!(
                        "a build renames the Secret `{from}` to `{to}`, but {} of hosts still names `{from}`",
                        field[1..].join(".")
                    ),
                )
                .at(place.clone())
                .see(origin.at(field.iter().copied()), "refers to it by the name in its file")
                .help("write the names in full, and remove namePrefix, nameSuffix or the hash"),
            );
        }
    }
    findings
}

impl ReadObject {
    /// Returns whether it is a host that builds leave out.
    fn is_local_host(&self) -> bool {
        let ReadContent::Host(content) = &self.content else { return false };
        content.host.metadata.annotation(LOCAL_CONFIG).is_some_and(|value| value != "false")
    }

    /// Returns whether the built object counts instead of the one in the file.
    fn is_built(&self) -> bool {
        match &self.content {
            ReadContent::Request(_)
            | ReadContent::Software(_)
            | ReadContent::ClusterPart(_)
            | ReadContent::Host(_)
            | ReadContent::Address(_)
            | ReadContent::Hardware(_)
            | ReadContent::Firmware(_)
            | ReadContent::Service(_)
            | ReadContent::Unreadable(UnreadableKind::Host | UnreadableKind::Other) => true,
            ReadContent::Secret(secret) => secret.agent.is_none(),
            ReadContent::Kustomization(_)
            | ReadContent::Template(_)
            | ReadContent::Agent(_)
            | ReadContent::OperatorsTemplates(_)
            | ReadContent::Definition(_)
            | ReadContent::GeneratedHosts
            | ReadContent::Unreadable(UnreadableKind::ClusterPart) => false,
        }
    }

    /// Returns whether planning is impossible without the built object.
    fn is_vital(&self, settings: &Settings, has_cluster_api: bool) -> bool {
        match &self.content {
            ReadContent::Request(request) => request.is_asked(settings),
            ReadContent::Software(_) | ReadContent::Host(_) => true,
            ReadContent::ClusterPart(_) => has_cluster_api,
            _ => false,
        }
    }

    /// Returns the object unchanged, as delivered by the builds of some roots. Without roots, only
    /// the plain text of a Secret is kept, because it is in the file in any case.
    fn with_roots(mut self, roots: Vec<usize>) -> Option<Self> {
        if roots.is_empty() {
            let ReadContent::Secret(secret) = &mut self.content else { return None };
            secret.network_data = None;
            return secret.plain.is_some().then_some(self);
        }
        let delivered = DocumentBuilds { roots, ..DocumentBuilds::default() };
        self.origin = self.origin.delivered_as(delivered);
        Some(self)
    }

    /// Reduces a request to its name, because an unknown build may change its spec. Returns nothing
    /// if only the build can make the name valid.
    fn before_unknown_build(mut self) -> Option<Self> {
        let metadata = match &mut self.content {
            ReadContent::Request(request) => {
                request.spec = None;
                &request.metadata
            }
            ReadContent::Software(software) => {
                software.object = None;
                &software.metadata
            }
            ReadContent::Host(content) => {
                return content.host.metadata.is_named().then_some(self);
            }
            _ => return Some(self),
        };
        metadata.is_named().then_some(Self { findings: Vec::new(), ..self })
    }

    /// Removes what was already found in the file: the plain text of a Secret, and agents' objects.
    fn without_plain_text(mut self) -> Option<Self> {
        if let ReadContent::Secret(secret) = &mut self.content {
            secret.plain = None;
            secret.network_data.as_ref()?;
        }
        (!self.is_for_agents()).then_some(self)
    }
}
