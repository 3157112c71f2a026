//! Reduction of live objects to the fields that sipgen reads.
//!
//! Fields are allowlisted, so a new field of Metal3 never reaches a snapshot unnoticed. Free texts
//! such as error messages are left out: they change between snapshots of the same state, and may
//! contain credentials.

mod inspection;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{key_of, text_at};
use crate::base::api::assignment::{GIVEN_BACK, GIVEN_BACK_BY};
use crate::base::api::gitops::{GitopsAgent, TRACKING_ID};
use crate::base::api::hardware::{self, DETAILS};
use crate::base::api::host::{
    self, DETACHED, FORCE, LAST_APPLIED, MAINTENANCE, PAUSED, PRUNE, RECONCILE, SSA, STATUS,
    SYNC_OPTIONS, UNHEALTHY, without_user,
};
use crate::base::api::ipam::ADDRESSES;
use crate::base::api::names::{HostKey, is_label};
use crate::base::api::network_data::{NetworkData, SECRET_KEYS};
use crate::base::api::reservation::RESERVED_FOR;
use crate::base::text::from_base64;
use crate::input::settings::assignment::AssignmentSettings;

/// Annotations whose value matters.
const WITH_VALUE: [&str; 11] = [
    ADDRESSES,
    FORCE,
    GIVEN_BACK,
    MAINTENANCE,
    RESERVED_FOR,
    GIVEN_BACK_BY,
    PRUNE,
    RECONCILE,
    SSA,
    SYNC_OPTIONS,
    TRACKING_ID,
];
/// Annotations whose presence matters.
const AS_MARK: [&str; 4] = [PAUSED, DETACHED, UNHEALTHY[0], UNHEALTHY[1]];
/// Replacement for an annotation's omitted value.
const LEFT_OUT: &str = "{}";
/// Replacement for a field's omitted value.
const HIDDEN: &str = "left-out";
/// Deletion time of every host that is being deleted. The real time does not matter.
const DELETION: &str = "1970-01-01T00:00:00Z";
/// Error type of a host with an error message but no type.
const UNTYPED_ERROR: &str = "error";

/// Reduces a live BareMetalHost. Returns `None` if its name or namespace is invalid.
pub(super) fn host(live: &Value, assignment: &AssignmentSettings) -> Option<(HostKey, Value)> {
    let kept = json!({"apiVersion": host::API_VERSION, "kind": host::KIND});
    let (key, mut kept) = object(kept, live, &["/metadata/uid"])?;
    if live.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        kept["metadata"]["deletionTimestamp"] = DELETION.into();
    }
    let annotations = live.pointer("/metadata/annotations").and_then(Value::as_object);
    set_unless_empty(&mut kept, "/metadata/labels", labels(live.pointer("/metadata/labels")));
    let own_annotations = annotations.map(kept_annotations).unwrap_or_default();
    set_unless_empty(&mut kept, "/metadata/annotations", own_annotations);
    // An empty list means that no field manager is known. A missing one means nothing.
    if let Some(entries) = live.pointer("/metadata/managedFields").and_then(Value::as_array) {
        kept["metadata"]["managedFields"] = managers(entries, assignment).into();
    }
    if let Some(spec) = live.get("spec").filter(|spec| spec.is_object()) {
        kept["spec"] = self::spec(spec);
    }
    let annotated = |name: &str| {
        annotations?.get(name)?.as_str().and_then(|text| serde_json::from_str(text).ok())
    };
    let annotated_status: Option<Value> = annotated(STATUS);
    let live_status = live.get("status").filter(|status| status.is_object());
    let mut statuses = live_status.into_iter().chain(&annotated_status);
    let hardware = statuses.clone().find_map(|status| status.get("hardware")).cloned();
    let hardware = hardware.or_else(|| annotated(DETAILS));
    let hardware = hardware.and_then(|hardware| inspection::hardware(&hardware));
    let mut status = statuses.next().map_or_else(|| json!({}), self::status);
    set_unless_empty(&mut status, "/hardware", hardware.unwrap_or_else(|| json!({})));
    if live_status.is_some() || status != json!({}) {
        kept["status"] = status;
    }
    Some((key, kept))
}

/// Reduces a live HardwareData. Returns `None` if its hardware cannot be read.
pub(super) fn hardware_data(live: &Value) -> Option<(HostKey, Value)> {
    let hardware = inspection::hardware(live.pointer("/spec/hardware")?)?;
    let kept = json!({"apiVersion": host::API_VERSION, "kind": hardware::KIND, "spec": {"hardware": hardware}});
    object(kept, live, &[])
}

/// Keeps the address of an IPAddress or Metal3Data, its pool and its claim.
pub(super) fn keep_address(kept: &mut Value, live: &Value) {
    kept["spec"] = json!({});
    let texts = [
        "/spec/address",
        "/spec/claim/name",
        "/spec/claimRef/name",
        "/spec/pool/name",
        "/spec/poolRef/name",
    ];
    keep_texts(kept, live, &texts);
}

/// Reduces the network data of a live Secret, or returns the problem.
///
/// No other value is read. Only addresses, network ids and MAC addresses are kept.
pub(super) fn network_data(live: &Value) -> Result<Value, String> {
    let values = live.get("data");
    let value = SECRET_KEYS.into_iter().find_map(|key| values?.get(key)?.as_str());
    let value = value.ok_or_else(|| format!("has no value `{}`", SECRET_KEYS[0]))?;
    let text = from_base64(value).ok_or("is not base64-encoded text")?;
    NetworkData::parse(&text)
        .map(|data| data.essentials())
        .map_err(|malformed| malformed.to_string())
}

/// Adds the name, the namespace and some texts of a live object to what is kept of it. Returns `None`
/// if its name or namespace is invalid.
pub(super) fn object(mut kept: Value, live: &Value, pointers: &[&str]) -> Option<(HostKey, Value)> {
    let (namespace, name) = key_of(live)?;
    keep_texts(&mut kept, live, &["/metadata/name", "/metadata/namespace"]);
    keep_texts(&mut kept, live, pointers);
    Some((HostKey { namespace, name }, kept))
}

/// Keeps the non-empty texts at some JSON pointers.
pub(super) fn keep_texts(kept: &mut Value, live: &Value, pointers: &[&str]) {
    for pointer in pointers {
        if let Some(text) = text_at(live, pointer) {
            set(kept, pointer, text);
        }
    }
}

/// Sets the value at a JSON pointer, with the objects around it.
fn set(object: &mut Value, pointer: &str, value: impl Into<Value>) {
    *pointer.split('/').skip(1).fold(object, |place, field| &mut place[field]) = value.into();
}

/// Sets an object or list at a JSON pointer, unless it is empty.
pub(super) fn set_unless_empty(object: &mut Value, pointer: &str, value: impl Into<Value>) {
    let value = value.into();
    if value != json!({}) && value != json!([]) {
        set(object, pointer, value);
    }
}

/// Keeps every valid label, because selectors and topology keys may name any.
pub(super) fn labels(live: Option<&Value>) -> Map<String, Value> {
    let mut labels = live.and_then(Value::as_object).cloned().unwrap_or_default();
    labels.retain(|key, value| value.as_str().is_some_and(|value| is_label(key, value)));
    labels
}

fn kept_annotations(live: &Map<String, Value>) -> Map<String, Value> {
    let kept = |(name, value): (&String, &Value)| {
        let value = match name.as_str() {
            // An empty annotation keeps kubectl from removing fields, so it is distinguished from a
            // full one.
            LAST_APPLIED if value.as_str()?.is_empty() => "",
            LAST_APPLIED => LEFT_OUT,
            name if WITH_VALUE.contains(&name) => value.as_str()?,
            name if AS_MARK.contains(&name) => "",
            _ => return None,
        };
        Some((name.clone(), value.into()))
    };
    live.iter().filter_map(kept).collect()
}

/// Keeps field managers that apply the spec, and those of assignment labels and of the client-side
/// apply annotation.
///
/// Managers that only update parts of the spec, such as Cluster API and Metal3, never remove fields
/// by applying, and they come and go.
fn managers(entries: &[Value], assignment: &AssignmentSettings) -> Vec<Value> {
    let applied_by_kubectl = format!("f:{LAST_APPLIED}");
    let applied_by_kubectl = ["f:metadata", "f:annotations", &applied_by_kubectl];
    let mut owned: BTreeMap<(&str, &str), Value> = BTreeMap::new();
    for entry in entries {
        let [manager, operation, subresource] =
            ["/manager", "/operation", "/subresource"].map(|field| text_at(entry, field));
        let (Some(manager), Some(operation), None) = (manager, operation, subresource) else {
            continue;
        };
        let owns = |route: &[&str]| {
            route.iter().try_fold(entry.get("fieldsV1")?, |fields, key| fields.get(key))
        };
        let mut routes: Vec<Vec<&str>> = Vec::new();
        routes.extend(owns(&applied_by_kubectl).map(|_| applied_by_kubectl.to_vec()));
        // Agents may update instead of applying, but still own the spec.
        let is_agent = GitopsAgent::ALL.iter().any(|agent| agent.manager() == manager);
        let is_applier = operation == "Apply" || !routes.is_empty() || is_agent;
        routes.extend(owns(&["f:spec"]).filter(|_| is_applier).map(|_| vec!["f:spec"]));
        let labels = owns(&["f:metadata", "f:labels"]).and_then(Value::as_object);
        let labels = labels.into_iter().flatten().map(|(field, _)| field.as_str());
        let assigns =
            |field: &&str| field.strip_prefix("f:").is_some_and(|key| assignment.has_key(key));
        routes.extend(labels.filter(assigns).map(|field| vec!["f:metadata", "f:labels", field]));
        for route in routes {
            let fields = owned.entry((manager, operation)).or_insert_with(|| json!({}));
            *route.into_iter().fold(fields, |place, key| &mut place[key]) = json!({});
        }
    }
    let entry = |((manager, operation), fields)| json!({"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields});
    owned.into_iter().map(entry).collect()
}

fn spec(live: &Value) -> Value {
    let mut spec = json!({});
    let texts = [
        "/bmc/credentialsName",
        "/bootMACAddress",
        "/consumerRef/kind",
        "/consumerRef/name",
        "/consumerRef/namespace",
        "/networkData/name",
        "/networkData/namespace",
        "/preprovisioningNetworkDataName",
    ];
    keep_texts(&mut spec, live, &texts);
    if let Some(address) = text_at(live, "/bmc/address") {
        set(&mut spec, "/bmc/address", bare(address));
    }
    for flag in
        ["/bmc/disableCertificateVerification", "/disablePowerOff", "/externallyProvisioned"]
    {
        if live.pointer(flag) == Some(&Value::Bool(true)) {
            set(&mut spec, flag, true);
        }
    }
    for hidden in ["/image/url", "/customDeploy/method"] {
        if text_at(live, hidden).is_some() {
            set(&mut spec, hidden, HIDDEN);
        }
    }
    // Any reference counts, even an empty one.
    let has_consumer = live.get("consumerRef").is_some_and(Value::is_object);
    if has_consumer && spec.get("consumerRef").is_none() {
        spec["consumerRef"] = json!({});
    }
    // The CRD requires it in every spec.
    if let Some(online) = live.get("online").filter(|online| online.is_boolean()) {
        spec["online"] = online.clone();
    }
    spec
}

/// Strips user, query and fragment from a BMC address.
fn bare(address: &str) -> String {
    let address = without_user(address);
    let end = address.find(['?', '#']).unwrap_or(address.len());
    address[..end].to_owned()
}

/// Keeps the provisioning state and the error type. Other values of `operationalStatus` do not
/// matter, and they change often.
fn status(live: &Value) -> Value {
    let mut status = json!({});
    keep_texts(&mut status, live, &["/provisioning/state", "/errorType"]);
    if status.get("errorType").is_none() && text_at(live, "/errorMessage").is_some() {
        status["errorType"] = UNTYPED_ERROR.into();
    }
    if let Some(state @ ("error" | "detached")) = text_at(live, "/operationalStatus") {
        status["operationalStatus"] = state.into();
    }
    status
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;
    use crate::base::api::host::BareMetalHost;

    /// A text that must not appear in a snapshot.
    const CANARY: &str = "c4nary";

    /// Returns a live host as the API server of a Metal3 cluster returns it.
    fn live() -> Value {
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {
                "name": "r7-u03", "namespace": "metal", "uid": "b8a0", "resourceVersion": "81234", "generation": 7,
                "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["baremetalhost.metal3.io"],
                "labels": {"example.com/rack": "r7", "sip.airshipit.org/cluster-name": "edge"},
                "annotations": {
                    LAST_APPLIED: format!("{{\"spec\": \"{CANARY}\"}}"), PAUSED: CANARY, "note": CANARY,
                    TRACKING_ID: "apps:metal3.io/BareMetalHost:metal/r7-u03"
                },
                "managedFields": [
                    {"manager": "kubectl-client-side-apply", "operation": "Update", "time": "2026-01-01T00:00:00Z",
                     "apiVersion": "metal3.io/v1alpha1", "fieldsType": "FieldsV1", "fieldsV1": {
                        "f:metadata": {"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}},
                        "f:spec": {".": {}, "f:online": {}, "f:bmc": {"f:address": {}}}}},
                    {"manager": "baremetal-operator", "operation": "Update", "subresource": "status",
                     "fieldsV1": {"f:status": {}}},
                    {"manager": "capm3", "operation": "Update", "fieldsV1": {"f:spec": {"f:consumerRef": {}}}},
                    {"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {
                        "f:sip.airshipit.org/cluster-name": {}, "f:example.com/rack": {}}}}}
                ]
            },
            "spec": {
                "online": true, "bootMACAddress": "52:54:00:00:00:01", "automatedCleaningMode": "metadata",
                "bmc": {"address": format!("redfish://u:{CANARY}@[fd00::1]/redfish/v1/Systems/1?k={CANARY}"),
                        "credentialsName": "r7-u03-bmc", "disableCertificateVerification": false},
                "networkData": {"name": "r7-u03-net", "namespace": "metal"}, "userData": {"name": CANARY},
                "consumerRef": {"apiVersion": CANARY, "kind": "Metal3Machine", "name": "m", "namespace": "metal", "uid": CANARY},
                "image": {"url": format!("https://u:{CANARY}@images.example.com/{CANARY}"), "checksum": CANARY},
                "customDeploy": {"method": CANARY}, "externallyProvisioned": true, "disablePowerOff": true
            },
            "status": {
                "operationalStatus": "OK", "errorType": "", "errorMessage": "", "poweredOn": true, "errorCount": 3,
                "lastUpdated": "2026-01-01T00:00:00Z", "provisioning": {"state": "provisioned", "ID": CANARY},
                "hardware": {"cpu": {"arch": "x86_64", "count": 8, "model": "Xeon", "flags": ["vmx", "avx512f", "vmx"],
                        "clockMegahertz": CANARY}, "hostname": CANARY,
                    "ramMebibytes": 1024, "nics": [{"mac": "52:54:00:00:00:01", "ip": "10.0.0.1", "speedGbps": 25, "vlans": [CANARY]}],
                    "storage": [
                        {"name": "/dev/sda", "rotational": true, "sizeBytes": 2, "serialNumber": CANARY, "wwn": CANARY, "model": CANARY},
                        {"name": "/dev/nvme0n1", "type": "NVME", "sizeBytes": 9, "alternateNames": [CANARY]},
                        {"name": "/dev/nvme1n1", "rotational": false, "sizeBytes": 8}],
                    "firmware": {"bios": {"date": CANARY, "vendor": "Dell Inc.", "version": "2.19.1"}},
                    "systemVendor": {"manufacturer": "Dell Inc.", "productName": "PowerEdge R640", "serialNumber": "S1"}}
            }
        })
    }

    #[test]
    fn a_host_keeps_what_decides_and_nothing_else() {
        let (key, kept) = host(&live(), &AssignmentSettings::default()).unwrap();
        assert_eq!(key.to_string(), "metal/r7-u03");
        let expected = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {
                "name": "r7-u03", "namespace": "metal", "uid": "b8a0",
                "labels": {"example.com/rack": "r7", "sip.airshipit.org/cluster-name": "edge"},
                "annotations": {LAST_APPLIED: "{}", PAUSED: "", TRACKING_ID: "apps:metal3.io/BareMetalHost:metal/r7-u03"},
                "managedFields": [
                    {"manager": "kubectl-client-side-apply", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1":
                        {"f:metadata": {"f:annotations": {format!("f:{LAST_APPLIED}"): {}}}, "f:spec": {}}},
                    {"manager": "kustomize-controller", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1":
                        {"f:metadata": {"f:labels": {"f:sip.airshipit.org/cluster-name": {}}}}}
                ]
            },
            "spec": {
                "online": true, "bootMACAddress": "52:54:00:00:00:01",
                "bmc": {"address": "redfish://[fd00::1]/redfish/v1/Systems/1", "credentialsName": "r7-u03-bmc"},
                "networkData": {"name": "r7-u03-net", "namespace": "metal"},
                "consumerRef": {"kind": "Metal3Machine", "name": "m", "namespace": "metal"},
                "image": {"url": "left-out"}, "customDeploy": {"method": "left-out"},
                "externallyProvisioned": true, "disablePowerOff": true
            },
            "status": {
                "provisioning": {"state": "provisioned"},
                "hardware": {"cpu": {"arch": "x86_64", "count": 8, "flags": ["avx512f", "vmx"], "model": "Xeon"},
                    "ramMebibytes": 1024,
                    "nics": [{"mac": "52:54:00:00:00:01", "ip": "10.0.0.1", "speedGbps": 25}],
                    "storage": [{"type": "HDD", "sizeBytes": 2}, {"type": "NVME", "sizeBytes": 8}, {"type": "NVME", "sizeBytes": 9}],
                    "firmware": {"bios": {"vendor": "Dell Inc.", "version": "2.19.1"}},
                    "systemVendor": {"manufacturer": "Dell Inc.", "productName": "PowerEdge R640", "serialNumber": "S1"}}
            }
        });
        assert_eq!(kept, expected);
        assert!(!kept.to_string().contains(CANARY));
    }

    /// Parses a host without the fields that are left out of snapshots on purpose: those that are
    /// read of other kinds only, and texts that change.
    fn read_fields(host: &Value) -> String {
        let mut host: BareMetalHost = serde_json::from_value(host.clone()).unwrap();
        host.metadata.owner_references = Some(Vec::new());
        host.metadata.finalizers = Some(Vec::new());
        host.metadata.resource_version = Some("left out".to_owned());
        if let Some(status) = &mut host.status {
            status.error_message = Some("left out".to_owned());
        }
        format!("{host:#?}")
    }

    #[test]
    fn every_field_that_a_host_is_read_for_is_kept() {
        let label = "sip.airshipit.org/cluster-name";
        let live = json!({
            "apiVersion": host::API_VERSION, "kind": host::KIND,
            "metadata": {
                "name": "a", "namespace": "metal", "uid": "u", "deletionTimestamp": DELETION,
                "labels": {label: "edge"}, "annotations": {RESERVED_FOR: "edge"},
                "managedFields": [{"manager": "kustomize-controller", "operation": "Apply", "fieldsV1":
                    {"f:spec": {}, "f:metadata": {"f:labels": {format!("f:{label}"): {}}}}}]
            },
            "spec": {
                "bmc": {"address": "ipmi://b", "credentialsName": "b", "disableCertificateVerification": true},
                "bootMACAddress": "52:54:00:00:00:01", "networkData": {"name": "n", "namespace": "metal"}, "online": true,
                "preprovisioningNetworkDataName": "p", "externallyProvisioned": true, "disablePowerOff": true,
                "consumerRef": {"kind": "Metal3Machine", "namespace": "metal", "name": "m"},
                "image": {"url": HIDDEN}, "customDeploy": {"method": HIDDEN}
            },
            "status": {
                "operationalStatus": "error", "errorType": "registration error",
                "provisioning": {"state": "available"},
                "hardware": {"nics": [{"mac": "52:54:00:00:00:01"}], "systemVendor": {"serialNumber": "S1"}}
            }
        });
        let fields = read_fields(&live);
        for empty in ["None", "\"\"", "false"] {
            assert!(!fields.contains(empty), "set every field of the host above: {fields}");
        }
        let (_, kept) = host(&live, &AssignmentSettings::default()).unwrap();
        assert_eq!(
            read_fields(&kept),
            fields,
            "add the field to `spec` or `status` of this module"
        );
    }

    #[test]
    fn what_is_kept_is_kept_again_unchanged() {
        let (_, once) = host(&live(), &AssignmentSettings::default()).unwrap();
        assert_eq!(host(&once, &AssignmentSettings::default()).unwrap().1, once);
    }

    #[test]
    fn errors_are_kept_by_type_and_deletions_as_a_mark() {
        let mut live = live();
        live["metadata"]["deletionTimestamp"] = "2026-03-03T03:03:03Z".into();
        live["status"]["errorMessage"] = CANARY.into();
        live["status"]["operationalStatus"] = "error".into();
        let kept = host(&live, &AssignmentSettings::default()).unwrap().1;
        assert_eq!(kept["metadata"]["deletionTimestamp"], DELETION);
        assert_eq!(
            (&kept["status"]["errorType"], &kept["status"]["operationalStatus"]),
            (&json!("error"), &json!("error"))
        );
        live["status"]["errorType"] = "registration error".into();
        assert_eq!(
            host(&live, &AssignmentSettings::default()).unwrap().1["status"]["errorType"],
            "registration error"
        );
    }

    #[test]
    fn an_empty_annotation_of_client_side_apply_is_told_from_a_full_one() {
        let mut live = live();
        live["metadata"]["annotations"][LAST_APPLIED] = "".into();
        assert_eq!(
            host(&live, &AssignmentSettings::default()).unwrap().1["metadata"]["annotations"]
                [LAST_APPLIED],
            ""
        );
    }

    #[test]
    fn a_host_without_status_has_the_one_of_its_annotation() {
        let mut live = live();
        live.as_object_mut().unwrap().remove("status");
        let annotations = json!({STATUS: format!("{{\"provisioning\": {{\"state\": \"available\"}}, \"x\": \"{CANARY}\"}}"),
            DETAILS: "{\"ramMebibytes\": 5, \"hostname\": \"c4nary\"}"});
        live["metadata"]["annotations"] = annotations;
        let kept = host(&live, &AssignmentSettings::default()).unwrap().1;
        assert_eq!(
            kept["status"],
            json!({"provisioning": {"state": "available"}, "hardware": {"ramMebibytes": 5}})
        );
        assert_eq!(kept["metadata"].get("annotations"), None);
    }

    #[test]
    fn only_addresses_of_network_data_are_kept() {
        let secret = |key: &str, text: &str| json!({"data": {key: BASE64_STANDARD.encode(text), "other": CANARY}});
        let text = r#"{"links": [{"id": "eno1", "ethernet_mac_address": "52:54:00:00:00:01", "x": "c4nary"}],
            "networks": [{"id": "oam", "link": "eno1", "ip_address": "10.0.0.5/24", "dns": "c4nary"}], "services": ["c4nary"]}"#;
        let kept = network_data(&secret("networkData", text)).unwrap();
        assert!(!kept.to_string().contains(CANARY), "{kept}");
        assert_eq!(NetworkData::parse(&kept.to_string()), NetworkData::parse(text));
        assert_eq!(network_data(&secret("value", text)), Ok(kept));
        for (key, text) in [
            ("networkData", CANARY),
            ("networkData", "networks: [{id: a, ip_address: c4nary}]"),
            ("password", CANARY),
        ] {
            let problem = network_data(&secret(key, text)).unwrap_err();
            assert!(!problem.contains(CANARY), "{problem}");
        }
    }

    #[test]
    fn bonds_and_vlans_lead_to_the_same_cards() {
        let text = r#"{"links": [
            {"id": "eno1", "ethernet_mac_address": "52:54:00:00:00:01"}, {"id": "eno2", "ethernet_mac_address": "52:54:00:00:00:02"},
            {"id": "bond0", "bond_links": ["eno1", "eno2"]}, {"id": "vlan5", "vlan_link": "bond0"}],
            "networks": [{"id": "a", "link": "vlan5", "ip_address": "10.0.0.5"}, {"id": "b", "link": "eno2", "ip_address": "fd00::5"},
                         {"id": "dhcp", "link": "eno1"}]}"#;
        let data = NetworkData::parse(text).unwrap();
        let again = NetworkData::parse(&data.essentials().to_string()).unwrap();
        // A network's card does not matter without an address.
        assert_eq!(again, data);
        assert_eq!(again.card_addresses().count(), 3);
    }
}
