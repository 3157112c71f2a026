//! Objects of the repo that apply what sipgen's own would apply, or only seem to.

use crate::support::{Repo, assert_says};

const DECLARED: &str = "sipgen.declared.inventory";
const OVERLAY: &str = "./overlays/hosts/declared/inventory";
const ARGOCD: &str = "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/fleet.git'}\n";

/// A Kustomization of Flux, whose source is ours unless `more` has one.
fn flux(name: &str, path: &str, more: &str) -> String {
    let source = "  sourceRef: {kind: GitRepository, name: flux-system}\n";
    let source = if more.contains("sourceRef") { "" } else { source };
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: 1h\n  path: {path}\n  prune: true\n{source}{more}"
    )
}

fn application(source: &str, destination: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: lab, namespace: argocd}}\nspec:\n  \
         source: {source}\n  destination: {destination}\n"
    )
}

/// A repo with declared hosts below `inventory`, and with an agent.
fn declared(settings: &str) -> Repo {
    let repo = Repo::of_fixture("declared-and-snapshot");
    let own = if repo.exists("sipgen.yaml") { repo.read("sipgen.yaml") } else { String::new() };
    repo.write("sipgen.yaml", &(own + settings));
    repo
}

fn of_flux(object: &str) -> Repo {
    let repo = declared("gitops: flux\n");
    repo.write("agent/lab.yaml", object);
    repo
}

#[track_caller]
fn said(repo: &Repo) -> String {
    repo.generate(&[]).expect(0).stderr
}

/// Whether one of our own objects of this name is written.
fn has_own(repo: &Repo, agent: &str, name: &str) -> bool {
    let files = repo.files(&format!("overlays/agents/{agent}"));
    files.values().any(|text| text.contains(&format!("\n  name: \"{name}\"\n")))
}

#[test]
fn an_object_of_another_source_or_a_suspended_one_leaves_ours() {
    for more in [
        "  sourceRef: {kind: GitRepository, name: shop}\n",
        "  sourceRef: {kind: OCIRepository, name: flux-system}\n",
        "  sourceRef: {kind: GitRepository, name: flux-system, namespace: shop}\n",
        "  suspend: true\n",
    ] {
        for path in ["./inventory", OVERLAY] {
            let repo = of_flux(&flux("lab", path, more));
            let warnings = said(&repo);
            assert!(has_own(&repo, "flux", DECLARED), "{path} {more}");
            let is_suspended = more.contains("suspend");
            assert_eq!(
                warnings.contains("it is ignored as belonging to another repo or cluster"),
                !is_suspended,
                "{path} {more}{warnings}"
            );
        }
    }
    for more in
        ["", "  sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}\n"]
    {
        let repo = of_flux(&flux("lab", OVERLAY, more));
        assert!(!said(&repo).contains("warning"), "{more}");
        assert!(!has_own(&repo, "flux", DECLARED), "{more}");
    }
}

#[test]
fn an_application_of_another_repo_leaves_ours() {
    let ours = "https://git.example.com/fleet";
    let in_cluster = "{server: 'https://kubernetes.default.svc'}";
    for (url, destination, is_ours) in [
        (ours, in_cluster, true),
        (ours, "{name: in-cluster}", true),
        (ours, "{namespace: metal}", true),
        ("https://git.example.com/shop", in_cluster, false),
    ] {
        let repo = declared(ARGOCD);
        let source = format!("{{repoURL: '{url}', path: overlays/hosts/declared/inventory}}");
        repo.write("agent/lab.yaml", &application(&source, destination));
        let warnings = said(&repo);
        assert_eq!(has_own(&repo, "argocd", DECLARED), !is_ours, "{url} {destination}");
        assert_eq!(
            warnings.contains("it is ignored as belonging to another repo or cluster"),
            !is_ours,
            "{url} {destination}"
        );
    }
}

/// The Metal3 of two base clusters would manage one machine.
#[test]
fn hosts_that_are_applied_to_another_cluster_only_are_not_assigned() {
    let source = |path: &str| format!("{{repoURL: 'https://git.example.com/fleet', path: {path}}}");
    let remote = "  kubeConfig: {secretRef: {name: remote}}\n";
    let elsewhere = |path: &str| {
        let named = application(&source(path), "{name: shop}");
        let by_url = application(&source(path), "{server: 'https://shop.example.com'}");
        [("gitops: flux\n", flux("lab", path, remote)), (ARGOCD, named), (ARGOCD, by_url)]
    };
    // What another cluster gets, its agent applies there.
    let by_another = |path: &str| {
        let parent = |object: &str| object.replace("name: lab", "name: parent");
        let child = application(&source(path), "{server: 'https://kubernetes.default.svc'}");
        let of_argocd = parent(&application(&source("agent"), "{name: shop}"));
        [
            ("gitops: flux\n", flux("lab", path, ""), flux("parent", "./agent", remote)),
            ("gitops: flux\n", flux("lab", path, ""), of_argocd.clone()),
            (ARGOCD, child, of_argocd),
        ]
    };
    for path in ["inventory", &OVERLAY[2..]] {
        let alone = elsewhere(path).map(|(settings, object)| (settings, object, String::new()));
        for (settings, object, parent) in alone.into_iter().chain(by_another(path)) {
            let repo = declared(settings);
            repo.write("agent/lab.yaml", &object);
            repo.write("parents/parent.yaml", &parent);

            let run = repo.generate(&[]);

            assert_says(&run.stderr, &["SIP0357", "SIP0611", "to another cluster"]);
            assert!(!repo.exists("overlays/hosts/declared"), "{object}");

            // An object for the base cluster applies them as well.
            let own = match settings.contains("flux") {
                true => flux("own", path, ""),
                false => application(&source(path), "{name: in-cluster}")
                    .replace("name: lab", "name: own"),
            };
            repo.write("own/own.yaml", &own);
            repo.generate(&[]).expect(0);
            assert!(repo.exists("overlays/hosts/declared"), "{object}");
        }
        for (settings, object, parent) in by_another(path) {
            let repo = declared(settings);
            repo.write("agent/kustomization.yaml", "resources: [lab.yaml]\n");
            repo.write("agent/lab.yaml", &object);
            let of_base = flux("base", "./agent", "");
            for (parents, has_hosts) in
                [(parent.clone(), false), (format!("{parent}---\n{of_base}"), true)]
            {
                repo.write("parents/parent.yaml", &parents);
                repo.generate(&[]);
                assert_eq!(repo.exists("overlays/hosts/declared"), has_hosts, "{parents}");
            }
            // Somebody applied the object that applies its own file, as `flux bootstrap` does.
            let repo = declared(settings);
            repo.write("agent/lab.yaml", &object);
            repo.write("agent/root.yaml", &flux("root", "./agent", ""));
            repo.write("parents/parent.yaml", &parent);
            repo.generate(&[]);
            assert!(repo.exists("overlays/hosts/declared"), "{object}");
        }
    }
}

/// A reference without a namespace is to an object beside it.
#[test]
fn an_object_has_the_namespace_that_its_kustomization_gives() {
    for (namespace, is_ours) in [("flux-system", true), ("shop", false)] {
        let repo = of_flux(&flux("lab", OVERLAY, "").replace(", namespace: flux-system", ""));
        let kustomization = format!("namespace: {namespace}\nresources: [lab.yaml]\n");
        repo.write("agent/kustomization.yaml", &kustomization);
        said(&repo);
        assert_eq!(has_own(&repo, "flux", DECLARED), !is_ours, "{namespace}");
    }
}

#[test]
fn an_object_that_the_kustomization_beside_it_omits_leaves_ours() {
    let other =
        |text: &str| text.replace("name: lab", "name: other").replace(&OVERLAY[2..], "other");
    let lab = flux("lab", OVERLAY, "");
    let application = application(
        "{repoURL: 'https://git.example.com/fleet.git', path: overlays/hosts/declared/inventory}",
        "{server: https://kubernetes.default.svc}",
    );
    let all = "---\n".to_owned()
        + &application.replace("name: lab", "name: all").replace(
            "path: overlays/hosts/declared/inventory",
            "path: apps, directory: {recurse: true}",
        );
    // A kustomization, the object of which it lists the file, and another one.
    for (kustomization, resources, listed, omitted, more, is_omitted) in [
        ("apps", "[a.yaml]", "apps/a.yaml", "apps/lab.yaml", "", true),
        ("apps", "[a.yaml]", "apps/a.yaml", "apps/metal/lab.yaml", "", true),
        ("apps", "[a/a.yaml]", "apps/a/a.yaml", "apps/metal/lab.yaml", "", true),
        // Listed, not beside it, or beside none.
        ("apps", "[a.yaml, lab.yaml]", "apps/a.yaml", "apps/lab.yaml", "", false),
        ("apps", "[a.yaml]", "apps/a.yaml", "lab/lab.yaml", "", false),
        ("apps", "[c.yaml]", "agent/a.yaml", "apps/lab.yaml", "", false),
        // Argo CD reads all files there.
        ("apps", "[a.yaml]", "apps/a.yaml", "apps/lab.yaml", all.as_str(), false),
    ] {
        for (agent, settings, object) in
            [("flux", "gitops: flux\n", &lab), ("argocd", ARGOCD, &application)]
        {
            let repo = declared(settings);
            repo.write(
                &format!("{kustomization}/kustomization.yaml"),
                &format!("resources: {resources}\n"),
            );
            repo.write("apps/c.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n");
            repo.write(listed, &(other(object) + more));
            repo.write(omitted, object);

            let warned = said(&repo);

            let says = format!("apps/kustomization.yaml does not list {omitted}: ");
            assert_eq!(warned.contains(&says), is_omitted, "{resources} {omitted}: {warned}");
            assert_eq!(has_own(&repo, agent, DECLARED), is_omitted, "{resources} {omitted}");
        }
    }
    // The object that applies the kustomization is the first one, which somebody applied.
    let repo = declared("gitops: flux\n");
    repo.write("apps/kustomization.yaml", "resources: [a.yaml, inventory.yaml]\n");
    repo.write("apps/a.yaml", &other(&lab));
    repo.write("apps/inventory.yaml", &flux("inventory", OVERLAY, ""));
    repo.write("apps/root.yaml", &flux("root", "./apps", ""));
    let warned = said(&repo);
    assert!(!warned.contains("SIP0611"), "{warned}");
    // A kustomization that an agent applies has all that the agent sees there.
    for (root, is_omitted) in [("./apps", true), ("./others", false)] {
        let repo = declared("gitops: flux\n");
        repo.write("root.yaml", &flux("root", root, ""));
        repo.write("apps/kustomization.yaml", "resources: [c.yaml]\n");
        repo.write("apps/c.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n");
        repo.write("apps/lab.yaml", &lab);
        let warned = said(&repo);
        let says = "apps/kustomization.yaml does not list apps/lab.yaml: ";
        assert_eq!(warned.contains(says), is_omitted, "{root}: {warned}");
        assert_eq!(has_own(&repo, "flux", DECLARED), is_omitted, "{root}");
    }
}

#[test]
fn an_object_that_changes_the_names_of_hosts_is_refused() {
    for path in ["./inventory", OVERLAY] {
        let refused = of_flux(&flux("lab", path, "  namePrefix: lab-\n")).refused();
        assert_says(
            &refused,
            &[
                "changes the name of 6 hosts, such as metal/bay1-left to `lab-bay1-left`",
                "--> agent/lab.yaml:9:",
            ],
        );
    }
    let repo = declared(ARGOCD);
    let source = "{repoURL: 'https://git.example.com/fleet', path: inventory, kustomize: {nameSuffix: -lab}}";
    repo.write("agent/lab.yaml", &application(source, "{}"));
    assert_says(&repo.refused(), &["such as metal/bay1-left to `bay1-left-lab`"]);
}

#[test]
fn what_an_object_of_the_repo_applies_already_gets_none_of_ours() {
    for (path, names) in [
        ("./overlays/hosts/observed/tenant-b.live", &["sipgen.observed.tenant-b.live"][..]),
        ("./overlays/hosts/observed/released", &["sipgen.released"]),
        ("./overlays/hosts/observed", &["sipgen.released", "sipgen.observed.tenant-b.live"]),
        ("./overlays/clusters/tenant-a/edge", &["sipgen.services.tenant-a.edge"]),
        ("./overlays/crds/dex", &["sipgen.crds.dex"]),
        ("./overlays/clusters", &["sipgen.services.tenant-a.edge"]),
    ] {
        let repo = Repo::of_everything("gitops: flux\n");
        names.iter().for_each(|name| assert!(has_own(&repo, "flux", name), "{name}"));
        repo.write("agent/lab.yaml", &flux("lab", path, ""));

        let directory = path.trim_start_matches("./");
        assert_says(
            &said(&repo),
            &[&format!("lab applies {directory}: sipgen writes no object for it")],
        );
        for name in names {
            let files = repo.files("overlays/agents/flux");
            assert!(
                files.iter().all(|(_, text)| !text.contains(name)),
                "{path}: not even to depend on: {files:?}"
            );
        }
    }
}

#[test]
fn what_a_kustomization_of_the_repo_lists_and_an_object_applies_gets_none_of_ours() {
    let repo = Repo::of_everything("gitops: flux\n");
    repo.write("top/kustomization.yaml", "resources: [../overlays/clusters/tenant-a/edge]\n");
    repo.write("agent/lab.yaml", &flux("lab", "./top", ""));

    assert_says(
        &said(&repo),
        &[
            "lab applies overlays/clusters/tenant-a/edge: sipgen",
            "--> top/kustomization.yaml:1:13  (where it is listed)",
        ],
    );
    assert!(!has_own(&repo, "flux", "sipgen.services.tenant-a.edge"));
}

#[test]
fn without_an_agent_the_repo_applies_the_output_by_objects_of_its_own() {
    let repo = Repo::of_everything("");
    repo.write("agent/lab.yaml", &flux("lab", "./overlays/clusters/tenant-a/edge", ""));

    assert!(!said(&repo).contains("lab applies"));
}

#[test]
fn observed_hosts_that_an_object_would_make_others_of_are_refused() {
    for (more, said) in [
        (
            "  targetNamespace: foo\n",
            "changes the namespace of 1 host, such as metal/host-1 to `foo`",
        ),
        (
            "  nameSuffix: -foo\n",
            "changes the name of 1 host, such as metal/host-1 to `host-1-foo`",
        ),
        (
            "  patches: [{target: {kind: BareMetalHost}, patch: '- {op: add, path: /spec, value: {online: false}}'}]\n",
            "adds a spec to 1 generated host, such as metal/host-1",
        ),
    ] {
        for path in ["./overlays/hosts/observed/tenant-b.live", "./overlays/hosts/observed"] {
            let repo = Repo::of_everything("");
            repo.write("agent/lab.yaml", &flux("lab", path, more));
            assert_says(&repo.refused(), &[said, "--> agent/lab.yaml:9:"]);
        }
    }
}

/// The objects of sipgen that apply hosts neither force, replace nor prune them.
#[test]
fn an_object_that_changes_how_ours_apply_hosts_is_refused() {
    let patched = |target: &str, patch: &str| {
        flux(
            "root",
            "./overlays/agents/flux",
            &format!("  patches: [{{target: {{{target}}}, patch: '- {patch}'}}]\n"),
        )
    };
    let all = "kind: Kustomization";
    let services = "kind: Kustomization, name: sipgen.services";
    for (target, patch, field) in [
        (all, "{op: add, path: /spec/force, value: true}", Some("spec.force")),
        (all, "{op: replace, path: /spec/prune, value: true}", Some("spec.prune")),
        (all, "{op: add, path: /spec/force, value: false}", None),
        (all, "{op: replace, path: /spec/interval, value: 1m}", None),
        (services, "{op: add, path: /spec/force, value: true}", None),
    ] {
        let repo = of_flux(&patched(target, patch));
        let run = repo.generate(&[]);
        assert_eq!(run.code, i32::from(field.is_some()), "{target} {patch}: {}", run.stderr);
        if let Some(field) = field {
            let says = format!("changes `{field}` of sipgen's object sipgen.");
            assert_says(&run.stderr, &["error[SIP0610]", &says, "--> agent/lab.yaml:"]);
        }
    }
}

#[test]
fn two_objects_that_apply_the_same_hosts_are_refused() {
    for (one, other) in
        [(OVERLAY, OVERLAY), ("./inventory", "./inventory"), (OVERLAY, "./inventory")]
    {
        for settings in ["", "gitops: flux\n"] {
            let repo = declared(settings);
            repo.write("agent/a.yaml", &flux("a", one, ""));
            repo.write("agent/b.yaml", &flux("b", other, ""));
            assert_says(
                &repo.refused(),
                &[
                    "flux-system/b applies",
                    "--> agent/b.yaml:6:9",
                    "--> agent/a.yaml:6:9  (the other one)",
                ],
            );

            repo.write("agent/a.yaml", &flux("a", one, "  suspend: true\n"));
            said(&repo);
        }
    }
}

#[test]
fn an_object_that_applies_all_from_above_the_repo_is_seen() {
    let repo = declared("gitops: flux\nflux: {path: fleet/base}\n");
    for path in ["./", "fleet"] {
        repo.write("agent/lab.yaml", &flux("lab", path, ""));
        assert_says(
            &said(&repo),
            &[
                "applies all that is in the repo's root, overlays included, unless a kustomization.yaml above the repo",
            ],
        );
        assert!(has_own(&repo, "flux", DECLARED));
    }
    repo.write("agent/lab.yaml", &flux("lab", "./other", ""));
    assert!(!said(&repo).contains("warning"));

    let repo = declared(&ARGOCD.replace("fleet.git'", "fleet.git', path: fleet"));
    for (recurse, is_seen) in [(true, true), (false, false)] {
        let source = format!(
            "{{repoURL: 'https://git.example.com/fleet', path: ., directory: {{recurse: {recurse}}}}}"
        );
        repo.write("agent/lab.yaml", &application(&source, "{}"));
        assert_eq!(said(&repo).contains("overlays included"), is_seen);
    }
}

#[test]
fn an_object_that_applies_hosts_is_told_the_path_with_labels() {
    let repo = of_flux(&flux("lab", "./inventory", ""));

    assert_says(&said(&repo), &["write `path: ./overlays/hosts/declared/inventory` there"]);
    assert!(has_own(&repo, "flux", "sipgen.services"));
}

/// A cluster without Dex need not wait for its definitions.
#[test]
fn only_services_that_require_definitions_follow_them() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.write(
        "sites/lab/clusters/plain.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: plain, namespace: tenant-a}\nspec:\n  nodes:\n    \
         Worker: {labelSelector: {}, count: {active: 1}}\n  services:\n    loadBalancerWorker:\n    \
         - {image: \"haproxy:3.0.11\", nodeInterfaceId: oam-ipv4, nodePortRange: {start: 30998, end: 30999}}\n",
    );

    repo.generate(&[]).expect(0);

    let waits =
        |file: &str| repo.read(&format!("overlays/agents/flux/{file}")).contains("sipgen.crds.dex");
    assert!(waits("tenant-a.edge.yaml"));
    assert!(!waits("tenant-a.plain.yaml"));
}

/// An ApplicationSet of Argo CD whose generator is for this repo.
fn application_set(generator: &str, path: &str, spec: &str) -> String {
    const URL: &str = "https://git.example.com/fleet.git";
    let generator = generator.replace("{git: {", &format!("{{git: {{repoURL: '{URL}', "));
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: lab, namespace: argocd}}\nspec:\n  \
         generators: [{generator}]\n  template:\n    metadata: {{name: x}}\n    spec:\n      \
         source: {{repoURL: '{URL}', path: '{path}'}}\n{spec}"
    )
}

#[test]
fn options_by_which_hosts_lose_labels_or_specs_are_refused_for_hosts_of_each_kind() {
    let flux_object = |path: &str, more: &str| flux("lab", &format!("./{path}"), more);
    let argocd_object = |path: &str, more: &str| {
        let source = format!("{{repoURL: 'https://git.example.com/fleet', path: {path}}}");
        application(&source, "{}") + more
    };
    let set_object = |path: &str, more: &str| {
        let generator = format!("{{git: {{directories: [{{path: '{path}'}}]}}}}");
        application_set(
            &generator,
            "{{path}}",
            &more.replace("\n", "\n    ").replacen("  ", "      ", 1),
        )
    };
    let sync = |options: &str| format!("  syncPolicy: {{syncOptions: [{options}]}}\n");
    let ignore = |rule: &str| {
        format!("  ignoreDifferences: [{{group: metal3.io, kind: BareMetalHost, {rule}}}]\n")
    };
    let by_flux = [
        "  force: true\n".to_owned(),
        "  ignore: [{paths: [/metadata/labels]}]\n".to_owned(),
        "  commonMetadata: {annotations: {kustomize.toolkit.fluxcd.io/force: enabled}}\n"
            .to_owned(),
        "  commonMetadata: {labels: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}\n"
            .to_owned(),
    ];
    let by_argocd = [
        sync("Replace=true"),
        sync("Force=true"),
        ignore("jsonPointers: [/metadata/labels]"),
        ignore("managedFieldsManagers: [argocd-controller]"),
    ];
    type MakeObject<'o> = &'o dyn Fn(&str, &str) -> String;
    let cases: [(&str, MakeObject<'_>, &[String]); 3] = [
        ("gitops: flux\n", &flux_object, &by_flux),
        (ARGOCD, &argocd_object, &by_argocd),
        (ARGOCD, &set_object, &by_argocd),
    ];
    for (settings, object, options) in cases {
        let repo = Repo::of_everything(settings);
        repo.write("top/kustomization.yaml", "resources: [../overlays/hosts/observed/released]\n");
        let mut directories = vec![
            "overlays/hosts/declared/sites/lab",
            "overlays/hosts/observed/tenant-b.live",
            "overlays/hosts/observed/released",
            "top",
        ];
        if settings.contains("flux") {
            directories.extend(["overlays/hosts", "overlays/hosts/observed"]);
        }
        for directory in directories {
            for option in options {
                repo.write("agent/lab.yaml", &object(directory, option));
                assert_says(&repo.refused(), &["SIP0625", "--> agent/lab.yaml:"]);
            }
            repo.write("agent/lab.yaml", &object(directory, ""));
            assert!(!said(&repo).contains("SIP0625"), "{directory}");
        }
    }
    // An option for other hosts, and one for a directory that is not written.
    let repo = Repo::of_everything(ARGOCD);
    for (directory, option) in [
        ("tenant-b.live", ignore("name: host-9, jsonPointers: [/metadata/labels]")),
        ("tenant-a.edge", sync("Replace=true")),
    ] {
        let directory = format!("overlays/hosts/observed/{directory}");
        repo.write("agent/lab.yaml", &argocd_object(&directory, &option));
        assert!(!said(&repo).contains("SIP0625"), "{directory}");
    }
}

#[test]
fn two_objects_that_apply_the_same_observed_hosts_are_refused() {
    for (path, other) in [
        ("overlays/hosts/observed/tenant-b.live", "overlays/hosts/observed/tenant-b.live"),
        ("overlays/hosts/observed", "overlays/hosts/observed/released"),
        ("top", "overlays/hosts/observed/released"),
    ] {
        let repo = Repo::of_everything("gitops: flux\n");
        repo.write("top/kustomization.yaml", "resources: [../overlays/hosts/observed/released]\n");
        repo.write("agent/a.yaml", &flux("a", &format!("./{path}"), ""));
        said(&repo);
        repo.write("agent/b.yaml", &flux("b", &format!("./{other}"), ""));
        assert_says(&repo.refused(), &[&format!("b applies {other}, and Flux Kustomization")]);
    }
}

/// Everything that agents apply, except a host that is being given back, before the first run.
fn before_the_first_run(settings: &str) -> Repo {
    let repo = Repo::of_fixture("quickstart");
    repo.want("tenant-b/live", 1);
    repo.observe("");
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fleet, namespace: metal}\n";
    repo.write("own/outputs/fleet/fleet.yaml", object);
    repo.write(
        "sipgen.yaml",
        &format!("{settings}templates: own\noutputs: [{{name: fleet, scope: site}}]\n"),
    );
    repo
}

#[test]
fn a_git_generator_matches_each_directory_of_the_output_that_an_agent_may_apply() {
    let written = before_the_first_run(ARGOCD);
    written.generate(&[]).expect(0);
    let files = written.files("overlays");
    let is_kustomization = |file: &&String| file.ends_with("kustomization.yaml");
    let is_part_of_services =
        |directory: &str| directory.starts_with("clusters/") && directory.split('/').count() > 3;
    let directories =
        files.keys().filter(is_kustomization).map(|file| file.rsplit_once('/').unwrap().0);
    let directories: Vec<&str> = directories
        .filter(|directory| !directory.starts_with("shared/") && !is_part_of_services(directory))
        .chain(["hosts/observed/released"])
        .collect();
    assert!(directories.len() >= 10, "{directories:?}");
    for directory in directories {
        for generator in [
            format!("{{git: {{directories: [{{path: overlays/{directory}}}]}}}}"),
            format!("{{git: {{files: [{{path: overlays/{directory}/kustomization.yaml}}]}}}}"),
        ] {
            let repo = before_the_first_run(ARGOCD);
            repo.write("agent/lab.yaml", &application_set(&generator, "sites/lab", ""));
            for _ in 0..2 {
                assert_says(&said(&repo), &["where 6 declared hosts are rendered without labels"]);
            }
        }
    }
}

#[test]
fn what_a_git_generator_applies_of_the_output_gets_none_of_ours() {
    for (glob, directory) in [
        ("overlays/clusters/*/*", "overlays/clusters/tenant-a/edge"),
        ("overlays/hosts/observed/*", "overlays/hosts/observed/tenant-b.live"),
        ("overlays/crds/*", "overlays/crds/dex"),
        ("overlays/site/*", "overlays/site/fleet"),
    ] {
        for generator in [
            format!("{{list: {{elements: [{{path: {directory}}}]}}}}"),
            format!("{{git: {{directories: [{{path: '{glob}'}}]}}}}"),
            format!("{{git: {{files: [{{path: '{glob}/kustomization.yaml'}}]}}}}"),
        ] {
            let repo = before_the_first_run(ARGOCD);
            repo.write("agent/lab.yaml", &application_set(&generator, "{{path}}", ""));
            for _ in 0..2 {
                let told = said(&repo);
                assert_says(
                    &told,
                    &[&format!("applies {directory}: sipgen writes no object for it")],
                );
                assert_eq!(told.matches("SIP0609").count(), 1, "{told}");
                let own = repo.files("overlays/agents/argocd");
                assert!(!own.values().any(|text| text.contains(directory)), "{directory}: {own:?}");
            }
        }
    }
}

#[test]
fn an_object_for_a_part_of_what_ours_applies_is_told() {
    for service in ["jumphost", "loadbalancer-worker"] {
        let repo = before_the_first_run(ARGOCD);
        let directory = format!("overlays/clusters/tenant-a/edge/{service}");
        let source = format!("{{repoURL: 'https://git.example.com/fleet.git', path: {directory}}}");
        repo.write("agent/part.yaml", &application(&source, "{}"));

        let told = said(&repo);

        let message = format!("applies {directory}: so does sipgen's object of the cluster");
        assert_says(&told, &["SIP0609", &message, "apply the directory of the whole cluster"]);
    }
}

/// Argo CD follows links within the repo, and refuses others.
#[test]
fn an_application_applies_the_target_of_a_link() {
    for (target, is_reported) in
        [("inventory", true), ("./inventory/", true), ("docs", false), ("/nowhere", false)]
    {
        let repo = declared(ARGOCD);
        let source = "{repoURL: 'https://git.example.com/fleet.git', path: sites/current}";
        repo.write(
            "agent/lab.yaml",
            &application(source, "{server: 'https://kubernetes.default.svc'}"),
        );
        repo.write("docs/readme.txt", "");
        let target =
            if target.starts_with('/') { target.to_owned() } else { format!("../{target}") };
        repo.write("sites/readme.txt", "");
        std::os::unix::fs::symlink(&target, repo.path().join("sites/current")).unwrap();
        repo.commit();
        for arguments in [&["--check"][..], &["--check", "--from-index"]] {
            let said = repo.generate(arguments).stderr;
            assert_eq!(said.contains("SIP0618"), is_reported, "{target}: {said}");
        }
    }
}
