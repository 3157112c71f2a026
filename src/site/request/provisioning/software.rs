//! The packages of Softwares.

use std::collections::BTreeMap;

use super::is_word;
use crate::base::api::names::ClusterKey;
use crate::base::api::provisioning::Package;
use crate::base::finding::{Code, Finding, Place, RouteStep};
use crate::site::request::cluster::InstalledPackage;
use crate::site::request::documents::{RequestValidation, SoftwareDocument};
use crate::site::request::{ClusterKind, Request};

/// A package and the place of its request.
struct RequestedPackage {
    package: InstalledPackage,
    place: Place,
}

/// Accessor of one list of a Software.
type PackageList = fn(&SoftwareDocument) -> Option<&Vec<Package>>;

impl RequestValidation<'_, '_> {
    /// Returns the packages of masters and of workers from the Softwares of the cluster, each once.
    ///
    /// If one Software requests any version, another's version counts. A machine with both roles has
    /// the packages of both.
    pub(super) fn packages(&mut self, has_both_roles: bool) -> [Vec<InstalledPackage>; 2] {
        let all = self.context.software.iter();
        let mut software: Vec<_> = all.filter(|it| it.key == self.document.key).collect();
        // The order must not depend on files or streams: renaming a file would reorder the packages
        // and run the installer again.
        software.sort_by(|one, other| one.name.cmp(&other.name));
        let lists: [(&str, PackageList); 2] = [
            ("masterSoftware", |document| document.spec.as_ref()?.master_software.as_ref()),
            ("workerSoftware", |document| document.spec.as_ref()?.worker_software.as_ref()),
        ];
        let found = lists.map(|(field, list)| {
            let mut found: Vec<RequestedPackage> = Vec::new();
            for document in &software {
                let own = found.len();
                for (index, package) in list(document).into_iter().flatten().enumerate() {
                    let route = ["spec".into(), field.into(), RouteStep::from(index)];
                    let place = document.origin.at(route);
                    self.findings.extend(match read(package) {
                        Ok(package) => add(&mut found, own, RequestedPackage { package, place }),
                        Err((message, help)) => Some(
                            Finding::new(Code::InvalidInstallerField, message).at(place).help(help),
                        ),
                    });
                }
            }
            found
        });
        if has_both_roles {
            let [masters, workers] = &found;
            let help =
                "choose one version: a machine that is master and worker has the packages of both";
            let unlike = |worker: &RequestedPackage| {
                let master = masters.iter().find(|it| it.package.name == worker.package.name)?;
                Some(two_versions(master, worker)?.help(help))
            };
            self.findings.extend(workers.iter().filter_map(unlike));
        }
        found.map(|found| found.into_iter().map(|found| found.package).collect())
    }
}

/// Reports a package that is requested in two versions.
fn two_versions(known: &RequestedPackage, one: &RequestedPackage) -> Option<Finding> {
    let (version, differs) = (known.package.version.as_ref()?, one.package.version.as_ref()?);
    let name = &one.package.name;
    let message =
        format!("the package `{name}` is requested in version {differs} and in {version}");
    (version != differs).then(|| {
        Finding::new(Code::InvalidInstallerField, message)
            .at(one.place.clone())
            .see(known.place.clone(), "the other one")
            .help("choose one version")
    })
}

/// Adds a package. Packages from index `own` on are from the same list, where a duplicate is
/// reported.
fn add(found: &mut Vec<RequestedPackage>, own: usize, one: RequestedPackage) -> Option<Finding> {
    let Some(at) = found.iter().position(|known| known.package.name == one.package.name) else {
        found.push(one);
        return None;
    };
    let known = &mut found[at];
    let finding = two_versions(known, &one).or_else(|| {
        let message = format!("duplicate package `{}`", one.package.name);
        (at >= own).then(|| {
            Finding::new(Code::DoubtfulInstallerField, message)
                .at(one.place.clone())
                .see(known.place.clone(), "the other one")
                .help("remove one: it is installed once")
        })
    });
    // A Software without a version accepts any.
    known.package.version = known.package.version.take().or(one.package.version);
    finding
}

/// Parses a package. Names that apt interprets in another way are invalid.
fn read(package: &Package) -> Result<InstalledPackage, (String, &'static str)> {
    let (name, version) = match package {
        Package::Named(name) => (name, None),
        Package::Versioned(map) => match map.iter().collect::<Vec<_>>().as_slice() {
            [(name, details)] => {
                (*name, details.version.as_ref().map(|version| version.0.trim().to_owned()))
            }
            entries => {
                let message = format!("an entry has {} packages instead of one", entries.len());
                let help = "write a dash before each package, and indent its `version` below it";
                return Err((message, help));
            }
        },
    };
    // For example `libstdc++6`, `python3.11`, `libc6:i386`. A dash at the end would make apt remove
    // the package.
    if name.ends_with('-') || !is_word(name, "+-.:_") {
        let message = match name.as_str() {
            "" => "a package has no name".to_owned(),
            _ => format!("`{name}` is not a package name of apt"),
        };
        let help = "write letters, digits, `+`, `-`, `.` and `_`, starting with a letter or digit and without a final dash; put a version below the name, as `version`";
        return Err((message, help));
    }
    if let Some(version) = version.as_deref().filter(|version| !is_word(version, "+-.:~_*")) {
        let message = match version {
            "" => format!("the version of the package {name} is empty"),
            _ => format!("`{version}` is not a version of the package `{name}`"),
        };
        let help =
            "write it as apt shows it, such as `1.5+dfsg-1ubuntu0.1`; omit it for any version";
        return Err((message, help));
    }
    Ok(InstalledPackage { name: name.clone(), version })
}

/// Reports Softwares of clusters without a Provisioning.
pub(crate) fn without_cluster(
    software: &[SoftwareDocument],
    clusters: &BTreeMap<ClusterKey, Request>,
) -> Vec<Finding> {
    let is_made = |document: &&SoftwareDocument| {
        clusters.get(&document.key).is_some_and(|it| it.kind == ClusterKind::Provisioning)
    };
    let describe = |SoftwareDocument { key, origin, .. }: &SoftwareDocument| {
        let ClusterKey { namespace, name } = key;
        let message = format!(
            "no Provisioning in `{namespace}` makes the cluster `{name}`: these packages are not installed"
        );
        Finding::new(Code::RequestPartUnowned, message)
            .at(origin.at(["metadata", "labels", "cluster"]))
            .help("fix its label `cluster`, or remove it")
    };
    software.iter().filter(|document| !is_made(document)).map(describe).collect()
}
