//! What the tests of `giving_back` begin with.

use crate::support::{Repo, documents};

pub const PATCHES: &str = "overlays/hosts/declared/inventory";
pub const RELEASED: &str = "overlays/hosts/observed/released";
pub const SNAPSHOT: &str = "snapshot/hosts.yaml";

/// A repo whose only cluster, `vino/one`, has given back the second of its two observed hosts.
pub fn with_released_host() -> Repo {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("vino/one", 2);
    repo.generate(&[]).expect(0);
    repo.want("vino/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(released(&repo), ["host-2"]);
    repo
}

/// The names of the observed hosts that are being given back.
pub fn released(repo: &Repo) -> Vec<String> {
    let hosts = format!("{RELEASED}/hosts.yaml");
    let text = if repo.exists(&hosts) { repo.read(&hosts) } else { String::new() };
    documents(&text)
        .iter()
        .map(|host| host["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}
