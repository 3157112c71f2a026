//! Which directory a command works in.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::finding::{self, Finding};
use sipgen::git::{self, Around};
use sipgen::load::{Files, Stream};
use sipgen::output::lock::Lock;
use sipgen::report::Document;
use sipgen::settings::Settings;
use sipgen::sites::{Location, Sites};
use sipgen::{Generated, Options};

use super::{Failure, print_document};

/// What a command reads.
#[derive(clap::Args)]
pub(crate) struct From {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    pub(super) repo: Option<Utf8PathBuf>,

    /// One site of the repo only, by its name or directory; by default all sites that `sites` in sipgen.yaml lists
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,

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

/// The runs of sites, one for each.
pub(super) type Runs<'a> = Vec<(&'a Location, Generated)>;

/// The files of a repo, and which of its sites a command is for.
pub(super) struct Chosen {
    pub(super) files: Files,
    /// The name or directory of the only one; none for all.
    pub(super) site: Option<String>,
}

impl From {
    /// The files to read.
    pub(super) fn chosen(&self) -> Result<Chosen, Failure> {
        let directory = self.repo.as_deref();
        match &self.rev {
            Some(revision) => Chosen::at_revision(directory, revision, self.site.as_deref()),
            None => Chosen::on_disk(directory, &self.input, self.site.as_deref()),
        }
    }
}

impl Chosen {
    /// Files on the disk, with rendered streams in the place of the inputs, if there are any.
    pub(super) fn on_disk(
        directory: Option<&Utf8Path>,
        inputs: &[Utf8PathBuf],
        site: Option<&str>,
    ) -> Result<Self, Failure> {
        let files = find(directory)?;
        let Self { files, site } =
            Self::around(files, directory, site, |top| Ok(Files::on_disk(top)))?;
        Ok(Self {
            files: with_inputs(files, inputs)?,
            site,
        })
    }

    /// The files of a revision.
    pub(super) fn at_revision(
        directory: Option<&Utf8Path>,
        revision: &str,
        site: Option<&str>,
    ) -> Result<Self, Failure> {
        Self::around(at_revision(directory, revision)?, directory, site, |top| {
            Ok(Files::at_revision(top, revision)?)
        })
    }

    /// A directory that was named may be that of a site: what it reaches outside is of it, too.
    fn around(
        files: Files,
        directory: Option<&Utf8Path>,
        site: Option<&str>,
        open: impl FnOnce(&Utf8Path) -> Result<Files, Failure>,
    ) -> Result<Self, Failure> {
        let itself = |files| Self {
            files,
            site: site.map(str::to_owned),
        };
        let Some(directory) = directory else {
            return Ok(itself(files));
        };
        let Some(Around {
            top: Some(top),
            place,
            ..
        }) = git::around(directory)?
        else {
            return Ok(itself(files));
        };
        if place.as_str().is_empty() {
            return Ok(itself(files));
        }
        let place = place.as_str().trim_end_matches('/').to_owned();
        let whole = open(&top)?;
        let sites = Sites::find(whole.clone())?;
        let is_site = sites.are_listed
            && sites
                .all
                .iter()
                .any(|site| site.directory == place.as_str());
        Ok(if is_site && site.is_none() {
            Self {
                files: whole,
                site: Some(place),
            }
        } else {
            itself(files)
        })
    }

    /// The same sites, as they are staged.
    pub(super) fn staged(self) -> Result<Self, Failure> {
        Ok(Self {
            files: Files::staged(self.files.root())?,
            ..self
        })
    }

    /// The sites.
    pub(super) fn sites(&self) -> Result<Sites, Failure> {
        let all = Sites::find(self.files.clone())?;
        let sites = match &self.site {
            Some(site) => all.only(site)?,
            None => all,
        };
        if !self.files.streams().is_empty() && sites.all.len() > 1 {
            let names: Vec<&str> = sites.all.iter().map(|site| site.name.as_str()).collect();
            let message = format!(
                "--input is of one base cluster: name its site by --site: {}",
                names.join(", ")
            );
            return Err(Failure(message));
        }
        Ok(sites)
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
        return Err(Failure(
            "--input - is there twice, and stdin can be read only once".to_owned(),
        ));
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
            _ => (
                input.as_path(),
                File::open(input).and_then(|mut file| file.read_to_end(&mut content)),
            ),
        };
        read.map_err(|error| Failure(format!("cannot read --input {input}: {error}")))?;
        Ok(Stream {
            name: Arc::from(name),
            content,
        })
    };
    Ok(files.with_streams(inputs.iter().map(stream).collect::<Result<_, _>>()?))
}

/// Undoes what a run that was killed has changed in the generated files of any site, also of those that were not chosen,
/// and tells whether there was anything. Only for who has locked the root to write.
pub(super) fn undo_interrupted(sites: &Sites) -> Result<bool, Failure> {
    let mut is_undone = false;
    for site in sites.all.iter().chain(&sites.others) {
        // With settings that cannot be read, nothing is written.
        let Ok(settings) = Settings::load(&site.files) else {
            continue;
        };
        let (root, directories) = (
            site.files.root(),
            [&settings.output, &settings.snapshot.directory],
        );
        is_undone |= directories
            .into_iter()
            .any(|directory| sipgen::is_interrupted(root, directory));
        sipgen::undo_interrupted_snapshot(root, &settings.snapshot.directory)?;
        sipgen::undo_interrupted(root, &settings.output)?;
    }
    Ok(is_undone)
}

/// Keeps writers of the generated files away, if those on the disk are read, and finds the sites.
pub(super) fn lock_to_read(chosen: &Chosen) -> Result<(Option<Lock>, Sites), Failure> {
    let lock = chosen
        .files
        .are_on_disk()
        .then(|| Lock::shared(chosen.files.root()))
        .transpose()?;
    let sites = chosen.sites()?;
    for site in sites.all.iter().filter(|_| lock.is_some()) {
        let Ok(settings) = Settings::load(&site.files) else {
            continue;
        };
        let directories = [&settings.output, &settings.snapshot.directory];
        if let Some(directory) = directories
            .into_iter()
            .find(|directory| sipgen::is_interrupted(site.files.root(), directory))
        {
            return Err(Failure(format!(
                "{directory} is half written: a run was killed in the middle of it; run `sipgen generate`, which undoes that first"
            )));
        }
    }
    Ok((lock, sites))
}

/// Generates all sites in memory.
pub(super) fn generate(sites: &Sites) -> Result<Runs<'_>, Failure> {
    Ok(sipgen::generate_sites(sites, &Options::default(), &|_| {})?)
}

/// Collects the findings of all sites and of the sites as a whole, with the number of muted warnings.
pub(super) fn findings(sites: &Sites, runs: &Runs<'_>) -> (Vec<Finding>, usize) {
    let all = sites
        .findings
        .iter()
        .chain(runs.iter().flat_map(|(_, run)| &run.findings))
        .cloned();
    // What two sites share is judged for each.
    let all = if sites.single().is_some() {
        all.collect()
    } else {
        finding::merge(all.collect())
    };
    (all, runs.iter().map(|(_, run)| run.muted).sum())
}

/// Prints a value for programs: for several sites, each by its name.
pub(super) fn print_json<T: serde::Serialize>(
    sites: &Sites,
    values: Vec<(&Location, T)>,
) -> Result<(), Failure> {
    print_document(&match (sites.single(), values.as_slice()) {
        (Some(_), [(_, value)]) => Document::json(value)?,
        _ => {
            let by_name: BTreeMap<&str, &T> = values
                .iter()
                .map(|(site, value)| (site.name.as_str(), value))
                .collect();
            Document::json(&BTreeMap::from([("sites", by_name)]))?
        }
    });
    Ok(())
}

/// The directory that was named, or the git repo around the working directory.
pub(super) fn find(directory: Option<&Utf8Path>) -> Result<Files, Failure> {
    match directory {
        Some(directory) => {
            let around = git::around(existing(directory)?)?;
            // The hooks of a bare repo run with its name in their environment, also for files that lie elsewhere.
            let holds = |around: &&Around| {
                directory
                    .canonicalize_utf8()
                    .is_ok_and(|directory| directory.starts_with(&around.directory))
            };
            around.as_ref().filter(holds).map(worktree).transpose()?;
            Ok(Files::on_disk(directory))
        }
        None => {
            let around = git::around(Utf8Path::new("."))?.ok_or_else(|| {
                let message =
                    "there is no git repo around the working directory; name a directory by --repo";
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
    let Around {
        top,
        directory: own,
        ..
    } = expect(directory.unwrap_or(Utf8Path::new(".")))?;
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
        let message = format!(
            "{} is not in a git repo; `git init` makes it one",
            files.root()
        );
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
    Ok(git::around(directory)?
        .map(|around| around.place)
        .unwrap_or_default())
}

fn existing(directory: &Utf8Path) -> Result<&Utf8Path, Failure> {
    if directory.is_dir() {
        Ok(directory)
    } else {
        Err(Failure(format!("--repo {directory} is no directory")))
    }
}

fn expect(directory: &Utf8Path) -> Result<Around, Failure> {
    git::around(directory)?.ok_or_else(|| {
        Failure(format!(
            "there is no git repo around {directory}, so there are no revisions to compare"
        ))
    })
}
