//! Topology spread constraints, with the fields and the meaning that they have in a Pod, and
//! `sameDomain`, their opposite.

use kube::core::Expression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hardware_requirements::known_fields;
use super::names::{LABEL_KEY_PATTERN, is_label_key};

/// The largest number of hosts in a request. No site has as many.
pub(crate) const MOST_HOSTS: usize = 1_000_000;

/// Evenness of the hosts of a node set over the domains of a label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = known_fields)]
pub struct TopologySpreadConstraint {
    /// The label whose value is a host's domain, such as `topology.example.com/rack`.
    #[schemars(regex(pattern = LABEL_KEY_PATTERN), length(max = 317))]
    pub topology_key: String,
    /// The largest difference between the number of hosts in a domain and the smallest number in any
    /// domain with matching hosts. Default: 1.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 1))]
    pub max_skew: Option<i64>,
    /// With fewer domains than this, the smallest number counts as 0. Only with `DoNotSchedule`.
    /// Default: 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_domains: Option<i64>,
    /// `DoNotSchedule` assigns no host that exceeds the skew; `ScheduleAnyway` spreads as evenly as
    /// the available hosts allow. Default: `DoNotSchedule`.
    #[schemars(extend("enum" = ["DoNotSchedule", "ScheduleAnyway"], "default" = "DoNotSchedule"))]
    pub when_unsatisfiable: Option<String>,
}

/// The single domain of all hosts of a node set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = known_fields)]
pub struct SameDomain {
    /// The label whose value all hosts have, such as `topology.example.com/switch`.
    #[schemars(regex(pattern = LABEL_KEY_PATTERN), length(max = 317))]
    pub topology_key: String,
}

/// A valid constraint on the domains of the hosts of a node set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopologySpread {
    /// The label whose value is a host's domain.
    pub key: String,
    pub rule: SpreadRule,
}

/// The kind of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpreadRule {
    /// No host is assigned that exceeds the skew (`DoNotSchedule`).
    MaxSkew {
        /// The largest difference between the numbers of hosts in a domain and in the emptiest domain.
        max_skew: usize,
        /// Number of domains below which the emptiest domain counts as empty.
        min_domains: usize,
    },
    /// As even as the available hosts allow (`ScheduleAnyway`).
    Even,
    /// All hosts in one domain (`sameDomain`).
    Same,
}

impl TopologySpread {
    /// Returns whether no host may violate it.
    pub(crate) fn is_required(&self) -> bool {
        self.rule != SpreadRule::Even
    }
}

/// Returns the constraint that all hosts are in one domain.
///
/// # Errors
///
/// Returns a message if the label is invalid, or if other constraints name it.
pub(crate) fn same_domain(
    key: &str,
    topology_keys: &[String],
    spreads: &[TopologySpread],
) -> Result<TopologySpread, (String, &'static str)> {
    if !is_label_key(key) {
        let help =
            "name the label whose value all hosts share, such as `topology.example.com/switch`";
        return Err((format!("`{key}` is not a valid label key"), help));
    }
    let is_limited = topology_keys.iter().any(|other| other == key);
    if is_limited || spreads.iter().any(|other| other.key == key) {
        let help = "remove one of them: hosts of one domain are neither apart nor spread";
        return Err((format!("another constraint on topology names `{key}` as well"), help));
    }
    Ok(TopologySpread { key: key.to_owned(), rule: SpreadRule::Same })
}

/// Returns the labels that a host requires to be in a domain of every required constraint.
pub(crate) fn spread_requirements(spreads: &[TopologySpread]) -> impl Iterator<Item = Expression> {
    let required = spreads.iter().filter(|spread| spread.is_required());
    required.map(|spread| Expression::Exists(spread.key.clone()))
}

/// Returns the label of which all hosts must share a value.
pub(crate) fn shared_key(spreads: &[TopologySpread]) -> Option<&str> {
    let mut same = spreads.iter().filter(|spread| spread.rule == SpreadRule::Same);
    same.next().map(|spread| spread.key.as_str())
}

/// Returns the label over whose values hosts are to be even: that of the first constraint, or else the
/// rack label, unless all hosts are in one domain.
pub(crate) fn evenness_key<'s>(
    spreads: &'s [TopologySpread],
    rack_label: Option<&'s str>,
) -> Option<&'s str> {
    let own = spreads.iter().find(|spread| spread.rule != SpreadRule::Same);
    let own = own.map(|spread| spread.key.as_str());
    own.or(rack_label.filter(|_| spreads.is_empty()))
}

/// Returns a number of hosts or domains if it is valid.
pub(crate) fn valid_count(number: i64) -> Option<usize> {
    let number = usize::try_from(number).ok();
    number.filter(|number| (1..=MOST_HOSTS).contains(number))
}
