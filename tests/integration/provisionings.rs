//! Provisionings and Softwares: all the ways in which they come in, which host a machine is, and what is refused.

use insta::assert_snapshot;

use crate::support::scenes::provisionings::{
    DEPOT, HOSTS, machines, machines_by, validate, with_spec,
};
use crate::support::{Repo, assert_says, run};

const PRESS: &str = "clusters/press.yaml";

/// The site of the fixture, whose two masters and whose network for pods are what people have, and are warned of.
fn site() -> Repo {
    let repo = Repo::of_fixture("provisioning");
    let ignored = "findings:\n  ignore:\n    - {code: SIP0850, reason: a lab}\n    - {code: SIP0817, reason: our installer}\n";
    repo.write("sipgen.yaml", ignored);
    repo
}

#[test]
fn a_machine_is_the_host_of_its_mac_address_or_the_smallest_that_suffices() {
    let repo = site();

    assert_says(&validate(&repo, &["--strict"]).expect(0).stderr, &["no findings"]);
    let depot = ["master-1 lab/depot-01", "master-2 lab/depot-02", "worker-1 lab/depot-03"];
    assert_eq!(machines(&repo, "lab/depot"), depot);
    // The 16 CPUs of depot-07 are enough for body-3, and those of depot-04 in rack a are more than head-1 needs.
    let press = [
        "head-1 lab/depot-08",
        "body-1 lab/depot-05",
        "body-2 lab/depot-06",
        "body-3 lab/depot-07",
    ];
    assert_eq!(machines(&repo, "lab/press"), press);
}

/// Metal3 does not care, but the machines of a namespace belong to a tenant.
#[test]
fn a_machine_of_the_own_namespace_is_taken_before_an_equal_one_of_another() {
    for foreign in ["depot-05", "depot-07"] {
        let repo = Repo::empty();
        let host = |namespace: &str, name: &str, number: u8| {
            format!(
                "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: {namespace}, uid: u{number}}}\n\
                 spec: {{online: true, bootMACAddress: '00:00:5e:00:53:0{number}'}}\n\
                 status: {{provisioning: {{state: provisioned}}, hardware: {{cpu: {{count: 8}}, ramMebibytes: 16384, nics: [{{name: eno1, mac: '00:00:5e:00:53:0{number}', ip: 198.51.100.{number}}}]}}}}\n"
            )
        };
        repo.write("hosts.yaml", &[host("other", foreign, 1), host("lab", "depot-06", 2)].concat());
        let request = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p, namespace: lab, labels: {cluster: p}}\nspec: {masters: [{m1: {cpu: 2}}]}\n";
        repo.write("request.yaml", request);

        assert_eq!(machines(&repo, "lab/p"), ["m1 lab/depot-06"]);
    }
}

/// An installer on the node of another Cluster would destroy it.
#[test]
fn a_machine_whose_host_a_machine_of_cluster_api_uses_stops_the_installer() {
    let repo = site();
    repo.generate(&[]).expect(0);
    repo.commit();
    let before = repo.files("overlays");
    // The host of a machine that names it, and one that sipgen chose.
    for host in ["depot-01", "depot-05"] {
        let hosts = repo.read(HOSTS);
        let (others, own) = hosts.split_once(&format!("name: {host}\n")).unwrap();
        let consumer = "spec:\n      consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, name: m, namespace: lab}\n";
        repo.write(
            HOSTS,
            &format!("{others}name: {host}\n{}", own.replacen("spec:\n", consumer, 1)),
        );
        let run = repo.generate(&[]).expect(1);
        assert_says(&run.stderr, &["SIP0540", host, "is in use by a Machine of Cluster API"]);
        assert_eq!(repo.files("overlays"), before);
        repo.write(HOSTS, &hosts);
    }
}

#[test]
fn streams_revisions_and_sources_say_the_same_as_the_files() {
    let repo = site();
    repo.commit();
    let expected = machines(&repo, "lab/press");
    let text = |file: &str| repo.read(file);

    repo.write("rendered.txt", &[text(DEPOT), text(PRESS), text(HOSTS)].join("\n---\n"));
    assert_eq!(machines_by(&repo, "lab/press", &["--input", "rendered.txt"]), expected);

    repo.remove(PRESS);
    assert_eq!(machines_by(&repo, "lab/press", &["--rev", "HEAD"]), expected);

    repo.git(&["checkout", "--quiet", PRESS]);
    repo.write("sipgen.yaml", "sources:\n  - paths: [clusters/press.yaml, inventory/**]\n");
    assert_eq!(machines(&repo, "lab/press"), expected);
    assert!(!validate(&repo, &[]).expect(0).stdout.contains("depot"));
}

#[test]
fn a_kustomization_gives_the_namespace_and_may_rename() {
    let repo = site();
    for file in [DEPOT, PRESS] {
        repo.replace(file, "  namespace: lab\n", "");
    }
    repo.write(
        "clusters/kustomization.yaml",
        "namespace: lab\nresources: [depot.yaml, press.yaml]\n",
    );
    assert_eq!(machines(&repo, "lab/depot").len(), 3);
    validate(&repo, &["--strict"]).expect(0);

    repo.write(
        "clusters/kustomization.yaml",
        "namespace: lab\nnamePrefix: x-\nresources: [depot.yaml, press.yaml]\n",
    );
    // Its cluster is the one of the label, however it is called itself.
    assert_eq!(machines(&repo, "lab/depot").len(), 3);
    validate(&repo, &["--strict"]).expect(0);
}

#[test]
fn a_label_that_a_kustomization_adds_counts() {
    let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
    repo.replace(DEPOT, ", labels: {cluster: depot}", "");
    repo.write(
        "clusters/kustomization.yaml",
        "resources: [depot.yaml]\nlabels: [{pairs: {cluster: depot}}]\n",
    );
    assert_eq!(machines(&repo, "lab/depot"), ["head lab/depot-01"]);

    repo.write("sipgen.yaml", "sources:\n  - kustomization: clusters\n  - paths: [inventory/**]\n");
    assert_eq!(machines(&repo, "lab/depot"), ["head lab/depot-01"]);
}

#[test]
fn a_request_that_is_left_out_of_the_input_is_not_gone() {
    let repo = Repo::generated("provisioning");
    let input = [repo.read(DEPOT), repo.read(HOSTS)].join("\n---\n");
    repo.write("rendered.txt", &input);

    let run = repo.generate(&["--input", "rendered.txt"]).expect(1);

    assert_says(
        &run.stderr,
        &["error[SIP0013]: cluster lab/press is not in the input", "clusters/press.yaml:5:9"],
    );
    // And one that is gone gives its hosts back.
    repo.remove(PRESS);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("lab", "press"), Vec::<String>::new());
    assert_eq!(repo.hosts_of("lab", "depot").len(), 3);
}

#[test]
fn one_that_became_unreadable_keeps_its_hosts() {
    let repo = Repo::generated("provisioning");

    repo.replace(PRESS, "        cpu: 64\n", "        cpu: lots\n");
    assert_says(&repo.refused(), &["error[SIP0120]: `cpu` must be a whole number, found a string"]);

    repo.replace(PRESS, "        cpu: lots\n", "        cpu: {{ .Values.cpu }}\n");
    let message = repo.refused();
    assert_says(
        &message,
        &["error[SIP0112]: `lab/press` is missing, but may be a request that cannot be read"],
    );

    repo.replace(PRESS, "kind: Provisioning\n", "kind: provisioning\n");
    repo.replace(PRESS, "{{ .Values.cpu }}", "64");
    assert_says(
        &repo.refused(),
        &["error[SIP0114]", "write `kind: Provisioning`", "its cluster's hosts are released"],
    );

    repo.remove(PRESS);
    repo.remove(DEPOT);
    assert_says(&repo.refused(), &["error[SIP0003]", "Provisioning (bpa.akraino.org/v1alpha1)"]);
}

#[test]
fn one_with_braces_that_names_its_cluster_is_no_template() {
    let repo = site();
    // A new Provisioning, and the Software of a cluster.
    repo.replace(PRESS, "        cpu: 64\n", "        cpu: {{ cpus }}\n");
    repo.replace(DEPOT, "    - curl\n", "    - {{ shell }}\n");
    let expected = [
        "error[SIP0112]: the Provisioning of the cluster `press` cannot be read, and contains `{{`",
        "error[SIP0112]: the Software of the cluster `depot` cannot be read, and contains `{{`",
        "clusters/depot.yaml:38:7",
    ];
    assert_says(&validate(&repo, &[]).expect(1).stdout, &expected);
    // One with innocent braces, and the mistake elsewhere.
    repo.replace(DEPOT, "    - {{ shell }}\n", "    - curl # {{ x }}\n    - [\n");
    let said = validate(&repo, &[]).expect(1).stdout;
    assert_says(
        &said,
        &[
            "Software of the cluster `depot` cannot be read, and contains `{{`: ",
            "clusters/depot.yaml:40:",
        ],
    );
    repo.replace(DEPOT, "    - curl # {{ x }}\n    - [\n", "    - {{ shell }}\n");
    // One that can be read as YAML, and in a flow.
    repo.write(PRESS, "");
    repo.replace(DEPOT, "    - {{ shell }}\n", "    - '{{ shell }}': [1]\n");
    repo.replace(
        DEPOT,
        "  labels:\n    cluster: depot\nspec:\n  masterSoftware",
        "  labels: {\"cluster\": \"depot\"}\nspec:\n  masterSoftware",
    );
    assert_says(
        &validate(&repo, &[]).expect(1).stdout,
        &["error[SIP0112]: the Software of the cluster `depot`"],
    );

    // Those of others: in a chart, or with an open name.
    let site = site();
    let template =
        site.read(PRESS).replace("        cpu: 64\n", "        cpu: {{ .Values.cpu }}\n");
    site.write(
        "charts/a/templates/p.yaml",
        &template.replace("cluster: press", "cluster: {{ .Values.name }}"),
    );
    site.write("charts/b/Chart.yaml", "name: b\n");
    site.write(
        "charts/b/templates/p.yaml",
        &template.replace("cluster: press", "cluster: harbour"),
    );
    assert_says(&validate(&site, &["--strict"]).expect(0).stderr, &["no findings"]);
}

#[test]
fn objects_that_are_nearly_ours_are_told_and_those_of_others_are_not() {
    let repo = site();
    let object = |api_version: &str, kind: &str, spec: &str| {
        format!(
            "{api_version}\nkind: {kind}\nmetadata: {{name: x, namespace: lab}}\nspec: {spec}\n"
        )
    };
    for (api_version, kind, spec, help) in [
        (
            "apiVersion: bpa.akriano.org/v1alpha1",
            "Provisioning",
            "{}",
            "write `apiVersion: bpa.akraino.org/v1alpha1`",
        ),
        (
            "apiVersion: bpa.akraino.org/v1alpha1",
            "Provisionings",
            "{}",
            "write `kind: Provisioning`",
        ),
        (
            "apiVersion: icn.akraino.org/v1",
            "Software",
            "{}",
            "write `apiVersion: bpa.akraino.org/v1alpha1`",
        ),
        ("", "Provisioning", "{KUDPlugins: []}", "write `apiVersion: bpa.akraino.org/v1alpha1`"),
        ("", "software", "{masterSoftware: []}", "its cluster's machines lack its packages"),
    ] {
        repo.write("clusters/more.yaml", &object(api_version, kind, spec));
        assert_says(&validate(&repo, &[]).expect(1).stdout, &["error[SIP0114]", help]);
    }
    repo.write(
        "clusters/more.yaml",
        &object("apiVersion: bpa.akraino.org/v1", "Provisioning", "{}"),
    );
    assert_says(
        &validate(&repo, &[]).expect(1).stdout,
        &["error[SIP0114]: the Provisioning has the unknown apiVersion"],
    );

    // OpenShift has a Provisioning of Metal3, and a catalogue of whatever may have Software.
    for (api_version, kind) in [
        ("apiVersion: metal3.io/v1alpha1", "Provisioning"),
        ("apiVersion: karpenter.sh/v1alpha5", "Provisioner"),
        ("apiVersion: example.com/v1", "Software"),
        ("", "Software"),
        ("", "provisioning"),
    ] {
        repo.write(
            "clusters/more.yaml",
            &object(api_version, kind, "{akraino: bpa.akraino.org, cpu: [x]}"),
        );
        validate(&repo, &["--strict"]).expect(0);
    }
    repo.write("clusters/more.yaml", "kind: Software\nmetadata: [\n");
    validate(&repo, &["--strict"]).expect(0);
    repo.write(
        "clusters/more.yaml",
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: [\n",
    );
    assert_says(&validate(&repo, &[]).expect(1).stdout, &["error[SIP0101]"]);
}

#[test]
fn two_requests_of_one_cluster_are_refused_whatever_their_kinds() {
    let repo = site();
    repo.replace(PRESS, "cluster: press", "cluster: depot");
    assert_snapshot!(validate(&repo, &[]).expect(1).stdout, @r#"
    error[SIP0201]: there are two Provisionings lab/depot
      --> clusters/press.yaml:8:14
       |
     8 |     cluster: depot
       |              ^^^^^
      --> clusters/depot.yaml:9:14  (the other one)
       |
     9 |     cluster: depot
       |              -----
      help: if this one is an example, keep it; to exclude it, write in sipgen.yaml:
            sources: [{paths: ["!clusters/press.yaml"]}]
            otherwise give it another label `cluster` or namespace
    "#);

    let repo = site();
    repo.want("lab/depot", 1);
    assert_snapshot!(validate(&repo, &[]).expect(1).stdout, @r#"
    error[SIP0201]: a Provisioning and a SIPCluster ask for one cluster lab/depot
      --> clusters/lab.depot.yaml:3:34
       |
     3 | metadata: {namespace: lab, name: depot}
       |                                  ^^^^^
      --> clusters/depot.yaml:9:14  (the other one)
       |
     9 |     cluster: depot
       |              -----
      help: if this one is an example, keep it; to exclude it, write in sipgen.yaml:
            sources: [{paths: ["!clusters/lab.depot.yaml"]}]
            otherwise give it another name or namespace
    "#);
}

#[test]
fn mistakes_in_fields_are_told_with_their_places() {
    let repo = with_spec(
        "  masters:\n    - head: {mac-address: '00:00:5e:00:53:01', CPU: 4, memory: [16Gi]}\n  podsubnet: 10.0.0.0/8\n",
    );
    assert_snapshot!(validate(&repo, &[]).expect(1).stdout, @"
    error[SIP0345]: a Provisioning has the unknown field `CPU`
      --> clusters/depot.yaml:6:48
       |
     6 | … CPU: …
       |   ^^^
      help: write `cpu`, or remove `CPU`: the API server drops it without an error

    error[SIP0120]: `memory` must be a string, found a list
      --> clusters/depot.yaml:6:56
       |
     6 | … memory: …
       |   ^^^^^^
      help: fix the value; the API server refuses it

    error[SIP0345]: a Provisioning has the unknown field `podsubnet`
      --> clusters/depot.yaml:7:3
       |
     7 |   podsubnet: …
       |   ^^^^^^^^^
      help: write `PodSubnet`, or remove `podsubnet`: the API server drops it without an error
    ");
}

#[test]
fn what_is_wrong_with_hardware_is_told_once() {
    let repo = site();
    let text = "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {name: gone, namespace: lab}\nspec: {}\n";
    repo.write("inventory/gone.yaml", text);
    let said = validate(&repo, &[]).expect(0);
    assert_eq!(said.stdout.matches("warning[SIP0323]").count(), 1, "{}", said.stdout);

    repo.write("sipgen.yaml", "findings: {ignore: [{code: SIP0323, reason: later}]}\n");
    assert_says(&validate(&repo, &[]).expect(0).stderr, &["(1 warning muted)"]);
}

#[test]
fn names_and_numbers_of_other_types_are_told_in_their_own_words() {
    let repo = with_spec("  masters:\n    - 12: {cpu: 1}\n");
    assert_says(
        &validate(&repo, &[]).expect(1).stdout,
        &["error[SIP0803]", "quote the name of the machine"],
    );
    let repo = with_spec("  masters:\n    - m: {cpu: 100000000000000000000000000}\n");
    assert_says(
        &validate(&repo, &[]).expect(1).stdout,
        &["error[SIP0120]: `cpu` is too large for a number"],
    );
}

#[test]
fn what_nobody_would_want_in_a_file_is_refused_unseen() {
    for (text, code) in
        [("${IMAGE}", "SIP0111"), ("a\\u202eb", "SIP0113"), ("a\\u0007b", "SIP0113")]
    {
        let repo =
            with_spec(&format!("  masters: [{{head: {{cpu: 1}}}}]\n  KUDPlugins: [\"{text}\"]\n"));
        let said = validate(&repo, &[]).expect(1).stdout;
        assert_says(&said, &[code, "clusters/depot.yaml:6:16"]);
    }
}

#[test]
fn a_machine_in_both_lists_is_one_and_must_have_what_either_asks() {
    let repo = with_spec(
        "  masters: [{head: {mac-address: '00:00:5e:00:53:01', cpu: 8}}]\n  \
         workers: [{head: {mac-address: '0000.5E00.5301', cpu: 32, sriov: true}}]\n",
    );
    assert_snapshot!(validate(&repo, &[]).expect(0).stdout, @"
    warning[SIP0812]: `head` is host lab/depot-01 by its MAC address, which has 16 CPUs, and 32 are asked for; it has no network card with SR-IOV
      --> clusters/depot.yaml:5:14
       |
     5 |   masters: [{head: {mac-address: '00:00:5e:00:53:01', cpu: 8}}]
       |              ^^^^
      --> inventory/hosts.yaml:5:9  (lab/depot-01)
       |
     5 |   name: depot-01
       |         --------
      help: the MAC address decides: fix it or the requirements; without a mac-address, sipgen finds a host that meets the requirements
    ");
    assert_eq!(machines(&repo, "lab/depot"), ["head lab/depot-01"]);
}

#[test]
fn one_host_is_not_two_machines_by_two_of_its_cards() {
    let repo = with_spec(
        "  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n  \
         workers: [{body: {mac-address: '00:00:5e:00:53:02'}}, {head: {mac-address: '00:00:5e:00:53:02'}}]\n",
    );
    assert_snapshot!(validate(&repo, &[]).expect(1).stdout, @"
    error[SIP0803]: head is a master and a worker, with two MAC addresses
      --> clusters/depot.yaml:6:78
       |
     6 | …ess: '00:00:5e:00:53:02'}}, {head: {mac-address: '00:00:5e:00:53:02'}}]
       |                                                   ^^^^^^^^^^^^^^^^^^^
      --> clusters/depot.yaml:5:34  (the master's)
       |
     5 |   masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]
       |                                  -------------------
      help: rename the worker; or, if both are the same machine, remove its mac-address

    error[SIP0803]: `head` and `body` are the same host: lab/depot-01 has both MAC addresses
      --> clusters/depot.yaml:6:34
       |
     6 |   workers: [{body: {mac-address: '00:00:5e:00:53:02'}}, {head: {mac-address: '00:00:5e:00:53:02'}}]
       |                                  ^^^^^^^^^^^^^^^^^^^
      --> clusters/depot.yaml:5:34  (head)
       |
     5 |   masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]
       |                                  -------------------
      help: fix one of them; a machine that is master and worker has the same name in both lists
    ");
}

#[test]
fn a_mac_address_near_to_one_of_a_host_is_pointed_at() {
    let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:03'}}]\n");
    let said = validate(&repo, &[]).expect(1).stdout;
    assert_says(
        &said,
        &[
            "error[SIP0807]",
            "correct it: 00:00:5e:00:53:01 is one of lab/depot-01, 00:00:5e:00:53:02 is one of",
        ],
    );

    repo.write(HOSTS, &crate::support::live_host("depot-01", ""));
    let said = validate(&repo, &[]).expect(1).stdout;
    assert_says(
        &said,
        &["inspect the hosts and take a new snapshot: no network card is known of 1 host"],
    );

    repo.remove(HOSTS);
    assert_says(&validate(&repo, &[]).expect(1).stdout, &["add the host: a BareMetalHost with"]);
}

#[test]
fn a_declared_host_without_status_has_the_addresses_of_its_network_data() {
    let repo = Repo::of_fixture("quickstart");
    repo.remove(crate::support::EDGE);
    repo.write("sites/lab/clusters/kustomization.yaml", "resources: [depot.yaml]\n");
    let depot = "sites/lab/clusters/depot.yaml";
    repo.write(
        depot,
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\n\
         metadata: {name: p, namespace: tenant-a, labels: {cluster: depot}}\n\
         spec: {masters: [{head: {mac-address: 00-00-5E-00-53-0B}}]}\n",
    );
    validate(&repo, &["--strict"]).expect(0);
    assert_eq!(machines(&repo, "tenant-a/depot"), ["head tenant-a/lab-a1"]);

    // Without an address, nobody could install anything on it.
    repo.replace("sites/lab/hosts/rack-a.yaml", "        ip_address: 198.51.100.11\n", "");
    assert_says(
        &validate(&repo, &[]).expect(1).stdout,
        &["error[SIP0803]: `head` would have no address"],
    );
}

#[test]
fn devices_are_known_by_the_settings_too_and_wrong_models_are_refused() {
    let asks = "  masters: [{head: {qat: true}}]\n";
    let repo = with_spec(asks);
    repo.replace(HOSTS, "status:\n", "status:\n  provisioning: {state: provisioned}\n");
    repo.replace(HOSTS, "ip: 198.51.100.11", "ip: 198.51.100.11, model: 0x19A2 0x0710");
    assert_says(&validate(&repo, &[]).expect(1).stdout, &["without QuickAssist"]);

    repo.write("sipgen.yaml", "provisioning: {devices: {qat: ['0x19a2 0x0710']}}\n");
    validate(&repo, &["--strict"]).expect(0);

    repo.write("sipgen.yaml", "provisioning: {devices: {qat: [QuickAssist]}}\n");
    let said = validate(&repo, &[]).expect(1).stdout;
    assert_says(
        &said,
        &[
            "error[SIP0002]",
            "provisioning.devices.qat: invalid device model `QuickAssist`",
            "such as `0x8086 0x1572`",
        ],
    );
}

#[test]
fn packages_of_several_softwares_are_merged_and_each_mistake_is_told() {
    let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
    let software = |name: &str, spec: &str| {
        let text = format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\n\
             metadata: {{name: {name}, namespace: lab, labels: {{cluster: depot}}}}\nspec:\n{spec}"
        );
        repo.write(&format!("clusters/{name}.yaml"), &text);
    };
    software(
        "a",
        "  masterSoftware: [htop, {jq: {version: 1.50}}, g++, 'libc6:i386']\n  workerSoftware: []\n",
    );
    software("b", "  masterSoftware: [jq, htop, curl]\n");
    validate(&repo, &["--strict"]).expect(0);
    // To a build, 1.50 is 1.5, which is another version.
    let build = "resources: [a.yaml, b.yaml]\nlabels: [{pairs: {x: z}}]\n";
    repo.write("clusters/kustomization.yaml", build);
    let said = validate(&repo, &[]).expect(1).stdout;
    assert!(said.contains("SIP0101") && !said.contains("1.5"), "{said}");
    repo.remove("clusters/kustomization.yaml");

    software(
        "b",
        "  masterSoftware:\n    - jq: {version: 1.5}\n    - curl-\n    - {}\n    - {a: {}, b: {}}\n    - ''\n    \
         - vim: {version: ''}\n    - git: {version: --yes}\n    - [x]\n",
    );
    assert_snapshot!(validate(&repo, &[]).expect(1).stdout, @"
    error[SIP0120]: an item of `masterSoftware` must be a string, found a list
      --> clusters/b.yaml:13:7
       |
    13 |     - …
       |       ^
      help: fix the value; the API server refuses it
    ");
    repo.replace("clusters/b.yaml", "    - [x]\n", "    - git: {versoin: 1}\n");
    let parts = ["error[SIP0345]: a Software has the unknown field `versoin`", "write `version`"];
    assert_says(&validate(&repo, &[]).expect(1).stdout, &parts);
    repo.replace("clusters/b.yaml", "    - git: {versoin: 1}\n", "");
    assert_snapshot!(validate(&repo, &[]).expect(1).stdout, @"
    error[SIP0821]: the package `jq` is requested in version 1.5 and in 1.50
      --> clusters/b.yaml:6:7
       |
     6 |     - jq: {version: 1.5}
       |       ^^^^^^^^^^^^^^^^^^
      --> clusters/a.yaml:5:26  (the other one)
       |
     5 |   masterSoftware: [htop, {jq: {version: 1.50}}, g++, 'libc6:i386']
       |                          ---------------------
      help: choose one version

    error[SIP0821]: `curl-` is not a package name of apt
      --> clusters/b.yaml:7:7
       |
     7 |     - curl-
       |       ^^^^^
      help: write letters, digits, `+`, `-`, `.` and `_`, starting with a letter or digit and without a final dash; put a version below the name, as `version`

    error[SIP0821]: an entry has 0 packages instead of one
      --> clusters/b.yaml:8:7
       |
     8 |     - {}
       |       ^^
      help: write a dash before each package, and indent its `version` below it

    error[SIP0821]: an entry has 2 packages instead of one
      --> clusters/b.yaml:9:7
       |
     9 |     - {a: {}, b: {}}
       |       ^^^^^^^^^^^^^^
      help: write a dash before each package, and indent its `version` below it

    error[SIP0821]: a package has no name
      --> clusters/b.yaml:10:7
       |
    10 |     - ''
       |       ^^
      help: write letters, digits, `+`, `-`, `.` and `_`, starting with a letter or digit and without a final dash; put a version below the name, as `version`

    error[SIP0821]: the version of the package vim is empty
      --> clusters/b.yaml:11:7
       |
    11 |     - vim: {version: ''}
       |       ^^^^^^^^^^^^^^^^^^
      help: write it as apt shows it, such as `1.5+dfsg-1ubuntu0.1`; omit it for any version

    error[SIP0821]: `--yes` is not a version of the package `git`
      --> clusters/b.yaml:12:7
       |
    12 |     - git: {version: --yes}
       |       ^^^^^^^^^^^^^^^^^^^^^
      help: write it as apt shows it, such as `1.5+dfsg-1ubuntu0.1`; omit it for any version
    ");
}

#[test]
fn a_machine_with_both_roles_has_one_version_of_a_package() {
    let spec = "  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n";
    let worker = "  workers: [{body: {mac-address: '00:00:5e:00:53:02'}}]\n";
    let software = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\n\
         metadata: {name: tools, namespace: lab, labels: {cluster: depot}}\nspec:\n  masterSoftware: [{jq: {version: 1.5}}]\n  \
         workerSoftware: [{jq: {version: 1.6}}, curl]\n";

    // One that is both by both lists, and one that runs workloads because there are no workers.
    for workers in ["  workers: [{head: {}}]\n", ""] {
        let repo = with_spec(&format!("{spec}{workers}"));
        repo.write("clusters/tools.yaml", software);
        let said = validate(&repo, &[]).expect(1).stdout;
        assert_says(
            &said,
            &[
                "error[SIP0821]: the package `jq` is requested in version 1.6 and in 1.5",
                "tools.yaml:6:20",
            ],
        );
    }

    let repo = with_spec(&format!("{spec}{worker}"));
    repo.write("clusters/tools.yaml", software);
    repo.replace(HOSTS, "{mac: '00:00:5e:00:53:02', ip: 198.51.100.12}", "");
    let other = crate::support::host("depot-02", "  resourceVersion: \"1\"\n")
        .replace("namespace: metal", "namespace: lab")
        + "status: {hardware: {nics: [{mac: '00:00:5e:00:53:02', ip: 198.51.100.12}]}}\n";
    repo.write("inventory/other.yaml", &other);
    assert_says(&validate(&repo, &[]).expect(0).stderr, &[]);
}

#[test]
fn a_label_that_excludes_every_host_is_pointed_at_and_what_was_meant_is_said() {
    let repo = site();
    repo.replace(PRESS, "topology.example.com/rack: a", "topology.example.com/rak: a");

    let said = repo.refused();

    assert_says(
        &said,
        &[
            "error[SIP0501]: no host can be found for head-1 (ControlPlane) of lab/press: its selector matches no host \
             (none has a label topology.example.com/rak)",
            "clusters/press.yaml:17:13",
            "hosts have the label `topology.example.com/rack`",
        ],
    );
}

#[test]
fn where_a_label_leaves_hosts_the_selector_is_not_blamed() {
    let repo = site();
    repo.replace(PRESS, "        cpu: 8\n", "        cpu: 800\n");

    let said = repo.refused();

    assert_says(&said, &["none meets the requirements", "with fewer than 800 CPUs"]);
    assert!(!said.contains("did you mean"), "{said}");
}

#[test]
fn names_without_quotes_that_others_read_otherwise_are_told() {
    let spec =
        |name: &str| format!("  masters: [{{{name}: {{mac-address: '00:00:5e:00:53:01'}}}}]\n");
    for name in ["yes", "on", "no", "008", "2026-01-01"] {
        let repo = with_spec(&spec(name));
        let said = validate(&repo, &[]).expect(0).stdout;
        assert_says(
            &said,
            &[
                &format!("warning[SIP0826]: the machine's name `{name}` has no quotes"),
                "depot.yaml:5:14",
            ],
        );
        validate(&with_spec(&spec(&format!("'{name}'"))), &["--strict"]).expect(0);
    }
    for label in ["101", "on", "1e3"] {
        let repo = with_spec(&spec("head"));
        repo.replace(DEPOT, "cluster: depot", &format!("cluster: {label}"));
        let said = validate(&repo, &[]).expect(0).stdout;
        assert_says(
            &said,
            &[&format!(
                "warning[SIP0826]: the label `cluster: {label}` of the Provisioning has no quotes"
            )],
        );
        repo.replace(DEPOT, &format!("cluster: {label}"), &format!("cluster: '{label}'"));
        validate(&repo, &["--strict"]).expect(0);
    }
    for null in ["null", "~"] {
        let repo = with_spec(&spec("head"));
        repo.replace(DEPOT, "cluster: depot", &format!("cluster: {null}"));
        assert_says(
            &validate(&repo, &[]).expect(1).stdout,
            &["error[SIP0801]: the Provisioning has no label `cluster`"],
        );
    }
}

#[test]
fn a_label_for_a_device_that_says_neither_yes_nor_no_is_told() {
    let repo = with_spec("  masters: [{head: {qat: true}}]\n");
    let label = |value: &str| {
        let host = crate::support::host(
            "depot-01",
            &format!("  labels: {{bpa.akraino.org/qat: {value}}}\n"),
        );
        let status = "status: {provisioning: {state: provisioned}, hardware: {nics: [{mac: '00:00:5e:00:53:01', ip: 198.51.100.11}]}}\n";
        repo.write(HOSTS, &(host.replace("namespace: metal", "namespace: lab") + status));
        validate(&repo, &[]).stdout
    };
    assert_says(
        &label("'on'"),
        &["warning[SIP0827]: the label bpa.akraino.org/qat of host lab/depot-01", "qat: \"true\""],
    );
    assert_says(&label("'False'"), &["warning[SIP0827]", "qat: \"false\""]);
    assert_says(&label("yes"), &["warning[SIP0320]", "write bpa.akraino.org/qat: \"true\"\n"]);
    assert!(!label("'true'").contains("SIP0827"));
}

#[test]
fn numbers_that_are_too_large_are_told_at_their_fields() {
    for (field, number) in [
        ("cpu", "9223372036854775808"),
        ("cpu", "99999999999999999999"),
        ("memory", "99999999999999999999"),
    ] {
        let repo = with_spec(&format!("  masters:\n    - head:\n        {field}: {number}\n"));
        let said = validate(&repo, &[]).expect(1).stdout;
        let told = format!("error[SIP0120]: `{field}` is too large for a number");
        assert_says(&said, &[&told, "depot.yaml:7:"]);
        assert!(!said.contains("expected"), "{said}");
    }
    let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
    repo.write(
        "clusters/tools.yaml",
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {name: t, namespace: lab, labels: {cluster: \
         depot}}\nspec:\n  workerSoftware:\n    - jq: {version: 20240101123456789012345}\n",
    );
    let said = validate(&repo, &[]).expect(1).stdout;
    assert_says(&said, &["error[SIP0120]: `version` is too large for a number", "tools.yaml:6:21"]);
}

#[test]
fn what_to_do_is_said_in_the_words_of_provisionings() {
    let said = |spec: &str| validate(&with_spec(spec), &[]).expect(1).stdout;
    let nothing = said("  masters:\n    - head:\n");
    assert_says(
        &nothing,
        &[
            "machine `head` has neither a MAC address nor requirements",
            "write its `mac-address`, or its requirements",
        ],
    );
    let variable = said("  masters: [{head: {mac-address: '${MAC}'}}]\n");
    assert!(
        variable.contains("write the value itself, or give it in `postBuild.substitute` of the Flux Kustomization\n")
            && !variable.contains("Dex"),
        "{variable}"
    );

    let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
    repo.write(
        "clusters/tools.yaml",
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {name: t, namespace: lab, labels: {cluster: \
         depot}}\nspec:\n  masterSoftware:\n    - git:\n",
    );
    let said = validate(&repo, &[]).expect(1).stdout;
    assert_says(
        &said,
        &["`git` must be a mapping", "for any version, write only its name, without a colon"],
    );
}

#[test]
fn a_network_of_pods_goes_together_with_the_machines() {
    let with_network = |network: &str, machine: &str| {
        let repo =
            with_spec(&format!("  masters: [{{head: {{{machine}}}}}]\n  PodSubnet: {network}\n"));
        repo.write("sipgen.yaml", "provisioning: {image: registry.example.com/installer:1}\n");
        validate(&repo, &[]).expect(0).stdout
    };
    let named = "mac-address: '00:00:5e:00:53:01'";
    let said = with_network("198.51.100.0/28", named);
    assert_says(
        &said,
        &[
            "warning[SIP0817]",
            "contains the address 198.51.100.11 of `head`, which is host lab/depot-01",
        ],
    );
    assert_says(&with_network("0.0.0.0/0", named), &["warning[SIP0817]"]);
    assert_says(
        &with_network("fd00::/56", named),
        &["warning[SIP0817]", "is IPv6, but all machines have IPv4 addresses"],
    );
    for harmless in ["198.51.100.16/28", "10.244.0.0/16"] {
        assert_eq!(with_network(harmless, named), "");
    }
}

/// kubespray has networks of its own, and refuses most that overlap.
#[test]
fn a_network_of_pods_goes_together_with_the_network_of_services() {
    let [pods, services] =
        ["the pod network `10.233.64.0/18`", "the service network `10.233.0.0/18`"];
    let own = "the service network `10.244.0.0/16`";
    let overlap =
        |network: &str, services: &str| Some(format!("`PodSubnet: {network}` overlaps {services}"));
    let machine = |network: &str, address: &str| {
        Some(format!(
            "{network} contains the address {address} of `head`, which is host lab/depot-01"
        ))
    };
    for (network, settings, address, says) in [
        ("", "", "198.51.100.11", None),
        ("10.233.64.0/18", "", "198.51.100.11", None),
        ("10.233.0.0/18", "", "198.51.100.11", overlap("10.233.0.0/18", services)),
        ("10.233.10.0/24", "", "198.51.100.11", overlap("10.233.10.0/24", services)),
        ("10.233.0.0/16", "", "198.51.100.11", overlap("10.233.0.0/16", services)),
        ("10.244.0.0/18", "", "198.51.100.11", None),
        (
            "10.244.0.0/18",
            "kube_service_addresses: 10.244.0.0/16",
            "198.51.100.11",
            overlap("10.244.0.0/18", own),
        ),
        ("10.233.0.0/18", "kube_service_addresses: 10.244.0.0/16", "198.51.100.11", None),
        ("fd00::/56", "", "fd01::1", None),
        ("", "", "10.233.0.11", machine(services, "10.233.0.11")),
        ("", "", "10.233.64.11", machine(pods, "10.233.64.11")),
        ("10.244.64.0/18", "", "10.233.64.11", None),
        ("", "kube_pods_subnet: 10.244.64.0/18", "10.233.64.11", None),
        ("", "kube_service_addresses: 10.244.0.0/16", "10.233.0.11", None),
    ] {
        let repo = with_spec(&format!(
            "  masters: [{{head: {{mac-address: '00:00:5e:00:53:01'}}}}]\n  PodSubnet: '{network}'\n"
        ));
        repo.replace(HOSTS, "ip: 198.51.100.11", &format!("ip: '{address}'"));
        repo.write("sipgen.yaml", &format!("provisioning: {{variables: {{{settings}}}}}\n"));
        let said = validate(&repo, &[]).expect(0).stdout;
        let which = format!("{network} {settings} {address}: {said}");
        assert_eq!(said.contains("SIP0817"), says.is_some(), "{which}");
        assert!(says.is_none_or(|says| said.contains(&says)), "{which}");
    }
}

#[test]
fn a_machine_under_both_roles_may_have_its_body_in_one_of_the_lists() {
    for second in ["", " {}", " {mac-address: ''}", " {mac-address: '00:00:5e:00:53:01'}"] {
        let body = "{mac-address: '00:00:5e:00:53:01'}";
        for (masters, workers) in
            [(format!(" {body}"), second.to_owned()), (second.to_owned(), format!(" {body}"))]
        {
            let repo = with_spec(&format!(
                "  masters:\n    - head:{masters}\n  workers:\n    - head:{workers}\n"
            ));
            repo.write("sipgen.yaml", "provisioning: {installer: kud}\n");
            repo.generate(&[]).expect(0);
            assert_eq!(repo.hosts_of("lab", "depot").len(), 1, "{second}");

            let inventory = repo.read("overlays/clusters/lab/depot/installer/hosts.ini");
            let section = |name: &str| {
                let (_, rest) = inventory
                    .split_once(&format!("[{name}]\n"))
                    .unwrap_or_else(|| panic!("{inventory}"));
                rest.lines().next().unwrap_or_default().to_owned()
            };
            assert_eq!(
                (section("kube-master"), section("kube-node")),
                ("head".to_owned(), "head".to_owned())
            );
            assert_eq!(inventory.matches("ansible_ssh_host").count(), 1, "{inventory}");
        }
    }
}

/// Name and mode of the Job of `lab/press`, and whether its command only adds workers.
fn press_job(repo: &Repo) -> (String, String, bool) {
    repo.generate(&[]).expect(0);
    let job = repo.read("overlays/clusters/lab/press/installer/job.yaml");
    let after = |key: &str| {
        let line = job.lines().find(|line| line.trim().starts_with(key));
        line.unwrap_or_default().trim().trim_start_matches(key).trim().trim_matches('"').to_owned()
    };
    let mode = after("bpa.akraino.org/installed:").split(' ').next().unwrap().to_owned();
    let scales = ["--scale", "scale.yml"].iter().any(|word| job.contains(&format!("- \"{word}\"")));
    assert_eq!(job.contains("- \"cluster.yml\""), !scales && job.contains("ansible-playbook"));
    (after("name: \""), mode, scales)
}

#[test]
fn a_job_that_only_adds_workers_scales_and_a_repeated_run_keeps_it() {
    const PRESS: &str = "clusters/press.yaml";
    for settings in ["", "provisioning: {installer: kud, scale: true}\n"] {
        let repo = Repo::of_fixture("provisioning");
        repo.write("sipgen.yaml", settings);
        let first = press_job(&repo);
        assert_eq!((first.1.as_str(), first.2), ("full", false));
        assert_eq!(press_job(&repo), first);

        repo.replace_behind(
            "inventory/hosts.yaml",
            "      name: depot-04\n",
            "state: available",
            "state: provisioned",
        );
        repo.replace(PRESS, "    - body-3:\n", "    - body-4: {cpu: 8}\n    - body-3:\n");
        let said = run(&mut repo.sipgen(&["diff"])).stdout;
        assert_says(&said, &["which adds workers", "the installer adds workers to lab/press"]);
        assert_says(&said, &["installer: ", "addresses.yaml,"]);
        let scaled = press_job(&repo);
        assert_ne!(scaled.0, first.0);
        assert_eq!((scaled.1.as_str(), scaled.2), ("scale", true));
        assert_eq!(press_job(&repo), scaled, "a second run changes nothing");
        repo.generate(&["--check"]).expect(0);

        // Anything else is a full installation.
        repo.replace(PRESS, "    - body-4: {cpu: 8}\n", "");
        let removed = press_job(&repo);
        assert_eq!((removed.1.as_str(), removed.2), ("full", false));
        assert_eq!(removed.0, first.0, "the first Job is back");
        repo.replace(PRESS, "    - body-3:\n", "    - body-4: {cpu: 8}\n    - body-3:\n");
        repo.replace(PRESS, "10.245.0.0/16", "10.246.0.0/16");
        assert_eq!(press_job(&repo).1, "full", "another network needs more than `scale.yml`");
    }
}

#[test]
fn the_setting_to_scale_alone_runs_no_installer_of_kud_again() {
    let repo = Repo::of_fixture("provisioning");
    let name_and_mode = |settings: &str| {
        repo.write("sipgen.yaml", settings);
        let (name, mode, _) = press_job(&repo);
        (name, mode)
    };

    let (plain, mode) = name_and_mode("provisioning: {installer: kud}\n");

    assert_eq!(mode, "", "without the setting there is no record");
    let scaling = name_and_mode("provisioning: {installer: kud, scale: true}\n");
    assert_eq!(scaling, (plain, "full".to_owned()));
}

/// An image alone is one with the interface of KUD: nothing changes for those who have one.
#[test]
fn an_image_of_ones_own_keeps_the_command_of_kud() {
    let repo = Repo::of_fixture("provisioning");
    repo.write("sipgen.yaml", "provisioning: {image: example.com/kud:2}\n");

    let (name, ..) = press_job(&repo);

    assert!(name.starts_with("kud-press-"), "{name}");
    let job = repo.read("overlays/clusters/lab/press/installer/job.yaml");
    assert_says(&job, &["- \"./installer\"", "privileged: true", "example.com/kud:2"]);
    assert!(repo.exists("overlays/clusters/lab/press/installer/hosts.ini"));
}

#[test]
fn kubespray_refuses_plugins_of_kud() {
    let repo = Repo::of_fixture("provisioning");
    repo.replace(
        "clusters/depot.yaml",
        "spec:\n  masters",
        "spec:\n  KUDPlugins: [multus]\n  masters",
    );

    let said = repo.refused();

    assert_says(&said, &["SIP0821", "KUDPlugins", "clusters/depot.yaml:12", "installer: kud"]);
    repo.write("sipgen.yaml", "provisioning: {installer: kud}\n");
    repo.generate(&[]).expect(0);
}
