//! What differs between two states of a repo: what is generated from one against what is generated from the other.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::api::names::ClusterKey;
use crate::compare::{Change, Changes};
use crate::finding::{Finding, counted};
use crate::render::Tree;
use crate::review::{Before, Review};
use crate::site::Site;
use crate::source::Files;
use crate::{Error, Generated, Options, Stage, generate, layout};

/// What differs between two states of a repo.
#[derive(Debug)]
pub struct Difference {
    /// The changes, and what they mean; nothing is known when the later state has errors that forbid to write.
    pub known: Option<(Changes, Review)>,
    /// What is wrong with the later state.
    pub findings: Vec<Finding>,
    /// What a reader has to know of how the difference came about, in whole sentences.
    pub notes: Vec<String>,
}

/// What [`generate`] would change in a repo.
///
/// # Errors
///
/// As [`generate`].
pub fn pending(repo: &Files, options: &Options, progress: &dyn Fn(Stage)) -> Result<Difference, Error> {
    let Generated { site, changes, findings, .. } = generate(repo, options, progress)?;
    let known = changes.map(|changes| {
        let review = Review::of(&changes, &site);
        (changes, review)
    });
    Ok(Difference { known, findings, notes: Vec::new() })
}

/// What differs between what is generated from `base` and what is generated from `head`, whatever of it either has
/// in its output directory. Both are asked who has which host, as ever.
///
/// Where `base` has errors, what it has in its output directory stands in.
///
/// # Errors
///
/// As [`generate`].
pub fn between(base: &Files, head: &Files, options: &Options, progress: &dyn Fn(Stage)) -> Result<Difference, Error> {
    // An earlier state cannot be mended any more, so it is taken as it is as far as possible.
    let lenient = Options { keep_going: true, allow_empty: true, ..Options::default() };
    let earlier = generate(base, &lenient, progress)?;
    let before = earlier.output(base)?;
    let mut notes: Vec<String> = note_of_errors(&earlier.findings).into_iter().collect();
    notes.extend(earlier.changes.as_ref().and_then(|stale| note_of_stale_base(stale, &earlier.site)));
    let Generated { site: earlier, .. } = earlier;

    let later = generate(head, options, progress)?;
    let mut known = None;
    if let Some(pending) = &later.changes {
        notes.extend(note_of_pending(pending));
        let after = later.output(head)?;
        let (old, new) = (&earlier.settings.output, &later.site.settings.output);
        let clusters: BTreeSet<ClusterKey> = before.keys().filter_map(|path| layout::cluster_of(path)).collect();
        let moved_from = (old != new && !before.is_empty()).then_some(old.as_path());
        let known_before = Before { clusters: &clusters, inventory: Some(&earlier.inventory), output: moved_from };
        let mut changes = Changes::between(&before, &after, new);
        changes.files.retain(|_, change| !is_checkout(change));
        let review = Review::between(&changes, &known_before, &later.site);
        let changes = moved_from.map_or(changes, |old| all_moved(&before, old, &after, new));
        known = Some((changes, review));
    }
    Ok(Difference { known, findings: later.findings, notes })
}

/// Whether a change is none but what git makes of line ends when it checks files out.
fn is_checkout(change: &Change) -> bool {
    match change {
        Change::Update { before, after } => before.lines().eq(after.lines()),
        Change::Create { .. } | Change::Delete { .. } => false,
    }
}

/// What has to change when a tree is to be replaced by one that lies elsewhere.
fn all_moved(before: &Tree, old: &Utf8Path, after: &Tree, new: &Utf8Path) -> Changes {
    let mut changes = Changes::between(before, &Tree::new(), old);
    changes.files.extend(Changes::between(&Tree::new(), after, new).files);
    changes
}

fn note_of_errors(findings: &[Finding]) -> Option<String> {
    let errors: Vec<&Finding> = findings.iter().filter(|finding| finding.is_error()).collect();
    let clusters: BTreeSet<&ClusterKey> = errors.iter().flat_map(|error| &error.clusters).collect();
    let what = if errors.iter().any(|error| error.clusters.is_empty()) {
        "its overlays stand in as they are".to_owned()
    } else {
        format!("the overlays of {} stand in as they are", counted(clusters.len(), "cluster"))
    };
    (!errors.is_empty()).then(|| format!("The base has {}, so {what}.", counted(errors.len(), "error")))
}

/// What was not generated in the base comes with whatever is generated next.
fn note_of_stale_base(stale: &Changes, site: &Site) -> Option<String> {
    let dangers = match Review::of(stale, site).dangers.len() {
        0 => String::new(),
        count => format!(", {} among that", counted(count, "danger")),
    };
    let note = format!(
        "The overlays of the base are stale by {}{dangers}: what they lack comes with this change, and is not shown \
         here. `sipgen diff` with the base as --head shows it.",
        counted(stale.files.len(), "file")
    );
    (!stale.files.is_empty()).then_some(note)
}

fn note_of_pending(pending: &Changes) -> Option<String> {
    let files = counted(pending.files.len(), "file");
    let note = format!("The overlays are stale by {files}: run `sipgen generate`, and commit what it writes.");
    (!pending.files.is_empty()).then_some(note)
}
