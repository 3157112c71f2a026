//! Rule: the directory of templates is empty, so it replaces none.

use camino::Utf8Path;

use crate::finding::{Code, Finding};
use crate::settings::Settings;

/// Warns about a directory of templates without files. `directory` is the path in the settings.
pub(crate) fn no_templates(settings: &Settings, directory: &Utf8Path, exists: bool) -> Finding {
    let what = if exists {
        "has no files"
    } else {
        "does not exist"
    };
    Finding::new(
        Code::NoTemplates,
        format!("template directory `{directory}` {what}, so the built-in templates are used"),
    )
    .at(settings.place(["templates".into()]))
    .help(
        "fix `templates`, or remove it; `sipgen template show` prints a template as a starting point",
    )
}
