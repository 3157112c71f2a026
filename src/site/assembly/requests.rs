//! Requests, checked and joined with the inventory.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding, Origin};
use crate::input::decode::suspected_templates::SuspectedTemplate;
use crate::input::settings::{Settings, sources};
use crate::site::request::cluster_api::Claimant;
use crate::site::request::cluster_parts::PartDocument;
use crate::site::request::{
    ClusterDocument, ClusterKind, Request, RequestContext, Spec, ValidatedRequest, cluster_api,
    provisioning,
};

/// Checked requests.
#[derive(Default)]
pub(super) struct CheckedRequests {
    pub(super) clusters: BTreeMap<ClusterKey, Request>,
    /// Requests and Softwares that are probably templates of another tool.
    pub(super) templates: Vec<SuspectedTemplate>,
    /// Objects that claim hosts and are no requests.
    pub(super) claimants: Vec<Claimant>,
    pub(super) findings: Vec<Finding>,
}

/// Checks each request. Requests of older generations that prove to be templates are added to
/// `templates`.
///
/// A Cluster of Cluster API beside a SIPCluster of the same name requests nothing; it must only agree.
pub(super) fn check(
    documents: Vec<(ClusterDocument, Spec)>,
    templates: Vec<SuspectedTemplate>,
    context: &RequestContext<'_>,
) -> CheckedRequests {
    let mut requests = CheckedRequests { templates, ..CheckedRequests::default() };
    let (cluster_api_documents, documents): (Vec<_>, Vec<_>) =
        documents.into_iter().partition(|(document, _)| document.kind.descriptor().makes_machines);
    let check = |(document, spec): (ClusterDocument, Spec)| {
        let checked = checked_separately(&document, spec, context);
        (document, checked)
    };
    let checked: Vec<_> = documents.into_par_iter().map(check).collect();
    for (document, checked) in checked {
        requests.add(document, checked, context.settings);
    }
    let known: BTreeSet<ClusterKey> =
        cluster_api_documents.iter().map(|(document, _)| document.key.clone()).collect();
    for claim in cluster_api::claimed_by_machines(context.cluster_parts, context.inventory, &known)
    {
        match claim {
            Ok(claimant) => requests.claimants.push(claimant),
            Err(finding) => requests.findings.push(finding),
        }
    }
    for (document, spec) in cluster_api_documents {
        requests.add_of_cluster_api(document, spec, context);
    }
    if requests.clusters.values().any(|request| request.kind.descriptor().makes_machines) {
        let orphans = context.cluster_parts.orphans(&known);
        requests.findings.extend(orphans.map(|(document, cluster)| orphan(document, cluster)));
    }
    let valid = requests.clusters.values().filter_map(|request| request.cluster.as_ref());
    requests.findings.extend(cluster_api::shared_templates(valid));
    requests.findings.extend(provisioning::without_cluster(context.software, &requests.clusters));
    for request in requests.clusters.values_mut().filter_map(|request| request.cluster.as_mut()) {
        let reservations = context.inventory.reservations_for(&request.key);
        for node_set in request.node_sets.values_mut() {
            node_set.reservations = reservations.clone();
        }
    }
    requests
}

/// Checks a request without the others.
fn checked_separately(
    document: &ClusterDocument,
    spec: Spec,
    context: &RequestContext<'_>,
) -> ValidatedRequest {
    match spec {
        Some(spec) => spec.check(document, context),
        None => Some((document.request(None), Vec::new())),
    }
}

impl CheckedRequests {
    /// Adds a request, unless its cluster has one.
    fn add(&mut self, document: ClusterDocument, checked: ValidatedRequest, settings: &Settings) {
        let ClusterDocument { kind, key, origin, metadata, .. } = document;
        if let Some(other) = self.clusters.get(&key) {
            self.findings.push(duplicate(kind, &key, &origin, other, settings));
            return;
        }
        let Some((checked, found)) = checked else {
            self.templates.push(SuspectedTemplate { origin, asked: None });
            return;
        };
        self.findings.extend(found);
        // Without hosts, it may be for another infrastructure provider.
        let may_need_none =
            kind.descriptor().request_annotation.is_some() && !cluster_api::is_annotated(&metadata);
        let cluster = checked.cluster.as_ref();
        let needs_none = cluster.is_some_and(|cluster| cluster.node_sets.is_empty());
        if !(may_need_none && needs_none) {
            self.clusters.insert(key, checked);
        }
    }

    /// Adds a Cluster of Cluster API if it is a request.
    fn add_of_cluster_api(
        &mut self,
        document: ClusterDocument,
        spec: Spec,
        context: &RequestContext<'_>,
    ) {
        match self.clusters.get_mut(&document.key) {
            Some(request) if request.kind.descriptor().allows_cluster_beside() => {
                let found = beside(request, &document, spec, context);
                self.findings.extend(found);
            }
            _ if cluster_api::is_asked(&document.metadata, context.settings) => {
                let checked = checked_separately(&document, spec, context);
                self.add(document, checked, context.settings);
            }
            _ => {
                let is_opted_out = cluster_api::is_annotated(&document.metadata);
                let key = &document.key;
                let checked = spec.and_then(|spec| spec.check(&document, context));
                let claimant = |cluster| cluster_api::claimed_by_cluster(cluster, is_opted_out);
                if let Some((request, found)) = checked {
                    self.claimants.extend(request.cluster.iter().flat_map(claimant));
                    if context.inventory.has_namespace(&key.namespace) {
                        let error = found.into_iter().find(Finding::is_error);
                        self.findings.extend(error.map(|error| unknown_claims(key, error)));
                    }
                }
            }
        }
    }
}

/// Reports a Cluster that is no request, and that may claim hosts all the same.
fn unknown_claims(cluster: &ClusterKey, error: Finding) -> Finding {
    let code = Code::ForeignClaimant;
    let message = cluster_api::unknown_claims(&format!("the Cluster {cluster}"), &error.message);
    Finding { code, severity: code.severity(), message, clusters: Vec::new(), ..error }
}

/// Compares a SIPCluster with the Cluster beside it, and takes the version of Kubernetes from that.
fn beside(
    sip_cluster: &mut Request,
    document: &ClusterDocument,
    spec: Spec,
    context: &RequestContext<'_>,
) -> Vec<Finding> {
    let Some((request, _)) = spec.and_then(|spec| spec.check(document, context)) else {
        return Vec::new();
    };
    match (&mut sip_cluster.cluster, request.cluster) {
        (Some(cluster), Some(objects)) => {
            cluster.kubernetes_version = objects.kubernetes_version;
            let findings = cluster_api::disagreements(cluster, &objects, &context.inventory.hosts);
            let templates = objects.machine_templates.into_iter();
            cluster.templates_beside =
                templates.filter(|it| !it.is_pinned && it.selected.is_none()).collect();
            findings
        }
        _ => Vec::new(),
    }
}

/// Reports a MachineDeployment of an unknown Cluster.
fn orphan(document: &PartDocument, cluster: &str) -> Finding {
    let name = document.metadata.name.as_deref().unwrap_or_default();
    let message = if cluster.is_empty() {
        format!("the MachineDeployment `{name}` names no Cluster, so it gets no hosts")
    } else {
        format!(
            "the MachineDeployment `{name}` belongs to the Cluster `{cluster}`, which is not in the inputs, so it gets no hosts"
        )
    };
    Finding::new(Code::RequestPartUnowned, message)
        .at(document.origin.at(["spec", "clusterName"]))
        .help("correct `clusterName`, or add the Cluster's manifest to the inputs, in the same namespace")
}

/// Reports a second request of a cluster.
fn duplicate(
    kind: ClusterKind,
    key: &ClusterKey,
    origin: &Origin,
    other: &Request,
    settings: &Settings,
) -> Finding {
    let message = if kind == other.kind {
        format!("there are two {kind}s {key}")
    } else {
        format!("a {} and a {kind} ask for one cluster {key}", other.kind)
    };
    let label = kind.descriptor().object.cluster_label;
    let name = label.map_or_else(|| "name".to_owned(), |label| format!("label `{label}`"));
    Finding::new(Code::DuplicateCluster, message)
        .at(kind.place_of_name(origin))
        .see(other.name(), "the other one")
        .help(if origin.is_rendered() {
            format!("render one of them, or give it another {name} or namespace")
        } else {
            let out = sources::leave_out(settings, &[&origin.file]);
            format!("if this one is an example, keep it; {out}\notherwise give it another {name} or namespace")
        })
        .for_cluster(key)
}
