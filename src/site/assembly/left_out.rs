//! Documents that the repo has but the inputs omit.
//!
//! A missing input is released. The input may be the rendered output of only one of several sites
//! of a repo, so hosts and clusters of the others must not count as removed.

use std::collections::HashMap;

use super::Site;
use crate::base::api::names::{ClusterKey, HostKey, ObjectName};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::text::subject_with_first;
use crate::site::inventory::host_document::HostDocument;

/// A host that is not an input, although a kustomization of the repo renders it, or a file says that it
/// is in use.
#[derive(Debug)]
pub struct LeftOutHost {
    /// The manifest, or the live object.
    pub origin: Origin,
    /// Index of the outermost kustomization that renders it, if any.
    pub(crate) root: Option<usize>,
    /// Secrets that it names.
    pub secrets: Box<[ObjectName]>,
}

impl LeftOutHost {
    /// Returns the host of a document that is not an input.
    pub(super) fn new(document: HostDocument) -> (HostKey, Self) {
        let root = document.roots.first().copied();
        let names = document.host.spec.iter().flat_map(|spec| spec.references());
        let secrets = names.filter_map(|(_, name)| name.parse().ok()).collect();
        (document.key, Self { origin: document.origin, root, secrets })
    }
}

/// Reports clusters of the output directory that no input requests, but files of the repo do.
///
/// The mistake concerns the whole run rather than a cluster: the inputs are incomplete.
pub(super) fn clusters(site: &Site, in_repo: &HashMap<ClusterKey, Origin>) -> Option<Finding> {
    let left_out: Vec<(&ClusterKey, &Origin)> = site
        .removed_clusters()
        .filter_map(|cluster| Some((cluster, in_repo.get(cluster)?)))
        .collect();
    let (first, _) = left_out.first()?;
    let names = subject_with_first(left_out.len(), "cluster", first);
    let finding = Finding::new(
        Code::ClusterLeftOut,
        format!("{names} not in the input, but still in the repo: the generated files would be deleted"),
    )
    .help(
        "hand over what the whole repo renders, by several --input if need be, or list its directory in `sources`; if a \
         cluster is to go, remove its SIPCluster or Provisioning from the repo",
    );
    Some(finding.at_each(left_out.into_iter().map(|(_, origin)| origin.name())))
}
