//! Rule: Cluster API may claim other hosts than the assigned ones, because a Metal3MachineTemplate does
//! not select these by their labels.

use std::collections::BTreeSet;

use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding};
use crate::site::Site;
use crate::site::request::{Cluster, HostTemplate};

/// Warns about templates of clusters that had hosts before this run. The labels of the first hosts must
/// be applied before a template selects by them.
pub(super) fn unpinned(site: &Site, clusters: &[&Cluster]) -> Vec<Finding> {
    let held = site.state.held.values().flatten();
    let with_hosts: BTreeSet<&ClusterKey> = held.map(|held| &held.cluster).collect();
    let mut findings = Vec::new();
    for cluster in clusters.iter().filter(|cluster| with_hosts.contains(&cluster.key)) {
        let templates = cluster.machine_templates.iter().chain(&cluster.templates_beside);
        let unpinned = templates.filter(|template| {
            let file = &template.selector_at.origin.file;
            !template.is_pinned && !site.component_reaches(&cluster.key, file)
        });
        findings.extend(unpinned.map(|template| describe(site, cluster, template)));
    }
    findings
}

fn describe(site: &Site, cluster: &Cluster, template: &HostTemplate) -> Finding {
    let help = if template.is_of_class {
        "give the ClusterClass a patch that selects hosts by their labels: see docs/how-to/cluster-class.md. sipgen \
         evaluates built-in variables only, in the values and in `enabledIf`"
            .to_owned()
    } else {
        format!(
            "list `{}` under `components` of its kustomization, by the relative path",
            site.component_for_cluster_api(&cluster.key)
        )
    };
    let message = format!(
        "the Metal3MachineTemplate `{}` does not select the hosts that are assigned to {}, so its Machines may claim others",
        template.name, cluster.key
    );
    let finding = Finding::new(Code::Unpinned, message).at(template.selector_at.place());
    finding.help(help).for_cluster(&cluster.key)
}
