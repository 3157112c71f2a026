//! Checks of rendered files that are not on the disk: files on the disk were checked when they were
//! written.

use camino::Utf8Path;

use super::{Templates, verify};
use crate::base::api::host::SYNC_OPTIONS;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::credentials;
use crate::base::text::visible::is_unreadable;
use crate::base::text::yaml;
use crate::site::Site;
use crate::site::assembly::has_plain_secret;
use crate::site::inventory::Host;

/// A rendered file that is not on the disk with the same text.
#[derive(Clone, Copy)]
pub(super) struct NewFile<'a> {
    pub(super) site: &'a Site,
    pub(super) templates: &'a Templates,
    /// Relative to the output directory.
    pub(super) path: &'a Utf8Path,
    pub(super) text: &'a str,
}

impl NewFile<'_> {
    /// Reports what agents or other programs would misread in the file, and what git must not have.
    pub(super) fn findings(self) -> impl Iterator<Item = Finding> {
        let found = [self.unreadable(), self.variable(), self.credential(), self.character()];
        found.into_iter().flatten()
    }

    /// Reports an invalid file of hosts or agents. Other files were verified when their templates were
    /// rendered.
    fn unreadable(self) -> Option<Finding> {
        let is_ours_alone =
            self.path.starts_with(layout::HOSTS) || self.path.starts_with(layout::AGENTS);
        let unreadable = is_ours_alone.then(|| verify::manifests(self.text).err())??;
        Some(unreadable.finding(&self.site.settings.output.join(self.path), None))
    }

    /// Reports a variable that Flux would replace.
    fn variable(self) -> Option<Finding> {
        let Self { site, templates, path, text } = self;
        let has_hosts = path.starts_with(layout::HOSTS);
        // kustomize finds a host by the name that it has before Flux replaces the variables.
        let is_name = |at: &usize| {
            let line = text[..*at].rsplit('\n').next().unwrap_or_default();
            has_hosts && ["  name: ", "  namespace: "].iter().any(|field| line.starts_with(field))
        };
        let mut found = memchr::memmem::find_iter(text.as_bytes(), layout::VARIABLE.as_bytes());
        let at = found.find(|at| !is_name(at))?;
        let (places, help): (Vec<Place>, _) = if has_hosts {
            let is_variable = |host: &&Host| {
                host.sync_options.as_ref().is_some_and(|text| text.contains(layout::VARIABLE))
            };
            let hosts = site.inventory.hosts.iter().filter(is_variable);
            let place = |host: &Host| host.origin.at(["metadata", "annotations", SYNC_OPTIONS]);
            let help = "it comes from an annotation of a host: write it there without `${`";
            (hosts.map(place).collect(), help)
        } else {
            let help = "write it there without `${`, in a shell as `$NAME`";
            (templates.own_with(layout::VARIABLE, path), help)
        };
        let message = match places.first().filter(|_| !has_hosts) {
            // It is the same for all clusters, so that the findings are merged.
            Some(place) => format!(
                "the template {} renders `${{`, which Flux reads as a variable",
                place.file()
            ),
            None => format!(
                "{} would have `${{` in line {}, which Flux reads as a variable",
                site.settings.output.join(path),
                text[..at].matches('\n').count() + 1
            ),
        };
        let finding = Finding::new(Code::VariableRendered, message).at_each(places).help(help);
        Some(finding.for_clusters(&layout::cluster_of(path)))
    }

    /// Reports a credential, which would reach git. It is not shown.
    fn credential(self) -> Option<Finding> {
        let in_line = |(line, text): (usize, &str)| {
            Some(format!("{} in line {}", credentials::found(text, true)?, line + 1))
        };
        let is_plain = || self.templates.own_of(self.path).is_some() && has_plain_secret(self.text);
        let secret = || is_plain().then(|| "a Secret with values in plain text".to_owned());
        let credential = self.text.lines().enumerate().find_map(in_line).or_else(secret)?;
        let help = "remove it: rendered files go to git, and credentials belong in a Secret";
        Some(self.finding(Code::CredentialRendered, &credential, help))
    }

    /// Reports a character that makes other programs reject or misread the file.
    fn character(self) -> Option<Finding> {
        if yaml::has_usual_characters(self.text) {
            return None;
        }
        let mut lines = self.text.lines().enumerate();
        let (line, text) = lines.find(|(_, line)| line.contains(is_unreadable))?;
        let character = text.chars().find(|c| is_unreadable(*c))?.escape_unicode();
        let what = format!(
            "the character `{character}` in line {}, which other programs refuse or read as the end of the line",
            line + 1
        );
        Some(self.finding(Code::InvalidManifest, &what, "write the text without it"))
    }

    /// Reports what the file would have, at the repo's own template of the file, if there is one.
    fn finding(self, code: Code, what: &str, help: &str) -> Finding {
        let Self { site, templates, path, .. } = self;
        let message = format!("what would be {} has {what}", site.settings.output.join(path));
        let finding = Finding::new(code, message);
        let finding = match templates.own_of(path) {
            Some(template) => finding.at(Place::File(template.clone())).help(help),
            None => finding.help(format!(
                "{help}; it comes from a value of the inputs, or from a template that others include"
            )),
        };
        finding.for_clusters(&layout::cluster_of(path))
    }
}
