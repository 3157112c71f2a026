//! Labels that follow the Machines that use hosts, and those that cannot.

use super::AssignmentMethod;
use super::assignments::{Assignments, CurrentAssignment};
use super::machine_users::MachineUser;
use crate::base::api::names::{ClusterKey, Part};
use crate::base::finding::{Code, Finding};
use crate::site::inventory::usage::HostUsage;

impl<'a> Assignments<'a> {
    /// Moves a host to the node set of the Machine that uses it.
    pub(super) fn follow(
        &mut self,
        assignment: CurrentAssignment<'a>,
        from: (&'a ClusterKey, &'a Part),
        (cluster, part): (&'a ClusterKey, &'a Part),
    ) {
        let host = assignment.host;
        let how =
            if from.0 == cluster { AssignmentMethod::Stays } else { AssignmentMethod::Adopted };
        if from.0 != cluster {
            self.released.push((from.0, host, AssignmentMethod::Stays));
        }
        if self.followed.insert(host, from).is_none() {
            let assignment = CurrentAssignment { part, how, ..assignment };
            self.by_cluster.entry(cluster).or_default().push(assignment);
        }
    }

    /// Returns the hosts of Machines of a node set that stay with other node sets.
    pub(super) fn machines_elsewhere<'s>(
        &'s self,
        cluster: &'s ClusterKey,
        part: &'s Part,
    ) -> impl Iterator<Item = usize> + 's {
        let own = MachineUser::NodeSet { cluster, part };
        let unfollowed = self.unfollowed.iter().copied();
        unfollowed.filter(move |host| self.users[*host].as_ref() == Some(&own))
    }

    /// Returns whether a Machine uses a host that is none of the node set's.
    pub(super) fn is_used_by_another(&self, at: usize, cluster: &ClusterKey, part: &Part) -> bool {
        self.users[at].as_ref().is_some_and(|user| user.excludes(cluster, part, self.site))
    }

    /// Reports hosts whose labels and Machines disagree, and Machines of an unknown node set.
    pub(super) fn machine_findings(&self) -> Vec<Finding> {
        let Self { site, frozen, .. } = self;
        let used = self.users.iter().enumerate();
        let used = used.filter_map(|(host, user)| Some((host, user.as_ref()?)));
        let describe = |(host, user): (usize, &MachineUser<'_>)| {
            let owner = self.retained.get(&host).and_then(|owners| owners.first());
            let host = &site.inventory.hosts[host];
            let machine = host.user().unwrap_or_default();
            let (cluster, message, place, help) = match (owner, user) {
                (Some((cluster, ..)), _) if frozen.contains(*cluster) => return None,
                (Some((cluster, part, origin)), _) if user.excludes(cluster, part, site) => {
                    let owner = match user {
                        MachineUser::Foreign => String::new(),
                        _ => format!(", which belongs to {user}"),
                    };
                    let message = format!(
                        "host {} is assigned to {cluster}, {part}, and used by {machine}{owner}",
                        host.key
                    );
                    let help = match user {
                        MachineUser::NodeSet { .. } => {
                            "add a host, or wait until a snapshot shows the hosts free that others release: then another \
                             host takes its place, and the labels follow the Machine"
                        }
                        _ if matches!(host.live.usage, Some(HostUsage::NodeReuse(_))) => {
                            "add a host, which takes its place; or remove the label"
                        }
                        MachineUser::Foreign => {
                            "add a host, which takes its place; or remove what uses it"
                        }
                        MachineUser::Cluster(_) | MachineUser::Other(_) => {
                            "add a host, which takes its place; or delete the Machine"
                        }
                    };
                    (*cluster, message, origin.name(), help)
                }
                (None, MachineUser::Cluster(cluster)) if !frozen.contains(*cluster) => {
                    let message = format!(
                        "{machine} uses host {}, and nothing shows which node set of {cluster} it belongs to",
                        host.key
                    );
                    let help = "take a snapshot with `sipgen snapshot`, which has the Machines, or label the host once: \
                                docs/reference/cluster-api.md has the labels";
                    (*cluster, message, host.origin.name(), help)
                }
                _ => return None,
            };
            let finding = Finding::new(Code::UsedByAnother, message).at(place);
            let finding = finding.help(help).for_cluster(cluster);
            let usage = host.live.usage.as_ref();
            Some(finding.see_each(usage.map(|it| (host.live_place(it.route()), "in use here"))))
        };
        used.filter_map(describe).collect()
    }
}
