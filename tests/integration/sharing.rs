//! Files that clusters share.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::base::layout::cluster_of;
use sipgen::base::tree::Tree;
use sipgen::input::load::Files;
use sipgen::output::render::templates;
use sipgen::{GeneratedSite, Options, generate};

use crate::support::{Repo, assert_says, run};

const CLUSTERS: [&str; 3] = ["one", "two", "three"];

/// A repo with three clusters, each with a Dex that differs in what belongs to a cluster.
fn generated() -> Repo {
    let repo = Repo::of_hosts(3);
    for (index, cluster) in CLUSTERS.iter().enumerate() {
        repo.want(&format!("tenant-{cluster}/{cluster}"), 1);
        let file = format!("clusters/tenant-{cluster}.{cluster}.yaml");
        let request = repo.read(&file);
        let (above, _) = request.split_once("spec:").unwrap();
        let auth = format!(
            "{{image: ghcr.io/dexidp/dex:v2.45.{index}, nodePort: {}, clusterIP: 192.0.2.{index}, caSecret: ca-{cluster}, \
             connectors: [{{type: mockCallback, id: a, name: A}}]}}",
            30500 + index
        );
        repo.write(
            &file,
            &format!(
                "{above}spec:\n  nodes: {{Worker: {{labelSelector: {{}}, count: {{active: 1}}}}}}\n  services:\n    auth: [{auth}]\n"
            ),
        );
    }
    repo.write("sipgen.yaml", "templates: own\n");
    repo.write("own/partials/unused", "");
    repo.generate(&[]).expect(0);
    repo
}

/// The shared directory of each cluster's Dex.
fn referred(repo: &Repo) -> BTreeMap<&'static str, String> {
    CLUSTERS
        .into_iter()
        .map(|cluster| (cluster, repo.shared(&format!("clusters/tenant-{cluster}/{cluster}/auth"))))
        .collect()
}

/// The shared directories of Dex that exist.
fn existing(repo: &Repo) -> BTreeSet<String> {
    let files = repo.files("overlays/shared/auth");
    let hashes = files.keys().map(|path| path.split_once('/').unwrap().0);
    hashes.map(|hash| format!("overlays/shared/auth/{hash}")).collect()
}

/// Changes a template of shared files, as an upgrade of sipgen may.
fn upgrade(repo: &Repo) {
    let template = "auth/shared/deployment.yaml";
    let text = templates::embedded(template).unwrap();
    let upgraded = text.replace("cpu: 50m", "cpu: 60m");
    assert_ne!(text, upgraded);
    repo.write(&format!("own/{template}"), &upgraded);
}

#[test]
fn what_does_not_depend_on_a_cluster_is_written_once() {
    let repo = generated();

    let referred: BTreeSet<String> = referred(&repo).into_values().collect();

    assert_eq!(referred.len(), 1, "{referred:?}");
    assert_eq!(existing(&repo), referred);
}

#[test]
fn a_cluster_of_all_services_has_few_files_and_lines_of_its_own() {
    let repo = Repo::generated("quickstart");
    let texts: Vec<String> = ["overlays/clusters", "overlays/tenants"]
        .into_iter()
        .flat_map(|directory| repo.files(directory).into_values())
        .collect();

    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();

    assert!(texts.len() <= 22 && lines <= 900, "{} files, {lines} lines", texts.len());
}

#[test]
fn an_upgrade_changes_one_line_of_each_cluster() {
    let repo = generated();
    repo.commit();
    let before = referred(&repo);

    upgrade(&repo);
    repo.generate(&[]).expect(0);

    let after = referred(&repo);
    assert_eq!(existing(&repo), after.values().cloned().collect());
    assert_ne!(before["one"], after["one"]);
    let lines = repo.git(&["diff", "--numstat", "--", "overlays/clusters"]);
    let expected: String = ["one", "three", "two"]
        .iter()
        .map(|cluster| {
            format!("1\t1\toverlays/clusters/tenant-{cluster}/{cluster}/auth/kustomization.yaml\n")
        })
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn an_upgrade_of_one_cluster_leaves_the_shared_files_of_others() {
    let repo = generated();
    let before = repo.on_disk("overlays");
    let old = referred(&repo)["one"].clone();

    upgrade(&repo);
    repo.generate(&["--only", "tenant-two/two"]).expect(0);

    let now = referred(&repo);
    assert_eq!((&now["one"], &now["three"]), (&old, &old));
    assert_eq!(existing(&repo), BTreeSet::from([old.clone(), now["two"].clone()]));
    let after = repo.on_disk("overlays");
    let of_others = |path: &String| !path.contains("tenant-two/two/");
    assert!(
        before
            .iter()
            .filter(|(path, _)| of_others(path))
            .all(|(path, file)| after.get(path) == Some(file))
    );

    // Nobody refers to the previous directory after the last one.
    repo.generate(&["--only", "tenant-one/one"]).expect(0);
    assert!(existing(&repo).contains(&old));
    repo.generate(&["--only", "tenant-three/three"]).expect(0);
    assert_eq!(existing(&repo), BTreeSet::from([now["two"].clone()]));
    repo.generate(&["--check"]).expect(0);
}

#[test]
fn a_cluster_with_an_error_keeps_its_shared_files() {
    let repo = generated();
    let old = referred(&repo)["one"].clone();
    upgrade(&repo);
    repo.replace("clusters/tenant-one.one.yaml", "nodePort: 30500,", "nodePort: 1,");

    repo.generate(&["--keep-going"]).expect(1);

    assert_eq!(referred(&repo)["one"], old);
    assert_ne!(referred(&repo)["two"], old);
    assert!(existing(&repo).contains(&old));
}

#[test]
fn the_diff_of_an_upgrade_names_each_cluster_in_a_line() {
    let repo = generated();
    repo.commit();

    upgrade(&repo);
    let run = run(&mut repo.sipgen(&["diff"])).expect(1);

    insta::assert_snapshot!(run.stdout, @"
    ~ tenant-one/one: service auth: configuration; its pods restart
    ~ tenant-three/three: service auth: configuration; its pods restart
    ~ tenant-two/two: service auth: configuration; its pods restart
    3 clusters changed; 3 services changed
    13 files: 5 created, 3 changed, 5 deleted
    ");
}

#[test]
fn a_template_that_names_the_cluster_gives_each_its_own_files() {
    let repo = generated();
    let text = templates::embedded("auth/shared/deployment.yaml").unwrap();
    repo.write("own/auth/shared/deployment.yaml", &format!("# Of {{{{ cluster.name }}}}.\n{text}"));

    repo.generate(&[]).expect(0);

    let referred = referred(&repo);
    for (cluster, directory) in &referred {
        assert_says(
            &repo.read(&format!("{directory}/deployment.yaml")),
            &[&format!("# Of \"{cluster}\".\n")],
        );
    }
    assert_eq!(existing(&repo), referred.into_values().collect());
}

#[test]
fn shared_files_that_no_kustomization_refers_to_are_not_written() {
    let repo = generated();
    repo.write(
        "own/auth/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [service.yaml]\n",
    );
    for component in ["kubeadm", "kubeadm-structured"] {
        repo.write(
            &format!("own/auth/{component}/kustomization.yaml"),
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
        );
    }

    repo.generate(&[]).expect(0);

    assert!(repo.files("overlays/shared").is_empty());
}

#[test]
fn texts_of_clusters_that_are_up_to_date_are_not_held_and_are_part_of_the_output() {
    let repo = generated();
    let files = Files::on_disk(repo.path().to_str().unwrap());
    let written: Tree = repo
        .files("overlays")
        .into_iter()
        .map(|(path, text)| (Utf8PathBuf::from(path).into(), text))
        .collect();
    let of = |cluster: &str| -> BTreeSet<&Utf8Path> {
        let cluster = Some(cluster.parse().unwrap());
        let paths = written.keys().map(|path| &**path);
        paths.filter(|path| cluster_of(path) == cluster).collect()
    };
    let generated = || generate(&files, &Options::default(), &|_| {}).unwrap();
    let held = |run: &GeneratedSite| -> BTreeSet<Utf8PathBuf> {
        let paths = run.tree.keys().map(|path| path.to_path_buf());
        paths.filter(|path| cluster_of(path).is_some()).collect()
    };

    let run = generated();
    assert_eq!(held(&run), BTreeSet::new());
    assert_eq!(run.output(&files).unwrap(), written);

    // A review compares one file with the others of its service, so they are held as well.
    let of_two = of("tenant-two/two");
    let emptied = of_two.iter().find(|path| path.ends_with("config.yaml"));
    repo.write(&format!("overlays/{}", emptied.unwrap()), "");
    let run = generated();
    assert!(of_two.len() > 1);
    assert_eq!(held(&run).iter().map(|path| &**path).collect::<BTreeSet<_>>(), of_two);
    assert_eq!(run.changes.as_ref().unwrap().files.len(), 1);
    assert_eq!(run.output(&files).unwrap(), written);
}

#[test]
fn shared_files_that_somebody_edits_are_restored_and_the_diff_names_those_who_use_them() {
    let repo = generated();
    let file = format!("{}/deployment.yaml", referred(&repo)["one"]);
    let text = repo.read(&file);
    repo.write(&file, &text.replace("cpu: 50m", "cpu: 5m"));

    let run = run(&mut repo.sipgen(&["diff"])).expect(1);

    for cluster in CLUSTERS {
        assert_says(
            &run.stdout,
            &[&format!(
                "~ tenant-{cluster}/{cluster}: service auth: configuration; its pods restart\n"
            )],
        );
    }
    repo.generate(&[]).expect(0);
    assert_eq!(repo.read(&file), text);
}
