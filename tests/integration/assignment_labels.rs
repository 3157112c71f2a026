//! Labels of assigned hosts that the settings choose.

use std::collections::BTreeMap;

use crate::support::{Repo, assert_says, documents, run};

const OWN: &str =
    "  labels:\n    cluster: \"{{ cluster.name }}\"\n    cluster-role: \"{{ role }}\"\n";
const SIPS: &str = "    sip.airshipit.org/cluster-name: \"{{ cluster.name }}\"\n    \
    sip.airshipit.org/cluster-namespace: \"{{ cluster.namespace }}\"\n    \
    sip.airshipit.org/node-type: \"{{ node_type }}\"\n";

/// Writes hosts with labels, as manifests or as a snapshot.
fn hosts(repo: &Repo, declared: bool, hosts: &[(&str, &str)]) {
    let host = |(number, (name, labels)): (usize, &(&str, &str))| {
        let (uid, status) = if declared {
            (String::new(), "")
        } else {
            (
                format!("  uid: 00000000-0000-0000-0000-00000000000{number}\n"),
                "status: {provisioning: {state: available}}\n",
            )
        };
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: metal\n{uid}  \
             labels: {{{labels}}}\nspec: {{online: true}}\n{status}"
        )
    };
    let all: String = hosts.iter().enumerate().map(host).collect();
    repo.write("inventory/hosts.yaml", &all);
    if declared {
        repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    }
}

fn want(repo: &Repo, cluster: &str, control_planes: usize, workers: usize) {
    let (namespace, name) = cluster.split_once('/').unwrap();
    let file = format!("clusters/{namespace}.{name}.yaml");
    let set = |role: &str, count: usize| {
        format!("    {role}:\n      labelSelector: {{}}\n      count: {{active: {count}}}\n")
    };
    repo.write(
        &file,
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
             nodes:\n{}{}",
            set("ControlPlane", control_planes),
            set("Worker", workers)
        ),
    );
}

/// The labels of the hosts in the output, by host; `null` for labels that a patch removes.
fn labels(repo: &Repo) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (_, text) in repo.files("overlays/hosts") {
        for host in documents(&text) {
            if host["kind"] != "BareMetalHost" {
                continue;
            }
            let labels = host["metadata"]["labels"].as_mapping();
            let labels = labels.into_iter().flatten().map(|(key, value)| {
                format!("{}={}", key.as_str().unwrap(), value.as_str().unwrap_or("null"))
            });
            let name = host["metadata"]["name"].as_str().unwrap();
            found.insert(name.to_owned(), labels.collect::<Vec<_>>().join(" "));
        }
    }
    found
}

fn map(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(host, labels): &(&str, &str)| ((*host).to_owned(), (*labels).to_owned());
    labels.iter().map(owned).collect()
}

#[test]
fn hosts_bear_the_labels_of_the_settings_and_keep_their_cluster() {
    for declared in [true, false] {
        let repo = Repo::empty();
        repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
        hosts(&repo, declared, &[("h1", ""), ("h2", ""), ("h3", ""), ("h4", "")]);
        want(&repo, "a/edge", 1, 2);
        repo.generate(&[]).expect(0);
        let expected = map(&[
            ("h1", "cluster=edge cluster-role=control-plane"),
            ("h2", "cluster=edge cluster-role=worker"),
            ("h3", "cluster=edge cluster-role=worker"),
        ]);
        assert_eq!(labels(&repo), expected);
        repo.generate(&["--check"]).expect(0);

        // An older cluster keeps its hosts when one that comes first in order asks for some.
        want(&repo, "a/core", 1, 0);
        repo.generate(&[]).expect(0);
        assert_eq!(labels(&repo)["h4"], "cluster=core cluster-role=control-plane");
        assert_eq!(labels(&repo)["h1"], expected["h1"]);

        repo.remove("clusters/a.edge.yaml");
        repo.generate(&[]).expect(0);
        let left = labels(&repo);
        assert!(left.iter().all(|(host, labels)| host == "h4" || labels.is_empty()), "{left:?}");
    }
}

#[test]
fn hosts_that_people_labelled_are_adopted_and_foreign_ones_are_left_alone() {
    for declared in [true, false] {
        let repo = Repo::empty();
        repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
        let labelled = [
            ("h1", "cluster: other, cluster-role: worker"),
            ("h2", "cluster: edge"),
            ("h3", "cluster: edge, cluster-role: master"),
            ("h4", "cluster-role: worker, size: big"),
            ("h5", "cluster: edge, cluster-role: worker"),
            ("h6", "cluster: edge, cluster-role: control-plane"),
        ];
        hosts(&repo, declared, &labelled);
        want(&repo, "a/edge", 1, 1);
        repo.generate(&[]).expect(0);
        assert_eq!(
            labels(&repo),
            map(&[
                ("h5", "cluster=edge cluster-role=worker"),
                ("h6", "cluster=edge cluster-role=control-plane"),
            ])
        );

        // The role alone says nothing about a cluster, so h4 is free.
        want(&repo, "a/edge", 1, 2);
        repo.generate(&[]).expect(0);
        assert_eq!(labels(&repo)["h4"], "cluster=edge cluster-role=worker");
        want(&repo, "a/edge", 1, 3);
        let refused = repo.generate(&[]).expect(1);
        assert_says(
            &refused.stderr,
            &["SIP0501", "3 with other assignment labels (metal/h1, metal/h2, metal/h3)"],
        );
        let explained = run(&mut repo.sipgen(&["explain", "metal/h3"])).expect(0);
        assert_says(&explained.stdout, &["has the labels cluster=edge, cluster-role=master"]);
    }
}

#[test]
fn labels_in_manifests_are_patched_away_on_release() {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
    hosts(
        &repo,
        true,
        &[("h1", "cluster: edge, cluster-role: control-plane, size: big"), ("h2", "")],
    );
    want(&repo, "a/edge", 1, 0);
    want(&repo, "a/core", 1, 0);
    repo.generate(&[]).expect(0);
    repo.remove("clusters/a.edge.yaml");
    repo.generate(&[]).expect(0);
    assert_eq!(labels(&repo)["h1"], "cluster=null cluster-role=null");
}

#[test]
fn labels_are_replaced_in_two_steps() {
    for declared in [true, false] {
        let repo = Repo::empty();
        hosts(&repo, declared, &[("h1", ""), ("h2", "")]);
        want(&repo, "a/edge", 1, 1);
        repo.generate(&[]).expect(0);
        let before = repo.files("overlays");

        repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
        let refused = repo.generate(&[]).expect(1);
        assert_says(
            &refused.stderr,
            &["SIP0338", "metal/h1", "1 further host", "`assignment.former`"],
        );
        assert_eq!(repo.files("overlays"), before, "no file changes");

        repo.write("sipgen.yaml", &format!("assignment:\n{OWN}  former:\n{SIPS}"));
        let first = repo.generate(&[]).expect(0);
        assert_says(&first.stderr, &["SIP0339", "step 1 of 2"]);
        let both = "cluster=edge cluster-role=control-plane sip.airshipit.org/cluster-name=edge \
                    sip.airshipit.org/cluster-namespace=a sip.airshipit.org/node-type=ControlPlane";
        assert_eq!(labels(&repo)["h1"], both);

        let snapshot = |labels: [&str; 2]| {
            let all: Vec<_> = ["h1", "h2"].into_iter().zip(labels).collect();
            hosts(&repo, false, &all);
        };
        if !declared {
            let new = ["control-plane", "worker"]
                .map(|role| format!("cluster: edge, cluster-role: {role}"));
            snapshot([&new[0], ""]);
            let run = repo.generate(&["--check"]).expect(0);
            assert_says(&run.stderr, &["step 1 of 2", "1 of 2 assigned hosts"]);
            snapshot([&new[0], &new[1]]);
            let run = repo.generate(&["--check"]).expect(0);
            assert_says(&run.stderr, &["step 2 of 2"]);
        }

        repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
        let second = repo.generate(&[]).expect(0);
        assert!(!second.stderr.contains("SIP0339"), "{}", second.stderr);
        assert_eq!(labels(&repo)["h1"], "cluster=edge cluster-role=control-plane");

        // And back.
        repo.write("sipgen.yaml", "");
        repo.generate(&[]).expect(1);
        let own = OWN.replace("labels:", "former:");
        repo.write("sipgen.yaml", &format!("assignment:\n{own}"));
        repo.generate(&[]).expect(0);
        assert_eq!(labels(&repo)["h1"], both);
        repo.write("sipgen.yaml", "");
        if !declared {
            // The snapshot still shows the labels of the settings alone.
            assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0338", "inventory/hosts.yaml"]);
            let both = both.replace('=', ": ").replace(' ', ", ").replace(":, ", ": ");
            let other = both.replace("control-plane", "worker").replace("ControlPlane", "Worker");
            snapshot([&both, &other]);
        }
        repo.generate(&[]).expect(0);
        assert_eq!(repo.files("overlays"), before, "the same bytes as before");
    }
}

#[test]
fn former_labels_stay_until_the_snapshot_shows_the_new_ones() {
    let former = "sip.airshipit.org/cluster-name: edge, sip.airshipit.org/cluster-namespace: a, \
                  sip.airshipit.org/node-type: Worker";
    let new = "cluster: edge, cluster-role: worker";
    for declared in [true, false] {
        for (shown, code) in
            // A snapshot without any may be older than the assignment.
            [("", 0), (former, 1), (new, 0), (&*format!("{former}, {new}"), 0)]
        {
            let repo = Repo::empty();
            hosts(&repo, declared, &[("h1", "")]);
            want(&repo, "a/edge", 0, 1);
            repo.generate(&[]).expect(0);
            repo.write("sipgen.yaml", &format!("assignment:\n{OWN}  former:\n{SIPS}"));
            repo.generate(&[]).expect(0);
            let manifests = repo.read("inventory/hosts.yaml");
            hosts(&repo, false, &[("h1", shown)]);
            if declared {
                repo.write("snapshot/hosts.yaml", &repo.read("inventory/hosts.yaml"));
                repo.write("inventory/hosts.yaml", &manifests);
            }
            repo.generate(&["--check"]).expect(0);

            repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
            let run = repo.generate(&[]).expect(code);

            assert_eq!(run.stderr.contains("SIP0338"), code == 1, "{shown}: {}", run.stderr);
        }
    }
}

/// A label more takes none away.
#[test]
fn a_further_label_needs_no_second_step() {
    let repo = Repo::empty();
    hosts(&repo, true, &[("h1", "")]);
    want(&repo, "a/edge", 1, 0);
    repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
    repo.generate(&[]).expect(0);
    repo.write("sipgen.yaml", &format!("assignment:\n{OWN}    managed-by: sipgen\n"));
    repo.generate(&[]).expect(0);
    assert_eq!(labels(&repo)["h1"], "cluster=edge cluster-role=control-plane managed-by=sipgen");
    repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
    repo.generate(&[]).expect(0);
    assert_eq!(labels(&repo)["h1"], "cluster=edge cluster-role=control-plane");
}

#[test]
fn clusters_of_one_name_need_the_namespace() {
    let repo = Repo::empty();
    hosts(&repo, true, &[("h1", ""), ("h2", "")]);
    want(&repo, "a/edge", 1, 0);
    want(&repo, "b/edge", 1, 0);
    repo.write("sipgen.yaml", &format!("assignment:\n{OWN}"));
    let refused = repo.generate(&[]).expect(1);
    assert_says(&refused.stderr, &["SIP0336", "a/edge and of b/edge", "{{ cluster.namespace }}"]);
    let both = "assignment:\n  labels:\n    owner: \"{{ cluster.namespace }}_{{ cluster.name }}\"\n    role: \"{{ role }}\"\n";
    repo.write("sipgen.yaml", both);
    repo.generate(&[]).expect(0);
    assert_eq!(
        labels(&repo),
        map(&[
            ("h1", "owner=a_edge role=control-plane"),
            ("h2", "owner=b_edge role=control-plane")
        ])
    );
    let long = "e".repeat(62);
    repo.remove("clusters/b.edge.yaml");
    want(&repo, &format!("b/{long}"), 1, 0);
    let refused = repo.generate(&[]).expect(1);
    assert_says(&refused.stderr, &["SIP0336", &format!("owner: b_{long}")]);
}

/// Labels name no namespace, so the hosts of a Cluster of Cluster API are told apart by their own.
#[test]
fn cluster_api_selects_by_the_labels_of_the_settings() {
    let repo = Repo::of_fixture("capm3");
    let settings = repo.read("sipgen.yaml");
    repo.write("sipgen.yaml", &format!("{settings}assignment:\n  labels:\n    cluster: \"{{{{ cluster.name }}}}\"\n    pool: \"{{{{ node_set }}}}\"\n"));
    let workers = repo.read("clusters/edge/workers.yaml");
    repo.write("clusters/edge/workers.yaml", &workers.replace("edge-md", "worker"));
    repo.generate(&[]).expect(0);
    let component = repo.read("overlays/tenants/tenant-a/edge/cluster-api/kustomization.yaml");
    assert_says(
        &component,
        &["\"cluster\": \"edge\"", "\"pool\": \"control-plane\"", "\"pool\": \"worker\""],
    );
    assert!(!component.contains("sip.airshipit.org"), "{component}");
    assert_eq!(labels(&repo)["m6"], "cluster=edge pool=worker");

    // The same labels on live hosts are read back as those of the MachineDeployment.
    let hosts = repo.read("hosts/hosts.yaml");
    let labelled = hosts.replace(
        "  name: m8\n  namespace: tenant-a\n  labels:\n",
        "  name: m8\n  namespace: tenant-a\n  labels:\n    cluster: edge\n    pool: worker\n",
    );
    assert_ne!(hosts, labelled);
    repo.write("hosts/hosts.yaml", &labelled);
    repo.remove_all("overlays");
    repo.generate(&[]).expect(0);
    assert_eq!(labels(&repo)["m8"], "cluster=edge pool=worker");
}

#[test]
fn mistakes_in_labels_are_reported_with_their_line() {
    let repo = Repo::empty();
    hosts(&repo, true, &[("h1", "")]);
    for (labels, parts) in [
        ("{cluster: \"{{ name }}\"}", &["sipgen.yaml:2", "`{{ name }}`", "cluster.name"][..]),
        ("{cluster: edge}", &["sipgen.yaml:2", "no label has `{{ cluster.name }}`"]),
        ("{sip.airshipit.org/cluster-name: \"x{{ cluster.name }}\"}", &["another meaning"]),
        ("{cluster: {{ cluster.name }}}", &["sipgen.yaml:2"]),
    ] {
        repo.write("sipgen.yaml", &format!("assignment:\n  labels: {labels}\n"));
        let refused = repo.generate(&[]).expect(1);
        assert_says(&refused.stderr, parts);
    }
    repo.write("sipgen.yaml", &format!("assignment:\n{OWN}  former:\n    cluster: \"{{{{ cluster.namespace }}}}_{{{{ cluster.name }}}}\"\n    r: \"{{{{ role }}}}\"\n"));
    let refused = repo.generate(&[]).expect(1);
    assert_says(&refused.stderr, &["SIP0002", "sipgen.yaml:6", "label `cluster` different values"]);
}

#[test]
fn each_site_may_have_labels_of_its_own() {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", "sites: [sites/*]\n");
    for (site, settings) in [("one", format!("assignment:\n{OWN}")), ("two", String::new())] {
        repo.write(&format!("sites/{site}/sipgen.yaml"), &settings);
        repo.write(
            &format!("sites/{site}/hosts.yaml"),
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h1, namespace: metal}\nspec: {online: true}\n",
        );
        repo.write(&format!("sites/{site}/kustomization.yaml"), "resources: [hosts.yaml]\n");
        repo.write(
            &format!("sites/{site}/edge.yaml"),
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: a}\nspec:\n  nodes:\n    \
             Worker:\n      labelSelector: {}\n      count: {active: 1}\n",
        );
    }
    repo.generate(&[]).expect(0);
    let of = |site: &str| {
        let files = repo.files(&format!("overlays/sites/{site}/hosts"));
        files.into_values().collect::<String>()
    };
    assert_says(&of("one"), &["cluster-role: \"worker\""]);
    assert!(!of("one").contains("sip.airshipit.org/"));
    assert_says(&of("two"), &["sip.airshipit.org/node-type: \"Worker\""]);
    assert!(!of("two").contains("cluster-role"));
}

/// A declared host whose labels an agent applied is free for the next cluster once the output no
/// longer assigns it, though an older snapshot still shows them.
#[test]
fn labels_that_the_agent_set_are_its_own() {
    for (manager, code) in [("kustomize-controller", 0), ("kubectl-label", 1)] {
        let repo = Repo::empty();
        repo.write("sipgen.yaml", &format!("gitops: flux\nassignment:\n{OWN}"));
        hosts(&repo, true, &[("h1", "")]);
        repo.write(
            "snapshot/hosts.yaml",
            &format!(
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h1\n  namespace: metal\n  \
                 uid: 00000000-0000-0000-0000-000000000001\n  labels: {{cluster: gone, cluster-role: worker}}\n  \
                 managedFields:\n    - manager: {manager}\n      operation: Apply\n      \
                 fieldsV1: {{f:metadata: {{f:labels: {{f:cluster: {{}}, f:cluster-role: {{}}}}}}}}\n\
                 spec: {{online: true}}\nstatus: {{provisioning: {{state: available}}}}\n"
            ),
        );
        want(&repo, "a/edge", 1, 0);
        repo.generate(&[]).expect(code);
    }
}
