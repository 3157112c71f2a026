//! `sipgen what-if`: what it says is what happens.

use std::fs;

use serde_json::Value;

use crate::support::{Repo, Run, assert_says, compare_schema, fixture_names, host, run};

const CORE: &str = "tenants/tenant-a/core.yaml";

fn what_if(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(&[&["what-if"], arguments].concat()))
}

fn json(repo: &Repo, arguments: &[&str]) -> Value {
    let run = what_if(repo, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

/// What `sipgen diff` shows.
fn review(repo: &Repo) -> Value {
    let run = run(&mut repo.sipgen(&["diff", "--keep-going", "--allow-empty", "--format", "json"]));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    document["review"].clone()
}

/// Removes all documents of a host, live or not.
fn remove_host(repo: &Repo, name: &str) {
    for (file, text) in repo.files("") {
        let is_input = !file.starts_with("overlays") && !file.starts_with(".git/");
        if !is_input || !file.ends_with(".yaml") || !text.contains("kind: BareMetalHost") {
            continue;
        }
        // The documents of a manifest, or the items of a snapshot.
        let (between, line) = if text.contains("kind: List") {
            ("\n- ", format!("\n    name: {name}\n"))
        } else {
            ("---\n", format!("\n  name: {name}\n"))
        };
        let is_of_host = |text: &&str| text.contains("kind: BareMetalHost") && text.contains(&line);
        let kept: Vec<&str> = text.split(between).filter(|it| !is_of_host(it)).collect();
        let mut text = kept.join(between);
        // The list's own fields are behind its last item.
        if between == "\n- " && !text.contains("kind: List") {
            text += "\nkind: List\n";
        }
        repo.write(&file, &text);
    }
}

/// The first node set of a site that is no list of machines.
fn scalable(repo: &Repo) -> Option<String> {
    let status = run(&mut repo.sipgen(&["status", "--format", "json"])).stdout;
    let status: Value = serde_json::from_str(&status).ok()?;
    let clusters = status["clusters"].as_array()?.iter();
    let mut scalable = clusters.filter(|cluster| cluster["kind"] != "Provisioning");
    let cluster = scalable.find(|cluster| cluster["nodeSets"][0].is_object())?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let [namespace, name] = ["namespace", "name"].map(|field| text(&cluster[field]));
    let set = &cluster["nodeSets"][0];
    let node_set = text(&set["nodeSet"]).or_else(|| text(&set["role"]))?;
    Some(format!("{}/{}:{node_set}", namespace?, name?))
}

/// Also with overlays that were never generated.
#[test]
fn what_if_of_nothing_changes_nothing() {
    let mut tried = 0;
    for fixture in fixture_names() {
        let repo = Repo::of_fixture(&fixture);
        let Some(node_set) = scalable(&repo) else { continue };
        let nothing = ["--scale", &format!("{node_set}=+0")];
        let run = what_if(&repo, &nothing);
        if run.code == 2 {
            continue; // a fixture with several sites
        }
        tried += 1;
        let answer = json(&repo, &nothing);
        if answer["review"].is_null() {
            continue;
        }
        assert!(
            answer["review"]["clusters"].as_array().unwrap().is_empty(),
            "{fixture}: {}",
            run.stdout
        );
        assert!(answer["review"]["dangers"].as_array().unwrap().is_empty(), "{fixture}");
        assert_eq!(answer["review"]["totals"]["files"]["changed"], 0, "{fixture}");
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "{fixture}");
    }
    assert!(tried > 10, "{tried}");
}

/// Each hypothesis, and the same change of files.
#[test]
fn what_happens_is_what_was_answered() {
    type Change = fn(&Repo);
    let request = "request.yaml";
    let cases: [(&[&str], Change); 8] = [
        (&["--without", "metal3/a3u14"], |repo| remove_host(repo, "a3u14")),
        (&["--without", "metal3/a3u6", "--without", "metal3/a4u8"], |repo| {
            remove_host(repo, "a3u6");
            remove_host(repo, "a4u8");
        }),
        (&["--without", "rack=a3"], |repo| {
            let text = repo.files("inventory/rack-a3");
            let names: Vec<String> = text["hosts.yaml"]
                .lines()
                .filter_map(|line| line.strip_prefix("  name: "))
                .filter(|name| !name.contains('-'))
                .map(str::to_owned)
                .collect();
            assert!(names.len() > 4, "{names:?}");
            names.iter().for_each(|name| remove_host(repo, name));
        }),
        (&["--scale", "tenant-b/lab:Worker=1"], |repo| {
            repo.replace("tenants/tenant-b/lab.yaml", "active: 2", "active: 1");
        }),
        (&["--scale", "tenant-a/edge:worker=+1"], |repo| {
            repo.replace_behind("tenants/tenant-a/edge.yaml", "Worker:", "active: 2", "active: 3");
        }),
        (&["--remove", "tenant-a/core"], |repo| repo.remove(CORE)),
        (&["--cluster", request], |repo| {
            repo.write("tenants/more.yaml", &more("tenant-b/more"));
        }),
        (
            &["--cluster", request, "--remove", "tenant-a/core", "--without", "metal3/a3u12"],
            |repo| {
                repo.write("tenants/more.yaml", &more("tenant-b/more"));
                repo.remove(CORE);
                remove_host(repo, "a3u12");
            },
        ),
    ];
    for (arguments, change) in cases {
        let repo = Repo::generated("multi-cluster");
        fs::write(repo.path().join(".git").join(request), more("tenant-b/more")).unwrap();
        let in_git = format!(".git/{request}");
        let arguments: Vec<&str> =
            arguments.iter().map(|it| if *it == request { in_git.as_str() } else { it }).collect();
        let answer = json(&repo, &arguments);

        change(&repo);

        assert_eq!(
            serde_json::to_string_pretty(&answer["review"]).unwrap(),
            serde_json::to_string_pretty(&review(&repo)).unwrap(),
            "{arguments:?}"
        );
        let served = repo.generate(&["--check"]).stderr;
        assert_eq!(answer["isServed"], !served.contains("error["), "{arguments:?}: {served}");
    }
}

fn more(cluster: &str) -> String {
    let (namespace, name) = cluster.split_once('/').unwrap();
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  \
         nodes:\n    Worker:\n      labelSelector:\n        matchLabels:\n          hardware.example.com/flavor: worker\n      \
         count: {{active: 1, standby: 0}}\n"
    )
}

#[test]
fn bought_hosts_serve_what_could_not_be_served() {
    let repo = Repo::generated("multi-cluster");
    let wanted = ["--scale", "tenant-a/core:Worker=+1"];
    let run = what_if(&repo, &wanted).expect(1);
    assert_says(&run.stdout, &["cannot be served", "tenant-a/core Worker: lacks 1 of 5 hosts"]);
    assert_says(&run.stderr, &["SIP0501", "3 of which it already uses"]);

    let add = [
        "--add",
        "1",
        "--labels",
        "hardware.example.com/flavor=worker",
        "--spread",
        "topology.example.com/rack",
    ];
    let run = what_if(&repo, &[&wanted[..], &add].concat()).expect(0);
    assert_says(&run.stdout, &["+ 1 Worker host: metal3/bought-1"]);

    // In a rack that the node set uses already, it serves nothing.
    let add = [&add[..5], &["topology.example.com/rack=a3,a4"]].concat();
    what_if(&repo, &[&wanted[..], &add].concat()).expect(1);
}

#[test]
fn a_lost_rack_shows_which_control_planes_keep_their_quorum() {
    let repo = Repo::generated("multi-cluster");
    let quorums = |arguments: &[&str]| -> Vec<(String, Value)> {
        let answer = json(&repo, arguments);
        let clusters = answer["clusters"].as_array().unwrap();
        let quorum = |cluster: &Value| {
            let name = cluster["cluster"]["name"].as_str().unwrap().to_owned();
            (name, cluster["controlPlane"].clone())
        };
        clusters.iter().map(quorum).filter(|(_, quorum)| !quorum.is_null()).collect()
    };
    let quorum = |members: usize, left: usize, needed: usize| serde_json::json!({"members": members, "left": left, "needed": needed});
    // One of the three hosts stands by: none is in use.
    assert_eq!(quorums(&["--without", "metal3/a3u6"]), []);
    let two = ["--without", "metal3/a3u6", "--without", "metal3/a4u8"];
    assert_eq!(quorums(&two), [("core".to_owned(), quorum(2, 1, 2))]);
    assert_says(
        &what_if(&repo, &two).stdout,
        &["tenant-a/core  1 of 2 left, 2 needed: quorum lost"],
    );
    assert_eq!(quorums(&["--without", "metal3/a11u8"]), [("edge".to_owned(), quorum(1, 0, 1))]);
    // The same host in use is a member.
    repo.replace_behind(
        "inventory/rack-a3/hosts.yaml",
        "name: a3u6\n",
        "spec:\n",
        "spec:\n  consumerRef: {kind: Metal3Machine, name: core-1, namespace: metal3}\n",
    );
    assert_eq!(quorums(&["--without", "metal3/a3u6"]), [("core".to_owned(), quorum(2, 1, 2))]);
}

#[test]
fn freed_hosts_may_go_to_any_cluster() {
    let repo = Repo::generated("multi-cluster");
    let answer = json(&repo, &["--unassign", "rack", "--remove", "tenant-b/lab"]);
    assert_eq!(answer["isServed"], true);
    let clusters = answer["review"]["clusters"].as_array().unwrap();
    assert!(clusters.iter().any(|it| it["cluster"]["name"] == "lab" && it["state"] == "deleted"));
}

/// A Cluster with one control-plane host, and a MachineDeployment in a site of nine hosts.
fn rollout_repo(replicas: usize, surge: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", "requests: {clusterAPI: {clusters: all}}\n");
    let host = |number: usize| {
        format!(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{number}, namespace: m}}\n\
             spec: {{online: true, bootMACAddress: \"00:00:5e:00:53:0{number}\", bmc: {{address: \
             \"redfish://203.0.113.{number}/redfish/v1/Systems/1\", credentialsName: x}}}}\n"
        )
    };
    repo.write("metal/hosts.yaml", &(1..10).map(host).collect::<Vec<_>>().join("---\n"));
    repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
    let reference = |group: &str, kind: &str, name: &str| {
        format!("{{apiVersion: {group}.cluster.x-k8s.io/v1beta1, kind: {kind}, name: {name}}}")
    };
    let template = |name| reference("infrastructure", "Metal3MachineTemplate", name);
    let control_plane = reference("controlplane", "KubeadmControlPlane", "c");
    let object = |group: &str, kind: &str, name: &str, spec: &str| {
        let spare =
            if kind == "KubeadmControlPlane" { "sip.airshipit.org/spare-hosts: '0'" } else { "" };
        format!(
            "apiVersion: {group}cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: {name}, namespace: m, \
             annotations: {{{spare}}}}}\nspec: {spec}\n"
        )
    };
    let machine_template =
        |name| object("infrastructure.", "Metal3MachineTemplate", name, "{template: {spec: {}}}");
    let objects = [
        object("", "Cluster", "c", &format!("{{controlPlaneRef: {control_plane}}}")),
        object(
            "controlplane.",
            "KubeadmControlPlane",
            "c",
            &format!("{{replicas: 1, machineTemplate: {{infrastructureRef: {}}}}}", template("cp")),
        ),
        machine_template("cp"),
        object(
            "",
            "MachineDeployment",
            "w",
            &format!(
                "{{clusterName: c, replicas: {replicas}, strategy: {{rollingUpdate: {{maxSurge: {surge}}}}}, \
                 template: {{spec: {{clusterName: c, infrastructureRef: {}}}}}}}",
                template("w")
            ),
        ),
        machine_template("w"),
    ];
    repo.write("cluster.yaml", &objects.join("---\n"));
    repo.generate(&[]).expect(0);
    repo
}

#[test]
fn a_scaled_node_set_has_the_hosts_for_rollouts_of_its_new_size() {
    for surge in ["1", "25%"] {
        for before in [0, 2, 4] {
            let repo = rollout_repo(before, surge);
            for after in [0, 1, 5, 7, 8] {
                let answer = json(&repo, &["--scale", &format!("m/c:w={after}")]);
                let request = repo.read("cluster.yaml");
                let (from, to) =
                    (format!("replicas: {before}, s"), format!("replicas: {after}, s"));
                repo.replace("cluster.yaml", &from, &to);
                let what = format!("maxSurge {surge}: {before} to {after}");
                assert_eq!(answer["review"], review(&repo), "{what}");
                let served = repo.generate(&["--check"]).stderr;
                assert_eq!(answer["isServed"], !served.contains("error["), "{what}: {served}");
                repo.write("cluster.yaml", &request);
            }
        }
    }
}

#[test]
fn a_host_that_metal3_has_not_registered_is_not_free_without_its_cluster() {
    for (state, is_free) in [
        ("available", true),
        ("provisioned", true),
        ("provisioning", true),
        ("deprovisioning", true),
        ("externally provisioned", true),
        ("registering", false),
        ("inspecting", false),
        ("preparing", false),
        ("unmanaged", false),
    ] {
        let repo = Repo::empty();
        repo.write(
            "hosts.yaml",
            &format!(
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h, namespace: m, uid: u}}\n\
                 spec: {{online: true, bmc: {{address: \"ipmi://192.0.2.1\", credentialsName: x}}}}\n\
                 status: {{provisioning: {{state: {state}}}, operationalStatus: OK}}\n"
            ),
        );
        repo.write(
            "cluster.yaml",
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: e, namespace: m}\n\
             spec: {nodes: {Worker: {labelSelector: {}, count: {active: 0}}}}\n",
        );
        let answer = json(&repo, &["--unassign", "m/h", "--scale", "m/e:Worker=1"]);
        assert_eq!(answer["isServed"], is_free, "{state}: {answer}");
    }
}

/// Requests know these hosts by their places in the inventory.
#[test]
fn hosts_that_a_provisioning_names_are_the_same_after_a_loss() {
    let repo = Repo::generated("placement-machines");
    let all = ["n2", "n5", "n3", "n1", "n4"].map(|name| format!("metal3/{name}"));
    for count in 1..=all.len() {
        let without = all.iter().take(count).flat_map(|host| ["--without", host]);
        let run = what_if(&repo, &without.collect::<Vec<_>>());
        assert!(run.code < 2, "{}", run.stderr);
    }
    let repo = Repo::generated("provisioning");
    let answer = json(&repo, &["--without", "lab/depot-01"]);
    assert_eq!(answer["isServed"], false, "{answer}");
}

/// No Machine gives it up, so nothing removes its operating system.
#[test]
fn an_unassigned_machine_of_a_provisioning_keeps_its_system() {
    let repo = Repo::generated("provisioning");
    for host in ["lab/depot-01", "lab/depot-07"] {
        let answer = json(&repo, &["--unassign", host]);
        assert_eq!(answer["isServed"], true, "{host}: {answer}");
    }
}

#[test]
fn a_hypothesis_about_nothing_known_is_refused() {
    let repo = Repo::generated("multi-cluster");
    for (arguments, message) in [
        (["--without", "metal3/none"], "the site has no host `metal3/none`"),
        (["--without", "rack=none"], "no host matches `rack=none`"),
        (["--without", "rock=a3"], "no host has the label `rock`; hosts have "),
        (["--without", ""], "it selects every host"),
        (["--without", "a in"], "invalid label selector"),
        (["--unassign", "metal3/none"], "the site has no host `metal3/none`"),
        (["--remove", "tenant-a/none"], "the site has no cluster `tenant-a/none`"),
        (["--scale", "tenant-a/none:Worker=1"], "the site has no cluster `tenant-a/none`"),
        (["--scale", "tenant-a/core:gpu=1"], "no node set `gpu`; it has ControlPlane, Worker"),
        (["--scale", "tenant-a/core:Worker=-9"], "tenant-a/core Worker has only 3 active hosts"),
        (["--scale", "tenant-a/core:Worker=x"], "`x` is no number of hosts"),
        (["--scale", "tenant-a/core:Worker=+-1"], "`+-1` is no number of hosts"),
        (["--scale", "tenant-a/core=1"], "write it as namespace/name:node-set=3"),
        (["--cluster", "none.yaml"], "cannot read --cluster `none.yaml`"),
        (["--cluster", "/dev/null"], "no hosts are requested in /dev/null"),
        (["--add", "0"], "0 is not in 1.."),
        (["--labels", "a=b"], "--add"),
    ] {
        let run = what_if(&repo, &arguments).expect(2);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

/// Whatever builds reach, and for both commands.
#[test]
fn an_additional_request_cannot_have_the_name_of_a_cluster() {
    let repo = Repo::generated("multi-cluster");
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("core.yaml");
    fs::write(&other, repo.read(CORE).replace("active: 3", "active: 1")).unwrap();
    let reached = Repo::generated("multi-cluster");
    reached.write("tenants/tenant-a/kustomization.yaml", "resources: [core.yaml, edge.yaml]\n");
    for repo in [repo, reached] {
        let own = repo.path().join(CORE);
        for file in [other.to_str().unwrap(), own.to_str().unwrap()] {
            for command in ["what-if", "capacity"] {
                let asked = run(&mut repo.sipgen(&[command, "--cluster", file])).expect(2);
                assert_says(&asked.stderr, &["the site has a cluster `tenant-a/core` already"]);
                assert!(!asked.stderr.contains("sources"), "{}", asked.stderr);
            }
        }
    }
}

#[test]
fn its_schema_is_the_documented_one() {
    compare_schema("what-if", &schemars::schema_for!(sipgen::report::WhatIf));
}

#[test]
fn a_host_without_its_namespace_or_with_another_is_suggested() {
    let repo = Repo::of_fixture("multi-cluster");
    for host in ["a3u6", "metal/a3u6"] {
        let said = run(&mut repo.sipgen(&["what-if", "--without", host])).expect(2).stderr;
        assert_says(&said, &["the site has no host ", "did you mean `metal3/a3u6`?"]);
        let said = run(&mut repo.sipgen(&["explain", host])).expect(2).stderr;
        assert_says(&said, &[&format!("called `{host}`; did you mean `metal3/a3u6`?")]);
    }
    for arguments in [
        ["what-if", "--remove", "tenant-a/cor"].as_slice(),
        &["what-if", "--scale", "tenant-b/core:Worker=1"],
        &["capacity", "tenant-b/core"],
        &["explain", "core"],
    ] {
        let said = run(&mut repo.sipgen(arguments)).expect(2).stderr;
        assert_says(&said, &["; did you mean `tenant-a/core`?"]);
    }
    let said = run(&mut repo.sipgen(&["what-if", "--without", "nothing-like-it"])).expect(2).stderr;
    assert_says(&said, &["no host has the label `nothing-like-it`"]);
}

#[test]
fn a_question_without_a_change_says_what_to_ask() {
    let repo = Repo::of_fixture("multi-cluster");
    let said = run(&mut repo.sipgen(&["what-if"])).expect(2).stderr;
    assert_says(
        &said,
        &["no change to plan: pass `--without HOSTS`", "`sipgen what-if --without "],
    );
}

#[test]
fn the_first_line_is_the_verdict() {
    let repo = Repo::generated("quickstart");
    let first = |arguments: &[&str], code: i32| {
        let run = run(&mut repo.sipgen(&[&["what-if"], arguments].concat())).expect(code);
        run.stdout.lines().next().unwrap_or_default().to_owned()
    };
    let grows = ["--scale", "tenant-a/edge:Worker=+9"];
    assert_eq!(first(&grows, 1), "not served: tenant-a/edge");
    assert_eq!(first(&["--without", "rack=a"], 0), "every cluster is served");
}

/// Also if no other request has their selector or their topology key.
#[test]
fn a_removed_request_takes_no_spare_host_and_spreads_nothing() {
    let repo = Repo::of_hosts(0);
    let racks = ["r1", "r1", "r1", "r2", "r1"].into_iter().enumerate();
    let host = |(at, rack)| host(&format!("h{at}"), &format!("  labels: {{rack: {rack}}}\n"));
    repo.write("inventory/hosts.yaml", &racks.map(host).collect::<String>());
    repo.want("metal/a", 1);
    repo.want("metal/b", 1);
    let request = repo.files("").into_iter().find(|(_, text)| text.contains("name: a}"));
    let (file, text) = request.expect("a request");
    let spread = text.replace("labelSelector: {}", "labelSelector: {}, topologyKey: rack");
    assert_ne!(spread, text, "{text}");
    repo.write(&file, &spread);
    repo.generate(&[]).expect(0);
    repo.commit();
    let removed = ["--remove", "metal/a"];
    let spare = &json(&repo, &removed)["spare"];
    assert_eq!((&spare[0]["before"], &spare[0]["after"]), (&3.into(), &3.into()), "{spare}");

    let answer = json(&repo, &[&removed[..], &["--scale", "metal/b:Worker=+1"]].concat());
    repo.remove(&file);
    repo.want("metal/b", 2);
    assert_eq!(answer["review"], review(&repo));
}
