//! Fields of a SIPCluster that its current generation does not have.
//!
//! The API server drops them silently, and so would parsing. But a field that is dropped is a wish that is not
//! met, such as one for different racks, and the resource may be of an older generation altogether.

use schemars::schema_for;
use serde_json::Value as Schema;
use yaml_serde::Value;

use crate::api::sipcluster::SIPClusterSpec;
use crate::finding::{Code, Finding};
use crate::source::{Origin, Step};

/// What is wrong with the fields of a SIPCluster's spec.
pub(super) struct Misfit {
    pub(super) findings: Vec<Finding>,
    /// Whether no other mistake in the spec means anything until these are mended.
    pub(super) alone: bool,
}

/// Fields that only older generations have, below `spec` or a node set, with the generation and what to do.
const OLDER_FIELDS: [(&str, &str, &str); 6] = [
    ("infra", "of 2020 or January 2021", "its services are under `spec.services` today"),
    ("cluster-name", "of 2020 or January 2021", "the cluster's name is metadata.name today"),
    ("vm-flavor", "of 2020 or January 2021", "write `labelSelector: {matchLabels: {KEY: VALUE}}` today"),
    ("scheduling-constraints", "of November 2020", "name the label of racks or servers by `topologyKey` today"),
    ("spreadTopology", "of early 2021", "name the label of racks or servers by `topologyKey` today"),
    ("spread-topology", "of early 2021", "name the label of racks or servers by `topologyKey` today"),
];

/// Compares the fields of a spec with those that the current generation has.
pub(super) fn misfit(spec: &Value, origin: &Origin) -> Misfit {
    let schema = schema_for!(SIPClusterSpec).to_value();
    let mut unknown = Vec::new();
    collect_unknown(spec, &schema, &schema, &mut vec!["spec".into()], &mut unknown);
    let older = unknown.iter().find_map(|route| {
        let Some(Step::Key(field)) = route.last() else { return None };
        let known = OLDER_FIELDS.iter().find(|(name, ..)| name == field)?;
        Some((route, known))
    });
    if let Some((route, (field, generation, today))) = older {
        let finding =
            Finding::new(Code::OlderGeneration, format!("the SIPCluster is {generation}: it has the field `{field}`"))
                .at(origin.key(route.clone()))
                .help(format!("only the generation of mid-2021 and later can be read: {today}"));
        return Misfit { findings: vec![finding], alone: true };
    }
    let unknown_field = |route: Vec<Step>| {
        let name = match route.last() {
            Some(Step::Key(name)) => name.clone(),
            _ => String::new(),
        };
        Finding::new(Code::UnknownField, format!("a SIPCluster has no field `{name}` here"))
            .at(origin.key(route))
            .help("correct its name, or remove it: the API server would drop it")
    };
    Misfit { findings: unknown.into_iter().map(unknown_field).collect(), alone: false }
}

fn collect_unknown(value: &Value, schema: &Schema, root: &Schema, route: &mut Vec<Step>, unknown: &mut Vec<Vec<Step>>) {
    let schema = resolved(schema, root);
    match value {
        Value::Mapping(map) => {
            let properties = schema.get("properties");
            let others = schema.get("additionalProperties");
            // Selectors are checked by themselves, in words of their own.
            if properties.is_some_and(|properties| properties.get("matchLabels").is_some()) {
                return;
            }
            for (key, value) in map {
                let Some(key) = key.as_str() else { continue };
                route.push(key.into());
                match properties.and_then(|properties| properties.get(key)).or(others) {
                    Some(schema) => collect_unknown(value, schema, root, route, unknown),
                    None if properties.is_some() => unknown.push(route.clone()),
                    None => {}
                }
                route.pop();
            }
        }
        Value::Sequence(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter().enumerate() {
                route.push(index.into());
                collect_unknown(item, schema, root, route, unknown);
                route.pop();
            }
        }
        _ => {}
    }
}

/// The schema behind a reference, and of what may also be null, the one that is not.
fn resolved<'a>(schema: &'a Schema, root: &'a Schema) -> &'a Schema {
    if let Some(name) = schema.get("$ref").and_then(Schema::as_str).and_then(|path| path.strip_prefix("#/$defs/")) {
        return root.get("$defs").and_then(|definitions| definitions.get(name)).unwrap_or(schema);
    }
    let alternatives = schema.get("anyOf").and_then(Schema::as_array);
    let real = alternatives.and_then(|all| all.iter().find(|schema| schema.get("type") != Some(&"null".into())));
    real.map_or(schema, |schema| resolved(schema, root))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::source::Files;

    fn messages(spec: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("kind: SIPCluster\nspec:\n{spec}");
        std::fs::write(directory.path().join("c.yaml"), text).unwrap();
        let repo = Files::on_disk(camino::Utf8Path::from_path(directory.path()).unwrap());
        let read = repo.scan(
            &["c.yaml".into()],
            |_, _| true,
            |document| {
                let value: Value = document.parse().ok()?;
                Some(misfit(&value["spec"], &document.origin).findings)
            },
        );
        read.unwrap().into_iter().flatten().map(|finding| finding.message).collect()
    }

    #[test]
    fn every_field_of_the_current_generation_is_known() {
        let spec = "  nodes: {Worker: {labelSelector: {matchLabels: {a: b}}, topologyKey: k, count: {active: 1, standby: 0}}}\n\
                    \x20 services:\n    jumpHost: [{image: i, nodePort: 30000, bmc: {proxy: true}, nodeLabels: {a: b}}]\n\
                    \x20   loadBalancerWorker: [{nodePort: 1, nodePortRange: {start: 1, end: 2}, clusterIP: x}]\n";
        assert_eq!(messages(spec), Vec::<String>::new());
    }

    #[test]
    fn a_field_that_nothing_reads_is_named() {
        for (spec, field) in [
            ("  nodes: {Worker: {topologykey: rack}}\n", "topologykey"),
            ("  services: {jumpHost: [{bmc: {Proxy: true}}]}\n", "Proxy"),
            ("  services: {jumphost: []}\n", "jumphost"),
        ] {
            assert_eq!(messages(spec), [format!("a SIPCluster has no field `{field}` here")]);
        }
    }

    #[test]
    fn an_older_generation_is_called_so_once() {
        let messages = messages("  cluster-name: a\n  nodes: {worker: {vm-flavor: a=b, spreadTopology: per-rack}}\n");
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("of 2020 or January 2021"), "{messages:?}");
    }
}
