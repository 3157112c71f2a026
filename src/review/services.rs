//! Services that are created, changed and deleted.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::service_files::{self, ServiceFiles};
use super::{ChangedFiles, ImmutableField, State, Texts, below, immutable, pods};
use crate::api::names::ClusterKey;
use crate::layout;
use crate::output::Tree;

/// Change of one of a cluster's services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceChange {
    /// Name of its directory, such as `loadbalancer-worker`, or `jumphost2` for the second jump
    /// host.
    pub service: String,
    /// Created, changed or deleted.
    pub state: State,
    /// Changed aspects; empty if only comments differ.
    pub aspects: BTreeSet<Aspect>,
    /// True if the pods are replaced, which ends their connections. Otherwise running pods reload
    /// the changes.
    pub restarts: bool,
    /// Changes that the API server rejects, because the object exists.
    pub immutable: Vec<ImmutableField>,
}

/// Aspect of a service that can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Aspect {
    /// Backend hosts.
    Hosts,
    /// Ports.
    Ports,
    /// Container image.
    Image,
    /// Number of pods.
    Replicas,
    /// SSH keys that may log in.
    AuthorizedKeys,
    /// Anything else.
    Configuration,
}

/// Computes the changes of a cluster's services.
///
/// `shared` are changed shared files. `edited` are the directories that refer to those of them that
/// change under the same name. `later` is the later output, including unchanged files.
pub(super) fn changes<'a>(
    cluster: &ClusterKey,
    files: &ChangedFiles<'a>,
    shared: &ChangedFiles<'a>,
    edited: &'a BTreeSet<Utf8PathBuf>,
    later: &'a Tree,
) -> Vec<ServiceChange> {
    let directory = layout::cluster_directory(cluster);
    let mut by_service: BTreeMap<&str, ChangedFiles<'_>> = BTreeMap::new();
    let edited = edited
        .iter()
        .filter_map(|referring| referring.strip_prefix(&directory).ok());
    for service in edited.filter_map(|referring| referring.iter().next()) {
        by_service.entry(service).or_default();
    }
    for (path, texts) in below(files, &directory) {
        let mut parts = path.iter();
        // Other files are the cluster's own kustomization, and its installer, which is no service.
        if let (Some(service), file) = (parts.next(), parts.as_path())
            && !file.as_str().is_empty()
            && service != layout::INSTALLER
        {
            by_service.entry(service).or_default().insert(file, texts);
        }
    }
    let change = |(service, files): (&str, ChangedFiles<'a>)| {
        // The cluster's kustomization lists exactly the existing services, so each has a
        // kustomization of its own.
        let state = State::by_witness(&files, layout::KUSTOMIZATION);
        let stays = state == State::Changed;
        let files = ServiceFiles::new(&directory.join(service), files, shared, later);
        let aspects = if stays {
            aspects(&files)
        } else {
            BTreeSet::new()
        };
        let restarts = stays && pods::of(&files.before) != pods::of(&files.after);
        let immutable = if stays {
            immutable::changes(&files)
        } else {
            Vec::new()
        };
        ServiceChange {
            service: service.to_owned(),
            state,
            aspects,
            restarts,
            immutable,
        }
    };
    by_service.into_iter().map(change).collect()
}

fn aspects(files: &ServiceFiles<'_>) -> BTreeSet<Aspect> {
    let bodies = |(path, (before, after)): (&Utf8Path, Texts<'_>)| {
        let (before, after) = (
            layout::body(before.unwrap_or_default()),
            layout::body(after.unwrap_or_default()),
        );
        (before != after).then(|| of_file(path.as_str(), before, after))
    };
    let of_files: Vec<BTreeSet<Aspect>> = files.differences().filter_map(bodies).collect();
    let only_unknown = !of_files.is_empty() && of_files.iter().all(BTreeSet::is_empty);
    of_files
        .into_iter()
        .flatten()
        .chain(only_unknown.then_some(Aspect::Configuration))
        .collect()
}

/// Returns the aspects that a changed file affects. Except for its patches, a kustomization only
/// follows other files. Unknown files count as configuration.
fn of_file(file: &str, before: &str, after: &str) -> BTreeSet<Aspect> {
    if file == layout::KUSTOMIZATION {
        return of_patches(before, after);
    }
    let read = MEANINGS.iter().find(|(name, _)| *name == file);
    let found = read
        .map(|(_, aspects)| aspects(before, after))
        .unwrap_or_default();
    if found.is_empty() {
        BTreeSet::from([Aspect::Configuration])
    } else {
        found
    }
}

/// Returns the aspects of changed patches. Those by operations only rename objects.
fn of_patches(before: &str, after: &str) -> BTreeSet<Aspect> {
    let patches = |text| -> BTreeMap<String, Value> {
        let kustomization: Value = yaml_serde::from_str(text).unwrap_or_default();
        service_files::patches(&kustomization)
            .filter_map(|(_, body)| Some((body.get("kind")?.as_str()?.to_owned(), body)))
            .collect()
    };
    let (before, after) = (patches(before), patches(after));
    let mut aspects = BTreeSet::new();
    for kind in before.keys().chain(after.keys()) {
        let within = PATCHED.iter().find(|(known, _)| known == kind);
        let [before, after] = [&before, &after].map(|patches| patches.get(kind));
        differences(
            before.unwrap_or(&Value::Null),
            after.unwrap_or(&Value::Null),
            within.map(|(_, aspect)| *aspect),
            &mut aspects,
        );
    }
    aspects
}

/// Aspects of patched objects, other than controllers.
const PATCHED: [(&str, Aspect); 1] = [("Role", Aspect::Hosts)];

/// Returns the aspects in which two texts of a file differ.
type Aspects = fn(&str, &str) -> BTreeSet<Aspect>;

/// File names of services, as in their templates.
const MEANINGS: [(&str, Aspects); 10] = [
    (layout::SERVICE, of_ports),
    ("haproxy.cfg", of_haproxy),
    ("deployment.yaml", of_deployment),
    ("networkpolicy.yaml", of_ports),
    ("hosts", |_, _| BTreeSet::from([Aspect::Hosts])),
    ("ssh_config", |_, _| BTreeSet::from([Aspect::Hosts])),
    ("externalsecrets.yaml", |_, _| {
        BTreeSet::from([Aspect::Hosts])
    }),
    ("rbac.yaml", |_, _| BTreeSet::from([Aspect::Hosts])),
    ("poddisruptionbudget.yaml", |_, _| {
        BTreeSet::from([Aspect::Replicas])
    }),
    ("authorized_keys", |_, _| {
        BTreeSet::from([Aspect::AuthorizedKeys])
    }),
];

fn of_ports(before: &str, after: &str) -> BTreeSet<Aspect> {
    let ports = |text| {
        lines(text)
            .filter(|line| line.to_lowercase().contains("port:"))
            .collect::<Vec<_>>()
    };
    BTreeSet::from_iter((ports(before) != ports(after)).then_some(Aspect::Ports))
}

/// An HAProxy configuration has one section per port, with one line per host.
fn of_haproxy(before: &str, after: &str) -> BTreeSet<Aspect> {
    let mut aspects = BTreeSet::new();
    aspects.extend((servers(before) != servers(after)).then_some(Aspect::Hosts));
    aspects.extend((ports(before) != ports(after)).then_some(Aspect::Ports));
    aspects.extend((rest(before) != rest(after)).then_some(Aspect::Configuration));
    aspects
}

const SERVER: &str = "server";
const PORTS: [&str; 2] = ["listen", "bind"];

/// Returns the hosts of an HAProxy configuration. A server's port is that of its section.
fn servers(text: &str) -> BTreeSet<&str> {
    let servers = lines(text).filter(|line| first_word(line) == SERVER);
    servers
        .map(|line| line.rsplit_once(':').map_or(line, |(host, _)| host))
        .collect()
}

/// Returns the sections of an HAProxy configuration, which are named after their ports.
fn ports(text: &str) -> BTreeSet<&str> {
    lines(text)
        .filter(|line| PORTS.contains(&first_word(line)))
        .collect()
}

/// Returns the remaining lines of an HAProxy configuration.
fn rest(text: &str) -> BTreeSet<&str> {
    lines(text)
        .filter(|line| first_word(line) != SERVER && !PORTS.contains(&first_word(line)))
        .collect()
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn of_deployment(before: &str, after: &str) -> BTreeSet<Aspect> {
    let mut aspects = BTreeSet::new();
    match (yaml_serde::from_str(before), yaml_serde::from_str(after)) {
        (Ok(before), Ok(after)) => differences(&before, &after, None, &mut aspects),
        // One of the files was edited by hand.
        _ => aspects.extend([Aspect::Configuration]),
    }
    aspects
}

/// Collects the differences between two values; `within` is the aspect of the keys above.
fn differences(
    before: &Value,
    after: &Value,
    within: Option<Aspect>,
    aspects: &mut BTreeSet<Aspect>,
) {
    match (before, after) {
        (Value::Mapping(before), Value::Mapping(after)) => {
            let keys = before
                .keys()
                .chain(after.keys().filter(|key| !before.contains_key(*key)));
            for key in keys {
                let told = within.or_else(|| aspect_of(key.as_str()?));
                differences(
                    before.get(key).unwrap_or(&Value::Null),
                    after.get(key).unwrap_or(&Value::Null),
                    told,
                    aspects,
                );
            }
        }
        (Value::Sequence(before), Value::Sequence(after)) if before.len() == after.len() => {
            before
                .iter()
                .zip(after)
                .for_each(|(before, after)| differences(before, after, within, aspects));
        }
        _ if before != after => aspects.extend([within.unwrap_or(Aspect::Configuration)]),
        _ => {}
    }
}

/// Maps a key of a Deployment to its aspect.
fn aspect_of(key: &str) -> Option<Aspect> {
    match key {
        "ports" => Some(Aspect::Ports),
        "image" => Some(Aspect::Image),
        "replicas" => Some(Aspect::Replicas),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::templates;

    #[test]
    fn every_file_that_means_something_has_a_template() {
        for (file, _) in MEANINGS {
            assert!(
                templates::names().any(|name| name.ends_with(&format!("/{file}"))),
                "{file}"
            );
        }
    }
}
