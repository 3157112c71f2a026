//! Settings of connectors, from Dex's types (`connector/*` in its source, v2.45).
//!
//! Dex publishes no schema of them. A test compares them with the types of this version.

use SettingShape::{Base64, Callback, Fields, File, Files, Flag, List, OneOf, Secret, Text, Texts};

/// A setting of a connector.
#[derive(Debug)]
pub(super) struct ConnectorSetting {
    pub(super) name: &'static str,
    pub(super) shape: SettingShape,
    /// Set if Dex does not start, or no user can log in, without it.
    pub(super) needed: bool,
}

/// Type of a setting.
#[derive(Debug)]
pub(super) enum SettingShape {
    Text,
    /// A text that must not be in git.
    Secret,
    /// The URL of Dex to which the provider redirects users.
    Callback,
    /// PEM certificates, encoded in base64 again.
    Base64,
    /// The path of a file.
    File,
    /// A list of file paths or file contents.
    Files,
    Flag,
    Texts,
    OneOf(&'static [&'static str]),
    Fields(&'static [ConnectorSetting]),
    List(&'static [ConnectorSetting]),
}

const fn needed(name: &'static str, shape: SettingShape) -> ConnectorSetting {
    ConnectorSetting {
        name,
        shape,
        needed: true,
    }
}

const fn may(name: &'static str, shape: SettingShape) -> ConnectorSetting {
    ConnectorSetting {
        name,
        shape,
        needed: false,
    }
}

/// Knowledge about a connector type.
pub(super) enum KnownConnector {
    /// All settings.
    Settings(&'static [ConnectorSetting]),
    /// Only the name of the type.
    Name,
}

/// Types of Dex whose settings sipgen does not know.
const OTHER_TYPES: [&str; 10] = [
    "atlassian-crowd",
    "authproxy",
    "bitbucket-cloud",
    "gitea",
    "google",
    "keystone",
    "linkedin",
    "oauth",
    "openshift",
    "samlExperimental",
];

const TYPES: [(&str, &[ConnectorSetting]); 8] = [
    ("github", &GITHUB),
    ("gitlab", &GITLAB),
    ("ldap", &LDAP),
    ("microsoft", &MICROSOFT),
    ("mockCallback", &[]),
    ("mockPassword", &MOCK_PASSWORD),
    ("oidc", &OIDC),
    ("saml", &SAML),
];

/// Returns the known settings of a type; `None` for a type that Dex does not have.
pub(super) fn known(kind: &str) -> Option<KnownConnector> {
    match TYPES.iter().find(|(name, _)| *name == kind) {
        Some((_, fields)) => Some(KnownConnector::Settings(fields)),
        None => OTHER_TYPES.contains(&kind).then_some(KnownConnector::Name),
    }
}

/// Returns the names of all of Dex's types.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name).chain(OTHER_TYPES)
}

const GITHUB: [ConnectorSetting; 11] = [
    needed("clientID", Text),
    needed("clientSecret", Secret),
    needed("redirectURI", Callback),
    may("org", Text),
    may("orgs", List(&[needed("name", Text), may("teams", Texts)])),
    may("hostName", Text),
    may("rootCA", File),
    may("teamNameField", OneOf(&["name", "slug", "both"])),
    may("loadAllGroups", Flag),
    may("useLoginAsID", Flag),
    may("preferredEmailDomain", Text),
];

const GITLAB: [ConnectorSetting; 8] = [
    may("baseURL", Text),
    needed("clientID", Text),
    needed("clientSecret", Secret),
    needed("redirectURI", Callback),
    may("groups", Texts),
    may("useLoginAsID", Flag),
    may("getGroupsPermission", Flag),
    may("rootCAData", Base64),
];

const LDAP: [ConnectorSetting; 13] = [
    needed("host", Text),
    may("insecureNoSSL", Flag),
    may("insecureSkipVerify", Flag),
    may("startTLS", Flag),
    may("rootCA", File),
    may("clientCert", File),
    may("clientKey", File),
    may("rootCAData", Base64),
    may("bindDN", Text),
    may("bindPW", Secret),
    may("usernamePrompt", Text),
    needed("userSearch", Fields(&LDAP_USER_SEARCH)),
    may("groupSearch", Fields(&LDAP_GROUP_SEARCH)),
];

const LDAP_USER_SEARCH: [ConnectorSetting; 9] = [
    needed("baseDN", Text),
    may("filter", Text),
    needed("username", Text),
    may("scope", LDAP_SCOPE),
    may("idAttr", Text),
    may("emailAttr", Text),
    may("nameAttr", Text),
    may("preferredUsernameAttr", Text),
    may("emailSuffix", Text),
];

const LDAP_GROUP_SEARCH: [ConnectorSetting; 8] = [
    needed("baseDN", Text),
    may("filter", Text),
    may("scope", LDAP_SCOPE),
    may("userAttr", Text),
    may("groupAttr", Text),
    may("recursionGroupAttr", Text),
    may(
        "userMatchers",
        List(&[
            needed("userAttr", Text),
            needed("groupAttr", Text),
            may("recursionGroupAttr", Text),
        ]),
    ),
    needed("nameAttr", Text),
];

const LDAP_SCOPE: SettingShape = OneOf(&["sub", "one"]);

const MICROSOFT: [ConnectorSetting; 14] = [
    needed("clientID", Text),
    needed("clientSecret", Secret),
    needed("redirectURI", Callback),
    may("tenant", Text),
    may("onlySecurityGroups", Flag),
    may("groups", Texts),
    may("groupNameFormat", OneOf(&["id", "name"])),
    may("useGroupsAsWhitelist", Flag),
    may("emailToLowercase", Flag),
    may("apiURL", Text),
    may("graphURL", Text),
    may("promptType", Text),
    may("domainHint", Text),
    may("scopes", Texts),
];

const MOCK_PASSWORD: [ConnectorSetting; 2] = [needed("username", Text), needed("password", Secret)];

const OIDC: [ConnectorSetting; 23] = [
    needed("issuer", Text),
    may("issuerAlias", Text),
    needed("clientID", Text),
    // The provider may know Dex as a public client, which has no secret.
    may("clientSecret", Secret),
    needed("redirectURI", Callback),
    may(
        "providerDiscoveryOverrides",
        Fields(&[
            may("tokenURL", Text),
            may("authURL", Text),
            may("jwksURL", Text),
        ]),
    ),
    may("basicAuthUnsupported", Flag),
    may("scopes", Texts),
    may("hostedDomains", Texts),
    may("rootCAs", Files),
    may("insecureSkipEmailVerified", Flag),
    may("insecureEnableGroups", Flag),
    may("allowedGroups", Texts),
    may("acrValues", Texts),
    may("insecureSkipVerify", Flag),
    may("getUserInfo", Flag),
    may("userIDKey", Text),
    may("userNameKey", Text),
    may("promptType", Text),
    may("pkceChallenge", OneOf(&["S256", "plain"])),
    may("overrideClaimMapping", Flag),
    may(
        "claimMapping",
        Fields(&[
            may("preferred_username", Text),
            may("email", Text),
            may("groups", Text),
        ]),
    ),
    may("claimModifications", Fields(&OIDC_CLAIM_MODIFICATIONS)),
];

const OIDC_CLAIM_MODIFICATIONS: [ConnectorSetting; 3] = [
    may(
        "newGroupFromClaims",
        List(&[
            needed("claims", Texts),
            may("delimiter", Text),
            may("clearDelimiter", Flag),
            may("prefix", Text),
        ]),
    ),
    may("filterGroupClaims", Fields(&[may("groupsFilter", Text)])),
    may(
        "modifyGroupNames",
        Fields(&[may("prefix", Text), may("suffix", Text)]),
    ),
];

const SAML: [ConnectorSetting; 14] = [
    may("entityIssuer", Text),
    may("ssoIssuer", Text),
    needed("ssoURL", Text),
    may("ca", File),
    may("caData", Base64),
    may("insecureSkipSignatureValidation", Flag),
    needed("usernameAttr", Text),
    needed("emailAttr", Text),
    may("groupsAttr", Text),
    may("groupsDelim", Text),
    may("allowedGroups", Texts),
    may("filterGroups", Flag),
    needed("redirectURI", Callback),
    may("nameIDPolicyFormat", Text),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::auth::CONNECTOR_TYPES;

    #[test]
    fn the_schema_lists_the_types_that_are_known() {
        let mut known: Vec<&str> = names().collect();
        known.sort_unstable();
        assert_eq!(known, CONNECTOR_TYPES);
    }
}
