//! Evidence that a host exists and that labels written for it arrive: see [`Evidence`].
//!
//! | evidence | proof |
//! | --- | --- |
//! | live | metadata that only an API server makes, or a provisioning state |
//! | applied | an agent's object of the site applies a build that renders the manifest, or our overlay of it; where no such object applies any host, every outermost kustomization counts that none applies to another cluster |
//! | reached | a kustomization renders the manifest, but the site's objects apply other hosts only, or others apply it to another cluster |
//! | loose | none of these |
//!
//! Without such an object, the agent is configured elsewhere, and the repo cannot show what it applies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use camino::Utf8Path;

use super::Site;
use super::concern::{globs_of, is_example};
use super::omitted::unlisted;
use crate::base::api::host::live_field;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Origin};
use crate::base::grouping::grouped;
use crate::base::text::counted;
use crate::input::load::Files;
use crate::input::settings::InventoryMode;
use crate::input::settings::sources::{self, Globs};
use crate::site::delivery::{Agents, AppliedBuilds, ReachedContent, applied_builds};
use crate::site::inventory::Evidence;
use crate::site::inventory::host_document::HostDocument;

/// Decides the evidence of each host document, and reports manifests without any, and what agents
/// apply that sipgen cannot read. `in_files` are all documents of hosts in the repo's files.
pub(super) fn classify(
    repo: &Files,
    site: &Site,
    agents: &Agents,
    reached: &[ReachedContent<'_>],
    in_files: &[(HostKey, Origin)],
    documents: &mut [HostDocument],
) -> Vec<Finding> {
    let (applied, programs) = applied_builds(&site.builds, reached);
    let mut findings = agents.unread(repo, &programs);
    let rendered_by = in_files.iter().filter_map(|(key, origin)| {
        let by = programs.iter().rfind(|rendered| rendered.has(&origin.file))?;
        Some((key, &by.by))
    });
    let rendered_by: HashMap<&HostKey, &String> = rendered_by.collect();
    let applied_elsewhere = AppliedBuilds::elsewhere(&site.builds, reached);
    let globs = globs_of(&site.settings);
    let proofs = HostProofs { site, agents, globs, applied, applied_elsewhere };
    let applies_any = documents.iter().any(|document| !proofs.applied_roots(document).is_empty());
    for document in documents.iter_mut() {
        let applied = proofs.applied_roots(document);
        document.evidence = proofs.evidence(document, &applied, applies_any);
        document.rendered_by = rendered_by.get(&document.key).copied().cloned();
        // Of several roots, those that an agent applies render the host.
        if matches!(document.evidence, Evidence::Applied { .. }) && !applied.is_empty() {
            document.roots = applied;
        }
    }
    findings.extend(proofs.reached(documents));
    findings.extend(proofs.loose(documents));
    findings
}

/// Facts that prove hosts.
struct HostProofs<'a> {
    site: &'a Site,
    agents: &'a Agents,
    globs: Vec<Globs>,
    applied: AppliedBuilds,
    applied_elsewhere: AppliedBuilds,
}

impl HostProofs<'_> {
    /// Returns the roots whose build with the document an agent's object applies.
    fn applied_roots(&self, document: &HostDocument) -> Vec<usize> {
        let Some(file) = document.file.as_deref() else { return Vec::new() };
        let is_applied = |root: &&usize| self.applied.has(**root, file);
        document.roots.iter().filter(is_applied).copied().collect()
    }

    /// Decides the evidence of a document; `applied` are the roots that an agent's object applies.
    fn evidence(&self, document: &HostDocument, applied: &[usize], applies_any: bool) -> Evidence {
        let is_observed = self.site.settings.inventory.mode == InventoryMode::Observed;
        let Some(root) = document.roots.first().copied().filter(|_| !is_observed) else {
            // What a stream or a source renders was handed over as the inventory.
            let is_proven = is_observed || document.origin.is_rendered() || document.host.is_live();
            return if is_proven { Evidence::Live } else { Evidence::Loose };
        };
        if let Some(root) = applied.first() {
            return Evidence::Applied { root: *root };
        }
        let is_chosen = || {
            let file = document.origin.file.as_ref();
            document.origin.is_rendered() || self.globs.iter().any(|globs| globs.name(file))
        };
        // sipgen's own object applies an overlay that exists.
        let is_own = || {
            let directory = &self.site.builds.root(root).directory;
            self.site.settings.gitops.is_some() && self.site.state.has_overlay_of(directory)
        };
        // Two base clusters would manage one machine.
        let is_elsewhere = || {
            let file = document.file.as_deref();
            file.is_some_and(|file| self.applied_elsewhere.has(root, file))
        };
        if !applies_any && !is_elsewhere() || is_chosen() || is_own() {
            Evidence::Applied { root }
        } else if live_field(&document.host.metadata).is_some() {
            Evidence::Live
        } else {
            Evidence::Reached { root }
        }
    }

    /// Reports kustomizations with hosts that no agent's object applies.
    fn reached(&self, documents: &[HostDocument]) -> Vec<Finding> {
        let unassigned = documents.iter().filter(|document| self.is_unassigned(document));
        let by_root = grouped(unassigned.filter_map(|document| match document.evidence {
            Evidence::Reached { root } => Some((root, document)),
            _ => None,
        }));
        let report = |(root, hosts): (usize, Vec<&HostDocument>)| {
            let root = self.site.builds.root(root);
            let files = files_of(&hosts);
            let finding = Finding::new(
                Code::HostNotApplied,
                format!(
                    "{} in {} cannot be assigned: no agent's object of this site applies that kustomization, while agents' \
                     objects apply other hosts, or this one to another cluster",
                    host_count(&hosts),
                    root.file
                ),
            )
            .at(self.site.builds.resources_of(root));
            first_of(&hosts, finding).help(format!(
                "to assign them, {}\n{}",
                sources::include(&self.site.settings, &root.directory, &files),
                sources::leave_out(&self.site.settings, &files)
            ))
        };
        by_root.into_iter().map(report).collect()
    }

    /// Reports manifests that nothing proves: an error beside applied ones, where the kustomization
    /// probably misses them.
    fn loose(&self, documents: &[HostDocument]) -> Vec<Finding> {
        if self.site.settings.inventory.mode == InventoryMode::Declared {
            // Each is an error of the inventory.
            return Vec::new();
        }
        let keys = |evidence: fn(&Evidence) -> bool| -> BTreeSet<&HostKey> {
            let documents = documents.iter().filter(|document| evidence(&document.evidence));
            documents.map(|document| &document.key).collect()
        };
        let rendered = keys(|evidence| evidence.root().is_some());
        let live = keys(|evidence| *evidence == Evidence::Live);
        let applied: BTreeSet<&Utf8Path> = documents
            .iter()
            .filter(|document| matches!(document.evidence, Evidence::Applied { .. }))
            .filter(|document| !document.origin.is_rendered())
            .filter_map(|document| document.origin.file.parent())
            .collect();
        let loose = documents.iter().filter(|document| {
            document.evidence == Evidence::Loose && document.host.spec.is_some()
        });
        let mut forgotten: BTreeMap<Arc<Utf8Path>, Vec<&HostDocument>> = BTreeMap::new();
        let mut others: Vec<&HostDocument> = Vec::new();
        for document in loose {
            let file = &document.origin.file;
            // A copy beside a better document is reported as a duplicate, and what an agent applies
            // as plain files with the agent's object.
            if rendered.contains(&document.key)
                || self.agents.apply_plainly(&self.site.builds, file)
            {
                continue;
            }
            match self.site.builds.forgetful(file, &applied) {
                Some(kustomization) if !is_example(file) => {
                    forgotten.entry(kustomization).or_default().push(document);
                }
                _ if live.contains(&document.key) => {}
                _ => others.extend(self.is_unassigned(document).then_some(document)),
            }
        }
        let report = |(kustomization, hosts): (Arc<Utf8Path>, Vec<&HostDocument>)| {
            let harm = format!("{} beside applied ones cannot be assigned", host_count(&hosts));
            let Site { settings, builds, .. } = self.site;
            let (code, files) = (Code::NotRendered, files_of(&hosts));
            let are_unassigned = hosts.iter().all(|document| self.is_unassigned(document));
            let settings = are_unassigned.then_some(settings);
            let component = kustomization.parent().filter(|directory| {
                let below = builds.below(directory);
                files.iter().all(|file| below.contains_key(*file))
            });
            let component = component.and_then(|it| builds.unlisted_component(it));
            first_of(
                &hosts,
                unlisted(code, settings, &kustomization, component.as_deref(), &files, &harm),
            )
        };
        forgotten.into_iter().map(report).chain(self.unproven(&others)).collect()
    }

    /// Returns whether the previous output assigns no host of the name: planning reports assigned
    /// hosts without proof.
    fn is_unassigned(&self, document: &HostDocument) -> bool {
        !self.site.state.held.contains_key(&document.key)
    }

    fn unproven(&self, hosts: &[&HostDocument]) -> Option<Finding> {
        if hosts.is_empty() {
            return None;
        }
        let by = hosts.iter().find_map(|host| host.rendered_by.as_ref());
        let why = match by {
            Some(by) => format!("only {by} renders such manifests, so a patch cannot reach them"),
            None => {
                "no kustomization renders such manifests, and nothing shows that the objects exist"
                    .to_owned()
            }
        };
        let message = format!("{} cannot be assigned: {why}", host_count(hosts));
        let finding = Finding::new(Code::HostNotApplied, message);
        Some(first_of(hosts, finding).help(format!(
            "list the manifests in a kustomization that an agent applies; for a snapshot of live hosts, keep their `uid` \
             and `status`, or set `inventory: {{mode: observed}}`; {}",
            sources::leave_out(&self.site.settings, &files_of(hosts))
        )))
    }
}

/// Returns the files of documents, each once.
fn files_of<'d>(documents: &[&'d HostDocument]) -> Vec<&'d Utf8Path> {
    let files = documents.iter().map(|document| &*document.origin.file);
    files.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Counts hosts. One may have several documents.
fn host_count(documents: &[&HostDocument]) -> String {
    let hosts: BTreeSet<&HostKey> = documents.iter().map(|document| &document.key).collect();
    counted(hosts.len(), "host")
}

fn first_of(hosts: &[&HostDocument], finding: Finding) -> Finding {
    finding.see_each(hosts.iter().map(|host| (host.origin.name(), host.key.to_string())))
}
