//! What the tests of `applied_in_full` begin with.

use crate::support::{Repo, live_host};

pub const SNAPSHOT: &str = "snapshot/hosts.yaml";
pub const FLUX: &str = "gitops: flux\n";

/// The labels that Flux puts on what a Kustomization applies.
pub fn by_flux(namespace: &str, name: &str) -> String {
    format!(
        "    kustomize.toolkit.fluxcd.io/name: {name}\n    kustomize.toolkit.fluxcd.io/namespace: {namespace}\n"
    )
}

/// The metadata of a host that the Kustomization `infra/inventory` applies.
pub fn by_inventory() -> String {
    format!("  labels:\n{}", by_flux("infra", "inventory"))
}

/// A repo with the observed `host-1`, with more metadata, and `host-2`, and a cluster that wants one worker.
pub fn observing(settings: &str, metadata: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", settings);
    see(&repo, metadata);
    repo.want("vino/one", 1);
    repo
}

pub fn see(repo: &Repo, metadata: &str) {
    repo.write(SNAPSHOT, &(live_host("host-1", metadata) + &live_host("host-2", "")));
}

#[track_caller]
pub fn assert_takes(repo: &Repo, name: &str) {
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("vino", "one"), [format!("Worker metal/{name}")]);
}
