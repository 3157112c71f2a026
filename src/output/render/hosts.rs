//! Renders the labels of hosts.
//!
//! A wrong file can power machines off, hence these rules:
//!
//! * A declared host is patched in the one build that renders it, so that its object has one
//!   renderer.
//! * A patch names its host and has no `target`: with one, kustomize silently drops a patch without
//!   a host.
//! * An observed host is a partial object that agents merge instead of applying it as a whole.
//! * It has the UID of the object in the snapshot. If that object is gone, the API server rejects
//!   the partial object instead of creating a host without a spec.
//! * Every host is guarded against pruning: deleting a BareMetalHost powers off its machine.
//! * So are the Secrets that a declared host names, in its own build: a Secret that left the repo
//!   together with its host would be deleted while Metal3 still needs it. That patch has a
//!   `target`, because many Secrets are in no build.
//! * The guards are those of the agent in the settings, or of both agents without one.
//! * There is no `namespace:` and no `namePrefix:`, which would rename hosts but not their
//!   references.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::rc::Rc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Tree;
use super::patched_names::{component_of, written_name, written_namespace};
use crate::base::api::assignment::{self, Claim};
use crate::base::api::cluster_api::FAILURE_DOMAIN;
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::host;
use crate::base::api::kustomization::listed;
use crate::base::api::names::{ClusterKey, ObjectName, Part};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::layout::{self, header};
use crate::base::text::visible::{push_yaml_text, yaml_text};
use crate::input::settings::gitops::HostsForm;
use crate::plan::{Placement, Plan, topology};
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::previous::RecordedAssignment;
use crate::site::request::Cluster;

/// Options that keep Argo CD from deleting a host that leaves its build.
const GUARDS: [&str; 2] = ["Prune=false", "Delete=false"];
/// Options that make Argo CD merge a partial object: server-side, without validation of missing
/// fields, and without its own migration of fields that `kubectl apply` set. kubectl's code, which
/// Argo CD uses, has another migration: see [`host::LAST_APPLIED`].
const MERGE: [&str; 3] =
    ["ServerSideApply=true", "Validate=false", "ClientSideApplyMigration=false"];

/// Source named in the header of files for released hosts.
const GIVEN_BACK: &str = "the hosts that clusters gave back";

/// Renders the labels of a cluster's hosts.
pub(super) fn render(site: &Site, cluster: &Cluster, placement: &Placement, tree: &mut Tree) {
    let made_from = header(cluster.origin.made_from().as_str());
    render_declared(site, cluster, placement, &made_from, tree);
    render_observed(site, cluster, placement, &made_from, tree);
}

/// Renders the hosts that no cluster has any more, and the kustomizations of all declared hosts.
/// `tree` has the rendered files of clusters, and `kept` those that stay as they are on the disk.
pub(super) fn render_common(site: &Site, plan: &Plan, tree: &mut Tree, kept: &BTreeSet<&str>) {
    render_unlabelled(site, plan, tree);
    render_released(site, plan, tree);
    render_roots(site, plan, tree, kept);
}

/// Returns the hosts of a placement, by part.
fn assigned<'a>(
    site: &'a Site,
    placement: &'a Placement,
) -> impl Iterator<Item = (&'a Host, &'a Part)> {
    let host = |index: usize| &site.inventory.hosts[index];
    placement.iter().flat_map(move |(part, assigned)| {
        assigned.iter().map(move |assigned| (host(assigned.host), part))
    })
}

/// Returns the hosts of a placement with what the hosts of their part have in common.
pub(super) fn assigned_by_part<'a>(
    site: &'a Site,
    cluster: &'a Cluster,
    placement: &'a Placement,
) -> impl Iterator<Item = (&'a Part, &'a Host, Rc<PartLabels>)> {
    placement.iter().flat_map(move |(part, assigned)| {
        let part_labels = Rc::new(PartLabels::new(site, cluster, part));
        assigned.iter().map(move |assigned| {
            let host = &site.inventory.hosts[assigned.host];
            (part, host, part_labels.clone())
        })
    })
}

/// Labels of a host. Those without a value are removed.
pub(super) type Labels = BTreeMap<String, Option<String>>;

/// The labels and the comment that the hosts of a part have in common.
pub(super) struct PartLabels {
    labels: Labels,
    record: Option<String>,
}

impl PartLabels {
    fn new(site: &Site, cluster: &Cluster, part: &Part) -> Self {
        let labels = site.settings.assignment.labels_of(&cluster.key, part);
        Self {
            labels: labels.into_iter().map(|(key, value)| (key, Some(value))).collect(),
            record: record(site, &cluster.key, part),
        }
    }

    fn labels_of(&self, cluster: &Cluster, part: &Part, host: &Host) -> Labels {
        let mut labels = self.labels.clone();
        if let Some(domain) = topology::failure_domain(cluster, part, host) {
            labels.insert(FAILURE_DOMAIN.to_owned(), Some(domain.to_owned()));
        }
        labels
    }

    /// Returns the labels in the patch of a declared host.
    pub(super) fn declared_labels_of(&self, cluster: &Cluster, part: &Part, host: &Host) -> Labels {
        let mut labels = self.labels_of(cluster, part, host);
        // A patch can remove labels that say otherwise. A partial object cannot.
        for key in contradicting(host, &cluster.key, part) {
            labels.entry(key.clone()).or_insert(None);
        }
        labels
    }
}

/// Returns the comment that records an assignment, if the labels of hosts do not.
fn record(site: &Site, cluster: &ClusterKey, part: &Part) -> Option<String> {
    let is_recorded = site.settings.assignment.labels.is_default();
    (!is_recorded).then(|| layout::assigned_host(cluster, part))
}

/// Returns the keys of the labels in a host's manifest that are of an older generation, or that
/// assign it otherwise.
fn contradicting<'a>(
    host: &'a Host,
    cluster: &ClusterKey,
    part: &Part,
) -> impl Iterator<Item = &'a String> {
    let is_same = |(claim, origin): &(Claim, Origin)| {
        *origin != host.origin
            || matches!(claim, Claim::Cluster(other, as_part) if other == cluster && as_part == part)
    };
    let are_same = host.assignment.claims.iter().all(is_same);
    let keys = host.assignment.in_manifest.iter();
    keys.filter(move |key| !are_same || assignment::LEGACY_LABELS.contains(&key.as_str()))
}

/// Renders a cluster's patches, one file per root.
fn render_declared(
    site: &Site,
    cluster: &Cluster,
    placement: &Placement,
    made_from: &str,
    tree: &mut Tree,
) {
    let mut by_root: BTreeMap<usize, String> = BTreeMap::new();
    for (part, host, part_labels) in assigned_by_part(site, cluster, placement) {
        if let Evidence::Applied { root } = host.evidence {
            let text = by_root.entry(root).or_insert_with(|| made_from.to_owned());
            write_host(
                text,
                site,
                host,
                part_labels.record.as_deref(),
                &part_labels.declared_labels_of(cluster, part, host),
                &declared_annotations(site, host),
            );
        }
    }
    for (root, mut text) in by_root {
        let directory = layout::declared_directory(&site.inventory.roots[&root].directory);
        text.shrink_to_fit();
        tree.insert(directory.join(layout::patch_file(&cluster.key)).into(), text);
    }
}

/// Renders a cluster's observed hosts as partial objects.
fn render_observed(
    site: &Site,
    cluster: &Cluster,
    placement: &Placement,
    made_from: &str,
    tree: &mut Tree,
) {
    let mut text = made_from.to_owned();
    let mut any = false;
    let annotations = observed_annotations(site);
    for (part, host, part_labels) in assigned_by_part(site, cluster, placement)
        .filter(|(_, host, _)| host.evidence == Evidence::Live)
    {
        write_host(
            &mut text,
            site,
            host,
            part_labels.record.as_deref(),
            &part_labels.labels_of(cluster, part, host),
            &annotations,
        );
        any = true;
    }
    if any {
        insert_observed(layout::observed_directory(&cluster.key), made_from, text, tree);
    }
}

/// Returns the labels in the patch of an unassigned declared host: all are removed.
pub(super) fn released_labels(host: &Host) -> Labels {
    let labels = host.assignment.in_manifest.iter();
    labels.map(|label| (label.clone(), None)).collect()
}

/// Renders patches that remove the labels in manifests of unassigned declared hosts, by root.
fn render_unlabelled(site: &Site, plan: &Plan, tree: &mut Tree) {
    let mut by_root: BTreeMap<usize, String> = BTreeMap::new();
    for host in plan.unlabelled.iter().filter_map(|key| site.inventory.host(key)) {
        if let Evidence::Applied { root } = host.evidence {
            let text = by_root.entry(root).or_insert_with(|| header(GIVEN_BACK));
            write_host(
                text,
                site,
                host,
                None,
                &released_labels(host),
                &declared_annotations(site, host),
            );
        }
    }
    for (root, text) in by_root {
        let directory = layout::declared_directory(&site.inventory.roots[&root].directory);
        tree.insert(directory.join(layout::UNLABELLED).into(), text);
    }
}

/// Renders released observed hosts as partial objects without labels.
fn render_released(site: &Site, plan: &Plan, tree: &mut Tree) {
    let mut text = header(GIVEN_BACK);
    let mut any = false;
    for (key, release) in &plan.released {
        let Some(host) = site.inventory.host(key) else {
            continue;
        };
        let mut annotations = observed_annotations(site);
        annotations.insert(assignment::GIVEN_BACK, release.given_back.to_string());
        if let Some(by) = &release.by {
            annotations.insert(assignment::GIVEN_BACK_BY, by.to_string());
        }
        write_host(&mut text, site, host, None, &Labels::new(), &annotations);
        any = true;
    }
    if any {
        insert_observed(layout::released_directory(), &header(GIVEN_BACK), text, tree);
    }
}

/// Renders the kustomization of every root, even without a patch, because an agent applies the
/// hosts through it.
fn render_roots(site: &Site, plan: &Plan, tree: &mut Tree, kept: &BTreeSet<&str>) {
    for (index, root) in &site.inventory.roots {
        let directory = layout::declared_directory(&root.directory);
        let clusters = plan.clusters.keys().chain(&plan.frozen);
        let files = clusters.map(layout::patch_file).chain([layout::UNLABELLED.to_owned()]);
        let patches: BTreeSet<String> = files
            .filter(|file| {
                let path = directory.join(file);
                tree.contains_key(path.as_str()) || kept.contains(path.as_str())
            })
            .collect();
        let mut text = header(root.file.as_str());
        match site.settings.hosts.form {
            HostsForm::Overlay => {
                // From the overlay's directory back to the repo's root.
                let up: Utf8PathBuf =
                    site.settings.output.join(&directory).iter().map(|_| "..").collect();
                text.push_str(KUSTOMIZATION_HEAD);
                text.push_str("resources:\n");
                write_item(&mut text, "", up.join(&root.directory).as_str());
            }
            HostsForm::Component => text.push_str(COMPONENT_HEAD),
        }
        let secrets = secrets_in_use(site, plan, *index, &directory);
        if !patches.is_empty() {
            text.push_str("patches:\n");
            patches.iter().for_each(|file| write_item(&mut text, "path: ", file));
            secrets
                .iter()
                .for_each(|(namespace, names)| write_guard(&mut text, site, *namespace, names));
        } else if site.settings.hosts.form == HostsForm::Component {
            // kustomize rejects a file without fields, and only the user can remove the line that
            // includes this one.
            text.push_str("patches: []\n");
        }
        let name = site.settings.hosts.form.file_name();
        tree.insert(directory.join(name).into(), text);
    }
}

/// Returns the Secrets that the assigned hosts of a build name, by namespace.
///
/// Files of frozen clusters count: a host without a manifest keeps its guards.
fn secrets_in_use<'a>(
    site: &'a Site,
    plan: &'a Plan,
    root: usize,
    directory: &Utf8Path,
) -> BTreeMap<Option<&'a str>, BTreeSet<&'a str>> {
    let planned = plan
        .clusters
        .values()
        .flat_map(|placement| assigned(site, placement))
        .map(|(host, _)| host)
        .filter(|host| host.evidence == Evidence::Applied { root });
    let directory = site.settings.output.join(directory);
    let is_frozen = |held: &&RecordedAssignment| {
        plan.frozen.contains(&held.cluster) && held.origin.file.parent() == Some(&directory)
    };
    let frozen =
        site.state.held.iter().filter_map(|(key, held)| Some((key, held.iter().find(is_frozen)?)));
    let mut secrets: BTreeMap<Option<&str>, BTreeSet<&str>> = BTreeMap::new();
    for host in planned {
        secrets.entry(written_namespace(site, host)).or_default().extend(secrets_of(host));
    }
    for (key, held) in frozen {
        // The repo may still declare a host that the inputs omit.
        let left_out = || {
            site.left_out.get(key).map(|host| {
                let names = host.secrets.iter().map(ObjectName::as_str);
                (held.namespace.as_deref(), names.collect())
            })
        };
        let host =
            site.inventory.host(key).map(|host| (written_namespace(site, host), secrets_of(host)));
        if let Some((namespace, names)) = host.or_else(left_out) {
            secrets.entry(namespace).or_default().extend(names);
        }
    }
    secrets.retain(|_, names| !names.is_empty());
    secrets
}

/// Returns the names of the Secrets that a host names, also as kustomize sees them.
fn secrets_of(host: &Host) -> BTreeSet<&str> {
    let names = host.network.secrets.iter().map(ObjectName::as_str);
    let fields = host::SECRET_FIELDS.iter();
    let written = fields.filter_map(|field| host.origin.unsubstituted(field));
    names.chain(written).collect()
}

/// Returns a regular expression of a name, in which variables match any text of their length.
/// Backslashes would be changed by YAML.
fn pattern(name: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_".contains(char);
    let mut pattern = String::with_capacity(name.len());
    for char in name.chars() {
        match char {
            '.' => pattern.push_str("[.]"),
            char if is_plain(char) => pattern.push(char),
            _ => pattern.push('.'),
        }
    }
    pattern
}

/// Appends a patch that guards Secrets of a namespace if the build contains them.
fn write_guard(text: &mut String, site: &Site, namespace: Option<&str>, names: &BTreeSet<&str>) {
    text.push_str("  - target:\n      version: v1\n      kind: Secret\n");
    if let Some(namespace) = namespace {
        let _ = writeln!(text, "      namespace: {}", quoted(&pattern(namespace)));
    }
    // A regular expression with one name per line. YAML folds each line break into a space, and `
    // ?` makes that space optional.
    let names: Vec<String> = names.iter().map(|name| pattern(name)).collect();
    let _ = writeln!(text, "      name: >-\n        {}", names.join("\n        ?|"));
    text.push_str("    patch: |\n      apiVersion: v1\n      kind: Secret\n      metadata:\n        name: any\n        annotations:\n");
    for (key, value) in guards(site, None) {
        let _ = writeln!(text, "          {key}: {}", quoted(&value));
    }
}

const HOST_HEAD: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n";
pub(super) const KUSTOMIZATION_HEAD: &str =
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
const COMPONENT_HEAD: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";

fn insert_observed(directory: Utf8PathBuf, made_from: &str, mut hosts: String, tree: &mut Tree) {
    hosts.shrink_to_fit();
    let mut kustomization = made_from.to_owned() + KUSTOMIZATION_HEAD + "resources:\n";
    write_item(&mut kustomization, "", layout::OBSERVED_HOSTS);
    tree.insert(directory.join(layout::KUSTOMIZATION).into(), kustomization);
    tree.insert(directory.join(layout::OBSERVED_HOSTS).into(), hosts);
}

/// Returns whether hosts have an agent's annotations: the agent is that of the settings, or they
/// name none.
fn guards_for(site: &Site, agent: GitopsAgent) -> bool {
    site.settings.gitops.is_none_or(|chosen| chosen == agent)
}

/// Returns the guards of a declared host, merged with its manifest's options for Argo CD.
pub(super) fn declared_annotations(site: &Site, host: &Host) -> BTreeMap<&'static str, String> {
    guards(site, host.sync_options.as_deref())
}

/// Returns the annotations that keep agents from deleting an object, merged with its options for
/// Argo CD.
pub(super) fn guards(site: &Site, sync_options: Option<&str>) -> BTreeMap<&'static str, String> {
    let mut annotations = BTreeMap::new();
    if guards_for(site, GitopsAgent::Argocd) {
        let own = sync_options.iter().flat_map(|options| options.split(',')).map(str::trim);
        let kept = own.filter(|option| {
            !option.is_empty() && !GUARDS.iter().any(|guard| same_option(guard, option))
        });
        let options: Vec<&str> = kept.chain(GUARDS).collect();
        annotations.insert(host::SYNC_OPTIONS, options.join(","));
    }
    if guards_for(site, GitopsAgent::Flux) {
        annotations.insert(host::PRUNE, "disabled".to_owned());
    }
    annotations
}

fn same_option(a: &str, b: &str) -> bool {
    a.split('=').next() == b.split('=').next()
}

fn observed_annotations(site: &Site) -> BTreeMap<&'static str, String> {
    let mut annotations = BTreeMap::new();
    if guards_for(site, GitopsAgent::Argocd) {
        let options: Vec<&str> = MERGE.into_iter().chain(GUARDS).collect();
        annotations.insert(host::SYNC_OPTIONS, options.join(","));
        // kubectl's code assumes that the owner of this annotation used `kubectl apply`. It
        // transfers all fields of that owner to the agent, which then removes those missing in the
        // partial object, above all the spec. So the agent must own the annotation.
        annotations.insert(host::LAST_APPLIED, String::new());
    }
    if guards_for(site, GitopsAgent::Flux) {
        annotations.insert(host::PRUNE, "disabled".to_owned());
        annotations.insert(host::SSA, "Merge".to_owned());
    }
    annotations
}

/// Reports frozen clusters whose patches no longer match their hosts.
///
/// Their build would fail, and with it everything that the repo builds around the hosts.
pub(super) fn lost_patches(site: &Site, plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in &plan.frozen {
        let held = site
            .state
            .held
            .iter()
            .flat_map(|(host, held)| held.iter().map(move |held| (host, held)));
        let lost = held.filter(|(_, held)| held.cluster == *cluster).find(|(key, held)| {
            let host = site.inventory.host(key).filter(|host| host.evidence != Evidence::Live);
            host.is_some_and(|host| written_namespace(site, host) != held.namespace.as_deref())
        });
        findings.extend(lost.map(|(host, held)| {
            Finding::new(Code::PatchMisses, format!(
                "the patch of {cluster}, which stays unchanged, would no longer match {host}: its namespace in the build \
                 has changed"
            ))
            .at(held.origin.at(["metadata", "namespace"]))
            .help("change `hosts.form`, or namespaces below it, in a run that generates all clusters")
        }));
    }
    findings
}

/// Appends a document that gives a host labels and annotations. `record` is a comment above it.
///
/// A comment names the host where kustomize sees another name or namespace.
fn write_host(
    text: &mut String,
    site: &Site,
    host: &Host,
    record: Option<&str>,
    labels: &Labels,
    annotations: &BTreeMap<&'static str, String>,
) {
    text.push_str("---\n");
    let (name, namespace) = (written_name(site, host), written_namespace(site, host));
    let is_named = name == host.key.name.as_str() && namespace == Some(host.key.namespace.as_str());
    if component_of(site, host).is_some() || !is_named {
        text.push_str(&layout::patched_host(&host.key));
    }
    text.push_str(record.unwrap_or_default());
    text.push_str(HOST_HEAD);
    text.push_str("metadata:\n");
    write_entry(text, "  name", Some(name));
    if let Some(namespace) = namespace {
        write_entry(text, "  namespace", Some(namespace));
    }
    if let (Evidence::Live, Some(uid)) = (host.evidence, &host.live.uid) {
        write_entry(text, "  uid", Some(uid));
    }
    let annotations = annotations.iter().map(|(key, value)| (*key, Some(value.as_str())));
    write_map(text, "labels", labels.iter().map(|(key, value)| (key.as_str(), value.as_deref())));
    write_map(text, "annotations", annotations);
}

fn write_map<'a>(
    text: &mut String,
    name: &str,
    entries: impl ExactSizeIterator<Item = (&'a str, Option<&'a str>)>,
) {
    if entries.len() > 0 {
        text.extend(["  ", name, ":\n"]);
    }
    for (key, value) in entries {
        text.push_str("    ");
        write_entry(text, key, value);
    }
}

/// Appends a key with its value, which is quoted: unquoted, YAML reads `1e3` and `on` as other
/// types.
fn write_entry(text: &mut String, key: &str, value: Option<&str>) {
    text.extend([key, ": "]);
    match value {
        Some(value) => push_yaml_text(text, value),
        None => text.push_str("null"),
    }
    text.push('\n');
}

/// Appends a list item with a path.
pub(super) fn write_item(text: &mut String, key: &str, path: &str) {
    let _ = writeln!(text, "  - {key}{}", listed(path));
}

/// Quotes a value. Unquoted, YAML reads `1e3` and `on` as other types.
fn quoted(value: &str) -> String {
    yaml_text(value)
}
