//! `sipgen status`: summary of the site.

use sipgen::ask::capacity::{CapacityScope, capacity};
use sipgen::ask::overview::Overview;
use sipgen::base::api::names::ClusterKey;
use sipgen::base::text::known_names;
use sipgen::report::status::StatusFocus;
use sipgen::report::{self, StatusReport};

use super::{AnswerFormat, CommandError, ExitCode, print, repo, say_findings};

/// Maximum number of names in an error message.
const NAMES_SHOWN: usize = 12;

const EXAMPLES: &str = "\
Examples:
  sipgen status                      the whole site
  sipgen status --cluster tenant-a/edge
  sipgen status --rack a3            one rack, host by host";

/// Show a summary of clusters, spare hosts and racks
///
/// Lists requested and assigned hosts of each cluster, what is short, the spare hosts of each
/// labelSelector, the worst loss of a rack, and the hosts of each rack by state. It shows the plan
/// that `sipgen generate` would compute now; nothing is written.
///
/// Exits with 1 if the input has errors. `sipgen report` writes an HTML page with the same content.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::RepoArguments,

    /// Show this rack and its hosts; an empty name selects the hosts without a rack
    #[arg(long, value_name = "NAME", conflicts_with = "cluster")]
    rack: Option<String>,

    /// Show this cluster, its services and its hosts
    #[arg(long, value_name = "NS/NAME")]
    cluster: Option<ClusterKey>,

    /// The label of topology domains; default: the most used topology key
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,

    /// Show everything, however large the site is
    #[arg(long)]
    all: bool,

    /// The output format; JSON has the whole site, whatever --rack or --cluster selects
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    format: AnswerFormat,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (lock, sites) = repo::lock_to_read(&arguments.from.chosen()?)?;
    let runs = repo::generate(&sites)?;
    drop(lock);
    let mut overviews = Vec::new();
    for (site, generated) in &runs {
        let overview = repo::overview(site, generated, arguments.by.as_deref())?;
        let scope = CapacityScope {
            summary_only: true,
            racks: Some(&overview),
            ..CapacityScope::default()
        };
        let capacity = capacity(generated, &scope)?;
        overviews.push((*site, overview, capacity));
    }
    let views: Vec<_> =
        overviews.iter().map(|(_, overview, _)| focus(arguments, overview)).collect();
    // A site without the requested cluster or rack is skipped.
    if views.iter().all(Result::is_err) {
        views.into_iter().next().transpose()?;
        return Ok(ExitCode::FAILURE);
    }
    match arguments.format {
        AnswerFormat::Text => {
            for ((site, overview, capacity), focus) in overviews.iter().zip(views) {
                let Ok(focus) = focus else { continue };
                print(repo::heading(&sites, &site.name));
                print(report::status(overview, capacity, focus, arguments.all));
            }
        }
        AnswerFormat::Json => {
            let all = overviews
                .iter()
                .map(|(site, overview, capacity)| (*site, StatusReport::new(overview, capacity)));
            repo::print_json(&sites, &all.collect::<Vec<_>>())?;
        }
    }
    Ok(say_findings(&repo::findings(&sites, &runs), &sites.repo))
}

/// Selects the cluster or rack to show, if the site has it.
fn focus<'a>(
    arguments: &'a Arguments,
    overview: &Overview,
) -> Result<StatusFocus<'a>, CommandError> {
    if let Some(key) = &arguments.cluster {
        let known = overview.clusters.iter().map(|cluster| cluster.key.to_string());
        check_known("cluster", &key.to_string(), known.collect())?;
        return Ok(StatusFocus::Cluster(key));
    }
    let Some(name) = &arguments.rack else { return Ok(StatusFocus::Site) };
    let known = overview.racks.iter().map(|rack| rack.name.clone().unwrap_or_default());
    check_known("rack", name, known.collect())?;
    Ok(StatusFocus::Rack(Some(name.as_str()).filter(|name| !name.is_empty())))
}

/// Refuses a name that the site does not have. Hosts without a rack have an empty name.
fn check_known(kind: &str, name: &str, mut known: Vec<String>) -> Result<(), CommandError> {
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    known.retain(|known| !known.is_empty());
    let known = known_names(&known, NAMES_SHOWN);
    Err(CommandError(format!("unknown {kind} `{name}`; the site has {known}")))
}
