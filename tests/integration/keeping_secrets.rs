//! No secret value appears in any output, message or file, whatever goes wrong.

use crate::support::{Repo, run};

const EDGE: &str = "sites/lab/clusters/edge.yaml";
const RACK_A: &str = "sites/lab/hosts/rack-a.yaml";
const PASSWORD: &str = "correct-horse-battery-staple";
const PASSWORD_IN_BASE64: &str = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ==";

/// The quickstart after its first run, with a password that can be told from all other texts.
fn with_password() -> Repo {
    let repo = Repo::generated("quickstart");
    repo.replace(
        RACK_A,
        "ENC[AES256_GCM,data:RHVtbXkgdmFsdWU=,iv:x,tag:y,type:str]",
        PASSWORD_IN_BASE64,
    );
    repo.replace(RACK_A, "stringData:\n  username", "data:\n  username");
    repo.write("sipgen.yaml", "secrets: {plaintext: warning}\n");
    repo
}

/// All ways to say what is wrong, each of which shows other parts of it.
const WAYS_TO_SAY: [&[&str]; 12] = [
    &["validate"],
    &["validate", "--format", "json"],
    &["validate", "--format", "github"],
    &["validate", "--format", "gitlab"],
    &["validate", "--strict", "--format", "sarif"],
    &["generate", "--check", "--format", "github"],
    &["generate", "--check", "--format", "gitlab"],
    &["generate", "--check", "--format", "sarif"],
    &["diff", "--lines", "--format", "markdown"],
    &["diff", "--lines", "--format", "json"],
    &["generate", "--diff"],
    &["explain", "tenant-a/lab-a1"],
];

/// Runs sipgen and looks for the password in all that it says and writes.
#[track_caller]
fn keeps_the_secret(repo: &Repo) {
    let runs = WAYS_TO_SAY.map(|arguments| run(&mut repo.sipgen(arguments)));

    let written = repo.files("overlays").into_iter().map(|(path, text)| format!("{path}\n{text}"));
    for text in runs.into_iter().flat_map(|run| [run.stdout, run.stderr]).chain(written) {
        for secret in [PASSWORD, PASSWORD_IN_BASE64] {
            assert!(!text.contains(secret), "a secret value is in:\n{text}");
        }
    }
}

#[test]
fn passwords_of_bmcs() {
    let repo = with_password();
    std::fs::remove_dir_all(repo.path().join("overlays")).unwrap();

    keeps_the_secret(&repo);

    assert!(repo.exists("overlays/clusters/tenant-a/edge/jumphost/kustomization.yaml"));
}

#[test]
fn passwords_as_plain_values() {
    let repo = with_password();
    repo.replace(
        RACK_A,
        &format!(
            "data:\n  username: ENC[AES256_GCM,data:tmD3Og==,iv:x,tag:y,type:str]\n  password: {PASSWORD_IN_BASE64}\n"
        ),
        &format!("stringData:\n  username: admin\n  password: {PASSWORD}\n"),
    );

    keeps_the_secret(&repo);
}

#[test]
fn passwords_in_documents_that_cannot_be_read() {
    let password = format!("  password: {PASSWORD_IN_BASE64}\n");
    for broken in [
        format!("  password: [{PASSWORD}\n"),
        format!("  password: \"{PASSWORD}\n"),
        format!("  password: *{PASSWORD}\n"),
        format!("  password: !{PASSWORD} x: y\n"),
        format!("  {PASSWORD}: a\n  {PASSWORD}: b\n"),
        format!("  password: {{{PASSWORD}: {{}}}}\n"),
        format!("  password: {PASSWORD}: x\n"),
        format!("\t{PASSWORD}\n"),
        format!("  networkData: {PASSWORD}\n"),
    ] {
        let repo = with_password();
        repo.replace(RACK_A, &password, &broken);

        keeps_the_secret(&repo);
    }
}

#[test]
fn passwords_in_a_host_of_the_wrong_shape() {
    for broken in [
        format!("  bmc: {PASSWORD}\n"),
        format!("  bmc: [{PASSWORD}]\n"),
        format!("  bmc:\n    address: {{password: {PASSWORD}}}\n"),
    ] {
        let repo = with_password();
        let text = repo.read(RACK_A);
        let (before, after) = text.split_once("  bmc:\n").unwrap();
        let after = after.split_once("    disableCertificateVerification: false\n").unwrap().1;
        repo.write(RACK_A, &format!("{before}{broken}{after}"));

        keeps_the_secret(&repo);
    }
}

#[test]
fn passwords_in_the_address_of_a_bmc() {
    for address in [
        "redfish+https://admin:PASSWORD@203.0.113.11/x",
        "nonsense+x://admin:PASSWORD@203.0.113.11/x",
    ] {
        let repo = with_password();
        let address = address.replace("PASSWORD", PASSWORD);
        for number in ["11", "12"] {
            repo.replace(
                RACK_A,
                &format!("redfish+https://203.0.113.{number}/redfish/v1/Systems/1"),
                &address,
            );
        }

        keeps_the_secret(&repo);
    }
}

#[test]
fn passwords_in_network_data_of_the_wrong_shape() {
    for broken in [
        PASSWORD.to_owned(),
        format!("networks: {PASSWORD}"),
        format!("networks: [{PASSWORD}]"),
        format!("networks: [{{id: a, ip_address: {{wifi: {PASSWORD}}}}}]"),
        format!("networks: [{{id: [{PASSWORD}]}}]"),
        format!("networks: [{{id: a, ip_address: {PASSWORD}}}]"),
    ] {
        let repo = with_password();
        let text = repo.read(RACK_A);
        let (before, after) = text.split_once("  networkData: |\n").unwrap();
        let after = after.split_once("    services: []\n").unwrap().1;
        repo.write(RACK_A, &format!("{before}  networkData: \"{broken}\"\n{after}"));

        keeps_the_secret(&repo);
    }
}

#[test]
fn a_private_key_where_a_public_one_is_to_be() {
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L operator@lab.example.com";
    for pasted in [
        format!(
            "|\n            -----BEGIN OPENSSH PRIVATE KEY-----\n            {PASSWORD}\n            -----END OPENSSH PRIVATE KEY-----"
        ),
        format!("-----BEGIN OPENSSH PRIVATE KEY----- {PASSWORD}"),
        PASSWORD.to_owned(),
        format!("{{key: {PASSWORD}}}"),
        format!("[{PASSWORD}"),
        format!("\"{PASSWORD}"),
        format!("|\n            a: {PASSWORD}\n            -----BEGIN OPENSSH PRIVATE KEY-----"),
        format!("{PASSWORD}: ["),
    ] {
        let repo = with_password();
        repo.replace(EDGE, key, &pasted);

        keeps_the_secret(&repo);
    }
}

#[test]
fn secrets_at_the_places_of_other_values() {
    const NODES: &str = "  nodes:\n";
    const OIDC: &str = "caSecret: edge-oidc-ca";
    let connector = |config: &str| {
        format!("caSecret: x\n        connectors:\n        - type: github\n          {config}")
    };
    for (wrong, pasted) in [
        (NODES, format!("  nodes: {PASSWORD}\n  x:\n")),
        (NODES, format!("  secert: {PASSWORD}\n  nodes:\n")),
        (NODES, format!("  nodez: {PASSWORD}\n  nodes:\n")),
        (NODES, format!("  colour: red # login {PASSWORD}\n  nodes:\n")),
        ("nodePort: 30022", format!("nodePort: 030022   # login {PASSWORD}")),
        ("nodePort: 30022", format!("nodePort: 1   # login {PASSWORD}")),
        ("bmc:\n          proxy: false", format!("bmc: {{proxy: x}} # login {PASSWORD}")),
        (OIDC, connector(&format!("config: {{clientID: a, pw: {PASSWORD}, groop: b}}"))),
        (OIDC, connector(&format!("config:\n            groop: {PASSWORD}"))),
        (OIDC, connector(&format!("config:\n            x: {PASSWORD}: [\n"))),
        (OIDC, connector(&format!("config: [{{x: {PASSWORD}: y\n"))),
        (
            OIDC,
            connector(&format!(
                "config:\n            x: {PASSWORD}\n          groop: {PASSWORD} ["
            )),
        ),
        (OIDC, format!("caSecret: x\n        staticClients: [{{id: a b, note: {PASSWORD}}}]")),
        (OIDC, format!("caSecret: x\n        staticClients:\n        - id: a b # {PASSWORD}")),
    ] {
        let repo = with_password();
        repo.replace(EDGE, wrong, &pasted);

        assert_ne!(run(&mut repo.sipgen(&["validate", "--strict"])).code, 0, "{pasted}");
        keeps_the_secret(&repo);
    }
}

#[test]
fn secrets_beside_what_is_wrong() {
    for (wrong, beside) in [
        ("nodePort: 30022", format!("nodePort: 1 # {PASSWORD}: its password")),
        ("bmc:\n          proxy: false", format!("bmc: {{proxy: x, password: {PASSWORD}}}")),
        ("bmc:\n          proxy: false", format!("bmc:\n          proxy: {PASSWORD}")),
        ("nodeSSHPrivateKeys: edge-node-ssh", format!("nodeSSHPrivateKeys: {PASSWORD}_")),
        ("nodeSSHPrivateKeys: edge-node-ssh", format!("nodeSSHPrivateKeys: {{x: {PASSWORD}}}")),
        ("caSecret: edge-oidc-ca", format!("caSecret: [{PASSWORD}]")),
        (
            "caSecret: edge-oidc-ca",
            format!("caSecret: edge-oidc-ca\n        clientSecret: {PASSWORD}"),
        ),
        (
            "caSecret: edge-oidc-ca",
            format!("caSecret: x\n        issuer: https://me:{PASSWORD}@idp.example.com"),
        ),
        (
            "caSecret: edge-oidc-ca",
            format!("caSecret: x\n        passwords: [\n        {PASSWORD}], nodePort: 1"),
        ),
        (
            "caSecret: edge-oidc-ca",
            format!("caSecret: x\n        config: {{password:\n         {PASSWORD}, x: y}}"),
        ),
        (
            "caSecret: edge-oidc-ca",
            format!("caSecret: x\n        token: >-\n          {PASSWORD}\n        x: \"${{a}}"),
        ),
    ] {
        let repo = with_password();
        repo.replace(EDGE, wrong, &beside);

        keeps_the_secret(&repo);
    }
}

#[test]
fn secrets_in_place_of_files_of_a_generator() {
    for field in ["files", "envs", "literals"] {
        for generator in ["secretGenerator", "configMapGenerator"] {
            let repo = with_password();
            let file = "sites/lab/hosts/kustomization.yaml";
            let generated =
                format!("{generator}: [{{name: x, {field}: [\"password={PASSWORD}\"]}}]\n");
            repo.write(file, &(repo.read(file) + &generated));

            keeps_the_secret(&repo);
        }
    }
}
