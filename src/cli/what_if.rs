//! `sipgen what-if`: the consequences of changes that no file has.

use camino::Utf8PathBuf;
use sipgen::ask::what_if::what_if;
use sipgen::base::api::names::{ClusterKey, Namespace, is_label_key, is_label_value};
use sipgen::report::{self, ReportDocument, WhatIf};
use sipgen::site::hypothesis::{AlternatingLabel, BoughtHosts, HostChoice, Hypothesis, Scale};

use super::progress::Progress;
use super::repo::{self, SelectedFiles};
use super::{AnswerFormat, CommandError, ExitCode, exit_code, print, print_document, say};

const EXAMPLES: &str = "\
Examples:
  sipgen what-if --without rack=r7                   a rack fails
  sipgen what-if --without metal3/a3u6 --without metal3/a3u8
  sipgen what-if --scale tenant-a/edge:Worker=+4     a cluster grows
  sipgen what-if --cluster request.yaml              another request
  sipgen what-if --add 4 --labels flavor=worker --spread topology.example.com/rack=r1,r2";

/// Show the consequences of lost or bought hosts and of other requests
///
/// Any combination of changes is planned together, in memory, by the planner of `sipgen generate`.
/// The answer has what `sipgen diff` would show, the control planes that lose members, the proof if
/// a cluster cannot be served, and the spare hosts that are left. Nothing is written.
///
/// HOSTS is the namespace and name of a host, or a label selector. Label keys may lack their prefix
/// if that is unambiguous: `rack=r7` selects by `topology.example.com/rack`.
///
/// Exits with 1 if a cluster cannot be served.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// The site, given by name or directory; required if the repo has several
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// Hosts that are gone; repeatable
    #[arg(long, value_name = "HOSTS")]
    without: Vec<HostChoice>,

    /// Hosts that no cluster has, even if they are in use; repeatable
    #[arg(long, value_name = "HOSTS")]
    unassign: Vec<HostChoice>,

    /// Number of additional hosts, which are available
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    add: Option<u16>,

    /// Labels of the additional hosts
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',', value_parser = label, requires = "add")]
    labels: Vec<(String, String)>,

    /// A label whose values alternate between the additional hosts; without values, each has one of
    /// its own; repeatable
    #[arg(long, value_name = "KEY[=VALUE,…]", requires = "add")]
    spread: Vec<AlternatingLabel>,

    /// The namespace of the additional hosts; default: that of most hosts
    #[arg(long, value_name = "NAMESPACE", requires = "add")]
    namespace: Option<Namespace>,

    /// A file with additional requests; repeatable, `-` is stdin
    #[arg(long, value_name = "FILE")]
    cluster: Vec<Utf8PathBuf>,

    /// Another number of active hosts of a node set, which is a role or a MachineDeployment;
    /// `+` and `-` make it relative; repeatable
    #[arg(long, value_name = "NS/NAME:NODESET=NUMBER")]
    scale: Vec<Scale>,

    /// A cluster that is not requested; repeatable
    #[arg(long, value_name = "NS/NAME")]
    remove: Vec<ClusterKey>,

    /// The output format; docs/what-if.schema.json is the schema of JSON
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    format: AnswerFormat,
}

/// The message if nothing is asked.
const QUESTIONS: &str = "no change to plan: pass `--without HOSTS`, `--add NUMBER`, `--scale NS/NAME:NODESET=NUMBER`, \
    `--cluster FILE`, `--remove NS/NAME` or `--unassign HOSTS`, such as `sipgen what-if --without rack=r7`";

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let hypothesis = Hypothesis {
        gone: arguments.without.clone(),
        unassigned: arguments.unassign.clone(),
        removed: arguments.remove.iter().cloned().collect(),
        scaled: arguments.scale.clone(),
        bought: arguments.add.map(|count| BoughtHosts {
            count: count.into(),
            labels: arguments.labels.iter().cloned().collect(),
            spread: arguments.spread.clone(),
            namespace: arguments.namespace.clone(),
        }),
    };
    if hypothesis == Hypothesis::default() && arguments.cluster.is_empty() {
        return Err(CommandError(QUESTIONS.to_owned()));
    }
    let directory = arguments.repo.as_deref();
    let site = arguments.site.as_deref();
    let (lock, sites) = repo::lock_to_read(&SelectedFiles::open(directory, None, site)?)?;
    let location = repo::only(&sites)?;
    let additions = repo::streams("--cluster", &arguments.cluster)?;
    let after = location.files.clone().with_additions(additions);
    let progress = Progress::start();
    let consequences =
        what_if(&location.files, after.clone(), &hypothesis, &|stage| progress.show(stage))?;
    drop(progress);
    drop(lock);

    let difference = &consequences.difference;
    match arguments.format {
        AnswerFormat::Text => {
            print(report::consequences(&consequences));
            say(report::notes(difference));
            say(report::findings(&difference.findings, &after));
        }
        AnswerFormat::Json => {
            let answer = WhatIf::new(&hypothesis, &consequences, &after);
            print_document(&ReportDocument::json(&answer)?);
        }
    }
    Ok(exit_code(!consequences.is_served))
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label is written as key=value")?;
    if is_label_key(key) && is_label_value(value) {
        Ok((key.to_owned(), value.to_owned()))
    } else {
        Err(format!("`{text}` is no label that a host can have"))
    }
}
