//! Validates static clients.

use super::values;
use crate::base::api::auth::{Auth, StaticClient};
use crate::base::finding::{Code, RouteStep};
use crate::base::text::non_empty;
use crate::site::request::documents::RequestValidation;
use crate::site::request::service::DexSettings;
use crate::site::request::sipcluster::{Route, below};

impl RequestValidation<'_, '_> {
    /// Returns the clients, including the default one for kubectl. An entry with the id of the
    /// default replaces it.
    pub(super) fn clients(&mut self, entry: &Auth, route: &Route) -> Vec<StaticClient> {
        let route = below(route, ["staticClients"]);
        let mut clients: Vec<StaticClient> = Vec::new();
        for (index, client) in entry.static_clients.iter().flatten().enumerate() {
            let route = below(&route, [index]);
            let is_text = |text: &str| {
                !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
            };
            if !is_text(&client.id) {
                let help = "write the client id of the program, such as `id: dashboard`";
                let route = below(&route, ["id"]);
                self.invalid_auth(route, "the client has no valid id", help);
            } else if clients.iter().any(|other| other.id == client.id) {
                let message = format!("two clients have the id `{}`", client.id);
                self.invalid_auth(below(&route, ["id"]), message, "choose another id");
            }
            self.client_secret(client, entry.has_environment(), &route);
            self.client_texts(client, &route);
            let name = non_empty(&client.name).unwrap_or(&client.id).to_owned();
            clients.push(StaticClient { name: Some(name), secret: None, ..client.clone() });
        }
        if !clients.iter().any(|client| client.id == DexSettings::CLIENT_ID) {
            // For kubectl with kubelogin. Dex redirects a public client without redirectURIs to any
            // port of localhost, and lets it use the device flow.
            let ours = StaticClient {
                id: DexSettings::CLIENT_ID.to_owned(),
                name: Some("Kubernetes".to_owned()),
                public: true,
                ..StaticClient::default()
            };
            clients.insert(0, ours);
        }
        for (index, client) in entry.static_clients.iter().flatten().enumerate() {
            for (at, peer) in client.trusted_peers.iter().flatten().enumerate() {
                if !clients.iter().any(|client| client.id == *peer) {
                    let message = format!("unknown client `{peer}`");
                    let help = "name the id of one of the staticClients";
                    let steps = [index.into(), RouteStep::from("trustedPeers"), at.into()];
                    self.invalid_auth(below(&route, steps), message, help);
                }
            }
        }
        for client in &mut clients {
            // Templates read lists.
            client.redirect_uris.get_or_insert_default();
            client.trusted_peers.get_or_insert_default();
        }
        clients
    }

    fn client_secret(&mut self, client: &StaticClient, has_environment: bool, route: &Route) {
        if client.secret.is_some() {
            let message = "a client's secret is in git";
            let help = "move it to a Secret in envFrom, and write its key as secretEnv; rotate it if it was pushed";
            self.report(Code::SecretInGit, below(route, ["secret"]), message, help);
        }
        match &client.secret_env {
            Some(name) if !values::is_variable_name(name) => self.invalid_auth(below(route, ["secretEnv"]),
                "secretEnv is not the name of an environment variable",
                "write the name alone, without `$`, of letters, digits and `_`",
            ),
            Some(_) if !has_environment => self.invalid_auth(below(route, ["secretEnv"]),
                "nothing sets this environment variable",
                "add its Secret: `envFrom: [NAME]`",
            ),
            None if !client.public && client.secret.is_none() => self.invalid_auth(route.clone(),
                "the client has no secretEnv: Dex does not start with a client that cannot authenticate",
                "name the environment variable with its secret; or write `public: true` for a program on users' \
                 machines",
            ),
            _ => {}
        }
    }

    fn client_texts(&mut self, client: &StaticClient, route: &Route) {
        for (index, uri) in client.redirect_uris.iter().flatten().enumerate() {
            let route = below(route, [RouteStep::from("redirectURIs"), index.into()]);
            let has_scheme = uri.split_once(':').is_some_and(|(scheme, rest)| {
                !rest.is_empty() && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            });
            let message =
                if !has_scheme || uri.contains(|c: char| c.is_whitespace() || c.is_control()) {
                    "the redirectURI is not a URI"
                } else if uri.contains(['{', '}', '*']) {
                    "the redirectURI contains a wildcard"
                } else {
                    continue;
                };
            let help = "write the whole URI: Dex compares it exactly, without wildcards";
            self.invalid_auth(route, message, help);
        }
    }
}
