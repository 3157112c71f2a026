//! The tests of `integration::inputs::streams` that need another program.

use crate::support::scenes::inputs::{built, live, piped};
use crate::support::{Repo, assert_says, host};

/// The documents of a stream, the last one first.
fn reversed(stream: &str) -> String {
    let mut documents: Vec<&str> = stream.split("---\n").collect();
    documents.reverse();
    documents.into_iter().map(|document| format!("---\n{document}")).collect()
}

#[test]
fn what_kustomize_renders_gives_the_same_files_as_the_repo_itself() {
    for (fixture, directory) in
        [("quickstart", "sites/lab"), ("ipv6", "site"), ("multi-cluster", "")]
    {
        let repo = Repo::of_fixture(fixture);
        if !repo.exists(&format!("{directory}/kustomization.yaml")) {
            continue;
        }
        repo.generate(&[]).expect(0);
        let run = piped(&repo, &["generate", "--check", "--input", "-"], &built(&repo, directory))
            .expect(0);
        assert_says(&run.stderr, &["no file changes"]);
    }
}

#[test]
fn the_order_of_documents_and_streams_does_not_matter() {
    let repo = Repo::generated("quickstart");
    let stream = built(&repo, "sites/lab");
    piped(&repo, &["generate", "--check", "--input", "-"], &reversed(&stream)).expect(0);
    let (clusters, hosts): (Vec<&str>, Vec<&str>) =
        stream.split("---\n").partition(|document| document.contains("kind: SIPCluster"));
    let all = [(".git/clusters", clusters), (".git/hosts", hosts)];
    all.iter().for_each(|(file, documents)| repo.write(file, &documents.join("---\n")));
    piped(&repo, &["generate", "--check", "--input", ".git/hosts", "--input", ".git/clusters"], "")
        .expect(0);
}

#[test]
fn a_host_is_declared_under_the_namespace_that_its_build_gives_and_no_other() {
    let repo = Repo::of_hosts(1);
    repo.write("inventory/kustomization.yaml", "namespace: site-b\nresources: [hosts.yaml]\n");
    repo.want("tenant-a/edge", 1);
    let cluster = "---\n".to_owned() + &repo.read("clusters/tenant-a.edge.yaml");
    piped(&repo, &["generate", "--input", "-"], &(built(&repo, "inventory") + &cluster)).expect(0);
    assert_eq!(repo.hosts_of("tenant-a", "edge"), ["Worker site-b/host-1"]);
    // The manifest as it stands in git, which nothing applies like this.
    let run =
        piped(&repo, &["generate", "--check", "--input", "-"], &(host("host-1", "") + &cluster))
            .expect(1);
    assert_says(&run.stderr, &["error[SIP0330]"]);
}

#[test]
fn what_is_wrong_in_a_stream_is_shown_with_its_line_there() {
    let repo = Repo::generated("quickstart");
    let stream = built(&repo, "sites/lab").replacen("active: 2", "active: two", 1);
    let line = stream.lines().position(|line| line.contains("active: two")).unwrap() + 1;
    let run = piped(&repo, &["validate", "--input", "-"], &stream).expect(1);
    assert_says(&(run.stdout + &run.stderr), &[&format!("<stdin>:{line}:")]);
}

#[test]
fn a_stream_goes_with_every_command_that_asks_about_the_site() {
    let repo = Repo::generated("quickstart");
    let stream = built(&repo, "sites/lab");
    for command in [
        &["status", "--input", "-"][..],
        &["explain", "tenant-a/edge", "--input", "-"],
        &["diff", "--input", "-"],
    ] {
        piped(&repo, command, &stream).expect(0);
    }
    for command in [
        &["generate", "--input", "-", "--rev", "HEAD"][..],
        &["generate", "--input", "-", "--from-index"],
        &["generate", "--input", "-", "--input", "-"],
        &["generate", "--input", "missing.yaml"],
    ] {
        piped(&repo, command, &stream).expect(2);
    }
}

#[test]
fn patches_of_the_last_run_that_a_stream_has_in_it_are_no_claims() {
    let repo = Repo::generated("quickstart");
    let stream = built(&repo, "overlays/hosts/declared/sites/lab");
    assert_says(&stream, &["sip.airshipit.org/cluster-name: edge"]);
    let run =
        piped(&repo, &["generate", "--input", "-"], &stream.replace("active: 1", "active: 0"))
            .expect(0);
    assert_says(&run.stderr, &["1 released"]);
    let patches = repo.files("overlays/hosts/declared/sites/lab");
    assert!(
        !patches.contains_key("released.yaml"),
        "a label is taken off a manifest that does not have it"
    );
}

#[test]
fn a_live_host_is_not_observed_where_a_build_may_have_renamed_its_manifest() {
    let renamer = "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata: {name: n, namespace: site-b}\nfieldSpecs: \
                   [{path: metadata/namespace, create: true}]\n";
    let rename = r#"[{"op": "replace", "path": "/metadata/namespace", "value": "site-b"}]"#;
    let target = "target: {kind: BareMetalHost}";
    for (field, text) in [
        ("transformers", "transformers: [renamer.yaml]\n".to_owned()),
        ("patches", format!("patches: [{{{target}, path: rename.yaml}}]\n")),
        ("patches", format!("patches: [{{{target}, patch: '{rename}'}}]\n")),
        ("replacements", "replacements: [{path: from.yaml}]\n".to_owned()),
        ("helmCharts", "helmCharts: [{name: hosts}]\n".to_owned()),
    ] {
        let repo = Repo::of_hosts(1);
        repo.want("tenant-a/edge", 1);
        repo.write("inventory/renamer.yaml", renamer);
        repo.write("inventory/rename.yaml", rename);
        repo.write("inventory/kustomization.yaml", &format!("resources: [hosts.yaml]\n{text}"));
        let renamed = host("host-1", "").replace("namespace: metal", "namespace: site-b");
        if matches!(field, "transformers" | "patches") {
            assert_says(&built(&repo, "inventory"), &["namespace: site-b"]);
        }
        let cluster = "---\n".to_owned() + &repo.read("clusters/tenant-a.edge.yaml");
        let run =
            piped(&repo, &["generate", "--input", "-"], &(live(&renamed) + &cluster)).expect(1);
        let place = "inventory/kustomization.yaml:2:";
        assert_says(
            &run.stderr,
            &["error[SIP0330]", "host site-b/host-1", &format!("`{field}`"), place],
        );
        assert!(!repo.exists("overlays"));

        repo.write("sipgen.yaml", "sources: [{kustomization: inventory}]\n");
        let stream = live(&renamed) + "---\n" + &renamed + &cluster;
        piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
        assert!(repo.exists("overlays/hosts/declared/inventory/tenant-a.edge.yaml"));
    }
}

#[test]
fn a_stream_that_is_cut_off_or_has_an_error_in_it_is_refused_at_its_line() {
    let repo = Repo::generated("quickstart");
    let stream = built(&repo, "sites/lab");
    for (more, line) in [
        ("---\napiVersion: v1\nkind: ConfigMap\ndata: {a: \"b", 4),
        ("---\napiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n  c", 6),
        ("---\nError: accumulating resources: failed\n", 2),
    ] {
        let end = stream.trim_end();
        let said =
            piped(&repo, &["generate", "--input", "-"], &format!("{end}\n{more}")).expect(1).stderr;

        let at = end.lines().count() + line;
        assert_says(&said, &["error[SIP0101]: the document cannot be read"]);
        assert!(
            (at - 1..=at + 1).any(|at| said.contains(&format!("--> <stdin>:{at}:"))),
            "{at}: {said}"
        );
    }
}

#[test]
fn templates_of_other_tools_in_a_stream_are_left_alone() {
    let repo = Repo::generated("quickstart");
    let template =
        "---\n{{- if .Values.on }}\nkind: ConfigMap\ndata: {a: {{ .Values.a }}: b}\n{{- end }}\n";
    let stream = format!("{}\n{template}", built(&repo, "sites/lab").trim_end());

    piped(&repo, &["generate", "--check", "--input", "-"], &stream).expect(0);
}
