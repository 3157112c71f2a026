//! `sipgen.yaml`, written rightly and wrongly: sipgen and an editor say the same.

use std::fs;

use camino::Utf8Path;
use serde_json::{Value, json};
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;

use super::{judges, schema};

fn taken() -> Vec<Value> {
    let stores = json!({"metal": {"name": "metal-secrets"}, "depot": {"kind": "SecretStore", "name": "depot"}});
    let decryption = json!({"provider": "sops", "secretRef": {"name": "age"}});
    vec![
        json!({}),
        json!({"output": "overlays", "templates": "my-templates"}),
        json!({"output": "./a//b/", "templates": null}),
        json!({"output": "a/..b/c.git"}),
        json!({"inventory": {"mode": "declared"}, "credentials": "none", "hosts": {"form": "component"}}),
        json!({"credentials": "external-secrets", "externalSecrets": {"stores": stores}}),
        json!({"gitops": "flux"}),
        json!({"gitops": null}),
        json!({"gitops": "flux", "flux": {
            "name": "lab", "namespace": "flux-system", "path": "sites/lab", "interval": "1h30m", "timeout": "500ms",
            "wait": true, "sourceRef": {"kind": "OCIRepository", "name": "fleet"}, "decryption": decryption
        }}),
        json!({"flux": {"path": ""}}),
        json!({"flux": {"path": "."}}),
        json!({"gitops": "argocd", "argocd": {"repoURL": "https://git.example.com/fleet.git"}}),
        json!({"argocd": {"destination": {"name": "base"}, "repoURL": "ssh://git@git.example.com/fleet.git"}}),
        json!({"argocd": {"destination": {"server": "https://192.0.2.1:6443"}, "targetRevision": "v1"}}),
    ]
}

fn refused() -> Vec<Value> {
    vec![
        json!([]),
        json!({"outputs": "overlays"}),
        json!({"output": ""}),
        json!({"output": "."}),
        json!({"output": "/srv"}),
        json!({"output": "../overlays"}),
        json!({"output": "a/../../b"}),
        json!({"output": ".git/overlays"}),
        json!({"templates": "a/.."}),
        json!({"inventory": {"mode": "live"}}),
        json!({"inventory": {"modes": "auto"}}),
        json!({"inventory": "auto"}),
        json!({"credentials": "externalSecrets"}),
        json!({"externalSecrets": {"stores": {"Metal": {"name": "a"}}}}),
        json!({"externalSecrets": {"stores": {"metal": {"name": "A"}}}}),
        json!({"externalSecrets": {"stores": {"metal": {}}}}),
        json!({"externalSecrets": {"stores": {"metal": {"name": "a", "kind": "Vault"}}}}),
        json!({"gitops": "fleet"}),
        json!({"gitops": "argocd"}),
        json!({"gitops": "argocd", "argocd": {"project": "a"}}),
        json!({"gitops": "argocd", "argocd": {"repoURL": null}}),
        json!({"flux": {"name": "a-name-that-is-far-too-long"}}),
        json!({"flux": {"namespace": "a.b"}}),
        json!({"flux": {"interval": "10"}}),
        json!({"flux": {"interval": "0s"}}),
        json!({"flux": {"timeout": "1d"}}),
        json!({"flux": {"path": "../lab"}}),
        json!({"flux": {"path": "/lab"}}),
        json!({"flux": {"wait": "yes"}}),
        json!({"flux": {"decryption": {}}}),
        json!({"flux": {"sourceRef": {"kind": "HelmRepository"}}}),
        json!({"argocd": {"repoURL": "https://user:word@git.example.com/fleet.git"}}),
        json!({"argocd": {"repoURL": "ssh://git:word@git.example.com/fleet.git"}}),
        json!({"argocd": {"repoURL": "two words"}}),
        json!({"argocd": {"destination": {}}}),
        json!({"argocd": {"destination": {"name": "a", "server": "b"}}}),
        json!({"argocd": {"targetRevision": ""}}),
        json!({"hosts": {"form": "patch"}}),
    ]
}

fn loads(settings: &Value) -> bool {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("sipgen.yaml"), settings.to_string()).unwrap();
    Settings::load(&Files::on_disk(Utf8Path::from_path(directory.path()).unwrap())).is_ok()
}

#[test]
fn an_editor_underlines_what_sipgen_refuses_and_nothing_else() {
    let documents: Vec<Value> = taken().into_iter().chain(refused()).collect();
    let by_editor = judges::editor(&schema("settings"), &documents);
    for (number, (document, objections)) in documents.iter().zip(by_editor).enumerate() {
        let is_taken = number < taken().len();
        assert_eq!(loads(document), is_taken, "sipgen: {document}");
        assert_eq!(objections.is_empty(), is_taken, "editor: {document}: {objections:?}");
    }
}
