//! Texts that act on terminals, logs and CI runners, in every position of every input.

use camino::Utf8PathBuf;
use rayon::prelude::*;

use super::channels::{self, Form};
use super::positions::{Tree, escaped, files, positions, tree};

/// What each text begins with, as no channel may add anything before it; all of them go on with [`HOSTILE`].
const BEGINNINGS: [&str; 5] =
    ["::error file=a::owned", "x", "##[error]owned", "section_start:1:owned", "\u{202e}x"];

/// Commands of runners, escape sequences of terminals, and characters that nobody sees.
const HOSTILE: &str = "\n::error::owned\r::add-mask::owned\r\n  ::set-output name=a::owned\n##[command]owned ##vso[task.x]y\n\
    section_start:1:a\r\u{1b}[0K\u{1b}[31m\u{1b}]8;;https://owned.example\u{7}\u{9b}2J\u{7f}\u{8}\u{b}\u{85}::warning::a\u{2028}\
    ::warning::b\u{2029}::warning::c\u{202e}\u{2066}\u{200b}\u{200f}\u{feff}\u{2060}\u{ad}\u{fdd1}\u{fde2}\u{e0041}\u{fe0f}\t";

/// Checks all that is said and written of a repo.
#[track_caller]
fn is_tame(tree: &Tree, what: &dyn std::fmt::Debug) {
    is_tame_in(tree, true, what);
}

#[track_caller]
fn is_tame_in(tree: &Tree, all: bool, what: &dyn std::fmt::Debug) {
    for said in channels::of(&files(tree), all) {
        if let Some(acts) = channels::acts(said.form, &said.text) {
            let line = said
                .text
                .lines()
                .find(|line| channels::acts(said.form, line).is_some())
                .unwrap_or_default();
            panic!("{what:?}: {acts} in {} ({:?}):\n{line:?}", said.channel, said.form);
        }
    }
}

/// The quickstart with one declared host and one service, for what is no matter of services: rendering takes most of a
/// run's time.
pub fn small() -> Tree {
    let mut tree = quickstart();
    let text = |tree: &Tree, file: &str| {
        String::from_utf8(tree[camino::Utf8Path::new(file)].clone()).unwrap()
    };
    let hosts = text(&tree, "sites/lab/hosts/rack-a.yaml");
    let one: Vec<&str> = hosts.split("---\n").take(3).collect();
    tree.insert("sites/lab/hosts/rack-a.yaml".into(), one.join("---\n").into());
    let cluster = text(&tree, "sites/lab/clusters/edge.yaml");
    let services = cluster.find("    loadBalancerControlPlane:").unwrap();
    let cluster = cluster[..services]
        .replace("active: 2", "active: 1")
        .replace("active: 1\n        standby: 1", "active: 0");
    let service = "    loadBalancerControlPlane:\n    - {image: a/b, nodeInterfaceId: oam-ipv4, clusterIP: 192.0.2.10, nodePort: \
        30443}\n";
    tree.insert("sites/lab/clusters/edge.yaml".into(), (cluster + service).into());
    for rack in ["rack-b.yaml", "rack-c.yaml"] {
        tree.remove(&Utf8PathBuf::from("sites/lab/hosts").join(rack));
        let file = "sites/lab/hosts/kustomization.yaml";
        let lines = text(&tree, file);
        let lines: String =
            lines.split_inclusive('\n').filter(|line| !line.contains(rack)).collect();
        tree.insert(file.into(), lines.into());
    }
    tree
}

/// A host that is in error, with labels, annotations, hardware and a consumer, and settings with an agent.
pub fn quickstart() -> Tree {
    let mut tree = tree("quickstart");
    let odd = "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: odd\n  namespace: metal\n  \
        labels: {topology.example.com/rack: z, hardware.example.com/flavor: worker}\n  annotations:\n    \
        note.example.com/a: b\nspec:\n  online: true\n  bmc: {address: 'ipmi://192.0.2.99', credentialsName: c}\n  \
        networkData: {name: nowhere}\nstatus:\n  operationalStatus: error\n  errorType: registration error\n  \
        errorMessage: it failed\n  provisioning: {state: available}\n  hardware:\n    hostname: odd\n    \
        cpu: {arch: x86_64, model: m, count: 4}\n    ramMebibytes: 1024\n    nics:\n    - {name: eno1, mac: \
        '52:54:00:00:00:99', ip: 192.0.2.98, model: m}\n    storage: [{name: /dev/sda, sizeBytes: 1000000000}]\n    \
        systemVendor: {manufacturer: a, productName: b, serialNumber: c}\n---\napiVersion: metal3.io/v1alpha1\nkind: \
        BareMetalHost\nmetadata:\n  name: used\n  namespace: metal\nspec:\n  online: true\n  bmc: {address: \
        'ipmi://192.0.2.99', credentialsName: c}\n  consumerRef: {kind: Metal3Machine, name: m, namespace: n}\nstatus:\n  \
        provisioning: {state: provisioned}\n";
    tree.insert("snapshot/odd.yaml".into(), odd.into());
    let settings = "output: overlays\ntemplates: site-templates\ngitops: argocd\nargocd:\n  repoURL: \
        https://git.example.com/fleet.git\n  targetRevision: main\n  project: p\n  destination: {server: \
        'https://api.example.com'}\ncredentials: reference\nfindings:\n  ignore:\n  - {code: SIP0308, reason: r}\n\
        provisioning: {image: registry.example.com/installer, inventory: ini}\ntopology: {rack: topology.example.com/rack}\n";
    tree.insert("sipgen.yaml".into(), settings.into());
    tree.insert("site-templates/partials/note.yaml".into(), "x\n".into());
    tree
}

/// A text in every position of some files, in one spelling or the other.
fn everywhere(tree: &Tree, of: &[&str], most: usize) {
    let positions = positions(tree, of, most);
    assert!(positions.len() > 8, "{of:?}");
    positions.par_iter().enumerate().for_each(|(index, position)| {
        let text = format!("{}{HOSTILE}", BEGINNINGS[index % BEGINNINGS.len()]);
        let tree = match index % 2 {
            0 => position.with(tree, &|_| escaped(&text)),
            _ => position.with_json(tree, &text),
        };
        is_tame_in(&tree, index % 12 == 0, position);
    });
}

#[test]
fn in_a_sipcluster_and_its_kustomizations() {
    everywhere(&quickstart(), &["sites/lab/clusters/edge.yaml"], 1);
    everywhere(
        &small(),
        &["sites/lab/kustomization.yaml", "sites/lab/hosts/kustomization.yaml"],
        1,
    );
}

#[test]
fn in_hosts_their_status_and_their_network_data() {
    everywhere(&small(), &["sites/lab/hosts/rack-a.yaml", "snapshot/odd.yaml"], 2);
}

#[test]
fn in_settings() {
    everywhere(&small(), &["sipgen.yaml"], 1);
}

#[test]
fn in_a_request_for_login() {
    everywhere(&tree("auth"), &["clusters/edge.yaml"], 1);
}

#[test]
fn in_a_provisioning() {
    everywhere(&tree("provisioning"), &["clusters/depot.yaml", "clusters/press.yaml"], 2);
}

#[test]
fn in_an_older_sipcluster() {
    let tree = tree("generation-2021-03");
    let file = tree
        .keys()
        .find(|file| String::from_utf8_lossy(&tree[*file]).contains("kind: SIPCluster"))
        .unwrap();
    everywhere(&tree, &[file.as_str()], 1);
}

#[test]
fn in_network_data() {
    let tree = quickstart();
    let text = String::from_utf8(
        tree["sites/lab/hosts/rack-a.yaml".as_ref() as &camino::Utf8Path].clone(),
    )
    .unwrap();
    let hostile = escaped(HOSTILE).replace('\\', "\\\\").replace('"', "\\\"");
    for from in ["id: oam-ipv4", "ip_address: 198.51.100.11", "id: eno1"] {
        let key = from.split(':').next().unwrap();
        let inner =
            format!("networks: [{{id: oam-ipv4, ip_address: 198.51.100.1}}, {{{key}: {hostile}}}]");
        let (before, rest) = text.split_once("  networkData: |\n").unwrap();
        let (_, after) = rest.split_once("    services: []\n").unwrap();
        let mut tree = tree.clone();
        tree.insert(
            "sites/lab/hosts/rack-a.yaml".into(),
            format!("{before}  networkData: \"{inner}\"\n{after}").into(),
        );
        is_tame(&tree, &from);
    }
}

#[test]
fn in_comments_and_in_what_is_no_yaml() {
    let tree = quickstart();
    let file = Utf8PathBuf::from("sites/lab/clusters/edge.yaml");
    let text = String::from_utf8(tree[&file].clone()).unwrap();
    for (from, to) in [
        ("nodePort: 30022", format!("nodePort: 1 # {}", HOSTILE.replace(['\n', '\r'], " "))),
        ("nodePort: 30022", format!("nodePort: 1 # {HOSTILE}")),
        ("nodePort: 30022", format!("nodePort: [ # {HOSTILE}")),
        ("nodePort: 30022", format!("nodePort: |\n  ::error::owned{HOSTILE}")),
        ("kind: SIPCluster", format!("kind: SIPCluster # {HOSTILE}")),
        ("count:", HOSTILE.to_owned()),
    ] {
        let mut tree = tree.clone();
        tree.insert(file.clone(), text.replace(from, &to).into());
        is_tame(&tree, &to);
    }
}

#[test]
fn in_the_names_of_files_and_directories() {
    let name = format!("::error::a{}", HOSTILE.replace('/', "_"));
    let original = small();
    for from in [
        "sites/lab/clusters/edge.yaml",
        "sites/lab/hosts/rack-a.yaml",
        "snapshot/odd.yaml",
        "site-templates/partials/note.yaml",
    ] {
        let mut tree = original.clone();
        let content = tree.remove(camino::Utf8Path::new(from)).unwrap();
        let directory = camino::Utf8Path::new(from).parent().unwrap();
        tree.insert(directory.join(format!("{name}.yaml")), content);
        is_tame(&tree, &from);
    }
    // A whole directory of declared hosts, which the output names.
    for odd in [
        name.as_str(),
        "a\u{85}b",
        "a\u{2028}b",
        "a\u{ffff}b",
        "a\rb",
        "a\u{feff}",
        "\u{1b}[2J",
        "a b",
        "$a",
        "##[x]",
    ] {
        let moved = |(file, content): (Utf8PathBuf, Vec<u8>)| match file.strip_prefix("sites/lab") {
            Ok(below) => (Utf8PathBuf::from(odd).join(below), content),
            Err(_) => (file, content),
        };
        let tree: Tree = original.clone().into_iter().map(moved).collect();
        is_tame(&tree, &odd);
        let written = channels::of(&files(&tree), false)
            .into_iter()
            .filter(|said| said.form == Form::Written)
            .count();
        assert!(written > 10, "{odd:?} is refused");
    }
}

#[test]
fn in_templates() {
    for (name, text) in [
        ("loadbalancer/haproxy.cfg", format!("global {HOSTILE}")),
        (
            "loadbalancer/service.yaml",
            format!("kind: \"{}\"\n", HOSTILE.replace(['\n', '\r', '\t'], " ")),
        ),
        ("jumphost/shared/start", format!("#!/bin/sh\n{{{{ nothing.{} }}}}{HOSTILE}", "x")),
        ("jumphost/shared/start", format!("#!/bin/sh\n{HOSTILE}")),
    ] {
        let mut tree = quickstart();
        tree.insert(Utf8PathBuf::from("site-templates").join(name), text.into());
        is_tame(&tree, &name);
    }
}
