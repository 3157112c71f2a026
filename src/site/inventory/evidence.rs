//! Evidence that a host exists, and that labels written for it arrive.
//!
//! A manifest in git proves nothing by itself: an agent must apply it, or a snapshot must show the object that it made.
//! `assembly::evidence` decides for each document, and `plan::eligibility` refuses hosts without proof.

/// The evidence of a host, which also decides how its labels are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// A snapshot shows the object of an API server. Labels are written as an object of their own.
    Live,
    /// An agent applies a build that renders the manifest. Labels are written as a patch in that build.
    Applied {
        /// Index of the outermost kustomization, among the inventory's roots.
        root: usize,
    },
    /// A kustomization renders the manifest, but agents' objects of the site apply other hosts only,
    /// or others apply it to another cluster.
    Reached {
        /// Index of the outermost kustomization.
        root: usize,
    },
    /// No build renders the manifest, and nothing shows that the object exists.
    Loose,
}

impl Evidence {
    /// Returns its name, for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Applied { .. } => "applied",
            Self::Reached { .. } => "reached",
            Self::Loose => "loose",
        }
    }

    /// Returns the root whose build renders the host, applied or not.
    pub(crate) fn root(self) -> Option<usize> {
        match self {
            Self::Applied { root } | Self::Reached { root } => Some(root),
            Self::Live | Self::Loose => None,
        }
    }

    /// Returns whether labels that are written for the host arrive.
    pub(crate) fn is_proof(self) -> bool {
        match self {
            Self::Live | Self::Applied { .. } => true,
            Self::Reached { .. } | Self::Loose => false,
        }
    }
}
