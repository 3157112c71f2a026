//! Checks connectors by the settings of their types.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::values::{self, DollarMeaning};
use crate::base::api::auth::{self, Connector};
use crate::base::api::connector_schema::SCHEMA;
use crate::base::api::issuer::IssuerUrl;
use crate::base::finding::{Code, Finding, RouteStep};
use crate::base::text::non_empty;
use crate::base::text::suggest::alike;
use crate::site::request::sipcluster::{Route, SipclusterValidation, below};

/// Connector id of Dex's own password database.
const LOCAL: &str = "local";

impl SipclusterValidation<'_> {
    /// Checks the connectors, and sets a missing `redirectURI` to this Dex's callback URL.
    pub(super) fn connectors(
        &mut self,
        entry: &auth::Auth,
        issuer: Option<&IssuerUrl>,
        has_environment: bool,
        route: &Route,
    ) -> Vec<Connector> {
        let route = below(route, ["connectors"]);
        let callback = issuer.map(|issuer| format!("{issuer}/callback"));
        let mut connectors: Vec<Connector> = Vec::new();
        for (index, connector) in entry.connectors.iter().flatten().enumerate() {
            let route = below(&route, [index]);
            let config_route = match connector.config {
                Some(_) => below(&route, ["config"]),
                None => route.clone(),
            };
            let mut check =
                ConnectorCheck { check: self, callback: callback.as_deref(), has_environment };
            check.names(connector, &connectors, &route);
            let mut config = connector.config.clone().unwrap_or_default();
            match SCHEMA.types.get(&connector.kind) {
                Some(Value::Object(fields)) => {
                    let redirect = "redirectURI";
                    if let Some(callback) = &callback
                        && fields.contains_key(&format!("{redirect}!"))
                        && is_empty(config.get(redirect))
                    {
                        config.insert(redirect.to_owned(), callback.as_str().into());
                    }
                    check.fields(&config, fields, &connector.kind, &config_route);
                    check.between_settings(&connector.kind, &config, &config_route);
                }
                Some(_) => check.unknown(&Value::Object(config.clone()), &config_route),
                None => check.unknown_type(&connector.kind, &route),
            }
            let name = non_empty(&connector.name).unwrap_or(&connector.id).to_owned();
            connectors.push(Connector {
                name: Some(name),
                config: Some(config),
                ..connector.clone()
            });
        }
        connectors
    }
}

/// Checks one connector.
struct ConnectorCheck<'c, 'k> {
    check: &'c mut SipclusterValidation<'k>,
    callback: Option<&'c str>,
    has_environment: bool,
}

impl ConnectorCheck<'_, '_> {
    fn names(&mut self, connector: &Connector, before: &[Connector], route: &Route) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let id = &connector.id;
        let id_mistake = if id.is_empty() || !id.chars().all(is_plain) {
            Some((
                "the connector has no id that is valid in a URL".to_owned(),
                "write letters, digits, `-`, `.` and `_`, such as `id: ldap`",
            ))
        } else if id == LOCAL {
            Some((format!("the id `{LOCAL}` is reserved by Dex"), "choose another id"))
        } else if before.iter().any(|other| other.id == *id) {
            Some((
                format!("two connectors have the id `{id}`"),
                "choose another id: Dex would use only one of them",
            ))
        } else {
            None
        };
        if let Some((message, help)) = id_mistake {
            self.check.invalid_auth(below(route, ["id"]), message, help);
        }
        if matches!(connector.kind.as_str(), "mockCallback" | "mockPassword") {
            self.check.found.report(
                Code::DoubtfulConnector,
                below(route, ["type"]),
                format!("the connector {} accepts unknown users", connector.kind),
                "remove it: it is for tests only",
            );
        }
    }

    fn unknown_type(&mut self, kind: &str, route: &Route) {
        if kind.is_empty() {
            let help = "write its type, such as `type: ldap`";
            return self.check.invalid_auth(route.clone(), "the connector has no type", help);
        }
        let names = || SCHEMA.types.keys().map(String::as_str);
        let help = match alike(kind, names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("Dex knows {}", names().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("Dex has no connector of type `{kind}`");
        self.check.invalid_auth(below(route, ["type"]), message, help);
    }

    /// Checks Dex's rules for combinations of settings.
    fn between_settings(&mut self, kind: &str, config: &Map<String, Value>, route: &Route) {
        let has = |name: &str| !is_empty(config.get(name));
        let is_on = |name: &str| config.get(name) == Some(&Value::Bool(true));
        match kind {
            "saml" if !is_on("insecureSkipSignatureValidation") && has("ca") == has("caData") => {
                self.check.invalid_auth(
                    below(route, ["caData"]),
                    "the connector cannot verify signatures: it requires either `ca` or `caData`",
                    "write the provider's certificate, PEM in base64, as `caData`",
                )
            }
            "github" if has("org") && has("orgs") => self.check.invalid_auth(
                below(route, ["org"]),
                "Dex does not start with both `org` and `orgs`",
                "write all organizations under `orgs`",
            ),
            "ldap" if has("bindDN") != has("bindPW") => {
                let present = if has("bindDN") { "bindDN" } else { "bindPW" };
                self.check.invalid_auth(
                    below(route, [present]),
                    "`bindDN` or `bindPW` is missing: the directory would refuse the connector",
                    "write both, or neither for anonymous access",
                );
            }
            _ => {}
        }
        for flag in &SCHEMA.r#unsafe {
            if flag.r#type == kind && is_on(&flag.setting) {
                let route = below(route, [flag.setting.as_str()]);
                let code = Code::DoubtfulConnector;
                self.check.found.report(code, route, &flag.message, &flag.help);
            }
        }
    }

    fn fields(
        &mut self,
        config: &Map<String, Value>,
        fields: &Map<String, Value>,
        of: &str,
        route: &Route,
    ) {
        for (key, value) in config {
            let route = below(route, [key.as_str()]);
            let shape = fields.get(key).or_else(|| fields.get(&format!("{key}!")));
            match shape {
                Some(_) if is_empty(Some(value)) => {}
                Some(shape) => self.setting(key, shape, value, &route),
                None => {
                    let names = fields.keys().map(|name| name.trim_end_matches('!'));
                    let help = match alike(key, names) {
                        Some(name) => {
                            format!("did you mean `{name}`? Dex ignores unknown settings silently")
                        }
                        None => "remove it: Dex ignores unknown settings silently".to_owned(),
                    };
                    let message = format!("{of} has the unknown setting `{key}`");
                    let place = self.check.found.origin.key(route);
                    let finding = Finding::new(Code::InvalidAuth, message).at(place).help(help);
                    self.check.found.all.push(finding);
                }
            }
        }
        let required =
            fields.iter().filter_map(|(name, shape)| Some((name.strip_suffix('!')?, shape)));
        for (name, shape) in required.filter(|(name, _)| is_empty(config.get(*name))) {
            let help = match shape.as_str() {
                // It defaults to a URL of the issuer, so it is missing only if the issuer is
                // invalid. That has its own finding.
                Some("callback") => continue,
                Some("secret") => {
                    format!("write `{name}: $NAME`, with NAME from a Secret of envFrom")
                }
                _ => "Dex does not work without it".to_owned(),
            };
            let message = format!("{of} requires the setting `{name}`");
            self.check.invalid_auth(route.clone(), message, help);
        }
    }

    fn setting(&mut self, name: &str, shape: &Value, value: &Value, route: &Route) {
        let expected = match (shape, value) {
            (Value::String(shape), _) if shape == "secret" => return self.secret(value, route),
            (Value::String(shape), Value::Bool(_)) if shape == "flag" => return,
            (Value::String(shape), _) if shape == "flag" => "true or false",
            (Value::String(shape), Value::String(text)) => return self.text(text, shape, route),
            (Value::Object(fields), Value::Object(config)) => {
                return self.fields(config, fields, name, route);
            }
            (Value::Array(shapes), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    for shape in shapes {
                        self.setting(name, shape, item, &below(route, [index]));
                    }
                }
                return;
            }
            (Value::Object(_), _) => "a mapping",
            (Value::Array(_), _) => "a list",
            _ => "a text",
        };
        let message = format!("{} must be {expected}", setting_name(route));
        let help = "Dex does not start with another type; quote it if it is text";
        self.check.invalid_auth(route.clone(), message, help);
    }

    fn text(&mut self, text: &str, shape: &str, route: &Route) {
        self.free_of_secrets(text, route);
        // The value of a variable is unknown here.
        if !values::dollars(text).is_empty() {
            return;
        }
        let is_at = |callback: &str| {
            text.strip_prefix(callback).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let doubtful = Code::DoubtfulConnector;
        match (shape, self.callback) {
            ("callback", Some(callback)) if !is_at(callback) => self.check.found.report(
                doubtful,
                route.clone(),
                "the redirectURI is not that of this Dex",
                format!("remove it for `{callback}`, and register that with the provider"),
            ),
            ("base64", _) if STANDARD.decode(text).is_err() => self.check.invalid_auth(
                route.clone(),
                format!("{} is no base64", setting_name(route)),
                "write PEM certificates in base64, such as `base64 -w0 ca.pem` prints",
            ),
            ("file", _) if text.starts_with('/') => self.check.found.report(
                doubtful,
                route.clone(),
                format!("Dex's pod has no file {text}"),
                "give certificates inline, where the connector has a setting for that, or mount the file by a \
                 template of your own",
            ),
            (words, _) if words.contains('|') && !words.split('|').any(|word| word == text) => {
                let help = format!("write one of {}", words.replace('|', ", "));
                self.check.invalid_auth(route.clone(), format!("unknown value `{text}`"), help);
            }
            _ => {}
        }
    }

    /// Reports a secret in git without quoting it.
    fn secret(&mut self, value: &Value, route: &Route) {
        match value.as_str() {
            Some(text) if values::is_variable(text) => self.free_of_secrets(text, route),
            _ => self.check.found.report(
                Code::SecretInGit,
                route.clone(),
                format!("{} is a secret in git", setting_name(route)),
                "move it to a Secret in envFrom, and write its key as `$NAME`; rotate it if it was pushed",
            ),
        }
    }

    /// Checks that a text has no password in a URL, and no `$` that Dex would expand by accident.
    fn free_of_secrets(&mut self, text: &str, route: &Route) {
        if values::has_password(text) {
            let message = "a URL with a password is in git";
            let help = "move the whole URL to a Secret in envFrom, and write its key as `$NAME`";
            self.check.found.report(Code::SecretInGit, route.clone(), message, help);
        }
        for dollar in values::dollars(text) {
            match dollar {
                // The name is not shown, because it may be a secret that begins with a dollar.
                DollarMeaning::Variable(_) if !self.has_environment => self.check.invalid_auth(
                    route.clone(),
                    "nothing sets this environment variable",
                    "add its Secret: `envFrom: [NAME]`",
                ),
                DollarMeaning::Variable(_) => {}
                DollarMeaning::Vanishing(next) => self.check.invalid_auth(
                    route.clone(),
                    format!("Dex would replace `${next}` by an empty text"),
                    "move the whole value to a Secret in envFrom, and write its key as `$NAME`",
                ),
            }
        }
    }

    /// Checks settings whose meaning is known to Dex alone, for secrets.
    fn unknown(&mut self, value: &Value, route: &Route) {
        match value {
            Value::Object(config) => {
                for (key, value) in config {
                    let route = below(route, [key.as_str()]);
                    if values::sounds_secret(key) && !value.is_null() {
                        self.secret(value, &route);
                    } else {
                        self.unknown(value, &route);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.unknown(item, &below(route, [index]));
                }
            }
            Value::String(text) => self.free_of_secrets(text, route),
            _ => {}
        }
    }
}

/// Returns the name of the setting at the end of a route.
fn setting_name(route: &Route) -> String {
    match route.last() {
        Some(RouteStep::Key(name)) => format!("`{name}`"),
        _ => "an entry of the list".to_owned(),
    }
}

/// Returns whether a setting is missing. Dex treats an empty text as missing.
fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}
