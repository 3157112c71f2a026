//! What is no mistake by itself, but surely not meant. Each rule has a repo that shows it in `fixtures/findings`; here
//! is when a rule speaks and when it does not, and that all commands agree.

use crate::support::{Repo, Run, assert_says, codes, live_host, run};

const EDGE: &str = "sites/lab/clusters/edge.yaml";
const RACK_C: &str = "sites/lab/hosts/rack-c.yaml";

#[track_caller]
fn validated(repo: &Repo, code: i32) -> String {
    run(&mut repo.sipgen(&["validate"])).expect(code).stdout
}

/// The line and column at which a text stands in a file, behind another text.
#[track_caller]
fn spot(repo: &Repo, file: &str, behind: &str, text: &str) -> String {
    let content = repo.read(file);
    let start = content.find(behind).unwrap_or_else(|| panic!("{file} does not have {behind:?}"));
    let at = start
        + content[start..].find(text).unwrap_or_else(|| panic!("{file} does not have {text:?}"));
    let line = content[..at].matches('\n').count() + 1;
    let column = at - content[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
    format!("{file}:{line}:{column}")
}

/// The line and column at which the value of a key stands, behind another text.
#[track_caller]
fn value(repo: &Repo, file: &str, behind: &str, key: &str) -> String {
    let place = spot(repo, file, behind, &format!("{key}: "));
    let (line, column) = place.rsplit_once(':').unwrap();
    format!("{line}:{}", column.parse::<usize>().unwrap() + key.len() + 2)
}

#[test]
fn what_is_meant_is_not_doubted() {
    for fixture in [
        "quickstart",
        "cluster-api",
        "custom-haproxy",
        "declared-and-snapshot",
        "external-secrets",
        "ipv6",
        "jump-host",
        "kustomize-namespaces",
        "load-balancers",
        "multi-cluster",
        "observed",
        "placement-handed-on",
        "placement-narrow-pool",
        "placement-two-tenants",
    ] {
        // Some have hosts of another namespace.
        for repo in [Repo::of_fixture(fixture), Repo::generated(fixture)] {
            let said = validated(&repo, 0);
            let codes = codes(&said);
            assert!(codes.iter().all(|code| *code == "SIP0522"), "{fixture}: {codes:?}");
        }
    }
}

#[test]
fn all_commands_say_the_same() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "flavor: worker\n", "flavor: workers\n");
    repo.replace(EDGE, "active: 1\n        standby: 1", "active: 0\n        standby: 0");

    let said = [
        run(&mut repo.sipgen(&["validate"])).expect(0).stdout,
        repo.generate(&["--check"]).expect(1).stderr,
        repo.generate(&[]).expect(0).stderr,
    ];

    for text in &said {
        assert_eq!(codes(text), ["SIP0250"], "{text}");
    }
}

#[test]
fn a_node_set_that_wants_no_host_yet_is_told_that_none_matches() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(
        EDGE,
        "        matchLabels:\n          hardware.example.com/flavor: worker\n",
        "        matchExpressions:\n          - {key: topology.example.com/rack, operator: Exists}\n          - key: \
         hardware.example.com/flavor\n            operator: In\n            values: [Workers]\n",
    );
    repo.replace(EDGE, "active: 1\n        standby: 1", "active: 0\n        standby: 0");

    let said = validated(&repo, 0);

    assert_eq!(codes(&said), ["SIP0250"], "{said}");
    let place = spot(&repo, EDGE, "operator: Exists}", "key: hardware");
    assert_says(&said, &[&format!("--> {place}"), "did you mean `worker`?"]);
}

#[test]
fn a_selector_that_no_longer_matches_the_hosts_of_a_cluster_is_told_where_it_stands() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "flavor: worker", "flavour: worker");

    let said = validated(&repo, 0);

    assert!(codes(&said).contains(&"SIP0250"), "{said}");
    let place = spot(&repo, EDGE, "Worker:", "hardware.example.com/flavour");
    assert_says(&said, &[&format!("--> {place}"), "`hardware.example.com/flavor`"]);
}

#[test]
fn what_an_error_says_is_not_said_again() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "flavor: worker", "flavour: worker");

    let said = validated(&repo, 1);

    assert_eq!(codes(&said), ["SIP0501"], "{said}");
    assert_eq!(
        codes(&repo.generate(&["--keep-going"]).expect(1).stderr),
        ["SIP0501"],
        "although it is frozen then"
    );
    let place = spot(&repo, EDGE, "Worker:", "hardware.example.com/flavour");
    assert_says(&said, &[&format!("--> {place}"), "did you mean that?"]);
}

#[test]
fn clusters_that_are_left_out_are_not_looked_at() {
    let repo = Repo::of_fixture("multi-cluster");
    repo.replace(
        "tenants/tenant-b/lab.yaml",
        "topologyKey: topology.example.com/rack",
        "topologyKey: example.com/rack",
    );

    // The hosts of all its clusters are in another namespace.
    assert_eq!(codes(&validated(&repo, 1)), ["SIP0261", "SIP0522"]);
    assert_eq!(codes(&repo.generate(&["--only", "tenant-a/edge"]).expect(0).stderr), ["SIP0522"]);
}

#[test]
fn a_topology_key_that_no_host_has_is_an_error() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(
        EDGE,
        "topologyKey: topology.example.com/rack",
        "topologyKeys: [topology.example.com/rack, example.com/room]",
    );

    let said = validated(&repo, 1);

    assert_eq!(said.matches("SIP0261").count(), 2, "one for each node set: {said}");
    assert_eq!(codes(&said), ["SIP0261"], "{said}");
    let place = spot(&repo, EDGE, "Worker:", "example.com/room");
    assert_says(&said, &[&format!("--> {place}")]);

    // Nothing is written, or with --keep-going only for others.
    repo.generate(&["--keep-going"]).expect(1);
    assert_eq!(repo.hosts_of("tenant-a", "edge"), [""; 0]);

    // Hosts of other node sets that have the label do not help.
    let label = "    hardware.example.com/flavor: control-plane\n";
    for rack in ["a", "b", "c"] {
        let file = format!("sites/lab/hosts/rack-{rack}.yaml");
        let room = format!("{label}    example.com/room: {rack}\n");
        repo.write(&file, &repo.read(&file).replace(label, &room));
    }
    let said = validated(&repo, 1);
    assert_eq!(said.matches("SIP0261").count(), 1, "{said}");
    assert_says(&said, &["no host available to Worker of `tenant-a/edge`"]);
}

#[test]
fn no_topology_key_is_refused_while_hosts_cannot_be_read() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "topologyKey: topology.example.com/rack", "topologyKey: example.com/room");
    repo.write("sites/lab/hosts/rack-a.yaml", "kind: BareMetalHost\nmetadata: [\n");

    assert_eq!(codes(&validated(&repo, 1)), ["SIP0101"]);
}

#[test]
fn a_network_that_no_worker_has_is_told_at_every_service_that_uses_it() {
    let repo = Repo::of_fixture("quickstart");
    for rack in ["a", "b", "c"] {
        let file = format!("sites/lab/hosts/rack-{rack}.yaml");
        repo.replace_behind(&file, "flavor: worker", "id: oam-ipv4", "id: storage");
    }

    let said = validated(&repo, 1);

    assert_eq!(codes(&said), ["SIP0252", "SIP0501"], "{said}");
    let balancer = value(&repo, EDGE, "loadBalancerWorker", "nodeInterfaceId");
    let jump_host = value(&repo, EDGE, "jumpHost", "nodeInterfaceId");
    let parts = [
        "no host available to Worker of `tenant-a/edge` has the network `oam-ipv4`",
        &format!("--> {balancer}"),
        &format!("--> {jump_host}"),
        "they have `storage`: set one of these ids",
    ];
    assert_says(&said, &parts);
}

#[test]
fn a_network_with_dhcp_is_not_taken_for_a_missing_one() {
    let repo = Repo::of_fixture("quickstart");
    for rack in ["a", "b", "c"] {
        let file = format!("sites/lab/hosts/rack-{rack}.yaml");
        repo.replace(&file, "type: ipv4\n", "type: ipv4_dhcp\n");
        let lines: Vec<String> = repo.read(&file).lines().map(str::to_owned).collect();
        let kept = lines.iter().filter(|line| !line.contains("ip_address"));
        repo.write(&file, &kept.map(|line| format!("{line}\n")).collect::<String>());
    }

    let said = validated(&repo, 1);

    assert_says(&said, &["has an address in the network `oam-ipv4`", "DHCP networks lack"]);
}

#[test]
fn the_secrets_of_a_snapshot_need_no_host() {
    let secret = |metadata: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: old, namespace: tenant-a{metadata}}}\nstringData:\n  \
             networkData: '{{\"networks\": [{{\"id\": \"oam-ipv4\"}}]}}'\n"
        )
    };
    let repo = Repo::of_fixture("quickstart");
    repo.write("snapshot/secrets.yaml", &secret(", uid: 5e0f7a52-8c49-4b4f-9d0a-9f1f8f0d1f11"));
    assert_eq!(validated(&repo, 0), "");

    repo.write("snapshot/secrets.yaml", &secret(""));

    assert_eq!(codes(&validated(&repo, 0)), ["SIP0323"]);
}

#[test]
fn a_key_of_another_secret_is_no_network_data() {
    let repo = Repo::of_fixture("quickstart");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: edge-kubeconfig, namespace: tenant-a}\nstringData:\n  \
                  value: |\n    apiVersion: v1\n    kind: Config\n";
    repo.write("tenants/kubeconfig.yaml", secret);

    // No build has a use for it, and it is in git all the same.
    assert_eq!(codes(&validated(&repo, 0)), ["SIP0343"]);
}

#[test]
fn what_is_no_id_of_a_network_is_not_shown() {
    let repo = Repo::of_fixture("quickstart");
    for rack in ["a", "b", "c"] {
        let file = format!("sites/lab/hosts/rack-{rack}.yaml");
        repo.replace(&file, "id: oam-ipv4", "id: \"not a name: hunter2\"");
    }

    let said = validated(&repo, 1);

    assert!(codes(&said).contains(&"SIP0252") && !said.contains("hunter2"), "{said}");
}

#[test]
fn a_missing_secret_is_told_at_its_name_beside_the_unused_one() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace_behind(
        RACK_C,
        "networkData:",
        "name: lab-c1-network-data",
        "name: lab-c1-networkdata",
    );

    let said = validated(&repo, 0);

    assert_eq!(codes(&said), ["SIP0323", "SIP0341"], "{said}");
    let place = spot(&repo, RACK_C, "networkData:", "lab-c1-networkdata");
    assert_says(&said, &[&format!("--> {place}"), "`tenant-a/lab-c1-network-data`"]);
}

/// The quickstart with a Service of somebody else's.
fn with_service(metadata: &str, port: u16) -> Repo {
    let repo = Repo::of_fixture("quickstart");
    let service = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {metadata}\n  spec:\n    \
         type: NodePort\n    ports:\n    - port: 443\n      nodePort: {port}\n"
    );
    repo.write("base/services.yaml", &service);
    repo
}

#[test]
fn a_service_of_the_repo_with_a_port_of_a_range_is_told_at_that_end_of_it() {
    for (port, place) in [(30080, "start"), (30081, "nodePortRange"), (30082, "end")] {
        let repo = with_service("{name: dashboard, namespace: monitoring}", port);

        let said = validated(&repo, 0);

        assert_eq!(codes(&said), ["SIP0410"], "{said}");
        let place = if place == "nodePortRange" {
            spot(&repo, EDGE, place, place)
        } else {
            value(&repo, EDGE, "nodePortRange", place)
        };
        let other = value(&repo, "base/services.yaml", "ports", "nodePort");
        assert_says(
            &said,
            &[&format!("--> {place}"), &format!("--> {other}"), "monitoring/dashboard"],
        );
    }
}

#[test]
fn a_live_copy_of_a_service_of_ours_is_no_clash() {
    let repo = with_service(
        "{name: jumphost-edge, namespace: tenant-a, uid: 5e0f7a52-8c49-4b4f-9d0a-9f1f8f0d1f11}",
        30022,
    );

    assert_eq!(validated(&repo, 0), "");
}

#[test]
fn a_service_without_a_node_port_is_nobodys_business() {
    let repo = Repo::of_fixture("quickstart");
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 30022}]}\n# no nodePort\n";
    repo.write("base/services.yaml", service);
    repo.write(
        "chart/templates/service.yaml",
        "kind: Service\nspec:\n  ports:\n  - nodePort: {{ .Values.port }}\n",
    );
    repo.write(
        "base/knative.yaml",
        "apiVersion: serving.knative.dev/v1\nkind: Service\nspec: {nodePort: 30022}\n",
    );

    assert_eq!(validated(&repo, 0), "");
}

#[test]
fn a_node_of_the_base_cluster_may_have_its_address() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "clusterIP: 192.0.2.10", "clusterIP: 198.51.100.31");
    assert_eq!(codes(&validated(&repo, 0)), ["SIP0312"]);

    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: lab-c1, namespace: tenant-a}\n";
    repo.write(
        "snapshot/hosts.yaml",
        &format!("{host}status: {{provisioning: {{state: externally provisioned}}}}\n"),
    );

    assert_eq!(validated(&repo, 0), "");
}

#[test]
fn a_directory_of_templates_that_is_there_and_empty() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "# ours\n\ntemplates: templates\n");
    std::fs::create_dir(repo.path().join("templates")).unwrap();

    let said = validated(&repo, 0);

    assert_eq!(codes(&said), ["SIP0701"], "{said}");
    assert_says(&said, &["`templates` has no files", "--> sipgen.yaml:3:12"]);
}

#[test]
fn nothing_is_doubted_while_an_input_cannot_be_read() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "flavor: worker", "flavour: worker");
    repo.write("sites/lab/hosts/rack-a.yaml", "kind: BareMetalHost\nmetadata: [\n");

    let Run { stdout, .. } = run(&mut repo.sipgen(&["validate"])).expect(1);

    assert!(!codes(&stdout).iter().any(|code| ["SIP0250", "SIP0323"].contains(code)), "{stdout}");
}

/// Machines of others take any host of their namespace, also one with labels of a cluster.
#[test]
fn hosts_that_machines_of_others_claim_are_counted() {
    let repo = Repo::of_hosts(3);
    let set = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineSet\nmetadata: {name: ms, namespace: metal}\n\
               spec:\n  clusterName: e\n  replicas: 2\n  template:\n    spec:\n      clusterName: e\n      \
               infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, name: e}\n\
               ---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\n\
               metadata: {name: e, namespace: metal}\nspec: {template: {spec: {image: {url: u, checksum: c}}}}\n";
    repo.write("machines.yaml", set);
    repo.want("metal/one", 2);
    let told = repo.generate(&[]).expect(0).stderr;
    assert_says(
        &told,
        &[
            "SIP0910",
            "the MachineSet metal/ms",
            "claims 2 of the 3 unused hosts",
            "requests get 2, which leaves 1: too few",
        ],
    );
    // A MachineDeployment claims them as well, unless its Cluster is known.
    repo.write("machines.yaml", &set.replace("MachineSet", "MachineDeployment"));
    let told = repo.generate(&[]).expect(0).stderr;
    assert_says(&told, &["SIP0910", "the MachineDeployment metal/ms", "claims 2 of the 3"]);
    // So does a control plane whose Cluster may be none of the inputs.
    let (_, template) = set.split_once("---\n").unwrap();
    let plane = format!(
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\n\
         metadata: {{name: ms, namespace: metal}}\nspec:\n  replicas: 2\n  machineTemplate:\n    infrastructureRef: \
         {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, name: e}}\n---\n{template}"
    );
    repo.write("machines.yaml", &plane);
    let told = repo.generate(&[]).expect(0).stderr;
    assert_says(&told, &["SIP0910", "the KubeadmControlPlane metal/ms", "claims 2 of the 3"]);
    let known = "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: e, namespace: metal}\n\
                 spec: {}\n";
    let labelled = |cluster: &str| {
        let label = format!("{{name: ms, labels: {{cluster.x-k8s.io/cluster-name: {cluster}}},");
        plane.replace("{name: ms,", &label) + known
    };
    for (text, is_counted) in
        [(plane.clone() + known, false), (labelled("e"), false), (labelled("gone"), true)]
    {
        repo.write("machines.yaml", &text);
        let told = repo.generate(&[]).expect(0).stderr;
        assert_eq!(told.contains("the KubeadmControlPlane metal/ms"), is_counted, "{text}: {told}");
    }
    // Those that another object claims are not left for it.
    let other = set.replace("name: ms,", "name: other,").replace("replicas: 2", "replicas: 1");
    repo.write("other.yaml", other.split("---\n").next().unwrap());
    repo.want("metal/one", 1);
    repo.write("machines.yaml", set);
    let told = repo.generate(&[]).expect(0).stderr;
    for (object, machines, others) in [("ms", 2, 1), ("other", 1, 2)] {
        let claim = format!(
            "the MachineSet metal/{object} is no request of sipgen, and claims {machines} of the 3 unused hosts of its \
             namespace, because it has no `hostSelector`; requests get 1, which leaves 2: too few, because other \
             objects claim {others} of them"
        );
        assert_says(&told, &[&claim]);
    }
    repo.remove("other.yaml");
    repo.want("metal/one", 2);
    // What it selects is unknown without its template.
    for kind in ["MachineSet", "MachineDeployment"] {
        let alone = set.split("---\n").next().unwrap().replace("MachineSet", kind);
        repo.write("machines.yaml", &alone);
        let unknown = format!(
            "the {kind} metal/ms is no request, and which hosts it claims is unknown: the Metal3MachineTemplate `e` is \
             not in the inputs"
        );
        assert_says(&repo.generate(&[]).expect(0).stderr, &["SIP0910", &unknown]);
    }
    // OpenShift's Machines are as greedy.
    let openshift = |kind: &str, spec: &str| {
        let provider = "providerSpec: {value: {apiVersion: baremetal.cluster.k8s.io/v1alpha1, kind: \
                        BareMetalMachineProviderSpec, hostSelector: {}}}";
        format!(
            "apiVersion: machine.openshift.io/v1beta1\nkind: {kind}\nmetadata: {{name: ms, namespace: metal}}\nspec: {}\n",
            spec.replace("PROVIDER", provider)
        )
    };
    for (kind, spec, machines) in [
        ("MachineSet", "{replicas: 2, template: {spec: {PROVIDER}}}", 2),
        ("Machine", "{PROVIDER}", 1),
    ] {
        let object = openshift(kind, spec);
        repo.write("machines.yaml", &object);
        let said =
            format!("the {kind} metal/ms is no request of sipgen, and claims {machines} of the 3");
        assert_says(&repo.generate(&[]).expect(0).stderr, &["SIP0910", &said]);
        for other in [
            object.replace("BareMetalMachineProviderSpec", "AWSMachineProviderConfig"),
            object.replace("hostSelector: {}", "hostSelector: {matchLabels: {pool: x}}"),
            object.replace("namespace: metal", "namespace: other"),
        ] {
            repo.write("machines.yaml", &other);
            let told = repo.generate(&[]).expect(0).stderr;
            assert!(!told.contains("SIP0910"), "{other}: {told}");
        }
    }
    // Only an owner that is known claims hosts for it.
    let owned = |owner: &str| {
        set.replace("{name: ms,", &format!("{{name: ms, ownerReferences: [{{kind: {owner}}}],"))
    };
    for (owner, is_counted) in [
        ("MachineDeployment, name: md", true),
        ("Cluster, name: e", true),
        ("Metal3MachineTemplate, name: e", false),
    ] {
        repo.write("machines.yaml", &owned(owner));
        let told = repo.generate(&[]).expect(0).stderr;
        assert_eq!(told.contains("SIP0910"), is_counted, "{owner}: {told}");
    }
    repo.write("machines.yaml", set);

    // Its Machines have hosts already.
    let used = |name: &str| {
        live_host(name, "").replace(
            "spec:\n",
            "spec:\n  consumerRef: {kind: Metal3Machine, name: m, namespace: metal}\n",
        )
    };
    repo.write("snapshot/used.yaml", &(used("x") + &used("y")));
    let told = repo.generate(&[]).expect(0).stderr;
    assert!(!told.contains("SIP0910"), "{told}");
    let used = used("x").replace("kind: Metal3Machine, name: m,", "kind: Machine, name: ms,");
    repo.write("snapshot/used.yaml", &used);
    for (kind, spec) in
        [("MachineSet", "{replicas: 1, template: {spec: {PROVIDER}}}"), ("Machine", "{PROVIDER}")]
    {
        repo.write("machines.yaml", &openshift(kind, spec));
        let told = repo.generate(&[]).expect(0).stderr;
        assert!(!told.contains("SIP0910"), "{kind}: {told}");
    }
}
