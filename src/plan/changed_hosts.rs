//! Assigned hosts that changed since the output was written: they are missing from the inventory, or
//! another object owns their spec.
//!
//! A missing host may be gone, or missing in the inputs by mistake.
//!
//! An agent that applied a host in full erases its spec when it applies a partial object with
//! labels under the same name, because it removes fields that are missing. So a declared host stays
//! declared while a cluster has it, and a host that an agent applies in full from elsewhere is not
//! labeled.

use super::assignments::Assignments;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::layout;
use crate::input::settings::sources;
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::previous::RecordedAssignment;

/// The help for a host that is no longer declared.
const STAY_DECLARED: &str = "restore its manifest, or list it in the kustomization again: it stays declared for as long as a cluster has it. \
     The agent applied it in full, and an object with labels alone would erase its spec. If the machine is gone, delete \
     the BareMetalHost and remove it from the snapshot";

/// Completes the sentence "the host …" for a host that is no longer declared.
const NO_LONGER_DECLARED: &str = "was declared by this repo, but no kustomization renders it now";

/// The help for a host that an agent applies in full from elsewhere.
const ONE_RENDERER: &str = "one object must render the host: have its manifest in this repo, in a kustomization, and \
                            nowhere else; or take the host out of the snapshot, and it is let go";

impl Assignments<'_> {
    /// Reports an assigned host that is missing from the inventory.
    pub(super) fn vanished(&self, host: &HostKey, held: &RecordedAssignment) -> Option<Finding> {
        let site = self.site;
        if self.frozen.contains(&held.cluster) {
            return self.lost_patch(host, held);
        }
        if !site.clusters.contains_key(&held.cluster) {
            return None;
        }
        if let Some(left_out) = site.left_out.get(host) {
            // It would lose its labels without being gone.
            let how =
                if left_out.root.is_some() { "declares it" } else { "says that it is in use" };
            let message = format!(
                "host {host} of {} is not in the input, but the repo still {how}",
                held.cluster
            );
            let finding = Finding::new(Code::HostLeftOut, message).at(left_out.origin.name()).see(held.origin.name(), "the cluster has it").help(
                "hand over the whole inventory, or list its file in `sources`; if the host is to go, remove it from \
                 that file",
            );
            return Some(finding.for_cluster(&held.cluster));
        }
        let message = format!("host {host} of {} is missing from the inventory", held.cluster);
        let secrets = match was_declared(held, site) {
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

    /// Reports that a frozen cluster patches a host that the patched build no longer renders.
    pub(super) fn lost_patch(&self, host: &HostKey, held: &RecordedAssignment) -> Option<Finding> {
        let site = self.site;
        let directory = held.origin.file.parent()?;
        let below = directory.strip_prefix(&site.settings.output).ok()?;
        let there = site.inventory.host(host);
        let root = match there {
            Some(host) => host.evidence.root(),
            None => site.left_out.get(host).and_then(|left_out| left_out.root),
        };
        let root = root.and_then(|root| site.inventory.roots.get(&root));
        let renders = root.is_some_and(|it| layout::declared_directory(&it.directory) == *below);
        // Removing the entry of a host that still exists would let the agent erase its spec.
        let help = if there.is_some_and(|host| host.evidence.root().is_none()) {
            STAY_DECLARED
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

    /// Reports a host whose owner differs from the one that the output assumes.
    pub(super) fn changed(&self, host: &Host, held: &RecordedAssignment) -> Option<Finding> {
        let site = self.site;
        let was_declared = was_declared(held, site);
        if self.frozen.contains(&held.cluster) {
            // The files of a frozen cluster stay, and so does its patch.
            let is_two = host.is_declared() && !was_declared;
            return is_two.then(|| left_as_observed(host, held, site)).flatten();
        }
        let (what, left, help) = match host.evidence {
            Evidence::Applied { .. } => return None,
            Evidence::Live if !was_declared => {
                return Self::applied_in_full(host, &held.cluster, &held.origin);
            }
            // A snapshot showed it when it was assigned.
            Evidence::Loose if !was_declared => (
                "was live in a snapshot, but what describes it now has no `uid` and no provisioning state".to_owned(),
                "what is left of it",
                "take a new snapshot of it; if a tool strips these fields from your snapshots, set `inventory: {mode: \
                 observed}` in sipgen.yaml".to_owned(),
            ),
            Evidence::Live | Evidence::Loose => {
                (NO_LONGER_DECLARED.to_owned(), "what is left of it", STAY_DECLARED.to_owned())
            }
            Evidence::Reached { root } => {
                let root = site.root(root);
                let sources = sources::include(&site.settings, &root.directory, &[&host.origin.file]);
                (
                    format!("was applied by an agent, but no agent's object of this site applies {} now", root.file),
                    "its manifest",
                    format!("let an object apply its overlay again; if one outside of this repo does, {sources}"),
                )
            }
        };
        let message = format!("host {} of {} {what}", host.key, held.cluster);
        let finding = Finding::new(Code::NoLongerDeclared, message).at(held.origin.name());
        Some(finding.see(host.origin.name(), left).help(help).for_cluster(&held.cluster))
    }

    /// Reports a host that is being released although an agent applies it in full. No partial object is
    /// written for it.
    pub(super) fn applied_during_release(&self, host: &Host) -> Option<Finding> {
        let by = host.applied_in_full_by.as_ref()?;
        let release = self.site.state.released.get(&host.key)?;
        if release.by.as_ref().is_some_and(|cluster| self.frozen.contains(cluster)) {
            return None;
        }
        let message = format!(
            "host {}, which is being released, is applied in full by {by}, so an object without labels would erase its spec",
            host.key
        );
        let finding = Finding::new(Code::AppliedInFull, message).at(host.origin.name());
        Some(finding.help(ONE_RENDERER).for_clusters(&release.by))
    }

    /// Reports an unassigned host that is no longer declared while the output still patches labels off
    /// its manifest. Without that patch, nothing would record that the agent applied it in full.
    pub(super) fn no_longer_patched(&self, host: &Host) -> Option<Finding> {
        let changed = !host.is_declared() && self.site.state.unlabelled.contains(&host.key);
        changed.then(|| {
            Finding::new(Code::NoLongerDeclared, format!("host {} {NO_LONGER_DECLARED}", host.key))
                .at(host.origin.name())
                .help(STAY_DECLARED)
        })
    }

    /// Reports an observed host of a cluster that an agent applies in full.
    pub(super) fn applied_in_full(
        host: &Host,
        cluster: &ClusterKey,
        origin: &Origin,
    ) -> Option<Finding> {
        let by = host.applied_in_full_by.as_ref()?;
        let message = format!(
            "host {} of {cluster} is applied in full by {by}, so an object with labels would erase its spec",
            host.key
        );
        let finding = Finding::new(Code::AppliedInFull, message).at(origin.name());
        let snapshot = (origin.file != host.origin.file).then(|| host.origin.name());
        let finding =
            finding.see_each(snapshot.map(|place| (place, "the snapshot, which says so")));
        Some(finding.help(ONE_RENDERER).for_cluster(cluster))
    }
}

/// Returns whether the output patches the manifest of the host.
fn was_declared(held: &RecordedAssignment, site: &Site) -> bool {
    let below = held.origin.file.strip_prefix(&site.settings.output);
    below.is_ok_and(layout::is_below_declared)
}

/// Reports a host that is now declared while a frozen cluster still has it as an observed host.
/// Both objects would be applied.
fn left_as_observed(host: &Host, held: &RecordedAssignment, site: &Site) -> Option<Finding> {
    let observed = site.settings.output.join(layout::observed_directory(&held.cluster));
    held.origin.file.starts_with(observed).then(|| {
        Finding::new(
            Code::StillObserved,
            format!(
                "host {} is declared now, but {}, which stays unchanged, still has it as an observed host",
                host.key, held.cluster
            ),
        )
        .at(host.origin.name())
        .see(held.origin.name(), "the observed object, which would erase the declared one's spec")
        .help(format!("fix the errors of {}, or include it in `--only`", held.cluster))
    })
}
