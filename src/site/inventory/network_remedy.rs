//! Ways to give a host network data, depending on the content of the repo.

use super::host::Host;
use super::networks::NoNetworkData;
use crate::base::api::ipam::ADDRESSES;
use crate::base::text::known_names;

/// Returns advice for a host without network data: a command, or lines to write. `None` if the host
/// has some, or another finding advises already.
pub(crate) fn remedy(host: &Host) -> Option<String> {
    let (namespace, name) = (&host.key.namespace, &host.key.name);
    match &host.network.data {
        Err(NoNetworkData::Absent) => {
            let secret = format!("{name}-network-data");
            Some(match &host.file {
                Some(file) if host.is_declared() => format!(
                    "add a Secret with the key `networkData` to {file}, and name it in host {}: `spec: {{networkData: \
                     {{name: {secret}}}}}`",
                    host.key
                ),
                _ => format!(
                    "add a Secret with the key `networkData` to the base cluster and name it in host {}, then run \
                     `sipgen snapshot`: `kubectl patch baremetalhost -n {namespace} {name} --type merge -p \
                     '{{\"spec\":{{\"networkData\":{{\"name\":\"{secret}\"}}}}}}'`",
                    host.key
                ),
            })
        }
        Err(NoNetworkData::Missing(secret)) if host.is_declared() => Some(format!(
            "add the Secret {secret} to the repo, with network data under the key `networkData`; if a controller makes it, \
             as from an ExternalSecret, annotate host {} with `{ADDRESSES}: NETWORK=ADDRESS` instead",
            host.key
        )),
        Err(NoNetworkData::Missing(secret)) => Some(format!(
            "run `sipgen snapshot`, which takes the network data of hosts; if it is missing afterwards, the Secret \
             {secret} is not in the base cluster"
        )),
        Err(NoNetworkData::Keyless(secret, keys)) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let has = known_names(&keys, KEYS_SHOWN);
            Some(format!(
                "put the network data of the Secret {secret} under the key `networkData`; it has {has}"
            ))
        }
        Err(NoNetworkData::OtherFormat(holder, format)) => Some(format!(
            "{holder} has the format of {format}, which sipgen does not read; leave it for the program that does, and \
             give host {} its addresses by the annotation `{ADDRESSES}: NETWORK=ADDRESS`, or by a Secret with OpenStack's \
             network_data.json under the key `networkData`: `spec: {{networkData: {{name: {name}-network-data}}}}`",
            host.key
        )),
        Ok(_) | Err(NoNetworkData::Unreadable(..) | NoNetworkData::Encrypted(..)) => None,
    }
}

/// Maximum number of Secret keys that a message lists.
const KEYS_SHOWN: usize = 3;
