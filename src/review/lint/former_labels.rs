//! Rule: hosts have former labels beside their new ones, until the settings no longer name them.

use crate::base::finding::{Code, Finding};
use crate::site::Site;

/// Shows how far the hosts are on their way to the labels of the settings.
pub(super) fn kept(site: &Site) -> Option<Finding> {
    let assignment = &site.settings.assignment;
    assignment.former.as_ref()?;
    let (mut shown, mut labelled) = (0, 0);
    for (key, held) in &site.state.held {
        let (Some(host), Some(held)) = (site.inventory.host(key), held.first()) else {
            continue;
        };
        if host.live.origin.is_some() {
            let keys = &host.assignment.in_snapshot;
            let mut expected = assignment.labels.keys(&held.cluster, &held.part);
            shown += 1;
            labelled += usize::from(expected.all(|key| keys.contains(&key)));
        }
    }
    let step = match shown {
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
