//! `sipgen status`: the site at a glance, as text and as JSON.

use serde_json::Value;

use crate::support::{EDGE, Repo, Run, assert_says, edge_with, labels_of, live_host, run};

fn status(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["status"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
}

/// The status of a repo whose input is in order.
#[track_caller]
fn shown(repo: &Repo, arguments: &[&str]) -> String {
    status(repo, arguments).expect(0).stdout
}

#[track_caller]
fn json(repo: &Repo) -> Value {
    serde_json::from_str(&shown(repo, &["--format", "json"])).unwrap()
}

/// A host of a overview.
fn host_of<'a>(overview: &'a Value, name: &str) -> &'a Value {
    let hosts = overview["hosts"].as_array().unwrap();
    hosts
        .iter()
        .find(|host| host["name"] == name)
        .unwrap_or_else(|| panic!("there is no host {name}"))
}

#[test]
fn a_site_is_shown_as_it_stands() {
    insta::assert_snapshot!(shown(&Repo::generated("multi-cluster"), &[]), @"
    24 hosts in 4 racks, by topology.example.com/rack, 3 clusters
    14 assigned, 6 free, 1 failed, 1 in use by others, 1 not ready, 1 being deleted

    clusters
      cluster        role          active  standby  have
      tenant-a/core  ControlPlane       2        1     3
                     Worker             3        1     4
      tenant-a/edge  ControlPlane       1        0     1
                     Worker             2        0     2
      tenant-b/lab   ControlPlane       1        0     1
                     Worker             2        1     3

    spare hosts by selector
      matching  assigned  free  selector
             8         5     0  hardware.example.com/flavor=control-plane with an address in oam-ipv4  (tenant-a/core ControlPlane)
             7         4     0  hardware.example.com/flavor=worker,!hardware.example.com/gpu,hardware.example.com/disk notin (hdd) with an address in oam-ipv4  (tenant-a/core Worker)
             7         4     0  hardware.example.com/flavor in (control-plane),!example.com/lab with an address in oam-ipv4  (tenant-a/edge ControlPlane)
             3         2     1  hardware.example.com/flavor=worker,hardware.example.com/gpu in (a30,l40s) with an address in oam-ipv4  (tenant-a/edge Worker)
             1         1     0  hardware.example.com/flavor=control-plane,example.com/lab  (tenant-b/lab ControlPlane)
             4         3     1  hardware.example.com/flavor=worker,example.com/lab  (tenant-b/lab Worker)

    hardware
      hosts  free  kind
         15     3  unknown
          8     2  64c-256g-x86_64-1ssd
          1     1  64c-256g-x86_64-1hdd

    if all hosts of one topology.example.com/rack are lost
      the worst is a11: quorum lost: tenant-a/core, tenant-a/edge; tenant-a/core ControlPlane lacks 1 host, tenant-a/core Worker lacks 1 host, tenant-a/edge ControlPlane lacks 1 host
      3 of 3 others do harm as well: `sipgen capacity`

    racks
      a3   4 assigned, 1 free, 1 in use by others
      a4   3 assigned, 1 free, 1 failed, 1 not ready
      a11  3 assigned, 2 free, 1 being deleted
      a12  4 assigned, 2 free
    ");
}

#[test]
fn json_and_markdown_have_what_is_short_and_the_worst_loss_of_capacity() {
    let repo = Repo::generated("multi-cluster");
    repo.replace("tenants/tenant-a/edge.yaml", "active: 2", "active: 9");
    let json = |command: &str| -> Value {
        let run = run(&mut repo.sipgen(&[command, "--format", "json"]));
        serde_json::from_str(&run.stdout).unwrap()
    };

    let (status, capacity) = (json("status"), json("capacity"));

    assert_eq!(status["short"], capacity["lacking"]);
    let mut losses = capacity["losses"].as_array().unwrap().iter();
    assert!(losses.any(|loss| *loss == status["worstLoss"]), "{status}");
    assert_eq!(status["worstLoss"]["domain"], "a11");
}

#[test]
fn what_a_first_run_would_do_is_marked() {
    insta::assert_snapshot!(shown(&Repo::of_fixture("observed"), &[]), @"
    8 hosts in 2 racks, by vino.airshipit.org/rack, 1 cluster
    4 assigned (4 added), 3 free, 1 in use by others

    clusters
      cluster    role          active  standby  have
      vino/edge  ControlPlane       1        1     2  2 added
                 Worker             2        0     2  2 added

    spare hosts by selector
      matching  assigned  free  selector
             4         2     2  vino.airshipit.org/flavor=control-plane with an address in management  (vino/edge ControlPlane)
             4         2     1  vino.airshipit.org/flavor=worker with an address in management  (vino/edge Worker)

    hardware
      hosts  free  kind
          8     3  4c-16g-x86_64-2hdd

    if all hosts of one vino.airshipit.org/rack are lost
      the worst is x2: vino/edge ControlPlane lacks 1 host, vino/edge Worker lacks 1 host
      1 of 1 others do harm as well: `sipgen capacity`

    racks
      x1  2 assigned (2 added), 1 free, 1 in use by others
      x2  2 assigned (2 added), 2 free
    ");
}

#[test]
fn a_cluster_is_shown_with_its_services_and_hosts() {
    insta::assert_snapshot!(shown(&Repo::generated("multi-cluster"), &["--cluster", "tenant-a/edge"]), @"
    cluster tenant-a/edge
      role          active  standby  have
      ControlPlane       1        0     1
      Worker             2        0     2
      ControlPlane over topology.example.com/rack: a11 1
      Worker over topology.example.com/rack: a3 1, a4 1

    services
      loadbalancer-controlplane  192.0.2.21:30444
      loadbalancer-worker        192.0.2.21:31080-31081
      loadbalancer-worker2       192.0.2.21:31443
      jumphost                   192.0.2.21:30023
      jumphost2                  192.0.2.21:30024

    hosts
      metal3/a3u14  Worker of tenant-a/edge
      metal3/a4u16  Worker of tenant-a/edge
      metal3/a11u8  ControlPlane of tenant-a/edge

      run `sipgen explain NS/NAME` for the reasons
    ");
}

#[test]
fn a_rack_is_shown_host_by_host() {
    insta::assert_snapshot!(shown(&Repo::generated("multi-cluster"), &["--rack", "a4"]), @"
    rack a4: 3 assigned, 1 free, 1 failed, 1 not ready

    hosts
      metal3/a4u6   unknown               is in the state `inspecting`, neither `available` nor `ready`
      metal3/a4u8   64c-256g-x86_64-1ssd  ControlPlane of tenant-a/core
      metal3/a4u10  64c-256g-x86_64-1ssd  is in an error: Failed to get power state: 401 Unauthorized
      metal3/a4u12  unknown               free
      metal3/a4u14  unknown               Worker of tenant-a/core
      metal3/a4u16  unknown               Worker of tenant-a/edge

      run `sipgen explain NS/NAME` for the reasons
    ");
}

#[test]
fn a_site_without_racks_is_one_group_of_hosts() {
    let repo = Repo::of_hosts(5);
    repo.want("tenant/batch", 2);

    insta::assert_snapshot!(shown(&repo, &[]), @"
    5 hosts, 1 cluster
    2 assigned (2 added), 3 free

    clusters
      cluster       role          active  standby  have
      tenant/batch  Worker             2        0     2  2 added

    spare hosts by selector
      matching  assigned  free  selector
             5         2     3  every host  (tenant/batch Worker)

    no racks: no node set has a topologyKey; choose a label with --by
    ");
}

#[test]
fn only_the_node_set_that_lacks_hosts_is_blamed_for_a_cluster_without_any() {
    let repo = Repo::of_fixture("quickstart");
    let text = repo.read(EDGE);
    let (control_plane, workers) = text.split_at(text.find("Worker").unwrap());
    repo.write(EDGE, &format!("{control_plane}{}", workers.replacen("active: 1", "active: 9", 1)));

    let run = status(&repo, &[]).expect(1);

    let line = |role: &str| {
        run.stdout.lines().find(|line| line.contains(&format!("  {role} "))).unwrap().to_owned()
    };
    assert_says(&line("ControlPlane"), &["2 not placed"]);
    assert_says(&line("Worker"), &["7 missing"]);
}

#[test]
fn hosts_that_a_smaller_cluster_gives_back_are_told_from_free_ones() {
    let repo = Repo::generated("multi-cluster");
    repo.replace("tenants/tenant-b/lab.yaml", "        active: 2\n", "        active: 1\n");

    let text = shown(&repo, &["--cluster", "tenant-b/lab"]);

    assert_says(&text, &["releases 1 host", "released by tenant-b/lab"]);
}

#[test]
fn an_observed_host_is_given_back_until_a_snapshot_shows_it_free() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/batch", 2);
    repo.generate(&[]).expect(0);
    repo.want("tenant/batch", 1);
    repo.generate(&[]).expect(0);

    let given_back = host_of(&json(&repo), "host-2").clone();

    assert_eq!(given_back["state"], "givenBack");
    assert_eq!(given_back["givenBackBy"]["name"], "batch");
    assert_eq!(given_back.get("changes"), None, "an earlier run gave it back");
}

#[test]
fn a_cluster_that_is_gone_is_shown_until_its_files_are_gone() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/batch", 1);
    repo.want("tenant/web", 1);
    repo.generate(&[]).expect(0);
    repo.want_no_more("tenant/web");

    assert_says(&shown(&repo, &[]), &["tenant/web", "gone, releases 1 host"]);
    repo.generate(&[]).expect(0);
    assert!(!shown(&repo, &[]).contains("tenant/web"));
}

#[test]
fn what_is_missing_is_shown_and_the_answer_is_no() {
    let run =
        status(&edge_with("active: 2", "active: 9"), &["--cluster", "tenant-a/edge"]).expect(1);

    assert_says(&run.stdout, &["1 error", "missing", "other hosts"]);
    assert_says(&run.stderr, &["error", EDGE]);
}

#[test]
fn a_cluster_that_cannot_be_read_shows_the_hosts_that_it_keeps() {
    let run = status(&edge_with("active: 2", "active: -2"), &[]).expect(1);

    assert_says(
        &run.stdout,
        &["tenant-a/edge  ControlPlane       ?        ?     2  1 error", "4 assigned, 2 free"],
    );
}

#[test]
fn somebody_elses_hosts_are_not_free() {
    let repo = Repo::empty();
    repo.write(
        "snapshot.yaml",
        &(live_host("host-1", &labels_of("elsewhere/other")) + &live_host("host-2", "")),
    );
    repo.want("tenant/batch", 1);

    let overview = json(&repo);

    assert_eq!(host_of(&overview, "host-1")["state"], "inUse");
    assert_says(host_of(&overview, "host-1")["whyNotFree"].as_str().unwrap(), &["elsewhere/other"]);
    assert_eq!(host_of(&overview, "host-2")["assigned"]["role"], "Worker");
    assert_eq!(overview["spare"][0]["free"], 0);
}

#[test]
fn a_host_that_a_variable_decides_about_is_used_by_nobody() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace("sites/lab/hosts/rack-a.yaml", "redfish+https://203.0.113.11", "${BMC}");
    let overview = json(&repo);

    assert_eq!(host_of(&overview, "lab-a1")["state"], "notReady");
    assert_says(host_of(&overview, "lab-a1")["whyNotFree"].as_str().unwrap(), &["variable"]);
}

#[test]
fn racks_are_the_topology_domains_or_what_the_user_says() {
    let repo = Repo::generated("multi-cluster");

    assert_eq!(json(&repo)["by"], "topology.example.com/rack");
    let by_flavor = shown(&repo, &["--by", "hardware.example.com/flavor"]);
    assert_says(
        &by_flavor,
        &["in 2 racks, by hardware.example.com/flavor", "control-plane", "worker"],
    );
    let unknown = status(&repo, &["--by", "shelf"]).expect(2);
    assert_says(&unknown.stderr, &["no host has the label `shelf`", "topology.example.com/rack"]);
}

#[test]
fn a_key_that_is_every_hosts_own_is_no_rack_and_hosts_without_the_label_are_a_group_of_their_own() {
    let repo = Repo::empty();
    let labels =
        |number: usize| format!("  labels: {{server: s{number}, rack: r{}}}\n", 9 + number % 2);
    let hosts = |number: usize| live_host(&format!("host-{number}"), &labels(number));
    repo.write("hosts.yaml", &((1..=4).map(hosts).collect::<String>() + &live_host("host-5", "")));
    let node_set =
        |key: &str| format!("{{labelSelector: {{}}, topologyKey: {key}, count: {{active: 1}}}}");
    for (name, first, second) in [("a", "server", "server"), ("b", "server", "rack")] {
        let text = format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{namespace: t, name: {name}}}\n\
             spec: {{nodes: {{ControlPlane: {}, Worker: {}}}}}\n",
            node_set(first),
            node_set(second)
        );
        repo.write(&format!("{name}.yaml"), &text);
    }

    let text = shown(&repo, &[]);

    let (_, racks) = text.split_once("\nracks\n").unwrap();
    let rows: Vec<&str> = racks
        .lines()
        .filter(|line| line.starts_with("  r") || line.contains("without rack"))
        .collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(
        rows[0].starts_with("  r9 ")
            && rows[1].starts_with("  r10 ")
            && rows[2].contains("without rack"),
        "{text}"
    );
    assert_says(&shown(&repo, &["--rack", ""]), &["metal/host-5"]);
}

#[test]
fn a_large_site_is_shown_in_part_and_says_what_is_left_out() {
    let repo = Repo::empty();
    let labelled = |number: usize| {
        live_host(&format!("host-{number}"), &format!("  labels: {{rack: r{}}}\n", number / 4))
    };
    repo.write("hosts.yaml", &(0..400).map(labelled).collect::<String>());
    for number in 0..30 {
        let name = format!("tenant/c{number}");
        repo.want(&name, 1);
        repo.replace(
            &format!("clusters/tenant.c{number}.yaml"),
            "labelSelector: {}",
            "labelSelector: {}, topologyKey: rack",
        );
    }
    repo.generate(&[]).expect(0);

    let some = shown(&repo, &[]);
    assert_says(
        &some,
        &[
            "… and 20 more clusters without changes or shortages",
            "  every lost host can be replaced",
            "--all shows the racks, --rack the hosts of one",
        ],
    );
    assert!(some.lines().count() < 30, "{some}");
    let all = shown(&repo, &["--all"]);
    assert!(all.contains("r99") && all.contains("tenant/c29") && !all.contains('…'), "{all}");
}

#[test]
fn a_name_that_the_site_does_not_have_is_a_usage_error() {
    let repo = Repo::generated("quickstart");

    assert_says(
        &status(&repo, &["--cluster", "tenant-a/nowhere"]).expect(2).stderr,
        &["tenant-a/edge"],
    );
    assert_says(&status(&repo, &["--rack", "z9"]).expect(2).stderr, &["unknown rack `z9`"]);
}

#[test]
fn a_rack_whose_name_would_write_lines_stays_on_its_own() {
    let repo = Repo::empty();
    repo.write("hosts.yaml", &live_host("host-1", "  labels: {rack: \"r1\\n\\e[2Jerror: no\"}\n"));
    repo.want("tenant/batch", 1);

    let text = shown(&repo, &["--by", "rack"]);

    assert_says(&text, &["r1\\n\\u{1b}[2Jerror: no"]);
}

#[test]
fn nothing_is_written() {
    let repo = Repo::of_fixture("quickstart");

    shown(&repo, &[]);

    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}
