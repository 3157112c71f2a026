//! What a SIPCluster says of its auth services. Names and meanings below `connectors`, `staticClients` and `expiry`
//! are Dex's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sipcluster::Service;

/// OpenID Connect login by Dex.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePort of Dex.
    #[serde(default)]
    pub node_port: Option<i64>,
    /// The URL by which users and API servers know Dex, `https://HOST[:PORT][/PATH]`. Without it, that is
    /// `https://CLUSTER-IP:NODE-PORT/dex`.
    #[serde(rename = "issuerURL", default, skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    /// How many pods serve. 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,

    /// The Secret with the certificate authority that issues Dex's certificate, `tls.crt` and `tls.key`. One of
    /// `caSecret`, `issuerRef` and `tlsSecret` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret: Option<String>,
    /// The issuer of cert-manager that issues Dex's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<IssuerRef>,
    /// The Secret with Dex's certificate, `tls.crt`, `tls.key` and `ca.crt`, when cert-manager does not make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_secret: Option<String>,
    /// Whether every machine trusts the authority of Dex's certificate anyway, so that API servers are given none.
    #[serde(default)]
    pub publicly_trusted: bool,

    /// The identity providers that Dex asks who somebody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connectors: Option<Vec<Connector>>,
    /// Who may ask Dex for tokens beside `kubernetes`, the client of kubectl and of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_clients: Option<Vec<StaticClient>>,
    /// The Secrets whose entries Dex has as environment variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_from: Option<Vec<String>>,
    /// For how long tokens and requests are valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
}

/// An issuer of cert-manager.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct IssuerRef {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// `Issuer`, in the cluster's namespace and the default, or `ClusterIssuer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The API group of issuers that are not cert-manager's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// An identity provider.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Connector {
    /// What it is: `ldap`, `oidc`, `saml`, `github`, `gitlab`, `microsoft` or another type that Dex knows.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Its name in URLs and in Dex's storage.
    #[serde(default)]
    pub id: String,
    /// Its name on the login page; the id by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Dex's settings for this type. Secrets are `$NAME`, with NAME from a Secret of `envFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub config: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A program that may ask Dex for tokens.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticClient {
    /// Its id, which is the audience of its tokens.
    #[serde(default)]
    pub id: String,
    /// Its name on the page that asks for the user's approval; the id by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it cannot keep a secret, such as a program on a user's machine.
    #[serde(default)]
    pub public: bool,
    /// Refused: a secret does not belong into git. Name it by `secretEnv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub secret: Option<serde_json::Value>,
    /// The environment variable with its secret, from a Secret of `envFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<String>,
    /// Where Dex may send users back to. A public client without any is sent back to localhost.
    #[serde(rename = "redirectURIs", default, skip_serializing_if = "Option::is_none")]
    pub redirect_uris: Option<Vec<String>>,
    /// The ids of clients that may ask for tokens for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_peers: Option<Vec<String>>,
    /// The URL of a picture for the page that asks for the user's approval.
    #[serde(rename = "logoURL", default, skip_serializing_if = "Option::is_none")]
    pub logo_url: Option<String>,
}

/// For how long things are valid: durations such as `24h` or `1h30m`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// ID tokens, and with them a user's removal from a group takes this long to be noticed. Dex's default is 24h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_tokens: Option<String>,
    /// Keys that sign tokens: when a new one is made. Dex's default is 6h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_keys: Option<String>,
    /// A login that has begun. Dex's default is 24h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_requests: Option<String>,
    /// A login by device code that has begun. Dex's default is 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_requests: Option<String>,
    /// Refresh tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_tokens: Option<RefreshTokens>,
}

/// For how long refresh tokens are valid.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefreshTokens {
    /// Whether a refresh token stays the same when it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disable_rotation: Option<bool>,
    /// For how long a used one may be used again. By default it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse_interval: Option<String>,
    /// Since the login. Forever by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute_lifetime: Option<String>,
    /// Since the last use. Forever by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_if_not_used_for: Option<String>,
}
