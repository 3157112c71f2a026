//! One object, written in every way that YAML has: whatever the real kustomize reads, sipgen sees or reports.
//!
//! Cases are drawn from lists of spellings by a fixed sequence, so each run has the same. The fuzz target `documents`
//! compares the fast look with the parser on any bytes.

use std::collections::BTreeSet;
use std::fs;

use rayon::prelude::*;
use sipgen::input::load::Files;
use sipgen::{Options, generate};

/// How many cases there are.
const CASES: usize = 500;

/// A fixed sequence of numbers, by a linear congruential generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }
}

/// A kind with some of its letters as escapes of double quotes.
fn escaped(dice: &mut Dice, text: &str) -> String {
    let escape = |c: char, form: usize| match form {
        0 => format!("\\x{:02x}", c as u32),
        1 => format!("\\u{:04X}", c as u32),
        2 => format!("\\U{:08x}", c as u32),
        3 => format!("\\\n    {c}"),
        _ => c.to_string(),
    };
    let letters: String = text.chars().map(|c| escape(c, dice.roll(8))).collect();
    format!("\"{letters}\"")
}

/// What may stand behind the colon of `kind`.
fn kind_value(dice: &mut Dice, kind: &str) -> String {
    let escaped = escaped(dice, kind);
    let base64 = if kind == "SIPCluster" { "U0lQQ2x1c3Rlcg==" } else { "QmFyZU1ldGFsSG9zdA==" };
    let values = [
        format!(" {kind}"),
        format!("   {kind}"),
        format!("\t{kind}"),
        format!(" {kind}\t# x"),
        format!(" {kind} # kind: ConfigMap"),
        format!(" &k {kind}"),
        format!(" !!str {kind}"),
        format!(" !local {kind}"),
        format!(" !<tag:yaml.org,2002:str> {kind}"),
        format!(" !!binary {base64}"),
        format!(" !!str &k {kind}"),
        format!(" >-\n  {kind}"),
        format!(" |-\n    {kind}"),
        format!("\n  {kind}"),
        format!(" # x\n  {kind}"),
        format!("\n\n    \"{kind}\""),
        format!(" {kind}\n  more"),
        format!(" '{kind}'"),
        format!(" \"{kind}\"\t"),
        format!(" {escaped}"),
        format!(" {escaped} # x"),
        " *kind".to_owned(),
    ];
    dice.pick(&values)
}

/// The line of the kind.
fn kind_line(dice: &mut Dice, kind: &str) -> String {
    let value = kind_value(dice, kind);
    let lines = [
        format!("kind:{value}"),
        format!("kind:{value}"),
        format!("kind:{value}"),
        format!("kind :{value}"),
        format!("\"kind\":{value}"),
        format!("'kind':{value}"),
        format!("\"k\\x69nd\":{value}"),
        format!("? kind\n:{value}"),
        format!("&key kind:{value}"),
        format!("!!str kind:{value}"),
        format!("! kind:{value}"),
        format!("!local kind:{value}"),
        format!("!<tag:yaml.org,2002:str> kind:{value}"),
        format!("<<: {{kind: {kind}}}"),
    ];
    dice.pick(&lines)
}

/// Fields that look like a kind and are none.
fn decoy(dice: &mut Dice) -> String {
    let decoys = [
        "",
        "x: 1\n",
        "data: |\n  kind: ConfigMap\n",
        "data: \"\nkind: ConfigMap\n\"\n",
        "data: '\nkind: ConfigMap\n'\n",
        "data: {a: 1,\nkind: ConfigMap}\n",
        "data: [a,\nkind, ConfigMap]\n",
        "data:\n- kind: ConfigMap\n- x\n",
        "data:\n  kind: ConfigMap\n",
        "# kind: ConfigMap\n",
        "data: a\n  kind\n",
        "items: {}\n",
        "data: \"\n  - kind: ConfigMap\n\"\n",
    ];
    dice.pick(&decoys).to_owned()
}

/// One object in one spelling.
fn object(dice: &mut Dice, kind: &str, name: &str) -> String {
    let group =
        if kind == "SIPCluster" { "airship.airshipit.org/v1" } else { "metal3.io/v1alpha1" };
    let line = kind_line(dice, kind);
    let anchored = if line.contains("*kind") {
        format!(", annotations: {{of: &kind {kind}}}")
    } else {
        String::new()
    };
    let mut fields = [
        format!("apiVersion: {group}\n"),
        format!("metadata: {{name: {name}, namespace: n{anchored}}}\n"),
        decoy(dice),
        "spec: {}\n".to_owned(),
        decoy(dice),
    ];
    // A key stands once, and an anchor before its alias.
    if fields[2].starts_with("data") == fields[4].starts_with("data") || fields[2].starts_with('x')
    {
        fields[4].clear();
    }
    let place = if anchored.is_empty() { dice.roll(6) } else { 2 + dice.roll(4) };
    let before: String = fields[..place.min(5)].concat();
    let after: String = fields[place.min(5)..].concat();
    format!("{before}{line}\n{after}")
}

/// A text, each line but those of nothing further in.
fn indented(text: &str, by: usize) -> String {
    text.lines()
        .map(
            |line| {
                if line.is_empty() {
                    "\n".to_owned()
                } else {
                    format!("{}{line}\n", " ".repeat(by))
                }
            },
        )
        .collect()
}

/// A SIPCluster with a mistake at a node that may be written in flow style, tied to another node, or beside a value that
/// must not be shown.
fn mistaken(dice: &mut Dice) -> String {
    let values = [
        "x",
        "*x",
        "{image: y}",
        "[a, {b: c}]",
        "\"x\\x41\"",
        "'x'",
        "null",
        "{caSecret: x, nodePort: 30022}",
        "{}",
        "[]",
        "https://me:hunter2@x.example/",
        "ä",
        "! x",
        "|\n        x",
        "{a: *x, b: {c: *x}}",
        "&y 1",
        "# x",
        "{\"token\": \"x\"}",
    ];
    let keys = [
        "auth",
        "jumpHost",
        "loadBalancer",
        "caSecret",
        "nodePort",
        "image",
        "token",
        "sshKey",
        "\"auth\"",
        "? auth\n     ",
        "*x",
        "&z auth",
        "nodeNetwork",
        "connectors",
    ];
    let entry = |dice: &mut Dice| format!("{}: {}", dice.pick(&keys), dice.pick(&values));
    let (one, two, three) = (entry(dice), entry(dice), entry(dice));
    let services = [
        format!("auth: [{{{one}, {two}}}, {{{three}}}]"),
        format!("{{{one}, {two}, {three}}}"),
        format!("[{{{one}}}, {{{two}}}] # {three}"),
        format!("{one}\n    {two}\n    {three}"),
        format!("auth:\n    - {one}\n      {two}\n    - {{{three}}}"),
        format!("jumpHost: {{{one}, nested: [{{{two}}}, {{{three}}}]}}"),
    ];
    let services = dice.pick(&services);
    let breaks = if services.starts_with(['{', '[']) { " " } else { "\n    " };
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: e, namespace: x, annotations: {{a: &x foo}}}}\n\
         spec:\n  nodes: {{Worker: {{count: {{active: 1}}, labelSelector: {{}}}}}}\n  services:{breaks}{services}\n"
    )
}

/// One object, alone or among others, as the bytes of a file.
fn file(dice: &mut Dice, kind: &str, name: &str) -> Vec<u8> {
    let object = object(dice, kind, name);
    let item = indented(&object, 2);
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n";
    let other_item = indented(other, 2);
    let texts = [
        object.clone(),
        object.clone(),
        object.clone(),
        format!("---\n{object}"),
        format!("# x\n--- # y\n{object}...\n"),
        format!("--- !!map\n{object}"),
        indented(&object, 3),
        format!("{other}---\n{object}"),
        format!("{other}---\t# z\n{object}---\n"),
        format!("apiVersion: v1\nkind: List\nitems:\n- {}", item.trim_start()),
        format!(
            "apiVersion: v1\nitems:\n- {}- {}kind: List\n",
            other_item.trim_start(),
            item.trim_start()
        ),
        format!(
            "apiVersion: v1\nkind: !!str List\nitems:\n- {}- {}",
            item.trim_start(),
            other_item.trim_start()
        ),
        format!("apiVersion: v1\nkind: \"Li\\x73t\"\nitems:\n  -\n{}", indented(&object, 4)),
        format!(
            "apiVersion: v1\nkind: List\nitems:\n  # x\n  -   {}",
            indented(&object, 6).trim_start()
        ),
    ];
    let text = dice.pick(&texts);
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    match dice.roll(12) {
        0 => text.replace('\n', "\r\n").into_bytes(),
        1 => text.replace('\n', "\r").into_bytes(),
        2 => text.replace('\n', "\u{85}").into_bytes(),
        3 => [b"\xff\xfe".to_vec(), utf_16(&text)].concat(),
        4 => utf_16(&text),
        5 => [b"\xef\xbb\xbf".to_vec(), text.into_bytes()].concat(),
        _ => text.into_bytes(),
    }
}

/// The objects of our kinds, by kind and name, that kustomize finds in a file; nothing where it refuses the file.
fn judged(content: &[u8]) -> Option<BTreeSet<(String, String)>> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file.yaml"), content).unwrap();
    fs::write(directory.path().join("kustomization.yaml"), "resources: [file.yaml]\n").unwrap();
    let output = crate::support::run_tool(
        crate::support::tool("kustomize").arg("build").arg(directory.path()),
    );
    if !output.status.success() {
        return None;
    }
    let objects = crate::support::documents(&crate::support::text(&output.stdout)).into_iter();
    let named = objects.map(|object| {
        let text = |value: &yaml_serde::Value| value.as_str().unwrap_or_default().to_owned();
        (text(&object["kind"]), text(&object["metadata"]["name"]))
    });
    Some(named.filter(|(kind, _)| kind == "SIPCluster" || kind == "BareMetalHost").collect())
}

#[test]
fn every_finding_is_printed_in_every_format() {
    let mut dice = Dice(37);
    let case37 = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: e, namespace: x}\nspec:\n  \
                  nodes: {ControlPlane: {count: {active: 1}, labelSelector: {}}}\n  services:\n    auth: [{caSecret: x, \
                  image: y, nodePort: 30022}, {image: y}]\n";
    let cases = std::iter::once(case37.to_owned()).chain((0..CASES).map(|_| mistaken(&mut dice)));
    let cases: Vec<String> = cases.collect();
    let findings: usize = cases
        .par_iter()
        .map(|text| {
            let repo = Files::in_memory([("e.yaml".into(), text.clone().into_bytes())]);
            let generated = generate(&repo, &Options::default(), &|_| {}).unwrap();
            crate::targets::print_findings(&generated.findings, &repo);
            generated.findings.len()
        })
        .sum();
    assert!(findings > 2 * CASES, "{findings}");
}

#[test]
fn whatever_kustomize_reads_is_seen_or_reported() {
    let mut dice = Dice(14);
    let cases: Vec<(String, Vec<u8>)> = (0..CASES)
        .map(|number| {
            let name = format!("c{number}");
            let kind = dice.pick(&["SIPCluster", "SIPCluster", "BareMetalHost"]);
            let content = file(&mut dice, kind, &name);
            (name, content)
        })
        .collect();
    let path = |name: &str| format!("{name}.yaml").into();
    let files = cases.iter().map(|(name, content)| (path(name), content.clone()));
    let repo = Files::in_memory(files);
    let generated = generate(&repo, &Options::default(), &|_| {}).unwrap();
    crate::targets::print_findings(&generated.findings, &repo);
    let clusters =
        generated.site.clusters.keys().map(|key| ("SIPCluster".to_owned(), key.name.to_string()));
    let hosts = generated
        .site
        .inventory
        .hosts
        .iter()
        .map(|host| ("BareMetalHost".to_owned(), host.key.name.to_string()));
    let seen: BTreeSet<(String, String)> = clusters.chain(hosts).collect();
    let errors = generated.findings.iter().filter(|finding| finding.is_error());
    let reported: BTreeSet<String> = errors
        .flat_map(|finding| &finding.places)
        .map(|(place, _)| place.file().to_string())
        .collect();

    let judged: Vec<Option<BTreeSet<(String, String)>>> =
        cases.par_iter().map(|(_, content)| judged(content)).collect();

    let mut failures = Vec::new();
    let (mut accepted, mut read) = (0, 0);
    for ((name, content), judged) in cases.iter().zip(&judged) {
        let Some(judged) = judged else { continue };
        let seen_here: BTreeSet<_> =
            seen.iter().filter(|(_, seen)| seen == name).cloned().collect();
        accepted += 1;
        read += usize::from(seen_here == *judged);
        if seen_here != *judged && !reported.contains(&format!("{name}.yaml")) {
            let content = String::from_utf8_lossy(content);
            failures.push(format!("kustomize: {judged:?}, sipgen: {seen_here:?} in\n{content}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {CASES}:\n{}",
        failures.len(),
        failures[..failures.len().min(5)].join("\n")
    );
    println!(
        "{accepted} of {CASES} spellings are accepted by kustomize, {read} of them read by sipgen"
    );
    // Else the cases or the reader are worth little: an error is the answer to rare spellings only.
    assert!(accepted > CASES / 2, "kustomize accepts {accepted} of {CASES}");
    assert!(read * 20 > accepted * 17, "sipgen reads {read} of {accepted}");
}
