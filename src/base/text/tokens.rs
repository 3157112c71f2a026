//! Finds access tokens in texts by their form.

use std::ops::Range;

/// The maximum length in bytes of a JSON Web Token's header.
const LONGEST_HEAD: usize = 1024;

/// Prefixes of access tokens, by the minimum number of characters after each.
const TOKENS: [(usize, &[&str]); 7] = [
    // GitHub.
    (16, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]),
    // GitLab.
    (12, &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glagent-"]),
    // Slack.
    (8, &["xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"]),
    // Docker Hub, Google and Stripe.
    (16, &["dckr_pat_", "ya29.", "sk_live_", "rk_live_"]),
    // npm, PyPI, DigitalOcean and Google.
    (30, &["npm_", "pypi-", "dop_v1_", "AIza"]),
    // HashiCorp Vault, and age, which SOPS uses.
    (20, &["hvs.", "AGE-SECRET-KEY-1"]),
    // Key ids of AWS, which have a fixed length and no lower case.
    (16, &AWS),
];
const AWS: [&str; 2] = ["AKIA", "ASIA"];

/// Returns the places of access tokens in a text.
pub(super) fn token_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let bytes = text.as_bytes();
    let (mut from, mut next) = (0, 0);
    for word in bytes.split(|byte| !byte.is_ascii_alphanumeric()) {
        let at = next;
        next += word.len() + 1;
        if at < from || !word.first_chunk().is_some_and(|pair| BEGINNINGS.contains(&pair)) {
            continue;
        }
        let Some(start) = at.checked_add(token(&bytes[at..])).filter(|start| *start > at) else {
            continue;
        };
        from = start + bytes[start..].iter().take_while(|byte| is_part(byte)).count();
        ranges.push(start..from);
    }
    ranges
}

/// The first two bytes of all prefixes in [`TOKENS`], and of `eyJ`.
const BEGINNINGS: [&[u8; 2]; 18] = [
    b"gh", b"gi", b"gl", b"xo", b"xa", b"np", b"py", b"dc", b"do", b"hv", b"AI", b"ya", b"sk",
    b"rk", b"AG", b"AK", b"AS", b"ey",
];

/// Returns the length of the prefix if a text starts with an access token, otherwise 0.
fn token(text: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let fits = |(least, prefix): &(usize, &str)| {
        // Comparing the first bytes is much faster than calling `memcmp` for all prefixes.
        if text.first() != prefix.as_bytes().first() {
            return false;
        }
        let Some(rest) = text.strip_prefix(prefix.as_bytes()) else {
            return false;
        };
        let is_long = rest.len() >= *least && rest[..*least].iter().all(is_part);
        let is_upper = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        is_long
            && (!AWS.contains(prefix)
                || rest[..*least].iter().all(is_upper) && !rest.get(*least).is_some_and(is_part))
    };
    let mut tokens = TOKENS.iter().flat_map(|(least, all)| all.iter().map(|it| (*least, *it)));
    if let Some((_, prefix)) = tokens.find(fits) {
        return prefix.len();
    }
    // A JSON Web Token: two base64 objects, which start with `{"`, and a signature.
    let object = |text: &[u8], most: usize| -> Option<usize> {
        if !text.starts_with(b"eyJ") {
            return None;
        }
        let length = text.iter().take(most).position(|byte| !is_part(byte) || *byte == b'.')?;
        (text[length] == b'.').then_some(length + 1)
    };
    let Some(body) = object(text, LONGEST_HEAD) else {
        return 0;
    };
    let signature = object(&text[body..], text.len()).and_then(|length| text.get(body + length));
    if signature.is_some_and(is_part) { "eyJ".len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_looked_for_where_they_may_begin() {
        for prefix in TOKENS.iter().flat_map(|(_, all)| *all).chain(&["eyJ"]) {
            assert!(BEGINNINGS.contains(&prefix.as_bytes().first_chunk().unwrap()), "{prefix}");
        }
    }
}
