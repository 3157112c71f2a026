//! Validates auth services. Dex's configuration is checked because Dex silently ignores unknown
//! settings.

mod clients;
mod connectors;
mod values;

use super::{RequestValidation, Route, ServiceDetails, below};
use crate::base::api::auth::{Auth, Expiry, IssuerRef};
use crate::base::api::issuer::IssuerUrl;
use crate::base::api::names::{Invalid, NodePort, ObjectName};
use crate::base::finding::Code;
use crate::base::text::non_empty;
use crate::site::request::service::{Certificate, DexSettings, KindSettings};

/// The lifetime of ID tokens, unless the SIPCluster sets it. With Dex's own, a day, a user who leaves
/// a group keeps its permissions for a day.
const ID_TOKENS: &str = "1h";

impl RequestValidation<'_, '_> {
    fn invalid_auth(&mut self, route: Route, message: impl Into<String>, help: impl Into<String>) {
        self.report(Code::InvalidAuth, route, message, help);
    }

    pub(super) fn auth(&mut self, entry: &Auth, route: &Route) -> ServiceDetails {
        let node_port = self.node_port(entry.node_port, route);
        let issuer = self.issuer_url(entry, node_port, route);
        let certificate = self.certificate(entry, route);
        let replicas = self.replicas(entry.replicas, route);
        let environment = self.environment(entry, route);
        let connectors = self.connectors(entry, issuer.as_ref(), route);
        let clients = self.clients(entry, route);
        let expiry = entry.expiry.clone().unwrap_or_default();
        self.expiry(&expiry, route);
        let settings = DexSettings {
            issuer: issuer?,
            replicas: replicas?,
            certificate: certificate?,
            publicly_trusted: entry.publicly_trusted,
            connectors,
            clients,
            environment,
            expiry: Expiry {
                id_tokens: expiry.id_tokens.or_else(|| Some(ID_TOKENS.to_owned())),
                ..expiry
            },
        };
        Some((vec![node_port?], KindSettings::Auth(Box::new(settings))))
    }

    fn issuer_url(
        &mut self,
        entry: &Auth,
        node_port: Option<NodePort>,
        route: &Route,
    ) -> Option<IssuerUrl> {
        if let Some(text) = &entry.issuer_url {
            let issuer = text.parse().map_err(|error: Invalid| format!("the issuerURL {error}"));
            let help = "write `https://HOST[:PORT][/PATH]`, the issuer in tokens, such as `https://dex.example.com/dex`";
            return self.accept(issuer, Code::InvalidAuth, below(route, ["issuerURL"]), help);
        }
        let text = entry.service.cluster_ip.as_deref().unwrap_or_default();
        if text.is_empty() {
            let message = "the auth service has neither issuerURL nor clusterIP";
            let help = "write its URL, or the base cluster's address under which its NodePorts are reached";
            self.invalid_auth(route.clone(), message, help);
        }
        Some(IssuerUrl::at_node_port(text.parse().ok()?, node_port?))
    }

    /// Returns the issuer of the certificate: exactly one of three fields.
    fn certificate(&mut self, entry: &Auth, route: &Route) -> Option<Certificate> {
        let sources =
            (non_empty(&entry.ca_secret), &entry.issuer_ref, non_empty(&entry.tls_secret));
        let (message, help) = match sources {
            (Some(name), None, None) => {
                if entry.publicly_trusted {
                    let message = "machines do not trust the authority of caSecret by default";
                    let help = "remove publiclyTrusted: the API servers are given the authority's certificate";
                    self.invalid_auth(below(route, ["publiclyTrusted"]), message, help);
                }
                let secret = self.secret_name(name, below(route, ["caSecret"]));
                return secret.map(Certificate::OfAuthority);
            }
            (None, Some(reference), None) => {
                return self.issuer_ref(reference, &below(route, ["issuerRef"]));
            }
            (None, None, Some(name)) => {
                let secret = self.secret_name(name, below(route, ["tlsSecret"]));
                return secret.map(Certificate::InSecret);
            }
            (None, None, None) => (
                "the auth service has no issuer of its certificate",
                "name the Secret with the certificate authority's `tls.crt` and `tls.key`; or an issuer of \
                 cert-manager as issuerRef; or the Secret with the certificate itself as tlsSecret",
            ),
            _ => (
                "the auth service has more than one source of its certificate",
                "keep one of caSecret, issuerRef and tlsSecret",
            ),
        };
        self.invalid_auth(route.clone(), message, help);
        None
    }

    fn issuer_ref(&mut self, reference: &IssuerRef, route: &Route) -> Option<Certificate> {
        const GROUP: &str = "cert-manager.io";
        let group = reference.group.clone().unwrap_or_else(|| GROUP.to_owned());
        let kind = reference.kind.clone().unwrap_or_else(|| "Issuer".to_owned());
        // Issuers of other groups have kinds that are unknown here.
        let is_unknown = group == GROUP && !matches!(kind.as_str(), "Issuer" | "ClusterIssuer");
        let is_word = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric());
        let (field, message, help) = if is_unknown {
            ("kind", "unknown kind of cert-manager issuer", "write Issuer or ClusterIssuer")
        } else if !is_word {
            ("kind", "the issuerRef has no kind", "write its `kind` and `group`")
        } else if group.parse::<ObjectName>().is_err() {
            ("group", "the issuerRef has no valid group", "write its `kind` and `group`")
        } else {
            let name = reference.name.parse().map_err(|error: Invalid| {
                format!("invalid name of the issuer: `{}` {error}", reference.name)
            });
            let (code, help) = (Code::InvalidAuth, "write the issuer's `name`");
            let name = self.accept(name, code, below(route, ["name"]), help)?;
            return Some(Certificate::OfIssuer { name, kind, group });
        };
        self.invalid_auth(below(route, [field]), message, help);
        None
    }

    fn environment(&mut self, entry: &Auth, route: &Route) -> Vec<ObjectName> {
        let route = below(route, ["envFrom"]);
        let mut secrets: Vec<ObjectName> = Vec::new();
        for (index, name) in entry.env_from.iter().flatten().enumerate() {
            // A duplicate changes nothing.
            let secret = self.secret_name(name, below(&route, [index]));
            secrets.extend(secret.filter(|secret| !secrets.contains(secret)));
        }
        secrets
    }

    fn expiry(&mut self, expiry: &Expiry, route: &Route) {
        let tokens = expiry.refresh_tokens.clone().unwrap_or_default();
        for (path, text) in [
            ("idTokens", &expiry.id_tokens),
            ("signingKeys", &expiry.signing_keys),
            ("authRequests", &expiry.auth_requests),
            ("deviceRequests", &expiry.device_requests),
            ("refreshTokens.reuseInterval", &tokens.reuse_interval),
            ("refreshTokens.absoluteLifetime", &tokens.absolute_lifetime),
            ("refreshTokens.validIfNotUsedFor", &tokens.valid_if_not_used_for),
        ] {
            let Some(text) = text else { continue };
            // Only `reuseInterval` may be zero: a used refresh token is then invalid at once.
            let may_be_none = path.ends_with("reuseInterval");
            let length = values::duration(text).filter(|length| *length > 0.0 || may_be_none);
            let length = length.ok_or_else(|| format!("`{text}` is not a duration"));
            let route = below(route, ["expiry"].into_iter().chain(path.split('.')));
            let help = "write hours, minutes and seconds, such as `24h` or `1h30m`; Dex does not support days";
            self.accept(length, Code::InvalidField, route, help);
        }
    }
}
