//! The jobs in `examples/` that take snapshots do what they say: what they push, and when.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use yaml_serde::Value;

use crate::ci_examples::forge::Forge;
use crate::ci_examples::traced;
use crate::support::{Repo, Run, run};
use crate::taking_snapshots::stub::{Stub, host, page};

/// The token that the forge accepts.
const TOKEN: &str = "token-of-the-bot";

fn parsed(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
    yaml_serde::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A forge's repo, which a job has cloned, and a cluster with one host more than the repo knows.
struct Stage {
    forge: Repo,
    clone: Repo,
    cluster: Stub,
}

impl Stage {
    fn new() -> Self {
        let cluster = Stub::start(|path, _| match path {
            _ if path.contains("/baremetalhosts") => {
                let mut host = host("a");
                host["status"] = json!({"provisioning": {"state": "available"}});
                page(&[host], None)
            }
            _ => page(&[], None),
        });
        let forge = Repo::empty();
        forge.want("metal/edge", 1);
        forge.commit();
        forge.git(&["branch", "--move", "--force", "main"]);
        forge.git(&["config", "receive.advertisePushOptions", "true"]);
        let clone = Repo::empty();
        clone.git(&["remote", "add", "origin", forge.path().to_str().unwrap()]);
        clone.git(&["fetch", "--quiet", "origin"]);
        clone.git(&["checkout", "--quiet", "-B", "main", "origin/main"]);
        Self { forge, clone, cluster }
    }

    /// Runs a script as a job does, with a `gh` that notes what it is asked for.
    fn script(&self, shell: &[&str], text: &str, variables: &[(&str, &str)]) -> Run {
        let tools = self.clone.path().join(".git/tools");
        fs::create_dir_all(&tools).unwrap();
        let gh = tools.join("gh");
        fs::write(
            &gh,
            "#!/bin/sh\necho \"gh $*\"\n[ \"$1 $2\" != \"pr list\" ] || echo 0\n"
                .replace("echo \"gh $*\"", "echo \"gh $*\" >&2"),
        )
        .unwrap();
        run(Command::new("chmod").arg("+x").arg(&gh)).expect(0);
        let sipgen = Path::new(env!("CARGO_BIN_EXE_sipgen")).parent().unwrap();
        let path =
            format!("{}:{}:{}", tools.display(), sipgen.display(), std::env::var("PATH").unwrap());
        let head = self.clone.git(&["rev-parse", "main"]);
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(text).current_dir(self.clone.path()).env("PATH", path);
        command.env("CI_COMMIT_SHA", head.trim()).env("GITHUB_SHA", head.trim());
        command.env("RUNNER_TEMP", &tools).env("GIT_TERMINAL_PROMPT", "0").env("NO_PROXY", "*");
        let (run, arguments) = traced(command.envs(variables.iter().copied()));
        assert!(!arguments.contains(TOKEN), "{arguments}");
        run
    }

    /// Serves the repo by HTTP, for whom has the token.
    fn serve(&self) -> Forge {
        let served = Forge::with(&[]);
        let bare = served.repo();
        self.forge.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        let bare = format!("--git-dir={}", bare.display());
        self.forge.git(&[&bare, "config", "receive.advertisePushOptions", "true"]);
        self.forge.git(&[&bare, "config", "http.receivepack", "true"]);
        served
    }

    /// Returns the changes of the pushed branch against the base.
    fn pushed(&self) -> Vec<String> {
        self.pushed_to(&self.forge.path().join(".git"))
    }

    fn pushed_to(&self, repo: &Path) -> Vec<String> {
        let repo = format!("--git-dir={}", repo.display());
        let files = self.forge.git(&[&repo, "diff", "--name-only", "main", "sipgen-snapshot"]);
        files.lines().map(str::to_owned).collect()
    }
}

const BASH: [&str; 6] = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"];

#[test]
fn the_workflow_of_github_opens_a_pull_request_when_something_has_changed() {
    let workflow = parsed("github/snapshot.yaml");
    let steps = workflow["jobs"]["snapshot"]["steps"].as_sequence().unwrap();
    let step = |name: &str| {
        steps.iter().find(|step| step["name"] == name).unwrap()["run"].as_str().unwrap()
    };
    let stage = Stage::new();
    let content = fs::read_to_string(stage.cluster.kubeconfig()).unwrap();
    let kubeconfig = stage.clone.path().join(".git/kubeconfig");
    let variables = [("CONTENT", content.as_str()), ("KUBECONFIG", kubeconfig.to_str().unwrap())];

    stage.script(&BASH, step("Snapshot"), &variables).expect(0);
    let run = stage.script(&BASH, step("Pull request"), &[("BASE", "main")]).expect(0);

    assert!(
        run.stderr.contains("gh pr create --base main --head sipgen-snapshot"),
        "{}",
        run.stderr
    );
    let pushed = stage.pushed();
    assert!(pushed.contains(&"snapshot/metal.yaml".to_owned()), "{pushed:?}");
    assert!(pushed.iter().any(|file| file.starts_with("overlays/hosts/")), "{pushed:?}");

    // The next night, with the pull request merged.
    stage.clone.git(&["checkout", "--quiet", "-B", "main", "sipgen-snapshot"]);
    stage.clone.git(&["branch", "--delete", "--force", "sipgen-snapshot"]);
    stage.script(&BASH, step("Snapshot"), &variables).expect(0);
    let run = stage.script(&BASH, step("Pull request"), &[("BASE", "main")]).expect(0);
    assert!(
        run.stdout.contains("nothing has changed") && !run.stderr.contains("gh"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_job_of_gitlab_pushes_both() {
    let script =
        parsed("gitlab/snapshot.yml")["sipgen-snapshot"]["script"][0].as_str().unwrap().to_owned();
    let stage = Stage::new();
    let (forge, kubeconfig) = (stage.serve(), stage.cluster.kubeconfig());
    let port = forge.port.to_string();
    let variables = [
        ("SIPGEN_KUBECONFIG", kubeconfig.to_str().unwrap()),
        ("CI_SERVER_PROTOCOL", "http"),
        ("CI_SERVER_HOST", "127.0.0.1"),
        ("CI_SERVER_PORT", &port),
        ("CI_PROJECT_PATH", "platform/fleet"),
        ("CI_DEFAULT_BRANCH", "main"),
        ("SIPGEN_PUSH_TOKEN", TOKEN),
    ];

    stage.script(&["sh", "-ec"], &script, &variables).expect(0);

    assert!(stage.pushed_to(&forge.repo()).contains(&"snapshot/metal.yaml".to_owned()));
}

#[test]
fn the_cron_job_clones_and_pushes_both() {
    let cron_job = parsed("kubernetes/snapshot.yaml");
    let pod = &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let shell: Vec<&str> = container["command"]
        .as_sequence()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let stage = Stage::new();
    let directory = tempfile::tempdir().unwrap();
    let forge = stage.serve();
    let url = format!("http://127.0.0.1:{}/platform/fleet.git", forge.port);
    for (key, value) in [("url", url.as_str()), ("username", "sipgen"), ("password", TOKEN)] {
        fs::write(directory.path().join(key), value).unwrap();
    }
    let (place, kubeconfig) = (directory.path().to_str().unwrap(), stage.cluster.kubeconfig());
    let variables = [
        ("BASE", "main"),
        ("GIT_SECRET", place),
        ("WORK", place),
        ("KUBECONFIG", kubeconfig.to_str().unwrap()),
    ];

    stage.script(&shell, container["args"][0].as_str().unwrap(), &variables).expect(0);

    assert!(stage.pushed_to(&forge.repo()).contains(&"snapshot/metal.yaml".to_owned()));
    let config = fs::read_to_string(directory.path().join("repo/.git/config")).unwrap();
    assert!(!config.contains(TOKEN), "{config}");
}
