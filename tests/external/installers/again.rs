//! When there is another Job, and when there is not.

use super::{DEPOT, HOSTS, INSTALLER, PLUGINS, built, kud, mounted};
use crate::support::programs::{object, string};
use crate::support::{Repo, kustomize_build};

/// A change of a repo with its name.
type Named<'a> = (&'a str, &'a dyn Fn(&Repo));

/// The Job's name after a run.
#[track_caller]
fn job_name(repo: &Repo) -> String {
    string(&object(&built(repo), "Job")["metadata"]["name"])
}

#[test]
fn every_change_of_what_the_job_does_makes_another_job() {
    let before = job_name(&kud());
    let own = "templates: own\nprovisioning: {installer: kud}\n";
    let template = include_str!("../../../templates/installer/job.yaml");
    let changes: [Named<'_>; 13] = [
        ("an address", &|repo| repo.replace(HOSTS, "ip: 198.51.100.13", "ip: 198.51.100.93")),
        ("a machine", &|repo| repo.replace(DEPOT, "- worker-1:", "- worker-9:")),
        ("a role", &|repo| repo.replace(DEPOT, "  workers:\n", "  workers:\n    - master-2: {}\n")),
        ("a host", &|repo| {
            repo.replace_behind(
                HOSTS,
                "      name: depot-04\n",
                "state: available",
                "state: provisioned",
            );
            repo.replace(DEPOT, "00:00:5e:00:53:03", "00:00:5e:00:53:04");
        }),
        ("the order of plugins", &|repo| {
            repo.replace(DEPOT, "    - onap4k8s\n    - multus\n", "    - multus\n    - onap4k8s\n");
        }),
        ("the network", &|repo| repo.replace(DEPOT, "10.244.64.0/18", "10.244.0.0/16")),
        ("a package", &|repo| repo.replace(DEPOT, "- curl", "- wget")),
        ("a version", &|repo| repo.replace(DEPOT, "1.5+dfsg-1ubuntu0.1", "1.5+dfsg-2")),
        ("the image", &|repo| {
            repo.write("sipgen.yaml", "provisioning: {image: registry.example.com/installer:1}\n")
        }),
        ("the form of the inventory", &|repo| {
            repo.write("sipgen.yaml", "provisioning: {installer: kud, inventory: yaml}\n")
        }),
        ("variables", &|repo| {
            repo.write("sipgen.yaml", "provisioning: {installer: kud, variables: {a: 1}}\n")
        }),
        ("the installer", &|repo| {
            repo.replace(DEPOT, PLUGINS, "");
            repo.write("sipgen.yaml", "");
        }),
        ("the template", &|repo| {
            repo.write("sipgen.yaml", own);
            repo.write(
                "own/installer/job.yaml",
                &template.replace("backoffLimit: 0", "backoffLimit: 1"),
            );
        }),
    ];
    let mut names = vec![before];
    for (what, change) in changes {
        let repo = kud();
        repo.generate(&[]).expect(0);
        change(&repo);
        let name = job_name(&repo);
        assert!(!names.contains(&name), "{what} is changed, and the Job is still {name}");
        names.push(name);
    }
}

#[test]
fn what_changes_nothing_of_the_job_runs_no_installer_again() {
    let before = job_name(&Repo::of_fixture("provisioning"));
    let template = include_str!("../../../templates/installer/job.yaml");
    let changes: [Named<'_>; 5] = [
        ("nothing", &|_| {}),
        ("a comment", &|repo| {
            repo.replace(DEPOT, "  masters:\n", "  # those with much memory\n  masters:\n")
        }),
        ("another cluster", &|repo| repo.remove("clusters/press.yaml")),
        ("the file", &|repo| {
            let text = repo.read(DEPOT);
            repo.remove(DEPOT);
            repo.write("fleet/depot.yaml", &text);
        }),
        ("a template's comments", &|repo| {
            repo.write("sipgen.yaml", "templates: own\n");
            repo.write("own/installer/job.yaml", &format!("# Our own.\n{template}"));
        }),
    ];
    for (what, change) in changes {
        let repo = Repo::generated("provisioning");
        change(&repo);
        assert_eq!(job_name(&repo), before, "only {what} is changed");
    }
}

#[test]
fn a_software_whose_file_or_place_changes_runs_no_installer_again() {
    let repo = Repo::of_fixture("provisioning");
    let software = |name: &str, package: &str| {
        format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {{name: {name}, namespace: lab, labels: \
             {{cluster: depot}}}}\nspec: {{masterSoftware: [{package}]}}\n"
        )
    };
    let (a, b) = (software("a-tools", "zip"), software("b-tools", "bzip2"));
    repo.write("clusters/tools.yaml", &format!("{a}---\n{b}"));
    let before = job_name(&repo);

    repo.write("clusters/tools.yaml", &format!("{b}---\n{a}"));
    assert_eq!(job_name(&repo), before, "only their order in the file is changed");

    repo.write("clusters/tools.yaml", &b);
    repo.write("clusters/zz.yaml", &a);
    assert_eq!(job_name(&repo), before, "only the file of one is changed");
}

#[test]
fn what_a_template_has_beside_its_job_counts_and_its_comments_do_not() {
    let template = include_str!("../../../templates/installer/job.yaml");
    let name = |comment: &str, account: &str| {
        let repo = Repo::generated("provisioning");
        repo.write("sipgen.yaml", "templates: own\n");
        let account =
            format!("apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {account}}}\n");
        repo.write("own/installer/job.yaml", &format!("{comment}---\n{account}---\n{template}"));
        job_name(&repo)
    };
    let plain = name("", "kud");

    assert_eq!(name("# Our own.\n", "kud"), plain);
    assert_ne!(name("", "installer"), plain);
}

#[test]
fn the_name_of_the_job_fits_into_a_label_whatever_the_clusters_name() {
    let long = "edge.".repeat(9) + "e";
    let mut names = Vec::new();
    for cluster in [
        long.clone() + "c",
        long + "d",
        "edge.lab".to_owned(),
        "edge-lab".to_owned(),
        "1".to_owned(),
    ] {
        let repo = Repo::of_fixture("provisioning");
        repo.replace(DEPOT, "cluster: depot", &format!("cluster: \"{cluster}\""));
        repo.generate(&[]).expect(0);

        let build = kustomize_build(repo.path().join("overlays/clusters/lab").join(&cluster));

        let name = string(&object(&build, "Job")["metadata"]["name"]);
        assert!(name.len() <= 63 && !name.contains('.'), "{name}");
        assert!(mounted(&build).contains_key("/inventory/hosts.yaml"));
        names.push(string(
            &object(&build, "Job")["metadata"]["labels"]["app.kubernetes.io/instance"],
        ));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5, "two clusters have one name: {names:?}");
}

#[test]
fn packages_that_are_wanted_no_more_are_gone() {
    let repo = Repo::generated("provisioning");
    let (provisioning, _) =
        repo.read(DEPOT).split_once("---\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    repo.write(DEPOT, &provisioning);

    let files = mounted(&built(&repo));

    let left = ["/inventory/group_vars/all.yml", "/inventory/hosts.yaml"];
    assert_eq!(files.into_keys().collect::<Vec<_>>(), left);
    for file in ["group_vars/kube_node.yml", "packages.yml"] {
        assert!(!repo.exists(&format!("{INSTALLER}/{file}")), "{file}");
    }
}
