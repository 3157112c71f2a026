//! `sipgen migrate`: what it prints, and that it means the same.

use crate::support::{Repo, Run, assert_says, run};

const GENERATIONS: [(&str, &str); 3] = [
    ("generation-2020-11", "site/sipcluster.yaml"),
    ("generation-2021-01", "edge.yaml"),
    ("generation-2021-03", "clusters/edge.yaml"),
];

fn migrate(repo: &Repo) -> Run {
    let before = repo.on_disk("");
    let run = run(&mut repo.sipgen(&["migrate"]));
    assert!(repo.on_disk("") == before, "migrate has written files");
    run
}

/// The SIPCluster of a fixture as JSON.
fn as_json(text: &str) -> serde_json::Value {
    serde_json::to_value(yaml_serde::from_str::<yaml_serde::Value>(text).unwrap()).unwrap()
}

fn indented(text: &str, indent: &str) -> String {
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") })
        .collect()
}

/// The text of a SIPCluster in every way in which people and programs write one.
fn ways(text: &str) -> Vec<(&'static str, String)> {
    let json = as_json(text);
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x} # kept\n";
    let item = indented(text, "    ").replacen("    apiVersion", "  - apiVersion", 1);
    let flush = indented(text, "  ").replacen("  apiVersion", "- apiVersion", 1);
    // In flow style JSON is YAML, if not the other way round.
    let keys = text.lines().filter(|line| line.starts_with("spec:")).count();
    assert_eq!(keys, 1);
    let head = text.split_once("spec:").unwrap().0;
    let spec = serde_json::to_string(&json["spec"]).unwrap();
    let in_braces = |value: &serde_json::Value| serde_json::to_string(value).unwrap();
    let parts: String = json["spec"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| match (key.as_str(), value) {
            ("nodes", nodes) => {
                let sets = nodes.as_object().unwrap().iter();
                let sets: String =
                    sets.map(|(role, set)| format!("    {role}: {}\n", in_braces(set))).collect();
                format!("  nodes:\n{sets}")
            }
            (key, value) => format!("  {key}: {}\n", in_braces(value)),
        })
        .collect();
    vec![
        ("as it is", text.to_owned()),
        ("with carriage returns", text.replace('\n', "\r\n")),
        ("with a byte order mark", format!("\u{feff}{text}")),
        ("without a last line feed", text.trim_end().to_owned()),
        (
            "between other documents",
            format!(
                "# first\n{config_map}---\n{text}---\n{}# last\n",
                config_map.replace("name: x", "name: y")
            ),
        ),
        (
            "in an indented list",
            format!(
                "apiVersion: v1\nkind: List\nitems:\n  # one\n{item}  - {{kind: Other, metadata: {{name: o}}, a: [b]}}\n"
            ),
        ),
        (
            "in a list",
            format!("apiVersion: v1\nkind: List\nitems:\n{flush}"),
        ),
        ("as JSON on one line", serde_json::to_string(&json).unwrap()),
        (
            "as JSON",
            serde_json::to_string_pretty(&json).unwrap() + "\n",
        ),
        (
            "in a list as JSON",
            serde_json::to_string_pretty(
                &serde_json::json!({"kind": "List", "items": [{"kind": "Other", "metadata": {"name": "o"}}, json]}),
            )
            .unwrap(),
        ),
        (
            "with its spec in braces",
            format!("{head}spec: {spec} # end\n"),
        ),
        ("with parts in braces", format!("{head}spec:\n{parts}")),
        (
            "with keys in quotes",
            text.replace("vm-flavor:", "\"vm-flavor\":")
                .replace("  infra:", "  'infra':"),
        ),
    ]
}

#[test]
fn what_is_generated_stays_the_same_however_it_is_written() {
    for (fixture, file) in GENERATIONS {
        let text = Repo::of_fixture(fixture).read(file);
        let printed = migrate(&Repo::of_fixture(fixture)).expect(0).stdout;
        for (way, text) in ways(&text) {
            let repo = Repo::of_fixture(fixture);
            repo.write(file, &text);
            repo.generate(&[]).expect(0);
            let before = repo.files("overlays");

            let by_this_way = migrate(&repo).expect(0).stdout;
            assert_eq!(as_json(&by_this_way), as_json(&printed), "{fixture} {way}");

            // From the very beginning, with adoption by older labels.
            let repo = Repo::of_fixture(fixture);
            repo.write(file, &printed);
            let generated = repo.generate(&[]).expect(0);
            assert_eq!(repo.files("overlays"), before, "{fixture} {way}:\n{printed}");
            assert!(!generated.stderr.contains("SIP0104"), "{fixture} {way}: {}", generated.stderr);
            assert_says(&migrate(&repo).expect(0).stderr, &["no legacy SIPCluster found"]);
        }
    }
}

#[test]
fn a_generation_is_printed_in_todays_form() {
    for (fixture, _) in GENERATIONS {
        let printed = migrate(&Repo::of_fixture(fixture)).expect(0).stdout;
        insta::assert_snapshot!(format!("migrated-{fixture}"), printed);
    }
}

#[test]
fn a_repo_without_older_clusters_prints_nothing() {
    let run = migrate(&Repo::of_fixture("quickstart")).expect(0);

    assert_eq!(run.stdout, "");
    assert_says(&run.stderr, &["no legacy SIPCluster found"]);
}

#[test]
fn what_cannot_be_converted_is_told_and_the_others_are_printed() {
    let repo = Repo::of_fixture("generation-2021-03");
    let text = repo.read("clusters/edge.yaml");
    repo.write(
        "clusters/core.yaml",
        &text.replace("name: edge", "name: core").replace("PerHost", "PerRoom"),
    );
    repo.write("clusters/broken.yaml", "kind: SIPCluster\nspec: [\n");

    let run = migrate(&repo).expect(1);

    let said = ["SIP0240", "--> clusters/core.yaml", "SIP0101", "--> clusters/broken.yaml"];
    assert_says(&run.stderr, &said);
    assert_says(&run.stdout, &["# clusters/edge.yaml\n"]);
    assert!(!run.stdout.contains("PerRoom"), "{}", run.stdout);
}

#[test]
fn templates_of_the_operator_are_reported_wherever_they_are() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(
        "base/kustomization.yaml",
        "configMapGenerator:\n- {name: loadbalancerworker, files: [loadBalancerWorker.cfg]}\n",
    );
    repo.write("base/loadBalancerWorker.cfg", "global\n");
    repo.write(
        "base/templates.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: loadbalancercontrolplane}\ndata:\n  \
         loadBalancerControlPlane.cfg: global\n",
    );

    let said = repo.generate(&["--check"]).stderr;

    assert_says(
        &said,
        &[
            "SIP0711",
            "base/loadBalancerWorker.cfg",
            "base/templates.yaml:5",
            "docs/operations/from-sip-operator.md",
        ],
    );

    repo.write("sipgen.yaml", "templates: own\n");
    repo.write("own/loadbalancer/haproxy.cfg", "global\n");
    let said = repo.generate(&["--check"]).stderr;
    assert!(!said.contains("SIP0711"), "{said}");
}
