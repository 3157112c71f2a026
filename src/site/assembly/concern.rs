//! Decides whether a mistake can reach a base cluster or only exists in the repo.
//!
//! Repos contain examples, templates and alternatives that no build applies. Mistakes in those are
//! at most warnings, which suggest the line of `sources` that excludes their files. Requests are an
//! exception: nothing else would report a missing cluster.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Site;
use super::names::NamingContext;
use super::read_object::{HostContent, ObjectsByKind, ReadObject};
use crate::base::api::host::{BareMetalHost, Metadata};
use crate::base::api::names::ObjectName;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::grouping::grouped;
use crate::base::layout;
use crate::base::text::{subject_with_first, with_others};
use crate::input::decode::suspected_templates::is_placeholder;
use crate::input::kustomize::{AgentBuild, EvaluatedFiles, KustomizationRefusal, join};
use crate::input::load::texts_of_documents;
use crate::input::settings::Settings;
use crate::input::settings::sources::{self, Globs, InputSource};
use crate::site::delivery::Agents;
use crate::site::inventory::host_document::HostDocument;

/// Words that mark files and directories as not applied. `test` is not among them because it also
/// names environments.
const EXAMPLES: [&str; 12] = [
    "demo",
    "docs",
    "e2e",
    "example",
    "examples",
    "fixtures",
    "molecule",
    "sample",
    "samples",
    "template",
    "templates",
    "testdata",
];

type ReadHost = ReadObject<Box<HostContent>>;

/// The facts that separate the inventory of a repo from examples.
pub(super) struct Concern<'a> {
    pub(super) naming: NamingContext<'a>,
    /// Globs of the settings' sources.
    globs: Vec<Globs>,
    pub(super) agents: &'a Agents,
    /// Set if some host is certainly not an example, so that others may be examples.
    has_inventory: bool,
    /// Input files with hosts or requests.
    files: BTreeSet<Arc<Utf8Path>>,
    /// Files with agents' objects that apply such files, or the output.
    appliers: BTreeSet<Arc<Utf8Path>>,
    /// Directories of those files, except examples.
    directories: BTreeSet<Utf8PathBuf>,
    /// Names of Secrets that hosts refer to.
    secrets: HashSet<String>,
}

impl<'a> Concern<'a> {
    /// Collects the facts about these hosts and requests.
    pub(super) fn new(
        naming: NamingContext<'a>,
        agents: &'a Agents,
        objects: &ObjectsByKind,
    ) -> Self {
        let mut concern = Self {
            naming,
            globs: globs_of(naming.settings),
            agents,
            has_inventory: false,
            files: BTreeSet::new(),
            appliers: BTreeSet::new(),
            directories: BTreeSet::new(),
            secrets: HashSet::new(),
        };
        // The hosts of a file follow one another, and share most facts.
        let is_same_file = |one: &ReadHost, other: &ReadHost| {
            let (one, other) = (&one.origin, &other.origin);
            Arc::ptr_eq(&one.file, &other.file) && one.is_rendered() == other.is_rendered()
        };
        for file_hosts in objects.hosts.chunk_by(is_same_file) {
            let origin = &file_hosts[0].origin;
            if !naming.inputs.contains(origin) {
                continue;
            }
            concern.files.insert(origin.file.clone());
            let is_intended = concern.is_intended(origin);
            let hosts = file_hosts.iter().map(|host| &host.content.host);
            let mut inventory_hosts = hosts.filter(|host| is_intended || host.is_live()).peekable();
            if inventory_hosts.peek().is_none() {
                continue;
            }
            concern.has_inventory = true;
            let directory = origin.file.parent().map(Utf8Path::to_owned);
            concern.directories.extend(directory);
            let specs = inventory_hosts.filter_map(|host| host.spec.as_ref());
            let names = specs.flat_map(|spec| spec.references());
            concern.secrets.extend(names.map(|(_, name)| name.to_owned()));
        }
        for origin in objects.request_origins().filter(|origin| naming.inputs.contains(origin)) {
            concern.files.insert(origin.file.clone());
            if concern.is_intended(origin) || !is_example(&origin.file) {
                concern.directories.extend(origin.file.parent().map(Utf8Path::to_owned));
            }
        }
        let output = &naming.settings.output;
        let applies_any = |directory: &Utf8Path| {
            let from = (Bound::Included(directory), Bound::Unbounded);
            let first = concern.files.range::<Utf8Path, _>(from).next();
            output.starts_with(directory)
                || directory.starts_with(output)
                || first.is_some_and(|file| file.starts_with(directory))
                || naming.builds.below(directory).keys().any(|it| concern.files.contains(&**it))
        };
        let applied = agents.applied.iter().filter(|applied| applied.is_of_site());
        let appliers = applied.filter(|applied| applies_any(&applied.directory));
        concern.appliers = appliers.map(|applied| applied.file().clone()).collect();
        concern
    }

    /// Returns whether a build or an agent has a document, or the settings name its file.
    pub(super) fn is_reached(&self, origin: &Origin) -> bool {
        origin.is_rendered()
            || !self.naming.builds.reach(&origin.file).is_empty()
            || is_named(&self.globs, &origin.file)
            || self.agents.apply_plainly(self.naming.builds, &origin.file)
    }

    /// Returns whether a document is certainly not an example.
    fn is_intended(&self, origin: &Origin) -> bool {
        self.is_reached(origin) || origin.file.starts_with(&self.naming.settings.snapshot.directory)
    }

    /// Returns whether a mistake in a host's document may reach a base cluster.
    pub(super) fn has_host(&self, origin: &Origin, host: Option<&BareMetalHost>) -> bool {
        let is_placeholder = || host.is_some_and(|host| is_template(&host.metadata));
        self.is_intended(origin)
            || host.is_some_and(BareMetalHost::is_live)
            || !self.has_inventory && !is_example(&origin.file) && !is_placeholder()
    }

    /// Returns whether a build, an agent, the settings or a host uses a Secret. A Secret in a
    /// directory with hosts or requests counts as used, and so does any Secret of a repo without an
    /// inventory, except in examples.
    pub(super) fn has_secret(&self, origin: &Origin, name: Option<&ObjectName>) -> bool {
        let directory = origin.file.parent().unwrap_or(Utf8Path::new(""));
        self.is_intended(origin)
            || name.is_some_and(|name| self.secrets.contains(name.as_str()))
            || self.directories.contains(directory)
            || !self.has_inventory && !is_example(&origin.file)
    }

    /// Returns whether a request is a template of another tool, by its name or namespace.
    pub(super) fn is_template(&self, origin: &Origin, metadata: &Metadata) -> bool {
        let file = &origin.file;
        let is_applied = || {
            !self.naming.builds.reach(file).is_empty()
                || self.agents.apply_plainly(self.naming.builds, file)
        };
        is_template(metadata) && !origin.is_rendered() && !is_applied()
    }

    /// Reports a template of a request that is ignored.
    pub(super) fn template(&self, origin: &Origin, kind: &str) -> Finding {
        let message =
            format!("a {kind} is not read: its name is a placeholder, so it is a template");
        Finding::new(Code::UnusedObject, message)
            .at(origin.name())
            .help(sources::leave_out(self.naming.settings, &[&origin.file]))
    }

    /// Downgrades an error in a host to a warning if it concerns no base cluster.
    pub(super) fn host_finding(&self, finding: Finding, origin: &Origin) -> Finding {
        if self.has_host(origin, None) { finding } else { self.unused(finding, origin) }
    }

    /// Converts an error in a file that no build reaches to a warning.
    pub(super) fn unused(&self, finding: Finding, origin: &Origin) -> Finding {
        let Finding { message, places, clusters, .. } = finding;
        let message = format!("{message}; no build reaches the file, so the object is ignored");
        let unused = Finding::new(Code::UnusedObject, message)
            .help(sources::leave_out(self.naming.settings, &[&origin.file]));
        Finding { places, clusters, ..unused }
    }

    /// Reports a file of a build that kustomize does not read as sipgen does, for its encoding.
    fn misread(&self, file: &Arc<Utf8Path>) -> Option<Finding> {
        if self.naming.builds.reach(file).is_empty() {
            return None;
        }
        let why = match self.naming.repo.beginning(file)? {
            [0xff, 0xfe, 0, 0] | [0, ..] | [_, 0, ..] => {
                "refuses the file: it is neither UTF-8 nor UTF-16 with a byte order mark"
            }
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                let text = self.naming.repo.text(file)?;
                let has_content = |it: &&str| !it.trim_start_matches("---").trim().is_empty();
                let count = texts_of_documents(&text).filter(has_content).count();
                (count > 1).then_some("reads only the first document of the file: it is UTF-16")?
            }
            _ => return None,
        };
        let finding = Finding::new(Code::BuildRefused, format!("kustomize {why}"));
        Some(finding.at(Place::File(file.clone())).help("save the file as UTF-8"))
    }

    /// Returns whether a file has hosts, requests, or an agent's object that applies some.
    fn matters(&self, file: &Utf8Path) -> bool {
        self.files.contains(file) || self.appliers.contains(file)
    }

    /// Reports builds without hosts and requests that kustomize refuses, although they have an agent's
    /// object that applies some. The `unreadable` files have findings of their own.
    pub(super) fn refused_appliers(
        &self,
        agents: &BTreeMap<Utf8PathBuf, AgentBuild>,
        unreadable: HashSet<Arc<Utf8Path>>,
    ) -> Vec<Finding> {
        let NamingContext { repo, builds, settings, .. } = self.naming;
        let reaches = self.files.iter().flat_map(|file| builds.reach(file));
        let with_inputs: HashSet<usize> = reaches.map(|reach| reach.root).collect();
        // The others were evaluated with their hosts and requests.
        let is_new = |file: &&Arc<Utf8Path>| {
            let mut roots = builds.reach(file).iter().map(|reach| reach.root);
            roots.all(|root| !with_inputs.contains(&root))
        };
        let vital: HashSet<Arc<Utf8Path>> = self.appliers.iter().filter(is_new).cloned().collect();
        if vital.is_empty() {
            return Vec::new();
        }
        let wanted = EvaluatedFiles {
            vital,
            unreadable,
            output: Some(&settings.output),
            agents: AgentBuild::without_names(agents, |_| false),
            ..EvaluatedFiles::default()
        };
        let findings = builds.evaluate(repo, &wanted).findings.into_iter();
        findings.filter(|finding| finding.code == Code::BuildRefused).collect()
    }

    /// Reports directories whose kustomization kustomize refuses, if a build with hosts, requests or an
    /// agent's object that applies some contains them.
    pub(super) fn refused(
        &self,
        mut refused: BTreeMap<Utf8PathBuf, KustomizationRefusal>,
    ) -> Vec<Finding> {
        let files = self.files.union(&self.appliers);
        let mut findings: Vec<Finding> = files.filter_map(|file| self.misread(file)).collect();
        let builds = self.naming.builds;
        for root in builds.roots() {
            if refused.is_empty() {
                break;
            }
            let made_of = builds.made_of(&root.directory);
            let is_part = |directory: &Utf8PathBuf| made_of.contains(directory.as_path());
            let has_any = || {
                let below = builds.below(&root.directory);
                below.keys().any(|file| self.matters(file))
            };
            if !refused.keys().any(is_part) || !has_any() {
                continue;
            }
            let directory = layout::directory_argument(&root.directory);
            for (_, KustomizationRefusal { why, place }) in
                refused.extract_if(.., |directory, _| is_part(directory))
            {
                let message = format!("`kustomize build {directory}` fails: {why}");
                let help = format!(
                    "fix it until `kustomize build {directory}` succeeds: agents apply nothing of it before"
                );
                findings.push(Finding::new(Code::BuildRefused, message).at(place).help(help));
            }
        }
        findings
    }

    /// Downgrades an error in a kustomization to a warning if it has neither hosts nor requests, nor an
    /// agent's object that applies some.
    pub(super) fn kustomization_finding(&self, finding: Finding) -> Finding {
        let Some(file) = finding.places.first().map(|(place, _)| place.file().to_path_buf()) else {
            return finding;
        };
        let own = file.parent().unwrap_or(Utf8Path::new(""));
        let files = self.files.union(&self.appliers);
        let has_any = |directory: &Utf8Path| files.clone().any(|file| file.starts_with(directory));
        // A kustomization that cannot be parsed has no list of resources, so every word in it
        // counts as a path.
        let text = self.naming.repo.text(&file).unwrap_or_default();
        let words =
            text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']'));
        let mut named = words.filter(|word| !word.is_empty()).filter_map(|word| join(own, word));
        let mut lists = self
            .naming
            .builds
            .listed_by(own)
            .flat_map(|by| self.naming.builds.below(by).into_keys());
        let is_listed = lists.any(|file| self.matters(&file));
        if is_listed || has_any(own) || named.any(|path| path != own && has_any(&path)) {
            return finding;
        }
        let Finding { message, places, .. } = finding;
        let message =
            format!("{message}; no host and no request is in its reach, so it is ignored");
        let help = "fix it, or mute this warning in sipgen.yaml: \
                    `findings: {ignore: [{code: SIP0349, reason: \"…\"}]}`";
        let unused = Finding::new(Code::UnusedObject, message).help(help);
        Finding { places, ..unused }
    }
}

/// Returns whether a glob of the settings selects a file, rather than merely not excluding it.
fn is_named(globs: &[Globs], file: &Utf8Path) -> bool {
    let names =
        |globs: &Globs| globs.globs.iter().any(|glob| !glob.excludes && globs.matches(glob, file));
    globs.iter().any(|globs| names(globs) && globs.take(file))
}

/// Returns whether a glob of the settings excludes a file.
pub(super) fn is_excluded(settings: &Settings, file: &Utf8Path) -> bool {
    globs_of(settings).iter().any(|globs| globs.exclude(file))
}

pub(super) fn globs_of(settings: &Settings) -> Vec<Globs> {
    settings.sources.iter().filter_map(InputSource::globs).collect()
}

/// Returns whether a path contains a word for examples.
pub(super) fn is_example(file: &Utf8Path) -> bool {
    let words = file.as_str().split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().any(|word| EXAMPLES.iter().any(|example| example.eq_ignore_ascii_case(word)))
}

fn is_template(metadata: &Metadata) -> bool {
    [&metadata.name, &metadata.namespace].into_iter().flatten().any(|text| is_placeholder(text))
}

/// Drops duplicate documents of hosts that may be examples, and reports them.
///
/// If all documents of a host may be examples, all are dropped, unless the host is assigned: it
/// then stays with all its documents and is refused, because it is unknown which one is true.
pub(super) fn without_duplicates(documents: &mut Vec<HostDocument>, site: &Site) -> Vec<Finding> {
    let by_key = grouped(documents.iter().enumerate().map(|(index, it)| (&it.key, index)));
    let mut dropped: BTreeSet<usize> = BTreeSet::new();
    let mut alike: BTreeMap<(Vec<Utf8PathBuf>, bool), Vec<usize>> = BTreeMap::new();
    for (key, indices) in by_key.into_iter().filter(|(_, indices)| indices.len() > 1) {
        let (meant, mut unused): (Vec<usize>, Vec<usize>) =
            indices.iter().partition(|index| documents[**index].is_meant);
        if meant.is_empty() && site.state.held.contains_key(key) {
            continue;
        }
        // Beside a manifest, one more document stays: it may show the live state. One with a
        // consumer is preferred.
        if !meant.is_empty() && meant.iter().all(|index| !documents[*index].roots.is_empty()) {
            // If there are several, keep one with a consumer: without it, a host in use would seem
            // free.
            let says_use = |index: &usize| {
                let spec = documents[*index].host.spec.as_ref();
                spec.is_some_and(|spec| spec.consumer_ref.is_some())
            };
            let kept = unused.iter().position(says_use).unwrap_or(0);
            if !unused.is_empty() {
                unused.remove(kept);
            }
        }
        if unused.is_empty() {
            continue;
        }
        let files: BTreeSet<Utf8PathBuf> =
            unused.iter().map(|index| documents[*index].origin.file.to_path_buf()).collect();
        alike.entry((files.into_iter().collect(), meant.is_empty())).or_default().push(unused[0]);
        dropped.extend(unused);
    }
    let report = |((files, are_all), mut hosts): ((Vec<Utf8PathBuf>, bool), Vec<usize>)| {
        hosts.sort_unstable();
        let first = format!("`{}`", documents[hosts[0]].key);
        let what = subject_with_first(hosts.len(), "host", first);
        let files: Vec<&Utf8Path> = files.iter().map(Utf8PathBuf::as_path).collect();
        let shown = with_others(format!("`{}`", files[0]), files.len() - 1, "more file");
        let message =
            format!("{what} described more than once, and no build reaches {shown}: ignored");
        let places = hosts.iter().map(|index| documents[*index].origin.name());
        let finding = Finding::new(Code::UnusedObject, message).at_each(places);
        // If all files may be examples, the advice must not exclude every one.
        let others = files.get(1..).filter(|others| are_all && !others.is_empty());
        finding.help(sources::leave_out(&site.settings, others.unwrap_or(&files)))
    };
    let findings = alike.into_iter().map(report).collect();
    let mut indices = 0..;
    documents.retain(|_| indices.next().is_none_or(|index| !dropped.contains(&index)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_known_and_names_are_not() {
        for text in [
            "NAME",
            "CLUSTER_NAME",
            "${NAME}",
            "$NAME",
            "<name>",
            "@HOST@",
            "__host__",
            "{{ name }}",
            "n-${i}",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["web", "Web_1", "R1", "r07-n01", "a.b", "$", "WEB", "a_b"] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn examples_are_known_by_words_of_their_paths() {
        for path in [
            "examples/a.yaml",
            "deploy/host-template.yaml",
            "docs/x/a.yaml",
            "roles/x/molecule/a.yaml",
        ] {
            assert!(is_example(path.into()), "{path}");
        }
        for path in ["clusters/test/a.yaml", "demonstration/a.yaml", "hosts.yaml"] {
            assert!(!is_example(path.into()), "{path}");
        }
    }
}
