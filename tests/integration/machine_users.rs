//! Hosts that Machines of Cluster API use: whose they are, and what that changes.

use crate::support::{Repo, assert_says, documents, host, run, tool};

/// Keeps hosts for rollouts from a control plane of any size.
const NO_SPARE: &str = "annotations: {sip.airshipit.org/spare-hosts: '0'}";

/// A Cluster with a control plane and MachineDeployments, each with a number of replicas and no surge.
fn cluster(name: &str, control_plane: (&str, usize), deployments: &[(&str, usize)]) -> String {
    let template = |name: &str| {
        format!(
            "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\n\
             metadata: {{name: {name}, namespace: metal}}\n\
             spec: {{template: {{spec: {{image: {{url: u, checksum: c}}}}}}}}\n"
        )
    };
    let rollout = "{type: RollingUpdate, rollingUpdate: {maxSurge: 0}}";
    let (name_of_plane, replicas) = control_plane;
    let mut text = format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: metal\n  \
         annotations: {{sip.airshipit.org/assign-hosts: 'true'}}\n\
         spec: {{controlPlaneRef: {{kind: KubeadmControlPlane, name: {name_of_plane}}}}}\n\
         ---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\n\
         metadata: {{name: {name_of_plane}, namespace: metal, {NO_SPARE}}}\n\
         spec:\n  replicas: {replicas}\n  \
         machineTemplate: {{infrastructureRef: {{kind: Metal3MachineTemplate, name: {name_of_plane}}}}}\n"
    );
    text.push_str(&template(name_of_plane));
    for (deployment, replicas) in deployments {
        text.push_str(&format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\n\
             metadata: {{name: {deployment}, namespace: metal}}\n\
             spec:\n  clusterName: {name}\n  replicas: {replicas}\n  strategy: {rollout}\n  template: {{spec: \
             {{infrastructureRef: {{kind: Metal3MachineTemplate, name: {deployment}}}}}}}\n"
        ));
        text.push_str(&template(deployment));
    }
    text
}

/// A host as a snapshot shows it.
#[derive(Clone, Default)]
struct Live {
    machine: Option<String>,
    labels: String,
    annotations: &'static str,
}

fn free() -> Live {
    Live::default()
}

fn used_by(machine: &str) -> Live {
    Live { machine: Some(machine.to_owned()), ..Live::default() }
}

fn of_cluster(machine: &str, cluster: &str) -> Live {
    Live { labels: format!("cluster.x-k8s.io/cluster-name: {cluster}"), ..used_by(machine) }
}

fn snapshot(repo: &Repo, hosts: &[Live]) {
    let hosts = hosts.iter().enumerate().map(|(number, host)| {
        let Live { machine, labels, annotations } = host;
        let (spec, state) = match machine {
            None => (String::new(), "available"),
            Some(name) => (
                format!(", image: {{url: u}}, consumerRef: {{kind: Metal3Machine, name: {name}, namespace: metal}}"),
                "provisioned",
            ),
        };
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{number}\n  namespace: metal\n  \
             uid: 00000000-0000-0000-0000-00000000000{number}\n  labels: {{{labels}}}\n  annotations: {{{annotations}}}\n\
             spec: {{online: true{spec}}}\nstatus: {{provisioning: {{state: {state}}}}}\n"
        )
    });
    repo.write("snapshot/hosts.yaml", &hosts.collect::<String>());
}

fn site(clusters: &[(&str, String)], hosts: &[Live]) -> Repo {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", "credentials: none\n");
    for (name, text) in clusters {
        repo.write(&format!("clusters/{name}/all.yaml"), text);
        repo.write(&format!("clusters/{name}/kustomization.yaml"), "resources: [all.yaml]\n");
    }
    snapshot(&repo, hosts);
    repo.commit();
    repo
}

/// The assigned hosts in the output, as `host: cluster node-set`.
fn assigned(repo: &Repo) -> Vec<String> {
    let files = repo.files("overlays/hosts").into_values();
    let hosts = files.flat_map(|text| documents(&text)).filter_map(|host| {
        let labels = &host["metadata"]["labels"];
        let label = |key: &str| labels[format!("sip.airshipit.org/{key}").as_str()].as_str();
        let cluster = label("cluster-name").filter(|_| host["kind"] == "BareMetalHost")?;
        let set = label("node-set").unwrap_or("control plane");
        Some(format!("{}: {cluster} {set}", host["metadata"]["name"].as_str()?))
    });
    let mut hosts: Vec<String> = hosts.collect();
    hosts.sort();
    hosts
}

/// Generates, commits, and generates once more: the second run changes nothing.
#[track_caller]
fn settle(repo: &Repo) -> String {
    let said = repo.generate(&[]).expect(0).stderr;
    repo.commit();
    let again = repo.generate(&[]).expect(0).stderr;
    assert_says(&again, &["no file changes"]);
    said
}

#[test]
fn the_labels_follow_a_machine_to_its_node_set_and_cluster() {
    let clusters =
        [("a", cluster("a", ("a-cp", 1), &[("a-md", 1)])), ("b", cluster("b", ("b-cp", 1), &[]))];
    let repo = site(&clusters, &vec![free(); 6]);
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: a control plane", "h1: a a-md", "h2: b control plane"]);

    // CAPM3 chose at random, before any template selected by labels.
    snapshot(
        &repo,
        &[
            of_cluster("a-md-x2k9p-h5rlz", "a"),
            of_cluster("b-cp-x2k9p", "b"),
            of_cluster("a-cp-x2k9p", "a"),
            free(),
            free(),
            free(),
        ],
    );
    let said = settle(&repo);

    assert_eq!(assigned(&repo), ["h0: a a-md", "h1: b control plane", "h2: a control plane"]);
    assert!(!said.contains("SIP09") || !said.contains("SIP0911"), "{said}");
    assert!(!said.contains("danger"), "no host in use loses its labels: {said}");
}

#[test]
fn without_another_host_the_labels_wait_and_the_next_snapshot_resolves_it() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[])), ("b", cluster("b", ("b-cp", 1), &[]))];
    let repo = site(&clusters, &[free(), free()]);
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: a control plane", "h1: b control plane"]);

    // The Machine of `b` took the only host of `a`, whose own Machine waits.
    snapshot(&repo, &[of_cluster("b-cp-x2k9p", "b"), free()]);
    let said = settle(&repo);
    assert_says(
        &said,
        &[
            "SIP0911",
            "host metal/h0 is assigned to metal/a, ControlPlane, and used by Metal3Machine metal/b-cp-x2k9p, which belongs to metal/b, ControlPlane",
            "releases metal/h1",
        ],
    );
    assert_eq!(assigned(&repo), ["h0: a control plane"]);

    snapshot(
        &repo,
        &[
            of_cluster("b-cp-x2k9p", "b"),
            Live { annotations: "sip.airshipit.org/given-back: applied-1", ..free() },
        ],
    );
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: b control plane", "h1: a control plane"]);
}

#[test]
fn a_host_that_a_machine_of_no_request_uses_is_replaced() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[]))];
    let repo = site(&clusters, &[free(), free()]);
    settle(&repo);

    snapshot(&repo, &[of_cluster("foreign-cp-x2k9p", "foreign"), free()]);
    settle(&repo);

    assert_eq!(assigned(&repo), ["h1: a control plane"]);
}

#[test]
fn evidence_decides_whose_machine_uses_a_host() {
    let north = || cluster("prod-north", ("prod-north", 1), &[]);
    let prod = || cluster("prod", ("prod-cp", 0), &[("prod", 1)]);
    let both = [("prod", prod()), ("prod-north", north())];
    let machine = "prod-north-x7k2p";
    // CAPM3's label, although the name has the form of a Machine of `prod`.
    let repo = site(&both[..1], &[of_cluster(machine, "prod-north"), free()]);
    settle(&repo);
    assert_eq!(assigned(&repo), ["h1: prod prod"]);
    // The name: `north` is no text that Cluster API generates.
    let repo = site(&both, &[free(), used_by(machine)]);
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: prod prod", "h1: prod-north control plane"]);
    // A MachineSet of the repo that is no request may have made the Machine, too.
    let repo = site(&both[1..], &[free(), used_by(machine)]);
    repo.write(
        "clusters/set.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineSet\nmetadata: {name: prod-north, namespace: metal}\n\
         spec: {clusterName: other, template: {spec: {}}}\n",
    );
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: prod-north control plane"]);
    // The Machine itself outranks all.
    let sets = [("a", cluster("a", ("a-cp", 1), &[("a-md", 1)]))];
    let repo = site(&sets, &[free(), free(), of_cluster("a-cp-x2k9p", "other")]);
    repo.write(
        "snapshot/machines.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata:\n  name: m\n  namespace: metal\n  \
         labels: {cluster.x-k8s.io/cluster-name: a, cluster.x-k8s.io/deployment-name: a-md}\n\
         spec: {clusterName: a, providerID: x, infrastructureRef: {kind: Metal3Machine, name: a-cp-x2k9p}}\n",
    );
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: a control plane", "h2: a a-md"]);
}

#[test]
fn a_machine_of_an_unknown_node_set_is_reported() {
    let sets = [("a", cluster("a", ("a-cp", 1), &[("a-md", 1)]))];
    let repo = site(&sets, &[free(), free(), of_cluster("node-1", "a")]);
    let said = settle(&repo);

    assert_says(
        &said,
        &[
            "SIP0911",
            "Metal3Machine metal/node-1 uses host metal/h2, and nothing shows which node set of metal/a it belongs to",
        ],
    );
    assert_eq!(assigned(&repo), ["h0: a control plane", "h1: a a-md"]);
    // A MachineSet that is no request made it.
    let repo = site(&sets, &[free(), free(), of_cluster("a-set-x2k9p", "a")]);
    repo.write(
        "clusters/set.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineSet\nmetadata: {name: a-set, namespace: metal}\n\
         spec: {clusterName: a, template: {spec: {}}}\n",
    );
    assert!(!settle(&repo).contains("SIP0911"));
    let explained = run(&mut repo.sipgen(&["explain", "metal/h2"])).stdout;
    assert_says(&explained, &["is used by a Machine of the MachineSet metal/a-set of metal/a"]);
    // The only node set of a Cluster has all of its Machines, whatever their names.
    let one = [("a", cluster("a", ("a-cp", 1), &[]))];
    let repo = site(&one, &[free(), of_cluster("node-1", "a")]);
    settle(&repo);
    assert_eq!(assigned(&repo), ["h1: a control plane"]);
}

/// A snapshot may have Machines without the MachineSet that owns them.
#[test]
fn a_waiting_machine_of_a_requested_deployment_is_no_other_claimant() {
    let repo = site(&[("a", cluster("a", ("a-cp", 1), &[("a-md", 1)]))], &[free(), free(), free()]);
    for (deployment, is_other) in [("a-md", false), ("b-md", true)] {
        repo.write(
            "snapshot/machines.yaml",
            &format!(
                "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata:\n  name: m\n  namespace: metal\n  labels: \
                 {{cluster.x-k8s.io/cluster-name: a, cluster.x-k8s.io/deployment-name: {deployment}}}\n  ownerReferences: \
                 [{{kind: MachineSet, name: {deployment}-x2k9p}}]\n\
                 spec: {{clusterName: a, infrastructureRef: {{kind: Metal3Machine, name: m}}}}\n"
            ),
        );
        let told = repo.generate(&[]).expect(0).stderr;
        assert_eq!(told.contains("SIP0910"), is_other, "{told}");
    }
    // A label with its own name does not own it.
    repo.remove("snapshot/machines.yaml");
    let own_label = "name: b-md, namespace: metal, labels: {cluster.x-k8s.io/deployment-name: b-md}}\nspec:\n  clusterName";
    let other = cluster("b", ("b-cp", 1), &[("b-md", 1)])
        .replace("assign-hosts: 'true'", "assign-hosts: 'false'");
    let labelled = other.replace("name: b-md, namespace: metal}\nspec:\n  clusterName", own_label);
    assert_ne!(labelled, other);
    repo.write("b.yaml", &labelled);
    let told = repo.generate(&[]).expect(0).stderr;
    assert_says(&told, &["SIP0910", "metal/b", "claims 2 of the 3"]);
}

/// Hosts whose node set had no name, or had another one, go on under the new name, also when Machines of that name are
/// there already.
#[test]
fn hosts_keep_their_cluster_when_the_only_node_set_of_their_role_gets_a_name() {
    let sip = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: a, namespace: metal}\n\
               spec:\n  nodes:\n    ControlPlane: {labelSelector: {}, count: {active: 1}}\n    \
               Worker: {labelSelector: {}, count: {active: 3}}\n";
    let named = |name: &str| cluster("a", ("a-cp", 1), &[(name, 3)]);
    for before in [sip.to_owned(), named("a-old")] {
        let mut hosts = vec![free(); 7];
        let repo = site(&[("a", before)], &hosts);
        repo.generate(&[]).expect(0);
        let expected = ["h0: a control plane", "h1: a a-md", "h2: a a-md", "h3: a a-md"];
        repo.write("clusters/a/all.yaml", &named("a-md"));
        hosts[2] = of_cluster("a-md-x2k9p-h5rlz", "a");
        snapshot(&repo, &hosts);

        let said = settle(&repo);

        assert_eq!(assigned(&repo), expected, "{said}");
    }
}

/// A Machine uses its host until some time after its MachineDeployment is deleted.
#[test]
fn a_host_in_use_keeps_the_labels_of_a_removed_node_set() {
    const MACHINE: &str = "a-one-x2k9p-h5rlz";
    let labels = |role: &str, set: &str| {
        format!(
            "sip.airshipit.org/cluster-name: a, sip.airshipit.org/cluster-namespace: metal, \
             sip.airshipit.org/node-type: {role}{set}, cluster.x-k8s.io/cluster-name: a"
        )
    };
    let worker = |set: &str| labels("Worker", &format!(", sip.airshipit.org/node-set: {set}"));
    let live = |is_used: bool, machine: &str, labels: String| Live {
        labels,
        ..if is_used { used_by(machine) } else { free() }
    };
    let machine = |deployment: &str, name: &str| {
        format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata:\n  name: {name}\n  namespace: metal\n  \
             labels: {{cluster.x-k8s.io/cluster-name: a, cluster.x-k8s.io/deployment-name: {deployment}}}\n\
             spec: {{clusterName: a, infrastructureRef: {{kind: Metal3Machine, name: {name}}}}}\n"
        )
    };
    let both = [("a", cluster("a", ("a-cp", 1), &[("a-one", 1), ("a-two", 1)]))];
    let left: [&[(&str, usize)]; 3] = [&[("a-two", 1)], &[("a-three", 1), ("a-two", 1)], &[]];
    for case in 0..left.len() * 8 {
        let bit = |index: usize| case >> index & 1 == 1;
        let (are_others_used, has_machines, has_record) = (bit(0), bit(1), bit(2));
        let deployments = left[case >> 3];
        let repo = site(&both, &vec![free(); 5]);
        repo.generate(&[]).expect(0);
        let hosts = [
            live(are_others_used, "a-cp-x2k9p", labels("ControlPlane", "")),
            live(true, MACHINE, worker("a-one")),
            live(are_others_used, "a-two-x2k9p-v7tqd", worker("a-two")),
            free(),
            free(),
        ];
        snapshot(&repo, &hosts);
        if has_machines {
            repo.write("snapshot/machines.yaml", &machine("a-one", MACHINE));
            repo.write(
                "snapshot/set.yaml",
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineSet\nmetadata: {name: a-one-x2k9p, namespace: metal}\n\
                 spec: {clusterName: a, replicas: 1, template: {spec: {}}}\n",
            );
        }
        if !has_record {
            repo.remove_all("overlays/hosts");
        }
        repo.write("clusters/a/all.yaml", &cluster("a", ("a-cp", 1), deployments));

        let run = repo.generate(&[]).expect(0);

        let said = format!("{case}: {}", run.stderr);
        assert_says(
            &said,
            &["SIP0908", &format!("Metal3Machine metal/{MACHINE} still uses metal/h1")],
        );
        assert!(!said.contains("danger"), "{said}");
        let mut expected = vec!["h0: a control plane", "h1: a a-one"];
        if !deployments.is_empty() || are_others_used {
            expected.push("h2: a a-two");
        }
        if deployments.len() == 2 {
            expected.push("h3: a a-three");
        }
        assert_eq!(assigned(&repo), expected, "{said}");
    }
}

#[test]
fn hosts_of_machines_are_adopted_after_opting_out_and_in_again() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[("a-md", 2)]))];
    let machines = ["a-cp-x2k9p", "a-md-x2k9p-h5rlz", "a-md-x2k9p-v7tqd"];
    let used = machines.map(used_by);
    let repo = site(&clusters, &[&[free(), free(), free()][..], &used].concat());
    let expected = ["h3: a control plane", "h4: a a-md", "h5: a a-md"];
    settle(&repo);
    assert_eq!(assigned(&repo), expected);

    repo.replace("clusters/a/all.yaml", "assign-hosts: 'true'", "assign-hosts: 'false'");
    repo.generate(&["--allow-empty"]).expect(0);
    assert_eq!(assigned(&repo), [""; 0]);
    repo.commit();
    repo.replace("clusters/a/all.yaml", "assign-hosts: 'false'", "assign-hosts: 'true'");
    settle(&repo);

    assert_eq!(assigned(&repo), expected);
}

#[test]
fn nothing_that_a_kustomization_lists_is_deleted() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[])), ("b", cluster("b", ("b-cp", 1), &[]))];
    // What lists a generated path: a component, a directory, a file.
    for (file, list, line) in [
        (
            "clusters/a/kustomization.yaml",
            "resources: [all.yaml]\ncomponents:\n- ../../overlays/tenants/metal/a/cluster-api\n",
            3,
        ),
        ("all/kustomization.yaml", "resources:\n- ../overlays/hosts/observed/metal.a\n", 2),
        (
            "kustomization.yaml",
            "resources: [overlays/hosts/observed/metal.b/hosts.yaml]\npatches:\n- path: overlays/hosts/observed/metal.a/hosts.yaml\n",
            3,
        ),
    ] {
        let repo = site(&clusters, &[free(), free()]);
        settle(&repo);
        repo.write(file, list);
        repo.commit();
        let before = repo.files("overlays");
        repo.replace("clusters/a/all.yaml", "assign-hosts: 'true'", "assign-hosts: 'false'");

        let said = repo.generate(&[]).expect(1).stderr;

        assert_says(&said, &["SIP0117", "which is to be deleted", &format!("--> {file}:{line}:")]);
        assert_eq!(repo.files("overlays"), before);
        repo.write(file, "resources: []\n");
        repo.generate(&[]).expect(0);
    }
    // An agent's object adds the component.
    let repo = site(&clusters, &[free(), free()]);
    settle(&repo);
    repo.write("clusters/a/kustomization.yaml", "resources: [all.yaml]\n");
    repo.write(
        "agents/a.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\nspec:\n  \
         path: ./clusters/a\n  sourceRef: {kind: GitRepository, name: flux-system}\n  components:\n  \
         - ../../overlays/tenants/metal/a/cluster-api\n",
    );
    repo.commit();
    repo.replace("clusters/a/all.yaml", "assign-hosts: 'true'", "assign-hosts: 'false'");
    let said = repo.generate(&[]).expect(1).stderr;
    assert_says(&said, &["SIP0117", "which is to be deleted", "--> agents/a.yaml:8:"]);

    // The kustomize of the agents agrees.
    let repo = site(&clusters, &[free(), free()]);
    settle(&repo);
    let root = "clusters/a/kustomization.yaml";
    repo.write(
        root,
        "resources: [all.yaml]\ncomponents: [../../overlays/tenants/metal/a/cluster-api]\n",
    );
    let build = || run(tool("kustomize").args(["build", "clusters/a"]).current_dir(repo.path()));
    assert_says(&build().expect(0).stdout, &["sip.airshipit.org/cluster-name: a"]);
}

#[test]
fn marks_of_assigned_hosts_are_judged_as_those_of_new_ones() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[]))];
    let marked = |annotations: &'static str| Live { annotations, ..free() };
    for unhealthy in ["capm3.metal3.io/unhealthy: ''", "capi.metal3.io/unhealthy: ''"] {
        let repo = site(&clusters, &[free(), free()]);
        settle(&repo);
        snapshot(&repo, &[marked(unhealthy), free()]);
        settle(&repo);
        assert_eq!(assigned(&repo), ["h1: a control plane"], "{unhealthy}");

        // A Machine still uses it.
        let used = Live { annotations: unhealthy, ..used_by("a-cp-x2k9p") };
        let repo = site(&clusters, &[used, free()]);
        let said = settle(&repo);
        assert_says(
            &said,
            &["SIP0515", "is marked as unhealthy", "it stays: a Machine consumes it"],
        );
        assert_eq!(assigned(&repo), ["h0: a control plane"]);
    }
    for (mark, word) in [
        ("baremetalhost.metal3.io/paused: ''", "is paused"),
        ("baremetalhost.metal3.io/detached: ''", "is detached"),
    ] {
        let repo = site(&clusters, &[free(), free()]);
        settle(&repo);
        snapshot(&repo, &[marked(mark), free()]);
        let said = settle(&repo);
        assert_says(&said, &["SIP0503", word, "--rebalance"]);
        assert_eq!(assigned(&repo), ["h0: a control plane"]);
        repo.generate(&["--rebalance"]).expect(0);
        assert_eq!(assigned(&repo), ["h1: a control plane"]);
        // CAPM3 pauses the hosts of running Machines when it pauses their Cluster.
        let used = Live { annotations: mark, ..used_by("a-cp-x2k9p") };
        snapshot(&repo, &[used, free()]);
        let said = repo.generate(&[]).expect(0).stderr;
        assert!(!said.contains("SIP0503"), "{said}");
    }
}

#[test]
fn the_control_planes_of_k0smotron_make_machines_as_they_do() {
    let with = |strategy: &str, replicas: usize| {
        cluster("a", ("a-cp", replicas), &[])
            .replace("KubeadmControlPlane", "K0sControlPlane")
            .replace(NO_SPARE, "")
            .replace("  machineTemplate:", &format!("  {strategy}\n  machineTemplate:"))
    };
    for (strategy, replicas, hosts) in [
        ("updateStrategy: InPlace", 3, 4),
        ("updateStrategy: Recreate", 3, 4),
        ("updateStrategy: RecreateDeleteFirst", 3, 3),
        ("updateStrategy: RecreateDeleteFirst", 2, 3),
        // These kinds have no such field.
        ("rolloutStrategy: {rollingUpdate: {maxSurge: 0}}", 3, 4),
        ("rolloutStrategy: {rollingUpdate: {maxSurge: 2}}", 3, 4),
    ] {
        for kind in ["K0sControlPlane", "KThreesControlPlane", "MicroK8sControlPlane"] {
            let text = with(strategy, replicas).replace("K0sControlPlane", kind);
            if kind != "K0sControlPlane" && strategy.starts_with("update") {
                continue;
            }
            let repo = site(&[("a", text)], &vec![free(); 6]);
            settle(&repo);
            assert_eq!(assigned(&repo).len(), hosts, "{kind}: {strategy}, {replicas}");
            snapshot(&repo, &vec![free(); hosts - 1]);
            let short = repo.generate(&["--check"]).stderr;
            assert!(!short.contains("maxSurge"), "{kind}: {short}");
        }
    }
    // Its older releases number the Machines.
    let repo = site(
        &[("a", with("updateStrategy: RecreateDeleteFirst", 3))],
        &[free(), free(), free(), used_by("a-cp-0")],
    );
    settle(&repo);
    assert!(assigned(&repo).contains(&"h3: a control plane".to_owned()));
}

#[test]
fn remediation_without_a_spare_host_is_reported_for_the_machines_that_it_selects() {
    let check = |selector: &str, template: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {{name: check, namespace: metal}}\n\
             spec:\n  clusterName: a\n  selector: {selector}\n  remediationTemplate: {{kind: {template}, name: t}}\n"
        )
    };
    let metal3 = "Metal3RemediationTemplate";
    for (selector, template, said) in [
        ("{matchLabels: {cluster.x-k8s.io/control-plane: ''}}", metal3, Some("the control plane")),
        (
            "{matchLabels: {cluster.x-k8s.io/deployment-name: a-md}}",
            metal3,
            Some("the MachineDeployment a-md"),
        ),
        (
            "{matchExpressions: [{key: pool, operator: In, values: [gold]}]}",
            metal3,
            Some("the MachineDeployment a-md"),
        ),
        ("{matchLabels: {cluster.x-k8s.io/deployment-name: other}}", metal3, None),
        ("{matchLabels: {cluster.x-k8s.io/control-plane: ''}}", "OtherRemediationTemplate", None),
    ] {
        let labelled = cluster("a", ("a-cp", 1), &[("a-md", 1)]).replace(
            "template: {spec: {infra",
            "template: {metadata: {labels: {pool: gold}}, spec: {infra",
        );
        let repo = site(&[("a", labelled)], &[free(), free(), free()]);
        repo.write("clusters/check.yaml", &check(selector, template));
        let run = repo.generate(&[]).expect(0).stderr;
        assert_eq!(run.contains("SIP0912"), said.is_some(), "{selector}: {run}");
        assert_says(&run, said.as_slice());
        // With a spare host, the next Machine has one.
        repo.replace("clusters/a/all.yaml", NO_SPARE, &NO_SPARE.replace('0', "1"));
        let run = repo.generate(&[]).expect(0).stderr;
        assert!(!run.contains("of the control plane, which has no spare"), "{run}");
    }
}

/// CAPM3 takes any host that a template selects, whether a request of sipgen has it or not.
#[test]
fn clusters_that_are_no_requests_claim_hosts_by_their_selectors() {
    let repo = Repo::of_hosts(0);
    let host = |(name, pool)| host(name, &format!("  labels: {{e.com/pool: {pool}}}\n"));
    let pools = [("h0", "a"), ("h1", "a"), ("h2", "b"), ("h3", "b")];
    repo.write("inventory/hosts.yaml", &pools.map(host).concat());
    repo.want("metal/one", 2);
    repo.write("sipgen.yaml", "reservations: [{labels: {e.com/pool: b}, for: [other]}]\n");
    let annotation = "  annotations: {sip.airshipit.org/assign-hosts: 'true'}\n";
    let selecting = |labels: &str| {
        let cluster = cluster("b", ("b-cp", 1), &[("b-md", 2)]).replace(annotation, "");
        cluster.replace("checksum: c}", &format!("checksum: c}}, hostSelector: {labels}"))
    };
    for (selector, said) in [
        (
            "{matchLabels: {e.com/pool: a}}",
            Some("claims 3 of the 2 unused hosts that its `hostSelector` matches; requests get 2"),
        ),
        ("{matchLabels: {e.com/pool: b}}", None),
        ("{}", Some("claims 3 of the 4 unused hosts of its namespace")),
    ] {
        repo.write("cluster.yaml", &selecting(selector));
        let report = repo.generate(&[]).expect(0).stderr;
        assert_eq!(
            report.contains("the Cluster metal/b is no request"),
            said.is_some(),
            "{selector}: {report}"
        );
        assert_says(&report, said.as_slice());
    }

    // A label of an output would let them take what the plan gives to others.
    let settings = "outputs: [{name: x, scope: host, labels: {e.com/free: 'no'}}]\n";
    repo.write("sipgen.yaml", settings);
    repo.write("cluster.yaml", &selecting("{matchLabels: {e.com/free: 'no'}}"));
    assert_says(
        &repo.generate(&[]).expect(1).stderr,
        &["an output sets the label `e.com/free`, by which the Cluster metal/b chooses hosts"],
    );
}

#[test]
fn spares_that_no_machine_takes_are_reported() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[("a-md", 1)]))];
    let repo = site(&clusters, &vec![free(); 3]);
    settle(&repo);
    assert_eq!(assigned(&repo), ["h0: a control plane", "h1: a a-md"]);
    let waiting = |value: &str| Live {
        labels: format!("infrastructure.cluster.x-k8s.io/node-reuse: {value}"),
        ..Live::default()
    };
    for value in ["cp-a-cp", "cp-a-cp-x", "md-b-md", "cp-b-cp"] {
        snapshot(&repo, &[waiting(value), waiting("md-a-md")]);
        let said = repo.generate(&["--check"]).stderr;
        assert_eq!(said.contains("SIP0911"), value != "cp-a-cp", "{value}: {said}");
    }
    assert_says(
        &repo.generate(&["--check"]).stderr,
        &[
            "host metal/h0 is assigned to metal/a, ControlPlane",
            "which belongs to the control plane b-cp",
        ],
    );

    snapshot(&repo, &vec![free(); 2]);
    let hosts = repo.read("snapshot/hosts.yaml");
    let external = "spec: {externallyProvisioned: true, online";
    repo.write("snapshot/hosts.yaml", &hosts.replacen("spec: {online", external, 1));
    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(
        &said,
        &["SIP0503", "host metal/h0 (ControlPlane of metal/a) is externally provisioned"],
    );
}

/// CAPM3 skips hosts of other consumers, and those in other states than `available` and `ready`.
#[test]
fn assigned_hosts_that_no_machine_can_take_are_replaced_or_reported() {
    let clusters = [("a", cluster("a", ("a-cp", 1), &[]))];
    let image = "{online: true, image: {url: u}}";
    for (spec, state, said, at_once, rebalanced) in [
        (
            "{online: true, consumerRef: {kind: HostClaim, name: x}}",
            "provisioned",
            false,
            "h1",
            "h1",
        ),
        ("{online: true, consumerRef: {kind: Ironic}}", "available", false, "h1", "h1"),
        (
            "{online: true, consumerRef: {kind: Metal3Machine, name: x, namespace: other}}",
            "provisioned",
            false,
            "h1",
            "h1",
        ),
        (image, "provisioned", true, "h0", "h0"),
        ("{online: true}", "unmanaged", true, "h0", "h1"),
        ("{online: true}", "deprovisioning", false, "h0", "h0"),
        ("{online: true}", "inspecting", false, "h0", "h0"),
    ] {
        let repo = site(&clusters, &[free(), free()]);
        settle(&repo);
        let show = |hosts: usize| {
            snapshot(&repo, &vec![free(); hosts]);
            let hosts = repo.read("snapshot/hosts.yaml");
            let hosts = hosts.replacen("{online: true}", spec, 1);
            repo.write("snapshot/hosts.yaml", &hosts.replacen("available", state, 1));
        };
        show(1);
        let alone = repo.generate(&["--check"]).stderr;
        let is_used = at_once == "h1";
        assert_eq!(alone.contains("SIP0911"), is_used, "{spec}, {state}: {alone}");
        show(2);
        let report = settle(&repo);
        assert_eq!(report.contains("SIP0503"), said, "{spec}, {state}: {report}");
        assert_eq!(assigned(&repo), [format!("{at_once}: a control plane")], "{spec}, {state}");
        repo.generate(&["--rebalance"]).expect(0);
        assert_eq!(assigned(&repo), [format!("{rebalanced}: a control plane")], "{spec}, {state}");
    }
}

/// Its domain is that of the Machine's host, whoever has the labels.
#[test]
fn a_machine_on_the_host_of_another_cluster_counts_for_the_topology_key() {
    let with_key =
        "annotations: {sip.airshipit.org/spare-hosts: '0', sip.airshipit.org/topology-key: rack}";
    let other = cluster("b", ("b-cp", 2), &[]).replace(NO_SPARE, with_key);
    let rack = |name: &str, live: Live| Live { labels: format!("rack: {name}"), ..live };
    for (last, served) in [("a", false), ("b", true)] {
        let hosts = [rack("a", free()), rack("a", free()), rack(last, free())];
        let repo = site(&[("a", cluster("a", ("a-cp", 1), &[]))], &hosts);
        settle(&repo);
        repo.write("clusters/b/all.yaml", &other);
        repo.write("clusters/b/kustomization.yaml", "resources: [all.yaml]\n");
        let used = rack("a", used_by("b-cp-x2k9p"));
        snapshot(&repo, &[used, rack("a", free()), rack(last, free())]);
        if served {
            let said = settle(&repo);
            assert!(!said.contains("SIP0911"), "{said}");
            let expected = ["h0: b control plane", "h1: a control plane", "h2: b control plane"];
            assert_eq!(assigned(&repo), expected);
        } else {
            let said = repo.generate(&[]).expect(1).stderr;
            assert_says(&said, &["SIP0501", "1 of the 2 ControlPlane hosts of metal/b"]);
            assert!(!said.contains("SIP0911"), "{said}");
        }
    }
}

#[test]
fn hosts_that_change_their_node_set_are_not_added() {
    let with = |names: [&str; 2]| cluster("a", ("a-cp", 1), &names.map(|name| (name, 1)));
    let repo = site(&[("a", with(["x", "y"]))], &vec![free(); 3]);
    settle(&repo);
    repo.write("clusters/a/all.yaml", &with(["v", "w"]));
    let said = settle(&repo);
    assert_says(&said, &["changes the role of", "3 hosts assigned, 0 added, 0 released"]);
}
