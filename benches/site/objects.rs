//! The text of a synthetic site's objects, as `kubectl get -o yaml` prints it: keys in alphabetical order,
//! two spaces of indentation, dashes in the column of their key, strings in quotes only where YAML needs them.
//!
//! Everything follows from a host's or cluster's number, so the same scale gives the same bytes everywhere.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The namespace of all hosts and clusters. It is one, because a jump host mounts the Secrets of its hosts'
/// BMCs, and a pod mounts Secrets of its own namespace only.
pub(crate) const NAMESPACE: &str = "metal3";

/// How many hosts stand in a rack.
pub(crate) const HOSTS_PER_RACK: usize = 20;

/// How many hosts of a rack have the flavor for control planes; the others are workers.
pub(crate) const CONTROL_PLANES_PER_RACK: usize = 4;

/// How many hosts a cluster wants for its control plane, each in another rack.
pub(crate) const CONTROL_PLANES_PER_CLUSTER: usize = 3;

/// How many hosts a cluster wants for its workloads, and how many of them stand by.
const ACTIVE_WORKERS: usize = 14;
const STANDBY_WORKERS: usize = 1;

/// How many NodePorts the services of one cluster take: the control plane's load balancer one, the workers' two,
/// the jump host one.
pub(crate) const PORTS_PER_CLUSTER: usize = 4;

/// The first NodePort of a base cluster, and how many there are.
const FIRST_NODE_PORT: usize = 30_000;
pub(crate) const NODE_PORTS: usize = 2_768;

/// A key that nobody has the private half of.
const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGTBkPrS46NiIvJeScGNJj1qvNc+c3jBPuhPnxD3tmE+ bench@example.com";

/// Addresses are dealt out in blocks of this size, one a rack and network: twenty hosts and a gateway.
const ADDRESSES_PER_RACK: usize = 32;

/// The networks of a site, a quarter of 10.0.0.0/8 each.
const PXE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
const OAM: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);
const STORAGE: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 0);
const BMC: Ipv4Addr = Ipv4Addr::new(10, 192, 0, 0);

/// Beyond this many hosts the racks' blocks would leave their networks.
pub(crate) const MOST_HOSTS: usize = (1 << 22) / ADDRESSES_PER_RACK * HOSTS_PER_RACK;

/// The flags of a server's processor; Metal3 copies all of them into the status.
const CPU_FLAGS: &str = "\
    adx aes apic arat arch_capabilities arch_perfmon avx avx2 avx512bw avx512cd avx512dq avx512f \
    avx512vl bmi1 bmi2 clflush clflushopt clwb cmov constant_tsc cx16 cx8 de erms f16c flush_l1d fma fpu \
    fsgsbase fxsr hle ht ibpb ibrs intel_pt invpcid lm mca mce mmx msr nx pae pat pdpe1gb pge pni popcnt \
    pse rdrand rdseed sep smap smep sse sse2 ssse3 tsc vmx x2apic xsave";

/// A host of a synthetic site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    number: usize,
}

impl Host {
    /// The host with this number, counted from 0 through all racks.
    pub(crate) fn new(number: usize) -> Self {
        Self { number }
    }

    fn rack(self) -> usize {
        self.number / HOSTS_PER_RACK
    }

    fn slot(self) -> usize {
        self.number % HOSTS_PER_RACK
    }

    fn flavor(self) -> &'static str {
        if self.slot() < CONTROL_PLANES_PER_RACK { "control-plane" } else { "worker" }
    }

    fn name(self) -> String {
        format!("{}-host-{:02}", rack_name(self.rack()), self.slot())
    }

    /// A MAC address of the host's n-th network card. Its first byte has letters, so that YAML takes it for
    /// nothing but a string.
    fn mac(self, card: usize) -> String {
        let [_, high, middle, low] = to_u32(self.number).to_be_bytes();
        format!("3c:fd:{high:02x}:{middle:02x}:{low:02x}:a{card}")
    }

    fn uid(self, purpose: usize) -> String {
        format!("f{purpose:07x}-6b1d-4c0e-9a7b-{:012x}", self.number)
    }

    /// The host's address in a network that begins at `first`.
    fn address(self, first: Ipv4Addr) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(gateway(first, self.rack())) + 1 + to_u32(self.slot()))
    }

    /// Writes the BareMetalHost as an item of a list: a live, inspected host that nobody uses yet.
    pub(crate) fn write_manifest(self, out: &mut impl Write) -> io::Result<()> {
        let (number, slot) = (self.number, self.slot());
        let (name, rack, flavor) = (self.name(), rack_name(self.rack()), self.flavor());
        let (uid, provisioning_id) = (self.uid(1), self.uid(2));
        let (boot_mac, oam_mac, storage_mac) = (self.mac(0), self.mac(1), self.mac(2));
        let (bmc, pxe) = (self.address(BMC), self.address(PXE));
        let resource_version = 1_000_000 + number;
        write!(
            out,
            r#"- apiVersion: metal3.io/v1alpha1
  kind: BareMetalHost
  metadata:
    creationTimestamp: "2026-03-02T09:14:31Z"
    finalizers:
    - baremetalhost.metal3.io
    generation: 3
    labels:
      example.com/flavor: {flavor}
      topology.example.com/host: {name}
      topology.example.com/rack: {rack}
    name: {name}
    namespace: {NAMESPACE}
    resourceVersion: "{resource_version}"
    uid: {uid}
  spec:
    architecture: x86_64
    automatedCleaningMode: metadata
    bmc:
      address: redfish-virtualmedia+https://{bmc}/redfish/v1/Systems/System.Embedded.1
      credentialsName: {name}-bmc-credentials
      disableCertificateVerification: true
    bootMACAddress: {boot_mac}
    bootMode: UEFI
    networkData:
      name: {name}-network-data
      namespace: {NAMESPACE}
    online: true
    rootDeviceHints:
      deviceName: /dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0
  status:
    errorCount: 0
    errorMessage: ""
    goodCredentials:
      credentials:
        name: {name}-bmc-credentials
        namespace: {NAMESPACE}
      credentialsVersion: "{resource_version}"
    hardware:
      cpu:
        arch: x86_64
        clockMegahertz: 3900
        count: 80
        flags:
"#
        )?;
        for flag in CPU_FLAGS.split_whitespace() {
            writeln!(out, "        - {flag}")?;
        }
        write!(
            out,
            r#"        model: Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz
      firmware:
        bios:
          date: 03/12/2025
          vendor: Dell Inc.
          version: 2.22.2
      hostname: {name}.site.example.com
      nics:
      - ip: {pxe}
        lldp:
          portID: Ethernet1/{slot}
          switchID: 74:fe:48:00:00:01
          switchSystemName: {rack}-leaf-1
        mac: {boot_mac}
        model: 0x8086 0x1563
        name: eno4
        pciAddress: "0000:19:00.0"
        pxe: true
        speedGbps: 10
      - lldp:
          portID: Ethernet2/{slot}
          switchID: 74:fe:48:00:00:02
          switchSystemName: {rack}-leaf-2
        mac: {oam_mac}
        model: 0x8086 0x158b
        name: enp59s0f1
        pciAddress: 0000:3b:00.1
        speedGbps: 25
      - lldp:
          portID: Ethernet3/{slot}
          switchID: 74:fe:48:00:00:03
          switchSystemName: {rack}-leaf-3
        mac: {storage_mac}
        model: 0x8086 0x158b
        name: enp216s0f0
        pciAddress: 0000:d8:00.0
        speedGbps: 25
      ramMebibytes: 393216
      storage:
      - alternateNames:
        - /dev/sda
        - /dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0
        hctl: "0:2:0:0"
        model: PERC H740P Mini
        name: /dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0
        rotational: false
        serialNumber: 6d0946606e1f4a00{number:08x}a1c3e5f7
        sizeBytes: 479559942144
        type: SSD
        vendor: DELL
        wwn: "0x6d0946606e1f4a00"
        wwnVendorExtension: "0x{number:016x}"
        wwnWithExtension: 0x6d0946606e1f4a00{number:016x}
      - alternateNames:
        - /dev/nvme0n1
        - /dev/disk/by-path/pci-0000:5e:00.0-nvme-1
        model: Dell Express Flash PM1725b 1.6TB SFF
        name: /dev/disk/by-path/pci-0000:5e:00.0-nvme-1
        serialNumber: S5CUNA0N{number:07}
        sizeBytes: 1600321314816
        type: NVME
        wwn: eui.36344830{number:08x}0025384100000001
      systemVendor:
        manufacturer: Dell Inc.
        productName: PowerEdge R740xd (SKU=NotProvided;ModelName=PowerEdge R740xd)
        serialNumber: H{number:06}
    hardwareProfile: unknown
    lastUpdated: "2026-09-14T17:02:55Z"
    operationHistory:
      deprovision:
        end: null
        start: null
      inspect:
        end: "2026-03-02T09:41:10Z"
        start: "2026-03-02T09:16:02Z"
      provision:
        end: null
        start: null
      register:
        end: "2026-03-02T09:16:02Z"
        start: "2026-03-02T09:14:48Z"
    operationalStatus: OK
    poweredOn: true
    provisioning:
      ID: {provisioning_id}
      bootMode: UEFI
      image:
        url: ""
      raid:
        hardwareRAIDVolumes: null
        softwareRAIDVolumes: []
      rootDeviceHints:
        deviceName: /dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0
      state: available
    provisioningFailCount: 0
    triedCredentials:
      credentials:
        name: {name}-bmc-credentials
        namespace: {NAMESPACE}
      credentialsVersion: "{resource_version}"
"#
        )
    }

    /// Writes the host's two Secrets as items of a list: its BMC's credentials and its network data.
    pub(crate) fn write_secrets(self, out: &mut impl Write) -> io::Result<()> {
        let password = STANDARD.encode(format!("not-a-password-{}", self.number));
        let credentials = format!("    password: ENC[{password}]\n    username: ENC[cm9vdA==]\n");
        self.write_secret(out, "bmc-credentials", &credentials, 3)?;
        let network_data = format!("    networkData: {}\n", STANDARD.encode(self.network_data()));
        self.write_secret(out, "network-data", &network_data, 4)
    }

    fn write_secret(
        self,
        out: &mut impl Write,
        suffix: &str,
        data: &str,
        purpose: usize,
    ) -> io::Result<()> {
        let (name, uid, resource_version) =
            (self.name(), self.uid(purpose), 2_000_000 + self.number);
        write!(
            out,
            r#"- apiVersion: v1
  data:
{data}  kind: Secret
  metadata:
    creationTimestamp: "2026-03-02T09:14:30Z"
    name: {name}-{suffix}
    namespace: {NAMESPACE}
    resourceVersion: "{resource_version}"
    uid: {uid}
  type: Opaque
"#
        )
    }

    /// The host's networks in OpenStack's format: PXE on a card of its own, the others as VLANs of a bond.
    fn network_data(self) -> String {
        let (boot_mac, oam_mac, storage_mac) = (self.mac(0), self.mac(1), self.mac(2));
        let (oam, pxe, storage) = (self.address(OAM), self.address(PXE), self.address(STORAGE));
        let oam_gateway = gateway(OAM, self.rack());
        format!(
            r#"{{
  "links": [
    {{"id": "eno4", "name": "eno4", "type": "phy", "mtu": 1500, "ethernet_mac_address": "{boot_mac}"}},
    {{"id": "enp59s0f1", "name": "enp59s0f1", "type": "phy", "mtu": 9100, "ethernet_mac_address": "{oam_mac}"}},
    {{"id": "enp216s0f0", "name": "enp216s0f0", "type": "phy", "mtu": 9100, "ethernet_mac_address": "{storage_mac}"}},
    {{"id": "bond0", "name": "bond0", "type": "bond", "bond_links": ["enp59s0f1", "enp216s0f0"],
      "bond_mode": "802.3ad", "bond_xmit_hash_policy": "layer3+4", "bond_miimon": 100, "mtu": 9100}},
    {{"id": "bond0.41", "name": "bond0.41", "type": "vlan", "vlan_link": "bond0", "vlan_id": 41, "mtu": 9100}},
    {{"id": "bond0.42", "name": "bond0.42", "type": "vlan", "vlan_link": "bond0", "vlan_id": 42, "mtu": 9100}}
  ],
  "networks": [
    {{"id": "oam-ipv4", "type": "ipv4", "link": "bond0.41", "ip_address": "{oam}", "netmask": "255.255.255.224",
      "routes": [{{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "{oam_gateway}"}}]}},
    {{"id": "pxe-ipv4", "type": "ipv4", "link": "eno4", "ip_address": "{pxe}", "netmask": "255.255.255.224"}},
    {{"id": "storage-ipv4", "type": "ipv4", "link": "bond0.42", "ip_address": "{storage}",
      "netmask": "255.255.255.224"}}
  ],
  "services": [{{"type": "dns", "address": "192.0.2.53"}}]
}}
"#
        )
    }
}

/// The first address of a rack's block.
fn gateway(first: Ipv4Addr, rack: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(first) + to_u32(rack * ADDRESSES_PER_RACK) + 1)
}

/// A number below [`MOST_HOSTS`], or an address's place in its network, as addresses are computed in.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The name of the rack with this number, as its file and its hosts' labels have it.
pub(crate) fn rack_name(rack: usize) -> String {
    format!("rack-{rack:04}")
}

/// The name of the cluster with this number.
pub(crate) fn cluster_name(cluster: usize) -> String {
    format!("c{cluster:04}")
}

/// Writes a SIPCluster, with services on the given block of NodePorts if there is one.
pub(crate) fn write_cluster(
    out: &mut impl Write,
    cluster: usize,
    port_block: Option<usize>,
) -> io::Result<()> {
    let name = cluster_name(cluster);
    write!(
        out,
        r"apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata:
  name: {name}
  namespace: {NAMESPACE}
spec:
  nodes:
    ControlPlane:
      labelSelector:
        matchLabels:
          example.com/flavor: control-plane
      topologyKey: topology.example.com/rack
      count:
        active: {CONTROL_PLANES_PER_CLUSTER}
        standby: 0
    Worker:
      labelSelector:
        matchLabels:
          example.com/flavor: worker
      topologyKey: topology.example.com/host
      count:
        active: {ACTIVE_WORKERS}
        standby: {STANDBY_WORKERS} # Slack for upgrades.
"
    )?;
    let Some(port_block) = port_block else {
        return Ok(());
    };
    let port = FIRST_NODE_PORT + port_block * PORTS_PER_CLUSTER;
    let (first_worker_port, last_worker_port, ssh_port) = (port + 1, port + 2, port + 3);
    write!(
        out,
        r"  services:
    loadBalancerControlPlane:
      - image: docker.io/library/haproxy:3.2
        nodeInterfaceId: oam-ipv4
        nodePort: {port}
    loadBalancerWorker:
      - image: docker.io/library/haproxy:3.2
        nodeInterfaceId: oam-ipv4
        nodePortRange:
          start: {first_worker_port}
          end: {last_worker_port}
    jumpHost:
      - image: quay.io/airshipit/jump-host:latest
        nodeInterfaceId: oam-ipv4
        nodePort: {ssh_port}
        bmc:
          proxy: false
        sshAuthorizedKeys:
          - {SSH_KEY}
        nodeSSHPrivateKeys: {name}-ssh-private-keys
"
    )
}
