//! Options of agents' objects by which the labels of hosts do not arrive, or by which hosts are
//! replaced. [`inventory::apply_options`](crate::site::inventory::apply_options) has those of hosts.

use globset::{Glob, GlobBuilder};
use regex::Regex;
use yaml_serde::Value;

use super::applied::ObjectOption;
use super::repo::DeliveryRepo;
use crate::base::api::gitops::{
    AppProjectSpec, ApplicationDestination, ApplicationSpec, FluxKustomizationSpec, GitopsAgent,
};
use crate::base::api::host;
use crate::base::api::names::HostKey;
use crate::base::finding::{Finding, Origin, Place, RouteStep, below};
use crate::base::layout::VARIABLE;
use crate::base::text::{counted, pointer_key, yaml};
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
        let (text, place) = ("force: true", origin.at(["spec", "force"]));
        options.push(option(GitopsAgent::Flux, text, ApplyEffect::Recreates, place));
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
            let (effect, place) = (ApplyEffect::IgnoresMetadata, origin.at(route));
            let ignored = option(GitopsAgent::Flux, path, effect, place);
            options.push(ObjectOption { patterns: ["namespace", "name"].map(pattern), ..ignored });
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
    let route: Vec<RouteStep> = route.iter().map(|key| RouteStep::from(*key)).collect();
    let mut options = Vec::new();
    if let Some(policy) = &spec.sync_policy {
        for (index, text) in texts(policy, "syncOptions") {
            let known = ARGOCD.into_iter().find(|(option, _)| *option == text);
            if let Some((text, effect)) = known {
                let steps = ["syncPolicy".into(), "syncOptions".into(), RouteStep::from(index)];
                let place = origin.at(below(&route, steps));
                options.push(option(GitopsAgent::Argocd, text, effect, place));
            }
        }
    }
    for (index, rule) in items(spec.ignore_differences.as_ref()).enumerate() {
        if !is_for_hosts(rule) {
            continue;
        }
        let exactly = |field: &str| {
            let name = rule.get(field).and_then(Value::as_str)?;
            let pattern = format!("^{}$", regex::escape(name));
            Regex::new(&pattern).ok().filter(|_| !name.is_empty())
        };
        for (field, at, text) in ignored_fields(settings, rule) {
            let steps: [RouteStep; 4] =
                ["ignoreDifferences".into(), index.into(), field.into(), at.into()];
            let (effect, place) = (ApplyEffect::IgnoresMetadata, origin.at(below(&route, steps)));
            let ignored = option(GitopsAgent::Argocd, text, effect, place);
            options.push(ObjectOption { patterns: ["namespace", "name"].map(exactly), ..ignored });
        }
    }
    options
}

/// Returns the entries of a rule of Argo CD for differences by which labels do not arrive, with their
/// fields and indices.
fn ignored_fields<'v>(
    settings: &Settings,
    rule: &'v Value,
) -> impl Iterator<Item = (&'static str, usize, &'v str)> {
    let fields = ["jsonPointers", "jqPathExpressions", "managedFieldsManagers"].into_iter();
    fields.filter_map(move |field| {
        let covers = |text: &str| match field {
            "jsonPointers" => covers(settings, text),
            "jqPathExpressions" => covers_by_jq(settings, text),
            // Its own values of the past would outrank those in git.
            _ => text == GitopsAgent::Argocd.manager(),
        };
        let (at, text) = texts(rule, field).find(|(_, text)| covers(text))?;
        Some((field, at, text))
    })
}

/// Returns whether the globs of Argo CD in `group` and `kind` match hosts.
fn is_for_hosts(rule: &Value) -> bool {
    let matches = |field: &str, own: &str| {
        is_glob(rule.get(field).and_then(Value::as_str).unwrap_or_default(), own)
    };
    matches("kind", host::KIND) && matches("group", host::GROUP)
}

/// Returns the lists of an AppProject by which Argo CD refuses hosts, or the repo.
fn from_project(settings: &Settings, origin: &Origin, spec: &AppProjectSpec) -> Vec<ObjectOption> {
    let refusal = |field: &str| {
        option(GitopsAgent::Argocd, field, ApplyEffect::Skips, origin.at(["spec", field]))
    };
    let lists_hosts = |list: &Option<Value>| items(list.as_ref()).any(is_for_hosts);
    let mut options = Vec::new();
    let permitted = &spec.namespace_resource_whitelist;
    if permitted.as_ref().is_some_and(Value::is_sequence) && !lists_hosts(permitted) {
        options.push(refusal("namespaceResourceWhitelist"));
    }
    if lists_hosts(&spec.namespace_resource_blacklist) {
        options.push(refusal("namespaceResourceBlacklist"));
    }
    if let (Some(sources), Some(own)) = (&spec.source_repos, &settings.argocd.repo_url) {
        let (denied, permitted) = separated(sources.iter().map(String::as_str));
        let is_permitted = |glob: &str| {
            is_template(glob)
                || own.is_same_repo(glob)
                || is_glob(&plain_url(glob), &plain_url(own.as_str()))
        };
        let is_denied = |glob: &str| {
            let mut glob = GlobBuilder::new(glob.trim_end_matches(".git"));
            let glob = glob.case_insensitive(true).literal_separator(true).build();
            let own = own.as_str().trim_end_matches(".git");
            glob.is_ok_and(|glob| glob.compile_matcher().is_match(own))
        };
        if denied.into_iter().any(is_denied) || !permitted.into_iter().any(is_permitted) {
            options.push(refusal("sourceRepos"));
        }
    }
    if let Some(destinations) = &spec.destinations {
        let is_there = |it: &&ApplicationDestination| is_own_cluster(settings, it);
        let there = destinations.iter().filter(is_there).map(namespace_of);
        let (_, permitted) = separated(there);
        let others = ObjectOption { is_inverted: true, ..refusal("destinations") };
        options.push(ObjectOption { patterns: [any_of(&permitted), None], ..others });
        let (denied, _) = separated(destinations.iter().map(namespace_of));
        let denied = any_of(&denied).filter(|_| !denied.is_empty());
        options.extend(denied.map(|denied| ObjectOption {
            patterns: [Some(denied), None],
            ..refusal("destinations")
        }));
    }
    options
}

/// Returns the glob of namespaces of a destination.
fn namespace_of(destination: &ApplicationDestination) -> &str {
    match destination.namespace.as_deref().unwrap_or_default() {
        glob if is_template(glob) => "*",
        glob => glob,
    }
}

/// Returns whether only another program knows a text.
fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains(VARIABLE)
}

/// Returns the host and path of a URL, which Argo CD compares, also if it is for SSH.
fn plain_url(url: &str) -> String {
    let url = url.trim().trim_end_matches(".git").to_lowercase();
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    rest.replacen(':', "/", 1)
}

/// Separates the globs of what Argo CD denies, which begin with `!`, from those of what it permits. One
/// that denies permits all else.
fn separated<'g>(globs: impl Iterator<Item = &'g str>) -> (Vec<&'g str>, Vec<&'g str>) {
    let (mut denied, mut permitted) = (Vec::new(), Vec::new());
    for glob in globs {
        denied.extend(glob.strip_prefix('!'));
        permitted.push(if glob.starts_with('!') { "*" } else { glob });
    }
    (denied, permitted)
}

/// Returns the pattern of texts that one of some globs matches.
fn any_of(globs: &[&str]) -> Option<Regex> {
    // globset's own flag is for paths, which may be no UTF-8.
    let pattern =
        |glob: &&str| Some(Glob::new(glob).ok()?.regex().trim_start_matches("(?-u)").to_owned());
    let patterns: Option<Vec<String>> = globs.iter().map(pattern).collect();
    Regex::new(&format!("^(?:{})$", patterns?.join("|"))).ok()
}

/// Returns whether a destination of an AppProject may be the base cluster, whose name or server the
/// settings do not tell.
fn is_own_cluster(settings: &Settings, permitted: &ApplicationDestination) -> bool {
    let [server, name] = settings.argocd.destination.server_and_name();
    let pairs = [(&permitted.server, server), (&permitted.name, name)];
    pairs.into_iter().any(|(glob, own)| match (glob, own) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(glob), Some(_)) if is_template(glob) => true,
        (Some(glob), Some(own)) => match glob.strip_prefix('!') {
            Some(denied) => !is_glob(denied, own),
            None => is_glob(glob, own),
        },
    })
}

/// Returns the options in Argo CD's ConfigMaps, which are for the hosts of all Applications, and in a
/// project.
pub(super) fn from_argocd_settings(repo: &DeliveryRepo<'_>, project: &str) -> Vec<ObjectOption> {
    let is_own = |server: &str| {
        let destination =
            ApplicationDestination { server: Some(server.to_owned()), ..Default::default() };
        repo.settings.argocd.destination.is(&destination)
    };
    let matches = |rule: &Value, field: &str, is_own: &dyn Fn(&str) -> bool| {
        items(rule.get(field)).next().is_none() || texts(rule, field).any(|(_, text)| is_own(text))
    };
    let has_hosts = |rule: &Value| {
        matches(rule, "apiGroups", &|glob| is_glob(glob, host::GROUP))
            && matches(rule, "kinds", &|kind| ["*", host::KIND].contains(&kind))
            && matches(rule, "clusters", &|cluster| cluster == "*" || is_own(cluster))
    };
    let rules =
        |data: &Value, key: &str| -> Option<Value> { yaml::parse(data.get(key)?.as_str()?) };
    let mut projects =
        repo.context.argocd_projects.iter().filter(|(_, it)| it.metadata.name == project);
    // Of two with one name, at least one is another base cluster's.
    let only = projects.next().filter(|_| projects.next().is_none());
    let mut options =
        only.map_or_else(Vec::new, |(origin, it)| from_project(repo.settings, origin, &it.spec));
    for (origin, data) in &repo.context.argocd_settings {
        let mut add = |key: &str, text: &str, effect| {
            options.push(option(GitopsAgent::Argocd, text, effect, origin.at(["data", key])));
        };
        let (exclusions, inclusions) = ("resource.exclusions", "resource.inclusions");
        if items(rules(data, exclusions).as_ref()).any(has_hosts) {
            add(exclusions, exclusions, ApplyEffect::Skips);
        }
        let included = rules(data, inclusions);
        let mut included = items(included.as_ref()).peekable();
        if included.peek().is_some() && !included.any(has_hosts) {
            add(inclusions, inclusions, ApplyEffect::Skips);
        }
        let kinds = ["all".to_owned(), format!("{}_{}", host::GROUP, host::KIND)];
        let keys = kinds.map(|kind| format!("resource.customizations.ignoreDifferences.{kind}"));
        let by_kind = keys.into_iter().filter_map(|key| Some((rules(data, &key)?, key)));
        let all = "resource.customizations";
        let customized = rules(data, all);
        let customized = customized.iter().filter_map(Value::as_mapping).flatten();
        let for_hosts = customized.filter_map(|(kind, rule)| {
            let (group, kind) = kind.as_str()?.split_once('/')?;
            let is_for_hosts = is_glob(group, host::GROUP) && is_glob(kind, host::KIND);
            is_for_hosts.then_some((rules(rule, "ignoreDifferences")?, all.to_owned()))
        });
        for (rule, key) in by_kind.chain(for_hosts) {
            for (.., text) in ignored_fields(repo.settings, &rule) {
                add(&key, text, ApplyEffect::IgnoresMetadata);
            }
        }
    }
    options
}

/// Returns an option for all hosts.
fn option(agent: GitopsAgent, text: &str, effect: ApplyEffect, place: Place) -> ObjectOption {
    ObjectOption::new(ApplyOption::new(agent, text, effect, place))
}

/// Returns whether a text is a glob that matches another one.
fn is_glob(glob: &str, own: &str) -> bool {
    Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(own))
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
        (None, ..) | (Some("metadata"), None, _) => true,
        (Some("metadata"), Some("labels" | "annotations"), key) => {
            key.is_none_or(|key| is_ours(settings, &pointer_key(key)))
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
