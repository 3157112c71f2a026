//! A key that stands twice is refused wherever it decides something, as the API server does. In a kustomization.yaml the
//! last one counts, as in kustomize.

use sipgen::input::load::{Files, Texts};
use sipgen::{Options, generate};
use yaml_serde::Value;

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

/// The line of a finding about a duplicate key in `hosts.yaml`, and the text that is marked there.
fn reported(hosts: &str) -> Option<(usize, String)> {
    let text = hosts.as_bytes().to_vec();
    let files = Files::in_memory([("hosts.yaml".into(), text)]);
    let generated = generate(&files, &Options::default(), &|_| {}).unwrap();
    let is_duplicate = |message: &str| message.contains("duplicate key");
    let finding = generated.findings.iter().find(|finding| is_duplicate(&finding.message))?;
    let (place, _) = finding.places.first()?;
    let excerpt = Texts::new(&files).excerpt(place, true);
    let marked = excerpt.map(|excerpt| excerpt.marked).unwrap_or_default();
    Some((Texts::new(&files).position(place).line?, marked))
}

/// Writes a value in flow style with one entry a line, and the entry with this number twice. Keys
/// have quotes in JSON. Returns the line of the second occurrence, from 0.
struct FlowWriter {
    text: String,
    entries: usize,
    twice: usize,
    quote: &'static str,
    second: Option<(usize, String)>,
}

impl FlowWriter {
    fn write(&mut self, value: &Value) {
        let Value::Mapping(fields) = value else {
            self.text += &serde_json::to_string(value).unwrap();
            return;
        };
        self.text += "{";
        let mut separator = "\n";
        for (key, value) in fields {
            let key = format!("{0}{1}{0}", self.quote, key.as_str().unwrap());
            let is_twice = self.entries == self.twice;
            self.entries += 1;
            let start = self.text.len();
            self.text += &format!("{separator} {key}: ");
            self.write(value);
            separator = ",\n";
            if is_twice {
                let copy = self.text[start..].trim_start_matches(',').to_owned();
                self.text += ",";
                self.second = Some((self.text.lines().count(), key));
                self.text += &copy;
            }
        }
        self.text += "}";
    }
}

#[test]
fn a_duplicate_key_is_reported_where_it_stands_for_the_second_time() {
    let mut wrong = Vec::new();
    let mut judge = |what: String, text: &str, line: usize, key: &str| {
        let (Some((found, marked)), crlf) = (reported(text), text.contains('\r')) else {
            return false;
        };
        if found != line || !marked.trim_matches('"').starts_with(key.trim_matches('"')) {
            wrong.push(format!("{what}, {crlf}: {found} instead of {line}, `{marked}`\n{text}"));
        }
        true
    };
    let mut found = 0;
    for (written, doubled) in with_duplicates(HOST) {
        // Lines are equal up to the copy, which is the first that is not as before.
        let key = written.trim_start_matches("- ").split(':').next().unwrap();
        let first = HOST.lines().position(|line| line.trim() == written).unwrap();
        let length = doubled.lines().count() - HOST.lines().count();
        let line = first + length + 1;
        let other = "kind: Other\n---\n";
        let item = doubled.lines().map(|line| format!("  {line}\n")).collect::<String>();
        let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", item.trim_start());
        let anchored = doubled.replace("labels:\n", "labels: &labels\n");
        for (what, text, line) in [
            ("alone", doubled.clone(), line),
            ("BOM", format!("\u{feff}{doubled}"), line),
            ("CRLF", doubled.replace('\n', "\r\n"), line),
            ("second document", format!("{other}{doubled}"), line + 2),
            ("item of a list", list, line + 3),
            ("anchor", anchored, line),
            ("comment", format!("# x: y\n{doubled}"), line + 1),
        ] {
            found += usize::from(judge(format!("{what}: {written}"), &text, line, key));
        }
    }
    // All but `note`, whose annotation no rule reads.
    assert!(found > 90, "{found}");
    let host: Value = yaml_serde::from_str(HOST).unwrap();
    let (mut found, mut twice) = (0, 0);
    loop {
        for quote in ["", "\""] {
            let text = String::new();
            let mut flow = FlowWriter { text, entries: 0, twice, quote, second: None };
            flow.write(&host);
            let Some((before, key)) = flow.second else {
                assert!(found > 20, "{found}");
                assert!(wrong.is_empty(), "{}", wrong.join("\n"));
                return;
            };
            found += usize::from(judge(format!("flow {quote}"), &flow.text, before + 1, &key));
        }
        twice += 1;
    }
}

#[test]
fn an_error_in_a_line_with_tabs_or_in_flow_style_shows_a_key() {
    let head = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n";
    for (body, shown) in [
        ("metadata:\n  name: a\n\tlabels: {}\n", "labels:"),
        ("metadata:\n  name: a\nspec:\n\t bmc:\n\t  address: x\n", "bmc:"),
        ("metadata: {name: a}\nspec: {networkData: [x], bmc: {address: x}}\n", "networkData:"),
        ("metadata: {name: a}\nspec: {bmc: {address: [x]}}\n", "address:"),
        // No value.
        ("metadata:\n  name: a\ndata:\n\tvalue: c2VjcmV0\n", "value:"),
    ] {
        let text = format!("{head}{body}");
        let files = [("hosts.yaml".into(), text.as_bytes().to_vec())];
        let files = Files::in_memory(files);
        let generated = generate(&files, &Options::default(), &|_| {}).unwrap();
        let (place, _) = &generated.findings[0].places[0];
        let excerpt = Texts::new(&files).excerpt(place, true);
        let line = excerpt.map(|it| format!("{}{}{}", it.before, it.marked, it.after));
        let line = line.unwrap_or_default();
        assert!(line.contains(shown) && !line.contains("c2VjcmV0"), "{text}{line}");
    }
}
