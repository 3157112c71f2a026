//! The rights that reading a snapshot takes, as RBAC objects.
//!
//! Secrets are got by name and never listed. A rule without names allows to get every Secret of which somebody knows
//! the name, so the names are written down where a snapshot knows them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Snapshot;
use crate::api::host;
use crate::api::names::{HostKey, Namespace, ObjectName, SecretKey};
use crate::render::document_of;

/// The name of the roles.
const NAME: &str = "sipgen-snapshot";
const GROUP: &str = "rbac.authorization.k8s.io";

/// The account that takes snapshots, and the scope of its rights.
#[derive(Debug, Clone)]
pub struct Access<'a> {
    /// The account that takes snapshots: its namespace and name.
    pub account: (&'a Namespace, &'a ObjectName),
    /// The namespaces that are read; empty for all.
    pub namespaces: &'a [Namespace],
    /// The last snapshot, where only the Secrets that it names are to be read.
    pub names: Option<&'a Snapshot>,
}

/// Writes the RBAC objects that allow to take a snapshot, and nothing else.
pub fn rbac(access: &Access<'_>) -> String {
    let (namespace, name) = access.account;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name.to_string(), "namespace": namespace.to_string()}
    });
    let mut text = comment(access) + &document_of(&account);
    let hosts = rule(
        host::GROUP,
        &["baremetalhosts", "hardwaredata"],
        "list",
        &[],
    );
    let secrets = by_namespace(access);
    if access.namespaces.is_empty() {
        let mut rules = vec![hosts];
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
    let mut rules: BTreeMap<Namespace, Vec<Value>> = access
        .namespaces
        .iter()
        .map(|namespace| (namespace.clone(), vec![hosts.clone()]))
        .collect();
    match secrets {
        None => rules
            .values_mut()
            .for_each(|rules| rules.push(rule("", &["secrets"], "get", &[]))),
        Some(secrets) => {
            for (namespace, names) in secrets {
                rules
                    .entry(namespace)
                    .or_default()
                    .push(rule("", &["secrets"], "get", &names));
            }
        }
    }
    text.extend(
        rules
            .iter()
            .map(|(namespace, rules)| role(access, Some(namespace), rules)),
    );
    text
}

fn comment(access: &Access<'_>) -> String {
    let what = match access.names {
        Some(_) => {
            "# `get` is limited to the Secrets that the hosts of the last snapshot name. A new host names others: print\n\
             # and apply this again, or use `sipgen snapshot --rbac --any-secret`.\n"
        }
        None => {
            "# Which Secrets hosts name is not known beforehand, so `get` is for any Secret whose name is known; none can\n\
             # be listed. `sipgen snapshot --rbac` in a repo with a snapshot limits it to those that hosts name.\n"
        }
    };
    format!("# The rights of `sipgen snapshot`: it reads, and changes nothing.\n{what}")
}

/// The Secrets that are read, by namespace; nothing where any may be.
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

/// A role with its binding: of a namespace, or of the whole cluster.
fn role(access: &Access<'_>, namespace: Option<&Namespace>, rules: &[Value]) -> String {
    let kind = if namespace.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
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
