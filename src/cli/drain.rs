//! `sipgen drain`: the moves that empty hosts.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use sipgen::ask::drain::{DrainVerdict, drain, in_maintenance};
use sipgen::base::api::names::HostKey;
use sipgen::base::finding::Finding;
use sipgen::report;
use sipgen::site::Site;
use sipgen::site::hypothesis::{HostChoice, chosen, selectors};

use super::{AnswerFormat, CommandError, ExitCode, exit_code, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen drain                              empty the hosts in maintenance
  sipgen drain rack=r7                      empty a rack
  sipgen drain metal3/node-1 metal3/node-2
  sipgen drain vendor=acme --at-once 2      move two hosts per cluster and step";

/// Show the moves that empty hosts, step by step
///
/// A free host replaces each assigned host. If free hosts do not suffice, other assigned hosts move
/// as well. Every constraint holds after each move. The output says if fewer moves or steps are
/// proven impossible. Nothing is written.
///
/// A step moves at most --at-once hosts of a cluster, and at most one member of its control plane.
/// Hosts that a step releases are available from the next step on. Mark the hosts under
/// `maintenance` in sipgen.yaml, and `sipgen generate --drain` writes the next step.
///
/// Exits with 1 if the hosts cannot be emptied, or if the input has errors.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Hosts to empty, by name or by labels, whose keys may lack their prefix; default: those in
    /// maintenance
    #[arg(value_name = "NS/HOST|SELECTOR")]
    hosts: Vec<HostChoice>,

    #[command(flatten)]
    from: repo::RepoArguments,

    /// Maximum number of hosts of a cluster that move in one step
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    at_once: NonZeroU16,

    /// The output format; docs/drain.schema.json is the schema of JSON
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    format: AnswerFormat,
}

/// Returns the hosts in maintenance; fails without any.
pub(super) fn marked(site: &Site) -> Result<BTreeSet<HostKey>, CommandError> {
    let marked = in_maintenance(site);
    if marked.is_empty() {
        let message = "no host is in maintenance: name hosts, or mark them under `maintenance` in sipgen.yaml";
        return Err(CommandError(message.to_owned()));
    }
    Ok(marked)
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (lock, sites) = repo::lock_to_read(&arguments.from.chosen()?)?;
    repo::only(&sites)?;
    let runs = repo::generate(&sites)?;
    let mut errors = repo::findings(&sites, &runs);
    errors.retain(Finding::is_error);
    let mut answers = Vec::new();
    for (location, generated) in &runs {
        let hosts = match arguments.hosts.as_slice() {
            [] => marked(&generated.site)?,
            hosts => chosen(hosts, &generated.site)?,
        };
        let selectors = selectors(&arguments.hosts, &generated.site)?;
        let answer = drain(generated, &hosts, &selectors, arguments.at_once.get().into());
        answers.push((*location, answer));
    }
    drop(lock);
    repo::print_answers(arguments.format, &sites, &answers, report::drain)?;
    say(report::findings(&errors, &sites.repo));
    let is_planned = answers.iter().all(|(_, answer)| answer.verdict == DrainVerdict::Planned);
    Ok(exit_code(!is_planned || !errors.is_empty()))
}
