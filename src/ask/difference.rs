//! Difference between two states of a repo: the output generated from each is compared.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::thread;

use camino::Utf8Path;

use crate::base::api::names::ClusterKey;
use crate::base::finding::Finding;
use crate::base::layout;
use crate::base::text::counted;
use crate::base::tree::Tree;
use crate::generate::{Error, GeneratedSite, Options, Stage, generate, generate_by};
use crate::input::load::Files;
use crate::input::settings::Settings;
use crate::output::compare::OutputChanges;
use crate::review::effects::{ChangeCounts, Review, StateBefore};
use crate::site::Site;

/// Difference between two states of a repo.
#[derive(Debug, Default)]
pub struct Difference {
    /// Changes with their review; `None` if errors in the later state prevent generation.
    pub known: Option<(OutputChanges, Review)>,
    /// Changes that the base had not generated. They reach agents together with this change,
    /// although no input causes them. Their dangers are also listed in `known`.
    pub brought: Option<Review>,
    /// Number of files in the later state's output directory that differ from what its inputs
    /// generate.
    pub stale: usize,
    /// Errors and warnings of the later state.
    pub findings: Vec<Finding>,
    /// Remarks on how the difference was made, in sentences.
    pub notes: Vec<String>,
}

impl Difference {
    /// Reports whether nothing needs attention: no changes, nothing included from the base, no
    /// stale files.
    pub fn is_none(&self) -> bool {
        let same = self.known.as_ref().is_some_and(|(changes, _)| changes.files.is_empty());
        same && self.brought.is_none() && self.stale == 0
    }
}

/// Computes what [`generate`] would change in a repo.
///
/// # Errors
///
/// See [`generate`].
pub fn pending(
    repo: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<Difference, Error> {
    let GeneratedSite { site, tree, changes, findings, .. } = generate(repo, options, progress)?;
    let mut notes = Vec::new();
    let known = changes.map(|mut changes| {
        notes.extend(note_of_marks(take_idle(&mut changes)));
        let review = Review::new(&changes, &tree, &site);
        (changes, review)
    });
    Ok(Difference { known, findings, notes, ..Difference::default() })
}

/// Compares what is generated from `base` with what is generated from `head`.
///
/// Committed output is used only as the memory of assignments. Clusters of `base` with errors keep
/// their committed output.
///
/// # Errors
///
/// See [`generate`].
pub fn between(
    base: &Files,
    head: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<Difference, Error> {
    // The base cannot be fixed any more, so its errors are tolerated.
    let lenient = Options { keep_going: true, allow_empty: true, ..Options::default() };
    let settings = Settings::load(base).map_err(|unreadable| (settings_in_place(head), unreadable));
    // At the same time, because a run alone does not keep all cores busy.
    let (earlier, later) = thread::scope(|scope| {
        let later = scope.spawn(|| generate(head, options, &|_| {}));
        let earlier = generate_by(settings, base, &lenient, progress);
        let later = later.join();
        (earlier, later.unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (earlier, later) = (earlier?, later?);
    let (before, after) = rayon::join(
        || earlier.output(base),
        || later.changes.is_some().then(|| later.output(head)).transpose(),
    );
    let mut before = before?;
    let pending = later.changes.clone().zip(after?);
    let mut notes: Vec<String> = note_of_errors(&earlier.findings).into_iter().collect();
    let GeneratedSite { site: earlier, tree: earlier_tree, changes: ungenerated, .. } = earlier;
    let mut ungenerated = ungenerated.unwrap_or_default();
    take_idle(&mut ungenerated);

    if let Some((pending, after)) = &pending
        && is_all_new(&ungenerated, &before)
        && !is_all_new(pending, after)
    {
        before.clear();
        ungenerated = OutputChanges::default();
        notes.push("The base has no overlays: all overlays are new.".to_owned());
    }
    if !ungenerated.files.is_empty() {
        let files = counted(ungenerated.files.len(), "file");
        notes.push(format!(
            "The overlays of the base are stale in {files}: the missing changes are included here."
        ));
    }
    let mut difference = Difference { findings: later.findings.clone(), ..Difference::default() };
    if let Some((mut pending, after)) = pending {
        notes.extend(note_of_marks(take_idle(&mut pending)));
        if !pending.files.is_empty() {
            let files = counted(pending.files.len(), "file");
            let is_empty = options.allow_empty && later.site.clusters.is_empty();
            let flag = if is_empty { " --allow-empty" } else { "" };
            notes.push(format!(
                "The overlays are stale in {files}: run `sipgen generate{flag}`, and commit the result."
            ));
        }
        difference.stale = pending.files.len();
        let (changes, mut review) = compare_outputs(&before, &earlier, &after, &later.site);
        let brought = brought(ungenerated, &after, &earlier.settings.output);
        if !brought.files.is_empty() {
            let brought = Review::new(&brought, &earlier_tree, &earlier);
            review.bring_along(&brought);
            difference.brought = Some(brought);
        }
        difference.known = Some((changes, review));
    }
    difference.notes = notes;
    Ok(difference)
}

/// Compares the output `before` a hypothesis with what is generated from `head` under it.
///
/// # Errors
///
/// Fails if the output of frozen clusters cannot be read.
pub(crate) fn supposed(
    before: Tree,
    earlier: GeneratedSite,
    head: &Files,
    later: GeneratedSite,
) -> Result<Difference, Error> {
    let after = later.changes.is_some().then(|| later.output(head)).transpose()?;
    let known = after.map(|after| compare_outputs(&before, &earlier.site, &after, &later.site));
    Ok(Difference { known, findings: later.findings, ..Difference::default() })
}

/// Compares the output of an earlier state with that of a later one.
fn compare_outputs(
    before: &Tree,
    earlier: &Site,
    after: &Tree,
    later: &Site,
) -> (OutputChanges, Review) {
    let (old, new) = (&earlier.settings.output, &later.settings.output);
    let clusters: BTreeSet<ClusterKey> =
        before.keys().filter_map(|path| layout::cluster_of(path)).collect();
    let moved_from = (old != new && !before.is_empty()).then_some(old.as_path());
    let known_before = StateBefore {
        clusters: &clusters,
        inventory: Some(&earlier.inventory),
        output: moved_from,
    };
    let mut changes = OutputChanges::between(before, after, new);
    take_idle(&mut changes);
    let mut review = Review::between(&changes, &known_before, after, later);
    if let Some(old) = moved_from {
        changes = OutputChanges::between(before, &Tree::new(), old);
        changes.files.extend(OutputChanges::between(&Tree::new(), after, new).files);
        review.totals.files = ChangeCounts::from_changes(&changes);
    }
    (changes, review)
}

/// Replaces unreadable settings of the base. Only the output directory is known, from `head`.
fn settings_in_place(head: &Files) -> Settings {
    let output = Settings::load(head).unwrap_or_default().output;
    Settings { output, ..Settings::default() }
}

/// Selects the ungenerated changes of the base that the later output includes: files that are no
/// longer as committed in `output`.
fn brought(mut ungenerated: OutputChanges, after: &Tree, output: &Utf8Path) -> OutputChanges {
    ungenerated.files.retain(|path, change| {
        let (committed, _) = change.texts();
        let later = path.strip_prefix(output).ok().and_then(|path| after.get(path.as_str()));
        later.map(String::as_str) != committed
    });
    ungenerated
}

/// Reports whether an output directory has no generated files yet.
fn is_all_new(pending: &OutputChanges, output: &Tree) -> bool {
    let created = pending.files.values().filter(|change| change.before.is_none()).count();
    created > 0 && created == output.len()
}

/// Removes idle changes and returns their number: line ends that git converts on checkout, and
/// comments that name a renamed input.
fn take_idle(changes: &mut OutputChanges) -> usize {
    let all = changes.files.len();
    changes.files.retain(|_, change| match change.texts() {
        (Some(before), Some(after)) => {
            !layout::differ_in_line_ends_only(before.as_bytes(), after.as_bytes())
                && !layout::differ_in_mark_only(before, after)
        }
        _ => true,
    });
    all - changes.files.len()
}

fn note_of_marks(files: usize) -> Option<String> {
    let files = (files > 0).then(|| counted(files, "file"))?;
    Some(format!(
        "Only the comment that names the input changes in {files}: run `sipgen generate` to update it."
    ))
}

fn note_of_errors(findings: &[Finding]) -> Option<String> {
    let errors: Vec<&Finding> = findings.iter().filter(|finding| finding.is_error()).collect();
    let first = errors.first()?;
    let clusters: BTreeSet<&ClusterKey> = errors.iter().flat_map(|error| &error.clusters).collect();
    let what = if errors.iter().any(|error| error.clusters.is_empty()) {
        "its committed overlays are used".to_owned()
    } else {
        format!("the committed overlays of {} are used", counted(clusters.len(), "cluster"))
    };
    // Inline code keeps input in the message from being rendered as Markdown.
    let named = first.message.replace('`', "'");
    Some(format!("The base has {}, so {what}: `{named}`.", counted(errors.len(), "error")))
}
