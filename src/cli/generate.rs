//! `sipgen generate`: writes the overlays of a repo.

use std::borrow::Cow;
use std::mem;
use std::num::NonZeroU16;

use camino::Utf8Path;
use clap::ValueEnum;
use rayon::prelude::*;
use sipgen::ask::drain::DrainVerdict;
use sipgen::base::api::names::ClusterKey;
use sipgen::base::finding::Finding;
use sipgen::base::text::in_shell;
use sipgen::input::git::Checkout;
use sipgen::input::load::Files;
use sipgen::output::compare::{Change, OutputChanges, in_worktree};
use sipgen::output::lock::Lock;
use sipgen::plan::HostReplacement;
use sipgen::report::{self, CiResults, ReportDocument, ReportText};
use sipgen::site::sites::Sites;
use sipgen::{GeneratedSite, JournalScope, Options, WriteError};

use super::progress::Progress;
use super::repo::Runs;
use super::{CommandError, ExitCode, drain, exit_code, print_document, print_lines, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen generate                               write the changes
  sipgen generate --check --diff                show what would change; for CI and hooks
  sipgen generate --check --format github       the same, as annotations of a pull request
  sipgen generate --rev origin/main --check     check a revision; the repo may be bare
  sipgen generate --only tenant-a/edge
  kustomize build sites/lab | sipgen generate --input -";

/// Generate the overlays of a repo
///
/// Reads the SIPClusters and BareMetalHosts of a repo, assigns hosts to clusters, and writes
/// kustomize overlays with the labels of hosts and the services of clusters. Assigned hosts stay,
/// except with --rebalance. If the input has errors, nothing is written.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::RepoArguments,

    /// Write nothing, and exit with 1 if something would change
    ///
    /// Changes only to the comment that names a file's input, as after a rename, do not count.
    #[arg(long)]
    check: bool,

    /// With --check, build the output with kustomize, and compare the hosts with the plan
    ///
    /// Builds what agents apply, in parallel, and without network. The program is `kustomize` or
    /// `kubectl` on the PATH, or that of SIPGEN_KUSTOMIZE.
    #[arg(long, requires = "check", conflicts_with_all = ["rev", "from_index", "input"])]
    build: bool,

    /// With --build, make only the builds that a change since this revision can affect
    ///
    /// A change of sipgen.yaml affects all of them. All are also made if the revision is empty or
    /// not in this clone, which may be shallow.
    #[arg(long, value_name = "REV", requires = "build")]
    base: Option<String>,

    /// Exit with 1 if something has changed
    #[arg(long)]
    exit_code: bool,

    /// Print the changes as a unified diff
    #[arg(long)]
    diff: bool,

    /// Leave clusters with errors unchanged, and generate the others
    ///
    /// Errors that concern no single cluster, such as a duplicate host, still stop the run.
    #[arg(long)]
    keep_going: bool,

    /// Generate this cluster only; repeatable
    ///
    /// Hosts and services of all other clusters stay unchanged.
    #[arg(long, value_name = "NS/NAME")]
    only: Vec<ClusterKey>,

    /// Replace hosts that no longer match the request, or that share a topology domain
    ///
    /// Without it such hosts stay, with a warning. Hosts that a Machine consumes always stay, and
    /// so do provisioned machines of a Provisioning. Run with --check --diff first: the summary
    /// lists the moves.
    #[arg(long)]
    rebalance: bool,

    /// Make the next step of `sipgen drain` for the hosts in maintenance
    ///
    /// Moves up to NUMBER hosts of each cluster, and one member of each control plane. A host that
    /// a Machine uses keeps its labels until a snapshot shows it unused. Run it again for the step
    /// after that: steps follow from the files of the repo.
    #[arg(
        long,
        value_name = "NUMBER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        conflicts_with_all = ["rebalance", "only"]
    )]
    drain: Option<NonZeroU16>,

    /// Read staged files only
    ///
    /// Inputs, settings, templates and the previous output come from git's index. Changes are
    /// written to the worktree, to be staged with `git add`. For pre-commit hooks, with --exit-code
    /// or --check.
    #[arg(long, conflicts_with_all = ["rev", "input"])]
    from_index: bool,

    /// Accept a repo without SIPClusters, and release all hosts
    ///
    /// Required once, while the output directory still has files of a cluster; later runs only
    /// warn.
    #[arg(long)]
    allow_empty: bool,

    /// Also print findings to stdout in a machine format; with --check, including stale files
    ///
    /// Text messages always go to stderr.
    #[arg(long, value_enum, default_value_t = GenerateFormat::Text)]
    format: GenerateFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GenerateFormat {
    /// No machine format: nothing is printed to stdout
    Text,
    /// GitHub Actions workflow commands, shown as annotations
    Github,
    /// GitLab code quality report
    Gitlab,
    /// SARIF 2.1.0, for GitHub code scanning and editors
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    if arguments.diff && arguments.format != GenerateFormat::Text {
        let message =
            "conflicting --diff and --format: both print to stdout; run sipgen once with each";
        return Err(CommandError(message.to_owned()));
    }
    if arguments.from.rev.is_some() && !arguments.check {
        let message = "--rev requires --check: output of a revision belongs in a commit on top of it, not in the \
                       working tree; check out the revision to write it";
        return Err(CommandError(message.to_owned()));
    }
    let chosen = arguments.from.chosen()?;
    let mut options = Options {
        keep_going: arguments.keep_going,
        only: arguments.only.iter().cloned().collect(),
        rebalance: arguments.rebalance,
        allow_empty: arguments.allow_empty,
        ..repo::options()?
    };
    let writes = !arguments.check;
    // The exclusive lock is taken before reading, so that inputs and output are consistent.
    let lock = writes.then(|| Lock::exclusive(chosen.files.root())).transpose()?;
    let chosen = if arguments.from_index { chosen.staged()? } else { chosen };
    let (lock, sites) = match lock {
        Some(lock) => {
            let sites = chosen.sites()?;
            let is_undone = repo::undo_interrupted(&sites)?;
            (Some(lock), if is_undone { chosen.sites()? } else { sites })
        }
        None => repo::lock_to_read(&chosen)?,
    };
    let progress = Progress::start();
    if let Some(at_once) = arguments.drain {
        let Some(moves) = next_moves(&sites, &options, at_once)? else {
            return Ok(ExitCode::FAILURE);
        };
        options.moves = moves;
    }
    let mut runs = sipgen::generate_sites(&sites, &options, &|stage| progress.show(stage))?;
    let built =
        arguments.build.then(|| check_builds(&mut runs, arguments, &progress)).transpose()?;
    let mapped = if writes { to_write(&mut runs, arguments.from_index)? } else { None };
    // Findings quote the lines that were read, so they are formatted before the files change.
    let (findings, results) = formatted_findings(arguments, &sites, &runs)?;
    if writes {
        progress.show_writing();
    }
    // Neither writing nor summarizing keeps all cores busy.
    let (written, summaries) = rayon::join(
        || mapped.map_or(Ok(()), |mapped| write(&runs, &mapped)),
        || -> Vec<ReportText> {
            runs.par_iter().map(|(_, run)| report::summary(run, writes)).collect()
        },
    );
    written?;
    // A reader of the output may be slow.
    drop(lock);
    drop(progress);

    let may_change = runs.iter().any(|(_, run)| run.changes.is_some());
    let changes = all_changes(&runs);
    if arguments.diff && may_change {
        print_lines(&report::diff(&changes));
    }
    results.iter().for_each(print_document);
    say(findings);
    for ((site, _), summary) in runs.iter().zip(summaries) {
        say(repo::heading(&sites, &site.name));
        say(summary);
    }
    if sites.single().is_none() {
        say(report::summary_of_sites(&sites.findings, &runs, writes));
    }
    let edited = runs.iter().flat_map(|(_, run)| run.edited.iter().cloned()).collect();
    say(report::edited_files(&edited, writes));
    built.into_iter().flatten().for_each(say);
    // A renamed input in a comment must not block a commit or merge.
    let counts = |change: &Change| !(arguments.check && change.is_in_mark_only());
    let changed = changes.files.values().any(counts);
    if may_change && arguments.check {
        say(report::stale_files(&changes));
        say(report::renamed_inputs(&changes, &arguments.writing_command()));
    }
    if may_change && changed && (arguments.check || arguments.from_index) {
        say(report::stale_help(&arguments.remedy(&runs, chosen.files.root())));
    }
    let failed = repo::findings(&sites, &runs).iter().any(Finding::is_error);
    let refused = failed || changed && (arguments.check || arguments.exit_code);
    // The process ends, so it need not free a large site.
    drop(changes);
    mem::forget(runs);
    Ok(exit_code(refused))
}

/// Checks the builds of all sites, adds their findings, and returns what was built. Stale output is
/// not built, because kustomize would read it from the disk. With `base`, only builds that a change
/// since that revision can affect are made.
fn check_builds(
    runs: &mut Runs<'_>,
    arguments: &Arguments,
    progress: &Progress,
) -> Result<Vec<ReportText>, CommandError> {
    let is_current = |run: &GeneratedSite| {
        let changes = run.changes.as_ref();
        changes.is_some_and(|changes| changes.files.values().all(|it| it.is_in_mark_only()))
    };
    if !runs.iter().all(|(_, run)| is_current(run)) {
        return Ok(vec![report::builds_not_checked()]);
    }
    let mut texts = Vec::new();
    let base = arguments.base.as_deref().filter(|base| !base.is_empty());
    for (site, run) in runs.iter_mut() {
        let mut changed = None;
        if let Some(base) = base {
            let checkout = Checkout::around(site.files.root())?;
            changed = checkout.map(|it| it.changed_since(base)).transpose()?.flatten();
            texts.extend(changed.is_none().then(|| report::unknown_base(base)));
        }
        let show = |done: usize, all: usize| {
            progress.show_count("building with kustomize", done as u64, Some(all as u64));
        };
        let mut checked = sipgen::check_builds(&site.files, run, changed.as_ref(), &show)?;
        run.findings.append(&mut checked.findings);
        texts.push(report::checked_builds(&checked));
    }
    Ok(texts)
}

/// Returns the moves of the next step that empties the hosts in maintenance. If there is no plan, says
/// why and returns `None`.
fn next_moves(
    sites: &Sites,
    options: &Options,
    at_once: NonZeroU16,
) -> Result<Option<Vec<HostReplacement>>, CommandError> {
    let files = &repo::only(sites)?.files;
    let generated = sipgen::generate(files, options, &|_| {})?;
    let hosts = drain::marked(&generated.site)?;
    let plan = sipgen::ask::drain::drain(&generated, &hosts, &[], at_once.get().into());
    let is_blocked = plan.verdict != DrainVerdict::Planned && plan.steps.is_empty();
    if is_blocked {
        say(report::drain(&plan));
    }
    Ok((!is_blocked).then(|| plan.next_moves()))
}

/// Merges the changes of all sites.
fn all_changes<'a>(runs: &'a Runs<'_>) -> Cow<'a, OutputChanges> {
    let mut site_changes = runs.iter().filter_map(|(_, run)| run.changes.as_ref());
    let mut all = site_changes.next().map(Cow::Borrowed).unwrap_or_default();
    for OutputChanges { files, leftovers } in site_changes {
        all.to_mut().files.extend(files.clone());
        all.to_mut().leftovers.extend(leftovers.clone());
    }
    all
}

impl Arguments {
    /// Returns the command that brings the repo up to date.
    fn remedy(&self, runs: &Runs<'_>, root: &Utf8Path) -> String {
        let has_changes = |run: &GeneratedSite| {
            run.changes.as_ref().is_some_and(|changes| !changes.files.is_empty())
        };
        let any_has = runs.iter().any(|(_, run)| has_changes(run));
        let shown = runs.iter().filter(|(_, run)| !any_has || has_changes(run));
        let outputs = shown.map(|(_, run)| in_shell(run.site.settings.output.as_str()));
        let outputs: String = outputs.map(|output| format!(" {output}")).collect();
        let is_here = root
            .canonicalize()
            .is_ok_and(|root| std::env::current_dir().is_ok_and(|here| here == root));
        let place =
            if is_here { String::new() } else { format!(" -C {}", in_shell(root.as_str())) };
        let stage = format!("git{place} add{outputs}");
        match (self.from_index, self.check) {
            (true, false) => format!("not staged yet: run `{stage}`"),
            (true, true) => format!("run `{}`, then `{stage}`", self.writing_command()),
            (false, _) => {
                let revision = self.from.rev.iter();
                let check_out: String = revision.map(|it| format!("check out `{it}`, ")).collect();
                format!("{check_out}run `{}`, and commit the result", self.writing_command())
            }
        }
    }

    /// Returns the command that writes what this run has checked.
    fn writing_command(&self) -> String {
        let repo = self.from.repo.iter().map(|directory| ("--repo", directory.as_str()));
        let site = self.from.site.iter().map(|site| ("--site", site.as_str()));
        let inputs = self.from.input.iter().map(|input| ("--input", input.as_str()));
        let values = repo.chain(site).chain(inputs);
        let values = values.map(|(option, value)| format!(" {option} {}", in_shell(value)));
        let only = self.only.iter().map(|cluster| format!(" --only {cluster}"));
        let flags = [
            (" --from-index", self.from_index),
            (" --keep-going", self.keep_going),
            (" --rebalance", self.rebalance),
            (" --allow-empty", self.allow_empty),
        ];
        let flags = flags.into_iter().filter(|(_, is_given)| *is_given);
        let drain = self.drain.map(|at_once| format!(" --drain={at_once}"));
        let options = values.chain(only).chain(flags.map(|(flag, _)| flag.to_owned())).chain(drain);
        format!("sipgen generate{}", options.collect::<String>())
    }
}

/// Checks that all sites may be written. With `from_index`, returns the changes of their files on the
/// disk.
///
/// If files were edited or belong to the user, adds findings and returns `None`. Every site is
/// checked before the first one is written.
fn to_write(
    runs: &mut Runs<'_>,
    from_index: bool,
) -> Result<Option<Vec<OutputChanges>>, CommandError> {
    let mut mapped = Vec::new();
    let mut is_free = true;
    for (site, generated) in runs.iter_mut() {
        let Some(changes) = &generated.changes else { continue };
        let (root, output) = (site.files.root(), &generated.site.settings.output);
        let staged = if from_index { Some(Files::staged(root)?) } else { None };
        if let Some(changed) =
            generated.site.state.changed_since(staged.as_ref().unwrap_or(&site.files), output)?
        {
            return Err(WriteError::Changed(changed).into());
        }
        if from_index {
            let (changes, found) = in_worktree(&Files::on_disk(root), output, changes)?;
            is_free &= found.is_empty();
            generated.findings.extend(found);
            mapped.push(changes);
        }
    }
    if !is_free {
        runs.iter_mut().for_each(|(_, generated)| generated.changes = None);
        return Ok(None);
    }
    Ok(Some(mapped))
}

/// Writes the changes of all sites, or those in `mapped`, if any, in their place.
fn write(runs: &Runs<'_>, mapped: &[OutputChanges]) -> Result<(), CommandError> {
    let mut mapped = mapped.iter();
    for (site, generated) in runs.iter() {
        if let Some(changes) = &generated.changes {
            let changes = mapped.next().unwrap_or(changes);
            let output = &generated.site.settings.output;
            sipgen::write_output(site.files.root(), output, changes, JournalScope::Hosts)?;
        }
    }
    Ok(())
}

/// Formats the findings for people, and in the machine format, if one is requested.
fn formatted_findings(
    arguments: &Arguments,
    sites: &Sites,
    runs: &Runs<'_>,
) -> Result<(ReportText, Option<ReportDocument>), CommandError> {
    let found = repo::findings(sites, runs);
    let findings = report::findings(&found, &sites.repo);
    if arguments.format == GenerateFormat::Text {
        return Ok((findings, None));
    }
    let remedy = arguments.remedy(runs, sites.repo.root());
    let stale = runs.iter().filter(|_| arguments.check);
    let stale: Vec<Finding> = stale.flat_map(|(_, run)| report::stale(run, &remedy)).collect();
    let place = repo::place_in_git(sites.repo.root())?;
    let results = CiResults::new(&found, &stale, &sites.repo, &place);
    let results = match arguments.format {
        GenerateFormat::Text => None,
        GenerateFormat::Github => Some(report::github(&results)),
        GenerateFormat::Gitlab => Some(report::gitlab(&results)?),
        GenerateFormat::Sarif => Some(report::sarif(&results)?),
    };
    Ok((findings, results))
}
