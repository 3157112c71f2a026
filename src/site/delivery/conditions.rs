//! Conditions that prevent Flux from applying the output: missing decryption, plugins, sources that
//! exclude it.
//!
//! The rules are those of Flux's source-controller and kustomize-controller.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::applied::AppliedDirectory;
use super::directories::FLUX;
use super::paths::{IGNORE_FILE, SourcePatterns};
use super::repo::{DeliveryRepo, shown};
use super::{Component, DeliveryWiring, ReachedContent, includes};
use crate::base::api::flux::FluxSource;
use crate::base::api::gitops::{AgentObjectName, GIT_REPOSITORY, GitopsAgent};
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::layout;
use crate::base::text::counted;
use crate::input::kustomize::BuildRoot;
use crate::input::load::sops;
use crate::input::settings::gitops::{HostsForm, SourceRef};
use crate::input::settings::{self, Settings, sources};
use crate::site::inventory::Host;

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
    let is_applied = |(index, _): &(&usize, &BuildRoot)| {
        let component = wiring.components.get(index).filter(|component| component.included);
        let has = |reached: &ReachedContent<'_>| {
            let has_component = |it: &Component| reached.kustomizations.contains(&*it.directory);
            reached.overlays.contains(index) || component.is_some_and(has_component)
        };
        is_chosen || reached.iter().filter(is_by_flux).any(has)
    };
    let roots: Vec<(&usize, &BuildRoot)> = repo.inventory.roots.iter().filter(is_applied).collect();
    let listing = reached.iter().filter(is_by_flux).filter(|it| !it.overlays.is_empty());
    let built = roots.iter().map(|(_, root)| root.directory.as_path());
    let built: BTreeSet<&Utf8Path> = built.chain(listing.flat_map(|it| it.tops.clone())).collect();
    let unbuildable = built.into_iter().filter_map(|directory| unbuildable(repo, directory));
    let source = repo.context.sources.iter().find(|(_, source)| repo.is_source_of_settings(source));
    let over_output = source
        .filter(|_| is_chosen)
        .and_then(|(origin, source)| includes::over_output(repo, origin, source));
    let found = over_output.or_else(|| left_out(repo, source, is_chosen, &roots));
    let mut findings: Vec<Finding> = found.into_iter().chain(unbuildable).collect();
    if is_chosen {
        findings.extend(without_namespace(repo));
        findings.extend(unknown_source(repo));
        findings.extend(not_decrypted(repo, wiring, applied));
        findings.extend(waiting_for_itself(repo, applied));
    }
    findings
}

/// Reports objects that wait for the services, although what applies these waits for the objects.
fn waiting_for_itself<'a>(
    repo: &DeliveryRepo<'_>,
    applied: &'a [AppliedDirectory],
) -> impl Iterator<Item = Finding> + use<'a> {
    let flux = &repo.settings.flux;
    let services = flux.after_services();
    let name = format!("{FLUX} {}/{services}", flux.namespace);
    let needed_first = needed_first(repo.settings, applied);
    let waits = move |applied: &&AppliedDirectory| {
        needed_first.contains(&applied.by) && applied.depends_on.contains(&name)
    };
    applied.iter().filter(waits).map(move |AppliedDirectory { by, place, .. }| {
        let message = format!(
            "{by} waits for `{services}`, and what applies that waits for it: Flux applies neither"
        );
        Finding::new(Code::AgentCannotApply, message)
            .at(place.clone())
            .help("remove the `dependsOn` of one of them")
    })
}

/// Returns the objects that Flux applies before the objects that sipgen writes for it, because those
/// that apply them wait for these.
fn needed_first(settings: &Settings, applied: &[AppliedDirectory]) -> BTreeSet<String> {
    let own = settings.output.join(layout::agent_directory(GitopsAgent::Flux));
    let by_name: BTreeMap<&str, &AppliedDirectory> =
        applied.iter().map(|applied| (applied.by.as_str(), applied)).collect();
    let mut left: Vec<&AppliedDirectory> =
        applied.iter().filter(|applied| own.starts_with(&applied.directory)).collect();
    let mut needed = BTreeSet::new();
    while let Some(waiting) = left.pop() {
        for name in &waiting.depends_on {
            if needed.insert(name.clone()) {
                left.extend(by_name.get(name.as_str()));
            }
        }
    }
    needed
}

/// Reports hosts without a namespace: Flux has no default one.
fn without_namespace(repo: &DeliveryRepo<'_>) -> Option<Finding> {
    let lacks_one = |host: &&Host| host.applied_root().is_some() && !repo.has_namespace(host);
    let hosts: Vec<&Host> = repo.inventory.hosts.iter().filter(lacks_one).collect();
    let count = counted(hosts.len(), "host");
    let message =
        format!("nothing gives {count} a namespace, so Flux applies nothing of the build");
    let names = hosts.iter().map(|host| host.origin.name());
    let finding = Finding::new(Code::InvalidName, message).at_each(names);
    let help = "write `metadata.namespace`, or `namespace` in the kustomization of the hosts";
    (!hosts.is_empty()).then(|| finding.help(help))
}

/// Reports that sipgen's Kustomizations name a source by default, and the repo's FluxInstance makes
/// another one.
fn unknown_source(repo: &DeliveryRepo<'_>) -> Option<Finding> {
    let (flux, context) = (&repo.settings.flux, repo.context);
    let mut known = context.sources.iter().chain(&context.instance_sources);
    let (origin, FluxSource { kind, metadata, .. }) = context.instance_sources.first()?;
    if flux.source_ref != SourceRef::default()
        || known.any(|(_, source)| repo.is_source_of_settings(source))
    {
        return None;
    }
    let AgentObjectName { name, namespace } = metadata;
    let other = namespace.as_ref().filter(|namespace| **namespace != flux.namespace.as_str());
    let namespace = other.map(|namespace| format!(", namespace: {namespace}")).unwrap_or_default();
    let message = format!(
        "the FluxInstance makes the {kind} `{name}`, and the Kustomizations that sipgen writes name the {} `{}`",
        flux.source_ref.kind, flux.source_ref.name
    );
    Some(Finding::new(Code::AgentCannotApply, message).at(origin.at(["spec", "sync"])).help(
        format!(
            "write in {}, below `flux`:\nsourceRef: {{kind: {kind}, name: {name}{namespace}}}",
            settings::FILE
        ),
    ))
}

/// Reports a build of hosts that needs Helm or a plugin, which Flux's kustomize-controller disables.
fn unbuildable(repo: &DeliveryRepo<'_>, directory: &Utf8Path) -> Option<Finding> {
    let (field, place) = repo.builds.plugin(directory, |file| repo.files.text(file))?;
    let message = format!(
        "Flux cannot build the hosts of {}: `{field}` needs Helm or a plugin, and Flux starts neither",
        shown(directory)
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
        // An object that applies such a directory has ended the run.
        if settings.may_read(directory) {
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
        applied.iter().filter(is_in).map(finding).collect()
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

/// A path of a source that Flux needs: its directory, which is to be kept, and a file in it.
type NeededPath = (Utf8PathBuf, Utf8PathBuf);

/// Reports a Flux source that excludes files of the output, or those that overlays build on.
fn left_out(
    repo: &DeliveryRepo<'_>,
    source: Option<&(Origin, FluxSource)>,
    is_chosen: bool,
    roots: &[(&usize, &BuildRoot)],
) -> Option<Finding> {
    let in_source = |path: &Utf8Path| repo.settings.flux.path.join(path);
    let output = in_source(&repo.settings.output);
    let generated =
        |directory: &Utf8Path| (output.clone(), output.join(directory).join(layout::KUSTOMIZATION));
    let [shared, clusters] = [layout::SHARED, layout::CLUSTERS].map(|it| generated(it.into()));
    let mut needed: Vec<NeededPath> = Vec::new();
    if is_chosen {
        needed.push(generated(&layout::agent_directory(GitopsAgent::Flux)));
        needed.push(shared.clone());
    }
    for (_, root) in roots {
        needed.push(generated(&layout::declared_directory(&root.directory)));
        let own = in_source(&root.directory);
        let kustomizations = repo.builds.made_of(&root.directory).into_iter();
        let kustomizations = kustomizations.map(|directory| directory.join(layout::KUSTOMIZATION));
        let files: BTreeSet<Utf8PathBuf> =
            repo.builds.below(&root.directory).into_keys().chain(kustomizations).collect();
        needed.extend(files.iter().map(|file| {
            let file = in_source(file);
            let above = file.parent().unwrap_or(Utf8Path::new(""));
            (if file.starts_with(&own) { own.clone() } else { above.to_owned() }, file)
        }));
    }
    let rules = SourceRules::new(repo, source, &needed);
    let excluded = needed.iter().find_map(|path| {
        // Without services, nothing refers to the shared files.
        let is_idle = || *path == shared && rules.exclusion(&clusters).is_some();
        let exclusion = rules.exclusion(path)?;
        (!is_idle()).then_some((path, exclusion))
    });
    let ((directory, file), (place, help)) = excluded?;
    let message = if *directory == output {
        format!("the Flux source excludes `{output}`: Flux does not see the generated files")
    } else {
        format!(
            "the Flux source excludes `{file}`: Flux cannot build the hosts there with their labels"
        )
    };
    Some(Finding::new(Code::OutputNotInSource, message).at(place).help(help))
}

/// Patterns of a file or object that exclude files of a source.
struct IgnorePatterns {
    text: String,
    /// Directory in the source.
    domain: Utf8PathBuf,
    place: Place,
    patterns: SourcePatterns,
}

/// The fields and files that exclude files of a source.
struct SourceRules<'a> {
    source: Option<&'a (Origin, FluxSource)>,
    /// The last matching pattern decides, so the last patterns come first: those of the object, and
    /// those of inner directories before outer ones.
    patterns: Vec<IgnorePatterns>,
    /// Directories of submodules that the source does not fetch.
    submodules: Vec<Utf8PathBuf>,
    needed: &'a [NeededPath],
}

impl<'a> SourceRules<'a> {
    fn new(
        repo: &DeliveryRepo<'_>,
        source: Option<&'a (Origin, FluxSource)>,
        needed: &'a [NeededPath],
    ) -> Self {
        let own = source.and_then(|(origin, source)| {
            let place = origin.at(["spec", "ignore"]);
            Some(IgnorePatterns::new(source.spec.ignore.clone()?, "".into(), place))
        });
        let domains: BTreeSet<&Utf8Path> =
            needed.iter().flat_map(|(_, file)| file.ancestors().skip(1)).collect();
        let inner = domains.into_iter().rev().filter_map(|domain| {
            let file = domain.strip_prefix(&repo.settings.flux.path).ok()?.join(IGNORE_FILE);
            let text = repo.files.text(&file)?;
            Some(IgnorePatterns::new(text, domain, Place::File(Arc::from(file))))
        });
        let patterns = own.into_iter().chain(inner).collect();
        let is_git = |source: &FluxSource| {
            source.kind == GIT_REPOSITORY && source.spec.recurse_submodules != Some(true)
        };
        let is_partial = source.is_some_and(|(_, source)| is_git(source));
        let submodules = if is_partial { repo.files.submodules() } else { Vec::new() };
        Self { source, patterns, submodules, needed }
    }

    /// Returns what excludes a path, and the remedy.
    fn exclusion(&self, (directory, file): &NeededPath) -> Option<(Place, String)> {
        if let Some((origin, source)) = self.source {
            // Without entries, everything is checked out.
            let sparse = source.spec.sparse_checkout.as_ref().filter(|it| !it.is_empty());
            let has = |directory: &String| {
                file.starts_with(directory.trim_start_matches("./").trim_end_matches('/'))
            };
            let way_out = "name another source in `flux.sourceRef`";
            if sparse.is_some_and(|directories| !directories.iter().any(has)) {
                let help = format!("add `{directory}` to `sparseCheckout`, or {way_out}");
                return Some((origin.at(["spec", "sparseCheckout"]), help));
            }
            if self.submodules.iter().any(|submodule| file.starts_with(submodule)) {
                let help = format!("write `recurseSubmodules: true` in its `spec`, or {way_out}");
                return Some((origin.at(["spec"]), help));
            }
            let prefix = source.spec.prefix.as_ref();
            if prefix.is_some_and(|prefix| !file.as_str().starts_with(prefix.as_str())) {
                let help = format!("remove `prefix`, or {way_out}: a Bucket has one prefix only");
                return Some((origin.at(["spec", "prefix"]), help));
            }
        }
        let mut verdicts = self.patterns.iter().filter_map(|patterns| {
            let file = file.strip_prefix(&patterns.domain).ok()?;
            Some((patterns, patterns.patterns.excludes(file)?))
        });
        let (patterns, is_excluded) = verdicts.next()?;
        is_excluded.then(|| {
            let lines = patterns.kept(self.needed);
            (patterns.place.clone(), format!("end it with these lines:\n{lines}"))
        })
    }
}

impl IgnorePatterns {
    fn new(text: String, domain: &Utf8Path, place: Place) -> Self {
        let patterns = SourcePatterns::new(&text);
        Self { text, domain: domain.to_owned(), place, patterns }
    }

    /// Returns the lines at their end that keep what Flux needs, and little else.
    fn kept(&self, needed: &[NeededPath]) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (directory, file) in needed {
            let Ok(file) = file.strip_prefix(&self.domain) else { continue };
            let all = SourcePatterns::new(&format!("{}\n{}", self.text, lines.join("\n")));
            if all.excludes(file) == Some(true) {
                lines.push(match directory.strip_prefix(&self.domain) {
                    Ok(below) if below.as_str().is_empty() => format!("!/{file}"),
                    Ok(directory) => format!("!/{directory}"),
                    // The patterns are inside of it.
                    Err(_) => "!*".to_owned(),
                });
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_keep_directories_keep_these_alone() {
        let needed = ["overlays", "site/generated", "site/hosts", "a/b/c"]
            .map(|directory| (directory.into(), Utf8Path::new(directory).join("x.yaml")));
        for text in ["/*", "*", "site/\n/*", "overlays\nsite/*\n!site/clusters\n/a/b"] {
            let patterns = IgnorePatterns::new(
                text.to_owned(),
                "".into(),
                Place::File(Arc::from(Utf8Path::new("x"))),
            );
            let lines = format!("{text}\n{}", patterns.kept(&needed));
            let has = |file: &Utf8Path| SourcePatterns::new(&lines).excludes(file) != Some(true);
            for (_, file) in &needed {
                assert!(has(file), "{file}: {lines}");
            }
            let others = ["other/a.yaml", "site/clusters/x.yaml", "a/b/d.yaml"];
            for file in others.map(Utf8Path::new) {
                assert_eq!(
                    has(file),
                    patterns.patterns.excludes(file) != Some(true),
                    "{file}: {lines}"
                );
            }
        }
    }

    #[test]
    fn patterns_inside_of_a_needed_directory_are_undone_there() {
        let place = Place::File(Arc::from(Utf8Path::new("overlays/hosts/.sourceignore")));
        let patterns = IgnorePatterns::new("*.yaml".to_owned(), "overlays/hosts".into(), place);
        let needed = [("overlays".into(), "overlays/hosts/a/kustomization.yaml".into())];
        let lines = format!("*.yaml\n{}", patterns.kept(&needed));
        for file in ["a/kustomization.yaml", "b/t.web.yaml"] {
            assert_ne!(SourcePatterns::new(&lines).excludes(file.into()), Some(true), "{lines}");
        }
    }
}
