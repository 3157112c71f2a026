//! Logins by the real Dex, with exactly what was rendered for it but the storage, and what the API server's own code
//! makes of the tokens.

#![allow(clippy::unwrap_used, clippy::panic)]

mod directory;
mod place;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::process::Output;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use place::Place;
use support::programs::*;
use support::{Repo, assert_says, documents, kustomize_build, text};
use yaml_serde::Value;

/// Dex as the fixtures' clusters get it, in a place where it is served under its issuer.
struct Dex<'a> {
    place: Place,
    issuer: String,
    /// The directory of its manifests below `overlays`.
    overlay: String,
    repo: &'a Repo,
}

impl<'a> Dex<'a> {
    /// Starts the Dex of a cluster, with the variables of its environment.
    fn start(repo: &'a Repo, cluster: &str, environment: &[(&str, &str)]) -> Self {
        let dex = Self::prepare(repo, cluster);
        dex.run(environment);
        dex
    }

    /// Everything but Dex itself.
    fn prepare(repo: &'a Repo, cluster: &str) -> Self {
        let overlay = format!("overlays/clusters/{cluster}/auth");
        let configuration: Value = yaml_serde::from_str(&repo.read(&format!("{overlay}/config.yaml"))).unwrap();
        let issuer = string(&configuration["issuer"]);
        let host = issuer.strip_prefix("https://").unwrap().split('/').next().unwrap();
        let host = match host.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => host,
            _ => host,
        };
        let address = host.trim_matches(['[', ']']);
        let is_address = address.parse::<std::net::IpAddr>().is_ok();
        let address = if is_address { address } else { "192.0.2.10" };
        let place = Place::new(&[address], &["ldap.example.com", host]);
        Self { place, issuer, overlay, repo }
    }

    fn run(&self, environment: &[(&str, &str)]) {
        let build = kustomize_build(self.repo.path().join(&self.overlay));
        let objects = documents(&build);
        let of_kind = |kind: &str| objects.iter().find(|object| object["kind"].as_str() == Some(kind));
        self.give_certificate(of_kind("Certificate"));
        let maps = objects.iter().find(|object| object["kind"].as_str() == Some("ConfigMap")).unwrap();
        self.place.write("/etc/dex/config/config.yaml", &with_storage_in_memory(&string(&maps["data"]["config.yaml"])));
        let service = of_kind("Service").unwrap();
        let container = &of_kind("Deployment").unwrap()["spec"]["template"]["spec"]["containers"][0];
        self.forward(service, container);

        let command: Vec<String> = sequence(&container["command"]).iter().map(string).collect();
        let mut program = self.place.tool(&command[0]);
        program.args(&command[1..]).env_clear().envs(environment.iter().copied());
        program.env("PATH", std::env::var("PATH").unwrap());
        self.place.start("dex", &mut program);
    }

    /// Puts a certificate where the pod has it mounted, for the names that the rendered one asks for.
    fn give_certificate(&self, certificate: Option<&Value>) {
        let subjects: Vec<String> = match certificate {
            Some(certificate) => {
                let names =
                    sequence(&certificate["spec"]["dnsNames"]).iter().map(|name| format!("DNS:{}", string(name)));
                let addresses = sequence(&certificate["spec"]["ipAddresses"]).iter();
                names.chain(addresses.map(|address| format!("IP:{}", string(address)))).collect()
            }
            None => vec!["DNS:dex.tenant-a.example.com".to_owned()],
        };
        self.place.certificate("tls", &subjects);
        for file in ["tls.crt", "tls.key"] {
            self.place.write(&format!("/etc/dex/tls/{file}"), &self.place.read(file));
        }
    }

    /// Stands in for what leads to Dex's container: its NodePort, or an ingress on the issuer's port.
    fn forward(&self, service: &Value, container: &Value) {
        let port = &service["spec"]["ports"][0];
        let target = string(&port["targetPort"]);
        let target = sequence(&container["ports"]).iter().find(|port| string(&port["name"]) == target).unwrap();
        let target = target["containerPort"].as_u64().unwrap();
        let issuer = self.issuer.strip_prefix("https://").unwrap().split('/').next().unwrap();
        let public = issuer.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(443_u64);
        assert!(public == 443 || Some(public) == port["nodePort"].as_u64(), "{public}");
        let configuration = format!(
            "defaults\n  mode tcp\n  timeout connect 10s\n  timeout client 60s\n  timeout server 60s\n\
             listen dex\n  bind :::{public} v4v6\n  server dex 127.0.0.1:{target}\n"
        );
        let file = self.place.path().join("haproxy.cfg");
        fs::write(&file, configuration).unwrap();
        self.place.start("haproxy", self.place.tool("haproxy").arg("-db").arg("-f").arg(&file));
    }

    #[track_caller]
    fn discovery(&self) -> Value {
        let document = self.place.succeed(&mut self.place.login(&["discover", &self.issuer], &[].into()));
        yaml_serde::from_str(&document).unwrap()
    }

    fn try_login(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        self.try_to("login", arguments, environment)
    }

    fn try_to(&self, command: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let arguments: Vec<&str> = [command, &self.issuer].into_iter().chain(arguments.iter().copied()).collect();
        self.place.run(&mut self.place.login(&arguments, &environment.iter().copied().collect()))
    }

    /// The ID token of somebody who logs in: client, connector and user.
    #[track_caller]
    fn login(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        self.id_token(&self.try_login(arguments, environment))
    }

    #[track_caller]
    fn id_token(&self, output: &Output) -> String {
        assert!(output.status.success(), "{}\n{}", text(&output.stderr), self.place.logs());
        let answer: Value = yaml_serde::from_str(&text(&output.stdout)).unwrap();
        string(&answer["id_token"])
    }

    /// A tenant's KubeadmControlPlane with one of the components.
    fn control_plane(&self, component: &str) -> Value {
        let directory = format!("tenant-{}-{component}", self.overlay.replace('/', "-"));
        self.repo.write(
            &format!("{directory}/control-plane.yaml"),
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: edge\n\
             spec:\n  kubeadmConfigSpec: {}\n",
        );
        let lists = format!("resources:\n  - control-plane.yaml\ncomponents:\n  - ../{}/{component}\n", self.overlay);
        self.repo.write(&format!("{directory}/kustomization.yaml"), &kustomization("Kustomization", None, &lists));
        object(&kustomize_build(self.repo.path().join(directory)), "KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]
            .clone()
    }

    /// Does to the place what a component has Cluster API do to a control-plane machine; returns the arguments of the
    /// API server.
    fn set_up_machine(&self, component: &str) -> Vec<String> {
        let kubeadm = self.control_plane(component);
        self.place.write("/etc/kubernetes/pki/.kubeadm", "");
        for file in sequence(&kubeadm["files"]) {
            let content = match file.get("content") {
                Some(content) => string(content),
                // The Secret of Dex's certificate.
                None => {
                    assert_eq!(string(&file["contentFrom"]["secret"]["key"]), "ca.crt");
                    self.place.read("ca.crt")
                }
            };
            self.place.write(&string(&file["path"]), &content);
        }
        for command in sequence(&kubeadm["preKubeadmCommands"]) {
            self.place.succeed(self.place.tool("sh").args(["-c", &string(command)]));
        }
        let arguments = kubeadm["clusterConfiguration"]["apiServer"]["extraArgs"].as_mapping().unwrap();
        arguments.iter().map(|(name, value)| format!("--{}={}", string(name), string(value))).collect()
    }

    /// What the API server's code says of a token: the user, or why there is none.
    fn authenticate(&self, arguments: &[String], token: &str) -> Result<User, String> {
        let mut server = self.place.tool("api-server-authentication");
        // The machine's own authorities, for certificates of a public one.
        server.args(arguments).env("SSL_CERT_FILE", self.place.path().join("ca.crt"));
        let output = self.place.run_with_input(&mut server, token);
        if !output.status.success() {
            return Err(text(&output.stderr));
        }
        let user: Value = yaml_serde::from_str(&text(&output.stdout)).unwrap();
        Ok(User { name: string(&user["username"]), groups: sequence(&user["groups"]).iter().map(string).collect() })
    }
}

#[derive(Debug, PartialEq)]
struct User {
    name: String,
    groups: Vec<String>,
}

fn user(name: &str, groups: &[&str]) -> Result<User, String> {
    let groups = groups.iter().chain(&["system:authenticated"]).map(ToString::to_string).collect();
    Ok(User { name: name.to_owned(), groups })
}

/// The only thing that the tests change: there is no Kubernetes to keep state in.
fn with_storage_in_memory(configuration: &str) -> String {
    let start = configuration.find("storage:\n  type: kubernetes\n").unwrap();
    let end = start + configuration[start..].find("\nweb:\n").unwrap();
    format!("{}storage:\n  type: memory{}", &configuration[..start], &configuration[end..])
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
        ("auth", "tenant-c/web", &[("GITLAB_CLIENT_SECRET", "not-a-secret"), ("KUBECTL_SECRET", "not-a-secret")]),
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

        assert_eq!(dex.authenticate(&arguments, &token), user("maria@example.com", &["operators"]), "{component}");
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
    fs::write(&file, configuration.replace("apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1")).unwrap();

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
fn a_group_of_kubernetes_own_makes_nobody_administrator_by_the_structured_configuration() {
    let dex = edge();
    let token = dex.login(&["kubernetes", "directory", "mallory"], &[("PASSWORD", "mallorys-password")]);

    let error = dex.authenticate(&dex.set_up_machine("kubeadm-structured"), &token).unwrap_err();

    assert_says(&error, &["a group's name must not begin with system"]);
}

#[test]
fn a_client_without_its_secret_gets_no_token() {
    let dex = edge();

    let output = dex.try_login(
        &["dashboard", "directory", "maria"],
        &[("PASSWORD", "marias-password"), ("REDIRECT_URI", "https://dashboard.tenant-a.example.com/oauth2/callback")],
    );

    assert_says(&text(&output.stderr), &["401", "invalid_client"]);
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

        assert_eq!(dex.authenticate(&arguments, &token), user("kilgore@kilgore.trout", &["authors"]), "{component}");
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
    let connector = "caSecret: edge-oidc-ca\n        connectors: [{type: mockCallback, id: mock}]";
    let repo = generated_with("ipv6", "site/edge.yaml", &[("caSecret: edge-oidc-ca", connector)]);
    let dex = Dex::start(&repo, "v6/edge", &[]);
    let token = dex.login(&["kubernetes", "mock"], &[]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        assert_eq!(dex.authenticate(&arguments, &token), user("kilgore@kilgore.trout", &["authors"]), "{component}");
    }
}

#[test]
fn a_publicly_trusted_certificate_and_a_client_of_ones_own_serve_as_well() {
    // Nobody can log in to GitLab here.
    let file = "clusters/web.yaml";
    let settings = Repo::of_fixture("auth").read(file);
    let start = settings.find("            config:").unwrap();
    let end = settings.find("        staticClients:").unwrap();
    let repo = generated_with("auth", file, &[(&settings[start..end], ""), ("type: gitlab", "type: mockCallback")]);
    let secret = "kubectls-secret";
    let dex = Dex::start(&repo, "tenant-c/web", &[("KUBECTL_SECRET", secret)]);
    let token = dex.login(&["kubernetes", "gitlab"], &[("CLIENT_SECRET", secret)]);

    for component in ["kubeadm", "kubeadm-structured"] {
        let arguments = dex.set_up_machine(component);

        assert_eq!(dex.authenticate(&arguments, &token), user("kilgore@kilgore.trout", &["authors"]), "{component}");
    }
}
