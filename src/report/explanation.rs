//! Why hosts are where they are, in words.

use std::fmt::{self, Write};

use super::{ERROR, STRONG, one_line, styled};
use crate::finding::counted;
use crate::plan::explain::{
    AssignedHost, Assignment, ClusterExplanation, HostExplanation, NodeSetExplanation, RefusedBy,
};
use crate::plan::{How, Shortage};

/// Why a cluster has the hosts that it has.
pub fn explain_cluster(cluster: &ClusterExplanation) -> String {
    let mut out = String::new();
    let _ = write_cluster(&mut out, cluster);
    out
}

fn write_cluster(out: &mut String, explanation: &ClusterExplanation) -> fmt::Result {
    let ClusterExplanation { cluster, priority, left_as_it_is, node_sets, gives_back } = explanation;
    let priority = if *priority == 0 { String::new() } else { format!(", priority {priority}") };
    let left = if *left_as_it_is { ": has errors, and is left as it is" } else { "" };
    writeln!(out, "{}{priority}{left}", styled(STRONG, format_args!("cluster {cluster}")))?;
    for NodeSetExplanation { part, wanted, hosts, shortage } in node_sets {
        let style = if hosts.len() < *wanted { ERROR } else { STRONG };
        writeln!(out, "  {}", styled(style, format_args!("{part}: has {} of {wanted}", counted(hosts.len(), "host"))))?;
        let width = hosts.iter().map(|host| host.host.to_string().len()).max().unwrap_or_default();
        for AssignedHost { host, how, domains } in hosts {
            let domains: String = domains.iter().map(|(key, value)| format!("  {key}={value}")).collect();
            let line = format!("    {:width$}  {:<7}{domains}", host.to_string(), how_in_words(*how));
            writeln!(out, "{}", line.trim_end())?;
        }
        for line in shortage.iter().flat_map(Shortage::proof) {
            writeln!(out, "    {line}")?;
        }
    }
    for host in gives_back {
        writeln!(out, "  gives back {host}")?;
    }
    Ok(())
}

/// Whose a host is, or why it is nobody's.
pub fn explain_host(host: &HostExplanation) -> String {
    let mut out = String::new();
    let _ = write_host(&mut out, host);
    out
}

fn write_host(out: &mut String, explanation: &HostExplanation) -> fmt::Result {
    let HostExplanation { host, assigned, facts, refused, .. } = explanation;
    let whose = match assigned {
        Some(Assignment { cluster, part, how }) => {
            let how = how.map_or("stays, as the cluster has errors", how_in_words);
            format!("{part} of {cluster} ({how})")
        }
        None => "nobody's".to_owned(),
    };
    writeln!(out, "{}: {}", styled(STRONG, format_args!("host {host}")), one_line(&whose))?;
    for fact in facts {
        writeln!(out, "  {}", one_line(fact))?;
    }
    let names: Vec<String> = refused.iter().map(|refused| format!("{} {}", refused.cluster, refused.part)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    if !refused.is_empty() {
        writeln!(out, "  {}", styled(STRONG, "why others do not have it"))?;
    }
    for (name, RefusedBy { why, .. }) in names.iter().zip(refused) {
        let why = why.as_deref().unwrap_or("would do, and is not needed");
        writeln!(out, "    {name:width$}  {}", one_line(why))?;
    }
    Ok(())
}

fn how_in_words(how: How) -> &'static str {
    match how {
        How::Stays => "stays",
        How::Adopted => "adopted",
        How::Added => "picked",
    }
}
