//! The files and directories that a kustomization lists, by the rules of kustomize's loader.

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use super::{BuildEvaluation, BuildObjects, BuildResult, FailureAt, StepResult, refuse};
use crate::base::api::kustomization::{FILE_NAMES, is_inline};
use crate::base::layout::outputs::SITE;
use crate::base::layout::{
    AGENTS, CLUSTERS, CRDS, SHARED, TENANTS, all_observed, declared_directory,
};
use crate::base::text::credentials::masked_value;
use crate::base::text::{static_regex, yaml};
use crate::input::kustomize::{BuildNode, join};
use crate::input::load::EntryKind;

/// The target of an entry.
pub(super) enum ListedTarget {
    Kustomization(Utf8PathBuf),
    File(Utf8PathBuf),
    /// It is not in the repo, is behind a symbolic link, or is the output.
    Unknown,
}

/// The version of Kubernetes' OpenAPI schema that kustomize 5.8 has.
const SCHEMA: &str = "v1.21.2";

impl BuildEvaluation<'_> {
    /// Returns the target of an entry of a kustomization.
    pub(super) fn listed(&self, node: &BuildNode, entry: &str) -> StepResult<ListedTarget> {
        let Some(path) = join(&node.directory, entry).filter(|_| !entry.is_empty()) else {
            return match entry {
                "" => refuse("an entry is empty"),
                _ if entry.contains('\n') => refuse("an entry is a manifest, and must be a path"),
                _ => Ok(ListedTarget::Unknown),
            };
        };
        if self.builds.nodes.contains_key(&path) {
            return Ok(ListedTarget::Kustomization(path));
        }
        let is_read = self.read.contains_key(&path);
        if self.may_be_written(&path) || !is_read && self.repo.has_link(&path) {
            return Ok(ListedTarget::Unknown);
        }
        let mut files = FILE_NAMES.iter().map(|name| path.join(name));
        let kind = if is_read { Some(EntryKind::File) } else { self.repo.kind(&path) };
        let shown = || masked_value(entry);
        let why = match kind {
            Some(EntryKind::File)
                if self.wanted.is_restricted && !path.starts_with(&node.directory) =>
            {
                format!(
                    "`{}` is outside of the kustomization's directory, from where kustomize \
                     reads directories only",
                    shown()
                )
            }
            Some(EntryKind::File) => return Ok(ListedTarget::File(path)),
            Some(EntryKind::Directory) => match files.find(|file| self.repo.kind(file).is_some()) {
                None => format!("the directory `{}` has no kustomization.yaml", shown()),
                Some(file) if self.is_empty(&file) => format!("`{file}` is empty"),
                Some(file) => format!("`{file}` cannot be read, or git ignores it"),
            },
            None if !is_remote(entry) => format!("`{}` does not exist", shown()),
            Some(_) | None => return Ok(ListedTarget::Unknown),
        };
        refuse(why)
    }

    /// Returns whether a file has nothing but comments.
    fn is_empty(&self, file: &Utf8Path) -> bool {
        let text = self.repo.text(file);
        text.is_some_and(|text| yaml::from_str(&text).is_ok_and(|value: Value| value.is_null()))
    }

    /// Returns whether an entry is a path in the repo where nothing is or will be written.
    pub(super) fn is_missing(&self, node: &BuildNode, entry: &str) -> bool {
        let path = join(&node.directory, entry).filter(|path| !self.may_be_written(path));
        path.is_some_and(|path| self.repo.kind(&path).is_none())
    }

    /// Returns the path of an entry that leads to the output.
    pub(super) fn in_output(&self, node: &BuildNode, entry: &str) -> Option<Utf8PathBuf> {
        join(&node.directory, entry).filter(|path| self.may_be_written(path))
    }

    /// Returns whether sipgen may write to a path. Overlays and components of hosts are named after
    /// kustomizations.
    fn may_be_written(&self, path: &Utf8Path) -> bool {
        let Some(Ok(path)) = self.wanted.output.map(|output| path.strip_prefix(output)) else {
            return false;
        };
        let root = path.strip_prefix(declared_directory("".into())).ok();
        let node = root.and_then(|root| self.builds.nodes.get(root));
        let directories = [CLUSTERS, TENANTS, SHARED, CRDS, AGENTS, SITE];
        directories.iter().any(|directory| path.starts_with(directory))
            || path.starts_with(all_observed())
            || node.is_some_and(|node| !node.is_component())
    }

    /// Returns the path of a file that a kustomization reads; `None` if it is not in the repo.
    fn file(&self, node: &BuildNode, entry: &str) -> StepResult<Option<Utf8PathBuf>> {
        match self.listed(node, entry)? {
            ListedTarget::File(path) => Ok(Some(path)),
            ListedTarget::Kustomization(path) => {
                refuse(format!("`{path}` is a directory, and must be a file"))
            }
            ListedTarget::Unknown => Ok(None),
        }
    }

    /// Returns the text of a file that a kustomization reads; `None` if it is unknown.
    pub(super) fn text_of(&self, node: &BuildNode, entry: &str) -> StepResult<Option<String>> {
        let Some(path) = self.file(node, entry)? else { return Ok(None) };
        let Some(text) = self.repo.text(&path) else {
            return refuse(format!("`{path}` is not UTF-8"));
        };
        self.budget.allocate(text.len())?;
        Ok(Some(text))
    }

    /// Returns the content of a file that a kustomization reads; `None` if it is unknown.
    pub(super) fn bytes_of(&self, node: &BuildNode, entry: &str) -> StepResult<Option<Vec<u8>>> {
        let content = self.file(node, entry)?.and_then(|path| self.repo.read(&path).ok());
        self.budget.allocate(content.as_ref().map_or(0, Vec::len))?;
        Ok(content)
    }

    /// Refuses missing files among those that the evaluation has no use for.
    pub(super) fn check_files(&self, node: &BuildNode, objects: &BuildObjects) -> BuildResult {
        let own = &node.kustomization;
        for (place, entry) in node.listed_in("crds", &own.crds) {
            if self.text_of(node, entry).at(&place)?.is_some_and(|text| text.is_empty()) {
                return refuse(format!("`{}` is empty", masked_value(entry))).at(&place);
            }
        }
        let plugins = node
            .listed_in("generators", &own.generators)
            .chain(node.listed_in("transformers", &own.transformers))
            .chain(node.listed_in("validators", &own.validators));
        for (place, entry) in plugins.filter(|(_, entry)| !is_inline(entry)) {
            self.listed(node, entry).at(&place)?;
        }
        let openapi = own.openapi.iter().flatten();
        for (key, value) in openapi.filter_map(|(key, value)| Some((key, value.as_str()?))) {
            let place = node.origin.at(["openapi", key]);
            match key.as_str() {
                "path" => self.text_of(node, value).map(|_| ()),
                "version" if value != SCHEMA && !value.is_empty() => {
                    self.leave_to_kustomize(objects, format!("unknown OpenAPI version `{value}`"))
                }
                _ => Ok(()),
            }
            .at(&place)?;
        }
        Ok(())
    }
}

/// Returns whether kustomize takes an entry that is no path for the URL of a git repo.
pub(crate) fn is_remote(entry: &str) -> bool {
    let remote = static_regex!(r"^(?i-u:git::)?(?i-u:[a-z][a-z0-9-]*@|github\.com[/:])|://");
    remote.is_match(entry)
}
