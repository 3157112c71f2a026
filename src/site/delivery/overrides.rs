//! Files beside manifests that override options of an Argo CD source.

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use crate::base::api::gitops::ApplicationSource;
use crate::base::text::yaml;
use crate::input::load::Files;

/// A source with the options of files in its directory.
pub(super) struct OverriddenSource {
    pub(super) source: ApplicationSource,
    /// The file whose options win.
    pub(super) file: Utf8PathBuf,
}

impl OverriddenSource {
    /// Merges files in a directory into a source of an Application, as Argo CD does before it
    /// builds. Returns `None` without such files.
    pub(super) fn read(
        files: &Files,
        directory: &Utf8Path,
        application: &str,
        source: &ApplicationSource,
    ) -> Option<Self> {
        let names =
            [".argocd-source.yaml".to_owned(), format!(".argocd-source-{application}.yaml")];
        let names = names.into_iter().filter(|name| !name.contains('/'));
        let overrides = names.filter_map(|name| {
            let file = directory.join(name);
            let fields = yaml::parse(&files.text(&file)?)?;
            Some((file, fields))
        });
        let overrides: Vec<(Utf8PathBuf, Value)> = overrides.collect();
        let file = overrides.last()?.0.clone();
        let mut merged = yaml_serde::to_value(source).ok()?;
        for (_, fields) in overrides {
            merge(&mut merged, fields);
        }
        let merged: ApplicationSource = yaml_serde::from_value(merged).ok()?;
        let ApplicationSource { repo_url, target_revision, path, .. } = source.clone();
        let source = ApplicationSource { repo_url, target_revision, path, ..merged };
        Some(Self { source, file })
    }
}

/// Applies a JSON merge patch (RFC 7396).
fn merge(target: &mut Value, patch: Value) {
    let Value::Mapping(fields) = patch else {
        *target = patch;
        return;
    };
    let mut merged = target.as_mapping_mut().map(std::mem::take).unwrap_or_default();
    for (key, value) in fields {
        if value.is_null() {
            merged.remove(&key);
        } else {
            merge(merged.entry(key).or_insert(Value::Null), value);
        }
    }
    *target = Value::Mapping(merged);
}
