//! The hooks that install the wheel, run by the real pre-commit.

use std::fs;
use std::process::Command;

use super::{artefacts, python_programs, root};
use crate::support::scenes::git::{identify, want_more};
use crate::support::{EDGE, Repo, assert_says, run};

/// Files of this repo that pre-commit reads in the repo of a hook.
const PUBLISHED: [&str; 2] = [".pre-commit-hooks.yaml", "pyproject.toml"];

#[test]
fn hooks_of_the_wheel_are_installed_and_refuse_stale_overlays() {
    let published = Repo::empty();
    for file in PUBLISHED {
        published.write(file, &fs::read_to_string(root().join(file)).unwrap());
    }
    published.commit();
    let repo = Repo::generated("quickstart");
    identify(&repo);
    let config = format!(
        "repos:\n- repo: {}\n  rev: {}  hooks: [{{id: sipgen-check}}, {{id: sipgen-validate}}]\n",
        published.path().display(),
        published.git(&["rev-parse", "HEAD"])
    );
    repo.write(".pre-commit-config.yaml", &config);
    repo.commit();
    let home = tempfile::tempdir().unwrap();
    // Nothing is downloaded: setuptools, which pip builds pyproject.toml with, is beside the tools.
    let wheels = [artefacts(), python_programs().with_file_name("wheels")];
    let pre_commit = || {
        run(Command::new(python_programs().join("pre-commit"))
            .args(["run", "--verbose"])
            .env("PRE_COMMIT_HOME", home.path())
            .env("PIP_NO_INDEX", "1")
            .env("PIP_FIND_LINKS", wheels.each_ref().map(|path| path.to_str().unwrap()).join(" "))
            .current_dir(repo.path()))
    };

    pre_commit().expect(0);

    want_more(&repo);
    repo.git(&["add", EDGE]);
    let refused = pre_commit().expect(1);
    assert_says(&refused.stdout, &["6 files would be written"]);
}
