//! Mistakes for which a host is not registered: in its BMC address, boot MAC address and labels.

use std::collections::BTreeMap;
use std::net::IpAddr;

use yaml_serde::Value;

use super::host::Host;
use crate::base::api::bmc::{BmcAddress, InvalidBmcAddress};
use crate::base::api::host;
use crate::base::api::mac::MacAddress;
use crate::base::api::names::is_label;
use crate::base::finding::{Code, Finding, Place, RouteStep};
use crate::base::layout::VARIABLE;
use crate::base::text::counted;

/// Reports the mistakes of all hosts.
pub(super) fn mistakes(hosts: &[Host]) -> Vec<Finding> {
    let mut findings = invalid_bmc_addresses(hosts);
    findings.extend(bmcs_with_user(hosts));
    findings.extend(invalid_boot_macs(hosts));
    findings.extend(missing_boot_macs(hosts));
    findings.extend(invalid_labels(hosts));
    findings.extend(invalid_online(hosts));
    findings
}

pub(super) const BMC_ADDRESS: [&str; 3] = ["spec", "bmc", "address"];
const BOOT_MAC: [&str; 2] = ["spec", "bootMACAddress"];

/// Returns the BMC address of a host as written, unless it is absent or a variable decides it.
fn bmc_address(host: &Host) -> Option<&str> {
    let address = host.bmc.as_ref()?.address.as_str();
    (!address.is_empty() && !address.contains(VARIABLE)).then_some(address)
}

/// Returns the IP address of a host's BMC.
pub(super) fn bmc_ip(host: &Host) -> Option<IpAddr> {
    BmcAddress::parse(bmc_address(host)?).ok()?.host.parse().ok()
}

/// Reports BMC addresses that Metal3's webhook refuses.
fn invalid_bmc_addresses(hosts: &[Host]) -> Vec<Finding> {
    let mut invalid: BTreeMap<String, (InvalidBmcAddress, Vec<&Host>)> = BTreeMap::new();
    for host in hosts {
        let Some(address) = bmc_address(host) else {
            continue;
        };
        let parsed = BmcAddress::parse(address);
        if let Err(error) = parsed.and_then(|parsed| parsed.driver().map(drop)) {
            let same_error = invalid.entry(error.to_string());
            same_error.or_insert((error, Vec::new())).1.push(host);
        }
    }
    let describe = |(error, hosts): (InvalidBmcAddress, Vec<&Host>)| {
        let subject = match hosts.as_slice() {
            [host] => format!("the BMC address of host {} is", host.key),
            _ => format!("the BMC addresses of {} are", counted(hosts.len(), "host")),
        };
        let finding = Finding::new(Code::InvalidBmcAddress, format!("{subject} invalid: {error}"))
            .help(
                "write it as Metal3 reads it, such as `redfish://192.0.2.1/redfish/v1/Systems/1`; until then Metal3 \
                 refuses the host, and jump hosts have no power control over it",
            );
        with_hosts(finding, &hosts, BMC_ADDRESS)
    };
    invalid.into_values().map(describe).collect()
}

/// Reports credentials in BMC addresses, which Metal3 and jump hosts ignore: they log in by the
/// Secret in `credentialsName`. No part of the address is shown.
fn bmcs_with_user(hosts: &[Host]) -> Option<Finding> {
    let has_user = |host: &&Host| host.bmc.as_ref().is_some_and(|bmc| host::has_user(&bmc.address));
    let hosts: Vec<&Host> = hosts.iter().filter(has_user).collect();
    let message = format!("{} credentials in the BMC address", in_number(&hosts)?);
    let finding = Finding::new(Code::UserInBmcAddress, message).help(
        "take it out, and set a new password: whoever reads the repo or its history knows this one. Metal3 logs in by \
         the Secret that spec.bmc.credentialsName names",
    );
    Some(with_hosts(finding, &hosts, BMC_ADDRESS))
}

/// Reports boot MAC addresses that the API server refuses, or that no network card has.
fn invalid_boot_macs(hosts: &[Host]) -> Option<Finding> {
    let is_invalid = |host: &&Host| host.network.has_invalid_boot_mac;
    let hosts: Vec<&Host> = hosts.iter().filter(is_invalid).collect();
    let message = format!("{} no valid boot MAC address", in_number(&hosts)?);
    let finding = Finding::new(Code::RefusedHost, message).help(
        "write the MAC address of the interface that the host boots from, as six pairs of hexadecimal digits with \
         colons, such as `52:54:00:ab:cd:ef`; until then the API server refuses it, and sipgen assigns it \
         only if a snapshot shows it",
    );
    Some(with_hosts(finding, &hosts, BOOT_MAC))
}

/// Reports hosts without a boot MAC address whose driver boots them from the network. Until August
/// 2026 Metal3 refused them; since then inspection has to find the address.
fn missing_boot_macs(hosts: &[Host]) -> Option<Finding> {
    let is_missing = |host: &&Host| {
        let network = &host.network;
        let is_known = network.boot_mac.is_some() || network.has_boot_mac;
        let needs = || {
            let address = bmc_address(host).and_then(|address| BmcAddress::parse(address).ok());
            address.is_some_and(|address| {
                let driver = address.driver();
                driver.is_ok_and(|driver| !driver.ends_with("virtualmedia"))
            })
        };
        // A host with a state is registered, with or without it.
        !is_known && host.live.provisioning.is_none() && needs()
    };
    let hosts: Vec<&Host> = hosts.iter().filter(is_missing).collect();
    let message = format!("{} no boot MAC address", in_number(&hosts)?);
    let finding = Finding::new(Code::RefusedHost, message).help(
        "set `spec.bootMACAddress`: most releases of Metal3 refuse a host without it, unless it boots from virtual media",
    );
    Some(with_hosts(finding, &hosts, ["spec"]))
}

/// Reports hosts without the power state, which the API server requires.
fn invalid_online(hosts: &[Host]) -> Option<Finding> {
    let hosts: Vec<&Host> = hosts.iter().filter(|host| host.has_invalid_online).collect();
    let message = format!("{} neither true nor false in `spec.online`", in_number(&hosts)?);
    let finding = Finding::new(Code::RefusedHost, message).help(
        "write `online: true` or `online: false`, without quotes; until then the API server refuses the host, and an \
         agent may apply nothing of that build",
    );
    Some(with_hosts(finding, &hosts, ["spec", "online"]))
}

/// Returns whether the API server refuses a power state.
pub(super) fn is_invalid_online(online: Option<&Value>) -> bool {
    match online {
        Some(Value::Bool(_)) => false,
        Some(Value::String(text)) => !text.contains(VARIABLE),
        _ => true,
    }
}

/// Reports labels that the API server refuses, by the first one of each host.
fn invalid_labels(hosts: &[Host]) -> Option<Finding> {
    let is_invalid = |(key, value): &(&String, &String)| {
        !key.contains(VARIABLE) && !value.contains(VARIABLE) && !is_label(key, value)
    };
    let invalid = hosts.iter().filter_map(|host| {
        let (key, _) = host.labels.iter().find(is_invalid)?;
        Some((host, host.origin.at(["metadata", "labels", key.as_str()])))
    });
    let (hosts, places): (Vec<&Host>, Vec<Place>) = invalid.unzip();
    let message = format!("{} a label that the API server refuses", in_number(&hosts)?);
    let finding = Finding::new(Code::RefusedHost, message).help(
        "write letters, digits, `-`, `_` and `.`, at most 63 characters, with a letter or digit at both ends; the key may \
         have the prefix of a domain. Until then an agent may apply nothing of that build",
    );
    Some(finding.see_each(places.into_iter().zip(hosts.iter().map(|host| host.key.to_string()))))
}

/// Returns whether the API server and Ironic refuse a boot MAC address.
pub(super) fn is_invalid_boot_mac(text: &str) -> bool {
    let has_colons = text.bytes().filter(|byte| *byte == b':').count() == 5;
    let parsed: Option<MacAddress> = text.parse().ok();
    let is_accepted = has_colons && parsed.is_some_and(MacAddress::is_unicast);
    !text.is_empty() && !text.contains(VARIABLE) && !is_accepted
}

fn with_hosts<const N: usize>(
    finding: Finding,
    hosts: &[&Host],
    route: [&'static str; N],
) -> Finding {
    let place = |host: &Host| host.origin.at(route.into_iter().map(RouteStep::from));
    finding.see_each(hosts.iter().map(|host| (place(host), host.key.to_string())))
}

/// Returns a subject with its verb: `host metal/r07-n01 has`, `2 hosts have`; `None` for no host.
pub(super) fn in_number(hosts: &[&Host]) -> Option<String> {
    match hosts {
        [] => None,
        [host] => Some(format!("host {} has", host.key)),
        _ => Some(format!("{} have", counted(hosts.len(), "host"))),
    }
}
