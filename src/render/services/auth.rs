//! Values of the templates of Dex.

use schemars::JsonSchema;
use serde::Serialize;

use super::service_templates::{Context, ServiceTemplates};
use crate::api::auth::Expiry;
use crate::api::issuer::IssuerHost;
use crate::api::names::{NodePort, ObjectName};
use crate::render::renderer::TemplateSet;
use crate::render::value_schema::schema_of;
use crate::request::service::auth::{Auth, Certificate, Client, Connector};

pub(super) const TEMPLATES: ServiceTemplates = ServiceTemplates {
    set: TemplateSet {
        directory: "auth",
        configuration: &[
            "config.yaml",
            "kubeadm-structured/authentication-configuration.yaml",
        ],
    },
    schema: schema_of::<Context<'_, Values<'_>>>,
    too_large: "give Dex its certificates by a Secret of envFrom",
    too_large_field: None,
};

#[derive(Serialize, JsonSchema)]
pub(super) struct Values<'a> {
    /// The port of Dex on the base cluster's nodes.
    node_port: NodePort,
    /// The URL by which tokens name it.
    issuer: String,
    /// The issuer's host, if that is a name: what the certificate is for.
    dns_name: Option<&'a str>,
    /// The issuer's host, if that is an address; IPv6 without brackets.
    address: Option<String>,
    /// How many pods there are.
    replicas: u16,
    /// The Secret with Dex's certificate.
    tls_secret: String,
    /// The Secret of the authority that an issuer is made from.
    ca_secret: Option<&'a ObjectName>,
    /// Who issues the certificate; nobody where somebody else puts it into its Secret.
    issuer_ref: Option<IssuerRef<'a>>,
    /// Whether every machine trusts the certificate's authority anyway.
    publicly_trusted: bool,
    /// The identity providers.
    connectors: &'a [Connector],
    /// Who may ask for tokens.
    clients: &'a [Client],
    /// The client for which API servers take tokens.
    client_id: &'static str,
    /// The Secrets whose entries are Dex's environment.
    environment: &'a [ObjectName],
    /// For how long tokens and requests are valid, where the SIPCluster says so.
    expiry: Option<&'a Expiry>,
}

#[derive(Serialize, JsonSchema)]
struct IssuerRef<'a> {
    /// Its API group.
    group: &'a str,
    /// Its kind.
    kind: &'a str,
    /// Its name.
    name: &'a str,
}

/// Returns the values of a service with objects named `name`.
pub(super) fn values<'a>(auth: &'a Auth, name: &'a str) -> Values<'a> {
    let own = || format!("{name}-tls");
    let (tls_secret, ca_secret, issuer_ref) = match &auth.certificate {
        Certificate::OfAuthority(secret) => (
            own(),
            Some(secret),
            Some(IssuerRef {
                group: "cert-manager.io",
                kind: "Issuer",
                name,
            }),
        ),
        Certificate::OfIssuer { name, kind, group } => (
            own(),
            None,
            Some(IssuerRef {
                group,
                kind,
                name: name.as_str(),
            }),
        ),
        Certificate::InSecret(secret) => (secret.as_str().to_owned(), None, None),
    };
    let (dns_name, address) = match auth.issuer_url.host() {
        IssuerHost::Name(name) => (Some(name.as_str()), None),
        IssuerHost::Address(address) => (None, Some(address.to_string())),
    };
    Values {
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
        client_id: Auth::CLIENT_ID,
        environment: &auth.environment,
        expiry: auth.expiry.as_ref(),
    }
}
