//! Auth services of a SIPCluster. The fields below `connectors`, `staticClients` and `expiry` have
//! the names and meanings of Dex's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::JsonObject;
use super::connector_schema::connector_types;
use super::names::{NodePort, OBJECT_NAME_PATTERN};
use super::service_fields::ServiceFields;

/// A Go duration. A separate rule requires it to be positive.
const DURATION_PATTERN: &str = r"^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$";
/// `https://HOST[:PORT][/PATH]`. [`super::issuer::IssuerUrl`] is stricter.
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
    /// Fields common to all services.
    #[serde(flatten)]
    pub service: ServiceFields,
    /// The NodePort of Dex, in the base cluster's range: 30000 to 32767 by default.
    #[serde(default)]
    #[schemars(required, extend("x-kubernetes-validations" = [NodePort::rule()], "x-editor" = NodePort::range()))]
    pub node_port: Option<i64>,
    /// The URL of Dex for users and API servers, `https://HOST[:PORT][/PATH]`. Default:
    /// `https://CLUSTER-IP:NODE-PORT/dex`.
    #[serde(rename = "issuerURL")]
    #[schemars(regex(pattern = ISSUER_PATTERN), example = &"https://dex.example.com/dex")]
    pub issuer_url: Option<String>,
    /// The number of Dex pods, from 1 to 100. Default: 2.
    #[schemars(range(min = 1, max = 100), extend("x-editor" = {"default": 2}))]
    pub replicas: Option<i64>,

    /// The Secret with the certificate authority (`tls.crt`, `tls.key`) from which cert-manager
    /// issues Dex's certificate. Set exactly one of `caSecret`, `issuerRef` and `tlsSecret`.
    // An empty text counts as absent.
    #[schemars(regex(pattern = format!("^$|{OBJECT_NAME_PATTERN}")), length(max = 253))]
    pub ca_secret: Option<String>,
    /// The cert-manager issuer of Dex's certificate.
    pub issuer_ref: Option<IssuerRef>,
    /// The Secret with Dex's certificate (`tls.crt`, `tls.key`, `ca.crt`), if cert-manager does not
    /// issue it.
    #[schemars(regex(pattern = format!("^$|{OBJECT_NAME_PATTERN}")), length(max = 253))]
    pub tls_secret: Option<String>,
    /// `true` if every machine already trusts the authority of Dex's certificate; API servers then
    /// get no authority.
    #[serde(default)]
    pub publicly_trusted: bool,

    /// The identity providers that authenticate users.
    // API servers reject duplicate ids.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub connectors: Option<Vec<Connector>>,
    /// Further clients that may request tokens. The client `kubernetes`, for kubectl and the API
    /// server, always exists.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub static_clients: Option<Vec<StaticClient>>,
    /// Secrets whose entries become environment variables of Dex.
    #[schemars(inner(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253)))]
    pub env_from: Option<Vec<String>>,
    /// The lifetimes of tokens and requests.
    pub expiry: Option<Expiry>,
}

impl Auth {
    /// Returns whether Dex has environment variables.
    pub fn has_environment(&self) -> bool {
        self.env_from.as_ref().is_some_and(|secrets| !secrets.is_empty())
    }

    /// Returns the editor's condition that a field is neither null nor an empty text.
    fn given(field: &str) -> serde_json::Value {
        let shape = match field {
            "issuerRef" => json!({"type": "object"}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        json!({"required": [field], "properties": {field: shape}})
    }

    /// Returns the editor's rule that rejects a second source of the certificate.
    fn second() -> serde_json::Value {
        json!({"enum": ["", null], "errorMessage": "Keep one of caSecret, issuerRef and tlsSecret"})
    }
}

/// A reference to an issuer of cert-manager.
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
    /// The issuer's name.
    #[serde(default)]
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    pub name: String,
    /// `Issuer` (default), in the SIPCluster's namespace, or `ClusterIssuer`.
    #[schemars(regex(pattern = "^[A-Za-z0-9]+$"), extend("x-editor" = {"default": "Issuer"}))]
    pub kind: Option<String>,
    /// The API group of an external issuer. Default: `cert-manager.io`.
    #[schemars(regex(pattern = OBJECT_NAME_PATTERN), length(max = 253))]
    #[schemars(extend("x-editor" = {"default": "cert-manager.io"}))]
    pub group: Option<String>,
}

/// An identity provider.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["type", "id"]))]
#[serde(default)]
pub struct Connector {
    /// The type: `ldap`, `oidc`, `saml`, `github`, `gitlab`, `microsoft` or another connector type
    /// of Dex.
    #[serde(rename = "type")]
    #[schemars(length(min = 1), extend("x-editor" = {"enum": connector_types()}))]
    pub kind: String,
    /// The id, which is part of URLs and of keys in Dex's storage.
    #[schemars(regex(pattern = "^[-._A-Za-z0-9]+$"), extend(
        "x-kubernetes-validations" = [{"rule": "self != 'local'", "message": "this id is reserved by Dex: choose another one"}],
        "x-editor" = {
            // Editors only, because RE2 of API servers has no lookahead.
            "pattern": "^(?!local$)[-._A-Za-z0-9]+$",
            "patternErrorMessage": "An id has letters, digits, `-`, `.` and `_`, and is not Dex's own `local`"
        }
    ))]
    pub id: String,
    /// The name on the login page. Default: the id.
    pub name: Option<String>,
    /// Dex's settings for this type. Write a secret as `$NAME`, with NAME from a Secret in
    /// `envFrom`.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub config: Option<JsonObject>,
}

/// A client that may request tokens from Dex.
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
    /// The client id, which is the audience of its tokens.
    #[serde(default)]
    #[schemars(regex(pattern = r"^\S+$"))]
    pub id: String,
    /// The name on the approval page. Default: the id.
    pub name: Option<String>,
    /// `true` for a client that cannot keep a secret, such as a program on a user's machine.
    #[serde(default)]
    pub public: bool,
    /// Rejected, because a secret does not belong into git. Set `secretEnv` instead.
    #[schemars(with = "Option<String>", extend("x-editor" = {
        "type": "null",
        "doNotSuggest": true,
        "errorMessage": "The client's secret is in git. Move it to a Secret that envFrom names, and write its key as secretEnv"
    }))]
    pub secret: Option<serde_json::Value>,
    /// The environment variable with the client's secret, from a Secret in `envFrom`.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"), example = &"DASHBOARD_SECRET")]
    pub secret_env: Option<String>,
    /// The URIs to which Dex may redirect users. Without any, Dex redirects users of a public
    /// client to localhost.
    #[serde(rename = "redirectURIs")]
    #[schemars(inner(regex(pattern = r"^[A-Za-z][^:\s{}*]*:[^\s{}*]+$")))]
    pub redirect_uris: Option<Vec<String>>,
    /// The ids of clients that may request tokens for this one.
    pub trusted_peers: Option<Vec<String>>,
    /// The URL of a logo for the approval page.
    #[serde(rename = "logoURL")]
    pub logo_url: Option<String>,
}

/// Lifetimes: durations such as `24h` or `1h30m`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// The lifetime of ID tokens. A user's removal from a group takes effect after this time.
    /// Default: 1h.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub id_tokens: Option<String>,
    /// The interval at which signing keys are rotated. Dex's default: 6h.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub signing_keys: Option<String>,
    /// The time limit of a login. Dex's default: 24h.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub auth_requests: Option<String>,
    /// The time limit of a login by device code. Dex's default: 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub device_requests: Option<String>,
    /// The lifetimes of refresh tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_tokens: Option<RefreshTokens>,
}

/// Lifetimes of refresh tokens.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefreshTokens {
    /// `true` if a refresh token stays the same when it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_rotation: Option<bool>,
    /// The time in which a used refresh token may be used again. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN))]
    pub reuse_interval: Option<String>,
    /// The lifetime since the login. Default: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub absolute_lifetime: Option<String>,
    /// The lifetime since the last use. Default: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_PATTERN), extend("x-kubernetes-validations" = [positive_duration_rule()], "x-editor" = positive_duration_pattern()))]
    pub valid_if_not_used_for: Option<String>,
}

/// Returns the API server's rule that a duration is positive.
fn positive_duration_rule() -> serde_json::Value {
    json!({"rule": "duration(self) > duration('0s')", "message": "must be longer than 0 s: write a duration such as 24h"})
}

/// Returns the editor's rule that a duration is positive: at least one digit is not 0.
fn positive_duration_pattern() -> serde_json::Value {
    json!({
        // Editors only, because RE2 of API servers has no lookahead.
        "pattern": format!("^(?=.*[1-9]){}", DURATION_PATTERN.trim_start_matches('^')),
        "patternErrorMessage": "Write a time longer than none, in hours, minutes and seconds, such as 24h or 1h30m"
    })
}
