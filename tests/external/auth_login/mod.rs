//! Logins by the real Dex, with exactly what was rendered for it but the storage, and what the API server's own code
//! makes of the tokens.

mod dex;
mod directory;
mod place;

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use yaml_serde::Value;

use crate::support::programs::*;
use crate::support::{Repo, assert_says, text};
use dex::{Dex, User};

fn user(name: &str, groups: &[&str]) -> Result<User, String> {
    let groups = groups.iter().map(|group| format!("oidc:{group}"));
    let groups = groups.chain(["system:authenticated".to_owned()]).collect();
    Ok(User { name: name.to_owned(), groups })
}

/// The Dex of the fixture's `edge`, with its directory.
fn edge() -> Dex<'static> {
    let dex = Dex::prepare(&GENERATED["auth"], "tenant-a/edge");
    directory::start(&dex.place);
    let authority = STANDARD.encode(dex.place.read("ca.crt"));
    dex.run(&[
        ("LDAP_BIND_PASSWORD", directory::BIND_PASSWORD),
        ("LDAP_CA", &authority),
        ("LOGIN_CLIENT_SECRET", "not-a-secret"),
        ("GITHUB_CLIENT_SECRET", "not-a-secret"),
        ("DASHBOARD_SECRET", "dashboards-secret"),
    ]);
    dex
}

const MARIA: [&str; 3] = ["kubernetes", "directory", "maria"];
const HER_PASSWORD: [(&str, &str); 1] = [("PASSWORD", "marias-password")];

#[test]
fn every_dex_is_served_under_its_issuer() {
    for (fixture, cluster, environment) in [
        ("quickstart", "tenant-a/edge", &[][..]),
        ("ipv6", "v6/edge", &[]),
        ("auth", "tenant-b/core", &[]),
        (
            "auth",
            "tenant-c/web",
            &[("GITLAB_CLIENT_SECRET", "not-a-secret"), ("KUBECTL_SECRET", "not-a-secret")],
        ),
    ] {
        let dex = Dex::start(&GENERATED[fixture], cluster, environment);

        let discovery = dex.discovery();

        assert_eq!(string(&discovery["issuer"]), dex.issuer, "{fixture} {cluster}");
        let below = format!("{}/", dex.issuer);
        assert!(string(&discovery["token_endpoint"]).starts_with(&below), "{discovery:?}");
    }
}

#[test]
fn a_user_of_the_directory_is_known_by_mail_address_and_groups() {
    let dex = edge();
    let token = dex.login(&MARIA, &HER_PASSWORD);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        assert_eq!(
            dex.authenticate(&arguments, &token),
            user("maria@example.com", &["operators"]),
            "{component}"
        );
    }
}

#[test]
fn the_structured_configuration_is_valid_in_its_later_version_too() {
    let dex = edge();
    let token = dex.login(&MARIA, &HER_PASSWORD);
    let arguments = dex.set_up_machine("kubeadm-structured");
    let file = dex.place.path().join("etc/kubernetes/pki/authentication-configuration.yaml");
    let configuration = fs::read_to_string(&file).unwrap();
    assert!(configuration.contains("apiserver.config.k8s.io/v1beta1"));
    fs::write(
        &file,
        configuration.replace("apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1"),
    )
    .unwrap();

    assert_eq!(dex.authenticate(&arguments, &token), user("maria@example.com", &["operators"]));
}

#[test]
fn who_has_a_wrong_password_or_is_filtered_out_gets_no_token() {
    let dex = edge();

    for (user, password) in [("maria", "formers-password"), ("former", "formers-password")] {
        let output = dex.try_login(&["kubernetes", "directory", user], &[("PASSWORD", password)]);

        assert_says(&text(&output.stderr), &["401", "Invalid User and password"]);
    }
}

#[test]
fn a_token_for_another_client_is_refused() {
    let dex = edge();
    let token = dex.login(
        &["dashboard", "directory", "maria"],
        &[
            ("PASSWORD", "marias-password"),
            ("CLIENT_SECRET", "dashboards-secret"),
            ("REDIRECT_URI", "https://dashboard.tenant-a.example.com/oauth2/callback"),
        ],
    );

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        let error = dex.authenticate(&arguments, &token).unwrap_err();

        assert_says(&error, &["audience", "dashboard"]);
    }
}

#[test]
fn a_group_of_kubernetes_own_makes_nobody_administrator() {
    let dex = edge();
    let token =
        dex.login(&["kubernetes", "directory", "mallory"], &[("PASSWORD", "mallorys-password")]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let known = dex.authenticate(&dex.set_up_machine(component), &token).unwrap();

        assert!(known.groups.contains(&"oidc:system:masters".to_owned()), "{component}");
        assert!(!known.groups.contains(&"system:masters".to_owned()), "{component}");
    }
}

/// A browser must not show the login page within another page.
#[test]
fn the_pages_of_dex_have_the_headers_of_security() {
    let dex = edge();

    // Waits until Dex serves.
    dex.discovery();
    let headers = dex.headers();

    assert_says(
        &headers.to_lowercase(),
        &[
            "content-security-policy: frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
        ],
    );
}

#[test]
fn a_client_without_its_secret_gets_no_token() {
    let dex = edge();

    let output = dex.try_login(
        &["dashboard", "directory", "maria"],
        &[
            ("PASSWORD", "marias-password"),
            ("REDIRECT_URI", "https://dashboard.tenant-a.example.com/oauth2/callback"),
        ],
    );

    assert_says(&text(&output.stderr), &["401", "invalid_client"]);
}

/// Whoever has stolen the code of a client without a secret has no token yet. The Dex of the tests is older than
/// `pkce.enforce`, which the configuration sets.
#[test]
fn a_code_without_its_verifier_gives_no_token() {
    let core = Dex::start(&GENERATED["auth"], "tenant-b/core", &[]);
    let verifier = "0123456789012345678901234567890123456789012345678901234567890123";

    for verifier in ["", verifier] {
        let output = core.try_login(&["kubernetes", "mock"], &[("CODE_VERIFIER", verifier)]);

        assert!(!output.status.success(), "{verifier:?}");
        assert_says(&text(&output.stderr), &["invalid_"]);
    }
}

#[test]
fn a_token_of_another_dex_is_refused() {
    let edge = edge();
    let core = Dex::start(&GENERATED["auth"], "tenant-b/core", &[]);
    let own = edge.login(&MARIA, &HER_PASSWORD);
    let foreign = core.login(&["kubernetes", "mock"], &[]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = edge.set_up_machine(component);
        assert!(edge.authenticate(&arguments, &own).is_ok(), "{component}");

        let error = edge.authenticate(&arguments, &foreign).unwrap_err();

        assert_says(&error, &["invalid bearer token"]);
    }
}

#[test]
fn a_certificate_for_an_address_serves_as_well() {
    let dex = Dex::start(&GENERATED["auth"], "tenant-b/core", &[]);
    let token = dex.login(&["kubernetes", "mock"], &[]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        assert_eq!(
            dex.authenticate(&arguments, &token),
            user("kilgore@kilgore.trout", &["authors"]),
            "{component}"
        );
    }
}

/// The repo of a fixture with texts of a file replaced, after a run.
fn generated_with(fixture: &str, file: &str, replacements: &[(&str, &str)]) -> Repo {
    let repo = Repo::of_fixture(fixture);
    for (from, to) in replacements {
        repo.replace(file, from, to);
    }
    repo.generate(&[]).expect(0);
    repo
}

#[test]
fn a_machine_without_a_browser_logs_in_by_a_code() {
    let dex = Dex::start(&GENERATED["auth"], "tenant-b/core", &[]);
    let token = dex.id_token(&dex.try_to("device", &["kubernetes"], &[]));

    let arguments = dex.set_up_machine("kubeadm");

    assert_eq!(dex.authenticate(&arguments, &token), user("kilgore@kilgore.trout", &["authors"]));
}

#[test]
fn a_token_is_valid_for_as_long_as_the_cluster_asks() {
    let dex = edge();
    let token = dex.login(&MARIA, &HER_PASSWORD);

    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = yaml_serde::from_slice(&claims).unwrap();
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);
}

#[test]
fn an_issuer_under_an_ipv6_address_serves_as_well() {
    let repo = Repo::of_fixture("ipv6");
    // An API server of that version takes its configuration as v1.
    repo.write("sipgen.yaml", "services: {kubernetesVersion: \"1.36\"}\n");
    let text = repo.read("site/edge.yaml");
    let (before, _) = text.split_once("        connectors:\n").unwrap();
    let connector = "        connectors: [{type: mockCallback, id: mock}]\n";
    repo.write("site/edge.yaml", &format!("{before}{connector}"));
    repo.generate(&[]).expect(0);
    let configuration = repo.read(
        "overlays/clusters/v6/edge/auth/kubeadm-structured/authentication-configuration.yaml",
    );
    assert!(configuration.contains("apiVersion: apiserver.config.k8s.io/v1\n"));
    let dex = Dex::start(&repo, "v6/edge", &[]);
    let token = dex.login(&["kubernetes", "mock"], &[]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        assert_eq!(
            dex.authenticate(&arguments, &token),
            user("kilgore@kilgore.trout", &["authors"]),
            "{component}"
        );
    }
}

#[test]
fn a_publicly_trusted_certificate_and_a_client_of_ones_own_serve_as_well() {
    // Nobody can log in to GitLab here.
    let file = "clusters/web.yaml";
    let settings = Repo::of_fixture("auth").read(file);
    let start = settings.find("            config:").unwrap();
    let end = settings.find("        staticClients:").unwrap();
    let repo = generated_with(
        "auth",
        file,
        &[(&settings[start..end], ""), ("type: gitlab", "type: mockCallback")],
    );
    let secret = "kubectls-secret";
    let dex = Dex::start(&repo, "tenant-c/web", &[("KUBECTL_SECRET", secret)]);
    let token = dex.login(&["kubernetes", "gitlab"], &[("CLIENT_SECRET", secret)]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        assert_eq!(
            dex.authenticate(&arguments, &token),
            user("kilgore@kilgore.trout", &["authors"]),
            "{component}"
        );
    }
}

/// Nodes send connections to a pod for some seconds after its deletion.
#[test]
fn a_dex_that_stops_takes_connections_for_some_seconds_and_ends_its_answers() {
    let dex = Dex::start(&GENERATED["quickstart"], "tenant-a/edge", &[]);
    dex.discovery();
    let issuer = dex.issuer.strip_prefix("https://").unwrap();
    let (host, path) = issuer.split_once('/').unwrap_or((issuer, ""));
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:443") };
    let mut client = dex.place.tool("openssl");
    client.args(["s_client", "-quiet", "-connect", &address]);
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    let mut request = client.stdin.take().unwrap();
    let below = if path.is_empty() { String::new() } else { format!("/{path}") };
    let body = "grant_type=unknown";
    write!(
        request,
        "POST {below}/token HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n",
        body.len()
    )
    .unwrap();
    sleep(Duration::from_secs(1));
    let start = Instant::now();
    let mut hook = dex.stop();

    while dex.answers() {
        assert!(start.elapsed() < Duration::from_secs(60), "it still takes connections");
    }
    let refused = start.elapsed();
    assert!(hook.wait().unwrap().success());
    sleep(Duration::from_secs(1));
    write!(request, "{body}").unwrap();
    let mut answer = String::new();
    client.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    let _ = client.wait();

    assert_says(&answer, &["HTTP/1.1 400 Bad Request", "error"]);
    assert!(refused > Duration::from_secs(4), "refused after {refused:?}");
}
