//! Histories of Cluster API on a site: labels follow the Machines that CAPM3 places.
//!
//! The model knows what Cluster API, CAPM3 and Metal3 write, and nothing of the planner. A history has
//! Clusters whose names are prefixes of each other, templates with and without the component, snapshots
//! that lag behind, hosts that fail or that remediation marks, and Clusters that opt out and in again.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use proptest::prelude::*;
use sipgen::input::load::Files;
use sipgen::output::compare::OutputChanges;
use sipgen::{GeneratedSite, Options, generate};

use crate::support::documents;

const HISTORIES: u32 = 150;
const STEPS: usize = 30;
const NAMESPACE: &str = "metal";

/// Names of control planes and MachineDeployments, by Cluster.
const CLUSTERS: [(&str, &str, &[&str]); 3] = [
    ("prod", "prod", &["prod-north"]),
    ("prod-north", "prod-north-cp", &["prod-north-md", "prod-north-cp-md"]),
    ("edge", "edge", &["edge-md"]),
];

/// An event between two runs. Numbers select a Cluster, node set, host or Machine.
#[derive(Debug, Clone)]
enum Event {
    Scale(u8, u8),
    Surge(u8),
    OptOut(u8),
    OptIn(u8),
    Pin(u8),
    Unpin(u8),
    RenameTemplate(u8),
    DeleteMachine(u8),
    Remediate(u8),
    FailHost(u8),
    RepairHosts,
    Reconcile(u8),
    TakeSnapshot,
    Merge,
}

fn event() -> impl Strategy<Value = Event> {
    let number = any::<u8>;
    prop_oneof![
        2 => (number(), 0..4_u8).prop_map(|(set, count)| Event::Scale(set, count)),
        1 => number().prop_map(Event::Surge),
        1 => number().prop_map(Event::OptOut),
        2 => number().prop_map(Event::OptIn),
        2 => number().prop_map(Event::Pin),
        1 => number().prop_map(Event::Unpin),
        1 => number().prop_map(Event::RenameTemplate),
        2 => number().prop_map(Event::DeleteMachine),
        1 => number().prop_map(Event::Remediate),
        1 => number().prop_map(Event::FailHost),
        1 => Just(Event::RepairHosts),
        5 => number().prop_map(Event::Reconcile),
        4 => Just(Event::TakeSnapshot),
        5 => Just(Event::Merge),
    ]
}

#[derive(Debug, Clone)]
struct History {
    hosts: usize,
    clusters: usize,
    declared: bool,
    /// Set if CAPM3's label is in the snapshots.
    labels_clusters: bool,
    /// Set if Machines and Metal3Machines are in the snapshots.
    has_machines: bool,
    events: Vec<Event>,
}

fn history() -> impl Strategy<Value = History> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let events = prop::collection::vec(event(), STEPS);
    (9..15_usize, 1..4_usize, flags, events).prop_map(
        |(hosts, clusters, (declared, labels_clusters, has_machines), events)| History {
            hosts,
            clusters,
            declared,
            labels_clusters,
            has_machines,
            events,
        },
    )
}

#[derive(Debug, Clone, PartialEq)]
struct LiveHost {
    /// Node set in its labels.
    labels: Option<usize>,
    /// Metal3Machine that consumes it.
    machine: Option<Machine>,
    is_unhealthy: bool,
    has_failed: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Machine {
    name: String,
    set: usize,
}

#[derive(Debug, Clone)]
struct NodeSet {
    cluster: usize,
    /// The MachineDeployment; none for the control plane.
    deployment: Option<&'static str>,
    /// Name of the control plane or MachineDeployment.
    name: &'static str,
    replicas: usize,
    surge: usize,
    template: String,
}

#[derive(Debug, Clone)]
struct Cluster {
    name: &'static str,
    is_asked: bool,
    is_pinned: bool,
}

struct World {
    history: History,
    clusters: Vec<Cluster>,
    sets: Vec<NodeSet>,
    hosts: Vec<LiveHost>,
    /// The hosts that the last snapshot shows.
    seen: Vec<LiveHost>,
    /// The output that is merged.
    output: BTreeMap<Utf8PathBuf, String>,
    /// Machines made so far.
    made: usize,
}

impl World {
    fn new(history: &History) -> Self {
        let clusters: Vec<_> = CLUSTERS[..history.clusters].to_vec();
        let mut sets = Vec::new();
        for (cluster, (_, control_plane, deployments)) in clusters.iter().enumerate() {
            let own = [(None, *control_plane)].into_iter();
            let own = own.chain(deployments.iter().map(|name| (Some(*name), *name)));
            sets.extend(own.map(|(deployment, name)| NodeSet {
                cluster,
                deployment,
                name,
                replicas: 1,
                surge: 0,
                template: name.to_owned(),
            }));
        }
        let host = LiveHost { labels: None, machine: None, is_unhealthy: false, has_failed: false };
        let hosts = vec![host; history.hosts];
        Self {
            history: history.clone(),
            clusters: clusters
                .iter()
                .map(|(name, ..)| Cluster { name, is_asked: true, is_pinned: false })
                .collect(),
            sets,
            seen: hosts.clone(),
            hosts,
            output: BTreeMap::new(),
            made: 0,
        }
    }

    fn happen(&mut self, event: &Event) {
        let (sets, clusters, hosts) = (self.sets.len(), self.clusters.len(), self.hosts.len());
        let at = |number: &u8, count: usize| usize::from(*number) % count;
        match event {
            Event::Scale(set, count) => self.sets[at(set, sets)].replicas = usize::from(*count),
            Event::Surge(set) => {
                let set = &mut self.sets[at(set, sets)];
                set.surge = 1 - set.surge;
            }
            Event::OptOut(cluster) => self.clusters[at(cluster, clusters)].is_asked = false,
            Event::OptIn(cluster) => self.clusters[at(cluster, clusters)].is_asked = true,
            Event::Pin(cluster) => {
                let cluster = &mut self.clusters[at(cluster, clusters)];
                let component = component(cluster.name);
                cluster.is_pinned |= self.output.contains_key(&component);
            }
            Event::Unpin(cluster) => self.clusters[at(cluster, clusters)].is_pinned = false,
            Event::RenameTemplate(set) => {
                let set = &mut self.sets[at(set, sets)];
                set.template.push('x');
            }
            Event::DeleteMachine(host) => self.hosts[at(host, hosts)].machine = None,
            Event::Remediate(host) => {
                let host = &mut self.hosts[at(host, hosts)];
                host.is_unhealthy |= host.machine.take().is_some();
            }
            Event::FailHost(host) => self.hosts[at(host, hosts)].has_failed = true,
            Event::RepairHosts => self.hosts.iter_mut().for_each(|host| {
                host.has_failed = false;
                host.is_unhealthy = false;
            }),
            Event::Reconcile(seed) => self.reconcile(usize::from(*seed)),
            Event::TakeSnapshot => self.seen = self.hosts.clone(),
            Event::Merge => {}
        }
    }

    /// Cluster API makes and deletes Machines, and CAPM3 chooses a host for each new one.
    fn reconcile(&mut self, seed: usize) {
        for set in 0..self.sets.len() {
            let own =
                |host: &LiveHost| host.machine.as_ref().is_some_and(|machine| machine.set == set);
            while self.hosts.iter().filter(|host| own(host)).count() > self.sets[set].replicas {
                let at = self.hosts.iter().rposition(own).unwrap();
                self.hosts[at].machine = None;
            }
            while self.hosts.iter().filter(|host| own(host)).count() < self.sets[set].replicas {
                let is_pinned = self.clusters[self.sets[set].cluster].is_pinned;
                let is_free = |host: &LiveHost| {
                    host.machine.is_none() && !host.is_unhealthy && !host.has_failed
                };
                let candidates = self.hosts.iter().enumerate();
                let candidates = candidates
                    .filter(|(_, host)| is_free(host) && (!is_pinned || host.labels == Some(set)));
                let candidates: Vec<usize> = candidates.map(|(at, _)| at).collect();
                if candidates.is_empty() {
                    break;
                }
                self.made += 1;
                let name = self.machine_name(set);
                let chosen = candidates[(seed + self.made * 7) % candidates.len()];
                self.hosts[chosen].machine = Some(Machine { name, set });
            }
        }
    }

    /// A name that Cluster API generates.
    fn machine_name(&self, set: usize) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let random = |salt: usize| {
            let mut number = self.made * 7919 + salt * 104_729 + 12_345_678;
            let mut text = String::new();
            for _ in 0..5 {
                text.push(char::from(ALPHABET[number % ALPHABET.len()]));
                number /= ALPHABET.len();
            }
            text
        };
        let NodeSet { name, deployment, .. } = &self.sets[set];
        match deployment {
            None => format!("{name}-{}", random(1)),
            Some(_) => format!("{name}-{}-{}", random(2), random(1)),
        }
    }

    /// The files that people and snapshots write.
    fn inputs(&self) -> Vec<(Utf8PathBuf, String)> {
        let mut files: Vec<(Utf8PathBuf, String)> = vec![
            ("sipgen.yaml".into(), "credentials: none\n".to_owned()),
            ("snap/hosts.yaml".into(), self.snapshot()),
        ];
        if self.history.declared {
            files.push(("hosts/kustomization.yaml".into(), "resources: [hosts.yaml]\n".to_owned()));
            let hosts = (0..self.hosts.len())
                .map(|host| format!("{}spec: {{online: true}}\n", head(host, "")));
            files.push(("hosts/hosts.yaml".into(), hosts.collect()));
        }
        for (index, cluster) in self.clusters.iter().enumerate() {
            let directory = format!("clusters/{}", cluster.name);
            let mut kustomization = "resources: [all.yaml]\n".to_owned();
            if cluster.is_pinned {
                let component =
                    format!("../../overlays/tenants/{NAMESPACE}/{}/cluster-api", cluster.name);
                kustomization.push_str(&format!("components: [{component}]\n"));
            }
            files.push((format!("{directory}/kustomization.yaml").into(), kustomization));
            files.push((format!("{directory}/all.yaml").into(), self.objects(index)));
        }
        files
    }

    /// The repo with an output.
    fn files(&self, output: &BTreeMap<Utf8PathBuf, String>) -> Files {
        let own = self.inputs().into_iter().map(|(path, text)| (path, text.into_bytes()));
        let merged = output.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()));
        Files::in_memory(own.chain(merged))
    }

    fn objects(&self, index: usize) -> String {
        let Cluster { name, is_asked, .. } = &self.clusters[index];
        let own = self.sets.iter().filter(|set| set.cluster == index);
        let control_plane = own.clone().find(|set| set.deployment.is_none()).unwrap().name;
        let mut text = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: {NAMESPACE}, \
             annotations: {{sip.airshipit.org/assign-hosts: '{is_asked}'}}}}\nspec:\n  controlPlaneRef: {{kind: \
             KubeadmControlPlane, name: {control_plane}}}\n"
        );
        for NodeSet { deployment, name: set, replicas, surge, template, .. } in own {
            let reference =
                format!("infrastructureRef: {{kind: Metal3MachineTemplate, name: {template}}}");
            let strategy = format!("{{type: RollingUpdate, rollingUpdate: {{maxSurge: {surge}}}}}");
            // Cluster API refuses a surge of 0 for a small control plane.
            let spare = match (deployment, surge) {
                (None, 0) => ", annotations: {sip.airshipit.org/spare-hosts: '0'}",
                _ => "",
            };
            let metadata = format!("metadata: {{name: {set}, namespace: {NAMESPACE}{spare}}}");
            text.push_str(&match deployment {
                None => format!(
                    "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\n{metadata}\n\
                     spec:\n  replicas: {replicas}\n  machineTemplate: {{{reference}}}\n"
                ),
                Some(_) => format!(
                    "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\n{metadata}\nspec:\n  \
                     clusterName: {name}\n  replicas: {replicas}\n  strategy: {strategy}\n  template: {{spec: \
                     {{clusterName: {name}, {reference}}}}}\n"
                ),
            });
            text.push_str(&format!(
                "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\nmetadata: {{name: \
                 {template}, namespace: {NAMESPACE}}}\nspec: {{template: {{spec: {{image: {{url: u, checksum: c}}}}}}}}\n"
            ));
        }
        text
    }

    fn snapshot(&self) -> String {
        let mut text = String::new();
        for (at, host) in self.seen.iter().enumerate() {
            let mut labels = String::new();
            let mut spec = "online: true".to_owned();
            if let Some(set) = host.labels {
                labels = self.labels(set);
            }
            if let Some(Machine { name, set }) = &host.machine {
                let cluster = self.clusters[self.sets[*set].cluster].name;
                if self.history.labels_clusters {
                    labels.push_str(&format!("cluster.x-k8s.io/cluster-name: {cluster}, "));
                }
                spec.push_str(&format!(
                    ", image: {{url: u}}, consumerRef: {{kind: Metal3Machine, name: {name}, namespace: {NAMESPACE}}}"
                ));
            }
            let annotations = if host.is_unhealthy { "capm3.metal3.io/unhealthy: ''" } else { "" };
            let state = if host.machine.is_some() { "provisioned" } else { "available" };
            let error = if host.has_failed {
                ", errorMessage: broken, errorType: provisioning error"
            } else {
                ""
            };
            let more = format!(
                "  uid: 00000000-0000-0000-0000-0000000000{at:02}\n  labels: {{{labels}}}\n  annotations: {{{annotations}}}\n"
            );
            text.push_str(&head(at, &more));
            text.push_str(&format!(
                "spec: {{{spec}}}\nstatus: {{operationalStatus: OK, provisioning: {{state: {state}}}{error}}}\n"
            ));
            if let Some(Machine { name, set }) = &host.machine
                && self.history.has_machines
            {
                let cluster = self.clusters[self.sets[*set].cluster].name;
                let label = match self.sets[*set].deployment {
                    None => "cluster.x-k8s.io/control-plane: ''".to_owned(),
                    Some(deployment) => format!("cluster.x-k8s.io/deployment-name: {deployment}"),
                };
                text.push_str(&format!(
                    "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3Machine\nmetadata: {{name: {name}, \
                     namespace: {NAMESPACE}, labels: {{cluster.x-k8s.io/cluster-name: {cluster}, {label}}}, \
                     ownerReferences: [{{kind: Machine, name: {name}}}]}}\nspec: {{providerID: x}}\n"
                ));
            }
        }
        text
    }

    fn labels(&self, set: usize) -> String {
        let NodeSet { cluster, deployment, .. } = &self.sets[set];
        let name = self.clusters[*cluster].name;
        let role = deployment.map_or("ControlPlane", |_| "Worker");
        let mut labels = format!(
            "sip.airshipit.org/cluster-name: {name}, sip.airshipit.org/cluster-namespace: {NAMESPACE}, \
             sip.airshipit.org/node-type: {role}, "
        );
        if let Some(deployment) = deployment {
            labels.push_str(&format!("sip.airshipit.org/node-set: {deployment}, "));
        }
        labels
    }

    /// The node set of each host in an output.
    fn assigned(&self, output: &BTreeMap<Utf8PathBuf, String>) -> BTreeMap<usize, usize> {
        let mut assigned = BTreeMap::new();
        let files = output.iter().filter(|(path, _)| path.starts_with("overlays/hosts"));
        for host in files.flat_map(|(_, text)| documents(text)) {
            let labels = &host["metadata"]["labels"];
            let label = |key: &str| labels[format!("sip.airshipit.org/{key}").as_str()].as_str();
            let (Some("BareMetalHost"), Some(cluster)) =
                (host["kind"].as_str(), label("cluster-name"))
            else {
                continue;
            };
            let set = self.sets.iter().position(|set| {
                self.clusters[set.cluster].name == cluster && set.deployment == label("node-set")
            });
            let name = host["metadata"]["name"].as_str().unwrap();
            let before = assigned.insert(name[1..].parse().unwrap(), set.unwrap());
            assert_eq!(before, None, "{name} is assigned twice");
        }
        assigned
    }

    /// Checks what a run makes of the site as the last snapshot shows it.
    fn check(&self) -> BTreeMap<Utf8PathBuf, String> {
        let generated = self.run(&self.output);
        let Some(changes) = &generated.changes else {
            // Errors leave every file as it was.
            return self.output.clone();
        };
        let output = changed(&self.output, changes);
        // The same files give the same output.
        if output != self.output {
            let again = self.run(&output);
            let errors = again.findings.iter().filter(|finding| finding.is_error());
            let errors: Vec<_> = errors.map(|finding| &finding.message).collect();
            assert_eq!(
                again.changes,
                Some(OutputChanges::default()),
                "a second run changes files: {errors:?}"
            );
        }

        for cluster in self.clusters.iter().filter(|cluster| cluster.is_pinned) {
            let component = component(cluster.name);
            assert!(output.contains_key(&component), "{component} is listed and gone");
        }
        let named = |host: usize| {
            let name = format!("{NAMESPACE}/h{host}");
            generated.findings.iter().any(|finding| finding.message.contains(&name))
        };
        let assigned = self.assigned(&output);
        let is_asked = |set: usize| self.clusters[self.sets[set].cluster].is_asked;
        for (host, live) in self.seen.iter().enumerate() {
            let user =
                live.machine.as_ref().map(|machine| machine.set).filter(|set| is_asked(*set));
            if let Some(user) = user.filter(|user| assigned.get(&host) != Some(user)) {
                assert!(named(host), "h{host} has {:?} and is used by {user}", assigned.get(&host));
            }
        }
        for (set, NodeSet { name, replicas, surge, .. }) in self.sets.iter().enumerate() {
            let wanted = if *replicas == 0 { 0 } else { replicas + surge };
            let serves = |host: usize| {
                let live = &self.seen[host];
                match &live.machine {
                    Some(machine) => machine.set == set,
                    None => {
                        assigned.get(&host) == Some(&set) && !live.is_unhealthy && !live.has_failed
                    }
                }
            };
            let hosts = (0..self.seen.len()).filter(|host| serves(*host)).count();
            let is_told = assigned.iter().any(|(host, owner)| *owner == set && named(*host));
            assert!(
                !is_asked(set) || hosts >= wanted || is_told,
                "{name} has {hosts} of {wanted} hosts"
            );
        }
        output
    }

    fn run(&self, output: &BTreeMap<Utf8PathBuf, String>) -> GeneratedSite {
        let options = Options { allow_empty: true, ..Options::default() };
        generate(&self.files(output), &options, &|_| {}).unwrap()
    }

    /// The agent applies the output.
    fn merge(&mut self, output: BTreeMap<Utf8PathBuf, String>) {
        let assigned = self.assigned(&output);
        self.output = output;
        for (at, host) in self.hosts.iter_mut().enumerate() {
            host.labels = assigned.get(&at).copied();
        }
    }
}

fn head(host: usize, more: &str) -> String {
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{host}\n  namespace: {NAMESPACE}\n{more}"
    )
}

fn component(cluster: &str) -> Utf8PathBuf {
    format!("overlays/tenants/{NAMESPACE}/{cluster}/cluster-api/kustomization.yaml").into()
}

fn changed(
    output: &BTreeMap<Utf8PathBuf, String>,
    changes: &OutputChanges,
) -> BTreeMap<Utf8PathBuf, String> {
    let mut after = output.clone();
    for (path, change) in &changes.files {
        match &change.after {
            Some(text) => after.insert(path.clone(), text.clone()),
            None => after.remove(path),
        };
    }
    after
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: HISTORIES, failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default()
    })]

    #[test]
    fn labels_follow_machines_through_every_history(history in history()) {
        let mut world = World::new(&history);
        let mut checked = None;
        for event in &history.events {
            world.happen(event);
            let inputs = (world.inputs(), world.output.clone());
            // What happens in the cluster alone changes no answer before the next snapshot.
            let output = match &checked {
                Some((known, output)) if *known == inputs => BTreeMap::clone(output),
                _ => world.check(),
            };
            checked = Some((inputs, output.clone()));
            if matches!(event, Event::Merge) {
                world.merge(output);
            }
        }
    }
}
