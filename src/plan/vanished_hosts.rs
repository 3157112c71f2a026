//! Assigned hosts that are missing from the inventory.
//!
//! A host may be gone, or missing in the inputs by mistake.

use super::assignments::Assignments;
use super::ownership_change;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding};
use crate::base::layout;
use crate::site::assembly::{LeftOutHost, Site};
use crate::site::previous::RecordedAssignment;

impl Assignments<'_> {
    /// Reports an assigned host that is missing from the inventory.
    pub(super) fn vanished(&self, host: &HostKey, held: &RecordedAssignment) -> Option<Finding> {
        let site = self.site;
        if self.frozen.contains(&held.cluster) {
            return patch_without_host(host, held, site);
        }
        if !site.clusters.contains_key(&held.cluster) {
            return None;
        }
        if let Some(left_out) = site.left_out.get(host) {
            return Some(still_declared(host, held, left_out));
        }
        let message = format!("host {host} of {} is missing from the inventory", held.cluster);
        let secrets = match ownership_change::was_declared(held, site) {
            true => {
                ", and neither are its Secrets that left the same build: if the machine is gone, delete them all"
            }
            false => "",
        };
        let help = format!(
            "it leaves the overlay and is replaced; its BareMetalHost is not deleted{secrets}"
        );
        let finding = Finding::new(Code::HostGone, message).at(held.origin.name());
        Some(finding.help(help).for_cluster(&held.cluster))
    }
}

/// Reports a host that a kustomization renders although it is not an input. It would lose its
/// labels without being gone.
fn still_declared(host: &HostKey, held: &RecordedAssignment, left_out: &LeftOutHost) -> Finding {
    Finding::new(
        Code::HostLeftOut,
        format!("host {host} of {} is not in the input, but the repo still declares it", held.cluster),
    )
    .at(left_out.origin.name())
    .see(held.origin.name(), "the cluster has it")
    .help(
        "hand over the whole inventory, or list its file in `sources`; if the host is to go, remove its manifest from \
         the repo",
    )
    .for_cluster(&held.cluster)
}

/// Reports that a frozen cluster patches a host that the patched build no longer renders.
pub(super) fn patch_without_host(
    host: &HostKey,
    held: &RecordedAssignment,
    site: &Site,
) -> Option<Finding> {
    let directory = held.origin.file.parent()?;
    let below = directory.strip_prefix(&site.settings.output).ok()?;
    let there = site.inventory.host(host);
    let root = match there {
        Some(host) => host.evidence.root(),
        None => site.left_out.get(host).map(|left_out| left_out.root),
    };
    let root = root.and_then(|root| site.inventory.roots.get(&root));
    let renders = root.is_some_and(|it| layout::declared_directory(&it.directory) == *below);
    // Removing the entry of a host that still exists would let the agent erase its spec.
    let help = if there.is_some_and(|host| host.evidence.root().is_none()) {
        ownership_change::STAY_DECLARED
    } else {
        "fix the errors of the cluster, or include it in `--only`"
    };
    (below.starts_with(layout::declared_directory("".into())) && !renders).then(|| {
        Finding::new(Code::HostGone, format!(
            "{} stays unchanged and patches host {host}, which is missing: `kustomize build` of {directory} fails",
            held.cluster
        ))
        .at(held.origin.name())
        .help(help)
        .for_cluster(&held.cluster)
    })
}
