//! Machines that rollouts run beside the replicas.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::base::api::cluster_api::{ControlPlaneSpec, Rollout, Strategy};
use crate::base::finding::{DocumentField, RouteStep};
use crate::site::request::cluster::StandbyHosts;

/// Returns the Machines that a rollout runs beside the replicas; `None` if they are invalid.
pub(super) fn surge(strategy: Option<&Strategy>, is_kubeadm: bool) -> Option<StandbyHosts> {
    /// Cluster API's default.
    const DEFAULT: StandbyHosts = StandbyHosts::Surge(1);
    let Some(strategy) = strategy else {
        return Some(DEFAULT);
    };
    if strategy.kind.as_deref() == Some("OnDelete") {
        return Some(StandbyHosts::Number(0));
    }
    let number = match strategy.rolling_update.as_ref().and_then(|it| it.max_surge.as_ref()) {
        None => return Some(DEFAULT),
        Some(IntOrString::Int(number)) => usize::try_from(*number).ok(),
        // Kubeadm's control plane takes a percentage for 0.
        Some(IntOrString::String(text)) if is_kubeadm => text.parse().ok().or(Some(0)),
        Some(IntOrString::String(text)) => match text.strip_suffix('%') {
            Some(percent) => return percent.parse().ok().map(StandbyHosts::SurgePercent),
            None => text.parse().ok(),
        },
    };
    number.map(StandbyHosts::Surge)
}

/// Recognises the control planes of k0smotron whose nodes are Machines, and their templates.
pub(super) fn is_of_k0smotron(kind: &str) -> bool {
    kind.starts_with("K0sControlPlane")
}

/// Returns whether a control plane of k0smotron deletes each Machine before it makes the next.
pub(super) fn deletes_first(kind: &str, control_plane: &ControlPlaneSpec) -> bool {
    is_of_k0smotron(kind) && control_plane.update_strategy.as_deref() == Some("RecreateDeleteFirst")
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
    let (strategy, route) = match (strategy, rollout) {
        (Some(strategy), _) => (strategy, vec![field]),
        (None, Some(Rollout { strategy: Some(strategy) })) => {
            (strategy, vec!["rollout", "strategy"])
        }
        _ => return None,
    };
    let surge = route.into_iter().chain(["rollingUpdate", "maxSurge"]).map(RouteStep::from);
    Some((strategy, at.below(surge)))
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
            let standby = super::surge(Some(&strategy), false);
            assert_eq!(standby.map(|standby| standby.count(10)), surge, "{yaml}");
        }
        assert_eq!(super::surge(None, false).map(|standby| standby.count(10)), Some(1));
    }
}
