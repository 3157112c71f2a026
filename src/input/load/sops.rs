//! Texts encrypted with SOPS.

use regex::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What SOPS adds to a document, as far as it tells which values are encrypted. SOPS uses one of the
/// four rules.
#[derive(Deserialize)]
pub(crate) struct SopsMetadata {
    #[serde(rename = "mac")]
    _mac: IgnoredAny,
    unencrypted_suffix: Option<String>,
    encrypted_suffix: Option<String>,
    unencrypted_regex: Option<String>,
    encrypted_regex: Option<String>,
}

impl SopsMetadata {
    /// Returns whether the rules leave a value readable, by the keys that lead to it.
    pub(crate) fn leaves_readable(&self, keys: [&str; 2]) -> bool {
        let ends = |suffix: &String| keys.iter().any(|key| key.ends_with(suffix.as_str()));
        // A rule that cannot be read leaves nothing readable.
        let matches = |pattern: &String| {
            Regex::new(pattern).ok().map(|regex| keys.iter().any(|key| regex.is_match(key)))
        };
        self.unencrypted_suffix.as_ref().is_some_and(ends)
            || self.encrypted_suffix.as_ref().is_some_and(|suffix| !ends(suffix))
            || self.unencrypted_regex.as_ref().and_then(matches) == Some(true)
            || self.encrypted_regex.as_ref().and_then(matches) == Some(false)
    }
}

/// The start of an encrypted value.
const VALUE: &str = "ENC[";

/// Returns whether a value is encrypted.
pub(crate) fn is_encrypted(value: &str) -> bool {
    value.trim_start().starts_with(VALUE)
}

/// Returns whether a file is encrypted, by the metadata that sops adds.
pub(crate) fn is_encrypted_file(text: &str) -> bool {
    let mentions = |words: &str| memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some();
    // A cheap check before anything is parsed.
    if !mentions("sops") || !mentions(VALUE) {
        return false;
    }
    if text.trim_start().starts_with('{') {
        let file = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
        return file.get("sops").is_some_and(|own| own.get("mac").is_some());
    }
    let starts = ["sops:", "sops_mac=", "[sops]"];
    text.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_file_has_what_sops_adds() {
        for (text, expected) in [
            ("a: ENC[x]\nsops:\n    mac: ENC[y]\n", true),
            (r#"{"data": "ENC[x]", "sops": {"mac": "ENC[y]"}}"#, true),
            (r#"{"networks": ["ENC[x]"], "sops": {"mac": "ENC[y]"}}"#, true),
            ("networkData=ENC[x]\nsops_mac=ENC[y]\n", true),
            ("[default]\nkey = ENC[x]\n\n[sops]\nmac = ENC[y]\n", true),
            ("a: b # sops: ENC[x]\n", false),
            (r#"{"networks": []}"#, false),
        ] {
            assert_eq!(is_encrypted_file(text), expected, "{text}");
        }
    }
}
