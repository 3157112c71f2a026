//! Auth services of a SIPCluster. Names and meanings below `connectors`, `staticClients` and `expiry` are Dex's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::names::{NodePort, OBJECT_NAME_PATTERN};
use super::service_fields::Service;

/// The types of connectors that Dex knows (v2.45).
pub const CONNECTOR_TYPES: [&str; 18] = [
    "atlassian-crowd",
    "authproxy",
    "bitbucket-cloud",
    "gitea",
    "github",
    "gitlab",
    "google",
    "keystone",
    "ldap",
    "linkedin",
    "microsoft",
    "mockCallback",
    "mockPassword",
    "oauth",
    "oidc",
    "openshift",
    "saml",
    "samlExperimental",
];

/// Go's durations. A separate rule requires them to be positive.
const DURATION_PATTERN: &str = r"^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$";
/// `https://HOST[:PORT][/PATH]`, without what [`super::issuer::IssuerUrl`] says beyond that.
const ISSUER_PATTERN: &str = r"^https://([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?(/[-._~A-Za-z0-9]+)*$";

/// OpenID Connect login by Dex.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "x-kubernetes-validations" = [
        {
            "rule": "(has(self.caSecret) && size(self.caSecret) > 0 ? 1 : 0) + (has(self.issuerRef) ? 1 : 0) \
                     + (has(self.tlsSecret) && size(self.tlsSecret) > 0 ? 1 : 0) <= 1",
            "message": "keep one of caSecret, issuerRef and tlsSecret"
        },
        {
            "rule": "!(has(self.caSecret) && size(self.caSecret) > 0 && has(self.publiclyTrusted) && self.publiclyTrusted)",
            "message": "machines do not trust the authority of caSecret by default: remove publiclyTrusted"
        }
    ],
    "required" = ["image", "nodePort"],
    "x-editor" = {
        "allOf": [
            {"anyOf": [Auth::given("caSecret"), Auth::given("issuerRef"), Auth::given("tlsSecret")]},
            {"anyOf": [Auth::given("issuerURL"), Auth::given("clusterIP")]},
            {"if": Auth::given("caSecret"), "then": {"properties": {
                "issuerRef": Auth::second(),
                "tlsSecret": Auth::second(),
                "publiclyTrusted": {
                    "const": false,
                    "errorMessage": "Machines do not trust the authority of caSecret by default: remove this"
                }
            }}},
            {"if": Auth::given("issuerRef"), "then": {"properties": {"tlsSecret": Auth::second()}}}
        ]
    }
))]
pub struct Auth {
    /// What every service has.
    #[serde(flatten)]
    pub service: Service,
    /// The NodePort of Dex.
    #[serde(default)]
    #[schemars(required, extend("x-kubernetes-validations" = [NodePort::rule()], "x-editor" = NodePort::range()))]
    pub node_port: Option<i64>,
    /// The URL by which users and API servers know Dex, `https://HOST[:PORT][/PATH]`. Without it, that is
    /// `https://CLUSTER-IP:NODE-PORT/dex`.
    #[serde(rename = "issuerURL", default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = ISSUER_PATTERN), example = &"https://dex.example.com/dex")]
    pub issuer_url: Option<String>,
    /// How many pods serve. 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100), extend("x-editor" = {"default": 2}))]
    pub replicas: Option<i64>,

    /// The Secret with the certificate authority that issues Dex's certificate, `tls.crt` and `tls.key`. One of
    /// `caSecret`, `issuerRef` and `tlsSecret` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = format!("^$|{OBJECT_NAME_PATTERN}")), length(max = 253))]
    pub ca_secret: Option<String>,
    /// The issuer of cert-manager that issues Dex's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<IssuerRef>,
    /// The Secret with Dex's certificate, `tls.crt`, `tls.key` and `ca.crt`, when cert-manager does not make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = format!("^$|{OBJECT_NAME_PATTERN}")), length(max = 253))]
    pub tls_secret: Option<String>,
    /// Whether every machine trusts the authority of Dex's certificate anyway, so that API servers are given none.
    #[serde(default)]
    pub publicly_trusted: bool,

    /// The identity providers that Dex asks who somebody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub connectors: Option<Vec<Connector>>,
    /// Who may ask Dex for tokens beside `kubernetes`, the client of kubectl and of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub static_clients: Option<Vec<StaticClient>>,
    /// The Secrets whose entries Dex has as environment variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253)))]
    pub env_from: Option<Vec<String>>,
    /// For how long tokens and requests are valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
}

impl Auth {
    /// Returns the editor's condition that a field has a value other than null or an empty text.
    fn given(field: &str) -> serde_json::Value {
        let shape = match field {
            "issuerRef" => json!({"type": "object"}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        json!({"required": [field], "properties": {field: shape}})
    }

    /// Returns the editor's rule for a second source of the certificate.
    fn second() -> serde_json::Value {
        json!({"enum": ["", null], "errorMessage": "Keep one of caSecret, issuerRef and tlsSecret"})
    }
}

/// An issuer of cert-manager.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "required" = ["name"],
    "x-kubernetes-validations" = [{
        "rule": "has(self.group) && self.group != 'cert-manager.io' || !has(self.kind) \
                 || self.kind in ['Issuer', 'ClusterIssuer']",
        "message": "unknown kind of cert-manager issuer: write Issuer or ClusterIssuer"
    }],
    "x-editor" = {
        "if": {"properties": {"group": {"enum": ["cert-manager.io", null]}}},
        "then": {"properties": {"kind": {"enum": ["Issuer", "ClusterIssuer", null]}}}
    }
))]
pub struct IssuerRef {
    /// Its name.
    #[serde(default)]
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    pub name: String,
    /// `Issuer`, in the cluster's namespace and the default, or `ClusterIssuer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9]+$"), extend("x-editor" = {"default": "Issuer"}))]
    pub kind: Option<String>,
    /// The API group of issuers that are not cert-manager's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    #[schemars(extend("x-editor" = {"default": "cert-manager.io"}))]
    pub group: Option<String>,
}

/// An identity provider.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["type", "id"]))]
pub struct Connector {
    /// What it is: `ldap`, `oidc`, `saml`, `github`, `gitlab`, `microsoft` or another type that Dex knows.
    #[serde(rename = "type", default)]
    #[schemars(length(min = 1), extend("x-editor" = {"enum": CONNECTOR_TYPES}))]
    pub kind: String,
    /// Its name in URLs and in Dex's storage.
    #[serde(default)]
    #[schemars(regex(pattern = "^[-._A-Za-z0-9]+$"), extend(
        "x-kubernetes-validations" = [{"rule": "self != 'local'", "message": "this id is reserved by Dex: choose another one"}],
        "x-editor" = {
            "pattern": "^(?!local$)[-._A-Za-z0-9]+$",
            "patternErrorMessage": "An id has letters, digits, `-`, `.` and `_`, and is not Dex's own `local`"
        }
    ))]
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
#[schemars(extend(
    "required" = ["id"],
    "x-kubernetes-validations" = [
        {
            "rule": "has(self.secretEnv) || (has(self.public) && self.public)",
            "message": "the client has no secret: write the environment variable with it as secretEnv, or `public: true` \
                        for a program on users' machines"
        },
        {
            "rule": "!has(self.secret)",
            "message": "a client's secret is in git: move it to a Secret that envFrom names, and write its key as \
                        secretEnv"
        }
    ],
    "x-editor" = {
        "anyOf": [
            {"required": ["secretEnv"], "properties": {"secretEnv": {"type": "string"}}},
            {"required": ["public"], "properties": {"public": {"const": true}}}
        ]
    }
))]
pub struct StaticClient {
    /// Its id, which is the audience of its tokens.
    #[serde(default)]
    #[schemars(regex(pattern = r"^\S+$"))]
    pub id: String,
    /// Its name on the page that asks for the user's approval; the id by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it cannot keep a secret, such as a program on a user's machine.
    #[serde(default)]
    pub public: bool,
    /// Refused: a secret does not belong into git. Name it by `secretEnv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("x-editor" = {
        "type": "null",
        "doNotSuggest": true,
        "errorMessage": "The client's secret is in git. Move it to a Secret that envFrom names, and write its key as secretEnv"
    }))]
    pub secret: Option<serde_json::Value>,
    /// The environment variable with its secret, from a Secret of `envFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"), example = &"DASHBOARD_SECRET")]
    pub secret_env: Option<String>,
    /// Where Dex may send users back to. A public client without any is sent back to localhost.
    #[serde(
        rename = "redirectURIs",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(inner(regex(pattern = r"^[A-Za-z][^:\s{}*]*:[^\s{}*]+$")))]
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
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub id_tokens: Option<String>,
    /// Keys that sign tokens: when a new one is made. Dex's default is 6h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub signing_keys: Option<String>,
    /// A login that has begun. Dex's default is 24h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub auth_requests: Option<String>,
    /// A login by device code that has begun. Dex's default is 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
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
    #[schemars(regex(pattern = DURATION_PATTERN))]
    pub reuse_interval: Option<String>,
    /// Since the login. Forever by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub absolute_lifetime: Option<String>,
    /// Since the last use. Forever by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub valid_if_not_used_for: Option<String>,
}

/// Returns the API server's rule that a duration is positive.
fn positive_duration_rule() -> serde_json::Value {
    json!({"rule": "duration(self) > duration('0s')", "message": "must be longer than 0 s: write a duration such as 24h"})
}

/// Returns the editor's rule that a duration is positive: it has a digit other than 0.
fn positive_duration_pattern() -> serde_json::Value {
    json!({
        "pattern": format!("^(?=.*[1-9]){}", DURATION_PATTERN.trim_start_matches('^')),
        "patternErrorMessage": "Write a time longer than none, in hours, minutes and seconds, such as 24h or 1h30m"
    })
}
