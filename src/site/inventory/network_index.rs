//! Network data of a repo, indexed by the Secrets that hosts name.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::addresses::ClaimedAddresses;
use super::host_document::HostDocument;
use super::networks::{
    HostNetworkData, LocatedNetworkData, NetworkDataError, NetworkDataHolder, NoNetworkData,
    UnnamedNetworkData, keyless_secrets, read_text, read_value,
};
use crate::base::api::kustomization::GeneratorValue;
use crate::base::api::names::{HostKey, ObjectName, SecretKey};
use crate::base::api::network_data::{MalformedNetworkData, SECRET_KEYS};
use crate::base::api::network_format::NMSTATE;
use crate::base::finding::{Code, Finding, Origin};
use crate::base::grouping::grouped;
use crate::input::kustomize::{Builds, ReachedGenerator};
use crate::input::load::Files;

/// All network data of a repo.
#[derive(Default)]
pub(crate) struct Networks {
    /// Network data by the Secret that holds it, or that a generator makes it for.
    held: BTreeMap<SecretKey, Vec<LocatedNetworkData>>,
    /// Secrets with network data that no host names, in file order.
    pub(crate) unnamed: Vec<UnnamedNetworkData>,
    /// Keys of Secrets that hosts name and that have no network data.
    keyless: BTreeMap<SecretKey, BTreeSet<String>>,
    /// Addresses that Machines claimed or that pools keep.
    pub(crate) claimed: ClaimedAddresses,
}

impl Extend<LocatedNetworkData> for Networks {
    fn extend<I: IntoIterator<Item = LocatedNetworkData>>(&mut self, all: I) {
        for one in all {
            self.held.entry(one.holder.key.clone()).or_default().push(one);
        }
    }
}

impl Networks {
    /// Adds the network data that generators of kustomizations make under names that hosts refer to.
    pub(crate) fn add_generated(
        &mut self,
        repo: &Files,
        builds: &Builds,
        hosts: &[HostDocument],
        namespace: &dyn Fn(&Origin) -> Option<String>,
    ) {
        if !builds.generated().any(|generated| generated.is_secret()) {
            return;
        }
        let mut wanted: HashSet<String> = HashSet::new();
        for key in hosts.iter().flat_map(HostDocument::network_secrets) {
            // The name may end in the hash that kustomize appends.
            wanted.extend(key.name.as_str().rsplit_once('-').map(|(base, _)| base.to_owned()));
            wanted.insert(key.name.to_string());
        }
        for generated in builds.generated().filter(ReachedGenerator::is_secret) {
            let name = generated.generator.name.as_deref().filter(|name| wanted.contains(*name));
            let Some(name) = name.and_then(|name| name.parse::<ObjectName>().ok()) else {
                continue;
            };
            // Another program's format is reported as such.
            let keys = [SECRET_KEYS[0], SECRET_KEYS[1], NMSTATE];
            let Some((list, index, value)) = generated.generator.value(&keys) else { continue };
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
                self.extend([LocatedNetworkData {
                    holder: NetworkDataHolder { is_generated: true, key },
                    field: field.clone(),
                    is_declared: true,
                    is_live: false,
                    overrides: generated.generator.overrides(),
                    data: data.clone(),
                }]);
            }
        }
    }

    /// Joins network data with the hosts that name it.
    pub(crate) fn join_hosts(
        &mut self,
        repo: &Files,
        files: &[Utf8PathBuf],
        hosts: &[HostDocument],
    ) {
        // Nearly all have one holder.
        for alike in self.held.values_mut().filter(|alike| alike.len() > 1) {
            // A manifest wins over its snapshot.
            let is_manifest =
                |held: &LocatedNetworkData| held.is_declared && !held.holder.is_generated;
            let has_manifest = alike.iter().any(is_manifest);
            alike.retain(|held| held.is_declared || !has_manifest);
            // Generators that merge into or replace another object come first.
            alike.sort_by(|a, b| (!a.overrides, &a.holder).cmp(&(!b.overrides, &b.holder)));
        }
        let (mut named, mut lacking) = (HashSet::new(), BTreeSet::new());
        for host in hosts {
            named.extend(host.inspection_secret());
            let names = host.network_secrets();
            match names.iter().find_map(|name| self.key_of(name)) {
                Some(key) => named.extend([key]),
                None => lacking.extend(names),
            }
        }
        self.keyless = keyless_secrets(repo, files, &lacking);
        self.unnamed = self.unnamed_but(&named);
    }

    /// Returns the Secrets with network data that are not `named`. A Secret that has such a key but
    /// no networks is not listed.
    fn unnamed_but(&self, named: &HashSet<SecretKey>) -> Vec<UnnamedNetworkData> {
        let has_networks = |held: &LocatedNetworkData| matches!(&held.data, Ok(data) if data.ids().next().is_some());
        let holders = self.held.values();
        let secrets = holders.filter_map(|all| all.iter().find(|held| !held.holder.is_generated));
        let place = |held: &LocatedNetworkData| {
            let Origin { file, first_line, .. } = &held.field.origin;
            (file.clone(), *first_line)
        };
        // Several builds may put one Secret into several namespaces. It is named if a host of any
        // of these names it.
        let first_unnamed = |alike: Vec<&LocatedNetworkData>| {
            if alike.iter().any(|held| named.contains(&held.holder.key)) {
                return None;
            }
            let held = alike.into_iter().find(|held| !held.is_live && has_networks(held))?;
            let (key, origin) = (held.holder.key.clone(), held.field.origin.clone());
            Some(UnnamedNetworkData { key, origin })
        };
        let by_place = grouped(secrets.map(|held| (place(held), held)));
        by_place.into_values().filter_map(first_unnamed).collect()
    }

    /// Returns the rendered hosts whose Secret no build renders, with its position.
    pub(crate) fn unrendered<'a>(
        &'a self,
        hosts: &'a [HostDocument],
    ) -> Vec<(&'a HostDocument, &'a Origin)> {
        let is_loose = |held: &LocatedNetworkData| !held.is_declared && !held.is_live;
        if !self.held.values().flatten().any(is_loose) {
            return Vec::new();
        }
        let secret = |host: &'a HostDocument| {
            let names = host.network_secrets();
            let all = names.iter().find_map(|name| self.held.get(&self.key_of(name)?))?;
            let held = all.first().filter(|_| all.iter().all(is_loose))?;
            Some((host, &held.field.origin))
        };
        hosts.iter().filter(|host| !host.roots.is_empty()).filter_map(secret).collect()
    }

    /// Returns the key under which a named Secret is held: its own, or that of its generator
    /// without the hash.
    fn key_of(&self, name: &SecretKey) -> Option<SecretKey> {
        if self.held.contains_key(name) {
            return Some(name.clone());
        }
        let (base, hash) = name.name.as_str().rsplit_once('-')?;
        // A name with such an ending may also be written by hand, so a generator must have the base
        // name.
        let is_hash = hash.len() == HASH
            && hash.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let base: ObjectName = base.parse().ok().filter(|_| is_hash)?;
        let base = SecretKey { namespace: name.namespace.clone(), name: base };
        self.held.get(&base)?.iter().any(|held| held.holder.is_generated).then_some(base)
    }

    /// Returns the network data that a host refers to, with findings about it.
    pub(crate) fn network(&self, host: &HostDocument) -> (HostNetworkData, Vec<Finding>) {
        let names = host.network_secrets();
        let keyed = names.iter().find_map(|name| self.held.get(&self.key_of(name)?));
        let Some((first, others)) = keyed.and_then(|all| all.split_first()) else {
            let keyless = names.iter().find_map(|name| Some((name, self.keyless.get(name)?)));
            let reason = match (keyless, names.first()) {
                (Some((name, keys)), _) if keys.contains(NMSTATE) => {
                    let holder = NetworkDataHolder { is_generated: false, key: name.clone() };
                    NoNetworkData::OtherFormat(holder, NMSTATE)
                }
                (Some((name, keys)), _) => NoNetworkData::Keyless(name.clone(), keys.clone()),
                (None, Some(name)) => NoNetworkData::Missing(name.clone()),
                (None, None) => NoNetworkData::Absent,
            };
            return (Err(reason), Vec::new());
        };
        let mut findings: Vec<Finding> = unreadable(&host.key, first).into_iter().collect();
        let differs = |other: &LocatedNetworkData| match (&first.data, &other.data) {
            (Ok(one), Ok(two)) => one != two,
            _ => other.holder == first.holder,
        };
        let mut rivals = others.iter().filter(|other| differs(other));
        if let Some(other) = rivals.find(|it| !first.overrides || it.holder == first.holder) {
            let (message, [one, two], help) = if other.holder == first.holder {
                let message = format!("{} is duplicated with different network data", first.holder);
                let help = "remove one of them: it is ambiguous which one the host uses";
                (message, [other, first], help)
            } else {
                let message = format!(
                    "host {} has network data in {} and other in {}",
                    host.key, first.holder, other.holder
                );
                (message, [first, other], "remove one of them, or make them equal")
            };
            let finding = Finding::new(Code::NetworkDataDiffers, message).at(one.field.place());
            findings.push(finding.see(two.field.place(), "the other one").help(help));
        }
        let holder = || first.holder.clone();
        let reason = |error: &NetworkDataError| match error {
            NetworkDataError::Encrypted => {
                NoNetworkData::Encrypted(holder(), Box::new(first.field.place()))
            }
            NetworkDataError::Malformed(MalformedNetworkData::OtherFormat(format)) => {
                NoNetworkData::OtherFormat(holder(), format)
            }
            unreadable => NoNetworkData::Unreadable(holder(), unreadable.to_string()),
        };
        (first.data.as_ref().map(Arc::clone).map_err(reason), findings)
    }
}

/// Length in bytes of the hash that kustomize appends to generated names.
const HASH: usize = 10;

/// Reports unreadable network data, except encrypted data, which `plan::encrypted` reports, and
/// unknown data.
fn unreadable(host: &HostKey, held: &LocatedNetworkData) -> Option<Finding> {
    let error = held.data.as_ref().err()?;
    let help = match error {
        // Other programs may read that format.
        NetworkDataError::Encrypted
        | NetworkDataError::Malformed(
            MalformedNetworkData::OtherFormat(_) | MalformedNetworkData::Variable(_),
        ) => return None,
        NetworkDataError::Malformed(
            MalformedNetworkData::Address { .. } | MalformedNetworkData::Unusable { .. },
        ) => {
            let holder = match held.holder.is_generated {
                false => "the Secret".to_owned(),
                true => held.holder.to_string(),
            };
            let message = format!("the network data of host {host} {error}");
            let finding = Finding::new(Code::InvalidNetworkData, message).at(held.field.place());
            return Some(finding.help(format!(
                "fix the address in {holder}; `<no value>` or no ip_address means that it has none"
            )));
        }
        NetworkDataError::Malformed(MalformedNetworkData::Shape) => {
            "write JSON or YAML with a list of `networks`; each `id` and `ip_address` is text"
        }
        NetworkDataError::NotBase64 => {
            "write the text under `stringData`, or encode it by `base64`"
        }
        NetworkDataError::NoFile(_) => {
            "add the file, or fix the path, which is relative to the kustomization"
        }
    };
    let message = format!("host {host} has network data in {}, which {error}", held.holder);
    Some(Finding::new(Code::InvalidNetworkData, message).at(held.field.place()).help(help))
}
