//! Reports assigned hosts that an agent does not label, or that it replaces.

use super::planned_hosts::placed_hosts;
use crate::base::api::host::MAINTENANCE;
use crate::base::api::names::ClusterKey;
use crate::base::finding::Finding;
use crate::base::grouping::grouped;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::apply_options::{self, ApplyOption};

/// Returns one finding for each cluster and option.
pub(super) fn findings(site: &Site, plan: &Plan) -> Vec<Finding> {
    let agent = site.settings.gitops;
    let assigned = plan.clusters.iter().flat_map(|(cluster, placement)| {
        placed_hosts(site, placement).map(move |(_, host)| (cluster, host))
    });
    let options = assigned.flat_map(|(cluster, host)| {
        let options = host.apply_options.iter();
        let options = options.filter(move |option| agent.is_none_or(|agent| agent == option.agent));
        options.map(move |option| ((cluster, option.text.as_str()), (host, option)))
    });
    let finding = |((cluster, _), hosts): ((&ClusterKey, &str), Vec<(&Host, &ApplyOption)>)| {
        let ((host, option), others) = hosts.split_first()?;
        let subject = format!("host {} is assigned to {cluster}", host.key);
        let help = format!(
            "remove the option; or keep the host out of clusters with the annotation `{MAINTENANCE}: REASON`"
        );
        let finding = apply_options::finding(&subject, option).for_cluster(cluster).help(help);
        Some(finding.at_each(others.iter().map(|(_, option)| option.place.clone())))
    };
    grouped(options).into_iter().filter_map(finding).collect()
}
