//! Properties of texts, independent of their meaning.
//!
//! * `bytes`: searches bytes.
//! * `credentials`: finds and masks credentials.
//! * `embedded`: built-in templates.
//! * `suggest`: suggests a name for an unknown one.
//! * `visible`: escapes invisible characters.
//! * `yaml`: reads YAML within limits, fast in the usual style.

pub(crate) mod bytes;
pub(crate) mod credentials;
pub(crate) mod embedded;
pub(crate) mod repo_url;
pub(crate) mod suggest;
mod tokens;
pub(crate) mod visible;
pub(crate) mod yaml;

use std::fmt::Display;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use regex::Regex;

/// Quotes a name as one word for a shell.
pub fn in_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// Encodes a path as a part of a URL (RFC 3986). `allowed` are further characters that stay: a colon may
/// end the scheme.
pub(crate) fn in_url(path: &str, allowed: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(byte);
    let mut encoded = String::new();
    for byte in path.bytes() {
        match is_plain(&byte) || allowed.contains(&byte) {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Compiles a literal pattern; tests use every literal.
#[expect(clippy::unwrap_used, reason = "only for literals, which tests use")]
pub(crate) fn pattern(literal: &'static str) -> Regex {
    Regex::new(literal).unwrap()
}

/// Returns the regex of a literal pattern, which is compiled once, at its first use.
macro_rules! static_regex {
    ($literal:expr $(,)?) => {{
        static REGEX: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::base::text::pattern($literal));
        &*REGEX
    }};
}
pub(crate) use static_regex;

/// Replaces the expressions between `open` and `close` in a template; `None` if one has no value.
pub(crate) fn expanded(
    template: &str,
    open: &str,
    close: &str,
    value: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, expression)) = rest.split_once(open) {
        let (expression, after) = expression.split_once(close)?;
        text.push_str(before);
        text.push_str(&value(expression)?);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// Returns an optional text, unless it is empty.
pub(crate) fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Returns a key in a JSON pointer (RFC 6901) as it is in the object.
pub(crate) fn pointer_key(escaped: &str) -> String {
    escaped.replace("~1", "/").replace("~0", "~")
}

/// Returns whether git has written the conflicts of a merge into a text.
pub(crate) fn has_conflicts(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

/// Decodes base64 of a text, which YAML may fold into lines.
pub(crate) fn from_base64(encoded: &str) -> Option<String> {
    let decode = |text: &str| BASE64_STANDARD.decode(text).ok();
    let unfolded = || encoded.split_ascii_whitespace().collect::<String>();
    let decoded = decode(encoded).or_else(|| decode(&unfolded()))?;
    String::from_utf8(decoded).ok()
}

/// Returns whether a text has characters that make it a glob.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

/// Lists known names in a message about an unknown one.
pub fn known_names(names: &[impl Display], most: usize) -> String {
    if names.is_empty() { "none".to_owned() } else { abbreviated(names, most) }
}

/// Lists the first `most` names, and counts the others.
pub(crate) fn abbreviated(names: impl IntoIterator<Item = impl Display>, most: usize) -> String {
    let mut names = names.into_iter();
    let shown = joined(names.by_ref().take(most), ", ");
    match names.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Joins the texts of values, with a separator between them.
pub fn joined(values: impl IntoIterator<Item = impl Display>, separator: &str) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(separator)
}

/// Formats a number of hosts. It is a lower bound if there `may_be_more`.
pub fn lower_bound(hosts: impl Display, may_be_more: bool) -> String {
    let bound = if may_be_more { "at least " } else { "" };
    format!("{bound}{hosts}")
}

/// Formats a subject with its verb: `host a is`, `2 hosts, a among them, are`.
pub(crate) fn subject_with_first(count: usize, noun: &str, first: impl Display) -> String {
    match count {
        1 => format!("{noun} {first} is"),
        _ => format!("{}, {first} among them, are", counted(count, noun)),
    }
}

/// Formats the first of some things, and counts the others: `a and 2 more files`.
pub(crate) fn with_others(first: impl Display, others: usize, noun: &str) -> String {
    match others {
        0 => first.to_string(),
        _ => format!("{first} and {}", counted(others, noun)),
    }
}

/// Formats a count with its noun: `1 host`, `2 hosts`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_may_be_folded_in_any_way() {
        for encoded in ["c2lwZ2Vu", "c2lw\nZ2Vu\n", " c2lw\tZ2Vu", "c2lw\rZ2Vu"] {
            assert_eq!(from_base64(encoded).as_deref(), Some("sipgen"), "{encoded:?}");
        }
        assert_eq!(from_base64("c2lw!"), None);
    }

    #[test]
    fn a_path_becomes_a_reference_that_leads_back_to_it() {
        let path = "sites/größe 1/a%b:c.yaml";

        assert_eq!(in_url(path, b""), "sites/gr%C3%B6%C3%9Fe%201/a%25b%3Ac.yaml");
        assert_eq!(in_url("a:b", b":"), "a:b");
    }
}
