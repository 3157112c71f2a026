//! Objects that seem to apply this repo's files to the base cluster but do not.

use super::applied::{AppliedDirectory, Exclusion};
use super::repo::shown;
use crate::base::finding::{Code, Finding};

/// Warns about an object that applies directories with the names of this repo's, but from another
/// source or to another cluster. A suspended object needs no warning.
pub(super) fn excluded(applied: &AppliedDirectory) -> Option<Finding> {
    let (here, by, place) = (shown(&applied.directory), &applied.by, &applied.place);
    let ignored = |what: String| {
        format!("{by} {what}: it is ignored as belonging to another repo or cluster")
    };
    let (message, help) = match applied.exclusion.as_ref()? {
        Exclusion::Omitted(kustomization) => {
            let file = place.file();
            (
                format!("{kustomization} does not list {file}: {by} does not apply {here}"),
                format!("list {file} in `resources` of {kustomization}, or delete the object"),
            )
        }
        Exclusion::OtherSource(setting) => (
            ignored(format!("applies {here} of a source other than the one in `{setting}`")),
            format!(
                "if it is {here} of this repo, write its source into `{setting}`: otherwise the same hosts are applied twice"
            ),
        ),
        Exclusion::OtherCluster(cluster) => (
            ignored(format!("applies {here} to another cluster, by {cluster}")),
            format!("if it is the base cluster, name it as in {cluster}"),
        ),
        Exclusion::Included => (
            ignored(format!("applies {here} of another repo, which its source includes there")),
            format!(
                "if it is {here} of this repo, set the `toPath` of the include to another directory"
            ),
        ),
        Exclusion::Undecided => (
            ignored(format!(
                "may apply {here}: its path has a parameter that sipgen cannot evaluate"
            )),
            format!(
                "if it is {here} of this repo, name the path in a list or git generator, or mute this warning"
            ),
        ),
        Exclusion::Suspended => return None,
    };
    Some(Finding::new(Code::SetAside, message).at(place.clone()).help(help))
}
