//! Hosts one by one: whose each is, or why it is nobody's.

use std::fmt::{self, Write};

use super::rack_map::Letters;
use super::write_heading;
use crate::finding::counted;
use crate::picture::HostPicture;
use crate::plan::How;
use crate::report::one_line;

/// How many hosts are listed, if not all are asked for.
const HOSTS_SHOWN: usize = 100;

pub(super) fn write(out: &mut String, hosts: &[&HostPicture], letters: &Letters<'_>, all: bool) -> fmt::Result {
    if hosts.is_empty() {
        return Ok(());
    }
    write_heading(out, "hosts")?;
    let shown = if all { hosts } else { &hosts[..hosts.len().min(HOSTS_SHOWN)] };
    let width = shown.iter().map(|host| host.key.to_string().len()).max().unwrap_or_default();
    for host in shown {
        writeln!(out, "  {} {:width$}  {}", letters.cell(host), host.key.to_string(), one_line(&words(host)))?;
    }
    if shown.len() < hosts.len() {
        writeln!(out, "  … and {}; --all lists them all", counted(hosts.len() - shown.len(), "more host"))?;
    }
    writeln!(out, "\n  `sipgen explain NS/NAME` says why")
}

/// How a host stands, in words.
fn words(host: &HostPicture) -> String {
    let mut words = match &host.assigned {
        Some(assigned) => {
            let how = match assigned.how {
                Some(How::Added) => ", added",
                Some(How::Adopted) => ", adopted by its labels",
                Some(How::Stays) | None => "",
            };
            format!("{} of {}{how}", assigned.role, assigned.cluster)
        }
        None => host.state.words().to_owned(),
    };
    if let Some(cluster) = &host.given_back_by {
        let taken = if host.assigned.is_some() { ", given back" } else { "" };
        words += &format!("{taken} by {cluster}");
    }
    if host.assigned.is_some() && host.failed {
        words += ", has failed";
    }
    if host.assigned.is_some() && host.deleting {
        words += ", is being deleted";
    }
    if let Some(why) = &host.why_not_free {
        words += &format!(": {why}");
    }
    words
}
