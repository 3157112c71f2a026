//! The files that a site reads: those in its directory, and those that its builds and agents reach
//! elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Location;
use crate::base::api::host;
use crate::base::api::kustomization::{FILE_NAMES, is_kustomization};
use crate::base::api::last_wins::DecodedKustomization;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::layout;
use crate::base::text::counted;
use crate::input::kustomize::Builds;
use crate::input::load::{Document, Files, ReadError, ScanResult, SitePart, kustomize, mentions};
use crate::input::settings::Settings;
use crate::site::delivery::{AgentObject, Agents, AppliedDirectory, GROUPS, RepoListing};
use crate::site::request::ClusterKind;

/// The references between a repo's files.
pub(super) struct ReferenceGraph<'a> {
    files: &'a Files,
    /// Files that can hold resources, sorted.
    all: Vec<Utf8PathBuf>,
    listing: RepoListing,
    /// Directories that could not be read, with the reason.
    closed: Vec<(Utf8PathBuf, String)>,
    /// Paths that each kustomization lists.
    named: HashMap<Utf8PathBuf, Vec<Utf8PathBuf>>,
    /// Agents' objects by file.
    agents: BTreeMap<Utf8PathBuf, Vec<AgentObject>>,
    /// Agents' objects that affect the meaning of others.
    context: Vec<AgentObject>,
    requests: Vec<(ClusterKind, Origin)>,
    /// Generated files with hosts.
    generated: Vec<Utf8PathBuf>,
}

/// A fact from one file or document.
enum ReferenceFact {
    /// A kustomization, and the paths that it lists.
    Kustomization(Utf8PathBuf, Vec<Utf8PathBuf>),
    Agent(Box<AgentObject>),
    Request(ClusterKind, Origin),
    Generated(Utf8PathBuf),
}

fn interpret(document: &Document<'_>) -> Option<ReferenceFact> {
    let origin = document.origin.clone();
    if is_kustomization(&origin.file) {
        let DecodedKustomization(decoded, _) = document.parse_leniently().ok()?;
        let directory = origin.file.parent().unwrap_or(Utf8Path::new(""));
        let named = kustomize::named(directory, &decoded.ok()?);
        return Some(ReferenceFact::Kustomization(origin.file.to_path_buf(), named));
    }
    let request = ClusterKind::named(document.kind()?)
        .filter(|kind| document.mentions(&[kind.descriptor().object.group]))
        // Most Clusters of Cluster API are no requests.
        .filter(|kind| {
            let annotation = kind.descriptor().request_annotation;
            annotation.is_none_or(|annotation| document.mentions(&[annotation]))
        });
    match request {
        Some(kind) => {
            (!document.looks_like_template()).then_some(ReferenceFact::Request(kind, origin))
        }
        None => AgentObject::read(document).map(|object| ReferenceFact::Agent(Box::new(object))),
    }
}

impl<'a> ReferenceGraph<'a> {
    /// Reads the references of all files.
    pub(super) fn read(files: &'a Files) -> Result<Self, ReadError> {
        let (mut all, closed) = files.files_and_closed(Utf8Path::new(".git"))?;
        let hosts = mentions(&[host::KIND]);
        let matters = mentions(&[&GROUPS[..], &ClusterKind::marks()].concat());
        let look = |file: &Utf8Path, content: &[u8]| {
            if layout::is_ours(content) {
                let says = hosts(content).then(|| ReferenceFact::Generated(file.to_owned()));
                return ScanResult { says, read: false };
            }
            ScanResult::from(is_kustomization(file) || matters(content))
        };
        let facts = files.scan(&all, look, |document| interpret(&document))?;
        all.sort();
        let mut repo = Self {
            files,
            all,
            listing: RepoListing::default(),
            closed,
            named: HashMap::new(),
            agents: BTreeMap::new(),
            context: Vec::new(),
            requests: Vec::new(),
            generated: Vec::new(),
        };
        for said in facts {
            match said {
                ReferenceFact::Kustomization(file, named) => {
                    repo.named.entry(file).or_default().extend(named);
                }
                ReferenceFact::Agent(object) => {
                    repo.context.extend(object.is_context().then(|| (*object).clone()));
                    let file = object.origin.file.to_path_buf();
                    repo.agents.entry(file).or_default().push(*object);
                }
                ReferenceFact::Request(kind, origin) => repo.requests.push((kind, origin)),
                ReferenceFact::Generated(file) => repo.generated.push(file),
            }
        }
        Ok(repo)
    }

    /// Completes a site's part of the repo.
    ///
    /// It gets the files of its directory, and the files that kustomizations and agents reach from
    /// there. Objects elsewhere that may tell an agent to apply something of the site are added.
    /// `others` are the directories of other sites.
    pub(super) fn reach(
        &self,
        mut part: SitePart,
        settings: &Settings,
        others: &[&Utf8Path],
    ) -> SitePart {
        let mut pending: Vec<&Utf8PathBuf> =
            self.all.iter().filter(|file| part.owns(file)).collect();
        while let Some(file) = pending.pop() {
            // Generated files are never inputs, so nothing is reached through them.
            if !part.files.insert(file.clone()) || file.starts_with(&settings.output) {
                continue;
            }
            pending
                .extend(self.named.get(file).into_iter().flatten().flat_map(|path| self.at(path)));
            let Some(objects) = self.agents.get(file) else { continue };
            for followed in
                self.followed(settings, objects).iter().filter(|applied| applied.is_of_site())
            {
                pending.extend(self.applied(followed, others));
            }
        }
        for (file, objects) in &self.agents {
            if part.files.contains(file) {
                continue;
            }
            let is_of_other = others.iter().any(|other| file.starts_with(other));
            let leads_here = |followed: &AppliedDirectory| part.owns(&followed.directory);
            if !is_of_other || self.followed(settings, objects).iter().any(leads_here) {
                part.files.insert(file.clone());
                part.for_agents.insert(file.clone());
            }
        }
        let named: Vec<&Utf8PathBuf> =
            part.files.iter().filter_map(|file| self.named.get(file)).flatten().collect();
        let concerns = |directory: &Utf8Path| {
            part.owns(directory) || named.iter().any(|path| path.starts_with(directory))
        };
        let closed = self.closed.iter().filter(|(directory, _)| concerns(directory));
        part.closed = closed.cloned().collect();
        part
    }

    /// Returns the directories that a file's objects tell agents to apply.
    fn followed(&self, settings: &Settings, objects: &[AgentObject]) -> Vec<AppliedDirectory> {
        let own = objects.iter().filter(|object| !object.is_context());
        let objects = own.chain(&self.context).cloned().collect();
        Agents::new(self.files, settings, &Builds::default(), objects, &self.listing).applied
    }

    /// Returns a file that can hold resources, by its path.
    fn known(&self, path: &Utf8Path) -> Option<&Utf8PathBuf> {
        let at = self.all.binary_search_by(|file| file.as_path().cmp(path)).ok()?;
        self.all.get(at)
    }

    /// Returns the file at a path, or the kustomization of the directory there.
    fn at(&self, path: &Utf8Path) -> Vec<&Utf8PathBuf> {
        let own = std::iter::once(path.to_owned()).chain(kustomizations(path));
        own.filter_map(|path| self.known(&path)).collect()
    }

    /// Returns the files that an agent applies from a directory: its kustomization, or every
    /// manifest that the agent selects.
    ///
    /// Files of other sites are excluded, unless the directory itself is inside another site.
    fn applied(&self, followed: &AppliedDirectory, others: &[&Utf8Path]) -> Vec<&Utf8PathBuf> {
        let directory = &followed.directory;
        let own: Vec<_> = kustomizations(directory).filter_map(|path| self.known(&path)).collect();
        if !own.is_empty() {
            return own;
        }
        let is_of_other = |file: &Utf8Path| {
            others.iter().any(|other| file.starts_with(other) && !directory.starts_with(other))
        };
        self.all.iter().filter(|file| followed.takes(file) && !is_of_other(file)).collect()
    }

    /// Reports kustomizations of a site that list the generated files of another site, which have
    /// the labels of its clusters.
    pub(super) fn listed_output(&self, site: &Location, sites: &[Location]) -> Vec<Finding> {
        let output = &site.settings.output;
        let read = self.named.iter().filter(|(file, _)| site.files.reads(file));
        let listed = read.flat_map(|(file, named)| named.iter().map(move |path| (file, path)));
        let is_foreign = |path: &Utf8Path| {
            let is_below = |other: &Location| path.starts_with(&other.settings.output);
            !path.starts_with(output) && sites.iter().any(is_below)
        };
        let mut listed: Vec<_> = listed.filter(|(_, path)| is_foreign(path)).collect();
        listed.sort();
        let name = &site.name;
        let help =
            "list the other site's inputs instead; its output has the labels of its own clusters";
        let finding = |(file, path): (&Utf8PathBuf, &Utf8PathBuf)| {
            let message = format!(
                "`{file}`, which the site `{name}` builds, lists `{path}`, the output of another site"
            );
            let place = Place::File(Arc::from(file.as_path()));
            Finding::new(Code::MisplacedOutput, message).at(place).help(help)
        };
        listed.into_iter().map(finding).collect()
    }

    /// Reports requests and generated hosts that no site reads.
    pub(super) fn outside(&self, sites: &[Location]) -> Vec<Finding> {
        let is_read = |file: &Utf8Path| {
            let is_own = |site: &Location| file.starts_with(&site.settings.output);
            sites.iter().any(|site| site.files.reads(file) || is_own(site))
        };
        let mut findings = Vec::new();
        for (kind, origin) in self.requests.iter().filter(|(_, origin)| !is_read(&origin.file)) {
            let file = &origin.file;
            let message = format!("the {kind} in `{file}` belongs to no site and is not read");
            let help =
                "move it into a site's directory, or list it in a kustomization that a site builds";
            findings.push(Finding::new(Code::OutsideOfSites, message).at(origin.name()).help(help));
        }
        let lost: Vec<&Utf8PathBuf> = self.generated.iter().filter(|file| !is_read(file)).collect();
        if let Some(first) = lost.first() {
            let files = counted(lost.len(), "file");
            let message = format!("found {files} with generated hosts outside of every site");
            let help = "move them into their site's output directory with `git mv`, because they record host assignments; \
                        delete copies";
            let place = Place::File(Arc::from(first.as_path()));
            findings.push(Finding::new(Code::MisplacedOutput, message).at(place).help(help));
        }
        findings
    }
}

/// Returns the possible kustomization files of a directory.
fn kustomizations(directory: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> {
    FILE_NAMES.into_iter().map(|name| directory.join(name))
}
