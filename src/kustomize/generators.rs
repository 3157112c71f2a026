//! What the generators of kustomizations make, and where builds put it.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Builds, Reach, join};
use crate::api::kustomization::Generator;
use crate::finding::{Origin, Place, Step};

/// A generator of a kustomization that a build reaches.
#[derive(Debug)]
pub struct Generated<'a> {
    /// The kustomization.
    pub origin: &'a Origin,
    /// The generator.
    pub generator: &'a Generator,
    /// How builds reach it.
    pub reaches: &'a [Reach],
    directory: &'a Utf8Path,
    list: &'static str,
    index: usize,
}

impl Generated<'_> {
    /// Returns whether it makes a Secret.
    pub fn is_secret(&self) -> bool {
        self.list == "secretGenerator"
    }

    /// The place of an entry of a list that the generator has.
    pub fn place(&self, list: &str, index: usize) -> Place {
        self.origin.at([
            Step::from(self.list),
            self.index.into(),
            list.into(),
            index.into(),
        ])
    }

    /// The place of the name of what it makes.
    pub fn place_of_name(&self) -> Place {
        self.origin
            .at([Step::from(self.list), self.index.into(), "name".into()])
    }

    /// A file that the generator names, relative to the repo's root.
    pub fn path(&self, file: &str) -> Option<Utf8PathBuf> {
        join(self.directory, file)
    }
}

impl Builds {
    /// The generators of all kustomizations, in the order of their directories.
    pub fn generated(&self) -> impl Iterator<Item = Generated<'_>> {
        self.nodes.iter().flat_map(|(directory, node)| {
            let own = &node.kustomization;
            let lists = [
                ("secretGenerator", &own.secret_generator),
                ("configMapGenerator", &own.config_map_generator),
            ];
            let all = lists.into_iter().flat_map(|(list, generators)| {
                generators
                    .iter()
                    .flatten()
                    .enumerate()
                    .map(move |(index, generator)| (list, index, generator))
            });
            all.map(|(list, index, generator)| Generated {
                origin: &node.origin,
                generator,
                reaches: self.reach(&node.file),
                directory,
                list,
                index,
            })
        })
    }
}
