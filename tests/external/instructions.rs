//! Instructions of a debug build, counted by valgrind: a change that makes sipgen slower is noticed on any machine,
//! however busy.

use std::fs;
use std::process::Command;

use crate::support::{Repo, run_tool};
use crate::synthetic::{Layout, Scale, write_site};

/// Millions of instructions of a check of 200 hosts with 10 clusters.
const MILLIONS: u64 = 920;

/// The share of the closing check in the instructions of a first generation, in percent.
const MAX_SHARE_OF_CLOSING_CHECK: u64 = 15;

/// Counts the instructions of sipgen in a repo; with `within`, only those of a function.
fn instructions(repo: &Repo, arguments: &[&str], within: Option<&str>) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.args(within.map(|name| format!("--toggle-collect={name}")));
    // Threads that wait for work would count, too.
    valgrind
        .arg(env!("CARGO_BIN_EXE_sipgen"))
        .args(arguments)
        .arg("--repo")
        .arg(repo.path())
        .env("RAYON_NUM_THREADS", "1");
    let output = run_tool(&mut valgrind);
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse::<u64>().ok())
        .unwrap_or_else(|| panic!("valgrind said: {said}"))
}

#[test]
fn a_check_takes_no_more_instructions_than_before() {
    let repo = Repo::empty();
    let scale = Scale { hosts: 200, clusters: 10 };
    write_site(&repo.path().join("site"), scale, Layout::FilePerRack).unwrap();
    repo.generate(&[]).expect(0);
    let millions = instructions(&repo, &["generate", "--check"], None) / 1_000_000;
    assert!(
        (MILLIONS * 9 / 10..=MILLIONS * 11 / 10).contains(&millions),
        "{millions} million instructions instead of {MILLIONS}: if there is a good reason, such as a new compiler or a \
         gain, write the new number here; otherwise see `cargo bench --bench site -- --instructions`"
    );
}

#[test]
fn the_closing_check_is_a_small_part_of_a_first_generation() {
    let repo = Repo::empty();
    let scale = Scale { hosts: 80, clusters: 4 };
    write_site(&repo.path().join("site"), scale, Layout::FilePerRack).unwrap();
    let mut resources = String::from("resources:\n");
    for entry in fs::read_dir(repo.path().join("site/inventory")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, declared(&text)).unwrap();
        resources += &format!("- {}\n", path.file_name().unwrap().display());
    }
    repo.write("site/inventory/kustomization.yaml", &resources);
    repo.generate(&[]).expect(0);
    assert!(repo.exists("overlays/hosts/declared/site/inventory/metal3.c0000.yaml"));
    let all_and_share = [None, Some("*closing_check::check")].map(|within| {
        fs::remove_dir_all(repo.path().join("overlays")).unwrap();
        instructions(&repo, &["generate"], within)
    });
    let [all, share] = all_and_share;
    let percent = share * 100 / all;
    assert!((1..=MAX_SHARE_OF_CLOSING_CHECK).contains(&percent), "{percent} % of {all}");
}

/// Removes what only live objects have.
fn declared(inventory: &str) -> String {
    let is_live = |line: &&str| {
        let live = ["finalizers:", "creationTimestamp:", "generation:", "resourceVersion:", "uid:"];
        let field = line.strip_prefix("    ");
        field.is_some_and(|field| live.iter().any(|live| field.starts_with(live)))
            || *line == "    - baremetalhost.metal3.io"
    };
    let mut is_status = false;
    let lines = inventory.lines().filter(|line| {
        is_status = *line == "  status:" || is_status && line.starts_with("    ");
        !is_status
    });
    lines.filter(|line| !is_live(line)).map(|line| format!("{line}\n")).collect()
}
