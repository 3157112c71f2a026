//! The CustomResourceDefinitions, as an API server takes them.

use serde_json::{Value, json};

use super::{judges, printed, sipclusters, with};
use crate::support::documents;

#[test]
fn an_api_server_takes_every_definition() {
    for arguments in
        [&["crd"][..], &["crd", "sipcluster"], &["crd", "provisioning"], &["crd", "software"]]
    {
        assert_eq!(judges::definition(&printed(arguments)), "", "{arguments:?}");
    }
}

/// A judge that takes everything would prove nothing.
#[test]
fn an_api_server_refuses_a_definition_with_a_rule_that_cannot_be() {
    let broken = printed(&["crd"]).replace("self.start <= self.end", "self.start <= self.finish");
    assert!(judges::definition(&broken).contains("undefined field 'finish'"));
}

#[test]
fn the_definition_of_sipcluster_has_the_names_by_which_people_ask_for_it() {
    let names = &documents(&printed(&["crd"]))[0]["spec"]["names"];
    assert_eq!(names["shortNames"][0].as_str(), Some("sipc"));
    assert_eq!(names["categories"][0].as_str(), Some("airship"));
    let version = &documents(&printed(&["crd"]))[0]["spec"]["versions"][0];
    assert!(version["subresources"]["status"].is_mapping());
}

#[test]
fn kubectl_shows_what_is_wanted_and_whether_it_is_there() {
    let mut object = sipclusters::valid();
    object["spec"]["nodes"] = json!({
        "ControlPlane": {"labelSelector": {}, "count": {"active": 3, "standby": 1}},
        "Worker": {"labelSelector": {}, "count": {"active": 10, "standby": 2}}
    });
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "Unschedulable", "message": "no host",
        "lastTransitionTime": "2021-05-21T12:00:00Z"
    });
    let reported = with(&object, "/status", json!({"conditions": [condition]}));

    // The status comes by an update of its own; a creation would lose it.
    let columns = judges::server(&printed(&["crd"]), &[object]).pop().unwrap().columns.unwrap();
    let expected = [
        ("Control-Plane", 3),
        ("Workers", 10),
        ("Standby-Control-Plane", 1),
        ("Standby-Workers", 2),
    ];
    for (name, value) in expected {
        assert_eq!(columns[name], value, "{columns}");
    }
    let verdict = judges::update(&printed(&["crd"]), &reported, &reported);
    assert_eq!(verdict.errors, Vec::<String>::new());
    let columns = verdict.columns.unwrap();
    assert_eq!(
        (&columns["Ready"], &columns["Reason"]),
        (&json!("False"), &json!("Unschedulable")),
        "{columns}"
    );
}

#[test]
fn nothing_is_added_to_an_object() {
    let object = sipclusters::valid();
    let stored = judges::server(&printed(&["crd"]), std::slice::from_ref(&object))
        .pop()
        .unwrap()
        .stored
        .unwrap();
    assert_eq!(stored["spec"], object["spec"]);
}

#[test]
fn a_null_is_dropped_as_sipgen_takes_it_for_nothing() {
    let object = with(
        &sipclusters::valid(),
        "/spec/services/jumpHost/0/hostKeys",
        json!({"secretName": null}),
    );
    let verdict = judges::server(&printed(&["crd"]), &[object]).pop().unwrap();
    assert_eq!(verdict.errors, Vec::<String>::new());
    assert_eq!(verdict.stored.unwrap()["spec"]["services"]["jumpHost"][0]["hostKeys"], json!({}));
}

/// Kubernetes 1.30 and later look only at what changes.
#[test]
fn an_object_that_was_stored_before_the_definition_came_can_be_changed_elsewhere() {
    let port = "/spec/services/jumpHost/0/nodePort";
    let stored = with(&sipclusters::valid(), port, json!(7022));
    let changed =
        with(&stored, "/metadata/finalizers", json!(["sip.airship.airshipit.org/finalizer"]));

    assert_eq!(judges::update(&printed(&["crd"]), &stored, &changed).errors, Vec::<String>::new());
    let worse =
        judges::update(&printed(&["crd"]), &stored, &with(&changed, port, json!(70_000))).errors;
    assert!(
        matches!(worse.as_slice(), [error] if error.contains("choose a port of 1 to 65535")),
        "{worse:?}"
    );
}

#[test]
fn what_an_api_server_says_names_the_way_out() {
    let valid = sipclusters::valid();
    let auth = "/spec/services/auth/0";
    let cases: Vec<(Value, &str)> = vec![
        (
            with(&valid, "/spec/services/loadBalancerWorker/0/nodePortRange/end", json!(30001)),
            "write the lower port as start",
        ),
        (
            with(&valid, &format!("{auth}/tlsSecret"), json!("x")),
            "keep one of caSecret, issuerRef and tlsSecret",
        ),
        (
            with(
                &valid,
                &format!("{auth}/staticClients"),
                json!([{"id": "a", "public": true, "secret": "hush"}]),
            ),
            "a client's secret is in git",
        ),
        (
            with(
                &valid,
                "/spec/services/jumpHost/0/hostKeys",
                json!({"secretName": "a", "ephemeral": true}),
            ),
            "choose one of secretName, volumeClaim and `ephemeral: true`",
        ),
        (
            with(&valid, "/metadata/name", json!("x".repeat(64))),
            "the name has more than 63 characters",
        ),
    ];
    let (objects, expected): (Vec<Value>, Vec<&str>) = cases.into_iter().unzip();
    let verdicts = judges::server(&printed(&["crd"]), &objects);
    for (verdict, part) in verdicts.iter().zip(expected) {
        assert!(
            verdict.errors.iter().any(|error| error.contains(part)),
            "{part}: {:?}",
            verdict.errors
        );
    }
    assert!(!verdicts[2].errors.concat().contains("hush"), "{:?}", verdicts[2].errors);
}
