//! Builds by the real kustomize, for `sipgen generate --check --build`.

use sipgen::input::git::Checkout;
use sipgen::report::{self, ReportText};

use super::CommandError;
use super::progress::Progress;
use super::repo::Runs;

/// Checks the builds of all sites, adds their findings, and returns what was built. Stale output is
/// not built, because kustomize would read it from the disk. With `base`, only builds that a change
/// since that revision can affect are made.
pub(super) fn check(
    runs: &mut Runs<'_>,
    base: Option<&str>,
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
    let base = base.filter(|base| !base.is_empty());
    for (site, run) in runs.iter_mut() {
        let mut changed = None;
        if let Some(base) = base {
            let checkout = Checkout::around(site.files.root())?;
            changed = checkout.map(|it| it.changed_since(base)).transpose()?.flatten();
            texts.extend(changed.is_none().then(|| report::unknown_base(base)));
        }
        let show = |done: usize, all: usize| {
            progress.show_count("building with kustomize", done as u64, Some(all as u64));
        };
        let mut checked = sipgen::check_builds(&site.files, run, changed.as_ref(), &show)?;
        run.findings.append(&mut checked.findings);
        texts.push(report::checked_builds(&checked));
    }
    Ok(texts)
}
