//! Operators and a jump host's pod: the real OpenSSH, with exactly the files that were rendered.

use std::fs;

use crate::support::programs::succeed;
use crate::support::ssh::{Key, Scene};
use crate::support::{assert_says, run_tool, text, tool};

// Who may log in

#[test]
fn an_operator_logs_in_with_a_listed_key() {
    let scene = Scene::of("edge");
    let server = scene.start();

    let said = scene.session("id -un; test ! -w /usr/local/bin/host && test -w . && echo at home in $PWD");

    assert_eq!(said, "jump\nat home in /home/jump\n");
    let fingerprint = succeed(tool("ssh-keygen").arg("-lf").arg(scene.operator.path()));
    let fingerprint = fingerprint.split_whitespace().nth(1).unwrap();
    // All operators are one user: the log tells them apart by their keys.
    assert_says(&server.log(), &["Accepted publickey for jump from 192.0.2.10 ", fingerprint]);
}

#[test]
fn a_key_that_is_not_listed_is_refused() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    for kind in ["ed25519", "rsa"] {
        let other = Key::new(kind);
        let output = run_tool(scene.client("ssh", &other).args(["-p", "2222", "jump@192.0.2.10", "id"]));

        assert_eq!(output.status.code(), Some(255));
        assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
    }
}

#[test]
fn passwords_are_not_even_asked_for() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    for method in ["password", "keyboard-interactive", "none", "hostbased"] {
        let mut client = scene.client("ssh", &scene.operator);
        client.args(["-o", "BatchMode=no", "-o", &format!("PreferredAuthentications={method}")]);
        let output = run_tool(client.args(["-p", "2222", "jump@192.0.2.10", "id"]));

        assert_eq!(output.status.code(), Some(255), "{method}");
        assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
    }
}

#[test]
fn root_is_refused_even_with_a_listed_key() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let output = run_tool(scene.client("ssh", &scene.operator).args(["-p", "2222", "root@192.0.2.10", "id"]));

    assert_eq!(output.status.code(), Some(255));
    assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
}

/// The base cluster's NodePorts may give all clients one address.
#[test]
fn who_fails_to_log_in_does_not_lock_out_others_of_the_same_address() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let other = Key::new("ed25519");

    for _ in 0..6 {
        run_tool(scene.client("ssh", &other).args(["-p", "2222", "jump@192.0.2.10", "id"]));
    }

    assert_eq!(scene.session("id -un"), "jump\n");
}

#[test]
fn options_before_a_key_hold() {
    let scene = Scene::with("edge", "command=\"echo only this\",no-port-forwarding ");
    let _server = scene.start();

    assert_eq!(scene.session("id"), "only this\n");
}

#[test]
fn a_jump_host_is_reached_over_ipv6_too() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    succeed(scene.client("ssh", &scene.operator).args(["-p", "2222", "jump@2001:db8::10", "true"]));
}

// What operators reach from there

#[test]
fn a_node_is_reached_by_its_name_with_the_mounted_key() {
    for (cluster, node, address) in [("edge", "depot-1", "198.51.100.51"), ("far", "depot-5", "2001:db8:0:a::55")] {
        let mut scene = Scene::of(cluster);
        scene.keep_host_keys(&Key::new("ed25519").private());
        let _node = scene.node(address, &scene.node);
        let _server = scene.start();

        let said = scene.session(&format!("ssh -o BatchMode=yes {node}"));

        assert_eq!(said, format!("this is the node {address}\n"));
    }
}

#[test]
fn a_node_that_does_not_admit_the_mounted_key_refuses() {
    let scene = Scene::of("edge");
    let _node = scene.node("198.51.100.51", &Key::new("ed25519"));
    let _server = scene.start();

    let output = scene.ssh("ssh -o BatchMode=yes depot-1");

    assert_eq!(output.status.code(), Some(255));
    assert_says(&text(&output.stderr), &["Permission denied"]);
}

#[test]
fn an_operator_jumps_to_a_node_with_a_key_of_their_own() {
    let scene = Scene::of("edge");
    let _node = scene.node("198.51.100.51", &scene.operator);
    let _server = scene.start();

    let mut client = scene.client("ssh", &scene.operator);
    let said = succeed(client.args(["-J", "jump@192.0.2.10:2222", "jump@depot-1", "id"]));

    assert_eq!(said, "this is the node 198.51.100.51\n");
}

#[test]
fn files_are_copied_to_and_fro() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let file = scene.operator.path().with_extension("pub");
    let back = scene.operator.path().with_extension("back");

    succeed(scene.client("scp", &scene.operator).arg("-P2222").arg(&file).arg("jump@192.0.2.10:copied"));
    succeed(scene.client("scp", &scene.operator).arg("-P2222").arg("jump@192.0.2.10:copied").arg(&back));

    assert_eq!(fs::read(file).unwrap(), fs::read(back).unwrap());
}

#[test]
fn a_session_has_the_host_command() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let said = scene.session("host list");

    assert_says(
        &said,
        &["NAME     ROLE    ADDRESS        BMC\n", "depot-4  Worker  198.51.100.54  ipmi://203.0.113.24:6230\n"],
    );
}

// What sessions know

#[test]
fn sessions_use_no_proxy_unless_bmcs_are_behind_one() {
    for (cluster, expected) in [("edge", "* *"), ("far", "none none")] {
        let mut scene = Scene::of(cluster);
        scene.keep_host_keys(&Key::new("ed25519").private());
        let proxy = [("https_proxy", "http://192.0.2.1:3128")];
        let _server = scene.pod().start(&proxy, "Server listening on :: port 2222");

        let said = scene.session("echo \"$https_proxy ${NO_PROXY:-none} ${no_proxy:-none}\"");

        assert_eq!(said, format!("http://192.0.2.1:3128 {expected}\n"), "{cluster}");
    }
}

#[test]
fn the_tenants_kubeconfig_is_there_when_cluster_api_has_made_it() {
    let mut scene = Scene::of("edge");
    let entries = [("value".to_owned(), "kind: Config\n".to_owned())];
    scene.secrets.insert("edge-kubeconfig".to_owned(), entries.into());
    let _server = scene.start();

    assert_eq!(scene.session("cat $KUBECONFIG"), "kind: Config\n");
}

#[test]
fn a_cluster_without_kubeconfig_has_a_jump_host_that_says_so() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    assert_eq!(scene.session("test -e $KUBECONFIG || echo $KUBECONFIG"), "/run/sipgen/kubeconfig/value\n");
}
