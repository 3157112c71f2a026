//! Snapshots of a real API server.

use crate::support::api_server::ApiServer;
use crate::support::{Repo, Run, run};

/// A text that no file and no message may have.
const CANARY: &str = "c4nary-hunter2";
/// Its base64, without the end that depends on what follows.
const CANARY_IN_BASE64: &str = "YzRuYXJ5LWh1bnRlcj";

/// Runs `sipgen snapshot` as a user who may read everything.
fn snapshot(repo: &Repo, server: &ApiServer, arguments: &[&str]) -> Run {
    let mut command = repo.sipgen(&["snapshot", "--kubeconfig"]);
    run(command.arg(server.kubeconfig("human")).args(arguments))
}

/// A host with its network data and its BMC's credentials.
fn host(namespace: &str, name: &str, address: u8) -> String {
    // A host that is paused cannot be taken.
    let paused =
        if namespace == "canary" { "baremetalhost.metal3.io/paused" } else { "example.com/other" };
    format!(
        "---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  namespace: {namespace}
  name: {name}
  labels: {{example.com/rack: r{address}}}
  annotations: {{note: {CANARY}, {paused}: {CANARY}}}
spec:
  online: true
  description: {CANARY}
  bmc: {{address: 'redfish://admin:{CANARY}@10.1.0.{address}/redfish/v1/Systems/1?token={CANARY}', credentialsName: {name}-bmc}}
  bootMACAddress: 52:54:00:00:00:{address:02x}
  networkData: {{name: {name}-net}}
  userData: {{name: {name}-user}}
  metaData: {{name: {name}-meta}}
---
apiVersion: metal3.io/v1alpha1
kind: HardwareData
metadata: {{namespace: {namespace}, name: {name}, annotations: {{note: {CANARY}}}}}
spec:
  hardware:
    cpu: {{arch: x86_64, count: 8, model: Xeon Gold, flags: [vmx, avx512f]}}
    firmware: {{bios: {{date: {CANARY}, version: '1.2'}}}}
    hostname: {CANARY}
    ramMebibytes: 4096
    systemVendor: {{manufacturer: Example, serialNumber: S1}}
    nics: [{{name: eno1, mac: '52:54:00:00:00:{address:02x}', ip: 10.0.0.{address}, model: '0x8086 0x1572'}}]
    storage: [{{name: /dev/sda, serialNumber: {CANARY}, wwn: {CANARY}, sizeBytes: 1000, type: SSD}}]
---
apiVersion: v1
kind: Secret
metadata: {{namespace: {namespace}, name: {name}-net, labels: {{x: {CANARY}}}, annotations: {{note: {CANARY}}}}}
stringData:
  password: {CANARY}
  value: {CANARY}
  networkData: '{{\"links\": [{{\"id\": \"eno1\", \"password\": \"{CANARY}\", \"ethernet_mac_address\": \"52:54:00:00:00:{address:02x}\"}}],
    \"networks\": [{{\"id\": \"oam\", \"link\": \"eno1\", \"ip_address\": \"10.0.0.{address}/24\", \"key\": \"{CANARY}\"}}], \"services\": [\"{CANARY}\"]}}'
---
apiVersion: v1
kind: Secret
metadata: {{namespace: {namespace}, name: {name}-bmc, annotations: {{note: {CANARY}}}}}
stringData: {{username: {CANARY}, password: {CANARY}, networkData: {CANARY}}}
---
apiVersion: v1
kind: Secret
metadata: {{namespace: {namespace}, name: {name}-user}}
stringData: {{value: {CANARY}, userData: {CANARY}}}
"
    )
}

fn create(server: &ApiServer, namespace: &str, hosts: u8) {
    server.apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"));
    server.apply(
        &(1..=hosts)
            .map(|number| host(namespace, &format!("h{number}"), number))
            .collect::<String>(),
    );
}

/// Sets what Metal3 reports of a host.
fn report(server: &ApiServer, namespace: &str, name: &str, status: &str) {
    let mut command = server.kubectl("baremetal-operator");
    command.args([
        "--namespace",
        namespace,
        "patch",
        "baremetalhost",
        name,
        "--subresource=status",
        "--type=merge",
    ]);
    run(command.args(["--patch", &format!("{{\"status\": {status}}}")])).expect(0);
}

const AVAILABLE: &str = r#"{"errorCount": 0, "errorMessage": "", "hardwareProfile": "", "operationalStatus": "OK",
    "poweredOn": true, "provisioning": {"ID": "", "state": "available"}}"#;

#[test]
fn no_value_of_a_secret_reaches_a_file_but_network_data() {
    let server = ApiServer::shared();
    create(server, "canary", 3);
    report(
        server,
        "canary",
        "h1",
        &AVAILABLE.replace("\"errorMessage\": \"\"", &format!("\"errorMessage\": \"{CANARY}\"")),
    );
    let repo = Repo::empty();

    let runs =
        [&["--namespace=canary"] as &[&str], &["--namespace=canary", "--check"], &["--rbac"]]
            .map(|arguments| snapshot(&repo, server, arguments).expect(0));

    let files = repo.files("snapshot");
    let texts: Vec<&String> =
        files.values().chain(runs.iter().flat_map(|run| [&run.stdout, &run.stderr])).collect();
    assert!(
        files["canary.yaml"].contains("10.0.0.3")
            && files["canary.yaml"].contains("kind: \"HardwareData\"")
            && files["canary.yaml"].contains("avx512f")
            && files["canary.yaml"].contains("Xeon Gold")
            && files["canary.yaml"].contains("SSD")
    );
    for text in texts {
        assert!(!text.contains(CANARY) && !text.contains(CANARY_IN_BASE64), "{text}");
    }
    for volatile in ["creationTimestamp", "resourceVersion", "generation", "poweredOn", "time:"] {
        assert!(!files["canary.yaml"].contains(volatile), "{volatile}");
    }
}

#[test]
fn only_secrets_with_network_data_are_read_and_by_name() {
    let server = ApiServer::shared();
    create(server, "named", 2);
    let repo = Repo::empty();
    snapshot(&repo, server, &["--namespace=named"]).expect(0);
    let asked = server
        .requests()
        .into_iter()
        .filter(|request| request.user == "human" && request.namespace == "named");
    let mut asked: Vec<_> =
        asked.map(|request| (request.resource, request.verb, request.name)).collect();
    asked.sort();
    asked.dedup();
    let get = |name: &str| ("secrets".to_owned(), "get".to_owned(), name.to_owned());
    assert_eq!(asked, ["h1-net", "h2-net"].map(get));
}

#[test]
fn planning_takes_hosts_from_a_snapshot_and_a_check_says_what_a_new_one_changes() {
    let server = ApiServer::shared();
    create(server, "events", 3);
    (1..=3).for_each(|number| report(server, "events", &format!("h{number}"), AVAILABLE));
    let repo = Repo::empty();
    repo.write(
        "sipgen.yaml",
        "snapshot: {directory: live, namespaces: [events], splitBy: example.com/rack}\n",
    );
    repo.want("events/edge", 1);
    snapshot(&repo, server, &[]).expect(0);
    repo.generate(&[]).expect(0);
    repo.commit();
    assert!(repo.exists("live/r1.yaml") && repo.exists("live/r3.yaml"));
    assert!(repo.generate(&["--check"]).expect(0).stderr.contains("1 host assigned"));
    let run = snapshot(&repo, server, &["--check"]).expect(0);
    assert!(run.stderr.contains("the snapshot of 3 hosts is current"), "{}", run.stderr);

    report(
        server,
        "events",
        "h1",
        r#"{"errorType": "registration error", "operationalStatus": "error"}"#,
    );
    run_kubectl(
        server,
        &[
            "--namespace=events",
            "label",
            "baremetalhost",
            "h3",
            "example.com/rack=r2",
            "--overwrite",
        ],
    );
    let before = repo.on_disk("");
    let run = snapshot(&repo, server, &["--check"]).expect(1);
    assert!(repo.on_disk("") == before);
    assert!(run.stdout.contains("Worker host events/h1 is replaced by"), "{}", run.stdout);

    snapshot(&repo, server, &[]).expect(0);
    let changed = repo.git(&["status", "--porcelain", "live"]);
    assert_eq!(changed, " M live/r1.yaml\n M live/r2.yaml\n D live/r3.yaml\n");
    let run = snapshot(&repo, server, &[]).expect(0);
    assert!(run.stderr.contains("live is current"), "{}", run.stderr);
}

#[test]
fn lists_of_several_pages_are_read_to_their_end() {
    let server = ApiServer::shared();
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: pages}\n");
    let host = |number: usize| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{namespace: pages, name: h{number:04}}}\nspec: {{online: true}}\n"
        )
    };
    server.apply(&(0..501).map(host).collect::<String>());
    let repo = Repo::empty();
    let run = snapshot(&repo, server, &["--namespace=pages"]).expect(0);
    assert!(run.stderr.contains("501 hosts read"), "{}", run.stderr);
    assert_eq!(repo.read("snapshot/pages.yaml").matches("kind: \"BareMetalHost\"").count(), 501);
    let run =
        snapshot(&repo, server, &["--namespace=pages", "--selector=example.com/none"]).expect(2);
    assert!(
        run.stderr.contains("would lose every host of namespace `pages` (501 hosts)"),
        "{}",
        run.stderr
    );
}

fn run_kubectl(server: &ApiServer, arguments: &[&str]) {
    run(server.kubectl("human").args(arguments)).expect(0);
}

/// A CustomResourceDefinition without a schema, in one version.
fn definition(plural: &str, kind: &str, group: &str, version: &str) -> String {
    format!(
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {plural}.{group}, \
         annotations: {{api-approved.kubernetes.io: unapproved}}}}\nspec:\n  group: {group}\n  scope: Namespaced\n  \
         names: {{plural: {plural}, kind: {kind}, listKind: {kind}List, singular: {}}}\n  versions:\n  - name: {version}\n    \
         served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n",
        kind.to_lowercase()
    )
}

#[test]
fn addresses_that_machines_claimed_are_in_the_snapshot_if_the_settings_say_so() {
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
    let server = ApiServer::start();
    server.apply(
        &[
            definition("ipaddresses", "IPAddress", "ipam.metal3.io", "v1alpha1"),
            definition("ipaddresses", "IPAddress", "ipam.cluster.x-k8s.io", "v1beta1"),
            definition("metal3datas", "Metal3Data", INFRASTRUCTURE, "v1beta1"),
        ]
        .concat(),
    );
    let mut wait = server.kubectl("admin");
    wait.args(["wait", "--for=condition=Established", "crd", "--all"]);
    run(&mut wait).expect(0);
    create(&server, "claimed", 1);
    server.apply(&format!(
        "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPAddress\nmetadata: {{name: p-1, namespace: claimed, annotations: {{note: {CANARY}}}}}\n\
         spec: {{address: 192.0.2.1, prefix: 24, gateway: 192.0.2.254, pool: {{name: p, namespace: claimed}}, claim: {{name: edge-0-p}}}}\n\
         ---\napiVersion: ipam.cluster.x-k8s.io/v1beta1\nkind: IPAddress\nmetadata: {{name: q-1, namespace: claimed}}\n\
         spec: {{address: 192.0.2.2, prefix: 24, poolRef: {{name: q, kind: InClusterIPPool}}, claimRef: {{name: edge-0-q}}, note: {CANARY}}}\n\
         ---\napiVersion: {INFRASTRUCTURE}/v1beta1\nkind: Metal3Data\nmetadata: {{name: edge-0, namespace: claimed}}\n\
         spec: {{index: 0, claim: {{name: edge-abc}}, template: {{name: edge}}, metaData: {{name: {CANARY}}}}}\n"
    ));

    let repo = Repo::empty();
    snapshot(&repo, &server, &["--namespace=claimed"]).expect(0);
    assert_eq!(repo.files("snapshot").len(), 1, "without the setting");

    repo.write("sipgen.yaml", "snapshot: {addresses: true, namespaces: [claimed]}\n");
    snapshot(&repo, &server, &[]).expect(0);

    let text = &repo.files("snapshot")["claimed.addresses.yaml"];
    assert!(!text.contains(CANARY), "{text}");
    let found: Vec<String> = crate::support::documents(text)
        .iter()
        .map(|object| yaml_serde::to_string(&object["spec"]).unwrap())
        .collect();
    assert_eq!(
        found,
        [
            "claim:\n  name: edge-abc\n",
            "address: 192.0.2.2\nclaimRef:\n  name: edge-0-q\npoolRef:\n  name: q\n",
            "address: 192.0.2.1\nclaim:\n  name: edge-0-p\npool:\n  name: p\n",
        ]
    );
    snapshot(&repo, &server, &["--check"]).expect(0);
    let rules = run(&mut repo.sipgen(&["snapshot", "--rbac"])).expect(0).stdout;
    assert!(rules.contains("ipam.metal3.io") && rules.contains("metal3datas"), "{rules}");
}
