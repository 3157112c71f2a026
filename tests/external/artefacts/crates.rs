//! The package for crates.io.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use regex::Regex;
use walkdir::WalkDir;

use super::root;
use crate::support::{run_tool, text};

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn has_every_file_that_its_source_includes() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut list = Command::new(cargo);
    let list = run_tool(
        list.args(["package", "--list", "--allow-dirty", "--offline"]).current_dir(root()),
    );
    let list = text(&list.stdout);
    let packaged: BTreeSet<&Path> = list.lines().map(Path::new).collect();

    // `concat!` begins with a directory; all of its files are included.
    let included = Regex::new(r#"include_(?:str|bytes)!\(\s*(?:concat!\(\s*)?"([^"]+)""#).unwrap();
    let mut checked = 0;
    for file in WalkDir::new(root().join("src")) {
        let file = file.unwrap().into_path();
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        for include in included.captures_iter(&source) {
            let path = plain(&file.parent().unwrap().join(&include[1]));
            let path = path.strip_prefix(root()).unwrap();
            let is_there = packaged.contains(path)
                || packaged
                    .iter()
                    .any(|other| other.to_str().unwrap().starts_with(path.to_str().unwrap()));
            assert!(is_there, "{} includes {}", file.display(), path.display());
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}
