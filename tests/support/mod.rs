//! What the tests share: temporary git repos, runs of the real sipgen in them, and the real tools.

// Every test program compiles this, and none uses all of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

pub mod api_server;
pub mod argocd;
pub mod daemon;
pub mod flux;
pub mod in_memory;
pub mod jump_host;
pub mod network;
pub mod pages;
pub mod pod;
pub mod programs;
pub mod redfish;
pub mod scenes;
pub mod secrets_api;
pub mod ssh;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tempfile::TempDir;
use walkdir::WalkDir;

/// A temporary git repo.
pub struct Repo {
    directory: TempDir,
}

/// A file or directory of a repo that is kept in memory.
struct StoredFile {
    path: PathBuf,
    /// Absent for a directory.
    content: Option<Vec<u8>>,
    permissions: fs::Permissions,
}

/// How a run of sipgen ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The run, if it ended with a code; a panic with all it said, if not.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n-- stdout\n{}\n-- stderr\n{}", self.stdout, self.stderr);
        self
    }
}

/// What a file is on the disk; a file that is replaced by the same text has another inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnDisk {
    pub content: Vec<u8>,
    pub inode: u64,
    pub modified: SystemTime,
}

impl Repo {
    /// A repo with nothing in it.
    pub fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = git2::RepositoryInitOptions::new();
        // Git's template is a dozen sample hooks.
        options.external_template(false);
        git2::Repository::init_opts(directory.path(), &options).unwrap();
        Self { directory }
    }

    /// A repo with the files of `fixtures/NAME`, committed.
    pub fn of_fixture(name: &str) -> Self {
        let repo = Self::empty();
        let fixture = fixtures().join(name);
        assert!(fixture.is_dir(), "there is no fixture {name}");
        copy(&fixture, repo.path());
        repo.commit_plainly();
        repo
    }

    /// A repo with the files of a fixture and with what sipgen makes of them, committed.
    ///
    /// Some tests ask for the same one dozens of times, so sipgen runs once per fixture and process.
    pub fn generated(fixture: &str) -> Self {
        static GENERATED: Mutex<BTreeMap<String, Vec<StoredFile>>> = Mutex::new(BTreeMap::new());
        let mut generated = GENERATED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = generated.get(fixture) {
            return Self::restored(files);
        }
        let repo = Self::of_fixture(fixture);
        repo.generate(&[]).expect(0);
        repo.commit_plainly();
        generated.insert(fixture.to_owned(), repo.stored());
        repo
    }

    /// Reads the whole repo, git's own files included.
    fn stored(&self) -> Vec<StoredFile> {
        let entries = WalkDir::new(self.path()).min_depth(1).into_iter();
        let stored = entries.map(|entry| {
            let entry = entry.unwrap();
            let is_file = entry.file_type().is_file();
            StoredFile {
                path: entry.path().strip_prefix(self.path()).unwrap().to_owned(),
                content: is_file.then(|| fs::read(entry.path()).unwrap()),
                permissions: entry.metadata().unwrap().permissions(),
            }
        });
        stored.collect()
    }

    /// Writes the files of [`Repo::stored`] into a new directory.
    fn restored(files: &[StoredFile]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(&file.path);
            match &file.content {
                Some(content) => {
                    fs::write(&path, content).unwrap();
                    fs::set_permissions(&path, file.permissions.clone()).unwrap();
                }
                None => fs::create_dir(&path).unwrap(),
            }
        }
        Self { directory }
    }

    /// A repo with the declared hosts `host-1`, `host-2`, … of the namespace `metal`, all alike, and no cluster.
    pub fn of_hosts(count: usize) -> Self {
        let repo = Self::empty();
        let hosts: String = (1..=count).map(|number| host(&format!("host-{number}"), "")).collect();
        repo.write("inventory/hosts.yaml", &hosts);
        repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
        repo
    }

    /// Writes the SIPCluster `NAMESPACE/NAME`, which wants workers of any kind and no services.
    pub fn want(&self, cluster: &str, workers: usize) {
        let (namespace, name) = cluster.split_once('/').unwrap();
        let text = format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\n\
             metadata: {{namespace: {namespace}, name: {name}}}\n\
             spec: {{nodes: {{Worker: {{labelSelector: {{}}, count: {{active: {workers}}}}}}}}}\n"
        );
        self.write(&cluster_file(cluster), &text);
    }

    /// Removes what [`Repo::want`] has written.
    pub fn want_no_more(&self, cluster: &str) {
        self.remove(&cluster_file(cluster));
    }

    /// Writes a snapshot of the observed `host-1` and `host-2`, of which the latter has more metadata.
    pub fn observe(&self, metadata: &str) {
        self.write(
            "snapshot/hosts.yaml",
            &(live_host("host-1", "") + &live_host("host-2", metadata)),
        );
    }

    /// A repo with these settings and with everything that agents apply: declared and observed hosts, one that is being
    /// given back, services and Dex.
    pub fn of_everything(settings: &str) -> Self {
        let repo = Self::of_fixture("quickstart");
        repo.want("tenant-b/live", 2);
        repo.observe("");
        repo.write("sipgen.yaml", settings);
        repo.generate(&[]).expect(0);
        repo.commit();
        repo.want("tenant-b/live", 1);
        repo.generate(&[]).expect(0);
        repo
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn exists(&self, file: &str) -> bool {
        self.path().join(file).exists()
    }

    /// Writes a file, with the directories above it.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a text that must be in the file, every time that it is there.
    #[track_caller]
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "{file} does not contain {from:?}");
        self.write(file, &text.replace(from, to));
    }

    /// Replaces a text once: the first one behind another text.
    #[track_caller]
    pub fn replace_behind(&self, file: &str, behind: &str, from: &str, to: &str) {
        let text = self.read(file);
        let (before, after) = text.split_at(text.find(behind).unwrap_or(text.len()));
        assert!(after.contains(from), "{file} does not contain {from:?} behind {behind:?}");
        self.write(file, &format!("{before}{}", after.replacen(from, to, 1)));
    }

    pub fn remove(&self, file: &str) {
        fs::remove_file(self.path().join(file)).unwrap();
    }

    /// Removes a directory with all that is in it.
    pub fn remove_all(&self, directory: &str) {
        fs::remove_dir_all(self.path().join(directory)).unwrap();
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap_or_else(|error| panic!("git cannot be run: {error}"));
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "state"]);
    }

    /// Commits everything in a repo without hooks and sparse checkouts, which takes no process.
    pub fn commit_plainly(&self) {
        let repo = git2::Repository::open(self.path()).unwrap();
        let mut index = repo.index().unwrap();
        index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
        index.write().unwrap();
        let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
        let author = git2::Signature::now("test", "test@example.com").unwrap();
        let head = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<&git2::Commit> = head.iter().collect();
        repo.commit(Some("HEAD"), &author, &author, "state\n", &tree, &parents).unwrap();
    }

    /// A command that runs sipgen in the repo.
    pub fn sipgen(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
        command.args(arguments).current_dir(self.path());
        command
    }

    /// Runs `sipgen generate` in the repo.
    pub fn generate(&self, arguments: &[&str]) -> Run {
        let all: Vec<&str> = ["generate"].into_iter().chain(arguments.iter().copied()).collect();
        run(&mut self.sipgen(&all))
    }

    /// Runs `sipgen generate`, which must refuse and leave every file as it is; returns what it says.
    #[track_caller]
    pub fn refused(&self) -> String {
        let before = self.on_disk("");
        let run = self.generate(&[]).expect(1);
        assert!(
            self.on_disk("") == before,
            "files have changed:\n{}",
            self.git(&["status", "--porcelain"])
        );
        assert_eq!(run.stdout, "");
        run.stderr
    }

    /// The texts of all files of the repo below a directory, by path relative to that directory. An input may be in
    /// UTF-16, which nobody compares by its characters.
    pub fn files(&self, below: &str) -> BTreeMap<String, String> {
        let on_disk = self.on_disk(below);
        on_disk
            .into_iter()
            .map(|(path, file)| (path, String::from_utf8_lossy(&file.content).into_owned()))
            .collect()
    }

    /// All files of the repo below a directory, by path relative to that directory; without git's own.
    pub fn on_disk(&self, below: &str) -> BTreeMap<String, OnDisk> {
        let top = self.path().join(below);
        let mut files = BTreeMap::new();
        if !top.exists() {
            return files;
        }
        for entry in
            WalkDir::new(&top).into_iter().filter_entry(|entry| entry.file_name() != ".git")
        {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let metadata = entry.metadata().unwrap();
                let on_disk = OnDisk {
                    content: fs::read(entry.path()).unwrap(),
                    inode: metadata.ino(),
                    modified: metadata.modified().unwrap(),
                };
                let path = entry.path().strip_prefix(&top).unwrap();
                files.insert(path.to_str().unwrap().to_owned(), on_disk);
            }
        }
        files
    }

    /// The directory of the shared files of a service, whose directory in the output is given.
    #[track_caller]
    pub fn shared(&self, service: &str) -> String {
        let kustomization = self.read(&format!("overlays/{service}/kustomization.yaml"));
        format!("overlays/{}", shared_directory(&kustomization))
    }

    /// The hosts that the output gives to a cluster, as `ROLE NAMESPACE/NAME`, sorted.
    pub fn hosts_of(&self, namespace: &str, cluster: &str) -> Vec<String> {
        let files = self.files("overlays/hosts");
        let patches = format!("/{namespace}.{cluster}.yaml");
        let objects = format!("/{namespace}.{cluster}/hosts.yaml");
        let of_cluster =
            files.iter().filter(|(path, _)| path.ends_with(&patches) || path.ends_with(&objects));
        let mut hosts: Vec<String> = of_cluster
            .flat_map(|(_, text)| documents(text))
            .map(|host| {
                let metadata = &host["metadata"];
                let value = |value: &yaml_serde::Value| value.as_str().unwrap().to_owned();
                let role = value(&metadata["labels"]["sip.airshipit.org/node-type"]);
                format!("{role} {}/{}", value(&metadata["namespace"]), value(&metadata["name"]))
            })
            .collect();
        hosts.sort();
        hosts
    }
}

fn cluster_file(cluster: &str) -> String {
    format!("clusters/{}.yaml", cluster.replace('/', "."))
}

/// A host of the namespace `metal`, with more metadata: lines that are indented by two.
pub fn host(name: &str, metadata: &str) -> String {
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: metal\n\
         {metadata}spec:\n  online: true\n  architecture: x86_64\n"
    )
}

/// A host of a snapshot that is ready.
pub fn live_host(name: &str, metadata: &str) -> String {
    // Before the spec, so that tests can add to that.
    let status = "status: {provisioning: {state: available}}\n";
    host(name, &format!("{metadata}{status}"))
}

/// The metadata of a [`host`] that labels give to the cluster `NAMESPACE/NAME` as a worker.
pub fn labels_of(cluster: &str) -> String {
    let (namespace, name) = cluster.split_once('/').unwrap();
    format!(
        "  labels:\n    sip.airshipit.org/cluster-namespace: {namespace}\n    sip.airshipit.org/cluster-name: {name}\n    \
         sip.airshipit.org/node-type: Worker\n"
    )
}

/// The SIPCluster of the quickstart.
pub const EDGE: &str = "sites/lab/clusters/edge.yaml";

/// The quickstart after its first run, with a text of its cluster replaced.
#[track_caller]
pub fn edge_with(from: &str, to: &str) -> Repo {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, from, to);
    repo
}

/// The same, with a text replaced that stands behind another one.
#[track_caller]
pub fn edge_with_behind(behind: &str, from: &str, to: &str) -> Repo {
    let repo = Repo::generated("quickstart");
    repo.replace_behind(EDGE, behind, from, to);
    repo
}

/// A path in sipgen's own repo.
pub fn repo_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A file of sipgen's own repo.
pub fn repo_file(path: &str) -> String {
    fs::read_to_string(repo_path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a generated file with its right content. With SIPGEN_UPDATE_DOCS in the environment, it is written instead.
#[track_caller]
pub fn compare_generated(file: &Path, right: &str) {
    if std::env::var_os("SIPGEN_UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, right).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(file).unwrap_or_default() == right,
        "{} is stale: run `just docs`",
        file.display()
    );
}

/// Compares the schema of a command's JSON with `docs/NAME.schema.json`, as [`compare_generated`] does.
#[track_caller]
pub fn compare_schema(name: &str, schema: &impl serde::Serialize) {
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    compare_generated(&repo_path(&format!("docs/{name}.schema.json")), &text);
}

/// The directory of the fixtures.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The names of all fixtures that sipgen has no objection to.
pub fn fixture_names() -> Vec<String> {
    let entries = fs::read_dir(fixtures()).unwrap().map(Result::unwrap);
    let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let names = directories.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "findings").collect();
    names.sort();
    names
}

pub fn copy(from: &Path, to: &Path) {
    for entry in WalkDir::new(from).min_depth(1) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The directory of shared files, relative to the output directory, that the text of a kustomization refers to.
#[track_caller]
pub fn shared_directory(kustomization: &str) -> String {
    let reference = kustomization.lines().find_map(|line| {
        let (_, below) = line.trim().strip_prefix("- ")?.split_once("../shared/")?;
        Some(format!("shared/{}", below.trim_end_matches('"')))
    });
    reference.unwrap_or_else(|| panic!("no shared files in:\n{kustomization}"))
}

/// The documents of a YAML text that are more than comments.
pub fn documents(text: &str) -> Vec<yaml_serde::Value> {
    use serde::Deserialize;
    yaml_serde::Deserializer::from_str(text)
        .map(|document| yaml_serde::Value::deserialize(document).unwrap())
        .filter(|value| !value.is_null())
        .collect()
}

/// A real program that the tests need: one that `tests/run` has installed, or else one of the machine.
pub fn tool(name: &str) -> Command {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin").join(name);
    let mut command =
        if installed.is_file() { Command::new(installed) } else { Command::new(name) };
    // Debian keeps daemons, haproxy among them, where a plain user's PATH does not lead.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

/// A real program of a Python package that `tests/tools/install` has installed.
pub fn python_tool(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/venv/bin").join(name))
}

/// A scanner of `tests/tools/scanners.txt` or `tests/tools/checkov.txt`.
pub fn scanner(name: &str) -> Command {
    let venv = if name == "checkov" { name } else { "scanners" };
    Command::new(repo_path("target/tools").join(venv).join("bin").join(name))
}

/// Runs a real program; one that is missing is a failure that says what to do.
#[track_caller]
pub fn run_tool(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| {
        panic!("{name} cannot be run ({error}); `tests/tools/install` installs what the tests need")
    })
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    Run { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Says which codes a text names, each once, in order.
pub fn codes(text: &str) -> Vec<&str> {
    let mut codes: Vec<&str> =
        text.match_indices("[SIP").map(|(at, _)| &text[at + 1..at + 8]).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Whether a message has all these parts.
#[track_caller]
pub fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in:\n{message}");
    }
}

/// What `kustomize build` of a directory gives.
#[track_caller]
pub fn kustomize_build(directory: impl AsRef<OsStr>) -> String {
    let directory = directory.as_ref();
    let output = run_tool(tool("kustomize").arg("build").arg(directory));
    assert!(output.status.success(), "kustomize build {directory:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A host as `kustomize build` of a directory renders it.
#[track_caller]
pub fn built_host(directory: impl AsRef<OsStr>, name: &str) -> yaml_serde::Value {
    let objects = documents(&kustomize_build(directory));
    let is_it = |object: &yaml_serde::Value| {
        object["kind"] == "BareMetalHost" && object["metadata"]["name"] == name
    };
    objects.into_iter().find(is_it).unwrap_or_else(|| panic!("the build has no host {name}"))
}

/// Whether a host bears a label that gives it to a cluster.
pub fn is_labelled(host: &yaml_serde::Value) -> bool {
    let labels = ["cluster-namespace", "cluster-name", "node-type"]
        .map(|name| format!("sip.airshipit.org/{name}"));
    labels.iter().any(|label| host["metadata"]["labels"].get(label.as_str()).is_some())
}
