//! What differs between two states of a repo: what is generated from one against what is generated from the other.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::api::names::ClusterKey;
use crate::finding::Finding;
use crate::generate::{Error, Generated, Options, Stage, generate, generate_by};
use crate::layout;
use crate::load::Files;
use crate::output::Tree;
use crate::output::compare::{Change, Changes};
use crate::review::{Before, Review};
use crate::settings::Settings;
use crate::text::counted;

/// What differs between two states of a repo.
#[derive(Debug, Default)]
pub struct Difference {
    /// The changes, and what they mean; nothing is known when the later state has errors that forbid to write.
    pub known: Option<(Changes, Review)>,
    /// What nobody had generated in the earlier state, and the later one brings along: it reaches the agents with
    /// this change, although no input of it changes. Its dangers are among those of `known`, too.
    pub brought: Option<Review>,
    /// How many files of the later state's output directory are not what its inputs make.
    pub stale: usize,
    /// What is wrong with the later state.
    pub findings: Vec<Finding>,
    /// What a reader has to know of how the difference came about, in whole sentences.
    pub notes: Vec<String>,
}

impl Difference {
    /// Whether there is nothing that somebody has to look at: nothing changes, nothing is brought along, and the
    /// output directory is what the inputs make.
    pub fn is_none(&self) -> bool {
        let same = self
            .known
            .as_ref()
            .is_some_and(|(changes, _)| changes.files.is_empty());
        same && self.brought.is_none() && self.stale == 0
    }
}

/// What [`generate`] would change in a repo.
///
/// # Errors
///
/// As [`generate`].
pub fn pending(
    repo: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<Difference, Error> {
    let Generated {
        site,
        tree,
        changes,
        findings,
        ..
    } = generate(repo, options, progress)?;
    let mut notes = Vec::new();
    let known = changes.map(|mut changes| {
        notes.extend(note_of_marks(take_idle(&mut changes)));
        let review = Review::of(&changes, &tree, &site);
        (changes, review)
    });
    Ok(Difference {
        known,
        findings,
        notes,
        ..Difference::default()
    })
}

/// What differs between what is generated from `base` and what is generated from `head`, whatever of it either has
/// in its output directory. Both are asked who has which host, as ever.
///
/// Where `base` has errors, what it has in its output directory stands in.
///
/// # Errors
///
/// As [`generate`].
pub fn between(
    base: &Files,
    head: &Files,
    options: &Options,
    progress: &dyn Fn(Stage),
) -> Result<Difference, Error> {
    // An earlier state cannot be mended any more, so it is taken as it is as far as possible.
    let lenient = Options {
        keep_going: true,
        allow_empty: true,
        ..Options::default()
    };
    let settings = Settings::load(base).map_err(|unreadable| (settings_in_place(head), unreadable));
    let earlier = generate_by(settings, base, &lenient, progress)?;
    let mut before = earlier.output(base)?;
    let mut notes: Vec<String> = note_of_errors(&earlier.findings).into_iter().collect();
    let Generated {
        site: earlier,
        tree: earlier_tree,
        changes: ungenerated,
        ..
    } = earlier;
    let mut ungenerated = ungenerated.unwrap_or_default();
    take_idle(&mut ungenerated);

    let later = generate(head, options, progress)?;
    if let Some(pending) = &later.changes
        && is_all_new(&ungenerated, &before)
        && !is_all_new(pending, &later.output(head)?)
    {
        before.clear();
        ungenerated = Changes::default();
        notes.push("The base has no overlays: all of them are new.".to_owned());
    }
    notes.extend(note_of_stale_base(&ungenerated));
    let mut difference = Difference {
        findings: later.findings.clone(),
        ..Difference::default()
    };
    if let Some(mut pending) = later.changes.clone() {
        notes.extend(note_of_marks(take_idle(&mut pending)));
        notes.extend(note_of_pending(&pending));
        difference.stale = pending.files.len();
        let after = later.output(head)?;
        let (old, new) = (&earlier.settings.output, &later.site.settings.output);
        let clusters: BTreeSet<ClusterKey> = before
            .keys()
            .filter_map(|path| layout::cluster_of(path))
            .collect();
        let moved_from = (old != new && !before.is_empty()).then_some(old.as_path());
        let known_before = Before {
            clusters: &clusters,
            inventory: Some(&earlier.inventory),
            output: moved_from,
        };
        let mut changes = Changes::between(&before, &after, new);
        take_idle(&mut changes);
        let mut review = Review::between(&changes, &known_before, &after, &later.site);
        if let Some(old) = moved_from {
            changes = all_moved(&before, old, &after, new);
            review.totals.count_files(&changes);
        }
        let brought = brought(ungenerated, &after, old);
        if !brought.files.is_empty() {
            let brought = Review::of(&brought, &earlier_tree, &earlier);
            review.bring_along(&brought);
            difference.brought = Some(brought);
        }
        difference.known = Some((changes, review));
    }
    difference.notes = notes;
    Ok(difference)
}

/// The settings that stand in for those that cannot be read: nobody knows more of them than where the output was.
fn settings_in_place(head: &Files) -> Settings {
    let output = Settings::load(head).unwrap_or_default().output;
    Settings {
        output,
        ..Settings::default()
    }
}

/// What generating the earlier state would have changed, as far as the later output, `after`, does not have the files
/// as they were committed in `output`.
fn brought(mut ungenerated: Changes, after: &Tree, output: &Utf8Path) -> Changes {
    ungenerated.files.retain(|path, change| {
        let (committed, _) = change.texts();
        let later = path
            .strip_prefix(output)
            .ok()
            .and_then(|path| after.get(path));
        later.map(String::as_str) != committed
    });
    ungenerated
}

/// Returns whether an output directory has nothing yet of what its inputs make: nobody has generated there.
fn is_all_new(pending: &Changes, output: &Tree) -> bool {
    let created = pending
        .files
        .values()
        .filter(|change| matches!(change, Change::Create { .. }))
        .count();
    created > 0 && created == output.len()
}

/// Takes changes out that mean nothing to anybody, and says how many there were: what git makes of line ends when it
/// checks files out, and comments that name a renamed input.
fn take_idle(changes: &mut Changes) -> usize {
    let all = changes.files.len();
    changes
        .files
        .retain(|_, change| !is_checkout(change) && !change.is_in_mark_only());
    all - changes.files.len()
}

fn note_of_marks(files: usize) -> Option<String> {
    let files = (files > 0).then(|| counted(files, "file"))?;
    Some(format!(
        "Only the comment that names the input is to change in {files}: `sipgen generate` writes that."
    ))
}

/// Whether a change is none but what git makes of line ends when it checks files out.
fn is_checkout(change: &Change) -> bool {
    match change.texts() {
        (Some(before), Some(after)) => {
            layout::differ_in_line_ends_only(before.as_bytes(), after.as_bytes())
        }
        _ => false,
    }
}

/// What has to change when a tree is to be replaced by one that lies elsewhere.
fn all_moved(before: &Tree, old: &Utf8Path, after: &Tree, new: &Utf8Path) -> Changes {
    let mut changes = Changes::between(before, &Tree::new(), old);
    changes
        .files
        .extend(Changes::between(&Tree::new(), after, new).files);
    changes
}

fn note_of_errors(findings: &[Finding]) -> Option<String> {
    let errors: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .collect();
    let first = errors.first()?;
    let clusters: BTreeSet<&ClusterKey> = errors.iter().flat_map(|error| &error.clusters).collect();
    let what = if errors.iter().any(|error| error.clusters.is_empty()) {
        "its overlays stand in as they are".to_owned()
    } else {
        format!(
            "the overlays of {} stand in as they are",
            counted(clusters.len(), "cluster")
        )
    };
    // As code, which keeps what the input has in it from being Markdown.
    let named = first.message.replace('`', "'");
    Some(format!(
        "The base has {}, so {what}: `{named}`.",
        counted(errors.len(), "error")
    ))
}

/// What was not generated in the base comes with whatever is generated next.
fn note_of_stale_base(ungenerated: &Changes) -> Option<String> {
    let files = counted(ungenerated.files.len(), "file");
    let note = format!(
        "The overlays of the base are stale by {files}: what they lack comes with this change."
    );
    (!ungenerated.files.is_empty()).then_some(note)
}

fn note_of_pending(pending: &Changes) -> Option<String> {
    let files = counted(pending.files.len(), "file");
    let note = format!(
        "The overlays are stale by {files}: run `sipgen generate`, and commit what it writes."
    );
    (!pending.files.is_empty()).then_some(note)
}
