//! Reduction of the result of an inspection.

use serde_json::{Value, json};

use crate::base::api::hardware::{Hardware, Storage};

/// Keeps the hardware facts that requests select by, and those that identify the machine. Serial
/// numbers of disks are left out.
pub(super) fn hardware(live: &Value) -> Option<Value> {
    let mut hardware: Hardware = serde_json::from_value(live.clone()).ok()?;
    hardware.hostname = None;
    // Sorted, so that the same processors always give the same bytes.
    hardware.cpu.flags.sort_unstable();
    hardware.cpu.flags.dedup();
    for nic in &mut hardware.nics {
        (nic.vendor, nic.pxe) = (None, false);
        nic.speed_gbps = nic.speed_gbps.filter(|speed| *speed > 0);
    }
    // Inspection lists the same disks in another order each time.
    hardware.storage.sort_by_key(|disk| (disk.disk_kind(), disk.size_bytes));
    for disk in &mut hardware.storage {
        let kind = disk.disk_kind().map(|kind| kind.to_string());
        *disk = Storage { kind, size_bytes: disk.size_bytes, ..Storage::default() };
    }
    let mut kept = serde_json::to_value(hardware).ok()?;
    remove_empty(&mut kept);
    Some(kept)
}

/// Removes fields without a value.
fn remove_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_empty);
            let empty = [Value::Null, Value::Bool(false), json!({}), json!([])];
            fields.retain(|_, value| !empty.contains(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses hardware without the fields that no plan reads.
    fn read_hardware(hardware: &Value) -> String {
        let mut hardware: Hardware = serde_json::from_value(hardware.clone()).unwrap();
        hardware.hostname = Some("left out".to_owned());
        for nic in &mut hardware.nics {
            (nic.pxe, nic.vendor) = (true, Some("left out".to_owned()));
        }
        for disk in &mut hardware.storage {
            // They decide about the type of a disk without one.
            (disk.name, disk.rotational) = (Some("left out".to_owned()), Some(true));
            (disk.model, disk.vendor) = (Some("left out".to_owned()), Some("left out".to_owned()));
        }
        format!("{hardware:#?}")
    }

    #[test]
    fn every_field_of_hardware_that_plans_read_is_kept() {
        let live = json!({
            "cpu": {"count": 8, "arch": "x86_64", "model": "Xeon", "flags": ["vmx"]}, "ramMebibytes": 1024,
            "nics": [{"name": "eno1", "mac": "52:54:00:00:00:01", "ip": "10.0.0.1", "model": "0x8086 0x1572", "speedGbps": 25}],
            "storage": [{"type": "SSD", "sizeBytes": 1}],
            "systemVendor": {"manufacturer": "Dell Inc.", "productName": "R640", "serialNumber": "S1"},
            "firmware": {"bios": {"vendor": "Dell Inc.", "version": "2.19.1"}}
        });
        let fields = read_hardware(&live);
        for empty in ["None", "[]", "false"] {
            assert!(!fields.contains(empty), "set every field of the hardware above: {fields}");
        }
        let kept = hardware(&live).unwrap();
        assert_eq!(read_hardware(&kept), fields, "keep the field in `hardware` of this module");
    }
}
