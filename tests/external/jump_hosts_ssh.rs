//! Operators and a jump host's pod: the real OpenSSH, with exactly the files that were rendered.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::programs::{object, sequence, string, succeed};
use crate::support::redfish::{Certificate, Emulator};
use crate::support::secrets_api::TOKEN;
use crate::support::ssh::{Key, Scene};
use crate::support::{Repo, assert_says, kustomize_build, run_tool, scanner, text, tool};

// Who may log in

#[test]
fn an_operator_logs_in_with_a_listed_key() {
    let scene = Scene::of("edge");
    let server = scene.start();

    let said =
        scene.session("id -un; test ! -w /usr/local/bin/host && test -w . && echo at home in $PWD");

    assert_eq!(said, "jump\nat home in /home/jump\n");
    let fingerprint = succeed(tool("ssh-keygen").arg("-lf").arg(scene.operator.path()));
    let fingerprint = fingerprint.split_whitespace().nth(1).unwrap();
    // All operators are one user: the log tells them apart by their keys.
    assert_says(&server.log(), &["Accepted publickey for jump from 192.0.2.10 ", fingerprint]);
}

#[test]
fn the_log_tells_which_key_has_ordered_what_from_a_bmc() {
    let scene = Scene::of("edge");
    let server = scene.start();

    let failed = scene.ssh("host off depot-1 --force");
    let with_password = "host redfish depot-1 AccountService setpassword admin not-for-the-log";
    scene.ssh(with_password);
    scene.session("host list");

    let fingerprint = succeed(tool("ssh-keygen").arg("-lf").arg(scene.operator.path()));
    let mut words = fingerprint.split_whitespace().skip(1);
    let (key, comment) = (words.next().unwrap(), words.next().unwrap());
    let by = format!("(by {key} {comment} from 192.0.2.10)");
    let problem = text(&failed.stderr);
    let (_, problem) = problem.trim().split_once("depot-1: ").unwrap();
    let log = server.log();
    assert_says(
        &log,
        &[
            &format!("\norder: host: off depot-1 --force {by}\n"),
            &format!("\norder: host: off depot-1 --force failed: {problem} {by}\n"),
            &format!("\norder: host: redfish depot-1 AccountService setpassword {by}\n"),
        ],
    );
    assert!(!log.contains("not-for-the-log") && !log.contains("host: list"), "{log}");
}

#[test]
fn a_line_that_an_operator_writes_to_the_log_looks_like_no_line_of_sshd() {
    let scene = Scene::of("edge");
    let server = scene.start();

    let forged = "Accepted publickey for jump from 203.0.113.9 port 1 ssh2";
    scene.session(&format!("printf '\\r{forged}\\n{forged}' > /tmp/sipgen-audit"));
    scene.session("head -c 100000 /dev/zero > /tmp/sipgen-audit; echo > /tmp/sipgen-audit");
    scene.ssh("host off depot-1");

    let log = server.log();
    assert_says(&log, &[&format!("\norder: ?{forged}\n"), "order: host: off depot-1 (by "]);
    assert!(log.lines().all(|line| !line.starts_with(forged)), "{log}");
    assert!(log.lines().all(|line| line.len() < 5000), "a line without end");
}

#[test]
fn without_the_log_no_order_is_given() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    for instead in ["", "; touch /tmp/sipgen-audit", "; mkfifo /tmp/sipgen-audit"] {
        scene.session(&format!("rm -f /tmp/sipgen-audit{instead}"));

        let refused = scene.ssh("SIPGEN_AUDIT=/dev/null host off depot-1 --force");

        assert_eq!(refused.status.code(), Some(1));
        assert_says(&text(&refused.stderr), &["no order is given without a line in the log: "]);
        // Who only reads needs no log.
        scene.session("host list");
    }
}

#[test]
fn an_agent_is_not_forwarded_and_sockets_are_not_either() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let mut client = scene.client("ssh", &scene.operator);
    let agent = "ssh-agent sh -c 'exec \"$0\" \"$@\"' ";
    let command = format!(
        "{agent} ssh -A -F {} -p 2222 jump@192.0.2.10 'echo agent=$SSH_AUTH_SOCK'",
        scene.operator.path().with_file_name("ssh_config").display()
    );
    drop(client.arg("-V").output());

    let said = succeed(scene.network.tool("sh").arg("-c").arg(command));

    assert_eq!(said, "agent=\n");
    let mut socket = scene.client("ssh", &scene.operator);
    socket.args(["-o", "ExitOnForwardFailure=yes", "-R", "/tmp/socket:198.51.100.51:22"]);
    let refused = run_tool(socket.args(["-p", "2222", "jump@192.0.2.10", "true"]));
    assert_eq!(refused.status.code(), Some(255), "{}", text(&refused.stderr));
}

/// More than sshd's own limit of 100, which 130 silent connections have measured to lock out 8 of 10.
#[test]
fn operators_log_in_beside_many_silent_connections() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let idle = "import socket, time\n\
                held = [socket.create_connection(('192.0.2.10', 2222)) for _ in range(130)]\n\
                print('held', flush=True)\ntime.sleep(600)";
    let mut silent = scene.network.tool("python3");
    let mut silent = silent.args(["-c", idle]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(silent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "held");

    let logins = (0..10).filter(|_| scene.ssh("true").status.success()).count();

    silent.kill().unwrap();
    silent.wait().unwrap();
    assert_eq!(logins, 10);
}

#[test]
fn a_probe_sees_sshd_and_leaves_no_line_in_its_log() {
    let scene = Scene::of("edge");
    let directory = scene.directory();
    let deployment = object(&kustomize_build(directory), "Deployment");
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    let probe = |name: &str| {
        let command: Vec<String> =
            sequence(&containers[0][name]["exec"]["command"]).iter().map(string).collect();
        let mut probe = scene.network.tool(&command[0]);
        run_tool(probe.args(&command[1..])).status.code()
    };
    let probes = ["readinessProbe", "livenessProbe"];
    assert_eq!(probes.map(probe), [Some(1); 2], "before sshd");
    let server = scene.start();
    let log = server.log();

    assert_eq!(probes.map(probe), [Some(0); 2]);

    assert_eq!(server.log(), log);
}

/// Algorithms that ssh-audit warns about, and why they stay.
const REJECTED_WARNINGS: [(&str, &str); 9] = [
    ("curve25519-sha256", WITHOUT_QUANTUM),
    ("curve25519-sha256@libssh.org", WITHOUT_QUANTUM),
    ("diffie-hellman-group-exchange-sha256", WITHOUT_QUANTUM),
    ("diffie-hellman-group14-sha256", WITHOUT_QUANTUM),
    ("diffie-hellman-group16-sha512", WITHOUT_QUANTUM),
    ("diffie-hellman-group18-sha512", WITHOUT_QUANTUM),
    ("hmac-sha2-256", WITHOUT_ETM),
    ("hmac-sha2-512", WITHOUT_ETM),
    ("umac-128@openssh.com", WITHOUT_ETM),
];
const WITHOUT_QUANTUM: &str =
    "clients before OpenSSH 9.0 have no exchange that withstands quantum computers";
const WITHOUT_ETM: &str = "clients that have neither AEAD nor encrypt-then-MAC use it";

#[test]
fn ssh_audit_accepts_every_algorithm() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let program = scanner("ssh-audit").get_program().to_owned();
    let mut audit = scene.network.tool(program.to_str().unwrap());
    audit.args(["--json", "--skip-rate-test", "--port=2222", "192.0.2.10"]);

    let output = run_tool(&mut audit);

    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = BTreeSet::new();
    for kind in ["kex", "key", "enc", "mac"] {
        let algorithms = report[kind].as_array().unwrap();
        assert!(!algorithms.is_empty(), "{kind}: {report}");
        for algorithm in algorithms {
            let name = algorithm["algorithm"].as_str().unwrap();
            assert_eq!(algorithm["notes"].get("fail"), None, "{name}");
            found.extend(algorithm["notes"].get("warn").map(|_| name));
        }
    }
    assert_eq!(found, REJECTED_WARNINGS.map(|(name, _)| name).into());
}

#[test]
fn a_key_that_is_not_listed_is_refused() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    for kind in ["ed25519", "rsa"] {
        let other = Key::new(kind);
        let output =
            run_tool(scene.client("ssh", &other).args(["-p", "2222", "jump@192.0.2.10", "id"]));

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

    let output = run_tool(scene.client("ssh", &scene.operator).args([
        "-p",
        "2222",
        "root@192.0.2.10",
        "id",
    ]));

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

/// With a certificate authority instead of keys, users are managed elsewhere.
#[test]
fn an_operator_logs_in_with_a_certificate_and_the_log_has_its_id() {
    let scene = Scene::with("edge", "cert-authority,principals=\"edge\" ");
    let server = scene.start();
    let authority = &scene.operator;
    let certified = |id: &str, principal: &str, valid: &str| {
        let key = Key::new("ed25519");
        let mut sign = tool("ssh-keygen");
        sign.args(["-q", "-I", id, "-n", principal, "-V", valid, "-s"]);
        succeed(sign.arg(authority.path()).arg(key.path().with_extension("pub")));
        key
    };
    let order = |key: &Key| {
        let mut client = scene.client("ssh", key);
        run_tool(client.args(["-p", "2222", "jump@192.0.2.10", "host off depot-1 --force"]))
    };

    let anna = certified("anna@example.com", "edge", "+1h");
    assert_eq!(order(&anna).status.code(), Some(1), "the BMC is not there");
    for refused in [
        certified("expired", "edge", "-2h:-1h"),
        certified("of another cluster", "lab", "+1h"),
        Key::new("ed25519"),
    ] {
        let output = order(&refused);
        assert_eq!(output.status.code(), Some(255));
        assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
    }

    let shown = succeed(tool("ssh-keygen").arg("-lf").arg(anna.path()));
    let fingerprint = shown.split_whitespace().nth(1).unwrap();
    assert_says(
        &server.log(),
        &[
            &format!("ED25519-CERT {fingerprint} ID anna@example.com (serial 0) CA "),
            &format!(
                "host: off depot-1 --force (by {fingerprint} anna@example.com from 192.0.2.10)"
            ),
        ],
    );
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
    for (cluster, node, address) in
        [("edge", "depot-1", "198.51.100.51"), ("far", "depot-5", "2001:db8:0:a::55")]
    {
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

    succeed(
        scene.client("scp", &scene.operator).arg("-P2222").arg(&file).arg("jump@192.0.2.10:copied"),
    );
    succeed(
        scene.client("scp", &scene.operator).arg("-P2222").arg("jump@192.0.2.10:copied").arg(&back),
    );

    assert_eq!(fs::read(file).unwrap(), fs::read(back).unwrap());
}

#[test]
fn a_session_has_the_host_command() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let said = scene.session("host list");

    assert_says(
        &said,
        &[
            "NAME     ROLE    ADDRESS        BMC\n",
            "depot-4  Worker  198.51.100.54  ipmi://203.0.113.24:6230\n",
        ],
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

    assert_eq!(
        scene.session("test -e $KUBECONFIG || echo $KUBECONFIG"),
        "/run/sipgen/kubeconfig/value\n"
    );
}

// What changes while they run

const HOSTS: &str = "hosts/hosts.yaml";
const EDGE: &str = "clusters/edge.yaml";
const POOL: &str = "depot.example.com/pool: edge";
const SPARE: &str = "depot.example.com/pool: spare";

/// The fixture with a host less, which has a BMC Secret of its own: depot-1.
fn without_depot_1() -> Scene {
    let repo = Repo::of_fixture("jump-host");
    repo.replace_behind(
        HOSTS,
        "name: depot-1\n",
        "credentialsName: depot-bmc",
        "credentialsName: depot-1-bmc",
    );
    repo.replace_behind(HOSTS, "name: depot-1\n", POOL, SPARE);
    repo.replace(EDGE, "active: 4", "active: 3");
    let mut scene = Scene::in_repo(repo, "edge", "");
    let entries = [("username", "admin"), ("password", "not-a-secret")];
    let entries = entries.map(|(key, value)| (key.to_owned(), value.to_owned()));
    scene.secrets.insert("depot-1-bmc".to_owned(), entries.into());
    scene
}

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_running_jump_host_gets_one_host_more_and_one_less_and_sessions_go_on() {
    let scene = without_depot_1();
    let certificate = Certificate::of("203.0.113.21");
    let _bmc =
        Emulator::start(&scene.network, "203.0.113.21", 443, Some(&certificate), &["depot-1"]);
    let _node = scene.node("198.51.100.51", &scene.node);
    let server = scene.start();
    let mut client = scene.client("ssh", &scene.operator);
    client
        .args(["-p", "2222", "jump@192.0.2.10", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut session = client.spawn().unwrap();
    let (mut to, mut from) =
        (session.stdin.take().unwrap(), BufReader::new(session.stdout.take().unwrap()));
    let mut echo = |line: &str| {
        writeln!(to, "{line}").unwrap();
        let mut echo = String::new();
        from.read_line(&mut echo).unwrap();
        assert_eq!(echo, format!("{line}\n"));
    };
    echo("before");
    assert_eq!(scene.ssh("getent hosts depot-1").status.code(), Some(2));
    assert_says(&text(&scene.ssh("host status depot-1").stderr), &["there is no such host"]);
    assert!(!scene.session("ls /run/sipgen/bmc").contains("depot-1"));

    scene.repo.replace_behind(HOSTS, "name: depot-1\n", SPARE, POOL);
    scene.repo.replace(EDGE, "active: 3", "active: 4");
    scene.repo.generate(&[]).expect(0);
    server.apply(&scene.directory(), &scene.secrets);

    eventually("the name resolves", || scene.ssh("getent hosts depot-1").status.success());
    assert_says(
        &scene.session("getent hosts depot-1 localhost"),
        &["198.51.100.51", "depot-1", "localhost"],
    );
    assert_eq!(scene.session("ssh -o BatchMode=yes depot-1"), "this is the node 198.51.100.51\n");
    eventually("its BMC is asked", || scene.ssh("host status depot-1").status.success());
    assert_says(&scene.session("host status depot-1"), &["depot-1  On     OK"]);
    echo("between");

    scene.repo.replace_behind(HOSTS, "name: depot-1\n", POOL, SPARE);
    scene.repo.replace(EDGE, "active: 4", "active: 3");
    scene.repo.generate(&[]).expect(0);
    server.apply(&scene.directory(), &scene.secrets);

    eventually("the name is forgotten", || {
        scene.ssh("getent hosts depot-1").status.code() == Some(2)
    });
    eventually("so are its credentials", || {
        !scene.session("ls /run/sipgen/bmc").contains("depot-1")
    });
    echo("after");
    assert_eq!(
        server.log().matches("Server listening on :: port 2222").count(),
        1,
        "{}",
        server.log()
    );
    drop(to);
    assert!(session.wait().unwrap().success());
}

#[test]
fn a_changed_password_and_a_secret_that_is_made_later_reach_a_running_jump_host() {
    let mut scene = Scene::of("edge");
    let secret = scene.secrets.remove("depot-bmc").unwrap();
    let server = scene.start();
    assert_says(
        &text(&scene.ssh("host on depot-2").stderr),
        &["is the Secret there? (the API server answers 404 for the Secret depot-bmc)"],
    );

    let mut secrets = scene.secrets.clone();
    secrets.insert("depot-bmc".to_owned(), secret);
    server.apply(&scene.directory(), &secrets);

    eventually("it is read", || {
        scene.session("cat /run/sipgen/bmc/depot-2").contains("not-a-secret")
    });
}

#[test]
fn operators_get_no_token_of_the_base_cluster() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    assert!(
        scene.api.asked().iter().any(|asked| asked.ends_with(" 200")),
        "{:?}",
        scene.api.asked()
    );
    let places = "/run /tmp /home /etc /var /proc/[0-9]*/environ";
    let found = scene
        .session(&format!("grep -rsl {TOKEN} {places}; ls /run/sipgen; env | grep TOKEN; true"));

    assert_eq!(found, "bmc\nhost-keys\nhosts\nkept-host-keys\nkubeconfig\nssh-private-keys\n");
}

#[test]
fn operators_cannot_change_names_and_credentials() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    for file in ["/etc/hosts", "/run/sipgen/bmc/depot-2", "/run/sipgen/hosts/hosts"] {
        assert_ne!(
            scene.ssh(&format!("test -s {file} && echo more >> {file}")).status.code(),
            Some(0),
            "{file}"
        );
    }
}

// Homes

fn with_homes(homes: &str) -> Scene {
    let repo = Repo::of_fixture("jump-host");
    repo.replace(EDGE, "        hostKeys:\n", &format!("{homes}        hostKeys:\n"));
    Scene::in_repo(repo, "edge", "")
}

#[test]
fn homes_in_a_volume_survive_a_restart_with_what_operators_have_set() {
    let scene = with_homes("        homes: {volumeClaim: {storage: 2Gi}}\n");
    let _node = scene.node("198.51.100.51", &scene.node);
    let first = scene.start();
    scene.session(
        "echo kept > note && printf 'Host somewhere\\n  HostName 198.51.100.77\\n' >> .ssh/config && \
         ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 && ssh -o BatchMode=yes depot-1",
    );
    drop(first);

    // The volume is mounted anew, and all that is in it opened to the group, as some drivers do it.
    let _second = scene.start();

    assert_eq!(scene.session("cat note"), "kept\n");
    assert_eq!(scene.session("ssh -o BatchMode=yes depot-1"), "this is the node 198.51.100.51\n");
    assert_says(&scene.session("ssh -G somewhere"), &["hostname 198.51.100.77\n"]);
    assert_eq!(
        scene.session("grep -c sipgen_config .ssh/config; stat -c %a .ssh/id_ed25519"),
        "1\n600\n"
    );
}

#[test]
fn without_a_volume_homes_are_empty_after_a_restart() {
    let scene = with_homes("");
    let first = scene.start();
    scene.session("echo lost > note");
    drop(first);

    let _second = scene.start();

    assert_eq!(scene.session("cat note 2> /dev/null || echo none"), "none\n");
}

#[test]
fn a_node_that_was_provisioned_anew_is_forgotten_by_its_name() {
    let scene = Scene::of("edge");
    let node = scene.node("198.51.100.51", &scene.node);
    let _server = scene.start();
    scene.session("ssh -o BatchMode=yes depot-1");
    drop(node);
    for file in ["host_key", "host_key.pub"] {
        fs::remove_file(scene.node.path().with_file_name(file)).unwrap();
    }
    let _node = scene.node("198.51.100.51", &scene.node);

    assert_says(
        &text(&scene.ssh("ssh -o BatchMode=yes depot-1").stderr),
        &["IDENTIFICATION HAS CHANGED"],
    );
    scene.session("ssh-keygen -R depot-1");

    assert_eq!(scene.session("ssh -o BatchMode=yes depot-1"), "this is the node 198.51.100.51\n");
}
