//! Rust types of the kinds that sipgen reads.
//!
//! * [`names`]: validated names and numbers: keys of hosts and clusters, roles, NodePorts.
//! * [`object_kind`]: identity of a kind: group, version, signs of a misspelling.
//! * [`sipcluster`]: SIPCluster, a tenant's request.
//! * [`service_fields`]: fields common to all services of a SIPCluster.
//! * [`service_kind`]: kinds of services, described by data; `structural_schema` checks their fields.
//! * [`described_service`]: services that only data describes.
//! * [`auth`]: auth services of a SIPCluster; `connector_schema`: the settings of their connectors.
//! * [`issuer`]: the URL of an OpenID Connect issuer.
//! * [`provisioning`]: Provisioning and Software, requests of Akraino's Binary Provisioning Agent.
//! * [`quantity`]: Kubernetes quantities of bytes.
//! * [`host`]: the fields of BareMetalHost that placement and services need.
//! * [`firmware`]: firmware settings of hosts, and which of them Metal3 accepts.
//! * [`hardware`]: the result of Metal3's inspection; [`hardware_requirements`]: what node sets
//!   require of it.
//! * [`installed`]: the record of what an installer Job installs.
//! * [`mac`]: MAC addresses.
//! * [`machine_names`]: names that Cluster API gives to Machines.
//! * [`network`]: IP networks.
//! * [`network_data`]: a host's addresses, in OpenStack's format.
//! * [`kustomization`]: the fields that decide which files a build reaches, and in which namespace.
//! * [`last_wins`]: kustomizations as kustomize decodes them, duplicate keys included;
//!   `kustomization_fields` lists all fields.
//! * [`gitops`]: objects that tell Flux and Argo CD which directories to apply; [`flux`]: Helm
//!   charts, and objects of the Flux Operator.
//! * [`service`]: NodePorts of Kubernetes Services.
//! * `unique`: mappings without duplicate keys.
//! * [`assignment`]: labels and annotations of an assigned host.
//! * [`date`]: calendar dates.
//!
//! These modules know neither files nor git nor the output.

pub mod address;
pub mod assignment;
pub mod auth;
pub mod bmc;
pub mod cluster_api;
pub(crate) mod connector_schema;
pub mod date;
pub mod described_service;
pub mod firmware;
pub mod flux;
pub mod gitops;
pub mod hardware;
pub mod hardware_identity;
pub mod hardware_requirements;
pub mod host;
pub mod installed;
pub mod ipam;
pub mod issuer;
pub mod kustomization;
pub(crate) mod kustomization_fields;
pub(crate) mod label_query;
pub mod last_wins;
pub mod mac;
pub mod machine_names;
pub mod names;
pub mod network;
pub mod network_data;
pub mod network_format;
pub mod object_kind;
pub mod provisioning;
pub mod quantity;
pub mod reservation;
pub mod service;
pub mod service_fields;
pub mod service_kind;
pub mod sipcluster;
pub mod structural_schema;
pub mod topology_spread;
pub(crate) mod unique;

/// Returns the API group of an `apiVersion`; empty for the core group.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// An object in JSON.
pub(crate) type JsonObject = serde_json::Map<String, serde_json::Value>;

/// Returns a value without members that are null.
pub(crate) fn without_nulls(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            members.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        serde_json::Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
