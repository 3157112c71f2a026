//! Decrypts the network data that hosts need, with the locally installed sops.
//!
//! Each file is decrypted once, in memory, and only its addresses are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use super::networks::{
    EncryptedValue, LocatedNetworkData, NetworkDataError, kept_secret, read_decrypted, read_text,
    value,
};
use crate::base::api::network_data::{NetworkData, NetworkDataSecret};
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::counted;
use crate::input::load::Files;
use crate::input::load::objects;
use crate::input::load::sops::{self, SopsError};

/// Decrypts the encrypted part of some network data. A failure is a finding, because a run without
/// these addresses would choose other hosts.
pub(crate) fn decrypt(repo: &Files, held: Vec<&mut LocatedNetworkData>) -> Vec<Finding> {
    let mut sealed: Vec<(&mut LocatedNetworkData, EncryptedValue)> = Vec::new();
    for held in held {
        let Err(NetworkDataError::Encrypted(seal)) = &held.data else {
            continue;
        };
        let seal = seal.clone();
        sealed.push((held, seal));
    }
    let sources: BTreeSet<SopsInput> =
        sealed.iter().filter_map(|(_, seal)| seal.source()).collect();
    let decrypt = |source: SopsInput| {
        let text = match &source {
            SopsInput::File(file) => repo.text(file).unwrap_or_default(),
            SopsInput::Text(text) => text.clone(),
        };
        let decrypted = sops::form(&text)
            .ok_or(SopsError::NoMetadata)
            .and_then(|form| sops::decrypt(&text, form));
        (source, decrypted)
    };
    let decrypted: BTreeMap<SopsInput, Result<String, SopsError>> =
        // In parallel, because each source starts a sops process.
        sources.into_par_iter().map(decrypt).collect();
    let mut refused: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (held, seal) in sealed {
        let Some(decrypted) = seal.source().and_then(|source| decrypted.get(&source)) else {
            continue;
        };
        held.data = match decrypted {
            Ok(text) => {
                let opened = seal.open(text).map(Arc::new);
                if matches!(opened, Err(NetworkDataError::Refused)) {
                    let reason = "the file has no such value once it is decrypted".to_owned();
                    refused.entry(reason).or_default().push(held.place());
                }
                opened
            }
            Err(refusal) => {
                refused.entry(refusal.to_string()).or_default().push(held.place());
                Err(NetworkDataError::Refused)
            }
        };
    }
    refused.into_iter().map(|(reason, places)| not_decrypted(&reason, places)).collect()
}

fn not_decrypted(reason: &str, mut places: Vec<Place>) -> Finding {
    places.sort_by(|a, b| a.file().cmp(b.file()));
    let files: BTreeSet<&Arc<Utf8Path>> = places.iter().map(Place::file).collect();
    let message = format!(
        "network data in {}, which hosts need, cannot be decrypted: without these addresses, other hosts would be assigned",
        counted(files.len(), "file")
    );
    let finding = Finding::new(Code::NotDecrypted, message).help(format!(
        "provide `sops` and its key to sipgen, for instance by SOPS_AGE_KEY_FILE; {reason}"
    ));
    places.into_iter().fold(finding, Finding::at)
}

/// The input of one sops call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SopsInput {
    File(Utf8PathBuf),
    Text(String),
}

impl EncryptedValue {
    /// Returns the input for sops.
    fn source(&self) -> Option<SopsInput> {
        match self {
            EncryptedValue::Object(file, ..) => Some(SopsInput::File(file.to_path_buf())),
            EncryptedValue::File(file) => Some(SopsInput::File(file.clone())),
            EncryptedValue::Text(text) => Some(SopsInput::Text(text.clone())),
            EncryptedValue::Rendered => None,
        }
    }

    /// Finds the network data in the decrypted text.
    fn open(&self, text: &str) -> Result<NetworkData, NetworkDataError> {
        match self {
            EncryptedValue::Object(file, name, namespace) => {
                let documents = objects(file, text);
                let mut read = documents
                    .iter()
                    .filter(|document| document.kind() == Some("Secret"))
                    .filter_map(|document| document.parse::<NetworkDataSecret>().ok());
                let is_it = |object: &NetworkDataSecret| {
                    let own = object.metadata.namespace.clone().unwrap_or_default();
                    object.metadata.name.as_ref() == Some(name)
                        && namespace.as_ref().is_none_or(|namespace| *namespace == own)
                };
                let object = read.find(is_it).ok_or(NetworkDataError::Refused)?;
                let value = value(&object).ok_or(NetworkDataError::Refused)?;
                read_decrypted(value.text, value.is_encoded)
            }
            EncryptedValue::File(_) | EncryptedValue::Text(_) => {
                kept_secret(read_text(text, || EncryptedValue::Rendered))
            }
            EncryptedValue::Rendered => Err(NetworkDataError::Refused),
        }
    }
}
