//! Outputs: directories of manifests that templates of the repo's own render from the plan.
//!
//! * `values`: the values of their templates.
//! * `host_metadata`: the labels and annotations that they add to hosts.
//! * `template_check`: mistakes in their directories of templates.
//!
//! An agent deletes what leaves a directory, hence these rules:
//!
//! * An output renders no object whose deletion deletes more than itself, and no host.
//! * Its kustomizations list its own files only: what they list elsewhere would have two owners.
//! * With frozen clusters, the outputs of the site stay as they are: they would lack these clusters.

mod host_metadata;
mod template_check;
mod values;

use minijinja::Value;
use minijinja::value::Serde;

use super::Templates;
use super::directory::{DirectoryRenderer, RenderedTemplates, TemplateSource};
use super::renderer::Renderer;
use crate::base::layout::{self, outputs};
use crate::input::settings::outputs::OutputScope;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;

pub(crate) use template_check::template_findings;
pub(super) use values::OutputValues;

/// Renders the outputs of a cluster. Returns the directories that the cluster's kustomization lists.
pub(super) fn render_cluster(renderer: &mut Renderer<'_>) -> Vec<String> {
    let Renderer { site, cluster, placement, .. } = *renderer;
    let declared =
        site.settings.outputs.iter().enumerate().filter(|(_, output)| {
            output.scope != OutputScope::Site && output.covers(&cluster.labels)
        });
    let mut declared = declared.peekable();
    let mut listed = Vec::new();
    if declared.peek().is_none() {
        return listed;
    }
    // All outputs share one conversion of the values.
    let values = Value::from(Serde(OutputValues::for_cluster(site, cluster, placement)));
    let hosts: Vec<&Host> = renderer.hosts().collect();
    for (index, output) in declared {
        if output.adds_metadata() {
            host_metadata::add(renderer, (index, output), &hosts, &values);
        }
        let directory = layout::cluster_directory(&cluster.key).join(&output.name);
        let kustomization = directory.join(layout::KUSTOMIZATION);
        renderer.directory(TemplateSource::Output(output), directory, &hosts, &values);
        if renderer.rendered.tree.contains_key(kustomization.as_str()) {
            listed.push(output.name.clone());
        }
    }
    listed
}

/// Renders the outputs of the site.
pub(super) fn render_site(site: &Site, plan: &Plan, templates: &Templates) -> RenderedTemplates {
    let mut rendered = RenderedTemplates::default();
    let outputs = site.settings.outputs.iter().filter(|output| output.scope == OutputScope::Site);
    for output in outputs {
        let values = Value::from(Serde(OutputValues::for_site(site, plan, output)));
        let target = outputs::site_directory(&output.name);
        let (source, made_from) =
            (TemplateSource::Output(output), site.settings.file().to_string());
        let renderer = DirectoryRenderer::new(site, templates, source, target, made_from);
        rendered.extend(renderer.render(&values));
    }
    rendered
}
