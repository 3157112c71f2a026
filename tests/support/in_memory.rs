//! Repos in memory with one request and one declared host, and what sipgen makes of them.

use sipgen::input::load::Files;
use sipgen::{GeneratedSite, Options, generate};

/// A request for one host with the label `for: edge`.
pub const REQUEST: &str = "\
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {name: edge, namespace: tenant-a}
spec:
  nodes:
    Worker: {labelSelector: {matchLabels: {for: edge}}, count: {active: 1, standby: 0}}
";

/// A host with that label.
pub fn host_for_edge(name: &str) -> String {
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n\
         metadata:\n  name: {name}\n  namespace: tenant-a\n  labels: {{for: edge}}\nspec: {{online: true}}\n"
    )
}

/// A site with a request, one host in a build, and further files, which replace those.
pub fn generated_with(more: &[(&str, &str)]) -> GeneratedSite {
    let real = host_for_edge("real");
    let own = [
        ("clusters/edge.yaml", REQUEST),
        ("inventory/kustomization.yaml", "resources: [hosts.yaml]\n"),
        ("inventory/hosts.yaml", &real),
    ];
    generated_of(&[&own[..], more].concat())
}

/// What sipgen makes of files; of those with one path, the last counts.
pub fn generated_of(files: &[(&str, &str)]) -> GeneratedSite {
    let files = files.iter().map(|(path, text)| ((*path).into(), text.as_bytes().to_vec()));
    generate(&Files::in_memory(files), &Options::default(), &|_| {}).unwrap()
}
