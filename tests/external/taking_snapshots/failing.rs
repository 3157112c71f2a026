//! Snapshots of an API server that fails.

use serde_json::json;

use crate::support::{Repo, Run, run};
use crate::taking_snapshots::stub::{Answer, Stub, host, page, status};

const HOSTS: &str = "/apis/metal3.io/v1alpha1/baremetalhosts?&limit=500";
const FILE: &str = "snapshot/metal.yaml";

fn snapshot(repo: &Repo, stub: &Stub, arguments: &[&str]) -> Run {
    let mut command = repo.sipgen(&["snapshot", "--kubeconfig"]);
    run(command.arg(stub.kubeconfig()).args(arguments))
}

/// Answers for HardwareData, of which there is none.
fn nothing_else(path: &str) -> Answer {
    if path.contains("/hardwaredata") { page(&[], None) } else { status(404, "NotFound") }
}

/// A repo with a snapshot of one host.
fn repo_with_host() -> Repo {
    let repo = Repo::empty();
    let stub = Stub::start(|path, _| {
        if path.starts_with(HOSTS) { page(&[host("a")], None) } else { nothing_else(path) }
    });
    snapshot(&repo, &stub, &[]).expect(0);
    assert!(repo.read(FILE).contains("name: \"a\""));
    repo.commit();
    repo
}

#[test]
fn a_list_without_an_end_is_an_error() {
    let stub = Stub::start(|path, _| {
        if path.contains("/baremetalhosts") {
            page(&[host("b")], Some("again"))
        } else {
            nothing_else(path)
        }
    });
    let repo = repo_with_host();
    let run = snapshot(&repo, &stub, &[]).expect(2);
    assert!(run.stderr.contains("repeats a `continue` token"), "{}", run.stderr);
    assert!(repo.read(FILE).contains("name: \"a\""));
}

#[test]
fn busy_and_failing_servers_are_asked_again() {
    let stub = Stub::start(|path, before| match (path.starts_with(HOSTS), before) {
        (true, 0) => status(429, "TooManyRequests"),
        (true, 1) => Answer::Closed,
        (true, 2) => status(503, "ServiceUnavailable"),
        (true, 3) => status(500, "InternalError"),
        (true, _) => page(&[host("a")], None),
        (false, 0) => Answer::Closed,
        (false, _) => nothing_else(path),
    });
    let repo = Repo::empty();
    snapshot(&repo, &stub, &[]).expect(0);
    assert!(repo.read(FILE).contains("name: \"a\""));
    assert_eq!(stub.asked().iter().filter(|path| path.starts_with(HOSTS)).count(), 5);
}

#[test]
fn an_answer_that_does_not_end_is_given_up() {
    let stub = Stub::start(|path, before| match (path.starts_with(HOSTS), before) {
        (true, 0) => Answer::Unfinished(json!({"items": []})),
        (true, _) => page(&[host("a")], None),
        (false, _) => nothing_else(path),
    });
    let repo = Repo::empty();
    snapshot(&repo, &stub, &["--timeout", "1"]).expect(0);
    assert!(repo.read(FILE).contains("name: \"a\""));
}

#[test]
fn a_list_that_expires_is_read_from_its_beginning() {
    let stub = Stub::start(|path, before| match path {
        _ if path.starts_with(HOSTS) && path.contains("continue=second") && before == 0 => {
            status(410, "Expired")
        }
        _ if path.starts_with(HOSTS) && path.contains("continue=second") => {
            page(&[host("c")], None)
        }
        // The host `gone` is deleted meanwhile.
        _ if path.starts_with(HOSTS) && before == 0 => {
            page(&[host("a"), host("gone")], Some("second"))
        }
        _ if path.starts_with(HOSTS) => page(&[host("a"), host("b")], Some("second")),
        _ => nothing_else(path),
    });
    let repo = Repo::empty();
    snapshot(&repo, &stub, &[]).expect(0);
    let text = repo.read(FILE);
    assert!(
        ["a", "b", "c"].iter().all(|name| text.contains(&format!("name: \"{name}\""))),
        "{text}"
    );
    assert!(!text.contains("gone"), "{text}");
}

#[test]
fn what_is_no_answer_changes_no_file() {
    let repo = repo_with_host();
    let before = repo.on_disk("");
    type Rule = fn(&str, usize) -> Answer;
    let cases: [(&str, Rule, &str); 6] = [
        (
            "forbidden",
            |_, _| status(403, "Forbidden"),
            "`sipgen snapshot --rbac` prints the required permissions",
        ),
        ("unauthorized", |_, _| status(401, "Unauthorized"), "said Unauthorized"),
        ("no such kind", |_, _| status(404, "NotFound"), "is this the cluster that runs Metal3?"),
        (
            "for ever",
            |path, _| {
                if path.contains("continue") {
                    status(410, "Expired")
                } else {
                    page(&[host("a")], Some("x"))
                }
            },
            "expired 5 times",
        ),
        (
            "second page",
            |path, _| {
                if path.contains("continue") {
                    status(403, "Forbidden")
                } else {
                    page(&[host("a")], Some("x"))
                }
            },
            "said Forbidden",
        ),
        (
            "no host",
            |path, _| {
                if path.starts_with(HOSTS) { page(&[], None) } else { nothing_else(path) }
            },
            "would lose every host of namespace `metal`",
        ),
    ];
    for (name, answer, said) in cases {
        let stub = Stub::start(answer);
        for arguments in [&[] as &[&str], &["--check"]] {
            let run = snapshot(&repo, &stub, arguments).expect(2);
            assert!(run.stderr.contains(said), "{name}: {}", run.stderr);
        }
        assert!(repo.on_disk("") == before, "{name}: files have changed");
    }
}

#[test]
fn a_forbidden_secret_is_an_error_and_a_missing_one_is_not() {
    let with_secret = || {
        let mut host = host("a");
        host["spec"]["networkData"] = json!({"name": "a-net"});
        host
    };
    let answer = move |code: u16| {
        move |path: &str, _: usize| match path {
            _ if path.starts_with(HOSTS) => page(&[with_secret()], None),
            "/api/v1/namespaces/metal/secrets/a-net" => status(code, "Said"),
            _ => nothing_else(path),
        }
    };
    let repo = Repo::empty();
    let run = snapshot(&repo, &Stub::start(answer(403)), &[]).expect(2);
    assert!(run.stderr.contains("cannot get the Secret `metal/a-net`"), "{}", run.stderr);
    assert!(!repo.exists(FILE));
    snapshot(&repo, &Stub::start(answer(404)), &[]).expect(0);
    assert!(!repo.read(FILE).contains("Secret"));
}

#[test]
fn a_lost_fleet_is_accepted_only_by_name() {
    let repo = repo_with_host();
    let stub =
        Stub::start(
            |path, _| {
                if path.starts_with(HOSTS) { page(&[], None) } else { nothing_else(path) }
            },
        );
    snapshot(&repo, &stub, &[]).expect(2);
    assert!(repo.exists(FILE));
    snapshot(&repo, &stub, &["--allow-removal"]).expect(0);
    assert!(!repo.exists(FILE));
}

#[test]
fn no_server_is_no_empty_cluster() {
    let repo = repo_with_host();
    let before = repo.on_disk("");
    let kubeconfig = repo.path().join("../no-such-kubeconfig");
    let run = run(repo.sipgen(&["snapshot", "--kubeconfig"]).arg(kubeconfig)).expect(2);
    assert!(run.stderr.contains("cannot connect to a cluster"), "{}", run.stderr);
    assert!(repo.on_disk("") == before);
}

#[test]
fn a_run_that_was_killed_while_it_wrote_is_undone() {
    let repo = repo_with_host();
    let before = repo.on_disk("snapshot").keys().cloned().collect::<Vec<_>>();
    let text = repo.read(FILE);
    // Killed behind the removal of one file and before that of the journal.
    let journal =
        json!({"hosts": {"metal.yaml": {"before": text, "after": null}}, "directories": []})
            .to_string();
    for command in [&["status"] as &[&str], &["generate", "--allow-empty"]] {
        repo.write("snapshot/.sipgen-journal.tmp", &journal);
        if repo.exists(FILE) {
            repo.remove(FILE);
        }
        let run = run(&mut repo.sipgen(command));
        if command == ["status"] {
            assert!(
                run.code == 2 && run.stderr.contains("`snapshot` is half written"),
                "{}",
                run.stderr
            );
            assert!(!repo.exists(FILE));
        } else {
            run.expect(0);
            assert_eq!(repo.read(FILE), text);
            assert_eq!(repo.on_disk("snapshot").keys().cloned().collect::<Vec<_>>(), before);
        }
    }
}
