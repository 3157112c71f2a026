//! `sipgen migrate`: rewrites legacy SIPClusters in today's form.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::base::finding::Finding;
use sipgen::base::text::counted;
use sipgen::input::load::Files;
use sipgen::output::lock::Lock;
use sipgen::report;

use super::repo::SelectedFiles;
use super::{CommandError, CommandResult, print_lines, say};

const EXAMPLES: &str = "\
Examples:
  sipgen migrate --diff --check             show what would change
  sipgen migrate                            rewrite all files with legacy SIPClusters
  sipgen migrate sites/lab/edge.yaml        rewrite this file only";

/// Rewrite legacy SIPClusters in today's form
///
/// Comments, order, quotes and indentation are kept where possible. Files without legacy
/// SIPClusters are not changed, and neither is the output of `sipgen generate`. A SIPCluster that
/// cannot be rewritten is reported, and its file is left alone. docs/operations/migrating.md lists the mapping
/// of each field.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The files to rewrite; default: all files of the repo
    #[arg(value_name = "FILES")]
    files: Vec<Utf8PathBuf>,

    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Process one site, given by name or directory; default: all `sites` in sipgen.yaml
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// Write nothing, and exit with 1 if something would change
    #[arg(long)]
    check: bool,

    /// Print the changes as a unified diff
    #[arg(long)]
    diff: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<CommandResult, CommandError> {
    let from = SelectedFiles::on_disk(arguments.repo.as_deref(), &[], arguments.site.as_deref())?;
    let files = &from.files;
    let only = chosen(&arguments.files, files)?;
    let lock =
        if arguments.check { Lock::shared(files.root())? } else { Lock::exclusive(files.root())? };
    let migration = sipgen::migrate_sites(&from.sites()?, only.as_ref())?;
    // Findings quote the lines that were read, so they are formatted before the files change.
    let findings = report::findings(&migration.findings, files);
    if !arguments.check {
        sipgen::write(files.root(), &migration.changes)?;
    }
    drop(lock);
    if arguments.diff {
        print_lines(&report::diff(&migration.changes));
    }
    say(findings);
    let (clusters, changed) = (migration.clusters.len(), migration.changes.files.len());
    say(match (clusters, arguments.check) {
        (0, _) if migration.findings.is_empty() => "no legacy SIPCluster found\n".to_owned(),
        (0, _) => "no SIPCluster was rewritten\n".to_owned(),
        (_, true) => {
            format!(
                "{} would be rewritten in {}\n",
                counted(clusters, "SIPCluster"),
                counted(changed, "file")
            )
        }
        (_, false) => format!(
            "{} rewritten in {}\n",
            counted(clusters, "SIPCluster"),
            counted(changed, "file")
        ),
    });
    let failed = migration.findings.iter().any(Finding::is_error);
    Ok(if failed || arguments.check && changed > 0 {
        CommandResult::No
    } else {
        CommandResult::Yes
    })
}

/// Resolves the named files relative to the repo; `None` stands for all files.
fn chosen(
    named: &[Utf8PathBuf],
    files: &Files,
) -> Result<Option<BTreeSet<Utf8PathBuf>>, CommandError> {
    if named.is_empty() {
        return Ok(None);
    }
    let root = files.root().canonicalize_utf8()?;
    let in_repo = |file: &Utf8PathBuf| {
        if file.is_symlink() {
            return Err(CommandError(format!(
                "`{file}` is a symbolic link, which sipgen does not read: name its target"
            )));
        }
        let directory = file
            .parent()
            .filter(|directory| !directory.as_str().is_empty())
            .unwrap_or(Utf8Path::new("."));
        let found = file.is_file().then(|| directory.canonicalize_utf8()).and_then(Result::ok);
        let path = found
            .and_then(|directory| Some(directory.join(file.file_name()?)))
            .ok_or_else(|| CommandError(format!("no such file: `{file}`")))?;
        let relative = path
            .strip_prefix(&root)
            .map_err(|_| CommandError(format!("`{file}` is not in the repo `{root}`")))?;
        Ok(relative.to_owned())
    };
    named.iter().map(in_repo).collect::<Result<_, CommandError>>().map(Some)
}
