//! What the templates of Dex are given.

use serde::Serialize;

use crate::api::auth::Expiry;
use crate::api::issuer::IssuerHost;
use crate::api::names::{NodePort, ObjectName};
use crate::site::auth::{Auth, Certificate, Client, Connector};

#[derive(Serialize)]
pub(super) struct Values<'a> {
    node_port: NodePort,
    issuer: String,
    /// The host of the issuer, which the certificate names: a name or an address.
    dns_name: Option<&'a str>,
    address: Option<String>,
    replicas: usize,
    /// The Secret with Dex's certificate.
    tls_secret: String,
    /// The Secret of the authority that an issuer is made from.
    ca_secret: Option<&'a ObjectName>,
    /// Who issues the certificate; nobody where somebody else puts it into its Secret.
    issuer_ref: Option<IssuerRef<'a>>,
    publicly_trusted: bool,
    connectors: &'a [Connector],
    clients: &'a [Client],
    client_id: &'static str,
    environment: &'a [ObjectName],
    expiry: Option<&'a Expiry>,
}

#[derive(Serialize)]
struct IssuerRef<'a> {
    group: &'a str,
    kind: &'a str,
    name: &'a str,
}

/// The values for the service whose objects have a name.
pub(super) fn values<'a>(auth: &'a Auth, name: &'a str) -> Values<'a> {
    let own = || format!("{name}-tls");
    let (tls_secret, ca_secret, issuer_ref) = match &auth.certificate {
        Certificate::OfAuthority(secret) => {
            (own(), Some(secret), Some(IssuerRef { group: "cert-manager.io", kind: "Issuer", name }))
        }
        Certificate::OfIssuer { name, kind, group } => {
            (own(), None, Some(IssuerRef { group, kind, name: name.as_str() }))
        }
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
