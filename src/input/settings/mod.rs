//! Settings of a repo or a site (`sipgen.yaml`). Every setting has a working default.
//!
//! - `files`: the settings files, and the place of each setting in them
//! - `check`: their validation
//! - `sources`: the files that are inputs
//! - `release`: the versions of sipgen that may read them
//! - `gitops`: the agent that applies the output
//! - `assignment`, `maintenance`, `outputs`, `provisioning`, `quotas`, `requests`, `reservations`, `services`,
//!   `snapshot`: further groups of settings

pub mod assignment;
mod check;
mod files;
pub mod gitops;
pub mod maintenance;
pub mod outputs;
pub mod provisioning;
pub mod quotas;
pub mod release;
pub mod requests;
pub mod reservations;
pub mod services;
pub mod snapshot;
pub mod sources;

use std::collections::BTreeMap;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use regex::Captures;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::base::api::gitops::GitopsAgent;
use crate::base::api::names::{Namespace, ObjectName};
use crate::base::api::topology_spread::{TopologySpread, TopologySpreadConstraint};
use crate::base::api::unique;
use crate::base::finding::{Code, Finding, Place, RouteStep};
use crate::base::text::static_regex;
use crate::input::decode::spread_constraints;
use crate::input::load::Files;
use assignment::AssignmentSettings;
use check::invalid;
use files::SettingsFiles;
use gitops::{ArgocdSettings, FluxSettings, HostsSettings};
use maintenance::Maintenance;
use outputs::OutputSettings;
use provisioning::ProvisioningSettings;
use quotas::Quota;
use release::ReleasedVersion;
use requests::RequestSettings;
use reservations::Reservation;
use services::ServiceSettings;
use snapshot::{Secrets, SnapshotSettings};
use sources::InputSource;

/// Name of the settings file.
pub const FILE: &str = "sipgen.yaml";

/// The settings of a repo.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-editor" = {
    "if": {"required": ["gitops"], "properties": {"gitops": {"const": "argocd"}}},
    "then": {
        "required": ["argocd"],
        "properties": {"argocd": {"required": ["repoURL"], "properties": {"repoURL": {"type": "string"}}}}
    }
}))]
pub struct Settings {
    /// The oldest version of sipgen that may generate, so that nobody replaces the output of a newer one.
    pub minimum_version: Option<ReleasedVersion>,
    /// The directories of the repo's sites, one per base cluster, or globs of them. Each may have
    /// its own `sipgen.yaml` with paths relative to it, whose settings replace those here one by
    /// one. With `sites`, `output` and `snapshot.directory` have a subdirectory per site, for
    /// instance `overlays/clusters/production`. Without `sites` the repo is one site.
    pub sites: Vec<String>,
    /// Directory of the site, relative to the repo's root.
    #[serde(skip)]
    pub directory: Utf8PathBuf,
    /// Positions of the settings, for findings.
    #[serde(skip)]
    pub(crate) files: SettingsFiles,
    /// The directory that sipgen writes to, relative to the repo's root.
    #[schemars(with = "String", extend("x-editor" = directory()))]
    pub output: Utf8PathBuf,
    /// A directory with templates that replace sipgen's templates of the same name.
    #[schemars(with = "Option<String>", extend("x-editor" = directory()))]
    pub templates: Option<Utf8PathBuf>,
    /// Directories of manifests that templates in `outputs/` of that directory render from the plan.
    pub outputs: Vec<OutputSettings>,
    /// Directories and files where SIPClusters, hosts and Secrets are read; by default the whole
    /// repo.
    pub sources: Vec<InputSource>,
    /// Rules for Secrets in the inputs.
    pub secrets: Secrets,
    /// Scope and directory of `sipgen snapshot`.
    pub snapshot: SnapshotSettings,
    /// Interpretation of the inventory.
    pub inventory: InventorySettings,
    /// Access of jump hosts to the BMC credentials of their hosts.
    pub credentials: Credentials,
    /// Stores in which the External Secrets Operator finds BMC credentials.
    pub external_secrets: ExternalSecrets,
    /// The agent that applies the output. sipgen writes its objects, and hosts get only its safety
    /// annotations; without it, they get those of both agents.
    pub gitops: Option<GitopsAgent>,
    /// Settings of the objects for Flux.
    pub flux: FluxSettings,
    /// Settings of the objects for Argo CD.
    pub argocd: ArgocdSettings,
    /// The way in which declared hosts get their labels.
    pub hosts: HostsSettings,
    /// Settings for findings.
    pub findings: FindingsSettings,
    /// Labels with the location of hosts, and how node sets are spread over them.
    pub topology: TopologySettings,
    /// Further objects that request hosts, beside SIPClusters and Provisionings.
    pub requests: RequestSettings,
    /// The labels of assigned hosts.
    pub assignment: AssignmentSettings,
    /// Hosts that only some tenants may have, by their labels. The annotation
    /// `sip.airshipit.org/reserved-for` reserves a single host.
    pub reservations: Vec<Reservation>,
    /// Hosts that get no new assignment, with the reason. The annotation
    /// `sip.airshipit.org/maintenance` marks a single host; its value is the reason.
    pub maintenance: Vec<Maintenance>,
    /// The most hosts that the clusters of a namespace may have.
    pub quotas: Vec<Quota>,
    /// Settings for the services of all clusters.
    pub services: ServiceSettings,
    /// Settings for Provisionings and the installation of their clusters.
    pub provisioning: ProvisioningSettings,
}

/// Labels with the location of hosts, by default the known label that hosts have. They are also meant
/// by `per-rack` and `per-node` (later `PerRack` and `PerHost`) of older generations.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Topology")]
pub struct TopologySettings {
    /// The label with a host's rack. Node sets without constraints are spread over its values.
    pub rack: Option<String>,
    /// The label with the server that a host is or runs on.
    pub host: Option<String>,
    /// Topology spread constraints of node sets that have none.
    pub default_constraints: Vec<TopologySpreadConstraint>,
}

impl TopologySettings {
    /// Returns the constraints of node sets that have none.
    pub fn default_spread(&self) -> Vec<TopologySpread> {
        // The settings were checked.
        spread_constraints::validate(&self.default_constraints).unwrap_or_default()
    }
}

/// Settings for findings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Told")]
pub struct FindingsSettings {
    /// Warnings to suppress. Errors are always reported.
    pub ignore: Vec<Ignored>,
}

/// A suppressed warning.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ignored {
    /// Its code.
    pub code: Code,
    /// The reason why it does not matter here.
    pub reason: String,
}

/// Interpretation of the inventory.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Inventory")]
pub struct InventorySettings {
    /// Declared or observed hosts.
    pub mode: InventoryMode,
    /// Use the addresses that hosts had during inspection, by the names of their interfaces, for
    /// hosts without network data. They stay the same only if DHCP always gives them.
    pub inspected_addresses: bool,
}

/// Source of hosts: declared (created from the repo's manifests) or observed (a snapshot in the
/// repo).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Mode")]
pub enum InventoryMode {
    /// The evidence for each host decides: one that an agent applies is declared, one that a
    /// snapshot shows is observed.
    #[default]
    Auto,
    /// Every host is declared; a host that no kustomization reaches is an error.
    Declared,
    /// Every host is observed, even if a kustomization reaches its snapshot.
    Observed,
}

/// Access of a jump host to the BMC credentials of its hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Credentials {
    /// References to the hosts' own Secrets, which must be in the cluster's namespace.
    #[default]
    Reference,
    /// References to the hosts' own Secrets; for Secrets in other namespaces, to copies that the
    /// External Secrets Operator makes in the cluster's namespace.
    ExternalSecrets,
    /// No access: the jump host has no power control.
    None,
}

/// Stores in which the External Secrets Operator finds BMC credentials.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalSecrets {
    /// SecretStores with the Kubernetes provider, by the namespace whose Secrets they read
    /// (`remoteNamespace`).
    #[serde(default, deserialize_with = "unique::map")]
    pub stores: BTreeMap<Namespace, SecretStore>,
}

/// A reference to a store of the External Secrets Operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretStore {
    /// Cluster-wide, or in the cluster's own namespace.
    #[serde(default)]
    pub kind: SecretStoreKind,
    /// Its name.
    pub name: ObjectName,
}

/// The scope of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SecretStoreKind {
    /// A store for all namespaces.
    #[default]
    ClusterSecretStore,
    /// A store in the namespace of the cluster.
    SecretStore,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            minimum_version: None,
            sites: Vec::new(),
            directory: Utf8PathBuf::new(),
            files: SettingsFiles::default(),
            output: "overlays".into(),
            templates: None,
            outputs: Vec::new(),
            sources: Vec::new(),
            secrets: Secrets::default(),
            snapshot: SnapshotSettings::default(),
            inventory: InventorySettings::default(),
            credentials: Credentials::default(),
            external_secrets: ExternalSecrets::default(),
            gitops: None,
            flux: FluxSettings::default(),
            argocd: ArgocdSettings::default(),
            hosts: HostsSettings::default(),
            findings: FindingsSettings::default(),
            topology: TopologySettings::default(),
            requests: RequestSettings::default(),
            assignment: AssignmentSettings::default(),
            reservations: Vec::new(),
            maintenance: Vec::new(),
            quotas: Vec::new(),
            services: ServiceSettings::default(),
            provisioning: ProvisioningSettings::default(),
        }
    }
}

impl Settings {
    /// Returns the settings file that takes precedence for the site.
    pub(crate) fn file(&self) -> &Utf8Path {
        self.files.own()
    }

    /// Returns whether a finding is suppressed.
    pub fn ignores(&self, finding: &Finding) -> bool {
        !finding.is_error()
            && self.findings.ignore.iter().any(|ignored| ignored.code == finding.code)
    }

    /// Returns whether `sources` allow a path as input.
    pub fn may_read(&self, path: &Utf8Path) -> bool {
        self.sources.is_empty() || self.sources.iter().any(|source| source.contains(path))
    }

    /// Returns whether a directory is inside the output directory, or contains it.
    pub fn overlaps_output(&self, directory: &Utf8Path) -> bool {
        directory.starts_with(&self.output) || self.output.starts_with(directory)
    }

    /// Loads the settings of a repo, or of a site in it; the defaults if it has no settings.
    ///
    /// # Errors
    ///
    /// All invalid settings, or the first one that cannot be parsed.
    pub fn load(repo: &Files) -> Result<Self, Vec<Finding>> {
        let (mut settings, files) = SettingsFiles::read(repo).map_err(|finding| vec![finding])?;
        let mut findings = settings.check(&files);
        let directory = repo.site_directory();
        if !directory.as_str().is_empty() {
            findings.extend(settings.place_in(directory, &files));
        }
        settings.files = files;
        if findings.is_empty() { Ok(settings) } else { Err(findings) }
    }

    /// Converts the paths of a site's settings to paths from the repo's root. Returns findings about
    /// those that do not lead to the site.
    fn place_in(&mut self, directory: &Utf8Path, files: &SettingsFiles) -> Vec<Finding> {
        self.directory = directory.to_owned();
        self.sources.iter_mut().for_each(|source| source.place_in(directory));
        if let Some(templates) = self.templates.as_mut().filter(|_| !files.is_shared("templates")) {
            *templates = directory.join(&*templates);
        }
        // With `sites`, a shared directory gets a subdirectory per site. Output never goes into a
        // site's own directory by default, because agents often apply that directory recursively.
        let shares_output =
            files.is_shared("output") || files.is_listed && !files.has_key("output");
        let shares_snapshot = files.is_shared("snapshot") && files.has("snapshot", "directory");
        for (path, is_shared) in
            [(&mut self.output, shares_output), (&mut self.snapshot.directory, shares_snapshot)]
        {
            *path = if is_shared { path.join(directory) } else { directory.join(&*path) };
        }
        let mut findings = Vec::new();
        for (agent, path) in [("flux", &mut self.flux.path), ("argocd", &mut self.argocd.path)] {
            if !files.has(agent, "path") {
                continue;
            }
            let above = path.ancestors().nth(directory.components().count());
            match above.filter(|_| path.ends_with(directory)) {
                Some(above) => *path = above.to_owned(),
                None => findings.push(invalid(
                    format!(
                        "`{agent}.path: {path}` must end with `{directory}`, the directory of the site"
                    ),
                    files.setting(&format!("{agent}.path")),
                    format!("remove `{agent}.path`; the site's directory is appended automatically"),
                )),
            }
        }
        findings
    }

    /// Reads the settings at the repo's root without validating them, for their `sites`; the
    /// defaults if they cannot be read.
    pub(crate) fn load_root(repo: &Files) -> Self {
        let (settings, files) = SettingsFiles::read(repo).unwrap_or_default();
        Self { files, ..settings }
    }

    /// Returns whether all sites share the directory of templates, so that it has templates for outputs
    /// of other sites.
    pub(crate) fn shares_templates(&self) -> bool {
        !self.directory.as_str().is_empty() && self.files.is_shared("templates")
    }

    /// Returns the place of a setting.
    pub(crate) fn place(&self, route: impl IntoIterator<Item = RouteStep>) -> Place {
        self.files.place(route.into_iter().collect())
    }
}

/// Restores the whole key in a parser's message, which names only the mapping around it.
pub(super) fn with_key(message: &str, key: &str) -> String {
    let around = key.rsplit_once('.').map(|(around, _)| format!("{around}: "));
    match around.and_then(|around| message.strip_prefix(&around)) {
        Some(message) => format!("{key}: {message}"),
        None => message.to_owned(),
    }
}

/// Replaces the names of Rust types in a parser's message, which mean nothing to users.
pub(super) fn without_types(message: &str) -> String {
    let in_settings = |found: &Captures<'_>| match &found[1] {
        "Ignored" => "expected `{code: SIP0308, reason: …}`",
        "SecretStore" => "expected `{kind: ClusterSecretStore, name: …}`",
        _ => "expected a mapping of settings",
    };
    static_regex!("expected struct ([A-Za-z0-9]*)").replace(message, in_settings).into_owned()
}

/// Schema keywords for editors that accept what [`inside`] accepts.
pub(super) fn directory() -> serde_json::Value {
    json!({
        "pattern": r"^(?!/)(?!(.*/)?(\.\.|\.git)(/|$))(?![./]*$).+$",
        "patternErrorMessage": "Write a directory inside the repo, relative to its root and without `..`"
    })
}

/// Normalizes a path that stays below its base directory; `None` for any other path.
///
/// URLs are refused, because normalizing one would hide the credentials in it from redaction.
pub fn inside(path: &Utf8Path) -> Option<Utf8PathBuf> {
    if path.as_str().contains("://") {
        return None;
    }
    let mut plain = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::Normal(name) if !is_git_directory(name) => plain.push(name),
            _ => return None,
        }
    }
    (!plain.as_str().is_empty()).then_some(plain)
}

/// Returns a path as [`inside`] does, and the empty path for the root itself.
pub(super) fn inside_or_root(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let is_root = path.components().all(|component| component == Utf8Component::CurDir);
    if is_root { Some(Utf8PathBuf::new()) } else { inside(path) }
}

/// Returns whether git refuses to track a directory of this name, because some file system equates
/// it with `.git`.
///
/// macOS and Windows ignore case. Windows also ignores text after a colon, and dots and spaces at
/// the end, and has a short name (`git~1`). macOS ignores some invisible characters.
fn is_git_directory(name: &str) -> bool {
    let is_ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let visible: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let is_dot_git = |name: &str| name.eq_ignore_ascii_case(".git");
    // Windows treats a backslash as a slash.
    let mut parts = name
        .split('\\')
        .map(|part| part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']));
    is_dot_git(&visible) || parts.any(|part| is_dot_git(part) || part.eq_ignore_ascii_case("git~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_said_in_words_of_the_settings() {
        for (message, said) in [
            (
                "invalid type: string, expected struct Ignored at line 2",
                "expected `{code: SIP0308, reason: …}` at line 2",
            ),
            ("invalid type: string, expected struct Topology", "expected a mapping of settings"),
        ] {
            assert_eq!(without_types(message), format!("invalid type: string, {said}"));
        }
    }

    #[test]
    fn the_output_directory_is_below_the_root() {
        assert_eq!(inside(Utf8Path::new("./a//b/")), Some("a/b".into()));
        for bad in [
            "", ".", "..", "a/../..", "/etc", "a/../b", ".git/x", ".GIT", "x/.giT/y", "git~1",
            ".git. ", ".git::$x",
        ] {
            assert_eq!(inside(Utf8Path::new(bad)), None, "{bad:?}");
        }
    }
}
