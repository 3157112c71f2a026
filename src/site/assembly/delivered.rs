//! Objects as builds deliver them, for builds that change more than the namespace.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::Utf8Path;
use rayon::prelude::*;

use super::agent_builds::AgentBuilds;
use super::inputs::InputSelection;
use super::interpret::{InterpretedObject, interpret_resource};
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::{host, provisioning, sipcluster};
use crate::base::finding::{Code, DocumentBuilds, Finding, Origin, Place};
use crate::input::kustomize::{Builds, DeliveredDocument, EvaluatedFiles, OverlayBases, Renaming};
use crate::input::load::Files;
use crate::input::settings::Settings;
use crate::site::request::{ClusterKind, cluster_api};

/// Kinds of hosts and requests. Two objects of one name have a finding of their own.
const VITAL_KINDS: [&str; 4] =
    [host::KIND, sipcluster::OBJECT.kind, provisioning::OBJECT.kind, provisioning::SOFTWARE.kind];

/// Replaces objects by what builds make of their documents.
///
/// Documents that kustomize would refuse, or that only kustomize can build, stay as in their file
/// and are reported. Also returns the objects that overlays of the output patch.
pub(super) fn by_builds(
    repo: &Files,
    builds: &Builds,
    settings: &Settings,
    inputs: &InputSelection<'_>,
    agents: &AgentBuilds,
    read: Vec<InterpretedObject>,
) -> (Vec<InterpretedObject>, OverlayBases, Vec<Finding>) {
    let origins = |is_wanted: &dyn Fn(&InterpretedObject) -> bool| -> HashSet<Arc<Utf8Path>> {
        let wanted =
            read.iter().filter(|object| is_wanted(object)).filter_map(InterpretedObject::origin);
        wanted.filter(|origin| inputs.contains(origin)).map(|origin| origin.file.clone()).collect()
    };
    let has_cluster_api = read.iter().any(|object| object.is_asked(settings));
    let is_vital = |object: &InterpretedObject| object.is_vital(settings, has_cluster_api);
    let is_request = |object: &InterpretedObject| {
        is_vital(object) && !matches!(object, InterpretedObject::Host(..))
    };
    let (files, vital) = (origins(&InterpretedObject::is_built), origins(&is_vital));
    let unreadable = origins(&|object| {
        matches!(object, InterpretedObject::Unreadable(..) | InterpretedObject::UnreadableHost(..))
    });
    let is_by_flux = |object: &InterpretedObject| matches!(object, InterpretedObject::Agent(agent) if agent.is_by_flux());
    let wanted = EvaluatedFiles {
        files: &files,
        vital: &vital,
        vital_kinds: &VITAL_KINDS,
        unreadable: &unreadable,
        is_restricted: settings.gitops != Some(GitopsAgent::Flux) && !read.iter().any(is_by_flux),
        requests: &origins(&is_request),
        output: &settings.output,
        agents,
    };
    let evaluated = builds.evaluate(repo, &wanted);
    // The usual case: builds change nothing but namespaces.
    if evaluated.read.is_empty() && evaluated.unknown.is_empty() {
        return (read, evaluated.overlay_bases, evaluated.findings);
    }
    let is_unknown = |root: &usize| evaluated.unknown.contains(root);
    let interpret = |(file, documents): (Arc<Utf8Path>, Vec<DeliveredDocument>)| {
        let objects =
            documents.iter().filter_map(|document| interpret_resource(&document.document()));
        (file, objects.collect::<Vec<InterpretedObject>>())
    };
    let mut delivered: BTreeMap<Arc<Utf8Path>, Vec<InterpretedObject>> =
        evaluated.delivered.into_par_iter().map(interpret).collect();
    let mut objects = Vec::with_capacity(read.len());
    for object in read {
        let known = object
            .origin()
            .and_then(|origin| Some((origin.file.clone(), evaluated.read.get(origin)?.clone())));
        let Some((file, roots)) = known.filter(|_| object.is_built()) else {
            let mut roots =
                object.origin().into_iter().flat_map(|origin| builds.reach(&origin.file));
            let has_unknown = roots.any(|reach| is_unknown(&reach.root));
            objects.push(if has_unknown { object.without_spec() } else { object });
            continue;
        };
        objects.extend(
            delivered
                .remove(&file)
                .into_iter()
                .flatten()
                .filter_map(InterpretedObject::without_plain_text),
        );
        // Roots that deliver the document as it is written keep the original.
        let others: BTreeSet<usize> = object
            .origin()
            .into_iter()
            .flat_map(|origin| builds.reach(&origin.file))
            .map(|reach| reach.root)
            .collect();
        let others: Vec<usize> = others.into_iter().filter(|root| !roots.contains(root)).collect();
        let object = if others.iter().any(is_unknown) { object.without_spec() } else { object };
        objects.extend(object.with_roots(others));
    }
    objects.extend(
        delivered.into_values().flatten().filter_map(InterpretedObject::without_plain_text),
    );
    let mut findings = evaluated.findings;
    findings.extend(lost_references(&objects, &evaluated.renamed));
    (objects, evaluated.overlay_bases, findings)
}

/// Reports hosts that refer to an object that a build renames. kustomize does not know these
/// references.
fn lost_references(objects: &[InterpretedObject], renamed: &[Renaming]) -> Vec<Finding> {
    let by_name: HashMap<(usize, &str), &Renaming> = renamed
        .iter()
        .map(|renaming| ((renaming.root, renaming.from.as_str()), renaming))
        .collect();
    let mut findings: Vec<Finding> = Vec::new();
    let mut told: HashSet<&Place> = HashSet::new();
    for object in objects {
        let InterpretedObject::Host(origin, host, ..) = object else {
            continue;
        };
        let Some((delivered, spec)) = origin.delivered().zip(host.spec.as_ref()) else {
            continue;
        };
        for (field, name) in spec.references() {
            let lost = |root: &usize| by_name.get(&(*root, name)).copied();
            let Some(lost) =
                delivered.roots.iter().find_map(lost).filter(|lost| told.insert(&lost.place))
            else {
                continue;
            };
            let Renaming { from, to, place, .. } = lost;
            let route = std::iter::once("spec").chain(field.iter().copied());
            findings.push(
                Finding::new(
                    Code::Renamed,
                    format!(
                        "a build renames the Secret `{from}` to `{to}`, but {} of hosts still names `{from}`",
                        field.join(".")
                    ),
                )
                .at(place.clone())
                .see(origin.at(route), "refers to it by the name in its file")
                .help("write the names in full, and remove namePrefix, nameSuffix or the hash"),
            );
        }
    }
    findings
}

impl InterpretedObject {
    /// Returns the origin of an object that builds may change.
    fn origin(&self) -> Option<&Origin> {
        match self {
            InterpretedObject::Cluster(origin, ..)
            | InterpretedObject::Software(origin, ..)
            | InterpretedObject::Host(origin, ..)
            | InterpretedObject::Secret(origin, ..)
            | InterpretedObject::Service(origin, _)
            | InterpretedObject::Address(origin, ..)
            | InterpretedObject::Hardware(origin, ..)
            | InterpretedObject::Unreadable(origin, _)
            | InterpretedObject::UnreadableHost(origin, _) => Some(origin),
            InterpretedObject::ClusterPart(part) => Some(&part.origin),
            InterpretedObject::PlainSecret(plain, _) => Some(plain.origin()),
            InterpretedObject::Template(template) => Some(&template.origin),
            InterpretedObject::Kustomization(..)
            | InterpretedObject::Agent(_)
            | InterpretedObject::ClusterSecret(..)
            | InterpretedObject::OperatorsTemplates(_)
            | InterpretedObject::Definition(_)
            | InterpretedObject::BrokenClusterPart(..)
            | InterpretedObject::GeneratedHosts(_) => None,
        }
    }

    /// Returns whether the built object counts instead of the one in the file.
    fn is_built(&self) -> bool {
        !matches!(self, InterpretedObject::Template(_)) && self.origin().is_some()
    }

    /// Returns whether planning is impossible without the built object.
    fn is_vital(&self, settings: &Settings, has_cluster_api: bool) -> bool {
        match self {
            InterpretedObject::Cluster(_, ClusterKind::ClusterApi, ..) => self.is_asked(settings),
            InterpretedObject::Cluster(..)
            | InterpretedObject::Software(..)
            | InterpretedObject::Host(..) => true,
            InterpretedObject::ClusterPart(_) => has_cluster_api,
            _ => false,
        }
    }

    /// Returns whether the object is a Cluster of Cluster API that requests hosts.
    fn is_asked(&self, settings: &Settings) -> bool {
        match self {
            InterpretedObject::Cluster(_, ClusterKind::ClusterApi, metadata, ..) => {
                cluster_api::is_asked(metadata, settings)
            }
            _ => false,
        }
    }

    /// Returns the object unchanged, as delivered by the builds of some roots. Without roots, only
    /// the plain text of a Secret is kept, because it is in the file in any case.
    fn with_roots(mut self, roots: Vec<usize>) -> Option<Self> {
        if roots.is_empty() {
            return match self {
                InterpretedObject::PlainSecret(plain, _) => {
                    Some(InterpretedObject::PlainSecret(plain, None))
                }
                _ => None,
            };
        }
        let delivered = DocumentBuilds { roots, ..DocumentBuilds::default() };
        match &mut self {
            InterpretedObject::Cluster(origin, ..)
            | InterpretedObject::Software(origin, ..)
            | InterpretedObject::Host(origin, ..)
            | InterpretedObject::Secret(origin, ..)
            | InterpretedObject::Service(origin, _)
            | InterpretedObject::Address(origin, ..)
            | InterpretedObject::Hardware(origin, ..)
            | InterpretedObject::PlainSecret(_, Some((origin, _))) => {
                *origin = origin.clone().delivered_as(delivered)
            }
            InterpretedObject::ClusterPart(part) => {
                part.origin = part.origin.clone().delivered_as(delivered)
            }
            _ => {}
        }
        Some(self)
    }

    /// Reduces a request to its name, because an unknown build may change its spec.
    fn without_spec(self) -> Self {
        match self {
            InterpretedObject::Cluster(origin, kind, metadata, ..) => {
                InterpretedObject::Cluster(origin, kind, metadata, None, Vec::new())
            }
            InterpretedObject::Software(origin, metadata, ..) => {
                InterpretedObject::Software(origin, metadata, None, Vec::new())
            }
            other => other,
        }
    }

    /// Removes what was already found in the file: the plain text of a Secret, and agents' objects.
    fn without_plain_text(self) -> Option<Self> {
        match self {
            InterpretedObject::PlainSecret(_, network_data) => {
                network_data.map(|(origin, object)| InterpretedObject::Secret(origin, object))
            }
            InterpretedObject::Agent(_) | InterpretedObject::ClusterSecret(..) => None,
            other => Some(other),
        }
    }
}
