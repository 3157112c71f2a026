//! Changes of a Provisioning's installer, and whether it runs.
//!
//! A Job runs once, and its name ends in a hash of its content. So a new name is a new Job, and the
//! installer runs on the cluster's machines as soon as an agent applies it.

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::{ChangedFiles, FileState, Texts, at, below, config_map, documents};
use crate::base::api::names::ClusterKey;
use crate::base::layout;
use crate::site::inventory::natural;

/// Names of the files to review, in the installer's directory.
const JOB: &str = "job.yaml";
const ADDRESSES: &str = "addresses.yaml";

/// Key prefixes of addresses, by role.
const ROLES: [&str; 2] = ["MASTER_", "WORKER_"];

/// Change of the installer of a cluster's machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallerChange {
    /// Created, changed or deleted.
    pub state: FileState,
    /// True if it runs on all machines of the cluster once the change is applied.
    pub runs: bool,
    /// True if it then only adds workers.
    pub scales: bool,
    /// Job before; null if its file does not change. A pruning agent deletes it when another one
    /// replaces it, even while it runs.
    pub job_before: Option<String>,
    /// Job after; null if its file does not change.
    pub job_after: Option<String>,
    /// Changed files of its configuration. The Job itself is one only if it changes alone; empty if
    /// only comments differ.
    pub files: Vec<String>,
    /// Machines whose address changes, in natural order.
    pub readdressed: Vec<ReaddressedMachine>,
    /// Masters that start to run workloads, in natural order.
    pub begin_workloads: Vec<String>,
    /// Masters that stop running workloads, in natural order.
    pub end_workloads: Vec<String>,
}

/// A machine whose address changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Readdressed")]
pub struct ReaddressedMachine {
    /// Machine name in the Provisioning.
    pub node: String,
    /// Address before.
    pub before: String,
    /// Address after.
    pub after: String,
}

/// Computes the change of a cluster's installer; `None` if no file changes.
pub(super) fn change(cluster: &ClusterKey, files: &ChangedFiles<'_>) -> Option<InstallerChange> {
    let files = below(files, &layout::installer_directory(cluster));
    if files.is_empty() {
        return None;
    }
    let state = FileState::by_witness(&files, layout::KUSTOMIZATION);
    let [before, after] =
        texts(&files, JOB).map(|text| documents(text.unwrap_or_default()).collect::<Vec<Value>>());
    let (job_before, job_after) = (job(&before, &after), job(&after, &before));
    let scales = job_after.as_ref().is_some_and(|(_, scales)| *scales);
    let [job_before, job_after] = [job_before, job_after].map(|job| Some(job?.0));
    let mut change = InstallerChange {
        state,
        runs: job_after.is_some() && job_after != job_before,
        scales,
        job_before,
        job_after,
        files: match state {
            FileState::Changed => changed_files(&files),
            FileState::Created | FileState::Deleted => Vec::new(),
        },
        readdressed: Vec::new(),
        begin_workloads: Vec::new(),
        end_workloads: Vec::new(),
    };
    change.add_machines(texts(&files, ADDRESSES));
    Some(change)
}

/// Lists the files whose content changes.
fn changed_files(files: &ChangedFiles<'_>) -> Vec<String> {
    let changed = files.iter().filter(|(_, texts)| {
        let [before, after] = texts.map(|text| text.map(layout::body));
        before != after
    });
    let names = changed.map(|(file, _)| file.to_string());
    // The name of the Job and the list of files follow from the others.
    let (follow, names): (Vec<_>, Vec<_>) =
        names.partition(|name| matches!(name.as_str(), JOB | layout::KUSTOMIZATION));
    if names.is_empty() { follow } else { names }
}

/// Returns the texts of a file before and after; `None` if it does not change.
fn texts<'a>(files: &ChangedFiles<'a>, file: &str) -> Texts<'a> {
    files.get(Utf8Path::new(file)).copied().unwrap_or_default()
}

/// Returns the name of a Job; `None` for other kinds.
fn name_of_job(document: &Value) -> Option<&Value> {
    let is_job = document.get("kind").and_then(Value::as_str) == Some("Job");
    at(document, "metadata.name").filter(|_| is_job)
}

/// Finds the Job that installs Kubernetes among the documents of its file, and returns its name, and
/// whether it only adds workers. If there are several, it is the one that the other side of the change
/// lacks.
fn job(documents: &[Value], others: &[Value]) -> Option<(String, bool)> {
    let is_in_others = |name: &Value| others.iter().any(|other| name_of_job(other) == Some(name));
    let mut jobs = documents.iter().filter_map(|document| Some((document, name_of_job(document)?)));
    let first = jobs.clone().next()?;
    let (job, name) = jobs.find(|(_, name)| !is_in_others(name)).unwrap_or(first);
    let pod = at(job, "spec.template.spec")?;
    // If the installer is an init container, then the other one only saves the kubeconfig.
    let containers = pod.get("initContainers").or_else(|| pod.get("containers"))?;
    let command = containers.get(0)?.get("command").and_then(Value::as_sequence);
    let adds_workers = |argument: &str| argument == "--scale" || argument.ends_with("scale.yml");
    let scales = command.into_iter().flatten().filter_map(Value::as_str).any(adds_workers);
    Some((name.as_str()?.to_owned(), scales))
}

impl InstallerChange {
    /// Adds the machines on both sides whose address changes, or which start or stop to run workloads.
    fn add_machines(&mut self, texts: Texts<'_>) {
        let [before, after] = texts.map(|text| text.map(config_map).unwrap_or_default());
        let node =
            |key: &String| Some(ROLES.iter().find_map(|role| key.strip_prefix(role))?.to_owned());
        let mut nodes: Vec<String> = before.keys().filter_map(node).collect();
        nodes.sort_by(|a, b| natural(a, b));
        nodes.dedup();
        for node in nodes {
            let addresses = [&before, &after]
                .map(|addresses| ROLES.map(|role| addresses.get(&format!("{role}{node}"))));
            let [[master_before, worker_before], [master_after, worker_after]] = addresses;
            if master_before.is_some() && master_after.is_some() {
                match (worker_before, worker_after) {
                    (None, Some(_)) => self.begin_workloads.push(node.clone()),
                    (Some(_), None) => self.end_workloads.push(node.clone()),
                    _ => {}
                }
            }
            // A machine with both roles has one address.
            let sides = (worker_before.or(master_before), worker_after.or(master_after));
            if let (Some(before), Some(after)) = sides
                && before != after
            {
                let (before, after) = (before.clone(), after.clone());
                self.readdressed.push(ReaddressedMachine { node, before, after });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;

    const CLUSTER: &str = "lab/depot";

    fn job(name: &str, image: &str, arguments: &[&str]) -> String {
        let arguments: String =
            arguments.iter().map(|argument| format!("            - {argument:?}\n")).collect();
        format!(
            "# Generated by sipgen from x. Do not edit.\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n\
             spec:\n  template:\n    spec:\n      containers:\n        - image: {image}\n          command:\n{arguments}"
        )
    }

    fn addresses(addresses: &[(&str, &str)]) -> String {
        let data: String =
            addresses.iter().map(|(key, address)| format!("  {key}: {address}\n")).collect();
        format!("# Generated by sipgen from x. Do not edit.\nkind: ConfigMap\ndata:\n{data}")
    }

    /// Computes the change of files, given as name, text before and text after.
    fn changed(files: &[(&str, &str, &str)]) -> InstallerChange {
        let cluster: ClusterKey = CLUSTER.parse().unwrap();
        let directory = layout::installer_directory(&cluster);
        let paths: Vec<Utf8PathBuf> = files.iter().map(|(file, ..)| directory.join(file)).collect();
        let text = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let files = paths
            .iter()
            .zip(files)
            .map(|(path, (_, was, is))| (path.as_path(), [text(*was), text(*is)]));
        change(&cluster, &files.collect()).unwrap()
    }

    const COMMAND: [&str; 5] = ["./installer", "--cluster", "depot", "--network", "10.244.0.0/16"];

    #[test]
    fn another_job_runs() {
        let was = job("kud-depot-aaaa", "kud:1", &COMMAND);

        let change = changed(&[(JOB, &was, &job("kud-depot-bbbb", "kud:2", &COMMAND))]);

        assert!(change.runs && !change.scales);
        assert_eq!(change.files, [JOB]);
        assert_eq!(change.job_before.as_deref(), Some("kud-depot-aaaa"));
        assert_eq!(change.job_after.as_deref(), Some("kud-depot-bbbb"));
    }

    #[test]
    fn a_job_of_the_same_name_does_not_run_again() {
        let was = job("kud-depot-aaaa", "kud:1", &COMMAND);

        let change = changed(&[(JOB, &was, &was.replace("from x", "from y"))]);

        assert!(!change.runs && change.files.is_empty());
    }

    #[test]
    fn a_job_is_seen_beside_other_documents_of_its_file() {
        let beside = "# Ours.\n---\nkind: ServiceAccount\nmetadata: {name: kud}\n---\n";
        let check = job("check", "kud:1", &["./check"]) + "---\n";
        let was = job("kud-depot-aaaa", "kud:1", &COMMAND);
        let is = job("kud-depot-bbbb", "kud:2", &COMMAND);

        let change =
            changed(&[(JOB, &format!("{beside}{check}{was}"), &format!("{beside}{check}{is}"))]);

        assert!(change.runs);
        assert_eq!(change.job_before.as_deref(), Some("kud-depot-aaaa"));
        assert_eq!(change.job_after.as_deref(), Some("kud-depot-bbbb"));

        let change = changed(&[(JOB, &was, &format!("{beside}{was}"))]);
        assert!(!change.runs && change.files == [JOB]);
    }

    #[test]
    fn an_installer_that_comes_runs_and_one_that_goes_does_not() {
        let job = job("kud-depot-aaaa", "kud:1", &COMMAND);

        let comes = changed(&[(JOB, "", &job), (layout::KUSTOMIZATION, "", "x")]);
        let goes = changed(&[(JOB, &job, ""), (layout::KUSTOMIZATION, "x", "")]);

        assert!(comes.runs && comes.state == FileState::Created);
        assert!(!goes.runs && goes.state == FileState::Deleted);
        assert_eq!(goes.job_before.as_deref(), Some("kud-depot-aaaa"));
    }

    #[test]
    fn machines_with_another_address_are_named() {
        let was = addresses(&[
            ("MASTER_m-1", "10.0.0.1"),
            ("WORKER_m-1", "10.0.0.1"),
            ("WORKER_w-2", "10.0.0.2"),
        ]);
        let moved = addresses(&[("MASTER_m-1", "10.0.0.9"), ("WORKER_m-1", "10.0.0.9")]);

        let change = changed(&[(ADDRESSES, &was, &moved), ("hosts.ini", "a", "a")]);

        assert_eq!(change.files, [ADDRESSES]);
        let [ReaddressedMachine { node, before, after }] = change.readdressed.as_slice() else {
            panic!("{change:?}")
        };
        assert_eq!(
            (node.as_str(), before.as_str(), after.as_str()),
            ("m-1", "10.0.0.1", "10.0.0.9")
        );
    }

    #[test]
    fn masters_that_begin_or_end_to_run_workloads_are_named() {
        let both = addresses(&[("MASTER_m-1", "10.0.0.1"), ("WORKER_m-1", "10.0.0.1")]);
        let apart = addresses(&[("MASTER_m-1", "10.0.0.1"), ("WORKER_w-1", "10.0.0.2")]);
        let none: [&str; 0] = [];

        let change = changed(&[(ADDRESSES, &apart, &both)]);
        assert_eq!(change.begin_workloads, ["m-1"]);
        assert_eq!(change.end_workloads, none);
        let change = changed(&[(ADDRESSES, &both, &apart)]);
        assert_eq!(change.end_workloads, ["m-1"]);
        assert_eq!(change.begin_workloads, none);
    }

    #[test]
    fn a_job_of_kubespray_that_adds_workers_differs_by_its_playbook() {
        let full = job("k8s-depot-aaaa", "kubespray:1", &["ansible-playbook", "cluster.yml"]);
        let arguments = ["ansible-playbook", "/inventory/packages.yml", "scale.yml"];
        let scale = job("k8s-depot-bbbb", "kubespray:1", &arguments);

        let change = changed(&[(JOB, &full, &scale), ("group_vars/all.yml", "a", "b")]);

        assert!(change.runs && change.scales);
        assert_eq!(change.files, ["group_vars/all.yml"]);
    }

    #[test]
    fn a_job_that_cannot_be_read_is_no_reason_to_say_that_nothing_runs_unknowingly() {
        let change = changed(&[(JOB, "{", &job("kud-depot-bbbb", "kud:1", &COMMAND))]);

        assert!(change.runs && change.files == [JOB]);
    }
}
