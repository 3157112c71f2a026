//! What becomes of hosts that a cluster gives back, one by one or with its deletion.

use crate::support::scenes::giving_back::{
    PATCHES, RELEASED, SNAPSHOT, released, with_released_host,
};
use crate::support::{Repo, assert_says, host, labels_of, live_host};

/// The metadata of a live host that shows the annotation of a release.
fn given_back(value: &str) -> String {
    format!("  annotations:\n    sip.airshipit.org/given-back: {value}\n")
}

mod declared {
    use super::*;

    #[test]
    fn labels_in_a_manifest_are_adopted() {
        let repo = with_labelled_manifest();

        assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1", "Worker metal/host-2"]);
    }

    #[test]
    fn labels_that_have_left_the_manifest_are_no_longer_patched_away() {
        let repo = with_labelled_manifest();
        repo.want("tenant/one", 1);
        repo.generate(&[]).expect(0);
        assert!(repo.exists(&format!("{PATCHES}/released.yaml")));

        declare(&repo, "");
        repo.generate(&[]).expect(0);

        assert!(!repo.exists(&format!("{PATCHES}/released.yaml")));
        assert!(!repo.read(&format!("{PATCHES}/kustomization.yaml")).contains("released.yaml"));
    }

    #[test]
    fn labels_of_a_deleted_cluster_keep_a_host_while_nobody_knows_who_set_them() {
        let repo = with_stale_snapshot();
        repo.want_no_more("tenant/one");
        repo.want("tenant/two", 1);

        assert_says(&repo.refused(), &["error[SIP0501]", "with other assignment labels"]);
    }

    #[test]
    fn labels_of_an_earlier_run_keep_no_host_from_a_cluster_that_wants_it_in_the_same_commit() {
        let repo = with_stale_snapshot();
        repo.want("tenant/one", 1);
        repo.want("tenant/two", 1);

        repo.generate(&[]).expect(0);

        assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);
        assert_eq!(repo.hosts_of("tenant", "two"), ["Worker metal/host-2"]);
    }

    #[test]
    fn a_host_that_a_machine_consumes_does_not_move() {
        let repo = with_stale_snapshot();
        let consumed = "online: true\n  consumerRef: {apiVersion: v1, kind: Metal3Machine, name: m, namespace: tenant}";
        repo.write(SNAPSHOT, &repo.read(SNAPSHOT).replace("online: true", consumed));
        repo.want("tenant/one", 1);
        repo.want("tenant/two", 1);

        let run = repo.generate(&[]).expect(1);

        assert_says(&run.stderr, &["error[SIP0501]", "in use (consumerRef)"]);
    }

    #[test]
    fn labels_of_another_cluster_on_a_consumed_host_are_a_conflict() {
        let repo = with_stale_snapshot();
        repo.want("tenant/two", 0);
        let text = repo.read(SNAPSHOT).replace("cluster-name: one", "cluster-name: two");
        repo.write(SNAPSHOT, &text);
        repo.generate(&[]).expect(0);
        let consumed = "online: true\n  consumerRef: {apiVersion: v1, kind: Metal3Machine, name: m, namespace: tenant}";
        repo.write(SNAPSHOT, &text.replace("online: true", consumed));

        let run = repo.generate(&[]).expect(1);

        assert_says(&run.stderr, &["error[SIP0508]", "tenant/two"]);
    }

    #[test]
    fn labels_that_the_agent_set_before_a_release_keep_no_host_from_others() {
        for (manager, is_free) in
            [("kustomize-controller", true), ("argocd-controller", false), ("kubectl-label", false)]
        {
            let repo = with_stale_snapshot();
            repo.write("sipgen.yaml", "gitops: flux\n");
            show_managers(&repo, manager);
            repo.want("tenant/one", 1);
            repo.generate(&[]).expect(0);

            let stale = repo.generate(&["--exit-code"]).expect(0);
            repo.want("tenant/two", 1);
            let next = repo.generate(&[]);

            assert_eq!(!stale.stderr.contains("SIP0511"), is_free, "{manager}: {}", stale.stderr);
            assert_eq!(next.code, if is_free { 0 } else { 1 }, "{manager}: {}", next.stderr);
            if is_free {
                assert_eq!(repo.hosts_of("tenant", "two"), ["Worker metal/host-2"]);
            }
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
    fn a_host_stays_released_while_the_snapshot_may_be_older_than_its_labels() {
        let repo = with_released_host();
        let before = repo.on_disk("");

        repo.generate(&["--exit-code"]).expect(0);

        assert!(repo.on_disk("") == before, "files have changed");
    }

    #[test]
    fn a_host_stays_released_while_the_snapshot_shows_its_labels() {
        let repo = with_released_host();

        repo.observe(&labels_of("vino/one"));
        repo.generate(&[]).expect(0);
        repo.generate(&[]).expect(0);

        assert_eq!(released(&repo), ["host-2"]);
        assert_eq!(repo.hosts_of("vino", "one"), ["Worker metal/host-1"]);
    }

    #[test]
    fn a_snapshot_without_labels_after_one_with_them_frees_the_host() {
        let repo = with_released_host();
        repo.observe(&labels_of("vino/one"));
        repo.generate(&[]).expect(0);

        repo.observe("");
        repo.generate(&[]).expect(0);

        assert!(!repo.exists(RELEASED));
    }

    #[test]
    fn a_host_that_was_labelled_in_the_snapshot_when_given_back_is_freed_by_one_without() {
        let repo = Repo::empty();
        repo.observe(&labels_of("vino/one"));
        repo.want("vino/one", 1);
        repo.generate(&[]).expect(0);
        repo.want("vino/one", 0);
        repo.generate(&[]).expect(0);
        assert_eq!(released(&repo), ["host-2"]);

        repo.observe("");
        repo.generate(&[]).expect(0);

        assert!(!repo.exists(RELEASED));
    }

    #[test]
    fn a_snapshot_with_the_annotation_of_the_release_frees_the_host() {
        let repo = with_released_host();

        repo.observe(&given_back("pending-1"));
        repo.generate(&[]).expect(0);

        assert!(!repo.exists(RELEASED));
    }

    #[test]
    fn a_snapshot_with_the_annotation_of_an_earlier_release_frees_nothing() {
        let repo = Repo::empty();
        repo.observe(&given_back("pending-1"));
        repo.want("vino/one", 2);
        repo.generate(&[]).expect(0);

        repo.want("vino/one", 1);
        repo.generate(&[]).expect(0);
        repo.generate(&[]).expect(0);

        assert_eq!(released(&repo), ["host-2"]);
        assert!(repo.read(&format!("{RELEASED}/hosts.yaml")).contains("given-back: \"pending-2\""));
    }

    #[test]
    fn labels_that_the_release_cannot_take_off_are_told() {
        let repo = with_released_host();

        repo.observe(&(labels_of("vino/one") + &given_back("pending-1")));
        let run = repo.generate(&[]).expect(0);

        insta::assert_snapshot!(run.stderr, @"
        warning[SIP0510]: host metal/host-2 was released, but labels of another owner stay on it
          --> snapshot/hosts.yaml:19:37
           |
        19 |     sip.airshipit.org/cluster-name: one
           |                                     ^^^
          help: another tool set them: remove them, then take a new snapshot
                kubectl label baremetalhost -n metal host-2 sip.airshipit.org/cluster-namespace- sip.airshipit.org/cluster-name- sip.airshipit.org/node-type-

        warning[SIP0522]: vino/one has 1 host of namespace `metal`, which Cluster API cannot claim
          --> clusters/vino.one.yaml:3:35
           |
         3 | metadata: {namespace: vino, name: one}
           |                                   ^^^
          help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

        1 cluster: 1 host assigned, 0 added, 0 released
        1 file written: 0 created, 1 changed, 0 deleted
        ");
    }

    #[test]
    fn a_release_that_was_cut_off_is_not_taken_for_none() {
        let repo = with_released_host();
        let hosts = repo.read(&format!("{RELEASED}/hosts.yaml"));
        let (kept, _) = hosts.split_once("  annotations:").unwrap();
        repo.write(&format!("{RELEASED}/hosts.yaml"), kept);

        let message = repo.refused();

        assert_says(
            &message,
            &[
                "its host is neither assigned nor released",
                &format!("--> {RELEASED}/hosts.yaml:5:"),
            ],
        );
    }

    #[test]
    fn a_released_host_is_not_for_other_clusters() {
        let repo = with_released_host();

        repo.want("vino/two", 1);
        let message = repo.refused();

        assert_says(&message, &["being released, and not yet seen free"]);
    }

    #[test]
    fn a_released_host_can_go_back_to_the_cluster_that_had_it() {
        let repo = with_released_host();

        repo.want("vino/one", 2);
        repo.generate(&[]).expect(0);

        assert_eq!(repo.hosts_of("vino", "one"), ["Worker metal/host-1", "Worker metal/host-2"]);
        assert!(!repo.exists(RELEASED));
    }

    #[test]
    fn a_cluster_that_comes_back_adopts_its_released_hosts() {
        for is_used in [false, true] {
            let repo = Repo::empty();
            let spare = ["host-0", "host-3"].map(|name| live_host(name, "")).concat();
            let observe = |labels: &str| {
                let hosts = ["host-1", "host-2"].map(|name| {
                    let host = live_host(name, labels);
                    match is_used && !labels.is_empty() {
                        true => host.replace(
                            "spec:\n",
                            &format!("spec:\n  consumerRef: {{kind: Metal3Machine, name: {name}, namespace: metal}}\n"),
                        ),
                        false => host,
                    }
                });
                repo.write(SNAPSHOT, &(hosts.concat() + &spare));
            };
            repo.write(SNAPSHOT, &(live_host("host-1", "") + &live_host("host-2", "")));
            repo.want("vino/one", 2);
            repo.generate(&[]).expect(0);
            observe(&labels_of("vino/one"));
            repo.want_no_more("vino/one");
            repo.generate(&["--allow-empty"]).expect(0);
            assert_eq!(released(&repo), ["host-1", "host-2"]);

            repo.want("vino/one", 2);
            let said = repo.generate(&[]).expect(0).stderr;

            assert_says(&said, &["vino/one adopts metal/host-1, metal/host-2"]);
            assert_eq!(
                repo.hosts_of("vino", "one"),
                ["Worker metal/host-1", "Worker metal/host-2"]
            );
            assert!(!repo.exists(RELEASED));
            repo.generate(&["--exit-code"]).expect(0);
        }
    }

    #[test]
    fn a_host_that_is_free_again_can_go_to_another_cluster() {
        let repo = with_released_host();
        repo.observe(&given_back("pending-1"));

        repo.want("vino/two", 1);
        repo.generate(&[]).expect(0);

        assert_eq!(repo.hosts_of("vino", "two"), ["Worker metal/host-2"]);
        assert!(!repo.exists(RELEASED));
    }

    #[test]
    fn a_released_host_that_leaves_the_inventory_leaves_the_output() {
        let repo = with_released_host();

        repo.write(SNAPSHOT, &live_host("host-1", ""));
        repo.generate(&[]).expect(0);

        assert!(!repo.exists(RELEASED));
    }

    #[test]
    fn all_hosts_of_a_deleted_cluster_are_released() {
        let repo = Repo::generated("observed");
        let had = repo.hosts_of("vino", "edge");

        repo.remove("clusters/edge.yaml");
        repo.generate(&["--allow-empty"]).expect(0);

        assert_eq!(released(&repo).len(), had.len());
        let left: Vec<String> = repo.files("overlays").into_keys().collect();
        assert_eq!(
            left,
            ["hosts/observed/released/hosts.yaml", "hosts/observed/released/kustomization.yaml"]
        );
    }

    #[test]
    fn a_released_host_that_becomes_declared_is_free() {
        let repo = with_released_host();

        repo.write("inventory/hosts.yaml", &host("host-2", ""));
        repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
        repo.generate(&[]).expect(0);

        assert!(!repo.exists(RELEASED));
    }
}

mod deleted {
    use super::*;

    #[test]
    fn a_deleted_cluster_changes_nothing_of_the_others() {
        let repo = Repo::generated("multi-cluster");
        let before = repo.on_disk("overlays");

        repo.remove("tenants/tenant-a/edge.yaml");
        repo.generate(&[]).expect(0);

        let kustomization = "hosts/declared/inventory/kustomization.yaml";
        let of_others =
            |path: &String| !path.contains("tenant-a/edge/") && !path.contains("tenant-a.edge");
        // Shared files stay where another cluster refers to them.
        let texts = repo.files("overlays");
        let is_shared_no_longer = |path: &str| {
            let directory = path.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            path.starts_with("shared/")
                && !texts.values().any(|text| text.contains(&format!("/{directory}\"")))
        };
        let expected = before.into_iter().filter(|(path, _)| {
            of_others(path) && path != kustomization && !is_shared_no_longer(path)
        });
        let mut after = repo.on_disk("overlays");
        after.remove(kustomization);
        assert_eq!(after, expected.collect());
    }

    #[test]
    fn directories_that_a_deleted_cluster_leaves_empty_are_removed() {
        let repo = Repo::empty();
        repo.observe(&given_back("pending-1"));
        repo.want("vino/one", 1);
        repo.want("vino/two", 0);
        repo.generate(&[]).expect(0);

        repo.write(SNAPSHOT, "");
        repo.want_no_more("vino/one");
        repo.generate(&[]).expect(0);

        assert!(!repo.exists("overlays/hosts"));
    }

    /// Two clusters with a host each, the first of which has become a template of another tool.
    fn with_a_template_instead_of_a_cluster(template: &str) -> Repo {
        let repo = Repo::of_hosts(2);
        repo.want("tenant/lab", 1);
        repo.want("tenant/two", 1);
        repo.generate(&[]).expect(0);
        repo.want_no_more("tenant/lab");
        repo.write("clusters/template.yaml", template);
        repo
    }

    #[test]
    fn a_cluster_that_has_become_a_template_is_not_taken_for_deleted() {
        for metadata in ["name: lab", "\"name\": \"lab\"", "labels: {a: b}, name: 'lab'"] {
            let template = format!(
                "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{{metadata}}}\nspec: {{{{ .spec }}}}\n"
            );
            let repo = with_a_template_instead_of_a_cluster(&template);

            assert_says(
                &repo.refused(),
                &["`tenant/lab` is missing", "--> clusters/template.yaml"],
            );
        }
    }

    #[test]
    fn a_cluster_is_deleted_beside_a_template_that_merely_has_its_name_in_a_word() {
        let template = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata:\n  name: {{ name }}\n  labels: {a: lab}\n";
        let repo = with_a_template_instead_of_a_cluster(template);

        repo.generate(&[]).expect(0);

        assert_eq!(repo.hosts_of("tenant", "lab"), Vec::<String>::new());
    }

    #[test]
    fn without_any_cluster_nothing_is_given_back_by_mistake() {
        let repo = Repo::generated("quickstart");
        repo.remove_all("sites/lab/clusters");
        repo.replace("sites/lab/kustomization.yaml", "  - clusters/\n", "");

        let message = repo.refused();

        assert_says(&message, &["no SIPCluster"]);
        assert_says(&message, &["--allow-empty"]);
    }
}

#[test]
fn a_host_whose_assignment_was_never_committed_is_not_released() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();

    // Somebody tries what one host more would be, and takes it back.
    repo.want("tenant/one", 2);
    repo.generate(&[]).expect(0);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);

    assert_eq!(released(&repo), [] as [&str; 0]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");

    // What was committed may have been applied: also by a commit that was taken back.
    repo.want("tenant/one", 2);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.git(&["reset", "--quiet", "HEAD~1"]);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(released(&repo).len(), 1);
}
