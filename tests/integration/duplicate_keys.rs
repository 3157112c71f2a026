//! A key that stands twice is refused wherever it decides something, as the API server does. In a kustomization.yaml the
//! last one counts, as in kustomize.

use sipgen::input::load::Files;
use sipgen::{Options, generate};

const CLUSTER: &str = "\
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata:
  name: web
  namespace: t
  annotations:
    sip.airshipit.org/priority: \"1\"
spec:
  nodes:
    Worker:
      labelSelector:
        matchLabels:
          for: web
      count:
        active: 1
        standby: 0
  services:
    loadBalancerWorker:
    - image: haproxy:3.0
      nodeLabels:
        zone: a
      nodeInterfaceId: oam
      nodePortRange:
        start: 30001
        end: 30001
";

const PROVISIONING: &str = "\
apiVersion: bpa.akraino.org/v1alpha1
kind: Provisioning
metadata:
  name: depot
  namespace: t
  labels:
    cluster: depot
spec:
  masters:
  - master-1:
      mac-address: 52:54:00:aa:bb:01
";

const HOST: &str = "\
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: a
  namespace: t
  labels:
    for: web
  annotations:
    note: x
spec:
  bmc:
    address: ipmi://192.0.2.1
    credentialsName: a-bmc
status:
  provisioning:
    state: available
";

const SETTINGS: &str = "\
output: overlays
credentials: external-secrets
externalSecrets:
  stores:
    metal:
      name: metal
      kind: ClusterSecretStore
";

const KUSTOMIZATION: &str = "\
namespace: t
resources:
- hosts.yaml
labels:
- pairs:
    a: b
commonLabels:
  c: d
";

/// The text with the key of each line there twice, one after the other: the copy has the same value, or another one.
fn with_duplicates(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().trim_start_matches("- ").len();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(':')) {
        let block = lines[at + 1..].iter().take_while(|below| {
            indent(below) > indent(line)
                || below.trim_start().starts_with("- ") && indent(below) > indent(line)
        });
        let end = at + 1 + block.count();
        let mut copy: Vec<String> = lines[at..end].iter().map(|line| (*line).to_owned()).collect();
        // The copy of a list's first key is a further key of the same item.
        copy[0] = copy[0].replacen("- ", "  ", 1);
        let all = lines[..end].iter().map(|line| (*line).to_owned()).chain(copy);
        let all: Vec<String> =
            all.chain(lines[end..].iter().map(|line| (*line).to_owned())).collect();
        found.push((line.trim().to_owned(), all.join("\n") + "\n"));
    }
    found
}

/// The errors of a repo that are in a file.
fn errors(files: [(&str, &str); 5], file: &str) -> Vec<String> {
    let files = files.into_iter().map(|(path, text)| (path.into(), text.as_bytes().to_vec()));
    let generated = generate(&Files::in_memory(files), &Options::default(), &|_| {}).unwrap();
    let here = generated.findings.into_iter().filter(|finding| finding.is_error());
    let here =
        here.filter(|finding| finding.places.iter().any(|(place, _)| **place.file() == *file));
    here.map(|finding| finding.message).collect()
}

#[test]
fn no_key_that_is_read_may_stand_twice() {
    let texts = [
        ("cluster.yaml", CLUSTER),
        ("provisioning.yaml", PROVISIONING),
        ("hosts.yaml", HOST),
        ("sipgen.yaml", SETTINGS),
        ("kustomization.yaml", KUSTOMIZATION),
    ];
    let mut accepted = Vec::new();
    for (index, (file, text)) in
        texts.iter().enumerate().filter(|(_, (file, _))| *file != "kustomization.yaml")
    {
        assert!(!errors(texts, file).iter().any(|message| message.contains("duplicate")), "{file}");
        for (line, doubled) in with_duplicates(text) {
            let mut files = texts;
            files[index].1 = &doubled;
            let messages = errors(files, file);
            if !messages.iter().any(|message| message.contains("duplicate")) {
                accepted.push(format!("{file}: {line}: {messages:?}"));
            }
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
fn a_kustomization_may_have_keys_twice() {
    fn texts(kustomization: &str) -> [(&str, &str); 5] {
        [
            ("cluster.yaml", CLUSTER),
            ("provisioning.yaml", PROVISIONING),
            ("hosts.yaml", HOST),
            ("sipgen.yaml", SETTINGS),
            ("kustomization.yaml", kustomization),
        ]
    }
    for (line, doubled) in with_duplicates(KUSTOMIZATION) {
        assert_eq!(
            errors(texts(&doubled), "kustomization.yaml"),
            errors(texts(KUSTOMIZATION), "kustomization.yaml"),
            "{line}"
        );
    }
}
