//! Plain-text values of Secrets in the inputs, except network data.
//!
//! Such a value leaks to everyone with a clone of the repo, however old. Rendered inputs are
//! ignored, because they are not in the repo.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::{Mapping, Value};

use super::concern::Concern;
use super::names::NamingContext;
use super::read_object::PlainSecret;
use crate::base::api::gitops::SECRET_TYPE;
use crate::base::api::host::LAST_APPLIED;
use crate::base::api::network_data::{NetworkData, SECRET_KEYS};
use crate::base::api::network_format::NMSTATE;
use crate::base::finding::{Code, Finding, Origin, RouteStep};
use crate::base::grouping::grouped;
use crate::base::text::{counted, from_base64, yaml};
use crate::input::decode::suspected_templates;
use crate::input::kustomize::Builds;
use crate::input::load::foreign_format::foreign_format;
use crate::input::load::sops::{self, SopsMetadata};
use crate::input::load::{Document, Files, texts_of_documents};
use crate::input::settings::snapshot::Plaintext;
use crate::input::settings::{self, Settings, sources};
use crate::site::inventory::networks::{NetworkDataObject, read_value};

/// Keys in Secrets of Argo CD that are not secret: names and addresses of clusters and repos.
/// <https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/>
const OF_ARGOCD: [&str; 22] = [
    "clusterResources",
    "depth",
    "enableLfs",
    "enableOCI",
    "forceHttpBasicAuth",
    "gcpProject",
    "githubAppEnterpriseBaseUrl",
    "githubAppID",
    "githubAppInstallationID",
    "insecure",
    "insecureIgnoreHostKey",
    "insecureOCIForceHttp",
    "name",
    "namespaces",
    "noProxy",
    "project",
    "server",
    "shard",
    "tlsClientCertData",
    "type",
    "url",
    "useAzureWorkloadIdentity",
];
const SECRET: &str = "Secret";
/// Type of Secrets with manifests that a ClusterResourceSet applies.
/// <https://cluster-api.sigs.k8s.io/tasks/experimental-features/cluster-resource-set>
const RESOURCE_SET: &str = "addons.cluster.x-k8s.io/resource-set";
/// Values of unfinished or redacted manifests, as letters and digits in lower case.
const PLACEHOLDERS: [&str; 16] = [
    "changeit",
    "changeme",
    "changemeplease",
    "fillin",
    "fillmein",
    "fixme",
    "placeholder",
    "redacted",
    "removed",
    "replaced",
    "replaceme",
    "tbd",
    "tobereplaced",
    "tochange",
    "todo",
    "yourpasswordhere",
];
/// Beginnings of public values.
const PUBLIC: [&str; 9] = [
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN TRUSTED CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN PGP PUBLIC KEY BLOCK-----",
    "ecdsa-sha2-",
    "sk-ecdsa-sha2-",
    "sk-ssh-ed25519",
    "ssh-ed25519 ",
    "ssh-rsa ",
];
/// Beginnings of references to a value in a store of secrets.
const REFERENCES: [&str; 6] = ["op://", "ref+", "secretref+", "vault:", ">>vault:", "?{"];
/// Keys whose values are public.
const PUBLIC_KEYS: [&str; 4] = [NMSTATE, SECRET_KEYS[0], "known_hosts", "username"];

const HELP: &str = "change these passwords and remove them from the file and from git's history; `sipgen snapshot` \
                    writes none, and SOPS encrypts those of manifests";

/// A Secret. Its values may have any type, because unfinished ones contain secrets too.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretManifest {
    api_version: Option<Value>,
    #[serde(default)]
    metadata: SecretMetadata,
    #[serde(rename = "type")]
    kind: Option<Value>,
    data: Option<BTreeMap<String, Value>>,
    string_data: Option<BTreeMap<String, Value>>,
    /// Values of a builtin SecretGenerator.
    literals: Option<Vec<String>>,
    sops: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct SecretMetadata {
    name: Option<String>,
    namespace: Option<String>,
    labels: Option<BTreeMap<String, Value>>,
    annotations: Option<BTreeMap<String, Value>>,
    uid: Option<String>,
    resource_version: Option<String>,
    managed_fields: Option<IgnoredAny>,
}

impl SecretManifest {
    /// Returns whether it configures Argo CD.
    pub(crate) fn is_of_argocd(&self) -> bool {
        let mut labels = self.metadata.labels.iter().flatten();
        labels.any(|(label, _)| label == SECRET_TYPE)
    }

    /// Returns its network data; `None` if it has none. As in the API server, a plain value wins over
    /// an encoded one.
    pub(crate) fn network_data(&self) -> Option<NetworkDataObject> {
        let SecretMetadata { name, namespace, uid, resource_version, managed_fields, .. } =
            &self.metadata;
        let fields = [("stringData", &self.string_data, false), ("data", &self.data, true)];
        // The API server merges both fields; then Metal3 looks for one key after the other.
        let mut values = SECRET_KEYS.into_iter().flat_map(|key| {
            fields.into_iter().filter_map(move |(field, values, is_encoded)| {
                let text = values.as_ref()?.get(key)?.as_str()?;
                Some(([field, key], read_value(text, is_encoded)))
            })
        });
        let is_of_v1 = self.api_version.as_ref().and_then(Value::as_str) == Some("v1");
        let (route, data) = values.next().filter(|_| is_of_v1)?;
        Some(NetworkDataObject {
            name: name.as_ref().and_then(|name| name.parse().ok()),
            namespace: namespace.clone(),
            is_live: uid.is_some() || resource_version.is_some() || managed_fields.is_some(),
            route,
            data: data.map(Arc::new),
        })
    }
}

/// Finds values of a Secret in plain text in a file of the repo.
pub(crate) fn document_secret(
    document: &Document<'_>,
    secret: &SecretManifest,
) -> Option<PlainSecret> {
    let origin = &document.origin;
    if origin.is_rendered() || document.looks_like_template() {
        return None;
    }
    let SecretManifest { metadata, literals, .. } = secret;
    let is_resource_set = matches!(&secret.kind, Some(Value::String(kind)) if kind == RESOURCE_SET);
    // A placeholder as the name marks a template.
    if metadata.name.as_deref().is_some_and(suspected_templates::is_placeholder) {
        return None;
    }
    let has_plain = has_plain_value(secret, is_resource_set)
        || literals.iter().flatten().any(|it| is_plain_literal(it));
    has_plain.then(|| PlainSecret {
        origin: origin.clone(),
        place: origin.name(),
        name: metadata.name.as_ref().and_then(|name| name.parse().ok()),
    })
}

/// Returns whether a Secret has values in plain text. Those of a resource set are manifests.
fn has_plain_value(secret: &SecretManifest, is_resource_set: bool) -> bool {
    let is_of_argocd = secret.is_of_argocd();
    let mut applied =
        secret.metadata.annotations.iter().flatten().filter(|(key, _)| *key == LAST_APPLIED);
    let is_plain_manifest = |text: &Value| {
        let object = text.as_str().and_then(yaml::parse::<Value>);
        object.is_some_and(|object| !is_without_secret(&object, None))
    };
    let sops = secret.sops.clone().and_then(|it| yaml_serde::from_value::<SopsMetadata>(it).ok());
    let fields = [("data", &secret.data, true), ("stringData", &secret.string_data, false)];
    applied.any(|(_, text)| is_plain_manifest(text))
        || fields.into_iter().any(|(field, values, is_encoded)| {
            let is_public = |key: &str| {
                sops.as_ref().is_some_and(|metadata| metadata.leaves_readable([field, key]))
            };
            let values = values.iter().flatten().filter(|(key, _)| !is_public(key));
            let mut values = values.filter(|(key, value)| {
                let is_config = || *key == "config" && is_config_without_secret(value, is_encoded);
                let is_of_agent =
                    is_of_argocd && (OF_ARGOCD.contains(&key.as_str()) || is_config());
                let is_manifest = is_resource_set && is_manifest_without_secret(value, is_encoded);
                !is_of_agent && !is_manifest
            });
            values.any(|(key, value)| is_plain(key, value, is_encoded))
        })
}

/// Finds literals and files of Secret generators in kustomizations, and patches of Secrets in their
/// text.
fn generator_secrets(repo: &Files, builds: &Builds, output: &Utf8Path) -> Vec<PlainSecret> {
    // Files that git ignores reach no clone, and generated ones have no secret.
    let in_git = OnceCell::new();
    let is_in_git = |file: &Utf8PathBuf| {
        let list = || repo.all_files().unwrap_or_default().into_iter().collect::<HashSet<_>>();
        !file.starts_with(output) && in_git.get_or_init(list).contains(file)
    };
    let secret_generators = builds.generated().filter(|generated| generated.is_secret());
    let plain = secret_generators.filter(|generated| {
        let generator = generated.generator;
        let has = |path: &str, is_plain: &dyn Fn(&str) -> bool| {
            let file = generated.path(path).filter(|file| !file.starts_with(output));
            file.is_some_and(|file| {
                repo.text(&file).is_some_and(|text| is_plain(&text)) && is_in_git(&file)
            })
        };
        let mut keyed = generator.keyed_files();
        generator.literals.iter().flatten().any(|it| is_plain_literal(it))
            || generator.env_files().any(|path| has(path, &is_plain_env))
            || keyed.any(|(key, path)| has(path, &|text| is_plain(key, &Value::from(text), false)))
    });
    let found = plain.map(|generated| PlainSecret {
        origin: generated.origin.clone(),
        place: generated.place_of_name(),
        name: generated.generator.name.as_deref().and_then(|name| name.parse().ok()),
    });
    let patches = builds.inline_patches().filter(|(_, patch)| is_plain_patch(patch.text));
    let patched = patches.map(|(origin, patch)| PlainSecret {
        origin: origin.clone(),
        place: origin.at([RouteStep::from(patch.list), patch.index.into()]),
        name: None,
    });
    found.chain(patched).collect()
}

/// Returns whether a file has lines `key=value` with a value in plain text. A key alone is a variable of
/// the environment.
fn is_plain_env(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    !sops::is_encrypted_file(text)
        && lines.any(|line| !line.starts_with('#') && line.contains('=') && is_plain_literal(line))
}

/// Returns whether a merge patch or JSON patch of Secrets has a value in plain text.
fn is_plain_patch(text: &str) -> bool {
    let has_plain = |operation: &Value| {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
        let key = path.strip_prefix("/stringData/");
        let value = operation.get("value");
        key.zip(value).is_some_and(|(key, value)| is_plain(key, value, false))
    };
    texts_of_documents(text).filter_map(yaml::parse::<Value>).any(|patch| match &patch {
        Value::Sequence(operations) => operations.iter().any(has_plain),
        object => {
            object.get("kind").is_some_and(|kind| kind == SECRET)
                && !is_without_secret(object, None)
        }
    })
}

fn is_plain_literal(literal: &str) -> bool {
    let (key, text) = literal.split_once('=').unwrap_or(("", literal));
    is_plain(key, &Value::from(text.trim_matches(['"', '\''])), false)
}

fn is_plain(key: &str, value: &Value, is_encoded: bool) -> bool {
    let Value::String(text) = value else { return !value.is_null() };
    // User names are often left readable beside an encrypted password. A placeholder may be valid
    // base64.
    if PUBLIC_KEYS.contains(&key) || is_placeholder(text) {
        return false;
    }
    let decoded = text_of(value, is_encoded).unwrap_or_default();
    let text: &str = &decoded;
    // Cluster API stores user data with credentials under the same key.
    let is_network_data = key == SECRET_KEYS[1] && NetworkData::is_plain(text);
    !(is_network_data
        || is_placeholder(text)
        || sops::is_encrypted(text)
        || sops::is_encrypted_file(text))
}

/// Returns the text of a value, decoded if it can be.
fn text_of(value: &Value, is_encoded: bool) -> Option<Cow<'_, str>> {
    let text = value.as_str()?;
    let decoded = is_encoded.then(|| from_base64(text)).flatten();
    Some(decoded.map_or(Cow::Borrowed(text), Cow::Owned))
}

/// Returns whether a text has manifests, and no Secret in plain text.
fn is_manifest_without_secret(value: &Value, is_encoded: bool) -> bool {
    let Some(text) = text_of(value, is_encoded) else { return false };
    let mut objects = texts_of_documents(&text)
        .map(yaml::parse::<Value>)
        .filter(|object| !object.as_ref().is_some_and(Value::is_null))
        .peekable();
    objects.peek().is_some() && objects.all(|it| it.is_some_and(|it| is_without_secret(&it, None)))
}

/// Returns whether a text has manifests of Secrets in plain text.
pub(crate) fn has_plain_secret(text: &str) -> bool {
    let mut objects = texts_of_documents(text).filter_map(yaml::parse::<Value>);
    text.contains(SECRET)
        && objects.any(|it| it.get("kind").is_some() && !is_without_secret(&it, None))
}

/// Returns whether an object is no Secret in plain text and lists none. `listed` is the kind of an
/// object without kind.
fn is_without_secret(object: &Value, listed: Option<&str>) -> bool {
    let Some(kind) = object.get("kind").and_then(Value::as_str).or(listed) else { return false };
    let items = object.get("items").and_then(Value::as_sequence).into_iter().flatten();
    let is_plain = kind == SECRET
        && !SecretManifest::deserialize(object).is_ok_and(|it| !has_plain_value(&it, false));
    !is_plain && items.into_iter().all(|item| is_without_secret(item, kind.strip_suffix("List")))
}

/// Returns whether a text is a cluster's configuration for Argo CD that has no secret.
fn is_config_without_secret(value: &Value, is_encoded: bool) -> bool {
    let config = text_of(value, is_encoded).and_then(|text| yaml::parse(&text));
    let is_public =
        |secret: &Value| secret.is_null() || secret.as_str().is_some_and(is_placeholder);
    let is_open = |config: &Mapping, field: &str| config.get(field).is_none_or(is_public);
    let is_open_below = |config: &Mapping, [field, inner]: [&str; 2]| {
        config.get(field).is_none_or(|below| match below {
            Value::Mapping(below) => is_open(below, inner),
            other => other.is_null(),
        })
    };
    config.is_some_and(|config: Mapping| {
        ["bearerToken", "password"].iter().all(|field| is_open(&config, field))
            && is_open_below(&config, ["tlsClientConfig", "keyData"])
            && is_open_below(&config, ["execProviderConfig", "env"])
    })
}

/// Returns whether a text is no secret: a Flux variable, a path of Argo CD's Vault plugin, a
/// reference of 1Password, vals or Bank-Vaults, a redacted or encrypted value, or a certificate.
fn is_placeholder(text: &str) -> bool {
    let mut text = text.trim();
    while let Some((_, rest)) = text.split_once('\n').filter(|_| text.starts_with('#')) {
        text = rest.trim_start();
    }
    let is_between = |start: &str, end: &str| {
        text.starts_with(start) && text.ends_with(end) && !text.contains('\n')
    };
    let is_reference = REFERENCES.into_iter().any(|scheme| text.starts_with(scheme));
    let is_word = |c: &char| c.is_ascii_alphanumeric();
    let word: String = text.chars().filter(is_word).take(16).collect();
    text.is_empty()
        || PLACEHOLDERS.contains(&word.to_ascii_lowercase().as_str())
        || PUBLIC.iter().any(|start| text.starts_with(start)) && !text.contains("PRIVATE KEY")
        || foreign_format(text.as_bytes()).is_some()
        || is_reference && !text.contains(char::is_whitespace)
        || is_between("${", "}") && !has_plain_default(text)
        || has_placeholder_login(text)
        || [("<", ">"), ("$(", ")"), ("__", "__"), ("@@", "@@")]
            .iter()
            .any(|(a, b)| is_between(a, b))
        || text.len() > 2 && text.chars().all(|c| matches!(c, '*' | 'x' | 'X'))
}

/// Returns whether a text is a URL whose password is a placeholder.
fn has_placeholder_login(url: &str) -> bool {
    let rest = url.split_once("://").filter(|_| !url.contains(char::is_whitespace));
    rest.and_then(|(_, rest)| rest.rsplit_once('@')).is_some_and(|(login, rest)| {
        let password = ["${", "<"].iter().filter_map(|start| login.rfind(start)).max();
        let is_it = |at: usize| login[..at].ends_with(':') && is_placeholder(&login[at..]);
        password.is_some_and(is_it) && !rest.contains('?')
    })
}

/// Returns whether a variable such as `${PASSWORD:=secret}` has a default in plain text.
fn has_plain_default(variable: &str) -> bool {
    let variable = variable.strip_suffix('}').unwrap_or(variable);
    let default = [":=", ":-", "="].into_iter().find_map(|it| variable.split_once(it));
    default.is_some_and(|(_, default)| !is_placeholder(default))
}

/// Reports plain-text Secrets in input files, one finding per file: those of `documents` and of
/// generators. It is an error if a build, an agent, the settings or a host uses one of the Secrets.
pub(super) fn findings(concern: &Concern<'_>, documents: Vec<PlainSecret>) -> Vec<Finding> {
    let NamingContext { repo, builds, inputs, settings, .. } = concern.naming;
    // A source builds files of the repo, so their Secrets count.
    let is_source =
        |origin: &Origin| !settings.sources.is_empty() && settings.may_read(&origin.file);
    let is_input =
        |PlainSecret { origin, .. }: &PlainSecret| inputs.contains(origin) || is_source(origin);
    let secrets = generator_secrets(repo, builds, &settings.output)
        .into_iter()
        .chain(documents)
        .filter(is_input);
    let by_file = grouped(secrets.map(|secret| (secret.origin.file.clone(), secret)));
    let report = |secrets: Vec<PlainSecret>| {
        let is_used =
            |secret: &PlainSecret| concern.has_secret(&secret.origin, secret.name.as_ref());
        finding(&secrets, settings, secrets.iter().any(is_used))
    };
    by_file.into_values().map(report).collect()
}

fn finding(secrets: &[PlainSecret], settings: &Settings, is_used: bool) -> Finding {
    let message = match secrets {
        [PlainSecret { name: Some(name), .. }] => {
            format!("the Secret `{name}` has values in plain text")
        }
        [_] => "a Secret has values in plain text".to_owned(),
        several => {
            format!("{} of one file have values in plain text", counted(several.len(), "Secret"))
        }
    };
    let file = secrets.first().map(|secret| &*secret.origin.file);
    let finding = if !is_used {
        let message = format!(
            "{message}; no build and no host has a use for it, but everybody who can read the repo sees them"
        );
        let out = sources::leave_out(settings, &file.into_iter().collect::<Vec<_>>());
        Finding::new(Code::PlaintextSecretAllowed, message).help(format!("{HELP}; {out}"))
    } else if settings.secrets.plaintext == Plaintext::Warning {
        Finding::new(Code::PlaintextSecretAllowed, message).help(HELP)
    } else {
        Finding::new(Code::PlaintextSecret, message).help(format!(
            "{HELP}. To go on without: `secrets: {{plaintext: warning}}` in {}",
            settings::FILE
        ))
    };
    finding.at_each(secrets.iter().map(|secret| secret.place.clone()))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;
    use crate::input::load::Stream;
    use crate::{Options, generate};

    fn is_plain(key: &str, value: &str, is_encoded: bool) -> bool {
        crate::site::assembly::plaintext_secrets::is_plain(key, &Value::from(value), is_encoded)
    }

    #[test]
    fn network_data_encrypted_values_and_placeholders_are_no_secrets() {
        let networks = "networks: [{id: oam, ip_address: 10.0.0.1}]";
        for (key, value) in [
            ("networkData", "anything"),
            ("nmstate", "interfaces: []"),
            ("username", "admin"),
            ("value", networks),
            ("value", "interfaces: [{name: oam}]"),
            ("value", "network: {version: 2, ethernets: {oam: {dhcp4: true}}}"),
            ("password", "ENC[AES256_GCM,data:Zm9v,iv:YQ==,tag:Yg==,type:str]"),
            ("password", " \n"),
            ("password", "${BMC_PASSWORD}"),
            ("password", "${BMC_PASSWORD:=}"),
            ("password", "${BMC_PASSWORD:=${PASSWORD}}"),
            ("password", "${env:PASSWORD}"),
            ("password", "<path:kv/data/bmc#password>"),
            ("password", "*****"),
            ("password", "xxxxxxxx"),
            ("password", "REDACTED"),
            ("password", "op://lab/bmc/password"),
            ("password", "CHANGEME"),
            ("password", "_replaced_"),
            ("password", "<<change-me>>"),
            ("password", ">>vault:secret/data/bmc#password"),
            ("password", "secretref+vault://kv/bmc#/password"),
            ("password", "?{gpg:targets/x/password}"),
            ("password", "fill-me-in"),
            ("password", "your-password-here"),
            ("password", "$(PASSWORD)"),
            ("password", "__PASSWORD__"),
            ("password", "@@PASSWORD@@"),
            ("known_hosts", "github.com ssh-ed25519 AAAA"),
            ("id.pub", "ssh-ed25519 AAAA me"),
            ("ca.crt", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"),
            ("password", "$ANSIBLE_VAULT;1.1;AES256\n3031"),
            ("url", "postgres://${USER}:${PASSWORD}@db/x"),
            ("url", "postgres://app:${PASSWORD:=}@db/x"),
            ("url", "https://<path:kv/x#user>:<path:kv/x#pw>@h/"),
            ("id.pub", "ecdsa-sha2-nistp384 AAAA flux"),
            ("id.pub", "sk-ssh-ed25519@openssh.com AAAA me"),
            ("key", "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----"),
            (
                "ca.crt",
                "# lab\n\n# CA\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n",
            ),
        ] {
            assert!(!is_plain(key, value, false), "{key}: {value}");
            assert!(!is_plain(key, &BASE64_STANDARD.encode(value), true), "{key}: {value}");
        }
        for (key, value) in [
            ("password", "x"),
            ("value", "#cloud-config\nusers: []"),
            ("value", "#cloud-config\nnetwork: {}\nwrite_files: []"),
            ("value", "interfaces: [{name: oam, 802.1x: {private-key-password: x}}]"),
            ("value", "config: {token: x}"),
            ("metaData", networks),
            ("password", "${USER}x"),
            ("password", "${BMC_PASSWORD:=calvin}"),
            ("password", "${BMC_PASSWORD:-calvin}"),
            ("password", "${BMC_PASSWORD=calvin}"),
            ("password", "${BMC_PASSWORD:=${PASSWORD:-calvin}}"),
            ("password", "changeme7"),
            ("url", "postgres://${USER}:hunter2@db/x"),
            ("url", "postgres://${USER}:${PASSWORD}7@db/x"),
            ("url", "postgres://${USER}:${PASSWORD}@db/x?token=7"),
            ("url", "postgres://${USER}:${PASSWORD:=hunter2}@db/x"),
            ("ca.crt", "# lab CA\nhunter2"),
            ("tls.pem", "-----BEGIN CERTIFICATE-----\nMII\n-----BEGIN PRIVATE KEY-----\nMII\n"),
        ] {
            assert!(is_plain(key, value, false), "{key}: {value}");
            assert!(is_plain(key, &BASE64_STANDARD.encode(value), true), "{key}: {value}");
        }
        assert!(crate::site::assembly::plaintext_secrets::is_plain(
            "pin",
            &Value::from(1234),
            false
        ));
        assert!(!crate::site::assembly::plaintext_secrets::is_plain("pin", &Value::Null, false));
        assert!(is_plain("password", "no base64", true));
    }

    #[test]
    fn manifests_of_a_resource_set_are_no_secrets_unless_they_hold_one() {
        let secret = |manifest: &str| {
            format!(
                "{{apiVersion: v1, kind: Secret, metadata: {{name: l2}}, type: {RESOURCE_SET}, \
                 stringData: {{a.yaml: {manifest:?}}}}}"
            )
        };
        for (manifest, findings) in [
            ("{kind: Policy, metadata: {name: a}}", 0),
            ("{\"kind\": \"SecretStore\", \"metadata\": {}}", 0),
            ("{kind: Policy, ref: {kind: Secret, name: a}} # kind: Secret", 0),
            ("{kind: Secret, type: kubernetes.io/service-account-token}", 0),
            ("{kind: Secret, stringData: {password: <path:kv#p>}}\n---\n# none\n", 0),
            ("{kind: Secret, stringData: {password: x}}", 1),
            ("{\"kind\":\"Secret\",\"data\":{\"p\":\"aHVudGVyMg==\"}}", 1),
            ("{\"kind\" :\n \"Secret\",\"stringData\":{\"p\":\"x\"}}", 1),
            ("{kind: Policy}\n---\n{kind: Secret, stringData: {p: x}}", 1),
            ("{kind: SecretList, items: [{stringData: {p: x}}]}", 1),
            ("{kind: List, items: [{kind: Secret, stringData: {p: x}}]}", 1),
            ("{kind: List, items: [{kind: Secret}]}", 0),
            ("hunter2", 1),
        ] {
            let found = found(&[("a.yaml", &secret(manifest))], None);
            assert_eq!(found.len(), findings, "{manifest}");
        }
    }

    #[test]
    fn what_argo_cd_reads_is_secret_only_where_it_logs_in() {
        let secret = |kind: &str, data: &str| {
            format!(
                "{{apiVersion: v1, kind: Secret, metadata: {{name: s, labels: {{{SECRET_TYPE}: {kind}}}}}, \
                 stringData: {{url: x, {data}}}}}"
            )
        };
        for (kind, data, findings) in [
            ("cluster", "config: '{\"tlsClientConfig\":{\"insecure\":false}}'", 0),
            ("cluster", "config: '{\"bearerToken\":\"<path:kv#t>\"}'", 0),
            ("cluster", "config: '{\"bearerToken\":\"x\"}'", 1),
            ("cluster", "config: '{\"tlsClientConfig\":{\"keyData\":\"x\"}}'", 1),
            ("cluster", "config: '{\"execProviderConfig\":{\"env\":{\"A\":\"b\"}}}'", 1),
            ("cluster", "config: '{'", 1),
            ("repository", "enableOCI: 'true', insecure: 'true', githubAppID: '1'", 0),
            ("repository", "password: x", 1),
            ("repository", "githubAppPrivateKey: x", 1),
        ] {
            let found = found(&[("a.yaml", &secret(kind, data))], None);
            assert_eq!(found.len(), findings, "{data}");
        }
    }

    #[test]
    fn what_the_rules_of_sops_leave_readable_is_no_secret() {
        let secret = |rule: &str, mac: &str| {
            format!(
                "{{apiVersion: v1, kind: Secret, metadata: {{name: s}}, stringData: {{url_unencrypted: x, \
                 password: 'ENC[x]'}}, sops: {{{rule}, {mac}}}}}"
            )
        };
        for (rule, findings) in [
            ("unencrypted_suffix: _unencrypted", 0),
            ("encrypted_suffix: word", 0),
            ("unencrypted_regex: ^url", 0),
            ("encrypted_regex: ^(password|token)$", 0),
            ("unencrypted_suffix: _readable", 1),
            ("encrypted_suffix: encrypted", 1),
            ("encrypted_regex: ^(data|stringData)$", 1),
            ("encrypted_regex: '('", 1),
            ("version: 3.9.0", 1),
        ] {
            let found = |mac: &str| found(&[("a.yaml", &secret(rule, mac))], None).len();
            assert_eq!(found("mac: 'ENC[y]'"), findings, "{rule}");
            assert_eq!(found("kms: []"), 1, "{rule}");
        }
    }

    /// The API server merges both fields; then Metal3 asks for one key after the other.
    #[test]
    fn network_data_under_its_own_key_comes_first() {
        let secret: SecretManifest = yaml_serde::from_str(
            "{apiVersion: v1, stringData: {value: 'networks: []'}, data: {networkData: bmV0d29ya3M6IFtd}}",
        )
        .unwrap();
        assert_eq!(secret.network_data().unwrap().route, ["data", "networkData"]);
    }

    /// Returns the codes of findings about Secrets, each with its file.
    fn found(files: &[(&str, &str)], stream: Option<&str>) -> Vec<(Code, String)> {
        let files =
            files.iter().map(|(path, text)| (Utf8PathBuf::from(*path), text.as_bytes().to_vec()));
        let mut repo = Files::in_memory(files);
        if let Some(text) = stream {
            let name = std::sync::Arc::from(camino::Utf8Path::new("<stdin>"));
            repo = repo.with_streams(vec![Stream { name, content: text.as_bytes().to_vec() }]);
        }
        let generated = generate(&repo, &Options::default(), &|_| {}).unwrap();
        let ours = [Code::PlaintextSecret, Code::PlaintextSecretAllowed];
        let findings = generated.findings.iter().filter(|finding| ours.contains(&finding.code));
        findings.map(|finding| (finding.code, finding.message.clone())).collect()
    }

    const OBJECT: &str =
        "{apiVersion: v1, kind: Secret, metadata: {name: bmc}, stringData: {password: x}}";

    #[test]
    fn a_secret_counts_wherever_it_is_an_input_in_git() {
        let error =
            vec![(Code::PlaintextSecret, "the Secret `bmc` has values in plain text".to_owned())];
        assert_eq!(found(&[("a.yaml", OBJECT)], None), error);
        // A patch does not require an apiVersion.
        assert_eq!(found(&[("a.yaml", &OBJECT.replace("apiVersion: v1, ", ""))], None), error);
        let list = format!("kind: List\nitems:\n- {OBJECT}\n- {OBJECT}\n");
        assert_eq!(
            found(&[("a.yaml", &list)], None)[0].1,
            "2 Secrets of one file have values in plain text"
        );
        let generator = "secretGenerator: [{name: bmc, literals: [password=x]}]";
        assert_eq!(found(&[("kustomization.yaml", generator)], None), error);
        let generator = "{apiVersion: builtin, kind: SecretGenerator, metadata: {name: bmc}, literals: [password=x]}";
        let listed = ("kustomization.yaml", "generators: [bmc.yaml]");
        assert_eq!(found(&[listed, ("bmc.yaml", generator)], None), error);
        for (list, file, text, is_plain) in [
            ("envs: [a.env]", "a.env", "# password=y\nusername=admin\npassword=x\n", true),
            ("env: a.env", "a.env", "password=x", true),
            ("envs: [a.env]", "a.env", "username=admin\npassword=${PASSWORD}\nTOKEN\n", false),
            ("envs: [a.env]", "a.env", "password=ENC[x]\nsops_mac=ENC[y]\nsops_version=3\n", false),
            ("files: [password]", "password", "x", true),
            ("files: [username=password]", "password", "x", false),
            ("files: [password=a.txt]", "a.txt", "x", true),
            ("files: [password=a.txt]", "a.txt", "data: ENC[x]\nsops:\n  mac: ENC[y]\n", false),
            ("files: [password=a.txt]", "b.txt", "x", false),
        ] {
            let generator = format!("secretGenerator: [{{name: bmc, {list}}}]");
            let found = found(&[("kustomization.yaml", &generator), (file, text)], None);
            assert_eq!(found == error, is_plain, "{list} {text}: {found:?}");
        }
        let merge = OBJECT.replace("{apiVersion: v1, ", "{");
        for (patch, is_plain) in [
            (merge.as_str(), true),
            ("[{op: add, path: /stringData/password, value: x}]", true),
            ("[{op: add, path: /stringData/username, value: x}]", false),
            ("{kind: ConfigMap, stringData: {password: x}}", false),
            ("{kind: Secret, stringData: {password: <path:kv#p>}}", false),
        ] {
            for list in [
                format!("patches: [{{target: {{kind: Secret}}, patch: {patch:?}}}]"),
                format!("patchesStrategicMerge: [{:?}]", format!("{patch}\n")),
            ] {
                let found = found(&[("kustomization.yaml", &list)], None);
                assert_eq!(found.len(), usize::from(is_plain), "{list}: {found:?}");
            }
        }
        let applied = OBJECT.replace("stringData: {password: x}", "data: null").replace(
            "name: bmc",
            "name: bmc, annotations: {kubectl.kubernetes.io/last-applied-configuration: \
             '{\"kind\":\"Secret\",\"data\":{\"p\":\"aHVudGVyMg==\"}}'}",
        );
        assert_eq!(found(&[("a.yaml", &applied)], None), error);
        let no_secret = generator.replace("=x", "=${PASSWORD}");
        assert_eq!(found(&[listed, ("bmc.yaml", &no_secret)], None), []);
        let allowed =
            found(&[("sipgen.yaml", "secrets: {plaintext: warning}"), ("a.yaml", OBJECT)], None);
        assert_eq!(allowed, [(Code::PlaintextSecretAllowed, error[0].1.clone())]);
        let sources = |of: &str| {
            found(&[("sipgen.yaml", of), ("a/a.yaml", OBJECT), ("b/b.yaml", "{}")], None)
        };
        assert_eq!(sources("sources: [{paths: [a]}]"), error);
        assert_eq!(sources("sources: [{paths: [b]}]"), []);
        assert_eq!(found(&[], Some(OBJECT)), []);
        for other in ["SealedSecret", "ExternalSecret", "ConfigMap"] {
            assert_eq!(
                found(
                    &[("a.yaml", &OBJECT.replace("kind: Secret", &format!("kind: {other}")))],
                    None
                ),
                []
            );
        }
        let argocd_secret = "{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {argocd.argoproj.io/secret-type: \
                         cluster}}, stringData: {name: a, server: x, config: '${CONFIG}'}}";
        assert_eq!(found(&[("a.yaml", argocd_secret)], None), []);
        assert_eq!(
            found(&[("a.yaml", &argocd_secret.replace("'${CONFIG}'", "token"))], None).len(),
            1
        );
        let template = OBJECT.replace("password: x", "password: '{{ .Values.password }}'");
        assert_eq!(found(&[("a.yaml", &template)], None), []);
    }
}
