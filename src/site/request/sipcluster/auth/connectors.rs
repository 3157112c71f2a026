//! Checks connectors by the settings of their types.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::values::{self, DollarMeaning};
use crate::base::api::JsonObject;
use crate::base::api::auth::{Auth, Connector};
use crate::base::api::connector_schema::SCHEMA;
use crate::base::api::issuer::IssuerUrl;
use crate::base::finding::{Code, Finding, RouteStep};
use crate::base::text::non_empty;
use crate::base::text::suggest::alike;
use crate::site::request::documents::RequestValidation;
use crate::site::request::sipcluster::{Route, below};

/// Connector id of Dex's own password database.
const LOCAL: &str = "local";

impl RequestValidation<'_, '_> {
    /// Checks the connectors, and sets a missing `redirectURI` to this Dex's callback URL.
    pub(super) fn connectors(
        &mut self,
        entry: &Auth,
        issuer: Option<&IssuerUrl>,
        route: &Route,
    ) -> Vec<Connector> {
        let route = below(route, ["connectors"]);
        let callback = issuer.map(|issuer| format!("{issuer}/callback"));
        let mut connectors: Vec<Connector> = Vec::new();
        for (index, connector) in entry.connectors.iter().flatten().enumerate() {
            let Connector { id, kind, config, .. } = connector;
            let route = below(&route, [index]);
            if let Some((message, help)) = id_mistake(id, &connectors) {
                self.invalid_auth(below(&route, ["id"]), message, help);
            }
            if matches!(kind.as_str(), "mockCallback" | "mockPassword") {
                let message = format!("the connector {kind} accepts unknown users");
                let help = "remove it: it is for tests only";
                self.report(Code::DoubtfulConnector, below(&route, ["type"]), message, help);
            }
            let config_route = below(&route, config.as_ref().map(|_| "config"));
            let mut config = config.clone().unwrap_or_default();
            let has_environment = entry.has_environment();
            let mut check =
                ConnectorCheck { check: self, callback: callback.as_deref(), has_environment };
            match SCHEMA.types.get(kind) {
                Some(Value::Object(fields)) => {
                    if let Some(callback) = &callback
                        && fields.contains_key("redirectURI!")
                        && is_empty(config.get("redirectURI"))
                    {
                        config.insert("redirectURI".to_owned(), callback.as_str().into());
                    }
                    check.fields(&config, fields, kind, &config_route);
                    check.between_settings(kind, &config, &config_route);
                }
                Some(_) => check.unknown(&Value::Object(config.clone()), &config_route),
                None => self.unknown_type(kind, &route),
            }
            let name = Some(non_empty(&connector.name).unwrap_or(id).to_owned());
            connectors.push(Connector { name, config: Some(config), ..connector.clone() });
        }
        connectors
    }

    fn unknown_type(&mut self, kind: &str, route: &Route) {
        if kind.is_empty() {
            let help = "write its type, such as `type: ldap`";
            return self.invalid_auth(route.clone(), "the connector has no type", help);
        }
        let names = || SCHEMA.types.keys().map(String::as_str);
        let help = match alike(kind, names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("Dex knows {}", names().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("Dex has no connector of type `{kind}`");
        self.invalid_auth(below(route, ["type"]), message, help);
    }
}

/// Returns message and help for an invalid id of a connector.
fn id_mistake(id: &str, before: &[Connector]) -> Option<(String, &'static str)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if id.is_empty() || !id.chars().all(is_plain) {
        let help = "write letters, digits, `-`, `.` and `_`, such as `id: ldap`";
        return Some(("the connector has no id that is valid in a URL".to_owned(), help));
    }
    if id == LOCAL {
        return Some((format!("the id `{LOCAL}` is reserved by Dex"), "choose another id"));
    }
    let help = "choose another id: Dex would use only one of them";
    let is_used = before.iter().any(|other| other.id == *id);
    is_used.then(|| (format!("two connectors have the id `{id}`"), help))
}

/// Checks one connector.
struct ConnectorCheck<'c, 'd, 'i> {
    check: &'c mut RequestValidation<'d, 'i>,
    callback: Option<&'c str>,
    has_environment: bool,
}

impl ConnectorCheck<'_, '_, '_> {
    fn invalid(&mut self, route: &Route, message: impl Into<String>, help: impl Into<String>) {
        self.check.invalid_auth(route.clone(), message, help);
    }

    fn doubtful(&mut self, route: &Route, message: impl Into<String>, help: impl Into<String>) {
        self.check.report(Code::DoubtfulConnector, route.clone(), message, help);
    }

    /// Checks Dex's rules for combinations of settings.
    fn between_settings(&mut self, kind: &str, config: &JsonObject, route: &Route) {
        let has = |name: &str| !is_empty(config.get(name));
        let is_on = |name: &str| config.get(name) == Some(&Value::Bool(true));
        let mistake = match kind {
            "saml" if !is_on("insecureSkipSignatureValidation") && has("ca") == has("caData") => {
                Some((
                    "caData",
                    "the connector cannot verify signatures: it requires either `ca` or `caData`",
                    "write the provider's certificate, PEM in base64, as `caData`",
                ))
            }
            "github" if has("org") && has("orgs") => Some((
                "org",
                "Dex does not start with both `org` and `orgs`",
                "write all organizations under `orgs`",
            )),
            "ldap" if has("bindDN") != has("bindPW") => Some((
                if has("bindDN") { "bindDN" } else { "bindPW" },
                "`bindDN` or `bindPW` is missing: the directory would refuse the connector",
                "write both, or neither for anonymous access",
            )),
            _ => None,
        };
        if let Some((setting, message, help)) = mistake {
            self.invalid(&below(route, [setting]), message, help);
        }
        for flag in &SCHEMA.r#unsafe {
            if flag.r#type == kind && is_on(&flag.setting) {
                self.doubtful(&below(route, [flag.setting.as_str()]), &flag.message, &flag.help);
            }
        }
    }

    fn fields(&mut self, config: &JsonObject, fields: &JsonObject, of: &str, route: &Route) {
        for (key, value) in config {
            let route = below(route, [key.as_str()]);
            let shape = fields.get(key).or_else(|| fields.get(&format!("{key}!")));
            match shape {
                Some(_) if is_empty(Some(value)) => {}
                Some(shape) => self.setting(key, shape, value, &route),
                None => {
                    let names = fields.keys().map(|name| name.trim_end_matches('!'));
                    let remedy = alike(key, names).map(|name| format!("did you mean `{name}`?"));
                    let remedy = remedy.as_deref().unwrap_or("remove it:");
                    let help = format!("{remedy} Dex ignores unknown settings silently");
                    let message = format!("{of} has the unknown setting `{key}`");
                    let place = self.check.document.origin.key(route);
                    let finding = Finding::new(Code::InvalidAuth, message).at(place).help(help);
                    self.check.findings.push(finding);
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
            self.invalid(route, message, help);
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
        self.invalid(route, message, help);
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
        match (shape, self.callback) {
            ("callback", Some(callback)) if !is_at(callback) => self.doubtful(
                route,
                "the redirectURI is not that of this Dex",
                format!("remove it for `{callback}`, and register that with the provider"),
            ),
            ("base64", _) if STANDARD.decode(text).is_err() => self.invalid(
                route,
                format!("{} is no base64", setting_name(route)),
                "write PEM certificates in base64, such as `base64 -w0 ca.pem` prints",
            ),
            ("file", _) if text.starts_with('/') => self.doubtful(
                route,
                format!("Dex's pod has no file {text}"),
                "give certificates inline, where the connector has a setting for that, or mount the file by a \
                 template of your own",
            ),
            (words, _) if words.contains('|') && !words.split('|').any(|word| word == text) => {
                let help = format!("write one of {}", words.replace('|', ", "));
                self.invalid(route, format!("unknown value `{text}`"), help);
            }
            _ => {}
        }
    }

    /// Reports a secret in git without quoting it.
    fn secret(&mut self, value: &Value, route: &Route) {
        match value.as_str() {
            Some(text) if values::is_variable(text) => self.free_of_secrets(text, route),
            _ => self.check.report(
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
            self.check.report(Code::SecretInGit, route.clone(), message, help);
        }
        for dollar in values::dollars(text) {
            match dollar {
                // The name is not shown, because it may be a secret that begins with a dollar.
                DollarMeaning::Variable(_) if !self.has_environment => self.invalid(
                    route,
                    "nothing sets this environment variable",
                    "add its Secret: `envFrom: [NAME]`",
                ),
                DollarMeaning::Variable(_) => {}
                DollarMeaning::Vanishing(next) => self.invalid(
                    route,
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
