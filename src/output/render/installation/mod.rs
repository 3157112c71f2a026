//! Renders the installer of a Provisioning: the directory `installer/` with inventory, Job and
//! addresses.
//!
//! * `inventory`: machines for ansible.
//! * `variables`: their packages.

mod inventory;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use minijinja::Value;
use minijinja::value::Serde;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::renderer::Renderer;
use super::{Templates, cluster_kustomization};
use crate::base::api::installed::{InstallMode, InstallationRecord};
use crate::base::api::names::{ClusterKey, NodeName};
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout::{self, header};
use crate::base::text::joined;
use crate::input::settings::provisioning::{Installer, InventoryFormat};
use crate::site::inventory::Host;
use crate::site::request::{Cluster, Installation, NodeSet};

pub use inventory::InstallerInventory;
pub use variables::variables;

/// File names of the templates.
const TEMPLATES: [&str; 3] = ["addresses.yaml", "job.yaml", "kustomization.yaml"];

/// File name of the template that lets the Job save the kubeconfig.
const ACCESS: &str = "access.yaml";

/// File name of the template with the play that installs packages.
const PACKAGES: &str = "packages.yml";

/// Values of every template of an installer.
#[derive(Serialize, JsonSchema)]
pub(super) struct InstallerValues<'a> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// Installer: `kubespray` or `kud`.
    installer: Installer,
    /// Name of the installer's objects, and prefix of its Job's name.
    name: String,
    /// Name of the Job, ending in a hash of everything that the Job does.
    job: String,
    /// Container image.
    image: &'a str,
    /// Command of the container: a program and its arguments, without a shell.
    command: Vec<String>,
    /// Directory in which the installer looks for its inventory.
    directory: String,
    /// File name of the inventory.
    inventory: &'static str,
    /// Files in `group_vars`.
    variables: Vec<&'static str>,
    /// File name of the play that installs packages; none without packages, and with `kud`.
    packages: Option<&'static str>,
    /// Name of the Secret in which the Job saves the cluster's kubeconfig; none with
    /// `provisioning.kubeconfigSecret: false`, and when kubespray adds workers.
    kubeconfig: Option<String>,
    /// Record of the installed machines, if the installer can only add workers.
    installed: Option<String>,
    /// Addresses of the machines, by `MASTER_` or `WORKER_` and the machine's name.
    addresses: BTreeMap<String, IpAddr>,
}

/// Returns the file name of an inventory.
pub fn file_name(format: InventoryFormat) -> &'static str {
    match format {
        InventoryFormat::Ini => "hosts.ini",
        InventoryFormat::Yaml => "hosts.yaml",
    }
}

/// Returns the ownership header of files that the installer reads.
///
/// It does not name the Provisioning's file, because moving that file must not run the installer
/// again.
pub fn mark(cluster: &ClusterKey) -> String {
    header(&format!("the Provisioning of {cluster}"))
}

/// Renders the files of an installer, or reports why it cannot run.
pub(super) fn render(renderer: &mut Renderer<'_>, installation: &Installation) {
    let cluster = renderer.cluster;
    let refused: Vec<Finding> =
        taken(cluster).chain(foreign_plugins(renderer, installation)).collect();
    if !refused.is_empty() {
        return renderer.rendered.findings.extend(refused);
    }
    let machines = machines(renderer);
    let findings = &mut renderer.rendered.findings;
    findings.extend(mixed_families(cluster, &machines));
    findings.extend(machines.iter().filter_map(PlacedMachine::without_address));
    let address = |machine: &PlacedMachine<'_>| Some((machine.node.clone(), machine.address?));
    let Some(addresses) = machines.iter().map(address).collect() else { return };
    // Planning reports a machine without a host.
    let Some(inventory) = InstallerInventory::new(installation, &addresses) else { return };
    if let Err(finding) = files(renderer, installation, &machines, &inventory) {
        renderer.rendered.findings.push(*finding);
    }
}

/// A machine of a Provisioning with its host.
struct PlacedMachine<'a> {
    node: &'a NodeName,
    node_set: &'a NodeSet,
    host: &'a Host,
    address: Option<IpAddr>,
}

/// Returns the machines of a cluster that have a host.
fn machines<'a>(renderer: &Renderer<'a>) -> Vec<PlacedMachine<'a>> {
    let Renderer { cluster, placement, site, .. } = *renderer;
    let machines = cluster.node_sets.iter().filter_map(|(part, node_set)| {
        let node = part.node.as_ref()?;
        let host = &site.inventory.hosts[placement.get(part)?.first()?.host];
        Some(PlacedMachine { node, node_set, host, address: node_set.installer_address(host) })
    });
    machines.collect()
}

impl PlacedMachine<'_> {
    /// Reports a machine whose host has no address.
    fn without_address(&self) -> Option<Finding> {
        let Self { node, node_set, host, address: None } = self else { return None };
        let message = format!("host {} of {node} has no address for the installer", host.key);
        let finding = Finding::new(Code::InvalidMachine, message)
            .at(node_set.at.place())
            .see(host.origin.name(), host.key.to_string());
        let help = "take a snapshot that has the host's network cards with their addresses, `status.hardware.nics`";
        Some(finding.help(help))
    }
}

/// Reports machines with addresses of different IP families, which cannot reach each other.
fn mixed_families(cluster: &Cluster, machines: &[PlacedMachine<'_>]) -> Option<Finding> {
    let reached = |is_ipv6: bool| {
        machines.iter().find(|it| it.address.is_some_and(|address| address.is_ipv6() == is_ipv6))
    };
    let (first, other) = (reached(true)?, reached(false)?);
    let message = format!(
        "of {}, {} would be reached by IPv6 and {} by IPv4: they do not reach each other",
        cluster.key, first.node, other.node
    );
    let finding = Finding::new(Code::MixedFamilies, message)
        .at(first.node_set.at.place())
        .see(first.host.origin.name(), "its network card has no IPv4 address")
        .see(other.node_set.at.place(), "this machine is reached by IPv4");
    let help = "give all machines of the cluster addresses of one family; `mac-address` says which network card counts";
    Some(finding.help(help))
}

/// Reports nodes with reserved names.
fn taken(cluster: &Cluster) -> impl Iterator<Item = Finding> {
    cluster.node_sets.iter().filter_map(|(part, node_set)| {
        let node = part.node.as_ref().filter(|node| inventory::is_taken(node))?;
        let message =
            format!("a machine of {} is named `{node}`, which ansible reserves", cluster.key);
        let finding = Finding::new(Code::InvalidMachine, message).at(node_set.at.place());
        Some(finding.help(format!("rename it, such as to `node-{node}`")))
    })
}

/// Reports plugins of KUD if kubespray installs the cluster.
fn foreign_plugins(renderer: &Renderer<'_>, installation: &Installation) -> Option<Finding> {
    let Renderer { cluster, site, .. } = renderer;
    let is_kud = site.settings.provisioning.installer() == Installer::Kud;
    if installation.plugins.is_empty() || is_kud {
        return None;
    }
    let message = format!("kubespray does not install the `KUDPlugins` of {}", cluster.key);
    let finding = Finding::new(Code::InvalidInstallerField, message);
    let help = "remove them, or set `provisioning: {installer: kud}` in sipgen.yaml, whose image ICN builds";
    Some(finding.at(cluster.origin.at(["spec", "KUDPlugins"])).help(help))
}

/// Renders the files. The Job comes last, because its name is a hash of the others.
fn files(
    renderer: &mut Renderer<'_>,
    installation: &Installation,
    machines: &[PlacedMachine<'_>],
    inventory: &InstallerInventory<'_>,
) -> Result<(), Box<Finding>> {
    let (cluster, settings) = (renderer.cluster, &renderer.site.settings.provisioning);
    let directory = layout::installer_directory(&cluster.key);
    let format = settings.inventory();
    let inventory_file = file_name(format);
    let inventory_text = mark(&cluster.key) + &inventory.text(format);
    let packages = variables(installation, format);
    let has_packages = !packages.is_empty();
    let variables: BTreeMap<&str, String> = packages
        .into_iter()
        .chain(variables::shared_variables(installation, settings))
        .map(|(file, text)| (file, mark(&cluster.key) + &text))
        .collect();
    let installer = settings.installer();
    let packages = Some(PACKAGES).filter(|_| has_packages && installer == Installer::Kubespray);
    let mut values = InstallerValues {
        cluster: &cluster.key,
        installer,
        name: installation.object_name(&cluster.key, installer.prefix()),
        job: String::new(),
        image: settings.image(),
        command: Vec::new(),
        directory: match installer {
            Installer::Kubespray => "/inventory".to_owned(),
            Installer::Kud => format!("/opt/kud/multi-cluster/{}", cluster.key.name),
        },
        inventory: inventory_file,
        variables: variables.keys().copied().collect(),
        packages,
        kubeconfig: settings.kubeconfig_secret.then(|| format!("{}-kubeconfig", cluster.key.name)),
        installed: None,
        addresses: inventory.addresses_by_role(),
    };
    values.command = values.container_command(installation, InstallMode::Full);
    // A replacement host may have the address of the previous one but nothing installed on it.
    let hosts = machines.iter().map(|machine| format!("{} {}", machine.node, machine.host.key));
    let mut parts = manifests(renderer, &values)?;
    if settings.scales() {
        let core: Vec<String> = parts.iter().chain(variables.values()).cloned().collect();
        let installed = installed(renderer, installation, machines, hash(&core));
        if installed.mode == InstallMode::Scale {
            values.command = values.container_command(installation, InstallMode::Scale);
            // `scale.yml` writes no kubeconfig.
            values.kubeconfig = values.kubeconfig.filter(|_| installer == Installer::Kud);
            parts = manifests(renderer, &values)?;
        }
        values.installed = Some(installed.to_string());
    }
    parts.extend(hosts);
    parts.push(inventory_text.clone());
    parts.extend(variables.values().cloned());
    let nameless = Value::from(Serde(&values));
    values.job = format!("{}-{}", values.name, hash(&parts));
    let context = Value::from(Serde(&values));
    if let Some(finding) = nameless_job(renderer.templates, &nameless, &context) {
        return Err(Box::new(finding));
    }
    let access = values.kubeconfig.as_ref().map(|_| ACCESS);
    for template in TEMPLATES.into_iter().chain(access) {
        renderer.file(&template_name(template), directory.join(template), &context);
    }
    if let Some(packages) = packages {
        let play = renderer.templates.render(&template_name(packages), context)?;
        renderer.rendered.tree.insert(directory.join(packages).into(), mark(&cluster.key) + &play);
    }
    renderer.rendered.tree.insert(directory.join(inventory_file).into(), inventory_text);
    let in_directory =
        |(file, text)| (directory.join(layout::GROUP_VARIABLES).join(file).into(), text);
    renderer.rendered.tree.extend(variables.into_iter().map(in_directory));
    Ok(())
}

/// Renders the manifests that decide what the Job does, without its name and record: the name is a
/// hash of them, and agents update an annotation without running the Job again.
fn manifests(
    renderer: &Renderer<'_>,
    values: &InstallerValues<'_>,
) -> Result<Vec<String>, Box<Finding>> {
    let templates = ["job.yaml", "kustomization.yaml"].into_iter().chain(values.packages);
    let values = Value::from(Serde(values));
    let installer = templates
        .map(|template| renderer.templates.render(&template_name(template), values.clone()));
    // The kustomization above may also change the Job.
    let above = renderer.templates.render(
        cluster_kustomization::TEMPLATE,
        cluster_kustomization::context(renderer.cluster, vec![layout::INSTALLER.to_owned()]),
    );
    installer.chain([above]).map(|text| Ok(meaning(&text?))).collect()
}

/// Returns the name of a template of an installer.
fn template_name(file: &str) -> String {
    format!("{}/{file}", layout::INSTALLER)
}

/// Returns the record of the Job, which tells from the previous one whether workers were only added.
fn installed(
    renderer: &Renderer<'_>,
    installation: &Installation,
    machines: &[PlacedMachine<'_>],
    core: String,
) -> InstallationRecord {
    let hashed = |PlacedMachine { node, host, address, .. }: &PlacedMachine<'_>| {
        let is_master = installation.masters.contains(node);
        let roles = format!("{is_master} {}", installation.has_both_roles(node));
        let mut parts = vec![node.to_string(), roles, host.key.to_string()];
        parts.extend(address.map(|address| address.to_string()));
        (hash(&parts), is_master)
    };
    let machines: BTreeMap<String, bool> = machines.iter().map(hashed).collect();
    let are_workers = |added: &BTreeSet<&String>| {
        added.iter().all(|machine| machines.get(*machine) == Some(&false))
    };
    let before = renderer.site.state.installed.get(&renderer.cluster.key);
    InstallationRecord::next(before, core, machines.keys().cloned().collect(), are_workers)
}

/// Reports a template of the repo that gives its Job a name without the hash.
///
/// An agent would then change an existing Job, which the API server rejects. `nameless` lacks the
/// Job's name, `named` has it.
fn nameless_job(templates: &Templates, nameless: &Value, named: &Value) -> Option<Finding> {
    let template = template_name("job.yaml");
    let own = templates.own_file(&template)?;
    let (nameless, named) =
        (templates.render(&template, nameless.clone()), templates.render(&template, named.clone()));
    let (nameless, named) = (nameless.ok()?, named.ok()?);
    if nameless != named || named.trim().is_empty() {
        return None;
    }
    let message =
        format!("the template {own} gives its Job a fixed name, but a Job cannot be changed");
    let finding = Finding::new(Code::InvalidManifest, message).at(Place::File(own.clone()));
    Some(finding.help("name the Job `{{ job }}`"))
}

impl InstallerValues<'_> {
    /// Returns the command of the container. `$` is doubled, because Kubernetes expands `$(NAME)`.
    fn container_command(&self, installation: &Installation, mode: InstallMode) -> Vec<String> {
        let scales = mode == InstallMode::Scale;
        if self.installer == Installer::Kubespray {
            let playbook = if scales { "scale.yml" } else { "cluster.yml" };
            let options = "ansible-playbook --inventory /inventory/hosts.yaml --private-key /ssh/id_rsa --become";
            let packages = self.packages.map(|play| format!("/inventory/{play}"));
            let options = options.split(' ').map(str::to_owned);
            return options.chain(packages).chain([playbook.to_owned()]).collect();
        }
        let mut command =
            vec!["./installer".to_owned(), "--cluster".to_owned(), self.cluster.name.to_string()];
        // The installer takes everything after `--plugins` for plugins.
        command.extend(scales.then(|| "--scale".to_owned()));
        if let Some(network) = &installation.pod_subnet {
            command.extend(["--network".to_owned(), network.replace('$', "$$")]);
        }
        if !installation.plugins.is_empty() {
            command.push("--plugins".to_owned());
            command.extend(installation.plugins.iter().map(|plugin| plugin.replace('$', "$$")));
        }
        command
    }
}

/// Returns the documents of a manifest without comments, so that a reworded comment does not run
/// every installer again.
fn meaning(text: &str) -> String {
    let documents: Result<Vec<serde_json::Value>, _> =
        yaml_serde::Deserializer::from_str(text).map(serde_json::Value::deserialize).collect();
    let Ok(documents) = documents else { return text.to_owned() };
    joined(documents.iter().filter(|document| !document.is_null()), "\n")
}

/// Returns a hash of texts that is valid in a name.
fn hash(parts: &[String]) -> String {
    let mut hash = Sha256::new();
    // With its length, so that text cannot move from one part to the next unnoticed.
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    format!("{:.*x}", Installation::HASH_LENGTH, hash.finalize())
}
