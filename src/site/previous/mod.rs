//! The previous run's output. The generated tree is the only record of host assignments.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

mod damaged_files;
pub(crate) mod generated_host;

use crate::base::api::installed::InstallationRecord;
use crate::base::api::ipam;
use crate::base::api::names::{ClusterKey, HostKey, LabelMap, NodePort, Part};
use crate::base::finding::{Finding, Origin};
use crate::base::layout;
use crate::base::tree::Tree;
use crate::input::load::{EntryKind, Files, ReadError, ScanResult, mentions, objects};
use crate::input::settings::Settings;
use damaged_files::{listed_hosts, misplaced, missing, unread, written_by_newer};
pub use generated_host::PendingRelease;
use generated_host::{GeneratedHost, GeneratedHostState};

/// The previous run's assignments and files.
#[derive(Debug, Default)]
pub struct PreviousOutput {
    /// Assignments per host. More than one is left by a run that was killed between two files.
    pub held: BTreeMap<HostKey, Vec<RecordedAssignment>>,
    /// Observed hosts that are being released.
    pub released: BTreeMap<HostKey, PendingRelease>,
    /// Declared hosts whose manifest labels are patched away.
    pub unlabelled: BTreeSet<HostKey>,
    /// Files of each cluster, for hosts and services, relative to the output directory.
    pub files: BTreeMap<ClusterKey, Vec<Utf8PathBuf>>,
    /// Shared directories that the files of each cluster refer to.
    shared: BTreeMap<ClusterKey, BTreeSet<Utf8PathBuf>>,
    /// Files that clusters refer to.
    shared_files: BTreeSet<Utf8PathBuf>,
    /// Inputs named in the headers of each cluster's files.
    pub(crate) made_from: BTreeMap<ClusterKey, BTreeSet<Utf8PathBuf>>,
    /// Addresses that each cluster's component makes IPPools keep.
    pub(crate) pinned_pools: BTreeMap<ClusterKey, PinnedAddresses>,
    /// Directory of the service that uses each NodePort, relative to the output directory.
    pub node_ports: BTreeMap<NodePort, Utf8PathBuf>,
    /// What the installer Job of each cluster installs, if its image can add workers alone.
    pub installed: BTreeMap<ClusterKey, InstallationRecord>,
    /// Clusters with files or hosts.
    pub clusters: BTreeSet<ClusterKey>,
    /// Everything in the output directory, relative to it, directories included.
    pub(crate) entries: Vec<(Utf8PathBuf, EntryKind)>,
    /// Content hash of every file, by path relative to the output directory.
    fingerprints: HashMap<String, u64>,
}

/// An assignment in the generated tree.
#[derive(Debug, Clone)]
pub struct RecordedAssignment {
    /// Cluster that the host is assigned to.
    pub cluster: ClusterKey,
    /// Part of the cluster that the host serves.
    pub part: Part,
    /// Namespace in the patch's target, or that of the object.
    pub namespace: Option<String>,
    /// Document with the assignment.
    pub origin: Origin,
    /// Generated labels, without those of outputs.
    pub labels: LabelMap,
}

/// Addresses as written, by IPPool and claim.
type PinnedAddresses = BTreeMap<String, BTreeMap<String, String>>;

/// The facts that are read from every file.
struct File {
    /// Path relative to the output directory.
    path: Utf8PathBuf,
    cluster: Option<ClusterKey>,
    fingerprint: u64,
    /// The finding if it has no object although it should have hosts.
    unread: Option<Finding>,
    /// Files with hosts that it lists, with their lines.
    listed_hosts: Vec<(usize, Utf8PathBuf)>,
    /// Set if it has a form that only a newer sipgen knows.
    is_newer: bool,
    /// Set if it has hosts of another output directory, such as that of a site.
    is_misplaced: bool,
    node_ports: Vec<NodePort>,
    /// Addresses that it makes IPPools keep.
    pinned_pools: PinnedAddresses,
    /// Input named in its header.
    made_from: Option<Utf8PathBuf>,
    /// Record of an installer Job.
    installed: Option<InstallationRecord>,
    /// Shared directories that it refers to.
    shared: BTreeSet<Utf8PathBuf>,
}

/// A fact from one file or generated document.
enum RecordedEntry {
    File(File),
    Host(Origin, Result<GeneratedHost, Finding>),
}

impl PreviousOutput {
    /// Reads the previous output from `entries`, which are the [entries](Files::entries_below) of the
    /// output directory. Files without the ownership marker are ignored.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn read(
        repo: &Files,
        settings: &Settings,
        entries: Vec<(Utf8PathBuf, EntryKind)>,
    ) -> Result<(Self, Vec<Finding>), ReadError> {
        let output = settings.output.as_path();
        let is_read = |(path, kind): &&(Utf8PathBuf, EntryKind)| {
            *kind == EntryKind::File && !layout::is_leftover(path)
        };
        let files: Vec<Utf8PathBuf> =
            entries.iter().filter(is_read).map(|(path, _)| path.clone()).collect();
        // Only files of hosts are parsed. Services are most of the output, and are scanned as
        // bytes.
        let look = |file: &Utf8Path, content: &[u8]| {
            let below = file.strip_prefix(output).unwrap_or(file);
            let is_kustomization = layout::is_kustomization(below);
            let is_of_hosts = below.starts_with(layout::HOSTS);
            let has_hosts = is_of_hosts && below.extension() == Some("yaml") && !is_kustomization;
            let is_ours = layout::is_ours(content);
            let is_named = |name: &str| below.file_name() == Some(name);
            let text = || String::from_utf8_lossy(content);
            let kustomization_in =
                |top: &str| below.starts_with(top) && is_named(layout::KUSTOMIZATION);
            let lists_hosts = is_of_hosts && is_kustomization && is_ours;
            let file = File {
                path: below.to_owned(),
                cluster: layout::cluster_of(below),
                fingerprint: fingerprint(&layout::with_line_feeds(content)),
                unread: read_if(has_hosts, || unread(file, content)),
                listed_hosts: read_if(lists_hosts, || listed_hosts(below, &text())),
                is_newer: layout::is_newer(content),
                is_misplaced: is_ours
                    && !is_of_hosts
                    && below.as_str().contains(&format!("/{}/", layout::HOSTS))
                    && mentions(&["\nkind: BareMetalHost\n"])(content),
                node_ports: read_if(is_named(layout::SERVICE), || node_ports(&text())),
                pinned_pools: read_if(kustomization_in(layout::TENANTS), || pinned_pools(&text())),
                made_from: layout::made_from(content),
                installed: read_if(is_named(layout::INSTALLER_JOB), || {
                    InstallationRecord::find(content)
                }),
                shared: read_if(kustomization_in(layout::CLUSTERS), || {
                    layout::shared_directories(below, &text())
                }),
            };
            ScanResult { says: Some(RecordedEntry::File(file)), read: has_hosts && is_ours }
        };
        let facts = repo.scan(&files, look, |document| {
            let host = GeneratedHost::read(&document);
            Some(RecordedEntry::Host(document.origin.clone(), host))
        })?;
        let below = |(path, kind): (Utf8PathBuf, EntryKind)| {
            Some((path.strip_prefix(output).ok()?.to_owned(), kind))
        };
        let mut state = PreviousOutput {
            entries: entries.into_iter().filter_map(below).collect(),
            ..PreviousOutput::default()
        };
        let (mut files, mut findings) = (Vec::<File>::new(), Vec::new());
        for fact in facts {
            match fact {
                RecordedEntry::File(file) => files.push(file),
                RecordedEntry::Host(origin, Ok(host)) => state.add_host(origin, host, settings),
                RecordedEntry::Host(_, Err(finding)) => findings.push(finding),
            }
        }
        // The remedy is for the file, however many of its documents are broken.
        let file = |finding: &Finding| finding.places.first().map(|(at, _)| at.file().clone());
        findings.dedup_by_key(|finding| file(finding));
        findings.extend(files.iter_mut().filter_map(|file| file.unread.take()));
        findings.extend(missing(repo, &files, &state.entries, output));
        findings.extend(written_by_newer(&files, output));
        findings.extend(misplaced(&files, output));
        files.into_iter().for_each(|file| state.add_file(file));
        // Many hosts have the same cluster: to hash is cheaper than to compare.
        let host_clusters: HashSet<&ClusterKey> =
            state.held.values().flatten().map(|held| &held.cluster).collect();
        state.clusters = host_clusters.into_iter().chain(state.files.keys()).cloned().collect();
        Ok((state, findings))
    }

    fn add_host(&mut self, origin: Origin, host: GeneratedHost, settings: &Settings) {
        let GeneratedHost { key, namespace, says, mut labels, .. } = host;
        match says {
            GeneratedHostState::Held(cluster, part) => {
                labels.retain(|key, _| {
                    settings.outputs.iter().all(|output| !output.labels.contains_key(key))
                });
                let assignment = RecordedAssignment { cluster, part, namespace, origin, labels };
                self.held.entry(key).or_default().push(assignment);
            }
            GeneratedHostState::Released(release) => _ = self.released.insert(key, release),
            GeneratedHostState::Unlabelled => _ = self.unlabelled.insert(key),
        }
    }

    fn add_file(&mut self, file: File) {
        let service = file.path.parent().unwrap_or(&file.path);
        let ports = file.node_ports.into_iter();
        self.node_ports.extend(ports.map(|port| (port, service.to_owned())));
        self.fingerprints.insert(file.path.to_string(), file.fingerprint);
        let Some(cluster) = file.cluster else {
            if file.path.starts_with(layout::SHARED) {
                self.shared_files.insert(file.path);
            }
            return;
        };
        if let Some(installed) = file.installed {
            self.installed.insert(cluster.clone(), installed);
        }
        if !file.pinned_pools.is_empty() {
            self.pinned_pools.insert(cluster.clone(), file.pinned_pools);
        }
        if !file.shared.is_empty() {
            self.shared.entry(cluster.clone()).or_default().extend(file.shared);
        }
        self.made_from.entry(cluster.clone()).or_default().extend(file.made_from);
        self.files.entry(cluster).or_default().push(file.path);
    }

    /// Returns the files of clusters, for hosts and services.
    pub fn files_of<'s, 'k>(
        &'s self,
        clusters: impl IntoIterator<Item = &'k ClusterKey>,
    ) -> impl Iterator<Item = &'s str> {
        let clusters = clusters.into_iter();
        let files = clusters.filter_map(|cluster| self.files.get(cluster));
        files.flatten().map(|file| file.as_str())
    }

    /// Returns the files of outputs of the site.
    pub fn site_files(&self) -> impl Iterator<Item = &str> {
        let files = self.entries.iter().filter(|(_, kind)| *kind == EntryKind::File);
        files
            .filter(|(path, _)| path.starts_with(layout::outputs::SITE))
            .map(|(path, _)| path.as_str())
    }

    /// Returns the shared files that the files of clusters refer to.
    pub fn shared_files_of<'s, 'k>(
        &'s self,
        clusters: impl IntoIterator<Item = &'k ClusterKey>,
    ) -> impl Iterator<Item = &'s str> {
        let clusters = clusters.into_iter();
        let directories: BTreeSet<&Utf8PathBuf> =
            clusters.filter_map(|cluster| self.shared.get(cluster)).flatten().collect();
        let files = directories.into_iter().flat_map(|directory| {
            let from = self.shared_files.range(directory.clone()..);
            from.take_while(move |file| file.starts_with(directory))
        });
        files.map(|file| file.as_str())
    }

    /// Returns whether a cluster has exactly the files in `tree`, with these texts.
    pub(crate) fn is_up_to_date(&self, cluster: &ClusterKey, tree: &Tree) -> bool {
        let there = self.files.get(cluster).map_or(0, Vec::len);
        there == tree.len() && tree.iter().all(|(file, text)| self.has(file, text))
    }

    /// Returns whether a file exists, by path relative to the output directory.
    pub(crate) fn has_file(&self, file: &Utf8Path) -> bool {
        self.fingerprints.contains_key(file.as_str())
    }

    /// Returns whether the overlay that patches the hosts of a root exists.
    pub fn has_overlay_of(&self, root: &Utf8Path) -> bool {
        let directory = layout::declared_directory(root);
        let mut names = [layout::KUSTOMIZATION, layout::HOST_COMPONENT].into_iter();
        names.any(|name| self.has_file(&directory.join(name)))
    }

    /// Returns the first file with hosts that was added, changed or removed since the state was
    /// read, by path relative to the repo's root.
    ///
    /// # Errors
    ///
    /// Fails if a file or directory cannot be read.
    pub fn changed_since(
        &self,
        repo: &Files,
        output: &Utf8Path,
    ) -> Result<Option<Utf8PathBuf>, ReadError> {
        let mut files = repo.files_below(&output.join(layout::HOSTS))?;
        files.retain(|file| !layout::is_leftover(file));
        let look = |file: &Utf8Path, content: &[u8]| ScanResult {
            says: Some((file.to_owned(), fingerprint(&layout::with_line_feeds(content)))),
            read: false,
        };
        let now: HashMap<Utf8PathBuf, u64> =
            repo.scan(&files, look, |_| None)?.into_iter().collect();
        let known: HashMap<Utf8PathBuf, u64> = self
            .fingerprints
            .iter()
            .filter(|(path, _)| Utf8Path::new(path).starts_with(layout::HOSTS))
            .map(|(path, print)| (output.join(path), *print))
            .collect();
        let all: BTreeSet<&Utf8PathBuf> = now.keys().chain(known.keys()).collect();
        Ok(all.into_iter().find(|path| now.get(*path) != known.get(*path)).cloned())
    }

    /// Returns whether a file, by path relative to the output directory, already has this text.
    pub fn has(&self, file: &Utf8Path, text: &str) -> bool {
        self.fingerprints
            .get(file.as_str())
            .is_some_and(|there| *there == fingerprint(&layout::with_line_feeds(text.as_bytes())))
    }
}

/// Returns the hosts in the text of a generated file.
pub(crate) fn hosts_in_generated(file: &Arc<Utf8Path>, text: &str) -> BTreeSet<HostKey> {
    objects(file, text)
        .iter()
        .filter_map(|document| Some(GeneratedHost::read(document).ok()?.key))
        .collect()
}

/// Returns the NodePorts in a Service manifest. Lines are scanned without a parser, because sites
/// have thousands of Services.
pub(crate) fn node_ports(service: &str) -> Vec<NodePort> {
    let numbers = service.lines().filter_map(|line| line.trim().strip_prefix("nodePort:"));
    let numbers = numbers.filter_map(|number| number.trim().parse::<i64>().ok());
    numbers.filter_map(|number| NodePort::try_from(number).ok()).collect()
}

/// Returns what is read of a file if it may have that, and nothing of any other.
fn read_if<T: Default>(may_have: bool, read: impl FnOnce() -> T) -> T {
    if may_have { read() } else { T::default() }
}

/// Returns the addresses that a component makes IPPools keep, by the same means.
fn pinned_pools(component: &str) -> PinnedAddresses {
    let quoted = |text: &str| Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    let mut pools = PinnedAddresses::new();
    let (mut kind, mut pool) = ("", None);
    for (key, value) in component.lines().filter_map(|line| line.trim().split_once(": ")) {
        match (key, quoted(key), quoted(value)) {
            // In the patch itself, the name is not quoted. In its target, it is a regular expression,
            // in which dots are escaped.
            ("name", _, Some(name)) => {
                let name = (kind == ipam::POOL).then(|| name.replace('\\', ""));
                pool = name.map(|name| pools.entry(name).or_default());
            }
            ("kind", ..) => kind = value,
            (_, Some(claim), Some(address)) => {
                if let Some(pool) = &mut pool {
                    pool.insert(claim, address);
                }
            }
            _ => {}
        }
    }
    pools
}

/// Hashes a text. Hashes are kept instead of texts, because sites have thousands of files.
fn fingerprint(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
