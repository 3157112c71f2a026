//! The instructions of a check of an unchanged site, counted by valgrind: a change that makes sipgen slower is noticed
//! on any machine, however busy.

use std::process::Command;

use crate::support::{Repo, run_tool};
use crate::synthetic::{Layout, Scale, write_site};

/// Millions of instructions of a debug build for 200 hosts with 10 clusters.
const MILLIONS: u64 = 1_010;

#[test]
fn a_check_takes_no_more_instructions_than_before() {
    let repo = Repo::empty();
    let scale = Scale { hosts: 200, clusters: 10 };
    write_site(&repo.path().join("site"), scale, Layout::FilePerRack).unwrap();
    repo.generate(&[]).expect(0);
    let mut valgrind = Command::new("valgrind");
    // Threads that wait for work would count, too.
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_sipgen"))
        .args(["generate", "--check", "--repo"])
        .arg(repo.path())
        .env("RAYON_NUM_THREADS", "1");
    let output = run_tool(&mut valgrind);
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse::<u64>().ok())
        .unwrap_or_else(|| panic!("valgrind said: {said}"));
    let millions = count / 1_000_000;
    assert!(
        (MILLIONS * 9 / 10..=MILLIONS * 11 / 10).contains(&millions),
        "{millions} million instructions instead of {MILLIONS}: if there is a good reason, such as a new compiler or a \
         gain, write the new number here; otherwise see `cargo bench --bench site -- --instructions`"
    );
}
