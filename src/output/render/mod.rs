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

use crate::base::api::host::SYNC_OPTIONS;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::credentials;
use crate::base::text::visible::is_unreadable;
use crate::base::text::yaml;
use crate::base::tree::{Tree, TreePath};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::assembly::has_plain_secret;
use crate::site::inventory::Host;
use crate::site::request::Cluster;
use directory::RenderedTemplates;
use shared_files::SharedFiles;

pub(crate) use object_difference::{AllowedChanges, changed_field};
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
        // inventory takes.
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
    let kept = site.state.files_of(unchanged);
    let mut kept: BTreeSet<&str> = kept.chain(site.state.shared_files_of(&plan.frozen)).collect();
    if plan.frozen.is_empty() {
        outputs::render_site(site, plan, templates).for_each(|output| all.extend(output));
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
    for directory in required_definitions(site, plan, &clusters) {
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
    let unfit =
        new_files.par_iter().flat_map_iter(|(path, text)| unfit(site, templates, path, text));
    findings.par_extend(unfit);
    // After an error, rendered files are missing anyway.
    if !findings.iter().any(Finding::is_error) {
        let new_files = new_files.iter().map(|(path, _)| path.as_str()).collect();
        let found = kustomization_check::check(site, &tree, &new_files, templates);
        findings.extend(found);
    }
    RenderedPlan {
        kept,
        new_files: new_files.into_iter().map(|(path, _)| path.clone()).collect(),
        tree,
        host_metadata,
        findings,
    }
}

/// Reports what agents or other programs would misread in a new file, and what git must not have.
fn unfit<'a>(
    site: &'a Site,
    templates: &'a Templates,
    path: &'a Utf8Path,
    text: &'a str,
) -> impl Iterator<Item = Finding> + 'a {
    // Other files were verified when their templates were rendered.
    let is_ours_alone = path.starts_with(layout::HOSTS) || path.starts_with(layout::AGENTS);
    let unreadable = is_ours_alone.then(|| verify::manifests(text).err());
    unreadable
        .flatten()
        .map(|unreadable| unreadable.finding(&site.settings.output.join(path), None))
        .into_iter()
        .chain(variable(site, templates, path, text))
        .chain(credential(site, templates, path, text))
        .chain(unreadable_character(site, templates, path, text))
}

/// Reports a variable in a file that Flux would replace.
fn variable(site: &Site, templates: &Templates, path: &Utf8Path, text: &str) -> Option<Finding> {
    // kustomize finds a host by the name that it has before Flux replaces the variables.
    let is_name = |at: &usize| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        path.starts_with(layout::HOSTS)
            && ["  name: ", "  namespace: "].iter().any(|field| line.starts_with(field))
    };
    let mut found = memchr::memmem::find_iter(text.as_bytes(), layout::VARIABLE.as_bytes());
    let at = found.find(|at| !is_name(at))?;
    let line = text[..at].matches('\n').count() + 1;
    let file_message = || {
        let file = site.settings.output.join(path);
        format!("{file} would have `${{` in line {line}, which Flux reads as a variable")
    };
    let finding = if path.starts_with(layout::HOSTS) {
        let is_variable = |host: &&Host| {
            host.sync_options.as_ref().is_some_and(|text| text.contains(layout::VARIABLE))
        };
        let hosts = site.inventory.hosts.iter().filter(is_variable);
        let places = hosts.map(|host| host.origin.at(["metadata", "annotations", SYNC_OPTIONS]));
        Finding::new(Code::VariableRendered, file_message())
            .at_each(places)
            .help("it comes from an annotation of a host: write it there without `${`")
    } else {
        let places = templates.own_with(layout::VARIABLE, path);
        // The message is the same for all clusters, so that the findings are merged.
        let template_message = |place: &Place| {
            format!("the template {} renders `${{`, which Flux reads as a variable", place.file())
        };
        let message = places.first().map_or_else(file_message, template_message);
        Finding::new(Code::VariableRendered, message)
            .at_each(places)
            .help("write it there without `${`, in a shell as `$NAME`")
    };
    Some(finding.for_clusters(&layout::cluster_of(path)))
}

/// Reports a credential in a file, which would reach git. It is not shown.
fn credential(site: &Site, templates: &Templates, path: &Utf8Path, text: &str) -> Option<Finding> {
    let in_line = |(line, text): (usize, &str)| {
        Some(format!("{} in line {}", credentials::found(text, true)?, line + 1))
    };
    let is_plain = || templates.own_of(path).is_some() && has_plain_secret(text);
    let secret = || is_plain().then(|| "a Secret with values in plain text".to_owned());
    let credential = text.lines().enumerate().find_map(in_line).or_else(secret)?;
    let help = "remove it: rendered files go to git, and credentials belong in a Secret";
    Some(in_file(site, templates, path, Code::CredentialRendered, &credential, help))
}

/// Reports a character that makes other programs reject or misread a file.
fn unreadable_character(
    site: &Site,
    templates: &Templates,
    path: &Utf8Path,
    text: &str,
) -> Option<Finding> {
    if yaml::has_usual_characters(text) {
        return None;
    }
    let (line, text) = text.lines().enumerate().find(|(_, line)| line.contains(is_unreadable))?;
    let character = text.chars().find(|c| is_unreadable(*c))?.escape_unicode();
    let what = format!(
        "the character `{character}` in line {}, which other programs refuse or read as the end of the line",
        line + 1
    );
    let help = "write the text without it";
    Some(in_file(site, templates, path, Code::InvalidManifest, &what, help))
}

/// Reports what a file would have, at the repo's own template of the file, if there is one.
fn in_file(
    site: &Site,
    templates: &Templates,
    path: &Utf8Path,
    code: Code,
    what: &str,
    help: &str,
) -> Finding {
    let message = format!("what would be {} has {what}", site.settings.output.join(path));
    let finding = Finding::new(code, message);
    let finding = match templates.own_of(path) {
        Some(template) => finding.at(Place::File(template.clone())).help(help),
        None => finding.help(format!(
            "{help}; it comes from a value of the inputs, or from a template that others include"
        )),
    };
    finding.for_clusters(&layout::cluster_of(path))
}

/// Returns the directories of the CustomResourceDefinitions that services of planned clusters, or the
/// existing files of frozen ones, require.
fn required_definitions(site: &Site, plan: &Plan, planned: &[&Cluster]) -> BTreeSet<&'static str> {
    let services = planned.iter().flat_map(|cluster| &cluster.services);
    let on_disk = plan.frozen.iter().flat_map(|cluster| {
        let directory = layout::cluster_directory(cluster);
        let files = site.state.files.get(cluster).into_iter().flatten();
        files.filter_map(move |file| {
            services::required_definitions(file.strip_prefix(&directory).ok()?)
        })
    });
    services.filter_map(|service| service.kind.definitions.as_deref()).chain(on_disk).collect()
}
