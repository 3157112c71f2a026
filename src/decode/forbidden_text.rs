//! Texts that must not reach a file, whatever field of a request they stand in. Not even a part of them is shown.

use yaml_serde::Value;

use crate::api::sipcluster;
use crate::finding::{Code, Finding, Origin, Step};
use crate::layout;
use crate::text::credentials::{self, Credential};
use crate::text::visible::is_hidden;

/// What is wrong with the texts of the spec of a kind.
pub(crate) fn unwritable(spec: &Value, kind: &str, origin: &Origin) -> Vec<Finding> {
    let mut found = Vec::new();
    collect(spec, &mut vec!["spec".into()], &mut |text, route| {
        let finding = |(code, message, help): (Code, &str, &str)| {
            let is_credential = matches!(code, Code::CredentialInUrl | Code::TokenInText);
            let message = match route.last() {
                // The text is the key itself where it stands in one.
                Some(Step::Key(field)) if is_credential && field != text && is_field(field) => {
                    message.replacen("the text", &format!("`{field}`"), 1)
                }
                _ => message.to_owned(),
            };
            Finding::new(code, message)
                .at(origin.at(route.to_vec()))
                .help(help)
        };
        found.extend(reason(text, kind, route).map(finding));
    });
    found
}

/// Returns whether a key looks like the name of a field, and not like a text that somebody has put there.
fn is_field(key: &str) -> bool {
    key.len() <= 30 && key.chars().all(|c| c.is_ascii_alphabetic())
}

/// Fields below which a URL usually has a query: where a client is called back, and what Dex asks of an identity provider.
const WITH_QUERY: [&str; 2] = ["redirectURIs", "connectors"];

fn is_below(route: &[Step], keys: &[&str]) -> bool {
    route
        .iter()
        .any(|step| matches!(step, Step::Key(key) if keys.contains(&key.as_str())))
}

fn reason(text: &str, kind: &str, route: &[Step]) -> Option<(Code, &'static str, &'static str)> {
    let is_from_environment = "take it from a Secret of the base cluster, a connector from an environment variable; and set a new one if this one \
         was pushed";
    let credential = credentials::found(text, is_below(route, &WITH_QUERY));
    if text.contains("PRIVATE KEY-----") || credential == Some(Credential::PrivateKey) {
        Some((
            Code::SecretInGit,
            "a private key does not belong into git",
            "put it into a Secret of the base cluster, and name that; make a new key if this one was pushed",
        ))
    } else if credential == Some(Credential::User) && is_below(route, &["connectors"]) {
        Some((
            Code::SecretInGit,
            "a password in a URL does not belong into git",
            "put the whole URL into a Secret that envFrom names, and write its key as `$NAME`",
        ))
    } else if credential == Some(Credential::User) {
        Some((
            Code::CredentialInUrl,
            "the text has a user or a password in a URL",
            is_from_environment,
        ))
    } else if credential == Some(Credential::Query) {
        Some((
            Code::CredentialInUrl,
            "the text has a URL with a query, which may be a secret",
            "write the URL without what is behind `?`; a token comes from a Secret of the base cluster",
        ))
    } else if credential == Some(Credential::Token) {
        Some((
            Code::TokenInText,
            "the text looks like an access token",
            is_from_environment,
        ))
    } else if text.contains(layout::VARIABLE) {
        Some((
            Code::VariableInText,
            "the text has `${` in it, and Flux would put a variable there",
            if kind == sipcluster::KIND {
                "sipgen knows no variables: write the value itself; or in a connector's settings `$NAME`, for a \
                 variable of Dex's"
            } else {
                "sipgen knows no variables: write the value itself"
            },
        ))
    } else if text.contains(is_invisible) {
        Some((
            Code::InvisibleCharacter,
            "the text has a character that cannot be seen, and that not every reader of YAML takes",
            "write the text anew by hand; such characters come along when it is copied",
        ))
    } else {
        None
    }
}

fn is_invisible(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\r' | '\t')
}

/// Hands over every text, the keys of mappings included, with the route to it.
fn collect(value: &Value, route: &mut Vec<Step>, take: &mut impl FnMut(&str, &[Step])) {
    match value {
        Value::String(text) => take(text, route),
        Value::Mapping(map) => {
            for (key, value) in map {
                let Some(key) = key.as_str() else { continue };
                route.push(key.into());
                take(key, route);
                collect(value, route, take);
                route.pop();
            }
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                route.push(index.into());
                collect(item, route, take);
                route.pop();
            }
        }
        _ => {}
    }
}
