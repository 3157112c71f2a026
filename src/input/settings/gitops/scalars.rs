//! Validated strings in the settings of agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::api::names::{NAMESPACE_PATTERN, Namespace};
use crate::base::text::visible::is_hidden;
use crate::base::text::{credentials, repo_url, static_regex};

/// Prefix of the names of a site's objects: a DNS label, short enough to keep the rest of a name
/// readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("maxLength" = SiteName::LONGEST, "pattern" = NAMESPACE_PATTERN))]
pub struct SiteName(pub(super) Namespace);

impl SiteName {
    const LONGEST: usize = 20;

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl TryFrom<String> for SiteName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse() {
            Ok(label) if text.len() <= Self::LONGEST => Ok(Self(label)),
            _ => Err(format!(
                "`{}` is not a name of at most {} lowercase letters, digits and dashes",
                text.escape_debug(),
                Self::LONGEST
            )),
        }
    }
}

/// A duration in Flux's format: `10m`, `1h30m`, `500ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend(
    "pattern" = r"^(?=.*[1-9])([0-9]+(\.[0-9]+)?(ms|s|m|h))+$",
    "patternErrorMessage" = "Write a duration greater than 0, such as 10m or 1h30m"
))]
pub struct Duration(pub(super) String);

/// A string without whitespace, such as a branch or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = r"^\S+$"))]
#[schemars(rename = "Word")]
pub struct WordSetting(pub(super) String);

/// The URL of a repo, without credentials, because it is written to git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend(
    "pattern" = r"^(?!(?!ssh://).*://[^/]*@|ssh://[^/@]*:[^/]*@)\S+$",
    "patternErrorMessage" = "Write the URL of the repo in one word, without user or password"
))]
pub struct RepoUrl(WordSetting);

impl Duration {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Duration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if !static_regex!(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$").is_match(&text) {
            return Err(format!("invalid duration `{text}`; write one such as `10m` or `1h30m`"));
        }
        if !text.contains(|c: char| matches!(c, '1'..='9')) {
            return Err(format!("`{text}` must be greater than 0; write a duration such as `10m`"));
        }
        Ok(Self(text))
    }
}

impl TryFrom<String> for WordSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = |c: char| !c.is_whitespace() && !is_hidden(c);
        if text.is_empty() || !text.chars().all(is_plain) {
            // The value is not shown, because a URL that is cut at a blank may have a password.
            return Err("the text is empty, or has whitespace or invisible characters".to_owned());
        }
        if let Some(credential) = credentials::found(&text, false) {
            return Err(format!(
                "the text has {credential} in it; Argo CD reads credentials from a Secret"
            ));
        }
        Ok(Self(text))
    }
}

impl RepoUrl {
    /// The URL.
    pub fn as_str(&self) -> &str {
        self.0.0.as_str()
    }

    /// Returns whether a URL leads to the same repo.
    pub fn is_same_repo(&self, url: &str) -> bool {
        repo_url::is_same_repo(self.as_str(), url)
    }
}

impl TryFrom<String> for RepoUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let authority =
            text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
        let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
        let is_ssh = text.starts_with("ssh://");
        if user.is_some_and(|user| !is_ssh || user.contains(':')) {
            // The value is not shown, because it is a secret.
            return Err(
                "the URL has a user or password; Argo CD reads them from a Secret".to_owned()
            );
        }
        WordSetting::try_from(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_one_of_flux() {
        for good in ["10m", "1h30m", "500ms", "1.5h", "0h1s"] {
            assert!(Duration::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "10", "m", "10 m", "1d", "-1m", "1.m", ".5m", "1.2.3m", "10m ", "0s", "1mm"]
        {
            assert!(Duration::try_from(bad.to_owned()).is_err(), "{bad:?} must be refused");
        }
    }

    #[test]
    fn the_url_of_a_repo_has_no_password() {
        for good in [
            "https://git.example.com/fleet.git",
            "git@git.example.com:fleet.git",
            "ssh://git@a.example/b",
        ] {
            assert!(RepoUrl::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a b",
            "https://u:not-a-secret@a.example/b",
            "https://u:not-a-secret a@a.example/b",
            "https://token@a.example/b",
            "ssh://u:p@a/b",
            "https://a.example/b?token=not-a-secret",
            "u:not-a-secret@a.example:b",
            "https://a.example/ghp_not0a0secret0not0a0secret",
        ] {
            let refused = RepoUrl::try_from(bad.to_owned()).unwrap_err();
            assert!(!refused.contains("not-a-secret"), "{refused}");
        }
    }
}
