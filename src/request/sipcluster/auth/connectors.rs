//! Validates connectors.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::connector_types::{self, ConnectorSetting, KnownConnector, SettingShape};
use super::values::{self, DollarMeaning};
use crate::api::auth;
use crate::api::issuer::IssuerUrl;
use crate::finding::{Code, RouteStep};
use crate::request::service::auth::DexConnector;
use crate::request::sipcluster::{Route, SipclusterValidation, below};
use crate::text::suggest::alike;

/// Connector id of Dex's own password database.
const LOCAL: &str = "local";

/// A setting that, if enabled, admits unknown users or exposes passwords.
struct UnsafeSetting {
    /// Type of connector that has it.
    of: &'static str,
    name: &'static str,
    message: &'static str,
    help: &'static str,
}

const UNSAFE: [UnsafeSetting; 4] = [
    UnsafeSetting {
        of: "ldap",
        name: "insecureNoSSL",
        message: "passwords are sent to the directory in plain text",
        help: "use LDAPS or startTLS, with the directory's authority as rootCAData",
    },
    UnsafeSetting {
        of: "ldap",
        name: "insecureSkipVerify",
        message: "the directory's certificate is not verified: passwords can be intercepted",
        help: "remove it, and give the directory's authority as rootCAData",
    },
    UnsafeSetting {
        of: "oidc",
        name: "insecureSkipVerify",
        message: "the provider's certificate is not verified: logins can be forged",
        help: "remove it, and give the provider's authority under rootCAs",
    },
    UnsafeSetting {
        of: "saml",
        name: "insecureSkipSignatureValidation",
        message: "signatures of logins are not verified: logins can be forged",
        help: "remove it, and give the provider's certificate as caData",
    },
];

impl SipclusterValidation<'_> {
    /// Checks the connectors, and sets a missing `redirectURI` to this Dex's callback URL.
    pub(super) fn connectors(
        &mut self,
        entry: &auth::Auth,
        issuer: Option<&IssuerUrl>,
        has_environment: bool,
        route: &Route,
    ) -> Vec<DexConnector> {
        let route = below(route, ["connectors".into()]);
        let callback = issuer.map(|issuer| format!("{issuer}/callback"));
        let mut connectors: Vec<DexConnector> = Vec::new();
        for (index, connector) in entry.connectors.iter().flatten().enumerate() {
            let route = below(&route, [index.into()]);
            self.connector_names(connector, &connectors, &route);
            let mut config = connector.config.clone().unwrap_or_default();
            let config_route = if connector.config.is_some() {
                below(&route, ["config".into()])
            } else {
                route.clone()
            };
            match connector_types::known(&connector.kind) {
                Some(KnownConnector::Settings(fields)) => {
                    let has_callback = fields
                        .iter()
                        .any(|field| matches!(field.shape, SettingShape::Callback));
                    if let Some(callback) = callback
                        .as_ref()
                        .filter(|_| has_callback && is_empty(config.get("redirectURI")))
                    {
                        config.insert("redirectURI".to_owned(), callback.as_str().into());
                    }
                    let mut settings = ConnectorSettings {
                        check: self,
                        callback: callback.as_deref(),
                        has_environment,
                    };
                    settings.fields(&config, fields, &connector.kind, &config_route);
                    self.between_settings(&connector.kind, &config, &config_route);
                }
                Some(KnownConnector::Name) => {
                    let mut settings = ConnectorSettings {
                        check: self,
                        callback: callback.as_deref(),
                        has_environment,
                    };
                    settings.unknown(&Value::Object(config.clone()), &config_route);
                }
                None => self.unknown_type(&connector.kind, &route),
            }
            connectors.push(DexConnector {
                kind: connector.kind.clone(),
                id: connector.id.clone(),
                name: connector
                    .name
                    .clone()
                    .filter(|name| !name.is_empty())
                    .unwrap_or_else(|| connector.id.clone()),
                config,
            });
        }
        connectors
    }

    fn connector_names(
        &mut self,
        connector: &auth::Connector,
        before: &[DexConnector],
        route: &Route,
    ) {
        let id_route = || below(route, ["id".into()]);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if connector.id.is_empty() {
            self.report(
                Code::InvalidConnector,
                id_route(),
                "the connector has no id",
                "write an id for its URLs, such as `id: ldap`",
            );
        } else if !connector.id.chars().all(is_plain) {
            let help = "use letters, digits, `-`, `.` and `_`";
            self.report(
                Code::InvalidConnector,
                id_route(),
                "the connector's id is not valid in a URL",
                help,
            );
        } else if connector.id == LOCAL {
            self.report(
                Code::InvalidConnector,
                id_route(),
                format!("the id `{LOCAL}` is reserved by Dex"),
                "choose another id",
            );
        } else if before.iter().any(|other| other.id == connector.id) {
            let message = format!("two connectors have the id `{}`", connector.id);
            self.report(
                Code::InvalidConnector,
                id_route(),
                message,
                "choose another id: Dex would use only one of them",
            );
        }
        if matches!(connector.kind.as_str(), "mockCallback" | "mockPassword") {
            self.report(
                Code::UnsafeConnector,
                below(route, ["type".into()]),
                format!("the connector {} accepts unknown users", connector.kind),
                "remove it: it is for tests only",
            );
        }
    }

    fn unknown_type(&mut self, kind: &str, route: &Route) {
        if kind.is_empty() {
            let help = "write its type, such as `type: ldap`";
            self.report(
                Code::InvalidConnector,
                route.clone(),
                "the connector has no type",
                help,
            );
            return;
        }
        let help = match alike(kind, connector_types::names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!(
                "Dex knows {}",
                connector_types::names().collect::<Vec<_>>().join(", ")
            ),
        };
        self.report(
            Code::InvalidConnector,
            below(route, ["type".into()]),
            format!("Dex has no connector of type `{kind}`"),
            help,
        );
    }

    /// Checks Dex's rules for combinations of settings.
    fn between_settings(&mut self, kind: &str, config: &Map<String, Value>, route: &Route) {
        let has = |name: &str| !is_empty(config.get(name));
        let is_on = |name: &str| config.get(name) == Some(&Value::Bool(true));
        match kind {
            "saml" if !is_on("insecureSkipSignatureValidation") && has("ca") == has("caData") => {
                self.report(
                    Code::InvalidConnector,
                    below(route, ["caData".into()]),
                    "the connector cannot verify signatures: it requires either `ca` or `caData`",
                    "write the provider's certificate, PEM in base64, as `caData`",
                )
            }
            "github" if has("org") && has("orgs") => self.report(
                Code::InvalidConnector,
                below(route, ["org".into()]),
                "Dex does not start with both `org` and `orgs`",
                "write all organizations under `orgs`",
            ),
            "ldap" if has("bindDN") != has("bindPW") => self.report(
                Code::InvalidConnector,
                below(
                    route,
                    [if has("bindDN") { "bindDN" } else { "bindPW" }.into()],
                ),
                "`bindDN` or `bindPW` is missing: the directory would refuse the connector",
                "write both, or neither for anonymous access",
            ),
            _ => {}
        }
        for UnsafeSetting {
            name,
            message,
            help,
            ..
        } in UNSAFE
            .iter()
            .filter(|known| known.of == kind && is_on(known.name))
        {
            self.report(
                Code::UnsafeConnector,
                below(route, [(*name).into()]),
                *message,
                *help,
            );
        }
    }
}

/// Checks the settings of one connector.
struct ConnectorSettings<'c, 'k> {
    check: &'c mut SipclusterValidation<'k>,
    callback: Option<&'c str>,
    has_environment: bool,
}

impl ConnectorSettings<'_, '_> {
    fn fields(
        &mut self,
        config: &Map<String, Value>,
        fields: &[ConnectorSetting],
        of: &str,
        route: &Route,
    ) {
        for (key, value) in config {
            let route = below(route, [key.as_str().into()]);
            match fields.iter().find(|field| field.name == key) {
                Some(field) => self.setting(field, value, &route),
                None => {
                    let help = match alike(key, fields.iter().map(|field| field.name)) {
                        Some(name) => {
                            format!("did you mean `{name}`? Dex ignores unknown settings silently")
                        }
                        None => "remove it: Dex ignores unknown settings silently".to_owned(),
                    };
                    let message = format!("{of} has the unknown setting `{key}`");
                    self.check
                        .report_key(Code::InvalidConnector, route, message, help);
                }
            }
        }
        for field in fields
            .iter()
            .filter(|field| field.needed && is_empty(config.get(field.name)))
        {
            // A callback defaults to a URL of the issuer, so it is missing only if the issuer is
            // invalid. That has its own finding.
            if !matches!(field.shape, SettingShape::Callback) {
                let help = match field.shape {
                    SettingShape::Secret => format!(
                        "write `{}: $NAME`, with NAME from a Secret of envFrom",
                        field.name
                    ),
                    _ => "Dex does not work without it".to_owned(),
                };
                self.check.report(
                    Code::InvalidConnector,
                    route.clone(),
                    format!("{of} requires the setting `{}`", field.name),
                    help,
                );
            }
        }
    }

    fn setting(&mut self, field: &ConnectorSetting, value: &Value, route: &Route) {
        if is_empty(Some(value)) {
            return;
        }
        let fits = match (&field.shape, value) {
            (SettingShape::Secret, value) => {
                self.secret(value, route);
                true
            }
            (SettingShape::Fields(fields), Value::Object(config)) => {
                self.fields(config, fields, field.name, route);
                true
            }
            (SettingShape::List(fields), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let route = below(route, [index.into()]);
                    match item {
                        Value::Object(config) => self.fields(config, fields, field.name, &route),
                        _ => self.misfit("a mapping", &route),
                    }
                }
                true
            }
            (SettingShape::Texts | SettingShape::Files, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let route = below(route, [index.into()]);
                    match item {
                        Value::String(text) => self.text(text, &field.shape, &route),
                        _ => self.misfit("a text", &route),
                    }
                }
                true
            }
            (SettingShape::Flag, Value::Bool(_)) => true,
            (
                SettingShape::Text
                | SettingShape::Callback
                | SettingShape::Base64
                | SettingShape::File
                | SettingShape::OneOf(_),
                Value::String(text),
            ) => {
                self.text(text, &field.shape, route);
                true
            }
            _ => false,
        };
        if !fits {
            self.misfit(field.shape.describe(), route);
        }
    }

    fn misfit(&mut self, expected: &str, route: &Route) {
        let help = "Dex does not start with another type; quote it if it is text";
        self.check.report(
            Code::InvalidConnector,
            route.clone(),
            format!("{} must be {expected}", name_of(route)),
            help,
        );
    }

    fn text(&mut self, text: &str, shape: &SettingShape, route: &Route) {
        self.free_of_secrets(text, route);
        // The value of a variable is unknown here.
        if !values::dollars(text).is_empty() {
            return;
        }
        match shape {
            SettingShape::Callback => {
                let is_ours = |callback: &str| {
                    text.strip_prefix(callback)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                if let Some(callback) = self.callback.filter(|callback| !is_ours(callback)) {
                    let help =
                        format!("remove it for `{callback}`, and register that with the provider");
                    self.check.report(
                        Code::DoubtfulConnector,
                        route.clone(),
                        "the redirectURI is not that of this Dex",
                        help,
                    );
                }
            }
            SettingShape::OneOf(words) if !words.contains(&text) => {
                let help = format!("write one of {}", words.join(", "));
                self.check.report(
                    Code::InvalidConnector,
                    route.clone(),
                    format!("unknown value `{text}`"),
                    help,
                );
            }
            SettingShape::Base64 if STANDARD.decode(text).is_err() => {
                let help = "write PEM certificates in base64, such as `base64 -w0 ca.pem` prints";
                self.check.report(
                    Code::InvalidConnector,
                    route.clone(),
                    format!("{} is no base64", name_of(route)),
                    help,
                );
            }
            SettingShape::File | SettingShape::Files if text.starts_with('/') => {
                let help = "give certificates inline, where the connector has a setting for that, or mount the file \
                            by a template of your own";
                self.check.report(
                    Code::DoubtfulConnector,
                    route.clone(),
                    format!("Dex's pod has no file {text}"),
                    help,
                );
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
                format!("{} is a secret in git", name_of(route)),
                "move it to a Secret in envFrom, and write its key as `$NAME`; rotate it if it was pushed",
            ),
        }
    }

    /// Checks that a text has no password in a URL, and no `$` that Dex would expand by accident.
    fn free_of_secrets(&mut self, text: &str, route: &Route) {
        if values::has_password(text) {
            let help = "move the whole URL to a Secret in envFrom, and write its key as `$NAME`";
            self.check.report(
                Code::SecretInGit,
                route.clone(),
                "a URL with a password is in git",
                help,
            );
        }
        for dollar in values::dollars(text) {
            match dollar {
                // The name is not shown, because it may be a secret that begins with a dollar.
                DollarMeaning::Variable(_) if !self.has_environment => self.check.report(
                    Code::UnsetVariable,
                    route.clone(),
                    "nothing sets this environment variable",
                    "add its Secret: `envFrom: [NAME]`",
                ),
                DollarMeaning::Variable(_) => {}
                DollarMeaning::Vanishing(next) => self.check.report(
                    Code::InvalidConnector,
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
                    let route = below(route, [key.as_str().into()]);
                    if values::sounds_secret(key) && !value.is_null() {
                        self.secret(value, &route);
                    } else {
                        self.unknown(value, &route);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.unknown(item, &below(route, [index.into()]));
                }
            }
            Value::String(text) => self.free_of_secrets(text, route),
            _ => {}
        }
    }
}

impl SettingShape {
    fn describe(&self) -> &'static str {
        match self {
            SettingShape::Text
            | SettingShape::Secret
            | SettingShape::Callback
            | SettingShape::Base64
            | SettingShape::File
            | SettingShape::OneOf(_) => "a text",
            SettingShape::Flag => "true or false",
            SettingShape::Texts | SettingShape::Files => "a list of texts",
            SettingShape::Fields(_) => "a mapping",
            SettingShape::List(_) => "a list of mappings",
        }
    }
}

/// Returns the name of the setting at the end of a route.
fn name_of(route: &Route) -> String {
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
