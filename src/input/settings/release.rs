//! Versions of sipgen.

use std::str::FromStr;

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

/// The text is not a version.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a version such as `0.2.0`")]
pub struct NotARelease(String);

impl ReleasedVersion {
    /// Returns the version of this program. A pre-release counts as the release that it precedes.
    pub(crate) fn own() -> Option<Self> {
        let version = env!("CARGO_PKG_VERSION");
        version.split(['-', '+']).next()?.parse().ok()
    }
}

impl FromStr for ReleasedVersion {
    type Err = NotARelease;

    fn from_str(text: &str) -> Result<Self, NotARelease> {
        let number = |part: &str| {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| is_number)
        };
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        numbers
            .and_then(|numbers| Some(Self(numbers.try_into().ok()?)))
            .ok_or_else(|| NotARelease(text.to_owned()))
    }
}

impl TryFrom<String> for ReleasedVersion {
    type Error = NotARelease;

    fn try_from(text: String) -> Result<Self, NotARelease> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_numbers() {
        let release = |text: &str| text.parse::<ReleasedVersion>().unwrap();
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
            assert!(text.parse::<ReleasedVersion>().is_err(), "{text}");
        }
    }
}
