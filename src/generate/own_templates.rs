//! Reads the repo's own templates.

use std::sync::Arc;

use camino::Utf8Path;

use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::layout::outputs::OUTPUTS;
use crate::base::text::has_conflicts;
use crate::input::load::foreign_format::foreign_format;
use crate::input::load::{EntryKind, Files, ReadError};
use crate::input::settings::Settings;
use crate::input::settings::outputs::OutputSettings;
use crate::output::render::{Templates, template_findings};
use crate::review::lint;

/// Reads the repo's own templates.
///
/// # Errors
///
/// Fails if a file or directory cannot be read.
pub(super) fn load(
    repo: &Files,
    settings: &Settings,
) -> Result<(Templates, Vec<Finding>), ReadError> {
    let Some(directory) = &settings.templates else {
        return Ok(Templates::new("".into(), Vec::new(), &settings.outputs));
    };
    repo.stay_inside(directory)?;
    let (mut own, mut findings, mut has_others) = (Vec::new(), Vec::new(), false);
    for (file, kind) in repo.entries_below(directory)? {
        if settings.shares_templates() && is_of_another_site(settings, directory, &file) {
            has_others = true;
            continue;
        }
        match kind {
            EntryKind::File => {}
            EntryKind::Directory => continue,
            EntryKind::Link | EntryKind::Other => {
                findings.push(no_file(directory, &file));
                continue;
            }
        }
        let content = repo.read(&file)?;
        // Line ends as in git; otherwise the output would differ between checkouts.
        let text = layout::text_of(&content);
        match unrenderable(&file, &content, &text) {
            Some(finding) => findings.push(finding),
            None => own.push((file, text)),
        }
    }
    let none = (own.is_empty() && findings.is_empty() && !has_others)
        .then(|| lint::no_templates(settings, directory, repo.kind(directory).is_some()));
    let (templates, found) = Templates::new(directory, own, &settings.outputs);
    findings.extend(none.into_iter().chain(found));
    findings.extend(template_findings(settings, &templates));
    Ok((templates, findings))
}

/// Returns whether a file is a template of an output that this site does not have.
fn is_of_another_site(settings: &Settings, directory: &Utf8Path, file: &Utf8Path) -> bool {
    let outputs = directory.join(OUTPUTS);
    let is_own = |output: &OutputSettings| file.starts_with(outputs.join(&output.name));
    file.starts_with(&outputs) && !settings.outputs.iter().any(is_own)
}

/// Reports a link among the templates. It is not read; an output without it would lose files, which
/// an agent deletes.
fn no_file(directory: &Utf8Path, file: &Utf8Path) -> Finding {
    let is_of_output = file.starts_with(directory.join(OUTPUTS));
    let code = if is_of_output { Code::TemplateFails } else { Code::TemplateUnused };
    let message =
        format!("the template {file} is a symbolic link or no regular file, and not read");
    Finding::new(code, message)
        .at(Place::File(Arc::from(file)))
        .help("replace it by a copy, or include one template below `partials/` twice")
}

/// Reports a file that is no template.
fn unrenderable(file: &Utf8Path, content: &[u8], text: &str) -> Option<Finding> {
    let (why, help, line) = if let Some((why, help)) = foreign_format(content) {
        (why, help, 1)
    } else if let Err(error) = std::str::from_utf8(content) {
        let valid = content[..error.valid_up_to()].iter();
        let line = valid.filter(|byte| **byte == b'\n').count() + 1;
        ("it is not UTF-8", "convert it to UTF-8", line)
    } else {
        let line = text.lines().position(has_conflicts)? + 1;
        ("it has conflicts of a merge", "resolve them", line)
    };
    let message = format!("the template {file} cannot be rendered: {why}");
    let finding = Finding::new(Code::TemplateFails, message);
    Some(finding.at(Place::Spot(Arc::from(file), line, None)).help(help))
}
