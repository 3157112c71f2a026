//! The life of a site from its first cluster to its last, with hosts of every maker, under each agent.
//!
//! After each step every host must have the spec, the labels and the annotations that it is meant to have, nobody may
//! have deleted one, and another sync must write nothing.

use std::collections::BTreeMap;
use std::thread;

use serde_json::{Map, Value};

use crate::live::hosts::{self, MAKERS, Maker};
use crate::live::site::{Agent, Site};
use crate::live::table;

/// The prefix of the labels that assign a host.
const OURS: &str = "sip.airshipit.org/";

/// A step: what is done, in words, and how.
type Step = (&'static str, fn(&Life));

const STEPS: [Step; 14] = [
    ("create a cluster with 2 hosts", |life| life.want("edge", 2)),
    ("scale up to 3", |life| life.want("edge", 3)),
    ("Machines take 2 hosts", |life| {
        life.each(|maker| {
            for name in life.held(maker).iter().take(2) {
                hosts::consume(life.site.server, &life.site.namespace, name);
            }
        })
    }),
    ("take a snapshot", |life| life.site.take_snapshot()),
    ("scale down to 2", |life| life.want("edge", 2)),
    ("the snapshot shows the released host", |life| life.site.take_snapshot()),
    ("scale up to 3: a released host is taken again", |life| life.want("edge", 3)),
    ("each maker makes its hosts once more", |life| life.make_again()),
    ("move a host, first half: release it", |life| life.want("edge", 2)),
    ("move a host, second half: another cluster takes 2", |life| {
        life.site.take_snapshot();
        life.want("other", 2);
    }),
    ("delete that cluster", |life| life.want_no_more("other")),
    ("`git revert` that", |life| {
        life.site.repo.git(&["revert", "--no-edit", "HEAD"]);
    }),
    ("Machines are deleted", |life| {
        life.each(|maker| {
            for name in life.held(maker) {
                hosts::deprovision(life.site.server, &life.site.namespace, &name);
            }
        });
        life.site.take_snapshot();
    }),
    ("delete the last clusters", |life| {
        life.want_no_more("edge");
        life.want_no_more("other");
    }),
];

/// The step after the last: there is nothing to apply any more.
const LAST_STEP: &str = "delete the agent's objects";

#[test]
fn nothing_is_lost_from_the_first_cluster_to_the_last() {
    let agents = [Agent::Flux, Agent::Argocd];
    let runs: Vec<Vec<Row>> = thread::scope(|scope| {
        let runs: Vec<_> =
            agents.map(|agent| scope.spawn(move || Life::new(agent).live())).into_iter().collect();
        runs.into_iter()
            .map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let heads: Vec<String> = MAKERS.iter().map(|maker| heading(*maker).to_owned()).collect();
    let mut text =
        format!("| step | {} |\n|{}\n", heads.join(" | "), " --- |".repeat(MAKERS.len() + 1));
    let steps = STEPS.iter().map(|(step, _)| *step).chain([LAST_STEP]);
    for (step, (flux, argocd)) in steps.zip(runs[0].iter().zip(&runs[1])) {
        let cells = MAKERS.iter().map(|maker| match (&flux[maker], &argocd[maker]) {
            (flux, argocd) if flux == argocd => flux.clone(),
            (flux, argocd) => format!("{flux} (Flux), {argocd} (Argo CD)"),
        });
        text.push_str(&format!("| {step} | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
    }
    table::compare(&text);
}

fn heading(maker: Maker) -> &'static str {
    match maker {
        Maker::Apply => "`kubectl apply`",
        Maker::Create => "`kubectl create`",
        Maker::ServerSide => "server-side apply",
        Maker::AsAgent => "the same as the agent",
        Maker::Declared => "declared",
    }
}

/// The result of a step for each maker's hosts.
type Row = BTreeMap<Maker, String>;

/// How many hosts each maker makes.
const HOSTS: usize = 4;

struct Life {
    site: Site,
    agent: Agent,
}

/// The parts of a host that no step may change.
#[derive(Debug, PartialEq)]
struct Kept {
    uid: Value,
    spec: Value,
    labels: BTreeMap<String, Value>,
    own_annotation: Value,
}

impl Kept {
    fn of(host: &Value) -> Self {
        let metadata = &host["metadata"];
        let labels = metadata["labels"].as_object().cloned().unwrap_or_default();
        Self {
            uid: metadata["uid"].clone(),
            spec: host["spec"].clone(),
            labels: labels
                .into_iter()
                .filter(|(label, _)| !label.starts_with(OURS) && !is_agents(label))
                .collect(),
            own_annotation: metadata["annotations"]["example.com/own"].clone(),
        }
    }
}

/// Labels by which Flux knows what it applied.
fn is_agents(label: &str) -> bool {
    label.starts_with("kustomize.toolkit.fluxcd.io/")
}

impl Life {
    /// Makes all hosts. Those that the repo declares are there as soon as the agent has synced once.
    fn new(agent: Agent) -> Self {
        let site = Site::new(match agent {
            Agent::Flux => "life-flux",
            Agent::Argocd => "life-argocd",
        });
        let life = Self { site, agent };
        let repo = &life.site.repo;
        repo.write("sipgen.yaml", &agent.settings(&life.site.namespace));
        let declared =
            (1..=HOSTS).map(|number| life.manifest(Maker::Declared, number)).collect::<String>();
        repo.write("inventory/hosts.yaml", &declared);
        repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
        life.each_host(|maker, number| {
            hosts::make(life.site.server, maker, agent.manager(), &life.manifest(maker, number));
        });
        if agent == Agent::Flux {
            life.site.point_flux();
        }
        life.generate();
        life.site.sync_all(agent);
        life.each_host(|maker, number| {
            hosts::report(life.site.server, &life.site.namespace, &maker.host(number), "available");
        });
        life.site.take_snapshot();
        life
    }

    fn manifest(&self, maker: Maker, number: usize) -> String {
        hosts::manifest(maker, &self.site.namespace, number)
    }

    fn each_host(&self, act: impl Fn(Maker, usize)) {
        for maker in MAKERS {
            (1..=HOSTS).for_each(|number| act(maker, number));
        }
    }

    /// Does something for every maker that has clusters.
    fn each(&self, act: impl Fn(Maker)) {
        MAKERS.into_iter().filter(|maker| *maker != Maker::AsAgent).for_each(act);
    }

    fn live(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = STEPS.iter().map(|(step, act)| self.step(step, act)).collect();
        rows.push(self.remove_agent());
        rows
    }

    fn step(&self, step: &str, act: &fn(&Self)) -> Row {
        act(self);
        self.generate();
        // Whatever others did is done by now: from here on only the agent writes.
        let before = self.site.hosts();
        let kept: BTreeMap<&String, Kept> =
            before.iter().map(|(name, host)| (name, Kept::of(host))).collect();
        self.site.sync_all(self.agent);
        let after = self.site.hosts();
        let assigned = self.assigned();
        for (name, host) in &after {
            let what = format!("{:?}, {step}, {name}:\n{host:#}", self.agent);
            assert_eq!(Some(&Kept::of(host)), kept.get(name), "{what}");
            assert_eq!(assignment(host), assigned.get(name).cloned(), "{what}");
            self.assert_managed(name, host, &what);
        }
        assert_eq!(after.len(), before.len(), "{step}");
        self.assert_steady(step, &after);
        self.row(&after)
    }

    /// Asserts that the agent owns no spec but those that it applied in full.
    #[track_caller]
    fn assert_managed(&self, name: &str, host: &Value, what: &str) {
        let managers = host["metadata"]["managedFields"].as_array().unwrap().iter();
        let mut by_agent = managers.filter(|entry| entry["manager"] == self.agent.manager());
        let owns_spec = by_agent.any(|entry| !entry["fieldsV1"]["f:spec"].is_null());
        let is_applied_in_full =
            [Maker::AsAgent, Maker::Declared].iter().any(|maker| name.starts_with(maker.name()));
        assert_eq!(owns_spec, is_applied_in_full, "{what}");
    }

    /// Asserts that another sync of the same writes nothing.
    #[track_caller]
    fn assert_steady(&self, step: &str, before: &BTreeMap<String, Value>) {
        assert_eq!(self.site.resync(self.agent), BTreeMap::new(), "{step}");
        let versions = |hosts: &BTreeMap<String, Value>| -> Vec<(String, Value)> {
            hosts
                .iter()
                .map(|(name, host)| (name.clone(), host["metadata"]["resourceVersion"].clone()))
                .collect()
        };
        assert_eq!(
            versions(&self.site.hosts()),
            versions(before),
            "{:?} writes again after: {step}",
            self.agent
        );
    }

    fn generate(&self) {
        self.site.repo.generate(&["--allow-empty"]).expect(0);
    }

    /// The cluster of each host that the output gives to one.
    fn assigned(&self) -> BTreeMap<String, String> {
        let mut assigned = BTreeMap::new();
        for maker in MAKERS {
            for cluster in ["edge", "other"] {
                let namespace = self.tenant(maker);
                for host in self.site.repo.hosts_of(&namespace, cluster) {
                    let name = host.rsplit('/').next().unwrap().to_owned();
                    assigned.insert(name, format!("{namespace}/{cluster}"));
                }
            }
        }
        assigned
    }

    fn tenant(&self, maker: Maker) -> String {
        format!("{}-{}", self.site.namespace, maker.name())
    }

    fn want(&self, cluster: &str, workers: usize) {
        self.each(|maker| {
            self.site.want(&format!("{}/{cluster}", self.tenant(maker)), maker.name(), workers)
        });
    }

    fn want_no_more(&self, cluster: &str) {
        self.each(|maker| self.site.want_no_more(&format!("{}/{cluster}", self.tenant(maker))));
    }

    /// A maker's hosts that clusters have.
    fn held(&self, maker: Maker) -> Vec<String> {
        self.assigned()
            .into_keys()
            .filter(|name| name.starts_with(&format!("{}-", maker.name())))
            .collect()
    }

    fn make_again(&self) {
        self.each_host(|maker, number| {
            // A host is created only once.
            if maker != Maker::Create {
                hosts::make(
                    self.site.server,
                    maker,
                    self.agent.manager(),
                    &self.manifest(maker, number),
                );
            }
        });
    }

    fn remove_agent(&self) -> Row {
        let before = self.site.hosts();
        match self.agent {
            Agent::Flux => self.site.remove_flux(),
            Agent::Argocd => self.site.remove_applications(),
        }
        let after = self.site.hosts();
        assert_eq!(after, before, "{:?}: {LAST_STEP}", self.agent);
        self.row(&after)
    }

    fn row(&self, after: &BTreeMap<String, Value>) -> Row {
        let of = |maker: Maker| {
            let own = after
                .iter()
                .filter(move |(name, _)| name.starts_with(&format!("{}-", maker.name())));
            let labelled = own.filter(|(_, host)| assignment(host).is_some()).count();
            match labelled {
                0 => "none labelled".to_owned(),
                count => format!("{count} labelled"),
            }
        };
        MAKERS.into_iter().map(|maker| (maker, of(maker))).collect()
    }
}

/// The cluster to which labels assign a host.
fn assignment(host: &Value) -> Option<String> {
    let empty = Map::new();
    let labels = host["metadata"]["labels"].as_object().unwrap_or(&empty);
    let value = |name: &str| labels.get(&format!("{OURS}{name}")).and_then(Value::as_str);
    Some(format!("{}/{}", value("cluster-namespace")?, value("cluster-name")?))
}
