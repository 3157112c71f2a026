//! Network data in Secrets that generators of kustomizations make.

use std::collections::HashSet;
use std::sync::Arc;

use super::host_document::HostDocument;
use super::networks::{
    LocatedNetworkData, NetworkDataError, NetworkDataHolder, read_text, read_value,
};
use crate::base::api::kustomization::GeneratorValue;
use crate::base::api::names::{ObjectName, SecretKey};
use crate::base::api::network_data::SECRET_KEYS;
use crate::base::api::network_format::NMSTATE;
use crate::base::finding::Origin;
use crate::input::kustomize::{Builds, ReachedGenerator};
use crate::input::load::Files;

/// Returns the network data that generators of kustomizations make under names that hosts refer to.
pub(crate) fn generated(
    repo: &Files,
    builds: &Builds,
    hosts: &[HostDocument],
    namespace: &dyn Fn(&Origin) -> Option<String>,
) -> Vec<LocatedNetworkData> {
    if !builds.generated().any(|generated| generated.is_secret()) {
        return Vec::new();
    }
    let mut wanted: HashSet<String> = HashSet::new();
    for key in hosts.iter().flat_map(HostDocument::network_secrets) {
        // The name may end in the hash that kustomize appends.
        wanted.extend(key.name.as_str().rsplit_once('-').map(|(base, _)| base.to_owned()));
        wanted.insert(key.name.to_string());
    }
    let mut held = Vec::new();
    for generated in builds.generated().filter(ReachedGenerator::is_secret) {
        let name = generated.generator.name.as_deref().filter(|name| wanted.contains(*name));
        let Some(name) = name.and_then(|name| name.parse::<ObjectName>().ok()) else {
            continue;
        };
        // Another program's format is reported as such.
        let keys = [SECRET_KEYS[0], SECRET_KEYS[1], NMSTATE];
        let Some((list, index, value)) = generated.generator.value(&keys) else {
            continue;
        };
        let field = generated.entry(list, index);
        let data = match value {
            GeneratorValue::Literal(value) => read_value(value, false),
            GeneratorValue::File(entry) => {
                let file = generated.path(entry).unwrap_or_else(|| entry.into());
                match repo.plain_text(&file) {
                    Ok(Some(text)) => read_text(&text),
                    _ => Err(NetworkDataError::NoFile(file)),
                }
            }
        };
        let data = data.map(Arc::new);
        for reach in generated.reaches {
            let given = reach.namespace.as_ref().map(|(namespace, _)| namespace.clone());
            let namespace = given
                .or_else(|| generated.generator.namespace.clone())
                .or_else(|| namespace(generated.origin));
            let Ok(namespace) = namespace.as_deref().unwrap_or("default").parse() else {
                continue;
            };
            let key = SecretKey { namespace, name: name.clone() };
            held.push(LocatedNetworkData {
                holder: NetworkDataHolder { is_generated: true, key },
                field: field.clone(),
                is_declared: true,
                is_live: false,
                overrides: generated.generator.overrides(),
                data: data.clone(),
            });
        }
    }
    held
}
