//! `sipgen --version`: the origin of the binary.

use std::sync::LazyLock;

/// Version, commit, target and libgit2, one a line. `sipgen -V` prints the version only.
pub(super) static LONG: LazyLock<String> = LazyLock::new(|| {
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    // `build.rs` sets both variables.
    let commit = match env!("SIPGEN_BUILD_COMMIT") {
        "" => "unknown",
        commit => commit,
    };
    format!(
        "{}\ncommit: {commit}\ntarget: {}\nlibgit2: {major}.{minor}.{patch}",
        env!("CARGO_PKG_VERSION"),
        env!("SIPGEN_BUILD_TARGET"),
    )
});
