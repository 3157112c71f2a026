//! Input that is made to break programs: sipgen ends soon and by itself, and writes nothing by it.

use std::fmt::Write as _;
use std::process::Command;

use crate::support::{Repo, Run, assert_says, host};

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n";

/// The quickstart after its first run.
fn quickstart() -> Repo {
    Repo::generated("quickstart")
}

/// Runs `sipgen generate`, which must end by itself after little work, with no more memory than docs/reference/limits.md says. Work
/// is the processor's time, as machines that test are busy; the clock only ends what waits for ever.
#[track_caller]
fn generate_in_time(repo: &Repo) -> Run {
    let mut command = Command::new("prlimit");
    command.args([
        "--as=3000000000",
        "--cpu=30",
        "timeout",
        "300",
        env!("CARGO_BIN_EXE_sipgen"),
        "generate",
    ]);
    command.current_dir(repo.path());

    let run = crate::support::run(&mut command);

    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!(
        (0..=2).contains(&run.code),
        "ended with {} (124: by the clock)\n{}",
        run.code,
        run.stderr
    );
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
    repo.write(
        "deep.json",
        &format!("{}\"BareMetalHost\"{}", opening.repeat(depth), "]}".repeat(depth)),
    );

    generate_in_time(&repo);
}

#[test]
fn braces_in_braces_without_end() {
    for depth in [200, 5_000] {
        let repo = quickstart();
        repo.write(
            "snapshot/deep.yaml",
            &format!("{HOST}spec: {}{}\n", "[".repeat(depth), "]".repeat(depth)),
        );
        repo.write(
            "deep.json",
            &format!("{{\"kind\": \"BareMetalHost\", \"spec\": {}", "[".repeat(depth)),
        );

        generate_in_time(&repo);
    }
}

#[test]
fn anchors_that_expand_to_billions() {
    let repo = quickstart();
    let mut text = format!(
        "{HOST}metadata: {{name: x, namespace: tenant-a}}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    );
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{below}]").unwrap();
    }
    text.push_str("last: *a11\n");
    repo.write("snapshot/bomb.yaml", &text);

    let run = generate_in_time(&repo).expect(1);

    assert_says(&run.stderr, &["repetition limit exceeded", "--> snapshot/bomb.yaml:3:18"]);
}

#[test]
fn kustomizations_with_more_paths_than_can_be_walked() {
    let repo = quickstart();
    for level in 0..30 {
        for side in ["a", "b"] {
            let below =
                if level < 29 { format!("[../a{0}, ../b{0}]", level + 1) } else { "[]".to_owned() };
            repo.write(
                &format!("maze/{side}{level}/kustomization.yaml"),
                &format!("resources: {below}\n"),
            );
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
             namespace: metal\n    resourceVersion: '1'\n    annotations: {{padding: {padding}}}\n"
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
    for (target, link) in [
        (".", "loop"),
        ("self.yaml", "self.yaml"),
        ("../..", "sites/up"),
        ("nowhere", "dangling.yaml"),
    ] {
        std::os::unix::fs::symlink(target, repo.path().join(link)).unwrap();
    }
    repo.write("directory.yaml/nothing", "");

    generate_in_time(&repo).expect(0);
}

#[test]
fn a_line_of_ten_megabytes() {
    let repo = quickstart();
    let long = "x".repeat(10_000_000);
    repo.write(
        "long.yaml",
        &format!("{HOST}metadata: {{name: long, namespace: metal, annotations: {{a: {long}}}}}\n"),
    );

    generate_in_time(&repo).expect(0);
}

#[test]
fn characters_that_no_yaml_has() {
    for bytes in [&b"\0"[..], b"\xff\xfe", b"\x1b[2J", b"\xed\xa0\x80"] {
        let repo = quickstart();
        let text =
            [HOST.as_bytes(), b"metadata: {name: a", bytes, b"b, namespace: metal}\n"].concat();
        repo.write("snapshot/odd.yaml", "");
        std::fs::write(repo.path().join("snapshot/odd.yaml"), text).unwrap();

        let run = generate_in_time(&repo).expect(1);

        assert_says(&run.stderr, &["--> snapshot/odd.yaml:"]);
    }
}

#[test]
fn hosts_in_utf_16_as_a_shell_of_windows_writes_them() {
    let repo = Repo::of_hosts(1);
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
    let file = "inventory/hosts.yaml";
    let write = |text: &str| {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(repo.path().join(file), bytes).unwrap();
    };
    let text = repo.read(file);
    write(&format!("\u{feff}{text}"));
    assert_says(&generate_in_time(&repo).expect(0).stderr, &["no file changes"]);

    // As observed with kustomize 5.8.
    write(&format!("\u{feff}{text}{}", host("host-2", "")));
    let refused =
        "error[SIP0117]: kustomize reads only the first document of the file: it is UTF-16";
    assert_says(&generate_in_time(&repo).expect(1).stderr, &[refused, "--> inventory/hosts.yaml"]);
    write(&text);
    assert_says(
        &generate_in_time(&repo).expect(1).stderr,
        &["error[SIP0117]: kustomize refuses the file"],
    );
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

/// A host with one more field, which is the hostile one.
fn host_with(field: &str) -> String {
    format!("{HOST}metadata: {{name: x, namespace: tenant-a}}\n{field}\n")
}

#[test]
fn aliases_that_expand_to_gigabytes() {
    let list = |items: usize, aliases: usize, item: &str| {
        format!(
            "a: &a [{}]\nb: [{}]\nc:\n- *a",
            vec![item; items].join(", "),
            vec!["*a"; aliases].join(", ")
        )
    };
    let keys: String = (0..20_000).map(|number| format!("k{number}: x, ")).collect();
    for field in [
        list(50_000, 50_000, "x"),
        list(1, 50_000, &"x".repeat(100_000)),
        format!("a: &a {{{keys}}}\nb:\n{}", "- <<: *a\n".repeat(20_000)),
    ] {
        let repo = quickstart();
        repo.write("snapshot/bomb.yaml", &host_with(&field));

        let run = generate_in_time(&repo).expect(1);

        assert_says(
            &run.stderr,
            &["its aliases expand to more than", "--> snapshot/bomb.yaml:3:18"],
        );
    }
}

#[test]
fn aliases_that_expand_in_a_cluster_and_in_network_data() {
    let bomb = format!(
        "{{a: &a [{}], b: [{}]}}",
        vec!["x"; 50_000].join(", "),
        vec!["*a"; 50_000].join(", ")
    );
    let cluster = quickstart();
    let spec = format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: x}}\nspec: {bomb}\n"
    );
    cluster.write("snapshot/bomb.yaml", &spec);
    let secret = quickstart();
    let data =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n  networkData: |\n    ";
    secret.write("snapshot/bomb.yaml", &format!("{data}{bomb}\n"));

    assert_says(
        &generate_in_time(&cluster).expect(1).stderr,
        &["its aliases expand", "--> snapshot/bomb.yaml:3:18"],
    );
    generate_in_time(&secret).expect(0);

    for entry in [
        "patches: [{path: bomb.txt, target: {kind: BareMetalHost}}]\n",
        "replacements: [{path: bomb.txt}]\n",
    ] {
        let repo = quickstart();
        let file = "sites/lab/hosts/kustomization.yaml";
        repo.write("sites/lab/hosts/bomb.txt", &format!("metadata: {{name: x}}\nspec: {bomb}\n"));
        repo.write(file, &(repo.read(file) + entry));
        generate_in_time(&repo).expect(1);
    }
}

#[test]
fn documents_as_deep_as_a_well() {
    let steps: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let brackets = [format!("a: {}", "[".repeat(100_000)), format!("a: {}", "{a: ".repeat(50_000))];
    let others =
        [format!("a:\n{}x", "- ".repeat(100_000)), format!("a:\n{}x", "? ".repeat(50_000)), steps];
    for field in brackets.iter().chain(&others) {
        let repo = quickstart();
        repo.write("snapshot/deep.yaml", &host_with(field));

        let run = generate_in_time(&repo);

        if brackets.contains(field) {
            assert_says(
                &run.stderr,
                &["error[SIP0101]", "nested more than 1000 deep", "--> snapshot/deep.yaml:1"],
            );
        }
    }
}

#[test]
fn network_data_as_deep_as_a_well() {
    let repo = quickstart();
    let data = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n  networkData: '";
    repo.write("snapshot/deep.yaml", &format!("{data}{}'\n", "[".repeat(200_000)));

    generate_in_time(&repo).expect(0);
}

#[test]
fn an_object_larger_than_any_object() {
    let repo = quickstart();
    let long = "x".repeat(17 << 20);
    repo.write("long.yaml", &host_with(&format!("a: {long}")));
    repo.write(
        "snapshot/long.json",
        &format!("{{\"kind\": \"BareMetalHost\", \"apiVersion\": \"{long}\"}}"),
    );

    let run = generate_in_time(&repo).expect(1);

    assert_says(
        &run.stderr,
        &[
            "it has 17 MiB, and an object has at most 16",
            "--> long.yaml:1",
            "--> snapshot/long.json:1",
        ],
    );
}

#[test]
fn a_file_larger_than_any_inventory() {
    let repo = quickstart();
    repo.write("large.yaml", HOST);
    std::fs::File::options()
        .write(true)
        .open(repo.path().join("large.yaml"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();

    let run = generate_in_time(&repo).expect(1);

    assert_says(
        &run.stderr,
        &[
            "large.yaml may have hosts",
            "it has 1024 MiB, and a file that is read has at most 256",
            "--> large.yaml",
        ],
    );
}

#[test]
fn documents_without_number() {
    let repo = quickstart();
    repo.write("many.yaml", &"---\nkind: A\n".repeat(300_000));
    repo.write("hosts.yaml", &format!("---\n{HOST}").repeat(20_000));
    repo.write(
        "snapshot/list.yaml",
        &format!("kind: List\nitems:\n{}", "- kind: BareMetalHost\n".repeat(100_000)),
    );

    let run = generate_in_time(&repo).expect(1);

    assert_says(
        &run.stderr,
        &[
            "the BareMetalHost has no name",
            "--> hosts.yaml:2",
            "--> snapshot/list.yaml:3",
            "more findings",
        ],
    );
}

#[test]
fn keys_without_end() {
    let repo = quickstart();
    let long = "k".repeat(1_000_000);
    repo.write("keys.yaml", &host_with(&format!("? {long}\n: x\n\"{long}2\": y")));

    let run = generate_in_time(&repo);

    assert!(run.stderr.len() < 10_000, "{}", run.stderr.len());
}

#[test]
fn utf_16_that_is_cut_off() {
    let repo = quickstart();
    let text = format!("\u{feff}{}", repo.read("sites/lab/hosts/rack-a.yaml"));
    let mut bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.truncate((bytes.len() / 3 * 2) | 1);
    std::fs::write(repo.path().join("sites/lab/hosts/rack-a.yaml"), bytes).unwrap();

    let run = generate_in_time(&repo).expect(1);

    assert_says(&run.stderr, &["--> sites/lab/hosts/rack-a.yaml:"]);
}
