//! The GitOps agent: the `gitops` setting, and the object that points the agent at the output.

use super::{DoctorCheck, RepoFacts, SiteFacts};
use crate::init;
use crate::layout;
use crate::load::ReadError;

const SUBJECT: &str = "agent";

pub(super) fn check(
    facts: &RepoFacts,
    site: &SiteFacts<'_>,
) -> Result<Vec<DoctorCheck>, ReadError> {
    let Ok(settings) = &site.settings else {
        return Ok(vec![DoctorCheck::note(
            SUBJECT,
            "not checked: the settings are invalid",
        )]);
    };
    let seen = init::agents(site.files, &settings.output, facts.remote.as_deref())?;
    let Some(agent) = settings.gitops else {
        return Ok(vec![match seen.first() {
            Some((agent, file)) => {
                let title = agent.title();
                let fact = format!(
                    "`gitops` is not set, although `{file}` is of {title}: no objects for {title} are written"
                );
                DoctorCheck::note(SUBJECT, fact).help("run `sipgen init`, which prints the setting")
            }
            None => DoctorCheck::note(
                SUBJECT,
                "`gitops` is not set: no agent's objects are written",
            )
            .help("see docs/concepts/gitops.md"),
        }]);
    };
    let title = agent.title();
    let mut checks = Vec::new();
    let is_seen = seen.iter().any(|(other, _)| *other == agent);
    if let (false, Some((other, file))) = (is_seen, seen.first()) {
        let fact = format!(
            "`gitops` is {title}, although the repo has no manifest of it, and `{file}` is of {}",
            other.title()
        );
        checks.push(
            DoctorCheck::warning(SUBJECT, fact)
                .at(settings.place(["gitops".into()]))
                .help("fix the setting; see docs/operations/change-agent.md"),
        );
    }
    let directory = settings.output.join(layout::agent_directory(agent));
    let Ok(run) = site.run else {
        return Ok(checks);
    };
    checks.push(match &run.site.wiring.agent_objects_by {
        Some(object) => DoctorCheck::ok(SUBJECT, format!("{object} applies `{directory}`")),
        None => {
            let fact = format!("no object of the repo makes {title} apply `{directory}`");
            DoctorCheck::warning(SUBJECT, fact).help(format!(
                "point {title} at `{directory}`, as docs/concepts/gitops.md shows; ignore this if its object is in another repo"
            ))
        }
    });
    Ok(checks)
}
