//! Help, and the page of all commands, `docs/reference/commands.md`, which is compared with the help.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use super::{Arguments, GROUPS, command_line};

const INTRODUCTION: &str = "\
# Commands

`sipgen COMMAND --help` says more about the options. Every command works in any directory of a git repo.

Exit codes: 0 success; 1 check failed: stale output, invalid input or no placement (for `diff`: differences); 2 sipgen \
could not run.
";

/// The options that many commands have in common with `sipgen generate`.
const COMMON: [&str; 4] = ["repo", "site", "rev", "input"];

#[test]
fn the_help_lists_each_command_once_but_those_for_packages() {
    let all = Arguments::command();
    let mut names: Vec<&str> = all.get_subcommands().map(Command::get_name).collect();
    let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    listed.push("completions");
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, names);

    let help = command_line().render_help().to_string();
    let first = help.lines().next().unwrap_or_default();
    assert!(first.contains("Clusters of Cluster API"), "{first}");
    let order = ["Daily:", "  generate", "Planning:", "  what-if", "Set-up:", "  init", "Options:"];
    let places: Vec<Option<usize>> = order.iter().map(|part| help.find(part)).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{help}");
    assert!(!help.contains("completions"), "{help}");
    // clap wraps no template.
    let commands = help.lines().filter(|line| line.starts_with("  ") && !line.contains("sipgen"));
    let wide: Vec<&str> = commands.filter(|line| line.len() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

#[test]
fn the_page_of_commands_is_their_help() {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut page = INTRODUCTION.to_owned();
    let generate = command.find_subcommand("generate").unwrap();
    let is_common = |arg: &&Arg| COMMON.contains(&arg.get_id().as_str());
    let common = visible_arguments(generate).filter(is_common).map(argument);
    let common: Vec<String> = common.collect();
    write!(page, "\n## Common options\n{}", common.concat()).unwrap();
    for below in command.get_subcommands() {
        describe(below, 2, &common, &mut page);
    }

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/commands.md");
    if std::env::var_os("SIPGEN_UPDATE_DOCS").is_some() {
        fs::write(file, page).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(file).unwrap() == page,
        "docs/reference/commands.md is stale: run `just docs`"
    );
}

fn visible_arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    let arguments = command.get_arguments();
    arguments.filter(|arg| !arg.is_hide_set() && arg.get_id() != "help")
}

fn describe(command: &Command, level: usize, common: &[String], page: &mut String) {
    let name = display_name(command);
    write!(page, "\n{} {name}\n\n", "#".repeat(level)).unwrap();
    let about = command.get_long_about().or(command.get_about()).unwrap();
    writeln!(page, "{}", text(&about.to_string())).unwrap();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    write!(page, "\n```text\n{usage}\n```\n").unwrap();
    let mut elsewhere = Vec::new();
    for arg in visible_arguments(command) {
        let text = argument(arg);
        if common.contains(&text) {
            elsewhere.push(format!("`{arg}`"));
        } else {
            page.push_str(&text);
        }
    }
    if !elsewhere.is_empty() {
        let names = elsewhere.join(", ");
        write!(page, "\n- {names}: [common options](#common-options).\n").unwrap();
    }
    // The parent of a nested command has the examples.
    let examples = command.get_after_long_help().filter(|_| level == 2);
    if let Some(examples) = examples {
        let examples = examples.to_string();
        let (heading, lines) = examples.split_once('\n').unwrap();
        write!(page, "\n{heading}\n\n```text\n").unwrap();
        for line in lines.lines() {
            writeln!(page, "{}", line.strip_prefix("  ").unwrap_or(line)).unwrap();
        }
        page.push_str("```\n");
    }
    for below in command.get_subcommands() {
        describe(below, level + 1, common, page);
    }
}

/// Returns the text on an argument.
fn argument(arg: &Arg) -> String {
    let mut page = String::new();
    let help = arg.get_help().unwrap().to_string();
    let help = text(&help).replace('\n', "\n  ").replace("\n  \n", "\n\n");
    let spelled = arg.to_string();
    let short = match arg.get_short() {
        Some(short) if !arg.is_positional() => format!("`-{short}`, "),
        _ => String::new(),
    };
    write!(page, "\n- {short}`{spelled}`: {}", help.trim_end_matches('.')).unwrap();
    page.push_str(".\n");
    let takes_value = arg.get_action().takes_values();
    let defaults = arg.get_default_values();
    if takes_value && !defaults.is_empty() {
        let defaults: Vec<_> = defaults.iter().map(|one| one.to_string_lossy()).collect();
        write!(page, "\n  Default: `{}`.\n", defaults.join(" ")).unwrap();
    }
    let values = arg.get_possible_values();
    if takes_value && !values.is_empty() && !arg.is_hide_possible_values_set() {
        page.push('\n');
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            let meaning = match value.get_help() {
                Some(help) => format!(": {}", text(&help.to_string())),
                None => String::new(),
            };
            writeln!(page, "  - `{}`{meaning}", value.get_name()).unwrap();
        }
    }
    page
}

fn display_name(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or(command.get_name());
    // Names of nested commands are joined by dashes, which names of commands have as well.
    match name.strip_prefix("sipgen-") {
        Some(name) if command.get_name() == name => format!("sipgen {name}"),
        Some(name) => {
            let parent = name.strip_suffix(command.get_name()).unwrap();
            format!("sipgen {} {}", parent.trim_end_matches('-'), command.get_name())
        }
        None => name.to_owned(),
    }
}

/// Escapes what Markdown would interpret outside of code, links the pages that a help text names, and ends paragraphs
/// with a period.
fn text(help: &str) -> String {
    let paragraphs = help.trim_end().split("\n\n").map(|paragraph| {
        let ends = paragraph.ends_with(['.', ':']);
        format!("{}{}", escaped(paragraph), if ends { "" } else { "." })
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn escaped(help: &str) -> String {
    let pages = regex::Regex::new(r"docs/([a-z/-]+)(\.schema\.json|\.md)").unwrap();
    let parts = help.split('`').enumerate().map(|(index, part)| {
        let is_code = index % 2 == 1;
        if is_code {
            return part.to_owned();
        }
        let escaped = part.replace('<', "\\<").replace('*', "\\*");
        pages
            .replace_all(&escaped, |page: &regex::Captures<'_>| {
                let path = format!("{}{}", &page[1], &page[2]);
                let target = match path.strip_prefix("reference/") {
                    Some(beside) => beside.to_owned(),
                    None => format!("../{path}"),
                };
                format!("[{}]({target})", &page[0])
            })
            .into_owned()
    });
    parts.collect::<Vec<_>>().join("`")
}
