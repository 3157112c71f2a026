//! OpenID Connect login by Dex.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::auth::Expiry;
use crate::base::api::issuer::IssuerUrl;
use crate::base::api::names::ObjectName;

/// Settings of Dex, as its templates get them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DexSettings {
    /// URL that tokens have as their issuer.
    #[schemars(with = "String")]
    pub issuer: IssuerUrl,
    /// Number of pods.
    pub replicas: u16,
    /// The issuer of its certificate.
    #[serde(skip)]
    pub certificate: Certificate,
    /// True if every machine already trusts the certificate's authority.
    pub publicly_trusted: bool,
    /// Identity providers.
    pub connectors: Vec<DexConnector>,
    /// Clients that may request tokens.
    pub clients: Vec<Client>,
    /// Secrets whose entries are Dex's environment.
    pub environment: Vec<ObjectName>,
    /// Lifetimes of tokens and requests.
    pub expiry: Expiry,
}

impl DexSettings {
    /// The id of the client for kubectl, and so the audience of tokens that API servers accept.
    pub const CLIENT_ID: &'static str = "kubernetes";
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
