//! Selection of input documents: all of a repo, those of its `sources`, or streams that replace
//! them.
//!
//! Kustomizations and agents' objects are always read everywhere in the repo, because they decide
//! how hosts may be changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::finding::{Code, Finding, Origin};
use crate::base::layout;
use crate::input::kustomize::Builds;
use crate::input::load::kustomize::{self, Build, BuildError, BuildOutput};
use crate::input::load::{Document, Files, scan_made, scan_stream};
use crate::input::settings::Settings;
use crate::input::settings::sources::{Glob, InputSource};

/// Selection of input documents.
pub(crate) struct InputSelection<'a> {
    sources: &'a [InputSource],
    which: InputScope,
    /// Roots whose builds contain the result of each source.
    roots: Vec<Vec<usize>>,
}

enum InputScope {
    /// Every document in the repo's files.
    All,
    /// Documents from streams only.
    Streams,
    /// Files of sources, each with the index of its source. Built documents are always inputs.
    Listed(HashMap<Utf8PathBuf, usize>),
}

impl<'a> InputSelection<'a> {
    /// Determines which of the repo's `files` are inputs, and reports globs that match nothing.
    pub(super) fn new(
        repo: &Files,
        settings: &'a Settings,
        files: &[Utf8PathBuf],
        builds: &Builds,
    ) -> (Self, Vec<Finding>) {
        let sources = settings.sources.as_slice();
        let built = sources.iter().map(|source| source.kustomization.as_ref());
        let roots = built.map(|it| it.map(|it| builds.roots_of(it)).unwrap_or_default()).collect();
        if !repo.streams().is_empty() || sources.is_empty() {
            let are_all = repo.streams().is_empty();
            let which = if are_all { InputScope::All } else { InputScope::Streams };
            return (Self { sources, which, roots }, Vec::new());
        }
        // Files that a source builds are read through the build and not again through a glob.
        let built: BTreeSet<Utf8PathBuf> = sources
            .iter()
            .filter_map(|source| source.kustomization.as_deref())
            .flat_map(|directory| builds.below(directory).into_keys())
            .collect();
        let mut listed = HashMap::new();
        let mut findings = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let (Some(paths), Some(globs)) = (&source.paths, source.globs()) else { continue };
            for file in files.iter().filter(|file| globs.take(file) && !built.contains(*file)) {
                listed.entry(file.clone()).or_insert(index);
            }
            // A glob may exclude a path that is never read, such as a symbolic link.
            let excludes_unread = |position: usize| {
                let excluded = paths[position].strip_prefix('!');
                let here = |path: &str| {
                    repo.kind(&repo.site_directory().join(path)).or(repo.kind(path.into()))
                };
                excluded.is_some_and(|path| here(path).is_some())
            };
            let is_idle = |(position, glob): &(usize, &Glob)| {
                !files.iter().any(|file| globs.matches(glob, file)) && !excludes_unread(*position)
            };
            let idle = globs.globs.iter().enumerate().filter(is_idle);
            findings.extend(idle.map(|(position, _)| {
                let message = format!("the glob `{}` matches no file that can hold resources", paths[position]);
                Finding::new(Code::IdleGlob, message)
                    .at(settings.place(["sources".into(), index.into(), "paths".into(), position.into()]))
                    .help(
                        "fix it, or remove it; such files end with .yaml, .yml or .json, and git does not ignore them",
                    )
            }));
        }
        (Self { sources, which: InputScope::Listed(listed), roots }, findings)
    }

    /// Returns whether a document is an input.
    pub(super) fn contains(&self, origin: &Origin) -> bool {
        origin.is_rendered()
            || match &self.which {
                InputScope::All => true,
                // Streams replace the files, and their documents are rendered.
                InputScope::Streams => false,
                InputScope::Listed(files) => files.contains_key(&*origin.file),
            }
    }

    /// Returns whether the repo's files are the inputs, without `sources` or streams.
    pub(crate) fn are_all(&self) -> bool {
        matches!(self.which, InputScope::All)
    }

    /// Returns the namespace that the settings give to a document without one.
    pub(super) fn namespace(&self, origin: &Origin) -> Option<&'a str> {
        let file_source = || match &self.which {
            InputScope::Listed(files) if !origin.is_rendered() => files.get(&*origin.file).copied(),
            _ => None,
        };
        let source = origin.made_for().or_else(file_source)?;
        self.sources.get(source)?.namespace.as_ref().map(|namespace| namespace.as_str())
    }

    /// Returns the roots whose builds render a document from a source. For a stream, returns the
    /// root of all sources if there is only one, because the stream must have been made from it.
    pub(crate) fn roots(&self, origin: &Origin) -> Vec<usize> {
        if let Some(source) = origin.made_for() {
            return self.roots.get(source).cloned().unwrap_or_default();
        }
        let all: BTreeSet<usize> = self.roots.iter().flatten().copied().collect();
        // With several roots, it is unknown which one the stream was made of.
        if all.len() == 1 { all.into_iter().collect() } else { Vec::new() }
    }
}

/// The objects that a source builds. It is built once a run, however often they are read.
#[derive(Debug)]
pub(super) struct BuiltSource {
    /// Index of the source.
    source: usize,
    /// File of its kustomization.
    file: Arc<Utf8Path>,
    built: BuildOutput,
}

/// Builds the sources of the settings, unless streams replace them.
pub(super) fn build_sources(
    repo: &Files,
    settings: &Settings,
    builds: &Builds,
) -> (Vec<BuiltSource>, Vec<Finding>) {
    let (mut sources, mut findings) = (Vec::new(), Vec::new());
    for (source, settled) in settings.sources.iter().enumerate() {
        let Some(directory) = settled.kustomization.as_ref().filter(|_| repo.streams().is_empty())
        else {
            continue;
        };
        let build = Build {
            directory,
            output: &settings.output,
            helm: settled.helm,
            longest: Duration::from_secs(settled.timeout_seconds),
        };
        let own = || Arc::from(directory.join(layout::KUSTOMIZATION));
        let file = builds.kustomization_file(directory).unwrap_or_else(own);
        match kustomize::build(repo, &build) {
            Ok(built) => sources.push(BuiltSource { source, file, built }),
            Err(why) => findings.push(not_built(settings, source, directory, &why)),
        }
    }
    (sources, findings)
}

/// Reads the streams, or else the built sources. Reports streams without any object.
pub(super) fn read_rendered<T: Send>(
    repo: &Files,
    sources: &[BuiltSource],
    interpret: impl Fn(Document<'_>) -> Option<T> + Sync,
) -> (Vec<T>, Option<Finding>) {
    let (mut empty, mut read) = (Vec::new(), Vec::new());
    for stream in repo.streams() {
        let (count, found) = scan_stream(stream, &interpret);
        empty.extend((count == 0).then_some(stream.name.as_str()));
        read.extend(found);
    }
    for addition in repo.additions() {
        read.extend(scan_stream(addition, &interpret).1);
    }
    for BuiltSource { source, file: own, built } in sources {
        let file = |annotated: Option<&str>| {
            let file = annotated.and_then(|annotated| built.file(annotated));
            file.map_or_else(|| own.clone(), |file| Arc::from(file.as_path()))
        };
        read.extend(scan_made(&built.text, *source, file, &interpret));
    }
    // Usually the program before the pipe failed.
    let finding = (!empty.is_empty()).then(|| {
        let message = format!("no object in {}", empty.join(" and "));
        Finding::new(Code::EmptyInput, message).help(
            "find out why the program before the pipe printed no manifest; in a shell, `set -o pipefail` reports its failure",
        )
    });
    (read, finding)
}

fn not_built(settings: &Settings, index: usize, directory: &Utf8Path, why: &BuildError) -> Finding {
    let help = match why {
        BuildError::Elsewhere { .. } => {
            "a build takes nothing from the network: keep a copy in the repo, or have your pipeline build it: \
             `kustomize build … | sipgen generate --input -`"
        }
        BuildError::NoProgram => {
            "install kustomize, or set the environment variable SIPGEN_KUSTOMIZE to its path"
        }
        BuildError::Failed(said) => &format!("fix it; kustomize reports:\n{said}"),
        BuildError::NoDirectory | BuildError::NoKustomization | BuildError::Output { .. } => {
            "name a kustomization that does not need the output, or read its files by `paths`"
        }
        BuildError::TimedOut(_) => {
            "split it, allow more time by `timeoutSeconds`, or read its files by `paths`"
        }
        BuildError::Io(_) => "make the repo and the directory for temporary files accessible",
    };
    let shown = if directory.as_str().is_empty() { "the repo's root" } else { directory.as_str() };
    Finding::new(Code::NotBuilt, format!("the source {shown} {why}"))
        .at(settings.place(["sources".into(), index.into(), "kustomization".into()]))
        .help(help)
}
