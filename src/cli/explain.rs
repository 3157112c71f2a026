//! `sipgen explain`: why a host is where it is.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::api::names::{ClusterKey, HostKey};
use sipgen::finding::Finding;
use sipgen::plan::explain::{self, ClusterExplanation, HostExplanation};
use sipgen::site::hardware::{self, HostHardware};
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
/// For a host: whose it is, or for each node set why not, and its hardware as inspection found it. Nothing is written.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A SIPCluster or a BareMetalHost
    #[arg(value_name = "NS/NAME")]
    name: ClusterKey,

    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

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
    host: Option<ExplainedHost>,
}

#[derive(serde::Serialize)]
struct ExplainedHost {
    #[serde(flatten)]
    explanation: HostExplanation,
    #[serde(flatten)]
    hardware: HostHardware,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let repo = repo::find(arguments.repo.as_deref())?;
    let generated = sipgen::generate(&repo, &Options::default(), &|_| {})?;
    let ClusterKey { namespace, name } = arguments.name.clone();
    let (site, plan) = (&generated.site, &generated.plan);
    let key = HostKey { namespace, name };
    let (mut host, mut found) = (None, Vec::new());
    if let Some(explanation) = explain::host(site, plan, &key) {
        let (hardware, findings) = hardware::of(&repo, site, &key)?;
        found = findings;
        host = Some(ExplainedHost { explanation, hardware });
    }
    let explanation = Explanation { cluster: explain::cluster(site, plan, &arguments.name), host };
    if explanation.cluster.is_none() && explanation.host.is_none() {
        say(report::findings(&generated.findings, &repo));
        return Err(Failure(format!("the repo has neither a SIPCluster nor a BareMetalHost {}", arguments.name)));
    }
    match arguments.format {
        Format::Json => print(format_args!("{}\n", serde_json::to_string_pretty(&explanation)?)),
        Format::Text => {
            explanation.cluster.iter().for_each(|cluster| print(report::explain_cluster(cluster)));
            if let Some(ExplainedHost { explanation, hardware }) = &explanation.host {
                print(report::explain_host(explanation));
                print(report::explain_hardware(hardware));
            }
        }
    }
    let concerns = |clusters: &[ClusterKey]| clusters.is_empty() || clusters.contains(&arguments.name);
    let errors = generated.findings.into_iter().filter(|finding| finding.is_error() && concerns(&finding.clusters));
    // What is wrong with the hardware concerns whoever looks at it, warnings too.
    let findings: Vec<_> = errors.chain(found).collect();
    say(report::findings(&findings, &repo));
    Ok(if !findings.iter().any(Finding::is_error) { Outcome::Yes } else { Outcome::No })
}
