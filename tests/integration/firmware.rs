//! Firmware settings that outputs render: an error unless Metal3 would accept them.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use crate::support::{Repo, assert_says};

const SETTINGS: &str = "apiVersion: metal3.io/v1alpha1\nkind: HostFirmwareSettings\n";

/// A repo whose only cluster has `host-1` and `host-2` with a schema, and an output that renders settings.
fn repo_with(schema: &Json, settings: &str) -> Repo {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/edge", 2);
    let object = |kind: &str, name: &str| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: metal}}\n"
        )
    };
    let known = |host: &str| {
        object("HostFirmwareSettings", host)
            + "status: {schema: {name: schema-1, namespace: metal}}\n"
    };
    let schema = object("FirmwareSchema", "schema-1") + &format!("spec: {{schema: {schema}}}\n");
    repo.write("inventory/firmware.yaml", &[schema, known("host-1"), known("host-2")].concat());
    repo.write("sipgen.yaml", "templates: own\noutputs: [{name: bios, scope: host}]\n");
    repo.write("own/outputs/bios/settings.yaml", &template(settings));
    repo
}

fn template(settings: &str) -> String {
    let metadata = "metadata: {name: {{ host.name }}, namespace: {{ host.namespace }}}\n";
    format!("{SETTINGS}{metadata}spec:\n  settings: {settings}\n")
}

/// Schemas of settings with values, and whether Metal3 accepts each, drawn from a number.
fn drawn(number: i64) -> Vec<(Json, Vec<(Json, bool)>)> {
    let least = number * 37 % 101 - 50;
    let most = least + number % 7;
    let integer = |fields: Json| {
        let mut schema = json!({"attribute_type": "Integer"});
        schema.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        schema
    };
    let (short, long) = (number % 4 + 1, number % 4 + 1 + number % 3);
    let text = |bytes: i64| json!("x".repeat(usize::try_from(bytes).unwrap()));
    let values = ["Enabled", "Disabled", "Auto", "16", "On"];
    let (allowed, refused) = values.split_at(usize::try_from(number % 4).unwrap() + 1);
    let mut enumerated: Vec<(Json, bool)> =
        allowed.iter().map(|value| (json!(value), true)).collect();
    enumerated.extend(refused.iter().map(|value| (json!(value), false)));
    enumerated.extend(
        allowed
            .iter()
            .map(|value| (json!(value.to_lowercase()), value.as_bytes()[0].is_ascii_digit())),
    );
    enumerated.extend([json!(""), json!(17), json!(true), Json::Null].map(|value| (value, false)));
    let number_text = allowed.contains(&"16");
    enumerated.push((json!(16), number_text));
    let any = |is_valid: bool| {
        vec![(json!("a"), is_valid), (json!(number), is_valid), (json!("true"), is_valid)]
    };
    vec![
        (json!({"attribute_type": "Enumeration", "allowable_values": allowed}), enumerated),
        (
            integer(json!({"lower_bound": least, "upper_bound": most})),
            vec![
                (json!(least - 1), false),
                (json!(least), true),
                (json!(most), true),
                (json!(most + 1), false),
                (json!((least - 1).to_string()), false),
                (json!(least.to_string()), true),
                (json!(most.to_string()), true),
                (json!((most + 1).to_string()), false),
                (json!(format!("{least}.0")), false),
                (json!(format!(" {least}")), false),
                (json!(format!("{least}_")), false),
                (json!("0x0"), false),
                (json!(""), false),
                (json!(0.5), false),
                (json!([least]), false),
            ],
        ),
        (
            integer(json!({"lower_bound": least})),
            vec![
                (json!(least - 1), false),
                (json!(i32::MAX), true),
                (json!(i64::from(i32::MAX) + 1), false),
                (json!((i64::from(i32::MAX) + 1).to_string()), true),
            ],
        ),
        (
            integer(json!({"upper_bound": most})),
            vec![
                (json!(most + 1), false),
                (json!(i32::MIN), true),
                (json!(i64::MIN.to_string()), true),
                (json!("9223372036854775808"), false),
            ],
        ),
        (
            integer(json!({})),
            vec![
                (json!(number), true),
                (json!("+7"), true),
                (json!("-"), false),
                (json!("seven"), false),
            ],
        ),
        (
            json!({"attribute_type": "String", "min_length": short, "max_length": long}),
            vec![
                (text(short - 1), false),
                (text(short), true),
                (text(long), true),
                (text(long + 1), false),
                // Bytes count, not characters.
                (json!("é".repeat(usize::try_from(long / 2 + 1).unwrap())), false),
                (json!(10_i64.pow(u32::try_from(short).unwrap() - 1)), true),
                (json!(10_i64.pow(u32::try_from(long).unwrap())), false),
                (json!({"a": "b"}), false),
            ],
        ),
        (json!({"attribute_type": "String"}), any(true)),
        (
            json!({"attribute_type": "Boolean"}),
            vec![
                (json!("true"), true),
                (json!("false"), true),
                (json!("True"), false),
                (json!("1"), false),
                (json!(1), false),
                (json!(true), false),
                (json!(""), false),
            ],
        ),
        (json!({"attribute_type": "Password"}), any(false)),
        (json!({"attribute_type": "Matrix"}), any(false)),
        (json!({"read_only": false}), any(true)),
        (json!({"unique": true, "attribute_type": "String", "read_only": true}), any(false)),
        (json!({"attribute_type": "Enumeration"}), any(false)),
    ]
}

#[test]
fn exactly_the_settings_that_metal3_refuses_are_errors() {
    let (mut schema, mut settings, mut refused) = (Map::new(), Map::new(), BTreeSet::new());
    for number in 1..=40 {
        for (kind, (setting, values)) in drawn(number).into_iter().enumerate() {
            for (index, (value, is_valid)) in values.into_iter().enumerate() {
                let name = format!("Setting{number}x{kind}x{index}y");
                schema.insert(name.clone(), setting.clone());
                if !is_valid {
                    refused.insert(name.clone());
                }
                settings.insert(name, value);
            }
        }
    }
    schema.insert("AdminPassword".to_owned(), json!({"attribute_type": "String"}));
    for name in ["AdminPassword", "NoSuchSetting"] {
        settings.insert(name.to_owned(), json!("x"));
        refused.insert(name.to_owned());
    }
    assert!(
        settings.len() > 2_000 && refused.len() > 1_000,
        "{} {}",
        settings.len(),
        refused.len()
    );

    let repo = repo_with(&schema.into(), &Json::from(settings).to_string());
    let run = repo.generate(&["--check", "--format", "sarif"]).expect(1);

    let found: Json = serde_json::from_str(&run.stdout).unwrap();
    let results = found["runs"][0]["results"].as_array().unwrap().iter();
    let results = results.filter(|result| result["ruleId"] == "SIP0703");
    let messages = results.filter_map(|result| result["message"]["text"].as_str());
    let settings = messages.filter_map(|message| message.split('`').nth(1)?.split(':').next());
    let reported: BTreeSet<String> = settings.map(str::to_owned).collect();
    let differing: Vec<_> = reported.symmetric_difference(&refused).collect();
    assert!(differing.is_empty(), "{differing:?}");
}

fn bios() -> Json {
    json!({
        "ProcTurboMode": {"attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"]},
        "SmtControl": {"attribute_type": "Enumeration", "allowable_values": ["On", "Off"]},
        "FanSpeed": {"attribute_type": "Integer", "lower_bound": 0, "upper_bound": 255},
        "AssetTag": {"attribute_type": "String", "min_length": 1, "max_length": 8},
        "SerialNumber": {"attribute_type": "String", "read_only": true},
    })
}

#[test]
fn an_error_names_the_place_the_hosts_and_what_is_allowed() {
    let settings = "\n    ProcTurboMod: Enabled\n    ProcTurboMode: enabled\n    FanSpeed: 256\n    \
                    AssetTag: ''\n    SerialNumber: S1\n    SmtControl: Off\n";

    let said = repo_with(&bios(), settings).refused();

    assert_says(
        &said,
        &[
            "the template own/outputs/bios/settings.yaml renders `ProcTurboMod: Enabled` for metal/host-1, metal/host-2, but the host has no such setting",
            "--> own/outputs/bios/settings.yaml:6:5",
            "did you mean `ProcTurboMode`?",
            "`ProcTurboMode: enabled` for metal/host-1, metal/host-2, but the value must be one of `Enabled`, `Disabled`",
            "--> own/outputs/bios/settings.yaml:7:5",
            "did you mean `Enabled`?",
            "the value must be an integer (0 to 255)",
            "the value must be a text (1 to 8 bytes)",
            "`SerialNumber: S1` for metal/host-1, metal/host-2, but Metal3 cannot change the setting",
            // kubectl and Flux read a boolean, which the API server refuses.
            "`SmtControl: Off` for metal/host-1, metal/host-2, but Kubernetes reads neither a text nor an integer",
            "write the value in quotes",
        ],
    );
    assert_eq!(said.matches("error[SIP0703]").count(), 6);
}

#[test]
fn only_hosts_with_a_known_schema_are_checked() {
    let wrong = "{NoSuchSetting: 1}";
    let repo = repo_with(&bios(), wrong);
    let firmware = repo.read("inventory/firmware.yaml");
    for (from, to) in [
        ("kind: FirmwareSchema", "kind: Other"),
        ("metal3.io/v1alpha1\nkind: FirmwareSchema", "example.com/v1\nkind: FirmwareSchema"),
        ("name: schema-1, namespace: metal}\nspec", "name: schema-2, namespace: metal}\nspec"),
        ("status: {schema: {name: schema-1, namespace: metal}}", "spec: {settings: {}}"),
    ] {
        repo.write("inventory/firmware.yaml", &firmware.replace(from, to));
        repo.generate(&["--check"]).expect(1);
        assert!(!repo.generate(&["--check"]).stderr.contains("SIP0703"), "{to}");
    }
    // Metal3 makes an empty schema before it knows the settings.
    repo.write(
        "inventory/firmware.yaml",
        &repo_with(&json!({}), wrong).read("inventory/firmware.yaml"),
    );
    assert!(!repo.generate(&["--check"]).stderr.contains("SIP0703"));

    repo.write("inventory/firmware.yaml", &firmware.replace("name: host-1,", "name: host-9,"));
    assert_says(&repo.refused(), &["for metal/host-2, but"]);
}

#[test]
fn every_scope_and_a_namespace_by_kustomization_are_checked() {
    let list = "{% for host in cluster.hosts %}\n---\n";
    let site = "{% for host in clusters[0].hosts %}\n---\n";
    let item = template("{NoSuchSetting: 1}");
    for (scope, text) in [
        ("cluster", format!("{list}{item}{{% endfor %}}\n")),
        ("site", format!("{site}{item}{{% endfor %}}\n")),
    ] {
        let repo = repo_with(&bios(), "");
        repo.replace("sipgen.yaml", "scope: host", &format!("scope: {scope}"));
        repo.write("own/outputs/bios/settings.yaml", &text);
        assert_says(
            &repo.refused(),
            &["for metal/host-1, metal/host-2, but the host has no such setting"],
        );
    }
    let repo = repo_with(&bios(), "{NoSuchSetting: 1}");
    repo.replace("own/outputs/bios/settings.yaml", ", namespace: {{ host.namespace }}", "");
    repo.write("own/outputs/bios/kustomization.yaml", "namespace: metal\nresources: {{ files }}\n");
    assert_says(
        &repo.refused(),
        &["for metal/host-1, metal/host-2, but the host has no such setting"],
    );
}
