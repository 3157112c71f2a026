//! One run, from the files of a repo to the changes of its output directory. Nothing is written here.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use rayon::prelude::*;

use crate::api::names::ClusterKey;
use crate::finding::{self, Code, Finding};
use crate::lint::{self, Except, lint};
use crate::load::{Files, ReadError};
use crate::output::Tree;
use crate::output::compare::{Change, Changes, compare, is_leftover};
use crate::plan::{Plan, plan};
use crate::render::{Templates, render};
use crate::settings::Settings;
use crate::site::Site;
use crate::sites::{self, Location, Sites};
use crate::text::counted;
use crate::{layout, uncommitted};

/// What a caller may choose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Leave a cluster with errors as it is, and generate the others.
    pub keep_going: bool,
    /// Generate these clusters only, and leave all others as they are; empty for all.
    pub only: BTreeSet<ClusterKey>,
    /// Move hosts that stay but would not be chosen again, where that is possible.
    pub rebalance: bool,
    /// Take a repo without any SIPCluster or Provisioning for one that wants none, and not for a mistake, even if there are clusters in
    /// its output directory.
    pub allow_empty: bool,
}

/// The steps of a run, for a display of its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The repo is read.
    Reading,
    /// Hosts are assigned.
    Planning,
    /// Files are made in memory.
    Rendering,
    /// The files on the disk are read.
    Comparing,
}

/// What a run came to.
#[derive(Debug)]
pub struct Generated {
    /// What was read.
    pub site: Site,
    /// What was decided.
    pub plan: Plan,
    /// What was rendered: the files of all clusters but the frozen ones.
    pub tree: Tree,
    /// What has to change on the disk; nothing is known when errors forbid to write at all.
    pub changes: Option<Changes>,
    /// What is wrong with the input.
    pub findings: Vec<Finding>,
    /// How many warnings are not among the findings, because the settings say so.
    pub muted: usize,
}

impl Generated {
    /// All of sipgen's own files that the output directory holds once the changes are made, by path relative to it:
    /// what was rendered, and what stays as it is in `repo`, which this was generated from. Where errors forbid to
    /// write, all stay.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn output(&self, repo: &Files) -> Result<Tree, ReadError> {
        let output = &self.site.settings.output;
        let mut tree = if self.changes.is_some() {
            self.tree.clone()
        } else {
            Tree::new()
        };
        let is_stale = |path: &Utf8PathBuf| {
            self.changes.as_ref().is_some_and(|changes| {
                matches!(changes.files.get(path), Some(Change::Delete { .. }))
            })
        };
        for path in repo
            .files_below(output)?
            .iter()
            .filter(|path| !is_stale(path))
        {
            if let Ok(file) = path.strip_prefix(output)
                && !tree.contains_key(file)
                && !is_leftover(file)
            {
                let content = repo.read(path)?;
                if layout::is_ours(&content) {
                    let text = layout::text_of(&content);
                    tree.insert(file.to_owned(), text);
                }
            }
        }
        Ok(tree)
    }
}

/// Why a run came to nothing, other than by findings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// [`Options::only`] names a cluster that is not there.
    #[error("there is no cluster {0}; the repo has {1}")]
    NoSuchCluster(ClusterKey, String),
}

/// Works out what has to change in a repo's overlays. Writes nothing.
///
/// What is wrong with the input is in the findings. An error that concerns clusters stops everything, or with
/// [`Options::keep_going`] only them; any other error stops everything.
///
/// # Errors
///
/// When the repo cannot be read, or has no cluster that the options name.
pub fn generate(
    repo: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<Generated, Error> {
    let settings = Settings::load(repo).map_err(|unreadable| (Settings::default(), unreadable));
    generate_by(settings, repo, options, progress)
}

/// Generates each of a repo's sites, in parallel. A cluster that the options name is of the sites that have it; those
/// that have none of them are not among the results.
///
/// An error in one site forbids to write any, or with [`Options::keep_going`] only that one. One that is about the sites
/// as a whole forbids it in any case.
///
/// # Errors
///
/// As [`generate`].
pub fn generate_sites<'a>(
    sites: &'a Sites,
    options: &Options,
    progress: &(dyn Fn(Stage) + Sync),
) -> Result<Vec<(&'a Location, Generated)>, Error> {
    let run = |site: &'a Location| Ok((site, generate_of(site, options, progress)?));
    // A repo that is one site is generated on the thread that asks for it, whose stack is larger.
    let runs: Vec<_> = match sites.all.as_slice() {
        [only] => vec![run(only)?],
        all => all.par_iter().map(run).collect::<Result<_, Error>>()?,
    };
    let mut unknown = options.only.clone();
    let mut generated = Vec::new();
    for (site, (run, of_site)) in runs
        .into_iter()
        .filter_map(|(site, run)| Some((site, run?)))
    {
        unknown.retain(|cluster| !of_site.contains(cluster));
        generated.push((site, run));
    }
    if let Some(unknown) = unknown.pop_first() {
        return Err(Error::NoSuchCluster(
            unknown,
            format!("{} without it", counted(sites.all.len(), "site")),
        ));
    }
    let read: Vec<(&Location, &Site)> = generated
        .iter()
        .map(|(site, run)| (*site, &run.site))
        .collect();
    for ([one, other], finding) in sites::shared_machines(&read) {
        // Settings of either site mute it.
        let is_muted = [one, other]
            .iter()
            .any(|index| generated[*index].1.site.settings.ignores(&finding));
        let (_, run) = &mut generated[one];
        if is_muted {
            run.muted += 1
        } else {
            run.findings.push(finding)
        }
    }
    let fails = |run: &Generated| run.changes.is_none();
    let forbidden = sites.findings.iter().any(Finding::is_error)
        || !options.keep_going && generated.iter().any(|(_, run)| fails(run));
    if forbidden {
        generated.iter_mut().for_each(|(_, run)| run.changes = None);
    }
    Ok(generated)
}

/// Generates one site, with those of the clusters to generate that it has; nothing where it has none of them.
fn generate_of(
    site: &Location,
    options: &Options,
    progress: &(dyn Fn(Stage) + Sync),
) -> Result<Option<(Generated, BTreeSet<ClusterKey>)>, Error> {
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

/// As [`generate`], by settings that are read already, or by those that stand in for what cannot be read.
pub(crate) fn generate_by(
    settings: Result<Settings, (Settings, Finding)>,
    repo: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<Generated, Error> {
    progress(Stage::Reading);
    let (settings, invalid) =
        settings.map_or_else(|(stand_in, found)| (stand_in, Some(found)), |s| (s, None));
    let (templates, found) = load_templates(repo, &settings)?;
    let (site, read) = Site::read(repo, settings)?;
    let mut findings: Vec<Finding> = invalid.into_iter().chain(found).chain(read).collect();
    findings.retain(|finding| match finding.code {
        Code::EmptyInput => !options.allow_empty,
        // What is left out by name is not touched; and without any cluster, that says it all.
        Code::ClusterLeftOut => {
            options.only.is_empty() && (options.allow_empty || !site.clusters.is_empty())
        }
        _ => true,
    });
    // With an error, the cluster that is missing may be what could not be read.
    if site.clusters.is_empty() && !options.allow_empty && !findings.iter().any(Finding::is_error) {
        findings.push(no_cluster(repo, &site));
    }

    let mut frozen = left_out(&site, options)?;
    let mut except = Except {
        clusters: frozen.clone(),
        short: BTreeSet::new(),
    };
    findings.retain(|finding| concerns(finding, &frozen));
    frozen.extend(failing(&findings));
    frozen.extend(
        site.clusters
            .iter()
            .filter(|(_, request)| request.cluster.is_none())
            .map(|(key, _)| key.clone()),
    );
    let (plan, tree) = loop {
        progress(Stage::Planning);
        let (mut plan, planned) = plan(&site, &frozen, &except.clusters, options.rebalance);
        let never_committed = uncommitted::never_committed(repo, &site, &plan);
        plan.released
            .retain(|host, _| !never_committed.contains(host));
        except.short.extend(plan.shortages.keys().cloned());
        progress(Stage::Rendering);
        let (tree, rendered) = render(&site, &plan, &templates);
        let (errors, warnings): (Vec<_>, Vec<_>) = planned
            .into_iter()
            .chain(rendered)
            .partition(Finding::is_error);
        let more = failing(&errors).any(|cluster| !frozen.contains(&cluster));
        frozen.extend(failing(&errors));
        findings.extend(errors);
        // A plan with a failing cluster is not what is written: what that cluster would give back, it keeps.
        if !(more && options.keep_going && may_write(&findings, options)) {
            // Of an inventory with errors, a plan's warnings say little: a host that seems gone may be unreadable.
            if findings
                .iter()
                .all(|finding| !finding.is_error() || !finding.clusters.is_empty())
            {
                findings.extend(warnings);
                findings.extend(lint(&site, &except));
            }
            break (plan, tree);
        }
    };

    let mut changes = None;
    if may_write(&findings, options) {
        progress(Stage::Comparing);
        let kept = files_of(&site, &plan.frozen);
        let (compared, found) = compare(repo, &site.settings.output, &tree, &kept, &site.state)?;
        findings.extend(found);
        changes = may_write(&findings, options).then_some(compared);
    }
    let (muted, findings): (Vec<Finding>, _) = finding::merge(findings)
        .into_iter()
        .partition(|finding| site.settings.ignores(finding));
    Ok(Generated {
        site,
        plan,
        tree,
        changes,
        findings,
        muted: muted.len(),
    })
}

/// The clusters that the options leave out, those included that only the output directory still has.
fn left_out(site: &Site, options: &Options) -> Result<BTreeSet<ClusterKey>, Error> {
    if options.only.is_empty() {
        return Ok(BTreeSet::new());
    }
    if let Some(unknown) = options
        .only
        .iter()
        .find(|cluster| !site.clusters.contains_key(cluster))
    {
        let known: Vec<String> = site.clusters.keys().map(ToString::to_string).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        return Err(Error::NoSuchCluster(unknown.clone(), known));
    }
    let all = site.clusters.keys().chain(site.state.clusters());
    Ok(all
        .filter(|cluster| !options.only.contains(cluster))
        .cloned()
        .collect())
}

/// Whether a finding is about more than clusters that are left out.
fn concerns(finding: &Finding, left_out: &BTreeSet<ClusterKey>) -> bool {
    finding.clusters.is_empty()
        || finding
            .clusters
            .iter()
            .any(|cluster| !left_out.contains(cluster))
}

fn failing(findings: &[Finding]) -> impl Iterator<Item = ClusterKey> {
    findings
        .iter()
        .filter(|finding| finding.is_error())
        .flat_map(|finding| finding.clusters.iter().cloned())
}

fn may_write(findings: &[Finding], options: &Options) -> bool {
    findings
        .iter()
        .filter(|finding| finding.is_error())
        .all(|error| options.keep_going && !error.clusters.is_empty())
}

/// The files of some clusters, relative to the output directory.
fn files_of<'a>(site: &'a Site, clusters: &BTreeSet<ClusterKey>) -> BTreeSet<&'a Utf8PathBuf> {
    clusters
        .iter()
        .filter_map(|cluster| site.state.files.get(cluster))
        .flatten()
        .collect()
}

fn load_templates(
    repo: &Files,
    settings: &Settings,
) -> Result<(Templates, Vec<Finding>), ReadError> {
    let Some(directory) = &settings.templates else {
        return Ok(Templates::new("".into(), Vec::new()));
    };
    repo.stay_inside(directory)?;
    let mut own = Vec::new();
    for file in repo.files_below(directory)? {
        // With the line ends that it has in git, or what is made of it would differ from checkout to checkout.
        let text = layout::text_of(&repo.read(&file)?);
        own.push((file, text));
    }
    let none = own.is_empty().then(|| lint::no_templates(repo, directory));
    let (templates, found) = Templates::new(directory, own);
    Ok((templates, none.into_iter().chain(found).collect()))
}

/// Without any request, all hosts would be given back, which is a mistake more often than not. Where there is nothing
/// to be given back, it is no more than worth knowing.
fn no_cluster(repo: &Files, site: &Site) -> Finding {
    let read = match repo.streams() {
        [] if repo.site_directory().as_str().is_empty() => repo.root().to_string(),
        [] => format!("{} and what its builds reach", repo.site_directory()),
        streams => streams
            .iter()
            .map(|stream| stream.name.as_str())
            .collect::<Vec<_>>()
            .join(" and "),
    };
    let message = format!(
        "there is no SIPCluster (airship.airshipit.org/v1) or Provisioning (bpa.akraino.org/v1alpha1) in {read}"
    );
    let check = if repo.streams().is_empty() {
        "the directory and .gitignore"
    } else {
        "what renders it"
    };
    if site.state.clusters().is_empty() {
        return Finding::new(Code::NoCluster, message)
            .help(format!("if there should be one, check {check}"));
    }
    Finding::new(Code::NoClusterLeft, message).help(format!(
        "check {check}; if no cluster is wanted any more, say so with --allow-empty, and all hosts are given back"
    ))
}
