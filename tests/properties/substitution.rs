//! Comparison of sipgen's replacement of Flux's variables with Flux's own code: known spellings, and thousands of made-up ones.

use std::collections::BTreeMap;

use sipgen::input::kustomize::EvaluationError;
use yaml_serde::Value;

use crate::evaluating::{Tree, in_memory, real_builds, sorted};

/// How many texts are made up.
const TEXTS: u64 = 6000;

/// Names and values of variables.
const VARIABLES: [(&str, &str); 15] = [
    ("R", "r1"),
    ("N", "7"),
    ("EMPTY", ""),
    ("quote", "\""),
    ("apostrophe", "'"),
    ("path", "a/b.c/d"),
    ("word", "Rack-One"),
    ("on", "on"),
    ("flow", "{a: b}"),
    ("item", "- x"),
    ("pair", "a: b"),
    ("hash", "x # y"),
    ("octal", "012"),
    ("umlaut", "ärger"),
    ("dollar", "a$$b"),
];

/// Texts with a meaning of their own to envsubst or YAML.
const SPELLINGS: &[&str] = &[
    "${R}",
    "$R",
    "$${R}",
    "$$${R}",
    "$$$${R}",
    "a$$b",
    "$",
    "$$",
    "${",
    "${R",
    "${}",
    "${ R }",
    "${R }",
    "${ R}",
    "${R}${R}",
    "a-${R}-b",
    "${R:-x}",
    "${R:=x}",
    "${R:+x}",
    "${R:?x}",
    "${R-x}",
    "${R=x}",
    "${R+x}",
    "${R?x}",
    "${U}",
    "${U:-x}",
    "${U:=x}",
    "${U=x}",
    "${U:=}",
    "${U:=${R}}",
    "${U:=a${R}b${N}}",
    "${U:=a}b}",
    "${EMPTY:=x}",
    "${EMPTY:-${U:-y}}",
    "${EMPTY}",
    "${#R}",
    "${#umlaut}",
    "${#}",
    "${#R:x}",
    "${R^}",
    "${R^^}",
    "${word,}",
    "${word,,}",
    "${word^,}",
    "${umlaut^}",
    "${umlaut^^}",
    "${R:1}",
    "${R:0:1}",
    "${R:0:-1}",
    "${R:-1}",
    "${R: -1}",
    "${R:9}",
    "${R:x}",
    "${R:1:x}",
    "${R:}",
    "${R::1}",
    "${R:1:}",
    "${umlaut:1}",
    "${umlaut:0:1}",
    "${R:ä}",
    "${path#*/}",
    "${path##*/}",
    "${path%/*}",
    "${path%%/*}",
    "${path%.*}",
    "${path#[ab]}",
    "${path#[^b]?}",
    "${path#[}",
    "${path##[a-}",
    "${path#}",
    "${path###a}",
    "${path/a/x}",
    "${path//[/]/x}",
    "${path/\\//-}",
    "${path//\\//-}",
    "${path/#a/x}",
    "${path/%d/x}",
    "${path/b}",
    "${path/b/}",
    "${path///x}",
    "${path//b/${R}}",
    "${path/${R}/x}",
    "${R/}",
    "${R//}",
    "${quote}${N}${quote}",
    "${quote}",
    "${quote}a",
    "a${quote}",
    "${apostrophe}${N}${apostrophe}",
    "'${N}'",
    "\"${N}\"",
    "${N}",
    "0${N}",
    "${N}.5",
    "${N}e3",
    "1_${N}",
    "0x${N}",
    "${on}",
    "${octal}",
    "${flow}",
    "${item}",
    "${pair}",
    "x ${pair}",
    "${hash}",
    "a: ${R}",
    "x #${R}",
    "#${R}",
    "- ${R}",
    "[${R}]",
    "{a: ${R}}",
    "*${R}",
    "&${R}",
    "!${R}",
    "!!str ${N}",
    "|${R}",
    ">${R}",
    "@${R}",
    "`${R}`",
    "%${R}",
    "?${R}",
    "? ${R}",
    ":${R}",
    " ${R}",
    "${R} ",
    "a\n${R}\nb",
    "a\n${R}\n",
    "a\n${hash}",
    "\t${R}",
    "${R}\t",
    "${ä}",
    "${1}",
    "${R_}",
    "${R.a}",
    "${R[0]}",
    "${!R}",
    "${R@Q}",
    "$(R)",
    "{{${R}}}",
    "${R}:",
    "${R}: x",
    "${EMPTY}~",
    "~${EMPTY}",
    "nu${EMPTY}ll",
    "${dollar}",
    "${U:=$${R}}",
    "${R:=a\nb}",
    "${U:=a\nb}",
    "${EMPTY}.inf",
    "-${EMPTY}.Inf",
    "+.INF${EMPTY}",
    ".nan${EMPTY}",
    "${EMPTY}.NaN",
    "-.nan${EMPTY}",
    ".iNf${EMPTY}",
    "2021-0${N}-01",
    "${N}:30",
    "<<${EMPTY}",
    "${EMPTY}<<",
    "---${EMPTY}",
    "...${EMPTY}",
    "\u{a0}${R}",
    "\u{2028}${R}",
    "${R}\u{7}",
];

#[test]
fn variables_are_substituted_as_flux_does() {
    let variables = VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables = BTreeMap::from(variables);
    let known = SPELLINGS.iter().map(|text| (*text).to_owned());
    let texts: Vec<String> = known.chain((0..TEXTS).map(made_up)).collect();
    let trees: Vec<Tree> =
        texts.iter().enumerate().map(|(index, text)| tree(index, text)).collect();
    let real = real_builds(&trees, Some(&variables));

    let (mut same, mut refused, mut left) = (0, 0, 0);
    let mut different: Vec<(usize, String)> = Vec::new();
    for ((text, tree), real) in texts.iter().zip(&trees).zip(&real) {
        let ours = in_memory(tree, &variables);
        // No API server takes such an object.
        let real = real.clone().and_then(|real| {
            let is_valid = real.iter().all(has_valid_metadata);
            // It takes null for the empty text.
            let real: Vec<Value> = real.into_iter().map(with_empty_labels).collect();
            is_valid.then_some(real).ok_or("invalid metadata".to_owned())
        });
        match (&ours, &real) {
            (Err(EvaluationError::Undetermined(_) | EvaluationError::Beyond(_)), _) => left += 1,
            (Err(_), Err(_)) => refused += 1,
            (Ok(ours), Ok(real)) if sorted(ours) == sorted(real) => same += 1,
            _ => {
                let ours = ours.map(|ours| sorted(&ours).join("---\n"));
                let real = real.map(|real| sorted(&real).join("---\n"));
                different
                    .push((text.len(), format!("{text:?}\nsipgen: {ours:?}\nFlux:   {real:?}")));
            }
        }
    }
    different.sort();
    let shown: Vec<&str> = different.iter().take(10).map(|(_, shown)| shown.as_str()).collect();
    assert!(
        different.is_empty(),
        "{} of {} texts are substituted otherwise; the shortest:\n{}",
        different.len(),
        texts.len(),
        shown.join("\n")
    );
    println!("{same} equal, {refused} refused by both, {left} left to Flux");
    let all = texts.len();
    assert!(same > all / 3 && refused > all / 10 && left < all / 20, "{same} {refused} {left}");
}

/// Texts that YAML 1.1, YAML 1.2 or JSON take for other types without quotes.
const OTHER_TYPES: [&str; 30] = [
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "N",
    "true",
    "False",
    "null",
    "~",
    "Null",
    "012",
    "0o17",
    "0x1f",
    "0b11",
    "1_000",
    "1:30",
    "190:20:30",
    "1e3",
    "1E+3",
    ".5",
    "+1",
    "-0",
    "5.",
    ".inf",
    "-.Inf",
    ".NaN",
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    "=",
];

/// A build whose object has a text as value, label, item or key, beside a text of another type.
fn tree(index: usize, text: &str) -> Tree {
    let text = serde_json::to_string(text).unwrap();
    let other = OTHER_TYPES[index / 4 % OTHER_TYPES.len()];
    let object = match index % 4 {
        0 => {
            format!("metadata: {{name: a, labels: {{x: {text}, y: '{other}'}}}}\nspec: {{b: c}}\n")
        }
        1 => format!("metadata: {{name: a}}\nspec: {{b: {text}, c: 'd/e', '{other}': e}}\n"),
        2 => format!("metadata: {{name: a}}\nspec:\n  b: [{text}, '{other}', {{c: {text}}}]\n"),
        _ => format!(
            "metadata: {{name: a, labels: {{y: '{other}'}}}}\nspec: {{first: 1, {text}: x}}\n"
        ),
    };
    Tree::from([
        ("top/kustomization.yaml".to_owned(), "resources: [a.yaml]\n".to_owned()),
        (
            "top/a.yaml".to_owned(),
            format!("apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n{object}"),
        ),
    ])
}

fn with_empty_labels(mut object: Value) -> Value {
    let labels = object["metadata"].get_mut("labels").and_then(Value::as_mapping_mut);
    for value in labels.into_iter().flat_map(|labels| labels.values_mut()) {
        if value.is_null() {
            *value = Value::from("");
        }
    }
    object
}

fn has_valid_metadata(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let are_texts = |field: &str| match &metadata[field] {
        Value::Mapping(entries) => {
            entries.values().all(|value| value.is_string() || value.is_null())
        }
        Value::Null => true,
        _ => false,
    };
    are_texts("labels") && are_texts("annotations") && metadata["name"].is_string()
}

/// Makes up a text: the same one for the same seed.
fn made_up(seed: u64) -> String {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    };
    const PARTS: &[&str] = &[
        "$", "$$", "${", "}", "R", "U", "N", "path", "quote", "umlaut", "EMPTY", ":", ":=", ":-",
        "=", "#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,", "1", "-1", "0",
        "*", "?", "[a]", "a", "b", ".", "\\", "\\/", "ä", " ", "-", "${R}", "${N}", "${U:=x}",
        "${path", "${R:", "\n", "'", "\"",
    ];
    let count = 1 + below(9);
    (0..count).map(|_| PARTS[below(PARTS.len())]).collect()
}
