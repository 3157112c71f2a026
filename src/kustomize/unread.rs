//! Parts of builds that sipgen does not read.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Builds, Node, join};
use crate::api::kustomization::has;
use crate::finding::{Place, Step};

/// A part of a build that is not read.
#[derive(Debug, Clone)]
pub(crate) struct UnreadPart {
    pub(crate) place: Place,
    /// The entry or field as written.
    pub(crate) name: String,
    /// The path of the entry; `None` if it is not in this repo.
    pub(crate) path: Option<Utf8PathBuf>,
    /// The kustomization's file.
    pub(crate) by: Utf8PathBuf,
}

impl Builds {
    /// Returns the parts of a directory's build that are neither kustomizations nor files: remote
    /// bases, and objects that other programs generate. Also returns its files, each with the entry
    /// that lists it.
    pub(crate) fn parts(
        &self,
        directory: &Utf8Path,
    ) -> (Vec<UnreadPart>, BTreeMap<Utf8PathBuf, UnreadPart>) {
        let (mut elsewhere, mut files) = (Vec::new(), BTreeMap::new());
        for node in self
            .made_of(directory)
            .into_iter()
            .filter_map(|inner| self.nodes.get(inner))
        {
            for part in node.entries() {
                match &part.path {
                    None => elsewhere.push(part),
                    Some(path) if self.nodes.contains_key(path) => {}
                    Some(path) => {
                        files.entry(path.clone()).or_insert(part);
                    }
                }
            }
            elsewhere.extend(node.generated_elsewhere());
        }
        (elsewhere, files)
    }

    /// Returns the directories of the kustomizations that list a path.
    pub(crate) fn listed_by(&self, path: &Utf8Path) -> impl Iterator<Item = &Utf8Path> {
        let lists =
            move |(_, node): &(&Utf8PathBuf, &Node)| node.listed().any(|listed| listed == path);
        self.nodes
            .iter()
            .filter(lists)
            .map(|(directory, _)| directory.as_path())
    }
}

impl Node {
    /// Returns the entries of its lists.
    fn entries(&self) -> impl Iterator<Item = UnreadPart> {
        let own = self.file.parent().unwrap_or(Utf8Path::new(""));
        let lists = [
            ("resources", &self.kustomization.resources),
            ("bases", &self.kustomization.bases),
            ("components", &self.kustomization.components),
        ];
        lists.into_iter().flat_map(move |(list, entries)| {
            entries
                .iter()
                .flatten()
                .enumerate()
                .map(move |(index, entry)| UnreadPart {
                    place: self.origin.at([Step::from(list), Step::from(index)]),
                    name: entry.clone(),
                    path: join(own, entry),
                    by: self.file.to_path_buf(),
                })
        })
    }

    /// Returns the fields whose objects other programs generate.
    fn generated_elsewhere(&self) -> impl Iterator<Item = UnreadPart> {
        let kustomization = &self.kustomization;
        let fields = [
            ("generators", has(&kustomization.generators)),
            ("helmCharts", has(&kustomization.helm_charts)),
            (
                "helmChartInflationGenerator",
                has(&kustomization.helm_chart_inflation_generator),
            ),
        ];
        let present = fields.into_iter().filter(|(_, is_present)| *is_present);
        present.map(|(field, _)| UnreadPart {
            place: self.origin.at([field]),
            name: field.to_owned(),
            path: None,
            by: self.file.to_path_buf(),
        })
    }
}
