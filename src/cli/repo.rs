//! Which directory a command works in.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::git::{self, Around};
use sipgen::lock::Lock;
use sipgen::site::Settings;
use sipgen::source::{Files, Stream};
use sipgen::{Generated, Options};

use super::Failure;

/// What a command reads.
#[derive(clap::Args)]
pub(crate) struct From {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    pub(super) repo: Option<Utf8PathBuf>,

    /// Read this revision of the repo, such as origin/main, and nothing of what is on the disk
    ///
    /// Inputs, settings, templates and the files of the last run are those of the revision. The repo may be a bare one.
    #[arg(long, value_name = "REV")]
    pub(super) rev: Option<String>,

    /// Take SIPClusters, hosts and Secrets from rendered manifests, and not from the repo's files; may be given several
    /// times, and `-` is stdin
    ///
    /// As in `kustomize build sites/lab | sipgen generate --input -`. Settings, templates, kustomizations and the files
    /// of the last run are those of the repo, and so is it known which hosts the repo declares. docs/inputs.md tells more.
    #[arg(long, value_name = "FILE", conflicts_with = "rev")]
    pub(super) input: Vec<Utf8PathBuf>,
}

impl From {
    /// The files to read.
    pub(super) fn files(&self) -> Result<Files, Failure> {
        let directory = self.repo.as_deref();
        match &self.rev {
            Some(revision) => at_revision(directory, revision),
            None => with_inputs(find(directory)?, &self.input),
        }
    }
}

/// What findings call a stream that comes on stdin.
const STDIN: &str = "<stdin>";

/// The same files, with rendered streams in the place of the inputs, if there are any.
pub(super) fn with_inputs(files: Files, inputs: &[Utf8PathBuf]) -> Result<Files, Failure> {
    if inputs.is_empty() {
        return Ok(files);
    }
    if inputs.iter().filter(|input| *input == "-").count() > 1 {
        return Err(Failure("--input - is there twice, and stdin can be read only once".to_owned()));
    }
    let stream = |input: &Utf8PathBuf| -> Result<Stream, Failure> {
        let mut content = Vec::new();
        let (name, read) = match input.as_str() {
            "-" if io::stdin().is_terminal() => {
                let message = "--input - reads stdin, which is a terminal: pipe into it, as in `kustomize build sites/lab | \
                               sipgen generate --input -`";
                return Err(Failure(message.to_owned()));
            }
            "-" => (Utf8Path::new(STDIN), io::stdin().read_to_end(&mut content)),
            // A pipe will do, such as the shell makes of `<(kustomize build …)`.
            _ => (input.as_path(), File::open(input).and_then(|mut file| file.read_to_end(&mut content))),
        };
        read.map_err(|error| Failure(format!("cannot read --input {input}: {error}")))?;
        Ok(Stream { name: Arc::from(name), content })
    };
    Ok(files.with_streams(inputs.iter().map(stream).collect::<Result<_, _>>()?))
}

/// Undoes what a run that was killed has changed in the generated files. Only for who has locked the root to write.
pub(super) fn undo_interrupted(files: &Files) -> Result<(), Failure> {
    // With settings that cannot be read, nothing is written.
    let Ok(settings) = Settings::load(files) else { return Ok(()) };
    sipgen::undo_interrupted_snapshot(files.root(), &settings.snapshot.directory)?;
    Ok(sipgen::undo_interrupted(files.root(), &settings.output)?)
}

/// Keeps writers of the generated files away, if those on the disk are read.
pub(super) fn lock_to_read(files: &Files) -> Result<Option<Lock>, Failure> {
    if !files.are_on_disk() {
        return Ok(None);
    }
    let lock = Lock::shared(files.root())?;
    let Ok(settings) = Settings::load(files) else { return Ok(Some(lock)) };
    let directories = [&settings.output, &settings.snapshot.directory];
    match directories.into_iter().find(|directory| sipgen::is_interrupted(files.root(), directory)) {
        Some(directory) => Err(Failure(format!(
            "{directory} is half written: a run was killed in the middle of it; run `sipgen generate`, which undoes that first"
        ))),
        None => Ok(Some(lock)),
    }
}

/// Generates in memory, while nobody writes.
pub(super) fn generate(files: &Files) -> Result<Generated, Failure> {
    let _lock = lock_to_read(files)?;
    Ok(sipgen::generate(files, &Options::default(), &|_| {})?)
}

/// The directory that was named, or the git repo around the working directory.
pub(super) fn find(directory: Option<&Utf8Path>) -> Result<Files, Failure> {
    match directory {
        Some(directory) => {
            let around = git::around(existing(directory)?)?;
            // The hooks of a bare repo run with its name in their environment, also for files that lie elsewhere.
            let holds = |around: &&Around| {
                directory.canonicalize_utf8().is_ok_and(|directory| directory.starts_with(&around.directory))
            };
            around.as_ref().filter(holds).map(worktree).transpose()?;
            Ok(Files::on_disk(directory))
        }
        None => {
            let around = git::around(Utf8Path::new("."))?.ok_or_else(|| {
                let message = "there is no git repo around the working directory; name a directory by --repo";
                Failure(message.to_owned())
            })?;
            Ok(Files::on_disk(worktree(&around)?))
        }
    }
}

/// The top of a repo's worktree.
fn worktree(around: &Around) -> Result<&Utf8Path, Failure> {
    around.top.as_deref().ok_or_else(|| {
        Failure(format!(
            "{} is a bare repo, which has no files on the disk: name a revision of it by --rev (of `sipgen diff`: by --base and \
             --head), or clone it",
            around.directory
        ))
    })
}

/// The files that a revision has in the directory that was named, or in the git repo around the working directory;
/// the repo may be bare.
pub(super) fn at_revision(directory: Option<&Utf8Path>, revision: &str) -> Result<Files, Failure> {
    let directory = directory.map(existing).transpose()?;
    let Around { top, directory: own, .. } = expect(directory.unwrap_or(Utf8Path::new(".")))?;
    let root = directory.map(Utf8Path::to_owned).or(top).unwrap_or(own);
    Ok(Files::at_revision(root, revision)?)
}

/// Whether the directory that was named, or the working directory, is in a bare repo, which has no files on the disk.
pub(super) fn is_bare(directory: Option<&Utf8Path>) -> Result<bool, Failure> {
    let around = git::around(directory.unwrap_or(Utf8Path::new(".")))?;
    Ok(around.is_some_and(|around| around.top.is_none()))
}

/// The git repo that `directory` is the root of, or else the one around the working directory.
pub(super) fn git_root(directory: Option<&Utf8Path>) -> Result<(Files, Around), Failure> {
    let files = find(directory)?;
    let around = git::around(files.root())?.ok_or_else(|| {
        let message = format!("{} is not in a git repo; `git init` makes it one", files.root());
        Failure(message)
    })?;
    if !around.place.as_str().is_empty() {
        let top = worktree(&around)?.as_str().trim_end_matches('/');
        return Err(Failure(format!(
            "{} is not the root of its git repo, and hooks and CI jobs are read only there: name the root by --repo {top}",
            files.root()
        )));
    }
    Ok((files, around))
}

/// Where a directory lies in its git repo, which is what forges count paths from; empty at the root and where there is
/// no git repo.
pub(super) fn place_in_git(directory: &Utf8Path) -> Result<Utf8PathBuf, Failure> {
    Ok(git::around(directory)?.map(|around| around.place).unwrap_or_default())
}

fn existing(directory: &Utf8Path) -> Result<&Utf8Path, Failure> {
    if directory.is_dir() { Ok(directory) } else { Err(Failure(format!("--repo {directory} is no directory"))) }
}

fn expect(directory: &Utf8Path) -> Result<Around, Failure> {
    git::around(directory)?.ok_or_else(|| {
        Failure(format!("there is no git repo around {directory}, so there are no revisions to compare"))
    })
}
