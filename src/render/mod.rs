//! From a plan to the files that say it: an in-memory tree, relative to the output directory.
//!
//! * `hosts`: the labels, as patches over manifests or as guarded partial objects.
//! * `services`: each cluster's load balancers, jump hosts and Dex, from templates.
//! * `templates`: the templates themselves, ours and those by which a repo replaces them.
//! * `block`: values as YAML, for templates.
//! * `verify`: what was rendered is read back before anybody writes it.
//!
//! The disk is not known here.

mod block;
mod hosts;
mod services;
pub mod templates;
mod verify;

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use crate::api::names::ClusterKey;
use crate::finding::Finding;
use crate::layout;
use crate::plan::Plan;
use crate::site::{Cluster, ServiceKind, Site};

pub use templates::Templates;

/// The generated files: their paths relative to the output directory, and their texts.
pub type Tree = BTreeMap<Utf8PathBuf, String>;

/// Renders a plan. Files of frozen clusters are not in the tree.
///
/// A cluster that cannot be rendered has an error among the findings.
pub fn render(site: &Site, plan: &Plan, templates: &Templates) -> (Tree, Vec<Finding>) {
    let clusters: Vec<&Cluster> =
        plan.clusters.keys().filter_map(|key| site.clusters.get(key)?.cluster.as_ref()).collect();
    let rendered: Vec<(Tree, Vec<Finding>)> = clusters
        .par_iter()
        .map(|cluster| services::render(cluster, &plan.clusters[&cluster.key], site, templates))
        .collect();
    let (mut tree, mut findings) = (hosts::render(site, plan), Vec::new());
    for (files, found) in rendered {
        tree.extend(files);
        findings.extend(found);
    }
    if clusters.iter().any(|cluster| has_auth(cluster)) || plan.frozen.iter().any(|key| had_auth(key, site)) {
        match services::dex_definitions(site, templates) {
            Ok(files) => tree.extend(files),
            Err(finding) => findings.push(*finding),
        }
    }
    let unreadable = tree
        .par_iter()
        .filter(|(path, text)| path.starts_with(layout::HOSTS) && !site.state.has(path, text))
        .filter_map(|(path, text)| Some(verify::manifests(text).err()?.finding(path)));
    findings.par_extend(unreadable);
    (tree, findings)
}

fn has_auth(cluster: &Cluster) -> bool {
    cluster.services.iter().any(|service| service.kind() == ServiceKind::Auth)
}

/// Whether the files of a cluster that stay as they are need the definitions of Dex.
fn had_auth(cluster: &ClusterKey, site: &Site) -> bool {
    let auth = ServiceKind::Auth.component();
    let below = layout::cluster_directory(cluster);
    let is_auth =
        |file: &Utf8PathBuf| file.strip_prefix(&below).is_ok_and(|file: &Utf8Path| file.as_str().starts_with(auth));
    site.state.files.get(cluster).into_iter().flatten().any(is_auth)
}
