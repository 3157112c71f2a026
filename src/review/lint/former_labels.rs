//! Rule: hosts have former labels beside their new ones, until the settings no longer name them.

use crate::base::finding::{Code, Finding};
use crate::site::Site;

/// Shows how far the hosts are on their way to the labels of the settings.
pub(super) fn kept(site: &Site) -> Option<Finding> {
    let assignment = &site.settings.assignment;
    assignment.former.as_ref()?;
    let are_labelled = site.state.held.iter().filter_map(|(key, held)| {
        let (host, held) = (site.inventory.host(key)?, held.first()?);
        host.live.origin.as_ref()?;
        let mut expected = assignment.labels.keys(&held.cluster, &held.part);
        Some(expected.all(|key| host.assignment.in_snapshot.contains(&key)))
    });
    let are_labelled: Vec<bool> = are_labelled.collect();
    let labelled = are_labelled.iter().filter(|is_labelled| **is_labelled).count();
    let step = match are_labelled.len() {
        0 => "step 1 of 2: apply this, and move your own selectors to the new labels; step 2: when all hosts have them, \
              remove `assignment.former` (no snapshot shows which hosts do)"
            .to_owned(),
        all if labelled == all => "step 2 of 2: the snapshot shows every assigned host with its new labels; when your own \
                                   selectors use them, remove `assignment.former`"
            .to_owned(),
        all => format!(
            "step 1 of 2: the snapshot shows {labelled} of {all} assigned hosts with their new labels; apply this, move your \
             own selectors to the new labels, and take a new snapshot"
        ),
    };
    let message =
        "assigned hosts have the labels of `assignment.former` beside those of `assignment.labels`";
    let place = site.settings.place(["assignment".into(), "former".into()]);
    Some(Finding::new(Code::FormerLabels, message).at(place).help(step))
}
