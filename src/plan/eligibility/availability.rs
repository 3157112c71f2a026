//! Availability: which clusters may take a host, by its owners.

use std::collections::{BTreeMap, BTreeSet};

use super::refusal::Refusal;
use crate::base::api::assignment::Claim;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::plan::claims::foreign_claims;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::previous::PendingRelease;
use crate::site::request::Request;

/// Clusters that may take a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) enum Availability {
    /// Every cluster.
    Free,
    /// One cluster, with the reason to refuse the others: it had the host, or labels claim it.
    Only(ClusterKey, Refusal),
    /// No cluster, with the reason.
    Refused(Refusal),
}

impl Availability {
    /// Returns the availability of every host by index; `assigned` has the owners.
    pub(in crate::plan) fn all(
        site: &Site,
        assigned: &BTreeMap<usize, &ClusterKey>,
        released: &BTreeMap<HostKey, PendingRelease>,
        left_out: &BTreeSet<ClusterKey>,
    ) -> Vec<Availability> {
        let hosts = site.inventory.hosts.iter().enumerate();
        let mut all: Vec<Availability> = hosts
            .map(|(at, host)| {
                Self::for_host(site, host, assigned.get(&at).copied(), released.get(&host.key))
            })
            .collect();
        // A cluster that is left out or invalid must find the hosts that it names in a later run.
        let is_postponed = |(key, request): &(&ClusterKey, &Request)| {
            left_out.contains(key) || request.cluster.is_none()
        };
        for (key, request) in site.clusters.iter().filter(is_postponed) {
            for host in &request.named {
                if let Some(free @ Availability::Free) = all.get_mut(*host) {
                    *free = Availability::Only(key.clone(), Refusal::NamedBy(key.clone()));
                }
            }
        }
        all
    }

    /// Returns the availability of a host with its owner and its release, if it has any.
    pub(in crate::plan) fn for_host(
        site: &Site,
        host: &Host,
        assigned: Option<&ClusterKey>,
        release: Option<&PendingRelease>,
    ) -> Availability {
        if let Some(cluster) = assigned {
            return Availability::Refused(Refusal::Assigned(cluster.clone()));
        }
        let mut only: Option<(ClusterKey, Refusal)> = None;
        if let Some(release) = release {
            let refusal = Refusal::released(release);
            match &release.by {
                Some(by) => only = Some((by.clone(), refusal)),
                None => return Availability::Refused(refusal),
            }
        }
        for claim in foreign_claims(site, host) {
            match (claim, &only) {
                (Claim::Cluster(cluster, _), Some((other, _))) if cluster == other => {}
                (Claim::Cluster(cluster, _), None) => {
                    only = Some((cluster.clone(), Refusal::claimed(claim)));
                }
                // If two clusters have claims, neither may take it.
                _ => return Availability::Refused(Refusal::claimed(claim)),
            }
        }
        only.map_or(Availability::Free, |(cluster, refusal)| Availability::Only(cluster, refusal))
    }

    /// Returns the only cluster that may take the host.
    pub(in crate::plan) fn only(&self) -> Option<&ClusterKey> {
        match self {
            Availability::Only(cluster, _) => Some(cluster),
            Availability::Free | Availability::Refused(_) => None,
        }
    }

    /// Returns the reason why other clusters, or all, may not take the host.
    pub(in crate::plan) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Availability::Free => None,
            Availability::Only(_, refusal) | Availability::Refused(refusal) => Some(refusal),
        }
    }

    /// Returns the reason why a cluster may not take the host.
    pub(in crate::plan) fn refuses(&self, cluster: &ClusterKey) -> Option<&Refusal> {
        self.refusal().filter(|_| self.only() != Some(cluster))
    }
}
