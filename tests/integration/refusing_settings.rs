//! Settings, templates and generated files that are refused: what a user reads, and that no file changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;

use crate::support::scenes::refusing_settings::{with_settings, with_template};
use crate::support::{Repo, assert_says};

/// A way in which a file is lost.
type Loss = fn(&Path);

/// Cuts off a file behind its first lines.
fn keep_lines(file: &Path, count: usize) {
    let text = fs::read_to_string(file).unwrap();
    let kept: Vec<&str> = text.lines().take(count).collect();
    fs::write(file, kept.join("\n") + "\n").unwrap();
}

const PATCHES: &str = "overlays/hosts/declared/sites/lab/tenant-a.edge.yaml";

#[test]
fn an_unknown_setting() {
    let repo = with_settings("outptu: deploy\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0002]: the settings cannot be read: unknown field `outptu`, expected one of `minimumVersion`, `sites`, `output`, `templates`, `outputs`, `sources`, `secrets`, `snapshot`, `inventory`, `credentials`, `externalSecrets`, `gitops`, `flux`, `argocd`, `hosts`, `findings`, `topology`, `requests`, `assignment`, `reservations`, `maintenance`, `quotas`, `services`, `provisioning`
      --> sipgen.yaml:1:1
       |
     1 | outptu: …
       | ^^^^^^
      help: fix the setting, or remove it to use the default

    1 error: no files written
    ");
}

#[test]
fn a_snapshot_has_a_directory_of_its_own() {
    for directory in ["overlays", "overlays/live", "../live", "."] {
        let said = with_settings(&format!("snapshot: {{directory: {directory}}}\n")).refused();
        assert_says(
            &said,
            &["error[SIP0002]", &format!("`snapshot.directory: {directory}`"), "sipgen.yaml:1:23"],
        );
    }
    let said = with_settings("snapshot: {splitBy: \"no label\"}\n").refused();
    assert_says(&said, &["error[SIP0002]: `snapshot.splitBy: no label` is not a valid label key"]);
}

#[test]
fn all_invalid_settings_at_once() {
    let settings = "output: ../deploy\ntemplates: /etc\nflux: {path: ../fleet}\n\
                    sources: [{paths: [../a]}]\ntopology: {rack: no label}\ngitops: argocd\n\
                    provisioning: {image: 'https://example.com/a'}\n\
                    findings: {ignore: [{code: SIP0101, reason: x}, {code: SIP0308, reason: ''}]}\n";
    let said = with_settings(settings).refused();
    for (line, message) in [
        (1, "`output: ../deploy`"),
        (2, "`templates: /etc`"),
        (3, "`flux.path: ../fleet`"),
        (4, "`paths` of source 1 has the invalid glob `../a`"),
        (5, "`topology.rack: no label`"),
        (6, "`gitops: argocd` requires `argocd.repoURL`"),
        (7, "`provisioning.image`"),
        (8, "SIP0101 is an error"),
        (8, "`reason` for ignoring SIP0308 is empty"),
    ] {
        assert_says(&said, &[message, &format!("--> sipgen.yaml:{line}:")]);
    }
    assert_eq!(said.matches("error[SIP0002]").count(), 9, "{said}");
}

#[test]
fn settings_that_are_no_yaml() {
    assert_says(
        &with_settings("output: [\n").refused(),
        &["error[SIP0001]: the settings cannot be read: ", "--> sipgen.yaml:1:9"],
    );
    let said = with_settings("flux: {path: fleet]\n").refused();
    assert!(!said.contains(" at line "), "the place says it:\n{said}");
}

#[test]
fn settings_that_are_no_text() {
    let repo = Repo::generated("quickstart");
    std::fs::write(repo.path().join("sipgen.yaml"), b"output: deploy # \xff\n").unwrap();

    assert_says(&repo.refused(), &["the settings cannot be read: ", "--> sipgen.yaml"]);
}

#[test]
fn an_unknown_value_of_a_setting() {
    for (text, part) in [
        (
            "inventory: {mode: live}\n",
            "unknown variant `live`, expected one of `auto`, `declared`, `observed`",
        ),
        (
            "credentials: all\n",
            "unknown variant `all`, expected one of `reference`, `external-secrets`, `none`",
        ),
    ] {
        assert_says(
            &with_settings(text).refused(),
            &["error[SIP0002]: the settings cannot be read: ", part, "--> sipgen.yaml:1:"],
        );
    }
}

#[test]
fn an_output_directory_that_is_not_in_the_repo() {
    for output in ["../elsewhere", "/etc", ".", "a/../../b", ".git/overlays", "\"\""] {
        let repo = with_settings(&format!("inventory: {{mode: auto}}\noutput: {output}\n"));

        assert_says(
            &repo.refused(),
            &[
                "is not a directory inside the repo",
                "--> sipgen.yaml:2:9\n",
                "write `output` as a path relative to the repo's root",
            ],
        );
    }
}

#[test]
fn templates_that_are_not_in_the_repo() {
    let repo = with_settings("templates: ../elsewhere\n");

    assert_says(&repo.refused(), &["`templates: ../elsewhere` is not a directory inside the repo"]);
}

#[test]
fn an_output_directory_behind_a_symbolic_link() {
    let repo = Repo::of_fixture("quickstart");
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), repo.path().join("overlays")).unwrap();

    assert_says(
        &repo.refused(),
        &["`overlays` is a symbolic link", "--> overlays", "move it away or delete it"],
    );
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_file_of_somebody_else_where_one_of_ours_is_to_be() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("overlays/clusters/tenant-a/edge/jumphost/service.yaml", "kind: Mine\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0005]: `overlays/clusters/tenant-a/edge/jumphost/service.yaml` is a file without sipgen's first line: sipgen did not write it and does not replace it
      --> overlays/clusters/tenant-a/edge/jumphost/service.yaml
      help: move it away or delete it, or set `output` in sipgen.yaml to another directory

    1 error: no files written
    ");
}

#[test]
fn a_template_with_a_syntax_error() {
    let repo = with_template(
        "loadbalancer/haproxy.cfg",
        "defaults\n{% for server in servers %}\nserver\n",
    );

    assert_says(
        &repo.refused(),
        &[
            "the template loadbalancer/haproxy.cfg cannot be rendered: syntax error: unexpected end of input, expected \
             end of block",
            "--> own/loadbalancer/haproxy.cfg:3",
            "help: run `sipgen template values loadbalancer/haproxy.cfg` for its values\n",
        ],
    );
}

#[test]
fn a_template_that_uses_what_it_is_not_given() {
    let repo = with_template("loadbalancer/haproxy.cfg", "defaults\n  mode é {{ mode }}\n");

    assert_says(
        &repo.refused(),
        &[
            "the template loadbalancer/haproxy.cfg cannot be rendered: undefined value: `mode` is undefined",
            "--> own/loadbalancer/haproxy.cfg:2:13\n",
            "help: run `sipgen template values loadbalancer/haproxy.cfg` for its values, here:\n",
            "        cluster = {\"namespace\":\"tenant-a\",\"name\":\"edge\"}\n",
            "        name = \"loadbalancer-controlplane-edge\"\n",
        ],
    );
}

#[test]
fn a_template_included_by_one_of_ours_that_uses_what_it_is_not_given() {
    let repo = with_template("partials/placement.yaml", "      nodeSelector: {{ nodes }}\n");

    assert_says(
        &repo.refused(),
        &[
            "the template partials/placement.yaml cannot be rendered",
            "--> own/partials/placement.yaml:1:24\n",
        ],
    );
}

#[test]
fn a_configuration_that_is_no_yaml() {
    let repo = with_template("auth/config.yaml", "issuer: [{{ issuer }}\n");

    assert_says(
        &repo.refused(),
        &["the template own/auth/config.yaml renders what is not YAML", "--> own/auth/config.yaml"],
    );
}

#[test]
fn a_template_that_renders_to_nothing_though_a_kustomization_lists_its_file() {
    for (template, file) in [
        ("loadbalancer/haproxy.cfg", "loadbalancer-worker/kustomization.yaml lists haproxy.cfg"),
        ("auth/shared/rbac.yaml", "kustomization.yaml lists rbac.yaml"),
        ("crds/dex/crds.yaml", "crds/dex/kustomization.yaml lists crds.yaml"),
    ] {
        let repo = with_template(template, "{# nothing #}\n");

        assert_says(
            &repo.refused(),
            &["what would be overlays/", &format!("{file}, which no template renders")],
        );
    }
}

#[test]
fn a_template_without_a_final_newline_gets_one() {
    let repo = with_template("loadbalancer/haproxy.cfg", "defaults\n  mode tcp");

    repo.generate(&[]).expect(0);

    let file = "overlays/clusters/tenant-a/edge/loadbalancer-worker/haproxy.cfg";
    assert!(repo.read(file).ends_with("mode tcp\n"));
}

#[test]
fn a_template_whose_output_is_no_deployment() {
    let repo = with_template(
        "jumphost/shared/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ name }}}\nspec: {replicas: many}\n",
    );

    assert_snapshot!(repo.refused(), @r#"
    error[SIP0703]: the template own/jumphost/shared/deployment.yaml renders what is not a Deployment: invalid type: string "many", expected i32
      --> own/jumphost/shared/deployment.yaml
      help: fix the template; no files were written

    1 error in tenant-a/edge: no files written
    "#);
}

#[test]
fn a_template_whose_output_is_no_yaml() {
    let repo = with_template("auth/service.yaml", "kind: [\n");

    assert_says(
        &repo.refused(),
        &[
            "the template own/auth/service.yaml renders what is not YAML",
            "--> own/auth/service.yaml",
        ],
    );
}

#[test]
fn a_generated_file_that_was_broken_by_hand() {
    let repo = Repo::generated("quickstart");
    repo.replace(
        PATCHES,
        "    sip.airshipit.org/node-type: \"ControlPlane\"\n",
        "  sip.airshipit.org/node-type: [\n",
    );

    assert_snapshot!(repo.refused(), @r#"
    error[SIP0007]: the generated file cannot be read: did not find expected ',' or ']', while parsing a flow sequence; it was edited or damaged
      --> overlays/hosts/declared/sites/lab/tenant-a.edge.yaml:13:36
       |
    13 |     argocd.argoproj.io/sync-options: …
       |                                      ^
      help: restore it with `git checkout HEAD -- overlays/hosts/declared/sites/lab/tenant-a.edge.yaml`, or from an earlier commit if it was committed in this state; it records host assignments

    1 error: no files written
    "#);
}

#[test]
fn a_generated_file_with_conflicts_of_a_merge() {
    let repo = Repo::generated("quickstart");
    let text = repo.read(PATCHES);
    repo.write(PATCHES, &format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> other\n"));
    let reason =
        "SIP0007]: the generated file cannot be read: it has conflicts of a merge; it was edited";
    assert_says(&repo.refused(), &[reason]);

    let broken = text.replace("metadata:\n", "metadata: }\n");
    repo.write(PATCHES, &format!("<<<<<<< HEAD\n{text}=======\n{broken}>>>>>>> other\n"));
    let refused = repo.refused();
    assert_eq!(refused.matches("SIP0007]").count(), 1, "{refused}");
}

#[test]
fn a_generated_file_whose_labels_were_changed_by_hand() {
    for (from, to) in [
        ("node-type: \"ControlPlane\"", "node-type: \"Master\""),
        ("cluster-name: \"edge\"", "cluster-name: \"../x\""),
        ("    sip.airshipit.org/cluster-namespace: \"tenant-a\"\n", ""),
    ] {
        let repo = Repo::generated("quickstart");
        repo.replace(PATCHES, from, to);

        assert_says(
            &repo.refused(),
            &[
                "the generated file cannot be read: its labels are not those of a cluster",
                &format!("--> {PATCHES}:"),
                &format!("restore it with `git checkout HEAD -- {PATCHES}`"),
            ],
        );
    }
}

/// The only record of assignments must not get lost with a file that its kustomization still lists.
#[test]
fn a_generated_file_that_was_lost() {
    let losses: [(&str, Loss); 5] = [
        ("it is missing", |file| fs::remove_file(file).unwrap()),
        ("it is missing", |file| fs::rename(file, file.with_extension("txt")).unwrap()),
        ("it is empty", |file| fs::write(file, "").unwrap()),
        ("it is empty", |file| keep_lines(file, 1)),
        ("it is empty", |file| keep_lines(file, 2)),
    ];
    let observed = crate::support::scenes::losses::generated;
    for (reason, lose) in losses {
        for (repo, file) in [
            (Repo::generated("quickstart"), PATCHES),
            (observed(), "overlays/hosts/observed/t.web/hosts.yaml"),
        ] {
            lose(repo.path().join(file).as_path());

            let reason = format!("SIP0007]: the generated file cannot be read: {reason}");
            let restore = format!("restore it with `git checkout HEAD -- {file}`");
            assert_says(&repo.refused(), &[&reason, &restore]);
        }
    }
}

#[test]
fn a_generated_file_that_another_program_replaced() {
    let observed = crate::support::scenes::losses::generated;
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 123\n";
    for (text, reason, remedy) in [
        (pointer, "it is a pointer of Git LFS", "run `git lfs pull`"),
        ("-----BEGIN AGE ENCRYPTED FILE-----\n", "age has encrypted it", "decrypt it"),
    ] {
        for (repo, file) in [
            (Repo::generated("quickstart"), PATCHES),
            (observed(), "overlays/hosts/observed/t.web/hosts.yaml"),
        ] {
            repo.write(file, text);
            repo.commit();
            let said = repo.refused();
            assert_says(
                &said,
                &[&format!("SIP0007]: the generated file cannot be read: {reason}"), remedy],
            );
            assert!(!said.contains("SIP0005"), "{said}");

            repo.remove(file);
            assert_says(
                &repo.refused(),
                &["SIP0007]: the generated file cannot be read: it is missing"],
            );
        }
    }
}

#[test]
fn a_generated_file_with_another_name_or_kind() {
    for (from, to, part) in [
        ("name: \"lab-a1\"", "name: \"../lab-a1\"", "its host has no valid name"),
        ("kind: BareMetalHost", "kind: Secret", "it is not a BareMetalHost"),
        ("  name: \"lab-a1\"\n", "", "missing field `name`"),
    ] {
        let repo = Repo::generated("quickstart");
        repo.replace(PATCHES, from, to);

        assert_says(
            &repo.refused(),
            &["the generated file cannot be read: ", part, &format!("--> {PATCHES}:")],
        );
    }
}

#[test]
fn a_host_that_generated_files_give_to_two_node_sets_stays_with_the_one_that_it_fits() {
    let repo = Repo::generated("quickstart");
    let before = repo.hosts_of("tenant-a", "edge");
    let twice = repo.read(PATCHES).replace("\"ControlPlane\"", "\"Worker\"");
    repo.write("overlays/hosts/declared/sites/lab/tenant-a.edge.copy.yaml", &twice);

    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenant-a", "edge"), before);
    assert!(!repo.exists("overlays/hosts/declared/sites/lab/tenant-a.edge.copy.yaml"));
}

#[test]
fn a_host_that_generated_files_give_to_two_node_sets_that_it_fits() {
    let repo = Repo::generated("quickstart");
    let cluster = "sites/lab/clusters/edge.yaml";
    repo.replace(cluster, "hardware.example.com/flavor: worker", "topology.example.com/rack: a");
    repo.replace(cluster, "active: 1", "active: 3");
    let twice = repo.read(PATCHES).replace("\"ControlPlane\"", "\"Worker\"");
    repo.write("overlays/hosts/declared/sites/lab/tenant-a.edge.copy.yaml", &twice);

    assert_says(
        &repo.refused(),
        &[
            "host tenant-a/lab-a1 is assigned 2 times",
            "as ControlPlane of tenant-a/edge",
            "as Worker of tenant-a/edge",
        ],
    );
}

#[test]
fn what_stands_in_the_place_of_a_template() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";
    let conflict = "defaults\n<<<<<<< HEAD\n  mode tcp\n=======\n  mode http\n>>>>>>> other\n";
    for (text, says) in [
        (
            pointer,
            ["it is a pointer of Git LFS", "--> own/loadbalancer/haproxy.cfg:1", "`git lfs pull`"],
        ),
        (
            conflict,
            ["it has conflicts of a merge", "--> own/loadbalancer/haproxy.cfg:2", "resolve them"],
        ),
    ] {
        assert_says(&with_template("loadbalancer/haproxy.cfg", text).refused(), &says);
    }
}

#[test]
fn settings_of_another_name() {
    let repo = Repo::generated("quickstart");
    repo.write("sipgen.yml", "output: deploy\n");

    assert_says(&repo.refused(), &["error[SIP0001]", "--> sipgen.yml", "the name sipgen.yaml"]);
}
