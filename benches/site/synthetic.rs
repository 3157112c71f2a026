//! Writes synthetic sites: a GitOps repo with an inventory and the clusters that ask for it, of any size.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use super::objects::{
    self, CONTROL_PLANES_PER_CLUSTER, CONTROL_PLANES_PER_RACK, HOSTS_PER_RACK, Host, MOST_HOSTS,
    NODE_PORTS, PORTS_PER_CLUSTER, cluster_name, rack_name,
};

/// How large a site is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// BareMetalHosts, twenty a rack.
    pub(crate) hosts: usize,
    /// SIPClusters; each asks for eighteen hosts.
    pub(crate) clusters: usize,
}

/// How the inventory is cut into files, and what else is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `inventory/rack-NNNN.yaml`, one list a rack.
    FilePerRack,
    /// `inventory/dump.yaml`, one list of everything.
    SingleFile,
    /// [`Layout::FilePerRack`], and an output with a manifest of every assigned host.
    WithOutput,
}

const SETTINGS: &str = "templates: templates\noutputs: [{name: cards, scope: host}]\n";
const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ host.name }}, namespace: {{ host.namespace }}}
data:
  cluster: {{ cluster.name }}
  role: {{ host.role }}
  bmc: {{ host.bmc.host }}
";

/// What was written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiteSize {
    /// Bytes below `inventory/`.
    pub(crate) inventory_bytes: u64,
    /// Files, of the inventory and of clusters.
    pub(crate) files: usize,
}

/// Writes a site below a directory: the inventory as `kubectl get bmh,secret -A -o yaml` prints it, with encrypted passwords, and
/// one file a SIPCluster.
///
/// Every cluster can be satisfied, even by a scheduler that never takes a choice back: with a rack for every
/// cluster, each rack has one host of either flavor to spare. A base cluster has 2,768 NodePorts, so beyond 692
/// clusters only some, evenly spread, have services.
pub(crate) fn write_site(dir: &Path, scale: Scale, layout: Layout) -> io::Result<SiteSize> {
    check(scale)?;
    let (inventory, clusters) = (dir.join("inventory"), dir.join("clusters"));
    fs::create_dir_all(dir)?;
    // Not `create_dir_all`: what an earlier, larger site left would be part of this one.
    fs::create_dir(&inventory)?;
    fs::create_dir(&clusters)?;
    if layout == Layout::WithOutput {
        let templates = dir.join("templates/outputs/cards");
        fs::create_dir_all(&templates)?;
        fs::write(templates.join("card.yaml"), TEMPLATE)?;
        fs::write(dir.join("sipgen.yaml"), SETTINGS)?;
    }
    let mut size = SiteSize { inventory_bytes: 0, files: 0 };
    match layout {
        Layout::SingleFile => {
            size.add_inventory_file(&inventory.join("dump.yaml"), 0..scale.hosts)?
        }
        Layout::FilePerRack | Layout::WithOutput => {
            for rack in 0..scale.hosts.div_ceil(HOSTS_PER_RACK) {
                let first = rack * HOSTS_PER_RACK;
                let hosts = first..scale.hosts.min(first + HOSTS_PER_RACK);
                size.add_inventory_file(
                    &inventory.join(format!("{}.yaml", rack_name(rack))),
                    hosts,
                )?;
            }
        }
    }
    for cluster in 0..scale.clusters {
        let mut file =
            BufWriter::new(File::create(clusters.join(format!("{}.yaml", cluster_name(cluster))))?);
        objects::write_cluster(&mut file, cluster, port_block(cluster, scale.clusters))?;
        file.flush()?;
        size.files += 1;
    }
    Ok(size)
}

impl SiteSize {
    fn add_inventory_file(&mut self, path: &Path, hosts: Range<usize>) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        write_list(&mut file, hosts)?;
        file.flush()?;
        self.inventory_bytes += fs::metadata(path)?.len();
        self.files += 1;
        Ok(())
    }
}

/// Writes hosts and their Secrets in kubectl's order: one kind after the other.
fn write_list(out: &mut impl Write, hosts: Range<usize>) -> io::Result<()> {
    out.write_all(b"apiVersion: v1\nitems:\n")?;
    for number in hosts.clone() {
        Host::new(number).write_manifest(out)?;
    }
    for number in hosts {
        Host::new(number).write_secrets(out)?;
    }
    out.write_all(b"kind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

/// Refuses a scale at which some cluster might not find its hosts, or hosts would share addresses.
fn check(scale: Scale) -> io::Result<()> {
    let racks = scale.hosts / HOSTS_PER_RACK;
    // The most wasteful order fills racks in threes, and a rest of one or two racks serves nobody.
    let by_control_planes = racks / CONTROL_PLANES_PER_CLUSTER * CONTROL_PLANES_PER_RACK;
    let enough_for = racks.min(by_control_planes);
    let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if scale.clusters > enough_for {
        return refused(format!("{} hosts are enough for {enough_for} clusters only", scale.hosts));
    }
    if scale.hosts > MOST_HOSTS {
        return refused(format!("there are addresses for {MOST_HOSTS} hosts only"));
    }
    Ok(())
}

/// Which block of NodePorts a cluster has, when the blocks are spread evenly over all clusters.
fn port_block(cluster: usize, clusters: usize) -> Option<usize> {
    let blocks = clusters.min(NODE_PORTS / PORTS_PER_CLUSTER);
    let before = |cluster: usize| cluster * blocks / clusters;
    (before(cluster + 1) > before(cluster)).then(|| before(cluster))
}
