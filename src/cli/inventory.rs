//! `sipgen inventory`: the machines of a Provisioning, as ansible reads them.

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
  sipgen inventory tenant-a/edge                     as the settings have it
  sipgen inventory tenant-a/edge --format yaml       for the kubespray of today
  sipgen inventory tenant-a/edge --format yaml > hosts.yaml && ansible -i hosts.yaml all -m ping";

/// Print the ansible inventory of a Provisioning's machines
///
/// The machines have the hosts that the plan gives them, whether they are written already or not. Nothing is written.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The cluster of a Provisioning: its namespace, and the value of its label `cluster`
    #[arg(value_name = "NAMESPACE/NAME")]
    cluster: ClusterKey,

    #[command(flatten)]
    from: repo::From,

    /// The form of the inventory; that of `provisioning.inventory` in sipgen.yaml where nothing is said
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// hosts.ini, as Akraino's Binary Provisioning Agent wrote it
    Ini,
    /// hosts.yaml, as kubespray has it today
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
            "the sites {} and {} both have {key}: name one by --site",
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
            "the repo has no Provisioning whose cluster is {key}"
        )));
    };
    let Some(request) = site.clusters.get(key) else {
        return Ok(Outcome::No);
    };
    // One that is not valid has an error.
    let Some(cluster) = &request.cluster else {
        return Ok(Outcome::No);
    };
    if cluster.installation.is_none() {
        return Err(Failure(format!(
            "{key} is a {}: only a Provisioning has an inventory",
            cluster.kind()
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
