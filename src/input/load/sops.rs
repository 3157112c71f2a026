//! Texts encrypted with SOPS.

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
    text.lines().any(|line| line.starts_with("sops:") || line.starts_with("sops_mac="))
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
            ("a: b # sops: ENC[x]\n", false),
            (r#"{"networks": []}"#, false),
        ] {
            assert_eq!(is_encrypted_file(text), expected, "{text}");
        }
    }
}
