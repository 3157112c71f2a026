//! Snapshot files: one per namespace, or per value of a label such as the rack.
//!
//! Equal snapshots give equal bytes. Documents are sorted by host, so two snapshots differ only in
//! the lines of changed hosts.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{Snapshot, firmware, key_of, machines, network_data_secrets, reduced, text_at};
use crate::base::api::hardware;
use crate::base::api::host;
use crate::base::api::names::{HostKey, SecretKey};
use crate::base::layout;
use crate::base::tree::Tree;
use crate::input::load::{EntryKind, Files, ReadError, objects};
use crate::output::compare::OutputChanges;
use crate::output::render::document_of;

/// Name of the file for hosts without the label that splits files.
const WITHOUT_LABEL: &str = "without-label";

/// The reason why a snapshot cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotWriteError {
    /// A file or directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A foreign file at the path of a snapshot file.
    #[error(
        "`{0}` was not written by `sipgen snapshot`; move or delete it, or choose another directory with --to"
    )]
    Foreign(Utf8PathBuf),
}

/// Compares a snapshot with the files below a directory. Files without the snapshot's marker stay.
///
/// # Errors
///
/// Fails if a file cannot be read, or if a foreign file is at the path of a snapshot file.
pub fn changes(
    repo: &Files,
    directory: &Utf8Path,
    snapshot: &Snapshot,
    split_by: Option<&str>,
) -> Result<OutputChanges, SnapshotWriteError> {
    let tree = texts(snapshot, split_by);
    let (mut before, mut leftovers) = (Tree::new(), Vec::new());
    for (path, kind) in repo.entries_below(directory)? {
        let Ok(relative) = path.strip_prefix(directory).map(Utf8Path::to_owned) else { continue };
        let is_wanted = tree.contains_key(relative.as_str());
        let is_file = kind == EntryKind::File;
        if is_file && layout::is_leftover(&relative) {
            leftovers.push(path);
            continue;
        }
        let content = is_file.then(|| repo.read(&path)).transpose()?;
        // A machine crash may leave snapshot files empty.
        let is_ours =
            |content: &Vec<u8>| layout::is_snapshot(content) || is_wanted && content.is_empty();
        if let Some(content) = content.filter(is_ours) {
            before.insert(relative.into(), layout::text_of(&content));
        } else if is_wanted {
            return Err(SnapshotWriteError::Foreign(path));
        }
    }
    Ok(OutputChanges { leftovers, ..OutputChanges::between(&before, &tree, directory) })
}

/// Reads the snapshot below a directory. Returns `None` if there is none.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub fn read_back(repo: &Files, directory: &Utf8Path) -> Result<Option<Snapshot>, ReadError> {
    let mut snapshot = None;
    for file in repo.files_below(directory)? {
        let content = repo.read(&file)?;
        if layout::is_leftover(&file) || !layout::is_snapshot(&content) {
            continue;
        }
        let snapshot = snapshot.get_or_insert_with(Snapshot::default);
        let text = layout::text_of(&content);
        for document in objects(&Arc::from(file.as_path()), &text) {
            let Ok(object) = document.parse::<Value>() else { continue };
            add(snapshot, document.kind(), object);
        }
    }
    Ok(snapshot)
}

/// Adds a document of a snapshot file.
fn add(snapshot: &mut Snapshot, kind: Option<&str>, object: Value) {
    let Some((namespace, name)) = key_of(&object) else { return };
    match kind {
        Some(host::KIND) => snapshot.hosts.extend([(HostKey { namespace, name }, object)]),
        Some(hardware::KIND) => snapshot.hardware.extend([(HostKey { namespace, name }, object)]),
        Some("Secret") => {
            let data = text_at(&object, "/stringData/networkData")
                .and_then(|text| serde_json::from_str(text).ok());
            snapshot.secrets.extend([(SecretKey { namespace, name }, data)]);
        }
        _ => snapshot.objects.extend(reduced(&object)),
    }
}

/// Renders the snapshot files by path relative to the snapshot's directory.
fn texts(snapshot: &Snapshot, split_by: Option<&str>) -> Tree {
    let mut texts = Tree::new();
    let mut add = |file: &str, document: &Value| {
        let text = texts.entry(Utf8Path::new(file).into());
        let text = text.or_insert_with(|| layout::SNAPSHOT_MARK.to_owned() + "\n");
        text.push_str(&document_of(document));
    };
    let mut written: BTreeSet<SecretKey> = BTreeSet::new();
    for (key, host) in &snapshot.hosts {
        let file = file_of(key, host, split_by);
        add(&file, host);
        snapshot.hardware.get(key).iter().for_each(|hardware| add(&file, hardware));
        for secret in network_data_secrets(key, host) {
            if let Some(found) = snapshot.secrets.get(&secret)
                && written.insert(secret.clone())
            {
                add(&file, &manifest(&secret, found));
            }
        }
    }
    for ((namespace, _, kind, _), object) in &snapshot.objects {
        let mut files = [(machines::LIVE, "machines"), (firmware::LIVE, "firmware")].into_iter();
        let file = files.find(|(live, _)| live.iter().any(|(known, ..)| known == kind));
        let what = file.map_or("addresses", |(_, what)| what);
        // No other file has this name, because names of namespaces have no dots.
        add(&format!("{namespace}.{what}.yaml"), object);
    }
    texts
}

/// Returns the file of a host. Names are lowercase, because some file systems ignore case.
fn file_of(key: &HostKey, host: &Value, split_by: Option<&str>) -> String {
    let name = match split_by {
        None => key.namespace.to_string(),
        Some(label) => {
            let value = host["metadata"]["labels"][label].as_str();
            value.filter(|value| !value.is_empty()).unwrap_or(WITHOUT_LABEL).to_lowercase()
        }
    };
    format!("{name}.yaml")
}

fn manifest(key: &SecretKey, network_data: &Option<Value>) -> Value {
    let metadata = json!({"name": key.name.to_string(), "namespace": key.namespace.to_string()});
    let mut manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
    if let Some(data) = network_data {
        manifest["stringData"] = json!({"networkData": data.to_string()});
    }
    manifest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use camino::Utf8Path;
    use serde_json::json;

    use super::super::keep;
    use super::*;
    use crate::{Options, generate};

    const DUMP: &str = "inventory/dump.yaml";

    /// Returns the files of a fixture with live hosts, by path.
    fn fixture() -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let root = Utf8Path::new("fixtures/observed");
        let files = Files::on_disk(root);
        let all = files.files_below(Utf8Path::new("")).unwrap();
        all.into_iter().map(|file| (file.clone(), files.read(&file).unwrap())).collect()
    }

    /// Returns the snapshot of the fixture's live objects.
    fn taken() -> Snapshot {
        let text = String::from_utf8(fixture()[Utf8Path::new(DUMP)].clone()).unwrap();
        let mut snapshot = Snapshot::default();
        let all: Vec<Value> = objects(&Arc::from(Utf8Path::new(DUMP)), &text)
            .iter()
            .map(|object| object.parse().unwrap())
            .collect();
        for object in &all {
            match object["kind"].as_str() {
                Some(host::KIND) => snapshot.hosts.extend(keep::host(
                    object,
                    &crate::input::settings::assignment::AssignmentSettings::default(),
                )),
                Some("Secret") if object["data"].get("networkData").is_some() => {
                    let text = |field: &str| object["metadata"][field].as_str().unwrap();
                    let key = format!("{}/{}", text("namespace"), text("name")).parse().unwrap();
                    assert_eq!(snapshot.add_network_data(key, object), None);
                }
                _ => {}
            }
        }
        snapshot.finish();
        assert!(snapshot.hosts.len() > 5);
        snapshot
    }

    fn repo(files: impl IntoIterator<Item = (Utf8PathBuf, Vec<u8>)>) -> Files {
        Files::in_memory(files)
    }

    fn written(snapshot: &Snapshot, split_by: Option<&str>) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let texts = texts(snapshot, split_by).into_iter();
        texts
            .map(|(path, text)| (Utf8Path::new("snapshot").join(path), text.into_bytes()))
            .collect()
    }

    #[test]
    fn planning_comes_to_the_same_by_a_snapshot_as_by_the_live_objects() {
        let output = |files: BTreeMap<Utf8PathBuf, Vec<u8>>| {
            let generated = generate(&repo(files), &Options::default(), &|_| {}).unwrap();
            let errors: Vec<_> =
                generated.findings.iter().filter(|finding| finding.is_error()).collect();
            assert!(errors.is_empty(), "{errors:?}");
            generated.tree
        };
        let by_live_objects = output(fixture());
        assert!(by_live_objects.len() > 5);
        for split_by in [None, Some("vino.airshipit.org/rack")] {
            let mut files = fixture();
            files.remove(Utf8Path::new(DUMP)).unwrap();
            files.extend(written(&taken(), split_by));
            assert_eq!(output(files), by_live_objects);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let snapshot = taken();
        let files = written(&snapshot, None);
        let read = read_back(&repo(files.clone()), Utf8Path::new("snapshot")).unwrap().unwrap();
        assert_eq!(read.hosts, snapshot.hosts);
        // Only Secrets that hosts name are written.
        assert!(read.secrets.iter().all(|(key, secret)| snapshot.secrets.get(key) == Some(secret)));
        assert!(!read.secrets.is_empty());
        assert_eq!(written(&read, None), files);
    }

    #[test]
    fn files_of_other_people_stay_or_are_in_the_way() {
        let snapshot = taken();
        let mut files = written(&snapshot, None);
        let own = files.keys().next().unwrap().clone();
        files.insert("snapshot/README.yaml".into(), b"a: b\n".to_vec());
        files.insert(
            "snapshot/gone.yaml".into(),
            format!("{}\n---\n", layout::SNAPSHOT_MARK).into_bytes(),
        );
        let compared = |files: &BTreeMap<_, _>| {
            changes(&repo(files.clone()), Utf8Path::new("snapshot"), &snapshot, None)
        };
        let changes = compared(&files).unwrap();
        let changed: Vec<_> = changes.files.keys().map(|path| path.as_str()).collect();
        assert_eq!(changed, ["snapshot/gone.yaml"]);
        files.insert(own, b"a: b\n".to_vec());
        assert!(matches!(compared(&files), Err(SnapshotWriteError::Foreign(_))));
    }

    #[test]
    fn the_label_names_the_file() {
        let host = |labels: Value| json!({"metadata": {"labels": labels}});
        let key: HostKey = "metal/a".parse().unwrap();
        let file = |labels, split_by| file_of(&key, &host(labels), split_by);
        assert_eq!(file(json!({"rack": "R7.2"}), Some("rack")), "r7.2.yaml");
        assert_eq!(file(json!({}), Some("rack")), "without-label.yaml");
        assert_eq!(file(json!({"rack": ""}), Some("rack")), "without-label.yaml");
        assert_eq!(file(json!({"rack": "r7"}), None), "metal.yaml");
    }
}
