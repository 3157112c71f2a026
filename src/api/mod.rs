//! The kinds that sipgen reads, as Rust types.
//!
//! * [`names`]: names and numbers that can only be made valid: keys of hosts and clusters, roles, NodePorts.
//! * [`object_kind`]: identity of the kinds: group, version, misspellings.
//! * [`sipcluster`]: what a tenant asks for.
//! * [`service_fields`]: fields that all of its services have.
//! * [`auth`]: its auth services.
//! * [`issuer`]: the URL of an auth service.
//! * [`provisioning`]: what Akraino's Binary Provisioning Agent was asked for.
//! * [`host`]: BareMetalHost, the part of it that placement and services need.
//! * [`hardware`]: what inspection found in a host.
//! * [`mac`]: MAC addresses.
//! * [`network_data`]: a host's addresses, in OpenStack's format.
//! * [`kustomization`]: which file a `kustomize build` reaches, and with which namespace.
//! * [`last_wins`]: kustomizations as kustomize decodes them, duplicate keys included; `kustomization_fields` has all
//!   of their fields.
//! * [`gitops`]: what tells Flux and Argo CD which directories to apply.
//! * [`service`]: the NodePorts that somebody else's Services take.
//! * `unique`: mappings that refuse a duplicate key.
//! * [`assignment`]: the labels and annotations that say whose a host is.
//!
//! Nothing here knows files, git or what is written.

pub mod assignment;
pub mod auth;
pub mod gitops;
pub mod hardware;
pub mod host;
pub mod issuer;
pub mod kustomization;
pub(crate) mod kustomization_fields;
pub mod last_wins;
pub mod mac;
pub mod names;
pub mod network_data;
pub mod object_kind;
pub mod provisioning;
pub mod service;
pub mod service_fields;
pub mod sipcluster;
pub(crate) mod unique;

/// Returns the API group of an `apiVersion`; empty for the core group.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
