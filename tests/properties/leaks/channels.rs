//! All that sipgen says and writes of a repo.

use camino::Utf8Path;
use sipgen::ask::capacity::{CapacityScope, capacity};
use sipgen::ask::difference::Difference;
use sipgen::ask::overview::Overview;
use sipgen::base::api::names::ClusterKey;
use sipgen::base::finding::Code;
use sipgen::input::load::Files;
use sipgen::plan::explain;
use sipgen::report::status::StatusFocus;
use sipgen::report::{
    self, CiResults, DiffReport, PageAnswers, ReportDocument, ReportText, StatusReport, Validation,
};
use sipgen::review::effects::Review;
use sipgen::site::assembly::hardware;
use sipgen::site::sites::Sites;
use sipgen::{Options, generate, migrate};

/// How something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// To people, on stdout or stderr.
    People,
    /// As a diff, which may have tabs and the line ends of Windows.
    Diff,
    /// As workflow commands of GitHub.
    Commands,
    Json,
    Page,
    /// Into a file.
    Written,
}

/// Something that is said, and how.
pub struct Said {
    pub channel: String,
    pub form: Form,
    pub text: String,
}

struct Channels(Vec<Said>);

impl Channels {
    fn people(&mut self, channel: &str, text: &ReportText) {
        self.add(channel, Form::People, text.to_string());
    }

    fn json(&mut self, channel: &str, value: &impl serde::Serialize) {
        self.add(channel, Form::Json, ReportDocument::json(value).unwrap().to_string());
    }

    fn add(&mut self, channel: &str, form: Form, text: String) {
        self.0.push(Said { channel: channel.to_owned(), form, text });
    }
}

/// What every command says of a repo in every format, and what is written; without the formats that say the same in
/// many more words, unless `all` are asked for.
pub fn of(files: &Files, all: bool) -> Vec<Said> {
    let mut said = Channels(Vec::new());
    let generated = match generate(files, &Options::default(), &|_| {}) {
        Ok(generated) => generated,
        Err(error) => {
            said.people("failure", &report::failure(&error.to_string()));
            return said.0;
        }
    };
    let mut findings = generated.findings.clone();
    let (mut known_hardware, found) =
        hardware::known_hardware(files, &generated.site, None).unwrap();
    findings.extend(found);
    said.people("findings", &report::findings(&findings, files));
    said.people("tally", &report::tally(&findings, 0));
    said.people("summary", &report::summary(&generated, false));
    said.json("validate --format json", &Validation::new(&findings, 0, files));
    let stale = report::stale(&generated, "run `sipgen generate`");
    let results = CiResults::new(&findings, &stale, files, Utf8Path::new(""));
    said.add("--format github", Form::Commands, report::github(&results).to_string());
    said.add("--format gitlab", Form::Json, report::gitlab(&results).unwrap().to_string());
    if all {
        said.add("--format sarif", Form::Json, report::sarif(&results).unwrap().to_string());
    }

    let known = generated.changes.clone().map(|changes| {
        let review = Review::new(&changes, &generated.tree, &generated.site);
        (changes, review)
    });
    if let Some((changes, _)) = &known {
        said.people("stale", &report::stale_files(changes));
        said.add("--diff", Form::Diff, report::diff(changes).to_string());
        for (path, text) in &generated.tree {
            said.add(path.as_str(), Form::Written, text.clone());
        }
    }
    let difference = Difference {
        known,
        brought: None,
        stale: 1,
        findings: generated.findings.clone(),
        notes: Vec::new(),
    };
    said.people("diff", &report::plan(&difference));
    let comparison = DiffReport::new(None, None, &difference, files, true);
    said.json("diff --format json", &comparison);
    said.people("diff --format markdown", &report::markdown(&comparison));

    let racks = [Some("topology.example.com/rack"), None];
    for by in racks.into_iter().take(if all { 2 } else { 1 }) {
        let Ok(overview) = Overview::new(&generated, by) else {
            continue;
        };
        let scope = CapacityScope { racks: Some(&overview), ..CapacityScope::default() };
        let capacity = capacity(&generated, &scope).unwrap();
        let focuses = [StatusFocus::Site].into_iter();
        let focuses = focuses
            .chain(overview.racks.iter().map(|rack| StatusFocus::Rack(rack.name.as_deref())));
        let focuses = focuses
            .chain(overview.clusters.iter().map(|cluster| StatusFocus::Cluster(&cluster.key)));
        for focus in focuses.take(6) {
            said.people("status", &report::status(&overview, &capacity, focus, true));
        }
        said.people("capacity", &report::capacity(&capacity, true));
        let (overview, capacity) = (&overview, &capacity);
        let status = StatusReport::new(overview, capacity);
        said.json("status --format json", &status);
        if all {
            let answers = PageAnswers { overview, capacity, drain: None, snapshot: None };
            said.add(
                "report",
                Form::Page,
                report::page(&answers, None, &findings, files).unwrap().to_string(),
            );
        }
    }
    for key in generated.site.clusters.keys() {
        explain_cluster(&mut said, &generated, key);
    }
    for host in &generated.site.inventory.hosts {
        if let Some(explanation) = explain::host(&generated.site, &generated.plan, &host.key) {
            said.people("explain", &report::explain_host(&explanation));
            said.json("explain --format json", &explanation);
        }
        if let Some(hardware) = known_hardware.remove(&host.key) {
            let spec = host.spec.as_ref();
            let boot_mac = spec.and_then(|spec| spec.boot_mac_address.as_deref());
            said.people("explain", &report::explain_hardware(boot_mac, Some(&hardware)));
            said.json("explain --format json", &hardware);
        }
    }
    if findings.iter().any(|finding| finding.code == Code::OlderGeneration)
        && let Ok(sites) = Sites::find(files.clone())
        && let Ok(migration) = migrate(&sites)
    {
        said.people("migrate", &report::findings(&migration.findings, files));
        said.add("migrate", Form::Diff, report::migration(&migration).to_string());
    }
    said.0
}

fn explain_cluster(said: &mut Channels, generated: &sipgen::GeneratedSite, key: &ClusterKey) {
    if let Some(explanation) = explain::cluster(&generated.site, &generated.plan, key) {
        said.people("explain", &report::explain_cluster(&explanation));
        said.json("explain --format json", &explanation);
    }
}

/// What of a text acts on who reads it, if anything does.
pub fn acts(form: Form, text: &str) -> Option<String> {
    // Most of what is written is what templates have.
    if form == Form::Written && text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
        return None;
    }
    let is_of_diff = |c: char| form == Form::Diff && matches!(c, '\t' | '\r');
    let hidden = |c: char| {
        c.is_control() && c != '\n' && !is_of_diff(c) && !(form == Form::Written && c == '\t')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{fdd0}'..='\u{fdef}')
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
    };
    if let Some(c) = text.chars().find(|c| hidden(*c)) {
        return Some(format!("the character {}", c.escape_unicode()));
    }
    if form == Form::Diff && text.replace("\r\n", "\n").contains('\r') {
        return Some("a carriage return alone".to_owned());
    }
    if matches!(form, Form::Written | Form::Page) {
        return None;
    }
    let is_command = |line: &&str| {
        let body = line.trim_start();
        let own = ["::error file=", "::warning file=", "::notice title=sipgen::"];
        let is_own = form == Form::Commands && own.iter().any(|own| line.starts_with(own));
        body.starts_with("::") && !is_own
            || body.starts_with("section_start:")
            || body.starts_with("section_end:")
            || line.contains("##[")
            || line.contains("##vso[")
            || form == Form::Commands && !is_own
    };
    if let Some(line) = text.lines().find(is_command) {
        return Some(format!("the line {line:?}"));
    }
    let is_json = form != Form::Json || serde_json::from_str::<serde_json::Value>(text).is_ok();
    (!is_json).then(|| "no JSON".to_owned())
}
