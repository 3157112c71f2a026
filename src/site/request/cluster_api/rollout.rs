//! Machines that rollouts run beside the replicas.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::base::api::cluster_api::{Rollout, Strategy};
use crate::base::finding::{DocumentField, RouteStep};
use crate::site::request::cluster::StandbyHosts;

/// Kinds of control planes without `maxSurge`.
const WITHOUT_SURGE: [&str; 3] = [K0SMOTRON, "KThreesControlPlane", "MicroK8sControlPlane"];
/// The start of the kinds of k0smotron's control planes whose nodes are Machines, and their templates.
const K0SMOTRON: &str = "K0sControlPlane";
/// The start of the kinds of kubeadm's control planes and their templates.
const KUBEADM: &str = "KubeadmControlPlane";

/// Update strategy of k0smotron's control planes that replaces each Machine before the next one,
/// where it can.
const DELETES_FIRST: &str = "RecreateDeleteFirst";

/// Returns the Machines that the rollout of a control plane, of its template or of a
/// MachineDeployment runs beside the replicas; `None` if they are invalid.
pub(super) fn surge(
    kind: &str,
    update: Option<&str>,
    strategy: Option<&Strategy>,
) -> Option<StandbyHosts> {
    /// Cluster API's default.
    const DEFAULT: StandbyHosts = StandbyHosts::Surge(1);
    if is_of_k0smotron(kind) && update == Some(DELETES_FIRST) {
        return Some(StandbyHosts::OneOfFew);
    }
    if WITHOUT_SURGE.iter().any(|start| kind.starts_with(start)) {
        return Some(StandbyHosts::OneMore);
    }
    let Some(strategy) = strategy else { return Some(DEFAULT) };
    if strategy.kind.as_deref() == Some("OnDelete") {
        return Some(StandbyHosts::Number(0));
    }
    let number = match strategy.rolling_update.as_ref().and_then(|it| it.max_surge.as_ref()) {
        None => return Some(DEFAULT),
        Some(IntOrString::Int(number)) => usize::try_from(*number).ok(),
        // Kubeadm's control plane takes a percentage for 0.
        Some(IntOrString::String(text)) if kind.starts_with(KUBEADM) => {
            text.parse().ok().or(Some(0))
        }
        Some(IntOrString::String(text)) => match text.strip_suffix('%') {
            Some(percent) => return percent.parse().ok().map(StandbyHosts::SurgePercent),
            None => text.parse().ok(),
        },
    };
    number.map(StandbyHosts::Surge)
}

/// Recognises the control planes of k0smotron whose nodes are Machines, and their templates.
pub(super) fn is_of_k0smotron(kind: &str) -> bool {
    kind.starts_with(K0SMOTRON)
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
    let route = if strategy.is_some() { vec![field] } else { vec!["rollout", "strategy"] };
    let in_rollout = || rollout.as_ref()?.strategy.as_ref();
    let strategy = strategy.as_ref().or_else(in_rollout)?;
    let surge = route.into_iter().chain(["rollingUpdate", "maxSurge"]).map(RouteStep::from);
    Some((strategy, at.below(surge)))
}

#[cfg(test)]
mod tests {
    use super::surge;
    use crate::base::api::cluster_api::MACHINE_DEPLOYMENT;

    #[test]
    fn a_rollout_needs_as_many_hosts_as_cluster_api_starts_at_once() {
        for (yaml, expected) in [
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
            let standby = surge(MACHINE_DEPLOYMENT, None, Some(&strategy));
            assert_eq!(standby.map(|standby| standby.count(10)), expected, "{yaml}");
        }
        let standby = surge(MACHINE_DEPLOYMENT, None, None);
        assert_eq!(standby.map(|standby| standby.count(10)), Some(1));
    }
}
