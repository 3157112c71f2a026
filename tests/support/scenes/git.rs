//! What the tests of `git` begin with.

use crate::support::{EDGE, Repo};

pub const ONE_WORKER: &str = "active: 1\n        standby: 1";
pub const TWO_WORKERS: &str = "active: 2\n        standby: 1";
/// The file with the hosts of the quickstart's cluster.
pub const EDGE_HOSTS: &str = "overlays/hosts/declared/sites/lab/tenant-a.edge.yaml";

/// A repo with somebody who commits, with the files of the quickstart and what sipgen makes of them.
pub fn quickstart() -> Repo {
    let repo = Repo::generated("quickstart");
    identify(&repo);
    repo
}

/// Says who commits in a repo.
pub fn identify(repo: &Repo) {
    repo.git(&["config", "user.name", "Tess Ter"]);
    repo.git(&["config", "user.email", "tess@example.com"]);
}

/// Has the cluster of the quickstart want one worker more, of which git knows nothing.
pub fn want_more(repo: &Repo) {
    repo.replace(EDGE, ONE_WORKER, TWO_WORKERS);
}

/// What `git status` says, line by line.
pub fn status(repo: &Repo) -> Vec<String> {
    repo.git(&["status", "--porcelain", "--untracked-files=all"])
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The id of a revision.
pub fn id(repo: &Repo, revision: &str) -> String {
    repo.git(&["rev-parse", revision]).trim().to_owned()
}

/// A hook that is run instead of what git runs by default.
pub fn hook(repo: &Repo, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = repo.path().join(".git/hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
