//! Examples of requests, for the first cluster of a repo.
//!
//! An example asks for hosts that the repo has: `fit` chooses namespace, selectors, topology key and numbers
//! by the free hosts. Without free hosts, it has placeholders.

mod fit;

use clap::ValueEnum;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, context};

pub use fit::Fit;

/// The kind of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Example {
    /// SIPCluster of Airship's Support Infrastructure Provider
    Sipcluster,
    /// Cluster of Cluster API with Metal3's provider
    ClusterApi,
    /// Provisioning of Akraino's Binary Provisioning Agent
    Provisioning,
}

impl Example {
    fn template(self) -> &'static str {
        match self {
            Self::Sipcluster => include_str!("sipcluster.yaml"),
            Self::ClusterApi => include_str!("cluster_api.yaml"),
            Self::Provisioning => include_str!("provisioning.yaml"),
        }
    }

    /// Returns the manifest, with comments.
    ///
    /// # Errors
    ///
    /// Fails if the example's template is invalid, which a test rules out.
    pub fn manifest(self, fit: &Fit) -> Result<String, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .keep_trailing_newline(true)
                .build()?,
        );
        environment.add_filter("yaml", yaml);
        environment.render_str(self.template(), context! { fit => Serde(fit) })
    }
}

/// Formats a text as a YAML scalar, quoted only where another type would be read.
fn yaml(text: &str) -> Result<String, minijinja::Error> {
    let scalar = yaml_serde::to_string(text).map_err(|error| {
        minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string())
    })?;
    Ok(scalar.trim_end().to_owned())
}
