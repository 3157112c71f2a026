//! Auth services that are refused, or taken with a warning: what a user reads. Dex itself drops silently what it does
//! not know, or starts and serves nobody.

use insta::assert_snapshot;

use crate::support::{Repo, assert_says};

const EDGE: &str = "clusters/edge.yaml";
const CORE: &str = "clusters/core.yaml";
const WEB: &str = "clusters/web.yaml";

/// The fixture after its first run, with a text of a cluster replaced.
#[track_caller]
fn with(file: &str, from: &str, to: &str) -> Repo {
    let repo = Repo::generated("auth");
    repo.replace(file, from, to);
    repo
}

/// What sipgen says of the fixture with a text of a cluster replaced, which it must refuse; without the warning about
/// its mock.
#[track_caller]
fn refusal(file: &str, from: &str, to: &str) -> String {
    let said = with(file, from, to).refused();
    said.split_once("\n\n").map_or(said.clone(), |(_, errors)| errors.to_owned())
}

#[test]
fn a_secret_in_a_connectors_settings_is_refused_and_not_shown() {
    let message = refusal(EDGE, "bindPW: $LDAP_BIND_PASSWORD", "bindPW: hunter2");

    assert!(!message.contains("hunter2"), "{message}");
    assert_snapshot!(message, @"
    error[SIP0235]: `bindPW` is a secret in git
      --> clusters/edge.yaml:27:23
       |
    27 |               bindPW: …
       |                       ^
      help: move it to a Secret in envFrom, and write its key as `$NAME`; rotate it if it was pushed

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn whatever_stands_in_the_place_of_a_secret_is_refused_and_not_shown() {
    for value in
        ["\"$hunter2!\"", "\"x$hunter2\"", "[hunter2]", "{a: hunter2}", "\"${hunter2}\"", "4711"]
    {
        let message =
            refusal(EDGE, "clientSecret: $GITHUB_CLIENT_SECRET", &format!("clientSecret: {value}"));

        assert!(!message.contains("hunter2"), "{value}: {message}");
        assert_says(&message, &["edge.yaml:59:"]);
    }
}

#[test]
fn a_password_in_a_url_is_refused_and_not_shown() {
    let message = refusal(EDGE, "issuer: https://", "issuer: https://dex:hunter2@");

    assert!(!message.contains("hunter2"), "{message}");
    assert_says(&message, &["a URL with a password must not be in git", "edge.yaml:"]);
}

#[test]
fn a_setting_that_stands_twice_of_which_one_would_be_ignored() {
    let message = refusal(
        EDGE,
        "bindPW: $LDAP_BIND_PASSWORD",
        "bindPW: hunter2\n              bindPW: $LDAP_BIND_PASSWORD",
    );

    assert!(!message.contains("hunter2"), "{message}");
    assert_says(&message, &["the SIPCluster cannot be read: ", "edge.yaml:"]);
}

#[test]
fn what_stands_in_the_place_of_a_secrets_name_is_not_shown() {
    let message =
        refusal(EDGE, "envFrom:\n          - ", "envFrom:\n          - Hunter2!\n          - ");

    assert!(!message.contains("unter2"), "{message}");
    assert_says(&message, &["invalid name of a Secret", "edge.yaml:"]);
}

#[test]
fn a_connector_with_an_empty_name_is_called_by_its_id() {
    let repo = with(EDGE, "name: Company login", "name: \"\"");

    repo.generate(&[]).expect(0);

    let configuration = repo.read("overlays/clusters/tenant-a/edge/auth/config.yaml");
    assert!(!configuration.contains("name: \"\""), "{configuration}");
}

#[test]
fn a_secret_of_a_connector_that_only_dex_knows_is_refused_and_not_shown() {
    let keystone = "type: keystone\n            id: keystone\n            config:\n              keystoneHost: https://keystone.example.com\n              \
                    keystonePassword: hunter2\n          - type: github";

    let message = refusal(EDGE, "type: github", keystone);

    assert!(!message.contains("hunter2"), "{message}");
    assert_says(&message, &["`keystonePassword` is a secret in git"]);
}

#[test]
fn a_private_key_anywhere_is_refused_and_not_shown() {
    let key = "rootCAData: \"-----BEGIN PRIVATE KEY-----hunter2\"";

    let message = refusal(EDGE, "rootCAData: $LDAP_CA", key);

    assert!(!message.contains("hunter2"), "{message}");
    assert_says(&message, &["a private key must not be in git"]);
}

#[test]
fn a_clients_secret_is_refused_and_not_shown() {
    for secret in ["hunter2", "[hunter2]", "4711", "\n                hunter2"] {
        let message = refusal(EDGE, "secretEnv: DASHBOARD_SECRET", &format!("secret: {secret}"));

        assert!(!message.contains("hunter2"), "{message}");
        assert_says(&message, &["a client's secret is in git", "secretEnv"]);
    }
}

#[test]
fn a_variable_that_nothing_sets() {
    let message = refusal(EDGE, "        envFrom:\n          - edge-dex\n", "");

    assert_says(&message, &["nothing sets this environment variable", "envFrom: [NAME]"]);
    assert_eq!(message.matches("nothing sets").count(), 5, "{message}");
}

#[test]
fn a_setting_that_dex_would_drop() {
    assert_snapshot!(refusal(EDGE, "usernamePrompt: User", "userPrompt: User"), @"
    error[SIP0237]: ldap has the unknown setting `userPrompt`
      --> clusters/edge.yaml:28:15
       |
    28 |               userPrompt: …
       |               ^^^^^^^^^^
      help: did you mean `usernamePrompt`? Dex ignores unknown settings silently

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn a_setting_of_a_setting_that_dex_would_drop() {
    let message = refusal(EDGE, "idAttr: uid", "idAttribute: uid");

    assert_says(
        &message,
        &["userSearch has the unknown setting `idAttribute`", "did you mean `idAttr`?"],
    );
}

#[test]
fn a_field_that_a_connector_does_not_have() {
    let repo = with(EDGE, "id: directory", "id: directory\n            conf: {}");

    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(
        &said,
        &["warning[SIP0103]: a SIPCluster has the unknown field `conf`: it is ignored"],
    );
}

#[test]
fn a_setting_without_which_dex_does_not_start() {
    for (setting, name) in [
        ("              host: ldap.example.com\n", "ldap requires the setting `host`"),
        ("                username: uid\n", "userSearch requires the setting `username`"),
        ("              issuer: https://login.example.com\n", "oidc requires the setting `issuer`"),
        (
            "              clientSecret: $GITHUB_CLIENT_SECRET\n",
            "github requires the setting `clientSecret`",
        ),
        ("              bindPW: $LDAP_BIND_PASSWORD\n", "`bindDN` or `bindPW` is missing"),
    ] {
        assert_says(&refusal(EDGE, setting, ""), &[name]);
    }
}

#[test]
fn a_setting_of_another_type_than_dex_reads() {
    for (from, to, says) in [
        (
            "insecureEnableGroups: true",
            "insecureEnableGroups: yes please",
            "`insecureEnableGroups` must be true or false",
        ),
        ("clientID: \"4711\"", "clientID: 4711", "`clientID` must be a text"),
        ("- operators", "- [operators]", "an entry of the list must be a text"),
        ("rootCAData: $LDAP_CA", "rootCAData: /etc/ldap/ca.pem", "`rootCAData` is no base64"),
    ] {
        assert_says(&refusal(EDGE, from, to), &[says]);
    }
}

#[test]
fn a_type_that_dex_does_not_know() {
    assert_says(
        &refusal(EDGE, "type: ldap", "type: LDAP"),
        &["Dex has no connector of type `LDAP`", "`ldap`"],
    );
    assert_says(
        &refusal(EDGE, "type: ldap", "type: radius"),
        &["Dex knows atlassian-crowd, authproxy"],
    );
}

#[test]
fn a_dollar_that_dex_would_replace() {
    for (filter, says) in [
        ("(uid=$$)", "Dex would replace `$$` by an empty text"),
        ("(uid=$1)", "Dex would replace `$1` by an empty text"),
    ] {
        let message =
            refusal(EDGE, "filter: (objectClass=groupOfNames)", &format!("filter: {filter}"));

        assert_says(&message, &[says]);
    }
}

#[test]
fn braces_after_a_dollar_anywhere() {
    for (from, to) in [
        ("name: Company login", "name: ${COMPANY}"),
        ("name: Dashboard", "name: ${DASHBOARD}"),
        ("id: dashboard", "id: ${DASHBOARD}"),
        ("https://dashboard.tenant-a.example.com/oauth2/callback", "https://${DASHBOARD}/callback"),
        ("https://dex.tenant-a.example.com:30556/dex", "https://${DEX}/dex"),
        ("idTokens: 1h", "idTokens: ${HOURS}"),
        ("              - name: example", "              - name: ${ORG}"),
    ] {
        refusal(EDGE, from, to);
    }
}

#[test]
fn a_provider_that_sends_users_elsewhere_is_warned_of() {
    let elsewhere = "clientID: edge\n              redirectURI: https://dex.example.com/callback";
    let repo = with(EDGE, "clientID: edge", elsewhere);

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(
        &said,
        &["the redirectURI is not that of this Dex", "tenant-a.example.com:30556/dex/callback"],
    );
}

#[test]
fn a_file_that_the_pod_does_not_have_is_warned_of() {
    let repo = with(EDGE, "rootCAData: $LDAP_CA", "rootCA: /etc/ldap/ca.pem");

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(&said, &["Dex's pod has no file /etc/ldap/ca.pem"]);
}

#[test]
fn an_issuer_that_tokens_and_servers_might_spell_in_two_ways() {
    assert_says(&refusal(EDGE, ":30556/dex", ":30556/dex/"), &["the issuerURL ends with a slash"]);
    assert_says(
        &refusal(EDGE, "https://dex", "http://dex"),
        &["the issuerURL does not begin with https://"],
    );
    let nobody = refusal(CORE, "        clusterIP: 192.0.2.10\n", "");
    assert_says(&nobody, &["has neither issuerURL nor clusterIP"]);
}

#[test]
fn a_certificate_from_nowhere_or_from_two_places() {
    assert_says(
        &refusal(EDGE, "        tlsSecret: edge-dex-tls\n", ""),
        &["no issuer of its certificate"],
    );
    let two =
        refusal(EDGE, "tlsSecret: edge-dex-tls", "tlsSecret: edge-dex-tls\n        caSecret: ca");
    assert_says(
        &two,
        &[
            "more than one source of its certificate",
            "keep one of caSecret, issuerRef and tlsSecret",
        ],
    );
    assert_says(
        &refusal(WEB, "kind: ClusterIssuer", "kind: Clusterissuer"),
        &["unknown kind of cert-manager issuer"],
    );
    let trusted = refusal(
        CORE,
        "caSecret: core-oidc-ca",
        "caSecret: core-oidc-ca\n        publiclyTrusted: true",
    );
    assert_says(&trusted, &["machines do not trust the authority of caSecret by default"]);
}

#[test]
fn a_length_of_time_that_dex_does_not_know() {
    for time in ["1d", "60", "-1h", "0s", "one hour"] {
        assert_says(
            &refusal(EDGE, "idTokens: 1h", &format!("idTokens: \"{time}\"")),
            &["is not a duration"],
        );
    }
}

#[test]
fn a_setting_by_which_anybody_gets_in_or_reads_passwords() {
    for (beside, setting, says) in [
        (
            "host: ldap.example.com",
            "insecureNoSSL",
            "passwords are sent to the directory in plain text",
        ),
        (
            "host: ldap.example.com",
            "insecureSkipVerify",
            "the directory's certificate is not verified",
        ),
        (
            "issuer: https://login.example.com",
            "insecureSkipVerify",
            "the provider's certificate is not verified",
        ),
    ] {
        for (value, is_said) in [(true, true), (false, false)] {
            let more = format!("{beside}\n              {setting}: {value}");

            let run = with(EDGE, beside, &more).generate(&[]).expect(0);

            assert_eq!(run.stderr.contains(says), is_said, "{more}: {}", run.stderr);
        }
    }
}

#[test]
fn a_number_of_pods_that_serves_nobody() {
    assert_says(
        &refusal(CORE, "replicas: 1", "replicas: 0"),
        &["`replicas` must be from 1 to 100, found `0`"],
    );
}

#[test]
fn names_that_stand_twice() {
    assert_says(
        &refusal(EDGE, "id: company", "id: directory"),
        &["two connectors have the id `directory`"],
    );
    let two = "- id: dashboard\n            public: true\n          - id: dashboard";
    assert_says(&refusal(EDGE, "- id: dashboard", two), &["two clients have the id `dashboard`"]);
}

#[test]
fn a_client_that_could_be_anybody() {
    let message = refusal(EDGE, "            secretEnv: DASHBOARD_SECRET\n", "");

    assert_says(&message, &["the client has no secretEnv", "public: true"]);
}
