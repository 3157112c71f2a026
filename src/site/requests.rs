//! Requests, checked and joined with the inventory.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::api::names::ClusterKey;
use crate::decode::suspected_templates::Template;
use crate::finding::{Code, Finding, Origin};
use crate::inventory::Inventory;
use crate::request::provisioning::{Asked, Macs};
use crate::request::sipcluster::legacy::{self, TopologyLabels};
use crate::request::{
    ClusterDocument, Conversion, Request, SoftwareDocument, Spec, provisioning, sipcluster,
};
use crate::settings::{Settings, sources};

/// Checks all requests. Those of older generations that prove to be templates are added to
/// `templates`.
pub(super) fn check(
    documents: Vec<ClusterDocument>,
    mut templates: Vec<Template>,
    software: &[SoftwareDocument],
    inventory: &Inventory,
    settings: &Settings,
) -> (BTreeMap<ClusterKey, Request>, Vec<Template>, Vec<Finding>) {
    let mut findings = Vec::new();
    // Computed on demand: only older SIPClusters and Provisionings need these tables, which cover
    // all hosts.
    let labels = LazyCell::new(|| {
        let of_hosts = inventory.hosts.iter().map(|host| &host.labels);
        TopologyLabels::new(&settings.topology, of_hosts)
    });
    let macs = LazyCell::new(|| Macs::new(&inventory.hosts));
    let mut clusters: BTreeMap<ClusterKey, Request> = BTreeMap::new();
    for mut document in documents {
        let key = document.key.clone();
        if let Some(other) = clusters.get(&key) {
            findings.push(duplicate(&document, other, settings));
            continue;
        }
        let mut older = None;
        if let Spec::Older(spec, may_be_template) = document.spec {
            let conversion = legacy::convert(*spec, &document.origin, &labels);
            if may_be_template && !conversion.errors.is_empty() {
                templates.push(Template {
                    origin: document.origin,
                    asked: None,
                });
                continue;
            }
            let (spec, origin, found) = read_older(&key, &conversion, document.origin);
            findings.extend(found.into_iter().map(|finding| finding.of(&key)));
            (document.spec, document.origin) = (spec, origin);
            older = Some(Box::new(conversion));
        }
        let mut named = BTreeSet::new();
        let (origin, priority) = (document.origin.clone(), document.priority.as_deref());
        let cluster = match &document.spec {
            Spec::Current(spec) => {
                let (cluster, found) = sipcluster::check(key.clone(), origin, priority, spec);
                findings.extend(found);
                cluster
            }
            Spec::Provisioning(spec) => {
                let asked = Asked {
                    key: key.clone(),
                    origin,
                    name: document.name,
                    priority,
                    cluster_type: document.cluster_type.as_deref(),
                    spec,
                    software: provisioning::software_of(&key, software),
                };
                let (cluster, hosts, found) = provisioning::check(asked, &macs);
                findings.extend(found);
                named = hosts;
                cluster
            }
            Spec::Older(..) | Spec::Unreadable => None,
        };
        let former_name = document.former_name;
        let request = Request {
            kind: document.kind,
            origin: document.origin,
            cluster,
            named,
            former_name: former_name.or_else(|| older.as_ref()?.former_name.clone()),
            older,
        };
        clusters.insert(key, request);
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

/// Returns a converted older SIPCluster as a current one, and reports its generation.
fn read_older(
    key: &ClusterKey,
    conversion: &Conversion,
    origin: Origin,
) -> (Spec, Origin, Vec<Finding>) {
    let generation = conversion.generation.words();
    let renamed = conversion
        .former_name
        .as_ref()
        .map_or(String::new(), |former| {
            format!("; it is called {} and no longer `{former}`", key.name)
        });
    let mut findings = vec![
        Finding::new(
            Code::OlderGeneration,
            format!("the SIPCluster {key} is of the generation of {generation}, and is read as one of today{renamed}"),
        )
        .at(origin.at(["spec"]))
        .help("`sipgen migrate` rewrites it in today's form; docs/migrating.md says what becomes of each field"),
    ];
    findings.extend(conversion.unknown.iter().chain(&conversion.errors).cloned());
    let origin = origin.read_as(conversion.moved.clone());
    if !conversion.errors.is_empty() {
        return (Spec::Unreadable, origin, findings);
    }
    let (spec, found) = sipcluster::converted(conversion.spec.clone(), &origin);
    findings.extend(found);
    (spec, origin, findings)
}
