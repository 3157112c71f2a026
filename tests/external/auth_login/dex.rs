//! The real Dex with what was rendered for it, and the machine of an API server that takes its tokens.

use std::cell::Cell;
use std::fs;
use std::process::{Child, Command, Output};

use yaml_serde::Value;

use crate::auth_login::place::Place;
use crate::support::programs::*;
use crate::support::{Repo, documents, kustomize_build, text};

/// Dex as the fixtures' clusters get it, in a place where it is served under its issuer.
pub(crate) struct Dex<'a> {
    pub(crate) place: Place,
    pub(crate) issuer: String,
    /// The directory of its manifests below `overlays`.
    overlay: String,
    repo: &'a Repo,
    /// The process that waits for Dex, and the hook that runs before Dex is told to end.
    process: Cell<u32>,
    hook: Cell<Vec<String>>,
}

impl<'a> Dex<'a> {
    /// Starts the Dex of a cluster, with the variables of its environment.
    pub(crate) fn start(repo: &'a Repo, cluster: &str, environment: &[(&str, &str)]) -> Self {
        let dex = Self::prepare(repo, cluster);
        dex.run(environment);
        dex
    }

    /// Everything but Dex itself.
    pub(crate) fn prepare(repo: &'a Repo, cluster: &str) -> Self {
        let overlay = format!("overlays/clusters/{cluster}/auth");
        let configuration: Value =
            yaml_serde::from_str(&repo.read(&format!("{overlay}/config.yaml"))).unwrap();
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
        Self { place, issuer, overlay, repo, process: Cell::default(), hook: Cell::default() }
    }

    pub(crate) fn run(&self, environment: &[(&str, &str)]) {
        let build = kustomize_build(self.repo.path().join(&self.overlay));
        let objects = documents(&build);
        let of_kind =
            |kind: &str| objects.iter().find(|object| object["kind"].as_str() == Some(kind));
        self.give_certificate(of_kind("Certificate"));
        let maps =
            objects.iter().find(|object| object["kind"].as_str() == Some("ConfigMap")).unwrap();
        self.place.write(
            "/etc/dex/config/config.yaml",
            &with_storage_in_memory(&string(&maps["data"]["config.yaml"])),
        );
        let service = of_kind("Service").unwrap();
        let container =
            &of_kind("Deployment").unwrap()["spec"]["template"]["spec"]["containers"][0];
        self.forward(service, container);

        let command: Vec<String> = sequence(&container["command"]).iter().map(string).collect();
        let mut program = self.place.tool(&command[0]);
        program.args(&command[1..]).env_clear().envs(environment.iter().copied());
        program.env("PATH", std::env::var("PATH").unwrap());
        self.process.set(self.place.start("dex", &mut program));
        let hook = sequence(&container["lifecycle"]["preStop"]["exec"]["command"]);
        self.hook.set(hook.iter().map(string).collect());
    }

    /// Ends Dex as the kubelet does: with its hook, and then by a signal.
    pub(crate) fn stop(&self) -> Child {
        let process = self.process.get();
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let dex = children.unwrap().trim().to_owned();
        let mut shell = crate::support::tool("sh");
        shell.args(["-c", "\"$@\" && kill -TERM \"$DEX\"", "hook"]).args(self.hook.take());
        shell.env("DEX", dex).spawn().unwrap()
    }

    /// Puts a certificate where the pod has it mounted, for the names that the rendered one asks for.
    fn give_certificate(&self, certificate: Option<&Value>) {
        let subjects: Vec<String> = match certificate {
            Some(certificate) => {
                let names = sequence(&certificate["spec"]["dnsNames"])
                    .iter()
                    .map(|name| format!("DNS:{}", string(name)));
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
        let target = sequence(&container["ports"])
            .iter()
            .find(|port| string(&port["name"]) == target)
            .unwrap();
        let target = target["containerPort"].as_u64().unwrap();
        let issuer = self.issuer.strip_prefix("https://").unwrap().split('/').next().unwrap();
        let public =
            issuer.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(443_u64);
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
    pub(crate) fn discovery(&self) -> Value {
        let document =
            self.place.succeed(&mut self.place.login(&["discover", &self.issuer], &[].into()));
        yaml_serde::from_str(&document).unwrap()
    }

    /// The headers of an answer.
    #[track_caller]
    pub(crate) fn headers(&self) -> String {
        self.place.succeed(&mut self.request())
    }

    /// Whether it answers a new connection.
    pub(crate) fn answers(&self) -> bool {
        self.place.run(&mut self.request()).status.success()
    }

    fn request(&self) -> Command {
        let url = format!("{}/.well-known/openid-configuration", self.issuer);
        let mut curl = self.place.tool("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--fail",
            "--dump-header",
            "-",
            "--output",
            "/dev/null",
        ]);
        curl.arg("--cacert").arg(self.place.path().join("ca.crt")).arg(url);
        curl
    }

    pub(crate) fn try_login(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        self.try_to("login", arguments, environment)
    }

    pub(crate) fn try_to(
        &self,
        command: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Output {
        let arguments: Vec<&str> =
            [command, &self.issuer].into_iter().chain(arguments.iter().copied()).collect();
        self.place.run(&mut self.place.login(&arguments, &environment.iter().copied().collect()))
    }

    /// The ID token of somebody who logs in: client, connector and user.
    #[track_caller]
    pub(crate) fn login(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        self.id_token(&self.try_login(arguments, environment))
    }

    #[track_caller]
    pub(crate) fn id_token(&self, output: &Output) -> String {
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
        let lists = format!(
            "resources:\n  - control-plane.yaml\ncomponents:\n  - ../{}/{component}\n",
            self.overlay
        );
        self.repo.write(
            &format!("{directory}/kustomization.yaml"),
            &kustomization("Kustomization", None, &lists),
        );
        object(
            &kustomize_build(self.repo.path().join(directory)),
            "KubeadmControlPlane",
        )["spec"]["kubeadmConfigSpec"]
            .clone()
    }

    /// Does to the place what a component has Cluster API do to a control-plane machine; returns the arguments of the
    /// API server.
    pub(crate) fn set_up_machine(&self, component: &str) -> Vec<String> {
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
        let arguments =
            kubeadm["clusterConfiguration"]["apiServer"]["extraArgs"].as_mapping().unwrap();
        arguments
            .iter()
            .map(|(name, value)| format!("--{}={}", string(name), string(value)))
            .collect()
    }

    /// What the API server's code says of a token: the user, or why there is none.
    pub(crate) fn authenticate(&self, arguments: &[String], token: &str) -> Result<User, String> {
        let mut server = self.place.tool("api-server-authentication");
        // The machine's own authorities, for certificates of a public one.
        server.args(arguments).env("SSL_CERT_FILE", self.place.path().join("ca.crt"));
        let output = self.place.run_with_input(&mut server, token);
        if !output.status.success() {
            return Err(text(&output.stderr));
        }
        let user: Value = yaml_serde::from_str(&text(&output.stdout)).unwrap();
        Ok(User {
            name: string(&user["username"]),
            groups: sequence(&user["groups"]).iter().map(string).collect(),
        })
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

/// The only thing that the tests change: there is no Kubernetes to keep state in.
fn with_storage_in_memory(configuration: &str) -> String {
    let start = configuration.find("storage:\n  type: kubernetes\n").unwrap();
    let end = start + configuration[start..].find("\nweb:\n").unwrap();
    format!("{}storage:\n  type: memory{}", &configuration[..start], &configuration[end..])
}
