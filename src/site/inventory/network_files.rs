//! Network data in plain files: those beside hosts, and those that generators of kustomizations
//! read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::networks::{
    EncryptedValue, LocatedNetworkData, NetworkDataError, NetworkDataHolder, NetworkDataPosition,
    ReferringHost, read_text, read_value,
};
use crate::base::api::kustomization::GeneratorValue;
use crate::base::api::names::ObjectName;
use crate::base::api::names::SecretKey;
use crate::base::api::network_data::{NetworkData, SECRET_KEYS};
use crate::base::finding::Origin;
use crate::input::kustomize::Builds;
use crate::input::load::{Files, sops};

/// Suffixes of the file stems that mark network data.
const STEMS: [&str; 2] = ["network-data", "network_data"];

/// Files of a repo that may be network data by their names.
pub(crate) struct PlainFiles<'a> {
    repo: &'a Files,
    files: HashSet<&'a Utf8Path>,
    /// Number of hosts in the files of each directory.
    hosts: HashMap<&'a Utf8Path, usize>,
}

impl<'a> PlainFiles<'a> {
    pub(crate) fn new(
        repo: &'a Files,
        files: &'a [Utf8PathBuf],
        hosts: &[ReferringHost<'a>],
    ) -> Self {
        let mut directory_hosts: HashMap<&Utf8Path, usize> = HashMap::new();
        for directory in hosts.iter().filter_map(|host| host.file?.parent()) {
            *directory_hosts.entry(directory).or_default() += 1;
        }
        let stems: HashSet<&str> = files.iter().filter_map(|file| file.file_stem()).collect();
        let named: HashSet<&str> = hosts
            .iter()
            .filter_map(|host| Some(host.names.first()?.name.as_str()))
            .filter(|name| stems.contains(name))
            .collect();
        let may_be = |file: &&Utf8Path| {
            let stem = file.file_stem().unwrap_or_default();
            STEMS.iter().any(|end| stem.ends_with(end)) || named.contains(stem)
        };
        let files = files.iter().map(Utf8PathBuf::as_path).filter(may_be).collect();
        Self { repo, files, hosts: directory_hosts }
    }

    /// Returns the network data in a file beside a host.
    pub(crate) fn beside(&self, host: &ReferringHost<'_>) -> Option<LocatedNetworkData> {
        if self.files.is_empty() {
            return None;
        }
        let directory = host.file?.parent()?;
        let name = host.key.name.as_str();
        let mut stems: Vec<String> = STEMS
            .iter()
            .flat_map(|end| ["-", "/"].map(|mark| format!("{name}{mark}{end}")))
            .collect();
        stems.extend(host.names.first().map(|secret| secret.name.to_string()));
        // Names without the host's are unambiguous only if the directory has no other host.
        if self.hosts.get(directory) == Some(&1) {
            stems.extend(STEMS.map(str::to_owned));
        }
        // The order is the precedence.
        let endings = ["json", "yaml", "yml"];
        let mut files = stems
            .iter()
            .flat_map(|stem| endings.map(|ending| directory.join(format!("{stem}.{ending}"))));
        files.find_map(|file| self.plain(&file))
    }

    fn plain(&self, file: &Utf8Path) -> Option<LocatedNetworkData> {
        if !self.files.contains(file) {
            return None;
        }
        let text = self.repo.plain_text(file).ok()??;
        let sealed = || EncryptedValue::File(file.to_owned());
        let data = if sops::form(&text).is_some() {
            // A Secret that sops encrypted is read as a manifest.
            (!NetworkData::is_manifest(&text))
                .then(|| Err(NetworkDataError::Encrypted(sealed())))?
        } else {
            NetworkData::is_plain(&text).then(|| read_text(&text, sealed))?
        };
        let place = Origin::for_file(Arc::from(file), &text).start();
        Some(LocatedNetworkData {
            holder: NetworkDataHolder::File(file.to_owned()),
            whereabouts: NetworkDataPosition::Other(place),
            is_declared: true,
            is_live: false,
            overrides: false,
            data: data.map(Arc::new),
        })
    }
}

/// Returns the network data that generators of kustomizations make under names that hosts refer to.
pub(crate) fn generated(
    repo: &Files,
    builds: &Builds,
    hosts: &[ReferringHost<'_>],
    namespace: &dyn Fn(&Origin) -> Option<String>,
) -> Vec<LocatedNetworkData> {
    if builds.generated().next().is_none() {
        return Vec::new();
    }
    let mut wanted: HashSet<String> = HashSet::new();
    for key in hosts.iter().flat_map(|host| &host.names) {
        // The name may end in the hash that kustomize appends.
        wanted.extend(key.name.as_str().rsplit_once('-').map(|(base, _)| base.to_owned()));
        wanted.insert(key.name.to_string());
    }
    let mut held = Vec::new();
    let mut read: BTreeMap<Utf8PathBuf, Option<String>> = BTreeMap::new();
    for generated in builds.generated() {
        let Some(name) = generated.generator.name.as_deref().filter(|name| wanted.contains(*name))
        else {
            continue;
        };
        let Ok(name) = name.parse::<ObjectName>() else {
            continue;
        };
        let Some((list, index, value)) = generated.generator.value(&SECRET_KEYS) else {
            continue;
        };
        let place = generated.place(list, index);
        let mut text = |file: &Utf8Path| {
            let read =
                read.entry(file.to_owned()).or_insert_with(|| repo.plain_text(file).ok().flatten());
            read.clone().ok_or_else(|| NetworkDataError::NoFile(file.to_owned()))
        };
        let data = match value {
            GeneratorValue::Literal(value) => read_value(value, false, || EncryptedValue::Rendered),
            GeneratorValue::File(file) => generated
                .path(file)
                .ok_or_else(|| NetworkDataError::NoFile(file.into()))
                .and_then(|file| {
                    text(&file)
                        .and_then(|text| read_text(&text, || EncryptedValue::File(file.clone())))
                }),
        };
        for reach in generated.reaches {
            let given = reach.effect.namespace.as_ref().map(|(namespace, _)| namespace.clone());
            let namespace = given
                .or_else(|| generated.generator.namespace.clone())
                .or_else(|| namespace(generated.origin));
            let Ok(namespace) = namespace.as_deref().unwrap_or("default").parse() else {
                continue;
            };
            let key = SecretKey { namespace, name: name.clone() };
            held.push(LocatedNetworkData::generated(
                key,
                place.clone(),
                generated.generator.overrides(),
                data.clone(),
            ));
        }
    }
    held
}
