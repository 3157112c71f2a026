//! The tests of `integration::applied_in_full` that need another program.

use crate::support::scenes::applied_in_full::{FLUX, assert_takes, by_inventory, observing};
use crate::support::{built_host, host, is_labelled};

#[test]
fn a_host_with_a_manifest_in_this_repo_is_patched() {
    let repo = observing(FLUX, &by_inventory());
    repo.write("inventory/hosts.yaml", &host("host-1", ""));
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");

    assert_takes(&repo, "host-1");
    assert!(is_labelled(&built_host(
        repo.path().join("overlays/hosts/declared/inventory"),
        "host-1"
    )));
}
