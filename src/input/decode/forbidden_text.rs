//! Texts that must not reach a file, in any field of a request. Findings show no part of them.

use std::convert::Infallible;

use yaml_serde::Value;

use crate::base::api::sipcluster;
use crate::base::finding::{Code, Finding, Origin, RouteStep, each_text};
use crate::base::layout;
use crate::base::text::credentials::{self, Credential};
use crate::base::text::visible::is_hidden;

/// Reports forbidden texts in the spec of a kind.
pub(crate) fn forbidden_texts(spec: &Value, kind: &str, origin: &Origin) -> Vec<Finding> {
    let mut found = Vec::new();
    let Ok(()) = each_text::<Infallible>(spec, &mut vec!["spec".into()], &mut |text, route| {
        let finding = |(code, message, help): (Code, &str, &str)| {
            let is_credential = code == Code::SecretInGit;
            let message = match route.last() {
                // The last step is the text itself if the text is a key.
                Some(RouteStep::Key(field))
                    if is_credential && field != text && is_field(field) =>
                {
                    message.replacen("the text", &format!("`{field}`"), 1)
                }
                _ => message.to_owned(),
            };
            Finding::new(code, message).at(origin.at(route.to_vec())).help(help)
        };
        found.extend(reason(text, kind, route).map(finding));
        Ok(())
    });
    found
}

/// Returns whether a key looks like a field name, and not like a text in the wrong place.
fn is_field(key: &str) -> bool {
    key.len() <= 30 && key.chars().all(|c| c.is_ascii_alphabetic())
}

/// Fields below which URLs usually have a query: OAuth callbacks, and settings of identity
/// providers for Dex.
const WITH_QUERY: [&str; 2] = ["redirectURIs", "connectors"];

fn is_below(route: &[RouteStep], keys: &[&str]) -> bool {
    route.iter().filter_map(RouteStep::key).any(|key| keys.contains(&key))
}

fn reason(
    text: &str,
    kind: &str,
    route: &[RouteStep],
) -> Option<(Code, &'static str, &'static str)> {
    let is_from_environment = "read it from a Secret of the base cluster, or in a connector from an environment variable; rotate it if it \
         was pushed";
    let secret = |message, help| Some((Code::SecretInGit, message, help));
    match credentials::found(text, is_below(route, &WITH_QUERY)) {
        found if found == Some(Credential::PrivateKey) || text.contains("PRIVATE KEY-----") => {
            secret(
                "a private key must not be in git",
                "put it into a Secret of the base cluster and reference that; replace the key if it was pushed",
            )
        }
        Some(Credential::User) if is_below(route, &["connectors"]) => secret(
            "a URL with a password must not be in git",
            "put the whole URL into a Secret that `envFrom` names, and write its key as `$NAME`",
        ),
        Some(Credential::User) => {
            secret("the text has a user or a password in a URL", is_from_environment)
        }
        Some(Credential::Query) => secret(
            "the text has a URL with a query, which may be a secret",
            "remove the query from the URL; read tokens from a Secret of the base cluster",
        ),
        Some(Credential::Token) => {
            secret("the text looks like an access token", is_from_environment)
        }
        _ if text.contains(layout::VARIABLE) => Some((
            Code::VariableInText,
            "the text has `${`, which Flux would substitute",
            if kind == sipcluster::KIND {
                "write the value itself, or give it in `postBuild.substitute` of the Flux Kustomization; in a connector, write `$NAME` for an \
                 environment variable of Dex"
            } else {
                "write the value itself, or give it in `postBuild.substitute` of the Flux Kustomization"
            },
        )),
        _ if text.contains(is_invisible) => Some((
            Code::InvisibleCharacter,
            "the text has an invisible character, which some YAML parsers refuse",
            "type the text again; such characters come from copying",
        )),
        _ => None,
    }
}

fn is_invisible(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\r' | '\t')
}
