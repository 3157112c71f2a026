//! Evidence that a host needs before it is assigned: what proves a host, and what is said of the others.

use crate::support::scenes::gitops_wiring::{flux, said};
use crate::support::{Repo, Run, assert_says, host, live_host, run};

const EDGE: &str = "tenant-a/edge";
const OF_INVENTORY: &str = "./overlays/hosts/declared/inventory";
const OF_LAB: &str = "./overlays/hosts/declared/lab";

fn add_build(repo: &Repo, directory: &str, name: &str) {
    repo.write(&format!("{directory}/hosts.yaml"), &host(name, ""));
    repo.write(&format!("{directory}/kustomization.yaml"), "resources: [hosts.yaml]\n");
}

/// Has a Flux Kustomization apply a directory.
fn apply(repo: &Repo, name: &str, path: &str) {
    let object = flux(path, "").replace("name: lab", &format!("name: {name}"));
    repo.write(&format!("agent/{name}.yaml"), &object);
}

/// The builds `inventory` with `host-1`, which an object applies, and `lab` with `lab-1`, which none does.
fn with_unapplied_build() -> Repo {
    let repo = Repo::of_hosts(1);
    add_build(&repo, "lab", "lab-1");
    apply(&repo, "metal", OF_INVENTORY);
    repo.want(EDGE, 1);
    repo
}

fn hosts(repo: &Repo) -> Vec<String> {
    repo.hosts_of("tenant-a", "edge")
}

/// Writes a line of a help into `sipgen.yaml`; returns what a run says then.
#[track_caller]
fn paste(repo: &Repo, text: &str, line: usize) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| line.starts_with("sources: ")).collect();
    assert!(line < lines.len(), "{text}");
    repo.write("sipgen.yaml", &format!("{}\n", lines[line]));
    said(repo)
}

fn explain(repo: &Repo, host: &str, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(&[&["explain", host], arguments].concat()))
}

#[track_caller]
fn assert_evidence(repo: &Repo, host: &str, evidence: &str) {
    let text = explain(repo, host, &["--format", "json"]).stdout;
    let explained: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(explained["host"]["evidence"], evidence, "{text}");
}

// Builds

#[test]
fn a_build_that_no_object_applies_beside_applied_ones_is_not_assigned() {
    let repo = with_unapplied_build();

    let warned = said(&repo);
    assert_says(
        &warned,
        &[
            "warning[SIP0357]: 1 host in lab/kustomization.yaml cannot be assigned: no agent's object of this site applies \
             that kustomization",
            "--> lab/hosts.yaml:5:9  (metal/lab-1)",
        ],
    );
    assert_eq!(hosts(&repo), ["Worker metal/host-1"]);
    assert_evidence(&repo, "metal/host-1", "applied");
    assert_evidence(&repo, "metal/lab-1", "reached");
    repo.want(EDGE, 2);
    assert_says(
        &repo.refused(),
        &["1 in a kustomization that no agent's object applies (metal/lab-1)"],
    );

    let warnings = paste(&repo, &warned, 0);
    assert!(!warnings.contains("SIP0357"), "{warnings}");
    assert_eq!(hosts(&repo), ["Worker metal/host-1", "Worker metal/lab-1"]);

    let repo = with_unapplied_build();
    let warnings = paste(&repo, &warned, 1);
    assert!(!warnings.contains("SIP0357"), "{warnings}");
    assert_eq!(hosts(&repo), ["Worker metal/host-1"]);
}

#[test]
fn builds_are_applied_where_no_object_of_the_repo_applies_any_host() {
    let repo = with_unapplied_build();
    repo.want(EDGE, 2);
    for path in ["./clusters", "./overlays/clusters"] {
        apply(&repo, "metal", path);
        said(&repo);
        assert_eq!(hosts(&repo), ["Worker metal/host-1", "Worker metal/lab-1"]);
    }
}

#[test]
fn an_overlay_of_ours_stays_applied_when_objects_apply_other_hosts() {
    for (settings, stays) in [("gitops: flux\n", true), ("", false)] {
        let repo = Repo::of_hosts(1);
        repo.write("sipgen.yaml", settings);
        repo.want(EDGE, 1);
        said(&repo);

        add_build(&repo, "lab", "lab-1");
        apply(&repo, "lab", OF_LAB);

        if stays {
            let warnings = said(&repo);
            assert!(!warnings.contains("SIP0357"), "{warnings}");
            assert_eq!(hosts(&repo), ["Worker metal/host-1"]);
        } else {
            assert_says(&repo.refused(), &["error[SIP0512]", "metal/host-1"]);
        }
    }
}

// Manifests beside builds

/// Two hosts in files of `metal`, and a kustomization.
fn with_two_files(kustomization: &str) -> Repo {
    let repo = Repo::empty();
    for name in ["a", "b"] {
        repo.write(&format!("metal/{name}.yaml"), &host(name, ""));
    }
    repo.write("metal/kustomization.yaml", kustomization);
    repo.want(EDGE, 1);
    repo
}

#[test]
fn a_file_that_the_kustomization_beside_it_does_not_list_is_an_error() {
    for kustomization in ["resources: [a.yaml]\n", "resources:\n  - a.yaml\n  # - b.yaml\n"] {
        let repo = with_two_files(kustomization);

        let refused = repo.refused();
        assert_says(
            &refused,
            &[
                "error[SIP0305]: metal/kustomization.yaml does not list metal/b.yaml: 1 host beside applied ones cannot be assigned",
                "--> metal/b.yaml:5:9  (metal/b)",
                "list it in `resources` of metal/kustomization.yaml",
            ],
        );
        assert_evidence(&repo, "metal/b", "loose");

        paste(&repo, &refused, 0);
        assert_eq!(hosts(&repo), ["Worker metal/a"]);

        let repo = with_two_files("resources: [a.yaml, b.yaml]\n");
        repo.want(EDGE, 2);
        said(&repo);
        assert_eq!(hosts(&repo), ["Worker metal/a", "Worker metal/b"]);
    }
}

#[test]
fn a_component_that_nothing_lists_is_blamed_instead_of_its_list() {
    let repo = with_two_files("resources: [a.yaml]\n");
    repo.write("metal/c/h.yaml", &host("c", ""));
    repo.remove("metal/b.yaml");
    let component =
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [h.yaml]\n";
    repo.write("metal/c/kustomization.yaml", component);

    assert_says(
        &repo.refused(),
        &[
            "error[SIP0305]: no kustomization lists the component metal/c of metal/c/h.yaml: 1 host",
            "list it in `components` of another kustomization",
        ],
    );

    repo.write("metal/kustomization.yaml", "resources: [a.yaml]\ncomponents: [c]\n");
    repo.want(EDGE, 2);
    said(&repo);
    assert_eq!(hosts(&repo), ["Worker metal/a", "Worker metal/c"]);
}

#[test]
fn a_directory_that_the_kustomization_of_its_siblings_does_not_list_is_an_error() {
    for has_own in [false, true] {
        let repo = Repo::empty();
        for rack in ["a", "b", "c"] {
            repo.write(&format!("metal/rack-{rack}/hosts.yaml"), &host(rack, ""));
        }
        let listed = ["a", "b"].map(|rack| {
            let directory = format!("metal/rack-{rack}");
            if has_own {
                add_build(&repo, &directory, rack);
                format!("rack-{rack}")
            } else {
                format!("rack-{rack}/hosts.yaml")
            }
        });
        repo.write("metal/kustomization.yaml", &format!("resources: [{}]\n", listed.join(", ")));
        repo.want(EDGE, 1);

        assert_says(
            &repo.refused(),
            &[
                "error[SIP0305]: metal/kustomization.yaml does not list metal/rack-c/hosts.yaml: 1 host beside applied ones",
                "--> metal/rack-c/hosts.yaml:5:9  (metal/c)",
            ],
        );
    }
}

#[test]
fn a_host_of_the_documentation_is_a_warning() {
    let repo = Repo::of_hosts(1);
    repo.write("docs/example.yaml", &host("example", ""));
    repo.write("inventory/docs/example.yaml", &host("other", ""));
    repo.want(EDGE, 1);

    let warned = said(&repo);
    assert_says(
        &warned,
        &[
            "warning[SIP0357]: 2 hosts cannot be assigned: no kustomization renders such manifests",
            "--> docs/example.yaml:5:9  (metal/example)",
        ],
    );
    assert_eq!(hosts(&repo), ["Worker metal/host-1"]);
    let warnings = paste(&repo, &warned, 0);
    assert!(!warnings.contains("SIP0357"), "{warnings}");
    repo.want(EDGE, 2);
    assert_says(&repo.refused(), &["1 of the 2 Worker hosts"]);
}

// Live objects

fn with_loose(document: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("hosts.yaml", document);
    repo.want(EDGE, 1);
    repo
}

#[test]
fn only_what_an_api_server_adds_shows_that_a_host_is_live() {
    let state = |status: &str| format!("{}status: {status}\n", host("a", ""));
    let free = state("{provisioning: {state: available}}");
    let repo = with_loose(&free);
    said(&repo);
    assert_eq!(hosts(&repo), ["Worker metal/a"]);
    for live in [
        host("a", "  uid: 5d3b7c1e-0000-4000-8000-000000000001\n"),
        host("a", "  resourceVersion: \"1\"\n"),
        host("a", "  managedFields: []\n"),
        free,
    ] {
        let repo = with_loose(&live);
        let all = run(&mut repo.sipgen(&["generate"])).stderr;
        assert!(!all.contains("SIP0357"), "{all}");
        assert_evidence(&repo, "metal/a", "live");
    }
    for loose in [
        host("a", ""),
        host("a", "  creationTimestamp: null\n"),
        state("{}"),
        state("{operationalStatus: OK}"),
        state("{provisioning: {state: ''}}"),
    ] {
        let repo = with_loose(&loose);
        let refused = repo.refused();
        assert_says(
            &refused,
            &[
                "warning[SIP0357]: 1 host cannot be assigned",
                "1 in no build and no snapshot (metal/a)",
            ],
        );
        assert_evidence(&repo, "metal/a", "loose");
        // The help names it.
        assert_says(&refused, &["`inventory: {mode: observed}`"]);
        repo.write("sipgen.yaml", "inventory: {mode: observed}\n");
        if loose.contains("state: ''") {
            assert_says(&repo.refused(), &["not registered yet"]);
        } else {
            said(&repo);
            assert_eq!(hosts(&repo), ["Worker metal/a"], "{loose}");
        }
    }
}

// Evidence that weakens

#[test]
fn an_assigned_host_that_no_object_applies_any_more_stays() {
    let repo = with_unapplied_build();
    apply(&repo, "lab", OF_LAB);
    repo.want(EDGE, 2);
    said(&repo);

    apply(&repo, "lab", "./elsewhere");
    let refused = repo.refused();
    assert_says(
        &refused,
        &[
            "error[SIP0512]: host metal/lab-1 of tenant-a/edge was applied by an agent, but no agent's object of this site \
             applies lab/kustomization.yaml now",
            "(its manifest)",
        ],
    );
    let of_file = refused.split("error[SIP0512]").nth(1).unwrap();
    paste(&repo, of_file, 0);
    assert_eq!(hosts(&repo), ["Worker metal/host-1", "Worker metal/lab-1"]);
}

#[test]
fn an_assigned_host_whose_snapshot_loses_what_is_live_stays() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want(EDGE, 1);
    said(&repo);

    let state = "status: {provisioning: {state: available}}\n";
    repo.replace("snapshot/hosts.yaml", state, "");
    let refused = repo.refused();
    assert_says(
        &refused,
        &[
            "error[SIP0512]: host metal/host-1 of tenant-a/edge was live in a snapshot",
            "set `inventory: {mode: observed}` in sipgen.yaml",
        ],
    );
    repo.write("sipgen.yaml", "inventory: {mode: observed}\n");
    repo.generate(&["--exit-code"]).expect(0);
}

#[test]
fn an_assigned_host_that_leaves_the_kustomization_stays() {
    let repo = with_two_files("resources: [a.yaml, b.yaml]\n");
    repo.want(EDGE, 2);
    said(&repo);

    repo.write("metal/kustomization.yaml", "resources: [a.yaml]\n");
    assert_says(
        &repo.refused(),
        &["error[SIP0512]: host metal/b of tenant-a/edge was declared by this repo"],
    );
    repo.write("metal/kustomization.yaml", "resources: [a.yaml, b.yaml]\n");
    repo.generate(&["--exit-code"]).expect(0);
}

// Objects that apply hosts as they are written

const ERASED: &str =
    "applies 1 BareMetalHost in files that no kustomization lists, such as metal/h1";

/// A live `h1` in `inv`, which an object applies, and a cluster that wants one host.
fn with_plain(settings: &str, object: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", settings);
    repo.write("inv/h1.yaml", &host("h1", ""));
    repo.write("agent.yaml", object);
    repo.want(EDGE, 1);
    repo
}

#[test]
fn the_repo_by_another_url_is_this_repo() {
    let settings = "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/x.git'}\n";
    let application = |url: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: hosts, namespace: argocd}}\nspec:\n  \
             source: {{repoURL: '{url}', path: inv}}\n  destination: {{server: 'https://kubernetes.default.svc'}}\n"
        )
    };
    for url in [
        "https://git.example.com/x.git",
        "git@git.example.com:x.git",
        "ssh://git@git.example.com:2222/x",
    ] {
        assert_says(
            &with_plain(settings, &application(url)).refused(),
            &["error[SIP0615]: Argo CD's Application argocd/hosts", ERASED],
        );
    }
    let other = with_plain(settings, &application("git@git.example.com:y.git"));
    assert!(!other.refused().contains("SIP0615"));
}

#[test]
fn what_the_flux_operator_makes_applies_files() {
    let instance = |path: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {{name: flux, namespace: flux-system}}\n\
             spec:\n  sync: {{kind: GitRepository, url: 'https://git.example.com/x.git', path: {path}}}\n"
        )
    };
    let set = |input: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: racks, namespace: flux-system}}\n\
             spec:\n  inputs: [{{directory: other}}, {{directory: {input}}}]\n  resources:\n    - apiVersion: \
             kustomize.toolkit.fluxcd.io/v1\n      kind: Kustomization\n      metadata: {{name: x, namespace: flux-system}}\n      \
             spec: {{path: './<< inputs.directory >>', sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
        )
    };
    let release = |path: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: flux-instance, namespace: flux-system}}\n\
             spec:\n  chartRef: {{kind: OCIRepository, name: flux-instance}}\n  values: {{instance: {{sync: {{path: {path}}}}}}}\n"
        )
    };
    for object in [instance("inv"), set("inv"), release("inv")] {
        let repo = with_plain("gitops: flux\n", &object);
        assert_says(&repo.refused(), &["error[SIP0615]", ERASED]);
    }
    let (before, _) =
        release("inv").split_once("  values:").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let elsewhere = before + "  valuesFrom: [{kind: ConfigMap, name: values}]\n";
    assert_says(
        &with_plain("gitops: flux\n", &elsewhere).refused(),
        &["warning[SIP0624]", "values of other objects"],
    );
    for object in [instance("clusters"), set("clusters"), release("clusters")] {
        let repo = with_plain("gitops: flux\n", &object);
        assert!(!repo.refused().contains("SIP0615"));
    }
    // Only Flux knows the value of a variable, unless an object of the repo that applies the file has it.
    let kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x, namespace: flux-system}\n\
                         spec: {path: '${DIRECTORY}', sourceRef: {kind: GitRepository, name: flux-system}}\n";
    for object in [instance("'${DIRECTORY}'"), release("'./${A:=inv}'"), kustomization.to_owned()] {
        let said = with_plain("gitops: flux\n", &object).refused();
        assert_says(&said, &["warning[SIP0624]", "makes an agent apply is unknown"]);
    }
    let variable = "postBuild: {substitute: {DIRECTORY: inv}}";
    let path = "- {op: replace, path: /spec/path, value: inv}";
    let patch = format!("patches: [{{target: {{name: x}}, patch: '{path}'}}]");
    let by_name = "postBuild: {substituteFrom: [{kind: ConfigMap, name: site}]}";
    let site = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site, namespace: flux-system}\ndata: {DIRECTORY: inv}\n";
    for object in [instance("'./${DIRECTORY}'"), kustomization.to_owned()] {
        for (file, directory) in
            [("top/k.yaml", "./top"), ("top/a/k.yml", "top/"), ("top/b/k.yaml", "./top/b")]
        {
            for (fields, is_known) in [
                (variable, true),
                (by_name, true),
                (&patch, object == kustomization),
                ("force: true", false),
            ] {
                let repo = with_plain(
                    "gitops: flux\n",
                    &kustomization
                        .replace("name: x", "name: parent")
                        .replace("'${DIRECTORY}'", &format!("{directory}, {fields}")),
                );
                repo.write(file, &object);
                repo.write("site.yaml", site);
                let said = repo.refused();
                assert_eq!(said.contains("error[SIP0615]"), is_known, "{object}{fields}{said}");
                assert_eq!(said.contains("warning[SIP0624]"), !is_known, "{object}{fields}{said}");
            }
        }
    }
}

#[test]
fn the_source_of_a_flux_instance_is_this_repo_by_any_name() {
    let instance = |namespace: &str, sync: &str, more: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {{name: flux{namespace}}}\n\
             spec:\n  sync: {{path: inv, {sync}}}\n{more}"
        )
    };
    let source = |url: &str| {
        format!(
            "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: \
             flux-system}}\nspec: {{url: '{url}'}}\n"
        )
    };
    let own = ", namespace: flux-system";
    let url = "url: 'https://git.example.com/x.git'";
    let apps = format!("kind: GitRepository, name: apps, {url}");
    for (object, is_this_repo) in [
        (instance(", namespace: flux", url, ""), true),
        (instance("", url, ""), true),
        (instance(own, &apps, ""), true),
        (instance(own, "kind: OCIRepository, url: 'oci://ghcr.io/o/x', ref: latest", ""), true),
        (instance(own, &apps, "") + &source("ssh://git@git.example.com/x"), true),
        (instance(own, &apps, "") + &source("ssh://git@git.example.com/y"), false),
    ] {
        let said = with_plain("gitops: flux\n", &object).refused();
        assert_eq!(said.contains("error[SIP0615]"), is_this_repo, "{object}{said}");
    }
    let named =
        with_plain("gitops: flux\nflux: {sourceRef: {name: fleet}}\n", &instance(own, &apps, ""));
    assert!(!named.refused().contains("SIP0615"));

    // The operator patches what it makes.
    let sync = "target: {kind: Kustomization, name: flux-system}, patch";
    for (patch, outcome) in [
        ("target: {kind: Deployment}, patch: '- {op: remove, path: /spec/replicas}'", "SIP0615"),
        ("patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}'", "SIP0615"),
        ("target: {labelSelector: 'app=x'}, patch: '- {op: remove, path: /spec/x}'", "SIP0615"),
        (
            &format!("{sync}: '- {{op: add, path: /spec/decryption, value: {{provider: sops}}}}'"),
            "SIP0615",
        ),
        (&format!("{sync}: '- {{op: replace, path: /spec/interval, value: 1h}}'"), "SIP0615"),
        (
            "target: {kind: GitRepository}, patch: '- {op: add, path: /spec/ignore, value: /docs}'",
            "SIP0615",
        ),
        (
            "target: {kind: Kust.*}, patch: '- {op: replace, path: /spec/path, value: clusters}'",
            "nothing",
        ),
        (
            "target: {name: flux-system}, patch: '- {op: add, path: /spec/path, value: \"${P}\"}'",
            "SIP0624",
        ),
        (&format!("{sync}: '- {{op: remove, path: /spec/x}}'"), "SIP0624"),
        (
            "patch: '{kind: GitRepository, metadata: {name: flux-system}, spec: {url: y}}'",
            "SIP0624",
        ),
        ("target: 3", "SIP0624"),
        ("path: p.yaml", "SIP0624"),
    ] {
        let more = format!("  kustomize: {{patches: [{{{patch}}}]}}\n");
        let said = with_plain("gitops: flux\n", &instance(own, url, &more)).refused();
        for code in ["SIP0615", "SIP0624"] {
            assert_eq!(said.contains(code), code == outcome, "{more}{said}");
        }
    }
}

/// A chart in `chart` with this template, a snapshot with `h1`, and a cluster that wants one host.
fn with_chart(object: &str, template: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("chart/Chart.yaml", "apiVersion: v2\nname: metal\nversion: 1.0.0\n");
    repo.write("chart/templates/hosts.yaml", template);
    repo.write("snapshot/hosts.yaml", &live_host("h1", ""));
    repo.write("agent.yaml", object);
    repo.want(EDGE, 1);
    repo
}

#[test]
fn hosts_of_a_chart_that_an_object_installs_are_applied_in_full() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: metal, namespace: flux-system}\n\
                   spec:\n  chart:\n    spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: metal, namespace: argocd}\n\
                       spec:\n  source: {repoURL: x, path: chart}\n";
    let chart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: metal, namespace: flux-system}\n\
                 spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let by_name = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: metal, namespace: flux-system}\n\
                   spec: {chartRef: {kind: HelmChart, name: metal}}\n";
    let by_name = format!("{chart}---\n{by_name}");
    for object in [release, application, &by_name] {
        let repo = with_chart(object, &host("h1", ""));
        let refused = repo.refused();
        assert_says(&refused, &["1 applied in full by another object of the agent (metal/h1)"]);
        assert!(!refused.contains("SIP0301"), "{refused}");
        assert_says(&explain(&repo, "metal/h1", &[]).stdout, &["is applied in full by", "by Helm"]);

        let template = host("'{{ .Values.name }}'", "").replace("'{{", "{{").replace("}}'", "}}");
        let repo = with_chart(object, &template);
        assert_says(&said(&repo), &["warning[SIP0624]", "by Helm, makes of chart are unknown"]);
        assert_eq!(hosts(&repo), ["Worker metal/h1"]);
    }
    // Another chart, and one that nothing installs.
    for object in [&release.replace("./chart", "./other"), &by_name.replace("./chart", "x"), chart]
    {
        let repo = with_chart(object, &host("h1", ""));
        said(&repo);
        assert_eq!(hosts(&repo), ["Worker metal/h1"]);
    }
}

// Other objects

/// Asserts that a file beside listed ones is reported, unless an agent or a build applies it.
#[track_caller]
fn assert_omitted(repo: &Repo, file: &str, code: &str, what: &str) {
    let (directory, name) = file.rsplit_once('/').unwrap();
    let kustomization = format!("{directory}/kustomization.yaml");
    let listed = repo.read(&kustomization);
    let warned = said(repo);
    assert_says(
        &warned,
        &[
            &format!("warning[{code}]: {kustomization} does not list {file}: {what}"),
            &format!("--> {file}:"),
        ],
    );

    let says_nothing = |repo: &Repo| {
        let said = said(repo);
        assert!(!said.contains("does not list"), "{said}");
    };
    repo.write(&kustomization, &listed.replace("resources: [", &format!("resources: [{name}, ")));
    says_nothing(repo);
    // A plugin may read the file.
    let ksops = format!("{directory}/ksops.yaml");
    repo.write(&ksops, "{apiVersion: viaduct.ai/v1, kind: ksops, metadata: {name: k}}\n");
    repo.write(&kustomization, &format!("{listed}generators: [ksops.yaml]\n"));
    says_nothing(repo);
    repo.remove(&ksops);
    repo.write(&kustomization, &listed);
    let text = repo.read(file);
    repo.remove(file);
    // Objects that no kustomization concerns may be applied by hand.
    repo.write(&format!("by-hand/{name}"), &text);
    says_nothing(repo);
    repo.remove(&format!("by-hand/{name}"));
    repo.write(&format!("{directory}/below/{name}"), &text);
    assert!(said(repo).contains("does not list"));
    apply(repo, "below", &format!("./{directory}/below"));
    says_nothing(repo);
}

#[test]
fn network_data_that_the_kustomization_of_its_host_omits_is_reported() {
    let repo = Repo::of_hosts(1);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: nd, namespace: metal}\n\
                  stringData: {networkData: '{\"networks\":[{\"id\":\"oam\",\"type\":\"ipv4\",\"ip_address\":\"10.0.0.5\"}]}'}\n";
    repo.write("metal/hosts.yaml", &(host("a", "") + "  networkData: {name: nd}\n"));
    repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("metal/nd.yaml", secret);
    repo.want(EDGE, 1);
    assert_omitted(
        &repo,
        "metal/nd.yaml",
        "SIP0341",
        "the network data of host metal/a is not applied",
    );
    // A live copy proves that something applies it.
    repo.remove("metal/below/nd.yaml");
    repo.write("metal/snapshot.yaml", &secret.replace("{name: nd", "{uid: u, name: nd"));
    let said = said(&repo);
    assert!(!said.contains("does not list"), "{said}");
}

#[test]
fn an_object_of_a_cluster_that_the_kustomization_beside_it_omits_is_reported() {
    for omitted in ["workers.yaml", "md.yaml", "cluster.yaml", "cp.yaml"] {
        let repo = Repo::of_hosts(3);
        repo.write("inventory/kustomization.yaml", "namespace: ta\nresources: [hosts.yaml]\n");
        repo.write("sipgen.yaml", "requests: {clusterAPI: {clusters: all}}\n");
        let template = |name: &str| {
            format!(
                "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3MachineTemplate, metadata: {{name: {name}, namespace: ta}}, \
                 spec: {{template: {{spec: {{}}}}}}}}\n"
            )
        };
        let files = [
            ("cluster.yaml", "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c0, namespace: ta}, spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: c0-cp}}}\n".to_owned()),
            ("cp.yaml", "{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, metadata: {name: c0-cp, namespace: ta}, spec: {replicas: 1, version: v1.34.2, machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: c0-cp}}}, rollout: {strategy: {rollingUpdate: {maxSurge: 0}}}}}\n---\n".to_owned() + &template("c0-cp")),
            ("workers.yaml", "{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: c0-md, namespace: ta}, spec: {clusterName: c0, replicas: 1, template: {spec: {clusterName: c0, version: v1.34.2, bootstrap: {dataSecretName: x}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: c0-md}}}}}\n".to_owned()),
            ("md.yaml", template("c0-md")),
        ];
        for (name, text) in &files {
            repo.write(&format!("c0/{name}"), text);
        }
        let listed: Vec<&str> =
            files.iter().map(|(name, _)| *name).filter(|it| *it != omitted).collect();
        repo.write("c0/kustomization.yaml", &format!("resources: [{}]\n", listed.join(", ")));
        let what = match omitted {
            "workers.yaml" => "MachineDeployment `ta/c0-md` is not applied",
            "md.yaml" => "Metal3MachineTemplate `ta/c0-md` is not applied",
            "cluster.yaml" => "Cluster `ta/c0` is not applied",
            _ => "2 objects, ",
        };
        assert_omitted(&repo, &format!("c0/{omitted}"), "SIP0909", what);
    }
}

#[test]
fn a_request_that_the_kustomization_beside_it_omits_is_reported() {
    let repo = Repo::of_hosts(2);
    for name in ["one", "two"] {
        repo.want(&format!("metal/{name}"), 1);
    }
    repo.write("clusters/kustomization.yaml", "resources: [metal.one.yaml]\n");
    let what = "SIPCluster `metal/two` is not applied";
    assert_omitted(&repo, "clusters/metal.two.yaml", "SIP0909", what);

    let repo = Repo::of_fixture("provisioning");
    repo.write("clusters/kustomization.yaml", "resources: [depot.yaml]\n");
    let what = "Provisioning `lab/provisioning-press` is not applied";
    assert_omitted(&repo, "clusters/press.yaml", "SIP0909", what);
}
