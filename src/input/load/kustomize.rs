//! Builds by the real kustomize, for sources that require it.
//!
//! A build reads only from the repo: references to anything else are rejected before kustomize
//! starts. kustomize runs without plugins, and without Helm unless it is allowed.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use camino::{FromPathBufError, Utf8Component, Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::files::Files;
use super::kind::EntryKind;
use super::program;
use crate::base::api::kustomization::{FILE_NAMES, Kustomization, Patch, is_inline, listed};
use crate::base::api::last_wins::DecodedKustomization;
use crate::base::text::yaml;

/// A build to run.
pub(crate) struct Build<'a> {
    /// The directory of the kustomization, relative to the repo's root.
    pub(crate) directory: &'a Utf8Path,
    /// The output directory. A build of its files would depend on its own result.
    pub(crate) output: &'a Utf8Path,
    /// Set if Helm charts are inflated.
    pub(crate) helm: bool,
    /// The time limit.
    pub(crate) longest: Duration,
}

/// The result of a build.
#[derive(Debug)]
pub(crate) struct BuildOutput {
    /// The rendered objects.
    pub(crate) text: String,
    /// The repo's root in the build, and the directory of the outer kustomization.
    root: Utf8PathBuf,
    asked_in: Utf8PathBuf,
}

/// The reason why a build failed. The display is one clause about the kustomization.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// The directory does not exist.
    #[error("is no directory of the repo")]
    NoDirectory,
    /// The directory has no kustomization.
    #[error("has no kustomization.yaml")]
    NoKustomization,
    /// The build refers to a path outside the repo.
    #[error("needs `{entry}`, which is not in the repo ({file} names it)")]
    Elsewhere {
        /// The kustomization with the reference.
        file: Utf8PathBuf,
        /// The reference.
        entry: String,
    },
    /// The build refers to the output.
    #[error("needs `{path}`, which sipgen writes ({file} names it)")]
    Output {
        /// The kustomization with the reference.
        file: Utf8PathBuf,
        /// The path in the output directory.
        path: Utf8PathBuf,
    },
    /// Neither kustomize nor kubectl is installed.
    #[error("cannot be built: there is neither `kustomize` nor `kubectl` on this machine")]
    NoProgram,
    /// kustomize failed.
    #[error("cannot be built by kustomize")]
    Failed(String),
    /// kustomize exceeded the time limit.
    #[error("is not built after {} seconds, and kustomize was ended", .0.as_secs())]
    TimedOut(Duration),
    /// A file cannot be read or written.
    #[error("cannot be built: {0}")]
    Io(#[from] io::Error),
}

/// The environment variable that selects the kustomize program. It is no setting, because settings
/// are part of a repo: a proposed change could then choose the program that reviewers and CI run.
const PROGRAM: &str = "SIPGEN_KUSTOMIZE";

/// Keeps programs of a build from the network, by a proxy that does not exist and a git without
/// protocols.
const NO_NETWORK: [(&str, &str); 8] = [
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("http_proxy", "http://127.0.0.1:9"),
    ("https_proxy", "http://127.0.0.1:9"),
    ("NO_PROXY", ""),
    ("no_proxy", ""),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

impl BuildOutput {
    /// Returns the file in the repo that an annotation of kustomize refers to.
    pub(crate) fn file(&self, annotated: &str) -> Option<Utf8PathBuf> {
        let path = plain(&self.asked_in.join(annotated))?;
        path.strip_prefix(&self.root).ok().map(Utf8Path::to_owned)
    }
}

/// Builds a kustomization of the repo.
pub(crate) fn build(repo: &Files, build: &Build<'_>) -> Result<BuildOutput, BuildError> {
    let needed = needed_paths(repo, build.directory, Some(build.output))?;
    let mut command = command()?;
    let temporary = TempDir::new()?;
    let place = Utf8PathBuf::try_from(temporary.path().canonicalize()?)
        .map_err(FromPathBufError::into_io_error)?;
    // kustomize alone does not write to the repo, so it may read from the disk. Helm would store
    // charts there.
    let root = if repo.are_on_disk() && !build.helm {
        repo.root().canonicalize_utf8()?
    } else {
        let copy = place.join("repo");
        export(repo, &needed, &copy)?;
        copy
    };
    // `originAnnotations` is set in an outer kustomization, so that kustomize reports each object's
    // file.
    let asked_in = place.join("build");
    fs::create_dir(&asked_in)?;
    let way = relative(&asked_in, &root.join(build.directory));
    let around =
        format!("resources:\n- {}\nbuildMetadata: [originAnnotations]\n", listed(way.as_str()));
    fs::write(asked_in.join("kustomization.yaml"), around)?;

    command.arg(&asked_in).args(["--load-restrictor", "LoadRestrictionsRootOnly"]);
    if build.helm {
        command.arg("--enable-helm");
    } else {
        command.envs(NO_NETWORK);
    }
    // Paths of this run would differ in the next run's message.
    let shown = |said: &str| {
        let said = said.replace(way.as_str(), build.directory.as_str());
        let said = said.replace(&format!("{root}/"), "").replace(root.as_str(), ".");
        said.replace(asked_in.as_str(), build.directory.as_str())
    };
    let text = output(&mut command, build.longest, shown)?;
    Ok(BuildOutput { text, root, asked_in })
}

/// Builds a directory of the working tree as it is, the output included. Files outside of a
/// kustomization's directory are refused if `is_restricted` is set.
pub(crate) fn build_in_place(
    repo: &Files,
    directory: &Utf8Path,
    is_restricted: bool,
    longest: Duration,
) -> Result<String, BuildError> {
    needed_paths(repo, directory, None)?;
    let mut command = command()?;
    let root = repo.root().canonicalize_utf8()?;
    let restrictor =
        if is_restricted { "LoadRestrictionsRootOnly" } else { "LoadRestrictionsNone" };
    command.arg(root.join(directory)).args(["--load-restrictor", restrictor]).envs(NO_NETWORK);
    output(&mut command, longest, |said| {
        said.replace(&format!("{root}/"), "").replace(root.as_str(), ".")
    })
}

/// Returns what a build prints. `shown` converts paths in its error.
fn output(
    command: &mut Command,
    longest: Duration,
    shown: impl Fn(&str) -> String,
) -> Result<String, BuildError> {
    let ended = program::run(command, longest).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => BuildError::TimedOut(longest),
        _ => BuildError::Io(error),
    })?;
    if !ended.status.success() {
        let said = shown(&String::from_utf8_lossy(&ended.stderr));
        return Err(BuildError::Failed(program::first_lines(&said)));
    }
    let text = String::from_utf8(ended.stdout);
    Ok(text.map_err(|_| io::Error::other("what kustomize prints is no text"))?)
}

/// Returns the command that builds a kustomization, without its arguments.
fn command() -> Result<Command, BuildError> {
    let named = env::var_os(PROGRAM).filter(|named| !named.is_empty()).map(PathBuf::from);
    let found = || program::find("kustomize").or_else(|| program::find("kubectl"));
    let program = named.or_else(found).ok_or(BuildError::NoProgram)?;
    let is_kubectl = program.file_stem().is_some_and(|name| name == "kubectl");
    let mut command = Command::new(program);
    command.arg(if is_kubectl { "kustomize" } else { "build" });
    Ok(command)
}

/// Returns all files and directories that a build reads, relative to the repo's root. None may be
/// below `output`.
pub(crate) fn needed_paths(
    repo: &Files,
    directory: &Utf8Path,
    output: Option<&Utf8Path>,
) -> Result<BTreeSet<Utf8PathBuf>, BuildError> {
    if kind(repo, directory) != Some(EntryKind::Directory) {
        return Err(BuildError::NoDirectory);
    }
    let mut needed = BTreeSet::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        if !needed.insert(directory.clone()) {
            continue;
        }
        let own = FILE_NAMES
            .map(|name| directory.join(name))
            .into_iter()
            .find_map(|file| Some((repo.plain_text(&file).ok()??, file)));
        let Some((text, file)) = own else {
            // A directory without a kustomization may be a chart's. Only the first must have one.
            if needed.len() == 1 {
                return Err(BuildError::NoKustomization);
            }
            continue;
        };
        // kustomize reports the error of an invalid file.
        let Ok(DecodedKustomization(Ok(kustomization), _)) = yaml::from_str(&text) else {
            continue;
        };
        for entry in paths(&kustomization) {
            let elsewhere =
                || BuildError::Elsewhere { file: file.clone(), entry: entry.to_owned() };
            let path = join(&directory, entry).ok_or_else(elsewhere)?;
            if output.is_some_and(|top| path.starts_with(top)) {
                return Err(BuildError::Output { file, path });
            }
            match kind(repo, &path) {
                Some(EntryKind::Directory) => pending.push(path),
                Some(EntryKind::File) => drop(needed.insert(path)),
                _ => return Err(elsewhere()),
            }
        }
    }
    Ok(needed)
}

/// Returns the type of the entry at a path, but `None` behind a link, because a link may lead out
/// of the repo.
fn kind(repo: &Files, path: &Utf8Path) -> Option<EntryKind> {
    if path.as_str().is_empty() {
        return Some(EntryKind::Directory);
    }
    repo.kind(path).filter(|_| !path.parent().is_some_and(|above| repo.has_link(above)))
}

/// An entry of a list in a kustomization.
pub(crate) struct ListEntry<'k> {
    pub(crate) list: &'static str,
    pub(crate) index: usize,
    pub(crate) text: &'k str,
}

/// Returns the entries of the lists with resources and components.
pub(crate) fn resource_entries(own: &Kustomization) -> impl Iterator<Item = ListEntry<'_>> {
    entries([("resources", &own.resources), ("bases", &own.bases), ("components", &own.components)])
}

/// Returns the entries of lists of texts.
fn entries<'k, const N: usize>(
    lists: [(&'static str, &'k Option<Vec<String>>); N],
) -> impl Iterator<Item = ListEntry<'k>> {
    lists.into_iter().flat_map(|(list, entries)| {
        let entries = entries.iter().flatten().enumerate();
        entries.map(move |(index, text)| ListEntry { list, index, text })
    })
}

/// Returns the entries of other lists that name a file.
pub(crate) fn file_entries(own: &Kustomization) -> Vec<ListEntry<'_>> {
    let paths = entries([
        ("configurations", &own.configurations),
        ("crds", &own.crds),
        ("generators", &own.generators),
        ("patchesStrategicMerge", &own.patches_strategic_merge),
        ("transformers", &own.transformers),
        ("validators", &own.validators),
    ]);
    let mut files: Vec<ListEntry<'_>> = paths.filter(|entry| !is_inline(entry.text)).collect();
    let patches = [("patches", &own.patches), ("patchesJson6902", &own.patches_json6902)];
    for (list, patches) in patches {
        let paths = patches.iter().flatten().map(Patch::path).enumerate();
        files
            .extend(paths.filter_map(|(index, path)| Some(ListEntry { list, index, text: path? })));
    }
    let replacements = own.replacements.iter().flatten().enumerate();
    files.extend(replacements.filter_map(|(index, replacement)| {
        let text = replacement.get("path")?.as_str()?;
        Some(ListEntry { list: "replacements", index, text })
    }));
    files.extend(own.all_generators().flat_map(|(list, index, generator)| {
        generator.paths().map(move |text| ListEntry { list, index, text })
    }));
    files
}

/// Returns the path of the schema of other kinds.
pub(crate) fn schema_path(own: &Kustomization) -> Option<&str> {
    own.openapi.as_ref()?.get("path")?.as_str()
}

/// Returns all paths in a kustomization.
fn paths(own: &Kustomization) -> impl Iterator<Item = &str> {
    let entries = resource_entries(own).chain(file_entries(own)).map(|entry| entry.text);
    entries.chain(schema_path(own)).filter(|path| !is_inline(path))
}

/// Returns the paths in a kustomization that refer to files or directories of the repo.
pub(crate) fn named(directory: &Utf8Path, kustomization: &Kustomization) -> Vec<Utf8PathBuf> {
    paths(kustomization).filter_map(|path| join(directory, path)).collect()
}

/// Resolves a kustomization's path relative to the repo's root.
///
/// Returns `None` for remote paths, inline texts and paths that leave the repo.
pub(crate) fn join(directory: &Utf8Path, path: &str) -> Option<Utf8PathBuf> {
    let is_local = !path.contains("://") && !path.contains('\n') && !path.starts_with('/');
    plain(&directory.join(path)).filter(|_| is_local)
}

/// Copies the files that a build reads to another directory; for a directory, everything below it.
fn export(repo: &Files, needed: &BTreeSet<Utf8PathBuf>, to: &Utf8Path) -> io::Result<()> {
    let mut written = BTreeSet::new();
    for path in needed {
        let below = repo.files_below(path).map_err(io::Error::other)?;
        // `files_below` returns nothing for a file.
        let own = (kind(repo, path) == Some(EntryKind::File)).then(|| path.clone());
        for file in below.into_iter().chain(own).filter(|file| !file.starts_with(".git")) {
            if written.insert(file.clone()) {
                let target = to.join(&file);
                target.parent().map(fs::create_dir_all).transpose()?;
                fs::write(target, repo.read(&file).map_err(io::Error::other)?)?;
            }
        }
    }
    Ok(())
}

/// Removes `.` and `..` from a path; returns `None` if it leads out of its start.
fn plain(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut plain = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => plain.pop().then_some(())?,
            component => plain.push(component),
        }
    }
    Some(plain)
}

/// Returns the relative path from one directory to another. Both must be absolute, or relative to
/// the same directory.
pub(crate) fn relative(from: &Utf8Path, to: &Utf8Path) -> Utf8PathBuf {
    let shared = from.iter().zip(to.iter()).take_while(|(a, b)| a == b).count();
    from.iter().skip(shared).map(|_| "..").chain(to.iter().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_leads_up_as_far_as_needed() {
        for (from, to, way) in [
            (
                "sites/lab/hosts",
                "overlays/hosts/declared/sites",
                "../../../overlays/hosts/declared/sites",
            ),
            ("", "overlays/hosts", "overlays/hosts"),
            ("fleet/a", "fleet/overlays/hosts", "../overlays/hosts"),
        ] {
            assert_eq!(relative(Utf8Path::new(from), Utf8Path::new(to)), way);
        }
    }
}
