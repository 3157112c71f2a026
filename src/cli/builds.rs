//! Builds by the real kustomize, for `sipgen generate --check --build`.

use sipgen::report::{self, ReportText};

use super::CommandError;
use super::progress::Progress;
use super::repo::Runs;

/// Checks the builds of all sites, adds their findings, and returns what was built. Stale output is
/// not built, because kustomize would read it from the disk.
pub(super) fn check(
    runs: &mut Runs<'_>,
    progress: &Progress,
) -> Result<Vec<ReportText>, CommandError> {
    let is_current = |run: &sipgen::GeneratedSite| {
        let changes = run.changes.as_ref();
        changes.is_some_and(|changes| changes.files.values().all(|it| it.is_in_mark_only()))
    };
    if !runs.iter().all(|(_, run)| is_current(run)) {
        return Ok(vec![report::builds_not_checked()]);
    }
    let mut texts = Vec::new();
    for (site, run) in runs.iter_mut() {
        let show = |done, all| progress.show_builds(done, all);
        let checked = sipgen::check_builds(&site.files, run, &show)?;
        texts.push(report::checked_builds(checked.count, &checked.skipped));
        run.findings.extend(checked.findings);
    }
    Ok(texts)
}
