//! What the tests of `agents` begin with.

use yaml_serde::Value;

use crate::support::programs::string;

pub const FLUX: &str = "gitops: flux\n";
pub const ARGOCD: &str =
    "gitops: argocd\nargocd: {repoURL: \"https://git.example.com/fleet.git\"}\n";

/// What an object has its agent apply, relative to the repo.
pub fn path(object: &Value) -> String {
    let spec = &object["spec"];
    let path = spec.get("path").or_else(|| spec["source"].get("path"));
    string(path.unwrap()).trim_start_matches("./").to_owned()
}
