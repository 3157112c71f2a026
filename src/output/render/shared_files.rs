//! Files that clusters share.
//!
//! Most clusters of a site render the same texts, so equal texts are hashed, checked and kept once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::rendered_text::verified;
use super::{Templates, Tree};
use crate::base::finding::Finding;
use crate::base::layout;
use crate::base::layout::outputs::OUTPUTS;
use crate::site::Site;

/// Length of the hash in the name of a directory.
const HASH_LENGTH: usize = 10;

/// The texts of a shared directory, by their templates.
type Texts = Vec<(String, String)>;

/// The shared files of all clusters.
#[derive(Default)]
pub(super) struct SharedFiles(Mutex<BTreeMap<Texts, Arc<SharedDirectory>>>);

/// A directory of files that clusters share.
#[derive(Default)]
pub(super) struct SharedDirectory {
    /// Its path, relative to the output directory.
    pub(super) path: Utf8PathBuf,
    /// Set if the disk has its files with these texts.
    pub(super) is_up_to_date: bool,
    /// Errors in its files.
    pub(super) findings: Vec<Finding>,
    /// Templates of files with errors.
    invalid: BTreeSet<String>,
    /// Manifests of an output, whose objects are checked.
    pub(super) manifests: Vec<(Utf8PathBuf, String)>,
}

impl SharedFiles {
    /// Returns the directory of some texts. `made_in` is the directory whose templates refer to them.
    pub(super) fn directory(
        &self,
        site: &Site,
        templates: &Templates,
        made_in: &Utf8Path,
        texts: Texts,
    ) -> Arc<SharedDirectory> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = known().get(&texts) {
            return directory.clone();
        }
        // Other clusters do not wait for what follows.
        let mut hash = Sha256::new();
        for (template, text) in &texts {
            // Lengths keep two lists of files with equal bytes apart.
            hash.update(format!("{template} {}\n", text.len()));
            hash.update(text);
        }
        let hash = format!("{:.*x}", HASH_LENGTH, hash.finalize());
        let path = layout::shared_directory(made_in, &hash);
        let mut directory =
            SharedDirectory { path, is_up_to_date: true, ..SharedDirectory::default() };
        let is_output = made_in.starts_with(OUTPUTS);
        for (template, text) in &texts {
            let file = directory.file(template);
            directory.is_up_to_date &= site.state.has(&file, text);
            let is_manifest =
                file.extension() == Some("yaml") && file.file_name() != Some(layout::KUSTOMIZATION);
            if is_output && is_manifest {
                directory.manifests.push((file.clone(), text.clone()));
            }
            if let Err(finding) = verified(site, templates, template, false, &file, text) {
                directory.findings.push(*finding);
                directory.invalid.insert(template.clone());
            }
        }
        known().entry(texts).or_insert(Arc::new(directory)).clone()
    }

    /// Returns the files of directories.
    pub(super) fn into_files(self, directories: &BTreeSet<Utf8PathBuf>) -> Tree {
        let all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let used = all.into_iter().filter(|(_, directory)| directories.contains(&directory.path));
        let mut files = Tree::new();
        for (mut texts, directory) in used {
            texts.retain(|(template, _)| !directory.invalid.contains(template));
            let texts = texts.into_iter();
            files.extend(texts.map(|(template, text)| (directory.file(&template).into(), text)));
        }
        files
    }
}

impl SharedDirectory {
    /// Returns the file of a template.
    fn file(&self, template: &str) -> Utf8PathBuf {
        let name = Utf8Path::new(template).file_name().unwrap_or_default();
        self.path.join(name)
    }
}
