//! What the tests of `inputs` begin with.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Repo, Run, run_tool, text, tool};

/// A command with the installed tools on its PATH.
pub fn with_tools(mut command: Command) -> Command {
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/bin");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{tools}:{path}"));
    command
}

/// Runs sipgen in a repo, with the tools.
pub fn sipgen(repo: &Repo, arguments: &[&str]) -> Run {
    crate::support::run(&mut with_tools(repo.sipgen(arguments)))
}

/// Runs sipgen in a repo, with a text on its stdin.
pub fn piped(repo: &Repo, arguments: &[&str], input: &str) -> Run {
    let mut command = with_tools(repo.sipgen(arguments));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that refuses to run does not read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// What the real kustomize makes of a directory of a repo.
pub fn built(repo: &Repo, directory: &str) -> String {
    crate::support::kustomize_build(repo.path().join(directory))
}

/// What the real kubectl prints of a live host: the manifest with what the API server and Metal3 add.
pub fn live(host: &str) -> String {
    let live =
        host.replacen("metadata:\n", "metadata:\n  uid: 3b8c0e0e-5d55-4f43-8e0c-3d1f0a3a1c11\n", 1);
    live + "status:\n  provisioning: {state: available}\n"
}

/// A SIPCluster that wants one worker behind a load balancer on the network `oam`.
pub fn want_balanced(repo: &Repo) {
    repo.write(
        "clusters/edge.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: tenant-a, name: edge}\nspec:\n  \
         nodes: {Worker: {labelSelector: {}, count: {active: 1}}}\n  services:\n    loadBalancerWorker:\n      - image: \
         docker.io/library/haproxy:3.0\n        nodeInterfaceId: oam\n        clusterIP: 192.0.2.10\n        \
         nodePortRange: {start: 30080, end: 30080}\n",
    );
}

/// The load balancer's configuration, which has the addresses of hosts.
pub fn balanced(repo: &Repo) -> String {
    repo.read("overlays/clusters/tenant-a/edge/loadbalancer-worker/haproxy.cfg")
}

/// Network data with one address.
pub fn networks(address: &str) -> String {
    format!(
        "{{\"networks\": [{{\"id\": \"oam\", \"type\": \"ipv4\", \"ip_address\": \"{address}\"}}]}}\n"
    )
}

/// The public half of a new key of age.
pub fn age_key(repo: &Repo) -> String {
    let file = repo.path().join(".git/age.txt").to_str().unwrap().to_owned();
    let made = run_tool(tool("age-keygen").args(["-o", &file]));
    assert!(made.status.success(), "{}", text(&made.stderr));
    text(&run_tool(tool("age-keygen").args(["-y", &file])).stdout).trim().to_owned()
}

/// Has the real sops encrypt a file of a repo in place.
pub fn encrypt(repo: &Repo, file: &str, recipient: &str, arguments: &[&str]) {
    let mut sops = tool("sops");
    sops.args(["--encrypt", "--in-place", "--age", recipient])
        .args(arguments)
        .arg(file)
        .current_dir(repo.path());
    let output = run_tool(&mut sops);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
