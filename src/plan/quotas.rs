//! Quotas: how many hosts the clusters of a namespace have and may still get.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::Plan;
use super::demand::NodeSetDemand;
use super::topology::occurrences;
use crate::base::api::names::{ClusterKey, Namespace};
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::input::settings::quotas::Quota;
use crate::site::Site;

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
    /// Returns the number of hosts that the namespace has.
    pub fn used(&self) -> usize {
        self.used_by.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of hosts that the namespace may still get.
    pub(crate) fn left(&self) -> usize {
        self.quota.hosts.saturating_sub(self.used())
    }
}

impl fmt::Display for QuotaUse {
    /// Writes the quota and its users: `3 hosts with size=big for tenant-a (tenant-a/edge has 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quota { namespace, labels, hosts } = &self.quota;
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
        let users = self.used_by.iter().map(|(cluster, count)| format!("{cluster} has {count}"));
        write!(f, " ({})", users.collect::<Vec<_>>().join(", "))
    }
}

/// The quotas of a site with the hosts that clusters have.
pub(super) struct QuotaUses<'a> {
    site: &'a Site,
    /// In the order of the settings.
    all: Vec<QuotaUse>,
}

impl<'a> QuotaUses<'a> {
    /// Counts the assigned hosts, given with their clusters.
    pub(super) fn new(
        site: &'a Site,
        assigned: impl Iterator<Item = (usize, &'a ClusterKey)>,
    ) -> Self {
        let assigned: Vec<(usize, &ClusterKey)> = assigned.collect();
        let used = |quota: &Quota| {
            let counted = assigned.iter().filter(|(host, cluster)| {
                cluster.namespace == quota.namespace
                    && quota.counts(&site.inventory.hosts[*host].labels)
            });
            let used_by = occurrences(counted.map(|(_, cluster)| *cluster)).into_iter();
            let used_by = used_by.map(|(cluster, hosts)| (cluster.clone(), hosts));
            QuotaUse { quota: quota.clone(), used_by: used_by.collect() }
        };
        Self { site, all: site.settings.quotas.iter().map(used).collect() }
    }

    /// Returns the number of further hosts of any kind that quotas leave to a namespace; `None` if they
    /// do not limit it.
    pub(super) fn left(&self, namespace: &Namespace) -> Option<usize> {
        let quotas = self.all.iter().filter(|quota| quota.quota.namespace == *namespace);
        quotas.filter(|quota| quota.quota.labels.is_empty()).map(QuotaUse::left).min()
    }

    /// Returns the quotas that the demands could exceed. Without any, no search has to count. Of the
    /// assigned hosts, those that are gone, given with their clusters, do not count.
    pub(super) fn binding<'g>(
        &self,
        demands: &[NodeSetDemand<'_>],
        gone: impl Iterator<Item = (usize, &'g ClusterKey)> + Clone,
    ) -> Vec<QuotaUse> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let mut wanted: BTreeMap<&Namespace, usize> = BTreeMap::new();
        for demand in demands {
            // A replaced host may be one that does not count.
            *wanted.entry(&demand.cluster.key.namespace).or_default() +=
                demand.missing + demand.replaceable.len();
        }
        let binding = self.all.iter().filter_map(|quota| {
            let wanted = *wanted.get(&quota.quota.namespace)?;
            let mut quota = quota.clone();
            for (host, cluster) in gone.clone() {
                let is_counted = cluster.namespace == quota.quota.namespace
                    && quota.quota.counts(&self.site.inventory.hosts[host].labels);
                let user = quota.used_by.iter_mut().find(|(key, _)| is_counted && key == cluster);
                user.into_iter().for_each(|(_, hosts)| *hosts -= 1);
            }
            quota.used_by.retain(|(_, hosts)| *hosts > 0);
            (wanted > quota.left()).then_some(quota)
        });
        binding.collect()
    }
}

/// Returns all quotas with the hosts that a plan assigns.
pub(crate) fn all(site: &Site, plan: &Plan) -> Vec<QuotaUse> {
    QuotaUses::new(site, plan.assigned(site)).all
}

/// Reports namespaces with more hosts than they may have. Assigned hosts stay.
pub(super) fn exceeded(site: &Site, plan: &Plan) -> Vec<Finding> {
    let all = all(site, plan).into_iter().enumerate();
    let exceeded = all.filter(|(_, quota)| quota.used() > quota.quota.hosts);
    let describe = |(index, quota): (usize, QuotaUse)| {
        let route = ["quotas".into(), index.into(), "hosts".into()];
        let (namespace, used) = (&quota.quota.namespace, quota.used());
        let message = format!("the clusters of {namespace} have {used} of the {quota}");
        Finding::new(Code::QuotaExceeded, message)
            .at(site.settings.place(route))
            .help("assigned hosts stay; request fewer, or raise the quota")
    };
    exceeded.map(describe).collect()
}
