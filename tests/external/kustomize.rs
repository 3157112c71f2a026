//! What is generated, in the hands of the real kustomize, and of Kubernetes by its schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use camino::Utf8Path;
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;
use sipgen::site::Site;
use yaml_serde::Value;

use crate::support::programs::*;
use crate::support::{Repo, documents, fixture_names, kustomize_build, run_tool, text, tool};

#[test]
fn every_object_of_every_build_is_one_that_kubernetes_takes() {
    let directory = tempfile::tempdir().unwrap();
    let mut names = String::new();
    for (number, build) in BUILDS.iter().enumerate() {
        let file = directory.path().join(format!("{number}.yaml"));
        fs::write(&file, format!("# {}\n{}", build.name, build.output)).unwrap();
        names.push_str(&format!("{}\n", file.display()));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut validator = Command::new(root.join("target/tools/venv/bin/python"));
    validator.arg(root.join("tests/tools/validate-manifests")).arg("--many").stdin(Stdio::piped());
    let missing = "target/tools/venv cannot be used; `tests/tools/install` makes it";
    let mut validator = validator
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{missing} ({error})"));
    validator.stdin.take().unwrap().write_all(names.as_bytes()).unwrap();

    let output = validator.wait_with_output().unwrap();

    assert!(output.status.success(), "{}", text(&output.stderr));
    let objects: usize = BUILDS.iter().map(|build| documents(&build.output).len()).sum();
    assert_eq!(text(&output.stdout).trim(), format!("{objects} objects valid"));
}

#[test]
fn what_sipgen_generates_builds_as_planned_by_its_own_check() {
    for fixture in fixture_names() {
        let repo = Repo::of_fixture(&fixture);
        repo.generate(&[]).expect(0);
        // Agents' objects only exist in the second run.
        repo.generate(&[]).expect(0);

        let checked = repo.generate(&["--check", "--build"]).expect(0);

        assert!(checked.stderr.contains("kustomize has made "), "{fixture}: {}", checked.stderr);
    }
}

/// CI scripts of many repos build every `kustomization.yaml`. `BUILDS` are all others.
#[test]
fn every_kustomization_yaml_builds_alone() {
    let mut count = 0;
    for repo in GENERATED.values() {
        for (file, text) in repo.files("") {
            let Some(directory) = file.strip_suffix("kustomization.yaml") else {
                continue;
            };
            // A template is none before it is rendered.
            if file.starts_with("my-templates/") {
                continue;
            }
            let is_component = || documents(&text)[0]["kind"].as_str() == Some("Component");
            let is_build = file.starts_with("overlays/")
                && !file.starts_with("overlays/tenants/")
                && !is_component();
            if !is_build {
                kustomize_build(repo.path().join(directory));
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

/// A pod template that differs in anything ends all sessions.
#[test]
fn one_host_more_leaves_the_deployment_of_a_jump_host_as_it_is() {
    for fixture in ["jump-host", "external-secrets"] {
        let repo = Repo::of_fixture(fixture);
        let (file, more, directory) = match fixture {
            "jump-host" => {
                ("clusters/edge.yaml", "active: 4", "overlays/clusters/depot/edge/jumphost")
            }
            _ => ("tenants/edge.yaml", "active: 4", "overlays/clusters/tenant-a/edge/jumphost"),
        };
        let build = |count: &str| {
            repo.replace(file, "active: 4", count);
            repo.generate(&[]).expect(0);
            let build = kustomize_build(repo.path().join(directory));
            repo.replace(file, count, "active: 4");
            build
        };
        let (before, after) = (build("active: 3"), build(more));

        assert_eq!(object(&before, "Deployment"), object(&after, "Deployment"), "{fixture}");
        let config_maps = |build: &str| -> BTreeMap<String, Value> {
            let objects =
                documents(build).into_iter().filter(|object| object["kind"] == "ConfigMap");
            objects
                .map(|object| (string(&object["metadata"]["name"]), object["data"].clone()))
                .collect()
        };
        let (maps_before, maps_after) = (config_maps(&before), config_maps(&after));
        assert_eq!(maps_before.keys().collect::<Vec<_>>(), maps_after.keys().collect::<Vec<_>>());
        assert_ne!(
            maps_before["jumphost-edge.hosts"], maps_after["jumphost-edge.hosts"],
            "{fixture}"
        );
    }
}

#[test]
fn the_volume_of_homes_is_asked_for_and_no_agent_deletes_it() {
    for (gitops, guards) in [
        ("", &["argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/prune"][..]),
        ("gitops: flux\n", &["kustomize.toolkit.fluxcd.io/prune"]),
        (
            "gitops: argocd\nargocd: {repoURL: https://git.example.com/fleet.git}\n",
            &["argocd.argoproj.io/sync-options"],
        ),
    ] {
        let repo = Repo::of_fixture("jump-host");
        repo.write("sipgen.yaml", &(repo.read("sipgen.yaml") + gitops));
        let homes = "        homes: {volumeClaim: {storageClassName: large, storage: 20Gi}}\n        hostKeys:\n";
        repo.replace("clusters/lab.yaml", "        hostKeys:\n", homes);
        repo.generate(&[]).expect(0);

        let build = kustomize_build(repo.path().join("overlays/clusters/depot/lab/jumphost"));

        let claim = object(&build, "PersistentVolumeClaim");
        assert_eq!(claim["metadata"]["name"], "jumphost-lab.home");
        assert_eq!(claim["spec"]["storageClassName"], "large");
        assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");
        let annotations = claim["metadata"]["annotations"].as_mapping().unwrap();
        assert_eq!(annotations.keys().map(string).collect::<Vec<_>>(), guards, "{gitops}");
        for value in annotations.values() {
            assert!(
                ["disabled", "Prune=false,Delete=false"].contains(&value.as_str().unwrap()),
                "{value:?}"
            );
        }
        let deployment = object(&build, "Deployment");
        // Two pods on two nodes would wait for each other's volume.
        assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
        let volumes = sequence(&deployment["spec"]["template"]["spec"]["volumes"]);
        let home = volumes.iter().find(|volume| volume["name"] == "home").unwrap();
        assert_eq!(home["persistentVolumeClaim"]["claimName"], "jumphost-lab.home");
    }
}

#[test]
fn a_cluster_is_built_from_its_services_as_each_service_is() {
    let mut services = BTreeMap::<&Path, BTreeSet<String>>::new();
    for build in BUILDS.iter().filter(|build| build.name.contains(": clusters/")) {
        let objects = documents(&build.output).into_iter().map(|object| identity(&object));
        services.entry(&build.directory).or_default().extend(objects);
    }
    let mut clusters = 0;
    for (directory, objects) in &services {
        let parts: BTreeSet<String> = services
            .iter()
            .filter(|(service, _)| service.parent() == Some(directory))
            .flat_map(|(_, objects)| objects.clone())
            .collect();
        if !parts.is_empty() {
            assert_eq!(objects, &parts, "{directory:?}");
            clusters += 1;
        }
    }
    assert!(clusters > 5, "{clusters}");
}

/// An object without what labels hosts: its labels and annotations.
fn bare(mut object: Value) -> Value {
    let metadata = object["metadata"].as_mapping_mut().unwrap();
    metadata.remove("labels");
    metadata.remove("annotations");
    object
}

/// The builds of declared hosts, each with what kustomize makes of the directory that it is based on.
fn declared_builds() -> impl Iterator<Item = (&'static Build, String)> {
    let declared = BUILDS.iter().filter(|build| build.name.contains(": hosts/declared/"));
    declared.map(|build| {
        let kustomization = fs::read_to_string(build.directory.join("kustomization.yaml")).unwrap();
        let base = string(&documents(&kustomization)[0]["resources"][0]);
        (build, kustomize_build(build.directory.join(base)))
    })
}

#[test]
fn a_build_of_declared_hosts_has_every_object_of_its_base_as_it_was_but_for_labels_and_annotations()
{
    let mut builds = 0;
    for (build, base) in declared_builds() {
        let by_identity = |text: &str| -> BTreeMap<String, Value> {
            documents(text).into_iter().map(|object| (identity(&object), bare(object))).collect()
        };
        assert_eq!(by_identity(&build.output), by_identity(&base), "{}", build.name);
        builds += 1;
    }
    assert!(builds >= 7, "{builds}");
}

#[test]
fn a_build_of_declared_hosts_keeps_all_labels_and_annotations_of_its_base() {
    let entries = |object: &Value, field: &str| -> BTreeMap<String, String> {
        let entries =
            object["metadata"].get(field).and_then(Value::as_mapping).into_iter().flatten();
        entries.map(|(key, value)| (string(key), string(value))).collect()
    };
    let ours = |key: &str| {
        key.starts_with("sip.airshipit.org/") || key == "argocd.argoproj.io/sync-options"
    };
    for (build, base) in declared_builds() {
        let built: BTreeMap<String, Value> = documents(&build.output)
            .into_iter()
            .map(|object| (identity(&object), object))
            .collect();
        for object in documents(&base) {
            for field in ["labels", "annotations"] {
                let now = entries(&built[&identity(&object)], field);
                for (key, value) in
                    entries(&object, field).into_iter().filter(|(key, _)| !ours(key))
                {
                    assert_eq!(
                        now.get(&key),
                        Some(&value),
                        "{}: {}: {key}",
                        build.name,
                        identity(&object)
                    );
                }
            }
        }
    }
}

#[test]
fn only_hosts_that_clusters_have_and_their_secrets_are_changed_by_a_build_of_declared_hosts() {
    let assigned: BTreeMap<&str, BTreeSet<(String, String)>> =
        GENERATED.iter().map(|(fixture, repo)| (fixture.as_str(), assigned_hosts(repo))).collect();
    let mut guarded = 0;
    for (build, base) in declared_builds() {
        let (fixture, _) = build.name.split_once(": ").unwrap();
        let has_cluster = |object: &Value| {
            object["kind"] == "BareMetalHost"
                && assigned[fixture].contains(&(
                    string(&object["metadata"]["namespace"]),
                    string(&object["metadata"]["name"]),
                ))
        };
        let base: BTreeMap<String, Value> =
            documents(&base).into_iter().map(|object| (identity(&object), object)).collect();
        let (assigned, others): (Vec<Value>, Vec<Value>) =
            documents(&build.output).into_iter().partition(has_cluster);
        let named: Vec<(Value, Value)> = assigned.iter().flat_map(named_secrets).collect();
        for object in others {
            let key = (object["metadata"]["namespace"].clone(), object["metadata"]["name"].clone());
            if object["kind"] == "Secret" && named.contains(&key) {
                let annotations = &object["metadata"]["annotations"];
                assert_eq!(
                    annotations["kustomize.toolkit.fluxcd.io/prune"], "disabled",
                    "{}",
                    build.name
                );
                assert_eq!(
                    annotations["argocd.argoproj.io/sync-options"],
                    "Prune=false,Delete=false"
                );
                guarded += 1;
            } else {
                assert_eq!(object, base[&identity(&object)], "{}", build.name);
            }
        }
    }
    assert!(guarded > 5, "{guarded}");
}

/// The hosts that clusters have, by namespace and name, as sipgen itself tells.
fn assigned_hosts(repo: &Repo) -> BTreeSet<(String, String)> {
    let status = succeed(&mut repo.sipgen(&["status", "--format", "json"]));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let sites = match status["sites"].as_object() {
        Some(sites) => sites.values().collect(),
        None => vec![&status],
    };
    let hosts = sites.into_iter().flat_map(|site| site["hosts"].as_array().unwrap());
    hosts
        .filter(|host| host["assigned"].is_object())
        .map(|host| {
            let text = |field: &str| host[field].as_str().unwrap().to_owned();
            (text("namespace"), text("name"))
        })
        .collect()
}

/// The Secrets that a host names, by namespace and name.
fn named_secrets(host: &Value) -> Vec<(Value, Value)> {
    let spec = &host["spec"];
    let names = [
        spec.get("bmc").and_then(|bmc| bmc.get("credentialsName")),
        spec.get("networkData").and_then(|data| data.get("name")),
    ];
    names
        .into_iter()
        .flatten()
        .map(|name| (host["metadata"]["namespace"].clone(), name.clone()))
        .collect()
}

#[test]
fn a_host_that_is_gone_from_its_manifests_fails_the_build_and_is_not_silently_left_out() {
    let repo = generated("quickstart");
    repo.replace("sites/lab/hosts/rack-a.yaml", "  name: lab-a1\n", "  name: lab-a9\n");

    let output = run_tool(
        tool("kustomize").arg("build").arg(repo.path().join("overlays/hosts/declared/sites/lab")),
    );

    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("lab-a1"), "{}", text(&output.stderr));
}

#[test]
fn a_label_of_the_manifest_that_gives_the_host_to_a_cluster_is_gone_from_the_build_when_the_host_is_given_back()
 {
    let repo = Repo::of_fixture("quickstart");
    let labels = "    sip.airshipit.org/cluster-namespace: tenant-a\n    sip.airshipit.org/cluster-name: edge\n    \
                  sip.airshipit.org/node-type: Worker\n";
    repo.replace(
        "sites/lab/hosts/rack-a.yaml",
        "  name: lab-a2\n  namespace: tenant-a\n  labels:\n",
        &format!("  name: lab-a2\n  namespace: tenant-a\n  labels:\n{labels}"),
    );
    repo.generate(&[]).expect(0);
    let counts = "active: 1\n        standby: 1";
    repo.replace("sites/lab/clusters/edge.yaml", counts, "active: 0\n        standby: 0");
    repo.generate(&[]).expect(0);

    let build = kustomize_build(repo.path().join("overlays/hosts/declared/sites/lab"));

    let host = documents(&build)
        .into_iter()
        .find(|object| object["metadata"]["name"].as_str() == Some("lab-a2"));
    let labels = host.unwrap()["metadata"]["labels"].clone();
    let keys: Vec<String> = labels.as_mapping().unwrap().keys().map(string).collect();
    assert_eq!(keys, ["hardware.example.com/flavor", "topology.example.com/rack"]);
}

// Namespaces: kustomize's and ours

/// The hosts and clusters that sipgen reads in a repo.
fn read_by_sipgen(repo: &Repo) -> BTreeSet<String> {
    let worktree = Files::on_disk(Utf8Path::from_path(repo.path()).unwrap());
    let (site, findings) = Site::read(&worktree, Settings::load(&worktree).unwrap()).unwrap();
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let hosts = site.inventory.hosts.iter().map(|host| format!("BareMetalHost {}", host.key));
    hosts.chain(site.clusters.keys().map(|cluster| format!("SIPCluster {cluster}"))).collect()
}

/// The hosts and clusters that kustomize builds from some directories.
fn built_by_kustomize(repo: &Repo, directories: &[String]) -> BTreeSet<String> {
    let builds = directories.iter().map(|directory| kustomize_build(repo.path().join(directory)));
    let objects: Vec<Value> = builds.flat_map(|build| documents(&build)).collect();
    let ours = ["BareMetalHost", "SIPCluster"];
    objects
        .iter()
        .filter(|object| ours.contains(&object["kind"].as_str().unwrap()))
        .map(identity)
        .collect()
}

#[test]
fn hosts_and_clusters_are_read_with_the_namespaces_that_kustomize_gives_them() {
    for (fixture, roots) in [
        ("kustomize-namespaces", vec!["sites/east", "sites/west"]),
        ("sip-operator", vec!["site"]),
        ("ipv6", vec!["site"]),
    ] {
        let repo = Repo::of_fixture(fixture);
        let roots: Vec<String> = roots.into_iter().map(str::to_owned).collect();
        assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &roots), "{fixture}");
    }
}

fn host(name: &str, namespace: Option<&str>) -> String {
    let namespace =
        namespace.map_or(String::new(), |namespace| format!("  namespace: {namespace}\n"));
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n{namespace}spec:\n  online: true\n"
    )
}

/// An absent namespace is `default` for the plan; an object for local tools is none of the build.
#[test]
fn the_own_check_knows_what_kustomize_leaves_out() {
    let repo = Repo::empty();
    let local = |value: &str| {
        let annotation =
            format!("metadata:\n  annotations: {{config.kubernetes.io/local-config: {value}}}\n");
        host("local", None).replace("metadata:\n", &annotation)
    };
    repo.write("metal/kustomization.yaml", "resources: [a.yaml, local.yaml]\n");
    repo.write("metal/a.yaml", &host("a", None));
    for (value, is_built) in [
        ("\"true\"", false),
        ("\"\"", false),
        ("null", false),
        ("\"false\"", true),
        ("false", true),
    ] {
        repo.write("metal/local.yaml", &local(value));
        repo.want("default/one", if is_built { 2 } else { 1 });
        repo.generate(&[]).expect(0);
        let built = kustomize_build(repo.path().join("overlays/hosts/declared/metal"));
        assert_eq!(built.contains("name: local"), is_built, "{value}");
        let patches = repo.read("overlays/hosts/declared/metal/default.one.yaml");
        assert_eq!(patches.contains("name: \"local\""), is_built, "{value}");
        repo.generate(&["--check", "--build"]).expect(0);
    }
}

/// Three kustomizations, one in the other, and a host in the innermost; each level with a namespace or without.
#[test]
fn in_any_nesting_the_namespace_is_that_of_kustomize() {
    let repo = Repo::empty();
    let mut roots = Vec::new();
    for case in 0..16 {
        let site = format!("site-{case}");
        let namespace = |bit: u32, name: &'static str| (case & (1 << bit) != 0).then_some(name);
        // The ways to write a path, and the names that the file may have, take turns.
        let (to_middle, to_inner) =
            [("middle", "../inner"), ("./middle/", "./../inner/")][case % 2];
        let file = ["kustomization.yaml", "kustomization.yml", "Kustomization"][case % 3];
        let outer = format!("resources:\n  - {to_middle}\n");
        repo.write(
            &format!("{site}/{file}"),
            &kustomization("Kustomization", namespace(0, "outer"), &outer),
        );
        let middle = format!("resources:\n  - {to_inner}\n");
        repo.write(
            &format!("{site}/middle/{file}"),
            &kustomization("Kustomization", namespace(1, "middle"), &middle),
        );
        let inner =
            kustomization("Kustomization", namespace(2, "inner"), "resources:\n  - host.yaml\n");
        repo.write(&format!("{site}/inner/{file}"), &inner);
        repo.write(
            &format!("{site}/inner/host.yaml"),
            &host(&format!("host-{case}"), namespace(3, "own")),
        );
        roots.push(site);
    }

    assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &roots));
}

#[test]
fn a_host_of_a_component_gets_the_namespace_that_kustomize_gives_it() {
    let repo = Repo::empty();
    let mut roots = Vec::new();
    for case in 0..4 {
        let site = format!("site-{case}");
        let namespace = |bit: u32, name: &'static str| (case & (1 << bit) != 0).then_some(name);
        let outer =
            kustomization("Kustomization", namespace(0, "outer"), "components:\n  - component\n");
        repo.write(&format!("{site}/kustomization.yaml"), &outer);
        let component =
            kustomization("Component", namespace(1, "component"), "resources:\n  - host.yaml\n");
        repo.write(&format!("{site}/component/kustomization.yaml"), &component);
        repo.write(
            &format!("{site}/component/host.yaml"),
            &host(&format!("host-{case}"), Some("own")),
        );
        roots.push(site);
    }

    assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &roots));
}

/// A component transforms all that the kustomization has which lists it.
#[test]
fn a_component_gives_its_namespace_to_the_hosts_beside_it_as_in_kustomize() {
    let repo = Repo::empty();
    let lists = "resources:\n  - host.yaml\ncomponents:\n  - component\n";
    repo.write("site/kustomization.yaml", &kustomization("Kustomization", None, lists));
    repo.write("site/host.yaml", &host("host", None));
    repo.write(
        "site/component/kustomization.yaml",
        &kustomization("Component", Some("component"), ""),
    );

    assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &["site".to_owned()]));
}
