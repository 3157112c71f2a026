//! Detection of snapshots that lose suspiciously many hosts, for instance because of a wrong
//! context or missing permissions.

use std::collections::BTreeSet;

use super::Snapshot;
use crate::base::api::names::{HostKey, Namespace};
use crate::base::grouping::occurrences;
use crate::base::text::counted;

/// Tolerated loss: one host in this many.
const ONE_IN: usize = 10;
/// Tolerated number of lost hosts on sites of any size.
const ALWAYS: usize = 2;

/// Describes the losses of a snapshot, if they need confirmation: more than a tenth of the hosts,
/// all hosts of a namespace, or all hardware.
pub fn lost(before: &Snapshot, after: &Snapshot) -> Option<String> {
    let gone: Vec<&HostKey> =
        before.hosts.keys().filter(|host| !after.hosts.contains_key(host)).collect();
    let left: BTreeSet<&Namespace> = after.hosts.keys().map(|host| &host.namespace).collect();
    let namespaces = before.hosts.keys().map(|host| &host.namespace);
    let emptied = occurrences(namespaces.filter(|namespace| !left.contains(namespace)));
    if let Some((namespace, hosts)) = emptied.first_key_value() {
        let more = match emptied.len() {
            1 => String::new(),
            several => format!(" and of {}", counted(several - 1, "more namespace")),
        };
        let hosts = counted(*hosts, "host");
        return Some(format!("every host of namespace `{namespace}` ({hosts}){more}"));
    }
    if gone.len() > ALWAYS.max(before.hosts.len() / ONE_IN) {
        let first = gone.first().map(|host| format!(", `{host}` among them")).unwrap_or_default();
        return Some(format!("{} of {}{first}", gone.len(), counted(before.hosts.len(), "host")));
    }
    let loses_hardware =
        !before.hardware.is_empty() && after.hardware.is_empty() && !after.hosts.is_empty();
    loses_hardware
        .then(|| format!("the HardwareData of {}", counted(before.hardware.len(), "host")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn snapshot(namespaces: &[(&str, usize)]) -> Snapshot {
        let hosts = namespaces.iter().flat_map(|(namespace, count)| {
            (0..*count)
                .map(move |host| (format!("{namespace}/h{host:03}").parse().unwrap(), json!({})))
        });
        Snapshot { hosts: hosts.collect(), ..Snapshot::default() }
    }

    #[test]
    fn few_hosts_may_go_and_no_namespace() {
        let hundred = snapshot(&[("a", 100)]);
        assert_eq!(lost(&hundred, &snapshot(&[("a", 90)])), None);
        assert_eq!(
            lost(&hundred, &snapshot(&[("a", 89)])).unwrap(),
            "11 of 100 hosts, `a/h089` among them"
        );
        assert_eq!(lost(&snapshot(&[("a", 4)]), &snapshot(&[("a", 2)])), None);
        assert_eq!(
            lost(&snapshot(&[("a", 4)]), &snapshot(&[("a", 1)])).unwrap(),
            "3 of 4 hosts, `a/h001` among them"
        );
        assert_eq!(
            lost(&snapshot(&[("a", 99), ("b", 1)]), &hundred).unwrap(),
            "every host of namespace `b` (1 host)"
        );
        assert_eq!(
            lost(&snapshot(&[("a", 1)]), &snapshot(&[])).unwrap(),
            "every host of namespace `a` (1 host)"
        );
        assert_eq!(
            lost(&snapshot(&[("a", 1), ("b", 2)]), &snapshot(&[])).unwrap(),
            "every host of namespace `a` (1 host) and of 1 more namespace"
        );
        assert_eq!(lost(&snapshot(&[]), &hundred), None);
    }

    #[test]
    fn all_hardware_does_not_go() {
        let mut before = snapshot(&[("a", 2)]);
        let after = before.clone();
        before.hardware = before.hosts.clone();
        assert_eq!(lost(&before, &after).unwrap(), "the HardwareData of 2 hosts");
    }
}
