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

fn generate(repo: &Repo, key: Option<&str>) -> Run {
    let mut command = with_tools(repo.sipgen(&["generate"]));
    command
        .env_remove("SOPS_AGE_KEY_FILE")
        .env("HOME", repo.path().join(".git"))
        .env_remove("XDG_CONFIG_HOME");
    command.envs(key.map(|key| ("SOPS_AGE_KEY_FILE", key)));
    run(&mut command)
}

const DATA_ONLY: [&str; 2] = ["--encrypted-regex", "^(data|stringData)$"];

#[test]
fn an_encrypted_secret_that_a_cluster_needs_is_told_at_its_value() {
    let repo = with_secret();
    let (_, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    let line =
        repo.read(SECRET).lines().position(|line| line.contains("networkData: ENC[")).unwrap() + 1;
    let said = generate(&repo, None).expect(1).stderr;
    assert_says(
        &said,
        &["warning[SIP0332]", "host metal/host-1", "the Secret metal/host-1-network-data"],
    );
    assert_says(&said, &[&format!("{SECRET}:{line}:"), "sops: {decrypt: true}"]);
}

#[test]
fn what_nobody_needs_may_be_encrypted() {
    let repo = with_secret();
    let (_, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.remove("clusters/edge.yaml");
    repo.want("tenant-a/edge", 1);
    // No key, and nothing is asked of sops.
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    assert!(!generate(&repo, None).expect(0).stderr.contains("SIP033"));
}

#[test]
fn sops_decrypts_where_the_settings_allow_it_and_nothing_but_the_address_is_written() {
    let repo = with_secret();
    let (key, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    let run = generate(&repo, Some(&key)).expect(0);
    assert_says(&balanced(&repo), &["192.0.2.41"]);
    let everything =
        repo.files("overlays").into_values().collect::<String>() + &run.stdout + &run.stderr;
    assert!(!everything.contains("not-a-secret-at-all") && !everything.contains("ip_address"));
}

#[test]
fn an_output_gets_no_address_of_encrypted_network_data() {
    let repo = with_secret();
    let (key, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    let outputs = "outputs: [{name: hosts, scope: host}, {name: all, scope: site}]\n";
    repo.write("sipgen.yaml", &format!("sops: {{decrypt: true}}\ntemplates: own\n{outputs}"));
    repo.write("own/outputs/hosts/a.yml", "{{ host|tojson }}\n");
    repo.write("own/outputs/all/a.yml", "{{ [clusters, unassigned]|tojson }}\n");

    generate(&repo, Some(&key)).expect(0);

    // The load balancer has it.
    assert_says(&balanced(&repo), &["192.0.2.41"]);
    let cluster = repo.files("overlays/clusters/tenant-a/edge/hosts").into_values();
    let rendered = cluster.chain(repo.files("overlays/site").into_values()).collect::<String>();
    assert_says(&rendered, &["host-1", "\"addresses\": {}"]);
    assert!(!rendered.contains("192.0.2.41"), "{rendered}");
}

#[test]
fn a_revision_is_decrypted_without_its_files_on_the_disk() {
    let repo = with_secret();
    let (key, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    generate(&repo, Some(&key)).expect(0);
    repo.commit();
    repo.remove(SECRET);
    let mut command = with_tools(repo.sipgen(&["generate", "--rev", "HEAD", "--check"]));
    run(command.env("SOPS_AGE_KEY_FILE", &key)).expect(0);
}

#[test]
fn what_kustomize_builds_of_encrypted_files_is_decrypted_in_the_files() {
    let repo = with_secret();
    let (key, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.write(
        "sipgen.yaml",
        "sops: {decrypt: true}\nsources: [{kustomization: inventory}, {paths: [clusters]}]\n",
    );
    generate(&repo, Some(&key)).expect(0);
    assert_says(&balanced(&repo), &["192.0.2.41"]);
}

#[test]
fn files_that_are_encrypted_as_a_whole_are_decrypted() {
    for (name, arguments) in [
        ("net.json", &[][..]),
        ("net.yaml", &[]),
        ("net.json", &["--input-type", "binary"]),
        ("net.bin", &[]),
    ] {
        let repo = with_secret();
        let (key, recipient) = age_key(&repo);
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
        assert_says(&generate(&repo, None).expect(1).stderr, &["warning[SIP0332]"]);
        repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
        generate(&repo, Some(&key)).expect(0);
        assert_says(&balanced(&repo), &["192.0.2.42"]);
    }
}

#[test]
fn a_missing_key_is_an_error_in_sops_own_words() {
    let repo = with_secret();
    let (_, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    let said = generate(&repo, None).expect(1).stderr;
    assert_says(&said, &["error[SIP0333]", "sops says", &recipient, SECRET]);
    assert!(!said.contains("AES256_GCM"), "{said}");
    assert!(!repo.exists("overlays"));
}

#[test]
fn a_machine_without_sops_is_told_so() {
    let repo = with_secret();
    let (_, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    let empty = tempfile::tempdir().unwrap();
    let missing = run(repo.sipgen(&["generate"]).env("PATH", empty.path())).expect(1);
    assert_says(&missing.stderr, &["error[SIP0333]", "there is no `sops` on this machine"]);
}

#[test]
fn a_host_that_a_cluster_has_is_told_of_once_when_its_network_data_is_not_decrypted() {
    let repo = with_secret();
    let (key, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    generate(&repo, Some(&key)).expect(0);

    let said = generate(&repo, None).expect(1).stderr;

    assert_says(&said, &["error[SIP0333]", "1 error"]);
    assert!(!said.contains("SIP0311"), "{said}");
}

#[test]
fn a_stream_with_encrypted_network_data_is_not_told_to_let_sipgen_decrypt_it() {
    for settings in ["sops: {decrypt: true}\n", "sops: {decrypt: false}\n"] {
        let repo = with_secret();
        let (_, recipient) = age_key(&repo);
        encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
        let stream = ["inventory/hosts.yaml", SECRET, "clusters/edge.yaml"]
            .map(|file| repo.read(file))
            .join("---\n");
        repo.write("rendered.yaml", &stream);
        repo.write("sipgen.yaml", settings);

        let said = run(&mut repo.sipgen(&["validate", "--input", "rendered.yaml"])).stdout;

        assert_says(
            &said,
            &["warning[SIP0332]", "decrypt it before it is rendered and given to sipgen"],
        );
        assert!(!said.contains("set `sops:"), "{said}");
    }
}

#[test]
fn a_tampered_file_is_refused() {
    let repo = with_secret();
    let (key, recipient) = age_key(&repo);
    encrypt(&repo, SECRET, &recipient, &DATA_ONLY);
    repo.replace(SECRET, "name: host-1-bmc", "name: host-2-bmc");
    repo.write("sipgen.yaml", "sops: {decrypt: true}\n");
    let said = generate(&repo, Some(&key)).expect(1).stderr;
    assert_says(&said, &["error[SIP0333]", "MAC mismatch"]);
}
