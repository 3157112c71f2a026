//! Rule: an output sets a label by which hosts are chosen. The label would follow from the plan, and
//! the plan from the label. It is an error, because hosts might move with each run.

use crate::base::api::label_query::required_label;
use crate::base::finding::{Code, Finding, Place};
use crate::site::Site;

/// Finds labels of outputs that requests, settings or objects of Cluster API choose hosts by.
pub(super) fn selected(site: &Site) -> Vec<Finding> {
    let outputs = site.settings.outputs.iter().enumerate();
    let labels =
        outputs.flat_map(|(index, output)| output.labels.keys().map(move |key| (index, key)));
    let finding = |(index, key): (usize, &String)| {
        let (user, place) = label_user(site, key)?;
        let route = ["outputs".into(), index.into(), "labels".into(), key.clone().into()];
        let message = format!("an output sets the label `{key}`, by which {user} chooses hosts");
        let finding = Finding::new(Code::InvalidSetting, message).at(site.settings.place(route));
        Some(finding.see(place, "it is used here").help("choose another key"))
    };
    labels.filter_map(finding).collect()
}

/// Returns what chooses hosts by a label, with its place.
pub(crate) fn label_user(site: &Site, key: &str) -> Option<(String, Place)> {
    let settings = &site.settings;
    let node_sets = site.valid_clusters().flat_map(|cluster| cluster.parts());
    let node_set = node_sets.filter_map(|(cluster, _, set)| {
        let mut requirements = set.selector.clone().into_iter();
        let place = if requirements.any(|it| required_label(&it) == key) {
            &set.selector_at
        } else if set.topology_keys.iter().any(|own| own == key)
            || set.spread.iter().any(|spread| spread.key == key)
        {
            &set.at
        } else {
            return None;
        };
        Some((cluster.key.to_string(), place.place()))
    });
    let claimants = site.claimants.iter().filter(|claimant| claimant.selects_by(key));
    let claimant = claimants.map(|claimant| (claimant.title.clone(), claimant.origin.name()));
    let lists = [
        ("reservations", settings.reservations.iter().any(|it| it.labels.contains_key(key))),
        ("maintenance", settings.maintenance.iter().any(|it| it.labels.contains_key(key))),
        ("quotas", settings.quotas.iter().any(|it| it.labels.contains_key(key))),
        ("topology", site.rack_label.as_deref() == Some(key)),
    ];
    let lists = lists.into_iter().filter(|(_, uses)| *uses);
    let list = lists.map(|(list, _)| (format!("`{list}`"), settings.place([list.into()])));
    node_set.chain(claimant).chain(list).next()
}
