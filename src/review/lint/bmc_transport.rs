//! Rule: a jump host logs in to BMCs that no certificate identifies. Whoever answers at their address
//! gets the password.

use super::assigned_hosts;
use crate::base::api::bmc::BmcAddress;
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::counted;
use crate::input::settings::Credentials;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::Cluster;

/// Finds BMCs behind jump hosts that have no TLS, or whose certificate is not verified.
pub(super) fn unverified(site: &Site, plan: &Plan, clusters: &[&Cluster]) -> Option<Finding> {
    if site.settings.credentials == Credentials::None {
        return None;
    }
    let (mut plain, mut unverified): (Vec<&Host>, Vec<&Host>) = (Vec::new(), Vec::new());
    let has_jump_host =
        |cluster: &&&Cluster| cluster.services.iter().any(|service| service.kind.logs_in_to_bmcs);
    let behind = clusters.iter().filter(has_jump_host);
    for host in behind.flat_map(|cluster| assigned_hosts(site, plan, cluster)) {
        let Some(bmc) = host.bmc() else { continue };
        // Jump hosts use only Redfish.
        match BmcAddress::parse(&bmc.address).ok().filter(BmcAddress::is_redfish) {
            Some(address) if address.transport() == "http" => plain.push(host),
            Some(_) if bmc.disable_certificate_verification => unverified.push(host),
            _ => {}
        }
    }
    let unset = "with `disableCertificateVerification`";
    let parts = [
        (&plain, "without TLS", "address"),
        (&unverified, unset, "disableCertificateVerification"),
    ];
    let parts = parts.into_iter().filter_map(|(hosts, what, field)| {
        let first = hosts.first()?;
        let words = format!("{} {what}, such as that of host `{}`", hosts.len(), first.key);
        Some((words, first.origin.at(["spec", "bmc", field])))
    });
    let (words, places): (Vec<String>, Vec<Place>) = parts.unzip();
    let (first, others) = places.split_first()?;
    let bmcs = counted(plain.len() + unverified.len(), "BMC");
    let words = words.join(", and ");
    let message = format!("jump hosts log in to {bmcs} that no certificate identifies: {words}");
    let finding = Finding::new(Code::UnverifiedBmc, message).at(first.clone());
    let others = others.iter().map(|place| (place.clone(), "not verified"));
    Some(finding.see_each(others).help(
        "use `https` and certificates of an authority that the jump host's image trusts; if only trusted machines reach \
         these BMCs, list SIP0319 in `findings.ignore` of sipgen.yaml, with that reason",
    ))
}
