//! OpenID Connect login by Dex.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::auth::{Connector, Expiry, StaticClient};
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
    /// Identity providers, each with its name and settings. Only Dex interprets these.
    pub connectors: Vec<Connector>,
    /// Clients that may request tokens, each with its name and lists, and no secret.
    pub clients: Vec<StaticClient>,
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
