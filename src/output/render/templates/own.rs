//! The repo's own templates: the files that they render, and files that are no templates.

use std::sync::Arc;

use camino::Utf8Path;

use super::{PARTIALS, Templates, embedded, names};
use crate::base::api::service_kind::ServiceKind;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::layout::outputs::{self, OUTPUTS};
use crate::base::text::suggest;
use crate::input::settings::outputs::OutputSettings;

impl Templates {
    /// Returns the templates of the repo's own below a directory, by their names, with their paths
    /// relative to it.
    pub(in crate::output::render) fn own_below<'t>(
        &'t self,
        directory: &Utf8Path,
    ) -> impl Iterator<Item = (&'t str, &'t Utf8Path)> + use<'t> {
        let start = format!("{directory}/");
        let from = self.replaced.range(start.clone()..);
        from.map_while(move |(name, _)| Some((name.as_str(), name.strip_prefix(&start)?.into())))
    }

    /// Adds the place of the repo's own template for a file to a finding.
    pub(in crate::output::render) fn at_own(&self, finding: Finding, path: &Utf8Path) -> Finding {
        finding.at_each(self.own_of(path).map(|own| Place::File(own.clone())))
    }

    /// Returns the file of the repo's own template, if any.
    pub(crate) fn own_file(&self, name: &str) -> Option<&Arc<Utf8Path>> {
        self.replaced.get(name)
    }

    /// Returns the repo's own template for a file. The path is relative to the output directory.
    pub(in crate::output::render) fn own_of(&self, path: &Utf8Path) -> Option<&Arc<Utf8Path>> {
        let makes = |name: &str| {
            if path.starts_with(layout::SHARED) {
                let made_in = Utf8Path::new(name).parent()?;
                let directory = made_in.parent().filter(|_| made_in.ends_with(layout::SHARED))?;
                let hash = path.parent()?.file_name()?;
                let made = layout::shared_directory(directory, hash).join(path.file_name()?);
                return Some(path == made && path.file_name() == Utf8Path::new(name).file_name());
            }
            if name.starts_with(OUTPUTS) {
                return Some(outputs::renders(name, path));
            }
            let (directory, below) = name.split_once('/')?;
            let made_in = Utf8Path::new(path.as_str().strip_suffix(below)?.strip_suffix('/')?);
            // Files of a cluster are in a directory such as `clusters/NAMESPACE/NAME`. Those of a
            // service or an installer are in a directory below it.
            Some(match made_in.iter().count() {
                3 => made_in.iter().next()?.strip_suffix('s')? == directory,
                _ => {
                    let part = made_in.file_name()?;
                    let kind = ServiceKind::with_directory(part);
                    part == directory || kind.is_some_and(|kind| kind.templates == directory)
                }
            })
        };
        self.replaced.iter().find(|(name, _)| makes(name) == Some(true)).map(|(_, file)| file)
    }

    /// Returns the places of a text in the repo's own template for a file, or else in included
    /// templates.
    pub(in crate::output::render) fn own_with(&self, text: &str, path: &Utf8Path) -> Vec<Place> {
        let maker = self.own_of(path);
        let spot = |name: &str, file: &Arc<Utf8Path>| {
            let (source, _) = self.sources.get(name)?;
            let (line, column) = source.lines().enumerate().find_map(|(line, content)| {
                let before = content.get(..content.find(text)?)?;
                Some((line + 1, before.chars().count() + 1))
            })?;
            Some(Place::Spot(file.clone(), line, Some(column)))
        };
        let (makers, partials): (Vec<_>, Vec<_>) =
            self.replaced.iter().partition(|(_, file)| maker.is_some_and(|maker| maker == *file));
        let by_maker: Vec<Place> =
            makers.into_iter().filter_map(|(name, file)| spot(name, file)).collect();
        if !by_maker.is_empty() {
            return by_maker;
        }
        let included = partials.into_iter().filter(|(name, _)| name.starts_with(PARTIALS));
        included.filter_map(|(name, file)| spot(name, file)).collect()
    }
}

/// Reports a file among a repo's own templates that replaces no template and that no output has.
pub(super) fn misplaced(
    directory: &Utf8Path,
    file: &Utf8Path,
    name: &str,
    outputs: &[OutputSettings],
) -> Option<Finding> {
    if embedded(name).is_some() || name.starts_with(PARTIALS) {
        return None;
    }
    let (problem, help) = match Utf8Path::new(name).strip_prefix(OUTPUTS) {
        Ok(below) => ("belongs to no output", output_advice(directory, below, outputs)?),
        Err(_) => {
            let meant = match alike(name) {
                Some(alike) => format!("did you mean {directory}/{alike}?"),
                None => "`sipgen template list` prints the templates.".to_owned(),
            };
            let help = format!(
                "{meant} Put a template that only others include below {directory}/{PARTIALS}"
            );
            ("replaces no built-in template", help)
        }
    };
    let finding = Finding::new(Code::TemplateUnused, format!("{file} {problem}"));
    Some(finding.at(Place::File(Arc::from(file))).help(help))
}

/// Returns what to do with a file that no output has. `below` is its path below the directory of
/// outputs.
fn output_advice(
    directory: &Utf8Path,
    below: &Utf8Path,
    outputs: &[OutputSettings],
) -> Option<String> {
    let known = outputs.iter().map(|output| output.name.as_str());
    let Some(name) = below.iter().next().filter(|name| below.as_str() != *name) else {
        return Some(format!("move it to {directory}/{OUTPUTS}/NAME/, where NAME is an output"));
    };
    if known.clone().any(|known| known == name) {
        return None;
    }
    Some(match suggest::alike(name, known) {
        Some(alike) => format!("did you mean {directory}/{OUTPUTS}/{alike}/?"),
        None => format!("add `{{name: {name}, scope: cluster}}` to `outputs` in sipgen.yaml"),
    })
}

/// Returns the built-in template that was probably meant: one whose directory and file name are
/// both near, or the only one with this file name.
pub fn alike(name: &str) -> Option<&'static str> {
    let (directory, file) = directory_and_file(name);
    let distance = |known: &str| {
        let (known_directory, known_file) = directory_and_file(known);
        let directories = suggest::slips(directory, known_directory)?;
        Some(directories + suggest::slips(file, known_file)?)
    };
    let near = names().filter_map(|known| Some((distance(known)?, known)));
    near.min().map(|(_, known)| known).or_else(|| {
        let mut same = names().filter(|known| directory_and_file(known).1 == file);
        same.next().filter(|_| same.next().is_none())
    })
}

fn directory_and_file(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;

    #[test]
    fn only_a_near_template_is_suggested() {
        assert_eq!(alike("loadbalancers/haproxy.cfg"), Some("loadbalancer/haproxy.cfg"));
        assert_eq!(alike("haproxy.cfg"), Some("loadbalancer/haproxy.cfg"));
        assert_eq!(alike("loadbalancr/haproxy.cgf"), Some("loadbalancer/haproxy.cfg"));
        assert_eq!(alike("jumphosts/kustomization.yaml"), Some("jumphost/kustomization.yaml"));
        for far in ["notes/readme.txt", "x/kustomization.yaml", "crds/kustomization.yaml", "x/y"] {
            assert_eq!(alike(far), None, "{far}");
        }
    }

    /// Returns the templates of a repo that replaces all of them.
    fn all_replaced() -> Templates {
        let own =
            names().map(|name| (Utf8PathBuf::from(format!("own/{name}")), String::new())).collect();
        Templates::new("own".into(), own, &[]).0
    }

    #[test]
    fn a_file_is_made_by_the_template_of_its_kind_of_service() {
        let templates = all_replaced();
        for (file, template) in [
            (
                "clusters/tenant-a/edge/loadbalancer-worker2/haproxy.cfg",
                "own/loadbalancer/haproxy.cfg",
            ),
            (
                "clusters/tenant-a/edge/jumphost/kustomization.yaml",
                "own/jumphost/kustomization.yaml",
            ),
            ("clusters/tenant-a/auth/kustomization.yaml", "own/cluster/kustomization.yaml"),
            ("clusters/tenant-a/edge/installer/job.yaml", "own/installer/job.yaml"),
            (
                "clusters/tenant-a/edge/auth/kubeadm/kustomization.yaml",
                "own/auth/kubeadm/kustomization.yaml",
            ),
            (
                "tenants/tenant-a/edge/endpoints/endpoints.yaml",
                "own/tenant/endpoints/endpoints.yaml",
            ),
            ("crds/dex/crds.yaml", "own/crds/dex/crds.yaml"),
            (
                "shared/auth-kubeadm/0a1b/kustomization.yaml",
                "own/auth/kubeadm/shared/kustomization.yaml",
            ),
            (
                "shared/loadbalancer/0a1b/kustomization.yaml",
                "own/loadbalancer/shared/kustomization.yaml",
            ),
        ] {
            let made_by = templates.own_of(Utf8Path::new(file)).map(|file| file.as_str());
            assert_eq!(made_by, Some(template), "{file}");
        }
        assert_eq!(
            templates.own_of(Utf8Path::new("hosts/declared/racks/kustomization.yaml")),
            None
        );
    }
}
