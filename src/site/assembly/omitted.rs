//! Objects that a kustomization omits, although it lists others beside them.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::concern::{Concern, is_example};
use super::names::NamingContext;
use crate::base::api::host::live_field;
use crate::base::finding::{Code, Finding, Origin};
use crate::base::grouping::grouped;
use crate::base::text::counted;
use crate::input::settings::{Settings, sources};
use crate::site::inventory::host_document::HostDocument;
use crate::site::inventory::network_index::Networks;
use crate::site::request::cluster_parts::ClusterParts;
use crate::site::request::{ClusterDocument, Spec};

/// An object with the words for it.
type NamedOrigin<'o> = (&'o Origin, String);

impl Concern<'_> {
    /// Reports Secrets with network data of rendered hosts.
    pub(super) fn omitted_network_data(
        &self,
        networks: &Networks,
        hosts: &[HostDocument],
    ) -> Vec<Finding> {
        let unrendered = networks.unrendered(hosts);
        let listed = unrendered.iter().map(|(host, _)| &host.origin);
        let objects = unrendered
            .iter()
            .filter(|(_, secret)| self.is_loose(secret))
            .map(|(host, secret)| (*secret, format!("the network data of host {}", host.key)));
        self.omitted(listed, objects, Code::MissingNetworkData)
    }

    /// Reports requests and objects of Clusters.
    pub(super) fn omitted_requests(
        &self,
        requests: &[(ClusterDocument, Spec)],
        parts: &ClusterParts,
        has_cluster_api: bool,
    ) -> Vec<Finding> {
        let requests = requests.iter().map(|(cluster, _)| cluster);
        let requests = requests
            .filter(|cluster| has_cluster_api || !cluster.kind.descriptor().makes_machines)
            .map(|ClusterDocument { kind, key, name, origin, metadata }| {
                (origin, metadata, (kind.as_str(), &key.namespace, name.as_str()))
            });
        let parts = parts.all().filter(|_| has_cluster_api).map(|(namespace, name, part)| {
            (&part.origin, &part.metadata, (part.kind.as_str(), namespace, name))
        });
        let objects: Vec<_> = requests.chain(parts).collect();
        let listed = objects.iter().map(|(origin, ..)| *origin);
        let manifests = objects
            .iter()
            .filter(|(origin, metadata, _)| self.is_loose(origin) && live_field(metadata).is_none())
            .map(|(origin, _, (kind, namespace, name))| {
                (*origin, format!("{kind} `{namespace}/{name}`"))
            });
        self.omitted(listed, manifests, Code::RequestPartUnowned)
    }

    /// Returns whether a document is in a file that no build has, and that is no example.
    fn is_loose(&self, origin: &Origin) -> bool {
        let file = &origin.file;
        !origin.is_rendered()
            && self.naming.builds.reach(file).is_empty()
            && !self.naming.builds.is_patch(file)
            && !is_example(file)
    }

    /// Reports loose objects that kustomizations omit, beside those that are listed.
    fn omitted<'o>(
        &self,
        listed: impl Iterator<Item = &'o Origin>,
        objects: impl Iterator<Item = NamedOrigin<'o>>,
        code: Code,
    ) -> Vec<Finding> {
        let is_built = |origin: &Origin| !self.naming.builds.reach_of(origin).is_empty();
        let listed = listed.filter(|origin| is_built(origin));
        let listed: BTreeSet<&Utf8Path> =
            listed.filter_map(|origin| origin.file.parent()).collect();
        let by_file = objects.filter_map(|object| {
            let file = &object.0.file;
            let kustomization = self.naming.builds.forgetful(file, &listed)?;
            // A plugin such as KSOPS may read the file.
            let may_be_read =
                self.naming.builds.made_elsewhere(kustomization.parent()?).next().is_some();
            (!may_be_read).then_some(((kustomization, file.clone()), object))
        });
        let NamingContext { settings, builds, .. } = self.naming;
        let mut components = BTreeMap::new();
        let mut findings = Vec::new();
        for ((kustomization, file), objects) in grouped(by_file) {
            if self.agents.apply_plainly(builds, &file) {
                continue;
            }
            let component = || {
                let directory = kustomization.parent()?;
                Some((builds.unlisted_component(directory)?, builds.below(directory)))
            };
            let component = components.entry(kustomization.clone()).or_insert_with(component);
            let component = component.as_ref().filter(|(_, below)| below.contains_key(&*file));
            let (first, name) = &objects[0];
            let what = match objects.len() {
                1 => format!("{name} is"),
                count => format!("{count} objects, {name} among them, are"),
            };
            let harm = format!("{what} not applied");
            let finding = unlisted(
                code,
                Some(settings),
                &kustomization,
                component.map(|(component, _)| component.as_path()),
                &[&file],
                &harm,
            );
            let others = objects[1..].iter().map(|(origin, name)| (origin.name(), name.clone()));
            findings.push(finding.at(first.name()).see_each(others));
        }
        findings
    }
}

/// Reports files that a kustomization omits, or that are in no build because nothing lists a component.
/// `settings` are given if they may exclude the files instead.
pub(super) fn unlisted(
    code: Code,
    settings: Option<&Settings>,
    kustomization: &Utf8Path,
    component: Option<&Utf8Path>,
    files: &[&Utf8Path],
    harm: &str,
) -> Finding {
    let (listed, them) = match files {
        [file] => (file.to_string(), "it"),
        _ => (counted(files.len(), "file"), "them"),
    };
    let (message, help) = match component {
        Some(component) => (
            format!("no kustomization lists the component {component} of {listed}: {harm}"),
            "list it in `components` of another kustomization".to_owned(),
        ),
        None => (
            format!("{kustomization} does not list {listed}: {harm}"),
            format!("list {them} in `resources` of {kustomization}"),
        ),
    };
    let out = settings.map(|settings| format!("; {}", sources::leave_out(settings, files)));
    Finding::new(code, message).help(help + &out.unwrap_or_default())
}
