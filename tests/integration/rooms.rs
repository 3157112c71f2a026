//! The rooms of ARCHITECTURE.md: a room imports from those above it in the table, and from no other.

use std::fs;
use std::path::Path;

use regex::Regex;

/// The rooms in the order of the table.
fn rooms() -> Vec<String> {
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let row = Regex::new(r"(?m)^\| `(\w+)` \|").unwrap();
    row.captures_iter(&text)
        .map(|row| row[1].to_owned())
        .collect()
}

/// The room of a path below `src`: its first directory, or the file's name.
fn room(path: &Path) -> String {
    let first = path.iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    below
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The modules that a file imports from the crate, without what only its tests need.
fn imports(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code = code.lines().filter(is_code).collect::<Vec<_>>().join("\n");
    let path = Regex::new(r"\b(?:crate|sipgen)::(?:(\w+)|\{([^;]*?)\};)").unwrap();
    let several = |list: &str| {
        list.split(',')
            .map(|path| path.trim().split("::").next().unwrap_or("").to_owned())
            .collect()
    };
    path.captures_iter(&code)
        .flat_map(|path| match (path.get(1), path.get(2)) {
            (Some(one), _) => vec![one.as_str().to_owned()],
            (_, list) => several(list.unwrap().as_str()),
        })
        .collect()
}

#[test]
fn imports_go_up() {
    let rooms = rooms();
    let place = |room: &str| rooms.iter().position(|other| other == room);
    let mut wrong = Vec::new();
    for file in files(Path::new("src")) {
        let own = room(file.strip_prefix("src").unwrap());
        if ["lib", "main"].contains(&own.as_str()) {
            continue;
        }
        let Some(at) = place(&own) else {
            wrong.push(format!("{} is in no room", file.display()));
            continue;
        };
        for import in imports(&fs::read_to_string(&file).unwrap()) {
            if place(&import).is_some_and(|place| place > at) {
                wrong.push(format!(
                    "{} imports from {import}, which is below {own}",
                    file.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_room_is_in_the_tree() {
    let rooms = rooms();
    assert!(rooms.len() > 20, "{rooms:?}");
    for room in rooms {
        let path = Path::new("src").join(&room);
        assert!(
            path.is_dir() || path.with_extension("rs").is_file(),
            "{room}"
        );
    }
}

#[test]
fn an_import_is_found_in_every_form() {
    let text = "use crate::plan::{Plan, plan};\nuse crate::{layout, site::Site};\nfn f() { crate::render::f() }\n\
                // crate::report\n#[cfg(test)]\nmod tests { use crate::cli; }\n";
    assert_eq!(imports(text), ["plan", "layout", "site", "render"]);
}
