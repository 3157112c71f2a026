//! `sipgen inventory`: a Provisioning's machines as an ansible inventory.

use clap::ValueEnum;
use sipgen::Generated;
use sipgen::api::names::ClusterKey;
use sipgen::finding::Finding;
use sipgen::render::installation;
use sipgen::report;
use sipgen::settings::provisioning::InventoryFormat;

use super::{Failure, Outcome, print, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen inventory tenant-a/edge                     in the format of the settings
  sipgen inventory tenant-a/edge --format yaml       for current kubespray
  sipgen inventory tenant-a/edge --format yaml > hosts.yaml && ansible -i hosts.yaml all -m ping";

/// Print the ansible inventory of a Provisioning's machines
///
/// It shows the hosts of the current plan, whether or not it has been written. Nothing is written.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The cluster of a Provisioning: its namespace and the value of its label `cluster`
    #[arg(value_name = "NAMESPACE/NAME")]
    cluster: ClusterKey,

    #[command(flatten)]
    from: repo::From,

    /// The inventory format; default: `provisioning.inventory` in sipgen.yaml
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// hosts.ini, as written by Akraino's Binary Provisioning Agent
    Ini,
    /// hosts.yaml, as current kubespray reads it
    Yaml,
}

impl From<Format> for InventoryFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Ini => Self::Ini,
            Format::Yaml => Self::Yaml,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let key = &arguments.cluster;
    let (lock, sites) = repo::lock_to_read(&arguments.from.chosen()?)?;
    let runs = repo::generate(&sites)?;
    drop(lock);
    let with_it: Vec<_> = runs
        .iter()
        .filter(|(_, run)| run.site.clusters.contains_key(key))
        .collect();
    if let [(one, _), (two, _), ..] = with_it.as_slice() {
        let message = format!(
            "the sites `{}` and `{}` both have `{key}`: choose one with --site",
            one.name, two.name
        );
        return Err(Failure(message));
    }
    let concerns = |clusters: &[ClusterKey]| clusters.is_empty() || clusters.contains(key);
    let found = match with_it.first() {
        Some((_, run)) => run.findings.clone(),
        None => repo::findings(&sites, &runs).0,
    };
    let errors: Vec<Finding> = found
        .into_iter()
        .filter(|finding| finding.is_error() && concerns(&finding.clusters))
        .collect();
    say(report::findings(&errors, &sites.repo));
    let Some((_, Generated { site, plan, .. })) = with_it.first() else {
        return Err(Failure(format!(
            "no Provisioning of cluster `{key}` in the repo"
        )));
    };
    let Some(request) = site.clusters.get(key) else {
        return Ok(Outcome::No);
    };
    // An invalid request has a finding of its own.
    let Some(cluster) = &request.cluster else {
        return Ok(Outcome::No);
    };
    if cluster.installation.is_none() {
        return Err(Failure(format!(
            "`{key}` is a {}: only a Provisioning has an inventory",
            cluster.kind
        )));
    }
    let placement = plan.clusters.get(key);
    let Some(inventory) =
        placement.and_then(|placement| installation::inventory(cluster, placement, site))
    else {
        return Ok(Outcome::No);
    };
    if !errors.is_empty() {
        return Ok(Outcome::No);
    }
    let format = arguments
        .format
        .map_or(site.settings.provisioning.inventory, InventoryFormat::from);
    print(inventory.text(format));
    Ok(Outcome::Yes)
}
