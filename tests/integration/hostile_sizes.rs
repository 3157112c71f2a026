//! Input of which there is much: work that grows with its square would take minutes here, and memory beyond what
//! docs/reference/limits.md says is refused.

use std::fmt::Write as _;
use std::process::Command;

use crate::support::{Repo, Run, assert_says};

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n";

fn quickstart() -> Repo {
    Repo::generated("quickstart")
}

/// Runs `sipgen validate`, which must end by itself after some seconds of the processor's time and with so many MiB of
/// memory. It aborts where it is refused more.
#[track_caller]
fn validate_within(repo: &Repo, mebibytes: u64) -> Run {
    let mut command = Command::new("prlimit");
    command.arg(format!("--data={}", mebibytes << 20));
    command.args(["--cpu=40", "timeout", "400", env!("CARGO_BIN_EXE_sipgen"), "validate"]);

    let run = crate::support::run(command.current_dir(repo.path()));

    assert!((0..=2).contains(&run.code), "ended with {}\n{}", run.code, run.stderr);
    run
}

#[test]
fn labels_that_others_read_otherwise() {
    for (open, indent, close) in [("\n", "    ", "\n"), (" {", "", ",")] {
        let repo = quickstart();
        let end = if open == " {" { "}" } else { "" };
        let labels = (0..10_000).fold(String::new(), |mut labels, number| {
            write!(labels, "{indent}k{number}: yes{close}").unwrap();
            labels
        });
        let metadata =
            format!("metadata:\n  name: many\n  namespace: metal\n  labels:{open}{labels}{end}\n");
        repo.write("many.yaml", &format!("{HOST}{metadata}"));

        let run = validate_within(&repo, 700);

        assert_says(&run.stdout, &["SIP0320", "more findings"]);
    }
}

#[test]
fn kustomizations_that_list_much() {
    let repo = quickstart();
    let lists = (0..30_000).fold(String::from("resources:\n"), |mut list, number| {
        writeln!(list, "- some/directory/far/below/{number}.yaml").unwrap();
        list
    });
    repo.write("many/kustomization.yaml", &lists);
    let repeated = "- ../a\n".repeat(30_000);
    repo.write("again/kustomization.yaml", &format!("resources:\n{repeated}"));

    validate_within(&repo, 700);
}

#[test]
fn kustomizations_in_a_long_row() {
    let repo = quickstart();
    for number in 0..4_000 {
        repo.write(
            &format!("row/{number}/kustomization.yaml"),
            &format!("resources: [../{}]\n", number + 1),
        );
    }

    validate_within(&repo, 700);
}

#[test]
fn components_in_a_long_row() {
    let repo = quickstart();
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    for number in 0..8_000 {
        let next = format!("components: [../{}]\n", number + 1);
        repo.write(&format!("row/{number}/kustomization.yaml"), &format!("{component}{next}"));
    }
    repo.write("kustomization.yaml", "components: [row/0]\nresources: []\n");

    validate_within(&repo, 700);
}

#[test]
fn lines_without_number() {
    let repo = quickstart();
    repo.write("many.yaml", &format!("{HOST}metadata: [{}", "\n".repeat(8_000_000)));
    let comments = "#\n".repeat(400_000);
    repo.write(
        "comments.yaml",
        &format!("{comments}---\n{HOST}metadata: {{name: Not_A_Name}}\n{comments}"),
    );

    // No build reaches them, and so they are ignored.
    let run = validate_within(&repo, 120).expect(0);

    assert_says(
        &run.stdout,
        &["warning[SIP0349]", "--> many.yaml:1", "--> comments.yaml:400004:18"],
    );
}

#[test]
fn small_documents_without_number() {
    for document in ["---\na: 1\n", "--- {a: 1}\n"] {
        let repo = quickstart();
        repo.write(
            "many.yaml",
            &format!("{HOST}metadata: {{name: Not_A_Name}}\n{}", document.repeat(100_000)),
        );

        let run = validate_within(&repo, 90).expect(0);

        assert_says(&run.stdout, &["warning[SIP0349]", "--> many.yaml:3:18"]);
    }
}

#[test]
fn items_of_a_list_without_number() {
    for item in ["- a: 1\n", "- kind: A\n", "-\n"] {
        let repo = quickstart();
        repo.write(
            "list.yaml",
            &format!("kind: List\n# BareMetalHost\nitems:\n{}", item.repeat(200_000)),
        );

        validate_within(&repo, 400);
    }
    let repo = quickstart();
    repo.write(
        "list.json",
        &format!(
            "{{\"kind\":\"List\",\"items\":[{}{{\"kind\":\"BareMetalHost\"}}]}}",
            "{},".repeat(200_000)
        ),
    );

    validate_within(&repo, 700);
}

#[test]
fn an_object_of_many_values() {
    let head = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: x, namespace: tenant-a}\nspec:\n";
    let count = 15 << 20;
    for (open, value) in
        [("  x:\n", "  - a\n"), ("  x: [", "a,"), ("  nodes:\n", "   a:\n"), ("", "  \"\": a\n")]
    {
        let repo = quickstart();
        repo.write("large.yaml", &format!("{head}{open}{}", value.repeat(count / value.len())));

        let run = validate_within(&repo, 400).expect(1);

        assert_says(
            &run.stdout,
            &["error[SIP0101]", "more than 1000000 lines and commas", "--> large.yaml:1"],
        );
    }
    for (open, value) in [("  x:\n", "  - a\n"), ("  x: [", "a,"), ("", "  k: a\n")] {
        let repo = quickstart();
        repo.write("large.yaml", &format!("{head}{open}{}", value.repeat(200_000)));

        validate_within(&repo, 500).expect(1);
    }
}

#[test]
fn generators_that_multiply() {
    let repo = quickstart();
    let list = |elements: &mut dyn Iterator<Item = String>| {
        let elements: String = elements.collect();
        format!("{{list: {{elements: [{elements}]}}}}")
    };
    let without_equal = |prefix| list(&mut (0..10_000).map(|n| format!("{{k: {prefix}{n}}},")));
    let others = vec![without_equal("b"); 20].join(", ");
    let merge =
        format!("{{merge: {{mergeKeys: [k], generators: [{}, {others}]}}}}", without_equal("a"));
    let keys: String = (0..2_000).map(|key| format!("k{key}: v,")).collect();
    let wide = list(&mut (0..100).map(|_| format!("{{{keys}}},")));
    let long = list(&mut (0..100).map(|number| format!("{{n: {number}}},")));
    let matrix = format!("{{matrix: {{generators: [{wide}, {long}]}}}}");
    let globs: String = (0..20_000).map(|glob| format!("{{path: '*{glob}[ab]*'}},")).collect();
    for number in 0..200 {
        let file = format!("many/{number}/kustomization.yaml");
        repo.write(&file, "resources: []\n");
    }
    let globs = format!("{{git: {{repoURL: x, directories: [{globs}]}}}}");
    let filled = "{git: {repoURL: x, directories: [{path: '{{k}}'}]}}";
    let filled = format!("{{matrix: {{generators: [{}, {filled}]}}}}", without_equal("c"));
    let generators = [("merge", merge), ("matrix", matrix), ("globs", globs), ("filled", filled)];
    for (name, generator) in generators {
        repo.write(
            &format!("argocd/{name}.yaml"),
            &format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: {name}, namespace: argocd}}\n\
                 spec:\n  generators: [{generator}]\n  template:\n    spec:\n      project: default\n      \
                 source: {{repoURL: \"https://git.example.com/x\", path: 'p/{{{{k}}}}'}}\n      \
                 destination: {{server: \"https://kubernetes.default.svc\", namespace: x}}\n"
            ),
        );
    }

    validate_within(&repo, 700);
}

#[test]
fn bonds_of_bonds() {
    let repo = quickstart();
    let ids: Vec<String> = (0..200).map(|id| format!("\"{id}\"")).collect();
    let all = ids.join(", ");
    let links = ids.iter().map(|id| {
        format!("{{\"id\": {id}, \"ethernet_mac_address\": \"00:00:5e:00:53:01\", \"bond_links\": [{all}]}}")
    });
    let links: Vec<String> = links.collect();
    let networks = "{\"id\": \"a\", \"link\": \"7\", \"ip_address\": \"192.0.2.7\"}";
    repo.write(
        "many.yaml",
        &format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: many, namespace: metal}}\nstringData:\n  networkData: \
             '{{\"links\": [{}], \"networks\": [{networks}]}}'\n",
            links.join(", ")
        ),
    );

    validate_within(&repo, 700);
}

/// A kustomization of hosts, `h0` and so on, with more fields.
fn declared(repo: &Repo, hosts: usize, fields: &str) {
    let hosts = (0..hosts).fold(String::new(), |mut hosts, number| {
        write!(
            hosts,
            "---\n{HOST}metadata: {{name: h{number}, namespace: metal}}\nspec: {{online: true}}\n"
        )
        .unwrap();
        hosts
    });
    repo.write("many/hosts.yaml", &hosts);
    repo.write("many/kustomization.yaml", &format!("resources: [hosts.yaml]\n{fields}"));
}

#[test]
fn json_patches_that_double_a_host() {
    let repo = quickstart();
    let operations = (0..40).fold(String::new(), |mut operations, number| {
        writeln!(operations, "      - {{op: copy, from: /spec, path: /spec/c{number}}}").unwrap();
        operations
    });
    let patch =
        format!("patches:\n  - target: {{kind: BareMetalHost}}\n    patch: |\n{operations}");
    declared(&repo, 2, &patch);

    let run = validate_within(&repo, 3000).expect(1);

    assert_says(&run.stdout, &["error[SIP0118]", "1024 MiB", "--> many/kustomization.yaml:3:5"]);
    assert_eq!(run.stdout.matches("SIP0118]").count(), 1, "other builds are no cause");
    assert!(!run.stdout.contains("- kustomization:"), "kustomize needs the same memory");
}

#[test]
fn json_patches_that_nest_a_value() {
    let repo = quickstart();
    let operations = (0..3000).fold(String::new(), |mut operations, _| {
        operations += "      - {op: add, path: /spec/b, value: {}}\n";
        operations += "      - {op: move, from: /spec/a, path: /spec/b/a}\n";
        operations += "      - {op: move, from: /spec/b, path: /spec/a}\n";
        operations
    });
    let patch = format!(
        "patches:\n  - target: {{kind: BareMetalHost}}\n    patch: |\n      - {{op: add, path: /spec/a, value: {{}}}}\n{operations}"
    );
    declared(&repo, 1, &patch);

    let run = validate_within(&repo, 700).expect(1);

    assert_says(&run.stdout, &["error[SIP0118]", "256 deep"]);
}

#[test]
fn replacements_that_double_a_host() {
    let repo = quickstart();
    let entries = (0..40).fold(String::from("replacements:\n"), |mut entries, number| {
        write!(
            entries,
            "- source: {{kind: BareMetalHost, name: h0, fieldPath: spec}}\n  targets:\n  - select: {{kind: BareMetalHost, name: h0}}\n    fieldPaths: [spec.c{number}]\n    options: {{create: true}}\n"
        )
        .unwrap();
        entries
    });
    declared(&repo, 1, &entries);

    let run = validate_within(&repo, 3000).expect(1);

    assert_says(&run.stdout, &["error[SIP0118]", "1024 MiB", "--> many/kustomization.yaml:"]);
}

#[test]
fn components_that_list_the_next_one_twice() {
    let repo = quickstart();
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    for number in 0..30 {
        let next = format!("components: [../{0}, ../{0}]\n", number + 1);
        repo.write(&format!("row/{number}/kustomization.yaml"), &format!("{component}{next}"));
    }
    repo.write("row/30/kustomization.yaml", &format!("{component}commonAnnotations: {{a: b}}\n"));
    declared(&repo, 1, "components: [../row/0]\n");

    let run = validate_within(&repo, 700).expect(1);

    assert_says(&run.stdout, &["error[SIP0118]", "10 million steps"]);
}

#[test]
fn annotations_of_many_hosts() {
    let repo = quickstart();
    let annotation = "x".repeat(1 << 20);
    declared(&repo, 2000, &format!("commonAnnotations: {{a: {annotation}}}\n"));

    let run = validate_within(&repo, 700).expect(1);

    assert_says(&run.stdout, &["error[SIP0118]", "1024 MiB"]);
}

#[test]
fn patches_that_name_their_hosts() {
    let repo = quickstart();
    let patches = (0..3000).fold(String::from("patches:\n"), |mut patches, number| {
        let target = if number % 2 == 0 {
            String::new()
        } else {
            format!("  target: {{kind: BareMetalHost, name: h{number}}}\n")
        };
        write!(
            patches,
            "- patch: '{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {{name: h{number}, namespace: metal}}, spec: {{online: false}}}}'\n{target}"
        )
        .unwrap();
        patches
    });
    declared(&repo, 5000, &patches);

    validate_within(&repo, 700).expect(0);
}
