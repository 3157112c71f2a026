//! A network of its own, where any address and any port can be had, for real programs that talk to each other.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::tool;

/// A network namespace with addresses on its loopback. An ordinary user becomes root in it.
pub struct Network {
    holder: Child,
}

impl Network {
    #[track_caller]
    pub fn with(addresses: &[&str]) -> Self {
        let mut commands =
            "ip link set lo up\necho 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start\n"
                .to_owned();
        for address in addresses {
            // Without `nodad` an IPv6 address is not there for a second.
            let options = if address.contains(':') { "/128 dev lo nodad" } else { "/32 dev lo" };
            commands.push_str(&format!("ip addr add {address}{options}\n"));
        }
        let mut unshare = tool("unshare");
        if !is_root() {
            unshare.args(["--user", "--map-root-user", "--map-auto"]);
        }
        // It ends when its input does, even if this process is killed.
        unshare.args(["--net", "sh", "-ec", &format!("{commands}echo ready\nexec cat")]);
        let holder = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut holder = holder.unwrap_or_else(|error| panic!("unshare cannot be run: {error}"));
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(
            line, "ready\n",
            "a network namespace cannot be made: is this a container without the right to?"
        );
        Self { holder }
    }

    /// A program in the network, with all rights there.
    pub fn tool(&self, program: &str) -> Command {
        let mut command = tool("nsenter");
        command.arg("--target").arg(self.holder.id().to_string()).arg("--net");
        if !is_root() {
            command.arg("--user");
        }
        command.arg("--").arg(tool(program).get_program());
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A program that serves until it is dropped, with what it has said so far in a file.
pub struct Server {
    process: Child,
    log: std::path::PathBuf,
}

impl Server {
    /// Starts a program, and waits until it has said that it is ready.
    #[track_caller]
    pub fn start(command: &mut Command, log: &Path, ready: &str) -> Self {
        let file = fs::File::create(log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut server = Self { process, log: log.to_owned() };
        let deadline = Instant::now() + Duration::from_secs(120);
        while !server.log().contains(ready) {
            let ended = server.process.try_wait().unwrap();
            assert!(ended.is_none(), "it has ended ({ended:?}):\n{}\n{command:?}", server.log());
            assert!(Instant::now() < deadline, "it is not ready:\n{}\n{command:?}", server.log());
            sleep(Duration::from_millis(20));
        }
        server
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether this process may make namespaces without being root in one of its own first.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}
