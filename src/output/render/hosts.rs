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

use camino::Utf8Path;

use super::Tree;
use super::patched_names::{component_of, written_namespace};
use super::planned_hosts::{
    HostMetadata, PlannedHost, assigned_hosts, guards, placed_hosts, unassigned_hosts,
};
use crate::base::api::host;
use crate::base::api::kustomization::listed;
use crate::base::api::names::{ClusterKey, HostKey, ObjectName};
use crate::base::finding::{Code, Finding};
use crate::base::layout::{self, header};
use crate::base::text::joined;
use crate::base::text::visible::{push_yaml_text, yaml_text};
use crate::input::settings::gitops::HostsForm;
use crate::plan::{Placement, Plan};
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::previous::RecordedAssignment;
use crate::site::request::Cluster;

/// Source named in the header of files for released hosts.
const GIVEN_BACK: &str = "the hosts that clusters gave back";

/// Renders the labels of a cluster's hosts: declared ones as patches, observed ones as partial
/// objects.
pub(super) fn render(
    site: &Site,
    cluster: &Cluster,
    placement: &Placement,
    added: &HostMetadata,
) -> Tree {
    let head = header(cluster.origin.made_from().as_str());
    let hosts: Vec<PlannedHost<'_>> = assigned_hosts(site, cluster, placement, added).collect();
    host_files(site, &hosts, &layout::observed_directory(&cluster.key), &head)
}

/// Renders the hosts that no cluster has any more, and the kustomizations of all declared hosts.
/// `tree` has the rendered files of clusters, and `kept` those that stay as they are on the disk.
pub(super) fn render_common(site: &Site, plan: &Plan, tree: &mut Tree, kept: &BTreeSet<&str>) {
    let (hosts, head) = (unassigned_hosts(site, plan), header(GIVEN_BACK));
    tree.extend(host_files(site, &hosts, &layout::released_directory(), &head));
    render_roots(site, plan, tree, kept);
}

/// Returns the patches of declared hosts, one file per root, and the partial objects of observed hosts,
/// with their kustomization.
fn host_files(site: &Site, hosts: &[PlannedHost<'_>], observed: &Utf8Path, head: &str) -> Tree {
    let mut files: BTreeMap<(Option<usize>, &str), String> = BTreeMap::new();
    for planned in hosts {
        let file = match planned.host.evidence {
            Evidence::Applied { root } => (Some(root), planned.file.as_str()),
            Evidence::Live => (None, layout::OBSERVED_HOSTS),
            // A partial object would create the host.
            Evidence::Reached { .. } | Evidence::Loose => continue,
        };
        write_host(files.entry(file).or_insert_with(|| head.to_owned()), site, planned);
    }
    let mut tree = Tree::new();
    for ((root, file), mut text) in files {
        let path = match root {
            Some(root) => layout::declared_directory(&site.root(root).directory).join(file),
            None => {
                let kustomization = kustomization_listing(head, [file]);
                tree.insert(observed.join(layout::KUSTOMIZATION).into(), kustomization);
                observed.join(file)
            }
        };
        text.shrink_to_fit();
        tree.insert(path.into(), text);
    }
    tree
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
        let head = header(root.file.as_str());
        let mut text = match site.settings.hosts.form {
            HostsForm::Overlay => {
                let overlay = site.settings.output.join(&directory);
                let base = layout::reference_from(&overlay, &root.directory);
                kustomization_listing(&head, [base.as_str()])
            }
            HostsForm::Component => head + COMPONENT_HEAD,
        };
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
    let named = |host: &'a Host| (written_namespace(site, host), secrets_of(host));
    let planned = plan.clusters.values().flat_map(|placement| placed_hosts(site, placement));
    let planned = planned.filter(|(_, host)| host.evidence == Evidence::Applied { root });
    let directory = site.settings.output.join(directory);
    let is_frozen = |held: &&RecordedAssignment| {
        plan.frozen.contains(&held.cluster) && held.origin.file.parent() == Some(&directory)
    };
    let frozen = site.state.held.iter().filter_map(|(key, held)| {
        let held = held.iter().find(is_frozen)?;
        // The repo may still declare a host that the inputs omit.
        let left_out = || {
            let names = site.left_out.get(key)?.secrets.iter().map(ObjectName::as_str);
            Some((held.namespace.as_deref(), names.collect()))
        };
        site.inventory.host(key).map(named).or_else(left_out)
    });
    let mut secrets: BTreeMap<Option<&str>, BTreeSet<&str>> = BTreeMap::new();
    for (namespace, names) in planned.map(|(_, host)| named(host)).chain(frozen) {
        secrets.entry(namespace).or_default().extend(names);
    }
    secrets.retain(|_, names| !names.is_empty());
    secrets
}

/// Returns the names of the Secrets that a host names, also as kustomize sees them.
fn secrets_of(host: &Host) -> BTreeSet<&str> {
    let written = host::SECRET_FIELDS.iter().filter_map(|field| host.origin.unsubstituted(field));
    host.secrets().chain(written).collect()
}

/// Returns a regular expression of a name, in which variables match any text of their length.
/// Backslashes would be changed by YAML.
fn pattern(name: &str) -> String {
    let is_other = |c: char| !c.is_alphanumeric() && !"-_".contains(c);
    joined(name.split('.').map(|part| part.replace(is_other, ".")), "[.]")
}

/// Appends a patch that guards Secrets of a namespace if the build contains them.
fn write_guard(text: &mut String, site: &Site, namespace: Option<&str>, names: &BTreeSet<&str>) {
    text.push_str("  - target:\n      version: v1\n      kind: Secret\n");
    if let Some(namespace) = namespace {
        let _ = writeln!(text, "      namespace: {}", yaml_text(&pattern(namespace)));
    }
    // A regular expression with one name per line. YAML folds each line break into a space, and `
    // ?` makes that space optional.
    let names = joined(names.iter().map(|name| pattern(name)), "\n        ?|");
    let _ = writeln!(text, "      name: >-\n        {names}");
    text.push_str("    patch: |\n      apiVersion: v1\n      kind: Secret\n      metadata:\n        name: any\n        annotations:\n");
    for (key, value) in guards(site, None) {
        text.push_str("          ");
        write_entry(text, &key, value.as_deref());
    }
}

const HOST_HEAD: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n";
const KUSTOMIZATION_HEAD: &str =
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
const COMPONENT_HEAD: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";

/// Returns a kustomization that lists entries, below the ownership header.
pub(super) fn kustomization_listing<'a>(
    header: &str,
    entries: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut text = header.to_owned() + KUSTOMIZATION_HEAD + "resources:\n";
    entries.into_iter().for_each(|entry| write_item(&mut text, "", entry));
    text
}

/// Reports frozen clusters whose patches no longer match their hosts.
///
/// Their build would fail, and with it everything that the repo builds around the hosts.
pub(super) fn lost_patches(site: &Site, plan: &Plan) -> Vec<Finding> {
    let is_lost = |key: &HostKey, held: &RecordedAssignment| {
        let host = site.inventory.host(key).filter(|host| host.evidence != Evidence::Live);
        host.is_some_and(|host| written_namespace(site, host) != held.namespace.as_deref())
    };
    let finding = |cluster: &ClusterKey| {
        let (host, held) = site.state.held.iter().find_map(|(key, held)| {
            let mut held = held.iter().filter(|held| held.cluster == *cluster);
            Some((key, held.find(|held| is_lost(key, held))?))
        })?;
        let message = format!(
            "the patch of {cluster}, which stays unchanged, would no longer match {host}: its namespace in the build \
             has changed"
        );
        let finding = Finding::new(Code::PatchesDiffer, message)
            .at(held.origin.at(["metadata", "namespace"]))
            .help(
                "change `hosts.form`, or namespaces below it, in a run that generates all clusters",
            );
        Some(finding)
    };
    plan.frozen.iter().filter_map(finding).collect()
}

/// Appends a document that gives a host its labels and annotations.
///
/// A comment names the host where kustomize sees another name or namespace.
fn write_host(text: &mut String, site: &Site, planned: &PlannedHost<'_>) {
    text.push_str("---\n");
    let PlannedHost { host, name, namespace, .. } = *planned;
    let is_named = name == host.key.name.as_str() && namespace == Some(host.key.namespace.as_str());
    if component_of(site, host).is_some() || !is_named {
        text.push_str(&layout::patched_host(&host.key));
    }
    text.push_str(planned.record.as_deref().unwrap_or_default());
    text.push_str(HOST_HEAD);
    text.push_str("metadata:\n");
    write_entry(text, "  name", Some(name));
    if let Some(namespace) = namespace {
        write_entry(text, "  namespace", Some(namespace));
    }
    if let (Evidence::Live, Some(uid)) = (host.evidence, &host.live.uid) {
        write_entry(text, "  uid", Some(uid));
    }
    for (field, pairs) in [("labels", &planned.labels), ("annotations", &planned.annotations)] {
        if !pairs.is_empty() {
            text.extend(["  ", field, ":\n"]);
        }
        for (key, value) in pairs {
            text.push_str("    ");
            write_entry(text, key, value.as_deref());
        }
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
fn write_item(text: &mut String, key: &str, path: &str) {
    let _ = writeln!(text, "  - {key}{}", listed(path));
}
