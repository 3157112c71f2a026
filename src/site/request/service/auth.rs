//! OpenID Connect login by Dex.

use schemars::JsonSchema;
use serde::Serialize;

use super::descriptor::{EndpointDescriptor, EndpointKind, ImageAdvice, ServiceDescriptor};
use crate::base::api::auth::Expiry;
use crate::base::api::issuer::IssuerUrl;
use crate::base::api::names::{NodePort, ObjectName};

pub(super) const DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    component: "auth",
    field: "auth",
    // Dex never connects to hosts.
    roles: &[],
    balances: None,
    endpoint: Some(EndpointDescriptor {
        kind: EndpointKind::Issuer,
        prefix: "oidc",
        suffix: "-issuer-url",
    }),
    definitions: Some("dex"),
    shares_storage: true,
    on_control_plane: false,
    image: ImageAdvice {
        example: "ghcr.io/dexidp/dex:v2.45.1",
        name: Some("dex"),
        // The first with `crdHandling`.
        oldest: (2, 45),
    },
};

/// Settings of Dex.
#[derive(Debug, Clone)]
pub struct DexSettings {
    /// Port of Dex on the base cluster's nodes.
    pub node_port: NodePort,
    /// Issuer URL, by which users and API servers know Dex.
    pub issuer_url: IssuerUrl,
    /// Number of pods.
    pub replicas: u16,
    /// The issuer of its certificate.
    pub certificate: Certificate,
    /// Set if every machine already trusts that certificate.
    pub publicly_trusted: bool,
    /// Identity providers.
    pub connectors: Vec<DexConnector>,
    /// Clients that may request tokens, including the [client](Self::CLIENT_ID) of API servers.
    pub clients: Vec<Client>,
    /// Secrets whose entries are Dex's environment.
    pub environment: Vec<ObjectName>,
    /// Lifetimes of tokens and requests; Dex's defaults for those that are absent.
    pub expiry: Expiry,
}

impl DexSettings {
    /// The id of the client for kubectl, and so the audience of tokens that API servers accept.
    pub const CLIENT_ID: &'static str = "kubernetes";

    /// Returns the issuer URL.
    pub fn issuer(&self) -> String {
        self.issuer_url.to_string()
    }
}

/// The issuer of Dex's certificate.
#[derive(Debug, Clone)]
pub enum Certificate {
    /// A generated cert-manager issuer with the certificate authority in this Secret.
    OfAuthority(ObjectName),
    /// An existing cert-manager issuer.
    OfIssuer {
        /// Name of the issuer.
        name: ObjectName,
        /// `Issuer` or `ClusterIssuer`, or a kind of another group.
        kind: String,
        /// API group of the issuer.
        group: String,
    },
    /// No issuer: the certificate is provided in this Secret by other means.
    InSecret(ObjectName),
}

/// An identity provider. Only Dex interprets its settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DexConnector {
    /// Type of provider.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name in URLs.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its settings, without secrets.
    pub config: serde_json::Map<String, serde_json::Value>,
}

/// A program that may request tokens.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// True if it cannot keep a secret.
    pub public: bool,
    /// Environment variable with its secret.
    pub secret_env: Option<String>,
    /// URLs to which Dex may redirect users.
    #[serde(rename = "redirectURIs")]
    pub redirect_uris: Vec<String>,
    /// Clients that may request tokens for this one.
    pub trusted_peers: Vec<String>,
    /// URL of its logo.
    #[serde(rename = "logoURL")]
    pub logo_url: Option<String>,
}
