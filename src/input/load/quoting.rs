//! Decides which parts of a file may be shown in a message. Possible secrets are never shown.
//!
//! Below a key that suggests a secret, only the key is shown. For a syntax error the meaning of the
//! text is unknown, so at most a key is shown.

use std::ops::Range;

use crate::base::finding::position::RouteStep;
use crate::base::text::{credentials, static_regex};

/// Parts of keys, in lower case and without dashes, that suggest a secret.
const SECRET_NAMES: [&str; 17] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "bindpw",
    "secret",
    "token",
    "privatekey",
    "sshkey",
    "authorizedkey",
    "credential",
    "userdata",
    "apikey",
    "bmc",
    "hash",
    "stringdata",
    "binarydata",
];

/// Words of keys that suggest a secret, but only as whole words, because other words contain them.
const SECRET_WORDS: [&str; 2] = ["pw", "pass"];

/// Keys with settings of an identity provider below them. Only the provider knows which settings
/// are secrets.
const GUARDED: [&str; 3] = ["connectors", "config", "staticClients"];

/// The minimum length of a word, in letters, that may be a misspelling of one in [`SECRET_NAMES`].
const MISSPELT: usize = 4;

/// Returns whether a route passes a key below which any value may be a secret.
pub(super) fn is_guarded(route: &[RouteStep]) -> bool {
    route.iter().filter_map(RouteStep::key).any(|key| GUARDED.contains(&key))
}

/// Returns whether the value of a route may be a secret, judged by its keys. A host's references are
/// not secret, and the address of a BMC is judged by its value.
pub(super) fn is_secret_route(route: &[RouteStep]) -> bool {
    let keys = || route.iter().filter_map(RouteStep::key);
    // The address is judged by its value, and the name of a Secret is not secret.
    if keys().eq(["spec", "bmc", "address"]) || keys().eq(["spec", "bmc", "credentialsName"]) {
        return false;
    }
    // `data` holds the values of Secrets and ConfigMaps.
    route.first().and_then(RouteStep::key) == Some("data") || keys().any(has_secret_word)
}

/// Returns whether a route leads to the object's name or namespace.
pub(super) fn is_name(route: &[RouteStep]) -> bool {
    let steps = route.iter().map(RouteStep::key);
    let is = |field| steps.clone().eq([Some("metadata"), Some(field)]);
    is("name") || is("namespace")
}

fn has_secret_word(text: &str) -> bool {
    let plain: String = text.to_lowercase().replace(['-', '_', ' '], "");
    SECRET_NAMES.iter().any(|word| plain.contains(word))
        || is_secret_word(&plain)
        || words(text).iter().any(|word| is_secret_word(word))
}

/// Returns the words of a text in lower case. `clientSecret` has two.
fn words(text: &str) -> Vec<String> {
    let boundary = static_regex!(r"(\p{Lowercase})(\p{Uppercase})");
    let text = boundary.replace_all(text, "$1 $2").to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
}

/// Returns whether a word suggests a secret, even if misspelled: `secert`, `pasword`, `tokn`.
fn is_secret_word(word: &str) -> bool {
    let is_slip = |known: &str| {
        known.len() > MISSPELT
            && word.len().abs_diff(known.len()) <= 1
            && word.len() >= MISSPELT
            && strsim::osa_distance(word, known) <= 1
    };
    SECRET_WORDS.contains(&word) || SECRET_NAMES.iter().any(|known| is_slip(known))
}

/// Returns whether an unparsable text contains a Secret of some kind.
fn is_secret_manifest(document: &str) -> bool {
    static_regex!(r#"kind["' ]*:.{0,73}Secret"#).is_match(document)
}

/// Returns whether a value on one line, as written, has no secret by itself: no key, token or login.
pub(super) fn is_harmless(written: &str) -> bool {
    // An escape can hide any character.
    let is_escaped = written.starts_with('"') && written.contains('\\');
    let has_user = written.split("://").skip(1).any(|rest| rest.contains('@'));
    // A login without a scheme, such as `user:password@registry`, but not `image:tag@sha256:…`. Its
    // password may contain a space.
    let has_login = written
        .match_indices('@')
        .any(|(at, _)| written[..at].contains(':') && !written[at + 1..].starts_with("sha"));
    let has_credential = has_user || has_login || credentials::found(written, false).is_some();
    // A name such as `edge-password` refers to a Secret. With a separator, a value may follow.
    let is_name = !written.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '{' | '['));
    (is_name || !has_secret_word(written))
        && !is_escaped
        && !has_credential
        && !written.contains("ENC[")
        && !credentials::is_random(written)
}

/// Returns whether a line to be shown has no credential, not even behind an escape.
pub(super) fn is_shown(line: &str) -> bool {
    let is_escaped = line.contains('"') && line.contains("\\x");
    !is_escaped && credentials::found(line, false).is_none()
}

/// Returns whether a line belongs to a Secret or a private key, or has a password as its value. For
/// files that people write.
pub(crate) fn is_of_secret(text: &str, line: Range<usize>) -> bool {
    let document = document_around(text, &line);
    let (before, own) = (&text[document.start..line.start], &text[line.clone()]);
    let is_in_key = before.rfind("-----BEGIN ").is_some_and(|begin| {
        before[begin..].contains("PRIVATE KEY") && !before[begin..].contains("-----END ")
    });
    let (key, value) = own.split_once(':').unwrap_or((own, ""));
    let last = words(key.trim_end_matches(['"', '\''])).pop().unwrap_or_default();
    let is_password =
        matches!(last.as_str(), "password" | "passwd" | "pwd" | "token" | "passphrase");
    is_in_key || is_password && !value.trim().is_empty() || is_secret_manifest(&text[document])
}

/// Returns the range of the document around a line. A text may have thousands of documents.
fn document_around(text: &str, line: &Range<usize>) -> Range<usize> {
    let start = text[..line.start].rfind("\n---").map_or(0, |before| before + 1);
    let end = text[line.end..].find("\n---").map_or(text.len(), |end| line.end + end);
    start..end
}

fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

/// Returns the key of the entry at an offset, for a line that may not be shown as a whole.
pub(super) fn entry_key(text: &str, line: Range<usize>, at: usize) -> Option<Range<usize>> {
    const QUOTES: [char; 2] = ['"', '\''];
    let rest = &text[at..line.end.max(at)];
    let quotes = rest.len() - rest.trim_start_matches(QUOTES).len();
    let behind = rest[quotes..].trim_start_matches(is_key_character);
    // Otherwise the offset is in the value behind the key.
    let end = if behind.trim_start_matches(QUOTES).starts_with(':') {
        at + rest.len() - behind.len()
    } else {
        let before = text[line.start..at].trim_end();
        line.start + before.strip_suffix(':')?.trim_end_matches(QUOTES).len()
    };
    let start = line.start + text[line.start..end].trim_end_matches(is_key_character).len();
    let before = text[line.start..start].trim_end_matches(QUOTES).trim_end_matches(' ');
    let begins =
        before.ends_with(['{', ',']) || before.chars().all(|c| matches!(c, ' ' | '-' | '\t'));
    let document = &text[document_around(text, &line)];
    let is_shown = begins && start < end && !is_secret_manifest(document);
    (is_shown && is_harmless(&text[start..end])).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_not_harmless_with_a_scheme_or_without() {
        for login in [
            "http://reg.example.com/x?a=b@c",
            "http://a:b@reg/x",
            "\"a:b@reg/x\"",
            "image: a:b@reg:5000/x",
        ] {
            assert!(!is_harmless(login), "{login}");
        }
        for other in ["reg:5000/x:1@sha256:0123456789abcdef", "a@b.example", "git@example.com:a/b"]
        {
            assert!(is_harmless(other), "{other}");
        }
    }

    #[test]
    fn a_key_tells_with_a_slip_of_the_finger() {
        for key in
            ["secert", "clientSecert", "pasword", "tokn", "pw", "rootPw", "db_pwd", "private-key"]
        {
            assert!(has_secret_word(key), "{key}");
        }
        for key in ["topologyKey", "nodePort", "power", "selector", "compass", "network"] {
            assert!(!has_secret_word(key), "{key}");
        }
    }

    #[test]
    fn nothing_of_a_secret_is_shown() {
        let text =
            "kind: Host\nx: 1\n---\nkind: Secret\ny: 1\n---\n{\"kind\": \"Secret\",\n\"z\": 1}\n";

        let key = |line: &str| {
            let start = text.find(line).unwrap();
            entry_key(text, start..start + line.len(), start).map(|key| &text[key])
        };

        assert_eq!(key("x: 1"), Some("x"));
        assert_eq!(key("y: 1"), None);
        assert_eq!(key("\"z\": 1}"), None);
    }

    #[test]
    fn what_may_be_a_secret_is_told_by_its_looks() {
        for value in [
            "30443",
            "bmc-secret",
            "quay.io/airshipit/jump-host:latest",
            "https://idp.example.com/dex",
            "path: ./hosts",
        ] {
            assert!(is_harmless(value), "{value}");
        }
        for written in ["\"https:\\x2f/me:hunter2\"", "me:hun ter2@registry.example/x"] {
            assert!(!is_harmless(written), "{written}");
        }
        for value in [
            "a password",
            "https://me:x@idp.example.com",
            "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5",
            "ENC[AES]",
            "BEGIN PRIVATE KEY",
        ] {
            assert!(!is_harmless(value), "{value}");
        }
    }
}
