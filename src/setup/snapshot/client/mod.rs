//! Reads a cluster for a snapshot.
//!
//! `api_server` sends the requests. Only builds with the feature `client` have it.

#[cfg(feature = "client")]
mod api_server;

use std::time::Duration;

use camino::Utf8PathBuf;

use crate::input::settings::Settings;

#[cfg(feature = "client")]
pub use api_server::read;

/// The connection to a cluster.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Kubeconfig; by default `KUBECONFIG`, `~/.kube/config` or the service account of this pod.
    pub kubeconfig: Option<Utf8PathBuf>,
    /// Timeout of a request.
    pub timeout: Duration,
}

/// The objects to include in a snapshot.
#[derive(Debug)]
pub struct SnapshotScope {
    /// The settings of the site, with the options of the run.
    pub settings: Settings,
    /// Set if it includes the schemas of firmware settings.
    pub firmware: bool,
}

/// A function that shows the progress of a run: what is read, how many of it, and the total if the
/// server reports it.
pub type ShowProgress<'a> = dyn Fn(&'static str, u64, Option<u64>) + 'a;

/// The reason why a cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// This build has no client.
    #[error(
        "this build cannot read clusters: install a released binary, or build it with `--features client`"
    )]
    NotBuilt,
    /// The connection failed.
    #[error("cannot connect to a cluster: {0}")]
    NoConnection(String),
    /// The API server denied access.
    #[error(
        "cannot {what}: {reason}; `sipgen snapshot --rbac` prints the required permissions, and those for Secrets of \
         new hosts with --any-secret"
    )]
    Refused {
        /// The failed action, as in `list the BareMetalHosts`.
        what: String,
        /// The server's message.
        reason: String,
    },
    /// The answer expired (HTTP 410). A list is then restarted.
    #[error("cannot {0}: the answer expired")]
    Expired(String),
    /// All attempts of a request failed, or the cluster does not have the kind.
    #[error("cannot {what}: {reason}")]
    Failed {
        /// The failed action, as in `list the BareMetalHosts`.
        what: String,
        /// The cause, such as the error of the last attempt.
        reason: String,
    },
}

/// Fails, because this build has no client.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "client"))]
pub fn read(
    _: &Connection,
    _: &SnapshotScope,
    _: &ShowProgress<'_>,
) -> Result<(super::Snapshot, Vec<String>), ClientError> {
    Err(ClientError::NotBuilt)
}
