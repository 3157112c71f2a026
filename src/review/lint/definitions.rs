//! Rule: requests that an agent applies together with hosts require a definition of their kind, or
//! neither is applied.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::base::finding::{Code, Finding, Place};
use crate::site::Site;
use crate::site::request::{ClusterKind, Request};

/// Warns about each kind of request that a build of declared hosts contains and the repo does not
/// define.
pub(super) fn missing(site: &Site) -> Vec<Finding> {
    let Some(agent) = site.settings.gitops else { return Vec::new() };
    let mut found: BTreeMap<ClusterKind, (BTreeSet<&Utf8Path>, Vec<Place>)> = BTreeMap::new();
    // The base cluster has Cluster API's definitions from its own installer.
    let is_undefined = |request: &&Request| {
        let kind = request.kind.descriptor();
        !kind.makes_machines && !site.definitions.contains(kind.definition)
    };
    for request in site.clusters.values().filter(is_undefined) {
        let roots = site.roots_with(&request.origin);
        if !roots.is_empty() {
            let (files, places) = found.entry(request.kind).or_default();
            files.extend(roots.into_iter().map(|root| &*root.file));
            places.push(request.name());
        }
    }
    let describe = |(kind, (files, places)): (ClusterKind, (BTreeSet<&Utf8Path>, Vec<Place>))| {
        let first = files.first()?;
        let builds = match files.len() {
            1 => "builds".to_owned(),
            all => format!("and {} more build", all - 1),
        };
        let message = format!(
            "`{first}` {builds} hosts and {kind}s: if the base cluster does not define {kind}, {agent} applies none of the hosts"
        );
        let argument = kind.descriptor().schema_argument;
        let argument = argument.map(|argument| format!(" {argument}")).unwrap_or_default();
        let command = format!("sipgen schema crd{argument} | kubectl apply --server-side -f -");
        let finding = Finding::new(Code::RequestsUndefined, message).help(format!(
            "apply the definition once, or mute {} if the base cluster already has it:\n{command}",
            Code::RequestsUndefined
        ));
        Some(finding.at_each(places))
    };
    found.into_iter().filter_map(describe).collect()
}
