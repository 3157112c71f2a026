//! Generated hosts outside the output directory.

use std::sync::Arc;

use camino::Utf8Path;

use super::concern::is_excluded;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::text::in_shell;
use crate::input::load::{EntryKind, Files};
use crate::input::settings::{self, Settings, sources};

/// Reports generated hosts outside the output directory. They are no inventory, but may record the
/// assignments of this repo's clusters, or of another site below this one.
pub(super) fn findings(
    repo: &Files,
    settings: &Settings,
    generated_hosts: &[Arc<Utf8Path>],
) -> Vec<Finding> {
    let output = &settings.output;
    let files = generated_hosts.iter().filter(|file| !is_excluded(settings, file));
    let by_owner = grouped(files.map(|file| (settled_directory(repo, file), file)));
    let finding = |(owner, files): (Option<&Utf8Path>, Vec<&Arc<Utf8Path>>)| {
        let verb = if files.len() == 1 { "lies" } else { "lie" };
        let (place, help) = match owner {
            Some(owner) => {
                let directory = in_shell(owner.as_str());
                let help = format!(
                    "leave them alone: they are the memory of another site, which `sipgen generate --repo {directory}` generates. \
                     Generate this one by --repo, too, from a directory beside it; a submodule is left out by `update = none` in \
                     .gitmodules and `git submodule deinit {directory}`"
                );
                (format!("in {owner}, which has a {} of its own", settings::FILE), help)
            }
            None => {
                let files: Vec<&Utf8Path> = files.iter().map(|file| &***file).collect();
                let help = format!(
                    "they record assignments: if the output directory was renamed, move it with `git mv`; if they are copies: {}",
                    sources::leave_out(settings, &files)
                );
                (format!("outside the output directory {output}"), help)
            }
        };
        let message = format!("{} of sipgen's own files with hosts {verb} {place}", files.len());
        let finding = Finding::new(Code::MisplacedOutput, message).help(help);
        finding.at(Place::File(Arc::clone(files[0])))
    };
    by_owner.into_iter().map(finding).collect()
}

/// Returns the innermost directory above a file, other than the root, that has its own settings.
fn settled_directory<'a>(repo: &Files, file: &'a Utf8Path) -> Option<&'a Utf8Path> {
    let is_other = |directory: &&Utf8Path| {
        !directory.as_str().is_empty() && *directory != repo.site_directory()
    };
    // The own settings of this site do not make it another one.
    let above = file.ancestors().skip(1).filter(is_other);
    above
        .into_iter()
        .find(|directory| repo.kind(&directory.join(settings::FILE)) == Some(EntryKind::File))
}
