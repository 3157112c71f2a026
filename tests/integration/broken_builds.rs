//! Builds of hosts that kustomize refuses: nothing is assigned before they build.

use std::fs;

use crate::support::{Repo, assert_says, run};

const KUSTOMIZATION: &str = "root/kustomization.yaml";
const CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: metal}\n";

/// A repo with two declared hosts that nothing transforms.
fn repo(fields: &str) -> Repo {
    let repo = Repo::empty();
    let host = |name: &str, rack: &str| {
        format!(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: metal\n  labels: \
             {{rack: {rack}}}\nspec: {{online: true}}\n"
        )
    };
    repo.write("root/a.yaml", &host("a1", "a"));
    repo.write("root/b.yaml", &host("b1", "b"));
    repo.write(KUSTOMIZATION, &format!("resources: [a.yaml, b.yaml]\n{fields}"));
    repo.write(
        "clusters/edge.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: metal}\nspec:\n  nodes:\n    Worker: {labelSelector: {matchLabels: {rack: a}}, topologyKey: rack, count: {active: 1, standby: 0}}\n",
    );
    repo
}

/// What an object in such a build would apply, nothing applies.
#[test]
fn a_build_with_an_object_that_applies_hosts_or_the_output_is_checked_too() {
    let object = |path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: lab, namespace: flux-system}}\nspec:\n  interval: 1h\n  path: {path}\n  prune: true\n  \
             sourceRef: {{kind: GitRepository, name: flux-system}}\n"
        )
    };
    let broken = [
        ("resources: [lab.yaml, missing.yaml]\n", "missing.yaml"),
        ("resources: [lab.yaml, twice.yaml]\n", "duplicate ConfigMap metal/settings"),
        ("resources: [lab.yaml]\nresuorces: []\n", "resuorces"),
        ("resources: [lab.yaml]\npatches: [{path: none.yaml}]\n", "none.yaml"),
    ];
    for (path, matters) in [
        ("./overlays/hosts/declared/root", true),
        ("./root", true),
        ("./clusters", true),
        ("./apps", false),
    ] {
        for (kustomization, says) in broken {
            let repo = repo("");
            repo.write("sipgen.yaml", "gitops: flux\n");
            repo.write("apps/app.yaml", CONFIG);
            repo.write("agent/twice.yaml", &format!("{CONFIG}---\n{CONFIG}"));
            repo.write("agent/lab.yaml", &object(path));
            repo.write("agent/kustomization.yaml", "resources: [lab.yaml]\n");
            let code = repo.generate(&[]).code;

            repo.write("agent/kustomization.yaml", kustomization);
            let run = repo.generate(&[]);

            assert_eq!(run.stderr.contains("error[SIP0117]"), matters, "{path} {}", run.stderr);
            if matters {
                assert_says(&run.stderr, &["`kustomize build agent` fails", says]);
            } else {
                assert_eq!(run.code, code, "{path} {}", run.stderr);
            }
        }
    }
}

#[test]
fn a_build_that_nothing_transforms_is_checked_like_any_other() {
    let correct = repo("");
    correct.generate(&[]).expect(0);
    for (fields, file, says) in [
        (
            "configMapGenerator: [{name: c, literals: [a=c]}, {name: c, literals: [a=d]}]\n",
            ("root/unused", ""),
            ["the ConfigMap c exists already", "root/kustomization.yaml:2:50"],
        ),
        (
            "components: [../part]\n",
            ("part/kustomization.yaml", "commonAnnotations: {a: b}\n"),
            ["`part` is a Kustomization", "root/kustomization.yaml:2:14"],
        ),
    ] {
        let repo = repo(fields);
        repo.write(file.0, file.1);

        let run = repo.generate(&[]).expect(1);

        assert_says(&run.stderr, &["error[SIP0117]"]);
        assert_says(&run.stderr, &says);
        assert!(!repo.exists("overlays"));
    }
    for (resource, text, says) in [
        ("twice.yaml", format!("{CONFIG}---\n{CONFIG}"), "duplicate ConfigMap metal/settings"),
        ("key.yaml", format!("{CONFIG}data: {{a: b}}\ndata: {{}}\n"), "a key is duplicated"),
        ("broken.yaml", format!("{CONFIG}data: [\n"), "invalid YAML"),
        (
            "name.yaml",
            "apiVersion: v1\nkind: Service\n".to_owned(),
            "a Service has no `metadata.name`",
        ),
        ("kind.yaml", "replicas: 3\n".to_owned(), "an object has no `kind`"),
        (
            "directive.yaml",
            format!("%YAML 1.2\n---\n{CONFIG}"),
            "reads no directives such as `%YAML`\n  --> root/directive.yaml:1",
        ),
        ("end.yaml", format!("{CONFIG}---\n...\n"), "a line `...` ends no document"),
        (
            "items.yaml",
            "apiVersion: v1\nkind: List\nitems: {a: b}\n".to_owned(),
            "`items` of a List must be a list",
        ),
        ("template.yaml", "{{ if .x }}\nfoo: bar\n{{ end }}\n".to_owned(), "invalid YAML"),
        ("merge.yaml", format!("{CONFIG}data: {{<<: a}}\n"), "invalid YAML"),
        (
            "escape.yaml",
            format!("{CONFIG}data: {{a: \"\\/\"}}\n"),
            "an escape is valid in JSON only\n  --> root/escape.yaml:4",
        ),
        (
            "lfs.yaml",
            "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n".to_owned(),
            "`root/lfs.yaml`: it is a pointer of Git LFS",
        ),
        (
            "age.yaml",
            "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n"
                .to_owned(),
            "`root/age.yaml`: age has encrypted it",
        ),
        ("crypt.yaml", "\0GITCRYPT\0ab".to_owned(), "git-crypt has encrypted it"),
        ("sops.yaml", "data: ENC[x]\nsops: {}\n".to_owned(), "SOPS has encrypted it as a whole"),
    ] {
        let repo = repo("");
        repo.replace(KUSTOMIZATION, "b.yaml]", &format!("b.yaml, {resource}]"));
        repo.write(&format!("root/{resource}"), &text);

        let run = repo.generate(&[]).expect(1);

        assert_says(&run.stderr, &["error[SIP0117]", "`kustomize build root` fails", says]);
    }
    let large = repo("");
    large.replace(KUSTOMIZATION, "b.yaml]", "b.yaml, large.yaml]");
    large.write("root/large.yaml", &format!("{CONFIG}a: 123456789012345678901234567890\n"));
    large.generate(&[]).expect(0);
    let inline = repo("");
    inline.replace(KUSTOMIZATION, "b.yaml]", "b.yaml, \"kind: ConfigMap\\n\"]");
    let said = inline.generate(&[]).expect(1).stderr;
    assert_says(&said, &["error[SIP0117]", "must be a path", "kustomization.yaml:1:29"]);
    let latin = repo("");
    latin.replace(KUSTOMIZATION, "b.yaml]", "b.yaml, c.yaml]");
    fs::write(latin.path().join("root/c.yaml"), [CONFIG.as_bytes(), b"# caf\xe9\n"].concat())
        .unwrap();
    let said = latin.generate(&[]).expect(1).stderr;
    assert_says(&said, &["error[SIP0117]", "`root/c.yaml`: it is not UTF-8", "--> root/c.yaml"]);
}

#[test]
fn a_build_over_overlays_is_checked_like_any_other() {
    let overlay = "../overlays/hosts/declared/root";
    let other = "../overlays/hosts/declared/other";
    let duplicate = ["`kustomize build all` fails: duplicate Namespace metal", "ns.yaml:3:"];
    for (entries, says) in [
        (vec![overlay], None),
        (vec![overlay, "own.yaml"], None),
        (vec![overlay, "https://example.com/x//y?ref=v1"], None),
        (vec![overlay, "../root/ns.yaml"], Some(duplicate)),
        (vec![overlay, other], Some(duplicate)),
        (vec!["../more", other], Some(duplicate)),
        (vec!["../overlays/agents/flux", "nope.yaml"], Some(["`nope.yaml` does not exist", ":3:"])),
    ] {
        let repo = repo("");
        repo.write("sipgen.yaml", "gitops: flux\n");
        let namespace = CONFIG.replace("ConfigMap", "Namespace").replace("settings", "metal");
        repo.replace(KUSTOMIZATION, "b.yaml]", "b.yaml, ns.yaml]");
        repo.write("other/kustomization.yaml", "resources: [c.yaml, ns.yaml]\n");
        repo.write("other/c.yaml", &repo.read("root/a.yaml").replace("name: a1", "name: c1"));
        for directory in ["root", "other"] {
            repo.write(&format!("{directory}/ns.yaml"), &namespace);
        }
        repo.write("all/own.yaml", &namespace.replace("metal", "own"));
        repo.write("more/kustomization.yaml", &format!("resources: [{overlay}]\n"));
        let entries = entries.join("\n- ");
        repo.write("all/kustomization.yaml", &format!("resources:\n- {entries}\n"));

        let run = repo.generate(&[]);

        assert_eq!(run.code, i32::from(says.is_some()), "{entries}: {}", run.stderr);
        if let Some(says) = says {
            assert_says(&run.stderr, &["error[SIP0117]"]);
            assert_says(&run.stderr, &says);
        }
    }
}

#[test]
fn an_empty_entry_of_a_kustomization_is_reported_in_its_line() {
    let repo = repo("");
    repo.write(KUSTOMIZATION, "resources:\n- a.yaml\n-\n- b.yaml\n");

    let said = repo.generate(&[]).expect(1).stderr;

    let message = "the kustomization cannot be read: `resources` has an empty entry\n  --> root/kustomization.yaml:1:1";
    assert_says(&said, &["error[SIP0101]", message, "remove the entry"]);
}

#[test]
fn a_field_that_nothing_reads_breaks_a_build_all_the_same() {
    for field in ["description: {{ text }}", "rootDeviceHints: {deviceName: {{ device }}}"] {
        let repo = repo("");
        repo.replace(
            "root/a.yaml",
            "spec: {online: true}",
            &format!("spec:\n  online: true\n  {field}"),
        );

        let run = repo.generate(&[]).expect(1);

        assert_says(&run.stderr, &["error[SIP0117]", "a key is not a string", "root/a.yaml:"]);
    }
}

#[test]
fn a_removed_rack_that_is_still_listed_is_an_error_of_every_command() {
    let repo = repo("");
    repo.generate(&[]).expect(0);
    repo.remove("root/b.yaml");

    for command in [&["generate", "--check"][..], &["validate", "--strict"]] {
        let run = run(&mut repo.sipgen(command)).expect(1);

        assert_says(
            &(run.stdout + &run.stderr),
            &[
                "error[SIP0117]: `kustomize build root` fails: `b.yaml` does not exist",
                "--> root/kustomization.yaml:1:21",
            ],
        );
    }
}

#[test]
fn a_file_outside_of_the_kustomization_is_one_that_only_flux_reads() {
    let repo = repo("");
    repo.write("shared.yaml", CONFIG);
    repo.replace(KUSTOMIZATION, "b.yaml]", "b.yaml, ../shared.yaml]");
    let run = repo.generate(&[]).expect(1);
    assert_says(&run.stderr, &["error[SIP0117]", "`../shared.yaml` is outside"]);

    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.generate(&[]).expect(0);
}

#[test]
fn a_path_of_the_output_that_will_not_exist_is_refused_wherever_it_is_named() {
    let top = "kustomization.yaml";
    for (fields, line) in [
        ("resources: [DIRECTORY]\n", 1),
        ("components: []\nbases: [DIRECTORY]\n", 2),
        ("configMapGenerator: [{name: x, files: [DIRECTORY/metal.edge.yaml]}]\n", 1),
        ("secretGenerator:\n- {name: x, files: [a=DIRECTORY/metal.edge.yaml]}\n", 2),
        ("configMapGenerator:\n- {name: x, envs: [DIRECTORY/metal.edge.yaml]}\n", 2),
        ("crds: [DIRECTORY/metal.edge.yaml]\n", 1),
        ("transformers: [DIRECTORY/metal.edge.yaml]\n", 1),
        ("replacements: [{path: DIRECTORY/metal.edge.yaml}]\n", 1),
        ("patchesStrategicMerge: [DIRECTORY/metal.edge.yaml]\n", 1),
    ] {
        let repo = repo("");
        let place = format!("--> {top}:{line}:");
        for missing in ["overlays/hosts/declared/rot", "overlays/clusters/metal/edge"] {
            repo.write(top, &fields.replace("DIRECTORY", missing));
            let run = repo.generate(&[]).expect(1);
            let says = ["SIP0117", "does not exist and is not generated", &place];
            assert_says(&run.stderr, &says);
            assert!(!repo.exists("overlays"), "{fields}");
        }

        // What the run writes may be named beforehand.
        repo.write(top, &fields.replace("DIRECTORY", "overlays/hosts/declared/root"));
        repo.generate(&[]).expect(0);
        repo.generate(&["--check"]).expect(0);

        repo.remove("clusters/edge.yaml");
        let is_file = fields.contains("DIRECTORY/");
        let run = repo.generate(&["--allow-empty"]).expect(i32::from(is_file));
        assert_eq!(run.stderr.contains("which is to be deleted"), is_file, "{}", run.stderr);
    }
}

#[test]
fn a_file_of_a_build_that_git_ignores_reaches_no_agent() {
    let host_patch = "patches: [{path: extra.txt, target: {kind: BareMetalHost}}]\n";
    let annotation = "- {op: add, path: /metadata/annotations, value: {a: b}}\n";
    for (fields, text, ignored) in [
        (host_patch, annotation, true),
        ("configMapGenerator: [{name: c, files: [extra.txt]}]\n", "a: b\n", true),
        ("components: [../part]\n", annotation, true),
        // Tracked files are never ignored, and other builds have no hosts.
        (host_patch, annotation, false),
        ("", "", false),
    ] {
        let repo = repo(fields);
        let patch = "{path: extra.txt, target: {kind: ConfigMap}}";
        let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
        repo.write("part/kustomization.yaml", &format!("{component}patches: [{patch}]\n"));
        let directory = if fields.contains("part") { "part" } else { "root" };
        let file = format!("{directory}/extra.txt");
        repo.write(&file, text);
        repo.write("other/extra.txt", text);
        repo.write(
            "other/kustomization.yaml",
            "configMapGenerator: [{name: c, files: [extra.txt]}]\n",
        );
        if !ignored {
            repo.git(&["add", &file]);
        }
        repo.write(".gitignore", "extra.txt\n");

        let said = repo.generate(&[]).expect(0).stderr;

        assert_eq!(said.contains("SIP0622"), ignored, "{fields}: {said}");
        if ignored {
            assert_says(
                &said,
                &[&format!("git ignores `{file}`"), &format!("{directory}/kustomization.yaml:")],
            );
        }
    }
}

#[test]
fn a_text_that_is_not_utf_8_breaks_a_build() {
    let patch = "patches: [{path: extra.yaml, target: {kind: BareMetalHost}}]\n";
    let operation = b"- {op: add, path: /metadata/annotations, value: {a: \xe1}}\n";
    let correct = repo(patch);
    correct
        .write("root/extra.yaml", "- {op: add, path: /metadata/annotations, value: {a: \u{e1}}}\n");
    correct.generate(&[]).expect(0);
    for (file, content) in [
        ("root/extra.yaml", operation.as_slice()),
        (KUSTOMIZATION, b"# m\xe1quinas\nresources: [a.yaml, b.yaml]\n"),
        ("root/a.yaml", b"# m\xe1quinas\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ] {
        let repo = repo(patch);
        repo.write("root/extra.yaml", "[]\n");
        fs::write(repo.path().join(file), content).unwrap();

        let said = repo.refused();

        assert_says(&said, &["not UTF-8"]);
        assert!(!said.contains("not in the repo"), "{said}");
    }
}
