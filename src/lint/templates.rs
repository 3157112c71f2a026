//! A directory of templates that replaces none: nobody sets one for that.

use std::sync::Arc;

use camino::Utf8Path;

use crate::finding::{Code, Finding};
use crate::site::settings;
use crate::source::{Files, Place};

/// The finding about a directory of templates, as the settings name it, in which there is no file.
pub(crate) fn no_templates(repo: &Files, directory: &Utf8Path) -> Finding {
    let what = if repo.kind(directory).is_some() { "has no file" } else { "is not there" };
    Finding::new(Code::NoTemplates, format!("the directory of templates {directory} {what}, so sipgen's own are used"))
        .at(setting(repo))
        .help("correct `templates`, or remove it; `sipgen template show` prints a template to begin with")
}

/// Where the settings name the directory.
fn setting(repo: &Files) -> Place {
    const KEY: &str = "templates";
    let file: Arc<Utf8Path> = Arc::from(Utf8Path::new(settings::FILE));
    let text = repo.text(&file).unwrap_or_default();
    let is_key = |line: &str| line.strip_prefix(KEY).is_some_and(|rest| rest.trim_start().starts_with(':'));
    match text.lines().position(is_key) {
        Some(line) => Place::Spot(file, line + 1, Some(1)),
        None => Place::File(file),
    }
}
