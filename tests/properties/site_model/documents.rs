//! A site as files: the documents, and how they are spread over files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{
    Cluster, Condition, Host, Live, NAMESPACE_OF_SECOND_ROOT, Network, ROOTS, Selector, Site,
};
use crate::site_model::strategies::CLUSTERS;

/// How documents are spread over files. The default is one file a directory, in the model's order.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// The files beside the first one of each directory.
    pub more_files: usize,
    /// By which documents are ordered and dealt out to files, over and over.
    pub shuffle: Vec<u16>,
    /// The formats of files, over and over.
    pub formats: Vec<Format>,
}

/// How the documents of a file are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    Documents,
    /// Documents whose text is JSON; the fastest to write.
    #[default]
    Flow,
    List,
    JsonList,
}

/// A directory whose documents may be spread over any number of files; or one file of SIPClusters, because headers
/// name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Folder {
    Root(usize),
    Snapshot,
    Clusters(String),
}

impl Site {
    /// Writes the site's files into a repo and removes those that were there; the output is left as it is.
    pub fn write(&self, repo: &Path, layout: &Layout) {
        for top in ["clusters", "snapshot", "inventory", "sites"] {
            let _ = fs::remove_dir_all(repo.join(top));
        }
        fs::write(repo.join("sipgen.yaml"), "credentials: none\n").unwrap();
        for (file, text) in self.files(layout) {
            let path = repo.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// The site's files by path.
    pub fn files(&self, layout: &Layout) -> BTreeMap<String, String> {
        let mut by_folder: BTreeMap<Folder, Vec<(u16, Value)>> = BTreeMap::new();
        let mut shuffle = layout.shuffle.iter().copied().cycle();
        for (folder, document) in self.documents() {
            by_folder
                .entry(folder)
                .or_default()
                .push((shuffle.next().unwrap_or_default(), document));
        }
        let mut files = BTreeMap::new();
        let mut formats = layout.formats.iter().copied().cycle();
        for (folder, mut documents) in by_folder {
            documents.sort_by_key(|(order, _)| *order);
            let directory = match &folder {
                Folder::Clusters(namespace) => {
                    let documents: Vec<Value> =
                        documents.into_iter().map(|(_, document)| document).collect();
                    let format = formats.next().unwrap_or_default();
                    files.insert(format!("clusters/{namespace}.yaml"), text(&documents, format));
                    continue;
                }
                Folder::Root(root) => ROOTS[*root],
                Folder::Snapshot => "snapshot",
            };
            let mut dealt: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
            for (order, document) in documents {
                dealt
                    .entry(usize::from(order) % (layout.more_files + 1))
                    .or_default()
                    .push(document);
            }
            let mut names = Vec::new();
            for (index, documents) in dealt {
                let format = formats.next().unwrap_or_default();
                let extension = if format == Format::JsonList { "json" } else { "yaml" };
                names.push(format!("part-{index}.{extension}"));
                files.insert(
                    format!("{directory}/part-{index}.{extension}"),
                    text(&documents, format),
                );
            }
            if let Folder::Root(root) = folder {
                files
                    .insert(format!("{directory}/kustomization.yaml"), kustomization(root, &names));
            }
        }
        files
    }

    fn documents(&self) -> Vec<(Folder, Value)> {
        let mut documents: Vec<(Folder, Value)> = self
            .clusters
            .iter()
            .map(|c| (Folder::Clusters(c.key.namespace.clone()), cluster(c)))
            .collect();
        for (index, host) in self.hosts.iter().enumerate() {
            if let Some(root) = host.root {
                documents.push((Folder::Root(root), manifest(host, root, index)));
            }
            if let Some(live) = &host.snapshot {
                documents.push((Folder::Snapshot, observed(host, live, index)));
            }
            if let Some(secret) = network_secret(host, index) {
                documents.push((host.root.map_or(Folder::Snapshot, Folder::Root), secret));
            }
        }
        documents
    }
}

fn text(documents: &[Value], format: Format) -> String {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": documents});
    let yaml = |document: &Value| format!("---\n{}", yaml_serde::to_string(document).unwrap());
    match format {
        Format::Documents => documents.iter().map(yaml).collect(),
        Format::Flow => documents.iter().map(|document| format!("---\n{document}\n")).collect(),
        Format::List => yaml(&list),
        Format::JsonList => serde_json::to_string_pretty(&list).unwrap(),
    }
}

fn kustomization(root: usize, names: &[String]) -> String {
    let mut kustomization = json!({"resources": names});
    if root == 1 {
        kustomization["namespace"] = NAMESPACE_OF_SECOND_ROOT.into();
    }
    yaml_serde::to_string(&kustomization).unwrap()
}

fn manifest(host: &Host, root: usize, index: usize) -> Value {
    let mut document = bare(host, index);
    let claim = host.manifest_claim.iter().flat_map(|claim| claim.labels());
    document["metadata"]["labels"] =
        json!(host.labels.clone().into_iter().chain(claim).collect::<BTreeMap<_, _>>());
    if root == 1 {
        document["metadata"].as_object_mut().unwrap().remove("namespace");
    }
    document
}

fn observed(host: &Host, live: &Live, index: usize) -> Value {
    let mut document = bare(host, index);
    let metadata = &mut document["metadata"];
    let claim = live.claim.iter().flat_map(|claim| claim.labels());
    metadata["labels"] =
        json!(host.labels.clone().into_iter().chain(claim).collect::<BTreeMap<_, _>>());
    metadata["annotations"] = json!(live.given_back);
    metadata["uid"] = format!("uid-{index}").into();
    metadata["resourceVersion"] = "7".into();
    let state = |state: &str| json!({"operationalStatus": "OK", "errorMessage": "", "provisioning": {"state": state}});
    document["status"] = match &live.condition {
        Condition::Unregistered => Value::Null,
        Condition::State(name) => state(name),
        Condition::Failed => {
            json!({"errorType": "registration error", "provisioning": {"state": "available"}})
        }
        Condition::InError => {
            json!({"errorType": "power management error", "provisioning": {"state": "available"}})
        }
        Condition::InUse | Condition::Deleting | Condition::Annotated(_) => state("available"),
    };
    match &live.condition {
        Condition::InUse => {
            document["spec"]["consumerRef"] = json!({"kind": "Metal3Machine", "name": "machine"})
        }
        Condition::Deleting => {
            document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
        }
        Condition::Annotated(name) => document["metadata"]["annotations"][name] = "".into(),
        _ => {}
    }
    document
}

fn bare(host: &Host, index: usize) -> Value {
    let mut document = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {"name": host.key.name, "namespace": host.key.namespace},
        "spec": {
            "online": true,
            "bootMACAddress": format!("00:00:5e:00:53:{index:02x}"),
            "bmc": {
                "address": format!("redfish://203.0.113.{index}/redfish/v1/Systems/1"),
                "credentialsName": format!("{}-bmc", host.key.name),
            },
        },
    });
    if host.network != Network::Absent {
        document["spec"]["networkData"] = json!({"name": format!("{}-network", host.key.name)});
    }
    document
}

fn network_secret(host: &Host, index: usize) -> Option<Value> {
    let Network::Known(networks) = &host.network else {
        return None;
    };
    let network = |(id, addressed): (&&str, &bool)| {
        if *addressed {
            json!({"id": id, "type": "ipv4", "ip_address": format!("198.51.100.{index}")})
        } else {
            json!({"id": id, "type": "ipv4_dhcp"})
        }
    };
    let data = json!({"networks": networks.iter().map(network).collect::<Vec<_>>()}).to_string();
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": format!("{}-network", host.key.name)},
    });
    if host.root != Some(1) {
        secret["metadata"]["namespace"] = host.key.namespace.clone().into();
    }
    if host.is_declared() {
        secret["stringData"] = json!({"networkData": data});
    } else {
        secret["data"] = json!({"networkData": BASE64_STANDARD.encode(data)});
    }
    Some(secret)
}

fn cluster(cluster: &Cluster) -> Value {
    let mut nodes = json!({});
    for (role, node_set) in &cluster.node_sets {
        let mut node = json!({"count": {"active": node_set.active}});
        if let Some(standby) = node_set.standby {
            node["count"]["standby"] = standby.into();
        }
        if let Some(key) = node_set.topology_key {
            node["topologyKey"] = key.into();
        }
        if let Some(selector) = &node_set.selector {
            node["labelSelector"] = label_selector(selector);
        }
        nodes[*role] = node;
    }
    json!({
        "apiVersion": "airship.airshipit.org/v1",
        "kind": "SIPCluster",
        "metadata": {"name": cluster.key.name, "namespace": cluster.key.namespace},
        "spec": {"nodes": nodes, "services": services(cluster)},
    })
}

fn label_selector(selector: &Selector) -> Value {
    let mut document = json!({});
    if !selector.labels.is_empty() {
        document["matchLabels"] = json!(selector.labels);
    }
    let expression = |expression: &super::Expression| {
        let mut document = json!({"key": expression.key, "operator": expression.operator});
        if !expression.values.is_empty() {
            document["values"] = json!(expression.values);
        }
        document
    };
    if !selector.expressions.is_empty() {
        document["matchExpressions"] = selector.expressions.iter().map(expression).collect();
    }
    document
}

fn services(cluster: &Cluster) -> Value {
    // NodePorts are unique in the base cluster, so every cluster has a range of its own.
    let slot = CLUSTERS.iter().position(|(namespace, name)| {
        cluster.key.namespace == *namespace && cluster.key.name == *name
    });
    let first_port = 30000 + 10 * slot.unwrap();
    let service = |network: &str, more: Value| {
        let mut service = json!({"image": "registry.example.com/image:1", "nodeInterfaceId": network, "clusterIP": "192.0.2.1"});
        service.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([service])
    };
    let mut services = json!({});
    if let Some(network) = cluster.control_plane_load_balancer {
        services["loadBalancerControlPlane"] = service(network, json!({"nodePort": first_port}));
    }
    if let Some(network) = cluster.worker_load_balancer {
        let range = json!({"nodePortRange": {"start": first_port + 1, "end": first_port + 3}});
        services["loadBalancerWorker"] = service(network, range);
    }
    if let Some(network) = cluster.jump_host {
        services["jumpHost"] = service(network, json!({"nodePort": first_port + 4}));
    }
    if cluster.auth {
        services["auth"] = service("", json!({"nodePort": first_port + 5, "caSecret": "ca"}));
    }
    services
}
