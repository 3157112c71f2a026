//! The tests of `integration::git::commit` that need another program.

use crate::support::assert_says;
use crate::support::scenes::git::{quickstart, want_more};

#[test]
fn a_commit_is_signed_as_git_is_set_up_to() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    crate::git::branch::sign_with_ssh(&repo);

    repo.generate(&["--commit"]).expect(0);

    assert_says(&repo.git(&["cat-file", "commit", "HEAD"]), &["-----BEGIN SSH SIGNATURE-----"]);
}
