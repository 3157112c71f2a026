//! HAProxy templates of the SIP operator: Go templates in ConfigMaps, or in files from which a
//! kustomization generates them.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use serde::Deserialize;

use crate::api::names::Role;
use crate::finding::Place;
use crate::kustomize::Builds;
use crate::layout;
use crate::load::{Document, EntryKind, Files};

/// A template of the SIP operator.
#[derive(Debug, Clone)]
pub struct OperatorsTemplate {
    /// Role of the load balancer's backends.
    pub role: Role,
    /// The template.
    pub text: String,
    /// Its file, or its key in a ConfigMap.
    pub place: Place,
}

/// Keys in the operator's ConfigMaps, which are also the names of files in its repo.
pub(super) const KEYS: [&str; 2] = ["loadBalancerControlPlane.cfg", "loadBalancerWorker.cfg"];

fn role_of(key: &str) -> Option<Role> {
    let [control_plane, worker] = KEYS;
    match key {
        key if key == control_plane => Some(Role::ControlPlane),
        key if key == worker => Some(Role::Worker),
        _ => None,
    }
}

#[derive(Deserialize)]
struct TemplatesConfigMap {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

/// Reads the templates in a ConfigMap.
pub(super) fn config_map_templates(document: &Document<'_>) -> Vec<OperatorsTemplate> {
    let Some(config_map) = document
        .mentions(&KEYS)
        .then(|| document.parse::<TemplatesConfigMap>().ok())
        .flatten()
    else {
        return Vec::new();
    };
    let template = |(key, text): (String, String)| {
        Some(OperatorsTemplate {
            role: role_of(&key)?,
            place: document.origin.at(["data", key.as_str()]),
            text,
        })
    };
    config_map.data.into_iter().filter_map(template).collect()
}

/// Reads the templates beside kustomizations, which generate ConfigMaps from them. An unreadable
/// file is skipped.
pub(super) fn file_templates(repo: &Files, builds: &Builds) -> Vec<OperatorsTemplate> {
    let template = |directory: &Utf8Path, key: &str| {
        let file = directory.join(key);
        if repo.kind(&file) != Some(EntryKind::File) {
            return None;
        }
        Some(OperatorsTemplate {
            role: role_of(key)?,
            text: layout::text_of(&repo.read(&file).ok()?),
            place: Place::File(Arc::from(file.as_path())),
        })
    };
    let keys = |directory| {
        KEYS.into_iter()
            .filter_map(move |key| template(directory, key))
    };
    builds.directories().flat_map(keys).collect()
}
