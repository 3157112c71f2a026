//! The tests of `integration::gitops_wiring` that need another program.

use crate::support::scenes::gitops_wiring::{flux, of_loose_hosts, said};
use crate::support::{Repo, assert_says, kustomize_build, run_tool, text, tool};

/// What `kustomize create` makes of them is what the message says it is.
#[test]
fn a_kustomization_as_the_message_says_makes_the_hosts_declared() {
    let repo = of_loose_hosts(&flux("./inventory", ""));
    let create = ["create", "--autodetect", "--recursive"];
    let created =
        run_tool(tool("kustomize").args(create).current_dir(repo.path().join("inventory")));
    assert!(created.status.success(), "{}", text(&created.stderr));

    assert_says(&said(&repo), &["write `path: ./overlays/hosts/declared/inventory` there"]);
}

#[test]
fn a_kustomization_that_lists_an_overlay_alone_is_as_it_should_be() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("top/kustomization.yaml", "resources: [../overlays/hosts/declared/sites/lab]\n");
    repo.write("agent/lab.yaml", &flux("top", ""));

    assert!(!said(&repo).contains("warning"));
    kustomize_build(repo.path().join("top"));
}
