//! Ownership marks of rendered texts, and proofs that they are valid.

use camino::Utf8Path;

use super::{Templates, verify};
use crate::base::finding::Finding;
use crate::base::layout::{self, header};
use crate::site::Site;

/// Adds the ownership header, in a script below the shebang line, and a final line break; `None` for a
/// text of white space.
pub(super) fn with_ownership(text: &str, made_from: &str) -> Option<String> {
    if text.trim().is_empty() {
        return None;
    }
    // The kernel reads `#!` only at the start of a file.
    let interpreter =
        if text.starts_with("#!") { text.find('\n').map_or(text.len(), |end| end + 1) } else { 0 };
    let (first, rest) = text.split_at(interpreter);
    let mut text = format!("{first}{}{rest}", header(made_from));
    // HAProxy rejects a file without a final line break.
    if !text.ends_with('\n') {
        // `push` alone doubles the capacity, and all files stay in memory.
        text.reserve_exact(1);
        text.push('\n');
    }
    Some(text)
}

/// Parses a rendered YAML file to prove that it is valid, unless the disk already has the same text.
/// Another program than Kubernetes reads a file with `is_configuration`.
pub(super) fn verified(
    site: &Site,
    templates: &Templates,
    template: &str,
    is_configuration: bool,
    file: &Utf8Path,
    text: &str,
) -> Result<(), Box<Finding>> {
    if !matches!(file.extension(), Some("yaml" | "yml")) || site.state.has(file, text) {
        return Ok(());
    }
    let read = match file.file_name() {
        _ if is_configuration => verify::values(text).map(drop),
        Some(layout::KUSTOMIZATION) => verify::kustomization(text),
        _ => verify::manifests(text),
    };
    read.map_err(|unreadable| {
        let file = site.settings.output.join(file);
        Box::new(unreadable.finding(&file, templates.own_file(template)))
    })
}
