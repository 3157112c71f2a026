//! Reports assigned hosts that an agent does not label, or that it replaces.

use std::collections::BTreeMap;

use super::planned_hosts::placed_hosts;
use crate::base::api::host::MAINTENANCE;
use crate::base::api::names::ClusterKey;
use crate::base::finding::Finding;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::apply_options;

/// Returns one finding for each cluster and option.
pub(super) fn findings(site: &Site, plan: &Plan) -> Vec<Finding> {
    let mut found: BTreeMap<(&ClusterKey, &str), Finding> = BTreeMap::new();
    for (cluster, placement) in &plan.clusters {
        for (_, host) in placed_hosts(site, placement) {
            let agent = site.settings.gitops;
            let options = host.apply_options.iter();
            for option in options.filter(|option| agent.is_none_or(|agent| agent == option.agent)) {
                let key = (cluster, option.text.as_str());
                let finding = found.remove(&key).map_or_else(
                    || {
                        let subject = format!("host {} is assigned to {cluster}", host.key);
                        let help = format!(
                            "remove the option; or keep the host out of clusters with the annotation `{MAINTENANCE}: \
                             REASON`"
                        );
                        let finding = apply_options::finding(&subject, option);
                        finding.for_cluster(cluster).help(help)
                    },
                    |finding| finding.at(option.place.clone()),
                );
                found.insert(key, finding);
            }
        }
    }
    found.into_values().collect()
}
