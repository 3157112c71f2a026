//! Ansible group variables of a Provisioning's machines: their packages, and what kubespray needs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::base::api::network::IpNetwork;
use crate::base::layout::SHARED_VARIABLES;
use crate::input::settings::provisioning::{Installer, InventoryFormat, ProvisioningSettings};
use crate::site::request::cluster::{Installation, InstalledPackage};

/// Returns the files of `group_vars` with packages, by name, without the ownership header. A role without packages
/// has no file.
///
/// Each role has its own variable. In ansible, one group's value replaces another's, and a node
/// with both roles would lose packages.
pub fn variables(
    installation: &Installation,
    format: InventoryFormat,
) -> BTreeMap<&'static str, String> {
    let (masters, workers) = match format {
        InventoryFormat::Ini => ("kube-master.yml", "kube-node.yml"),
        InventoryFormat::Yaml => ("kube_control_plane.yml", "kube_node.yml"),
    };
    let roles = [
        (masters, "sipgen_master_packages", &installation.master_packages),
        (workers, "sipgen_worker_packages", &installation.worker_packages),
    ];
    let with_packages = roles.into_iter().filter(|(_, _, packages)| !packages.is_empty());
    with_packages.map(|(file, variable, packages)| (file, list(variable, packages))).collect()
}

/// Returns the file with the variables of all machines: those that kubespray needs, and those of the
/// settings, which replace them.
pub(super) fn shared_variables(
    installation: &Installation,
    settings: &ProvisioningSettings,
) -> Option<(&'static str, String)> {
    let mut variables = BTreeMap::new();
    if settings.installer() == Installer::Kubespray {
        // Its directories must not be beside the inventory, which cannot be written.
        variables.extend([
            ("ansible_user", json!("root")),
            ("artifacts_dir", json!("/tmp/artifacts")),
            ("credentials_dir", json!("/tmp/credentials")),
            ("kubeconfig_localhost", json!(settings.kubeconfig_secret)),
        ]);
        let network = installation.pod_subnet.as_deref().and_then(IpNetwork::parse);
        match network.map(|network| network.canonical()) {
            Some(network) if network.is_ipv4() => {
                variables.insert("kube_pods_subnet", json!(network.to_string()));
            }
            Some(network) => {
                variables.insert("kube_pods_subnet_ipv6", json!(network.to_string()));
                // Kubernetes accepts a difference of 16 bits between the networks of all and of a node.
                let longest = 120.min(network.prefix().saturating_add(16));
                variables.insert("kube_network_node_prefix_ipv6", json!(longest));
            }
            None => {}
        }
    }
    variables.extend(settings.variables.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let line = |(name, value): (&&str, &Value)| format!("{}: {value}\n", Value::from(*name));
    let text: String = variables.iter().map(line).collect();
    (!variables.is_empty()).then_some((SHARED_VARIABLES, text))
}

fn list(variable: &str, packages: &[InstalledPackage]) -> String {
    let mut text = format!("{variable}:\n");
    for InstalledPackage { name, version } in packages {
        text.push_str(&format!("  - name: {}\n", literal(name)));
        if let Some(version) = version {
            text.push_str(&format!("    version: {}\n", literal(version)));
        }
        // Name under which apt finds the package in that version.
        let apt =
            version.as_ref().map_or_else(|| name.clone(), |version| format!("{name}={version}"));
        text.push_str(&format!("    apt: {}\n", literal(&apt)));
    }
    text
}

/// Escapes a text for ansible, which would evaluate an expression between `{{` and `}}`.
fn literal(text: &str) -> String {
    let is_template = ["{{", "{%", "{#"].iter().any(|opening| text.contains(opening));
    let quoted = serde_json::Value::from(text).to_string();
    if is_template { format!("!unsafe {quoted}") } else { quoted }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: Option<&str>) -> InstalledPackage {
        InstalledPackage { name: name.to_owned(), version: version.map(str::to_owned) }
    }

    #[test]
    fn each_role_has_a_file_and_a_variable_of_its_own() {
        let installation = Installation {
            master_packages: vec![
                package("curl", Some("7.88.1-10+deb12u5")),
                package("make", None),
            ],
            worker_packages: vec![package("jq", None)],
            ..Installation::default()
        };

        let files = variables(&installation, InventoryFormat::Ini);

        assert_eq!(
            files["kube-master.yml"],
            "sipgen_master_packages:\n  - name: \"curl\"\n    version: \"7.88.1-10+deb12u5\"\n    apt: \
             \"curl=7.88.1-10+deb12u5\"\n  - name: \"make\"\n    apt: \"make\"\n"
        );
        assert_eq!(
            files["kube-node.yml"],
            "sipgen_worker_packages:\n  - name: \"jq\"\n    apt: \"jq\"\n"
        );
    }

    #[test]
    fn the_groups_of_kubespray_have_other_names_and_a_role_without_packages_has_no_file() {
        let installation =
            Installation { worker_packages: vec![package("jq", None)], ..Installation::default() };

        let files = variables(&installation, InventoryFormat::Yaml);

        assert_eq!(files.into_keys().collect::<Vec<_>>(), ["kube_node.yml"]);
    }
}
