//! The site as builds deliver it: values that kustomizations change count, and messages point to where they stand.

use crate::support::scenes::delivered::with_site;
use crate::support::{Repo, assert_says};

fn patch_of_rack(host: &str, rack: &str) -> String {
    format!(
        "patches:\n- patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    \
         metadata: {{name: {host}, namespace: metal, labels: {{rack: {rack}}}}}\n"
    )
}

#[test]
fn two_hosts_that_a_patch_puts_into_one_rack_are_in_one_rack() {
    let repo = with_site(&patch_of_rack("h2", "r1"));
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0501", "1 domain of rack (r1)"]);

    repo.write("site/kustomization.yaml", "resources: [../base]\n");
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("vino", "one"), ["Worker metal/h1", "Worker metal/h2"]);
}

#[test]
fn labels_of_every_form_select_hosts() {
    for kustomization in [
        "labels:\n- pairs: {rack: r9}\n".to_owned(),
        "commonLabels: {rack: r9}\n".to_owned(),
        "patches:\n- target: {kind: BareMetalHost}\n  patch: |-\n    - {op: add, path: /metadata/labels/rack, value: r9}\n".to_owned(),
        "patchesJson6902:\n- target: {kind: BareMetalHost, name: h1}\n  patch: |-\n    \
         - {op: replace, path: /metadata/labels/rack, value: r2}\n".to_owned(),
        "patchesStrategicMerge:\n- |-\n  apiVersion: metal3.io/v1alpha1\n  kind: BareMetalHost\n  \
         metadata: {name: h2, namespace: metal, labels: {rack: r1}}\n".to_owned(),
        "replacements:\n- source: {kind: BareMetalHost, name: h1, fieldPath: metadata.labels.rack}\n  targets:\n  \
         - select: {kind: BareMetalHost}\n    fieldPaths: [metadata.labels.rack]\n".to_owned(),
    ] {
        let repo = with_site(&kustomization);
        let refused = repo.generate(&[]).expect(1).stderr;
        assert_says(&refused, &["SIP0501", "1 domain of rack"]);
    }
}

#[test]
fn builds_above_an_overlay_keep_the_labels_by_which_hosts_are_chosen() {
    let patch = |host: &str, operation: &str| {
        format!("patches: [{{target: {{name: {host}}}, patch: '- {{{operation}}}'}}]\n")
    };
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let rack = "changes the label `rack`";
    for (fields, says) in [
        ("labels: [{pairs: {tier: a}}]\n".to_owned(), None),
        (patch("h1", "op: add, path: /metadata/labels/rack, value: r1"), None),
        ("labels: [{pairs: {rack: r9}}]\n".to_owned(), Some([rack, "3 hosts", "vino/one"])),
        ("components: [../racks]\n".to_owned(), Some([rack, "3 hosts", "vino/one"])),
        (
            patch("h2", "op: remove, path: /metadata/labels/rack"),
            Some([rack, "1 host, such as metal/h2", "vino/one"]),
        ),
        // A host that no cluster has yet.
        (
            patch("h3", "op: add, path: /metadata/labels/rack, value: r4"),
            Some([rack, "1 host, such as metal/h3", "vino/one"]),
        ),
        (
            "commonLabels: {team: a}\n".to_owned(),
            Some(["changes the label `team`", "3 hosts", "`reservations` chooses"]),
        ),
    ] {
        let repo = with_site("");
        let hosts = repo.read("base/hosts.yaml");
        let third = hosts[..hosts.rfind("---").unwrap()].replace("h1", "h3").replace("r1", "r3");
        repo.write("base/hosts.yaml", &(hosts + &third.replace("10.0.0.1", "10.0.0.3")));
        repo.write("sipgen.yaml", "reservations: [{labels: {team: a}, for: [vino]}]\n");
        repo.write(
            "racks/kustomization.yaml",
            &format!("{component}labels: [{{pairs: {{rack: r9}}}}]\n"),
        );
        repo.write("above/kustomization.yaml", "resources: [../overlays/hosts/declared/site]\n");
        repo.write("top/kustomization.yaml", &format!("resources: [../above]\n{fields}"));

        let run = repo.generate(&[]);

        assert_eq!(run.code, i32::from(says.is_some()), "{fields}: {}", run.stderr);
        if let Some([label, hosts, user]) = says {
            let place = if fields.starts_with("comp") {
                "racks/kustom"
            } else {
                "--> top/kustomization.yaml"
            };
            assert_says(
                &run.stderr,
                &["error[SIP0610]: `kustomize build top`", label, hosts, user, place],
            );
        }
    }
}

#[test]
fn a_patch_that_makes_a_label_of_no_text_is_named() {
    let copy = "{op: copy, from: /metadata/annotations, path: /metadata/labels/all}";
    let repo = with_site(&format!(
        "commonAnnotations: {{a: b}}\npatches:\n- target: {{kind: BareMetalHost, name: h1}}\n  patch: |-\n    - {copy}\n"
    ));
    repo.replace("base/hosts.yaml", "  name: h1\n", "  name: h1\n  annotations: {c: d}\n");

    let refused = repo.generate(&[]).expect(1).stderr;

    let place = "--> site/kustomization.yaml:4:";
    assert_says(&refused, &["error[SIP0101]", "expected a string", place, "(sets `all`)"]);
}

#[test]
fn a_secret_in_plain_text_is_told_once_whatever_builds_make_of_it() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: metal}\n";
    for patch in ["stringData: {more: ''}\n", "$patch: delete\n"] {
        let repo = with_site("patches: [{path: login.yaml}]\n");
        repo.write("base/login.yaml", &format!("{secret}stringData: {{password: hunter2}}\n"));
        repo.replace("base/kustomization.yaml", "resources: [", "resources: [login.yaml, ");
        repo.write("site/login.yaml", &format!("{secret}{patch}"));

        let refused = repo.generate(&[]).expect(1).stderr;

        assert_eq!(refused.matches("error[SIP0342]").count(), 1, "{refused}");
        assert_says(&refused, &["the Secret `login` has values in plain text", "base/login.yaml:"]);
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}

#[test]
fn a_component_changes_what_its_build_has() {
    let repo = with_site("components: [../racks]\n");
    repo.write(
        "racks/kustomization.yaml",
        &format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{}",
            patch_of_rack("h2", "r1")
        ),
    );
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["1 domain of rack (r1)"]);
}

#[test]
fn a_finding_about_a_patched_value_shows_the_patch_and_the_manifest() {
    let repo = with_site("patches: [{path: bmc.yaml}]\n");
    repo.write(
        "site/bmc.yaml",
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h2, namespace: metal}\n\
         spec:\n  bmc:\n    address: redfish://10.0.0.1/a\n",
    );

    let told = repo.generate(&[]).expect(0).stderr;

    assert_says(
        &told,
        &[
            "site/bmc.yaml:6:14",
            "base/hosts.yaml:16",
            "what the manifest itself says does not count",
        ],
    );
}

#[test]
fn a_patch_that_kustomize_refuses_blocks_and_changes_no_file() {
    let repo = with_site(&patch_of_rack("h3", "r1"));
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0117", "site/kustomization.yaml:3", "BareMetalHost metal/h3"]);
    assert!(!repo.exists("overlays"));
}

#[test]
fn two_builds_that_make_different_things_of_one_host_are_told_apart() {
    let repo = with_site("");
    repo.write(
        "other/kustomization.yaml",
        &format!("resources: [../base]\n{}", patch_of_rack("h2", "r7")),
    );
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["metal/h2"]);
}

#[test]
fn what_only_kustomize_can_do_concerns_hosts_and_requests_alone() {
    for entry in ["transformers: [more.yaml]\n", "validators: [more.yaml]\n"] {
        let repo = with_site("");
        repo.write("apps/kustomization.yaml", &format!("resources: [app.yaml]\n{entry}"));
        repo.write("apps/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n");
        repo.generate(&[]).expect(0);

        repo.write("site/more.yaml", "");
        repo.write("site/kustomization.yaml", &format!("resources: [../base]\n{entry}"));
        let refused = repo.generate(&[]).expect(1).stderr;
        let place = "site/kustomization.yaml:2";
        assert_says(&refused, &["SIP0118", place, "- kustomization: site"]);
    }
}

#[test]
fn a_request_is_what_its_build_makes_of_it() {
    let repo = with_site("");
    repo.write(
        "tenants/kustomization.yaml",
        "resources: [one.yaml]\nnamePrefix: east-\nnamespace: vino\npatches:\n- target: {kind: SIPCluster}\n  \
         patch: |-\n    - {op: replace, path: /spec/nodes/Worker/count/active, value: 1}\n",
    );
    repo.write("tenants/one.yaml", &repo.read("clusters/one.yaml"));
    repo.remove("clusters/one.yaml");
    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("vino", "east-one").len(), 1);
}

fn flux(post_build: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: site, namespace: flux-system}}\n\
         spec:\n  interval: 10m\n  prune: true\n  path: ./site\n  \
         sourceRef: {{kind: GitRepository, name: flux-system}}\n{post_build}"
    )
}

#[test]
fn a_variable_of_flux_is_its_value_where_the_repo_has_it() {
    let repo = with_site(&patch_of_rack("h2", "'${RACK}'"));
    repo.write("agents/site.yaml", &flux("  postBuild:\n    substitute: {RACK: r1}\n"));
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0501", "1 domain of rack (r1)"]);

    repo.write("agents/site.yaml", &flux("  postBuild:\n    substitute: {RACK: r2}\n"));
    let told = repo.generate(&[]).stderr;
    assert!(!told.contains("SIP0501"), "{told}");
}

#[test]
fn variables_of_a_config_map_in_the_repo_are_known() {
    let repo = with_site(&patch_of_rack("h2", "'${RACK}'"));
    let settings = |rack: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: racks, namespace: flux-system}}\ndata: {{RACK: {rack}}}\n"
        )
    };
    let from = |more: &str| {
        flux(&format!(
            "  postBuild:\n    substituteFrom: [{{kind: ConfigMap, name: racks}}{more}]\n"
        ))
    };
    repo.write("agents/racks.yaml", &settings("r1"));
    repo.write("agents/site.yaml", &from(""));
    let one_rack = ["SIP0501", "1 domain of rack (r1)"];
    assert_says(&repo.generate(&[]).expect(1).stderr, &one_rack);

    repo.write("agents/racks.yaml", &settings("r2"));
    assert!(!repo.generate(&["--check"]).stderr.contains("SIP0501"));

    // Only Flux decrypts it.
    let encrypted = settings("'ENC[AES256_GCM,data:x,type:str]'") + "sops: {mac: x}\n";
    repo.write("agents/racks.yaml", &encrypted);
    let undecided = ["SIP0501", "1 that the variable `RACK` decides about"];
    assert_says(&repo.generate(&[]).expect(1).stderr, &undecided);
    repo.write("agents/racks.yaml", &settings("r2"));

    // The last one counts, what a kustomization patches counts, and what stands in the object itself before all.
    repo.write("agents/kustomization.yaml", "resources: [racks.yaml, site.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '- {op: replace, path: /data/RACK, value: r1}'\n");
    assert_says(&repo.generate(&[]).expect(1).stderr, &one_rack);
    repo.write("agents/site.yaml", &from(", {kind: ConfigMap, name: elsewhere}"));
    assert_says(&repo.generate(&[]).expect(1).stderr, &undecided);
    repo.write(
        "agents/site.yaml",
        &(from(", {kind: ConfigMap, name: elsewhere}") + "    substitute: {RACK: r2}\n"),
    );
    assert!(!repo.generate(&["--check"]).stderr.contains("SIP0501"));

    // The keys of a Secret are known, and its values are nobody's business.
    let secret = |key: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: more, namespace: flux-system}}\ndata: {{{key}: 'ENC[AES256_GCM,data:x,type:str]'}}\nsops: {{mac: x}}\n"
        )
    };
    repo.write("agents/site.yaml", &from(", {kind: Secret, name: more}"));
    repo.write("agents/more.yaml", &secret("PASSWORD"));
    assert_says(&repo.generate(&[]).expect(1).stderr, &one_rack);
    repo.write("agents/more.yaml", &secret("RACK"));
    assert_says(&repo.generate(&[]).expect(1).stderr, &undecided);
}

#[test]
fn variables_on_which_two_kustomizations_differ_are_not_known() {
    let repo = with_site(&patch_of_rack("h2", "'${RACK}'"));
    let of = |name: &str, rack: &str| {
        flux(&format!("  postBuild:\n    substitute: {{RACK: {rack}}}\n"))
            .replace("name: site,", &format!("name: {name},"))
    };
    repo.write("agents/site.yaml", &of("staging", "r1"));
    repo.write("agents/other.yaml", &of("production", "r2"));
    assert_says(
        &repo.generate(&[]).expect(1).stderr,
        &["SIP0501", "1 that the variable `RACK` decides about"],
    );

    repo.write("agents/other.yaml", &of("production", "r1"));
    assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0501", "1 domain of rack (r1)"]);
}

#[test]
fn requests_of_a_build_that_is_not_known_are_compared_with_nothing() {
    let repo = with_site("");
    let service = "  services:\n    loadBalancerWorker:\n    - {image: 'haproxy:2.3', nodePort: 30001, nodePortRange: {start: 30001, end: 30010}, nodeInterfaceId: oam}\n";
    let cluster = repo.read("clusters/one.yaml");
    repo.remove("clusters/one.yaml");
    for name in ["one", "two"] {
        let text = cluster.replace("name: one", &format!("name: {name}")) + service;
        repo.write(&format!("{name}/cluster.yaml"), &text);
        repo.write(&format!("{name}/kustomization.yaml"), "resources: [cluster.yaml]\n");
    }
    assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0401"]);

    repo.write("two/ports.yaml", "");
    repo.write("two/kustomization.yaml", "resources: [cluster.yaml]\ntransformers: [ports.yaml]\n");
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0118", "two/kustomization.yaml:2"]);
    assert!(!refused.contains("SIP0401"), "{refused}");
}

#[test]
fn a_variable_that_only_the_cluster_knows_is_no_value() {
    let hosts = ["h1", "h2"].map(|host| {
        format!("- target: {{name: {host}}}\n  patch: |-\n    - {{op: replace, path: /metadata/labels/rack, value: '${{RACK}}'}}\n")
    });
    let repo = with_site(&format!("patches:\n{}", hosts.concat()));
    repo.write(
        "agents/site.yaml",
        &flux("  postBuild:\n    substituteFrom: [{kind: ConfigMap, name: racks}]\n"),
    );
    // Two hosts of one unknown rack may be of two, or of one.
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0501", "2 that the variable `RACK` decides about"]);
    let explained = repo.sipgen(&["explain", "metal/h1"]).output().unwrap();
    assert_says(
        &String::from_utf8_lossy(&explained.stdout),
        &["has a variable in `rack`: `RACK` decides"],
    );
}

#[test]
fn an_assigned_host_stays_while_a_variable_decides_about_it() {
    let repo = with_site(&patch_of_rack("h2", "'${RACK}'"));
    let racks = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: racks, namespace: flux-system}\ndata: {RACK: r2}\n";
    repo.write("agents/racks.yaml", racks);
    let from = "  postBuild:\n    substituteFrom: [{kind: ConfigMap, name: racks}]\n";
    repo.write("agents/site.yaml", &flux(from));
    repo.replace(
        "clusters/one.yaml",
        "labelSelector: {}",
        "labelSelector: {matchLabels: {rack: r2}}",
    );
    repo.replace("clusters/one.yaml", "active: 2", "active: 1");
    repo.generate(&[]).expect(0);
    let before = repo.on_disk("overlays");
    for unknown in [
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n",
        "<<<<<<< HEAD\n",
        "",
    ] {
        repo.write("agents/racks.yaml", unknown);
        let run = repo.generate(&["--rebalance"]).expect(0);
        assert!(!run.stderr.contains("SIP0503"), "{}", run.stderr);
        assert!(repo.on_disk("overlays") == before, "{unknown}: {}", run.stderr);
    }
}

#[test]
fn labels_that_would_change_another_field_of_a_host_are_not_written() {
    // kustomize adds the value without a type, and every later merge patch makes a text of it.
    let repo = with_site(
        "replacements:\n- source: {kind: BareMetalHost, name: h1, fieldPath: spec.online}\n  targets:\n  \
         - select: {kind: BareMetalHost, name: h2}\n    fieldPaths: [spec.automated]\n    options: {create: true}\n",
    );

    let refused = repo.generate(&[]).expect(1).stderr;

    assert_says(&refused, &["error[SIP0714]", "another value of `spec.automated`"]);
    assert!(!repo.exists("overlays/hosts"), "{refused}");
}

/// Builds leave such a request out. That says nothing about what it requests.
#[test]
fn a_request_for_local_tools_stays_one_whatever_builds_change() {
    let repo = Repo::of_hosts(1);
    repo.want("metal/one", 1);
    let file = "clusters/metal.one.yaml";
    repo.replace(
        file,
        "name: one",
        "name: one, annotations: {config.kubernetes.io/local-config: \"true\"}",
    );
    repo.write("clusters/kustomization.yaml", "resources: [metal.one.yaml]\n");
    repo.generate(&[]).expect(0);
    let before = repo.files("overlays");

    repo.write(
        "clusters/kustomization.yaml",
        "resources: [metal.one.yaml]\ncommonLabels: {team: a}\n",
    );

    repo.generate(&[]).expect(0);
    assert_eq!(repo.files("overlays"), before);
}
