//! `sources` in the settings: the files of a repo that are inputs.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::InvalidField;
use super::{Settings, inside_or_root};
use crate::base::api::names::Namespace;
use crate::base::text::is_glob;
use crate::base::text::visible::yaml_text;

/// A source of inputs: either `paths` or a `kustomization`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Source")]
pub struct InputSource {
    /// Globs of files and directories, relative to the repo's root; `*` stays within a directory,
    /// `**` does not. A glob that begins with `!` excludes files, regardless of its position in the
    /// list.
    pub paths: Option<Vec<String>>,
    /// A directory with a kustomization, relative to the repo's root, that sipgen builds with
    /// kustomize.
    #[schemars(with = "Option<String>")]
    pub kustomization: Option<Utf8PathBuf>,
    /// The namespace of objects that neither set one nor get one from a kustomization.
    pub namespace: Option<Namespace>,
    /// Allow kustomize to inflate Helm charts; Helm may use the network for that.
    #[serde(default)]
    pub helm: bool,
    /// Timeout of kustomize in seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u64,
    /// Directory of the site, relative to the repo's root.
    #[serde(skip)]
    directory: Utf8PathBuf,
}

/// Returns the default timeout of kustomize in seconds.
fn default_timeout() -> u64 {
    120
}

impl InputSource {
    /// Returns the compiled globs of `paths`.
    pub(crate) fn globs(&self) -> Option<Globs> {
        let globs =
            self.paths.as_ref().map(|paths| paths.iter().filter_map(|path| glob(path)).collect());
        globs.map(|globs| Globs { globs, directory: self.directory.clone() })
    }

    /// Makes it a source of the site in a directory.
    pub(super) fn place_in(&mut self, directory: &Utf8Path) {
        self.directory = directory.to_owned();
        self.kustomization = self.kustomization.as_ref().map(|own| {
            if own.as_str().is_empty() { directory.to_owned() } else { directory.join(own) }
        });
    }

    /// Returns whether a file may be one of its inputs.
    pub(crate) fn contains(&self, file: &Utf8Path) -> bool {
        match &self.kustomization {
            Some(directory) => file.starts_with(directory),
            None => self.globs().is_none_or(|globs| globs.take(file)),
        }
    }

    /// Returns whether it names something in an unread directory.
    fn leads_into(&self, directory: &Utf8Path) -> bool {
        let overlaps =
            |other: &Utf8Path| other.starts_with(directory) || directory.starts_with(other);
        if let Some(built) = &self.kustomization {
            return overlaps(built);
        }
        let Some(globs) = self.globs() else { return false };
        let may_take = |glob: &Glob| {
            let beginning = glob.plain_beginning();
            !glob.excludes && (overlaps(&beginning) || overlaps(&self.directory.join(&beginning)))
        };
        !globs.exclude(directory) && globs.globs.iter().any(may_take)
    }

    /// Normalizes the source, and returns an invalid field.
    pub(super) fn mistake(&mut self) -> Option<InvalidField> {
        match (&self.paths, &mut self.kustomization) {
            (Some(_), Some(_)) => {
                let problem = "is set beside `paths`";
                Some(InvalidField::new("kustomization", problem, "write them as two sources"))
            }
            (None, None) => {
                let problem = "is missing, and so is `kustomization`";
                Some(InvalidField::new("paths", problem, "write one of them"))
            }
            (Some(paths), None) => {
                let path = paths.iter().find(|path| glob(path).is_none())?;
                let help = "write it relative to the repo's root, as in `sites/**/*.yaml`";
                Some(InvalidField::new("paths", format!("has the invalid glob `{path}`"), help))
            }
            (None, Some(directory)) => {
                // The root is the empty path, but written as `.`.
                let plain = inside_or_root(directory).filter(|_| !directory.as_str().is_empty());
                let Some(plain) = plain else {
                    let problem = format!("`{directory}` is not a directory inside the repo");
                    let help = "write it relative to the repo's root, without `..`";
                    return Some(InvalidField::new("kustomization", problem, help));
                };
                *directory = plain;
                let seconds = self.timeout_seconds;
                (!(1..=3600).contains(&seconds)).then(|| {
                    let help = "write a number of seconds from 1 to 3600";
                    InvalidField::new("timeoutSeconds", format!("must not be {seconds}"), help)
                })
            }
        }
    }
}

impl Settings {
    /// Returns whether `sources` name something in a directory that was not read.
    pub(crate) fn leads_into(&self, directory: &Utf8Path) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|source| source.leads_into(directory))
    }
}

/// The globs of a source, relative to the site's directory or to the repo's root.
pub(crate) struct Globs {
    pub(crate) globs: Vec<Glob>,
    directory: Utf8PathBuf,
}

impl Globs {
    /// Returns whether a file is selected.
    ///
    /// Without including globs, every file is. Files outside the site's directory are selected
    /// unless excluded, because its builds reach them.
    pub(crate) fn take(&self, file: &Utf8Path) -> bool {
        let mut including = self.globs.iter().filter(|glob| !glob.excludes).peekable();
        let is_in = including.peek().is_none()
            || !file.starts_with(&self.directory)
            || including.any(|glob| self.matches(glob, file));
        is_in && !self.exclude(file)
    }

    /// Returns whether a file is excluded.
    pub(crate) fn exclude(&self, file: &Utf8Path) -> bool {
        self.globs.iter().any(|glob| glob.excludes && self.matches(glob, file))
    }

    /// Returns whether it selects a file by a glob that begins with a directory or a name, rather
    /// than by one for the whole repo.
    pub(crate) fn name(&self, file: &Utf8Path) -> bool {
        let names = |glob: &Glob| {
            !glob.excludes
                && !glob.plain_beginning().as_str().is_empty()
                && self.matches(glob, file)
        };
        self.globs.iter().any(names) && self.take(file)
    }

    /// Returns whether a glob matches a file, relative to the site's directory or to the repo's
    /// root.
    pub(crate) fn matches(&self, glob: &Glob, file: &Utf8Path) -> bool {
        glob.matches(file)
            || file.strip_prefix(&self.directory).is_ok_and(|file| glob.matches(file))
    }
}

/// Returns the change to `sources` that excludes files, to paste into `sipgen.yaml`.
pub(crate) fn leave_out(settings: &Settings, files: &[&Utf8Path]) -> String {
    let globs: Vec<String> =
        files.iter().map(|file| format!("!{}", globset::escape(file.as_str()))).collect();
    let them = if files.len() == 1 { "it" } else { "them" };
    let has_any = |source: &InputSource| files.iter().any(|file| source.contains(file));
    format!("to exclude {them}, {}", changed(settings, &globs, has_any))
}

/// Returns the change to `sources` that selects a directory by name, or `files` of the repo's root,
/// to paste into `sipgen.yaml`.
pub(crate) fn include(settings: &Settings, directory: &Utf8Path, files: &[&Utf8Path]) -> String {
    let mut globs: Vec<String> = Vec::new();
    if settings.sources.is_empty() {
        globs.push("**".to_owned());
    }
    if directory.as_str().is_empty() {
        globs.extend(files.iter().map(|file| globset::escape(file.as_str())));
    } else {
        globs.push(format!("{}/**", globset::escape(directory.as_str())));
    }
    changed(settings, &globs, |_| true)
}

/// Returns `sources` with more globs in those that fit.
fn changed(settings: &Settings, globs: &[String], fits: impl Fn(&InputSource) -> bool) -> String {
    let paths = |source: Option<&InputSource>| {
        let own = source.into_iter().flat_map(|source| source.paths.iter().flatten());
        let all: Vec<String> = own.chain(globs).map(|glob| yaml_text(glob)).collect();
        format!("paths: [{}]", all.join(", "))
    };
    let file = super::FILE;
    if settings.sources.is_empty() {
        return format!("write in {file}:\nsources: [{{{}}}]", paths(None));
    }
    let sources = settings.sources.iter().enumerate();
    let fitting = sources.filter(|(_, source)| source.paths.is_some() && fits(source));
    let lines = fitting
        .map(|(index, source)| format!("\n{} # of source {}", paths(Some(source)), index + 1));
    format!("write in `sources` of {file}:{}", lines.collect::<String>())
}

/// A compiled glob of a source.
pub(crate) struct Glob {
    matcher: globset::GlobMatcher,
    /// Set if it begins with `!`.
    pub(crate) excludes: bool,
}

impl Glob {
    /// Returns its leading directories without wildcards.
    fn plain_beginning(&self) -> Utf8PathBuf {
        let pattern = self.matcher.glob().glob();
        pattern.split('/').take_while(|part| !is_glob(part)).collect()
    }

    /// Returns whether it matches a file or one of its parent directories.
    pub(super) fn matches(&self, file: &Utf8Path) -> bool {
        let mut around = file.ancestors().filter(|path| !path.as_str().is_empty());
        around.any(|path| self.matcher.is_match(path))
    }
}

/// Compiles a glob of a source.
pub(super) fn glob(text: &str) -> Option<Glob> {
    let (excludes, pattern) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
    if pattern.is_empty() || pattern.starts_with('/') || pattern.split('/').any(|part| part == "..")
    {
        return None;
    }
    let glob = globset::GlobBuilder::new(pattern).literal_separator(true).build().ok()?;
    Some(Glob { matcher: glob.compile_matcher(), excludes })
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
