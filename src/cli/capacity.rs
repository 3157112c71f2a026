//! `sipgen capacity`: what else fits, and which losses are absorbed.

use camino::Utf8PathBuf;
use sipgen::ask::capacity::{Capacity, CapacityScope, CopyShare, capacity, requested};
use sipgen::ask::overview::Overview;
use sipgen::base::api::names::ClusterKey;
use sipgen::base::finding::Finding;
use sipgen::report;

use super::{AnswerFormat, CommandError, ExitCode, repo, say_findings};

const EXAMPLES: &str = "\
Examples:
  sipgen capacity                    all clusters, node sets and racks
  sipgen capacity tenant-a/edge      one cluster
  sipgen capacity --cluster small.yaml
  sipgen capacity --mix tenant-a/edge=3 --mix tenant-b/lab
  sipgen capacity --by topology.example.com/feed";

/// Show what else fits, and which losses the spare hosts absorb
///
/// For each cluster: how many more like it fit. For each node set: how many more hosts it can have.
/// For each topology domain, such as a rack: the control planes that lose their quorum with it, and
/// the node sets that lack more hosts than today. For what cannot be served: a purchase of hosts.
/// The planner serves each number and refuses one more; the output says where that is not proven.
/// Assigned hosts stay, and nothing is written.
///
/// Exits with 1 if the input has errors.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Clusters to show; default: all
    #[arg(value_name = "NS/NAME")]
    clusters: Vec<ClusterKey>,

    #[command(flatten)]
    from: repo::RepoArguments,

    /// A file with other requests, to show how many of each fit; repeatable, `-` is stdin
    #[arg(long, value_name = "FILE")]
    cluster: Vec<Utf8PathBuf>,

    /// A cluster of a mix, with its number of copies in each set of the mix, by default 1;
    /// repeatable
    #[arg(long, value_name = "NS/NAME=NUMBER")]
    mix: Vec<CopyShare>,

    /// The label of topology domains; default: the most used topology key
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,

    /// Show everything, however large the site is
    #[arg(long)]
    all: bool,

    /// The output format; docs/capacity.schema.json is the schema of JSON
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    format: AnswerFormat,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (lock, sites) = repo::lock_to_read(&arguments.from.chosen()?)?;
    let mut scope = CapacityScope {
        clusters: arguments.clusters.iter().cloned().collect(),
        mix: arguments.mix.clone(),
        ..CapacityScope::default()
    };
    let asks_for_clusters =
        !scope.clusters.is_empty() || !scope.mix.is_empty() || !arguments.cluster.is_empty();
    if asks_for_clusters {
        repo::only(&sites)?;
    }
    let runs = repo::generate(&sites)?;
    let mut errors = repo::findings(&sites, &runs);
    errors.retain(Finding::is_error);
    let mut files = sites.repo.clone();
    let mut capacities = Vec::new();
    for (site, generated) in &runs {
        if !arguments.cluster.is_empty() {
            let streams = repo::streams("--cluster", &arguments.cluster)?;
            files = site.files.clone().with_additions(streams);
            let (others, mistakes) = requested(&files, generated)?;
            if !mistakes.is_empty() {
                return Ok(say_findings(&mistakes, &files));
            }
            scope.others = others;
        }
        let label = arguments.by.as_deref();
        let racks = (!asks_for_clusters || label.is_some())
            .then(|| Overview::new(generated, label))
            .transpose()?;
        let scope = CapacityScope { racks: racks.as_ref(), ..scope.clone() };
        capacities.push((*site, capacity(generated, &scope)?));
    }
    drop(lock);
    let text = |capacity: &Capacity| report::capacity(capacity, arguments.all);
    repo::print_answers(arguments.format, &sites, &capacities, text)?;
    Ok(say_findings(&errors, &files))
}
