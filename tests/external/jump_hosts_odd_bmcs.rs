//! The host tool before BMCs that do what they should not.

use crate::support::assert_says;
use crate::support::jump_host::Scene;

const SYSTEM: &str = "/redfish/v1/Systems/depot-2";

/// What `host ARGUMENTS` says of depot-2, whose BMC answers from a table; and what the BMC was asked.
fn before(answers: &[(&str, &str)], code: i32, arguments: &[&str]) -> (String, Vec<String>) {
    let scene = Scene::of_fixture("edge");
    let answers: Vec<String> =
        answers.iter().map(|(asked, answer)| format!("{asked:?}: {answer}")).collect();
    let bmc = scene.odd_bmc("203.0.113.22", 8000, &format!("{{{}}}", answers.join(", ")));
    let run = scene.host(arguments).expect(code);
    let asked = bmc
        .log()
        .lines()
        .filter_map(|line| line.strip_prefix("asked ").map(|asked| asked.trim().to_owned()))
        .collect();
    (run.stdout + &run.stderr, asked)
}

/// The answer with a system that is on, and more.
fn system(more: &str) -> String {
    let text = format!("{{\"PowerState\": \"On\"{more}}}");
    format!("[200, {{}}, {text:?}]")
}

fn orders(asked: &[String]) -> Vec<&String> {
    asked.iter().filter(|asked| asked.starts_with("POST")).collect()
}

#[test]
fn a_redirect_is_not_followed() {
    let answer = r#"[302, {"Location": "http://203.0.113.22:8000/elsewhere"}, ""]"#;

    let (said, asked) = before(&[(&format!("GET {SYSTEM}"), answer)], 1, &["on", "depot-2"]);

    assert_says(&said, &["leads to another place, to which the credentials are not sent"]);
    assert_eq!(asked, [format!("GET {SYSTEM}")]);
}

#[test]
fn an_order_goes_to_no_other_server_than_the_bmc() {
    let ordered = format!("POST {SYSTEM}/Actions/ComputerSystem.Reset");
    for target in ["http://192.0.2.1/steal", "@192.0.2.1/", "", "/a b\\r\\nX: y", "//\\u0000"] {
        let actions =
            format!(", \"Actions\": {{\"#ComputerSystem.Reset\": {{\"target\": \"{target}\"}}}}");
        let answers = [
            (format!("GET {SYSTEM}"), system(&actions)),
            (ordered.clone(), "[204, {}, \"\"]".to_owned()),
        ];
        let answers = answers.each_ref().map(|(asked, answer)| (asked.as_str(), answer.as_str()));

        let (_, asked) = before(&answers, 0, &["reboot", "depot-2"]);

        assert_eq!(
            orders(&asked),
            [&format!("{ordered} {{\"ResetType\": \"GracefulRestart\"}}")],
            "{target}"
        );
    }
}

#[test]
fn an_order_goes_to_the_target_that_the_bmc_names() {
    let actions =
        ", \"Actions\": {\"#ComputerSystem.Reset\": {\"target\": \"/redfish/v1/Oem/Reset\"}}";
    let answers = [
        (format!("GET {SYSTEM}"), system(actions)),
        ("POST /redfish/v1/Oem/Reset".to_owned(), "[204, {}, \"\"]".to_owned()),
    ];
    let answers = answers.each_ref().map(|(asked, answer)| (asked.as_str(), answer.as_str()));

    before(&answers, 0, &["reboot", "depot-2"]);
}

#[test]
fn an_order_that_the_bmc_does_not_offer_is_not_given() {
    let offer = "\"ResetType@Redfish.AllowableValues\": [\"On\", \"ForceOff\", \"ForceRestart\"]";
    let offer = system(&format!(", \"Actions\": {{\"#ComputerSystem.Reset\": {{{offer}}}}}"));
    let answers = [(format!("GET {SYSTEM}"), offer)];
    let answers = answers.each_ref().map(|(asked, answer)| (asked.as_str(), answer.as_str()));

    let (restart, asked) = before(&answers, 1, &["reboot", "depot-2"]);
    let (off, _) = before(&answers, 1, &["off", "depot-2"]);

    assert_says(
        &restart,
        &[
            "the BMC does not offer GracefulRestart, only On, ForceOff, ForceRestart",
            "\"host reboot --force\"",
        ],
    );
    assert_says(
        &off,
        &["does not offer GracefulShutdown", "\"host off --force\" switches it off at once"],
    );
    assert!(orders(&asked).is_empty());
}

#[test]
fn what_is_offered_may_be_said_in_another_place() {
    let action = ", \"Actions\": {\"#ComputerSystem.Reset\": {\"@Redfish.ActionInfo\": \"/redfish/v1/info\"}}";
    let info = "[200, {}, \"{\\\"Parameters\\\": [{\\\"Name\\\": \\\"ResetType\\\", \\\"AllowableValues\\\": [\\\"PowerCycle\\\"]}]}\"]";
    let ordered = format!("POST {SYSTEM}/Actions/ComputerSystem.Reset");
    let answers = [
        (format!("GET {SYSTEM}"), system(action)),
        ("GET /redfish/v1/info".to_owned(), info.to_owned()),
        (ordered.clone(), "[204, {}, \"\"]".to_owned()),
    ];
    let answers = answers.each_ref().map(|(asked, answer)| (asked.as_str(), answer.as_str()));

    let (_, asked) = before(&answers, 0, &["reboot", "--force", "depot-2"]);

    assert_eq!(orders(&asked), [&format!("{ordered} {{\"ResetType\": \"PowerCycle\"}}")]);
}

#[test]
fn a_refusal_is_told_in_the_bmcs_own_words_without_what_a_terminal_would_obey() {
    let words = r#"[503, {}, "{\"error\": {\"@Message.ExtendedInfo\": [{\"Message\": \"Come back \\u001b[31mlater.\"}]}}"]"#;

    let (said, _) = before(&[(&format!("GET {SYSTEM}"), words)], 1, &["on", "depot-2"]);

    assert_says(&said, &["answers 503 Service Unavailable: Come back ?[31mlater."]);
}

#[test]
fn nonsense_is_an_error_and_no_crash() {
    for nonsense in [
        "",
        "<html>",
        "[]",
        "null",
        "17",
        "{}",
        "{\\\"PowerState\\\": 17}",
        "{\\\"PowerState\\\": null}",
        "\\u0000\\u00ff",
    ] {
        let ok = format!("[200, {{}}, \"{nonsense}\"]");
        let (said, _) = before(&[(&format!("GET {SYSTEM}"), &ok)], 1, &["status", "depot-2"]);
        assert_says(
            &said,
            &[
                "depot-2  unknown  -       the BMC at http://203.0.113.22:8000 does not say whether it is on",
            ],
        );

        let links =
            system(r#", "LogServices": {"@odata.id": "/logs"}, "Links": {"ManagedBy": {}}"#);
        let answers = [(&*format!("GET {SYSTEM}"), &*links), ("GET /logs", &ok)];
        let (said, _) = before(&answers, 1, &["log", "depot-2"]);
        assert_says(&said, &["keeps no log that Redfish shows"]);

        let refusal = format!("[500, {{}}, \"{nonsense}\"]");
        let (said, _) = before(&[(&format!("GET {SYSTEM}"), &refusal)], 1, &["on", "depot-2"]);
        assert_eq!(
            said,
            format!(
                "host: depot-2: http://203.0.113.22:8000{SYSTEM} answers 500 Internal Server Error\n"
            )
        );
    }
}

/// An answer with a resource.
fn resource(text: &str) -> String {
    format!("[200, {{}}, {text:?}]")
}

#[test]
fn logs_of_the_system_and_of_its_managers_are_shown_page_by_page() {
    let state = r#", "LogServices": {"@odata.id": "/sys/logs"}, "Links": {"ManagedBy": [{"@odata.id": "/bmc"}, 7]}"#;
    let answers = [
        (format!("GET {SYSTEM}"), system(state)),
        ("GET /bmc".to_owned(), resource(r#"{"LogServices": {"@odata.id": "/bmc/logs"}}"#)),
        (
            "GET /sys/logs".to_owned(),
            resource(r#"{"Members": [{"@odata.id": "/sys/logs/console"}]}"#),
        ),
        (
            "GET /bmc/logs".to_owned(),
            resource(r#"{"Members": [{"@odata.id": "/bmc/logs/sel"}, null]}"#),
        ),
        (
            "GET /sys/logs/console".to_owned(),
            resource(
                r#"{"Id": "HostLogger", "Name": "Serial console", "Entries": {"@odata.id": "/console"}}"#,
            ),
        ),
        (
            "GET /bmc/logs/sel".to_owned(),
            resource(r#"{"Id": "Sel", "Entries": {"@odata.id": "/sel"}}"#),
        ),
        (
            "GET /console".to_owned(),
            resource(
                r#"{"Members": [{"Created": "2026-01-01T00:00:00Z", "Message": "login:\nok\u001b[2J"}], "Members@odata.nextLink": "/console?skip=1"}"#,
            ),
        ),
        (
            "GET /console?skip=1".to_owned(),
            // A link instead of an entry, and a page that leads back.
            resource(
                r#"{"Members": [{"@odata.id": "/console/2"}], "Members@odata.nextLink": "/console"}"#,
            ),
        ),
        ("GET /console/2".to_owned(), resource(r#"{"Message": "panic"}"#)),
    ];
    let answers: Vec<(&str, &str)> =
        answers.iter().map(|(asked, answer)| (asked.as_str(), answer.as_str())).collect();

    let (logs, _) = before(&answers, 0, &["log", "depot-2"]);
    assert_eq!(logs, "LOG         CONTENT\nHostLogger  Serial console\nSel         -\n");

    let (console, _) = before(&answers, 0, &["log", "depot-2", "HostLogger"]);
    assert_eq!(console, "2026-01-01T00:00:00Z  login:\n2026-01-01T00:00:00Z  ok?[2J\n-  panic\n");

    let (said, _) = before(&answers, 1, &["log", "depot-2", "Other"]);
    assert_says(&said, &["depot-2: there is no such log; \"host log depot-2\" shows them"]);

    let (said, _) = before(&[(&format!("GET {SYSTEM}"), &system(""))], 1, &["log", "depot-2"]);
    assert_says(&said, &["keeps no log that Redfish shows"]);
}
