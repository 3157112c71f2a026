//! Explanations of assignments, and the hardware of hosts.

use std::fmt::Display;

use super::{ERROR, ReportText, STRONG, one_line, styled, width, write_unserved_machines};
use crate::base::api::hardware::{Hardware, Nic, Storage, memory};
use crate::base::grouping::{grouped, grouped_in_order};
use crate::base::text::{counted, joined};
use crate::plan::explain::{
    AssignedHost, ClusterExplanation, HostExplanation, NodeSetExplanation, NodeSetRefusal,
};
use crate::plan::host_state::HostOwner;
use crate::plan::{AssignmentMethod, Shortage};
use crate::site::inventory::hardware::InspectedHardware;

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
        let kind = explanation.kind.to_string();
        let names = [&kind].into_iter().chain(&explanation.provisioning).map(|it| one_line(it));
        writeln!(out, "  {} in {}", joined(names, " "), one_line(&explanation.place));
    }
    let (machines, node_sets): (Vec<_>, Vec<_>) =
        explanation.node_sets.iter().partition(|set| set.part.node.is_some());
    for NodeSetExplanation { part, wanted, hosts, shortage, .. } in node_sets {
        writeln!(out, "  {}", head(part, hosts.len(), *wanted, "host"));
        let width = width(hosts.iter().map(|host| host.host.to_string()));
        for AssignedHost { host, how, domains, .. } in hosts {
            let domains = domains.iter().map(|(key, value)| format!("  {key}={value}"));
            let (host, how) = (host.to_string(), how_in_words(*how));
            let line = format!("    {host:width$}  {how:<7}{}", domains.collect::<String>());
            writeln!(out, "{}", line.trim_end());
        }
        for line in shortage.iter().flat_map(Shortage::proof) {
            writeln!(out, "    {line}");
        }
    }
    write_machines(&mut out, &machines);
    explanation.gives_back.iter().for_each(|host| writeln!(out, "  releases {host}"));
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
    let widths = [0, 1, 2, 3, 4, 5].map(|column| width(all.iter().map(|row| &row[column])));
    for (role, role_machines) in grouped(machines.iter().map(|it| (it.part.role, *it))) {
        let wanted: usize = role_machines.iter().map(|machine| machine.wanted).sum();
        let have = role_machines.iter().filter(|machine| !machine.hosts.is_empty()).count();
        writeln!(out, "  {}", head(&role, have, wanted, "machine"));
        for row in role_machines.iter().flat_map(|machine| rows(machine)) {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(out, "    {}", joined(cells, "  ").trim_end());
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
        // A machine without a shortage of its own waits for others of its cluster.
        let what = if machine.shortage.is_some() { "no host" } else { "not placed" };
        return vec![[&node, what, "", "", "", &asked].map(str::to_owned)];
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
    facts.iter().for_each(|fact| writeln!(out, "  {}", one_line(fact)));
    if !refused.is_empty() {
        writeln!(out, "  {}", styled(STRONG, "not assigned to"));
    }
    let refused = folded(refused);
    let width = width(refused.iter().map(|(name, _)| name));
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
        let nodes = joined(refusals.iter().flat_map(|refusal| &refusal.part.node), ", ");
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

/// Formats a host's known hardware, to follow its explanation. The text is empty if nothing is
/// known.
pub fn explain_hardware(boot_mac: Option<&str>, found: Option<&InspectedHardware>) -> ReportText {
    let mut out = ReportText::default();
    let boot = boot_mac.iter().map(|mac| ("boot MAC", (*mac).to_owned()));
    let inspected = found.into_iter().flat_map(|found| hardware_rows(&found.hardware));
    let source = found.map_or(String::new(), |found| format!(", from {}", found.source));
    for (what, text) in boot.chain(inspected) {
        if out.is_empty() {
            writeln!(out, "  {}", styled(STRONG, format_args!("hardware{source}")));
        }
        writeln!(out, "    {what:10}  {}", one_line(&text));
    }
    out
}

fn hardware_rows(hardware: &Hardware) -> Vec<(&'static str, String)> {
    let Hardware { cpu, ram_mebibytes, hostname, nics, storage, system_vendor, firmware } =
        hardware;
    let mut rows = Vec::new();
    let mut add = |what, parts: Vec<Option<String>>| {
        let parts = joined(parts.into_iter().flatten().filter(|part| !part.is_empty()), "  ");
        rows.extend((!parts.is_empty()).then_some((what, parts)));
    };
    add("CPU", vec![cpu.count.map(|count| count.to_string()), cpu.arch.clone(), cpu.model.clone()]);
    add("memory", vec![ram_mebibytes.map(memory)]);
    for Nic { name, mac, ip, model, vendor, speed_gbps, pxe } in nics {
        let speed = speed_gbps.filter(|speed| *speed > 0).map(|speed| format!("{speed} Gbit/s"));
        let boots = pxe.then(|| "PXE".to_owned());
        let known = [name, mac, ip, vendor, model].into_iter().cloned();
        add("NIC", known.chain([speed, boots]).collect());
    }
    for Storage { name, kind, rotational: _, size_bytes, model, vendor } in storage {
        let size = [name.clone(), size_bytes.map(size)];
        let made = [kind, vendor, model].into_iter().cloned();
        add("disk", size.into_iter().chain(made).collect());
    }
    let made =
        [&system_vendor.manufacturer, &system_vendor.product_name, &system_vendor.serial_number];
    add("system", made.into_iter().cloned().collect());
    add("BIOS", vec![firmware.bios.vendor.clone(), firmware.bios.version.clone()]);
    add("hostname", vec![hostname.clone()]);
    rows
}

/// Formats a disk size in powers of ten, as on the label.
fn size(bytes: u64) -> String {
    const GIGA: u64 = 1_000_000_000;
    if bytes >= 10_000 * GIGA {
        format!("{} TB", bytes / (1000 * GIGA))
    } else {
        format!("{} GB", bytes / GIGA)
    }
}
