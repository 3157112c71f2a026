//! Credentials in every place where one may stand, in every spelling of YAML: none is printed, none is written.

use rayon::prelude::*;

use super::channels;
use super::hostile::{quickstart, small};
use super::positions::{Position, Tree, files, positions, tree};
use crate::support::{Repo, run, tool};

/// A secret in two parts, between which a spelling may break the line.
const PARTS: [&str; 2] = ["correcthorse", "batterystaple"];

/// The forms of credentials, with `{}` in the place of the secret.
const FORMS: [&str; 8] = [
    "https://user:{}@git.example.com/x",
    "https://{}@git.example.com/x",
    "https://git.example.com/x?private_token={}",
    "user:{}@registry.example.com/x:1",
    "git.example.com:636?token={}",
    "redfish://git.example.com/x?token={}",
    "ssh://git:{}@git.example.com/x",
    "https://git.example.com/x#access_token={}",
];

/// How a scalar is written: its parts before and behind where it may break, and the blanks that go on with it.
type Spelling = fn(&str, &str, usize) -> String;

/// Spellings that keep the text on one line.
const ON_A_LINE: [Spelling; 8] = [
    |a, b, _| format!("{a}{b}"),
    |a, b, _| format!("'{a}{b}'"),
    |a, b, _| format!("\"{a}{b}\""),
    |a, b, _| {
        format!("\"{}{b}\"", a.replace('/', "\\x2f").replace('?', "\\x3f").replace('@', "\\x40"))
    },
    |a, b, n| format!(">-\n{}{a}{b}", " ".repeat(n)),
    |a, b, n| format!("|\n{}{a}{b}", " ".repeat(n)),
    |a, b, _| format!("&anchor {a}{b}"),
    |a, b, _| format!("!!str '{a}{b}'"),
];

/// Spellings that break the line within the secret.
const WRAPPED: [Spelling; 6] = [
    |a, b, n| format!("{a}\n{}{b}", " ".repeat(n)),
    |a, b, n| format!("'{a}\n{}{b}'", " ".repeat(n)),
    |a, b, n| format!("\"{a}\n{}{b}\"", " ".repeat(n)),
    |a, b, n| format!("\"{a}\\\n{}{b}\"", " ".repeat(n)),
    |a, b, n| format!(">-\n{0}{a}\n{0}{b}", " ".repeat(n)),
    |a, b, n| format!("|-\n{0}{a}\n{0}{b}", " ".repeat(n)),
];

/// Where URLs stand, and texts of other programs that have URLs in them.
const FIELDS: [&str; 11] = [
    "address",
    "errorMessage",
    "image",
    "repoURL",
    "server",
    "host",
    "issuer",
    "redirectURIs",
    "issuerURL",
    "path",
    "resources",
];

fn spelled(form: &str, spelling: Spelling, indent: usize) -> String {
    let (before, behind) = form.split_once("{}").unwrap();
    spelling(&format!("{before}{}", PARTS[0]), &format!("{}{behind}", PARTS[1]), indent)
}

/// Looks for the secret in all that is said and written of a repo.
#[track_caller]
fn keeps(tree: &Tree, all: bool, what: &dyn std::fmt::Debug) {
    for said in channels::of(&files(tree), all) {
        if let Some(line) =
            said.text.lines().find(|line| PARTS.iter().any(|part| line.contains(part)))
        {
            let at = PARTS.iter().find_map(|part| line.find(part)).unwrap();
            let line: String = line.chars().skip(at.saturating_sub(200)).take(300).collect();
            panic!("{what:?}: a secret is in {} ({:?}):\n{line}", said.channel, said.form);
        }
    }
}

fn check(tree: &Tree, all: bool, position: &Position, form: &str, spelling: Spelling) {
    let changed = position.with(tree, &|indent| spelled(form, spelling, indent));
    let written = spelled(form, spelling, 2);
    keeps(&changed, all, &(position, written));
}

/// Each form at every position, in spellings that take turns; all that break the line where a URL stands.
fn everywhere(tree: &Tree, of: &[&str], most: usize) {
    let positions: Vec<Position> = positions(tree, of, most);
    let mut all: Vec<(&Position, &str, Spelling)> = Vec::new();
    for (index, position) in positions.iter().enumerate() {
        let is_url = !position.is_key() && FIELDS.iter().any(|field| position.is_under(field));
        for (number, form) in FORMS.into_iter().enumerate() {
            // A key is not written in blocks.
            let spellings = if position.is_key() { &ON_A_LINE[1..3] } else { &ON_A_LINE };
            if is_url || (index + number).is_multiple_of(FORMS.len()) {
                all.push((position, form, spellings[(index + number) % spellings.len()]));
            }
        }
        if is_url {
            for (number, form) in FORMS.into_iter().enumerate() {
                let turn = |(at, _): &(usize, Spelling)| (index + number + at).is_multiple_of(3);
                let wrapped = WRAPPED.into_iter().enumerate().filter(turn);
                all.extend(wrapped.map(|(_, spelling)| (position, form, spelling)));
            }
        }
    }
    assert!(all.len() > 8, "{of:?}");
    all.par_iter().enumerate().for_each(|(index, (position, form, spelling))| {
        check(tree, index % 16 == 0, position, form, *spelling);
    });
}

#[test]
fn in_a_sipcluster_and_its_kustomization() {
    everywhere(&quickstart(), &["sites/lab/clusters/edge.yaml"], 1);
    everywhere(&small(), &["sites/lab/kustomization.yaml"], 1);
}

#[test]
fn in_hosts_and_their_status() {
    everywhere(&small(), &["sites/lab/hosts/rack-a.yaml", "snapshot/odd.yaml"], 1);
}

#[test]
fn in_settings() {
    everywhere(&small(), &["sipgen.yaml"], 1);
}

#[test]
fn in_a_request_for_login() {
    everywhere(&tree("auth"), &["clusters/edge.yaml"], 1);
}

#[test]
fn in_provisionings() {
    everywhere(&tree("provisioning"), &["clusters/press.yaml"], 1);
}

/// Two hosts share a BMC address, and a host is in error: both are said.
#[test]
fn in_addresses_that_are_told() {
    let original = small();
    let file = camino::Utf8Path::new("snapshot/odd.yaml");
    let text = String::from_utf8(original[file].clone()).unwrap();
    for form in FORMS {
        for (number, spelling) in ON_A_LINE.into_iter().chain(WRAPPED).enumerate() {
            let address = spelled(form, spelling, 6);
            let block = |from: &str, key: &str| (from.to_owned(), format!("{key}{address}"));
            let bmc = "bmc: {address: 'ipmi://192.0.2.99', credentialsName: c}";
            let (from, to) = match number % 2 {
                0 => block(bmc, "bmc:\n    credentialsName: c\n    address: "),
                _ => block("  errorMessage: it failed", "  errorMessage: "),
            };
            let mut tree = original.clone();
            tree.insert(file.to_owned(), text.replace(&from, &to).into());
            if number % 2 == 1 {
                keeps(&tree, false, &to);
            }
            let both =
                text.replace(bmc, &format!("bmc:\n    credentialsName: c\n    address: {address}"));
            tree.insert(file.to_owned(), both.clone().into());
            keeps(&tree, number == 0, &both);
        }
    }
}

/// What is said of a failure is of another program, and may have anything before and behind a credential.
#[test]
fn in_longer_texts() {
    let original = small();
    let file = camino::Utf8Path::new("snapshot/odd.yaml");
    let text = String::from_utf8(original[file].clone()).unwrap();
    let secret = PARTS.concat();
    for message in [
        format!("failed to get https://bmc/redfish?token={} {}: EOF", PARTS[0], PARTS[1]),
        format!("login as admin with password={secret} failed"),
        format!("login with password: {secret} failed"),
        format!("Authorization: Bearer {secret}"),
        format!("https://admin:{} {}@bmc/redfish/v1 answers 401", PARTS[0], PARTS[1]),
        format!("token ghp_{secret} is refused"),
        format!("-----BEGIN RSA PRIVATE KEY----- {secret} -----END RSA PRIVATE KEY-----"),
    ] {
        let mut tree = original.clone();
        let text = text.replace("it failed", &serde_json::to_string(&message).unwrap());
        tree.insert(file.to_owned(), text.into());
        keeps(&tree, true, &message);
    }
}

/// Tokens and keys are known by their form wherever they stand.
#[test]
fn by_their_form() {
    let original = small();
    let secret = PARTS.concat();
    for (file, from) in [
        ("sites/lab/clusters/edge.yaml", "a/b"),
        ("sites/lab/clusters/edge.yaml", "oam-ipv4"),
        ("sites/lab/hosts/rack-a.yaml", "topology.example.com/rack: a"),
        ("sipgen.yaml", "https://git.example.com/fleet.git"),
    ] {
        let text = String::from_utf8(original[camino::Utf8Path::new(file)].clone()).unwrap();
        for token in ["ghp_{}", "glpat-{}", "xoxb-{}", "eyJhbGciOi.eyJzdWIi.{}", "AIza{}0123456789"]
        {
            let to = token.replace("{}", &secret);
            let to = from.split_once(": ").map_or(to.clone(), |(key, _)| format!("{key}: {to}"));
            let mut tree = original.clone();
            tree.insert(file.into(), text.replace(from, &to).into());
            keeps(&tree, false, &to);
        }
    }
}

/// A template of the repo that has a credential in it is refused, at its file.
#[test]
fn in_templates() {
    for form in FORMS.into_iter().chain(["ghp_{}"]) {
        let mut tree = quickstart();
        let text = format!("#!/bin/sh\ncurl '{}'\n", form.replace("{}", &PARTS.concat()));
        tree.insert("site-templates/jumphost/shared/start".into(), text.into());
        keeps(&tree, true, &form);
    }
}

/// Overlays of an earlier release may have what is refused today: it goes, and is not shown on its way.
#[test]
fn in_files_that_are_written_anew() {
    let repo = Repo::generated("quickstart");
    repo.replace(
        "overlays/clusters/tenant-a/edge/jumphost/kustomization.yaml",
        "quay.io/",
        "user:correcthorse@quay.io/",
    );
    for arguments in [
        &["generate", "--check", "--diff"][..],
        &["diff", "--lines"],
        &["diff", "--lines", "--format", "json"],
        &["diff", "--lines", "--format", "markdown"],
    ] {
        let run = run(&mut repo.sipgen(arguments));
        assert!(!format!("{}{}", run.stdout, run.stderr).contains(PARTS[0]), "{}", run.stdout);
    }
}

/// The diff of a file that people write has lines around what is changed.
#[test]
fn beside_what_is_migrated() {
    let secret = PARTS.concat();
    let repo = Repo::of_fixture("generation-2021-01");
    let mut files = repo.files("").into_iter();
    let (file, text) = files.find(|(_, text)| text.contains("kind: SIPCluster")).unwrap();
    for above in [
        format!("kind: Secret\nstringData:\n  password: {secret}\n"),
        format!("kind: Secret\nstringData:\n  a: |\n    {secret}\n"),
        format!("kind: ConfigMap\ndata:\n  a: https://user:{secret}@git.example.com/x\n"),
        format!(
            "kind: ConfigMap\ndata:\n  a: |\n    -----BEGIN PRIVATE KEY-----\n    {secret}\n    -----END PRIVATE KEY-----\n"
        ),
        format!("kind: HelmRelease\nspec:\n  values:\n    adminPassword: {secret}\n"),
    ] {
        let spec = text.find("spec:").unwrap();
        let body =
            text[..spec].trim_start_matches("---\n").lines().filter(|line| !line.starts_with('#'));
        let body = body.collect::<Vec<_>>().join("\n");
        for text in [
            format!("apiVersion: v1\nmetadata: {{name: a}}\n{above}---\n{body}\n{}", &text[spec..]),
            format!("{}\n---\napiVersion: v1\nmetadata: {{name: a}}\n{above}", text.trim_end()),
        ] {
            repo.write(&file, &text);
            let run = run(&mut repo.sipgen(&["migrate"]));
            assert!(
                !format!("{}{}", run.stdout, run.stderr).contains(&secret),
                "{above}: {}",
                run.stdout
            );
        }
    }
}

/// kustomize quotes what it has read.
#[test]
fn in_the_words_of_other_programs() {
    let secret = PARTS.concat();
    let repo = Repo::of_hosts(1);
    repo.write("sipgen.yaml", "sources: [{kustomization: site}]\n");
    repo.write("site/hosts.yaml", &crate::support::host("a", ""));
    let kustomize = tool("kustomize").get_program().to_owned();
    for patch in [
        format!(
            "patches:\n- patch: |-\n    kind: Secret\n    stringData: {{password: {secret}}}\n"
        ),
        format!(
            "patches:\n- patch: '[{{\"op\": \"x\", \"value\": \"{secret}\"}}]'\n  target: {{kind: BareMetalHost}}\n"
        ),
        format!("resourcez: [https://user:{secret}@git.example.com/x]\n"),
        format!("secretGenerator:\n- name: a\n  literals: ['{secret}']\n"),
        format!(
            "configMapGenerator:\n- name: a\n  literals: [password={secret}, password={secret}]\n"
        ),
        format!("namespace: [password, {secret}]\n"),
    ] {
        repo.write("site/kustomization.yaml", &format!("resources: [hosts.yaml]\n{patch}"));
        for arguments in [
            &["validate"][..],
            &["validate", "--format", "json"],
            &["generate", "--check", "--format", "github"],
        ] {
            let run = run(repo.sipgen(arguments).env("SIPGEN_KUSTOMIZE", &kustomize));
            let all = format!("{}{}", run.stdout, run.stderr);
            assert!(run.code == 1 && !all.contains(&secret), "{patch}: {all}");
        }
    }
}

/// `init` names the repo by its remote.
#[test]
fn in_the_url_of_the_remote() {
    let secret = PARTS.concat();
    for remote in [
        format!("https://user:{secret}@git.example.com/fleet.git"),
        format!("https://{secret}@git.example.com/fleet.git"),
        format!("https://git.example.com/fleet.git?private_token={secret}"),
        format!("user:{secret}@git.example.com:fleet.git"),
        format!("ssh://git:{secret}@git.example.com/fleet.git"),
    ] {
        let repo = Repo::of_fixture("quickstart");
        repo.write(
            "apps/app.yaml",
            &format!("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a}}\nspec: {{source: {{repoURL: '{remote}'}}}}\n"),
        );
        repo.git(&["remote", "add", "origin", &remote]);
        for arguments in
            [&["init", "--dry-run"][..], &["init"], &["generate", "--diff"], &["validate"]]
        {
            let run = run(&mut repo.sipgen(arguments));
            assert!(
                !format!("{}{}", run.stdout, run.stderr).contains(&secret),
                "{remote}: {}",
                run.stderr
            );
        }
        repo.remove("apps/app.yaml");
        let files = repo.files("");
        let file = files.iter().find(|(_, text)| text.contains(&secret));
        assert_eq!(file.map(|(path, _)| path), None, "{remote}");
    }
}

/// Names of streams and arguments are said.
#[test]
fn in_arguments() {
    let secret = PARTS.concat();
    let url = format!("https://user:{secret}@git.example.com/x?token={secret}");
    let repo = Repo::generated("quickstart");
    for arguments in [
        &["generate", "--check", "--input", &url][..],
        &["generate", "--rev", &url, "--check"],
        &["diff", "--base", &url],
        &["status", "--rack", &url],
        &["status", "--by", &url],
        &["explain", &url],
        &["generate", "--repo", &url],
        &["migrate", "--repo", &url],
        &["report", &url],
        &[&url],
    ] {
        let run = run(&mut repo.sipgen(arguments));
        assert!(
            !format!("{}{}", run.stdout, run.stderr).contains(&secret),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}
