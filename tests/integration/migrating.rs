//! `sipgen migrate`: what it writes, what it leaves, and that it means the same.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Repo, Run, assert_says, run};

const GENERATIONS: [(&str, &str); 3] = [
    ("generation-2020-11", "site/sipcluster.yaml"),
    ("generation-2021-01", "edge.yaml"),
    ("generation-2021-03", "clusters/edge.yaml"),
];

fn migrate(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["migrate"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
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
        for (way, text) in ways(&text) {
            let repo = Repo::of_fixture(fixture);
            repo.write(file, &text);
            let before = Repo::of_fixture(fixture);
            before.write(file, &text);
            before.generate(&[]).expect(0);

            let said = migrate(&repo, &[]).expect(0);
            assert_says(&said.stderr, &["1 SIPCluster rewritten in 1 file"]);

            // From the very beginning, with adoption by older labels.
            let generated = repo.generate(&[]).expect(0);
            assert_eq!(
                repo.files("overlays"),
                before.files("overlays"),
                "{fixture} {way}:\n{}",
                repo.read(file)
            );
            assert!(!generated.stderr.contains("SIP0104"), "{fixture} {way}: {}", generated.stderr);
            let migrated = repo.on_disk("");
            migrate(&repo, &["--check"]).expect(0);
            migrate(&repo, &[]).expect(0);
            assert!(
                repo.on_disk("") == migrated,
                "{fixture} {way}: a second run changes something"
            );
        }
    }
}

#[test]
fn the_rewritten_files_are_what_people_would_write() {
    for (fixture, file) in GENERATIONS {
        let repo = Repo::of_fixture(fixture);
        migrate(&repo, &[]).expect(0);
        insta::assert_snapshot!(format!("migrated-{fixture}"), repo.read(file));
    }
}

#[test]
fn comments_and_line_ends_stay() {
    for (fixture, file) in GENERATIONS {
        let text = Repo::of_fixture(fixture).read(file);
        let comments: Vec<&str> = text
            .lines()
            .filter_map(|line| {
                line.find('#')
                    .filter(|at| *at == 0 || line[..*at].ends_with(' '))
                    .map(|at| &line[at..])
            })
            .collect();
        assert!(comments.len() >= 3, "{fixture} has few comments");
        for (way, text) in ways(&text).into_iter().take(5) {
            let repo = Repo::of_fixture(fixture);
            repo.write(file, &text);
            migrate(&repo, &[]).expect(0);

            let after = repo.read(file);
            for comment in &comments {
                assert_eq!(
                    after.matches(comment).count(),
                    1,
                    "{fixture} {way}: {comment}\n{after}"
                );
            }
            let carriage_returns = |text: &str| text.matches("\r\n").count();
            assert_eq!(
                carriage_returns(&after) > 0,
                carriage_returns(&text) > 0,
                "{fixture} {way}"
            );
            assert_eq!(carriage_returns(&after), after.matches('\r').count(), "{fixture} {way}");
            assert_eq!(
                after.starts_with('\u{feff}'),
                text.starts_with('\u{feff}'),
                "{fixture} {way}"
            );
        }
    }
}

#[test]
fn files_without_older_clusters_are_not_touched() {
    let repo = Repo::of_fixture("quickstart");
    let before = repo.on_disk("");

    let said = migrate(&repo, &[]).expect(0);

    assert!(repo.on_disk("") == before, "files have changed");
    assert_says(&said.stderr, &["no legacy SIPCluster found"]);

    let repo = Repo::of_fixture("generation-2020-11");
    let before = repo.on_disk("");
    migrate(&repo, &[]).expect(0);
    let after = repo.on_disk("");
    let changed: Vec<&String> =
        before.keys().filter(|file| before[*file] != after[*file]).collect();
    assert_eq!(changed, ["site/sipcluster.yaml"]);
    assert_eq!(before.len(), after.len());
}

#[test]
fn a_check_writes_nothing_and_says_that_something_would_change() {
    let repo = Repo::of_fixture("generation-2021-01");
    let before = repo.on_disk("");

    let said = migrate(&repo, &["--check", "--diff"]).expect(1);

    assert!(repo.on_disk("") == before, "files have changed");
    assert_says(&said.stdout, &["--- a/edge.yaml", "-    infra:", "+    services:"]);
    assert_says(&said.stderr, &["1 SIPCluster would be rewritten in 1 file"]);
}

#[test]
fn a_diff_is_what_git_sees() {
    let repo = Repo::of_fixture("generation-2021-03");

    let said = migrate(&repo, &["--diff"]).expect(0);

    let lines = |text: &str| {
        let is_change = |line: &&str| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        };
        let mut lines: Vec<String> = text.lines().filter(is_change).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&said.stdout), lines(&repo.git(&["diff"])));
}

#[test]
fn a_rewritten_file_keeps_its_permissions() {
    let repo = Repo::of_fixture("generation-2021-03");
    let path = repo.path().join("clusters/edge.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    migrate(&repo, &[]).expect(0);

    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn only_the_files_that_are_named_are_rewritten() {
    let repo = Repo::of_fixture("generation-2021-03");
    let other = repo
        .read("clusters/edge.yaml")
        .replace("name: edge", "name: core")
        .replace("nodePort: 3000", "nodePort: 3010");
    repo.write("clusters/core.yaml", &other);
    let before = repo.read("clusters/edge.yaml");

    let said = migrate(&repo, &["clusters/core.yaml"]).expect(0);

    assert_says(&said.stderr, &["1 SIPCluster rewritten in 1 file"]);
    assert_eq!(repo.read("clusters/edge.yaml"), before);
    assert_ne!(repo.read("clusters/core.yaml"), other);
    migrate(&repo, &["clusters/none.yaml"]).expect(2);
    migrate(&repo, &["/etc/hostname"]).expect(2);
    std::os::unix::fs::symlink("clusters/edge.yaml", repo.path().join("link.yaml")).unwrap();
    assert_says(&migrate(&repo, &["link.yaml"]).expect(2).stderr, &["symbolic link"]);
}

#[test]
fn a_repo_may_be_named_from_elsewhere() {
    let repo = Repo::of_fixture("generation-2021-03");
    let elsewhere = Repo::empty();

    let directory = repo.path().to_str().unwrap();
    let said = migrate(&elsewhere, &["--repo", directory, "--check"]).expect(1);

    assert_says(&said.stderr, &["1 SIPCluster would be rewritten"]);
}

#[test]
fn what_cannot_be_rewritten_is_told_and_its_file_left_alone() {
    let march = |from: &str, to: &str| {
        let repo = Repo::of_fixture("generation-2021-03");
        repo.replace("clusters/edge.yaml", from, to);
        repo
    };
    let braces = "{a: b, # why\n          c: d}";
    for (repo, parts) in [
        (march("vmFlavor: vino", "vmFlavor: &flavor vino"), &["SIP0122", "anchor"][..]),
        (march("name: edge\n", "name: edge\r\n"), &["SIP0122", "carriage return"]),
        (march("spreadTopology: PerHost", "spreadTopology: PerRoom"), &["SIP0240", "`PerRoom`"]),
        (
            march(
                "count:\n            active: 1\n            standby: 1\n",
                &format!("count: {braces}\n"),
            ),
            &[],
        ),
    ] {
        let other = repo.read("clusters/edge.yaml").contains("# why");
        let before = repo.on_disk("");
        let run = migrate(&repo, &[]);
        if other {
            // Braces that are not in the way may have comments.
            run.expect(0);
            assert!(repo.read("clusters/edge.yaml").contains(braces));
            continue;
        }
        let said = run.expect(1).stderr;
        assert_says(&said, parts);
        assert_says(&said, &["--> clusters/edge.yaml"]);
        assert!(repo.on_disk("") == before, "files have changed");
    }
}

#[test]
fn one_file_that_cannot_be_rewritten_keeps_no_other_from_it() {
    let repo = Repo::of_fixture("generation-2021-03");
    let text = repo.read("clusters/edge.yaml");
    repo.write(
        "clusters/core.yaml",
        &text.replace("name: edge", "name: core").replace("PerHost", "PerRoom"),
    );

    let said = migrate(&repo, &[]).expect(1).stderr;

    assert_says(&said, &["SIP0240", "--> clusters/core.yaml", "1 SIPCluster rewritten in 1 file"]);
    assert!(repo.read("clusters/core.yaml").contains("PerRoom"));
    assert!(!repo.read("clusters/edge.yaml").contains("PerHost"));
}

#[test]
fn a_cluster_with_mistakes_of_today_is_rewritten_all_the_same() {
    let repo = Repo::of_fixture("generation-2021-01");
    repo.replace("edge.yaml", "        caSecret: edge-oidc-ca\n", "");
    repo.refused();

    migrate(&repo, &[]).expect(0);

    assert_says(&repo.refused(), &["the auth service has no issuer of its certificate"]);
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let repo = Repo::of_fixture("generation-2021-03");
    repo.write("clusters/broken.yaml", "kind: SIPCluster\nspec: [\n");

    assert_says(&migrate(&repo, &[]).expect(1).stderr, &["SIP0101", "--> clusters/broken.yaml"]);
}

#[test]
fn anchors_outside_of_what_changes_are_no_obstacle() {
    let repo = Repo::of_fixture("generation-2021-03");
    repo.replace("clusters/edge.yaml", "image: quay.io", "image: &image quay.io");
    repo.replace("clusters/edge.yaml", "image: docker.io/library/haproxy:2.3.2", "image: *image");

    migrate(&repo, &[]).expect(0);

    assert_says(&repo.read("clusters/edge.yaml"), &["image: &image quay.io", "image: *image"]);
    repo.generate(&[]).expect(0);
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
