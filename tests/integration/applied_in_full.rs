//! Observed hosts that an agent applies in full elsewhere: labels of our own would erase their spec.

use crate::support::scenes::applied_in_full::{
    FLUX, SNAPSHOT, assert_takes, by_flux, by_inventory, observing, see,
};
use crate::support::{Repo, Run, assert_says, labels_of, live_host, run};

const RELEASED: &str = "overlays/hosts/observed/released";
const ARGOCD: &str = "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/fleet.git'}\n";
const BY_INVENTORY: &str = "is applied in full by the Flux Kustomization infra/inventory, so an object with labels would \
                            erase its spec";

/// The metadata of a host that an Application applies, by the annotation that says which object it is on.
fn by_application(application: &str, on: &str) -> String {
    format!(
        "  annotations:\n    argocd.argoproj.io/tracking-id: {application}:metal3.io/BareMetalHost:metal/{on}\n"
    )
}

/// The metadata of a host that a manager has set a field of.
fn set_by(manager: &str, operation: &str, field: &str) -> String {
    format!(
        "  managedFields:\n  - manager: {manager}\n    operation: {operation}\n    apiVersion: metal3.io/v1alpha1\n    \
         fieldsType: FieldsV1\n    fieldsV1:\n      {field}:\n        f:online: {{}}\n"
    )
}

fn explain(repo: &Repo, host: &str) -> Run {
    run(&mut repo.sipgen(&["explain", host]))
}

#[test]
fn another_host_is_taken_and_explain_tells_why() {
    let repo = observing(FLUX, &by_inventory());

    assert_takes(&repo, "host-2");
    let told = explain(&repo, "metal/host-1").expect(0).stdout;
    assert_says(&told, &[BY_INVENTORY]);

    repo.want("vino/one", 2);
    assert_says(&repo.refused(), &["1 of the 2 Worker hosts of vino/one cannot be found"]);
}

#[test]
fn a_host_whose_spec_the_agent_owns_is_not_taken() {
    for (settings, manager) in [(FLUX, "kustomize-controller"), (ARGOCD, "argocd-controller")] {
        assert_takes(&observing(settings, &set_by(manager, "Apply", "f:spec")), "host-2");
        assert_takes(&observing(settings, &set_by(manager, "Apply", "f:metadata")), "host-1");
        assert_takes(&observing(settings, &set_by("vino", "Update", "f:spec")), "host-1");
    }
}

#[test]
fn a_host_of_an_application_is_not_taken() {
    for application in ["inventory", "infra_inventory"] {
        assert_takes(&observing(ARGOCD, &by_application(application, "host-1")), "host-2");
    }
    // Argo CD takes no notice of an annotation that was copied from another object.
    assert_takes(&observing(ARGOCD, &by_application("inventory", "host-9")), "host-1");
}

#[test]
fn only_the_agent_that_the_repo_uses_counts() {
    assert_takes(&observing(ARGOCD, &by_inventory()), "host-1");
    assert_takes(&observing(FLUX, &by_application("inventory", "host-1")), "host-1");
    assert_takes(&observing("", &by_inventory()), "host-2");
    assert_takes(&observing("", &by_application("inventory", "host-1")), "host-2");
}

#[test]
fn a_host_that_a_cluster_has_is_an_error() {
    let repo = observing(FLUX, "");
    assert_takes(&repo, "host-1");

    see(&repo, &by_inventory());

    insta::assert_snapshot!(repo.refused(), @r#"
    warning[SIP0522]: vino/one has 1 host of namespace `metal`, which Cluster API cannot claim
      --> clusters/vino.one.yaml:3:35
       |
     3 | metadata: {namespace: vino, name: one}
       |                                   ^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    error[SIP0513]: host metal/host-1 of vino/one is applied in full by the Flux Kustomization infra/inventory, so an object with labels would erase its spec
      --> overlays/hosts/observed/vino.one/hosts.yaml:6:9
       |
     6 |   name: "host-1"
       |         ^^^^^^^^
      --> snapshot/hosts.yaml:5:9  (the snapshot, which says so)
       |
     5 |   name: host-1
       |         ------
      help: one object must render the host: have its manifest in this repo, in a kustomization, and nowhere else; or take the host out of the snapshot, and it is let go

    1 error in vino/one: no files written
    "#);
    repo.want("vino/one", 0);
    assert_says(&repo.refused(), &[BY_INVENTORY]);
    assert!(!repo.exists(RELEASED));
}

#[test]
fn a_host_that_labels_give_to_a_cluster_is_an_error() {
    let repo = observing(FLUX, &(labels_of("vino/one") + &by_flux("infra", "inventory")));

    assert_says(&repo.refused(), &["host metal/host-1 of vino/one", BY_INVENTORY]);
    repo.generate(&["--keep-going"]).expect(1);
    assert!(!repo.exists("overlays/hosts/observed"));
}

#[test]
fn a_host_that_was_declared_under_our_own_name_is_not_taken() {
    let declared = format!("  labels:\n{}", by_flux("flux-system", "sipgen.declared.inventory"));

    assert_takes(&observing(FLUX, &declared), "host-2");
}

#[test]
fn a_host_that_is_being_given_back_is_no_longer_applied() {
    let repo = observing(FLUX, "");
    assert_takes(&repo, "host-1");
    repo.want("vino/one", 0);
    repo.generate(&[]).expect(0);
    assert!(repo.read(&format!("{RELEASED}/hosts.yaml")).contains("host-1"));

    see(&repo, &(labels_of("vino/one") + &by_flux("infra", "inventory")));

    assert_says(
        &repo.refused(),
        &["host metal/host-1, which is being released, is applied in full by the Flux"],
    );
    for _ in 0..2 {
        repo.generate(&["--keep-going"]).expect(1);
        assert!(!repo.exists(RELEASED));
    }
    repo.write(SNAPSHOT, &live_host("host-2", ""));
    repo.generate(&[]).expect(0);
}

#[test]
fn our_own_objects_have_the_names_that_do_not_count() {
    for (settings, agent) in [(FLUX, "flux"), (ARGOCD, "argocd")] {
        let repo = observing(settings, "");
        repo.want("vino/one", 2);
        repo.generate(&[]).expect(0);
        repo.want("vino/one", 1);
        repo.generate(&[]).expect(0);

        let objects = |file: &str| repo.read(&format!("overlays/agents/{agent}/{file}.yaml"));
        assert_says(&objects("vino.one"), &["name: \"sipgen.observed.vino.one\"\n"]);
        assert_says(&objects("released"), &["name: \"sipgen.released\"\n"]);
    }
}

#[test]
fn what_our_own_objects_leave_on_a_host_does_not_count() {
    let own = by_flux("flux-system", "sipgen.observed.vino.one");
    let cut = by_flux("flux-system", "sipgen.observed.vino.one-0123456789");
    // Somebody's own Kustomization that applies our directory.
    let merged = "  annotations:\n    kustomize.toolkit.fluxcd.io/ssa: Merge\n";
    let other = by_flux("infra", "labels") + merged;
    for settings in [FLUX, ""] {
        for flux in [&own, &cut, &other] {
            let repo = observing(settings, "");
            assert_takes(&repo, "host-1");

            see(&repo, &(labels_of("vino/one") + flux));
            repo.generate(&["--exit-code"]).expect(0);

            repo.want("vino/one", 0);
            repo.generate(&[]).expect(0);
            assert!(repo.read(&format!("{RELEASED}/hosts.yaml")).contains("host-1"));
        }
    }
}

#[test]
fn what_our_own_objects_leave_on_a_host_by_argocd_does_not_count() {
    let own = by_application("sipgen.observed.vino.one", "host-1");
    let elsewhere = by_application("argocd_sipgen.observed.vino.one", "host-1");
    let options = "    argocd.argoproj.io/sync-options: ServerSideApply=true,ClientSideApplyMigration=false\n";
    let other = by_application("labels", "host-1") + options;
    for argocd in [own, elsewhere, other] {
        let repo = observing(ARGOCD, "");
        assert_takes(&repo, "host-1");

        see(&repo, &(labels_of("vino/one") + &argocd));
        repo.generate(&["--exit-code"]).expect(0);
    }
}

#[test]
fn a_host_that_was_given_back_can_be_taken_again() {
    let repo = observing(FLUX, "");
    assert_takes(&repo, "host-1");
    repo.want("vino/one", 0);
    repo.generate(&[]).expect(0);
    let labels = format!("  labels:\n{}", by_flux("flux-system", "sipgen.released"));
    see(&repo, &(labels + "  annotations:\n    sip.airshipit.org/given-back: pending-1\n"));
    repo.want("vino/one", 1);

    assert_takes(&repo, "host-1");
}
