//! What is said when the repo's own objects and kustomizations come at hosts that sipgen labels.

use insta::assert_snapshot;

use crate::support::scenes::gitops_wiring::{flux, of_loose_hosts, said};
use crate::support::{Repo, assert_says, host, live_host};

fn application(source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: lab, namespace: argocd}}\nspec:\n  \
         source: {source}\n"
    )
}

/// The quickstart with an object of an agent's.
fn with_object(object: &str) -> Repo {
    let repo = Repo::of_fixture("quickstart");
    repo.write("agent/lab.yaml", object);
    repo
}

const UNLABELLED: &str = "rendered without labels";

#[test]
fn an_object_that_applies_what_an_overlay_is_based_on() {
    let warnings = said(&with_object(&flux("./sites/lab/", "")));

    let (warning, _) = warnings.split_once("\n\n").unwrap();
    assert_snapshot!(warning, @"
    warning[SIP0618]: Flux Kustomization flux-system/lab applies sites/lab, where 6 declared hosts are rendered without labels
      --> agent/lab.yaml:6:9
       |
     6 |   path: ./sites/lab/
       |         ^^^^^^^^^^^^
      help: write `path: ./overlays/hosts/declared/sites/lab` there: it is the same with the labels
    ");
}

#[test]
fn an_object_that_applies_more_than_an_overlay_is_based_on() {
    // Flux takes each kustomization below a directory that is none itself.
    let warnings = said(&with_object(&flux("sites", "")));

    assert_says(
        &warnings,
        &[
            "applies sites, where 6 declared hosts of sites/lab are rendered without labels",
            "set `hosts: {form: component}` in sipgen.yaml and include the component in sites/lab/kustomization.yaml",
        ],
    );
}

#[test]
fn an_object_that_applies_a_part_of_what_an_overlay_is_based_on() {
    let warnings = said(&with_object(&flux("./sites/lab/hosts", "")));

    assert_says(
        &warnings,
        &[
            "applies sites/lab/hosts, where 6 declared hosts of sites/lab are rendered without labels",
            "let one object apply ./overlays/hosts/declared/sites/lab in place of all that apply parts of it; or remove \
             sites/lab/kustomization.yaml",
        ],
    );
}

#[test]
fn objects_of_argo_cd_that_apply_what_an_overlay_is_based_on() {
    let generator = "{git: {repoURL: x, revision: HEAD, directories: [{path: sites/*}, {path: sites/old, exclude: true}]}}";
    let set = |path: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: lab}}\nspec:\n  \
             generators: [{generator}]\n  template:\n    metadata: {{name: x}}\n    spec: {{source: {{path: '{path}'}}}}\n"
        )
    };
    for object in [
        application("{repoURL: x, path: sites/lab}"),
        application(
            "{repoURL: x, chart: y}\n  sources: [{repoURL: z, chart: c}, {repoURL: x, path: ./sites/lab}]",
        ),
        set("{{path}}"),
        set("{{ .path.path }}"),
        set("sites/lab"),
    ] {
        let warnings = said(&with_object(&object));
        assert_says(
            &warnings,
            &[
                UNLABELLED,
                "write `path: overlays/hosts/declared/sites/lab` there",
                "--> agent/lab.yaml:",
            ],
        );
    }
    for object in [set("{{path}}/other"), set("{{name}}"), application("{repoURL: x, path: sites}")]
    {
        assert!(!said(&with_object(&object)).contains("warning"), "{object}");
    }
}

#[test]
fn an_object_that_applies_the_overlay_is_as_it_should_be() {
    for object in [
        flux("./overlays/hosts/declared/sites/lab", ""),
        flux("./overlays/hosts", ""),
        flux("./clusters", ""),
        application("{repoURL: x, path: overlays/hosts/declared/sites/lab}"),
        flux("../elsewhere", ""),
    ] {
        let repo = with_object(&object);
        assert!(!said(&repo).contains("warning"), "{object}");
        assert!(!said(&repo).contains("warning"), "{object}");
    }
}

#[test]
fn hosts_that_an_agent_applies_without_a_kustomization_are_no_observed_ones() {
    assert_snapshot!(of_loose_hosts(&flux("./inventory", "")).refused(), @"
    error[SIP0615]: Flux Kustomization flux-system/lab applies 1 BareMetalHost in files that no kustomization lists, such as metal/host-1: labels applied to them as objects of their own would erase their specs
      --> agent/lab.yaml:6:9
       |
     6 |   path: ./inventory
       |         ^^^^^^^^^^^
      --> inventory/hosts.yaml:5:9  (metal/host-1)
       |
     5 |   name: host-1
       |         ------
      help: Flux takes every YAML file of a directory without kustomization.yaml: write one, with `cd inventory && kustomize create --autodetect --recursive`; if the files are a snapshot, move them out of inventory

    error[SIP0501]: 1 of the 1 Worker hosts of tenant-a/edge cannot be found: 1 host matches its selector, in no build and no snapshot
      --> clusters/tenant-a.edge.yaml:4:44
       |
     4 | spec: {nodes: {Worker: {labelSelector: {}, count: {active: 1}}}}
       |                                            ^^^^^
      help: the node set has 0 of 1, and 0 more are free
            1 other host cannot serve it:
                1 in no build and no snapshot (metal/host-1)

    2 errors in tenant-a/edge: no files written
    ");
    for object in [
        application("{repoURL: x, path: inventory}"),
        application("{repoURL: x, path: ., directory: {recurse: true, include: 'inventory/*'}}"),
    ] {
        assert_says(
            &of_loose_hosts(&object).refused(),
            &["Argo CD's Application argocd/lab applies 1 BareMetalHost"],
        );
    }
}

#[test]
fn hosts_that_no_agent_applies_are_assigned_only_if_they_are_live() {
    for object in [
        flux("./agent", ""),
        application("{repoURL: x, path: .}"),
        application("{repoURL: x, path: inventory, directory: {exclude: 'hosts.*'}}"),
        application("{repoURL: x, path: inventory, directory: {include: '*.json'}}"),
    ] {
        assert_assigned_only_if_live(&of_loose_hosts(&object));
    }
}

#[test]
fn an_overlay_below_the_one_that_an_agent_builds_is_applied_by_nobody() {
    let repo = Repo::of_hosts(1);
    repo.write("inventory/more/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("inventory/more/hosts.yaml", &host("more", ""));
    repo.want("metal/one", 2);
    repo.write("sipgen.yaml", "gitops: flux\n");
    for path in ["./inventory", "./overlays/hosts/declared/inventory", "./overlays/hosts"] {
        repo.write("agent/lab.yaml", &flux(path, ""));
        let unapplied = "warning[SIP0357]: 1 host in inventory/more/kustomization.yaml";
        assert_says(&repo.refused(), &[unapplied, "error[SIP0501]"]);
    }
    let more = flux("./overlays/hosts/declared/inventory/more", "");
    repo.write("agent/more.yaml", &more.replace("name: lab", "name: more"));
    repo.generate(&[]).expect(0);
}

#[test]
fn plugins_in_a_build_of_an_overlay_are_reported_if_flux_makes_it() {
    let overlay = "./overlays/hosts/declared/inventory";
    for (path, fields, is_refused) in [
        ("./all", "generators: [g.yaml]\n", true),
        ("./all", "helmCharts: [{name: x}]\n", true),
        ("./all", "", false),
        (overlay, "generators: [g.yaml]\n", false),
    ] {
        let repo = Repo::of_hosts(1);
        repo.want("metal/one", 1);
        repo.write("sipgen.yaml", "gitops: flux\n");
        repo.write("all/g.yaml", "apiVersion: x/v1\nkind: Bar\nmetadata: {name: x}\n");
        repo.write("all/kustomization.yaml", &format!("resources: [.{overlay}]\n{fields}"));
        repo.write("agent/lab.yaml", &flux(path, ""));

        let told = said(&repo);

        let message = "warning[SIP0622]: Flux cannot build the hosts of all";
        assert_eq!(told.contains(message), is_refused, "{path} {fields}: {told}");
    }
}

#[test]
fn hosts_that_flux_leaves_out_of_its_source_are_assigned_only_if_they_are_live() {
    let repo = of_loose_hosts(&flux("./inventory", ""));
    repo.write(".sourceignore", "# snapshots\n/inventory/hosts.*\n");

    assert_assigned_only_if_live(&repo);
}

#[track_caller]
fn assert_assigned_only_if_live(repo: &Repo) {
    let refused = repo.refused();
    assert_says(
        &refused,
        &[
            "warning[SIP0357]: 1 host cannot be assigned",
            "1 in no build and no snapshot (metal/host-1)",
        ],
    );
    assert!(!refused.contains("SIP0615"), "{refused}");

    repo.write("inventory/hosts.yaml", &live_host("host-1", ""));
    said(repo);
    assert!(repo.exists("overlays/hosts/observed/tenant-a.edge/hosts.yaml"));
}

#[test]
fn an_object_that_applies_the_output_with_everything_around_it_is_refused() {
    let recursive =
        application("{repoURL: 'https://git.example.com/x', path: '', directory: {recurse: true}}");
    for object in [flux("./", ""), flux("overlays", ""), recursive] {
        let repo = with_object(&object);
        repo.write("sipgen.yaml", "argocd: {repoURL: 'https://git.example.com/x.git'}\n");
        let refused = repo.refused();
        assert_says(
            &refused,
            &[
                "overlays included: components, which no agent can build, and hosts twice",
                "--> agent/lab.yaml:",
            ],
        );
    }
}

#[test]
fn an_object_that_applies_the_root_of_another_repo_is_somebody_elses() {
    for object in [
        flux("./", "").replace("name: flux-system}", "name: shop}"),
        application(
            "{repoURL: 'https://git.example.com/shop', path: ., directory: {recurse: true}}",
        ),
    ] {
        assert!(!said(&with_object(&object)).contains("warning"), "{object}");
    }
}

#[test]
fn a_namespace_that_an_agent_gives_to_hosts_is_refused_unless_they_have_it() {
    let give =
        |namespace: &str, path: &str| flux(path, &format!("  targetNamespace: {namespace}\n"));
    for path in ["./sites/lab", "./overlays/hosts/declared/sites/lab"] {
        let refused = with_object(&give("metal", path)).refused();
        assert_says(
            &refused,
            &[
                "changes the namespace of 6 hosts, such as tenant-a/lab-a1 to `metal`",
                "--> agent/lab.yaml:8:20",
            ],
        );
        said(&with_object(&give("tenant-a", path)));
    }
    let object = application("{repoURL: x, path: sites/lab, kustomize: {namespace: metal}}");
    assert_says(&with_object(&object).refused(), &["changes the namespace of 6 hosts"]);
}

#[test]
fn two_objects_of_one_name_are_for_two_base_clusters() {
    let object = |name: &str, directory: &str| {
        flux(&format!("./overlays/hosts/declared/{directory}"), "")
            .replace("{name: lab,", &format!("{{name: {name},"))
    };
    for (other, is_reported) in [("lab", true), ("staging", false)] {
        let repo = Repo::empty();
        repo.write("sipgen.yaml", "gitops: flux\n");
        for (site, name) in [("prod", "h1"), ("staging", "h2")] {
            repo.write(&format!("{site}/hosts.yaml"), &host(name, ""));
            repo.write(&format!("{site}/kustomization.yaml"), "resources: [hosts.yaml]\n");
        }
        repo.write("clusters/prod/k.yaml", &object("lab", "prod"));
        repo.write("clusters/staging/k.yaml", &object(other, "staging"));
        repo.want("metal/e", 1);

        let said = repo.generate(&[]).expect(0).stderr;

        let message = "is there twice, for overlays/hosts/declared/";
        assert_eq!(said.contains(message), is_reported, "{other}: {said}");
    }
}

#[test]
fn hosts_without_a_namespace_are_refused_for_flux() {
    let hosts: String = (1..=2).map(|number| host(&format!("h{number}"), "")).collect();
    for (settings, namespace, is_refused) in [
        ("gitops: flux\n", "", true),
        ("gitops: flux\n", "namespace: metal\n", false),
        ("gitops: argocd\nargocd: {repoURL: 'https://git.example.com/x.git'}\n", "", false),
        ("", "", false),
    ] {
        let repo = Repo::empty();
        repo.write("sipgen.yaml", settings);
        repo.write("h/hosts.yaml", &hosts.replace("  namespace: metal\n", ""));
        repo.write("h/kustomization.yaml", &format!("resources: [hosts.yaml]\n{namespace}"));
        repo.want("default/e", 1);

        let run = repo.generate(&[]).expect(i32::from(is_refused));

        let message =
            "SIP0106]: nothing gives 2 hosts a namespace, so Flux applies nothing of the build";
        assert_eq!(run.stderr.contains(message), is_refused, "{settings}{namespace}{}", run.stderr);
    }
}

// Kustomizations of the repo

#[test]
fn a_kustomization_that_lists_an_overlay_and_its_base_is_refused() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(
        "top/kustomization.yaml",
        "resources: [../sites/lab, ../overlays/hosts/declared/sites/lab]\n",
    );

    assert_says(
        &repo.refused(),
        &[
            "top/kustomization.yaml renders the hosts of sites/lab twice",
            "--> top/kustomization.yaml:1:27",
            "let the agent apply overlays/hosts/declared/top",
        ],
    );
}

#[test]
fn an_overlay_that_its_own_base_lists_is_refused() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(
        "sites/lab/kustomization.yaml",
        "  - hosts/\n",
        "  - hosts/\n  - ../../overlays/hosts/declared/sites/lab\n",
    );

    assert_says(
        &repo.refused(),
        &[
            "is based on sites/lab, which lists it: that is a cycle",
            "--> sites/lab/kustomization.yaml:6:5",
        ],
    );
}

#[test]
fn an_overlay_among_components_and_a_component_among_resources_are_refused() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("top/kustomization.yaml", "components: [../overlays/hosts/declared/sites/lab]\n");
    assert_says(
        &repo.refused(),
        &[
            "is listed as a component, but `hosts.form` is `overlay`",
            "--> top/kustomization.yaml:1:14",
        ],
    );

    repo.write("sipgen.yaml", "hosts: {form: component}\n");
    repo.write("top/kustomization.yaml", "resources: [../overlays/hosts/declared/sites/lab]\n");
    assert_says(
        &repo.refused(),
        &["is listed among the resources, but is a component", "--> top/kustomization.yaml:1:13"],
    );
}

/// The quickstart in component form, with the component in some kustomizations.
fn with_component_in(kustomizations: &[&str]) -> Repo {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "hosts: {form: component}\n");
    for file in kustomizations {
        let up = "../".repeat(file.matches('/').count());
        repo.write(
            file,
            &format!(
                "{}\ncomponents:\n  - {up}overlays/hosts/declared/sites/lab\n",
                repo.read(file)
            ),
        );
    }
    repo
}

/// What the component writes is there when kustomize builds, and not yet when sipgen evaluates.
#[test]
fn a_replacement_may_read_what_the_component_writes() {
    let label = "metadata.labels.[sip.airshipit.org/cluster-name]";
    for (from, to, is_right) in
        [(label, "metadata.labels.tenant", true), ("spec.none", "metadata.labels.tenant", false)]
    {
        let repo = with_component_in(&["sites/lab/kustomization.yaml"]);
        repo.generate(&[]).expect(0);
        let file = "sites/lab/kustomization.yaml";
        let replacement = format!(
            "replacements:\n- source: {{kind: BareMetalHost, name: lab-a1, fieldPath: '{from}'}}\n  targets:\n  \
             - {{select: {{kind: BareMetalHost, name: lab-a1}}, fieldPaths: ['{to}'], options: {{create: true}}}}\n"
        );
        repo.write(file, &(repo.read(file) + &replacement));
        let run = repo.generate(&[]);
        assert_eq!(run.code == 0, is_right, "{from} {to}: {}", run.stderr);
    }
}

#[test]
fn a_component_that_is_included_twice_is_refused() {
    let repo =
        with_component_in(&["sites/lab/kustomization.yaml", "sites/lab/hosts/kustomization.yaml"]);

    assert_says(
        &repo.refused(),
        &[
            "overlays/hosts/declared/sites/lab is included twice",
            "--> sites/lab/hosts/kustomization.yaml:10:5",
            "--> sites/lab/kustomization.yaml:9:5  (the other line)",
        ],
    );
}

#[test]
fn a_component_where_hosts_are_out_of_reach_is_refused() {
    let repo = with_component_in(&[]);
    repo.replace("sites/lab/hosts/kustomization.yaml", "  - rack-c.yaml", "");
    repo.replace("sites/lab/kustomization.yaml", "  - hosts/\n", "  - hosts/\n  - rack-c/\n");
    repo.write("sites/lab/rack-c/hosts.yaml", &repo.read("sites/lab/hosts/rack-c.yaml"));
    repo.remove("sites/lab/hosts/rack-c.yaml");
    repo.write("sites/lab/rack-c/kustomization.yaml", "resources: [hosts.yaml]\n");
    let file = "sites/lab/hosts/kustomization.yaml";
    repo.write(
        file,
        &(repo.read(file) + "\ncomponents:\n  - ../../../overlays/hosts/declared/sites/lab\n"),
    );

    assert_says(
        &repo.refused(),
        &[
            "is included where 2 hosts that it patches are missing: tenant-a/lab-c1, tenant-a/lab-c2",
            "help: move the line: add it to sites/lab/kustomization.yaml:",
            "  - ../../overlays/hosts/declared/sites/lab",
        ],
    );
}

#[test]
fn a_component_before_the_one_with_its_hosts_moves_to_the_end() {
    let repo = with_component_in(&[]);
    repo.replace("sites/lab/hosts/kustomization.yaml", "  - rack-c.yaml", "");
    repo.write("sites/lab/rack-c/hosts.yaml", &repo.read("sites/lab/hosts/rack-c.yaml"));
    repo.remove("sites/lab/hosts/rack-c.yaml");
    repo.write(
        "sites/lab/rack-c/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [hosts.yaml]\n",
    );
    let file = "sites/lab/kustomization.yaml";
    let ours = "  - ../../overlays/hosts/declared/sites/lab\n";
    let text = repo.read(file);
    repo.write(file, &format!("{text}\ncomponents:\n{ours}  - rack-c\n"));

    assert_says(
        &repo.refused(),
        &["2 hosts that it patches are missing", "help: move the line to the end of `components`"],
    );
    repo.write(file, &format!("{text}\ncomponents:\n  - rack-c\n{ours}"));
    repo.generate(&[]).expect(0);
}

#[test]
fn an_agent_that_applies_a_component_or_stays_below_it_is_told_so() {
    let repo = with_component_in(&["sites/lab/kustomization.yaml"]);
    repo.write("agent/lab.yaml", &flux("overlays/hosts/declared/sites/lab", ""));
    assert_says(
        &repo.refused(),
        &["which is a component now and has no hosts of its own", "--> agent/lab.yaml:6:9"],
    );

    repo.write("agent/lab.yaml", &flux("sites/lab/hosts", ""));
    assert_says(
        &said(&repo),
        &[UNLABELLED, "let it apply sites/lab, which includes the component"],
    );

    repo.write("agent/lab.yaml", &flux("sites/lab", ""));
    assert!(!said(&repo).contains("warning"));
}
