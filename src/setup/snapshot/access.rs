//! RBAC objects with the permissions for taking a snapshot.
//!
//! Only Secrets with network data are read, by name. A rule without `resourceNames` allows `get` on
//! every Secret, those with BMC credentials among them, so it is printed only on request.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::client::SnapshotScope;
use super::{Snapshot, firmware, machines};
use crate::base::api::group;
use crate::base::api::host;
use crate::base::api::ipam;
use crate::base::api::names::{HostKey, Namespace, ObjectName, SecretKey};
use crate::base::grouping::grouped;
use crate::output::render::document_of;

/// Name of the roles and of the ServiceAccount, which is in [`NAMESPACE`].
const NAME: &str = "sipgen-snapshot";
const NAMESPACE: &str = "sipgen";
const GROUP: &str = "rbac.authorization.k8s.io";

/// Renders the RBAC objects that allow taking a snapshot and nothing else.
///
/// Hosts of the `known` snapshot name the Secrets that may be read. Without it, any may be read, for
/// hosts that are not known yet.
pub fn rbac(scope: &SnapshotScope, known: Option<&Snapshot>) -> String {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": NAMESPACE}
    });
    let mut rules = vec![rule(host::GROUP, &["baremetalhosts", "hardwaredata"], "list", &[])];
    let mut live = machines::LIVE.to_vec();
    let namespaces = &scope.settings.snapshot.namespaces;
    if scope.settings.snapshot.addresses {
        live.extend(ipam::LIVE);
    }
    if scope.firmware {
        live.extend(firmware::LIVE);
    }
    rules.extend(
        live.iter().map(|(_, plural, versions)| rule(group(versions[0]), &[plural], "list", &[])),
    );
    let secrets = known.map(|known| named_secrets(namespaces, known)).unwrap_or_default();
    let comment = match known {
        None => {
            "\
            # `get` is allowed on any Secret, but not `list`, because the Secrets of new hosts are not known.\n"
        }
        Some(_) if secrets.is_empty() => {
            "\
            # No Secret may be read. If hosts have network data, take a snapshot as a user who may read it, and print this\n\
            # again, or use `sipgen snapshot --rbac --any-secret`.\n"
        }
        Some(_) => {
            "\
            # `get` is limited to the Secrets with network data that hosts of the last snapshot name. After adding hosts with\n\
            # other Secrets, print and apply this again, or use `sipgen snapshot --rbac --any-secret`.\n"
        }
    };
    if known.is_none() {
        rules.push(rule("", &["secrets"], "get", &[]));
    }
    let places = match namespaces.as_slice() {
        [] => vec![None],
        namespaces => namespaces.iter().cloned().map(Some).collect(),
    };
    let mut roles: BTreeMap<Option<Namespace>, Vec<Value>> =
        places.into_iter().map(|place| (place, rules.clone())).collect();
    // Named Secrets may be in namespaces other than those of the hosts.
    for (namespace, names) in secrets {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        roles.entry(Some(namespace)).or_default().push(rule("", &["secrets"], "get", &names));
    }
    let roles = roles.iter().map(|(place, rules)| role(place.as_ref(), rules));
    format!("# Permissions of `sipgen snapshot`, which is read-only.\n{comment}")
        + &document_of(&account)
        + &roles.collect::<String>()
}

/// Returns the Secrets with network data that hosts of a snapshot in these namespaces name, by
/// namespace.
fn named_secrets(
    namespaces: &[Namespace],
    snapshot: &Snapshot,
) -> BTreeMap<Namespace, Vec<ObjectName>> {
    let is_read = |key: &HostKey| namespaces.is_empty() || namespaces.contains(&key.namespace);
    let hosts = snapshot.hosts.iter().filter(|(key, _)| is_read(key));
    let secrets: BTreeSet<SecretKey> =
        hosts.flat_map(|(key, host)| super::network_data_secrets(key, host)).collect();
    grouped(secrets.into_iter().map(|secret| (secret.namespace, secret.name)))
}

fn rule(group: &str, resources: &[&str], verb: &str, names: &[String]) -> Value {
    let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": [verb]});
    if !names.is_empty() {
        rule["resourceNames"] = json!(names);
    }
    rule
}

/// Renders a role and its binding, for a namespace or cluster-wide.
fn role(namespace: Option<&Namespace>, rules: &[Value]) -> String {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let mut metadata = json!({"name": NAME});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.to_string().into();
    }
    let api_version = format!("{GROUP}/v1");
    let role =
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "rules": rules});
    let binding = json!({
        "apiVersion": api_version,
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    });
    document_of(&role) + &document_of(&binding)
}
