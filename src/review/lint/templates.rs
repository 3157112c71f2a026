//! Rules: the directory of templates is empty, so it replaces none; templates of the SIP operator
//! are not used.

use camino::Utf8Path;

use crate::base::finding::{Code, Finding};
use crate::input::settings::Settings;
use crate::site::Site;

/// Warns about a directory of templates without files. `directory` is the path in the settings.
pub(crate) fn no_templates(settings: &Settings, directory: &Utf8Path, exists: bool) -> Finding {
    let what = if exists { "has no files" } else { "does not exist" };
    let message =
        format!("template directory `{directory}` {what}, so the built-in templates are used");
    Finding::new(Code::TemplateUnused, message).at(settings.place(["templates".into()])).help(
        "fix `templates`, or remove it; `sipgen template show` prints a template as a starting point",
    )
}

/// Warns about HAProxy templates of the SIP operator, unless the repo has its own template for
/// sipgen.
pub(crate) fn operators_templates(site: &Site, has_own: bool) -> Option<Finding> {
    if has_own || site.operators_templates.is_empty() {
        return None;
    }
    let finding = Finding::new(
        Code::OperatorsTemplates,
        "the SIP operator's HAProxy templates are not used: load balancers have sipgen's configuration",
    );
    Some(finding.at_each(site.operators_templates.iter().cloned()).help(
        "delete them; if you changed them, first rewrite them: docs/operations/from-sip-operator.md lists the counterparts",
    ))
}
