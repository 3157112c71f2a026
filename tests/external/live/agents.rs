//! The agents' own objects: what holds up whom, and how one agent takes over from the other.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::live::hosts::{self, Maker};
use crate::live::site::{Agent, Site};
use crate::support::api_server::{ApiServer, fed};
use crate::support::flux::Flux;
use crate::support::programs::succeed;
use crate::support::{Repo, run, text};

/// The quickstart's site and two observed hosts, which a tenant of their own has. Its namespace is the site's, which has
/// the quickstart's hosts too.
///
/// No two sites have a NodePort in common: theirs begin with `ports`.
fn quickstart(namespace: &str, ports: &str, agent: Agent) -> Site {
    let site = Site::new(namespace);
    site.repo.write("sipgen.yaml", &agent.settings(namespace));
    for (file, text) in Repo::of_fixture("quickstart").files("sites") {
        let text = text.replace("tenant-a", namespace).replace(": 30", &format!(": {ports}"));
        site.repo.write(&format!("sites/{file}"), &text);
    }
    for number in 1..=2 {
        let manifest = hosts::manifest(Maker::Create, namespace, number);
        hosts::make(site.server, Maker::Create, agent.manager(), &manifest);
        hosts::report(site.server, namespace, &Maker::Create.host(number), "available");
    }
    site.take_snapshot();
    site.want(&format!("{namespace}-b/edge"), "create", 2);
    site
}

fn without_auth(site: &Site) {
    let file = "sites/lab/clusters/edge.yaml";
    let text = site.repo.read(file);
    let (kept, _) = text.split_once("    auth:\n").unwrap();
    site.repo.write(file, kept);
}

fn labelled(site: &Site) -> Vec<String> {
    let hosts = site.hosts().into_iter();
    let ours = hosts.filter(|(_, host)| {
        host["metadata"]["labels"]["sip.airshipit.org/cluster-name"].is_string()
    });
    ours.map(|(name, _)| name).collect()
}

const LAB: [&str; 4] = ["lab-a1", "lab-b1", "lab-b2", "lab-c1"];

/// The quickstart's cluster has services that this API server cannot take: it has no cert-manager.
#[test]
fn a_service_that_cannot_be_applied_holds_up_nobody_else() {
    let site = quickstart("broken", "30", Agent::Flux);
    site.point_flux();
    site.repo.generate(&[]).expect(0);
    let failures = site.sync(Agent::Flux);
    assert!(failures["sipgen.services.broken.edge"].contains("cert-manager.io"), "{failures:#?}");
    let expected = ["sipgen.services", "sipgen.services.broken.edge"];
    assert_eq!(failures.keys().collect::<Vec<_>>(), expected, "{failures:#?}");
    let all = labelled(&site);
    assert_eq!(all[..2], ["create-1", "create-2"]);
    assert_eq!(all.len(), 2 + LAB.len(), "{all:?}");

    site.want("broken-b/edge", "create", 1);
    site.repo.generate(&[]).expect(0);
    assert_eq!(site.sync(Agent::Flux).keys().collect::<Vec<_>>(), expected);
    assert_eq!(
        labelled(&site).len(),
        all.len() - 1,
        "a host is released although another tenant's service fails"
    );
}

/// The Deployments and Services of the quickstart's cluster, with their UIDs. No controller makes others here.
fn services(site: &Site) -> BTreeMap<String, Value> {
    let list = site.server.get(&["--namespace", &site.namespace, "deployments,services"]);
    let named = |item: &Value| {
        let metadata = &item["metadata"];
        (format!("{} {}", item["kind"], metadata["name"]), metadata["uid"].clone())
    };
    list["items"].as_array().unwrap().iter().map(named).collect()
}

#[test]
fn one_agent_takes_over_from_the_other() {
    for (old, new, ports) in
        [(Agent::Flux, Agent::Argocd, "31"), (Agent::Argocd, Agent::Flux, "32")]
    {
        let site = quickstart(&format!("from-{}", old.name()), ports, old);
        without_auth(&site);
        if old == Agent::Flux {
            site.point_flux();
        }
        site.repo.generate(&[]).expect(0);
        site.sync_all(old);
        let (hosts, made) = (labelled(&site), services(&site));
        assert_eq!(hosts.len(), 2 + LAB.len());
        assert!(made.len() > 3, "{made:?}");
        let assert_kept = |step: &str| {
            assert_eq!(labelled(&site), hosts, "from {old:?}, {step}");
            assert_eq!(services(&site), made, "from {old:?}, {step}");
            assert!(
                site.hosts().values().all(|host| host["spec"]["online"] == true),
                "from {old:?}, {step}"
            );
        };

        let_go(&site, old);
        site.repo.write("sipgen.yaml", "");
        site.repo.generate(&[]).expect(0);
        let failures = site.sync_without_parent(old);
        let gone = if old == Agent::Flux { vec!["sipgen.services"] } else { Vec::new() };
        assert_eq!(
            failures.keys().collect::<Vec<_>>(),
            gone,
            "its directory is gone, and it applies nothing else"
        );
        assert_kept("without an agent in the settings");

        match old {
            Agent::Flux => site.remove_flux(),
            Agent::Argocd => site.forget_applications(),
        }
        assert_kept("the old agent's objects are gone");

        site.repo.write("sipgen.yaml", &new.settings(&site.namespace));
        site.repo.generate(&[]).expect(0);
        if new == Agent::Flux {
            site.point_flux();
        }
        site.sync_all(new);
        assert_kept("the new agent has taken over");

        labels_that_the_old_agent_owns_are_taken_off_by_hand(&site, old, new);
    }
}

/// Does the first step of the documentation.
fn let_go(site: &Site, agent: Agent) {
    match agent {
        Agent::Flux => {
            site.patch_kustomization("sipgen", &json!({"spec": {"suspend": true}}));
            for name in site.kustomizations() {
                if name.starts_with("sipgen.services.") {
                    site.patch_kustomization(&name, &json!({"spec": {"prune": false}}));
                }
            }
        }
        Agent::Argocd => site.remove_finalizers(),
    }
}

fn labels_that_the_old_agent_owns_are_taken_off_by_hand(site: &Site, old: Agent, new: Agent) {
    let before = labelled(site).len();
    site.take_snapshot();
    site.want(&format!("{}-b/edge", site.namespace), "create", 1);
    site.repo.generate(&[]).expect(0);
    site.sync_all(new);
    assert_eq!(labelled(site).len(), before, "{old:?} still owns the labels");

    site.take_snapshot();
    let said = site.repo.generate(&[]).expect(0).stderr;
    let name =
        if old == Agent::Flux { "Flux applied them before" } else { "Argo CD applied them before" };
    assert!(said.contains(name) && said.contains(old.manager()), "{said}");
    let command = said.lines().find_map(|line| line.trim().strip_prefix("kubectl ")).unwrap();
    succeed(site.server.kubectl("human").args(command.split(' ')));
    assert_eq!(labelled(site).len(), before - 1);

    site.take_snapshot();
    let said = site.repo.generate(&[]).expect(0).stderr;
    assert!(!said.contains("applied them before"), "{said}");
    site.sync_all(new);
    assert_eq!(labelled(site).len(), before - 1, "nobody puts them on again");
}

/// The quickstart has its requests beside its hosts, as any repo may.
#[test]
fn without_a_definition_of_sipcluster_flux_applies_no_host() {
    let server = ApiServer::start();
    succeed(server.kubectl("admin").args(["delete", "crd", "sipclusters.airship.airshipit.org"]));
    for namespace in ["flux-system", "tenant-a"] {
        server
            .apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"));
    }
    let flux = Flux::start(&server);
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "gitops: flux\n");
    let said = repo.generate(&[]).expect(0).stderr;
    assert!(
        said.contains("SIP0619")
            && said.contains("sipgen schema crd | kubectl apply --server-side -f -"),
        "{said}"
    );
    repo.commit();
    server.apply(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: sipgen, namespace: \
         flux-system}\nspec: {interval: 10m, path: ./overlays/agents/flux, prune: true, sourceRef: {kind: GitRepository, \
         name: flux-system}}\n",
    );
    let failures = flux.sync(&repo, "flux-system");
    assert!(failures["sipgen.declared.sites.lab"].contains("SIPCluster"), "{failures:#?}");
    assert_eq!(
        server.get(&["--namespace=tenant-a", "baremetalhosts"])["items"],
        json!([]),
        "not one host is applied"
    );

    let definition =
        run(Command::new(env!("CARGO_BIN_EXE_sipgen")).args(["schema", "crd"])).expect(0).stdout;
    let applied =
        fed(server.kubectl("human").args(["apply", "--server-side", "--filename=-"]), &definition);
    assert!(applied.status.success(), "{}", text(&applied.stderr));
    let failures = flux.reconcile(&repo, "flux-system");
    assert!(!failures.contains_key("sipgen.declared.sites.lab"), "{failures:#?}");
    assert!(
        !server.get(&["--namespace=tenant-a", "baremetalhosts"])["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}
