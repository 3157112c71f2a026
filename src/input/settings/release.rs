//! Versions of sipgen.

use derive_more::Display;
use schemars::JsonSchema;
use serde::Deserialize;

/// A released version of sipgen. Earlier ones are less than later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Display)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9]+\\.[0-9]+\\.[0-9]+$", "examples" = ["0.2.0"]))]
#[schemars(rename = "Release")]
#[display("{}.{}.{}", _0[0], _0[1], _0[2])]
pub struct ReleasedVersion([u32; 3]);

impl ReleasedVersion {
    /// Returns the version of this program. A pre-release counts as the release that it precedes.
    pub(crate) fn own() -> Option<Self> {
        let version = env!("CARGO_PKG_VERSION");
        version.split(['-', '+']).next()?.to_owned().try_into().ok()
    }
}

impl TryFrom<String> for ReleasedVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |part: &str| {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| is_number)
        };
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        numbers
            .and_then(|numbers| Some(Self(numbers.try_into().ok()?)))
            .ok_or_else(|| format!("`{text}` is not a version such as `0.2.0`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_numbers() {
        let release = |text: &str| ReleasedVersion::try_from(text.to_owned()).unwrap();
        assert!(release("0.9.12") < release("0.10.0"));
        assert!(release("1.0.0") > release("0.99.99"));
        assert_eq!(release("0.2.0").to_string(), "0.2.0");
        assert!(ReleasedVersion::own().is_some());
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in
            ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "1.2.+3", "1..3", "99999999999.0.0"]
        {
            assert!(ReleasedVersion::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
