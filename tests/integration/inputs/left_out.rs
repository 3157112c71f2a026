//! What the inputs leave out, and the repo still has.

use crate::support::scenes::inputs::piped;
use crate::support::{Repo, host};

#[test]
fn what_was_never_generated_may_be_left_out() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    repo.want("tenant-b/core", 1);
    let stream = host("host-1", "") + "---\n" + &repo.read("clusters/tenant-a.edge.yaml");
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    piped(&repo, &["generate", "--check", "--input", "-"], &stream).expect(0);
}
