//! Options of agents' objects by which the labels of hosts do not arrive, or by which hosts are
//! replaced. [`inventory::apply_options`](crate::site::inventory::apply_options) has those of hosts.

use globset::Glob;
use regex::Regex;
use yaml_serde::Value;

use super::applied::ObjectOption;
use crate::base::api::gitops::{ApplicationSpec, FluxKustomizationSpec, GitopsAgent};
use crate::base::api::host;
use crate::base::api::names::HostKey;
use crate::base::finding::{Finding, Origin, RouteStep};
use crate::base::text::{counted, pointer_key};
use crate::input::settings::Settings;
use crate::site::inventory::apply_options::{ARGOCD, ApplyEffect, ApplyOption, finding};

/// Reports the options of an object that applies hosts.
pub(crate) fn findings(by: &str, options: &[ObjectOption], hosts: &[&HostKey]) -> Vec<Finding> {
    let finding = |option: &ObjectOption| {
        let hosts: Vec<&&HostKey> = hosts.iter().filter(|host| option.is_for(host)).collect();
        let (first, count) = (hosts.first()?, counted(hosts.len(), "host"));
        let subject = format!("{by} applies {count}, such as {first}");
        let help = "remove the option, or let an object of its own apply the hosts without it";
        Some(finding(&subject, &option.option).help(help))
    };
    options.iter().filter_map(finding).collect()
}

/// Returns the options of a Flux Kustomization.
pub(super) fn from_flux(
    settings: &Settings,
    origin: &Origin,
    spec: &FluxKustomizationSpec,
) -> Vec<ObjectOption> {
    let mut options = Vec::new();
    if spec.force.as_ref().and_then(Value::as_bool) == Some(true) {
        options.push(ObjectOption::new(ApplyOption {
            agent: GitopsAgent::Flux,
            text: "force: true".to_owned(),
            effect: ApplyEffect::Recreates,
            place: origin.at(["spec", "force"]),
        }));
    }
    for (index, rule) in items(spec.ignore.as_ref()).enumerate() {
        // A rule without a target is for all objects. Selectors may match any host.
        let pattern = |field: &str| {
            let target = rule.get("target")?.get(field)?;
            let pattern = target.as_str().filter(|pattern| !pattern.is_empty())?;
            Regex::new(&format!("^(?:{pattern})$")).ok()
        };
        let matches =
            |field: &str, own: &str| pattern(field).is_none_or(|pattern| pattern.is_match(own));
        let path = texts(rule, "paths").find(|(_, path)| covers(settings, path));
        if let Some((at, path)) = path
            && matches("kind", host::KIND)
            && matches("group", host::GROUP)
        {
            let route: [RouteStep; 5] =
                ["spec".into(), "ignore".into(), index.into(), "paths".into(), at.into()];
            options.push(ObjectOption {
                option: ignored(GitopsAgent::Flux, path, origin, route.to_vec()),
                patterns: ["namespace", "name"].map(pattern),
            });
        }
    }
    options
}

/// Returns the options of an Application, whose spec is at `route`.
pub(super) fn from_argocd(
    settings: &Settings,
    origin: &Origin,
    route: &[&str],
    spec: &ApplicationSpec,
) -> Vec<ObjectOption> {
    let below = |steps: Vec<RouteStep>| -> Vec<RouteStep> {
        route.iter().map(|key| RouteStep::from(*key)).chain(steps).collect()
    };
    let mut options = Vec::new();
    if let Some(policy) = &spec.sync_policy {
        for (index, text) in texts(policy, "syncOptions") {
            let known = ARGOCD.into_iter().find(|(option, _)| *option == text);
            options.extend(known.map(|(option, effect)| {
                ObjectOption::new(ApplyOption {
                    agent: GitopsAgent::Argocd,
                    text: option.to_owned(),
                    effect,
                    place: origin.at(below(vec![
                        "syncPolicy".into(),
                        "syncOptions".into(),
                        index.into(),
                    ])),
                })
            }));
        }
    }
    for (index, rule) in items(spec.ignore_differences.as_ref()).enumerate() {
        let matches = |field: &str, own: &str| {
            let pattern = rule.get(field).and_then(Value::as_str).unwrap_or_default();
            Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(own))
        };
        if !matches("kind", host::KIND) || !matches("group", host::GROUP) {
            continue;
        }
        let exactly = |field: &str| {
            let name = rule.get(field).and_then(Value::as_str)?;
            let pattern = format!("^{}$", regex::escape(name));
            Regex::new(&pattern).ok().filter(|_| !name.is_empty())
        };
        type Covers<'c> = &'c dyn Fn(&str) -> bool;
        let fields: [(&str, Covers<'_>); 3] = [
            ("jsonPointers", &|path| covers(settings, path)),
            ("jqPathExpressions", &|path| covers_by_jq(settings, path)),
            // Its own values of the past would outrank those in git.
            ("managedFieldsManagers", &|name| name == GitopsAgent::Argocd.manager()),
        ];
        for (field, covers) in fields {
            if let Some((at, text)) = texts(rule, field).find(|(_, text)| covers(text)) {
                let route =
                    below(vec!["ignoreDifferences".into(), index.into(), field.into(), at.into()]);
                options.push(ObjectOption {
                    option: ignored(GitopsAgent::Argocd, text, origin, route),
                    patterns: ["namespace", "name"].map(exactly),
                });
            }
        }
    }
    options
}

fn ignored(agent: GitopsAgent, text: &str, origin: &Origin, route: Vec<RouteStep>) -> ApplyOption {
    ApplyOption {
        agent,
        text: text.to_owned(),
        effect: ApplyEffect::IgnoresMetadata,
        place: origin.at(route),
    }
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_sequence).into_iter().flatten()
}

/// Returns the texts of a list with their indices.
fn texts<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = (usize, &'v str)> + use<'v> {
    let texts = items(value.get(field)).enumerate();
    texts.filter_map(|(index, text)| Some((index, text.as_str()?)))
}

/// Returns whether a JSON pointer covers labels of assignments, or annotations that guard hosts.
fn covers(settings: &Settings, pointer: &str) -> bool {
    let mut steps = pointer.split('/').skip(1);
    match (steps.next(), steps.next(), steps.next()) {
        (None, ..) => true,
        (Some("metadata"), None, _) => true,
        (Some("metadata"), Some("labels" | "annotations"), None) => true,
        (Some("metadata"), Some("labels" | "annotations"), Some(key)) => {
            is_ours(settings, &pointer_key(key))
        }
        _ => false,
    }
}

/// Returns whether a path expression of jq may cover them.
fn covers_by_jq(settings: &Settings, path: &str) -> bool {
    let rest =
        ["labels", "annotations"].into_iter().find_map(|field| Some(path.split_once(field)?.1));
    match rest {
        Some(rest) => {
            let key = rest.trim_matches(|char: char| " .[]\"'?".contains(char));
            let is_key = |char: char| char.is_ascii_alphanumeric() || "-_./".contains(char);
            key.is_empty() || is_ours(settings, key) || !key.chars().all(is_key)
        }
        None => path.trim() == "." || path.trim_end().ends_with("metadata") || path.contains(".."),
    }
}

fn is_ours(settings: &Settings, key: &str) -> bool {
    settings.assignment.has_key(key) || [host::PRUNE, host::SYNC_OPTIONS].contains(&key)
}
