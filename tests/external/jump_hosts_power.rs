//! The host tool in a jump host's pod, before real Redfish services: sushy-tools' emulators.

use std::thread::sleep;
use std::time::Duration;

use crate::support::jump_host::{PASSWORD, Scene, processes};
use crate::support::redfish::{Certificate, Emulator};
use crate::support::{Repo, assert_says, host};

// Which system of which BMC

/// The drivers of Metal3 that speak Redfish.
const DRIVERS: [&str; 7] = [
    "redfish",
    "redfish-virtualmedia",
    "redfish-uefihttp",
    "idrac-redfish",
    "idrac-virtualmedia",
    "ilo5-redfish",
    "ilo5-virtualmedia",
];

/// A site with one cluster that has hosts with these names and BMC addresses.
fn site_of(hosts: &[(String, String)]) -> Repo {
    let repo = Repo::of_fixture("jump-host");
    let mut text = String::new();
    for (index, (name, address)) in hosts.iter().enumerate() {
        let manifest = host(name, "  labels: {depot.example.com/pool: edge}\n")
            .replace("namespace: metal", "namespace: depot");
        text.push_str(&format!(
            "{manifest}  bmc: {{address: \"{address}\", credentialsName: depot-bmc, disableCertificateVerification: true}}\n  \
             networkData: {{name: {name}}}\n---\napiVersion: v1\nkind: Secret\n\
             metadata: {{name: {name}, namespace: depot}}\nstringData:\n  networkData: |\n    \
             networks: [{{id: oam, type: ipv4, link: a, ip_address: 198.51.100.{}}}]\n",
            index + 1
        ));
    }
    let shared = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: depot-bmc, namespace: depot}\n\
                  stringData: {username: admin, password: not-a-secret}\n";
    repo.write("hosts/hosts.yaml", &format!("{text}{shared}"));
    repo.replace("clusters/edge.yaml", "active: 4", &format!("active: {}", hosts.len()));
    for cluster in ["far", "lab"] {
        repo.remove(&format!("clusters/{cluster}.yaml"));
    }
    repo
}

#[test]
fn an_order_reaches_the_system_that_the_bmc_address_names_by_any_redfish_driver_transport_port_and_family()
 {
    let v6 = "2001:db8:0:b::25";
    let endpoints = [
        ("203.0.113.21", 443, true),
        ("203.0.113.21", 80, false),
        (v6, 8443, true),
        (v6, 8000, false),
    ];
    let mut systems: [Vec<String>; 4] = Default::default();
    let mut hosts = Vec::new();
    for driver in DRIVERS {
        for (endpoint, start) in [
            format!("{driver}://203.0.113.21"),
            format!("{driver}+http://203.0.113.21"),
            format!("{driver}+https://[{v6}]:8443"),
            format!("{driver}+http://[{v6}]:8000"),
        ]
        .iter()
        .enumerate()
        {
            let name = format!("{driver}-{endpoint}");
            hosts.push((name.clone(), format!("{start}/redfish/v1/Systems/{name}")));
            systems[endpoint].push(name);
        }
    }
    let scene = Scene::of(site_of(&hosts), "edge");
    let certificate = Certificate::of("203.0.113.21");
    let emulators: Vec<Emulator> = endpoints
        .iter()
        .zip(&systems)
        .map(|((address, port, tls), systems)| {
            let systems: Vec<&str> = systems.iter().map(String::as_str).collect();
            Emulator::start(&scene.network, address, *port, tls.then_some(&certificate), &systems)
        })
        .collect();

    let names: Vec<&str> = hosts.iter().map(|(name, _)| name.as_str()).collect();
    scene.shell("for name in \"$@\"; do host reboot $name || exit; done", &names).expect(0);

    for (emulator, systems) in emulators.iter().zip(&systems) {
        let expected: Vec<String> =
            systems.iter().map(|name| format!("{name} GracefulRestart")).collect();
        assert_eq!(emulator.orders(), expected);
    }
}

#[test]
fn a_bmc_address_without_a_system_means_the_only_one_that_the_bmc_has() {
    let hosts =
        [("one", "redfish+http://203.0.113.21:8000"), ("two", "redfish+http://203.0.113.22:8000/")];
    let hosts = hosts.map(|(name, address)| (name.to_owned(), address.to_owned()));
    let scene = Scene::of(site_of(&hosts), "edge");
    let one = Emulator::start(&scene.network, "203.0.113.21", 8000, None, &["self"]);
    let two = Emulator::start(&scene.network, "203.0.113.22", 8000, None, &["1", "2"]);

    scene.host(&["reboot", "one"]).expect(0);
    let refused = scene.host(&["reboot", "two"]).expect(1);

    assert_eq!(one.orders(), ["self GracefulRestart"]);
    assert_eq!(two.orders(), [""; 0]);
    assert_says(
        &refused.stderr,
        &["host: two: the BMC at http://203.0.113.22:8000 has 2 systems", "names none of them"],
    );
}

#[test]
fn a_bmc_that_speaks_no_redfish_gets_no_order_and_the_operator_a_reason() {
    let addresses = [
        "ipmi://203.0.113.21:6230",
        "203.0.113.21",
        "libvirt://203.0.113.21:16509/",
        "idrac://203.0.113.21",
        "ibmc+https://203.0.113.21:8088",
        "ilo4://203.0.113.21",
        "ilo5://203.0.113.21",
        "irmc://203.0.113.21",
    ];
    let drivers = ["ipmi", "ipmi", "libvirt"];
    let hosts: Vec<_> = (0..)
        .zip(addresses)
        .map(|(index, address)| (format!("host-{index}"), address.to_owned()))
        .collect();
    let scene = Scene::of(site_of(&hosts), "edge");

    for ((name, _), driver) in hosts.iter().zip(drivers) {
        let run = scene.host(&["on", name]).expect(1);

        let reason = format!(
            "host: {name}: its BMC is not managed through Redfish, but by {driver} ({driver}://203.0.113.21"
        );
        assert_says(&run.stderr, &[&reason]);
    }
    // Drivers that Metal3 no longer has.
    for (name, _) in &hosts[drivers.len()..] {
        let run = scene.host(&["on", name]).expect(1);

        assert_says(&run.stderr, &[&format!("host: {name}: its BareMetalHost names no BMC")]);
    }
}

// The commands

#[test]
fn host_status_shows_every_host_and_fails_if_one_of_them_cannot_be_asked() {
    let scene = Scene::of_fixture("edge");
    let _bmcs = scene.bmcs();

    let all = scene.host(&["status"]).expect(1);
    let one = scene.host(&["status", "depot-2"]).expect(0);

    let rows: Vec<String> = all
        .stdout
        .lines()
        .map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "NAME POWER HEALTH",
            "depot-1 On OK",
            "depot-2 On OK",
            "depot-3 On OK",
            "depot-4 unknown -"
        ]
    );
    assert_says(&all.stdout, &["its BMC is not managed through Redfish, but by ipmi"]);
    assert_eq!(one.stdout, "NAME     POWER  HEALTH  PROBLEM\ndepot-2  On     OK\n");
}

#[test]
fn a_host_is_shut_down_and_switched_on_again() {
    let scene = Scene::of_fixture("edge");
    let bmcs = scene.bmcs();
    let says = |arguments: &[&str], code: i32| {
        let run = scene.host(arguments).expect(code);
        run.stdout + &run.stderr
    };

    assert_eq!(says(&["on", "depot-1"], 0), "depot-1: it is on already\n");
    assert_eq!(says(&["off", "--wait", "depot-1"], 0), "depot-1: it is off\n");
    assert_eq!(says(&["off", "depot-1"], 0), "depot-1: it is off already\n");
    assert_says(
        &says(&["reboot", "depot-1"], 1),
        &["depot-1: it is off, so it cannot be restarted", "\"host on\""],
    );
    assert_eq!(says(&["on", "--wait", "depot-1"], 0), "depot-1: it is on\n");

    assert_eq!(bmcs[0].orders(), ["depot-1 GracefulShutdown", "depot-1 On"]);
}

#[test]
fn of_two_hosts_behind_one_bmc_the_named_one_is_switched() {
    let scene = Scene::of_fixture("edge");
    let bmcs = scene.bmcs();

    scene.host(&["reboot", "--force", "depot-2"]).expect(0);
    let run = scene.host(&["off", "--force", "depot-3"]).expect(0);

    assert_eq!(run.stdout, "depot-3: the BMC has taken the order to switch it off at once\n");
    assert_eq!(bmcs[1].orders(), ["depot-2 ForceRestart", "depot-3 ForceOff"]);
    assert!(bmcs[0].orders().is_empty());
}

#[test]
fn redfishtool_works_on_the_host_that_is_named() {
    let scene = Scene::of_fixture("edge");
    let bmcs = scene.bmcs();

    let read = scene.host(&["redfish", "depot-3", "Systems"]).expect(0);
    scene.host(&["redfish", "depot-3", "Systems", "reset", "ForceRestart"]).expect(0);
    scene.host(&["redfish", "depot-1", "Systems", "reset", "ForceRestart"]).expect(0);

    assert_says(&read.stdout, &["\"Name\": \"system depot-3\""]);
    assert_eq!(bmcs[1].orders(), ["depot-3 ForceRestart"]);
    assert_eq!(bmcs[0].orders(), ["depot-1 ForceRestart"]);
}

#[test]
fn redfishtool_reaches_a_bmc_by_ipv6() {
    let scene = Scene::of_fixture("far");
    let certificate = Certificate::of("2001:db8:0:b::25");
    let bmc = Emulator::start(
        &scene.network,
        "2001:db8:0:b::25",
        8443,
        Some(&certificate),
        &["System.Embedded.1"],
    );

    scene.host(&["redfish", "depot-5", "Systems", "reset", "GracefulRestart"]).expect(0);

    assert_eq!(bmc.orders(), ["System.Embedded.1 GracefulRestart"]);
}

// What goes wrong

#[test]
fn a_host_that_is_not_there_is_an_error_that_shows_the_way() {
    let scene = Scene::of_fixture("edge");

    for command in ["status", "on", "off", "reboot", "redfish"] {
        let run = scene.host(&[command, "depot-9"]).expect(1);

        assert_eq!(run.stderr, "host: depot-9: there is no such host; \"host list\" shows them\n");
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn a_wrong_command_line_is_told_from_a_failure() {
    let scene = Scene::of_fixture("edge");

    for arguments in [&[][..], &["reboot"], &["explode", "depot-1"], &["on", "--force", "depot-1"]]
    {
        assert_says(&scene.host(arguments).expect(2).stderr, &["usage: host"]);
    }
}

#[test]
fn a_bmc_that_cannot_be_reached_is_named_with_the_reason() {
    let scene = Scene::of_fixture("edge");

    let refused = scene.host(&["on", "depot-1"]).expect(1);
    let status = scene.host(&["status"]).expect(1);

    assert_eq!(
        refused.stderr,
        "host: depot-1: cannot reach the BMC at https://203.0.113.21: Connection refused\n"
    );
    assert_eq!(status.stdout.matches("unknown").count(), 4, "{}", status.stdout);
}

#[test]
fn a_bmc_without_a_route_to_it_is_named_with_the_reason() {
    let scene = Scene::of(
        site_of(&[("far-away".to_owned(), "redfish://192.0.2.77/redfish/v1/Systems/1".to_owned())]),
        "edge",
    );

    let run = scene.host(&["on", "far-away"]).expect(1);

    assert_says(
        &run.stderr,
        &["cannot reach the BMC at https://192.0.2.77: Network is unreachable"],
    );
}

#[test]
fn a_wrong_password_is_called_so_and_not_shown() {
    let mut scene = Scene::of_fixture("edge");
    scene
        .secrets
        .get_mut("depot-bmc")
        .unwrap()
        .insert("password".to_owned(), "a-wrong-one".to_owned());
    let bmcs = scene.bmcs();

    for command in ["on", "off", "reboot", "status"] {
        let run = scene.host(&[command, "depot-2"]).expect(1);
        let said = run.stdout + &run.stderr;
        assert_says(
            &said,
            &[
                "the BMC refuses the user name or the password (http://203.0.113.22:8000/redfish/v1/Systems/depot-2)",
            ],
        );
        assert!(!said.contains("a-wrong-one"), "{said}");
    }
    assert!(bmcs[1].orders().is_empty());
}

#[test]
fn a_missing_secret_is_asked_for() {
    let mut scene = Scene::of_fixture("edge");
    scene.secrets.remove("depot-bmc");

    let run = scene.host(&["on", "depot-2"]).expect(1);

    assert_says(
        &run.stderr,
        &[
            "its BMC credentials cannot be read, is the Secret there?",
            "answers 404 for the Secret depot-bmc",
        ],
    );
}

#[test]
fn a_jump_host_without_power_control_says_who_has_decided_so() {
    let repo = Repo::of_fixture("jump-host");
    repo.write("sipgen.yaml", "credentials: none\nsecrets: {plaintext: warning}\n");
    let scene = Scene::of(repo, "edge");

    let run = scene.host(&["on", "depot-2"]).expect(1);

    assert_says(
        &run.stderr,
        &["this jump host has no power control: sipgen.yaml says \"credentials: none\""],
    );
}

// Keeping credentials

#[test]
fn a_bmc_whose_certificate_nobody_vouches_for_does_not_get_the_credentials() {
    let scene = Scene::of_fixture("lab");
    let certificate = Certificate::of("203.0.113.26");
    let bmc = Emulator::start(&scene.network, "203.0.113.26", 443, Some(&certificate), &["1"]);

    let order = scene.host(&["on", "depot-6"]).expect(1);
    let tool = scene.host(&["redfish", "depot-6", "Systems"]);

    assert_says(
        &order.stderr,
        &["CERTIFICATE_VERIFY_FAILED", "spec.bmc.disableCertificateVerification"],
    );
    assert_ne!(tool.code, 0);
    assert_eq!(bmc.requests(), 0);
}

#[test]
fn a_bmc_whose_certificate_is_trusted_gets_them() {
    let scene = Scene::of_fixture("lab");
    let certificate = Certificate::of("203.0.113.26");
    let bmc = Emulator::start(&scene.network, "203.0.113.26", 443, Some(&certificate), &["1"]);
    let trust = [("SSL_CERT_FILE", "/tmp/authorities")];
    let trusting = |command: &str| {
        let script = format!("printf %s \"$1\" > /tmp/authorities; {command}");
        scene.shell_with(&script, &[&certificate.text()], &trust).expect(0);
    };

    trusting("host reboot depot-6");
    trusting("host redfish depot-6 Systems reset ForceOff");

    assert_eq!(bmc.orders(), ["1 GracefulRestart", "1 ForceOff"]);
}

#[test]
fn a_certificate_for_another_address_is_not_trusted() {
    let scene = Scene::of_fixture("lab");
    let certificate = Certificate::of("203.0.113.99");
    let bmc = Emulator::start(&scene.network, "203.0.113.26", 443, Some(&certificate), &["1"]);
    let trust = [("SSL_CERT_FILE", "/tmp/authorities")];

    for command in ["host on depot-6", "host redfish depot-6 Systems"] {
        let script = format!("printf %s \"$1\" > /tmp/authorities; {command}");
        assert_ne!(scene.shell_with(&script, &[&certificate.text()], &trust).code, 0);
    }

    assert_eq!(bmc.requests(), 0);
}

#[test]
fn a_password_is_on_no_command_line_and_in_no_environment() {
    let scene = Scene::of_fixture("edge");
    let answers = r#"{"GET /redfish/v1/Systems/depot-2": null, "GET /redfish/v1/": null}"#;
    let bmc = scene.odd_bmc("203.0.113.22", 8000, answers);

    for (asked, arguments) in [
        ("Systems/depot-2", &["on", "depot-2"][..]),
        ("/redfish/v1/ ", &["redfish", "depot-2", "Systems"]),
    ] {
        let processes =
            scene.while_running(&[&["/usr/local/bin/host"], arguments].concat(), |process| {
                while !bmc.log().contains(asked) {
                    assert!(
                        process.try_wait().unwrap().is_none(),
                        "it did not ask for {asked:?}:\n{}",
                        bmc.log()
                    );
                    sleep(Duration::from_millis(20));
                }
                processes("/usr/local/bin/host")
            });

        assert!(!processes.is_empty());
        for process in processes {
            assert!(!process.contains(PASSWORD), "{process}");
        }
    }
}

// Proxies

#[test]
fn a_proxy_is_used_only_where_bmcs_are_behind_one() {
    for (cluster, host, is_used) in [("edge", "depot-2", false), ("far", "depot-5", true)] {
        let scene = Scene::of_fixture(cluster);
        let _bmcs = scene.bmcs();
        let proxy = scene.odd_bmc("192.0.2.10", 3128, "{}");
        let environment =
            [("http_proxy", "http://192.0.2.10:3128"), ("https_proxy", "http://192.0.2.10:3128")];

        for command in ["status", "redfish"] {
            let asked = proxy.log().matches("asked").count();
            let last = if command == "redfish" { "Systems" } else { "" };
            let run = scene.shell_with(&format!("host {command} {host} {last}"), &[], &environment);

            // This proxy lets nobody through.
            assert_eq!(run.code != 0, is_used, "{cluster} {command}: {}", run.stderr);
            assert_eq!(
                proxy.log().matches("asked").count() > asked,
                is_used,
                "{cluster} {command}: {}",
                proxy.log()
            );
        }
    }
}

// Hosts that must never be powered off

/// As of a machine whose BMC shares a network card with its operating system (NC-SI).
fn host_that_stays_on() -> Repo {
    let hosts = [("one", "redfish+http://203.0.113.21:8000/redfish/v1/Systems/one")];
    let repo = site_of(&hosts.map(|(name, address)| (name.to_owned(), address.to_owned())));
    repo.replace(
        "hosts/hosts.yaml",
        "  online: true\n",
        "  online: true\n  disablePowerOff: true\n",
    );
    repo
}

#[test]
fn a_host_with_disable_power_off_is_restarted_and_never_powered_off() {
    let scene = Scene::of(host_that_stays_on(), "edge");
    let bmc = Emulator::start(&scene.network, "203.0.113.21", 8000, None, &["one"]);

    for arguments in
        [&["off", "one"][..], &["off", "--force", "one"], &["off", "--wait", "--force", "one"]]
    {
        let refused = scene.host(arguments).expect(1);
        assert_says(
            &refused.stderr,
            &["host: one: its BareMetalHost has spec.disablePowerOff: true", "\"host reboot\""],
        );
    }
    for arguments in [
        &["Systems", "reset", "ForceOff"][..],
        &["Systems", "reset", "GracefulShutdown"],
        &["Systems", "reset", "PowerCycle"],
        &["Systems", "reset", "PushPowerButton"],
        &["raw", "POST", "/redfish/v1/Systems/one/Actions/ComputerSystem.Reset", "-d", "{}"],
    ] {
        let refused = scene.host(&[&["redfish", "one"], arguments].concat()).expect(1);
        assert_says(&refused.stderr, &["spec.disablePowerOff: true"]);
    }
    assert_eq!(bmc.orders(), [""; 0]);

    scene.host(&["redfish", "one", "Systems"]).expect(0);
    scene.host(&["reboot", "one"]).expect(0);
    assert_eq!(bmc.orders(), ["one GracefulRestart"]);
}

#[test]
fn a_host_with_disable_power_off_is_restarted_by_force_but_by_no_power_cycle() {
    let reboots_where_offered = |types: &str, code: i32| {
        let scene = Scene::of(host_that_stays_on(), "edge");
        let state = format!(
            "{{\"PowerState\": \"On\", \"Actions\": {{\"#ComputerSystem.Reset\": \
             {{\"ResetType@Redfish.AllowableValues\": [{types}]}}}}}}"
        );
        let path = "/redfish/v1/Systems/one";
        let answers = format!(
            "{{\"GET {path}\": [200, {{}}, {state:?}], \"POST {path}/Actions/ComputerSystem.Reset\": [204, {{}}, \"\"]}}"
        );
        let bmc = scene.odd_bmc("203.0.113.21", 8000, &answers);
        (scene.host(&["reboot", "--force", "one"]).expect(code).stderr, bmc.log())
    };

    let (refused, log) = reboots_where_offered("\"On\", \"PowerCycle\"", 1);
    assert_says(&refused, &["the BMC does not offer ForceRestart, only On, PowerCycle"]);
    assert!(!log.contains("asked POST"), "{log}");
    let (_, log) = reboots_where_offered("\"PowerCycle\", \"ForceRestart\"", 0);
    assert_says(&log, &["{\"ResetType\": \"ForceRestart\"}"]);
}
