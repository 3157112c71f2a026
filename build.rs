//! Passes the target and the commit to `sipgen --version`, and embeds the templates.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Without such lines, cargo runs this script again at every change of a file.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SIPGEN_COMMIT");
    let target = env::var("TARGET").unwrap_or_default();
    // The names differ from that of the input, because cargo sets them for tests, which build the wheel.
    println!("cargo::rustc-env=SIPGEN_BUILD_TARGET={target}");
    let commit = env::var("SIPGEN_COMMIT")
        .ok()
        .or_else(packaged_commit)
        .or_else(checked_out_commit)
        .unwrap_or_default();
    println!("cargo::rustc-env=SIPGEN_BUILD_COMMIT={commit}");
    link_without_relocations();
    embed_templates()
}

/// Links programs of debug builds to a fixed address. Otherwise the tests, which start them thousands of times, spend a
/// tenth of their time on relocations.
fn link_without_relocations() {
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}

/// Writes the list of all files below `templates/`, with their texts, for `src/base/text/embedded.rs`.
fn embed_templates() -> io::Result<()> {
    println!("cargo::rerun-if-changed=templates");
    let variable = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_default());
    let root = variable("CARGO_MANIFEST_DIR").join("templates");
    let (mut names, mut directories) = (Vec::new(), vec![root.clone()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(name) = path.strip_prefix(&root) {
                names.push(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    names.sort();
    // A path by the manifest: an absolute one would outlive a move of the checkout with its `target`.
    let item = |name: String| {
        let file = format!("/templates/{name}");
        format!("({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {file:?}))),\n")
    };
    let list: String = names.into_iter().map(item).collect();
    fs::write(variable("OUT_DIR").join("templates.rs"), format!("&[\n{list}]"))
}

/// Returns the commit that `cargo package` recorded in the crate.
fn packaged_commit() -> Option<String> {
    let info = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, after) = info.split_once("\"sha1\": \"")?;
    let (commit, _) = after.split_once('"')?;
    Some(commit.to_owned())
}

/// Returns the commit of the checkout, in optimized builds only: debug builds would be linked again at each commit.
fn checked_out_commit() -> Option<String> {
    // Sources without a repo of their own may lie in somebody else's.
    if env::var("PROFILE").ok()? != "release" || !Path::new(".git").exists() {
        return None;
    }
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    // They decide whether the tree is dirty, and their change compiles sipgen anyway.
    for input in ["Cargo.lock", "Cargo.toml", "src", "templates"] {
        println!("cargo::rerun-if-changed={input}");
    }
    git(&["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"])
}

fn git(arguments: &[&str]) -> Option<String> {
    // A build that a git hook starts has the variables of another repo.
    let output = Command::new("git")
        .args(arguments)
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
