use crate::support::scenes::inputs::{
    age_key, balanced, encrypt, networks, want_balanced, with_tools,
};
use crate::support::{Repo, Run, assert_says, host, run};

const SECRET: &str = "inventory/secrets.yaml";

/// A repo with a declared host whose network data is in a Secret, beside another Secret in the same file.
fn with_secret() -> Repo {
    let repo = Repo::empty();
    repo.write(
        "inventory/hosts.yaml",
        &(host("host-1", "") + "  networkData: {name: host-1-network-data}\n"),
    );
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, secrets.yaml]\n");
    let secret = |name: &str, key: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n  namespace: metal\nstringData:\n  {key}: '{value}'\n"
        )
    };
    let networks = networks("192.0.2.41");
    let password = secret("host-1-bmc", "password", "not-a-secret-at-all");
    repo.write(
        SECRET,
        &(password + "---\n" + &secret("host-1-network-data", "networkData", networks.trim_end())),
    );
    want_balanced(&repo);
    repo
}

fn generate(repo: &Repo) -> Run {
    run(&mut with_tools(repo.sipgen(&["generate"])))
}

const DATA_ONLY: [&str; 2] = ["--encrypted-regex", "^(data|stringData)$"];

#[test]
fn an_encrypted_secret_that_a_cluster_needs_is_told_at_its_value() {
    let repo = with_secret();
    let recipient = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    let line =
        repo.read(SECRET).lines().position(|line| line.contains("networkData: ENC[")).unwrap() + 1;
    let said = generate(&repo).expect(1).stderr;
    assert_says(
        &said,
        &["warning[SIP0332]", "host metal/host-1", "the Secret metal/host-1-network-data"],
    );
    assert_says(&said, &[&format!("{SECRET}:{line}:"), "encrypted_regex"]);
}

#[test]
fn an_annotation_gives_the_addresses_that_are_encrypted() {
    let repo = with_secret();
    let recipient = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    let annotation = "  annotations: {sip.airshipit.org/addresses: oam=192.0.2.43}\nspec:\n";
    repo.replace("inventory/hosts.yaml", "spec:\n", annotation);
    let run = generate(&repo).expect(0);
    assert!(!run.stderr.contains("SIP0332"), "{}", run.stderr);
    assert_says(&balanced(&repo), &["192.0.2.43"]);
}

#[test]
fn what_nobody_needs_may_be_encrypted() {
    let repo = with_secret();
    let recipient = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.remove("clusters/edge.yaml");
    repo.want("tenant-a/edge", 1);
    assert!(!generate(&repo).expect(0).stderr.contains("SIP0332"));
}

#[test]
fn files_that_are_encrypted_as_a_whole_are_reported() {
    for (name, arguments) in [
        ("net.json", &[][..]),
        ("net.yaml", &[]),
        ("net.json", &["--input-type", "binary"]),
        ("net.bin", &[]),
    ] {
        let repo = with_secret();
        let recipient = age_key(&repo);
        repo.write(SECRET, "");
        let file = format!("inventory/{name}");
        repo.write(&file, &networks("192.0.2.42"));
        encrypt(&repo, &file, &recipient, arguments);
        repo.write(
            "inventory/kustomization.yaml",
            &format!(
                "namespace: metal\nresources: [hosts.yaml]\nsecretGenerator: [{{name: host-1-network-data, files: \
                 [networkData={name}]}}]\n"
            ),
        );
        assert_says(&generate(&repo).expect(1).stderr, &["warning[SIP0332]"]);
    }
}
