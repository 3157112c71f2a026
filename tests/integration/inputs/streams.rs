use crate::support::scenes::inputs::{live, piped};
use crate::support::{Repo, assert_says, documents, host};

#[test]
fn a_host_that_the_repo_declares_stays_declared_when_only_its_live_object_is_in_the_stream() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant-a/edge", 1);
    repo.commit();
    let stream = live(&host("host-1", ""))
        + &repo.read("clusters/tenant-a.edge.yaml").replacen("api", "---\napi", 1);
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    assert!(repo.exists("overlays/hosts/declared/inventory/tenant-a.edge.yaml"));
    assert!(!repo.exists("overlays/hosts/observed"));
}

#[test]
fn a_live_host_that_the_repo_does_not_know_is_observed() {
    let repo = Repo::empty();
    repo.want("tenant-a/edge", 1);
    let stream = live(&host("host-9", "")) + "---\n" + &repo.read("clusters/tenant-a.edge.yaml");
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    assert!(repo.exists("overlays/hosts/observed/tenant-a.edge/hosts.yaml"));
    assert!(!repo.read("overlays/hosts/observed/tenant-a.edge/hosts.yaml").contains("<stdin>"));
}

#[test]
fn a_rendered_host_of_which_nobody_knows_who_makes_it_is_refused_until_the_settings_say() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    let stream = host("host-9", "") + "---\n" + &repo.read("clusters/tenant-a.edge.yaml");
    let run = piped(&repo, &["generate", "--input", "-"], &stream).expect(1);
    assert_says(&run.stderr, &["error[SIP0330]", "host metal/host-9", "<stdin>:5:9"]);
    assert!(!repo.exists("overlays"));

    repo.write("sipgen.yaml", "sources: [{kustomization: inventory}]\n");
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    let patch = documents(&repo.read("overlays/hosts/declared/inventory/tenant-a.edge.yaml"));
    assert_eq!(patch[0]["metadata"]["name"], "host-9");

    repo.write("sipgen.yaml", "inventory: {mode: observed}\n");
    std::fs::remove_dir_all(repo.path().join("overlays")).unwrap();
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    assert!(repo.exists("overlays/hosts/observed/tenant-a.edge/hosts.yaml"));
}

#[test]
fn an_empty_stream_gives_no_host_back() {
    let repo = Repo::generated("quickstart");
    let before = repo.on_disk("");
    for nothing in ["", "\n", "---\n# nothing\n"] {
        let run = piped(&repo, &["generate", "--input", "-"], nothing).expect(1);
        assert_says(&run.stderr, &["error[SIP0010]", "<stdin>", "pipefail"]);
    }
    let other = "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n";
    assert_says(
        &piped(&repo, &["generate", "--input", "-"], other).expect(1).stderr,
        &["error[SIP0003]", "<stdin>"],
    );
    assert!(repo.on_disk("") == before);
}

#[test]
fn objects_with_labels_alone_declare_nothing() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    repo.write("sipgen.yaml", "sources: [{kustomization: inventory}]\n");
    let (head, _) = host("host-9", "")
        .split_once("spec:")
        .map(|(head, tail)| (head.to_owned(), tail.to_owned()))
        .unwrap();
    let stream = head + "---\n" + &repo.read("clusters/tenant-a.edge.yaml");
    assert_says(
        &piped(&repo, &["generate", "--input", "-"], &stream).expect(1).stderr,
        &["error[SIP0330]"],
    );
}

#[test]
fn a_kustomization_that_reaches_no_hosts_or_renames_none_leaves_live_hosts_observed() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    repo.write(
        "apps/kustomization.yaml",
        "helmCharts: [{name: app}]\nreplacements: [{path: from.yaml}]\n",
    );
    repo.write(
        "inventory/kustomization.yaml",
        "resources: [hosts.yaml]\ntransformers: []\npatches:\n  - target: {kind: BareMetalHost}\n    patch: |-\n      - op: \
         add\n        path: /metadata/labels/a\n        value: b\n",
    );
    let stream = live(&host("host-9", "")) + "---\n" + &repo.read("clusters/tenant-a.edge.yaml");
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    assert!(repo.exists("overlays/hosts/observed/tenant-a.edge/hosts.yaml"));
}

#[test]
fn a_stream_of_rubbish_is_an_error() {
    for (rubbish, line) in [
        ("error: kustomize: failed\n", Some(1)),
        ("\u{1}\u{fffd}: \u{2}[\n", None),
        ("Usage of kustomize\n", None),
        ("name: lab\n", None),
        ("{\"error\": \"failed\"}\n", None),
    ] {
        let repo = Repo::empty();

        let said = piped(&repo, &["validate", "--input", "-"], rubbish).expect(1).stdout;

        assert_says(&said, &["error[SIP0010]", "<stdin>"]);
        if let Some(line) = line {
            assert_says(&said, &["error[SIP0101]", &format!("--> <stdin>:{line}:")]);
        }
        assert!(!said.contains(".gitignore"), "{said}");
        assert!(!repo.exists("overlays"));
    }
}

/// As `jq '.items[]'` prints them.
#[test]
fn every_object_of_a_json_stream_counts_unless_kustomize_drops_it() {
    let repo = Repo::empty();
    repo.want("metal/edge", 2);
    let live = |name: &str| {
        let spec = "{\"online\": true}";
        format!(
            "{{\"apiVersion\": \"metal3.io/v1alpha1\", \"kind\": \"BareMetalHost\",\n  \"metadata\": {{\"name\": \"{name}\", \"namespace\": \"metal\", \"uid\": \"{name}\"}},\n\
             \"spec\": {spec}, \"status\": {{\"provisioning\": {{\"state\": \"available\"}}}}\n}}\n"
        )
    };
    let stream = live("host-1") + &live("host-2");
    repo.write("snapshot/hosts.json", &stream);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "edge").len(), 2);

    repo.write("snapshot/kustomization.yaml", "resources: [hosts.json]\n");
    let said = repo.refused();
    assert_says(&said, &["SIP0118", "drops all but the first JSON object", "hosts.json:6"]);

    // A list is one object, however its lines begin.
    let list = format!(
        "{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{}]}}\n",
        stream.replace("}\n{", "},\n{")
    );
    repo.write("snapshot/hosts.json", &list);
    assert!(!repo.refused().contains("SIP0118"), "{list}");

    // A mistake is found in its line.
    repo.remove("snapshot/kustomization.yaml");
    let unnamed = live("host-2").replace("\"host-2\", \"namespace\"", "[], \"namespace\"");
    repo.write("snapshot/hosts.json", &(live("host-1") + &unnamed));
    assert_says(&repo.refused(), &["hosts.json:6"]);
}

/// The program before the pipe may have failed, although another input has objects.
#[test]
fn each_input_must_have_an_object() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    repo.generate(&[]).expect(0);
    let request = "clusters/tenant-a.edge.yaml";
    let status =
        "{\"kind\": \"Status\", \"apiVersion\": \"v1\", \"status\": \"Failure\", \"code\": 401}\n";
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";
    for content in ["", "# nothing\n", status, pointer, "<html><body>502</body></html>\n"] {
        let run =
            piped(&repo, &["generate", "--input", request, "--input", "-"], content).expect(1);

        assert_says(&run.stderr, &["error[SIP0010]: no object in <stdin>\n"]);
    }
}
