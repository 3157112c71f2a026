//! Quotas: how many hosts the clusters of a namespace have and may still get.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::Plan;
use super::demand::Demand;
use crate::api::names::ClusterKey;
use crate::finding::{Code, Finding};
use crate::settings::quotas::Quota;
use crate::site::Site;
use crate::text::counted;

/// A quota with the clusters that use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaUse {
    /// The quota.
    #[serde(flatten)]
    pub quota: Quota,
    /// Number of hosts that each cluster of the namespace has, of those that count.
    pub used_by: Vec<(ClusterKey, usize)>,
}

impl QuotaUse {
    fn of<'a>(
        quota: &Quota,
        site: &Site,
        assigned: impl Iterator<Item = (usize, &'a ClusterKey)>,
    ) -> Self {
        let mut used_by: BTreeMap<ClusterKey, usize> = BTreeMap::new();
        for (host, cluster) in assigned {
            if cluster.namespace == quota.namespace
                && quota.counts(&site.inventory.hosts[host].labels)
            {
                *used_by.entry(cluster.clone()).or_default() += 1;
            }
        }
        Self {
            quota: quota.clone(),
            used_by: used_by.into_iter().collect(),
        }
    }

    /// Returns the number of hosts that the namespace has.
    pub fn used(&self) -> usize {
        self.used_by.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of hosts that the namespace may still get.
    pub(super) fn left(&self) -> usize {
        self.quota.hosts.saturating_sub(self.used())
    }
}

impl fmt::Display for QuotaUse {
    /// Writes the quota and its users: `3 hosts with size=big for tenant-a (tenant-a/edge has 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quota {
            namespace,
            labels,
            hosts,
        } = &self.quota;
        f.write_str(&counted(*hosts, "host"))?;
        let mut before = " with ";
        for (key, value) in labels {
            write!(f, "{before}{key}={value}")?;
            before = ",";
        }
        write!(f, " for {namespace}")?;
        if self.used_by.is_empty() {
            return Ok(());
        }
        let users = self.used_by.iter();
        let users = users.map(|(cluster, count)| format!("{cluster} has {count}"));
        write!(f, " ({})", users.collect::<Vec<_>>().join(", "))
    }
}

/// Returns the quotas that the demands could exceed. Without any, no search has to count. Of the
/// assigned hosts, those that are gone do not count.
pub(super) fn binding(
    site: &Site,
    demands: &[Demand<'_>],
    assigned: &BTreeMap<usize, &ClusterKey>,
    gone: &BTreeSet<usize>,
) -> Vec<QuotaUse> {
    let binding = site.settings.quotas.iter().filter_map(|quota| {
        let of_namespace = |demand: &&Demand<'_>| demand.cluster.key.namespace == quota.namespace;
        let wanted = demands.iter().filter(of_namespace);
        // A replaced host may be one that does not count.
        let wanted = wanted.map(|demand| demand.missing + demand.replaceable.len());
        let assigned = assigned.iter().map(|(host, cluster)| (*host, *cluster));
        let assigned = assigned.filter(|(host, _)| !gone.contains(host));
        let quota = QuotaUse::of(quota, site, assigned);
        (wanted.sum::<usize>() > quota.left()).then_some(quota)
    });
    binding.collect()
}

/// Returns all quotas with the hosts that a plan assigns.
pub(crate) fn all(site: &Site, plan: &Plan) -> Vec<QuotaUse> {
    let assigned: Vec<(usize, &ClusterKey)> = plan.assigned(site).collect();
    let quotas = site.settings.quotas.iter();
    quotas
        .map(|quota| QuotaUse::of(quota, site, assigned.iter().copied()))
        .collect()
}

/// Reports namespaces with more hosts than they may have. Assigned hosts stay.
pub(super) fn exceeded(site: &Site, plan: &Plan) -> Vec<Finding> {
    if site.settings.quotas.is_empty() {
        return Vec::new();
    }
    let all = all(site, plan).into_iter().enumerate();
    let exceeded = all.filter(|(_, quota)| quota.used() > quota.quota.hosts);
    let describe = |(index, quota): (usize, QuotaUse)| {
        let route = ["quotas".into(), index.into(), "hosts".into()];
        Finding::new(
            Code::QuotaExceeded,
            format!(
                "the clusters of {} have {} of the {quota}",
                quota.quota.namespace,
                quota.used()
            ),
        )
        .at(site.settings.place(route))
        .help("assigned hosts stay; request fewer, or raise the quota")
    };
    exceeded.map(describe).collect()
}
