//! Conditions that prevent Flux from applying the output: missing decryption, plugins, sources that
//! exclude it.
//!
//! The rules are those of Flux's source-controller and kustomize-controller.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use ignore::gitignore::GitignoreBuilder;

use super::applied::AppliedDirectory;
use super::repo::{DeliveryRepo, shown};
use super::{DeliveryWiring, ReachedContent, includes};
use crate::base::api::gitops::{FluxSource, GitopsAgent};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::layout;
use crate::input::kustomize::BuildRoot;
use crate::input::load::sops;
use crate::input::settings::gitops::HostsForm;
use crate::input::settings::{self, Settings, sources};

/// File that excludes paths of a repo from Flux's sources.
const IGNORE_FILE: &str = ".sourceignore";

/// Reports conditions that prevent Flux from applying the output: as the agent of the settings, or
/// with the repo's own objects.
pub(super) fn check(
    repo: &DeliveryRepo<'_>,
    wiring: &DeliveryWiring,
    applied: &[AppliedDirectory],
    reached: &[ReachedContent<'_>],
) -> Vec<Finding> {
    let is_chosen = repo.settings.gitops == Some(GitopsAgent::Flux);
    let is_by_flux = |reached: &&ReachedContent<'_>| {
        reached.applied.agent == GitopsAgent::Flux && reached.applied.exclusion.is_none()
    };
    let by_flux = reached.iter().filter(is_by_flux).flat_map(|reached| &reached.overlays);
    let by_flux: BTreeSet<&usize> = by_flux.collect();
    let roots = repo.inventory.roots.iter();
    let roots = roots.filter(|(index, _)| is_chosen || by_flux.contains(index));
    let unbuildable = roots.filter_map(|(_, root)| unbuildable(repo, root));
    if !is_chosen {
        return unbuildable.collect();
    }
    let source = repo.context.sources.iter().find(|(_, source)| repo.is_source_of_settings(source));
    let over_output =
        source.and_then(|(origin, source)| includes::over_output(repo, origin, source));
    let found = over_output.or_else(|| left_out(repo, source));
    found.into_iter().chain(unbuildable).chain(not_decrypted(repo, wiring, applied)).collect()
}

/// Reports a build of hosts that needs Helm or a plugin, which Flux's kustomize-controller disables.
fn unbuildable(repo: &DeliveryRepo<'_>, root: &BuildRoot) -> Option<Finding> {
    let (field, place) = repo.builds.plugin(&root.directory, |file| repo.files.text(file))?;
    let message = format!(
        "Flux cannot build the hosts of {}: `{field}` needs Helm or a plugin, and Flux starts neither",
        shown(&root.directory)
    );
    Some(Finding::new(Code::AgentCannotApply, message).at(place).help(
        "move the field to a kustomization without hosts. For charts, use a HelmRelease; for Secrets that SOPS has \
         encrypted, list their files in `resources`, and Flux decrypts them",
    ))
}

/// Reports each directory that is unreadable or not checked out and may have inputs, or that an
/// object applies.
pub(super) fn unread(
    settings: &Settings,
    applied: &[AppliedDirectory],
    closed: &[(Utf8PathBuf, String)],
) -> Vec<Finding> {
    let report = |(directory, reason): &(Utf8PathBuf, String)| {
        let is_in = |applied: &&AppliedDirectory| {
            applied.exclusion.is_none() && applied.directory.starts_with(directory)
        };
        let by: Vec<&AppliedDirectory> = applied.iter().filter(is_in).collect();
        if by.is_empty() && settings.may_read(directory) {
            let place = Place::File(Arc::from(directory.as_path()));
            let finding = Finding::new(Code::DirectoryUnread, reason).at(place);
            return vec![finding.help(sources::leave_out(settings, &[directory]))];
        }
        let finding = |applied: &AppliedDirectory| {
            let message = format!(
                "{} applies {}, whose hosts are unknown: {reason}",
                applied.by, applied.directory
            );
            Finding::new(Code::DirectoryUnread, message)
                .at(applied.place.clone())
                .help("make it readable; if it has no hosts, mute this warning")
        };
        by.into_iter().map(finding).collect()
    };
    closed.iter().flat_map(report).collect()
}

/// Reports builds with Secrets to decrypt, for which the Kustomization that sipgen writes has no
/// decryption settings.
fn not_decrypted(
    repo: &DeliveryRepo<'_>,
    wiring: &DeliveryWiring,
    applied: &[AppliedDirectory],
) -> Vec<Finding> {
    let decrypting: Vec<&AppliedDirectory> =
        applied.iter().filter(|applied| applied.decryption.is_some()).collect();
    if repo.settings.flux.decryption.is_some()
        || repo.settings.hosts.form == HostsForm::Component
        || decrypting.is_empty()
    {
        return Vec::new();
    }
    // Builds that the repo's own objects apply use the decryption of those.
    let roots = repo.inventory.roots.iter().filter(|(index, _)| !wiring.applied.contains(index));
    let report = |(_, root): (&usize, &BuildRoot)| {
        let mut files: Vec<Utf8PathBuf> = repo.builds.below(&root.directory).into_keys().collect();
        files.sort();
        let is_encrypted = |file: &&Utf8PathBuf| {
            repo.files.text(file).is_some_and(|text| sops::is_encrypted_file(&text))
        };
        let file = files.iter().find(is_encrypted)?;
        let message = format!(
            "{} has objects that SOPS has encrypted, and `flux.decryption` is not set: Flux refuses the Kustomization \
             that sipgen writes for its hosts",
            shown(&root.directory)
        );
        let nearest =
            decrypting.iter().find(|applied| root.directory.starts_with(&applied.directory));
        let applied = nearest.or(decrypting.first())?;
        let decryption = serde_json::to_string(applied.decryption.as_ref()?).ok()?;
        Some(
            Finding::new(Code::AgentCannotApply, message)
                .at(Place::File(Arc::from(file.as_path())))
                .see(applied.place.clone(), format!("{} decrypts", applied.by))
                .help(format!(
                    "write in {}, below `flux`:\ndecryption: {decryption}",
                    settings::FILE
                )),
        )
    };
    roots.filter_map(report).collect()
}

/// Reports a Flux source that excludes directories of the output: that of the agent's objects, or
/// only the shared files that services refer to.
fn left_out(repo: &DeliveryRepo<'_>, source: Option<&(Origin, FluxSource)>) -> Option<Finding> {
    let of = |directory: &Utf8Path| left_out_directory(repo, source, directory);
    of(&layout::agent_directory(GitopsAgent::Flux)).or_else(|| {
        let shared = of(layout::SHARED.into())?;
        of(layout::CLUSTERS.into()).is_none().then_some(shared)
    })
}

/// Reports a Flux source that excludes a directory of the output.
fn left_out_directory(
    repo: &DeliveryRepo<'_>,
    source: Option<&(Origin, FluxSource)>,
    directory: &Utf8Path,
) -> Option<Finding> {
    let flux = &repo.settings.flux;
    let output = flux.path.join(&repo.settings.output);
    let file = output.join(directory).join(layout::KUSTOMIZATION);
    let sparse = source.and_then(|(origin, source)| {
        let directories = source.spec.sparse_checkout.as_ref()?;
        let has = |directory: &String| {
            file.starts_with(directory.trim_start_matches("./").trim_end_matches('/'))
        };
        (!directories.iter().any(has)).then(|| origin.at(["spec", "sparseCheckout"]))
    });
    if let Some(place) = sparse {
        return Some(not_in_source(&output).at(place).help(format!(
            "add `{output}` to `sparseCheckout`, or name another source in `flux.sourceRef`"
        )));
    }
    let prefix = source.and_then(|(origin, source)| {
        let prefix = source.spec.prefix.as_ref()?;
        (!file.as_str().starts_with(prefix.as_str())).then(|| origin.at(["spec", "prefix"]))
    });
    if let Some(place) = prefix {
        return Some(
            not_in_source(&output)
                .at(place)
                .help("remove `prefix`, or name another source in `flux.sourceRef`: a Bucket has one prefix only"),
        );
    }
    // The last matching pattern decides. Patterns of the object come last, and those of inner
    // directories after those of outer ones.
    let own = source.and_then(|(origin, source)| {
        let patterns = source.spec.ignore.as_ref()?;
        Some((patterns.clone(), Utf8PathBuf::new(), origin.at(["spec", "ignore"])))
    });
    let inner =
        repo.settings.output.ancestors().map(|directory| directory.join(IGNORE_FILE)).filter_map(
            |ignore| {
                let domain = flux.path.join(ignore.parent()?);
                Some((repo.files.text(&ignore)?, domain, Place::File(Arc::from(ignore.as_path()))))
            },
        );
    for (patterns, domain, place) in own.into_iter().chain(inner) {
        match verdict(&patterns, &domain, &file) {
            Some(true) => {
                return Some(not_in_source(&output).at(place).help(format!(
                    "end it with these lines:\n{}",
                    kept(output.strip_prefix(&domain).unwrap_or(&output))
                )));
            }
            Some(false) => return None,
            None => {}
        }
    }
    None
}

fn not_in_source(output: &Utf8Path) -> Finding {
    let message =
        format!("the Flux source excludes `{output}`: Flux does not see the generated files");
    Finding::new(Code::OutputNotInSource, message)
}

/// Returns whether patterns exclude a file; `None` if no pattern matches.
fn verdict(patterns: &str, domain: &Utf8Path, file: &Utf8Path) -> Option<bool> {
    let file = file.strip_prefix(domain).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in patterns.lines() {
        // An invalid line excludes nothing.
        let _ = builder.add_line(None, line);
    }
    let found = builder.build().ok()?;
    let found = found.matched_path_or_any_parents(file, false);
    (!found.is_none()).then(|| found.is_ignore())
}

/// Returns patterns that include a directory, regardless of earlier patterns.
fn kept(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() {
        return "!*".to_owned();
    }
    let mut above: Vec<&Utf8Path> =
        directory.ancestors().filter(|above| !above.as_str().is_empty()).collect();
    above.reverse();
    // git's rule: a file in an excluded directory cannot be kept, so each directory above is kept
    // and its other entries are excluded again.
    let lines: Vec<String> = above.iter().map(|directory| format!("!/{directory}")).collect();
    let between: Vec<String> = above.iter().map(|directory| format!("/{directory}/*")).collect();
    let lines =
        lines.iter().zip(between.iter().map(Some)).enumerate().flat_map(|(index, (keep, rest))| {
            let rest = rest.filter(|_| index + 1 < above.len());
            std::iter::once(keep.clone()).chain(rest.cloned())
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_keep_a_directory_keep_it_alone() {
        for output in ["overlays", "site/generated", "a/b/c"] {
            let lines = format!("/*\n{}", kept(output.into()));
            let has = |file: &str| verdict(&lines, "".into(), file.into());
            assert_eq!(
                has(&format!("{output}/agents/flux/kustomization.yaml")),
                Some(false),
                "{lines}"
            );
            assert_eq!(has("other/a.yaml"), Some(true), "{lines}");
        }
        let lines = format!("/*\n{}", kept("site/generated".into()));
        assert_eq!(verdict(&lines, "".into(), "site/other/a.yaml".into()), Some(true));
    }
}
