//! Hosts with their owner, or the reason why they are unassigned.

use crate::ask::overview::HostOverview;
use crate::base::api::hardware::UNKNOWN_KIND;
use crate::plan::AssignmentMethod;
use crate::report::{ReportText, one_line, width, write_heading, write_more};

/// Maximum number of hosts without `--all`.
const HOSTS_SHOWN: usize = 100;

pub(super) fn write(out: &mut ReportText, hosts: &[&HostOverview], all: bool) {
    if hosts.is_empty() {
        return;
    }
    write_heading(out, "hosts");
    let shown = if all { hosts } else { &hosts[..hosts.len().min(HOSTS_SHOWN)] };
    let key_width = width(shown.iter().map(|host| host.key.to_string()));
    // They are omitted unless some are known.
    let kinds = shown.iter().filter_map(|host| host.hardware.as_deref());
    let has_kinds = kinds.into_iter().any(|kind| kind != UNKNOWN_KIND);
    let kind = |host: &HostOverview| match host.hardware.as_deref() {
        Some(kind) if has_kinds => format!("{}  ", one_line(kind)),
        _ => String::new(),
    };
    let kind_width = width(shown.iter().map(|host| kind(host)));
    for host in shown {
        let (key, kind) = (host.key.to_string(), kind(host));
        writeln!(out, "  {key:key_width$}  {kind:kind_width$}{}", one_line(&words(host)));
    }
    write_more(out, 2, hosts.len() - shown.len(), "host", "; --all lists all");
    writeln!(out);
    writeln!(out, "  run `sipgen explain NS/NAME` for the reasons")
}

/// Describes the state of a host.
fn words(host: &HostOverview) -> String {
    let Some(assigned) = &host.assigned else {
        return match (&host.why_not_free, &host.given_back_by) {
            (Some(why), _) => why.clone(),
            (None, Some(cluster)) => format!("{} by {cluster}", host.state.words()),
            (None, None) => host.state.words().to_owned(),
        };
    };
    let mut words = vec![format!("{} of {}", assigned.part, assigned.cluster)];
    match assigned.how {
        Some(AssignmentMethod::Added) => words.push("added".to_owned()),
        Some(AssignmentMethod::Adopted) => words.push("adopted".to_owned()),
        Some(AssignmentMethod::Stays) | None => {}
    }
    words.extend(host.given_back_by.as_ref().map(|cluster| format!("released by {cluster}")));
    words.extend(host.failed.then(|| "has failed".to_owned()));
    words.extend(host.deleting.then(|| "is being deleted".to_owned()));
    words.join(", ")
}
