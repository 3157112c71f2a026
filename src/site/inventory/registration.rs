//! Mistakes for which a host is not registered: in its BMC address, boot MAC address and labels.

use yaml_serde::Value;

use super::host::Host;
use crate::base::api::bmc::{BmcAddress, InvalidBmcAddress};
use crate::base::api::host::{self, BareMetalHost, BareMetalHostSpec};
use crate::base::api::mac::MacAddress;
use crate::base::api::names::is_label;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::layout::VARIABLE;
use crate::base::text::{counted, non_empty};

/// A mistake that some hosts share.
struct HostMistake {
    /// Completes "host metal/r07-n01 has".
    what: &'static str,
    help: &'static str,
    /// The place in a host with the mistake.
    place: fn(&Host) -> Option<Place>,
}

/// Credentials in a BMC address. Metal3 and jump hosts ignore them and log in by the Secret. No part of the
/// address is shown.
const CREDENTIALS: HostMistake = HostMistake {
    what: "credentials in the BMC address",
    help: "take it out, and set a new password: whoever reads the repo or its history knows this one. Metal3 logs in by \
           the Secret that spec.bmc.credentialsName names",
    place: |host| {
        let has_user = host.bmc().is_some_and(|bmc| host::has_user(&bmc.address));
        has_user.then(|| host.origin.at(BMC_ADDRESS))
    },
};

/// Mistakes for which the API server, or Metal3, refuses a host.
const REFUSED: [HostMistake; 8] = [
    HostMistake {
        what: "no valid boot MAC address",
        help: "write the MAC address of the interface that the host boots from, as six pairs of hexadecimal digits \
               with colons, such as `52:54:00:ab:cd:ef`; until then the API server refuses it, and sipgen assigns it \
               only if a snapshot shows it",
        place: |host| has_invalid_boot_mac(host).then(|| host.origin.at(BOOT_MAC)),
    },
    HostMistake {
        what: "no boot MAC address",
        help: "set `spec.bootMACAddress`: most releases of Metal3 refuse a host without it, unless it boots from \
               virtual media",
        place: |host| lacks_boot_mac(host).then(|| host.origin.at(["spec"])),
    },
    HostMistake {
        what: "network data in another namespace",
        help: "move the Secret to the host's namespace, and remove `namespace` here; until then the API server \
               refuses the host, and an agent may apply nothing of that build",
        place: |host| {
            let is_refused = !host.live.is_object && is_in_other_namespace(host);
            is_refused.then(|| host.origin.at(["spec", "networkData", "namespace"]))
        },
    },
    HostMistake {
        what: "a UUID as the name",
        help: "give it another name; Metal3 tells hosts by names from Ironic's UUIDs, and refuses the host until then",
        place: |host| {
            let is_refused = !host.live.is_object && is_uuid(host.key.name.as_str());
            is_refused.then(|| host.origin.name())
        },
    },
    HostMistake {
        what: "a label that the API server refuses",
        help: "write letters, digits, `-`, `_` and `.`, at most 63 characters, with a letter or digit at both ends; \
               the key may have the prefix of a domain. Until then an agent may apply nothing of that build",
        place: |host| {
            let (key, _) = host.labels.iter().find(|(key, value)| {
                !key.contains(VARIABLE) && !value.contains(VARIABLE) && !is_label(key, value)
            })?;
            Some(host.origin.at(["metadata", "labels", key.as_str()]))
        },
    },
    HostMistake {
        what: "neither true nor false in `spec.online`",
        help: "write `online: true` or `online: false`, without quotes; until then the API server refuses the host, \
               and an agent may apply nothing of that build",
        place: |host| {
            let is_refused = !host.live.is_object && has_invalid_online(host);
            is_refused.then(|| host.origin.at(["spec", "online"]))
        },
    },
    HostMistake {
        what: "no credentialsName for the BMC",
        help: "name the Secret with `username` and `password` in `spec.bmc.credentialsName`; until then Metal3 does not \
               register the host",
        place: |host| {
            let bmc = host.bmc().filter(|_| !host.live.is_object)?;
            let is_missing = !bmc.address.is_empty() && bmc.credentials_name.is_empty();
            is_missing.then(|| host.origin.at(["spec", "bmc"]))
        },
    },
    HostMistake {
        what: "another boot MAC or BMC address than the live object",
        help: "restore it, or take a new snapshot: Metal3 refuses another boot MAC address, and another BMC address \
               unless the host is detached. Until then an agent may apply nothing of that build",
        place: |host| host.refused_change.map(|field| host.origin.at(field.iter().copied())),
    },
];

/// Reports the mistakes of all hosts.
pub(super) fn mistakes(hosts: &[Host]) -> Vec<Finding> {
    let mut findings = invalid_bmc_addresses(hosts);
    findings.extend(CREDENTIALS.finding(Code::UserInBmcAddress, hosts));
    if hosts.iter().any(|host| host.is_refused) {
        findings.extend(REFUSED.iter().filter_map(|it| it.finding(Code::RefusedHost, hosts)));
    }
    findings
}

/// Returns whether a host has a mistake for which it is refused.
pub(super) fn is_refused(host: &Host) -> bool {
    REFUSED.iter().any(|mistake| (mistake.place)(host).is_some())
}

impl HostMistake {
    fn finding(&self, code: Code, hosts: &[Host]) -> Option<Finding> {
        let found = hosts.iter().filter_map(|host| Some((host, (self.place)(host)?)));
        let (hosts, places): (Vec<&Host>, Vec<Place>) = found.unzip();
        let message = format!("{} {}", in_number(&hosts)?, self.what);
        let places = places.into_iter().zip(hosts.iter().map(|host| host.key.to_string()));
        Some(Finding::new(code, message).help(self.help).see_each(places))
    }
}

pub(super) const BMC_ADDRESS: [&str; 3] = ["spec", "bmc", "address"];
const BOOT_MAC: [&str; 2] = ["spec", "bootMACAddress"];

/// Returns whether Metal3's webhook takes a name for a UUID, with or without hyphens.
pub(super) fn is_uuid(name: &str) -> bool {
    let groups: Vec<usize> = name.split('-').map(str::len).collect();
    let has_form = matches!(groups[..], [32] | [8, 4, 4, 4, 12]);
    has_form && name.split('-').flat_map(str::bytes).all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a host names network data of another namespace. Metal3's webhook refuses that.
fn is_in_other_namespace(host: &Host) -> bool {
    let data = host.spec.as_ref().and_then(|spec| spec.network_data.as_ref());
    data.and_then(|data| non_empty(&data.namespace)).is_some_and(|namespace| {
        namespace != host.key.namespace.as_str() && !namespace.contains(VARIABLE)
    })
}

/// Returns the field of a manifest that Metal3's webhook refuses to change in the live object.
pub(super) fn refused_change(
    manifest: &BareMetalHost,
    live: &BareMetalHost,
) -> Option<&'static [&'static str]> {
    let is_other = |field: fn(&BareMetalHostSpec) -> Option<&str>| {
        let [declared, known] = [manifest, live].map(|host| field(host.spec.as_ref()?));
        let known = known.filter(|known| !known.is_empty());
        known.zip(declared).is_some_and(|(known, declared)| {
            !declared.contains(VARIABLE) && !known.eq_ignore_ascii_case(declared)
        })
    };
    let status = live.status.as_ref();
    let may_move = status.is_none_or(|status| {
        let state = status.provisioning.as_ref().and_then(|it| it.state.as_deref());
        status.operational_status.as_deref() == Some("detached")
            || state.is_none_or(|state| state.is_empty() || state == "registering")
    });
    if is_other(|spec| spec.boot_mac_address.as_deref()) {
        return Some(&BOOT_MAC);
    }
    let is_moved = !may_move && is_other(|spec| Some(spec.bmc.as_ref()?.address.as_str()));
    is_moved.then_some(&BMC_ADDRESS)
}

/// Parses the BMC address of a host, unless it is absent or a variable decides it.
pub(super) fn bmc_address(host: &Host) -> Option<Result<BmcAddress, InvalidBmcAddress>> {
    let address = host.bmc()?.address.as_str();
    (!address.is_empty() && !address.contains(VARIABLE)).then(|| BmcAddress::parse(address))
}

/// Returns whether Metal3 cannot register a host, which no snapshot shows: it refuses one with an invalid
/// BMC address, and keeps one without any as `unmanaged`.
pub(crate) fn lacks_bmc(host: &Host) -> bool {
    let has_variable = host.bmc().is_some_and(|bmc| bmc.address.contains(VARIABLE));
    let is_valid = |parsed: Result<BmcAddress, _>| parsed.is_ok_and(|bmc| bmc.driver().is_ok());
    !host.live.is_object && !has_variable && !bmc_address(host).is_some_and(is_valid)
}

/// Reports BMC addresses that Metal3's webhook refuses.
fn invalid_bmc_addresses(hosts: &[Host]) -> Vec<Finding> {
    let invalid = grouped(hosts.iter().filter_map(|host| {
        let driver = bmc_address(host)?.and_then(|address| address.driver().map(drop));
        Some((driver.err()?.to_string(), host))
    }));
    let describe = |(error, hosts): (String, Vec<&Host>)| {
        let subject = match hosts.as_slice() {
            [host] => format!("the BMC address of host {} is", host.key),
            _ => format!("the BMC addresses of {} are", counted(hosts.len(), "host")),
        };
        let finding = Finding::new(Code::InvalidBmcAddress, format!("{subject} invalid: {error}"))
            .help(
                "write it as Metal3 reads it, such as `redfish://192.0.2.1/redfish/v1/Systems/1`; until then Metal3 \
                 refuses the host, and jump hosts have no power control over it",
            );
        let place = |host: &&Host| (host.origin.at(BMC_ADDRESS), host.key.to_string());
        finding.see_each(hosts.iter().map(place))
    };
    invalid.into_iter().map(describe).collect()
}

/// Returns whether a host has no boot MAC address although its driver boots it from the network. Until
/// August 2026 Metal3 refused such hosts; since then inspection has to find the address.
fn lacks_boot_mac(host: &Host) -> bool {
    let needs_it = |address: BmcAddress| {
        address.driver().is_ok_and(|driver| !driver.ends_with("virtualmedia"))
    };
    // A host with a state is registered, with or without it.
    let is_registered = host.live.provisioning.is_some();
    !is_registered
        && boot_mac(host).is_none()
        && bmc_address(host).is_some_and(|it| it.is_ok_and(needs_it))
}

/// Returns whether the API server refuses a power state.
fn has_invalid_online(host: &Host) -> bool {
    host.spec.as_ref().is_some_and(|spec| match &spec.online {
        Some(Value::Bool(_)) => false,
        Some(Value::String(text)) => !text.contains(VARIABLE),
        _ => true,
    })
}

/// Returns whether the API server and Ironic refuse the boot MAC address of a host.
pub(crate) fn has_invalid_boot_mac(host: &Host) -> bool {
    boot_mac(host).is_some_and(|text| {
        let has_colons = text.bytes().filter(|byte| *byte == b':').count() == 5;
        let is_unicast = host.network.boot_mac.is_some_and(MacAddress::is_unicast);
        !(text.contains(VARIABLE) || has_colons && is_unicast)
    })
}

fn boot_mac(host: &Host) -> Option<&str> {
    non_empty(&host.spec.as_ref()?.boot_mac_address)
}

/// Returns a subject with its verb: `host metal/r07-n01 has`, `2 hosts have`; `None` for no host.
pub(super) fn in_number(hosts: &[&Host]) -> Option<String> {
    match hosts {
        [] => None,
        [host] => Some(format!("host {} has", host.key)),
        _ => Some(format!("{} have", counted(hosts.len(), "host"))),
    }
}
