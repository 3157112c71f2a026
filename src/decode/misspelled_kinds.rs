//! Objects that were surely meant to be ours and are not: a kind in another case, a slip in a kind or an API group.
//!
//! To every reader they are objects of some other kind, so a cluster would be gone without a word, and its hosts given
//! back.

use serde::Deserialize;

use crate::api::object_kind::ObjectKind;
use crate::api::{group, host, provisioning, sipcluster};
use crate::finding::{Code, Finding};
use crate::load::Document;
use crate::text::suggest::{is_spelled_like, letters};

/// Words of which every file has one that may have such an object, however its kind is written.
pub(crate) const WORDS: [&str; 5] = [
    "airship",
    "metal3",
    "akraino",
    "masterSoftware",
    "workerSoftware",
];

/// Kinds for which a misspelled one may be meant.
static OURS: [&ObjectKind; 4] = [
    &sipcluster::OBJECT,
    &host::OBJECT,
    &provisioning::OBJECT,
    &provisioning::SOFTWARE,
];

/// How many letters of a kind may be wrong. No other kind of metal3.io, airshipit.org or akraino.org is as near to one of ours.
const SLIPS_IN_KIND: usize = 2;
/// How many letters of an API group may be wrong. `metalkube.org`, the former group of hosts, is further away.
const SLIPS_IN_GROUP: usize = 3;

/// The part of an object that says what it is.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "apiVersion", default)]
    api_version: Option<String>,
}

/// The kind of ours that a kind may be meant for, in whatever case and with a slip or two.
fn meant(kind: &str) -> Option<&'static ObjectKind> {
    let is_meant = |ours: &str| {
        // Most kinds are told from ours without counting letters.
        kind == ours
            || kind.len().abs_diff(ours.len()) <= SLIPS_IN_KIND + 1
                && slips(kind, ours) <= SLIPS_IN_KIND
    };
    OURS.into_iter().find(|ours| is_meant(ours.kind))
}

fn slips(one: &str, other: &str) -> usize {
    let plain = |text: &str| letters(text).collect::<String>();
    strsim::damerau_levenshtein(&plain(one), &plain(other))
}

/// What is wrong with an object that is nearly one of ours. One of the right kind and group, of a wholly other group, or
/// that cannot be parsed, is none. `said` is its apiVersion, where somebody has read it.
pub(crate) fn near_miss(
    document: &Document<'_>,
    said: Option<String>,
) -> Option<(&'static str, Finding)> {
    let kind = document.kind()?;
    let ObjectKind {
        kind: ours,
        group: own_group,
        domain,
        api_version,
        distinctive_fields: telling,
        ..
    } = *meant(kind)?;
    let read = || {
        document
            .parse::<Head>()
            .map(|head| head.api_version.unwrap_or_default())
            .ok()
    };
    let written = said.or_else(read)?;
    let group = group(&written);
    let is_below = group
        .strip_suffix(domain)
        .is_some_and(|before| before.is_empty() || before.ends_with('.'));
    // Nothing of Kubernetes' own group is called like ours. A slip in the kind as well makes another word of it.
    let is_near = if group.is_empty() {
        is_spelled_like(kind, ours) && (telling.is_empty() || document.mentions(telling))
    } else {
        is_below || slips(group, own_group) <= SLIPS_IN_GROUP
    };
    if !is_near || (kind == ours && group == own_group) {
        return None;
    }
    let of = if written.is_empty() {
        "without apiVersion".to_owned()
    } else {
        format!("of {written}")
    };
    let message = format!("there is no kind `{kind}` {of}: the object is no {ours}");
    let lost = match ours {
        host::KIND => "it would not be seen, and a cluster that has the host would lose it",
        provisioning::SOFTWARE_KIND => {
            "it would not be seen, and the machines of its cluster would lack its packages"
        }
        _ => "it would not be seen, and the hosts of its cluster would be given back",
    };
    let (field, right) = if kind == ours {
        ("apiVersion", api_version)
    } else {
        ("kind", ours)
    };
    let also = if kind != ours && group != own_group {
        format!(" and `apiVersion: {api_version}`")
    } else {
        String::new()
    };
    Some((
        ours,
        Finding::new(Code::NearMiss, message)
            .at(document.origin.at([field]))
            .help(format!("write `{field}: {right}`{also}; {lost}")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_kinds_of_the_same_groups_are_not_misspelt() {
        for kind in [
            "BMCEventSubscription",
            "DataImage",
            "FirmwareSchema",
            "HardwareData",
            "HostClaim",
            "HostDeployPolicy",
            "HostFirmwareComponents",
            "HostFirmwareSettings",
            "HostUpdatePolicy",
            "IPPool",
            "Ironic",
            "Metal3Cluster",
            "Metal3Data",
            "Metal3Machine",
            "PreprovisioningImage",
            "Vino",
            "Cluster",
            "BareMetalHostStatus",
            "Provisioner",
            "ProvisioningRequest",
            "Hardware",
        ] {
            assert!(meant(kind).is_none(), "{kind}");
        }
    }

    #[test]
    fn a_kind_in_another_case_or_with_a_slip_is_understood() {
        for (kind, ours) in [
            ("SIPcluster", "SIPCluster"),
            ("SIPClusters", "SIPCluster"),
            ("SipCluster", "SIPCluster"),
            ("sip-cluster", "SIPCluster"),
            ("SIPClutser", "SIPCluster"),
            ("BaremetalHost", "BareMetalHost"),
            ("BareMetalHosts", "BareMetalHost"),
            ("BareMatelHost", "BareMetalHost"),
            ("Provisionings", "Provisioning"),
            ("provisioning", "Provisioning"),
            ("Provisoning", "Provisioning"),
            ("SoftWare", "Software"),
        ] {
            assert_eq!(meant(kind).map(|ours| ours.kind), Some(ours), "{kind}");
        }
    }
}
