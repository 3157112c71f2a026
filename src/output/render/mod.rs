//! Renders a plan into files: an in-memory tree, relative to the output directory. Nothing here
//! reads the disk.
//!
//! * `planned_hosts`: the labels and guards of hosts; `hosts` renders them, as patches of manifests
//!   or as partial objects; `patched_names`: how patches name hosts.
//! * `closing_check`: evaluates builds with the patches before they are written; `object_difference`
//!   compares their objects.
//! * `cluster`: files of one cluster, by `services`, `installation`, `tenant` and
//!   `cluster_kustomization`.
//! * `services`: values of load balancers, jump hosts, Dex and kinds that only data describes.
//! * `installation`: the installer of a Provisioning, from templates, with the inventory for
//!   ansible.
//! * `outputs`: manifests from templates of the repo's own, per cluster, host or site.
//! * `tenant`: manifests for the tenant to include.
//! * `agents`: objects by which Flux or Argo CD applies the output.
//! * `apply_options`: reports assigned hosts that an agent does not label.
//! * `directory`: renders a directory of templates: of a service, the tenant or an output;
//!   `object_check`: objects that an agent must not delete, or that two outputs render.
//! * `rendered_text`: ownership marks, and proofs that texts are valid.
//! * `renderer`: collects the files of one cluster.
//! * `shared_files`: files that clusters share.
//! * `templates`: built-in templates and the repo's own; `bounds` limits their computation.
//! * `yaml_block` and `json`: values as YAML and JSON, for templates.
//! * `values`: documents the values of templates; `value_schema` is the schema of their types.
//! * `kustomization_check`: finds entries of kustomizations that no template renders.
//! * `new_file`: variables, credentials and characters that a written file must not have.
//! * `verify`: parses rendered files before they are written; `custom_resources` checks objects of
//!   cert-manager, Flux, Argo CD and External Secrets.

mod agents;
mod apply_options;
mod bounds;
mod closing_check;
mod cluster;
mod cluster_kustomization;
mod custom_resources;
mod directory;
mod hosts;
pub mod installation;
mod json;
mod kustomization_check;
mod new_file;
mod object_check;
mod object_difference;
mod outputs;
mod patched_names;
mod planned_hosts;
mod pools;
mod rendered_text;
mod renderer;
mod services;
mod shared_files;
pub mod templates;
mod tenant;
mod value_schema;
pub mod values;
mod verify;
mod yaml_block;

use std::collections::BTreeSet;
use std::mem;

use camino::Utf8Path;
use rayon::prelude::*;

use crate::base::api::names::ClusterKey;
use crate::base::finding::Finding;
use crate::base::tree::{Tree, TreePath};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::request::Cluster;
use directory::RenderedTemplates;
use new_file::NewFile;
use shared_files::SharedFiles;

pub(crate) use object_difference::AllowedChanges;
pub(crate) use outputs::template_findings;
pub(crate) use planned_hosts::{HostMetadata, HostsByDirectory, PlannedHost, planned_hosts};
pub use templates::Templates;
pub(crate) use yaml_block::document_of;

/// The result of rendering a plan.
pub struct RenderedPlan<'a> {
    /// The files, without those in `kept`.
    pub tree: Tree,
    /// The files of `tree` that are not on the disk with the same text.
    pub new_files: BTreeSet<TreePath>,
    /// The files that stay as they are on the disk: those of frozen clusters with the shared ones that
    /// they refer to, and those of clusters that are up to date.
    pub kept: BTreeSet<&'a str>,
    /// Metadata that outputs add to hosts.
    pub(crate) host_metadata: HostMetadata,
    /// Errors of clusters that cannot be rendered, and warnings.
    pub findings: Vec<Finding>,
}

/// Renders a plan.
pub fn render<'a>(site: &'a Site, plan: &Plan, templates: &Templates) -> RenderedPlan<'a> {
    let clusters: Vec<&Cluster> =
        plan.clusters.keys().filter_map(|key| site.valid_cluster(key)).collect();
    let shared = SharedFiles::default();
    let rendered_cluster = |cluster: &&Cluster| {
        let placement = &plan.clusters[&cluster.key];
        let mut rendered = cluster::render(cluster, placement, site, templates, &shared);
        let tree = mem::take(&mut rendered.tree);
        // Most clusters of most runs are, and all their texts together take a quarter of what the
        // inventory takes. A diff also names those whose shared file somebody edited.
        let is_up_to_date =
            !rendered.has_new_shared && site.state.is_up_to_date(&cluster.key, &tree);
        ((!is_up_to_date).then_some(tree), rendered)
    };
    let rendered: Vec<(Option<Tree>, RenderedTemplates)> =
        clusters.par_iter().map(rendered_cluster).collect();
    let findings = hosts::lost_patches(site, plan);
    let mut all = RenderedTemplates { findings, ..RenderedTemplates::default() };
    all.findings.extend(apply_options::findings(site, plan));
    let mut files: Vec<(TreePath, String)> = Vec::new();
    let mut unchanged: Vec<&ClusterKey> = plan.frozen.iter().collect();
    for (cluster, (tree, rendered)) in clusters.iter().zip(rendered) {
        match tree {
            Some(tree) => files.extend(tree),
            None => unchanged.push(&cluster.key),
        }
        all.extend(rendered);
    }
    let mut kept: BTreeSet<&str> =
        site.state.files_of(unchanged).chain(site.state.shared_files_of(&plan.frozen)).collect();
    if plan.frozen.is_empty() {
        all.extend(outputs::render_site(site, plan, templates));
    } else {
        kept.extend(site.state.site_files());
    }
    let RenderedTemplates {
        tree, used_shared, objects, host_metadata, pinned, mut findings, ..
    } = all;
    findings.extend(pools::shared(site, &pinned));
    findings.extend(object_check::duplicates(site, templates, &objects));
    // To sort all is faster than to insert one by one.
    let mut tree: Tree = files.into_iter().chain(tree).collect();
    hosts::render_common(site, plan, &mut tree, &kept);
    let planned = planned_hosts(site, plan, &host_metadata);
    if !findings.iter().any(Finding::is_error) {
        findings.extend(closing_check::check(site, plan, &planned, &tree, &kept));
    }
    tree.extend(shared.into_files(&used_shared));
    let files = tree.keys().map(|file| &**file).chain(kept.iter().map(|file| Utf8Path::new(*file)));
    let required: BTreeSet<&str> = files.filter_map(services::required_definitions).collect();
    for directory in required {
        let definitions = services::definitions(site, templates, directory);
        tree.extend(definitions.tree);
        findings.extend(definitions.findings);
    }
    // Agents' objects depend on which directories exist, so they are last.
    let agents = agents::render(site, plan, &tree, &kept);
    tree.extend(agents);
    findings.extend(agents::applied_by_others(site, &planned, &tree, &kept));
    // Files that are already on disk were checked when they were written.
    let is_new = |(path, text): &(&TreePath, &String)| !site.state.has(path, text);
    let new_files: Vec<(&TreePath, &String)> = tree.par_iter().filter(is_new).collect();
    let unfit = new_files
        .par_iter()
        .flat_map_iter(|(path, text)| NewFile { site, templates, path, text }.findings());
    findings.par_extend(unfit);
    // After an error, rendered files are missing anyway.
    if !findings.iter().any(Finding::is_error) {
        let new_files = new_files.iter().map(|(path, _)| path.as_str()).collect();
        let found = kustomization_check::check(site, &tree, &new_files, templates);
        findings.extend(found);
    }
    let new_files = new_files.into_iter().map(|(path, _)| path.clone()).collect();
    RenderedPlan { tree, new_files, kept, host_metadata, findings }
}
