//! `sipgen explain`: reasons for an assignment, or the meaning of a finding.

use std::str::FromStr;

use sipgen::base::api::names::{ClusterKey, HostKey};
use sipgen::base::finding::{Code, Finding};
use sipgen::plan::explain::{self, ClusterExplanation, HostExplanation};
use sipgen::report;
use sipgen::site::assembly::hardware::{self};
use sipgen::site::hypothesis::{similar_cluster, similar_host, with_suggestion};
use sipgen::site::inventory::hardware::InspectedHardware;

use super::{AnswerFormat, CommandError, CommandResult, print, print_answer, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen explain tenant-a/edge                  a cluster
  sipgen explain metal/lab-a1                   a host
  sipgen explain tenant-a/edge --format json
  sipgen explain SIP0209                        a finding
  sipgen explain --list                         all findings";

/// Explain the hosts of a cluster, the owner of a host, or a finding
///
/// For a cluster: each node set, its hosts and the reason for each; for a node set that cannot be
/// filled, the proof. For a host: its owner, or the reason why each node set rejects it, and its
/// inspected hardware. For a finding's code: the problem, why it matters, and how to fix it.
/// Nothing is written.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A SIPCluster, a BareMetalHost, or the code of a finding
    #[arg(value_name = "NS/NAME|CODE", required_unless_present = "list")]
    subject: Option<Subject>,

    /// List all codes of findings
    #[arg(long, conflicts_with = "subject")]
    list: bool,

    #[command(flatten)]
    from: repo::RepoArguments,

    /// The output format
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    format: AnswerFormat,
}

/// Cluster or host name, or finding code.
#[derive(Debug, Clone)]
enum Subject {
    Name(ClusterKey),
    /// A name without namespace, which names nothing.
    Unqualified(String),
    Code(Code),
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_code = text.get(..3).is_some_and(|first| first.eq_ignore_ascii_case("SIP"));
        if is_code && !text.contains('/') {
            text.parse()
                .map(Self::Code)
                .map_err(|error| format!("{error}; `sipgen explain --list` lists all codes"))
        } else {
            match text.parse::<ClusterKey>() {
                Ok(name) => Ok(Self::Name(name)),
                Err(_) if !text.contains('/') => Ok(Self::Unqualified(text.to_owned())),
                Err(error) => Err(error.to_string()),
            }
        }
    }
}

/// JSON output. One name may denote a cluster, a host, or both.
#[derive(serde::Serialize)]
struct ExplainOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterExplanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<ExplainedHost>,
}

#[derive(serde::Serialize)]
struct ExplainedHost {
    #[serde(flatten)]
    explanation: HostExplanation,
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    boot_mac_address: Option<String>,
    #[serde(flatten)]
    hardware: Option<InspectedHardware>,
}

pub(super) fn run(arguments: &Arguments) -> Result<CommandResult, CommandError> {
    match &arguments.subject {
        None => {
            let all: Vec<_> = Code::ALL.iter().map(report::code_as_json).collect();
            print_answer(arguments.format, report::codes(), &all)?;
            Ok(CommandResult::Yes)
        }
        Some(Subject::Code(code)) => {
            let answer = report::code_as_json(code);
            print_answer(arguments.format, report::explain_code(*code), &answer)?;
            Ok(CommandResult::Yes)
        }
        Some(Subject::Name(name)) => explain_name(name, arguments),
        Some(Subject::Unqualified(name)) => {
            let sites = arguments.from.chosen()?.sites()?;
            Err(unknown_name(name, name, &repo::generate(&sites)?))
        }
    }
}

/// Reports that neither a cluster nor a host has a name, of which `own` is without namespace.
fn unknown_name(name: &str, own: &str, runs: &repo::Runs<'_>) -> CommandError {
    let mut sites = runs.iter().map(|(_, generated)| &generated.site);
    let meant =
        sites.find_map(|site| similar_cluster(own, site).or_else(|| similar_host(own, site)));
    let name = with_suggestion(name, meant);
    CommandError(format!("no cluster or host of the repo is called {name}"))
}

fn explain_name(name: &ClusterKey, arguments: &Arguments) -> Result<CommandResult, CommandError> {
    let (lock, sites) = repo::lock_to_read(&arguments.from.chosen()?)?;
    let runs = repo::generate(&sites)?;
    drop(lock);
    let key = HostKey { namespace: name.namespace.clone(), name: name.name.clone() };
    let mut explained = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for (location, generated) in &runs {
        let (site, plan) = (&generated.site, &generated.plan);
        let (mut host, mut found) = (None, Vec::new());
        if let Some(explanation) = explain::host(site, plan, &key) {
            let (mut hardware, findings) =
                hardware::known_hardware(&location.files, site, Some(&key))?;
            found = findings;
            let hardware = hardware.remove(&key);
            let spec = site.inventory.host(&key).and_then(|host| host.spec.as_ref());
            let boot_mac_address = spec.and_then(|spec| spec.boot_mac_address.clone());
            host = Some(ExplainedHost { explanation, boot_mac_address, hardware });
        }
        let explanation = ExplainOutput { cluster: explain::cluster(site, plan, name), host };
        if explanation.cluster.is_none() && explanation.host.is_none() {
            continue;
        }
        let concerns = |clusters: &[ClusterKey]| clusters.is_empty() || clusters.contains(name);
        let errors = generated
            .findings
            .iter()
            .filter(|finding| finding.is_error() && concerns(&finding.clusters));
        // Hardware findings concern every reader of the host, so warnings are included.
        findings.extend(errors.cloned().chain(found));
        explained.push((*location, explanation));
    }
    if explained.is_empty() {
        say(report::findings(&repo::findings(&sites, &runs).0, &sites.repo));
        return Err(unknown_name(&name.to_string(), name.name.as_str(), &runs));
    }
    match arguments.format {
        AnswerFormat::Json => repo::print_json(&sites, explained)?,
        AnswerFormat::Text => {
            for (location, explanation) in &explained {
                print(repo::heading(&sites, &location.name));
                if let Some(cluster) = &explanation.cluster {
                    print(report::explain_cluster(cluster));
                }
                if let Some(ExplainedHost { explanation, boot_mac_address, hardware }) =
                    &explanation.host
                {
                    print(report::explain_host(explanation));
                    let boot_mac = boot_mac_address.as_deref();
                    print(report::explain_hardware(boot_mac, hardware.as_ref()));
                }
            }
        }
    }
    say(report::findings(&findings, &sites.repo));
    Ok(if !findings.iter().any(Finding::is_error) { CommandResult::Yes } else { CommandResult::No })
}
