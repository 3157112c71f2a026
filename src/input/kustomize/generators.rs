//! ConfigMap and Secret generators of kustomizations, and the builds that reach them.

use camino::Utf8PathBuf;

use super::{Builds, FileReach, join};
use crate::base::api::kustomization::KustomizeGenerator;
use crate::base::finding::{DocumentField, Origin, Place, RouteStep};

/// A generator of a kustomization that a build reaches.
#[derive(Debug)]
pub struct ReachedGenerator<'a> {
    /// Kustomization that has it.
    pub origin: &'a Origin,
    /// The generator.
    pub generator: &'a KustomizeGenerator,
    /// Builds that reach it.
    pub reaches: &'a [FileReach],
    list: &'static str,
    index: usize,
}

impl ReachedGenerator<'_> {
    /// Returns whether it generates a Secret.
    pub fn is_secret(&self) -> bool {
        self.list == "secretGenerator"
    }

    /// Returns an entry in one of the generator's lists.
    pub fn entry(&self, list: &str, index: usize) -> DocumentField {
        let route = [RouteStep::from(self.list), self.index.into(), list.into(), index.into()];
        DocumentField::new(self.origin, route)
    }

    /// Returns the place of the generated object's name.
    pub fn place_of_name(&self) -> Place {
        self.origin.at([RouteStep::from(self.list), self.index.into(), "name".into()])
    }

    /// Resolves a file of the generator relative to the repo's root.
    pub fn path(&self, file: &str) -> Option<Utf8PathBuf> {
        join(self.origin.file.parent()?, file)
    }
}

impl Builds {
    /// Returns the generators of all kustomizations, sorted by directory.
    pub fn generated(&self) -> impl Iterator<Item = ReachedGenerator<'_>> {
        self.nodes.values().flat_map(|node| {
            node.kustomization.all_generators().map(|(list, index, generator)| ReachedGenerator {
                origin: &node.origin,
                generator,
                reaches: self.reach(&node.origin.file),
                list,
                index,
            })
        })
    }
}
