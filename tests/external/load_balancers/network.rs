//! A network of its own for each scenario, so that addresses and ports are those of the generated files and no two
//! tests meet.

use std::any::type_name;
use std::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::network::is_root;
use crate::support::programs::succeed;
use crate::support::{run_tool, text, tool};

const HAPROXY: &str = "SIPGEN_TEST_HAPROXY";
const BALANCER: &str = "SIPGEN_TEST_BALANCER";

/// Runs a scenario with every HAProxy that there is and each of some load balancers, by their directories in the
/// output, all at the same time. Each run is a process with a network of its own: this very test, started anew.
#[track_caller]
pub fn everywhere<F: Fn(&Path, &str)>(balancers: &[&str], scenario: F) {
    if let (Some(haproxy), Ok(balancer)) = (env::var_os(HAPROXY), env::var(BALANCER)) {
        set_up();
        scenario(Path::new(&haproxy), &balancer);
        return;
    }
    let test = type_name::<F>().trim_end_matches("::{{closure}}").split_once("::").unwrap().1;
    let runs: Vec<(String, Child)> = haproxies()
        .iter()
        .flat_map(|haproxy| balancers.iter().map(move |balancer| (haproxy, *balancer)))
        .map(|(haproxy, balancer)| {
            (format!("{} {balancer}", haproxy.display()), start(test, haproxy, balancer))
        })
        .collect();
    let outputs = runs.into_iter().map(|(run, child)| (run, child.wait_with_output().unwrap()));
    // All of them are waited for, so that none is left behind.
    let failed: Vec<String> = outputs
        .map(|(run, output)| {
            (run, output.status.success(), text(&output.stdout) + &text(&output.stderr))
        })
        .filter(|(_, success, said)| !success || !said.contains("1 passed"))
        .map(|(run, _, said)| format!("-- {run}\n{said}"))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Starts a test anew, in namespaces of its own.
fn start(test: &str, haproxy: &Path, balancer: &str) -> Child {
    let mut command = tool("unshare");
    command.args(["--net", "--mount"]);
    if !is_root() {
        command.arg("--map-root-user");
    }
    command.arg("--").arg(env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]);
    command.env(HAPROXY, haproxy).env(BALANCER, balancer);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("unshare of util-linux cannot be run: {error}"))
}

/// Every HAProxy that a generated configuration is tried with: the machine's, and one of version 3.
pub fn haproxies() -> Vec<PathBuf> {
    let machines = PathBuf::from("haproxy");
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/haproxy-3/bin/haproxy");
    if is_version_3(&machines) {
        return vec![machines];
    }
    assert!(
        is_version_3(&other),
        "{} is no HAProxy 3; `tests/tools/install` gets it",
        other.display()
    );
    vec![machines, other]
}

fn is_version_3(haproxy: &Path) -> bool {
    let is_there = haproxy.is_relative() || haproxy.is_file();
    is_there
        && text(&run_tool(tool(haproxy.to_str().unwrap()).arg("-v")).stdout).contains("version 3.")
}

/// Where the pod is reached.
pub const POD: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2)),
];

/// The network that the pod alone is in.
pub const OF_POD: &str = "--net=/run/netns/pod";

/// Two networks and a cable between: one for hosts and clients, which this process is in, and that of the pod.
fn set_up() {
    succeed(Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]));
    for line in "\
        netns add pod
        link add node type veth peer name eth0 netns pod
        link set lo up
        link set node up
        address add 192.0.2.1/24 dev node
        address add 2001:db8:1::1/64 dev node nodad
        -n pod link set lo up
        -n pod link set eth0 up
        -n pod address add 192.0.2.2/24 dev eth0
        -n pod address add 2001:db8:1::2/64 dev eth0 nodad
        -n pod route add default via 192.0.2.1
        -n pod route add default via 2001:db8:1::1"
        .lines()
    {
        succeed(tool("ip").args(line.split_whitespace()));
    }
}

/// Gives the network of the hosts an address.
pub fn add_address(address: IpAddr) {
    let mut command = tool("ip");
    match address {
        IpAddr::V4(_) => command.args(["address", "add", &format!("{address}/32"), "dev", "lo"]),
        IpAddr::V6(_) => {
            command.args(["address", "add", &format!("{address}/128"), "dev", "lo", "nodad"])
        }
    };
    succeed(&mut command);
}
