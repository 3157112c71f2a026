//! Any text in place of any input that the previous output is made from: the same clusters keep the same hosts, or
//! nothing is written.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use sipgen::input::load::Files;
use sipgen::{GeneratedSite, Options, generate};

type Contents = BTreeMap<Utf8PathBuf, Vec<u8>>;

fn host(name: &str, label: &str) -> String {
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: t\n  labels: {{for: {label}}}\n\
         spec:\n  online: true\n  bmc: {{address: \"ipmi://192.0.2.1/{name}\", credentialsName: x}}\n\
         status: {{provisioning: {{state: available}}, operationalStatus: OK}}\n"
    )
}

fn cluster(name: &str) -> String {
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata:\n  name: {name}\n  namespace: t\n\
         spec: {{nodes: {{Worker: {{labelSelector: {{matchLabels: {{for: {name}}}}}, count: {{active: 2}}}}}}}}\n"
    )
}

/// Two clusters, one with observed hosts and one with declared hosts in nested builds. Each has a spare host that would
/// replace a lost one.
fn inputs() -> Contents {
    let list = |names: [&str; 2]| {
        let items =
            names.map(|name| format!("- {}", host(name, "seen").trim_end().replace('\n', "\n  ")));
        format!("apiVersion: v1\nitems:\n{}\nkind: List\n", items.join("\n"))
    };
    let files = [
        ("clusters/seen.yaml", cluster("seen")),
        ("clusters/made.yaml", cluster("made")),
        ("snapshot/seen.yaml", list(["s1", "s2"])),
        ("snapshot/spare.yaml", list(["s8", "s9"])),
        ("racks/kustomization.yaml", "resources: [one, two/hosts.yaml, spare.yaml]\n".to_owned()),
        ("racks/one/kustomization.yaml", "resources:\n- d1.yaml\n".to_owned()),
        ("racks/one/d1.yaml", host("d1", "made")),
        ("racks/two/hosts.yaml", format!("{}---\n{}", host("d2", "other"), host("d3", "made"))),
        ("racks/spare.yaml", format!("{}---\n{}", host("d8", "made"), host("d9", "made"))),
        ("values.yaml", "image: x\n".to_owned()),
    ];
    files.into_iter().map(|(path, text)| (path.into(), text.into_bytes())).collect()
}

fn run(files: &Contents) -> (GeneratedSite, Contents) {
    let repo = Files::in_memory(files.clone());
    let generated = generate(&repo, &Options::default(), &|_| {}).unwrap();
    crate::targets::print_findings(&generated.findings, &repo);
    let output = generated.output(&repo).unwrap();
    let below = Utf8Path::new("overlays");
    let output =
        output.into_iter().map(|(path, text)| (below.join(path.as_str()), text.into_bytes()));
    (generated, output.collect())
}

/// Which files have which hosts.
fn assignments(output: &Contents) -> Vec<(Utf8PathBuf, String)> {
    let files = output.iter().filter(|(path, _)| {
        path.starts_with("overlays/hosts") && !path.as_str().contains("released")
    });
    let lines = files.flat_map(|(path, text)| {
        let text = String::from_utf8(text.clone()).unwrap();
        let names: Vec<String> =
            text.lines().filter(|line| line.starts_with("  name: ")).map(str::to_owned).collect();
        names.into_iter().map(move |name| (path.clone(), name))
    });
    lines.collect()
}

/// Texts of other formats, and texts that were made from this one.
fn texts(original: &str) -> Vec<Vec<u8>> {
    let fixed: [&[u8]; 34] = [
        b"",
        b"\n",
        b"---\n",
        b" \n \n",
        b"null\n",
        b"~",
        b"{}",
        b"[]\n",
        b"0\n",
        b"true",
        b"\"\"\n",
        b"x",
        b"x: 1\n",
        b"- x\n",
        b"- {x: 1}\n",
        b"a: b: c\n",
        b"\t\n",
        b"\0\0\0\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\0GITCRYPT\0\x01\x02",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        b"$ANSIBLE_VAULT;1.1;AES256\n3132\n",
        b"-----BEGIN PGP MESSAGE-----\n\nhQ\n-----END PGP MESSAGE-----\n",
        b"-----BEGIN AGE ENCRYPTED FILE-----\nYQ\n-----END AGE ENCRYPTED FILE-----\n",
        b"age-encryption.org/v1\n-> X25519 x\n",
        b"<!DOCTYPE html>\n<html></html>\n",
        b"../elsewhere/hosts.yaml",
        b"#!/bin/sh\nexit 0\n",
        b"%YAML 1.2\n---\n",
        b"kind: x\n",
        b"kind: List\n",
        b"apiVersion: metal3.io/v1alpha1\n",
        b"data: ENC[AES256_GCM,data:x]\nsops: {}\n",
    ];
    let mut all: Vec<Vec<u8>> = fixed.iter().map(|text| text.to_vec()).collect();
    let made = [
        format!("<<<<<<< a\n{original}=======\n{original}>>>>>>> b\n"),
        format!("x\n{original}"),
        original.replace("kind: BareMetalHost", "kind: ENC[AES256_GCM,data:x]"),
        original.replace("kind: ", "kund: "),
        // Other versions and kinds, and names that another tool completes.
        original.replace("metal3.io/v1alpha1", "metal3.io/v1beta1"),
        original.replace("metal3.io/v1alpha1", "metal3.io"),
        original.replace("apiVersion: metal3.io/v1alpha1\n", ""),
        original.replace("kind: BareMetalHost", "kind: BareMetalHosts"),
        original.replace("airshipit.org/v1", "airshipit.org/v2"),
        original.replace("  name: ", "  name: {{ .Values.prefix }}-"),
        original.replace("  name: s", "  name: \"{{ .Values.name }}\" # s"),
        original.replace("  name: made", "  name: \"{{ .Values.name }}\""),
        original.replace("  name: seen", "  name: CLUSTER_NAME"),
        original.replace("  namespace: t", "  namespace: ${NS}"),
        original.replace("kind: ", "! kind: "),
        original.replace("name: ", "!!str name: "),
        original.replace('\n', "\\n"),
        original.chars().rev().collect(),
        format!("text: |\n  {}", original.replace('\n', "\n  ")),
        format!("[{}]", serde_json::to_string(original).unwrap()),
        format!("- {}", original.trim_end().replace('\n', "\n  ")),
    ];
    all.extend(made.map(String::into_bytes));
    let json: Vec<serde_json::Value> = crate::support::documents(original)
        .into_iter()
        .map(|document| serde_json::to_value(document).unwrap())
        .collect();
    all.push(serde_json::to_vec(&json).unwrap());
    all.extend((0..original.len()).step_by(7).map(|end| original.as_bytes()[..end].to_vec()));
    all
}

/// Returns whether a text proves that its objects are all there are: each has a kind and a name, and the last one is whole.
fn is_whole(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    // Nothing tells a list of nothing from one that was emptied.
    let mut documents = yaml_serde::Deserializer::from_str(text).map(|document| {
        let document: yaml_serde::Value = serde::Deserialize::deserialize(document).ok()?;
        let items = document["items"].as_sequence().cloned();
        Some(
            items
                .filter(|_| document["kind"].as_str() == Some("List"))
                .unwrap_or_else(|| vec![document]),
        )
    });
    let is_object = |object: &yaml_serde::Value| {
        let version = match object["kind"].as_str() {
            Some("BareMetalHost") => "metal3.io/v1alpha1",
            Some("SIPCluster") => "airship.airshipit.org/v1",
            _ => return false,
        };
        let is_name = |field: &str| {
            object["metadata"][field].as_str().is_some_and(|name| !name.contains(['{', '_']))
        };
        object["apiVersion"].as_str() == Some(version)
            && is_name("name")
            && is_name("namespace")
            && (object["spec"].is_mapping() || text.ends_with('\n'))
    };
    documents.all(|objects| objects.is_some_and(|objects| objects.iter().all(is_object)))
}

#[test]
fn no_text_in_place_of_an_input_loses_anything() {
    let inputs = inputs();
    let (first, output) = run(&inputs);
    assert!(first.findings.iter().all(|finding| !finding.is_error()), "{:?}", first.findings);
    let before = assignments(&output);
    assert_eq!(before.len(), 4, "{before:?}");
    let repo: Contents = inputs.clone().into_iter().chain(output).collect();
    let cases: Vec<(&Utf8PathBuf, Vec<u8>)> = inputs
        .iter()
        .flat_map(|(path, text)| {
            texts(std::str::from_utf8(text).unwrap()).into_iter().map(move |text| (path, text))
        })
        .collect();

    let failures: Vec<String> = cases
        .par_iter()
        .filter_map(|(path, text)| {
            let mut repo = repo.clone();
            repo.insert((*path).clone(), text.clone());
            let (generated, output) = run(&repo);
            if generated.changes.is_none() || is_exempt(path, text) {
                return None;
            }
            let after = assignments(&output);
            let lost: Vec<_> = before.iter().filter(|host| !after.contains(host)).collect();
            (!lost.is_empty()).then(|| {
                format!("{path}: {lost:?} are lost by\n{}\n", String::from_utf8_lossy(text))
            })
        })
        .collect();

    println!("{} cases", cases.len());
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        cases.len(),
        failures[..failures.len().min(8)].join("\n")
    );
}

/// Returns whether a text proves a loss. For an observed host, nothing in the output tells which file it was in, so data of other programs
/// may stand anywhere.
fn is_exempt(path: &Utf8Path, text: &[u8]) -> bool {
    let holds_objects = |value: &yaml_serde::Value| {
        let has_items = value["items"].as_sequence().is_some_and(|items| !items.is_empty());
        value["kind"].as_str().is_some_and(|kind| match kind {
            "BareMetalHost" | "SIPCluster" => true,
            kind => kind == "List" && has_items,
        })
    };
    // Without git's history, nothing shows that there was more.
    let is_data = || {
        let text = String::from_utf8_lossy(text);
        let text = text.trim_start_matches(['\u{feff}', '\u{fffd}']);
        let is_blank = text.trim_matches(['-', '\n', ' ', '\t']).is_empty();
        let mut documents = yaml_serde::Deserializer::from_str(text);
        is_blank
            || documents.all(|document| match serde::Deserialize::deserialize(document) {
                Ok(yaml_serde::Value::Null) => true,
                Ok(yaml_serde::Value::Sequence(items)) => !items.iter().any(&holds_objects),
                Ok(mapping @ yaml_serde::Value::Mapping(_)) => !holds_objects(&mapping),
                _ => false,
            })
    };
    let is_template = || String::from_utf8_lossy(text).contains("{{");
    is_whole(text) && !text.trim_ascii().is_empty()
        || path.starts_with("snapshot") && (is_data() || is_template())
}
