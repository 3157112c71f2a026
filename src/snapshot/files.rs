//! Snapshots as files: one for each namespace, or for each value of a label such as the rack.
//!
//! The same snapshot gives the same bytes. Documents are in the order of their hosts, so that two snapshots differ in
//! the lines of the hosts that differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{Secret, Snapshot, secrets_of};
use crate::api::hardware;
use crate::api::host;
use crate::api::names::{HostKey, SecretKey};
use crate::compare::{Change, Changes, is_leftover};
use crate::layout;
use crate::render::block_of;
use crate::source::{Files, ReadError, objects};

/// The name of the file with hosts that do not have the label by which files are split.
const WITHOUT_LABEL: &str = "without-label";

/// The reason why a snapshot cannot be written where it should.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// A file or directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Somebody else's file has a name that a file of the snapshot needs.
    #[error("{0} is in the way: it is no file that `sipgen snapshot` wrote; move or delete it, or choose another directory by --to")]
    Foreign(Utf8PathBuf),
}

/// Compares a snapshot with the files below a directory. Files that lack the mark of a snapshot stay.
///
/// # Errors
///
/// When a file cannot be read, or somebody else's file is in the way.
pub fn changes(
    repo: &Files,
    directory: &Utf8Path,
    snapshot: &Snapshot,
    split_by: Option<&str>,
) -> Result<(Changes, BTreeMap<Utf8PathBuf, String>), Obstacle> {
    let tree = texts(snapshot, split_by);
    let (mut changes, mut there) = (Changes::default(), BTreeSet::new());
    for (path, kind) in repo.entries_below(directory)? {
        let Ok(relative) = path.strip_prefix(directory).map(Utf8Path::to_owned) else { continue };
        let wanted = tree.get(&relative);
        if kind != crate::source::Kind::File {
            if wanted.is_some() {
                return Err(Obstacle::Foreign(path));
            }
            continue;
        }
        if is_leftover(&relative) {
            changes.leftovers.push(path);
            continue;
        }
        let content = repo.read(&path)?;
        let is_ours = layout::is_snapshot(&content) || content.is_empty();
        let before = layout::text_of(&content);
        match wanted {
            Some(_) if !is_ours => return Err(Obstacle::Foreign(path)),
            Some(after) if *after == before => {}
            Some(after) => {
                changes.files.insert(path, Change::Update { before, after: after.clone() });
            }
            None if is_ours && !content.is_empty() => {
                changes.files.insert(path, Change::Delete { before });
            }
            None => {}
        }
        there.insert(relative);
    }
    for (relative, after) in tree.iter().filter(|(relative, _)| !there.contains(*relative)) {
        changes.files.insert(directory.join(relative), Change::Create { after: after.clone() });
    }
    Ok((changes, tree))
}

/// Reads the snapshot that the files below a directory hold. Nothing, where there is none.
///
/// # Errors
///
/// When a file cannot be read.
pub fn read_back(repo: &Files, directory: &Utf8Path) -> Result<Option<Snapshot>, ReadError> {
    let mut snapshot = None;
    for file in repo.files_below(directory)? {
        let content = repo.read(&file)?;
        if is_leftover(&file) || !layout::is_snapshot(&content) {
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

/// Adds a document of a snapshot's file.
fn add(snapshot: &mut Snapshot, kind: Option<&str>, object: Value) {
    let text = |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
    let (Some(namespace), Some(name)) = (text("namespace"), text("name")) else { return };
    let (Ok(namespace), Ok(name)) = (namespace.parse(), name.parse()) else { return };
    match kind {
        Some(host::KIND) => {
            snapshot.hosts.insert(HostKey { namespace, name }, object);
        }
        Some(hardware::KIND) => {
            snapshot.hardware.insert(HostKey { namespace, name }, object);
        }
        Some("Secret") => {
            let data = object.pointer("/stringData/networkData").and_then(Value::as_str);
            let data = data.and_then(|text| serde_json::from_str(text).ok());
            snapshot.secrets.insert(SecretKey { namespace, name }, data.map_or(Secret::Exists, Secret::NetworkData));
        }
        _ => {}
    }
}

/// Writes a snapshot down, by path relative to its directory.
fn texts(snapshot: &Snapshot, split_by: Option<&str>) -> BTreeMap<Utf8PathBuf, String> {
    let mut texts: BTreeMap<Utf8PathBuf, String> = BTreeMap::new();
    let mut written: BTreeSet<SecretKey> = BTreeSet::new();
    for (key, host) in &snapshot.hosts {
        let text = texts.entry(file_of(key, host, split_by)).or_insert_with(|| layout::SNAPSHOT_MARK.to_owned() + "\n");
        text.push_str(&document(host));
        text.extend(snapshot.hardware.get(key).map(document));
        let named = secrets_of(key, host);
        for secret in named.credentials.into_iter().chain(named.network_data) {
            if let Some(found) = snapshot.secrets.get(&secret).filter(|_| written.insert(secret.clone())) {
                text.push_str(&document(&manifest(&secret, found)));
            }
        }
    }
    texts
}

/// Names the file of a host. Some file systems ignore the case, so the name has none.
fn file_of(key: &HostKey, host: &Value, split_by: Option<&str>) -> Utf8PathBuf {
    let name = match split_by {
        None => key.namespace.to_string(),
        Some(label) => {
            let value = host.get("metadata").and_then(|metadata| metadata.get("labels")?.get(label)?.as_str());
            value.filter(|value| !value.is_empty()).unwrap_or(WITHOUT_LABEL).to_lowercase()
        }
    };
    format!("{name}.yaml").into()
}

fn document(object: &Value) -> String {
    format!("---{}\n", block_of(object.clone()))
}

fn manifest(key: &SecretKey, secret: &Secret) -> Value {
    let metadata = json!({"name": key.name.to_string(), "namespace": key.namespace.to_string()});
    let mut manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
    if let Secret::NetworkData(data) = secret {
        manifest["stringData"] = json!({"networkData": data.to_string()});
    }
    manifest
}
