//! The artefacts of `release/build`, here of the tests' binary: each is installed in a clean directory and runs the
//! quickstart.

mod container;
mod crates;
mod hooks;
mod versions;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::support::programs::succeed;
use crate::support::{Repo, tool};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Programs of Python packages, maturin among them.
fn python_programs() -> PathBuf {
    root().join("target/tools/venv/bin")
}

/// A script of `release/` for the artefacts of this build.
fn script(name: &str, directory: &Path) -> Command {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(root().join("release").join(name));
    command
        .env("PATH", format!("{}:{path}", python_programs().display()))
        .env("SIPGEN_RELEASE_DIR", directory);
    command
}

/// Builds the artefacts, once for all test processes.
pub(crate) fn artefacts() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("artefacts");
    fs::create_dir_all(&directory).unwrap();
    let lock = File::create(directory.join("lock")).unwrap();
    lock.lock().unwrap();
    let built = directory.join("built");
    if modified(&built) < newest_input() {
        // Debug information is most of the binary.
        let program = directory.join("sipgen");
        succeed(tool("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_sipgen")));
        succeed(script("build", &directory).arg("--prebuilt").arg(&program));
        fs::write(built, "").unwrap();
    }
    directory
}

fn newest_input() -> Option<SystemTime> {
    let files = ["archive", "build", "prebuilt/cargo", "wheel/pyproject.toml"]
        .map(|file| root().join("release").join(file));
    let program = PathBuf::from(env!("CARGO_BIN_EXE_sipgen"));
    files.iter().chain([&program]).map(|file| modified(file)).max().flatten()
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

/// A repo that a command has generated the quickstart's overlays in equals what the tests' sipgen generates.
#[track_caller]
fn assert_generated(repo: &Repo) {
    let expected = Repo::generated("quickstart");
    assert!(repo.files("overlays") == expected.files("overlays"));
}

#[test]
fn wheel_and_archive_run_the_quickstart() {
    let directory = artefacts();

    succeed(script("try", &directory).arg(env!("SIPGEN_BUILD_TARGET")));
}

#[test]
fn archives_of_the_same_files_have_the_same_bytes() {
    let archive = |name: &str| {
        let directory = tempfile::tempdir().unwrap();
        let packed = directory.path().join(name);
        for file in ["sipgen", "completions/_sipgen"] {
            fs::create_dir_all(packed.join(file).parent().unwrap()).unwrap();
            fs::write(packed.join(file), file).unwrap();
        }
        let printed = succeed(
            script("archive", directory.path())
                .args([&packed, directory.path()])
                .env("SOURCE_DATE_EPOCH", "1700000000"),
        );
        fs::read(printed.trim()).unwrap()
    };

    for name in ["sipgen-1-x86_64-unknown-linux-gnu", "sipgen-1-x86_64-pc-windows-msvc"] {
        assert!(archive(name) == archive(name), "{name}");
    }
}

#[test]
fn uvx_runs_the_wheel() {
    let directory = artefacts();
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::of_fixture("quickstart");

    let mut uvx = Command::new(python_programs().join("uvx"));
    uvx.args(["--no-index", "--find-links"]).arg(&directory);
    uvx.args(["--from", &format!("sipgen=={VERSION}"), "sipgen", "generate"]);
    succeed(uvx.env("UV_CACHE_DIR", cache.path()).current_dir(repo.path()));

    assert_generated(&repo);
}
