//! What the tests of `losses` begin with.

use crate::support::Repo;

pub const CLUSTER: &str = "clusters/web.yaml";
pub const HOSTS: &str = "snapshot/hosts.yaml";

/// A repo with two clusters in files of their own, two observed hosts, and its output, committed. One host is with each
/// cluster.
pub fn generated() -> Repo {
    let repo = Repo::empty();
    for (name, file) in [("web", CLUSTER), ("db", "clusters/db.yaml")] {
        repo.write(
            file,
            &format!(
                "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: t}}\n\
                 spec: {{nodes: {{Worker: {{labelSelector: {{matchLabels: {{for: {name}}}}}, count: {{active: 1}}}}}}}}\n"
            ),
        );
        repo.write(&HOSTS.replace("hosts", name), &host(name));
    }
    repo.write(HOSTS, &host("zz-spare").replace("for: zz-spare", "for: web"));
    repo.generate(&[]).expect(0);
    repo.commit();
    repo
}

pub fn host(name: &str) -> String {
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: t, labels: {{for: {name}}}}}\n\
         spec: {{online: true, bmc: {{address: \"ipmi://192.0.2.1\", credentialsName: x}}}}\n\
         status: {{provisioning: {{state: available}}, operationalStatus: OK}}\n"
    )
}
