//! What fuzzing feeds to sipgen, without a fuzzer: every target gets the files of the fixtures, pieces of them, and what
//! fuzzing has found once (`fuzz/regressions/TARGET/`).

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use targets::ALL;
use walkdir::WalkDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a directory, sorted; none when there is no such directory.
fn files(below: &str) -> Vec<PathBuf> {
    let entries = WalkDir::new(root().join(below)).sort_by_file_name().into_iter().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

#[test]
fn no_target_fails_at_what_fuzzing_has_found() {
    for (name, target) in ALL {
        for file in files(&format!("fuzz/regressions/{name}")) {
            println!("{}", file.display());
            target(&fs::read(&file).unwrap());
        }
    }
}

#[test]
fn no_target_fails_at_the_fixtures_or_at_what_is_left_of_them() {
    let inputs: Vec<Vec<u8>> = files("fixtures").iter().map(|file| fs::read(file).unwrap()).collect();
    for (name, target) in ALL {
        println!("{name}");
        // Every file for some target, and each cut off somewhere.
        for (number, input) in inputs.iter().enumerate() {
            target(&input[..input.len() * (number % 5 + 1) / 5]);
        }
    }
}

#[test]
fn each_target_has_a_binary() {
    for (name, _) in ALL {
        assert!(root().join(format!("fuzz/fuzz_targets/{name}.rs")).is_file(), "{name}");
        assert!(fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap().contains(&format!("name = \"{name}\"")));
    }
}
