//! Outputs, in the hands of the parsers that read them: those of Rust, of Go in kustomize, and of Python.

use serde_json::{Value as Json, json};

use crate::support::programs::succeed;
use crate::support::{Repo, documents, kustomize_build, python_tool, repo_path};

/// Texts that YAML may take for something else.
const HOSTILE: [&str; 20] = [
    "\"",
    "'",
    "\\",
    "a: b",
    "- a",
    "# a",
    "a #b",
    "{{ 1 }}",
    "{% if %}",
    "on",
    "1e3",
    "0777",
    "12:30:00",
    "~",
    "",
    " a ",
    "a\nb: c",
    "---\nkind: Secret",
    "&a *a !a",
    "\u{1f600}\u{e9}",
];

/// The documents of a file, as Python reads them.
fn read_by_python(file: &std::path::Path) -> Vec<Json> {
    let script = "import json, sys, yaml\nprint(json.dumps(list(yaml.safe_load_all(open(sys.argv[1], encoding='utf-8')))))";
    let read = succeed(python_tool("python").args(["-c", script]).arg(file));
    serde_json::from_str(&read).unwrap()
}

#[test]
fn hostile_values_are_the_same_for_three_parsers_in_every_scope() {
    let values: Vec<(String, String)> = HOSTILE
        .iter()
        .enumerate()
        .map(|(index, value)| (format!("a{index}"), (*value).to_owned()))
        .collect();
    let annotations: Vec<String> = values
        .iter()
        .map(|(key, value)| format!("{key}: {}", serde_json::to_string(value).unwrap()))
        .collect();
    let map = |name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {{{{ {name} }}}}, namespace: x}}\n\
             data:\n{{% for key, value in cluster.annotations|items %}}\n  {{{{ key }}}}: {{{{ value }}}}\n{{% endfor %}}\n  \
             block: |\n    all: {{{{ cluster.annotations|block(6) }}}}\n"
        )
    };
    let repo = Repo::of_hosts(1);
    repo.want("tenant/edge", 1);
    let with_annotations = format!("metadata: {{annotations: {{{}}}, ", annotations.join(", "));
    repo.replace("clusters/tenant.edge.yaml", "metadata: {", &with_annotations);
    repo.write(
        "sipgen.yaml",
        "templates: own\noutputs: [{name: c, scope: cluster}, {name: h, scope: host}, {name: s, scope: site}]\n",
    );
    repo.write("own/outputs/c/a.yaml", &map("'c'"));
    repo.write("own/outputs/h/a.yaml", &map("host.name"));
    let site = format!("{{% set cluster = clusters[0] %}}\n{}", map("'s'"));
    repo.write("own/outputs/s/a.yaml", &site);
    repo.generate(&[]).expect(0);

    for (directory, file) in [
        ("clusters/tenant/edge/c", "a.yaml"),
        ("clusters/tenant/edge/h", "a_metal.host-1.yaml"),
        ("site/s", "a.yaml"),
    ] {
        let directory = repo.path().join("overlays").join(directory);
        let file = directory.join(file);
        let by_rust = documents(&std::fs::read_to_string(&file).unwrap());
        let by_go = documents(&kustomize_build(&directory));
        let by_python = read_by_python(&file);
        for (reader, read) in [
            ("Rust", serde_json::to_value(by_rust).unwrap()),
            ("Go", serde_json::to_value(by_go).unwrap()),
            ("Python", json!(by_python)),
        ] {
            assert_eq!(read.as_array().unwrap().len(), 1, "{reader}");
            let data = &read[0]["data"];
            for (key, value) in &values {
                assert_eq!(data[key], json!(value), "{reader} of {}: {key}", file.display());
            }
            let block: Json = yaml_serde::from_str(data["block"].as_str().unwrap()).unwrap();
            for (key, value) in &values {
                assert_eq!(block["all"][key], json!(value), "{reader}: {key} in a block");
            }
        }
    }
}

#[test]
fn ansible_reads_the_inventory_of_the_examples() {
    let repo = Repo::of_fixture("quickstart");
    crate::support::copy(&repo_path("examples/outputs"), repo.path());
    repo.generate(&[]).expect(0);
    let inventory = repo.path().join("overlays/clusters/tenant-a/edge/inventory/hosts.yml");

    let listed = succeed(python_tool("ansible-inventory").args(["--list", "-i"]).arg(inventory));

    let listed: Json = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["control_plane"]["hosts"], json!(["lab-a1", "lab-b1"]));
    assert_eq!(listed["_meta"]["hostvars"]["lab-a2"]["ansible_host"], "198.51.100.12");
}

#[test]
fn kustomize_builds_every_directory_of_the_examples() {
    let repo = Repo::of_fixture("quickstart");
    crate::support::copy(&repo_path("examples/outputs"), repo.path());
    repo.generate(&[]).expect(0);

    let edge = documents(&kustomize_build(repo.path().join("overlays/clusters/tenant-a/edge")));
    let site = documents(&kustomize_build(repo.path().join("overlays/site/monitoring")));

    let kinds = |kind: &str| edge.iter().filter(|object| object["kind"] == kind).count();
    assert_eq!(
        ["HostFirmwareSettings", "HostUpdatePolicy", "DNSEndpoint", "Metal3DataTemplate"]
            .map(kinds),
        [4, 4, 1, 2]
    );
    assert_eq!(site[0]["kind"], "ScrapeConfig");
}
