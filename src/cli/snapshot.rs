//! `sipgen snapshot`: the hosts of a cluster, as files of the repo.

use std::collections::BTreeMap;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::api::names::{Namespace, ObjectName};
use sipgen::load::{Copied, Files};
use sipgen::output::compare::Changes;
use sipgen::output::git::{Committed, Committer, Differs};
use sipgen::output::lock::Lock;
use sipgen::report::{self, Document};
use sipgen::settings::Settings;
use sipgen::sites::{Location, Sites};
use sipgen::snapshot::client::{self, Connection, Scope};
use sipgen::snapshot::{self, Access, Event, Snapshot};
use sipgen::text::counted;
use sipgen::{Options, difference};

use super::progress::Progress;
use super::repo::Chosen;
use super::{Failure, Outcome, print, print_document, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen snapshot                              write the hosts of the current context's cluster
  sipgen snapshot --diff                       write them, and print what has happened since the last time
  sipgen snapshot --check                      is the committed snapshot stale, and what does that change?
  sipgen snapshot --context lab -n metal3      another cluster, one namespace
  sipgen snapshot --split-by example.com/rack  a file for each rack
  sipgen snapshot --rbac | kubectl apply -f -  the rights that it takes";

/// Write a snapshot of a cluster's hosts into the repo
///
/// Reads BareMetalHosts, their HardwareData and the network data that they name, and writes what planning needs of them:
/// no other value of a Secret, and nothing that changes without reason, such as timestamps. It only reads the cluster;
/// --rbac prints the rights that it takes. Secrets are never listed, and of those with BMC credentials only the existence
/// is asked. An interrupted run changes no file.
///
/// Exit codes: 0 success; 1 with --check: the snapshot is stale; 2 the cluster cannot be read, or the new snapshot loses
/// so many hosts that it is refused.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// The site that is taken, by its name or directory; by default all, where the settings of each name its context
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// The snapshot's directory in the repo; by default `snapshot.directory` of the settings, or `snapshot`
    #[arg(long, value_name = "DIR")]
    to: Option<Utf8PathBuf>,

    /// The kubeconfig; by default KUBECONFIG, ~/.kube/config, or the account of the pod that this runs in
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<Utf8PathBuf>,

    /// The context of the kubeconfig; by default `snapshot.context` of the settings, or the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Read the hosts of this namespace only; may be given several times
    #[arg(long, short, value_name = "NAME")]
    namespace: Vec<Namespace>,

    /// Read only hosts that match this label selector, such as example.com/hall=3
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    selector: Option<String>,

    /// Write a file for each value of this label, and not for each namespace
    #[arg(long, value_name = "LABEL")]
    split_by: Option<String>,

    /// How many seconds a request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,

    /// Write nothing; exit with 1 if the snapshot is stale, and show what a new one changes for the plan
    #[arg(long)]
    check: bool,

    /// Print what has happened to hosts since the last snapshot, on stdout
    #[arg(long)]
    diff: bool,

    /// Accept a snapshot that loses more than a tenth of the hosts, or all of a namespace
    #[arg(long)]
    allow_removal: bool,

    /// Commit the snapshot, and nothing else
    #[arg(long, conflicts_with = "check")]
    commit: bool,

    /// Commit to this branch, and leave worktree and index alone; implies --commit
    #[arg(long, value_name = "NAME", conflicts_with = "check")]
    branch: Option<String>,

    /// Print the RBAC objects that allow a ServiceAccount to take snapshots, and do nothing else
    ///
    /// With a snapshot in the repo, only the Secrets that its hosts name may be read.
    #[arg(long, conflicts_with_all = ["check", "diff", "commit", "branch"])]
    rbac: bool,

    /// With --rbac: allow to get any Secret by its name, so that new hosts need no new rights
    #[arg(long, requires = "rbac")]
    any_secret: bool,

    /// With --rbac: the account
    #[arg(
        long,
        value_name = "NS/NAME",
        requires = "rbac",
        default_value = "sipgen/sipgen-snapshot"
    )]
    service_account: Account,
}

/// A ServiceAccount.
#[derive(Debug, Clone)]
struct Account {
    namespace: Namespace,
    name: ObjectName,
}

impl std::str::FromStr for Account {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = text.split_once('/').ok_or("it is not NAMESPACE/NAME")?;
        let namespace = namespace
            .parse()
            .map_err(|error| format!("the namespace {error}"))?;
        Ok(Self {
            namespace,
            name: name.parse().map_err(|error| format!("the name {error}"))?,
        })
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let sites =
        Chosen::on_disk(arguments.repo.as_deref(), &[], arguments.site.as_deref())?.sites()?;
    let targets = targets(arguments, &sites)?;
    if let ([target], true) = (targets.as_slice(), arguments.rbac) {
        let known = snapshot::read_back(target.files, &target.directory)?;
        let account = &arguments.service_account;
        let names = known.as_ref().filter(|_| !arguments.any_secret);
        let account = (&account.namespace, &account.name);
        print_document(&Document::of_rbac(&Access {
            account,
            namespaces: &target.scope.namespaces,
            names,
        }));
        return Ok(Outcome::Yes);
    }
    // An obstacle to the commit is reported before a cluster is read.
    let commits = arguments.commit || arguments.branch.is_some();
    let committer = || Committer::new(sites.repo.root(), arguments.branch.as_deref());
    if commits {
        committer()?;
    }

    // Nothing is written before all clusters are read and all losses are judged.
    let read: Vec<Snapshot> = targets
        .iter()
        .map(|target| read(arguments, target))
        .collect::<Result<_, _>>()?;
    // The cluster may take its time; the repo is locked for as long as it is compared and written.
    let root = sites.repo.root();
    let writes = !arguments.check && arguments.branch.is_none();
    let lock = if writes {
        Lock::exclusive(root)?
    } else {
        Lock::shared(root)?
    };
    let mut taken = Vec::new();
    for (target, after) in targets.iter().zip(read) {
        if writes {
            sipgen::undo_interrupted_snapshot(root, &target.directory)?;
        }
        let before = snapshot::read_back(target.files, &target.directory)?.unwrap_or_default();
        refuse_losses(arguments, &before, &after, &target.directory)?;
        let split_by = target.split_by.as_deref();
        let (changes, tree) = snapshot::changes(target.files, &target.directory, &after, split_by)?;
        let events = snapshot::events(&before, &after);
        taken.push(Taken {
            target,
            after,
            changes,
            tree,
            events,
        });
    }
    for Taken {
        target, changes, ..
    } in taken.iter().filter(|_| writes)
    {
        sipgen::write_snapshot(root, &target.directory, changes)?;
    }
    drop(lock);

    let mut are_current = true;
    for Taken {
        target,
        after,
        changes,
        tree,
        events,
    } in &taken
    {
        if sites.single().is_none() {
            say(report::site(target.site));
        }
        if arguments.diff || arguments.check {
            print(report::events(events, usize::MAX));
        }
        if arguments.check {
            are_current &= is_current(target.files, changes, after)?;
            continue;
        }
        say(summary(changes, after, &target.directory, writes));
        if commits {
            commit(&committer()?, &target.directory, tree, events)?;
        }
    }
    Ok(if are_current {
        Outcome::Yes
    } else {
        Outcome::No
    })
}

/// A snapshot that was taken, and how it differs from the repo's.
struct Taken<'a> {
    target: &'a Target<'a>,
    after: Snapshot,
    changes: Changes,
    tree: BTreeMap<Utf8PathBuf, String>,
    events: Vec<Event>,
}

/// The snapshots to take: that of the only site, or those of all sites whose settings name their contexts.
fn targets<'a>(arguments: &Arguments, sites: &'a Sites) -> Result<Vec<Target<'a>>, Failure> {
    if let Some(site) = sites.single() {
        return Ok(vec![Target::new(arguments, site)?]);
    }
    let names = |sites: &[&str]| sites.join(", ");
    let option = [
        ("--context", arguments.context.is_some()),
        ("--to", arguments.to.is_some()),
        ("--rbac", arguments.rbac),
    ];
    if let Some((option, _)) = option.into_iter().find(|(_, is_given)| *is_given) {
        let all: Vec<&str> = sites.all.iter().map(|site| site.name.as_str()).collect();
        return Err(Failure(format!(
            "{option} is of one base cluster: name its site by --site: {}",
            names(&all)
        )));
    }
    let targets: Vec<Target<'_>> = sites
        .all
        .iter()
        .map(|site| Target::new(arguments, site))
        .collect::<Result<_, _>>()?;
    let without: Vec<&str> = targets
        .iter()
        .filter(|target| target.context.is_none())
        .map(|target| target.site)
        .collect();
    if without.is_empty() {
        let mut contexts: BTreeMap<&String, &str> = BTreeMap::new();
        for target in &targets {
            // A context in the settings that all sites share is of no site.
            if let Some(other) = target
                .context
                .as_ref()
                .and_then(|context| contexts.insert(context, target.site))
            {
                let message = format!(
                    "the sites {other} and {} have the same `snapshot.context`, and each is a base cluster of its own: \
                     write it into the sipgen.yaml of each",
                    target.site
                );
                return Err(Failure(message));
            }
        }
        return Ok(targets);
    }
    Err(Failure(format!(
        "a snapshot is of one base cluster: name its site by --site, or write `snapshot: {{context: NAME}}` into the \
         sipgen.yaml of each site; without it: {}",
        names(&without)
    )))
}

/// Reads the hosts of a base cluster.
fn read(arguments: &Arguments, target: &Target<'_>) -> Result<Snapshot, Failure> {
    let progress = Progress::start();
    let timeout = Duration::from_secs(arguments.timeout);
    let connection = Connection {
        kubeconfig: arguments.kubeconfig.clone(),
        context: target.context.clone(),
        timeout,
    };
    let client::Read { snapshot, notes } = client::read(&connection, &target.scope, &|step| {
        progress.show_reading(step)
    })?;
    progress.finish();
    for note in notes {
        say(format!("note: {note}\n"));
    }
    Ok(snapshot)
}

/// Where a snapshot is written, and what it is of.
struct Target<'a> {
    site: &'a str,
    files: &'a Files,
    context: Option<String>,
    directory: Utf8PathBuf,
    scope: Scope,
    split_by: Option<String>,
}

impl<'a> Target<'a> {
    fn new(arguments: &Arguments, site: &'a Location) -> Result<Self, Failure> {
        let Location { name, files, .. } = site;
        let settings = Settings::load(files).map_err(|finding| Failure(finding.message))?;
        let directory = match &arguments.to {
            Some(to) => inside(to, files.site_directory(), &settings)?,
            None => settings.snapshot.directory.clone(),
        };
        if !settings.may_read(&directory.join("file.yaml")) {
            say(format!(
                "note: `sources` in sipgen.yaml do not have {directory}: add {{paths: [{directory}]}} to them\n"
            ));
        }
        let split_by = arguments.split_by.clone().or(settings.snapshot.split_by);
        if let Some(label) = split_by
            .as_ref()
            .filter(|label| !sipgen::api::names::is_label_key(label))
        {
            return Err(Failure(format!(
                "--split-by: `{label}` is not the key of a label"
            )));
        }
        let namespaces = match arguments.namespace.as_slice() {
            [] => settings.snapshot.namespaces,
            namespaces => namespaces.to_vec(),
        };
        let selector = arguments.selector.clone().or(settings.snapshot.selector);
        let context = arguments.context.clone().or(settings.snapshot.context);
        Ok(Self {
            site: name,
            files,
            context,
            directory,
            scope: Scope {
                namespaces,
                selector,
            },
            split_by,
        })
    }
}

fn inside(to: &Utf8Path, site: &Utf8Path, settings: &Settings) -> Result<Utf8PathBuf, Failure> {
    let directory = sipgen::settings::inside(to).ok_or_else(|| {
        Failure(format!(
            "--to {to} is not a directory inside the repo: write it relative to the root"
        ))
    })?;
    let directory = if site.as_str().is_empty() {
        directory
    } else {
        site.join(directory)
    };
    if settings.overlaps_output(&directory) {
        let output = &settings.output;
        let message = format!(
            "--to {to} overlaps the output directory {output}, which is never read as an input"
        );
        return Err(Failure(message));
    }
    Ok(directory)
}

fn refuse_losses(
    arguments: &Arguments,
    before: &Snapshot,
    after: &Snapshot,
    directory: &Utf8Path,
) -> Result<(), Failure> {
    if arguments.allow_removal {
        return Ok(());
    }
    let why = "wrong context, namespaces or selector? If they are gone, say so by --allow-removal";
    if after.hosts.is_empty() && before.hosts.is_empty() {
        return Err(Failure(format!(
            "the cluster shows no BareMetalHost, and nothing was written: {why}"
        )));
    }
    match snapshot::lost(before, after) {
        Some(lost) => Err(Failure(format!(
            "{directory} would lose {lost}, and nothing was written: {why}"
        ))),
        None => Ok(()),
    }
}

/// Says what a stale snapshot changes for the plan, and returns whether it is current.
fn is_current(files: &Files, changes: &Changes, taken: &Snapshot) -> Result<bool, Failure> {
    if changes.files.is_empty() {
        say(format!(
            "the snapshot of {} is current\n",
            counted(taken.hosts.len(), "host")
        ));
        return Ok(true);
    }
    let texts = changes
        .files
        .iter()
        .map(|(path, change)| (path, change.texts().1));
    let copied = Copied::with(files, texts)?;
    let chosen = Chosen {
        files: files.clone(),
        site: None,
    };
    let site = Location {
        name: String::new(),
        directory: files.site_directory().to_owned(),
        files: files.clone(),
    };
    let after = Sites::find(copied.files().clone())?.counterpart(&site)?;
    let (lock, progress) = (repo::lock_to_read(&chosen)?, Progress::start());
    let difference = difference::between(files, &after, &Options::default(), &|stage| {
        progress.show(stage)
    })?;
    progress.finish();
    drop(lock);
    print("\n");
    print(report::plan(&difference));
    say(report::findings(&difference.findings, copied.files()));
    say(format!(
        "the snapshot is stale by {}: run `sipgen snapshot` and `sipgen generate`, and commit the result\n",
        counted(changes.files.len(), "file")
    ));
    Ok(false)
}

fn summary(changes: &Changes, after: &Snapshot, directory: &Utf8Path, is_written: bool) -> String {
    let hosts = counted(after.hosts.len(), "host");
    match (changes.files.len(), is_written) {
        (0, _) => format!("{hosts} read; {directory} is current\n"),
        (files, true) => format!(
            "{hosts} read; {} changed in {directory}\n",
            counted(files, "file")
        ),
        (_, false) => format!("{hosts} read\n"),
    }
}

fn commit(
    committer: &Committer,
    directory: &Utf8Path,
    tree: &BTreeMap<Utf8PathBuf, String>,
    events: &[Event],
) -> Result<(), Failure> {
    let content = committer.snapshot_content(directory, tree)?;
    if content.differs() == Differs::Not {
        committer.stage_committed(&content)?;
        say("no commit: the snapshot is committed already\n".to_owned());
        return Ok(());
    }
    let Committed { id, branch } =
        committer.commit(&content, &report::snapshot_message(events), None)?;
    let place = branch.map_or("a detached HEAD".to_owned(), |branch| {
        format!("branch {branch}")
    });
    say(format!(
        "committed {} as {id} on {place}\n",
        counted(content.paths().len(), "file")
    ));
    Ok(())
}
