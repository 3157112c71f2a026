//! Hypotheses: changes of a site that no file has.
//!
//! * `hosts`: hosts that are gone or free, chosen by name or labels, and hosts that are bought.
//! * `scale`: node sets with other numbers of hosts.
//!
//! A hypothesis is applied to the site after it is read. From there on, nothing knows of it, so its
//! plan is the plan of a site with these changes.

mod hosts;
mod scale;

use std::collections::BTreeSet;
use std::fmt;

use crate::base::api::names::ClusterKey;
use crate::base::finding::Finding;
use crate::base::text::known_names;
use crate::base::text::suggest::alike;
use crate::input::load::Files;
use crate::site::Site;
use crate::site::request::Request;

pub use hosts::{AlternatingLabel, BoughtHosts, HostChoice, chosen, selectors};
pub(crate) use hosts::{available_host, label_keys, usual_namespace};
pub use scale::{Scale, ScaleTarget};

/// Maximum number of labels that a message names.
const LABELS_SHOWN: usize = 12;

/// Changes of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hypothesis {
    /// Hosts that are gone.
    pub gone: Vec<HostChoice>,
    /// Hosts that no cluster has.
    pub unassigned: Vec<HostChoice>,
    /// Clusters that nobody requests.
    pub removed: BTreeSet<ClusterKey>,
    /// Node sets with other numbers of hosts.
    pub scaled: Vec<Scale>,
    /// Hosts that are bought.
    pub bought: Option<BoughtHosts>,
}

/// A question about something that a site does not have, or has already.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownSubject {
    /// No host has a name, which is followed by the name that was probably meant.
    #[error("the site has no host {0}")]
    Host(String),
    /// No host has a label, or several labels have the short name.
    #[error("no host has the label `{key}`; hosts have {known}")]
    Label {
        /// The key as given.
        key: String,
        /// Keys of hosts, in words.
        known: String,
    },
    /// No host has the labels of a selector.
    #[error("no host matches `{0}`")]
    Selector(String),
    /// No request asks for a cluster, which is followed by the name that was probably meant.
    #[error("the site has no cluster {0}")]
    Cluster(String),
    /// The cluster is unknown, or its request has errors.
    #[error("no cluster without errors is called {0}")]
    ValidCluster(String),
    /// A copy of the cluster cannot exist.
    #[error("{0} has no copies: it requests no host, or hosts by their MAC address")]
    Copies(ClusterKey),
    /// Additional files have no request.
    #[error(
        "no hosts are requested in {0}: it has no SIPCluster, no Provisioning, and no Cluster with \
         `sip.airshipit.org/assign-hosts: \"true\"` or by the setting `requests.clusterAPI`"
    )]
    Request(String),
    /// Additional files request a cluster that the site has.
    #[error(
        "the site has a cluster `{0}` already: give the additional request another name, or use \
         `sipgen what-if --scale`"
    )]
    Requested(ClusterKey),
    /// A cluster has no such node set.
    #[error("{cluster} has no node set `{node_set}`; it has {known}")]
    NodeSet {
        /// The cluster.
        cluster: ClusterKey,
        /// The node set as given.
        node_set: String,
        /// Its node sets, in words.
        known: String,
    },
    /// A node set would have fewer than no hosts.
    #[error("{0} has only {1} active hosts")]
    TooFew(String, usize),
}

impl UnknownSubject {
    /// Returns the error about a label beside the known ones.
    pub(crate) fn label(key: &str, known: &[&str]) -> Self {
        Self::Label { key: key.to_owned(), known: known_names(known, LABELS_SHOWN) }
    }

    fn cluster(key: &ClusterKey, site: &Site) -> Self {
        Self::Cluster(with_suggestion(key, similar_cluster(key.name.as_str(), site)))
    }
}

/// Returns the cluster that a name without namespace, or with another one, probably means.
pub fn similar_cluster(name: &str, site: &Site) -> Option<String> {
    let meant = alike(name, site.clusters.keys().map(|key| key.name.as_str()))?;
    site.clusters.keys().find(|key| key.name.as_str() == meant).map(ToString::to_string)
}

/// Returns the host that a name without namespace, or with another one, probably means.
pub fn similar_host(name: &str, site: &Site) -> Option<String> {
    let keys = || site.inventory.hosts.iter().map(|host| &host.key);
    let meant = alike(name, keys().map(|key| key.name.as_str()))?;
    keys().find(|key| key.name.as_str() == meant).map(ToString::to_string)
}

/// Quotes an unknown name, and adds the name that was probably meant.
pub fn with_suggestion(unknown: impl fmt::Display, meant: Option<String>) -> String {
    let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
    format!("`{unknown}`{}", meant.unwrap_or_default())
}

/// Requires that additional files, if there are any, request hosts. A request with errors counts.
///
/// # Errors
///
/// Returns the names of the files.
pub(crate) fn check_requests(files: &Files, site: &Site) -> Result<(), UnknownSubject> {
    let names: Vec<&str> = files.additions().iter().map(|added| added.name.as_str()).collect();
    let is_added = |request: &Request| names.contains(&request.origin.file.as_str());
    if names.is_empty() || site.clusters.values().any(is_added) {
        return Ok(());
    }
    Err(UnknownSubject::Request(known_names(&names, names.len())))
}

impl Hypothesis {
    /// Changes a site. Reports machines of Provisionings whose host is gone.
    ///
    /// # Errors
    ///
    /// Returns what the site does not have.
    pub(crate) fn apply(&self, site: &mut Site) -> Result<Vec<Finding>, UnknownSubject> {
        let gone = hosts::chosen(&self.gone, site)?;
        let unassigned = hosts::chosen(&self.unassigned, site)?;
        for cluster in &self.removed {
            if site.clusters.remove(cluster).is_none() {
                return Err(UnknownSubject::cluster(cluster, site));
            }
        }
        for scale in &self.scaled {
            scale.apply(site)?;
        }
        hosts::free(&unassigned, site);
        let findings = hosts::remove(&gone, site);
        hosts::address_bought(site);
        site.find_rack_label();
        Ok(findings)
    }

    /// Returns the hypothesis in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let gone = self.gone.iter().map(|hosts| format!("{hosts} are gone"));
        let unassigned = self.unassigned.iter().map(|hosts| format!("{hosts} are free"));
        let removed = self.removed.iter().map(|cluster| format!("{cluster} is not requested"));
        let scaled = self.scaled.iter().map(ToString::to_string);
        let bought = self.bought.iter().map(ToString::to_string);
        let all = gone.chain(unassigned).chain(removed).chain(scaled);
        all.chain(bought).collect()
    }
}
