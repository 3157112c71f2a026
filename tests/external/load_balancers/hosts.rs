//! The hosts behind a load balancer: they answer lines, with their names before them.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::load_balancers::network::add_address;
use crate::support::programs::succeed;
use crate::support::tool;

/// A host that can be ill.
pub trait Host {
    /// Its health checks fail from now on; its connections stay.
    fn fall_ill(&mut self);
    fn recover(&mut self);
}

/// A host with listeners on ports, whose answers tell the port, too.
pub struct Worker {
    name: &'static str,
    address: IpAddr,
    ports: Vec<u16>,
    stop: Arc<AtomicBool>,
    listening: Vec<JoinHandle<()>>,
}

impl Worker {
    pub fn start(name: &'static str, address: &str, ports: impl IntoIterator<Item = u16>) -> Self {
        let address = address.parse().unwrap();
        add_address(address);
        let ports = ports.into_iter().collect();
        let mut worker = Self { name, address, ports, stop: Arc::default(), listening: Vec::new() };
        worker.recover();
        worker
    }
}

impl Host for Worker {
    fn fall_ill(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.listening.drain(..).for_each(|thread| thread.join().unwrap());
    }

    fn recover(&mut self) {
        self.stop = Arc::default();
        for port in self.ports.iter().copied() {
            let listener = TcpListener::bind((self.address, port)).unwrap();
            listener.set_nonblocking(true).unwrap();
            let (stop, name) = (self.stop.clone(), format!("{}:{port}", self.name));
            self.listening.push(thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Ok((connection, _)) = listener.accept() else {
                        thread::sleep(Duration::from_millis(20));
                        continue;
                    };
                    let name = name.clone();
                    thread::spawn(move || answer(connection, &name));
                }
            }));
        }
    }
}

/// Sends every line back, until the other side has enough.
fn answer(mut connection: TcpStream, name: &str) {
    let lines = BufReader::new(connection.try_clone().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        if writeln!(connection, "{name} {line}").is_err() {
            return;
        }
    }
}

/// A host with an API server.
pub struct ApiServer {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl ApiServer {
    pub fn start(name: &str, address: &str, certificate: &Path) -> Self {
        add_address(address.parse().unwrap());
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/external/load_balancers/api_server.py");
        let mut process = Command::new("python3")
            .arg(program)
            .args([address, name])
            .arg(certificate)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("python3 cannot be run: {error}"));
        let said = BufReader::new(process.stdout.take().unwrap());
        let mut server = Self { process, said };
        server.expect("serving");
        server
    }

    fn expect(&mut self, word: &str) {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), word);
    }

    pub fn answer_readyz(&mut self, status: u16) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{status}").unwrap();
        self.expect("switched");
    }
}

impl Host for ApiServer {
    fn fall_ill(&mut self) {
        self.answer_readyz(500);
    }

    fn recover(&mut self) {
        self.answer_readyz(200);
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A certificate that nobody trusts, with its key.
pub fn certificate(directory: &Path) -> PathBuf {
    let file = directory.join("certificate.pem");
    succeed(
        tool("openssl")
            .args([
                "req",
                "-x509",
                "-nodes",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
            ])
            .args(["-subj", "/CN=kube-apiserver", "-days", "2", "-keyout"])
            .arg(&file)
            .arg("-out")
            .arg(directory.join("public.pem")),
    );
    let public = std::fs::read(directory.join("public.pem")).unwrap();
    std::fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(&public).unwrap();
    file
}
