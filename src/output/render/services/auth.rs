//! Values of the templates of Dex.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::issuer::IssuerHost;
use crate::base::api::names::{NodePort, ObjectName};
use crate::input::settings::services::KubernetesVersion;
use crate::output::render::renderer::Renderer;
use crate::site::request::ClusterService;
use crate::site::request::service::{Certificate, DexSettings};

#[derive(Serialize, JsonSchema)]
pub(super) struct DexValues<'a> {
    /// Port of Dex on the base cluster's nodes.
    node_port: NodePort,
    #[serde(flatten)]
    settings: &'a DexSettings,
    /// Host of the issuer's URL if it is a name; the certificate is for that name.
    dns_name: Option<&'a str>,
    /// Host of the issuer's URL if it is an address; IPv6 without brackets.
    address: Option<String>,
    /// Secret with Dex's certificate.
    tls_secret: String,
    /// Secret with the certificate authority of a generated issuer.
    ca_secret: Option<&'a ObjectName>,
    /// Issuer of the certificate; absent if another party stores it in its Secret.
    issuer_ref: Option<DexIssuer<'a>>,
    /// Client whose tokens API servers accept.
    client_id: &'static str,
    /// Version of the API servers' `AuthenticationConfiguration`: `v1` or `v1beta1`.
    authentication_version: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct DexIssuer<'a> {
    /// Its API group.
    group: &'a str,
    /// Its kind.
    kind: &'a str,
    /// Its name.
    name: String,
}

/// Returns the values.
pub(super) fn values<'a>(
    renderer: &Renderer<'_>,
    service: &ClusterService,
    settings: &'a DexSettings,
) -> Option<DexValues<'a>> {
    let name = service.object_name(&renderer.cluster.key);
    let own = format!("{name}-tls");
    let (tls_secret, ca_secret, issuer_ref) = match &settings.certificate {
        Certificate::OfAuthority(secret) => {
            (own, Some(secret), Some(DexIssuer { group: "cert-manager.io", kind: "Issuer", name }))
        }
        Certificate::OfIssuer { name, kind, group } => {
            (own, None, Some(DexIssuer { group, kind, name: name.to_string() }))
        }
        Certificate::InSecret(secret) => (secret.to_string(), None, None),
    };
    let (dns_name, address) = match settings.issuer.host() {
        IssuerHost::Name(name) => (Some(name.as_str()), None),
        IssuerHost::Address(address) => (None, Some(address.to_string())),
    };
    let configured_version = renderer.site.settings.services.kubernetes_version;
    let version = configured_version.or(renderer.cluster.kubernetes_version);
    Some(DexValues {
        node_port: *service.node_ports.first()?,
        settings,
        dns_name,
        address,
        tls_secret,
        ca_secret,
        issuer_ref,
        client_id: DexSettings::CLIENT_ID,
        // Newer API servers accept the older version, too.
        authentication_version: match version.is_some_and(KubernetesVersion::has_authentication_v1)
        {
            true => "v1",
            false => "v1beta1",
        },
    })
}
