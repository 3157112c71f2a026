//! A directory of templates that replaces none: nobody sets one for that.

use camino::Utf8Path;

use crate::finding::{Code, Finding};
use crate::load::Files;
use crate::settings;

/// The finding about a directory of templates, as the settings name it, in which there is no file.
pub(crate) fn no_templates(repo: &Files, directory: &Utf8Path) -> Finding {
    let what = if repo.kind(directory).is_some() {
        "has no file"
    } else {
        "is not there"
    };
    Finding::new(
        Code::NoTemplates,
        format!("the directory of templates {directory} {what}, so sipgen's own are used"),
    )
    .at(settings::place(repo, ["templates".into()]))
    .help(
        "correct `templates`, or remove it; `sipgen template show` prints a template to begin with",
    )
}
