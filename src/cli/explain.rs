//! `sipgen explain`: why a host is where it is.

use clap::ValueEnum;
use sipgen::api::names::{ClusterKey, HostKey};
use sipgen::plan::explain::{self, ClusterExplanation, HostExplanation};
use sipgen::{Options, report};

use super::{Failure, Outcome, print, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen explain tenant-a/edge                  a cluster
  sipgen explain metal/lab-a1                   a host
  sipgen explain tenant-a/edge --format json";

/// Explain why a cluster has its hosts, or whose a host is
///
/// For a cluster: each node set, its hosts, and why each is there; for a node set that cannot be filled, the proof.
/// For a host: whose it is, or for each node set why not. Nothing is written.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A SIPCluster or a BareMetalHost
    #[arg(value_name = "NS/NAME")]
    name: ClusterKey,

    #[command(flatten)]
    from: repo::From,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// What is said as JSON: a name may be that of a cluster, of a host, or of both.
#[derive(serde::Serialize)]
struct Explanation {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterExplanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<HostExplanation>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let repo = arguments.from.files()?;
    let generated = sipgen::generate(&repo, &Options::default(), &|_| {})?;
    let ClusterKey { namespace, name } = arguments.name.clone();
    let (site, plan) = (&generated.site, &generated.plan);
    let explanation = Explanation {
        cluster: explain::cluster(site, plan, &arguments.name),
        host: explain::host(site, plan, &HostKey { namespace, name }),
    };
    if explanation.cluster.is_none() && explanation.host.is_none() {
        say(report::findings(&generated.findings, &repo));
        return Err(Failure(format!("the repo has neither a SIPCluster nor a BareMetalHost {}", arguments.name)));
    }
    match arguments.format {
        Format::Json => print(format_args!("{}\n", serde_json::to_string_pretty(&explanation)?)),
        Format::Text => {
            explanation.cluster.iter().for_each(|cluster| print(report::explain_cluster(cluster)));
            explanation.host.iter().for_each(|host| print(report::explain_host(host)));
        }
    }
    let concerns = |clusters: &[ClusterKey]| clusters.is_empty() || clusters.contains(&arguments.name);
    let errors = generated.findings.into_iter().filter(|finding| finding.is_error() && concerns(&finding.clusters));
    let errors: Vec<_> = errors.collect();
    say(report::findings(&errors, &repo));
    Ok(if errors.is_empty() { Outcome::Yes } else { Outcome::No })
}
