//! Names of types and functions: a search for one finds one thing.

use std::collections::BTreeMap;

use regex::Regex;

use crate::rooms::{Module, modules};

/// Names that many modules may have: clap's arguments and the error of a room.
const COMMON: [&str; 2] = ["Arguments", "Error"];

/// The code of the crate without its tests.
fn code() -> BTreeMap<Module, String> {
    let mut code = modules();
    code.retain(|module, _| module.last().is_none_or(|name| name != "tests"));
    code
}

/// The modules that define a struct, enum or trait of each name.
fn types(code: &BTreeMap<Module, String>) -> BTreeMap<String, Vec<String>> {
    let definition =
        Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait) ([A-Z]\w*)").unwrap();
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (module, text) in code {
        for found in definition.captures_iter(text) {
            let modules = types.entry(found[1].to_owned()).or_default();
            modules.push(module.join("::"));
        }
    }
    types
}

/// The types whose name is not unique, with the modules that define them.
fn sharing(code: &BTreeMap<Module, String>) -> BTreeMap<String, Vec<String>> {
    let mut types = types(code);
    types.retain(|name, modules| modules.len() > 1 && !COMMON.contains(&name.as_str()));
    types
}

/// The identifiers that begin with `of_`, which says whose a thing is and not what, with their modules.
fn beginning_with_of(code: &BTreeMap<Module, String>) -> Vec<String> {
    let identifier = Regex::new(r"\bof_[a-z]\w*").unwrap();
    let found = code.iter().flat_map(|(module, text)| {
        let identifiers = identifier.find_iter(text);
        identifiers.map(|found| format!("{}: {}", module.join("::"), found.as_str()))
    });
    found.collect()
}

#[test]
fn types_have_names_of_their_own() {
    let sharing = sharing(&code());
    assert!(sharing.is_empty(), "{sharing:#?}");
}

#[test]
fn identifiers_say_what_they_are() {
    let found = beginning_with_of(&code());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn names_are_found_in_every_form() {
    let code = |texts: [&str; 3]| -> BTreeMap<Module, String> {
        let names = ["a", "b", "c"].map(|name| vec![name.to_owned()]);
        names.into_iter().zip(texts.map(str::to_owned)).collect()
    };
    let code = code([
        "pub(crate) struct Host {}\nenum Kind {\n    A,\n}\nstruct Error;\nfn of_hosts() {}",
        "fn f() {\n    struct Host;\n    let out_of_bounds = 1;\n}\nenum Error {}\n",
        "pub trait Kind {}\nstruct HostKind {\n    of_both: bool,\n}\n",
    ]);
    let modules = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    assert_eq!(
        sharing(&code).into_iter().collect::<Vec<_>>(),
        [("Host".to_owned(), modules(["a", "b"])), ("Kind".to_owned(), modules(["a", "c"])),]
    );
    assert_eq!(beginning_with_of(&code), ["a: of_hosts", "c: of_both"]);
}
