//! `sipgen explain`: reasons for an assignment, or the meaning of a finding.

use std::str::FromStr;

use sipgen::base::api::names::{ClusterKey, HostKey};
use sipgen::base::finding::{Code, Finding};
use sipgen::plan::explain::{self, ClusterExplanation, HostExplanation};
use sipgen::report::{self, ReportDocument, ReportText};
use sipgen::site::assembly::hardware;
use sipgen::site::hypothesis::{similar_cluster, similar_host, with_suggestion};
use sipgen::site::inventory::hardware::InspectedHardware;

use super::{AnswerFormat, CommandError, ExitCode, print, print_document, repo, say, say_findings};

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
        match text.contains('/') {
            true => text.parse::<ClusterKey>().map(Self::Name).map_err(|error| error.to_string()),
            false if is_code => text
                .parse()
                .map(Self::Code)
                .map_err(|error| format!("{error}; `sipgen explain --list` lists all codes")),
            false => Ok(Self::Unqualified(text.to_owned())),
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

impl ExplainOutput {
    fn text(&self) -> ReportText {
        let mut text = self.cluster.as_ref().map(report::explain_cluster).unwrap_or_default();
        if let Some(ExplainedHost { explanation, boot_mac_address, hardware }) = &self.host {
            text.push(&report::explain_host(explanation));
            text.push(&report::explain_hardware(boot_mac_address.as_deref(), hardware.as_ref()));
        }
        text
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    match &arguments.subject {
        None => {
            let all: Vec<_> = Code::ALL.iter().map(report::code_as_json).collect();
            explain_codes(arguments.format, report::codes(), &all)
        }
        Some(Subject::Code(code)) => {
            let answer = report::code_as_json(code);
            explain_codes(arguments.format, report::explain_code(*code), &answer)
        }
        Some(Subject::Name(name)) => explain_name(name, arguments),
        Some(Subject::Unqualified(name)) => {
            let sites = arguments.from.chosen()?.sites()?;
            Err(unknown_name(name, name, &repo::generate(&sites)?))
        }
    }
}

fn explain_codes(
    format: AnswerFormat,
    text: ReportText,
    answer: &impl serde::Serialize,
) -> Result<ExitCode, CommandError> {
    match format {
        AnswerFormat::Text => print(text),
        AnswerFormat::Json => print_document(&ReportDocument::json(answer)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports that neither a cluster nor a host has a name, of which `own` is without namespace.
fn unknown_name(name: &str, own: &str, runs: &repo::Runs<'_>) -> CommandError {
    let mut sites = runs.iter().map(|(_, generated)| &generated.site);
    let meant =
        sites.find_map(|site| similar_cluster(own, site).or_else(|| similar_host(own, site)));
    let name = with_suggestion(name, meant);
    CommandError(format!("no cluster or host of the repo is called {name}"))
}

fn explain_name(name: &ClusterKey, arguments: &Arguments) -> Result<ExitCode, CommandError> {
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
        let all = generated.findings.iter();
        let errors = all.filter(|finding| finding.is_error() && concerns(&finding.clusters));
        // Hardware findings concern every reader of the host, so warnings are included.
        findings.extend(errors.cloned().chain(found));
        explained.push((*location, explanation));
    }
    if explained.is_empty() {
        say(report::findings(&repo::findings(&sites, &runs), &sites.repo));
        return Err(unknown_name(&name.to_string(), name.name.as_str(), &runs));
    }
    repo::print_answers(arguments.format, &sites, &explained, ExplainOutput::text)?;
    Ok(say_findings(&findings, &sites.repo))
}
