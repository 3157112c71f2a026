//! Observed hosts whose makers go on with them: apply them once more, delete them, make them anew.

use serde_json::Value;

use crate::live::hosts::{self, Maker};
use crate::live::site::{Agent, Site};

const AGENTS: [Agent; 2] = [Agent::Flux, Agent::Argocd];

/// A site with two hosts, made by `kubectl apply` and free.
fn observing(agent: Agent, name: &str) -> Site {
    let site = Site::new(&format!("{name}-{}", agent.name()));
    site.repo.write("sipgen.yaml", &agent.settings(&site.namespace));
    for number in 1..=2 {
        make(&site, agent, number, "");
    }
    if agent == Agent::Flux {
        site.point_flux();
    }
    site
}

/// Applies a host by kubectl, with more in its spec, and reports it.
fn make(site: &Site, agent: Agent, number: usize, more: &str) {
    let manifest = hosts::manifest(Maker::Apply, &site.namespace, number) + more;
    hosts::make(site.server, Maker::Apply, agent.manager(), &manifest);
    hosts::report(site.server, &site.namespace, &Maker::Apply.host(number), "available");
}

fn deliver(site: &Site, agent: Agent) {
    site.take_snapshot();
    site.repo.generate(&["--allow-empty"]).expect(0);
    site.sync_all(agent);
}

fn is_labelled(host: &Value) -> bool {
    host["metadata"]["labels"]["sip.airshipit.org/cluster-name"].is_string()
}

const DESCRIPTION: &str = "  description: in rack 7\n";

/// An output that adds to the hosts of a cluster.
const OUTPUT: &str = "outputs: [{name: nodes, scope: host, labels: {e.com/place: '{{ cluster.name }}'}, \
                      annotations: {e.com/note: '1'}}]\n";

/// kubectl removes what left a manifest only by what it applied last, which the agent owns while a cluster has the host.
#[test]
fn a_person_goes_on_applying_a_host() {
    for agent in AGENTS {
        let site = observing(agent, "person");
        let settings = agent.settings(&site.namespace);
        site.repo.write("sipgen.yaml", &format!("{settings}{OUTPUT}"));
        let host = || site.hosts()["apply-1"].clone();
        let of_output = || {
            let metadata = host()["metadata"].clone();
            [&metadata["labels"]["e.com/place"], &metadata["annotations"]["e.com/note"]]
                .map(|value| value.as_str().map(str::to_owned))
        };
        let added = || [Some("edge".to_owned()), Some("1".to_owned())];
        let cluster = format!("{}-tenant/edge", site.namespace);
        site.want(&cluster, "apply", 2);
        deliver(&site, agent);
        assert!(is_labelled(&host()));
        assert_eq!(of_output(), added(), "{agent:?}");

        make(&site, agent, 1, DESCRIPTION);
        site.resync(agent);
        assert_eq!(host()["spec"]["description"], "in rack 7", "{agent:?}");
        assert!(is_labelled(&host()));
        assert_eq!(of_output(), added(), "{agent:?}");

        site.want(&cluster, "apply", 1);
        for name in ["apply-1", "apply-2"] {
            assert!(site.hosts()[name]["spec"]["bmc"].is_object(), "{agent:?} {name}");
        }
        site.want_no_more(&cluster);
        deliver(&site, agent);
        assert!(!is_labelled(&host()));
        assert_eq!(of_output(), [None, None], "{agent:?}");
        assert_eq!(host()["spec"]["description"], "in rack 7", "{agent:?}");
        deliver(&site, agent);
        assert!(
            !site.repo.exists("overlays/hosts/observed/released"),
            "the snapshot shows that it is free"
        );

        make(&site, agent, 1, DESCRIPTION);
        make(&site, agent, 1, "");
        assert!(
            host()["spec"]["description"].is_null(),
            "{agent:?}: what left the manifest leaves the host"
        );
        assert!(host()["spec"]["bmc"].is_object());

        site.want(&cluster, "apply", 2);
        deliver(&site, agent);
        assert!(is_labelled(&host()) && host()["spec"]["bmc"].is_object(), "{agent:?}");
        assert_eq!(of_output(), added(), "{agent:?}");

        site.repo.write("sipgen.yaml", &settings);
        deliver(&site, agent);
        assert!(is_labelled(&host()) && host()["spec"]["bmc"].is_object(), "{agent:?}");
        assert_eq!(of_output(), [None, None], "{agent:?}: what left the settings leaves the host");
    }
}

/// An object of labels alone for a host that is gone would make a host without a spec, and its maker would find the name
/// taken.
#[test]
fn a_host_that_is_gone_is_not_made_anew_by_the_agent() {
    for agent in AGENTS {
        let site = observing(agent, "gone");
        let cluster = |name: &str| format!("{}-{name}/edge", site.namespace);
        hosts::make(
            site.server,
            Maker::ServerSide,
            "",
            &hosts::manifest(Maker::ServerSide, &site.namespace, 1),
        );
        hosts::report(site.server, &site.namespace, "server-side-1", "available");
        site.want(&cluster("a"), "apply", 2);
        site.want(&cluster("b"), "server-side", 1);
        deliver(&site, agent);

        site.delete_host("apply-1");
        let failures = site.resync(agent);
        let refused = format!("sipgen.observed.{}-a.edge", site.namespace);
        assert_eq!(failures.keys().collect::<Vec<_>>(), [&refused], "{agent:?}: {failures:#?}");
        assert!(failures[&refused].contains("uid mismatch"), "{failures:#?}");
        assert!(!site.hosts().contains_key("apply-1"), "{agent:?} made it anew");

        hosts::make(
            site.server,
            Maker::Create,
            "",
            &hosts::manifest(Maker::Apply, &site.namespace, 1),
        );
        hosts::report(site.server, &site.namespace, "apply-1", "available");
        assert!(
            site.resync(agent).contains_key(&refused),
            "another host of that name may be another machine"
        );
        let host = site.hosts()["apply-1"].clone();
        assert!(!is_labelled(&host) && host["spec"]["bmc"].is_object(), "{host:#}");

        deliver(&site, agent);
        let hosts = site.hosts();
        assert!(hosts.values().all(is_labelled), "{agent:?}: a new snapshot shows the new host");
        assert!(hosts.values().all(|host| host["spec"]["bmc"].is_object()));
    }
}

/// Without `gitops` the hosts have the annotations of both agents.
#[test]
fn annotations_for_argo_cd_do_not_disturb_flux() {
    let site = observing(Agent::Flux, "both");
    site.repo.write("sipgen.yaml", "");
    let cluster = format!("{}-tenant/edge", site.namespace);
    site.want(&cluster, "apply", 2);
    site.take_snapshot();
    site.repo.generate(&[]).expect(0);
    site.delete_kustomizations(&["sipgen"]);
    site.kustomization("own", &format!("./overlays/hosts/observed/{}-tenant.edge", site.namespace));
    site.sync_all(Agent::Flux);
    let before = site.hosts();
    assert!(
        before.values().all(|host| is_labelled(host) && host["spec"]["bmc"].is_object()),
        "{before:#?}"
    );

    assert!(site.resync(Agent::Flux).is_empty());
    assert_eq!(site.hosts(), before, "nothing is written once more");
}
