//! `sipgen doctor`: checks the environment of a repo.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use sipgen::doctor::{
    CheckState, DoctorCheck, OutputFacts, RepoFacts, SiteFacts, SnapshotFacts, check_repo,
    check_site, check_surroundings, snapshot_paths,
};
use sipgen::git::{self, Checkout};
use sipgen::layout;
use sipgen::load::{Files, versions};
use sipgen::output::lock::Lock;
use sipgen::report::{self, Examination, ReportDocument};
use sipgen::settings::Settings;
use sipgen::sites::{Location, Sites};
use sipgen::{GeneratedSite, is_interrupted};

use super::repo::SelectedFiles;
use super::{CommandError, CommandResult, print, print_document, repo, say};

/// Maximum number of commits in which the last change of a snapshot is searched.
const COMMITS: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  sipgen doctor                      check the repo around the working directory
  sipgen doctor --site production    check one site of several
  sipgen doctor --format json        for programs";

/// Check the environment: programs, settings, agent, hooks, CI and the age of the snapshot
///
/// Prints one line per check, with the fix where there is something to fix. `ok` is fine, `note` is
/// information, `warning` should be fixed, and `failed` keeps sipgen from working or loses data. It
/// also finds settings without effect, such as suppressed warnings that nothing causes. Nothing is
/// written, and no cluster is read.
///
/// Exits with 1 if a check failed.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Check one site, given by name or directory; default: all `sites` in sipgen.yaml
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// The output format
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    format: DoctorFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DoctorFormat {
    /// Text
    Text,
    /// JSON; docs/doctor.schema.json is its schema
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Result<CommandResult, CommandError> {
    let directory = arguments.repo.as_deref();
    let here = directory.unwrap_or(Utf8Path::new("."));
    if repo::is_bare(directory)? {
        return Err(CommandError(format!(
            "`{here}` is in a bare repo without files on disk: run `sipgen doctor` in a clone"
        )));
    }
    let checkout = Checkout::around(here)?;
    let around = git::around(here)?;
    let facts = RepoFacts {
        top: around.as_ref().and_then(|around| around.top.clone()),
        remote: around.and_then(|around| around.remote),
        hook: checkout
            .as_ref()
            .map(|checkout| checkout.hook("pre-commit"))
            .transpose()?
            .flatten(),
        git: versions::git(),
        kustomize: versions::kustomize(),
        sops: versions::sops(),
        today: repo::options()?.today,
    };
    let surroundings = check_surroundings(&facts, here);
    // Outside git, a working directory that nobody named may be anything.
    if checkout.is_none() && directory.is_none() {
        let files = Files::on_disk(here);
        return show(arguments.format, &[("", surroundings)], &files);
    }
    let chosen = SelectedFiles::on_disk(directory, &[], arguments.site.as_deref())?;
    let lock = Lock::shared(chosen.files.root())?;
    let sites = chosen.sites()?;
    let runs = runs(&sites);
    drop(lock);
    let mut all = Vec::new();
    for site in &sites.all {
        let run = match &runs {
            Ok(runs) => {
                let run = runs.iter().find(|(of, _)| of.directory == site.directory);
                run.map(|(_, run)| run).ok_or("the site was not generated")
            }
            Err(CommandError(message)) => Err(message.as_str()),
        };
        all.push(facts_of_site(site, run, checkout.as_ref())?);
    }
    let top = facts.top.as_ref().map(Files::on_disk);
    let top = top.as_ref().unwrap_or(&sites.repo);
    let mut repo_checks = surroundings;
    repo_checks.extend(check_repo(&facts, &sites, &all, top)?);
    let mut checks = vec![("", repo_checks)];
    for site in &all {
        checks.push((site.name, check_site(&facts, site)?));
    }
    show(arguments.format, &checks, &sites.repo)
}

/// Generates all sites, unless an interrupted run left one half written.
fn runs(sites: &Sites) -> Result<repo::Runs<'_>, CommandError> {
    if let Some(directory) = sites.all.iter().find_map(interrupted) {
        return Err(CommandError(format!(
            "not checked: an interrupted run left `{directory}` half written"
        )));
    }
    let mut runs = repo::generate(sites)?;
    repo::add_hardware_findings(&mut runs)?;
    Ok(runs)
}

/// Returns the directory that an interrupted run left half written.
fn interrupted(site: &Location) -> Option<Utf8PathBuf> {
    let settings = Settings::load(&site.files).ok()?;
    let mut directories = [settings.output, settings.snapshot.directory].into_iter();
    directories.find(|directory| is_interrupted(site.files.root(), directory))
}

fn facts_of_site<'a>(
    site: &'a Location,
    run: Result<&'a GeneratedSite, &'a str>,
    checkout: Option<&Checkout>,
) -> Result<SiteFacts<'a>, CommandError> {
    let settings = Settings::load(&site.files);
    let (mut output, mut snapshot) = (None, None);
    if let (Some(checkout), Ok(settings)) = (checkout, &settings) {
        let files = run.map_or(Vec::new(), recording_files);
        output = Some(OutputFacts {
            state: checkout.state(&settings.output)?,
            ignored: checkout
                .ignored(files.iter().map(Utf8PathBuf::as_path))?
                .map(Utf8Path::to_owned),
        });
    }
    if let (Some(checkout), Ok(run)) = (checkout, run) {
        let paths = snapshot_paths(run);
        if !paths.is_empty() {
            let changes = paths.iter().map(|path| checkout.state(path));
            snapshot = Some(SnapshotFacts {
                changes: changes
                    .map(|state| state.map(|state| state.changes))
                    .sum::<Result<_, _>>()?,
                last: checkout.last_change(&paths, COMMITS)?,
                paths,
            });
        }
    }
    Ok(SiteFacts {
        name: &site.name,
        files: &site.files,
        settings,
        run,
        interrupted: interrupted(site),
        output,
        snapshot,
    })
}

/// Returns the generated files that record assignments, relative to the repo's root; or the path of
/// one if there are none.
fn recording_files(run: &GeneratedSite) -> Vec<Utf8PathBuf> {
    let output = &run.site.settings.output;
    let rendered = run.tree.keys().map(AsRef::<Utf8Path>::as_ref);
    let on_disk = run.site.state.files.values().flatten();
    let files: BTreeSet<&Utf8Path> = rendered.chain(on_disk.map(|file| &**file)).collect();
    let mut files: Vec<Utf8PathBuf> = files
        .into_iter()
        .filter(|file| file.starts_with(layout::HOSTS))
        .map(|file| output.join(file))
        .collect();
    if files.is_empty() {
        files.push(output.join(layout::HOSTS).join(layout::UNLABELLED));
    }
    files
}

fn show(
    format: DoctorFormat,
    checks: &[(&str, Vec<DoctorCheck>)],
    files: &Files,
) -> Result<CommandResult, CommandError> {
    match format {
        DoctorFormat::Text => {
            for (site, checks) in checks {
                if !site.is_empty() {
                    print("\n");
                    print(report::site(site));
                }
                print(report::checks(checks, files));
            }
        }
        DoctorFormat::Json => {
            print_document(&ReportDocument::json(&Examination::new(checks, files))?)
        }
    }
    say(report::tally_of_checks(checks));
    let mut all = checks.iter().flat_map(|(_, checks)| checks);
    Ok(if all.any(|check| check.state == CheckState::Failed) {
        CommandResult::No
    } else {
        CommandResult::Yes
    })
}
