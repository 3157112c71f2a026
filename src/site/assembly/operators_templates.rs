//! HAProxy templates of the SIP operator: in ConfigMaps, or in files from which a kustomization
//! generates them.

use std::sync::Arc;

use crate::base::finding::Place;
use crate::input::kustomize::Builds;
use crate::input::load::{Document, EntryKind, Files};

/// Keys in the operator's ConfigMaps, which are also the names of files in its repo.
pub(super) const KEYS: [&str; 2] = ["loadBalancerControlPlane.cfg", "loadBalancerWorker.cfg"];

/// Finds the templates in a ConfigMap.
pub(super) fn config_map_templates(document: &Document<'_>) -> Vec<Place> {
    if !document.mentions(&KEYS) {
        return Vec::new();
    }
    let config_map = document.parse::<yaml_serde::Value>().ok();
    let data = config_map.as_ref().and_then(|config_map| config_map.get("data"));
    let has = |key: &&str| data.is_some_and(|data| data.get(*key).is_some());
    KEYS.into_iter().filter(has).map(|key| document.origin.at(["data", key])).collect()
}

/// Finds the templates beside kustomizations, which generate ConfigMaps from them.
pub(super) fn file_templates(repo: &Files, builds: &Builds) -> Vec<Place> {
    builds
        .directories()
        .flat_map(|directory| KEYS.map(|key| directory.join(key)))
        .filter(|file| repo.kind(file) == Some(EntryKind::File))
        .map(|file| Place::File(Arc::from(file.as_path())))
        .collect()
}
