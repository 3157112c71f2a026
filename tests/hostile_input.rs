//! Input that is made to break programs: sipgen ends soon and by itself, and writes nothing by it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fmt::Write as _;
use std::process::Command;

use support::{Repo, Run, assert_says};

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n";

/// The quickstart after its first run.
fn quickstart() -> Repo {
    Repo::generated("quickstart")
}

/// Runs `sipgen generate`, which must end soon and not by a signal.
#[track_caller]
fn generate_in_time(repo: &Repo) -> Run {
    let mut command = Command::new("timeout");
    command.args(["20", env!("CARGO_BIN_EXE_sipgen"), "generate"]).current_dir(repo.path());

    let run = support::run(&mut command);

    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!((0..=2).contains(&run.code), "ended with {} (124: by the clock)\n{}", run.code, run.stderr);
    run
}

fn make_fifo(repo: &Repo, file: &str) {
    let made = Command::new("mkfifo").arg(repo.path().join(file)).status().unwrap();
    assert!(made.success());
}

#[test]
fn lists_in_lists_without_end() {
    let repo = quickstart();
    let (depth, opening) = (3_000, "{\"kind\": \"List\", \"items\": [");
    repo.write("deep.json", &format!("{}\"BareMetalHost\"{}", opening.repeat(depth), "]}".repeat(depth)));

    generate_in_time(&repo);
}

#[test]
fn braces_in_braces_without_end() {
    for depth in [200, 5_000] {
        let repo = quickstart();
        repo.write("deep.yaml", &format!("{HOST}spec: {}{}\n", "[".repeat(depth), "]".repeat(depth)));
        repo.write("deep.json", &format!("{{\"kind\": \"BareMetalHost\", \"spec\": {}", "[".repeat(depth)));

        generate_in_time(&repo);
    }
}

#[test]
fn anchors_that_expand_to_billions() {
    let repo = quickstart();
    let mut text = format!("{HOST}metadata: {{name: x, namespace: tenant-a}}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{below}]").unwrap();
    }
    text.push_str("last: *a11\n");
    repo.write("bomb.yaml", &text);

    let run = generate_in_time(&repo).expect(1);

    assert_says(&run.stderr, &["repetition limit exceeded", "--> bomb.yaml:3:18"]);
}

#[test]
fn kustomizations_with_more_paths_than_can_be_walked() {
    let repo = quickstart();
    for level in 0..30 {
        for side in ["a", "b"] {
            let below = if level < 29 { format!("[../a{0}, ../b{0}]", level + 1) } else { "[]".to_owned() };
            repo.write(&format!("maze/{side}{level}/kustomization.yaml"), &format!("resources: {below}\n"));
        }
    }

    generate_in_time(&repo);
}

#[test]
fn thousands_of_errors() {
    let repo = quickstart();
    let mut text = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
    for number in 0..3_000 {
        let padding = "x".repeat(2_000);
        write!(
            text,
            "- apiVersion: metal3.io/v1alpha1\n  kind: BareMetalHost\n  metadata:\n    name: host-{number}\n    \
             namespace: metal\n    annotations: {{padding: {padding}}}\n"
        )
        .unwrap();
    }
    repo.write("snapshot/one.yaml", &text);
    repo.write("snapshot/two.yaml", &text);

    let run = generate_in_time(&repo).expect(1);

    assert_says(&run.stderr, &["host metal/host-0 is in the snapshot twice"]);
}

#[test]
fn pipes_that_nobody_writes_to() {
    let repo = quickstart();
    for file in ["x.yaml", "sites/lab/x.json", "overlays/x.yaml", "overlays/hosts/x.yaml"] {
        make_fifo(&repo, file);
    }

    generate_in_time(&repo).expect(0);
}

#[test]
fn settings_that_are_a_pipe_or_a_directory() {
    let pipe = quickstart();
    make_fifo(&pipe, "sipgen.yaml");
    let directory = quickstart();
    directory.write("sipgen.yaml/x", "");

    for repo in [pipe, directory] {
        let run = generate_in_time(&repo);

        assert_ne!(run.code, 0, "{}", run.stderr);
        assert_says(&run.stderr, &["sipgen.yaml"]);
    }
}

#[test]
fn links_that_lead_in_circles_and_directories_with_the_names_of_files() {
    let repo = quickstart();
    for (target, link) in
        [(".", "loop"), ("self.yaml", "self.yaml"), ("../..", "sites/up"), ("nowhere", "dangling.yaml")]
    {
        std::os::unix::fs::symlink(target, repo.path().join(link)).unwrap();
    }
    repo.write("directory.yaml/nothing", "");

    generate_in_time(&repo).expect(0);
}

#[test]
fn a_line_of_ten_megabytes() {
    let repo = quickstart();
    let long = "x".repeat(10_000_000);
    repo.write("long.yaml", &format!("{HOST}metadata: {{name: long, namespace: metal, annotations: {{a: {long}}}}}\n"));

    generate_in_time(&repo).expect(0);
}

#[test]
fn characters_that_no_yaml_has() {
    for bytes in [&b"\0"[..], b"\xff\xfe", b"\x1b[2J", b"\xed\xa0\x80"] {
        let repo = quickstart();
        let text = [HOST.as_bytes(), b"metadata: {name: a", bytes, b"b, namespace: metal}\n"].concat();
        std::fs::write(repo.path().join("odd.yaml"), text).unwrap();

        let run = generate_in_time(&repo).expect(1);

        assert_says(&run.stderr, &["--> odd.yaml:"]);
    }
}

#[test]
fn hosts_in_utf_16_as_a_shell_of_windows_writes_them() {
    let repo = quickstart();
    repo.generate(&[]).expect(0);
    let text = format!("\u{feff}{}", repo.read("sites/lab/hosts/rack-a.yaml"));
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(repo.path().join("sites/lab/hosts/rack-a.yaml"), bytes).unwrap();

    let run = generate_in_time(&repo).expect(0);

    assert_says(&run.stderr, &["no file changes"]);
}

#[test]
fn a_file_name_that_would_be_a_line_of_what_is_generated() {
    let repo = quickstart();
    repo.write(
        "clusters/a\nimages: [$(touch pwned)] #.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: more, namespace: tenant-b}\nspec:\n  \
         nodes: {}\n  services:\n    jumpHost: [{image: x, nodeInterfaceId: a, nodePort: 30999, sshAuthorizedKeys: []}]\n",
    );

    generate_in_time(&repo);

    for (file, text) in repo.files("overlays") {
        assert!(!text.lines().any(|line| line.starts_with("images: [$(touch")), "{file}:\n{text}");
    }
}
