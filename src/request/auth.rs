//! What an auth service asks for, in types that cannot be wrong.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::auth::Expiry;
use crate::api::issuer::IssuerUrl;
use crate::api::names::{NodePort, ObjectName};

/// What only Dex has.
#[derive(Debug, Clone)]
pub struct Auth {
    /// The port of Dex on the base cluster's nodes.
    pub node_port: NodePort,
    /// The URL by which everybody knows it.
    pub issuer_url: IssuerUrl,
    /// How many pods serve.
    pub replicas: u16,
    /// Who issues its certificate.
    pub certificate: Certificate,
    /// Whether every machine trusts that certificate anyway.
    pub publicly_trusted: bool,
    /// The identity providers.
    pub connectors: Vec<Connector>,
    /// Who may ask for tokens, the [client](Self::CLIENT_ID) of API servers among them.
    pub clients: Vec<Client>,
    /// The Secrets whose entries are Dex's environment.
    pub environment: Vec<ObjectName>,
    /// For how long tokens and requests are valid, where that is not Dex's own choice.
    pub expiry: Option<Expiry>,
}

impl Auth {
    /// The id of the client that kubectl uses, and so the audience of the tokens that API servers take.
    pub const CLIENT_ID: &'static str = "kubernetes";

    /// The URL by which users and API servers know Dex.
    pub fn issuer(&self) -> String {
        self.issuer_url.to_string()
    }
}

/// Who issues Dex's certificate.
#[derive(Debug, Clone)]
pub enum Certificate {
    /// cert-manager, by an issuer that is made for it from a Secret with a certificate authority.
    OfAuthority(ObjectName),
    /// cert-manager, by an issuer that is there.
    OfIssuer {
        /// The issuer's name.
        name: ObjectName,
        /// `Issuer` or `ClusterIssuer`, or a kind of another group.
        kind: String,
        /// The issuer's API group.
        group: String,
    },
    /// Somebody else, who puts it into this Secret.
    InSecret(ObjectName),
}

/// An identity provider. What its settings mean is Dex's business.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Connector {
    /// The type of provider.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name in URLs.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its settings, free of secrets.
    pub config: serde_json::Map<String, serde_json::Value>,
}

/// A program that may ask for tokens.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Whether it cannot keep a secret.
    pub public: bool,
    /// The environment variable with its secret.
    pub secret_env: Option<String>,
    /// Where users may be sent back to.
    #[serde(rename = "redirectURIs")]
    pub redirect_uris: Vec<String>,
    /// The clients that may ask for tokens for this one.
    pub trusted_peers: Vec<String>,
    /// The URL of a picture.
    #[serde(rename = "logoURL")]
    pub logo_url: Option<String>,
}
