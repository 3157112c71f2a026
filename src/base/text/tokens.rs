//! Finds access tokens in texts by their form.

use std::ops::Range;

/// The maximum length in bytes of a JSON Web Token's header.
const LONGEST_HEAD: usize = 1024;

/// Prefixes of access tokens, and the minimum number of characters after each.
const TOKENS: [(&str, usize); 31] = [
    // GitHub.
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    // GitLab.
    ("glpat-", 12),
    ("gldt-", 12),
    ("glrt-", 12),
    ("glcbt-", 12),
    ("glptt-", 12),
    ("glagent-", 12),
    // Slack.
    ("xoxa-", 8),
    ("xoxb-", 8),
    ("xoxe-", 8),
    ("xoxp-", 8),
    ("xoxr-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    // npm and PyPI.
    ("npm_", 30),
    ("pypi-", 30),
    // Docker Hub.
    ("dckr_pat_", 16),
    // HashiCorp Vault.
    ("hvs.", 20),
    // DigitalOcean.
    ("dop_v1_", 30),
    // Google.
    ("AIza", 30),
    ("ya29.", 16),
    // Stripe.
    ("sk_live_", 16),
    ("rk_live_", 16),
    // age, which SOPS uses.
    ("AGE-SECRET-KEY-1", 20),
    // AWS.
    ("AKIA", 16),
    ("ASIA", 16),
];

/// Returns the places of access tokens in a text.
pub(super) fn token_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let bytes = text.as_bytes();
    let (mut from, mut next) = (0, 0);
    for word in bytes.split(|byte| !byte.is_ascii_alphanumeric()) {
        let at = next;
        next += word.len() + 1;
        if at < from || !word.first_chunk().is_some_and(|pair| may_begin_token(*pair)) {
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

/// Returns whether one of the prefixes in [`TOKENS`], or `eyJ`, begins with two bytes.
fn may_begin_token(pair: [u8; 2]) -> bool {
    matches!(
        &pair,
        b"gh"
            | b"gi"
            | b"gl"
            | b"xo"
            | b"xa"
            | b"np"
            | b"py"
            | b"dc"
            | b"do"
            | b"hv"
            | b"AI"
            | b"ya"
            | b"sk"
            | b"rk"
            | b"AG"
            | b"AK"
            | b"AS"
            | b"ey"
    )
}

/// Returns the length of the prefix if a text starts with an access token, otherwise 0.
fn token(text: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let fits = |(prefix, least): &&(&str, usize)| {
        // Comparing the first bytes is much faster than calling `memcmp` for all prefixes.
        if text.first() != prefix.as_bytes().first() {
            return false;
        }
        let Some(rest) = text.strip_prefix(prefix.as_bytes()) else {
            return false;
        };
        let is_long = rest.len() >= *least && rest[..*least].iter().all(is_part);
        // Key ids of AWS have a fixed length and no lower case.
        let is_aws = matches!(*prefix, "AKIA" | "ASIA");
        let is_upper = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        is_long
            && (!is_aws
                || rest[..*least].iter().all(is_upper) && !rest.get(*least).is_some_and(is_part))
    };
    if let Some((prefix, _)) = TOKENS.iter().find(fits) {
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
        for (prefix, _) in TOKENS.iter().chain(&[("eyJ", 0)]) {
            assert!(may_begin_token([prefix.as_bytes()[0], prefix.as_bytes()[1]]), "{prefix}");
        }
    }
}
