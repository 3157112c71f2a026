//! `sipgen snapshot`: writes a cluster's hosts into the repo.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::ask::difference;
use sipgen::base::api::names::{Namespace, is_label_key};
use sipgen::base::text::{counted, joined};
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;
use sipgen::input::settings::snapshot::SnapshotSettings;
use sipgen::output::compare::OutputChanges;
use sipgen::output::lock::Lock;
use sipgen::report::{self, ReportDocument};
use sipgen::setup::snapshot::client::{self, Connection, SnapshotScope};
use sipgen::setup::snapshot::{self, Snapshot};
use sipgen::site::sites::{Location, Sites};
use sipgen::{JournalScope, Options};

use super::progress::Progress;
use super::repo::SelectedFiles;
use super::{CommandError, ExitCode, exit_code, print, print_document, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen snapshot                              write the hosts of the current context's cluster
  sipgen snapshot --check                      check whether the committed snapshot is stale
  sipgen snapshot --context lab -n metal3      another cluster, one namespace
  sipgen snapshot --split-by example.com/rack  a file for each rack
  sipgen snapshot --rbac | kubectl apply -f -  create the required permissions";

/// Write a snapshot of a cluster's hosts into the repo
///
/// Reads BareMetalHosts, their HardwareData and the network data that they name, and writes the
/// fields that planning needs. No other Secret is read, and none is listed. The cluster is only
/// read; --rbac prints the required permissions. An interrupted run changes no file.
///
/// Exit codes: 0 success; 1 with --check: the snapshot is stale; 2 the cluster cannot be read, or
/// the new snapshot is refused because it loses too many hosts.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// The site, given by name or directory; default: all sites, if the settings of each name a
    /// context
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// The snapshot's directory in the repo; default: `snapshot.directory` of the settings, or
    /// `snapshot`
    #[arg(long, value_name = "DIR")]
    to: Option<Utf8PathBuf>,

    /// The kubeconfig; default: KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<Utf8PathBuf>,

    /// The context of the kubeconfig; default: `snapshot.context` of the settings, or the current
    /// one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Read hosts of this namespace only; repeatable
    #[arg(long, short, value_name = "NAME")]
    namespace: Vec<Namespace>,

    /// Read hosts that match this label selector only, such as example.com/hall=3
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    selector: Option<String>,

    /// Write one file per value of this label instead of one per namespace
    #[arg(long, value_name = "LABEL")]
    split_by: Option<String>,

    /// The timeout of a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,

    /// Write nothing; exit with 1 if the snapshot is stale, and show how a new one changes the plan
    #[arg(long)]
    check: bool,

    /// Accept a snapshot that loses more than a tenth of the hosts, or all hosts of a namespace
    #[arg(long)]
    allow_removal: bool,

    /// Print the RBAC objects that allow a ServiceAccount to take snapshots, and exit
    ///
    /// Secrets may be read only if hosts of the last snapshot name them for network data.
    #[arg(long, conflicts_with = "check")]
    rbac: bool,

    /// With --rbac: allow access to any Secret by name, so that new hosts need no new permissions
    #[arg(long, requires = "rbac")]
    any_secret: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let sites =
        SelectedFiles::open(arguments.repo.as_deref(), None, arguments.site.as_deref())?.sites()?;
    let targets = targets(arguments, &sites)?;
    if let ([target], true) = (targets.as_slice(), arguments.rbac) {
        let directory = &target.settings().directory;
        let known = snapshot::read_back(target.files, directory)?.unwrap_or_default();
        let known = (!arguments.any_secret).then_some(&known);
        print_document(&ReportDocument::rbac(&target.scope, known));
        return Ok(ExitCode::SUCCESS);
    }
    // Nothing is written before every cluster is read and every loss is judged.
    let read: Vec<Snapshot> =
        targets.iter().map(|target| read(arguments, target)).collect::<Result<_, _>>()?;
    // Reading a cluster may be slow, so the repo is locked only to compare and write.
    let root = sites.repo.root();
    let writes = !arguments.check;
    let lock = if writes { Lock::exclusive(root)? } else { Lock::shared(root)? };
    let mut taken = Vec::new();
    for (target, after) in targets.iter().zip(read) {
        let SnapshotSettings { directory, split_by, .. } = target.settings();
        if writes {
            sipgen::undo_interrupted(root, directory, JournalScope::Snapshot)?;
        }
        let before = snapshot::read_back(target.files, directory)?.unwrap_or_default();
        refuse_losses(arguments, &before, &after, directory)?;
        let changes = snapshot::changes(target.files, directory, &after, split_by.as_deref())?;
        taken.push((target, after, changes));
    }
    for (target, _, changes) in taken.iter().filter(|_| writes) {
        let directory = &target.settings().directory;
        sipgen::write_output(root, directory, changes, JournalScope::Snapshot)?;
    }
    drop(lock);

    let mut are_current = true;
    for (target, after, changes) in &taken {
        say(repo::heading(&sites, target.site));
        if arguments.check {
            are_current &= is_current(target, changes, after)?;
        } else {
            let (hosts, directory) = (after.hosts.len(), &target.settings().directory);
            let result = match changes.files.len() {
                0 => format!("{directory} is current"),
                files => format!("{} changed in {directory}", counted(files, "file")),
            };
            say(format!("{} read; {result}\n", counted(hosts, "host")));
        }
    }
    Ok(exit_code(!are_current))
}

/// Lists the snapshots to take: one for a single site, else one per site, each with a context in
/// its settings.
fn targets<'a>(
    arguments: &Arguments,
    sites: &'a Sites,
) -> Result<Vec<SnapshotTarget<'a>>, CommandError> {
    if let Some(site) = sites.single() {
        return Ok(vec![SnapshotTarget::new(arguments, site)?]);
    }
    let option = [
        ("--context", arguments.context.is_some()),
        ("--to", arguments.to.is_some()),
        ("--rbac", arguments.rbac),
    ];
    if let Some((option, _)) = option.into_iter().find(|(_, is_given)| *is_given) {
        return Err(repo::one_base_cluster(&format!("{option} applies to"), sites));
    }
    let all = sites.all.iter().map(|site| SnapshotTarget::new(arguments, site));
    let targets: Vec<SnapshotTarget<'_>> = all.collect::<Result<_, _>>()?;
    let without = targets.iter().filter(|target| target.settings().context.is_none());
    let without = joined(without.map(|target| target.site), ", ");
    if !without.is_empty() {
        return Err(CommandError(format!(
            "a snapshot covers one base cluster: choose its site with --site, or set `snapshot: {{context: NAME}}` in the \
             sipgen.yaml of each site; missing in: {without}"
        )));
    }
    let mut contexts: BTreeMap<&Option<String>, &str> = BTreeMap::new();
    for target in &targets {
        // A context in settings that all sites share belongs to no site.
        if let Some(other) = contexts.insert(&target.settings().context, target.site) {
            return Err(CommandError(format!(
                "duplicate `snapshot.context` of the sites `{other}` and `{}`, which are separate base clusters: \
                 set it in the sipgen.yaml of each",
                target.site
            )));
        }
    }
    Ok(targets)
}

/// Reads the hosts of a base cluster.
fn read(arguments: &Arguments, target: &SnapshotTarget<'_>) -> Result<Snapshot, CommandError> {
    let progress = Progress::start();
    let timeout = Duration::from_secs(arguments.timeout);
    let connection = Connection { kubeconfig: arguments.kubeconfig.clone(), timeout };
    let show = |what, done, all| progress.show_count(&format!("reading {what}"), done, all);
    let (snapshot, notes) = client::read(&connection, &target.scope, &show)?;
    drop(progress);
    notes.iter().for_each(|note| say(format!("note: {note}\n")));
    Ok(snapshot)
}

/// A site whose snapshot is taken.
struct SnapshotTarget<'a> {
    site: &'a str,
    files: &'a Files,
    scope: SnapshotScope,
}

impl<'a> SnapshotTarget<'a> {
    fn new(arguments: &Arguments, site: &'a Location) -> Result<Self, CommandError> {
        let Location { name, files, .. } = site;
        let mut settings = Settings::load(files).map_err(|findings| {
            CommandError(joined(findings.iter().map(|finding| &finding.message), "; "))
        })?;
        if let Some(to) = &arguments.to {
            settings.snapshot.directory = inside(to, files.site_directory(), &settings)?;
        }
        let directory = &settings.snapshot.directory;
        if !settings.may_read(&directory.join("file.yaml")) {
            say(format!(
                "note: `sources` in sipgen.yaml lack `{directory}`: add {{paths: [{directory}]}} to them\n"
            ));
        }
        if let Some(label) = arguments.split_by.as_ref().filter(|label| !is_label_key(label)) {
            return Err(CommandError(format!("invalid --split-by: `{label}` is not a label key")));
        }
        let snapshot = &mut settings.snapshot;
        if !arguments.namespace.is_empty() {
            snapshot.namespaces.clone_from(&arguments.namespace);
        }
        for (option, setting) in [
            (&arguments.context, &mut snapshot.context),
            (&arguments.selector, &mut snapshot.selector),
            (&arguments.split_by, &mut snapshot.split_by),
        ] {
            *setting = option.clone().or(setting.take());
        }
        let firmware = snapshot::renders_firmware(files, &settings)?;
        Ok(Self { site: name, files, scope: SnapshotScope { settings, firmware } })
    }

    fn settings(&self) -> &SnapshotSettings {
        &self.scope.settings.snapshot
    }
}

fn inside(
    to: &Utf8Path,
    site: &Utf8Path,
    settings: &Settings,
) -> Result<Utf8PathBuf, CommandError> {
    let directory = sipgen::input::settings::inside(to).ok_or_else(|| {
        CommandError(format!(
            "--to `{to}` is not a directory inside the repo: give a path relative to the root"
        ))
    })?;
    let directory = if site.as_str().is_empty() { directory } else { site.join(directory) };
    if settings.overlaps_output(&directory) {
        let output = &settings.output;
        let message = format!(
            "--to `{to}` overlaps the output directory `{output}`, which is never read as input"
        );
        return Err(CommandError(message));
    }
    Ok(directory)
}

fn refuse_losses(
    arguments: &Arguments,
    before: &Snapshot,
    after: &Snapshot,
    directory: &Utf8Path,
) -> Result<(), CommandError> {
    let problem = match after.hosts.is_empty() && before.hosts.is_empty() {
        true => Some("no BareMetalHost found in the cluster".to_owned()),
        false => {
            snapshot::lost(before, after).map(|lost| format!("`{directory}` would lose {lost}"))
        }
    };
    match problem.filter(|_| !arguments.allow_removal) {
        Some(problem) => Err(CommandError(format!(
            "{problem}, nothing written: check the context, namespaces and selector; if the hosts are gone, run again \
             with --allow-removal"
        ))),
        None => Ok(()),
    }
}

/// Prints how a stale snapshot changes the plan. Returns whether the snapshot is current.
fn is_current(
    target: &SnapshotTarget<'_>,
    changes: &OutputChanges,
    taken: &Snapshot,
) -> Result<bool, CommandError> {
    let (files, directory) = (target.files, &target.settings().directory);
    if changes.files.is_empty() {
        say(format!("the snapshot of {} is current\n", counted(taken.hosts.len(), "host")));
        return Ok(true);
    }
    let text = |file: &Utf8PathBuf| match changes.files.get(file) {
        Some(change) => change.texts().1.map(str::to_owned),
        None => files.text(file),
    };
    let mut all: BTreeSet<Utf8PathBuf> = files.files_below(directory)?.into_iter().collect();
    all.extend(changes.files.keys().cloned());
    let below =
        all.iter().filter_map(|file| Some((file.strip_prefix(directory).ok()?, text(file)?)));
    let after = files.clone().with_directory(directory, below);
    let chosen = SelectedFiles { files: files.clone(), site: None };
    let (lock, progress) = (repo::lock_to_read(&chosen)?, Progress::start());
    let difference =
        difference::between(files, &after, &Options::default(), &|stage| progress.show(stage))?;
    drop(progress);
    drop(lock);
    print(report::plan(&difference));
    say(report::findings(&difference.findings, &after));
    say(format!(
        "the snapshot is stale in {}: run `sipgen snapshot` and `sipgen generate`, and commit the result\n",
        counted(changes.files.len(), "file")
    ));
    Ok(false)
}
