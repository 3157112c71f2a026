//! Objects with a misspelled kind or API group that were meant for sipgen.
//!
//! Every program treats them as another kind. Without a finding, a cluster would vanish silently
//! and release its hosts.

use serde::Deserialize;

use crate::base::api::object_kind::ObjectKind;
use crate::base::api::{group, host, provisioning, sipcluster};
use crate::base::finding::{Code, Finding};
use crate::base::text::suggest::{is_spelled_like, letters};
use crate::input::load::Document;

/// Words of which every file with such an object has at least one, however its kind is spelled.
pub(crate) const WORDS: [&str; 5] =
    ["airship", "metal3", "akraino", "masterSoftware", "workerSoftware"];

/// Kinds for which a misspelled one may be meant.
static KNOWN: [&ObjectKind; 4] =
    [&sipcluster::OBJECT, &host::OBJECT, &provisioning::OBJECT, &provisioning::SOFTWARE];

/// Tolerated typos in a kind, as edit distance. All other kinds of metal3.io, airshipit.org and
/// akraino.org differ by more.
const SLIPS_IN_KIND: usize = 2;
/// Tolerated typos in an API group. `metalkube.org`, the former group of hosts, differs by more.
const SLIPS_IN_GROUP: usize = 3;

/// The part of an object that identifies its type.
#[derive(Deserialize)]
struct TypeMeta {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
}

/// Returns the kind that was probably meant, ignoring case and small typos.
fn intended(kind: &str) -> Option<&'static ObjectKind> {
    let is_meant = |ours: &str| {
        // Comparing lengths first avoids the edit distance for most kinds.
        kind == ours
            || kind.len().abs_diff(ours.len()) <= SLIPS_IN_KIND + 1
                && slips(kind, ours) <= SLIPS_IN_KIND
    };
    KNOWN.into_iter().find(|ours| is_meant(ours.kind))
}

fn slips(one: &str, other: &str) -> usize {
    let plain = |text: &str| letters(text).collect::<String>();
    strsim::damerau_levenshtein(&plain(one), &plain(other))
}

/// Reports an object whose kind, group or version is misspelled.
///
/// Objects of the exact kind and version, of an unrelated group, or that cannot be parsed are not
/// reported. `said` is the `apiVersion`, if known already.
pub(crate) fn misspelled_kind(
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
    } = *intended(kind)?;
    let read =
        || document.parse::<TypeMeta>().map(|head| head.api_version.unwrap_or_default()).ok();
    let written = said.or_else(read)?;
    let group = group(&written);
    let is_below =
        group.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    // The core group has no kinds with similar names. There, only a difference in case or
    // punctuation counts.
    let is_near = if group.is_empty() {
        is_spelled_like(kind, ours) && (telling.is_empty() || document.mentions(telling))
    } else {
        is_below || slips(group, own_group) <= SLIPS_IN_GROUP
    };
    if !is_near || (kind == ours && written == api_version) {
        return None;
    }
    let of =
        if written.is_empty() { "without apiVersion".to_owned() } else { format!("of {written}") };
    let message = if kind == ours && group == own_group {
        format!("the {kind} has the unknown apiVersion {written}")
    } else {
        format!("unknown kind `{kind}` {of}: the object is not a {ours}")
    };
    let lost = match ours {
        host::KIND => "otherwise the object is ignored, and a cluster with the host loses it",
        provisioning::SOFTWARE_KIND => {
            "otherwise the object is ignored, and its cluster's machines lack its packages"
        }
        _ => "otherwise the object is ignored, and its cluster's hosts are released",
    };
    // The place is the kind, unless only the group is wrong.
    let (field, right) = if kind == ours { ("apiVersion", api_version) } else { ("kind", ours) };
    let also = if kind != ours && group != own_group {
        format!(" and `apiVersion: {api_version}`")
    } else {
        String::new()
    };
    let finding = Finding::new(Code::NearMiss, message).at(document.origin.at([field]));
    Some((ours, finding.help(format!("write `{field}: {right}`{also}; {lost}"))))
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
            assert!(intended(kind).is_none(), "{kind}");
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
            assert_eq!(intended(kind).map(|ours| ours.kind), Some(ours), "{kind}");
        }
    }
}
