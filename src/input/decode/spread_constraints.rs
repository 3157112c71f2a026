//! Validates topology spread constraints.

use super::label_selector::Mistake;
use crate::base::api::names::is_label_key;
use crate::base::api::topology_spread::{
    MOST_HOSTS, SpreadRule, TopologySpread, TopologySpreadConstraint, valid_count,
};

/// Validates the constraints of a node set.
///
/// # Errors
///
/// Returns all mistakes.
pub(crate) fn validate(
    constraints: &[TopologySpreadConstraint],
) -> Result<Vec<TopologySpread>, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut spreads: Vec<TopologySpread> = Vec::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let mut report = |field: &str, message: String, help: &str| {
            mistakes.push(Mistake::new(vec![index.into(), field.into()], message, help));
        };
        let key = &constraint.topology_key;
        if !is_label_key(key) {
            let help = "name the label whose value is the host's rack or room, such as `topology.example.com/rack`";
            report("topologyKey", format!("`{key}` is not a valid label key"), help);
        }
        let mut number = |field, value: Option<i64>| {
            let value = value.unwrap_or(1);
            valid_count(value).unwrap_or_else(|| {
                let help = format!("write 1 to {MOST_HOSTS}");
                report(field, format!("`{field}: {value}` is not a valid number"), &help);
                1
            })
        };
        let max_skew = number("maxSkew", constraint.max_skew);
        let min_domains = number("minDomains", constraint.min_domains);
        let is_required = match constraint.when_unsatisfiable.as_deref() {
            None | Some("DoNotSchedule") => true,
            Some("ScheduleAnyway") => false,
            Some(other) => {
                let message = format!("unknown `whenUnsatisfiable: {other}`");
                report("whenUnsatisfiable", message, "write `DoNotSchedule` or `ScheduleAnyway`");
                true
            }
        };
        if constraint.min_domains.is_some() && !is_required {
            let message = "`minDomains` has no effect with `whenUnsatisfiable: ScheduleAnyway`";
            let help = "remove it, or write `whenUnsatisfiable: DoNotSchedule`";
            report("minDomains", message.to_owned(), help);
        }
        let is_same =
            |other: &TopologySpread| other.key == *key && other.is_required() == is_required;
        if spreads.iter().any(is_same) {
            let help = "write one constraint for each label and `whenUnsatisfiable`";
            report("topologyKey", format!("duplicate constraint for `{key}`"), help);
        }
        let rule = if is_required {
            SpreadRule::MaxSkew { max_skew, min_domains }
        } else {
            SpreadRule::Even
        };
        spreads.push(TopologySpread { key: key.clone(), rule });
    }
    if mistakes.is_empty() { Ok(spreads) } else { Err(mistakes) }
}
