//! Values of the templates of Dex.

use schemars::JsonSchema;
use serde::Serialize;

use super::service_templates::{ServiceContext, ServiceTemplates};
use crate::base::api::auth::Expiry;
use crate::base::api::issuer::IssuerHost;
use crate::base::api::names::{NodePort, ObjectName};
use crate::input::settings::services::KubernetesVersion;
use crate::output::render::renderer::TemplateSet;
use crate::output::render::value_schema::schema_of;
use crate::site::request::service::auth::{Certificate, Client, DexConnector, DexSettings};

pub(super) const TEMPLATES: ServiceTemplates = ServiceTemplates {
    set: TemplateSet {
        directory: "auth",
        configuration: &["config.yaml", "kubeadm-structured/authentication-configuration.yaml"],
    },
    schema: schema_of::<ServiceContext<'_, DexValues<'_>>>,
    too_large: "give Dex its certificates by a Secret of envFrom",
    too_large_field: None,
};

#[derive(Serialize, JsonSchema)]
pub(super) struct DexValues<'a> {
    /// Port of Dex on the base cluster's nodes.
    node_port: NodePort,
    /// URL that tokens have as their issuer.
    issuer: String,
    /// Host of the issuer's URL if it is a name; the certificate is for that name.
    dns_name: Option<&'a str>,
    /// Host of the issuer's URL if it is an address; IPv6 without brackets.
    address: Option<String>,
    /// Number of pods.
    replicas: u16,
    /// Secret with Dex's certificate.
    tls_secret: String,
    /// Secret with the certificate authority of a generated issuer.
    ca_secret: Option<&'a ObjectName>,
    /// Issuer of the certificate; absent if another party stores it in its Secret.
    issuer_ref: Option<DexIssuer<'a>>,
    /// True if every machine already trusts the certificate's authority.
    publicly_trusted: bool,
    /// Identity providers.
    connectors: &'a [DexConnector],
    /// Clients that may request tokens.
    clients: &'a [Client],
    /// Client whose tokens API servers accept.
    client_id: &'static str,
    /// Secrets whose entries are Dex's environment.
    environment: &'a [ObjectName],
    /// Version of the API servers' `AuthenticationConfiguration`: `v1` or `v1beta1`.
    authentication_version: &'static str,
    /// Lifetimes of tokens and requests.
    expiry: &'a Expiry,
}

#[derive(Serialize, JsonSchema)]
struct DexIssuer<'a> {
    /// Its API group.
    group: &'a str,
    /// Its kind.
    kind: &'a str,
    /// Its name.
    name: &'a str,
}

/// Returns the values of a service with objects named `name`.
pub(super) fn values<'a>(
    auth: &'a DexSettings,
    name: &'a str,
    kubernetes: Option<KubernetesVersion>,
) -> DexValues<'a> {
    let own = || format!("{name}-tls");
    let (tls_secret, ca_secret, issuer_ref) = match &auth.certificate {
        Certificate::OfAuthority(secret) => (
            own(),
            Some(secret),
            Some(DexIssuer { group: "cert-manager.io", kind: "Issuer", name }),
        ),
        Certificate::OfIssuer { name, kind, group } => {
            (own(), None, Some(DexIssuer { group, kind, name: name.as_str() }))
        }
        Certificate::InSecret(secret) => (secret.as_str().to_owned(), None, None),
    };
    let (dns_name, address) = match auth.issuer_url.host() {
        IssuerHost::Name(name) => (Some(name.as_str()), None),
        IssuerHost::Address(address) => (None, Some(address.to_string())),
    };
    DexValues {
        node_port: auth.node_port,
        issuer: auth.issuer(),
        dns_name,
        address,
        replicas: auth.replicas,
        tls_secret,
        ca_secret,
        issuer_ref,
        publicly_trusted: auth.publicly_trusted,
        connectors: &auth.connectors,
        clients: &auth.clients,
        client_id: DexSettings::CLIENT_ID,
        environment: &auth.environment,
        authentication_version: match kubernetes {
            Some(version) if version.has_authentication_v1() => "v1",
            // Newer API servers accept it, too.
            _ => "v1beta1",
        },
        expiry: &auth.expiry,
    }
}
