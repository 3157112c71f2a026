//! The tests of `integration::git::branch` that need another program.

use crate::support::scenes::git_branch::stale;
use crate::support::{Repo, assert_says, run_tool, tool};

/// Has git sign commits with a new key.
pub(crate) fn sign_with_ssh(repo: &Repo) {
    let key = repo.path().join(".git/key");
    let mut keygen = tool("ssh-keygen");
    assert!(
        run_tool(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key)).status.success()
    );
    repo.git(&["config", "gpg.format", "ssh"]);
    repo.git(&["config", "user.signingKey", key.to_str().unwrap()]);
    repo.git(&["config", "commit.gpgSign", "true"]);
}

#[test]
fn a_commit_on_another_branch_is_signed_as_git_is_set_up_to() {
    let repo = stale();
    sign_with_ssh(&repo);

    repo.generate(&["--branch", "next"]).expect(0);

    assert_says(&repo.git(&["cat-file", "commit", "next"]), &["-----BEGIN SSH SIGNATURE-----"]);
}
