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

use super::cluster::{Cluster, Installation};
use super::cluster_parts::ClusterParts;
use super::descriptor::RequestDescriptor;
use super::documents::{
    ClusterDocument, RequestContext, RequestFindings, RequestSpec, ValidatedRequest,
};
use crate::base::api::names::Role;
use crate::base::api::provisioning::{self, CLUSTER_TYPE, PLUGINS, ProvisioningSpec, VIRTLET_VM};
use crate::base::finding::{Code, RouteStep};
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
    fn check(&self, document: ClusterDocument, context: &RequestContext<'_>) -> ValidatedRequest {
        let cluster_type = document.metadata.label(CLUSTER_TYPE);
        let software = software_of(&document.key, context.software);
        let macs = context.hosts_by_mac();
        let mut check = ProvisioningValidation { found: RequestFindings::new(&document) };
        let priority = document.priority(&mut check.found);
        check.cluster_type(cluster_type);
        let (node_sets, installation) = check.machines(self, macs);
        let pod_subnet = check.pod_subnet(self, &node_sets, macs, &context.settings.provisioning);
        let plugins = check.plugins(self);
        let has_both_roles =
            installation.masters.iter().any(|master| installation.has_both_roles(master));
        let [master_packages, worker_packages] =
            check_packages(&software, has_both_roles, &mut check.found.all);
        let installation = Some(Installation {
            provisioning: document.name.to_string(),
            is_virtlet_vm: cluster_type == Some(VIRTLET_VM),
            pod_subnet,
            plugins,
            master_packages,
            worker_packages,
            ..installation
        });
        let cluster = Cluster { installation, ..document.cluster(priority, node_sets) };
        let findings = check.found.all;
        document.validated(cluster, findings)
    }

    fn uses_hardware(&self, _: &ClusterParts) -> bool {
        true
    }
}

type Route = Vec<RouteStep>;

/// Validation of one Provisioning, with its findings.
struct ProvisioningValidation<'a> {
    found: RequestFindings<'a>,
}

impl ProvisioningValidation<'_> {
    fn cluster_type(&mut self, cluster_type: Option<&str>) {
        let Some(other) = cluster_type.filter(|text| !text.is_empty() && *text != VIRTLET_VM)
        else {
            return;
        };
        self.found.report(
            Code::DoubtfulInstallerField,
            ["metadata", "labels", CLUSTER_TYPE],
            format!("unknown cluster-type `{other}`: the hosts are machines"),
            format!("the only cluster-type is `{VIRTLET_VM}`; remove the label for machines"),
        );
    }

    /// Returns the plugins without duplicates.
    fn plugins(&mut self, spec: &ProvisioningSpec) -> Vec<String> {
        let mut plugins: Vec<String> = Vec::new();
        for (index, plugin) in spec.kud_plugins.iter().flatten().enumerate() {
            let doubtful = Code::DoubtfulInstallerField;
            let (code, message, help) = if !is_word(plugin, "-_.") {
                (
                    Code::InvalidInstallerField,
                    format!("`{plugin}` is not a plugin name: the installer would read an option or several words"),
                    "write one plugin name per entry: letters, digits, `-`, `_` and `.`, starting with a letter or digit".to_owned(),
                )
            } else if plugins.contains(plugin) {
                let help = "remove one: it is installed once".to_owned();
                (doubtful, format!("duplicate plugin `{plugin}`"), help)
            } else {
                plugins.push(plugin.clone());
                let help = match alike(plugin, PLUGINS) {
                    _ if PLUGINS.contains(&plugin.as_str()) => continue,
                    Some(meant) => {
                        format!("did you mean `{meant}`? The installer fails on unknown plugins")
                    }
                    None => format!(
                        "the installer has {}, and fails on unknown plugins",
                        PLUGINS.join(", ")
                    ),
                };
                (doubtful, format!("unknown plugin `{plugin}`"), help)
            };
            let route = ["spec".into(), "KUDPlugins".into(), RouteStep::from(index)];
            self.found.report(code, route, message, help);
        }
        plugins
    }
}

/// Returns whether a text is letters, digits and `others`, starting with a letter or digit.
fn is_word(text: &str, others: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}
