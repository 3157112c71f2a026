//! Requests, checked and joined with the inventory.

use std::collections::BTreeMap;

use crate::api::names::ClusterKey;
use crate::decode::suspected_templates::Template;
use crate::finding::{Code, Finding};
use crate::inventory::Inventory;
use crate::request::{
    Checked, ClusterDocument, Context, Request, SoftwareDocument, Spec, provisioning,
};
use crate::settings::{Settings, sources};

/// Checks each request. Requests of older generations that prove to be templates are added to
/// `templates`.
pub(super) fn check(
    documents: Vec<(ClusterDocument, Spec)>,
    mut templates: Vec<Template>,
    software: &[SoftwareDocument],
    inventory: &Inventory,
    settings: &Settings,
) -> (BTreeMap<ClusterKey, Request>, Vec<Template>, Vec<Finding>) {
    let context = Context::new(inventory, settings, software);
    let mut findings = Vec::new();
    let mut clusters: BTreeMap<ClusterKey, Request> = BTreeMap::new();
    for (document, spec) in documents {
        let key = document.key.clone();
        if let Some(other) = clusters.get(&key) {
            findings.push(duplicate(&document, other, settings));
            continue;
        }
        let Some(spec) = spec else {
            clusters.insert(key, document.into_request(None));
            continue;
        };
        match spec.check(document, &context) {
            Checked::Request(request, found) => {
                findings.extend(found);
                clusters.insert(key, *request);
            }
            Checked::Template(origin) => templates.push(Template {
                origin,
                asked: None,
            }),
        }
    }
    findings.extend(provisioning::without_cluster(software, &clusters));
    (clusters, templates, findings)
}

/// Reports a second request of a cluster.
fn duplicate(document: &ClusterDocument, other: &Request, settings: &Settings) -> Finding {
    let ClusterDocument {
        kind, key, origin, ..
    } = document;
    let kind = *kind;
    let message = if kind == other.kind {
        format!("there are two {kind}s {key}")
    } else {
        format!("a {} and a {kind} ask for one cluster {key}", other.kind)
    };
    let name = kind.descriptor().name_source;
    Finding::new(Code::DuplicateCluster, message)
        .at(kind.place_of_name(origin))
        .see(other.name(), "the other one")
        .help(if origin.is_rendered() {
            format!("render one of them, or give it another {name} or namespace")
        } else {
            let out = sources::leave_out(settings, &[&origin.file]);
            format!("if this one is an example, keep it; {out}\notherwise give it another {name} or namespace")
        })
        .of(key)
}
