//! Wiring sipgen's output into repos as fleets have them: what an agent applies from the top is what it was, and hosts
//! have labels.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::support::programs::{identity, string};
use crate::support::{Repo, assert_says, documents, is_labelled, kustomize_build};

/// What `kustomize build` of a directory of the repo gives.
fn built(repo: &Repo, directory: &str) -> String {
    kustomize_build(repo.path().join(directory))
}

/// Objects by identity, each as its text.
fn objects(build: &str) -> BTreeMap<String, String> {
    let texts = build.split("\n---\n").map(str::trim_end);
    texts.map(|text| (identity(&documents(text)[0]), text.to_owned())).collect()
}

/// An object without the labels and annotations of an assigned host, and without what is empty then.
fn without_assignment(text: &str) -> Value {
    let mut object = documents(text).remove(0);
    let metadata = object["metadata"].as_mapping_mut().unwrap();
    for field in ["labels", "annotations"] {
        let Some(entries) = metadata.get_mut(field).and_then(Value::as_mapping_mut) else {
            continue;
        };
        let ours = |key: &str| {
            key.starts_with("sip.airshipit.org/")
                || key == "kustomize.toolkit.fluxcd.io/prune"
                || key == "argocd.argoproj.io/sync-options"
        };
        entries.retain(|key, _| !ours(key.as_str().unwrap()));
        if entries.is_empty() {
            metadata.remove(field);
        }
    }
    object
}

/// Asserts that two builds differ in the labels and annotations of these hosts, and in nothing else.
#[track_caller]
fn assert_only_labelled(before: &str, after: &str, hosts: &[&str]) {
    let (before, after) = (objects(before), objects(after));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    let mut labelled = Vec::new();
    for (identity, text) in &after {
        let object = &documents(text)[0];
        if is_labelled(object) {
            labelled.push(identity.strip_prefix("BareMetalHost ").unwrap());
            assert_eq!(without_assignment(text), documents(&before[identity])[0], "{identity}");
        } else {
            assert_eq!(text, &before[identity], "{identity}");
        }
    }
    assert_eq!(labelled, hosts);
}

/// Adds a line as a finding says it: the file it names, and the lines below.
fn add_as_said(repo: &Repo, said: &str) {
    let (_, help) = said.split_once("help: add it to ").unwrap();
    let mut lines = help.lines();
    let file = lines.next().unwrap().trim_end_matches(':');
    let block: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let block: String =
        block.iter().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap())).collect();
    repo.write(file, &(repo.read(file) + &block));
}

fn said(repo: &Repo) -> String {
    repo.generate(&[]).expect(0).stderr
}

/// Asserts that the only warnings are about hosts that Cluster API cannot claim: hosts of these layouts are in namespaces of
/// their own.
#[track_caller]
fn assert_no_warning_but_of_namespaces(said: &str) {
    let mut warnings = said.lines().filter(|line| line.starts_with("warning"));
    assert!(warnings.all(|line| line.starts_with("warning[SIP0522]")), "{said}");
}

#[test]
fn in_a_flux_monorepo_one_line_labels_the_hosts_and_changes_nothing_else() {
    let repo = Repo::of_fixture("layout-flux-monorepo");
    let tops = ["clusters/base/flux-system", "apps/base", "infrastructure"];
    let before = tops.map(|top| built(&repo, top));

    add_as_said(&repo, &said(&repo));
    let after_wiring = said(&repo);

    let after = tops.map(|top| built(&repo, top));
    assert_eq!(before[..2], after[..2]);
    assert_only_labelled(&before[2], &after[2], &["metal/r1u10", "metal/r1u12"]);
    assert_no_warning_but_of_namespaces(&after_wiring);
    assert!(after_wiring.contains("no file changes"), "{after_wiring}");
}

#[test]
fn in_a_repo_of_site_directories_each_object_applies_an_overlay_in_place_of_its_site() {
    let repo = Repo::of_fixture("layout-site-directories");
    let warnings = said(&repo);

    for site in ["east", "west"] {
        // The repo is the directory `fleet` of the source.
        let path = format!("path: ./fleet/overlays/hosts/declared/sites/{site}");
        assert!(warnings.contains(&format!("write `{path}` there")), "{warnings}");
        repo.replace(&format!("flux/{site}.yaml"), &format!("path: ./fleet/sites/{site}"), &path);
    }
    let after_wiring = said(&repo);

    for site in ["east", "west"] {
        let object = &documents(&repo.read(&format!("flux/{site}.yaml")))[0];
        let top = string(&object["spec"]["path"]);
        let after = built(&repo, top.strip_prefix("./fleet/").unwrap());
        let hosts = [format!("{site}/node-1"), format!("{site}/node-2")];
        assert_only_labelled(
            &built(&repo, &format!("sites/{site}")),
            &after,
            &hosts.each_ref().map(String::as_str),
        );
    }
    assert!(!after_wiring.contains("warning"), "{after_wiring}");
    assert!(after_wiring.contains("no file changes"), "{after_wiring}");
}

#[test]
fn in_an_app_of_apps_one_line_labels_the_hosts_and_changes_nothing_else() {
    let repo = Repo::of_fixture("layout-argocd-app-of-apps");
    let tops = ["root", "manifests/machines"];
    let before = tops.map(|top| built(&repo, top));

    add_as_said(&repo, &said(&repo));
    let after_wiring = said(&repo);

    let after = tops.map(|top| built(&repo, top));
    assert_eq!(before[0], after[0]);
    assert_only_labelled(&before[1], &after[1], &["tenant-a/m1", "tenant-a/m2", "tenant-a/m3"]);
    assert!(!after_wiring.contains("warning"), "{after_wiring}");
}

#[test]
fn when_the_last_cluster_is_gone_the_line_still_builds_and_the_hosts_are_as_they_were() {
    let repo = Repo::of_fixture("layout-flux-monorepo");
    let before = built(&repo, "infrastructure");
    add_as_said(&repo, &said(&repo));
    said(&repo);

    repo.remove("apps/base/tenant-a.yaml");
    repo.replace("apps/base/kustomization.yaml", "  - tenant-a.yaml\n", "");
    repo.generate(&["--allow-empty"]).expect(0);

    assert_eq!(built(&repo, "infrastructure"), before);
    assert_eq!(repo.hosts_of("tenant-a", "edge"), [""; 0]);
}

const SETTINGS: &str = "sipgen.yaml";
const MACHINES: &str = "infrastructure/machines/kustomization.yaml";
const TOP: &str = "infrastructure/kustomization.yaml";

/// The Flux monorepo, wired, with the cluster on hosts that would not be chosen anew: the memory alone puts it there.
fn wired_and_remembered() -> Repo {
    let repo = Repo::of_fixture("layout-flux-monorepo");
    add_as_said(&repo, &said(&repo));
    let patches = "overlays/hosts/declared/infrastructure/tenant-a.edge.yaml";
    repo.replace(patches, "r1u10", "r2u10");
    repo.replace(patches, "r1u12", "r2u12");
    let run = repo.generate(&[]).expect(0);
    assert!(run.stderr.contains("0 added, 0 released"), "{}", run.stderr);
    assert_only_remembered(&repo, "infrastructure");
    repo
}

#[track_caller]
fn assert_only_remembered(repo: &Repo, top: &str) {
    let labelled: Vec<String> = documents(&built(repo, top))
        .iter()
        .filter(|object| is_labelled(object))
        .map(identity)
        .collect();
    assert_eq!(labelled, ["BareMetalHost metal/r2u10", "BareMetalHost metal/r2u12"]);
}

#[test]
fn a_component_remembers_hosts_whatever_namespace_its_patches_have() {
    let repo = wired_and_remembered();
    let before = repo.on_disk("overlays");

    let run = repo.generate(&["--check"]).expect(0);

    assert!(run.stderr.contains("no file changes"), "{}", run.stderr);
    assert_eq!(repo.on_disk("overlays"), before);
}

#[test]
fn hosts_stay_when_the_form_changes_from_component_to_overlay_and_back() {
    let repo = wired_and_remembered();
    let line = "components:\n  - ../../overlays/hosts/declared/infrastructure\n";
    repo.replace(MACHINES, line, "");
    repo.replace(SETTINGS, "form: component", "form: overlay");
    let to_overlay = repo.generate(&[]).expect(0).stderr;
    assert!(to_overlay.contains("0 added, 0 released"), "{to_overlay}");
    assert_only_remembered(&repo, "overlays/hosts/declared/infrastructure");

    repo.replace(SETTINGS, "form: overlay", "form: component");
    repo.write(MACHINES, &(repo.read(MACHINES) + line));
    let back = repo.generate(&[]).expect(0).stderr;

    assert!(back.contains("0 added, 0 released"), "{back}");
    assert_only_remembered(&repo, "infrastructure");
}

#[test]
fn hosts_stay_when_another_kustomization_includes_the_component() {
    let repo = wired_and_remembered();
    repo.replace(MACHINES, "components:\n  - ../../overlays/hosts/declared/infrastructure\n", "");
    repo.write(
        TOP,
        &(repo.read(TOP) + "components:\n  - ../overlays/hosts/declared/infrastructure\n"),
    );

    let run = repo.generate(&[]).expect(0);

    assert!(run.stderr.contains("0 added, 0 released"), "{}", run.stderr);
    assert_only_remembered(&repo, "infrastructure");
}

#[test]
fn hosts_stay_when_a_namespace_below_the_component_changes_without_changing_theirs() {
    let repo = wired_and_remembered();
    let rack = "infrastructure/machines/rack-2/kustomization.yaml";
    repo.write(rack, &(repo.read(rack) + "namespace: rack-2\n"));

    let run = repo.generate(&[]).expect(0);

    assert!(run.stderr.contains("0 added, 0 released"), "{}", run.stderr);
    assert_only_remembered(&repo, "infrastructure");
}

/// A kustomization may be the repo's root: a component needs no place outside of its build, as an overlay does.
#[test]
fn a_component_serves_a_repo_whose_root_is_the_kustomization() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant-a/edge", 1);
    repo.write("kustomization.yaml", "namespace: machines\nresources: [inventory]\n");
    repo.write(SETTINGS, "hosts: {form: component}\n");
    let before = built(&repo, "");

    // Where a list is there already, it is the list that grows.
    let warning = said(&repo);
    assert!(warning.contains("- ../overlays/hosts/declared\n"), "{warning}");
    repo.write(
        "kustomization.yaml",
        &(repo.read("kustomization.yaml") + "components: [overlays/hosts/declared]\n"),
    );
    said(&repo);

    assert_only_labelled(&before, &built(&repo, ""), &["machines/host-1"]);
}

/// A component that comes earlier gives a namespace; one that comes later is not there yet.
#[test]
fn a_component_finds_hosts_as_the_components_before_it_left_them() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant-a/edge", 2);
    repo.write(SETTINGS, "hosts: {form: component}\n");
    let other = |namespace| {
        format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: {namespace}\n"
        )
    };
    repo.write("first/kustomization.yaml", &other("first"));
    repo.write("last/kustomization.yaml", &other("last"));
    let lists = "resources: [hosts.yaml]\ncomponents:\n  - ../first\n  - ../overlays/hosts/declared/inventory\n  - ../last\n";
    repo.write("inventory/kustomization.yaml", lists);

    let run = said(&repo);

    assert_no_warning_but_of_namespaces(&run);
    let labelled = documents(&built(&repo, "inventory"));
    assert!(labelled.iter().all(is_labelled));
    assert!(
        repo.read("overlays/hosts/declared/inventory/tenant-a.edge.yaml")
            .contains("namespace: \"first\"")
    );
}

#[test]
fn a_cluster_that_is_left_as_it_is_keeps_the_form_of_its_patches() {
    let repo = wired_and_remembered();
    repo.replace(MACHINES, "components:\n  - ../../overlays/hosts/declared/infrastructure\n", "");
    repo.replace(SETTINGS, "form: component", "form: overlay");
    repo.replace("apps/base/tenant-a.yaml", "active: 1", "active: one");

    let run = repo.generate(&["--keep-going"]).expect(1);

    assert_says(
        &run.stderr,
        &["the patch of tenant-a/edge, which stays unchanged, would no longer match metal/r2u10"],
    );
    assert!(run.stderr.contains("no files written"), "{}", run.stderr);
}

/// Three kustomizations, one in the other, and two hosts in the innermost, one with a namespace of its own; each level
/// with a namespace or without, and the component at each of the levels.
#[test]
fn at_any_level_of_any_nesting_kustomize_finds_the_hosts_of_the_component() {
    let repo = Repo::empty();
    let mut tops = Vec::new();
    for case in 0..24 {
        let site = format!("site-{case}");
        let (level, namespaces) = (case / 8, case % 8);
        let level_of = |number: u32, directory: &str, resource: &str| {
            let mut text = format!("resources: [{resource}]\n");
            if namespaces & (1 << number) != 0 {
                text.push_str(&format!("namespace: level-{number}-{case}\n"));
            }
            if level == number {
                let up = "../".repeat(directory.split('/').count());
                text.push_str(&format!("components: [{up}overlays/hosts/declared/{site}]\n"));
            }
            repo.write(&format!("{directory}/kustomization.yaml"), &text);
        };
        level_of(0, &site, "middle");
        level_of(1, &format!("{site}/middle"), "inner");
        level_of(2, &format!("{site}/middle/inner"), "hosts.yaml");
        let host = |name: &str, namespace: &str| {
            format!(
                "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}{namespace}}}\nspec: {{online: true}}\n"
            )
        };
        let hosts =
            host(&format!("bare-{case}"), "") + &host(&format!("own-{case}"), ", namespace: own");
        repo.write(&format!("{site}/middle/inner/hosts.yaml"), &hosts);
        tops.push(site);
    }
    repo.write(SETTINGS, "hosts: {form: component}\n");
    repo.want("tenant-a/edge", 48);

    let said = said(&repo);

    assert_no_warning_but_of_namespaces(&said);
    for top in tops {
        let objects = documents(&built(&repo, &top));
        assert_eq!(objects.len(), 2, "{top}");
        assert!(objects.iter().all(is_labelled), "{top}");
    }
}
