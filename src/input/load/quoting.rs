//! Decides which parts of a file may be shown in a message. Possible secrets are never shown.
//!
//! For a route to a node, the rest of its line is shown only if the line cannot contain a secret.
//! Below a key that suggests a secret, only the key is shown. For a syntax error the meaning of the
//! text is unknown, so a line is shown only if it and all lines above it in the hierarchy look
//! harmless.

use std::ops::Range;

use crate::base::finding::position::RouteStep;
use crate::base::text::credentials;

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
    route.iter().any(|step| matches!(step, RouteStep::Key(key) if GUARDED.contains(&key.as_str())))
}

/// Returns whether an unparsable text contains a key below which any value may be a secret.
fn guards(text: &str) -> bool {
    // The `config` in `kustomize.config.k8s.io` is not a key.
    text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_' | '/'))
        .any(|word| GUARDED.contains(&word))
}

/// Returns whether the value of a route may be a secret, judged by its keys. A host's references are
/// not secret, and the address of a BMC is judged by its value.
pub(super) fn is_secret_route(route: &[RouteStep]) -> bool {
    let key = |step: Option<&RouteStep>| match step {
        Some(RouteStep::Key(key)) => Some(key.clone()),
        _ => None,
    };
    let keys = || route.iter().filter_map(|step| key(Some(step)));
    // The address is judged by its value, and the name of a Secret is not secret.
    if keys().eq(["spec", "bmc", "address"]) || keys().eq(["spec", "bmc", "credentialsName"]) {
        return false;
    }
    // `data` holds the values of Secrets and ConfigMaps.
    key(route.first()).is_some_and(|key| key == "data") || keys().any(|key| has_secret_word(&key))
}

/// Returns whether a route leads to the object's name or namespace.
pub(super) fn is_name(route: &[RouteStep]) -> bool {
    let is = |step: &RouteStep, key: &str| matches!(step, RouteStep::Key(own) if own == key);
    matches!(route, [metadata, field] if is(metadata, "metadata") && (is(field, "name") || is(field, "namespace")))
}

fn has_secret_word(text: &str) -> bool {
    let plain: String = text.to_lowercase().replace(['-', '_', ' '], "");
    SECRET_NAMES.iter().any(|word| plain.contains(word))
        || is_secret_word(&plain)
        || words(text).any(|word| is_secret_word(&word))
}

/// Returns the words of a text in lower case. `clientSecret` has two.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        if !c.is_alphanumeric() || before.is_lowercase() && c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.into_iter()
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
    let mut kinds = document
        .match_indices("kind")
        .map(|(at, _)| document[at + "kind".len()..].lines().next())
        .map(|rest| rest.unwrap_or_default().trim_start_matches(['"', '\'', ' ']));
    kinds.any(|rest| {
        rest.starts_with(':') && rest.chars().take(80).collect::<String>().contains("Secret")
    })
}

/// Returns whether a value by itself has no secret: no key, token or login.
pub(super) fn is_harmless(value: &str) -> bool {
    let has_user = value.split("://").skip(1).any(|rest| rest.contains('@'));
    // A login without a scheme, such as `user:password@registry`, but not `image:tag@sha256:…`.
    let has_login = value.match_indices('@').any(|(at, _)| {
        let before = value[..at]
            .rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '{' | '[' | ','))
            .next();
        before.is_some_and(|before| before.contains(':')) && !value[at + 1..].starts_with("sha")
    });
    let has_credential = has_user || has_login || credentials::found(value, false).is_some();
    // A name such as `edge-password` refers to a Secret. With a separator, a value may follow.
    let is_name = !value.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '{' | '['));
    (is_name || !has_secret_word(value))
        && !has_credential
        && !value.contains("ENC[")
        && !credentials::is_random(value)
}

/// Returns whether a scalar, as written, has no secret by itself. It may have several lines and
/// escapes.
pub(super) fn is_harmless_scalar(written: &str) -> bool {
    // An escape can hide any character. A login may contain a space.
    let is_escaped = written.starts_with('"') && written.contains('\\');
    let logs_in = written.split_once('@').is_some_and(|(before, behind)| {
        before.contains(':') && before.contains(char::is_whitespace) && !behind.starts_with("sha")
    });
    is_harmless(written)
        && !is_escaped
        && !logs_in
        && (!written.contains('\n') || is_harmless(&unwrapped(written)))
}

/// Returns whether a line to be shown has no credential, not even behind an escape.
pub(super) fn is_shown(line: &str) -> bool {
    let is_escaped = line.contains('"') && line.contains("\\x");
    !is_escaped && credentials::found(line, false).is_none()
}

/// Joins the lines of a scalar.
fn unwrapped(lines: &str) -> String {
    lines.lines().map(|line| line.trim().trim_end_matches('\\')).collect()
}

/// The numbers of lines before and after a line that may belong to the same scalar, and of bytes to
/// check in each.
const WRAPPED: usize = 6;
const WRAPPED_BYTES: usize = 400;

/// Returns whether a line contains a part of a credential that continues on lines around it. `line`
/// is its range in the text.
pub(super) fn is_part_of_credential(text: &str, line: Range<usize>) -> bool {
    let first_bytes = |line: &str| line[..line.floor_char_boundary(WRAPPED_BYTES)].to_owned();
    let mut before: Vec<String> =
        text[..line.start].lines().rev().take(WRAPPED).map(first_bytes).collect();
    before.reverse();
    let behind =
        text.get(line.end..).unwrap_or_default().lines().skip(1).take(WRAPPED).map(first_bytes);
    let lines: Vec<String> =
        before.into_iter().chain([first_bytes(&text[line])]).chain(behind).collect();
    // A cheap check first: every URL, query and login contains one of these.
    let opens = |line: &String| {
        line.contains("//") || memchr::memchr2(b'?', b'@', line.as_bytes()).is_some()
    };
    if !lines.iter().any(opens) {
        return false;
    }
    // A credential within one line does not concern the lines around it.
    let is_alone = |line: &String| credentials::found(line, false).is_some();
    credentials::found(&unwrapped(&lines.join("\n")), false).is_some()
        && !lines.iter().any(is_alone)
}

/// Returns whether the text before a node on its line opens the brackets that contain the node. All
/// of the line then belongs together.
pub(super) fn opens(before: &str) -> bool {
    let Some(first) = before.find(['{', '[']) else {
        return before.trim_start_matches([' ', '-']).is_empty();
    };
    let mut depth = 0;
    before[first..].chars().all(|c| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        depth > 0
    })
}

/// The maximum size in bytes of a document that is checked in full before one of its lines is
/// shown.
const LARGEST: usize = 1 << 16;

/// Returns whether the line of a syntax error may be shown. `line` is its range in the file's text.
pub(super) fn may_show_line(text: &str, line: Range<usize>, is_yaml: bool) -> bool {
    let shown = &text[line.clone()];
    // The line by itself.
    if !is_harmless_scalar(shown) || is_part_of_credential(text, line.clone()) {
        return false;
    }
    // Other formats have no parents that could tell more.
    if !is_yaml {
        return true;
    }
    let document = document_around(text, &line);
    if document.len() > LARGEST {
        return false;
    }
    // After a syntax error the nesting of a line is uncertain, so any line before it may be its
    // parent.
    if is_secret_manifest(&text[document.clone()])
        || !has_key(shown)
        || guards(&text[document.start..line.end])
    {
        return false;
    }
    // Flow style has no indentation that shows the parents of a line.
    if text[document.clone()].trim_start_matches("---").trim_start().starts_with(['{', '[']) {
        return !guards(&text[document.clone()]) && text[document].lines().all(is_harmless);
    }
    let (mut indent, mut is_item) = (indent_of(shown), is_item_of_list(shown));
    for above in text[document.start..line.start].lines().rev() {
        let body = above.trim_start();
        // The key of a list may have the same indentation as the dashes.
        let is_above = indent_of(above) < indent
            || indent_of(above) == indent
                && is_item
                && body.ends_with(':')
                && !is_item_of_list(above);
        if body.is_empty() || body.starts_with('#') || !is_above {
            continue;
        }
        if has_secret_word(above)
            || matches!(body, "data:" | "networkData:")
            // A block scalar may contain anything.
            || body.ends_with(['|', '>', '-', '+'])
        {
            return false;
        }
        (indent, is_item) = (indent_of(above), is_item_of_list(above));
    }
    true
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
    let last = words(key.trim_end_matches(['"', '\''])).last().unwrap_or_default();
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

fn is_item_of_list(line: &str) -> bool {
    line.trim_start().starts_with('-')
}

/// Returns the indentation of a line. A tab is deeper than any spaces, so that all lines above may
/// be its parents.
fn indent_of(line: &str) -> usize {
    let body = line.trim_start_matches(' ');
    if body.starts_with('\t') { usize::MAX } else { line.len() - body.len() }
}

/// Returns whether a line starts with a key. Any other line may continue a value from above.
fn has_key(line: &str) -> bool {
    let body = line.trim_start_matches([' ', '-', '{', '[', '\t']);
    let end = body.find(':').unwrap_or(0);
    let key = body[..end].trim_matches(['"', '\'']);
    !key.is_empty() && key.chars().all(is_key_character)
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
    let begins = before.ends_with(['{', ',']) || before.chars().all(|c| matches!(c, ' ' | '-'));
    let document = &text[document_around(text, &line)];
    let is_shown = begins && start < end && !is_secret_manifest(document);
    (is_shown && is_harmless(&text[start..end])).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(text: &str, line: &str) -> bool {
        let start = text.find(line).unwrap();
        may_show_line(text, start..start + line.len(), true)
    }

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
        for other in
            ["reg:5000/x:1@sha256:0123456789abcdef", "mail: a@b.example", "git@example.com:a/b"]
        {
            assert!(is_harmless(other), "{other}");
        }
    }

    #[test]
    fn a_line_is_shown_only_if_nothing_above_it_tells() {
        let text = "kind: Host\nspec:\n  bmc:\n    address: x\n  online: [\n  sshKeys:\n  - a: b\n  auth: |\n    x: y\n";

        assert!(shows(text, "  online: ["));
        assert!(shows(text, "spec:"));
        assert!(!shows(text, "    address: x"));
        assert!(!shows(text, "  - a: b"));
        assert!(!shows(text, "    x: y"));
    }

    #[test]
    fn nothing_is_shown_behind_what_may_have_secrets_under_any_key() {
        let text =
            "kind: SIPCluster\nspec:\n  nodes: [\n  auth:\n  - connectors:\n    - id: [\n  x: y\n";

        assert!(shows(text, "  nodes: ["));
        for line in ["  - connectors:", "    - id: [", "  x: y"] {
            assert!(!shows(text, line), "{line}");
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

        assert!(shows(text, "x: 1"));
        assert!(!shows(text, "y: 1"));
        assert!(!shows(text, "\"z\": 1}"));
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
            assert!(is_harmless(value) && is_harmless_scalar(value), "{value}");
        }
        for written in [
            "https://me:hun\n  ter2@idp.example.com",
            "\"https://me:hun\\\n  ter2@idp.example.com\"",
            "redfish://bmc.example/x?to\n  ken=x",
            "\"https:\\x2f/me:hunter2\"",
            "me:hun ter2@registry.example/x",
        ] {
            assert!(!is_harmless_scalar(written), "{written}");
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

    #[test]
    fn a_line_between_the_parts_of_a_credential_is_one() {
        let text = "a: 1\nurl: https://\n  me:hunter2\n  @git.example\nb: 2\n";
        for line in ["url: https://", "  me:hunter2", "  @git.example"] {
            let start = text.find(line).unwrap();
            assert!(is_part_of_credential(text, start..start + line.len()), "{line}");
        }
        let text = "mail: a@b.example\nurl: https://git.example\nimage: reg:5000/x\n";
        assert!(!is_part_of_credential(text, 0..17));
    }

    #[test]
    fn a_line_belongs_together_where_it_opens_its_brackets() {
        for before in ["", "  - ", "count: {standby: 1, ", "- {name: x, "] {
            assert!(opens(before), "{before}");
        }
        for before in ["hunter2, ", "x: [hunter2], ", "{a: b}, {"] {
            assert!(!opens(before), "{before}");
        }
    }
}
