//! Validates a Provisioning and its Softwares and creates a [`Cluster`].
//!
//! * `decode`: specs.
//! * `documents`: their cluster, and the form of the lists of machines.
//! * `machines`: the requested machines and the hosts that their MAC addresses name.
//! * `pod_subnet`: the pods' network.
//! * `software`: packages.
//! * `unquoted_names`: names that other programs read as another value.

mod decode;
mod documents;
mod machines;
mod pod_subnet;
mod software;
mod unquoted_names;

use std::collections::BTreeMap;

use super::cluster::{Cluster, Installation, NodeSet};
use super::cluster_parts::ClusterParts;
use super::descriptor::RequestDescriptor;
use super::documents::{ClusterDocument, RequestContext, RequestSpec, ValidatedDocument};
use crate::base::api::names::{ClusterKey, NodeName, Part, Role};
use crate::base::api::provisioning::{self, CLUSTER_TYPE, PLUGINS, ProvisioningSpec, VIRTLET_VM};
use crate::base::finding::{Code, Finding, Origin, Place, RouteStep};
use crate::base::text::suggest::alike;

pub(crate) use decode::decode_software;
pub(crate) use documents::cluster_of;
pub(crate) use software::without_cluster;
use software::{check_packages, software_of};
pub(crate) use unquoted_names::unquoted_label;

pub(super) static DESCRIPTOR: RequestDescriptor = RequestDescriptor {
    object: &provisioning::OBJECT,
    definition: provisioning::DEFINITION,
    has_own_definition: true,
    schema_argument: Some("provisioning"),
    uses_cluster_api: false,
    makes_machines: false,
    allows_cluster_beside: false,
    request_annotation: None,
    is_request: |_, _| true,
    route_of_role: |role| match role {
        Role::ControlPlane => &["spec", "masters"],
        Role::Worker => &["spec", "workers"],
    },
    name_source: "label `cluster`",
    is_named_in_lists: true,
    decode: decode::decode,
};

impl RequestSpec for ProvisioningSpec {
    fn check(&self, document: ClusterDocument, context: &RequestContext<'_>) -> ValidatedDocument {
        let (cluster, findings) = check(self, &document, context);
        let machines = cluster.node_sets.values().filter_map(|set| set.machine.as_ref());
        let named = machines.filter_map(|machine| Some(machine.named?.1)).collect();
        let mut validated = document.validated((cluster, findings));
        if let ValidatedDocument::Request(request, _) = &mut validated {
            request.named = named;
        }
        validated
    }

    fn uses_addresses(&self) -> bool {
        true
    }

    fn uses_hardware(&self, _: &ClusterParts) -> bool {
        true
    }
}

/// Validates a Provisioning. It is invalid if a finding is an error.
fn check(
    spec: &ProvisioningSpec,
    document: &ClusterDocument,
    context: &RequestContext<'_>,
) -> (Cluster, Vec<Finding>) {
    let ClusterDocument { key, origin, .. } = document;
    let cluster_type = document.metadata.label(CLUSTER_TYPE);
    let is_virtlet_vm = cluster_type == Some(VIRTLET_VM);
    let software = software_of(key, context.software);
    let macs = context.hosts_by_mac();
    let mut check = ProvisioningValidation { key, origin, findings: Vec::new() };
    let priority = document.priority(&mut check.findings);
    check.cluster_type(cluster_type);
    let machines = check.machines(spec, macs, is_virtlet_vm);
    let pod_subnet = check.pod_subnet(spec, &machines, macs, &context.settings.provisioning);
    let plugins = check.plugins(spec);
    let Machines { node_sets, masters, workers } = machines;
    let has_both_roles =
        workers.is_empty() || masters.iter().any(|master| workers.contains(master));
    let [master_packages, worker_packages] =
        check_packages(key, &software, has_both_roles, &mut check.findings);
    let installation = Some(Installation {
        provisioning: document.name.to_string(),
        is_virtlet_vm,
        masters,
        workers,
        pod_subnet,
        plugins,
        master_packages,
        worker_packages,
    });
    (Cluster { installation, ..document.cluster(priority, node_sets) }, check.findings)
}

type Route = Vec<RouteStep>;

/// Validation of one Provisioning, with its findings.
struct ProvisioningValidation<'a> {
    key: &'a ClusterKey,
    origin: &'a Origin,
    findings: Vec<Finding>,
}

/// The machines of a Provisioning.
#[derive(Default)]
struct Machines {
    node_sets: BTreeMap<Part, Box<NodeSet>>,
    masters: Vec<NodeName>,
    workers: Vec<NodeName>,
}

impl ProvisioningValidation<'_> {
    fn report(
        &mut self,
        code: Code,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Finding::new(code, message).at(place).help(help));
    }

    fn add(&mut self, finding: Finding) {
        self.findings.push(finding.for_cluster(self.key));
    }

    fn cluster_type(&mut self, cluster_type: Option<&str>) {
        let Some(other) = cluster_type.filter(|text| !text.is_empty() && *text != VIRTLET_VM)
        else {
            return;
        };
        let help = match alike(other, [VIRTLET_VM]) {
            Some(meant) => format!("did you mean `{meant}`? Otherwise the hosts are machines"),
            None => {
                format!("the only cluster-type is `{VIRTLET_VM}`; remove the label for machines")
            }
        };
        self.report(
            Code::DoubtfulInstallerField,
            self.origin.at(["metadata", "labels", CLUSTER_TYPE]),
            format!("unknown cluster-type `{other}`: the hosts are machines"),
            help,
        );
    }

    /// Returns the plugins without duplicates.
    fn plugins(&mut self, spec: &ProvisioningSpec) -> Vec<String> {
        let mut plugins: Vec<String> = Vec::new();
        for (index, plugin) in spec.kud_plugins.iter().flatten().enumerate() {
            let place =
                self.origin.at(["spec".into(), "KUDPlugins".into(), RouteStep::from(index)]);
            let is_word = |plugin: &str| {
                plugin.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && plugin
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            };
            if !is_word(plugin) {
                let message = format!(
                    "`{plugin}` is not a plugin name: the installer would read an option or several words"
                );
                self.report(
                    Code::InvalidInstallerField,
                    place,
                    message,
                    "write one plugin name per entry: letters, digits, `-`, `_` and `.`, starting with a letter or digit",
                );
            } else if plugins.contains(plugin) {
                let message = format!("duplicate plugin `{plugin}`");
                self.report(
                    Code::DoubtfulInstallerField,
                    place,
                    message,
                    "remove one: it is installed once",
                );
            } else {
                if !PLUGINS.contains(&plugin.as_str()) {
                    let help = match alike(plugin, PLUGINS) {
                        Some(meant) => format!(
                            "did you mean `{meant}`? The installer fails on unknown plugins"
                        ),
                        None => format!(
                            "the installer has {}, and fails on unknown plugins",
                            PLUGINS.join(", ")
                        ),
                    };
                    let message = format!("unknown plugin `{plugin}`");
                    self.report(Code::DoubtfulInstallerField, place, message, help);
                }
                plugins.push(plugin.clone());
            }
        }
        plugins
    }
}

/// Returns the part for a machine of a role.
fn part(role: Role, name: &NodeName) -> Part {
    Part { role, node: Some(name.clone()), node_set: None }
}
