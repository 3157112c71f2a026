//! RBAC objects with the permissions for taking a snapshot.
//!
//! Secrets are read by name and never listed. A rule without `resourceNames` allows `get` on every
//! Secret whose name is known, so names are listed if a snapshot has them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Snapshot, machines};
use crate::base::api::group;
use crate::base::api::host;
use crate::base::api::ipam;
use crate::base::api::names::{HostKey, Namespace, ObjectName, SecretKey};
use crate::output::render::document_of;

/// Name of the roles.
const NAME: &str = "sipgen-snapshot";
const GROUP: &str = "rbac.authorization.k8s.io";

/// The account that takes snapshots, and its permissions.
#[derive(Debug, Clone)]
pub struct Access<'a> {
    /// ServiceAccount that takes snapshots: namespace and name.
    pub account: (&'a Namespace, &'a ObjectName),
    /// Namespaces to read; empty for all.
    pub namespaces: &'a [Namespace],
    /// Last snapshot, to allow only the Secrets that it names.
    pub names: Option<&'a Snapshot>,
    /// Whether the addresses that Machines claimed are read.
    pub addresses: bool,
}

/// Renders the RBAC objects that allow taking a snapshot and nothing else.
pub fn rbac(access: &Access<'_>) -> String {
    let (namespace, name) = access.account;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name.to_string(), "namespace": namespace.to_string()}
    });
    let mut text = comment(access) + &document_of(&account);
    let mut lists = vec![rule(host::GROUP, &["baremetalhosts", "hardwaredata"], "list", &[])];
    lists.extend(
        machines::LIVE
            .map(|(_, plural, versions)| rule(group(versions[0]), &[plural], "list", &[])),
    );
    if access.addresses {
        lists.extend(
            ipam::LIVE
                .map(|(_, plural, versions)| rule(group(versions[0]), &[plural], "list", &[])),
        );
    }
    let secrets = by_namespace(access);
    if access.namespaces.is_empty() {
        let mut rules = lists;
        if secrets.is_none() {
            rules.push(rule("", &["secrets"], "get", &[]));
        }
        text.push_str(&role(access, None, &rules));
        for (namespace, names) in secrets.into_iter().flatten() {
            text.push_str(&role(
                access,
                Some(&namespace),
                &[rule("", &["secrets"], "get", &names)],
            ));
        }
        return text;
    }
    let mut rules: BTreeMap<Namespace, Vec<Value>> =
        access.namespaces.iter().map(|namespace| (namespace.clone(), lists.clone())).collect();
    match secrets {
        None => rules.values_mut().for_each(|rules| rules.push(rule("", &["secrets"], "get", &[]))),
        // Named Secrets may be in namespaces other than those of the hosts.
        Some(secrets) => {
            for (namespace, names) in secrets {
                rules.entry(namespace).or_default().push(rule("", &["secrets"], "get", &names));
            }
        }
    }
    text.extend(rules.iter().map(|(namespace, rules)| role(access, Some(namespace), rules)));
    text
}

fn comment(access: &Access<'_>) -> String {
    let what = match access.names {
        Some(_) => {
            "# `get` is limited to the Secrets that hosts of the last snapshot name. After adding hosts with other Secrets,\n\
             # print and apply this again, or use `sipgen snapshot --rbac --any-secret`.\n"
        }
        None => {
            "# The Secrets that hosts name are not known in advance, so `get` is allowed on any Secret, but not `list`.\n\
             # `sipgen snapshot --rbac` in a repo with a snapshot limits `get` to the Secrets that hosts name.\n"
        }
    };
    format!("# Permissions of `sipgen snapshot`, which is read-only.\n{what}")
}

/// Returns the names of the Secrets to read, by namespace; `None` if any Secret may be read.
fn by_namespace(access: &Access<'_>) -> Option<BTreeMap<Namespace, Vec<String>>> {
    let mut names: BTreeMap<Namespace, BTreeSet<String>> = BTreeMap::new();
    let snapshot = access.names?;
    let is_read =
        |key: &HostKey| access.namespaces.is_empty() || access.namespaces.contains(&key.namespace);
    for (key, host) in snapshot.hosts.iter().filter(|(key, _)| is_read(key)) {
        let named = super::secrets_of(key, host);
        for SecretKey { namespace, name } in named.network_data.into_iter().chain(named.credentials)
        {
            names.entry(namespace).or_default().insert(name.to_string());
        }
    }
    Some(
        names
            .into_iter()
            .map(|(namespace, names)| (namespace, names.into_iter().collect()))
            .collect(),
    )
}

fn rule(group: &str, resources: &[&str], verb: &str, names: &[String]) -> Value {
    let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": [verb]});
    if !names.is_empty() {
        rule["resourceNames"] = json!(names);
    }
    rule
}

/// Renders a role and its binding, for a namespace or cluster-wide.
fn role(access: &Access<'_>, namespace: Option<&Namespace>, rules: &[Value]) -> String {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let mut metadata = json!({"name": NAME});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.to_string().into();
    }
    let api_version = format!("{GROUP}/v1");
    let role =
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "rules": rules});
    let (of, name) = access.account;
    let binding = json!({
        "apiVersion": api_version,
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": name.to_string(), "namespace": of.to_string()}],
    });
    document_of(&role) + &document_of(&binding)
}
