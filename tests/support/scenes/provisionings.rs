//! What the tests of `provisionings` begin with.

use serde_json::Value;

use crate::support::{Repo, Run, run};

pub const DEPOT: &str = "clusters/depot.yaml";
pub const HOSTS: &str = "inventory/hosts.yaml";

pub fn validate(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["validate"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
}

/// The machines of a cluster with the hosts that they are.
#[track_caller]
pub fn machines(repo: &Repo, cluster: &str) -> Vec<String> {
    machines_by(repo, cluster, &[])
}

/// The same, of what more arguments make the input.
#[track_caller]
pub fn machines_by(repo: &Repo, cluster: &str, arguments: &[&str]) -> Vec<String> {
    let all: Vec<&str> =
        ["explain", cluster, "--format", "json"].iter().chain(arguments).copied().collect();
    let explained: Value =
        serde_json::from_str(&run(&mut repo.sipgen(&all)).expect(0).stdout).unwrap();
    let machine = |node_set: &Value| {
        let host = &node_set["hosts"][0]["host"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        format!("{} {}/{}", text(&node_set["node"]), text(&host["namespace"]), text(&host["name"]))
    };
    explained["cluster"]["nodeSets"].as_array().unwrap().iter().map(machine).collect()
}

/// A repo with one host of a MAC address, and a Provisioning `lab/depot` with this spec.
pub fn with_spec(spec: &str) -> Repo {
    let repo = Repo::empty();
    let host = crate::support::host("depot-01", "  resourceVersion: \"1\"\n")
        .replace("namespace: metal", "namespace: lab");
    repo.write(
        HOSTS,
        &(host
            + "status:\n  hardware: {cpu: {count: 16}, ramMebibytes: 65536, nics: [\
               {mac: '00:00:5e:00:53:01', ip: 198.51.100.11}, {mac: '00:00:5e:00:53:02', ip: 198.51.100.12}]}\n"),
    );
    repo.write(
        DEPOT,
        &format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\n\
             metadata: {{name: p, namespace: lab, labels: {{cluster: depot}}}}\nspec:\n{spec}"
        ),
    );
    repo
}
