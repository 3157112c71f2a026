//! Explanations of assignments.

use std::fmt::Display;

use super::{ERROR, ReportText, STRONG, one_line, styled, width, write_unserved_machines};
use crate::base::grouping::{grouped, grouped_in_order};
use crate::base::text::counted;
use crate::plan::explain::{
    AssignedHost, ClusterExplanation, HostExplanation, NodeSetExplanation, NodeSetRefusal,
};
use crate::plan::host_state::HostOwner;
use crate::plan::{AssignmentMethod, Shortage};

/// Explains the hosts of a cluster.
pub fn explain_cluster(explanation: &ClusterExplanation) -> ReportText {
    let mut out = ReportText::default();
    let priority = match explanation.priority {
        0 => String::new(),
        priority => format!(", priority {priority}"),
    };
    let left = if explanation.left_as_it_is { ": has errors and is left unchanged" } else { "" };
    let cluster = styled(STRONG, format_args!("cluster {}", explanation.cluster));
    writeln!(out, "{cluster}{priority}{left}");
    if explanation.kind.descriptor().is_named_in_lists {
        let name = explanation.provisioning.iter().map(|name| format!(" {}", one_line(name)));
        let name: String = name.collect();
        writeln!(out, "  {}{name} in {}", explanation.kind, one_line(&explanation.place));
    }
    let (machines, node_sets): (Vec<_>, Vec<_>) =
        explanation.node_sets.iter().partition(|set| set.part.node.is_some());
    for NodeSetExplanation { part, wanted, hosts, shortage, .. } in node_sets {
        writeln!(out, "  {}", head(part, hosts.len(), *wanted, "host"));
        let width = width(hosts.iter().map(|host| host.host.to_string()));
        for AssignedHost { host, how, domains, .. } in hosts {
            let domains: String =
                domains.iter().map(|(key, value)| format!("  {key}={value}")).collect();
            let line =
                format!("    {:width$}  {:<7}{domains}", host.to_string(), how_in_words(*how));
            writeln!(out, "{}", line.trim_end());
        }
        for line in shortage.iter().flat_map(Shortage::proof) {
            writeln!(out, "    {line}");
        }
    }
    write_machines(&mut out, &machines);
    for host in &explanation.gives_back {
        writeln!(out, "  releases {host}");
    }
    out
}

/// Formats how many of the wanted hosts or machines a part of a cluster has.
fn head(part: &dyn Display, have: usize, wanted: usize, noun: &str) -> String {
    let style = if have < wanted { ERROR } else { STRONG };
    styled(style, format!("{part}: has {} of {wanted}", counted(have, noun)))
}

/// Maximum numbers of machine names on a line, and of their characters.
const MACHINES_NAMED: usize = 3;
const NAMES_LENGTH: usize = 40;

/// Writes a Provisioning's machines, one per line, and the reasons why some have no host.
fn write_machines(out: &mut ReportText, machines: &[&NodeSetExplanation]) {
    let all: Vec<[String; 6]> = machines.iter().flat_map(|machine| rows(machine)).collect();
    let widths: Vec<usize> =
        (0..6).map(|column| width(all.iter().map(|row| &row[column]))).collect();
    for (role, role_machines) in grouped(machines.iter().map(|it| (it.part.role, *it))) {
        let wanted: usize = role_machines.iter().map(|machine| machine.wanted).sum();
        let have = role_machines.iter().filter(|machine| !machine.hosts.is_empty()).count();
        writeln!(out, "  {}", head(&role, have, wanted, "machine"));
        for row in role_machines.iter().flat_map(|machine| rows(machine)) {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(out, "    {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        let short = role_machines.iter().filter_map(|machine| {
            Some((machine.part.node.as_ref()?, machine.shortage.as_ref()?.proof()))
        });
        write_unserved_machines(out, 4, MACHINES_NAMED, short);
    }
}

/// Returns a machine's cells: name, host, address, machine, reason, request. It has several rows
/// only while other hosts are being released.
fn rows(machine: &NodeSetExplanation) -> Vec<[String; 6]> {
    let too = if machine.worker_too { " (also Worker)" } else { "" };
    let node = machine.part.node.as_ref().map(|node| format!("{node}{too}")).unwrap_or_default();
    let asked = match &machine.asked {
        Some(asked) => format!("for {}", one_line(&asked.to_string())),
        None => "no longer requested".to_owned(),
    };
    if machine.hosts.is_empty() {
        let none = String::new;
        // A machine without a shortage of its own waits for others of its cluster.
        let what = if machine.shortage.is_some() { "no host" } else { "not placed" };
        return vec![[node, what.to_owned(), none(), none(), none(), asked]];
    }
    let row = |AssignedHost { host, machine, why, .. }: &AssignedHost| {
        let address = machine.as_ref().and_then(|machine| machine.address);
        [
            node.clone(),
            host.to_string(),
            address.map_or_else(|| "no address".to_owned(), |address| address.to_string()),
            machine.as_ref().map(ToString::to_string).unwrap_or_default(),
            why.clone().unwrap_or_default(),
            asked.clone(),
        ]
    };
    machine.hosts.iter().map(row).collect()
}

/// Explains the owner of a host, or why it is unassigned.
pub fn explain_host(explanation: &HostExplanation) -> ReportText {
    let mut out = ReportText::default();
    let HostExplanation { host, assigned, facts, refused, .. } = explanation;
    let whose = match assigned {
        Some(HostOwner { cluster, part, how }) => {
            let how = how.map_or("stays because the cluster has errors", how_in_words);
            format!("{part} of {cluster} ({how})")
        }
        None => "unassigned".to_owned(),
    };
    writeln!(out, "{}: {}", styled(STRONG, format_args!("host {host}")), one_line(&whose));
    for fact in facts {
        writeln!(out, "  {}", one_line(fact));
    }
    let refused = folded(refused);
    let width = width(refused.iter().map(|(name, _)| name));
    if !refused.is_empty() {
        writeln!(out, "  {}", styled(STRONG, "not assigned to"));
    }
    for (name, why) in refused {
        writeln!(out, "    {name:width$}  {}", one_line(&why));
    }
    out
}

/// Lists the node sets that do not have the host, with reasons. Machines of a Provisioning with the
/// same reason share a line.
fn folded(refused: &[NodeSetRefusal]) -> Vec<(String, String)> {
    let why = |refusal: &NodeSetRefusal| match &refusal.why {
        Some(_) if refusal.names_another => "has none of their MAC addresses".to_owned(),
        Some(why) => why.clone(),
        None => "matches, but is not needed".to_owned(),
    };
    let lines = grouped_in_order(refused.iter().map(|refusal| {
        let NodeSetRefusal { cluster, part, .. } = refusal;
        let node_set = part.node.is_none().then_some(&part.node_set);
        ((cluster, part.role, node_set, why(refusal)), refusal)
    }));
    let mut told = Vec::new();
    for ((cluster, role, _, why), refusals) in lines {
        if let [only] = refusals.as_slice() {
            told.push((format!("{cluster} {}", only.part), only.why.clone().unwrap_or(why)));
            continue;
        }
        let nodes = refusals.iter().flat_map(|refusal| &refusal.part.node);
        let nodes = nodes.map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let are_named = refusals.len() <= MACHINES_NAMED && nodes.len() <= NAMES_LENGTH;
        let machines = match are_named {
            true => format!("{nodes} ({role})"),
            false => counted(refusals.len(), &format!("{role} machine")),
        };
        told.push((format!("{cluster} {machines}"), why));
    }
    told
}

fn how_in_words(how: AssignmentMethod) -> &'static str {
    match how {
        AssignmentMethod::Stays => "stays",
        AssignmentMethod::Adopted => "adopted",
        AssignmentMethod::Added => "picked",
    }
}
