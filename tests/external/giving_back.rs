//! The tests of `integration::giving_back` that need another program.

use crate::support::scenes::giving_back::{PATCHES, RELEASED, SNAPSHOT, with_released_host};
use crate::support::{Repo, built_host, host, is_labelled, labels_of, live_host};

mod declared {
    use super::*;

    #[test]
    fn a_host_that_is_given_back_is_built_as_its_manifest_says() {
        let repo = Repo::generated("quickstart");
        let overlay = repo.path().join("overlays/hosts/declared/sites/lab");
        assert!(is_labelled(&built_host(&overlay, "lab-b2")));

        repo.replace("sites/lab/clusters/edge.yaml", "standby: 1", "standby: 0");
        repo.generate(&[]).expect(0);

        assert_eq!(
            built_host(&overlay, "lab-b2"),
            built_host(repo.path().join("sites/lab"), "lab-b2")
        );
        assert!(is_labelled(&built_host(&overlay, "lab-a2")));
    }

    #[test]
    fn labels_in_a_manifest_are_patched_away_when_the_host_is_given_back() {
        let repo = with_labelled_manifest();

        repo.want("tenant/one", 1);
        repo.generate(&[]).expect(0);

        assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);
        assert!(!is_labelled(&built_host(repo.path().join(PATCHES), "host-2")));
        assert_eq!(built_host(repo.path().join(PATCHES), "host-2")["spec"]["online"], true);
    }

    #[test]
    fn labels_in_a_manifest_stay_patched_away() {
        let repo = with_labelled_manifest();
        repo.want("tenant/one", 1);
        repo.generate(&[]).expect(0);
        let before = repo.on_disk("");

        repo.generate(&["--exit-code"]).expect(0);

        assert!(repo.on_disk("") == before, "files have changed");
        assert!(!is_labelled(&built_host(repo.path().join(PATCHES), "host-2")));
    }

    #[test]
    fn labels_in_a_manifest_are_patched_away_when_their_cluster_is_deleted() {
        let repo = with_labelled_manifest();

        repo.want_no_more("tenant/one");
        repo.generate(&["--allow-empty"]).expect(0);

        assert!(!is_labelled(&built_host(repo.path().join(PATCHES), "host-2")));
    }

    #[test]
    fn a_host_moves_to_another_cluster_in_one_commit_while_the_snapshot_shows_the_former_one() {
        for (delete, managers) in [(false, false), (false, true), (true, true)] {
            let repo = with_stale_snapshot();
            if managers {
                show_managers(&repo, "kustomize-controller");
            }
            if delete {
                repo.want_no_more("tenant/one");
            } else {
                repo.want("tenant/one", 1);
            }
            repo.want("tenant/two", 1);

            repo.generate(&[]).expect(0);

            let has = repo.hosts_of("tenant", "two");
            assert_eq!(has.len(), 1, "{has:?}");
            let host = has[0].rsplit('/').next().unwrap();
            let built = built_host(repo.path().join(PATCHES), host);
            assert_eq!(built["metadata"]["labels"]["sip.airshipit.org/cluster-name"], "two");
            // The snapshot stays as it is until somebody takes another one.
            let before = repo.on_disk("");
            let run = repo.generate(&["--exit-code"]).expect(0);
            assert!(repo.on_disk("") == before && !run.stderr.contains("error"), "{}", run.stderr);
        }
    }

    /// Adds to a [`with_stale_snapshot`] who set the labels.
    fn show_managers(repo: &Repo, manager: &str) {
        let managers = format!(
            "  managedFields:\n  - manager: {manager}\n    operation: Apply\n    fieldsV1: {{f:metadata: {{f:labels: \
             {{f:sip.airshipit.org/cluster-name: {{}}}}}}}}\n"
        );
        let labels = labels_of("tenant/one") + &managers;
        repo.write(SNAPSHOT, &(live_host("host-1", &labels) + &live_host("host-2", &labels)));
    }

    /// Two declared hosts of one cluster, and a snapshot that shows their labels.
    fn with_stale_snapshot() -> Repo {
        let repo = Repo::of_hosts(2);
        repo.want("tenant/one", 2);
        repo.generate(&[]).expect(0);
        let labels = labels_of("tenant/one");
        repo.write(SNAPSHOT, &(live_host("host-1", &labels) + &live_host("host-2", &labels)));
        repo.generate(&["--exit-code"]).expect(0);
        repo
    }

    /// Two declared hosts, the second with more metadata.
    fn declare(repo: &Repo, metadata: &str) {
        repo.write("inventory/hosts.yaml", &(host("host-1", "") + &host("host-2", metadata)));
    }

    /// Two hosts of one cluster, of which the second has its labels by its manifest.
    fn with_labelled_manifest() -> Repo {
        let repo = Repo::of_hosts(0);
        declare(&repo, &labels_of("tenant/one"));
        repo.want("tenant/one", 2);
        repo.generate(&[]).expect(0);
        repo
    }
}

mod observed {
    use super::*;

    #[test]
    fn a_host_that_is_given_back_is_written_once_more_with_guards_and_without_labels() {
        let repo = with_released_host();

        insta::assert_snapshot!(repo.read(&format!("{RELEASED}/hosts.yaml")), @r#"
        # Generated by sipgen from the hosts that clusters gave back. Do not edit.
        ---
        apiVersion: metal3.io/v1alpha1
        kind: BareMetalHost
        metadata:
          name: "host-2"
          namespace: "metal"
          annotations:
            argocd.argoproj.io/sync-options: "ServerSideApply=true,Validate=false,ClientSideApplyMigration=false,Prune=false,Delete=false"
            kubectl.kubernetes.io/last-applied-configuration: ""
            kustomize.toolkit.fluxcd.io/prune: "disabled"
            kustomize.toolkit.fluxcd.io/ssa: "Merge"
            sip.airshipit.org/given-back: "pending-1"
            sip.airshipit.org/given-back-by: "vino/one"
        "#);
        assert_eq!(
            built_host(repo.path().join(RELEASED), "host-2")["metadata"]["namespace"],
            "metal"
        );
        assert_eq!(repo.hosts_of("vino", "one"), ["Worker metal/host-1"]);
    }
}

mod deleted {
    use super::*;

    #[test]
    fn a_deleted_cluster_leaves_nothing_of_its_own() {
        let repo = Repo::generated("multi-cluster");

        repo.remove("tenants/tenant-a/edge.yaml");
        repo.generate(&[]).expect(0);

        assert!(!repo.exists("overlays/clusters/tenant-a/edge"));
        assert!(!repo.exists(&format!("{PATCHES}/tenant-a.edge.yaml")));
        assert!(!is_labelled(&built_host(repo.path().join(PATCHES), "a11u8")));
    }

    #[test]
    fn without_any_cluster_the_hosts_are_still_applied() {
        let repo = Repo::of_hosts(2);
        repo.want("tenant/one", 2);
        repo.generate(&[]).expect(0);

        repo.want_no_more("tenant/one");
        repo.generate(&["--allow-empty"]).expect(0);

        let left: Vec<String> = repo.files("overlays").into_keys().collect();
        assert_eq!(left, ["hosts/declared/inventory/kustomization.yaml"]);
        let inventory = repo.path().join("inventory");
        assert_eq!(
            crate::support::kustomize_build(repo.path().join(PATCHES)),
            crate::support::kustomize_build(inventory)
        );
    }
}
