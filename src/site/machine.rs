//! What of a host's hardware decides whether it can be a node of a Provisioning.

use std::net::IpAddr;

use crate::api::mac::MacAddress;

/// A host as a Provisioning sees it. Nothing is known of any host where the repo has no Provisioning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The MAC address from which it boots (`spec.bootMACAddress`).
    pub boot_mac: Option<MacAddress>,
    /// Its network cards with the addresses that they had, in the order of inspection.
    pub nics: Vec<Nic>,
    /// How many CPUs it has, threads counted.
    pub cpu: Option<u64>,
    /// Its memory in MiB.
    pub memory_mib: Option<u64>,
    /// Whether its network cards have SR-IOV.
    pub sriov: bool,
    /// Whether it has QuickAssist.
    pub qat: bool,
}

/// A network card, once however many addresses it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Its MAC address.
    pub mac: MacAddress,
    /// Its addresses, those that are no use to others left out: IPv4 before IPv6.
    pub addresses: Vec<IpAddr>,
}

impl Machine {
    /// Whether one of its network cards has this MAC address, or it boots from it.
    pub fn has(&self, mac: MacAddress) -> bool {
        self.boot_mac == Some(mac) || self.nics.iter().any(|nic| nic.mac == mac)
    }

    /// The address under which it is reached: that of the network card with a MAC address. Without one, that of the
    /// card that it boots from, or else of the first that has any.
    pub fn address(&self, mac: Option<MacAddress>) -> Option<IpAddr> {
        let of = |mac: MacAddress| self.nics.iter().find(|nic| nic.mac == mac)?.addresses.first().copied();
        match mac {
            Some(mac) => of(mac),
            None => {
                let booting = self.boot_mac.and_then(of);
                booting.or_else(|| self.nics.iter().find_map(|nic| nic.addresses.first().copied()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_reached_where_it_boots_unless_a_card_is_named() {
        let mac = |text: &str| text.parse::<MacAddress>().unwrap();
        let nic = |text: &str, address: Option<&str>| Nic {
            mac: mac(text),
            addresses: address.iter().map(|address| address.parse().unwrap()).collect(),
        };
        let (bare, booting, other) = ("52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03");
        let machine = Machine {
            boot_mac: Some(mac(booting)),
            nics: vec![nic(bare, None), nic(other, Some("10.0.0.3")), nic(booting, Some("10.0.0.2"))],
            ..Machine::default()
        };

        let address = |mac: Option<MacAddress>| machine.address(mac).map(|address| address.to_string());
        assert_eq!(address(None).as_deref(), Some("10.0.0.2"));
        assert_eq!(address(Some(mac(other))).as_deref(), Some("10.0.0.3"));
        assert_eq!(address(Some(mac(bare))), None);
        assert!(machine.has(mac(booting)) && !machine.has(mac("52:54:00:00:00:04")));
    }
}
