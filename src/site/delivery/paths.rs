//! Paths and globs of agents' sources.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use globset::{Glob, GlobBuilder, GlobMatcher};

use crate::base::api::gitops::{DirectorySource, GitDirectory};
use crate::base::text::non_empty;

/// File that excludes paths of a repo from Flux's sources.
pub(super) const IGNORE_FILE: &str = ".sourceignore";

/// The patterns of an [`IGNORE_FILE`], as Flux reads them.
#[derive(Default)]
pub(super) struct SourcePatterns(Vec<SourcePattern>);

/// A pattern. Other than in git, what is in an excluded directory can be kept, and `**` at the end
/// matches nothing by itself.
struct SourcePattern {
    keeps: bool,
    /// Set if it matches no file, but files below a directory.
    is_of_directories: bool,
    /// Set if it has one name, which matches at any depth.
    is_name: bool,
    names: Vec<SourceNamePattern>,
}

/// The part of a pattern between slashes.
enum SourceNamePattern {
    Empty,
    AnyDirectories,
    Glob(GlobMatcher),
    /// It matches nothing.
    Invalid,
}

impl SourcePatterns {
    /// Compiles patterns.
    pub(super) fn new(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        Self(lines.map(SourcePattern::new).collect())
    }

    /// Returns whether they exclude a file; `None` if none matches. The last one that matches decides.
    pub(super) fn excludes(&self, file: &Utf8Path) -> Option<bool> {
        let path: Vec<&str> = file.components().map(|part| part.as_str()).collect();
        let pattern = self.0.iter().rev().find(|pattern| pattern.matches(&path))?;
        Some(!pattern.keeps)
    }
}

impl SourcePattern {
    fn new(line: &str) -> Self {
        let kept = line.strip_prefix('!');
        let text = kept.unwrap_or(line);
        let text = if text.ends_with("\\ ") { text } else { text.trim_end_matches(' ') };
        let directories = text.strip_suffix('/');
        let text = directories.unwrap_or(text);
        let is_name = !text.contains('/');
        let name = |name: &str| match name {
            "" => SourceNamePattern::Empty,
            "**" if !is_name => SourceNamePattern::AnyDirectories,
            _ if name.contains("**") && !is_name => SourceNamePattern::Invalid,
            _ => Glob::new(&go_glob(name)).map_or(SourceNamePattern::Invalid, |glob| {
                SourceNamePattern::Glob(glob.compile_matcher())
            }),
        };
        Self {
            keeps: kept.is_some(),
            is_of_directories: directories.is_some(),
            is_name,
            names: text.split('/').map(name).collect(),
        }
    }

    fn matches(&self, path: &[&str]) -> bool {
        if let ([SourceNamePattern::Glob(glob)], true) = (&self.names[..], self.is_name) {
            let at = path.iter().position(|name| glob.is_match(name));
            return at.is_some_and(|at| !self.is_of_directories || at + 1 < path.len());
        }
        let (mut rest, mut matched, mut is_any) = (path, false, false);
        for (index, name) in self.names.iter().enumerate() {
            let glob = match name {
                SourceNamePattern::Empty => {
                    is_any = false;
                    continue;
                }
                SourceNamePattern::AnyDirectories if index + 1 == self.names.len() => break,
                SourceNamePattern::AnyDirectories => {
                    is_any = true;
                    continue;
                }
                SourceNamePattern::Glob(glob) => glob,
                SourceNamePattern::Invalid => return false,
            };
            let at = rest.iter().position(|name| glob.is_match(name));
            let at = at.filter(|at| is_any || *at == 0);
            if rest.is_empty() || at.is_none() && !is_any {
                return false;
            }
            is_any = false;
            matched = at.is_some();
            rest = at.map_or(&[], |at| &rest[at + 1..]);
        }
        matched && !(self.is_of_directories && rest.is_empty())
    }
}

/// Returns a glob that matches as in Go: as it is written, without alternatives, `**` or a negation by
/// `!`.
fn go_glob(glob: &str) -> String {
    // `!` is a character of the set, but hardly one of a directory's name.
    let glob = glob.replace("**", "*").replace("[!", "[");
    glob.replace('{', "\\{").replace('}', "\\}")
}

/// Returns the directories that globs match like Go's `path.Match`.
pub(super) fn matching_directories<'d>(
    directories: &'d [Utf8PathBuf],
    globs: &[GitDirectory],
) -> Vec<&'d Utf8PathBuf> {
    let matches = path_matcher(globs, false, go_glob);
    directories.iter().filter(|directory| matches(directory)).collect()
}

/// Returns whether globs of a generator match a path of the source. For directories, no wildcard but
/// `**` matches a slash. For files, every wildcard does, as in git's pathspecs. An invalid glob matches
/// nothing.
pub(super) fn path_matcher(
    globs: &[GitDirectory],
    is_of_files: bool,
    read: impl Fn(&str) -> String,
) -> impl Fn(&Utf8Path) -> bool {
    let matcher = |glob: &GitDirectory| {
        let text = read(&glob.path);
        let built = GlobBuilder::new(&text).literal_separator(!is_of_files).build();
        Some((glob.exclude, built.ok()?.compile_matcher()))
    };
    let matchers: Vec<(bool, GlobMatcher)> = globs.iter().filter_map(matcher).collect();
    move |path| {
        let matches =
            |exclude| matchers.iter().any(|(has, glob)| *has == exclude && glob.is_match(path));
        matches(false) && !matches(true)
    }
}

/// Returns whether Argo CD reads a file. The path is relative to the source's directory.
pub(crate) fn source_contains(source: &DirectorySource, file: &Utf8Path) -> bool {
    let matches = |glob: &str| {
        // An invalid glob matches nothing, so an invalid `exclude` excludes nothing.
        let glob = GlobBuilder::new(glob).build();
        glob.is_ok_and(|glob| glob.compile_matcher().is_match(file.as_str()))
    };
    let is_below = file.parent().is_some_and(|parent| !parent.as_str().is_empty());
    let (include, exclude) = (non_empty(&source.include), non_empty(&source.exclude));
    (source.recurse || !is_below) && include.is_none_or(matches) && !exclude.is_some_and(matches)
}

/// Returns a path of a Flux source without `..`. As in Flux, `..` at the source's root stays there.
pub(super) fn within_source(path: &str) -> Utf8PathBuf {
    without_dots(path).0
}

/// Returns a path without `..`, and whether it leads above its root on the way.
fn without_dots(path: &str) -> (Utf8PathBuf, bool) {
    let (mut plain, mut leaves) = (Utf8PathBuf::new(), false);
    for component in Utf8Path::new(path).components() {
        match component {
            Utf8Component::Normal(name) => plain.push(name),
            Utf8Component::ParentDir => leaves |= !plain.pop(),
            Utf8Component::CurDir | Utf8Component::RootDir | Utf8Component::Prefix(_) => {}
        }
    }
    (plain, leaves)
}

/// Converts a path in an agent's source to a path in the repo, which is at `prefix` in the source.
///
/// For a path above the repo, the second value is the way from it to the repo's root. Returns
/// `None` for any other path.
pub(crate) fn in_repo(path: &str, prefix: &Utf8Path) -> Option<(Utf8PathBuf, Utf8PathBuf)> {
    let (plain, leaves) = without_dots(path);
    if leaves {
        return None;
    }
    match plain.strip_prefix(prefix) {
        Ok(directory) => Some((directory.to_owned(), Utf8PathBuf::new())),
        Err(_) => {
            prefix.strip_prefix(&plain).ok().map(|above| (Utf8PathBuf::new(), above.to_owned()))
        }
    }
}

pub(super) fn plain_path(path: &str) -> String {
    path.trim_start_matches("./").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_of_the_repo_however_it_is_written() {
        for (path, prefix, directory) in [
            ("./sites/lab/", "", Some("sites/lab")),
            ("/sites/lab", "", Some("sites/lab")),
            ("sites/../infra/./hosts", "", Some("infra/hosts")),
            ("", "", Some("")),
            ("./", "", Some("")),
            ("fleet/sites", "fleet", Some("sites")),
            ("fleet", "fleet", Some("")),
            ("other/sites", "fleet", None),
            ("../x", "", None),
        ] {
            let found = in_repo(path, prefix.into());
            assert_eq!(found, directory.map(|directory| (directory.into(), "".into())), "{path}");
        }
        for (path, above) in [("./", "fleet/base"), ("fleet", "base"), ("", "fleet/base")] {
            assert_eq!(
                in_repo(path, "fleet/base".into()),
                Some(("".into(), above.into())),
                "{path}"
            );
        }
    }

    #[test]
    fn a_path_of_flux_never_leaves_its_source() {
        for (path, plain) in [
            ("../inv", "inv"),
            ("/../inv", "inv"),
            ("./a/../../b/./c/", "b/c"),
            ("a/b", "a/b"),
            ("..", ""),
        ] {
            assert_eq!(within_source(path), plain, "{path}");
        }
    }

    #[test]
    fn a_glob_of_directories_is_one_of_go() {
        for (glob, directory, matches) in [
            ("sites/*", "sites/lab", true),
            ("sites/*", "sites/lab/hosts", false),
            ("sites/**", "sites/lab/hosts", false),
            ("./sites/*", "sites/lab", false),
            ("sites/*/", "sites/lab", false),
            ("*", "sites", true),
            ("sites/l[ao]b", "sites/lab", true),
            ("sites/[!l]ab", "sites/lab", true),
            ("sites/[!l]ab", "sites/tab", false),
            ("sites/[^l]ab", "sites/tab", true),
            ("sites/{lab,dc}", "sites/lab", false),
        ] {
            let globs = [GitDirectory { path: glob.to_owned(), exclude: false }];
            let directories = [directory.into()];
            let matching = matching_directories(&directories, &globs);
            assert_eq!(!matching.is_empty(), matches, "{glob} {directory}");
        }
    }

    /// The results are those of fluxcd/pkg/sourceignore.
    #[test]
    fn patterns_of_a_source_exclude_what_flux_excludes() {
        for (patterns, excluded) in [
            ("hosts.yaml", true),
            ("hosts.yaml\n!/**", true),
            ("hosts.yaml\n!*", false),
            ("*\n!/metal", false),
            ("*\n!metal/", false),
            ("metal/*/**", true),
            ("/metal/**/", true),
            ("metal//hosts.yaml", true),
            ("/**\n!/clusters/**", false),
            ("/metal/*\n!/metal", false),
            ("/metal/*.yaml\n!/metal/", false),
            ("/metal/", true),
            ("hosts.yaml/", false),
            ("**/hosts.yaml", true),
            ("/metal/**/hosts.yaml", true),
            ("/metal/**/other/hosts.yaml", false),
            ("/m**/hosts.yaml", false),
            ("m**", true),
            ("[!m]etal", true),
            ("{metal,x}", false),
            ("# metal", false),
            ("metal  ", true),
            ("/hosts.yaml", false),
        ] {
            let found = SourcePatterns::new(patterns).excludes("metal/hosts.yaml".into());
            assert_eq!(found == Some(true), excluded, "{patterns:?}");
        }
    }

    #[test]
    fn a_directory_is_read_as_its_options_say() {
        let source = |recurse, include: &str, exclude: &str| DirectorySource {
            recurse,
            include: Some(include.to_owned()),
            exclude: Some(exclude.to_owned()),
        };
        for (source, file, takes_it) in [
            (source(false, "", ""), "hosts.yaml", true),
            (source(false, "", ""), "lab/hosts.yaml", false),
            (source(true, "", ""), "lab/hosts.yaml", true),
            (source(true, "*.yml", ""), "lab/hosts.yaml", false),
            (source(true, "{*.yml,*.yaml}", ""), "lab/hosts.yaml", true),
            (source(true, "", "lab/*"), "lab/hosts.yaml", false),
        ] {
            assert_eq!(source_contains(&source, file.into()), takes_it, "{source:?} {file}");
        }
    }
}
