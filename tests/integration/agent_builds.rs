//! Hosts as Flux and Argo CD deliver them: variables in the built text, patches of agents' objects, and options by which
//! labels never arrive.

use crate::support::in_memory::{generated_of, host_for_edge};
use crate::support::{Repo, assert_says};

const SELECTED: &str = "e";

fn host(name: &str, metadata: &str) -> String {
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n{metadata}\
         spec:\n  online: true\n  bootMACAddress: 00:00:5e:00:53:0{number}\n  \
         bmc: {{address: 'redfish://203.0.113.{number}/x', credentialsName: '{name}-bmc'}}\n",
        number = &name[name.len() - 1..]
    )
}

/// A repo with a build of hosts in `hosts`, and a cluster that requests workers of a rack.
fn with_hosts(hosts: &str, active: usize, rack: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("hosts/h.yaml", hosts);
    repo.write("hosts/kustomization.yaml", "resources: [h.yaml]\n");
    want(&repo, active, rack);
    repo
}

fn want(repo: &Repo, active: usize, rack: &str) {
    repo.write(
        "c/e.yaml",
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {SELECTED}, namespace: metal}}\n\
             spec:\n  nodes:\n    Worker:\n      count: {{active: {active}}}\n      \
             labelSelector: {{matchLabels: {{rack: {rack}}}}}\n"
        ),
    );
}

fn in_rack(name: &str, rack: &str) -> String {
    host(name, &format!("  namespace: metal\n  labels: {{rack: '{rack}'}}\n"))
}

fn flux(path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: hosts, namespace: flux-system}}\n\
         spec:\n  interval: 10m\n  prune: false\n  path: {path}\n  \
         sourceRef: {{kind: GitRepository, name: flux-system}}\n{more}"
    )
}

fn argocd(path: &str, source: &str, spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: hosts, namespace: argocd}}\nspec:\n  \
         project: default\n  source:\n    repoURL: https://git.example.com/x.git\n    targetRevision: HEAD\n    \
         path: {path}\n{source}  destination: {{server: 'https://kubernetes.default.svc', namespace: metal}}\n{spec}"
    )
}

const VARIABLES: &str = "  postBuild: {substitute: {R: r1}}\n";

fn assigned(repo: &Repo) -> Vec<String> {
    repo.hosts_of("metal", SELECTED)
}

#[test]
fn the_overlay_of_a_build_has_the_variables_of_the_build() {
    let repo = with_hosts(&(in_rack("h0", "${R}") + &in_rack("h1", "${R}")), 1, "r1");
    repo.write("flux/k.yaml", &flux("./hosts", VARIABLES));
    let told = repo.generate(&[]).expect(0).stderr;
    assert_says(&told, &["SIP0618", "path: ./overlays/hosts/declared/hosts"]);
    repo.commit();

    // What the warning says, and another host.
    let overlay = "./overlays/hosts/declared/hosts";
    repo.write("flux/k.yaml", &flux(overlay, VARIABLES));
    want(&repo, 2, "r1");
    let told = repo.generate(&[]).expect(0).stderr;
    assert!(!told.contains("SIP"), "{told}");
    assert_eq!(assigned(&repo), ["Worker metal/h0", "Worker metal/h1"]);

    // A kustomization that lists the overlay, and a directory without one.
    repo.write("flux/k.yaml", &flux("./top", VARIABLES));
    repo.write("top/kustomization.yaml", "resources: [../overlays/hosts/declared/hosts]\n");
    repo.generate(&["--check"]).expect(0);
    repo.remove_all("top");
    repo.write("flux/k.yaml", &flux("./overlays/hosts/declared", VARIABLES));
    repo.generate(&["--check"]).expect(0);
}

#[test]
fn patches_name_what_kustomize_sees_and_all_else_the_real_name() {
    let named = host("${P}-0", "  namespace: ${NS}\n  labels: {rack: r1}\n");
    let repo = with_hosts(&(named + &in_rack("h1", "r2")), 1, "r1");
    let variables = "  postBuild: {substitute: {NS: metal, P: h}}\n";
    repo.write("flux/k.yaml", &flux("./overlays/hosts/declared/hosts", variables));
    repo.generate(&[]).expect(0);

    assert_eq!(assigned(&repo), ["Worker ${NS}/${P}-0"]);
    let patch = repo.read("overlays/hosts/declared/hosts/metal.e.yaml");
    assert_says(
        &patch,
        &["# The host metal/h-0\n", "  name: \"${P}-0\"\n", "  namespace: \"${NS}\"\n"],
    );
    // Secrets are guarded by the names that they have there, which are no regular expressions.
    let kustomization = repo.read("overlays/hosts/declared/hosts/kustomization.yaml");
    assert_says(&kustomization, &["..NS.", "h-0-bmc", "..P.-0-bmc"]);
    repo.generate(&["--check"]).expect(0);
}

#[test]
fn flux_substitutes_in_the_text_and_parses_it_again() {
    let variables = "  postBuild: {substitute: {N: '7', quote: '\"', K: rack}}\n";
    let generate = |metadata: &str, rack: &str| {
        let metadata = format!("  namespace: metal\n{metadata}");
        let repo = with_hosts(&host("h0", &metadata), 1, rack);
        repo.write("flux/k.yaml", &flux("./overlays/hosts/declared/hosts", variables));
        repo.generate(&[])
    };
    generate("  labels: {rack: '${quote}${N}${quote}'}\n", "'7'").expect(0);
    generate("  labels: {'${K}': r1}\n", "r1").expect(0);
    for (metadata, reason) in [
        ("  labels: {rack: '${N}'}\n", "makes a number of `rack`"),
        ("  labels: {rack: '${ N }'}\n", "envsubst refuses"),
        ("  labels: {rack: '${quote}r'}\n", "no valid YAML"),
        ("  labels: {rack: r}\n  annotations: {a: '${N'}\n", "envsubst refuses"),
    ] {
        let refused = generate(metadata, "r").expect(1).stderr;
        assert_says(
            &refused,
            &[
                "SIP0117",
                "Flux cannot apply `hosts`",
                reason,
                if metadata.contains("annotations") { "hosts/h.yaml:8" } else { "hosts/h.yaml:7" },
            ],
        );
    }
}

#[test]
fn former_lists_of_patches_count_like_patches() {
    for (patch, rack) in [
        (
            "patches: [{patch: '{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: h0, namespace: metal, labels: {rack: r2}}}'}]",
            "r2",
        ),
        (
            "patchesStrategicMerge: [{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: h0, namespace: metal, labels: {rack: r2}}}]",
            "r2",
        ),
        (
            "patchesJson6902: [{target: {kind: BareMetalHost, name: h0}, patch: [{op: replace, path: /metadata/labels/rack, value: r2}]}]",
            "r2",
        ),
        (
            "patchesJson6902: [{target: {kind: BareMetalHost, name: h1}, patch: [{op: remove, path: /metadata/labels/rack}]}]",
            "r1",
        ),
    ] {
        for (directory, list) in [
            ("./hosts", ""),
            ("./overlays/hosts/declared/hosts", ""),
            ("./top", "resources: [../hosts]\n"),
        ] {
            for version in ["v1beta1", "v1beta2"] {
                let repo = with_hosts(&in_rack("h0", "r1"), 1, rack);
                if !list.is_empty() {
                    repo.write("top/kustomization.yaml", list);
                }
                let object = flux(directory, &format!("  {patch}\n"))
                    .replace("io/v1\n", &format!("io/{version}\n"));
                repo.write("flux/k.yaml", &object);
                let run = repo.generate(&[]).expect(0);
                assert_eq!(assigned(&repo), ["Worker metal/h0"], "{object}{}", run.stderr);
            }
        }
    }
    // The object has the error, not the kustomization.
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
    repo.write(
        "flux/k.yaml",
        &flux(
            "./hosts",
            "  patchesStrategicMerge: [{kind: BareMetalHost, metadata: {name: h7}}]\n",
        ),
    );
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(
        &refused,
        &[
            "error[SIP0117]: `hosts` does not build with the fields of Flux Kustomization",
            "--> flux/k.yaml:9:",
            "correct the field",
        ],
    );
}

/// The API server refuses a Kustomization with such a value, so what Flux does is unknown.
#[test]
fn a_value_that_is_no_text_is_unknown() {
    for value in ["7", "true", "null", "[r1]"] {
        let repo = with_hosts(&in_rack("h0", "r${N}"), 1, "r7");
        let variables = format!("  postBuild: {{substitute: {{N: {value}}}}}\n");
        let overlay = "./overlays/hosts/declared/hosts";
        repo.write("flux/k.yaml", &flux(overlay, &variables));

        let told = repo.generate(&[]).expect(1).stderr;

        assert_says(&told, &["that the variable `N` decides about"]);
    }
}

/// Go writes texts in quotes that YAML 1.1 takes for other types, so a variable elsewhere in the object
/// changes none of them.
#[test]
fn texts_beside_variables_stay_texts() {
    for text in ["yes", "off", "y", "012", "1_000", "1:30", "2020-01-01", "~"] {
        let labels = format!("  labels: {{rack: '${{R}}', on: '{text}'}}\n");
        let metadata = format!("  namespace: metal\n{labels}");
        let repo = with_hosts(&host("h0", &metadata), 1, "r1");
        let overlay = "./overlays/hosts/declared/hosts";
        repo.write("flux/k.yaml", &flux(overlay, VARIABLES));

        let told = repo.generate(&[]).expect(0).stderr;

        assert!(!told.contains("SIP0117"), "{text}: {told}");
        assert_eq!(assigned(&repo), ["Worker metal/h0"], "{text}");
    }
}

/// As in Flux, either place switches it off, and only the exact word does.
#[test]
fn an_object_can_switch_substitution_off() {
    const SWITCH: &str = "kustomize.toolkit.fluxcd.io/substitute";
    for (value, first) in [("disabled", "h1"), ("Disabled", "h0"), ("enabled", "h0")] {
        for field in ["labels", "annotations"] {
            let metadata = match field {
                "labels" => format!("  labels: {{rack: '${{R}}', {SWITCH}: {value}}}\n"),
                _ => format!("  labels: {{rack: '${{R}}'}}\n  {field}: {{{SWITCH}: {value}}}\n"),
            };
            let switched = host("h0", &format!("  namespace: metal\n{metadata}"));
            let repo = with_hosts(&(switched + &in_rack("h1", "${R}")), 1, "r1");
            let overlay = "./overlays/hosts/declared/hosts";
            repo.write("flux/k.yaml", &flux(overlay, VARIABLES));

            repo.generate(&[]).expect(0);

            let worker = format!("Worker metal/{first}");
            assert_eq!(assigned(&repo), [worker], "{field}: {value}");
        }
    }
}

/// Flux leaves both texts, so the label never matches. The API server refuses its value.
#[test]
fn a_variable_that_flux_leaves_decides_nothing() {
    let off = "  namespace: metal\n  labels: {rack: '${R}', kustomize.toolkit.fluxcd.io/substitute: disabled}\n";
    for left in [in_rack("h0", "$${R}"), host("h0", off)] {
        for substituted in [true, false] {
            let repo = with_hosts(&left, 1, "r1");
            let variables = if substituted { VARIABLES } else { "" };
            repo.write("flux/k.yaml", &flux("./overlays/hosts/declared/hosts", variables));

            let told = repo.generate(&[]).expect(1).stderr;
            assert_says(
                &told,
                &["SIP0501", "its selector matches no host", "1 not matching `rack=r1`"],
            );

            want(&repo, 1, "r1");
            repo.replace("c/e.yaml", "      labelSelector: {matchLabels: {rack: r1}}\n", "");
            let told = repo.generate(&[]).expect(1).stderr;
            assert_says(&told, &["SIP0501", "1 with a variable in `rack` that Flux leaves there"]);
        }
    }
}

#[test]
fn patches_and_metadata_of_agents_objects_count() {
    let patch = "  - patch: '[{\"op\": \"replace\", \"path\": \"/metadata/labels/rack\", \"value\": \"r4\"}]'\n    \
                 target: {kind: BareMetalHost}\n";
    let indented = patch.replace("\n    ", "\n        ").replacen("  -", "      -", 1);
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {rack: r4}}]\n";
    let overlay = "overlays/hosts/declared/hosts";
    let objects = [
        flux(&format!("./{overlay}"), &format!("  patches:\n{patch}")),
        flux(&format!("./{overlay}"), "  commonMetadata: {labels: {rack: r4}}\n"),
        flux("./hosts", "  components: [../fix]\n"),
        flux("./hosts", "  ignoreMissingComponents: true\n  components: [../none, ../fix]\n"),
        flux(&format!("./{overlay}"), "  components: [../../../../fix]\n"),
        argocd(overlay, &format!("    kustomize:\n      patches:\n{indented}"), ""),
        argocd(overlay, "    kustomize: {commonLabels: {rack: r4}}\n", ""),
        argocd(
            overlay,
            "    kustomize: {ignoreMissingComponents: true, components: [../none, ../../../../fix]}\n",
            "",
        ),
    ];
    for object in objects {
        let repo = with_hosts(&in_rack("h0", "r1"), 1, "r4");
        repo.write("fix/kustomization.yaml", component);
        repo.write("agents/k.yaml", &object);
        repo.write("sipgen.yaml", "argocd: {repoURL: 'https://git.example.com/x.git'}\n");
        repo.generate(&[]).expect(0);
        assert_eq!(assigned(&repo), ["Worker metal/h0"], "{object}");
    }

    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
    repo.write("agents/k.yaml", &flux("./hosts", "  components: [../none]\n"));
    assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0117", "`../none` does not exist"]);

    // The agent's patches run with those of the kustomization itself, before its labels.
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r2");
    repo.write("hosts/kustomization.yaml", "resources: [h.yaml]\nlabels: [{pairs: {rack: r2}}]\n");
    repo.write("agents/k.yaml", &flux("./hosts", &format!("  patches:\n{patch}")));
    repo.generate(&[]).expect(0);
    assert_eq!(assigned(&repo), ["Worker metal/h0"]);
}

#[test]
fn components_of_agents_objects_are_relative_to_what_they_apply() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {rack: r4}}]\n";
    let path = "./overlays/hosts/declared/hosts";
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r4");
    repo.write("fix/kustomization.yaml", component);
    repo.write("agents/k.yaml", &flux("./hosts", "  components: [../fix]\n"));
    let told = repo.generate(&[]).expect(0).stderr;
    let moved = "write `components: [../../../../fix]`";
    assert_says(&told, &["SIP0618", &format!("write `path: {path}` there"), moved]);
    repo.commit();

    for missing in ["../fix", "../../fix", "../../../fix"] {
        repo.write("agents/k.yaml", &flux(path, &format!("  components: [{missing}]\n")));
        let refused = repo.generate(&[]).expect(1).stderr;
        assert_says(&refused, &["SIP0117", &format!("`{missing}` does not exist")]);
    }
    repo.write("agents/k.yaml", &flux(path, "  components: [../../../../fix]\n"));
    let told = repo.generate(&["--check"]).expect(0).stderr;
    assert!(!told.contains("SIP"), "{told}");
}

#[test]
fn variables_that_two_objects_give_to_a_name_are_told_with_both() {
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
    repo.replace("c/e.yaml", "namespace: metal", "namespace: '${NS}'");
    repo.write("c/kustomization.yaml", "resources: [e.yaml]\n");
    let tenant = |name: &str, namespace: &str| {
        let variables = format!("  postBuild: {{substitute: {{NS: {namespace}}}}}\n");
        flux("./c", &variables).replace("name: hosts,", &format!("name: {name},"))
    };
    let two = |other: &str| tenant("a", "metal") + "---\n" + &tenant("b", other);
    repo.write("agents/k.yaml", &two("tenant"));

    let refused = repo.generate(&[]).expect(1).stderr;
    let both = "Flux Kustomization flux-system/a and Flux Kustomization flux-system/b give `NS` different values";
    assert_says(&refused, &["SIP0118", both]);

    repo.write("agents/k.yaml", &two("metal"));
    repo.generate(&[]).expect(0);
}

#[test]
fn what_only_the_agent_can_evaluate_is_unknown_with_its_line() {
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
    repo.write("sipgen.yaml", "argocd: {repoURL: 'https://git.example.com/x.git'}\n");
    let source = "    kustomize: {commonLabels: {rack: $ARGOCD_APP_NAME}}\n";
    repo.write("agents/k.yaml", &argocd("overlays/hosts/declared/hosts", source, ""));
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0118", "variables of Argo CD", "agents/k.yaml:10"]);

    let first = flux("./hosts", "  commonMetadata: {labels: {rack: r1}}\n");
    let second = first.replace("name: hosts,", "name: other,").replace("rack: r1", "rack: r2");
    repo.write("agents/k.yaml", &format!("{first}---\n{second}"));
    let both =
        "Flux Kustomization flux-system/hosts and Flux Kustomization flux-system/other apply it";
    assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0118", both, "different changes"]);
}

#[test]
fn objects_of_agents_are_read_as_their_builds_deliver_them() {
    let repo = with_hosts(&in_rack("h0", "${R}"), 1, "r1");
    let object = flux("./unknown", "  postBuild: {substitute: {R: '${RACK}'}}\n");
    repo.write("base/k.yaml", &object);
    repo.write("base/kustomization.yaml", "resources: [k.yaml]\n");
    repo.write(
        "prod/kustomization.yaml",
        "resources: [../base]\npatches:\n- target: {kind: Kustomization}\n  \
         patch: '[{\"op\": \"replace\", \"path\": \"/spec/path\", \"value\": \"./overlays/hosts/declared/hosts\"}]'\n",
    );
    // A parent that Flux applies itself replaces a variable of the child.
    repo.write(
        "flux/top.yaml",
        &flux("./prod", "  postBuild: {substitute: {RACK: r1}}\n")
            .replace("name: hosts,", "name: top,"),
    );
    repo.generate(&[]).expect(0);
    assert_eq!(assigned(&repo), ["Worker metal/h0"]);
}

#[test]
fn hosts_that_an_agent_never_labels_or_replaces_are_not_assigned() {
    let flux_key = |key: &str, value: &str| format!("kustomize.toolkit.fluxcd.io/{key}: {value}");
    let argocd_key = |value: &str| format!("argocd.argoproj.io/sync-options: '{value}'");
    for (field, option, effect) in [
        ("annotations", flux_key("ssa", "IfNotPresent"), "only creates it"),
        ("annotations", flux_key("ssa", "ignore"), "never updates it"),
        ("labels", flux_key("reconcile", "disabled"), "never updates it"),
        ("annotations", flux_key("reconcile", "Disabled"), "never updates it"),
        ("labels", flux_key("force", "Enabled"), "may delete it"),
        ("annotations", argocd_key("Validate=false, Replace=true"), "replaces it as a whole"),
        ("annotations", argocd_key("Force=true"), "may delete it"),
        ("annotations", "argocd.argoproj.io/hook: Sync".to_owned(), "ordinary object"),
    ] {
        let labels = if field == "labels" {
            format!("  labels: {{rack: r1, {option}}}\n")
        } else {
            format!("  labels: {{rack: r1}}\n  annotations: {{{option}}}\n")
        };
        let repo = with_hosts(&host("h0", &format!("  namespace: metal\n{labels}")), 1, "r1");
        let refused = repo.generate(&[]).expect(1).stderr;
        let line = if field == "labels" { "hosts/h.yaml:7" } else { "hosts/h.yaml:8" };
        assert_says(&refused, &["SIP0625", effect, line]);
        // A host without an assignment may have them.
        want(&repo, 0, "r1");
        let told = repo.generate(&["--allow-empty"]).stderr;
        assert!(!told.contains("SIP0625"), "{told}");
    }
    // A build may set them as well. Those of another agent mean nothing.
    for (settings, code) in [
        ("gitops: flux\n", 1),
        ("gitops: argocd\nargocd: {repoURL: 'https://git.example.com/x.git'}\n", 0),
    ] {
        let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
        repo.write(
            "hosts/kustomization.yaml",
            "resources: [h.yaml]\ncommonAnnotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}\n",
        );
        repo.write("sipgen.yaml", settings);
        let told = repo.generate(&[]).expect(code).stderr;
        if code == 1 {
            assert_says(&told, &["SIP0625", "hosts/kustomization.yaml:2"]);
        }
    }
}

#[test]
fn options_of_agents_objects_that_lose_labels_are_refused() {
    let overlay = "overlays/hosts/declared/hosts";
    let ignore = |rule: &str| flux(&format!("./{overlay}"), &format!("  ignore: [{{{rule}}}]\n"));
    let differences = |rule: &str| {
        argocd(
            overlay,
            "",
            &format!("  ignoreDifferences: [{{group: metal3.io, kind: BareMetalHost, {rule}}}]\n"),
        )
    };
    let sync =
        |option: &str| argocd(overlay, "", &format!("  syncPolicy: {{syncOptions: [{option}]}}\n"));
    let generate = |object: &str| {
        let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
        repo.write("sipgen.yaml", "argocd: {repoURL: 'https://git.example.com/x.git'}\n");
        repo.write("agents/k.yaml", object);
        repo.generate(&[])
    };
    for object in [
        flux(&format!("./{overlay}"), "  force: true\n"),
        ignore("paths: [/metadata/labels]"),
        ignore(
            "paths: [/spec/x, /metadata/labels/sip.airshipit.org~1cluster], target: {kind: Bare.*}",
        ),
        ignore("paths: ['']"),
        ignore("paths: [/metadata], target: {name: 'h[0-3]', namespace: metal}"),
        differences("name: h0, namespace: metal, jsonPointers: [/metadata/labels]"),
        differences("jsonPointers: [/metadata/labels]"),
        differences("jsonPointers: [/metadata/annotations/argocd.argoproj.io~1sync-options]"),
        differences("jqPathExpressions: [.metadata.labels]"),
        differences("jqPathExpressions: ['.metadata.labels[\"sip.airshipit.org/cluster\"]']"),
        differences("managedFieldsManagers: [argocd-controller]"),
        sync("Replace=true"),
        sync("Force=true"),
    ] {
        let refused = generate(&object).expect(1).stderr;
        assert_says(&refused, &["SIP0625", "agents/k.yaml"]);
    }
    for object in [
        flux(&format!("./{overlay}"), "  force: false\n"),
        ignore("paths: [/metadata/labels], target: {kind: ConfigMap}"),
        ignore("paths: [/metadata/labels/other, /spec/online]"),
        ignore("paths: [/metadata], target: {name: h}"),
        ignore("paths: [/metadata], target: {namespace: other}"),
        differences("name: h, jsonPointers: [/metadata/labels]"),
        differences("name: 'h*', jsonPointers: [/metadata/labels]"),
        differences("namespace: other, jsonPointers: [/metadata/labels]"),
        differences("jsonPointers: [/spec/image, /metadata/labels/other]"),
        differences("jqPathExpressions: ['.metadata.labels.other', .spec.image]"),
        sync("ApplyOutOfSyncOnly=true"),
    ] {
        let told = generate(&object).expect(0).stderr;
        assert!(!told.contains("SIP0625"), "{told}\n{object}");
    }
}

#[test]
fn argocd_refuses_labels_that_the_kustomization_has_unless_forced() {
    for (own, options, is_refused) in [
        ("commonLabels: {rack: r1}", "commonLabels: {rack: r4}", true),
        ("commonLabels: {rack: r1}", "commonLabels: {rack: r4}, forceCommonLabels: true", false),
        ("commonLabels: {rack: r1}", "commonLabels: {rack: r4}, labelWithoutSelector: true", false),
        ("commonLabels: {other: r1}", "commonLabels: {rack: r4}", false),
        ("labels: [{pairs: {rack: r1}}]", "commonLabels: {rack: r4}", false),
        ("commonAnnotations: {a: b}", "commonLabels: {rack: r4}, commonAnnotations: {a: c}", true),
    ] {
        let repo = with_hosts(&in_rack("h0", "r1"), 1, "r4");
        repo.write("hosts/kustomization.yaml", &format!("resources: [h.yaml]\n{own}\n"));
        let source = format!("    kustomize: {{{options}}}\n");
        repo.write("agents/k.yaml", &argocd("hosts", &source, ""));

        let run = repo.generate(&[]).expect(is_refused.into());

        if is_refused {
            assert_says(&run.stderr, &["SIP0118", "Argo CD refuses `", "--> agents/k.yaml:10:"]);
        }
    }
}

#[test]
fn replica_counts_of_argocd_need_an_object_in_what_it_applies() {
    let overlay = "overlays/hosts/declared/hosts";
    let deployment = |name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: metal}}\n"
        )
    };
    for (path, name, is_refused) in [
        ("hosts", "below", false),
        ("hosts", "above", true),
        (overlay, "below", false),
        (overlay, "above", true),
        ("all", "below", false),
        ("all", "above", false),
        ("all", "other", true),
    ] {
        let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
        repo.write("hosts/d.yaml", &deployment("below"));
        repo.write("hosts/kustomization.yaml", "resources: [h.yaml, d.yaml]\n");
        repo.write("all/d.yaml", &deployment("above"));
        repo.write("all/kustomization.yaml", &format!("resources: [d.yaml, ../{overlay}]\n"));
        let source =
            format!("    kustomize: {{replicas: [{{name: {name}, count: '{{{{x}}}}'}}]}}\n");
        repo.write("agents/k.yaml", &argocd(path, &source, ""));

        let run = repo.generate(&[]).expect(is_refused.into());

        if is_refused {
            assert_says(&run.stderr, &["SIP0117", &format!("`{name}`"), "--> agents/k.yaml:10:"]);
        }
    }
}

#[test]
fn a_hydrated_application_applies_its_dry_source() {
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r4");
    let application = argocd("hosts", "    kustomize: {commonLabels: {rack: r4}}\n", "");
    let hydrated = application.replace("  source:\n", "  sourceHydrator:\n   drySource:\n");
    let synced = "   syncSource: {targetBranch: live, path: hosts}\n  destination:";
    repo.write("agents/k.yaml", &hydrated.replace("  destination:", synced));

    repo.generate(&[]).expect(0);

    assert_eq!(assigned(&repo), ["Worker metal/h0"]);
}

#[test]
fn an_agent_applies_no_directory_that_is_to_be_deleted() {
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
    repo.write("sipgen.yaml", "templates: own\noutputs: [{name: x, scope: cluster}]\n");
    repo.write(
        "own/outputs/x/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: metal}\n",
    );
    let directory = "overlays/clusters/metal/e/x";
    for object in [flux(&format!("./{directory}/"), ""), argocd(directory, "", "")] {
        repo.write("agents/k.yaml", &object);
        repo.generate(&[]).expect(0);
        repo.commit();
        let request = repo.read("c/e.yaml");
        repo.remove("c/e.yaml");

        let told = repo.generate(&["--allow-empty"]).expect(1).stderr;

        assert_says(&told, &["SIP0117", "which is to be deleted", "--> agents/k.yaml:"]);
        repo.remove("agents/k.yaml");
        repo.generate(&["--allow-empty"]).expect(0);
        repo.write("c/e.yaml", &request);
        repo.generate(&[]).expect(0);
    }
}

/// To remove the object that applies hosts would delete them, if it prunes.
#[test]
fn hosts_of_a_directory_that_moves_keep_their_object() {
    let repo = with_hosts(&in_rack("h0", "r1"), 1, "r1");
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.write("agents/k.yaml", &flux("./overlays/hosts/declared/hosts", ""));
    repo.generate(&[]).expect(0);
    repo.commit();
    std::fs::rename(repo.path().join("hosts"), repo.path().join("moved")).unwrap();

    let told = repo.generate(&[]).expect(1).stderr;

    let moved = "overlays/hosts/declared/moved";
    assert_says(
        &told,
        &[
            "SIP0117",
            "which is to be deleted",
            &format!("name a directory that sipgen writes: {moved}"),
        ],
    );
    assert!(!told.contains("remove this entry"), "{told}");
    repo.write("agents/k.yaml", &flux(&format!("./{moved}"), ""));
    repo.generate(&[]).expect(0);
    assert!(repo.path().join(moved).exists());
}

/// The assignments of a site whose requests an agent applies with other names.
fn renamed_requests(objects: &[(&str, &str)]) -> (Vec<String>, String) {
    let request = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge}\nspec: {nodes: {Worker: \
                   {labelSelector: {}, count: {active: 1}}}}\n";
    let own = [
        ("clusters/edge.yaml", request),
        ("clusters/kustomization.yaml", "resources: [edge.yaml]\n"),
    ];
    let generated = generated_of(&[&own[..], objects].concat());
    let assigned = generated.plan.clusters.iter().filter(|(_, placement)| !placement.is_empty());
    let errors = generated.findings.iter().filter(|finding| finding.is_error());
    let errors = errors.map(|error| format!("{} {}\n", error.code, error.message)).collect();
    (assigned.map(|(cluster, _)| cluster.to_string()).collect(), errors)
}

#[test]
fn a_request_has_the_name_that_its_agent_gives_it() {
    let host = host_for_edge("h1");
    let hosts = [
        ("metal/hosts.yaml", host.as_str()),
        ("metal/kustomization.yaml", "resources: [hosts.yaml]\n"),
    ];
    for (flux, argocd, cluster) in [
        ("targetNamespace: lab", "namespace: lab", "lab/edge"),
        ("namePrefix: a-", "namePrefix: a-", "default/a-edge"),
        ("targetNamespace: lab, nameSuffix: -a", "namespace: lab, nameSuffix: -a", "lab/edge-a"),
        ("patches: []", "patches: []", "default/edge"),
    ] {
        for (settings, object) in [
            (
                "gitops: flux\n",
                format!(
                    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: clusters, namespace: \
                     flux-system}}\nspec: {{path: ./clusters, sourceRef: {{kind: GitRepository, name: flux-system}}, \
                     {flux}}}\n"
                ),
            ),
            (
                "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/x.git'}\n",
                format!(
                    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: clusters, namespace: argocd}}\n\
                     spec:\n  destination: {{server: 'https://kubernetes.default.svc'}}\n  source: {{repoURL: \
                     'https://git.example.com/x.git', path: clusters, kustomize: {{{argocd}}}}}\n"
                ),
            ),
        ] {
            let agent = [("sipgen.yaml", settings), ("agents/clusters.yaml", &*object)];
            let (assigned, errors) = renamed_requests(&[&hosts[..], &agent].concat());
            assert_eq!(assigned, [cluster], "{object}: {errors}");
        }
    }
    // Each of two objects makes a Cluster of its own, and the name in the file is none of theirs.
    let object = |name: &str, names: &str| {
        format!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: \
             flux-system}}\nspec: {{path: ./clusters, sourceRef: {{kind: GitRepository, name: flux-system}}, {names}}}\n"
        )
    };
    for (one, other, cluster) in [
        ("targetNamespace: lab", "targetNamespace: prod", None),
        ("namePrefix: a-", "namePrefix: b-", None),
        ("nameSuffix: -a", "nameSuffix: -b", None),
        ("targetNamespace: lab", "targetNamespace: lab", Some("lab/edge")),
        ("prune: true", "prune: false", Some("default/edge")),
    ] {
        let both = object("lab", one) + &object("prod", other);
        let agent = [("sipgen.yaml", "gitops: flux\n"), ("agents/clusters.yaml", &*both)];
        let (assigned, errors) = renamed_requests(&[&hosts[..], &agent].concat());
        assert_eq!(assigned.first().map(String::as_str), cluster, "{one}, {other}: {errors}");
        let is_refused = errors.contains("give its objects different names");
        assert_eq!(is_refused, cluster.is_none(), "{one}, {other}: {errors}");
    }
}

#[test]
fn flux_changes_requests_without_a_kustomization_as_with_one() {
    let hosts: String = (1..=4).map(|number| in_rack(&format!("h{number}"), "r1")).collect();
    let patch = "  patches:\n  - {patch: '- {op: replace, path: /spec/nodes/Worker/count/active, value: 3}', \
                 target: {kind: SIPCluster}}\n";
    for (active, more, count) in [
        ("${N}", "  postBuild: {substitute: {N: '2'}}\n", Ok(2)),
        ("1", patch, Ok(3)),
        // Only the cluster knows the value.
        ("${N}", "  postBuild: {substituteFrom: [{kind: Secret, name: s}]}\n", Err("SIP0111")),
        (
            "1",
            "  patches: [{patch: '- {op: remove, path: /x}', target: {kind: SIPCluster}}]\n",
            Err("SIP0117"),
        ),
    ] {
        for directory in ["c", "c/deep"] {
            let repo = with_hosts(&hosts, 1, "r1");
            let request = repo.read("c/e.yaml").replace(", namespace: metal", "");
            let request = request.replace("{active: 1}", &format!("\n        active: {active}"));
            repo.remove("c/e.yaml");
            repo.write(&format!("{directory}/e.yaml"), &request);
            repo.write("flux.yaml", &flux("./c", &format!("  targetNamespace: metal\n{more}")));

            let without = repo.generate(&[]).expect(i32::from(count.is_err()));
            let assigned_without = assigned(&repo);
            repo.write(&format!("{directory}/kustomization.yaml"), "resources: [e.yaml]\n");
            let with = repo.generate(&[]).expect(i32::from(count.is_err()));

            let told = |stderr: &str| stderr.replace(directory, "c");
            match count {
                Ok(_) => assert_says(&with.stderr, &["0 added, 0 released", "no file changes"]),
                Err(code) => {
                    assert_says(&with.stderr, &[code]);
                    assert_eq!(told(&with.stderr), told(&without.stderr));
                }
            }
            assert_eq!(assigned_without.len(), count.unwrap_or_default(), "{more}");
            assert_eq!(assigned(&repo), assigned_without);
        }
    }
}

/// Kustomize would refuse such a build, or Flux what it made of it. The other objects of it are not gone.
#[test]
fn objects_that_an_agents_field_makes_one_object_are_refused() {
    let request = |name: &str, namespace: &str| {
        format!(
            "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: '{namespace}'}}\n\
             spec: {{nodes: {{Worker: {{count: {{active: 1}}, labelSelector: {{}}}}}}}}\n"
        )
    };
    let machine = |name: &str, namespace: &str| {
        host(name, &format!("  namespace: '{namespace}'\n  labels: {{rack: 'r'}}\n"))
    };
    let set = "  patches: [{target: {kind: .*}, patch: '[{\"op\": \"replace\", \"path\": \"/metadata/namespace\", \"value\": \"metal\"}]'}]\n";
    for (path, object, written) in [
        ("./b", flux("./b", "  postBuild: {substitute: {NS: metal}}\n"), "${NS}"),
        ("./b", flux("./b", "  targetNamespace: metal\n"), "x"),
        ("./b", flux("./b", set), "x"),
        ("b", argocd("b", "    kustomize: {namespace: metal}\n", ""), "x"),
    ] {
        let requests = (request("c1", written) + &request("c2", written), request("c1", "metal"));
        let machines = (machine("h1", written) + &machine("h2", written), machine("h1", "metal"));
        // Names that an agent gives to hosts have findings of their own.
        let machines = Some(machines).filter(|_| written.contains('$'));
        for (text, twin) in std::iter::once(requests).chain(machines) {
            // Hosts that no agent applies count only while none applies others.
            let repo = Repo::empty();
            if text.contains("SIPCluster") {
                repo.write("hosts/h.yaml", &(in_rack("h7", "r") + &in_rack("h8", "r")));
                repo.write("hosts/kustomization.yaml", "resources: [h.yaml]\n");
            }
            want(&repo, usize::from(!text.contains("SIPCluster")), "r");
            repo.write("agent.yaml", &object);
            repo.write("b/it.yaml", &text);
            repo.write("b/kustomization.yaml", "resources: [it.yaml]\n");
            repo.generate(&[]).expect(0);
            let before = repo.files("overlays");

            repo.write("b/twin.yaml", &twin);
            repo.write("b/kustomization.yaml", "resources: [it.yaml, twin.yaml]\n");
            let run = repo.generate(&[]).expect(1);

            assert_says(&run.stderr, &["SIP0117", "duplicate", path.trim_start_matches("./")]);
            assert!(repo.files("overlays") == before, "{object}");
        }
    }
}

/// An object without fields for the build may be what applies one with such fields to this site.
#[test]
fn variables_count_wherever_a_plain_object_applies_them() {
    let named =
        |name: &str, object: String| object.replace("name: hosts", &format!("name: {name}"));
    let root = named("root", flux("./agent", ""));
    let spoke =
        named("spoke", flux("./agent", "  kubeConfig: {secretRef: {name: spoke}}\n")) + VARIABLES;
    for (parents, is_here) in [(format!("{root}---\n{spoke}"), true), (spoke.clone(), false)] {
        let repo = with_hosts(&in_rack("h1", "${R}"), 1, "r1");
        repo.write("agent/hosts.yaml", &flux("./hosts", VARIABLES));
        repo.write("parents/parents.yaml", &parents);
        repo.generate(&[]);
        assert_eq!(repo.exists("overlays/hosts"), is_here, "{parents}");
    }
}
