//! Requests to an API server. All are GETs.
//!
//! Lists are read in pages and restarted if the server's continue token expires. Requests are
//! retried if the server is busy, fails or does not answer. Any other failure ends the run, so that
//! a refusal is never taken for an empty list.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{GetParams, ListParams, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::{ObjectKey, Snapshot, firmware, keep, machines, network_data_secrets, reduced};
use super::{ClientError, Connection, ShowProgress, SnapshotScope};
use crate::base::api::host;
use crate::base::api::ipam;
use crate::base::api::names::{Namespace, SecretKey};
use crate::base::text::visible::visible;

/// Objects per page.
const PAGE: u32 = 500;
/// Maximum number of pages of a list: 5,000,000 objects.
const PAGES: usize = 10_000;
/// Concurrent requests for Secrets.
const AT_ONCE: usize = 8;
/// Maximum number of attempts, and the first pause between them; the pause doubles each time.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Upper limit for a pause that the server asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum number of times that a list is started.
const RESTARTS: u32 = 5;
/// The reason why hosts cannot be listed if the server does not know them.
const UNKNOWN_KIND: &str =
    "the API server does not know the kind; is this the cluster that runs Metal3?";
/// Connection timeout.
const CONNECT: Duration = Duration::from_secs(10);

/// Reads the hosts of a cluster with their HardwareData and network data. Also returns notes about
/// missing data that is not an error.
///
/// # Errors
///
/// Fails if the cluster cannot be reached, denies a request, or keeps failing.
pub fn read(
    connection: &Connection,
    scope: &SnapshotScope,
    progress: &ShowProgress<'_>,
) -> Result<(Snapshot, Vec<String>), ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ClientError::NoConnection(error.to_string()))?;
    runtime.block_on(async {
        let context = scope.settings.snapshot.context.clone();
        let client = connect(connection, context).await?;
        let server = ApiServer { client, timeout: connection.timeout };
        server.read(scope, progress).await
    })
}

async fn connect(connection: &Connection, context: Option<String>) -> Result<Client, ClientError> {
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    let config = match &connection.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(no_connection)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(no_connection)
        }
        // `infer` ignores the context.
        None if options.context.is_some() => {
            Config::from_kubeconfig(&options).await.map_err(no_connection)
        }
        None => Config::infer().await.map_err(no_connection),
    };
    let mut config = config?;
    // `ApiServer::answer` retries requests, for more reasons than kube does.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    Client::try_from(config).map_err(no_connection)
}

fn no_connection(error: impl std::error::Error) -> ClientError {
    ClientError::NoConnection(in_words(&error))
}

/// Formats an error with its causes on one line. Only the innermost cause explains a failed
/// connection.
fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let next = cause.to_string();
        if !words.contains(&next) {
            words += &format!(": {next}");
        }
    }
    visible(&words).into_owned()
}

/// An API server.
#[derive(Clone)]
struct ApiServer {
    client: Client,
    timeout: Duration,
}

/// One page of a list.
#[derive(Deserialize)]
struct ListPage {
    #[serde(default)]
    metadata: ListMeta,
    items: Vec<Value>,
}

impl ApiServer {
    async fn read(
        &self,
        scope: &SnapshotScope,
        progress: &ShowProgress<'_>,
    ) -> Result<(Snapshot, Vec<String>), ClientError> {
        let (mut snapshot, mut notes) = (Snapshot::default(), Vec::new());
        let mut secrets: BTreeSet<SecretKey> = BTreeSet::new();
        let settings = &scope.settings.snapshot;
        let places: Vec<Option<&Namespace>> = match settings.namespaces.as_slice() {
            [] => vec![None],
            namespaces => namespaces.iter().map(Some).collect(),
        };
        let machine_kinds = (machines::LIVE, "which node set uses a host");
        let firmware_kinds = (firmware::LIVE, "which firmware settings hosts have");
        let optional = [Some(machine_kinds), scope.firmware.then_some(firmware_kinds)];
        let mut has_hardware = true;
        for place in places {
            let kind = (host::API_VERSION, "baremetalhosts", "BareMetalHosts");
            let keep = |live: &Value| keep::host(live, &scope.settings.assignment);
            let show = |done, all| progress("hosts", done, all);
            let hosts = self.list(kind, place, settings.selector.as_deref(), keep, show).await?;
            let unknown_kind = || failed(&list_of(kind.2, place), UNKNOWN_KIND.to_owned());
            let hosts = hosts.ok_or_else(unknown_kind)?;
            secrets.extend(hosts.iter().flat_map(|(key, host)| network_data_secrets(key, host)));
            if let (Some(namespace), true) = (place, hosts.is_empty()) {
                notes.push(format!("no BareMetalHost found in namespace `{namespace}`"));
            }
            snapshot.hosts.extend(hosts);
            // Metal3 releases before 2023 have no HardwareData, only the hardware in the hosts'
            // status.
            let kind = (host::API_VERSION, "hardwaredata", "HardwareData");
            let show = |done, all| progress("HardwareData", done, all);
            match self.list(kind, place, None, keep::hardware_data, show).await? {
                Some(hardware) => snapshot.hardware.extend(hardware),
                None => has_hardware = false,
            }
            if settings.addresses {
                snapshot.objects.extend(self.objects(&ipam::LIVE, place).await?);
            }
            for (kinds, shown) in optional.iter().flatten() {
                match self.objects(kinds, place).await {
                    Ok(found) => snapshot.objects.extend(found),
                    Err(ClientError::Refused { what, reason }) => notes.push(format!(
                        "cannot {what}: {reason}; the snapshot does not show {shown}"
                    )),
                    Err(error) => return Err(error),
                }
            }
        }
        if !has_hardware {
            notes.push(
                "the cluster has no HardwareData, so hardware is read from the status of hosts"
                    .to_owned(),
            );
        }
        notes.extend(self.network_data(&mut snapshot, secrets, progress).await?);
        snapshot.finish();
        Ok((snapshot, notes))
    }

    /// Reads objects in the first version of each kind that the server has.
    async fn objects(
        &self,
        kinds: &[(&str, &str, &[&str])],
        place: Option<&Namespace>,
    ) -> Result<Vec<(ObjectKey, Value)>, ClientError> {
        let mut found = Vec::new();
        for (kind, plural, versions) in kinds {
            for version in *versions {
                let kind = (*version, *plural, *kind);
                let objects = self.list(kind, place, None, reduced, |_, _| {});
                if let Some(objects) = objects.await? {
                    found.extend(objects);
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Reads Secrets with network data. Returns the problems with them.
    async fn network_data(
        &self,
        snapshot: &mut Snapshot,
        secrets: BTreeSet<SecretKey>,
        progress: &ShowProgress<'_>,
    ) -> Result<Vec<String>, ClientError> {
        let all = secrets.len() as u64;
        let (mut secrets, mut running, mut done) = (secrets.into_iter(), JoinSet::new(), 0);
        let mut notes = BTreeSet::new();
        loop {
            while running.len() < AT_ONCE
                && let Some(key) = secrets.next()
            {
                let server = self.clone();
                running.spawn(async move {
                    let found = server.secret(&key).await;
                    (key, found)
                });
            }
            let Some(ended) = running.join_next().await else { break };
            let (key, found) = ended.map_err(|error| failed("read Secrets", error.to_string()))?;
            done += 1;
            progress("Secrets", done, Some(all));
            if let Some(secret) = found?
                && let Some(problem) = snapshot.add_network_data(key.clone(), &secret)
            {
                notes.insert(format!(
                    "the Secret `{key}` {problem}, so the snapshot lacks its network data"
                ));
            }
        }
        Ok(notes.into_iter().collect())
    }

    /// Reads a Secret. Returns `None` if it does not exist.
    async fn secret(&self, key: &SecretKey) -> Result<Option<Value>, ClientError> {
        let what = format!("get the Secret `{key}`");
        let request = Request::new(format!("/api/v1/namespaces/{}/secrets", key.namespace));
        self.answer(&what, || request.get(key.name.as_str(), &GetParams::default())).await
    }

    /// Lists all objects of a kind, each reduced as soon as it is read: thousands of whole objects
    /// would take gigabytes of memory.
    ///
    /// Returns `None` if the server does not know the kind.
    async fn list<T>(
        &self,
        (api_version, plural, kind): (&str, &str, &str),
        namespace: Option<&Namespace>,
        selector: Option<&str>,
        reduce: impl Fn(&Value) -> Option<T>,
        progress: impl Fn(u64, Option<u64>),
    ) -> Result<Option<Vec<T>>, ClientError> {
        let what = list_of(kind, namespace);
        let place =
            namespace.map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
        let request = Request::new(format!("/apis/{api_version}{place}/{plural}"));
        for _ in 0..RESTARTS {
            let (mut items, mut options) = (Vec::new(), ListParams::default().limit(PAGE));
            let mut tokens = HashSet::new();
            options.label_selector = selector.map(str::to_owned);
            loop {
                let page: ListPage = match self.answer(&what, || request.list(&options)).await {
                    Ok(Some(page)) => page,
                    Ok(None) => return Ok(None),
                    Err(ClientError::Expired(_)) => break,
                    Err(error) => return Err(error),
                };
                items.extend(page.items.iter().filter_map(&reduce));
                let done = items.len() as u64;
                let left = page.metadata.remaining_item_count;
                let left = left.and_then(|left| u64::try_from(left).ok());
                progress(done, left.map(|left| done.saturating_add(left)));
                let Some(next) = page.metadata.continue_.filter(|next| !next.is_empty()) else {
                    return Ok(Some(items));
                };
                // Otherwise a faulty server could make the list endless.
                if !tokens.insert(next.clone()) || tokens.len() >= PAGES {
                    let reason = format!(
                        "the API server repeats a `continue` token, or the list has more than {PAGES} pages"
                    );
                    return Err(failed(&what, reason));
                }
                options.continue_token = Some(next);
            }
        }
        let reason = format!("the list expired {RESTARTS} times before its end was reached");
        Err(failed(&what, reason))
    }

    /// Sends a request until it is answered. Returns `None` for an object or a kind that the server
    /// does not have.
    async fn answer<T: DeserializeOwned>(
        &self,
        what: &str,
        request: impl Fn() -> Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Option<T>, ClientError> {
        let mut pause = FIRST_PAUSE;
        let mut tried = 1;
        loop {
            let request = request().map_err(|error| failed(what, error.to_string()))?;
            let (reason, asked) = match timeout(self.timeout, self.client.request(request)).await {
                Ok(Ok(answer)) => return Ok(Some(answer)),
                Ok(Err(kube::Error::Api(status))) if status.code == 404 => return Ok(None),
                Ok(Err(error)) => passing_failure(what, &error)?,
                Err(_) => (format!("no answer in {} s", self.timeout.as_secs()), None),
            };
            if tried == TRIES {
                return Err(failed(what, format!("{reason} ({tried} attempts)")));
            }
            sleep(asked.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause *= 2;
            tried += 1;
        }
    }
}

fn failed(what: &str, reason: String) -> ClientError {
    ClientError::Failed { what: what.to_owned(), reason }
}

/// Returns the reason why a request failed that is to be retried, and the pause that the server asks
/// for.
///
/// # Errors
///
/// If it would fail again.
fn passing_failure(
    what: &str,
    error: &kube::Error,
) -> Result<(String, Option<Duration>), ClientError> {
    match error {
        kube::Error::Api(status) => {
            // A proxy may answer with an HTML page.
            let said = if status.message.is_empty() { &status.reason } else { &status.message };
            let said: String = visible(said).chars().take(500).collect();
            match status.code {
                401 => {
                    Err(failed(what, format!("the API server rejected the credentials: {said}")))
                }
                403 => Err(ClientError::Refused { what: what.to_owned(), reason: said }),
                410 => Err(ClientError::Expired(what.to_owned())),
                // Too many requests, or a server error that may pass.
                code @ (429 | 500..=599) => {
                    let asked = status.details.as_ref().map(|it| it.retry_after_seconds);
                    let asked = asked.filter(|seconds| *seconds > 0);
                    let pause = asked.map(|seconds| Duration::from_secs(seconds.into()));
                    Ok((format!("the API server answers {code}: {said}"), pause))
                }
                code => Err(failed(what, format!("the API server answers {code}: {said}"))),
            }
        }
        // A truncated answer is also invalid JSON. The parser's message quotes the answer, so
        // it is not shown.
        kube::Error::SerdeError(_) => Ok(("the answer does not match the API".to_owned(), None)),
        kube::Error::Service(cause) => Ok((in_words(&**cause), None)),
        kube::Error::HyperError(cause) => Ok((in_words(cause), None)),
        error => Err(failed(what, in_words(error))),
    }
}

fn list_of(kind: &str, namespace: Option<&Namespace>) -> String {
    match namespace {
        Some(namespace) => format!("list the {kind} in namespace `{namespace}`"),
        None => format!("list the {kind} in all namespaces"),
    }
}
