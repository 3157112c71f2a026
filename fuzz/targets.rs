//! What is fuzzed: one function a parser, which must end soon and without a panic whatever bytes it is given.
//!
//! They go through the public interface with repos in memory, so that what a parser makes of the bytes reaches
//! everything that trusts it. The binaries in `fuzz_targets` hand them to libFuzzer; `tests/properties/fuzzing.rs` hands them the
//! fixtures and what fuzzing has found.

use camino::Utf8PathBuf;
use sipgen::base::api::host::BareMetalHost;
use sipgen::base::api::network_data::NetworkData;
use sipgen::base::finding::{Finding, Place, Position};
use sipgen::input::load::{Files, Texts};
use sipgen::input::settings::Settings;
use sipgen::{Options, generate, report};

/// What a target does with bytes.
pub(crate) type Target = fn(&[u8]);

/// Every target by its name.
pub(crate) const ALL: [(&str, Target); 13] = [
    ("documents", documents),
    ("sip_cluster", sip_cluster),
    ("provisioning", provisioning),
    ("bare_metal_host", bare_metal_host),
    ("network_data", network_data),
    ("settings", settings),
    ("kustomization", kustomization),
    ("ssh_key", ssh_key),
    ("bmc_address", bmc_address),
    ("label_selector", label_selector),
    ("generated_hosts", generated_hosts),
    ("agent_objects", agent_objects),
    ("template", template),
];

/// Any file of a repo: cut into documents, each parsed, its nodes looked up. A text that the parser understands as one
/// object has the kind that the parser finds.
pub(crate) fn documents(data: &[u8]) {
    one_object(data);
    let repo = repo([("file.yaml", data.to_vec())]);
    let read = |document: sipgen::input::load::Document<'_>| {
        let value = document.parse::<yaml_serde::Value>();
        assert!(document.broken().is_none() || value.is_err());
        let _ = document.parse::<BareMetalHost>();
        let _ = (
            document.kind().map(str::len),
            document.looks_like_template(),
            document.comments().count(),
        );
        let _ = document.mentions_kind(&["BareMetalHost"]);
        Some(document.origin.at(["metadata", "labels", "a"]))
    };
    let places: Vec<Place> =
        repo.scan(&["file.yaml".into()], |_, _| true, read).unwrap_or_default();
    let mut texts = Texts::new(&repo);
    for place in places.iter().take(20) {
        let Position { line, .. } = texts.position(place);
        assert!(line.is_some_and(|line| line >= 1));
    }
}

/// Compares the fast ways to read a text with the parser: its kind, whether it is worth reading at all, its values, and
/// a type that skips most of them.
fn one_object(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // Deeper ones are refused before they are parsed.
    if text.contains('\0')
        || text.starts_with('\u{feff}')
        || text.bytes().filter(|byte| b"[{-".contains(byte)).count() > 100
    {
        return;
    }
    let Ok(object) = yaml_serde::from_str::<yaml_serde::Value>(text) else {
        return;
    };
    let Some(kind) = object.get("kind").and_then(yaml_serde::Value::as_str) else {
        return;
    };
    if kind.ends_with("List") || text.contains("binary") {
        return;
    }
    let read = |document: sipgen::input::load::Document<'_>| {
        Some((
            document.kind().map(str::to_owned),
            document.parse::<yaml_serde::Value>().ok(),
            document.parse::<BareMetalHost>().ok(),
        ))
    };
    let mut found = repo([("file.yaml", data.to_vec())])
        .scan(&["file.yaml".into()], |_, _| true, read)
        .unwrap_or_default();
    assert_eq!(found.len(), 1, "{text:?}");
    let Some((found_kind, value, host)) = found.pop() else {
        return;
    };
    assert_eq!(found_kind.as_deref(), Some(kind), "{text:?}");
    // With anchors, merge keys and tags of keys, values are changed on purpose. JSON has a parser of its own.
    if !text.contains(['&', '{', '!']) && !text.contains("<<") {
        assert_eq!(value.as_ref(), Some(&object), "{text:?}");
        let expected = yaml_serde::from_str::<BareMetalHost>(text).ok();
        assert_eq!(format!("{host:?}"), format!("{expected:?}"), "{text:?}");
    }
    // Of the words for which files are searched.
    if kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        assert!(sipgen::input::load::mentions(&[kind])(data), "{text:?}");
    }
}

/// A file with SIPClusters.
pub(crate) fn sip_cluster(data: &[u8]) {
    run(repo([("cluster.yaml", data.to_vec()), ("hosts.yaml", HOSTS.into())]));
}

/// A file with Provisionings and Softwares, beside hosts that may be their machines.
pub(crate) fn provisioning(data: &[u8]) {
    run(repo([("cluster.yaml", data.to_vec()), ("hosts.yaml", MACHINES.into())]));
}

/// A file with hosts, their network data and their hardware.
pub(crate) fn bare_metal_host(data: &[u8]) {
    run(repo([("cluster.yaml", cluster(SELECTOR).into()), ("hosts.yaml", data.to_vec())]));
}

/// The network data in a Secret.
pub(crate) fn network_data(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(data) = NetworkData::parse(text)
    {
        let _ = data.address("oam-ipv4");
    }
}

/// `sipgen.yaml`.
pub(crate) fn settings(data: &[u8]) {
    let repo = repo([("sipgen.yaml", data.to_vec())]);
    match Settings::load(&repo) {
        Ok(settings) => {
            assert!(!settings.output.as_str().is_empty() && !settings.output.is_absolute())
        }
        Err(findings) => drop(report::findings(&findings, &repo)),
    }
}

/// Two kustomizations, of which the second one stands behind the first NUL byte.
pub(crate) fn kustomization(data: &[u8]) {
    let middle = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (above, below) = data.split_at(middle);
    run(repo([
        ("cluster.yaml", cluster(SELECTOR).into()),
        ("kustomization.yaml", above.to_vec()),
        ("hosts/kustomization.yaml", below.strip_prefix(b"\0").unwrap_or(below).to_vec()),
        ("hosts/hosts.yaml", HOSTS.into()),
    ]));
}

/// A line of a jump host's authorized keys.
pub(crate) fn ssh_key(data: &[u8]) {
    let key = quoted(data);
    let services = format!(
        "{{jumpHost: [{{image: a, nodeInterfaceId: oam-ipv4, clusterIP: 192.0.2.1, nodePort: 30022, \
         sshAuthorizedKeys: [{key}]}}]}}"
    );
    run(repo([("cluster.yaml", format!("{}  services: {services}\n", cluster(SELECTOR)).into())]));
}

/// The address of a host's BMC, which a jump host has to reach.
pub(crate) fn bmc_address(data: &[u8]) {
    let services = "{jumpHost: [{image: a, nodeInterfaceId: oam-ipv4, clusterIP: 192.0.2.1, nodePort: 30022, \
                    hostKeys: {ephemeral: true}}]}";
    let hosts = HOSTS.replace("redfish://192.0.2.9/redfish/v1/Systems/1", &quoted(data));
    run(repo([
        ("cluster.yaml", format!("{}  services: {services}\n", cluster(SELECTOR)).into()),
        ("hosts.yaml", hosts.into()),
    ]));
}

/// The labelSelector of a node set.
pub(crate) fn label_selector(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: String = text.lines().map(|line| format!("        {line}\n")).collect();
    run(repo([
        ("cluster.yaml", cluster(&format!("\n{lines}")).into()),
        ("hosts.yaml", HOSTS.into()),
    ]));
}

/// What an earlier run wrote of hosts.
pub(crate) fn generated_hosts(data: &[u8]) {
    run(repo([
        ("cluster.yaml", cluster(SELECTOR).into()),
        ("hosts.yaml", HOSTS.into()),
        ("overlays/hosts/observed/metal.lab/hosts.yaml", data.to_vec()),
    ]));
}

/// What tells agents which directories they apply.
pub(crate) fn agent_objects(data: &[u8]) {
    for gitops in
        ["gitops: flux\n", "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/a.git'}\n"]
    {
        run(repo([
            ("sipgen.yaml", gitops.into()),
            ("cluster.yaml", cluster(SELECTOR).into()),
            ("hosts/hosts.yaml", HOSTS.into()),
            ("hosts/kustomization.yaml", b"resources: [hosts.yaml]\n".to_vec()),
            ("agents.yaml", data.to_vec()),
        ]));
    }
}

const SELECTOR: &str = "{matchLabels: {flavor: worker}}";

/// A repo's own template of a load balancer's file.
pub(crate) fn template(data: &[u8]) {
    let load_balancer = "  services:\n    loadBalancerWorker:\n    - {image: \"haproxy:3.0\", nodeInterfaceId: oam-ipv4, \
                         clusterIP: 192.0.2.10, nodePortRange: {start: 30080, end: 30082}}\n";
    run(repo([
        ("sipgen.yaml", b"templates: own\n".to_vec()),
        ("own/loadbalancer/haproxy.cfg", data.to_vec()),
        ("cluster.yaml", (cluster(SELECTOR) + load_balancer).into()),
        ("hosts.yaml", HOSTS.into()),
    ]));
}

/// A SIPCluster that wants one worker; a `services:` may follow.
fn cluster(selector: &str) -> String {
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: lab, namespace: metal}}\nspec:\n  \
         nodes:\n    Worker:\n      count: {{active: 1}}\n      labelSelector: {selector}\n"
    )
}

/// Hosts with their hardware.
const MACHINES: &str = include_str!("../fixtures/provisioning/inventory/hosts.yaml");

const HOSTS: &str = "\
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: a1
  namespace: metal
  labels:
    flavor: worker
spec:
  bootMACAddress: 00:00:5e:00:53:01
  bmc:
    address: redfish://192.0.2.9/redfish/v1/Systems/1
    credentialsName: a1-bmc
  networkData: {name: a1-network-data}
---
apiVersion: v1
kind: Secret
metadata: {name: a1-network-data, namespace: metal}
stringData:
  networkData: '{\"networks\": [{\"id\": \"oam-ipv4\", \"ip_address\": \"198.51.100.1\"}]}'
";

/// Bytes as a scalar that both YAML and JSON read.
fn quoted(data: &[u8]) -> String {
    serde_json::Value::from(String::from_utf8_lossy(data)).to_string()
}

fn repo<const N: usize>(files: [(&str, Vec<u8>); N]) -> Files {
    Files::in_memory(files.map(|(path, content)| (Utf8PathBuf::from(path), content)))
}

/// Goes the whole way, from the bytes to what people read.
fn run(repo: Files) {
    if let Ok(generated) = generate(&repo, &Options::default(), &|_| {}) {
        print_findings(&generated.findings, &repo);
        let _ = report::summary(&generated, false);
    }
}

/// Prints findings in every format.
pub(crate) fn print_findings(findings: &[Finding], repo: &Files) {
    let results = || report::CiResults::new(findings, &[], repo, "".into());
    let _ = (
        report::findings(findings, repo),
        report::ReportDocument::json(&report::Validation::new(findings, 0, repo)),
        report::github(&results()),
        report::gitlab(&results()),
        report::sarif(&results()),
    );
}
