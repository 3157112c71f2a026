//! What the generated tree says of hosts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use super::{Key, ROLES};
use crate::support;

/// One document about a host.
#[derive(Debug, Clone)]
pub struct Entry {
    pub file: String,
    pub place: Place,
    pub host: Key,
    pub labels: BTreeMap<String, Option<String>>,
    pub annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A patch over the build of a directory.
    Declared(String),
    Observed,
    Released,
}

/// The output directory: its files, and what they say of hosts.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub files: BTreeMap<String, String>,
    pub entries: Vec<Entry>,
}

impl Tree {
    /// Reads the output directory below a repo's root.
    pub fn read(root: &Path) -> Self {
        let output = root.join("overlays");
        let mut tree = Self::default();
        if !output.exists() {
            return tree;
        }
        for entry in WalkDir::new(&output).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(&output).unwrap().to_str().unwrap().to_owned();
                tree.files.insert(path, fs::read_to_string(entry.path()).unwrap());
            }
        }
        for (file, text) in &tree.files {
            let Some(place) = place(file) else { continue };
            tree.entries.extend(
                support::documents(text).iter().map(|document| read(file, place.clone(), document)),
            );
        }
        tree
    }

    /// The cluster and role that have a host.
    pub fn holder(&self, host: &Key) -> Option<(Key, &'static str)> {
        self.entries.iter().filter(|entry| entry.host == *host).find_map(Entry::assignment)
    }

    /// The hosts of a cluster in a role.
    pub fn hosts_of(&self, cluster: &Key, role: &str) -> Vec<Key> {
        let holds = |entry: &&Entry| {
            entry.assignment().is_some_and(|(key, of)| key == *cluster && of == role)
        };
        self.entries.iter().filter(holds).map(|entry| entry.host.clone()).collect()
    }

    pub fn is_released(&self, host: &Key) -> bool {
        self.entries.iter().any(|entry| entry.host == *host && entry.place == Place::Released)
    }
}

impl Entry {
    /// The cluster and role that its labels name.
    pub fn assignment(&self) -> Option<(Key, &'static str)> {
        let value =
            |name: &str| self.labels.get(&format!("sip.airshipit.org/{name}")).cloned().flatten();
        let role = value("node-type")?;
        let role = ROLES.into_iter().find(|known| *known == role).unwrap();
        Some((Key { namespace: value("cluster-namespace")?, name: value("cluster-name")? }, role))
    }
}

fn place(file: &str) -> Option<Place> {
    let below = file.strip_prefix("hosts/")?;
    let (directory, name) = below.rsplit_once('/')?;
    match directory.split_once('/')? {
        _ if name == "kustomization.yaml" => None,
        ("declared", root) => Some(Place::Declared(root.to_owned())),
        ("observed", "released") => Some(Place::Released),
        ("observed", _) => Some(Place::Observed),
        _ => panic!("{file} is in no directory that hosts have"),
    }
}

fn read(file: &str, place: Place, document: &yaml_serde::Value) -> Entry {
    let metadata = &document["metadata"];
    let text = |value: &yaml_serde::Value| value.as_str().unwrap().to_owned();
    let map = |name: &str| metadata[name].as_mapping().cloned().unwrap_or_default();
    Entry {
        file: file.to_owned(),
        place,
        host: Key { namespace: text(&metadata["namespace"]), name: text(&metadata["name"]) },
        labels: map("labels")
            .iter()
            .map(|(key, value)| (text(key), value.as_str().map(str::to_owned)))
            .collect(),
        annotations: map("annotations")
            .iter()
            .map(|(key, value)| (text(key), text(value)))
            .collect(),
    }
}
