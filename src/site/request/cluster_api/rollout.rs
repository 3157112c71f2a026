//! Machines that rollouts run beside the replicas.

use crate::base::api::cluster_api::{ControlPlaneSpec, IntOrPercent, Rollout, Strategy};
use crate::base::finding::{DocumentField, RouteStep};

/// Returns the number of Machines that a rollout runs beside the replicas; `None` if it is invalid.
pub(super) fn surge(
    strategy: Option<&Strategy>,
    replicas: usize,
    is_kubeadm: bool,
) -> Option<usize> {
    /// Cluster API's default.
    const DEFAULT: usize = 1;
    let Some(strategy) = strategy else {
        return Some(DEFAULT);
    };
    if strategy.kind.as_deref() == Some("OnDelete") {
        return Some(0);
    }
    match strategy.rolling_update.as_ref().and_then(|it| it.max_surge.as_ref()) {
        None => Some(DEFAULT),
        Some(IntOrPercent::Int(number)) => usize::try_from(*number).ok(),
        // Kubeadm's control plane takes a percentage for 0.
        Some(IntOrPercent::Percent(text)) if is_kubeadm => text.parse().ok().or(Some(0)),
        Some(IntOrPercent::Percent(text)) => match text.strip_suffix('%') {
            // Cluster API rounds up.
            Some(percent) => Some(replicas.checked_mul(percent.parse().ok()?)?.div_ceil(100)),
            None => text.parse().ok(),
        },
    }
}

/// Recognises the control planes of k0smotron whose nodes are Machines, and their templates.
pub(super) fn is_of_k0smotron(kind: &str) -> bool {
    kind.starts_with("K0sControlPlane")
}

/// Returns whether a control plane of k0smotron deletes each Machine before it makes the next.
pub(super) fn never_surges(
    kind: &str,
    control_plane: &ControlPlaneSpec,
    replicas: Option<i64>,
) -> bool {
    // With fewer replicas, k0smotron makes the new Machine first.
    const FEWEST: i64 = 3;
    is_of_k0smotron(kind)
        && control_plane.update_strategy.as_deref() == Some("RecreateDeleteFirst")
        && replicas >= Some(FEWEST)
}

/// The strategy of a rollout, and where its `maxSurge` is.
pub(super) type LocatedStrategy<'a> = (&'a Strategy, DocumentField);

/// Returns the strategy in the `field` of `v1beta1`, or in the rollout of `v1beta2`.
pub(super) fn either<'a>(
    field: &'static str,
    strategy: &'a Option<Strategy>,
    rollout: &'a Option<Rollout>,
    at: &DocumentField,
) -> Option<LocatedStrategy<'a>> {
    let surge_below = |route: &[&str]| {
        let route = route.iter().chain(&["rollingUpdate", "maxSurge"]);
        at.below(route.map(|step| RouteStep::from(*step)))
    };
    let in_rollout = || {
        let strategy = rollout.as_ref()?.strategy.as_ref()?;
        Some((strategy, surge_below(&["rollout", "strategy"])))
    };
    let strategy = strategy.as_ref().map(|strategy| (strategy, surge_below(&[field])));
    strategy.or_else(in_rollout)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_rollout_needs_as_many_hosts_as_cluster_api_starts_at_once() {
        for (yaml, surge) in [
            ("{}", Some(1)),
            ("{type: OnDelete}", Some(0)),
            ("{type: RollingUpdate, rollingUpdate: {maxSurge: 0}}", Some(0)),
            ("{rollingUpdate: {maxSurge: 2}}", Some(2)),
            ("{rollingUpdate: {maxSurge: '25%'}}", Some(3)),
            ("{rollingUpdate: {maxSurge: '3'}}", Some(3)),
            ("{rollingUpdate: {maxSurge: many}}", None),
            ("{rollingUpdate: {maxSurge: -1}}", None),
        ] {
            let strategy = yaml_serde::from_str(yaml).unwrap();
            assert_eq!(super::surge(Some(&strategy), 10, false), surge, "{yaml}");
        }
        assert_eq!(super::surge(None, 10, false), Some(1));
    }
}
