//! Validates settings.

use std::collections::BTreeMap;

use super::assignment::AssignmentSettings;
use super::files::SettingsFiles;
use super::provisioning::is_image;
use super::{Ignored, Settings, inside, inside_or_root};
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::names::{is_label, is_label_key};
use crate::base::finding::{Code, Finding, Place, Severity};
use crate::input::decode::label_selector::Mistake;
use crate::input::decode::spread_constraints;

impl Settings {
    /// Normalizes the settings and validates them.
    pub(super) fn check(&mut self, files: &SettingsFiles) -> Vec<Finding> {
        let mut findings = self.check_directories(files);
        findings.extend(mistakes(files, "sources", &mut self.sources, |source| source.mistake()));
        // Overlaps are only known of valid directories.
        if findings.is_empty() {
            findings.extend(self.check_overlaps(files));
        }
        findings.extend(self.check_labels(files));
        findings.extend(self.check_spread(files));
        findings.extend(self.check_outputs(files));
        findings.extend(mistakes(files, "reservations", &self.reservations, |it| it.mistake()));
        findings.extend(mistakes(files, "maintenance", &self.maintenance, |mark| mark.mistake()));
        findings.extend(mistakes(files, "quotas", &self.quotas, |quota| unusable(&quota.labels)));
        findings.extend(self.check_assignment(files));
        findings.extend(self.check_ignored(files));
        if self.provisioning.image.as_deref().is_some_and(|image| !is_image(image)) {
            // The value is not shown, because it may be a URL with a password.
            let message = "`provisioning.image` is not a valid image reference";
            let help = "write registry, path and tag, such as `registry.example.com/platform/installer:1.4`, \
                        without scheme or credentials; nodes use their own registry credentials";
            findings.push(invalid(message, files.key("provisioning", "image"), help));
        }
        if self.gitops == Some(GitopsAgent::Argocd) && self.argocd.repo_url.is_none() {
            let message = "`gitops: argocd` requires `argocd.repoURL`, the URL of this repo";
            let help = "add the URL that Argo CD uses, such as \
                        `argocd: {repoURL: \"https://git.example.com/fleet.git\"}`";
            findings.push(invalid(message, files.setting("gitops"), help));
        }
        findings
    }

    fn check_directories(&mut self, files: &SettingsFiles) -> Vec<Finding> {
        let (repo, source) = (("the repo", "the repo's"), ("the agent's source", "the source's"));
        let directories = [
            ("output", Some(&mut self.output), repo),
            ("templates", self.templates.as_mut(), repo),
            ("snapshot.directory", Some(&mut self.snapshot.directory), repo),
            ("flux.path", Some(&mut self.flux.path), source),
            ("argocd.path", Some(&mut self.argocd.path), source),
        ];
        let mut findings = Vec::new();
        for (name, directory, top) in directories {
            let Some(directory) = directory else { continue };
            let plain = if top == repo { inside(directory) } else { inside_or_root(directory) };
            match plain {
                Some(plain) => *directory = plain,
                None => findings.push(invalid(
                    format!("`{name}: {directory}` is not a directory inside {}", top.0),
                    files.setting(name),
                    format!("write `{name}` as a path relative to {} root, without `..`", top.1),
                )),
            }
        }
        findings
    }

    fn check_overlaps(&self, files: &SettingsFiles) -> Vec<Finding> {
        let (snapshot, output) = (&self.snapshot.directory, &self.output);
        let mut findings = mistakes(files, "sources", &self.sources, |source| {
            source.kustomization.as_ref().filter(|directory| directory.starts_with(output))?;
            let help =
                "choose the kustomization of your own hosts; generated files are never inputs";
            let problem = format!("is in the output directory `{output}`");
            Some(InvalidField::new("kustomization", problem, help))
        });
        if self.overlaps_output(snapshot) {
            findings.push(invalid(
                format!("`snapshot.directory: {snapshot}` and the output directory `{output}` overlap"),
                files.setting("snapshot.directory"),
                "choose a separate directory for `snapshot.directory`; generated files are never inputs",
            ));
        }
        findings
    }

    fn check_outputs(&self, files: &SettingsFiles) -> Vec<Finding> {
        if self.templates.is_none() && !self.outputs.iter().all(|output| output.adds_metadata()) {
            let help = "write `templates: my-templates`; the templates of output `x` are in my-templates/outputs/x/";
            let message = "`outputs` requires `templates`, the directory with their templates";
            return vec![invalid(message, files.setting("outputs"), help)];
        }
        mistakes(files, "outputs", self.outputs.iter().enumerate(), |(index, output)| {
            output.mistake(&self.outputs[..index], &self.assignment)
        })
    }

    fn check_assignment(&self, files: &SettingsFiles) -> Option<Finding> {
        let AssignmentSettings { labels, former } = &self.assignment;
        let key = labels.conflict(former.as_ref()?)?;
        let place = files.place(vec!["assignment".into(), "former".into(), key.into()]);
        let message = format!(
            "`assignment.labels` and `assignment.former` give the label `{key}` different values"
        );
        let help = "move in two steps: first to labels with other keys";
        Some(invalid(message, place, help))
    }

    /// Checks label keys: one that no label can have would silently select nothing.
    fn check_labels(&self, files: &SettingsFiles) -> Vec<Finding> {
        let labels = [
            ("topology.rack", &self.topology.rack),
            ("topology.host", &self.topology.host),
            ("snapshot.splitBy", &self.snapshot.split_by),
            (
                "requests.clusterAPI.controlPlaneTopologyKey",
                &self.requests.cluster_api.control_plane_topology_key,
            ),
        ];
        let finding = |(name, label): (&str, &Option<String>)| {
            let label = label.as_ref().filter(|label| !is_label_key(label))?;
            Some(invalid(
                format!("`{name}: {label}` is not a valid label key"),
                files.setting(name),
                "write the key of a host label, such as `topology.example.com/rack`",
            ))
        };
        labels.into_iter().filter_map(finding).collect()
    }

    fn check_spread(&self, files: &SettingsFiles) -> Vec<Finding> {
        let checked = spread_constraints::validate(&self.topology.default_constraints);
        let finding = |Mistake { route, message, help, .. }| {
            let list = ["topology".into(), "defaultConstraints".into()];
            invalid(message, files.place(list.into_iter().chain(route).collect()), help)
        };
        checked.err().into_iter().flatten().map(finding).collect()
    }

    fn check_ignored(&self, files: &SettingsFiles) -> Vec<Finding> {
        let finding = |(index, ignored): (usize, &Ignored)| {
            let Ignored { code, reason } = ignored;
            let place = |field: &str| {
                let route = ["findings".into(), "ignore".into(), index.into(), field.into()];
                files.place(route.to_vec())
            };
            if code.severity() == Severity::Error {
                let message = format!("{code} is an error; only warnings can be ignored");
                let help = format!("run `sipgen explain {code}` to see how to fix it");
                return Some(invalid(message, place("code"), help));
            }
            reason.trim().is_empty().then(|| {
                let message = format!("`reason` for ignoring {code} is empty");
                invalid(message, place("reason"), "write the reason, for later readers")
            })
        };
        let ignored = self.findings.ignore.iter().enumerate();
        ignored.filter_map(finding).collect()
    }
}

/// An invalid field of an entry in a list of settings.
pub(super) struct InvalidField {
    field: &'static str,
    problem: String,
    help: &'static str,
}

impl InvalidField {
    pub(super) fn new(field: &'static str, problem: impl Into<String>, help: &'static str) -> Self {
        Self { field, problem: problem.into(), help }
    }
}

/// Returns findings about invalid entries of a list with this key. `mistake` returns the invalid
/// field of an entry.
fn mistakes<T>(
    files: &SettingsFiles,
    list: &'static str,
    entries: impl IntoIterator<Item = T>,
    mistake: impl Fn(T) -> Option<InvalidField>,
) -> Vec<Finding> {
    let entry_name = list.strip_suffix('s').unwrap_or("maintenance mark");
    let finding = |(index, entry): (usize, T)| {
        let InvalidField { field, problem, help } = mistake(entry)?;
        let place = files.place(vec![list.into(), index.into(), field.into()]);
        Some(invalid(format!("`{field}` of {entry_name} {} {problem}", index + 1), place, help))
    };
    entries.into_iter().enumerate().filter_map(finding).collect()
}

/// Returns the mistake of labels that no host can have.
pub(super) fn unusable(labels: &BTreeMap<String, String>) -> Option<InvalidField> {
    let (key, value) = labels.iter().find(|(key, value)| !is_label(key, value))?;
    let problem = format!("has `{key}: {value}`, which is not a label that a host can have");
    Some(InvalidField::new("labels", problem, "write the labels of the hosts"))
}

/// Returns the finding for an invalid setting.
pub(super) fn invalid(
    message: impl Into<String>,
    place: Place,
    help: impl Into<String>,
) -> Finding {
    Finding::new(Code::InvalidSetting, message).at(place).help(help)
}
