//! Clusters of Cluster API as requests.

use crate::support::{Repo, assert_says, documents, repo_file, run};

/// The fixture with its hosts in a snapshot, some of them used by Machines.
fn observed(machines: &[(&str, &str)]) -> Repo {
    let repo = Repo::of_fixture("capm3");
    snapshot(&repo, machines);
    repo.remove("hosts/kustomization.yaml");
    repo.remove("hosts/hosts.yaml");
    repo
}

/// Writes a snapshot of the fixture's hosts.
fn snapshot(repo: &Repo, machines: &[(&str, &str)]) {
    let hosts = (1..=8).map(|number| {
        let name = format!("m{number}");
        let machine = machines.iter().find(|(host, _)| *host == name);
        let consumer = machine.map_or(String::new(), |(_, machine)| {
            format!(
                "  consumerRef: {{kind: Metal3Machine, name: {machine}, namespace: tenant-a}}\n"
            )
        });
        let state = if machine.is_some() { "provisioned" } else { "available" };
        let size = if number <= 5 { "small" } else { "big" };
        let rack = (number - 1) % 4 + 1;
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: tenant-a\n  \
             uid: 00000000-0000-0000-0000-00000000000{number}\n  \
             labels: {{example.com/size: {size}, topology.example.com/rack: r{rack}}}\n\
             spec:\n  online: true\n{consumer}status: {{provisioning: {{state: {state}}}}}\n"
        )
    });
    repo.write("inventory/hosts.yaml", &hosts.collect::<String>());
}

/// The labels of the fixture's hosts in the output, as `host: role node-set`.
fn assigned(repo: &Repo) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in repo.files("overlays/hosts") {
        for host in documents(&text) {
            let labels = &host["metadata"]["labels"];
            let value = |key: &str| {
                let value = labels[format!("sip.airshipit.org/{key}").as_str()].as_str();
                value.unwrap_or_default().to_owned()
            };
            if host["kind"] == "BareMetalHost" && !value("cluster-name").is_empty() {
                assert_eq!(value("cluster-namespace"), "tenant-a", "{file}");
                let name = host["metadata"]["name"].as_str().unwrap();
                found.push(format!("{name}: {} {}", value("node-type"), value("node-set")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn hosts_are_assigned_to_the_control_plane_and_to_machine_deployments() {
    let repo = Repo::of_fixture("capm3");

    let run = repo.generate(&[]).expect(0);

    // Three replicas, and one for the rollout, each in another rack; m9 is in another namespace.
    assert_eq!(
        assigned(&repo),
        [
            "m1: ControlPlane ",
            "m2: ControlPlane ",
            "m3: ControlPlane ",
            "m4: ControlPlane ",
            "m6: Worker edge-md",
            "m7: Worker edge-md",
        ]
    );
    assert_says(&run.stderr, &["1 cluster: 6 hosts assigned, 6 added"]);
}

#[test]
fn only_annotated_clusters_are_requests_by_default() {
    let repo = Repo::of_fixture("capm3");
    repo.remove("sipgen.yaml");
    let cluster = "clusters/edge/cluster.yaml";
    let annotate = |value: &str| {
        let annotation = format!(
            "  name: edge\n  annotations: {{sip.airshipit.org/assign-hosts: \"{value}\"}}\nspec:\n  clusterNetwork"
        );
        repo.replace(cluster, "  name: edge\nspec:\n  clusterNetwork", &annotation);
    };

    repo.generate(&["--allow-empty"]).expect(0);
    assert_eq!(assigned(&repo), [""; 0]);

    annotate("true");
    repo.generate(&[]).expect(0);
    assert_eq!(assigned(&repo).len(), 6);

    // A Cluster of another provider.
    let repo = Repo::of_fixture("capm3");
    for file in ["control-plane.yaml", "workers.yaml"] {
        let file = format!("clusters/edge/{file}");
        repo.write(
            &file,
            &repo.read(&file).replace("Metal3MachineTemplate", "DockerMachineTemplate"),
        );
    }
    let run = repo.generate(&["--allow-empty"]).expect(0);
    assert_says(&run.stderr, &["0 clusters: 0 hosts assigned"]);

    let repo = Repo::of_fixture("capm3");
    repo.replace(
        cluster,
        "  name: edge\nspec:\n  clusterNetwork",
        "  name: edge\n  annotations: {sip.airshipit.org/assign-hosts: \"false\"}\nspec:\n  clusterNetwork",
    );
    repo.generate(&["--allow-empty"]).expect(0);
    assert_eq!(assigned(&repo), [""; 0]);
}

#[test]
fn a_misspelled_annotation_is_refused() {
    for (file, name, written, right) in [
        ("cluster", "edge", "assign-host", "assign-hosts"),
        ("cluster", "edge", "Priority", "priority"),
        ("control-plane", "edge-cp", "topolgy-key", "topology-key"),
        ("workers", "edge-md", "spare_hosts", "spare-hosts"),
    ] {
        let repo = Repo::of_fixture("capm3");
        if written == "assign-host" {
            repo.remove("sipgen.yaml");
        }
        let file = format!("clusters/edge/{file}.yaml");
        let annotation =
            format!("  name: {name}\n  annotations: {{sip.airshipit.org/{written}: \"1\"}}\n");
        let text = repo.read(&file);
        repo.write(&file, &text.replacen(&format!("  name: {name}\n"), &annotation, 1));

        let said = repo.refused();

        let message = format!("error[SIP0345]: unknown annotation `sip.airshipit.org/{written}`");
        let help = format!("write `sip.airshipit.org/{right}`, or remove it");
        assert_says(&said, &[&message, &format!("--> {file}:"), &help]);
    }
}

#[test]
fn hosts_of_running_machines_are_adopted_by_their_node_sets() {
    let repo = observed(&[
        ("m2", "edge-cp-x2k9p"),
        ("m8", "edge-md-4k7zd-hv5rl"),
        // Machines of other owners.
        ("m1", "edge-cp-x2k9p-extra"),
        ("m6", "edge-mdx-4k7zd-hv5rl"),
    ]);

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["4 added, 0 released, 2 adopted"]);
    assert_eq!(
        assigned(&repo),
        [
            "m2: ControlPlane ",
            "m3: ControlPlane ",
            "m4: ControlPlane ",
            "m5: ControlPlane ",
            "m7: Worker edge-md",
            "m8: Worker edge-md",
        ]
    );
}

#[test]
fn a_host_keeps_its_labels_until_its_machine_is_gone() {
    let machines = [("m1", "edge-cp-x2k9p"), ("m2", "edge-cp-f7m4c"), ("m3", "edge-cp-q8w6t")];
    let repo = observed(&machines);
    repo.generate(&[]).expect(0);
    repo.commit();
    let control_plane = |repo: &Repo| {
        let all = assigned(repo).into_iter();
        all.filter(|host| host.contains("ControlPlane")).count()
    };
    assert_eq!(control_plane(&repo), 4);

    repo.replace("clusters/edge/control-plane.yaml", "replicas: 3", "replicas: 1");
    let run = repo.generate(&[]).expect(0);
    assert_says(
        &run.stderr,
        &[
            "SIP0908",
            "Metal3Machine tenant-a/edge-cp-q8w6t still uses tenant-a/m3",
            "kubectl annotate machine -n tenant-a edge-cp-q8w6t cluster.x-k8s.io/delete-machine=",
        ],
    );
    assert_says(&run.stderr, &["releases tenant-a/m4"]);
    assert_eq!(control_plane(&repo), 3, "only the unused host is released");
    repo.commit();

    // Cluster API has deleted others than the one named.
    snapshot(&repo, &machines[2..]);
    let run = repo.generate(&[]).expect(0);
    assert!(!run.stderr.contains("SIP0908"), "{}", run.stderr);
    let left = assigned(&repo);
    assert_eq!(control_plane(&repo), 2);
    assert!(left.contains(&"m3: ControlPlane ".to_owned()), "{left:?}");
}

/// A host whose Machine is still there is the first that its node set gets back.
#[test]
fn a_node_set_can_grow_into_hosts_that_wait_for_their_release() {
    let repo = observed(&[("m6", "edge-md-4k7zd-hv5rl"), ("m7", "edge-md-4k7zd-x2k9p")]);
    repo.replace("clusters/edge/workers.yaml", "replicas: 2", "replicas: 1");
    assert_says(&repo.generate(&[]).expect(0).stderr, &["SIP0908"]);

    let answer = run(&mut repo.sipgen(&["capacity", "--format", "json"])).stdout;
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let mut growths = answer["nodeSets"].as_array().unwrap().iter();
    let growth = growths.find(|growth| growth["role"] == "Worker").unwrap();
    assert_eq!((&growth["fit"], &growth["isProven"]), (&2.into(), &true.into()), "{growth}");
    for (more, code) in [("+2", 0), ("+3", 1)] {
        let scale = format!("tenant-a/edge:edge-md={more}");
        let run = run(&mut repo.sipgen(&["what-if", "--scale", &scale]));
        assert_eq!(run.code, code, "{scale}\n{}", run.stdout);
    }
}

/// With `nodeReuse`, CAPM3 1.14 names the Cluster as the consumer of a host without a Machine.
#[test]
fn a_host_that_waits_for_reuse_stays_and_its_removal_is_explained() {
    let repo = observed(&[("m6", "edge-md-4k7zd-hv5rl"), ("m7", "edge-md-4k7zd-x2k9p")]);
    repo.generate(&[]).expect(0);
    repo.commit();
    let workers = |repo: &Repo| {
        let all = assigned(repo).into_iter();
        all.filter(|host| host.contains("Worker")).count()
    };
    let waiting = repo
        .read("inventory/hosts.yaml")
        .replace(
            "kind: Metal3Machine, name: edge-md-4k7zd-hv5rl",
            "kind: Cluster, name: edge",
        )
        .replace(
            "uid: 00000000-0000-0000-0000-000000000006\n  labels: {",
            "uid: 00000000-0000-0000-0000-000000000006\n  labels: {infrastructure.cluster.x-k8s.io/node-reuse: md-edge-md, ",
        );
    repo.write("inventory/hosts.yaml", &waiting);

    let run = repo.generate(&[]).expect(0);
    assert!(!run.stderr.contains("SIP0908"), "{}", run.stderr);
    assert_eq!(workers(&repo), 2);

    repo.replace("clusters/edge/workers.yaml", "replicas: 2", "replicas: 1");
    repo.write(
        "inventory/hosts.yaml",
        &waiting.replacen(
            "name: edge, namespace: tenant-a}\nstatus: {provisioning: {state: provisioned}",
            "name: edge, namespace: tenant-a}\nstatus: {provisioning: {state: available}",
            1,
        ),
    );
    let run = repo.generate(&[]).expect(0);
    assert_says(
        &run.stderr,
        &[
            "SIP0908",
            "Cluster tenant-a/edge still uses tenant-a/m6",
            "kubectl patch baremetalhost -n tenant-a m6 --type merge",
            r#"-p '{"metadata":{"labels":{"infrastructure.cluster.x-k8s.io/node-reuse":null}},"spec":{"consumerRef":null}}'"#,
        ],
    );
    assert_eq!(workers(&repo), 2);
}

#[test]
fn a_missing_part_is_an_error_and_no_file_changes() {
    for (file, from, to, said) in [
        (
            "cluster.yaml",
            "    name: edge-cp",
            "    name: edge-pc",
            "the KubeadmControlPlane `edge-pc` is not in the inputs",
        ),
        (
            "workers.yaml",
            "        name: edge-md.v1\n---",
            "        name: edge-md.v2\n---",
            "the Metal3MachineTemplate `edge-md.v2` is not in the inputs",
        ),
        (
            "workers.yaml",
            "kind: MachineDeployment",
            "kind: MachineDeploymnet",
            "unknown kind `MachineDeploymnet` of cluster.x-k8s.io/v1beta1: the object is not a MachineDeployment",
        ),
        ("cluster.yaml", "kind: Cluster\n", "kind: Clutser\n", "write `kind: Cluster`"),
        ("control-plane.yaml", "  replicas: 3", "  replicas: [3", "the resource cannot be read"),
        (
            "control-plane.yaml",
            "  replicas: 3",
            "  replicas: three",
            "the KubeadmControlPlane cannot be read",
        ),
        (
            "workers.yaml",
            "operator: In",
            "operator: DoesNotExist",
            "CAPM3 does not know the operator DoesNotExist",
        ),
        (
            "workers.yaml",
            "maxSurge: 0",
            "maxSurge: some",
            "`maxSurge` of the rollout is neither a number nor a percentage",
        ),
        (
            "control-plane.yaml",
            "  replicas: 3",
            "  replicas: -3",
            "`replicas: -3` is not a valid number of hosts",
        ),
        (
            "workers.yaml",
            "        name: edge-md.v1\n---",
            "        name: edge-cp\n---",
            "share the Metal3MachineTemplate `edge-cp`",
        ),
    ] {
        let repo = Repo::of_fixture("capm3");
        repo.replace(&format!("clusters/edge/{file}"), from, to);
        let run = repo.generate(&[]).expect(1);
        assert_says(&run.stderr, &[said, &format!("--> clusters/edge/{file}:")]);
        assert!(!repo.exists("overlays"), "{said}");
    }
}

#[test]
fn a_rollout_and_an_autoscaler_decide_the_number_of_hosts() {
    for (file, from, to, hosts) in [
        (
            "control-plane.yaml",
            "  replicas: 3",
            "  rollout: {strategy: {rollingUpdate: {maxSurge: 0}}}\n  replicas: 3",
            5,
        ),
        (
            "control-plane.yaml",
            "  replicas: 3",
            "  rolloutStrategy: {rollingUpdate: {maxSurge: 0}}\n  replicas: 3",
            5,
        ),
        // As its controller does, which takes no percentages.
        (
            "control-plane.yaml",
            "  replicas: 3",
            "  rolloutStrategy: {rollingUpdate: {maxSurge: 50%}}\n  replicas: 3",
            5,
        ),
        ("control-plane.yaml", "  replicas: 3\n", "", 4),
        ("workers.yaml", "maxSurge: 0", "maxSurge: 50%", 7),
        ("workers.yaml", "    rollingUpdate:", "    type: OnDelete\n    rollingUpdate:", 6),
        (
            "workers.yaml",
            "  name: edge-md\nspec:",
            "  name: edge-md\n  annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: \"3\"}\nspec:",
            7,
        ),
        (
            "workers.yaml",
            "  name: edge-md\nspec:",
            "  name: edge-md\n  annotations: {sip.airshipit.org/spare-hosts: \"1\"}\nspec:",
            7,
        ),
    ] {
        let repo = Repo::of_fixture("capm3");
        repo.replace(&format!("clusters/edge/{file}"), from, to);
        repo.generate(&[]).expect(0);
        assert_eq!(assigned(&repo).len(), hosts, "{to}");
    }
}

#[test]
fn a_missing_host_for_rollouts_is_explained_with_both_ways_out() {
    let repo = Repo::of_hosts(3);
    let example = run(&mut repo.sipgen(&["example", "cluster-api"])).expect(0);
    let lines = example.stdout.split_inclusive('\n');
    let manifests: String = lines.filter(|line| !line.contains("spare-hosts")).collect();
    let manifests = manifests.replace("  annotations:\n    #", "    #");
    repo.write("edge.yaml", &manifests);

    let said = repo.generate(&[]).expect(1).stderr;

    let headline = "1 of the 4 ControlPlane hosts (1 of them for rollouts) of metal/edge";
    assert_says(&said, &[headline, "`maxSurge: 0`", "spare-hosts: \"0\"`"]);
    let annotated = example.stdout.replacen("spare-hosts: \"0\"", "spare-hosts: \"1\"", 1);
    repo.write("edge.yaml", &annotated);
    let said = repo.generate(&[]).expect(1).stderr;
    let help = "its annotation adds 1 host to its replicas: to go without, write `";
    assert_says(&said, &[headline, help, "(adds the hosts for rollouts)"]);
    assert!(!said.contains("`maxSurge"), "{said}");
    for manifests in [
        example.stdout.as_str(),
        &manifests.replace(
            "  replicas: 3\n",
            "  replicas: 3\n  rollout: {strategy: {rollingUpdate: {maxSurge: 0}}}\n",
        ),
    ] {
        repo.write("edge.yaml", manifests);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("metal", "edge").len(), 3);
    }
}

#[test]
fn a_machine_deployment_in_a_failure_domain_gets_hosts_of_it_only() {
    let repo = Repo::of_fixture("capm3");
    repo.replace(
        "clusters/edge/workers.yaml",
        "      version: v1.34.2\n",
        "      version: v1.34.2\n      failureDomain: hall-2\n",
    );

    let run = repo.generate(&[]).expect(1);
    let told = "its `failureDomain` matches no host (none has a label infrastructure.cluster.x-k8s.io/failure-domain";
    assert_says(&run.stderr, &["SIP0501", told]);

    let hosts = repo.read("hosts/hosts.yaml").replace(
        "    example.com/size: big",
        "    infrastructure.cluster.x-k8s.io/failure-domain: hall-2\n    example.com/size: big",
    );
    repo.write("hosts/hosts.yaml", &hosts);
    repo.generate(&[]).expect(0);
    assert_eq!(assigned(&repo).len(), 6);
}

#[test]
fn a_template_without_the_component_is_reported_after_the_first_assignment() {
    let repo = Repo::of_fixture("capm3");
    let run = repo.generate(&[]).expect(0);
    assert!(!run.stderr.contains("SIP0905"), "{}", run.stderr);
    repo.commit();

    let run = repo.generate(&["--check"]).expect(0);
    assert_says(
        &run.stderr,
        &["SIP0905", "`edge-cp`", "`edge-md.v1`", "overlays/tenants/tenant-a/edge/cluster-api"],
    );

    let kustomization = "clusters/edge/kustomization.yaml";
    let text = repo.read(kustomization);
    repo.write(
        kustomization,
        &format!("{text}components:\n  - ../../overlays/tenants/tenant-a/edge/cluster-api\n"),
    );
    let run = repo.generate(&["--check"]).expect(0);
    assert!(!run.stderr.contains("SIP0905"), "{}", run.stderr);
}

/// People label hosts with the role, not with the MachineDeployment.
#[test]
fn a_host_with_the_labels_of_a_role_serves_the_only_node_set_of_that_role() {
    let repo = Repo::of_fixture("capm3-suse-edge");
    repo.replace_behind(
        "hosts/hosts.yaml",
        "name: flc-6",
        "edge.example.com/rack: b\n",
        "edge.example.com/rack: b\n    cluster: dc1\n    cluster-role: worker\n",
    );
    let run = repo.generate(&[]).expect(0);
    assert_says(
        &run.stderr,
        &[
            "default/dc1 adds default/flc-3; adopts default/flc-1, default/flc-2, default/flc-5, default/flc-6",
        ],
    );
}

#[test]
fn a_sip_cluster_of_the_same_name_decides() {
    let repo = Repo::of_fixture("capm3");
    repo.write(
        "clusters/sip.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: tenant-a}\nspec:\n  nodes:\n    \
         ControlPlane:\n      labelSelector: {matchLabels: {example.com/size: small}}\n      count: {active: 3}\n    \
         Worker:\n      labelSelector: {matchLabels: {example.com/size: big}}\n      count: {active: 2}\n",
    );

    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &[
            "SIP0907",
            "Cluster API's objects need 4 ControlPlane hosts of tenant-a/edge, with those of a rollout, and the SIPCluster requests 3",
        ],
    );
    assert_eq!(
        assigned(&repo),
        [
            "m1: ControlPlane ",
            "m2: ControlPlane ",
            "m3: ControlPlane ",
            "m6: Worker ",
            "m7: Worker "
        ]
    );
}

#[test]
fn a_sip_cluster_that_selects_hosts_which_no_machine_can_claim_is_told() {
    let repo = Repo::of_fixture("capm3");
    let sip_cluster = |workers: &str| {
        format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: edge, namespace: tenant-a}}\nspec:\n  nodes:\n    \
             Worker:\n      labelSelector: {{matchLabels: {{example.com/size: {workers}}}}}\n      count: {{active: 3}}\n"
        )
    };
    repo.write("clusters/sip.yaml", &sip_cluster("small"));
    let run = repo.generate(&[]).expect(0);
    assert_says(
        &run.stderr,
        &[
            "SIP0907",
            "Machines of tenant-a/edge, edge-md (Worker), can claim none of the hosts that the SIPCluster selects as Worker",
        ],
    );
    repo.write("clusters/sip.yaml", &sip_cluster("big"));
    let run = repo.generate(&[]).expect(0);
    assert!(!run.stderr.contains("can claim none"), "{}", run.stderr);
}

#[test]
fn a_request_may_change_its_kind_without_moving_a_host() {
    let repo = Repo::of_fixture("capm3");
    repo.generate(&[]).expect(0);
    let before = assigned(&repo);
    repo.commit();
    repo.write(
        "clusters/sip.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: tenant-a}\nspec:\n  nodes:\n    \
         ControlPlane:\n      labelSelector: {}\n      count: {active: 3, standby: 1}\n    \
         Worker:\n      labelSelector: {}\n      count: {active: 2}\n",
    );
    repo.generate(&[]).expect(0);
    let names = |assigned: &[String]| -> Vec<String> {
        let name = |host: &String| host.split(':').next().unwrap().to_owned();
        assigned.iter().map(name).collect()
    };
    assert_eq!(names(&assigned(&repo)), names(&before));
    repo.commit();

    repo.remove("clusters/sip.yaml");
    repo.generate(&[]).expect(0);
    assert_eq!(assigned(&repo), before);
}

/// A ClusterClass that two Clusters share, in both contracts.
fn with_class(api: &str) -> Repo {
    let repo = Repo::of_fixture("capm3");
    for file in ["cluster.yaml", "control-plane.yaml", "workers.yaml", "kustomization.yaml"] {
        repo.remove(&format!("clusters/edge/{file}"));
    }
    let reference = |field: &str, kind: &str, name: &str| {
        let api = "infrastructure.cluster.x-k8s.io/v1beta1";
        format!("{{{field}: {{apiVersion: {api}, kind: {kind}, name: {name}}}}}")
    };
    let (field, infrastructure, class) = match api {
        "v1beta1" => {
            ("ref", "template: {infrastructure: ", "class: metal, classNamespace: tenant-a")
        }
        _ => {
            ("templateRef", "infrastructure: {x: ", "classRef: {name: metal, namespace: tenant-a}")
        }
    };
    let template = |name: &str| reference(field, "Metal3MachineTemplate", name);
    let worker = match api {
        "v1beta1" => format!("{infrastructure}{}}}", template("workers")),
        _ => format!("infrastructure: {}", template("workers")),
    };
    let control_plane = reference(field, "KubeadmControlPlaneTemplate", "cp");
    let control_plane = control_plane.trim_start_matches('{').trim_end_matches('}');
    let mut text = format!(
        "apiVersion: cluster.x-k8s.io/{api}\nkind: ClusterClass\nmetadata: {{name: metal, namespace: tenant-a}}\nspec:\n  \
         controlPlane: {{{control_plane}}}, machineInfrastructure: {}}}\n  \
         workers: {{machineDeployments: [{{class: small, {worker}}}]}}\n",
        template("cp"),
    );
    for (name, size) in [("cp", "small"), ("workers", "big")] {
        text += &format!(
            "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\nmetadata: {{name: {name}, namespace: tenant-a}}\n\
             spec: {{template: {{spec: {{hostSelector: {{matchLabels: {{example.com/size: {size}}}}}}}}}}}\n"
        );
    }
    text += "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nmetadata: {name: cp, namespace: tenant-a}\n\
             spec: {template: {spec: {rolloutStrategy: {rollingUpdate: {maxSurge: 1}}}}}\n";
    let no_spare = "metadata: {annotations: {sip.airshipit.org/spare-hosts: \"0\"}}";
    for name in ["east", "west"] {
        text += &format!(
            "---\napiVersion: cluster.x-k8s.io/{api}\nkind: Cluster\nmetadata: {{name: {name}, namespace: tenant-a}}\nspec:\n  topology:\n    \
             {}\n    version: v1.34.2\n    controlPlane: {{replicas: 1, {no_spare}}}\n    workers:\n      machineDeployments:\n      \
             - {{class: small, name: md-0, replicas: 1, {no_spare}}}\n",
            if api == "v1beta1" { class.replace(", ", "\n    ") } else { class.to_owned() },
        );
    }
    repo.write("clusters/all.yaml", &text);
    repo
}

#[test]
fn clusters_of_a_class_get_hosts_in_both_contracts() {
    for api in ["v1beta1", "v1beta2"] {
        let repo = with_class(api);
        repo.generate(&[]).expect(0);
        let assigned = assigned(&repo);
        let parts: Vec<&str> = assigned.iter().map(|host| &host[4..]).collect();
        let expected = ["ControlPlane ", "ControlPlane ", "Worker md-0", "Worker md-0"];
        assert_eq!(parts, expected, "{api}: {assigned:?}");
        assert!(!repo.exists("overlays/tenants"), "the class is not for one cluster");

        repo.replace("clusters/all.yaml", "maxSurge: 1", "maxSurge: 0");
        // Its webhook refuses this with one replica, but the number of hosts is clear.
        repo.generate(&["--check"]).expect(0);

        // An annotation of the Cluster itself does nothing.
        let of_class = repo.read("clusters/all.yaml");
        let no_spare = ", metadata: {annotations: {sip.airshipit.org/spare-hosts: \"0\"}}";
        let with_spare = of_class.replacen(no_spare, "", 1).replace("maxSurge: 0", "maxSurge: 1");
        let refused = (1..9).find_map(|replicas| {
            let replicas = format!("controlPlane: {{replicas: {replicas}}}");
            let text = with_spare.replacen("controlPlane: {replicas: 1}", &replicas, 1);
            repo.write("clusters/all.yaml", &text);
            let run = repo.generate(&[]);
            (run.code == 1).then_some(run.stderr)
        });
        let way = "annotate `metadata` of its topology with `sip.airshipit.org/spare-hosts: \"0\"`";
        assert_says(&refused.unwrap(), &[way]);
        repo.write("clusters/all.yaml", &of_class);
    }
}

#[test]
fn patches_of_a_class_change_the_rollout_of_its_control_planes() {
    let repo = with_class("v1beta1");
    let no_spare = ", metadata: {annotations: {sip.airshipit.org/spare-hosts: \"0\"}}";
    let class = repo.read("clusters/all.yaml").replacen(no_spare, "", 1);
    let strategy = "/spec/template/spec/rolloutStrategy";
    let surge = format!("op: replace, path: {strategy}/rollingUpdate/maxSurge");
    for (kind, patch, hosts) in [
        ("KubeadmControlPlaneTemplate", format!("{surge}, value: 0"), 4),
        (
            "KubeadmControlPlaneTemplate",
            format!("op: add, path: {strategy}, value: {{type: OnDelete}}"),
            4,
        ),
        ("KubeadmControlPlaneTemplate", format!("{surge}, valueFrom: {{variable: surge}}"), 4),
        ("KubeadmControlPlaneTemplate", format!("{surge}, valueFrom: {{variable: none}}"), 5),
        ("Metal3MachineTemplate", format!("{surge}, value: 0"), 5),
    ] {
        let patches = format!(
            "  variables: [{{name: surge, schema: {{openAPIV3Schema: {{default: 0}}}}}}]\n  \
             patches: [{{name: p, definitions: [{{selector: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, \
             kind: {kind}, matchResources: {{controlPlane: true}}}}, jsonPatches: [{{{patch}}}]}}]}}]\n  workers: {{"
        );
        repo.write("clusters/all.yaml", &class.replacen("  workers: {", &patches, 1));
        repo.generate(&[]).expect(0);
        assert_eq!(assigned(&repo).len(), hosts, "{kind}: {patch}");
    }
}

/// Cluster API gives annotations of a class to what it makes of it; those of a topology win.
#[test]
fn annotations_of_a_class_count_as_those_of_a_topology() {
    let most = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
    let annotations = format!("metadata: {{annotations: {{{most}: \"2\"}}}}");
    for api in ["v1beta1", "v1beta2"] {
        let repo = with_class(api);
        let file = "clusters/all.yaml";
        let infrastructure = if api == "v1beta1" { "template: {" } else { "class: small, " };
        let changed = repo.read(file).replacen(
            infrastructure,
            &format!("{infrastructure}{annotations}, "),
            1,
        );
        repo.write(file, &changed);
        let lacking = "1 of the 2 Worker hosts of tenant-a/west cannot be found";
        assert_says(
            &repo.generate(&[]).expect(1).stderr,
            &[lacking, "autoscaler-node-group-max-size: \"2\""],
        );

        let own = format!("annotations: {{{most}: \"1\", sip.airshipit.org/spare-hosts: \"0\"}}");
        let spare = "annotations: {sip.airshipit.org/spare-hosts: \"0\"}";
        repo.write(file, &changed.replace(spare, &own));
        repo.generate(&[]).expect(0);
        assert_eq!(assigned(&repo).iter().filter(|it| it.contains("md-0")).count(), 2, "{api}");
    }
}

#[test]
fn health_checks_of_a_class_or_topology_count_as_objects_do() {
    for (api, check) in [
        (
            "v1beta1",
            "machineHealthCheck: {remediationTemplate: {kind: Metal3RemediationTemplate, name: r}}",
        ),
        (
            "v1beta2",
            "healthCheck: {remediation: {templateRef: {kind: Metal3RemediationTemplate, name: r}}}",
        ),
    ] {
        let repo = with_class(api);
        let text = repo.read("clusters/all.yaml");
        let in_class = |start: &str| text.replacen(start, &format!("{start}{check}, "), 1);
        let in_topology = |start: &str| text.replace(start, &format!("{start}{check}, "));
        let (control_plane, deployment) = ("the control plane", "the MachineDeployment md-0");
        let of_class = in_class("  controlPlane: {");
        let disabled = check.split_once(':').map(|(field, _)| match api {
            "v1beta1" => format!("controlPlane: {{{field}: {{enable: false}}, replicas"),
            _ => format!("controlPlane: {{{field}: {{enabled: false}}, replicas"),
        });
        for (text, said) in [
            (text.clone(), None),
            (of_class.replace("controlPlane: {replicas", &disabled.unwrap()), None),
            (of_class.replace("Metal3Remediation", "OtherRemediation"), None),
            (of_class, Some(control_plane)),
            (in_class("[{class: small, "), Some(deployment)),
            (in_topology("    controlPlane: {"), Some(control_plane)),
            (in_topology("- {class: small, "), Some(deployment)),
        ] {
            repo.write("clusters/all.yaml", &text);
            let told = repo.generate(&[]).expect(0).stderr;
            let reported = [control_plane, deployment].map(|set| {
                told.contains(&format!(
                    "the MachineHealthCheck of the topology replaces Machines of {set}"
                ))
            });
            let expected = [control_plane, deployment].map(|set| said == Some(set));
            assert_eq!(reported, expected, "{text}\n{told}");
            // With a spare host, the next Machine has one.
            let no_spare = "sip.airshipit.org/spare-hosts: \"0\"";
            repo.write("clusters/all.yaml", &text.replace(no_spare, "x: y"));
            assert!(!repo.generate(&[]).stderr.contains("SIP0912"));
        }
    }
}

#[test]
fn an_annotation_on_an_object_that_does_not_read_it_is_refused() {
    let repo = with_class("v1beta2");
    let text = repo.read("clusters/all.yaml");
    let sip = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: sip, namespace: tenant-a}\n\
               spec: {nodes: {}}\n";
    for (key, is_of_request) in [
        ("assign-hosts", true),
        ("former-name", true),
        ("priority", true),
        ("hardware", false),
        ("max-per-domain", false),
        ("same-domain", false),
        ("spare-hosts", false),
        ("topology-spread-constraints", false),
        ("topology-key", false),
    ] {
        let annotation = format!("annotations: {{sip.airshipit.org/{key}: \"1\"");
        let on_request = |text: &str, name: &str| {
            text.replace(&format!("{{name: {name}, "), &format!("{{name: {name}, {annotation}}}, "))
        };
        let on_node_set = text.replacen("annotations: {", &format!("{annotation}, "), 1);
        let said = format!("the annotation `sip.airshipit.org/{key}` has no effect here");
        for (text, sip, is_request) in [
            (on_request(&text, "east"), sip.to_owned(), true),
            (text.clone(), on_request(sip, "sip"), true),
            (on_node_set, sip.to_owned(), false),
        ] {
            repo.write("clusters/all.yaml", &text);
            repo.write("clusters/sip.yaml", &sip);
            let told = repo.generate(&[]).stderr;
            assert_eq!(
                told.contains(&said),
                is_of_request != is_request,
                "{key}: {text}{sip}{told}"
            );
        }
    }
}

#[test]
fn machines_of_a_class_are_known_by_their_names() {
    let repo = with_class("v1beta2");
    snapshot(&repo, &[("m5", "west-x2k9p-7dkcw"), ("m8", "west-md-0-x2k9p-7dkcw-hv5rl")]);
    repo.remove("hosts/kustomization.yaml");
    repo.remove("hosts/hosts.yaml");

    repo.generate(&[]).expect(0);

    assert_eq!(
        repo.hosts_of("tenant-a", "west"),
        ["ControlPlane tenant-a/m5", "Worker tenant-a/m8"],
        "{:?}",
        assigned(&repo)
    );
}

#[test]
fn a_class_without_a_patch_for_its_hosts_is_reported() {
    let repo = with_class("v1beta2");
    repo.generate(&[]).expect(0);
    repo.commit();
    let run = repo.generate(&["--check"]).expect(0);
    assert_says(&run.stderr, &["SIP0905", "give the ClusterClass a patch"]);

    let page = repo_file("docs/how-to/cluster-class.md");
    let (_, patches) = page.split_once("```yaml\n# clusterclass.yaml\n").unwrap();
    let (patches, _) = patches.split_once("```").unwrap();
    let text = repo.read("clusters/all.yaml");
    let patches = patches.strip_prefix("spec:\n").unwrap();
    repo.write(
        "clusters/all.yaml",
        &text.replacen("  workers: {", &format!("{patches}  workers: {{"), 1),
    );
    let patched = repo.read("clusters/all.yaml");
    let conditional = |condition| format!("assigned-hosts\n      enabledIf: '{condition}'\n");
    let [enabled, disabled, unknown] =
        ["true", "{{ .builtin.cluster.name }}", "{{ if .bind }}true{{ end }}"].map(conditional);
    for (from, to, is_reported) in [
        ("spec", "spec", false),
        ("controlPlane: true", "infrastructureCluster: true", true),
        ("names: [\"*\"]", "names: [big, 's*l']", true),
        ("names: [\"*\"]", "names: [big, 'sm*']", false),
        ("names: [\"*\"]", "names: [big, '*all']", false),
        (
            "kind: Metal3MachineTemplate\n            match",
            "kind: Metal3Cluster\n            match",
            true,
        ),
        (
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n            kind",
            "apiVersion: x/v1\n            kind",
            true,
        ),
        ("value: ControlPlane", "value: Worker", true),
        ("{variable: builtin.cluster.name}", "{variable: name}", true),
        ("{variable: builtin.cluster.name}", "{template: '{{ .builtin.cluster.name }}'}", false),
        ("{variable: builtin.cluster.name}", "{template: '{{ .name }}'}", true),
        (
            "op: add\n              path: /spec/template/spec/hostSelector/matchLabels/sip.airshipit.org~1node-type",
            "op: remove\n              path: /spec/template/spec/hostSelector/matchLabels/sip.airshipit.org~1cluster-name",
            true,
        ),
        ("assigned-hosts\n", &enabled, false),
        ("assigned-hosts\n", &disabled, true),
        ("assigned-hosts\n", &unknown, true),
    ] {
        assert!(patched.contains(from), "{from}");
        repo.write("clusters/all.yaml", &patched.replacen(from, to, 1));
        let run = repo.generate(&["--check"]).expect(0);
        assert_eq!(run.stderr.contains("SIP0905"), is_reported, "{to}: {}", run.stderr);
    }
}

/// Patches decide which hosts the Machines of a class can get, as those of Cluster API do.
#[test]
fn patches_of_a_class_change_the_hosts_that_it_asks_for() {
    let selector = "/spec/template/spec/hostSelector";
    let size = "matchLabels/example.com~1size";
    let unknown = "which hosts the patch selects is unknown";
    let no_parent = "the patch does not apply to the Metal3MachineTemplate";
    // The template of the MachineDeployment asks for `example.com/size: big`.
    for (change, expected) in [
        (format!("op: replace, path: {selector}/{size}, value: small"), "small"),
        (format!("op: add, path: {selector}/{size}, valueFrom: {{variable: size}}"), "small"),
        (format!("op: add, path: {selector}/{size}, valueFrom: {{variable: host.size}}"), "small"),
        (
            format!(
                "op: add, path: {selector}/{size}, valueFrom: {{template: '{{{{ .preset }}}}'}}"
            ),
            "small",
        ),
        (format!("op: add, path: {selector}/{size}, valueFrom: {{variable: overridden}}"), "small"),
        (
            format!(
                "op: add, path: {selector}, value: {{matchLabels: {{example.com/size: small}}}}"
            ),
            "small",
        ),
        (
            format!(
                "op: add, path: {selector}/matchExpressions, value: [{{key: example.com/size, operator: notin, values: [big]}}]"
            ),
            "its selector matches no host",
        ),
        ("op: add, path: /spec/template/spec/image, value: {url: x}".to_owned(), "big"),
        (format!("op: add, path: {selector}/{size}, valueFrom: {{variable: other}}"), unknown),
        (
            format!(
                "op: add, path: {selector}/{size}, valueFrom: {{template: '{{{{ if .size }}}}x{{{{ end }}}}'}}"
            ),
            unknown,
        ),
        (format!("op: add, path: {selector}/other/x, value: small"), no_parent),
        (format!("op: remove, path: {selector}/matchLabels/other"), no_parent),
        (format!("op: replace, path: {selector}/matchExpressions/0, value: {{}}"), no_parent),
        (format!("op: add, path: {selector}/{size}, value: 5"), "that the API server refuses"),
    ] {
        let repo = with_class("v1beta2");
        let patch = format!(
            "  variables: [{{name: preset, schema: {{openAPIV3Schema: {{type: string, default: small}}}}}}]\n  \
             patches: [{{name: hosts, definitions: [{{selector: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, \
             kind: Metal3MachineTemplate, matchResources: {{machineDeploymentClass: {{names: [small]}}}}}}, \
             jsonPatches: [{{{change}}}]}}]}}]\n  workers: {{"
        );
        let given = "\n    variables: [{name: size, value: small}, {name: host, value: {size: small}}, \
                     {name: overridden, value: big}]\n    version";
        let text = repo.read("clusters/all.yaml").replacen("  workers: {", &patch, 1);
        let overrides = "name: md-0, variables: {overrides: [{name: overridden, value: small}]}";
        let text = text.replace("\n    version", given).replace("name: md-0", overrides);
        repo.write("clusters/all.yaml", &text);
        let run = repo.generate(&[]);
        if expected.len() > 5 {
            assert_says(&run.expect(1).stderr, &[expected]);
            continue;
        }
        run.expect(0);
        let hosts = repo.hosts_of("tenant-a", "east");
        let worker = hosts.iter().find(|host| host.starts_with("Worker")).unwrap();
        let name = worker.rsplit('/').next().unwrap();
        let manifest = repo.read("hosts/hosts.yaml");
        let (_, host) = manifest.split_once(&format!("name: {name}\n")).unwrap();
        let (_, size) = host.split_once("example.com/size: ").unwrap();
        assert_eq!(size.lines().next(), Some(expected), "{change}: {worker}");
    }
}

/// Of several documents of an object, the one that agents apply counts, wherever the others are.
#[test]
fn of_two_copies_of_an_object_the_one_of_a_build_counts() {
    for directory in ["archive", "zarchive"] {
        for (file, from, to) in [
            ("workers", "replicas: 2", "replicas: 1"),
            ("control-plane", "replicas: 3", "replicas: 1"),
            ("workers", "[big]", "[none]"),
        ] {
            let repo = Repo::of_fixture("capm3");
            repo.generate(&[]).expect(0);
            repo.commit();
            let before = assigned(&repo);
            let text = repo.read(&format!("clusters/edge/{file}.yaml")).replace(from, to);
            let text = text.replace("metadata:\n", "metadata:\n  namespace: tenant-a\n");
            let copy = format!("{directory}/{file}.yaml");
            repo.write(&copy, &text);
            let run = repo.generate(&[]).expect(0);
            assert_eq!(assigned(&repo), before, "{copy} {to}");
            assert_says(
                &run.stderr,
                &["SIP0349", "is there more than once, and no build reaches this one", &copy],
            );

            // In a snapshot, it is expected.
            repo.write(&copy, &text.replace("  namespace:", "  uid: x\n  namespace:"));
            let run = repo.generate(&[]).expect(0);
            assert_eq!(assigned(&repo), before, "{copy} {to}");
            assert!(!run.stderr.contains("SIP0349"), "{}", run.stderr);

            // Without builds, nothing tells which one counts.
            repo.write(&copy, &text);
            repo.remove("clusters/edge/kustomization.yaml");
            for file in ["cluster", "workers", "control-plane"] {
                let file = format!("clusters/edge/{file}.yaml");
                let named =
                    repo.read(&file).replace("metadata:\n", "metadata:\n  namespace: tenant-a\n");
                repo.write(&file, &named);
            }
            assert_says(
                &repo.generate(&[]).expect(1).stderr,
                &["SIP0201", "there are two ", &copy],
            );
        }
    }
}

/// As for hosts and requests: what stands in place of a MachineDeployment is no proof that it is gone.
#[test]
fn a_machine_deployment_that_is_not_read_keeps_its_hosts() {
    let repo = Repo::of_fixture("capm3");
    // A build that lists it is the only place where it may be.
    repo.remove("clusters/edge/kustomization.yaml");
    for file in ["cluster", "workers", "control-plane"] {
        let file = format!("clusters/edge/{file}.yaml");
        let named = repo.read(&file).replace("metadata:\n", "metadata:\n  namespace: tenant-a\n");
        repo.write(&file, &named);
    }
    repo.generate(&[]).expect(0);
    repo.commit();
    let file = "clusters/edge/workers.yaml";
    let text = repo.read(file);
    let (deployment, template) = text.split_once("---\n").unwrap();
    for (what, unread) in [
        (
            "a pointer of Git LFS",
            "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n".to_owned(),
        ),
        ("it is empty", String::new()),
        ("it is text", "hello\n".to_owned()),
        ("it is a list without `kind: List`", "- hello\n".to_owned()),
        ("it has no `kind`", deployment.replace("kind: MachineDeployment\n", "")),
        (
            "its `apiVersion` is not that",
            deployment.replace("cluster.x-k8s.io/", "cluster.x-k8s.io."),
        ),
    ] {
        repo.write(file, &format!("{unread}---\n{template}"));
        let whole = unread.is_empty() || unread.starts_with("version");
        if whole {
            repo.write(file, &unread);
        }
        let run = repo.generate(&[]).expect(1);
        assert_says(
            &run.stderr,
            &["SIP0017", "node set `edge-md` of `tenant-a/edge` is missing", what],
        );
    }
    repo.write(file, template);
    repo.generate(&[]).expect(0);
    assert!(!assigned(&repo).iter().any(|host| host.contains("Worker")), "{:?}", assigned(&repo));
}

/// The API server removes fields that are null.
#[test]
fn a_field_that_is_null_is_absent() {
    let whole = Repo::of_fixture("capm3");
    whole.generate(&[]).expect(0);
    for (file, from, to) in [
        (
            "workers",
            "    spec:\n      clusterName",
            "    metadata: null\n    spec:\n      clusterName",
        ),
        ("workers", "hostSelector:\n", "hostSelector:\n        matchLabels: null\n"),
        ("control-plane", "hostSelector:\n", "hostSelector:\n        matchExpressions: # none\n"),
        ("cluster", "spec:\n", "spec:\n  topology: null\n"),
    ] {
        let repo = Repo::of_fixture("capm3");
        let file = format!("clusters/edge/{file}.yaml");
        let text = repo.read(&file);
        assert!(text.contains(from), "{text}");
        repo.write(&file, &text.replace(from, to));
        repo.generate(&[]).expect(0);
        assert_eq!(assigned(&repo), assigned(&whole), "{file} {to}");
    }
}

/// A MachineDeployment beside a topology is one like any other.
#[test]
fn machine_deployments_beside_a_topology_get_hosts() {
    let repo = with_class("v1beta2");
    let deployment = |labels: &str, name: &str| {
        format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: {name}, namespace: tenant-a{labels}}}\n\
             spec: {{clusterName: east, replicas: 1, template: {{spec: {{clusterName: east, infrastructureRef: {{\
             apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, name: {name}}}}}}}}}\n---\n\
             apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\nmetadata: {{name: {name}, namespace: tenant-a}}\n\
             spec: {{template: {{spec: {{image: {{url: x}}}}}}}}\n"
        )
    };
    let no_spare = ", annotations: {sip.airshipit.org/spare-hosts: \"0\"}";
    repo.write("clusters/gpu.yaml", &deployment(no_spare, "gpu"));
    repo.generate(&[]).expect(0);
    assert!(
        assigned(&repo).iter().any(|host| host.ends_with("Worker gpu")),
        "{:?}",
        assigned(&repo)
    );

    // Two node sets of one name would share their labels.
    repo.write("clusters/gpu.yaml", &deployment(no_spare, "md-0"));
    assert_says(
        &repo.generate(&[]).expect(1).stderr,
        &["two MachineDeployments of the Cluster are called `md-0`"],
    );

    let made = ", labels: {topology.cluster.x-k8s.io/owned: \"\"}";
    repo.write("clusters/gpu.yaml", &deployment(made, "md-0"));
    repo.generate(&[]).expect(0);
    assert!(!assigned(&repo).iter().any(|host| host.contains("gpu")), "{:?}", assigned(&repo));
}

/// The order of a hand-over: Cluster API gives the host up, a snapshot shows it free, the other Cluster
/// gets it.
#[test]
fn a_host_moves_to_another_cluster_only_after_its_machine_is_gone() {
    let used = [
        ("m6", "edge-md-4k7zd-hv5rl"),
        ("m7", "edge-md-4k7zd-x2k9p"),
        ("m8", "edge-md-4k7zd-q8w6t"),
    ];
    let repo = observed(&used);
    repo.replace("clusters/edge/workers.yaml", "replicas: 2", "replicas: 3");
    repo.generate(&[]).expect(0);
    repo.commit();

    // The first Cluster needs one host less, and the second one wants it.
    repo.replace("clusters/edge/workers.yaml", "replicas: 3", "replicas: 2");
    for file in ["cluster.yaml", "workers.yaml", "kustomization.yaml"] {
        let text = repo.read(&format!("clusters/edge/{file}"));
        let text = text
            .replace("edge", "west")
            .replace("  - control-plane.yaml\n", "")
            .replace("replicas: 2", "replicas: 1")
            .replace(
                "  controlPlaneRef:\n    apiGroup: controlplane.cluster.x-k8s.io\n    kind: KubeadmControlPlane\n    name: west-cp\n",
                "",
            );
        repo.write(&format!("clusters/west/{file}"), &text);
    }
    let west = |repo: &Repo| repo.hosts_of("tenant-a", "west");
    let run = repo.generate(&["--keep-going"]).expect(1);
    assert_says(
        &run.stderr,
        &["SIP0908", "Worker hosts of tenant-a/west", "3 assigned to a cluster already"],
    );
    assert_eq!(west(&repo), [""; 0]);
    repo.commit();

    // Cluster API has deleted the Machine: the host is released, and still has its labels.
    snapshot(&repo, &used[..2]);
    repo.generate(&["--keep-going"]).expect(1);
    assert!(!assigned(&repo).iter().any(|host| host.starts_with("m8")));
    assert_eq!(west(&repo), [""; 0]);
    repo.commit();

    // The agent has removed the labels.
    let text = repo.read("inventory/hosts.yaml").replace(
        "  name: m8\n",
        "  name: m8\n  annotations: {sip.airshipit.org/given-back: pending-1}\n",
    );
    repo.write("inventory/hosts.yaml", &text);
    repo.generate(&[]).expect(0);
    assert_eq!(west(&repo), ["Worker tenant-a/m8"]);
}

/// Only kustomize knows what a transformer makes of the parts.
#[test]
fn a_build_that_only_kustomize_knows_is_an_error() {
    let repo = Repo::of_fixture("capm3");
    repo.write(
        "clusters/edge/workers/kustomization.yaml",
        "resources: [workers.yaml]\nnamespace: tenant-a\ntransformers: [change.yaml]\n",
    );
    repo.write(
        "clusters/edge/workers/change.yaml",
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: change}\npatch: '[{op: replace, path: /spec/replicas, value: 1}]'\n\
         target: {kind: MachineDeployment}\n",
    );
    let workers = repo.read("clusters/edge/workers.yaml");
    repo.write("clusters/edge/workers/workers.yaml", &workers);
    repo.remove("clusters/edge/workers.yaml");
    repo.replace("clusters/edge/kustomization.yaml", "  - workers.yaml\n", "");

    let run = repo.generate(&[]).expect(1);

    assert_says(&run.stderr, &["SIP0118"]);
    assert!(!repo.exists("overlays"));
}

/// Control planes of other providers, as their projects write them.
#[test]
fn control_planes_of_other_providers_request_hosts_by_their_machine_templates() {
    let reference = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, name: edge-cp}";
    for (kind, spec, hosts) in [
        (
            "RKE2ControlPlane",
            format!(
                "{{replicas: 3, version: v1.34.2+rke2r1, rolloutStrategy: {{rollingUpdate: {{maxSurge: 1}}}}, machineTemplate: {{infrastructureRef: {reference}}}}}"
            ),
            6,
        ),
        (
            "RKE2ControlPlane",
            format!(
                "{{replicas: 3, rolloutStrategy: {{rollingUpdate: {{maxSurge: 0}}}}, infrastructureRef: {reference}}}"
            ),
            5,
        ),
        (
            "RKE2ControlPlane",
            format!(
                "{{replicas: 1, rollout: {{strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 1}}}}}}, machineTemplate: {{spec: {{infrastructureRef: {reference}}}}}}}"
            ),
            4,
        ),
        (
            "K0sControlPlane",
            format!(
                "{{replicas: 3, version: v1.34.2+k0s.0, updateStrategy: Recreate, machineTemplate: {{infrastructureRef: {reference}}}}}"
            ),
            6,
        ),
        (
            "TalosControlPlane",
            format!("{{replicas: 3, version: v1.34.2, infrastructureTemplate: {reference}}}"),
            6,
        ),
        (
            "MicroK8sControlPlane",
            format!("{{replicas: 3, machineTemplate: {{infrastructureTemplate: {reference}}}}}"),
            6,
        ),
        // Its replicas are pods.
        ("KamajiControlPlane", "{replicas: 2, version: v1.34.2}".to_owned(), 2),
        ("K0smotronControlPlane", "{replicas: 3, version: v1.34.2-k0s.0}".to_owned(), 2),
    ] {
        let repo = Repo::of_fixture("capm3");
        let file = "clusters/edge/control-plane.yaml";
        let text = repo.read(file);
        let (_, template) = text.split_once("---\n").unwrap();
        repo.write(
            file,
            &format!(
                "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: edge-cp}}\nspec: {spec}\n---\n{template}"
            ),
        );
        repo.replace("clusters/edge/cluster.yaml", "KubeadmControlPlane", kind);

        let run = repo.generate(&[]).expect(0);

        assert_eq!(assigned(&repo).len(), hosts, "{kind} {spec}: {}", run.stderr);
    }
}

/// Labels in the style of guides that set them by hand: they select the hosts, and more hosts than the
/// Cluster needs may have them.
#[test]
fn hosts_that_are_labelled_by_hand_are_a_pool_to_choose_from() {
    let repo = Repo::of_fixture("capm3");
    let hosts = repo.read("hosts/hosts.yaml");
    let hosts = hosts
        .replace("example.com/size: small", "cluster-role: control-plane")
        .replace("example.com/size: big", "cluster-role: worker");
    repo.write("hosts/hosts.yaml", &hosts);
    repo.replace(
        "clusters/edge/control-plane.yaml",
        "example.com/size: small",
        "cluster-role: control-plane",
    );
    repo.replace("clusters/edge/workers.yaml", "key: example.com/size", "key: cluster-role");
    repo.replace("clusters/edge/workers.yaml", "[big]", "[worker]");

    repo.generate(&[]).expect(0);

    assert_eq!(assigned(&repo).len(), 6);
}

/// A repo with a SIPCluster for these hosts, and a Cluster that is no request.
fn with_pool(hosts: usize) -> Repo {
    let repo = Repo::of_fixture("capm3");
    repo.remove("sipgen.yaml");
    repo.write(
        "clusters/pool.yaml",
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: pool, namespace: tenant-a}}\n\
             spec: {{nodes: {{ControlPlane: {{labelSelector: {{}}, count: {{active: {hosts}}}}}}}}}\n"
        ),
    );
    repo
}

#[test]
fn machines_that_select_hosts_by_labels_of_assignments_claim_no_others() {
    let repo = with_pool(3);
    let small = "matchLabels:\n          example.com/size: small";
    let big = "key: example.com/size\n            operator: In\n            values: [big]";
    let [control_plane, workers] =
        ["control-plane", "workers"].map(|file| format!("clusters/edge/{file}.yaml"));
    let files = [repo.read(&control_plane), repo.read(&workers)];
    let name = "sip.airshipit.org/cluster-name";
    for (first, second, is_reported) in [
        (
            format!("matchLabels: {{{name}: pool}}"),
            format!("key: {name}\n            operator: in\n            values: [pool]"),
            false,
        ),
        (
            format!("matchLabels: {{{name}: other}}"),
            format!("key: {name}\n            operator: Exists"),
            false,
        ),
        (format!("matchLabels: {{{name}: pool}}"), big.to_owned(), true),
        (
            format!("matchLabels: {{{name}: pool}}"),
            format!("key: {name}\n            operator: NotIn\n            values: [other]"),
            true,
        ),
    ] {
        for kind in ["MachineDeployment", "MachineSet"] {
            repo.write(&control_plane, &files[0].replace(small, &first));
            repo.write(
                &workers,
                &files[1].replace(big, &second).replace("MachineDeployment", kind),
            );
            let told = repo.generate(&["--check"]).expect(1).stderr;
            // The hosts of the SIPCluster are small ones.
            let claims_assigned = is_reported && second != big;
            assert_eq!(
                told.contains("SIP0910"),
                claims_assigned,
                "{kind} {first} {second}: {told}"
            );
        }
    }
}

#[test]
fn a_cluster_that_is_no_request_and_cannot_be_read_is_told() {
    let repo = with_pool(1);
    repo.replace("clusters/edge/control-plane.yaml", "replicas: 3", "replicas: '3'");

    let told = repo.generate(&["--check"]).expect(1).stderr;

    let unknown = "the Cluster tenant-a/edge is no request, and which hosts it claims is unknown";
    assert_says(&told, &["warning[SIP0910]", unknown, "clusters/edge/control-plane.yaml:"]);
}

#[test]
fn clusters_that_share_a_template_are_refused() {
    let repo = Repo::of_fixture("capm3");
    let core = ["cluster", "control-plane"]
        .map(|file| repo.read(&format!("clusters/edge/{file}.yaml")))
        .join("---\n")
        .replace("name: edge\n", "name: core\n")
        .replace("replicas: 3", "replicas: 1");
    let core = core.split(
        "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3MachineTemplate",
    );
    let core = core.take(1).collect::<String>();
    // The control plane has another name, and the same template.
    repo.write(
        "clusters/core/all.yaml",
        &core.replacen("  name: edge-cp\nspec", "  name: core-cp\nspec", 1).replacen(
            "KubeadmControlPlane\n    name: edge-cp",
            "KubeadmControlPlane\n    name: core-cp",
            1,
        ),
    );
    repo.write("clusters/core/kustomization.yaml", "namespace: tenant-a\nresources: [all.yaml]\n");

    let told = repo.generate(&[]).expect(1).stderr;

    assert_says(
        &told,
        &[
            "SIP0906",
            "the Cluster tenant-a/core and the Cluster tenant-a/edge share the Metal3MachineTemplate `edge-cp`",
            "clusters/core/all.yaml:",
            "clusters/edge/cluster.yaml:",
        ],
    );
    // In another namespace, it is another template.
    repo.write("clusters/core/kustomization.yaml", "namespace: tenant-b\nresources: [all.yaml]\n");
    assert!(!repo.generate(&[]).expect(1).stderr.contains("SIP0906"));
}

#[test]
fn node_sets_with_rules_of_their_own_share_no_template() {
    for (annotation, is_refused) in [
        ("spare: '0'", false),
        ("topology-key: topology.example.com/rack", true),
        ("hardware: '{memory: 1Gi}'", true),
        ("same-domain: topology.example.com/rack", true),
        ("topology-spread-constraints: '[{\"topologyKey\": \"topology.example.com/rack\"}]'", true),
    ] {
        let repo = Repo::of_fixture("capm3");
        let file = "clusters/edge/workers.yaml";
        let workers = repo.read(file).replace("replicas: 2", "replicas: 1");
        let (set, _) = workers.split_once("---\n").unwrap();
        let annotated = "  name: edge-md2\n  annotations:\n    sip.airshipit.org/";
        let other = set.replacen("  name: edge-md", &format!("{annotated}{annotation}"), 1);
        repo.write(file, &format!("{workers}---\n{other}"));

        let run = repo.generate(&[]);

        assert_eq!(run.stderr.contains("SIP0906"), is_refused, "{annotation}: {}", run.stderr);
    }
}

/// Without other requests, nothing else would miss it.
#[test]
fn a_broken_cluster_that_opts_in_is_reported_like_any_request() {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: e\n  namespace: m\n  annotations:\n    \
                   sip.airshipit.org/assign-hosts: \"true\"\n";
    let conflict = format!("<<<<<<< HEAD\n{cluster}=======\n>>>>>>> other\n");
    let list = format!(
        "{{\"kind\": \"List\", \"items\": [{{\"kind\": \"Cluster\", \"apiVersion\": \"cluster.x-k8s.io/v1beta1\", \"metadata\": {{\"annotations\": {{\"{}\": \"true\"}}",
        "sip.airshipit.org/assign-hosts"
    );
    for text in [
        format!("{cluster}    note: owner: a\n"),
        format!("{cluster}\tnote: a\n"),
        format!("{cluster}  labels: [\n"),
        conflict,
        list,
    ] {
        let repo = Repo::of_hosts(1);
        repo.want("metal/other", 1);
        repo.write("c/cluster.yaml", &text);

        assert_says(&repo.refused(), &["error[SIP0101]", "c/cluster.yaml:"]);
    }
}

/// The component runs before Flux replaces variables.
#[test]
fn the_component_patches_objects_whose_names_are_variables() {
    for (name, pattern) in [("${C}", "..C."), ("${C:=prod}", "..C..prod."), ("x-${C}", "x-..C.")] {
        let repo = Repo::of_hosts(1);
        let name_of = |kind: &str, group: &str, spec: &str| {
            format!(
                "---\napiVersion: {group}/v1beta1\nkind: {kind}\nmetadata: {{name: \"{name}\", namespace: metal}}\nspec: {spec}\n"
            )
        };
        let reference = |kind: &str, group: &str| {
            format!("{{apiVersion: {group}/v1beta1, kind: {kind}, name: \"{name}\"}}")
        };
        let (core, own) = ("cluster.x-k8s.io", "controlplane.cluster.x-k8s.io");
        let infrastructure = "infrastructure.cluster.x-k8s.io";
        let (control_plane, template) = ("KubeadmControlPlane", "Metal3MachineTemplate");
        let cluster = format!("{{controlPlaneRef: {}}}", reference(control_plane, own));
        let machines = format!(
            "{{replicas: 1, version: v1.30.0, rolloutStrategy: {{rollingUpdate: {{maxSurge: 0}}}}, machineTemplate: \
             {{infrastructureRef: {}}}}}",
            reference(template, infrastructure)
        );
        let image = "{template: {spec: {image: {url: u, checksum: c}}}}";
        let objects = [
            name_of("Cluster", core, &cluster),
            name_of(control_plane, own, &machines),
            name_of(template, infrastructure, image),
        ];
        repo.write("c/objects.yaml", &objects.concat());
        repo.write("c/kustomization.yaml", "resources: [objects.yaml]\n");
        repo.write(
            "flux.yaml",
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: c, namespace: flux-system}\n\
             spec: {interval: 10m, path: ./c, prune: true, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: \
             {substitute: {C: prod}}}\n",
        );
        repo.write("sipgen.yaml", "gitops: flux\nrequests: {clusterAPI: {clusters: all}}\n");
        repo.generate(&[]).expect(0);
        let component = repo
            .files("overlays/tenants/metal")
            .into_iter()
            .find(|(file, _)| file.ends_with("cluster-api/kustomization.yaml"));
        let (file, text) = component.unwrap();
        assert_says(&text, &[&format!("name: \"{pattern}\"")]);

        let component = format!("tenants/metal/{}", file.trim_end_matches("/kustomization.yaml"));
        repo.write(
            "c/kustomization.yaml",
            &format!("resources: [objects.yaml]\ncomponents: [../overlays/{component}]\n"),
        );
        let said = repo.generate(&["--check"]).expect(0).stderr;
        assert!(!said.contains("SIP0905"), "{said}");
    }
}
