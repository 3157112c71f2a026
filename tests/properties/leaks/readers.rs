//! What is written is read equally by kustomize, by Python and by sipgen itself, whatever characters are in it.

use std::fs;

use serde_json::Value;

use crate::support::{Repo, host, kustomize_build, python_tool, run_tool, text, tool};

/// Characters that some readers of YAML take for the end of a line, for nothing, or for no text.
const ODD: [&str; 30] = [
    "\u{1}",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u{1b}",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{9b}",
    "\u{a0}",
    "\u{ad}",
    "\u{200b}",
    "\u{200e}",
    "\u{2028}",
    "\u{2029}",
    "\u{202e}",
    "\u{2060}",
    "\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{fdd0}",
    "\u{fffd}",
    "\u{1fffe}",
    "\u{e0001}",
    "\u{10ffff}",
    "\u{1f600}",
    "\"",
    "\\",
    "'",
];

/// Reads YAML as Python does, and prints JSON.
const READ: &str = "import json,sys,yaml\n\
    print(json.dumps([[d for d in yaml.load_all(open(f, encoding='utf-8', newline=''), Loader=yaml.SafeLoader)] for f in sys.argv[1:]]))";

/// What Python reads in some files.
fn by_python(files: &[std::path::PathBuf]) -> Vec<Value> {
    let output = run_tool(python_tool("python").args(["-c", READ]).args(files));
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What sipgen's own parser reads in a file.
fn by_sipgen(text: &str) -> Value {
    let documents = crate::support::documents(text);
    Value::from_iter(documents.into_iter().map(|document| serde_json::to_value(document).unwrap()))
}

/// Directories of declared hosts are named in `resources`, with every odd character at every end of a name.
#[test]
fn names_of_directories() {
    let repo = Repo::empty();
    let mut directories = Vec::new();
    for (index, odd) in ODD.iter().enumerate() {
        for (at, name) in
            [format!("a{odd}b"), format!("{odd}b"), format!("a{odd}")].into_iter().enumerate()
        {
            let directory = format!("site-{index}-{at}/{name}");
            repo.write(&format!("{directory}/kustomization.yaml"), "resources: [hosts.yaml]\n");
            repo.write(
                &format!("{directory}/hosts.yaml"),
                &host(&format!("host-{index}-{at}"), ""),
            );
            directories.push((directory, format!("host-{index}-{at}")));
        }
    }
    repo.want("tenant-a/edge", 60);
    repo.generate(&[]).expect(0);

    let mut files = Vec::new();
    for (directory, name) in &directories {
        let overlay = repo.path().join("overlays/hosts/declared").join(directory);
        let built = kustomize_build(&overlay);
        assert!(built.contains(&format!("name: {name}\n")), "{directory:?}: {built}");
        files.push(overlay.join("kustomization.yaml"));
    }
    for (file, python) in files.iter().zip(by_python(&files)) {
        assert_eq!(by_sipgen(&fs::read_to_string(file).unwrap()), python, "{file:?}");
    }
    repo.generate(&["--check"]).expect(0);
}

/// The options that a host's annotation has for Argo CD are written once more.
#[test]
fn annotations_of_hosts() {
    let repo = Repo::empty();
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    let (mut hosts, mut count) = (String::new(), 0);
    for (index, odd) in ODD.iter().enumerate() {
        let options = super::positions::escaped(&format!("a{odd}b=1"));
        let metadata = format!("  annotations:\n    argocd.argoproj.io/sync-options: {options}\n");
        let host = host(&format!("host-{index}"), &metadata);
        // kustomize refuses some of them in the user's own host, and makes a blank of U+0085.
        repo.write("inventory/hosts.yaml", &host);
        let built = run_tool(tool("kustomize").arg("build").arg(repo.path().join("inventory")));
        if built.status.success() && by_sipgen(&text(&built.stdout)) == by_sipgen(&host) {
            hosts += &host;
            count += 1;
        }
    }
    assert!(count > 20);
    repo.write("inventory/hosts.yaml", &hosts);
    repo.want("tenant-a/edge", count);
    repo.generate(&[]).expect(0);

    let directory = repo.path().join("overlays/hosts/declared/inventory");
    let file = directory.join("tenant-a.edge.yaml");
    let ours = by_sipgen(&fs::read_to_string(&file).unwrap());
    assert_eq!(Value::from_iter(by_python(&[file])), Value::from(vec![ours.clone()]));
    let options =
        |host: &Value| host["metadata"]["annotations"]["argocd.argoproj.io/sync-options"].clone();
    let built = by_sipgen(&kustomize_build(&directory));
    for host in ours.as_array().unwrap() {
        let same = |other: &&Value| other["metadata"]["name"] == host["metadata"]["name"];
        let other = built.as_array().unwrap().iter().find(same).unwrap();
        assert_eq!(options(other), options(host), "{host}");
    }
}

/// Texts of a request either are refused with a finding at their line, or are read equally by all.
#[test]
fn texts_of_requests() {
    let repo = Repo::of_fixture("auth");
    let file = "clusters/edge.yaml";
    let original = repo.read(file);
    for odd in ODD {
        for (from, to) in [
            (
                "name: Directory",
                format!("name: {}", super::positions::escaped(&format!("a{odd}b"))),
            ),
            ("usernamePrompt: User", format!("usernamePrompt: {}", super::positions::escaped(odd))),
        ] {
            repo.write(file, &original.replace(from, &to));
            let run = repo.generate(&[]);
            if run.code == 1 {
                let line = original.lines().position(|line| line.contains(from)).unwrap() + 1;
                assert!(run.stderr.contains(&format!("{file}:{line}:")), "{odd:?}: {}", run.stderr);
                continue;
            }
            assert_eq!(run.code, 0, "{odd:?}: {}", run.stderr);
            let written = repo.path().join("overlays/clusters/tenant-a/edge/auth/config.yaml");
            let ours = by_sipgen(&fs::read_to_string(&written).unwrap());
            assert_eq!(Value::from_iter(by_python(&[written])), Value::from(vec![ours]), "{odd:?}");
            kustomize_build(repo.path().join("overlays/clusters/tenant-a/edge"));
        }
    }
}

/// A template of the repo that puts such a character into a file is refused.
#[test]
fn texts_of_templates() {
    let repo = Repo::generated("quickstart");
    repo.write("sipgen.yaml", "templates: site-templates\n");
    for odd in [
        "\u{1}", "\u{7f}", "\u{85}", "\u{9b}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffe}",
        "\u{ffff}", "a\rb",
    ] {
        repo.write("site-templates/jumphost/shared/start", &format!("#!/bin/sh\necho 'a{odd}b'\n"));
        let run = repo.generate(&["--check"]).expect(1);
        assert!(
            run.stderr.contains("SIP0703")
                && run.stderr.contains("site-templates/jumphost/shared/start"),
            "{}",
            run.stderr
        );
    }
}
