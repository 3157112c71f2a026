//! Hosts that an agent has applied in full and that an object with labels alone must not come after.
//!
//! The agent applies both under one name. What it applied before and does not find any more, it removes: the spec.
//! So a host that this repo declared stays declared for as long as a cluster has it, and a host that somebody else has
//! the agent apply is not ours to label.

use std::collections::BTreeSet;

use crate::api::names::ClusterKey;
use crate::finding::{Code, Finding, Origin};
use crate::inventory::{Host, Standing};
use crate::layout;
use crate::output::state::Held;
use crate::site::Site;

/// What to do about a host that is no longer declared.
pub(super) const STAY_DECLARED: &str = "restore its manifest, or list it in the kustomization again: it stays declared for as long as a cluster has it. \
     The agent applied it in full, and an object with labels alone would erase its spec. If the machine is gone, delete \
     the BareMetalHost and take it out of the snapshot, too";

/// What to do about a host that somebody else has an agent apply in full.
const ONE_RENDERER: &str = "one object must render the host: have its manifest in this repo, in a kustomization, and \
                            nowhere else; or take the host out of the snapshot, and it is let go";

/// What speaks against one host and how a cluster has it in the output.
pub(super) fn changed(
    host: &Host,
    held: &Held,
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
) -> Option<Finding> {
    let is_declared = host.is_declared();
    let is_frozen = frozen.contains(&held.cluster);
    match (was_declared(held, site), is_declared) {
        // Its files are left as they are, so its patch stays where it is.
        (true, false) if is_frozen => None,
        (true, false) => Some(no_longer_declared(host, held)),
        (false, true) if is_frozen => left_as_observed(host, held, site),
        (false, false) if !is_frozen => applied_in_full(host, &held.cluster, &held.origin),
        _ => None,
    }
}

/// A host that no cluster has, and of which the output has a patch that takes labels off its manifest, is no longer
/// declared. Without the patch, nothing would remember that the agent applied it in full.
pub(super) fn no_longer_patched(host: &Host, site: &Site) -> Option<Finding> {
    let changed = host.standing == Standing::Observed && site.state.unlabelled.contains(&host.key);
    changed.then(|| {
        Finding::new(
            Code::NoLongerDeclared,
            format!(
                "host {} was declared by this repo, and no kustomization renders it any more",
                host.key
            ),
        )
        .at(host.origin.name())
        .help(STAY_DECLARED)
    })
}

/// A cluster has an observed host, by the output or by labels, which an agent applies in full.
pub(super) fn applied_in_full(
    host: &Host,
    cluster: &ClusterKey,
    origin: &Origin,
) -> Option<Finding> {
    let by = host.applied_in_full_by.as_ref()?;
    let mut finding = Finding::new(
        Code::AppliedInFull,
        format!("host {} of {cluster} is applied in full by {by}, so labels of our own would erase its spec", host.key),
    )
    .at(origin.name());
    if origin.file != host.origin.file {
        finding = finding.see(host.origin.name(), "the snapshot, which says so");
    }
    Some(finding.help(ONE_RENDERER).of(cluster))
}

/// A host that is being given back turns out to be applied in full by an agent. It is not applied once more.
pub(super) fn applied_while_given_back(
    host: &Host,
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
) -> Option<Finding> {
    let by = host.applied_in_full_by.as_ref()?;
    let release = site.state.released.get(&host.key)?;
    let finding = Finding::new(
        Code::AppliedInFull,
        format!(
            "host {}, which is being given back, is applied in full by {by}, so an object without labels would erase its \
         spec",
            host.key
        ),
    );
    let finding = finding.at(host.origin.name()).help(ONE_RENDERER);
    match &release.by {
        Some(cluster) if frozen.contains(cluster) => None,
        Some(cluster) => Some(finding.of(cluster)),
        None => Some(finding),
    }
}

/// Whether the output patches the host's manifest.
pub(super) fn was_declared(held: &Held, site: &Site) -> bool {
    held.origin.file.starts_with(
        site.settings
            .output
            .join(layout::declared_directory("".into())),
    )
}

fn no_longer_declared(host: &Host, held: &Held) -> Finding {
    Finding::new(
        Code::NoLongerDeclared,
        format!(
            "host {} of {} was declared by this repo, and no kustomization renders it any more",
            host.key, held.cluster
        ),
    )
    .at(held.origin.name())
    .see(host.origin.name(), "what is left of it")
    .help(STAY_DECLARED)
    .of(&held.cluster)
}

/// A host that a frozen cluster has as an observed one is declared now: both objects would be applied.
fn left_as_observed(host: &Host, held: &Held, site: &Site) -> Option<Finding> {
    let observed = site
        .settings
        .output
        .join(layout::observed_directory(&held.cluster));
    held.origin.file.starts_with(observed).then(|| {
        Finding::new(
            Code::StillObserved,
            format!(
                "host {} is declared now, but {} still has it as an observed one, and is to be left as it is",
                host.key, held.cluster
            ),
        )
        .at(host.origin.name())
        .see(held.origin.name(), "the observed object, which would erase the declared one's spec")
        .help(format!("let {} be generated again: correct its errors, or do not leave it out by --only", held.cluster))
    })
}
