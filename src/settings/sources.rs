//! `sources:` of the settings: where in a repo the inputs are.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Settings, inside};
use crate::api::names::Namespace;

/// A place of inputs: either `paths` or a `kustomization`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// Globs of files and directories, relative to the repo's root; `*` stays within a directory, `**` does not. One
    /// that begins with `!` takes files out again, whichever place it has in the list.
    #[serde(default)]
    pub paths: Option<Vec<String>>,
    /// A directory with a kustomization, relative to the repo's root, that the real kustomize builds.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub kustomization: Option<Utf8PathBuf>,
    /// The namespace of objects that neither say one nor get one from a kustomization.
    #[serde(default)]
    pub namespace: Option<Namespace>,
    /// Whether kustomize may inflate Helm charts, for which Helm may use the network.
    #[serde(default)]
    pub helm: bool,
    /// How many seconds kustomize may take.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u64,
    /// The directory of the site that it is of, from the repo's root.
    #[serde(skip)]
    directory: Utf8PathBuf,
}

/// What is done with what is encrypted with SOPS.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sops {
    /// Whether the `sops` of the machine decrypts network data that a host needs.
    #[serde(default)]
    pub decrypt: bool,
}

/// How many seconds kustomize may take where nothing is said.
const TIMEOUT: u64 = 120;

fn default_timeout() -> u64 {
    TIMEOUT
}

/// What is wrong with a source: its field, what it is, and what to do.
pub(super) type Wrong = (&'static str, String, &'static str);

impl Source {
    /// The globs of its `paths`, if it has some.
    pub(crate) fn globs(&self) -> Option<Globs> {
        let globs = self
            .paths
            .as_ref()
            .map(|paths| paths.iter().filter_map(|path| glob(path)).collect());
        globs.map(|globs| Globs {
            globs,
            directory: self.directory.clone(),
        })
    }

    /// Makes it one of a site in a directory.
    pub(super) fn place_in(&mut self, directory: &Utf8Path) {
        self.directory = directory.to_owned();
        self.kustomization = self.kustomization.as_ref().map(|own| {
            if own.as_str().is_empty() {
                directory.to_owned()
            } else {
                directory.join(own)
            }
        });
    }

    /// Returns whether a file may be one of its inputs.
    pub(crate) fn takes(&self, file: &Utf8Path) -> bool {
        match &self.kustomization {
            Some(directory) => file.starts_with(directory),
            None => self.globs().is_none_or(|globs| globs.take(file)),
        }
    }

    /// Returns whether a directory of which nothing is known may have one of its inputs.
    fn may_have_inputs_in(&self, directory: &Utf8Path) -> bool {
        let overlaps =
            |other: &Utf8Path| other.starts_with(directory) || directory.starts_with(other);
        if let Some(built) = &self.kustomization {
            return overlaps(built);
        }
        let Some(globs) = self.globs() else {
            return true;
        };
        let (excluding, including): (Vec<&Glob>, Vec<&Glob>) =
            globs.globs.iter().partition(|glob| glob.excludes);
        let may_take = |glob: &&Glob| {
            let beginning = glob.plain_beginning();
            overlaps(&beginning) || overlaps(&self.directory.join(&beginning))
        };
        !excluding.iter().any(|glob| globs.matches(glob, directory))
            && (including.is_empty() || including.iter().any(may_take))
    }

    /// Brings a source into its plainest form, and says what is wrong with it.
    pub(super) fn check(&mut self) -> Result<(), Wrong> {
        match (&self.paths, &mut self.kustomization) {
            (Some(_), Some(_)) => {
                let message = "has both `paths` and a `kustomization`".to_owned();
                Err(("kustomization", message, "write them as two sources"))
            }
            (None, None) => Err((
                "",
                "has neither `paths` nor a `kustomization`".to_owned(),
                "write one of them",
            )),
            (Some(paths), None) => match paths.iter().find(|path| glob(path).is_none()) {
                Some(path) => {
                    let help = "write it relative to the repo's root, as in `sites/**/*.yaml`";
                    Err((
                        "paths",
                        format!("has the glob `{path}`, which is none"),
                        help,
                    ))
                }
                None => Ok(()),
            },
            (None, Some(directory)) => {
                let wrong = |directory: &Utf8Path| {
                    let message = format!(
                        "has `kustomization: {directory}`, which is no directory inside the repo"
                    );
                    (
                        "kustomization",
                        message,
                        "write it relative to the repo's root, without `..`",
                    )
                };
                *directory = below_root(directory).ok_or_else(|| wrong(directory))?;
                match self.timeout_seconds {
                    1..=3600 => Ok(()),
                    seconds => {
                        let message =
                            format!("has `timeoutSeconds: {seconds}`, which is not from 1 to 3600");
                        Err(("timeoutSeconds", message, "write a number of seconds"))
                    }
                }
            }
        }
    }
}

impl Settings {
    /// Returns whether a directory of which nothing is known may have an input, as far as `sources` say.
    pub(crate) fn may_have_inputs_in(&self, directory: &Utf8Path) -> bool {
        self.sources.is_empty()
            || self
                .sources
                .iter()
                .any(|source| source.may_have_inputs_in(directory))
    }
}

/// The globs of a source: relative to the site's directory, or to the repo's root.
pub(crate) struct Globs {
    pub(crate) globs: Vec<Glob>,
    directory: Utf8PathBuf,
}

impl Globs {
    /// Returns whether a file is among those that they name. Without one that includes, all are; outside of the site's
    /// directory, all that its builds reach.
    pub(crate) fn take(&self, file: &Utf8Path) -> bool {
        let (excluding, including): (Vec<&Glob>, Vec<&Glob>) =
            self.globs.iter().partition(|glob| glob.excludes);
        let is_in = including.is_empty()
            || !file.starts_with(&self.directory)
            || including.iter().any(|glob| self.matches(glob, file));
        is_in && !excluding.iter().any(|glob| self.matches(glob, file))
    }

    /// Returns whether one of them matches a file, by its path from the site's directory or from the repo's root.
    pub(crate) fn matches(&self, glob: &Glob, file: &Utf8Path) -> bool {
        glob.matches(file)
            || file
                .strip_prefix(&self.directory)
                .is_ok_and(|file| glob.matches(file))
    }
}

/// Returns the change to `sources` that leaves files out, to be pasted into `sipgen.yaml`.
pub(crate) fn leave_out(settings: &Settings, files: &[&Utf8Path]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let globs: Vec<String> = files
        .iter()
        .map(|file| quoted(&format!("!{}", globset::escape(file.as_str()))))
        .collect();
    let to_add = |source: &Source| {
        let paths = source.paths.iter().flatten().map(|path| quoted(path));
        let paths: Vec<String> = paths.chain(globs.iter().cloned()).collect();
        format!("paths: [{}]", paths.join(", "))
    };
    let them = if files.len() == 1 { "it" } else { "them" };
    if settings.sources.is_empty() {
        return format!(
            "to leave {them} out, write in {}:\nsources: [{{paths: [{}]}}]",
            super::FILE,
            globs.join(", ")
        );
    }
    let taking = settings
        .sources
        .iter()
        .enumerate()
        .filter(|(_, source)| source.paths.is_some());
    let taking = taking.filter(|(_, source)| files.iter().any(|file| source.takes(file)));
    let lines =
        taking.map(|(index, source)| format!("\n{} # of source {}", to_add(source), index + 1));
    format!(
        "to leave {them} out, write in `sources` of {}:{}",
        super::FILE,
        lines.collect::<String>()
    )
}

/// A directory of the repo in its plainest form; empty for the root.
fn below_root(directory: &Utf8Path) -> Option<Utf8PathBuf> {
    let is_root = directory
        .components()
        .all(|component| component == Utf8Component::CurDir);
    if is_root && !directory.as_str().is_empty() {
        Some(Utf8PathBuf::new())
    } else {
        inside(directory)
    }
}

/// What a glob of a source matches.
pub(crate) struct Glob {
    matcher: globset::GlobMatcher,
    /// Whether it takes files out.
    pub(crate) excludes: bool,
}

impl Glob {
    /// Returns the directories at its beginning that have no wildcard.
    fn plain_beginning(&self) -> Utf8PathBuf {
        let pattern = self.matcher.glob().glob();
        pattern
            .split('/')
            .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
            .collect()
    }

    /// Whether it matches a file, or a directory around it.
    pub(super) fn matches(&self, file: &Utf8Path) -> bool {
        let mut around = file.ancestors().filter(|path| !path.as_str().is_empty());
        around.any(|path| self.matcher.is_match(path))
    }
}

/// Reads a glob of a source.
pub(super) fn glob(text: &str) -> Option<Glob> {
    let (excludes, pattern) = text
        .strip_prefix('!')
        .map_or((false, text), |rest| (true, rest));
    let pattern = pattern
        .strip_prefix("./")
        .unwrap_or(pattern)
        .trim_end_matches('/');
    if pattern.is_empty() || pattern.starts_with('/') || pattern.split('/').any(|part| part == "..")
    {
        return None;
    }
    let glob = globset::GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .ok()?;
    Some(Glob {
        matcher: glob.compile_matcher(),
        excludes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_files_and_all_below_directories() {
        for (pattern, file, expected) in [
            ("sites/**/*.yaml", "sites/lab/hosts/a.yaml", true),
            ("sites/**/*.yaml", "sites/a.yaml", true),
            ("sites/*.yaml", "sites/lab/a.yaml", false),
            ("sites/lab", "sites/lab/hosts/a.yaml", true),
            ("sites/lab/", "sites/lab/hosts/a.yaml", true),
            ("./sites/*", "sites/lab/hosts/a.yaml", true),
            ("sites/lab", "sites/lab2/a.yaml", false),
            ("!sites/old/**", "sites/old/a.yaml", true),
        ] {
            assert_eq!(
                glob(pattern).unwrap().matches(Utf8Path::new(file)),
                expected,
                "{pattern} {file}"
            );
        }
        for bad in ["", "!", "/etc/*", "../x", "a/../b", "a[", "{a"] {
            assert!(glob(bad).is_none(), "{bad}");
        }
    }
}
