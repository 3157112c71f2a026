//! The minimal image of `images/sipgen`, assembled as its Containerfile says and run without a container engine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{assert_generated, root};
use crate::support::programs::succeed;
use crate::support::{Repo, run, tool};

/// Libraries of `gcr.io/distroless/cc`: those of the packages libc6 and libgcc-s1. A debug build may link the machine's
/// zlib; `release/build` compiles its own.
const BASE_LIBRARIES: [&str; 9] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libz.so.1",
];

/// Returns the arguments of an instruction in the last stage of the Containerfile.
fn instruction(name: &str) -> String {
    let file = fs::read_to_string(root().join("images/sipgen/Containerfile")).unwrap();
    let (_, stage) = file.rsplit_once("\nFROM ").unwrap();
    stage
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")))
        .unwrap_or_else(|| panic!("the last stage has no {name}"))
        .to_owned()
}

/// Returns the paths of the libraries that a program loads.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    succeed(tool("ldd").arg(program))
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// Writes the root file system: that of the base image, and what the last stage copies.
fn root_file_system() -> TempDir {
    let image = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_sipgen"));
    let put = |from: &Path, to: &Path| {
        let to = image.path().join(to.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    for library in libraries(program) {
        let name = library.file_name().unwrap().to_str().unwrap();
        assert!(BASE_LIBRARIES.contains(&name), "the base image lacks {name}");
        put(&library, &library);
    }
    let copied = instruction("COPY --chmod=0755");
    put(program, Path::new(copied.rsplit(' ').next().unwrap()));
    for directory in ["dev", "etc/ssl/certs", "repo", "tmp"] {
        fs::create_dir_all(image.path().join(directory)).unwrap();
    }
    put(
        Path::new("/etc/ssl/certs/ca-certificates.crt"),
        Path::new("/etc/ssl/certs/ca-certificates.crt"),
    );
    fs::write(
        image.path().join("etc/passwd"),
        "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
    )
    .unwrap();
    image
}

#[test]
fn minimal_image_runs_the_quickstart_as_its_user() {
    let image = root_file_system();
    let repo = Repo::of_fixture("quickstart");
    let user = instruction("USER");
    let (uid, gid) = user.split_once(':').unwrap();
    assert_ne!(uid, "0");
    let entrypoint: Vec<String> = serde_json::from_str(&instruction("ENTRYPOINT")).unwrap();

    let mut sandbox = tool("bwrap");
    sandbox.args(["--unshare-all", "--uid", uid, "--gid", gid, "--die-with-parent", "--clearenv"]);
    sandbox.arg("--ro-bind").arg(image.path()).arg("/");
    sandbox.arg("--bind").arg(repo.path()).arg("/repo");
    sandbox.args(["--dev", "/dev", "--tmpfs", "/tmp", "--chdir", &instruction("WORKDIR")]);
    run(sandbox.args(&entrypoint).arg("generate")).expect(0);

    assert_generated(&repo);
}
