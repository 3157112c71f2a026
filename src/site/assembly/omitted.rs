//! Objects that a kustomization omits, although it lists others beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8Path;

use super::concern::{Concern, is_example};
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
    pub(super) fn omitted_requests<'d>(
        &self,
        requests: impl Iterator<Item = &'d (ClusterDocument, Spec)>,
        parts: Option<&'d ClusterParts>,
    ) -> Vec<Finding> {
        let requests = requests.map(|(cluster, _)| {
            let ClusterDocument { kind, key, name, origin, metadata } = cluster;
            (origin, metadata, (kind.as_str(), &key.namespace, name.as_str()))
        });
        let parts = parts.into_iter().flat_map(ClusterParts::all).map(|(namespace, name, part)| {
            (&part.origin, &part.metadata, (part.kind.as_str(), namespace, name))
        });
        let objects: Vec<_> = requests.chain(parts).collect();
        let listed = objects.iter().map(|(origin, ..)| *origin);
        let manifests = objects.iter().filter(|(origin, metadata, _)| {
            self.is_loose(origin) && live_field(metadata).is_none()
        });
        let manifests = manifests.map(|(origin, _, (kind, namespace, name))| {
            (*origin, format!("{kind} `{namespace}/{name}`"))
        });
        self.omitted(listed, manifests, Code::RequestPartUnowned)
    }

    /// Returns whether a document is in a file that no build has, and that is no example.
    fn is_loose(&self, origin: &Origin) -> bool {
        let file = &origin.file;
        !origin.is_rendered()
            && self.builds.reach(file).is_empty()
            && !self.builds.is_patch(file)
            && !is_example(file)
    }

    /// Reports loose objects that kustomizations omit, beside those that are listed.
    fn omitted<'o>(
        &self,
        listed: impl Iterator<Item = &'o Origin>,
        objects: impl Iterator<Item = NamedOrigin<'o>>,
        code: Code,
    ) -> Vec<Finding> {
        let is_built = |origin: &Origin| !self.builds.reach_of(origin).is_empty();
        let listed = listed.filter(|origin| is_built(origin));
        let listed: BTreeSet<&Utf8Path> =
            listed.filter_map(|origin| origin.file.parent()).collect();
        let by_file = objects.filter_map(|object| {
            let file = &object.0.file;
            let kustomization = self.builds.forgetful(file, &listed)?;
            // A plugin such as KSOPS may read the file.
            let may_be_read = self.builds.made_elsewhere(kustomization.parent()?).next().is_some();
            (!may_be_read).then_some(((kustomization, file.clone()), object))
        });
        let by_file: BTreeMap<(Arc<Utf8Path>, Arc<Utf8Path>), Vec<NamedOrigin<'o>>> =
            grouped(by_file);
        let report = |((kustomization, file), objects): (
            (Arc<Utf8Path>, Arc<Utf8Path>),
            Vec<NamedOrigin<'o>>,
        )| {
            if self.agents.apply_plainly(self.builds, &file) {
                return None;
            }
            let (first, name) = objects.first()?;
            let what = match objects.len() {
                1 => format!("{name} is"),
                count => format!("{count} objects, {name} among them, are"),
            };
            let harm = format!("{what} not applied");
            let finding = unlisted(code, self.settings, &kustomization, &[&file], &harm);
            let others = objects.iter().skip(1);
            let others = others.map(|(origin, name)| (origin.name(), name.clone()));
            Some(finding.at(first.name()).see_each(others))
        };
        by_file.into_iter().filter_map(report).collect()
    }
}

/// Reports files that a kustomization omits.
pub(super) fn unlisted(
    code: Code,
    settings: &Settings,
    kustomization: &Utf8Path,
    files: &[&Utf8Path],
    harm: &str,
) -> Finding {
    let (listed, them) = match files {
        [file] => (file.to_string(), "it"),
        _ => (counted(files.len(), "file"), "them"),
    };
    let message = format!("{kustomization} does not list {listed}: {harm}");
    let out = sources::leave_out(settings, files);
    Finding::new(code, message)
        .help(format!("list {them} in `resources` of {kustomization}; {out}"))
}
