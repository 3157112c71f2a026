//! `sipgen explain`: why a host is where it is, and what a finding means.

use crate::support::{Repo, Run, assert_says, run};

fn explain(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["explain"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
}

#[test]
fn a_cluster_is_told_host_by_host() {
    let repo = Repo::generated("declared-and-snapshot");

    insta::assert_snapshot!(explain(&repo, &["metal/lab"]).expect(0).stdout, @"
    cluster metal/lab
      ControlPlane: has 1 host of 1
        metal/bay3-left  stays    topology.example.com/bay=bay3
      Worker: has 2 hosts of 2
        metal/bay1-right  stays    topology.example.com/bay=bay1
        metal/bay3-right  stays    topology.example.com/bay=bay3
    ");
}

#[test]
fn a_cluster_that_cannot_be_served_is_told_the_proof() {
    let repo = Repo::generated("multi-cluster");
    repo.replace("tenants/tenant-a/core.yaml", "        active: 3\n", "        active: 9\n");

    insta::assert_snapshot!(explain(&repo, &["tenant-a/core"]).expect(1).stdout, @"
    cluster tenant-a/core
      ControlPlane: has 3 hosts of 3
        metal3/a3u6   stays    topology.example.com/rack=a3
        metal3/a4u8   stays    topology.example.com/rack=a4
        metal3/a11u6  stays    topology.example.com/rack=a11
      Worker: has 4 hosts of 10
        metal3/a3u12   stays    topology.example.com/rack=a3
        metal3/a4u14   stays    topology.example.com/rack=a4
        metal3/a11u14  stays    topology.example.com/rack=a11
        metal3/a12u14  stays    topology.example.com/rack=a12
        the node set has 4 of 10, and 0 more are free
        3 other hosts match, in 3 domains of topology.example.com/rack (a3, a4, a11), 3 of which it already uses
        20 other hosts cannot serve it:
            8 not matching `hardware.example.com/flavor=worker` of the selector (metal3/a3u6, metal3/a3u8, metal3/a4u6, …)
            5 not matching `hardware.example.com/disk notin (hdd)` of the selector (metal3/a3u16, metal3/a4u12, metal3/a11u16, …)
            4 not matching `!hardware.example.com/gpu` of the selector (metal3/a3u14, metal3/a4u16, metal3/a11u10, …)
            1 being deleted (metal3/a11u12)
            1 in an error (metal3/a4u10)
            1 without a network `oam-ipv4` in the network data (metal3/a3u10)
    ");
}

#[test]
fn a_host_is_told_whose_it_is_and_why_not_the_others() {
    let repo = Repo::generated("multi-cluster");

    insta::assert_snapshot!(explain(&repo, &["metal3/a3u6"]).expect(0).stdout, @"
    host metal3/a3u6: ControlPlane of tenant-a/core (stays)
      is declared by a manifest of this repo
      is in the state `available`
      not assigned to
        tenant-a/core Worker        does not match `hardware.example.com/flavor=worker` of the selector
        tenant-a/edge ControlPlane  is assigned to tenant-a/core
        tenant-a/edge Worker        does not match `hardware.example.com/flavor=worker` of the selector
        tenant-b/lab ControlPlane   does not match `example.com/lab` of the selector
        tenant-b/lab Worker         does not match `hardware.example.com/flavor=worker` of the selector
      hardware, from its status
        boot MAC    00:00:5e:00:53:0b
        CPU         64  x86_64  Example CPU 9354
        memory      256 GiB
        NIC         eno1  00:00:5e:00:53:0b  198.51.100.11  0x8086 0x158b  25 Gbit/s  PXE
        disk        /dev/sda  960 GB  SSD  EXAMPLE  EXAMPLE DISK
        system      Example  ES-2000  ES2K00011
        BIOS        Example  2.4.1
        hostname    a3u6
    ");
}

#[test]
fn a_host_that_nobody_has_is_told_why() {
    let repo = Repo::generated("multi-cluster");

    insta::assert_snapshot!(explain(&repo, &["metal3/a3u8"]).expect(0).stdout, @"
    host metal3/a3u8: unassigned
      is declared by a manifest of this repo
      is in the state `available`
      is consumed by Metal3Machine metal3/mgmt-controlplane-7k2vd
      not assigned to
        tenant-a/core ControlPlane  is in use by Metal3Machine metal3/mgmt-controlplane-7k2vd
        tenant-a/core Worker        does not match `hardware.example.com/flavor=worker` of the selector
        tenant-a/edge ControlPlane  is in use by Metal3Machine metal3/mgmt-controlplane-7k2vd
        tenant-a/edge Worker        does not match `hardware.example.com/flavor=worker` of the selector
        tenant-b/lab ControlPlane   does not match `example.com/lab` of the selector
        tenant-b/lab Worker         does not match `hardware.example.com/flavor=worker` of the selector
      hardware, from its status
        boot MAC    00:00:5e:00:53:0c
        CPU         64  x86_64  Example CPU 9354
        memory      256 GiB
        NIC         eno1  00:00:5e:00:53:0c  198.51.100.12  0x8086 0x158b  25 Gbit/s  PXE
        disk        /dev/sda  960 GB  SSD  EXAMPLE  EXAMPLE DISK
        system      Example  ES-2000  ES2K00012
        BIOS        Example  2.4.1
        hostname    a3u8
    ");
}

#[test]
fn programs_get_json() {
    let repo = Repo::generated("multi-cluster");
    repo.replace("tenants/tenant-a/core.yaml", "        active: 3\n", "        active: 9\n");

    let run = explain(&repo, &["tenant-a/core", "--format", "json"]).expect(1);
    let said: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();

    let node_sets = said["cluster"]["nodeSets"].as_array().unwrap();
    let short = node_sets.iter().find(|node_set| !node_set["shortage"].is_null()).unwrap();
    assert_eq!(short["hosts"][0]["how"], "stays");
    assert_eq!(short["shortage"]["topology"][0]["key"], "topology.example.com/rack");
    assert!(
        short["shortage"]["refused"][0]["hosts"].as_array().is_some_and(|hosts| !hosts.is_empty())
    );
}

#[test]
fn a_name_that_nothing_has_is_a_usage_error() {
    let repo = Repo::generated("quickstart");

    let run = explain(&repo, &["tenant-a/nowhere"]).expect(2);

    assert_says(&run.stderr, &["no cluster or host of the repo is called `tenant-a/nowhere`"]);
}

#[test]
fn nothing_is_written() {
    let repo = Repo::of_fixture("quickstart");

    explain(&repo, &["tenant-a/edge"]).expect(0);

    assert!(!repo.exists("overlays"));
}

/// Runs `sipgen explain` outside any repo.
fn explain_code(arguments: &[&str]) -> Run {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sipgen"));
    run(command.current_dir(nowhere.path()).arg("explain").args(arguments))
}

#[test]
fn a_code_is_explained_in_any_case_and_without_a_repo() {
    let said = explain_code(&["SIP0209"]).expect(0).stdout;

    assert_says(&said, &["error[SIP0209]: a field of a SIPCluster has an invalid value\n\n"]);
    assert!(!said.contains("```"), "{said}");
    assert_eq!(explain_code(&["sip0209"]).expect(0).stdout, said);
}

#[test]
fn a_code_is_explained_to_programs() {
    let said = explain_code(&["SIP0308", "--format", "json"]).expect(0).stdout;

    let code: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&code["code"], &code["severity"]), (&"SIP0308".into(), &"warning".into()));
    assert_eq!(code["explanation"], sipgen::base::finding::Code::SameMachine.explanation());
}

#[test]
fn an_unknown_code_is_refused_with_those_near_it() {
    for code in
        ["SIP0210x", "sip9999", "SIP", "SIP-0210", "SIP99999999999999999999", "sip\u{1b}[2J"]
    {
        let run = explain_code(&[code]).expect(2);

        assert_says(
            &run.stderr,
            &["unknown code", "similar codes are SIP0", "`sipgen explain --list` lists all codes"],
        );
    }
    assert_says(&explain_code(&["SIP0210x"]).stderr, &["similar codes are SIP0209, "]);
}

#[test]
fn every_code_is_listed_once() {
    let list = explain_code(&["--list"]).expect(0).stdout;

    let codes: Vec<&str> =
        list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let all: Vec<&str> = sipgen::base::finding::Code::ALL.iter().map(|code| code.id()).collect();
    assert_eq!(codes, all);
    explain_code(&["--list", "SIP0001"]).expect(2);
    explain_code(&[]).expect(2);
}

#[test]
fn a_namespace_that_looks_like_a_code_is_a_namespace() {
    let run = explain(&Repo::of_fixture("quickstart"), &["sip0001/edge"]).expect(2);

    assert_says(&run.stderr, &["no cluster or host of the repo is called `sip0001/edge`"]);
}
