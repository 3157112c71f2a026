//! Finds credentials in texts: user information and queries in URLs, access tokens, private keys.
//!
//! Printed text is masked generously. Text for git is rejected if [`found`] reports a credential,
//! so that function tolerates what belongs in a URL.

use std::borrow::Cow;
use std::ops::Range;

use super::tokens::token_ranges;

/// The type of a credential in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub(crate) enum Credential {
    /// A user or password, in a URL or an image name.
    #[display("a user or a password in a URL")]
    User,
    /// A query in a URL, or a fragment in the form of a query.
    #[display("a query in a URL")]
    Query,
    /// An access token, recognized by its form.
    #[display("an access token")]
    Token,
    /// A private key.
    #[display("a private key")]
    PrivateKey,
}

/// The assumed end of a URL in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// The next whitespace, quote or bracket.
    Word,
    /// The end of the text, because YAML may have folded a line break within the URL to a space.
    Text,
}

/// The maximum length in bytes of a login that continues after whitespace.
const LONGEST_LOGIN: usize = 300;

/// The replacement for a credential.
const MASK: char = '…';

/// The markers of a private key in PEM.
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY: &str = "PRIVATE KEY";
const KEY_ENDS: &str = "-----END ";

/// Words in parameter names that suggest a secret.
const SECRET_NAMES: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "apikey",
    "accesskey",
    "credential",
    "signature",
    "sig",
    "auth",
    "key",
];

/// Masks credentials in a message that contains more than one value.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    without(text, &spans(text, Extent::Word))
}

/// Masks credentials in a single value, with everything after each: a value folded from two lines
/// contains a space.
pub(crate) fn masked_value(text: &str) -> Cow<'_, str> {
    let mut spans = spans(text, Extent::Text);
    spans.extend(assigned(text));
    without(text, &spans)
}

/// Returns the first credential in a text. With `query`, a URL may have a query, unless a parameter
/// in it suggests a secret.
pub(crate) fn found(text: &str, query: bool) -> Option<Credential> {
    rejected(text, query).first().map(|(_, credential)| *credential)
}

fn rejected(text: &str, query: bool) -> Vec<(Range<usize>, Credential)> {
    let mut spans = spans(text, Extent::Word);
    spans.retain(|(range, credential)| {
        *credential != Credential::Query || !query || has_secret_name(&text[range.clone()])
    });
    spans
}

/// Masks in a line of a file what [`found`] rejects.
pub(crate) fn masked_line(line: &str) -> Cow<'_, str> {
    without(line, &rejected(line, true))
}

/// Masks in the lines of a file what [`found`] rejects, and private keys of several lines.
pub(crate) fn masked_lines(text: &str) -> String {
    let mut keys = Vec::new();
    key_spans(text, &mut keys);
    without(text, &keys).split_inclusive('\n').map(masked_line).collect()
}

fn without<'a>(text: &'a str, spans: &[(Range<usize>, Credential)]) -> Cow<'a, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut ranges: Vec<Range<usize>> = spans.iter().map(|(range, _)| range.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.end <= at {
            continue;
        }
        // Overlapping ranges share one mask.
        if range.start >= at {
            out.push_str(&text[at..range.start]);
            out.push(MASK);
        }
        at = range.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

fn spans(text: &str, extent: Extent) -> Vec<(Range<usize>, Credential)> {
    let mut spans = Vec::new();
    // Cheap checks first, because most texts have none of these characters.
    let has = |byte| memchr::memchr(byte, text.as_bytes()).is_some();
    if text.contains("//") {
        url_spans(text, extent, &mut spans);
    }
    let has_at = has(b'@');
    if has_at || has(b'?') {
        word_spans(text, extent, &mut spans);
    }
    if has_at && text.contains(char::is_whitespace) {
        wrapped_login_spans(text, &mut spans);
    }
    spans.extend(token_ranges(text).into_iter().map(|range| (range, Credential::Token)));
    key_spans(text, &mut spans);
    spans
}

/// Finds user information and queries after `//`.
fn url_spans(text: &str, extent: Extent, spans: &mut Vec<(Range<usize>, Credential)>) {
    let (mut from, mut is_quoted) = (0, false);
    while let Some(at) = text[from..].find("//").map(|at| from + at) {
        let start = at + 2;
        // Each backtick starts or ends a quoted value.
        is_quoted ^= text[from..start].matches('`').count() % 2 == 1;
        let end = match extent {
            Extent::Text => text.len(),
            // In a message, a value is between backticks and may contain spaces.
            Extent::Word if is_quoted => {
                text[start..].find('`').map_or(text.len(), |end| start + end)
            }
            Extent::Word => start + text[start..].find(is_end).unwrap_or(text.len() - start),
        };
        from = start;
        // `//` without a scheme may be a comment or part of a path.
        if !text[..at].ends_with(':') && !is_bare_authority(&text[start..end]) {
            continue;
        }
        // A login may continue after a space, which was a line break in YAML.
        let reach = start + text[start..].floor_char_boundary(LONGEST_LOGIN);
        let behind = &text[start..reach.max(end)];
        let login_end =
            behind.find(|c| matches!(c, '/' | '?' | '#') || is_end(c) && !c.is_whitespace());
        let wrapped =
            behind[..login_end.unwrap_or(behind.len())].rfind('@').map_or(end, |at| start + at);
        // Either the login ends within the word, or the URL continues after the space.
        let end = if wrapped < end {
            end
        } else {
            wrapped + text[wrapped..].find(is_end).unwrap_or(text.len() - wrapped)
        };
        let rest = &text[start..end];
        let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        // A password may contain a slash, where a URL parser would end the authority.
        let may_be_login = rest[..authority].contains(':');
        let login = rest[..authority].rfind('@').or_else(|| {
            let before_query =
                rest.find(['?', '#']).filter(|_| !may_be_login).unwrap_or(rest.len());
            rest[..before_query].rfind('@').filter(|_| may_be_login)
        });
        if let Some(login) = login.filter(|login| {
            !is_masked(&rest[..*login]) && !is_login_of_ssh(text, at, &rest[..*login])
        }) {
            spans.push((start..start + login, Credential::User));
        }
        let host = login.map_or(0, |login| login + 1);
        if let Some(query) = rest[host..].find(['?', '#']).map(|query| host + query + 1) {
            // A fragment without `=` is a position in a page.
            let is_query = rest[..query].ends_with('?') || rest[query..].contains('=');
            if is_query
                && query < rest.len()
                && !is_masked(&rest[query..])
                && !is_of_source(&rest[query..])
            {
                spans.push((start + query..end, Credential::Query));
            }
        }
        from = end;
    }
}

/// Returns whether text after `//` without a scheme is an authority rather than a comment: it has a
/// user.
fn is_bare_authority(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.contains('@') && !authority.contains(char::is_whitespace)
}

/// Returns whether a login is an SSH user without a password, which is not secret.
fn is_login_of_ssh(text: &str, colon: usize, login: &str) -> bool {
    let scheme = text[..colon].trim_end_matches(':');
    scheme.ends_with("ssh") && !login.contains(':')
}

/// Returns the texts between certain characters, with their offsets.
fn words(text: &str, is_end: fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    text.split(is_end).map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Finds logins and queries without a scheme: `user:password@registry/image`, `host?token=x`.
fn word_spans(text: &str, extent: Extent, spans: &mut Vec<(Range<usize>, Credential)>) {
    for (begin, word) in words(text, is_end) {
        if word.contains("//") {
            continue;
        }
        let colon = word.find(':').unwrap_or(word.len());
        let is_login = |at: &usize| {
            let behind = &word[at + 1..];
            // The digest of an image: `image:tag@sha256:…`.
            let is_digest = behind.starts_with("sha256:") || behind.starts_with("sha512:");
            let has_password = colon > 0 && colon + 1 < *at;
            has_password
                && !is_digest
                && behind.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | MASK))
        };
        let login = word.match_indices('@').map(|(at, _)| at).rev().find(is_login);
        if let Some(login) = login.filter(|login| !is_masked(&word[..*login])) {
            spans.push((begin..begin + login, Credential::User));
        }
        if let Some(query) = word.find('?').map(|query| query + 1) {
            let (host, parameters) = (&word[..query - 1], &word[query..]);
            let name = parameters.split('=').next().unwrap_or_default();
            let is_name = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.%[]".contains(c));
            // A question mark after other characters is punctuation.
            let is_host =
                host.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | ']'));
            if is_host && is_name && parameters.contains('=') && !is_of_source(parameters) {
                let end = if extent == Extent::Text { text.len() } else { begin + word.len() };
                spans.push((begin + query..end, Credential::Query));
            }
        }
    }
}

/// Finds a login without a scheme that YAML has folded: `user:pass word@registry/image`.
fn wrapped_login_spans(text: &str, spans: &mut Vec<(Range<usize>, Credential)>) {
    let mut begin = None;
    for (at, word) in words(text, is_end) {
        if word.is_empty() {
            continue;
        }
        let login = word.find('@').filter(|login| *login > 0 && !word[..*login].contains(':'));
        let is_host = |login: usize| {
            word[login + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        };
        if let (Some(begin), Some(login)) = (begin, login.filter(|login| is_host(*login))) {
            spans.push((begin..at + login, Credential::User));
        }
        let colon = word.find(':').filter(|colon| *colon > 0 && colon + 1 < word.len());
        begin = colon.filter(|_| !word.contains("//") && !word.contains('@')).map(|_| at);
    }
}

/// Returns whether a query is one of kustomize's for remote bases, such as `?ref=v1.2`.
fn is_of_source(query: &str) -> bool {
    query.split('&').all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        matches!(name, "ref" | "version" | "timeout" | "submodules")
            && value.chars().all(is_plain)
            && !is_random(value)
    })
}

/// Finds private keys, even without their end marker.
fn key_spans(text: &str, spans: &mut Vec<(Range<usize>, Credential)>) {
    // Dashes first: most texts are too short for a search that prepares itself.
    let begins = memchr::memchr_iter(b'-', text.as_bytes())
        .filter(|at| text.as_bytes()[*at..].starts_with(KEY_BEGINS.as_bytes()));
    let mut from = 0;
    for begin in begins {
        if begin < from {
            continue;
        }
        let at = begin + KEY_BEGINS.len();
        from = at;
        let kind = text[at..].split(['-', '\n', MASK]).next().unwrap_or_default();
        let Some(body) = kind.find(KEY).map(|key| at + key + KEY.len()) else { continue };
        let end = text[body..].find(KEY_ENDS).map_or(text.len(), |end| body + end);
        if !is_masked(&text[body..end]) {
            spans.push((body..end, Credential::PrivateKey));
        }
        from = end;
    }
}

/// Finds values in output of other programs: `password=x`, `token: x`, `Bearer x`.
fn assigned(text: &str) -> Vec<(Range<usize>, Credential)> {
    let mut spans = Vec::new();
    let mut before: Option<&str> = None;
    for (begin, word) in words(text, char::is_whitespace) {
        if word.is_empty() {
            continue;
        }
        let is_value = before.is_some_and(|before| {
            let name = before.trim_end_matches([':', '=', '"', '\'']);
            // The value of an HTTP header follows the authentication scheme.
            let is_scheme = matches!(before.to_ascii_lowercase().as_str(), "bearer" | "basic");
            is_scheme || name.len() < before.len() && is_secret_name(name)
        });
        if is_value {
            spans.push((begin..begin + word.len(), Credential::Token));
        } else if let Some(at) =
            word.find(['=', ':']).filter(|at| is_secret_name(&word[..*at]) && at + 1 < word.len())
        {
            spans.push((begin + at + 1..begin + word.len(), Credential::Token));
        }
        before = Some(word);
    }
    spans
}

/// Returns whether a query parameter's name or value suggests a secret.
fn has_secret_name(query: &str) -> bool {
    query.split(['&', ';']).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or(("", parameter));
        is_secret_name(name) || is_random(value)
    })
}

/// Returns whether a name suggests a secret: `access_token`, `X-Amz-Signature`, but not `author`.
fn is_secret_name(name: &str) -> bool {
    let plain = name.to_ascii_lowercase();
    let mut words = plain.split(|c: char| !c.is_ascii_alphanumeric());
    let joined: String = plain.chars().filter(char::is_ascii_alphanumeric).collect();
    words.any(|word| SECRET_NAMES.contains(&word))
        // The last four words are too short or common as endings: `monkey` ends in `key`.
        || SECRET_NAMES[..8].iter().any(|word| joined.ends_with(word))
}

/// Returns whether a text contains a run of characters that looks generated.
pub(crate) fn is_random(text: &str) -> bool {
    // Names of Kubernetes objects have no upper case, so they never match.
    let is_random = |run: &str| {
        let has = |of: fn(&char) -> bool| run.chars().any(|c| of(&c));
        run.len() >= 20
            && has(char::is_ascii_uppercase)
            && has(char::is_ascii_lowercase)
            && has(char::is_ascii_digit)
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '=')).any(is_random)
}

fn is_masked(text: &str) -> bool {
    text.trim_matches('-').trim_start().starts_with(MASK)
}

/// Returns whether a character ends a word that may be a URL.
fn is_end(c: char) -> bool {
    // Printed text marks its styles by noncharacters.
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '`' | '"' | '\'' | '<' | '>' | '(' | ')' | '{' | '}' | ',' | '\u{fdd0}'..='\u{fdef}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_queries_of_urls_are_masked() {
        for (text, expected) in [
            ("see https://me:pw@git.example/x now", "see https://…@git.example/x now"),
            ("https://token@git.example/x", "https://…@git.example/x"),
            ("https://me:a/b@git.example/x", "https://…@git.example/x"),
            ("//me:pw@git.example", "//…@git.example"),
            ("redfish://bmc/x?token=abc, or", "redfish://bmc/x?…, or"),
            ("https://a/b#access_token=x", "https://a/b#…"),
            ("https://a/b?c", "https://a/b?…"),
            ("rack https://me:hun ter2@git.example/x?y of", "rack https://…@git.example/x?… of"),
            ("image me:pw@reg:5000/x:1", "image …@reg:5000/x:1"),
            ("me:p w@reg/x", "…@reg/x"),
            ("bmc.example?token=abc", "bmc.example?…"),
            ("`https://a:b\n c@h/x?y z` and so on", "`https://…@h/x?…` and so on"),
            ("https://…@h/x?… stays", "https://…@h/x?… stays"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
            assert_eq!(masked(&masked(text)), expected, "once more: {text}");
        }
    }

    #[test]
    fn what_is_no_credential_stays() {
        for text in [
            "https://git.example/x.git",
            "git@git.example:fleet/site.git",
            "ssh://git@git.example/x",
            "quay.io/x/y:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "reg:5000/x:1@sha256:0123",
            "mail operator@lab.example.com",
            "did you mean `a`?",
            "52:54:00:12:34:56 2001:db8::1",
            "https://example.com/@me",
            "https://a/b#section",
            "https://a/b//base?ref=v1.2&timeout=90s",
            "ipmi://192.0.2.1:6230",
            "# a comment // of two",
            "AKIA, ghp_ and eyJ are no tokens",
        ] {
            assert_eq!(masked(text), text);
            assert_eq!(found(text, false), None, "{text}");
        }
    }

    #[test]
    fn tokens_and_private_keys_are_masked_by_their_form() {
        for (text, expected) in [
            ("ghp_abcdefghijklmnopqrst", "ghp_…"),
            ("x=glpat-abcdefghijklmno!", "x=glpat-…!"),
            ("key AKIAABCDEFGHIJKLMNOP", "key AKIA…"),
            ("xoxb-12345678-abc", "xoxb-…"),
            ("eyJhbGciOi.eyJzdWIiOi.c2ln", "eyJ…"),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
                "a -----BEGIN RSA PRIVATE KEY…-----END RSA PRIVATE KEY-----",
            ),
            ("-----BEGIN PRIVATE KEY----- MII", "-----BEGIN PRIVATE KEY…"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
            assert_eq!(masked(&masked(text)), expected, "once more: {text}");
        }
    }

    #[test]
    fn everything_behind_a_credential_in_one_value_goes() {
        for (text, expected) in [
            ("get https://bmc/x?token=ab cd failed", "get https://bmc/x?…"),
            ("get https://me:ab cd@bmc/x failed", "get https://…@bmc/x failed"),
            ("login failed: password=hunter2 for admin", "login failed: password=… for admin"),
            ("Authorization: Bearer abc", "Authorization: Bearer …"),
            ("token: abc is old", "token: … is old"),
            ("power management error", "power management error"),
        ] {
            assert_eq!(masked_value(text), expected, "{text}");
        }
    }

    #[test]
    fn a_query_is_a_credential_where_it_may_not_be_or_where_it_tells() {
        assert_eq!(found("https://a/cb?tenant=x", true), None);
        assert_eq!(found("https://a/cb?tenant=x", false), Some(Credential::Query));
        for query in [
            "access_token=x",
            "sig=x",
            "X-Amz-Signature=x",
            "a=b&clientSecret=x",
            "a=Abcdefghij0123456789",
        ] {
            assert_eq!(
                found(&format!("https://a/cb?{query}"), true),
                Some(Credential::Query),
                "{query}"
            );
        }
        assert_eq!(found("https://a/cb?author=x&keyboard=y", true), None);
        assert_eq!(found("https://u@a/cb?x=y", true), Some(Credential::User));
    }
}
