//! The settings files of a site: its own, and the one at the repo's root with the settings of all
//! sites.

use std::sync::Arc;

use camino::Utf8Path;
use yaml_serde::{Mapping, Value};

use super::release::ReleasedVersion;
use super::{FILE, Settings, with_key, without_types};
use crate::base::finding::{Code, Finding, Origin, Place, RouteStep};
use crate::base::text::yaml::{self, bounded};
use crate::input::load::{Files, ParseError};

/// Help for unreadable settings.
const HELP: &str =
    "fix the file, or remove it; without settings sipgen would write to other directories";
/// The setting that only the root's file may have.
const SITES: &str = "sites";
/// The setting that is read before all others.
const MINIMUM_VERSION: &str = "minimumVersion";

/// The settings files with their top-level keys, the site's own file first.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsFiles {
    files: Vec<(Origin, Mapping)>,
    /// Set if the root's `sites` list the site.
    pub(super) is_listed: bool,
}

impl SettingsFiles {
    /// Reads the settings files of a repo or of a site in it. Without any, all settings have their
    /// defaults.
    pub(super) fn read(repo: &Files) -> Result<(Settings, Self), Finding> {
        let directory = repo.site_directory();
        let is_site = !directory.as_str().is_empty();
        let own = read(repo, &directory.join(FILE))?;
        let shared = if is_site { read(repo, Utf8Path::new(FILE))? } else { None };
        if let Some((settings, origin, _)) =
            own.as_ref().filter(|(settings, ..)| is_site && !settings.sites.is_empty())
        {
            let sites = settings.sites.join(", ");
            let message = format!("`{directory}` is a site, but has its own `{SITES}`: {sites}");
            let help = format!("list all sites in the {FILE} at the repo's root");
            let finding = Finding::new(Code::InvalidSetting, message).at(origin.at([SITES]));
            return Err(finding.help(help));
        }
        let is_listed = shared.as_ref().is_some_and(|(settings, ..)| !settings.sites.is_empty());
        let (settings, files) = match (own, shared) {
            (None, None) => (Settings::default(), Vec::new()),
            (Some((settings, origin, keys)), None) => (settings, vec![(origin, keys)]),
            (None, Some((settings, origin, keys))) => {
                (Settings { sites: Vec::new(), ..settings }, vec![(origin, keys)])
            }
            (Some((_, own, own_keys)), Some((_, shared, mut shared_keys))) => {
                shared_keys.remove(SITES);
                let mut both = shared_keys.clone();
                // Top-level keys of the site replace those of the root as a whole.
                both.extend(own_keys.clone());
                // Both files were valid alone, so an error is not expected.
                let settings = yaml_serde::from_value(Value::Mapping(both))
                    .map_err(|error| unreadable(&own.file, &error.to_string()))?;
                (settings, vec![(own, own_keys), (shared, shared_keys)])
            }
        };
        Ok((settings, Self { files, is_listed }))
    }

    /// Returns the site's own file, or the root's if the site has none.
    pub(super) fn own(&self) -> &Utf8Path {
        self.files.first().map_or(Utf8Path::new(FILE), |(origin, _)| &origin.file)
    }

    fn origin(&self, key: &str) -> Option<&(Origin, Mapping)> {
        self.files.iter().find(|(_, keys)| keys.contains_key(key)).or(self.files.first())
    }

    /// Returns whether a setting of a site comes from the root's file.
    pub(super) fn is_shared(&self, key: &str) -> bool {
        self.origin(key)
            .is_some_and(|(origin, keys)| *origin.file == *FILE && keys.contains_key(key))
    }

    pub(super) fn has_key(&self, key: &str) -> bool {
        self.files.iter().any(|(_, keys)| keys.contains_key(key))
    }

    /// Returns whether a key of a group is set.
    pub(super) fn has(&self, group: &str, key: &str) -> bool {
        self.origin(group)
            .is_some_and(|(_, keys)| keys.get(group).is_some_and(|group| group.get(key).is_some()))
    }

    /// Returns the place of a setting by its route.
    pub(super) fn place(&self, route: Vec<RouteStep>) -> Place {
        let key = route.first().and_then(RouteStep::key).unwrap_or_default();
        let none = || Place::File(Arc::from(Utf8Path::new(FILE)));
        self.origin(key).map_or_else(none, |(origin, _)| origin.at(route))
    }

    /// Returns the place of a setting by its dotted name.
    pub(super) fn setting(&self, name: &str) -> Place {
        self.place(name.split('.').map(RouteStep::from).collect())
    }

    /// Returns the place of a setting's key, for values that must not be shown.
    pub(super) fn key(&self, group: &str, key: &str) -> Place {
        let none = || Place::File(Arc::from(Utf8Path::new(FILE)));
        self.origin(group)
            .map_or_else(none, |(origin, _)| origin.key(vec![group.into(), key.into()]))
    }
}

fn unreadable(file: &Arc<Utf8Path>, reason: &str) -> Finding {
    Finding::new(Code::SettingsUnreadable, format!("the settings cannot be read: {reason}"))
        .at(Place::File(file.clone()))
        .help(HELP)
}

/// Reports settings for a newer sipgen, whose other settings may be unknown to this one.
fn newer_settings(origin: &Origin, keys: &Mapping) -> Option<Finding> {
    let minimum = keys.get(MINIMUM_VERSION)?.as_str()?.to_owned();
    let minimum = ReleasedVersion::try_from(minimum).ok()?;
    let own = ReleasedVersion::own().filter(|own| *own < minimum)?;
    let message = format!("sipgen {own} is older than `{MINIMUM_VERSION}: {minimum}`");
    Some(
        Finding::new(Code::TooOld, message)
            .at(origin.at([MINIMUM_VERSION]))
            .help(format!("install sipgen {minimum} or later")),
    )
}

/// Reads one file. Returns `None` if it is missing or has only comments.
fn read(repo: &Files, path: &Utf8Path) -> Result<Option<(Settings, Origin, Mapping)>, Finding> {
    let file: Arc<Utf8Path> = Arc::from(path);
    let text = repo.plain_text(path).map_err(|error| unreadable(&file, &error.to_string()))?;
    let Some(text) = text else {
        let other = path.with_extension("yml");
        if repo.kind(&other).is_none() {
            return Ok(None);
        }
        let reason = format!("their file must have the name {FILE}");
        return Err(unreadable(&Arc::from(other), &reason));
    };
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(None);
    }
    bounded::check(&text).map_err(|error| unreadable(&file, &error.to_string()))?;
    let origin = Origin::for_file(file.clone(), &text);
    let keys: Option<Mapping> = yaml::from_str(&text).ok();
    if let Some(finding) = keys.as_ref().and_then(|keys| newer_settings(&origin, keys)) {
        return Err(finding);
    }
    let parser = yaml_serde::Deserializer::from_str(&text);
    let settings: Settings = serde_path_to_error::deserialize(parser).map_err(|error| {
        let (key, error) = (error.path().to_string(), error.into_inner());
        let error = ParseError::in_yaml(&text, &error);
        let place = match error.line {
            Some(line) => Place::Spot(file.clone(), line, error.column),
            None => Place::File(file.clone()),
        };
        // In a mapping, a single setting is invalid; otherwise the whole file is.
        let (code, help) = if keys.is_some() {
            (Code::InvalidSetting, "fix the setting, or remove it to use the default")
        } else {
            (Code::SettingsUnreadable, HELP)
        };
        let said = with_key(&without_types(&error.message), &key);
        Finding::new(code, format!("the settings cannot be read: {said}")).at(place).help(help)
    })?;
    Ok(Some((settings, origin, keys.unwrap_or_default())))
}
