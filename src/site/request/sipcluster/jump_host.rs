//! Validates jump hosts.

use ssh_key::PublicKey;

use super::{RequestValidation, Route, ServiceDetails, below};
use crate::base::api::names::Invalid;
use crate::base::api::sipcluster::{JumpHostFields, SshHostKeys, VolumeClaimFields};
use crate::base::finding::Code;
use crate::base::text::{joined, non_empty};
use crate::site::request::service::{HostKeyStorage, JumpHostSettings, KindSettings, VolumeClaim};

impl RequestValidation<'_, '_> {
    pub(super) fn jump_host(&mut self, entry: &JumpHostFields, route: &Route) -> ServiceDetails {
        let keys_route = below(route, ["sshAuthorizedKeys"]);
        let authorized_keys: Vec<String> =
            entry.ssh_authorized_keys.iter().flatten().map(|key| key.trim().to_owned()).collect();
        if authorized_keys.is_empty() {
            let message = "the jump host has no sshAuthorizedKeys: all logins are refused";
            let help = "list the OpenSSH public keys of its operators";
            self.report(Code::NoLogin, keys_route.clone(), message, help);
        }
        for (index, key) in authorized_keys.iter().enumerate() {
            // No part of the key is shown, because it may be a private key that was pasted by
            // mistake.
            let valid = check_authorized_key(key)
                .map_err(|error| format!("the SSH key is not an OpenSSH public key: {error}"));
            let help = "paste the one line of a `.pub` file, such as `ssh-ed25519 AAAA… operator`";
            self.accept(valid, Code::WrongType, below(&keys_route, [index]), help);
        }
        let node_private_keys = match non_empty(&entry.node_ssh_private_keys) {
            None => None,
            Some(name) => Some(self.secret_name(name, below(route, ["nodeSSHPrivateKeys"]))?),
        };
        let host_keys = self.host_keys(entry.host_keys.as_ref(), &below(route, ["hostKeys"]));
        let homes = match entry.homes.as_ref().and_then(|homes| homes.volume_claim.as_ref()) {
            Some(claim) => Some(self.volume_claim(claim, &below(route, ["homes"]))?),
            None => None,
        };
        let node_port = self.node_port(entry.node_port, route);
        let settings = JumpHostSettings {
            bmc_proxy: entry.bmc.as_ref().is_some_and(|bmc| bmc.proxy),
            authorized_keys,
            node_private_keys,
            host_keys: host_keys?,
            homes,
        };
        Some((vec![node_port?], KindSettings::JumpHost(settings)))
    }

    fn host_keys(&mut self, entry: Option<&SshHostKeys>, route: &Route) -> Option<HostKeyStorage> {
        let entry = entry.cloned().unwrap_or_default();
        let mut storage = HostKeyStorage::default();
        match (entry.secret_name, entry.volume_claim, entry.ephemeral.unwrap_or_default()) {
            (Some(name), None, false) => {
                storage.secret_name = Some(self.secret_name(&name, below(route, ["secretName"]))?);
            }
            (None, Some(claim), false) => {
                storage.volume_claim = Some(self.volume_claim(&claim, route)?);
            }
            (None, None, true) => {}
            (None, None, false) => self.report(
                Code::EphemeralHostKeys,
                route.clone(),
                "the jump host has no hostKeys: each pod makes new ones, and SSH clients then refuse to connect",
                "write `hostKeys: {volumeClaim: {}}` if the base cluster has storage, \
                 `{secretName: NAME}` with keys of your own, or `{ephemeral: true}` to accept it",
            ),
            _ => {
                let message = "the jump host has several sources of host keys";
                let help = "choose one of secretName, volumeClaim and `ephemeral: true`";
                self.report(Code::InvalidField, route.clone(), message, help);
                return None;
            }
        }
        Some(storage)
    }

    fn volume_claim(&mut self, claim: &VolumeClaimFields, route: &Route) -> Option<VolumeClaim> {
        let parse =
            |name: &String| name.parse().map_err(|error: Invalid| format!("`{name}` {error}"));
        let parsed = claim.storage_class_name.as_ref().map(parse).transpose();
        let route = below(route, ["volumeClaim", "storageClassName"]);
        let help = "name a storage class of the base cluster, or omit it for the default one";
        let storage_class_name = self.accept(parsed, Code::WrongType, route, help)?;
        Some(VolumeClaim { storage_class_name, storage: claim.storage.clone() })
    }
}

/// Validates a line of an `authorized_keys` file: a public key, possibly after options.
fn check_authorized_key(line: &str) -> Result<(), String> {
    if line.contains(['\n', '\r']) {
        return Err("it has more than one line".to_owned());
    }
    // sshd skips any run of blanks between the fields.
    let parse = |key: &str| {
        let key: Result<PublicKey, _> = joined(key.split_ascii_whitespace(), " ").parse();
        key.map(drop).map_err(|error| in_words(&error).to_owned())
    };
    if parse(line).is_ok() {
        return Ok(());
    }
    let Some((mut options, key)) = split_outside_quotes(line, &[' ', '\t']) else {
        return Err("it is not a key type and a key, separated by a space".to_owned());
    };
    parse(key)?;
    while !options.is_empty() {
        let (option, rest) = split_outside_quotes(options, &[',']).unwrap_or((options, ""));
        let name = option.split('=').next().unwrap_or_default().to_ascii_lowercase();
        if !OPTIONS.split(' ').any(|known| known == name) {
            return Err(
                "it has an option that sshd does not know, so sshd would ignore the key".to_owned()
            );
        }
        options = rest;
    }
    Ok(())
}

/// Describes an invalid key without quoting it.
fn in_words(error: &ssh_key::Error) -> &'static str {
    match error {
        ssh_key::Error::Encoding(_) | ssh_key::Error::TrailingData { .. } => {
            "it is truncated or corrupted"
        }
        ssh_key::Error::AlgorithmUnknown | ssh_key::Error::AlgorithmUnsupported { .. } => {
            "it is of no known kind"
        }
        _ => "its content does not match its key type",
    }
}

/// Options that sshd knows.
const OPTIONS: &str = "agent-forwarding cert-authority command environment expiry-time from no-agent-forwarding \
    no-port-forwarding no-pty no-touch-required no-user-rc no-x11-forwarding permitlisten \
    permitopen port-forwarding principals pty restrict tunnel user-rc verify-required \
    x11-forwarding";

/// Splits a text at the first unquoted occurrence of some characters.
fn split_outside_quotes<'a>(text: &'a str, separators: &[char]) -> Option<(&'a str, &'a str)> {
    let mut quoted = false;
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        if character == '"' && !escaped {
            quoted = !quoted;
        } else if !quoted && separators.contains(&character) {
            return Some((&text[..index], &text[index + character.len_utf8()..]));
        }
        escaped = character == '\\';
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L";

    #[test]
    fn a_key_may_have_options_before_it_and_a_comment_of_several_words_behind_it() {
        for options in [
            "",
            "restrict ",
            "no-pty,from=\"192.0.2.0/24\" ",
            r#"command="echo \"a b\", c",no-pty "#,
        ] {
            for (blank, comment) in [
                (" ", ""),
                (" ", " operator"),
                (" ", " an operator of the lab"),
                ("  ", ""),
                ("\t", " operator"),
                (" \t ", "\toperator"),
            ] {
                let line = format!("{options}{}{comment}", KEY.replace(' ', blank));
                assert_eq!(check_authorized_key(&line), Ok(()), "{line}");
            }
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let unclosed = format!("command=\"echo {KEY}");
        let lines = format!("{KEY}\n{KEY}");
        let unknown = format!("no-tty,restrict {KEY}");
        for line in
            ["", "restrict", "restrict ", "ssh-ed25519 AAAA", "\"", &unclosed, &lines, &unknown]
        {
            assert!(check_authorized_key(line).is_err(), "{line}");
        }
    }
}
