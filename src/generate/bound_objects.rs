//! Objects that the components of clusters bind to hosts, in builds that include a component. What it
//! sets must survive the build, and objects of other clusters must stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use yaml_serde::{Mapping, Value};

use crate::base::api::cluster_api::MACHINE_TEMPLATE;
use crate::base::api::names::{ClusterKey, Role};
use crate::base::finding::{Code, Finding, Place};
use crate::base::text::with_others;
use crate::input::kustomize::{Builds, DeliveredBuild};
use crate::site::Site;
use crate::site::assembly::ComponentListing;
use crate::site::request::Cluster;

/// The reason why an object is not bound to the hosts of its cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BindingMistake {
    Undone,
    OtherNamespace,
    NoRole,
}

/// Reports objects of a build that do not get what a listed component sets, or that get it although
/// they are of another namespace, and templates that select hosts of both roles. `by` makes the
/// build.
pub(super) fn findings(
    site: &Site,
    builds: &Builds,
    delivered: &DeliveredBuild,
    listings: &[(&ClusterKey, &ComponentListing)],
    by: &str,
) -> Vec<Finding> {
    let mut mistakes: BTreeMap<(&ClusterKey, BindingMistake), Vec<(String, Place)>> =
        BTreeMap::new();
    for (cluster, listing) in listings {
        let role_labels =
            site.valid_cluster(cluster).map(|it| role_labels(site, it)).unwrap_or_default();
        let targets = builds.targets(&listing.component, &listing.directory, delivered);
        for (object, undone_at) in targets {
            let kind = object.value.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default();
            let metadata = object.value.get("metadata");
            let text = |field: &str| metadata?.get(field)?.as_str();
            // Agents may give an object without a namespace that of the cluster.
            let namespace = text("namespace").unwrap_or(cluster.namespace.as_str());
            let (mistake, place) = if namespace != cluster.namespace.as_str() {
                (BindingMistake::OtherNamespace, listing.place.clone())
            } else if let Some(place) = undone_at {
                // The user's own patch, or the entry of the component.
                let is_patch = !place.file().starts_with(&site.settings.output)
                    && *place.file() != object.origin.file;
                (BindingMistake::Undone, if is_patch { place } else { listing.place.clone() })
            } else if kind == MACHINE_TEMPLATE
                && !role_labels.is_empty()
                && !selects_any(&object.value, &role_labels)
            {
                (BindingMistake::NoRole, object.origin.name())
            } else {
                continue;
            };
            let name = format!("{kind} {namespace}/{}", text("name").unwrap_or_default());
            mistakes.entry((*cluster, mistake)).or_default().push((name, place));
        }
    }
    let findings = mistakes.into_iter().map(|((cluster, mistake), objects)| {
        let (name, place) = &objects[0];
        let objects = with_others(name, objects.len() - 1, "more object");
        let (message, help) = match mistake {
            BindingMistake::Undone => (
                format!("{by} undoes what the component of {cluster} sets in the {objects}"),
                "components run in their order, and before the patches of their kustomization: exempt the object from the \
                 other patch, or include each component in a kustomization with objects of its cluster only",
            ),
            BindingMistake::OtherNamespace => (
                format!("the component of {cluster} patches the {objects}, of another namespace"),
                "include each component in a kustomization with objects of its cluster only",
            ),
            BindingMistake::NoRole => (
                format!("the {objects} may select hosts of both roles of {cluster}"),
                "give it the label `sip.airshipit.org/node-type`, with `ControlPlane` or `Worker`",
            ),
        };
        Finding::new(Code::Unpinned, message).at(place.clone()).help(help).for_cluster(cluster)
    });
    findings.collect()
}

/// Returns the labels that distinguish the roles of a cluster's hosts, if it has both, and its
/// templates get no labels of their own.
fn role_labels(site: &Site, cluster: &Cluster) -> BTreeSet<String> {
    let node_sets = cluster.node_sets.iter().filter(|(_, node_set)| node_set.active > 0);
    let roles: BTreeSet<Role> = node_sets.map(|(part, _)| part.role).collect();
    if cluster.kind.descriptor().makes_machines || roles.len() < 2 {
        return BTreeSet::new();
    }
    let labels = |role: Role| site.settings.assignment.labels.labels(&cluster.key, &role.into());
    let [first, second] = Role::ALL.map(labels);
    let differs = |(key, value): &(&String, &String)| second.get(*key) != Some(*value);
    first.iter().filter(differs).map(|(key, _)| key.clone()).collect()
}

/// Returns whether a machine template selects hosts by one of these labels.
fn selects_any(template: &Mapping, labels: &BTreeSet<String>) -> bool {
    let spec = template.get("spec").and_then(|spec| spec.get("template")?.get("spec"));
    let field = |name: &str| spec?.get("hostSelector")?.get(name);
    let keys = field("matchLabels").and_then(Value::as_mapping).into_iter().flat_map(Mapping::keys);
    let expressions = field("matchExpressions").and_then(Value::as_sequence).into_iter().flatten();
    let mut keys = keys.chain(expressions.filter_map(|it| it.get("key")));
    keys.any(|key| key.as_str().is_some_and(|key| labels.contains(key)))
}
