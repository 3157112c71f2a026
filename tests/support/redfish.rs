//! The real Redfish service of the tests: sushy-tools' emulator with its fake driver.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::network::{Network, Server};
use super::programs::succeed;
use super::tool;

/// A BMC with systems that are on.
pub struct Emulator {
    server: Server,
    _directory: TempDir,
}

/// A certificate and its key, for one address.
pub struct Certificate {
    directory: TempDir,
}

impl Certificate {
    pub fn of(address: &str) -> Self {
        let certificate = Self { directory: tempfile::tempdir().unwrap() };
        let mut openssl = tool("openssl");
        openssl.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ]);
        openssl.args([
            "-days",
            "2",
            "-subj",
            "/CN=bmc",
            "-addext",
            &format!("subjectAltName=IP:{address}"),
        ]);
        openssl
            .arg("-keyout")
            .arg(certificate.path("key"))
            .arg("-out")
            .arg(certificate.path("certificate"));
        succeed(&mut openssl);
        certificate
    }

    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// The certificate, by which it vouches for itself.
    pub fn text(&self) -> String {
        fs::read_to_string(self.path("certificate")).unwrap()
    }
}

/// Of `not-a-secret`, by bcrypt with the least effort.
const PASSWORD_HASH: &str = "$2b$04$3em/w9I0LDfdmBeGHSvCgeVr30LiH96bYUB4FrXUkTSO9W.txyqCa";

impl Emulator {
    /// Starts one for the user `admin` with the password `not-a-secret`.
    #[track_caller]
    pub fn start(
        network: &Network,
        address: &str,
        port: u16,
        tls: Option<&Certificate>,
        systems: &[&str],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("users"), format!("admin:{PASSWORD_HASH}\n")).unwrap();
        let system = |name: &&str| {
            format!(
                "dict(uuid={name:?}, name='system {name}', power_state='On', external_notifier=False, nics=[])"
            )
        };
        let systems: Vec<String> = systems.iter().map(system).collect();
        let mut settings = format!(
            "import logging\nlogging.basicConfig(level=logging.INFO)\nSUSHY_EMULATOR_LISTEN_IP = {address:?}\n\
             SUSHY_EMULATOR_LISTEN_PORT = {port}\nSUSHY_EMULATOR_AUTH_FILE = {:?}\nSUSHY_EMULATOR_STATE_DIR = {:?}\n\
             SUSHY_EMULATOR_FAKE_SYSTEMS = [{}]\n",
            path("users"),
            directory.path(),
            systems.join(", ")
        );
        if let Some(certificate) = tls {
            for (name, file) in [("CERT", "certificate"), ("KEY", "key")] {
                settings.push_str(&format!(
                    "SUSHY_EMULATOR_SSL_{name} = {:?}\n",
                    certificate.path(file)
                ));
            }
        }
        fs::write(path("settings.py"), settings).unwrap();
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/venv/bin/sushy-emulator");
        let mut command = network.tool(program.to_str().unwrap());
        command.arg("--fake").arg("--config").arg(path("settings.py"));
        let server = Server::start(&mut command, &directory.path().join("log"), "Running on http");
        Self { server, _directory: directory }
    }

    /// What was asked of its systems, each as `SYSTEM RESET-TYPE`.
    pub fn orders(&self) -> Vec<String> {
        let log = self.server.log();
        let orders = log.lines().filter_map(|line| {
            line.split_once("System \"")?.1.split_once("\" power state set to ")
        });
        orders
            .map(|(system, reset_type)| format!("{system} {}", reset_type.trim_matches('"')))
            .collect()
    }

    /// Everything that it was asked for, by anybody.
    pub fn requests(&self) -> usize {
        self.server.log().lines().filter(|line| line.contains("HTTP/1.1")).count()
    }
}
