//! One run: from the files of a repo to the changes to its output directory. Writes nothing.

mod bound_objects;
mod included_hosts;
mod own_templates;
mod real_builds;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use rayon::prelude::*;

use crate::base::api::date::Date;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{self, Code, Finding};
use crate::base::text::{abbreviated, counted, known_names};
use crate::base::tree::Tree;
use crate::input::load::{Files, ReadError};
use crate::input::settings::Settings;
use crate::output::compare::missing_entries::ChangedOutput;
use crate::output::compare::{OutputChanges, compare};
use crate::output::render::{HostMetadata, RenderedPlan, planned_hosts, render};
use crate::plan::{self, HostReplacement, Plan, plan};
use crate::review::lint::{self, LintExceptions, lint};
use crate::review::uncommitted;
use crate::site::Site;
use crate::site::hypothesis::{self, Hypothesis};
use crate::site::inventory::maintenance::expired_marks;
use crate::site::sites::{self, Location, Sites};
use included_hosts::CompleteRepo;
pub use real_builds::{CheckedBuilds, check_builds};

/// Maximum number of clusters that an error about an unknown one names.
const CLUSTERS_NAMED: usize = 8;

/// Options of a run.
///
/// ```
/// let options = sipgen::Options { keep_going: true, allow_empty: true, ..sipgen::Options::default() };
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Leave clusters with errors unchanged, and generate the others.
    pub keep_going: bool,
    /// Generate only these clusters, and leave all others unchanged; empty for all.
    pub only: BTreeSet<ClusterKey>,
    /// Replace assigned hosts that would not be chosen again, where possible.
    pub rebalance: bool,
    /// Make these moves of hosts.
    pub moves: Vec<HostReplacement>,
    /// Accept a repo without any SIPCluster or Provisioning, even if the output directory has
    /// clusters.
    pub allow_empty: bool,
    /// The current date, for warnings about dates in the settings. The generated files do not depend
    /// on it. Without it, there are no such warnings.
    pub today: Option<Date>,
    /// Changes of the site that no file has.
    pub hypothesis: Hypothesis,
}

/// The steps of a run, for progress reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The repo is read.
    Reading,
    /// Hosts are assigned.
    Planning,
    /// Files are rendered in memory.
    Rendering,
    /// The output directory is read.
    Comparing,
}

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct GeneratedSite {
    /// Inputs.
    pub site: Site,
    /// Assignments.
    pub plan: Plan,
    /// Rendered files, without those of clusters that stay as they are on the disk.
    pub tree: Tree,
    /// Metadata that outputs add to hosts.
    pub(crate) host_metadata: HostMetadata,
    /// Changes to make on the disk; `None` if errors forbid writing.
    pub changes: Option<OutputChanges>,
    /// Changed files whose new text is the committed one.
    pub edited: BTreeSet<Utf8PathBuf>,
    /// Findings that are not suppressed.
    pub findings: Vec<Finding>,
    /// Number of warnings that the settings suppress.
    pub muted: usize,
}

impl GeneratedSite {
    /// Returns the generated files that the output directory has after the changes, by path
    /// relative to it.
    ///
    /// These are the rendered files, and the unchanged files of `repo`, which this was generated
    /// from. If errors forbid writing, all files stay unchanged.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn output(&self, repo: &Files) -> Result<Tree, ReadError> {
        let output = &self.site.settings.output;
        match &self.changes {
            Some(changes) => changes.applied(repo, output, &self.tree),
            None => OutputChanges::default().applied(repo, output, &Tree::new()),
        }
    }
}

/// The reason why a run failed, except for findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// [`Options::only`] names an unknown cluster.
    #[error("unknown cluster `{0}`; the repo has {1}")]
    NoSuchCluster(ClusterKey, String),
    /// The real kustomize is missing.
    #[error("no build can be checked: {0}")]
    Build(String),
    /// [`Options::hypothesis`] is about something that the repo does not have.
    #[error(transparent)]
    Hypothesis(#[from] hypothesis::UnknownSubject),
}

/// Computes the changes to a repo's output directory. Writes nothing.
///
/// Invalid input is reported as findings. An error that concerns clusters forbids writing, or with
/// [`Options::keep_going`] only their files. Any other error forbids writing.
///
/// # Errors
///
/// Fails if the repo cannot be read, or has none of the clusters in [`Options::only`].
pub fn generate(
    repo: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<GeneratedSite, Error> {
    let settings = Settings::load(repo).map_err(|unreadable| (Settings::default(), unreadable));
    generate_by(settings, repo, options, progress)
}

/// Generates all sites of a repo in parallel.
///
/// [`Options::only`] selects the sites that have one of its clusters; other sites are not among the
/// results.
///
/// An error in one site forbids writing any, or with [`Options::keep_going`] only that one. An
/// error about the sites as a whole always forbids writing.
///
/// # Errors
///
/// Fails as [`generate`] does.
pub fn generate_sites<'a>(
    sites: &'a Sites,
    options: &Options,
    progress: &(dyn Fn(Stage) + Sync),
) -> Result<Vec<(&'a Location, GeneratedSite)>, Error> {
    let run = |site: &'a Location| Ok((site, generate_of(site, options, progress)?));
    // A single site runs on the calling thread, whose stack is larger than those of the pool.
    let runs: Vec<_> = match sites.all.as_slice() {
        [only] => vec![run(only)?],
        all => all.par_iter().map(run).collect::<Result<_, Error>>()?,
    };
    // A cluster may be selected in some sites only: each site removes the selected clusters that it
    // lacks.
    let mut unknown = options.only.clone();
    let mut generated = Vec::new();
    for (site, (run, site_clusters)) in
        runs.into_iter().filter_map(|(site, run)| Some((site, run?)))
    {
        unknown.retain(|cluster| !site_clusters.contains(cluster));
        generated.push((site, run));
    }
    // A selected cluster must exist in at least one site.
    if let Some(unknown) = unknown.pop_first() {
        let sites = counted(sites.all.len(), "site");
        return Err(Error::NoSuchCluster(unknown, format!("{sites} without it")));
    }
    let read: Vec<(&Location, &Site)> =
        generated.iter().map(|(site, run)| (*site, &run.site)).collect();
    for ([one, other], finding) in sites::shared_machines(&read) {
        // The settings of either site may suppress it.
        let is_muted =
            [one, other].iter().any(|index| generated[*index].1.site.settings.ignores(&finding));
        let (_, run) = &mut generated[one];
        if is_muted {
            run.muted += 1;
        } else {
            run.findings.push(finding)
        }
    }
    let fails = |run: &GeneratedSite| run.changes.is_none();
    let forbidden = sites.findings.iter().any(Finding::is_error)
        || !options.keep_going && generated.iter().any(|(_, run)| fails(run));
    if forbidden {
        generated.iter_mut().for_each(|(_, run)| run.changes = None);
    }
    Ok(generated)
}

/// Generates one site with those of the selected clusters that it has. Returns `None` if it has
/// none of them.
fn generate_of(
    site: &Location,
    options: &Options,
    progress: &(dyn Fn(Stage) + Sync),
) -> Result<Option<(GeneratedSite, BTreeSet<ClusterKey>)>, Error> {
    let mut options = options.clone();
    loop {
        match generate(&site.files, &options, progress) {
            Err(Error::NoSuchCluster(unknown, _)) if !site.name.is_empty() => {
                options.only.remove(&unknown);
                if options.only.is_empty() {
                    return Ok(None);
                }
            }
            run => return Ok(Some((run?, options.only))),
        }
    }
}

/// Generates as [`generate`] does, with settings that were read already or that replace unreadable
/// ones.
pub(crate) fn generate_by(
    settings: Result<Settings, (Settings, Vec<Finding>)>,
    repo: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<GeneratedSite, Error> {
    progress(Stage::Reading);
    let (settings, mut findings) = settings.map_or_else(|invalid| invalid, |s| (s, Vec::new()));
    let (templates, found) = own_templates::load(repo, &settings)?;
    let (mut site, read) = Site::read(repo, settings)?;
    findings.extend(found.into_iter().chain(read));
    if let Some(today) = options.today {
        findings.extend(expired_marks(&site.settings, today));
    }
    let has_own_haproxy = templates.own_file("loadbalancer/haproxy.cfg").is_some();
    findings.extend(lint::operators_templates(&site, has_own_haproxy));
    // With errors in the inventory, a host that seems gone may be unreadable.
    let is_known = |finding: &Finding| !finding.is_error() || !finding.clusters.is_empty();
    if findings.iter().all(is_known) {
        findings.extend(lint::unknown_topology_keys(&site));
    }
    // The loss of the last host with a label does not make its key a mistake.
    findings.extend(options.hypothesis.apply(&mut site)?);
    findings.retain(|finding| match finding.code {
        Code::EmptyInput => !options.allow_empty,
        // Clusters left out by name are not touched. Without any cluster, that is the only finding
        // needed.
        Code::ClusterLeftOut => {
            options.only.is_empty() && (options.allow_empty || !site.clusters.is_empty())
        }
        _ => true,
    });
    // After another error, the missing cluster may be the unreadable one.
    if site.clusters.is_empty() && !options.allow_empty && !findings.iter().any(Finding::is_error) {
        findings.push(no_cluster(repo, &site));
    }

    let mut frozen = excluded_clusters(&site, options)?;
    let mut except = LintExceptions { clusters: frozen.clone(), short: BTreeSet::new() };
    let is_excluded = |clusters: &[ClusterKey]| {
        !clusters.is_empty() && clusters.iter().all(|cluster| frozen.contains(cluster))
    };
    findings.retain(|finding| !is_excluded(&finding.clusters));
    frozen.extend(failing_clusters(&findings));
    let invalid = site.clusters.iter().filter(|(_, request)| request.cluster.is_none());
    frozen.extend(invalid.map(|(key, _)| key.clone()));
    let asked = plan::PlanChanges { rebalance: options.rebalance, moves: &options.moves };
    let mut shortages = BTreeMap::new();
    let (mut plan, rendered, warnings) = loop {
        progress(Stage::Planning);
        let (mut plan, planned) = plan(&site, &frozen, &except.clusters, asked);
        let never_committed = uncommitted::never_committed(repo, &site, &plan);
        plan.released.retain(|host, _| !never_committed.contains(host));
        // A cluster that is frozen because it lacks hosts lacks them still.
        shortages.append(&mut plan.shortages);
        progress(Stage::Rendering);
        let mut rendered = render(&site, &plan, &templates);
        let found = planned.into_iter().chain(std::mem::take(&mut rendered.findings));
        let (mut errors, warnings): (Vec<_>, Vec<_>) = found.partition(Finding::is_error);
        // A host whose name is a number differs in the build, too. Nothing is written then.
        let is_of_host = |it: &Finding| it.code == Code::InvalidName && it.clusters.is_empty();
        if findings.iter().any(is_of_host) {
            errors.retain(|error| error.code != Code::PatchesDiffer);
        }
        // The hosts that a cluster lacks may be among those that are not read.
        if findings.iter().any(hides_inputs) {
            errors.retain(|error| !matches!(error.code, Code::Shortage | Code::NamedHostRefused));
        }
        let more = failing_clusters(&errors).any(|cluster| !frozen.contains(&cluster));
        frozen.extend(failing_clusters(&errors));
        findings.extend(errors);
        // A plan with failing clusters is never written: failing clusters keep the hosts that it
        // would release.
        if !(more && options.keep_going && may_write(&findings, options)) {
            break (plan, rendered, warnings);
        }
    };
    let RenderedPlan { tree, new_files, kept, host_metadata, .. } = rendered;

    // Lints do not repeat what a shortage reports.
    except.short.extend(shortages.keys().cloned());
    plan.shortages = shortages;

    let warns = findings.iter().all(is_known);
    let writes = may_write(&findings, options);
    if writes {
        progress(Stage::Comparing);
    }
    let compare = || compare(repo, &site, &tree, &new_files, &kept);
    // Both are serial in part.
    let (lints, compared) = rayon::join(
        || warns.then(|| lint(&site, &plan, &except)),
        || writes.then(compare).transpose(),
    );
    if let Some(lints) = lints {
        findings.extend(warnings);
        findings.extend(lints);
    }
    findings.extend(uncommitted::ignored(repo, &site, &tree));
    let mut changes = None;
    if let Some((compared, found)) = compared? {
        findings.extend(found);
        // Without clusters, entries may be there in advance.
        let is_complete = frozen.is_empty() && !site.clusters.is_empty();
        let changed = ChangedOutput { repo, site: &site, changes: &compared.files, is_complete };
        findings.extend(changed.missing_entries());
        if may_write(&findings, options) && included_hosts::may_be_changed(&site) {
            let output = compared.applied(repo, &site.settings.output, &tree)?;
            let planned = planned_hosts(&site, &plan, &host_metadata);
            findings.extend(CompleteRepo::new(repo, &site, &planned, &output).findings());
        }
        changes = may_write(&findings, options).then_some(compared);
    }
    let (muted, findings): (Vec<Finding>, _) =
        finding::merge(findings).into_iter().partition(|finding| site.settings.ignores(finding));
    let edited =
        changes.as_ref().map(|changes| uncommitted::edited(repo, changes)).unwrap_or_default();
    let muted = muted.len();
    Ok(GeneratedSite { site, plan, tree, host_metadata, changes, edited, findings, muted })
}

/// Returns whether documents are not read as they are applied: an error in the settings, or one in
/// documents or their builds.
fn hides_inputs(finding: &Finding) -> bool {
    finding.is_error() && finding.clusters.is_empty() && finding.code < Code::DuplicateCluster
}

/// Returns the clusters that the options exclude, including those that exist only in the output
/// directory.
fn excluded_clusters(site: &Site, options: &Options) -> Result<BTreeSet<ClusterKey>, Error> {
    if options.only.is_empty() {
        return Ok(BTreeSet::new());
    }
    if let Some(unknown) = options.only.iter().find(|cluster| !site.clusters.contains_key(cluster))
    {
        let known: Vec<String> = site.clusters.keys().map(ToString::to_string).collect();
        let known = known_names(&known, CLUSTERS_NAMED);
        return Err(Error::NoSuchCluster(unknown.clone(), known));
    }
    let all = site.clusters.keys().chain(&site.state.clusters);
    Ok(all.filter(|cluster| !options.only.contains(cluster)).cloned().collect())
}

fn failing_clusters(findings: &[Finding]) -> impl Iterator<Item = ClusterKey> {
    let errors = findings.iter().filter(|finding| finding.is_error());
    errors.flat_map(|error| error.clusters.iter().cloned())
}

fn may_write(findings: &[Finding], options: &Options) -> bool {
    let mut errors = findings.iter().filter(|finding| finding.is_error());
    errors.all(|error| options.keep_going && !error.clusters.is_empty())
}

/// How Clusters of Cluster API become requests.
pub(crate) const OPT_IN: &str = "opt in all Clusters by `requests: {clusterAPI: {clusters: all}}` in sipgen.yaml, or one \
    by the annotation `sip.airshipit.org/assign-hosts: \"true\"`";

/// Reports that no request was found.
///
/// It is an error if hosts would be released, because a missing request is usually a mistake.
/// Otherwise it is a warning.
fn no_cluster(repo: &Files, site: &Site) -> Finding {
    let (read, check) = match repo.streams() {
        [] => {
            let site = repo.site_directory();
            let read = if site.as_str().is_empty() { repo.root() } else { site };
            (read.to_string(), "the directory and .gitignore")
        }
        streams => {
            let names = streams.iter().map(|stream| stream.name.as_str());
            (names.collect::<Vec<_>>().join(" and "), "what renders it")
        }
    };
    let mut message = format!(
        "no SIPCluster (airship.airshipit.org/v1), Provisioning (bpa.akraino.org/v1alpha1) or opted-in Cluster \
         (cluster.x-k8s.io) found in {read}"
    );
    let others: Vec<&ClusterKey> = site.clusters_not_opted_in().into_iter().collect();
    if !others.is_empty() {
        message.push_str(&format!("; not opted in: {}", abbreviated(&others, 3)));
    }
    if site.state.clusters.is_empty() && !others.is_empty() {
        return Finding::new(Code::NoCluster, message).help(OPT_IN);
    }
    if site.state.clusters.is_empty() {
        return Finding::new(Code::NoCluster, message).help(format!(
            "check {check} if you expect a cluster; `sipgen example sipcluster` prints a first one"
        ));
    }
    Finding::new(Code::NoClusterLeft, message).help(format!(
        "check {check}; to remove all clusters and release their hosts, pass --allow-empty"
    ))
}
