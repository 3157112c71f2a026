//! `sipgen migrate`: older SIPClusters in today's form.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::finding::Finding;
use sipgen::load::Files;
use sipgen::output::lock::Lock;
use sipgen::report;
use sipgen::text::counted;

use super::repo::Chosen;
use super::{Failure, Outcome, print, say};

const EXAMPLES: &str = "\
Examples:
  sipgen migrate --diff --check             show what would change
  sipgen migrate                            rewrite all files with older SIPClusters
  sipgen migrate sites/lab/edge.yaml        rewrite this file only";

/// Rewrite SIPClusters of older generations in today's form
///
/// Comments, order, quotes and indentation stay where they can, and files without older SIPClusters stay as they are.
/// What `sipgen generate` makes of the repo stays the same, too. A SIPCluster that cannot be rewritten is reported, and
/// its file is left alone. docs/migrating.md says what becomes of each field.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The files to rewrite; by default all files of the repo
    #[arg(value_name = "FILES")]
    files: Vec<Utf8PathBuf>,

    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// One site of the repo only, by its name or directory; by default all sites that `sites` in sipgen.yaml lists
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// Write nothing, and exit with 1 if something would change
    #[arg(long)]
    check: bool,

    /// Print the changes as a unified diff
    #[arg(long)]
    diff: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let from = Chosen::on_disk(arguments.repo.as_deref(), &[], arguments.site.as_deref())?;
    let files = &from.files;
    let only = chosen(&arguments.files, files)?;
    let lock = if arguments.check {
        Lock::shared(files.root())?
    } else {
        Lock::exclusive(files.root())?
    };
    let migration = sipgen::migrate_sites(&from.sites()?, only.as_ref())?;
    // Findings show the lines that were read, and not those that are written in their place.
    let findings = report::findings(&migration.findings, files);
    if !arguments.check {
        sipgen::write(files.root(), &migration.changes)?;
    }
    drop(lock);
    if arguments.diff {
        print(report::diff(&migration.changes));
    }
    say(findings);
    let (clusters, changed) = (migration.clusters.len(), migration.changes.files.len());
    say(match (clusters, arguments.check) {
        (0, _) if migration.findings.is_empty() => {
            "no SIPCluster is of an older generation\n".to_owned()
        }
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
        Outcome::No
    } else {
        Outcome::Yes
    })
}

/// The files that were named, as the repo names them; none for all.
fn chosen(named: &[Utf8PathBuf], files: &Files) -> Result<Option<BTreeSet<Utf8PathBuf>>, Failure> {
    if named.is_empty() {
        return Ok(None);
    }
    let root = files.root().canonicalize_utf8()?;
    let in_repo = |file: &Utf8PathBuf| {
        if file.is_symlink() {
            return Err(Failure(format!(
                "{file} is a symbolic link, which is not read: name the file that it leads to"
            )));
        }
        let directory = file
            .parent()
            .filter(|directory| !directory.as_str().is_empty())
            .unwrap_or(Utf8Path::new("."));
        let found = file
            .is_file()
            .then(|| directory.canonicalize_utf8())
            .and_then(Result::ok);
        let path = found.and_then(|directory| Some(directory.join(file.file_name()?)));
        let path = path.ok_or_else(|| Failure(format!("there is no file {file}")))?;
        let relative = path
            .strip_prefix(&root)
            .map_err(|_| Failure(format!("{file} is not in the repo {root}")))?;
        Ok(relative.to_owned())
    };
    named
        .iter()
        .map(in_repo)
        .collect::<Result<_, Failure>>()
        .map(Some)
}
