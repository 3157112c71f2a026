//! Requests that are mistaken for templates of other tools. Each would be removed with its cluster.

use super::Site;
use crate::base::api::provisioning as api;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::input::decode::suspected_templates::{SuspectedObject, SuspectedTemplate};
use crate::input::load::{EntryKind, Files, ParseError};

/// The file that makes a directory a Helm chart.
const CHART: &str = "Chart.yaml";

/// Reports requests that are certainly or possibly mistaken for templates.
///
/// A removed cluster releases its hosts, but an unreadable request does not prove a removal. A
/// template of a Provisioning has a variable as cluster name. One that names a cluster is an
/// invalid request, unless it is in a chart.
pub(crate) fn mistaken(repo: &Files, site: &Site, templates: &[SuspectedTemplate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut told: Vec<&Origin> = Vec::new();
    for cluster in site.removed_clusters() {
        let may_be = |template: &&SuspectedTemplate| {
            let file = &template.origin.file;
            let had_it =
                || site.state.made_from.get(cluster).is_some_and(|it| it.contains(&**file));
            let has_name = || repo.text(file).is_some_and(|it| names(&it, cluster.name.as_str()));
            !template.is_software() && (had_it() || has_name())
        };
        let Some(SuspectedTemplate { origin, .. }) = templates.iter().find(may_be) else {
            continue;
        };
        told.push(origin);
        findings.push(
            Finding::new(
                Code::TakenForTemplate,
                format!("`{cluster}` is missing, but may be a request that cannot be read"),
            )
            .at(braces(repo, origin))
            .help("it looks like a template: fix it, or delete it to remove the cluster"),
        );
    }
    for SuspectedTemplate { origin, asked } in
        templates.iter().filter(|template| !told.contains(&&template.origin))
    {
        let Some(SuspectedObject { kind, cluster: Some(cluster), broken }) = asked else {
            continue;
        };
        if is_in_chart(repo, origin) {
            continue;
        }
        let message =
            format!("the {kind} of the cluster `{cluster}` cannot be read, and contains `{{{{`");
        let finding = match broken {
            Some(ParseError { message: reason, line: Some(line), column }) => {
                Finding::new(Code::TakenForTemplate, format!("{message}: {reason}"))
                    .at(origin.spot(*line, *column))
            }
            _ => Finding::new(Code::TakenForTemplate, message).at(braces(repo, origin)),
        };
        findings.push(finding.help(
            "fix it, or replace the placeholder by its value; if another program fills it in, commit the rendered file, and \
             exclude the template in `sources` or keep it in its Helm chart",
        ));
    }
    findings
}

/// Returns whether a document is below a Helm chart's directory.
fn is_in_chart(repo: &Files, origin: &Origin) -> bool {
    !origin.is_rendered()
        && origin
            .file
            .ancestors()
            .skip(1)
            .any(|above| repo.kind(&above.join(CHART)) == Some(EntryKind::File))
}

/// Returns the position of the double braces in a text that cannot be parsed.
fn braces(repo: &Files, origin: &Origin) -> Place {
    let text = repo.text(&origin.file).unwrap_or_default();
    let mut lines = text.lines().enumerate().skip(origin.first_line - 1);
    let found =
        lines.find_map(|(index, line)| Some((index, line[..line.find("{{")?].chars().count())));
    found.map_or_else(
        || origin.start(),
        |(index, before)| Place::Spot(origin.file.clone(), index + 1, Some(before + 1)),
    )
}

/// Returns whether a text that cannot be parsed contains a name.
pub(crate) fn names(text: &str, name: &str) -> bool {
    let is_name = |(at, name): (usize, &str)| {
        let key = text[..at].trim_end_matches([' ', '"', '\'', ':']);
        // A name that continues is another name.
        let longer = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        // A Provisioning names its cluster in a label.
        ["name", api::CLUSTER].iter().any(|field| key.ends_with(field))
            && !text[at + name.len()..].starts_with(longer)
    };
    text.match_indices(name).any(is_name)
}
