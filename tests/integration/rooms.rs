//! The rooms of ARCHITECTURE.md: a room imports from those above it in the table, and no modules in it import each
//! other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// A path of modules below the crate, such as `plan::crossing`.
pub(crate) type Module = Vec<String>;

/// The modules of the crate, each with the code outside of its tests.
pub(crate) fn modules() -> BTreeMap<Module, String> {
    let files = files(Path::new("src"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (module(path.strip_prefix("src").unwrap()), code(&text))
    };
    files.into_iter().map(read).collect()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    let is_code = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    below.filter(is_code).collect()
}

/// The module of a file, whose path is relative to `src`.
fn module(file: &Path) -> Module {
    let name = file.with_extension("");
    let parts = name.iter().map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// The code of a file without comments and unit tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    code.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// The paths of a tree of imports, such as `a::{b, c::d as e}`, each with the name that it brings.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<(Vec<String>, String)>) {
    let mut depth = 0;
    let is_end = |c: char| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    };
    for part in tree.split(is_end).map(str::trim).filter(|part| !part.is_empty()) {
        let segments = |path: &str| -> Vec<String> {
            let own = path.split("::").filter(|segment| !segment.is_empty());
            prefix.iter().cloned().chain(own.map(str::to_owned)).collect()
        };
        match part.split_once('{') {
            Some((head, list)) => {
                let list = list.strip_suffix('}').unwrap_or(list);
                expand(&segments(head.trim()), list, paths);
            }
            None => {
                let (path, name) = part.split_once(" as ").unwrap_or((part, ""));
                let mut path = segments(path);
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let name = if name.is_empty() { path.last().unwrap() } else { name };
                paths.push((path.clone(), name.to_owned()));
            }
        }
    }
}

/// What the modules import from the crate.
struct Imports {
    modules: BTreeSet<Module>,
    /// The absolute paths that a module brings into scope, with their names in it.
    brought: BTreeMap<Module, Vec<(Module, String)>>,
    /// All absolute paths that a module names.
    named: BTreeMap<Module, Vec<Module>>,
}

impl Imports {
    fn of(code: &BTreeMap<Module, String>) -> Self {
        let tree = Regex::new(r"\buse\s+([^;]*);").unwrap();
        let path = Regex::new(r"\b(?:crate|super|self|sipgen)(?:::\w+)+").unwrap();
        let modules: BTreeSet<Module> = code.keys().cloned().collect();
        let (mut brought, mut named) = (BTreeMap::new(), BTreeMap::new());
        for (module, text) in code {
            let mut paths = Vec::new();
            for tree in tree.captures_iter(text) {
                expand(&[], &tree[1], &mut paths);
            }
            let absolute_of = |path: &[String]| absolute(&modules, module, path);
            let paths = paths.into_iter();
            let absolute: Vec<(Module, String)> =
                paths.filter_map(|(path, name)| Some((absolute_of(&path)?, name))).collect();
            let inline = path.find_iter(text).filter_map(|path| {
                let path: Vec<String> = path.as_str().split("::").map(str::to_owned).collect();
                absolute_of(&path)
            });
            let imported = absolute.iter().map(|(path, _)| path.clone());
            named.insert(module.clone(), imported.chain(inline).collect());
            brought.insert(module.clone(), absolute);
        }
        Self { modules, brought, named }
    }

    /// The module that has what a path leads to, through re-exports.
    fn owner(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // A name is brought from module to module at most as often as there are modules.
        for _ in 0..self.modules.len() {
            let known = (0..=path.len()).rev().find(|n| self.modules.contains(&path[..*n]));
            let (module, rest) = path.split_at(known.unwrap_or_default());
            let Some(name) = rest.first() else {
                break;
            };
            let brought = self.brought.get(module).into_iter().flatten();
            let found = brought.clone().find(|(_, own)| own == name);
            let Some((from, _)) = found.filter(|(from, _)| *from != path) else {
                return module.to_vec();
            };
            path = [from, &rest[1..]].concat();
        }
        let known = (0..=path.len()).rev().find(|n| self.modules.contains(&path[..*n]));
        path[..known.unwrap_or_default()].to_vec()
    }

    /// The modules that a module imports from, other than those around and inside it.
    fn of_module(&self, module: &Module) -> BTreeSet<Module> {
        let owners = self.named[module].iter().map(|path| self.owner(path));
        let is_other = |owner: &Module| !module.starts_with(owner) && !owner.starts_with(module);
        owners.filter(is_other).collect()
    }

    /// A circle of modules, if there is one: each imports from the next, the last from the first.
    fn circle(&self) -> Option<Vec<Module>> {
        let edges: BTreeMap<&Module, BTreeSet<Module>> =
            self.modules.iter().map(|module| (module, self.of_module(module))).collect();
        let mut open: BTreeSet<&Module> = self.modules.iter().collect();
        // Modules that import from no open module cannot be in a circle.
        loop {
            let is_done = |module: &&Module| edges[*module].iter().all(|to| !open.contains(to));
            let done: Vec<&Module> = open.iter().copied().filter(is_done).collect();
            if done.is_empty() {
                break;
            }
            done.iter().for_each(|module| {
                open.remove(*module);
            });
        }
        let mut way = vec![(*open.first()?).clone()];
        loop {
            let next = edges[way.last()?].iter().find(|to| open.contains(to))?.clone();
            if let Some(at) = way.iter().position(|module| *module == next) {
                return Some(way.split_off(at));
            }
            way.push(next);
        }
    }
}

/// The path below the crate of one that a module names; none of other crates.
fn absolute(modules: &BTreeSet<Module>, module: &Module, path: &[String]) -> Option<Module> {
    let first = path.first()?.as_str();
    if matches!(first, "crate" | "sipgen") {
        return Some(path[1..].to_vec());
    }
    if matches!(first, "super" | "self") {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let own = path.iter().skip_while(|part| matches!(part.as_str(), "super" | "self"));
        let around = module.iter().take(module.len().checked_sub(ups)?);
        return Some(around.chain(own).cloned().collect());
    }
    let child = [module.as_slice(), &path[..1]].concat();
    modules.contains(&child).then(|| [module.as_slice(), path].concat())
}

/// The rooms in the order of the table: stages, or directories of stages.
fn rooms() -> Vec<Module> {
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let row = Regex::new(r"(?m)^\| `(\w+(?:::\w+)?)` \|").unwrap();
    let name = |row: regex::Captures<'_>| row[1].split("::").map(str::to_owned).collect();
    row.captures_iter(&text).map(name).collect()
}

#[test]
fn imports_go_up() {
    let rooms = rooms();
    let place = |module: &Module| rooms.iter().position(|room| module.starts_with(room));
    let imports = Imports::of(&modules());
    let stages: BTreeSet<&String> = rooms.iter().filter_map(|room| room.first()).collect();
    let mut wrong = Vec::new();
    for module in &imports.modules {
        let Some(at) = place(module) else {
            // The front of a stage lists its rooms.
            let is_front = module.is_empty() || module.len() == 1 && stages.contains(&module[0]);
            if !is_front && module[0] != "main" {
                wrong.push(format!("{} is in no room", module.join("::")));
            }
            continue;
        };
        for import in imports.of_module(module) {
            if place(&import).is_some_and(|place| place > at) {
                let (name, import) = (module.join("::"), import.join("::"));
                wrong.push(format!("{name} imports from {import}, which is below it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_imports_go_in_a_circle() {
    let circle = Imports::of(&modules()).circle().unwrap_or_default();
    let circle: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
    assert!(circle.is_empty(), "a circle: {}", circle.join(" → "));
}

/// Rooms that decide, by values alone.
const PURE: [&str; 11] = [
    "base::api",
    "base::finding",
    "base::layout",
    "input::decode",
    "site::request",
    "plan",
    "output::render",
    "review::lint",
    "review::effects",
    "ask::overview",
    "setup::schema",
];

/// Modules that read files or run programs.
const READERS: [[&str; 3]; 3] =
    [["input", "load", "files"], ["input", "load", "kustomize"], ["input", "load", "program"]];

#[test]
fn rooms_that_decide_read_nothing() {
    let code = modules();
    let imports = Imports::of(&code);
    let disk = Regex::new(r"\b(fs|process)::|\b(TcpStream|UdpSocket)\b").unwrap();
    for (module, text) in code {
        let name = module.join("::");
        if !PURE.iter().any(|room| name == *room || name.starts_with(&format!("{room}::"))) {
            continue;
        }
        for import in imports.of_module(&module) {
            assert!(
                !READERS.iter().any(|reader| import == reader),
                "{name} imports from {}",
                import.join("::")
            );
        }
        let found = disk.find(&text).map(|found| found.as_str());
        assert_eq!(found, None, "in {name}");
    }
}

/// A kind of request or service is one folder and one line of a registry, so other rooms ask for its properties.
#[test]
fn no_kind_is_named_outside_of_its_registry() {
    let variant = Regex::new(r"\b(?:ClusterKind|KindSettings)::[A-Z][a-z]\w*").unwrap();
    // The values of its templates differ by kind of service.
    let may_name = [vec!["site", "request"], vec!["output", "render", "services"]];
    let mut named = Vec::new();
    for (module, code) in modules() {
        if !may_name
            .iter()
            .any(|room| module.iter().zip(room).filter(|(a, b)| a == b).count() == room.len())
        {
            named.extend(
                variant
                    .find_iter(&code)
                    .map(|found| format!("{}: {}", module.join("::"), found.as_str())),
            );
        }
    }
    assert!(named.is_empty(), "give the descriptor of the kind a property instead: {named:#?}");
}

#[test]
fn each_room_is_in_the_tree() {
    let rooms = rooms();
    assert!(rooms.len() > 20, "{rooms:?}");
    for room in rooms {
        let path = Path::new("src").join(room.join("/"));
        assert!(path.is_dir() || path.with_extension("rs").is_file(), "{room:?}");
    }
}

/// Modules that were made up, by their paths.
fn made_up(files: &[(&str, &str)]) -> Imports {
    let modules = files.iter().map(|(path, text)| (module(Path::new(path)), code(text)));
    Imports::of(&modules.collect())
}

#[test]
fn an_import_is_found_in_every_form() {
    let imports = made_up(&[
        ("lib.rs", "pub use plan::Plan;"),
        ("plan/mod.rs", "pub use self::choose::Choice;"),
        ("plan/choose.rs", ""),
        ("plan/explain.rs", "use super::Choice;"),
        ("layout.rs", ""),
        ("site.rs", ""),
        ("render.rs", ""),
        ("cli.rs", ""),
        (
            "report.rs",
            "use crate::plan::{Choice, Plan};\nuse crate::{layout as paths, site::{Site, self}};\n\
             fn f() { crate::render::f() }\n// crate::cli\n#[cfg(test)]\nmod tests { use crate::cli; }\n",
        ),
    ]);
    let of = |path: &str| -> Vec<String> {
        let modules = imports.of_module(&module(Path::new(path)));
        modules.iter().map(|module| module.join("::")).collect()
    };
    assert_eq!(of("report.rs"), ["layout", "plan", "plan::choose", "render", "site"]);
    assert_eq!(of("plan/explain.rs"), ["plan::choose"]);
}

#[test]
fn a_circle_is_found() {
    let files = [
        ("lib.rs", ""),
        ("plan/mod.rs", "mod a; mod b; mod c; pub use a::A; fn f() { b::f() }"),
        ("plan/a.rs", "use super::b::B;"),
        ("plan/b.rs", "use super::c;"),
        ("plan/c.rs", "use super::A;"),
    ];
    let circle = made_up(&files).circle().unwrap();
    assert_eq!(
        circle.iter().map(|module| module.join("::")).collect::<Vec<_>>(),
        ["plan::a", "plan::b", "plan::c"]
    );
    assert_eq!(made_up(&files[..4]).circle(), None);
}
