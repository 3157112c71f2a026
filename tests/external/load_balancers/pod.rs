//! A pod of a load balancer: HAProxy, run as the generated Deployment says.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use yaml_serde::Value;

use crate::load_balancers::connection::Connection;
use crate::load_balancers::network::{OF_POD, POD};
use crate::support::programs::*;
use crate::support::{kustomize_build, tool};

/// HAProxy as process 1 in a network of its own, without any capability, and with the generated configuration where it is mounted.
pub struct Pod {
    /// It waits for HAProxy.
    process: Child,
    deployment: Value,
    directory: TempDir,
}

impl Pod {
    /// Starts HAProxy as the objects in a directory of the output say, and waits until the pod is ready.
    pub fn start(haproxy: &Path, output: &Path) -> Self {
        let build = kustomize_build(output);
        let deployment = object(&build, "Deployment");
        let container = container(&deployment);
        let mounted = PathBuf::from(string(&container["volumeMounts"][0]["mountPath"]));
        succeed(
            Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(mounted.parent().unwrap()),
        );
        fs::create_dir(&mounted).unwrap();
        for (file, text) in object(&build, "ConfigMap")["data"].as_mapping().unwrap() {
            fs::write(mounted.join(string(file)), string(text)).unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        let mut command = tool("nsenter");
        if let Some(first) = haproxy.parent().filter(|first| first.is_absolute()) {
            let path = std::env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{path}", first.display()));
        }
        command
            .args([OF_POD, "unshare", "--pid", "--fork", "--kill-child", "--"])
            .args(UNPRIVILEGED);
        command.args(sequence(&container["command"]).iter().map(string));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut pod = Self { process: command.spawn().unwrap(), deployment, directory };
        let ready = wait_until(Duration::from_secs(30), || {
            pod.exit().is_some() || pod.probe("readinessProbe") == 200
        });
        assert!(ready && pod.exit().is_none(), "HAProxy does not get ready");
        pod
    }

    pub fn container(&self) -> &Value {
        container(&self.deployment)
    }

    /// How long the pod may take to end.
    pub fn grace_period(&self) -> Duration {
        let seconds = &self.deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
        Duration::from_secs(seconds.as_u64().unwrap())
    }

    /// The number of a port of the container.
    pub fn port(&self, name: &str) -> u16 {
        let port = sequence(&self.container()["ports"]).iter().find(|port| port["name"] == name);
        port.unwrap_or_else(|| panic!("no port {name}"))["containerPort"]
            .as_u64()
            .unwrap()
            .try_into()
            .unwrap()
    }

    /// The names of the ports for clients.
    pub fn client_ports(&self) -> Vec<String> {
        let names = sequence(&self.container()["ports"]).iter().map(|port| string(&port["name"]));
        names.filter(|name| name != "metrics").collect()
    }

    /// A connection to some host, through the first port.
    pub fn connect(&self) -> io::Result<Connection> {
        let name = self.client_ports().swap_remove(0);
        let connect = if name == "kube-apiserver" { Connection::tls } else { Connection::plain };
        connect(POD[0], self.port(&name))
    }

    /// The host that a new connection reaches, if any.
    pub fn host(&self) -> Option<String> {
        let answer = self.connect().ok()?.ask("hello").ok()?;
        Some(answer.split([':', ' ']).next()?.to_owned())
    }

    /// The status with which a probe is answered; 0 if it is not.
    pub fn probe(&self, name: &str) -> u16 {
        let probe = &self.container()[name]["httpGet"];
        self.get(&string(&probe["port"]), &string(&probe["path"])).map_or(0, |(status, _)| status)
    }

    /// Status and text of a page.
    pub fn get(&self, port: &str, path: &str) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect((POD[0], self.port(port)))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.ok_or(io::ErrorKind::InvalidData)?, answer))
    }

    /// Does what the kubelet does first when the pod is deleted: runs the hook inside.
    pub fn stop(&self) {
        let inside = format!("--pid=/proc/{}/ns/pid_for_children", self.process.id());
        let mut command = tool("nsenter");
        command.args([OF_POD, &inside]).arg("--").args(UNPRIVILEGED);
        command.args(
            sequence(&self.container()["lifecycle"]["preStop"]["exec"]["command"])
                .iter()
                .map(string),
        );
        let mut hook = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::spawn(move || hook.wait());
    }

    /// Returns the calls by which HAProxy takes and makes connections and sets their options during an action.
    pub fn traced(&self, action: impl FnOnce()) -> String {
        let log = self.directory.path().join("calls");
        let mut strace = tool("strace");
        strace.args(["-f", "-qq", "-e", "trace=accept4,connect,setsockopt", "-o"]).arg(&log);
        let processes = descendants(self.process.id());
        for process in &processes {
            strace.args(["-p", &process.to_string()]);
        }
        let mut strace = strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_traced = || {
            processes.iter().all(|process| {
                let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
                !status.contains("TracerPid:\t0\n")
            })
        };
        assert!(wait_until(Duration::from_secs(20), is_traced), "strace does not trace HAProxy");
        action();
        succeed(tool("kill").arg(strace.id().to_string()));
        strace.wait().unwrap();
        fs::read_to_string(log).unwrap()
    }

    /// How HAProxy has ended.
    pub fn exit(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().unwrap()
    }

    /// Waits for the end of HAProxy.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        wait_until(time, || self.exit().is_some())
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "{}",
                fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
            );
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the processes below a process.
fn descendants(process: u32) -> Vec<u32> {
    let file = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(file).unwrap();
    let children = children.split_whitespace().map(|child| child.parse().unwrap());
    children.flat_map(|child: u32| [vec![child], descendants(child)].concat()).collect()
}

/// As the container's security context has it.
const UNPRIVILEGED: [&str; 5] =
    ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"];

fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

/// Whether something comes true within a time.
pub fn wait_until(time: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < time {
        if is_true() {
            return true;
        }
        thread::sleep(Duration::from_millis(100));
    }
    is_true()
}
